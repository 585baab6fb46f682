"""An arm learns to push a box from gradients alone, though its hand does not reach the box at first.

    python 44_soft_contact.py [--save FILE] [--plot FILE] [--view]

Where nothing touches, the place of the box does not depend on the torques. With a softness of its contact it does, and
L-BFGS finds torques. Less softness improves them, and then the rigid contact itself.
"""

import numpy as np
from scipy.optimize import minimize

import vitree as vt

STEPS, DT, GOAL, START = 60, 0.02, 0.6, [0.0, -0.4, 0.4]  # steps, [s], place of the box [m]; joints [rad], box [m]


def arm_and_box(softness: float | None) -> vt.Model:
    spring = {} if softness is None else {"stiffness": 5e3, "damping": 50.0, "softness": softness}
    tree = vt.Tree("arm and box", gravity=(0, 0, 0))
    upper = tree.world.add(vt.tz(0.75), vt.ry("shoulder", damping=0.5), vt.tz(-0.4), vt.body("upper", 1.0, (0.02,) * 3))
    upper.add(vt.ry("elbow", damping=0.5), vt.tz(-0.4), vt.body("hand", 0.5, (0.01, 0.01, 1e-3)))
    tree.world.add(vt.tx("rail", damping=2.0), vt.body("box", 1.0, (1e-3, 1e-3, 1e-3)))
    tree.contact(vt.Contact("hand", shapes=vt.Sphere(0.04), **spring))
    tree.contact(vt.Contact("box", shapes=vt.Box((0.1, 0.2, 0.3)), **spring))
    return tree.compile()


def main() -> vt.Trajectory:
    def cost(u: np.ndarray, model: vt.Model) -> tuple[float, np.ndarray]:
        # the missed distance squared [cm^2] with a little effort, and the gradient
        torque = np.column_stack([u.reshape(STEPS, 2), np.zeros(STEPS)])
        runs.append(vt.simulate(model, START, duration=STEPS * DT, dt=DT, control=torque))
        missed, (by_q, by_p) = runs[-1].q[-1, 2] - GOAL, np.zeros((2, STEPS + 1, 3))
        by_q[-1, 2] = 2e4 * missed
        by_torque = runs[-1].gradient(by_q, by_p, control=torque).by_torque[:, :2]
        return 1e4 * missed**2 + 1e-3 * u @ u, by_torque.ravel() + 2e-3 * u

    runs, u, rigid = [], np.full(2 * STEPS, -0.02), arm_and_box(None)
    for softness in (None, 0.2, 0.1, 0.05, None):
        found = minimize(cost, u, (arm_and_box(softness),), "L-BFGS-B", jac=True, options={"maxiter": 25})
        cost(u := found.x, rigid)
        print(f"softness {softness}: {found.nit} iterations; the rigid box ends at {runs[-1].q[-1, 2]:.4f} m")
    return runs[-1]


if __name__ == "__main__":
    import common

    common.run(main)
