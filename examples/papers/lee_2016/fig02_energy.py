"""Lee et al. 2016, Fig. 2: the energy of a chain of ten links over a million steps of 0.001 s.

    python fig02_energy.py [--quick] [--out FOLDER]

The paper's claim: the variational integrator does not take energy from a passive chain under gravity, where the
semi-implicit Euler method does. The chain is run from the authors' start, every joint at a drawn angle and speed,
and from rest with the first two joints bent by 1.0 and 0.5. What one sees: semi-implicit Euler loses nearly all
the energy that the chain has above its hanging rest. The energies of both variational integrators stay in a
band; the means of twenty blocks scatter by a thousandth of its width, and a line through them rises or falls over
the whole run by no more than that scatter explains. The band of Runge-Kutta 4 is a thousand times narrower, and
moves down by many times its width: the line through its means falls by several times its standard error.
"""

import sys
from pathlib import Path

import numpy as np
import systems

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
    return {"low": blocks.min(axis=1), "high": blocks.max(axis=1), "means": means, "rise": slope, "error": error}


def main() -> None:
    arguments = common.arguments(__doc__)
    duration = 20.0 if arguments.quick else 1000.0
    model = systems.chain(LINKS)
    starts = {"thrown": systems.thrown(LINKS), "swinging": systems.swinging(LINKS)}
    print(f"chain of {LINKS}, {duration:g} s, dt = {systems.DT} s, {BLOCKS} blocks: energy less that of the start [J]")
    rows = []
    figure, axes = common.figure(2, 2, size=(10, 6.4), sharex=True)
    for column, (start, (q, v)) in zip(axes.T, starts.items(), strict=True):
        for style, name in zip(common.LINES, METHODS, strict=False):
            run = vt.simulate(model, q, v, duration=duration, dt=systems.DT, method=name, every=EVERY)
            found = measure(run)
            low, high, means = found["low"], found["high"], found["means"]
            cells = f"{low.min():+.2e} {high.max():+.2e} {high[0] - low[0]:.1e} {high[-1] - low[-1]:.1e}"
            cells += f" {means[0]:+.2e} {means[-1]:+.2e} {means.std():.1e}"
            cells += f" {found['rise']:+.1e} {found['error']:.1e} {run.kinetic.max():.4g}"
            rows.append([f"{start}, {name}", *cells.split(), f"{1e6 * run.seconds / run.steps:.2f}"])
            common.band(column[0], run.t[1:], (run.energy - run.energy[0])[1:], label=name, **style)
            if name != "semi-implicit-euler":
                middle = (np.arange(BLOCKS) + 0.5) * duration / BLOCKS
                column[1].plot(middle, 1e3 * means, marker=".", label=name, **style)
        column[0].set(title=f"{start}: band of the energy", ylabel="energy - energy at start (J)")
        column[1].set(title="means of blocks, nearer", xlabel="time (s)", ylabel="(mJ)")
        for panel in column:
            panel.legend(fontsize="small")
    common.table(["start, method", "least", "greatest", "first band", "last band", "first mean", "last mean",
                  "scatter", "rise", "+-", "kinetic", "us/step"], rows)  # fmt: skip
    print("\nband: between least and greatest in a block; scatter: standard deviation of the means; rise: of a line")
    print("through the means over the run, with its standard error; kinetic: the largest kinetic energy")
    common.save(figure, arguments.out, "fig02_energy.png")


if __name__ == "__main__":
    main()
