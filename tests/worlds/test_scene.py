"""Scene files: the world that they describe, and faults by file and key."""

from __future__ import annotations

import re

import numpy as np
import pytest
from places import ROOT, of_source
from world_files import write_files

import vitree as vt
from vitree.worlds.scene import GROUND, OF_BODIES, OF_FILES, TERRAIN
from vitree.worlds.scene import SCENE as SCENE_KEYS

SCENE = """
name = "room"
gravity = [0, 0, -9.81]
limits = "report"
apart = [["arm/upper", "board"]]

[ground]
friction = 0.5
planes = [{ normal = [1, 0, 0], height = -4 }]

[things.arm]
file = "arm.urdf"
at = [0, 0, 0.05]
rpy = [0, 0, 1.5]
drives = { turn = [100, 10] }
start = { turn = 0.4 }
options = { mimic = "constraints" }

[things.cup]
file = "cup.urdf"
at = [1, 0, 0.1, 0, 0, 0, 1]
base = "free"

[things.hat]
cone = [0.05, 0.1]
mass = 0.1
frame = "arm/tool"
base = "fixed"
at = [0, 0, 0.05]

[things.board]
box = [1, 1, 0.1]
at = [0, 2, 0.3]
friction = [0.5, 0.01, 0.0]
rgba = [1, 0, 0, 1]

[things.ball]
sphere = 0.1
density = 300
at = [0, 2, 0.45]

[things.double_pendulum]
file = "double_pendulum"
at = [0, -3, 3]
"""


@pytest.fixture
def scene(tmp_path):
    """A function that writes a scene and reads it."""
    write_files(tmp_path)

    def read(text: str) -> vt.World:
        (tmp_path / "room.toml").write_text(text)
        return vt.read_scene(tmp_path / "room.toml")

    return read


def test_a_scene_is_the_world_in_python(scene, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = vt.World("room", ground=vt.Ground(friction=0.5, planes=[((1, 0, 0), -4)]), limits="report")
    world.add("arm.urdf", "arm", vt.fixed(xyz=(0, 0, 0.05), rpy=(0, 0, 1.5)), drives={"turn": (100, 10)},
              start={"turn": 0.4}, mimic="constraints")  # fmt: skip
    world.add("cup.urdf", at=(1, 0, 0.1))
    world.add(vt.Cone(0.05, 0.1), "hat", world.tree.frame("arm/tool").add(vt.tz(0.05)), mass=0.1, base="fixed")
    world.add(vt.Box((1, 1, 0.1)), "board", (0, 2, 0.3), friction=(0.5, 0.01, 0.0), rgba=(1, 0, 0, 1))
    world.add(vt.Sphere(0.1), "ball", (0, 2, 0.45), density=300.0)
    world.add("double_pendulum", at=(0, -3, 3))
    world.apart(("arm/upper", "board"))
    found = scene(SCENE)
    assert [*found.things] == [*world.things] and found.name == "room"
    one, other = found.compile(), world.compile()
    assert one.digest == other.digest and np.array_equal(one.start, other.start)
    assert not isinstance(one, vt.ReducedModel) and one.limits == "report"
    assert found.control(one).targets == {"arm/turn": 0.4}
    run = vt.simulate(one, duration=0.1, dt=1e-3, control=found.control(one))
    assert np.abs(run.q[-1, one.joint("ball").q_slice] - run.q[0, one.joint("ball").q_slice]).max() < 1e-9


def test_keyframes_terrains_and_meshes(scene, tmp_path):
    pytest.importorskip("mujoco")
    pytest.importorskip("trimesh")
    (tmp_path / "hill.csv").write_text("0,0,0\n0,0.5,0\n0,0,0\n")
    (tmp_path / "block.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    world = scene("""[ground.terrain]
        file = "hill.csv"
        spacing = [1, 2]
        origin = [-1, -2, 0.5]
        [things.a]
        file = "things.xml"
        at = [5, 0, 2]
        start = "up"
        [things.mesh]
        mesh = "block.obj"
        scale = 0.5
        [things.hull]
        hull = "block.obj"
        scale = [1, 1, 2]
        mass = 2
        at = [9, 9, 9]
        """)
    model = world.compile()
    assert model.ground.terrain.shape == (3, 3) and model.ground.terrain.origin == (-1, -2, 0.5)
    np.testing.assert_array_equal(model.start[model.joint("a/float").q_slice], (6, 0, 2.3, 0, 0, 0, 1))
    shapes = {each.frame: each.shapes[0] for each in model.contacts if isinstance(each, vt.Contact)}
    assert np.max(shapes["mesh"].vertices) == 0.5 and np.max(shapes["hull"].vertices) == 2
    np.testing.assert_allclose(model.flat.link_com[model.link_names.index("hull")], (0.25, 0.25, 0.5))
    assert scene("ground = true").tree.ground == vt.Ground() and scene("ground = false").tree.ground is None


BOX = "[things.a]\nbox = [1, 1, 1]\n"
FAULTS = {
    "grvity = 3": 'no key of the scene "grvity"; did you mean "gravity"?', "xyz = 3": "choose from name, gravity",
    "gravity = 3": "the scene: ", "limits = 'hard'": "the scene: limits", "things = 3": "things is 3; it must be a",
    "things.a = 3": "things.a is 3; it must be a table", "[things.a]": "things.a: has no file and no shape; give one",
    "[ground]\nfrction = 1": 'no key of ground "frction"', "[ground]\nfriction = -1": "the scene: ",
    "ground = 3": "ground is 3", "[ground.terrain]": "ground.terrain needs heights",
    "[ground.terrain]\nfile = 'x.csv'": "ground.terrain.file 'x.csv' cannot be read",
    "[ground]\nplanes = [{ hight = 1 }]": 'no key of ground.planes "hight"',
    "[things.a]\nfiel = 'arm.urdf'": 'no key of things.a "fiel"; did you mean "file"?',
    "[things.a]\nfile = 'arm.urdf'\nmass = 3": 'no key of things.a "mass"; choose from file, at, rpy',
    "[things.a]\nfile = 'arm.urdf'\nsphere = 3": "things.a: has file and sphere; give one of",
    "[things.a]\nfile = 'nobody.urdf'": "things.a: there is no file nobody.urdf",
    "[things.a]\nfile = 3": "things.a: file is 3; it must be the path",
    "[things.a]\nfile = 'arm.urdf'\noptions = { bse = 1 }": 'things.a: no option "bse"',
    "[things.a]\nfile = 'arm.urdf'\nstart = { elbow = 1 }": 'things.a: no joint of "a" "elbow"',
    "[things.a]\nfile = 'arm.urdf'\ndrives = { elbow = [1, 1] }": 'things.a: no joint of "a" to drive "elbow"',
    "[things.a]\nfile = 'arm.urdf'\nbase = 'euler'": 'things.a: base="euler" is not known',
    BOX + "at = [1, 2]": "things.a: at is [1, 2]; it must be 3 or 7 numbers", BOX + "at = 'x'": "at is 'x'",
    BOX + "at = [1, 2, true]": "at is [1, 2, True]", BOX + "rpy = [1, 2]": "rpy is [1, 2]; it must be 3 numbers",
    BOX + "at = [0, 0, 0, 0, 0, 0, 1]\nrpy = [0, 0, 0]": "it must be 3 numbers", BOX + "scale = 2": "scale is of",
    BOX + "frame = 'nobody'": 'things.a: no frame "nobody"', BOX + "frame = 3": "things.a: frame is 3",
    BOX + "mass = -1": "things.a: mass", "[things.a]\nbox = 1": "things.a: box is 1; it must be 3 numbers",
    "[things.a]\nsphere = -1": "things.a: ", "[things.a]\nmesh = 'x.stl'": "mesh is 'x.stl', and there is no such file",
    "apart = [['a', 'b']]": 'apart: no frame "a"', "apart = 3": "apart: is 3; it must be a list",
    "x = ": "is no TOML: ",
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
def test_faults_name_the_file_and_the_key(scene, text):
    with pytest.raises(vt.VitreeError, match=re.escape(FAULTS[text])) as caught:
        scene(text)
    assert re.match(r"room\.toml(: | is no TOML)", str(caught.value)), caught.value


@of_source
def test_the_scene_of_the_manual(scene):
    page = (ROOT / "docs" / "worlds.md").read_text()
    world = scene(page.partition("```toml\n")[2].partition("```")[0])
    model = world.compile()
    assert [*world.things] == ["arm", "table", "cup"]
    run = vt.simulate(model, duration=0.3, dt=1e-3, control=world.control(model))
    cup, elbow = (run.q[:, model.joint(name).q_slice] for name in ("cup", "arm/elbow_joint"))
    assert np.abs(cup - cup[0])[:, :2].max() < 1e-3 and abs(cup[-1, 2] - 0.55) < 1e-6
    assert np.abs(elbow - 0.3).max() < 0.1
    for key in (*SCENE_KEYS, *GROUND, *TERRAIN, *OF_FILES, *OF_BODIES):
        assert f"`{key}`" in page, key


def test_there_is_no_such_file(tmp_path):
    with pytest.raises(vt.ModelError, match=r"there is no file .*x\.toml; give the path of a scene"):
        vt.read_scene(tmp_path / "x.toml")
    with pytest.raises(vt.ModelError, match="cannot be read"):
        vt.read_scene(tmp_path)
