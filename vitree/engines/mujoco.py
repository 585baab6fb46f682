"""A mechanism in MuJoCo: its MjModel, the way between the states, and steps by its integrators."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries
from vitree.engines.acting import Acting, Motion
from vitree.engines.mujoco_contacts import TouchLog, add_contacts, quaternion
from vitree.engines.mujoco_limits import add_limits
from vitree.engines.mujoco_loops import add_equalities, set_lengths, site_on
from vitree.errors import InputError, MissingExtraError
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import BALL, FREE, HELICAL, PRISMATIC
from vitree.mechanism.loads import JointForce, JointSpring
from vitree.model.model import Model
from vitree.spatial.rotations import rotate

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjsBody, MjsJoint

#: Where a state has blown up [m/s or rad/s].
LOST = 1e6
#: A quaternion whose length is off by less keeps its digits.
UNIT = 1e-14
#: Integrators as ``compare`` calls them, and their orders.
METHODS = {"euler": 1, "implicitfast": 1, "rk4": 4}
#: MuJoCo's callback and warnings are of the whole process.
_one = threading.Lock()


def require() -> None:
    """Raise a MissingExtraError if MuJoCo is not installed."""
    try:
        import mujoco  # noqa: F401
    except ImportError:
        raise MissingExtraError("mujoco", "engines", "MuJoCo") from None


def mujoco_model(model: Model, dt: float, integrator: str = "implicitfast", timeconst: float | None = None) -> MjModel:
    """Return the MjModel of a mechanism, with its contacts, limits, ropes, constraints, joint springs and drives.

    Each drive is an actuator, in the order of ``model.drives``, whose control is kp target + kd rate [N or N m]. Raises
    a NotImplementedError if MuJoCo has nothing like a part of it. The pairs that touch are those of vitree.

    Parameters
    ----------
    model : Model
    dt : float
        Time step, which contacts are as stiff as it allows [s].
    integrator : {"euler", "implicit", "implicitfast", "rk4"}
    timeconst : float, optional
        Of contacts without restitution [s]; 2 dt if not given.
    """
    import mujoco

    flat, spec = model.flat, mujoco.MjSpec()
    spec.compiler.degree = False
    bodies: list[MjsBody] = []
    joints: dict[int, MjsJoint] = {}
    index = model.index
    for i, kind in enumerate(flat.kind.tolist()):
        parent = spec.worldbody if flat.parent[i] < 0 else bodies[flat.parent[i]]
        body = parent.add_body(name=f"body{i}", pos=flat.p[i], quat=quaternion(flat.E[i]))
        body.explicitinertial = True  # of any body, without a special form: the numbers come below
        body.mass, body.ipos, body.inertia = 1.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2)
        body.iquat = (0.5, 0.5, 0.1, 0.7)
        v = index.iv[i]
        if kind == HELICAL or (kind == FREE and flat.parent[i] >= 0):
            what = "helical joints" if kind == HELICAL else "free joints within a mechanism"
            raise NotImplementedError(what)
        if kind == FREE:
            body.add_freejoint(name=f"joint{i}")
        else:
            types = mujoco.mjtJoint
            kinds = {BALL: types.mjJNT_BALL, PRISMATIC: types.mjJNT_SLIDE}
            joint = body.add_joint(name=f"joint{i}", type=kinds.get(kind, types.mjJNT_HINGE), axis=(0, 0, 1))
            joint.armature = flat.armature[v]
            joints[int(v)] = joint
        bodies.append(body)
    springs: list[tuple[int, JointSpring]] = []
    of_entry = {int(index.iv[i]): i for i in range(len(bodies))}
    for load in flat.loads:
        if isinstance(load, JointForce):
            continue  # a force of the run
        if not isinstance(load, Drive | JointSpring):
            raise NotImplementedError(f"the {load.name}")
        number = of_entry[model.joint(load.joint).v_slice.start]
        if isinstance(load, JointSpring):
            springs.append((number, load))
            continue
        servo = spec.add_actuator(target=f"joint{number}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gainprm[0], servo.biastype = 1.0, mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[1], servo.biasprm[2] = -load.kp, -load.kd
        if (limit := load.effort_limit * load.gear) < math.inf:
            servo.forcerange, servo.forcelimited = [-limit, limit], True
    if model.has_rolling_or_dry_friction:
        raise NotImplementedError("wheels that roll, and dry friction")
    add_contacts(spec, bodies, model, dt, timeconst)
    site = partial(site_on, spec, bodies, model)
    add_equalities(spec, bodies, site, model, dt)
    add_limits(spec, joints, site, model, dt, timeconst)
    try:
        own = spec.compile()
    except ValueError as error:
        raise NotImplementedError(" ".join(str(error).split())) from None
    if [own.body(k).name for k in range(1, own.nbody)] != [body.name for body in bodies]:
        raise NotImplementedError("bodies that are not in the order of the tree, depth first")
    # whatever mass and inertia are: MuJoCo's compiler refuses bodies without mass, and others
    moments, axes = np.linalg.eigh(flat.inertia)
    own.body_mass[1:], own.body_ipos[1:], own.body_inertia[1:] = flat.mass, flat.com, moments
    own.body_iquat[1:] = [quaternion(R * np.linalg.det(R)) for R in axes]
    own.dof_damping[:] = flat.damping
    mujoco.mj_setConst(own, mujoco.MjData(own))
    set_lengths(own, model)
    for joint, spring in springs:
        at, before = own.jnt_qposadr[joint], own.jnt_stiffness[joint]
        own.jnt_stiffness[joint] += spring.stiffness
        if spring.stiffness:  # several on a joint are one about the mean of their rests
            rest = before * own.qpos_spring[at] + spring.stiffness * spring.rest
            own.qpos_spring[at] = rest / own.jnt_stiffness[joint]
    own.opt.timestep, own.opt.gravity = dt, flat.gravity
    own.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    own.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    return own


class States:
    """The way from q and v of a model to MuJoCo's qpos and qvel, and back.

    Both have the same joints in the same order. MuJoCo's quaternions are (w, x, y, z), ours (x, y, z, w); the linear
    velocity of its free joints is in world axes, ours in body axes.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    order, back : (nq,) arrays of int
        ``qpos = q[order]`` and ``q = qpos[back]``.
    """

    def __init__(self, model: Model):
        flat, index = model.flat, model.index
        self.nq, self.nv = model.nq, model.nv
        self.order = np.arange(model.nq)
        self.free = []
        self.quaternions = []
        for kind, iq, iv in zip(flat.kind.tolist(), index.iq.tolist(), index.iv.tolist(), strict=True):
            if kind in (BALL, FREE):
                at = iq + 3 * (kind == FREE)
                self.order[at : at + 4] = [at + 3, at, at + 1, at + 2]
                self.quaternions.append(at)
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

    def to_mujoco(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return qpos (nq,) and qvel (nv,) of a state q (nq,), v (nv,) [m, rad, m/s, rad/s].

        Raises an InputError if an array has a wrong shape, or entries that are not finite.
        """
        q, v = entries(q, (self.nq,), "q"), entries(v, (self.nv,), "v")
        return q[self.order], self.velocity(q, v, 1.0)

    def from_mujoco(self, qpos: ArrayLike, qvel: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,) of MuJoCo's qpos (nq,) and qvel (nv,) [m, rad, m/s, rad/s].

        Quaternions get length one, as MuJoCo takes them.

        Raises
        ------
        InputError
            If an array has a wrong shape, or entries that are not finite, or a quaternion is zero.
        """
        q, v = entries(qpos, (self.nq,), "qpos")[self.back], entries(qvel, (self.nv,), "qvel")
        for at in self.quaternions:
            length = float(np.linalg.norm(q[at : at + 4]))
            if not length:
                raise InputError("qpos", qpos, f"has a quaternion of zeros at {at}; give it length one")
            if abs(length - 1.0) > UNIT:
                q[at : at + 4] /= length
        return q, self.velocity(q, v, -1.0)


@contextlib.contextmanager
def heard(hear: Callable[[str], object] = lambda text: None) -> Iterator[None]:
    """Let MuJoCo say its warnings to ``hear``, and not on stderr and in a file of the working directory."""
    import mujoco

    with _one:
        mujoco.set_mju_user_warning(hear)
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(None)


def blown(data: MjData) -> bool:
    """Return whether a state has blown up, or MuJoCo has reset it."""
    import mujoco

    bad = mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC
    return not np.abs(data.qvel).max(initial=0.0) < LOST or any(data.warning.number[each] for each in bad)


def run(model: Model, method: str, q: np.ndarray, v: np.ndarray, dt: float, steps: int, every: int, acting: Acting,
        report: Callable[[int, int], object] | None = None) -> Motion:  # fmt: skip
    """Return a run by MuJoCo's ``mj_step``.

    Parameters
    ----------
    model : Model
    method : {"euler", "implicit", "implicitfast", "rk4"}
    q, v : arrays
        The start.
    dt : float [s]
    steps, every : int
    acting : Acting
    report : callable, optional
        Called as report(done, steps).

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a part of it.
    ArithmeticError
        If the state blows up.
    """
    import mujoco

    if model.velocity_limits == "enforce":
        raise NotImplementedError("velocity limits that are enforced")
    theirs, way = mujoco_model(model, dt, method), States(model)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = way.to_mujoco(q, v)
    data.ctrl[:] = [at.kp * at.target + at.kd * at.rate for at in acting.servos]
    for _, iv in way.free:
        if len({*model.damping[iv : iv + 3].tolist()}) > 1:
            raise NotImplementedError("damping of a free joint that differs by direction")

    def pushed(_: MjModel, at: MjData) -> None:
        own = at.qpos[way.back]
        for iq in way.quaternions:
            own[iq : iq + 4] /= np.linalg.norm(own[iq : iq + 4])
        force = acting.unknown(at.time, own, way.velocity(own, at.qvel, -1.0))
        at.qfrc_applied[:] = way.velocity(own, force, 1.0)

    asks = acting.asks or bool(way.free and acting.constant.any())
    if not asks:
        data.qfrc_applied[:] = acting.constant
    t, qs, vs, seconds, done, touches = [0.0], [q], [v], 0.0, 0, TouchLog(model)
    with heard():
        mujoco.set_mjcb_control(pushed if asks else None)
        try:
            while done < steps:
                count = min(every, steps - done)
                start = time.perf_counter()
                mujoco.mj_step(theirs, data, nstep=count)
                seconds += time.perf_counter() - start
                done += count
                if blown(data):
                    raise ArithmeticError(f"its state blows up before t = {done * dt:g} s")
                one, other = way.from_mujoco(data.qpos, data.qvel)
                t.append(done * dt)
                qs.append(one)
                vs.append(other)
                touches.take(theirs, data, len(t) - 1)
                if report is not None:
                    report(done, steps)
        finally:
            mujoco.set_mjcb_control(None)
    log = touches.log(dt) if model.has_contact else None
    return Motion(np.array(t), np.array(qs), np.array(vs), seconds, log)
