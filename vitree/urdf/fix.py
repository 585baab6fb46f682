"""A robot file with its inertias repaired, and all else of it as it was."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.dom import expatbuilder
from xml.dom.minidom import Element

import numpy as np

from vitree.errors import InputError
from vitree.findings import Finding, Report
from vitree.urdf.checks import AXIS_TOLERANCE, values
from vitree.urdf.inertials import COLUMNS, ROWS
from vitree.urdf.reader import check_urdf, load, options_of
from vitree.urdf.schema import MOMENTS, USED

#: Policies of ``inertia=`` that change a file.
REPAIRS = ("repair", "geometry")


class FixedUrdf(NamedTuple):
    """A repaired file.

    Attributes
    ----------
    text : str
    changes : Report
        What was changed, findings of the severity "repair".
    remaining : Report
        What :func:`vitree.check_urdf` finds in the text.
    """

    text: str
    changes: Report
    remaining: Report


def fix_urdf(source, base: str = "fixed", *, inertia: str = "repair", **options) -> FixedUrdf:
    """Return a robot file with its faulty inertias repaired and its axes of length one.

    All else stays: comments, materials, names of meshes, what other tools read. A xacro file is expanded.

    Parameters
    ----------
    source, base, **options
        As for :func:`vitree.load_urdf`.
    inertia : {"repair", "geometry"}
        What faulty inertias are replaced by, as for :func:`vitree.load_urdf`.

    Raises
    ------
    UrdfError
        If the file has errors other than those of inertias.
    InputError
        If ``inertia`` is not one of the two.
    """
    if inertia not in REPAIRS:
        raise InputError(f'inertia="{inertia}" repairs nothing; choose from "repair", "geometry"')
    chosen = options_of(base, options | {"inertia": inertia})
    file, model = load(source, chosen)
    changes = list(model.report.of("repair"))
    lines = {finding.line for finding in changes}
    # the text as it is: with comments, prefixes and what vitree does not read
    document = expatbuilder.parseString(_undeclared(file.text), namespaces=False)
    robot = document.documentElement
    assert robot is not None
    links, joints = ({node.getAttribute("name"): node for node in _children(robot, tag)} for tag in ("link", "joint"))
    flat = model.full.flat
    settled = {
        name: (mass, com, tensor)
        for name, mass, com, tensor in zip(
            flat.link_names, flat.link_mass, flat.link_com, flat.link_inertia, strict=True
        )
    }
    for link in file.root.findall("link"):
        name, inertial = link.get("name", ""), link.find("inertial")
        if name in settled and {getattr(node, "line", None) for node in (link, inertial)} & lines:
            _set_inertial(links[name], *settled[name])
    for joint in file.root.findall("joint"):
        axis, name = joint.find("axis"), joint.get("name", "")
        if axis is None or "axis" not in USED[joint.get("type", "")]:
            continue
        direction = np.array(values(axis, "xyz"))
        length = float(np.linalg.norm(direction))
        if abs(length - 1.0) > AXIS_TOLERANCE:
            _children(joints[name], "axis")[0].setAttribute("xyz", _text(*direction / length))
            text = f'the axis of joint "{name}" is of length {length:.4g}; divided by it'
            changes.append(Finding("axis-length", "repair", text, file.name, getattr(axis, "line", None)))
    parts = [node.toxml() for node in document.childNodes]  # comments may stand before the robot
    text = "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *parts, ""])
    remaining = check_urdf(text, base, **(options | {"xacro": None}))
    return FixedUrdf(text, Report(changes), remaining)


def _undeclared(text: str) -> bytes:
    """The text without its declaration, whose encoding is no longer that of the bytes."""
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff")).strip().encode()


def _children(node, tag: str) -> list[Element]:
    return [child for child in node.childNodes if child.nodeName == tag]


def _child(node: Element, tag: str) -> Element:
    """The element of that name in a node, made if there is none."""
    found = _children(node, tag)
    if found:
        return found[0]
    assert node.ownerDocument is not None
    made = node.ownerDocument.createElement(tag)
    node.insertBefore(made, node.firstChild)
    return made


def _set_inertial(link: Element, mass: float, com, tensor: np.ndarray) -> None:
    """Write mass, COM and inertia about it in the axes of the link."""
    inertial = _child(link, "inertial")
    inertia = _child(inertial, "inertia")
    _child(inertial, "mass").setAttribute("value", _text(mass))
    origin = _child(inertial, "origin")
    origin.setAttribute("xyz", _text(*com))
    origin.setAttribute("rpy", "0 0 0")
    for key, i, j in zip(MOMENTS, ROWS, COLUMNS, strict=True):
        inertia.setAttribute(key, _text(tensor[i, j]))


def _text(*numbers: float) -> str:
    return " ".join(repr(float(x)) for x in numbers)
