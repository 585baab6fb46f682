"""Trajectory optimisation by shooting: the controls of all steps are searched, and each motion is a simulation.

There are two searches. Iterative LQR expands the cost to go to second order about a motion, from its end to its start:
far from the optimum with linearised dynamics, near it with their second derivatives as well (differential dynamic
programming), so that the iteration converges quadratically. Newton's method with a projection operator descends in the
space of motions: a direction is a motion of the linearised dynamics, and a regulator makes a motion of the curve along
it. Its gains do not depend on the cost, so that the search stays near motions that are unstable in open loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import mul
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import Asked, explain_calls, real, whole
from vitree.control.costs import FrameCost, QuadraticCost
from vitree.control.lqr import Regulator, weights
from vitree.control.shooting_problem import Expansion, Iterate, Pass, ShootingProblem, guess_parts, line_search
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model
from vitree.run.trajectory import Trajectory

core = scalar()
#: Directions of descent, each with those that follow where it fails.
DIRECTIONS = {
    "newton": ("newton", "quasi-newton", "steepest"), "quasi-newton": ("quasi-newton", "steepest"),
    "steepest": ("steepest",),
}  # fmt: skip
#: [rad] Where a joint rotates farther in a step, its derivatives say little.
FAR = 1.5
SEARCHES = "ilqr", "projection-newton"
#: A first guess: torques, a law (t, q, v) -> torque, or a mapping of torque, inputs and prescribed coordinates.
FirstGuess = ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None
#: Share of the cost that an iteration must gain for the next one to use linearised dynamics again.
SLOW = 0.01
#: So many such iterations in a row before second derivatives of steps are worth their time, of more than a few
#: velocities.
PATIENCE, FEW = 3, 4
#: Regularisation, in units of R: the least that is not zero, the most, and the factor by which it begins to change.
LEAST, MOST, FACTOR = 1e-6, 1e10, 2.0


@dataclass(frozen=True, eq=False)
class ShootingSolution:
    """The best motion that :func:`optimize_motion` found.

    Attributes
    ----------
    q, p : (steps + 1, nq) and (steps + 1, nv) arrays
        Configurations [m or rad] and momenta [kg m/s or kg m^2/s] of the nodes.
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
        The same as the control of a simulation; None where prescribed coordinates are controls.
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

    q: np.ndarray
    p: np.ndarray
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
    _simulate: Callable[[], Trajectory] | None = field(default=None, repr=False)

    @cached_property
    def trajectory(self) -> Trajectory:
        """The records of the motion, one for each step; simulated when it is first asked for.

        Raises
        ------
        InputError
            If no search made the solution.
        """
        if self._simulate is None:
            raise InputError("the solution was not made by a search, which alone can simulate it")
        return self._simulate()

    def __repr__(self) -> str:
        state = "converged" if self.success else self.message
        after = f"cost {self.cost:.6g} after {len(self.costs) - 1} iterations"
        return f"<vitree.control.ShootingSolution: {after}, {state}>"


@explain_calls
def optimize_motion(
    model: Model, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, duration: float, dt: float,
    costs: QuadraticCost | Sequence[QuadraticCost | FrameCost], control: FirstGuess = None,
    actuators: Sequence[str] | None = None, limits: ArrayLike | None = None, search: str | ProjectionNewton = "ilqr",
    method: str = "linear-time", max_iterations: int = 200, tolerance: float = 1e-7,
    progress: Callable[[int, float], object] | None = None, **options: object,
) -> ShootingSolution:  # fmt: skip
    """Find the controls that take a robot to a goal, or along a motion, at least cost.

    This is a shooting method: it searches among the controls of all steps, and each motion is a simulation. The
    derivatives are the exact ones of the steps, see :func:`vitree.linearize`. Contacts act as in simulations: the
    search knows their derivatives within a phase, but not those of what would touch. Contact phases that are part of
    the plan, bounds on coordinates and goals that are met exactly belong to :class:`MotionProblem`. A problem that is
    solved again and again, from other starts, belongs to :class:`Search`.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it.
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
        If the model has a part whose derivatives are not known, such as contacts that rebound.
    ConvergenceError
        If the first guess cannot be simulated.

    References
    ----------
    Li & Todorov 2004, "Iterative linear quadratic regulator design for nonlinear biological movement systems". Tassa,
    Mansard & Todorov 2014, "Control-limited differential dynamic programming" (bounds, regularisation). Hauser 2002, "A
    projection operator approach to the optimization of trajectory functionals".
    """
    search_of = Search(model, duration=duration, dt=dt, costs=costs, actuators=actuators, limits=limits, search=search,
                       method=method, **options)  # fmt: skip
    return search_of.solve(q0, v0, control=control, max_iterations=max_iterations, tolerance=tolerance,
                           progress=progress)  # fmt: skip


class Search:
    """A trajectory optimisation that is solved again and again, such as that of a receding horizon.

    Memory, derivatives' integrators and the last controls are kept from one :meth:`solve` to the next.

    Parameters
    ----------
    model, duration, dt, costs, actuators, limits, search, method, **options
        As of :func:`optimize_motion`.

    Raises
    ------
    UnknownNameError
        If the search is not known. The other arguments are checked when the first problem is solved.

    Examples
    --------
    A pole is kept upright by the first 20 ms of the motion over the next second, found anew each time::

        search = vt.control.Search(model, duration=1.0, dt=0.02, costs=cost, actuators=["slide"])
        for _ in range(100):
            plan = search.solve(sim.q, sim.v, shift=1, max_iterations=1)
            sim.step(control=vt.Control(torque=plan.torque[0]))
    """

    def __init__(self, model: Model, *, duration: float, dt: float,
                 costs: QuadraticCost | Sequence[QuadraticCost | FrameCost], actuators: Sequence[str] | None = None,
                 limits: ArrayLike | None = None, search: str | ProjectionNewton = "ilqr",
                 method: str = "linear-time", **options: object):  # fmt: skip
        if not isinstance(search, ProjectionNewton) and not (isinstance(search, str) and search in SEARCHES):
            raise UnknownNameError("search", search, SEARCHES)
        self.model, self._search = model, search
        self._make = partial(ShootingProblem, duration=duration, dt=dt, costs=costs, actuators=actuators,
                             limits=limits, method=method, options=options)  # fmt: skip
        self._problem: ShootingProblem | None = None
        self._controls: np.ndarray | None = None
        self._goal: ArrayLike | None = None

    def __repr__(self) -> str:
        known = "nothing solved yet" if self._controls is None else f"{len(self._controls)} steps, solved before"
        return f"<vitree.control.Search of {self.model.name!r}: {known}>"

    @explain_calls
    def solve(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, control: FirstGuess = None,
              shift: int = 0, goal: ArrayLike | None = None, max_iterations: int = 200, tolerance: float = 1e-7,
              progress: Callable[[int, float], object] | None = None) -> ShootingSolution:  # fmt: skip
        """Find the controls from a start.

        Parameters
        ----------
        q0 : (nq,) array, optional [m or rad]
            The configuration at the start; neutral if not given.
        v0 : (nv,) array, optional [m/s or rad/s]
            The velocity there; zero if not given.
        control : (nv,) or (steps, nv) array, callable or mapping, optional [N or N m]
            The first guess, as of :func:`optimize_motion`; if not given the controls of the last solution, and zero at
            the first time.
        shift : int, optional
            By how many steps the start is later than that of the last solution: its controls begin there, and its last
            ones are repeated.
        goal : (nq,) or (steps + 1, nq) array, optional [m or rad]
            From here on instead of that of the QuadraticCost, for a goal that moves.
        max_iterations : int, optional
        tolerance : float, optional
            The iteration ends where the cost falls by less than this share of it.
        progress : callable (iteration, cost), optional
            Called after each iteration.

        Returns
        -------
        ShootingSolution
            The best motion, as of :func:`optimize_motion`.

        Raises
        ------
        InputError, UnknownNameError
            If an argument is wrong.
        ModelError
            If the model has a part whose derivatives are not known.
        ConvergenceError
            If the first guess cannot be simulated.
        """
        began = time.perf_counter()
        most, least, later = whole(max_iterations), real(tolerance), whole(shift)
        if most is None or most < 0:
            raise InputError("max_iterations", max_iterations, "must be a whole number")
        if not least >= 0:
            raise InputError("tolerance", tolerance, "must be a number, zero or positive")
        if later is None or later < 0:
            raise InputError("shift", shift, "must be a whole number")
        problem, first = self._begun(q0, v0, control, later, goal)
        told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
        iteration = _iteration(self._search, problem, first)
        success, message = False, f"the largest number of iterations, {most}, was reached"
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
        at, n = iteration.at, 2 * self.model.nv
        # without those of the configuration before
        gains, P = iteration.feedback()
        gains, P = np.ascontiguousarray(gains[:, :, :n]), np.ascontiguousarray(P[:, :n, :n])
        self._controls = at.controls
        torque, inputs, _ = problem.controls.split(at.controls)
        regulator = None
        if (problem.acts < self.model.nv + inputs.shape[1]).all():
            regulator = Regulator(self.model, problem.dt, 0.0, at.q[:-1], at.p[:-1], torque, gains, P, problem.acts,
                                  inputs)  # fmt: skip
        if not success and (turn := problem.turn(at.q)) > FAR:
            message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or halve dt"
        return ShootingSolution(
            at.q, at.p, torque, inputs, problem.prescribed(at.controls), gains, regulator, at.cost, iteration.costs,
            success, message, time.perf_counter() - began, problem.simulation(at.controls),
        )  # fmt: skip

    def _begun(self, q0: ArrayLike | None, v0: ArrayLike | None, control: FirstGuess, later: int,
               goal: ArrayLike | None) -> tuple[ShootingProblem, Iterate]:  # fmt: skip
        """Return the problem from a start, and the first motion."""
        self._goal = self._goal if goal is None else goal
        if self._problem is None or self.model.prescribed_joint_names:
            self._problem = self._make(self.model, q0, v0, prescribed=guess_parts(control)[2])
            goal = self._goal
        else:
            self._problem.begin(q0, v0)
        if goal is not None:
            self._problem.set_goal(goal)
        if control is not None or self._controls is None:
            return self._problem, self._problem.first(control)
        steps = len(self._controls)
        return self._problem, self._problem.follow(self._controls[np.minimum(np.arange(steps) + later, steps - 1)])


def _iteration(search: str | ProjectionNewton, problem: ShootingProblem, first: Iterate) -> Iteration:
    """Return the iteration from a first motion."""
    if isinstance(search, ProjectionNewton):
        return Descent(problem, first, search)
    return IterativeLQR(problem, first) if search == SEARCHES[0] else Descent(problem, first, ProjectionNewton())


class Iteration(Protocol):
    """An iteration that improves a motion."""

    at: Iterate
    costs: list[float]

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""


# ---- iterative LQR -------------------------------------------------------------------------------------------


class IterativeLQR:
    """The iteration; ``at`` is the motion so far, ``costs`` its cost after each iteration.

    References: Li & Todorov 2004; Tassa, Mansard & Todorov 2014 (bounds, regularisation).
    """

    def __init__(self, problem: ShootingProblem, at: Iterate):
        self.problem, self.at, self.costs = problem, at, [at.cost]
        self.regularisation, self.factor = 0.0, 1.0
        self.last: Pass | None = None
        self.curved, self.slow = False, 0
        #: derivatives of A at the motion, if they are known
        self.bent: np.ndarray | None = None
        self._expansion: Expansion | None = None

    @property
    def expansion(self) -> Expansion:
        """The expansion at the motion, worked out when it is first asked for."""
        if self._expansion is None:
            self._expansion = self.problem.expand(self.at)
        return self._expansion

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        problem = self.problem
        if self.curved and self.bent is None:
            self.bent = problem.curvature(self.at, self.expansion.A)
        bent = problem.bent(self.at, self.expansion)
        expected = self._back(bent, self.bent) if self.curved else None
        expected = self._back(bent) if expected is None else expected
        if expected is None and bent is not self.expansion:
            expected = self._back(self.expansion)
        while expected is None:
            if not self._regularise():
                return False, "no regularisation makes the quadratic model of the cost convex"
            expected = self._back(self.expansion)
        linear, square = expected
        if -(linear + square) <= tolerance * abs(self.at.cost):
            return True, "the cost cannot fall by more than the tolerance"
        assert self.last is not None
        gains = self.last.k, self.last.K
        found, share = line_search(
            self.at, lambda share: problem.corrected(self.at, share, gains),
            lambda share: -(share * linear + share**2 * square),
        )  # fmt: skip
        if found is None:
            self.costs.append(self.at.cost)
            return None if self._regularise() else (False, "no correction lowers the cost any more")
        self.slow = self.slow + 1 if self.at.cost - found.cost < SLOW * abs(self.at.cost) else 0
        self.curved = problem.bends and self.slow >= (1 if problem.model.nv <= FEW else PATIENCE)
        self.at, self.bent, self._expansion = found, None, None
        self.costs.append(found.cost)
        if share < 1:
            # the quadratic model holds less far than the step it asked for
            self._regularise()
            return None
        self.factor = min(1 / FACTOR, self.factor / FACTOR)
        self.regularisation *= self.factor
        if self.regularisation < LEAST:
            self.regularisation = 0.0
        return None

    def _regularise(self) -> bool:
        self.factor = max(FACTOR, self.factor * FACTOR)
        self.regularisation = max(LEAST, self.regularisation * self.factor)
        return self.regularisation <= MOST

    def _back(self, expansion: Expansion, curvature: np.ndarray | None = None) -> tuple[float, float] | None:
        """Find corrections and gains from the end to the start; return the change they expect, None if not convex."""
        problem, bounds = self.problem, None
        if problem.controls.bounded:
            acting, ends = self.at.controls[:, problem.acts], (problem.controls.low, problem.controls.high)
            bounds = tuple(np.ascontiguousarray(end[problem.acts] - acting) for end in ends)
        R = 2 * problem.R
        found = problem.riccati(expansion, problem.effort(self.at.controls) @ R, R, curvature=curvature,
                                regularisation=self.regularisation, bounds=bounds)  # fmt: skip
        if found.expected is not None:
            self.last = found
        return found.expected

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""
        if self.last is None:
            self._back(self.expansion)
        if self.last is None:
            steps, n, m = self.expansion.B.shape
            return -np.zeros((steps, m, n)), np.zeros((steps + 1, n, n))
        return -self.last.K, self.last.P


# ---- projection operator -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProjectionNewton:
    """The options of the search "projection-newton" of :func:`optimize_motion`.

    Parameters
    ----------
    direction : {"newton", "quasi-newton", "steepest"}
        Descent by the second derivatives of cost and steps, by those of the cost alone, or by the regulator's weights.
        Where a direction does not lower the cost, the next one is tried.
    feedback : (Q, R), optional
        Weights of the regulator's states and controls, as matrices or diagonals, in units as those of the cost. If not
        given: Q and the share of a step in Q_end, and R.

    Raises
    ------
    InputError
        If the direction is not known, or ``feedback`` is not a pair.

    References
    ----------
    Hauser 2002, "A projection operator approach to the optimization of trajectory functionals". Johnson, Schultz &
    Murphey 2015, "Structured linearization of discrete mechanical systems for analysis and optimal control" (trep).
    """

    direction: str = "newton"
    feedback: tuple[ArrayLike, ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise InputError("direction", self.direction, f"is unknown; choose {', '.join(DIRECTIONS)}")
        if self.feedback is not None and not (isinstance(self.feedback, tuple) and len(self.feedback) == 2):
            raise InputError("feedback", self.feedback, "must be a pair: weights of states, and of controls")


class Direction(NamedTuple):
    """States x (steps + 1, 2 nv) and controls u (steps, m) of the linearised dynamics, and the slope of the cost.

    ``expected`` is the change of the cost in the quadratic model.
    """

    x: np.ndarray
    u: np.ndarray
    slope: float
    expected: float


class Descent:
    """The iteration; ``at`` is the motion so far, ``costs`` its cost after each iteration."""

    def __init__(self, problem: ShootingProblem, at: Iterate, options: ProjectionNewton):
        if problem.controls.bounded:
            raise InputError('limits need search="ilqr"; "projection-newton" has no bounds on controls')
        self.problem, self.direction = problem, options.direction
        if options.feedback is None:
            self.weights = problem.Q + problem.Q_end / problem.steps, problem.R
        else:
            Q, R = options.feedback
            n, m = 2 * problem.model.nv, len(problem.acts)
            self.weights = weights(Q, "feedback[0]", n), weights(R, "feedback[1]", m, definite=True)
        self.costs: list[float] = []
        self._move_to(at)

    def _move_to(self, at: Iterate) -> None:
        self.at, self.expansion = at, self.problem.expand(at)
        self.regulator = self._regulate(self.expansion)
        self.costs.append(at.cost)

    def _regulate(self, expansion: Expansion) -> Pass:
        """Return the regulator along a motion."""
        gradients, W = expansion.gradients, self._weighed(expansion)
        rest = np.zeros((len(gradients) - 1, len(self.problem.acts)))
        model = expansion._replace(gradients=np.zeros_like(gradients), matrices=W)
        return self.problem.riccati(model, rest, 2 * self.weights[1])

    def _weighed(self, expansion: Expansion) -> np.ndarray:
        """Return the regulator's weights of states, of each node."""
        found = np.zeros_like(expansion.matrices)
        n = len(self.weights[0])
        found[:, :n, :n] = 2 * self.weights[0]
        return found

    def towards(self, kind: str) -> Direction | None:
        """Return a direction of a kind; None if there is none."""
        problem, at, model = self.problem, self.at, self.expansion
        A, B, gx = model.A, model.B, model.gradients
        gu, R, bent, costates = 2 * problem.effort(at.controls) @ problem.R, 2 * problem.R, None, None
        if kind == "steepest":
            model = model._replace(matrices=self._weighed(model))
            R = 2 * self.weights[1]
        elif kind == "newton":
            if not problem.bends:
                return None
            bent, costates = problem.curvature(at, A), np.empty_like(gx)
            core.costates_of(A, B, self.regulator.K, gx, gu, costates)
        found = problem.riccati(model, gu, R, curvature=bent, costates=costates)
        if found.expected is None:
            return None
        x, u = np.empty_like(gx), np.empty_like(found.k)
        core.linear_motion(A, B, found.k, found.K, x, u)
        slope = float(np.sum(gx * x) + np.sum(gu * u))
        return Direction(x, u, slope, sum(found.expected)) if slope < 0 else None

    def along(self, towards: Direction, share: float) -> Iterate | None:
        """Return the motion that the regulator makes of the curve a share of a direction away; None if it fails."""
        at, model, nv = self.at, self.problem.model, self.problem.model.nv
        q = model.integrate(at.q, share * towards.x[:, :nv])
        nearby = q, at.p + share * towards.x[:, nv : 2 * nv]
        return self.problem.corrected(at, share, (towards.u, self.regulator.K), nearby)

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        for kind in DIRECTIONS[self.direction]:
            towards = self.towards(kind)
            if towards is None:
                continue
            if -towards.expected <= tolerance * abs(self.at.cost):
                return True, "the cost cannot fall by more than the tolerance"
            found, _ = line_search(self.at, partial(self.along, towards), partial(mul, -towards.slope))
            if found is not None:
                self._move_to(found)
                return None
        return False, "no direction lowers the cost any more"

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of its cost to go."""
        return -self.regulator.K, self.regulator.P
