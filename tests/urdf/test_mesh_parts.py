"""Meshes of files by their convex parts and their triangles."""

from __future__ import annotations

import numpy as np
import pytest
from surfaces import MUG, tray

import vitree as vt
from vitree.errors import MissingExtraError, ModelError, UnknownNameError, UrdfError
from vitree.geometry import parts
from vitree.urdf import hulls
from vitree.urdf.hulls import MeshParts, array_parts, mesh_parts

trimesh = pytest.importorskip("trimesh")

INERTIAL = """<inertial><mass value="0.4"/>
      <inertia ixx="4e-4" iyy="4e-4" izz="3e-4" ixy="0" ixz="0" iyz="0"/></inertial>"""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A folder of meshes with a cache, which the tests of this file fill."""
    place = tmp_path_factory.mktemp("parts")
    for name, (points, faces) in {"mug": MUG, "tray": tray()}.items():
        trimesh.Trimesh(points, faces, process=False).export(place / f"{name}.stl")
    mesh = '<collision><geometry><mesh filename="{}.stl"/></geometry></collision>'
    (place / "r.urdf").write_text(f"""<robot name="r">
      <link name="world"/><link name="table">{mesh.format("tray")}</link><link name="cup">{INERTIAL}{mesh.format("mug")}
      </link><joint name="stands" type="fixed"><parent link="world"/><child link="table"/></joint>
      <joint name="lift" type="prismatic"><origin xyz="0 0 0.1"/><parent link="world"/><child link="cup"/>
      <axis xyz="0 0 1"/><limit effort="1" velocity="9" lower="-1" upper="1"/></joint></robot>""")
    return place


@pytest.fixture(autouse=True)
def cache(places, monkeypatch):
    monkeypatch.setenv("VITREE_CACHE", str(places / "cache"))
    hulls._kept_parts.cache_clear()
    yield places / "cache" / "hulls"
    hulls._kept_parts.cache_clear()


def kept(cache):
    return sorted(cache.glob("*.parts")) if cache.exists() else []


def again(*given):
    """Parts as a new process makes them."""
    hulls._kept_parts.cache_clear()
    return mesh_parts(*given)


def same(a: MeshParts, b: MeshParts) -> bool:
    return a.deviation == b.deviation and [(x.points.tobytes(), x.lost) for x in a.parts] == [
        (x.points.tobytes(), x.lost) for x in b.parts
    ]


def none(*_):
    raise AssertionError("it is made again")


@pytest.mark.slow
def test_parts_are_kept_by_the_content_and_are_those_of_the_function(places, cache, monkeypatch):
    file = str(places / "mug.stl")
    made = again(file, (1.0, 1.0, 1.0), 64, 0.01)
    hulls_of = vt.convex_parts(*(np.asarray(x) for x in hulls.read_mesh(file, "a test")[:2]), 0.01)
    assert [x.points.tolist() for x in made.parts] == [np.array(x.vertices).tolist() for x in hulls_of]
    assert 0 < made.deviation.outside <= 0.0101 and len(kept(cache)) == 1
    with monkeypatch.context() as patch:
        patch.setattr(hulls, "convex_parts", none)
        patch.setattr(hulls, "read_mesh", none)
        assert same(again(file, (1.0, 1.0, 1.0), 64, 0.01), made)
        twice = again(file, (-2.0, 2.0, 2.0), 64, 0.02)  # the same mesh at another size
        assert twice.parts[0].points.tolist() == (made.parts[0].points * (-2, 2, 2)).tolist()
        assert twice.deviation.outside == 2 * made.deviation.outside
        for other in (((1.0, 1.0, 1.0), 63, 0.01), ((1.0, 1.0, 1.0), 64, 0.011), ((1.0, 1.0, 2.0), 64, 0.01)):
            with pytest.raises(AssertionError):
                again(file, *other)
        patch.setattr(hulls, "_makers", lambda names=(): ("another version",))
        with pytest.raises(AssertionError):
            again(file, (1.0, 1.0, 1.0), 64, 0.01)


@pytest.mark.slow
def test_damaged_files_and_no_cache(places, cache, monkeypatch):
    file = str(places / "mug.stl")
    made = again(file, (1.0, 1.0, 1.0), 64, 0.01)
    (place,) = kept(cache)
    whole = place.read_bytes()
    monkeypatch.setattr(hulls, "_parts_of", lambda *given: made)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for content in (b"", whole[:-8], whole + b"\0" * 8, bytes(flipped), bytes(len(whole))):
        place.write_bytes(content)
        assert same(again(file, (1.0, 1.0, 1.0), 64, 0.01), made) and place.read_bytes() == whole
    place.unlink()
    monkeypatch.setenv("VITREE_CACHE", "off")
    assert same(again(file, (1.0, 1.0, 1.0), 64, 0.01), made) and not place.exists()
    place.write_bytes(whole)


@pytest.mark.slow
def test_meshes_in_numbers_are_kept_as_well(cache, monkeypatch):
    made = array_parts(*MUG, 64, 0.01)
    monkeypatch.setattr(hulls, "convex_parts", none)
    assert same(array_parts(MUG[0].copy(), MUG[1].copy(), 64, 0.01), made)
    with pytest.raises(AssertionError):
        array_parts(MUG[0] * 1.1, MUG[1], 64, 0.01)


def test_a_robot_of_parts_is_hollow_and_the_report_says_how_near_they_are(places):
    ground = vt.Ground(-1.0)
    hull = vt.load_urdf(places / "r.urdf", ground=ground)
    found = vt.load_urdf(places / "r.urdf", ground=ground, meshes={"cup": vt.Meshes("parts", error=0.01)})
    count = len(found.contacts[1].shapes)
    assert [len(each.shapes) for each in hull.contacts] == [1, 1]
    assert len(found.contacts[0].shapes) == 1 and count > 4
    (note,) = [finding for finding in found.report if finding.id == "contact-points"]
    assert f"Convex parts of 1 meshes: {count}; they are up to 0.00" in note.text and '"cup"' in note.text
    assert "Convex parts" not in str(hull.report)
    few = vt.load_urdf(places / "r.urdf", ground=ground, meshes={"c*": vt.Meshes("parts", points=6, error=0.01)})
    assert max(len(shape.vertices) for shape in few.contacts[1].shapes) <= 6


def test_what_is_fixed_to_the_world_may_be_its_triangles(places):
    model = vt.load_urdf(places / "r.urdf", ground=vt.Ground(-1.0), meshes={"table": "triangles"})
    (mesh,) = model.contacts[0].shapes
    assert isinstance(mesh, vt.TriangleMesh) and len(mesh.convex_faces) < len(mesh.faces) == 28
    # the cup falls into the tray
    run = vt.simulate(model, duration=0.4, dt=2e-3)
    assert run.warnings == () and run.q[-1, 0] == pytest.approx(0.02 - 0.1, abs=1e-7)
    with pytest.raises(UrdfError, match=r'contact of "cup" has a triangle mesh.*meshes="parts"'):
        vt.load_urdf(places / "r.urdf", ground=vt.Ground(-1.0), meshes="triangles")


def test_faults_of_the_option_and_of_parts(places, monkeypatch):
    with pytest.raises(UnknownNameError, match='link with a collision mesh that fits "hand_\\*"'):
        vt.load_urdf(places / "r.urdf", ground=vt.Ground(), meshes={"hand_*": "parts"})
    small = {"cup": vt.Meshes("parts", error=1e-5)}
    with pytest.raises(UrdfError, match=r'mug\.stl" of .* link "cup" cannot make contact: error.*at least'):
        vt.load_urdf(places / "r.urdf", ground=vt.Ground(), meshes=small)
    monkeypatch.setattr(parts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"coacd.*vitree\[parts\]"):
        vt.load_urdf(places / "r.urdf", ground=vt.Ground(), meshes=vt.Meshes("parts", points=13))


@pytest.mark.slow
def test_meshes_of_mjcf(monkeypatch):
    pytest.importorskip("mujoco")
    points, faces = tray()
    numbers = " ".join(map(str, points.ravel())), " ".join(map(str, faces.ravel()))
    text = """<mujoco><asset><mesh name="tray" vertex="{}" face="{}"/></asset><worldbody>
      <geom type="plane" size="1 1 1" pos="0 0 -1"/>{}<body name="ball" pos="0.03 0.02 0.2"><freejoint/>
      <geom type="sphere" size="0.02" mass="1"/></body></worldbody></mujoco>"""
    fixed = text.format(*numbers, '<geom type="mesh" mesh="tray"/>')
    one, other = vt.load_mjcf(fixed), vt.load_mjcf(fixed, meshes={"world": "triangles"})
    start = [0.03, 0.02, 0.2, 0.0, 0.0, 0.0, 1.0]
    low = [vt.simulate(model, start, duration=0.5, dt=2e-3).q[-1, 2] for model in (one, other)]
    assert low[0] > low[1] + 0.05
    moving = text.format(*numbers, '<body name="tray"><freejoint/><geom type="mesh" mesh="tray" mass="1"/></body>')
    model = vt.load_mjcf(moving, meshes={"tray": "parts"})
    hollow = next(each for each in model.contacts if getattr(each, "frame", "") == "tray")
    assert len(hollow.shapes) > 4 and "convex parts of 1 meshes" in str(model.report)
    with pytest.raises(ModelError, match="triangle mesh"):
        vt.load_mjcf(moving, meshes="triangles")
    with pytest.raises(UnknownNameError, match=r'body with a mesh.*"world"'):
        vt.load_mjcf(moving, meshes={"world": "triangles"})
