"""The same mechanisms in MuJoCo, as the force-balance baseline in place of the paper's ODE.

MuJoCo works in joint coordinates; what it has in common with ODE is that pins are held by forces like those
of damped springs. Their time constant is two steps here, the least that MuJoCo takes and its own choice at
0.01 s. Needs the package mujoco; without it ``simulate`` returns None.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

try:
    import mujoco
except ImportError:
    mujoco = None

#: MuJoCo wants all moving bodies to have mass and inertia [kg, kg m^2].
LEAST = 1e-9
#: Speed at which a run has failed [m/s or rad/s].
BOUND = 1e4


@dataclass
class Run:
    """Recorded times, configurations, velocities and energies, and the seconds spent in steps."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy: np.ndarray
    seconds: float


def convert(model, dt: float, impedance: float):
    """The MuJoCo model of a vitree model of hinges and slides, with pins between frames in the plane x-z."""
    flat, spec = model.flat, mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = dt, flat.gravity
    spec.compiler.balanceinertia = False
    bodies = []
    for i, parent in enumerate(flat.parent):
        above = spec.worldbody if parent < 0 else bodies[parent]
        bodies.append(above.add_body(pos=flat.p[i], quat=_quaternion(flat.E[i])))
        # axes of both joints are z of the body's frame
        kind = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)[flat.kind[i]]
        bodies[i].add_joint(type=kind, axis=(0, 0, 1))
        bodies[i].explicitinertial = True
        bodies[i].mass, bodies[i].ipos = max(flat.mass[i], LEAST), flat.com[i]
        inertia = flat.inertia[i] + LEAST * np.eye(3)
        bodies[i].fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    for k, (a, b) in enumerate(dict.fromkeys((c.a, c.b) for c in model.constraints)):
        for frame in (a, b):
            index = -1 if frame == "world" else model.frame_names.index(frame)
            body = spec.worldbody if index < 0 else bodies[flat.frame_body[index]]
            body.add_site(name=f"{frame} {k}", pos=(0, 0, 0) if index < 0 else flat.frame_p[index])
        pin = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE)
        pin.name1, pin.name2 = f"{a} {k}", f"{b} {k}"
        pin.solref = 2 * dt, 1
        pin.solimp = impedance, impedance, 0.001, 0.5, 2
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return spec.compile()


def simulate(model, q0, v0=None, *, duration, dt, record_every: int = 1, impedance: float = 0.95) -> Run | None:
    """Run MuJoCo's semi-implicit Euler from a state; None without MuJoCo.

    ``impedance`` is the share of the force that would hold the pins exactly: 0.95 is MuJoCo's own choice, 0.9999
    about the most it takes. A run whose speeds get out of all bounds ends there.
    """
    if mujoco is None:
        return None
    mujoco.set_mju_user_warning(lambda text: None)
    peer = convert(model, dt, impedance)
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:] = q0, 0.0 if v0 is None else v0
    rows, seconds = round(duration / dt) // record_every, 0.0
    q, v = np.empty((rows + 1, model.nq)), np.empty((rows + 1, model.nv))
    q[0], v[0] = data.qpos, data.qvel
    for k in range(1, rows + 1):
        began = time.perf_counter()
        mujoco.mj_step(peer, data, nstep=record_every)
        seconds += time.perf_counter() - began
        if not np.abs(data.qvel).max() < BOUND:
            q, v = q[:k], v[:k]
            break
        q[k], v[k] = data.qpos, data.qvel
    energy = model.kinetic_energy(q, v) + model.potential_energy(q)
    return Run(dt * record_every * np.arange(len(q)), q, v, energy, seconds)


def _quaternion(rotation) -> np.ndarray:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion
