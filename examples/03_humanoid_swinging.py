"""A giant swing: a human-like figure hangs by both hands from a bar, a mechanism with a closed loop.

    python 03_humanoid_swinging.py [--save FILE] [--plot FILE] [--view]

Each grip holds a point of the hand at a point of the bar by three constraints. Bar, arms and trunk make a loop.
Muscles keep the body nearly stretched, and joints stop at their limits. The multipliers of the constraints are the
forces on the bar: more than twice the body's weight at the bottom of the swing. The hands stay on the bar to round-off.
"""

import numpy as np

import vitree as vt


def main() -> vt.Trajectory:
    tree = vt.read_urdf(vt.find_robot("human"), base="free")
    for side, y in (("left", 0.18), ("right", -0.18)):
        tree.frame(f"{side}_hand").add(vt.tz(-0.08), vt.frame(f"{side} grip"))
        tree.world.add(vt.ty(y), vt.frame(f"{side} bar"))
        tree.constrain(vt.point_constraint(f"{side} grip", f"{side} bar"))
    tree.limits = "enforce"
    model = tree.compile()

    q0 = model.neutral()
    for side in ("left", "right"):
        q0[model.joint(f"{side}_shoulder_flexion").q_slice] = -np.pi  # arms up
    q0[3:7] = 0.0, np.sin(0.6), 0.0, np.cos(0.6)  # the body leans by 1.2 rad
    q0[:3] -= model.frame_pose("left grip", q0)[:3, 3] - (0.0, 0.18, 0.0)
    q0 = vt.satisfy_constraints(model, q0)

    inertia = 1 / np.diag(np.linalg.inv(model.crba(q0)))  # of each joint if the others are free

    def muscles(t, q, v):
        torque = inertia * (200.0 * model.difference(q, q0) - 20.0 * v)
        torque[:6] = 0.0
        return torque

    run = vt.simulate(model, q0, duration=3.0, dt=0.002, control=muscles)
    pull = np.linalg.norm(run.multipliers[1:].reshape(-1, 2, 3).sum(axis=1), axis=1)  # of both hands [N]
    weight = model.total_mass * 9.81
    print(f"hands off the bar by at most {abs(run.constraint).max():.0e} m")
    print(f"the bar bears {pull[0] / weight:.2f} times the weight at the start, {pull.max() / weight:.2f} at most")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
