"""Least squares in strict order under inequalities, each level by one quadratic program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vitree.errors import InputError, MissingExtraError

#: Share of a level's largest singular value below which a direction is free.
DEPENDENT = 1e-9
#: By how much the rows of a program may be violated, in units of theirs.
FEASIBLE = 1e-10
#: Exit flags of DAQP: found; there is no point within all bounds.
OPTIMAL, INFEASIBLE = 1, -1


class InfeasibleError(InputError):
    """No displacement is within all bounds."""


class Level(NamedTuple):
    """The rows A dq = b (m, n) and (m,) of a priority, weighted; and a damping, which is times |dq|^2."""

    A: np.ndarray
    b: np.ndarray
    damping: float = 0.0


def in_order(
    levels: Sequence[Level], equations: Level, bounds: tuple[np.ndarray, np.ndarray], above: Level
) -> np.ndarray:
    """Return the displacement (n,) that is the least squares of the levels, in strict order, within bounds.

    Parameters
    ----------
    levels : sequence of Level
        Each is solved within what leaves those before unchanged.
    equations : Level
        What holds before all.
    bounds : (lower, upper), (n,) arrays
    above : Level
        Rows A dq >= b.

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
    n = len(bounds[0])
    x, Z = np.zeros(n), np.eye(n)
    if len(equations.b):
        # a damping that vanishes with what is left of the equations (Sugihara 2011)
        U, sizes, V = np.linalg.svd(equations.A)
        rank = int((sizes > DEPENDENT * sizes[:1]).sum())
        share = sizes[:rank] / (sizes[:rank] ** 2 + 0.5 * equations.b @ equations.b)
        x, Z = V[:rank].T @ (share * (U[:, :rank].T @ equations.b)), V[rank:].T
    for k, (A, b, damping) in enumerate(levels):
        if not Z.shape[1]:
            break
        AZ = A @ Z
        H, g = AZ.T @ AZ, -(AZ.T @ (b - A @ x))
        H[np.diag_indices(len(H))] += damping
        x = x + Z @ _least(H, g, Z, x, bounds, above)
        if k + 1 < len(levels):
            Z = Z @ free_of(AZ)
    return np.clip(x, *bounds)


def free_of(A: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, k) of the directions that rows (m, n) leave free."""
    _, sizes, V = np.linalg.svd(A)
    found: np.ndarray = V[int((sizes > DEPENDENT * sizes[:1]).sum()) :].T
    return found


def _least(
    H: np.ndarray, g: np.ndarray, Z: np.ndarray, x: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], above: Level
) -> np.ndarray:
    """The z of least z^T H z/2 + g^T z with x + Z z within bounds."""
    daqp = _daqp()
    n, k = Z.shape
    lower, upper = bounds[0] - x, bounds[1] - x
    rows, below = above.A @ Z, above.b - above.A @ x
    if n != k or not np.array_equal(Z, np.eye(n)):
        rows = np.concatenate([Z, rows])
    # bounds of no effect are left out by their size
    low, high = np.concatenate([lower, below]), np.concatenate([upper, np.full(len(below), np.inf)])
    # rows that no z changes are not for the program: they hold up to rounding errors, or nothing helps
    first = len(low) - len(rows)
    moves = np.ones(len(low), bool)
    moves[first:] = np.abs(rows).max(axis=1, initial=0.0) > DEPENDENT
    low, high = np.clip(low, -1e30, 1e30), np.clip(high, -1e30, 1e30)
    fixed = ~moves & ((low > FEASIBLE) | (high < -FEASIBLE))
    rows = np.ascontiguousarray(rows[moves[first:]])
    found, _, flag, _ = daqp.solve(
        np.ascontiguousarray(H), np.ascontiguousarray(g), rows, np.maximum(high, low)[moves], low[moves],
        np.zeros(int(moves.sum()), np.int32), primal_tol=FEASIBLE,
    )  # fmt: skip
    if flag == INFEASIBLE or fixed.any():
        raise InfeasibleError(
            "no displacement is within all bounds: limits, distances, loops and tasks of priority 0 contradict each "
            "other here; widen the limits, or give a task a priority of 1 or more"
        )
    if flag != OPTIMAL or not np.isfinite(found).all():
        raise InputError(f"the quadratic program of a step was not solved (DAQP: exit flag {flag}); increase damping")
    result: np.ndarray = found
    return result


def _daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise MissingExtraError("daqp", "control", "inverse kinematics at limits, beside shapes or in loops") from None
    return daqp
