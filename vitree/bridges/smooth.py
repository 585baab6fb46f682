"""Functions of arrays with exact first derivatives, and all that is derived from them: forward, backward, and twice.

Let J(x) be the derivatives of y(x). Bridges need y, its products J t and J^T b, and the derivatives of these products
along a direction w. Each of these is linear in t, b and w, and its transpose is another of them, because second
derivatives are symmetric. So the five :data:`OPERATIONS` are closed under two differentiations, in forward and in
reverse mode. The last two are central differences of the products, of order 6. Third derivatives are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from vitree.errors import InputError
from vitree.integrators.curvature import CLOSE

Arrays = tuple[np.ndarray, ...]
Shape = tuple[int, ...]
Entry = TypeVar("Entry")


class Operation(NamedTuple):
    """One of the functions that derivatives of y(x) are made of.

    Attributes
    ----------
    groups : str
        Its arguments: "x" for arrays like those of x, "y" for arrays like those of y. The first are x itself; it is
        linear in each of the others.
    result : {"x", "y"}
    along : str or None
        Its derivative along a direction of x, which is a further group; None if there is none.
    transposes : tuple of (str, tuple of int)
        For each linear group the transposed operation, and the groups that it takes. The cotangent is the last group.
    """

    groups: str
    result: str
    along: str | None
    transposes: tuple[tuple[str, tuple[int, ...]], ...]


OPERATIONS = {
    "value": Operation("x", "y", "push", ()),
    "push": Operation("xx", "y", "push_along", (("pull", (0, 2)),)),
    "pull": Operation("xy", "x", "pull_along", (("push", (0, 2)),)),
    "push_along": Operation("xxx", "y", None, (("pull_along", (0, 3, 2)), ("pull_along", (0, 3, 1)))),
    "pull_along": Operation("xyx", "x", None, (("push_along", (0, 3, 2)), ("pull_along", (0, 1, 3)))),
}


class Point(NamedTuple):
    """A function at some x: its value, and the products J t and J^T b there."""

    value: Arrays
    push: Callable[[Arrays], Arrays]
    pull: Callable[[Arrays], Arrays]


@dataclass(frozen=True, eq=False)
class Smooth:
    """A function of arrays of rows: row k of its results depends on row k of its arguments alone.

    Attributes
    ----------
    names : tuple of str
        Of its arguments.
    at : callable (*x) -> Point
        Its products take as many rows as x has, or any number where x has one.
    axes : tuple of int
        How many last axes of each argument are not instances.
    shapes : callable (shapes of x) -> shapes of y
        Of the results, without instances.
    sizes : callable (x, point, w) -> (n,) array
        How far differences go along directions w.
    require_second : callable ()
        Raises a ModelError if there are no second derivatives.
    """

    names: tuple[str, ...]
    at: Callable[..., Point]
    axes: tuple[int, ...]
    shapes: Callable[[Sequence[Shape]], tuple[Shape, ...]]
    sizes: Callable[[Arrays, Point, Arrays], np.ndarray]
    require_second: Callable[[], None]

    def split(self, groups: str, arrays: Sequence[Entry]) -> list[list[Entry]]:
        """Return arrays by their groups, such as "xy"."""
        counts = {"x": len(self.axes), "y": len(self.shapes([(1,) * k for k in self.axes]))}
        found, left = [], list(arrays)
        for group in groups:
            found.append(left[: counts[group]])
            left = left[counts[group] :]
        return found

    def result_shapes(self, name: str, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Return the shapes of an operation's results, from those of its arguments with one number of leading axes."""
        of_x = shapes[: len(self.axes)]
        if OPERATIONS[name].result == "x":
            return tuple(of_x)
        batch = of_x[0][: len(of_x[0]) - self.axes[0]]
        return tuple((*batch, *shape) for shape in self.shapes(of_x))

    def require_along(self, name: str) -> str:
        """Return the derivative of an operation along x.

        Raises an InputError if it is a third derivative, and a ModelError if it is a second one that does not exist.
        """
        along = OPERATIONS[name].along
        if along is None:
            raise InputError(
                "third derivatives of steps are not available: differentiate at most twice. The second derivatives are "
                "differences of exact first ones, and differences of these would be inaccurate"
            )
        if OPERATIONS[along].along is None:
            self.require_second()
        return along

    def evaluate(self, name: str, arrays: Sequence[np.ndarray], at: Callable[..., Point] | None = None) -> Arrays:
        """Return the results of an operation of :data:`OPERATIONS` on rows.

        ``at`` is what is asked for the point, where it may be known.
        """
        operation = OPERATIONS[name]
        x, *others = (tuple(group) for group in self.split(operation.groups, arrays))
        if name.endswith("_along"):
            return self._along(name.removesuffix("_along"), x, *others)
        if name != "value" and len(x[0]) > 1 and all((a == a[:1]).all() for a in x):
            # Jacobians, and Hessians of one instance, are products at one point with many rows
            x = tuple(a[:1] for a in x)
        point = (at or self.at)(*x)
        if name == "value":
            return point.value
        return point.push(*others) if name == "push" else point.pull(*others)

    def _along(self, name: str, x: Arrays, other: Arrays, w: Arrays) -> Arrays:
        """Return the derivative along w of a product with J(x), by differences."""
        rows = len(x[0])
        if not rows:
            return self.evaluate(name, (*x, *other))
        one = all((a == a[:1]).all() for a in x)
        size = self.sizes(x, self.at(*(a[:1] for a in x) if one else x), w)
        found: list[np.ndarray] = []
        for place, weight in CLOSE.sides:
            moved = tuple(a + _by_rows(place * size, b) for a, b in zip(x, w, strict=True))
            there = self.evaluate(name, (*moved, *other))
            part = [_by_rows(weight / size, y) for y in there]
            found = part if not found else [a + b for a, b in zip(found, part, strict=True)]
        return tuple(found)


class LastPoint:
    """The point where a function was evaluated last: it is not evaluated twice for the same numbers.

    Attributes
    ----------
    smooth : Smooth
    """

    def __init__(self, smooth: Smooth):
        self.smooth = smooth
        self._last: tuple[Arrays, Point] | None = None

    def evaluate(self, name: str, arrays: Sequence[np.ndarray]) -> Arrays:
        """Return the results of an operation on rows."""
        return self.smooth.evaluate(name, arrays, self._at)

    def _at(self, *x: np.ndarray) -> Point:
        last = self._last
        if last is None or not all(map(np.array_equal, x, last[0])):
            last = self._last = tuple(a.copy() for a in x), self.smooth.at(*x)
        return last[1]


def _by_rows(factors: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return x with a factor on each row."""
    found: np.ndarray = factors.reshape(-1, *(1,) * (x.ndim - 1)) * x
    return found
