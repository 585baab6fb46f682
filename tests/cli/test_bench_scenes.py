"""The command line: ``vitree bench scenes``."""

from __future__ import annotations

import csv
import io
import json

import pytest

pytest.importorskip("typer")

from vitree import cli

SHORT = ("bench", "scenes", "--quick", "--no-peers", "--scene", "cradle", "--scene", "boxes-simple")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.main([str(x) for x in arguments])
        return status, *capsys.readouterr()

    return call


def test_scenes_are_printed(run):
    status, out, _ = run(*SHORT, "--methods", "linear-time, midpoint")
    assert status == 0
    assert "cradle (textbooks; dt = 0.01 s" in out and "linear-time      midpoint" in out
    assert "velocity error [m/s]" in out and "time of a step [us]" in out and out.rstrip().endswith(".")


def test_scenes_as_json_and_csv(run):
    status, out, _ = run(*SHORT, "--json")
    found = json.loads(out)
    assert status == 0 and [each["name"] for each in found["scenes"]] == ["cradle", "boxes-simple"]
    assert {row["program"] for row in found["table"]} == {"linear-time"}
    status, out, _ = run(*SHORT, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) == len(found["table"])
    assert rows[0] | {"value": 0.0} == {key: str(value) for key, value in found["table"][0].items()} | {"value": 0.0}


def test_a_file_wins_over_the_word(run, tmp_path):
    (tmp_path / "scenes").write_text("no robot")
    status, _, err = run("bench", "scenes")
    assert status == 2 and "scenes" in err
    status, _, err = run("bench", "scenes", "--quick")
    assert status == 2 and err.startswith("vitree: --quick: only 'vitree bench scenes' takes it")


def test_options_of_robots_are_refused(run):
    for option in (("--seed", 3), ("--steps", 4), ("--gravity", "0,0,0"), ("--mimic", "independent")):
        status, _, err = run(*SHORT, *option)
        assert status == 2 and err == f"vitree: {option[0]}: scenes have their own; leave it out\n"
