"""Vehicles: optimal control on the discrete mechanics (DMOC), plans, and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, mapping, numbers_of, of_kind, real, several, shown
from vitree.control.costs import EffortCost, PathConstraint, RunningCost, TimeCost, TorqueCost, VelocityCost
from vitree.control.dynamics import Dynamics, dynamics_of
from vitree.control.program import Block, Equations, Function, Sum, Term, quiet
from vitree.control.transcription import Horizon, TranscriptionProblem, weights_of
from vitree.errors import InputError, UnknownNameError
from vitree.run.controller import Control
from vitree.run.simulate import simulate
from vitree.run.trajectory import Trajectory
from vitree.vehicles import Car
from vitree.vehicles.base import Vehicle

Cost = EffortCost | TorqueCost | VelocityCost | TimeCost | RunningCost


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion with its controls.

    ``plan[name]`` is one configuration coordinate, velocity or input over time.

    Attributes
    ----------
    t : (N + 1,) array [s]
    q : (N + 1, nq) array [m or rad]
        Configurations at the nodes.
    v : (N, nv) array [m/s or rad/s]
        The integrator's velocities of the intervals between nodes.
    u : (N, nu) array
        Inputs, constant over each interval, in units of the vehicle's.
    v_ends : (2, nv) array [m/s or rad/s]
        Velocities at the first and last node.
    q_names, v_names, input_names : tuple of str

    Raises
    ------
    InputError
        If an array has other than numbers, or the arrays are not those of one motion.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    v_ends: np.ndarray
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    input_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, axes in (("t", 1), ("q", 2), ("v", 2), ("u", 2), ("v_ends", 2)):
            x = numbers_of(getattr(self, name), f"plan.{name}")
            if x.ndim != axes:
                raise InputError(f"plan.{name} has shape {x.shape}; it must have {axes} axes")
            object.__setattr__(self, name, x)
        N, rows = len(self.t) - 1, (len(self.q), len(self.v), len(self.u), len(self.v_ends))
        if N < 1 or rows != (N + 1, N, N, 2):
            needed = "it needs two at least, q at each of them, v and u between, and v_ends at both ends"
            raise InputError(f"the plan has {N + 1} times and {rows} rows of q, v, u and v_ends; {needed}")
        for name in ("q_names", "v_names", "input_names"):
            names = several(getattr(self, name), f"plan.{name}", "a sequence of names")
            object.__setattr__(self, name, tuple(str(x) for x in names))

    @property
    def h(self) -> float:
        """The step [s]."""
        return float(self.t[1] - self.t[0])

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one configuration coordinate, velocity or input over time, by name."""
        for names, values in ((self.q_names, self.q), (self.v_names, self.v), (self.input_names, self.u)):
            if isinstance(name, str) and name in names:
                return values[:, names.index(name)]
        raise UnknownNameError("coordinate, velocity or input", name, self.q_names + self.v_names + self.input_names)


class ControlProblem(TranscriptionProblem[Plan]):
    """Take a vehicle from a start to a goal at the least cost.

    The variables are the configurations q_k at all nodes, the velocities and inputs of all steps, the velocities at
    both ends, and the duration. Orientations in space are quaternions, which have no chart and no edges: the equations
    keep their length, and the goal is three equations. The constraints are the steps of the vehicle's variational
    integrator (:class:`Dynamics`); those of a step depend on its own variables and on the next configuration only.

    Parameters
    ----------
    vehicle : Dynamics, or vehicle of ``vitree.vehicles``
        A vehicle is turned into a Dynamics by :func:`dynamics_of`.
    steps : int
        Steps N.
    dt, duration : float or (float, float) [s]
        The step, or the duration of all steps: give one of them, as a number or as (least, greatest).
    start, goal : (nq,) array, or pair of (nq,) and (nv,) arrays
        Configuration [m or rad] and velocity [m/s or rad/s]; at rest unless given. In the goal NaN is free, and None is
        a free velocity.
    cost : str, cost, or sequence of them
        "effort", "torque", "time", :class:`EffortCost`, :class:`TorqueCost`, :class:`VelocityCost`, :class:`TimeCost`,
        :class:`RunningCost`; the problem minimises their sum.
    bounds : mapping of str to (float, float)
        Least and greatest value of configurations (at nodes), velocities and inputs (of steps), by name. A name that is
        not given keeps the vehicle's own bounds.
    obstacles : sequence of callables
        Signed distances; see ``vitree.control.vehicles``. The vehicle avoids them at the nodes only: add half of the
        distance of a step to ``radius``.
    radius : float [m]
        The vehicle is a ball of this radius about each of its ``points``.
    points : (P, 3) or (P, 2) array [m]
        In body axes; the origin unless given.
    path_constraints : sequence of PathConstraint
        Further constraints on time, configuration, velocity and inputs.
    guess : Plan or (N + 1, nq) array, optional [m or rad]
        Where the search begins: a plan, which may have another number of steps, or the configurations at the nodes. The
        default goes straight from start to goal.

    Raises
    ------
    InputError
        For a wrong shape, an infeasible start or goal, a function that takes no complex numbers.
    UnknownNameError
        For a name that is not known.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 6; Junge, Marsden & Ober-Bloebaum 2005 (DMOC).
    """

    _takes = (*TranscriptionProblem._takes, RunningCost)
    _plan = Plan

    @quiet
    def __init__(
        self,
        vehicle: Dynamics | Vehicle,
        *,
        steps: int,
        dt: float | tuple[float, float] | None = None,
        duration: float | tuple[float, float] | None = None,
        start: ArrayLike | tuple[ArrayLike, ArrayLike],
        goal: ArrayLike | tuple[ArrayLike, ArrayLike],
        cost: str | Cost | Sequence[str | Cost] = "effort",
        bounds: Mapping[str, tuple[float, float]] | None = None,
        obstacles: Sequence[Callable[[np.ndarray], np.ndarray]] = (),
        radius: float = 0.0,
        points: ArrayLike | None = None,
        path_constraints: Sequence[PathConstraint] = (),
        guess: Plan | ArrayLike | None = None,
    ):
        self.vehicle = vehicle = dynamics_of(vehicle)
        self._names, self._trim = (vehicle.q_names, vehicle.v_names, vehicle.input_names), vehicle.trim
        self._avoided, self._radius, self._points = obstacles, radius, points
        self._paths = several(path_constraints, "path_constraints", "a sequence of PathConstraint")
        own = mapping(bounds, "bounds", "a mapping of names to (least, greatest)")
        super().__init__(Horizon.of(steps, dt, duration), start=start, goal=goal, cost=cost,
                         bounds={**vehicle.bounds, **own}, guess=guess)  # fmt: skip
        # Check the functions near the guess, not at it: there they have kinks, and slopes that are zero by chance.
        aside = 0.05 * np.random.default_rng(0).standard_normal(len(self.x0))
        near = self._expand(self._clipped(self.x0 + np.maximum(1.0, np.abs(self.x0)) * aside))
        for term in self._curvature.terms:
            term.check(near)

    @quiet
    def trajectory(self, x: ArrayLike) -> Plan:
        """Return the motion whose variables are ``x``."""
        full, at = self._expand(x), self._variables
        t = np.linspace(0.0, 1.0, self.steps + 1) * full[at.T]
        q, v, u, v_ends = (full[at[block]] for block in ("q", "v", "u", "v_ends"))
        return Plan(t, q, v, u, v_ends, self.vehicle.q_names, self.vehicle.v_names, self.vehicle.input_names)

    # ---- states and bounds --------------------------------------------------------------------------------------

    def _checked(self, q: np.ndarray, v: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
        for part, name in ((q, "configuration"), (v, "velocity")):
            if what == "the start" and np.isnan(part).any():
                raise InputError(f"{what} has NaN in its {name}; only the goal may leave entries free")
        return self.vehicle.check(q, what), v

    def _blocks(self) -> list[Block]:
        (q, v, u), N = self._names, self.steps
        return [Block("q", q, 0, N + 1), Block("v", v, 0, N), Block("u", u, 0, N),
                Block("v_ends", v, N + 1, 2, "at the goal")]  # fmt: skip

    def _bound_variables(self, bounds: Mapping[str, ArrayLike]) -> None:
        """Set the bounds by name; restrict velocities to the reach of a longest step."""
        at, longest = self._variables, self._horizon.greatest / self.steps
        blocks = list(zip("qvu", self._names, strict=True))
        self._bound(bounds, blocks, "coordinate, velocity or input")
        reach = self.vehicle.reach(longest)
        at.strict[at.T] = bool(reach)
        for name, largest in reach.items():
            index = at["v"][:, self._names[1].index(name)]
            at.restrict(index, largest)
            if not (at.lower[index] <= at.upper[index]).all():
                raise InputError(
                    f'the bounds of "{name}" are beyond {largest:.4g}, the most for steps of {longest:.4g} s: '
                    "take more steps"
                )

    def _give_ends(self) -> None:
        at, N, (start_q, start_v), (goal_q, goal_v) = self._variables, self.steps, self._start, self._goal
        self._require_within(0, start_q, "the start")
        self._require_within(N, goal_q, "the goal")
        at.give(at.q[0], start_q)
        at.give(at["v_ends"][0], start_v)
        known = np.isfinite(goal_v)
        at.give(at["v_ends"][1][known], goal_v[known])
        met, self._turn = self.vehicle.meet(start_q, goal_q)
        at.give(at.q[N][met], goal_q[met])

    # ---- equations ----------------------------------------------------------------------------------------------

    def _add_equations(self, equations: Equations) -> None:
        at = self._variables
        self._add_steps(equations)
        if self._turn is not None:
            equations.add("goal orientation", self._turn, at.q[self.steps :])
        self._add_obstacles(equations)
        index = at.timed(at.q[:-1], at["v"], at.u)
        for path in self._paths:
            of_kind(path, PathConstraint, "path_constraints", "a sequence of PathConstraint")
            bounds = path.lower, path.upper
            equations.add(f'path constraint "{path.name}"', self._at_intervals(path.function), index, bounds)

    def _add_steps(self, equations: Equations) -> None:
        """Add the vehicle's steps (see ``vitree.control.dynamics``).

        The balance of momentum at node k is p_k of the step that begins there less p_k of the step that ends there.
        """
        at, vehicle, N = self._variables, self.vehicle, self.steps
        shares = np.arange(N + 1) / N
        (nq, nv), start, end = map(len, self._names[:2]), at.q[:-1], at.q[1:]
        balance, motion = equations.rows("dynamics", (N + 1, nv)), equations.rows("reconstruction", (N, nq))

        def add_steps(name: str, q: np.ndarray, rows: np.ndarray, sign: float, share: np.ndarray | None = None) -> None:
            """Add one of the vehicle's functions; ``share`` is the time of a force, as a share of the duration."""
            function, used = getattr(vehicle, name), vehicle.looks_at.get(name, "qvu")
            all_parts = {"q": q, "v": at["v"], "u": at.u}
            parts = [index if key in used else index[:, :0] for key, index in all_parts.items()]
            cuts = np.cumsum([1, *(part.shape[1] for part in parts[:-1])])

            def value(z: np.ndarray) -> np.ndarray:
                T, *rest = np.split(z, cuts, axis=-1)
                h = T[..., 0] / N
                if share is None:
                    return np.asarray(sign * function(h, *rest))
                return np.asarray(sign * h[..., None] * function(T[..., 0] * share, *rest))

            equations.terms.append(Term(f"the vehicle's {name}", value, at.timed(*parts), rows))

        def add_end(name: str, q: np.ndarray, v: np.ndarray, rows: np.ndarray, sign: float) -> None:
            """Add the momentum at one end of the motion."""

            def value(z: np.ndarray) -> np.ndarray:
                return sign * vehicle.momentum(z[..., :nq], z[..., nq:])

            equations.terms.append(Term(name, value, np.concatenate((q, v))[None], rows))

        add_steps("before", start, balance[:-1], 1)
        add_steps("force", start, balance[:-1], -1 / 2, shares[:-1])
        add_steps("after", end, balance[1:], -1)
        add_steps("force", end, balance[1:], -1 / 2, shares[1:])
        add_end("momentum at the start", at.q[0], at["v_ends"][0], balance[:1], -1)
        add_end("momentum at the goal", at.q[N], at["v_ends"][1], balance[-1:], 1)
        self._balance = list(equations.terms), equations.count
        add_steps("advance", start, motion, -1)
        equations.terms.append(Term("reconstruction", lambda z: z, end.reshape(-1, 1), motion.reshape(-1, 1)))

    def _add_obstacles(self, equations: Equations) -> None:
        """Add the clearances between obstacles and balls about the vehicle's points, at the nodes.

        A pose that is given cannot change: it is checked at once, and gets no rows.
        """
        vehicle, size, given = self.vehicle, self.vehicle.group.size - 1, self._points
        points = np.zeros((1, size)) if given is None else numbers_of(given, "points")
        if points.ndim != 2 or points.shape[1] != size or not np.isfinite(points).all():
            raise InputError(f"points has the shape {points.shape}; it must be (P, {size})")
        if not 0 <= (radius := real(self._radius)) < np.inf:
            raise InputError(f"the radius is {shown(self._radius)}; it must be a length [m], zero or more")
        obstacles = several(self._avoided, "obstacles", "a sequence of obstacles")
        if not all(map(callable, obstacles)):
            raise InputError(f"obstacles are {shown(obstacles)}; each must be a callable, such as a SphereObstacle")

        def clearance(distance: Callable[[np.ndarray], np.ndarray]) -> Function:
            def value(q: np.ndarray) -> np.ndarray:
                g = vehicle.pose(q)[..., None, :, :]
                at = (g[..., :-1, :-1] @ points[:, :, None])[..., 0] + g[..., :-1, -1]
                flat = np.zeros((*at.shape[:-1], 3 - size), at.dtype)
                return distance(np.concatenate((at, flat), axis=-1)) - radius

            return value

        ends = {"start": self._start[0], "goal": self._goal[0]}
        known = {what: q for what, q in ends.items() if np.isfinite(vehicle.pose(q)).all()}
        nodes = self._variables.q[1:-1] if "goal" in known else self._variables.q[1:]
        for k, obstacle in enumerate(obstacles):
            name = f'obstacle "{getattr(obstacle, "name", getattr(obstacle, "__name__", k))}"'
            function = clearance(obstacle)
            for what, q in known.items():
                if (nearest := function(q[None]).min()) < -1e-9:
                    text = f"the {what} is inside {name}, {-nearest:.3g} m deep; move it out, or lower radius="
                    raise InputError(text)
            equations.add(name, function, nodes, (0.0, np.inf), 1)

    def _at_intervals(self, function: Callable[..., np.ndarray]) -> Function:
        """Return a function of the variables of an interval, from one of t, q, v and u."""

        def of_interval(z: np.ndarray) -> np.ndarray:
            values = np.asarray(function(*self._split(z)[1:]))
            return values[..., None] if values.ndim == z.ndim - 1 else values

        return of_interval

    def _split(self, z: np.ndarray) -> list[np.ndarray]:
        """Split the variables of intervals into duration, times at their starts, q, v and u."""
        nq, nv, _ = map(len, self._names)
        T, q, v, u = np.split(z, [1, 1 + nq, 1 + nq + nv], axis=-1)
        return [T, T[..., 0] * (np.arange(self.steps) / self.steps), q, v, u]

    def _own_cost(self, cost: object) -> list[Term]:
        at = self._variables
        if isinstance(cost, VelocityCost):
            weights = weights_of(cost.weight, len(self._names[1]), "the weight of the velocity")
            return self._squares("the velocity", at["v"], weights)
        assert isinstance(cost, RunningCost)
        rate, given, scale = self._at_intervals(cost.rate), cost.gradient, cost.weight / self.steps

        def value(z: np.ndarray) -> np.ndarray:
            return scale * z[..., :1] * rate(z)

        def gradient(z: np.ndarray) -> np.ndarray:
            assert given is not None
            T, t, *motion = self._split(z)
            by_t, *by_rest = given(t, *motion)
            by_T = rate(z) + T * (by_t * (np.arange(self.steps) / self.steps))[..., None]
            return np.asarray(scale * np.concatenate((by_T, *(T * part for part in by_rest)), axis=-1)[..., None, :])

        index = at.timed(at.q[:-1], at["v"], at.u)
        return self._summed("the running cost", index, value, None if given is None else gradient)

    # ---- guesses ------------------------------------------------------------------------------------------------

    def _straight(self) -> np.ndarray:
        start, goal, s = self._start[0], self._goal[0], np.linspace(0.0, 1.0, self.steps + 1)
        return self.vehicle.interpolate(start, np.where(np.isfinite(goal), goal, start), s * s * (3 - 2 * s))

    def _unit(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.vehicle.check(each, "the guess") for each in q])

    def _complete(self, x: np.ndarray) -> None:
        """Set velocities, and inputs near the trim that balance the momenta at the nodes by least squares."""
        at, vehicle, N = self._variables, self.vehicle, self.steps
        T, goal_v = x[at.T], self._goal[1]
        x[at["v"]] = vehicle.velocities(x[at.q], T / N)
        x[at["v_ends"]] = self._start[1], np.where(np.isfinite(goal_v), goal_v, 0.0)
        x[at.u] = vehicle.trim
        place = np.full(at.size, -1)
        place[at.u] = np.arange(at.u.size).reshape(at.u.shape)
        momentum = Sum(*self._balance, place)
        A, b = momentum.jacobian(x), momentum.value(x)
        H = (A.T @ A).tocsc()
        level = H.diagonal().mean()
        if not 1e-200 < level < 1e200:
            raise InputError(
                f"the duration is {T:g} s: steps of {T / N:g} s are too long or too short for floating point, or no "
                "input moves the vehicle; give another duration"
            )
        damped = H + 1e-6 * level * sp.eye_array(H.shape[0], format="csc")
        x[at.u] -= sp.linalg.spsolve(damped, A.T @ b).reshape(at.u.shape)

    def _copy(self, x: np.ndarray, plan: Plan) -> None:
        """Set the variables from a plan, which may have another number of steps."""
        names = (plan.q_names, plan.v_names, plan.input_names)
        if names != self._names:
            raise InputError(f"the guess is of another vehicle: it has {names}")
        at, T, N = self._variables, plan.t[-1], self.steps
        nodes, middles = np.linspace(0, T, N + 1), (np.arange(N) + 0.5) / N * T
        halves = (plan.t[1:] + plan.t[:-1]) / 2
        x[at.T], x[at["v_ends"]] = T, plan.v_ends
        for block, values, t, own in (("q", plan.q, nodes, plan.t), ("v", plan.v, middles, halves),
                                      ("u", plan.u, middles, halves)):  # fmt: skip
            x[at[block]] = np.stack([np.interp(t, own, column) for column in values.T], axis=1)


def replay(vehicle: Vehicle, plan: Plan, **options: Any) -> Trajectory:
    """Simulate a vehicle of ``vitree.vehicles`` with the inputs of a plan.

    Parameters
    ----------
    vehicle : vehicle
        The vehicle of the problem.
    plan : Plan
    **options
        Options of :func:`vitree.simulate`.

    Returns
    -------
    Trajectory
        The run. Its configurations are those of the plan, as far as the vehicle is stable.

    Raises
    ------
    InputError, UnknownNameError
        As :func:`dynamics_of`, or :func:`vitree.simulate`.
    """
    v = of_kind(plan, Plan, "plan", "a Plan").v_ends[0]
    dynamics_of(vehicle)
    if isinstance(vehicle, Car):
        turning = vehicle.wheel_radius / vehicle.wheelbase * plan["sigma"][0]
        v = np.array([1.0, 0.0, turning, vehicle.wheel_radius, 0.0]) * v[0]
        v[1] = plan["steering"][0]
    return simulate(vehicle, plan.q[0], v, duration=plan.t[-1], dt=plan.h, control=Control(inputs=plan.u), **options)


# ---- obstacles ---------------------------------------------------------------------------------------------
#
# They are signed distances: positive outside, negative inside, at points (..., 3) of world space [m]. Any callable that
# returns such distances is one. It must be analytic almost everywhere and take complex numbers. In the plane points
# have z = 0.


def _length(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((x * x).sum(-1)))


def _vector(value: object, n: int, what: str) -> np.ndarray:
    try:
        array = as_numbers(value)
    except TypeError:
        array = np.full(0, np.nan)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise InputError(f"{what} is {shown(value)}; it must be {n} finite numbers")
    return array


def _positive(value: object, what: str) -> None:
    if not 0 < real(value) < np.inf:
        raise InputError(f"{what} is {shown(value)}; it must be a positive length [m]")


@dataclass(frozen=True)
class SphereObstacle:
    """A ball.

    Parameters
    ----------
    centre : (3,) array [m]
    radius : float [m]
    name : str
        For messages.

    Raises
    ------
    InputError
        If the centre is not three numbers, or the radius not positive.
    """

    centre: tuple[float, float, float]
    radius: float
    name: str = "sphere"

    def __post_init__(self) -> None:
        _vector(self.centre, 3, f"the centre of {self.name}")
        _positive(self.radius, f"the radius of {self.name}")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _length(p - as_numbers(self.centre)) - real(self.radius)


@dataclass(frozen=True)
class CylinderObstacle:
    """A vertical cylinder without ends; in the plane, a disc.

    Parameters
    ----------
    centre : (2,) array [m]
        Place of the axis.
    radius : float [m]
    name : str
        For messages.

    Raises
    ------
    InputError
        If the centre is not two numbers, or the radius not positive.
    """

    centre: tuple[float, float]
    radius: float
    name: str = "cylinder"

    def __post_init__(self) -> None:
        _vector(self.centre, 2, f"the centre of {self.name}")
        _positive(self.radius, f"the radius of {self.name}")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _length(p[..., :2] - as_numbers(self.centre)) - real(self.radius)


@dataclass(frozen=True)
class HalfSpaceObstacle:
    """The half of space behind a plane.

    Parameters
    ----------
    point : (3,) array [m]
        A point of the plane.
    normal : (3,) array
        Direction towards free space; of any length.
    name : str
        For messages.

    Raises
    ------
    InputError
        If the point or the normal is not three numbers, or the normal is zero.
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    name: str = "half-space"

    def __post_init__(self) -> None:
        _vector(self.point, 3, f"the point of {self.name}")
        if not _vector(self.normal, 3, f"the normal of {self.name}").any():
            raise InputError(f"the normal of {self.name} is zero; it must point towards free space")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        normal = as_numbers(self.normal)
        return np.asarray((p - as_numbers(self.point)) @ (normal / _length(normal)))


@dataclass(frozen=True)
class BoxObstacle:
    """A box with its edges along the axes.

    Parameters
    ----------
    lower, upper : (3,) array [m]
        Two of its corners; infinite ones are allowed.
    name : str
        For messages.

    Raises
    ------
    InputError
        If a corner is not three numbers, or the upper one is not above the lower one.
    """

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    name: str = "box"

    def __post_init__(self) -> None:
        try:
            lower, upper = as_numbers(self.lower), as_numbers(self.upper)
        except TypeError:
            lower = upper = np.zeros(0)
        if lower.shape != (3,) or upper.shape != (3,) or not (lower < upper).all():
            raise InputError(f"{self.name} goes from {shown(self.lower)} to {shown(self.upper)}; it must go from 3 "
                             "numbers to 3 larger ones")  # fmt: skip

    def __call__(self, p: np.ndarray) -> np.ndarray:
        below, above = as_numbers(self.lower) - p, p - as_numbers(self.upper)
        beyond = np.where(below.real > above.real, below, above)  # along each axis, negative inside
        deepest = np.take_along_axis(beyond, beyond.real.argmax(-1)[..., None], -1)[..., 0]
        outside = np.where(beyond.real > 0, beyond, 0)
        return np.where(deepest.real > 0, _length(outside), deepest)
