"""Hulls of meshes, and the cache that keeps them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import vitree as vt
from vitree.errors import ModelError
from vitree.geometry.hull import Thinned
from vitree.urdf import hulls
from vitree.urdf.hulls import cache_folder, mesh_hull
from vitree.urdf.meshes import read_mesh

trimesh = pytest.importorskip("trimesh")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache of a test, and nothing in memory."""
    monkeypatch.setenv("VITREE_CACHE", str(tmp_path / "cache"))
    hulls._kept.cache_clear()
    yield tmp_path / "cache" / "hulls"
    hulls._kept.cache_clear()


def ball(path, radius=0.5, moved=0.0):
    mesh = trimesh.creation.icosphere(3, radius)
    mesh.apply_translation((moved, 0.0, 0.1))
    path.write_bytes(mesh.export(file_type=path.suffix[1:]))
    return str(path)


def again(filename, *more):
    """A hull as a new process makes it."""
    hulls._kept.cache_clear()
    return mesh_hull(filename, *more)


def same(a: Thinned, b: Thinned) -> bool:
    return a.points.tobytes() == b.points.tobytes() and a.lost == b.lost


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (-1e-3, 1e-3, 1e-3), (0.3, -2.0, 1.0)])
def test_the_cache_gives_the_same_bits(folder, tmp_path, monkeypatch, scale):
    filename = ball(tmp_path / "a.stl")
    made = again(filename, scale, 20)
    assert len(made.points) == 20 and made.lost > 0 and len(list(folder.iterdir())) == 1
    with monkeypatch.context() as patch:
        patch.setattr(hulls, "hull_points", None)
        patch.setattr(hulls, "read_points", None)
        assert same(again(filename, scale, 20), made)
        with pytest.raises(TypeError):  # another number of points is another hull
            again(filename, scale, 21)
    monkeypatch.setenv("VITREE_CACHE", "off")
    assert same(again(filename, scale, 20), made)
    assert len(list(folder.iterdir())) == 1


def test_a_model_from_the_cache_is_the_same(folder):
    path = vt.find_robot("panda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VITREE_CACHE", "off")
        without = vt.load_urdf(path, ground=vt.Ground())
    assert not folder.exists()
    hulls._kept.cache_clear()
    first = vt.load_urdf(path, ground=vt.Ground())
    hulls._kept.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hulls, "hull_points", None)
        second = vt.load_urdf(path, ground=vt.Ground())
    assert without.digest == first.digest == second.digest
    assert first.contact_candidates.point.tobytes() == second.contact_candidates.point.tobytes()


def test_damaged_files_are_made_again(folder, tmp_path):
    filename = ball(tmp_path / "a.stl")
    made = again(filename)
    other = again(ball(tmp_path / "b.stl", 0.6))
    assert not same(made, other)
    files = {hull.read_bytes(): hull for hull in folder.iterdir()}
    whole, file = next((content, hull) for content, hull in files.items() if made.points.tobytes() in content)
    (another,) = set(files) - {whole}
    damaged = [b"", whole[:-1], whole[:-24], whole + b"\0", whole + whole, bytes(len(whole)), another, b"PK\x03\x04"]
    rng = np.random.default_rng(0)
    for at in rng.integers(len(whole), size=40):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    for content in damaged:
        file.write_bytes(content)
        assert same(again(filename), made)
        assert file.read_bytes() == whole  # and kept anew


def test_another_content_is_another_hull_also_with_the_old_time(folder, tmp_path):
    filename = ball(tmp_path / "a.stl")
    made, status = again(filename), os.stat(filename)
    ball(Path(filename), moved=1.0)
    os.utime(filename, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (os.stat(filename).st_mtime_ns, os.stat(filename).st_size) == (status.st_mtime_ns, status.st_size)
    moved = again(filename)
    assert moved.points.mean(axis=0)[0] > 0.9 > made.points.mean(axis=0)[0]
    ball(Path(filename))
    assert same(again(filename), made) and len(list(folder.iterdir())) == 2


def test_a_process_notices_that_a_file_is_written_anew(folder, tmp_path):
    filename = ball(tmp_path / "a.stl")
    made, status = mesh_hull(filename), os.stat(filename)
    ball(Path(filename), 0.6)
    os.utime(filename, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert not same(mesh_hull(filename), made)


def test_meshes_with_vertices_in_other_files_are_not_kept(folder, tmp_path):
    parts = trimesh.Scene(trimesh.creation.box()).export(file_type="gltf")
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    gltf = next(str(tmp_path / name) for name in parts if name.endswith(".gltf"))
    assert len(again(gltf).points) == 8 and not folder.exists()
    for numbers in tmp_path.glob("*.bin"):
        flat = np.frombuffer(numbers.read_bytes(), "<f4").copy()
        flat[np.abs(flat) == 0.5] *= 2
        numbers.write_bytes(flat.tobytes())
    assert np.abs(again(gltf).points).max() == 1.0


@pytest.mark.parametrize("version", ["VERSION", "_makers"])
def test_hulls_of_other_versions_are_not_taken(folder, tmp_path, monkeypatch, version):
    filename = ball(tmp_path / "a.stl")
    made = again(filename)
    monkeypatch.setattr(hulls, version, -1 if version == "VERSION" else lambda: ("0",))
    assert same(again(filename), made) and len(list(folder.iterdir())) == 2


def test_versions_are_those_of_the_packages():
    import scipy

    assert dict(zip(hulls.MAKERS, hulls._makers(), strict=True))["scipy"] == scipy.__version__


@pytest.mark.parametrize("cache", ["a file", "below a file", "\0", "a folder where the hull is to be"])
def test_a_cache_that_cannot_be_used_is_no_error(tmp_path, monkeypatch, cache):
    filename = ball(tmp_path / "a.stl")
    monkeypatch.setenv("VITREE_CACHE", "off")
    made = again(filename)
    place = tmp_path / "cache"
    if cache == "\0":
        monkeypatch.setattr(hulls, "cache_folder", lambda: Path("\0"))
    elif "file" in cache:
        place.write_bytes(b"")
        monkeypatch.setenv("VITREE_CACHE", str(place / "x" if cache == "below a file" else place))
    else:
        monkeypatch.setenv("VITREE_CACHE", str(place))
        again(filename)
        (file,) = (place / "hulls").iterdir()
        file.unlink()
        file.mkdir()
    assert same(again(filename), made)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_without_permission_is_no_error(folder, tmp_path):
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    assert again(ball(tmp_path / "a.stl")).lost > 0
    assert list(folder.iterdir()) == []


def test_processes_at_once(folder, tmp_path):
    """Each has the same hulls, and what they leave is whole."""
    files = [ball(tmp_path / f"{k}.stl", 0.5 + 0.1 * k) for k in range(6)]
    code = (
        "import sys; from hashlib import sha256; from vitree.urdf.hulls import mesh_hull\n"
        "sys.stdin.readline()\n"
        "for name in sys.argv[1:]: print(sha256(mesh_hull(name).points.tobytes()).hexdigest())"
    )
    start = [sys.executable, "-c", code, *files]
    runs = [subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    told = [run.communicate()[0] for run in runs]
    assert len(set(told)) == 1 and len(set(told[0].split())) == 6
    left = list(folder.iterdir())
    assert [file.suffix for file in left] == 6 * [".hull"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hulls, "hull_points", None)
        for name in files:
            assert again(name).lost > 0


def test_the_folder_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("VITREE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    usual = {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"}
    for system, place in usual.items():
        monkeypatch.setattr(sys, "platform", system)
        assert cache_folder() == tmp_path / place / "vitree"
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "vitree"
    monkeypatch.setattr(sys, "platform", "linux")
    for given, found in {str(tmp_path / "xdg"): tmp_path / "xdg", "relative": tmp_path / ".cache"}.items():
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_folder() == found / "vitree"
    monkeypatch.setenv("VITREE_CACHE", "~/own")
    assert cache_folder() == tmp_path / "own"
    monkeypatch.setenv("VITREE_CACHE", "off")
    assert cache_folder() is None


@pytest.mark.parametrize("scale", [(2.0, -2.0, 2.0), (0.1, 0.1, -0.1), (1e-3,) * 3])
def test_a_scale_alike_along_all_axes_is_applied_to_the_hull(folder, tmp_path, scale):
    filename = ball(tmp_path / "a.stl")
    one = again(filename)
    found = again(filename, scale)
    assert found.points.tobytes() == (one.points * scale).tobytes() and found.lost == one.lost * abs(scale[0])
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("robot", ["g1", "romeo", "xarm7"])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.5, -2.0, 1.0)])
def test_the_vertices_of_a_mesh_are_as_near_to_its_hull_as_the_hull_says(robot, scale, monkeypatch):
    monkeypatch.setenv("VITREE_CACHE", "off")
    pytest.importorskip("collada")
    model = vt.load_urdf(vt.find_robot(robot))
    files = {shape.filename for shape in model.flat.geometry if shape.kind == "mesh" and shape.role == "collision"}
    assert len(files) > 5
    directions = np.random.default_rng(0).normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for file in sorted(files)[:12]:
        points, hull = read_mesh(file, "a test")[0] * scale, mesh_hull(file, scale)
        size = np.ptp(points)
        assert 3 < len(hull.points) <= 64
        # the points are vertices (of COLLADA trimesh has single precision); none is left out by more than is said
        nearest = [np.linalg.norm(points - point, axis=1).min() for point in hull.points]
        assert max(nearest) < 1e-6 * size
        few = ConvexHull(hull.points)
        assert len(few.vertices) == len(hull.points)
        over = (points @ few.equations[:, :3].T + few.equations[:, 3]).max()
        assert over <= hull.lost + 1e-6 * size
        inwards = (points @ directions.T).max(axis=0) - (hull.points @ directions.T).max(axis=0)
        assert -1e-6 * size < inwards.min() and inwards.max() <= hull.lost + 1e-6 * size


def test_without_trimesh_the_cache_serves_and_other_meshes_name_it(folder, tmp_path, monkeypatch):
    filename = ball(tmp_path / "a.stl")
    made = again(filename)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    assert same(again(filename), made)
    monkeypatch.setenv("VITREE_CACHE", "off")
    with pytest.raises(vt.errors.MissingExtraError, match=r"trimesh.*vitree\[meshes\]"):
        again(filename)


def test_a_scale_that_is_too_large_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("VITREE_CACHE", "off")
    filename = ball(tmp_path / "a.stl", 5.0)
    with pytest.raises(ModelError, match=r"a\.stl.* not finite with the scale"):
        again(filename, (1e308, 1e308, 1e308))
