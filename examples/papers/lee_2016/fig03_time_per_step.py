"""Lee et al. 2016, Fig. 3: time per step against the number of degrees of freedom.

    python fig03_time_per_step.py [--quick] [--out FOLDER]

The paper's claim: with a recursive residual and an impulse-based direction (RIQN + DRNEA) the time of a step grows
linearly, and is the shortest. With scalable variational integrators (SVI) and Newton's method it grows with the third
power.

The script times the paper's six pairs of a direction (RIQN, Broyden's, Newton's) and a residual (DRNEA, SVI), from its
guess IG3 and at about its tolerance. DRNEA is "linear-time"; SVI is "midpoint" by the tree's derivatives, with the
cache of its authors. Newton's matrix is dense; its assembly takes O(n^2) from DRNEA and O(n^3) from SVI. Broyden's
method updates one exact operator a step: a recursion for DRNEA, a matrix for SVI. Two ways are not in the paper: exact
directions by recursion, from both residuals, and the defaults of both methods. The defaults extrapolate, and keep a
factorisation while it converges.

Result: RIQN + DRNEA grows linearly, and Newton's method towards the third power from both residuals. Exact
directions by recursion cost about as much as RIQN; Broyden's updates cost a little less. The default takes a fifth of
the time of either. The start has the authors' angles. The links, not the joints, turn at the drawn speeds, because the
links of long chains would be too fast for the step otherwise.
"""

import sys
from pathlib import Path

import chains
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

EXACT = {**chains.AS_PUBLISHED, "solver": "recursive-newton"}
WAYS = {
    **chains.PAIRS,
    "exact by recursion + DRNEA": ("linear-time", EXACT),
    "exact by recursion + SVI": ("midpoint", {**EXACT, "residual": "tree"}),
    "linear-time": ("linear-time", {}),
    "midpoint": ("midpoint", {}),
}
COUNTS = [5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200]
STEPS, REPEATS = 200, 9
#: The paper's ratios (abstract, section 5): degrees of freedom -> DRNEA's gain over SVI, RIQN's over Newton's method.
PAPER = {10: (15.0, 3.8), 100: (32.0, 53.0)}
#: Seconds that a run may take; where it would be longer, one run of fewer steps is timed.
PATIENCE, FEW = 0.4, 40


def time_of_a_step(model, q, v, method, options) -> tuple[float, float]:
    """Least microseconds of a step, and mean iterations."""

    def run(steps):
        setting = {"duration": steps * chains.DT, "dt": chains.DT, "method": method, "record_every": steps}
        return vt.simulate(model, q, v, **setting, **options)

    # a run that another program held up is not a long one
    runs = [run(FEW)]
    while len(runs) < 4 and min(r.seconds for r in runs) < 4 * PATIENCE * FEW / STEPS:
        runs.append(run(FEW))
    if min(r.seconds for r in runs) < PATIENCE * FEW / STEPS:
        runs = [run(STEPS) for _ in range(REPEATS)]
    return 1e6 * min(r.seconds / r.steps for r in runs), runs[0].iterations_total / runs[0].steps


def style_of(label) -> dict:
    """Black for DRNEA, grey for SVI; dashes and marks by direction."""
    direction, _, residual = label.partition(" + ")
    dashes = {"RIQN": "-", "Broyden": "--", "Newton": ":", "exact by recursion": "-."}
    marks = {"RIQN": "o", "Broyden": "s", "Newton": "^", "exact by recursion": "x"}
    grey = residual == "SVI" or label == "midpoint"
    return {"color": "0.6" if grey else "0.0", "linestyle": dashes.get(direction, "-"),
            "marker": marks.get(direction, "d"), "markersize": 4, "linewidth": 1.0, "label": label}  # fmt: skip


def main() -> None:
    arguments = common.arguments(__doc__)
    counts = [5, 10, 20] if arguments.quick else COUNTS
    times = {label: [] for label in WAYS}
    iterations = {label: 0.0 for label in WAYS}
    for n in counts:
        model, (q, v) = chains.chain(n), chains.loosely_thrown(n)
        for label, (method, options) in WAYS.items():
            least, iterations[label] = time_of_a_step(model, q, v, method, options)
            times[label].append(least)
    shown = [n for n in counts if n in (5, 10, 20, 50, 100, 200)]
    print(f"chains, dt = {chains.DT} s: microseconds a step, its growth over the last part as a power of the")
    print("degrees of freedom, and mean iterations of the longest")
    rows = []
    for label, values in times.items():
        tail = slice(-2, None) if arguments.quick else slice(counts.index(50), None)
        power = np.polyfit(np.log(counts[tail]), np.log(values[tail]), 1)[0]
        cells = [f"{values[counts.index(n)]:.2f}" for n in shown]
        rows.append([label, *cells, f"{power:.2f}", f"{iterations[label]:.2f}"])
    common.table(["direction + residual", *shown, "power", "iterations"], rows)

    ratios(counts, times)

    figure, axes = common.figure(1, 2, size=(11, 4.6))
    for label, values in times.items():
        axes[0].plot(counts, values, **style_of(label))
        axes[1].loglog(counts, values, **style_of(label))
    # curves that leave this panel are in the other
    axes[0].set(title="linear", ylim=(0, 1.2 * times["RIQN + SVI"][-1]))
    axes[1].set(title="logarithmic")
    for panel in axes:
        panel.set(xlabel="degrees of freedom", ylabel="time per step [us]")
    axes[1].legend(fontsize="x-small")
    common.save(figure, arguments.out, "fig03_time_per_step.png")
    claims(counts, times)


def gains(n: int, counts, times) -> dict[str, float]:
    """How many times as long a step takes with the slower of two parts, the other part being the same."""
    at = {label: values[counts.index(n)] for label, values in times.items()}
    found = {f"DRNEA over SVI, both {way}": at[f"{way} + SVI"] / at[f"{way} + DRNEA"]
             for way in ("RIQN", "Broyden", "Newton")}  # fmt: skip
    found |= {f"RIQN over {way}, both DRNEA": at[f"{way} + DRNEA"] / at["RIQN + DRNEA"]
              for way in ("Newton", "Broyden")}  # fmt: skip
    return found | {"the default over RIQN + DRNEA": at["RIQN + DRNEA"] / at["linear-time"]}


def ratios(counts, times) -> None:
    """Print the ratios of which the paper gives two."""
    shown = [n for n in PAPER if n in counts]
    print("\nratios of the times of a step, and the paper's")
    rows = []
    for k, label in enumerate(gains(shown[0], counts, times)):
        cells = [f"{gains(n, counts, times)[label]:.2f}" for n in shown]
        paper = 0 if k < 3 else 1 if "Newton" in label else None
        rows.append([label, *cells, *(None if paper is None else PAPER[n][paper] for n in shown)])
    common.table(["which", *(f"at {n}" for n in shown), *(f"paper at {n}" for n in shown)], rows)


def claims(counts, times) -> None:
    """The claims of sections 4.3 and 5."""
    n = max(n for n in PAPER if n in counts)
    found, ways = gains(n, counts, times), ("RIQN", "Broyden", "Newton")
    best = min((label for label in chains.PAIRS), key=lambda label: times[label][-1])
    common.claims(
        ("RIQN with DRNEA shows the best performance",
         f"of the paper's pairs {best} is the quickest at {counts[-1]} links", best == "RIQN + DRNEA"),
        ("for the same direction DRNEA is faster than SVI: 15 times at 10 degrees of freedom, 32 times at 100",
         ", ".join(f"{x:.1f} times ({way})" for way, x in zip(ways, found.values(), strict=False)) + f" at {n}",
         "faster, yes; by these numbers, no: SVI is compiled and cached here, too"),
        ("for DRNEA, RIQN is faster than Newton's method: 3.8 times at 10 degrees of freedom, 53 times at 100",
         f"{found['RIQN over Newton, both DRNEA']:.1f} times at {n}",
         "faster for long chains, yes; by these numbers, no: the dense matrix is made from one recursion here"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
