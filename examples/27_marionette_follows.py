"""A marionette's hands follow a given motion: how long must its strings be?

    python 27_marionette_follows.py [--save FILE] [--plot FILE] [--view]

Tensions and configurations are unknowns. A simulation on strings as long as in the plan makes the same motion.
"""

from importlib.util import find_spec

import numpy as np
import stand_ins

import vitree as vt
from vitree.control import MotionProblem, PositionCost, PostureCost, TensionCost, VelocityCost, solve

#: Chosen: by default a robot that strings hold has another form of kinetic energy than one that floats.
DT, STEPS, HOW = 0.04, 50, {"dt": 0.04, "method": "midpoint", "kinetic": "midpoint"}
SOLVER = "ipopt" if find_spec("ipyopt") else "scipy"  # the latter takes half a minute


def main() -> vt.Trajectory:
    tree, hooks = stand_ins.marionette()
    model, t = tree.compile(), DT * np.arange(STEPS + 1)
    q0 = model.neutral()
    cost = [PostureCost(q0, np.r_[np.full(6, 30.0), np.zeros(8)]), VelocityCost(0.03), TensionCost(1e-4)]
    for hand, rate in (("left hand", 3), ("right hand", 4)):
        up = np.outer(0.04 * (1 - np.cos(rate * t)), [0, 0, 1])
        cost.append(PositionCost(hand, model.frame_pose(hand, q0)[:3, 3] + up, 100.0, 100.0))
    found = solve(MotionProblem(model, steps=STEPS, start=q0, strings=hooks, actuators=[], cost=cost, **HOW), SOLVER)
    plan = found.trajectory
    print(f"{len(found.x)} variables, {found.iterations} iterations, {found.seconds:.1f} s: {found.message}")
    for aim in cost[3:]:
        off = np.abs(model.frame_pose(aim.frame, plan.q)[:, 2, 3] - aim.point[:, 2]).max()
        pull = plan.tensions[aim.frame][:-1].min() / DT
        print(f"{aim.frame:10s} within {1e3 * off:.1f} mm of its height, tension at least {pull:.2f} N")
    whole = [*plan.q[0], *(length[0] for length in plan.lengths.values())]
    lengths = {f"{frame} string": lambda t, y=y: np.interp(t, plan.t, y) for frame, y in plan.lengths.items()}
    run = vt.simulate(stand_ins.on_strings(tree, hooks), whole, duration=DT * STEPS,
                      control=vt.Control(prescribed=lengths), **HOW)
    print(f"simulated on these strings it is {np.abs(run.q[:, : model.nq] - plan.q).max():.0e} off the plan")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
