"""A finger pushes a box over the floor, takes hold of it, and drags it back: python 17_push_and_drag.py"""

import numpy as np

import vitree as vt

finger = vt.Tree("finger")
finger.world.add(vt.tz(0.05), vt.tz("lift"), vt.tx("reach"), vt.body("tip", 1.0, (0.01, 0.01, 0.01)))
finger.contact(vt.Contact("tip", shapes=(vt.Sphere(0.02),), friction=0.3))
world = vt.World(ground=vt.Ground(friction=0.5))
world.add(finger, "finger", drives={"reach": (5000, 300), "lift": (2000, 100)})
world.add(vt.Box((0.1, 0.1, 0.1)), "box", at=(0.1, 0, 0.05), mass=2.0, friction=0.5)
sim = vt.Simulation(world.compile(), dt=2e-3, record_every=1)

for place in np.linspace(0, 0.25, 500):
    sim.step(control=vt.Control(targets={"finger/reach": float(place)}))
pushed, push = sim["box"].position[0], abs(sim.contact_wrench("finger/tip")[3])
sim.attach("box", to="finger/tip")
for place in np.linspace(0.25, -0.1, 700):
    sim.step(control=vt.Control(targets={"finger/reach": float(place)}))
run, dragged = sim.trajectory, sim["box"].position[0]
drag = abs(run.contact_wrench("box")[-200:, 3].mean())
print(f"pushed to x = {pushed:.4f} m with {push:.2f} N, dragged to x = {dragged:.4f} m with {drag:.2f} N")
