"""The <collision> shapes of a file as what touches: solids, and of meshes their convex hulls."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element as Node
from zipfile import BadZipFile

import numpy as np

from vitree.errors import InputError, ModelError, VitreeError
from vitree.geometry.hull import HULL_POINTS, Thinned, hull_points
from vitree.geometry.shapes import Box, Capsule, Cylinder, Hull, Place, Shape, Sphere
from vitree.mechanism.contacts import Contact
from vitree.mechanism.flat import Geometry
from vitree.urdf.meshes import check_mesh, read_mesh
from vitree.urdf.xml import Source
from vitree.writing import replacing

#: Changes where hulls of the same mesh do: files of the cache are of one version.
CACHED = 1


def solid_of(shape: Geometry, most: int = HULL_POINTS) -> Shape:
    """Return a shape of a file as a solid.

    Raises a ModelError if there is no such mesh, or it cannot be read, and a MissingExtraError if it is a mesh and
    trimesh is not installed.

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
        found = _thinned(str(shape.filename), os.stat(str(shape.filename)).st_mtime_ns, tuple(shape.size), most)
        return Hull(cast("np.ndarray", found), most, **place)  # which takes a hull that is made as it is
    if shape.kind == "box":
        x, y, z = shape.size
        return Box((x, y, z), **place)
    make: dict[str, Callable[..., Shape]] = {"sphere": Sphere, "capsule": Capsule, "cylinder": Cylinder}
    return make[shape.kind](*shape.size, **place)


@lru_cache(maxsize=256)
def _thinned(filename: str, written: int, scale: tuple[float, ...], most: int) -> Thinned:
    """The convex hull of a mesh that was written at a time; robots have the same mesh at several places."""
    file = _cached(filename, scale, most)
    if file is not None and (known := _read_hull(file, most)) is not None:
        return known
    points, *_ = read_mesh(filename, "contact of a mesh")
    thinned = hull_points(points * np.asarray(scale), most)
    # of the few that are left some may lie on the hull of the others
    found = Thinned(hull_points(thinned.points, most).points, thinned.lost)
    if file is not None:
        with contextlib.suppress(OSError, InputError):  # a folder that cannot be written to is no reason to stop
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as stream:
                np.savez(stream, points=found.points, lost=found.lost)
    return found


def _cached(filename: str, scale: tuple[float, ...], most: int) -> Path | None:
    """Return the file in the cache for the hull of a mesh, named by the content of the mesh; None without a cache."""
    folder = os.environ.get("VITREE_CACHE", os.path.join("~", ".cache", "vitree"))
    if folder == "off":
        return None
    try:
        check_mesh(filename)
        with open(filename, "rb") as stream:
            content = hashlib.file_digest(stream, "sha256")
    except (OSError, VitreeError):
        return None  # the reader will say what is wrong
    content.update(repr((Path(filename).suffix.lower(), scale, most, CACHED)).encode())
    return Path(folder).expanduser() / "hulls" / f"{content.hexdigest()}.npz"


def _read_hull(file: Path, most: int) -> Thinned | None:
    """Return the hull in a file of the cache; None if there is none, or it is damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as kept:
            points, lost = kept["points"], kept["lost"]
        if points.dtype == float and points.ndim == 2 and points.shape[1] == 3 and 0 < len(points) <= most:
            if np.isfinite(points).all() and lost.shape == () and lost >= 0:
                return Thinned(points, float(lost))
    return None


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
        count = sum(len(shape.points) for contact in contacts for shape in contact.shapes)
        text = f"collision shapes touch the ground at points; links: {len(contacts)}, points: {count}"
        if lost.lost:
            text += f'. Hulls of few points and rims of cylinders lose up to {lost.lost:.2g} m, on "{lost.frame}"'
        file.say("contact-points", text)
    return contacts


def _node_of(link: Node, shape: Geometry) -> Node:
    """The element of a mesh in a link, as near as names tell."""
    name = Path(str(shape.filename)).name
    meshes = [mesh for item in link.iter("collision") for mesh in item.iter("mesh")]
    return next((mesh for mesh in meshes if mesh.get("filename", "").endswith(name)), link)
