"""The closed chain of Johnson & Murphey 2009, stored runs of it, and other mechanisms with loops."""

from __future__ import annotations

import json

from places import DATA

import vitree as vt

REFERENCE = json.loads((DATA / "closed_chain_and_scissor.json").read_text())
BOTH = [(1, 0, 0), (0, 0, 1)]


def closed_chain():
    """The device of the paper's Fig. 6 and Listing 1."""
    tree = vt.Tree("closed chain")
    arm = tree.world.add(vt.ry("J"))
    arm.add(vt.tz(-0.5), vt.body("I", 1.0))
    arm = arm.add(vt.tz(-1.0), vt.ry("H"))
    arm.add(vt.tz(-1.0), vt.body("G", 1.0))
    arm.add(vt.tz(-2.0), vt.frame("O2"))
    arm = tree.world.add(vt.tx(-1.5), vt.ry("K"))
    arm.add(vt.tz(-1.0), vt.body("L", 1.0))
    arm = arm.add(vt.tz(-2.0), vt.ry("M"))
    arm.add(vt.tz(-0.5), vt.body("N", 1.0))
    arm.add(vt.tz(-1.0), vt.frame("O"))
    arm = tree.world.add(vt.tx(1.5), vt.ry("A"))
    arm.add(vt.tz(-1.0), vt.body("B", 1.0))
    arm = arm.add(vt.tz(-2.0), vt.ry("C"))
    arm.add(vt.tz(-0.375), vt.body("D", 1.0))
    arm = arm.add(vt.tz(-0.75), vt.ry("E"))
    arm.add(vt.tz(-0.5), vt.body("F", 1.0))
    arm.add(vt.tz(-1.0), vt.frame("G2"))
    tree.constrain(vt.point_constraint("G", "G2", BOTH), vt.point_constraint("O", "O2", BOTH))
    return tree.compile()


def finger():
    """Two hinges, the second geared to the first, and a slider."""
    tree = vt.Tree("finger")
    one = tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    one.add(vt.rx("b"), vt.tz(-1.0), vt.body("two", 1.0), vt.tx("c"), vt.body("three", 1.0))
    tree.constrain(vt.gear("b", "a", 0.5))
    return tree.compile()


def four_bar():
    """A linkage of three links; [0.5, 0.1, 0.3] is near a configuration of it."""
    tree = vt.Tree("four-bar linkage")
    crank = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", mass=1.0))
    crank.add(vt.ry("coupler"), vt.tx(1.0), vt.body("end", mass=1.0))
    tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(-0.9), vt.body("tip", mass=2.0))
    tree.constrain(vt.point_constraint("end", "tip", [(1, 0, 0), (0, 0, 1)]))
    return tree.compile()
