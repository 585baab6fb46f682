"""Johnson & Murphey 2009, Fig. 13: the runtime that scissor lifts take for the same error.

    python fig13_scissor_runtime.py [--quick] [--out FOLDER]

The error of a run up to a time is the integral of the squared difference of its angle to the benchmark's
(eq. 47). For each number of segments the time step is adjusted until the error reaches 0.1 rad^2 s at 15 s,
and the run at that step is timed. The paper's claim: although a step of the force-balance simulator (ODE) is
cheaper and grows linearly, the variational integrator is quicker at an equal error, so much that the plot
must be logarithmic. The result is the same, with MuJoCo in the place of ODE and its constraints as stiff
as it takes them: its step must shrink fast with the number of segments. The midpoint integrator stays below
that error up to the coarsest steps that can be solved at all, near the configuration in which all links lie
in one line; its rows show such steps, at a smaller error.
"""

import sys
from pathlib import Path

import mechanisms
import mujoco_peer
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common


def midpoint(model, q0, duration, steps):
    """Times, angles and seconds of a run; None if a step cannot be solved."""
    try:
        run = vt.simulate(model, q0, duration=duration, dt=duration / steps, method="midpoint")
    except vt.ConvergenceError:
        return None
    return run.t, mechanisms.scissor_angle(model, run.q), run.seconds


def mujoco(model, q0, duration, steps):
    """The same by MuJoCo, recorded at about 1500 times."""
    every = max(1, steps // 1500)
    dt = duration / steps
    run = mujoco_peer.simulate(model, q0, duration=duration, dt=dt, record_every=every, impedance=0.9999)
    return run.t, mechanisms.scissor_angle(model, run.q), run.seconds


def coarsest(method, segments: int, duration: float, allowed: float, within: float, least: int, most: int):
    """Steps, error and seconds of the coarsest run, to a factor ``within``, whose error is allowed.

    Doubling from ``least``, then bisection; None if there is none up to ``most`` steps.
    """
    model, q0 = mechanisms.scissor(segments)
    fine = np.linspace(0.0, duration, 15001)
    benchmark = mechanisms.scissor_benchmark(segments, fine)

    def attempt(steps):
        done = method(model, q0, duration, steps)
        if done is None:
            return np.inf, np.nan
        t, theta, seconds = done
        return np.trapezoid((theta - np.interp(t, fine, benchmark)) ** 2, t), seconds

    low, high = least, least
    while True:
        error, seconds = attempt(high)
        if error <= allowed:
            break
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high / low > within and high - low > 1:
        middle = round(np.sqrt(low * high))
        found = attempt(middle)
        if found[0] <= allowed:
            high, error, seconds = middle, *found
        else:
            low = middle
    return high, error, min(seconds, *(attempt(high)[1] for _ in range(2)))


def main() -> None:
    arguments = common.arguments(__doc__)
    quick = arguments.quick
    duration, allowed, within = (3.0, 1e-3, 1.2) if quick else (15.0, 0.1, 1.01)
    most = 20_000 if quick else 1_000_000
    counts = range(1, 3) if quick else range(1, 6)
    methods = {"midpoint": midpoint} | ({"MuJoCo": mujoco} if mujoco_peer.mujoco else {})
    print(f"scissor lifts, {duration:g} s: the coarsest step with an error of at most {allowed:g} rad^2 s")
    rows, all_found = [], {}
    figure, axes = common.figure(1, 1, size=(6, 4))
    for style, marker, (name, method) in zip(common.LINES, "os", methods.items(), strict=False):
        found = {n: coarsest(method, n, duration, allowed, within, round(20 * duration / 3), most) for n in counts}
        for n, result in found.items():
            if result is None:
                rows.append([name, n, None, f"> {allowed:g}", None])
                continue
            steps, error, seconds = result
            rows.append([name, n, f"{duration / steps:.3g}", f"{error:.3g}", f"{seconds:.5f}"])
        all_found[name] = found
        reached = [n for n, result in found.items() if result is not None]
        axes.semilogy(reached, [found[n][2] for n in reached], marker=marker, label=name, **style)
    common.table(["method", "segments", "dt [s]", "error", "runtime [s]"], rows)
    axes.set(xlabel="segments", ylabel="runtime [s]", xticks=list(counts))
    axes.legend()
    common.save(figure, arguments.out, "fig13_scissor_runtime.png")
    claims(all_found)


def claims(found) -> None:
    """The claim of section VI-C-1: the ratio of the runtimes by the number of segments."""
    ratios = {n: done[2] / found["midpoint"][n][2] for n, done in found.get("MuJoCo", {}).items() if done}
    none = [n for n, done in found.get("MuJoCo", {}).items() if not done]
    text = "; ".join(f"{ratio:.2g} times (segments: {n})" for n, ratio in ratios.items())
    lost = f"; with {none} segments MuJoCo does not reach the error" if none else ""
    common.claims(
        ("at an equal error the variational integrator is faster, so much that the axis must be logarithmic",
         f"for the error that is allowed MuJoCo, in the place of ODE, takes longer by {text}{lost}" if ratios or none
         else "MuJoCo is not installed",
         all(ratio > 1 for n, ratio in ratios.items() if n > 1) if ratios else "not run"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
