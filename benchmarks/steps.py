"""Microseconds per integrator step inside ``simulate``, beside MuJoCo's Euler and RK4 steps; then others of vitree.

    python benchmarks/steps.py [--smoke]

The loops of both programs are in C. There is no damping, and there are no limits or contacts. Shares are of MuJoCo's
Euler step. The second table has what the first leaves out: a base that moves fast, friction, springs between bodies.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers

import vitree as vt

METHODS = (
    ("linear-time", {}),
    ("linear-time", {"solver": "recursive-newton"}),
    ("linear-time", {"solver": "recursive-newton", "guess": "aba"}),
    ("linear-time", {"solver": "modified-newton"}),
    ("linear-time", {"solver": "riqn"}),
    ("midpoint", {}),
    ("semi-implicit-euler", {}),
    ("rk4", {}),
)

PLAIN = ("linear-time", "midpoint", "semi-implicit-euler", "rk4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    dt, steps, repeats = (1e-3, 300, 15) if not arguments.smoke else (1e-3, 20, 1)
    print(peers.machine())
    for robot, (text, free) in peers.robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        v = np.random.default_rng(0).uniform(-1, 1, model.nv)
        rows = peers.mujoco_steps(text, free, v, dt, steps)
        iterations = {}
        for method, options in METHODS:
            label = " ".join([method, *options.values()])
            runs = [
                vt.simulate(model, None, v, duration=steps * dt, dt=dt, method=method, record_every=steps, **options)
                for _ in range(repeats)
            ]
            rows[label] = 1e6 * min(run.seconds for run in runs) / steps
            iterations[label] = runs[0].iterations_total / steps, runs[0].iterations_max
        again = peers.mujoco_steps(text, free, v, dt, steps)
        rows |= {name: min(rows[name], again[name]) for name in again}
        print(f"\n{robot}: {model.nv} degrees of freedom, dt = {dt:g} s; us per step (share), iterations mean, max")
        for label, value in rows.items():
            extra = "{:6.2f} {:3d}".format(*iterations[label]) if label in iterations else ""
            print(f"  {label:38s} {value:8.2f} ({value / rows['mujoco euler']:5.2f}) {extra}")
    print("\nus per step:", *(f"{method:>22}" for method in PLAIN))
    for name, (model, v) in others().items():
        times = []
        for method in PLAIN:
            runs = [vt.simulate(model, None, v, duration=steps * dt, dt=dt, method=method, record_every=steps)
                    for _ in range(repeats)]  # fmt: skip
            times.append(1e6 * min(run.seconds for run in runs) / steps)
        print(f"  {name:32s}", *(f"{value:10.2f} ({value / times[0]:5.2f})" for value in times))


def others() -> dict[str, tuple[vt.Model, np.ndarray]]:
    """Name -> (model, velocity) of robots under more than gravity."""
    found = {}
    path = vt.find_robot("talos")
    plain = vt.load_urdf(peers.without_damping(path.read_text()), base="free")
    v = np.random.default_rng(0).uniform(-1, 1, plain.nv)
    found["talos"] = plain, v
    found["talos at 20 m/s"] = plain, v + 20.0 * (np.arange(plain.nv) == 0)
    found["talos, friction and damping"] = vt.load_urdf(path, base="free"), v
    for count in (10, 30):
        v = np.random.default_rng(0).uniform(-1, 1, count)
        for springs in (0, 9):
            tree = vt.Tree(f"chain of {count}")
            at = tree.world
            for k in range(count):
                joint = vt.ry(f"j{k}") if k % 2 else vt.rx(f"j{k}")
                at = at.add(joint, vt.tz(-0.3), vt.body(f"b{k}", 1.0, (1e-2,) * 3))
            for k in range(springs):
                tree.load(vt.Spring(f"b{k}", f"b{(k + 3) % count}", 30.0, 0.5))
            found[f"chain of {count}, {springs or 'no'} springs"] = tree.compile(), v
    return found


if __name__ == "__main__":
    main()
