"""A humanoid takes a step on whole feet, planned by FDDP over phases of contact.

    python 39_humanoid_step.py [--save FILE] [--plot FILE] [--view]

Soles that stand neither slide nor tip: six constraints hold each, whose forces push, with the center of pressure in the
sole. A simulation with contacts at the corners of the soles takes the same step by the feedback along the plan. The
robot is the G1, or the human figure where the package example-robot-data is not installed (`stand_ins.py`).
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree.control import ContactPhase, FrameCost, QuadraticCost, optimize_motion

DT, AHEAD, LENGTH, LIFT, STEPS = 0.02, 0.1, 0.2, 0.04, 50  # [s], of the body [m], of the foot [m], [m]
BOTH, LEFT = ["left_sole", "right_sole"], ["left_sole"]


def main() -> vt.Trajectory:
    robot, start, sole = stand_ins.walker(vt.Ground(friction=0.8))
    phases = [ContactPhase(n, feet, dict.fromkeys(feet, sole)) for n, feet in ((12, BOTH), (20, LEFT), (18, BOTH))]
    nv, joints = robot.nv, np.ones(robot.nv - 6)
    way = [robot.integrate(start, np.r_[AHEAD * k / STEPS, np.zeros(nv - 1)]) for k in range(STEPS + 1)]
    landing = robot.frame_pose("right_sole", start)[:3, 3] + [LENGTH, 0, 0]
    rest = QuadraticCost(way, Q=DT * np.r_[0, 0, 10, 50, 50, 50, joints, np.full(nv, 1e-3)], R=DT * 1e-3,
                         Q_end=np.r_[np.full(6, 1000.0), 10 * joints, np.full(nv, 0.1)])  # fmt: skip
    plan = optimize_motion(
        robot, start, dt=DT, costs=[rest, FrameCost("right_sole", landing, weight_end=1e3)], phases=phases,
        actuators=robot.v_names[6:], friction=0.6, clearance=LIFT, search="fddp", states=way, tolerance=1e-5,
    )  # fmt: skip
    print(f"{len(plan.costs) - 1} iterations in {plan.seconds:.1f} s: {plan.message}")
    force, level = plan.contact_forces["left_sole"], robot.frame_pose("left_sole", plan.q)[:-1, :3, :3]
    ahead, aside = np.abs((force[:, None, 3:] @ level)[:, 0, 1::-1] / force[:, 2:3]).max(axis=0)
    print(f"the pressure is up to {ahead:.3f} m ahead and {aside:.3f} m aside in soles of {sole[0]} by {sole[1]} m")
    run = vt.simulate(robot, start, duration=STEPS * DT, dt=DT, control=plan.regulator.controller())
    foot, off = robot.frame_pose("right_sole", run.q)[:, 0, 3], np.abs(run.q - plan.q)[:, 7:].max()
    print(f"simulated with contacts the foot steps {foot[-1] - foot[0]:.3f} m, and joints are up to {off:.0e} rad off")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
