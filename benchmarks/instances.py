"""Microseconds that an instance of a model, an integrator and a run of one step cost.

    python benchmarks/instances.py [--smoke]

"numbers": ``with_parameters`` with another gravity; "masses": with another mass of each link; "instance": with another
mass of one link, and an integrator of that model. "integrator": another one of the same model. "first run":
``simulate`` of one step of a model with another mass of one link; "run": of a model that has run.

``g1``: the humanoid with its shapes on a ground and a drive on each joint. ``scissor``: a lift of twenty segments.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import peers

import vitree as vt

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms

DT = 1e-3
COLUMNS = ("numbers", "masses", "instance", "integrator", "run", "first run")


def models() -> dict[str, tuple[vt.Model, np.ndarray]]:
    """The models by name, and where their runs start."""
    arm, lift = vt.load_urdf(vt.find_robot("ur5")), mechanisms.scissor(20, 0.9)
    humanoid = vt.load_urdf(vt.find_robot("g1"), base="free", ground=vt.Ground(friction=0.7))
    humanoid = humanoid.with_drives({"*": (200.0, 10.0)})
    return {"ur5": (arm, arm.neutral()), "scissor": lift,
            "g1": (humanoid, vt.place_on_ground(humanoid, humanoid.neutral()))}  # fmt: skip


def each_of(made: list, call: Callable) -> float:
    """Median microseconds of a call with each of some things."""
    times = []
    for one in made:
        start = time.perf_counter()
        call(one)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def figures(model: vt.Model, q: np.ndarray, repeats: int) -> dict[str, float]:
    """The microseconds by column."""
    links = dict(zip(model.link_names, model.flat.link_mass, strict=True))
    heaviest, kind = max(links, key=lambda name: links[name]), vt.METHODS["linear-time"]
    kind(model, DT)  # what a model keeps is made by its first integrator
    other = [1.0 + 0.01 * k for k in range(repeats)]
    varied = [model.with_parameters(mass={heaviest: links[heaviest] * x}) for x in other]
    run = lambda model: vt.simulate(model, q, duration=DT, dt=DT)  # noqa: E731
    return {
        "numbers": each_of(other, lambda x: model.with_parameters(gravity=(0.0, 0.0, -x))),
        "masses": each_of(other, lambda x: model.with_parameters(mass={name: x * m for name, m in links.items()})),
        "instance": each_of(
            other, lambda x: kind(model.with_parameters(mass={heaviest: x * links[heaviest]}), DT)),
        "integrator": each_of(other, lambda _: kind(model, DT)),
        "first run": each_of(varied, run),
        "run": each_of(other, lambda _: run(model)),
    }  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few repeats")
    repeats = 3 if parser.parse_args().smoke else 100
    print(peers.machine())
    print(f"| | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for name, (model, q) in models().items():
        found = figures(model, q, repeats if name != "g1" else max(repeats // 5, 3))
        print(f"| {name} | " + " | ".join(f"{found[column]:.0f}" for column in COLUMNS) + " |")


if __name__ == "__main__":
    main()
