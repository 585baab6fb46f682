"""A humanoid climbs three stairs of boxes, slowly: its centre of mass is above a foot before the other one leaves.

    python 31_climbing_stairs.py [--save FILE] [--plot FILE] [--view]

A G1 (extra `robots`) has all of its shapes. Newton's method finds configurations in which the feet and the centre of
mass are where a plan has them, and drives follow their joints. Nothing holds the pelvis: the robot stands by its feet.
"""

import numpy as np
import stairs

import vitree as vt

DT = 5e-3  # [s]


def main() -> vt.Trajectory:
    robot = stairs.on_stairs()
    rows = stairs.plan(robot)
    t = DT * np.arange(1, round(len(rows) * stairs.EVERY / DT) + 1)
    joints = [robot.joint(drive.joint).q_slice.start for drive in robot.drives]
    times = stairs.EVERY * np.arange(1, len(rows) + 1)
    targets = np.column_stack([np.interp(t, times, rows[:, k]) for k in joints])
    run = vt.simulate(robot, vt.place_on_ground(robot, rows[0]), duration=t[-1], dt=DT,
                      control=vt.Control(targets=targets), monitors=("gap",))  # fmt: skip
    feet = [robot.frame_pose(name, run.q[-1])[[0, 2], 3].round(3).tolist() for name in stairs.FEET]
    off = np.abs(run.q[-1, :3] - rows[-1, :3]).max()
    print(f"after {t[-1]:.0f} s its ankles are at x, z = {feet} m, and the pelvis is {1e3 * off:.0f} mm off the plan")
    print(f"the least gap is {run.monitors['gap'].min():.0e} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
