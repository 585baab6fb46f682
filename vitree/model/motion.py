"""How frames and bodies move: velocities and accelerations of a state, by the twists of the coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vitree.arguments import shown
from vitree.errors import InputError
from vitree.mechanism.flat import BALL, FREE, HELICAL, KIND_NV, PRISMATIC, Flat
from vitree.mechanism.index import product_of
from vitree.spatial.rotations import cross

if TYPE_CHECKING:
    from vitree.model.mechanism import Mechanism


def require_axes(axes: str) -> None:
    """Raise an InputError unless axes are those of the world or the frame's own."""
    if not isinstance(axes, str) or axes not in ("world", "local"):
        raise InputError("axes", axes, f'is {shown(axes)}; choose "world" or "local"')


def bracket(V: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return the rates (..., 6) of twists U (..., 6) that are fixed to bodies of twists V (..., 6)."""
    w, u = V[..., :3], U[..., :3]
    return np.concatenate((cross(w, u), cross(V[..., 3:], u) + cross(w, U[..., 3:])), axis=-1)


def frame_acceleration(model: Mechanism, name: str, q: np.ndarray, v: np.ndarray, a: np.ndarray, axes: str):
    """Return the derivative of ``frame_jacobian(name, q, axes) @ v`` over time, (6,) [rad/s^2, m/s^2].

    With J_i the columns of joint i in world axes about the frame's origin, and V_i the sum of J_k v_k from the root to
    it, the twist of the frame changes by J a + sum of ad(V_i) J_i v_i. Its linear part is of the point of space, and
    the frame's origin itself has w x u besides.

    References
    ----------
    Featherstone 2008, section 2.11.
    """
    J = model.frame_jacobian(name, q, axes="world")
    flat, starts, path = model.flat, model.index.iv, list[int]()
    at = int(flat.frame_body[model.index.frame(name)])
    while at >= 0:
        path.append(at)
        at = int(flat.parent[at])
    if not path:
        return np.zeros(6)
    counts = KIND_NV[flat.kind[path[::-1]]]
    first = np.cumsum(counts) - counts
    columns = np.repeat(starts[path[::-1]] - first, counts) + np.arange(counts.sum())
    own = np.add.reduceat(J.T[columns] * v[columns, None], first, axis=0)
    V = np.cumsum(own, axis=0)
    found = J @ a + bracket(V, own).sum(axis=0)
    if axes == "local":
        turn = model.frame_pose(name, q)[:3, :3].T
        return product_of(turn, found.reshape(2, 3).T).T.ravel()
    found[3:] += cross(V[-1, :3], V[-1, 3:])
    return found


class BodyMotion(NamedTuple):
    """Where bodies are and how they move: the pose of each, and twists in world axes about ``point``.

    ``rate`` is the derivative of ``twist``, seen in space. (nbody, 3, 4) [m], (nbody, 6) [rad/s, m/s], (nbody, 6)
    [rad/s^2, m/s^2], (3,) [m].
    """

    pose: np.ndarray
    twist: np.ndarray
    rate: np.ndarray
    point: np.ndarray


def columns_of(flat: Flat, pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the twists (nv, 6) of unit velocities in world axes about a point (3,) [m], by the poses of the bodies."""
    kind, axis, arm = np.asarray(flat.kind), pose[:, :3, 2], pose[:, :3, 3] - point
    slides, pitch = (kind == PRISMATIC)[:, None], np.where(kind == HELICAL, flat.pitch, 0.0)[:, None]
    angular = np.where(slides, 0.0, axis)
    single = np.hstack((angular, cross(arm, angular) + np.where(slides, 1.0, pitch) * axis))
    several = (kind == BALL) | (kind == FREE)
    if not several.any():
        return single
    rows = []
    for i, code in enumerate(kind):
        if not several[i]:
            rows.append(single[i : i + 1])
            continue
        R = pose[i, :3, :3].T
        if code == FREE:
            rows.append(np.hstack((np.zeros((3, 3)), R)))
        rows.append(np.hstack((R, cross(arm[i], R))))
    return np.concatenate(rows)


def body_motion(model: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> BodyMotion:
    """Return how all bodies move."""
    flat, starts = model.flat, model.index.iv
    pose = model.pose_rows(q[None])[0]
    point = pose[:, :, 3].mean(axis=0)
    columns = columns_of(flat, pose, point)
    own, rate = (np.add.reduceat(columns * x[:, None], starts, axis=0) for x in (v, a))
    twist = _down(flat.parent, own)
    return BodyMotion(pose, twist, _down(flat.parent, rate + bracket(twist, own)), point)


def _down(parent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Sums of rows from the roots to each body."""
    x = x.copy()
    for i, k in enumerate(parent.tolist()):
        if k >= 0:
            x[i] += x[k]
    return x


def sums_above(parent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the sum of the rows (nbody, m) of each body and all that it carries, (nbody, m)."""
    x = x.copy()
    for i in range(len(x) - 1, -1, -1):
        k = int(parent[i])
        if k >= 0:
            x[k] += x[i]
    return x


def carried(parent: np.ndarray, body: int) -> np.ndarray:
    """Return which bodies (nbody,) a body carries, itself among them."""
    found = np.zeros(len(parent), dtype=bool)
    for i, k in enumerate(parent.tolist()):
        found[i] = i == body or (k >= 0 and found[k])
    return found


def subtree_momentum(model: Mechanism, q: np.ndarray, v: np.ndarray, bodies: np.ndarray) -> tuple:
    """Return the momentum (6,) of some bodies, (angular about the world's origin, linear), and mass times place (3,).

    World axes; [kg m^2/s, kg m/s] and [kg m]. ``bodies`` is a mask (nbody,).
    """
    flat, motion = model.flat, body_motion(model, q, v, np.zeros(model.nv))
    R, w = motion.pose[bodies, :, :3], motion.twist[bodies, :3]
    arm = np.einsum("nij,nj->ni", R, flat.com[bodies])
    c = motion.pose[bodies, :, 3] + arm
    u = motion.twist[bodies, 3:] + np.cross(w, c - motion.point)
    p = flat.mass[bodies, None] * u
    spin = np.einsum("nij,njk,nlk,nl->ni", R, flat.inertia[bodies], R, w)
    return np.concatenate([(np.cross(c, p) + spin).sum(axis=0), p.sum(axis=0)]), flat.mass[bodies] @ c
