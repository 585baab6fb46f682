"""The command line: vehicles, and what is done with runs and robots: view, plot, convert, bench."""

from __future__ import annotations

import csv
import functools
import importlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from places import ROOT

import vitree as vt
from vitree import cli
from vitree.cli import console as cli_show
from vitree.cli.names import VEHICLES, vehicle

bench_module = importlib.import_module("vitree.run.bench")
CLOSED = ROOT / "examples/papers/johnson_murphey_2009/closed_chain.sexpr"
SHORT = ["--duration", "0.1", "--dt", "0.01"]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_show, "PATIENCE_OF_LINES", 1e6)  # on machines that are slow

    def call(*arguments):
        status = cli.main([str(x) for x in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def runs(run):
    """Files of a run of a car and of two of a pendulum."""
    assert run("simulate", "car", *SHORT, "--input", "torque=500", "-o", "car.npz")[0] == 0
    for method in ("midpoint", "rk4"):
        assert run("simulate", "double_pendulum", *SHORT, "-m", method, "-o", f"{method}.npz")[0] == 0
    return run


# ---- vehicles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VEHICLES)
def test_a_vehicle_stands_where_a_robot_does(run, name):
    status, out, err = run("info", name)
    assert status == 0 and err == "" and name in out and "inputs: " in out
    facts = json.loads(run("info", name, "--json")[1])
    assert facts["nv"] == vehicle(name).nv and facts["methods"] == list(vehicle(name).methods)
    status, out, err = run("simulate", name, *SHORT)
    assert status == 0 and err == "" and f"{name} by lie" in out
    assert vt.Trajectory.load("run.npz").model_name == name
    status, out, err = run("compare", name, *SHORT, "--no-plot", "--json")
    labels = [row["label"] for row in json.loads(out)["table"]]
    assert status == 0 and labels == [x for x in vehicle(name).methods if not x.startswith("scipy-")]


def test_the_start_of_a_vehicle_is_one_that_rolls(run):
    """Random velocities keep the constraints; the degrees of freedom are those that are left."""
    for name, count in (("car", 2), ("snakeboard", 3)):
        system = vehicle(name)
        shape = [0.1] * len(system.shape_names)
        assert run("simulate", name, *SHORT, "--q0", ",".join(map(str, [*shape, 0, 0, 0])))[0] == 0
        traj = vt.Trajectory.load("run.npz")
        assert np.abs(traj.v[0]).max() > 0.1
        system.require_allowed(traj.q[0], traj.v[0])
        out = run("compare", name, "-m", "lie", *SHORT, "--no-plot")[1]
        assert f"{name}: 5 velocities, {count} degrees of freedom" in out
        assert system.degrees_of_freedom == count
        assert np.linalg.matrix_rank(system.basis(np.array(shape))) == count
    out = run("compare", "double_pendulum", "-m", "rk4", *SHORT, "--no-plot")[1]
    assert "double_pendulum: 2 degrees of freedom, 0.1 s" in out
    assert "7 velocities and 4 constraints on them" in run("info", CLOSED)[1]
    assert json.loads(run("info", CLOSED, "--json")[1])["degrees_of_freedom"] is None


def test_inputs_drive(run):
    def speed(*options):
        assert run("simulate", "car", *SHORT, "--v0", "zero", *options)[0] == 0
        return vt.Trajectory.load("run.npz").v[-1, 3]

    assert speed() == 0
    once = speed("--input", "torque=500")
    assert once > 0.1 and np.isclose(speed("--input", "torque=1000"), 2 * once)
    assert run("compare", "car", "-m", "lie", *SHORT, "--no-plot", "--input", "torque=500")[0] == 0


def test_options_that_do_nothing_are_refused(runs):
    for arguments, word in [
        (["info", CLOSED, "--base", "free"], "--base"),
        (["simulate", CLOSED, "--gravity", "0,0,0"], "--gravity"),
        (["view", "car.npz", "--base", "free"], "--base"),
        (["view", "car.npz", "--q0", "1"], "--q0"),
        (["view", "car", "--robot", "car"], "--robot"),
        (["convert", "car.npz", "a.csv", "--lossy"], "--lossy"),
        (["convert", "car.npz", "a.csv", "--root", "x"], "--root"),
        (["convert", "human", "a.sexpr", "--lossy"], "--lossy"),
        (["plot", "energy", "car.npz", "--of", "v"], "--of"),
        (["plot", "phase", "car.npz", "--coordinate", "x", "--coordinate", "y"], "--coordinate"),
        (["plot", "energy", "car.npz", "--frame", "x"], "--frame"),
        (["plot", "gap", "car.npz", "--frame", "x"], "--frame"),
        (["plot", "contact-forces", "car.npz", "--coordinate", "x"], "--coordinate"),
        (["convert", "human", "a.sexpr", "--contacts"], "--contacts"),
        (["convert", "midpoint.npz", "a.json", "--contacts"], "--contacts"),
        (["convert", "midpoint.npz", "a.csv", "--contacts"], "may touch"),
    ]:
        status, out, err = runs(*arguments)
        assert status == 2 and out == "" and err.count("\n") == 1 and word in err, err


# ---- view -----------------------------------------------------------------------------------------


def test_view_writes_a_page_of_a_robot_or_of_runs(runs, tmp_path):
    pytest.importorskip("viser")
    for sources in (["double_pendulum", "--q0", "0.5,0.5"], ["car"], ["midpoint.npz", "rk4.npz", "--spread", "2"]):
        status, out, err = runs("view", *sources, "--html", "page.html")
        assert status == 0 and err == "" and out == "wrote page.html\n"
        text = (tmp_path / "page.html").read_text()
        assert all(word.removesuffix(".npz") in text for word in sources if word.endswith(".npz"))
        (tmp_path / "page.html").unlink()
    assert runs("view", "midpoint.npz", "--robot", "double_pendulum", "--html", "page.html")[0] == 0
    for arguments, word in [
        (["car.npz", "car"], "together"),
        (["car", "boat"], "together"),
        (["absent.npz"], "absent.npz"),
        (["car.npz", "car.npz"], "twice"),
        (["car.npz", "--robot", "double_pendulum"], "coordinates"),
        (["double_pendulum", "--q0", "1"], "--q0 has shape"),
        (["car", "--port", "0"], "port 0"),
        (["car", "--speed", "0"], "--speed"),
        (["car", "--host", "192.0.2.1"], "host 192.0.2.1"),
        (["car", "--html", "absent/a.html"], "absent"),
        (["car", "--html", "a.txt"], ".html or .htm"),
    ]:
        status, out, err = runs("view", *arguments)
        assert status == 2 and out == "" and err.count("\n") == 1 and word in err, (arguments, err)


def test_view_serves_until_interrupted(tmp_path):
    pytest.importorskip("viser")
    arguments = ["-m", "vitree", "view", "pendulum", "--no-browser", "--port", "18491"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    folder = str(pathlib.Path(vt.__file__).parent.parent)
    pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
    with subprocess.Popen([sys.executable, *arguments], env=os.environ | {"PYTHONPATH": folder}, **pipes) as served:
        try:
            url = served.stdout.readline().strip()
            assert url.startswith("http://localhost:")
            with urllib.request.urlopen(url, timeout=30) as page:
                assert b"<html" in page.read(4096)
            served.send_signal(signal.SIGINT)
            out, err = served.communicate(timeout=60)
        finally:
            served.kill()
    assert served.returncode == 0 and out == "" and err == "vitree: Ctrl-C ends it\n"


def test_a_browser_is_opened_on_a_terminal_with_a_display(run, monkeypatch):
    show = pytest.importorskip("vitree.viewer.show")
    pytest.importorskip("viser")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(show.Viewer, "wait", lambda self: self.stop())
    monkeypatch.setenv("DISPLAY", ":0")
    status, out, _ = run("view", "pendulum", "--port", "18551")
    assert status == 0 and opened == []  # stdout is no terminal
    status, out, _ = run("view", "pendulum", "--port", "18551", "--browser")
    assert status == 0 and opened == [out.strip()]


# ---- plot -----------------------------------------------------------------------------------------


def test_plot_draws_a_run_or_several(runs, tmp_path):
    plot = pytest.importorskip("vitree.plot")
    pytest.importorskip("matplotlib")
    status, out, err = runs("plot", "energy-error", "midpoint.npz")
    assert (status, out, err) == (0, "wrote energy-error-midpoint.png\n", "")
    assert plot.settings_of("energy-error-midpoint.png")["sources"][0]["method"] == "midpoint"
    status, out, _ = runs("plot", "phase", "midpoint.npz", "rk4.npz", "--of", "p", "-o", "a.svg", "--json")
    assert status == 0 and json.loads(out) == {"file": "a.svg", "plot": "phase", "runs": ["midpoint.npz", "rk4.npz"]}
    assert [source["label"] for source in plot.settings_of("a.svg")["sources"]] == [
        "midpoint, dt = 0.01 s", "rk4, dt = 0.01 s"]  # fmt: skip
    assert runs("plot", "coordinates", "car.npz", "--coordinate", "x", "--coordinate", "y", "-o", "a.pdf")[0] == 0
    before = sorted(tmp_path.iterdir())
    for arguments, word in [
        (["enrgy", "car.npz"], "energy"),
        (["torque", "car.npz"], "choose from"),
        (["order", "car.npz"], "of comparisons, not of runs: by vitree compare --plot"),
        (["work_precision", "car.npz"], "of comparisons"),
        (["car.npz", "energy"], "the plot's name comes first: vitree plot energy car.npz\n"),
        (["car.npz", "rk4.npz", "phase"], "first: vitree plot phase car.npz rk4.npz\n"),
        (["car.npz", "rk4.npz"], "first: vitree plot energy car.npz rk4.npz\n"),
        (["energy", "absent.npz"], "absent.npz"),
        (["energy", "car.npz", "car.npz"], "twice"),
        (["energy", "car.npz", "-o", "a.xyz"], "png"),
        (["energy", "car.npz", "-o", "absent/a.png"], "absent"),
        (["constraint", "car.npz"], "no constraints"),
        (["coordinates", "car.npz", "--coordinate", "z"], "psi"),
        (["phase", "car.npz", "--of", "q"], "choose from v, p"),
    ]:
        status, out, err = runs("plot", *arguments)
        assert status == 2 and out == "" and err.count("\n") == 1 and word in err, (arguments, err)
    assert sorted(tmp_path.iterdir()) == before
    assert runs("plot", "energy-error", "midpoint.npz")[1] == "replaced energy-error-midpoint.png\n"
    assert runs("plot", "energy", "midpoint.npz", "rk4.npz")[1] == "wrote energy-midpoint-rk4.png\n"


def test_a_run_is_known_by_its_first_bytes(runs, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "midpoint.npz").rename("run.txt")
    assert runs("plot", "energy", "run.txt")[1] == "wrote energy-run.png\n"
    assert runs("convert", "run.txt", "a.csv")[0] == 0
    pathlib.Path("notes.txt").write_text("of a kind")
    pathlib.Path("hollow.npz").write_text("")
    commands = [["convert", name, "a.csv"] for name in ("notes.txt", "hollow.npz")]
    if importlib.util.find_spec("viser"):
        assert runs("view", "run.txt", "rk4.npz", "--html", "a.html")[0] == 0
        commands += [["view", "notes.txt"], ["view", "car", "notes.txt"], ["view", "car.npz", "hollow.npz"]]
    for command in commands:
        status, out, err = runs(*command)
        assert status == 2 and out == "" and "is neither a run" in err and "robot" in err, err
    assert "'vitree simulate'" in runs("plot", "energy", "notes.txt")[2]
    human = vt.find_robot("human").read_bytes()
    for start in (b"", b"\xef\xbb\xbf", b"\n "):  # robots of other endings
        pathlib.Path("human.txt").write_bytes(start + human.partition(b"?>")[2].lstrip() if start else human)
        assert runs("convert", "human.txt", "a.sexpr")[0] == 0


def test_contacts_are_drawn_and_written(run, tmp_path):
    plot = pytest.importorskip("vitree.plot")
    pytest.importorskip("matplotlib")
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground())
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    traj = vt.simulate(model, q, [0, 0, 0, 1.0, 0, 0], duration=0.1, dt=0.01, monitors="gap")
    traj.save("ball.npz")
    for what, more in (("contact-forces", []), ("contact_forces", ["--frame", "ball"]), ("gap", []),
                       ("center-of-pressure", ["--frame", "ball"])):  # fmt: skip
        assert run("plot", what, "ball.npz", *more, "-o", f"{what}.png")[0] == 0
        assert plot.settings_of(f"{what}.png")["plots"] == [what.replace("-", "_")]
    status, _, err = run("plot", "contact-forces", "ball.npz", "--frame", "bal")
    assert status == 2 and 'did you mean "ball"' in err
    assert run("convert", "ball.npz", "a.csv", "--contacts")[1] == "wrote a.csv; left out: all but contacts\n"
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert rows[0][2:4] == ["a", "b"] and rows[1][2:4] == ["ball", "ground"] and len(rows) == 11


# ---- convert --------------------------------------------------------------------------------------


def test_convert_writes_runs_that_others_read(runs, tmp_path):
    traj = vt.Trajectory.load("midpoint.npz")
    status, out, err = runs("convert", "midpoint.npz", "a.csv")
    assert status == 0 and err == "" and out.startswith("wrote a.csv; left out: settings")
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert [float(row[0]) for row in rows[1:]] == traj.t.tolist() and rows[0][0] == "t [s]"
    assert json.loads(runs("convert", "midpoint.npz", "a.json", "--json")[1])["file"] == "a.json"
    facts = json.loads((tmp_path / "a.json").read_text())
    assert facts["columns"]["energy"] == {"unit": "J", "values": traj.energy.tolist()}
    assert facts["settings"]["dt"] == 0.01 and facts["method"] == "midpoint"
    assert runs("convert", "midpoint.npz", "again.npz")[1] == "wrote again.npz\n"
    assert np.array_equal(vt.Trajectory.load("again.npz").p, traj.p)
    for package, ending in (("xarray", "nc"), ("mcap", "mcap")):
        pytest.importorskip(package)
        assert runs("convert", "midpoint.npz", f"a.{ending}")[0] == 0 and (tmp_path / f"a.{ending}").stat().st_size
    for arguments, word in [(["midpoint.npz", "a.xlsx"], ".csv"), (["absent.npz", "a.csv"], "absent"),
                            (["midpoint.npz", "absent/a.csv"], "absent"), (["midpoint.npz", "a.urdf"], ".csv"),
                            (["car", "a.urdf"], "vehicle"), (["pendulum", "a.csv"], ".sexpr")]:  # fmt: skip
        status, out, err = runs("convert", *arguments)
        assert status == 2 and out == "" and err.count("\n") == 1 and word in err, (arguments, err)


def test_convert_writes_robots_and_says_what_is_lost(run):
    status, out, _ = run("convert", "human", "human.sexpr")
    assert status == 0 and out == "wrote human.sexpr; left out: shapes\n"
    human = vt.load_urdf(vt.find_robot("human"), base="free")
    assert vt.load_sexpr("human.sexpr").digest == human.digest
    status, out, _ = run("convert", "human.sexpr", "human.urdf", "--json")
    assert status == 0 and "--base free" in json.loads(out)["left_out"]
    again = vt.load_urdf("human.urdf", base="free")
    v = np.linspace(-1, 1, human.nv)
    assert again.kinetic_energy(again.neutral(), v) == pytest.approx(human.kinetic_energy(human.neutral(), v))
    status, out, err = run("convert", CLOSED, "a.urdf")
    assert status == 2 and out == "" and "--lossy" in err and not pathlib.Path("a.urdf").exists()
    status, out, _ = run("convert", CLOSED, "a.urdf", "--lossy")
    assert status == 0 and out.count('point "') == 4 and vt.load_urdf("a.urdf").nv == 7
    assert run("convert", CLOSED, "a.sexpr")[1] == "wrote a.sexpr\n"
    pathlib.Path("moon.sexpr").write_text(
        '(mechanical-system (gravity 0 0 -1.62) (rx "a" (tz -1 (body "b" 1 (0 0 0) (1 0 0 1 0 1)))))'
    )
    assert "--gravity=0,0,-1.62" in run("convert", "moon.sexpr", "moon.urdf")[1]


# ---- bench ----------------------------------------------------------------------------------------


def test_bench_times_methods_and_kernels(run):
    status, out, err = run("bench", "arm6", "--repeats", 2, "--steps", 10, "--no-peers", "--json")
    found = json.loads(out)
    assert status == 0 and err == ""
    steps = [row["name"] for row in found["table"] if row["of"] == "step"]
    assert steps == [name for name in vt.METHODS if not name.startswith("scipy-")]
    assert [row["name"] for row in found["table"] if row["of"] == "call"] == ["rnea", "aba", "crba"]
    assert all(0 < row["us"] < 1e6 and row["program"] == "vitree" for row in found["table"])
    settings = found["settings"]
    assert settings["steps"] == 10 and settings["versions"]["vitree"] == vt.__version__ and settings["machine"]
    status, out, _ = run("bench", "car", "-m", "lie,rk2", "--repeats", 1, "--steps", 10)
    assert status == 0 and "5 velocities, 2 degrees of freedom" in out and "kernel" not in out
    assert out.count("vitree") == 3  # two rows, and the version


def test_the_quicker_of_two_conventions_of_pinocchio_counts(monkeypatch):
    pytest.importorskip("pinocchio")
    seconds = iter([3e-6, 5e-6, 4e-6, 7e-6, 6e-6])  # of rnea, and of aba and crba in both conventions
    monkeypatch.setattr(bench_module, "_timed", lambda run, count: functools.partial(float, next(seconds)))
    root = ElementTree.parse(vt.find_robot("pendulum")).getroot()
    jobs, _ = bench_module._pinocchio(root, False, {}, np.zeros(1), 1e-3, 1)
    found = {name: job() for (_, _, name), job in jobs.items()}
    assert found == {"rnea": 3e-6, "aba": 4e-6, "crba": 6e-6}


def test_bench_times_peers_of_the_same_robot(run):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    found = json.loads(run("bench", "arm6", "--repeats", 1, "--steps", 10, "--json")[1])
    peers = {(row["program"], row["name"]) for row in found["table"] if row["program"] != "vitree"}
    assert "All without damping and friction" in found["notes"][-1]
    assert peers == {("mujoco", "Euler"), ("mujoco", "RK4"),
                     *(("pinocchio, from Python", name) for name in ("rnea", "aba", "crba"))}  # fmt: skip
    q0 = "0.6,-0.4,-0.42106560909423,0.70428431808750,0.9,-1.30455817264497,2.10297568930377"
    notes = json.loads(run("bench", CLOSED, "--repeats", 1, "-m", "rk4", "--q0", q0, "--v0", "zero", "--json")[1])
    assert "left out" in notes["notes"][0]
    assert {row["program"] for row in notes["table"]} == {"vitree"}


def test_peers_and_methods_are_timed_alike(monkeypatch):
    """Beside peers, which have no damping, the methods have none; alone, that of the file."""
    model = vt.load_urdf(vt.find_robot("arm6"))
    model = vt.Model(replace(model.flat, damping=np.ones(6), friction=np.ones(6)))
    seen, plain = [], bench_module.simulate

    def simulate(model, *arguments, **options):
        seen.append(model.damping.any() or model.friction.any())
        return plain(model, *arguments, **options)

    monkeypatch.setattr(bench_module, "simulate", simulate)
    peer = {("peer", "step", "x"): lambda: (1e-6, np.nan)}
    for peers, found, damped in ((False, peer, True), (True, {}, True), (True, peer, False)):
        monkeypatch.setattr(bench_module, "_peers_of", lambda *_, found=found: (found, []))
        bench_module.bench(model, ["rk4"], steps=5, repeats=1, peers=peers)
        assert seen.pop() == damped


def test_a_method_that_fails_is_said_to():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    found = bench_module.bench(
        model, ["rk4", "explicit-euler"], None, [0.0, 1e4], dt=0.01, steps=3, repeats=2, peers=False
    )
    rows = {row["name"]: row["us"] for row in found.table}
    assert np.isnan(rows["rk4"]) and rows["explicit-euler"] > 0 and "failed" in str(found)
    assert json.loads(found.to_json())["table"][0]["us"] is None


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--steps", "0"], "steps"),
        (["--repeats", "0"], "repeats"),
        (["--dt", "-1"], "dt"),
        (["-m", "rk44"], "rk4"),
        (["--v0", "1"], "v0"),
    ],
)
def test_bench_refuses(run, arguments, word):
    status, out, err = run("bench", "double_pendulum", *arguments)
    assert status == 2 and out == "" and err.count("\n") == 1 and word in err


def test_ctrl_c_ends_a_benchmark_with_130(run, monkeypatch):
    monkeypatch.setattr(bench_module, "simulate", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run("bench", "pendulum") == (130, "", "vitree: interrupted\n")


# ---- progress -------------------------------------------------------------------------------------


def test_what_cannot_tell_how_far_it_is_says_what_it_does_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(cli_show, "PATIENCE", 0.0)
    with cli_show.Busy("drawing"):
        pass
    assert capsys.readouterr().err == ""
    with monkeypatch.context() as patch:
        patch.setattr(cli_show, "PATIENCE_OF_LINES", 0.0)
        with cli_show.Busy("drawing") as busy:
            busy.timer.join()
    assert capsys.readouterr().err == "vitree: drawing ...\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with cli_show.Busy("drawing") as busy:
        busy.timer.join()
    assert "drawing" in capsys.readouterr().err


def test_runs_are_known_by_what_is_in_them(run, tmp_path):
    assert run("simulate", "pendulum", *SHORT, "-o", "run.NPZ")[0] == 0
    for name in ("swing", "run.dat", "run.NPZ"):
        if name != "run.NPZ":
            (tmp_path / name).write_bytes((tmp_path / "run.NPZ").read_bytes())
        assert run("view", name, "--html", "page.html")[0] == 0
        assert run("convert", name, "run.csv")[0] == 0


def test_bench_checks_where_it_starts():
    from vitree.run.bench import bench

    model = vt.load_urdf(vt.find_robot("pendulum"))
    for start in (([0.0, 0.0],), (None, [0.0, 0.0])):
        with pytest.raises(vt.InputError, match="0 has shape"):
            bench(model, [], *start, steps=1, repeats=1)
    assert bench(model, ["rk4"], steps=np.int64(1), repeats=1, peers=False).settings["steps"] == 1


def test_a_pipe_gets_a_line_a_stage(run, monkeypatch):
    """Of those that begin or go on when the time has come; none of what is done, and none twice."""
    clock = iter([0.0, 2.9, 3.0, 3.1, 5.0, 6.1, 9.2, 20.0]).__next__
    said = []
    monkeypatch.setattr(cli_show, "PATIENCE_OF_LINES", 3.0)
    monkeypatch.setattr(cli_show, "say", said.append)
    monkeypatch.setattr(cli_show.time, "monotonic", lambda: now)
    now = clock()
    with cli_show.Bar(None) as bar:
        for stage, done in (("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 9), ("b", 3)):
            now = clock()
            bar(done, 9, stage)
    assert said == ["a ...", "b ..."]
    for wanted in (True, False):
        assert not cli_show.Bar(wanted).lines


def test_a_long_command_says_to_a_pipe_what_it_does(run, monkeypatch):
    monkeypatch.setattr(cli_show, "PATIENCE_OF_LINES", 0.0)
    arguments = ("compare", "pendulum", "--methods", "rk4,midpoint", "--dt", "1e-6", "-T", "1", "--record-every",
                 "1000",
                 "--repeats", "1", "--no-plot")  # fmt: skip
    status, _, err = run(*arguments)
    lines = err.splitlines()
    assert status == 0 and len(lines) == len(set(lines)) > 0
    assert all(line.startswith("vitree: [") and line.endswith(" s ...") for line in lines)
    assert run(*arguments, "--no-progress")[2] == ""


# ---- ground and limits --------------------------------------------------------------------------------------


def test_robots_start_on_the_ground(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["--ground", "--friction", "0.5", "--restitution", "0.25", "-T", "0.05"]
    for more in ([], ["--v0", "zero"], ["--q0", "random", "--seed", "1", "-m", "midpoint", "--base", "euler"]):
        assert cli.main(["simulate", "human", *given, *more, "--no-damping"]) == 0
        capsys.readouterr()
        traj = vt.Trajectory.load("run.npz")
        base = "euler" if "euler" in more else "free"
        model = vt.load_urdf(vt.find_robot("human"), base=base, ground=vt.Ground(friction=0.5, restitution=0.25))
        ground = [gap for gap, b in zip(model.contact_gaps(traj.q[0]).gap, model.contact_gaps(traj.q[0]).b, strict=True)
                  if b == "ground"]  # fmt: skip
        assert min(ground) == pytest.approx(0.0, abs=1e-12)
        assert traj.contacts is not None and traj.settings["model_digest"]
    # numbers stay as they are, and a base that is fixed stays where it is
    high = ",".join(map(str, [0, 0, 2.0, 0, 0, 0, 1] + [0] * 35))
    assert cli.main(["simulate", "human", "--ground", "-T", "0.05", "--q0", high]) == 0
    assert vt.Trajectory.load("run.npz").q[0, 2] == 2.0
    assert cli.main(["simulate", "arm6", "--ground", "-T", "0.05"]) == 0
    capsys.readouterr()
    assert cli.main(["simulate", "pendulum", "--ground", "-T", "0.05"]) == 2
    assert '"rod1" and the ground overlap by 1 m' in capsys.readouterr().err


def test_a_start_is_brought_together_where_it_is_asked_for(tmp_path, capsys, monkeypatch):
    """A rod whose tip is in a ball: the error names the option with which it runs."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rod.xml").write_text("""<mujoco><worldbody>
      <body pos="0.3 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.1"/></body>
      <body><joint name="swing" axis="0 0 1"/><geom size="0.1" pos="0.25 0 0"/></body></worldbody></mujoco>""")
    assert cli.main(["simulate", "rod.xml", "--ground", "-T", "0.05"]) == 2
    told = capsys.readouterr().err
    assert "move them apart, as --q0 feasible does" in told and "feasible_start" not in told
    assert cli.main(["simulate", "rod.xml", "--ground", "-T", "0.05", "--q0", "feasible"]) == 0
    model = vt.load_mjcf("rod.xml")
    q = vt.Trajectory.load("run.npz").q[0]
    assert model.contact_gaps(q).gap.min() > -1e-9 and np.array_equal(q, vt.feasible_start(model).q)
    assert cli.main(["simulate", "car", "-T", "0.05", "--q0", "feasible", "--force"]) == 0


def test_what_touches_is_told(capsys, tmp_path):
    assert cli.main(["info", "human", "--ground", "--friction", "0.5", "--limits", "enforce"]) == 0
    told = capsys.readouterr().out
    assert "ground: friction 0.5, restitution 0" in told and "left_foot (8)" in told
    assert "limits of joints: enforce" in told
    assert cli.main(["info", "human", "--ground", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["ground"]["friction"], facts["ground"]["restitution"]) == (0.8, 0.0)
    assert {"frame": "left_foot", "points": 8, "shapes": ["Box"], "lost": 0.0} in facts["contacts"]
    assert cli.main(["info", "human", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ground"] is None and facts["contacts"] == [] and facts["limits"] == "report"


def test_check_finds_meshes_that_cannot_touch(capsys):
    name = str(ROOT / "tests" / "urdf_faults" / "collision_mesh_missing.urdf")
    assert cli.main(["check", name]) == 0
    assert cli.main(["check", name, "--ground"]) == 2
    assert "error contact-mesh" in (told := capsys.readouterr().out) and "--package" in told


def test_methods_that_know_no_contacts_are_left_out(capsys):
    given = ["human", "--ground", "--v0", "zero"]
    assert cli.main(["compare", *given, "-T", "0.02", "--repeats", "1", "--no-plot", "--json"]) == 0
    able = ["linear-time", "midpoint", "semi-implicit-euler", "rk4"]
    assert list(json.loads(capsys.readouterr().out)["settings"]["methods"]) == able
    assert cli.main(["bench", *given, "--steps", "5", "--repeats", "1", "--no-peers"]) == 0
    assert cli.main(["simulate", *given, "-T", "0.02", "-m", "rk4"]) == 0
    assert cli.main(["compare", *given, "-T", "0.02", "--no-plot", "-m", "scipy-rk45"]) == 2
    assert "use linear-time, midpoint" in capsys.readouterr().err


def test_joints_rebound_and_stand_as_told(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = vt.find_robot("arm6").read_text()
    arm = tmp_path / "rubs.urdf"
    arm.write_text(text.replace("<limit ", '<dynamics friction="0.3"/><limit '))
    given = [str(arm), "--limits", "enforce", "--limit-restitution", "0.5", "--joint-friction", "dry"]
    assert cli.main(["simulate", *given, "-T", "0.05"]) == 0
    model = vt.load_urdf(arm, limits="enforce", limit_restitution=0.5, friction="dry")
    assert vt.Trajectory.load("run.npz").settings["model_digest"] == model.digest and model.dry_friction.any()
    capsys.readouterr()
    assert cli.main(["info", *given]) == 0
    assert "dry friction" in (told := capsys.readouterr().out) and "limit restitution 0.5" in told
    assert cli.main(["simulate", *given, "--velocity-limits", "enforce", "-T", "0.05", "--force"]) == 0
    quick = vt.load_urdf(arm, limits="enforce", limit_restitution=0.5, friction="dry", velocity_limits="enforce")
    assert vt.Trajectory.load("run.npz").settings["model_digest"] == quick.digest != model.digest
    capsys.readouterr()
    assert cli.main(["info", *given, "--velocity-limits", "enforce"]) == 0
    assert "limits of velocities: enforce" in capsys.readouterr().out
    for words, text in (
        (["--limits", "enforce", "--limit-restitution", "2"], "--limit-restitution 2.0 must be a number from 0 to 1"),
        (["--limit-restitution", "0.5"], "give --limits enforce, too"),
        (["--velocity-limits", "hold"], '--velocity-limits hold is not known; choose from "report", "enforce"'),
        (["--joint-friction", "wet"], "--joint-friction wet is not known; choose from"),
        (["--joint-friction", "dry", "-m", "rk4"], "dry friction"),
        (["--ground", "--friction", "-1"], "--friction: the friction of the ground"),
    ):
        assert cli.main(["simulate", str(arm), *words, "-T", "0.02"]) == 2
        assert text in capsys.readouterr().err
    assert cli.main(["simulate", "car", "--joint-friction", "dry"]) == 2
    assert "--joint-friction: " in capsys.readouterr().err
    assert cli.main(["compare", str(arm), "--joint-friction", "dry", "-T", "0.02", "--repeats", "1", "--no-plot"]) == 0


def test_armature_and_files_without_mass(tmp_path, capsys):
    """The error of a run names the option that helps; the findings of check that say the same are one line."""
    text = vt.find_robot("arm6").read_text()
    arm = tmp_path / "bare.urdf"
    arm.write_text(re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL).replace("<axis", "<tune/><axis"))
    assert cli.main(["simulate", str(arm), "-T", "0.01"]) == 2
    assert "moves no mass" in (said := capsys.readouterr().err) and "--armature 1e-3 gives joints" in said
    assert "--inertia geometry" in said
    for given, armature in ((["1e-3"], 1e-3), (["elbow_joint=0.5", "--armature", "*=1e-3"], None)):
        assert cli.main(["simulate", str(arm), "-T", "0.01", "-o", "run.npz", "--force", "--armature", *given]) == 0
        model = vt.load_urdf(arm, armature=armature or {"elbow_joint": 0.5, "*": 1e-3})
        assert vt.Trajectory.load("run.npz").settings["model_digest"] == model.digest
    capsys.readouterr()
    for words, told in (
        (["1", "--armature", "2"], "--armature is given once"), (["-1"], "--armature -1.0 must be a f"),
        (["x=y"], '--armature "y" must be numbers'), (["elbw=1"], 'no joint of one coordinate "elbw"; choose from'),
    ):  # fmt: skip
        assert cli.main(["simulate", str(arm), "-T", "0.01", "--armature", *words]) == 2
        assert told in capsys.readouterr().err
    assert cli.main(["check", str(arm)]) == 0
    assert "and 5 more such, on lines" in (told := capsys.readouterr().out) and len(told.splitlines()) < 5
    assert cli.main(["check", str(arm), "--each"]) == 0
    assert capsys.readouterr().out.count("<tune>") == 6
