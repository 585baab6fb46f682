"""A pole on a cart is kept upright by a motion over the next second that is found anew every millisecond.

    python 41_pole_at_1_khz.py [--save FILE] [--plot FILE] [--view]

The cart goes to and fro between two places, within the force of its motor. The pole is hit three times. Each solution
takes one iteration, from the last one.
"""

import numpy as np

import vitree as vt
from vitree.control import QuadraticCost, Search

PERIOD, DT, HORIZON, FORCE, PLACES = 1e-3, 0.02, 50, 20.0, (-0.5, 0.5)  # [s], [s], steps, [N], [m]
STAY, HITS = 2500, {1200: 0.12, 3700: -0.15, 6200: 0.12}  # periods at a place; [N s] on the tip of the pole, by periods


def main() -> vt.Trajectory:
    tree = vt.Tree("pole on a cart")
    cart = tree.world.add(vt.tx("rail", damping=0.5), vt.body("cart", 1.0))
    cart.add(vt.ry("pivot"), vt.tz(0.5), vt.body("pole", 0.3, (0.01, 0.01, 1e-4)), vt.tz(0.5), vt.frame("tip"))
    model = tree.compile()
    cost = QuadraticCost([0.0, 0.0], Q=DT * np.array([8.0, 4.0, 0.1, 0.1]), R=[DT * 2e-3], Q_end=[20.0, 20.0, 2.0, 2.0])
    search = Search(model, duration=HORIZON * DT, dt=DT, costs=cost, actuators=["rail"], limits=FORCE)
    sim, took = vt.Simulation(model, [PLACES[0], 0.05], dt=PERIOD, record_every=1), []
    search.solve(sim.q)
    for k in range(3 * STAY):
        goal = np.array([PLACES[k // STAY % 2], 0.0])
        plan = search.solve(sim.q, sim.v, goal=goal, max_iterations=1)
        took.append(plan.seconds)
        if k in HITS:
            sim.push("tip", [HITS[k], 0.0, 0.0])
        sim.step(control=plan.torque[0])
    run = sim.trajectory
    reached = np.abs(run.q[STAY::STAY, 0] - np.array([PLACES[k % 2] for k in range(3)]))
    print(f"the pole leans by at most {np.abs(run.q[:, 1]).max():.2f} rad, and ends at {run.q[-1, 1]:.1e} rad")
    print(f"after each 2.5 s the cart is {np.round(reached, 3)} m from its place")
    print(f"a solution takes {1e3 * np.median(took):.2f} ms in the median")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
