"""The marionette again: DDP and the projection operator choose the lengths of its strings.

    python 30_marionette_strings.py [--save FILE] [--plot FILE] [--view]

Where the strings are to end is what the searches change; the hands follow a motion, and the torso stays upright.
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, optimize_motion

DT, STEPS = 0.04, 50


def main() -> vt.Trajectory:
    tree, hooks = stand_ins.marionette()
    bare, t = tree.compile(), DT * np.arange(STEPS + 1)
    q0, n = bare.neutral(), bare.nv
    at = {frame: bare.frame_pose(frame, q0)[:3, 3] for frame in hooks}
    lengths = [np.linalg.norm(at[frame] - hook) for frame, hook in hooks.items()]
    model, start = stand_ins.on_strings(tree, hooks), np.r_[q0, lengths]
    hands = [FrameCost(hand, at[hand] + np.outer(0.04 * (1 - np.cos(rate * t)), [0, 0, 1]),
                       weight=100 * DT, weight_end=100)
             for hand, rate in (("left hand", 3), ("right hand", 4))]  # fmt: skip
    Q = np.r_[np.full(6, 30 * DT), np.zeros(model.nv - 6), np.full(model.nv, 0.03)]
    rest = QuadraticCost(start, Q=Q, R=np.full(len(hooks), 1e-3), goal_u=lengths)
    how = {"duration": DT * STEPS, "dt": DT, "costs": [rest, *hands], "actuators": model.prescribed_joint_names}
    for search in ("projection", "ddp"):
        for method in ("linear-time", "midpoint"):
            plan = optimize_motion(model, start, search=search, method=method, **how)
            off = [np.abs(model.frame_pose(hand.frame, plan.trajectory.q)[:, 2, 3] - hand.point[:, 2]).max()
                   for hand in hands]  # fmt: skip
            print(f"{search:10s} {method:11s} cost {plan.cost:.4f} in {plan.seconds:.1f} s, hands within "
                  f"{1e3 * max(off):.0f} mm of their heights: {plan.message}")  # fmt: skip
    run = vt.simulate(model, start, p0=plan.trajectory.p[0], duration=DT * STEPS, dt=DT, method="midpoint",
                      control=vt.Control(prescribed=plan.prescribed))  # fmt: skip
    print(f"simulated on these strings it is {np.abs(run.q - plan.trajectory.q)[:, :n].max():.0e} off the last plan")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
