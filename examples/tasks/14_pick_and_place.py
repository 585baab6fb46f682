"""A suction cup on three slides takes a box, carries it, and lets go of it: python 14_pick_and_place.py"""

import numpy as np

import vitree as vt

crane = vt.Tree("crane")
at = crane.world
for axis, slide, name, mass in ((vt.tx, "x", "bridge", 5.0), (vt.ty, "y", "trolley", 2.0), (vt.tz, "z", "cup", 0.5)):
    at = at.add(axis(slide), vt.body(name, mass, (0.01, 0.01, 0.01)))
world = vt.World(ground=vt.Ground(friction=0.6))
world.add(crane, "crane", drives={"*": (20000, 900)}, start={"z": 0.4})
world.add(vt.Box((0.1, 0.1, 0.1)), "box", at=(0, 0, 0.05), mass=1.0)
model = world.compile()

sim = vt.Simulation(model, dt=2e-3, record_every=5)
t = np.linspace(0, 1, 251)
s = t**3 * (10 - 15 * t + 6 * t**2)
for way, end in (((0, 0, 0.4), (0, 0, 0.11)), ((0, 0, 0.11), (0.5, 0.3, 0.4)), ((0.5, 0.3, 0.4), (0.5, 0.3, 0.11))):
    for x, y, z in np.outer(1 - s, way) + np.outer(s, end):
        sim.step(control=vt.Control(targets={"crane/x": float(x), "crane/y": float(y), "crane/z": float(z)}))
    if len(sim.changes) == 0:
        sim.attach("box", to="crane/cup", name="suction")
sim.detach("suction")
sim.step(250)
off = np.abs(sim["box"].position - (0.5, 0.3, 0.05))
print(f"the box is {1e3 * off.max():.1f} mm off its place, at rest within {np.abs(sim['box'].velocity).max():.0e} m/s")
