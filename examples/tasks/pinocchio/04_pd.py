"""A loop of control: an arm goes to a posture by PD torques and compensation of its weight."""

from pathlib import Path

import numpy as np
import pinocchio as pin

GOAL = np.array([1.2, 0.6, 0.9, -0.8, 0.7, 2.0])  # rad
KP = np.array([900, 900, 400, 60, 60, 8])  # N m/rad
KD = np.array([175, 233, 56, 2.3, 2.1, 0.12])  # N m s/rad, about critical

model = pin.buildModelFromUrdf(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
data, dt = model.createData(), 1e-3
q, v = pin.neutral(model), np.zeros(model.nv)
for _ in range(5000):
    torque = KP * (GOAL - q) - KD * v + pin.nonLinearEffects(model, data, q, v)
    v += dt * pin.aba(model, data, q, v, torque)
    q = pin.integrate(model, q, dt * v)

print(f"off the goal by {abs(q - GOAL).max():.0e} rad after {5000 * dt:g} s")
