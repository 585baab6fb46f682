"""Trajectory optimisation: one problem, and four searches for its optimum.

Differential dynamic programming ("ddp") searches the controls of all steps, and each motion is a simulation. It expands
the cost to go to second order about a motion, from its end to its start. "fddp" starts from a guess of the states as
well, whose steps need not end at the next node. Newton's method with a projection operator ("projection") descends in
the space of motions: a direction is a motion of the linearised dynamics, and a regulator makes a motion of the curve
along it. "transcription" makes all states unknowns of a sparse program. Bounds on states are met by an augmented
Lagrangian in the first three, and by the solver in the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, explain_calls, real, whole
from vitree.control.augmented_lagrangian import AugmentedLagrangian
from vitree.control.contact_steps import ContactWrenches
from vitree.control.contacts import ContactPhase, PhaseInterval
from vitree.control.costs import FrameCost, QuadraticCost
from vitree.control.ddp import DDP, FDDP
from vitree.control.lqr import Regulator
from vitree.control.projection import Descent, ProjectionNewton
from vitree.control.shooting_problem import Iterate, Iteration, ShootingProblem, guess_parts
from vitree.control.state_bounds import Bounds
from vitree.control.transcribed import Transcription, require_forces, transcribed
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model
from vitree.run.trajectory import Trajectory

#: [rad] Where a joint rotates farther in a step, its derivatives say little.
FAR = 1.5
SEARCHES = "ddp", "fddp", "projection", "transcription"
#: Those that take phases of contact.
PHASED = "ddp", "fddp"
#: A first guess: torques, a law (t, q, v) -> torque, or a mapping of torque, inputs and prescribed coordinates.
FirstGuess = ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None
#: A first guess of states: configurations of all nodes, or these and momenta.
States = ArrayLike | tuple[ArrayLike, ArrayLike] | None
#: The name of a search, or its options.
SearchKind = str | ProjectionNewton | Transcription


@dataclass(frozen=True, eq=False)
class MotionSolution:
    """The best motion that :func:`optimize_motion` found.

    Attributes
    ----------
    q, p : (steps + 1, nq) and (steps + 1, nv) arrays
        Configurations [m or rad] and momenta [kg m/s or kg m^2/s] of the nodes. They are ``states`` of another search.
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
        After each iteration; the first is that of the guess. They may rise where gaps close or bounds are being met.
    violation : float [m, rad, m/s, rad/s, N s or N m s]
        The largest amount by which a bound on coordinates, velocities, impulses of contacts or places of what phases
        hold is violated.
    gap : float, in units of q and p
        The largest gap between the end of a step and the next node; zero unless "fddp" or "transcription" ended before
        they closed them.
    success : bool
        Whether the costs converged, with all gaps closed and all bounds met.
    message : str
        Why the iteration ended.
    seconds : float [s]
    phases : tuple of PhaseInterval
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
    violation: float
    gap: float
    success: bool
    message: str
    seconds: float
    phases: tuple[PhaseInterval, ...] = ()
    _contacts: Callable[[], ContactWrenches] | None = field(default=None, repr=False)
    _simulate: Callable[[], Trajectory] | None = field(default=None, repr=False)

    @cached_property
    def _wrenches(self) -> ContactWrenches:
        return ContactWrenches({}, {}, {}) if self._contacts is None else self._contacts()

    @property
    def impulses(self) -> dict[str, np.ndarray]:
        """What the ground gives each frame of the phases at the start of each step, (steps, 6) [N s and N m s].

        The impulse, and its moment about the frame's origin, in world axes. They are zero while the frame is free, and
        moments of points always.
        """
        return self._wrenches.impulses

    @property
    def impacts(self) -> dict[str, np.ndarray]:
        """The part of ``impulses`` that is the inelastic impact where a phase begins, (steps, 6) [N s and N m s].

        What the phase holds is at rest after it.
        """
        return self._wrenches.impacts

    @property
    def contact_forces(self) -> dict[str, np.ndarray]:
        """The forces and moments of the other part of ``impulses``, (steps, 6) [N and N m].

        They act over half of each adjacent step of the same contact.
        """
        return self._wrenches.forces

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
        return f"<vitree.control.MotionSolution: {after}, {state}>"


@explain_calls
def optimize_motion(
    model: Model, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, duration: float | None = None, dt: float,
    costs: QuadraticCost | Sequence[QuadraticCost | FrameCost], control: FirstGuess = None, states: States = None,
    actuators: Sequence[str] | None = None, limits: ArrayLike | None = None, bounds: Bounds = None,
    velocity_bounds: Bounds = None, phases: Sequence[ContactPhase] | None = None, friction: float = 1.0,
    ground: float = 0.0, clearance: float = 0.0, search: SearchKind = "ddp", method: str = "linear-time",
    max_iterations: int = 200, tolerance: float = 1e-7, bound_tolerance: float = 1e-6,
    progress: Callable[[int, float], object] | None = None, **options: object,
) -> MotionSolution:  # fmt: skip
    """Find the controls that take a robot to a goal, or along a motion, at least cost.

    All searches minimise the same cost over the same discrete motions, those of :func:`vitree.simulate`, with the exact
    derivatives of the steps, see :func:`vitree.linearize`. Contacts of the model act as in simulations: the searches by
    shooting know their derivatives within a phase, but not those of what would touch. With ``phases`` the plan says
    what stands on the ground instead, and when. Strings, free durations and goals that are met exactly belong to
    :class:`MotionProblem`, and vehicles to :class:`ControlProblem`. A problem that is solved again and again, from
    other starts, belongs to :class:`Search`.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it.
    q0 : (nq,) array, optional [m or rad]
        The configuration at the start; neutral if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        The velocity there; zero if not given.
    duration, dt : float [s]
        Of the motion, and of a step. Phases have their own duration.
    costs : QuadraticCost, or sequence of one QuadraticCost and of FrameCost
        The problem minimises their sum.
    control : (nv,) or (steps, nv) array, callable or mapping, optional [N or N m]
        The first guess of the torque; zero if not given. A callable (t, q, v) -> (nv,), such as a :class:`Regulator`,
        is simulated. A mapping has any of "torque", "inputs" and "prescribed", as :func:`vitree.simulate` takes them.
        What is not an actuator acts as it is given.
    states : (steps + 1, nq) array, or pair of it and a (steps + 1, nv) array, optional [m or rad, kg m/s or kg m^2/s]
        The first guess of the configurations at all nodes, and of the momenta, which are otherwise those of the
        velocities between the nodes. It need not be physically possible; the first row is replaced by the start. For
        "fddp" and "transcription".
    actuators : sequence of str, optional
        What the search optimises: names of ``model.v_names`` for joint forces, of ``model.input_names``, and of
        ``model.prescribed_joint_names`` for where these coordinates are at the end of each step. All joint forces if
        not given. Prescribed coordinates that are actuators begin at the rates of ``v0``.
    limits : float, (m,) or (m, 2) array, optional [N or N m]
        The largest absolute value of each actuator, or its smallest and largest value, in units of it.
    bounds : mapping of str to (float, float), optional [m or rad]
        Least and greatest value of coordinates, by names of ``model.q_names``, at all nodes but the first.
    velocity_bounds : mapping of str to (float, float), optional [m/s or rad/s]
        Least and greatest velocity M(q)^-1 p at all nodes but the first, by names of ``model.v_names``. Models with
        contacts, constraints or prescribed coordinates have none.
    phases : sequence of ContactPhase, optional
        Which frames stand on the ground, and when, for "ddp" and "fddp"; contacts of the model do not act then. What is
        held stays where it is when its phase begins, exactly, by constraints of the steps. What begins to be held is
        stopped by an inelastic impact. What the phases ask for besides, ``friction``, ``ground`` and ``clearance``, is
        met as bounds are, by an augmented Lagrangian, to ``bound_tolerance``.
    friction : float [-]
        Of the ground. It pushes and does not pull what is held: at each node the tangential impulse is at most friction
        times the normal one, impacts included.
    ground : float [m]
        The height of the ground. A frame is there when its phase begins, if the phase does not give its place, and is
        not below it while it is free. Frames that are held at the start stay where they are.
    clearance : float [m]
        In the middle of the nodes at which it is free, such a frame is at least this high. The bound falls to zero at
        both ends as a parabola.

    Other Parameters
    ----------------
    search : {"ddp", "fddp", "projection", "transcription"}, ProjectionNewton or Transcription
        "ddp": differential dynamic programming with regularisation and limits. "fddp": the same by multiple shooting,
        from a guess of the states; without contacts and prescribed coordinates. "projection": descent in the space of
        motions, without ``limits``. "transcription": a sparse program with all states as unknowns, for joint forces;
        without contacts. All end at the same optimum, if they end at the same local one.
    method : {"linear-time", "midpoint"}
    max_iterations : int
    tolerance : float
        The iteration ends where the cost is expected to fall by less than this share of it; of "transcription" the
        largest error of the optimality conditions.
    bound_tolerance : float [m, rad, m/s, rad/s, N s or N m s]
        By how much bounds may be violated; "transcription" has 1e-8.
    progress : callable (iteration, cost), optional
        Called after each iteration.
    **options
        Of the method.

    Returns
    -------
    MotionSolution
        The best motion, even where the iteration did not converge, or was interrupted by the keyboard: ``message``
        says why it ended.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong, or the search does not take it.
    ModelError
        If the model has a part whose derivatives are not known, such as contacts that rebound.
    ConvergenceError
        If the first guess cannot be simulated.

    References
    ----------
    Mayne 1966, "A second-order gradient method for determining optimal trajectories of non-linear discrete-time
    systems". Li & Todorov 2004, "Iterative linear quadratic regulator design for nonlinear biological movement
    systems". Tassa, Mansard & Todorov 2014, "Control-limited differential dynamic programming" (limits).
    Mastalli et al. 2020, "Crocoddyl: an efficient and versatile framework for multi-contact optimal control" (FDDP).
    Howell, Jackson & Manchester 2019, "ALTRO: a fast solver for constrained trajectory optimization" (bounds). Hauser
    2002, "A projection operator approach to the optimization of trajectory functionals".
    """
    search_of = Search(model, duration=duration, dt=dt, costs=costs, actuators=actuators, limits=limits, bounds=bounds,
                       velocity_bounds=velocity_bounds, phases=phases, friction=friction, ground=ground,
                       clearance=clearance, search=search, method=method, **options)  # fmt: skip
    return search_of.solve(q0, v0, control=control, states=states, max_iterations=max_iterations, tolerance=tolerance,
                           bound_tolerance=bound_tolerance, progress=progress)  # fmt: skip


class Search:
    """A trajectory optimisation that is solved again and again, such as that of a receding horizon.

    Memory, derivatives' integrators, the last controls, the last states and the multipliers of bounds are kept from one
    :meth:`solve` to the next.

    Parameters
    ----------
    model, duration, dt, costs, actuators, limits, bounds, velocity_bounds, search, method, **options
        As of :func:`optimize_motion`.
    phases, friction, ground, clearance
        As of :func:`optimize_motion`. :meth:`solve` may replace the phases.

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

    def __init__(self, model: Model, *, duration: float | None = None, dt: float,
                 costs: QuadraticCost | Sequence[QuadraticCost | FrameCost], actuators: Sequence[str] | None = None,
                 limits: ArrayLike | None = None, bounds: Bounds = None, velocity_bounds: Bounds = None,
                 phases: Sequence[ContactPhase] | None = None, friction: float = 1.0, ground: float = 0.0,
                 clearance: float = 0.0, search: SearchKind = "ddp", method: str = "linear-time",
                 **options: object):  # fmt: skip
        named = {"projection": ProjectionNewton(), "transcription": Transcription()}
        if not isinstance(search, ProjectionNewton | Transcription) and not (
            isinstance(search, str) and search in SEARCHES
        ):
            raise UnknownNameError("search", search, SEARCHES)
        if phases is not None and search not in PHASED:
            raise InputError(
                f'phases need search="{PHASED[0]}" or "{PHASED[1]}"; other searches do not hold frames. MotionProblem '
                "has phases as well, by transcription"
            )
        if search == "fddp":
            # derivatives of steps in halves need the states between these, which are those of one simulation
            options = {"max_halvings": 0, **options}
        self.model = model
        self._search = named.get(search, search) if isinstance(search, str) else search
        self._make = partial(ShootingProblem, duration=duration, dt=dt, costs=costs, actuators=actuators,
                             limits=limits, bounds=bounds, velocity_bounds=velocity_bounds, method=method,
                             options=options, phases=phases, friction=friction, ground=ground,
                             clearance=clearance)  # fmt: skip
        self._problem: ShootingProblem | None = None
        self._last: Iterate | None = None
        self._goal: ArrayLike | None = None

    def __repr__(self) -> str:
        known = "nothing solved yet" if self._last is None else f"{len(self._last.controls)} steps, solved before"
        return f"<vitree.control.Search of {self.model.name!r}: {known}>"

    @explain_calls
    def solve(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, control: FirstGuess = None,
              states: States = None, shift: int = 0, goal: ArrayLike | None = None,
              phases: Sequence[ContactPhase] | None = None, max_iterations: int = 200,
              tolerance: float = 1e-7, bound_tolerance: float = 1e-6,
              progress: Callable[[int, float], object] | None = None) -> MotionSolution:  # fmt: skip
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
        states : (steps + 1, nq) array, or pair of it and a (steps + 1, nv) array, optional
            The first guess, as of :func:`optimize_motion`. If neither it nor ``control`` is given, "fddp" and
            "transcription" begin at the states of the last solution.
        shift : int, optional
            By how many steps the start is later than that of the last solution: its controls begin there, and its last
            ones are repeated.
        goal : (nq,) or (steps + 1, nq) array, optional [m or rad]
            From here on instead of that of the QuadraticCost, for a goal that moves.
        phases : sequence of ContactPhase, optional
            From here on instead of those before, and of as many steps: seen from a later start, phases begin earlier.
        max_iterations : int, optional
        tolerance, bound_tolerance : float, optional
            As of :func:`optimize_motion`.
        progress : callable (iteration, cost), optional
            Called after each iteration.

        Returns
        -------
        MotionSolution
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
        most, least, allowed, later = whole(max_iterations), real(tolerance), real(bound_tolerance), whole(shift)
        if most is None or most < 0:
            raise InputError("max_iterations", max_iterations, "must be a whole number")
        if not least >= 0:
            raise InputError("tolerance", tolerance, "must be a number, zero or positive")
        if not allowed > 0:
            raise InputError("bound_tolerance", bound_tolerance, "must be a positive number")
        if later is None or later < 0:
            raise InputError("shift", shift, "must be a whole number")
        problem, first = self._begun(q0, v0, control, states, later, goal, phases)
        told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
        if isinstance(self._search, Transcription):
            tell = told or (lambda iteration, cost: None)
            at, costs, success, message = transcribed(problem, first, self._search, most, least, tell)
            iteration: Iteration = DDP(problem, at)
        else:
            iteration = self._iteration(problem, first, allowed)
            costs, success, message = iteration.costs, *_iterated(iteration, most, least, told)
        return self._solution(problem, iteration, costs, success, message, began)

    def _iteration(self, problem: ShootingProblem, first: Iterate, allowed: float) -> Iteration:
        """Return the iteration from a first motion."""
        found: Iteration
        if isinstance(self._search, ProjectionNewton):
            found = Descent(problem, first, self._search)
        else:
            found = FDDP(problem, first) if self._search == "fddp" else DDP(problem, first)
        return AugmentedLagrangian(problem, found, allowed) if problem.bounds else found

    def _solution(self, problem: ShootingProblem, iteration: Iteration, costs: list[float], success: bool, message: str,
                  began: float) -> MotionSolution:  # fmt: skip
        """Return what an iteration has found; it is where the next one begins."""
        at, n = iteration.at, 2 * self.model.nv
        # without those of the configuration before
        gains, P = iteration.feedback()
        gains, P = np.ascontiguousarray(gains[:, :, :n]), np.ascontiguousarray(P[:, :n, :n])
        if at.quick:
            at = problem.as_simulated(at, gains)
            costs = [*costs[:-1], at.cost - at.penalty]
        self._last = at
        torque, inputs, _ = problem.controls.split(at.controls)
        regulator = None
        if (problem.acts < self.model.nv + inputs.shape[1]).all():
            regulator = Regulator(self.model, problem.dt, 0.0, at.q[:-1], at.p[:-1], torque, gains, P, problem.acts,
                                  inputs)  # fmt: skip
        gap = 0.0 if at.gaps is None else float(np.abs(at.gaps).max(initial=0.0))
        violation, where = problem.bounds.violation(at.motion)
        if not success:
            if gap:
                message += f"; steps end up to {gap:.3g} off the next node"
            if violation:
                message += f"; {where} is {violation:.3g} out of its bounds"
            if (turn := problem.turn(at.q)) > FAR:
                message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or "
                message += "halve dt"
            if self.model.flat.friction.any():
                message += "; joint friction is steep near rest: plan without it first, by "
                message += "model.with_parameters(friction=...), and continue from that plan"
            message += f". {self._remedy()}"
        return MotionSolution(
            at.q, at.p, torque, inputs, problem.prescribed(at.controls), gains, regulator, at.cost - at.penalty, costs,
            violation, gap, success, message, time.perf_counter() - began,
            () if problem.phases is None else problem.phases.intervals, problem.wrenches(at),
            problem.simulation(at.controls),
        )  # fmt: skip

    def _remedy(self) -> str:
        """Return what to try where the search did not converge."""
        model = self.model
        parts = {"inputs": model.input_names, "prescribed": model.prescribed_joint_names}
        kinds = ["torque", *(name for name, there in parts.items() if there)]
        control = ", ".join(f'"{name}": plan.{name}' for name in kinds)
        going_on = "control=" + ("plan.torque" if len(kinds) == 1 else f"{{{control}}}")
        if self._search == "fddp" or isinstance(self._search, Transcription):
            going_on = f"states=(plan.q, plan.p) and {going_on}"
        return (
            f"Continue from this plan with {going_on} and more iterations, or try another guess, another search, a "
            "smaller dt or larger control weights R"
        )

    def _begun(self, q0: ArrayLike | None, v0: ArrayLike | None, control: FirstGuess, states: States, later: int,
               goal: ArrayLike | None,
               phases: Sequence[ContactPhase] | None) -> tuple[ShootingProblem, Iterate]:  # fmt: skip
        """Return the problem from a start, and the first motion."""
        self._goal = self._goal if goal is None else goal
        if self._problem is None or self.model.prescribed_joint_names:
            self._problem = self._make(self.model, q0, v0, prescribed=guess_parts(control)[2])
            goal = self._goal
        else:
            self._problem.begin(q0, v0)
        problem = self._problem
        if goal is not None:
            problem.set_goal(goal)
        if problem.bounds:
            problem.bounds.shift(later)
        if phases is not None:
            problem.set_phases(phases)
        free = self._search == "fddp" or isinstance(self._search, Transcription)
        if self._search == "fddp":
            problem.require_gaps()
        elif free:
            require_forces(problem)
        elif states is not None:
            raise InputError('states need search="fddp" or "transcription"; other searches simulate the first guess')
        make = problem.between if self._search == "fddp" else problem.at
        if control is None and self._last is not None:
            last = self._last
            steps = len(last.controls)
            rows, nodes = (np.minimum(np.arange(n) + later, n - 1) for n in (steps, steps + 1))
            controls = last.controls[rows]
            if states is not None:
                return problem, make(*problem.guessed(states), controls)
            if free:
                return problem, make(last.q[nodes], last.p[nodes], controls)
            return problem, problem.follow(controls)
        if states is not None:
            return problem, make(*problem.guessed(states), problem.first_rows(control))
        return problem, problem.first(control)


def _iterated(iteration: Iteration, most: int, least: float, told: Asked | None) -> tuple[bool, str]:
    """Improve the motion of an iteration; return whether it has converged, and why it ended."""
    try:
        for count in range(most):
            ended = iteration.improve(least)
            if told is not None:
                told(count + 1, iteration.costs[-1])
            if ended is not None:
                return ended
    except KeyboardInterrupt:
        return False, "the iteration was interrupted by the keyboard"
    return False, f"the largest number of iterations, {most}, was reached"
