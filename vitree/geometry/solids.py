"""Convex shapes in numbers, as the core takes them: vertices, circles, faces and edges in the frame of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.geometry.hull import FLAT
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import RIM_POINTS, Box, Capsule, Cone, Cylinder, Disk, Ellipsoid, Hull, Shape, Sphere

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Kinds of shapes of ``_core/types.pxd``.
SOLID, ELLIPSOID, HALF_SPACE = range(3)
#: Faces whose normals and offsets differ by less, relative to the size, are one.
COPLANAR = 1e-10
#: Thickness of what is flat, as a share of its radius, where a polyhedron is to be within it.
THIN = 1e-3


def solid_of(shape: Shape, body: int, E: np.ndarray, p: np.ndarray) -> Mapping[str, Any]:
    """Return a shape in the core frame of a ``body``; there its frame has rotation E (3, 3) and origin p (3,) [m]."""
    R, x0 = E @ np.array(shape.rotation), E @ np.array(shape.position) + p
    made: dict[str, Any] = {"kind": SOLID, "body": body}
    if isinstance(shape, Sphere):
        made |= {"x": x0[None], "radius": shape.radius}
    elif isinstance(shape, Capsule):
        made |= {"x": x0 + 0.5 * shape.length * np.array([-R[:, 2], R[:, 2]]), "radius": shape.radius}
        made["edge"] = np.array([(0, 1)])
    elif isinstance(shape, Ellipsoid):
        made |= {"kind": ELLIPSOID, "axes": R.T.ravel(), "half": np.array(shape.semi_axes)}
        return {**made, "middle": x0, "reach": max(shape.semi_axes)}
    elif isinstance(shape, Cylinder | Cone | Disk):
        made |= _circular(shape, R, x0)
    elif isinstance(shape, Box | Hull):
        made |= _polyhedron(shape.points @ E.T + p)
    else:
        raise TypeError(f"a {type(shape).__name__} is not convex")
    return _bounded(made)


def solids_of(shape: Shape, body: int, E: np.ndarray, p: np.ndarray) -> list[Mapping[str, Any]]:
    """Return what :func:`solid_of` does, of a shape by its convex pieces: the faces of a triangle mesh."""
    if not isinstance(shape, TriangleMesh):
        return [solid_of(shape, body, E, p)]
    R, x0 = E @ np.array(shape.rotation), E @ np.array(shape.position) + p
    return [_face(corners @ R.T + x0, body) for corners in shape.convex_faces]


def point_of(body: int, x: np.ndarray) -> Mapping[str, Any]:
    """Return a point (3,) [m] in the core frame of a ``body``: a shape of one vertex."""
    return _bounded({"kind": SOLID, "body": body, "x": x[None]})


def half_space(normal: ArrayLike, offset: float) -> Mapping[str, Any]:
    """Return the half-space n . x <= offset [m] of the world; its vertex is the support along n."""
    at = offset * np.asarray(normal, dtype=float)
    face = np.append(np.asarray(normal, dtype=float), offset)
    return {"kind": HALF_SPACE, "x": at[None], "face": face[None], "reach": np.inf}


def points_within(solid: Mapping[str, Any]) -> np.ndarray:
    """Points (n, 3) [m] of the surface of a shape, beside it where it is flat; their mean is within it."""
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    if solid["kind"] == ELLIPSOID:
        ends = np.diag(solid["half"]) @ solid["axes"].reshape(3, 3)
        points: np.ndarray = solid["middle"] + np.concatenate([ends, -ends])
        return points
    radius = solid.get("radius", 0.0)
    parts = [x + radius * corners if radius else x[None] for x in solid.get("x", ())]
    if "rim" in solid:
        rim = solid["rim"] * circle_across(solid["axis"], RIM_POINTS)
        parts += [center + rim for center in solid["center"]]
    points = np.concatenate(parts)
    faces = solid.get("face", ())
    if len(faces) == 2 and np.abs(faces[0] + faces[1]).max() < COPLANAR * solid["reach"]:
        lift = 0.5 * THIN * solid["reach"] * faces[0][:3]
        points = np.concatenate([points - lift, points + lift])
    return points


def planes_about(points: np.ndarray) -> np.ndarray:
    """Return planes n . x <= d (m, 4) [-, m] of the convex hull of points (n, 3) [m] that are not in a plane."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points).equations
    return np.column_stack([hull[:, :3], -hull[:, 3]])


def circle_across(axis: np.ndarray, count: int) -> np.ndarray:
    """Return points (count, 3) [-] of the unit circle across a unit vector (3,)."""
    x = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    x /= np.linalg.norm(x)
    angles = 2.0 * np.pi / count * np.arange(count)
    found: np.ndarray = np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * np.cross(axis, x)
    return found


def _circular(shape: Cylinder | Cone | Disk, R: np.ndarray, x0: np.ndarray) -> dict[str, Any]:
    axis = R @ np.array(shape.axis) if isinstance(shape, Disk) else R[:, 2]
    made: dict[str, Any] = {"axis": axis, "rim": shape.radius}
    if isinstance(shape, Disk):
        made["center"], caps = x0[None], [(-1.0, x0), (1.0, x0)]
    elif isinstance(shape, Cylinder):
        made["center"] = np.array([x0 - 0.5 * shape.length * axis, x0 + 0.5 * shape.length * axis])
        caps = [(-1.0, made["center"][0]), (1.0, made["center"][1])]
    else:
        made["center"], made["x"] = (x0 - 0.5 * shape.length * axis)[None], (x0 + 0.5 * shape.length * axis)[None]
        made["slope"] = shape.radius / np.hypot(shape.radius, shape.length)
        caps = [(-1.0, made["center"][0])]
    made["face"] = np.array([(*(side * axis), side * axis @ at) for side, at in caps])
    return made


def _polyhedron(x: np.ndarray) -> dict[str, Any]:
    """Vertices, faces and edges of the convex hull of points (n, 3) [m] that are all its vertices."""
    from scipy.spatial import ConvexHull

    middle = x.mean(axis=0)
    _, spread, axes = np.linalg.svd(x - middle, full_matrices=False)
    if spread[2] <= FLAT * spread[0]:
        return _plate(x, middle, axes)
    hull = ConvexHull(x - middle)
    size = float(np.abs(x - middle).max())
    planes, of = list[np.ndarray](), np.full(len(hull.equations), -1)
    for k, plane in enumerate(hull.equations):
        for j, other in enumerate(planes):
            if np.abs(other[:3] - plane[:3]).max() < COPLANAR and abs(other[3] - plane[3]) < COPLANAR * size:
                of[k] = j
                break
        else:
            of[k] = len(planes)
            planes.append(plane)
    # an edge is between two triangles of different faces
    ridges: dict[tuple[int, int], list[int]] = {}
    for k, corners in enumerate(hull.simplices):
        for i, j in ((0, 1), (1, 2), (0, 2)):
            ridges.setdefault((min(corners[i], corners[j]), max(corners[i], corners[j])), []).append(int(of[k]))
    edges = [ends for ends, faces in ridges.items() if len(set(faces)) > 1]
    normals = np.array(planes)[:, :3]
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    # a face holds its outermost vertex
    offsets = ((x - middle) @ normals.T).max(axis=0) + normals @ middle
    return {"x": x, "face": np.column_stack([normals, offsets]), "edge": np.array(edges)}


def _plate(x: np.ndarray, middle: np.ndarray, axes: np.ndarray) -> dict[str, Any]:
    """The same of points in a plane across the last of the ``axes`` (3, 3): a polygon with two faces."""
    from scipy.spatial import ConvexHull

    around = ConvexHull((x - middle) @ axes[:2].T).vertices
    normals = np.array([axes[2], -axes[2]])
    edges = np.sort(np.column_stack([around, np.roll(around, -1)]), axis=1)
    return {"x": x, "face": np.column_stack([normals, normals @ middle]), "edge": edges}


def _face(x: np.ndarray, body: int) -> dict[str, Any]:
    """The same of a convex polygon by its corners in their order."""
    middle = x.mean(axis=0)
    n = np.cross(x - middle, np.roll(x, -1, axis=0) - middle).sum(axis=0)
    n /= np.linalg.norm(n)
    normals, corners = np.array([n, -n]), np.arange(len(x))
    edges = np.sort(np.column_stack([corners, np.roll(corners, -1)]), axis=1)
    faces = np.column_stack([normals, normals @ middle])
    return _bounded({"kind": SOLID, "body": body, "x": x, "face": faces, "edge": edges})


def _bounded(made: dict[str, Any]) -> dict[str, Any]:
    """The shape with a ball about it."""
    ends = [(x, 0.0) for x in made.get("x", ())] + [(x, made["rim"]) for x in made.get("center", ())]
    x = np.array([end[0] for end in ends])
    middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
    if "axis" in made:
        middle = x.mean(axis=0)
        lever = (x - middle) @ made["axis"]
        reach = max(np.hypot(s, end[1]) for s, end in zip(lever, ends, strict=True))
    else:
        reach = float(np.linalg.norm(x - middle, axis=1).max())
    return {**made, "middle": middle, "reach": float(reach) + made.get("radius", 0.0)}
