"""Microseconds per step of the midpoint integrator on the systems of Johnson & Murphey 2008 and 2009.

    python benchmarks/tree_systems.py [--smoke]

dt = 0.01 s, all steps in compiled code: by the recursive residual in O(n), and by the paper's derivatives of the tree,
with its caching. The last columns are the time of a step by trep, the authors' package, on a similar machine, and its
ratio to the time with the recursive residual. The mechanisms are those of examples/papers/johnson_murphey_2009.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms

#: microseconds a step of trep on a like machine
TREP = {1: 7.7, 2: 15, 5: 64, 10: 313, 20: 1984, 40: 20825}


def cases():
    """Return models, starts, motions of prescribed coordinates, and trep's time."""
    for n, trep in TREP.items():
        yield *mechanisms.link_pendulum(n, inertia=0.0), None, trep
    yield *mechanisms.closed_chain(), None, 97
    yield *mechanisms.scissor(5), None, 247
    yield *mechanisms.scissor(8), None, None
    model, q0 = mechanisms.marionette()
    yield model, q0, mechanisms.pulled(model, q0), 1095


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    print(f"{'system':28s}{'recursive':>11s}{'tree':>9s}{'iterations':>12s}{'constraints':>13s}{'trep':>8s}{'times':>7s}")
    for model, q0, motion, trep in cases():
        runs = {residual: [] for residual in ("recursive", "tree")}
        for _ in range(1 if smoke else 7):
            for residual, done in runs.items():
                done.append(vt.simulate(model, q0, duration=0.1 if smoke else 5.0, dt=0.01, method="midpoint",
                                        residual=residual, control=vt.Control(prescribed=motion),
                                        record_every=10))  # fmt: skip
        us = {residual: 1e6 * min(run.seconds / run.steps for run in done) for residual, done in runs.items()}
        first = runs["recursive"][0]
        extra = f"{trep:8.0f}{trep / us['recursive']:7.0f}" if trep else ""
        print(f"{model.name:28s}{us['recursive']:11.2f}{us['tree']:9.2f}{first.iterations_total / first.steps:12.2f}"
              f"{np.abs(first.constraint).max(initial=0.0):13.1e}{extra}")  # fmt: skip


if __name__ == "__main__":
    main()
