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


def read_colours(source: Source, root: Node | None = None) -> dict[Node | str, Colour]:
    """Return the colours (r, g, b, a) of materials, by element and by name; for a repeated name, of the first.

    They are those below ``root``, by default of the file.
    """
    colours: dict[Node | str, Colour] = {}
    for material in (source.root if root is None else root).iter("material"):
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


def read_textures(source: Source) -> dict[str, str]:
    """Return the files of textures of materials by name, as they stand in the file; of a repeated name the first."""
    found: dict[str, str] = {}
    for material in source.root.iter("material"):
        texture = material.find("texture")
        if texture is not None and texture.get("filename"):
            found.setdefault(material.get("name", ""), texture.get("filename", ""))
    return found


def read_shapes(
    source: Source, link: Node, colours: Mapping[Node | str, Colour], places: Places,
    textures: Mapping[str, str] | None = None,
) -> list[Geometry]:  # fmt: skip
    """Return the visual and collision shapes of a <link>."""
    shapes = (_read_shape(source, item, link.get("name", ""), colours, places, textures or {}) for item in link
              if item.tag in ("visual", "collision"))  # fmt: skip
    return [shape for shape in shapes if shape is not None]


def _read_shape(
    source: Source, item: Node, name: str, colours: Mapping[Node | str, Colour], places: Places,
    textures: Mapping[str, str],
) -> Geometry | None:  # fmt: skip
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
    texture = None
    if material is not None and shape.tag == "mesh" and (named := textures.get(material.get("name", ""))):
        file, wrong = places.resolve(named)
        if wrong is None:
            texture = file
        else:
            source.say("mesh-missing", f'the texture "{shown(named)}" of {what}: ' + wrong, material)
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
        texture=texture,
    )


def _numbers(source: Source, node: Node, attribute: str, count: int, what: str) -> tuple[float, ...] | None:
    remedy = RULES["shape-unknown"].remedy
    return source.numbers(node, attribute, count, what, severity="warning", remedy=remedy)
