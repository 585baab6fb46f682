"""A double pendulum with a motor at its elbow alone swings up by a plan, and is held upright by a regulator.

    python 24_one_motor.py [--save FILE] [--plot FILE] [--view]

The motor cannot turn the first link by itself: the links throw each other up. Such a robot is called an acrobot.
"""

import numpy as np

import vitree as vt
from vitree.control import QuadraticCost, lqr, optimize_motion

DT, UP, MOTOR, TORQUE = 0.01, 4.0, "hinge2", 20.0  # [s], [s], the name, [N m]
UPRIGHT = np.array([np.pi, 0.0])


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    effort = DT * np.array([0.1, 0.1, 0.01, 0.01])  # weights of the angles and their momenta
    cost = QuadraticCost(UPRIGHT, Q=effort, R=[1e-3 * DT], Q_end=[100.0, 100.0, 10.0, 10.0])
    plan = optimize_motion(model, duration=UP, dt=DT, costs=cost, actuators=[MOTOR], limits=TORQUE)
    print(f"planned in {plan.seconds:.2f} s, {len(plan.costs) - 1} iterations: {plan.message}")
    print(f"the largest torque is {np.abs(plan.torque).max():.2f} N m, and {plan.torque[:, 0].max():.0f} at the top")
    hold = lqr(vt.linearize(model, UPRIGHT, dt=DT), Q=[10.0, 10.0, 1.0, 1.0], R=[0.1], actuators=[MOTOR])

    def motor(t, q, v):
        torque = plan.regulator(t, q, v) if t < UP - 0.5 * DT else hold(t, q, v)
        return np.clip(torque, -TORQUE, TORQUE)

    run = vt.simulate(model, [0.01, -0.01], duration=8.0, dt=DT, control=vt.Controller(motor, DT))
    elbow = model.frame_poses(run.q)["rod2"][:, 2, 3]
    for k in range(0, len(run), 50):
        first, second = run.q[k]
        print(f"t = {run.t[k]:3.1f} s: links at {first:6.3f} and {second:6.3f} rad, elbow at {elbow[k]:6.3f} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
