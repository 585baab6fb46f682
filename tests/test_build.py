"""Building: which modules are compiled, and the error where none is. tools/check_package.py looks into the packages."""

from __future__ import annotations

import gzip
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import time
from types import SimpleNamespace

import pytest
from places import ROOT, of_source


def modules(widths: str) -> subprocess.CompletedProcess:
    """The compiled modules for VITREE_WIDTHS, in the order of compiling."""
    code = "import runpy; print(*(m.name[13:] for m in runpy.run_path('setup.py', run_name='setup')['modules']()))"
    environment = os.environ | {"VITREE_WIDTHS": widths}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


WIDE = {"_x2", "_x4", "_x8", "_x1_avx2", "_x1_avx512"}


@pytest.mark.parametrize("asked, built", [("1", {"_x1"}), ("2", {"_x1", "_x2"}), ("", {"_x1"} | WIDE)])
def test_the_widths_to_build_can_be_chosen(asked, built):
    """One lane is always built; the longest module is begun first."""
    done = modules(asked)
    names = done.stdout.split()
    assert set(names) == built | {"_vehicles", "se3", "types", "_cyutility", "_cpu", "_link"}, done.stderr
    assert names[0].startswith("_x1")


def widths_of(kind: str, refused: str, monkeypatch, asked: str = "") -> set[str]:
    """The modules that are built by a compiler that refuses flags."""
    pytest.importorskip("setuptools")
    pytest.importorskip("Cython")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("VITREE_WIDTHS", asked)
    setup = runpy.run_path("setup.py", run_name="setup")
    from setuptools import Distribution

    build = setup["BuildCore"](Distribution({"ext_modules": setup["modules"]()}))
    build.finalize_options()
    build.compiler = SimpleNamespace(compiler_type=kind)
    build.accepts = lambda *flags, text="": not any(flag.startswith(refused) for flag in flags)
    build.leave_out_widths()
    return {extension.name.removeprefix("vitree._core.") for extension in build.extensions if "._x" in extension.name}


@pytest.mark.parametrize("kind, refused, built", [
    ("unix", "-none", {"_x1"} | WIDE),
    ("unix", "-mavx512", {"_x1", "_x2", "_x4", "_x1_avx2"}),
    ("unix", "-mavx", {"_x1", "_x2"}),          # another processor
    ("unix", "-DVT_WIDTH", {"_x1"}),            # no vectors
    ("mingw32", "-none", {"_x1"}),
    ("msvc", "-none", {"_x1"}),
])  # fmt: skip
def test_the_widths_that_the_compiler_makes_are_built(kind, refused, built, monkeypatch):
    assert widths_of(kind, refused, monkeypatch) == built


def test_a_width_that_is_asked_for_is_not_left_out(monkeypatch):
    with pytest.raises(SystemExit, match=r"VITREE_WIDTHS asks for 4; .* the compiler makes 1, 2"):
        widths_of("unix", "-mavx", monkeypatch, asked="1,4")


def test_the_source_package_is_the_same_at_any_time(tmp_path, monkeypatch):
    """Neither the order and the times of files nor the time of packing matter."""
    pytest.importorskip("setuptools")
    monkeypatch.chdir(ROOT)
    pack = runpy.run_path("setup.py", run_name="setup")["PackSource"]
    from setuptools import Distribution

    made = []
    for name, files in (("first", "ab"), ("second", "ba")):
        folder = tmp_path / name / "thing-1"
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).write_text(file)
            os.utime(folder / file, (0, 1e9 + 1000 * len(name)))
        monkeypatch.chdir(folder.parent)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
        monkeypatch.setattr(time, "time", iter(range(10**9 * (2 + len(made)), 10**10)).__next__)
        command = pack(Distribution())
        made.append((folder.parent / command.make_archive("thing-1", "gztar", base_dir="thing-1")).read_bytes())
    assert made[0] == made[1]
    (tmp_path / "packed.tar").write_bytes(gzip.decompress(made[0]))
    with tarfile.open(tmp_path / "packed.tar") as archive:
        assert archive.getnames() == ["thing-1/a", "thing-1/b"]
        assert {entry.mtime for entry in archive} == {1000000000}


def test_a_width_that_is_none_is_refused():
    done = modules("1,3")
    assert done.returncode and done.stderr.startswith("VITREE_WIDTHS names 3; the choices are 1, 2"), done.stderr


@of_source
@pytest.mark.parametrize("absent", ["*", "_x1"])  # all, or what a build that was ended had not come to
def test_source_without_its_core_says_so(absent, tmp_path):
    left_out = shutil.ignore_patterns(f"{absent}.*so", f"{absent}.*pyd", "__pycache__")
    shutil.copytree(ROOT / "vitree", tmp_path / "vitree", ignore=left_out)
    done = subprocess.run(
        [sys.executable, "-c", "import vitree"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: the folder {tmp_path} holds vitree's source without its compiled core"), last
    assert "run pip install -e . in that folder, or start Python in another folder" in last
