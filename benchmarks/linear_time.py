"""Microseconds per step on the chain of Lee et al. 2016, by method, solver and length.

    python benchmarks/linear_time.py [--smoke]

dt = 0.001 s, all steps in compiled code, no gravity, as the authors time it. The first table starts as they do,
every joint at an angle and a speed between -pi/2 and pi/2, and has beside it the least times of a step that the
authors' C++ program of 2016 printed on a like machine. In the second the links, not the joints, turn at such
speeds, for links of long chains would get too quick for the step; there the growth from 50 to 800 is fitted. Ways in
O(n^2) or worse stop at 100. The chain is that of examples/papers/lee_2016.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "lee_2016"))
import systems

#: Microseconds a step of the authors' program on a like machine, by number of links.
AUTHORS = {
    "authors, RIQN + DRNEA": {5: 5.7, 10: 15, 20: 34, 50: 183, 100: 602},
    "authors, Newton + SVI": {5: 26, 10: 137, 20: 1062, 50: 88000, 100: 861000},
}
#: Where the ways of the tree's derivatives stop.
LONGEST_TREE = 100


def measure(counts, start, smoke: bool) -> tuple[dict, dict]:
    """Least microseconds of a step and mean iterations by label and number of links."""
    times = {label: {} for label in systems.SOLVERS}
    iterations = {label: {} for label in systems.SOLVERS}
    for n in counts:
        model, (q, v) = systems.chain(n, gravity=0.0), start(n)
        chosen = {label: way for label, way in systems.SOLVERS.items() if n <= LONGEST_TREE or "tree" not in label}
        for _ in range(1 if smoke else 7):
            # the ways in turn, so that a disturbance of the machine does not meet one of them only
            for label, (method, options) in chosen.items():
                steps = 10 if smoke else 100 if "tree" in label and n > 20 else 300
                run = vt.simulate(model, q, v, duration=steps * systems.DT, dt=systems.DT, method=method, every=steps,
                                  **options)  # fmt: skip
                times[label][n] = min(times[label].get(n, np.inf), 1e6 * run.seconds / steps)
                iterations[label][n] = run.iterations_total / steps
    return times, iterations


def show(title, counts, times, iterations) -> None:
    """Print a table: a row for each way, microseconds and in brackets the iterations."""
    print(f"\n{title}: microseconds a step (mean iterations)")
    print(f"{'links':34s}" + "".join(f"{n:>15d}" for n in counts))
    for label, values in times.items():
        cells = []
        for n in counts:
            mean = f" ({iterations[label][n]:.2f})" if label in iterations and n in values else ""
            cells.append(f"{values[n]:.5g}{mean}" if n in values else "-")
        print(f"{label:34s}" + "".join(f"{cell:>15s}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke

    short = [5, 10] if smoke else [5, 10, 20, 50, 100]
    times, iterations = measure(short, systems.thrown, smoke)
    times = {label: {n: round(value, 2) for n, value in row.items()} for label, row in times.items()}
    show("the authors' start", short, times | AUTHORS, iterations)
    ratios = {
        "tree's residual over the recursive, midpoint, recursive-newton":
            ("midpoint, tree, recursive-newton", "midpoint, recursive-newton"),
        "tree's residual over the recursive, midpoint, auto": ("midpoint, tree", "midpoint"),
        "riqn over recursive-newton, linear-time": ("linear-time, riqn", "linear-time, recursive-newton"),
        "riqn over auto, linear-time": ("linear-time, riqn", "linear-time"),
        "authors' RIQN + DRNEA over our riqn": ("authors, RIQN + DRNEA", "linear-time, riqn"),
        "authors' RIQN + DRNEA over our default": ("authors, RIQN + DRNEA", "linear-time"),
        "authors' Newton + SVI over our tree's": ("authors, Newton + SVI", "midpoint, tree, recursive-newton"),
        "authors' Newton + SVI over our default": ("authors, Newton + SVI", "linear-time"),
    }  # fmt: skip
    shown = [n for n in (10, 100) if n in short]
    print(f"\n{'ratio':66s}" + "".join(f"{n:>12d}" for n in shown))
    for label, (above, below) in ratios.items():
        row = times | AUTHORS
        print(f"{label:66s}" + "".join(f"{row[above][n] / row[below][n]:12.2f}" for n in shown))

    long = [5, 10, 20] if smoke else [5, 10, 20, 50, 100, 200, 400, 800]
    times, iterations = measure(long, systems.loosely_thrown, smoke)
    show("links thrown, not joints", long, times, iterations)
    last = [n for n in long if n >= 50 or smoke]
    print(f"\ngrowth of the time from {last[0]} to {last[-1]} links, as a power of their number")
    for label, values in times.items():
        if last[-1] in values:
            print(f"{label:34s}{np.polyfit(np.log(last), np.log([values[n] for n in last]), 1)[0]:8.2f}")


if __name__ == "__main__":
    main()
