"""Bodies of random shapes that are dropped and thrown, by the thousand: what a run of contacts must never do.

    python benchmarks/random_drops.py [--smoke] [--drops N] [--mixed N] [--first SEED] [--processes P] [--list]

A drop is of two bodies on the floor, a mixed run of ten in a pit of a floor and four walls. Shapes, sizes, inertias,
poses, velocities, friction (0 to 3), restitution none, dt (1, 2, 5, 10 ms) and method follow from the seed. Told are
the runs that end in an error, whose nodes have a gap below -1e-10 m, whose contacts keep a residual, whose energy
exceeds its start, and whose momentum differs from the impulses; ``--list`` names them.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import time
import warnings

import numpy as np

import vitree as vt

KINDS = ("sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull", "disk")
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
METHODS = ("linear-time", "midpoint")
FRICTION = (0.0, 0.3, 1.0, 3.0)
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)
#: Bounds of a gap [m], a gain of energy relative to the largest kinetic energy, and a momentum relative to the largest
GAP, ENERGY, MOMENTUM = 1e-10, 1e-6, 1e-10


def shaped(rng, kind: str, scale: float = 1.0):
    """A shape of any size."""
    a, b, c = (scale * rng.uniform(0.08, 0.2, 3)).tolist()
    if kind == "hull":
        points = rng.normal(size=(20, 3))
        return vt.Hull(a * points / np.linalg.norm(points, axis=1)[:, None])
    return {
        "sphere": lambda: vt.Sphere(a), "capsule": lambda: vt.Capsule(0.5 * a, 2 * b),
        "box": lambda: vt.Box((2 * a, 2 * b, 2 * c)), "cylinder": lambda: vt.Cylinder(a, 2 * b),
        "cone": lambda: vt.Cone(a, 2 * b), "ellipsoid": lambda: vt.Ellipsoid((a, b, c)), "disk": lambda: vt.Disk(a),
    }[kind]()  # fmt: skip


def thrown(rng, kinds, friction: float, scale: float, heights, across: float, walls: tuple):
    """A model of free bodies, and a state of them in the air."""
    tree = vt.Tree("drop")
    for k, kind in enumerate(kinds):
        inertia = np.diag(scale**2 * (rng.uniform(0.005, 0.01, 3) + 0.003))
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", 1.0, inertia))
        tree.contact(vt.Contact(f"body {k}", shapes=shaped(rng, kind, scale), friction=friction))
    tree.contact(vt.Ground(friction=friction, planes=walls))
    model = tree.compile()
    d = np.zeros((len(kinds), 6))
    d[:, :2] = rng.uniform(-across, across, (len(kinds), 2))
    d[:, 2], d[:, 3:] = heights, rng.normal(size=(len(kinds), 3))
    q = model.neutral().reshape(-1, 7)
    q[:, :3] = d[:, :3]
    d[:, :3] = 0
    v = rng.normal(size=(len(kinds), 6)) * (0.3, 0.3, 0.5, 2, 2, 2)
    return model, model.integrate(q.ravel(), d.ravel()), v.ravel()


def drop(seed: int):
    """Two bodies on the floor: (what it is, model, q, v, duration, dt, method)."""
    pair = PAIRS[seed % len(PAIRS)]
    rng = np.random.default_rng(seed)
    friction, dt, method = FRICTION[rng.integers(4)], STEPS[rng.integers(4)], METHODS[rng.integers(2)]
    model, q, v = thrown(rng, pair, friction, 1.0, (0.35, 0.95), 0.1, ())
    return f"{pair[0]}, {pair[1]}, friction {friction:g}, {method}", model, q, v, 0.8, dt, method


def mixed(seed: int):
    """Ten bodies of all kinds in a pit."""
    rng = np.random.default_rng(1_000_000 + seed)
    kinds = [KINDS[rng.integers(len(KINDS))] for _ in range(10)]
    friction, dt, method = FRICTION[rng.integers(4)], STEPS[rng.integers(4)], METHODS[rng.integers(2)]
    walls = tuple(((np.cos(a), np.sin(a), 0.0), -0.45) for a in np.linspace(0, 2 * np.pi, 4, endpoint=False))
    heights = 0.3 + 0.5 * np.arange(10)
    model, q, v = thrown(rng, kinds, friction, 0.8, heights, 0.15, walls)
    return f"{' '.join(kinds)}, friction {friction:g}, {method}", model, q, v, 1.6, dt, method


def judged(task: tuple[str, int]):
    """What a run did: its name, what was wrong, and numbers of it."""
    what, model, q, v, duration, dt, method = {"drop": drop, "mixed": mixed}[task[0]](task[1])
    wrong, numbers, steps = [], {}, 0
    if model.contact_gaps(q).gap.min() < 0:
        return task, what, ["overlaps at its start"], numbers, dt, 0, 0.0
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            monitors = ("gap", "momentum_balance")
            run = vt.simulate(model, q, v, duration=duration, dt=dt, method=method, monitors=monitors)
    except vt.VitreeError as error:
        return task, what, ["error"], {"error": str(error)[:200]}, dt, 0, time.perf_counter() - started
    steps = run.steps
    told = run.settings.get("inexact_contacts")
    if told and told[1] > 1e-9:
        wrong.append("told")
        numbers["residual"] = told[1]
    if (gap := run.monitors["gap"].min()) < -GAP:
        wrong.append("gap, told" if told else "gap, silent")
        numbers["gap"] = gap
    scale = max(run.energy[0] - run.energy.min(), 1.0)
    if (gain := (run.energy - run.energy[0]).max()) > ENERGY * scale:
        wrong.append("energy, told" if told else "energy, silent")
        numbers["energy"] = gain
    # linear momenta: where points of a face land one after the other, the log lacks the height at which friction acts
    if (balance := np.abs(run.monitors["momentum_balance"][:, 3:]).max()) > MOMENTUM * max(np.abs(run.p).max(), 1.0):
        wrong.append("momentum")
        numbers["momentum"] = balance
    if run.settings.get("halved"):
        wrong.append("in parts")
    return task, what, wrong, numbers, dt, steps, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drops", type=int, default=1000)
    parser.add_argument("--mixed", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2, help="0: in this one")
    parser.add_argument("--list", action="store_true", help="name each run that is told of")
    parser.add_argument("--smoke", action="store_true", help="a few runs")
    options = parser.parse_args()
    if options.smoke:
        options.drops, options.mixed = 20, 1
    for kind, count in (("mixed", options.mixed), ("drop", options.drops)):
        tasks = [(kind, seed) for seed in range(options.first, options.first + count)]
        counted, worst, spent, steps = collections.Counter(), {}, 0.0, 0
        with contextlib.ExitStack() as stack:
            found = map(judged, tasks)
            if options.processes:
                pool = stack.enter_context(concurrent.futures.ProcessPoolExecutor(options.processes))
                found = pool.map(judged, tasks, chunksize=4)
            for task, what, wrong, numbers, dt, taken, seconds in found:
                counted.update(wrong)
                spent, steps = spent + seconds, steps + taken
                for name, value in numbers.items():
                    if name != "error" and abs(value) > abs(worst.get(name, (0.0,))[0]):
                        worst[name] = value, task[1]
                if options.list and any(each != "in parts" for each in wrong):
                    print(f"{kind} {task[1]} ({what}, dt {dt:g}): {', '.join(wrong)} {numbers}", flush=True)
        print(f"{kind}: {count} runs, {steps} steps, {spent:.0f} s of processors")
        for name, number in sorted(counted.items()):
            print(f"    {name}: {number} ({100 * number / count:.2f} %)")
        for name, (value, seed) in sorted(worst.items()):
            print(f"    worst {name}: {value:.2g} (seed {seed})")


if __name__ == "__main__":
    main()
