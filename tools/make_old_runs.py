"""Write tests/data/run-*.npz: a small run, saved by the code of each older version of vitree.

    python tools/make_old_runs.py

Needs the history of the repository.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import types
from dataclasses import fields

import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
#: Name of the file, and the commit whose Trajectory.save writes it.
VERSIONS = {
    "format1": "34b1c4c",
    "format2-first": "8da85d4",  # without checkpoint and monitors
    "format2": "66660d6",
}


def values() -> dict:
    """Return the values of the run; tests/results/test_export.py expects these numbers."""
    n, nq, nv, m = 3, 4, 3, 1
    arrays = {
        "t": (n,), "q": (n, nq), "v": (n, nv), "p": (n, nv), "kinetic": (n,), "potential": (n,), "momentum": (n, 6),
        "iterations": (n,), "residual": (n,), "constraint": (n, m), "multipliers": (n, m),
    }  # fmt: skip
    found = {name: np.arange(np.prod(shape)).reshape(shape) / (3 + k) for k, (name, shape) in enumerate(arrays.items())}
    found["iterations"] = np.arange(n)
    return found | {
        "model_name": "ball", "joint_names": ("hip",), "q_names": ("hip.qx", "hip.qy", "hip.qz", "hip.qw"),
        "v_names": ("hip.wx", "hip.wy", "hip.wz"), "constraint_names": ("rod",), "method": "linear-time",
        "settings": {"dt": 0.1, "solver": "auto"}, "iterations_total": 3, "iterations_max": 2, "steps": 2,
        "seconds": 0.25, "monitors": {"t": np.array([0.1, 0.2]), "energy": np.array([1.0, 2.0])},
        "checkpoint": np.arange(5, dtype=np.uint8),
    }  # fmt: skip


def main() -> None:
    for name, commit in VERSIONS.items():
        text = subprocess.run(["git", "-C", ROOT, "show", f"{commit}:vitree/trajectory.py"],
                              capture_output=True, text=True, check=True).stdout  # fmt: skip
        module = sys.modules["trajectory"] = types.ModuleType("trajectory")  # dataclasses look for the module there
        exec(compile(text, f"{commit}/trajectory.py", "exec"), module.__dict__)
        known = {field.name for field in fields(module.Trajectory)}
        run = module.Trajectory(**{key: value for key, value in values().items() if key in known})
        print(run.save(ROOT / "tests" / "data" / f"run-{name}.npz"))


if __name__ == "__main__":
    main()
