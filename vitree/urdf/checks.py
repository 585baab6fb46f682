"""Checks of the elements of a robot file one by one, and of the joints that mimic others."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.spatial.rotations import angles_rpy, hat
from vitree.urdf.joints import Joint, parse_joint
from vitree.urdf.rules import RULES
from vitree.urdf.schema import EXTENSIONS, INERTIAL, JOINT, LINK, ONE_COORDINATE, ROBOT, TYPES, USED, Tag
from vitree.urdf.xml import Source, shown
from vitree.wording import has_unseen, visible

#: The length of an axis may be off by this much: files often have three digits of an axis.
AXIS_TOLERANCE = 1e-3
#: The link that stands for the world.
WORLD = "world"
#: The motion of a robot does not depend on these elements.
HARMLESS = ("visual", "collision", "material", *EXTENSIONS)
#: A wrong name is compared with at most this many others for a suggestion.
MOST_COMPARED = 200
#: Attributes of the parts of inertials and joints that must be numbers, or must be there.
CHECKED = {
    key: [(name, *kind) for name, kind in part.attributes.items() if kind.numbers or kind.needed]
    for key, part in (*INERTIAL.children.items(), *JOINT.children.items())
}


def check_elements(file: Source, name: str | None) -> tuple[dict[str, Node], dict[str, Joint]]:
    """Return <link>s and joints by name, checked: every element and number that the reader needs is there, once.

    Joints are objects of urdf_parser_py; those with an error are left out.
    """
    root = file.root
    if root.tag != "robot":
        text = f"the root element is <{root.tag}>, not <robot>"
        readers = {"mujoco": "; load_mjcf reads MJCF", "sdf": "; load_sdf reads SDF", "gazebo": "; load_sdf reads SDF"}
        raise file.fail("not-urdf", text + readers.get(root.tag, ""), root)
    _check_xacro(file)
    if not (root.get("name") or name):
        file.say("robot-name", f'the <robot> has no "name"; it is called "{name_of(file)}", as the file', root)
    _check_name(file, root, "the robot")
    _check_known(file, root, ROBOT, "the robot", top=True)
    links, joints = _named(file, "link"), _named(file, "joint")
    _add_world(file, links, joints)
    if root.find("link") is None:
        file.say("no-links", "there is no <link> in the file", root)
    for key, link in links.items():
        _check_known(file, link, LINK, f'link "{key}"')
        inertial = link.find("inertial")
        if inertial is not None:
            _check_mechanics(file, inertial, f'link "{key}"', INERTIAL.children)
    checked = ((key, _check_joint(file, key, joint, links)) for key, joint in joints.items())
    return links, {key: joint for key, joint in checked if joint is not None}


def name_of(file: Source) -> str:
    """Return a name for a robot without one: that of its file, or "robot"."""
    stem = file.name.partition(".")[0]
    return "robot" if not stem or stem.startswith("<") else stem


def _add_world(file: Source, links: dict[str, Node], joints: Mapping[str, Node]) -> None:
    """Add a link "world" that joints have as their parent, and the file does not have."""
    for name, joint in joints.items():
        parent = joint.find("parent")
        if parent is not None and parent.get("link") == WORLD and WORLD not in links:
            text = f'the <parent> of joint "{name}" is the link "{WORLD}", which is not in the file; it is the world'
            file.say("world-missing", text, parent)
            links[WORLD] = Node("link", {"name": WORLD})


def xacro_in(file: Source) -> list[tuple[str, Node, str]]:
    """Return where a file has xacro: in words, the element, and a severity, "warning" in shapes and what is ignored."""
    if not any(mark in file.text for mark in ("<xacro:", "${", "$(", "&")):  # a reference may stand for a mark
        return []
    stack = [(file.root, "error")]
    if not any(node.tag.startswith("xacro:") or "$" in "".join(node.attrib.values()) for node in file.root.iter()):
        return []
    found = []
    while stack:
        node, severity = stack.pop()
        if node.tag in HARMLESS:
            severity = "warning"
        if node.tag.startswith("xacro:"):
            found.append((f"<{node.tag}>", node, severity))
        for key, value in node.items():
            if "${" in value or "$(" in value:
                found.append((f'{key}="{shown(value)}" of <{node.tag}>', node, severity))
        stack += [(child, severity) for child in node]
    return found


def has_xacro(file: Source) -> bool:
    """Say whether a robot file has xacro that has to be expanded."""
    return file.root.tag == "robot" and any(severity == "error" for _, _, severity in xacro_in(file))


def _check_xacro(file: Source) -> None:
    """Stop at xacro; only warn of xacro in shapes and in elements that are ignored."""
    for what, node, severity in xacro_in(file):
        file.say("xacro", f"{what} is xacro, not URDF", node, severity=severity)
    file.stop()


def _named(file: Source, tag: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in file.root.findall(tag):
        name = node.get("name")
        _check_name(file, node, tag)
        if not name:
            file.say("name-missing", f'a <{tag}> has no "name"', node)
        elif name in found:
            first = getattr(found[name], "line", "?")
            file.say("name-duplicate", f'there are two {tag}s "{name}", the first on line {first}', node)
        else:
            found[name] = node
    return found


def _check_name(file: Source, node: Node, what: str) -> None:
    if has_unseen(name := node.get("name", "")):
        text = f'the name "{shown(visible(name))}" of {what} has invisible characters, written here as \\x.. or \\u....'
        file.say("name-characters", text, node)


def _check_known(file: Source, node: Node, tag: Tag, what: str, top: bool = False) -> None:
    """Name elements and attributes that URDF does not have, or not so often."""
    if file.plain and not top:
        return
    for attribute in node.keys():
        if attribute not in tag.attributes and not attribute.startswith("xmlns") and ":" not in attribute:
            file.say("unknown-attribute", f'"{attribute}" of {_place(node, what)} is not known', node)
    seen: set[str] = set()
    for child in node:
        known = tag.children.get(child.tag)
        if known is None:
            if not (child.tag in EXTENSIONS or child.tag.startswith("xacro:")):
                file.say("unknown-element", f"<{child.tag}> in {_place(node, what)} is not known", child)
            continue
        if child.tag in seen and child.tag not in tag.many:
            read = node.tag in ("link", "inertial") or child.tag in USED.get(node.get("type", ""), ())
            severity = "error" if read else "warning"
            file.say("element-repeated", f"{what} has more than one <{child.tag}>", child, severity=severity)
        seen.add(child.tag)
        if not top:
            _check_known(file, child, known, what)


def _place(node: Node, what: str) -> str:
    return what if node.tag in ("robot", "link", "joint") else f"the <{node.tag}> of {what}"


def _check_mechanics(file: Source, node: Node, what: str, used: Iterable[str]) -> None:
    """Name numbers that are none, and attributes that are missing."""
    for key in used:
        child = node.find(key)
        if child is None:
            continue
        for attribute, count, needed, finite in CHECKED[key]:
            if count and (needed or child.get(attribute) is not None):
                file.numbers(child, attribute, count, what, finite=finite)
            elif needed and not child.get(attribute):
                file.say("attribute-missing", f'the <{key}> of {what} has no "{attribute}"', child)
        if child.get("quat_xyzw") is not None:
            turn_origin(file, child, what)


def turn_origin(file: Source, origin: Node, what: str, *, severity: str = "error", remedy: str | None = None) -> bool:
    """Give an <origin> the rpy of its quat_xyzw; return whether it has one that can be read."""
    found = file.numbers(origin, "quat_xyzw", 4, what, severity=severity, remedy=remedy)
    if found is None:
        return False
    length = math.hypot(*found)
    if length == 0 or origin.get("rpy") is not None:
        fault = "is zero" if length == 0 else 'has an "rpy" beside it'
        file.say("origin-quaternion", f"quat_xyzw of the <origin> of {what} {fault}", origin, severity=severity,
                 remedy=remedy)  # fmt: skip
        return False
    if abs(length - 1) > AXIS_TOLERANCE:
        text = f"quat_xyzw of the <origin> of {what} has length {length:.4g}; it is normalised"
        file.say("origin-quaternion", text, origin, severity="warning", remedy="divide it by that")
    x, y, z, w = (part / length for part in found)
    u = np.array([x, y, z])
    R = np.eye(3) + 2 * hat(u) @ (w * np.eye(3) + hat(u))
    origin.set("rpy", " ".join(map(repr, angles_rpy(R))))
    return True


def _check_joint(file: Source, name: str, joint: Node, links: Collection[str]) -> Joint | None:
    what = f'joint "{name}"'
    _check_known(file, joint, JOINT, what)
    before = file.errors
    kind = joint.get("type", "")
    if kind not in TYPES:
        fault = f'type="{shown(kind)}" of {what} is not known' if kind else f'the {what} has no "type"'
        file.say("joint-type", fault, joint, remedy="choose from " + ", ".join(TYPES))
    _check_mechanics(file, joint, what, USED.get(kind, ("origin", "parent", "child")))
    for end in ("parent", "child"):
        node = joint.find(end)
        if node is None:
            file.say("joint-end", f"the {what} has no <{end}>", joint)
        elif (link := node.get("link")) and link not in links:
            text = f'the <{end}> of {what} is the link "{shown(link)}", which is not in the file'
            file.say("link-unknown", text + suggestion(link, links), node)
    parsed = None if file.errors > before else parse_joint(file, joint)
    if parsed is None:
        return None
    several = ("planar", "floating", "spherical")
    if kind in several and (joint.find("limit") is not None or joint.find("dynamics") is not None):
        file.say("limit-ignored", f"the {what} is {kind}; its limits and damping are ignored", joint)
    if kind not in ONE_COORDINATE and joint.find("mimic") is not None:
        file.say("mimic-follower", f"the {what} is {kind} and cannot follow another", joint.find("mimic"))
    if parsed.axis is not None:
        length = math.hypot(*parsed.axis)
        if length == 0:
            file.say("axis-zero", f"the axis of {what} is zero", joint.find("axis"))
        elif abs(length - 1) > AXIS_TOLERANCE:
            text = f"the axis of {what} has length {length:.4g}; it is normalised"
            file.say("axis-length", text, joint.find("axis"))
    if kind in ONE_COORDINATE:
        _check_limit(file, what, joint, parsed)
        dynamics = joint.find("dynamics")
        for key in ("damping", "friction"):
            if dynamics is not None and getattr(parsed.dynamics, key) < 0:
                file.say(f"{key}-negative", f"the {key} of {what} is {dynamics.get(key)}", dynamics)
    return parsed


def _check_limit(file: Source, what: str, joint: Node, parsed: Joint) -> None:
    limit, given, continuous = joint.find("limit"), parsed.limit, parsed.type == "continuous"
    if limit is None or given is None:
        if not continuous:
            file.say("limit-missing", f"the {what} has no <limit>; it is treated as unlimited", joint)
        return
    lower, upper = given.lower, given.upper
    absent = [key for key in ("lower", "upper") if limit.get(key) is None]
    if len(absent) == 2 and not continuous:
        text = f"the <limit> of {what} has no lower and no upper; it is treated as unlimited"
        file.say("limit-missing", text, limit, remedy='add them, or make it "continuous"')
    elif absent and not continuous:
        file.say("limit-half", f"the <limit> of {what} has no {absent[0]}, which then is 0", limit)
    if not continuous and lower > upper:
        text = f"the limits of {what} are inverted: {lower:g} > {upper:g}; they are ignored"
        file.say("limit-inverted", text, limit)
    elif not continuous and lower == upper:
        file.say("limit-equal", f"both limits of {what} are {lower:g}; they are kept as data", limit)
    at_most = {"effort": given.effort, "velocity": given.velocity}
    if zero := [key for key, value in at_most.items() if value == 0]:
        file.say("limit-zero", f"the {' and '.join(zero)} limit of {what} is zero; it is kept as data", limit)
    if negative := [key for key, value in at_most.items() if value < 0]:
        text = f"the {' and '.join(negative)} limit of {what} is negative; it is ignored"
        file.say("limit-negative", text, limit)


def check_mimics(
    file: Source, joints: Mapping[str, Joint], closing: Collection[str], severity: str
) -> dict[str, float]:
    """Report joints that cannot follow the joint that they mimic; return those that stand still, and where.

    These follow a fixed joint, or one that follows a fixed joint.

    Parameters
    ----------
    joints : mapping
        Those of the tree.
    closing : collection of str
        Names of those that close loops.
    severity : str
        "warning" where joints with <mimic> move independently.
    """
    remedy = RULES["mimic-unknown"].remedy if severity == "warning" else None
    say = partial(file.say, severity=severity, remedy=remedy)
    follows: dict[str, str] = {}
    still: dict[str, float] = {}
    moving = [name for name, joint in joints.items() if joint.type in ONE_COORDINATE]
    for name in moving:
        mimic = joints[name].mimic
        if mimic is None:
            continue
        leader = mimic.joint
        what = f'the joint "{name}" mimics "{shown(leader)}"'
        if not leader:
            say("mimic-missing", f'the <mimic> of joint "{name}" has no "joint"', mimic)
        elif leader not in joints:
            there = suggestion(leader, moving) or f"; there are {listed(moving)}"
            file.say("mimic-unknown", f"{what}, which is not in the file{there}", mimic)
        elif leader == name:
            say("mimic-self", f'the joint "{name}" mimics itself', mimic)
        elif name in closing or leader in closing:
            end = name if name in closing else leader
            link = joints[end].child
            say("mimic-loop", f'{what}, but "{end}" closes a loop at the link "{link}" and has no coordinate', mimic)
        elif (kind := joints[leader].type) == "fixed" and severity == "error":
            still[name] = mimic.offset or 0.0
            file.say("mimic-still", f"{what}, which is fixed; it is held at {still[name]:g}", mimic)
        elif kind not in ONE_COORDINATE:
            count = "no coordinate" if kind == "fixed" else "several coordinates"
            say("mimic-leader", f"{what}, which is {kind} and has {count}", mimic)
        else:
            follows[name] = leader
        if mimic.multiplier == 0:
            file.say("mimic-zero", f'the multiplier of joint "{name}" is zero: it never moves', mimic)
    done: set[str] = set()
    for name in follows:
        climbed: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in done and at not in climbed:
            climbed[at] = None
            at = follows.get(at)
        if at in climbed:
            circle = list(climbed)[list(climbed).index(at) :]
            text = f"the joints {listed(circle)} mimic each other in a cycle"
            say("mimic-cycle", text, joints[circle[0]].mimic)
        for each in reversed(climbed):  # what follows a joint that stands still does so, too
            mimic, followed = joints[each].mimic, follows.get(each, "")
            if mimic is not None and followed in still:
                still[each] = mimic.multiplier * still[followed] + (mimic.offset or 0.0)
        done.update(climbed)
    return still


def suggestion(name: str, choices: Collection[str]) -> str:
    """Return the choice most like a name, as the end of a clause; nothing where the search would take long."""
    if len(choices) > MOST_COMPARED or len(name) > MOST_COMPARED:
        return ""
    close = difflib.get_close_matches(name, [choice for choice in choices if len(choice) <= MOST_COMPARED], n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def listed(names: Collection[str]) -> str:
    """Return a list of the first six names, and the number of the others."""
    some = list(names)
    return ", ".join(f'"{name}"' for name in some[:6]) + (f" and {len(some) - 6} more" if len(some) > 6 else "")
