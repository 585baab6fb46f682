"""What a robot file must be: every element that is read is there, and links form one tree."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from xml.etree.ElementTree import Element as Node

from vitree.urdf.xml import Source

ONE_COORDINATE = ("revolute", "continuous", "prismatic")
TYPES = (*ONE_COORDINATE, "fixed", "floating", "planar")

#: What is read: the elements of a link and of a joint, and their attributes; how many numbers
#: each has (0: a text), and whether it must be there.
INERTIAL = {
    "origin": {"xyz": (3, False), "rpy": (3, False)},
    "mass": {"value": (1, True)},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), (1, True)),
}
JOINT = {
    "origin": INERTIAL["origin"],
    "parent": {"link": (0, True)},
    "child": {"link": (0, True)},
    "axis": {"xyz": (3, True)},
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), (1, False)),
    "dynamics": dict.fromkeys(("damping", "friction"), (1, False)),
    "mimic": {"joint": (0, True), "multiplier": (1, False), "offset": (1, False)},
}
#: What each joint type uses of these.
USED = {
    "fixed": ("origin", "parent", "child"),
    "floating": ("origin", "parent", "child"),
    "planar": ("origin", "parent", "child", "axis"),
}


def check(file: Source, name: str | None) -> tuple[dict[str, Node], dict[str, Node]]:
    """Return <link>s and <joint>s by name: all that is read of them is there and is a number."""
    root = file.root
    if root.tag != "robot":
        raise file.error(f"its root element is <{root.tag}>, not <robot>; vitree reads URDF", root)
    for node in root.iter():
        if node.tag.startswith("xacro:"):
            raise file.error(f"<{node.tag}> is xacro, not URDF; run xacro on the file first", node)
    if not (root.get("name") or name):
        raise file.error('the <robot> has no "name"', root)
    links, joints = _named(file, "link"), _named(file, "joint")
    if not links:
        raise file.error("there is no <link> in it", root)
    for key, link in links.items():
        inertial = _only(file, link, "inertial", f'link "{key}"')
        if inertial is not None:
            _check_fields(file, inertial, INERTIAL, f'link "{key}"')
            for needed in ("mass", "inertia"):
                if inertial.find(needed) is None:
                    raise file.error(f'the <inertial> of link "{key}" has no <{needed}>', inertial)
    for key, joint in joints.items():
        what = f'joint "{key}"'
        if joint.get("type") not in TYPES:
            raise file.error(
                f'type="{joint.get("type")}" of {what} is not known; choose from {", ".join(TYPES)}', joint
            )
        _check_fields(file, joint, {tag: JOINT[tag] for tag in USED.get(joint.get("type", ""), JOINT)}, what)
        for end in ("parent", "child"):
            link_of = joint.find(end)
            if link_of is None:
                raise file.error(f"the {what} has no <{end}>", joint)
            if link_of.get("link") not in links:
                raise file.error(
                    f'the <{end}> of {what} is the link "{link_of.get("link")}", which is not in the file', link_of
                )
    return links, joints


def _named(file: Source, tag: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in file.root.findall(tag):
        name = node.get("name")
        if not name:
            raise file.error(f'a <{tag}> has no "name"', node)
        if name in found:
            raise file.error(
                f'there are two {tag}s "{name}", the first on line {getattr(found[name], "line", "?")}; rename one',
                node,
            )
        found[name] = node
    return found


def _only(file: Source, node: Node, tag: str, what: str) -> Node | None:
    found = node.findall(tag)
    if len(found) > 1:
        raise file.error(f"{what} has more than one <{tag}>; leave one", found[1])
    return found[0] if found else None


def _check_fields(file: Source, node: Node, fields, what: str) -> None:
    for tag, attributes in fields.items():
        child = _only(file, node, tag, what)
        if child is None:
            continue
        for attribute, (count, needed) in attributes.items():
            if count and (needed or child.get(attribute) is not None):
                file.numbers(child, attribute, count, what, finite=tag != "limit")
            elif needed and not child.get(attribute):
                raise file.error(f'the <{tag}> of {what} has no "{attribute}"', child)


def find_root(file: Source, links, joints, loops: str) -> tuple[str, list[str]]:
    """Return the root link of what is checked to be one tree, and the joints that close loops.

    The tree keeps the first joint to a link, in the order of the file; further ones close loops.
    """
    above: dict[str, tuple[str, str]] = {}
    closing: list[str] = []
    for name, joint in joints.items():
        parent, child = joint.find("parent").get("link"), joint.find("child").get("link")
        if child not in above:
            above[child] = (name, parent)
            continue
        if loops == "error":
            raise file.error(
                f'the link "{child}" is the child of two joints, "{above[child][0]}" and "{name}"; '
                f'loops="constraints" closes the loop by constraints in place of the second',
                joint,
            )
        if parent == child:
            raise file.error(f'the joint "{name}" joins the link "{child}" to itself; leave it out', joint)
        closing.append(name)
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise file.error(
            f"there are {len(roots)} root links, {few(roots)}; a robot has one: join the others to it by joints",
            links[roots[1]],
        )
    # climb from every link: what does not end at the root goes round in a circle
    known = set(roots)
    for link in links:
        climbed: list[str] = []
        at = link
        while at not in known:
            known.add(at)
            climbed.append(at)
            at = above[at][1]
            if at in climbed:
                circle = [above[x][0] for x in climbed[climbed.index(at) :]]
                lead = "" if roots else "there is no root link: "
                others = [
                    name
                    for name in closing
                    if joints[name].find("child").get("link") in climbed
                    and joints[name].find("parent").get("link") not in climbed
                ]
                hint = (
                    f'; the tree keeps the first joint to a link: put "{others[0]}" before the other that leads to '
                    f'"{joints[others[0]].find("child").get("link")}"'
                    if others
                    else ""
                )
                raise file.error(f"{lead}the joint(s) {few(circle)} form a cycle{hint}", joints[circle[0]])
    return roots[0], closing


def check_mimics(file: Source, joints, closing: Sequence[str]) -> None:
    """Raise if a joint cannot follow the one it mimics by a constraint."""
    ask = 'correct the file, or read it with mimic="independent"'
    moving = {name: node for name, node in joints.items() if node.get("type") in ONE_COORDINATE}
    follows = {name: node.find("mimic").get("joint") for name, node in moving.items() if node.find("mimic") is not None}
    for name, leader in follows.items():
        what = f'the joint "{name}" mimics "{leader}"'
        if leader not in joints:
            close = difflib.get_close_matches(leader, moving, n=1)
            hint = f' (did you mean "{close[0]}"?)' if close else f"; there are {few(list(moving))}"
            raise file.error(f"{what}, which is not in the file{hint}; {ask}", joints[name])
        if leader == name:
            raise file.error(f'the joint "{name}" mimics itself; {ask}', joints[name])
        for end in (name, leader):
            if end in closing:
                raise file.error(
                    f'{what}, but "{end}" closes a loop and has no coordinate; put it in the file before the other '
                    f'joint to the link "{joints[end].find("child").get("link")}", or read it with mimic="independent"',
                    joints[name],
                )
        if leader not in moving:
            count = "no coordinate" if joints[leader].get("type") == "fixed" else "several coordinates"
            raise file.error(f"{what}, which is {joints[leader].get('type')} and has {count}; {ask}", joints[name])
    for name in follows:
        climbed = [name]
        while (leader := follows.get(climbed[-1])) is not None:
            if leader in climbed:
                circle = climbed[climbed.index(leader) :]
                raise file.error(f"the joints {few(circle)} mimic each other in a circle; {ask}", joints[circle[0]])
            climbed.append(leader)


def few(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
