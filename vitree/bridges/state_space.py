"""A linearised step as a discrete system in state space, of SciPy and of python-control (extra "python-control")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vitree.arguments import of_kind, several
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.run.linearization import Linearization

if TYPE_CHECKING:
    import control
    from scipy.signal import StateSpace

__all__ = ["Matrices", "matrices", "to_control", "to_scipy"]


class Matrices(NamedTuple):
    """The matrices of a system in state space; made by :func:`matrices`.

    The next state is ``A x + B u``, the output ``C x + D u``.

    Attributes
    ----------
    A : (2 nv, 2 nv) array, in units of the rows over those of the columns
    B : (2 nv, m) array, in units of the states over those of the inputs
    C : (2 nv, 2 nv) array, without units
        The outputs are the states.
    D : (2 nv, m) array, in units of the states over those of the inputs
    dt : float [s]
    states, inputs : tuple of str
        Names of x and u.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    dt: float
    states: tuple[str, ...]
    inputs: tuple[str, ...]


def matrices(step: Linearization, *, velocities: bool = False, inputs: Iterable[str] | None = None) -> Matrices:
    """Return the matrices of a linearised step, with names.

    Parameters
    ----------
    step : Linearization
        Of one step, by :func:`vitree.linearize`.
    velocities : bool
        The states are (d, v), not (d, p): displacements of the joints, and velocities instead of momenta.
    inputs : sequence of str, optional
        What acts: "torque NAME" for a NAME of ``model.v_names``, and names of ``model.input_names``. All torques, and
        all inputs behind them, if not given.

    Returns
    -------
    Matrices
        States are called "d NAME" and "p NAME", or "v NAME", for each NAME of ``v_names``.

    Raises
    ------
    InputError
        If the derivatives are those of a run, or a name is given twice.
    UnknownNameError
        If there is no such name.
    """
    of_kind(step, Linearization, "step", "a vitree Linearization")
    if step.A.ndim != 2:
        raise InputError(f"the derivatives are those of {len(step.A)} steps; take those of one, by vt.linearize")
    model = step.model
    A, *B = step.in_velocities() if velocities else (step.A, step.by_torque, step.by_inputs)
    names = (*(f"torque {name}" for name in model.v_names), *model.input_names)
    places = {name: k for k, name in enumerate(names)}
    chosen = list(places) if inputs is None else list(several(inputs, "inputs", "a sequence of names"))
    for name in chosen:
        if name not in places:
            raise UnknownNameError("torque or input", name, places, argument="inputs")
    if len({*chosen}) < len(chosen):
        raise InputError("inputs", inputs, "names one thing twice")
    acting = np.concatenate(B, axis=1)[:, [places[name] for name in chosen]]
    speed = "v" if velocities else "p"
    states = tuple(f"{kind} {name}" for kind in ("d", speed) for name in model.v_names)
    return Matrices(A.copy(), acting, np.eye(len(A)), np.zeros_like(acting), step.dt, states, tuple(chosen))


def to_scipy(step: Linearization, *, velocities: bool = False, inputs: Iterable[str] | None = None) -> StateSpace:
    """Return a linearised step as a ``scipy.signal.StateSpace`` in discrete time; see :func:`matrices`.

    Its ``A``, ``B``, ``C``, ``D`` and ``dt`` are those of :func:`matrices`, which also has the names.

    Parameters
    ----------
    step, velocities, inputs :
        As of :func:`matrices`.

    Returns
    -------
    scipy.signal.StateSpace

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    """
    from scipy.signal import StateSpace

    found = matrices(step, velocities=velocities, inputs=inputs)
    return StateSpace(found.A, found.B, found.C, found.D, dt=found.dt)


def to_control(
    step: Linearization, *, velocities: bool = False, inputs: Iterable[str] | None = None
) -> control.StateSpace:
    """Return a linearised step as a ``control.StateSpace`` with names; see :func:`matrices`.

    The names are those of :func:`matrices`, with "_" for what python-control does not take in names: spaces and points.

    Parameters
    ----------
    step, velocities, inputs :
        As of :func:`matrices`.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    MissingExtraError
        If python-control is not installed (extra "python-control").
    """
    try:
        import control
    except ImportError as error:
        raise MissingExtraError("control", "python-control", "to_control") from error

    found = matrices(step, velocities=velocities, inputs=inputs)
    states = [_plain(name) for name in found.states]
    return control.ss(found.A, found.B, found.C, found.D, found.dt, name=_plain(step.model.name), states=states,
                      inputs=[_plain(name) for name in found.inputs], outputs=states)  # fmt: skip


def _plain(name: str) -> str:
    """Return a name without spaces and points."""
    return "_".join(name.replace(".", " ").split()) or "system"
