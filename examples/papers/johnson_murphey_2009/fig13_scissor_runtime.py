"""Johnson & Murphey 2009, Fig. 13: the runtime that scissor lifts take for the same error.

    python fig13_scissor_runtime.py [--quick] [--out FOLDER]

The error of a run up to a time is the integral of the squared difference of its angle to the benchmark's (eq. 47). For
each number of segments the time step is adjusted until the error reaches 0.1 rad^2 s at 15 s, and the run at that step
is timed. The paper's claim: although a step of the force-balance simulator (ODE) is cheaper and grows linearly, the
variational integrator is quicker at an equal error, so much that the plot must be logarithmic. The result is the same:
ODE's step must shrink fast with the number of segments. From three on it does not reach the error by MOST steps (in
single precision, as panda3d has it); its rows and arrows then show the time of so many steps, which is too little.
With one segment the step is the longest that ODE takes. The midpoint integrator stays below that error up to the
coarsest steps that can be solved at all, near the configuration in which all links lie in one line; its rows show such
steps, at a smaller error.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np
import ode_peer

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

#: The most steps that are tried.
MOST = 400_000
#: The longest steps that are tried [s]. At longer ones ODE ends the program by an assertion.
LONGEST = {"midpoint": 0.15, "ODE": 0.05}


def midpoint(model, q0, duration, steps, _):
    """Times, angles and seconds of a run; None if a step cannot be solved."""
    try:
        run = vt.simulate(model, q0, duration=duration, dt=duration / steps, method="midpoint")
    except vt.ConvergenceError:
        return None
    return run.t, mechanisms.scissor_angle(model, run.q), run.seconds


def by_ode(model, q0, duration, steps, failed):
    """The same by ODE, recorded at about 1500 times; it ends where it has failed."""
    every, dt = max(1, steps // 1500), duration / steps
    start = q0[model.joint("a0").q_slice.start]
    body = model.flat.frame_body[model.frame_names.index("a_link0")]
    run = ode_peer.simulate(model, q0, duration=duration, dt=dt, record_every=every,
                            stop=lambda t, turn: failed(t, start + turn[body]))  # fmt: skip
    return run.t, ode_peer.scissor_angle(model, q0, run), run.seconds


def coarsest(method, segments: int, duration: float, allowed: float, within: float, least: int, most: int):
    """Steps, error and seconds of the coarsest run, to a factor ``within``, whose error is allowed.

    Doubling from ``least``, then bisection. If there is none up to ``most`` steps, the error is None, and the seconds
    are those that so many steps take.
    """
    model, q0 = mechanisms.scissor(segments)
    fine = np.linspace(0.0, duration, 15001)
    benchmark = mechanisms.scissor_benchmark(segments, fine)

    def attempt(steps):
        spent = last = 0.0

        def failed(t, theta):
            nonlocal spent, last
            spent, last = spent + (theta - np.interp(t, fine, benchmark)) ** 2 * (t - last), t
            # twice, because this sum over records is coarser than that below
            return spent > 2 * allowed

        done = method(model, q0, duration, steps, failed)
        if done is None:
            return np.inf, np.nan
        t, theta, seconds = done
        if spent > 2 * allowed:
            return np.inf, seconds * duration / t[-1]
        return np.trapezoid((theta - np.interp(t, fine, benchmark)) ** 2, t), seconds

    low, high = least, least
    while True:
        error, seconds = attempt(high)
        if error <= allowed:
            break
        if high >= most:
            return high, None, seconds
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
    most = 20_000 if quick else MOST
    counts = range(1, 3) if quick else range(1, 6)
    methods = {"midpoint": midpoint} | ({"ODE": by_ode} if ode_peer.available() else {})
    print(f"scissor lifts, {duration:g} s: the coarsest step with an error of at most {allowed:g} rad^2 s")
    rows, all_found = [], {}
    figure, axes = common.figure(1, 1, size=(6, 4))
    for style, marker, (name, method) in zip(common.LINES, "os", methods.items(), strict=False):
        least = round(duration / LONGEST[name])
        found = {n: coarsest(method, n, duration, allowed, within, least, most) for n in counts}
        for n, (steps, error, seconds) in found.items():
            reached = f">{allowed:g}" if error is None else f"{error:.3g}"
            rows.append([name, n, f"{duration / steps:.3g}", reached, f"{seconds:.5f}"])
        all_found[name] = found
        axes.semilogy(found.keys(), [seconds for *_, seconds in found.values()], marker=marker, label=name, **style)
        for n, (_, error, seconds) in found.items():
            if error is None:
                axes.annotate("", (n, 4 * seconds), (n, seconds), arrowprops={"arrowstyle": "->"})
    common.table(["method", "segments", "dt [s]", "error", "runtime [s]"], rows)
    axes.set(xlabel="segments", ylabel="runtime [s]", xticks=list(counts))
    axes.set_ylim(top=6 * axes.get_ylim()[1])
    axes.legend()
    common.save(figure, arguments.out, "fig13_scissor_runtime.png")
    claims(all_found)


def claims(found) -> None:
    """The claim of section VI-C-1: the ratio of the runtimes by the number of segments."""
    peer, ours = found.get("ODE", {}), found["midpoint"]
    ratios = {n: seconds / ours[n][2] for n, (_, _, seconds) in peer.items()}
    text = "; ".join(f"{'more than ' if peer[n][1] is None else ''}{ratio:.2g} times (segments: {n})"
                     for n, ratio in ratios.items())  # fmt: skip
    common.claims(
        ("at an equal error the variational integrator is faster, so much that the axis must be logarithmic",
         f"for the error that is allowed ODE takes longer by {text}" if ratios else "ODE is not installed",
         all(ratio > 1 for ratio in ratios.values()) if ratios else "not run"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
