"""Lee et al. 2016, Fig. 4: convergence within a step, and iterations over a thousand steps.

    python fig04_iterations.py [--quick] [--out FOLDER]

The paper's claim: Newton's method converges quadratically and takes 4 iterations a step in the mean; RIQN
converges linearly and takes 5.69, which costs less time. The chain has 50 links and starts at the authors'
drawn angles and speeds; its links are soon at 100 rad/s. The first table and the left picture solve its first
step from the current configuration, a poor guess, so that there is something to see. What one sees: the exact
direction doubles the digits at each correction; kept through the step (frozen), or replaced by the mass matrix
(riqn), it gains about two digits at each. The better the guess, the fewer corrections all of them need, and an
extrapolation of past increments is better than the paper's guesses; the default is auto with extrapolation.
Tolerances are shares of the largest momentum; the authors' is about 1e-12 of it. Frozen, from the current
configuration, the midpoint integrator fails where the links are quickest.
"""

import sys
from pathlib import Path

import numpy as np
import systems

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

SOLVERS = {
    "linear-time, recursive-newton": ("linear-time", "recursive-newton"),
    "linear-time, frozen": ("linear-time", "frozen"),
    "linear-time, riqn": ("linear-time", "riqn"),
    "midpoint, recursive-newton": ("midpoint", "recursive-newton"),
    "midpoint, frozen": ("midpoint", "frozen"),
}
#: The paper's three, and two of our own.
GUESSES = "current", "euler", "semi-implicit", "aba", "extrapolate"
TOLERANCES = 1e-9, 1e-12
#: Where rounding ends the descent, about, as a share of the momentum.
FLOOR = 1e-14


def history(model, q, v, method, solver, guess="current", most=12) -> list[float]:
    """Residuals of the first step after 1, 2, ... corrections as shares of the start's momentum."""
    scale, residuals = np.abs(model.crba(q) @ v).max(), []
    options = {"method": method, "solver": solver, "guess": guess, "tolerance": FLOOR}
    for count in range(1, most + 1):
        try:
            # a solve that ends after so many corrections tells what it had reached
            run = vt.simulate(model, q, v, duration=systems.DT, dt=systems.DT, max_iterations=count, **options)
        except vt.ConvergenceError as stop:
            residuals.append(stop.residual / scale)
        else:
            return [*residuals, run.residual[-1] / scale]
    return residuals


def main() -> None:
    arguments = common.arguments(__doc__)
    links, steps = (10, 100) if arguments.quick else (50, 1000)
    model, (q, v) = systems.chain(links), systems.thrown(links)
    figure, axes = common.figure(1, 2, size=(11, 4.2))

    print(f"chain of {links}: residual over momentum after each correction of the first step, from the current one")
    rows = []
    for marker, (label, (method, solver)) in zip("os^vD", SOLVERS.items(), strict=True):
        values = history(model, q, v, method, solver)
        # where nothing is displaced the residual is the momentum
        rows.append([label, *(f"{value:.0e}" for value in values), *[None] * (8 - len(values))][:9])
        style = {"color": "0.0" if method == "linear-time" else "0.55", "marker": marker, "label": label}
        axes[0].semilogy([1.0, *values], linewidth=1.0, markersize=4, **style)
    common.table(["correction", *range(1, 9)], rows)
    axes[0].set(title="the first step", xlabel="corrections", ylabel="residual / momentum")

    print(f"\n{steps} steps of {systems.DT} s: iterations a step by guess, mean (greatest),")
    print("for tolerances of " + " and ".join(f"{x:g}" for x in TOLERANCES))
    rows = []
    for label, (method, solver) in {**SOLVERS, "linear-time, auto": ("linear-time", "auto"),
                                    "midpoint, auto": ("midpoint", "auto")}.items():  # fmt: skip
        for tolerance in TOLERANCES:
            cells = []
            for guess in GUESSES:
                try:
                    run = vt.simulate(model, q, v, duration=steps * systems.DT, dt=systems.DT, method=method,
                                      solver=solver, guess=guess, tolerance=tolerance)  # fmt: skip
                except vt.ConvergenceError:
                    cells.append("fails")
                    continue
                cells.append(f"{run.iterations[1:].mean():.2f} ({run.iterations_max})")
                if guess == "semi-implicit" and tolerance == TOLERANCES[-1] and label.startswith("linear-time, r"):
                    axes[1].plot(run.iterations[1:], ".", markersize=3, label=label,
                                 color="0.0" if solver == "riqn" else "0.55")  # fmt: skip
            rows.append([f"{label}, {tolerance:g}", *cells])
    common.table(["solver, tolerance", *GUESSES], rows)
    axes[1].set(title=f"guess semi-implicit, tolerance {TOLERANCES[-1]:g}", xlabel="step", ylabel="iterations")
    for panel in axes:
        panel.legend(fontsize="small")
    common.save(figure, arguments.out, "fig04_iterations.png")


if __name__ == "__main__":
    main()
