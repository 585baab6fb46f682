"""The cost of a variational step, counted instead of timed: residuals, factorisations and solves.

    python benchmarks/economy.py [--smoke]

Costs are in units of one inverse dynamics (RNEA): a residual 1.3; an exact factorisation with its solve 2.6; another
solve by the same factors 0.8; the symmetric factorisation of RIQN 1.6; a guess from the dynamics (ABA) 1.8.
``integrator.stepper.counts`` counts residuals, factorisations and solves. A guess from the dynamics is made once a step
if it is the chosen guess; otherwise four times a run, until an extrapolation is possible. The default makes a few more
after a blow or as its last resort, which are not counted. After a step is accepted, the default also solves further, to
extrapolate from better increments; these solves are counted.

There are fifteen cases: the chain of Lee et al. 2016 of 10 links; Panda without its fingers; Talos floating without
gravity; and Talos with damping (5 N m s/rad) and springs (50 N m/rad) at its joints. All joints (and the base) start at
random speeds up to 1, 3 and 10. The chain of 30 links starts at up to 0.3, 1 and 3. Each case runs one second. A number
of the table is the mean over the cases that did not fail; the number of failed cases stands in brackets. Beside each
row stands the row of a prototype, which had starts of its own and, with "the default", no last resort.

The last table counts ``gauss`` on the motions of work_precision.py: passes and factorisations a step, by order and dt.
A pass computes all stages at once, and solves with factors that it has. Halves of steps count with their step. "failed"
is a run with a step that is not solved.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
import starts
from starts import chains

import vitree as vt
from vitree.integrators.base import Records

#: Costs in units of RNEA.
RESIDUAL, FACTOR, SOLVE, SYMMETRIC, DYNAMICS = 1.3, 2.6, 0.8, 1.6, 1.8
STEPS = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
DURATION = 1.0
#: Before the history is long enough to extrapolate, guesses are from the dynamics.
FIRST_GUESSES = 4
#: Label -> options.
WAYS = {
    "aba + newton, 1e-11": {"solver": "recursive-newton", "guess": "aba", "tolerance": 1e-11},
    "aba + riqn, 1e-11": {"solver": "riqn", "guess": "aba", "tolerance": 1e-11},
    "extrapolate + modified-newton, 1e-11": {"solver": "modified-newton", "guess": "extrapolate", "tolerance": 1e-11},
    "the default, 1e-9": {"tolerance": 1e-9},
    "the default, 1e-8": {"tolerance": 1e-8},
}
#: The prototype's mean costs and numbers of failures, by step; it extrapolated to fourth order with "modified-newton".
PROTOTYPE = {
    "aba + newton, 1e-11": ((7.94, 0), (9.20, 0), (10.23, 0), (11.13, 2), (13.95, 5)),
    "aba + riqn, 1e-11": ((9.24, 0), (10.83, 0), (12.77, 0), (16.53, 2), (18.37, 8)),
    "extrapolate + modified-newton, 1e-11": ((5.33, 0), (5.66, 0), (6.15, 1), (7.55, 4), (9.86, 9)),
    "the default, 1e-9": ((3.39, 0), (4.02, 0), (4.73, 0), (6.25, 2), (7.77, 7)),
    "the default, 1e-8": ((3.16, 0), (3.76, 0), (4.46, 0), (5.94, 2), (7.26, 5)),
}

#: Of gauss.
ORDERS, LONG_STEPS = (4, 8, 12, 16), (2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
MOTIONS = "chain10", "chain30", "talos"


@dataclass
class Counts:
    """What a step takes on average, and its cost [RNEA]."""

    residuals: float
    factorisations: float
    solves: float
    cost: float


def with_springs(flat, damping: float = 5.0, stiffness: float = 50.0):
    """The mechanism with dampers and springs to zero at its one-coordinate joints."""
    joints = [joint for joint in flat.joints if joint.kind in ("revolute", "prismatic", "helical")]
    c = flat.damping.copy()
    for joint in joints:
        c[joint.v_slice] = damping
    return replace(flat, damping=c, loads=tuple(vt.JointSpring(joint.name, stiffness) for joint in joints))


def cases() -> dict[str, tuple[vt.Model, np.ndarray, float]]:
    """Label -> model, configuration, and the range that speeds are drawn from."""
    rng = np.random.default_rng(0)
    robots = {"chain10": chains.chain(10), "panda": starts.panda(), "talos": starts.talos()}
    robots["talos, damped"] = vt.Model(with_springs(robots["talos"].flat))
    robots["chain30"] = chains.chain(30)
    found = {}
    for name, model in robots.items():
        q = rng.uniform(-np.pi / 2, np.pi / 2, model.nv) if "chain" in name else model.neutral()
        for speed in (0.3, 1.0, 3.0) if name == "chain30" else (1.0, 3.0, 10.0):
            found[f"{name}, {speed:g}"] = model, q, speed
    return found


def counted(method: str, model: vt.Model, q, v, dt: float, steps: int, options: dict) -> tuple[int, int, int] | None:
    """Residuals or passes, factorisations and solves of a run, None if a step fails."""
    integrator = vt.METHODS[method](model, dt, **options)
    integrator.start(0.0, q, model.generalized_momentum(q, v))
    # the start and the end
    records = Records(np.empty(2), np.empty((2, model.nq)), np.empty((2, model.nv)), np.zeros(2, dtype=np.intc),
                      np.zeros(2), np.empty((2, 0)))  # fmt: skip
    try:
        integrator.run(records, steps, steps, None)
    except vt.ConvergenceError:
        return None
    return integrator.stepper.counts


def count(model: vt.Model, q: np.ndarray, v: np.ndarray, dt: float, steps: int, options: dict) -> Counts | None:
    """Counts of a step, None if one fails."""
    done = counted("linear-time", model, q, v, dt, steps, options)
    if done is None:
        return None
    residuals, factorisations, solves = done
    guesses = steps if options.get("guess") == "aba" else FIRST_GUESSES
    if options.get("solver") == "riqn":
        directions = SYMMETRIC * factorisations + SOLVE * solves
    else:
        directions = FACTOR * factorisations + SOLVE * (solves - factorisations)
    total = RESIDUAL * residuals + directions + DYNAMICS * guesses
    return Counts(residuals / steps, factorisations / steps, solves / steps, total / steps)


def mean(counts: list[Counts | None]) -> tuple[Counts, int]:
    """Mean of what did not fail, and how many did."""
    done = [(c.residuals, c.factorisations, c.solves, c.cost) for c in counts if c is not None]
    return Counts(*np.mean(done, axis=0)) if done else Counts(*[np.nan] * 4), len(counts) - len(done)


def cell(value: float, failed: int) -> str:
    """A mean cost, and in brackets the failures if there are any."""
    return f"{value:.2f}" + (f" ({failed})" if failed else "")


def gauss_table(smoke: bool) -> None:
    """Print passes and factorisations of a step of gauss, by motion, order and dt."""
    orders, steps = (ORDERS[:2], LONG_STEPS[2:3]) if smoke else (ORDERS, LONG_STEPS)
    print("\ngauss: passes / factorisations a step\n")
    print(f"{'dt':22s}" + "".join(f"{dt:>16g}" for dt in steps))
    for name in MOTIONS[:1] if smoke else MOTIONS:
        motion = starts.smooth_motion(name)
        for order in orders:
            cells = []
            for dt in steps:
                n = round(motion.duration / dt)
                done = counted("gauss", motion.model, motion.q, motion.v, dt, n, {"order": order})
                cells.append("failed" if done is None else f"{done[0] / n:.2f} / {done[1] / n:.2f}")
            print(f"{f'{name}, order {order}':22s}" + "".join(f"{text:>16s}" for text in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke

    chosen, duration = (STEPS[1::3], 0.05) if smoke else (STEPS, DURATION)
    found = {}
    for name, (model, q, speed) in cases().items():
        v = np.random.default_rng(1).uniform(-speed, speed, model.nv)
        for way, options in WAYS.items():
            for dt in chosen:
                found[name, way, dt] = count(model, q, v, dt, round(duration / dt), options)

    names = list(dict.fromkeys(name for name, _, _ in found))
    print(f"mean cost of a step [RNEA], {len(names)} cases (failed)\n")
    print(f"{'dt':42s}" + "".join(f"{dt:>13g}" for dt in chosen))
    means = {(way, dt): mean([found[name, way, dt] for name in names]) for way in WAYS for dt in chosen}
    for way in WAYS:
        theirs = dict(zip(STEPS, PROTOTYPE[way], strict=True))
        print(f"{way:42s}" + "".join(f"{cell(means[way, dt][0].cost, means[way, dt][1]):>13s}" for dt in chosen))
        print(f"{'  prototype':42s}" + "".join(f"{cell(*theirs[dt]):>13s}" for dt in chosen))

    print("\nresiduals / factorisations / solves a step\n")
    print(f"{'dt':30s}" + "".join(f"{dt:>20g}" for dt in chosen))
    for way in WAYS:
        rows = [means[way, dt][0] for dt in chosen]
        texts = [f"{c.residuals:.2f}/{c.factorisations:.2f}/{c.solves:.2f}" for c in rows]
        print(f"{way:30s}" + "".join(f"{text:>20s}" for text in texts))

    dt = chosen[0] if smoke else 1e-3
    print(f"\ncost of a step [RNEA] at dt = {dt:g} s\n")
    print(f"{'case':20s}" + "".join(f"{way:>30s}" for way in WAYS))
    for name in names:
        done = [found[name, way, dt] for way in WAYS]
        print(f"{name:20s}" + "".join(f"{'failed' if c is None else f'{c.cost:.2f}':>30s}" for c in done))
    gauss_table(smoke)


if __name__ == "__main__":
    main()
