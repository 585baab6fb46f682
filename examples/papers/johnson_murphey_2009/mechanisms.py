"""The mechanisms of Johnson & Murphey 2009. All move in the plane x-z, gravity is 9.81 m/s^2 along -z.

The paper gives few masses and lengths; where it gives none they are our choice and stand here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vitree as vt

GRAVITY = 9.81
#: A pin in the plane x-z.
PIN = [(1, 0, 0), (0, 0, 1)]


def pendulum(angle: float = 2.5):
    """Fig. 1: a bob of 1 kg and 0.01 kg m^2 on a rod of 1 m, released from an angle; model and start."""
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("angle"), vt.tz(-1.0), vt.body("bob", 1.0, inertia=(0.01, 0.01, 0.01)))
    return tree.compile(), np.array([angle])


def pinned_body(angle: float = 2.5):
    """The same pendulum as a force-balance simulator sees it: a body free in the plane, and a pin that holds it."""
    tree = vt.Tree("pendulum as a pinned body")
    bob = vt.body("bob", 1.0, inertia=(0.01, 0.01, 0.01))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("angle"), bob, vt.tz(1.0), vt.frame("pivot"))
    tree.constrain(vt.point_constraint("pivot", "world", PIN))
    return tree.compile(), np.array([-np.sin(angle), -np.cos(angle), angle])


# ---- planar human -------------------------------------------------------------------------------------

#: Length [m] and mass [kg] of the segments, rods but for the head; about those of a person of 71 kg.
SEGMENTS = {
    "head": (0.3, 5.0),
    "torso": (0.6, 30.0),
    "upper_arm": (0.3, 2.0),
    "forearm": (0.35, 1.5),
    "thigh": (0.42, 10.0),
    "shank": (0.45, 4.5),
}
#: Which frames a drawing joins by lines.
STICKS = [("crown", "shoulders"), ("shoulders", "hips")] + [
    (upper, lower)
    for side in ("left", "right")
    for upper, lower in (
        ("shoulders", f"{side}_elbow"),
        (f"{side}_elbow", f"{side}_hand"),
        ("hips", f"{side}_knee"),
        (f"{side}_knee", f"{side}_foot"),
    )
]


def planar_human(pinned: bool):
    """Fig. 2: head, torso, two arms and two legs in a plane, joints free to turn all the way.

    Pinned, the shoulders are fixed to the world, and it swings from rest under gravity (10 coordinates).
    Otherwise it floats without gravity, on tx, tz, ry, and tumbles (12 coordinates).

    Returns
    -------
    model, q0, v0
    """
    tree = vt.Tree("planar human, " + ("pinned" if pinned else "floating"), gravity=(0, 0, -GRAVITY if pinned else 0))

    def segment(at, joint, name, kind, end, up=False):
        """A rod below a joint, or above it; return the frame at its other end."""
        length, mass = SEGMENTS[kind]
        sign, inertia = (1 if up else -1), mass * length**2 / 12
        rod = vt.body(name, mass, inertia=(inertia, inertia, 0), com=(0, 0, sign * length / 2))
        return at.add(*([vt.ry(joint)] if joint else []), rod).add(vt.tz(sign * length), vt.frame(end))

    base = [vt.ry("turn")] if pinned else [vt.tx("x"), vt.tz("z"), vt.ry("turn")]
    shoulders = tree.world.add(*base, vt.frame("shoulders"))
    segment(shoulders, "neck", "head", "head", "crown", up=True)
    hips = segment(shoulders, None, "torso", "torso", "hips")
    for side in ("left", "right"):
        elbow = segment(shoulders, f"{side}_shoulder", f"{side}_upper_arm", "upper_arm", f"{side}_elbow")
        segment(elbow, f"{side}_elbow_bend", f"{side}_forearm", "forearm", f"{side}_hand")
        knee = segment(hips, f"{side}_hip", f"{side}_thigh", "thigh", f"{side}_knee")
        segment(knee, f"{side}_knee_bend", f"{side}_shank", "shank", f"{side}_foot")
    model = tree.compile()
    pose = {"turn": 0.8, "left_shoulder": 1.0, "right_shoulder": -0.6, "left_elbow_bend": -0.8,
            "left_hip": -0.5, "right_hip": 0.3, "left_knee_bend": 0.9, "right_knee_bend": 0.4}  # fmt: skip
    speed = {} if pinned else {"x": 0.1, "turn": 1.5, "left_shoulder": 2.0, "right_hip": -1.0, "left_knee_bend": 1.0}
    q, v = (np.array([values.get(name, 0.0) for name in model.joint_names]) for values in (pose, speed))
    return model, q, v


# ---- marionette ---------------------------------------------------------------------------------------

#: Where the strings hang from and hold: frame, place of its hook [m].
STRINGS = {
    "left_shoulder": (0.0, 0.2, 1.2),
    "right_shoulder": (0.0, -0.2, 1.2),
    "left_hand": (0.25, 0.35, 1.2),
    "right_hand": (0.25, -0.35, 1.2),
    "left_knee": (0.35, 0.1, 1.2),
    "right_knee": (0.35, -0.1, 1.2),
}
#: Those that hold the head of the jointed puppet.
EARS = {"left_ear": (0.15, 0.1, 1.2), "right_ear": (0.15, -0.1, 1.2)}


def marionette(jointed: bool = False):
    """2008, Fig. 2: a puppet of wood on six strings whose lengths are prescribed.

    A floating torso with the head (tx ty tz rz ry rx), arms and legs of three hinges at the top and one in the
    middle; all joints of the limbs damped; 22 coordinates. The coordinates "left_hand_string" and so on are the
    strings' lengths.

    Parameters
    ----------
    jointed : bool
        With 40 coordinates: neck and waist of three hinges, wrists and ankles of two, and forearms and shanks that
        twist; and two more strings, at the ears.

    Returns
    -------
    model, q0 : the strings as long as they must be in a pose with bent elbows and knees
    """
    tree = vt.Tree("marionette")
    turns = {"z": vt.rz, "y": vt.ry, "x": vt.rx}

    def hinges(name: str, axes: str, damping: float = 2e-3) -> list:
        return [turns[axis](f"{name}_{axis}", damping=damping) for axis in axes]

    if jointed:
        torso = tree.world.add(*vt.pairs.euler("torso"), vt.body("chest", 0.25, inertia=(9e-4, 7e-4, 4e-4)))
        pelvis = torso.add(vt.tz(-0.06), *hinges("waist", "zyx"))
        below = vt.body("pelvis", 0.15, inertia=(3e-4, 2e-4, 3e-4), com=(0, 0, -0.04))
        pelvis.add(below, vt.tz(0.06), vt.frame("belly"))
        neck = torso.add(vt.tz(0.15), *hinges("neck", "zyx"), vt.tz(0.07))
    else:
        torso = tree.world.add(*vt.pairs.euler("torso"), vt.body("torso", 0.4, inertia=(1.4e-3, 1.2e-3, 5e-4)))
        neck = torso.add(vt.tz(0.22))
    head = neck.add(vt.body("head", 0.15, inertia=(2e-4, 2e-4, 2e-4)))
    strings, pose = (STRINGS | EARS if jointed else STRINGS), {}
    if jointed:
        for ear, y in (("left_ear", 0.05), ("right_ear", -0.05)):
            head.add(vt.fixed(ear, xyz=(0, y, 0.03)))
    for side, sign in (("left", 1), ("right", -1)):
        for top, middle, end, at, length, mass, bend in (
            ("shoulder", "elbow", "hand", (0.0, 0.08 * sign, 0.1), 0.15, 0.05, -0.9),
            ("hip", "knee", "foot", (0.0, 0.05 * sign, -0.12), 0.2, 0.1, 0.7),
        ):
            trunk = tree.frame("belly") if jointed and top == "hip" else torso
            trunk.add(vt.fixed(f"{side}_{top}", xyz=at))
            rod = (mass * length**2 / 12, mass * length**2 / 12, 3e-5 if jointed else 1e-5)
            upper = vt.body(f"{side}_{top}_limb", mass, inertia=rod, com=(0, 0, -length / 2))
            joints, elbow = hinges(f"{side}_{top}", "zyx"), vt.frame(f"{side}_{middle}")
            bent = tree.frame(f"{side}_{top}").add(*joints, upper).add(vt.tz(-length), elbow)
            lower = vt.body(f"{side}_{middle}_limb", mass, inertia=rod, com=(0, 0, -length / 2))
            joints = [vt.ry(f"{side}_{middle}_bend", damping=2e-3), *hinges(f"{side}_{middle}", "z" * jointed, 2e-4)]
            tip = bent.add(*joints, lower).add(vt.tz(-length), vt.frame(f"{side}_{end}"))
            if jointed:
                small = vt.body(f"{side}_{end}_limb", 0.02, inertia=(1e-5, 1e-5, 5e-6), com=(0, 0, -0.03))
                tip.add(*hinges(f"{side}_{end}", "yx", 2e-4), small)
            pose[f"{side}_{middle}_bend"], pose[f"{side}_{top}_y"] = bend, -bend / 2
    for frame, hook in strings.items():
        tree.world.add(vt.fixed(f"{frame}_hook", xyz=hook))
        tree.world.add(vt.tz(f"{frame}_string", kinematic=True))
        tree.constrain(vt.Distance(f"{frame}_hook", frame, f"{frame}_string"))
    model = tree.compile()
    q = np.array([pose.get(name, 0.0) for name in model.joint_names])
    places = model.frame_poses(q)
    for frame, hook in strings.items():
        q[model.joint(f"{frame}_string").q_slice] = np.linalg.norm(places[frame][:3, 3] - hook)
    return model, q


def pulled(model, q0, time: float = 1.5, lift: float = 0.06) -> dict:
    """Motions of the marionette's strings: hands and knees go up and down in turn, once in a time [s]."""

    def motion(rest, start):
        turn = 2 * np.pi / time

        def at(t):
            """Length, rate and acceleration; all begin smoothly."""
            angle = turn * max(t - start, 0.0)
            s, ds, dds = (1 - np.cos(angle)) / 2, turn * np.sin(angle) / 2, turn**2 * np.cos(angle) / 2
            return rest - lift * s**2, -2 * lift * s * ds, -2 * lift * (ds**2 + s * dds)

        return at

    starts = {"left_hand": 0.0, "right_knee": 0.0, "right_hand": time / 2, "left_knee": time / 2}
    return {f"{frame}_string": motion(q0[model.joint(f"{frame}_string").q_slice][0], start)
            for frame, start in starts.items()}  # fmt: skip


# ---- pendulum of many links, closed chain -------------------------------------------------------------


def link_pendulum(links: int, inertia: float = 0.1):
    """Fig. 7: aligned links of 1 m, a mass of 1 kg and an inertia [kg m^2] at each end, the first at 45 degrees."""
    tree = vt.Tree(f"pendulum of {links} links")
    at = tree.world
    for k in range(links):
        at = at.add(vt.ry(f"joint{k}"), vt.tz(-1.0), vt.body(f"mass{k}", 1.0, inertia=(inertia,) * 3))
    return tree.compile(), np.pi / 4 * np.eye(links)[0]


def closed_chain():
    """Figs. 6 and 8: seven coordinates, two pins; read from closed_chain.sexpr, and a closed configuration."""
    model = vt.load_sexpr(Path(__file__).parent / "closed_chain.sexpr")
    near = {"J": 0.6, "H": -0.4, "K": -0.42, "M": 0.70, "A": 0.9, "C": -1.30, "E": 2.10}
    return model, vt.satisfy_constraints(model, [near[name] for name in model.joint_names], hold=["J", "H", "A"])


# ---- scissor lift -------------------------------------------------------------------------------------


def scissor(segments: int, angle: float = 1.0):
    """Figs. 9 and 10: pairs of crossed links that hang from a pivot and a slider; 2 N + 1 coordinates.

    Links are 1 m long with 1 kg in the middle, the slider has 1 kg. The coordinate "a0", the angle of the
    first link below the horizontal, is the paper's theta.
    """
    tree = vt.Tree(f"scissor lift of {segments} segments")
    slider = tree.world.add(vt.tx("x"), vt.body("slider", 1.0))
    start = {"x": np.cos(angle)}
    for side, at in (("a", tree.world), ("b", slider)):
        before = 0.0
        for k in range(segments):
            at = at.add(vt.ry(f"{side}{k}"))
            at.add(vt.tx(0.5), vt.body(f"{side}_link{k}", 1.0))
            at = at.add(vt.tx(1.0))
            # the links of a chain lean one way and the other
            absolute = angle if (side == "a") == (k % 2 == 0) else np.pi - angle
            start[f"{side}{k}"], before = absolute - before, absolute
    for k in range(segments):
        tree.constrain(vt.point_constraint(f"a_link{k}", f"b_link{k}", PIN))
    model = tree.compile()
    return model, np.array([start[name] for name in model.joint_names])


def scissor_angle(model, q) -> np.ndarray:
    """The angle theta of rows of configurations [rad]."""
    return q[:, model.joint("a0").q_slice.start]


def scissor_benchmark(segments: int, times, angle: float = 1.0) -> np.ndarray:
    """The lift's angle at some times [s], from its Lagrangian of one degree of freedom, to 1e-10 rad in 10 s.

    With links of 1 m and 1 kg without inertia, and a slider of 1 kg (Johnson & Murphey 2009, section VI-C):
    L = sum over n = 1..N of [ (n - 1/2)^2 cos^2 + sin^2 / 4 ] w^2 + 2 g (n - 1/2) sin,  + sin^2 w^2 / 2.
    """
    from scipy.integrate import solve_ivp

    arms = np.sum((np.arange(1, segments + 1) - 0.5) ** 2)

    def rate(_, y):
        sin, cos = np.sin(y[0]), np.cos(y[0])
        # L = mass w^2 / 2 - potential
        mass = 2 * arms * cos**2 + (segments / 2 + 1) * sin**2
        slope = (segments + 2 - 4 * arms) * sin * cos
        return y[1], (GRAVITY * segments**2 * cos - slope * y[1] ** 2 / 2) / mass

    times = np.asarray(times, dtype=float)
    done = solve_ivp(rate, (0.0, times[-1]), [angle, 0.0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    return done.y[0]
