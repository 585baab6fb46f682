"""The command line: whole commands, run in process; what goes where, and exit statuses."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT
from robot_texts import TWO_LINKS as URDF

from vitree import cli
from vitree.cli import console as cli_show
from vitree.cli.base import PANELS, grouped
from vitree.cli.names import VEHICLES
from vitree.cli.words import in_options
from vitree.errors import ConvergenceError
from vitree.integrators import METHODS
from vitree.run.trajectory import Trajectory
from vitree.urdf.rules import RULES

# the modules, which vitree hides behind functions of the same names
reference_module = importlib.import_module("vitree.run.reference")
simulate_module = importlib.import_module("vitree.run.simulate")
SHORT = ["--duration", "0.1", "--dt", "0.01"]


@pytest.fixture
def robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.urdf").write_text(URDF)
    return "two.urdf"


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setattr(cli_show, "PATIENCE_OF_LINES", 1e6)  # on machines that are slow

    def call(*arguments):
        status = cli.main([str(x) for x in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_compare_prints_a_table_and_draws_a_picture(run, robot, tmp_path):
    status, out, err = run("compare", robot, "--methods", "linear-time,rk4", *SHORT)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[3:5]] == ["linear-time", "rk4"]
    assert err == "vitree: wrote compare-two.png\n"
    assert (tmp_path / "compare-two.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_was_there_is_said_to_be_replaced(run, robot):
    once, again = (run("compare", robot, "-m", "rk4", *SHORT)[2] for _ in range(2))
    assert (once, again) == ("vitree: wrote compare-two.png\n", "vitree: replaced compare-two.png\n")


def test_compare_writes_a_page_and_tables(run, robot, tmp_path):
    for name, begins in (("t.tex", "% Methods compared"), ("t.csv", "label,method,"), ("t.json", "{")):
        status, out, err = run("compare", robot, "-m", "linear-time,rk4", *SHORT, "--no-plot", "--html", "page.html",
                               "--table", name)  # fmt: skip
        assert status == 0 and "linear-time" in out and f"wrote {name}" in err
        assert (tmp_path / name).read_text().startswith(begins)
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page and all(f"<td>{method}</td>" in page for method in ("linear-time", "rk4"))
    assert "replaced page.html" in err and not (tmp_path / "compare-two.png").exists()
    (tmp_path / "mine.tex").write_text("a text of mine")
    for option, name in (("--html", "page.txt"), ("--table", "t.xls"), ("--table", "mine.tex")):
        status, _, err = run("compare", robot, *SHORT, option, name)
        assert status == 2 and option in err and name in err
    assert (tmp_path / "mine.tex").read_text() == "a text of mine"


def test_compare_as_json_with_orders_and_solvers(run, robot, tmp_path):
    status, out, err = run(
        "compare", robot, "-m", "linear-time:riqn,midpoint,rk4", "-T", 0.1, "--dt", "0.01,0.005",
        "--solver", "modified-newton", "--json", "--no-plot", "--no-damping", "--reference", "scipy-radau",
    )  # fmt: skip
    content = json.loads(out)
    assert status == 0 and err == "" and len(content["table"]) == 6
    assert content["settings"]["reference"] == "scipy-radau"
    solvers = [job.get("solver") for job in content["settings"]["methods"].values()]
    assert solvers == ["riqn", "modified-newton", None]
    orders = {row["label"]: row["order"] for row in content["table"]}
    assert abs(orders["midpoint"] - 2) < 0.2 and abs(orders["rk4"] - 4) < 0.4
    assert [path.name for path in tmp_path.iterdir()] == ["two.urdf"]


def test_the_start_is_seeded_and_can_be_given(run, robot):
    def start(*options):
        _, out, _ = run("compare", robot, "-m", "rk4", *SHORT, "--json", "--no-plot", *options)
        settings = json.loads(out)["settings"]
        return settings["q0"], settings["v0"]

    assert start() == start("--seed", 0, "--speed", 1) == start("--q0", "neutral")
    assert start()[0] == [0, 0] and np.abs(start()[1]).min() > 0
    assert start("--seed", 1)[1] != start()[1]
    assert start("--q0", "random")[1] == start()[1]
    assert np.allclose(start("--speed", 3)[1], 3 * np.array(start()[1]))
    assert start("--q0", "0.5,-1e-1", "--v0", "zero") == ([0.5, -0.1], [0, 0])
    assert start("--v0", "1,2")[1] == [1, 2]


def test_damping_and_gravity_options(run, robot):
    def energies(*options):
        status, _, _ = run(
            "simulate", robot, "-m", "rk4", *SHORT, "--v0", "1,0", "--q0", "1,0", *options
        )
        assert status == 0
        return Trajectory.load("run.npz").energy

    assert np.ptp(energies()) > 1e-3
    assert np.ptp(energies("--no-damping")) < 1e-5
    free = energies("--no-damping", "--gravity", "0,0,0")
    assert np.ptp(free) < 1e-9 and abs(free[0] - energies("--no-damping")[0]) > 1


def test_simulate_writes_the_trajectory(run, robot):
    status, out, err = run("simulate", robot, *SHORT, "-o", "a.npz", "--record-every", 2, "-m", "midpoint")
    traj = Trajectory.load("a.npz")
    assert status == 0 and err == ""
    assert traj.method == "midpoint" and traj.joint_names == ("shoulder", "elbow")
    assert np.allclose(traj.t, [0, 0.02, 0.04, 0.06, 0.08, 0.1])
    assert "10 steps" in out and "wrote 6 records to a.npz" in out
    assert f"energy changed by {traj.energy[-1] - traj.energy[0]:.3g} J" in out  # by the damping
    assert out.splitlines()[-1] == "see it: vitree view a.npz"
    status, out, err = run("simulate", robot, *SHORT, "-o", "a b.npz", "--json")
    facts = json.loads(out)
    assert status == 0 and err == "" and facts["steps"] == 10 and facts["file"] == "a b.npz"
    energy = Trajectory.load("a b.npz").energy
    assert facts["energy_error"] is None and facts["energy_change"] == energy[-1] - energy[0]
    status, out, _ = run("simulate", robot, "--duration", "0.01", "--dt", "0.01", "--no-damping")
    energy = Trajectory.load("run.npz").energy
    assert "1 step of 0.01 s in" in out and f"energy within {abs(energy[1] - energy[0]):.2e} J" in out
    facts = json.loads(run("simulate", robot, *SHORT, "--no-damping", "--json")[1])
    energy = Trajectory.load("run.npz").energy
    assert facts["energy_error"] == np.abs(energy - energy[0]).max() > 0
    assert "'a b.npz'" in run("simulate", robot, *SHORT, "-o", "a b.npz")[1].splitlines()[-1]  # for a shell


def test_orders_of_compositions(run, robot):
    """For all methods that have them by --order, or for one behind its name."""
    status, out, err = run(
        "compare", robot, "-m", "linear-time,linear-time:order=2,midpoint:modified-newton:order=6,rk4", "-T", 0.1,
        "--dt", "0.02,0.01", "--order", 4, "--json", "--no-plot", "--no-damping",
    )  # fmt: skip
    content = json.loads(out)
    assert status == 0 and err == ""
    chosen = [(job.get("solver"), job.get("order")) for job in content["settings"]["methods"].values()]
    assert chosen == [(None, 4), (None, 2), ("modified-newton", 6), (None, None)]
    orders = {row["label"]: row["order"] for row in content["table"]}
    assert abs(orders["linear-time"] - 4) < 0.3 and abs(orders["linear-time:order=2"] - 2) < 0.2
    status, _, _ = run("simulate", robot, *SHORT, "--order", 6, "-o", "a.npz")
    assert status == 0 and Trajectory.load("a.npz").settings["order"] == 6


def test_other_options_of_the_methods(run, robot):
    """They go to the methods that take them, as numbers, words and truth values."""
    status, _, _ = run(
        "simulate", robot, *SHORT, "-m", "midpoint", "--option", "tolerance=1e-6", "--option", "max_iterations=7",
        "--option", "guess=current", "--option", "caching=true",
    )  # fmt: skip
    settings = Trajectory.load("run.npz").settings["options"]
    assert status == 0 and settings == {
        "tolerance": 1e-6, "max_iterations": 7, "guess": "current", "caching": True,
    }  # fmt: skip
    _, out, _ = run(
        "compare", robot, "-m", "linear-time,rk4,scipy-rk45", *SHORT, "--option", "guess=euler", "--option",
        "rtol=1e-5", "--option", "max_halvings=2", "--json", "--no-plot",
    )  # fmt: skip
    own = {"guess": "euler", "max_halvings": 2}, {}, {"rtol": 1e-5}
    jobs = json.loads(out)["settings"]["methods"].items()
    assert [{key: job[key] for key in job if key != "method"} for _, job in jobs] == list(own)
    adapted = ("--option", "adapt=density", "--option", "rate=5")
    assert "0.01 s at rest" in run("simulate", robot, *SHORT, *adapted)[1]


def test_simulate_watches_and_halves(run, robot):
    """A spin of more than half a turn a step: halved by default, an error without."""
    spin = ("simulate", robot, *SHORT, "--v0", "0,400", "--q0", "0,0")
    status, _, _ = run(*spin, "--record-every", 5, "--monitor", "energy, iterations")
    traj = Trajectory.load("run.npz")
    assert status == 0 and list(traj.monitors) == ["t", "energy", "iterations"]
    assert len(traj) == 3 and len(traj.monitors["energy"]) == 10 and traj.settings["halved"] > 0
    status, _, err = run(*spin, "--max-halvings", 0)
    assert status == 2 and "half a turn" in err


def test_info_shows_a_tree(run, robot):
    status, out, err = run("info", robot)
    assert status == 0 and err == ""
    lines = out.splitlines()
    assert "2 degrees of freedom" in lines[0] and "2.5 kg" in lines[0]
    upper, lower = (next(x for x in lines if f"-> {name}" in x) for name in ("upper", "lower"))
    assert all(x in upper for x in ("shoulder", "revolute", "0 1 0", "-2 .. 1.5 rad", "1.5 kg"))
    assert "damping 0.25" in upper and "elbow" in lower
    assert lower.index("elbow") > upper.index("shoulder")  # further in: its child
    status, out, _ = run("info", robot, "--json", "--base", "free")
    facts = json.loads(out)
    assert status == 0 and facts["degrees_of_freedom"] == 8
    joint = next(joint for joint in facts["joints"] if joint["name"] == "shoulder")
    assert joint["lower"] == [-2] and joint["effort"] == [10] and joint["parent"] == "base"
    assert {link["name"]: link["mass"] for link in facts["links"]} == {
        "base": 3, "upper": 1.5, "lower": 1,
    }  # fmt: skip


@pytest.mark.parametrize("base", ["fixed", "free", "euler"])
def test_info_shows_every_joint_before_its_link(run, robot, base):
    _, out, _ = run("info", robot, "--base", base)
    facts = json.loads(run("info", robot, "--base", base, "--json")[1])
    assert f"{2 if base == 'fixed' else 8} degrees of freedom" in out.splitlines()[0]
    places = [out.find(f"{joint['name']} (") for joint in facts["joints"]]
    assert places == sorted(places) and min(places) > 0
    if base != "fixed":
        line = next(line for line in out.splitlines() if "-> base, 3 kg" in line)
        assert "root_joint" in line and "shoulder" not in line


def test_talos_is_a_free_robot(run):
    robots = pytest.importorskip("vitree.robots")
    if not robots.example_robots():
        pytest.skip("example-robot-data is not installed")
    status, out, _ = run("info", "talos")
    assert status == 0 and "38 degrees of freedom" in out and "arm_left_1_joint" in out


def test_robots_are_listed(run):
    status, out, _ = run("robots", "--json")
    found = json.loads(out)
    assert status == 0 and tuple(found["vehicles"]) == VEHICLES
    for name, path in found["robots"].items():
        assert path.endswith(".urdf"), name
    named, built = run("robots")[1].split("\n\nvehicles\n")
    assert max(map(len, named.splitlines())) <= 80 and set(named.split()) == set(found["robots"])
    assert [line.split(None, 1) for line in built.splitlines()] == [[*pair] for pair in found["vehicles"].items()]
    assert ":func:" not in built and all(text[0].isupper() and len(text) > 9 for text in found["vehicles"].values())
    named, again = run("robots", "--paths")[1].split("\n\nvehicles\n")
    assert [line.split(None, 1) for line in named.splitlines()] == [[*pair] for pair in found["robots"].items()]
    assert again == built


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["compare", "nosuchrobot"], "nosuchrobot"),
        (["compare", "absent.urdf"], "absent.urdf"),
        (["compare"], "ROBOT"),
        (["frobnicate"], "frobnicate"),
        (["compare", "ROBOT", "--frobnicate"], "--frobnicate"),
        (["compare", "ROBOT", "--methods", "rk44"], "rk4"),
        (["compare", "ROBOT", "--methods", ""], "empty"),
        (["compare", "ROBOT", "--methods", "rk4,rk4"], "rk4"),
        (["compare", "ROBOT", "--methods", "linear-time:recursve-newton"], "recursive-newton"),
        (["compare", "ROBOT", "--solver", "recursve-newton"], "recursive-newton"),
        (["compare", "ROBOT", "--dt", "fast"], "--dt"),
        (["compare", "ROBOT", "--dt", "0"], "dt"),
        (["compare", "ROBOT", "--dt", "nan"], "dt"),
        (["compare", "ROBOT", "--dt", "0.003"], "0.003"),
        (["compare", "ROBOT", "--duration", "-1"], "duration"),
        (["compare", "ROBOT", "--duration", "long"], "duration"),
        (["compare", "ROBOT", "--base", "loose"], "fixed"),
        (["compare", "ROBOT", "--mimic", "yes"], "independent"),
        (["compare", "ROBOT", "--loops", "yes"], "constraints"),
        (["compare", "ROBOT", "--q0", "1"], "q0"),
        (["compare", "ROBOT", "--q0", "1,nan"], "q0"),
        (["compare", "ROBOT", "--v0", "1,2,3"], "v0"),
        (["compare", "ROBOT", "--seed", "-1"], "--seed"),
        (["compare", "ROBOT", "--gravity", "down"], "--gravity"),
        (["compare", "ROBOT", "--record-every", "0"], "every"),
        (["compare", "ROBOT", "--reference", "exact"], "scipy-dop853"),
        (["compare", "ROBOT", "--plot", "a.xyz"], "png"),
        (["compare", "ROBOT", "--plot", "absent/a.png"], "absent"),
        (["compare", "ROBOT", "--order", "3"], "2, 4, 6, 8"),
        (["compare", "ROBOT", "--methods", "rk4:order=4"], "order"),
        (["compare", "ROBOT", "--methods", "linear-time:order=four"], "order="),
        (["compare", "ROBOT", "--methods", "linear-time:alpha=4"], ":order="),
        (["compare", "ROBOT", "--methods", "rk4", "--option", "tolerance=1"], "--option tolerance=:"),
        (["compare", "ROBOT", "--option", "tolerence=1"], "tolerance"),
        (["compare", "ROBOT", "--methods", "rk44", "--option", "tolerance=1"], 'did you mean "rk4"'),
        (["compare", "ROBOT", "--option", "adapt=density"], "leave out --option adapt= for"),
        (["simulate", "ROBOT", "--option", "tolerence=1"], 'did you mean "tolerance"'),
        (["simulate", "ROBOT", "--option", "tolerance"], "NAME=VALUE"),
        (["simulate", "ROBOT", "--option", "tolerance=1"], "--option tolerance=1 must be"),
        (["simulate", "ROBOT", "--option", "rate=1"], "--option rate= requires --option adapt=,"),
        (["simulate", "ROBOT", "--order", "4", "--option", "order=6"], "--order and --option order="),
        (["simulate", "ROBOT", "--max-halvings", "4", "--option", "max_halvings=6"],
         "--max-halvings and --option max_halvings="),
        (["simulate", "ROBOT", "-o", "run.txt"], ".npz"),
        (["simulate", "ROBOT", "--duration", "0.0015"], "--duration 0.0015 s"),
        (["info", "ROBOT", "--density", "-1", "--inertia", "geometry"], "--density -1.0 must be"),
        (["simulate", "ROBOT", "--order", "5"], "2, 4, 6, 8"),
        (["simulate", "ROBOT", "--max-halvings", "-1"], "--max-halvings -1"),
        (["simulate", "ROBOT", "--monitor", "enrgy"], "energy"),
        (["simulate", "ROBOT", "--method", "rk4", "--order", "4"], "order"),
        (["simulate", "ROBOT", "--method", "rk44"], "rk4"),
        (["simulate", "ROBOT", "--dt", "-1"], "dt"),
        (["simulate", "ROBOT", "--dt", "1e-320"], "--dt 1e-320 s is too small"),
        (["compare", "ROBOT", "--dt", "1e-320"], "--dt 1e-320 s is too small"),
        (["simulate", "ROBOT", "-o", "absent/run.npz"], "absent"),
        (["simulate", "ROBOT", "-o", "."], "directory"),
        (["simulate", "ROBOT", "--method", "rk4", "--solver", "riqn"], "solver"),
        (["compare", "ROBOT", "--methods", "rk4", "--solver", "riqn"], "--solver"),
        (["simulate", "ROBOT", "--input", "torque=1"], "input"),
        (["simulate", "car", "--input", "torque"], "NAME=VALUE"),
        (["simulate", "car", "--input", "torque=big"], "NAME=NUMBER"),
        (["simulate", "car", "--input", "torque=big"], '"big" is no number'),
        (["simulate", "car", "--input", "torque=nan"], "--input torque=nan must be a finite number"),
        (["simulate", "ROBOT", "--speed", "-1"], "--speed -1.0 must be a finite number, 0 or more"),
        (["simulate", "car", "--input", "torqe=1"], "torque"),
        (["simulate", "car", "--method", "linear-time"], "lie"),
        (["simulate", "car", "--base", "free"], "--base"),
        (["simulate", "car", "--gravity", "0,0,0"], "--gravity"),
        (["simulate", "car", "--no-damping"], "--no-damping"),
        (["simulate", "car", "--q0", "random"], "neutral"),
        (["simulate", "car", "--v0", "0,0,0,0,1"], "constraints"),
        (["compare", "car", "--solver", "riqn"], "--solver"),
        (["info", "snakebord"], "snakeboard"),
        (["check", "car"], "vehicle"),
        (["fix", "car", "-o", "a.urdf"], "vehicle"),
        (["info", "."], "is a folder"),
        (["info", "run.npz"], "view, plot and convert take runs"),
        (["info", "broken.urdf"], "broken.urdf"),
    ],
)
def test_errors_are_one_line_and_status_2(run, robot, tmp_path, arguments, words):
    (tmp_path / "broken.urdf").write_text("<robot")
    before = sorted(tmp_path.iterdir())
    status, out, err = run(*[robot if x == "ROBOT" else x for x in arguments])
    assert status == 2 and out == ""
    assert err.startswith("vitree: ") and err.count("\n") == 1, err
    assert words in err
    assert sorted(tmp_path.iterdir()) == before


def test_only_errors_of_the_file_name_the_command_that_checks_it(run, robot, tmp_path):
    (tmp_path / "broken.urdf").write_text("<robot")
    for name, more, words in (
        ("broken.urdf", (), "; see: vitree check broken.urdf\n"), (robot, ("--gravity", "nan,0,0"), "--gravity"),
        (robot, ("--gravity", "1,2"), "--gravity"), (robot, ("--ground", "--friction", "nan"), "--friction"),
    ):  # fmt: skip
        status, _, err = run("simulate", name, *SHORT, *more)
        assert status == 2 and words in err and ("vitree check" in err) == (name == "broken.urdf"), err


def test_warnings_of_runs_are_in_the_words_of_the_command_line(run, robot):
    beyond = ["--q0", "9,9", "--v0", "zero"]
    told = run("simulate", robot, *SHORT, *beyond, "--notes")[2]
    shown = run("compare", robot, *SHORT, *beyond, "--no-plot", "-m", "rk4")[1]
    for text in (told, shown):
        assert "read or build the robot with --limits enforce" in text and "limits=" not in text, text


def stopped(error):
    """A simulate() that stops halfway and hands over what it has."""
    plain = simulate_module.simulate

    def stop(*args, **options):
        error.trajectory = plain(*args, **options)[:5]
        raise error

    return stop


def test_simulate_keeps_what_was_computed_before_a_failure(run, robot, monkeypatch):
    error = ConvergenceError("step 5 was not solved", time=0.04, residual=1.0, iterations=30)
    monkeypatch.setattr(simulate_module, "simulate", stopped(error))
    status, out, err = run("simulate", robot, *SHORT)
    assert status == 2 and out == "" and err.count("\n") == 1
    assert "step 5 was not solved" in err and "run.npz" in err
    assert len(Trajectory.load("run.npz")) == 5


def test_ctrl_c_keeps_what_was_computed(run, robot, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(simulate_module, "simulate", stopped(KeyboardInterrupt()))
        status, _, err = run("simulate", robot, *SHORT)
    assert status == 130 and len(Trajectory.load("run.npz")) == 5
    assert err.count("\n") == 1 and "run.npz" in err

    plain = reference_module.simulate

    def stop_at_rk4(model, given):
        if given.method == "rk4" and given.duration > 0.15:
            raise KeyboardInterrupt
        return plain(model, given)

    monkeypatch.setattr(reference_module, "simulate", stop_at_rk4)
    status, out, err = run(
        "compare", robot, "-m", "midpoint,rk4", "--dt", 0.01, "-T", 0.2, "--plot", "a.png"
    )
    assert status == 130 and "Traceback" not in err
    assert "midpoint" in out and "rk4" not in out


def test_a_method_that_fails_is_a_row(run, robot):
    status, out, _ = run(
        "compare", robot, "-m", "explicit-euler,rk4", "--dt", "0.5", "-T", "500", "--no-plot",
        "--reference", "none", "--v0", "9,-9",
    )  # fmt: skip
    assert status == 0
    assert len(re.findall(r"^(?:explicit-euler|rk4) +0\.5 ", out, re.MULTILINE)) == 2
    assert "failed at t =" in out


def test_progress_goes_to_stderr_when_forced(run, robot):
    arguments = ["compare", robot, "-m", "rk4", *SHORT, "--no-plot"]
    _, quiet, err = run(*arguments)
    assert err == ""  # not a terminal
    _, shown, err = run(*arguments, "--progress")
    assert "rk4, dt = 0.01 s" in err
    assert "\x1b" not in shown and shown.splitlines()[0] == quiet.splitlines()[0]


@pytest.mark.parametrize("command", [command.__name__ for command in cli.COMMANDS])
def test_help_explains_every_option_with_its_unit(run, command):
    assert run(command, "--help")[0] == 0
    (function,) = [each for each in cli.COMMANDS if each.__name__ == command]
    hints = {name: hint for name, hint in grouped(function).__annotations__.items() if name != "return"}
    texts = {name: hint.__metadata__[0].help for name, hint in hints.items()}
    assert all(len(text.split()) > 2 for text in texts.values())
    for name, hint in hints.items():
        kind = str(hint.__origin__)
        if "float" in kind or name == "dt":
            units = r"\bin (s|1/s|m|rad/s|m/s|kg/m\^3)(?!\w)|\bwithout unit\b"
            assert re.search(units, texts[name]), name
        elif "int" in kind:
            assert "number" in texts[name].lower(), name
    if command in ("compare", "simulate", "bench"):
        assert all(any(name in text for text in texts.values()) for name in METHODS)


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("command", [command.__name__ for command in cli.COMMANDS])
def test_help_is_in_panels_of_narrow_lines_with_an_example(run, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", columns)
    out = run(command, "--help")[1]
    assert max(map(len, out.splitlines())) <= min(int(columns), 100)
    panels = re.findall(r"^╭─ (\w+)", out, re.M)
    ordered = [panel for panel in (*PANELS,) if panel in panels]
    assert panels == ["Arguments"] * ("Arguments" in panels) + ["Options", *ordered]
    assert f"Example: vitree {command}" in out
    if command == "simulate":
        assert ordered == ["Robot", "Start", "Control", "Run", "Output"]


def test_help_of_the_whole(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run()
    lines = out.split("╭─ Commands")[1].splitlines()[1:]
    lines = [line for line in lines if line.startswith("│")]
    assert len(lines) == len(cli.COMMANDS) and all(re.fullmatch(r"│ \w+ +[A-Z].*\w\. *│", x) for x in lines), lines
    assert status == 0 and all(command.__name__ in out for command in cli.COMMANDS)
    assert run("--help")[1] == out


def test_version(run):
    status, out, _ = run("--version")
    assert status == 0 and re.fullmatch(r"vitree \S+\n", out)


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "vitree", "info", "absent.urdf"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "absent.urdf" in done.stderr


def test_without_typer_the_extra_is_named(run, monkeypatch):
    monkeypatch.setattr(cli, "typer", None)
    status, out, err = run("--help")
    assert status == 2 and out == "" and err.count("\n") == 1 and "vitree[cli]" in err


def test_without_matplotlib_the_table_still_comes(run, robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    status, out, err = run("compare", robot, "-m", "rk4", *SHORT)
    assert status == 0 and "rk4" in out and "vitree[plot]" in err
    status, out, err = run("compare", robot, "-m", "rk4", *SHORT, "--plot", "a.png")
    assert status == 2 and out == "" and err.startswith("vitree: plotting needs the package matplotlib")
    run("simulate", robot, *SHORT)
    status, out, err = run("plot", "energy", "run.npz")
    assert status == 2 and out == "" and err.startswith("vitree: plotting needs the package matplotlib")


def test_mimic_joints_and_loops_become_constraints(run, robot, tmp_path):
    """A third joint mimics the elbow; a slide leads to the lower link as well."""
    more = """<link name="tool"><inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="grip" type="revolute"><parent link="lower"/><child link="tool"/><axis xyz="0 1 0"/>
      <mimic joint="elbow" multiplier="2" offset="0.3"/></joint>
      <joint name="slot" type="prismatic"><parent link="base"/><child link="lower"/><origin xyz="0 0 -1"/>
      <axis xyz="0 0 1"/></joint></robot>"""
    (tmp_path / "two.urdf").write_text(URDF.replace("</robot>", more))
    status, _, err = run("info", robot, "--mimic", "constraints")
    assert status == 2 and "; --loops constraints closes the loop" in err
    options = ("--mimic", "constraints", "--loops", "constraints")
    status, out, _ = run("info", robot, *options)
    assert status == 0 and 'constraint: coupling "grip" and "elbow"' in out
    assert 'constraint: point "slot" - "lower"' in out
    (tmp_path / "two.urdf").write_text(URDF.replace("</robot>", more.replace("base", "upper")
                                                    .replace("prismatic", "planar")))  # fmt: skip
    status, _, err = run("simulate", robot, *options, "-m", "midpoint", *SHORT)
    assert status == 0 and err.endswith("vitree check two.urdf --mimic constraints --loops constraints\n")
    assert abs(Trajectory.load("run.npz").constraint).max() < 1e-11
    status, out, _ = run("compare", robot, *options, "-m", "linear-time", *SHORT, "--no-plot")
    assert status == 0 and "linear-time" in out


def test_a_mechanism_in_s_expressions(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain = ROOT / "examples/papers/johnson_murphey_2009/closed_chain.sexpr"
    assert cli.main(["info", str(chain)]) == 0
    assert capsys.readouterr().out.count("constraint: point ") == 4
    assert cli.main(["info", str(chain), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["constraints"]) == 4
    # a random start is brought to satisfy the constraints
    assert cli.main(["simulate", str(chain), "--method", "midpoint", "--duration", "0.1", "--dt", "0.01", "--q0",
                 "0.6,-0.4,-0.42106560909423,0.70428431808750,0.9,-1.30455817264497,2.10297568930377",
                 "-o", "run.npz"]) == 0  # fmt: skip
    assert abs(Trajectory.load("run.npz").constraint).max() < 1e-11


# ---- robot files ------------------------------------------------------------------------------------

#: Of length 2, and an inertia that no body has: two warnings.
WARNED = URDF.replace('<axis xyz="0 1 0"/></joint>', '<axis xyz="0 2 0"/></joint>')
WARNED = WARNED.replace('izz="0.01"', 'izz="0.3"', 1)
BROKEN = URDF.replace('value="1.5"', 'value="1.5kg"').replace('upper="1.5"', 'upper="1,5"')


@pytest.mark.parametrize(
    ("text", "status", "strict", "ids"),
    [
        (URDF, 0, 0, []),
        (WARNED, 0, 1, ["inertia-triangle", "axis-length"]),
        (BROKEN, 2, 2, ["number", "number"]),
        ("<robot", 2, 2, ["xml-syntax"]),
    ],
)
def test_check_says_each_fault_in_a_line(run, robot, tmp_path, text, status, strict, ids):
    (tmp_path / "two.urdf").write_text(text)
    code, out, err = run("check", robot)
    assert code == status and run("check", robot, "--strict")[0] == strict
    lines = out.splitlines()
    assert [re.fullmatch(r"two\.urdf:\d+: (error|warning) ([\w-]+): .+", line)[2] for line in lines] == ids
    assert err.count("\n") == 1 and f"{sum('error' in line for line in lines)} error" in err
    assert ('inertia="' in out, "--inertia repair" in out) == (False, "inertia-triangle" in ids)
    code, out, err = run("check", robot, "--json")
    found = json.loads(out)
    assert code == status and err == ""
    assert [f["id"] for f in found["findings"] if f["severity"] != "note"] == ids
    assert found["counts"]["error"] + found["counts"]["warning"] == len(ids)


def test_check_takes_several_files_and_options(run, robot, tmp_path):
    (tmp_path / "other.urdf").write_text(WARNED)
    code, out, err = run("check", robot, "other.urdf", "--inertia", "strict")
    assert code == 2 and [line.split(":")[0] for line in out.splitlines()] == ["other.urdf"] * 2
    assert err.endswith("; checks that need these parts come once the errors are corrected\n")
    assert run("check", robot)[2] == "vitree: 0 errors, 0 warnings, 0 repairs, 1 note (--notes shows them)\n"
    _, out, err = run("check", robot, "--notes")
    assert out.count("note") >= 1 and "--notes" not in err
    for wrong in (["--inertia", "no"], ["--root", "nowhere"], ["--base", "no"], ["absent.urdf"]):
        code, out, err = run("check", robot, *wrong)
        assert code == 2 and out == "" and err.count("\n") == 1


def test_fix_writes_what_check_finds_clean(run, robot, tmp_path):
    (tmp_path / "two.urdf").write_text(WARNED)
    code, out, err = run("fix", robot, "-o", "fixed.urdf")
    assert code == 0 and err == "vitree: 2 changes; wrote fixed.urdf\n"
    assert [line.split(" ")[1] for line in out.splitlines()] == ["repair", "repair"]
    assert run("check", "fixed.urdf", "--strict")[0] == 0
    assert run("fix", "fixed.urdf", "-o", "again.urdf")[1] == ""
    assert (tmp_path / "again.urdf").read_text() == (tmp_path / "fixed.urdf").read_text()
    assert run("fix", robot, "-o", "solid.urdf", "--inertia", "geometry")[0] == 0
    (tmp_path / "two.urdf").write_text(BROKEN)
    code, out, err = run("fix", robot, "-o", "never.urdf")
    assert code == 2 and out == "" and "1.5kg" in err and not (tmp_path / "never.urdf").exists()
    assert run("fix", robot, "-o", "nowhere/never.urdf")[0] == 2


def test_warnings_of_a_file_are_counted_once(run, robot, tmp_path):
    """By each command that reads it, with the command that shows them, whose count is the same."""
    (tmp_path / "a b.urdf").write_text(WARNED)
    for name, *more in (
        ("info",), ("info", "--json"), ("simulate", *SHORT), ("simulate", *SHORT, "--json"),
        ("compare", *SHORT, "--no-plot"), ("bench", "--repeats", 1, "--no-peers", "--json"),
    ):  # fmt: skip
        status, out, err = run(name, "a b.urdf", "--base", "free", *more)
        assert (status, err) == (0, "vitree: 2 warnings, see: vitree check 'a b.urdf' --base free\n"), name
        assert "--json" not in more or json.loads(out)
        assert run(name, robot, *more)[2] == ""
    assert ", 2 warnings," in run("check", "a b.urdf", "--base", "free")[2]
    assert run("info", "a b.urdf", "--inertia", "repair")[2].startswith("vitree: 1 warning, see")


def test_remedies_of_findings_are_in_the_words_of_the_command_line():
    assert RULES["several-roots"].remedy == "connect them by joints, or choose one by root="
    for rule in RULES.values():
        assert not re.search(r"(?<!<robot )\b\w+=", in_options(rule.remedy)), rule
    for same in ("wrote dt=0.1.npz", 'no joint "dt=3"', "t = 1 s, dt = 0.1 s", "a/order=2/b"):
        assert in_options(same) == same


def test_files_are_read_as_they_are_asked_to_be(run, tmp_path, monkeypatch):
    """Roots, policies, packages and arguments of xacro reach the reader."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.urdf").write_text(WARNED)
    facts = json.loads(run("info", "two.urdf", "--root", "lower", "--base", "fixed", "--json")[1])
    assert facts["links"][0]["name"] == "lower"
    shown = run("info", "two.urdf", "--inertia", "repair")[1]
    assert "repair: the inertia of link" in shown
    (tmp_path / "lib" / "parts").mkdir(parents=True)
    (tmp_path / "lib" / "parts" / "p.stl").touch()
    mesh = '<visual><geometry><mesh filename="package://parts/p.stl"/></geometry></visual>'
    meshed = URDF.replace("</link>", f"{mesh}</link>", 1)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "two.urdf").write_text(meshed)
    assert "mesh-missing" in run("check", "deep/two.urdf", "--notes")[1]
    assert "mesh-missing" not in run("check", "deep/two.urdf", "--notes", "--package", "parts=lib/parts")[1]
    assert "mesh-missing" not in run("check", "deep/two.urdf", "--notes", "--package", "lib")[1]
    for wrong in (["--package", "a=b", "--package", "c"], ["--xacro", "novalue"], ["--package", "x=/nowhere"]):
        assert run("info", "two.urdf", *wrong)[0] == 2
    pytest.importorskip("xacrodoc")
    head = '<robot name="two" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="tip" default="lower"/>'
    xacro = URDF.replace('<robot name="two">', head).replace('"lower"', '"$(arg tip)"')
    (tmp_path / "two.urdf.xacro").write_text(xacro)
    links = json.loads(run("info", "two.urdf.xacro", "--xacro", "tip=hand", "--json")[1])["links"]
    assert [link["name"] for link in links] == ["base", "upper", "hand"]


@pytest.mark.parametrize("line", ["info {}", "view {} --no-browser", "fix {} --output fixed.urdf", "simulate {}",
                                  "convert {} other.sexpr"])  # fmt: skip
@pytest.mark.parametrize("text, word", [('<robot name="r"><link', "not XML"), (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolut"><parent link="a"/>'
    '<child link="b"/></joint></robot>', "revolut")])  # fmt: skip
def test_errors_of_a_robot_file_name_the_command_that_lists_them(run, tmp_path, monkeypatch, line, text, word):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my robot.urdf").write_text(text)
    words = [part.format("my robot.urdf") for part in line.split()]
    status, out, err = run(*words, "--base", "fixed")
    assert status == 2 and out == "" and word in err
    told = err.strip().partition("; see: ")[2]
    assert told == "vitree check 'my robot.urdf' --base fixed"
    status, out, _ = run(*shlex.split(told)[1:])
    assert status == 2 and word in out


def test_several_runs_are_called_by_method_and_step(run, robot, tmp_path):
    from vitree.cli.view import load_runs

    made = ("a", "rk4", "0.01"), ("b", "rk4", "0.02"), ("c", "midpoint", "0.01"), ("d", "rk4", "0.01")
    for name, method, dt in made:
        run("simulate", robot, "--method", method, "--dt", dt, "-T", "0.1", "-o", f"{name}.npz")
    assert list(load_runs(["a.npz", "b.npz", "c.npz"])) == [
        "rk4, dt = 0.01 s", "rk4, dt = 0.02 s", "midpoint, dt = 0.01 s"]  # fmt: skip
    assert list(load_runs(["a.npz", "c.npz", "d.npz"])) == [
        "a: rk4, dt = 0.01 s", "midpoint, dt = 0.01 s", "d: rk4, dt = 0.01 s"]  # fmt: skip
