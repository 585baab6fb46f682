"""A trajectory of made-up numbers."""

from __future__ import annotations

import numpy as np

from vitree.run.trajectory import Trajectory


def make(n: int = 11, nq: int = 4, nv: int = 3, **changes) -> Trajectory:
    rng = np.random.default_rng(5)
    values = {
        "model_name": "ball \u00e9",
        "joint_names": ("hip",),
        "q_names": tuple(f"hip.{k}" for k in range(nq)),
        "v_names": tuple(f"hip.w{k}" for k in range(nv)),
        "method": "linear-time",
        "settings": {"dt": 0.1, "solver": "auto", "nested": {"tolerance": 1e-9, "none": None}},
        "t": 0.1 * np.arange(n),
        "q": rng.standard_normal((n, nq)),
        "v": rng.standard_normal((n, nv)),
        "p": rng.standard_normal((n, nv)),
        "kinetic": rng.random(n),
        "potential": rng.standard_normal(n),
        "momentum": rng.standard_normal((n, 6)),
        "iterations": rng.integers(0, 5, n),
        "residual": rng.random(n),
        "iterations_total": 31,
        "iterations_max": 4,
        "steps": 10,
        "seconds": 0.1 + 0.2,
        "monitors": {"t": 0.1 * np.arange(1, n), "momentum": rng.random((max(n - 1, 0), 6))},
        "checkpoint": rng.integers(0, 256, 9, np.uint8),
    }
    return Trajectory(**(values | changes))
