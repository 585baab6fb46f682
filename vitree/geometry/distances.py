"""Gaps between round solids: closest points of a point and a segment, of a point and a box, of a disk and a plane."""

from __future__ import annotations

import numpy as np

#: Sine of the angle to the plane below which a disk lies flat.
FLAT = 1e-9


def nearest_on_segments(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the points (n, 3) of segments a b that are nearest to points x, rows of (n, 3) [m]; a if b is a."""
    u = b - a
    found: np.ndarray = a + np.clip(_share(_dot(u, x - a), _dot(u, u)), 0.0, 1.0)[:, None] * u
    return found


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
