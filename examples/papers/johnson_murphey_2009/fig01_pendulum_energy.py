"""Johnson & Murphey 2009, Fig. 1: the energy of a single pendulum over 5000 s at dt = 0.01 s.

    python fig01_pendulum_energy.py [--quick] [--out FOLDER]

The paper's claim: the energy of the variational integrator changes within each swing but keeps its average. The energy
of a force-balance simulator slowly decreases.

Result: the energy of the midpoint integrator stays in a band, as wide at the end as at the start, whose mean does not
move. Semi-implicit Euler, which is symplectic as well on a single hinge, has a band more than a hundred times as wide.
The energy of Runge-Kutta 4 is more accurate, and falls without end. The pendulum is also simulated as a body on a pin,
as in force-balance simulators. The midpoint integrator keeps its band there. MuJoCo, whose pin is a stiff spring, gains
energy from the first swing, and fails after about a minute (ODE, in the paper, loses energy).
"""

import sys
from pathlib import Path

import mechanisms
import mujoco_peer
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common


def main() -> None:
    arguments = common.arguments(__doc__)
    duration, dt = 60.0 if arguments.quick else 5000.0, 0.01
    hinge, pinned = mechanisms.pendulum(), mechanisms.pinned_body()
    runs = {
        name: vt.simulate(*hinge, duration=duration, dt=dt, method=name)
        for name in ("midpoint", "rk4", "semi-implicit-euler")
    }
    runs["midpoint, pinned"] = vt.simulate(*pinned, duration=duration, dt=dt, method="midpoint")
    runs["MuJoCo, hinge"] = mujoco_peer.simulate(*hinge, duration=duration, dt=dt)
    runs["MuJoCo, pinned"] = mujoco_peer.simulate(*pinned, duration=duration, dt=dt)

    rows, changes = [], {}
    for name, run in runs.items():
        if run is None:
            continue
        change = changes[name] = run.energy - run.energy[0]
        tenth = len(change) // 10
        means = change[:tenth].mean(), change[-tenth:].mean()
        cells = f"{change.min():+.2e} {change.max():+.2e} {means[0]:+.3e} {means[1]:+.3e}".split()
        rows.append([name, *cells, f"{run.t[-1]:g}", f"{1e6 * run.seconds / (len(run.t) - 1):.2f}"])
    print(f"single pendulum, {duration:g} s, dt = {dt} s: change of energy [J]")
    common.table(["method", "least", "greatest", "mean, first tenth", "last tenth", "until [s]", "us/step"], rows)

    panels = {
        "hinge": ["midpoint", "semi-implicit-euler"],
        "hinge, nearer": ["midpoint", "rk4"],
        "body on a pin": ["midpoint, pinned", "MuJoCo, pinned"],
    }
    figure, axes = common.figure(1, 3, size=(12, 4))
    for panel, (title, names) in zip(axes, panels.items(), strict=True):
        for style, name in zip(common.LINES, names, strict=False):
            if name in changes:
                common.band(panel, runs[name].t, changes[name], label=name, **style)
        panel.set(title=title, xlabel="time [s]", ylabel="energy - energy at start [J]")
        common.legend_below(panel)
    # what leaves this band does so in the first minutes
    axes[2].set(xlim=(0, min(duration, 150)), ylim=(-2, 30))
    common.save(figure, arguments.out, "fig01_pendulum_energy.png")
    claims(changes)


def claims(changes) -> None:
    """The claims of section I."""
    bands = {name: (np.ptp(change), *(part.mean() for part in (np.array_split(change, 10)[k] for k in (0, -1))))
             for name, change in changes.items()}  # fmt: skip
    width, first, last = bands["midpoint"]
    _, early, late = bands["rk4"]
    text = f"the mean of rk4 falls from {early:+.1e} J to {late:+.1e} J"
    if "MuJoCo, pinned" in changes:
        text += f"; MuJoCo in the place of ODE gains up to {changes['MuJoCo, pinned'].max():.2g} J at the pin"
    common.claims(
        ("the variational integrator does not conserve the energy at each step, but keeps its average",
         f"a band of {width:.1e} J, whose mean moves by {abs(last - first):.1e} J from the first tenth to the last",
         abs(last - first) < 0.1 * width),
        ("the force-balance simulator (ODE) slowly loses energy", text,
         "of rk4, yes; ODE itself was not run, and MuJoCo errs the other way"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
