"""Microseconds per step of the midpoint integrator on the systems of Johnson & Murphey 2009.

    python benchmarks/tree_systems.py [--smoke]

dt = 0.01 s, all steps in compiled code. The last column is what trep, the authors' package, took for a
step on a like machine.
"""

from __future__ import annotations

import argparse

import numpy as np

import vitree as vt

BOTH = [(1, 0, 0), (0, 0, 1)]


def pendulum(n: int):
    """n point masses on rods of 1 m in a plane, the first rod at 45 degrees, and trep's time."""
    tree = vt.Tree(f"planar pendulum, {n}")
    at = tree.world
    for k in range(n):
        at = at.add(vt.ry(f"joint{k}"), vt.tz(-1.0), vt.body(f"mass{k}", 1.0))
    q = np.zeros(n)
    q[0] = np.pi / 4
    return tree.compile(), q


def closed_chain():
    """The device of Fig. 6: three arms, seven coordinates, four constraints."""
    tree = vt.Tree("closed chain")

    def arm(at, joints):
        """Links given as (joint, distance to the next, [(distance, name, mass or None)])."""
        for joint, reach, places in joints:
            at = at.add(vt.ry(joint))
            for distance, name, mass in places:
                at.add(vt.tz(-distance), vt.body(name, mass) if mass else vt.frame(name))
            at = at.add(vt.tz(-reach))

    arm(tree.world, [("J", 1.0, [(0.5, "I", 1.0)]), ("H", 0.0, [(1.0, "G", 1.0), (2.0, "O2", None)])])
    arm(tree.world.add(vt.tx(-1.5)), [("K", 2.0, [(1.0, "L", 1.0)]), ("M", 0.0, [(0.5, "N", 1.0), (1.0, "O", None)])])
    last = ("E", 0.0, [(0.5, "F", 1.0), (1.0, "G2", None)])
    arm(tree.world.add(vt.tx(1.5)), [("A", 2.0, [(1.0, "B", 1.0)]), ("C", 0.75, [(0.375, "D", 1.0)]), last])
    tree.constrain(vt.point_constraint("G", "G2", BOTH), vt.point_constraint("O", "O2", BOTH))
    model = tree.compile()
    return model, vt.satisfy_constraints(model, [0.6, -0.4, -0.42, 0.70, 0.9, -1.30, 2.10], hold=["J", "H", "A"])


def scissor(segments: int, angle: float = 1.0):
    """The lift of crossed unit links of 1 kg that hangs from a pivot and a slider of 1 kg."""
    tree = vt.Tree(f"scissor lift, {segments} segments")
    slider = tree.world.add(vt.tx("x"), vt.body("slider", 1.0))
    q = [np.cos(angle)]
    start = {}
    for side, at in (("b", slider), ("a", tree.world)):
        before = 0.0
        for k in range(segments):
            at = at.add(vt.ry(f"{side}{k}"))
            at.add(vt.tx(0.5), vt.body(f"{side}_link{k}", 1.0))
            at = at.add(vt.tx(1.0))
            absolute = angle if (side == "a") == (k % 2 == 0) else np.pi - angle
            start[f"{side}{k}"], before = absolute - before, absolute
    tree.constrain(*(vt.point_constraint(f"a_link{k}", f"b_link{k}", BOTH) for k in range(segments)))
    model = tree.compile()
    q = [np.cos(angle) if name == "x" else start[name] for name in model.joint_names]
    return model, np.array(q)


#: microseconds a step of trep on a like machine
TREP = {1: 7.7, 2: 15, 5: 64, 10: 313, 20: 1984, 40: 20825}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    systems = [(*pendulum(n), trep) for n, trep in TREP.items()]
    systems += [(*closed_chain(), 97), (*scissor(5), 247), (*scissor(8), None)]
    print(f"{'system':28s}{'us/step':>9s}{'iterations':>12s}{'constraints':>13s}{'trep us':>10s}{'times':>8s}")
    for model, q0, trep in systems:
        runs = [
            vt.simulate(model, q0, duration=0.1 if smoke else 5.0, dt=0.01, method="midpoint", every=10)
            for _ in range(1 if smoke else 7)
        ]
        us = 1e6 * min(run.seconds / run.steps for run in runs)
        h = np.abs(model.constraint_rows(runs[0].q)[0]).max(initial=0.0)
        extra = f"{trep:10.1f}{trep / us:8.0f}" if trep else ""
        print(f"{model.name:28s}{us:9.2f}{runs[0].iterations_total / runs[0].steps:12.2f}{h:13.1e}{extra}")


if __name__ == "__main__":
    main()
