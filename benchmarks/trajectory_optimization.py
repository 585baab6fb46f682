"""Trajectory optimisation by vt.control.optimize_motion: the time to the optimum, and what an iteration takes.

    python benchmarks/trajectory_optimization.py [--smoke]

A pole on a cart swings up in two seconds. An acrobot, a double pendulum with one motor at its elbow, does in four. A
Panda takes its hand to a pose in one (the package example-robot-data). "us a step" is the time over the iterations and
over the steps of the motion. trep 1.0.3 takes 7.6 s for a swing-up of a pole on a cart of 1000 steps (recorded on
another machine). The least of several runs counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import peers

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, ShootingSolution, optimize_motion

ROUNDS = 5


def cart_pole(steps: int) -> ShootingSolution:
    tree = vt.Tree("cart-pole")
    cart = tree.world.add(vt.ty("slide"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)))
    cart.add(vt.rx("swing"), vt.body("pole", 0.3, (0.01, 0.01, 0.001), com=(0, 0, 0.5)))
    dt = 2.0 / steps
    cost = QuadraticCost([0.0, 0.0], Q=0.01 * dt * np.array([1, 1, 0.1, 0.1]), R=[0.01 * dt], Q_end=[10, 10, 1, 1])
    return optimize_motion(tree.compile(), [0.0, np.pi], duration=2.0, dt=dt, costs=cost, actuators=["slide"])


def acrobot(steps: int) -> ShootingSolution:
    model, dt = vt.load_urdf(vt.find_robot("double_pendulum")), 4.0 / steps
    weights = dt * np.array([0.1, 0.1, 0.01, 0.01])
    cost = QuadraticCost([np.pi, 0.0], Q=weights, R=[1e-3 * dt], Q_end=[100, 100, 10, 10])
    return optimize_motion(model, duration=4.0, dt=dt, costs=cost, actuators=["hinge2"], limits=20.0)


def panda(steps: int) -> ShootingSolution:
    model, dt = vt.load_urdf(vt.find_robot("panda"), mimic="independent"), 1.0 / steps
    start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.02, 0.02])
    hand = "panda_hand_tcp"
    pose = model.frame_pose(hand, start)
    reach = FrameCost(hand, pose[:3, 3] + [-0.1, 0.3, -0.2], pose[:3, :3], weight=20 * dt, weight_end=1e4,
                  turn_weight=5 * dt, turn_weight_end=1e3)  # fmt: skip
    rest = QuadraticCost(Q=dt * np.r_[np.full(7, 0.1), 1e4, 1e4, np.full(9, 0.1)],
                         R=dt * np.r_[np.full(7, 1e-3), 0.1, 0.1], Q_end=np.repeat([0.0, 100.0], 9))  # fmt: skip
    return optimize_motion(model, start, duration=1.0, dt=dt, costs=[rest, reach], control=-model.passive_force(start))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    cases: list[tuple[Callable[[int], ShootingSolution], int]]
    cases = [(cart_pole, 50)] if smoke else [(cart_pole, 1000), (cart_pole, 100), (acrobot, 400), (panda, 100)]
    print(peers.machine())
    print(f"{'':12s}{'steps':>8s}{'seconds':>10s}{'iterations':>12s}{'us a step':>11s}{'cost':>12s}")
    for case, steps in cases:
        least = np.inf
        for _ in range(1 if smoke else ROUNDS):
            began = time.perf_counter()
            found = case(steps)
            least = min(least, time.perf_counter() - began)
        assert found.success
        count = len(found.costs) - 1
        row = f"{least:10.3f}{count:12d}{1e6 * least / steps / count:11.2f}{found.cost:12.6f}"
        print(f"{case.__name__:12s}{steps:8d}{row}")


if __name__ == "__main__":
    main()
