"""The pass over a robot file before it is parsed: safe, with line numbers, stripped to the mechanics."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from vitree.errors import UrdfError

#: What is kept of each element; all else (sensors, plugins, transmissions, materials ...) has no part
#: in the mechanics and could only stop the parser.
KEPT = {
    "robot": {"link", "joint"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry"},
    "collision": {"origin", "geometry"},
    "geometry": {"box", "cylinder", "sphere", "mesh", "capsule"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
}
#: Attributes that must be numbers: element -> attribute -> how many.
NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": {"ixx": 1, "ixy": 1, "ixz": 1, "iyy": 1, "iyz": 1, "izz": 1},
    "limit": {"lower": 1, "upper": 1, "velocity": 1, "effort": 1},
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "mesh": {"scale": 3},
}
#: Attributes without which an element says nothing.
REQUIRED = {
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz"),
    "box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
    "sphere": ("radius",), "mesh": ("filename",),
    "parent": ("link",), "child": ("link",), "mimic": ("joint",),
}  # fmt: skip
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: An element nested deeper than this is no robot.
MAX_DEPTH = 200


@dataclass
class Document:
    """A robot file reduced to its mechanics.

    Attributes
    ----------
    source : str
        What to call the file in messages.
    robot : Element
    lines : dict
        Line of each element, by ``id``.
    colours : dict
        Colour (r, g, b, a) of visual elements, by ``id``.
    """

    source: str
    robot: ElementTree.Element
    lines: dict[int, int]
    colours: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def error(self, element: ElementTree.Element | None, text: str) -> UrdfError:
        """Return an error that names file, line and text."""
        line = self.lines.get(id(element)) if element is not None else None
        return UrdfError(f"{self.source}{f':{line}' if line else ''}: {text}")

    def named(self, tag: str) -> Iterator[tuple[str, ElementTree.Element]]:
        """Yield (name, element) of the links or joints."""
        for element in self.robot.findall(tag):
            yield element.get("name", ""), element


def prepare(text: bytes, source: str) -> Document:
    """Parse XML, check it, and reduce it to what the mechanics need.

    Raises
    ------
    UrdfError
        If it is not XML, not a robot, or has faults that would give wrong mechanics.
    """
    robot, lines = _parse(text, source)
    document = Document(source, robot, lines)
    if robot.tag != "robot":
        raise document.error(robot, f"the root element is <{robot.tag}>; a URDF file has <robot>")
    if not robot.get("name", "").strip():
        raise document.error(robot, '<robot> has no name; give it one: <robot name="...">')
    _colours(document)
    _strip(document)
    _check_numbers(document)
    _check_structure(document)
    return document


def _parse(text: bytes, source: str) -> tuple[ElementTree.Element, dict[int, int]]:
    parser = expat.ParserCreate()
    builder = ElementTree.TreeBuilder()
    lines: dict[int, int] = {}
    depth = 0

    def start(tag, attributes):
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise UrdfError(f"{source}:{parser.CurrentLineNumber}: elements are nested more than {MAX_DEPTH} deep")
        lines[id(builder.start(tag, attributes))] = parser.CurrentLineNumber

    def end(tag):
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_):
        raise UrdfError(
            f"{source}:{parser.CurrentLineNumber}: a DOCTYPE or entity declaration; a robot file needs none: remove it"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        hint = "; this looks like xacro: expand it first" if b"xacro:" in text else ""
        raise UrdfError(
            f"{source}:{error.lineno}: not well-formed XML ({expat.errors.messages[error.code]}){hint}"
        ) from None
    except (LookupError, ValueError) as error:
        raise UrdfError(f"{source}: cannot be read as XML: {error}") from None
    return builder.close(), lines


def _colours(document: Document) -> None:
    """Remember the colour of each visual, before materials are stripped."""

    def rgba(material):
        colour = material.find("color") if material is not None else None
        try:
            values = tuple(float(x) for x in colour.get("rgba", "").split()) if colour is not None else ()
        except ValueError:
            return None
        return values if len(values) == 4 and all(map(math.isfinite, values)) else None

    known = {material.get("name"): rgba(material) for material in document.robot.findall("material")}
    for visual in document.robot.iter("visual"):
        material = visual.find("material")
        if material is not None:
            colour = rgba(material) or known.get(material.get("name"))
            if colour is not None:
                document.colours[id(visual)] = colour


def _strip(document: Document) -> None:
    for tag in document.robot.attrib.keys() - {"name"}:
        del document.robot.attrib[tag]
    for element in list(document.robot.iter()):
        kept = KEPT.get(element.tag)
        for child in list(element):
            if kept is None or child.tag not in kept:
                element.remove(child)
        element.text = element.tail = None


def _check_numbers(document: Document) -> None:
    owner = ""
    for element in document.robot.iter():
        if element.tag in ("link", "joint"):
            owner = f' in {element.tag} "{element.get("name", "")}"'
        for name in REQUIRED.get(element.tag, ()):
            if element.get(name) is None:
                raise document.error(element, f"<{element.tag}> has no {name}={owner}")
        for name, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(name)
            if text is None:
                continue
            try:
                values = [float(word) for word in text.split()]
            except ValueError:
                values = []
            if len(values) == 1 and count == 3 and element.tag == "mesh":
                values *= 3
                element.set(name, " ".join(map(repr, values)))
            if len(values) != count or not all(map(math.isfinite, values)):
                need = "a finite number" if count == 1 else f"{count} finite numbers"
                raise document.error(element, f'<{element.tag} {name}="{text[:60]}">{owner}: it must be {need}')


def _check_structure(document: Document) -> None:
    links: dict[str, ElementTree.Element] = {}
    for tag, seen in (("link", links), ("joint", {})):
        for name, element in document.named(tag):
            if not name:
                raise document.error(element, f"a <{tag}> has no name")
            if name in seen:
                raise document.error(
                    element, f'{tag} "{name}" is defined twice (first in line {document.lines.get(id(seen[name]))})'
                )
            seen[name] = element
    if not links:
        raise document.error(document.robot, "the robot has no <link>")
    parent: dict[str, str] = {}
    by: dict[str, str] = {}
    for name, element in document.named("joint"):
        kind = element.get("type")
        if kind not in JOINT_TYPES:
            raise document.error(
                element, f'joint "{name}" has type {kind!r}; the types are {", ".join(JOINT_TYPES)}'
            )
        ends = []
        for end in ("parent", "child"):
            node = element.find(end)
            if node is None:
                raise document.error(element, f'joint "{name}" has no <{end} link="..."/>')
            if node.get("link") not in links:
                raise document.error(node, f'joint "{name}": there is no link "{node.get("link")}" to be its {end}')
            ends.append(node.get("link"))
        if ends[1] in parent:
            raise document.error(
                element, f'link "{ends[1]}" has two parents, through joints "{by[ends[1]]}" and "{name}"; a URDF is a tree'
            )
        parent[ends[1]], by[ends[1]] = ends[0], name
        axis = element.find("axis")
        if axis is not None and kind not in ("fixed", "floating"):
            values = [float(x) for x in axis.get("xyz", "1 0 0").split()]
            if not any(values):
                raise document.error(axis, f'the axis of joint "{name}" is zero; give it a direction')
    roots = [name for name in links if name not in parent]
    if len(roots) > 1:
        raise document.error(
            links[roots[1]], f"{len(roots)} root links ({', '.join(roots[:5])}); joints must connect all links to one root"
        )
    reached, stack = set(roots), list(roots)
    children: dict[str, list[str]] = {}
    for child, above in parent.items():
        children.setdefault(above, []).append(child)
    while stack:
        for child in children.get(stack.pop(), ()):
            reached.add(child)
            stack.append(child)
    lost = [name for name in links if name not in reached]
    if lost:
        raise document.error(links[lost[0]], f'link "{lost[0]}" is in a cycle of joints, so that there is no root; a URDF is a tree')
