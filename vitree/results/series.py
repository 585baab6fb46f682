"""Errors of runs over time, against a reference and against conserved quantities."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.model.system import System
from vitree.results.recording import Recording

NAN = math.nan
#: A run has failed where a velocity is above FASTEST [m/s or rad/s]. It has failed above FAST, too, if its kinetic
#: energy is ABSURD times that of another run of the same motion.
FASTEST, FAST, ABSURD = 1e9, 1e3, 1e6
#: Windows in which the band of an energy is looked at: how many there are, and how often the kinetic energy crosses its
#: mean in each, at least. A band is between these shares of the values of a window.
WINDOWS, CROSSINGS, OUTSIDE = (4, 20), 40, 0.05


class Series(NamedTuple):
    """Errors of one run over time, at its recorded times (shared with the reference, if any)."""

    t: np.ndarray  # (n,) [s]
    energy: np.ndarray  # (n,) E - E0 [J]
    error: np.ndarray  # (n,) norm of the difference to the reference [rad, m]; NaN without one


def shared(a: Recording, b: Recording) -> tuple[Recording, Recording]:
    """Return the records of two runs at the times that both have."""
    slack = 1e-9 * max(float(a.t[-1]), float(b.t[-1]))
    k = np.searchsorted(b.t, a.t - slack).clip(max=len(b) - 1)
    here = np.flatnonzero(np.abs(b.t[k] - a.t) <= slack)
    return a[here], b[k[here]]


def distance(model: System, a: Recording, b: Recording) -> np.ndarray:
    """Return the norm of the difference of configurations, record by record."""
    return np.array([np.linalg.norm(model.difference(x, y)) for x, y in zip(a.q, b.q, strict=True)])


def series_against(
    model: System | None, traj: Recording, truth: Recording | None, conservative: bool, until: float = math.inf,
    impacts: bool = False,
) -> Series:  # fmt: skip
    """Return the errors of a run against a reference that is known ``until`` a time [s]; NaN after that.

    The energy is compared with its start if it is conserved. With ``impacts`` its jumps may be off by a record.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if truth is None or model is None:
            unknown = np.full(len(traj), NAN)
            return Series(traj.t, traj.energy - traj.energy[0] if conservative else unknown, unknown)
        traj, truth = shared(traj, truth)
        known = np.where(traj.t < until, 0.0, NAN)
        energy = traj.energy - (traj.energy[0] if conservative else truth.energy)
        if impacts and not conservative:
            energy = beyond_a_record(traj.energy, truth.energy)
        return Series(traj.t, energy if conservative else energy + known, distance(model, truth, traj) + known)


def beyond_a_record(values: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return values (n, ...) less the nearest that exact ones (n, ...) take from a record before to one after."""
    around = np.stack([np.concatenate([exact[:1], exact[:-1]]), exact, np.concatenate([exact[1:], exact[-1:]])])
    found: np.ndarray = values - np.clip(values, around.min(axis=0), around.max(axis=0))
    return found


def sensible(run: Recording, most: float) -> int:
    """Return how many records come before the first that is not finite, or too fast.

    A record above the speed FASTEST is too fast, and so is one above FAST with more kinetic energy than ``most``.
    """
    sound = np.isfinite(np.column_stack((run.q, run.v, run.energy))).all(axis=1)
    speed = np.abs(run.v).max(axis=1, initial=0.0)
    sound &= (speed < FAST) | (speed < FASTEST) & (run.kinetic <= (most or np.inf))
    return len(run) if sound.all() else int(sound.argmin())


class Drift(NamedTuple):
    """How an energy leaves the band in which it oscillates."""

    size: float  # between the bands of the two windows that are farthest apart [J]; positive: the later one is higher
    band: float  # the width of a band, the median of all windows [J]


def drift_beyond_band(kinetic: np.ndarray, energy: np.ndarray, climbs_only: bool = False) -> Drift | None:
    """Return how far energies (n,) [J] move away from their band, for good or for a while.

    The energy of a symplectic method oscillates with the motion. It comes back to its level in the same phases of each
    oscillation, also where slow modulations change the amplitude. So the records are cut into windows of some ten
    oscillations each, counted by crossings of the kinetic energy and its mean, and there is a drift where the bands of
    two windows do not overlap.

    Parameters
    ----------
    kinetic : (n,) array [J]
    energy : (n,) array [J]
        That should oscillate about a constant, or about what falls.
    climbs_only : bool
        Whether it may fall.

    Returns
    -------
    Drift or None
        None if there are too few oscillations to judge, or the bands overlap.
    """
    above = kinetic > kinetic.mean()
    crossings = np.flatnonzero(above[1:] != above[:-1]) + 1
    count = min(len(crossings) // CROSSINGS, WINDOWS[1])
    if count < WINDOWS[0]:
        return None
    parts = np.split(energy, crossings[np.arange(1, count) * len(crossings) // count])
    low, high = np.array([np.quantile(part, (OUTSIDE, 1.0 - OUTSIDE)) for part in parts]).T
    up = float((low[1:] - np.minimum.accumulate(high)[:-1]).max())
    down = 0.0 if climbs_only else float((np.maximum.accumulate(low)[:-1] - high[1:]).max())
    size = up if up >= down else -down
    return Drift(size, float(np.median(high - low))) if max(up, down) > 0.0 else None


def momentum_departure(run: Recording, gravity: ArrayLike, total_mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the departures of angular and linear momentum from their start plus gravity's impulse.

    Parameters
    ----------
    run : Trajectory
    gravity : (3,) array [m/s^2]
        In world axes. Of the angular momentum only the component along gravity counts: gravity changes the others.
    total_mass : float [kg]

    Returns
    -------
    angular, linear : (n,) arrays [kg m^2/s, kg m/s]
    """
    change, gravity = run.momentum - run.momentum[:1], np.asarray(gravity, dtype=float)
    angular, linear = change[:, :3], change[:, 3:]
    if strength := np.linalg.norm(gravity):
        angular = angular @ (gravity / strength)[:, None]
        linear = linear - total_mass * np.outer(run.t - run.t[0], gravity)
    return np.linalg.norm(angular, axis=1), np.linalg.norm(linear, axis=1)
