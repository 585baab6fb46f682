"""A robot and things: an arm takes a box by suction, from a table into a bin; a cup on the table stays.

    python 33_robot_and_things.py [--save FILE] [--plot FILE] [--view]
"""

import numpy as np
from scipy.optimize import least_squares

import vitree as vt

KP, KD, READY = 20000.0, 400.0, np.array([0.0, 0.68, 0.91, 0.0, 1.55, 0.0])  # [N m/rad], [N m s/rad], [rad]
UP, ON, OVER, IN, CUP = (0.9, 0, 0.75), (0.9, 0, 0.645), (0.1, 0.9, 0.8), (0.1, 0.9, 0.7), (0.95, 0.2, 0.55)  # [m]
WAY = {0.0: UP, 0.8: ON, 1.0: ON, 1.4: (0.9, 0, 0.7), 2.0: (0.9, 0, 0.8), 3.6: OVER, 4.0: IN, 4.2: IN, 4.8: OVER}  # [s]


def miss(q: np.ndarray, arm: vt.Model, place: tuple[float, ...]) -> list[float]:
    """How far the flange is from a place, and from pointing down."""
    X = arm.frame_pose("flange", q)
    return [*(X[:3, 3] - place), X[2, 0], X[2, 1], X[0, 1]]


def main() -> vt.Trajectory:
    arm, world, q = vt.load_urdf(vt.find_robot("arm6")), vt.World("things", ground=vt.Ground()), READY
    # drives give way by the weight of the arm
    rows = [(q := least_squares(miss, q, args=(arm, p)).x) + arm.rnea(q, 0 * q, 0 * q) / KP for p in WAY.values()]
    world.add("arm6", "arm", start=dict(zip(arm.joint_names, READY, strict=True)), drives={"*": (KP, KD)})
    world.add(vt.Box((0.4, 0.6, 0.5)), "table", at=(0.95, 0, 0.25))
    world.add(vt.Box((0.1, 0.1, 0.1)), "box", at=(0.9, 0, 0.55), mass=0.5)
    world.add(vt.Cylinder(0.04, 0.1), "cup", at=CUP, mass=0.2)
    walls = [vt.Box((0.4 - 0.38 * x, 0.4 - 0.38 * y, 0.2), position=(0.19 * s * x, 0.19 * s * y, 0.12))
             for s in (-1, 1) for x, y in ((1, 0), (0, 1))]  # fmt: skip
    world.add([vt.Box((0.4, 0.4, 0.02), position=(0, 0, 0.01)), *walls], "bin", at=(0.1, 0.9, 0))
    goals = vt.ReferenceMotion(arm.with_drives({"*": (KP, KD)}), list(WAY), rows).targets()
    control = vt.Control(targets={f"arm/{name}": goal for name, goal in goals.items()})
    sim = vt.Simulation(world.compile(), dt=2e-3, control=control, record_every=10)
    sim.step(460)
    sim.attach("box", to="arm/flange", name="suction")
    sim.step(1620)
    sim.detach("suction")
    sim.step(320)
    (x, y, z), spill = sim["box"].position, np.abs(sim["cup"].position - CUP).max()
    print(f"the box is at ({x:.2f}, {y:.2f}, {z:.3f}) m in the bin; the cup moved {spill:.0e} m")
    return sim.trajectory


if __name__ == "__main__":
    import common

    common.run(main)
