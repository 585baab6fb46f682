"""Robots held still by the torque that balances gravity: do they rest, and at what cost?

    python benchmarks/rest.py [--smoke] [--starts N]

Every robot that is found takes random postures near its neutral one, and the static torque of the posture. Runs have
100 steps, with both discretisations, orders 2 and 4, and dt of 1e-4 to 1e-2 s. A line is printed for each robot that
takes more than one iteration a substep, moves by more than 1e-9, or fails. An unstable posture leaves exponentially.
"""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np

import vitree as vt
from vitree.urdf.robots import example_robots, own_robots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: two robots")
    parser.add_argument("--starts", type=int, default=880, help="starts in all, at least")
    arguments = parser.parse_args()
    robots, left_out = {}, []
    for name in [*own_robots(), *example_robots()][: 2 if arguments.smoke else None]:
        try:
            model = vt.load_urdf(vt.find_robot(name))
            model.require_invertible_mass_matrix()
        except vt.VitreeError:
            left_out.append(name)  # nothing moves on a fixed base, or a joint moves no mass
        else:
            robots[name] = model
    steps = 1e-4, 1e-3, 1e-2
    each = 1 if arguments.smoke else math.ceil(arguments.starts / len(robots) / len(steps))
    starts = tried = failed = busy = far_off = 0
    worst_iterations, moved = 0.0, []
    for name, model in robots.items():
        rng = np.random.default_rng(0)
        for _, dt in itertools.product(range(each), steps):
            starts += 1
            q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
            zero = np.zeros(model.nv)
            for method, order in itertools.product(("linear-time", "midpoint"), (2, 4)):
                tried += 1
                try:
                    torque = model.rnea(q, zero, zero)
                    run = vt.simulate(model, q, duration=100 * dt, dt=dt, method=method, order=order, control=torque)
                except vt.VitreeError as error:
                    failed += 1
                    print(f"{name} {method} order {order} dt {dt:g}: {str(error)[:120]}", flush=True)
                    continue
                far = np.abs(model.difference(q, run.q[-1])).max()
                moved.append(far)
                mean = run.iterations_total / run.steps
                worst_iterations = max(worst_iterations, mean)
                iterates = mean > {2: 1, 4: 5}[order]  # order 4 has five substeps
                busy, far_off = busy + iterates, far_off + (far > 1e-9)
                if iterates or far > 1e-9:
                    print(f"{name} {method} order {order} dt {dt:g}: {mean:.2f} iterations a step, moved {far:.1e}",
                          flush=True)  # fmt: skip
    print(f"left out: {', '.join(left_out) or 'none'}")
    print(f"{starts} starts of {len(robots)} robots, {tried} runs: {failed} failed, {busy} took more than an iteration "
          f"a substep (at most {worst_iterations:.2f} a step), {far_off} moved by more than 1e-9 "
          f"(median {np.median(moved):.1e}, at most {max(moved):.1e})")  # fmt: skip


if __name__ == "__main__":
    main()
