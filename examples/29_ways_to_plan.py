"""Two motions, planned by four searches and two methods: a pole on a cart swings up, and a hand goes to a point.

    python 29_ways_to_plan.py [--save FILE] [--plot FILE] [--view]

DDP and the projection operator search among forces, FDDP and the transcription among all states as well, here from a
straight line to the goal. The problem is the same: they agree if they find the same motion. The arm is of
example-robot-data (extra `robots`)."""

import numpy as np

import vitree as vt
from vitree import control as vc


def problems():
    tree = vt.Tree("pole on a cart")
    cart = tree.world.add(vt.tx("rail", damping=0.5), vt.body("cart", 1.0))
    cart.add(vt.ry("pivot"), vt.tz(0.5), vt.body("pole", 0.3, (0.01, 0.01, 1e-4)))
    yield tree.compile(), [0.0, np.pi], [0.0, 0.0], 2.0, 0.02, ["rail"], 0.01, 10.0, []
    arm = vt.load_urdf(vt.find_robot("panda"), mimic="independent")
    q = [0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.02, 0.02]
    yield arm, q, q, 1.0, 0.05, None, 1e-3, 0.1, [("panda_hand_tcp", [0.3, 0.3, 0.3], 1e4)]


def main() -> vt.Trajectory:
    for model, start, goal, time, dt, motors, effort, end, places in problems():
        for method in ("linear-time", "midpoint"):
            Q, hold = np.full(2 * model.nv, 0.1 * dt), None if motors else -model.passive_force(start)
            R, Q_end = np.full(len(motors or model.v_names), dt * effort), np.repeat([end, 10.0], model.nv)
            costs = [vc.FrameCost(frame, at, weight_end=w) for frame, at, w in places]
            how = dict(duration=time, dt=dt, costs=[vc.QuadraticCost(goal, Q=Q, R=R, Q_end=Q_end), *costs],
                       actuators=motors, method=method, control=hold)  # fmt: skip
            line = model.integrate(np.tile(start, (round(time / dt) + 1, 1)),
                                   np.linspace(0, 1, round(time / dt) + 1)[:, None] * model.difference(start, goal))
            for search, guess in (("ddp", None), ("fddp", line), ("projection", None), ("transcription", line)):
                plan = vc.optimize_motion(model, start, search=search, states=guess, **how)
                print(f"{model.name:15s} {method:12s} {search:13s} cost {plan.cost:.8f} in {plan.seconds:5.2f} s")
    return plan.trajectory


if __name__ == "__main__":
    import common

    common.run(main)
