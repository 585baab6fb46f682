"""A pole is balanced on a cart by a linear-quadratic regulator, made of differences of simulated steps.

    python 15_balancing.py [--save FILE] [--plot FILE] [--view]

The simulation is put near the upright state, advanced over one period of the controller, and read. Differences of these
are the matrices A and B of the sampled system. SciPy's Riccati solver makes the gains of them. A loop then has
a force every 20 ms, which acts over 20 steps. An impulse on the pole's tip at 3 s tests it.
"""

import numpy as np
from scipy.linalg import solve_discrete_are

import vitree as vt

STEPS, SMALL = 20, 1e-5


def main() -> vt.Trajectory:
    tree = vt.Tree("pole on a cart")
    cart = tree.world.add(vt.tx("rail", damping=0.5), vt.body("cart", 1.0))
    cart.add(vt.ry("pivot"), vt.tz(0.5), vt.body("pole", 0.3, (0.01, 0.01, 1e-4)), vt.tz(0.5), vt.frame("tip"))
    model = tree.compile()
    impulse = vt.Impulse("tip", (0.2, 0.0, 0.0), at=3.0)  # [N s]
    sim = vt.Simulation(model, dt=1e-3, record_every=STEPS, wrenches=[impulse])

    def period(z):
        """The state (q, v) a period after the state z[:4] with the force z[4]."""
        sim.reset(z[:2], z[2:4])
        sim.step(STEPS, control=[z[4], 0.0])
        return np.concatenate((sim.q, sim.v))

    A, B = np.split(np.transpose([period(e) - period(-e) for e in SMALL * np.eye(5)]) / (2 * SMALL), [4], axis=1)
    P = solve_discrete_are(A, B, np.diag([10.0, 10.0, 1.0, 1.0]), [[0.1]])
    K = np.linalg.solve(0.1 + B.T @ P @ B, B.T @ P @ A)

    sim.reset([0.0, 0.3], [0.0, 0.0])  # the pole leans by 0.3 rad
    while sim.steps < 6000:
        force = (-K @ np.concatenate((sim.q, sim.v)))[0]
        sim.step(STEPS, control=[force, 0.0])
    run = sim.trajectory
    for time, (x, angle) in zip(run.t[::25], run.q[::25], strict=True):
        print(f"t = {time:3.1f} s: cart at {x:6.3f} m, pole leans by {angle:6.3f} rad")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
