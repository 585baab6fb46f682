"""Iterative LQR: differential dynamic programming on the discrete mechanics, with bounds on the controls.

The cost to go is expanded to second order about a motion, from its end to its start. Far from the optimum the dynamics
are linearised (iterative LQR); near it their second derivatives count as well (DDP), so that the iteration converges
quadratically.
"""

from __future__ import annotations

import numpy as np

from vitree.control.shooting_problem import Iterate, Pass, ShootingProblem, line_search

#: Share of the cost that an iteration must gain for the next one to use linearised dynamics again.
SLOW = 0.01
#: Regularisation, in units of R: the least that is not zero, the most, and the factor by which it begins to change.
LEAST, MOST, FACTOR = 1e-6, 1e10, 2.0


class IterativeLQR:
    """The iteration; ``at`` is the motion so far, ``costs`` its cost after each iteration.

    References: Li & Todorov 2004; Tassa, Mansard & Todorov 2014 (bounds, regularisation).
    """

    def __init__(self, problem: ShootingProblem, at: Iterate):
        self.problem, self.at, self.costs = problem, at, [at.cost]
        self.regularisation, self.factor = 0.0, 1.0
        self.last: Pass | None = None
        self.expansion = problem.expand(at)
        self.curved = False
        #: derivatives of A at the motion, if they are known
        self.bent: np.ndarray | None = None

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        problem = self.problem
        if self.curved and self.bent is None:
            self.bent = problem.curvature(self.at, self.expansion.A)
        expected = self._back(self.bent) if self.curved else None
        expected = self._back() if expected is None else expected
        while expected is None:
            if not self._regularise():
                return False, "no regularisation makes the quadratic model of the cost convex"
            expected = self._back()
        linear, square = expected
        if -(linear + square) <= tolerance * abs(self.at.cost):
            return True, "the cost cannot fall by more than the tolerance"
        assert self.last is not None
        gains = self.last.k, self.last.K
        found = line_search(
            self.at, lambda share: problem.corrected(self.at, share, gains),
            lambda share: -(share * linear + share**2 * square),
        )  # fmt: skip
        if found is None:
            self.costs.append(self.at.cost)
            return None if self._regularise() else (False, "no correction lowers the cost any more")
        self.curved = problem.bends and self.at.cost - found.cost < SLOW * abs(self.at.cost)
        self.at, self.bent, self.expansion = found, None, problem.expand(found)
        self.costs.append(found.cost)
        self.factor = min(1 / FACTOR, self.factor / FACTOR)
        self.regularisation *= self.factor
        if self.regularisation < LEAST:
            self.regularisation = 0.0
        return None

    def _regularise(self) -> bool:
        self.factor = max(FACTOR, self.factor * FACTOR)
        self.regularisation = max(LEAST, self.regularisation * self.factor)
        return self.regularisation <= MOST

    def _back(self, curvature: np.ndarray | None = None) -> tuple[float, float] | None:
        """Find corrections and gains from the end to the start; return the change they expect, None if not convex."""
        problem, bounds = self.problem, None
        if problem.controls.bounded:
            acting, ends = self.at.controls[:, problem.acts], (problem.controls.low, problem.controls.high)
            bounds = tuple(np.ascontiguousarray(end[problem.acts] - acting) for end in ends)
        R = 2 * problem.R
        found = problem.riccati(self.expansion, problem.effort(self.at.controls) @ R, R, curvature=curvature,
                                regularisation=self.regularisation, bounds=bounds)  # fmt: skip
        if found.expected is not None:
            self.last = found
        return found.expected

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""
        if self.last is None:
            self._back()
        if self.last is None:
            steps, n, m = self.expansion.B.shape
            return -np.zeros((steps, m, n)), np.zeros((steps + 1, n, n))
        return -self.last.K, self.last.P
