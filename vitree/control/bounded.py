"""Bounds on values of a motion in shooting searches, by an augmented Lagrangian.

A bound c <= 0 of a value adds the term (max(0, lam + mu c)^2 - lam^2) / (2 mu) to the cost, with a multiplier lam and
a penalty mu. Each time that a search has minimised the sum, lam becomes max(0, lam + mu c), and mu grows where the
violation has not shrunk. At the end the multipliers carry the bounds, at a penalty that stays moderate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: At the first penalty the violation of a bound of one row by its scale costs this share of the first motion's cost.
SHARE = 0.1
#: Costs count as no less than this.
TINY = 1e-12
#: By how much the violation must shrink for the penalty to stay, and by which factor it grows otherwise.
SHRINK, GROWTH = 0.25, 10.0


class Motion(NamedTuple):
    """States at the nodes, q (steps + 1, nq) and p (steps + 1, nv), and impulses of contacts (steps, c)."""

    q: np.ndarray
    p: np.ndarray
    impulses: np.ndarray


class ImpulseSlopes(NamedTuple):
    """Derivatives of impulses of contacts by states (steps, c, 2 nv) and by the controls that act (steps, c, m)."""

    by_state: np.ndarray
    by_control: np.ndarray


class Quadratic(NamedTuple):
    """The quadratic model of a cost: gradients and matrices of states, and terms of controls beside those of R.

    gradients (steps + 1, n) and matrices (steps + 1, n, n) are of states, slopes (steps, m) and curved (steps, m, m)
    of controls, crossed (steps, m, n) of both. The last three are empty where no cost depends on controls and states
    together.
    """

    gradients: np.ndarray
    matrices: np.ndarray
    slopes: np.ndarray
    crossed: np.ndarray
    curved: np.ndarray


class BoundedValues:
    """Values of a motion with bounds, their multipliers and penalties.

    Parameters
    ----------
    names : sequence of str
        What messages call the columns.
    low, high : (rows, b) arrays
        Infinite where there is no bound.
    scale : (b,) array, in units of the values
        A violation that matters.

    References
    ----------
    Hestenes 1969, "Multiplier and gradient methods". Howell, Jackson & Manchester 2019, "ALTRO: a fast solver for
    constrained trajectory optimization", section III.
    """

    #: what messages call a row
    row = "node"

    def __init__(self, names: Sequence[str], low: np.ndarray, high: np.ndarray, scale: np.ndarray):
        self.names, self.low, self.high, self.scale = list(names), low, high, scale
        #: of the lower bounds, then of the upper ones
        self.multipliers = np.zeros((2, *low.shape))
        #: of each column; none before a search begins
        self.penalties, self._worst = np.zeros(len(self.names)), np.full(len(self.names), np.inf)

    def __bool__(self) -> bool:
        return bool(self.names)

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (rows, b)."""
        raise NotImplementedError

    def add(self, motion: Motion, slopes: ImpulseSlopes | None, cost: Quadratic) -> None:
        """Add the terms' gradients and Gauss-Newton matrices to the quadratic model of the cost."""
        raise NotImplementedError

    def begin(self, cost: float) -> None:
        """Begin another search with the multipliers that are there; ``cost`` is that of its first motion."""
        first = SHARE * max(abs(cost), TINY) / self.scale**2
        # those of the last search may be more than it takes
        self.penalties, self._worst[:] = np.maximum(first, self.penalties / GROWTH), np.inf

    def shift(self, steps: int) -> None:
        """Let the multipliers of later rows be those of the start and those that follow."""
        last = self.multipliers.shape[1] - 1
        self.multipliers = self.multipliers[:, np.minimum(np.arange(last + 1) + steps, last)]
        self.multipliers[~np.isfinite([self.low, self.high])] = 0.0

    def penalise(self, motion: Motion) -> float:
        """Return the term of a motion."""
        if not self.penalties.any():
            return 0.0
        found = self.pushes(self.values(motion)) ** 2 - self.multipliers**2
        return float(np.sum(found / (2 * self.penalties)))

    def violation(self, motion: Motion) -> tuple[float, str]:
        """Return the largest amount by which a bound is violated, and where."""
        off = self._excess(self.values(motion)).max(axis=0, initial=0.0)
        at, which = np.unravel_index(int(np.argmax(off)), off.shape)
        return max(float(off[at, which]), 0.0), f"{self.names[which]} at {self.row} {at}"

    def update(self, motion: Motion, grow: bool) -> float:
        """Take the multipliers from a motion that minimises the sum; return by how much they were wrong before.

        That is the largest violation, or the room to a bound whose multiplier is too large. With ``grow`` the penalties
        of violations that have not shrunk enough grow.
        """
        c = self._excess(self.values(motion))
        off = np.abs(np.maximum(c, -self.multipliers / self.penalties)).max(axis=(0, 1))
        self.multipliers = np.maximum(0.0, self.multipliers + self.penalties * c)
        if grow:
            self.penalties[off > SHRINK * self._worst] *= GROWTH
        self._worst = off
        return float(off.max())

    def soften(self) -> None:
        """Lower the penalties of a sum that a search could not minimise; the multipliers stay."""
        self.penalties /= GROWTH

    def _excess(self, values: np.ndarray) -> np.ndarray:
        """Return by how much values are beyond their lower and upper bounds, (2, rows, b); negative inside."""
        return np.stack([self.low - values, values - self.high])

    def pushes(self, values: np.ndarray) -> np.ndarray:
        """Return max(0, lam + mu c) (2, rows, b)."""
        return np.asarray(np.maximum(0.0, self.multipliers + self.penalties * self._excess(values)))

    def weights(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the second derivative (rows, b) of the terms by the values."""
        lower, upper = self.pushes(values)
        return upper - lower, self.penalties * ((lower > 0).astype(float) + (upper > 0))


class Bounded:
    """All bounds on a motion."""

    def __init__(self, parts: Sequence[BoundedValues]):
        self.parts = [part for part in parts if part]

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def warm(self) -> bool:
        """Whether there are multipliers of an earlier search."""
        return any(part.multipliers.any() for part in self.parts)

    def begin(self, cost: float) -> None:
        """Begin another search with the multipliers that are there; ``cost`` is that of its first motion."""
        for part in self.parts:
            part.begin(cost)

    def shift(self, steps: int) -> None:
        """Let the multipliers of later rows be those of the start and those that follow."""
        for part in self.parts:
            part.shift(steps)

    def penalise(self, motion: Motion) -> float:
        """Return the terms of a motion."""
        return sum(part.penalise(motion) for part in self.parts)

    def add(self, motion: Motion, slopes: ImpulseSlopes | None, cost: Quadratic) -> None:
        """Add the terms' gradients and Gauss-Newton matrices to the quadratic model of the cost."""
        for part in self.parts:
            if part.penalties.any():
                part.add(motion, slopes, cost)

    def violation(self, motion: Motion) -> tuple[float, str]:
        """Return the largest amount by which a bound is violated, and where."""
        return max((part.violation(motion) for part in self.parts), default=(0.0, ""))

    def update(self, motion: Motion, grow: bool) -> float:
        """Take the multipliers from a motion that minimises the sum; return by how much they were wrong before."""
        return max(part.update(motion, grow) for part in self.parts)

    def soften(self) -> None:
        """Lower the penalties of a sum that a search could not minimise; the multipliers stay."""
        for part in self.parts:
            part.soften()
