"""Scenes and several things on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from world_files import write_files

import vitree as vt
from vitree import cli
from vitree.cli.worlds import given

SCENE = """
[ground]
[things.arm]
file = "arm.urdf"
at = [0, 0, 0.05]
drives = { turn = [200, 20] }
start = { turn = 0.4 }
[things.cup]
file = "cup.urdf"
at = [1, 0, 0.1]
"""


@pytest.fixture
def simulate(capsys, tmp_path, monkeypatch):
    write_files(tmp_path)
    (tmp_path / "room.toml").write_text(SCENE)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.main(["simulate", *map(str, arguments), "-T", "0.1"])
        out, err = capsys.readouterr()
        return (vt.Trajectory.load(tmp_path / "run.npz") if status == 0 else None), out, err

    return call


def of(run, joint):
    """Coordinates of a joint."""
    return run.q[:, [name.startswith(joint) for name in run.q_names]]


def test_a_scene_is_simulated_as_in_python(simulate, tmp_path):
    run, out, err = simulate("room.toml")
    assert "2 things: arm, cup" in out and err == ""
    world = vt.read_scene(tmp_path / "room.toml")
    model = world.compile()
    alone = vt.simulate(model, duration=0.1, dt=1e-3, control=world.control(model))
    assert np.array_equal(run.q, alone.q)
    assert np.abs(of(run, "arm/turn") - 0.4).max() < 0.05
    for option in ("--ground", "--base=free", "--gravity=0,0,0", "--limits=ignore"):
        _, _, err = simulate("room.toml", option)
        assert option.partition("=")[0] in err and "room.toml defines this itself" in err


def test_several_files_are_things(simulate):
    run, out, _ = simulate("left=arm.urdf@0,-1,0.05", "arm.urdf@0,1,0.05", "cup.urdf", "swing.sexpr@2,2,1.5")
    assert "4 things: left, arm, cup, swing" in out
    np.testing.assert_allclose(of(run, "cup/")[0], (0, 0, 0.1, 0, 0, 0, 1), atol=1e-12)  # set on the ground
    assert np.abs(of(run, "cup/") - of(run, "cup/")[0]).max() < 1e-9
    run, *_ = simulate("cup.urdf@0,0,1", "b=cup.urdf@1,0,2", "--gravity", "0,0,-1", "--no-ground")
    fallen = 0.5 * 0.1**2
    np.testing.assert_allclose([of(run, "cup/")[-1, 2], of(run, "b/")[-1, 2]], [1 - fallen, 2 - fallen], atol=1e-12)
    run, *_ = simulate("left=arm.urdf@0,-1,0.05", "right=arm.urdf@0,1,0.05", "--drives", "200,20", "--json")
    assert np.abs(run.q).max() < 1e-6


def test_models_of_mujoco_are_things(simulate):
    pytest.importorskip("mujoco")
    run, out, _ = simulate("things.xml", "cup.urdf@0,3,0.1", "shelf.xml@0,6,0.2")
    assert "3 things: things, cup, shelf" in out
    assert of(run, "things/float")[0, 2] == pytest.approx(0.1)


def test_a_scene_is_shown_where_it_starts(simulate, capsys):
    assert cli.main(["info", "room.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "room"
    pytest.importorskip("viser")
    assert cli.main(["view", "room.toml", "--html", "room.html"]) == 0


def test_commands_of_robot_files_take_no_scene(simulate, capsys):
    for command in (["check", "room.toml"], ["fix", "room.toml", "-o", "a.urdf"], ["convert", "room.toml", "a.urdf"]):
        assert cli.main(command) == 2
        assert "room.toml is a scene, but the file of a robot is required" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "parts"), [
    ("a.urdf", ("a.urdf", None, None)), ("x=a.urdf", ("a.urdf", "x", None)),
    ("a@b.urdf@1,2,-3e-1", ("a@b.urdf", None, (1, 2, -0.3))),
    ("x=a.urdf@1,.5,2.", ("a.urdf", "x", (1, 0.5, 2))), ("x=y@z.urdf", ("x=y@z.urdf", None, None)),
])  # fmt: skip
def test_parts_of_a_word(word, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x=y@z.urdf").write_text("")
    assert given(word) == parts


@pytest.mark.parametrize(("words", "text"), [
    (("arm.urdf", "room.toml"), "room.toml is a scene, which is simulated alone"),
    (("arm.urdf", "car"), '"car" is a vehicle, which has no file'),
    (("arm.urdf@1,2", "cup.urdf"), "behind @ there must be a place X,Y,Z"),
    (("a=arm.urdf", "a=cup.urdf"), 'there is already a thing "a"'),
    (("arm.urdf", "nobody"), 'no robot "nobody"'),
    (("cup.urdf@0,0,0.1", "cup.urdf@0,0,0.1"), "overlap"),
    (("nobody.toml",), "there is no file nobody.toml"),
    (("arm.urdf", "3"), '"3" is no robot; several values of one option are separated by commas'),
])  # fmt: skip
def test_faults(simulate, words, text):
    run, _, err = simulate(*words)
    assert run is None and text in err and err.count("\n") == 1
