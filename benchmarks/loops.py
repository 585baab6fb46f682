"""Steps with closed loops: four-bars side by side, and scissor lifts, by their number, beside MuJoCo.

    python benchmarks/loops.py [--smoke]

A four-bar has three links and a pin, which is two constraints. vitree closes it to round-off. MuJoCo's ``connect`` is
soft. Times are microseconds a step, the least of several repeats; the last column is the exponent with which the time
grows from the row before.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import peers

import vitree as vt

sys.path.append(str(Path(__file__).parents[1] / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms

DT = 1e-3
METHODS = ("linear-time", "midpoint", "rk4")


def four_bars(count: int) -> vt.Model:
    """Loops that share nothing: bars of 0.5, 1 and 0.5 m that turn about y."""
    tree = vt.Tree(f"{count} four-bars")
    for k in range(count):
        side = vt.ty(0.2 * k)
        first = tree.world.add(side, vt.ry(f"a{k}"),
                               vt.body(f"left{k}", 1.0, com=(0, 0, 0.25), inertia=(0.02, 0.02, 1e-3)))  # fmt: skip
        second = first.add(vt.tz(0.5), vt.ry(f"b{k}"),
                           vt.body(f"top{k}", 1.0, com=(0.5, 0, 0), inertia=(1e-3, 0.08, 0.08)))  # fmt: skip
        second.add(vt.tx(1.0), vt.ry(f"c{k}"), vt.body(f"right{k}", 1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 1e-3)),
                   vt.tz(-0.5), vt.frame(f"end{k}"))  # fmt: skip
        tree.world.add(side, vt.tx(1.0), vt.frame(f"foot{k}"))
        for direction in ((1, 0, 0), (0, 0, 1)):
            tree.constrain(vt.PointConstraint(f"end{k}", f"foot{k}", direction))
    return tree.compile()


def mujoco_four_bars(count: int, steps: int, repeats: int) -> float:
    """Microseconds of a step of the same in MuJoCo; NaN without MuJoCo."""
    try:
        import mujoco
    except ImportError:
        return np.nan
    bodies, pins = [], []
    for k in range(count):
        bodies.append(f"""
            <body pos="0 {0.2 * k} 0"><joint axis="0 1 0"/>
              <inertial pos="0 0 .25" mass="1" diaginertia=".02 .02 .001"/>
              <body pos="0 0 .5"><joint axis="0 1 0"/>
                <inertial pos=".5 0 0" mass="1" diaginertia=".001 .08 .08"/>
                <body name="right{k}" pos="1 0 0"><joint axis="0 1 0"/>
                  <inertial pos="0 0 -.25" mass="1" diaginertia=".02 .02 .001"/></body></body></body>""")
        pins.append(f'<connect body1="right{k}" anchor="0 0 -.5"/>')
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}"/><worldbody>{"".join(bodies)}</worldbody>'
        f'<equality>{"".join(pins)}</equality></mujoco>')  # fmt: skip
    data, least = mujoco.MjData(model), np.inf
    for _ in range(repeats):
        mujoco.mj_resetData(model, data)
        data.qvel[:] = starts(count)
        mujoco.mj_step(model, data, 20)
        began = time.perf_counter()
        mujoco.mj_step(model, data, steps)
        least = min(least, time.perf_counter() - began)
    return 1e6 * least / steps


def starts(count: int) -> np.ndarray:
    """Velocities at which the loops stay closed."""
    return (np.random.default_rng(0).uniform(-1, 1, (count, 1)) * [1, -1, 1]).ravel()


def step_time(model, q, v, method: str, steps: int, repeats: int) -> float:
    """Microseconds of a step inside ``simulate``."""
    runs = [vt.simulate(model, q, v, duration=steps * DT, dt=DT, method=method,
                        record_every=steps) for _ in range(repeats)]
    return 1e6 * min(run.seconds for run in runs) / steps


def table(title: str, counts, time_of, others=()) -> None:
    print(f"\n{title}; us a step")
    print(f"{'':6s}" + "".join(f"{name:>20s}" for name in (*METHODS, *others)))
    before = None
    for count in counts:
        row = time_of(count)
        cells = []
        for k, value in enumerate(row):
            text = f"{value:.2f}"
            if k >= len(METHODS):
                text += f" ({row[0] / value:.2f})"
            elif before is not None:
                text += f" ({np.log(value / before[1][k]) / np.log(count / before[0]):.2f})"
            cells.append(f"{text:>20s}")
        print(f"{count:6d}" + "".join(cells), flush=True)
        before = count, row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    print(peers.machine())
    repeats = 1 if smoke else 5

    def of_bars(count):
        steps = 10 if smoke else max(20, 6000 // count)
        model = four_bars(count)
        own = [step_time(model, np.zeros(model.nq), starts(count), method, steps, repeats) for method in METHODS]
        return [*own, mujoco_four_bars(count, steps, repeats)]

    def of_scissors(count):
        model, q = mechanisms.scissor(count)
        steps = 5 if smoke else max(100, 1000 // count)
        return [step_time(model, q, np.zeros(model.nv), method, steps, repeats) for method in METHODS]

    table("four-bars side by side (exponent; of MuJoCo: share of linear-time's time)", (1, 3) if smoke else
          (1, 3, 10, 30, 100, 300), of_bars, ("MuJoCo, soft",))  # fmt: skip
    table("scissor lifts by segments (exponent)", (1, 3) if smoke else (1, 3, 10, 30, 100), of_scissors)


if __name__ == "__main__":
    main()
