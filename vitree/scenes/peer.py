"""Scenes in MuJoCo: the same mechanism, contacts, drives and start, recorded in the coordinates of our model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from vitree.engines.mujoco import States, blown, heard, mujoco_model
from vitree.results.contacts import ContactLog
from vitree.scenes.base import Motion, Stage

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


def compiled(stage: Stage) -> MjModel:
    """Return the MjModel of a stage.

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a part of it.
    """
    integrator = stage.peer.get("integrator", "implicitfast")
    return mujoco_model(stage.model, stage.dt, integrator, stage.peer.get("timeconst"))


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
    with heard():
        return _run(stage)


def _run(stage: Stage) -> Motion:
    import mujoco

    model, way = compiled(stage), States(stage.model)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = way.to_mujoco(stage.q, stage.v)
    flat = stage.model.flat
    for link, (*torque, fx, fy, fz) in stage.wrenches.items():
        row = 1 + int(flat.frame_body[flat.frame_names.index(link)])
        data.xfrc_applied[row] = [fx, fy, fz, *torque]
    kp = np.array([load.kp for load in stage.model.drives])
    still = [load.target for load in stage.model.drives if not isinstance(load.target, str)]
    if len(still) and stage.targets is None:
        data.ctrl[:] = kp * still
    times, q, v, pushes, seconds = [0.0], [stage.q], [stage.v], [np.zeros(3)], 0.0
    rows: list[np.ndarray] = []
    for k in range(stage.steps):
        if stage.targets is not None:
            data.ctrl[:] = kp * stage.targets[k]
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
        if blown(data):
            raise ArithmeticError(f"its state blows up at t = {(k + 1) * stage.dt:.6g} s")
    log = ContactLog(np.array(rows).reshape(-1, 9), (("body", "ground"), ("body", "body")))
    return Motion(t=np.array(times), q=np.array(q), v=np.array(v), seconds=seconds, impulse=np.array(pushes), log=log)


def _contacts(model: MjModel, data: MjData, record: int, dt: float) -> list[np.ndarray]:
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
