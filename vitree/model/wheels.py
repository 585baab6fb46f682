"""Wheels that do not slip, and joints with dry friction: as arrays, and as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree.errors import ModelError
from vitree.geometry.distances import rim_levers
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index
from vitree.spatial.checks import frozen

core = scalar()
#: Codes of ``_core/types.pxd``.
_ROLLS, _RUBS = 6, 7


#: What the core takes of a load, constraint or contact: numbers by name.
CoreRow = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Wheels:
    """What rolls, in arrays; rows as in ``flat.rolling``.

    Attributes
    ----------
    body : (n,) array of int32
        Rows of the core.
    center : (n, 3) array [m]
        In core frames.
    axis : (n, 3) array
        Axles in core frames; zero of a ball.
    radius : (n,) array [m]
    plane : (n, 4) array
        Unit normal, and n . x [m].
    holds : (n, 3) bool array
        Along the normal, along, across.
    """

    body: np.ndarray
    center: np.ndarray
    axis: np.ndarray
    radius: np.ndarray
    plane: np.ndarray
    holds: np.ndarray

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, frozen(value))

    def __len__(self) -> int:
        return len(self.body)


def wheels_of(index: Index, flat: Flat) -> Wheels:
    """Return what rolls in a mechanism.

    Raises
    ------
    UnknownNameError
        If a frame is not known.
    ModelError
        If a frame does not move, or a wheel is to roll on a terrain.
    """
    count = len(flat.rolling)
    body, center, axis = np.zeros(count, np.int32), np.zeros((count, 3)), np.zeros((count, 3))
    plane = np.zeros((count, 4))
    for k, each in enumerate(flat.rolling):
        body[k], E, p = index.place(each.frame)
        if body[k] < 0:
            raise ModelError(f'the {each.name} does not move: "{each.frame}" is fixed to the world')
        center[k] = p + E @ np.array(each.center)
        if each.axis is not None:
            axis[k] = E @ np.array(each.axis)
        if each.plane is not None:
            plane[k] = *each.plane[0], each.plane[1]
        elif flat.ground is None:
            plane[k] = 0.0, 0.0, 1.0, 0.0
        elif flat.ground.terrain is not None:
            raise ModelError(f"the {each.name} is on a terrain; wheels that do not slip roll on planes: give plane=")
        else:
            plane[k] = flat.ground.half_spaces[0]
    radius = np.array([each.radius for each in flat.rolling], float)
    holds = np.array([each.holds for each in flat.rolling], bool).reshape(-1, 3)
    return Wheels(body, center, axis, radius, plane, holds)


def rolling_rows(found: Wheels) -> list[CoreRow]:
    """Return what rolls as the core takes it."""
    return [
        {"kind": _ROLLS, "dim": int(found.holds[k].sum()), "holds": found.holds[k].astype(int),
         "body_a": found.body[k], "point_a": found.center[k], "radius_a": found.radius[k], "axis_a": found.axis[k],
         "normal": found.plane[k, :3], "offset": found.plane[k, 3]}
        for k in range(len(found))
    ]  # fmt: skip


def friction_rows(flat: Flat) -> list[CoreRow]:
    """Return the dry friction of joints as the core takes it."""
    starts = Index(flat)
    places = dict(zip(starts.iv.tolist(), starts.iq.tolist(), strict=True))
    return [{"kind": _RUBS, "dim": 1, "iq": places[iv], "iv": iv, "friction": flat.dry_friction[iv]}
            for iv in np.flatnonzero((flat.dry_friction > 0) & ~flat.kinematic).tolist()]  # fmt: skip


def rims(
    found: Wheels, which: np.ndarray, poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps (n,) [m], normals, the nearest points and those of the planes (n, 3) of wheels at poses (n, 3, 4)."""
    R, n = poses[:, :, :3], found.plane[which, :3]
    c = np.einsum("nij,nj->ni", R, found.center[which]) + poses[:, :, 3]
    x = c + rim_levers(n, np.einsum("nij,nj->ni", R, found.axis[which]), found.radius[which])
    gap = (x * n).sum(axis=1) - found.plane[which, 3]
    return gap, n, x, x - gap[:, None] * n
