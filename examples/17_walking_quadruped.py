"""A quadruped walks by a controller of 50 Hz and the drives of its joints: dt from 1 to 10 ms give the same walk.

    python 17_walking_quadruped.py [--save FILE] [--plot FILE] [--view]

The controller knows where the feet of a trot are, finds the angles of the legs, and steers by the heading. Drives pull
the joints there. The robot is the Go2, or one of its size where the package example-robot-data is not installed.
"""

import numpy as np
import stand_ins

import vitree as vt

PERIOD, LIFT, HEIGHT, SPEED, STEER = 0.5, 0.1, 0.28, 0.5, 0.1  # [s], [m], [m], [m/s], [m/rad]


def leg(x: float, z: float) -> tuple[float, float, float]:
    """Angles of hip, thigh and calf [rad] with the foot x [m] ahead of its hip and z [m] above it."""
    bend = np.arccos(np.hypot(x, z) / (2 * stand_ins.LEG))
    return 0.0, np.arctan2(-x, -z) + bend, -2 * bend


def trot(t, q, v):
    heading = 2 * np.arctan2(q[5], q[6])
    begun, angles = min(t, 1.0), []
    for side, late in ((1, 0.0), (-1, 0.5), (1, 0.5), (-1, 0.0)):  # FL, FR, RL, RR
        cycle = (t / PERIOD + late) % 1.0
        stride = begun * (SPEED * PERIOD / 2 + STEER * side * heading)
        s = 2 * cycle - 1  # through the air from 0 to 1
        x = 0.5 - 2 * cycle if s < 0 else s - 0.5 - np.sin(2 * np.pi * s) / (2 * np.pi)
        angles += leg(stride * x, (s > 0) * begun * LIFT * np.sin(np.pi * s) ** 2 - HEIGHT)
    return angles


def main() -> vt.Trajectory:
    robot = stand_ins.quadruped(vt.Ground(friction=0.8)).with_drives({"*": (500, 10)})
    q0 = robot.neutral()
    q0[7:] = trot(0.0, q0, None)
    q0 = vt.place_on_ground(robot, q0)
    for dt in (0.001, 0.002, 0.005, 0.01):
        run = vt.simulate(robot, q0, duration=6.0, dt=dt, control=vt.Control(targets=vt.Controller(trot, period=0.02)))
        print(f"dt {1e3 * dt:2.0f} ms: walks {run.q[-1, 0]:.3f} m; simulated in {run.seconds:.2f} s")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
