"""From a URDF file to a Tree: the parser is urdf-parser-py, made safe and quiet."""

from __future__ import annotations

import contextlib
import io
import os
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from vitree import pairs
from vitree.errors import InputError, UrdfError, VitreeError
from vitree.flat import Geometry
from vitree.flatten import turn_z_to
from vitree.tree import Body, Element, Fixed, Frame, Tree, direction, free, rotation_rpy
from vitree.urdf.prepass import Document, prepare

BASES = ("fixed", "free", "euler")
#: Name of the joint above the root link of a moving base.
ROOT_JOINT = "root_joint"
#: The parser reports through one global function; it is replaced under this lock.
_LOCK = threading.Lock()


def load_urdf(source: str | os.PathLike, base: str = "fixed", *, gravity=(0.0, 0.0, -9.81), name: str | None = None):
    """Load a robot from a URDF file.

    Parameters
    ----------
    source : path
    base : {"fixed", "free", "euler"}
        How the root link is joined to the world: welded; free to move by a joint "root_joint" with
        q = (position, quaternion xyzw) and v = (linear, angular) in its axes; or by the six primitives
        tx ty tz rz ry rx.
    gravity : (3,) array [m/s^2]
    name : str, optional
        Instead of the robot's name in the file.

    Returns
    -------
    Model
        Joint damping is simulated. Friction, mimic and limits are kept as data (``model.joint``).

    Raises
    ------
    UrdfError
        If the file cannot be read; the text names file, line and element.
    """
    tree = read_urdf(source, base, gravity=gravity, name=name)
    try:
        return tree.compile()
    except UrdfError:
        raise
    except VitreeError as error:
        raise UrdfError(f"{Path(source).name}: {error}") from None


def read_urdf(source: str | os.PathLike, base: str = "fixed", *, gravity=(0.0, 0.0, -9.81), name: str | None = None) -> Tree:
    """Read a URDF file into a :class:`Tree`, which can be edited before it is compiled; see :func:`load_urdf`."""
    if base not in BASES:
        raise InputError(f'base="{base}" is not known; choose from {", ".join(BASES)}')
    path = Path(os.fspath(source))
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise UrdfError(f"there is no file {path}") from None
    except OSError as error:
        raise UrdfError(f"cannot read {path}: {error.strerror}") from None
    document = prepare(text, path.name)
    robot, complaints = parse_quietly(document)
    tree = Tree(name or robot.name, gravity=gravity)
    tree.notes += complaints
    _build(document, robot, tree, base)
    return tree


def parse_quietly(document: Document):
    """Return urdf-parser-py's robot and what it had to say, which it would print."""
    from urdf_parser_py import urdf
    from urdf_parser_py.xml_reflection import core

    complaints: list[str] = []
    text = ElementTree.tostring(document.robot, encoding="unicode")
    with _LOCK, contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        before, core.on_error = core.on_error, complaints.append
        try:
            return urdf.URDF.from_xml_string(text), complaints
        except Exception as error:  # the parser raises bare exceptions of many kinds
            raise UrdfError(f"{document.source}: the URDF parser refuses it: {error}") from None
        finally:
            core.on_error = before


def _build(document: Document, robot, tree: Tree, base: str) -> None:
    elements = dict(document.named("link")), dict(document.named("joint"))
    below: dict[str, list] = {}
    for joint in robot.joints:
        below.setdefault(joint.parent, []).append(joint)
    root = robot.get_root()
    top: list[Element] = {"fixed": [], "free": [free(ROOT_JOINT)], "euler": pairs.euler(ROOT_JOINT)}[base]
    stack: list[tuple[Frame, list[Element], str]] = [(tree.world, top, root)]
    while stack:
        at, chain, link = stack.pop()
        try:
            here = at.add(*chain, _body(document, robot.link_map[link], elements[0][link], tree))
        except VitreeError as error:
            raise document.error(elements[0][link], f'link "{link}": {error}') from None
        for joint in reversed(below.get(link, [])):
            try:
                stack.append((here, _joint(joint, tree, elements[0]), joint.child))
            except VitreeError as error:
                raise document.error(elements[1][joint.name], f'joint "{joint.name}": {error}') from None


def _place(origin) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and position of an <origin>, which may be missing."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    return rotation_rpy(*(origin.rpy or (0, 0, 0))), np.array(origin.xyz or (0, 0, 0), dtype=float)


def _joint(joint, tree: Tree, links) -> list[Element]:
    """The elements that lead from the parent link's frame to the child link's."""
    R, position = _place(joint.origin)
    chain: list[Element] = []
    if np.any(position) or not np.array_equal(R, np.eye(3)):
        chain.append(Fixed(rotation=R, position=tuple(position)))
    kind = joint.type
    if kind == "fixed":
        # a link may have the joint's name, and then owns the frame
        chain.append(Fixed(joint.name if joint.name not in links else None))
        return chain
    more: dict = {"damping": 0.0}
    if joint.dynamics is not None:
        more["damping"] = float(joint.dynamics.damping or 0.0)
        if joint.dynamics.friction:
            tree.notes.append(f'joint "{joint.name}": friction {joint.dynamics.friction:g} is kept out of the dynamics')
    if kind == "floating":
        return [*chain, free(joint.name, **more)]
    axis = direction(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0), "axis")
    if kind == "planar":
        turn = turn_z_to(axis)
        return [*chain, Fixed(rotation=turn), *pairs.planar(joint.name, **more), Fixed(rotation=turn.T)]
    if joint.limit is not None:
        if kind != "continuous":
            lower, upper = float(joint.limit.lower or 0.0), float(joint.limit.upper or 0.0)
            if lower > upper:
                tree.notes.append(f'joint "{joint.name}": limits {lower:g} > {upper:g} are inverted and ignored')
            else:
                more |= {"lower": lower, "upper": upper}
        for what in ("velocity", "effort"):
            value = getattr(joint.limit, what)
            if value is not None:
                more[what] = float(value)
    if joint.mimic is not None:
        m = joint.mimic
        more["mimic"] = (
            m.joint, 1.0 if m.multiplier is None else float(m.multiplier), 0.0 if m.offset is None else float(m.offset),
        )  # fmt: skip
        tree.notes.append(f'joint "{joint.name}" mimics "{m.joint}": it is simulated as a joint of its own')
    make = pairs.prismatic if kind == "prismatic" else pairs.revolute
    return [*chain, make(joint.name, tuple(axis), **more)]


def _body(document: Document, link, element, tree: Tree) -> Body:
    mass, com, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    if link.inertial is not None:
        R, com = _place(link.inertial.origin)
        mass = float(link.inertial.mass or 0.0)
        if mass < 0:
            raise UrdfError(f"its mass is {mass:g} kg; it must be zero or more")
        if link.inertial.inertia is not None:
            inertia = R @ np.array(link.inertial.inertia.to_matrix(), dtype=float) @ R.T
            inertia = 0.5 * (inertia + inertia.T)
        if mass == 0 and np.any(inertia):
            tree.notes.append(f'link "{link.name}" has inertia but no mass; both are taken as zero')
            inertia = np.zeros((3, 3))
        moments = np.linalg.eigvalsh(inertia)
        if moments[0] < -1e-9 * max(moments[-1], 1e-300):
            tree.notes.append(f'link "{link.name}": a principal moment of inertia is negative ({moments[0]:.3g} kg m^2)')
    return Body(link.name, mass=mass, com=tuple(com), inertia=inertia, geometry=tuple(_geometry(document, link, element)))


def _geometry(document: Document, link, element):
    for role, shapes, nodes in (
        ("visual", link.visuals, element.findall("visual")),
        ("collision", link.collisions, element.findall("collision")),
    ):
        for shape, node in zip(shapes, nodes, strict=True):
            R, position = _place(shape.origin)
            solid, size, filename = shape.geometry, (), None
            kind = type(solid).__name__.lower()
            if kind == "box":
                size = tuple(solid.size)
            elif kind == "cylinder":
                size = (solid.radius, solid.length)
            elif kind == "sphere":
                size = (solid.radius,)
            elif kind == "mesh":
                size, filename = tuple(solid.scale or (1.0, 1.0, 1.0)), solid.filename
            else:
                continue
            colour = document.colours.get(id(node))
            yield Geometry(link.name, kind, tuple(map(float, size)), R, position, filename, colour, role)
