"""Things that are a body of shapes: what they weigh, touch and look like."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vitree.errors import InputError, ModelError
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Hull, Shape, Sphere
from vitree.mechanism.contacts import Contact, Friction
from vitree.mechanism.flat import Geometry
from vitree.tree.elements import body, free
from vitree.tree.tree import Tree
from vitree.urdf.inertia import Solid, enclosed_solid, inertia_of, solid_of

#: Options of things that are made of shapes.
OF_SHAPES = ("mass", "density", "friction", "restitution", "rgba")
#: Shapes that viewers draw: their words, and their sizes.
_DRAWN = {Box: "box", Sphere: "sphere", Capsule: "capsule", Cylinder: "cylinder"}


def drawn(shape: Shape, frame: str, rgba: tuple[float, ...] | None = None) -> Geometry | None:
    """Return a shape as viewers draw it; None of one that they do not."""
    kind = next((word for made, word in _DRAWN.items() if type(shape) is made), None)
    if kind is None:
        return None
    sizes = {"box": ("size",), "sphere": ("radius",)}.get(kind, ("radius", "length"))
    size = np.ravel([getattr(shape, name) for name in sizes]).tolist()
    return Geometry(frame, kind, tuple(size), np.array(shape.rotation), np.array(shape.position), rgba=rgba)


def solid_of_shape(shape: Shape) -> Solid:
    """Return volume [m^3], centroid (3,) [m] and second moments about it (3, 3) [m^5] of a shape, in its frame.

    Raises a ModelError if the shape has no volume.
    """
    own = drawn(shape, "")
    if own is not None:
        return solid_of(own)
    if isinstance(shape, Ellipsoid):
        squares = np.array(shape.semi_axes) ** 2
        volume, centroid, second = 4 / 3 * math.pi * math.prod(shape.semi_axes), np.zeros(3), np.diag(squares) / 5
    elif isinstance(shape, Cone):
        r, h = shape.radius, shape.length  # the centroid is at a quarter of the height
        volume, centroid = math.pi * r * r * h / 3, np.array([0.0, 0.0, -h / 4])
        second = np.diag([3 * r * r / 20, 3 * r * r / 20, 3 * h * h / 80])
    elif isinstance(shape, Hull | TriangleMesh):
        volume, centroid, second = enclosed_solid(np.array(shape.vertices, dtype=float))
        second = second / volume if volume else second
    else:
        volume, centroid, second = 0.0, np.zeros(3), np.zeros((3, 3))
    if not volume > 0:
        raise ModelError(f"a {type(shape).__name__} without a thickness has no volume; give the mass of a Tree of your "
                         "own, vt.body(name, mass, inertia)")  # fmt: skip
    R = np.array(shape.rotation, dtype=float)
    return volume, np.array(shape.position) + R @ centroid, R @ (volume * second) @ R.T


def tree_of_shapes(
    shapes: Sequence[Shape], name: str, gravity: np.ndarray, mass: float | None = None, density: float | None = None,
    friction: Friction | None = None, restitution: float | None = None, rgba: tuple[float, ...] | None = None,
) -> Tree:  # fmt: skip
    """Return a tree of one body ``name``, which floats if it has a mass or a density, and stands still otherwise.

    Raises a ModelError if a shape has no volume, or cannot move, and an InputError if mass and density are both given,
    or not positive.

    Parameters
    ----------
    shapes : sequence of Shape
    name : str
        Of the body, and of the joint on which it floats.
    gravity : (3,) array [m/s^2]
    mass : float, optional [kg]
    density : float, optional [kg/m^3]
        Instead of the mass.
    friction, restitution : optional [-]
        As of :class:`vitree.Contact`.
    rgba : tuple of float, optional
        Colour, four shares from 0 to 1.
    """
    if mass is not None and density is not None:
        raise InputError("density", density, "and mass= say the same; give one")
    for what, value in (("mass", mass), ("density", density)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(what, value, "must be a positive number; leave it out for a thing that stands still")
    tree = Tree(name, gravity)
    looks = [own for own in (drawn(shape, name, rgba) for shape in shapes) if own is not None]
    if mass is None and density is None:
        tree.world.add(body(name, 0.0, geometry=looks))
    else:
        total, com, inertia = inertia_of([solid_of_shape(shape) for shape in shapes], density or 1.0, mass)
        tree.world.add(free(name), body(name, total, inertia, com, geometry=looks))
    tree.contact(Contact(name, shapes=tuple(shapes), friction=friction, restitution=restitution))
    return tree
