"""Wheels that do not slip, and joints with dry friction: as arrays, as the core takes them, and where runs start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree.errors import InputError, ModelError
from vitree.geometry.distances import FLAT, rim_levers
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index
from vitree.model.broadcasting import in_coordinates
from vitree.spatial.checks import frozen

core = scalar()
#: Codes of ``_core/types.pxd``.
_ROLLS, _RUBS = 6, 7
#: How far a wheel that holds its distance may be from its plane where a run starts [m].
OFF = 1e-9
#: Speed of slip that is none where a run starts, as a share of the speeds.
SLIP = 1e-8


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


def rolling_rows(found: Wheels) -> list[dict]:
    """Return what rolls as the core takes it."""
    return [
        {"kind": _ROLLS, "dim": int(found.holds[k].sum()), "holds": found.holds[k].astype(int),
         "body_a": found.body[k], "point_a": found.center[k], "radius_a": found.radius[k], "axis_a": found.axis[k],
         "normal": found.plane[k, :3], "offset": found.plane[k, 3]}
        for k in range(len(found))
    ]  # fmt: skip


def friction_rows(flat: Flat) -> list[dict]:
    """Return the dry friction of joints as the core takes it."""
    starts = Index(flat)
    places = dict(zip(starts.iv.tolist(), starts.iq.tolist(), strict=True))
    return [{"kind": _RUBS, "dim": 1, "iq": places[iv], "iv": iv, "friction": flat.dry_friction[iv]}
            for iv in np.flatnonzero((flat.dry_friction > 0) & ~flat.kinematic).tolist()]  # fmt: skip


def rims(found: Wheels, which: np.ndarray, poses: np.ndarray) -> tuple:
    """Return gaps (n,) [m], normals, the nearest points and those of the planes (n, 3) of wheels at poses (n, 3, 4)."""
    R, n = poses[:, :, :3], found.plane[which, :3]
    c = np.einsum("nij,nj->ni", R, found.center[which]) + poses[:, :, 3]
    x = c + rim_levers(n, np.einsum("nij,nj->ni", R, found.axis[which]), found.radius[which])
    gap = (x * n).sum(axis=1) - found.plane[which, 3]
    return gap, n, x, x - gap[:, None] * n


@in_coordinates("plain", "plain", "force")
def rows_of(model: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the wheels (m,), the directions (m, 3) and the rows (m, nv) that v must satisfy at q (nq,): rows v = 0."""
    found: Wheels = model.wheels
    poses = model._pose_rows(q[None])[0][found.body].reshape(-1, 3, 4)
    _, n, x, _ = rims(found, np.arange(len(found)), poses)
    which, ways, rows = [], [], []
    for k in range(len(found)):
        R = poses[k, :, :3]
        arm = R.T @ (x[k] - poses[k, :, 3])
        J = np.empty((1, 6 * model.nv))
        core.batch_jacobian(model.core, np.ascontiguousarray(q[None]), int(found.body[k]), arm, J)
        for way, held in zip(_ways(n[k], R @ found.axis[k]), found.holds[k], strict=True):
            if held:
                which.append(k)
                ways.append(way)
                rows.append(way @ J.reshape(6, model.nv)[3:])
    return np.array(which, int), np.array(ways).reshape(-1, 3), np.array(rows).reshape(-1, model.nv)


def _ways(n: np.ndarray, axle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The normal, the way of a wheel and its axle on the plane."""
    across = axle - (n @ axle) * n
    if np.linalg.norm(across) < FLAT:
        one = np.eye(3)[0 if abs(n[0]) < 0.9 else 1]
        along = one - (n @ one) * n
        along /= np.linalg.norm(along)
        return n, along, np.cross(n, along)
    across = across / np.linalg.norm(across)
    return n, np.cross(across, n), across


def without_slip(model: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocity (nv,) [m/s or rad/s] nearest to v, in kinetic energy, with which wheels do not slip."""
    *_, rows = rows_of(model, q)
    if model.constraints:
        rows = np.vstack([rows, model._constraint_rows(q[None])[1][0]])
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    M = model._mass_matrices(q[None])[0]
    Y = np.linalg.solve(M[np.ix_(free, free)], rows[:, free].T)
    out = np.array(v, dtype=float)
    for _ in range(2):
        out[free] -= Y @ (np.linalg.pinv(rows[:, free] @ Y, rcond=1e-12, hermitian=True) @ (rows @ out))
    return out


def require_rolling(model: Any, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise an InputError if a wheel that holds its distance is off its plane at q (nq,), or slips with v (nv,)."""
    found: Wheels = model.wheels
    if not len(found):
        return
    poses = model._pose_rows(q[None])[0][found.body].reshape(-1, 3, 4)
    gap, *_ = rims(found, np.arange(len(found)), poses)
    names = [each.frame for each in model.rolling]
    off = np.where(found.holds[:, 0], np.abs(gap), 0.0)
    if off.max() > OFF:
        k = int(off.argmax())
        raise InputError(
            f'"{names[k]}" is {gap[k]:.3g} m from the plane on which it rolls, at the start; set it on the plane '
            "(its rim is a wheel's nearest point), or leave normal=True out"
        )
    if v is None:
        return
    which, _, rows = rows_of(model, q)
    slip = np.abs(rows @ v)
    if slip.max(initial=0.0) > SLIP * max(float(np.abs(rows * v).max()), 1e-300):
        k = int(slip.argmax())
        raise InputError(
            f'"{names[which[k]]}" slips by {slip[k]:.3g} m/s at the start, and it rolls; start with '
            "model.project_velocity(q, v), the nearest velocity with which nothing slips"
        )


def refuse_rolling(model: Any, what: str) -> None:
    """Raise a ModelError if wheels roll that a function does not know."""
    if model.rolling:
        raise ModelError(f'{what} does not support wheels that roll without slip, which "{model.name}" has')
