"""Inertias: whether one is possible, the nearest possible one, and those of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import Geometry
from vitree.urdf.meshes import read_mesh

#: A moment may be wrong by this much of the largest one. Moments rounded to 4 digits are wrong by up to
#: 6e-4. Of the 1711 inertias in the files of example-robot-data 6.0.0, impossible ones are wrong by
#: 1.8e-3 or more, and all others (but zeros written as 1e-18 kg m^2, see POINT) by 3e-16 or less.
ROUNDING = 1e-3
#: A negative diagonal entry does not come from rounding a positive one; this much comes from turning a tensor.
DIAGONAL = 1e-9
#: The square of a radius of gyration [m^2] that counts as zero.
POINT = 1e-12

#: Volume [m^3], centroid (3,) [m], and second moments about it (3, 3) [m^5].
Solid = tuple[float, np.ndarray, np.ndarray]
#: Principal moments from the second moments of mass, the integrals of x^2, y^2, z^2 along the principal axes.
_MOMENTS = np.ones((3, 3)) - np.eye(3)


def inertia_faults(mass: float, tensor: np.ndarray) -> tuple[str, ...]:
    """Return the faults of an inertia that make it impossible; rounding of the numbers in files is tolerated.

    Parameters
    ----------
    mass : float [kg]
    tensor : (3, 3) array [kg m^2]
        Symmetric and finite, about the COM.

    Returns
    -------
    tuple of str
        "inertia-negative" if a principal moment is negative; otherwise "inertia-triangle" if one
        exceeds the sum of the other two; empty for a possible inertia.
    """
    if _surely_possible(*np.asarray(tensor).ravel().tolist()):
        return ()
    moments = np.linalg.eigvalsh(tensor)
    largest = np.abs(moments).max()
    point = POINT * max(mass, 0.0)
    slack = ROUNDING * largest + point
    if moments[0] < -slack or np.diagonal(tensor).min() < -DIAGONAL * largest - point:
        return ("inertia-negative",)
    return ("inertia-triangle",) if moments[2] - moments[1] - moments[0] > slack else ()


def _surely_possible(
    xx: float, xy: float, xz: float, _: float, yy: float, yz: float, __: float, ___: float, zz: float
) -> bool:
    """Say whether the second moments of mass, tr(I)/2 1 - I, are positive definite: so are their leading minors."""
    half = 0.5 * (xx + yy + zz)
    a, b, c = half - xx, half - yy, half - zz
    minor = a * b - xy * xy
    return a > 0 and minor > 0 and c * minor + xy * xz * yz * -2 - a * yz * yz - b * xz * xz > 0


def nearest_inertia(tensor: np.ndarray) -> np.ndarray:
    """Return the possible inertia that is nearest to a tensor in the Frobenius norm.

    An inertia I is possible if the second moments of mass, tr(I)/2 1 - I, are positive semi-definite.
    Possible inertias form a convex cone, which a rotation maps to itself. The nearest I has therefore
    the axes of the tensor, and the nearest principal moments with a <= b + c, b <= c + a, c <= a + b.

    Parameters
    ----------
    tensor : (3, 3) array [kg m^2]
        Symmetric and finite.

    Returns
    -------
    (3, 3) array [kg m^2]
        Exactly symmetric; the tensor itself if it is possible up to round-off.
    """
    from scipy.optimize import nnls

    tensor = np.array(tensor, dtype=float)
    symmetric: np.ndarray = 0.5 * (tensor + tensor.T)
    moments, axes = np.linalg.eigh(symmetric)
    largest = np.abs(moments).max()
    if moments[2] - moments[1] - moments[0] <= 1e-13 * largest:
        return symmetric
    # the moments of second moments that are not negative are possible
    second, _ = nnls(_MOMENTS, moments / largest)
    nearest = (axes * (largest * (_MOMENTS @ second))) @ axes.T
    found: np.ndarray = 0.5 * (nearest + nearest.T)
    return found


def shapes_inertia(
    shapes: Sequence[Geometry], density: float, mass: float | None = None
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Return mass, COM and inertia of shapes as solid bodies of one density.

    Raises an InputError if density or mass is not positive, a ModelError if a mesh cannot be read; the text names the
    file, and a MissingExtraError if there is a mesh and the package trimesh is not installed.

    Parameters
    ----------
    shapes : sequence of Geometry
        All of one link. Where shapes overlap, the overlap counts twice. The ``length`` of a
        capsule is that of its cylinder. A mesh that is not a closed surface counts as its convex hull.
    density : float [kg/m^3]
    mass : float, optional [kg]
        Total mass; the density is scaled to give it.

    Returns
    -------
    (mass, com, inertia) or None
        [kg], (3,) [m] in the link's frame, and (3, 3) [kg m^2] about the COM in the axes of the
        link's frame. None if the shapes have no volume.
    """
    for what, value in (("density", density), ("mass", mass)):
        if value is not None and not 0 < value < np.inf:
            raise InputError(f"{what}={value!r} must be a positive number")
    solids = [solid for solid in map(solid_of, shapes) if solid[0] > 0]
    return inertia_of(solids, density, mass) if solids else None


def inertia_of(
    solids: Sequence[Solid], density: float, mass: float | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass [kg], COM (3,) [m] and inertia (3, 3) [kg m^2] about it of solids of one density [kg/m^3].

    Together they have the ``mass`` [kg], if it is given.
    """
    volume = sum(solid[0] for solid in solids)
    com = sum((v * c for v, c, _ in solids), np.zeros(3)) / volume
    second = np.zeros((3, 3))
    for v, c, own in solids:
        second += own + v * np.outer(c - com, c - com)
    total = density * volume if mass is None else float(mass)
    return total, com, total / volume * _inertia(second)


def _inertia(second: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.trace(second) * np.eye(3) - 0.5 * (second + second.T)
    return found


def solid_of(shape: Geometry) -> Solid:
    """Return volume [m^3], centroid (3,) [m] and second moments about it (3, 3) [m^5], in the axes of the link.

    Raises a ModelError if a mesh cannot be read.
    """
    volume, centroid, second = _mesh(shape) if shape.kind == "mesh" else _simple(shape)
    R = shape.rotation
    return volume, shape.position + R @ centroid, R @ second @ R.T


def _simple(shape: Geometry) -> tuple[float, np.ndarray, np.ndarray]:
    size = np.abs(shape.size)
    if shape.kind == "box":
        volume = np.prod(size)
        squares = size**2 / 12
    elif shape.kind == "sphere":
        volume = 4 / 3 * np.pi * size[0] ** 3
        squares = np.full(3, size[0] ** 2 / 5)
    else:
        r, length = size
        volume = np.pi * r**2 * length
        squares = np.array([r**2 / 4, r**2 / 4, length**2 / 12])
        if shape.kind == "capsule":
            # both caps: a sphere cut in halves, their centroids at 3/8 r from the cylinder's ends
            caps = 4 / 3 * np.pi * r**3
            moved = length**2 / 4 + 3 / 8 * r * length
            total = volume * squares + caps * (r**2 / 5 + np.array([0.0, 0.0, moved]))
            volume += caps
            squares = total / volume if volume else squares
    return float(volume), np.zeros(3), volume * np.diag(squares)


def _mesh(shape: Geometry) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume and moments of the solid in a mesh, or of its convex hull if the mesh is not closed."""
    if not (shape.found and Path(str(shape.filename)).is_file()):
        raise ModelError(f'the mesh "{shape.filename}" is not found: give the folder of its package in packages=')
    points, triangles, closed = read_mesh(str(shape.filename), "the inertia of a mesh")
    points = points * np.asarray(shape.size)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    points = points - middle
    if closed:
        volume, centroid, second = _enclosed(points[triangles])
        # a part that is inside out makes impossible moments
        if volume > 0 and not inertia_faults(volume, _inertia(second)):
            return volume, middle + centroid, second
    volume, centroid, second = enclosed_solid(points)
    return volume, middle + centroid, second


def enclosed_solid(points: np.ndarray) -> Solid:
    """Return the convex hull of points (n, 3) [m] as a solid; its volume is zero if they are in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError:  # flat
        return 0.0, points.mean(axis=0), np.zeros((3, 3))
    inside = points[hull.vertices].mean(axis=0)
    volume, centroid, second = _enclosed(points[hull.simplices] - inside, convex=True)
    return volume, inside + centroid, second


def _enclosed(corners: np.ndarray, convex: bool = False) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid and second moments about it of the solid that triangles (n, 3 corners, 3) enclose.

    They are sums over the tetrahedra between a triangle and the origin. All are positive if the surface is convex
    about the origin.
    """
    six = np.linalg.det(corners)  # volumes, times six
    six = np.abs(six) if convex else six * np.sign(six.sum())
    volume = float(six.sum() / 6)
    if volume <= 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    total = corners.sum(axis=1)
    centroid = six @ total / (24 * volume)
    second = (np.einsum("n,nij,nik->jk", six, corners, corners) + np.einsum("n,nj,nk->jk", six, total, total)) / 120
    return volume, centroid, second - volume * np.outer(centroid, centroid)
