"""What commands replace: files of their own kind, others by --force, and nothing where a run takes no step."""

import pathlib
import zipfile

import numpy as np
import pytest

import vitree as vt
from vitree.cli import kinds, main

SHORT = ["-T", "0.01", "--dt", "0.001"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(kind):
    """Bytes of a file that is of no kind that vitree writes, or arrays in an archive."""
    if kind != "arrays":
        return {"notes": b"my notes, and\nmore of them\0", "picture": b"GIF89a"}[kind]
    with zipfile.ZipFile("other.npz", "w") as archive:
        archive.writestr("weights.npy", b"")
    return pathlib.Path("other.npz").read_bytes()


COMMANDS = {
    "simulate": ("run.npz", ["simulate", "pendulum", *SHORT, "-o", "run.npz"]),
    "sweep": ("table.csv", ["sweep", "pendulum", *SHORT, "--backend", "threads", "-o", "table.csv"]),
    "sweep json": ("table.json", ["sweep", "pendulum", *SHORT, "--backend", "threads", "-o", "table.json"]),
    "convert": ("robot.urdf", ["convert", "pendulum", "robot.urdf"]),
    "convert sexpr": ("robot.sexpr", ["convert", "pendulum", "robot.sexpr"]),
    "fix": ("robot.urdf", ["fix", "pendulum", "-o", "robot.urdf"]),
    "view": ("page.html", ["view", "pendulum", "--html", "page.html"]),
    "plot": ("picture.png", ["plot", "energy", "first.npz", "-o", "picture.png"]),
    "compare": ("picture.svg", ["compare", "pendulum", *SHORT, "-m", "rk4", "--repeats", "1", "--plot", "picture.svg"]),
}


@pytest.mark.parametrize("kind", ["notes", "picture", "arrays"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_another_kind_asks_for_force(command, kind, folder, capsys):
    name, arguments = COMMANDS[command]
    for needed in {"view": ["viser"], "plot": ["matplotlib"], "compare": ["matplotlib"]}.get(command, []):
        pytest.importorskip(needed)
    if command == "plot":
        assert main(["simulate", "pendulum", *SHORT, "-o", "first.npz"]) == 0
    before = contents(kind)
    (folder / name).write_bytes(before)
    capsys.readouterr()
    assert main(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert (folder / name).read_bytes() == before
    if kind == "notes":
        assert main([*arguments, "--force"]) == 0
        assert (folder / name).read_bytes() != before
        assert main(arguments) == 0  # one of ours is replaced unasked


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet", ".nc"])
def test_tables_are_known_again(ending, folder):
    for needed in {".parquet": ["pyarrow"], ".nc": ["xarray", "scipy"]}.get(ending, []):
        pytest.importorskip(needed)
    path = vt.sweep(lambda x: {"y": x}, {"x": [1]}, backend="threads").save(folder / f"table{ending}")
    assert kinds.is_of_kind(path, ending)
    for other in {".csv", ".json", ".parquet", ".nc", ".npz", ".png", ".mp4", ".mcap", ".pdf", ".html"} - {ending}:
        assert other == ".csv" or not kinds.is_of_kind(path, other)


def test_empty_and_unknown_files_are_replaced(folder):
    (folder / "run.npz").write_bytes(b"")
    (folder / "a.unknown").write_bytes(b"x")
    assert kinds.is_of_kind(folder / "run.npz", ".npz") and kinds.is_of_kind(folder / "a.unknown", ".unknown")
    assert kinds.is_of_kind(folder / "absent.npz", ".npz") and kinds.is_of_kind(folder, ".npz")


FALLS = ["simulate", "double_pendulum", "-T", "1", "--dt", "0.1", "--option", "tolerance=1e-14", "--max-halvings", "0",
         "--option", "max_iterations=1", "--q0", "0.5,2", "-o", "run.npz"]  # fmt: skip


def test_a_run_that_takes_no_step_replaces_no_file(folder, capsys):
    assert main(["simulate", "pendulum", *SHORT, "-o", "run.npz"]) == 0
    before = (folder / "run.npz").read_bytes()
    capsys.readouterr()
    assert main(FALLS) == 2
    assert "no step was taken before it, and run.npz stays as it was" in capsys.readouterr().err
    assert (folder / "run.npz").read_bytes() == before


def test_records_of_a_run_that_fails_later_are_written(folder, monkeypatch, capsys):
    from vitree.run import simulate as module

    run = module.simulate

    def fails(*of, **more):
        error = vt.ConvergenceError("too hard", time=0.1, residual=1.0, iterations=1)
        error.trajectory = run(*of, **more)
        raise error

    monkeypatch.setattr(module, "simulate", fails)
    (folder / "run.npz").write_bytes(b"")
    assert main(["simulate", "pendulum", *SHORT, "-o", "run.npz"]) == 2
    assert "wrote the 11 records before it" in capsys.readouterr().err
    assert len(vt.Trajectory.load("run.npz")) == 11
    assert np.isfinite(vt.Trajectory.load("run.npz").q).all()
