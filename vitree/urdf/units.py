"""Numbers of a robot file that are too large by the size of the robot, and the units that they look like."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.urdf.inertials import Inertial
from vitree.urdf.joints import Joint
from vitree.urdf.meshes import read_points
from vitree.urdf.schema import SHAPES
from vitree.urdf.xml import Source

#: Angles of an origin up to a turn, and limits up to two, are taken for radians [rad].
TURN, TURNS = 2 * math.pi * (1 + 1e-3), 4 * math.pi * (1 + 1e-3)
#: A limit beyond this is no angle in degrees: it stands for none.
NO_ANGLE = 1000.0
#: A centre of mass so many times farther than all else of the robot is a fault, and a radius of gyration so many times
#: larger than the shapes of its link.
FAR, LARGE = 10.0, 30.0
#: A shape so many times longer than the joints are apart, and so many times as thin, is a fault; a floor is thin.
LONG, THIN = 50.0, 5.0
#: Lengths in one unit [m], and inertias [kg m^2].
LENGTHS = {"mm": 1e-3, "cm": 1e-2}
INERTIAS = {"kg cm^2": 1e-4, "kg mm^2": 1e-6, "g cm^2": 1e-7, "g mm^2": 1e-9}
#: What a length in the right unit is of the size of the robot, about, and a radius of gyration of the reach of shapes.
USUAL, GYRATION = 0.3, 0.55


def check_units(
    file: Source,
    links: Mapping[str, Node],
    joints: Mapping[str, Joint],
    inertials: Mapping[str, Inertial | None],
    shapes: Mapping[str, Sequence[Geometry]],
    measure: bool = False,
) -> None:
    """Report numbers that look as if they were in other units.

    Parameters
    ----------
    file : Source
    links, joints, inertials, shapes : mappings
        By name; of joints of the tree.
    measure : bool
        Whether meshes are read, to know their sizes.
    """
    _check_angles(file, joints)
    apart = [math.hypot(*joint.origin.xyz) for joint in joints.values() if joint.origin is not None]
    between = max(apart, default=0.0)
    boxes = {name: [(shape, box) for shape in own if (box := _box(shape, measure)) is not None]
             for name, own in shapes.items()}  # fmt: skip
    _check_shapes(file, links, boxes, between)
    reach = {name: max((_reach(box) for _, box in own), default=0.0) for name, own in boxes.items()}
    size = max(between, *reach.values()) if reach else between
    for name, inertial in inertials.items():
        if inertial is not None:
            node = links[name].find("inertial")
            _check_angle(file, inertial.rpy, f'the inertial of link "{name}"', node)
            _check_com(file, name, inertial, size, node)
            _check_inertia(file, name, inertial, reach[name] if reach.get(name) else size, node)


# ---- angles ----------------------------------------------------------------------------------------------------


def _check_angles(file: Source, joints: Mapping[str, Joint]) -> None:
    for name, joint in joints.items():
        if joint.origin is not None:
            _check_angle(file, joint.origin.rpy, f'joint "{name}"', joint)
        if joint.type != "revolute" or joint.limit is None:
            continue
        bounds = [bound for bound in (joint.limit.lower, joint.limit.upper) if abs(bound) < NO_ANGLE]
        if bounds and max(map(abs, bounds)) > TURNS:
            text = f'the limits {joint.limit.lower:g}, {joint.limit.upper:g} of joint "{name}" are beyond 4 pi rad'
            file.say("unit-limit", f"{text}, as if they were in degrees", joint)


def _check_angle(file: Source, rpy: Sequence[float], what: str, node: object) -> None:
    if max(map(abs, rpy)) > TURN:
        said = " ".join(f"{angle:g}" for angle in rpy)
        file.say("unit-angle", f'rpy="{said}" of {what} is beyond 2 pi rad, as if it were in degrees', node)


# ---- lengths ---------------------------------------------------------------------------------------------------


def _box(shape: Geometry, measure: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Return least and largest coordinates of a shape in its own axes, (3,) each [m], and None of a mesh unread."""
    if shape.kind == "mesh":
        return _of_mesh(str(shape.filename), tuple(shape.size)) if measure and shape.found else None
    size = np.abs(np.array(shape.size))
    if shape.kind == "sphere":
        half = np.full(3, size[0])
    elif shape.kind == "box":
        half = 0.5 * size
    else:
        half = np.array([size[0], size[0], 0.5 * size[1] + (size[0] if shape.kind == "capsule" else 0.0)])
    return -half, half


@functools.lru_cache(maxsize=256)
def _of_mesh(filename: str, scale: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    with contextlib.suppress(ModelError, OSError):
        points = read_points(filename, "the size of a mesh") * np.array(scale)
        return points.min(axis=0), points.max(axis=0)
    return None


def _reach(box: tuple[np.ndarray, np.ndarray]) -> float:
    """Return half of the diagonal of a box, as far as a shape is from its middle [m]."""
    return 0.5 * float(np.linalg.norm(box[1] - box[0]))


def _check_shapes(
    file: Source,
    links: Mapping[str, Node],
    boxes: Mapping[str, list[tuple[Geometry, tuple[np.ndarray, np.ndarray]]]],
    between: float,
) -> None:
    for name, own in boxes.items():
        for shape, (low, high) in own:
            longest, thinnest = float((high - low).max()), float((high - low).min())
            if not (between > 0 and longest > LONG * between and thinnest > THIN * between):
                continue
            unit = _nearest(LENGTHS, longest / between / USUAL)
            text = f'the <{shape.kind}> of a <{shape.role}> of link "{name}" is {longest:.3g} m long, and joints are '
            text += f"at most {between:.3g} m apart; as if it were in {unit}"
            remedy = f'scale="{" ".join([f"{LENGTHS[unit]:g}"] * 3)}" makes it metres' if shape.kind == "mesh" else None
            file.say("unit-length", text, _node_of(links[name], shape), remedy=remedy)


def _node_of(link: Node, shape: Geometry) -> Node:
    """Return the element of a link's first shape of a kind and a role."""
    for item in link.findall(shape.role):
        geometry = item.find("geometry")
        if geometry is not None and any(child.tag == shape.kind for child in geometry if child.tag in SHAPES):
            return item
    return link


def _check_com(file: Source, name: str, inertial: Inertial, size: float, node: object) -> None:
    away = math.hypot(*inertial.xyz)
    if size > 0 and away > FAR * size:
        text = f'the centre of mass of link "{name}" is {away:.3g} m from the origin of the link, and the robot has '
        text += f"nothing beyond {size:.3g} m; as if it were in {_nearest(LENGTHS, away / size / USUAL)}"
        file.say("unit-com", text, node)


# ---- inertias --------------------------------------------------------------------------------------------------


def _check_inertia(file: Source, name: str, inertial: Inertial, size: float, node: object) -> None:
    """Compare the radius of gyration with the reach of the shapes of the link, or of the robot."""
    moment = 0.5 * float(np.trace(inertial.tensor))
    if not (inertial.mass > 0 and size > 0 and moment > inertial.mass * (LARGE * size) ** 2):
        return
    radius = math.sqrt(moment / inertial.mass)
    unit = _nearest({unit: math.sqrt(factor) for unit, factor in INERTIAS.items()}, radius / size / GYRATION)
    text = f'the inertia of link "{name}", about {moment:.3g} kg m^2 with {inertial.mass:.3g} kg, is that of a radius '
    text += f"of {radius:.3g} m, and its shapes reach {size:.3g} m; as if it were in {unit}"
    file.say("unit-inertia", text, node)


def _nearest(units: Mapping[str, float], ratio: float) -> str:
    """Return the unit in which a ratio is nearest to one."""
    return min(units, key=lambda unit: abs(math.log(ratio * units[unit])))

