"""Steps in phases of contact: frames that are held where they are, and what the ground gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from vitree.arguments import entries, real, several
from vitree.control.bounded import Motion
from vitree.control.contacts import (
    ContactInterval,
    ContactPhase,
    PhaseInterval,
    stances_of,
    stretches_of,
)
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.composed_slopes import Part
from vitree.mechanism.constraints import AxisConstraint, PointConstraint
from vitree.model.changes import triple, with_fields
from vitree.model.model import Model

#: Rows that move less than this share of the largest one, and singular values of all rows, count as zero.
STILL = 1e-9
#: [m] A frame that is held at the start may be so far off the place that its phase gives it; it stays where it is.
NEAR = 0.01
#: Configurations at which that is found out.
TRIALS = 5
AXES = np.eye(3)


class Stretch(NamedTuple):
    """Steps of one model: from the node ``first`` to the node ``last``.

    The constraints from the number ``anchored`` on hold frames where they are; -1 if there are none. ``columns`` has
    where the rows of each held frame are among all constraints.
    """

    first: int
    last: int
    integrator: Part
    anchored: int = -1
    columns: Mapping[str, slice] = MappingProxyType({})

    @property
    def rows(self) -> int:
        """The number of constraints."""
        return len(self.integrator.model.constraints)


class ContactWrenches(NamedTuple):
    """Impulses, impacts and forces (steps, 6) by frames: the fields of a :class:`MotionSolution`."""

    impulses: dict[str, np.ndarray]
    impacts: dict[str, np.ndarray]
    forces: dict[str, np.ndarray]


class HeldFrame:
    """A frame that phases hold: the rows that hold it, and the wrench of their impulses.

    The origin keeps its coordinates along the world's axes. A rotation R is held by the products (R u) . w of two axes
    u of the frame with axes w of the world, which are those of the frame's axes at a reference configuration: they tell
    R apart from all that are less than a quarter turn away from that.

    Parameters
    ----------
    model : Model
    name : str
    q : (nq,) array [m or rad]
        The reference.
    """

    def __init__(self, model: Model, name: str, q: np.ndarray):
        if name not in model.frame_names:
            raise UnknownNameError("frame", name, model.frame_names, argument="phases")
        self.model, self.name = model, name
        R = np.asarray(model.frame_pose(name, q))[:3, :3]
        pairs = [(AXES[k], R @ AXES[(k + 1) % 3]) for k in range(3)]
        rng = np.random.default_rng(0)
        trials = [model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)) for _ in range(TRIALS)]
        poses, J = model.frame_pose(name, np.array(trials)), model.frame_jacobian(name, np.array(trials))
        sizes = np.abs(J[:, 3:]).max(axis=(0, 2))
        #: (r, 3): directions in which the origin moves
        self.along = AXES[sizes > STILL * max(sizes.max(), 1e-300)]
        couples = [np.cross(poses[:, :3, :3] @ u, w) for u, w in pairs]
        turns = [float(np.abs(np.einsum("kc,kci->ki", couple, J[:, :3])).max()) for couple in couples]
        #: pairs (u, w) of axes of the frame and of the world whose products change
        self.pairs = [pair for pair, size in zip(pairs, turns, strict=True) if size > STILL]
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray | None] | None = None

    def constraints(self, fixed: bool, q: np.ndarray | None = None) -> list[PointConstraint | AxisConstraint]:
        """Return what holds the frame, where it is at q (nq,) if given."""
        pose = np.eye(4) if q is None else np.asarray(self.model.frame_pose(self.name, q))
        label = f'contact of "{self.name}"'
        found: list[PointConstraint | AxisConstraint] = [
            PointConstraint(self.name, "world", triple(e), offset=float(e @ pose[:3, 3]), label=f"{label} {'xyz'[k]}")
            for e in self.along for k in np.flatnonzero(e)
        ]  # fmt: skip
        for k, (u, w) in enumerate(self.pairs if fixed else ()):
            cosine = 0.0 if q is None else float(w @ pose[:3, :3] @ u)
            found.append(AxisConstraint(self.name, "world", triple(u), triple(w), cosine, label=f"{label} turn {k}"))
        return found

    def size(self, fixed: bool) -> int:
        """Return the number of its rows."""
        return len(self.along) + len(self.pairs) * fixed

    def wrenches(self, q: np.ndarray, impulses: np.ndarray) -> np.ndarray:
        """Return the wrench (n, 6) of impulses (n, r) of its rows: the force, and the moment about the origin.

        In world axes [N s and N m s], at configurations q (n, nq).
        """
        points = len(self.along)
        found = np.zeros((len(impulses), 6))
        found[:, :3] = impulses[:, :points] @ self.along
        for k in range(points, impulses.shape[1]):
            u, w = self.pairs[k - points]
            found[:, 3:] += impulses[:, k, None] * np.cross(self.poses(q)[: len(impulses), :3, :3] @ u, w)
        return found

    def wrench_slopes(self, q: np.ndarray, impulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of wrenches (n, 6) by displacements of q (n, 6, nv), and by impulses (n, 6, r)."""
        n, points, nv = len(impulses), len(self.along), self.model.nv
        by_q, by_impulse = np.zeros((n, 6, nv)), np.zeros((n, 6, impulses.shape[1]))
        by_impulse[:, :3, :points] = self.along.T
        for k in range(points, impulses.shape[1]):
            u, w = self.pairs[k - points]
            axis, turn = self.poses(q)[:n, :3, :3] @ u, self.jacobians(q)[:n, :3]
            by_impulse[:, 3:, k] = np.cross(axis, w)
            # (t x Ru) x w, of a rotation t
            moved = np.cross(np.cross(turn.swapaxes(1, 2), axis[:, None]), w)
            by_q[:, 3:] += impulses[:, k, None, None] * moved.swapaxes(1, 2)
        return by_q, by_impulse

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (n, 4, 4) at q (n, nq), which must not change: searches ask for the same ones again."""
        if self._last is None or self._last[0] is not q:
            self._last = q, np.asarray(self.model.frame_pose(self.name, q)), None
        return self._last[1]

    def jacobians(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobians (n, 6, nv) in world axes, as of :meth:`poses`."""
        poses = self.poses(q)
        assert self._last is not None
        if self._last[2] is None:
            self._last = q, poses, np.asarray(self.model.frame_jacobian(self.name, q))
        assert self._last[2] is not None
        return self._last[2]


class ContactSteps:
    """Phases of contact of a motion, and the models of their steps.

    Parameters
    ----------
    model : Model
        Without contacts.
    phases : sequence of ContactPhase
    q0 : (nq,) array
        Where the motion begins; rotations are held within a quarter turn of those there.
    options : tuple
        The friction, the height of the ground and the clearance, as of :func:`optimize_motion`.
    make : callable
        Returns an integrator of a model.
    before : ContactSteps, optional
        Other phases of the same model, whose models and integrators are used again.

    Raises
    ------
    InputError, UnknownNameError
        If phases are wrong, or hold a body more than once.
    """

    def __init__(self, model: Model, phases: Sequence[ContactPhase], q0: np.ndarray, dt: float,
                 options: tuple[float, float, float], make: Callable[[Model], Part],
                 before: ContactSteps | None = None):  # fmt: skip
        self.model, self.dt, self._make, self._options = model, dt, make, options
        phases = several(phases, "phases", "a sequence of ContactPhase")
        if not phases:
            raise InputError("phases", phases, "must have one ContactPhase at least")
        self.intervals: tuple[PhaseInterval, ...] = stretches_of(phases)
        self.stances: list[ContactInterval] = stances_of(phases, self.intervals)
        self.steps = self.intervals[-1].last
        #: [N s] of a step
        self.weight = model.total_mass * float(np.linalg.norm(model.gravity)) * dt or 1.0
        self.friction, self.ground, self.clearance = numbers = tuple(map(real, options))
        for name, given, value in zip(("friction", "ground", "clearance"), options, numbers, strict=True):
            if not np.isfinite(value) or (value < 0 and name != "ground"):
                raise InputError(name, given, "must be a number" + (", zero or more" * (name != "ground")))
        known: dict[str, HeldFrame] = {} if before is None else before.frames
        self.frames: dict[str, HeldFrame] = {}
        for stance in self.stances:
            name = stance.frame
            self.frames[name] = known[name] if name in known else HeldFrame(model, name, q0)
        self.soles = self._soles(phases)
        #: by the frames that are held, and those of them that are fixed
        self._made: dict[tuple[tuple[str, ...], frozenset[str]], Stretch] = {} if before is None else before._made
        self.stretches: list[Stretch] = []
        for one in self.intervals:
            key = one.held, frozenset(one.fixed)
            if key not in self._made:
                self._made[key] = self._stretch(*key)
            if one.last > one.first:
                self.stretches.append(self._made[key]._replace(first=one.first, last=one.last))
        #: the most constraints of a step
        self.rows = max((stretch.rows for stretch in self.stretches), default=0)

    def _soles(self, phases: Sequence[ContactPhase]) -> dict[str, np.ndarray]:
        """Return the half length and the half width of the soles that are known."""
        found: dict[str, np.ndarray] = {}
        for phase in phases:
            for name, given in phase.fixed.items() if isinstance(phase.fixed, Mapping) else ():
                if given is None:
                    continue
                size = entries(given, (2,), f'the sole of "{name}"')
                if not (size > 0).all() or not np.array_equal(found.setdefault(name, size), size):
                    raise InputError("phases", phases, f'need two positive numbers for "{name}" in fixed, and the same')
        return found

    def again(self, phases: Sequence[ContactPhase], q0: np.ndarray) -> ContactSteps:
        """Return other phases of the same model."""
        return ContactSteps(self.model, phases, q0, self.dt, self._options, self._make, self)

    def _stretch(self, held: tuple[str, ...], fixed: frozenset[str]) -> Stretch:
        """Return steps with frames that are held."""
        model, columns = self.model, dict[str, slice]()
        count = len(model.constraints)
        for name in held:
            columns[name] = slice(count, count + self.frames[name].size(name in fixed))
            count = columns[name].stop
            if columns[name].start == count:
                raise InputError(f'a phase holds "{name}", which does not move; leave it out')
        if not held:
            return Stretch(0, 0, self._make(model))
        made, anchored = self.holding(held, fixed), len(model.constraints)
        # a model of no special configuration: what depends there depends everywhere
        q = model.integrate(model.neutral(), np.random.default_rng(1).uniform(-1, 1, model.nv))
        sizes = np.linalg.svd(made._constraint_rows(q[None])[1][0], compute_uv=False)
        if len(sizes) < len(made.constraints) or sizes[-1] <= STILL * sizes[0]:
            raise InputError(
                f"a phase holds {', '.join(held)} by {count - anchored} constraints, some of which others imply: hold "
                "a body by two points at most, or by one frame that is named in fixed, and leave out what cannot move"
            )
        return Stretch(0, 0, self._make(made), anchored, columns)

    def holding(self, held: Sequence[str], fixed: Sequence[str] | frozenset[str], q: np.ndarray | None = None) -> Model:
        """Return the model with frames that are held where they are at q (nq,)."""
        more = [each for name in held for each in self.frames[name].constraints(name in fixed, q)]
        return with_fields(self.model, constraints=(*self.model.full.flat.constraints, *more))

    def require_start(self, q: np.ndarray) -> None:
        """Raise an InputError if a frame that is held at the start has another place there than its phase says."""
        for stance in self.stances:
            if stance.first == 0 and stance.place is not None:
                there = np.asarray(self.model.frame_pose(stance.frame, q))[:3, 3]
                off = np.abs(self.frames[stance.frame].along @ (there - stance.place)).max(initial=0.0)
                if off > NEAR:
                    raise InputError(
                        f'the start has "{stance.frame}" {off:.3g} m off the place where it is held; change one of them'
                    )

    def model_at(self, stretch: Stretch, q: np.ndarray) -> Model:
        """Return the model of a stretch that begins at q (nq,), which holds frames there."""
        fixed = [name for name, at in stretch.columns.items() if at.stop - at.start > self.frames[name].size(False)]
        return self.holding(list(stretch.columns), fixed, q) if stretch.columns else self.model

    def wrenches(self, q: np.ndarray, impulses: np.ndarray) -> dict[str, np.ndarray]:
        """Return the wrenches (steps, 6) of impulses (steps, c), in world axes, by frames."""
        return {name: frame.wrenches(q, self.columns_of(name, impulses)) for name, frame in self.frames.items()}

    def wrenches_of(self, motion: Motion) -> ContactWrenches:
        """Return what the ground gives each frame, what of it is impacts, and the forces that the rest comes from."""
        q, p, given = motion
        impulses, impacts = self.wrenches(q, given), self.wrenches(q, self.impacts(q, p))
        forces = {}
        for name, x in impulses.items():
            span = self.dt * self.spans(name)[:, None]
            forces[name] = np.divide(x - impacts[name], span, out=np.zeros_like(x), where=span > 0)
        return ContactWrenches(impulses, impacts, forces)

    def impacts(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the impulses (steps, c) of the impacts where stretches begin.

        Momenta of nodes are those before the impulses of these. First the frames that were held take their velocities
        away, which is no impact, and then those that are held.
        """
        found, before = np.zeros((self.steps, self.rows)), None
        for one in self.stretches:
            at, momentum = q[one.first : one.first + 1], p[one.first]
            if before is not None:
                momentum = momentum + _stopping(before.integrator.model, at, momentum)[1]
            found[one.first, : one.rows] = _stopping(one.integrator.model, at, momentum)[0]
            before = one
        return found

    def spans(self, name: str) -> np.ndarray:
        """Return over how much of a step (steps,) the impulse of each node acts: half of each that holds a frame."""
        held = self.held(name).astype(float)
        return 0.5 * held * (1.0 + np.concatenate([[0.0], held[:-1]]))

    def columns_of(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return the part (steps, r, ...) of rows (steps, c, ...) of impulses that is a frame's, zero if it is free."""
        sizes = [one.columns[name].stop - one.columns[name].start for one in self.stretches if name in one.columns]
        found = np.zeros((len(rows), max(sizes, default=0), *rows.shape[2:]))
        for one in self.stretches:
            if name in one.columns:
                at = one.columns[name]
                found[one.first : one.last, : at.stop - at.start] = rows[one.first : one.last, at]
        return found

    def held(self, name: str) -> np.ndarray:
        """Return in which steps a frame is held (steps,)."""
        found = np.zeros(self.steps, dtype=bool)
        for one in self.stretches:
            found[one.first : one.last] = name in one.columns
        return found

    def fixed(self, name: str) -> np.ndarray:
        """Return in which steps a frame is fixed (steps,)."""
        found = np.zeros(self.steps, dtype=bool)
        for one in self.intervals:
            found[one.first : one.last] = name in one.fixed
        return found


def _stopping(model: Model, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the impulses (m,) of constraints that stop what they hold, and their momentum (nv,); q is (1, nq)."""
    rows = model._constraint_rows(q)[1][0]
    inverse = np.asarray(model.inverse_mass_matrix(q))[0]
    impulses = np.linalg.solve(rows @ inverse @ rows.T, -rows @ inverse @ p)
    return impulses, rows.T @ impulses
