"""The derivatives of one step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls
from vitree.errors import InputError
from vitree.model.broadcasting import guarded
from vitree.model.model import Model
from vitree.run.controller import Control, Controller, parts_of
from vitree.run.linearization import Linearization, integrator_of, linearize_run
from vitree.run.simulate import simulate
from vitree.run.step_differences import has_differences, require_differences
from vitree.run.trajectory import Trajectory

#: How far a step may lead from a state of rest [m or rad].
AT_REST = 1e-7


@explain_calls
@guarded
def linearize(
    model: Model, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, p0: ArrayLike | None = None,
    dt: float, method: str = "linear-time", control: Control | ArrayLike | None = None, **options: Any,
) -> Linearization:  # fmt: skip
    """Take one step, and return its derivatives.

    Parameters
    ----------
    model : Model
        With gravity, damping, friction, armature, drives, constraints, prescribed coordinates, loads and contacts; not
        with contacts that rebound, and loads that depend on velocities only for midpoint.
    q0 : (nq,) array, optional [m or rad]
        The configuration at the start; neutral if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        The velocity there; zero if neither ``v0`` nor ``p0`` is given. Where the robot rests on contacts, limits or
        loops, and a step leaves it there, the momentum at the start is that of a node on the way: it lacks the half of
        the impulse that these give there, so that both ends of the step are the same state.
    p0 : (nv,) array, optional [kg m/s or kg m^2/s]
        The momentum there, instead.
    dt : float [s]
    method : {"linear-time", "midpoint"}, or the name of a method in Python
        Of a method in Python whose runs consist of its ``step`` alone the derivatives are central differences of order
        6. Constraints, prescribed coordinates and contacts are not linearized there.
    control : (nv,) array, or Control, optional
        Joint forces [N or N m], or a :class:`vitree.Control` whose torque (nv,), inputs (nu,) and targets (n,), or
        mappings of numbers, are those of one step; prescribed coordinates have two values, at the start and at the end.
    **options
        Of the method, such as ``order=4``.

    Returns
    -------
    Linearization
        Of one step, without leading axes.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong, or the method has no derivatives.
    ModelError
        If the model has a part that is not linearized; the text names it.
    ConvergenceError
        If the step cannot be solved.

    See Also
    --------
    Trajectory.linearize : of each step of a run.
    """
    parts = parts_of(control)
    for name in ("torque", "inputs", "targets"):
        if callable(parts[name]) or isinstance(parts[name], Controller):
            raise InputError(name, parts[name], "must be numbers for one step, not a callable")
    accurate = {"tolerance": 1e-12}
    if has_differences(method) and isinstance(model, Model):
        require_differences(model, method)
        accurate = {name: x for name, x in accurate.items() if name in model.methods[method].options}
    else:
        integrator_of(model, method, dt, options, composed=True)

    def step(q: ArrayLike | None, v: ArrayLike | None, p: ArrayLike | None) -> Trajectory:
        return simulate(model, q, v, p0=p, duration=dt, dt=dt, method=method, control=control,
                        **{**accurate, **options})  # fmt: skip

    run = step(q0, v0, p0)
    if p0 is None and _rests(model, run):
        run = step(run.q[0], None, run.p[1])
    return linearize_run(run, control)[0]


def _rests(model: Model, run: Trajectory) -> bool:
    """Whether a step from rest stays there, by impulses at its start."""
    if not (model.has_contact or model.constraints) or run.p[0].any():
        return False
    return float(np.abs(model.difference(run.q[0], run.q[1])).max(initial=0.0)) <= AT_REST and bool(run.p[1].any())
