"""A planar walker of five links takes a step: one leg stands, the other swings, and the step repeats itself mirrored.

    python 26_walker_step.py [--save FILE] [--plot FILE] [--view]

Forces and positions at all nodes are found at once, so that the discrete equations hold at each of them, impact
included. Then a simulation has the planned torques alone, and its contacts with the ground make the same motion. At the
end the legs have swapped their motions. Where the feet are says part of this: only momenta remain there (NaN).
"""

import numpy as np
import stand_ins

import vitree as vt
from vitree.control import ContactPhase, MotionProblem, TorqueCost, VelocityCost, solve

DT, LENGTH = 0.02, 0.35  # [s], of a step [m]
SWAP = {"lean": "lean", "left hip": "right hip", "right hip": "left hip", "left knee": ("right knee", np.nan),
        "right knee": ("left knee", np.nan), "x": ("x", np.nan), "z": ("z", np.nan)}  # fmt: skip


def main() -> vt.Trajectory:
    model, here = stand_ins.planar_walker(), {"left foot": (0, 0, 0)}
    phases = [ContactPhase(4, here | {"right foot": (-LENGTH, 0, 0)}), ContactPhase(24, here),
              ContactPhase(0, here | {"right foot": (LENGTH, 0, 0)})]  # fmt: skip
    first = np.array([-LENGTH / 2, 0.76, 0, -0.35, 0.25, 0.1, 0.25])
    way = np.linspace(0, 1, 29)[:, None] * (first[[0, 1, 2, 5, 6, 3, 4]] + [LENGTH, 0, 0, 0, 0, 0, 0] - first)
    problem = MotionProblem(
        model, dt=DT, phases=phases, periodic=SWAP, guess=first + way, friction=0.5, clearance=0.04, limits=150.0,
        actuators=list(SWAP)[1:5], cost=[TorqueCost(1e-3), VelocityCost(0.2)],
        bounds={"left knee": (0.05, 2), "right knee": (0.05, 2), "lean": (-0.3, 0.3), "z": (0.4, 0.9)})  # fmt: skip
    found = solve(problem)
    plan = found.trajectory
    print(f"{len(found.x)} variables, {found.iterations} iterations, {found.seconds:.1f} s: {found.message}")
    rough = stand_ins.planar_walker("left", "right")
    run = vt.simulate(rough, plan.q[0], p0=plan.p[0], duration=28 * DT, dt=DT, control=plan.controller())
    print(f"at the landing the left foot gets {plan.impulses['left foot'][0].round(2)} N s")
    print(f"simulated with contacts the walker is {np.abs(run.q - plan.q).max():.0e} off the plan")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
