"""The command line: sweeps."""

from __future__ import annotations

import csv
import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("joblib")

import vitree as vt
from vitree import cli
from vitree.run import tasks
from vitree.run.sweep import ROWS, Folder

SHORT = ["-T", "0.04", "--backend", "threads"]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.main([str(x) for x in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_the_table_is_that_of_the_library(run, tmp_path):
    seeds = "--seed", 3, "--seeds", 2
    status, out, err = run("sweep", "pendulum", "car", "--dt", "0.02,0.01", *seeds, *SHORT, "-o", "a.csv")
    assert status == 0 and err == "vitree: wrote a.csv\n" and "8 runs, 0 failed" in out
    same = vt.sweep(
        {"pendulum": vt.load_urdf(vt.find_robot("pendulum")), "car": vt.vehicles.car()},
        {"dt": [0.02, 0.01], "seed": [3, 4]}, duration=0.04, backend="threads",
    )  # fmt: skip
    assert (tmp_path / "a.csv").read_text() == same.to_csv()
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv"}  # the folder of rows is gone


def test_a_row_starts_where_simulate_starts(run):
    status, out, _ = run("sweep", "double_pendulum", "--dt", 0.01, "--seeds", 3, "--q0", "random", *SHORT, "--json")
    row = json.loads(out)["table"][2]
    assert status == 0 and row["seed"] == 2
    start = "--seed", 2, "--q0", "random", "--v0", "random"
    facts = json.loads(run("simulate", "double_pendulum", "--dt", 0.01, "-T", 0.04, *start, "--json")[1])
    assert facts["energy_change"] == row["energy_change"] and facts["iterations_total"] == 4 * row["iterations_mean"]


def test_what_varies_and_what_does_not(run):
    status, out, _ = run(
        "sweep", "pendulum", "-m", "linear-time:riqn,rk4", "--set", "tolerance=1e-6,1e-9", "--set", "speed=1,2",
        "--option", "guess=euler", "--dt", "0.01", *SHORT, "--json", "--timings",
    )  # fmt: skip
    table = json.loads(out)["table"]
    assert status == 0
    assert [(row["method"], row["tolerance"], row["speed"]) for row in table] == [
        ("linear-time:riqn", 1e-6, 1), ("linear-time:riqn", 1e-6, 2), ("linear-time:riqn", 1e-9, 1),
        ("linear-time:riqn", 1e-9, 2), ("rk4", None, 1), ("rk4", None, 2),
    ]  # fmt: skip
    assert all(row["seconds"] > 0 and row["status"] == "ok" for row in table)


def test_an_interrupted_command_goes_on(run, tmp_path, monkeypatch):
    whole = run("sweep", "pendulum", "--seeds", 30, "--dt", 0.01, *SHORT, "-o", "whole.csv")
    monkeypatch.setattr(tasks, "AIM", 0.0)
    monkeypatch.setattr(tasks, "LEAST", 0.0)
    write = Folder.write

    def stop(self, rows, took):
        write(self, rows, took)
        if len(list(self.path.glob(ROWS))) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write", stop)
        status, out, err = run("sweep", "pendulum", "--seeds", 30, "--dt", 0.01, *SHORT, "-o", "a.csv", "--workers", 2)
    assert status == 130 and out == ""
    assert err.startswith("vitree: interrupted; 5 finished runs are in a.csv.rows; the same command runs the rest")
    status, out, err = run("sweep", "pendulum", "--seeds", 30, "--dt", 0.01, *SHORT, "-o", "a.csv")
    assert whole[0] == status == 0 and "5 of 30 rows were in a.csv.rows" in out
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "a.csv.rows").exists()
    with open("a.csv", newline="") as stream:
        assert len(list(csv.reader(stream))) == 31


@pytest.mark.parametrize("again", [False, True])
def test_a_folder_that_is_given_stays(run, tmp_path, again):
    for _ in range(1 + again):
        status, out, _ = run("sweep", "pendulum", "--dt", 0.01, *SHORT, "--folder", "rows")
        assert status == 0
    assert ("1 of 1 rows were in rows" in out) == again and (tmp_path / "rows").is_dir()


@pytest.mark.slow
def test_a_cluster_of_dask_is_started_and_ended(run, tmp_path):
    pytest.importorskip("distributed")
    command = "sweep", "pendulum", "--seeds", 20, "--dt", 0.01, "-T", 0.1
    assert run(*command, "--backend", "threads", "-o", "a.csv")[0] == 0
    assert run(*command, "--backend", "dask", "--workers", 2, "-o", "b.csv")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_robot_twice_is_refused(run):
    assert run("sweep", "pendulum", "pendulum", *SHORT)[2].count("twice") == 1
