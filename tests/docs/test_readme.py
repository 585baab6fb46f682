"""The README's Python runs as it stands, and its commands name what exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from blocks import python_blocks, run_block
from places import ROOT

import vitree as vt
from vitree._core import widths

pytestmark = pytest.mark.slow

README = ROOT / "README.md"


@pytest.mark.parametrize("block", python_blocks(README))
def test_python_blocks_run(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_block(README, block)
    assert capsys.readouterr().err == ""


def test_methods_in_the_table_exist():
    text = (ROOT / "docs" / "choosing.md").read_text()
    table = text[text.index("| method |") : text.index("\n\n", text.index("| method |"))]
    names = set(re.findall(r"`((?:linear|midpoint|gauss|trapezoid|semi|explicit|implicit|rk|scipy)[\w-]*)`", table))
    assert names | {"scipy-rk45", "scipy-radau", "scipy-bdf", "scipy-lsoda"} == set(vt.METHODS)


def run(code: str, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=False
    )


@pytest.mark.parametrize("width", ["1", "2", "3", "4", "8"])
def test_the_width_can_be_chosen_and_changes_nothing(width):
    """VITREE_WIDTH is obeyed or refused by name; the bits of a run do not depend on it."""
    code = (
        "import hashlib, vitree as vt; model = vt.load_urdf(vt.find_robot('human'), base='free');"
        "run = vt.simulate(model, duration=0.02, dt=1e-3, control=[0.1] * model.nv);"
        "print(vt.cpu_width(), hashlib.sha256(run.v.tobytes() + run.energy.tobytes()).hexdigest())"
    )
    done = run(code, VITREE_WIDTH=width)
    if done.returncode:
        usable = [str(w) for w in widths()]
        assert f"VITREE_WIDTH={width}: this machine runs widths {', '.join(usable)}" in done.stderr
        assert width not in usable
    else:
        used, digest = done.stdout.split()
        assert used == width
        assert digest == run(code, VITREE_WIDTH="1").stdout.split()[1]


def test_import_is_quick_and_brings_no_leaf():
    """Optional packages and SciPy's solvers are imported where they are used."""
    done = run("import sys, vitree; print([m for m in ('matplotlib', 'typer', 'rich', 'scipy') if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr
