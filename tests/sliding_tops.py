"""Tops that slide, against their equations solved by SciPy, for tests of scenes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

import vitree as vt
from vitree.scenes.base import Stage


def rotation(x: np.ndarray) -> np.ndarray:
    """The matrix of a quaternion (x, y, z, w)."""
    v, w = x[:3] / np.linalg.norm(x), x[3] / np.linalg.norm(x)
    K = np.array(((0, -v[2], v[1]), (v[2], 0, -v[0]), (-v[1], v[0], 0)))
    return np.eye(3) + 2 * w * K + 2 * K @ K


def axis_errors(stage: Stage, rates: Callable, tenths: int, method: str) -> tuple[list[float], np.ndarray]:
    """The largest errors of the axis at tenths of a second with dt 0.8, 0.4, 0.2 ms, and the last exact state (7,)."""
    start = np.concatenate([stage.q, np.zeros(3), stage.v[3:]])
    times = np.linspace(0, 0.1 * tenths, tenths + 1)
    exact = solve_ivp(rates, (0, times[-1]), start, t_eval=times, method="DOP853", rtol=1e-10, atol=1e-12).y[:7].T
    errors = []
    for dt in (8e-4, 4e-4, 2e-4):
        run = vt.simulate(stage.model, stage.q, stage.v, duration=times[-1], dt=dt, record_every=round(0.1 / dt),
                          method=method)  # fmt: skip
        errors.append(max(np.abs(rotation(a[3:])[:, 2] - rotation(b[3:])[:, 2]).max()
                          for a, b in zip(run.q, exact, strict=True)))  # fmt: skip
    return errors, exact[-1]
