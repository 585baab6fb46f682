"""What a run keeps of what drove it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from vitree.errors import CallableError
from vitree.integrators.base import Records
from vitree.model.model import Model
from vitree.results.driven import Driven, at_records


def driven_of(integrator: Any, records: Records, velocities: Callable[[], np.ndarray], dt: float) -> Driven | None:
    """Return what drove the run of an integrator, worked out when it is first asked for; None of vehicles.

    Parameters
    ----------
    integrator : Integrator
    records : Records
    velocities : callable
        Returns those of the records, (n, nv).
    dt : float [s]
        The longest step.
    """
    model = integrator.model
    if not isinstance(model, Model):
        return None
    kept = list(records.driven)
    parts = {
        name: _part(given, size, place, kept, records, velocities, dt, integrator.asks_midway)
        for name, given, size, place in (
            ("torque", integrator.torque, model.nv, slice(1, 1 + model.nv)),
            ("inputs", integrator.inputs, len(model.input_names), slice(1 + model.nv, None)),
        )
    }
    motion = integrator.motion
    moves = (lambda: motion.accelerations(records.t, velocities())) if motion.names else None
    return Driven(len(records.t), **parts, accelerations=moves)


def _part(given: Any, size: int, place: slice, kept: list, records: Records, velocities: Callable, dt: float,
          midway: bool) -> Any:  # fmt: skip
    if callable(given) and not midway:
        return partial(_asked, given, records, velocities, size)
    if kept:
        return partial(_kept, kept, place, records.t, dt, callable(given))
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return partial(_of_rows, given, records.t, dt)
    return None if given is None or callable(given) or not size else np.array(given, dtype=float)


def _asked(function: Callable, records: Records, velocities: Callable, size: int) -> np.ndarray:
    """The values of a function at the records; NaN where it raises an error, as at the end of a run that it stopped."""
    rows = np.full((len(records.t), size), np.nan)
    for row, t, q, v in zip(rows, records.t, records.q, velocities(), strict=True):
        with contextlib.suppress(CallableError):
            row[:] = function(float(t), q.copy(), v.copy())
    return rows


def _kept(kept: list, place: slice, t: np.ndarray, dt: float, smooth: bool) -> np.ndarray:
    rows = np.concatenate(kept)
    return at_records(t, np.column_stack([rows[:, 0], rows[:, place]]), dt, smooth)


def _of_rows(given: np.ndarray, t: np.ndarray, dt: float) -> np.ndarray:
    """Of methods that keep nothing: rows of inputs by the number of the step that led to each record."""
    led = np.clip(np.round((t - t[0]) / dt).astype(int) - 1, 0, len(given) - 1)[1:]
    return at_records(t, np.column_stack([np.arange(1, len(t)), given[led]]), dt)


def wrenches_told(wrenches: Mapping[str, Any] | None, axes: str, pushes: Iterable[Any]) -> dict[str, Any]:
    """Return what acts beside the model's loads, as settings of the run."""
    found: dict[str, Any] = {}
    if wrenches:
        found["wrenches"] = {frame: np.asarray(w, dtype=float).ravel().tolist() for frame, w in wrenches.items()}
        found["wrench_axes"] = axes
    if pushes := [{"kind": type(push).__name__, **asdict(push)} for push in pushes]:
        found["pushes"] = pushes
    return found
