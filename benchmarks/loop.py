"""Microseconds of a step in a loop of Python, beside MuJoCo's ``mj_step`` in a loop of Python in the same run.

    python benchmarks/loop.py [--smoke]

The loops take turns, and the least of many turns counts. Each loop gives the robot a torque of its own in each step.
The compiled step is that of ``simulate``, of the same motion. "above" is the loop's time above it, the loop and its
look-up of names included. "held" steps twenty steps at once; "controller" has a ``Controller`` asked every twenty
steps, a function that returns an array that it has. Robots are those of ``steps.py``, and Panda with its fingers.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers
from calls import in_turn

import vitree as vt

DT = 1e-3
#: Steps between two questions of a controller.
PERIOD = 20
METHODS = ("linear-time", "midpoint", "semi-implicit-euler")
COLUMNS = ("compiled", "loop", "above", "mujoco", "share", "held", "controller", "ratio")


def robots() -> dict[str, tuple[str, bool]]:
    """Name -> (URDF text, whether its base is free)."""
    return {"panda": (peers.without_damping(vt.find_robot("panda").read_text()), False)} | peers.robots()


def own_loops(model: vt.Model, v0: np.ndarray, method: str, steps: int) -> dict:
    """The loops of vitree by name; each begins anew."""
    tau = np.zeros(model.nv)
    sim = vt.Simulation(model, None, v0, dt=DT, method=method)
    asked = vt.Simulation(model, None, v0, dt=DT, method=method,
                          control=vt.Controller(lambda t, q, v: tau, PERIOD * DT))  # fmt: skip

    def loop():
        sim.reset()
        for _ in range(steps):
            sim.step(control=tau)

    def held():
        sim.reset()
        for _ in range(steps // PERIOD):
            sim.step(PERIOD)

    def controller():
        asked.reset()
        asked.step(steps)

    def compiled():
        vt.simulate(model, None, v0, duration=steps * DT, dt=DT, method=method, control=tau, record_every=steps)

    return {"loop": loop, "held": held, "controller": controller, "compiled": compiled}


def mujoco_loop(text: str, free: bool, v0: np.ndarray, steps: int):
    """A loop of mj_step, each with a torque."""
    import mujoco

    model = peers.mujoco_model(text, free, DT)
    data, tau = mujoco.MjData(model), np.zeros(model.nv)

    def loop():
        mujoco.mj_resetData(model, data)
        data.qvel[:] = v0
        for _ in range(steps):
            data.qfrc_applied[:] = tau
            mujoco.mj_step(model, data)

    return loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    print(peers.machine())
    steps, repeats = (400, 40) if not smoke else (PERIOD, 1)
    for name, (text, free) in robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        v0 = np.random.default_rng(0).uniform(-1, 1, model.nv)
        print(f"\n{name}: {model.nv} degrees of freedom; us a step")
        print(f"{'':24s}" + "".join(f"{column:>11s}" for column in COLUMNS))
        theirs = mujoco_loop(text, free, v0, steps)
        for method in METHODS:
            loops = own_loops(model, v0, method, steps) | {"mujoco": theirs}
            us = {key: value / steps for key, value in in_turn(loops, repeats, 1e-9).items()}
            cells = (us["compiled"], us["loop"], us["loop"] - us["compiled"], us["mujoco"], us["loop"] / us["mujoco"],
                     us["held"], us["controller"], us["controller"] / us["held"])  # fmt: skip
            print(f"{method:24s}" + "".join(f"{x:11.2f}" for x in cells))


if __name__ == "__main__":
    main()
