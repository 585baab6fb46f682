"""A loop of control: an arm goes to a posture by PD torques and compensation of its weight: python 04_pd.py"""

import numpy as np

import vitree as vt

GOAL = np.array([1.2, 0.6, 0.9, -0.8, 0.7, 2.0])  # rad
KP = np.array([900, 900, 400, 60, 60, 8])  # N m/rad
KD = np.array([175, 233, 56, 2.3, 2.1, 0.12])  # N m s/rad, about critical

model = vt.load_urdf(vt.find_robot("arm6"))
rest = model.zero_velocity()


def control(t, q, v):
    return KP * (GOAL - q) - KD * v + model.rnea(q, v, rest)


run = vt.simulate(model, duration=5.0, dt=1e-3, control=control)
print(f"off the goal by {abs(run.q[-1] - GOAL).max():.0e} rad after {run.t[-1]:g} s")
