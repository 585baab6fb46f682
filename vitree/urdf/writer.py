"""A mechanism as the text of a URDF file."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from vitree.arguments import path_of, plain_scalar
from vitree.errors import InputError, ModelError
from vitree.geometry.shapes import Disk
from vitree.mechanism.constraints import Coupling, loses
from vitree.mechanism.contacts import NoContact
from vitree.mechanism.flat import Flat, Geometry
from vitree.model.model import Model
from vitree.spatial.rotations import rotation_about
from vitree.tree.tree import Tree
from vitree.urdf.build import UNLIMITED
from vitree.urdf.schema import SHAPES
from vitree.urdf.skeleton import Joint, Link, lay_out, size_of
from vitree.writing import write_text

#: Decimals of angles, and of lengths in the size of the mechanism. Reading a pose and taking it apart again
#: is wrong by up to 1e-15; numbers rounded to fewer digits than that come back as they were written.
DECIMALS = 14
#: The namespace of Drake's elements.
DRAKE = "https://drake.mit.edu"
#: Characters that XML cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_urdf(model: Model | Tree, path: str | os.PathLike[str] | None = None, *, lossy: bool = False) -> str:
    """Return a mechanism as the text of a URDF file, and write it to ``path`` if one is given.

    The file reads back to the same dynamics, links, frames, limits and shapes. Poses of links and
    joints are rounded to 14 decimals; masses, inertias, limits and sizes are exact. A model that was
    read from such a file is written as the same text. A ground and ``limit_restitution`` are
    no part of a file.

    Parameters
    ----------
    model : Model or Tree
    path : path, optional
        The file is replaced only when the whole text is written.
    lossy : bool
        Whether to leave out the parts that URDF cannot express, instead of refusing: contacts that are no
        <collision> shapes, loads, constraints other than couplings of two joints, prescribed motion, and
        damping, friction and limits of free joints.

    Returns
    -------
    str

    Raises
    ------
    ModelError
        If URDF cannot express a part of it; the text lists these parts and the remedies.
    InputError
        If it is neither a Model nor a Tree, or the file cannot be written.

    Notes
    -----
    If one free joint alone connects everything to the world, it is left out: read the file with
    ``base="free"``, which makes it again, called "root_joint". Read every other file with ``base="fixed"``; its root is
    the link at the origin of the world, or else a link "world" without mass.

    URDF has no armature: it is written as Drake has it, as the <drake:rotor_inertia> of a <transmission>, which
    :func:`load_urdf` reads and many programs ignore. URDF has no gravity: give gravity when reading. Meshes keep the
    paths at which they were found.

    A <mimic> is written for a joint that had one in its file, and for a coupling of two joints
    (:func:`vitree.gear`). A helical joint becomes a continuous joint and a prismatic one that mimics it; do not read
    such a file with ``mimic="independent"``.

    Cylindrical, universal and Euler joints become chains of joints of one coordinate, and so does a
    planar joint that has damping, friction, armature or limits. A link without mass is added where the axis of a
    joint passes through the frame of no link, and for each other frame. If the order of the coordinates is depth first,
    joints are written in that order.
    """
    if not isinstance(model, Model | Tree):
        raise InputError(f"write_urdf takes a Model or a Tree, not {model!r}")
    if not isinstance(plain_scalar(lossy), bool):
        raise InputError("lossy", lossy, "must be True or False")
    flat = (Model(model.flatten()) if isinstance(model, Tree) else model).full.flat
    mimics, others = _follows(flat)
    _require_expressible(flat, others, lossy)
    root = _robot(flat, lay_out(flat, mimics))
    ElementTree.indent(root)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'
    if path is not None:
        write_text(os.path.expanduser(path_of(path)), text)
    return text


# ---- the limits of URDF ----------------------------------------------------------------------------


def _follows(flat: Flat) -> tuple[dict[str, tuple[str, float, float]], list[str]]:
    """Return (leader, multiplier, offset) of joints that follow others, and the other constraints' names."""
    mimics = {joint.name: joint.mimic for joint in flat.joints if joint.mimic is not None}
    others = []
    for constraint in flat.constraints:
        if not isinstance(constraint, Coupling) or loses(constraint):
            others.append(constraint.name)
            continue
        (joint, factor), (leader, against) = constraint.factors.items()
        rule = (leader, -against / factor, constraint.value / factor)
        leaders = [leader]
        while leaders[-1] in mimics and leaders[-1] not in leaders[:-1]:
            leaders.append(mimics[leaders[-1]][0])
        if joint in leaders or mimics.setdefault(joint, rule) != rule:
            others.append(constraint.name)
    return mimics, others


def _require_expressible(flat: Flat, constraints: list[str], lossy: bool) -> None:
    """Raise a ModelError that lists the parts that URDF cannot express."""
    resisted = (flat.damping != 0) | (flat.friction != 0) | (flat.dry_friction != 0)
    dry = [joint.name for joint in flat.joints if flat.dry_friction[joint.v_slice].any()] if flat.friction.any() else []
    free = [
        joint.name
        for joint in flat.joints
        if joint.kind == "free"
        and (
            resisted[joint.v_slice].any() or np.isfinite((joint.lower, joint.upper, joint.velocity, joint.effort)).any()
        )
    ]
    shaped = {shape.frame for shape in flat.geometry if shape.role == "collision"}
    contacts = [
        each.name for each in flat.contacts
        if isinstance(each, NoContact) or each.points is not None or each.frame not in shaped
        or any(isinstance(shape, Disk) for shape in each.shapes)
    ]  # fmt: skip
    losses = {
        "contacts": contacts,
        "rolling": [each.name for each in flat.rolling],
        "ropes and limits of ball joints": [each.name for each in flat.unilateral],
        "dry friction beside the smooth one": dry,
        "loads": [load.name for load in flat.loads],
        "constraints": constraints,
        "prescribed motion": [joint.name for joint in flat.joints if flat.kinematic[joint.v_slice].any()],
        "damping, friction or limits of free joints": free,
    }
    missing = {} if lossy else {what: names for what, names in losses.items() if names}
    remedies: list[str] = [f"lossy=True leaves out the {', '.join(missing)}"] if missing else []
    balls = [joint.name for joint in flat.joints if joint.kind == "ball"]
    if balls:
        missing["ball joints"] = balls
        remedies.append("build ball joints of rz, ry, rx, or write model.euler()")
    if missing:
        listed = "; ".join(f"{what}: {_some(names)}" for what, names in missing.items())
        text = f'URDF cannot express these parts of "{flat.name}": {listed}. Remedy: '
        raise ModelError(text + "; ".join(remedies))
    names = (flat.name, *flat.frame_names, *(joint.name for joint in flat.joints))
    bad = next((name for name in names if _FORBIDDEN.search(name)), None)
    if bad is not None:
        raise ModelError(f"the name {bad!r} has characters that XML cannot hold; rename it")


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


# ---- numbers --------------------------------------------------------------------------------------


def _text(*numbers: float) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(x) + 0.0).removesuffix(".0") for x in numbers)


def _angle(x: float, decimals: int = DECIMALS) -> float:
    """An angle rounded; quarter turns as exact as they can be."""
    if decimals <= 0:
        return 0.0
    quarters = round(2 * x / math.pi)
    if abs(x - quarters * math.pi / 2) < 10.0**-decimals:
        return math.pi if abs(quarters) == 2 else quarters * math.pi / 2
    return round(x, decimals)


def _rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation (3, 3), rounded.

    Near a pitch of +-90 degrees yaw matters little, and is rounded to fewer digits. Pitch and roll are those of the
    rotation with this yaw undone, so that the three give the rotation at any pitch.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    if abs(yaw) > 2 and abs(math.atan2(R[2, 1], R[2, 2])) > 2:
        yaw -= math.copysign(math.pi, yaw)  # small roll and yaw, and a pitch beyond a quarter turn
    cosine = max(math.hypot(R[0, 0], R[1, 0]), 1e-20)
    yaw = _angle(yaw, DECIMALS - 1 + math.ceil(math.log10(5 * cosine)))
    rest = rotation_about(np.array([0.0, 0.0, 1.0]), -yaw) @ R
    return _angle(math.atan2(-rest[1, 2], rest[1, 1])), _angle(math.atan2(-rest[2, 0], rest[0, 0])), yaw


def _unit(axis: np.ndarray) -> np.ndarray:
    """A unit vector rounded so that its direction, rounded, is the same again."""
    rounded = np.round(axis, DECIMALS)
    for _ in range(10):  # each is no further from the unit sphere than the one before
        before, rounded = rounded, np.round(rounded / np.linalg.norm(rounded), DECIMALS)
        if np.array_equal(before, rounded):
            break
    return rounded


# ---- elements -------------------------------------------------------------------------------------


def _robot(flat: Flat, links: list[Link]) -> Element:
    root = Element("robot", name=flat.name or "robot")
    if flat.armature.any():
        root.set("xmlns:drake", DRAKE)
    size = size_of(flat)
    decimals = DECIMALS - (round(math.log10(size)) if size > 0 else 0)
    shapes = defaultdict(list)
    for shape in flat.geometry:
        shapes[shape.frame].append(shape)
    for link in links:
        if link.joint is not None:
            _add_joint(root, link.joint, decimals)
        _add_link(root, link, shapes[link.name])
    for link in links:
        if link.joint is not None and link.joint.armature:
            _add_rotor(root, link.joint)
    return root


def _add_rotor(root: Element, joint: Joint) -> None:
    transmission = SubElement(root, "transmission", name=f"{joint.name}_transmission")
    SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
    SubElement(transmission, "joint", name=joint.name)
    actuator = SubElement(transmission, "actuator", name=f"{joint.name}_motor")
    SubElement(actuator, "drake:rotor_inertia", value=_text(joint.armature))
    SubElement(actuator, "drake:gear_ratio", value="1")


def _origin(parent: Element, R: np.ndarray, p: np.ndarray) -> None:
    rpy = _rpy(R)
    given = {key: _text(*values) for key, values in (("xyz", p), ("rpy", rpy)) if np.any(values)}
    if given:
        SubElement(parent, "origin", given)


def _add_link(root: Element, link: Link, shapes: list[Geometry]) -> None:
    element = SubElement(root, "link", name=link.name)
    if link.mass or np.any(link.inertia):
        inertial = SubElement(element, "inertial")
        _origin(inertial, np.eye(3), np.array(link.com))
        SubElement(inertial, "mass", value=_text(link.mass))
        tensor = 0.5 * (link.inertia + link.inertia.T)
        axes = [(i, j) for i in range(3) for j in range(i, 3)]
        SubElement(inertial, "inertia", {f"i{'xyz'[i]}{'xyz'[j]}": _text(tensor[i, j]) for i, j in axes})
    for shape in shapes:
        if shape.kind == "surface":  # URDF has no such shape
            continue
        item = SubElement(element, shape.role)
        _origin(item, shape.rotation, shape.position)
        if shape.kind == "mesh":
            given = {"filename": str(shape.filename)}
            if tuple(shape.size) != (1.0, 1.0, 1.0):
                given["scale"] = _text(*shape.size)
        else:
            sizes = iter(shape.size)
            given = {key: _text(*(next(sizes) for _ in range(n))) for key, n in SHAPES[shape.kind].items()}
        SubElement(SubElement(item, "geometry"), shape.kind, given)
        if shape.rgba is not None:
            rgba = _text(*shape.rgba)
            SubElement(SubElement(item, "material", name=f"rgba {rgba}"), "color", rgba=rgba)


def _add_joint(root: Element, joint: Joint, decimals: int) -> None:
    lower, upper, velocity, effort = joint.limits or (-math.inf, math.inf, math.inf, math.inf)
    bounded = lower > -UNLIMITED or upper < UNLIMITED
    kind = "continuous" if joint.type == "revolute" and not bounded else joint.type
    element = SubElement(root, "joint", name=joint.name, type=kind)
    _origin(element, joint.R, np.round(joint.p, decimals))
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    if joint.axis is not None:
        SubElement(element, "axis", xyz=_text(*_unit(joint.axis)))
    if kind in ("revolute", "prismatic") or min(velocity, effort) < UNLIMITED:
        limits = {"velocity": velocity, "effort": effort}
        if kind != "continuous":
            limits = {"lower": lower, "upper": upper, **limits}
        given = {key: _text(min(max(value, -UNLIMITED), UNLIMITED)) for key, value in limits.items()}
        SubElement(element, "limit", given)
    if joint.damping or joint.friction:
        SubElement(element, "dynamics", damping=_text(joint.damping), friction=_text(joint.friction))
    if joint.mimic is not None:
        leader, multiplier, offset = joint.mimic
        SubElement(element, "mimic", joint=leader, multiplier=_text(multiplier), offset=_text(offset))
