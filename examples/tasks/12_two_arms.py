"""Two arms of one file beside each other, each of which goes to a posture of its own: python 12_two_arms.py"""

import numpy as np

import vitree as vt

GOALS = {"left": [0.4, 0.6, 0.5, 0, 0.4, 0], "right": [-0.4, 0.3, 0.9, 0, 0.2, 0]}  # rad

world = vt.World()
for name, y in (("left", 0.4), ("right", -0.4)):
    world.add("arm6", name, at=(0, y, 0), drives={"*": (8000, 800)})
model = world.compile()
goal = np.concatenate([*GOALS.values()])
run = vt.simulate(model, duration=3.0, dt=2e-3, control=vt.Control(targets=goal))

off = np.abs(run.q[-1] - goal).max()
sag = np.abs(model.rnea(run.q[-1], 0 * goal, 0 * goal) / 8000).max()
print(f"{len(model.joints)} joints, off by {off:.4f} rad, of which {sag:.4f} are the sag of the drives")
