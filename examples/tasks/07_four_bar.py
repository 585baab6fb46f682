"""A four-bar linkage: a tree cut at a pin, which a constraint closes: python 07_four_bar.py"""

import vitree as vt

tree = vt.Tree("four-bar linkage")
pin = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", 1.0))
pin.add(vt.ry("bend"), vt.tz(-1.0), vt.body("tip", 1.0))
tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(-0.9), vt.body("end", 2.0))
tree.constrain(vt.point_constraint("tip", "end", [(1, 0, 0), (0, 0, 1)]))  # in the plane
model = tree.compile()

q0 = vt.satisfy_constraints(model, [0.5, -1.0, 0.2], hold=["crank"])  # rad
v0 = model.project_velocity(q0, [6.0, 0.0, 0.0])  # rad/s; the nearest that the loop allows
run = vt.simulate(model, q0, v0, duration=20.0, dt=2e-3)

drift = abs(run.energy - run.energy[0]).max() / run.kinetic.max()
print(f"loop open by {abs(run.constraint).max():.0e} m at most, energy off by {drift:.0e} of the kinetic energy")
