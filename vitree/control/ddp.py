"""Differential dynamic programming: by single shooting (DDP), and by multiple shooting with gaps (FDDP)."""

from __future__ import annotations

import numpy as np

from vitree._core import scalar
from vitree.control.shooting_problem import SHARES, Expansion, Iterate, Pass, ShootingProblem, line_search

core = scalar()
#: Share of the cost that an iteration must gain for the next one to use linearised dynamics again.
SLOW = 0.01
#: So many such iterations in a row before second derivatives of steps are worth their time, of more than a few
#: velocities.
PATIENCE, FEW = 2, 4
#: Regularisation, in units of R: the least that is not zero, the most, and the factor by which it begins to change.
LEAST, MOST, FACTOR = 1e-6, 1e10, 2.0
#: Most passes for the pieces of the terms of bounds, and the share of the expected change that pieces may miss.
PIECES, EXPLAINED = 16, 0.05
#: After so many passes pieces are taken half way.
WHOLE = 5
NOT_CONVEX = False, "no regularisation makes the quadratic model of the cost convex"
#: Of multiple shooting: the share of an expected decrease that a step must achieve, and how many times as much as
#: expected the cost may rise where closing gaps raises it (Mastalli et al. 2020, section III).
DECREASE, RISE = 0.1, 2.0
#: Steps that close so large a share of the gaps lower the regularisation, and those of less than this raise it.
LONG, SHORT = 0.5, 0.01


class DDP:
    """The iteration; ``at`` is the motion so far, ``costs`` its cost after each iteration.

    Far from the optimum dynamics are linearised (iterative LQR); near it their second derivatives are used as well.

    References: Mayne 1966; Li & Todorov 2004; Tassa, Mansard & Todorov 2014 (bounds, regularisation).
    """

    def __init__(self, problem: ShootingProblem, at: Iterate):
        self.problem, self.at, self.costs = problem, at, [at.cost]
        self.regularisation, self.factor = 0.0, 1.0
        self.last: Pass | None = None
        self.curved, self.slow = False, 0
        self._expansion: Expansion | None = None

    @property
    def expansion(self) -> Expansion:
        """The expansion at the motion, worked out when it is first asked for."""
        if self._expansion is None:
            self._expansion = self.problem.expand(self.at)
        return self._expansion

    def renew(self, at: Iterate) -> None:
        """Go on from a motion whose cost has changed."""
        self.regularisation, self.factor, self.slow = 0.0, 1.0, 0
        self._move_to(at)

    def _move_to(self, at: Iterate) -> None:
        self.at, self._expansion = at, None

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        problem = self.problem
        bent = problem.bent(self.at, self.expansion)
        least = tolerance * abs(self.at.cost)
        expected = self._solve(bent, self._curvature(), least) if self.curved else None
        expected = self._solve(bent, None, least) if expected is None else expected
        if expected is None and bent is not self.expansion:
            expected = self._solve(self.expansion, None, least)
        expected = self._made_convex(expected)
        if expected is None:
            return NOT_CONVEX
        linear, square = expected
        if -(linear + square) <= least:
            return True, "the cost cannot fall by more than the tolerance"
        assert self.last is not None
        gains, near = (self.last.k, self.last.K), len(self.costs) > 1
        found, share = line_search(
            self.at, lambda share: problem.corrected(self.at, share, gains, quick=near),
            lambda share: -(share * linear + share**2 * square),
        )  # fmt: skip
        if found is None:
            self.costs.append(self.at.cost)
            return None if self._regularise() else (False, "no correction lowers the cost any more")
        self.slow = self.slow + 1 if self.at.cost - found.cost < SLOW * abs(self.at.cost) else 0
        self.curved = problem.bends and self.slow >= (1 if problem.model.nv <= FEW else PATIENCE)
        self._move_to(found)
        self.costs.append(found.cost)
        if share < 1:
            # the quadratic model holds less far than the step it asked for
            self._regularise()
            return None
        self._relax()
        return None

    def _curvature(self) -> np.ndarray:
        """Return the second derivatives of steps, with the slopes of the cost under the last feedback."""
        problem, model = self.problem, self.expansion
        steps, n, m = model.B.shape
        K = np.zeros((steps, m, n)) if self.last is None else self.last.K
        return problem.curvature(self.at, model.A, problem.costates(model, K, self._effort_slopes()[0]))

    def _relax(self) -> None:
        self.factor = min(1 / FACTOR, self.factor / FACTOR)
        self.regularisation *= self.factor
        if self.regularisation < LEAST:
            self.regularisation = 0.0

    def _made_convex(self, expected: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return the expected change, with as much regularisation as the pass needs; None if there is none."""
        while expected is None and self._regularise():
            expected = self._solve(self.expansion)
        return expected

    def _regularise(self) -> bool:
        self.factor = max(FACTOR, self.factor * FACTOR)
        self.regularisation = max(LEAST, self.regularisation * self.factor)
        return self.regularisation <= MOST

    def _back(self, expansion: Expansion, curvature: np.ndarray | None = None) -> tuple[float, float] | None:
        """Find corrections and gains from the end to the start; return the change they expect, None if not convex."""
        problem, bounds = self.problem, None
        if problem.controls.bounded:
            acting, ends = self.at.controls[:, problem.acts], (problem.controls.low, problem.controls.high)
            bounds = tuple(np.ascontiguousarray(end[problem.acts] - acting) for end in ends)
        gu, R = self._effort_slopes()
        found = problem.riccati(expansion, gu, R, curvature=curvature, regularisation=self.regularisation,
                                bounds=bounds, gaps=self.at.gaps)  # fmt: skip
        if found.expected is not None:
            self.last = found
        return found.expected

    def _effort_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slope (steps, m) and the matrix (m, m) of the controls' own cost."""
        R = 2 * self.problem.R
        return self.problem.effort(self.at.controls) @ R, R

    def _solve(self, expansion: Expansion, curvature: np.ndarray | None = None,
               least: float = 0.0) -> tuple[float, float] | None:  # fmt: skip
        """Find corrections and gains by a pass, or by several where the terms of bounds change along the correction.

        The terms are quadratic in pieces, and a pass minimises a sum of one piece of each: it is repeated with the
        pieces along the linearised motion that it has found, until they explain the change of the terms there. If they
        have not soon, pieces are those half way to the motion that is found, as the same ones may come again and again.
        A first pass that expects a decrease of no more than ``least`` is the only one. If every decrease counts and no
        pass finds one, the first is a direction of descent, of which the line search takes a part.
        """
        expected = self._back(expansion, curvature)
        if not expansion.pieces or expected is None or -sum(expected) <= least:
            return expected
        first, best, model, there = (expected, self.last), None, expansion, None
        for count in range(PIECES):
            motion = self._motion(model, self.at.gaps)
            changes = model.changes(*motion)
            linear, square, missed = model.corrected(*expected, changes)
            if best is None or linear + square < sum(best[0]):
                best = (linear, square), self.last
            if missed <= EXPLAINED * abs(linear + square):
                break
            if count >= WHOLE and there is not None:
                there = tuple(0.5 * (x + y) for x, y in zip(there, motion, strict=True))
                changes = expansion.changes(*there)
                model = expansion.along(changes)
            else:
                there, model = motion, model.along(changes)
            again = self._back(model, curvature)
            if again is None:
                break
            expected = again
        assert best is not None
        found, self.last = first if least == 0 and sum(best[0]) >= 0 else best
        return found

    def _motion(self, model: Expansion, gaps: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return states and controls of the linearised motion under the last corrections and gains."""
        assert self.last is not None
        x, u = np.empty_like(model.gradients), np.empty_like(self.last.k)
        core.linear_motion(model.A, model.B, self.last.k, self.last.K, x, u, gaps)
        return x, u

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""
        if self.last is None:
            problem = self.problem
            bent = self._curvature() if problem.bends else None
            if self._back(problem.bent(self.at, self.expansion), bent) is None:
                self._back(self.expansion)
        if self.last is None:
            steps, n, m = self.expansion.B.shape
            return -np.zeros((steps, m, n)), np.zeros((steps + 1, n, n))
        return -self.last.K, self.last.P


class FDDP(DDP):
    """Feasibility-driven DDP: the nodes of the first motion are given, and steps need not end at the next one.

    A step of length a closes the share a of all gaps. While there are gaps the change of the cost is expected from its
    quadratic model along the linearised motion that closes them, and may be a rise: a step is accepted if the cost
    falls by a tenth of the decrease that is expected, or rises by no more than twice the rise. Once a whole step has
    closed the gaps, the iteration is :class:`DDP`.

    References
    ----------
    Mastalli et al. 2020, "Crocoddyl: an efficient and versatile framework for multi-contact optimal control", section
    III.
    """

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""
        at, problem = self.at, self.problem
        if at.gaps is None:
            return super().improve(tolerance)
        if self._made_convex(self._solve(self.expansion)) is None:
            return NOT_CONVEX
        assert self.last is not None
        linear, square = self._expected(at.gaps)
        for share in SHARES.tolist():
            found = problem.corrected(at, share, (self.last.k, self.last.K))
            expected = share * linear + share**2 * square
            if found is None or found.cost - at.cost > (DECREASE if expected < 0 else RISE) * expected:
                continue
            self._move_to(found)
            self.costs.append(found.cost)
            if share >= LONG:
                self._relax()
            elif share < SHORT:
                self._regularise()
            return None
        self.costs.append(at.cost)
        return None if self._regularise() else (False, "no step closes the gaps between steps any more")

    def _expected(self, gaps: np.ndarray) -> tuple[float, float]:
        """Return the linear and the quadratic change of the cost along the linearised motion that closes all gaps."""
        return self.expansion.change(*self._motion(self.expansion, gaps), *self._effort_slopes())
