"""A human figure falls sideways on the floor, with weak drives and limited joints, and comes to rest.

    python 21_falling_figure.py [--save FILE] [--plot FILE] [--view]

All parts of the body can touch the floor. Contacts come and go, and limits of joints are hit. Nothing goes through the
floor, no joint passes its limits, and the momentum changes by gravity and by the impulses of the floor, to round-off.
"""

import numpy as np
import stand_ins

import vitree as vt

DT = 2e-3  # [s]


def main() -> vt.Trajectory:
    model = stand_ins.figure(vt.Ground(friction=0.7)).with_drives({"*": (10, 1)})
    v0 = model.zero_velocity()
    v0[:6] = 0.0, 1.0, 0.0, -0.5, 0.0, 0.0  # linear [m/s], angular [rad/s]
    run = vt.simulate(model, vt.place_on_ground(model, model.neutral()), v0, duration=3.0, dt=DT)

    contacts, names = run.contacts, run.contacts.names
    for t in (0.0, 0.5, 1.0, 3.0):
        touching = sorted({names[k][0] for k in contacts.of(round(t / DT)).number})
        print(f"t = {t:.1f} s, {run.energy[round(t / DT)]:5.1f} J; on the floor or at a limit: {', '.join(touching)}")

    hinges = [joint for joint in model.joints if joint.kind != "free"]
    over = [[run.q[:, joint.q_slice] - joint.upper, joint.lower - run.q[:, joint.q_slice]] for joint in hinges]
    momentum = [model.momentum(q, model.velocity_from_momentum(q, p))[3:] for q, p in zip(run.q, run.p, strict=True)]
    given = contacts.total(len(run)) + model.total_mass * np.array([0.0, 0.0, -9.81]) * DT  # by floor and gravity [N s]
    missing = np.diff(momentum, axis=0) - given[1:]
    depth = -min(model.contact_gaps(q).gap.min() for q in run.q[::10])
    print(f"deepest point {max(depth, 0.0):.0e} m, joints beyond limits by {np.max(over):.0e} rad")
    print(f"momentum in each step to {abs(missing).max():.0e} N s, of {np.linalg.norm(momentum, axis=1).max():.0f}")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
