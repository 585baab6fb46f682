"""Kinematics for tasks: velocities and postures that bring frames and coordinates of a robot to their targets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree._core._tasks import TaskRows
from vitree._core.types import ShapeList
from vitree.arguments import axes_of, entries, explain_calls, generator, of_kind, plain_scalar, real, several, whole
from vitree.control.priorities import InfeasibleError, Programs, Rows
from vitree.control.tasks import KinematicTask, numbers_of_task
from vitree.errors import InputError, ModelError
from vitree.mechanism.contacts import Contact
from vitree.mechanism.flat import limits_of
from vitree.model.candidates import distance_pairs
from vitree.model.dynamics import refuse_rolling
from vitree.model.model import Model

#: What a step and a descent of the core found.
INSIDE, OVER, NOT_FINITE, INDEFINITE, REACHED, STATIONARY, NOT_YET = range(7)
#: The largest displacement of a step of a solve in general [m or rad], and one below which it has converged.
LARGEST, STILL = 0.5, 1e-10
#: Share by which the squares may fall where a descent is given up, and where it has found a least of them; its damping.
STALLED, OPTIMAL, LEAST_DAMPING = 1e-3, 1e-14, 1e-12
#: How many times the iterations of an attempt the last descent to the nearest pose has.
POLISH = 10
#: How often a step that makes errors of the first priority larger is halved.
HALVINGS = 6
#: Share of the largest displacement at which overlaps are undone where bounds are tighter.
OUT = 0.5


@explain_calls
@dataclass(frozen=True)
class DistanceLimit:
    """A least distance between the shapes of a model, for :class:`Tasks`.

    The shapes are those of the model's contacts, and the planes of its ground. In a step dt the gap of a pair that is
    nearer than ``influence`` falls by at most ``gain (gap - minimum)``, linearised; a gap below the minimum grows by as
    much.

    Parameters
    ----------
    minimum : float [m]
    influence : float [m]
        Beyond this gap a pair does not count.
    gain : float [-]
        Above 0 and at most 1.
    pairs : sequence of (str, str), optional
        Names of frames of contacts, or "ground" for the second. All pairs if not given, but those of a body and the one
        that carries it, of a :class:`vitree.NoContact`, and those that overlap at the neutral configuration.

    Raises
    ------
    InputError
        If a number is out of its range, or pairs are none.

    References
    ----------
    Faverjon & Tournassoud 1987, "A local based approach for path planning of manipulators with a high number of degrees
    of freedom".
    """

    minimum: float = 0.01
    _: KW_ONLY
    influence: float = 0.1
    gain: float = 0.5
    pairs: tuple[tuple[str, str], ...] | None = None

    def __post_init__(self) -> None:
        for name in ("minimum", "influence", "gain"):
            number = real(getattr(self, name))
            if not 0 <= number < math.inf:
                raise InputError(name, getattr(self, name), "must be a finite number, zero or positive")
            object.__setattr__(self, name, number)
        if not self.influence > self.minimum:
            raise InputError("influence", self.influence, f"must be above the minimum, {self.minimum:g} m")
        if not 0 < self.gain <= 1:
            raise InputError("gain", self.gain, "must be above 0 and at most 1")
        if self.pairs is not None:
            found = tuple(several(pair, "pairs", "pairs of names") for pair in
                          several(self.pairs, "pairs", "pairs of names"))  # fmt: skip
            if not all(len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in found):
                raise InputError("pairs", self.pairs, "must be pairs of two names each")
            object.__setattr__(self, "pairs", found)


@dataclass(frozen=True, eq=False, repr=False)
class IkSolution:
    """What :func:`solve_ik` found.

    Attributes
    ----------
    q : (nq,) array [m or rad]
        Within the limits, whether the targets were reached or not.
    reached : bool
        Whether all tasks but postures and damping are within the tolerance.
    error : float [m, rad or -]
        The largest error of these, of rows with a weight.
    errors : tuple of (m,) arrays [m, rad or -]
        The error of each task of m rows, in their order.
    iterations : int
        Of all attempts.
    attempts : int
        Starts that were tried.
    why : str
        What was not reached, in words; empty if all was.
    """

    q: np.ndarray
    reached: bool
    error: float
    errors: tuple[np.ndarray, ...]
    iterations: int
    attempts: int
    why: str = ""

    def __bool__(self) -> bool:
        return self.reached

    def __repr__(self) -> str:
        how = f"{self.iterations} iterations, {self.attempts} attempt{'s' * (self.attempts != 1)}"
        return f"<IkSolution, {'reached' if self.reached else f'not reached: {self.why}'}; {how}>"


@explain_calls
class Tasks:
    """Tasks of a model, and the limits within which it moves towards their targets.

    What holds before all: the model's constraints (loops), tasks of priority 0, and limits. Joints with a prescribed
    motion do not move. The tasks are made ready for the compiled core once; targets may change at any time.

    Parameters
    ----------
    model : Model
    tasks : sequence of tasks
        :class:`PoseTask`, :class:`PositionTask`, :class:`OrientationTask`, :class:`LookAtTask`,
        :class:`CenterOfMassTask`, :class:`PostureTask`, :class:`CouplingTask`, :class:`DampingTask`.
    position_limits, velocity_limits : bool
        Whether limits of the model's joints count. Those of ball joints do not.
    acceleration_limit : float or (nv,) array, optional [m/s^2 or rad/s^2]
        Of :meth:`velocity`: between the velocity before and the next one, and to brake before a limit of position.
    distances : DistanceLimit, optional
    damping : float [1/m^2 or 1/rad^2]
        Times |dq|^2/2, beside half the squares of tasks, of each priority from 1 on. It bounds velocities near
        singular postures. Half the weighted squares of the errors of all tasks of the priority but postures is added
        to it, which vanishes as they reach their targets (Sugihara 2011): targets out of reach do not shake the robot.

    Raises
    ------
    InputError, UnknownNameError
        If an argument has a wrong value, or a name is none of the model.
    ModelError
        If wheels roll without slip, which these kinematics do not know.
    """

    def __init__(
        self, model: Model, tasks: Iterable[KinematicTask], *, position_limits: bool = True,
        velocity_limits: bool = True, acceleration_limit: ArrayLike | None = None,
        distances: DistanceLimit | None = None, damping: float = 1e-6,
    ):  # fmt: skip
        self.model = of_kind(model, Model, "model", "a Model")
        refuse_rolling(model, "Tasks")
        given = several(tasks, "tasks", "a sequence of tasks such as PoseTask(...)")
        self.tasks = tuple(of_kind(task, KinematicTask, "tasks", "tasks such as PoseTask(...)") for task in given)
        if not self.tasks:
            raise InputError("tasks", tasks, "are none; give one at least, such as a PostureTask")
        for name, value in (("position_limits", position_limits), ("velocity_limits", velocity_limits)):
            if not isinstance(plain_scalar(value), bool):
                raise InputError(name, value, "must be True or False")
        self.damping = real(damping)
        if not 0 < self.damping < math.inf:
            raise InputError("damping", damping, "must be positive")
        self.distances = distances
        if distances is not None:
            of_kind(distances, DistanceLimit, "distances", "a DistanceLimit")
        rates = np.full(model.nv, np.inf)
        if acceleration_limit is not None:
            shape = (model.nv,) if axes_of(acceleration_limit) else ()
            rates[:] = entries(acceleration_limit, shape, "acceleration_limit")
            if not (rates > 0).all():
                raise InputError("acceleration_limit", acceleration_limit, "must be positive")
        self._limits = _limits(model, bool(position_limits), bool(velocity_limits), rates)
        own = np.arange(model.nq) if model._followers is None else model._followers.own_q
        bounded = [row for row in self._limits if row[0] >= 0 and row[3] > 0]
        self._at_limits = np.searchsorted(own, [row[0] for row in bounded])
        self._ends = np.array([row[1] for row in bounded]), np.array([row[2] for row in bounded])
        self._equations = len(model.constraints)
        self._shapes, self._pairs = ShapeList(()), np.zeros((0, 2), np.int32)
        self._pair_names = list[tuple[str, str]]()
        if self.distances is not None:
            self._take_shapes(self.distances)
        lead, factor, place = _columns(model)
        numbers = [numbers_of_task(task, model) for task in self.tasks]
        self._core = TaskRows(model.full.core, numbers, lead, factor, place, self._limits, self._equations)
        rows = [len(each[7]) for each in numbers]
        ends = np.cumsum(rows)
        self._slices = [slice(int(end - count), int(end)) for end, count in zip(ends, rows, strict=True)]
        self._weights = [each[7] for each in numbers]
        self._programs = Programs(self._core, len(self._pairs))
        self._dq, self._e = np.zeros(model.nv), np.zeros(self._core.rows)
        self._J = np.zeros((self._core.rows, model.nv))
        self._none = np.zeros(0), np.zeros((0, model.nv))
        self._soft = any(not task.goal for task in self.tasks)
        count = len(self._pairs)
        self._gap, self._which, self._slopes = np.zeros(count), np.zeros(count, np.int32), np.zeros((count, model.nv))

    def __repr__(self) -> str:
        return f"<Tasks of {self.model.name!r}: {', '.join(task.name for task in self.tasks)}>"

    # ---- what is asked

    def errors(self, q: ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the error of each task at q (nq,) [m or rad], in their order; see the tasks for what they are.

        Raises
        ------
        InputError
            If q is no configuration, or a task has no target.
        """
        self._core.evaluate(self._at(q), self._e)
        self._require_targets()
        return tuple(self._e[rows].copy() for rows in self._slices)

    def jacobians(self, q: ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the Jacobian (m, nv) of each task's error [per m or rad] by displacements at q (nq,) [m or rad].

        A displacement is that of ``model.integrate``.

        Raises
        ------
        InputError
            If q is no configuration, or a task has no target.
        """
        self._core.evaluate(self._at(q), self._e, self._J)
        self._require_targets()
        return tuple(self._J[rows].copy() for rows in self._slices)

    def gaps(self, q: ArrayLike) -> list[tuple[str, str, float]]:
        """Return the pairs of shapes nearer than the influence: frames of both, and their gap [m], nearest first.

        Parameters
        ----------
        q : (nq,) array [m or rad]

        Raises
        ------
        InputError
            If q is no configuration, or the tasks have no ``distances``.
        """
        if self.distances is None:
            raise InputError("the tasks have no distances=; give Tasks(model, ..., distances=DistanceLimit(...))")
        count = self._near(self._at(q))
        found = [(*self._pair_names[k], float(gap)) for k, gap in zip(self._which[:count], self._gap, strict=False)]
        return sorted(found, key=lambda row: row[2])

    def velocity(self, q: ArrayLike, dt: float, v: ArrayLike | None = None) -> np.ndarray:
        """Return the velocity (nv,) [m/s or rad/s] that, held for dt, moves the tasks towards their targets.

        The next configuration is ``model.integrate(q, v * dt)``.

        Parameters
        ----------
        q : (nq,) array [m or rad]
        dt : float [s]
        v : (nv,) array, optional [m/s or rad/s]
            The velocity before, for ``acceleration_limit``.

        Raises
        ------
        InputError
            If an argument has a wrong value, a task has no target, or nothing is within all limits.
        MissingExtraError
            If limits, distances or loops need a quadratic program, and DAQP is not installed.
        """
        step = dt if type(dt) is float else real(dt)
        if not 0 < step < math.inf:
            raise InputError("dt", dt, "must be positive")
        before = None if v is None else entries(v, (self.model.nv,), "v")
        full = self._at(q)
        dq = self._step(full, step, before, self.damping, q)
        return dq / step

    def solve(
        self, q: ArrayLike | None = None, *, tolerance: float = 1e-6, iterations: int = 100, attempts: int = 20,
        rng: np.random.Generator | None = None,
    ) -> IkSolution:  # fmt: skip
        """Return a configuration at which the tasks have reached their targets, or come near them.

        Parameters
        ----------
        q : (nq,) array, optional [m or rad]
            Where the search starts; ``model.start`` if not given.
        tolerance : float [m, rad or -]
            Of errors.
        iterations : int
            Of one attempt.
        attempts : int
            If the targets are not reached from q, joints start at random within their limits, and the best counts.
            Bases that float start as in q.
        rng : numpy.random.Generator, optional
            Draws the starts; one of a fixed seed if not given, so that equal calls give equal results.

        Raises
        ------
        InputError
            If an argument has a wrong value, a task has no target, or nothing is within all limits.
        MissingExtraError
            If limits, distances or loops need a quadratic program, and DAQP is not installed.

        Notes
        -----
        Gains of tasks do not count here. Tasks of one priority alone are solved by damped least squares within limits
        of position, in compiled code: the damping is that of Sugihara 2011. Several priorities, equations and distances
        are solved by steps as of :meth:`velocity`, with the same damping and without limits of velocity.

        References
        ----------
        Sugihara 2011, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method".
        """
        near = real(tolerance)
        if not 0 < near < math.inf:
            raise InputError("tolerance", tolerance, "must be positive")
        most, tries = _count(iterations, "iterations"), _count(attempts, "attempts")
        start = self._clipped(self.model.validate_configuration(self.model.start if q is None else q))
        draws = np.random.default_rng(0) if rng is None else generator(rng)
        self._core.whole = True  # gains are for loops
        try:
            return self._searched(start, draws, near, most, tries)
        finally:
            self._core.whole = False

    def _searched(
        self, start: np.ndarray, draws: np.random.Generator, near: float, most: int, tries: int
    ) -> IkSolution:
        model = self.model
        best: tuple[tuple[float, ...], np.ndarray] | None = None
        total = 0
        descend = self._descended if self._plain else self._stepped
        for attempt in range(tries):
            full, count = descend(model.expand(start if attempt == 0 else self._drawn(start, draws)).copy(), most, near)
            total += count
            rank = self._rank(full, near)
            if best is None or rank < best[0]:
                best = rank, full
            if rank[0] == 0.0:
                break
        assert best is not None
        if best[0][0] and self._plain:  # the nearest there is
            total += self._core.descend(best[1], POLISH * most, near, LEAST_DAMPING, OPTIMAL)[1]
        return self._solution(best[1], near, total, attempt + 1)

    # ---- how

    @property
    def _plain(self) -> bool:
        """Whether compiled descents apply: one priority, no equations, no distances."""
        return not self._equations and self.distances is None and {task.priority for task in self.tasks} == {1}

    def _at(self, q: ArrayLike) -> np.ndarray:
        found = self.model.validate_configuration(q)
        return found if self.model._followers is None else self.model.expand(found)

    def _require_targets(self) -> None:
        """Raise an InputError if errors are not finite: a task has no target, or numbers are too large."""
        if np.isfinite(self._e).all():
            return
        for task, rows in zip(self.tasks, self._slices, strict=True):
            if not task.has_target:
                raise InputError(f"the {task.name} has no target; set task.target, or call task.hold(model, q)")
            if not np.isfinite(self._e[rows]).all():
                raise InputError(
                    f"the error of the {task.name} is infinite or NaN; its target is too large, or looks at itself"
                )

    def _contract(self, full: np.ndarray) -> np.ndarray:
        followers = self.model._followers
        return full if followers is None else followers.contract(full)

    def _loops(self, full: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self._equations:
            return self._none
        h, Dh = self.model._constraint_rows(self._contract(full)[None])
        return np.ascontiguousarray(h[0]), np.ascontiguousarray(Dh[0])

    def _near(self, full: np.ndarray) -> int:
        assert self.distances is not None
        return self._core.gaps(full, self._shapes, self._pairs, self.distances.influence, self._gap, self._which,
                               self._slopes)  # fmt: skip

    def _step(self, full: np.ndarray, dt: float, before: np.ndarray | None, damping: float, q: ArrayLike) -> np.ndarray:
        """The displacement (nv,) over dt; dt may be infinite."""
        h, Dh = self._loops(full)
        above = Rows(self._none[1], self._none[0])
        if self.distances is not None and (count := self._near(full)):
            above = self._kept_apart(count)
        found = self._core.step(full, dt, before, damping, h, Dh, self._dq)
        if found == INSIDE and (not len(above.b) or bool((above.A @ self._dq >= above.b).all())):
            return self._dq.copy()
        if found == NOT_FINITE:
            self._core.evaluate(full, self._e)
            self._require_targets()
        return self._by_programs(damping, Rows(Dh, -h), above)

    def _kept_apart(self, count: int) -> Rows:
        """The rows A dq >= b of the pairs that are near; overlaps are undone as far as bounds allow at once."""
        assert self.distances is not None
        slopes = self._slopes[:count].copy()
        return Rows(slopes, -self.distances.gain * (self._gap[:count] - self.distances.minimum))

    def _by_programs(self, damping: float, loops: Rows, above: Rows) -> np.ndarray:
        """The same by quadratic programs, after a step of the core."""
        if len(above.b):  # what bounds of velocity do not allow at once takes several steps
            reach = np.minimum(np.abs(self._core.lower), np.abs(self._core.upper))
            reach = np.abs(above.A) @ np.where(np.isfinite(reach), reach, LARGEST)
            above = Rows(above.A, np.minimum(above.b, OUT * reach))
        try:
            return self._programs.in_order(loops, above, damping)
        except InfeasibleError:
            if not (above.b > 0).any():
                raise
        # what overlaps and cannot come apart does not come nearer
        return self._programs.in_order(loops, Rows(above.A, np.minimum(above.b, 0.0)), damping)

    def _clipped(self, q: np.ndarray) -> np.ndarray:
        """Bring q (nq,), which is written to, within the limits of position of what may move."""
        q[self._at_limits] = np.clip(q[self._at_limits], *self._ends)
        return q

    def _drawn(self, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random start (nq,), bases that float and prescribed joints as in another one."""
        q = self.model.random_configuration(rng)
        still = self.model.flat.kinematic
        for joint in self.model.joints:
            if (joint.kind == "free" and joint.parent == "world") or still[joint.v_slice].any():
                q[joint.q_slice] = start[joint.q_slice]
        return q

    def _descended(self, full: np.ndarray, iterations: int, tolerance: float) -> tuple[np.ndarray, int]:
        stall = OPTIMAL if self._soft else STALLED
        found, count = self._core.descend(full, iterations, tolerance, LEAST_DAMPING, stall)
        if found == NOT_FINITE:
            self._core.evaluate(full, self._e)
            self._require_targets()
        return full, count

    def _stepped(self, full: np.ndarray, iterations: int, tolerance: float) -> tuple[np.ndarray, int]:
        model = self.model.full
        squares = self._squares(full)
        count = 0
        while count < iterations:
            count += 1
            dq = self._step(full, math.inf, None, self.damping, full)
            size = np.abs(dq).max(initial=0.0)
            dq *= min(1.0, LARGEST / size) if size else 1.0
            if self.model._followers is not None:
                dq = self.model._followers.expand_velocity(dq)
            for _ in range(HALVINGS):
                tried = model.integrate(full, dq)
                after = self._squares(tried)
                if sum(after[:2]) <= max(2.0 * sum(squares[:2]), tolerance**2):
                    break
                dq = 0.5 * dq
            full, squares = tried, after
            if size < STILL or (not self._soft and len(squares) == 2 and self._rank(full, tolerance)[0] == 0.0):
                break
        return full, count

    def _squares(self, full: np.ndarray) -> list[float]:
        """Half the weighted squares of errors: of equations, then of each priority from 1 on."""
        self._core.evaluate(full, self._e)
        self._require_targets()
        found = {0: 0.5 * float(np.sum(self._loops(full)[0] ** 2)), 1: 0.0}
        for task, rows, weight in zip(self.tasks, self._slices, self._weights, strict=True):
            found[task.priority] = found.get(task.priority, 0.0) + 0.5 * float(np.sum((weight * self._e[rows]) ** 2))
        return [found[key] for key in sorted(found)]

    def _goal_errors(self, full: np.ndarray) -> list[tuple[float, str]]:
        self._core.evaluate(full, self._e)
        each = zip(self.tasks, self._slices, self._weights, strict=True)
        found = [(float(np.abs(self._e[rows][weight > 0]).max(initial=0.0)), task.name)
                 for task, rows, weight in each if task.goal]  # fmt: skip
        h = self._loops(full)[0]
        found += [(abs(float(x)), f"constraint {k}") for k, x in enumerate(h)]
        if self.distances is not None:
            count = self._near(full)
            found += [(max(self.distances.minimum - gap, 0.0), f'distance of "{a}" and "{b}"')
                      for gap, (a, b) in zip(self._gap[:count].tolist(), (self._pair_names[i] for i in self._which),
                                             strict=False)]  # fmt: skip
        return found

    def _rank(self, full: np.ndarray, tolerance: float) -> tuple[float, ...]:
        """How good a solution is: 0 if all is reached, then the squares by priority."""
        worst = max((error for error, _ in self._goal_errors(full)), default=0.0)
        return (0.0 if worst < tolerance else 1.0, *self._squares(full))

    def _solution(self, full: np.ndarray, tolerance: float, iterations: int, attempts: int) -> IkSolution:
        full = self.model.expand(self._clipped(self._contract(full).copy()))
        wrong = sorted(((error, name) for error, name in self._goal_errors(full)), reverse=True)
        error = wrong[0][0] if wrong else 0.0
        far = [f"{name} is off by {off:.3g}" for off, name in wrong if not off < tolerance]
        errors = tuple(self._e[rows].copy() for rows in self._slices)
        return IkSolution(self._contract(full), not far, error, errors, iterations, attempts, "; ".join(far[:4]))

    def _take_shapes(self, limit: DistanceLimit) -> None:
        """The shapes of the model, and the pairs that count."""
        full = self.model.full
        solids, pairs = distance_pairs(full.index, full.flat, full._pose_rows(full.neutral()[None])[0])
        frames = _frames_of(full, solids)
        names = [(frames[i], frames[j]) for i, j in pairs.tolist()]
        if limit.pairs is not None:
            known = {*frames}
            for name in (name for pair in limit.pairs for name in pair):
                if name not in known:
                    full.index.place(name)  # an unknown name
                    raise InputError("pairs", limit.pairs, f'has "{name}", which has no contact with shapes')
            wanted = {frozenset(pair) for pair in limit.pairs}
            keep = [k for k, pair in enumerate(names) if frozenset(pair) in wanted]
            left = wanted - {frozenset(names[k]) for k in keep}
            if left:
                missing = " and ".join(sorted(next(iter(left))))
                raise InputError("pairs", limit.pairs, f"has {missing}, which never come apart or overlap at neutral")
            pairs, names = pairs[keep], [names[k] for k in keep]
        if not len(pairs):
            raise ModelError(
                f'the shapes of "{self.model.name}" make no pairs: give the model contacts with shapes, by '
                "load_urdf(..., ground=) or vt.Contact(frame, shapes=)"
            )
        self._shapes, self._pairs, self._pair_names = ShapeList(tuple(solids)), pairs, names


def _frames_of(model: Model, solids: Sequence[object]) -> list[str]:
    """The frames of the contacts that shapes are of; "ground" of half-spaces."""
    names: list[str] = []
    for contact in model.flat.contacts:
        if isinstance(contact, Contact):
            points = 0 if contact.points is None else len(np.reshape(contact.points, (-1, 3)))
            faces = sum(len(getattr(shape, "convex_faces", (0,))) for shape in contact.shapes)
            names += [contact.frame] * (points + faces)
    return names + ["ground"] * (len(solids) - len(names))


def _columns(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which coordinate each one of all joints follows, by what factor, and the places of those that lead."""
    followers = model._followers
    if followers is None:
        own = np.arange(model.nv, dtype=np.int32)
        return own, np.ones(model.nv), own
    return (followers.lead_v.astype(np.int32), np.ascontiguousarray(followers.gain_v, dtype=float),
            followers.own_v.astype(np.int32))  # fmt: skip


def _limits(
    model: Model, positions: bool, velocities: bool, rates: np.ndarray
) -> list[tuple[int, float, float, float, float]]:
    """Of each coordinate: its place in the configuration of all joints, or -1; lower, upper, speed, acceleration."""
    n = model.nv
    place, lower, upper, speed = np.full(n, -1), np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf)
    own = np.arange(model.nq) if model._followers is None else model._followers.own_q
    if positions:
        for _, at_q, at_v, low, high in limits_of(model.joints, model.constraints):
            place[at_v] = own[at_q]
            lower[at_v], upper[at_v] = max(lower[at_v], low), min(upper[at_v], high)
    if velocities:
        unset = any(finding.id == "limit-zero" for finding in model.flat.report)
        for joint in model.joints:
            factor = abs(joint.mimic[1]) if joint.mimic is not None and model._followers is not None else 1.0
            for k, limit in enumerate(joint.velocity):
                if limit < np.inf and not (unset and limit == 0.0) and factor:
                    at = joint.v_slice.start + k
                    speed[at] = min(speed[at], limit / factor)
    speed[np.asarray(model.flat.kinematic, bool)] = 0.0
    return list(zip(place.tolist(), lower.tolist(), upper.tolist(), speed.tolist(), rates.tolist(), strict=True))


def _count(value: int, name: str) -> int:
    number = whole(value)
    if number is None or number < 1:
        raise InputError(name, value, "must be an integer, 1 or more")
    return number


@explain_calls
def solve_ik(
    model: Model, tasks: Iterable[KinematicTask] | Tasks, q: ArrayLike | None = None, *, tolerance: float = 1e-6,
    iterations: int = 100, attempts: int = 20, rng: np.random.Generator | None = None,
) -> IkSolution:  # fmt: skip
    """Return a configuration at which tasks have reached their targets, or come near them: inverse kinematics.

    Parameters
    ----------
    model : Model
    tasks : sequence of tasks, or Tasks
        :class:`Tasks` of the model where limits other than those of the joints count, or many poses are solved.
    q : (nq,) array, optional [m or rad]
        Where the search starts; ``model.start`` if not given.
    tolerance : float [m, rad or -]
    iterations, attempts, rng
        As in :meth:`Tasks.solve`.

    Returns
    -------
    IkSolution
        True where all was reached. A target out of reach is no error: ``reached`` is False, and ``why`` says what is
        off.

    Raises
    ------
    InputError, UnknownNameError
        If an argument has a wrong value, a name is none of the model, or nothing is within all limits.
    MissingExtraError
        If limits, distances or loops need a quadratic program, and DAQP is not installed.
    """
    ready = tasks if isinstance(tasks, Tasks) else Tasks(model, tasks)
    if ready.model is not model and ready.model != of_kind(model, Model, "model", "a Model"):
        raise InputError("tasks", tasks, f'are of another model, "{ready.model.name}"')
    return ready.solve(q, tolerance=tolerance, iterations=iterations, attempts=attempts, rng=rng)
