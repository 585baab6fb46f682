"""The variational integrators: linear-time (Lee et al. 2016) and midpoint (Johnson & Murphey 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from vitree._core import scalar
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.base import CompiledIntegrator
from vitree.integrators.composition import SHARES, TOLERANCES

SOLVERS: dict[str, int] = scalar().SOLVERS
GUESSES: dict[str, int] = scalar().GUESSES

_OPTIONS = {
    "solver": "one of auto, recursive-newton (exact direction at each pass, in O(n)), newton (the same by a dense "
    "matrix), frozen (one exact factorisation a step), broyden (updates of it), riqn (impulse-based quasi-Newton)",
    "guess": "one of auto, current, euler, semi-implicit, aba, extrapolate (the order that did best lately), "
    "extrapolate-2, -3, -4",
    "order": "2 (default), 4, 6 or 8: steps composed of 5, 9 or 17 substeps",
    "halvings": "how often a step that cannot be solved is halved (default 3 with the solver auto, else 0)",
    "tolerance": "largest residual accepted, as a share of the momentum (default 1e-9; orders 4 to 8: to 1e-12)",
    "max_iterations": "most corrections of one step (default 30)",
}


class Variational(CompiledIntegrator):
    """What both have in common: the state is (q, p), and a step solves for the next q.

    A step ends when the residual is below ``tolerance`` times the largest momentum or impulse; what
    is left is carried into p, so that momentum is kept to round-off at any tolerance.
    """

    uses_momentum = True
    order = 2
    symplectic = True
    conserves_momentum = True
    options: ClassVar[Mapping[str, str]] = _OPTIONS
    remedy = "halve dt, or give max_iterations= or a looser tolerance="

    def _solver_options(self) -> dict:
        chosen = self.chosen
        solver, guess = chosen.get("solver", "auto"), chosen.get("guess", "auto")
        if solver not in SOLVERS:
            raise UnknownNameError("solver", solver, SOLVERS)
        if guess not in GUESSES:
            raise UnknownNameError("guess", guess, GUESSES)
        self.order = chosen.get("order", 2)
        if self.order not in SHARES:
            raise InputError(f"order={self.order!r} is not known; choose from {', '.join(map(str, SHARES))}")
        tolerance, most = chosen.get("tolerance", TOLERANCES[self.order]), chosen.get("max_iterations", 30)
        if not (isinstance(tolerance, int | float) and 1e-14 <= tolerance < 1e-2):
            raise InputError(
                f"tolerance={tolerance!r} must be a share of the momentum from 1e-14 (below it rounding rules) to 1e-2"
            )
        if not (isinstance(most, int) and most >= 1):
            raise InputError(f"max_iterations={most!r} must be a whole number, at least 1")
        halvings = chosen.get("halvings", 3 if solver == "auto" else 0)
        if not (isinstance(halvings, int) and 0 <= halvings <= 20):
            raise InputError(f"halvings={halvings!r} must be a whole number from 0 to 20")
        shares = SHARES[self.order]
        bounds = np.concatenate(([0.0], np.cumsum(shares)[:-1], [1.0]))
        self.moments = np.column_stack((bounds[:-1], 0.5 * (bounds[:-1] + bounds[1:]))).ravel()
        return {
            "solver": SOLVERS[solver], "guess": GUESSES[guess], "shares": shares, "halvings": halvings,
            "tolerance": float(tolerance), "max_iterations": most,
        }  # fmt: skip

    @property
    def settings(self):
        return {
            "solver": "auto", "guess": "auto", "order": 2, "tolerance": TOLERANCES[self.order], "max_iterations": 30,
            **self.chosen,
        }  # fmt: skip

    @property
    def halved(self):
        return self.stepper.halved

    def start_between(self, t, q0, q1):
        if self.order > 2:
            raise InputError(f"q1 is the end of a step of order 2; with order={self.order} start from q0 and v0")
        return self.stepper.momentum_between(float(t), q0, q1)


class LinearTime(Variational):
    """The Lie-group trapezoid, residual and exact Newton direction in O(n), on every joint kind.

    References
    ----------
    Lee, Liu, Park & Srinivasa 2016, "A linear-time variational integrator for multibody systems".
    """

    name = "linear-time"

    def _prepare(self):
        self.stepper = self._make("LinearTimeStepper", **self._solver_options())


class Midpoint(Variational):
    """Johnson & Murphey's midpoint rule, in O(n).

    On ball and free joints the middle is half way along the exponential map. ``alpha`` places the
    evaluation between the ends of the step; 1/2 is second order, others are first.

    References
    ----------
    Johnson & Murphey 2009, "Scalable variational integrators for constrained mechanical systems in
    generalized coordinates".
    """

    name = "midpoint"
    options: ClassVar[Mapping[str, str]] = {
        **_OPTIONS,
        "alpha": "where in the step L is taken, 0 to 1 (default 0.5)",
        "residual": "recursive, in O(n), or tree: the derivatives of Johnson & Murphey, in O(n^2), "
        "on joints of one coordinate",
        "caching": "whether the tree's derivatives are kept for use again (default True); the paper compares",
    }

    def _prepare(self):
        alpha = self.chosen.get("alpha", 0.5)
        if not (isinstance(alpha, int | float) and 0 <= alpha <= 1):
            raise InputError(f"alpha={alpha!r} must be a number from 0 to 1")
        residual, caching = self.chosen.get("residual", "recursive"), self.chosen.get("caching", True)
        if residual not in ("recursive", "tree"):
            raise UnknownNameError("residual", residual, ("recursive", "tree"))
        if not isinstance(caching, bool):
            raise InputError(f"caching={caching!r} must be True or False")
        if alpha != 0.5 and self.chosen.get("order", 2) != 2:
            raise InputError(f"alpha={alpha!r} is not self-adjoint: compositions (order=) take alpha=0.5")
        turning = [joint.name for joint in self.model.flat.joints if joint.kind in ("ball", "free")]
        if residual == "tree" and turning:
            names = ", ".join(f'"{name}"' for name in turning)
            raise InputError(
                f'residual="tree" takes joints of one coordinate, and "{self.model.name}" has the ball or free joints '
                f'{names}; take "recursive", or run model.euler(), which has them as Euler angles'
            )
        self.stepper = self._make(
            "MidpointStepper", **self._solver_options(), alpha=float(alpha), tree=residual == "tree", caching=caching
        )

    @property
    def settings(self):
        return {"alpha": 0.5, "residual": "recursive", **super().settings}
