"""An arm under a controller with a clock of its own: a delay makes the loop ring, drives in the joints quieten it.

    python 14_delayed_controller.py [--save FILE] [--plot FILE] [--view]

The controller is asked every 5 ms, and its answer acts late. As a torque, a late answer damps too late: beyond a delay
of about 10 ms the loop rings, and then it diverges. In a robot the fast loop sits in the joints. Drives with the same
gains have no delay, and the late controller only sends their targets: where the arm shall go, and what gravity needs.
"""

import numpy as np

import vitree as vt

GOAL = np.array([0.4, 0.2, -0.2, -0.4, -0.3, 0.1])  # [rad]
OMEGA = 20.0  # [1/s]


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("arm6"))
    rest = model.zero_velocity()
    inertia = 1 / np.diag(np.linalg.inv(model.crba(GOAL)))  # of each joint if the others are free
    kp, kd = OMEGA**2 * inertia, 2 * OMEGA * inertia
    driven = model.with_drives({name: (kp[i], kd[i]) for i, name in enumerate(model.joint_names)})

    def torque(t, q, v):
        return kp * (GOAL - q) - kd * v + model.rnea(q, rest, rest)

    def targets(t, q, v):
        return GOAL + model.rnea(q, rest, rest) / kp

    for delay in (0.0, 0.01, 0.015, 0.02):
        clock = {"period": 0.005, "delay": delay}
        late = vt.simulate(model, duration=3.0, dt=1e-3, control=vt.Controller(torque, **clock))
        run = vt.simulate(driven, duration=3.0, dt=1e-3, control=vt.Control(inputs=vt.Controller(targets, **clock)))
        swing, calm = (np.ptp(x.q[-500:], axis=0).max() for x in (late, run))
        print(f"{1e3 * delay:2.0f} ms late: swings by {swing:.4f} rad at the end; with drives by {calm:.4f} rad")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
