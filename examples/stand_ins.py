"""Robots on the ground: of the package example-robot-data, or simpler ones; walkers, and a marionette."""

import numpy as np

import vitree as vt

#: Talos with its knees bent [rad].
HALF_SITTING = {f"leg_{side}_{k}_joint": angle for side in ("left", "right")
                for k, angle in ((3, -0.411), (4, 0.859), (5, -0.448))}  # fmt: skip
HALF_SITTING |= {"arm_left_2_joint": 0.173, "arm_right_2_joint": -0.173, "arm_left_4_joint": -0.525,
                 "arm_right_4_joint": -0.525}  # fmt: skip
LIFTED = {"leg_right_3_joint": -0.7, "leg_right_4_joint": 1.4, "leg_right_5_joint": -0.7, "gripper_left_joint": -0.5,
          "gripper_right_joint": -0.5}  # fmt: skip
#: Its soles, and their corners [m].
SOLES, CORNERS = ("left_sole_link", "right_sole_link"), [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
STRONG, WEAK = (1500, 60), (200, 10)  # kp [N m/rad], kd [N m s/rad]
#: Hips, thighs and legs of the Go2: where they begin, and how long they are [m].
REACH, WIDTH, OFFSET, LEG, BALL = 0.193, 0.0465, 0.0955, 0.213, 0.022


def humanoid(ground: vt.Ground) -> tuple[vt.Model, tuple[str, str], dict[str, float]]:
    """Return Talos on its soles, or the human figure, with drives; the names of the soles; a posture [rad]."""
    try:
        tree = vt.read_urdf(vt.find_robot("talos_full_v2_box"), base="free")
        soles, corners, strong, posture = SOLES, CORNERS, ("leg_*", "torso_*"), HALF_SITTING
    except vt.UnknownNameError:
        tree = vt.read_urdf(vt.find_robot("human"), base="free")
        soles, strong, posture = ("left_foot", "right_foot"), ("*_hip_*", "*_knee_*", "*_ankle_*", "lumbar_*"), {}
        corners = [(x, y, -0.032) for x in (-0.06, 0.198) for y in (-0.045, 0.045)]
    tree.contact(ground, [vt.Contact(sole, points=corners) for sole in soles])
    return tree.compile().with_drives(dict.fromkeys(strong, STRONG) | {"*": WEAK}), soles, posture


def half_sitting(robot: vt.Model) -> np.ndarray:
    """Return the configuration of Talos with its knees bent and its grippers open."""
    q = robot.neutral()
    for joint, angle in (HALF_SITTING | dict.fromkeys(("gripper_left_joint", "gripper_right_joint"), -0.5)).items():
        q[robot.joint(joint).q_slice] = angle
    return q


def on_two_feet(friction: float) -> tuple[vt.Model, np.ndarray]:
    """Return Talos without drives, which stands on the corners of its soles with its knees bent."""
    tree = vt.read_urdf(vt.find_robot("talos_full_v2_box"), base="free")
    tree.contact(vt.Ground(friction=friction), [vt.Contact(sole, points=CORNERS) for sole in SOLES])
    robot = tree.compile().reduced()
    return robot, vt.place_on_ground(robot, half_sitting(robot))


def on_left_foot(robot: vt.Model, sideways: float, forward: float) -> np.ndarray:
    """Return Talos with its right foot lifted and its left sole flat on the ground, leaning by two angles [rad]."""
    q = robot.neutral()
    for joint, angle in (HALF_SITTING | LIFTED).items():
        q[robot.joint(joint).q_slice] = angle
    for k, more in ((2, sideways), (6, -sideways), (3, forward), (5, -forward)):
        q[robot.joint(f"leg_left_{k}_joint").q_slice] += more
    q = vt.satisfy_constraints(robot, q, hold=["gripper_left_joint", "gripper_right_joint"])
    return vt.place_on_ground(robot, q)


def walker(ground: vt.Ground) -> tuple[vt.Model, np.ndarray, tuple[float, float]]:
    """Return the G1 or the human figure on the corners of its soles, a posture, and half a sole's length and width."""
    try:
        tree, foot = vt.read_urdf(vt.find_robot("g1"), base="free"), "{}_ankle_roll_link"
        middle, sole, bent = (0.035, -0.03), (0.08, 0.03), ("hip_pitch_joint", "knee_joint", "ankle_pitch_joint")
    except vt.UnknownNameError:
        tree, foot = vt.read_urdf(vt.find_robot("human"), base="free"), "{}_foot"
        middle, sole, bent = (0.069, -0.032), (0.12, 0.045), ("hip_flexion", "knee_flexion", "ankle_flexion")
    for side in ("left", "right"):
        tree.frame(foot.format(side)).add(vt.tx(middle[0]), vt.tz(middle[1]), vt.frame(f"{side}_sole"))
    corners = [(x, y, 0.0) for x in (-sole[0], sole[0]) for y in (-sole[1], sole[1])]
    tree.contact(ground, [vt.Contact(f"{side}_sole", points=corners) for side in ("left", "right")])
    robot = tree.compile()
    q = robot.neutral()
    for side in ("left", "right"):
        for joint, angle in zip(bent, (-0.3, 0.6, -0.3), strict=True):
            q[robot.joint(f"{side}_{joint}").q_slice] = angle
    return robot, vt.place_on_ground(robot, q), sole


def figure(ground: vt.Ground) -> vt.Model:
    """Return the human figure, all of which touches the ground, with joints that stop at their limits."""
    return vt.load_urdf(vt.find_robot("human"), base="free", ground=ground, limits="enforce")


def quadruped(ground: vt.Ground, balls: bool = True) -> vt.Model:
    """Return the Go2 on the balls of its feet, or on points, or a robot of its size, with joints of the same names."""
    try:
        tree = vt.read_urdf(vt.find_robot("go2"), base="free")
    except vt.UnknownNameError:
        tree = vt.Tree("quadruped")
        trunk = tree.world.add(vt.free("root_joint"), vt.body("base", 7.0, (0.025, 0.1, 0.11)))
        for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
            hip = trunk.add(vt.tx(x * REACH), vt.ty(y * WIDTH), vt.rx(f"{name}_hip_joint"),
                            vt.body(f"{name}_hip", 0.7, (5e-4, 9e-4, 6e-4)))  # fmt: skip
            thigh = hip.add(vt.ty(y * OFFSET), vt.ry(f"{name}_thigh_joint"), vt.tz(-0.03),
                            vt.body(f"{name}_thigh", 1.2, (6e-3, 6e-3, 1e-3)))  # fmt: skip
            calf = thigh.add(vt.tz(0.03 - LEG), vt.ry(f"{name}_calf_joint"), vt.tz(-0.1),
                             vt.body(f"{name}_calf", 0.2, (1.5e-3, 1.5e-3, 4e-5)))  # fmt: skip
            calf.add(vt.tz(0.1 - LEG), vt.frame(f"{name}_foot"))
    feet = [f"{end}{side}_foot" for end in "FR" for side in "LR"]
    tree.contact(ground, [vt.Contact(foot, shapes=[vt.Sphere(BALL)] * balls) for foot in feet])
    return tree.compile()


def passive_walker(slope: float, foot: float, touching: str) -> vt.Model:
    """Return two legs of length 1 under a hip of mass 1, with ``foot`` of mass each, on a slope along x [rad].

    Feet are "a" and "b"; those of ``touching`` touch the ground. Gravity is 1. Coordinates are x and z of the hip and
    the angles of the legs.
    """
    tree = vt.Tree("walker", gravity=(np.sin(slope), 0.0, -np.cos(slope)))
    hip = tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("hip", 1.0))
    for name in "ab":
        hip.add(vt.ry(f"leg {name}"), vt.tz(-1.0), vt.body(name, foot))
    tree.contact(vt.Ground(friction=2.0), [vt.Contact(name) for name in touching])
    return tree.compile()


def planar_walker(*touching: str) -> vt.Model:
    """Return a torso on two legs with knees, 30 kg, in the x-z plane; the feet of ``touching`` touch the ground."""
    tree = vt.Tree("walker")
    torso = tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("lean"), vt.body("torso", 12.0, (1, 1, 0.1), com=(0, 0, 0.25)))
    for side in ("left", "right"):
        thigh = torso.add(vt.ry(f"{side} hip"), vt.body(f"{side} thigh", 6.0, (0.1, 0.1, 0.01), com=(0, 0, -0.15)))
        shank = thigh.add(vt.tz(-0.4), vt.ry(f"{side} knee"))
        shank.add(vt.body(f"{side} shank", 3.0, (0.05, 0.05, 0.01), com=(0, 0, -0.15)))
        shank.add(vt.tz(-0.4), vt.frame(f"{side} foot"))
    if touching:
        tree.contact(vt.Ground(friction=1.0), [vt.Contact(f"{side} foot") for side in touching])
    return tree.compile()


def pivot(angle: float) -> np.ndarray:
    """Velocities (2, 4) of the walker: leg a, at an ``angle``, turns about its foot; leg b turns about the hip."""
    return np.array([(np.cos(angle), -np.sin(angle), 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)])


def marionette() -> tuple[vt.Tree, dict[str, tuple]]:
    """Return a marionette that falls, and where strings are to hold it: frames, and places above them in the world."""
    tree, hooks = vt.Tree("marionette"), dict[str, tuple]()
    torso = tree.world.add(*vt.pairs.euler("torso"), vt.body("torso", 0.6, (2e-3, 2e-3, 1e-3)))
    for side, y in (("left", 0.1), ("right", -0.1)):
        shoulder = torso.add(vt.fixed(f"{side} shoulder", xyz=(0.0, y, 0.1)))
        elbow = shoulder.add(vt.ry(f"{side} arm", damping=0.01), vt.rx(f"{side} spread", damping=0.01), vt.tz(-0.15))
        elbow.add(vt.body(f"{side} upper arm", 0.05))
        elbow.add(vt.ry(f"{side} elbow", damping=0.01), vt.tx(0.15), vt.body(f"{side} hand", 0.08))
        hip = torso.add(vt.fixed(f"{side} hip", xyz=(0.0, y, -0.1)))
        hip.add(vt.ry(f"{side} leg", damping=0.01), vt.tz(-0.3), vt.body(f"{side} foot", 0.1))
        hooks |= {f"{side} shoulder": (0.0, y, 1.0), f"{side} hand": (0.2, 1.5 * y, 1.0)}
    return tree, hooks


def on_strings(tree: vt.Tree, hooks: dict[str, tuple]) -> vt.Model:
    """Return what hangs on a string from each hook; a prescribed coordinate is as long as a string."""
    for frame, place in hooks.items():
        tree.world.add(vt.fixed(f"{frame} hook", xyz=place))
        tree.world.add(vt.tz(f"{frame} string", kinematic=True))
        tree.constrain(vt.Distance(f"{frame} hook", frame, length=f"{frame} string"))
    return tree.compile()
