"""A counterweight holds a swinging load by a rope over two pulleys, which catches it: python 20_rope_and_pulley.py"""

import numpy as np

import vitree as vt

crane = vt.Tree("crane", gravity=(0, 0, -9.81))
crane.world.add(vt.tz("lift", lower=-1.9, upper=-0.1), vt.body("counterweight", 10.0))
crane.world.add(vt.fixed("first pulley", (0, 0, 0)), vt.fixed("second pulley", (1, 0, 0)))
crane.world.add(vt.tx("x"), vt.tz("z"), vt.body("load", 6.0))
rope = vt.Rope(["counterweight", "first pulley", "second pulley", "load"], length=3.5, label="rope")
crane.constrain(rope)
crane.limits = "enforce"
model = crane.compile()

q0 = [-1.9, 1.3, 0.2]  # lift, x, z: the rope is slack, and the load falls
run = vt.simulate(model, q0, duration=5.0, dt=2e-3)
lift, x, z = run.q.T
slack = 3.5 - (np.abs(lift) + 1.0 + np.hypot(x - 1.0, z))
tension = run.contacts.force[np.array(run.contacts.a) == "rope", 0]
off, pull = max(-slack.min(), 0.0), tension.mean()
print(f"the rope is {off:.0e} m too long at most, slack by up to {slack.max():.2f} m; taut it pulls with {pull:.1f} N")
