"""A robot and things: an arm takes a box from a table by suction, and drops it into a bin; a cup on the table stays.

    python 33_robot_and_things.py [--save FILE] [--plot FILE] [--view]
"""

import numpy as np

import vitree as vt

KP, KD, DT = 20000.0, 1000.0, 2e-3  # [N m/rad], [N m s/rad], [s]
DOWN = np.diag([-1.0, 1.0, -1.0])  # of the flange
READY = np.array([0.0, 0.75, 0.9, 0.0, 1.49, 0.0])
#: When [s] the flange is where [m].
WAY = {0.0: (0.9, 0, 0.75), 0.4: (0.9, 0, 0.7), 0.8: (0.9, 0, 0.645), 1.0: (0.9, 0, 0.645), 1.4: (0.9, 0, 0.7),
       2.0: (0.9, 0, 0.8), 3.6: (0.1, 0.9, 0.8), 4.0: (0.1, 0.9, 0.7), 4.2: (0.1, 0.9, 0.7), 4.8: (0.1, 0.9, 0.8)}  # fmt: skip
TAKE, DROP, END = 0.9, 4.1, 4.8  # [s]


def reach(arm: vt.Model, q: np.ndarray, place: tuple[float, float, float]) -> np.ndarray:
    """The posture near q in which the flange points down at a place."""
    for _ in range(60):
        X, J = arm.frame_pose("flange", q), arm.frame_jacobian("flange", q)
        off = np.array([*0.5 * np.cross(X[:3, :3].T, DOWN.T).sum(axis=0), *(place - X[:3, 3])])
        q = q + np.clip(J.T @ np.linalg.solve(J @ J.T + 1e-9 * np.eye(6), off), -0.2, 0.2)
    return q


def main() -> vt.Trajectory:
    world = vt.World("a robot and things", ground=vt.Ground(friction=0.6))
    arm, postures = vt.load_urdf(vt.find_robot("arm6")), [READY]
    for place in WAY.values():
        postures.append(reach(arm, postures[-1], place))
    start = dict(zip(arm.joint_names, postures[1], strict=True))
    world.add("arm6", "arm", start=start)
    world.add(vt.Box((0.4, 0.6, 0.5)), "table", at=(0.95, 0, 0.25))
    world.add(vt.Box((0.1, 0.1, 0.1)), "box", at=(0.9, 0, 0.55), mass=0.5)
    world.add(vt.Cylinder(0.04, 0.1), "cup", at=(0.95, 0.2, 0.55), mass=0.2)
    walls = [vt.Box(size, position=place) for size, place in (
        ((0.4, 0.4, 0.02), (0, 0, 0.01)), ((0.02, 0.4, 0.2), (0.19, 0, 0.12)), ((0.02, 0.4, 0.2), (-0.19, 0, 0.12)),
        ((0.36, 0.02, 0.2), (0, 0.19, 0.12)), ((0.36, 0.02, 0.2), (0, -0.19, 0.12)))]  # fmt: skip
    world.add(walls, "bin", at=(0.1, 0.9, 0))
    model = world.compile().with_drives({"arm/*": (KP, KD)}, target_rates=True)
    # drives give way by the weight of the arm: targets are beyond the postures
    rows = np.repeat(model.start[None], len(WAY), axis=0)
    for row, q in zip(rows, postures[1:], strict=True):
        row[: arm.nq] = q + arm.rnea(q, 0 * q, 0 * q) / KP
    motion = vt.ReferenceMotion(model, list(WAY), rows, [f"arm/{name}" for name in arm.joint_names])
    control = vt.Control(targets=motion.targets(), inputs=motion.target_rates())

    sim = vt.Simulation(model, dt=DT, control=control, record_every=10)
    sim.step(round(TAKE / DT))
    sim.attach("box", to="arm/flange", name="suction")
    sim.step(round((DROP - TAKE) / DT))
    carried = sim["box"].position
    sim.detach("suction")
    sim.step(round((END - DROP) / DT))
    grip, place, spill = sim.changes[0].values, sim["box"].position, np.abs(sim["cup"].position - (0.95, 0.2, 0.55))
    print(f"taken with {np.linalg.norm(grip['impulse']):.1e} N s, dropped from z = {carried[2]:.2f} m: the box is at "
          f"({place[0]:.2f}, {place[1]:.2f}, {place[2]:.2f}) m in the bin, and the cup moved {spill.max():.0e} m")  # fmt: skip
    return sim.trajectory


if __name__ == "__main__":
    import common

    common.run(main)
