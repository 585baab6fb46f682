"""Recorded runs, and the windows that they are cut into."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import numbers_of, of_kind, real, several
from vitree.errors import InputError
from vitree.memory import require_memory
from vitree.model.model import Model
from vitree.results.recording import Recording

#: What may drive a run.
DRIVING = ("torque", "inputs", "targets")
#: A record is on the grid of the steps within this share of a step.
ON_GRID = 1e-4


@dataclass(frozen=True, eq=False)
class Measurement:
    """A recorded run of a robot: what was measured, and what drove it.

    Parameters
    ----------
    t : (m,) array [s]
        Times of the records, increasing; whole numbers of steps apart.
    q : (m, nq) array [m or rad]
    v : (m, nv) array, optional [m/s or rad/s]
    torque : array, optional [N or N m]
        Joint forces: (nv,) all the time, or (m - 1, nv) with a row from each record to the next, or (steps, nv) with a
        row for each step.
    inputs : array, optional [units as the loads take them]
        Values of ``model.input_names``: (nu,), (m - 1, nu) or (steps, nu).
    targets : array, optional [m or rad]
        Targets of the k ``model.drives``: (k,), (m - 1, k) or (steps, k).
    """

    t: ArrayLike
    q: ArrayLike
    v: ArrayLike | None = None
    torque: ArrayLike | None = None
    inputs: ArrayLike | None = None
    targets: ArrayLike | None = None

    def resampled(self, model: Model, dt: float) -> Measurement:
        """Return this run with records each dt [s], as of instruments whose times jitter.

        Configurations are interpolated along geodesics, velocities linearly, and what drove the run is averaged over
        each new interval. The times begin at zero, and what does not fill an interval at the end is left out.

        Parameters
        ----------
        model : Model
            Whose run it is.
        dt : float [s]
            The new interval.

        Raises
        ------
        InputError
            If an array is wrong, or the run is shorter than two intervals.
        """
        of_kind(model, Model, "model", "a vitree Model")
        if not 0 < (step := real(dt)) < np.inf:
            raise InputError("dt", dt, "must be a positive number of seconds")
        t = checked_times(self.t, "t")
        count = int(min((t[-1] - t[0]) / step * (1 + 1e-12), 1e15))
        if count < 2:
            raise InputError("dt", dt, f"must be at most half of the {t[-1] - t[0]:g} s of the run")
        require_memory("the new records", 40.0 * count * (model.nq + model.nv), "give a longer dt")
        q, v = _states(model, self, t, "run")
        times = t[0] + step * np.arange(count + 1)
        below = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        share = np.clip((times - t[below]) / (t[below + 1] - t[below]), 0.0, 1.0)
        moves = model.difference(q[below], q[below + 1])
        changed: dict[str, np.ndarray | None] = {
            "q": model.integrate(q[below], share[:, None] * moves),
            "v": None if v is None else v[below] + share[:, None] * (v[below + 1] - v[below]),
        }
        for name, size in _sizes(model).items():
            if (value := getattr(self, name)) is not None:
                rows = numbers_of(value, name)
                if rows.shape not in ((size,), (len(t) - 1, size)) or not np.isfinite(rows).all():
                    raise InputError(
                        f"{name} has shape {rows.shape}; to be resampled it must be finite, {(size,)} all the time, or "
                        f"{(len(t) - 1, size)} with a row from each record to the next"
                    )
                rows = np.broadcast_to(rows, (len(t) - 1, size))
                total = np.concatenate((np.zeros((1, size)), np.cumsum(rows * np.diff(t)[:, None], axis=0)))
                at = total[below] + share[:, None] * (total[below + 1] - total[below])
                changed[name] = np.diff(at, axis=0) / step
        return Measurement(step * np.arange(count + 1), **changed)  # type: ignore[arg-type]  # q is there


@dataclass(frozen=True, eq=False)
class Checked:
    """A run whose arrays have been checked; ``at`` is (m,) int, the step of each record."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    at: np.ndarray
    driving: dict[str, np.ndarray]


def checked_runs(model: Model, runs: object, dt: float | None) -> tuple[tuple[Checked, ...], float]:
    """Return runs with checked arrays, and the step [s].

    Raises an InputError if an array is wrong; the text says which.
    """
    given = (runs,) if isinstance(runs, Measurement | Recording) else several(runs, "runs", "Measurements")
    if not given:
        raise InputError("runs is empty; give at least one vt.Measurement")
    raw: list[tuple[str, Measurement | Recording, np.ndarray]] = []
    for k, run in enumerate(given):
        if not isinstance(run, Measurement | Recording):
            raise InputError(f"runs[{k}] is {type(run).__name__}; it must be a vt.Measurement, or a Trajectory")
        if isinstance(run, Recording) and run.settings.get("driven"):
            raise InputError(
                f"runs[{k}] is a {type(run).__name__} that something drove (or a Simulation's), and its drive would be "
                "left out: give vt.Measurement(run.t, run.q, run.v, torque=...), with inputs= or targets= likewise; "
                "runs under wrenches, pushes or prescribed motion are not for identify()"
            )
        t = checked_times(run.t, f"runs[{k}].t")
        raw.append((f"runs[{k}]", run, t))
    step = min(float(np.diff(t).min()) for _, _, t in raw) if dt is None else dt
    found = tuple(_checked(model, name, run, t, step) for name, run, t in raw)
    if len({run.v is None for run in found}) > 1:
        raise InputError("some runs have v and some have none; give it for all, or for none")
    return found, step


def checked_times(t: ArrayLike, name: str) -> np.ndarray:
    """Return the times (m,) [s] of a run; raise an InputError if they do not increase."""
    found = numbers_of(t, name)
    if found.ndim != 1 or len(found) < 3 or not np.isfinite(found).all() or not (np.diff(found) > 0).all():
        raise InputError(f"{name} must be at least 3 finite times, (m,), each later than the one before")
    return found


def _sizes(model: Model) -> dict[str, int]:
    return {"torque": model.nv, "inputs": len(model.input_names), "targets": len(model.drives)}


def _states(
    model: Model, run: Measurement | Recording, t: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what was measured, q (m, nq) and v (m, nv) or None; raise an InputError if it is wrong."""
    arrays: dict[str, np.ndarray | None] = {}
    for what, size in (("q", model.nq), ("v", model.nv)):
        value = getattr(run, what)
        arrays[what] = array = None if value is None else numbers_of(value, f"{name}.{what}")
        if array is not None and array.shape != (len(t), size):
            raise InputError(f"{name}.{what} has shape {array.shape}; it must be {(len(t), size)}")
        if array is not None and not np.isfinite(array).all():
            raise InputError(f"{name}.{what} must be finite; it contains NaN or infinity. Leave these records out")
    if arrays["q"] is None:
        raise InputError(f"{name}.q is missing")
    q = np.array([model.validate_configuration(row, f"{name}.q[{k}]") for k, row in enumerate(arrays["q"])])
    return q, arrays["v"]


def _checked(model: Model, name: str, run: Measurement | Recording, t: np.ndarray, dt: float) -> Checked:
    place = (t - t[0]) / dt
    at = np.rint(place).astype(int)
    if np.abs(place - at).max() > ON_GRID * max(1.0, 1e-9 * abs(float(t[-1])) / dt) or (np.diff(at) < 1).any():
        raise InputError(
            f"{name}.t: its times are not whole numbers of steps apart, dt={dt:g} s; give a dt= that divides them, or "
            "the run with even times: run.resampled(model, dt)"
        )
    q, v = _states(model, run, t, name)
    driving, steps = {}, int(at[-1])
    for what, size in _sizes(model).items():
        value = getattr(run, what, None) if isinstance(run, Measurement) else None
        if value is None:
            continue
        array = numbers_of(value, f"{name}.{what}")
        shapes = ((size,), (len(t) - 1, size), (steps, size))
        if array.shape not in shapes or not np.isfinite(array).all():
            raise InputError(
                f"{name}.{what} has shape {array.shape}; it must be finite, {shapes[0]} all the time, {shapes[1]} with "
                f"a row from each record to the next, or {shapes[2]} with a row for each step"
            )
        if array.ndim == 2 and len(array) != steps:
            array = np.repeat(array, np.diff(at), axis=0)
        driving[what] = np.broadcast_to(array, (steps, size))
    return Checked(t, q, v, at, driving)


class Windows:
    """Runs that are cut into windows, each with its own initial state.

    A record is in one window. Arrays have K columns, the most records of a window; ``there`` (n, K) says which are.

    Attributes
    ----------
    q : (n, K, nq), v : (n, K, nv) or None
        What was measured.
    row : (n, K) array of int
        Which recorded row of a rollout is a record's.
    steps, every : int
        Of the rollout.
    t : (n,) array [s]
        Where windows start.
    run : (n,) array of int
        Which run a window is of.
    driving : dict of str to (n, steps, k) array
    """

    def __init__(self, runs: Iterable[Checked], length: float | None, dt: float):
        cut: list[tuple[Checked, int, int]] = []
        runs = tuple(runs)
        for run in runs:
            m = len(run.t)
            most = m if length is None else 1 + round(length / ((run.t[-1] - run.t[0]) / (m - 1)))
            edges = np.linspace(0, m, max(1, math.ceil(m / most)) + 1).round().astype(int)
            cut += [(run, a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        n, K = len(cut), max(b - a for _, a, b in cut)
        self.there = np.zeros((n, K), bool)
        offset = np.zeros((n, K), int)
        self.q = np.empty((n, K, runs[0].q.shape[1]))
        has = runs[0].v is not None
        self.v = np.empty((n, K, runs[0].v.shape[1])) if runs[0].v is not None else None
        self.t = np.array([run.t[a] for run, a, _ in cut])
        self.run = np.array([next(k for k, one in enumerate(runs) if one is run) for run, _, _ in cut])
        for k, (run, a, b) in enumerate(cut):
            take = np.minimum(np.arange(a, a + K), b - 1)  # the last again where there are fewer
            self.there[k, : b - a] = True
            offset[k] = run.at[take] - run.at[a]
            self.q[k] = run.q[take]
            if has and self.v is not None and run.v is not None:
                self.v[k] = run.v[take]
        self.steps = int(offset.max())
        self.every = int(np.gcd.reduce(offset.ravel()))
        self.row, self.seconds, self.dt = offset // self.every, offset * dt, dt
        self.least = int(self.there.sum(1).min())
        self.driving: dict[str, np.ndarray] = {}
        for name in {name for run in runs for name in run.driving}:
            size = next(run.driving[name].shape[1] for run in runs if name in run.driving)
            rows = np.zeros((n, self.steps, size))
            for k, (run, a, _) in enumerate(cut):
                if name in run.driving:
                    part = run.driving[name][run.at[a] : run.at[a] + self.steps]
                    rows[k, : len(part)] = part
            self.driving[name] = rows

    def __len__(self) -> int:
        return len(self.t)
