"""Instructions per step and per call of the kernels, counted by valgrind: figures without the noise of a clock.

    python benchmarks/instructions.py [--smoke] [--save counts.json] [--against counts.json]

Prints a line each for a step of linear-time and midpoint and a call of rnea, aba and crba, on the chain of ten and,
where example-robot-data is installed, on a floating Talos; for the steps of a human figure that stands on its feet; and
for those of the marionette of Johnson & Murphey 2008, which swings on six strings (constraints) of lengths at rest.
Only the counted calls are collected: a small library, made with the C compiler and valgrind's header, zeroes the
counter before them and writes it after them.
``--against`` prints the ratio to figures that ``--save`` wrote, of another version say; count both with builds of the
same compiler flags.

Valgrind runs no AVX-512: a core that was built for a CPU with it alone is not counted (VITREE_WIDTHS=all builds the
others, too).
"""

from __future__ import annotations

import argparse
import ctypes
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
from vitree._core import built, lanes
from vitree.integrators.base import Records

STEPS = ("linear-time", "midpoint")
KERNELS = ("rnea", "aba", "crba")
CASES = {"chain10": (*STEPS, *KERNELS), "talos": (*STEPS, *KERNELS), "human": STEPS, "marionette": STEPS}
OF_DATA = ("talos", "human")
ROWS = 100  # states in one call from Python
COUNT = 200  # steps
TREE = pathlib.Path(__file__).parents[1]
CHAIN = TREE / "urdf" / "chain10.urdf"
SYSTEMS = TREE / "examples" / "papers" / "johnson_murphey_2009"
SWITCH = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_ZERO_STATS; }
void end(void) { CALLGRIND_DUMP_STATS; }
"""


def load(robot: str):
    """Return the model of that name, and a configuration."""
    if robot == "marionette":
        sys.path.insert(0, str(SYSTEMS))
        import mechanisms

        return mechanisms.marionette()
    if robot == "human":
        import contact

        standing = contact.Vitree(robot, vt.find_robot(robot))
        return standing.model, standing.q
    model = vt.load_urdf(CHAIN) if robot == "chain10" else vt.load_urdf(vt.find_robot(robot), base="free")
    return model, model.neutral()


def prepared(robot: str, what: str):
    """Return a function that does what is counted."""
    (model, q0), rng = load(robot), np.random.default_rng(0)
    if what in STEPS:
        # strings hold no velocity that is drawn, and who stands has none
        still = model.constraints or model.contacts
        q, v = q0, np.zeros(model.nv) if still else rng.uniform(-1, 1, model.nv)
        integrator = vt.METHODS[what](model, 1e-3)
        integrator.start(0.0, q, model.generalized_momentum(q, v))
        records = Records(np.empty(9), np.empty((9, model.nq)), np.empty((9, model.nv)), np.empty(9, np.intc),
                          np.empty(9), np.empty((9, len(model.constraints))))  # fmt: skip
        # the first steps have no past to extrapolate from
        integrator.stepper.run(50, 50, records)
        return lambda: integrator.stepper.run(COUNT, COUNT, records)
    q = np.array([model.integrate(q0, x) for x in rng.uniform(-1, 1, (ROWS, model.nv))])
    v, a, out = (rng.normal(size=(ROWS, model.nv)) for _ in range(3))
    gravity = np.array(model.gravity, float)
    door = getattr(lanes(1), f"batch_{what}")
    given = (q, np.empty((ROWS, model.nv**2))) if what == "crba" else (gravity, q, v, a, out)
    return lambda: door(model.core, *given)


def work(robot: str, library: str, *cases: str) -> None:
    """Do what is counted, under valgrind."""
    switch = ctypes.CDLL(library)
    for what in cases:
        call = prepared(robot, what)
        call()  # what is done once only is not counted
        switch.begin()
        call()
        switch.end()


def counted(robot: str, cases: tuple[str, ...], library: pathlib.Path) -> dict[str, float]:
    """Return the instructions of a step or call by name."""
    out = library.parent / robot
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, __file__,
               "--work", robot, str(library), *cases]  # fmt: skip
    # threads that wait would count
    alone = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **alone})
    if run.returncode:
        raise SystemExit(f"valgrind did not count {robot}:\n{run.stderr[-2000:]}")
    found = {}
    for k, what in enumerate(cases):
        text = out.with_name(f"{robot}.{k + 1}").read_text()
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        assert total, text[:1000]
        found[f"{robot} {what}"] = int(total[1]) / (COUNT if what in STEPS else ROWS)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: one kernel")
    parser.add_argument("--save", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--against", type=pathlib.Path, help="print ratios to the figures of this file")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
        return
    if shutil.which("valgrind") is None or shutil.which("cc") is None:
        print("valgrind or the C compiler is missing: nothing is counted (of Debian: apt install valgrind gcc)")
        return
    if not built("_x1") and not built("_x1_avx2"):
        print("the core was built for AVX-512 alone, which valgrind does not run: nothing is counted (build it with "
              "VITREE_WIDTHS=all)")  # fmt: skip
        return
    cases, base = dict(CASES), json.loads(arguments.against.read_text()) if arguments.against else {}
    for robot in OF_DATA:
        try:
            vt.find_robot(robot)
        except vt.VitreeError as error:
            print(f"without {robot}: {error}")
            del cases[robot]
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "switch.so"
        source = library.with_suffix(".c")
        source.write_text(SWITCH)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", str(source), "-o", str(library)], check=True)
        for robot, whats in {"chain10": ("rnea",)}.items() if arguments.smoke else cases.items():
            for name, count in counted(robot, whats, library).items():
                ratio = f"{count / base[name]:8.4f}" if name in base else ""
                print(f"{name:22s}{count:12.0f} instructions{ratio}", flush=True)
                figures[name] = count
    if arguments.save:
        arguments.save.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
