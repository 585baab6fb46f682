"""Files of meshes are measured before they are read, and name no files outside of their robot's folders."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import vitree.urdf.meshes as meshes
from vitree.errors import InputError, ModelError
from vitree.urdf.meshes import check_mesh, load_scene, read_mesh

trimesh = pytest.importorskip("trimesh")


def stl() -> bytes:
    return trimesh.creation.box().export(file_type="stl")


def zipped(**parts: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("_", "."), data)
    return stream.getvalue()


def test_what_is_small_is_read(tmp_path):
    for name, data in {"a.stl": stl(), "a.zip": zipped(a_stl=stl(), b_stl=stl())}.items():
        (tmp_path / name).write_bytes(data)
        check_mesh(tmp_path / name)
    points, triangles, closed = read_mesh(str(tmp_path / "a.stl"), "a test")
    assert len(points) == 8 and len(triangles) == 12 and closed
    assert len(load_scene(str(tmp_path / "a.zip")).geometry) == 2


BOMB = b'<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]><c>&b;</c>'


@pytest.mark.parametrize("name, data, text", [
    ("a.stl", b"x" * 1001, "it has .* MB; the most is"),
    ("a.zip", zipped(a_stl=b"0" * 4000), "it unpacks to .* MB"),
    ("a.dae", zipped(a_dae=b"0" * 4000), "it unpacks to .* MB"),
    ("a.3mf", zipped(a_model=b"0" * 600, b_model=b"0" * 600), "it unpacks to .* MB"),
    ("a.zip", zipped(**{f"{k}_stl": b"" for k in range(7)}), "an archive of 7 files; the most is 5"),
    ("a.zip", zipped(b_zip=b""), 'with the archive "b.zip" in it'),
    ("a.tar.gz", b"\x1f\x8b", "archives that end in .gz are not read"),
    ("a.stl.bz2", b"BZh", "archives that end in .bz2 are not read"),
    ("a.dae", BOMB, "<!DOCTYPE>"),
    ("a.dae", BOMB.decode().encode("utf-16"), "<!DOCTYPE>"),
    ("a.xaml", BOMB.decode().encode("utf-16-be"), "<!DOCTYPE>"),
    ("a.obj", b"  \n" + BOMB, "<!DOCTYPE>"),
    ("a.dae", zipped(a_dae=BOMB), "<!DOCTYPE>"),
    ("a.dae", b'<?xml version="1.0" encoding="utf-7"?>+ADw-', "in the encoding b'utf-7'"),
])  # fmt: skip
def test_what_is_large_or_defines_entities_is_refused(tmp_path, monkeypatch, name, data, text):
    monkeypatch.setattr(meshes, "MOST_BYTES", 1000)
    monkeypatch.setattr(meshes, "MOST_FILES", 5)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=text):
        load_scene(str(tmp_path / name))
    with pytest.raises(ModelError, match=f'the mesh file ".*{name}" cannot be read: .*{text}'):
        read_mesh(str(tmp_path / name), "a test")


def test_a_bomb_takes_no_memory(tmp_path):
    """In 0.1.0 an archive of 1.5 GB took 4.4 GB."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("a.stl", "w", force_zip64=True) as part:
            for _ in range(400):
                part.write(bytes(2**20))
    code = (
        "import resource, sys; from vitree.urdf.meshes import read_mesh\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_mesh(sys.argv[1], 'a test')\n"
        "except Exception as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    told, more = subprocess.check_output([sys.executable, "-c", code, tmp_path / "a.zip"], text=True).splitlines()
    assert 'a.zip" cannot be read: it unpacks to 400 MB; the most is 256 MB' in told
    assert int(more) * (1 if sys.platform == "darwin" else 1024) < 200 * 2**20


def test_what_a_scene_repeats_is_counted(tmp_path, monkeypatch):
    scene = trimesh.Scene()
    for k in range(30):
        scene.add_geometry(trimesh.creation.box(), geom_name="one", node_name=f"{k}",
                           transform=np.diag([1.0 + k, 1, 1, 1]))  # fmt: skip
    scene.export(tmp_path / "a.glb")
    assert load_scene(str(tmp_path / "a.glb"))
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 300)
    with pytest.raises(InputError, match="360 triangles; the most is 300"):
        load_scene(str(tmp_path / "a.glb"))


def test_folders_and_pipes_are_no_meshes(tmp_path):
    os.mkfifo(tmp_path / "a.stl")
    for name in ("a.stl", "."):
        with pytest.raises(InputError, match="no regular file"):
            check_mesh(tmp_path / name)


def test_textures_are_in_the_package_of_the_mesh(tmp_path):
    """An .obj names a .mtl, and that a picture."""
    png = io.BytesIO()
    pytest.importorskip("PIL.Image").new("RGB", (1, 1), (255, 0, 0)).save(png, "png")
    places = {"in": "../textures/red.png", "out": "../../red.png", "absolute": str(tmp_path / "red.png")}
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "package.xml").write_text("<package><name>arm</name></package>")
    (tmp_path / "arm" / "textures").mkdir()
    for picture in (tmp_path / "red.png", tmp_path / "arm" / "textures" / "red.png"):
        picture.write_bytes(png.getvalue())
    seen = {}
    for name, texture in places.items():
        folder = tmp_path / "arm" / "meshes"
        (folder / f"{name}.mtl").write_text(f"newmtl m\nmap_Kd {texture}\n")
        (folder / f"{name}.obj").write_text(
            f"mtllib {name}.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
        )
        (mesh,) = load_scene(str(folder / f"{name}.obj")).geometry.values()
        picture = getattr(mesh.visual.material, "image", None)
        seen[name] = picture is not None and picture.getpixel((0, 0))[:3] == (255, 0, 0)
    assert seen == {"in": True, "out": False, "absolute": False}


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("ending", ["stl", "obj"])
def test_vertices_that_are_not_finite_are_told(ending, number, tmp_path):
    path = tmp_path / f"a.{ending}"
    if ending == "stl":
        data = bytearray(stl())
        data[84 + 12 : 84 + 16] = np.float32(number).tobytes()
        path.write_bytes(data)
    else:
        box = trimesh.creation.box()
        lines = [f"v {number} 0 0", *(f"v {x} {y} {z}" for x, y, z in box.vertices[1:])]
        path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in box.faces)]))
    with pytest.raises(ModelError, match=r"1 of its \d+ vertices are not finite"):
        read_mesh(str(path), "a test")


def test_meshes_are_merged_and_cleaned_as_before(tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(stl())
    own, theirs = load_scene(str(path)).to_mesh(), trimesh.load_scene(str(path)).to_mesh()
    assert np.array_equal(own.vertices, theirs.vertices) and np.array_equal(own.faces, theirs.faces)


def test_a_file_of_the_largest_size_is_not_too_large(monkeypatch):
    monkeypatch.setattr(meshes, "MOST_BYTES", 1000)
    meshes._check_size(1000, "it has")
    with pytest.raises(InputError, match="it has"):
        meshes._check_size(1001, "it has")
