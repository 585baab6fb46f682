"""Mechanisms that several benchmarks and tests step: the robots without damping, and chains on ball joints."""

from __future__ import annotations

import sys
from pathlib import Path

import peers

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "lee_2016"))
import systems


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
        link = vt.body(f"link{i}", 1.0, inertia=(1, 1, 1), com=(0, 0, systems.LENGTH / 2))
        at = at.add(vt.ball(f"joint{i}") if i else vt.free("base"), link).add(vt.tz(systems.LENGTH))
    return tree.compile()
