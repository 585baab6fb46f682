"""A regulator (LQR) holds a double pendulum upright by the motor of its shoulder."""

from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.linalg import expm, solve_discrete_are

model = pin.buildModelFromUrdf(str(Path(__file__).parents[3] / "urdf" / "double_pendulum.urdf"))
data, dt, damping = model.createData(), 0.01, model.damping
rest = np.zeros(model.nv)
upright = pin.integrate(model, pin.neutral(model), np.array([np.pi, 0.0]))
pin.computeABADerivatives(model, data, upright, rest, rest)
rates = np.zeros((5, 5))  # of (q, v, torque), which is held over a step
rates[:2, 2:4], rates[2:4, :2], rates[2:4, 4:] = np.eye(2), data.ddq_dq, data.Minv[:, :1]
rates[2:4, 2:4] = data.ddq_dv - data.Minv * damping
A, B = np.split(expm(dt * rates)[:4], [4], axis=1)
P = solve_discrete_are(A, B, np.eye(4), [[0.1]])
K = np.linalg.solve(0.1 + B.T @ P @ B, B.T @ P @ A)

q, v = pin.integrate(model, upright, np.array([0.05, -0.05])), np.zeros(2)
for _ in range(500):
    torque = np.array([(-K @ np.concatenate((pin.difference(model, upright, q), v)))[0], 0.0]) - damping * v
    v += dt * pin.aba(model, data, q, v, torque)
    q = pin.integrate(model, q, dt * v)
print(f"off upright by 0.05 rad at the start, {abs(pin.difference(model, upright, q)).max():.0e} at the end")
