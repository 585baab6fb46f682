"""Johnson & Murphey 2009, Fig. 4: a root finder goes from two configurations to the next one, step by step.

    python fig04_root_finder.py [--quick] [--out FOLDER]

The figure is a diagram of eq. 16: D1 L_d(q_k, q_{k+1}) + D2 L_d(q_{k-1}, q_k) = 0 is solved for q_{k+1}, and so on. The
script does just this for the planar human of Fig. 2, with SciPy's root finder and the midpoint Lagrangian, from the
first two configurations of a compiled run.

Result: the configurations are those of the compiled integrator, to the root finder's accuracy. The paper's pseudocode
of its root finder goes on "while |f| < tolerance", which must be ">": as printed it returns the guess.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np
from scipy.optimize import root

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common
from fig03_discrete_lagrangians import slopes


def following(model, before, now, h: float) -> tuple[np.ndarray, list[float]]:
    """q_{k+1} from q_{k-1} and q_k, and the largest entries of f that the root finder saw."""
    _, known = slopes(model, before, now, h, "midpoint")
    seen = []

    def f(nxt):
        value = slopes(model, now, nxt, h, "midpoint")[0] + known
        seen.append(float(np.abs(value).max()))
        return value

    return root(f, 2 * now - before, method="hybr", options={"xtol": 1e-14}).x, seen


def as_printed(guess, f, correct, tolerance: float):
    """The loop with the printed test: it corrects while |f| is small."""
    while np.abs(f(guess)).max() < tolerance:
        guess = guess - correct(f(guess))
    return guess


def main() -> None:
    arguments = common.arguments(__doc__)
    h, steps = 0.01, 4 if arguments.quick else 40
    model, q0, v0 = mechanisms.planar_human(pinned=True)
    run = vt.simulate(model, q0, v0, duration=steps * h, dt=h, method="midpoint", tolerance=1e-13)
    path, histories = [run.q[0], run.q[1]], []
    for _ in range(steps - 1):
        nxt, seen = following(model, path[-2], path[-1], h)
        path.append(nxt)
        histories.append(seen)
    off = np.abs(np.array(path) - run.q).max()
    guess = 2 * run.q[1] - run.q[0]
    _, known = slopes(model, run.q[0], run.q[1], h, "midpoint")
    stays = as_printed(guess, lambda q: slopes(model, run.q[1], q, h, "midpoint")[0] + known, lambda f: f, 1e-10)
    print(f"planar human, {steps} steps of {h:g} s: the largest difference from the compiled run: {off:.1e} rad;")
    moved = np.abs(stays - guess).max()
    print(f"the printed loop moves its guess by {moved:g} rad, and leaves f at {histories[0][0]:.1e}")

    figure, axes = common.figure(1, 2, size=(10, 3.8))
    k = model.joint("left_knee_bend").q_slice.start
    axes[0].plot(run.t, run.q[:, k], color="0.65", linewidth=4, label="compiled")
    axes[0].plot(run.t, np.array(path)[:, k], "o", color="0.0", markersize=3, label="by the root finder")
    axes[0].set(xlabel="time [s]", ylabel="left knee [rad]")
    axes[0].legend(fontsize="small")
    for shade, seen in zip(("0.0", "0.4", "0.7"), histories, strict=False):
        axes[1].semilogy(np.maximum(seen, 1e-17), marker=".", color=shade, label=f"step {histories.index(seen) + 2}")
    axes[1].set(xlabel="evaluations of f", ylabel="largest entry of f")
    axes[1].legend(fontsize="small")
    common.save(figure, arguments.out, "fig04_root_finder.png")
    common.claims(
        ("two configurations determine the next by a root finder; iterated, this gives the whole trajectory",
         f"{steps} steps are those of the compiled integrator to {off:.0e} rad", off < 1e-7),
        ("the root finder loops while |f| < tolerance", "it ends at once, at its guess",
         "NO: a misprint, it must be |f| > tolerance"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
