"""Trajectory optimisation by differential dynamic programming on the discrete mechanics, with bounds on the forces.

The cost to go is expanded to second order about a motion, from its end to its start. Far from the optimum the dynamics
are taken as linear (iterative LQR), near it their second derivatives count as well (DDP), so that the iteration ends
as Newton's does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from vitree._core import scalar
from vitree.control.frames import FrameCost
from vitree.control.motions import ARMIJO, SHARES, MotionSearch, Path, ShootingSolution
from vitree.model.model import Model

core = scalar()
#: Share of the cost that iterations of linear dynamics gain while they are the better ones.
SLOW = 0.01
#: Regularisation, in units of R: the least that is not zero, the most, and the factor by which it begins to change.
LEAST, MOST, FACTOR = 1e-6, 1e10, 2.0


def ilqr(
    model: Model, q0: Any = None, v0: Any = None, *, duration: float, dt: float, goal: Any = None, Q: Any = 0.0, R: Any,
    Q_end: Any = None, frames: Sequence[FrameCost] | None = None, goal_p: Any = None, goal_u: Any = None,
    torque: Any = None, inputs: Any = None, prescribed: Any = None, actuators: Sequence[str] | None = None,
    limits: Any = None, method: str = "linear-time", max_iterations: int = 200, tolerance: float = 1e-7,
    progress: Callable[[int, float], Any] | None = None, **options: Any,
) -> ShootingSolution:  # fmt: skip
    """Find torques that take a robot to a goal, or along a motion, at least cost.

    The cost is the sum over steps of x^T Q x + u^T R u, and x^T Q_end x at the end. Here x = (d, p - goal_p): the
    displacement from the goal to the configuration, ``model.difference(goal, q)``, and that of the momentum. u are the
    controls, the joint forces on the actuators, less ``goal_u``. Costs of ``frames`` are added. The derivatives are the
    exact ones of the steps, see :func:`vitree.linearize`.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it, without contacts.
    q0 : (nq,) array, optional [m or rad]
        The configuration at the start; neutral if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        The velocity there; zero if not given.
    duration, dt : float [s]
        Of the motion, and of a step.
    goal : (nq,) or (steps + 1, nq) array, optional [m or rad]
        The configuration to go to, or one for each end of a step. It may be left out where ``frames`` are given: it is
        the start then.
    Q : (2 nv, 2 nv) or (2 nv,) array, in units of the cost over those of the state
        A row is a diagonal. May be zero.
    R : (m, m) or (m,) array, in units of the cost over those of the controls
    Q_end : (2 nv, 2 nv) or (2 nv,) array, in units as Q, optional
        Q if not given.
    frames : sequence of FrameCost, optional
        Costs of where frames of the robot are.
    goal_p : (nv,) or (steps + 1, nv) array, optional [kg m/s or kg m^2/s]
        The momentum that costs nothing; zero if not given.
    goal_u : (m,) or (steps, m) array, optional, in units of the controls
        The controls that cost nothing; zero if not given.
    torque : (steps, nv) or (nv,) array, optional [N or N m]
        The first guess; zero if not given. Entries of joints without actuators act as they are.
    inputs : mapping, (steps, nu) or (nu,) array, optional, in units as the loads take them
        The first guess of ``model.input_names``; zero if not given. Those that are no actuators act as they are.
    prescribed : mapping of joint name to (steps + 1,) array or callable, optional [m or rad]
        The first guess of prescribed coordinates, as :func:`vitree.simulate` takes it. Those that are no actuators move
        so. Those that are begin at the rates of ``v0``.
    actuators : sequence of str, optional
        What the search may change: names of ``model.v_names`` for joint forces, of ``model.input_names``, and of
        ``model.kinematic_names`` for where these coordinates are at the end of each step. All joint forces if not
        given.
    limits : float, (m,) or (m, 2) array, optional [N or N m]
        The largest absolute value of each actuator, or its smallest and largest value, in units of it.
    method : {"linear-time", "midpoint"}
    max_iterations : int
    tolerance : float
        The iteration ends where the cost falls by less than this share of it.
    progress : callable (iteration, cost), optional
        Called after each iteration.
    **options
        Of the method.

    Returns
    -------
    ShootingSolution
        The best motion, even where the iteration did not converge, or was interrupted by the keyboard: ``message``
        says why it ended.

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
    Li & Todorov 2004, "Iterative linear quadratic regulator design for nonlinear biological movement systems". Tassa,
    Mansard & Todorov 2014, "Control-limited differential dynamic programming" (bounds, regularisation).
    """
    began = time.perf_counter()
    problem = MotionSearch(model, q0, v0, duration, dt, goal, Q, R, Q_end, frames, actuators, limits, method, options,
                           goal_p=goal_p, goal_u=goal_u, prescribed=prescribed)  # fmt: skip
    first = torque, inputs
    return problem.searched(lambda path: _Search(problem, path), *first, max_iterations, tolerance, progress, began)


class _Search:
    """The iteration: passes back and forth over the motion."""

    def __init__(self, problem: MotionSearch, path: Path):
        self.problem, self.path, self.costs = problem, path, [path.cost]
        self.regularisation, self.factor = 0.0, 1.0
        self.gains: tuple[np.ndarray, np.ndarray] | None = None
        self.P: np.ndarray | None = None
        self.expansion = problem.expand(path)
        self.curved = False
        #: derivatives of A at the path, where they were asked for
        self.bent: np.ndarray | None = None

    def iterate(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether it is the last time and why, or None."""
        problem = self.problem
        if self.curved and self.bent is None:
            self.bent = problem.curvature(self.path, self.expansion[0])
        promised = self._back(self.bent) if self.curved else None
        promised = self._back() if promised is None else promised
        while promised is None:
            if not self._regularise():
                return False, "no regularisation makes the expansion of the cost convex"
            promised = self._back()
        linear, square = promised
        if -(linear + square) <= tolerance * abs(self.path.cost):
            return True, "the cost cannot fall by more than the tolerance"
        gains = cast(tuple, self.gains)
        for share in SHARES:
            found = problem.corrected(self.path, float(share), gains)
            gain = -(share * linear + share**2 * square)
            if found is None or not self.path.cost - found.cost >= ARMIJO * gain:
                continue
            self.curved = problem.bends and self.path.cost - found.cost < SLOW * abs(self.path.cost)
            self.path, self.bent, self.expansion = found, None, problem.expand(found)
            self.costs.append(found.cost)
            self.factor = min(1 / FACTOR, self.factor / FACTOR)
            self.regularisation *= self.factor
            if self.regularisation < LEAST:
                self.regularisation = 0.0
            return None
        self.costs.append(self.path.cost)
        if not self._regularise():
            return False, "no correction lowers the cost any more"
        return None

    def _regularise(self) -> bool:
        self.factor = max(FACTOR, self.factor * FACTOR)
        self.regularisation = max(LEAST, self.regularisation * self.factor)
        return self.regularisation <= MOST

    def _back(self, curvature: np.ndarray | None = None) -> tuple[float, float] | None:
        """Find corrections and gains from the end to the start; return what they promise, None if they are none."""
        problem = self.problem
        A, B, impulses, gradients, matrices = self.expansion
        steps, m, n = B.shape[0], B.shape[2], B.shape[1]
        k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
        u, R, bounds = problem.effort(self.path.controls), 2 * problem.R, None
        if problem.controls.bounded:
            acting, ends = self.path.controls[:, problem.acts], (problem.controls.low, problem.controls.high)
            bounds = tuple(np.ascontiguousarray(end[problem.acts] - acting) for end in ends)
        promised = core.riccati_pass(
            A, B, gradients, matrices, u @ R, R, self.regularisation, curvature, impulses, bounds, k, K, P
        )
        if promised is not None:
            self.gains, self.P = (k, K), P
        return promised

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""
        problem = self.problem
        if self.gains is None:
            self._back()
        m, n = len(problem.acts), 2 * problem.model.nv
        K = -self.gains[1] if self.gains is not None else np.zeros((problem.steps, m, n))
        return K, self.P if self.P is not None else np.zeros((problem.steps + 1, n, n))
