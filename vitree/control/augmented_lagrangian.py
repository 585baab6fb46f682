"""A shooting search with bounds on states: minimisations of an augmented Lagrangian, one after the other."""

from __future__ import annotations

import numpy as np

from vitree.control.shooting_problem import Iterate, Iteration, ShootingProblem

#: The tolerance of the first minimisation, without and with multipliers of an earlier search, and the factor by which
#: that of the next one is smaller.
COLD, WARM, TIGHTER = 1e-2, 1e-6, 0.1
#: Most minimisations, and most that fail.
MOST, FAILED = 40, 5


class AugmentedLagrangian:
    """An iteration whose motion ends within the problem's bounds, up to a tolerance in their units.

    References: Howell, Jackson & Manchester 2019, "ALTRO: a fast solver for constrained trajectory optimization".
    """

    def __init__(self, problem: ShootingProblem, iteration: Iteration, bound_tolerance: float):
        self.problem, self.iteration, self.allowed = problem, iteration, bound_tolerance
        problem.bounds.begin(self.at.cost - self.at.penalty)
        iteration.renew(problem.again(self.at))
        self.costs = [self.at.cost - self.at.penalty]
        self._loose = WARM if problem.bounds.warm else COLD
        self._count = self._failed = 0
        #: whether steps are taken that lower the sum by less than the tolerance
        self._all = False
        self._moved = False

    @property
    def at(self) -> Iterate:
        """The motion so far."""
        return self.iteration.at

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        bounds = self.problem.bounds
        while (ended := self.iteration.improve(0.0 if self._all else max(self._loose, tolerance))) is not None:
            at = self.at
            if at.gaps is not None:
                return ended
            self._count += 1
            if ended[0]:
                off = bounds.update(at.motion, grow=self._moved or self._all)
                if off <= self.allowed and self._loose <= tolerance:
                    return ended
                # steps that other multipliers ask for may be too small for the tolerance
                self._all = not self._moved and self._loose <= tolerance
                self._loose *= TIGHTER
            else:
                # where penalties are steep, the quadratic model holds less far than any step
                self._failed += 1
                if self._failed == FAILED:
                    return ended
                bounds.soften()
            if self._count == MOST:
                return False, f"the bounds are not met after {MOST} minimisations"
            self.iteration.renew(self.problem.again(self.at))
            self._moved = False
        self._moved, self._all = True, False
        self.costs.append(self.at.cost - self.at.penalty)
        return None

    def renew(self, at: Iterate) -> None:
        """Go on from a motion whose cost has changed."""
        self.iteration.renew(at)

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""
        return self.iteration.feedback()
