"""The page on the command line says what there is, its commands run; and shells complete."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import pytest
import typer
from places import ROOT

import vitree as vt
from vitree import cli
from vitree.cli import names as cli_names
from vitree.cli.sweep import BACKENDS as BACKENDS_OFFERED
from vitree.integrators.variational import SOLVERS
from vitree.run.monitors import MONITORS
from vitree.run.tasks import BACKENDS

PAGE = ROOT / "docs" / "command-line.md"
#: The command ``vitree`` of this tree, installed or not.
COMMAND = [sys.executable, "-c", "import sys; from vitree.cli import main; sys.exit(main())"]


def call(arguments=(), code=COMMAND, cwd=None, **environment) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(vt.__file__).parent.parent)} | environment
    return subprocess.run([*code, *arguments], capture_output=True, text=True, env=environment, cwd=cwd, check=False)


# ---- the page -------------------------------------------------------------------------------------


def test_the_tables_of_options_are_those_of_the_commands():
    """Written by tools/make_command_line.py, which writes them again."""
    spec = importlib.util.spec_from_file_location("make_command_line", ROOT / "tools" / "make_command_line.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = PAGE.read_text()
    assert tool.written(page) == page, "run python tools/make_command_line.py"
    tables = re.findall(r"<!-- options (\w+) -->", page)
    assert set(tables) == {command.__name__ for command in cli.COMMANDS} | set(tool.GROUPS)


def test_every_option_is_on_the_page():
    page = PAGE.read_text()
    for command in cli.COMMANDS:
        params = typer.main.get_command(cli.application()).commands[command.__name__].params
        for name in {name for param in params for name in (*param.opts, *param.secondary_opts) if name[:2] == "--"}:
            assert re.search(rf"{name}(?![\w-])", page), f"{command.__name__} {name}"
        assert re.search(rf"^## {command.__name__}$", page, re.M)


def test_every_monitor_is_told():
    (row,) = re.findall(r"^\| `--monitor` \| .*: (.*)\. \|", PAGE.read_text(), re.M)
    assert row.split(", ") == list(MONITORS)


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    for package in ("matplotlib", "viser"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S) for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "vitree"
        assert cli.main(arguments) == 0, (line, capsys.readouterr().err)


def test_the_lists_of_names_are_those_of_the_library():
    plots = pytest.importorskip("vitree.plot").PLOTS
    of_vehicles = {name for vehicle in cli_names.VEHICLES for name in cli_names.vehicle(vehicle).methods}
    assert of_vehicles - set(vt.METHODS) == set(cli_names.OF_VEHICLES)
    assert set(cli_names.SOLVERS) == set(SOLVERS)
    assert BACKENDS_OFFERED == tuple(BACKENDS)
    assert {name.replace("-", "_") for name in (*cli_names.PLOTS, *cli_names.OF_COMPARISONS)} == set(plots)
    known = [vt.METHODS, *(cli_names.vehicle(vehicle).methods for vehicle in cli_names.VEHICLES)]
    options = {name for methods in known for method in methods.values() for name in method.options}
    assert options - {"solver", "order", "max_halvings", "max_impacts"} == set(cli_names.METHOD_OPTIONS)


# ---- completion -----------------------------------------------------------------------------------


@pytest.fixture
def complete(tmp_path):
    for name in ("run.npz", "arm.urdf", "chain.sexpr", "notes.txt"):
        (tmp_path / name).touch()

    def ask(line):
        words = shlex.split(line)
        count = len(words) if line.endswith(" ") else len(words) - 1
        done = call(cwd=tmp_path, COMP_WORDS=line, COMP_CWORD=str(count), _VITREE_COMPLETE="complete_bash")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout.split()

    return ask


@pytest.mark.slow
def test_shells_complete_commands_names_and_files(complete):
    assert complete("vitree ") == [command.__name__ for command in cli.COMMANDS]
    assert complete("vitree sim") == ["simulate"]
    assert {"human", "car", "arm6", "arm.urdf", "chain.sexpr"} <= set(complete("vitree info "))
    assert complete("vitree info snak") == ["snakeboard"]
    assert complete("vitree simulate human -m li") == ["linear-time"]
    assert complete("vitree simulate car -m li") == ["lie", "lie-implicit"]
    assert complete("vitree compare human --methods rk4,r") == ["rk4,rk8"]
    assert complete("vitree plot ph") == ["phase"]
    assert complete("vitree plot phase ") == ["run.npz"]
    assert complete("vitree view ru") == ["run.npz"]
    assert complete("vitree view ./ru") == []  # left to the shell
    assert complete("vitree info human --base f") == ["free", "fixed"]
    assert complete("vitree info --mi") == ["--mimic"]
    assert complete("vitree compare human --option tol") == ["tolerance="]
    assert complete("vitree sweep human car pen") == ["pendulum"]
    assert complete("vitree sweep human --backend d") == ["dask"]


def test_the_script_for_a_shell_is_shown():
    script = call(_VITREE_COMPLETE="source_bash").stdout
    assert "complete -o default -F _vitree_completion vitree" in script
    done = call(["--help"])
    assert "--install-completion" in done.stdout and "--show-completion" in done.stdout


# ---- start-up -------------------------------------------------------------------------------------


def test_help_and_version_come_quickly():
    """They import nothing that draws, serves or solves; the bound is for slow and busy machines."""
    heavy = "scipy", "matplotlib", "viser", "rich.progress", "vitree.vehicles", "vitree.urdf", "vitree.viewer"
    code = f"import sys; from vitree.cli import main; main(); print([m for m in {heavy} if m in sys.modules])"
    for option in ("--help", "--version"):
        begin = time.perf_counter()
        done = call([option], [sys.executable, "-c", code])
        assert done.stdout.splitlines()[-1] == "[]", done.stderr
        assert time.perf_counter() - begin < 10.0
