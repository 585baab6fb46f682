"""Kinematics of frames and bodies, their derivatives, and a mechanism cut at a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vitree.arguments import shown
from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import (
    BALL,
    FREE,
    HELICAL,
    KIND_NQ,
    KIND_NV,
    KINDS,
    PRISMATIC,
    REVOLUTE,
    Flat,
    JointInfo,
    Row,
    columns_of,
)
from vitree.mechanism.index import pose_of, product_of
from vitree.mechanism.merging import Part, merge
from vitree.mechanism.regular import joint_of
from vitree.spatial.rotations import cross, hat

if TYPE_CHECKING:
    from vitree.model.user_loads import Mechanism


# ---- a mechanism cut at a frame, where a sensor of forces stands: what is beyond it is a body of its own, held by
# a joint
#
# that does not move.


class Cut(NamedTuple):
    """A model in which the part beyond a frame is a body of its own, and where its coordinate is.

    Attributes
    ----------
    model : Model
        Without contacts: their forces are given by frames.
    body : int
        What is beyond the frame, with all that it carries.
    E, p : (3, 3) array, (3,) array [m]
        The frame in the body's core frame.
    iq, iv : int or None
        Where the coordinate of the joint that does not move is in q and v; None where the frame stands at a joint,
        which is the cut.
    """

    model: Any
    body: int
    E: np.ndarray
    p: np.ndarray
    iq: int | None
    iv: int | None

    def states(self, q: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q and rates (nv,) of the cut model."""
        if self.iq is None or self.iv is None:
            return (q, *rates)
        at = self.iv
        return (np.insert(q, self.iq, 0.0), *(np.insert(x, at, 0.0) for x in rates))


def cut_at(model: Any, frame: str, make: Callable[[Flat], Any]) -> Cut:
    """Return the model cut at a frame, between what carries the frame and the frame with all that is beyond it.

    Parameters
    ----------
    model : Model
        Not a reduced one.
    frame : str
    make : callable
        Returns the model of arrays.

    Raises
    ------
    UnknownNameError
        If there is no such frame.
    ModelError
        If the model does not know its tree of frames.
    """
    row, flat = model._frame(frame), model.flat
    if not flat.above:
        raise ModelError(
            f'"{flat.name}" does not know which frames are beyond "{frame}", as a model made of arrays; make it from a '
            "Tree or a file"
        )
    at, body = flat.frame_at[row], int(flat.frame_body[row])
    if body >= 0 and flat.body_at[body] == at:
        return Cut(model, body, flat.frame_E[row], flat.frame_p[row], None, None)
    split = _split(flat, at, body, flat.frame_E[row], flat.frame_p[row], frame)
    return Cut(make(split), body + 1, np.eye(3), np.zeros(3), _start(flat.kind, KIND_NQ, body + 1),
               _start(flat.kind, KIND_NV, body + 1))  # fmt: skip


def _start(kind: np.ndarray, size: np.ndarray, body: int) -> int:
    return int(size[kind[:body]].sum())


def _split(flat: Flat, at: int, body: int, E: np.ndarray, p: np.ndarray, name: str) -> Flat:
    """The arrays with a new body behind ``body``, at (E, p) in its core frame, which has all that is beyond ``at``."""
    beyond = _beyond(flat, at)
    new, starts = body + 1, np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))
    moved = lambda k: k if k <= body else k + 1  # noqa: E731
    inward = lambda R, x: (E.T @ R, E.T @ (x - p))  # noqa: E731
    rows: list[Row] = []
    for i in range(len(flat.kind) + 1):
        if i == new:
            still = [np.zeros(1)] * 6 + [np.ones(1, bool)]
            damping, friction, _, armature, dry, bounce, locked = still
            rows.append(Row(REVOLUTE, body, E, p, 0.0, damping, friction, np.ones(1), armature, dry, bounce, locked))
            continue
        k = i if i < new else i - 1
        v = slice(starts[k], starts[k + 1])
        up, at_R, at_p = int(flat.parent[k]), flat.E[k], flat.p[k]
        if up == body and beyond[flat.body_at[k]]:
            up, (at_R, at_p) = new, inward(at_R, at_p)
        else:
            up = moved(up)
        rows.append(Row(int(flat.kind[k]), up, at_R, at_p, flat.pitch[k], flat.damping[v], flat.friction[v],
                        flat.friction_velocity[v], flat.armature[v], flat.dry_friction[v], flat.limit_restitution[v],
                        flat.kinematic[v], flat.mass[k], flat.com[k], flat.inertia[k]))  # fmt: skip
    frame_body, frame_E, frame_p = flat.frame_body.copy(), flat.frame_E.copy(), flat.frame_p.copy()
    parts: tuple[list[Part], list[Part]] = ([], [])
    for k, of in enumerate(flat.frame_body.tolist()):
        out = of == body and bool(beyond[flat.frame_at[k]])
        frame_body[k] = new if out else moved(of)
        if out:
            frame_E[k], frame_p[k] = inward(frame_E[k], frame_p[k])
        if of == body and flat.frame_names[k] in flat.link_names:
            j = flat.link_names.index(flat.frame_names[k])
            part = Part(flat.link_mass[j], flat.link_com[j], flat.link_inertia[j], frame_E[k], frame_p[k])
            parts[out].append(part)
    for k, (mass, com, inertia) in zip((body, new), merge(parts), strict=True):
        if k >= 0:
            rows[k].mass, rows[k].com, rows[k].inertia = mass, com, inertia
    iq, iv = _start(flat.kind, KIND_NQ, new), _start(flat.kind, KIND_NV, new)
    return replace(
        flat, **columns_of(rows), frame_body=frame_body, frame_E=frame_E, frame_p=frame_p,
        joints=_with_joint(flat.joints, name, iq, iv), contacts=(), ground=None, rolling=(), limits="ignore",
        above=(), frame_at=(), body_at=(),
    )  # fmt: skip


def _beyond(flat: Flat, at: int) -> np.ndarray:
    """Which transforms are beyond one, or it."""
    found = np.zeros(len(flat.above), dtype=bool)
    for k, up in enumerate(flat.above):
        found[k] = k == at or (up >= 0 and found[up])
    return found


def _with_joint(joints: tuple[JointInfo, ...], name: str, iq: int, iv: int) -> tuple[JointInfo, ...]:
    """The joints with one more at a place of q and v."""
    shifted = lambda x, n: slice(x.start + (x.start >= n), x.stop + (x.start >= n))  # noqa: E731
    others = [replace(j, q_slice=shifted(j.q_slice, iq), v_slice=shifted(j.v_slice, iv)) for j in joints]
    new = JointInfo(f"{name} (cut)", "revolute", "", name, slice(iq, iq + 1), slice(iv, iv + 1))
    k = sum(j.q_slice.start < iq for j in joints)
    return (*others[:k], new, *others[k:])


# ---- how frames and bodies move: velocities and accelerations of a state, by the twists of the coordinates


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


def twists_about(flat: Flat, pose: np.ndarray, point: np.ndarray) -> np.ndarray:
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
    pose = model._pose_rows(q[None])[0]
    point = pose[:, :, 3].mean(axis=0)
    columns = twists_about(flat, pose, point)
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


# ---- derivatives of named frames by the coordinates: pose, position and body velocity, in closed form ------
#
# With the frame's moving ancestors in order from the root, every second derivative below is that of the
# earlier coordinate first: a joint moves all that comes after it as one rigid body.


# The docstrings repeat parameters and errors, since the reference shows each function alone.







@dataclass(frozen=True)
class TwistDerivatives:
    """A frame's body velocity and its derivatives by q and v.

    Twists are (angular, linear) in the frame's own axes, the linear part that of its origin
    [rad/s, m/s]; a derivative is per unit of the coordinate or of its rate.

    Attributes
    ----------
    twist : (6,) array
    by_q, by_v : (nv, 6) arrays
    by_qq : (nv, nv, 6) array
        Symmetric in its first two indices.
    by_vq : (nv, nv, 6) array
        Index 0 is the one of v, index 1 that of q. Second derivatives by v are zero.
    """

    twist: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    by_qq: np.ndarray
    by_vq: np.ndarray


def pose_derivatives(model: Mechanism, name: str, q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pose of a frame in the world and its derivatives by the coordinates.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    g : (4, 4) array
        The pose [m].
    dg : (nv, 4, 4) array
        ``dg[i]`` is the derivative by coordinate i; zero if that does not move the frame.
    ddg : (nv, nv, 4, 4) array
        ``ddg[i, j]`` is the second derivative by coordinates i and j.

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    Notes
    -----
    With s_i the twist of coordinate i in world axes about the world's origin, dg/dq_i = hat(s_i) g and
    d2g/dq_i dq_j = hat(s_i) hat(s_j) g for i upstream of j or equal to it.

    References
    ----------
    Johnson & Murphey 2009, eqs. 2-4.
    """
    at = _coordinates(model, name)
    poses = model.body_poses(model.validate_configuration(q))
    g = pose_of(model.flat, model.index.frame(name), poses)
    s = _hats(twists_about(model.flat, poses, np.zeros(3))[at])
    first = s @ g
    second = s[:, None] @ first
    return g, _spread(first, at, model.nv), _spread(_mirrored(second), at, model.nv, 2)


def position_derivatives(model: Mechanism, name: str, q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the position of a frame's origin in the world and its derivatives by the coordinates.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    p : (3,) array [m]
    dp : (nv, 3) array
    ddp : (nv, nv, 3) array

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    References
    ----------
    Johnson & Murphey 2009, eqs. 2-4: the last columns of the poses.
    """
    g, dg, ddg = pose_derivatives(model, name, q)
    return g[:3, 3].copy(), dg[:, :3, 3].copy(), ddg[:, :, :3, 3].copy()


def twist_derivatives(model: Mechanism, name: str, q, v) -> TwistDerivatives:
    """Return the body velocity of a frame and its first and second derivatives by q and v.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]
    v : (nv,) array [m/s or rad/s]

    Returns
    -------
    TwistDerivatives

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    Notes
    -----
    With J_i the columns of the body Jacobian, dJ_i/dq_j = -ad_{J_j} J_i for i upstream of j, otherwise
    zero. Differentiating V = sum J_i v_i once more, d2V/dq_j dq_k = -ad_{J_k} dV/dq_j for j upstream of k
    or equal to it.

    References
    ----------
    Johnson & Murphey 2009, eqs. 5-10.
    """
    at = _coordinates(model, name)
    v = model.validate_velocity(v)
    J = model.frame_jacobian(name, model.validate_configuration(q), axes="local").T
    ad = _ads(J[at])
    # by_vq[i, j] = -ad_j J_i, for i strictly before j
    by_vq = -np.einsum("jab,ib->ija", ad, J[at])
    by_vq[np.tril_indices(len(at))] = 0.0
    by_q = np.einsum("i,ija->ja", v[at], by_vq)
    by_qq = -np.einsum("kab,jb->jka", ad, by_q)
    n = model.nv
    return TwistDerivatives(
        twist=v @ J,
        by_q=_spread(by_q, at, n),
        by_v=J.copy(),
        by_qq=_spread(_mirrored(by_qq), at, n, 2),
        by_vq=_spread(by_vq, at, n, 2),
    )


def _coordinates(model: Mechanism, name: str) -> np.ndarray:
    """The coordinates of the bodies that carry a frame, from the root."""
    flat = model.flat
    body, path = int(flat.frame_body[model.index.frame(name)]), []
    while body >= 0:
        if KIND_NV[flat.kind[body]] > 1:
            raise InputError(
                f'the frame "{name}" moves with the {KINDS[flat.kind[body]]} joint "{joint_of(flat, body)}", which has '
                f"no coordinates to differentiate by; take model.euler(), which has only one-coordinate joints"
            )
        path.append(body)
        body = int(flat.parent[body])
    return model.index.iv[path[::-1]]


def _hats(s: np.ndarray) -> np.ndarray:
    """Twists (m, 6) as matrices (m, 4, 4) that act on poses."""
    out = np.zeros((len(s), 4, 4))
    out[:, :3, :3], out[:, :3, 3] = hat(s[:, :3]), s[:, 3:]
    return out


def _ads(s: np.ndarray) -> np.ndarray:
    """The matrices of the Lie bracket with twists (m, 6): (m, 6, 6)."""
    out = np.zeros((len(s), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = hat(s[:, :3])
    out[:, 3:, :3] = hat(s[:, 3:])
    return out


def _mirrored(x: np.ndarray) -> np.ndarray:
    """An (m, m, ...) array made symmetric from its entries [i, j] with i <= j."""
    upper = np.triu(np.ones(x.shape[:2], bool)).reshape(x.shape[:2] + (1,) * (x.ndim - 2))
    return np.where(upper, x, np.swapaxes(x, 0, 1))


def _spread(x: np.ndarray, at: np.ndarray, n: int, axes: int = 1) -> np.ndarray:
    """Put an array's leading one or two axes at the coordinates ``at`` of n, zeros elsewhere."""
    out = np.zeros((n,) * axes + x.shape[axes:])
    out[np.ix_(*(at,) * axes)] = x
    return out
