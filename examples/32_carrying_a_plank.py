"""Two arms carry a plank: a world of one robot file twice, whose hands are welded to the ends of the plank.

    python 32_carrying_a_plank.py [--save FILE] [--plot FILE] [--view]
"""

import numpy as np

import vitree as vt

MASS, TIME, DT, KP, LAG = 8.0, 4.0, 2e-3, 5000.0, 0.02  # [kg], [s], [s], [N m/rad], [s]
READY = np.array([0.0, 0.3, 1.2, 0.0, 0.07, 0.0])  # the flange points at the plank
ARMS = {"left": vt.fixed(xyz=(-1.3, 0, 0)), "right": vt.fixed(xyz=(1.3, 0, 0), rpy=(0, 0, np.pi))}


def targets(arm: vt.Model, way: np.ndarray) -> np.ndarray:
    """Targets (n, 6) of an arm whose flange goes along a way (n, 3) without turning, under half of the plank."""
    q, start, rows = READY, arm.frame_pose("flange", READY), []
    for place in start[:3, 3] + way:
        X, J = arm.frame_pose("flange", q), arm.frame_jacobian("flange", q)
        q = q + np.linalg.solve(J, [*0.5 * np.cross(X[:3, :3].T, start[:3, :3].T).sum(axis=0), *(place - X[:3, 3])])
        rows.append(q + (arm.rnea(q, 0 * q, 0 * q) + 0.5 * MASS * 9.81 * J[5]) / KP)
    return np.array(rows) + LAG * np.gradient(rows, DT, axis=0)


def main() -> vt.Trajectory:
    arm, world = vt.load_urdf(vt.find_robot("arm6")), vt.World("two arms and a plank")
    reach, start = arm.frame_pose("flange", READY), dict(zip(arm.joint_names, READY, strict=True))
    world.add(vt.Box((1.0, 0.2, 0.03)), "plank", (0, 0, reach[2, 3]), mass=MASS)
    for name, at in ARMS.items():
        world.add("arm6", name, at, drives={"*": (KP, LAG * KP)}, start=start)
        R, p = at.rotation @ reach[:3, :3], at.position + at.rotation @ reach[:3, 3] - (0, 0, reach[2, 3])
        grip = world.tree.frame("plank").add(vt.fixed(f"{name} grip", p, rotation=R))
        world.tree.constrain(vt.weld(f"{name}/flange", grip.name))
        world.apart((name, "plank"))
    model, s = world.compile(), np.arange(round(TIME / DT)) * DT / TIME
    way = np.stack((0 * s, 0.2 * np.sin(2 * np.pi * s), 0 * s + 0.15), axis=-1) * np.sin(np.pi * s[:, None]) ** 2
    aims = vt.Control(targets=np.hstack([targets(arm, way @ at.rotation) for at in ARMS.values()]))
    run = vt.simulate(model, duration=TIME, dt=DT, control=aims)
    plank = run.q[:, model.joint("plank").q_slice]
    miss, tilt = np.abs(plank[1:, :3] - plank[0, :3] - way).max(), 2 * np.linalg.norm(plank[:, 3:6], axis=1).max()
    left, right = np.abs(run.multipliers[1:].reshape(-1, 2, 6)[:, :, 2].mean(axis=0))  # along z, of each weld
    print(f"it strays {1e3 * miss:.1f} mm, {np.degrees(tilt):.2f} degrees; hands carry {left:.1f}, {right:.1f} N")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
