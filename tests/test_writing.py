"""Files are written at once or not at all; what is not a file is written to; a kill leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest
from places import PACKAGE
from random_models import chain_flat

import vitree as vt
from vitree import writing
from vitree.cli import main
from vitree.errors import InputError
from vitree.results.export import to_json
from vitree.urdf import write_urdf
from vitree.viewer.page import write_html
from vitree.writing import replacing, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")


@pytest.fixture(params=["without a name", "beside the target"])
def way(request, monkeypatch):
    """The two ways by which a file is replaced: with and without O_TMPFILE."""
    if request.param == "beside the target":
        monkeypatch.setattr(writing, "_UNNAMED", None)
    elif writing._UNNAMED is None:
        pytest.skip("this system has no files without names")


@pytest.fixture(scope="module")
def run():
    return vt.simulate(vt.Model(chain_flat(3)), duration=0.02, dt=1e-3)


def command(*line):
    assert main([str(word) for word in line]) == 0


def plotted(run, path):
    with tempfile.TemporaryDirectory() as folder:
        command("plot", "energy", run.save(os.path.join(folder, "run.npz")), "-o", path)


#: Everything of the library that writes a file: name -> function of (run, path).
WRITERS = {
    "save": lambda run, path: run.save(path),
    "to_csv": lambda run, path: run.to_csv(path),
    "to_netcdf": lambda run, path: run.to_netcdf(path),
    "to_mcap": lambda run, path: run.to_mcap(path),
    "plot": lambda run, path: run.plot("energy", path),
    "write_urdf": lambda run, path: write_urdf(vt.load_urdf(vt.find_robot("double_pendulum")), path),
    "write_html": lambda run, path: write_html(run, path),
    "to_json": lambda run, path: to_json(run, path),
    "vitree fix": lambda run, path: command("fix", vt.find_robot("double_pendulum"), "-o", path),
    "vitree plot": lambda run, path: plotted(run, path),
}


def contents(folder):
    return sorted(os.listdir(folder))


@posix
@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_keeps_modes_links_and_pipes(name, run, tmp_path):
    write = WRITERS[name]
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to("real")
    write(run, link)
    assert link.is_symlink() and real.read_bytes() != b"old" and real.stat().st_mode & 0o7777 == 0o600

    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(run, pipe)
    reader.join(10)
    assert pipe.is_fifo() and len(got[0]) > 100

    write(run, "/dev/null")
    assert not os.path.isfile("/dev/null")
    assert contents(tmp_path) == ["link", "pipe", "real"]


@posix
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(mask, way, tmp_path):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o666 & ~mask


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_a_replaced_file_keeps_its_mode(mode, way, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o7777 == mode


@posix
def test_a_link_to_nothing_makes_its_target(way, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/target")
    (tmp_path / "chain").symlink_to("link")
    write_text(tmp_path / "chain", "x")
    assert (tmp_path / "folder" / "target").read_text() == "x" and (tmp_path / "link").is_symlink()


@posix
def test_a_circle_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match=r"cannot write .*a: .*choose another place"):
        write_text(tmp_path / "a", "x")


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write read-only files")
def test_a_read_only_file_stays(way, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        write_text(path, "new")
    assert path.read_text() == "old"


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_file_as_it_was(before, error, way, tmp_path):
    path = tmp_path / "file"
    if before is not None:
        path.write_text(before)
    with pytest.raises(error), replacing(path) as stream:
        stream.write(b"new" * 10_000)
        raise error
    assert contents(tmp_path) == ([] if before is None else ["file"])
    assert before is None or path.read_text() == before


@posix
def test_a_block_that_fails_writes_nothing_to_a_pipe(tmp_path):
    r, w = os.pipe()
    with pytest.raises(RuntimeError), replacing(f"/dev/fd/{w}") as stream:
        stream.write(b"half")
        raise RuntimeError
    os.close(w)
    assert os.read(r, 100) == b""
    os.close(r)


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux")
def test_a_full_device_is_told():
    with pytest.raises(InputError, match="cannot write /dev/full: No space left"):
        write_text("/dev/full", "x" * 10_000)


@pytest.mark.parametrize("name", ["no/such/folder", "."])
def test_a_place_that_cannot_be_is_told(name, way, tmp_path):
    with pytest.raises(InputError, match="choose another place"):
        write_text(tmp_path / name, "x")
    assert contents(tmp_path) == []


@pytest.mark.parametrize("name", ["x", "ü" * 120, "a" * 255, " name\twith blanks ", "-o"])
def test_names_of_all_kinds(name, way, tmp_path):
    for text in ("one", "two"):
        write_text(tmp_path / name, text)
        assert (tmp_path / name).read_text() == text and contents(tmp_path) == [name]


@posix
@pytest.mark.parametrize("kind", ["a file", "a pipe"])
def test_stdout_goes_on_after_the_content(kind, tmp_path):
    code = "from vitree.writing import write_text as w; print('before'); w('/dev/stdout', 'middle\\n'); print('after')"
    out, command = tmp_path / "out", [sys.executable, "-c", code]
    if kind == "a file":
        with open(out, "w") as stream:
            subprocess.run(command, stdout=stream, check=True, timeout=60)
        text = out.read_text()
    else:
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert text == "before\nmiddle\nafter\n"


def test_a_file_system_that_gives_no_names_to_such_files(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_take_place", lambda fd, target: False)
    write_text(tmp_path / "file", "one")
    write_text(tmp_path / "file", "two")
    assert (tmp_path / "file").read_text() == "two" and contents(tmp_path) == ["file"]


@posix
def test_many_threads_write_one_file(way, tmp_path):
    path, texts = tmp_path / "file", [str(k) * 100_000 for k in range(6)]
    threads = [threading.Thread(target=lambda text=text: [write_text(path, text) for _ in range(10)]) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts and contents(tmp_path) == ["file"]


#: Saves runs in a child, kills the child at a random moment, and says what each kill left: 100 times.
KILLS = """
import os, random, signal, sys, time
import numpy as np
import vitree as vt
from vitree import writing
from vitree.cli import main
from random_models import chain_flat

folder, named = sys.argv[1], sys.argv[2] == "named"
if named:
    writing._UNNAMED = None
model = vt.Model(chain_flat(6))
runs = [vt.simulate(model, v0=np.full(model.nv, speed), duration=0.5, dt=1e-3) for speed in (0.1, 0.2)]
path = os.path.join(folder, "run.npz")
runs[0].save(path)
began = time.perf_counter()
runs[1].save(path)
took = time.perf_counter() - began
random.seed(int(sys.argv[3]))
whole = [run.q for run in runs]
for k in range(100):
    child = os.fork()
    if not child:
        while True:
            for run in runs:
                run.save(path)
    time.sleep(random.uniform(0.0, 3.0 * took))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    time.sleep(0.01)
    left = sorted(os.listdir(folder))
    q = vt.Trajectory.load(path).q
    good = any(np.array_equal(q, one) for one in whole)
    if named:  # the next save removes what a kill left
        runs[0].save(path)
        left = sorted(os.listdir(folder))
    if left != ["run.npz"] or not good:
        sys.exit(f"kill {k}: {left}, whole: {good}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and files without names")
@pytest.mark.parametrize("kind", ["unnamed", "named"])
def test_killed_at_random_during_100_saves(kind, tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLS, str(tmp_path), kind, "7"], capture_output=True, text=True,
                          timeout=300, cwd=os.path.dirname(__file__))  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and files without names")
def test_a_kill_of_a_named_temporary_is_mended_by_the_next_save(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    code = """
import os, signal, sys
from vitree import writing
from vitree.cli import main
writing._UNNAMED = None
with writing.replacing(sys.argv[1]) as stream:
    stream.write(b"new" * 100_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], timeout=60).returncode == -9
    assert path.read_text() == "old" and len(contents(tmp_path)) == 2
    write_text(path, "newer")
    assert path.read_text() == "newer" and contents(tmp_path) == ["file"]


@posix
def test_a_temporary_in_use_is_not_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_UNNAMED", None)
    path = tmp_path / "file"
    with replacing(path) as stream:
        stream.write(b"slow")
        write_text(path, "quick")
        assert path.read_text() == "quick" and len(contents(tmp_path)) == 2
    assert path.read_text() == "slow" and contents(tmp_path) == ["file"]


def test_no_other_module_writes_files():
    words = ("write_bytes(", "write_text(path)", "os.replace(", "os.rename(", 'open(path, "w', "mkstemp", "NamedTemp")
    files = [path for path in PACKAGE.rglob("*.py") if "own_robots" not in path.parts]
    found = {path.name for path in files if any(word in path.read_text() for word in words)}
    assert found == {"writing.py"}


def test_what_is_written_is_read_back(run, way, tmp_path):
    for _ in range(2):
        assert np.array_equal(vt.Trajectory.load(run.save(tmp_path / "run.npz")).q, run.q)
