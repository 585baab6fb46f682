"""The arguments of a run in one object, and the times of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, axes_of, real
from vitree.errors import InputError
from vitree.integrators.base import Torque
from vitree.integrators.gauss import STAGES
from vitree.mechanism.pushes import Impulse, Push
from vitree.memory import require_memory
from vitree.model.system import System
from vitree.results.recording import Recording
from vitree.run.controller import Controller
from vitree.wording import Argument, Text, keyword, named

#: Most steps of a run: their number is a double in places.
MOST_STEPS = 2.0**53


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunArguments:
    """The arguments of :func:`vitree.simulate` beside the model; the docstring there says what each means.

    ``simulate`` makes it. Whatever passes a run on takes this object and changes it by :meth:`but`, so that a new
    argument is written twice only: in the signature of ``simulate``, and here.
    """

    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    duration: float | None = None
    dt: float | Sequence[float] | np.ndarray | str | None = None
    accuracy: float | None = None
    method: str | None = None
    p0: ArrayLike | None = None
    q1: ArrayLike | None = None
    t0: float = 0.0
    torque: Torque | Controller = None
    effort_limits: bool = False
    wrenches: Mapping[str, ArrayLike] | None = None
    wrench_axes: str = "world"
    inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | Controller | None = None
    targets: Any = None
    prescribed: Mapping[str, Any] | None = None
    pushes: Iterable[Impulse | Push] = ()
    every: int = 1
    dense: bool = False
    progress: Callable[[int, int], Any] | None = None
    monitors: str | Iterable[str] = ()
    resume: Recording | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def all_of(cls, values: dict[str, Any]) -> Self:
        """Return arguments that have a value for each field."""
        made = object.__new__(cls)
        vars(made).update(values)
        return made

    @property
    def driven(self) -> bool:
        """Whether something beside the model's own loads can change the energy."""
        acts = self.torque, self.wrenches, self.inputs, self.targets, self.prescribed
        return any(each is not None for each in acts) or bool(self.pushes)

    def but(self, **changed: Any) -> Self:
        """Return these arguments with some changed; a name that is no field is an option of the method."""
        own = {name: changed.pop(name) for name in tuple(changed) if name in NAMES}
        own["options"] = {**own.get("options", self.options), **changed}
        return self.all_of({**vars(self), **own})


#: What to change where records take more memory than there is.
SHORTER, FEWER = Text("shorten ", keyword("duration")), Text("record fewer of them with ", keyword("every"))


def require_room(model: System, given: RunArguments, schedule: Schedule) -> None:
    """Raise an InputError if the records of a run take more memory than is available."""
    if schedule.adaptive:
        return
    rows = schedule.steps // given.every + 1
    # states with momenta, energies, momentum and centre of mass; time, residual, iterations; constraints
    size = 8.0 * rows * (model.nq + 2 * model.nv + 16 + 2 * len(model.constraints))
    if given.dense:  # stages of gauss, of each step
        order = real(given.options.get("order", 8))
        stages = next((count for known, count in STAGES.items() if known == order), max(STAGES.values()))
        size += 8.0 * stages * schedule.steps * model.nv
        require_memory(f"the stages of {schedule.steps} steps", size, Text("leave out ", keyword("dense")), SHORTER)
    require_memory(f"the records of {rows} states", size, FEWER, SHORTER)


#: Names of the arguments that every method takes.
NAMES = frozenset(each.name for each in fields(RunArguments))


def rows_over_steps(given: RunArguments) -> str | None:
    """Return the name of an argument that has a row for each step; None without one."""
    for name in ("inputs", "targets", "prescribed"):
        value = getattr(given, name)
        if isinstance(value, Mapping):
            if any(not callable(x) and axes_of(x) >= 1 for x in value.values()):
                return name
        elif value is not None and not callable(value) and axes_of(value) >= 2:
            return name
    return None


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
        dt: Any = given.dt
        if type(dt) is float and type(given.duration) is float and not adaptive:
            return _equal(given.duration, dt)
        if isinstance(dt, list | tuple) or (hasattr(dt, "__array__") and axes_of(dt) > 0):
            if adaptive:
                raise InputError(
                    named("dt", given.dt) + " must be one number, the step at rest, with " + keyword("adapt", "method")
                )
            spans, dt, duration = _spans(dt, given.duration)
            return cls(dt, duration, len(spans), spans, adaptive)
        duration, dt = _checked_times(given.duration, given.dt)
        times: Any = given.duration, given.dt
        steps = count_steps(*times) if not adaptive else int(min(duration / dt, MOST_STEPS))
        return cls(dt, duration, steps, None, adaptive)

    @classmethod
    def one(cls, dt: Any, adaptive: bool) -> Schedule:
        """Return equal steps of a run whose end nobody knows.

        Raises
        ------
        InputError
            If dt is no positive number.
        """
        if isinstance(dt, str):
            raise InputError(
                Argument("dt", dt) + " must be a number of seconds here: a step is chosen for a whole run, and the end "
                'of this one is not known; simulate() and compare() take "auto"'
            )
        _, step = _checked_times(1.0, dt)
        return cls(step, 0.0, 0, None, adaptive)

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


@lru_cache(maxsize=256)
def _equal(duration: float, dt: float) -> Schedule:
    """Return the schedule of equal steps."""
    return Schedule(dt, duration, count_steps(duration, dt), None, False)


def _spans(dt, duration) -> tuple[np.ndarray, float, float]:
    """Return steps that differ, the first step, and the sum of all."""
    try:
        spans = as_numbers(dt).copy()
    except TypeError:
        spans = np.array([np.nan])
    if spans.ndim != 1 or not len(spans) or not (np.isfinite(spans).all() and (spans > 0).all()):
        raise InputError(named("dt", dt) + " must be a positive number of seconds, or an array (steps,) of them")
    with np.errstate(over="ignore"):  # the duration is then no finite one
        whole = float(spans.sum())
    if not whole < np.inf:
        raise InputError(named("dt", dt) + " has steps whose sum is too large for a double; give smaller ones")
    if duration is not None and not abs(whole - real(duration)) <= 1e-9 * whole:
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
    whole, step = _checked_times(duration, dt)
    if not whole / step < MOST_STEPS:
        raise InputError(
            Argument("dt", dt) + " s is too small: " + Argument("duration", duration)
            + f" s would be {whole / step:.3g} steps, and {MOST_STEPS:.0e} are the most"
        )
    steps = round(whole / step)
    if steps < 1 or abs(steps * step - whole) > max(_rounding(duration), _rounding(dt)) * max(whole, step):
        low = max(int(whole / step), 1)
        raise InputError(
            Argument("duration", duration) + " s is not a whole number of steps of " + Argument("dt", dt)
            + f" s; take {low * step:.12g} s ({low} steps) or {(low + 1) * step:.12g} s"
        )
    return steps


def _rounding(value: Any) -> float:
    """How far a time may be off because its type has few digits, as a share of it."""
    kind = getattr(value, "dtype", None)
    return max(1e-9, min(float(np.finfo(kind).eps), 1e-6)) if kind is not None and kind.kind == "f" else 1e-9


def require_times(t0: float, end: float, dt: float) -> None:
    """Raise an InputError if the times of a run are so large that a step of dt does not change them."""
    largest = max(abs(t0), abs(end))
    if not (largest + dt > largest and largest - dt < largest):
        raise InputError(
            Argument("t0", t0) + " s is too far from zero for steps of " + Argument("dt", dt)
            + f" s: beside {largest:g} s the next number is {np.spacing(largest):.2g} s away; begin nearer to zero"
        )


def _checked_times(duration: Any, dt: Any) -> tuple[float, float]:
    for name, value, example in (("duration", duration, "2.0"), ("dt", dt, "1e-3")):
        if not 0 < real(value) < np.inf:
            raise InputError(Argument(name, value) + f" must be a positive number of seconds, such as {example}")
    return real(duration), real(dt)
