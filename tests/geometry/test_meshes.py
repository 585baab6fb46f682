"""Triangles of one plane that are joined, and what readers ask of meshes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from surfaces import MUG, hills, stairs, tray

import vitree as vt
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.geometry.meshes import checked_meshes, joined_faces, meshes_by
from vitree.geometry.solids import solids_of
from vitree.spatial.rotations import rotation_rpy


def area(corners):
    """Vector (3,) of the area of a polygon."""
    return 0.5 * np.cross(corners - corners[0], np.roll(corners, -1, axis=0) - corners[0]).sum(axis=0)


def is_convex(corners):
    n = area(corners) / np.linalg.norm(area(corners))
    edges = np.roll(corners, -1, axis=0) - corners
    turns = np.cross(np.roll(edges, 1, axis=0), edges) @ n
    return (turns > 0).all() and np.abs((corners - corners[0]) @ n).max() < 1e-12


def finer(points, faces, times=1):
    """Each triangle in four."""
    for _ in range(times):
        x = points[faces]
        points = np.concatenate([x.reshape(-1, 3), 0.5 * (x + np.roll(x, -1, axis=1)).reshape(-1, 3)])
        a, n = np.arange(len(x))[:, None] * 3, 3 * len(x)
        corners = (0, n, n + 2), (1, n + 1, n), (2, n + 2, n + 1), (n, n + 1, n + 2)
        faces = np.concatenate([a + np.array(each) for each in corners])
    return points, faces


@pytest.mark.parametrize(("mesh", "count"), [
    (hills(lambda x, y: 0 * x, 20, 2.0), 1), (hills(lambda x, y: 0.3 * x - 0.1 * y, 7, 2.0), 1), (stairs(), 8),
    (finer(*stairs(), 3), 8), (hills(lambda x, y: x * y, 5, 2.0), 50), (tray(), None), (MUG, None),
    (finer(*tray(), 2), None), (finer(*MUG, 1), None),
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_faces_are_convex_and_cover_the_triangles(mesh, count, turned):
    points, faces = mesh
    points = points @ rotation_rpy(0.3, -0.5, 0.9).T + (1.0, 2.0, 3.0) if turned else points
    found = joined_faces(points, faces)
    assert all(is_convex(corners) for corners in found)
    assert len(found) == (count or len(found)) <= len(faces)
    triangles = points[faces]
    sizes = [np.linalg.norm(area(x)) for x in found], [np.linalg.norm(area(x)) for x in triangles]
    assert np.sum(sizes[0]) == pytest.approx(np.sum(sizes[1]), rel=1e-12)
    np.testing.assert_allclose(np.sum([area(x) for x in found], axis=0), np.sum([area(x) for x in triangles], axis=0),
                               atol=1e-12)  # fmt: skip
    # the middle of each triangle is on a face
    for middle in triangles.mean(axis=1):
        assert any(is_on(corners, middle) for corners in found)


def is_on(corners, x):
    n = area(corners) / np.linalg.norm(area(corners))
    edges = np.roll(corners, -1, axis=0) - corners
    return abs((x - corners[0]) @ n) < 1e-12 and (np.cross(edges, x - corners) @ n > -1e-12).all()


def test_a_ring_is_no_face():
    square = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
    points = np.concatenate([square, 2 * square])
    faces = [face for k in range(4) for face in ((4 + k, 4 + (k + 1) % 4, (k + 1) % 4), (4 + k, (k + 1) % 4, k))]
    found = joined_faces(points, np.array(faces))
    assert len(found) == 4 and sum(np.linalg.norm(area(x)) for x in found) == pytest.approx(12.0)


def test_what_is_not_quite_in_a_plane_stays_apart():
    points, faces = hills(lambda x, y: 1e-6 * x**2, 4, 2.0)
    assert len(joined_faces(points, faces)) == 4  # of the columns along y
    points[12, 2] += 1e-4
    assert len(joined_faces(points, faces)) > 4


def test_triangles_without_an_area_and_faces_there_twice_are_no_trouble():
    points, faces = tray()
    whole = joined_faces(points, faces)
    more = np.concatenate([faces, [(0, 0, 1), (3, 3, 3)]])
    assert [x.tolist() for x in joined_faces(points, more)] == [x.tolist() for x in whole]
    # both sides of a sheet, an edge of three triangles, a triangle there twice
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)], float)
    both = joined_faces(square, np.array([(0, 1, 2), (0, 2, 3), (0, 2, 1), (0, 3, 2), (0, 2, 4), (0, 2, 4)]))
    third = np.linalg.norm(area(square[[0, 2, 4]]))
    assert sum(np.linalg.norm(area(x)) for x in both) == pytest.approx(2.0 + 2 * third)


def test_the_shape_is_placed_copied_and_compared():
    points, faces = tray()
    mesh = vt.TriangleMesh(points, faces, position=(1, 2, 3), rotation=rotation_rpy(0.1, 0.2, 0.3))
    assert mesh == pickle.loads(pickle.dumps(mesh)) != vt.TriangleMesh(points, faces)
    lists = vt.TriangleMesh(points.tolist(), faces.tolist(), position=(1, 2, 3), rotation=mesh.rotation)
    assert hash(mesh) == hash(lists)
    np.testing.assert_allclose(mesh.points, points @ rotation_rpy(0.1, 0.2, 0.3).T + (1, 2, 3), atol=1e-15)
    faces_of = solids_of(mesh, -1, np.eye(3), np.zeros(3))
    assert len(faces_of) == len(mesh.convex_faces)
    for solid, corners in zip(faces_of, mesh.convex_faces, strict=True):
        hull = vt.Hull(corners, position=mesh.position, rotation=mesh.rotation)
        (plate,) = solids_of(hull, -1, np.eye(3), np.zeros(3))
        order = np.lexsort(solid["x"].T), np.lexsort(plate["x"].T)
        np.testing.assert_allclose(solid["x"][order[0]], plate["x"][order[1]], atol=1e-15)
        assert abs(abs(solid["face"][0] @ plate["face"][0]) - solid["face"][0] @ solid["face"][0]) < 1e-9
        ends = [{tuple(sorted(tuple(x.round(9)) for x in part["x"][pair])) for pair in part["edge"]}
                for part in (solid, plate)]
        assert ends[0] == ends[1] and solid["reach"] == pytest.approx(plate["reach"])
    with pytest.raises(ModelError, match="no triangle of the triangle mesh has an area"):
        vt.TriangleMesh(points, [(0, 0, 1)])


def test_a_mesh_is_a_text_and_back():
    tree = vt.Tree("t")
    tree.world.add(vt.free("j"), vt.body("b", 1.0, (0.1, 0.1, 0.1)))
    mesh = vt.TriangleMesh(*stairs(2), position=(0.1, 0.2, 0.3), rotation=rotation_rpy(0.1, 0.2, 0.3))
    tree.contact(vt.Contact("b", shapes=vt.Sphere(0.1)), vt.Contact("world", shapes=mesh))
    text = vt.write_sexpr(tree)
    assert "(triangle-mesh " in text and vt.read_sexpr(text).compile().contacts[1].shapes == (mesh,)
    with pytest.raises(ModelError, match="faces are 2 numbers"):
        vt.read_sexpr('(mechanical-system (contact "world" (triangle-mesh (0 0 0 1 0 0 0 1 0) (0 1))))')


# ---- the option of readers -------------------------------------------------------------------------------------------


def test_meshes_by_patterns():
    parts, hull, few = vt.Meshes("parts", error=0.01), vt.Meshes(), vt.Meshes(points=8)
    assert checked_meshes("parts") == vt.Meshes("parts") and checked_meshes(parts) is parts
    given = checked_meshes({"left_*": parts, "*_hand": few})
    found = meshes_by(given, ["left_hand", "right_hand", "head"], "link")
    assert found == {"left_hand": parts, "right_hand": few, "head": hull}
    assert meshes_by(parts, ["a", "b"], "link") == {"a": parts, "b": parts}
    with pytest.raises(UnknownNameError, match=r"link that fits .*\*_foot"):
        meshes_by(checked_meshes({"*_foot": "hull"}), ["head"], "link")


@pytest.mark.parametrize(("given", "text"), [
    ("hulls", '"hull", "parts", "triangles"'), (3, "vt.Meshes"), ({"a": "hulls"}, r'meshes\["a"\]'),
    ({3: "hull"}, "a key"),
    (None, "meshes"),
])  # fmt: skip
def test_wrong_options_of_meshes(given, text):
    with pytest.raises(InputError, match=text):
        checked_meshes(given)


@pytest.mark.parametrize(("given", "text"), [
    ({"kind": "part"}, "kind"), ({"points": 3}, "4 or more"), ({"points": 8.5}, "points"),
    ({"error": 0.1}, 'kind="parts"'),
    ({"kind": "parts", "error": 0}, "above zero"), ({"kind": "parts", "error": "a"}, "above zero"),
])  # fmt: skip
def test_wrong_numbers_of_meshes(given, text):
    with pytest.raises(InputError, match=text):
        vt.Meshes(**given)
