"""A loop of control: an arm goes to a posture by PD torques and compensation of its weight."""

from pathlib import Path

import mujoco
import numpy as np

GOAL = np.array([1.2, 0.6, 0.9, -0.8, 0.7, 2.0])  # rad
KP = np.array([900, 900, 400, 60, 60, 8])  # N m/rad
KD = np.array([175, 233, 56, 2.3, 2.1, 0.12])  # N m s/rad, about critical

model = mujoco.MjModel.from_xml_path(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
model.opt.timestep = 1e-3
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
data = mujoco.MjData(model)
for _ in range(5000):
    mujoco.mj_step1(model, data)
    data.qfrc_applied = KP * (GOAL - data.qpos) - KD * data.qvel + data.qfrc_bias
    mujoco.mj_step2(model, data)

print(f"off the goal by {abs(data.qpos - GOAL).max():.0e} rad after {data.time:g} s")
