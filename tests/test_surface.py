"""The public surface: names that are shown, names of one kind, and how many arguments a call takes."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from places import ROOT

import vitree as vt

PARTS = ("control", "lie", "pairs", "vehicles")
#: Most arguments of the functions that take many. A number here may fall; what raises one needs another form.
MOST = {"load_urdf": 20, "rollout": 17, "compare": 15, "simulate": 15, "identify": 15, "view": 12, "linearize": 8,
        "from_mujoco": 10, "video": 10, "sweep": 9}  # fmt: skip
#: What functions return, which nobody makes by name.
RESULTS = {"BaseParameters", "EnsembleComparison", "EulerModel", "Excitation", "FeasibleStart", "Finding",
           "Gradient", "Identification", "JointInfo", "Linearization", "MujocoRobot", "Perturbation", "Rollout",
           "SavedState", "StaticEquilibrium", "Sweep", "WorkPrecision"}  # fmt: skip


def test_dir_shows_what_is_public_and_nothing_else():
    assert dir(vt) == sorted([*vt.__all__, *PARTS, "__version__"])
    assert all(hasattr(vt, name) for name in dir(vt))


@pytest.mark.parametrize("name", PARTS)
def test_parts_list_their_names(name):
    part = importlib.import_module(getattr(vt, name).__name__)
    assert all(hasattr(part, each) for each in part.__all__)


def test_no_call_takes_more_arguments_than_before():
    for name, most in MOST.items():
        taken = inspect.signature(getattr(vt, name)).parameters
        assert len(taken) <= most, f"{name} takes {len(taken)} arguments: {', '.join(taken)}"
    for name in vt.__all__:
        value = getattr(vt, name)
        if inspect.isfunction(value) and name not in MOST:
            assert len(inspect.signature(value).parameters) <= 8, name


def test_each_public_name_is_used_in_the_manual_or_an_example():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.py")]
    words = {word for page in pages for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    assert not sorted({*vt.__all__} - RESULTS - words)
    assert {*vt.__all__} >= RESULTS
