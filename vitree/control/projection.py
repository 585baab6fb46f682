"""Trajectory optimisation by descent in the space of motions, with a regulator that makes motions of curves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from vitree._core import scalar
from vitree.control.frames import FrameCost
from vitree.control.motions import ARMIJO, SHARES, MotionSearch, Path, ShootingSolution
from vitree.control.regulator import weights
from vitree.errors import InputError
from vitree.model.model import Model
from vitree.wording import Argument, named

core = scalar()
#: Directions of descent, each with those that follow where it fails.
DIRECTIONS = {
    "newton": ("newton", "quasi-newton", "steepest"), "quasi-newton": ("quasi-newton", "steepest"),
    "steepest": ("steepest",),
}  # fmt: skip


def projection_newton(
    model: Model, q0: Any = None, v0: Any = None, *, duration: float, dt: float, goal: Any = None, Q: Any = 0.0, R: Any,
    Q_end: Any = None, frames: Sequence[FrameCost] | None = None, goal_p: Any = None, goal_u: Any = None,
    torque: Any = None, inputs: Any = None, prescribed: Any = None, actuators: Sequence[str] | None = None,
    feedback: tuple[Any, Any] | None = None, direction: str = "newton",
    method: str = "linear-time", max_iterations: int = 200, tolerance: float = 1e-7,
    progress: Callable[[int, float], Any] | None = None, **options: Any,
) -> ShootingSolution:  # fmt: skip
    """Find torques that take a robot to a goal at least cost, as :func:`vitree.control.ilqr` does, by another way.

    A direction is a motion of the linear dynamics that lowers the cost most. A regulator along the motion so far makes
    a motion of the curve there. Its gains do not depend on the cost, so that motions stay near unstable curves.

    Parameters
    ----------
    model : Model
    q0, v0, duration, dt, goal, Q, R, Q_end, frames, goal_p, goal_u, torque, inputs, prescribed, actuators, method, \
    max_iterations, tolerance, progress :
        As of :func:`vitree.control.ilqr`.
    feedback : (Q, R), optional
        Weights of the regulator's states and forces, as matrices or diagonals, in units as those of the cost. If not
        given: Q and the share of a step in Q_end, and R.
    direction : {"newton", "quasi-newton", "steepest"}
        From the second derivatives of cost and steps, of the cost alone, or of the regulator's weights. Where one does
        not lower the cost, the next one is tried.
    **options
        Of the method.

    Returns
    -------
    ShootingSolution
        The best motion, even where the iteration did not converge, or was interrupted by the keyboard. Its regulator
        is that with the weights ``feedback``.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    ModelError
        If the model has a part that is not linearized.
    ConvergenceError
        If the first guess cannot be simulated.

    References
    ----------
    Hauser 2002, "A projection operator approach to the optimization of trajectory functionals". Johnson, Schultz &
    Murphey 2015, "Structured linearization of discrete mechanical systems for analysis and optimal control" (trep).
    """
    began = time.perf_counter()
    problem = MotionSearch(model, q0, v0, duration, dt, goal, Q, R, Q_end, frames, actuators, None, method, options,
                           goal_p=goal_p, goal_u=goal_u, prescribed=prescribed)  # fmt: skip
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise InputError(Argument("direction", direction) + f" is none; choose {', '.join(DIRECTIONS)}")
    n, m = 2 * model.nv, len(problem.acts)
    if feedback is None:
        given = problem.Q + problem.Q_end / problem.steps, problem.R
    elif isinstance(feedback, tuple) and len(feedback) == 2:
        given = weights(feedback[0], "feedback[0]", n), weights(feedback[1], "feedback[1]", m, definite=True)
    else:
        raise InputError(named("feedback", feedback) + " must be a pair: weights of states, and of forces")
    first = torque, inputs
    return problem.searched(
        lambda path: _Descent(problem, path, given, direction), *first, max_iterations, tolerance, progress, began
    )


class Direction(NamedTuple):
    """States x (steps + 1, 2 nv) and forces u (steps, m) of the linear dynamics, and the slope of the cost along it.

    ``promised`` is the change of the cost that its quadratic says.
    """

    x: np.ndarray
    u: np.ndarray
    slope: float
    promised: float


class _Descent:
    """The iteration."""

    def __init__(self, problem: MotionSearch, path: Path, given: tuple[np.ndarray, np.ndarray], direction: str):
        self.problem, self.given, self.direction = problem, given, direction
        self.costs: list[float] = []
        self._move_to(path)

    def _move_to(self, path: Path) -> None:
        expansion = self.problem.expand(path)
        gains = self._regulate(expansion)
        self.path, self.expansion, self.gains = path, expansion, gains
        self.costs.append(path.cost)

    def _pass(self, gx: np.ndarray, W: np.ndarray, gu: np.ndarray, R: np.ndarray, expansion: Any, curvature: Any = None,
              costates: Any = None) -> Any:  # fmt: skip
        """Return what a pass promises, its k, K and P."""
        A, B, impulses = expansion[:3]
        steps, n, m = B.shape
        k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
        return core.riccati_pass(A, B, gx, W, gu, R, 0.0, curvature, impulses, None, k, K, P, costates), k, K, P

    def _regulate(self, expansion: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains of the regulator along a motion, and its cost to go."""
        gradients, matrices = expansion[3:]
        W = np.broadcast_to(2 * self.given[0], matrices.shape).copy()
        rest = np.zeros((len(gradients) - 1, len(self.problem.acts)))
        _, _, K, P = self._pass(np.zeros_like(gradients), W, rest, 2 * self.given[1], expansion)
        return K, P

    def towards(self, kind: str) -> Direction | None:
        """Return a direction of a kind; None if there is none."""
        problem, path = self.problem, self.path
        A, B, _, gx, W = self.expansion
        gu, R, bent, costates = 2 * problem.effort(path.controls) @ problem.R, 2 * problem.R, None, None
        if kind == "steepest":
            W, R = np.broadcast_to(2 * self.given[0], W.shape).copy(), 2 * self.given[1]
        elif kind == "newton":
            if not problem.bends:
                return None
            bent, costates = problem.curvature(path, A), np.empty_like(gx)
            core.costates_of(A, B, self.gains[0], gx, gu, costates)
        promised, k, K, _ = self._pass(gx, W, gu, R, self.expansion, bent, costates)
        if promised is None:
            return None
        x, u = np.empty_like(gx), np.empty_like(k)
        core.linear_motion(A, B, k, K, x, u)
        slope = float(np.sum(gx * x) + np.sum(gu * u))
        return Direction(x, u, slope, sum(promised)) if slope < 0 else None

    def along(self, towards: Direction, share: float) -> Path | None:
        """Return the motion that the regulator makes of the curve a share of a direction away; None if it fails."""
        path, model, nv = self.path, self.problem.model, self.problem.model.nv
        q = model.integrate(path.q, share * towards.x[:, :nv])
        return self.problem.corrected(path, share, (towards.u, self.gains[0]), (q, path.p + share * towards.x[:, nv:]))

    def iterate(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether it is found and why the iteration ended, or None."""
        for kind in DIRECTIONS[self.direction]:
            towards = self.towards(kind)
            if towards is None:
                continue
            if -towards.promised <= tolerance * abs(self.path.cost):
                return True, "the cost cannot fall by more than the tolerance"
            for share in SHARES:
                found = self.along(towards, float(share))
                if found is not None and self.path.cost - found.cost >= -ARMIJO * share * towards.slope:
                    self._move_to(found)
                    return None
        return False, "no direction lowers the cost any more"

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of its cost to go."""
        K, P = self.gains
        return -K, P
