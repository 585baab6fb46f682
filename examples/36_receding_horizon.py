"""A quadrotor flies through gates: every 20 ms its motion over the next 0.8 s is found anew, from the last one.

    python 36_receding_horizon.py [--save FILE] [--plot FILE] [--view]

The controller is told where a point is that moves through the gates at a constant speed. One iteration a step is
enough, since the last plan, moved on by a step, is a good guess. A gust of wind pushes the quadrotor between the second
and the third gate.
"""

import time

import numpy as np

import vitree as vt
from vitree.control import QuadraticCost, Search

DT, HORIZON, SPEED, WEIGHT = 0.02, 40, 2.5, 1.2 * 9.81  # [s], steps, [m/s], [N]
GATES = np.array([[0.0, 0.0, 1.0], [3.0, 1.0, 1.5], [6.0, -1.0, 1.0], [9.0, 0.5, 2.0], [11.0, 0.0, 1.5]])  # [m]
GUST = 2.0, 2.1, np.array([0.0, 6.0, 0.0])  # [s], [s], [N]


def main() -> vt.Trajectory:
    tree = vt.Tree("quadrotor")
    tree.world.add(vt.free("base"), vt.body("hull", 1.2, (0.008, 0.008, 0.014)))
    tree.load(vt.Wrench("hull", torque=("roll", "pitch", "yaw"), force=(0, 0, "thrust"), axes="local"))
    model = tree.compile()

    # a point that moves through the gates, and then stays
    way = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(GATES, axis=0), axis=1))]

    def goal(t: np.ndarray) -> np.ndarray:
        rows = np.tile(model.neutral(), (len(t), 1))
        rows[:, :3] = np.column_stack([np.interp(SPEED * t, way, axis) for axis in GATES.T])
        return rows

    state = np.r_[[20.0] * 3, [0.5] * 3, [0.02] * 3, [2.0] * 3]  # position, rotation, and their momenta
    cost = QuadraticCost(goal(np.zeros(1))[0], Q=DT * state, R=DT * np.array([2.0, 2.0, 2.0, 0.02]),
                         goal_u=[0.0, 0.0, 0.0, WEIGHT])  # fmt: skip
    limits = np.array([[-0.6, 0.6], [-0.6, 0.6], [-0.2, 0.2], [0.2 * WEIGHT, 2.5 * WEIGHT]])  # [N m], [N]
    search = Search(model, duration=HORIZON * DT, dt=DT, costs=cost, actuators=list(model.input_names), limits=limits)

    start = goal(np.zeros(1))[0]
    sim = vt.Simulation(model, start, dt=DT / 5, record_every=1)
    guess, took = {"inputs": [0.0, 0.0, 0.0, WEIGHT]}, []
    while sim.t < way[-1] / SPEED + 1.0:
        began = time.perf_counter()
        plan = search.solve(sim.q, sim.v, control=guess, goal=goal(sim.t + DT * np.arange(HORIZON + 1)), shift=1,
                            max_iterations=20 if guess else 1)  # fmt: skip
        took.append(time.perf_counter() - began)
        guess = None
        if GUST[0] <= sim.t < GUST[1]:
            sim.push("hull", GUST[2] * DT)
        sim.step(5, control=vt.Control(inputs=plan.inputs[0]))
    run = sim.trajectory
    for gate, s in zip(GATES, way, strict=True):
        off = np.linalg.norm(run.q[:, :3] - gate, axis=1).min()
        print(f"gate at {gate} m, t = {s / SPEED:4.2f} s: passed {off:.3f} m off")
    print(f"a plan of {HORIZON} steps took {1e3 * np.median(took):.2f} ms in the median")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
