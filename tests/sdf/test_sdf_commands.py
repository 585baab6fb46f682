"""SDF files on the command line."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")

from sdf_texts import BALL, FLOOR, joint, link, model, sdf, world

import vitree as vt
from vitree import cli


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    (tmp_path / "arm.sdf").write_text(sdf(model(
        link("base", "0 0 0.4 0 0 0"), link("b", "0 0 0.4 0 0 0", more=BALL), joint("w", "world", "base", "fixed"),
        joint("j", "base", "b"), '<plugin name="p" filename="f"/>', name="arm",
    )))  # fmt: skip
    (tmp_path / "room.world").write_text(world(FLOOR, model(link("b", more=BALL), name="ball", pose="0 0 0.5 0 0 0")))
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_info_and_check(run):
    status, out, _ = run("info", "arm.sdf", "--json")
    assert status == 0 and [each["name"] for each in json.loads(out)["joints"]] == ["j"]
    status, out, _ = run("check", "arm.sdf")
    assert status == 0 and "arm.sdf:5: warning sdf-motion" in out


@pytest.mark.parametrize("ground", [(), ("--ground",), ("--ground", "--friction", "0.3")])
def test_a_world_runs_where_the_file_has_it(run, ground):
    status, _, err = run("simulate", "room.world", *ground, "-T", "1", "--dt", "0.002")
    assert status == 0, err
    q = vt.Trajectory.load("run.npz").q
    assert q[0, 2] == 0.5 and (q[-1, 2] == pytest.approx(0.1, abs=1e-6) if ground else q[-1, 2] < -4)


def test_several_things(run):
    status, _, err = run("simulate", "one=arm.sdf@0,0,1", "room.world@2,0,0", "-T", "0.1", "--dt", "0.002")
    assert status == 0, err
    assert vt.Trajectory.load("run.npz").q.shape[1] == 8


def test_compare_view_and_convert(run):
    assert run("compare", "arm.sdf", "-T", "0.1", "--dt", "0.01,0.005")[0] == 0
    assert run("view", "arm.sdf", "--html", "arm.html")[0] == 0
    status, _, err = run("convert", "arm.sdf", "arm.urdf")
    assert status == 0, err
    assert vt.load_urdf("arm.urdf").joint_names == ("j",)


def test_options_of_other_formats_are_refused(run):
    status, _, err = run("info", "arm.sdf", "--root", "b")
    assert status == 2 and "--root: arm.sdf is SDF, which defines this itself" in err
    status, _, err = run("info", "arm.sdf", "--base", "euler")
    assert status == 2 and "choose from auto, free, fixed" in err
