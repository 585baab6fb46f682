"""Checks of the elements of a robot file one by one, and of the joints that mimic others."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from xml.etree.ElementTree import Element as Node

from vitree.urdf.joints import Joint, parse_joint
from vitree.urdf.rules import RULES
from vitree.urdf.schema import EXTENSIONS, INERTIAL, JOINT, LINK, ONE_COORDINATE, ROBOT, TYPES, USED, Tag
from vitree.urdf.xml import Source, shown
from vitree.wording import has_unseen, visible

#: The length of an axis may be off by this much: files often have three digits of an axis.
AXIS_TOLERANCE = 1e-3
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
        raise file.fail("not-urdf", text + ("; load_mjcf reads MJCF" if root.tag == "mujoco" else ""), root)
    _check_xacro(file)
    if not (root.get("name") or name):
        file.say("robot-name", 'the <robot> has no "name"', root)
    _check_name(file, root, "the robot")
    _check_known(file, root, ROBOT, "the robot", top=True)
    links, joints = _named(file, "link"), _named(file, "joint")
    if root.find("link") is None:
        file.say("no-links", "there is no <link> in the file", root)
    for key, link in links.items():
        _check_known(file, link, LINK, f'link "{key}"')
        inertial = link.find("inertial")
        if inertial is not None:
            _check_mechanics(file, inertial, f'link "{key}"', INERTIAL.children)
    checked = ((key, _check_joint(file, key, joint, links)) for key, joint in joints.items())
    return links, {key: joint for key, joint in checked if joint is not None}


def _check_xacro(file: Source) -> None:
    """Stop at xacro; only warn of xacro in shapes and in elements that are ignored."""
    if not any(mark in file.text for mark in ("<xacro:", "${", "$(", "&")):  # a reference may stand for a mark
        return
    stack = [(file.root, "error")]
    if not any(node.tag.startswith("xacro:") or "$" in "".join(node.attrib.values()) for node in file.root.iter()):
        return
    while stack:
        node, severity = stack.pop()
        if node.tag in HARMLESS:
            severity = "warning"
        if node.tag.startswith("xacro:"):
            file.say("xacro", f"<{node.tag}> is xacro, not URDF", node, severity=severity)
        for key, value in node.items():
            if "${" in value or "$(" in value:
                file.say("xacro", f'{key}="{shown(value)}" of <{node.tag}> is xacro, not URDF', node, severity=severity)
        stack += [(child, severity) for child in node]
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
            file.say("origin-quaternion", f"quat_xyzw of the <{key}> of {what} is not supported", child)


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
    if kind in ("planar", "floating") and (joint.find("limit") is not None or joint.find("dynamics") is not None):
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


def check_mimics(file: Source, joints: Mapping[str, Joint], closing: Collection[str], severity: str) -> None:
    """Report joints that cannot follow the joint that they mimic.

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
        elif (kind := joints[leader].type) not in ONE_COORDINATE:
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
        done.update(climbed)


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
