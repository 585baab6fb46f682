"""Microseconds per step of vehicles by method and map, inside ``simulate``, and free bodies by large steps.

    python benchmarks/vehicles.py [--smoke]

Steps run in compiled code, without Python. The second column is the time as a share of classical Runge-Kutta's on the
same vehicle. The last table repeats the paper's first test (Kobilarov et al. 2009, figure 4): four minutes of free
bodies with random starts and inertia. It counts runs that blow up, or have a step that cannot be solved.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import vitree as vt
from vitree.vehicles import RigidVehicle, boat, car, helicopter, snakeboard

MAPS = ("exp", "cayley", "dual-cayley", "trapezoidal")
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("lie", {"map": name}) for name in MAPS), ("rk2", {}), ("rk4", {}), ("implicit-rk2", {}), ("lie-newmark", {}),
)  # fmt: skip
ROLLING: tuple[tuple[str, dict[str, Any]], ...] = (("lie", {}), ("rk2", {}), ("rk4", {}))


def vehicles() -> dict:
    """Return vehicles, each with a velocity at the start and inputs."""
    return {
        "free body": (RigidVehicle((1, 2, 3), (4, 5, 7), gravity=(0, 0, 0)), [0.5, 0.2, -0.3, 1, -0.7, 0.4], None),
        "helicopter": (helicopter(drag=(0.01, 0.01, 0.01, 0.1, 0.1, 0.2)), [0.5, 0, 0, 0, 0, 0.1], [11.8, 0, 0, 0]),
        "boat": (boat(), [1, 0, 0, 0, 0, 0.1], [100.0, 80.0]),
        "car": (car(), None, [500.0, 0.0]),
        "snakeboard": (snakeboard(), None, [1e-4, 0.0]),
    }


def times(steps: int, repeats: int, dt: float) -> None:
    for name, (vehicle, v, u) in vehicles().items():
        rows = {}
        for method, options in METHODS if isinstance(vehicle, RigidVehicle) else ROLLING:
            runs = [vt.simulate(vehicle, None, v, duration=steps * dt, dt=dt, method=method,
                                control=vt.Control(inputs=u), record_every=steps,
                                **options) for _ in range(repeats)]  # fmt: skip
            label = " ".join([method, *options.values()])
            rows[label] = 1e6 * min(run.seconds for run in runs) / steps, runs[0].iterations_total / steps
        print(f"\n{name}, dt = {dt:g} s; us per step (share of rk4's), corrections per step")
        for label, (value, iterations) in rows.items():
            print(f"  {label:20s} {value:7.3f} ({value / rows['rk4'][0]:4.2f}) {iterations:6.2f}")


def large_steps(bodies: int, duration: float, steps: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    starts = [(RigidVehicle(rng.uniform(1, 3, 3), rng.uniform(2, 6, 3), gravity=(0, 0, 0)), rng.normal(size=6))
              for _ in range(bodies)]  # fmt: skip
    print(f"\n{bodies} free bodies, {duration:g} s: lost; of the others the largest change of energy and of momentum")
    print(f"  {'dt [s]':18s}" + "".join(f"{dt:>20g}" for dt in steps))
    for method, options in METHODS:
        cells = []
        for dt in steps:
            lost, worst = 0, np.zeros(2)
            for vehicle, v in starts:
                try:
                    run = vt.simulate(vehicle, None, v, duration=duration, dt=dt, method=method, **options)
                except vt.ConvergenceError:
                    lost += 1
                    continue
                change = np.linalg.norm(run.momentum - run.momentum[0], axis=1) / np.linalg.norm(run.momentum[0])
                worst = np.maximum(worst, [np.abs(run.energy / run.energy[0] - 1).max(), change.max()])
            cells.append(f"{lost} " + ("{:.0e} {:.0e}".format(*worst) if lost < bodies else "-"))
        print(f"  {' '.join([method, *options.values()]):18s}" + "".join(f"{cell:>20s}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    if parser.parse_args().smoke:
        times(steps=50, repeats=1, dt=1e-2)
        large_steps(bodies=1, duration=2.0, steps=(0.5, 1.0))
    else:
        for dt in (1e-2, 1e-3):
            times(steps=20000, repeats=7, dt=dt)
        large_steps(bodies=20, duration=240.0, steps=(0.1, 0.2, 0.4, 0.8, 1.2, 1.6))


if __name__ == "__main__":
    main()
