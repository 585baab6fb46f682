"""Joints of SDF: types, ends, axes and what acts on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.sdf.document import MODEL_FRAME, WORLD, Document, Scope, words
from vitree.sdf.frames import Frames
from vitree.sdf.schema import AXES, AXES_OF_MODEL, UNSUPPORTED
from vitree.urdf.checks import AXIS_TOLERANCE
from vitree.urdf.xml import LARGEST, shown

#: A limit of this size is no limit.
UNLIMITED = 1e16


class Mimic(NamedTuple):
    """q = multiplier (q_leader - reference) + offset."""

    joint: str
    axis: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Axis:
    """An axis of a joint, in the axes of the joint, with limits [m or rad] and what acts about it."""

    direction: tuple[float, ...]
    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    mimic: Mimic | None = None


@dataclass(eq=False)
class Joint:
    """A joint between two links; ``pose`` (4, 4) [m] is in the world, in the configuration of the file.

    A joint of the reader's own, on which a link floats or by which it is fixed, has the type "floating" or "weld".
    """

    name: str
    type: str
    parent: str
    child: str
    pose: np.ndarray
    axes: tuple[Axis, ...] = ()
    pitch: float = 0.0
    line: int | None = None
    file: str = ""


def read_joint(document: Document, frames: Frames, scope: Scope, name: str, node: Node) -> Joint | None:
    """Return a joint of a scope; None, with a finding, if it has a fault or no counterpart."""
    file, full = document.file, scope.prefix + name
    what = f'joint "{full}"'
    kind = node.get("type", "")
    if kind in UNSUPPORTED:
        file.say("sdf-joint", f"the {what} is a {kind}, which has no counterpart; it is left out", node)
        return None
    if kind not in AXES:
        fault = f'type="{shown(kind)}" of {what} is not known' if kind else f'the {what} has no "type"'
        file.say("joint-type", fault, node, remedy="choose from " + ", ".join(AXES))
        return None
    ends = []
    for end in ("parent", "child"):
        named = words(node, end)
        if not named and node.find(end) is not None:
            named = node.find(end).get("link")  # type: ignore[union-attr]
        if not named:
            file.say("joint-end", f"the {what} has no <{end}>", node)
            return None
        ends.append(frames.link(scope, named, node, f"the <{end}> of {what}"))
    if ends[1] == WORLD:
        file.say("joint-end", f"the <child> of {what} is the world", node, remedy="exchange <parent> and <child>")
        return None
    if ends[0] == ends[1]:
        file.say("loop", f'the {what} joins the link "{ends[1]}" to itself', node, remedy="remove it")
        return None
    pose = frames.pose(scope, MODEL_FRAME) @ frames.joint(scope, name)
    axes = [_axis(document, frames, scope, node, what, tag) for tag in ("axis", "axis2")[: AXES[kind]]]
    if any(axis is None for axis in axes):
        return None
    pitch = _pitch(document, node, what) if kind == "screw" else 0.0
    return Joint(full, kind, ends[0], ends[1], pose, tuple(each for each in axes if each is not None), pitch,
                 getattr(node, "line", None), getattr(node, "file", file.name))  # fmt: skip


def _pitch(document: Document, node: Node, what: str) -> float:
    """The advance of a screw [m/rad], positive for a right-handed thread."""
    advance = _number(document, node.find("screw_thread_pitch"), what, 0.0)
    if node.find("screw_thread_pitch") is not None:
        return advance / (2 * math.pi)
    ratio = _number(document, node.find("thread_pitch"), what, 1.0)  # [rad/m], of a left-handed thread
    if not ratio:
        document.file.say("number-range", f"the <thread_pitch> of {what} is zero", node)
        return 0.0
    return -1.0 / ratio


def _number(document: Document, node: Node | None, what: str, usual: float, finite: bool = True) -> float:
    """The number of an element."""
    if node is None:
        return usual
    text = words(node) or ""
    found = document.file.floats(node, text, 1, f'the <{node.tag}> "{shown(text)}" of {what}', finite=finite)
    return usual if found is None else found[0]


def _axis(document: Document, frames: Frames, scope: Scope, joint: Node, what: str, tag: str) -> Axis | None:
    file, node = document.file, joint.find(tag)
    if node is None:
        if tag == "axis2":
            file.say("attribute-missing", f"the {what} has no <{tag}>", joint)
            return None
        node = joint  # the axis is then z of the joint
    xyz = node.find("xyz")
    direction: tuple[float, ...] | None = (0.0, 0.0, 1.0)
    if xyz is not None:
        text = words(xyz) or ""
        direction = file.floats(xyz, text, 3, f'the <xyz> "{shown(text)}" of the <{tag}> of {what}')
    if direction is None:
        return None
    length = math.hypot(*direction)
    if length == 0:
        file.say("axis-zero", f"the <{tag}> of {what} is zero", xyz)
        return None
    if abs(length - 1) > AXIS_TOLERANCE:
        file.say("axis-length", f"the <{tag}> of {what} has length {length:.4g}; it is normalised", xyz)
    name = joint.get("name", "")
    frame = "" if xyz is None else xyz.get("expressed_in", "")
    of_model = scope.version <= AXES_OF_MODEL or document.truth(node, "use_parent_model_frame")
    if not frame and of_model and xyz is not None:
        frame = MODEL_FRAME
    if frame:
        there = frames.local(scope, frame, xyz, f"expressed_in of the <{tag}> of {what}")
        R = frames.joint(scope, name)[:3, :3].T @ there[:3, :3]
        direction = tuple((R @ direction).tolist())
    return Axis(tuple(x / length for x in direction), **_bounds(document, node, what),
                **_acting(document, node, what), mimic=_mimic(document, node, scope, what))  # fmt: skip


def _bounds(document: Document, axis: Node, what: str) -> dict[str, float]:
    """Limits, which the format has for every axis."""
    limit = axis.find("limit")
    if limit is None:
        return {}
    usual = {"lower": -math.inf, "upper": math.inf, "effort": -1.0, "velocity": -1.0}
    read = {tag: _number(document, limit.find(tag), what, none, finite=False) for tag, none in usual.items()}
    found = {tag: math.inf for tag in ("effort", "velocity") if not 0 <= read[tag] < UNLIMITED}
    found |= {tag: read[tag] for tag in ("effort", "velocity") if tag not in found}
    if zero := [tag for tag in ("effort", "velocity") if found[tag] == 0]:
        document.file.say("limit-zero", f"the {' and '.join(zero)} limit of {what} is zero; it is kept as data", limit)
    lower, upper = (x if abs(x) < UNLIMITED else math.copysign(math.inf, x) for x in (read["lower"], read["upper"]))
    if lower > upper:
        text = f"the limits of {what} are inverted: {lower:g} > {upper:g}; they are ignored"
        document.file.say("limit-inverted", text, limit)
        return found
    if lower == upper and math.isfinite(lower):
        text = f"both limits of {what} are {lower:g}: it does not move where limits are enforced"
        document.file.say("limit-equal", text, limit)
    return found | {"lower": lower, "upper": upper}


def _acting(document: Document, axis: Node, what: str) -> dict[str, float]:
    """Damping, friction and the spring."""
    dynamics = axis.find("dynamics")
    if dynamics is None:
        return {}
    tags = {"damping": "damping", "friction": "friction", "spring_stiffness": "stiffness", "spring_reference": "rest"}
    found = {key: _number(document, dynamics.find(tag), what, 0.0) for tag, key in tags.items()}
    for key in ("damping", "friction"):
        if found[key] < 0:
            document.file.say(f"{key}-negative", f"the {key} of {what} is {found[key]:g}", dynamics)
    return found


def _mimic(document: Document, axis: Node, scope: Scope, what: str) -> Mimic | None:
    node = axis.find("mimic")
    if node is None:
        return None
    named = node.get("joint", "")
    found = scope.owner(named)
    if found is None or found[1] not in found[0].joints:
        document.file.say("sdf-mimic", f'the {what} mimics "{shown(named)}", which is no joint here', node)
        return None
    numbers = [_number(document, node.find(tag), what, usual) for tag, usual in
               (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))]  # fmt: skip
    offset = numbers[1] - numbers[0] * numbers[2]
    if not abs(offset) < LARGEST:
        document.file.say("sdf-mimic", f"the offset of the <mimic> of {what} is too large", node)
        return None
    return Mimic(found[0].prefix + found[1], node.get("axis", "axis"), numbers[0], offset)
