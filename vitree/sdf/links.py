"""Links of SDF in the form that the reader of robot files has: elements with attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from vitree.geometry.shapes import Cone, Ellipsoid, Place, Shape
from vitree.mechanism.flat import Geometry
from vitree.sdf.document import Document, Scope, words
from vitree.sdf.frames import Frames, inverse
from vitree.sdf.schema import NO_MASS, NO_SHAPES, OTHER_SHAPES, SIZES
from vitree.spatial.rotations import angles_rpy
from vitree.urdf.geometry import Colour, read_colours, read_shapes
from vitree.urdf.inertials import Inertial, settle_inertial
from vitree.urdf.schema import MOMENTS
from vitree.urdf.xml import Node, shown

#: Friction of a surface that gives none, and of one that gives a negative number [-].
MU, UNLIMITED = 1.0, 1e3


class Plane(NamedTuple):
    """A plane that touches: normal (3,) and a point of it (3,) [m], in the frame of its link."""

    normal: np.ndarray
    point: np.ndarray


class Surface(NamedTuple):
    """Friction and restitution of a shape [-]; None where the file gives none."""

    friction: float | None = None
    restitution: float | None = None


@dataclass
class Touching:
    """The shapes of one link that touch with one surface: those of files, solids, and planes."""

    surface: Surface
    shapes: list[Geometry] = field(default_factory=list)
    solids: list[Shape] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)


@dataclass
class Link:
    """A link: its element in the form of URDF, pose (4, 4) [m] in the world, inertia, and shapes.

    Attributes
    ----------
    model : Scope
        The outermost model that it is in.
    static : bool
    lifted : bool
        Whether it has no weight.
    self_collide : bool
    """

    name: str
    node: Element
    pose: np.ndarray
    model: Scope
    static: bool
    lifted: bool
    self_collide: bool
    inertial: Inertial | None = None
    shapes: list[Geometry] = field(default_factory=list)
    touching: list[Touching] = field(default_factory=list)


def read_link(document: Document, frames: Frames, scope: Scope, name: str, node: Element, policy: str,
              density: float) -> Link:  # fmt: skip
    """Return a link of a scope; inertia and density as of :func:`vitree.load_sdf`."""
    return _LinkReader(document, frames, scope, name, node).read(policy, density)


class _LinkReader:
    """Reads one link."""

    def __init__(self, document: Document, frames: Frames, scope: Scope, name: str, node: Element):
        self.document, self.file, self.frames, self.scope, self.node = document, document.file, frames, scope, node
        self.full = scope.prefix + name
        self.what = f'link "{self.full}"'
        self.local = frames.local(scope, name)
        self.usual = name

    def read(self, policy: str, density: float) -> Link:
        scope, node, truth = self.scope, self.node, self.document.truth
        made = self._like(node, "link", name=self.full)
        collide = truth(node, "self_collide", truth(scope.outermost.node, "self_collide"))
        link = Link(self.full, made, self.frames.pose(scope, self.usual), scope.outermost, scope.static,
                    not truth(node, "gravity", True), collide)  # fmt: skip
        for tag, text in (("kinematic", "is kinematic"), ("velocity_decay", "has a decay of velocity")):
            child = node.find(tag)
            if child is not None and any(words(each) not in ("", "0", "0.0", "false") for each in child.iter()):
                self.file.say("sdf-motion", f"the {self.what} {text}, which is left out", child)
        inertial = node.find("inertial")
        if inertial is not None:
            self._inertial(made, inertial)
        groups: dict[Surface, Touching] = {}
        places = [(each, self._shape(made, each)) for each in node if each.tag in ("visual", "collision")]
        colours = read_colours(self.file, made)
        for each, kept in places:
            role = each.tag
            found = [] if kept is None else self._of_file(kept, colours)
            link.shapes += found
            if role == "collision":
                surface = self._surface(each)
                group = groups.setdefault(surface, Touching(surface))
                group.shapes += found
                self._others(each, group, link.static)
        link.touching = [each for each in groups.values() if each.shapes or each.solids or each.planes]
        self._settle(link, made, inertial, policy, density)
        return link

    def _like(self, node: Element, tag: str, **attributes: str) -> Element:
        """An element of this reader on the line of one of the file."""
        made = Node(tag, attributes)
        made.line, made.file = getattr(node, "line", 0), getattr(node, "file", self.file.name)
        return made

    def _place(self, made: Element, node: Element) -> None:
        """Give an element the <origin> of the <pose> of another."""
        X = inverse(self.local) @ self.frames.placed(self.scope, node, f"a <{node.tag}> of {self.what}", self.usual)
        xyz, rpy = (" ".join(map(repr, map(float, part))) for part in (X[:3, 3], angles_rpy(X[:3, :3])))
        origin = self._like(node, "origin", xyz=xyz, rpy=rpy)
        made.append(origin)

    # ---- inertia ------------------------------------------------------------------------------------------

    def _inertial(self, made: Element, node: Element) -> None:
        """Add an <inertial> whose numbers have been checked."""
        inertial = self._like(node, "inertial")
        self._place(inertial, node)
        before = self.file.errors
        mass, tensor = node.find("mass"), node.find("inertia")
        inertial.append(self._like(node if mass is None else mass, "mass", value=words(mass) or "1"))
        usual = dict.fromkeys(MOMENTS, "0") | dict.fromkeys(("ixx", "iyy", "izz"), "1")
        if tensor is None and mass is None and node.get("auto", "").lower() not in ("true", "1"):
            self.file.say("inertial-default", f"the <inertial> of {self.what} has no <mass> and no <inertia>", node)
        elif tensor is None and node.get("auto", "").lower() not in ("true", "1"):
            self.file.say("inertial-default", f"the <inertial> of {self.what} has no <inertia>", node)
        given = {key: words(tensor, key) or text for key, text in usual.items()}
        inertial.append(self._like(node if tensor is None else tensor, "inertia", **given))
        for child in inertial:
            for key in child.keys() if child.tag != "origin" else ():
                self.file.numbers(child, key, 1, self.what)
        if self.file.errors == before:
            made.append(inertial)
        if node.find("fluid_added_mass") is not None:
            self.file.say("sdf-motion", f"the <fluid_added_mass> of {self.what} is left out", node)

    def _settle(self, link: Link, made: Element, inertial: Element | None, policy: str, density: float) -> None:
        """Decide on the inertia with which the link is simulated."""
        if inertial is not None and inertial.get("auto", "").lower() in ("true", "1"):
            policy = "geometry"
            if (own := made.find("inertial")) is not None:
                made.remove(own)
            text = words(inertial, "density")
            if text is not None and (found := self.file.floats(inertial, text, 1, f"the <density> of {self.what}")):
                density = found[0]
        elif inertial is None and policy != "geometry" and NO_MASS not in self.node.keys():
            if not link.static:
                self.file.say("inertial-default", f"the {self.what} has no <inertial>", self.node)
            default = SubElement(made, "inertial")
            SubElement(default, "mass", value="1")
            SubElement(default, "inertia", dict.fromkeys(MOMENTS, "0") | dict.fromkeys(("ixx", "iyy", "izz"), "1"))
        if not self.file.errors and not link.static:
            link.inertial = settle_inertial(self.file, self.full, made, link.shapes, policy, density)

    # ---- shapes -------------------------------------------------------------------------------------------

    def _shape(self, made: Element, node: Element) -> Element | None:
        """Add a <visual> or <collision> in the form of URDF; None of a shape that URDF does not know."""
        geometry = node.find("geometry")
        kind = None if geometry is None else next((each for each in geometry if each.tag != "empty"), None)
        what = f"a <{node.tag}> of {self.what}"
        if kind is None:
            return None
        if kind.tag in NO_SHAPES or (kind.tag in OTHER_SHAPES and kind.tag != "mesh"):
            if node.tag == "visual" and kind.tag != "plane":
                self.file.say("sdf-drawing", f"the <{kind.tag}> of {what} is not drawn", kind)
            elif kind.tag in NO_SHAPES:
                self.file.say("sdf-shape", f"the <{kind.tag}> of {what} does not touch", kind)
            return None
        item = self._like(node, node.tag)
        self._place(item, node)
        if kind.tag == "mesh":
            if kind.find("submesh") is not None:
                told = ("sdf-drawing", "is not drawn") if node.tag == "visual" else ("sdf-shape", "does not touch")
                self.file.say(told[0], f"the <submesh> of {what} {told[1]}", kind)
                return None
            shape = self._like(kind, "mesh", filename=words(kind, "uri") or words(kind, "filename") or "")
            if (scale := words(kind, "scale")) is not None:
                shape.set("scale", scale)
        else:
            sizes = {key: words(kind, key) for key in SIZES.get(kind.tag, ())}
            shape = self._like(kind, kind.tag, **{key: text for key, text in sizes.items() if text is not None})
        SubElement(item, "geometry").append(shape)
        if (diffuse := words(node.find("material"), "diffuse")) is not None:
            SubElement(SubElement(item, "material"), "color", rgba=diffuse)
        made.append(item)
        return item

    def _of_file(self, item: Element, colours: Mapping[Element | str, Colour]) -> list[Geometry]:
        """Return the shapes of one of these elements."""
        alone = self._like(item, "link", name=self.full)
        alone.append(item)
        return read_shapes(self.file, alone, colours, self.scope.places)

    def _others(self, node: Element, group: Touching, static: bool) -> None:
        """Add what touches and has no counterpart in URDF: ellipsoids, cones, and planes that stand still."""
        geometry = node.find("geometry")
        kind = None if geometry is None else next((each for each in geometry if each.tag in OTHER_SHAPES), None)
        if kind is None or kind.tag == "mesh":
            return
        what = f"a <collision> of {self.what}"
        X = inverse(self.local) @ self.frames.placed(self.scope, node, what, self.usual)
        if kind.tag == "plane":
            normal = self._numbers(kind, "normal", 3, what, (0.0, 0.0, 1.0))
            if normal is None or not any(normal):
                return
            if static:
                group.planes.append(Plane(X[:3, :3] @ normal, X[:3, 3]))
            else:
                self.file.say("sdf-shape", f"the <plane> of {what}, which moves, does not touch", kind)
            return
        x, y, z = X[:3, 3].tolist()
        place: Place = {"position": (x, y, z), "rotation": X[:3, :3]}
        if kind.tag == "ellipsoid":
            radii = self._numbers(kind, "radii", 3, what)
            if radii is not None and self._positive(kind, radii, what):
                group.solids.append(Ellipsoid((radii[0], radii[1], radii[2]), **place))
            return
        sizes = [self._numbers(kind, key, 1, what) for key in ("radius", "length")]
        if sizes[0] and sizes[1] and self._positive(kind, (*sizes[0], *sizes[1]), what):
            group.solids.append(Cone(sizes[0][0], sizes[1][0], **place))

    def _positive(self, kind: Element, sizes: tuple[float, ...], what: str) -> bool:
        if min(sizes) > 0:
            return True
        self.file.say("shape-size", f"a size of the <{kind.tag}> of {what} is zero or negative", kind)
        return False

    def _numbers(
        self, node: Element, tag: str, count: int, what: str, usual: tuple[float, ...] | None = None
    ) -> tuple[float, ...] | None:
        """The numbers of a child."""
        child = node.find(tag)
        if child is None:
            if usual is None:
                self.file.say("attribute-missing", f"the <{node.tag}> of {what} has no <{tag}>", node)
            return usual
        text = words(child) or ""
        return self.file.floats(child, text, count, f'the <{tag}> "{shown(text)}" of {what}')

    def _surface(self, node: Element) -> Surface:
        """Friction and restitution of a <collision>."""
        surface = node.find("surface")
        if surface is None:
            return Surface()
        what = f"a <collision> of {self.what}"
        found = {}
        paths = {"mu": "friction/ode/mu", "mu2": "friction/ode/mu2", "bullet": "friction/bullet/friction",
                 "restitution": "bounce/restitution_coefficient"}  # fmt: skip
        for key, path in paths.items():
            child = surface.find(path)
            if child is not None:
                text = words(child) or ""
                numbers = self.file.floats(child, text, 1, f'the <{child.tag}> "{shown(text)}" of {what}')
                if numbers is not None and numbers[0] < 0 and key != "restitution":
                    found[key] = UNLIMITED  # so Gazebo reads it
                elif numbers is not None and numbers[0] < 0:
                    self.file.say("number-range", f'the <{child.tag}> "{shown(text)}" of {what} is negative', child)
                elif numbers is not None:
                    found[key] = numbers[0]
        if found.get("restitution", 0.0) > 1:
            self.file.say("number-range", f"the restitution of {what} is above 1", surface)
            del found["restitution"]
        mu = found.get("mu", found.get("bullet"))
        if "mu2" in found and found["mu2"] != (MU if mu is None else mu):
            text = f"the <mu2> of {what} is left out: friction is the same in all directions"
            self.file.say("sdf-motion", text, surface)
        for path in ("contact/collide_bitmask", "contact/collide_without_contact", "friction/torsional",
                     "friction/ode/slip1", "friction/ode/slip2"):  # fmt: skip
            child = surface.find(path)
            if child is not None and words(child) not in ("65535", "0xffff", "0", "0.0", "false"):
                self.file.say("sdf-motion", f"the <{child.tag}> of {what} is left out", child)
        return Surface(mu, found.get("restitution"))
