"""Scenes of grasps: two fingers lift a mug, a hand of four fingers holds a ball."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from vitree.geometry.shapes import Box, Hull, Shape, Sphere
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.run.controller import Control
from vitree.run.simulate import simulate
from vitree.scenes.base import G, Motion, Stage, ball_inertia, box_inertia, depth, largest, scene
from vitree.scenes.robots import robot_tree
from vitree.tree.elements import body, free, ty, tz
from vitree.tree.tree import Tree

#: When what is held is to be held, from the start of the scene [s].
HELD = 2.0


def mug(radius: float = 0.04, height: float = 0.1, wall: float = 0.004, count: int = 12) -> list[Shape]:
    """Return a mug as convex parts: a wall of wedges, a floor, and a handle of three boxes at +x."""
    angles = 2 * math.pi * np.arange(count + 1) / count
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    low, high = -height / 2, height / 2
    parts: list[Shape] = []
    for k in range(count):
        side = [(r * x, r * y, z) for r in (radius - wall, radius) for x, y in ring[k : k + 2] for z in (low, high)]
        parts.append(Hull(np.array(side)))
    floor = [(radius * x, radius * y, z) for x, y in ring[:-1] for z in (low, low + wall)]
    parts.append(Hull(np.array(floor)))
    for x, z, size in ((0.012, 0.03, (0.026, 0.01, 0.008)), (0.012, -0.03, (0.026, 0.01, 0.008)),
                       (0.025, 0.0, (0.008, 0.01, 0.068))):  # fmt: skip
        parts.append(Box(size, position=(radius + x, 0, z)))
    return parts


def gripper(shapes: list[Shape], friction: float = 0.8) -> Model:
    """Return two fingers of boxes on a palm that is lifted, all by drives, and an object of 0.3 kg on the ground."""
    finger = (0.03, 0.01, 0.06)
    tree = Tree("gripper", gravity=(0, 0, -G))
    palm = tree.world.add(tz("lift"), body("palm", 1.0, (0.01, 0.01, 0.01)))
    for name in ("left", "right"):
        palm.add(ty(name), body(f"{name} finger", 0.1, box_inertia(0.1, finger)))
        tree.contact(Contact(f"{name} finger", shapes=(Box(finger),), friction=friction))
    tree.world.add(free("flight"), body("object", 0.3, (3e-4, 3e-4, 2.5e-4)))
    tree.contact(Ground(friction=friction), Contact("object", shapes=tuple(shapes), friction=friction))
    return tree.compile().with_drives({"lift": (2e4, 400), "left": (2e3, 40), "right": (2e3, 40)})


def gripper_start(model: Model, height: float) -> np.ndarray:
    """Return the configuration with open fingers about an object of this height on the ground."""
    q = model.neutral()
    for name, value in (("lift", 0.05), ("left", 0.055), ("right", -0.055)):
        q[model.joint(name).q_slice] = value
    q[model.joint("flight").q_slice.start + 2] = height / 2
    return q


def gripper_targets(model: Model, duration: float, dt: float) -> np.ndarray:
    """Return targets (steps, 3): the fingers close within 0.3 s, by 3 cm, and rise by 20 cm from 0.5 to 1.5 s."""
    t = np.arange(round(duration / dt)) * dt
    closed, up = 0.055 - 0.03 * np.clip(t / 0.3, 0, 1), np.clip(t - 0.5, 0, 1)
    course = {"lift": 0.05 + 0.2 * up**2 * (3 - 2 * up), "left": closed, "right": -closed}
    return np.column_stack([course[drive.joint] for drive in model.drives])


def slip(motion: Motion, of: slice, along: np.ndarray | None = None) -> dict[str, float]:
    """Return how far the free body at q[of] moves once it is held, less what holds it moves along z."""
    places = motion.q[:, of].copy()
    if along is not None:
        places[:, 2] -= along
    held = motion.t >= HELD
    return {"slip [m or 1]": largest(places[held] - places[held][0])}


@scene("gripper", "grasping", "two fingers of boxes lift a mug of hulls and hold it for a minute; it does not slip")
def lifts_a_mug(quick: bool) -> Stage:
    model, duration, dt = gripper(mug()), (2.5 if quick else 62.0), 1e-3
    q, flight, lift = gripper_start(model, 0.1), model.joint("flight").q_slice, model.joint("lift").q_slice.start

    def measure(motion: Motion) -> dict[str, float]:
        return slip(motion, flight, motion.q[:, lift]) | {
            "lifted (0.2 is the course) [m]": float(motion.q[-1, flight.start + 2] - q[flight.start + 2]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=duration, dt=dt, measure=measure,
                 targets=gripper_targets(model, duration, dt), every=10 if quick else 100)  # fmt: skip


def allegro(gravity: tuple[float, float, float], radius: float = 0.035, mass: float = 0.1) -> Model:
    """Return the Allegro hand, whose palm faces +x, on drives without friction in its joints, and a ball."""
    tree = robot_tree("allegro_right_hand", gravity=gravity, ground=Ground(height=-1.0, friction=0.9))
    tree.world.add(free("flight"), body("ball", mass, ball_inertia(mass, radius)))
    tree.contact(Contact("ball", shapes=(Sphere(radius),)))
    model = tree.compile()
    bare = np.zeros(model.nv)
    return Model(replace(model.full.flat, damping=bare, friction=bare)).with_drives({"joint_*": (10.0, 0.2)})


def closing(model: Model, radius: float = 0.035) -> tuple[np.ndarray, np.ndarray]:
    """Return the open hand with the ball on its palm, and targets (n,) of its drives that close it."""
    q, targets = model.neutral(), np.zeros(len(model.drives))
    for k, drive in enumerate(model.drives):
        number = int(drive.joint.removeprefix("joint_").removesuffix(".0"))
        # three fingers of four joints, the first across; and the thumb, which stays beside the ball
        targets[k] = (0.6, 0.2, 0.0, 0.2)[number - 12] if number >= 12 else (0.0, 1.6, 1.2, 0.8)[number % 4]
        q[model.joint(drive.joint).q_slice] = targets[k] if number == 12 else 0.0
    start = model.joint("flight").q_slice.start
    q[start : start + 3] = 0.0111 + radius + 1e-6, 0.0, -0.02
    return q, targets


@scene("hand", "grasping", "the Allegro hand holds a ball for a minute below its palm; it does not slip")
def holds_a_ball(quick: bool) -> Stage:
    dt = 2e-3
    # it closes with the palm up, and is turned over
    model = allegro((-G, 0, 0))
    q, targets = closing(model)
    share = np.clip(np.arange(round(2.0 / dt))[:, None] * dt / 0.6, 0, 1)
    opened = np.array([q[model.joint(drive.joint).q_slice.start] for drive in model.drives])
    closed = simulate(model, q, duration=2.0, dt=dt, control=Control(targets=opened + share * (targets - opened)),
                      record_every=1000)  # fmt: skip
    turned, duration = allegro((G, 0, 0)), (2.5 if quick else 62.0)
    flight = turned.joint("flight").q_slice

    def measure(motion: Motion) -> dict[str, float]:
        return slip(motion, flight) | {"penetration [m]": depth(turned, motion)}

    return Stage(model=turned, q=closed.q[-1], v=closed.v[-1], duration=duration, dt=dt, measure=measure,
                 targets=np.tile(targets, (round(duration / dt), 1)), every=10 if quick else 100)  # fmt: skip
