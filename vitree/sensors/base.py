"""Sensor: the base of the sensors; when they read, and what is wrong with their readings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, real, shown, whole
from vitree.errors import InputError
from vitree.model.system import System
from vitree.results.recording import Recording
from vitree.sensors.acting import Acting
from vitree.sensors.course import Course

#: What is too large for a double is infinite, and refused where it is a reading.
quiet = np.errstate(over="ignore", invalid="ignore")
#: Most readings of one trajectory.
MOST = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Sensor(ABC):
    """The base of the sensors: they never change, and hold no state.

    Parameters
    ----------
    rate : float, optional [1/s]
        Readings a second; one at each record if not given.
    delay : float [s]
        Time from the state to the reading: the reading at t is of t - delay.
    bias, noise : float or (n,) array
        What is added to each entry of a reading, and the standard deviation of what varies from reading to reading, in
        units as of the readings.
    seed : int, optional
        Of NumPy's generator of the noise: readings repeat bit for bit. 0 if not given; only with noise.

    Raises
    ------
    InputError
        If an argument is wrong.
    """

    rate: float | None = None
    delay: float = 0.0
    bias: ArrayLike = 0.0
    noise: ArrayLike = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            if not 0 < real(self.rate) < np.inf:
                raise InputError("rate", self.rate, "must be a positive number of readings a second [1/s]")
            object.__setattr__(self, "rate", real(self.rate))
        if not 0 <= real(self.delay) < np.inf:
            raise InputError("delay", self.delay, "must be a number of seconds, zero or more")
        object.__setattr__(self, "delay", real(self.delay))
        for name in ("bias", "noise"):
            object.__setattr__(self, name, self._errors(name, getattr(self, name)))
        if self.seed is None:
            return
        seed = whole(self.seed)
        if seed is None or seed < 0:
            raise InputError("seed", self.seed, "must be a whole number, zero or more")
        if not np.any(self.noise):
            raise InputError(
                "seed", self.seed,
                f"does nothing: this {type(self).__name__} has no noise; give noise= too, or leave seed= out"
            )  # fmt: skip
        object.__setattr__(self, "seed", seed)

    def _errors(self, name: str, value: object) -> float | tuple[float, ...]:
        """Bias or noise as numbers; raise an InputError that says what they must be."""
        found = numbers_of_errors(name, value)
        if name == "noise" and np.min(found, initial=0.0) < 0:
            raise InputError(name, value, f"is {shown(value)}; a standard deviation is zero or more")
        return found

    @abstractmethod
    def read(self, trajectory: Recording, model: System | None = None) -> object:
        """Return the readings of a trajectory."""

    @abstractmethod
    def sample(self, model: System, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None) -> object:
        """Return the exact reading of one state, without delay, bias and noise."""

    def _taken(self, course: Course) -> tuple[np.ndarray, tuple[str, ...]]:
        """Times of the states that are read, and a sentence if some of them lie between records.

        A time next to that of a record is that of the record.
        """
        t = course.t
        if self.rate is None:
            return t.copy(), ()
        count = float(t[-1] - t[0]) * self.rate
        if not count < MOST:
            raise InputError(
                "rate", self.rate,
                f"/s would be {count:.3g} readings of {t[-1] - t[0]:.6g} s, and {MOST} are the most; give a lower one"
            )
        taken = t[0] + np.arange(int(count * (1 + 1e-12) + 1e-9) + 1) / self.rate
        taken = np.minimum(taken, t[-1])
        places = [course.place(x) for x in taken.tolist()]
        between = sum(1 for _, share in places if share)
        taken = np.array([x if share else t[k] for x, (k, share) in zip(taken, places, strict=True)])
        if not between:
            return taken, ()
        spacing = float(np.diff(t).max())
        return taken, (
            f"{between} of {len(taken)} readings lie between records, which are up to {spacing:.6g} s apart, and are "
            "interpolated; record more steps, or read at the records, to have the states of the run",
        )

    def _between(self, acting: Acting, t: float, read: Callable[..., np.ndarray]) -> np.ndarray:
        """Return what ``read(acting, acts, q, v)`` does at a time.

        It is the mean of the records before and after, weighted by time, if contacts can act between them: their forces
        are known at records.
        """
        course = acting.course
        k, share = course.place(t)
        if not share:
            return read(acting, acting.at_record(k), course.q[k], course.v[k])
        if not acting.touches:
            q, v = course.at(t)
            return read(acting, acting.at(t, q, v), q, v)
        ends = [read(acting, acting.at_record(j), course.q[j], course.v[j]) for j in (k, k + 1)]
        return (1 - share) * ends[0] + share * ends[1]

    def _added(self, count: int, size: int) -> np.ndarray:
        """Bias and noise of so many readings (count, size); those of fewer are the first of them."""
        drawn = np.random.default_rng(self.seed or 0).standard_normal((count, size)) if np.any(self.noise) else 0.0
        return np.broadcast_to(np.asarray(self.bias) + np.asarray(self.noise) * drawn, (count, size))


def require_finite(*readings: np.ndarray) -> None:
    """Raise an InputError if readings are too large for a double."""
    if not all(np.isfinite(x).all() for x in readings):
        raise InputError(
            "readings are too large for a double: states of the trajectory, bias or noise are; give smaller ones"
        )


def numbers_of_errors(name: str, value: object) -> float | tuple[float, ...]:
    """Return a finite number, or a row of them as a tuple; raise an InputError for all else."""
    try:
        x = as_numbers(value)
    except TypeError as error:
        raise InputError(name, value, f"has {error}; it must be a number, or a row of numbers") from None
    if x.ndim > 1 or not np.isfinite(x).all():
        raise InputError(name, value, f"is {shown(value)}; it must be a finite number, or a row of them")
    return tuple(x.tolist()) if x.ndim else float(x)


@dataclass(frozen=True, kw_only=True)
class PairSensor(Sensor):
    """A sensor of two vectors; bias and noise are one number, one for each vector, or six."""

    def _errors(self, name: str, value: object) -> float | tuple[float, ...]:
        found = np.atleast_1d(super()._errors(name, value))
        if len(found) not in (1, 2, 6):
            raise InputError(
                name, value, f"has {len(found)} numbers; it must be one number, two ({self._words}), or six"
            )
        return tuple(found.tolist() if len(found) == 6 else np.repeat(found, 6 // len(found)).tolist())

    @property
    def _words(self) -> str:
        return "one for each vector"
