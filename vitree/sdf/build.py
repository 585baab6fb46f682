"""From links and joints of SDF to a Tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.constraints import AxisConstraint, Constraint, gear, joint_constraints
from vitree.mechanism.loads import Gravity, JointSpring
from vitree.model.closures import independent_constraints
from vitree.model.helical import HelicalConstraint
from vitree.model.model import Model
from vitree.sdf.document import WORLD
from vitree.sdf.frames import inverse
from vitree.sdf.joints import Axis, Joint
from vitree.sdf.links import Link
from vitree.spatial.rotations import rotation_rpy
from vitree.tree.elements import Body, Coordinate, Element, Fixed, Limits, ball, free, screw
from vitree.tree.frames import Frame
from vitree.tree.pairs import prismatic, revolute
from vitree.tree.poses import coordinates_of
from vitree.tree.tree import Tree
from vitree.urdf.build import moves
from vitree.urdf.checks import listed
from vitree.urdf.layout import Layout
from vitree.urdf.xml import Source

#: The kind of the constraints of a joint that closes a loop, by the type of the joint.
CLOSED_BY = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "spherical",
             "fixed": "fixed", "universal": "spherical", "weld": "fixed", "screw": "cylindrical"}  # fmt: skip
#: How far a transform may be from none [-, m].
NOTHING = 1e-15


def coordinates(joint: Joint) -> list[str]:
    """Return the names of the coordinates of a joint, one for each of its axes."""
    if len(joint.axes) == 1:
        return [joint.name]
    return [f"{joint.name}_{k + 1}" for k in range(len(joint.axes))]


class Builder:
    """Adds links and joints to a tree.

    Parameters
    ----------
    file : Source
    tree : Tree
    links : dict of str to Link
    joints : dict of str to Joint
    layout : Layout
    armature, rebound : dict of str to float
        Of coordinates [kg or kg m^2, -].
    dry : bool
        Whether friction of joints is dry.
    """

    def __init__(self, file: Source, tree: Tree, links: Mapping[str, Link], joints: Mapping[str, Joint], layout: Layout,
                 armature: Mapping[str, float], rebound: Mapping[str, float], dry: bool):  # fmt: skip
        self.file, self.tree, self.links, self.joints, self.layout = file, tree, links, joints, layout
        self.armature, self.rebound, self.dry = armature, rebound, dry
        self.places: dict[str, Frame] = {WORLD: tree.world}

    def build(self) -> None:
        """Add links and joints, depth first in the order of the file."""
        stack = [WORLD]
        while stack:
            link = stack.pop()
            for name, child in self.layout.below[link]:
                at = self._add(self.places[link], self._elements(self.joints[name]), name)
                self.places[child] = self._add(at, [self._body(self.links[child])], child)
                stack.append(child)

    def name_frames(self, frames: Mapping[str, tuple[str, np.ndarray, object]]) -> None:
        """Add frames: their links, their poses (4, 4) [m] in the world, and their elements, by name."""
        for name, (link, X, node) in frames.items():
            there = inverse(self._pose(link)) @ X
            try:
                self.places[link].add(*_constant(there, name))
            except ModelError as error:
                raise self.file.fail("name-clash", str(error), node, remedy="rename it") from None

    def _pose(self, link: str) -> np.ndarray:
        return np.eye(4) if link == WORLD else self.links[link].pose

    def _add(self, at: Frame, elements: list[Element], name: str) -> Frame:
        try:
            return at.add(*elements) if elements else at
        except ModelError as error:
            node: object = self.joints.get(name) or self.links[name].node
            raise self.file.fail("name-clash", str(error), node, remedy="") from None

    def _body(self, link: Link) -> Body:
        inertial = link.inertial
        if inertial is None:
            return Body(link.name, inertia=np.zeros((3, 3)), geometry=tuple(link.shapes))
        R = rotation_rpy(*inertial.rpy)
        tensor = R @ inertial.tensor @ R.T
        return Body(link.name, inertial.mass, tuple(inertial.xyz), 0.5 * (tensor + tensor.T), tuple(link.shapes))

    def _elements(self, joint: Joint) -> list[Element]:
        """What leads from the parent of a joint to its child."""
        parent, child = self._pose(joint.parent), self._pose(joint.child)
        if joint.type == "floating":
            if not np.array_equal(child, np.eye(4)):
                self.tree.start[joint.name] = coordinates_of(child)
            return [free(joint.name)]
        if joint.type == "weld":
            return _constant(inverse(parent) @ child)
        there, back = inverse(parent) @ joint.pose, inverse(joint.pose) @ child
        if joint.type == "fixed":
            if joint.name in self.links:
                return _constant(there @ back)
            return [*_constant(there, joint.name), *_constant(back)]
        moving: list[Element] = [ball(joint.name)] if joint.type == "ball" else [*self._axes(joint)]
        return [*_constant(there), *moving, *_constant(back)]

    def _axes(self, joint: Joint) -> list[Coordinate]:
        """The coordinates of a joint, one for each axis."""
        if joint.type == "screw":
            (axis,) = joint.axes
            return [screw(joint.name, axis.direction, pitch=joint.pitch, **self._data(joint.name, axis))]
        make = prismatic if joint.type == "prismatic" else revolute
        names = coordinates(joint)
        made = [make(name, axis.direction, **self._data(name, axis, joint.type != "continuous"))
                for name, axis in zip(names, joint.axes, strict=True)]  # fmt: skip
        return [replace(each, mimic=self._leader(axis)) for each, axis in zip(made, joint.axes, strict=True)]

    def _data(self, name: str, axis: Axis, limited: bool = True) -> Limits:
        """Limits, damping, friction and armature of a coordinate."""
        data: Limits = {}
        for key, value, none in (
            ("velocity", axis.velocity, math.inf), ("effort", axis.effort, math.inf), ("damping", axis.damping, 0.0),
            ("dry_friction" if self.dry else "friction", axis.friction, 0.0),
            ("armature", self.armature.get(name, 0.0), 0.0),
        ):  # fmt: skip
            if value != none:
                data[key] = value  # type: ignore[literal-required]
        if limited and has_limits(axis):
            data["lower"], data["upper"] = axis.lower, axis.upper
            data["limit_restitution"] = self.rebound.get(name, 0.0)
        return data

    def _leader(self, axis: Axis) -> tuple[str, float, float] | None:
        """What a coordinate follows: a coordinate of the tree, its factor and offset."""
        mimic = axis.mimic
        leader = None if mimic is None else self.joints.get(mimic.joint)
        if mimic is None or leader is None or leader.name in self.layout.closing or not leader.axes:
            return None
        names = coordinates(leader)
        k = 1 if mimic.axis == "axis2" else 0
        return (names[k], mimic.multiplier, mimic.offset) if k < len(names) else None

    # ---- what acts, and what holds ------------------------------------------------------------------------

    def start(self) -> None:
        """Let joints start within limits that hold, where no loop ties them: the file has loops closed at zero."""
        for joint in self.joints.values() if self.tree.limits == "enforce" and not self.layout.closing else ():
            for name, axis in zip(coordinates(joint), joint.axes, strict=True):
                at = min(max(axis.lower, 0.0), axis.upper)
                if at and joint.type != "continuous" and joint.name not in self.layout.closing:
                    self.tree.start[name] = (at,)

    def load(self) -> None:
        """Add springs of joints, and what lifts links without weight."""
        for name, joint in self.joints.items():
            if name in self.layout.closing:
                continue
            for coordinate, axis in zip(coordinates(joint), joint.axes, strict=True):
                if axis.stiffness:
                    self.tree.load(JointSpring(coordinate, axis.stiffness, axis.rest))
        lifted = tuple(link.name for link in self.links.values() if link.lifted and not link.static)
        if lifted and self.tree.gravity.any():
            self.tree.load(Gravity(lifted, tuple((-self.tree.gravity).tolist())))

    def couple(self) -> None:
        """Add a constraint for each coordinate that follows another."""
        for name, joint in self.joints.items():
            for coordinate, axis in zip(coordinates(joint), joint.axes, strict=True):
                if axis.mimic is None:
                    continue
                leader = None if name in self.layout.closing else self._leader(axis)
                if leader is None or leader[0] == coordinate:
                    text = f'the joint "{name}" mimics "{axis.mimic.joint}", which has no such coordinate in the tree'
                    self.file.say("sdf-mimic", text, joint)
                else:
                    self.tree.constrain(gear(coordinate, *leader))

    def close_loops(self) -> None:
        """Add the constraints of joints that close loops, without those that the mechanism implies."""
        rows: list[tuple[str, Constraint | HelicalConstraint]] = []
        for name in self.layout.closing:
            joint = self.joints[name]
            if joint.type not in CLOSED_BY:
                raise self.file.fail("sdf-loop", f'the joint "{name}" is a {joint.type} and closes a loop', joint)
            a, b = self._end(joint, "parent"), self._end(joint, "child")
            axis = joint.axes[0].direction if joint.axes else (0.0, 0.0, 1.0)
            turns_alone = joint.type == "screw" and not joint.pitch
            kind = "revolute" if turns_alone else CLOSED_BY[joint.type]
            rows += [(name, row) for row in joint_constraints(kind, a, b, axis)]
            if kind == "cylindrical":
                rows.append((name, HelicalConstraint(a, b, joint.pitch, axis)))
            if joint.type == "universal":
                one, two = (each.direction for each in joint.axes)
                cosine = float(np.dot(one, two))
                rows.append((name, AxisConstraint(a, b, _triple(one), _triple(two), cosine)))
        self.tree.constrain([row for _, row in rows])
        if not rows or not moves(self.tree):
            return
        try:
            model = Model(self.tree.flatten())
            kept = independent_constraints(model, model.start)
        except ModelError as error:
            raise self.file.fail("loop", str(error), self.joints[rows[0][0]]) from None
        stay = {id(row) for row in kept}  # by identity: joints at one place may have equal rows
        if implied := [name for name, row in rows if id(row) not in stay]:
            text = f"{len(implied)} of their {len(rows)} equations are redundant and omitted: "
            self.file.say("loop-joints", text + listed(dict.fromkeys(implied)))
        self.tree.constraints = kept

    def _end(self, joint: Joint, end: str) -> str:
        """The frame of a joint on one of its links."""
        link, name = getattr(joint, end), f"{joint.name}_{end}"
        there = inverse(self._pose(link)) @ joint.pose
        self._add(self.places[link], [Fixed(name, there[:3, :3], tuple(there[:3, 3].tolist()))], joint.name)
        return name


def has_limits(axis: Axis) -> bool:
    """Say whether an axis has a limit."""
    return math.isfinite(axis.lower) or math.isfinite(axis.upper)


def _triple(x: tuple[float, ...]) -> tuple[float, float, float]:
    return x[0], x[1], x[2]


def _constant(X: np.ndarray, name: str | None = None) -> list[Element]:
    """A constant transform; none of one that moves nothing and has no name."""
    turned = not np.allclose(X[:3, :3], np.eye(3), rtol=0.0, atol=NOTHING)
    if name is None and not turned and not np.abs(X[:3, 3]).max() > NOTHING:
        return []
    return [Fixed(name, X[:3, :3] if turned else None, tuple(X[:3, 3].tolist()))]
