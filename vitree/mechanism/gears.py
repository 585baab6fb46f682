"""Gears: joints that they tie together move at one rate, as the recursion of forward dynamics takes them.

Such joints are a train. A train is open from its joints on, and closes at the body on which the paths of all of them
meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.mechanism.ties import Bodies, Tie

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
