"""Steps of tasks in strict order under inequalities: one quadratic program for each priority."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vitree._core._tasks import TaskRows
from vitree.errors import InputError, MissingExtraError

#: By how much the rows of a program may be violated, in units of theirs.
FEASIBLE = 1e-10
#: Exit flags of DAQP: found; there is no point within all bounds.
OPTIMAL, INFEASIBLE = 1, -1
#: What DAQP takes for infinite.
NONE = 1e30


class InfeasibleError(InputError):
    """No displacement is within all bounds."""


class Rows(NamedTuple):
    """Rows A dq = b, or A dq >= b: (m, n) and (m,)."""

    A: np.ndarray
    b: np.ndarray


class Programs:
    """Memory of the programs of one step after the other.

    Parameters
    ----------
    core : TaskRows
    pairs : int
        The most inequalities beside bounds.
    """

    def __init__(self, core: TaskRows, pairs: int):
        n, m = core.n, core.n + pairs
        self.core = core
        self.H, self.g, self.rows = np.zeros(n * n), np.zeros(n), np.zeros(m * n)
        self.low, self.high, self.kinds = np.zeros(m), np.zeros(m), np.zeros(m, np.int32)
        self.dq = np.zeros(n)

    def in_order(self, equations: Rows, above: Rows, damping: float) -> np.ndarray:
        """Return the displacement (n,) that is the least squares of all levels, in strict order, within bounds.

        It is of the q and the bounds of the last ``step`` of the core.

        Parameters
        ----------
        equations : Rows
            A dq = b, before all.
        above : Rows
            A dq >= b.
        damping : float
            Times |dq|^2/2 of each level.

        Raises
        ------
        InfeasibleError
            If no displacement is within all bounds.
        InputError
            If DAQP does not solve a program.
        MissingExtraError
            If DAQP is not installed.

        References
        ----------
        Escande, Mansard & Wieber 2014, "Hierarchical quadratic programming", with the bounds at the first level.
        """
        core, daqp = self.core, daqp_module("inverse kinematics at limits, beside shapes or in loops")
        if not core.equations(-equations.b, equations.A):
            raise InputError("the equations of a step were not solved: their Jacobian is infinite or NaN")
        moved = False
        for level in range(1, max(core.levels, 1) + 1):
            sizes = core.program(level, damping, above.A, above.b, self.H, self.g, self.rows, self.low, self.high)
            if sizes is False:
                raise _infeasible()
            if not isinstance(sizes, tuple):
                continue
            k, bounds, r = sizes
            low, high = np.maximum(self.low[: bounds + r], -NONE), np.minimum(self.high[: bounds + r], NONE)
            z, _, flag, _ = daqp.solve(
                self.H[: k * k].reshape(k, k), self.g[:k], self.rows[: r * k].reshape(r, k), high, low,
                self.kinds[: bounds + r], primal_tol=FEASIBLE,
            )  # fmt: skip
            if flag == INFEASIBLE:
                raise _infeasible()
            if flag != OPTIMAL or not np.isfinite(z).all():
                raise InputError(f"the quadratic program of a step was not solved (DAQP: exit flag {flag})")
            core.advance(level, z, self.dq)
            moved = True
        if not moved:
            core.advance(max(core.levels, 1), np.zeros(0), self.dq)
        return np.clip(self.dq, core.lower, core.upper)


def _infeasible() -> InfeasibleError:
    return InfeasibleError(
        "no displacement is within all bounds: limits, distances, loops and tasks of priority 0 contradict each other "
        "here; widen the limits, or give a task a priority of 1 or more"
    )


def daqp_module(what: str) -> Any:
    """Return DAQP; raise a MissingExtraError that says what needs it, if it is not installed."""
    try:
        import daqp
    except ImportError:
        raise MissingExtraError("daqp", "control", what) from None
    return daqp
