"""Steps against the same steps begun anew: is any on a wrong branch?

    python benchmarks/certificate.py [--smoke] [--steps N]

Closed chains, scissors, marionettes and thrown trees run with both discretisations, orders 2 and 4 and several
tolerances. A share of the steps, and each step that turns a joint unusually far, is taken again from its start: from
the dynamics' prediction, with exact directions, in four and in eight substeps, whose difference tells the error of the
whole step. A step further off than ten times its error, and by more than a tenth of its motion, is wrong. The last
table is the double pendulum from 60 starts at steps too long for it: energy bands, and steps that were taken in halves.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1] / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms


def double_pendulum():
    """Two point masses of 1 kg on rods of 1 m."""
    tree = vt.Tree("double pendulum")
    first = tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    first.add(vt.rx("b"), vt.tz(-1.0), vt.body("two", 1.0))
    return tree.compile()


def chain(links: int):
    """Rods of 1 m and 1 kg."""
    tree = vt.Tree(f"chain of {links}")
    at = tree.world
    for k in range(links):
        at = at.add(vt.ry(f"joint{k}"), vt.body(f"link{k}", 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3)),
                    vt.tz(-1.0))  # fmt: skip
    return tree.compile()


def cases(rng):
    """Name -> model and a start, different at each call."""
    model, q = mechanisms.closed_chain()
    yield "closed chain", model, vt.satisfy_constraints(model, q + 0.1 * rng.normal(size=model.nq)), None
    model, q, *_ = mechanisms.scissor(3)
    yield "scissor of 3", model, q, None
    model, q = mechanisms.marionette()
    yield "marionette", model, vt.satisfy_constraints(model, q), None
    model = chain(5)
    yield "chain of 5", model, rng.uniform(-2, 2, model.nq), 3.0
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    yield "human, thrown", model, model.neutral(), 4.0


def again(model, run, k, h, chosen, pieces):
    """The configuration at the end of step k, begun anew in that many pieces."""
    return vt.simulate(model, run.q[k], p0=run.p[k], duration=h, dt=h / pieces, t0=float(run.t[k]),
                       solver="recursive-newton", guess="aba", **chosen).q[-1]  # fmt: skip


def wrong_steps(model, run, h, chosen, rng, share):
    """How many steps were looked at, and those that are wrong: (time, difference, motion)."""
    motion = np.array([np.abs(model.difference(a, b)).max() for a, b in zip(run.q, run.q[1:], strict=False)])
    wanted = (rng.random(len(motion)) < share) | (motion > np.quantile(motion, 1 - share))
    found, order = [], chosen["order"]
    for k in np.flatnonzero(wanted):
        try:
            four, eight = (again(model, run, k, h, chosen, pieces) for pieces in (4, 8))
        except vt.ConvergenceError:
            continue
        error = np.abs(model.difference(four, eight)).max() / (4.0**-order - 8.0**-order)
        off = np.abs(model.difference(run.q[k + 1], eight)).max()
        if off > 10.0 * error and off > 0.1 * motion[k]:
            found.append((float(run.t[k]), off, motion[k]))
    return int(wanted.sum()), found


def branches(steps: int, share: float) -> None:
    """The table of steps begun anew."""
    rng, total, began = np.random.default_rng(0), 0, time.perf_counter()
    print(f"{'system':16s}{'method':13s}{'order':>6s}{'tolerance':>10s}{'steps':>9s}{'looked at':>10s}{'wrong':>6s}"
          f"{'halved':>7s}  ended by")  # fmt: skip
    while total < steps:
        for method in ("linear-time", "midpoint"):
            for order in (2, 4):
                tolerance = 10.0 ** -rng.integers(8, 14)
                for name, model, q, speed in cases(rng):
                    v = None if speed is None else speed * rng.uniform(-1, 1, model.nv)
                    count, h, reason = min(20000, max(steps // 20, 50)), 0.01, ""
                    chosen = {"method": method, "order": order, "tolerance": tolerance}
                    try:
                        run = vt.simulate(model, q, v, duration=count * h, dt=h, **chosen)
                    except vt.ConvergenceError as error:
                        run, reason = error.trajectory, f"an error at {error.time:.6g} s"
                    looked, found = wrong_steps(model, run, h, {**chosen, "tolerance": 1e-11}, rng, share)
                    total += run.steps
                    print(f"{name:16s}{method:13s}{order:6d}{tolerance:10.0e}{run.steps:9d}{looked:10d}{len(found):6d}"
                          f"{run.settings['halved']:7d}  {reason}", flush=True)  # fmt: skip
                    for t, off, motion in found:
                        print(f"    t = {t:.6g} s: off by {off:.3g}, motion {motion:.3g}")
    print(f"{total} steps in {time.perf_counter() - began:.0f} s")


def bands(starts: int, duration: float) -> None:
    """The table of the double pendulum: energy bands beside those of half the step."""
    model, rng = double_pendulum(), np.random.default_rng(60)
    q0 = rng.uniform(-np.pi, np.pi, (starts, 2))
    print(f"\n{'method':13s}{'order':>6s}{'dt':>8s}{'errors':>7s}{'halved':>8s}{'turn':>7s}{'band [J]':>18s}"
          f"{'to half the dt':>18s}")  # fmt: skip
    for method in ("linear-time", "midpoint"):
        for order in (2, 4):
            before = None
            for dt in (0.0125, 0.025, 0.05, 0.1):
                band, errors, halved, turn = [], 0, 0, 0.0
                for q in q0:
                    try:
                        run = vt.simulate(model, q, duration=round(duration / dt) * dt, dt=dt, method=method,
                                          order=order)  # fmt: skip
                    except vt.ConvergenceError as error:
                        run, errors = error.trajectory, errors + 1
                    band.append(np.abs(run.energy - run.energy[0]).max())
                    turn = max(turn, np.abs(np.diff(run.q, axis=0)).max())
                    halved += run.settings["halved"]
                band = np.array(band)
                ratio = np.full(starts, np.nan) if before is None else band / before
                print(f"{method:13s}{order:6d}{dt:8.4f}{errors:7d}{halved:8d}{turn:7.2f}"
                      f"{np.median(band):10.4f} {band.max():7.3f}{np.median(ratio):10.2f} {ratio.max():7.2f}",
                      flush=True)  # fmt: skip
                before = band


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: a few steps")
    parser.add_argument("--steps", type=int, default=10_000_000, help="steps in all")
    arguments = parser.parse_args()
    branches(1000 if arguments.smoke else arguments.steps, 0.02 if arguments.smoke else 0.002)
    bands(2 if arguments.smoke else 60, 1.0 if arguments.smoke else 20.0)


if __name__ == "__main__":
    main()
