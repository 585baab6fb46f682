"""Wheels that do not slip at a state: the rows that a velocity satisfies, and where runs may start."""

from __future__ import annotations

import numpy as np

from vitree._core import scalar
from vitree.errors import InputError, ModelError
from vitree.geometry.distances import FLAT
from vitree.model.broadcasting import in_coordinates
from vitree.model.dynamics import DynamicsMethods
from vitree.model.wheels import Wheels, rims

core = scalar()
#: How far a wheel that holds its distance may be from its plane where a run starts [m].
OFF = 1e-9
#: Speed of slip that is none where a run starts, as a share of the speeds.
SLIP = 1e-8


@in_coordinates("plain", "plain", "force")
def rows_of(model: DynamicsMethods, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def without_slip(model: DynamicsMethods, q: np.ndarray, v: np.ndarray) -> np.ndarray:
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


def require_rolling(model: DynamicsMethods, q: np.ndarray, v: np.ndarray | None) -> None:
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


def refuse_rolling(model: DynamicsMethods, what: str) -> None:
    """Raise a ModelError if wheels roll that a function does not know."""
    if model.rolling:
        raise ModelError(f'{what} does not support wheels that roll without slip, which "{model.name}" has')
