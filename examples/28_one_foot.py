"""A humanoid stands on one foot, by a linear regulator, and is pushed.

    python 28_one_foot.py [--save FILE] [--plot FILE] [--view]

Talos (extra `robots`) leans until its centre of mass is above one foot. `vt.static_equilibrium` has the torques of that
posture; with them alone it falls. The regulator has the derivatives of a step on the ground. The foot sticks, and is
left alone.
"""

import numpy as np
import stand_ins
from scipy.optimize import root

import vitree as vt
from vitree.control import lqr

DT, PUSH = 0.005, vt.ExternalWrench("torso_2_link", (0.0, 40.0, 0.0), start=0.5, end=0.7)  # [s], 40 N for 0.2 s
CORNERS = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]


def main() -> vt.Trajectory:
    tree = vt.read_urdf(vt.find_robot("talos_full_v2_box"), base="free")
    tree.contact(vt.Ground(friction=0.7), vt.Contact("left_sole_link", points=CORNERS))
    robot = tree.compile()
    sole = lambda q: robot.frame_pose("left_sole_link", q)[:3, 3]  # noqa: E731
    off = lambda q: (robot.center_of_mass(q) - sole(q))[:2]  # noqa: E731
    q = stand_ins.on_left_foot(robot, *root(lambda x: off(stand_ins.on_left_foot(robot, *x)), [0.0, 0.0]).x)
    torque, motors = vt.static_equilibrium(robot, q).torques, robot.v_names[6:]

    at = vt.linearize(robot, q, dt=DT, control=torque)
    Q, R = np.repeat([10.0, 1.0], robot.nv), np.full(len(motors), 1e-3)
    held = lqr(at, Q, R, actuators=motors, control=torque, leave_neutral=True)
    run = vt.simulate(robot, q, duration=4.0, dt=DT, control=held.controller(), wrenches=[PUSH])
    falls = vt.simulate(robot, q, duration=1.0, dt=DT, control=torque, wrenches=[PUSH])
    way = [1e3 * max(np.linalg.norm(off(x)) for x in each.q) for each in (run, falls)]
    foot = np.ptp([sole(x) for x in run.q], axis=0).max()
    print(f"the centre of mass goes {way[0]:.1f} mm, and {way[1]:.0f} mm without the regulator; the foot {foot:.0e} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
