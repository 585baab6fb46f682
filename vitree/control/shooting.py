"""Trajectory optimisation by shooting: the controls of all steps are searched, and each motion is a simulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, real, whole
from vitree.control.costs import FrameCost, QuadraticCost
from vitree.control.ilqr import IterativeLQR
from vitree.control.lqr import Regulator
from vitree.control.projection import Descent, ProjectionNewton
from vitree.control.shooting_problem import Iterate, ShootingProblem
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model
from vitree.run.trajectory import Trajectory

#: [rad] Where a joint rotates farther in a step, its derivatives say little.
FAR = 1.5
SEARCHES = "ilqr", "projection-newton"


@dataclass(frozen=True, eq=False)
class ShootingSolution:
    """The best motion that :func:`optimize_motion` found.

    Attributes
    ----------
    trajectory : Trajectory
        Its records, one for each step.
    torque : (steps, nv) array [N or N m]
        Acts over each step.
    inputs : (steps, nu) array, in units as the loads take them
        The inputs over each step.
    prescribed : mapping of str to (steps + 1,) array [m or rad]
        The prescribed coordinates at the nodes, as :func:`vitree.simulate` takes them. Give it the momentum at the
        start as well, ``p0=plan.trajectory.p[0]``: otherwise it takes the rates there from a curve through the nodes.
    gains : (steps, m, 2 nv) array, in units of the controls over those of the state
        Feedback along the motion: the controls are less by ``gains`` times the state's displacement. With bounds, no
        gain where a control is at its bound.
    regulator : Regulator or None
        The same as torque of a simulation; None where other controls than joint forces act.
    cost : float
        In units as the weights say.
    costs : list of float, in units as ``cost``
        After each iteration; the first is that of the guess.
    success : bool
        Whether the costs converged.
    message : str
        Why the iteration ended.
    seconds : float [s]
    """

    trajectory: Trajectory
    torque: np.ndarray
    inputs: np.ndarray
    prescribed: dict[str, np.ndarray]
    gains: np.ndarray
    regulator: Regulator | None
    cost: float
    costs: list[float]
    success: bool
    message: str
    seconds: float

    def __repr__(self) -> str:
        state = "converged" if self.success else self.message
        after = f"cost {self.cost:.6g} after {len(self.costs) - 1} iterations"
        return f"<vitree.control.ShootingSolution: {after}, {state}>"


class Search(Protocol):
    """An iteration that improves a motion."""

    at: Iterate
    costs: list[float]

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""


def optimize_motion(
    model: Model, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, duration: float, dt: float,
    costs: QuadraticCost | Sequence[QuadraticCost | FrameCost], control: Any = None,
    actuators: Sequence[str] | None = None, limits: ArrayLike | None = None, search: str | ProjectionNewton = "ilqr",
    method: str = "linear-time", max_iterations: int = 200, tolerance: float = 1e-7,
    progress: Callable[[int, float], Any] | None = None, **options: Any,
) -> ShootingSolution:  # fmt: skip
    """Find the controls that take a robot to a goal, or along a motion, at least cost.

    This is a shooting method: it searches among the controls of all steps, and each motion is a simulation. The
    derivatives are the exact ones of the steps, see :func:`vitree.linearize`. Problems with contacts, bounds on
    coordinates or goals that are met exactly are those of :class:`MotionProblem`.

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
    costs : QuadraticCost, or sequence of one QuadraticCost and of FrameCost
        The problem minimises their sum.
    control : (nv,) or (steps, nv) array, callable or mapping, optional [N or N m]
        The first guess of the torque; zero if not given. A callable (t, q, v) -> (nv,), such as a :class:`Regulator`,
        is simulated. A mapping has any of "torque", "inputs" and "prescribed", as :func:`vitree.simulate` takes them.
        What is not an actuator acts as it is given.
    actuators : sequence of str, optional
        What the search optimises: names of ``model.v_names`` for joint forces, of ``model.input_names``, and of
        ``model.prescribed_joint_names`` for where these coordinates are at the end of each step. All joint forces if
        not given. Prescribed coordinates that are actuators begin at the rates of ``v0``.
    limits : float, (m,) or (m, 2) array, optional [N or N m]
        The largest absolute value of each actuator, or its smallest and largest value, in units of it.

    Other Parameters
    ----------------
    search : "ilqr", "projection-newton" or ProjectionNewton
        Iterative LQR with regularisation and limits, or descent in the space of motions (Hauser 2002), which has no
        limits. Both end at the same optimum.
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
        If the model has contacts, or a part whose derivatives are not known.
    ConvergenceError
        If the first guess cannot be simulated.

    References
    ----------
    Li & Todorov 2004, "Iterative linear quadratic regulator design for nonlinear biological movement systems". Tassa,
    Mansard & Todorov 2014, "Control-limited differential dynamic programming" (bounds, regularisation). Hauser 2002, "A
    projection operator approach to the optimization of trajectory functionals".
    """
    began = time.perf_counter()
    problem = ShootingProblem(model, q0, v0, duration, dt, costs, control=control, actuators=actuators, limits=limits,
                              method=method, options=options)  # fmt: skip
    most, least = whole(max_iterations), real(tolerance)
    if most is None or most < 0:
        raise InputError("max_iterations", max_iterations, "must be a whole number")
    if not least >= 0:
        raise InputError("tolerance", tolerance, "must be a number, zero or positive")
    told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
    iteration, message = _search(search, problem), f"the largest number of iterations, {most}, was reached"
    success = False
    try:
        for count in range(most):
            ended = iteration.improve(least)
            if told is not None:
                told(count + 1, iteration.costs[-1])
            if ended is not None:
                success, message = ended
                break
    except KeyboardInterrupt:
        message = "the iteration was interrupted by the keyboard"
    at, turn, (gains, P) = iteration.at, problem.turn(iteration.at.q), iteration.feedback()
    torque, inputs, _ = problem.controls.split(at.controls)
    regulator = None
    if problem.controls.forces:
        regulator = Regulator(model, problem.dt, 0.0, at.q[:-1], at.p[:-1], torque, gains, P, problem.acts)
    if not success and turn > FAR:
        message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or halve dt"
    seconds, trajectory = time.perf_counter() - began, problem.simulated(at.controls)
    motion = trajectory, torque, inputs, problem.prescribed(at.controls), gains, regulator
    return ShootingSolution(*motion, at.cost, iteration.costs, success, message, seconds)


def _search(search: str | ProjectionNewton, problem: ShootingProblem) -> Search:
    """Return the iteration from the first guess."""
    if isinstance(search, ProjectionNewton):
        return Descent(problem, problem.first(), search)
    if not isinstance(search, str) or search not in SEARCHES:
        raise UnknownNameError("search", search, SEARCHES)
    first = problem.first()
    return IterativeLQR(problem, first) if search == SEARCHES[0] else Descent(problem, first, ProjectionNewton())
