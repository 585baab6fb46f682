"""Models whose steps are linearised in tests, and the methods that are linearised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from loaded_models import conservative_loads, driving_loads, random_tree, singles
from random_models import random_flat, with_rotors

import vitree as vt

METHODS = [
    ("linear-time", {}), ("linear-time", {"kinetic": "screw"}), ("linear-time", {"kinetic": "com"}), ("midpoint", {}),
    ("midpoint", {"alpha": 0.3}),
]  # fmt: skip
COMPOSED = [(name, {"order": order}) for name in ("linear-time", "midpoint") for order in (4, 6, 8)]
ALL = METHODS + COMPOSED
IDS = [f"{name}-{'-'.join(map(str, options.values()))}".rstrip("-") for name, options in ALL]


def rubbing_model(seed, kinds, **more):
    """A random tree with damping, friction, armature; and drives on half of its joints of one coordinate."""
    rng = np.random.default_rng(seed)
    flat = with_rotors(random_flat(rng, nbody=5, kinds=kinds, damping=True, **more), seed)
    single = np.repeat(np.isin(flat.kind, (0, 1, 2)), np.array([1, 1, 1, 3, 6])[flat.kind])
    drives = [
        vt.Drive(name, 20.0, 1.5, target=f"{name} goal", target_rate=f"{name} rate") for name in singles(flat)[::2]
    ]
    return vt.Model(replace(flat, friction=np.where(single, 0.3, 0.0), loads=tuple(drives)))


def plain_model(seed, kinds, **more):
    return vt.Model(random_flat(np.random.default_rng(seed), nbody=5, kinds=kinds, **more))


def loaded_model(seed, base):
    """A tree with every load that does not depend on velocities."""
    flat, q, v = random_tree(seed, nbody=6, base=base, damping=True)
    loads = [load for load in driving_loads(flat) if not isinstance(load, vt.Damper)]
    used = {load.joint for load in loads if isinstance(load, vt.JointForce)}
    drive = vt.Drive(next(name for name in singles(flat) if name not in used), 20.0, 1.0, target="goal")
    return vt.Model(replace(flat, loads=(*conservative_loads(flat), *loads, drive))), q, v


def carried_model():
    """A cart that is moved as prescribed, with a ball joint and a hinge on it, whose ends a rod keeps apart."""
    tree = vt.Tree("carried")
    cart = tree.world.add(vt.tx("drive", kinematic=True), vt.body("cart", 1.0))
    arm = vt.body("arm", 0.7, (0.02, 0.03, 0.01), com=(0.1, 0.0, -0.4))
    cart.add(vt.ball("shoulder"), arm, vt.tz(-0.8), vt.frame("hand"))
    hung = cart.add(vt.tx(0.6), vt.ry("swing", damping=0.1), vt.tz(-1.0), vt.body("mass", 0.3))
    # a prescribed coordinate that carries nothing
    tree.world.add(vt.tz("idle", kinematic=True))
    hung.add(vt.rx("turn", kinematic=True), vt.body("wheel", 0.2, (0.01, 0.02, 0.01), com=(0.0, 0.1, 0.0)))
    tree.constrain(vt.Distance("hand", "mass", 0.7))
    return tree.compile()
