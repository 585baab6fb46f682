"""Configurations that satisfy the constraints of a model, and constraints that do not repeat each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ConvergenceError, InputError
from vitree.mechanism.constraints import AxisConstraint, Distance, PointConstraint
from vitree.model.model import Model
from vitree.wording import named

#: A start may miss the constraints by this much [m or rad], and their rates [per s].
CONSISTENT = 1e-8
#: Unit rows of Dh depend on each other below this singular value.
INDEPENDENT = 1e-10
#: An equation is implied by others to within this, in sizes of the mechanism: angles in files are often rounded.
IMPLIED = 1e-4


def held_coordinates(model: Model, hold: Iterable[str]) -> np.ndarray:
    """Return which entries of v belong to joints that are prescribed or held, (nv,) bool.

    Raises
    ------
    UnknownNameError
        If a joint is not known.
    """
    held = np.array(model.flat.kinematic, dtype=bool)
    for name in hold:
        held[model.joint(name).v_slice] = True
    return held


def satisfy_constraints(
    model: Model, q: ArrayLike, hold: Iterable[str] = (), tolerance: float = 1e-12, max_iterations: int = 100
) -> np.ndarray:
    """Return the configuration near q that satisfies the model's constraints.

    Parameters
    ----------
    model : Model
    q : (nq,) array [m or rad]
    hold : names of joints
        Their coordinates stay as they are, and so do those that are prescribed.
    tolerance : float
        Largest h accepted [m or rad].
    max_iterations : int
        Most corrections, by Gauss-Newton's method.

    Returns
    -------
    (nq,) array [m or rad]

    Raises
    ------
    ConvergenceError
        If no such configuration was found.
    UnknownNameError
        If a joint to hold is not known.
    """
    q = model.validate_configuration(q)
    held = held_coordinates(model, hold)
    for _ in range(max_iterations):
        h, Dh = (x[0] for x in model.constraint_rows(q[None]))
        if not len(h) or np.abs(h).max() <= tolerance:
            return q
        step = np.zeros(model.nv)
        step[~held] = -np.linalg.lstsq(Dh[:, ~held], h, rcond=1e-12)[0]
        # no joint by more than half a radian or metre at once
        q = model.integrate(q, step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300)))
    worst = int(np.abs(h).argmax())
    raise ConvergenceError(
        f"no configuration near q satisfies the constraints: {model.constraints[worst].name} is off by "
        f"{h[worst]:.3g}; start nearer, or hold fewer joints",
        time=np.nan, residual=float(np.abs(h).max()), iterations=max_iterations,
    )  # fmt: skip


def dependent(Dh: np.ndarray) -> list[int]:
    """Return which rows of Dh (m, nv) depend on each other; empty if none do."""
    if not len(Dh):
        return []
    size = np.linalg.norm(Dh, axis=1)
    if not size.all():
        return [int(k) for k in np.flatnonzero(size == 0)]
    U, s, _ = np.linalg.svd(Dh / size[:, None])
    lost = len(Dh) - int((s > INDEPENDENT).sum())
    return [int(k) for k in np.flatnonzero((np.abs(U[:, len(Dh) - lost :]) > 1e-6).any(axis=1))] if lost else []


def independent_constraints(model: Model, q: ArrayLike | None = None) -> list:
    """Return the model's constraints without those that the ones before them imply.

    Parameters
    ----------
    model : Model
    q : (nq,) array, optional [m or rad]
        Without it, a constraint is left out where h is in every configuration a sum of multiples of those
        kept: of a hinge that closes a plane loop, the three equations out of the plane. With a configuration
        that satisfies all of them, also where this is so only around it, as in a Bennett linkage; a run must
        then start there, since elsewhere the rest may hold where the whole does not.

    Returns
    -------
    list

    Raises
    ------
    InputError
        If q does not satisfy the constraints.
    """
    flat, rng, count = model.flat, np.random.default_rng(0), len(model.constraints)
    free = ~np.asarray(flat.kinematic, dtype=bool)
    if q is None:
        places = [model.integrate(model.neutral(), rng.normal(size=model.nv) * free) for _ in range(6)]
    else:
        places = [model.validate_configuration(q)]
        require_satisfied(model, places[0])
        for _ in range(6):  # along what the constraints allow, and back to them
            _, s, Vt = np.linalg.svd(model.constraint_rows(places[-1][None])[1][0] * free)
            allowed = Vt[int((s > INDEPENDENT).sum()) :]
            step = 0.5 * (rng.normal(size=len(allowed)) @ allowed) * free
            try:
                places.append(satisfy_constraints(model, model.integrate(places[-1], step)))
            except ConvergenceError:
                continue
    h, rows = model.constraint_rows(np.array(places))
    rows = rows * free
    # lengths in sizes of the mechanism, what is not geometry in its own size
    size = max(np.abs(flat.p).max(initial=0.0), np.abs(flat.frame_p).max(initial=0.0)) or 1.0
    unit = np.linalg.norm(rows, axis=2).max(axis=0)
    unit[unit == 0] = 1.0
    for k, constraint in enumerate(model.constraints):
        if isinstance(constraint, PointConstraint | Distance | AxisConstraint):
            unit[k] = 1.0 if isinstance(constraint, AxisConstraint) else size
    if q is None:  # one row each, of all configurations, so that the multiples are the same in all
        rows = np.concatenate((*rows, h.T), axis=1)[None]
    # rows that add to the span of those before them, at any place
    spanned = [np.zeros((0, rows.shape[2]))] * len(rows)
    kept = []
    for k in range(count):
        adds = False
        for at in range(len(rows)):
            rest = rows[at, k] / unit[k]
            for _ in range(2):
                rest = rest - spanned[at].T @ (spanned[at] @ rest)
            if np.linalg.norm(rest) > IMPLIED:
                spanned[at] = np.vstack((spanned[at], rest / np.linalg.norm(rest)))
                adds = True
        kept += [model.constraints[k]] if adds else []
    return kept


def require_satisfied(model: Model, q: np.ndarray) -> None:
    """Raise if a configuration misses the model's constraints.

    Raises
    ------
    InputError
        If it does; the text names the constraint and the remedy.
    """
    h = model.constraint_rows(q[None])[0][0]
    if np.abs(h).max(initial=0.0) > CONSISTENT:
        worst = int(np.abs(h).argmax())
        raise InputError(
            named("q0", q) + f" does not satisfy the {model.constraints[worst].name}: off by {h[worst]:.3g}; "
            f"take q0 = vitree.satisfy_constraints(model, q0)"
        )


def require_consistent(model: Model, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise if a start misses the model's constraints, or they depend on each other there.

    Raises
    ------
    InputError
        If so; the text names the constraint and the remedy.
    """
    require_satisfied(model, q)
    Dh = model.constraint_rows(q[None])[1][0]
    tied = dependent(Dh[:, ~np.asarray(model.flat.kinematic, dtype=bool)])
    if tied:
        raise InputError(
            "the constraints depend on each other at q0 (one too many, or a singular configuration): "
            + "; ".join(model.constraints[k].name for k in tied)
            + ". Leave one out (vitree.independent_constraints(model, q0) does), or start elsewhere"
        )
    if v is not None and len(Dh):
        rate = Dh @ v
        if np.abs(rate).max() > CONSISTENT * max(1.0, np.abs(Dh).max() * np.abs(v).max()):
            worst = int(np.abs(rate).argmax())
            raise InputError(
                named("v0", v)
                + f" does not satisfy the {model.constraints[worst].name}: its rate is {rate[worst]:.3g}; "
                f"take v0 = model.project_velocity(q0, v0)"
            )
