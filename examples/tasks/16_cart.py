"""A cart on four wheels of rubber drives a circle by the speeds of its wheels: python 16_cart.py"""

import numpy as np

import vitree as vt

cart = vt.Tree("cart")
frame = cart.world.add(vt.free("base"), vt.body("cart", 10.0, (0.2, 0.3, 0.4)))
for name, x, y in (("fl", 0.2, 0.2), ("fr", 0.2, -0.2), ("rl", -0.2, 0.2), ("rr", -0.2, -0.2)):
    frame.add(vt.tx(x), vt.ty(y), vt.ry(name), vt.body(f"{name}_wheel", 0.5, (2e-3, 3e-3, 2e-3)))
    cart.contact(vt.Contact(f"{name}_wheel", shapes=(vt.Sphere(0.1),)))
    cart.load(vt.Drive(name, 0.0, 2.0, target_rate=f"{name} speed"))
cart.contact(vt.Contact("cart", points=[(0, 0, 0.1)]), vt.Ground(friction=0.7))
model = cart.compile()

q0 = vt.place_on_ground(model, model.neutral())
speeds = {f"{side} speed": 6.0 if side[1] == "l" else 8.0 for side in ("fl", "fr", "rl", "rr")}  # rad/s
run = vt.simulate(model, q0, duration=5.0, dt=2e-3, control=vt.Control(inputs=speeds))
turn = np.unwrap(2 * np.arctan2(run.q[:, 5], run.q[:, 6]), period=2 * np.pi)[-1]
sunk = max(-run.contacts.gap.min(), 0.0)
print(f"it turned by {np.degrees(turn):.0f} degrees and is {np.hypot(*run.q[-1, :2]):.3f} m away; {sunk:.0e} m deep")
