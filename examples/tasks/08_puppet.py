"""The puppet of trep's examples hangs on six strings; those of arms and legs are pulled: python 08_puppet.py"""

import numpy as np

import vitree as vt

LIMBS = {"arm": (1.3, 0.4, 1.9, 1.0), "leg": (0.5, -3.0, 3.0, 1.5)}  # x and z at the torso, length, centre of mass [m]
CORDS = {"torso": ((1.011, 0, 0.658), (1, 0, 14), 13.4, 0.0), "leg": ((0, -0.322, -2.59), (0.5, -2.6, 14), 16.6, -0.4),
         "arm end": ((0.14, -0.173, -2.001), (1.44, -2, 14), 15.4, 0.25)}  # eye, hook, length, pull [m]  # fmt: skip
tree, motion, bent = vt.Tree("puppet", gravity=(0, 0, -9.8)), {}, {"leg 2": -1.57, "leg 3": 1.57, "arm 3": -1.57}
torso = tree.world.add(*vt.pairs.euler("torso", damping=0.1), vt.body("torso", 50.0, com=(0, 0, -1.5)))
torso.add(vt.frame("left torso"), vt.frame("right torso"), vt.tz(1.4), vt.body("head", 10.0, (1, 1, 1)))
for side, s in (("left", 1), ("right", -1)):
    for limb, (x, z, size, com) in LIMBS.items():
        turns = [make(f"{side} {limb} {k}", damping=0.1) for k, make in enumerate((vt.rz, vt.ry, vt.rx, vt.rx))]
        upper = vt.body(f"{side} {limb}", 5.0, (1, 1, 1), com=(0, 0, -size / 2))
        lower = vt.body(f"{side} {limb} end", 4.0, (1, 1, 1), com=(0, 0, -com))
        torso.add(vt.tx(s * x), vt.tz(z), *turns[:3], upper, vt.tz(-size), turns[3], lower)
    for part, (at, above, length, pull) in CORDS.items():
        eye, hook, string = (f"{side} {part} {word}" for word in ("eye", "hook", "string"))
        tree.frame(f"{side} {part}").add(vt.fixed(eye, xyz=at * np.array([s, 1, 1])))
        tree.world.add(vt.fixed(hook, xyz=above * np.array([s, 1, 1])), vt.tz(string, kinematic=True))
        tree.constrain(vt.Distance(eye, hook, string))
        motion[string] = length - s * pull * (1 - np.cos(0.6 * np.pi * np.linspace(0.0, 10.0, 1001)))
model = tree.compile()
near = [motion[name][0] if name in motion else bent.get(name.partition(" ")[2], 0.0) for name in model.joint_names]
q0 = vt.satisfy_constraints(model, near, hold=list(motion))
run = vt.simulate(model, q0, duration=10.0, dt=0.01, method="midpoint", control=vt.Control(prescribed=motion))
print(f"strings off by {abs(run.constraint).max():.0e} m, their pull is {-run.multipliers[1:].max():.0f} N at least")
