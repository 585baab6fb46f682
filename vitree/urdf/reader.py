"""Robot files: the text checked, parsed by urdf_parser_py, and made into a Tree."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.constraints import gear, independent_constraints, joint_constraints
from vitree.errors import InputError, ModelError
from vitree.model import Model
from vitree.pairs import euler, planar, prismatic, revolute
from vitree.tree import Coordinate, Element, Frame, Tree, body, direction, fixed, free, rotation_rpy
from vitree.urdf.checks import INERTIAL, JOINT, ONE_COORDINATE, USED, check, check_mimics, few, find_root
from vitree.urdf.geometry import read_colours, read_shapes
from vitree.urdf.xml import Source

BASES = ("fixed", "free", "euler")
MIMICS = ("independent", "constraints")
LOOPS = ("error", "constraints")
#: What a joint that closes a loop is, by its type.
CLOSED_BY = {"continuous": "revolute", "floating": "free"}
ROOT_JOINT = "root_joint"

_parser_lock = threading.Lock()


def load_urdf(
    source,
    base: str = "fixed",
    *,
    gravity=(0.0, 0.0, -9.81),
    name: str | None = None,
    mimic: str = "independent",
    loops: str = "error",
):
    """Read a robot file and compile it.

    Parameters
    ----------
    source : path or str
        Path of a URDF file; or the text of one, if it starts with "<".
    base : {"fixed", "free", "euler"}
        How the root link hangs on the world: welded; by a free joint called "root_joint"; or by
        six one-coordinate joints, "root_joint_tx" ... "root_joint_rx".
    gravity : (3,) array [m/s^2]
    name : str, optional
        Instead of the name in the file.
    mimic : {"independent", "constraints"}
        Whether a joint with <mimic> moves on its own; or is held by a :class:`vitree.Coupling` to
        q = multiplier q_leader + offset.
    loops : {"error", "constraints"}
        What a link that is the child of several joints is: an error; or the end of a loop. The tree
        then keeps the first of its joints in the file, and each further one becomes the
        :func:`vitree.joint_constraints` between its place in the parent and the child link.

    Returns
    -------
    Model

    Raises
    ------
    UrdfError
        If the file cannot be read or modelled; the text names the file and the element.
    InputError
        If ``base``, ``mimic`` or ``loops`` is not known.

    Notes
    -----
    A file in which a joint moves no mass loads for its kinematics; what needs its accelerations
    raises. Joint damping and friction are simulated. Limits are kept as data (``model.joints``,
    ``model.flat.notes``), and so is mimic unless it is made a constraint. Coordinates follow the joints
    depth first, in the order of the file.

    A joint that closes a loop has no coordinate, and its limits, damping and friction are left out; its
    name is that of a frame, its place in the parent link. Of its equations those are left out that the
    rest of the mechanism implies (:func:`vitree.independent_constraints`): of a plane loop all but two.
    A start comes from :func:`vitree.satisfy_constraints`.
    """
    tree = read_urdf(source, base, gravity=gravity, name=name, mimic=mimic, loops=loops)
    if not _moves(tree):
        raise Source.failure(_display_name(source), 'nothing moves: it has no moving joint; load it with base="free"')
    try:
        model = Model(tree.flatten())
    except ModelError as error:
        raise Source.failure(_display_name(source), str(error)) from None
    return model


def read_urdf(
    source,
    base: str = "fixed",
    *,
    gravity=(0.0, 0.0, -9.81),
    name: str | None = None,
    mimic: str = "independent",
    loops: str = "error",
) -> Tree:
    """Read a robot file as a Tree that can be edited; see :func:`load_urdf`."""
    for option, value, choices in (("base", base, BASES), ("mimic", mimic, MIMICS), ("loops", loops, LOOPS)):
        if value not in choices:
            raise InputError(f'{option}="{value}" is not known; choose from ' + ", ".join(f'"{x}"' for x in choices))
    text, path = _open(source)
    file = Source(_display_name(source), text, None if path is not None else "utf-8")
    links, joints = check(file, name)
    root, closing = find_root(file, links, joints, loops)
    if mimic == "constraints":
        check_mimics(file, joints, closing)
    robot, complaints = _parse(file, links, joints)
    tree = Tree(name or file.root.get("name") or "", gravity)
    builder = _Builder(file, tree, links, joints, robot, path, closing)
    builder.build(root, base)
    if mimic == "constraints":
        builder.couple()
    builder.close_loops()
    tree.notes += builder.notes(mimic)
    tree.notes += complaints
    return tree


# ---- the file -----------------------------------------------------------------------------------


def _is_text(source) -> bool:
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _display_name(source) -> str:
    return "<text>" if _is_text(source) else Path(source).name or str(source)


def _open(source) -> tuple[bytes, Path | None]:
    if _is_text(source):
        return source.lstrip("\ufeff \t\r\n").encode(), None
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"a robot file is given by its path, not by {source!r}")
    path = Path(source).expanduser()
    name = _display_name(source)
    try:
        return path.read_bytes(), path.absolute()
    except FileNotFoundError:
        hint = "" if path.suffix else f'; for a robot by its name use load_urdf(find_robot("{name}"))'
        raise Source.failure(name, f"there is no such file ({path}); check the path{hint}") from None
    except IsADirectoryError:
        raise Source.failure(name, f"it is a directory ({path}); give the path of a URDF file in it") from None
    except (OSError, ValueError) as error:
        raise Source.failure(name, f"it cannot be read: {error}") from None


def _parse(file: Source, links, joints):
    """Let urdf_parser_py read what is kinematics; return its robot and what it complained of.

    Other content is kept from it, since it fails on much that is found in files; so is its habit
    of writing to stderr.
    """
    from urdf_parser_py.urdf import Robot
    from urdf_parser_py.xml_reflection import core

    clean = ElementTree.Element("robot", name=file.root.get("name") or "robot")
    for name, link in links.items():
        copy = ElementTree.SubElement(clean, "link", name=name)
        inertial = link.find("inertial")
        if inertial is not None:
            _copy_fields(inertial, ElementTree.SubElement(copy, "inertial"), INERTIAL)
    for name, joint in joints.items():
        copy = ElementTree.SubElement(clean, "joint", name=name, type=joint.get("type"))
        _copy_fields(joint, copy, {tag: JOINT[tag] for tag in USED.get(joint.get("type", ""), JOINT)})
        for limit in copy.findall("limit"):  # the parser insists on these two
            for attribute in ("velocity", "effort"):
                limit.set(attribute, limit.get(attribute, "inf"))
    complaints: list[str] = []
    with _parser_lock:
        usual, core.on_error = core.on_error, complaints.append
        try:
            robot = Robot.from_xml(clean, core.Path("robot", tree=ElementTree.ElementTree(clean)))
        except Exception as error:
            raise file.error(f"urdf_parser_py cannot read it: {error}") from error
        finally:
            core.on_error = usual
    return robot, complaints


def _copy_fields(node, copy, fields) -> None:
    for tag, attributes in fields.items():
        child = node.find(tag)
        if child is not None:
            ElementTree.SubElement(copy, tag, {key: child.get(key) for key in attributes if child.get(key) is not None})


# ---- the tree -----------------------------------------------------------------------------------


def _pose(origin) -> dict:
    """Arguments of ``fixed`` for an origin."""
    return {"xyz": origin.xyz or (0, 0, 0), "rpy": origin.rpy or (0, 0, 0)} if origin is not None else {}


def _moves(tree: Tree) -> bool:
    return any(isinstance(at.element, Coordinate) for _, at in tree.world.walk())


def _mimic(mimic) -> tuple[str, float, float]:
    """Leader, multiplier and offset."""
    return mimic.joint, 1.0 if mimic.multiplier is None else mimic.multiplier, mimic.offset or 0.0


class _Builder:
    """Adds links and joints to a tree, and collects what is to be said."""

    def __init__(self, file: Source, tree: Tree, links, joints, robot, path: Path | None, closing: list[str]):
        self.file, self.tree, self.links, self.joints, self.robot, self.path = (file, tree, links, joints, robot, path)
        self.closing = closing
        self.places: dict[str, Frame] = {}
        self.loop_notes: list[str] = []
        self.colours = read_colours(file)
        self.skipped: list[str] = []
        self.unphysical: list[str] = []
        self.inverted: list[str] = []

    def build(self, root: str, base: str) -> None:
        """Add links and joints, depth first in the order of the file."""
        at = self.tree.world
        if base != "fixed":
            name = ROOT_JOINT
            while any(joint.startswith(name) for joint in self.joints):
                name = f"{name}_"
            at = at.add(*([free(name)] if base == "free" else euler(name)))
        stack = [(root, at)]
        while stack:
            link, at = stack.pop()
            here = self.places[link] = self._add(at, [self._body(link)], self.links[link])
            below = []
            for joint, child in self.robot.child_map.get(link, ()):
                if joint in self.closing:
                    continue
                elements = self._elements(self.robot.joint_map[joint])
                below.append((child, self._add(here, elements, self.joints[joint])))
            stack += below

    def couple(self) -> None:
        """Let mimic joints follow by constraints."""
        for joint in self.robot.joints:
            if joint.type in ONE_COORDINATE and joint.mimic is not None:
                self.tree.constrain(gear(joint.name, *_mimic(joint.mimic)))

    def close_loops(self) -> None:
        """Put constraints in the place of closing joints, without what the mechanism implies."""
        rows: list[tuple[str, Any]] = []
        for name in self.closing:
            joint, frame = self.robot.joint_map[name], name
            while frame in self.links or (frame != name and frame in self.joints):
                frame = f"{frame}_"
            self._add(self.places[joint.parent], [fixed(frame, **_pose(joint.origin))], self.joints[name])
            try:
                held = joint_constraints(
                    CLOSED_BY.get(joint.type, joint.type), frame, joint.child, joint.axis or (1.0, 0.0, 0.0)
                )
            except ModelError as error:
                raise self.file.error(f'joint "{name}": {error}', self.joints[name]) from None
            rows += [(name, row) for row in held]
        self.tree.constrain([row for _, row in rows])
        if not rows or not _moves(self.tree):
            return
        try:
            model = Model(self.tree.flatten())
        except ModelError as error:
            raise self.file.error(str(error), self.joints[self.closing[0]]) from None
        kept = independent_constraints(model)
        # by identity: equal rows may come from joints at one place
        stay = {id(row) for row in kept}
        implied = [name for name, row in rows if id(row) not in stay]
        if implied:
            self.loop_notes.append(
                f"{len(implied)} of their {len(rows)} equations are implied by the others, left out: "
                + few(list(dict.fromkeys(implied)))
            )
        self.tree.constraints = kept

    def _add(self, at: Frame, elements: list[Element], node: Node) -> Frame:
        try:
            return at.add(*elements)
        except ModelError as error:
            raise self.file.error(str(error), node) from None

    def _body(self, name: str):
        inertial, node = self.robot.link_map[name].inertial, self.links[name]
        shapes = read_shapes(self.file, node, self.colours, self.path, self.skipped)
        if inertial is None:
            return body(name, 0.0, geometry=shapes)
        pose = _pose(inertial.origin)
        tensor, R = (np.array(inertial.inertia.to_matrix()), rotation_rpy(*pose.get("rpy", (0, 0, 0))))
        try:
            rounding = 1e-9 * np.abs(tensor).max() + 1e-12 * inertial.mass
            if np.diag(tensor).min() < -rounding:
                raise ModelError(f'the inertia of link "{name}" has a negative moment; no body has that')
            if np.linalg.eigvalsh(tensor)[0] < -rounding:
                self.unphysical.append(name)
            plain = body(name, inertial.mass, com=pose.get("xyz", (0, 0, 0)), geometry=shapes)
        except ModelError as error:
            raise self.file.error(str(error), node.find("inertial")) from None
        return replace(plain, inertia=R @ tensor @ R.T)

    def _elements(self, joint) -> list[Element]:
        node = self.joints[joint.name]
        if joint.type == "fixed":
            # a link of the same name owns the frame
            return [fixed(None if joint.name in self.links else joint.name, **_pose(joint.origin))]
        place = fixed(**_pose(joint.origin))
        if joint.type == "floating":
            return [place, free(joint.name)]
        try:
            axis = direction(joint.axis or (1.0, 0.0, 0.0), f'axis of joint "{joint.name}"')
            if joint.type == "planar":
                return [place, *planar(joint.name, axis)]
            return [place, self._hinge_or_slide(joint, axis)]
        except ModelError as error:
            raise self.file.error(str(error), node) from None

    def _hinge_or_slide(self, joint, axis) -> Coordinate:
        data: dict = {}
        limit, dynamics, mimic = joint.limit, joint.dynamics, joint.mimic
        if limit is not None:
            data |= {"velocity": limit.velocity, "effort": limit.effort}
            if joint.type != "continuous":
                if limit.lower <= limit.upper:
                    data |= {"lower": limit.lower, "upper": limit.upper}
                else:
                    self.inverted.append(joint.name)
        for what in ("damping", "friction") if dynamics is not None else ():
            value = getattr(dynamics, what)
            if value is not None:
                if value < 0:
                    raise ModelError(f'the {what} of joint "{joint.name}" is {value:g}; it must not be negative')
                data[what] = value
        if mimic is not None:
            data["mimic"] = _mimic(mimic)
        make = prismatic if joint.type == "prismatic" else revolute
        return make(joint.name, axis, **data)

    def notes(self, mimic: str) -> list[str]:
        """Return what is to be said."""
        joints = [j for j in self.robot.joints if j.name not in self.closing]
        moving = [j for j in joints if j.type in ONE_COORDINATE]
        follow = "mimic joints follow by constraints" if mimic == "constraints" else "mimic joints move on their own"
        cases = {
            "fixed joints: what they connect moves as one body": [j.name for j in joints if j.type == "fixed"],
            "joints that close loops: constraints, without coordinate, limits, damping or friction": self.closing,
            follow: [j.name for j in moving if j.mimic is not None],
            "mimic a joint that is not in the file": [
                j.name for j in moving if j.mimic is not None and j.mimic.joint not in self.joints
            ],
            "inertia that no body has (a negative principal moment), taken as it is": self.unphysical,
            "limits inverted, left out": self.inverted,
            "limits and damping of planar and floating joints are left out": [
                name
                for name, node in self.joints.items()
                if name not in self.closing
                and node.get("type") in ("planar", "floating")
                and {"limit", "dynamics"} & {part.tag for part in node}
            ],
            "without <limit>, taken as unlimited": [
                j.name for j in moving if j.limit is None and j.type != "continuous"
            ],
        }
        notes = [f"{text}: {few(names)}" for text, names in cases.items() if names] + self.loop_notes
        if any(j.limit is not None for j in moving):
            notes.append("joint limits are kept as data, not enforced")
        if self.skipped:
            notes.append(
                f"shapes not known, left out: {', '.join(self.skipped[:6])}"
                + (f" and {len(self.skipped) - 6} more" if len(self.skipped) > 6 else "")
            )
        others = {node.tag for node in self.file.root} - {"link", "joint", "material"}
        if others:
            notes.append("ignored: " + ", ".join(f"<{tag}>" for tag in sorted(others)))
        return notes
