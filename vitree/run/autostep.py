"""dt="auto": a step chosen once for a run, from trials of its first part."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vitree.arguments import real
from vitree.errors import ConvergenceError, InputError
from vitree.integrators.base import Integrator
from vitree.mechanism.pushes import Impulse
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.series import distance, shared
from vitree.run.arguments import RunArguments, rows_over_steps
from vitree.run.checks import checked
from vitree.run.controller import Controller
from vitree.run.monitors import monitors_of
from vitree.run.trajectory import Trajectory

#: What ``dt`` is where the step is to be chosen.
AUTO = "auto"
#: The largest error of the trial [rad, m], if nobody says, and what may be asked for.
ACCURACY, LOWEST, HIGHEST = 1e-6, 1e-13, 1e-1
#: The trial lasts so long [s], or this share of the run if that is longer.
SECONDS, SHARE = 2.0, 0.01
#: The fewest steps of a trial, the most, and the most pairs of trials.
LEAST, MOST, PAIRS = 16, 200_000, 8
#: About so many records of a trial are compared.
RECORDS = 128
#: Differences [rad, m] below this one tell the order; if they do not fall, they are round-off.
SETTLED = 1e-2
#: A higher order is not taken for granted: it must show.
UNSEEN = 4.0
#: The largest share of the steps of a trial that may be taken in halves: such steps of 2 h and h are the same.
HALVED = 0.01

Run = Callable[[System, RunArguments], Trajectory]


@dataclass(frozen=True)
class Choice:
    """A step, and what the trials said of it.

    Attributes
    ----------
    dt : float [s]
    error : float
        The largest error of the trial's configurations, an estimate [rad, m].
    trial : float
        How long the trial was [s].
    steps : int
        Of all trials.
    """

    dt: float
    error: float
    trial: float
    steps: int


def with_step(
    model: System, kind: type[Integrator], given: RunArguments, run: Run
) -> tuple[RunArguments, dict[str, Any]]:
    """Return the arguments with the step that the trials by ``run`` choose, and settings that tell of it.

    Raises
    ------
    InputError
        If no step is good enough.
    """
    choice = _Search(model, kind, given, run).choice()
    told = {"accuracy": _accuracy(given), "error": choice.error, "trial": choice.trial, "steps": choice.steps}
    return given.but(dt=choice.dt, accuracy=None), {"auto": told}


class NoStep(InputError):
    """No step of a method reaches the accuracy asked for."""


def chosen(model: System, given: RunArguments, run: Run) -> Choice:
    """Return the step for a run with ``dt="auto"``; raise as :func:`vitree.simulate` does."""
    require_choosable(given)
    kind, given = checked(model, given)
    return _Search(model, kind, given, run).choice()


def asks_for_choice(given: RunArguments) -> bool:
    """Whether the step is to be chosen, or something is given that goes with it."""
    return isinstance(given.dt, str) or given.accuracy is not None


def require_choosable(given: RunArguments) -> None:
    """Raise an InputError if no step can be chosen, by the arguments as people give them."""
    if isinstance(given.dt, str) and given.dt != AUTO:
        raise InputError("dt", given.dt, f"must be a positive number of seconds, an array (steps,) of them, or {_AUTO}")
    if given.resume is not None and given.accuracy is None:
        return  # the run before has its dt, and another is refused
    if not isinstance(given.dt, str):
        raise InputError(
            "accuracy", given.accuracy, f"goes with {_AUTO}; give that, or leave accuracy out"
        )  # fmt: skip
    _accuracy(given)
    if not 0 < real(given.duration) < math.inf:
        raise InputError("duration", given.duration, "must be a positive number of seconds")
    rows = rows_over_steps(given)
    if rows is not None:
        raise InputError(
            f"{_AUTO} does not go with {rows} that have a row for each step: give dt as a number, or functions of t"
        )
    for name in ("torque", "inputs", "targets"):
        if isinstance(getattr(given, name), Controller):
            raise InputError(
                f"{_AUTO} does not go with a Controller as {name}, whose period is a whole number of steps: give dt "
                "as a number"
            )
    if given.q1 is not None:
        raise InputError(f"{_AUTO} does not go with q1, which is one step later: give v0")
    monitors_of(given.monitors)


_AUTO = f'dt="{AUTO}"'


def _accuracy(given: RunArguments) -> float:
    if given.accuracy is None:
        return ACCURACY
    asked = real(given.accuracy)
    if not LOWEST <= asked <= HIGHEST:
        raise InputError("accuracy", given.accuracy, f"must be from {LOWEST:g} to {HIGHEST:g} [rad, m]")
    return asked


class _Search:
    """The search for the longest step whose trial has an error below the accuracy.

    A trial is run with the steps 2 h and h. For a method of order p the difference is (2^p - 1) times the error of
    the finer run, and the error is proportional to h^p: that says which h to try next.
    """

    def __init__(self, model: System, kind: type[Integrator], given: RunArguments, run: Run):
        adapts = given.options.get("adapt") is not None
        if adapts or "rtol" in kind.options:
            raise InputError(
                f"{_AUTO} is for steps of equal length: "
                + ("adapt=" if adapts else f"the method {kind.name}")
                + " chooses its own; give dt as a number"
                + ("" if adapts else ", and the accuracy by rtol=")
            )  # fmt: skip
        self.model, self.kind, self.run = model, kind, run
        self.accuracy, self.duration = _accuracy(given), real(given.duration)
        self.trial = min(self.duration, max(SECONDS, SHARE * self.duration))
        pushes = tuple(each for each in given.pushes if _begins(each) < given.t0 + 0.9 * self.trial)
        self.given = given.but(accuracy=None, monitors=(), progress=None, pushes=pushes)
        self.order = float(getattr(kind, "order", 1))
        full = model.full
        self.touches = isinstance(full, Model) and full.touches
        self.steps, self.least = 0, math.inf

    def choice(self) -> Choice:
        """Return the step.

        Raises
        ------
        InputError
            If none is good enough.
        """
        longest = h = self.trial / LEAST
        shortest = self.trial / MOST
        best: Choice | None = None
        pairs: list[tuple[float, float]] = []
        seen, tried = math.inf, False
        while len(pairs) < PAIRS and not tried:
            tried = h <= shortest
            h = max(h, shortest)
            count, pieces = self._counts(h)
            h = self.duration / count
            if best is not None and 3 * pieces > self.duration / best.dt - count:  # the trial costs more than it saves
                break
            self.least = min(self.least, h)
            difference = self._difference(h, pieces)
            if not math.isfinite(difference):
                if best is not None:
                    break
                h, longest = h / 4, h / 2
                continue
            if self.touches:  # impacts are of order 1, and their errors jump: what one pair misses the one before tells
                difference = max([difference, *(found * h / other for other, found in pairs[-1:])])
            rate = 1.0 if self.touches else self._rate(h, difference, pairs)
            error = difference / (2.0 ** min(rate or self.order, rate or UNSEEN) - 1)
            if pairs or error > self.accuracy:  # what one pair has, the next one has to show, too
                seen = min(seen, error)
            gain = (0.5 * self.accuracy / error) ** (1 / (rate or self.order)) if error > 0 else math.inf
            after = h * min(max(gain, 1 / 32), 8.0)
            before = pairs[-1] if pairs else None
            if error <= self.accuracy and before is None:
                after = 0.6 * h  # one pair may agree by chance, also because an impact falls on a step of both
            elif error <= self.accuracy:
                best = Choice(h, error, 2 * h * pieces, 0)
                if h > 0.99 * longest:
                    break
                after = min(after, longest)
            elif best is not None:
                break
            elif before is not None and h < 0.7 * before[0] and 0.7 * before[1] < difference < SETTLED:
                break  # round-off, or the residual that a step may leave
            pairs.append((h, difference))
            h = after
        if best is None:
            raise NoStep(self._failure(seen))
        return replace(best, steps=self.steps)

    def _rate(self, h: float, difference: float, pairs: list[tuple[float, float]]) -> float | None:
        """Return the order that a pair shows beside one before it; None if there is none to compare with."""
        for other, found in reversed(pairs):
            if not 0.7 < h / other < 1.4 and 0 < min(difference, found) and max(difference, found) < SETTLED:
                # forces that are not smooth lower the order
                return min(max(math.log(difference / found) / math.log(h / other), 1.0), self.order)
        return None

    def _counts(self, h: float) -> tuple[int, int]:
        """Return the steps of the whole run, of about h, and those of twice that length in the trial."""
        pieces = max(math.ceil(self.trial / (2 * h) * (1 - 1e-12)), 1)
        every = _every(pieces)
        pieces = every * math.ceil(pieces / every)
        if self.trial == self.duration:
            return 2 * pieces, pieces
        count = max(math.ceil(self.duration / h * (1 - 1e-12)), 2)
        return count, min(pieces, count // 2)

    def _difference(self, h: float, pieces: int) -> float:
        """Return the largest distance of the trials with 2 h and h [rad, m]; infinite if one fails."""
        every = _every(pieces)
        runs = []
        for part in (1, 2):
            step, count = 2 * h / part, part * pieces
            self.steps += count
            try:
                found = self.run(self.model, self.given.but(dt=step, duration=count * step, every=part * every))
            except ConvergenceError:
                return math.inf
            except (Exception, KeyboardInterrupt) as stop:
                if getattr(stop, "trajectory", None) is not None:
                    stop.trajectory = None  # type: ignore[union-attr]  # that of a trial is not the run's
                raise
            if found.settings.get("halved", 0) > HALVED * count:
                return math.inf
            self.order = float(found.settings.get("order", self.order))
            runs.append(found)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(distance(self.model, *shared(*runs)).max())

    def _failure(self, seen: float) -> str:
        """Say that no step is good enough, and what to do."""
        name, order, model = self.kind.name, self.order, self.model
        full = model.full
        touches, held = self.touches, bool(full.constraints)
        ways: list[str] = ["a larger accuracy="]
        if "order" in self.kind.options and order < 8 and not touches:
            ways.append("a higher order=")
        ways += [
            f'the method="{other}"'
            for other, kind in model.methods.items()
            if "rtol" not in kind.options and getattr(kind, "order", 1) > order and kind.touches >= touches
            and not (held and other == "gauss")
        ]  # fmt: skip
        if "tolerance" in self.kind.options:
            ways.append("a smaller tolerance=")
        came = f"the least error found is {seen:.2g}" if seen < math.inf else "no trial could be solved"
        came += f", with steps of {self.least:.2g} s or more"
        return (
            f"no step of the method {name}, of order {order:g}, reaches accuracy={self.accuracy:g} in a trial of "
            f"{self.trial:g} s: {came}; give {' or '.join(ways)}"
        )


def _every(pieces: int) -> int:
    """Return which steps of a trial are recorded."""
    return max(pieces // RECORDS, 1)


def _begins(push: Any) -> float:
    """Return when a blow strikes, or a push begins [s]."""
    return push.at if isinstance(push, Impulse) else push.start
