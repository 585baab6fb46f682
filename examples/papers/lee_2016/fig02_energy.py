"""Lee et al. 2016, Fig. 2: the energy of a chain of ten links over a million steps of 0.001 s.

    python fig02_energy.py [--quick] [--out FOLDER]

The paper's claim: the variational integrator does not dissipate the energy of a passive chain under gravity; the
semi-implicit Euler method does. The chain starts in two ways: from the authors' start, with a drawn angle and speed of
every joint, and from rest, with the first two joints bent by 1.0 and 0.5.

Result: semi-implicit Euler loses nearly all the energy that the chain has above its hanging rest. The energies of both
variational integrators stay in a band. A line through the means of twenty blocks rises or falls by no more than their
scatter, and by less than 1e-6 of the range of the kinetic energy. (At the default tolerance, two to four million steps
show a fall of that size for the midpoint integrator. At 1e-12 two million steps show none.) The band of Runge-Kutta 4
is a thousand times narrower, and moves down by many times its width. Meanwhile the joints wind up to hundreds of
radians, and a step takes no more iterations at the end of the run than at its beginning. (It takes fewer, because the
default factors more often by then.) The script prints both claims, with the numbers.
"""

import sys
from pathlib import Path

import chains
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

METHODS = "linear-time", "midpoint", "semi-implicit-euler", "rk4"
LINKS, BLOCKS = 10, 20
#: Steps between two records.
EVERY = 20


def measure(run) -> dict:
    """The band of the energy, block means, and a line through them: its rise over the run and standard error."""
    change = run.energy[1:] - run.energy[0]
    blocks = change.reshape(BLOCKS, -1)
    means = blocks.mean(axis=1)
    place = (np.arange(BLOCKS) + 0.5) / BLOCKS - 0.5
    slope = (place @ means) / (place @ place)
    left = means - means.mean() - slope * place
    error = np.sqrt(left @ left / (BLOCKS - 2) / (place @ place))
    return {"low": blocks.min(axis=1), "high": blocks.max(axis=1), "means": means, "rise": slope, "error": error,
            "range": np.ptp(run.kinetic)}  # fmt: skip


def claims(run, found) -> list:
    """Whether the energy stays, and iterations do not grow as the angles wind up; the numbers, and yes or no.

    The energy stays if the line rises within three of its standard errors (a line through means that only scatter
    is off by one, give or take) and by less than 1e-4 of the range of the kinetic energy. That angles have wound up
    is said of a hundred radians and more.
    """
    taken, wound = run.monitors["iterations"], abs(run.q).max()
    tenth = len(taken) // 10
    first, last = taken[:tenth].mean(), taken[-tenth:].mean()
    errors, share = abs(found["rise"]) / found["error"], abs(found["rise"]) / found["range"]
    verdicts = errors < 3 and share < 1e-4, last < 1.1 * first
    words = ["yes" if verdict else "NO" for verdict in verdicts]
    return [f"{errors:.2f}", f"{abs(found['rise']) / found['means'].std():.2f}", f"{share:.1e}", words[0],
            f"{first:.3f}", f"{last:.3f}", f"{taken.max():.0f}", f"{wound:.0f}",
            words[1] if wound > 100 else None]  # fmt: skip


def main() -> None:
    arguments = common.arguments(__doc__)
    duration = 240.0 if arguments.quick else 1000.0
    model = chains.chain(LINKS)
    starts = {"thrown": chains.thrown(LINKS), "swinging": chains.swinging(LINKS)}
    print(f"chain of {LINKS}, {duration:g} s, dt = {chains.DT} s, {BLOCKS} blocks: change of energy [J]")
    rows, claimed, lost = [], [], {}
    figure, axes = common.figure(2, 2, size=(10, 6.4), sharex=True)
    for column, (start, (q, v)) in zip(axes.T, starts.items(), strict=True):
        for style, name in zip(common.LINES, METHODS, strict=False):
            solved = vt.METHODS[name].symplectic
            run = vt.simulate(model, q, v, duration=duration, dt=chains.DT, method=name, record_every=EVERY,
                              monitors=("iterations",) if solved else ())  # fmt: skip
            found = measure(run)
            if solved:
                claimed.append([f"{start}, {name}", *claims(run, found)])
            lost[start, name] = found["means"][-1] / found["range"], found["rise"] / found["range"]
            low, high, means = found["low"], found["high"], found["means"]
            cells = f"{low.min():+.2e} {high.max():+.2e} {high[0] - low[0]:.1e} {high[-1] - low[-1]:.1e}"
            cells += f" {means[0]:+.2e} {means[-1]:+.2e} {means.std():.1e}"
            cells += f" {found['rise']:+.1e} {found['error']:.1e} {run.kinetic.max():.4g}"
            rows.append([f"{start}, {name}", *cells.split(), f"{1e6 * run.seconds / run.steps:.2f}"])
            common.band(column[0], run.t[1:], (run.energy - run.energy[0])[1:], label=name, **style)
            if name != "semi-implicit-euler":
                middle = (np.arange(BLOCKS) + 0.5) * duration / BLOCKS
                column[1].plot(middle, 1e3 * means, marker=".", label=name, **style)
        column[0].set(title=f"{start}: band of the energy", ylabel="energy - energy at start [J]")
        column[1].set(title="means of blocks, nearer", xlabel="time [s]", ylabel="energy - energy at start [mJ]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize="small")
    common.table(["start, method", "least", "greatest", "first band", "last band", "first mean", "last mean",
                  "scatter", "rise", "+-", "kinetic", "us/step"], rows)  # fmt: skip
    print("\nband: between least and greatest in a block; scatter: standard deviation of the means; rise: of a line")
    print("through the means over the run, with its standard error; kinetic: the largest kinetic energy")
    print("\nclaims: the rise in standard errors, in scatters of the means and in ranges of the kinetic energy, and")
    print("whether the energy stays; mean iterations in the first and in the last tenth of the run, the most of all")
    print("steps, the largest angle [rad], and whether they do not grow, if it has wound up")
    common.table(["start and method", "in errors", "in scatters", "in ranges", "stays", "first", "last", "most", "|q|",
                  "as many"], claimed)  # fmt: skip
    common.save(figure, arguments.out, "fig02_energy.png")
    ours = max(abs(lost[start, name][1]) for start in starts for name in METHODS[:2])
    euler = {start: lost[start, "semi-implicit-euler"][0] for start in starts}
    common.claims(
        ("the variational integrator does not artificially dissipate energy",
         f"a line through the energy rises or falls by at most {ours:.0e} of the range of the kinetic energy",
         ours < 1e-4),
        ("the semi-implicit Euler method dissipates energy",
         "at the end its energy is off by " + ", ".join(f"{share:+.0%} of that range ({start})"
                                                        for start, share in euler.items()),
         euler["thrown"] < -0.1),
    )  # fmt: skip


if __name__ == "__main__":
    main()
