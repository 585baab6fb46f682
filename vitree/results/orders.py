"""Orders of convergence from errors at several time steps: what can be said, and why not if nothing can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: Why there is no order.
FLOOR, EARLY, FEW = "floor", "not yet asymptotic", "one pair"
#: Orders of neighbouring pairs agree within this share, and the order of one pair with that of the method within the
#: second.
ALIKE, CLAIMED = 0.05, 0.15


class Order(NamedTuple):
    """An order of convergence.

    Attributes
    ----------
    value : float
        NaN if it cannot be told.
    status : str
        "", "floor" (errors do not fall with dt, for tolerance or rounding rule them), "not yet asymptotic" (orders
        between neighbouring time steps neither agree with each other nor with that of the method) or "one pair" (of
        time steps, and no order of the method to compare with).
    """

    value: float
    status: str = ""


def pair_orders(dts: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return log(e_i / e_j) / log(dt_i / dt_j) of neighbours (n - 1,) of time steps (n,) [s] and errors (n,)."""
    with np.errstate(all="ignore"):
        found: np.ndarray = np.diff(np.log(errors)) / np.diff(np.log(dts))
    return found


def order_of(dts: Sequence[float], errors: Sequence[float], at_floor: Sequence[bool], claimed: float | None) -> Order:
    """Return the order of errors (n,) at time steps (n,) [s], from the shortest steps that are above the floor.

    Two neighbouring pairs of steps must agree, or the last pair with the method's own order.

    Parameters
    ----------
    dts, errors : sequences of n floats
    at_floor : sequence of n bools
        Whether something else than dt rules an error.
    claimed : float or None
        The method's own order, None if it has none here.
    """
    by = np.argsort(dts)[::-1]
    steps, sizes, low = (np.asarray(x)[by] for x in (dts, errors, at_floor))
    if len(steps) < 2:
        return Order(math.nan, EARLY)
    above = ~low.astype(bool)
    pairs = pair_orders(steps, sizes)
    pairs = np.where(above[1:] & above[:-1], pairs, np.nan)
    counted = np.flatnonzero(np.isfinite(pairs))
    if not len(counted):
        return Order(math.nan, FLOOR if low.any() else EARLY)
    if len(counted) == 1 and claimed is None and len(steps) == 2:
        return Order(math.nan, FEW)
    last = int(counted[-1])
    order, first = float(pairs[last]), last
    while first and abs(pairs[first - 1] - order) <= ALIKE * max(abs(order), 1.0):
        first -= 1
    alone = claimed is not None and abs(order - claimed) <= CLAIMED * claimed
    if order <= 0 or not (first < last or alone):
        return Order(math.nan, EARLY)
    fitted = slice(first, last + 2)
    return Order(float(np.polyfit(np.log(steps[fitted]), np.log(sizes[fitted]), 1)[0]))
