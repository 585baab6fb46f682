"""Videos of runs: decoded again they have the frames, and the robot moves in them."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from chromium import CHROMIUM, without_surroundings

import vitree as vt
from vitree.cli import main
from vitree.errors import InputError, MissingExtraError
from vitree.viewer import movie

av = pytest.importorskip("av")
pytest.importorskip("playwright")


def run(duration=0.5):
    bar = vt.Geometry("arm", "box", (0.2, 0.2, 1.0), np.eye(3), np.array([0, 0, -0.5]), rgba=(0.8, 0.1, 0.1, 1.0))
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("hinge"), vt.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1), geometry=[bar]))
    return vt.simulate(tree.compile(), [1.5], [1.0], duration=duration, dt=0.01)


@pytest.fixture
def plainly_lit():
    with without_surroundings():
        yield


def red(frame: np.ndarray) -> np.ndarray:
    """Which pixels are of the bar."""
    r, g, b = np.moveaxis(frame.astype(int), 2, 0)
    return (r > 60) & (r > 1.5 * g) & (r > 1.5 * b)


def decoded(path) -> tuple[list[np.ndarray], float]:
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return frames, float(container.streams.video[0].average_rate)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_video_has_the_frames_of_the_page(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run().save("run.npz")
    told = []
    assert vt.video(run(), "one.mp4", fps=8, size=(400, 300), progress=lambda *counts: told.append(counts)).exists()
    assert told == [(k, 5) for k in range(1, 6)]
    assert main(["view", "run.npz", "--mp4", "two.mp4", "--fps", "4", "--size", "400x300", "--speed", "0.5"]) == 0
    assert capsys.readouterr().out == "wrote two.mp4\n"
    for name, rate in (("one.mp4", 8), ("two.mp4", 4)):
        frames, fps = decoded(name)
        assert len(frames) == 5 and fps == rate and {frame.shape for frame in frames} == {(300, 400, 3)}
        bars = [red(frame) for frame in frames]
        assert all(bar.sum() > 500 for bar in bars)  # it is in the picture, whole:
        assert not any(bar[edge].any() for bar in bars for edge in (0, -1, np.s_[:, 0], np.s_[:, -1]))
        for one, two in itertools.pairwise(bars):  # and moves from frame to frame
            assert (one ^ two).sum() > 200
    one, two = (decoded(name)[0] for name in ("one.mp4", "two.mp4"))
    for a, b in zip(one, two, strict=True):  # half as fast with half as many frames: the same pictures
        assert np.abs(a.astype(int) - b).mean() < 1.0


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_slow_machine_draws_every_frame_in_full_size(tmp_path, monkeypatch):
    # To this page each frame seems to take some tenths of a second. It would then take fewer pixels.
    slow = "(function () { var clock = 0; performance.now = function () { return clock += 30; }; })();"
    monkeypatch.setattr(movie, "_STEPPED", slow + movie._STEPPED)
    monkeypatch.setattr(movie, "PATIENCE", 40.0)
    frames, _ = decoded(vt.video(run(), tmp_path / "run.mp4", fps=40, size=(260, 240)))
    assert len(frames) == 21 and all(red(frame).any() for frame in frames)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_an_interrupted_video_leaves_the_file_that_was_there(plainly_lit, tmp_path):
    path = tmp_path / "run.mp4"
    path.write_bytes(b"before")

    def stop(done, total):
        raise KeyboardInterrupt

    async def in_a_loop():  # as in a notebook
        vt.video(run(), path, fps=4, size=(320, 240), progress=stop)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(in_a_loop())
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is no signal there")
def test_ctrl_c_ends_the_command_with_one_line(tmp_path):
    run(duration=20.0).save(tmp_path / "run.npz")
    command = [sys.executable, "-m", "vitree", "view", "run.npz", "--mp4", "run.mp4", "--size", "320x240"]
    told = []
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as started:
        for line in started.stderr:
            told.append(line)
            if "drawing" in line:  # the browser draws
                os.kill(started.pid, signal.SIGINT)
    assert started.returncode == 130
    assert told == ["vitree: drawing run.mp4 ...\n", "vitree: interrupted\n"]
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("options, word", [
    ({"fps": 0}, "fps"), ({"fps": np.nan}, "fps"), ({"fps": "x"}, "fps"), ({"size": (641, 480)}, "even"),
    ({"size": 640}, "size"), ({"size": (640, 480, 3)}, "size"), ({"size": (10, 10)}, "size"), ({"speed": 0}, "speed"),
    ({"spread": np.inf}, "spread"),
])  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_drawn(options, word, tmp_path):
    with pytest.raises(InputError, match=word):
        vt.video(run(0.02), tmp_path / "run.mp4", **options)
    assert not list(tmp_path.iterdir())


def test_what_is_no_run_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = run(0.02)
    one.save("run.npz")
    with pytest.raises(InputError, match="is a system"):
        vt.video(one.system, "run.mp4")
    with pytest.raises(InputError, match=r"\.mp4"):
        vt.video(one, "run.avi")
    with pytest.raises(InputError, match="one time"):
        vt.video(one[:1], "run.mp4")
    for line, word in (
        ("view pendulum --mp4 run.mp4", "simulate it first"), ("view run.npz --fps 3", "give --mp4"),
        ("view run.npz --mp4 run.avi", "--mp4"), ("view run.npz --mp4 run.mp4 --size 64", "--size"),
        ("view run.npz --mp4 run.mp4 --size 63x64", "--size"), ("view run.npz --mp4 run.mp4 --fps 0", "--fps"),
        ("view run.npz --mp4 run.mp4 --html run.html", "give one"),
    ):  # fmt: skip
        assert main(line.split()) == 2 and word in capsys.readouterr().err, line


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    class Tool:
        class chromium:
            @staticmethod
            def launch(**options):
                raise RuntimeError("no such browser")

    monkeypatch.setattr(movie.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"apt install chromium.*no such browser"):
        movie._launched(Tool)
    for module, package in (("av", "av"), ("playwright", "playwright"), ("PIL", "pillow")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(MissingExtraError, match=rf"package {package}: .*vitree\[video\]"):
                vt.video(run(0.02), tmp_path / "run.mp4")
