"""Contacts with nothing to touch, and bodies that pass others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree.geometry.solids import HALF_SPACE, planes_about, points_within
from vitree.mechanism.contacts import Contact, NoContact
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index
from vitree.model.candidates import Candidates


def idle_contacts(index: Index, flat: Flat, found: Candidates) -> tuple[str, ...]:
    """Return the names of contacts that can meet nothing."""
    met = {*found.source.tolist()} if found.grounds else set()
    for row, kind in zip(found.pair.tolist(), found.pair_kind.tolist(), strict=True):
        met |= {int(found.rod_source[row[0]]), int((found.box_source if kind else found.rod_source)[row[1]])}
    met |= {*found.solid_source[found.facing].ravel().tolist()}
    left_out = {name for each in flat.contacts if isinstance(each, NoContact) for name in (each.a, each.b)}
    return tuple(each.name for k, each in enumerate(flat.contacts) if isinstance(each, Contact) and k not in met
                 and not (left_out & {"world", each.frame} and index.place(each.frame)[0] < 0))  # fmt: skip


def idle_text(names: tuple[str, ...]) -> str:
    """Return what is told of contacts that can meet nothing."""
    return (f"contacts without a counterpart: {', '.join(names)}; add a ground, vt.Ground(), or shapes that they touch "
            "(points touch shapes and not each other)")  # fmt: skip


# ---- bodies that pass others in one step ---------------------------------------------------------------------------


def passes(found: Candidates, poses: np.ndarray) -> np.ndarray:
    """Return steps in which a part passes through another, rows of (step, pair), first by step.

    Parameters
    ----------
    found : Candidates
    poses : (n, nbody, 3, 4) array [m]
        Of the core frames at the nodes of n - 1 steps.

    Returns
    -------
    (k, 2) array of int
        Pairs are rows of ``found.pair``, and behind these of ``found.facing``.

    Notes
    -----
    A sphere, the middle and the ends of a capsule, and the middles of other shapes move straight between two nodes,
    seen from the other part. They pass it if they go through it while both nodes are free of it.
    """
    if len(poses) < 2:
        return np.zeros((0, 2), int)
    told = _rods_that_pass(found, poses) + _solids_that_pass(found, poses)
    return np.array(sorted(set(told)), int).reshape(-1, 2)


def sources_of_pair(found: Candidates, pair: int) -> tuple[int, int]:
    """Return rows of ``flat.contacts`` of the two of a pair of :func:`passes`."""
    if pair >= len(found.pair):
        one, other = found.solid_source[found.facing[pair - len(found.pair)]].tolist()
    else:
        i, j = found.pair[pair]
        one, other = found.rod_source[i], (found.box_source if found.pair_kind[pair] else found.rod_source)[j]
    return int(one), int(other)


def _rods_that_pass(found: Candidates, poses: np.ndarray) -> list[tuple[int, int]]:
    """Steps and pairs of a sphere and another one, a capsule or a box that pass each other."""
    told: list[tuple[int, int]] = []
    middles = [_middles(found.rod_body, found.rod_ends.mean(axis=1), poses),
               _middles(found.box_body, found.box_p, poses)]  # fmt: skip
    moves = [np.linalg.norm(np.diff(x, axis=0), axis=2) for x in middles]
    for k, (i, j) in enumerate(found.pair.tolist()):
        box = bool(found.pair_kind[k])
        radius = float(found.rod_radius[i])
        thick = 2.0 * radius + (2.0 * float(found.box_half[j].min()) if box else 2.0 * float(found.rod_radius[j]))
        fast = np.flatnonzero(moves[0][:, i] + moves[1 if box else 0][:, j] > thick)
        if not len(fast):
            continue
        ends = [poses[fast], poses[fast + 1]]
        for at in _places(found, i):
            x = [_world(found.rod_body[i], at, pose) for pose in ends]
            hits = [_through_box(found, j, x, ends)] if box else [
                _through_ball(found, j, middle, x, ends, radius) for middle in _places(found, j)]  # fmt: skip
            told += [(int(step), k) for hit in hits for step in fast[hit]]
    return told


def _places(found: Candidates, k: int) -> np.ndarray:
    """The middle of a sphere, and the middle and the ends of a capsule, (n, 3) [m]."""
    first, last = found.rod_ends[k]
    return np.array([first]) if (first == last).all() else np.array([first, 0.5 * (first + last), last])


def _solids_that_pass(found: Candidates, poses: np.ndarray) -> list[tuple[int, int]]:
    """Steps and pairs of convex shapes that pass through the other; nothing passes half-spaces."""
    told: list[tuple[int, int]] = []
    used = [k for k in np.unique(found.facing).tolist() if found.solids[k]["kind"] != HALF_SPACE]
    if not used:
        return told
    body = {k: int(found.solids[k]["body"]) for k in used}
    points = {k: points_within(found.solids[k]) for k in used}
    middle = {k: x.mean(axis=0) for k, x in points.items()}
    move = {k: np.linalg.norm(np.diff(_world(body[k], middle[k], poses), axis=0), axis=1) for k in used}
    far = {k: float(x.max()) for k, x in move.items()}
    planes = {k: planes_about(x) for k, x in points.items() if len(x) > 1}  # there is nothing within a point
    # twice the radius of a ball about the middle that is within
    thick = dict.fromkeys(used, 0.0)
    thick |= {k: 2.0 * float((x[:, 3] - x[:, :3] @ middle[k]).min()) for k, x in planes.items()}
    for row, (i, j) in enumerate(found.facing.tolist(), start=len(found.pair)):
        if j not in body or far[i] + far[j] <= thick[i] + thick[j]:
            continue
        fast = np.flatnonzero(move[i] + move[j] > thick[i] + thick[j])
        for one, other in ((i, j), (j, i)):
            if other not in planes:
                continue
            ends = [poses[fast], poses[fast + 1]]
            for x in (middle[one], *(found.solids[one]["x"] if _is_capsule(found.solids[one]) else ())):
                ways = [_seen(body[other], _world(body[one], x, at), at) for at in ends]
                told += [(int(step), row) for step in fast[_through_planes(planes[other], *ways)]]
    return told


def _is_capsule(solid: Mapping[str, Any]) -> bool:
    return bool(solid.get("radius")) and len(solid["x"]) == 2


def _middles(body: np.ndarray, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    return np.stack([_world(one, at, poses) for one, at in zip(body, x, strict=True)], axis=1) if len(body) else (
        np.zeros((len(poses), 0, 3)))  # fmt: skip


def _world(body: int, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """A point (3,) [m] of a body in the world, (n, 3)."""
    if body < 0:
        return np.broadcast_to(x, (len(poses), 3))
    found: np.ndarray = poses[:, body, :, :3] @ x + poses[:, body, :, 3]
    return found


def _seen(body: int, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Points (n, 3) [m] of the world in the core frame of a body."""
    if body < 0:
        return x
    seen: np.ndarray = np.einsum("nji,nj->ni", poses[:, body, :, :3], x - poses[:, body, :, 3])
    return seen


def _through_planes(planes: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether straight ways from a to b (n, 3), both outside, lead through what is below all planes (m, 4)."""
    start, way = planes[:, 3] - a @ planes[:, :3].T, (b - a) @ planes[:, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        share = start / way
    still = np.where(start >= 0.0, -np.inf, np.inf)  # along a plane: below it or never
    first = np.where(way < 0.0, share, np.where(way > 0.0, -np.inf, still)).max(axis=1)
    last = np.where(way > 0.0, share, np.inf).min(axis=1)
    result: np.ndarray = (first < last) & (first > 0.0) & (last < 1.0)
    return result


def _through_box(found: Candidates, j: int, x: list[np.ndarray], poses: list[np.ndarray]) -> np.ndarray:
    """Whether straight ways of balls (n,) from outside to outside of a box lead through it."""
    E, half = found.box_E[j], found.box_half[j]
    normals = np.concatenate([E.T, -E.T])
    planes = np.column_stack([normals, np.tile(half, 2) + normals @ found.box_p[j]])
    return _through_planes(planes, *(_seen(int(found.box_body[j]), *each) for each in zip(x, poses, strict=True)))


def _through_ball(
    found: Candidates, j: int, middle: np.ndarray, x: list[np.ndarray], poses: list[np.ndarray], radius: float
) -> np.ndarray:
    """Whether straight ways of balls (n,) lead by a ball of another round part, about ``middle``, to its other side."""
    a, b = (at - _world(found.rod_body[j], middle, pose) for at, pose in zip(x, poses, strict=True))
    way, reach = b - a, radius + float(found.rod_radius[j])
    share = -np.einsum("ni,ni->n", a, way) / np.maximum(np.einsum("ni,ni->n", way, way), 1e-300)
    nearest = np.linalg.norm(a + share[:, None] * way, axis=1)
    result: np.ndarray = (share > 0.0) & (share < 1.0) & (nearest < 0.5 * reach)
    return result
