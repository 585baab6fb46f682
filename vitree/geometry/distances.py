"""Gaps between round solids: closest points of segments, of a point and a box, and of a disk and a plane."""

from __future__ import annotations

import numpy as np

#: Squared sine below which segments are parallel, and touch at two places.
PARALLEL = 1e-12
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
    free = across > PARALLEL * uu * vv
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


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1)


def _share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, zero where b is zero."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


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
    return -(radius / size)[:, None] * p
