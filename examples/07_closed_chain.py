"""A closed chain: a four-bar linkage that a constraint closes, and the force in its pin.

    python 07_closed_chain.py [--save FILE] [--plot FILE] [--view]

A tree has no loops. The linkage is therefore cut at one pin, and a constraint closes it there. The variational method
satisfies the constraint at every step. Runge-Kutta 4 satisfies its second derivative only, and its errors accumulate.
The multipliers are the components of the force in the pin.
"""

import numpy as np

import vitree as vt


def main() -> vt.Trajectory:
    tree = vt.Tree("four-bar linkage")
    elbow = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", 1.0))
    elbow.add(vt.ry("bend"), vt.tz(-1.0), vt.body("tip", 1.0))
    tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(-0.9), vt.body("end", 2.0))
    tree.constrain(vt.point_constraint("tip", "end", [(1, 0, 0), (0, 0, 1)]))
    model = tree.compile()

    q0 = vt.satisfy_constraints(model, [0.5, -1.0, 0.2], hold=["crank"])
    v0 = model.project_velocity(q0, [6.0, 0.0, 0.0])  # the nearest velocity that the loop allows
    start = {"q0": q0, "v0": v0, "duration": 20.0, "dt": 0.002}
    run = vt.simulate(model, method="midpoint", **start)
    drifting = vt.simulate(model, method="rk4", **start)

    print(f"start: {dict(zip(model.q_names, q0.round(4).tolist(), strict=True))}")
    for each in (run, drifting):
        print(f"{each.method:9s} loop open by {abs(each.constraint).max():.1e} m, "
              f"energy off by {abs(each.energy - each.energy[0]).max():.1e} J")  # fmt: skip
    force = np.linalg.norm(run.multipliers[1:], axis=1)
    print(f"force in the pin: {force.min():.1f} to {force.max():.1f} N")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
