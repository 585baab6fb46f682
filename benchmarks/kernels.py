"""Microseconds per call of the kernels, beside Pinocchio's and MuJoCo's in the same run.

    python benchmarks/kernels.py [--no-cpp] [--smoke]

vitree runs a compiled loop over many states, without Python. Pinocchio's C++ is compiled here from its headers: its
wheel is built with "-O3", and "-march=native" is the fastest on this machine. MuJoCo's rnea is mj_rne alone, after its
position and velocity stages.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers

import vitree as vt
from vitree._core import lanes, scalar, widths


def timings(model: vt.Model, kernels, count: int = peers.STATES) -> dict[str, float]:
    """Microseconds per state of each kernel of one compiled module."""
    rng = np.random.default_rng(0)
    d = rng.uniform(-1, 1, (count, model.nv))
    q = np.array([model.integrate(model.neutral(), x) for x in d])
    v, a = rng.uniform(-1, 1, (2, count, model.nv))
    vector, matrix, poses = (np.empty((count, columns)) for columns in (model.nv, model.nv**2, 12 * model.nbody))
    core, g = model.core, model.gravity
    calls = {
        "rnea": lambda: kernels.batch_rnea(core, g, q, v, a, vector),
        "aba": lambda: kernels.batch_aba(core, g, q, v, a, vector),
        "crba": lambda: kernels.batch_crba(core, q, matrix),
        "kinematics": lambda: kernels.batch_poses(core, q, poses),
    }
    return {name: peers.best_of(call, count) for name, call in calls.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-cpp", action="store_true", help="leave out Pinocchio from C++ (minutes to compile)")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    print(peers.machine())
    if arguments.smoke:
        arguments.no_cpp, peers.STATES = True, 16
    names = ("rnea", "aba", "crba", "kinematics")
    for robot, (text, free) in peers.robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        rows: dict[str, dict[str, float] | None] = {"vitree": timings(model, scalar())}
        rows["pinocchio, Python"] = peers.pinocchio_python(text, free)
        if not arguments.no_cpp:
            rows["pinocchio, C++ -O3"] = peers.pinocchio_cpp(text, free, ())
            rows["pinocchio, C++ -march=native"] = peers.pinocchio_cpp(text, free, ("-march=native",))
        rows["mujoco, Python"] = peers.mujoco_kernels(text, free)
        rows["vitree again"] = timings(model, scalar())
        for width in widths()[1:]:
            rows[f"vitree, {width} lanes, a state"] = timings(model, lanes(width))
        own = {name: min(rows["vitree"][name], rows["vitree again"][name]) for name in names}
        print(f"\n{robot}: {model.nbody} bodies, {model.nv} degrees of freedom; us per call (vitree's share of it)")
        print(f"{'':32s}" + "".join(f"{name:>18s}" for name in names))
        for label, row in rows.items():
            if row is not None:
                cells = [f"{row[n]:8.2f} ({own[n] / row[n]:4.2f})" if n in row else "-" for n in names]
                print(f"{label:32s}" + "".join(f"{cell:>18s}" for cell in cells))


if __name__ == "__main__":
    main()
