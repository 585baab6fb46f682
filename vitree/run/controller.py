"""Controllers with a clock of their own: asked every so often, their answers held in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import Asked, entries, real
from vitree.errors import CallableError, InputError
from vitree.wording import quoted

plain = scalar().plain


@dataclass(frozen=True, eq=False)
class Controller:
    """A function that is asked every ``period``; its answer acts ``delay`` later and is held until the next one acts.

    It is given to :func:`vitree.simulate` or :class:`vitree.Simulation` as ``torque=``, ``inputs=`` or ``targets=``. It
    is asked between steps: no step asks it twice.

    Parameters
    ----------
    function : callable (t, q, v) -> array
        Returns joint forces (nv,) [N or N m], inputs (nu,), or targets (n,) of drives. With ``observe`` it is a
        callable (t, observation).
    period : float [s]
        A whole number of steps.
    delay : float [s]
        Time between an observation and the answer's effect, a whole number of steps; it may be longer than the period.
    observe : callable (t, q, v) -> object, optional
        Makes of the state what the function is given, such as a sensor's reading.
    initial : (nv,), (nu,) or (n,) array, optional [N or N m]
        What acts before the first answer does, units as of the answers; zero if not given.

    Raises
    ------
    InputError
        If a callable is none, or a time is not finite, or the period not positive, or the delay negative.
    """

    function: Callable[..., ArrayLike]
    period: float
    delay: float = 0.0
    observe: Callable[..., Any] | None = None
    initial: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("function", "observe"):
            value = getattr(self, name)
            if not callable(value) and not (name == "observe" and value is None):
                raise InputError(name, value, "of a controller must be a callable")
        for name, low in (("period", "positive"), ("delay", "zero or positive")):
            value = real(getattr(self, name))
            if not (0 < value < np.inf or (name == "delay" and value == 0)):
                raise InputError(name, getattr(self, name), f"of a controller must be a {low} time [s]")
            object.__setattr__(self, name, value)


def function_of(controller: Controller) -> Callable[..., ArrayLike]:
    """Return a controller's function as one of (t, q, v)."""
    function, observe = controller.function, controller.observe
    return function if observe is None else lambda t, q, v: function(t, observe(t, q, v))


def of_another_function(
    controller: Controller, function: Callable[..., ArrayLike], initial: ArrayLike | None
) -> Controller:
    """Return a controller of the same clock with another function (t, q, v)."""
    return replace(controller, function=function, observe=None, initial=initial)


class Held:
    """A controller within a run.

    Parameters
    ----------
    controller : Controller
    what : {"torque", "inputs"}
    size : int
        Of its answers.
    dt : float [s]

    Attributes
    ----------
    value : (size,) array
        What acts.

    Raises
    ------
    InputError
        If the period or the delay is no whole number of steps, or ``initial`` has a wrong shape.
    """

    def __init__(self, controller: Controller, what: str, size: int, dt: float):
        self.function, self.size = function_of(controller), size
        self.asked = Asked(self.function, what, "(t, q, v)", (size,))
        self.every = _steps("period", controller.period, dt)
        self.late = _steps("delay", controller.delay, dt) if controller.delay else 0
        given = controller.initial
        self.first = np.zeros(size) if given is None else entries(given, (size,), "initial").copy()
        self.begin()

    def begin(self) -> None:
        """Begin as if nothing had been asked."""
        self.value = self.first
        #: answers that act from a step on
        self.coming: deque[tuple[int, np.ndarray]] = deque()

    def next(self, at: int) -> int:
        """Return the first step beyond ``at`` before which it is asked, or an answer begins to act."""
        tick = at - at % self.every + self.every
        return min(tick, self.coming[0][0]) if self.coming else tick

    def ask(self, at: int, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Ask before the step ``at``; return whether the answer acts at once. Others come later."""
        found: Any
        try:
            found = self.function(t, q, v)
        except CallableError:
            raise
        except Exception as error:
            raise self.asked.raised(error, (t, q, v)) from error
        if not plain(found, self.size):
            found = self.asked.numbers(found, (t, q, v))
        if self.late or self.coming:
            self.coming.append((at + self.late, found.copy()))
            return False
        self.value = found.copy()
        return True

    def arrived(self, at: int) -> bool:
        """Let answers act that do so before the step ``at``; return whether another value acts."""
        coming, changed = self.coming, False
        while coming and coming[0][0] <= at:
            self.value, changed = coming.popleft()[1], True
        return changed

    def settings(self) -> list:
        """Return all that changes in a run, as a file keeps it."""
        return [self.value.tolist(), [[step, value.tolist()] for step, value in self.coming]]

    def take_up(self, kept: Any) -> None:
        """Go on from :meth:`settings` of a run before.

        Raises
        ------
        InputError
            If they are damaged.
        """
        try:
            value, coming = np.array(kept[0], dtype=float), [(int(k), np.array(x, dtype=float)) for k, x in kept[1]]
            if not all(x.shape == self.first.shape and np.isfinite(x).all() for x in (value, *(x for _, x in coming))):
                raise ValueError("they have another size")
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(f"the run to resume has damaged answers of its controller: {error}") from None
        self.value, self.coming = value, deque(coming)

    def keep(self) -> tuple:
        """Return all that changes in a run."""
        return self.value, tuple(self.coming)

    def go_back(self, kept: tuple) -> None:
        """Go on from what :meth:`keep` returned."""
        self.value, self.coming = kept[0], deque(kept[1])


def _steps(name: str, value: float, dt: float) -> int:
    """Return how many steps of dt a time of a controller has."""
    count = round(min(value / dt, 2.0**53))
    if count < 1 or abs(count * dt - value) > 1e-9 * value:
        low = max(int(value / dt), 0 if name == "delay" else 1)
        raise InputError(
            name, value,
            f"s of the controller is not a whole number of steps of dt={quoted(dt)} s; take {low * dt:.12g} s ({low} "
            f"steps) or {(low + 1) * dt:.12g} s"
        )
    return count
