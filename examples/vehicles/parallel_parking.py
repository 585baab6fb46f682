"""Parallel parking by given controls: a car reverses along two arcs, and steers while it stands.

    python parallel_parking.py [figure.png]

On each arc the torque drives for as long as it brakes, so that the car stands still at the end. A step of the
variational method is the arc of a circle. While the steering is fixed, the path is therefore exact for every time step;
the Runge-Kutta method of the same order cuts corners.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt

#: From the rear to the front of the car, and half its width [m].
REAR, FRONT, HALF_WIDTH = -0.65, 3.25, 0.86


def controls(dt: float, sigma: float = 0.7, torque: float = 500.0) -> np.ndarray:
    """Return rows of controls over 12 s: torque [N m], rate of steering [1/s]."""
    phases = [  # seconds, torque, where the steering goes
        (1.0, 0.0, -sigma), (1.6, -torque, 0.0), (1.6, torque, 0.0), (2.0, 0.0, 2 * sigma), (1.6, -torque, 0.0),
        (1.6, torque, 0.0), (1.0, 0.0, -sigma), (1.6, 0.0, 0.0),
    ]  # fmt: skip
    return np.concatenate([np.tile((f, way / time), (round(time / dt), 1)) for time, f, way in phases])


def main(figure: str | None = None) -> dict[str, vt.Trajectory]:
    car, runs = vt.vehicles.car(), {}
    print("method    dt [s]     aside [m]      back [m]   heading [rad]   speed [m/s]")
    for method in ("lie", "rk2"):
        for dt in (0.2, 0.1):
            run = vt.simulate(car, duration=12.0, dt=dt, method=method, control=vt.Control(inputs=controls(dt)))
            runs[f"{method}, dt = {dt} s"] = run
            (theta, x, y), speed = run.q[-1, 2:], run.v[-1, 3]
            print(f"{method:8s} {dt:7.2f} {y:13.8f} {-x:13.8f} {theta:15.1e} {speed:13.1e}")
    if figure:
        sys.path.insert(0, str(Path(__file__).parent))
        from common import drawn
        from matplotlib.figure import Figure

        made = Figure(figsize=(8, 5), layout="constrained")
        axes = made.subplots()
        outline = np.array([(REAR, -HALF_WIDTH), (FRONT, -HALF_WIDTH), (FRONT, HALF_WIDTH), (REAR, HALF_WIDTH)])
        run = runs["lie, dt = 0.1 s"]
        moves = np.flatnonzero(np.abs(run.v[:, 3]) > 0.01)
        shown = np.r_[0, moves[::4], len(run) - 1]
        drawn(axes, run.q[shown][:, [3, 4, 2]], outline)
        axes.plot(run.q[:, 3], run.q[:, 4], color="0.0", linewidth=1.0)
        axes.set(title="parking: a car 1.72 m wide", xlabel="x [m]", ylabel="y [m]", aspect="equal")
        made.savefig(figure, dpi=150)
    return runs


if __name__ == "__main__":
    main(*sys.argv[1:2])
