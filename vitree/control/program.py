"""Nonlinear programs whose costs and constraints are sums of terms: functions that each look at a few variables.

The terms give values, and sparse Jacobians and Hessians of a fixed structure. Slopes come from complex steps, which are
exact to round-off, or from a gradient that a term brings; curvatures from central differences of such slopes (error
about 1e-10). A function without a gradient must therefore be analytic and take complex numbers: it may use np.where on
real parts, but no abs, norm, max or comparison of complex values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of
from vitree.errors import InputError

_COMPLEX_STEP = 1e-30
_REAL_STEP = 1e-5
#: Largest relative difference of slopes by complex steps and by differences where a function is checked.
_AGREEMENT = 1e-4

#: The search begins this share of their distance away from bounds that hold strictly.
_MARGIN = 0.05

Function = Callable[[np.ndarray], np.ndarray]
#: What the variables of a program describe, such as a plan.
Motion = TypeVar("Motion")

#: For numbers beyond a double: the results are infinite or NaN, which solvers see.
quiet = np.errstate(all="ignore")


# ---- terms --------------------------------------------------------------------------------------------------


@lru_cache
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(n)


class Term:
    """A function of ``width`` variables, evaluated at n places at once.

    Parameters
    ----------
    name : str
        For messages.
    function : callable
        Takes (..., n, width), complex too, and returns (..., n, m).
    index : (n, width) int array
        The variables of each place.
    rows : (n, m) int array
        The rows to which the values are added; zeros for costs.
    gradient : callable, optional
        Takes (..., n, width), real, and returns the slopes (..., n, m, width). It is for functions that take no complex
        numbers.
    adjoint : callable, optional
        Takes (..., n, width), real, and weights (n, m), and returns the slopes (..., n, width) of the sum of weights
        times values: that of the gradient, where it is found without the gradient in less time.
    """

    def __init__(self, name: str, function: Function, index: ArrayLike, rows: ArrayLike,
                 gradient: Function | None = None,
                 adjoint: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None):  # fmt: skip
        self.name, self.function, self.gradient, self.adjoint = name, function, gradient, adjoint
        self.index, self.rows = np.atleast_2d(index), np.atleast_2d(rows)
        self.width = self.index.shape[1]

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return the values (n, m)."""
        return self.function(x[self.index])

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the slopes (n, m, width)."""
        local = x[self.index]
        if self.gradient is not None:
            return self.gradient(local)
        steps = _COMPLEX_STEP * 1j * np.eye(self.width)[:, None, :]
        return np.moveaxis(self.function(local + steps).imag, 0, -1) / _COMPLEX_STEP

    def curvatures(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the second derivatives (n, width, width) of the sum of weights (n, m) times values."""
        local, eye = x[self.index], np.eye(self.width)[:, None, :]
        if not weights.any():
            return np.zeros((*local.shape, self.width))
        steps = _REAL_STEP * np.maximum(1.0, np.abs(local))
        if self.gradient is not None:
            plus, minus = (self._weighted(local + sign * steps * eye, weights) for sign in (1, -1))
            H = np.moveaxis(plus - minus, 0, 1) / (2 * steps[..., None])
            return np.asarray((H + np.swapaxes(H, 1, 2)) / 2)
        a, b = _pairs(self.width)
        base = local + 1j * _COMPLEX_STEP * eye[a]
        plus, minus = ((self.function(base + sign * steps * eye[b]).imag * weights).sum(-1) for sign in (1, -1))
        H = np.empty((len(local), self.width, self.width))
        H[:, a, b] = H[:, b, a] = (plus - minus).T / (2 * _COMPLEX_STEP * steps[:, b])
        return H

    def _weighted(self, local: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the slopes (..., n, width) of the sum of weights (n, m) times values."""
        if self.adjoint is not None:
            return self.adjoint(local, weights)
        assert self.gradient is not None
        return np.asarray((weights[:, None, :] @ self.gradient(local))[..., 0, :])

    def check(self, x: np.ndarray) -> None:
        """Raise an InputError if the function's result has another shape, or its slopes differ from differences."""
        local = x[self.index]
        shape = self.rows.shape
        given = np.shape(self.function(local))
        if given != shape:
            raise InputError(f"{self.name} gives an array of shape {given}; it must be {shape}, a row for each step")
        steps = _REAL_STEP * np.maximum(1.0, np.abs(local))
        eye = np.eye(self.width)[:, None, :]
        plus, minus = (self.function(local + sign * steps * eye) for sign in (1, -1))
        differences = np.moveaxis(plus - minus, 0, -1) / (2 * steps[:, None, :])
        try:
            slopes = self.slopes(x)
        except TypeError as trouble:
            raise InputError(
                f"{self.name} does not take complex numbers ({trouble}); give its gradient, or write it so that it does"
            ) from None
        error = np.abs(slopes - differences).max(initial=0)
        if not error <= _AGREEMENT * max(1.0, np.abs(differences).max(initial=0)):
            raise InputError(
                f"{self.name}: the slopes by complex steps differ from differences by {error:.2g} near the guess; "
                "write it without abs, norm, max, min and comparisons of its arguments, which break complex steps, "
                "or give its gradient"
            )


class Linear(Term):
    """The sum (n, 1) of factors (width,) times variables."""

    def __init__(self, name: str, index: ArrayLike, rows: ArrayLike, factors: ArrayLike):
        c = np.asarray(factors, dtype=float)
        super().__init__(name, lambda z: (z @ c)[..., None], index, rows)
        self._factors = c

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the factors, (n, 1, width)."""
        return np.broadcast_to(self._factors, (*self.rows.shape, self.width))

    def curvatures(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return zeros (n, width, width)."""
        return np.zeros((*self.index.shape, self.width))


class Pattern:
    """The fixed structure of a sparse matrix whose entries are sums of many contributions."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]):
        keys, self._place = np.unique(rows.astype(np.int64) * shape[1] + columns, return_inverse=True)
        self.shape = shape
        self.rows, self.columns = (part.astype(np.int32) for part in divmod(keys, max(shape[1], 1)))
        self._starts = np.searchsorted(self.rows, np.arange(shape[0] + 1)).astype(np.int32)

    def entries(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of the contributions, (nnz,), in the order of ``rows`` and ``columns``."""
        return np.bincount(self._place, values, len(self.rows))

    def matrix(self, values: np.ndarray) -> sp.csr_array:
        """Return the sums as a matrix; explicit zeros stay."""
        return sp.csr_array((self.entries(values), self.columns, self._starts), self.shape)


class Sum:
    """A vector (m,) of sums of terms, as a function of the free variables.

    Parameters
    ----------
    terms : sequence of Term
    m : int
    place : (n_all,) int array
        The number of each variable among the free ones, or -1.
    """

    def __init__(self, terms: Sequence[Term], m: int, place: np.ndarray):
        self._terms, self._m = list(terms), m
        self._rows = _joined(term.rows for term in terms)
        rows = _joined(np.repeat(term.rows, term.width) for term in terms)
        columns = _joined(place[np.repeat(term.index[:, None, :], term.rows.shape[1], axis=1)] for term in terms)
        self._kept = columns >= 0
        self._pattern = Pattern(rows[self._kept], columns[self._kept], (m, int(place.max(initial=-1)) + 1))

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return the sums (m,) at all variables x (n_all,)."""
        return np.bincount(self._rows, _joined(term.value(x) for term in self._terms), self._m)

    def jacobian(self, x: np.ndarray) -> sp.csr_array:
        """Return the slopes (m, n) by the free variables."""
        return self._pattern.matrix(_joined(term.slopes(x) for term in self._terms)[self._kept])


class Curvature:
    """The lower triangle (n, n) of the second derivatives of weights times terms, by the free variables."""

    def __init__(self, terms: Sequence[Term], place: np.ndarray):
        self.terms, n = list(terms), int(place.max(initial=-1)) + 1
        rows = _joined(place[np.repeat(term.index, term.width, axis=1)] for term in terms)
        columns = _joined(place[np.tile(term.index, term.width)] for term in terms)
        self._kept = (columns >= 0) & (rows >= columns)
        self._pattern = Pattern(rows[self._kept], columns[self._kept], (n, n))

    def matrix(self, x: np.ndarray, weights: Sequence[np.ndarray]) -> sp.csr_array:
        """Return the triangle at all variables x (n_all,), with weights (m,) of the rows of each term."""
        pairs = zip(self.terms, weights, strict=True)
        return self._pattern.matrix(_joined(term.curvatures(x, w[term.rows]) for term, w in pairs)[self._kept])


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, int), *(np.ravel(part) for part in parts)])


# ---- variables ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Variables at ``count`` nodes in a row from the node ``first`` on, one at each node for each of ``entries``.

    A node from N + 1 on is a place behind the motion, for variables that belong to no node. ``entries`` and ``where``
    are words for messages.
    """

    name: str
    entries: Sequence[str]
    first: int
    count: int
    where: str = "at step {}"


class Variables:
    """The variables of a motion of N steps, block by block at each node, so that Jacobians are banded; T is the last.

    ``at[name]`` has the indices (count, entries) of a block, a row for each of its nodes.

    Attributes
    ----------
    q, u : (N + 1, nq) and (N, nu) int arrays
        The blocks "q" of configurations and "u" of inputs, which all motions have.
    T : int
        The index of the duration [s]; a step takes h = T / N.
    lower, upper : (n,) arrays
        Bounds, in units of the motion. They agree for a variable that is given.
    strict : (n,) bool array
        Whether a variable must stay within its bounds at all times, because there are no equations beyond them.
    """

    def __init__(self, steps: int, blocks: Sequence[Block]):
        self.steps, self._blocks = steps, blocks
        self._index = {b.name: np.zeros((b.count, len(b.entries)), dtype=int) for b in blocks}
        size = 0
        for k in range(max(b.first + b.count for b in blocks)):
            for b in blocks:
                if 0 <= k - b.first < b.count:
                    self._index[b.name][k - b.first] = np.arange(size, size + len(b.entries))
                    size += len(b.entries)
        self.q, self.u, self.T, self.size = self["q"], self["u"], size, size + 1
        self.lower, self.upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self.strict = np.zeros(self.size, dtype=bool)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._index[name]

    @property
    def free(self) -> np.ndarray:
        """Whether a variable is the optimiser's to choose, (n,) bool; the others are given."""
        return self.lower < self.upper

    @property
    def given(self) -> np.ndarray:
        """The values of the variables that are given, (n,) in units of the motion; zero of the others."""
        return np.where(self.free, 0.0, self.lower)

    def timed(self, *index: np.ndarray) -> np.ndarray:
        """Return indices (n, 1 + ...): the duration, and beside it those of other variables (n, ...)."""
        return np.concatenate([np.full((len(index[0]), 1), self.T), *index], axis=1)

    def bound(self, index: np.ndarray | int, lower: ArrayLike, upper: ArrayLike) -> None:
        """Set the bounds of variables."""
        self.lower[index], self.upper[index] = lower, upper

    def give(self, index: np.ndarray | int, values: ArrayLike) -> None:
        """Set the values of variables, which are then no longer free."""
        self.bound(index, values, values)

    def restrict(self, index: np.ndarray, largest: float) -> None:
        """Keep variables within ``largest`` on both sides; where that is narrower than their bounds, strictly."""
        self.strict[index] = (self.lower[index] < -largest) | (self.upper[index] > largest)
        self.lower[index] = np.maximum(self.lower[index], -largest)
        self.upper[index] = np.minimum(self.upper[index], largest)

    def sample(self, index: np.ndarray) -> np.ndarray:
        """Return some values within the bounds, in the shape of the index."""
        return np.asarray(np.clip(0.5, self.lower[index], self.upper[index]))

    def name(self, i: int) -> str:
        """Return the name of a variable, for messages."""
        for block in self._blocks:
            for k, j in np.argwhere(self[block.name] == i):
                return f"{block.entries[j]} {block.where.format(block.first + k)}".strip()
        return "the duration"


# ---- equations ----------------------------------------------------------------------------------------------


class Label(NamedTuple):
    """The name of a block of rows, a row of it for each step from ``first`` on."""

    rows: np.ndarray
    name: str
    first: int


class Equations:
    """Terms that share rows of ``variables``; each row is a constraint between a lower and an upper bound.

    Attributes
    ----------
    terms : list of Term
    labels : list of Label
    count : int
        Rows so far.
    """

    def __init__(self, variables: Variables):
        self.variables = variables
        self.terms: list[Term] = []
        self.labels: list[Label] = []
        self.count = 0
        self._bounds: list[np.ndarray] = []

    @property
    def bounds(self) -> np.ndarray:
        """The lower and the upper bounds of the rows, (2, m)."""
        return np.concatenate([np.zeros((2, 0)), *self._bounds], axis=1)

    def rows(self, name: str, shape: tuple[int, int], limits: ArrayLike = (0.0, 0.0), first: int = 0) -> np.ndarray:
        """Return a new block of rows, of that shape; the limits are those of all of them, or of each."""
        rows = self.count + np.arange(shape[0] * shape[1]).reshape(shape)
        self.count += rows.size
        self.labels.append(Label(rows, name, first))
        self._bounds.append(np.broadcast_to(np.array(limits, dtype=float).reshape(2, -1), (2, rows.size)))
        return rows

    def add(self, name: str, function: Function, index: np.ndarray, limits: tuple[float, float] = (0.0, 0.0),
            first: int = 0, gradient: Function | None = None) -> np.ndarray:  # fmt: skip
        """Add the constraint that a function of the variables at each row of an index is between two limits."""
        if not limits[0] <= limits[1]:
            raise InputError(f"{name} has the bounds {limits[0]} and {limits[1]}; give a lower and an upper bound")
        width = function(np.zeros(index.shape) + self.variables.sample(index)).shape[-1]
        rows = self.rows(name, (len(index), width), limits, first)
        self.terms.append(Term(name, function, index, rows, gradient))
        return rows


# ---- programs -----------------------------------------------------------------------------------------------

class Program(Generic[Motion]):
    """Minimise ``objective(x)``, with ``constraints(x)`` and ``x`` between their bounds, as solvers take it.

    Attributes are those of :class:`vitree.control.TranscriptionProblem`.

    Notes
    -----
    Arguments of the methods are

    x : (n,) array
        The free variables, in units of the motion.
    multipliers : (m,) array
        One for each constraint, in units of cost per constraint.
    """

    x0: np.ndarray
    #: options of IPOPT that suit the problem
    ipopt: Mapping[str, object] = MappingProxyType({})

    def _assemble(self, variables: Variables, equations: Equations, costs: Sequence[Term]) -> None:
        """Number the free variables in their order, and sum the terms."""
        self._variables = variables
        self.constraint_bounds, self._labels = equations.bounds, equations.labels
        # The optimiser sees the free variables only; place is -1 of the others.
        self._free = np.flatnonzero(variables.free)
        self._given = variables.given
        self.bounds = np.stack((variables.lower[self._free], variables.upper[self._free]))
        self.strict = variables.strict[self._free]
        place = np.full(variables.size, -1)
        place[self._free] = np.arange(len(self._free))
        terms = equations.terms
        self._constraints = Sum(terms, equations.count, place)
        self._cost = Sum(costs, 1, place)
        self._curvature = Curvature([*terms, *costs], place)
        self._counts = len(terms), len(costs)

    def trajectory(self, x: ArrayLike) -> Motion:
        """Return the motion whose variables are ``x``."""
        raise NotImplementedError

    @quiet
    def objective(self, x: ArrayLike) -> float:
        """Return the cost, in units of its terms."""
        return float(self._cost.value(self._expand(x))[0])

    @quiet
    def gradient(self, x: ArrayLike) -> np.ndarray:
        """Return the slopes (n,) of the cost, in units of cost per variable."""
        return np.asarray(self._cost.jacobian(self._expand(x)).toarray()[0])

    @quiet
    def constraints(self, x: ArrayLike) -> np.ndarray:
        """Return the constrained values (m,), in units of each."""
        return self._constraints.value(self._expand(x))

    @quiet
    def jacobian(self, x: ArrayLike) -> sp.csr_array:
        """Return the slopes (m, n) of the constraints; the structure is the same at all x."""
        return self._constraints.jacobian(self._expand(x))

    @quiet
    def hessian(self, x: ArrayLike, multipliers: ArrayLike, cost: float = 1.0) -> sp.csr_array:
        """Return the lower triangle (n, n) of the second derivatives of cost * objective + multipliers . constraints.

        ``cost`` is a factor. The derivatives are central differences of exact slopes, off by about 1e-10 of their size.

        Raises
        ------
        InputError
            If the numbers of variables or multipliers are others.
        """
        count = self.constraint_bounds.shape[1]
        of_constraints = entries(multipliers, (count,), "multipliers", ", one for each constraint")
        of_cost = entries(cost, (), "cost").reshape(1)
        weights = [of_constraints] * self._counts[0] + [of_cost] * self._counts[1]
        return self._curvature.matrix(self._expand(x), weights)

    @quiet
    def violations(self, x: ArrayLike) -> list[tuple[str, float]]:
        """Return the violated constraints and the amounts, in units of each, the largest first, one for each kind."""
        off, beyond = self._excess(x)
        found = []
        for rows, name, first in self._labels:
            at = int(off[rows].max(axis=1).argmax())
            found.append((float(off[rows][at].max()), f"{name} at step {at + first}" if len(rows) > 1 else name))
        worst = int(beyond.argmax())
        found.append((float(beyond[worst]), f"bounds of {self._variables.name(self._free[worst])}"))
        return [(name, amount) for amount, name in sorted(found, reverse=True) if amount > 0]

    @quiet
    def violation(self, x: ArrayLike) -> float:
        """Return the largest amount of ``violations``, in units of its constraint, or 0."""
        return max(0.0, *(float(part.max(initial=0.0)) for part in self._excess(x)))

    def _excess(self, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return how far constraints and variables are beyond their bounds; NaN counts as infinitely far."""
        c, x = self.constraints(x), self._variables_of(x)
        off = np.maximum(self.constraint_bounds[0] - c, c - self.constraint_bounds[1])
        beyond = np.maximum(self.bounds[0] - x, x - self.bounds[1])
        return np.where(np.isnan(off), np.inf, off), np.where(np.isnan(beyond), np.inf, beyond)

    # ---- variables --------------------------------------------------------------------------------------------

    def _expand(self, x: ArrayLike) -> np.ndarray:
        """Return all variables: the free ones as in ``x``, the others as given."""
        full = self._given.copy()
        full[self._free] = self._variables_of(x)
        return full

    def _variables_of(self, x: ArrayLike) -> np.ndarray:
        """Return the free variables as an array of floats, or raise an InputError."""
        found = numbers_of(x, "x")
        if found.shape != (len(self._free),):
            raise InputError(f"x has shape {found.shape}; it must be ({len(self._free)},), one number a free variable")
        return found

    @quiet
    def _clipped(self, x: np.ndarray) -> np.ndarray:
        """Return free variables clipped to their bounds, with a margin where the bounds hold strictly."""
        margin = np.where(self.strict, _MARGIN * (self.bounds[1] - self.bounds[0]), 0.0)
        return np.asarray(np.clip(x, self.bounds[0] + margin, self.bounds[1] - margin))
