"""What acts on frames in a run: external wrenches, over the whole run or from start to end, and impulses."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from vitree.arguments import entries, explain_calls, real, shown
from vitree.errors import InputError

#: Axes of an impulse, and of a wrench.
AXES, WRENCH_AXES = ("world", "local"), ("world", "local", "spatial")


@explain_calls
@dataclass(frozen=True)
class Impulse:
    """An impulse on a frame: the momentum jumps at one time, and the configuration is continuous.

    An impulse at the time of a record acts after it; one at the end of a run acts when the run is resumed.

    Parameters
    ----------
    frame : str
        Its name.
    impulse : (3,) array [N s]
        At the frame's origin.
    at : float [s]
        The time. A step that contains it is split there.
    angular : (3,) array [N m s]
        About the frame's origin.
    axes : {"world", "local"}
        Of the world, or of the frame.

    Raises
    ------
    InputError
        If a vector is not three finite numbers, the time is not finite, or there are no such axes.
    """

    frame: str
    impulse: tuple[float, float, float]
    at: float
    angular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axes: str = "world"

    def __post_init__(self) -> None:
        _vectors(self, "impulse", "angular")
        _times(self, "at")

    #: it acts at one time
    steady: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The impulse in messages."""
        return f'impulse on "{self.frame}"'


@explain_calls
@dataclass(frozen=True)
class ExternalWrench:
    """A constant wrench on a frame, over the whole run or from ``start`` to ``end``.

    Parameters
    ----------
    frame : str
        Its name.
    force : (3,) array [N]
        At the frame's origin.
    torque : (3,) array [N m]
        About the frame's origin.
    start, end : float, optional [s]
        When it begins and ends to act; from the start and to the end of the run if not given. A step that contains one
        of them is split there.
    axes : {"world", "local", "spatial"}
        Of the world, or of the frame; "spatial": of the world, and about its origin, as for :class:`vitree.Wrench`.

    Raises
    ------
    InputError
        If a vector is not three finite numbers, a time is not finite, the end is not after the start, or there are no
        such axes.
    """

    frame: str
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    start: float | None = None
    end: float | None = None
    axes: str = "world"

    def __post_init__(self) -> None:
        _vectors(self, "force", "torque")
        _times(self, *(name for name in ("start", "end") if getattr(self, name) is not None))
        first, last = self.window
        if not first < last:
            raise InputError(f"the {self.name} starts at {first:g} s and ends at {last:g} s; give a later end")

    @property
    def window(self) -> tuple[float, float]:
        """When it begins and ends to act [s]; infinite where that is not given."""
        return (-inf if self.start is None else self.start), (inf if self.end is None else self.end)

    @property
    def steady(self) -> bool:
        """Whether it acts over the whole run."""
        return self.start is None and self.end is None

    @property
    def name(self) -> str:
        """The wrench as messages call it."""
        return f'external wrench on "{self.frame}"'


def _vectors(push: Impulse | ExternalWrench, *names: str) -> None:
    for name in names:
        x = entries(getattr(push, name), (3,), f"{name} of the {push.name}")
        object.__setattr__(push, name, tuple(x.tolist()))
    axes = WRENCH_AXES if isinstance(push, ExternalWrench) else AXES
    if not isinstance(push.axes, str) or push.axes not in axes:
        raise InputError("axes", push.axes, f"is {shown(push.axes)}; choose from {', '.join(axes)}")


def _times(push: Impulse | ExternalWrench, *names: str) -> None:
    for name in names:
        t = real(getattr(push, name))
        if not abs(t) < float("inf"):
            value = shown(getattr(push, name))
            raise InputError(f"{name} of the {push.name} is {value}; it must be a finite time [s]")
        object.__setattr__(push, name, t)
