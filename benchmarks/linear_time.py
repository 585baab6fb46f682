"""Microseconds per step on the chain of Lee et al. 2016, by method, solver and length.

    python benchmarks/linear_time.py [--smoke]

dt = 0.001 s, all steps in compiled code, no gravity, like the authors' timing. The first table starts like theirs, with
every joint at an angle and a speed between -pi/2 and pi/2. It has three parts. The first part has every way to solve
the equations: both discretisations, and the midpoint's residual by the tree's derivatives, each with every solver, from
the default guess and at the default tolerance. The second part has the paper's pairs of a direction and a residual,
from its guess and at its tolerance (IG3, about 1e-12 of the momentum). The third part has the least times of a step
that the authors' C++ program of 2016 printed on a similar machine. "newton" is the dense method of the paper. Ratios of
these times stand beside the paper's.

In the second table the links, not the joints, turn at such speeds, because links of long chains would be too fast for
the step otherwise. The growth from 50 to 800 links is fitted there. A row ends before the length at which a step would
take more than a tenth of a second. If a step is slow, few steps are timed, and the iterations of the start count in the
mean. The chain is that of examples/papers/lee_2016.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "lee_2016"))
import chains

#: Microseconds a step of the authors' program on a like machine, by number of links.
AUTHORS = {
    "authors, RIQN + DRNEA": {5: 5.7, 10: 15, 20: 34, 50: 183, 100: 602},
    "authors, Newton + SVI": {5: 26, 10: 137, 20: 1062, 50: 88000, 100: 861000},
}
#: Seconds: of a step, before a way stops; of a run, before fewer steps are taken, and less often.
SLOW, PATIENCE = 0.1, 0.3
STEPS, FEW, REPEATS, REPEATS_OF_SLOW = 300, 20, 7, 2
#: Title -> above, below, and what the paper says of 10 and of 100 links.
RATIOS = {
    "in the paper's setting": {
        "SVI over DRNEA, both RIQN": ("RIQN + SVI", "RIQN + DRNEA", 15, 32),
        "SVI over DRNEA, both Broyden": ("Broyden + SVI", "Broyden + DRNEA", 15, 32),
        "SVI over DRNEA, both Newton": ("Newton + SVI", "Newton + DRNEA", 15, 32),
        "Newton over RIQN, both DRNEA": ("Newton + DRNEA", "RIQN + DRNEA", 3.8, 53),
        "Newton over RIQN, both SVI": ("Newton + SVI", "RIQN + SVI", None, None),
        "Newton + SVI over RIQN + DRNEA": ("Newton + SVI", "RIQN + DRNEA", None, None),
    },
    "by the default guess and tolerance": {
        "tree's residual over the recursive, midpoint, riqn": ("midpoint, tree, riqn", "midpoint, riqn", 15, 32),
        "tree's residual over the recursive, midpoint, newton": ("midpoint, tree, newton", "midpoint, newton", 15, 32),
        "newton over riqn, linear-time": ("linear-time, newton", "linear-time, riqn", 3.8, 53),
        "newton over recursive-newton, linear-time":
            ("linear-time, newton", "linear-time, recursive-newton", None, None),
        "riqn over auto, linear-time": ("linear-time, riqn", "linear-time", None, None),
        "tree, newton over auto, midpoint": ("midpoint, tree, newton", "midpoint", None, None),
    },
    "the authors' program": {
        "authors' RIQN + DRNEA over ours": ("authors, RIQN + DRNEA", "RIQN + DRNEA", None, None),
        "authors' RIQN + DRNEA over our default": ("authors, RIQN + DRNEA", "linear-time", None, None),
        "authors' Newton + SVI over ours": ("authors, Newton + SVI", "Newton + SVI", None, None),
        "authors' Newton + SVI over our default": ("authors, Newton + SVI", "linear-time", None, None),
    },
}  # fmt: skip


def measure(ways, counts, start, smoke: bool) -> tuple[dict, dict]:
    """Least microseconds of a step and mean iterations by label and number of links."""
    times: dict[str, dict[int, float]] = {label: {} for label in ways}
    iterations: dict[str, dict[int, float]] = {label: {} for label in ways}
    going = dict(ways)
    for n, following in zip(counts, [*counts[1:], None], strict=True):
        model, (q, v) = chains.chain(n, gravity=0.0), start(n)

        def note(label, steps, n=n, model=model, q=q, v=v):
            """Time a run; say how many seconds it took."""
            method, options = ways[label]
            run = vt.simulate(model, q, v, duration=steps * chains.DT, dt=chains.DT, method=method, record_every=steps,
                              **options)  # fmt: skip
            times[label][n] = min(times[label].get(n, np.inf), 1e6 * run.seconds / steps)
            iterations[label][n] = run.iterations_total / steps
            return run.seconds

        quick = [label for label in going if note(label, FEW) * STEPS / FEW < PATIENCE]
        for k in range(0 if smoke else REPEATS):
            # the ways in turn, so that a disturbance of the machine does not meet one of them only
            for label in going:
                if label in quick or k < REPEATS_OF_SLOW:
                    note(label, STEPS if label in quick else FEW)
        if following:
            going = {label: way for label, way in going.items() if expected(times[label], following) < 1e6 * SLOW}
    return times, iterations


def expected(row: dict[int, float], n: int) -> float:
    """Microseconds of a step at n links, if the time grows on as it did last, and at least in proportion."""
    (before, earlier), (last, now) = [(1, 0.0), *row.items()][-2:]
    power = np.log(now / earlier) / np.log(last / before) if earlier else 1.0
    return now * (n / last) ** max(power, 1.0)


def show(title, counts, times, iterations) -> None:
    """Print a table: a row for each way, microseconds and in brackets the iterations."""
    print(f"\n{title}: microseconds a step (mean iterations)")
    print(f"{'links':34s}" + "".join(f"{n:>18d}" for n in counts))
    for label, values in times.items():
        cells = []
        for n in counts:
            mean = f" ({iterations[label][n]:.2f})" if label in iterations and n in values else ""
            cells.append(f"{values[n]:.4g}{mean}" if n in values else "-")
        print(f"{label:34s}" + "".join(f"{cell:>18s}" for cell in cells))


def show_ratios(counts, times) -> None:
    """Print the ratios, and the paper's."""
    for title, ratios in RATIOS.items():
        print(f"\n{'ratios, ' + title:56s}" + "".join(f"{n:>9d}" for n in counts)
              + "".join(f"{'paper, ' + str(n):>12s}" for n in counts))  # fmt: skip
        for label, (above, below, *paper) in ratios.items():
            said = [f"{x:12g}" if x is not None else f"{'-':>12s}" for x in paper[: len(counts)]]
            ours = [f"{times[above][n] / times[below][n]:9.2f}" for n in counts]
            print(f"{label:56s}" + "".join(ours + said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke

    short = [5, 10] if smoke else [5, 10, 20, 50, 100]
    times, iterations = measure(chains.SOLVERS | chains.PAIRS, short, chains.thrown, smoke)
    show("the authors' start", short, times | AUTHORS, iterations)
    show_ratios([n for n in (10, 100) if n in short], times | AUTHORS)

    long = [5, 10, 20] if smoke else [5, 10, 20, 50, 100, 200, 400, 800]
    times, iterations = measure(chains.SOLVERS, long, chains.loosely_thrown, smoke)
    show("links thrown, not joints", long, times, iterations)
    last = [n for n in long if n >= 50 or smoke]
    print(f"\ngrowth of the time from {last[0]} links on, as a power of their number, and up to how many")
    for label, values in times.items():
        there = [n for n in last if n in values]
        power = np.polyfit(np.log(there), np.log([values[n] for n in there]), 1)[0]
        print(f"{label:34s}{power:8.2f}{there[-1]:8d}")


if __name__ == "__main__":
    main()
