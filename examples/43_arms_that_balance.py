"""A runner in flight swings its legs, and its arms so that the trunk does not turn: by the centroidal momentum matrix.

    python 43_arms_that_balance.py [--save FILE] [--plot FILE] [--view]

In flight the angular momentum about the center of mass is h = A(q) v, and stays. The rates of spine and arms are the
least ones with A v = 0 while the trunk is at rest. Drives follow them in a simulation, beside one with arms that rest.
"""

import numpy as np

import vitree as vt

DURATION, DT, SWING = 0.6, 0.005, 0.55  # [s], [s], [rad]
HELPING, BENT = ("lumbar", "thoracic", "shoulder"), {"hip_flexion": -0.4, "knee": 0.5, "elbow_flexion": -0.8}  # [rad]


def plan(model: vt.Model, q: np.ndarray, helps: bool) -> np.ndarray:
    """Joint angles at the ends of the steps, (steps, nv - 6) [rad]."""
    legs = [model.v_names.index(f"{side}_hip_flexion") for side in ("left", "right")]
    others = [k for k, name in enumerate(model.v_names) if any(part in name for part in HELPING)]
    rows = []
    for t in DT * np.arange(round(DURATION / DT)):
        v = model.zero_velocity()
        v[legs] = SWING * np.pi / DURATION * np.sin(2 * np.pi * t / DURATION) * np.array([1, -1])
        if helps:
            A = model.centroidal_momentum_matrix(q)[:3]
            v[others] = -np.linalg.pinv(A[:, others]) @ A @ v
        q = model.integrate(q, DT * v)
        rows.append(q[7:])
    return np.array(rows)


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("human"), base="free").with_drives({"*": (4000.0, 60.0)})
    q0 = model.integrate(model.neutral(), [sum(BENT[x] for x in BENT if x in name) for name in model.v_names])
    v0 = np.concatenate([[3.0, 0.0, 0.5 * 9.81 * DURATION], np.zeros(model.nv - 3)])  # [m/s]
    for helps, arms in ((False, "rest"), (True, "swing")):
        targets = plan(model, q0, helps)
        run = vt.simulate(model, q0, v0, duration=DURATION, dt=DT, control=vt.Control(targets=targets))
        turned = np.linalg.norm([model.difference(q0, q)[3:6] for q in run.q], axis=1).max()
        off = np.abs(run.q[1:, 7:] - targets).max()
        print(f"arms {arms}: trunk turns by {np.degrees(turned):.2f}, joints follow to {np.degrees(off):.1f} degrees")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
