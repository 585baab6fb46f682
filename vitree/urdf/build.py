"""From the elements of a robot file, its joints parsed by urdf_parser_py, to a Tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.constraints import gear, joint_constraints
from vitree.mechanism.flat import Geometry
from vitree.model.closure import independent_constraints
from vitree.model.model import Model
from vitree.spatial.checks import direction
from vitree.spatial.rotations import rotation_rpy
from vitree.tree.elements import Body, Coordinate, Element, Fixed, body, free
from vitree.tree.frames import Frame
from vitree.tree.pairs import euler, planar, prismatic, revolute
from vitree.tree.tree import Tree
from vitree.urdf.checks import listed
from vitree.urdf.inertials import Inertial
from vitree.urdf.layout import Layout
from vitree.urdf.schema import EXTENSIONS, ONE_COORDINATE
from vitree.urdf.xml import Source

#: The kind of the constraints of a joint that closes a loop, by the type of the joint.
CLOSED_BY = {"continuous": "revolute", "floating": "free"}
ROOT_JOINT = "root_joint"
#: A limit of this size is no limit.
UNLIMITED = float(np.finfo(float).max)


def moves(tree: Tree) -> bool:
    """Say whether a tree has a coordinate."""
    return any(isinstance(at.element, Coordinate) for _, at in tree.world.walk())


def _fixed(name: str | None, origin) -> Fixed:
    """The constant transform of an origin, whose numbers have been checked."""
    xyz, rpy = (None, None) if origin is None else (origin.xyz, origin.rpy)
    return Fixed(name, rotation_rpy(*(rpy or (0.0, 0.0, 0.0))), tuple(xyz or (0.0, 0.0, 0.0)))


def _mimic(mimic) -> tuple[str, float, float]:
    """Leader, multiplier and offset."""
    return mimic.joint, 1.0 if mimic.multiplier is None else mimic.multiplier, mimic.offset or 0.0


def _limit(value: float) -> float:
    """A limit; the largest floating-point number stands for none, since readers in C++ do not take "inf"."""
    return value if abs(value) < UNLIMITED else float(np.copysign(np.inf, value))


def reversed_elements(elements: list[Element]) -> list[Element]:
    """Return the elements that lead back: the inverse of each, in the opposite order."""
    back: list[Element] = []
    for element in reversed(elements):
        if isinstance(element, Coordinate):
            twist, axis = (tuple(-x for x in part) for part in (element.twist, element.axis))
            back.append(replace(element, twist=twist, axis=axis))
        elif isinstance(element, Fixed):
            R = np.eye(3) if element.rotation is None else element.rotation
            if element.name is not None:  # it names the place to which the joint led
                back.append(Fixed(element.name))
            back.append(Fixed(rotation=R.T, position=tuple(-R.T @ element.position)))
    return back


class Builder:
    """Adds links and joints to a tree, and notes in the report how it has read them.

    Parameters
    ----------
    file : Source
    tree : Tree
    links, joints : dict of str to Element
    inertials : dict
        Of the links.
    parsed : dict
        The joints of urdf_parser_py.
    layout : Layout
    """

    def __init__(self, file: Source, tree: Tree, links, joints, inertials, parsed: dict[str, Any], layout: Layout):
        self.file, self.tree, self.links, self.layout = file, tree, links, layout
        self.inertials: dict[str, Inertial | None] = inertials
        self.parsed = parsed
        there = layout.joints()
        self.joints = {name: node for name, node in joints.items() if name in there}
        self.places: dict[str, Frame] = {}

    def build(self, base: str, shapes: dict[str, list[Geometry]]) -> None:
        """Add links and joints, depth first in the order of the file."""
        stack = [self._start(base, shapes)]
        while stack:
            link, at = stack.pop()
            here = self.places[link] = self._add(at, [self._body(link, shapes[link])], link)
            for joint, child in self.layout.below[link]:
                elements = self._elements(self.parsed[joint])
                if joint in self.layout.turned:
                    elements = reversed_elements(elements)
                stack.append((child, self._add(here, elements, joint)))

    def _start(self, base: str, shapes: dict[str, list[Geometry]]) -> tuple[str, Frame]:
        """Return the first link to add, and the frame to add it to: that of the root joint, if there is one."""
        root, world = self.layout.root, self.tree.world
        if base == "fixed":
            return root, world
        floats = self._root_joint(base)
        if not self._is_world(root):
            return root, self._add(world, floats, root)
        only, child = self.layout.below[root][0] if len(self.layout.below[root]) == 1 else ("", "")
        joint = None if only in self.layout.turned else self.parsed.get(only)
        if joint is not None and joint.type == "floating":
            self.file.say("world", f'the link "{root}" is the world: its joint "{only}" is the root joint')
            return root, world
        if joint is None or joint.type != "fixed":
            self.file.say("world-root", f'the root link "{root}" floats', self.links[root])
            return root, self._add(world, floats, root)
        self.file.say("world", f'the link "{root}" is the world: the root joint takes the place of the joint "{only}"')
        self.places[root] = here = self._add(world, [self._body(root, shapes[root])], root)
        # the frame of the weld goes with the link, as without a root joint
        named = [] if only in self.links else [Fixed(only)]
        return child, self._add(here, [_fixed(None, joint.origin), *floats, *named], root)

    def _root_joint(self, base: str) -> list[Element]:
        name = ROOT_JOINT
        while any(joint.startswith(name) for joint in self.joints):
            name = f"{name}_"
        return [free(name)] if base == "free" else euler(name)

    def _is_world(self, link: str) -> bool:
        inertial = self.inertials[link]
        return link == "world" and (inertial is None or inertial.mass == 0)

    def couple(self) -> None:
        """Add a constraint for each joint that mimics another."""
        for joint in self._of(*ONE_COORDINATE):
            if joint.mimic is not None and joint.mimic.joint in self.joints:
                self.tree.constrain(gear(joint.name, *_mimic(joint.mimic)))

    def close_loops(self) -> None:
        """Add the constraints of joints that close loops, without those that the mechanism implies."""
        rows: list[tuple[str, Any]] = []
        for name in self.layout.closing:
            joint, frame = self.parsed[name], name
            while frame in self.links or (frame != name and frame in self.joints):
                frame = f"{frame}_"
            self._add(self.places[joint.parent], [_fixed(frame, joint.origin)], name)
            try:
                held = joint_constraints(
                    CLOSED_BY.get(joint.type, joint.type), frame, joint.child, joint.axis or (1.0, 0.0, 0.0)
                )
            except ModelError as error:
                raise self.file.fail("loop", f'joint "{name}": {error}', self.joints[name]) from None
            rows += [(name, row) for row in held]
        self.tree.constrain([row for _, row in rows])
        if not rows or not moves(self.tree):
            return
        try:
            model = Model(self.tree.flatten())
            kept = independent_constraints(model)
        except ModelError as error:
            raise self.file.fail("loop", str(error), self.joints[next(iter(self.layout.closing))]) from None
        # by identity: joints at one place may have equal rows
        stay = {id(row) for row in kept}
        implied = [name for name, row in rows if id(row) not in stay]
        if implied:
            text = f"{len(implied)} of their {len(rows)} equations are implied by the others and left out: "
            self.file.say("loop-joints", text + listed(dict.fromkeys(implied)))
        self.tree.constraints = kept

    def _add(self, at: Frame, elements: list[Element], name: str) -> Frame:
        try:
            return at.add(*elements)
        except ModelError as error:
            node = self.joints.get(name, self.links.get(name))
            raise self.file.fail("name-clash", str(error), node, remedy="") from None

    def _body(self, name: str, shapes: list[Geometry]):
        inertial = self.inertials[name]
        if inertial is None:
            return body(name, 0.0, geometry=shapes)
        R = rotation_rpy(*inertial.rpy)
        # settle_inertial has checked the inertia; body() would refuse one that is to be taken as it is
        return Body(name, inertial.mass, tuple(inertial.xyz), R @ inertial.tensor @ R.T, tuple(shapes))

    def _elements(self, joint) -> list[Element]:
        if joint.type == "fixed":
            # a link of the same name owns the frame
            return [_fixed(None if joint.name in self.links else joint.name, joint.origin)]
        place = _fixed(None, joint.origin)
        if joint.type == "floating":
            return [place, free(joint.name)]
        axis = direction(joint.axis or (1.0, 0.0, 0.0), f'axis of joint "{joint.name}"')
        if joint.type == "planar":
            return [place, *planar(joint.name, axis)]
        return [place, self._hinge_or_slide(joint, axis)]

    def _hinge_or_slide(self, joint, axis) -> Coordinate:
        data: dict[str, Any] = {}
        limit = joint.limit
        if limit is not None:
            data |= {key: _limit(value) for key in ("velocity", "effort") if (value := getattr(limit, key)) >= 0}
            if joint.type != "continuous" and limit.lower <= limit.upper:
                data |= {"lower": _limit(limit.lower), "upper": _limit(limit.upper)}
        if joint.dynamics is not None:
            data |= {key: value for key in ("damping", "friction") if (value := getattr(joint.dynamics, key))}
        if joint.mimic is not None:
            data["mimic"] = _mimic(joint.mimic)
        make = prismatic if joint.type == "prismatic" else revolute
        return make(joint.name, axis, **data)

    def _of(self, *types: str) -> list:
        """Joints of these types that do not close loops."""
        there = (self.parsed[name] for name in self.joints if name not in self.layout.closing)
        return [joint for joint in there if joint.type in types]

    def note(self, mimic: str) -> None:
        """Note in the report how joints and limits were read."""
        moving = self._of(*ONE_COORDINATE)
        follow = {
            "reduced": "mimic joints follow, without a coordinate of their own",
            "constraints": "mimic joints follow by constraints",
            "independent": "mimic joints move on their own",
        }[mimic]
        merged = [joint.name for joint in self._of("fixed")]
        for rule, text, names in (
            ("fixed-joints", "fixed joints: the links that they connect move as one body", merged),
            ("turned", "joints turned round on the way to the root", self.layout.turned),
            ("loop-joints", "joints that close loops: constraints, without coordinate, limits, damping and friction",
             self.layout.closing),
            ("mimic-joints", follow, [j.name for j in moving if j.mimic is not None and j.mimic.joint in self.joints]),
        ):  # fmt: skip
            if names:
                self.file.say(rule, f"{text}: {listed(names)}")
        if any(j.limit is not None for j in moving):
            self.file.say("limits", "joint limits are kept as data, not enforced")
        others = {node.tag for node in self.file.root if node.tag in EXTENSIONS}
        if others:
            self.file.say("extension", "ignored: " + ", ".join(f"<{tag}>" for tag in sorted(others)))
