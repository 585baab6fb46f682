"""A marionette on four strings, whose lengths a puppeteer prescribes.

    python 08_marionette.py [--save FILE] [--plot FILE] [--view]

A string is a distance between two frames; its length is a coordinate that is prescribed over time (Johnson & Murphey
2009). The hands go up and down, each at a frequency of its own. The tension is minus the multiplier. The script prints
it, because these strings could push as well: it must stay positive.
"""

import numpy as np
import stand_ins

import vitree as vt


def main() -> vt.Trajectory:
    tree, hooks = stand_ins.marionette()
    for frame, place in hooks.items():
        tree.world.add(vt.fixed(f"{frame} hook", xyz=place))
        tree.world.add(vt.tz(f"{frame} string", kinematic=True))
        tree.constrain(vt.Distance(f"{frame} hook", frame, length=f"{frame} string"))
    model = tree.compile()

    q0, lengths = model.neutral(), [model.joint(name).q_slice.start for name in model.prescribed_joint_names]
    q0[lengths] = model.constraint_errors(q0)  # distances from hook to frame, as the lengths are zero
    left, right = (q0[model.joint(f"{side} hand string").q_slice.start] for side in ("left", "right"))
    motion = {"left hand string": lambda t: left - 0.05 * (1 - np.cos(3 * t)),
              "right hand string": lambda t: right - 0.05 * (1 - np.cos(4 * t))}  # fmt: skip
    run = vt.simulate(model, q0, duration=10.0, dt=0.005, method="midpoint", control=vt.Control(prescribed=motion))

    print(f"{model.nv} coordinates, {len(lengths)} prescribed; strings off by {abs(run.constraint).max():.0e} m")
    for name, pull in zip(model.prescribed_joint_names, -run.multipliers[1:].T, strict=True):
        print(f"{name:22s} tension {pull.min():5.2f} to {pull.max():5.2f} N")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
