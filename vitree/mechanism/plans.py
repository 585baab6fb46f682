"""Plans: how a mechanism's constraints are solved for, in arrays, which depend on no number that a state has.

Islands are sets of bodies that constraints tie together, apart from all others. Each island's multipliers are solved
for by themselves, in the range of bodies and of coordinates that the island spans. A large island is solved by fronts,
gears within the recursion of forward dynamics. A plan is made once a model: of its topology and of what its
constraints act on.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords
from vitree.mechanism.flat import KIND_NV, Flat

# ---- ties: what plans ask of bodies and of constraints ---------------------------------------------------------


#: Kinds of constraints of ``_core/types.pxd``.
POINTS, DISTANCE, COUPLING, AXES, PROFILE, USER = range(6)


class Tie(NamedTuple):
    """What a constraint acts on, by the numbers of bodies and coordinates; -1: the world, or none."""

    kind: int
    body_a: int = -1
    body_b: int = -1
    local: bool = False
    iv_a: int = -1
    iv_b: int = -1
    factor_a: float = 0.0
    factor_b: float = 0.0

    @classmethod
    def of(cls, row: Keywords) -> Tie:
        """Return that of a constraint as the core takes it."""
        return cls(
            row["kind"], row.get("body_a", -1), row.get("body_b", -1), bool(row.get("local", 0)),
            row.get("a", (-1, -1))[1], row.get("b", (-1, -1))[1], row.get("factor_a", 0.0), row.get("factor_b", 0.0),
        )  # fmt: skip

    @property
    def ends(self) -> tuple[int, ...]:
        """The bodies that it pushes; the world too where its direction is one of the world.

        Turning both bodies together changes such a constraint.
        """
        if self.kind in (COUPLING, PROFILE):
            return ()
        return (self.body_a, self.body_b, -1) if self.kind == POINTS and not self.local else (self.body_a, self.body_b)


@dataclass(frozen=True)
class Bodies:
    """The bodies of a mechanism: a tuple with an entry each.

    Attributes
    ----------
    parent : tuple of int
        The body that carries it; -1: the world.
    starts, sizes : tuples of int
        The first coordinate of its joint in v, and how many it has.
    locked : tuple of bool
        Whether the joint moves as prescribed.
    """

    parent: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    locked: tuple[bool, ...]

    def roots(self) -> list[int]:
        """Return the first body of the tree that each body belongs to."""
        root: list[int] = []
        for i, up in enumerate(self.parent):
            root.append(root[up] if up >= 0 else i)
        return root

    def path(self, body: int) -> list[int]:
        """Return a body and those that carry it, up to the world, -1."""
        found = [body]
        while body >= 0:
            body = self.parent[body]
            found.append(body)
        return found

    @functools.cached_property
    def at(self) -> dict[int, int]:
        """Return the body of each coordinate."""
        return {start + k: i for i, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True))
                for k in range(size)}  # fmt: skip

    def joints_of(self, tie: Tie) -> list[int]:
        """Return the bodies of the joints that a constraint acts on by their coordinates."""
        return [self.at[iv] for iv in (tie.iv_a, tie.iv_b) if iv in self.at]

    def moved_by(self, tie: Tie) -> list[int]:
        """Return the bodies that a constraint acts on."""
        return [i for i in (tie.body_a, tie.body_b) if i >= 0] + self.joints_of(tie)

    def coordinates(self, first: int, end: int) -> tuple[int, int]:
        """Return the first coordinate, and the one behind the last, of the bodies from ``first`` to ``end``."""
        if first == end:
            return 0, 0
        return min(self.starts[first:end]), max(self.starts[i] + self.sizes[i] for i in range(first, end))


# ---- gears -----------------------------------------------------------------------------------------------------
#
# Joints that gears tie together move at one rate, as the recursion of forward dynamics takes them. They are a train,
# open from its joints on; it closes at the body on which the paths of all of them meet.


#: A gear as the joints that it ties, each with its factor.
Gear = Sequence[tuple[int, float]]


class Trains(NamedTuple):
    """Trains of gears, in arrays; integers are int32.

    Attributes
    ----------
    close : (nbody + 2,) array
        The first train that closes at a body, and at the world; last bodies first.
    first : (nbody + 1,) array
        The first share of a body.
    own : (nbody,) array
        The share of the body's own train, or -1.
    stop : (n,) array
        Bodies that have shares or closing trains, leaves first.
    shares : (m, 2) array
        Body after body: the train, and the share that takes it at the parent, or behind all shares where it closes.
    factors : (m,) array of float
        The rate of the body's joint over the train's, or 0: the joint is none of the train's.
    gears : (rows, 3) array
        Gears of which each is the only one that its joint has left, one after the other: the constraint, the coordinate
        of the joint, that of the other joint.
    ratios : (rows, 2) array of float
        One over the factor of the joint, and the factor of the other.
    """

    close: np.ndarray
    first: np.ndarray
    own: np.ndarray
    stop: np.ndarray
    shares: np.ndarray
    factors: np.ndarray
    gears: np.ndarray
    ratios: np.ndarray


def sorted_gears(
    gears: Sequence[Gear],
) -> tuple[list[dict[int, float]], list[tuple[int, int, int, float, float]]] | None:
    """Sort gears ((joint, factor), ...) to trains, or return None where a train has not one rate.

    Returns the trains, a dict (joint: rate) each, and gears (number, joint, other, factor, other factor), of which each
    is the only one that its joint has left.
    """
    at: dict[int, list[int]] = {}
    for k, joints in enumerate(gears):
        if len({joint for joint, _ in joints}) != 2 or not all(factor for _, factor in joints):
            return None
        for joint, _ in joints:
            at.setdefault(joint, []).append(k)
    trains: list[dict[int, float]] = []
    order: list[tuple[int, int, int, float, float]] = []
    seen: set[int] = set()
    for start in at:
        if start in seen:
            continue
        rates, reached = {start: 1.0}, [start]
        found: list[tuple[int, int, int, float, float]] = []
        for joint in reached:
            for k in at[joint]:
                (a, fa), (b, fb) = gears[k] if gears[k][0][0] == joint else gears[k][::-1]
                if b in rates:
                    if all(k != known[0] for known in found):
                        return None
                    continue
                rates[b] = -fa / fb * rates[a]
                found.append((k, b, a, fb, fa))
                reached.append(b)
        seen.update(reached)
        trains.append(rates)
        order += found[::-1]
    return trains, order


def trains_of(bodies: Bodies, ties: Sequence[Tie]) -> Trains | None:
    """Return the trains of gears; None where accelerations cannot eliminate them.

    They can where there are no circles of gears, no prescribed joints in trains, and on their ways joints of one
    coordinate only.
    """
    at, count = bodies.at, len(bodies.parent)
    pairs = [((tie.iv_a, tie.factor_a), (tie.iv_b, tie.factor_b)) for tie in ties]
    found = sorted_gears([[(at[iv], factor) for iv, factor in pair if iv >= 0] for pair in pairs])
    if found is None:
        return None
    trains, order = found
    closing: list[list[int]] = [[] for _ in range(count + 1)]
    passing: list[dict[int, float]] = [{} for _ in range(count)]
    for train, rates in enumerate(trains):
        paths = [bodies.path(i) for i in rates]
        top = max(set(paths[0][1:]).intersection(*(path[1:] for path in paths)))
        for path in paths:
            for i in path[: path.index(top)]:
                if bodies.sizes[i] > 1 or (bodies.locked[i] and i in rates):
                    return None
                passing[i][train] = rates.get(i, 0.0)
        closing[count - 1 - top].append(train)
    rank = {train: k for k, train in enumerate(train for ends in closing for train in ends)}
    place: dict[tuple[int, int], int] = {}
    total, shares, factors, first, own = sum(map(len, passing)), [], [], [], []
    for i in range(count):
        first.append(len(place))
        own.append(-1)
        for train in sorted(passing[i], key=lambda train: rank[train]):
            place[i, train] = len(place)
            shares.append((rank[train], place.get((bodies.parent[i], train), total + rank[train])))
            factors.append(passing[i][train])
            if passing[i][train]:
                own[-1] = place[i, train]
    stop = [i for i in reversed(range(count)) if passing[i] or closing[count - 1 - i]]
    return Trains(
        _ints(np.cumsum([0, *map(len, closing)])), _ints([*first, len(place)]), _ints(own), _ints(stop),
        _ints(shares).reshape(-1, 2), np.array(factors, float),
        _ints([(gear, bodies.starts[a], bodies.starts[b]) for gear, a, b, _, _ in order]).reshape(-1, 3),
        np.array([(1.0 / factor, other) for _, _, _, factor, other in order], float).reshape(-1, 2),
    )  # fmt: skip


def own_coordinates(bodies: Bodies, ties: Sequence[Tie]) -> np.ndarray | None:
    """Return of each gear a coordinate that no other gear has, with a factor of 1 or -1; None if one has none."""
    sharing: dict[int, int] = {}
    for tie in ties:
        for iv in {tie.iv_a, tie.iv_b} - {-1}:
            sharing[iv] = sharing.get(iv, 0) + 1
    sharing.update({start: 2 for start, locked in zip(bodies.starts, bodies.locked, strict=True) if locked})
    own = []
    for tie in ties:
        alone = [iv for iv, factor in ((tie.iv_a, tie.factor_a), (tie.iv_b, tie.factor_b))
                 if sharing.get(iv) == 1 and abs(factor) == 1.0]  # fmt: skip
        if not alone:
            return None
        own.append(alone[0])
    return _ints(own)


def _ints(rows: ArrayLike) -> np.ndarray:
    return np.array(rows, np.int32)


# ---- fronts: the order in which the joints and constraints of an island are eliminated -------------------------
#
# Frontal elimination (Irons 1970, Duff & Reid 1983) keeps few of them open at a time. Constraints that share joints
# make a region; its bodies are eliminated from the leaves, after all that hangs on them. A constraint opens with the
# first joint that it depends on, and closes as soon as its pivot is safe, at the latest behind the region's last joint.


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


# ---- plans -----------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """How constraints are solved for.

    Attributes
    ----------
    islands : (k, 6) array of int32
        Of each island the first body and the one behind the last, its coordinates likewise, and its part of
        ``members``.
    members : (rows,) array of int32
        The constraints, island by island.
    of : (rows,) array of int32
        The island of each constraint.
    ranges : (m, 2) array of int32
        The bodies that are in no island with fronts: the first, and the one behind the last.
    fronts : tuple
        Of each island :class:`Fronts`, or None: it is solved with its dense matrix.
    linear : bool
        There are constraints, and all of them are gears.
    trains : Trains or None
        Where accelerations eliminate the gears.
    own : (rows,) array of int32, or None
        Of each gear a coordinate that no other has, if there are such.
    """

    islands: np.ndarray
    members: np.ndarray
    of: np.ndarray
    ranges: np.ndarray
    fronts: tuple[Fronts | None, ...]
    linear: bool
    trains: Trains | None
    own: np.ndarray | None


def bodies_of(flat: Flat, iv: np.ndarray) -> Bodies:
    """Return what plans take of the bodies of a mechanism, whose joints' coordinates start at ``iv`` (nbody,)."""
    return Bodies(
        tuple(flat.parent.tolist()), tuple(iv.tolist()), tuple(KIND_NV[flat.kind].tolist()),
        tuple(bool(flat.kinematic[k]) for k in iv.tolist()),
    )  # fmt: skip


def plan_of(bodies: Bodies, ties: Sequence[Tie], whole: bool = False, worth: FrontRule = cheaper) -> Plan:
    """Return how constraints are solved for.

    Parameters
    ----------
    bodies : Bodies
    ties : sequence of Tie
        What the constraints act on.
    whole : bool
        Whether one island has all bodies and constraints, solved with its dense matrix.
    worth : callable
        ``worth(ties, bodies)`` and ``worth(ties, bodies, order)`` say of an island with so many bodies whether an order
        is looked for, and whether it costs less than the dense matrix.
    """
    root = bodies.roots()
    joined = one_island(len(ties)) if whole else separate_islands(
        [None if tie.kind == USER else [root[i] for i in bodies.moved_by(tie)] for tie in ties])  # fmt: skip
    rows: list[tuple[int, ...]] = []
    members: list[int] = []
    fronts: list[Fronts | None] = []
    of = np.zeros(len(ties), np.int32)
    for k, (roots, own) in enumerate(joined):
        first, end = span_of(root, set(root) if roots is None else roots)
        v, v_end = bodies.coordinates(first, end)
        rows.append((first, end, v, v_end, len(members), len(members) + len(own)))
        members += own
        of[list(own)] = k
        order = None if whole else front_order(bodies, [ties[i] for i in own], first, end, worth)
        fronts.append(None if order is None else order.fronts())
    linear = bool(ties) and all(tie.kind == COUPLING for tie in ties)
    plain = linear and not any(fronts)
    apart = [row[:2] for row, front in zip(rows, fronts, strict=True) if front is not None]
    return Plan(
        int_rows(rows, 6), int_rows(members), of, int_rows(ranges_between(apart, len(root)), 2), tuple(fronts), linear,
        trains_of(bodies, ties) if plain else None, own_coordinates(bodies, ties) if plain else None,
    )  # fmt: skip


def front_order(bodies: Bodies, ties: Sequence[Tie], first: int, end: int, worth: FrontRule) -> FrontOrder | None:
    """Return the order in which an island of the bodies from ``first`` to ``end`` is eliminated.

    None where its constraints are better solved for with the dense matrix: those written in Python, and those that act
    on a joint of several coordinates.
    """
    if not worth(ties, end - first) or any(tie.kind == USER for tie in ties):
        return None
    held = [(tie.ends, bodies.joints_of(tie)) for tie in ties]
    if any(bodies.sizes[i] > 1 for _, joints in held for i in joints):
        return None
    coordinates = [0 if locked else size for size, locked in zip(bodies.sizes, bodies.locked, strict=True)]
    order = FrontOrder(bodies.parent, coordinates, held, first, end)
    return order if order.events and worth(ties, end - first, order) else None


def ranges_between(spans: Iterable[tuple[int, ...]], count: int) -> list[tuple[int, int]]:
    """Return the ranges of ``count`` bodies that lie between spans (first, end)."""
    found, body = [], 0
    for start, end in sorted([*spans, (count, count)]):
        if start > body:
            found.append((body, start))
        body = end
    return found


def span_of(root: Sequence[int], roots: Collection[int]) -> tuple[int, int]:
    """Return the first body and the one behind the last of whole trees, with those that lie between them."""
    while roots:
        bodies = [i for i, own in enumerate(root) if own in roots]
        first, end = min(bodies), max(bodies) + 1
        wider = set(root[first:end])
        if wider == roots:
            return first, end
        roots = wider
    return 0, 0


Islands = Sequence[tuple[set[int] | None, Sequence[int]]]


def one_island(rows: int) -> Islands:
    """Return one island of all bodies and rows, if there are rows."""
    return [(None, range(rows))] if rows else []


def separate_islands(roots_of: Sequence[Collection[int] | None]) -> Islands:
    """Return islands (roots, rows) of rows that tie some roots each; a row with None ties all of them."""
    if any(roots is None for roots in roots_of):
        return one_island(len(roots_of))
    islands: list[tuple[set[int], list[int]]] = []
    for row, roots in enumerate(roots_of):
        touched = [island for island in islands if not island[0].isdisjoint(roots or ())]
        islands = [island for island in islands if island[0].isdisjoint(roots or ())]
        islands.append((set(roots or ()).union(*(island[0] for island in touched)),
                        sorted([row, *(k for island in touched for k in island[1])])))  # fmt: skip
    return sorted(islands, key=lambda island: island[1])


def int_rows(rows: Sequence[int] | Sequence[Sequence[int]], width: int | None = None) -> np.ndarray:
    """Return numbers (n,), or rows (n, width) of them, as the core takes them."""
    return np.array(rows, np.int32).reshape(-1) if width is None else np.array(rows, np.int32).reshape(-1, width)
