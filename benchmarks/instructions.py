"""Instructions per step and per call of the kernels, counted by valgrind: figures without the noise of a clock.

    python benchmarks/instructions.py [--smoke] [--save counts.json] [--against counts.json]

Prints a line each for a step of linear-time and midpoint and a call of rnea, aba and crba, on the chain of ten and,
where example-robot-data is installed, on a floating Talos. Each figure is that of a process which does the work twice as
often as another, less that of the other: start-up is not in it. ``--against`` prints the ratio to figures
that ``--save`` wrote, of another version say; count both with builds of the same compiler flags.

Valgrind runs no AVX-512: the build of one lane for that is not the one counted.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import vitree as vt
from vitree._core import lanes

ROBOTS = ("chain10", "talos")
STEPS = ("linear-time", "midpoint")
KERNELS = ("rnea", "aba", "crba")
ROWS = 100  # states in one call from Python
CHAIN = pathlib.Path(__file__).parents[1] / "urdf" / "chain10.urdf"


def load(robot: str):
    """Return the model of that name."""
    return vt.load_urdf(CHAIN) if robot == "chain10" else vt.load_urdf(vt.find_robot(robot), base="free")


def work(robot: str, what: str, count: int) -> None:
    """Do ``count`` steps of a method, or calls of a kernel: what is counted."""
    model, rng = load(robot), np.random.default_rng(0)
    if what in STEPS:
        v = rng.uniform(-1, 1, model.nv)
        vt.simulate(model, None, v, duration=count * 1e-3, dt=1e-3, method=what, every=count)
        return
    q = np.array([model.integrate(model.neutral(), x) for x in rng.uniform(-1, 1, (ROWS, model.nv))])
    v, a, out = (rng.normal(size=(ROWS, model.nv)) for _ in range(3))
    matrices, kernels, gravity = np.empty((ROWS, model.nv**2)), lanes(1), np.array(model.gravity, float)
    for _ in range(count // ROWS):
        if what == "crba":
            kernels.batch_crba(model.core, q, matrices)
        else:
            getattr(kernels, f"batch_{what}")(model.core, gravity, q, v, a, out)


def counted(robot: str, what: str, count: int) -> int:
    """Return the instructions of a process that does ``work``."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, __file__,
                   "--work", robot, what, str(count)]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        raise SystemExit(f"valgrind did not count {what} of {robot}:\n{run.stderr[-2000:]}")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: one kernel, without the ratio")
    parser.add_argument("--save", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--against", type=pathlib.Path, help="print ratios to the figures of this file")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        robot, what, count = arguments.work
        work(robot, what, int(count))
        return
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing is counted (of Debian: apt install valgrind)")
        return
    robots, base = list(ROBOTS), json.loads(arguments.against.read_text()) if arguments.against else {}
    try:
        vt.find_robot("talos")
    except vt.VitreeError as error:
        print(f"without Talos: {error}")
        robots.remove("talos")
    cases = [(robot, what) for robot in robots for what in (*STEPS, *KERNELS)]
    cases = [("chain10", "rnea")] if arguments.smoke else cases
    figures = {}
    for robot, what in cases:
        name, n = f"{robot} {what}", 200 if what in STEPS else 20 * ROWS
        if arguments.smoke:
            n = ROWS
        work(robot, what, n)  # modules compiled and files cached before anything is counted
        figures[name] = (counted(robot, what, 2 * n) - counted(robot, what, n)) / n
        ratio = f"{figures[name] / base[name]:8.4f}" if name in base else ""
        print(f"{name:22s}{figures[name]:12.0f} instructions{ratio}", flush=True)
    if arguments.save:
        arguments.save.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
