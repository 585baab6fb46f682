"""Johnson & Murphey 2009, Fig. 12: the scissor lift of 5 segments after 1000 s at dt = 0.01 s.

    python fig12_scissor_long.py [--quick] [--out FOLDER]

The paper's claim: in the last seconds of a long run there is a slight shift of phase, but amplitude, shape
and frequency are those of the benchmark. The result is the same, in numbers: the greatest and the least angle
of the last 10 s agree to a part in ten thousand with the benchmark's, and the shift is its time to best fit.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

SEGMENTS = 5


def main() -> None:
    arguments = common.arguments(__doc__)
    duration, dt, shown = 50.0 if arguments.quick else 1000.0, 0.01, 10.0
    model, q0 = mechanisms.scissor(SEGMENTS)
    run = vt.simulate(model, q0, duration=duration, dt=dt, method="midpoint")
    late = run.t >= duration - shown - dt / 2
    t, theta = run.t[late], mechanisms.scissor_angle(model, run.q)[late]
    # the benchmark some seconds around, to be moved over the run
    fine = np.concatenate(([0.0], np.arange(duration - shown - 2, duration + 2, 1e-3)))
    benchmark = mechanisms.scissor_benchmark(SEGMENTS, fine)[1:]
    fine = fine[1:]
    shifts = np.arange(-1.0, 1.0, 1e-3)
    misfits = [np.sqrt(np.mean((np.interp(t + shift, fine, benchmark) - theta) ** 2)) for shift in shifts]
    shift = shifts[np.argmin(misfits)]
    there = np.interp(t, fine, benchmark)

    print(f"scissor lift of {SEGMENTS} segments, dt = {dt} s: the last {shown:g} s of {duration:g} s")
    change = run.energy - run.energy[0]
    rows = [
        ["greatest angle [rad]", f"{theta.max():.5f}", f"{there.max():.5f}"],
        ["least angle [rad]", f"{theta.min():.5f}", f"{there.min():.5f}"],
        ["ahead by [s]", f"{shift:.3f}", None],
        ["rms difference [rad]", f"{np.sqrt(np.mean((there - theta) ** 2)):.1e}", None],
        ["rms difference, shift taken out [rad]", f"{min(misfits):.1e}", None],
        ["energy error, whole run [J]", f"{np.abs(change).max():.1e}", None],
        ["constraints, whole run [m]", f"{np.abs(model.constraint_errors(run.q)).max():.1e}", None],
        ["runtime [s]", f"{run.seconds:.3f}", None],
    ]
    common.table(["", "midpoint", "benchmark"], rows)

    figure, axes = common.figure(1, 1, size=(8, 3.6))
    axes.plot(t, there, label="benchmark", color="0.65", linewidth=3)
    axes.plot(t, theta, label=f"midpoint, dt = {dt} s", linewidth=1.2, **common.LINES[0])
    axes.set(xlabel="time [s]", ylabel="angle [rad]")
    figure.legend(fontsize="small", loc="outside upper center", ncols=3)
    common.save(figure, arguments.out, "fig12_scissor_long.png")
    off = max(abs(theta.max() - there.max()), abs(theta.min() - there.min()))
    left = min(misfits) / np.ptp(there)
    common.claims(
        ("after 1000 s there is a slight phase shift", f"{shift:.3f} s ahead after {duration:g} s", abs(shift) < 0.5),
        ("amplitude, shape and frequency are still close to the benchmark's",
         f"greatest and least angle agree to {off:.1e} rad; with the shift taken out {100 * left:.2g} % of the range "
         f"are left", off < 1e-3 and left < 0.02),
    )  # fmt: skip


if __name__ == "__main__":
    main()
