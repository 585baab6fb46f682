"""The <collision> shapes of a file as what touches: solids, and of meshes their hulls, convex parts or triangles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import InputError, ModelError, UrdfError
from vitree.geometry.meshes import Meshes, TriangleMesh, meshes_by
from vitree.geometry.shapes import Box, Capsule, ConvexPart, Cylinder, Hull, Place, Shape, Sphere
from vitree.mechanism.contacts import Contact, NoContact
from vitree.mechanism.flat import Geometry
from vitree.urdf.hulls import MeshParts, mesh_hull, mesh_parts
from vitree.urdf.meshes import read_mesh
from vitree.urdf.srdf import link_pairs
from vitree.urdf.xml import Source


class _Told:
    """What becomes of the meshes of a file: how many have parts, and the largest deviation of these."""

    def __init__(self) -> None:
        self.meshes = self.parts = 0
        self.outside = self.missing = 0.0
        self.link = ""

    def add(self, link: str, found: MeshParts) -> None:
        """Take in the parts of a mesh."""
        self.meshes += 1
        self.parts += len(found.parts)
        self.missing = max(self.missing, found.deviation.missing)
        if found.deviation.outside > self.outside or not self.link:
            self.outside, self.link = found.deviation.outside, link

    def __str__(self) -> str:
        if not self.meshes:
            return ""
        return (f". Convex parts of {self.meshes} meshes: {self.parts}; they are up to {self.outside:.2g} m outside of "
                f'their mesh, on "{self.link}", and lack up to {self.missing:.2g} m of it')  # fmt: skip


def solids_of(shape: Geometry, meshes: Meshes = Meshes(), told: _Told | None = None) -> list[Shape]:  # noqa: B008
    """Return a shape of a file as solids, several of a mesh by its convex parts.

    Raises a ModelError if there is no such mesh, or it cannot be read, and a MissingExtraError if it needs trimesh or
    coacd, which is not installed.

    Parameters
    ----------
    shape : Geometry
    meshes : Meshes
        How a mesh is taken.
    told : _Told, optional
        Takes the deviations of parts.
    """
    x, y, z = shape.position.tolist()
    place: Place = {"position": (x, y, z), "rotation": shape.rotation}
    if shape.kind == "mesh":
        if not (shape.found and Path(str(shape.filename)).is_file()):
            raise ModelError("it is not found; give the folder of its package in packages=")
        return _mesh_solids(shape, meshes, told, place)
    if shape.kind == "box":
        x, y, z = shape.size
        return [Box((x, y, z), **place)]
    make: dict[str, Callable[..., Shape]] = {"sphere": Sphere, "capsule": Capsule, "cylinder": Cylinder}
    return [make[shape.kind](*shape.size, **place)]


def _mesh_solids(shape: Geometry, meshes: Meshes, told: _Told | None, place: Place) -> list[Shape]:
    filename, scale, most = str(shape.filename), tuple(shape.size), meshes.points
    if meshes.kind == "triangles":
        points, triangles, _ = read_mesh(filename, "contact of a mesh")
        return [TriangleMesh(points * scale, triangles, **place)]
    if meshes.kind == "parts":
        found = mesh_parts(filename, scale, most, meshes.error)
        if told is not None:
            told.add(shape.frame, found)
        return [ConvexPart(cast("np.ndarray", part), most, **place) for part in found.parts]
    # a hull that is made already is taken as it is
    return [Hull(cast("np.ndarray", mesh_hull(filename, scale, most)), most, **place)]


def contacts_of(
    file: Source, links: dict[str, Node], shapes: dict[str, list[Geometry]], given: Meshes | dict[str, Meshes]
) -> list[Contact]:
    """Return a contact for each link with <collision> shapes, and keep findings for meshes that cannot be read.

    Raises an UnknownNameError if a pattern of ``given`` fits no link with a mesh.

    Parameters
    ----------
    file : Source
    links : dict of str to Element
    shapes : dict of str to list of Geometry
        Of each link.
    given : Meshes, or dict of patterns to Meshes
        How meshes are taken.
    """
    contacts, told = [], _Told()
    own_mesh = [name for name, own in shapes.items() if any(x.kind == "mesh" and x.role == "collision" for x in own)]
    meshes = meshes_by(given, own_mesh, "link with a collision mesh")
    for name, own in shapes.items():
        solids: list[Shape] = []
        for shape in own:
            if shape.role != "collision":
                continue
            try:
                solids += solids_of(shape, meshes.get(name, Meshes()), told)
            except (ModelError, InputError) as error:
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
        file.say("contact-points", text + str(told))
    return contacts


def apart_of(file: Source, contacts: list[Contact], path: Path | None) -> list[NoContact]:
    """Return the pairs of links that the SRDF file beside a robot file, at ``path``, disables."""
    if path is None or not contacts:
        return []
    try:
        allowed = link_pairs(path)
    except UrdfError as error:
        file.say("contact-points", f"pairs of links that do not touch are not read: {error.args[0]}")
        return []
    links = [contact.frame for contact in contacts]
    found = [NoContact(a, b, bodies=False) for i, a in enumerate(links) for b in links[i + 1 :]
             if not allowed.touch(a, b)]  # fmt: skip
    if found:
        file.say("contact-points", f"pairs of links that do not touch, by {allowed.file}: {len(found)}")
    return found


def _node_of(link: Node, shape: Geometry) -> Node:
    """The element of a mesh in a link, as near as names tell."""
    name = Path(str(shape.filename)).name
    meshes = [mesh for item in link.iter("collision") for mesh in item.iter("mesh")]
    return next((mesh for mesh in meshes if mesh.get("filename", "").endswith(name)), link)
