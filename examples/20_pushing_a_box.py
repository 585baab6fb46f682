"""An arm pushes a box over the floor: in the middle the box slides ahead, beside it the box turns as well.

    python 20_pushing_a_box.py [--save FILE] [--plot FILE] [--view]

The hand is a smooth ball on a line that drives pull it along. It pushes as strongly as the floor rubs at the corners.
"""

import numpy as np

import vitree as vt

MASS, EDGE, BALL, FRICTION = 4.0, 0.3, 0.05, 0.4  # [kg], [m], [m], -
FROM, SPEED, TIME, DT = 0.85, 0.1, 3.0, 5e-3  # of the hand: [m], [m/s], [s]; [s]
KP = 2000.0  # [N m/rad]


def along(arm: vt.Model, aside: float) -> np.ndarray:
    """Joints (steps, 6) with the hand on its line."""
    q, found = np.array([0.0, 0.9, 0.9, 0.0, 1.3, 0.0]), []
    for x in FROM + SPEED * DT * np.arange(-20, round(TIME / DT)):
        miss = (max(x, FROM), aside, 0.1) - arm.frame_pose("flange", q)[:3, 3]
        q = q + np.linalg.pinv(arm.frame_jacobian("flange", q)[3:]) @ miss
        found.append(q)
    return np.array(found[20:])


def main() -> vt.Trajectory:
    tree = vt.read_urdf(vt.find_robot("arm6"))
    arm = tree.compile()
    tree.world.add(vt.free("box_joint"), vt.body("box", MASS, 3 * (MASS * EDGE**2 / 6,)))
    tree.contact(vt.Ground(friction=FRICTION), vt.Contact("box", shapes=vt.Box(3 * (EDGE,))))
    tree.contact(vt.Contact("flange", shapes=vt.Sphere(BALL), friction=0.0))
    model = tree.compile().with_drives({"*": (KP, 0.1 * KP)})
    box = FROM + BALL + EDGE / 2 + 0.02, 0.0, EDGE / 2, 0.0, 0.0, 0.0, 1.0
    for aside in (0.0, 0.05):
        line = along(arm, aside)
        ahead = [q + arm.rnea(q, 0 * q, 0 * q) / KP for q in line]
        run = vt.simulate(model, [*line[0], *box], duration=TIME, dt=DT, control=vt.Control(targets=ahead))
        push = np.linalg.norm(run.contacts.total(len(run), "flange")[run.t > 1], axis=1) / DT
        (x, y), turn = run.q[-1, 6:8] - box[:2], 2 * np.arctan2(run.q[-1, 11], run.q[-1, 12])
        print(f"hand {aside:.2f} m aside: the box goes {x:.3f} m ahead and {y:6.3f} m aside, turns by {turn:6.3f} rad")
        print(f"    push {push.mean():6.3f} N; friction times weight {FRICTION * MASS * 9.81:.3f} N")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
