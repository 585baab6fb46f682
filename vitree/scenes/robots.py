"""Scenes of robots: in free fall, hit by a ball, standing on servos."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from vitree.errors import VitreeError
from vitree.geometry.shapes import Box, Sphere
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.scenes.base import (
    G,
    Motion,
    SkippedError,
    Stage,
    ball_inertia,
    center,
    depth,
    energy,
    frames,
    largest,
    momentum,
    scene,
    share,
)
from vitree.tree.elements import body, free
from vitree.tree.tree import Tree
from vitree.urdf.reader import UrdfOptions, load_urdf, read_urdf
from vitree.urdf.robots import find_robot

#: ANYmal's joints where it stands.
ANYMAL = {"HAA": (0.03, -0.03), "HFE": (0.4, -0.4), "KFE": (-0.8, 0.8)}


def _path(name: str) -> Path:
    try:
        return find_robot(name)
    except VitreeError as error:
        raise SkippedError(f"the robot {name} is not installed: pip install 'vitree[robots]'") from error


def robot(name: str, /, base: str = "fixed", **options: Unpack[UrdfOptions]) -> Model:
    """Return a robot by name; SkippedError if it is not installed."""
    return load_urdf(_path(name), base, **options)


def robot_tree(name: str, /, base: str = "fixed", **options: Unpack[UrdfOptions]) -> Tree:
    """Return the tree of a robot by name, to be extended; SkippedError if it is not installed."""
    return read_urdf(_path(name), base, **options)


def _anymal_posture(model: Model) -> np.ndarray:
    q = model.neutral()
    for joint in model.joints:
        leg, _, kind = joint.name.partition("_")
        if kind in ANYMAL:
            front = leg[1] == "F"
            # hips by side, thighs and shanks by front and hind
            q[joint.q_slice] = ANYMAL[kind][(leg[0] == "R") if kind == "HAA" else not front]
    return q


@scene("anymal-falls", "SimBenchmark", "ANYmal spins in free fall with moving legs; energy and momentum are conserved")
def anymal_falls(quick: bool) -> Stage:
    model = robot("anymal", base="free")
    q, rng = _anymal_posture(model), np.random.default_rng(0)
    v = np.concatenate([(0.0, 0.0, 0.0, 1.0, -2.0, 0.5), rng.uniform(-4, 4, model.nv - 6)])
    model = Model(replace(model.flat, damping=np.zeros(model.nv), friction=np.zeros(model.nv)))

    def measure(motion: Motion) -> dict[str, float]:
        found, com, p = energy(model, motion), center(model, motion), momentum(model, motion)
        about = p[:, :3] - np.cross(com, p[:, 3:])
        t = motion.t[:, None]
        fall = com[0] + t * p[0, 3:] / model.total_mass + t**2 / 2 * np.array((0, 0, -G))
        return {
            "energy error, of the kinetic energy at the start [1]": share(found.sum(axis=1), found[0, 0]),
            "angular momentum error [1]": share(about, np.linalg.norm(about[0])),
            "error of the centre of mass [m]": largest(com - fall),
        }

    return Stage(model=model, q=q, v=v, duration=0.5 if quick else 2.0, dt=5e-3, measure=measure,
                 limited="initial state of our own")  # fmt: skip


@scene("anymal-hit", "SimBenchmark", "a ball of 10 kg hits ANYmal at 5 m/s without gravity; momentum is conserved")
def anymal_is_hit(quick: bool) -> Stage:
    mass, radius, speed = 10.0, 0.2, 5.0
    tree = robot_tree("anymal", base="free", gravity=(0, 0, 0))
    tree.world.add(free("flight"), body("hitting ball", mass, ball_inertia(mass, radius)))
    tree.contact(Contact("hitting ball", shapes=(Sphere(radius),)), Contact("base", shapes=(Box((0.531, 0.27, 0.24)),)))
    model = tree.compile()
    flat = model.full.flat
    model = Model(replace(flat, damping=np.zeros(model.nv), friction=np.zeros(model.nv)))
    q, v = _anymal_posture(model), model.zero_velocity()
    first = model.joint("flight").q_slice.start
    start = 1.0 if quick else 5.0
    q[first : first + 3], v[model.joint("flight").v_slice.start + 1] = (0.1, -start, 0.05), speed

    def measure(motion: Motion) -> dict[str, float]:
        p, found = momentum(model, motion), energy(model, motion)[:, 0]
        moved = largest(np.diff(motion.v[:, model.joint("flight").v_slice.start + 1]))
        return {
            "linear momentum error [1]": share(p[:, 3:], mass * speed),
            "angular momentum error [1]": share(p[:, :3], float(np.linalg.norm(p[0, :3]))),
            "kinetic energy gained after the impact [1]": max(0.0, float(
                (found[-1] - found[np.flatnonzero(found < 0.999 * found[0])[0]]) / found[0])) if moved > 0.1 else
                math.nan,
            "penetration [m]": depth(model, motion),
        }  # fmt: skip

    return Stage(model=model, q=q, v=v, duration=0.4 if quick else 10.0, dt=5e-3, measure=measure,
                 limited="the ball collides with the box of the trunk only")  # fmt: skip


def _standing(model: Model, q: np.ndarray, feet: tuple[str, ...], dt: float, quick: bool, limited: str) -> Stage:
    """A robot on servos whose targets are its posture."""
    targets = np.array([q[model.joint(drive.joint).q_slice.start] for drive in model.drives])
    duration, dt = (0.3 if quick else 10.0), dt
    steps = round(duration / dt)
    weight = model.total_mass * G

    def measure(motion: Motion) -> dict[str, float]:
        late = motion.t >= (0.2 * duration if quick else 0.8 * duration) - 1e-9
        places = [frames(model, Motion(t=motion.t[late], q=motion.q[late], v=motion.v[late], seconds=0.0,
                                       impulse=motion.impulse[late]), foot) for foot in feet]  # fmt: skip
        carried = motion.impulse[late, 2] / dt
        return {
            "feet move in the last fifth [m]": max(largest(x - x[0]) for x in places),
            "base moves in the last fifth [m]": largest(motion.q[late, :3] - motion.q[late][0, :3]),
            "penetration [m]": depth(model, motion),
            "error of the weight carried, mean [1]": abs(float(carried.mean()) / weight - 1),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=duration, dt=dt, measure=measure,
                 targets=np.tile(targets, (steps, 1)), limited=limited)  # fmt: skip


@scene("anymal-stands", "SimBenchmark", "servos with kp 400, kd 1 hold ANYmal on its feet")
def anymal_stands(quick: bool) -> Stage:
    whole = robot("anymal", base="free", ground=Ground(friction=0.8))
    feet = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
    contacts = tuple(c for c in whole.contacts if isinstance(c, Contact) and c.frame in feet)
    bare = np.zeros(whole.nv)
    model = Model(replace(whole.flat, contacts=contacts, damping=bare, friction=bare))
    model = model.with_drives({"*": (400.0, 1.0)})
    q = place_on_ground(model, _anymal_posture(model))
    return _standing(model, q, feet, 5e-3, quick, "contacts at the feet only")


@scene("talos-stiff", "SimBenchmark (Atlas)", "servos with kp 1e5, kd 1e3 on 32 joints; dropped from 2 cm")
def talos_high_gains(quick: bool) -> Stage:
    whole = robot("talos", base="free")
    feet = ("leg_left_6_link", "leg_right_6_link")
    # the soles of its feet
    corners = [(x, y, -0.107) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
    contacts = tuple(Contact(foot, points=tuple(corners)) for foot in feet)
    bare = np.zeros(whole.nv)
    model = Model(replace(whole.flat, contacts=contacts, ground=Ground(friction=0.8), damping=bare, friction=bare))
    model = model.with_drives({"*": (1e5, 1e3)})
    q = model.neutral()
    for name, angle in (("leg_{}_3_joint", -0.4), ("leg_{}_4_joint", 0.8), ("leg_{}_5_joint", -0.4)):
        for side in ("left", "right"):
            q[model.joint(name.format(side)).q_slice] = angle
    q = place_on_ground(model, q)
    q[2] += 0.02
    return _standing(model, q, feet, 5e-3, quick, "Talos in place of Atlas, on eight corners of its feet")
