"""A thousand arms swing from random starts for a second, on all cores."""

import os
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout

model = mujoco.MjModel.from_xml_path(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
model.opt.timestep = 1e-3
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
starts = np.zeros((1000, 1 + model.nq + model.nv))  # time, qpos, qvel
starts[:, 1 : 1 + model.nq] = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, model.nq))  # rad
data = [mujoco.MjData(model) for _ in range(os.cpu_count())]
states, _ = rollout.rollout(model, data, starts, nstep=1000)

alone, _ = rollout.rollout(model, data[:1], starts[7:8], nstep=1000)
same = np.array_equal(states[7, -1], alone[0, -1])
print(f"1000 runs of 1000 steps; run 7 has the bits of a run alone: {same}")
