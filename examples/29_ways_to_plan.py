"""Two motions, planned by three ways and two methods: a pole on a cart swings up, and a hand goes to a point.

    python 29_ways_to_plan.py [--save FILE] [--plot FILE] [--view]

iLQR and the projection operator search among forces, the transcription among all states as well. The cost is the same:
the three agree if they find the same motion. The arm is of example-robot-data (extra `robots`)."""

from importlib.util import find_spec

import numpy as np

import vitree as vt
from vitree import control as vc

SOLVER = "ipopt" if find_spec("ipyopt") else "scipy"  # extra `control`; the latter takes longer


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
            Q, hold = np.full(2 * model.nv, 0.1 * dt), -model.passive_force(start)
            R, Q_end = np.full(len(motors or hold), dt * effort), np.repeat([end, 10.0], model.nv)
            costs = [vc.FrameCost(frame, at, weight_end=w) for frame, at, w in places]
            how = dict(duration=time, dt=dt, costs=[vc.QuadraticCost(goal, Q=Q, R=R, Q_end=Q_end), *costs],
                       actuators=motors, method=method, control=hold)  # fmt: skip
            plans = {x: vc.optimize_motion(model, start, search=x, **how) for x in ("ilqr", "projection-newton")}
            aims = [vc.PositionCost(frame, at, weight_end=w) for frame, at, w in places]
            aims += [vc.PostureCost(goal, 0.1, end), vc.MomentumCost(0.1, 10.0), vc.TorqueCost(effort)]
            whole = vc.MotionProblem(model, steps=round(time / dt), dt=dt, start=start, actuators=motors, method=method,
                                     cost=aims, guess=plans["ilqr"].trajectory.q)  # fmt: skip
            for name, plan in (plans | {"transcription": vc.solve(whole, SOLVER)}).items():
                print(f"{model.name:15s} {method:12s} {name:17s} cost {plan.cost:.8f} in {plan.seconds:5.2f} s")
    return plans["projection-newton"].trajectory


if __name__ == "__main__":
    import common

    common.run(main)
