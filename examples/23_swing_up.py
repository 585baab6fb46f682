"""A pole on a cart swings up by a plan within the motor's force, and is held there by a regulator.

    python 23_swing_up.py [--save FILE] [--plot FILE] [--view]

The plan is made once, for a start at rest. The robot starts elsewhere: the plan's own feedback leads it to the plan.
"""

import numpy as np

import vitree as vt
from vitree.control import QuadraticCost, lqr, optimize_motion

DT, UP, FORCE = 0.02, 2.0, 12.0  # [s], [s], [N]


def main() -> vt.Trajectory:
    tree = vt.Tree("pole on a cart")
    cart = tree.world.add(vt.tx("rail", damping=0.5), vt.body("cart", 1.0))
    cart.add(vt.ry("pivot"), vt.tz(0.5), vt.body("pole", 0.3, (0.01, 0.01, 1e-4)))
    model = tree.compile()

    effort = np.array([1.0, 1.0, 0.1, 0.1, 1.0]) * 0.01 * DT  # weights of x, angle, their momenta, and the force
    cost = QuadraticCost([0.0, 0.0], Q=effort[:4], R=effort[4:], Q_end=[10.0, 10.0, 10.0, 10.0])
    plan = optimize_motion(model, [0.0, np.pi], duration=UP, dt=DT, costs=cost, actuators=["rail"], limits=FORCE)
    print(f"the plan costs {plan.cost:.3f} after {len(plan.costs) - 1} iterations: {plan.message}")
    print(f"its largest force is {np.abs(plan.torque).max():.2f} N")
    hold = lqr(vt.linearize(model, dt=DT), Q=[30.0, 30.0, 1.0, 1.0], R=[0.1], actuators=["rail"])

    def motor(t, q, v):
        force = plan.regulator(t, q, v) if t < UP - 0.5 * DT else hold(t, q, v)
        return np.clip(force, -FORCE, FORCE)

    run = vt.simulate(model, [0.05, np.pi - 0.05], duration=6.0, dt=DT, control=vt.Controller(motor, DT))
    for time, (x, angle) in zip(run.t[::25], run.q[::25], strict=True):
        print(f"t = {time:3.1f} s: cart at {x:6.3f} m, pole leans by {angle:6.3f} rad")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
