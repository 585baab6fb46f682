"""A gripper of two fingers on an arm, attached by a prefix: it closes, and opens again: python 13_gripper.py"""

import numpy as np

import vitree as vt

hand = vt.Tree("hand")
palm = hand.world.add(vt.body("palm", 0.4, (1e-3, 1e-3, 1e-3)))
for side, y in (("left", 0.04), ("right", -0.04)):
    palm.add(vt.ty(y), vt.ty(f"{side}_finger"), vt.tz(0.08), vt.body(side, 0.05, (1e-5, 1e-5, 1e-5)))
hand.constrain(vt.gear("right_finger", "left_finger", -1.0))

arm = vt.read_urdf(vt.find_robot("arm6"))
arm.attach(hand, at="flange", prefix="hand_")
model = arm.compile().reduced().with_drives({"*_joint": (8000, 800), "hand_*": (500, 50)})
places = {"closed": -0.03, "open": 0.01}  # m
sim = vt.Simulation(model, dt=2e-3)
for word, place in places.items():
    sim.step(500, control=vt.Control(targets={"hand_left_finger": place}))
    width = np.linalg.norm(sim["hand_left"].position - sim["hand_right"].position)
    print(f"{word}: {1e3 * width:.1f} mm between the fingers, which should be {1e3 * (0.08 + 2 * place):.1f} mm")
