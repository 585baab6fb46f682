"""Robots of URDF that SDF files include, as models of SDF."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from vitree.sdf.schema import NO_MASS, SIZES
from vitree.urdf.schema import MOMENTS
from vitree.urdf.xml import Node, Source, shown

WORLD = "world"
#: Types of joints that both formats have.
JOINTS = ("revolute", "continuous", "prismatic", "fixed")
#: Elements of a robot, a link and a joint that are translated.
READ = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}


def model_of_urdf(source: Source) -> Node:
    """Return the robot of a URDF file as a <model> of SDF, whose elements have the lines of the file.

    Each link is placed relative to its parent; the frame of the model is that of the root link. A root link "world" is
    the world. Links without an inertia have no mass, as in URDF. The version of the format is the latest.
    """
    return _Translation(source).model()


class _Translation:
    """Writes one model."""

    def __init__(self, source: Source):
        self.file, self.robot = source, source.root
        self.colours = {each.get("name"): each.find("color") for each in self.robot.findall("material")}

    def model(self) -> Node:
        model = self._like(self.robot, "model", name=self.robot.get("name", ""))
        above: dict[str, tuple[str, Element]] = {}
        self._leave_out(self.robot, "the robot")
        for joint in self.robot.findall("joint"):
            parent, child = (_get(joint.find(end), "link") for end in ("parent", "child"))
            above.setdefault(child, (parent, joint))
            self._leave_out(joint, f'the joint "{joint.get("name", "")}"')
        for link in self.robot.findall("link"):
            name = link.get("name", "")
            if name == WORLD and name not in above and not len(link):
                continue
            self._leave_out(link, f'the link "{name}"')
            model.append(self._link(link, name, *above.get(name, ("", None))))
        model.extend(made for joint in self.robot.findall("joint") if (made := self._joint(joint)) is not None)
        return model

    # ---- elements -------------------------------------------------------------------------------------------

    def _like(self, node: Element, tag: str, text: str | None = None, **attributes: str) -> Node:
        """An element of SDF on the line of one of the file."""
        made = Node(tag, attributes)
        made.line, made.file, made.text = getattr(node, "line", 0), self.file.name, text
        return made

    def _copied(self, made: Element, node: Element | None, keys: Iterable[str]) -> None:
        """Give an element a child for each attribute that another has."""
        if node is None:
            return
        for key in keys:
            if (text := node.get(key)) is not None:
                made.append(self._like(node, key, text))

    def _leave_out(self, node: Element, what: str) -> None:
        """Note what has no part in the motion, or none in SDF."""
        for tag in dict.fromkeys(child.tag for child in node):
            if tag not in READ[node.tag] and ":" not in tag:
                self.file.say("sdf-ignored", f"the <{shown(tag)}> of {what} is left out", node.find(tag))

    def _pose(self, made: Element, origin: Element | None, relative_to: str = "") -> None:
        """Give an element the <pose> of an <origin>."""
        if origin is None and not relative_to:
            return
        numbers = {"xyz": "0 0 0", "rpy": "0 0 0"} | ({} if origin is None else dict(origin.attrib))
        pose = self._like(made if origin is None else origin, "pose")
        if "quat_xyzw" in numbers:
            pose.set("rotation_format", "quat_xyzw")
        pose.text = f'{numbers["xyz"]} {numbers.get("quat_xyzw", numbers["rpy"])}'
        if relative_to:
            pose.set("relative_to", relative_to)
        made.append(pose)

    # ---- links ----------------------------------------------------------------------------------------------

    def _link(self, link: Element, name: str, parent: str, joint: Element | None) -> Node:
        made = self._like(link, "link", name=name)
        if joint is not None:
            self._pose(made, joint.find("origin"), "" if parent == WORLD else parent)
        inertial = link.find("inertial")
        if inertial is None:
            made.set(NO_MASS, "")
        else:
            own = self._like(inertial, "inertial")
            self._pose(own, inertial.find("origin"))
            if (mass := inertial.find("mass")) is not None:
                own.append(self._like(mass, "mass", mass.get("value", "")))
            if (tensor := inertial.find("inertia")) is not None:
                moments = self._like(tensor, "inertia")
                self._copied(moments, tensor, MOMENTS)
                own.append(moments)
            made.append(own)
        for node in link:
            if node.tag in ("visual", "collision"):
                made.append(self._shape(node))
        return made

    def _shape(self, node: Element) -> Node:
        made = self._like(node, node.tag, **({"name": node.get("name", "")} if node.get("name") else {}))
        self._pose(made, node.find("origin"))
        geometry = self._like(node, "geometry")
        for shape in node.find("geometry") or ():
            kind = self._like(shape, shape.tag)
            self._copied(kind, shape, SIZES.get(shape.tag, ("scale",)))
            if (file := shape.get("filename")) is not None:
                kind.append(self._like(shape, "uri", file))
            geometry.append(kind)
        made.append(geometry)
        material = node.find("material")
        if material is not None:
            colour = material.find("color")
            colour = self.colours.get(material.get("name")) if colour is None else colour
            if colour is not None:
                own = self._like(material, "material")
                own.append(self._like(colour, "diffuse", colour.get("rgba", "")))
                made.append(own)
        return made

    # ---- joints ---------------------------------------------------------------------------------------------

    def _joint(self, joint: Element) -> Node | None:
        """A joint, whose frame is that of its child; None of one on which the child floats."""
        kind, name = joint.get("type", ""), joint.get("name", "")
        if kind == "floating":
            return None
        if kind not in JOINTS:
            self.file.say("sdf-joint", f'the joint "{name}" is a {shown(kind)} and is left out', joint)
            return None
        made = self._like(joint, "joint", name=name, type=kind)
        for end in ("parent", "child"):
            if (node := joint.find(end)) is not None:
                made.append(self._like(node, end, node.get("link", "")))
        if kind == "fixed":
            return made
        axis, given, limit = self._like(joint, "axis"), joint.find("axis"), joint.find("limit")
        xyz = "1 0 0" if given is None else given.get("xyz", "1 0 0")
        axis.append(self._like(joint if given is None else given, "xyz", xyz))
        for node, keys in (
            (limit, ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")),
            (joint.find("dynamics"), ("damping", "friction")),
            (joint.find("mimic"), ("multiplier", "offset")),
        ):
            if node is not None:
                part = self._like(node, node.tag, **({"joint": node.get("joint", "")} if node.tag == "mimic" else {}))
                self._copied(part, node, keys)
                axis.append(part)
        if limit is not None and kind != "continuous" and ("lower" in limit.keys()) != ("upper" in limit.keys()):
            missing = "upper" if "lower" in limit.keys() else "lower"
            axis.find("limit").append(self._like(limit, missing, "0"))  # type: ignore[union-attr]
        made.append(axis)
        return made


def _get(node: Element | None, key: str) -> str:
    return "" if node is None else node.get(key, "")
