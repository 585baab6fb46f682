"""Newton's method in the space of motions: directions are motions of the linearised dynamics, projected by a regulator.

The regulator's gains do not depend on the cost, so that the search stays near motions that are unstable in open loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.control.lqr import weights
from vitree.control.shooting_problem import Expansion, Iterate, Pass, ShootingProblem, line_search
from vitree.errors import InputError

core = scalar()
#: Directions of descent, each with those that follow where it fails.
DIRECTIONS = {
    "newton": ("newton", "quasi-newton", "steepest"), "quasi-newton": ("quasi-newton", "steepest"),
    "steepest": ("steepest",),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ProjectionNewton:
    """The options of the search "projection" of :func:`optimize_motion`.

    Parameters
    ----------
    direction : {"newton", "quasi-newton", "steepest"}
        Descent by the second derivatives of cost and steps, by those of the cost alone, or by the regulator's weights.
        Where a direction does not lower the cost, the next one is tried.
    feedback : (Q, R), optional
        Weights of the regulator's states and controls, as matrices or diagonals, in units as those of the cost. If not
        given: Q and the share of a step in Q_end, and R.

    Raises
    ------
    InputError
        If the direction is not known, or ``feedback`` is not a pair.

    References
    ----------
    Hauser 2002, "A projection operator approach to the optimization of trajectory functionals". Johnson, Schultz &
    Murphey 2015, "Structured linearization of discrete mechanical systems for analysis and optimal control" (trep).
    """

    direction: str = "newton"
    feedback: tuple[ArrayLike, ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise InputError("direction", self.direction, f"is unknown; choose {', '.join(DIRECTIONS)}")
        if self.feedback is not None and not (isinstance(self.feedback, tuple) and len(self.feedback) == 2):
            raise InputError("feedback", self.feedback, "must be a pair: weights of states, and of controls")


class Direction(NamedTuple):
    """States x (steps + 1, 2 nv) and controls u (steps, m) of the linearised dynamics, and the slope of the cost.

    ``expected`` is the change of the cost in the quadratic model.
    """

    x: np.ndarray
    u: np.ndarray
    slope: float
    expected: float


class Descent:
    """The iteration; ``at`` is the motion so far, ``costs`` its cost after each iteration."""

    def __init__(self, problem: ShootingProblem, at: Iterate, options: ProjectionNewton):
        if problem.controls.bounded:
            raise InputError('limits need search="ddp", "fddp" or "transcription"; "projection" has none')
        self.problem, self.direction = problem, options.direction
        if options.feedback is None:
            self.weights = problem.Q + problem.Q_end / problem.steps, problem.R
        else:
            Q, R = options.feedback
            n, m = 2 * problem.model.nv, len(problem.acts)
            self.weights = weights(Q, "feedback[0]", n), weights(R, "feedback[1]", m, definite=True)
        self.costs = [at.cost]
        self.renew(at)

    def renew(self, at: Iterate) -> None:
        """Go on from a motion whose cost has changed."""
        self.at, self.expansion = at, self.problem.expand(at)
        self.regulator = self._regulate(self.expansion)

    def _regulate(self, expansion: Expansion) -> Pass:
        """Return the regulator along a motion."""
        gradients, W = expansion.gradients, self._weighed(expansion)
        rest = np.zeros((len(gradients) - 1, len(self.problem.acts)))
        model = expansion._replace(gradients=np.zeros_like(gradients), matrices=W)
        return self.problem.riccati(model, rest, 2 * self.weights[1])

    def _weighed(self, expansion: Expansion) -> np.ndarray:
        """Return the regulator's weights of states, of each node."""
        found = np.zeros_like(expansion.matrices)
        n = len(self.weights[0])
        found[:, :n, :n] = 2 * self.weights[0]
        return found

    def towards(self, kind: str) -> Direction | None:
        """Return a direction of a kind; None if there is none."""
        problem, at, model = self.problem, self.at, self.expansion
        A, B, gx = model.A, model.B, model.gradients
        gu, R, bent = 2 * problem.effort(at.controls) @ problem.R, 2 * problem.R, None
        if kind == "steepest":
            model = model._replace(matrices=self._weighed(model))
            R = 2 * self.weights[1]
        elif kind == "newton":
            if not problem.bends:
                return None
            bent = problem.curvature(at, A, problem.costates(model, self.regulator.K, gu))
            model = problem.bent(at, model)
        found = problem.riccati(model, gu, R, curvature=bent)
        if found.expected is None:
            return None
        x, u = np.empty_like(gx), np.empty_like(found.k)
        core.linear_motion(A, B, found.k, found.K, x, u)
        slope = float(np.sum(gx * x) + np.sum(gu * u))
        return Direction(x, u, slope, sum(found.expected)) if slope < 0 else None

    def along(self, towards: Direction, share: float) -> Iterate | None:
        """Return the motion that the regulator makes of the curve a share of a direction away; None if it fails."""
        at, model, nv = self.at, self.problem.model, self.problem.model.nv
        q = model.integrate(at.q, share * towards.x[:, :nv])
        nearby = q, at.p + share * towards.x[:, nv : 2 * nv]
        return self.problem.corrected(at, share, (towards.u, self.regulator.K), nearby)

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        for kind in DIRECTIONS[self.direction]:
            towards = self.towards(kind)
            if towards is None:
                continue
            if -towards.expected <= tolerance * abs(self.at.cost):
                return True, "the cost cannot fall by more than the tolerance"
            found, _ = line_search(self.at, partial(self.along, towards), partial(mul, -towards.slope))
            if found is not None:
                self.renew(found)
                self.costs.append(found.cost)
                return None
        return False, "no direction lowers the cost any more"

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of its cost to go."""
        return -self.regulator.K, self.regulator.P
