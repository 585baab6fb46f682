"""Kobilarov et al. 2009, Fig. 3: a free rigid body at a step that Runge-Kutta does not survive.

    python fig03_large_steps.py [--quick] [--out FOLDER]

The paper's claim: at a large step the fourth-order Runge-Kutta method leaves the body's orbit; the Lie group integrator
stays on a similar one. Energy and spatial momentum of a free body are constant, so that their errors show the
difference. The script runs all maps, and the paper's other methods, at two steps. The picture has all variables of the
paper's: position, orientation (its first column, the body's x axis in the world), linear and angular velocity.

Result: Runge-Kutta 4 slows the body down at the smaller step and blows up at the larger one. With every map the
spatial momentum is constant to round-off, and the energy stays within a band (with the trapezoidal map it is
constant), even if a step turns the body by more than a radian. At the larger step the exponential map ends after 255
s: a step comes to half a turn, beyond which this map has no solution. The Cayley maps, which turn by less than half a
turn, run on. Implicit midpoint conserves the energy but not the momentum, because its pose is integrated separately.
Lie-Newmark loses the momentum.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt
from vitree.spatial.rotations import rotate

sys.path.append(str(Path(__file__).parents[1]))
import common

STEPS = 0.5, 1.25
JOBS = {
    "lie, exp": ("lie", {}),
    "lie, cayley": ("lie", {"map": "cayley"}),
    "lie, dual-cayley": ("lie", {"map": "dual-cayley"}),
    "lie, trapezoidal": ("lie", {"map": "trapezoidal"}),
    "rk4": ("rk4", {}),
    "rk2": ("rk2", {}),
    "implicit-rk2": ("implicit-rk2", {}),
    "lie-newmark": ("lie-newmark", {}),
}


def run_one(model, v0, duration, dt, method, options):
    """The trajectory until it ends or fails, and how it ended."""
    try:
        run, ended = vt.simulate(model, v0=v0, duration=duration, dt=dt, method=method, **options), "runs"
    except vt.ConvergenceError as error:
        run, ended = error.trajectory, f"fails at {error.time:.3g} s"
    large = ~(np.abs(run.v).max(axis=1) < 1e3)
    if large.any():
        return run[: int(large.argmax())], f"blows up at {run.t[large.argmax()]:.3g} s"
    return run, ended


def main() -> None:
    arguments = common.arguments(__doc__)
    duration = 40.0 if arguments.quick else 400.0
    model = vt.vehicles.RigidVehicle((1.0, 2.0, 3.0), (4.0, 5.0, 7.0), gravity=(0, 0, 0), mass=1.0)
    v0 = np.array([0.5, 0.2, -0.3, 1.0, -0.7, 0.4]) * 1.6
    short = 40.0
    truth = vt.simulate(model, v0=v0, duration=short, dt=0.05, method="scipy-dop853", rtol=1e-11)
    print(f"a free body, {duration:g} s; energy and momentum relative to the start's")
    rows = []
    shown = {("truth", None): truth}
    kept = {}
    for dt in STEPS:
        for label, (method, options) in JOBS.items():
            run, ended = run_one(model, v0, duration, dt, method, options)
            if label in ("rk4", "lie, exp"):
                shown[label, dt] = run
            energy = run.kinetic / run.kinetic[0] - 1
            momentum = np.linalg.norm(run.momentum - run.momentum[0], axis=1) / np.linalg.norm(run.momentum[0])
            kept[label, dt] = ended, np.abs(energy).max(), momentum.max()
            changes = f"{energy.min():+.1e}", f"{energy.max():+.1e}", f"{momentum.max():.1e}"
            rows.append([f"{label}, dt = {dt:g} s", ended, *changes])
    common.table(["method", "ends", "least energy", "greatest", "momentum off"], rows)

    columns = [("truth", None), *((label, dt) for label in ("rk4", "lie, exp") for dt in STEPS)]
    figure, axes = common.figure(len(VARIABLES), len(columns), size=(13, 8.4), sharex=True, sharey="row")
    for column, key in zip(axes.T, columns, strict=True):
        run = shown[key]
        early = run.t <= short
        for axis, (name, (values, bound)) in zip(column, VARIABLES.items(), strict=True):
            for value, style, letter in zip(values(run)[early].T, common.LINES, "xyz", strict=False):
                axis.plot(run.t[early], np.clip(value, -9 * bound, 9 * bound), label=letter, **style)
            axis.set(xlim=(0, short), ylim=(-bound, bound), xticks=np.arange(0, short, 10))
            if key[1] is None:
                axis.set_ylabel(name)
        column[0].set_title("truth" if key[1] is None else f"{key[0]}, dt = {key[1]:g} s", fontsize="medium")
        column[-1].set_xlabel("t [s]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize="small")
    common.save(figure, arguments.out, "fig03_large_steps.png")

    runs = [kept["lie, exp", dt] for dt in STEPS]
    common.claims(
        ("fourth-order Runge-Kutta fails for a large time step",
         "; ".join(f"rk4 at {dt:g} s {kept['rk4', dt][0]}, the energy is off by {kept['rk4', dt][1]:.0%}"
                   for dt in STEPS), "blows up" in kept["rk4", STEPS[1]][0]),
        ("the Lie group integrator reproduces the orbits of the truth",
         "; ".join(f"at {dt:g} s it {ended if ended != 'runs' else f'runs to {duration:g} s'}, the momentum is off by "
                   f"{momentum:.0e}, the energy by {energy:.0%} at most"
                   for dt, (ended, energy, momentum) in zip(STEPS, runs, strict=True)),
         "NO" if max(momentum for *_, momentum in runs) > 1e-9 or runs[0][1] > 0.1 else
         "yes" if all(ended == "runs" for ended, *_ in runs) else "yes, until a step comes to half a turn"),
    )  # fmt: skip


#: Row of the picture -> its three curves, and the range of its axis.
VARIABLES = {
    "position [m]": (lambda run: run.q[:, :3], 40.0),
    "orientation": (lambda run: rotate(run.q[:, 3:], np.tile((1.0, 0.0, 0.0), (len(run.q), 1))), 1.2),
    "linear velocity [m/s]": (lambda run: run.v[:, :3], 2.0),
    "angular velocity [rad/s]": (lambda run: run.v[:, 3:], 4.0),
}


if __name__ == "__main__":
    main()
