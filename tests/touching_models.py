"""Mechanisms that touch the ground and themselves, for tests: several joints, points, balls, boxes, patches."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch

import numpy as np

import vitree as vt

GROUNDS = {
    "plane": vt.Ground(friction=0.6),
    "slope": vt.Ground(height=0.1, normal=(0.2, -0.1, 1.0), friction=0.4),
    "corner": vt.Ground(friction=0.5, planes=[((1.0, 0.0, 0.3), -0.6)]),
    "hills": vt.Ground(friction=0.5, terrain=vt.HeightField(
        lambda x, y: 0.05 * np.sin(2 * x) * np.cos(3 * y), 0.25, (-5, -5, 0), (40, 40))),
    "ice": vt.Ground(friction=0.0),
}  # fmt: skip


def crawler(ground: vt.Ground, limits: bool = False) -> vt.Model:
    """A trunk with two legs of two joints, on points; a ball at one foot, a capsule at the other; a loose ball."""
    tree = vt.Tree("crawler")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 3.0, (0.05, 0.06, 0.04)))
    tree.contact(ground, vt.Contact("trunk", points=[(s * 0.2, r * 0.15, -0.1) for s in (-1, 1) for r in (-1, 1)]))
    tree.contact(vt.Contact("trunk", shapes=vt.Box((0.4, 0.3, 0.2))))
    bound = {"lower": -0.5, "upper": 0.6} if limits else {}
    for side, x in (("left", 0.25), ("right", -0.25)):
        thigh = trunk.add(vt.tx(x), vt.ry(f"{side}_hip", **bound), vt.tz(-0.3),
                          vt.body(f"{side}_thigh", 1.0, (0.02, 0.02, 0.005)))  # fmt: skip
        thigh.add(vt.tz(-0.1), vt.rx(f"{side}_knee", **bound), vt.tz(-0.25),
                  vt.body(f"{side}_foot", 0.7, (0.01, 0.01, 0.01)))  # fmt: skip
        tree.contact(vt.Contact(f"{side}_thigh", points=[(0.05, 0.02, -0.1), (-0.05, 0.03, -0.12), (0, -0.04, -0.1)]))
    tree.contact(vt.Contact("left_foot", shapes=vt.Sphere(0.08)))
    tree.contact(vt.Contact("right_foot", shapes=vt.Capsule(0.06, 0.2)))
    tree.world.add(vt.free("loose"), vt.body("ball", 0.5, (0.002,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)))
    tree.limits = "enforce" if limits else "report"
    return tree.compile()


def thrown(model: vt.Model, seed: int, lift: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, v) above the ground, turned and moving."""
    rng = np.random.default_rng(seed)
    joints = model.nv - 12
    q = model.neutral()
    turns = [0, 0, 0, *rng.normal(size=3), *rng.uniform(-0.4, 0.4, joints), 0, 0, 0, *rng.normal(size=3)]
    q = model.integrate(q, np.array(turns))
    base, loose = (model.joint(name).q_slice.start for name in ("base", "loose"))
    q[base + 2], q[loose : loose + 3] = 2.0, (0.1, 0.05, 4.6)
    n = np.array((0.0, 0.0, 1.0)) if model.ground.terrain is not None else np.array(model.ground.normal)
    n, ball = n / np.linalg.norm(n), q[loose : loose + 3].copy()
    q = vt.place_on_ground(model, q)
    q[base + 2] += lift
    # as high as it is set on nothing but the ground, and not on the crawler
    height = n @ ball - (0.1 + model.contact_candidates.planes[0, 3] if len(model.contact_candidates.planes) else 0.0)
    q[loose : loose + 2] = (ball - height * n)[:2]
    q[loose + 2] = q[base + 2] + 0.7
    v = 1.5 * rng.normal(size=model.nv)
    v[model.joint("loose").v_slice.start + 2] = -3.0
    return q, v


def walker(seed: int) -> tuple[vt.Model, np.ndarray, np.ndarray]:
    """A trunk on one to three legs of two joints, with feet of random kinds, above the ground; the model, q and v."""
    rng = np.random.default_rng(seed)
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 3.0 + rng.random(), (0.05, 0.06, 0.04)))
    tree.contact(vt.Ground(friction=rng.choice([0.3, 0.6, 0.9])), vt.Contact("trunk", shapes=vt.Box((0.3, 0.2, 0.15))))
    corners = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.05, 0.05)]
    feet = (
        {"points": [(0, 0, -0.05)]}, {"points": corners}, {"shapes": vt.Sphere(0.06)},
        {"shapes": vt.Box((0.2, 0.1, 0.08))}, {"shapes": vt.Capsule(0.05, 0.15)},
    )  # fmt: skip
    legs = int(rng.integers(1, 4))
    for k in range(legs):
        angle = 2 * np.pi * k / legs + rng.random()
        bound = {"lower": -0.4, "upper": 0.5} if rng.random() < 0.3 else {}
        hip, knee = (vt.ry if rng.random() < 0.5 else vt.rx for _ in range(2))
        thigh = trunk.add(vt.tx(0.25 * np.cos(angle)), vt.ty(0.25 * np.sin(angle)), hip(f"hip{k}", **bound),
                          vt.tz(-0.25), vt.body(f"thigh{k}", 1.0, (0.02, 0.02, 0.005)))  # fmt: skip
        thigh.add(knee(f"knee{k}"), vt.tz(-0.2), vt.body(f"foot{k}", 0.6, (0.01, 0.01, 0.01)))
        tree.contact(vt.Contact(f"foot{k}", **feet[rng.integers(len(feet))]))
    tree.limits = "enforce" if rng.random() < 0.4 else "report"
    model = tree.compile()
    turns = np.concatenate([np.zeros(3), 0.15 * rng.normal(size=3), rng.uniform(-0.3, 0.3, model.nv - 6)])
    q = vt.place_on_ground(model, model.integrate(model.neutral(), turns))
    q[2] += 0.003
    return model, q, 0.5 * rng.normal(size=model.nv)


def crate() -> tuple[vt.Model, np.ndarray]:
    """A crate that stands on the corners of its base, and that configuration."""
    tree = vt.Tree("crate")
    tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.03, 0.04, 0.05)))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("crate", points=corners), vt.Ground(friction=0.5))
    model = tree.compile()
    return model, vt.place_on_ground(model, model.neutral())


def human_figure() -> vt.Model:
    """The human figure, with contacts at its boxes' corners and in its cylinders' ends, and damped joints."""
    flat = vt.load_urdf(vt.find_robot("human"), base="free").full.flat
    damping = flat.damping.copy()
    damping[6:] = 1.0
    contacts = []
    for shape in (each for each in flat.geometry if each.role == "visual"):
        size, place = np.atleast_1d(shape.size), {"rotation": shape.rotation, "position": shape.position}
        made = (vt.Box(tuple(size), **place) if shape.kind == "box" else
                vt.Cylinder(size[0], size[1], **place) if shape.kind in ("cylinder", "capsule") else
                vt.Sphere(size[0], position=shape.position))  # fmt: skip
        contacts.append(vt.Contact(shape.frame, shapes=made))
    return vt.Model(replace(flat, damping=damping, contacts=tuple(contacts), ground=vt.Ground(friction=0.7)))


def thrown_figure(model: vt.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, v) of the human figure above the ground, turned and moving, with no limbs in each other."""
    rng = np.random.default_rng(seed)
    apart = False
    while not apart:
        turn = np.concatenate([np.zeros(3), rng.standard_normal(3), 0.3 * rng.standard_normal(model.nv - 6)])
        q = vt.place_on_ground(model, model.integrate(model.neutral(), turn))
        q[2] += 0.3
        apart = model.contact_gaps(q).gap.min() > 0
    return q, np.concatenate([rng.standard_normal(3), 3 * rng.standard_normal(3), np.zeros(model.nv - 6)])


#: Robot -> frames of its feet, corners of a sole in them, a posture [rad].
STANDING = {
    "talos": (("left_sole_link", "right_sole_link"), [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)],
              {"leg_*_3_joint": -0.411354, "leg_*_4_joint": 0.859395, "leg_*_5_joint": -0.448041,
               "leg_*_6_joint": -0.001708, "arm_left_1_joint": 0.25847, "arm_right_1_joint": -0.25847,
               "arm_left_2_joint": 0.173046, "arm_right_2_joint": -0.173046, "arm_left_3_joint": -0.0002,
               "arm_right_3_joint": 0.0002, "arm_*_4_joint": -0.525366, "arm_*_7_joint": 0.1}),
    "g1": (("left_ankle_roll_link", "right_ankle_roll_link"),
           [(-0.05, -0.025, -0.035), (-0.05, 0.025, -0.035), (0.12, -0.03, -0.035), (0.12, 0.03, -0.035)],
           {"*_hip_pitch_joint": -0.312, "*_knee_joint": 0.669, "*_ankle_pitch_joint": -0.363}),
    "human": (("left_foot", "right_foot"), [(x, y, -0.0323) for x in (-0.06, 0.1981) for y in (-0.045, 0.045)], {}),
}  # fmt: skip
STRONG = ("leg_*", "*hip*", "*knee*", "*ankle*", "torso*", "waist*", "lumbar*")


def standing(name: str) -> tuple[vt.Model, np.ndarray]:
    """A humanoid on the corners of its soles, with drives that hold its posture."""
    frames, corners, posture = STANDING[name]
    tree = vt.read_urdf(vt.find_robot(name), base="free")
    tree.contact(vt.Ground(friction=0.7), [vt.Contact(frame, points=corners) for frame in frames])
    model = tree.compile()
    q = model.neutral()
    for joint in model.joints:
        for pattern, angle in posture.items():
            if fnmatch(joint.name, pattern):
                q[joint.q_slice] = angle
    strong = {word: (1500, 60) for word in STRONG if any(fnmatch(joint.name, word) for joint in model.joints)}
    return model.with_drives(strong | {"*": (200, 10)}), vt.place_on_ground(model, q)
