"""Fronts: the order in which an island's joints and constraints are eliminated, so that few are open at a time.

Frontal elimination (Irons 1970, Duff & Reid 1983). Constraints that share joints make a region; its bodies are
eliminated from the leaves, after all that hangs on them. A constraint opens with the first joint that it depends on,
and closes as soon as its pivot is safe, at the latest behind the region's last joint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from vitree.mechanism.ties import COUPLING, Tie

#: Kinds of events of ``_core/types.pxd``.
OPEN_BODY, OPEN_GUEST, OPEN_ROW, ELIMINATE, SHIFT, TRY, CLOSE, STORE = range(8)
#: Islands with fewer constraints are solved densely, and those with fewer gears and nothing else.
LEAST_ROWS, LEAST_GEARS = 16, 64
#: Places for constraints that wait for a safe pivot.
SPARE_ROWS = 6


class Fronts(NamedTuple):
    """The events of an island, in arrays of int32.

    Attributes
    ----------
    events : (n, 9) array
        Kind, body, slot, the parent's slot, the number of the first pivot; from where to where ``pairs`` and ``rows``
        are its.
    pairs : (m, 2) array
        Slots and the bodies that are open in them.
    rows : (k,) array
        Constraints, by their numbers in the island.
    ready : (constraints,) array
        The event from which on each constraint acts on no joint that is not eliminated.
    slots, places, pivots : int
        Bodies and constraints that are open at a time, and coordinates; the pivots of constraints come behind.
    """

    events: np.ndarray
    pairs: np.ndarray
    rows: np.ndarray
    ready: np.ndarray
    slots: int
    places: int
    pivots: int


class FrontRule(Protocol):
    """Says whether an island is solved by fronts, before and after an order is known."""

    def __call__(self, ties: Sequence[Tie], bodies: int, order: FrontOrder | None = None) -> bool: ...


def cheaper(ties: Sequence[Tie], bodies: int, order: FrontOrder | None = None) -> bool:
    """Return whether an order may cost less than the dense matrix of an island of so many bodies, or does."""
    rows = len(ties)
    if order is None:
        return rows >= (LEAST_GEARS if all(tie.kind == COUPLING for tie in ties) else LEAST_ROWS)
    return 4 * order.cost + 400 * bodies < rows * (300 * bodies + rows * bodies + rows * rows)


class FrontOrder:
    """The events of an island of the bodies from ``first`` to ``end``.

    Parameters
    ----------
    parent, coordinates : sequences of int
        Of all bodies; those of locked joints have no coordinate.
    held : sequence of pairs
        The bodies, and those of the joints, that each constraint acts on; a body of -1 is the world.
    first, end : int
    """

    def __init__(self, parent: Sequence[int], coordinates: Sequence[int],
                 held: Sequence[tuple[Collection[int], Collection[int]]], first: int, end: int):  # fmt: skip
        self.parent, self.coordinates, self.held = parent, coordinates, held
        self.events: list[tuple[int, ...]] = []
        self.pairs: list[tuple[int, int]] = []
        self.rows: list[int] = []
        self.ready = [0] * len(held)
        self.slots = self.places = self.pivots = 0
        self.cost = 0.0
        self.support = [self.supports(bodies, joints) for bodies, joints in held]
        if not all(self.support):
            return  # a constraint between points of one body
        for bodies, rows in self.regions(first, end):
            self.eliminate(bodies, rows)

    def path(self, body: int) -> set[int]:
        """Return a body and those that carry it."""
        found = set()
        while body >= 0:
            found.add(body)
            body = self.parent[body]
        return found

    def supports(self, bodies: Collection[int], joints: Collection[int]) -> set[int]:
        """Return the bodies whose joints a constraint depends on."""
        paths = [self.path(i) for i in bodies if i >= 0]
        paths += [self.path(self.parent[i]) for i in joints]
        if -1 in bodies:
            paths.append(set())
        return set(joints).union(*paths) - paths[0].intersection(*paths[1:])

    def regions(self, first: int, end: int) -> list[tuple[list[int], list[int]]]:
        """Return (bodies, constraints) of all regions, those that hang on others first."""
        leader = {i: i for i in range(first, end)}

        def leads(i: int) -> int:
            while leader[i] != i:
                leader[i] = leader[leader[i]]
                i = leader[i]
            return i

        for support in self.support:
            one = leads(min(support))
            for i in support:
                other = leads(i)
                leader[max(one, other)] = one = min(one, other)
        found: dict[int, tuple[list[int], list[int]]] = {}
        for i in range(first, end):
            found.setdefault(leads(i), ([], []))[0].append(i)
        for c, support in enumerate(self.support):
            found[leads(min(support))][1].append(c)
        # the first body of a region is that of the least number: its parent belongs to the region before
        level: dict[int, int] = {}
        for i in found:
            level[i] = level[leads(self.parent[i])] + 1 if self.parent[i] >= 0 else 0
        return [found[i] for i in sorted(found, key=lambda i: (-level[i], -i))]

    def eliminate(self, bodies: Sequence[int], rows: Sequence[int]) -> None:
        """Add the events of a region."""
        top = self.parent[bodies[0]]
        inside = set(bodies)
        children = {i: sum(1 for j in bodies if self.parent[j] == i) for i in bodies} if len(bodies) > 1 else {}
        touching: dict[int, list[int]] = {i: [] for i in bodies}
        for c in rows:
            for i in self.support[c]:
                touching[i].append(c)
        joints_left = {c: len(self.held[c][1]) for c in rows}
        place: dict[int, int] = {}
        free: list[int] = []
        opened: set[int] = set()
        open_rows, credit = 0, 0
        candidates = {i for i in bodies if not children.get(i)}

        def needed(i: int) -> set[int]:
            return {i}.union(*(self.held[c][0] for c in touching[i] if c not in opened)) - {-1}

        def after(i: int) -> tuple[int, int, int]:
            new = len(needed(i) - place.keys())
            up = self.parent[i]
            return new - (up < 0 or up in place), sum(c not in opened for c in touching[i]), -i

        def put(i: int) -> bool:
            if i not in place:
                place[i] = free.pop() if free else len(place)
                self.slots = max(self.slots, len(place))
                return True
            return False

        def emit(kind: int, i: int = 0, slot: int = 0, to: int = -1, rows: Sequence[int] = ()) -> None:
            pair, row = len(self.pairs), len(self.rows)
            if kind in (OPEN_ROW, ELIMINATE, TRY, CLOSE):
                self.pairs += sorted((at, body) for body, at in place.items())
                self.cost += (6 * len(place) + open_rows + 6) ** 2
            self.rows += rows
            self.events.append((kind, i, slot, to, self.pivots, pair, len(self.pairs), row, len(self.rows)))
            self.pivots += self.coordinates[i] if kind == ELIMINATE else 0

        while candidates:
            i = min(candidates, key=after) if len(candidates) > 1 else next(iter(candidates))
            candidates.remove(i)
            for body in sorted(needed(i)):
                if put(body):
                    emit(OPEN_BODY if body in inside else OPEN_GUEST, body, slot=place[body])
            for c in touching[i]:
                if c not in opened:
                    opened.add(c)
                    open_rows += 1
                    emit(OPEN_ROW, rows=[c])
            self.places = max(self.places, open_rows)
            direct = [c for c in touching[i] if i in self.held[c][1]]
            if self.coordinates[i]:
                emit(ELIMINATE, i, place[i], rows=direct)
                credit += self.coordinates[i]
            # the parent takes the slot, or the slot's content
            up, at = self.parent[i], place.pop(i)
            if up >= 0 and up not in place:
                place[up] = at
                emit(SHIFT, i, slot=at, to=at)
                if up in inside:
                    emit(OPEN_BODY, up, slot=at)
            else:
                free.append(at)
                emit(SHIFT, i, slot=at, to=place[up] if up >= 0 else -1)
            if up in inside:
                children[up] -= 1
                if not children[up]:
                    candidates.add(up)
            if not rows:
                continue
            for c in direct:
                joints_left[c] -= 1
                if not joints_left[c]:
                    self.ready[c] = len(self.events)
            if opened:
                emit(TRY)
            closed = min(open_rows, credit)
            open_rows, credit = open_rows - closed, credit - closed
        if rows:
            emit(CLOSE, rows=rows)
        if top >= 0:
            emit(STORE, top, slot=place[top])

    def fronts(self) -> Fronts:
        """Return the events in arrays."""
        return Fronts(
            np.array(self.events, np.int32).reshape(-1, 9), np.array(self.pairs, np.int32).reshape(-1, 2),
            np.array(self.rows, np.int32), np.array(self.ready, np.int32), self.slots,
            min(self.places + SPARE_ROWS, len(self.held)), self.pivots,
        )  # fmt: skip
