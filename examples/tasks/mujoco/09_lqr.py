"""A regulator (LQR) holds a double pendulum upright by the motor of its shoulder."""

from pathlib import Path

import mujoco
import numpy as np
from scipy.linalg import solve_discrete_are

spec = mujoco.MjSpec.from_file(str(Path(__file__).parents[3] / "urdf" / "double_pendulum.urdf"))
spec.add_actuator(target="hinge1", trntype=mujoco.mjtTrn.mjTRN_JOINT)
spec.option.timestep = 0.01
model = spec.compile()
data, upright = mujoco.MjData(model), np.array([np.pi, 0.0])
data.qpos = upright
A, B = np.zeros((4, 4)), np.zeros((4, 1))
mujoco.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None)
P = solve_discrete_are(A, B, np.eye(4), [[0.1]])
K = np.linalg.solve(0.1 + B.T @ P @ B, B.T @ P @ A)

data.qpos = upright + np.array([0.05, -0.05])
for _ in range(500):
    data.ctrl = -K @ np.concatenate((data.qpos - upright, data.qvel))
    mujoco.mj_step(model, data)
print(f"off upright by 0.05 rad at the start, {abs(data.qpos - upright).max():.0e} at the end")
