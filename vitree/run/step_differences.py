"""Derivatives of the steps of methods in Python, by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vitree.arguments import Keywords
from vitree.errors import InputError, ModelError
from vitree.integrators import METHODS
from vitree.integrators.base import Integrator
from vitree.integrators.slopes import APART, central
from vitree.model.changes import require_one_model
from vitree.model.model import Model
from vitree.results.recording import Recording
from vitree.run.controller import Controller, parts_of


def has_differences(method: object) -> bool:
    """Return whether a method is in Python, with a ``step`` that depends on its state alone."""
    kind = METHODS.get(method) if isinstance(method, str) else None
    return kind is not None and kind.has_own_step()


def require_differences(model: Model, method: str) -> None:
    """Raise a ModelError if a model has what the state (q, p) of a method in Python does not determine."""
    for what, there in (
        ("constraints", model.constraints), ("prescribed coordinates", model.prescribed_joint_names),
        ("contacts or limits that act", model.has_contact),
    ):  # fmt: skip
        if there:
            raise ModelError(
                f'"{model.name}" has {what}: derivatives of the steps of {method}, a method in Python, are differences '
                "and do not cover these. Take linear-time or midpoint"
            )


class StepDifferences:
    """Derivatives of steps by central differences of order 6, with about ten digits where steps are smooth.

    Parameters
    ----------
    run : Recording
        By a method for which :func:`has_differences` holds.
    control : object
        That of the run.
    inputs : (steps, nu) array
        Those of each step.
    """

    def __init__(self, run: Recording, control: object, inputs: np.ndarray):
        assert isinstance(run.system, Model)
        self.model, self.run, self.inputs = run.system, run, inputs
        require_differences(self.model, run.method)
        require_one_model(run.settings, run.t)
        parts = parts_of(control)
        torque = parts["torque"]
        kinds = {
            "wrenches": run.settings.get("wrenches"), "effort_limits": parts["effort_limits"],
            "a torque that is a function": callable(torque) or isinstance(torque, Controller),
        }  # fmt: skip
        acts = [what for what, there in kinds.items() if there]
        if acts:
            raise InputError(
                f"a run by {run.method} with {' and '.join(acts)} is not linearized: differences of steps need numbers "
                "of what acts"
            )
        if run.settings.get("driven") and control is None:
            raise InputError(
                f"the derivatives of the steps of {run.method} depend on what drives them: give the control= of the run"
            )
        self.torque = np.zeros(self.model.nv) if torque is None else self.model.validate_velocity(torque, "torque")
        self._kind: type[Integrator] = METHODS[run.method]
        self._options: Keywords = dict(run.settings.get("options", {}))

    def _make(self, torque: np.ndarray, u: np.ndarray) -> Integrator:
        inputs = u if len(u) else None
        return self._kind(self.model, self.run.dt, torque=torque, inputs=inputs, **self._options)

    def blocks(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of step k by the state (2 nv, 2 nv), the torque (2 nv, nv) and inputs (2 nv, nu)."""
        model, run, u = self.model, self.run, self.inputs[k]
        t, q, p = float(run.t[k]), run.q[k], run.p[k]
        weights = np.diag(model.crba(q))
        size = APART * np.concatenate([np.ones(model.nv), weights, weights / run.dt, np.maximum(np.abs(u), 1.0)])
        cuts = np.cumsum([model.nv, model.nv, model.nv])
        usual = self._make(self.torque, u)

        def ends(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            by_q, by_p, by_torque, by_u = np.split(d, cuts)
            moved = by_torque.any() or by_u.any()
            by = self._make(self.torque + by_torque, u + by_u) if moved else usual
            start = model.integrate(q, by_q)
            x = p + by_p
            by.start(t, start, x if by.uses_momentum else model.velocity_from_momentum(start, x))
            by.advance(1)
            q2, x2 = by.state()
            return q2, x2 if by.uses_momentum else model.generalized_momentum(q2, x2)

        columns = _central(model, ends, size)
        return columns[:, : cuts[1]], columns[:, cuts[1] : cuts[2]], columns[:, cuts[2] :]


def _central(model: Model, ends: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], size: np.ndarray) -> np.ndarray:
    """Return the derivatives (2 nv, n) of (q2, p2) by n numbers, displaced by up to three times their ``size`` (n,)."""
    q2 = ends(np.zeros(len(size)))[0]
    columns = []
    for unit, step in zip(np.eye(len(size)), size, strict=True):

        def end(x: float, unit: np.ndarray = unit) -> np.ndarray:
            q, p = ends(x * unit)
            return np.concatenate([model.difference(q2, q), p])

        columns.append(central(end, step))
    return np.column_stack(columns)
