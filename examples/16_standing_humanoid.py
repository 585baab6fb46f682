"""A humanoid is dropped on its feet and stands by the drives of its joints; its feet do not creep.

    python 16_standing_humanoid.py [--save FILE] [--plot FILE] [--view]

The robot is Talos, or the human figure where the package example-robot-data is not installed. The corners of its soles
touch the ground. It falls by 2 cm, lands without a rebound, and sways on its drives. A regularised contact would
let the soles creep; here they stay, at long and short dt, and the ground carries the weight.
"""

import numpy as np
import stand_ins

import vitree as vt

DROP = 0.02  # [m]


def main() -> vt.Trajectory:
    robot, soles, targets = stand_ins.humanoid(vt.Ground(friction=0.7))
    q0 = robot.neutral()
    for joint, angle in targets.items():
        q0[robot.joint(joint).q_slice] = angle
    q0 = vt.place_on_ground(robot, q0)
    q0[2] += DROP

    weight = robot.total_mass * 9.81
    for dt in (1e-3, 2e-3, 5e-3):
        run = vt.simulate(robot, q0, duration=3.0, dt=dt, control=vt.Control(targets=targets))
        late = run.q[run.t > 2.0]
        creep = max(np.ptp([robot.frame_pose(sole, q)[:3, 3] for q in late], axis=0).max() for sole in soles)
        force = run.contacts.total(len(run))[run.t > 2.0, 2].mean() / dt
        print(f"dt {1e3 * dt:.0f} ms: soles move {creep:.0e} m in the last second, the ground carries "
              f"{force / weight:.4f} of the weight, deepest gap {run.contacts.gap.min():.0e} m")  # fmt: skip
    return run


if __name__ == "__main__":
    import common

    common.run(main)
