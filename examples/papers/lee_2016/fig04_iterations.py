"""Lee et al. 2016, Fig. 4: convergence within a step, and iterations over a thousand steps.

    python fig04_iterations.py [--quick] [--out FOLDER]

The paper's claim: Newton's method converges quadratically and takes 4 iterations a step on average. RIQN converges
linearly and takes 5.69, which costs less time. The chain has 50 links and starts at the authors' drawn angles and
speeds; its links soon turn at 100 rad/s.

The first table and the left picture are of the first step, from a poor guess: the current configuration. Result: with
the exact direction the number of correct digits doubles at each correction. With a direction that is kept through the
step (frozen, or broyden, which updates it) or replaced by the mass matrix (riqn), each correction adds about two
digits.

The second table has the iterations over the run, from the paper's guesses IG1 to IG3 and from ours. A better guess
needs fewer corrections with every direction. An extrapolation of past increments, of the order that was best lately, is
better than the paper's guesses; the default is auto with this extrapolation. IG2 takes the velocity of the momentum;
the paper takes the last increment. The exact direction by recursion ("recursive-newton") equals the one by the paper's
dense matrix ("newton"), and takes the same iterations. Tolerances are shares of the largest momentum; the authors' is
about 1e-12. From the current configuration, frozen and broyden fail with the midpoint integrator when the links are
fastest.
"""

import sys
from pathlib import Path

import chains
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

SOLVERS = {f"{method}, {solver}": (method, solver) for method in ("linear-time", "midpoint")
           for solver in ("newton", "frozen", "broyden", "riqn")}  # fmt: skip
ITERATED = {**SOLVERS, **{f"{method}, {solver}": (method, solver) for method in ("linear-time", "midpoint")
                          for solver in ("recursive-newton", "auto")}}  # fmt: skip
#: The paper's three, and ours; "extrapolate" chooses the order of the extrapolation.
GUESSES = {"IG1": "current", "IG2": "euler", "IG3": "semi-implicit", "aba": "aba", "order 2": "extrapolate-2",
           "order 4": "extrapolate-4", "chosen": "extrapolate"}  # fmt: skip
#: What the paper reports of its Fig. 4b: mean and standard deviation.
PAPER = {"newton": (4.0, 0.0), "riqn": (5.69, 1.16)}
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
            run = vt.simulate(model, q, v, duration=chains.DT, dt=chains.DT, max_iterations=count, **options)
        except vt.ConvergenceError as stop:
            residuals.append(stop.residual / scale)
        else:
            return [*residuals, run.residual[-1] / scale]
    return residuals


def main() -> None:
    arguments = common.arguments(__doc__)
    links, steps = (10, 100) if arguments.quick else (50, 1000)
    model, (q, v) = chains.chain(links), chains.thrown(links)
    figure, axes = common.figure(1, 2, size=(11, 4.2))

    print(f"chain of {links}: residual over momentum after each correction of the first step, from the current one")
    rows = []
    for marker, (label, (method, solver)) in zip("osv^" * 2, SOLVERS.items(), strict=True):
        values = history(model, q, v, method, solver)
        # where nothing is displaced the residual is the momentum
        rows.append([label, *(f"{value:.0e}" for value in values), *[None] * (8 - len(values))][:9])
        style = {"color": "0.0" if method == "linear-time" else "0.55", "marker": marker, "label": label}
        axes[0].semilogy([1.0, *values], linewidth=1.0, markersize=4, **style)
    common.table(["correction", *range(1, 9)], rows)
    axes[0].set(title="the first step", xlabel="corrections", ylabel="residual / momentum")

    print(f"\n{steps} steps of {chains.DT} s: iterations a step by guess, mean (greatest),")
    print("for tolerances of " + " and ".join(f"{x:g}" for x in TOLERANCES))
    rows, spread = [], []
    for label, (method, solver) in ITERATED.items():
        for tolerance in TOLERANCES:
            cells = []
            for name, guess in GUESSES.items():
                try:
                    run = vt.simulate(model, q, v, duration=steps * chains.DT, dt=chains.DT, method=method,
                                      solver=solver, guess=guess, tolerance=tolerance)  # fmt: skip
                except vt.ConvergenceError:
                    cells.append("fails")
                    continue
                taken = run.iterations[1:]
                cells.append(f"{taken.mean():.2f} ({run.iterations_max})")
                if name == "IG3" and tolerance == TOLERANCES[-1] and method == "linear-time" and solver in PAPER:
                    mean, deviation = PAPER[solver]
                    spread.append([label, f"{taken.mean():.2f}", f"{taken.std():.2f}", mean, deviation])
                    axes[1].plot(taken, ".", markersize=3, label=label, color="0.0" if solver == "riqn" else "0.55")
            rows.append([f"{label}, {tolerance:g}", *cells])
    common.table(["solver, tolerance", *GUESSES], rows)
    print(f"\niterations from IG3 at {TOLERANCES[-1]:g}, and the paper's")
    common.table(["solver", "mean", "deviation", "paper", "deviation"], spread)
    axes[1].set(title=f"guess IG3, tolerance {TOLERANCES[-1]:g}", xlabel="step", ylabel="iterations")
    for panel in axes:
        panel.legend(fontsize="small")
    common.save(figure, arguments.out, "fig04_iterations.png")


if __name__ == "__main__":
    main()
