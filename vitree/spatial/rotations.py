"""Rotations as matrices and quaternions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from vitree.arguments import as_numbers
from vitree.errors import ModelError

#: A rotation matrix or a unit vector may be off by this much; it is then made exact.
UNIT_TOLERANCE = 1e-6
_IDENTITY = np.eye(3)


def proper_rotation(value: object, what: str) -> np.ndarray:
    """Return the rotation (3, 3) nearest to a matrix that is one up to rounding."""
    try:
        R = as_numbers(value).copy()
    except TypeError as error:
        raise ModelError(f"the rotation of {what} has {error}; give a rotation matrix (3, 3)") from None
    if (
        R.shape != (3, 3)
        or not np.abs(R).max() < 2
        or np.abs(R @ R.T - np.eye(3)).max() > UNIT_TOLERANCE
        or np.linalg.det(R) < 0
    ):
        raise ModelError(f"the rotation of {what} is not a rotation matrix (3, 3)")
    U, _, Vt = np.linalg.svd(R)
    return R if np.abs(R @ R.T - np.eye(3)).max() < 1e-15 else U @ Vt


def hat(w: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) of the cross product with vectors (..., 3)."""
    if w.ndim == 1:
        x, y, z = w.tolist()
        return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], w.dtype)
    M = np.zeros((*w.shape, 3), w.dtype)
    x, y, z = np.moveaxis(w, -1, 0)
    M[..., 2, 1], M[..., 0, 2], M[..., 1, 0] = x, y, z
    M[..., 1, 2], M[..., 2, 0], M[..., 0, 1] = -x, -y, -z
    return M


#: Places of the entries of vectors in a cross product.
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products (..., 3) of vectors (..., 3); NumPy's own takes longer for few."""
    found: np.ndarray = a.take(_NEXT, -1) * b.take(_AFTER, -1) - a.take(_AFTER, -1) * b.take(_NEXT, -1)
    return found


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about a unit axis (Rodrigues)."""
    K = hat(np.asarray(axis, dtype=float))
    s, c = _sine_and_cosine(angle)
    found: np.ndarray = np.eye(3) + s * K + (1 - c) * K @ K
    return found


def rotation_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return Rz(yaw) Ry(pitch) Rx(roll)."""
    turns = [_about_axis(k, angle) for k, angle in ((2, yaw), (1, pitch), (0, roll)) if angle]
    return functools.reduce(np.dot, turns) if turns else _IDENTITY.copy()


def angles_rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a rotation (3, 3), to rounding also near a pitch of 90 degrees."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw


def _about_axis(k: int, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about a coordinate axis, as :func:`rotation_about` does."""
    s, c = _sine_and_cosine(angle)
    c, minus = 1 - (1 - c), 0.0 - s
    if k == 2:
        return np.array([[c, minus, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    if k == 1:
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [minus, 0.0, c]])
    return np.array([[1.0, 0.0, 0.0], [0.0, c, minus], [0.0, s, c]])


def _sine_and_cosine(angle: float) -> list[float]:
    """Return both, exact at quarter turns, where those of a rounded angle are not quite 0 or 1."""
    return [0.0 if abs(f) < 1e-15 else float(f) for f in (np.sin(angle), np.cos(angle))]


def turn_z_to(axis: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the least rotation (3, 3) that takes z to a unit axis; exact for coordinate axes."""
    x, y, c = axis
    if x == 0 and y == 0:
        return np.array([[1.0, 0.0, 0.0], [0.0, c, 0.0], [0.0, 0.0, c]])
    s = np.hypot(x, y)
    u, w = x / s, y / s  # z x axis is (-w, u, 0) s
    return np.array([[c + (1 - c) * w * w, (c - 1) * u * w, x], [(c - 1) * u * w, c + (1 - c) * u * u, y], [-x, -y, c]])


def rotate(turn: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rotate vectors (..., 3) by quaternions (..., 4)."""
    u, w = turn[..., :3], turn[..., 3:]
    c = 2 * cross(u, x)
    found: np.ndarray = x + w * c + cross(u, c)
    return found


def quaternion_rate(turn: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the rate (4,) of a quaternion (x, y, z, w) that turns at a body angular velocity (3,)."""
    u, w = turn[:3], turn[3]
    return 0.5 * np.append(w * omega + np.cross(u, omega), -u @ omega)
