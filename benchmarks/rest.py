"""Robots held still by the torque that balances gravity: do they rest, and at what cost?

    python benchmarks/rest.py [--smoke] [--starts N]

Every robot that is found takes random postures near its neutral one, and the static torque of the posture. Runs have
100 steps, with both discretisations, orders 2 and 4, and dt of 1e-4 to 1e-2 s. A line is printed for each robot that
takes more than one iteration a substep, moves by more than 1e-9, or fails. An unstable posture leaves exponentially.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

import vitree as vt
from vitree.urdf.robots import example_robots, own_robots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: two robots")
    parser.add_argument("--starts", type=int, default=880, help="starts in all")
    arguments = parser.parse_args()
    robots = [*own_robots(), *example_robots()]
    robots = robots[:2] if arguments.smoke else robots
    each = 1 if arguments.smoke else max(arguments.starts // len(robots), 1)
    tried = failed = 0
    worst_iterations, moved = 0.0, []
    for name in robots:
        try:
            model, rng = vt.load_urdf(vt.find_robot(name)), np.random.default_rng(0)
            model.require_regular()
        except vt.VitreeError:
            continue  # nothing moves on a fixed base, or a joint moves no mass
        for _, dt in itertools.product(range(each), (1e-4, 1e-3, 1e-2)):
            q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
            zero = np.zeros(model.nv)
            for method, order in itertools.product(("linear-time", "midpoint"), (2, 4)):
                tried += 1
                try:
                    torque = model.rnea(q, zero, zero)
                    run = vt.simulate(model, q, duration=100 * dt, dt=dt, method=method, order=order, torque=torque)
                except vt.VitreeError as error:
                    failed += 1
                    print(f"{name} {method} order {order} dt {dt:g}: {str(error)[:120]}", flush=True)
                    continue
                far = np.abs(model.difference(q, run.q[-1])).max()
                moved.append(far)
                mean = run.iterations_total / run.steps
                worst_iterations = max(worst_iterations, mean)
                if mean > {2: 1, 4: 5}[order] or far > 1e-9:  # order 4 has five substeps
                    print(f"{name} {method} order {order} dt {dt:g}: {mean:.2f} iterations a step, moved {far:.1e}",
                          flush=True)  # fmt: skip
    print(f"{tried} runs, {failed} failed; iterations a step: at most {worst_iterations:.2f}; "
          f"moved: median {np.median(moved):.1e}, at most {max(moved):.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
