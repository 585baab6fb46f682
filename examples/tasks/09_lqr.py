"""A regulator (LQR) holds a double pendulum upright by the motor of its shoulder: python 09_lqr.py"""

import numpy as np

import vitree as vt
from vitree.control import lqr

model = vt.load_urdf(vt.find_robot("double_pendulum"))
upright = np.array([np.pi, 0.0])
step = vt.linearize(model, upright, dt=0.01)  # exact derivatives of a step
regulator = lqr(step, Q=np.ones(4), R=[0.1], actuators=["hinge1"])

run = vt.simulate(model, upright + np.array([0.05, -0.05]), duration=5.0, dt=0.01, control=regulator.controller())
off = abs(run.q - upright).max(axis=1)
print(f"off upright by {off[0]:.2f} rad at the start, {off[-1]:.0e} at the end")
