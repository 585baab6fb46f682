"""An arm takes its hand to a point, turned by 45 degrees, at least effort and within its motors' torques.

    python 25_reach.py [--save FILE] [--plot FILE] [--view]

The target is a pose of the hand: the optimisation finds the joints' angles. The arm starts a little elsewhere than
planned, and the plan's feedback leads it. The Panda is of the package example-robot-data (the extra robots).
"""

import numpy as np

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, optimize_motion

DT, TIME, HAND, HALF = 0.01, 1.0, "panda_hand_tcp", np.sqrt(0.5)  # [s], [s], its frame, sine and cosine of 45 degrees
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.02, 0.02])  # [rad], and two fingers [m]
TURN = np.array([[HALF, -HALF, 0.0], [HALF, HALF, 0.0], [0.0, 0.0, 1.0]])
#: Weights along the way: the posture, with the fingers held where they are; momenta; forces.
POSTURE, MOMENTUM, FORCE = np.r_[np.full(7, 0.1), 1e4, 1e4], np.full(9, 0.1), np.r_[np.full(7, 1e-3), 0.1, 0.1]


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("panda"), mimic="independent")
    most = np.concatenate([joint.effort for joint in model.joints])
    pose = model.frame_pose(HAND, START)
    target = FrameCost(HAND, pose[:3, 3] + [-0.1, 0.3, -0.2], TURN @ pose[:3, :3], weight=20 * DT, weight_end=1e4,
                   turn_weight=5 * DT, turn_weight_end=1e3)  # fmt: skip
    rest = QuadraticCost(Q=DT * np.r_[POSTURE, MOMENTUM], R=DT * FORCE, Q_end=np.repeat([0.0, 100.0], 9))
    plan = optimize_motion(model, START, duration=TIME, dt=DT, costs=[rest, target],
                           control=-model.passive_force(START), limits=most)  # fmt: skip
    print(f"planned in {plan.seconds:.2f} s, {len(plan.costs) - 1} iterations: {plan.message}")
    print(f"it takes at most {100 * (np.abs(plan.torque) / most).max():.0f} % of the motors' torques")

    off = np.r_[np.full(7, 0.02), 0.0, 0.0]
    run = vt.simulate(model, START + off, duration=TIME, dt=DT, control=plan.regulator.controller())
    for k in range(0, len(run), 10):
        pose = model.frame_pose(HAND, run.q[k])
        turned = np.arccos(min(0.5 * (np.sum(target.rotation * pose[:3, :3]) - 1), 1.0))
        away = np.linalg.norm(pose[:3, 3] - target.point)
        print(f"t = {run.t[k]:3.1f} s: the hand is {away:.4f} m and {np.degrees(turned):6.3f} degrees away")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
