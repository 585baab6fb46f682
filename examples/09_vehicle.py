"""A vehicle: a car whose wheels roll without slip drives round a circle, back to its start.

    python 09_vehicle.py [--save FILE] [--plot FILE] [--view]

A car is a System of its own: a pose in SE(2), and the angles of its wheels. It is simulated, compared and saved as a
robot is. With fixed steering it drives round a circle, whose radius is the wheelbase over the tangent of the steering
angle. A step of the variational method is an arc of the circle, so that the circle closes for every time step. The
steps of rk2 leave the circle.
"""

import numpy as np

import vitree as vt


def main() -> vt.Trajectory:
    car = vt.vehicles.car()
    q0 = car.neutral()
    q0[1] = 0.25  # tangent of the steering angle
    radius, speed = car.wheelbase / q0[1], 5.0
    v0 = car.velocity(q0, {"psi": speed / car.wheel_radius})
    once = 2 * np.pi * radius / speed  # [s]
    runs = [vt.simulate(car, q0, v0, duration=once, dt=once / 20, method=method) for method in ("lie", "rk2")]
    print(f"a circle of {2 * radius:.1f} m across, in 20 steps of {once / 20:.2f} s")
    for run in runs:
        _, _, heading, x, y = run.q.T
        print(f"{run.method:4s} widest at {np.hypot(x, y).max():.6f} m, turned by {heading[-1] / np.pi:.6f} pi, "
              f"back to {np.hypot(x[-1], y[-1]):.1e} m, energy off by {np.ptp(run.energy):.1e} J")  # fmt: skip
    return runs[0]


if __name__ == "__main__":
    import common

    common.run(main)
