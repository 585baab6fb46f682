"""Phases of a motion: which points stand on the ground, from which node to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vitree.arguments import entries, of_kind, several, shown, whole
from vitree.control.motion_plan import PhaseInterval
from vitree.errors import InputError

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
    """

    steps: int
    held: Mapping[str, Any] | Sequence[str] = field(default_factory=dict)


@dataclass(frozen=True)
class ContactInterval:
    """A frame that is held from one node to another; it gets impulses at all of them but the last."""

    frame: str
    first: int
    last: int
    place: np.ndarray | None


def swing(held: np.ndarray, k: int) -> float:
    """Return how far node k is into the middle of its swing: a parabola that is 1 there, and 0 at held nodes."""
    before, after = np.flatnonzero(held[:k]), np.flatnonzero(held[k:])
    first = before[-1] if len(before) else -1
    last = k + after[0] if len(after) else len(held)
    share = (k - first) / (last - first)
    return 4.0 * share * (1.0 - share)


def stretches_of(phases: Any, steps: Any) -> tuple[tuple[PhaseInterval, ...], int]:
    """Return the phases from node to node, and the number of steps."""
    phases = several(phases, "phases", "a sequence of ContactPhase")
    found, at = [], 0
    for k, phase in enumerate(phases):
        of_kind(phase, ContactPhase, "phases", "a sequence of ContactPhase")
        count, last = whole(phase.steps), k > 0 and k == len(phases) - 1
        if count is None or count < (0 if last else 1):
            raise InputError(
                f"phase {k} has {shown(phase.steps)} steps; give a whole number of at least 1, or 0 in the last phase"
            )
        found.append(PhaseInterval(at, at + count, tuple(phase.held)))
        at += count
    if phases and steps is not None:
        raise InputError("steps", steps, "must not be given with phases, which have their own steps")
    number = at if phases else whole(steps)
    if number is None or number < 2:
        raise InputError(f"steps is {shown(steps if not phases else number)}; it must be a whole number of at least 2")
    return tuple(found) or (PhaseInterval(0, number, ()),), number


def stances_of(phases: Any, stretches: Sequence[PhaseInterval]) -> list[ContactInterval]:
    """Return the stances of all frames: phases in a row that hold the same frame are one."""
    found: list[ContactInterval] = []
    for phase, stretch in zip(phases, stretches, strict=False):
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
