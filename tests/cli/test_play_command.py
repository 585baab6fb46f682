"""The command play: it starts what simulate starts, serves a page to those who know the address, ends by Ctrl-C."""

from __future__ import annotations

import contextlib
import http.client
import os
import pathlib
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

import vitree as vt
from vitree.cli import main
from vitree.cli.options import Robot, Steps
from vitree.cli.standing import Stand
from vitree.model.keyframes import Keyframe, write_keyframes

pytest.importorskip("viser")


def test_play_serves_its_page_until_ctrl_c(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(vt.__file__).parent.parent)}
    arguments = ["-m", "vitree", "play", "pendulum", "--no-browser", "--port", "18591", "--rate", "2"]
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=tmp_path, env=environment,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as program:  # fmt: skip
        try:
            url = urlsplit(program.stdout.readline().strip())
            assert url.hostname == "localhost" and len(url.path) > 16

            def status(path, **headers):
                asked = http.client.HTTPConnection("127.0.0.1", url.port, timeout=30)
                with contextlib.closing(asked):
                    asked.request("GET", path, headers=headers)
                    with asked.getresponse() as answer:
                        return answer.status

            assert status(url.path) == 200
            assert status("/") == status("/another/") == 403
            assert status(url.path, Origin="https://example.org") == 403
        finally:
            program.send_signal(signal.SIGINT)
        assert program.wait(timeout=30) == 0
        assert "Traceback" not in program.stderr.read()


def test_a_keyframe_is_a_start_with_its_velocity(tmp_path):
    path = tmp_path / "k.toml"
    write_keyframes(path, "arm6", {"bent": Keyframe({"elbow_joint": (0.4,)}, {"elbow_joint": (0.2,)})})
    stand = Stand(q0=f"{path}#bent")
    model, q, v, targets, told = stand.prepare(Robot(robot="arm6"), Steps(), None)
    assert q[model.joint("elbow_joint").q_slice] == 0.4 and v[model.joint("elbow_joint").v_slice] == 0.2
    assert targets is None and not told
    still = Stand(q0=f"{path}#bent", v0="zero").prepare(Robot(robot="arm6"), Steps(), None)
    assert not still[2].any()
    driven = Stand(q0=f"{path}#bent", drives="40,4").prepare(Robot(robot="arm6"), Steps(), None)
    np.testing.assert_array_equal(driven[1], q)


@pytest.mark.parametrize("arguments, told", [
    (["pendulum", "--rate", "0"], "--rate"), (["pendulum", "--dt", "0"], "dt"),
    (["pendulum", "--controller", "none.py"], "none.py"), (["pendulum", "--q0", "none.toml#a"], "--q0"),
    (["nobody"], "nobody"),
])  # fmt: skip
def test_wrong_options_are_told_before_a_page_is_served(arguments, told, capsys):
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
