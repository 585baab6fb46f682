"""The <collision> shapes of a file as what touches: solids, and of meshes their convex hulls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import ModelError, UrdfError
from vitree.geometry.hull import HULL_POINTS
from vitree.geometry.shapes import Box, Capsule, Cylinder, Hull, Place, Shape, Sphere
from vitree.mechanism.contacts import Contact, NoContact
from vitree.mechanism.flat import Geometry
from vitree.urdf.hulls import mesh_hull
from vitree.urdf.srdf import disabled_pairs
from vitree.urdf.xml import Source


def solid_of(shape: Geometry, most: int = HULL_POINTS) -> Shape:
    """Return a shape of a file as a solid.

    Raises a ModelError if there is no such mesh, or it cannot be read, and a MissingExtraError if it needs trimesh,
    which is not installed.

    Parameters
    ----------
    shape : Geometry
    most : int
        Points of the convex hull of a mesh, at most.
    """
    x, y, z = shape.position.tolist()
    place: Place = {"position": (x, y, z), "rotation": shape.rotation}
    if shape.kind == "mesh":
        if not (shape.found and Path(str(shape.filename)).is_file()):
            raise ModelError("it is not found; give the folder of its package in packages=")
        found = mesh_hull(str(shape.filename), tuple(shape.size), most)
        return Hull(cast("np.ndarray", found), most, **place)  # which takes a hull that is made as it is
    if shape.kind == "box":
        x, y, z = shape.size
        return Box((x, y, z), **place)
    make: dict[str, Callable[..., Shape]] = {"sphere": Sphere, "capsule": Capsule, "cylinder": Cylinder}
    return make[shape.kind](*shape.size, **place)


def contacts_of(file: Source, links: dict[str, Node], shapes: dict[str, list[Geometry]], most: int) -> list[Contact]:
    """Return a contact for each link with <collision> shapes, and keep findings for meshes that cannot be read.

    Parameters
    ----------
    file : Source
    links : dict of str to Element
    shapes : dict of str to list of Geometry
        Of each link.
    most : int
        Points of the convex hull of a mesh, at most.
    """
    contacts = []
    for name, own in shapes.items():
        solids: list[Shape] = []
        for shape in own:
            if shape.role != "collision":
                continue
            try:
                solids.append(solid_of(shape, most))
            except ModelError as error:
                text = f'the mesh "{shape.filename}" of a <collision> of link "{name}" cannot make contact: '
                file.say("contact-mesh", f"{text}{error.args[0]}", _node_of(links[name], shape))
        if solids:
            contacts.append(Contact(name, shapes=tuple(solids)))
    lost = max(contacts, key=lambda contact: contact.lost, default=None)
    if lost is not None:
        count = sum(len(contact.shapes) for contact in contacts)
        text = f"collision shapes make contact; links: {len(contacts)}, shapes: {count}"
        if lost.lost:
            text += f'. Hulls of few points lose up to {lost.lost:.2g} m, on "{lost.frame}"'
        file.say("contact-points", text)
    return contacts


def apart_of(file: Source, contacts: list[Contact], path: Path | None) -> list[NoContact]:
    """Return the pairs of links that the SRDF file beside a robot file, at ``path``, disables."""
    if path is None or not contacts:
        return []
    try:
        name, disabled = disabled_pairs(path)
    except UrdfError as error:
        file.say("contact-points", f"pairs of links that do not touch are not read: {error.args[0]}")
        return []
    links = [contact.frame for contact in contacts]
    found = [NoContact(a, b, bodies=False) for i, a in enumerate(links) for b in links[i + 1 :]
             if frozenset((a, b)) in disabled]  # fmt: skip
    if found:
        file.say("contact-points", f"pairs of links that do not touch, by {name}: {len(found)}")
    return found


def _node_of(link: Node, shape: Geometry) -> Node:
    """The element of a mesh in a link, as near as names tell."""
    name = Path(str(shape.filename)).name
    meshes = [mesh for item in link.iter("collision") for mesh in item.iter("mesh")]
    return next((mesh for mesh in meshes if mesh.get("filename", "").endswith(name)), link)
