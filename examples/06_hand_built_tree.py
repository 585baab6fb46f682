"""A mechanism built by hand: a gyroscope with a counterweight, which precesses under its weight.

    python 06_hand_built_tree.py [--save FILE] [--plot FILE] [--view]

A tree is made of transforms, `tx ty tz rx ry rz`: a transform with a name is a joint, one with a number is constant.
`add` returns the place behind the last element, and branches start there. With a level axle the gyroscope precesses at
m g d / (J w): the mass m is at a distance d from the pivot, and the rotor of inertia J turns at the speed w. A
gyroscope that starts at this rate stays level.
"""

import vitree as vt

ROTOR, WEIGHT = 2.0, 1.0  # [kg]
INERTIA = (2e-2, 1.1e-2, 1.1e-2)  # [kg m^2]


def main() -> vt.Trajectory:
    tree = vt.Tree("gyroscope", gravity=(0, 0, -9.81))
    axle = tree.world.add(vt.tz(0.5), vt.rz("turn"), vt.ry("nod"))
    axle.add(vt.tx(0.2), vt.rx("spin"), vt.body("rotor", ROTOR, INERTIA))
    axle.add(vt.tx(-0.3), vt.body("counterweight", WEIGHT))
    model = tree.compile()
    print(tree)
    print("joints:", *model.joint_names)

    spin = 50.0  # [rad/s]
    moment = 9.81 * (0.2 * ROTOR - 0.3 * WEIGHT)  # about the pivot [N m]
    turn = moment / (INERTIA[0] * spin)
    run = vt.simulate(model, v0=[turn, 0.0, spin], duration=10.0, dt=0.001)
    angle, nod, _ = run.q.T
    print(f"turns at {angle[-1] / run.t[-1]:.9f} rad/s; m g d / (J w) is {turn:.9f}")
    print(f"nods by {abs(nod).max():.0e} rad")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
