"""The start of simulate: legged robots stand, others are at rest."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("typer")

import vitree as vt
from vitree import cli
from vitree.urdf.robots import example_robots, find_robot
from vitree.urdf.srdf import standing_posture

STANDING = ("a1", "anymal", "b1", "centauro", "g1", "go2", "hyq", "laikago", "quadruped", "simple_humanoid", "solo",
            "solo12", "talos", "talos_box")  # fmt: skip
robots = pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")


@pytest.fixture
def simulate(capsys, tmp_path):
    def call(*arguments):
        status = cli.main(["simulate", *map(str, arguments), "-o", str(tmp_path / "run.npz")])
        out, err = capsys.readouterr()
        assert status == 0, err
        return vt.Trajectory.load(tmp_path / "run.npz"), out, err

    return call


def heights(run):
    """The height of the base [m], and the cosine of its tilt."""
    return run.q[:, 2], 1 - 2 * (run.q[:, 3] ** 2 + run.q[:, 4] ** 2)


@robots
@pytest.mark.parametrize("name", STANDING)
def test_legged_robots_stand_for_a_second(simulate, name):
    pytest.importorskip("trimesh")
    run, out, err = simulate(name, "--duration", 1, "--dt", 0.002)
    height, upright = heights(run)
    assert abs(height - height[0]).max() < 0.01 * height[0]
    assert upright.min() > 0.999
    assert not run.v[0].any() and abs(run.v[-1]).max() < 0.05
    assert "starts standing, held by drives with kp = " in out
    assert len(err) < 100, err


def test_the_human_figure_stands_or_falls(simulate):
    assert abs(simulate("human", "-T", 0.2)[0].v[-1]).max() < 1e-7
    for others in (["--no-ground"], ["--v0", "random"], ["-m", "rk4"], ["--order", 4], ["--gravity", "0,0,0"]):
        run, out, _ = simulate("human", "-T", 0.02, *others)
        assert "standing" not in out and "held" not in out
        assert run.v[-1].any()
    run, out, _ = simulate("human", "-T", 0.02, "--drives", "none")
    assert "held" not in out and abs(run.v[-1, 2]) < 9.81 * 0.02 / 2  # the ground is there


def test_an_arm_starts_at_rest_and_a_pendulum_that_hangs_is_pushed(simulate):
    assert not simulate("arm6", "-T", 0.02, "--q0", "0.1,0.2,0.3,0.4,0.5,0.6")[0].v[0].any()
    assert simulate("pendulum", "-T", 0.02)[0].v[0].any()
    assert not simulate("pendulum", "-T", 0.02, "--v0", "zero")[0].v[0].any()
    assert simulate("car", "-T", 0.02)[0].v[0].any()


def test_drives_hold_the_start(simulate):
    q0 = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    run, out, _ = simulate("arm6", "-T", 1, "--dt", 0.01, "--q0", ",".join(map(str, q0)), "--drives", "1e4,100")
    assert np.abs(run.q - q0).max() < 0.05 and "held by drives with kp = 1e+04 N m/rad" in out


@pytest.mark.parametrize(("arguments", "text"), [
    ("arm6 --drives 10", "must be kp,kd"), ("arm6 --drives 10,-1", "must be kp,kd"), ("car --drives 1,1", "vehicle"),
    ("arm6 --q0 standing", "no standing posture"), ("human --q0 standing --no-ground", "--no-ground is given"),
    ("human --q0 standing -m rk4", "linear-time and midpoint"), ("human --q0 standing --base fixed", "--base free"),
    ("human --q0 standing --gravity 0,0,1", "points down"),
])  # fmt: skip
def test_what_cannot_stand_or_be_driven_is_told(capsys, tmp_path, arguments, text):
    assert cli.main(["simulate", *arguments.split(), "-o", str(tmp_path / "run.npz")]) == 2
    err = capsys.readouterr().err
    assert text in err and err.count("\n") == 1


@robots
def test_postures_are_those_of_the_robots_own_files():
    half_sitting = standing_posture(find_robot("talos"))
    assert half_sitting["leg_left_4_joint"] == (0.859395,) and len(half_sitting["root_joint"]) == 7
    assert standing_posture(find_robot("hyq"))["lf_hfe_joint"] == (0.75,)
    assert standing_posture(find_robot("ur5")) is None and standing_posture(find_robot("bolt")) is None


def test_faults_of_an_srdf_file_are_left_out(tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "srdf").mkdir()
    robot = tmp_path / "robots" / "dog.urdf"
    robot.write_text(find_robot("human").read_text())
    assert standing_posture(robot) is None
    state = '<group_state name="standing"><joint name="a" value="1 2"/><joint name="b" value="x"/></group_state>'
    for text, found in (("<robot", None), ("<robot/>", None), (f"<robot>{state}</robot>", {"a": (1.0, 2.0)}),
                        (f"<robot>{state.replace('1 2', 'nan')}</robot>", {})):  # fmt: skip
        (tmp_path / "srdf" / "dog.srdf").write_text(text)
        assert standing_posture(robot) == found


def test_warnings_take_a_line_each(capsys, simulate):
    run, _, err = simulate("arm6", "-T", 0.1, "--q0", "9,9,9,9,9,9")
    lines = err.splitlines()
    assert run.warnings and max(map(len, lines)) <= 100 and lines[-1] == "vitree: --notes shows the warnings in full"
    err = simulate("arm6", "-T", 0.1, "--q0", "9,9,9,9,9,9", "--notes")[2]
    assert all(name in err for name in ("limits enforce", "rad by")) and "--notes" not in err


def test_compare_says_until_when_a_chaotic_motion_is_known(capsys):
    arguments = "compare double_pendulum -T 60 --dt 0.02 --speed 20 -m midpoint --repeats 1 --no-plot --json"
    assert cli.main(arguments.split()) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    (told,) = [note for note in notes if "chaotic" in note]
    assert "known to 0.001 rad, m until t = " in told
