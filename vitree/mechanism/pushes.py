"""External actions during a run: impulses, and wrenches over a window of time."""

from __future__ import annotations

from dataclasses import dataclass

from vitree.arguments import entries, real, shown
from vitree.errors import InputError

#: Axes of an impulse and of a wrench over a window of time.
AXES = ("world", "local")


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
        The time. A time within a step parts the step there.
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

    @property
    def name(self) -> str:
        """The impulse in messages."""
        return f'impulse on "{self.frame}"'


@dataclass(frozen=True)
class ExternalWrench:
    """A constant wrench on a frame over a window of time.

    Parameters
    ----------
    frame : str
        Its name.
    force : (3,) array [N]
        At the frame's origin.
    start, end : float [s]
        The window. A time within a step parts the step there.
    torque : (3,) array [N m]
        About the frame's origin.
    axes : {"world", "local"}
        Of the world, or of the frame.

    Raises
    ------
    InputError
        If a vector is not three finite numbers, a time is not finite, the window does not end after it starts, or
        there are no such axes.
    """

    frame: str
    force: tuple[float, float, float]
    start: float
    end: float
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axes: str = "world"

    def __post_init__(self) -> None:
        _vectors(self, "force", "torque")
        _times(self, "start", "end")
        if not self.start < self.end:
            raise InputError(f"the {self.name} starts at {self.start:g} s and ends at {self.end:g} s; give a later end")

    @property
    def name(self) -> str:
        """The push as messages call it."""
        return f'push on "{self.frame}"'


def _vectors(push: Impulse | ExternalWrench, *names: str) -> None:
    for name in names:
        x = entries(getattr(push, name), (3,), f"{name} of the {push.name}")
        object.__setattr__(push, name, tuple(x.tolist()))
    if not isinstance(push.axes, str) or push.axes not in AXES:
        raise InputError("axes", push.axes, f"is {shown(push.axes)}; choose from {', '.join(AXES)}")


def _times(push: Impulse | ExternalWrench, *names: str) -> None:
    for name in names:
        t = real(getattr(push, name))
        if not abs(t) < float("inf"):
            value = shown(getattr(push, name))
            raise InputError(f"{name} of the {push.name} is {value}; it must be a finite time [s]")
        object.__setattr__(push, name, t)
