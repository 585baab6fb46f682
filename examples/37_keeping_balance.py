"""A humanoid squats, reaches and is pushed from all sides, for as long as you like.

    python 37_keeping_balance.py [--save FILE] [--plot FILE] [--view] [--seconds 10]

Talos (extra `robots`) squats every two seconds and reaches ahead as it goes down, with either hand in turns. Torques
are those of `35_squatting.py`, 500 times a second. Every 2.7 s a force acts on its trunk, each time from another side.
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree import control as vc

DT, PERIOD, DEPTH, AHEAD = 0.002, 2.0, 0.12, (0.25, 0.05, 0.15)  # [s, s, m, m]
FORCE, EVERY, LONG, HANDS = 60.0, 2.7, 0.2, ("gripper_left_base_link", "gripper_right_base_link")  # [N, s, s]


def main(seconds: float = 10.0) -> vt.Trajectory:
    robot, q = stand_ins.on_two_feet(0.7)
    com, *hands = (task.hold(robot, q) for task in (vc.CenterOfMassTask(), *map(vc.PositionTask, HANDS)))
    rest = vc.OrientationTask("torso_2_link").hold(robot, q), vc.PostureTask(q, weight=0.02)
    feet = [vc.SupportContact(sole, stand_ins.CORNERS, friction=0.6) for sole in stand_ins.SOLES]
    forces = vc.WholeBodyControl(robot, [vc.AccelerationTask(x, stiffness=200.0) for x in (com, *hands, *rest)], feet)
    high, near = com.target, [hand.target for hand in hands]

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        down = 0.5 - 0.5 * np.cos(2 * np.pi * t / PERIOD)
        com.target = high - [0.0, 0.0, DEPTH * down]
        for k, hand in enumerate(hands):
            ahead = np.array(AHEAD) * (1, (-1) ** k, 1) if int(t / PERIOD) % 2 == k else (0.0, 0.0, -DEPTH)
            hand.target = near[k] + np.multiply(down, ahead)
        return forces(t, q, v)

    pushes = [vt.ExternalWrench("torso_2_link", (FORCE * np.cos(a), FORCE * np.sin(a), 0.0), start=t, end=t + LONG)
              for t in np.arange(0.5, seconds - LONG, EVERY) for a in [2.39996 * (t - 0.5) / EVERY]]  # fmt: skip
    run = vt.simulate(robot, q, duration=seconds, dt=DT, control=vt.Controller(torque, DT), wrenches=pushes,
                      record_every=10)  # fmt: skip
    off = 1e3 * np.linalg.norm((robot.center_of_mass(run.q) - high)[:, :2], axis=1)
    moved = np.ptp([robot.frame_pose(sole, run.q)[:, :3, 3] for sole in stand_ins.SOLES], axis=1).max()
    print(f"{len(pushes)} pushes in {run.t[-1]:g} s: the center of mass is at most {off.max():.1f} mm aside, "
          f"{off[-250:].max():.1f} mm in the last 5 s; feet move {moved:.0e} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main, seconds=10.0)
