"""The arguments of a run in one object, and the times of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import InputError
from vitree.integrators.base import Torque
from vitree.results.recording import Recording
from vitree.wording import Argument, keyword, named


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunArguments:
    """The arguments of :func:`vitree.simulate` beside the model; the docstring there says what each means.

    ``simulate`` makes it. Whatever passes a run on takes this object and changes it by :meth:`but`, so that a new
    argument is written twice only: in the signature of ``simulate``, and here.
    """

    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    duration: float | None = None
    dt: float | Sequence[float] | np.ndarray | None = None
    method: str | None = None
    p0: ArrayLike | None = None
    q1: ArrayLike | None = None
    t0: float = 0.0
    torque: Torque = None
    effort_limits: bool = False
    wrenches: Mapping[str, ArrayLike] | None = None
    wrench_axes: str = "world"
    inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | None = None
    prescribed: Mapping[str, Any] | None = None
    every: int = 1
    progress: Callable[[int, int], Any] | None = None
    monitors: str | Iterable[str] = ()
    resume: Recording | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def but(self, **changed: Any) -> Self:
        """Return these arguments with some changed; a name that is no field is an option of the method."""
        own = {name: changed.pop(name) for name in tuple(changed) if name in NAMES}
        own["options"] = {**own.get("options", self.options), **changed}
        return replace(self, **own)


#: Names of the arguments that every method takes.
NAMES = frozenset(each.name for each in fields(RunArguments))


@dataclass(frozen=True)
class Schedule:
    """When the steps of a run begin and end.

    Attributes
    ----------
    dt : float
        The step, or the first of ``spans`` [s].
    duration : float [s]
    steps : int
        How many; an estimate if ``adaptive``.
    spans : (steps,) array or None
        The steps, if they differ [s].
    adaptive : bool
        Whether the method chooses its steps.
    """

    dt: float
    duration: float
    steps: int
    spans: np.ndarray | None
    adaptive: bool

    @classmethod
    def of(cls, given: RunArguments, adaptive: bool) -> Schedule:
        """Return the steps that ``duration`` and ``dt`` ask for; ``adaptive`` methods choose their own.

        Raises
        ------
        InputError
            If either is wrong, or the two do not fit.
        """
        if isinstance(given.dt, np.ndarray | list | tuple):
            if adaptive:
                raise InputError(
                    named("dt", given.dt) + " must be one number, the step at rest, with " + keyword("adapt", "method")
                )
            spans, dt, duration = _spans(given.dt, given.duration)
            return cls(dt, duration, len(spans), spans, adaptive)
        duration, dt = _checked_times(given.duration, given.dt)
        return cls(dt, duration, int(duration / dt) if adaptive else count_steps(duration, dt), None, adaptive)

    def ends(self, t0: float, done: int) -> np.ndarray:
        """Return the times (steps + 1,) [s] at which steps begin and end, after ``done`` steps of a run begun at t0.

        A run that goes on has the times, to the last bit, of one that did not stop.
        """
        if self.spans is not None:
            return t0 + np.concatenate(([0.0], np.cumsum(self.spans)))
        return t0 + self.dt * np.arange(done, done + self.steps + 1)

    def settings(self, every: int) -> dict[str, Any]:
        """Return the steps, and that each ``every``-th is recorded, for the record."""
        if self.spans is None:
            return {"dt": self.dt, "every": every}
        shortest, longest = float(self.spans.min()), float(self.spans.max())
        return {"dt": float(np.mean(self.spans)), "every": every, "dt_range": [shortest, longest]}


def _spans(dt, duration) -> tuple[np.ndarray, float, float]:
    """Return steps that differ, the first step, and the sum of all."""
    try:
        spans = np.array(dt, dtype=float)
    except (TypeError, ValueError):
        spans = np.array([np.nan])
    if spans.ndim != 1 or not len(spans) or not (np.isfinite(spans).all() and (spans > 0).all()):
        raise InputError(named("dt", dt) + " must be a positive number of seconds, or an array (steps,) of them")
    whole = float(spans.sum())
    if duration is not None and abs(whole - duration) > 1e-9 * whole:
        raise InputError(
            Argument("duration", duration) + f" s is not {whole:.9g} s, the sum of the steps; leave the duration out"
        )
    return spans, float(spans[0]), whole


def count_steps(duration: float, dt: float) -> int:
    """Return how many steps of dt make up the duration.

    Raises
    ------
    InputError
        If either is not a positive number, or the duration is not a whole number of steps.
    """
    _checked_times(duration, dt)
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-9 * max(duration, dt):
        low = max(int(duration / dt), 1)
        raise InputError(
            Argument("duration", duration) + " s is not a whole number of steps of " + Argument("dt", dt)
            + f" s; take {low * dt:g} s ({low} steps) or {(low + 1) * dt:g} s"
        )
    return steps


def _checked_times(duration: Any, dt: Any) -> tuple[float, float]:
    for name, value in (("duration", duration), ("dt", dt)):
        if not (isinstance(value, int | float | np.floating | np.integer) and np.isfinite(value) and value > 0):
            raise InputError(Argument(name, value) + " must be a positive number of seconds")
    return duration, dt
