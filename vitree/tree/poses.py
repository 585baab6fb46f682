"""Poses as people give them, and grounds at a pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, shown
from vitree.errors import InputError, ModelError
from vitree.geometry.terrain import HeightField
from vitree.mechanism.contacts import Ground
from vitree.spatial.rotations import UNIT_TOLERANCE, proper_rotation
from vitree.tree.elements import Fixed
from vitree.tree.frames import Frame

#: Where a tree is attached: a frame, its name, or a pose in the world.
At = Frame | str | Fixed | ArrayLike
_POSE = ("a frame of the tree or its name, vt.fixed(xyz=, rpy=), or a pose in the world: (x, y, z), "
         "(x, y, z, qx, qy, qz, qw) or a matrix (4, 4)")  # fmt: skip


def pose_of(at: object) -> np.ndarray:
    """Return a pose as people give it as a matrix (4, 4) [m].

    Raises an InputError if it is none, and a ModelError if its matrix is not a rotation.
    """
    if isinstance(at, Fixed):
        return _matrix(np.eye(3) if at.rotation is None else at.rotation, at.position)
    try:
        x = as_numbers(at)
    except TypeError:
        x = np.zeros(0)
    if not np.isfinite(x).all() or x.shape not in ((3,), (7,), (4, 4)):
        raise InputError("at", at, f"is {shown(at)}; it must be {_POSE}")
    if x.shape == (4, 4):
        if np.abs(x[3] - (0, 0, 0, 1)).max() > UNIT_TOLERANCE:
            raise InputError("at", at, "is no pose: the last row of the matrix must be (0, 0, 0, 1)")
        return _matrix(proper_rotation(x[:3, :3], "at"), x[:3, 3])
    if len(x) == 7:
        from vitree.lie import matrix_from_pose

        return matrix_from_pose(x)
    return _matrix(np.eye(3), x)


def coordinates_of(X: np.ndarray) -> tuple[float, ...]:
    """Return position [m] and quaternion (x, y, z, w) of a pose (4, 4), as a free joint has them."""
    from vitree.lie import pose_from_matrix

    return tuple(pose_from_matrix(X).tolist())


def _matrix(R: ArrayLike, p: ArrayLike) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def is_moved(X: np.ndarray) -> bool:
    """Whether a pose is not the identity."""
    return not np.array_equal(X, np.eye(4))


def moved_ground(ground: Ground, at: np.ndarray, name: str) -> Ground:
    """A ground at a pose (4, 4) in the world."""
    if not is_moved(at):
        return ground
    R, p = at[:3, :3], at[:3, 3]

    def plane(normal: Sequence[float], height: float) -> tuple[tuple[float, float, float], float]:
        n = R @ np.array(normal, dtype=float)
        return cast("tuple[float, float, float]", tuple(n.tolist())), float(height + n @ p)

    planes = tuple(plane(*each) for each in ground.planes)
    if ground.terrain is None:
        normal, height = plane(ground.normal, ground.height)
        return replace(ground, normal=normal, height=height, planes=planes)
    if not np.array_equal(R, np.eye(3)):
        raise ModelError(f'the terrain of "{name}" is a height field, which cannot be turned; attach the tree without '
                         "a rotation")  # fmt: skip
    field = ground.terrain
    x, y, z = (np.array(field.origin) + p).tolist()
    return replace(ground, planes=planes, terrain=replace(field, origin=(x, y, z)))


def same_ground(one: Ground, other: Ground) -> bool:
    """Whether two grounds are alike, planes to round-off."""
    a, b = (np.array(ground.half_spaces, dtype=float).reshape(-1, 4) for ground in (one, other))
    surface = ("friction", "restitution", "stiffness", "damping", "softness")
    if any(getattr(one, name) != getattr(other, name) for name in surface) or a.shape != b.shape:
        return False
    return _same_terrain(one.terrain, other.terrain) and bool(np.abs(a - b).max(initial=0.0) <= 1e-12)


def _same_terrain(one: HeightField | None, other: HeightField | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("heights", "spacing", "origin"))
