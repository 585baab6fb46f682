"""A nonlinear program whose functions are sums of terms, as solvers take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of
from vitree.control.equations import Equations
from vitree.control.terms import Curvature, Sum, Term
from vitree.errors import InputError

#: The search begins this share of their distance away from bounds that hold strictly.
_MARGIN = 0.05

#: For numbers beyond a double: the results are infinite or NaN, which solvers see.
quiet = np.errstate(all="ignore")


class Program:
    """Minimise ``objective(x)``, with ``constraints(x)`` and ``x`` between their bounds.

    ``constraint_bounds[0] <= constraints(x) <= constraint_bounds[1]`` and ``bounds[0] <= x <= bounds[1]``.

    Attributes
    ----------
    x0 : (n,) array
        Variables of the guess, in units of the motion.
    bounds, constraint_bounds : (2, n) and (2, m) arrays
        In units of the motion and of the constraints.
    strict : (n,) bool array
        Whether the bounds of a variable must hold at all times, because there are no equations beyond them.

    Notes
    -----
    Arguments of the methods are

    x : (n,) array
        The free variables, in units of the motion.
    multipliers : (m,) array
        One a constraint, in units of cost per constraint.
    """

    x0: np.ndarray
    #: options of IPOPT that suit the problem
    ipopt: Mapping[str, Any] = MappingProxyType({})

    def _assemble(self, variables: Any, equations: Equations, costs: Sequence[Term]) -> None:
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

    def trajectory(self, x: ArrayLike) -> Any:
        """Return the motion whose variables are ``x``."""
        raise NotImplementedError

    @quiet
    def objective(self, x: ArrayLike) -> float:
        """Return the cost, in units of its terms."""
        return float(self._cost.value(self._expand(x))[0])

    @quiet
    def gradient(self, x: ArrayLike) -> np.ndarray:
        """Return the slopes (n,) of the cost, in units of cost per variable."""
        return self._cost.jacobian(self._expand(x)).toarray()[0]

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
        of_constraints = entries(multipliers, (self.constraint_bounds.shape[1],), "multipliers", ", one a constraint")
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

    def _excess(self, x) -> tuple[np.ndarray, np.ndarray]:
        """Return how far constraints and variables are beyond their bounds; NaN counts as infinitely far."""
        c, x = self.constraints(x), self._variables_of(x)
        off = np.maximum(self.constraint_bounds[0] - c, c - self.constraint_bounds[1])
        beyond = np.maximum(self.bounds[0] - x, x - self.bounds[1])
        return np.where(np.isnan(off), np.inf, off), np.where(np.isnan(beyond), np.inf, beyond)

    # ---- variables --------------------------------------------------------------------------------------------

    def _expand(self, x) -> np.ndarray:
        """Return all variables: the free ones as in ``x``, the others as given."""
        full = self._given.copy()
        full[self._free] = self._variables_of(x)
        return full

    def _variables_of(self, x) -> np.ndarray:
        """Return the free variables as an array of floats, or raise an InputError."""
        found = numbers_of(x, "x")
        if found.shape != (len(self._free),):
            raise InputError(f"x has shape {found.shape}; it must be ({len(self._free)},), one number a free variable")
        return found

    @quiet
    def _clipped(self, x: np.ndarray) -> np.ndarray:
        """Return free variables clipped to their bounds, with a margin where the bounds hold strictly."""
        margin = np.where(self.strict, _MARGIN * (self.bounds[1] - self.bounds[0]), 0.0)
        return np.clip(x, self.bounds[0] + margin, self.bounds[1] - margin)
