"""A quadruped falls on a height field and stands there, each foot on its own slope; on ice it slides first.

    python 18_quadruped_on_hills.py [--save FILE] [--plot FILE] [--view]

The ground is a smooth surface through heights on a grid. The robot falls by 10 cm, lands with one foot after the other,
and comes to rest by the drives of its joints. A foot stays where the force on it leans less than friction allows.
"""

import numpy as np
import stand_ins

import vitree as vt

DT, LEG = 2e-3, (0.0, 0.85, -1.7)  # [s]; angles of hip, thigh and calf [rad]


def hills(x: float, y: float) -> float:
    return 0.03 * np.sin(6.0 * x + 0.5) * np.cos(5.0 * y - 0.6)


def main() -> vt.Trajectory:
    terrain = vt.HeightField(hills, spacing=0.05, origin=(-2.0, -2.0, 0.0), shape=(81, 81))
    for friction in (0.05, 0.8):
        robot = stand_ins.quadruped(vt.Ground(friction=friction, terrain=terrain)).with_drives({"*": (100, 8)})
        q0 = robot.neutral()
        q0[7:] = 4 * LEG
        q0 = vt.place_on_ground(robot, q0)
        q0[2] += 0.1
        run = vt.simulate(robot, q0, duration=4.0, dt=DT, control=vt.Control(targets=4 * LEG))

        for foot in ("FL_foot", "FR_foot", "RL_foot", "RR_foot"):
            mine = np.array([a == foot for a, _ in run.contacts.names])[run.contacts.number]
            slid = np.linalg.norm(run.contacts.slip[mine], axis=1).sum() * DT
            x, y, _ = robot.frame_pose(foot, run.q[-1])[:3, 3]
            normal = np.array([*np.negative(terrain.height_and_slope(x, y)[1:]), 1.0])
            normal /= np.linalg.norm(normal)
            force = run.contacts.total(len(run), foot)[-1] / DT
            push = force @ normal
            lean = np.linalg.norm(force - push * normal) / push
            slope = np.degrees(np.arccos(normal[2]))
            print(f"friction {friction:4.2f}, {foot}: slid {100 * slid:4.1f} cm to a slope of {slope:3.1f} deg, "
                  f"pushed by {push:4.1f} N, leans by {lean:.3f}")  # fmt: skip
    return run


if __name__ == "__main__":
    import common

    common.run(main)
