"""A scene of a table, a cup and a ball that comes to rest beside it, by names: python 11_table.py"""

import numpy as np

import vitree as vt

world = vt.World(ground=vt.Ground(friction=(0.6, 0.0, 0.002)))
world.add(vt.Box((0.8, 0.6, 0.04)), "table", at=(0, 0, 0.7))
world.add(vt.Cylinder(0.04, 0.12), "cup", at=(0, 0, 0.78), mass=0.3)
world.add(vt.Sphere(0.03), "ball", at=(0.25, 0.1, 0.85), mass=0.05)
sim = vt.Simulation(world.compile(), dt=2e-3, record_every=1)
sim.step(1000)

run, cup, ball = sim.trajectory, sim["cup"].position, sim["ball"].position
sunk = -min(run.contacts.gap.min(), 0.0)
moved = np.abs(cup - (0, 0, 0.78)).max()
print(f"the cup moved {moved:.0e} m, the ball rests at z = {ball[2]:.4f} m; {sunk:.0e} m deep at most")
