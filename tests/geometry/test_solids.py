"""Convex shapes in numbers: faces and edges of polyhedra, balls about shapes and polyhedra within."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.geometry.solids import circle_across, half_space, planes_about, points_within, solid_of

E, P = Rotation.from_rotvec([0.3, 1.1, -0.4]).as_matrix(), np.array([0.2, -0.5, 0.7])
PLACE = {"position": (0.3, -0.2, 0.5), "rotation": Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()}
SHAPES = [vt.Sphere(0.3, **PLACE), vt.Capsule(0.2, 0.7, **PLACE), vt.Box((1, 2, 3), **PLACE),
          vt.Cylinder(0.4, 0.9, **PLACE), vt.Cone(0.4, 0.9, **PLACE), vt.Ellipsoid((0.2, 0.4, 0.3), **PLACE),
          vt.Disk(0.3, (1, 2, 3), **PLACE),
          vt.Hull(np.random.default_rng(1).normal(size=(30, 3)), **PLACE)]  # fmt: skip


def polyhedra():
    rng = np.random.default_rng(0)
    yield vt.Box((0.3, 1.0, 2e-3), **PLACE)
    for count in (4, 5, 8, 20, 64):
        yield vt.Hull(rng.normal(size=(count, 3)), **PLACE)
    x = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    yield vt.Hull(np.concatenate([x, 0.5 * x]), **PLACE)
    yield vt.Hull(x[:, :2] @ np.eye(2, 3) + (x[:, 2:] > 0) * (0.3, 0.2, 1e-5), **PLACE)  # a thin prism
    angles = 2 * np.pi / 12 * np.arange(12)
    rim = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    yield vt.Hull(np.concatenate([rim, rim + np.array((0, 0, 1))]), **PLACE)


@pytest.mark.parametrize("shape", [*polyhedra()], ids=lambda x: f"{type(x).__name__} {len(x.points)}")
def test_vertices_edges_and_faces_of_polyhedra(shape):
    solid = solid_of(shape, 3, E, P)
    x, face, edge = solid["x"], solid["face"], solid["edge"]
    size = np.ptp(x, axis=0).max()
    np.testing.assert_allclose(x, shape.points @ E.T + P, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(face[:, :3], axis=1), 1.0, atol=1e-14)
    # all vertices are below all faces, and each face holds three of them or more
    below = face[:, 3] - x @ face[:, :3].T
    assert below.min() > -1e-12 * size
    on = below < 1e-9 * size
    assert (on.sum(axis=0) >= 3).all() and (on.sum(axis=1) >= 3).all()
    # Euler's formula; an edge is between two faces, and each face has as many edges as vertices
    assert len(x) - len(edge) + len(face) == 2
    assert len({tuple(sorted(ends)) for ends in edge.tolist()}) == len(edge)
    shared = on[edge[:, 0]] & on[edge[:, 1]]
    assert (shared.sum(axis=1) == 2).all() and (shared.sum(axis=0) == on.sum(axis=0)).all()
    # no faces are parallel and near
    normals = face[:, :3]
    assert (np.linalg.norm(normals[:, None] - normals, axis=2) + np.eye(len(face))).min() > 1e-9


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_ball_about_each_shape_holds_it_and_planes_are_within(shape):
    solid = solid_of(shape, 0, E, P)
    rng = np.random.default_rng(2)
    d = rng.normal(size=(300, 3))
    d /= np.linalg.norm(d, axis=1)[:, None]
    far = support(solid, d)
    ball = d @ solid["middle"] + solid["reach"]
    assert (far <= ball + 1e-12).all()
    # points are not outside of the shape, though a disk gets thicker, and their mean is within
    points = points_within(solid)
    planes, middle = planes_about(points), points.mean(axis=0)
    assert (planes[:, 3] > planes[:, :3] @ middle).all() and (points @ planes[:, :3].T <= planes[:, 3] + 1e-12).all()
    thick = 1e-3 * solid["reach"] if isinstance(shape, vt.Disk) else 1e-12
    assert (support_of_planes(planes, middle, d) <= far + thick).all()


def support(solid, d):
    """How far a shape is along unit vectors d (n, 3) [m], in closed form."""
    if "half" in solid:
        return d @ solid["middle"] + np.linalg.norm(d @ solid["axes"].reshape(3, 3).T * solid["half"], axis=1)
    parts = [d @ x + solid.get("radius", 0.0) for x in solid.get("x", ())]
    if "rim" in solid:
        across = np.linalg.norm(np.cross(d, solid["axis"]), axis=1)
        parts += [d @ x + solid["rim"] * across for x in solid["center"]]
    return np.max(parts, axis=0)


def support_of_planes(planes, middle, d):
    """The same of what is below planes (m, 4), by its polar."""
    offsets = planes[:, 3] - planes[:, :3] @ middle
    polar = ConvexHull(planes[:, :3] / offsets[:, None]).equations
    corners = middle - polar[:, :3] / polar[:, 3:]
    return (d @ corners.T).max(axis=1)


def test_faces_of_round_shapes_are_their_flat_ends():
    for shape, count in ((vt.Cylinder(0.4, 0.9), 2), (vt.Cone(0.4, 0.9), 1), (vt.Disk(0.4), 2)):
        solid = solid_of(shape, 0, np.eye(3), np.zeros(3))
        assert len(solid["face"]) == count
        for *n, d in solid["face"]:
            assert support(solid, np.array([n]))[0] == pytest.approx(d, abs=1e-15)
    # along the slant of a cone apex and rim are equally far
    solid = solid_of(vt.Cone(0.3, 0.4), 0, np.eye(3), np.zeros(3))
    assert solid["slope"] == pytest.approx(0.6)
    n = np.array([np.sqrt(1 - 0.6**2), 0.0, 0.6])
    assert n @ solid["x"][0] == pytest.approx(n @ solid["center"][0] + 0.3 * n[0])


def test_a_plate_has_two_faces_and_its_rim():
    rng = np.random.default_rng(3)
    angles = rng.permutation(2 * np.pi / 7 * np.arange(7))
    flat = np.array([np.cos(angles), 0.5 * np.sin(angles), 0 * angles]).T
    turn = Rotation.from_rotvec([1.0, 0.2, 0.3]).as_matrix()
    solid = solid_of(vt.Hull(flat @ turn.T, **PLACE), 0, E, P)
    face, edge = solid["face"], solid["edge"]
    assert len(face) == 2 and len(edge) == len(solid["x"]) == 7
    np.testing.assert_allclose(face[0], -face[1])
    np.testing.assert_allclose(solid["x"] @ face[0, :3], face[0, 3], atol=1e-12)
    # each vertex has two edges, which are the sides of the polygon
    assert (np.bincount(edge.ravel()) == 2).all()
    sides = np.linalg.norm(solid["x"][edge[:, 0]] - solid["x"][edge[:, 1]], axis=1)
    order = np.argsort(angles)
    expected = np.linalg.norm(flat[order] - np.roll(flat[order], 1, axis=0), axis=1)
    np.testing.assert_allclose(np.sort(sides), np.sort(expected), atol=1e-12)
    points = points_within(solid)
    assert len(planes_about(points)) and len(points) == 14
    np.testing.assert_allclose(points.mean(axis=0), solid["x"].mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("vertices", [[(1, 2, 3)] * 4, np.linspace(0, 1, 9)[:, None] * (1.0, 2.0, -0.5),
                                      [(0, 0, 0), (1, 0, 0)]], ids=["point", "line", "two"])  # fmt: skip
def test_vertices_on_a_line_are_no_hull(vertices):
    with pytest.raises(vt.ModelError, match=r"vertices of the hull are one point, or all on a line; give .*Capsule"):
        vt.Hull(vertices)


def test_half_spaces_and_circles():
    made = half_space((0, 0.6, 0.8), 0.5)
    assert made["face"].tolist() == [[0, 0.6, 0.8, 0.5]] and made["x"] @ (0, 0.6, 0.8) == pytest.approx(0.5)
    axis = np.array([0.6, 0.0, 0.8])
    x = circle_across(axis, 8)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0)
    np.testing.assert_allclose([x @ axis, x.sum(axis=1) * 0], 0.0, atol=1e-15)
    np.testing.assert_allclose(x.sum(axis=0), 0.0, atol=1e-14)
