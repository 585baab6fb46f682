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


class Linear(NamedTuple):
    """Values (rows, b) of a motion, and their derivatives by the states of their rows (rows, b, n) and by controls.

    The latter are (rows, b, m), or None for values that do not depend on controls.
    """

    values: np.ndarray
    by_state: np.ndarray
    by_control: np.ndarray | None = None

    def change(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the change (rows, b) of the values by states x (steps + 1, n) and controls u (steps, m)."""
        rows, _, n = self.by_state.shape
        found: np.ndarray = (self.by_state @ x[:rows, :n, None])[:, :, 0]
        if self.by_control is not None:
            found += (self.by_control @ u[:, :, None])[:, :, 0]
        return found


class Term(NamedTuple):
    """The gradient (rows, b) and the matrix (rows, b, b) of a term by its values."""

    gradient: np.ndarray
    matrix: np.ndarray

    def change(self, by: np.ndarray) -> float:
        """Return the change of the term where the values change by ``by`` (rows, b)."""
        return float(np.sum(self.gradient * by) + 0.5 * np.vdot(by, (self.matrix @ by[:, :, None])[:, :, 0]))

    def add(self, given: Linear, cost: Quadratic) -> None:
        """Add the term to the quadratic model of a cost."""
        acts = np.flatnonzero(self.gradient.any(axis=1) | self.matrix.any(axis=(1, 2)))
        first, second, Gx = self.gradient[acts, None], self.matrix[acts], given.by_state[acts]
        n, by_x = Gx.shape[2], second @ Gx
        cost.gradients[acts, :n] += (first @ Gx)[:, 0]
        cost.matrices[acts, :n, :n] += Gx.swapaxes(1, 2) @ by_x
        if given.by_control is not None:
            Gu = given.by_control[acts]
            cost.slopes[acts] += (first @ Gu)[:, 0]
            cost.crossed[acts, :, :n] += Gu.swapaxes(1, 2) @ by_x
            cost.curved[acts] += Gu.swapaxes(1, 2) @ second @ Gu


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

    #: what messages call a row, and whether each column has a name of its own
    row, by_column = "node", False
    #: a violation, over the largest entry of what it changes of the multipliers, divided by the penalty
    spread = 1.0

    def __init__(self, names: Sequence[str], low: np.ndarray, high: np.ndarray, scale: np.ndarray):
        self.names, self.low, self.high, self.scale = list(names), low, high, scale
        #: of the lower bounds, then of the upper ones
        self.multipliers = np.zeros((2, *low.shape))
        #: of each column; none before a search begins
        self.penalties, self._worst = np.zeros(len(self.names)), np.full(len(self.names), np.inf)
        #: of the motions that were last asked for, by the identity of their configurations
        self._values: tuple[np.ndarray, np.ndarray] | None = None
        self._linear: tuple[np.ndarray, Linear] | None = None

    def __bool__(self) -> bool:
        return bool(self.names)

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (rows, b)."""
        raise NotImplementedError

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives; ``slopes`` are those of the impulses, if there are any."""
        raise NotImplementedError

    def values_of(self, motion: Motion) -> np.ndarray:
        """Return the values (rows, b); searches ask for the same motion again, which must not change."""
        if self._values is None or self._values[0] is not motion.q:
            self._values = motion.q, self.values(motion)
        return self._values[1]

    def linear_of(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives, as :meth:`values_of`."""
        if self._linear is None or self._linear[0] is not motion.q:
            self._linear = motion.q, self.linear(motion, slopes)
        return self._linear[1]

    def begin(self, cost: float) -> None:
        """Begin another search with the multipliers that are there; ``cost`` is that of its first motion."""
        first = SHARE * max(abs(cost), TINY) / self.scale**2
        # those of the last search may be more than it takes
        self.penalties, self._worst[:] = np.maximum(first, self.penalties / GROWTH), np.inf

    def shift(self, steps: int) -> None:
        """Let the multipliers of later rows be those of the start and those that follow."""
        last = self.multipliers.shape[1] - 1
        self.multipliers = self.multipliers[:, np.minimum(np.arange(last + 1) + steps, last)] * self.bounded

    @property
    def steep(self) -> np.ndarray:
        """The penalties of the multipliers of a row."""
        return np.repeat(self.penalties, self.multipliers.shape[2] // len(self.penalties))

    @property
    def bounded(self) -> np.ndarray:
        """Where there are multipliers."""
        return np.isfinite([self.low, self.high])

    def take(self, other: BoundedValues) -> None:
        """Take multipliers and penalties from those of the same rows that others had, by the names of columns."""
        if self.names == other.names:
            self.multipliers, self.penalties = other.multipliers * self.bounded, other.penalties.copy()
            return
        for k, name in enumerate(self.names):
            if name in other.names:
                at = other.names.index(name)
                self.multipliers[:, :, k] = other.multipliers[:, :, at] * self.bounded[:, :, k]
                self.penalties[k] = other.penalties[at]

    def costs(self, values: np.ndarray) -> np.ndarray:
        """Return the terms (rows,) of values, of which the multipliers' part is left out."""
        return np.asarray(np.sum(self._pushes(values) ** 2 / (2 * self.penalties), axis=(0, 2)))

    def term(self, values: np.ndarray) -> Term:
        """Return the derivatives of the terms by the values."""
        lower, upper = self._pushes(values)
        acts = self.penalties * ((lower > 0).astype(float) + (upper > 0))
        return Term(upper - lower, acts[:, :, None] * np.eye(len(self.names)))

    def penalise(self, motion: Motion) -> float:
        """Return the term of a motion."""
        if not self.penalties.any():
            return 0.0
        known = np.sum(self.multipliers**2 / (2 * self.steep))
        return float(self.costs(self.values_of(motion)).sum() - known)

    def violation(self, motion: Motion) -> tuple[float, str]:
        """Return the largest amount by which a bound is violated, and where."""
        off = self._excess(self.values_of(motion)).max(axis=0, initial=0.0)
        at, which = np.unravel_index(int(np.argmax(off)), off.shape)
        return max(float(off[at, which]), 0.0), f"{self.names[which]} at {self.row} {at}"

    def update(self, motion: Motion, grow: bool) -> float:
        """Take the multipliers from a motion that minimises the sum; return by how much they were wrong before.

        That is the largest violation, or the room to a bound whose multiplier is too large. With ``grow`` the penalties
        of violations that have not shrunk enough grow.
        """
        found = self._pushes(self.values_of(motion))
        off = (np.abs(found - self.multipliers) / self.steep).max(axis=(0, 1), initial=0.0)
        off = self.spread * off.reshape(len(self.penalties), -1).max(axis=1)
        self.multipliers = found
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

    def _pushes(self, values: np.ndarray) -> np.ndarray:
        """Return max(0, lam + mu c) (2, rows, b)."""
        return np.asarray(np.maximum(0.0, self.multipliers + self.penalties * self._excess(values)))


class Piece(NamedTuple):
    """A term along a motion that is nearby: its quadratic piece there, continued to the motion itself."""

    part: BoundedValues
    given: Linear
    here: Term
    there: Term
    #: the term of the motion itself, and what the piece has there
    cost: float
    start: float

    @classmethod
    def at(cls, part: BoundedValues, given: Linear) -> Piece:
        """Return the piece at the motion itself."""
        term, cost = part.term(given.values), float(part.costs(given.values).sum())
        return cls(part, given, term, term, cost, cost)

    def change(self, by: np.ndarray) -> tuple[float, float, float]:
        """Return by how much changes of the term differ from those of the piece, where the values change so much.

        They are the linear change and the whole one. The third number is by how much the term differs from the piece
        there.
        """
        piece, whole = self.there.change(by), float(self.part.costs(self.given.values + by).sum())
        first = float(np.sum((self.here.gradient - self.there.gradient) * by))
        return first, whole - self.cost - piece, whole - self.start - piece


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

    def take(self, other: Bounded) -> None:
        """Take multipliers and penalties of bounds on the same values from others."""
        for part in self.parts:
            for one in other.parts:
                if type(one) is type(part) and (one.names == part.names or type(one).by_column):
                    part.take(one)

    def penalise(self, motion: Motion) -> float:
        """Return the terms of a motion."""
        return sum(part.penalise(motion) for part in self.parts)

    def add(self, motion: Motion, slopes: ImpulseSlopes | None, cost: Quadratic) -> list[Piece]:
        """Add the terms' gradients and Gauss-Newton matrices to the quadratic model of the cost, and return them."""
        found = []
        for part in self.parts:
            if part.penalties.any():
                found.append(Piece.at(part, part.linear_of(motion, slopes)))
                found[-1].here.add(found[-1].given, cost)
        return found

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


def moved(pieces: Sequence[Piece], changes: Sequence[np.ndarray], cost: Quadratic) -> list[Piece]:
    """Return the pieces of terms whose values change so much.

    The quadratic model of the cost, which has the given pieces, gets these instead.
    """
    found = []
    for one, by in zip(pieces, changes, strict=True):
        term, old = one.part.term(one.given.values + by), one.there
        rows = np.flatnonzero((term.matrix != old.matrix).any(axis=(1, 2)))
        gradient, matrix = old.gradient.copy(), term.matrix
        gradient[rows] = term.gradient[rows] - (matrix[rows] @ by[rows, :, None])[:, :, 0]
        Term(gradient - old.gradient, matrix - old.matrix).add(one.given, cost)
        there = Term(gradient, matrix)
        start = float(one.part.costs(one.given.values + by).sum()) - there.change(by)
        found.append(one._replace(there=there, start=start))
    return found
