"""Sums of functions that each look at a few variables: values, sparse Jacobians and Hessians of a fixed structure.

All derivatives are taken here. Slopes come from complex steps, which are exact to round-off; curvatures from central
differences of such slopes (error about 1e-10). A function must therefore be analytic and take complex numbers: it may
use np.where on real parts, but no abs, norm, max or comparison of complex values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from vitree.errors import InputError

_COMPLEX_STEP = 1e-30
_REAL_STEP = 1e-5
#: Largest relative difference of slopes by complex steps and by differences where a function is checked.
_AGREEMENT = 1e-4

Function = Callable[[np.ndarray], np.ndarray]


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

    def __init__(self, name: str, function: Function, index, rows, gradient: Function | None = None,
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
            return (H + np.swapaxes(H, 1, 2)) / 2
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
        return (weights[:, None, :] @ self.gradient(local))[..., 0, :]

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

    def __init__(self, name: str, index, rows, factors):
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
        self._terms, n = list(terms), int(place.max(initial=-1)) + 1
        rows = _joined(place[np.repeat(term.index, term.width, axis=1)] for term in terms)
        columns = _joined(place[np.tile(term.index, term.width)] for term in terms)
        self._kept = (columns >= 0) & (rows >= columns)
        self._pattern = Pattern(rows[self._kept], columns[self._kept], (n, n))

    def matrix(self, x: np.ndarray, weights: Sequence[np.ndarray]) -> sp.csr_array:
        """Return the triangle at all variables x (n_all,), with weights (m,) of the rows of each term."""
        pairs = zip(self._terms, weights, strict=True)
        return self._pattern.matrix(_joined(term.curvatures(x, w[term.rows]) for term, w in pairs)[self._kept])


def _joined(parts) -> np.ndarray:
    return np.concatenate([np.zeros(0, int), *(np.ravel(part) for part in parts)])
