"""A humanoid squats, reaches and is pushed, by torques from one quadratic program a step.

    python 35_squatting.py [--save FILE] [--plot FILE] [--view]

Talos (extra `robots`) stands on the corners of its soles. `WholeBodyControl` is asked a thousand times a second for the
torques that accelerate the center of mass, the trunk and a hand towards their targets, with forces within the friction
cones of the feet and torques within the limits of the motors. The targets move: down and up, the hand ahead.
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree import control as vc

DT, PERIOD, DEPTH, AHEAD = 0.001, 2.0, 0.12, (0.25, 0.05, 0.15)  # [s, s, m, m]
PUSH = vt.ExternalWrench("torso_2_link", (0.0, 60.0, 0.0), start=0.5, end=0.7)
SOLES, HAND = stand_ins.SOLES, "gripper_left_base_link"


def main() -> vt.Trajectory:
    robot, q = stand_ins.on_two_feet(0.7)
    com, hand = vc.CenterOfMassTask().hold(robot, q), vc.PositionTask(HAND, weight=0.5).hold(robot, q)
    rest = vc.OrientationTask("torso_2_link").hold(robot, q), vc.PostureTask(q, weight=0.02)
    feet = [vc.SupportContact(sole, stand_ins.CORNERS, friction=0.6) for sole in SOLES]
    forces = vc.WholeBodyControl(robot, [vc.AccelerationTask(x, stiffness=200.0) for x in (com, hand, *rest)], feet)
    high, near = com.target, hand.target

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        down = 0.5 - 0.5 * np.cos(2 * np.pi * t / PERIOD)
        com.target, hand.target = high - [0.0, 0.0, DEPTH * down], near + np.array(AHEAD) * down
        return forces(t, q, v)

    run = vt.simulate(robot, q, duration=PERIOD, dt=DT, control=vt.Controller(torque, DT), wrenches=[PUSH])
    c, soles = robot.center_of_mass(run.q), np.stack([robot.frame_pose(s, run.q)[:, :3, 3] for s in SOLES])
    deep, aside, off, feet = np.ptp(c[:, 2]), np.ptp(c[:, 1]), np.abs(c[-1] - high).max(), np.ptp(soles, 1).max()
    print(f"the center of mass goes {deep:.3f} m down and up, {1e3 * aside:.0f} mm aside when pushed, and ends "
          f"{1e3 * off:.0f} mm off; feet move {feet:.0e} m")  # fmt: skip
    return run


if __name__ == "__main__":
    import common

    common.run(main)
