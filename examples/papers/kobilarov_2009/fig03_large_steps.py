"""Kobilarov et al. 2009, Fig. 3: a free rigid body at a step that Runge-Kutta does not survive.

    python fig03_large_steps.py [--quick] [--out FOLDER]

The paper's claim: at a large step the fourth-order Runge-Kutta method leaves the body's orbit; the Lie group integrator
stays on a similar one. Energy and spatial momentum of a free body are constant, so that their errors show the
difference. The script runs all maps, and the paper's other methods, at two steps.

Result: Runge-Kutta 4 slows the body down at the smaller step and blows up at the larger one. With every map the spatial
momentum is constant to round-off, and the energy stays within a band (with the trapezoidal map it is constant), even if
a step turns the body by more than a radian. Implicit midpoint conserves the energy but not the momentum, because its
pose is integrated separately. Lie-Newmark loses the momentum.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt

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
    figure, axes = common.figure(2, 3, size=(10.5, 5.6), sharex=True, sharey=True)
    for line, dt in zip(axes, STEPS, strict=True):
        runs = {"truth": truth}
        for label, (method, options) in JOBS.items():
            run, ended = run_one(model, v0, duration, dt, method, options)
            runs[label] = run
            energy = run.kinetic / run.kinetic[0] - 1
            momentum = np.linalg.norm(run.momentum - run.momentum[0], axis=1) / np.linalg.norm(run.momentum[0])
            changes = f"{energy.min():+.1e}", f"{energy.max():+.1e}", f"{momentum.max():.1e}"
            rows.append([f"{label}, dt = {dt:g} s", ended, *changes])
        for axis, label in zip(line, ("truth", "rk4", "lie, exp"), strict=True):
            for k, style in zip((3, 4, 5), common.LINES, strict=False):
                axis.plot(runs[label].t, runs[label].v[:, k], label=model.v_names[k], **style)
            axis.set(title=label if label == "truth" else f"{label}, dt = {dt:g} s", xlim=(0, short), ylim=(-4, 4))
        line[0].set_ylabel("angular velocity [rad/s]")
    common.table(["method", "ends", "least energy", "greatest", "momentum off"], rows)
    for axis in axes[1]:
        axis.set_xlabel("t [s]")
    axes[0, 0].legend()
    common.save(figure, arguments.out, "fig03_large_steps.png")


if __name__ == "__main__":
    main()
