"""What the command line takes where nothing is given is what Python takes."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import vitree as vt
from vitree import cli
from vitree.cli.options import Run
from vitree.run.bench import bench
from vitree.viewer.show import view

BEHIND = {"simulate": vt.simulate, "compare": vt.compare, "sweep": vt.sweep, "bench": bench, "view": view}
#: Where the command has a default that the function has not: it prints times, and needs a step and a file.
OWN = {
    "simulate": {"dt": "0.001", "output": Path("run.npz"), "max_halvings": None, "max_impacts": None, "monitor": "",
                 "accuracy": None},
    "compare": {"repeats": 3, "dt": "0.001", "plot": None, "no_plot": False, "html": None, "table": None,
                "ensemble": 1, "work_precision": False, "tolerances": None},
    "sweep": {"dt": "0.001", "seeds": 1, "varied": None, "output": None, "cluster": None},
    "view": {"q0": "neutral", "robot": None, "mp4": None, "fps": None, "size": None},
}
PRINTED = ("as_json", "force", "imports", "methods", "method", "engines", "progress", "notes")


def defaults(function) -> dict:
    found = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in found if each.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("name", BEHIND)
def test_defaults_of_a_command_are_those_of_its_function(name):
    (command,) = [each for each in cli.COMMANDS if each.__name__ == name]
    own, python = OWN.get(name, {}), defaults(BEHIND[name])
    for option, value in defaults(command).items():
        if option not in PRINTED:
            assert value == own.get(option, python.get(option, "not in Python")), option


def test_records_are_as_many_as_in_python():
    assert Run.record_every == defaults(vt.simulate)["record_every"]
