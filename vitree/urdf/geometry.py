"""The shapes of a link: kept for viewers, without a part in the dynamics."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.flat import Geometry
from vitree.tree import rotation_rpy
from vitree.urdf.paths import resolve
from vitree.urdf.xml import Source

#: Sizes of each shape: attributes and how many numbers each has.
SHAPES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {},
}


def read_colours(source: Source) -> dict[str, tuple]:
    """Return the colours (r, g, b, a) of all named materials; the first of a name counts."""
    colours: dict[str, tuple] = {}
    for material in source.root.iter("material"):
        rgba = _colour(source, material)
        if rgba is not None:
            colours.setdefault(material.get("name", ""), rgba)
    return colours


def _colour(source: Source, material: Node) -> tuple | None:
    colour = material.find("color")
    if colour is None or not colour.get("rgba"):
        return None
    count = 3 if len(colour.get("rgba", "").split()) == 3 else 4
    rgba = source.numbers(colour, "rgba", count, f'material "{material.get("name")}"')
    return tuple(rgba + [1.0] * (4 - count))


def read_shapes(source: Source, link: Node, colours, robot: Path | None, skipped: list[str]) -> list[Geometry]:
    """Return the visual and collision shapes of a <link>; ``skipped`` takes what is not known."""
    shapes = []
    name = link.get("name", "")
    for item in link:
        if item.tag not in ("visual", "collision"):
            continue
        what = f'a <{item.tag}> of link "{name}"'
        geometry = item.find("geometry")
        shape = next((child for child in geometry if child.tag in SHAPES), None) if geometry is not None else None
        if shape is None or (shape.tag == "mesh" and not shape.get("filename")):
            skipped.append(what)
            continue
        size = tuple(
            number
            for attribute, count in SHAPES[shape.tag].items()
            for number in source.numbers(shape, attribute, count, what)
        )
        filename = None
        if shape.tag == "mesh":
            scale = shape.get("scale")
            count = 1 if scale is not None and len(scale.split()) == 1 else 3
            size = (1.0,) * 3
            if scale is not None:
                size = (tuple(source.numbers(shape, "scale", count, what)) * 3)[:3]
            filename = resolve(shape.get("filename", ""), robot).path
        origin, material = item.find("origin"), item.find("material")
        xyz, rpy = (
            source.numbers(origin, key, 3, what) if origin is not None and origin.get(key) is not None else [0.0] * 3
            for key in ("xyz", "rpy")
        )
        rgba = None
        if material is not None:
            rgba = _colour(source, material) or colours.get(material.get("name", ""))
        shapes.append(
            Geometry(
                frame=name,
                kind=shape.tag,
                size=size,
                rotation=rotation_rpy(*rpy),
                position=np.array(xyz),
                filename=filename,
                rgba=rgba,
                role=item.tag,
            )
        )
    return shapes
