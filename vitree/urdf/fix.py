"""A robot file with its inertias repaired, and all else of it as it was."""

from __future__ import annotations

import re
from typing import NamedTuple, cast
from xml.parsers import expat

import numpy as np

from vitree.errors import InputError
from vitree.findings import Finding, Report
from vitree.urdf.checks import AXIS_TOLERANCE
from vitree.urdf.inertials import COLUMNS, ROWS
from vitree.urdf.reader import RobotFile, UrdfOptions, check_urdf, load, options_of
from vitree.urdf.schema import MOMENTS, USED

#: Policies of ``inertia=`` that change a file.
REPAIRS = ("repair", "geometry")
#: Elements whose start tags may change.
PARTS = ("link", "link/inertial", "joint/axis", *(f"link/inertial/{tag}" for tag in ("origin", "mass", "inertia")))
#: A start tag; the group is the slash of an empty element.
START = re.compile(rb"""<(?:[^"'>/]|"[^"]*"|'[^']*'|/(?!>))*(/?)>""")


class FixedUrdf(NamedTuple):
    """A repaired file.

    Attributes
    ----------
    text : str
    changes : Report
        The changes, as findings of the severity "repair".
    remaining : Report
        The findings of :func:`vitree.check_urdf` in the text.
    """

    text: str
    changes: Report
    remaining: Report


def fix_urdf(source: RobotFile, base: str = "fixed", *, inertia: str = "repair", **options: object) -> FixedUrdf:
    """Return a robot file with its faulty inertias repaired and its axes of length one.

    Everything else stays: comments, materials, names of meshes, elements of other tools. A xacro file is expanded.

    Parameters
    ----------
    source, base, **options
        As for :func:`vitree.load_urdf`.
    inertia : {"repair", "geometry"}
        The replacement of faulty inertias, as for :func:`vitree.load_urdf`.

    Raises
    ------
    UrdfError
        If the file has errors other than those of inertias.
    InputError
        If ``inertia`` is not one of the two.
    """
    if not isinstance(inertia, str) or inertia not in REPAIRS:
        raise InputError(
            "inertia", inertia, 'is not a way to repair; choose from "repair", "geometry"', choices=REPAIRS
        )
    chosen = options_of(base, options | {"inertia": inertia})
    file, model = load(source, chosen)
    changes = list(model.report.of("repair"))
    lines = {finding.line for finding in changes}
    edits = _Edits(file.text)
    flat = model.full.flat
    bodies = zip(flat.link_mass, flat.link_com, flat.link_inertia, strict=True)
    settled = dict(zip(flat.link_names, bodies, strict=True))
    for link in file.root.findall("link"):
        name, inertial = link.get("name", ""), link.find("inertial")
        here = {getattr(node, "line", None) for node in (link, inertial)} & lines
        if here and name in settled and (inertial is not None or settled[name][0] > 0):
            edits.set_inertial(name, *settled[name])
    for joint in file.root.findall("joint"):
        axis, name = joint.find("axis"), joint.get("name", "")
        if axis is None or "axis" not in USED[joint.get("type", "")]:
            continue
        direction = np.array(file.values(axis, "xyz"))
        length = float(np.linalg.norm(direction))
        if abs(length - 1.0) > AXIS_TOLERANCE:
            edits.set_axis(name, direction / length)
            text = f'the axis of joint "{name}" has length {length:.4g}; it was divided by that'
            changes.append(Finding("axis-length", "repair", text, file.name, getattr(axis, "line", None)))
    text = edits.text()
    remaining = check_urdf(text, base, **cast("UrdfOptions", options | {"xacro": None}))
    return FixedUrdf(text, Report(changes), remaining)


class _Tag(NamedTuple):
    """A start tag: its place, its text, and whether its element is empty."""

    start: int
    text: str
    empty: bool


class _Edits:
    """Changes of the start tags of links and joints in a text of XML; every other letter stays."""

    def __init__(self, text: str):
        self.data = text.lstrip("\ufeff \t\r\n").encode()
        self.links: dict[str, dict[str, _Tag]] = {}
        self.joints: dict[str, dict[str, _Tag]] = {}
        self.changes: list[tuple[int, int, str]] = []  # from, to, new text
        self._find_tags()

    def _find_tags(self) -> None:
        parser = expat.ParserCreate("utf-8")
        path: list[str] = []
        parts: dict[str, _Tag] = {}

        def begin(tag: str, attributes: dict[str, str]) -> None:
            nonlocal parts
            path.append(tag)
            if path[1:2] == ["link"] and len(path) == 2:
                parts = self.links.setdefault(attributes.get("name", ""), {})
            elif path[1:2] == ["joint"] and len(path) == 2:
                parts = self.joints.setdefault(attributes.get("name", ""), {})
            if "/".join(path[1:]) in PARTS:
                start = parser.CurrentByteIndex
                found = START.match(self.data, start)
                assert found is not None
                parts[tag] = _Tag(start, found[0].decode(), bool(found[1]))

        def end(_: str) -> None:
            path.pop()

        parser.StartElementHandler, parser.EndElementHandler = begin, end
        parser.Parse(self.data, True)

    def _set(self, tag: _Tag, inside: str = "", **attributes: str) -> None:
        """Give attributes of a start tag new values, and put a text after the tag."""
        text = tag.text
        for key, value in attributes.items():
            text, count = re.subn(rf"""(\s{key}\s*=\s*)("[^"]*"|'[^']*')""", rf'\g<1>"{value}"', text)
            if not count:
                text = re.sub(r"(\s*/?>)$", rf' {key}="{value}"\1', text)
        if inside and tag.empty:
            name = re.match(r"<([^\s/>]+)", text)
            text = f"{text[:-2].rstrip()}>{inside}</{name[1] if name else ''}>"
        else:
            text += inside
        self.changes.append((tag.start, tag.start + len(tag.text.encode()), text))

    def set_inertial(self, link: str, mass: float, com: np.ndarray, tensor: np.ndarray) -> None:
        """Write mass, COM and inertia about it in the axes of the link."""
        parts, missing = self.links[link], ""
        for name, attributes in {
            "origin": {"xyz": _text(*com), "rpy": "0 0 0"},
            "mass": {"value": _text(mass)},
            "inertia": dict(zip(MOMENTS, map(_text, tensor[ROWS, COLUMNS]), strict=True)),
        }.items():
            if name in parts:
                self._set(parts[name], **attributes)
            else:
                missing += f"<{name} " + " ".join(f'{key}="{value}"' for key, value in attributes.items()) + "/>"
        if "inertial" not in parts:
            self._set(parts["link"], f"<inertial>{missing}</inertial>")
        elif missing:
            self._set(parts["inertial"], missing)

    def set_axis(self, joint: str, direction: np.ndarray) -> None:
        """Write the axis of a joint."""
        self._set(self.joints[joint]["axis"], xyz=_text(*direction))

    def text(self) -> str:
        """Return the text with the changes, declared as UTF-8."""
        data = self.data
        for start, end, new in sorted(self.changes, reverse=True):
            data = data[:start] + new.encode() + data[end:]
        return re.sub(r"""^(<\?xml[^>]*?\sencoding\s*=\s*)("[^"]*"|'[^']*')""", r'\1"UTF-8"', data.decode())


def _text(*numbers: float) -> str:
    return " ".join(repr(float(x)) for x in numbers)
