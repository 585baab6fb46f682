"""Plans: how a mechanism's constraints are solved for, in arrays, which depend on no number that a state has.

Islands are sets of bodies that constraints tie together, apart from all others. Each island's multipliers are solved
for by themselves, in the range of bodies and of coordinates that the island spans. A large island is solved by fronts
(fronts.py), gears within the recursion of forward dynamics (gears.py). A plan is made once a model: of its topology and
of what its constraints act on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vitree.mechanism.flat import KIND_NV, Flat
from vitree.mechanism.fronts import FrontOrder, FrontRule, Fronts, cheaper
from vitree.mechanism.gears import Trains, own_coordinates, trains_of
from vitree.mechanism.ties import COUPLING, USER, Bodies, Tie


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
