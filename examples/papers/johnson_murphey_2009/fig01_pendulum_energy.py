"""Johnson & Murphey 2009, Fig. 1: the energy of a single pendulum over 5000 s at dt = 0.01 s.

    python fig01_pendulum_energy.py [--quick] [--out FOLDER]

The paper's claim: the energy of the variational integrator changes within each swing but keeps its average. The energy
of a force-balance simulator slowly decreases.

Result: the energy of the midpoint integrator stays in a band, as wide at the end as at the start, whose mean does not
move. The energy of ODE, with its settings as they come, falls from 7.86 J to -0.36 J in 100 s, and to -9.4 J in 5000 s
(-9.81 J is that of the pendulum at rest). Semi-implicit Euler, which is symplectic as well on a single hinge, has a
band more than a hundred times as wide as the midpoint integrator's. The energy of Runge-Kutta 4 is more accurate, and
falls without end. The midpoint integrator keeps its band also where the pendulum is a body on a pin, as it is for ODE.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np
import ode_peer

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
    runs["ODE"] = ode_peer.simulate(*hinge, duration=duration, dt=dt)

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
        "body on a pin": ["midpoint, pinned", "ODE"],
    }
    figure, axes = common.figure(1, 3, size=(12, 4))
    for panel, (title, names) in zip(axes, panels.items(), strict=True):
        for style, name in zip(common.LINES, names, strict=False):
            if name in changes:
                common.band(panel, runs[name].t, changes[name], label=name, **style)
        panel.set(title=title, xlabel="time [s]", ylabel="energy - energy at start [J]")
        common.legend_below(panel)
    common.save(figure, arguments.out, "fig01_pendulum_energy.png")
    claims(changes, runs["ODE"])


def claims(changes, peer) -> None:
    """The claims of section I."""
    bands = {name: (np.ptp(change), *(part.mean() for part in (np.array_split(change, 10)[k] for k in (0, -1))))
             for name, change in changes.items()}  # fmt: skip
    width, first, last = bands["midpoint"]
    _, early, late = bands["rk4"]
    text = f"the mean of rk4 falls from {early:+.1e} J to {late:+.1e} J; ODE is not installed"
    if peer is not None:
        at = [s for s in (1, 100, 200, 300, 999, 4999) if s < peer.t[-1]]
        text = "its energy is " + ", ".join(f"{peer.energy[round(s / 0.01)]:.2f} J at {s} s" for s in at)
    common.claims(
        ("the variational integrator does not conserve the energy at each step, but keeps its average",
         f"a band of {width:.1e} J, whose mean moves by {abs(last - first):.1e} J from the first tenth to the last",
         abs(last - first) < 0.1 * width),
        ("the force-balance simulator (ODE) slowly loses energy", text,
         "not run" if peer is None else bands["ODE"][2] < bands["ODE"][1] - 1),
    )  # fmt: skip


if __name__ == "__main__":
    main()
