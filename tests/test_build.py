"""Building: which modules are compiled, and the error where none is. tools/check_package.py looks into the packages."""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
X86 = platform.machine().lower() in ("x86_64", "amd64")


def modules(widths: str) -> subprocess.CompletedProcess:
    """The compiled modules for VITREE_WIDTHS, in the order of compiling."""
    code = "import runpy; print(*(m.name[13:] for m in runpy.run_path('setup.py', run_name='setup')['modules']()))"
    environment = os.environ | {"VITREE_WIDTHS": widths}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


WIDE = {"_x4", "_x8", "_x1_avx2", "_x1_avx512"} if X86 else set()


@pytest.mark.parametrize("asked, built", [("1", {"_x1"}), ("2", {"_x1", "_x2"}), ("", {"_x1", "_x2"} | WIDE)])
def test_the_widths_to_build_can_be_chosen(asked, built):
    """One lane is always built; the longest module is begun first."""
    done = modules(asked)
    names = done.stdout.split()
    assert set(names) == built | {"_vehicles", "se3", "types", "_cyutility", "_cpu", "_link"}, done.stderr
    assert names[0].startswith("_x1")


def test_a_width_that_is_none_is_refused():
    done = modules("1,3")
    assert done.returncode and done.stderr.startswith("VITREE_WIDTHS names 3; the choices are 1, 2"), done.stderr


def test_source_without_its_core_says_so(tmp_path):
    shutil.copytree(ROOT / "vitree", tmp_path / "vitree", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", "import vitree"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: the folder {tmp_path} holds vitree's source without its compiled core"), last
    assert "run pip install -e . in that folder, or start Python in another folder" in last
