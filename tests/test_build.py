"""Building: which modules are compiled and when, and loaded. tools/check_package.py sees the packages."""

from __future__ import annotations

import gzip
import os
import pickle
import runpy
import shutil
import subprocess
import sys
import tarfile
import time
from types import SimpleNamespace

import pytest
from places import ROOT, of_source

from vitree import _core


def modules(widths: str) -> subprocess.CompletedProcess:
    """The compiled modules for VITREE_WIDTHS, in the order of compiling."""
    code = "import runpy; print(*(m.name[13:] for m in runpy.run_path('setup.py', run_name='setup')['modules']()))"
    environment = os.environ | {"VITREE_WIDTHS": widths}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


ALL = {"_x1", "_x2", "_x4", "_x8", "_x1_avx2", "_x1_avx512"}


@pytest.mark.parametrize("asked, built", [
    ("1", {"_x1"}), ("2", {"_x1", "_x2"}), ("1,4", {"_x1", "_x4", "_x1_avx2"}), ("all", ALL), ("", ALL),
])  # fmt: skip
def test_the_widths_to_build_can_be_chosen(asked, built):
    """One lane is always built; the longest module is begun first."""
    done = modules(asked)
    names = done.stdout.split()
    others = {"_vehicles", "_tasks", "_maps", "se3", "types", "_cyutility", "_cpu", "_link"}
    assert set(names) == built | others | ({"_maps_avx2"} if "_x4" in built else set()), done.stderr
    assert names[0].startswith("_x1")


def setup_file(monkeypatch, folder=ROOT, asked: str = "all") -> dict:
    """The names of setup.py, run in a folder."""
    pytest.importorskip("setuptools")
    pytest.importorskip("Cython")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("VITREE_WIDTHS", asked)
    return runpy.run_path("setup.py", run_name="setup")


def command(setup: dict, *names: str):
    """What builds the modules of those names, or all."""
    from setuptools import Distribution

    wanted = [x for x in setup["modules"]() if not names or setup["short"](x) in names]
    build = setup["BuildCore"](Distribution({"ext_modules": wanted}))
    build.finalize_options()
    return build


def modules_of(kind: str, refused: str, monkeypatch, asked: str = "all", runs=None, like: str = "_x") -> set[str]:
    """The modules, named so, that are built by a compiler that refuses flags, on a CPU that runs widths."""
    build = command(setup_file(monkeypatch, asked=asked))
    build.compiler = SimpleNamespace(compiler_type=kind)
    build.accepts = lambda *flags, text="": not any(flag.startswith(refused) for flag in flags)
    build.runs = lambda: runs
    build.leave_out_modules()
    return {extension.name.removeprefix("vitree._core.") for extension in build.extensions
            if f".{like}" in extension.name}  # fmt: skip


@pytest.mark.parametrize("kind, refused, built", [
    ("unix", "-none", ALL),
    ("unix", "-mavx512", {"_x1", "_x2", "_x4", "_x1_avx2"}),
    ("unix", "-mavx", {"_x1", "_x2"}),          # another processor
    ("unix", "-DVT_WIDTH", {"_x1"}),            # no vectors
    ("mingw32", "-none", {"_x1"}),
    ("msvc", "-none", {"_x1"}),
])  # fmt: skip
def test_the_widths_that_the_compiler_makes_are_built(kind, refused, built, monkeypatch):
    assert modules_of(kind, refused, monkeypatch) == built


@pytest.mark.parametrize("runs, refused, built", [
    ({1, 2, 4, 8}, "-none", {"_x1_avx512", "_x4", "_x8"}),
    ({1, 2, 4}, "-none", {"_x1_avx2", "_x4"}),
    ({1, 2}, "-none", {"_x1", "_x2"}),
    ({1, 2, 4, 8}, "-mavx512", {"_x1_avx2", "_x4"}),    # a compiler that knows less than the CPU
    ({1, 2, 4, 8}, "-DVT_WIDTH", {"_x1"}),
    (None, "-none", ALL),                               # code for another machine
])  # fmt: skip
def test_what_this_cpu_loads_is_built_without_a_word(runs, refused, built, monkeypatch):
    assert modules_of("unix", refused, monkeypatch, asked="", runs=runs) == built


@pytest.mark.parametrize("runs, refused, built", [
    ({1, 2, 4, 8}, "-none", {"_maps", "_maps_avx2"}), ({1, 2}, "-none", {"_maps"}),
    ({1, 2, 4, 8}, "-mavx", {"_maps"}), (None, "-none", {"_maps", "_maps_avx2"}),
])  # fmt: skip
def test_maps_are_built_for_the_registers_of_this_cpu(runs, refused, built, monkeypatch):
    assert modules_of("unix", refused, monkeypatch, asked="", runs=runs, like="_maps") == built


@pytest.mark.parametrize("runs", [{1, 2, 4, 8}, {1, 2, 4}, {1, 2}])
def test_what_is_built_for_a_cpu_is_what_it_loads(runs, monkeypatch):
    """All of it, and nothing else: for one state, batches, and the stages of each order of gauss."""
    built, loaded = set(setup_file(monkeypatch)["loaded_of"](runs)), set()

    def load(name):
        loaded.add(name.removeprefix("vitree._core."))
        return SimpleNamespace(take_bodies_of=id, bodies_in_lanes=lambda: 1, stages_in_lanes=lambda: 1)

    monkeypatch.delenv("VITREE_WIDTH", raising=False)
    monkeypatch.setattr(_core, "_cpu", SimpleNamespace(runs=lambda width: width in runs))
    monkeypatch.setattr(_core, "built", built.__contains__)
    monkeypatch.setattr(_core, "width", _core.width.__wrapped__)
    monkeypatch.setattr(_core, "importlib", SimpleNamespace(import_module=load))
    _core.scalar.__wrapped__()
    _core.wide.__wrapped__()
    for count in (2, 3, 4, 6, 8):
        _core.stages(count)
    assert loaded == built


@of_source
def test_this_machine_is_asked_what_it_runs(monkeypatch):
    """The program that setup.py compiles says what the compiled module says."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    build = command(setup_file(monkeypatch))
    build.compiler = SimpleNamespace(compiler_type="unix", compiler_so=["cc"])
    assert build.runs() == {width for width in (1, 2, 4, 8) if _core._cpu.runs(width)}
    build.compiler.compiler_so = ["cc", "-DVT_CPU_H"]  # does not compile
    assert build.runs() is None
    build.compiler.compiler_so = ["cc"]
    monkeypatch.setenv("_PYTHON_HOST_PLATFORM", "linux-aarch64")
    assert build.runs() is None


def test_a_width_that_is_asked_for_is_not_left_out(monkeypatch):
    with pytest.raises(SystemExit, match=r"VITREE_WIDTHS asks for 4; .* the compiler makes 1, 2"):
        modules_of("unix", "-mavx", monkeypatch, asked="1,4")


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
    text = "VITREE_WIDTHS names 3; the choices are 1, 2, 4, 8, all"
    assert done.returncode and done.stderr.startswith(text), done.stderr


# ---- when a module is compiled --------------------------------------------------------------------------------


@of_source
def test_the_texts_of_a_source_are_those_that_cython_reads(monkeypatch):
    setup = setup_file(monkeypatch)
    from Cython.Build.Dependencies import create_dependency_tree

    tree = create_dependency_tree(quiet=True)
    for source in {extension.sources[0] for extension in setup["modules"]()} - {"vitree/_core/_cyutility.c"}:
        read = {name for name in map(os.path.normpath, tree.all_dependencies(source)) if name.startswith("vitree")}
        texts = set(map(os.path.normpath, setup["texts_of"](source)))
        assert source in read and read <= texts, source
        headers = {name for name in texts - read if name.endswith(".h")}  # and what C reads
        assert texts - read == headers, source
    assert "vitree/_core/lane/coefficients.h" in setup["texts_of"]("vitree/_core/_wide.pyx")


def test_every_ingredient_is_in_the_key(monkeypatch):
    setup = setup_file(monkeypatch)
    build = command(setup, "_x4", "_x8")
    build.compiler = SimpleNamespace(compiler_so=["cc", "-O9"], linker_so=["cc", "-shared"])
    build.tools = build.asked_tools()
    keys = []
    for extension in build.extensions:
        parts = build.ingredients(extension)
        assert set(parts) == {
            "name", "texts", "directives", "macros", "flags", "compiler", "environment", "python", "packages", "setup",
        }  # fmt: skip
        keys += [setup["key_of"](**parts), *(setup["key_of"](**{**parts, name: "another"}) for name in parts)]
        for path in parts["texts"]:
            keys.append(setup["key_of"](**{**parts, "texts": {**parts["texts"], path: b"another"}}))
    assert len(set(keys)) == len(keys)
    assert {"Cython", "numpy"} <= set(build.tools["packages"]) and "-O9" in build.tools["compiler"][1]


@of_source
def test_a_stepper_is_of_one_lane_alone(monkeypatch):
    """An edit of a stepper compiles no module of several lanes."""
    texts_of = setup_file(monkeypatch)["texts_of"]
    stepper = {"vitree/_core/engine/stepper.pxi", "vitree/_core/gauss/gauss.pxi"}
    assert stepper <= set(texts_of("vitree/_core/_scalar.pyx"))
    assert not stepper & set(texts_of("vitree/_core/_wide.pyx"))


@of_source
@pytest.mark.slow
def test_a_second_build_compiles_nothing(tmp_path, monkeypatch, capfd):
    """Whatever the times of files; what was compiled of an older text serves again."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    shutil.copytree(ROOT / "vitree" / "_core", tmp_path / "vitree" / "_core")
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "vitree" / "__init__.py").touch()
    setup = setup_file(monkeypatch, tmp_path)
    header, text = tmp_path / "vitree/_core/lane/cpu.h", (ROOT / "vitree/_core/lane/cpu.h").read_text()

    def compiled(**options):
        build = command(setup, "_cpu")
        build.parallel = None
        vars(build).update(options)
        build.run()
        assert (tmp_path / build.get_ext_fullpath("vitree._core._cpu")).stat().st_size > 1000
        return build.compiled

    assert compiled() == ["_cpu"]
    os.utime(header)
    shutil.rmtree(tmp_path / "build" / "lib", ignore_errors=True)
    assert compiled() == []
    header.write_text(text + "/* another text */")
    assert compiled() == ["_cpu"]
    header.write_text(text)
    assert compiled() == []
    assert compiled(anew=True) == ["_cpu"]
    assert "1 of 1 modules compiled" in capfd.readouterr().out


def test_what_is_being_compiled_is_said(monkeypatch, capsys):
    underway = setup_file(monkeypatch)["Underway"]
    monkeypatch.setitem(underway.watch.__globals__, "SAID_EVERY", 0.01)
    with underway() as said:
        said.since["_x8"] = said.start - 30.0
        time.sleep(0.2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and "vitree: 0 s; at work: _x8 for 30 s" in lines


# ---- what is loaded -------------------------------------------------------------------------------------------


def test_pickled_functions_of_the_core_name_no_build():
    """Another CPU has another build of them; a new process finds its own."""
    packed = pickle.dumps(_core.scalar().batch_aba)
    assert b"_x1" not in packed
    code = f"import pickle; print(pickle.loads({packed!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["batch_aba"], done.stderr


def test_modules_of_one_source_are_different_modules():
    found = [_core.lanes(width) for width in _core.widths()]
    assert [module.VT_LANES for module in found[1:]] == _core.widths()[1:]
    assert len({id(module) for module in found}) == len(found)


@of_source
@pytest.mark.parametrize("absent", ["*", "_x1*", "_maps*"])  # all, or what a build that was ended had not come to
def test_source_without_its_core_says_so(absent, tmp_path):
    left_out = shutil.ignore_patterns(f"{absent}.*so", f"{absent}.*pyd", "__pycache__")
    shutil.copytree(ROOT / "vitree", tmp_path / "vitree", ignore=left_out)
    done = subprocess.run(
        [sys.executable, "-c", "import vitree"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: the folder {tmp_path} holds vitree's source without its compiled core"), last
    assert "run pip install -e . in that folder, or start Python in another folder" in last


@of_source
def test_a_core_for_other_cpus_says_so(tmp_path):
    """A folder that another machine built the core in."""
    shutil.copytree(ROOT / "vitree", tmp_path / "vitree", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    core = tmp_path / "vitree" / "_core"
    (core / "_cpu.py").write_text("def runs(width):\n    return width <= 2\n")
    for name in ("_x1_avx512.py", "_maps.py"):
        (core / name).touch()
    done = subprocess.run(
        [sys.executable, "-c", "import vitree"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: the compiled core in {core} needs a CPU with avx512, and "), last
    assert "compile vitree on this machine, or with VITREE_WIDTHS=all in the environment" in last
