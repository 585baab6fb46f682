"""From the checked elements of a robot file to a Tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.constraints import AxisConstraint, PointConstraint, gear, joint_constraints
from vitree.mechanism.flat import Geometry
from vitree.model.closures import independent_constraints
from vitree.model.model import Model
from vitree.spatial.checks import unit_triple
from vitree.spatial.rotations import rotation_about, rotation_rpy
from vitree.tree.elements import Body, Coordinate, Element, Fixed, Limits, ball, free
from vitree.tree.frames import Frame
from vitree.tree.pairs import euler, planar, prismatic, revolute
from vitree.tree.tree import Tree
from vitree.urdf.checks import listed
from vitree.urdf.inertials import Inertial
from vitree.urdf.joints import Joint
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


def _limit(value: float) -> float:
    """A limit; the largest floating-point number stands for none, since readers in C++ do not take "inf"."""
    return value if abs(value) < UNLIMITED else float(np.copysign(np.inf, value))


def bounds_of(joint: Joint) -> tuple[float, float] | None:
    """Return the lower and upper limit [m or rad] of a joint of one coordinate; None if it has none."""
    limit = joint.limit
    if limit is None or joint.type == "continuous" or limit.lower > limit.upper:
        return None
    lower, upper = _limit(limit.lower), _limit(limit.upper)
    return None if lower == -np.inf and upper == np.inf else (lower, upper)


def _origin(joint: Joint, name: str | None = None) -> Fixed:
    """The constant transform to a joint, and the name of the place where it leads."""
    zero = [0.0, 0.0, 0.0]
    xyz, rpy = (zero, zero) if joint.origin is None else (joint.origin.xyz, joint.origin.rpy)
    return Fixed(name, rotation_rpy(*rpy), tuple(xyz))


def _axis(joint: Joint) -> list[float]:
    return joint.axis or [1.0, 0.0, 0.0]


def _mimic(joint: Joint) -> tuple[str, float, float] | None:
    """Leader, multiplier and offset of a joint that names a leader."""
    mimic = joint.mimic
    return (mimic.joint, mimic.multiplier, mimic.offset or 0.0) if mimic is not None and mimic.joint else None


def reversed_elements(elements: list[Element]) -> list[Element]:
    """Return the elements that lead back: the inverse of each, in the opposite order."""
    back: list[Element] = []
    for element in reversed(elements):
        if isinstance(element, Coordinate):
            twist, axis = (None if part is None else tuple(-x for x in part) for part in (element.twist, element.axis))
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
    links : dict of str to Element
    joints : dict of str to urdf_parser_py.urdf.Joint
    inertials : dict
        Of the links.
    layout : Layout
    armature : dict of str to float
        Of joints of one coordinate [kg or kg m^2].
    dry : bool
        Whether friction of joints is dry.
    rebound : dict of str to float
        Restitution of limits of joints that have some.
    still : dict of str to float
        Joints of one coordinate that do not move, and where they stand [m or rad].
    """

    def __init__(self, file: Source, tree: Tree, links: Mapping[str, Node], joints: Mapping[str, Joint],
                 inertials: dict[str, Inertial | None], layout: Layout, armature: dict[str, float], dry: bool,
                 rebound: dict[str, float], still: Mapping[str, float]) -> None:  # fmt: skip
        self.dry, self.rebound, self.still = dry, rebound, still
        self.file, self.tree, self.links, self.layout, self.armature = file, tree, links, layout, armature
        self.inertials = inertials
        there = layout.joints()
        self.joints = {name: node for name, node in joints.items() if name in there}
        self.places: dict[str, Frame] = {}
        self.tensors: dict[str, np.ndarray] = {}  # inertias of the links, in the axes of the links

    def build(self, base: str, shapes: dict[str, list[Geometry]]) -> None:
        """Add links and joints, depth first in the order of the file."""
        some = {name: inertial for name, inertial in self.inertials.items() if inertial is not None}
        R = np.array([rotation_rpy(*inertial.rpy) for inertial in some.values()]).reshape(-1, 3, 3)
        tensors = np.array([inertial.tensor for inertial in some.values()]).reshape(-1, 3, 3)
        self.tensors = dict(zip(some, R @ tensors @ R.swapaxes(1, 2), strict=True))
        stack = [self._start(base, shapes)]
        while stack:
            link, at = stack.pop()
            here = self.places[link] = self._add(at, [self._body(link, shapes[link])], link)
            for joint, child in self.layout.below[link]:
                elements = self._elements(joint, self.joints[joint])
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
        joint = None if only in self.layout.turned else self.joints.get(only)
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
        return child, self._add(here, [_origin(joint), *floats, *named], root)

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
        for name, mimic in self._followers():
            self.tree.constrain(gear(name, *mimic))

    def close_loops(self) -> None:
        """Add the constraints of joints that close loops, without those that the mechanism implies."""
        rows: list[tuple[str, PointConstraint | AxisConstraint]] = []
        for name in self.layout.closing:
            joint, frame = self.joints[name], name
            while frame in self.links or (frame != name and frame in self.joints):
                frame = f"{frame}_"
            self._add(self.places[joint.parent], [_origin(joint, frame)], name)
            try:
                held = joint_constraints(CLOSED_BY.get(joint.type, joint.type), frame, joint.child, _axis(joint))
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
            text = f"{len(implied)} of their {len(rows)} equations are redundant and omitted: "
            self.file.say("loop-joints", text + listed(dict.fromkeys(implied)))
        self.tree.constraints = kept

    def _add(self, at: Frame, elements: list[Element], name: str) -> Frame:
        try:
            return at.add(*elements)
        except ModelError as error:
            node = self.joints.get(name, self.links.get(name))
            raise self.file.fail("name-clash", str(error), node, remedy="") from None

    def _body(self, name: str, shapes: list[Geometry]) -> Body:
        inertial = self.inertials[name]
        if inertial is None:
            return Body(name, inertia=np.zeros((3, 3)), geometry=tuple(shapes))
        # settle_inertial has checked the inertia; body() would refuse one that is to be taken as it is
        return Body(name, inertial.mass, tuple(inertial.xyz), self.tensors[name], tuple(shapes))

    def _elements(self, name: str, joint: Joint) -> list[Element]:
        if joint.type == "fixed":
            # a link of the same name owns the frame
            return [_origin(joint, None if name in self.links else name)]
        if joint.type == "floating":
            return [_origin(joint), free(name)]
        if joint.type == "spherical":
            return [_origin(joint), ball(name)]
        axis = unit_triple(_axis(joint), f'axis of joint "{name}"')
        if (at := self.still.get(name)) is not None:
            kept = None if name in self.links else name
            if joint.type == "prismatic":
                return [_origin(joint), Fixed(kept, None, tuple(at * np.array(axis)))]
            return [_origin(joint), Fixed(kept, rotation_about(np.array(axis), at))]
        if joint.type == "planar":
            return [_origin(joint), *planar(name, axis)]
        make = prismatic if joint.type == "prismatic" else revolute
        made = make(name, axis, **self._data(name, joint))
        return [_origin(joint), replace(made, mimic=_mimic(joint))]

    def _data(self, name: str, joint: Joint) -> Limits:
        """Limits, damping, friction and armature of a joint of one coordinate."""
        data: Limits = {"armature": value} if (value := self.armature.get(name)) else {}
        if (limit := joint.limit) is not None:
            if limit.velocity >= 0:
                data["velocity"] = _limit(limit.velocity)
            if limit.effort >= 0:
                data["effort"] = _limit(limit.effort)
        if (bounds := bounds_of(joint)) is not None:
            data["lower"], data["upper"] = bounds
            data["limit_restitution"] = self.rebound.get(name, 0.0)
        if (dynamics := joint.dynamics) is not None:
            if dynamics.damping:
                data["damping"] = dynamics.damping
            if dynamics.friction:
                data["dry_friction" if self.dry else "friction"] = dynamics.friction
        return data

    def _of(self, *types: str) -> dict[str, Joint]:
        """Joints of these types that do not close loops."""
        return {
            name: joint
            for name, joint in self.joints.items()
            if joint.type in types and name not in self.layout.closing
        }

    def _followers(self) -> list[tuple[str, tuple[str, float, float]]]:
        """Joints that mimic another one of the tree, and how."""
        found = ((name, _mimic(joint)) for name, joint in self._of(*ONE_COORDINATE).items() if name not in self.still)
        return [(name, mimic) for name, mimic in found if mimic is not None and mimic[0] in self.joints]

    def note(self, mimic: str, rotors: Collection[str], limits: str) -> None:
        """Note in the report how joints and limits were read; ``rotors`` are joints with rotors in the file."""
        follow = {
            "reduced": "mimic joints follow, without coordinates of their own",
            "constraints": "mimic joints follow by constraints",
            "independent": "mimic joints move independently",
        }[mimic]
        for rule, text, names in (
            ("fixed-joints", "fixed joints: the links that they connect move as one body", self._of("fixed")),
            ("turned", "joints reversed on the path to the root", self.layout.turned),
            ("loop-joints", "joints that close loops: constraints, without coordinate, limits, damping and friction",
             self.layout.closing),
            ("mimic-joints", follow, [name for name, _ in self._followers()]),
            ("rotors", "transmissions: rotor inertias times reduction^2 become the armature of joints", rotors),
        ):  # fmt: skip
            if names:
                self.file.say(rule, f"{text}: {listed(names)}")
        if any(joint.limit is not None for joint in self._of(*ONE_COORDINATE).values()):
            self.file.say("limits", {
                "report": "joint limits are not enforced; a run warns if a joint exceeds one",
                "enforce": "joint limits are enforced" + (", with a rebound" if any(self.rebound.values()) else ""),
                "ignore": "joint limits are kept as data",
            }[limits])  # fmt: skip
        read = {"transmission"} if rotors else set()
        others = {node.tag for node in self.file.root if node.tag in EXTENSIONS} - read
        if others:
            self.file.say("extension", "ignored: " + ", ".join(f"<{tag}>" for tag in sorted(others)))
