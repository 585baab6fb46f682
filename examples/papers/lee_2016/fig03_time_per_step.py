"""Lee et al. 2016, Fig. 3: time per step against the number of degrees of freedom.

    python fig03_time_per_step.py [--quick] [--out FOLDER]

The paper's claim: with the residual by recursion and an impulse-based direction (DRNEA and RIQN) the time of a
step grows linearly, and is least; scalable variational integrators (SVI) with Newton's method grow with the
third power. Here "linear-time" with riqn is the paper's method, and "midpoint, tree, recursive-newton" is SVI
with Newton's method, with the cache that its authors have. Beside them are the default, which keeps a
factorisation while it serves, and exact Newton directions by recursion, which the paper did not have. What one
sees: all but the tree's are linear; exact directions cost a little less than riqn, and the default about half of
it. The start is the authors' angles with links, not joints, turning at the drawn speeds, so that long chains do
not get too quick for the step.
"""

import sys
from pathlib import Path

import numpy as np
import systems

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common


def main() -> None:
    arguments = common.arguments(__doc__)
    counts = [5, 10, 20] if arguments.quick else [5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200]
    times = {label: [] for label in systems.SOLVERS}
    iterations = {label: 0.0 for label in systems.SOLVERS}
    for n in counts:
        model, (q, v) = systems.chain(n), systems.loosely_thrown(n)
        for label, (method, options) in systems.SOLVERS.items():
            # the tree's derivatives take milliseconds a step where there are many
            steps = 200 if n <= 50 or "tree" not in label else 50
            setting = {"duration": steps * systems.DT, "dt": systems.DT, "method": method, "every": steps, **options}
            runs = [vt.simulate(model, q, v, **setting) for _ in range(5)]
            times[label].append(1e6 * min(run.seconds for run in runs) / steps)
            iterations[label] = runs[0].iterations_total / steps
    shown = [n for n in counts if n in (5, 10, 20, 50, 100, 200)]
    print(f"chains, dt = {systems.DT} s: microseconds a step, its growth over the last part as a power of the")
    print("degrees of freedom, and mean iterations of the longest")
    rows = []
    for label, values in times.items():
        tail = slice(-2, None) if arguments.quick else slice(counts.index(50), None)
        power = np.polyfit(np.log(counts[tail]), np.log(values[tail]), 1)[0]
        cells = [f"{values[counts.index(n)]:.2f}" for n in shown]
        rows.append([label, *cells, f"{power:.2f}", f"{iterations[label]:.2f}"])
    common.table(["method, solver", *shown, "power", "iterations"], rows)

    figure, axes = common.figure(1, 2, size=(11, 4.4))
    markers = iter("os^vDdPX*+")
    for label, values in times.items():
        method = label.split(",")[0]
        style = {"color": "0.0" if method == "linear-time" else "0.55", "linestyle": ":" if "tree" in label else "-"}
        style |= {"marker": next(markers), "markersize": 4, "linewidth": 1.0, "label": label}
        if "tree" not in label:
            axes[0].plot(counts, values, **style)
        axes[1].loglog(counts, values, **style)
    axes[0].set(title="without the tree's, linear", ylim=(0, None))
    axes[1].set(title="logarithmic")
    for panel in axes:
        panel.set(xlabel="degrees of freedom", ylabel="time per step (us)")
        panel.legend(fontsize="x-small")
    common.save(figure, arguments.out, "fig03_time_per_step.png")


if __name__ == "__main__":
    main()
