"""Discrete optimal control: a vehicle's variational integrator as the constraints of a nonlinear program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from vitree.control.plan import Plan
from vitree.control.terms import Curvature, Sum, Term
from vitree.control.vehicles import dynamics_of
from vitree.errors import InputError, UnknownNameError


@dataclass(frozen=True)
class Effort:
    """The cost weight * integral of sum_i weights_i (u_i - trim_i)^2.

    Parameters
    ----------
    weight : float [-]
    weights : mapping of str to float, optional
        By name of the input, in units of 1/input^2; one without has 1 / (largest bound)^2, or 1 without bounds.
    """

    weight: float = 1.0
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Time:
    """The cost ``weight`` * duration, weight [-]."""

    weight: float = 1.0


@dataclass(frozen=True)
class Running:
    """The cost weight * integral of rate.

    Parameters
    ----------
    rate : callable (t, q, v, u) -> (..., n) array
        Takes t (..., n), q (..., n, nq), v (..., n, nv), u (..., n, nu), one for each interval with q at its start;
        complex numbers, too, unless there is a gradient. Gives the cost per second, in units of the cost.
    gradient : callable, optional
        Takes the same, and gives the derivatives by t, q, v and u: (..., n), (..., n, nq), (..., n, nv), (..., n, nu).
    weight : float [-]
    """

    rate: Callable[..., np.ndarray]
    gradient: Callable[..., tuple[np.ndarray, ...]] | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Limit:
    """The constraint lower <= function(t, q, v, u) <= upper at the start of each interval.

    Parameters
    ----------
    name : str
        For messages.
    function : callable (t, q, v, u) -> (..., n) array
        Takes what the rate of a :class:`Running` takes, complex numbers, too; gives what is limited, in units of
        its own.
    lower, upper : float
        In units of that.
    """

    name: str
    function: Callable[..., np.ndarray]
    lower: float = -np.inf
    upper: float = np.inf


class ControlProblem:
    """Take a vehicle from a start to a goal at least cost.

    The variables are, at all nodes, configurations q_k; over all intervals, velocities and inputs; the velocities at
    both ends; and the duration. What is given (start, goal, a fixed duration) is left out. Orientations in space are
    quaternions, without a chart and its edges: the equations keep their length, and the goal is three equations.
    Dynamics and reconstruction are those of the vehicle's variational integrator (``vitree.control.dynamics``), each
    step touching its own and the next variables only.

    The nonlinear program is: least ``objective(x)`` with ``constraint_bounds[0] <= constraints(x) <=
    constraint_bounds[1]`` and ``bounds[0] <= x <= bounds[1]``.

    Parameters
    ----------
    vehicle : Dynamics, or vehicle of ``vitree.vehicles``
        The latter goes through :func:`dynamics_of`.
    steps : int
        Intervals N.
    duration : float or (float, float)
        Fixed, or between two [s].
    start, goal : (nq,) array, or pair of (nq,) and (nv,) arrays
        Configuration [m or rad] and velocity [m/s or rad/s]; at rest unless given. NaN in the goal is free.
    cost : str, cost, or sequence of them
        "effort", "time", :class:`Effort`, :class:`Time`, :class:`Running`; their sum is made least.
    bounds : mapping of str to (float, float)
        Of configurations (at nodes), velocities and inputs (of intervals), by name. Those of the vehicle hold unless
        given here.
    obstacles : sequence of callables
        Signed distances; see ``vitree.control.obstacles``. They are kept at the nodes only: let ``radius`` have a
        margin of half of what the vehicle moves in a step.
    radius : float [m]
        The vehicle is balls of this radius about its ``points``.
    points : (P, 3) or (P, 2) array [m]
        In body axes; the origin unless given.
    limits : sequence of Limit
        More constraints.
    guess : Plan, optional
        Where to begin, of any number of steps. The default runs from start to goal in a straight line.

    Attributes
    ----------
    x0 : (n,) array
        Variables of the guess, in units of the motion.
    bounds, constraint_bounds : (2, n) and (2, m) arrays
        In units of the motion and of the constraints.
    strict : (n,) bool array
        Of which variables the bounds must hold at all times: beyond them there are no equations.

    Raises
    ------
    InputError
        For a wrong shape, an infeasible start or goal, a function that takes no complex numbers.
    UnknownNameError
        For a name that is not known.

    Notes
    -----
    Arguments of the methods are

    x : (n,) array
        Variables that are free, in units of the motion.
    multipliers : (m,) array
        Of the constraints, in units of cost per constraint.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 6; Junge, Marsden & Ober-Bloebaum 2005 (DMOC).
    """

    def __init__(
        self,
        vehicle: Any,
        *,
        steps: int,
        duration: float | tuple[float, float],
        start: ArrayLike | tuple[ArrayLike, ArrayLike],
        goal: ArrayLike | tuple[ArrayLike, ArrayLike],
        cost: str | Effort | Time | Running | Sequence[str | Effort | Time | Running] = "effort",
        bounds: Mapping[str, tuple[float, float]] | None = None,
        obstacles: Sequence[Callable[[np.ndarray], np.ndarray]] = (),
        radius: float = 0.0,
        points: ArrayLike | None = None,
        limits: Sequence[Limit] = (),
        guess: Plan | None = None,
    ):
        self.vehicle = vehicle = dynamics_of(vehicle)
        if not isinstance(steps, int | np.integer) or steps < 2:
            raise InputError(f"steps is {steps!r}; it must be a whole number of at least 2")
        self.steps = N = int(steps)
        nq, nv, nu = (len(names) for names in (vehicle.q_names, vehicle.v_names, vehicle.input_names))
        self._number_variables(nq, nv, nu)
        self._lower, self._upper = np.full(self._size, -np.inf), np.full(self._size, np.inf)

        self._durations = np.broadcast_to(np.asarray(duration, dtype=float), (2,))
        if not 0 < self._durations[0] <= self._durations[1] < np.inf:
            raise InputError(f"the duration is {duration!r}; give a positive number, or (least, greatest)")
        self._box(self._T, *self._durations)
        start_q, start_v = self._state(start, "the start", free=False)
        goal_q, goal_v = self._state(goal, "the goal", free=True)

        self._bound(bounds or {})
        self._inside(self._q[0], start_q, "the start")
        self._inside(self._q[N], goal_q, "the goal")
        self._box(self._q[0], start_q, start_q)
        self._box(self._v_ends[0], start_v, start_v)
        known = np.isfinite(goal_v)
        self._box(self._v_ends[1][known], goal_v[known], goal_v[known])
        met, remainder = vehicle.meet(start_q, goal_q)
        self._box(self._q[N][met], goal_q[met], goal_q[met])

        self._m = 0
        self._labels: list[tuple[np.ndarray, str, int]] = []
        self._terms: list[Term] = []
        constraint_bounds: list[np.ndarray] = []
        self._add_dynamics(constraint_bounds)
        if remainder is not None:
            self._add("goal orientation", remainder, self._q[N:], (0.0, 0.0), constraint_bounds)
        self._add_obstacles(obstacles, radius, points, start_q, goal_q, constraint_bounds)
        for limit in limits:
            self._add(f'limit "{limit.name}"', self._at_intervals(limit.function), self._interval,
                      (limit.lower, limit.upper), constraint_bounds)  # fmt: skip
        self.constraint_bounds = np.concatenate(constraint_bounds, axis=1)

        self._free = np.flatnonzero(self._lower < self._upper)
        place = np.full(self._size, -1)
        place[self._free] = np.arange(len(self._free))
        self.bounds = np.stack((self._lower[self._free], self._upper[self._free]))
        self._all = np.where(self._lower == self._upper, self._lower, 0.0)
        costs = self._costs(cost)
        self._constraints = Sum(self._terms, self._m, place)
        self._cost = Sum(costs, 1, place)
        self._curvature = Curvature([*self._terms, *costs], place)
        self._counts = len(self._terms), len(costs)

        x = self._guess(start_q, start_v, goal_q, goal_v) if guess is None else self._resampled(guess)
        x[self._lower == self._upper] = self._lower[self._lower == self._upper]
        self.strict = self._reached[self._free]
        margin = np.where(self.strict, 0.05 * (self.bounds[1] - self.bounds[0]), 0.0)
        self.x0 = np.clip(x[self._free], self.bounds[0] + margin, self.bounds[1] - margin)
        # near the guess, not at it: there functions are where they have kinks, and slopes that are zero by chance
        aside = 0.05 * np.random.default_rng(0).standard_normal(len(self.x0))
        near = self.x0 + np.maximum(1.0, np.abs(self.x0)) * aside
        near = np.clip(near, self.bounds[0] + margin, self.bounds[1] - margin)
        for term in [*self._terms, *costs]:
            term.check(self._expand(near))

    # ---- the nonlinear program ------------------------------------------------------------------------------

    def objective(self, x: ArrayLike) -> float:
        """Return the cost, in units of its terms."""
        return float(self._cost.value(self._expand(x))[0])

    def gradient(self, x: ArrayLike) -> np.ndarray:
        """Return the slopes (n,) of the cost, in units of cost per variable."""
        return self._cost.jacobian(self._expand(x)).toarray()[0]

    def constraints(self, x: ArrayLike) -> np.ndarray:
        """Return the constrained values (m,), in units of each."""
        return self._constraints.value(self._expand(x))

    def jacobian(self, x: ArrayLike) -> sp.csr_array:
        """Return their slopes (m, n); the structure is the same at all x."""
        return self._constraints.jacobian(self._expand(x))

    def hessian(self, x: ArrayLike, multipliers: ArrayLike, cost: float = 1.0) -> sp.csr_array:
        """Return the lower triangle (n, n) of the second derivatives of cost * objective + multipliers . constraints.

        ``cost`` is a factor. They are central differences of exact slopes, off by about 1e-10 of their size.
        """
        of_constraints, of_cost = np.asarray(multipliers, dtype=float), np.array([float(cost)])
        weights = [of_constraints] * self._counts[0] + [of_cost] * self._counts[1]
        return self._curvature.matrix(self._expand(x), weights)

    # ---- what a solution is -----------------------------------------------------------------------------------

    def trajectory(self, x: ArrayLike) -> Plan:
        """Return the motion that variables (n,) stand for."""
        full, vehicle = self._expand(x), self.vehicle
        t = np.linspace(0.0, 1.0, self.steps + 1) * full[self._T]
        q, v, u, v_ends = (full[index] for index in (self._q, self._v, self._u, self._v_ends))
        return Plan(t, q, v, u, v_ends, vehicle.q_names, vehicle.v_names, vehicle.input_names)

    def violations(self, x: ArrayLike) -> list[tuple[str, float]]:
        """Return what is violated and by how much, in units of each, the largest first, one for each kind."""
        off, beyond = self._excess(x)
        found = []
        for rows, name, first in self._labels:
            at = int(off[rows].max(axis=1).argmax())
            found.append((float(off[rows][at].max()), f"{name} at step {at + first}" if len(rows) > 1 else name))
        worst = int(beyond.argmax())
        found.append((float(beyond[worst]), f"bounds of {self._variable_name(self._free[worst])}"))
        return [(name, amount) for amount, name in sorted(found, reverse=True) if amount > 0]

    def violation(self, x: ArrayLike) -> float:
        """Return the largest of ``violations``, in units of that, or 0."""
        return max(0.0, *(float(part.max(initial=0.0)) for part in self._excess(x)))

    def _excess(self, x) -> tuple[np.ndarray, np.ndarray]:
        """How far constraints and variables are beyond their bounds; what is not a number is so infinitely."""
        c, x = self.constraints(x), np.asarray(x)
        off = np.maximum(self.constraint_bounds[0] - c, c - self.constraint_bounds[1])
        beyond = np.maximum(self.bounds[0] - x, x - self.bounds[1])
        return np.where(np.isnan(off), np.inf, off), np.where(np.isnan(beyond), np.inf, beyond)

    # ---- variables --------------------------------------------------------------------------------------------

    def _number_variables(self, nq: int, nv: int, nu: int) -> None:
        # node by node, so that matrices are banded
        N, width = self.steps, nq + nv + nu
        nodes = np.arange(N * width).reshape(N, width)
        self._v, self._u = nodes[:, nq : nq + nv], nodes[:, nq + nv :]
        last = N * width + np.arange(nq)
        self._q = np.concatenate((nodes[:, :nq], last[None]))
        self._v_ends = N * width + nq + np.arange(2 * nv).reshape(2, nv)
        self._T = N * width + nq + 2 * nv
        self._size = self._T + 1
        duration = np.full((N, 1), self._T)
        self._interval = np.concatenate((duration, nodes), axis=1)
        self._cuts = np.cumsum([1, nq, nv])

    def _variable_name(self, i: int) -> str:
        vehicle = self.vehicle
        if i == self._T:
            return "the duration"
        for index, names in ((self._q, vehicle.q_names), (self._v, vehicle.v_names), (self._u, vehicle.input_names)):
            for k, j in np.argwhere(index == i):
                return f"{names[j]} at step {k}"
        return f"{vehicle.v_names[int(np.argwhere(self._v_ends == i)[0, 1])]} at the goal"

    def _expand(self, x) -> np.ndarray:
        full = self._all.copy()
        full[self._free] = x
        return full

    def _box(self, index, lower, upper) -> None:
        self._lower[index], self._upper[index] = lower, upper

    def _state(self, given, what: str, free: bool) -> tuple[np.ndarray, np.ndarray]:
        vehicle = self.vehicle
        if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1:
            q, v = given
        else:
            q, v = given, np.zeros(len(vehicle.v_names))
        parts = []
        for value, names, part in ((q, vehicle.q_names, "configuration"), (v, vehicle.v_names, "velocity")):
            try:
                array = np.array(value, dtype=float)
            except (TypeError, ValueError):
                array = np.zeros(0)
            if array.shape != (len(names),) or np.isinf(array).any():
                raise InputError(f"{what} has the {part} {value!r}; give ({', '.join(names)})")
            if not free and np.isnan(array).any():
                raise InputError(f"{what} has NaN in its {part}; only of the goal may a part be free")
            parts.append(array)
        return vehicle.check(parts[0], what), parts[1]

    def _bound(self, bounds: Mapping[str, tuple[float, float]]) -> None:
        vehicle = self.vehicle
        places = {name: index[:, i]
                  for index, names in ((self._q, vehicle.q_names), (self._v, vehicle.v_names),
                                       (self._u, vehicle.input_names))
                  for i, name in enumerate(names)}  # fmt: skip
        for name, pair in {**vehicle.bounds, **bounds}.items():
            if name not in places:
                raise UnknownNameError("coordinate, velocity or input", name, places)
            least, greatest = np.broadcast_to(np.asarray(pair, dtype=float), (2,))
            if not least <= greatest:
                raise InputError(f'the bounds of "{name}" are {pair!r}; give (least, greatest)')
            self._box(places[name], least, greatest)
        reach = vehicle.reach(self._durations[1] / self.steps)
        self._reached = np.zeros(self._size, dtype=bool)
        self._reached[self._T] = bool(reach)
        for name, largest in reach.items():
            for index in places[name]:
                self._reached[index] = self._lower[index] < -largest or self._upper[index] > largest
                self._lower[index] = max(self._lower[index], -largest)
                self._upper[index] = min(self._upper[index], largest)
            if not (self._lower[places[name]] <= self._upper[places[name]]).all():
                raise InputError(
                    f'the bounds of "{name}" are beyond {largest:.4g}, the most for steps of '
                    f"{self._durations[1] / self.steps:.4g} s: take more steps"
                )

    def _inside(self, index, q: np.ndarray, what: str) -> None:
        for i, name, value in zip(index, self.vehicle.q_names, q, strict=True):
            if value < self._lower[i] or value > self._upper[i]:
                raise InputError(
                    f"{what} has {name} = {value:g}, outside its bounds {self._lower[i]:g} and {self._upper[i]:g}"
                )

    # ---- constraints ------------------------------------------------------------------------------------------

    def _rows(self, name: str, count: int, width: int, first: int = 0) -> np.ndarray:
        rows = self._m + np.arange(count * width).reshape(count, width)
        self._m += count * width
        self._labels.append((rows, name, first))
        return rows

    def _add(self, name, function, index, limits, constraint_bounds, first=0) -> None:
        if not limits[0] <= limits[1]:
            raise InputError(f"{name} is to be between {limits[0]} and {limits[1]}; give a lower and an upper bound")
        width = function(np.zeros((len(index), index.shape[1])) + self._middle(index)).shape[-1]
        rows = self._rows(name, len(index), width, first)
        self._terms.append(Term(name, function, index, rows))
        constraint_bounds.append(np.repeat(np.array(limits, dtype=float)[:, None], rows.size, axis=1))

    def _middle(self, index) -> np.ndarray:
        # some values to find out the shape of a function's result
        return np.clip(0.5, self._lower[index], self._upper[index])

    def _split(self, z):
        return np.split(z, self._cuts, axis=-1)

    def _at_intervals(self, function):
        """A function of an interval's variables, of one that takes t, q, v, u."""
        starts = np.arange(self.steps) / self.steps

        def wrapped(z):
            T, q, v, u = self._split(z)
            values = np.asarray(function(T[..., 0] * starts, q, v, u))
            return values[..., None] if values.ndim == z.ndim - 1 else values

        return wrapped

    def _add_dynamics(self, constraint_bounds) -> None:
        vehicle, N, add = self.vehicle, self.steps, self._terms.append
        shares = np.arange(N + 1) / N
        nq, nv = len(vehicle.q_names), len(vehicle.v_names)
        balance = self._rows("dynamics", N + 1, nv)
        motion = self._rows("reconstruction", N, nq)
        constraint_bounds.append(np.zeros((2, balance.size + motion.size)))

        def of_step(name, q, rows, sign, share=None):
            """A term of one of the vehicle's functions, of those variables only that it looks at."""
            function, used = getattr(vehicle, name), vehicle.looks_at.get(name, "qvu")
            given = {"q": q, "v": self._v, "u": self._u}
            parts = [index if key in used else index[:, :0] for key, index in given.items()]
            cuts = np.cumsum([1, *(part.shape[1] for part in parts[:-1])])

            def value(z):
                T, *rest = np.split(z, cuts, axis=-1)
                h = T[..., 0] / N
                if share is None:
                    return sign * function(h, *rest)
                return sign * h[..., None] * function(T[..., 0] * share, *rest)

            index = np.concatenate((np.full((N, 1), self._T), *parts), axis=1)
            add(Term(f"the vehicle's {name}", value, index, rows))

        def at_end(sign):
            def wrapped(z):
                return sign * vehicle.momentum(z[..., :nq], z[..., nq:])

            return wrapped

        ends = [np.concatenate((self._q[k], self._v_ends[i]))[None] for i, k in enumerate((0, N))]
        start, end = self._q[:-1], self._q[1:]
        of_step("before", start, balance[:-1], 1)
        of_step("force", start, balance[:-1], -1 / 2, shares[:-1])
        of_step("after", end, balance[1:], -1)
        of_step("force", end, balance[1:], -1 / 2, shares[1:])
        add(Term("momentum at the start", at_end(-1), ends[0], balance[:1]))
        add(Term("momentum at the goal", at_end(1), ends[1], balance[-1:]))
        of_step("advance", start, motion, -1)
        add(Term("reconstruction", lambda z: z, end.reshape(-1, 1), motion.reshape(-1, 1)))

    def _add_obstacles(self, obstacles, radius, points, start, goal, constraint_bounds) -> None:
        vehicle, N = self.vehicle, self.steps
        size = vehicle.group.size - 1
        points = np.zeros((1, size)) if points is None else np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != size or not np.isfinite(points).all():
            raise InputError(f"points has the shape {points.shape}; it must be (P, {size})")
        if not 0 <= radius < np.inf:
            raise InputError(f"the radius is {radius!r}; it must be a length [m], zero or more")

        def clearance(distance):
            def wrapped(q):
                g = vehicle.pose(q)[..., None, :, :]
                at = (g[..., :-1, :-1] @ points[:, :, None])[..., 0] + g[..., :-1, -1]
                flat = np.zeros((*at.shape[:-1], 3 - size), at.dtype)
                return distance(np.concatenate((at, flat), axis=-1)) - radius

            return wrapped

        for k, obstacle in enumerate(obstacles):
            name = f'obstacle "{getattr(obstacle, "name", getattr(obstacle, "__name__", k))}"'
            function = clearance(obstacle)
            given = [np.isfinite(vehicle.pose(q)).all() for q in (start, goal)]
            for q, what, known in zip((start, goal), ("start", "goal"), given, strict=True):
                nearest = function(q[None]).min() if known else 0.0
                if nearest < -1e-9:
                    raise InputError(f"the {what} is inside {name}, {-nearest:.3g} m deep")
            # nothing can be done about poses that are given
            self._add(name, function, self._q[1 : N if given[1] else N + 1], (0.0, np.inf), constraint_bounds, 1)

    # ---- cost -------------------------------------------------------------------------------------------------

    def _costs(self, cost) -> list[Term]:
        terms, N = [], self.steps
        zeros = np.zeros((N, 1), dtype=int)
        several = cost if isinstance(cost, Iterable) and not isinstance(cost, str) else [cost]
        for one in several:
            one = {"effort": Effort(), "time": Time()}.get(one, one) if isinstance(one, str) else one
            if isinstance(one, Time):
                terms.append(Term("time", partial(np.multiply, one.weight), [[self._T]], [[0]]))
            elif isinstance(one, Effort):
                index = np.concatenate((self._interval[:, :1], self._u), axis=1)
                terms.append(Term("effort", self._effort(one), index, zeros))
            elif isinstance(one, Running):
                rate, gradient = self._running(one)
                terms.append(Term("the running cost", rate, self._interval, zeros, gradient))
            else:
                raise InputError(f'a cost is {one!r}; give "effort", "time", Effort, Time or Running')
        return terms

    def _effort(self, effort: Effort):
        vehicle = self.vehicle
        given = dict(effort.weights or {})
        unknown = [name for name in given if name not in vehicle.input_names]
        if unknown:
            raise UnknownNameError("input", unknown[0], vehicle.input_names)
        largest = np.maximum(-self._lower[self._u[0]], self._upper[self._u[0]])
        weights = np.where(np.isfinite(largest) & (largest > 0), 1 / np.maximum(largest, 1e-300) ** 2, 1.0)
        weights = np.array([given.get(name, weight) for name, weight in zip(vehicle.input_names, weights, strict=True)])
        scale = effort.weight / self.steps

        def function(z):
            T, off = z[..., 0], z[..., 1:] - vehicle.trim
            return scale * (T * (off * off @ weights))[..., None]

        return function

    def _running(self, cost: Running):
        starts, rate = np.arange(self.steps) / self.steps, self._at_intervals(cost.rate)
        given: Any = cost.gradient
        scale = cost.weight / self.steps

        def function(z):
            return scale * z[..., :1] * rate(z)

        def gradient(z):
            T, q, v, u = self._split(z)
            by_t, *by_rest = given(T[..., 0] * starts, q, v, u)
            by_T = rate(z) + T * (by_t * starts)[..., None]
            return scale * np.concatenate((by_T, *(T * part for part in by_rest)), axis=-1)[..., None, :]

        return function, None if given is None else gradient

    # ---- guesses ----------------------------------------------------------------------------------------------

    def _guess(self, q0, v0, qN, vN) -> np.ndarray:
        vehicle, N = self.vehicle, self.steps
        x = self._all.copy()
        x[self._T] = T = self._durations.mean()
        s = np.linspace(0.0, 1.0, N + 1)
        x[self._q] = q = vehicle.interpolate(q0, np.where(np.isfinite(qN), qN, q0), s * s * (3 - 2 * s))
        x[self._v] = vehicle.velocities(q, T / N)
        x[self._v_ends] = v0, np.where(np.isfinite(vN), vN, 0.0)
        x[self._u] = vehicle.trim
        # inputs that do least squares of the dynamics, near those that hold the vehicle
        columns = np.zeros(self._size, dtype=bool)
        columns[self._u] = True
        place = np.full(self._size, -1)
        place[columns] = np.arange(columns.sum())
        dynamics = Sum(self._terms[:6], self._m, place)
        A, b = dynamics.jacobian(x), dynamics.value(x)
        H = (A.T @ A).tocsc()
        damped = H + 1e-6 * H.diagonal().mean() * sp.eye_array(len(place[columns]), format="csc")
        x[columns] -= sp.linalg.spsolve(damped, A.T @ b)
        return x

    def _resampled(self, plan: Plan) -> np.ndarray:
        names = (plan.q_names, plan.v_names, plan.input_names)
        if names != (self.vehicle.q_names, self.vehicle.v_names, self.vehicle.input_names):
            raise InputError(f"the guess is of another vehicle: it has {names}")
        x, T = self._all.copy(), plan.t[-1]
        nodes, middles = (np.linspace(0, T, self.steps + 1), (np.arange(self.steps) + 0.5) / self.steps * T)
        x[self._T] = T
        x[self._q] = np.stack([np.interp(nodes, plan.t, column) for column in plan.q.T], axis=1)
        halves = (plan.t[1:] + plan.t[:-1]) / 2
        for index, values in ((self._v, plan.v), (self._u, plan.u)):
            x[index] = np.stack([np.interp(middles, halves, column) for column in values.T], axis=1)
        x[self._v_ends] = plan.v_ends
        return x

