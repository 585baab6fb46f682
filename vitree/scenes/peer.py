"""Scenes in MuJoCo: the same mechanism, contacts, drives and start, recorded in the coordinates of our model."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from vitree.geometry.shapes import Box, Capsule, Cylinder, Disk, Sphere
from vitree.mechanism.contacts import Contact, Ground, against_ground
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import BALL, FREE, HELICAL, PRISMATIC
from vitree.mechanism.loads import JointSpring
from vitree.model.model import Model
from vitree.results.contacts import ContactLog
from vitree.scenes.base import Motion, Stage
from vitree.spatial.rotations import rotate

#: What stands for the mass [kg], inertia [kg m^2] of bodies without mass, and radius [m] of points.
LIGHT, POINT = 1e-9, 1e-6
#: Bits of what may meet: the ground meets all, balls and capsules each other, balls boxes.
GROUND, ROUND, BOX = 1, 2, 4
#: Steps of the half period of a spring that stands for restitution.
REBOUND = 10
#: Where a state has blown up [m/s or rad/s].
LOST = 1e6


def _quaternion(R: Any) -> np.ndarray:
    """A rotation matrix as (w, x, y, z)."""
    import mujoco

    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.asarray(R, dtype=float).ravel())
    return out


def _spring(restitution: float, dt: float, timeconst: float | None) -> list[float]:
    """The ``solref`` of a contact: as stiff as dt allows, or a spring that gives back a share of the speed."""
    if not restitution:
        return [timeconst or 2 * dt, 1.0]
    rate = math.pi / (REBOUND * dt)
    log = math.log(restitution)
    ratio = -log / math.hypot(math.pi, log)
    return [-(rate**2), -2 * ratio * rate]


def compiled(stage: Stage) -> Any:
    """Return the MjModel of a stage.

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a part of it.
    """
    import mujoco

    flat, spec = stage.model.flat, mujoco.MjSpec()
    ground = flat.ground or Ground()
    bodies: list[Any] = []
    index = stage.model.index
    for i, kind in enumerate(flat.kind.tolist()):
        parent = spec.worldbody if flat.parent[i] < 0 else bodies[flat.parent[i]]
        body = parent.add_body(name=f"body{i}", pos=flat.p[i], quat=_quaternion(flat.E[i]))
        inertia = flat.inertia[i]
        body.explicitinertial = True
        body.mass, body.ipos = max(flat.mass[i], LIGHT), flat.com[i]
        body.fullinertia = [*np.maximum(np.diag(inertia), LIGHT), *inertia[(0, 0, 1), (1, 2, 2)]]
        v = index.iv[i]
        if kind == HELICAL:
            raise NotImplementedError("it has no helical joints")
        if kind == FREE:
            body.add_freejoint(name=f"joint{i}")
        else:
            types = mujoco.mjtJoint
            kinds = {BALL: types.mjJNT_BALL, PRISMATIC: types.mjJNT_SLIDE}
            joint = body.add_joint(name=f"joint{i}", type=kinds.get(kind, types.mjJNT_HINGE), axis=(0, 0, 1))
            joint.armature, joint.damping = flat.armature[v], [flat.damping[v], 0, 0]
        bodies.append(body)
    of_entry = {int(index.iv[i]): i for i in range(len(bodies))}
    for load in flat.loads:
        if not isinstance(load, Drive | JointSpring):
            raise NotImplementedError(f"no counterpart of the {load.name}")
        joint = spec.joint(f"joint{of_entry[stage.model.joint(load.joint).v_slice.start]}")
        if isinstance(load, JointSpring):
            joint.stiffness, joint.springref = [load.stiffness, 0, 0], load.rest
            continue
        servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gainprm[0], servo.biastype = load.kp, mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[1], servo.biasprm[2] = -load.kp, -load.kd
        if load.effort_limit < math.inf:
            servo.forcerange, servo.forcelimited = [-load.effort_limit, load.effort_limit], True
    if stage.model.holds:
        raise NotImplementedError("no counterpart of wheels that roll, and of dry friction")
    contacts = [each for each in flat.contacts if isinstance(each, Contact)]
    if flat.ground is not None and contacts:
        for normal, height in ((ground.normal, ground.height), *ground.planes):
            plane = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
            z = np.asarray(normal)
            x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
            x /= np.linalg.norm(x)
            plane.quat, plane.pos = _quaternion(np.column_stack([x, np.cross(z, x), z])), z * height
            plane.contype, plane.conaffinity, plane.friction[0] = GROUND, 0, 0.0
    for contact in contacts:
        _touching(spec, bodies, stage, contact, ground)
    own = spec.compile()
    own.opt.timestep, own.opt.gravity = stage.dt, flat.gravity
    own.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{stage.peer.get('integrator', 'implicitfast').upper()}")
    own.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    own.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    return own


def _touching(spec: Any, bodies: list, stage: Stage, contact: Contact, ground: Ground) -> None:
    """Add the geoms of a contact."""
    import mujoco

    flat = stage.model.flat
    k = flat.frame_names.index(contact.frame)
    body = spec.worldbody if flat.frame_body[k] < 0 else bodies[flat.frame_body[k]]
    E, p = flat.frame_E[k], flat.frame_p[k]
    friction, restitution, *_ = against_ground(contact, ground)
    types = mujoco.mjtGeom

    def add(kind: Any, size: list[float], R: Any, at: Any, bits: tuple[int, int]) -> None:
        geom = body.add_geom(type=kind, size=[*size, 0, 0, 0][:3], pos=p + E @ np.asarray(at), quat=_quaternion(E @ R))
        geom.contype, geom.conaffinity = bits
        geom.condim, geom.friction[0] = (3 if friction else 1), friction
        geom.solref = _spring(restitution, stage.dt, stage.peer.get("timeconst"))

    eye, only = np.eye(3), (0, GROUND)
    for points, radius, shaped in contact.parts():
        if not shaped:
            bits = (ROUND, GROUND | ROUND | BOX) if radius else only
            for at in points:
                add(types.mjGEOM_SPHERE, [radius or POINT], eye, at, bits)
    for shape in contact.shapes:
        R, at = np.asarray(shape.rotation), shape.position
        if isinstance(shape, Sphere):
            add(types.mjGEOM_SPHERE, [shape.radius], R, at, (ROUND, GROUND | ROUND | BOX))
        elif isinstance(shape, Capsule):
            add(types.mjGEOM_CAPSULE, [shape.radius, shape.length / 2], R, at, (ROUND, GROUND | ROUND))
        elif isinstance(shape, Box):
            add(types.mjGEOM_BOX, [x / 2 for x in shape.size], R, at, (BOX, GROUND))
        elif isinstance(shape, Disk):
            raise NotImplementedError("MuJoCo has no disks")
        elif isinstance(shape, Cylinder):
            add(types.mjGEOM_CYLINDER, [shape.radius, shape.length / 2], R, at, only)
        else:
            for at in shape.points:
                add(types.mjGEOM_SPHERE, [POINT], eye, at, only)


class Coordinates:
    """The way from q and v of a model to MuJoCo's and back: quaternions, and axes of a free joint's velocity."""

    def __init__(self, model: Model):
        flat, index = model.flat, model.index
        self.order = np.arange(model.nq)
        self.free = []
        for kind, iq, iv in zip(flat.kind.tolist(), index.iq.tolist(), index.iv.tolist(), strict=True):
            if kind in (BALL, FREE):
                at = iq + 3 * (kind == FREE)
                self.order[at : at + 4] = [at + 3, at, at + 1, at + 2]
            if kind == FREE:
                self.free.append((iq + 3, iv))
        self.back = np.argsort(self.order)

    def velocity(self, q: np.ndarray, v: np.ndarray, sign: float) -> np.ndarray:
        """Turn the linear velocities of free joints into world axes (sign 1), or into body axes (-1)."""
        out = v.copy()
        for iq, iv in self.free:
            turn = q[iq : iq + 4] * np.array([sign, sign, sign, 1.0])
            out[iv : iv + 3] = rotate(turn, v[iv : iv + 3])
        return out


def run(stage: Stage) -> Motion:
    """Return MuJoCo's run of a stage.

    Raises
    ------
    ImportError
        If MuJoCo is not installed.
    NotImplementedError
        If it has nothing like a part of the stage.
    ArithmeticError
        If its state blows up.
    """
    import mujoco

    mujoco.set_mju_user_warning(lambda text: None)  # a state that blows up is told by an error
    try:
        return _run(stage)
    finally:
        mujoco.set_mju_user_warning(None)


def _run(stage: Stage) -> Motion:
    import mujoco

    model, way = compiled(stage), Coordinates(stage.model)
    data = mujoco.MjData(model)
    data.qpos[:] = stage.q[way.order]
    data.qvel[:] = way.velocity(stage.q, stage.v, 1.0)
    flat = stage.model.flat
    for link, (*torque, fx, fy, fz) in stage.wrenches.items():
        row = 1 + int(flat.frame_body[flat.frame_names.index(link)])
        data.xfrc_applied[row] = [fx, fy, fz, *torque]
    still = np.array([load.target for load in stage.model.drives if not isinstance(load.target, str)])
    if len(still) and stage.targets is None:
        data.ctrl[:] = still
    times, q, v, pushes, seconds = [0.0], [stage.q], [stage.v], [np.zeros(3)], 0.0
    rows: list[np.ndarray] = []
    for k in range(stage.steps):
        if stage.targets is not None:
            data.ctrl[:] = stage.targets[k]
        if stage.torque is not None:
            middle = stage.torque((k + 0.5) * stage.dt)
            data.qfrc_applied[:] = middle
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        seconds += time.perf_counter() - start
        if (k + 1) % stage.every == 0:
            at = data.qpos[way.back]
            times.append((k + 1) * stage.dt)
            q.append(at)
            v.append(way.velocity(at, data.qvel, -1.0))
            found = _contacts(model, data, len(times) - 1, stage.dt)
            rows += found
            push = sum((row[2:5] for row in found if row[1] == 0), np.zeros(3))
            pushes.append(push)
        if not np.abs(data.qvel).max() < LOST or data.warning.number[mujoco.mjtWarning.mjWARN_BADQACC]:
            raise ArithmeticError(f"its state blows up at t = {(k + 1) * stage.dt:.6g} s")
    log = ContactLog(np.array(rows).reshape(-1, 9), (("body", "ground"), ("body", "body")))
    return Motion(t=np.array(times), q=np.array(q), v=np.array(v), seconds=seconds, impulse=np.array(pushes), log=log)


def _contacts(model: Any, data: Any, record: int, dt: float) -> list[np.ndarray]:
    """The contacts of the last step as rows of a ContactLog: velocities are those of its end at its start's points."""
    import mujoco

    rows, wrench, jacobian = [], np.zeros(6), np.zeros((3, model.nv))
    for c in range(data.ncon):
        one, other = (int(model.geom_bodyid[geom]) for geom in (data.contact.geom1[c], data.contact.geom2[c]))
        axes, velocity = data.contact.frame[c].reshape(3, 3), np.zeros(3)
        mujoco.mj_contactForce(model, data, c, wrench)
        if not wrench[0]:
            continue
        for sign, body in ((1.0, other), (-1.0, one)):
            mujoco.mj_jac(model, data, jacobian, None, data.contact.pos[c], body)
            velocity += sign * jacobian @ data.qvel
        sign = 1.0 if one == 0 else -1.0 if other == 0 else 1.0
        gap = data.contact.dist[c] + dt * axes[0] @ velocity
        slip = velocity - axes[0] * (axes[0] @ velocity)
        rows.append(np.concatenate([[record, float(one != 0 and other != 0)], sign * dt * axes.T @ wrench[:3],
                                    sign * slip, [gap]]))  # fmt: skip
    return rows
