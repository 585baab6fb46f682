"""Functions of one variable by cubic pieces, as the compiled core takes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, as_numbers
from vitree.errors import ModelError


def tabulated(
    positions: ArrayLike, values: ArrayLike | Callable[[float], float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return positions and values as numbers; a callable is called at each position."""
    try:
        x = np.ravel(as_numbers(positions))
        y: ArrayLike
        if callable(values):
            y = [float(Asked(values, "the function of a table", "(q)", (), timed=False)(p)) for p in x.tolist()]
        else:
            y = values
        return tuple(x.tolist()), tuple(np.ravel(as_numbers(y)).tolist())
    except TypeError as error:
        raise ModelError(f"a table must be numbers; it has {error}") from None


def pieces(
    x: ArrayLike, y: ArrayLike, what: str, periodic: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return breakpoints, coefficients (n, 4), integrals and period of the cubic spline through points x, y (n,).

    ``what`` is the table in messages. A ``periodic`` function repeats after the last x; without, the period is zero.
    Raises a ModelError if there are fewer than two points, x does not increase, or a periodic y does not end where it
    begins.
    """
    try:
        x, y = as_numbers(x).copy(), as_numbers(y).copy()
    except TypeError as error:
        raise ModelError(f"the table of {what} must be numbers; it has {error}") from None
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        shapes = f"{x.shape} and {y.shape}"
        raise ModelError(f"the table of {what} needs two rows of equal length, at least 2; they have shapes {shapes}")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (np.diff(x) > 0).all()):
        raise ModelError(f"the table of {what} must be finite, and its positions must increase")
    from scipy.interpolate import CubicSpline, PPoly

    if periodic and not np.isclose(y[0], y[-1], rtol=1e-12, atol=1e-12 * max(1.0, np.abs(y).max())):
        raise ModelError(f"the table of {what} is periodic but ends at {y[-1]:g}, not {y[0]:g} where it began")
    if len(x) == 2:
        spline = PPoly([[(y[1] - y[0]) / (x[1] - x[0])], [y[0]]], x)
    elif periodic:
        spline = CubicSpline(x, np.append(y[:-1], y[0]), bc_type="periodic")
    else:
        spline = CubicSpline(x, y)
    c = np.zeros((len(x) - 1, 4))
    c[:, : len(spline.c)] = spline.c[::-1].T
    width = np.diff(x)[:, None]
    areas = (c * width ** np.arange(1, 5) / np.arange(1, 5)).sum(axis=1)
    return x, c, np.concatenate(([0.0], np.cumsum(areas))), float(x[-1] - x[0]) if periodic else 0.0
