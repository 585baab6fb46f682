"""The shapes of a link, for viewers. A shape with a fault is ignored; the robot still loads."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.mechanism.flat import Geometry
from vitree.spatial.rotations import rotation_rpy
from vitree.urdf.checks import turn_origin
from vitree.urdf.paths import Places
from vitree.urdf.rules import RULES
from vitree.urdf.schema import SHAPES
from vitree.urdf.xml import Source, shown

#: Red, green, blue and opacity, shares from 0 to 1.
Colour = tuple[float, ...]


def read_colours(source: Source) -> dict[Node | str, Colour]:
    """Return the colours (r, g, b, a) of materials, by element and by name; for a repeated name, of the first."""
    colours: dict[Node | str, Colour] = {}
    for material in source.root.iter("material"):
        rgba = _colour(source, material)
        if rgba is not None:
            colours[material] = rgba
            colours.setdefault(material.get("name", ""), rgba)
    return colours


def _colour(source: Source, material: Node) -> Colour | None:
    colour = material.find("color")
    if colour is None or not colour.get("rgba"):
        return None
    count = 3 if len(colour.get("rgba", "").split()) == 3 else 4
    what = f'material "{material.get("name", "")}"'
    rgba = source.numbers(colour, "rgba", count, what, severity="warning", remedy="the colour is ignored; correct it")
    return None if rgba is None else rgba + (1.0,) * (4 - count)


def read_shapes(
    source: Source, link: Node, colours: Mapping[Node | str, Colour], places: Places
) -> list[Geometry]:
    """Return the visual and collision shapes of a <link>."""
    shapes = (_read_shape(source, item, link.get("name", ""), colours, places) for item in link
              if item.tag in ("visual", "collision"))  # fmt: skip
    return [shape for shape in shapes if shape is not None]


def _read_shape(
    source: Source, item: Node, name: str, colours: Mapping[Node | str, Colour], places: Places
) -> Geometry | None:
    what = f'a <{item.tag}> of link "{name}"'
    geometry = item.find("geometry")
    shape = next((child for child in geometry if child.tag in SHAPES), None) if geometry is not None else None
    if shape is None:
        source.say("shape-unknown", f"there is no known shape in {what}", item)
        return None
    filename, problem = None, None
    if shape.tag == "mesh":
        if not shape.get("filename"):
            source.say("shape-unknown", f'the <mesh> of {what} has no "filename"', shape)
            return None
        scale = shape.get("scale")
        count = 1 if scale is not None and len(scale.split()) == 1 else 3
        size = (1.0,) if scale is None else _numbers(source, shape, "scale", count, what)
        size = None if size is None else (size * 3)[:3]
        filename, problem = places.resolve(shape.get("filename", ""))
        if problem is not None:
            rule = "mesh-escapes" if problem.startswith("escapes") else "mesh-missing"
            source.say(rule, f'the mesh "{shown(filename)}" of {what}: ' + problem, shape)
    else:
        parts = [_numbers(source, shape, key, count, what) for key, count in SHAPES[shape.tag].items()]
        size = None if None in parts else tuple(x for part in parts for x in part or ())
    origin = item.find("origin")
    if origin is not None:
        for key in ("xyz", "rpy"):
            if origin.get(key) is not None and _numbers(source, origin, key, 3, what) is None:
                size = None
        if origin.get("quat_xyzw") is not None and not turn_origin(
            source, origin, what, severity="warning", remedy=RULES["shape-unknown"].remedy
        ):
            size = None
    if size is None:
        return None
    xyz, rpy = source.place(item)
    if min(map(abs, size)) == 0 or (shape.tag != "mesh" and min(size) < 0):
        source.say("shape-size", f"a size of the <{shape.tag}> of {what} is zero or negative", shape)
        return None
    material = item.find("material")
    rgba = None if material is None else colours.get(material, colours.get(material.get("name", "")))
    return Geometry(
        frame=name,
        kind=shape.tag,
        size=size,
        rotation=rotation_rpy(*rpy),
        position=np.array(xyz),
        filename=filename,
        rgba=rgba,
        role=item.tag,
        found=problem is None,
    )


def _numbers(source: Source, node: Node, attribute: str, count: int, what: str) -> tuple[float, ...] | None:
    remedy = RULES["shape-unknown"].remedy
    return source.numbers(node, attribute, count, what, severity="warning", remedy=remedy)
