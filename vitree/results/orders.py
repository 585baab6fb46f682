"""Orders of convergence from errors at several time steps: what can be said, and why not if nothing can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: Why there is no order.
FLOOR, EARLY, FEW, SCATTERED = "floor", "not yet asymptotic", "one pair", "scattered"
#: Orders of neighbouring pairs agree within this share, and the order of one pair with that of the method within the
#: second.
ALIKE, CLAIMED = 0.05, 0.15
#: An error of more is large [rad, m].
LARGE = 0.1
#: Of errors that scatter: samples of them that are drawn, and the largest standard error of an order.
DRAWN, SURE = 400, 0.2


class Order(NamedTuple):
    """An order of convergence.

    Attributes
    ----------
    value : float
        NaN if it cannot be told.
    status : str
        "", "floor" (errors do not fall with dt, for tolerance or rounding rule them), "not yet asymptotic" (orders
        between neighbouring time steps neither agree with each other nor with that of the method), "one pair" (of
        time steps, and no order of the method to compare with) or "scattered" (its standard error is too large).
    error : float
        Standard error of the order of errors that scatter; NaN of others.
    """

    value: float
    status: str = ""
    error: float = math.nan


def pair_orders(dts: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return log(e_i / e_j) / log(dt_i / dt_j) of neighbours (n - 1,) of time steps (n,) [s] and errors (n,)."""
    with np.errstate(all="ignore"):
        found: np.ndarray = np.diff(np.log(errors)) / np.diff(np.log(dts))
    return found


def order_of(dts: Sequence[float], errors: Sequence[float], at_floor: Sequence[bool], claimed: float | None) -> Order:
    """Return the order of errors (n,) at time steps (n,) [s], from the shortest steps that are above the floor.

    Two neighbouring pairs of steps must agree, or the last pair with the method's own order. Errors as large as the
    motion itself can agree by chance: where the order is not the method's own, they must be below ``LARGE``.

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
    if claimed is not None and not alone and sizes[first : last + 2].max() > LARGE:
        return Order(math.nan, EARLY)
    fitted = slice(first, last + 2)
    return Order(float(np.polyfit(np.log(steps[fitted]), np.log(sizes[fitted]), 1)[0]))


def order_of_scattered(dts: Sequence[float], errors: Sequence[np.ndarray], floor: float) -> Order:
    """Return the order of errors that scatter, as those of impacts do: by where in a step they are.

    The order is that of their root mean squares, fitted to the smallest time steps that agree with each other: two
    neighbouring pairs at least, to twice the standard error of their difference. Standard errors are those of samples
    that are drawn from the errors with replacement.

    Parameters
    ----------
    dts : sequence of n floats
        Typical time steps [s].
    errors : sequence of n arrays (k,)
        Errors at time steps about each of these.
    floor : float
        Smaller root mean squares are ruled by something else than dt.

    References
    ----------
    Efron 1979, "Bootstrap methods: another look at the jackknife".
    """
    by = np.argsort(dts)[::-1]
    squares = [np.square(errors[k]) for k in by]
    steps, sizes = np.asarray(dts)[by], np.sqrt([each.mean() for each in squares])
    above = sizes > floor
    if not above[-2:].all() or len(steps) < 2:
        return Order(math.nan, EARLY if above.all() else FLOOR)
    if len(steps) == 2:
        return Order(math.nan, FEW)
    rng = np.random.default_rng(0)
    drawn = np.stack([np.sqrt(rng.choice(each, (DRAWN, len(each))).mean(axis=1)) for each in squares], axis=1)
    with np.errstate(all="ignore"):
        slopes = np.diff(np.log(drawn)) / np.diff(np.log(steps))
        apart = np.std(slopes - slopes[:, -1:], axis=0)
    pairs, last = pair_orders(steps, sizes), len(steps) - 2
    first = last
    while first and above[first - 1]:
        share = max(2.0 * float(apart[first - 1]), ALIKE * max(abs(float(pairs[last])), 1.0))
        if not abs(pairs[first - 1] - pairs[last]) <= share:
            break
        first -= 1
    if first == last:
        return Order(math.nan, EARLY)
    x = np.log(steps[first:])
    if not (drawn[:, first:] > 0).all():
        return Order(math.nan, SCATTERED)
    order = float(np.polyfit(x, np.log(sizes[first:]), 1)[0])
    error = float(np.std(np.polyfit(x, np.log(drawn[:, first:]).T, 1)[0]))
    if error > SURE:
        return Order(math.nan, SCATTERED)
    return Order(order, "", error) if order > 2.0 * error else Order(math.nan, EARLY)
