"""Vertices of plain STL, OBJ and COLLADA files, beside those of trimesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vitree as vt
from vitree.urdf import vertices
from vitree.urdf.meshes import read_mesh
from vitree.urdf.paths import Places
from vitree.urdf.vertices import plain_vertices
from vitree.urdf.xml import Source

trimesh = pytest.importorskip("trimesh")
DIRECTIONS = np.random.default_rng(0).normal(size=(300, 3))


def assert_the_same(path):
    """All vertices of trimesh are there, and no others; those of COLLADA have single precision there."""
    found = plain_vertices(path.suffix, path.read_bytes())
    theirs = read_mesh(str(path), "a test")[0]
    assert found is not None
    apart = np.linalg.norm(found[:, None] - theirs, axis=-1)
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-6 * np.ptp(theirs)


def part():
    mesh = trimesh.creation.icosphere(2, 0.3)
    mesh.apply_transform(trimesh.transformations.compose_matrix(angles=(0.2, 0.5, -1.0), translate=(0.1, -2.0, 0.4)))
    return mesh


@pytest.mark.parametrize("kind", ["stl", "stl_ascii", "obj", "dae"])
def test_what_trimesh_writes(kind, tmp_path):
    if kind == "dae":
        pytest.importorskip("collada")
    path = tmp_path / f"part.{kind.partition('_')[0]}"
    path.write_bytes(data if isinstance(data := part().export(file_type=kind), bytes) else data.encode())
    assert_the_same(path)


OBJ = {
    "corners": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "not used": "v 0 0 0\nv 7 7 7\nv 1 0 0\nv 0 1 0\nf 1 3 4\n",
    "textures": "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n",
    "normals": "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\n",
    "both": "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\n",
    "quads": "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.5\nv 2 2 2\nf 1 2 3 4\nf 1 2 5\n",
    "colours": "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n",
    "windows": "# made\r\no part\r\nv 0 0 0\r\nv 1 0 0\r\nv  0\t1e-1  0 \r\ns off\r\nf 1 2 3\r\n",
    "between": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nusemtl m\nv 0 0 1\nf  1 2 4 \n",
}


@pytest.mark.parametrize("text", OBJ.values(), ids=OBJ)
def test_ways_to_write_an_obj(text, tmp_path):
    path = tmp_path / "part.obj"
    path.write_bytes(text.encode())
    assert_the_same(path)


PRIMITIVE = """<triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/>
  <input semantic="NORMAL" source="#n" offset="1"/><p>0 0 1 0 2 0 0 0 2 0 3 0</p></triangles>"""
POLYLIST = """<polylist count="1"><input semantic="VERTEX" source="#v" offset="1"/>
  <input semantic="NORMAL" source="#n" offset="0"/><vcount>4</vcount><p>0 0 0 1 0 2 0 3</p></polylist>"""
SCENE = """<node><translate>1 2 3</translate><rotate>0 0 1 90</rotate><scale>1 2 3</scale><instance_geometry url="#g"/>
  <node><matrix>0 -1 0 0.5 1 0 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></node>"""


def collada(primitive=PRIMITIVE, scene=SCENE, unit='<unit meter="0.01"/>', numbers="0 0 0 1 0 0 0 1 0 0 0 1 9 9 9"):
    count = len(numbers.split())
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{unit}<up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
  <source id="x"><float_array id="xa" count="{count}">{numbers}</float_array><technique_common><accessor source="#xa"
    count="{count // 3}" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z"
    type="float"/></accessor></technique_common></source>
  <source id="n"><float_array id="na" count="3">0 0 1</float_array><technique_common><accessor source="#na" count="1"
    stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>
    </technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#x"/></vertices>{primitive}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s">{scene}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.parametrize("primitive", [PRIMITIVE, POLYLIST, PRIMITIVE + POLYLIST])
@pytest.mark.parametrize("unit", ["", '<unit name="inch" meter="0.0254"/>', '<unit meter="1.0"/>'])
def test_scenes_of_collada(primitive, unit, tmp_path):
    pytest.importorskip("collada")
    path = tmp_path / "part.dae"
    path.write_text(collada(primitive, unit=unit))
    assert_the_same(path)
    found = plain_vertices(".dae", path.read_bytes())
    assert len(np.unique(found, axis=0)) == 8  # four, at two places; the fifth is not used


def test_a_collada_node_is_where_its_transforms_put_it():
    node = '<node><translate>1 2 3</translate><rotate>0 0 2 90</rotate><instance_geometry url="#g"/></node>'
    found = plain_vertices(".dae", collada(scene=node, unit="").encode())
    np.testing.assert_allclose(found, [(1, 2, 3), (1, 3, 3), (0, 2, 3), (1, 2, 4)], atol=1e-15)


@pytest.mark.parametrize("ending, content", [
    (".ply", "ply"), (".stl", ""), (".stl", "solid x\nendsolid x"), (".stl", "no mesh at all"),
    (".stl", bytes(84)), (".stl", b"\0" * 80 + b"\2\0\0\0" + bytes(50)),
    (".stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\nendfacet\nendsolid"),
    (".stl", "solid\nouter loop\nvertex 0 0 0\nvertex 1 0 nan\nvertex 0 1 0\nendloop\nendfacet\nendsolid"),
    (".obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n"), (".obj", "f 1 2 3\n"), (".obj", OBJ["corners"].replace("3\n", "4\n")),
    (".obj", OBJ["corners"].replace("f 1", "f 0")), (".obj", OBJ["corners"].replace("f 1 2 3", "f -1 -2 -3")),
    (".obj", OBJ["corners"].replace("1 0 0", "1 0")), (".obj", OBJ["corners"].replace("1 0 0", "1 0 0 1")),
    (".obj", OBJ["corners"].replace("1 0 0", "1 0 x")), (".obj", OBJ["corners"].replace("1 0 0", "inf 0 0")),
    (".obj", OBJ["corners"].replace("f 1 2 3", "f 1 2")), (".obj", OBJ["corners"].replace("2 3", "\\\n2 3")),
    (".obj", " " + OBJ["corners"].replace("\n", "\n ")[:-1]), (".obj", OBJ["corners"].replace("\n", "\r")),
    (".dae", ""), (".dae", "<COLLADA/>"), (".dae", "<mesh/>"), (".dae", collada()[:-5]),
    (".dae", collada().replace('url="#g"', 'url="#h"')), (".dae", collada().replace('url="#g"', 'url="other.dae#g"')),
    (".dae", collada().replace('url="#g"', 'url="#v"')), (".dae", collada().replace("triangles", "tristrips")),
    (".dae", collada().replace('stride="3"', 'stride="4"')), (".dae", collada().replace('count="15"', 'count="16"')),
    (".dae", collada().replace("<p>0 0 1", "<p>5 0 1")), (".dae", collada().replace("<p>0 0 1", "<p>-1 0 1")),
    (".dae", collada().replace("<p>0 0", "<p>0")), (".dae", collada(POLYLIST).replace("<vcount>4", "<vcount>3")),
    (".dae", collada().replace("<scale>1 2 3", "<scale>1 2")), (".dae", collada().replace("0 0 1 90", "0 0 0 90")),
    (".dae", collada().replace("scale>", "skew>")), (".dae", collada(numbers="0 0 0 1 0 0 0 1 0 0 nan 1")),
    (".dae", collada().replace('id="n"', 'id="x"')), (".dae", collada(unit='<unit meter="0"/>')),
    (".dae", collada(scene=SCENE + '<node><instance_controller url="#c"/></node>')),
    (".dae", collada(scene='<node><instance_node url="#c"/></node>')),
])  # fmt: skip
def test_what_is_not_plain_is_left_to_trimesh(ending, content):
    assert plain_vertices(ending, content if isinstance(content, bytes) else content.encode()) is None


def test_long_texts_and_scenes_of_many_points_are_left_to_trimesh(monkeypatch):
    text = collada().encode()
    assert plain_vertices(".DAE", text) is not None
    monkeypatch.setattr(vertices, "MOST_POINTS", 7)
    assert plain_vertices(".dae", text) is None
    monkeypatch.setattr(vertices, "MOST_POINTS", 8)
    assert plain_vertices(".dae", text) is not None
    monkeypatch.setattr(vertices, "MOST_TEXT", len(text) - 1)
    assert plain_vertices(".dae", text) is None


@pytest.mark.parametrize("robot", ["g1", "romeo", "solo12", "talos", "xarm7", "alex_sake_hands"])
def test_meshes_of_robots_are_plain(robot):
    pytest.importorskip("collada")
    path = vt.find_robot(robot)
    root, folders = Source(path.name, path.read_bytes()).root, Places(path)
    meshes = [mesh for item in root.iter("collision") for mesh in item.iter("mesh")]
    files = {folders.resolve(mesh.get("filename")).path for mesh in meshes}
    assert files
    for file in sorted(files):
        found, theirs = plain_vertices(Path(file).suffix, Path(file).read_bytes()), read_mesh(file, "a test")[0]
        assert found is not None, file
        np.testing.assert_allclose((found @ DIRECTIONS.T).max(axis=0), (theirs @ DIRECTIONS.T).max(axis=0),
                                   atol=1e-6 * np.ptp(theirs))  # fmt: skip
