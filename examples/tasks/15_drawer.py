"""A hand pulls a drawer by its handle until it meets its stop, and lets go: python 15_drawer.py"""

import numpy as np

import vitree as vt

world = vt.World(gravity=(0, 0, -9.81))
case, hand = vt.Tree("case"), vt.Tree("hand")
slide = vt.tx("slide", lower=0.0, upper=0.3, dry_friction=4.0)
case.world.add(slide, vt.body("drawer", 3.0, (0.1, 0.1, 0.1)), vt.tx(0.2), vt.frame("handle"))
hand.world.add(vt.tx("reach"), vt.body("palm", 1.0, (0.01, 0.01, 0.01)))
world.add(case, "case")
world.add(hand, "hand", at=(0.2, 0, 0), drives={"reach": (2000, 200)})
sim = vt.Simulation(world.compile(), dt=2e-3, record_every=1)

sim.attach("hand/palm", to="case/handle", name="grip")
for place in np.linspace(0, 0.35, 400):
    sim.step(control=vt.Control(targets={"hand/reach": float(place)}))
stop, pull = sim["case/drawer"].position[0], 2000 * (0.35 - sim["hand/palm"].position[0] + 0.2)
sim.detach("grip")
sim.step(400, control=vt.Control(targets={"hand/reach": 0.0}))
left = sim["case/drawer"].position[0]
print(f"open by {stop:.6f} m under a pull of {pull:.0f} N, and {left:.6f} m when the hand has let go")
