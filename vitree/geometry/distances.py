"""Gaps between round solids: closest points of segments, of a point and a box, and of a disk and a plane."""

from __future__ import annotations

import numpy as np

#: Squared sine below which segments are parallel, and touch at two places.
PARALLEL = 1e-12
#: The same, below which the closest points are at an end.
SAME = 1e-14
#: Squared sines of angles: up to which a capsule lies along another one or a face; below which it is parallel to it.
NEARLY, ALONG = 0.01, 1e-24
#: The same, below which a capsule is along an edge, which it does not leave the face over.
EDGEWISE = 1e-4
#: [m] the closest points of what lies along count where they are nearer than those at the ends by more.
LEVEL = 1e-12
#: Sine of the angle to the plane below which a disk lies flat.
FLAT = 1e-9


def closest_on_segments(
    a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the closest points (n, 3) of segments a0 a1 and b0 b1, rows of (n, 3) [m].

    References
    ----------
    Ericson 2005, "Real-time collision detection", section 5.1.9.
    """
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, vv, uv, uw, vw = _dot(u, u), _dot(v, v), _dot(u, v), _dot(u, w), _dot(v, w)
    across = uu * vv - uv * uv
    free = across > SAME * uu * vv
    s = np.where(free, np.clip(_share(uv * vw - uw * vv, np.where(free, across, 0.0)), 0.0, 1.0), 0.0)
    t = _share(uv * s + vw, vv)
    s = np.where((t < 0) | (t > 1) | (vv == 0), np.clip(_share(uv * np.clip(t, 0.0, 1.0) - uw, uu), 0.0, 1.0), s)
    t = np.clip(t, 0.0, 1.0)
    return a0 + s[:, None] * u, b0 + t[:, None] * v


def beside(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray) -> np.ndarray | None:
    """Return where parallel segments run beside each other: the ends (2 ends, 2 segments, 3) [m]; None if they do not.

    Parameters
    ----------
    a0, a1, b0, b1 : (3,) arrays [m]
    """
    u, v = a1 - a0, b1 - b0
    uu, vv = u @ u, v @ v
    if not uu or not vv or uu * vv - (u @ v) ** 2 > PARALLEL * uu * vv:
        return None
    at = np.sort([(b0 - a0) @ u / uu, (b1 - a0) @ u / uu])  # b along a
    first, last = max(0.0, at[0]), min(1.0, at[1])
    if not last > first:
        return None
    ends = [a0 + s * u for s in (first, last)]
    return np.array([(x, b0 + np.clip((x - b0) @ v / vv, 0.0, 1.0) * v) for x in ends])


def nearest_of_box(c: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distances (n,) [m] of points from boxes, normals out of the boxes (n, 3), and nearest points (n, 3) [m].

    Parameters
    ----------
    c : (n, 3) array [m]
        In the axes of the boxes, from their middles.
    half : (n, 3) array [m]
        Half their edges. Of a point inside the distance is negative, and its nearest point is on the nearest face.
    """
    y = np.clip(c, -half, half)
    away = np.linalg.norm(c - y, axis=1)
    outside = away > 0
    n = (c - y) / np.where(outside, away, 1.0)[:, None]
    rows = np.flatnonzero(~outside)
    depth = half[rows] - np.abs(c[rows])
    face = depth.argmin(axis=1) if len(rows) else np.zeros(0, dtype=int)
    sign = np.where(c[rows, face] < 0, -1.0, 1.0)
    n[rows, face] = sign
    y[rows, face] = sign * half[rows, face]
    away[rows] = -depth[np.arange(len(rows)), face]
    return away, n, y


def ends_beside(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return places (x, y) on two segments, (n, 3) [m] each: an end of one, and what is nearest to it on the other.

    They are four, at a0, a1, b0 and b1.
    """
    u, v = a1 - a0, b1 - b0
    on_b = [b0 + np.clip(_share(_dot(v, x - b0), _dot(v, v)), 0.0, 1.0)[:, None] * v for x in (a0, a1)]
    on_a = [a0 + np.clip(_share(_dot(u, y - a0), _dot(u, u)), 0.0, 1.0)[:, None] * u for y in (b0, b1)]
    return [(a0, on_b[0]), (a1, on_b[1]), (on_a[0], b0), (on_a[1], b1)]


def square_sines(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the squared sines (n,) of the angles between vectors (n, 3), zero of a vector zero."""
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    return _share(uu * vv - uv * uv, uu * vv)


def raised(square: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return by how much a gap at an end is too large (n,) [m]: beyond ``NEARLY`` the closest points alone count.

    Parameters
    ----------
    square : (n,) array
        Squared sine of the angle.
    reach : (n,) array [m]
        Of the capsules about the segments.
    """
    return reach * np.maximum(square - NEARLY, 0.0)


def spared(least: np.ndarray, ends: np.ndarray, square: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return by how much the gap of the closest points is too large (n,) [m] where those at the ends stand for it.

    Along a parallel one the closest point jumps from end to end.

    Parameters
    ----------
    least, ends : (n,) arrays [m]
        The gap of the closest points, and the lesser one at the ends.
    square, reach : (n,) arrays
        As for :func:`raised`.
    """
    return np.where(ends - least < LEVEL, reach * np.maximum(1.0 - square / NEARLY, 0.0), 0.0)


def nearest_shares(p: np.ndarray, d: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the first s (n,) from 0 to 1 at which points p + s d are nearest to boxes, or deepest in them.

    Parameters
    ----------
    p, d : (n, 3) arrays [m]
        In the axes of the boxes, from their middles.
    half : (n, 3) array [m]
        Half their edges.

    Notes
    -----
    The squared distance is convex, and its derivative is piecewise linear with corners where a coordinate passes a
    face. Within a box the distance is max_k(|c_k| - h_k): convex, too, and least at an end or where two pieces meet.
    """
    rows, whole = np.arange(len(p)), _dot(d, d)
    u = np.where(d * d > ALONG * whole[:, None], d, 0.0)
    size = np.maximum(np.abs(p) + np.abs(d), half).max(axis=1, initial=0.0)
    at = np.concatenate([_share(side * half - p, u) for side in (-1.0, 1.0)], axis=1)
    at = np.sort(np.concatenate([np.zeros((len(p), 1)), np.clip(at, 0.0, 1.0), np.ones((len(p), 1))], axis=1), axis=1)
    c = p[:, None] + at[:, :, None] * u[:, None]
    slope = _dot(u[:, None], c - np.clip(c, -half[:, None], half[:, None]))
    rising = slope >= -1e-15 * (size * np.sqrt(whole))[:, None]
    k = np.where(rising.any(axis=1), rising.argmax(axis=1), at.shape[1] - 1)
    low, high = at[rows, np.maximum(k - 1, 0)], at[rows, k]
    before, after = slope[rows, np.maximum(k - 1, 0)], slope[rows, k]
    inside = (k > 0) & (after > 0) & (before < 0)
    s: np.ndarray = np.where(inside, low - _share(before * (high - low), np.where(inside, after - before, 0.0)), high)

    def depth(s: np.ndarray) -> np.ndarray:
        found: np.ndarray = (np.abs(p + s[:, None] * u) - half).max(axis=1)
        return found

    least = depth(s)
    within = least <= 1e-14 * size
    if within.any():
        tries = [np.zeros(len(p)), np.ones(len(p))]
        for i in range(3):
            for j in range(i, 3):
                for a, b in ((-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)):
                    gap = half[:, i] - a * p[:, i] - half[:, j] + b * p[:, j]
                    tries.append(np.clip(_share(gap, a * u[:, i] - b * u[:, j]), 0.0, 1.0))
        for each in tries:
            value = depth(each)
            better = within & (value < least)
            s, least = np.where(better, each, s), np.where(better, value, least)
    return s


def end_of_box(
    p: np.ndarray, d: np.ndarray, radius: np.ndarray, half: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return where segments p + s d that lie along a face of boxes are held at one end.

    That is their own end, or where they leave the face over an edge, whichever is nearer.

    Parameters
    ----------
    p, d, half : (n, 3) arrays [m]
        As for :func:`nearest_shares`.
    radius : (n,) array [m]
        Of the capsules.
    end : (n,) array
        1: the end at p, 2: at p + d.

    Returns
    -------
    away : (n,) array [m]
        Distances of the places, and more where the segment does not lie along.
    n, x, y : (n, 3) arrays
        Normals, places on the segments and on the boxes [m].
    square : (n,) array
        Squared sine of the angle to the face.
    """
    rows, whole = np.arange(len(p)), _dot(d, d)
    c = p + nearest_shares(p, d, half)[:, None] * d
    face = (np.abs(c) - half).argmax(axis=1)
    side = np.where(c[rows, face] < 0, -1.0, 1.0)
    ahead = np.where(end == 2, 1.0, -1.0)
    x = p + (end == 2)[:, None] * d
    away, n, y = nearest_of_box(x, half)
    for i in np.sort((face[:, None] + [1, 2]) % 3, axis=1).T:
        start, way = -half, 2.0 * half
        start[rows, face], way[rows, face] = side * half[rows, face], 0.0
        start[rows, i], way[rows, i] = np.where(d[rows, i] >= 0, ahead, -ahead) * half[rows, i], 0.0
        a, b = closest_on_segments(p, p + d, start, start + way)
        far = np.linalg.norm(a - b, axis=1)
        normal = (a - b) / np.where(far > 0, far, 1.0)[:, None]
        far = far + radius * np.maximum(EDGEWISE - _share(d[rows, i] ** 2, whole), 0.0) / EDGEWISE
        near = (far < away)[:, None]
        away = np.minimum(far, away)
        n, x, y = np.where(near, normal, n), np.where(near, a, x), np.where(near, b, y)
    square = _share(d[rows, face] ** 2, whole)
    return away + raised(square, radius), n, x, y, square


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = (a * b).sum(axis=-1)
    return found


def _share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, zero where b is zero."""
    found: np.ndarray = np.divide(a, b, out=np.zeros_like(a), where=b != 0)
    return found


def rim_levers(n: np.ndarray, axis: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the vectors (n, 3) [m] from centres of disks or balls to the points nearest to planes below them.

    Parameters
    ----------
    n : (n, 3) array
        Unit normals of the planes.
    axis : (n, 3) array
        Unit axes of the disks; zero of a ball.
    radius : (n,) array [m]
    """
    p = n - (n * axis).sum(axis=1)[:, None] * axis
    size = np.linalg.norm(p, axis=1)
    flat = size < FLAT
    if flat.any():  # any point of the rim is as near
        one = np.where(np.abs(axis[:, :1]) < 0.9, np.eye(3)[0], np.eye(3)[1])
        p = np.where(flat[:, None], one - (one * axis).sum(axis=1)[:, None] * axis, p)
        size = np.linalg.norm(p, axis=1)
    found: np.ndarray = -(radius / size)[:, None] * p
    return found
