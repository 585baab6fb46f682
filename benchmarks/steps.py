"""Microseconds per integrator step inside ``simulate``, beside MuJoCo's Euler and RK4 steps.

    python benchmarks/steps.py [--smoke]

The loops of both programs are in C. There is no damping, and there are no limits or contacts. Shares are of MuJoCo's
Euler step.
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
    ("linear-time", {"solver": "frozen"}),
    ("linear-time", {"solver": "riqn"}),
    ("midpoint", {}),
    ("semi-implicit-euler", {}),
    ("rk4", {}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    dt, steps, repeats = (1e-3, 300, 15) if not arguments.smoke else (1e-3, 20, 1)
    for robot, (text, free) in peers.robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        v = np.random.default_rng(0).uniform(-1, 1, model.nv)
        rows = peers.mujoco_steps(text, free, v, dt, steps)
        iterations = {}
        for method, options in METHODS:
            label = " ".join([method, *options.values()])
            runs = [
                vt.simulate(model, None, v, duration=steps * dt, dt=dt, method=method, every=steps, **options)
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


if __name__ == "__main__":
    main()
