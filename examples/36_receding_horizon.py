"""A quadrotor flies through gates: every 20 ms its motion over the next 0.8 s is found anew, from the last one.

    python 36_receding_horizon.py [--save FILE] [--plot FILE] [--view]

Its goal is a point that moves through the gates and then stays. A gust pushes it on the way.
"""

import numpy as np

import vitree as vt
from vitree.control import QuadraticCost, Search

DT, HORIZON, SPEED, WEIGHT = 0.02, 40, 2.5, 1.2 * 9.81  # [s], steps, [m/s], [N]
GATES = np.array([[0.0, 0.0, 1.0], [3.0, 1.0, 1.5], [6.0, -1.0, 1.0], [9.0, 0.5, 2.0], [11.0, 0.0, 1.5]])  # [m]
WAY = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(GATES, axis=0), axis=1))]  # [m] to each gate


def main() -> vt.Trajectory:
    tree = vt.Tree("quadrotor")
    tree.world.add(vt.free("base"), vt.body("hull", 1.2, (0.008, 0.008, 0.014)))
    tree.load(vt.Wrench("hull", torque=("roll", "pitch", "yaw"), force=(0, 0, "thrust"), axes="local"))
    model = tree.compile()

    def goal(t):
        place = np.column_stack([np.interp(SPEED * t, WAY, axis) for axis in GATES.T])
        return np.concatenate([place, np.tile(model.neutral()[3:], (len(t), 1))], axis=1)

    hover, Q = [0.0, 0.0, 0.0, WEIGHT], DT * np.repeat([20.0, 0.5, 0.02, 2.0], 3)
    cost = QuadraticCost(model.neutral(), Q=Q, R=[0.04, 0.04, 0.04, 4e-4], goal_u=hover)
    limits = np.array([[-0.6, 0.6], [-0.6, 0.6], [-0.2, 0.2], [0.2 * WEIGHT, 2.5 * WEIGHT]])  # [N m], [N]
    search = Search(model, duration=HORIZON * DT, dt=DT, costs=cost, actuators=list(model.input_names), limits=limits)
    sim, took = vt.Simulation(model, goal(np.zeros(1))[0], dt=DT / 5, record_every=1), []
    search.solve(sim.q, control={"inputs": hover})
    for k in range(round((WAY[-1] / SPEED + 1.0) / DT)):
        plan = search.solve(sim.q, sim.v, goal=goal(DT * (k + np.arange(HORIZON + 1))), shift=1, max_iterations=1)
        took.append(1e3 * plan.seconds)
        sim.push("hull", [0.0, 0.12 * (100 <= k < 105), 0.0])  # [N s], a gust
        sim.step(5, control=vt.Control(inputs=plan.inputs[0]))
    off = np.linalg.norm(sim.trajectory.q[:, None, :3] - GATES, axis=2).min(axis=0)
    print(f"it passes the gates {np.round(off, 3)} m off")
    print(f"a plan of {HORIZON} steps takes {np.median(took):.2f} ms in the median")
    return sim.trajectory


if __name__ == "__main__":
    import common

    common.run(main)
