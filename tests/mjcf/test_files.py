"""The files that an MJCF model opens are its own, and a few lines cannot ask for a machine's whole memory."""

from __future__ import annotations

import os
import struct

import pytest

import vitree as vt
from vitree.cli import main

pytest.importorskip("mujoco")

BODY = '<worldbody><body><joint name="hinge"/><geom type="sphere" size="0.1"/></body></worldbody>'
MESH_BODY = '<worldbody><body><joint name="hinge"/><geom type="mesh" mesh="m"/></body></worldbody>'


def mjcf(*content):
    return f'<mujoco model="own">{"".join(content)}</mujoco>'


def tetrahedron():
    """A closed STL of four triangles."""
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in points[k]), 0) for face in faces)
    return bytes(80) + struct.pack("<I", 4) + body


@pytest.fixture
def robot(tmp_path):
    """The folder of a robot in a folder of robots, with secrets beside that; write(name, text) writes a file."""
    folder = tmp_path / "robots" / "own"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "m.stl").write_bytes(tetrahedron())
    (tmp_path / "elsewhere" / "body.xml").write_text(f"<mujocoinclude>{BODY}</mujocoinclude>")

    def write(text, name="own.xml"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


OUTSIDE = {
    "include": mjcf('<include file="../../elsewhere/body.xml"/>'),
    "include, absolute": mjcf('<include file="{elsewhere}/body.xml"/>'),
    "include, in entities": mjcf('<include file="&#46;&#46;/../elsewhere/body.xml"/>'),
    "include, behind a comment": mjcf("<!-- > -->", "<include\n file = '../../elsewhere/body.xml' />"),
    "mesh": mjcf('<asset><mesh name="m" file="../../elsewhere/m.stl"/></asset>', MESH_BODY),
    "mesh in a folder of meshes": mjcf(
        '<compiler meshdir="../../elsewhere"/><asset><mesh name="m" file="m.stl"/></asset>', MESH_BODY),
    "mesh in a folder of assets": mjcf(
        '<asset><mesh name="m" file="m.stl"/></asset><compiler assetdir="{elsewhere}"/>', MESH_BODY),
    "texture": mjcf('<asset><texture name="t" type="2d" file="../../elsewhere/m.stl"/></asset>', BODY),
    "cube": mjcf('<asset><texture name="t" type="cube" fileright="../../elsewhere/m.stl"/></asset>', BODY),
    "height field": mjcf('<asset><hfield name="h" file="../../elsewhere/m.stl" size="1 1 1 1"/></asset>', BODY),
    "model": mjcf('<asset><model name="x" file="../../elsewhere/body.xml"/></asset>', BODY),
}  # fmt: skip


@pytest.mark.parametrize("kind", OUTSIDE)
def test_files_of_other_folders_are_not_opened(kind, robot, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    path = robot(OUTSIDE[kind].replace("{elsewhere}", str(elsewhere)))
    with pytest.raises(vt.ModelError, match=r"is outside of the folders of the model; name .* packages="):
        vt.load_mjcf(path)
    assert [finding.severity for finding in vt.check_mjcf(path)] == ["error"]


def test_an_included_file_is_looked_through(robot, tmp_path):
    robot(f'<mujocoinclude><include file="{tmp_path}/elsewhere/body.xml"/></mujocoinclude>', "parts/part.xml")
    with pytest.raises(vt.ModelError, match=r"body\.xml.* is outside"):
        vt.load_mjcf(robot(mjcf('<include file="parts/part.xml"/>')))


def test_a_link_is_followed_first(robot, tmp_path):
    path = robot(mjcf('<include file="part.xml"/>'))
    os.symlink(tmp_path / "elsewhere" / "body.xml", path.with_name("part.xml"))
    with pytest.raises(vt.ModelError, match="is outside"):
        vt.load_mjcf(path)


@pytest.mark.parametrize("kind", ["include", "mesh", "mesh in a folder of meshes", "include, absolute"])
def test_trusted_folders_are_opened(kind, robot, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    path = robot(OUTSIDE[kind].replace("{elsewhere}", str(elsewhere)))
    assert vt.load_mjcf(path, packages=elsewhere).nv == 1
    assert main(["info", str(path), "--package", str(elsewhere)]) == 0
    assert main(["info", str(path)]) == 2


def test_files_near_the_model_are_opened(robot, tmp_path):
    robot(f"<mujocoinclude>{MESH_BODY}</mujocoinclude>", "parts/part.xml")
    robot(tetrahedron(), "assets/m.stl")
    (tmp_path / "robots" / "common").mkdir()
    (tmp_path / "robots" / "common" / "visual.xml").write_text("<mujocoinclude><option/></mujocoinclude>")
    text = mjcf('<compiler meshdir="assets"/><include file="parts/part.xml"/><include file="../common/visual.xml"/>',
                '<asset><mesh name="m" file="m.stl"/></asset>')  # fmt: skip
    assert vt.load_mjcf(robot(text)).nv == 1


def test_a_text_opens_files_near_the_working_directory(robot, tmp_path, monkeypatch):
    monkeypatch.chdir(robot(f"<mujocoinclude>{BODY}</mujocoinclude>", "part.xml").parent)
    assert vt.load_mjcf(mjcf('<include file="part.xml"/>')).nv == 1
    with pytest.raises(vt.ModelError, match="is outside"):
        vt.load_mjcf(OUTSIDE["include"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("what", ["<include file='{}'/>", "<asset><mesh name='m' file='{}'/></asset>", None])
def test_a_pipe_is_refused_and_not_waited_for(what, robot):
    path = robot(mjcf((what or "").format("pipe"), BODY))
    os.mkfifo(path.with_name("pipe"))
    with pytest.raises(vt.ModelError, match="is no regular file"):
        vt.load_mjcf(path if what else path.with_name("pipe"))


LARGE = {
    "replicate": '<worldbody><replicate count="2000000" offset="1 0 0"><body/></replicate></worldbody>',
    "replicate within replicate": "<worldbody>" + '<replicate count="1000" offset="1 0 0">' * 3
                                  + "<geom size='1'/>" + "</replicate>" * 3 + "</worldbody>",
    "composite": '<worldbody><body><composite type="grid" count="3000 3000 1"/></body></worldbody>',
    "flexcomp": '<worldbody><body><flexcomp name="f" type="grid" count="300 300 300"/></body></worldbody>',
    "texture": '<asset><texture name="t" type="2d" builtin="flat" width="100000" height="100000"/></asset>',
    "height field": '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>',
    "depth": "<worldbody>" + "<body>" * 200 + "</body>" * 200 + "</worldbody>",
}  # fmt: skip


@pytest.mark.parametrize("kind", LARGE)
def test_what_a_few_lines_make_too_large_is_refused(kind, robot):
    with pytest.raises(vt.ModelError, match=r"elements|numbers|nested deeper"):
        vt.load_mjcf(robot(mjcf(LARGE[kind], BODY)))


def test_replicas_of_included_files_count(robot):
    robot("<mujocoinclude>" + "<geom size='1'/>" * 1000 + "</mujocoinclude>", "part.xml")
    text = '<worldbody><replicate count="1100" offset="1 0 0"><include file="part.xml"/></replicate></worldbody>'
    with pytest.raises(vt.ModelError, match="elements"):
        vt.load_mjcf(robot(mjcf(text)))


def test_a_file_that_includes_itself_ends(robot):
    with pytest.raises(vt.ModelError, match="MuJoCo does not compile it"):
        vt.load_mjcf(robot(mjcf('<include file="own.xml"/>', BODY)))


def test_what_is_reasonable_is_replicated(robot):
    text = f'<worldbody><replicate count="20" offset="1 0 0">{BODY[11:-12]}</replicate></worldbody>'
    assert vt.load_mjcf(robot(mjcf(text))).nv == 20
