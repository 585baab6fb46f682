"""Ball and free joints as Euler angles: the expanded mechanism, and its states from and to the native ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vitree.errors import InputError, ModelError
from vitree.flat import (
    BALL,
    FREE,
    KIND_NQ,
    KIND_NV,
    PRISMATIC,
    REVOLUTE,
    Flat,
    JointInfo,
)
from vitree.flatten import turn_z_to

_X, _Y, _Z = np.eye(3)
#: Primitives of the expansion, in order: suffix, kind, axis.
_TURNS = (("rz", REVOLUTE, _Z), ("ry", REVOLUTE, _Y), ("rx", REVOLUTE, _X))
_MOVES = (("tx", PRISMATIC, _X), ("ty", PRISMATIC, _Y), ("tz", PRISMATIC, _Z))
#: cos(pitch) below which velocities have no Euler rates.
SINGULAR = 1e-9


def _primitives(kind: int):
    return _MOVES + _TURNS if kind == FREE else _TURNS if kind == BALL else None


def expand(flat: Flat) -> Flat:
    """Return the mechanism with ball joints as rz ry rx and free joints as tx ty tz rz ry rx.

    The expanded body of a native body is the last of its primitives; only that one has mass.
    Damping of a turn in body axes has no counterpart on Euler rates: such a mechanism is refused.
    Damping of a free joint's translation is kept if it is the same along all axes.

    Raises
    ------
    ModelError
        If a ball or free joint has damping that cannot be kept.

    References
    ----------
    Johnson & Murphey 2009, section II.
    """
    kind, parent, E, p, pitch, mass, com, inertia, damping = ([] for _ in range(9))
    last: list[int] = []  # expanded index of each native body
    fold: list[np.ndarray] = []  # native core frame in the expanded body's core frame
    nv = np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))
    names: list[list[tuple[str, str, tuple[float, ...]]]] = []
    native_names = _body_names(flat)
    for i, code in enumerate(flat.kind):
        k = int(flat.parent[i])
        R = flat.E[i] if k < 0 else fold[k] @ flat.E[i]
        at = flat.p[i] if k < 0 else fold[k] @ flat.p[i]
        up = -1 if k < 0 else last[k]
        own = flat.damping[nv[i] : nv[i + 1]]
        parts = _primitives(code)
        if parts is None:
            kind.append(code), parent.append(up), E.append(R), p.append(at), pitch.append(flat.pitch[i])
            damping.append(own[0])
            fold.append(np.eye(3))
        else:
            if np.any(own[-3:]) or np.ptp(own[:3]):
                raise ModelError(
                    f'the joint "{native_names[i]}" is damped in body axes, which Euler angles do not have; '
                    f"set that damping to zero, or keep the native model"
                )
            damping += ([own[0]] * 3 if code == FREE else []) + [0.0] * 3
            turned = R
            for n, (_, primitive, axis) in enumerate(parts):
                F = turn_z_to(axis)
                kind.append(primitive), parent.append(up), E.append(turned @ F), pitch.append(0.0)
                p.append(at if n == 0 else np.zeros(3))
                up, turned = len(kind) - 1, F.T
            fold.append(turned)
            mass += [0.0] * (len(parts) - 1)
            com += [np.zeros(3)] * (len(parts) - 1)
            inertia += [np.zeros((3, 3))] * (len(parts) - 1)
        F = fold[i]
        mass.append(flat.mass[i]), com.append(F @ flat.com[i]), inertia.append(F @ flat.inertia[i] @ F.T)
        last.append(len(kind) - 1)
        names.append([(suffix, "prismatic" if code == PRISMATIC else "revolute", tuple(axis)) for suffix, code, axis in parts or ()])
    moved = [int(b) for b in flat.frame_body]
    return replace(
        flat,
        name=f"{flat.name} (Euler angles)",
        kind=np.array(kind, np.int32), parent=np.array(parent, np.int32), E=np.array(E), p=np.array(p),
        pitch=np.array(pitch), mass=np.array(mass), com=np.array(com), inertia=np.array(inertia),
        damping=np.array(damping),
        frame_body=np.array([last[b] if b >= 0 else -1 for b in moved], np.int32),
        frame_E=np.array([fold[b] @ R if b >= 0 else R for b, R in zip(moved, flat.frame_E, strict=True)]).reshape(-1, 3, 3),
        frame_p=np.array([fold[b] @ x if b >= 0 else x for b, x in zip(moved, flat.frame_p, strict=True)]).reshape(-1, 3),
        joints=_expanded_joints(flat, names),
    )  # fmt: skip


def _body_names(flat: Flat) -> list[str]:
    """Name of the joint that each body belongs to."""
    starts = np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))[:-1]
    return [next((j.name for j in flat.joints if j.v_slice.start <= s < j.v_slice.stop), f"body {i}")
            for i, s in enumerate(starts)]  # fmt: skip


def _expanded_joints(flat: Flat, names) -> tuple[JointInfo, ...]:
    joints, at = [], 0
    starts = {int(s): i for i, s in enumerate(np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))[:-1])}
    for joint in flat.joints:
        parts = names[starts[joint.v_slice.start]]
        if not parts:
            count = joint.v_slice.stop - joint.v_slice.start
            here = slice(at, at + count)
            joints.append(replace(joint, q_slice=here, v_slice=here))
            at += count
            continue
        for suffix, kind, axis in parts:
            here = slice(at, at + 1)
            joints.append(
                JointInfo(
                    name=f"{joint.name}_{suffix}", kind=kind, parent=joint.parent, child=joint.child, q_slice=here,
                    v_slice=here, axis=axis, lower=(-np.inf,), upper=(np.inf,), velocity=(np.inf,), effort=(np.inf,),
                )  # fmt: skip
            )
            at += 1
    return tuple(joints)


def _layout(flat: Flat):
    """Yield (kind, first q, first v, first expanded coordinate) of each native body."""
    iq = iv = ie = 0
    for code in flat.kind:
        yield int(code), iq, iv, ie
        iq, iv, ie = iq + int(KIND_NQ[code]), iv + int(KIND_NV[code]), ie + int(KIND_NV[code])


def to_euler(flat: Flat, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Map native states (..., nq), (..., nv) to expanded ones, (..., nv) each.

    Raises
    ------
    InputError
        Where the pitch is +-90 degrees and the velocity has no Euler rates.
    """
    qe, ve = np.array(v, dtype=float), np.array(v, dtype=float)
    for code, iq, iv, ie in _layout(flat):
        if code not in (BALL, FREE):
            qe[..., ie] = q[..., iq]
            continue
        shift = 3 if code == FREE else 0
        x, y, z, w = np.moveaxis(q[..., iq + shift : iq + shift + 4], -1, 0)
        # half sum and half difference of yaw and roll: at a pitch of +-90 degrees one of them is
        # arbitrary, and both angles stay exact together
        down, up = np.hypot(x + z, w - y), np.hypot(z - x, w + y)  # sqrt(1 -+ sin(pitch))
        half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(z - x, w + y)
        pitch = 0.5 * np.pi - 2 * np.arctan2(down, up)
        yaw, roll = (a - 2 * np.pi * np.round(a / (2 * np.pi)) for a in (half_sum + half_difference, half_sum - half_difference))
        cosine = down * up / (x * x + y * y + z * z + w * w)
        qe[..., ie + shift : ie + shift + 3] = np.stack((yaw, pitch, roll), axis=-1)
        omega = v[..., iv + shift : iv + shift + 3]
        s, c = np.sin(roll), np.cos(roll)
        side = s * omega[..., 1] + c * omega[..., 2]  # cos(pitch) times the yaw rate
        if np.any((cosine < SINGULAR) & (np.abs(side) > 0)):
            raise InputError(
                f'the joint "{_body_names(flat)[_index(flat, iv)]}" is at a pitch of +-90 degrees, where Euler angles have '
                f'no rates for its velocity; start elsewhere, or use a method that runs it natively, such as "linear-time"'
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            yaw_rate = np.where(side == 0, 0.0, side / cosine)
        ve[..., ie + shift] = yaw_rate
        ve[..., ie + shift + 1] = c * omega[..., 1] - s * omega[..., 2]
        ve[..., ie + shift + 2] = omega[..., 0] + np.sin(pitch) * yaw_rate
        if code == FREE:
            qe[..., ie : ie + 3] = q[..., iq : iq + 3]
            ve[..., ie : ie + 3] = _rotate(_quaternion(yaw, pitch, roll), v[..., iv : iv + 3])
    return qe, ve


def from_euler(flat: Flat, qe: np.ndarray, ve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Map expanded states (..., nv) each to native ones, (..., nq), (..., nv)."""
    nq = int(KIND_NQ[flat.kind].sum())
    q, v = np.empty((*qe.shape[:-1], nq)), np.array(ve, dtype=float)
    for code, iq, iv, ie in _layout(flat):
        if code not in (BALL, FREE):
            q[..., iq] = qe[..., ie]
            continue
        shift = 3 if code == FREE else 0
        yaw, pitch, roll = np.moveaxis(qe[..., ie + shift : ie + shift + 3], -1, 0)
        turn = _quaternion(yaw, pitch, roll)
        q[..., iq + shift : iq + shift + 4] = turn
        dyaw, dpitch, droll = np.moveaxis(ve[..., ie + shift : ie + shift + 3], -1, 0)
        s, c = np.sin(roll), np.cos(roll)
        v[..., iv + shift] = droll - np.sin(pitch) * dyaw
        v[..., iv + shift + 1] = c * dpitch + s * np.cos(pitch) * dyaw
        v[..., iv + shift + 2] = -s * dpitch + c * np.cos(pitch) * dyaw
        if code == FREE:
            q[..., iq : iq + 3] = qe[..., ie : ie + 3]
            v[..., iv : iv + 3] = _rotate(turn * [-1, -1, -1, 1], ve[..., ie : ie + 3])
    return q, v


def _index(flat: Flat, iv: int) -> int:
    return int(np.searchsorted(np.cumsum(KIND_NV[flat.kind]), iv, side="right"))


def _quaternion(yaw, pitch, roll) -> np.ndarray:
    """Quaternion (x, y, z, w) of Rz(yaw) Ry(pitch) Rx(roll)."""
    (sy, cy), (sp, cp), (sr, cr) = ((np.sin(a / 2), np.cos(a / 2)) for a in (yaw, pitch, roll))
    return np.stack(
        (cy * cp * sr - sy * sp * cr, cy * sp * cr + sy * cp * sr, sy * cp * cr - cy * sp * sr, cy * cp * cr + sy * sp * sr),
        axis=-1,
    )


def _rotate(turn: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rotate vectors (..., 3) by quaternions (..., 4)."""
    u, w = turn[..., :3], turn[..., 3:]
    c = 2 * np.cross(u, x)
    return x + w * c + np.cross(u, c)
