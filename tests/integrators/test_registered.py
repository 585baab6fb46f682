"""Integrators of other packages and files: found by their names, in Python and on the command line."""

from __future__ import annotations

import sys

import pytest

import vitree as vt
from vitree.cli import main
from vitree.errors import InputError, UnknownNameError

SOURCE = """
import vitree as vt

class Own(vt.Integrator):
    name = "{name}"
    order = 1

    def step(self, t, q, v):
        v = v + self.dt * self.acceleration(t, q, v)
        return self.model.integrate(q, self.dt * v), v

NOT_ONE = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory; methods and modules that come are forgotten."""
    monkeypatch.chdir(tmp_path)
    before, modules = dict(vt.METHODS), set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if name.startswith("own_"):
            del sys.modules[name]
    vt.METHODS.clear()
    vt.METHODS.update(before)


@pytest.fixture
def installed(folder, monkeypatch):
    """A package with entry points, as pip leaves it."""
    (folder / "site").mkdir()
    (folder / "site" / "own_package.py").write_text(SOURCE.format(name="own-euler"))
    info = folder / "site" / "own_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vitree.integrators]\nown-euler = own_package:Own\nown-number = own_package:NOT_ONE\n"
        "own-missing = own_nowhere:Own\n"
    )
    monkeypatch.syspath_prepend(str(folder / "site"))


def test_an_installed_integrator_is_found_by_its_name(installed):
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    assert "own_package" not in sys.modules and "own-euler" not in list(vt.METHODS)
    run = vt.simulate(model, [1.0, 0.5], duration=0.1, dt=0.01, method="own-euler")
    same = vt.simulate(model, [1.0, 0.5], duration=0.1, dt=0.01, method="semi-implicit-euler")
    assert run.method == "own-euler" and abs(run.q - same.q).max() < 1e-12
    table = vt.compare(model, ["own-euler", "rk4"], [1.0, 0.5], duration=0.1, dt=0.01, reference=False, repeats=1).table
    assert [row["method"] for row in table] == ["own-euler", "rk4"]


@pytest.mark.parametrize("name, word", [("own-number", "no subclass"), ("own-missing", "own_nowhere")])
def test_one_that_is_none_is_said_to_be_so(name, word, installed):
    with pytest.raises(InputError, match=f"{name}.*own-package.*{word}"):
        vt.simulate(vt.load_urdf(vt.find_robot("double_pendulum")), duration=0.1, dt=0.01, method=name)


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_the_command_line_knows_it(command, installed, capsys):
    flag = "--method" if command == "simulate" else "--methods"
    more = ["--no-plot", "--reference", "none"] if command == "compare" else []
    assert main([command, "pendulum", flag, "own-euler", "-T", "0.1", "--dt", "0.01", *more]) == 0
    assert "own-euler" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["own_file.py", "own_file"])
def test_a_file_of_the_user_is_imported(given, folder, capsys):
    register = "\nvt.METHODS[Own.name] = Own\n"
    (folder / "own_file.py").write_text(SOURCE.format(name="own-file") + register)
    line = ["simulate", "pendulum", "--method", "own-file", "-T", "0.1", "--dt", "0.01"]
    assert main(line) == 2 and 'no method "own-file"' in capsys.readouterr().err
    assert main([*line, "--import", given]) == 0
    assert vt.Trajectory.load("run.npz").method == "own-file" and str(folder) not in sys.path
    (folder / "own_broken.py").write_text("1 / 0")
    for wrong, word in (("own_broken.py", "ZeroDivisionError"), ("own_nowhere", "ModuleNotFoundError"),
                        ("own_nowhere.py", "FileNotFoundError")):  # fmt: skip
        assert main([*line, "--import", wrong]) == 2
        told = capsys.readouterr().err
        assert f"--import {wrong}" in told and word in told


def test_names_that_nobody_has_stay_unknown(folder):
    assert "own-nobody" not in vt.METHODS and 3 not in vt.METHODS and vt.METHODS.get("own-nobody") is None
    with pytest.raises(KeyError):
        vt.METHODS["own-nobody"]
    with pytest.raises(UnknownNameError, match="own-nobody"):
        vt.simulate(vt.load_urdf(vt.find_robot("double_pendulum")), duration=0.1, dt=0.01, method="own-nobody")
