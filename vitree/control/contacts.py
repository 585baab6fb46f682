"""Contacts of a planned motion: points that stand on the ground or hang on strings, and phases of contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, of_kind, several, shown, whole
from vitree.control.momenta import Entries
from vitree.errors import InputError, UnknownNameError

#: Motions of a point smaller than this share of the largest count as none.
_STILL = 1e-9


class Point:
    """The origin of a frame, at stacks of configurations with entries (..., nq)."""

    def __init__(self, entries: Entries, frame: str):
        self.entries, self.model, self.frame = entries, entries.model, frame
        if frame not in self.model.frame_names:
            raise UnknownNameError("frame", frame, self.model.frame_names)
        # a displacement turns the columns of its own body and of those after it
        body = entries.body
        self._before = body[None, :] <= body[:, None]

    def place(self, q: np.ndarray) -> np.ndarray:
        """Return the place (..., 3) [m]."""
        return np.asarray(self.model.frame_pose(self.frame, self.entries.unit(q))[..., :3, 3])

    def place_slopes(self, q: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., 3, nq) of the place by the entries."""
        return self.entries.by_entries(self._jacobian(q)[..., 3:, :], q)

    def joint_force(self, q: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) of a force (..., 3) on the point, in world axes: J^T f."""
        return np.asarray(np.einsum("...ci,...c->...i", self._jacobian(q)[..., 3:, :], force))

    def joint_force_slopes(self, q: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the joint forces by the entries, (..., nv, nq), and by the force, (..., nv, 3).

        dJ_i/dd_j = w_j x J_i if the displacement j moves the column i, else w_i x J_j.
        """
        J = self._jacobian(q)
        return self.entries.by_entries(self._bend(J, force), q), np.swapaxes(J[..., 3:, :], -1, -2)

    def _bend(self, J: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., nv, nv) of J^T f by displacements."""
        turned = np.swapaxes(J[..., 3:, :], -1, -2) @ np.cross(force[..., None], J[..., :3, :], axis=-2)
        return np.where(self._before, turned, np.swapaxes(turned, -1, -2))

    @cached_property
    def moves(self) -> np.ndarray:
        """Whether the point can move along each of the world's axes, (3,) bool."""
        rng, model = np.random.default_rng(0), self.model
        q = [model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)) for _ in range(5)]
        sizes = np.abs(self._jacobian(np.array(q))[:, 3:]).max(axis=(0, 2))
        return np.asarray(sizes > _STILL * max(sizes.max(), 1e-300))

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.frame_jacobian(self.frame, self.entries.unit(q)))


class String(Point):
    """A string from a point to a hook in the world: its length, and joint forces of its tension."""

    def __init__(self, entries: Entries, frame: str, hook: np.ndarray):
        super().__init__(entries, frame)
        self.hook = hook

    def length(self, q: np.ndarray) -> np.ndarray:
        """Return the length (...,) [m]."""
        return np.asarray(np.linalg.norm(self.hook - self.place(q), axis=-1))

    def pull(self, q: np.ndarray, tension: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) of a tension (..., 1)."""
        away = self.hook - self.place(q)
        return self.joint_force(q, tension * away / np.linalg.norm(away, axis=-1, keepdims=True))

    def pull_slopes(self, q: np.ndarray, tension: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the joint forces: by the entries (..., nv, nq), by the tension (..., nv, 1)."""
        q1 = self.entries.unit(q)
        away = self.hook - self.place(q1)
        length = np.linalg.norm(away, axis=-1, keepdims=True)
        e = away / length
        J = self._jacobian(q1)
        turned, rows = np.swapaxes(J[..., 3:, :], -1, -2), e[..., None, :] @ J[..., 3:, :]
        # the direction turns by -(1 - e e^T) J d / length
        across = turned @ J[..., 3:, :] - np.swapaxes(rows, -1, -2) @ rows
        by_displacement = self._bend(J, tension * e) - (tension / length)[..., None] * across
        return self.entries.by_entries(by_displacement, q), np.swapaxes(rows, -1, -2)


# ---- phases -------------------------------------------------------------------------------------------------

#: A held point at a given configuration may be this far off its place [m].
ON_PLACE = 1e-9


@dataclass(frozen=True)
class ContactPhase:
    """Steps during which points stand still.

    Parameters
    ----------
    steps : int
        Zero for the last phase: its points stand at the last node.
    held : mapping of str to (3,) array or None, or sequence of str [m]
        Frames whose origins stand still at the first node of the phase, at its last one, and at those between. A place
        is one in the world; None leaves it to the search, at the height of the ground. A frame that is held in
        two phases in a row keeps its place.
    fixed : mapping of str to (float, float) or None, or sequence of str [m]
        Those of the held frames whose rotation is held as well, as of feet that stand on all of their sole, for
        :func:`optimize_motion`. The sole is a rectangle about the frame's origin, of so much half length along the
        frame's x axis and half width along its y axis, and parallel to the ground when its phase begins. The center of
        pressure stays in it, and the moment about the normal is bounded by friction; None sets no bound on moments.

    References
    ----------
    Caron, Pham & Nakamura 2015, "Stability of surface contacts for humanoid robots: closed-form formulae of the contact
    wrench cone for rectangular support areas".
    """

    steps: int
    held: Mapping[str, ArrayLike | None] | Sequence[str] = field(default_factory=dict)
    fixed: Mapping[str, ArrayLike | None] | Sequence[str] = field(default_factory=dict)


class PhaseInterval(NamedTuple):
    """A phase of a plan: from the node ``first`` to the node ``last`` the points of the frames ``held`` stand still.

    So do the rotations of the frames ``fixed``.
    """

    first: int
    last: int
    held: tuple[str, ...]
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContactInterval:
    """A frame that is held from one node to another; it gets impulses at all of them but the last."""

    frame: str
    first: int
    last: int
    place: np.ndarray | None

    @property
    def impulses(self) -> str:
        """The name of the block of variables of its impulses."""
        return f'impulses on "{self.frame}" from {self.first}'

    @property
    def position(self) -> str:
        """The name of the block of variables of its place, as far as that is not given."""
        return f'place of "{self.frame}" from {self.first}'


def swings(held: np.ndarray) -> np.ndarray:
    """Return how far each node (n,) is into the middle of its swing: a parabola that is 1 there, 0 at held nodes."""
    nodes = np.arange(len(held))
    first = np.maximum.accumulate(np.where(held, nodes, -1))
    last = np.minimum.accumulate(np.where(held, nodes, len(held))[::-1])[::-1]
    share = (nodes - first) / np.maximum(last - first, 1)
    return np.asarray(4.0 * share * (1.0 - share))


def stretches_of(phases: Sequence[ContactPhase]) -> tuple[PhaseInterval, ...]:
    """Return the phases from node to node."""
    found: list[PhaseInterval] = []
    at = 0
    for k, phase in enumerate(phases):
        of_kind(phase, ContactPhase, "phases", "a sequence of ContactPhase")
        count, last = whole(phase.steps), k > 0 and k == len(phases) - 1
        if count is None or count < (0 if last else 1):
            raise InputError(
                f"phase {k} has {shown(phase.steps)} steps; give a whole number of at least 1, or 0 in the last phase"
            )
        held = tuple(phase.held)
        for name in phase.fixed:
            if name not in held:
                raise UnknownNameError("frame", name, held, argument=f"fixed of phase {k}")
        found.append(PhaseInterval(at, at + count, held, tuple(phase.fixed)))
        at += count
    return tuple(found)


def stances_of(phases: Sequence[ContactPhase], stretches: Sequence[PhaseInterval]) -> list[ContactInterval]:
    """Return the stances of all frames: phases in a row that hold the same frame are one."""
    found: list[ContactInterval] = []
    for phase, stretch in zip(phases, stretches, strict=True):
        held = phase.held
        places = held if isinstance(held, Mapping) else dict.fromkeys(several(held, "held", "frames"))
        for name, place in places.items():
            where = None if place is None else entries(place, (3,), f'the place of "{name}"')
            earlier = next((s for s in found if s.frame == name and s.last == stretch.first), None)
            if earlier is not None:
                if where is not None and earlier.place is not None and np.abs(where - earlier.place).max() > ON_PLACE:
                    raise InputError(f'"{name}" is held at two places in a row; it must be free for a phase between')
                found.remove(earlier)
                where = earlier.place if where is None else where
            first = stretch.first if earlier is None else earlier.first
            found.append(ContactInterval(name, first, stretch.last, where))
    return found
