"""Numbers of shapes and contacts as people give them: lengths, points, bounded numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import all_finite, as_numbers, real, shown
from vitree.errors import ModelError


def positive(value: object, what: str) -> float:
    """Return a finite number above zero as a float, or raise a ModelError that names it."""
    number = real(value)
    if not 0 < number < math.inf:
        raise ModelError(f"the {what} is {shown(value)}; it must be a finite number above zero")
    return number


def within(value: object, what: str, least: float, most: float, unbounded: bool = False) -> float:
    """Return a number between two others as a float, or raise a ModelError that names it.

    Parameters
    ----------
    value : float
    what : str
        What errors call it.
    least, most : float
    unbounded : bool
        Whether it may be infinite, where ``most`` is.
    """
    number = real(value)
    if not least <= number <= most or (math.isinf(number) and not unbounded):
        bounds = f"{least:g} or more" if math.isinf(most) else f"from {least:g} to {most:g}"
        kind = "a number" if unbounded else "a finite number"
        raise ModelError(f"the {what} is {shown(value)}; it must be {kind}, {bounds}")
    return number


def points_of(value: object, what: str) -> tuple[tuple[float, float, float], ...]:
    """Return points (n, 3), or one (3,), as triples of floats; raise a ModelError that names them if there are none."""
    try:
        x = as_numbers(value)
    except TypeError as error:
        raise ModelError(f"the {what} have {error}; give an array (n, 3)") from None
    x = x[None] if x.shape == (3,) else x
    if x.ndim != 2 or x.shape[1:] != (3,) or not len(x):
        raise ModelError(f"the {what} have shape {x.shape}; give an array (n, 3) of at least one point")
    if not all_finite(x):
        raise ModelError(f"the {what} have numbers that are not finite")
    return tuple(map(tuple, x.tolist()))


def array_of(points: ArrayLike) -> np.ndarray:
    """Return triples as an array (n, 3)."""
    return np.array(points, dtype=float).reshape(-1, 3)
