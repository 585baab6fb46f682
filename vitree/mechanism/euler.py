"""Ball and free joints as Euler angles: the expanded mechanism, and its states from and to the native ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vitree.errors import InputError, ModelError
from vitree.findings import Finding
from vitree.mechanism.flat import (
    BALL,
    FREE,
    KIND_NQ,
    KIND_NV,
    KINDS,
    PRISMATIC,
    REVOLUTE,
    Flat,
    JointInfo,
    Row,
    columns_of,
    start_of,
)
from vitree.mechanism.regular import joint_of
from vitree.mechanism.unilateral import BallLimit
from vitree.spatial.rotations import rotate, turn_z_to

_X, _Y, _Z = np.eye(3)
#: Primitives of the expansion, in order: suffix, kind, axis.
_TURNS = (("rz", REVOLUTE, _Z), ("ry", REVOLUTE, _Y), ("rx", REVOLUTE, _X))
_MOVES = (("tx", PRISMATIC, _X), ("ty", PRISMATIC, _Y), ("tz", PRISMATIC, _Z))
#: cos(pitch) below which velocities have no Euler rates.
SINGULAR = 1e-9


def _primitives(kind: int) -> tuple[tuple[str, int, np.ndarray], ...] | None:
    return _MOVES + _TURNS if kind == FREE else _TURNS if kind == BALL else None


def expand(flat: Flat) -> Flat:
    """Return the mechanism with ball joints as rz ry rx and free joints as tx ty tz rz ry rx.

    The expanded body of a native body is the last of its primitives; only that one has mass.
    Damping of a rotation in body axes has no counterpart for Euler rates: such a mechanism is refused.
    Damping of a free joint's translation stays if it is the same along all axes.
    Limits of speed and effort of these joints have none either, and are left out: a finding "euler-limits" of the
    report, a warning, names the joints.

    Raises
    ------
    ModelError
        If a ball or free joint has damping that cannot be kept.

    References
    ----------
    Johnson & Murphey 2009, section III.
    """
    rows: list[Row] = []
    last: list[int] = []  # expanded index of each native body
    fold: list[np.ndarray] = []  # native core frame in the expanded body's core frame
    nv = np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))
    for i, code in enumerate(flat.kind):
        k = int(flat.parent[i])
        up, turned, at = (-1, flat.E[i], flat.p[i]) if k < 0 else (last[k], fold[k] @ flat.E[i], fold[k] @ flat.p[i])
        own = flat.damping[nv[i] : nv[i + 1]]
        slow, rotor = [flat.friction_velocity[nv[i]]], [flat.armature[nv[i]]]
        parts = _primitives(code)
        if parts is None:
            kinematic = [bool(flat.kinematic[nv[i]])]
            rubbing = [flat.friction[nv[i]]]
            dry, bounce = [flat.dry_friction[nv[i]]], [flat.limit_restitution[nv[i]]]
            rows.append(Row(code, up, turned, at, flat.pitch[i], own[:1], rubbing, slow, rotor, dry, bounce, kinematic))
            fold.append(np.eye(3))
        else:
            if np.any(own[-3:]) or np.ptp(own[:3]):
                raise ModelError(
                    f'the joint "{joint_of(flat, i)}" is damped in body axes, which Euler angles do not have; '
                    f"set that damping to zero, or keep the native model"
                )
            for _, primitive, axis in parts:
                F = turn_z_to(axis)
                damping = [own[0] if primitive == PRISMATIC else 0.0]
                rows.append(Row(primitive, up, turned @ F, at, 0.0, damping, [0.0], slow, [0.0], [0.0], [0.0], [False]))
                up, turned, at = len(rows) - 1, F.T, np.zeros(3)
            fold.append(turned)
        last.append(len(rows) - 1)
    F = np.array(fold)
    masses = zip(flat.mass, (F @ flat.com[..., None])[..., 0], F @ flat.inertia @ F.transpose(0, 2, 1), strict=True)
    for k, (mass, com, inertia) in zip(last, masses, strict=True):
        rows[k].mass, rows[k].com, rows[k].inertia = mass, com, inertia
    moving = flat.frame_body >= 0
    at_body = flat.frame_body[moving]
    frame_body, frame_E, frame_p = flat.frame_body.copy(), flat.frame_E.copy(), flat.frame_p.copy()
    frame_body[moving] = np.array(last, np.int32)[at_body]
    frame_E[moving] = F[at_body] @ frame_E[moving]
    frame_p[moving] = (F[at_body] @ frame_p[moving][..., None])[..., 0]
    joints = _expanded_joints(flat)
    return replace(
        flat,
        name=f"{flat.name} (Euler angles)",
        **columns_of(rows),
        frame_body=frame_body,
        frame_E=frame_E,
        frame_p=frame_p,
        joints=joints,
        start=_expanded_start(flat, joints),
        unilateral=tuple(each for each in flat.unilateral if not isinstance(each, BallLimit)),
        report=flat.report + _left_out(flat),
        body_at=tuple(np.repeat(flat.body_at, np.diff([-1, *last])).tolist()) if flat.body_at else (),
    )


def _expanded_joints(flat: Flat) -> tuple[JointInfo, ...]:
    joints: list[JointInfo] = []
    starts = {first: code for code, _, first, _ in _layout(flat)}
    at = 0
    for joint in flat.joints:
        parts = _primitives(starts[joint.v_slice.start])
        if parts is None:
            here = slice(at, at + joint.v_slice.stop - joint.v_slice.start)
            joints.append(replace(joint, q_slice=here, v_slice=here))
            at = here.stop
            continue
        for suffix, primitive, axis in parts:
            joints.append(
                JointInfo(
                    name=f"{joint.name}_{suffix}",
                    kind=KINDS[primitive],
                    parent=joint.parent,
                    child=joint.child,
                    q_slice=slice(at, at + 1),
                    v_slice=slice(at, at + 1),
                    axis=tuple(axis),
                    lower=(-np.inf,),
                    upper=(np.inf,),
                    velocity=(np.inf,),
                    effort=(np.inf,),
                )
            )
            at += 1
    return tuple(joints)


def _left_out(flat: Flat) -> list[Finding]:
    """What tells that limits of speed and effort in body axes, and of swing and twist, are left out."""
    limits = [each.name for each in flat.unilateral if isinstance(each, BallLimit)]
    found = [
        Finding("euler-limits", "warning", f"the {', '.join(limits)} is no limit of Euler angles; it is left out; keep "
                "the native model to have it")
    ] * bool(limits)
    named = [
        f'"{joint.name}"'
        for joint in flat.joints
        if joint.kind in (KINDS[BALL], KINDS[FREE]) and np.isfinite([*joint.velocity, *joint.effort]).any()
    ]
    if not named:
        return found
    return [
        *found,
        Finding(
            "euler-limits",
            "warning",
            f"the limits of speed and effort of {', '.join(named)} are in body axes, which Euler angles do not have; "
            "they are left out; keep the native model to have them",
        )
    ]


def _expanded_start(flat: Flat, joints: tuple[JointInfo, ...]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The start by expanded joints; () of a mechanism that starts where all coordinates are neutral."""
    if not flat.start:
        return ()
    q, _ = to_euler(flat, start_of(flat), np.zeros(len(flat.damping)))
    return tuple((joint.name, tuple(q[joint.q_slice].tolist())) for joint in joints)


def _layout(flat: Flat) -> Iterator[tuple[int, int, int, int]]:
    """Yield (kind, first q, first v, first expanded coordinate) of each native body."""
    iq = iv = ie = 0
    for code in flat.kind:
        yield int(code), iq, iv, ie
        iq, iv, ie = iq + int(KIND_NQ[code]), iv + int(KIND_NV[code]), ie + int(KIND_NV[code])


def to_euler(flat: Flat, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Map native states (..., nq), (..., nv) to expanded ones, (..., nv) each.

    Raises an InputError where the pitch is +-90 degrees and the velocity has no Euler rates.
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
        yaw, roll = (
            a - 2 * np.pi * np.round(a / (2 * np.pi)) for a in (half_sum + half_difference, half_sum - half_difference)
        )
        cosine = down * up / (x * x + y * y + z * z + w * w)
        qe[..., ie + shift : ie + shift + 3] = np.stack((yaw, pitch, roll), axis=-1)
        omega = v[..., iv + shift : iv + shift + 3]
        s, c = np.sin(roll), np.cos(roll)
        side = s * omega[..., 1] + c * omega[..., 2]  # cos(pitch) times the yaw rate
        if np.any((cosine < SINGULAR) & (np.abs(side) > 0)):
            raise InputError(
                f'the joint "{joint_of(flat, _index(flat, iv))}" is at a pitch of +-90 degrees, where Euler '
                f"angles have no rates for its velocity; start elsewhere, or keep the native model"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            yaw_rate = np.where(side == 0, 0.0, side / cosine)
        ve[..., ie + shift] = yaw_rate
        ve[..., ie + shift + 1] = c * omega[..., 1] - s * omega[..., 2]
        ve[..., ie + shift + 2] = omega[..., 0] + np.sin(pitch) * yaw_rate
        if code == FREE:
            qe[..., ie : ie + 3] = q[..., iq : iq + 3]
            ve[..., ie : ie + 3] = rotate(_quaternion(yaw, pitch, roll), v[..., iv : iv + 3])
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
            v[..., iv : iv + 3] = rotate(turn * [-1, -1, -1, 1], ve[..., ie : ie + 3])
    return q, v


def _index(flat: Flat, iv: int) -> int:
    return int(np.searchsorted(np.cumsum(KIND_NV[flat.kind]), iv, side="right"))


def _quaternion(yaw: np.ndarray, pitch: np.ndarray, roll: np.ndarray) -> np.ndarray:
    """Quaternion (x, y, z, w) of Rz(yaw) Ry(pitch) Rx(roll)."""
    (sy, cy), (sp, cp), (sr, cr) = ((np.sin(a / 2), np.cos(a / 2)) for a in (yaw, pitch, roll))
    return np.stack(
        (
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
            cy * cp * cr + sy * sp * sr,
        ),
        axis=-1,
    )
