"""A quadruped trots: two steps of diagonal pairs of legs, planned by FDDP over phases of contact.

    python 38_trot.py [--save FILE] [--plot FILE] [--view]

The plan says which feet stand on the ground, and when. They are held there exactly, feet that land are stopped by an
impact, and the ground pushes within the cone of friction. A simulation with contacts, which knows nothing of phases,
makes the same motion by the feedback along the plan. The robot is the Go2, or one of its size (`stand_ins.py`).
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree.control import ContactPhase, QuadraticCost, optimize_motion

DT, AHEAD, HEIGHT, LIFT, STEPS = 0.01, 0.2, 0.28, 0.05, 100  # [s], [m], [m], [m]
FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
ONE, OTHER = FEET[1:3], FEET[::3]


def main() -> vt.Trajectory:
    robot = stand_ins.quadruped(vt.Ground(friction=0.8), balls=False)
    bend = np.arccos(HEIGHT / (2 * stand_ins.LEG))
    start = robot.neutral()
    start[7:] = (0.0, bend, -2 * bend) * 4
    start = vt.place_on_ground(robot, start)
    way = [robot.integrate(start, np.r_[AHEAD * k / STEPS, np.zeros(17)]) for k in range(STEPS + 1)]
    phases = [ContactPhase(*x) for x in ((10, FEET), (30, ONE), (20, FEET), (30, OTHER), (10, FEET))]
    Q, Q_end = (np.r_[x * np.ones(6), y * np.ones(12), z * np.ones(18)] for x, y, z in ((10, 1, 0.01), (1000, 10, 1)))
    cost = QuadraticCost(way, Q=DT * Q, R=DT * 1e-3, Q_end=Q_end)
    plan = optimize_motion(robot, start, dt=DT, costs=cost, actuators=robot.v_names[6:], phases=phases, friction=0.6,
                           clearance=LIFT, search="fddp", states=way, tolerance=1e-6)  # fmt: skip
    print(f"{len(plan.costs) - 1} iterations in {plan.seconds:.1f} s: {plan.message}")
    pull = max(0.0, -min(x[:, 2].min() for x in plan.impulses.values()))
    lifted, landing = robot.frame_pose(FEET[0], plan.q)[:, 2, 3].max(), plan.impacts[FEET[0]][40, 2]
    print(f"feet are lifted by {lifted:.3f} m, land with {landing:.2f} N s, and pull with at most {pull:.0e} N s")
    print(f"constrained models, one for each phase, are {np.abs(plan.trajectory.q - plan.q).max():.0e} off the plan")
    run = vt.simulate(robot, start, duration=STEPS * DT, dt=DT, control=plan.regulator.controller())
    print(f"simulated with contacts it is {np.abs(run.q - plan.q).max():.0e} off, and walks {run.q[-1, 0]:.3f} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
