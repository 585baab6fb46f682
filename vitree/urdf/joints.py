"""The joints of a file as objects of urdf_parser_py, the reference parser of URDF.

The parser is given joints that the checks have found sound, with the elements that a joint of the type has, and with a
default for every number that the file does not give. So it prints nothing, and adds no default of its own.
"""

from __future__ import annotations

import threading
from typing import Protocol
from xml.etree.ElementTree import Element, SubElement

from vitree.urdf.schema import JOINT, USED
from vitree.urdf.xml import Source


class Origin(Protocol):
    """The <origin> of a joint."""

    xyz: list[float]
    rpy: list[float]


class Limit(Protocol):
    """The <limit> of a joint."""

    lower: float
    upper: float
    velocity: float
    effort: float


class Dynamics(Protocol):
    """The <dynamics> of a joint."""

    damping: float
    friction: float


class Mimic(Protocol):
    """The <mimic> of a joint."""

    joint: str
    multiplier: float
    offset: float | None
    line: int | None


class Joint(Protocol):
    """A ``urdf_parser_py.urdf.Joint``; it and its ``mimic`` also have the ``line`` of the file on which they start."""

    name: str
    type: str
    parent: str
    child: str
    axis: list[float] | None
    origin: Origin | None
    limit: Limit | None
    dynamics: Dynamics | None
    mimic: Mimic | None
    line: int | None


#: The attributes of each element that the parser is given.
PARSED = {
    tag: {key for key, kind in part.attributes.items() if kind.numbers or key in ("link", "joint")} - {"quat_xyzw"}
    for tag, part in JOINT.children.items()
}
#: The attributes of an element that may be missing in a file. A limit without both bounds has none.
DEFAULTS = {
    "origin": {"xyz": "0 0 0", "rpy": "0 0 0"},
    "limit": {"lower": "0", "upper": "0", "velocity": "inf", "effort": "inf"},
    "dynamics": {"damping": "0", "friction": "0"},
    "mimic": {"joint": "", "multiplier": "1", "offset": "0"},
}
UNBOUNDED = {"lower": "-inf", "upper": "inf"}

_lock = threading.Lock()


def parse_joint(file: Source, joint: Element) -> Joint | None:
    """Return a checked <joint> as urdf_parser_py reads it; None if it refuses or complains, which is a finding."""
    from urdf_parser_py import urdf
    from urdf_parser_py.xml_reflection import core

    kind = joint.get("type", "")
    known = "floating" if kind == "spherical" else kind  # the parser has no type for it
    node = Element("joint", name=joint.get("name", ""), type=known)
    for tag in USED[kind]:
        if (part := joint.find(tag)) is not None:
            given = {key: text for key, text in part.items() if key in PARSED[tag]}
            unbounded = UNBOUNDED if tag == "limit" and not given.keys() & UNBOUNDED.keys() else {}
            SubElement(node, tag, DEFAULTS.get(tag, {}) | unbounded | given)
    complaints: list[str] = []
    parsed: Joint | None = None
    with _lock:
        usual, core.on_error = core.on_error, complaints.append
        try:
            parsed = urdf.Joint.from_xml(node, core.Path("joint"))
        except Exception as error:
            complaints.append(str(error))
        finally:
            core.on_error = usual
    for complaint in complaints:
        file.say("parser", f"urdf_parser_py: {complaint}", joint)
    if complaints or parsed is None:
        return None
    parsed.type, parsed.line = kind, getattr(joint, "line", None)
    if parsed.mimic is not None:
        parsed.mimic.line = getattr(joint.find("mimic"), "line", None)
    return parsed
