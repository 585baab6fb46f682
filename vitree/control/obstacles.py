"""Obstacles as signed distances: positive outside, negative inside, at points (..., 3) of world space [m].

Any callable that returns such distances is an obstacle. It must be analytic almost everywhere and take complex numbers
(see ``vitree.control.terms``). In the plane points have z = 0.

The four classes begin alike, with ``name`` and ``__post_init__``: each is a dataclass that is read on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vitree.arguments import as_numbers, real, shown
from vitree.errors import InputError


def _length(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((x * x).sum(-1)))


def _vector(value: object, n: int, what: str) -> np.ndarray:
    try:
        array = as_numbers(value)
    except TypeError:
        array = np.full(0, np.nan)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise InputError(f"{what} is {shown(value)}; it must be {n} finite numbers")
    return array


def _positive(value: object, what: str) -> None:
    if not 0 < real(value) < np.inf:
        raise InputError(f"{what} is {shown(value)}; it must be a positive length [m]")


@dataclass(frozen=True)
class SphereObstacle:
    """A ball.

    Parameters
    ----------
    centre : (3,) array [m]
    radius : float [m]
    name : str
        For messages.

    Raises
    ------
    InputError
        If the centre is not three numbers, or the radius not positive.
    """

    centre: tuple[float, float, float]
    radius: float
    name: str = "sphere"

    def __post_init__(self) -> None:
        _vector(self.centre, 3, f"the centre of {self.name}")
        _positive(self.radius, f"the radius of {self.name}")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _length(p - as_numbers(self.centre)) - real(self.radius)


@dataclass(frozen=True)
class CylinderObstacle:
    """A vertical cylinder without ends; in the plane, a disc.

    Parameters
    ----------
    centre : (2,) array [m]
        Place of the axis.
    radius : float [m]
    name : str
        For messages.

    Raises
    ------
    InputError
        If the centre is not two numbers, or the radius not positive.
    """

    centre: tuple[float, float]
    radius: float
    name: str = "cylinder"

    def __post_init__(self) -> None:
        _vector(self.centre, 2, f"the centre of {self.name}")
        _positive(self.radius, f"the radius of {self.name}")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _length(p[..., :2] - as_numbers(self.centre)) - real(self.radius)


@dataclass(frozen=True)
class HalfSpaceObstacle:
    """The half of space behind a plane.

    Parameters
    ----------
    point : (3,) array [m]
        A point of the plane.
    normal : (3,) array
        Direction towards free space; of any length.
    name : str
        For messages.

    Raises
    ------
    InputError
        If the point or the normal is not three numbers, or the normal is zero.
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    name: str = "half-space"

    def __post_init__(self) -> None:
        _vector(self.point, 3, f"the point of {self.name}")
        if not _vector(self.normal, 3, f"the normal of {self.name}").any():
            raise InputError(f"the normal of {self.name} is zero; it must point towards free space")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        normal = as_numbers(self.normal)
        return np.asarray((p - as_numbers(self.point)) @ (normal / _length(normal)))


@dataclass(frozen=True)
class BoxObstacle:
    """A box with its edges along the axes.

    Parameters
    ----------
    lower, upper : (3,) array [m]
        Two of its corners; infinite ones are allowed.
    name : str
        For messages.

    Raises
    ------
    InputError
        If a corner is not three numbers, or the upper one is not above the lower one.
    """

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    name: str = "box"

    def __post_init__(self) -> None:
        try:
            lower, upper = as_numbers(self.lower), as_numbers(self.upper)
        except TypeError:
            lower = upper = np.zeros(0)
        if lower.shape != (3,) or upper.shape != (3,) or not (lower < upper).all():
            raise InputError(f"{self.name} goes from {shown(self.lower)} to {shown(self.upper)}; it must go from 3 "
                             "numbers to 3 larger ones")  # fmt: skip

    def __call__(self, p: np.ndarray) -> np.ndarray:
        below, above = as_numbers(self.lower) - p, p - as_numbers(self.upper)
        beyond = np.where(below.real > above.real, below, above)  # along each axis, negative inside
        deepest = np.take_along_axis(beyond, beyond.real.argmax(-1)[..., None], -1)[..., 0]
        outside = np.where(beyond.real > 0, beyond, 0)
        return np.where(deepest.real > 0, _length(outside), deepest)
