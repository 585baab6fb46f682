"""A thousand arms swing from random starts for a second, on all cores: python 05_rollouts.py"""

import numpy as np

import vitree as vt

model = vt.load_urdf(vt.find_robot("arm6"))
starts = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, model.nq))  # rad
runs = vt.rollout(model, starts, duration=1.0, dt=1e-3, record_every=1000)

alone = vt.simulate(model, starts[7], duration=1.0, dt=1e-3)
same = np.array_equal(runs.q[7, -1], alone.q[-1])
print(f"1000 runs of 1000 steps; run 7 has the bits of a run alone: {same}")
