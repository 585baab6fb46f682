"""Mechanisms that several benchmarks and tests step: the robots without damping, and chains on ball joints."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import peers

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "lee_2016"))
import chains

#: Robots that smooth_motion() moves: title, whether the base is free, and duration [s].
ROBOTS = {
    "talos": ("Talos tumbling, 1 s", True, 1.0),
    "kinova": ("Kinova, 0.5 s", False, 0.5),
    "centauro": ("Centauro tumbling, 1 s", True, 1.0),
}


def panda() -> vt.Model:
    """Return the arm with its seven joints; the fingers are fixed, because they would slide away without limits."""
    text = peers.without_damping(vt.find_robot("panda").read_text())
    return vt.load_urdf(text.replace('type="prismatic"', 'type="fixed"'))


def talos() -> vt.Model:
    """Return the robot floating, without gravity."""
    text = peers.without_damping(vt.find_robot("talos").read_text())
    return vt.load_urdf(text, base="free", gravity=(0, 0, 0))


def spherical_chain(n: int) -> vt.Model:
    """Return n links of the chain of Lee et al. 2016 on ball joints, the first one floating; no gravity."""
    tree = vt.Tree(f"spherical chain of {n}", gravity=(0, 0, 0))
    at = tree.world
    for i in range(n):
        link = vt.body(f"link{i}", 1.0, inertia=(1, 1, 1), com=(0, 0, chains.LENGTH / 2))
        at = at.add(vt.ball(f"joint{i}") if i else vt.free("base"), link).add(vt.tz(chains.LENGTH))
    return tree.compile()


def hanging_chain_urdf(n: int) -> str:
    """Return the URDF text of n boxes of 1 kg, 0.03 x 0.03 x 0.1 m, that turn about x and y in alternation."""
    x, y, z = 0.03, 0.03, 0.1
    ixx, iyy, izz = (y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12
    inertial = (
        f'<inertial><origin xyz="0 0 {-z / 2}"/><mass value="1"/>'
        f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
    )
    parts = ['<robot name="hanging_chain"><link name="world_link"/>']
    for i in range(n):
        above = f"link{i - 1}" if i else "world_link"
        # hinges with limits out of reach, so that all peers have a single angle as their coordinate
        parts.append(
            f'<link name="link{i}">{inertial}</link><joint name="joint{i}" type="revolute"><parent link="{above}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 {-z if i else 0}"/><axis xyz="{"0 1 0" if i % 2 else "1 0 0"}"/>'
            '<limit lower="-1e3" upper="1e3" effort="1e9" velocity="1e9"/></joint>'
        )
    return "".join(parts) + "</robot>"


@dataclass
class Motion:
    """A smooth motion: what it is, its robot (URDF text), its start, its duration [s]."""

    title: str
    text: str
    free: bool
    model: vt.Model
    q: np.ndarray
    v: np.ndarray
    duration: float


def smooth_motion(name: str) -> Motion:
    """Return the motion chain10 or chain30, let go with all joints at 0.1 rad, or that of one of ROBOTS.

    Robots start at their neutral configuration with random velocities; those with a free base tumble and fall.
    """
    if name in ROBOTS:
        title, free, duration = ROBOTS[name]
        # continuous joints would have another coordinate in Pinocchio: their limits are out of reach
        text = peers.without_damping(vt.find_robot(name).read_text()).replace('type="continuous"', 'type="revolute"')
        model = vt.load_urdf(text, base="free" if free else "fixed")
        v = 1.5 * np.random.default_rng(0).normal(size=model.nv)
        return Motion(title, text, free, model, model.neutral(), v, duration)
    n = int(name.removeprefix("chain"))
    text = hanging_chain_urdf(n)
    return Motion(f"hanging chain of {n}, 5 s", text, False, vt.load_urdf(text), np.full(n, 0.1), np.zeros(n), 5.0)
