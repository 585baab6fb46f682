"""Configurations that satisfy constraints, and constraints that do not repeat each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, real, several, whole
from vitree.errors import ConvergenceError, InputError, ModelError
from vitree.mechanism.constraints import AxisConstraint, Coupling, Distance, PointConstraint, loses
from vitree.model.broadcasting import guarded
from vitree.model.dynamics import FACES, DynamicsMethods

#: A start may miss the constraints by this much [m or rad], and their rates [per s].
CONSISTENT = 1e-8
#: Unit rows of Dh depend on each other below this singular value.
INDEPENDENT = 1e-10
#: Rows of this share of the largest one are zero, up to rounding errors.
NOISE = 1e-13
#: The determinant of the products of unit rows above which they do not depend on each other, far from INDEPENDENT.
CLEARLY = 1e-12
#: An equation is implied by others to within this, in sizes of the mechanism: angles in files are often rounded.
IMPLIED = 1e-4
#: Points of closed loops in files miss each other by this much [m or rad] where their numbers are rounded.
ROUNDED = 1e-5
#: Ways to a closed loop that are tried, from the start and from places up to SPREAD [m or rad] around it, each until
#: directions that must face the same way do so to within ROUGHLY.
ATTEMPTS, SPREAD, ROUGHLY = 8, 2.0, 1e-6
#: What of a unit row may be outside of the span of those that imply it.
IMPLIED_AT = 1e-7


def held_coordinates(model: DynamicsMethods, hold: Iterable[str]) -> np.ndarray:
    """Return which entries of v belong to joints that are prescribed or held, (nv,) bool.

    Raises an UnknownNameError if a joint is not known.
    """
    held = np.array(model.flat.kinematic, dtype=bool)
    for name in several(hold, "hold", "a sequence of names of joints"):
        held[model.joint(name).v_slice] = True
    return held


@explain_calls
@guarded
def satisfy_constraints(
    model: DynamicsMethods, q: ArrayLike, hold: Iterable[str] = (), tolerance: float = 1e-12, max_iterations: int = 100
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
        Where a weld or a joint that closes a loop holds, it holds the right way round. A loop with several such
        assemblies, as a crank with its elbow up or down, is at one near q.

    Raises
    ------
    InputError
        If q is no configuration, or max_iterations no whole number of at least 1.
    ConvergenceError
        If no such configuration was found; the text says which constraint stays open, and by how much.
    UnknownNameError
        If a joint to hold is not known.
    """
    of_kind(model, DynamicsMethods, "model", "a Model")
    if (number := whole(max_iterations)) is None or number < 1:
        raise InputError("max_iterations", max_iterations, "must be a whole number, at least 1")
    max_iterations = number
    if not 0 < real(tolerance) < np.inf:
        raise InputError("tolerance", tolerance, "must be a positive number")
    tolerance = real(tolerance)
    q = model.validate_configuration(q)
    free = ~held_coordinates(model, hold)
    end = _descended(model, q, free, tolerance, max_iterations, model._constraint_rows)
    if _holds(model, end, tolerance):
        return end
    # First to where directions that face the same way agree: their differences vanish on the right side only. Then
    # again from places around q, ever farther, since such a way may end in between.
    rng, most = np.random.default_rng(0), min(max_iterations, 40)
    for attempt in range(0 if any(map(_faces, model.constraints)) else 1, ATTEMPTS):
        spread = free * rng.normal(size=model.nv) * (SPREAD * attempt / ATTEMPTS)
        at = _descended(model, model.integrate(q, spread), free, ROUGHLY, most, partial(_with_facing, model))
        if _holds(model, at, 2 * ROUGHLY):
            at = _descended(model, at, free, tolerance, most, model._constraint_rows)
            if _holds(model, at, tolerance):
                return at
    worst, off, residual = _worst(model, end)
    raise ConvergenceError(
        f"no configuration near q satisfies the constraints: {model.constraints[worst].name} is {off}; "
        f"start nearer, or hold fewer joints",
        time=np.nan, residual=residual, iterations=max_iterations,
    )  # fmt: skip


@np.errstate(all="ignore")
def _descended(
    model: DynamicsMethods, q: np.ndarray, free: np.ndarray, tolerance: float, most: int,
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], least: float = 1e-12,
) -> np.ndarray:
    """Return the configuration near q at which Gauss-Newton's method on ``rows`` ends, after ``most`` corrections.

    Singular values below ``least`` times the largest count as zero.
    """
    for _ in range(most):
        h, Dh = (x[0] for x in rows(q[None]))
        if np.abs(h).max(initial=0.0) <= tolerance:
            break
        step = np.zeros(model.nv)
        step[free] = -np.linalg.lstsq(Dh[:, free], h, rcond=least)[0]
        if not np.isfinite(step).all():  # the slopes are next to zero
            break
        # no joint by more than half a radian or metre at once
        q = model.integrate(q, step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300)))
    return q


def _with_facing(model: DynamicsMethods, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the constraints, and of the differences of directions that face the same way."""
    (h, Dh), (rest, slopes) = model._constraint_rows(q), model._facing_rows(q)
    return np.concatenate((h, rest), axis=1), np.concatenate((Dh, slopes), axis=1)


def _faces(constraint: object) -> bool:
    return getattr(constraint, "facing", None) is not None


def _holds(model: DynamicsMethods, q: np.ndarray, tolerance: float) -> bool:
    """Return whether the constraints hold, and the right way round."""
    return bool(np.abs(model._constraint_errors(q[None])).max(initial=0.0) <= tolerance)


def _worst(model: DynamicsMethods, q: np.ndarray) -> tuple[int, str, float]:
    """Return which constraint is farthest from holding, and how far, in words and as a number [m or rad]."""
    errors = model._constraint_errors(q[None])[0]
    k = int(np.abs(errors).argmax())
    h, cosine = model._constraint_rows(q[None])[0][0, k], model._facing_cosines(q[None])[0, k]
    return k, off_by(model.constraints[k], h, cosine), float(abs(errors[k]))


def off_by(constraint: Any, h: float, cosine: float) -> str:
    """Return in words how far a constraint is from holding, for its h [m or rad] and the cosine of what it faces."""
    if cosine > FACES:
        return f"off by {h:.3g}"
    turn, along = np.degrees(np.arccos(np.clip(cosine, -1, 1))), ", ".join(f"{x:.3g}" for x in constraint.facing)
    return (
        f"closed the wrong way round, turned by {turn:.0f} degrees "
        f'(the direction ({along}) of "{constraint.a}" and of "{constraint.b}" must be the same)'
    )


@np.errstate(all="ignore")
def dependent(Dh: np.ndarray) -> list[int]:
    """Return which rows of Dh (m, nv) depend on each other; empty if none do."""
    if not len(Dh):
        return []
    size = np.linalg.norm(Dh, axis=1)
    if (none := size <= NOISE * size.max()).any():
        return [int(k) for k in np.flatnonzero(none)]
    unit = Dh / size[:, None]
    # the squares of m singular values have the sum m, so that the least is at least 1/e of their product
    if np.linalg.det(unit @ unit.T) > CLEARLY:
        return []
    U, s, _ = np.linalg.svd(unit)
    lost = len(Dh) - int((s > INDEPENDENT).sum())
    return [int(k) for k in np.flatnonzero((np.abs(U[:, len(Dh) - lost :]) > 1e-6).any(axis=1))] if lost else []


@guarded
def independent_constraints(
    model: DynamicsMethods, q: ArrayLike | None = None, tolerance: float = CONSISTENT
) -> list[Any]:  # fmt: skip
    """Return the model's constraints without those that the ones before them imply.

    Parameters
    ----------
    model : Model
    q : (nq,) array, optional [m or rad]
        Without it, a constraint is left out where h is in every configuration a sum of multiples of those
        kept: of a hinge that closes a plane loop, the three equations out of the plane. With a configuration
        that satisfies all of them, also where this is so only around it, as in a Bennett linkage; a run must
        then start there, since elsewhere the rest may hold where the whole does not.
    tolerance : float
        How far q may miss the constraints [m or rad]. Above the default, those are left out as well that the others
        imply up to such errors, as in a parallelogram whose lengths a file has rounded.

    Returns
    -------
    list

    Raises
    ------
    InputError
        If q does not satisfy the constraints, or the tolerance is no positive number.
    ModelError
        Without q, if a constraint holds in every configuration, but the wrong way round.
    """
    of_kind(model, DynamicsMethods, "model", "a Model")
    if not 0 < real(tolerance) < np.inf:
        raise InputError("tolerance", tolerance, "must be a positive number")
    tolerance = real(tolerance)
    rounded = tolerance > CONSISTENT
    flat, rng, count = model.flat, np.random.default_rng(0), len(model.constraints)
    free = ~np.asarray(flat.kinematic, dtype=bool)
    if q is None:
        places = [model.integrate(model.neutral(), rng.normal(size=model.nv) * free) for _ in range(6)]
    else:
        places = [model.validate_configuration(q)]
        require_satisfied(model, places[0], tolerance)
        for _ in range(6):  # along what the constraints allow, and back to them
            _, s, Vt = np.linalg.svd(model._constraint_rows(places[-1][None])[1][0] * free)
            allowed = Vt[int((s > (IMPLIED if rounded else INDEPENDENT)).sum()) :]
            moved = model.integrate(places[-1], 0.5 * (rng.normal(size=len(allowed)) @ allowed) * free)
            if rounded:
                moved = _descended(model, moved, free, CONSISTENT, 40, model._constraint_rows, IMPLIED)
                places += [moved] if _holds(model, moved, tolerance) else []
                continue
            try:
                places.append(satisfy_constraints(model, moved))
            except ConvergenceError:
                continue
    h, rows = model._constraint_rows(np.array(places))
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
    if q is not None:
        spans = [len(each) for each in spanned]
        if max(spans) < len(kept) and min(spans) == max(spans):  # other rows add to the span at other places
            chosen = _spanning(rows / unit[:, None], spans[0])
            kept = [model.constraints[k] for k in chosen]
    if q is None:
        cosines = model._facing_cosines(np.array(places))
        for k in np.flatnonzero((cosines < 0).all(axis=0)).tolist():
            if (np.abs(h[:, k]) < IMPLIED).all():
                one = model.constraints[k]
                raise ModelError(f"in every configuration {one.name} is {off_by(one, 0.0, -1.0)}; turn one of them")
    return kept


def _spanning(rows: np.ndarray, rank: int) -> list[int]:
    """Return ``rank`` of the rows that span those of each of several places, (p, m, nv), far from dependent.

    Each is the one that adds most to the span of those before it, where it adds least.
    """
    for places in (rows, rows[:1]):
        rest, chosen = places.copy(), list[int]()
        for _ in range(rank):
            size = np.linalg.norm(rest, axis=2)
            best = int(size.min(axis=0).argmax())
            if size[:, best].min() <= IMPLIED:
                break
            unit = rest[:, best] / size[:, best, None]
            for _ in range(2):
                rest = rest - (rest @ unit[:, :, None]) * unit[:, None]
            chosen.append(best)
        if len(chosen) == rank:
            break
    return sorted(chosen)


def require_satisfied(model: DynamicsMethods, q: np.ndarray, tolerance: float = CONSISTENT) -> None:
    """Raise if a configuration misses the model's constraints by more than a tolerance [m or rad].

    Raises an InputError if it does; the text names the constraint and the remedy.
    """
    if not _holds(model, q, tolerance):
        worst, off, _ = _worst(model, q)
        remedy = "take q0 = vitree.satisfy_constraints(model, q0)"
        if model.has_contact:  # which a configuration that satisfies them may miss
            remedy = "take model and q of vitree.feasible_start(model, q0)"
        raise InputError("q0", q, f"does not satisfy the {model.constraints[worst].name}: {off}; {remedy}")


class DependentConstraintsError(InputError):
    """The constraints depend on each other at a start; ``q`` (nq,) is where, of the model with all coordinates."""

    q: np.ndarray


def require_consistent(model: DynamicsMethods, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise if a start misses the model's constraints, or they depend on each other there.

    Raises an InputError if so, a DependentConstraintsError of the second; the text names the constraint and the remedy.
    """
    h, Dh = (rows[0] for rows in model._constraint_rows(q[None]))
    if any(map(_faces, model.constraints)) or not np.abs(h).max(initial=0.0) <= CONSISTENT:
        require_satisfied(model, q)
    tied = dependent(Dh[:, ~np.asarray(model.flat.kinematic, dtype=bool)])
    if tied:
        error = DependentConstraintsError(
            "the constraints depend on each other at q0 (one too many, or a singular configuration): "
            + "; ".join(model.constraints[k].name for k in tied)
            + "; vitree.feasible_start(model, q0), as vitree.independent_constraints(model, q0), leaves out those that "
            "others imply; or start elsewhere"
        )
        error.q = q
        raise error
    if v is not None and len(Dh):
        size = max(1.0, float(np.abs(v).max()))
        rate = Dh @ (v / size)
        if not np.abs(rate).max() <= CONSISTENT * max(1.0 / size, np.abs(Dh).max()):
            worst = int(np.abs(rate).argmax())
            what = f"does not satisfy the {model.constraints[worst].name}"
            raise InputError(
                "v0", v,
                f"{what}: its rate is {float(rate[worst]) * size:.3g}; take v0 = model.project_velocity(q0, v0)"
            )


def without_implied(model: object, q: np.ndarray) -> Any:
    """Return a model whose constraints do not depend on each other at q of all joints, or None.

    Constraints are left out that others imply at q and around it, so that every motion which the others allow keeps
    them. There is none where this does not make the rest independent, as in a singular configuration. The names of
    those left out are the attribute ``_implied`` of the model with all coordinates.
    """
    if not isinstance(model, DynamicsMethods):
        return None
    lean, dropped = independent_model(model, q)
    full = lean.full
    free = ~np.asarray(full.flat.kinematic, dtype=bool)
    rows, kept = (each._constraint_rows(q[None])[1][0][:, free] for each in (model.full, full))
    with np.errstate(all="ignore"):
        size = np.linalg.norm(rows, axis=1, keepdims=True)
    if any(loses(each) and each not in full.constraints for each in model.full.constraints):
        return None  # what it loses would be left out as well
    # numbers whose squares no double holds are no rows that others imply
    if not dropped or not np.isfinite(size).all() or dependent(kept):
        return None
    if len(kept):
        zero = size <= NOISE * size.max()
        unit = np.where(zero, 0.0, rows / np.where(zero, 1.0, size))
        rest = unit - unit @ np.linalg.pinv(kept) @ kept
        if not np.abs(rest).max() < IMPLIED_AT:
            return None
    elif size.any():
        return None
    vars(full)["_implied"] = dropped
    return lean


def independent_model(model: DynamicsMethods, q: np.ndarray) -> tuple[Any, tuple[str, ...]]:
    """Return the model without constraints that others imply at q of all joints, and the names of these."""
    full: Any = model.full
    free = ~np.asarray(full.flat.kinematic, dtype=bool)
    rows = full._constraint_rows(q[None])[1][0][:, free]
    if not np.isfinite(rows).all() or not dependent(rows):
        return model, ()
    kept = independent_constraints(full, q)
    stay = {id(each) for each in kept}
    if model is not full:  # its couplings are what it is reduced by
        stay |= {id(each) for each in full.constraints if isinstance(each, Coupling)}
    constraints = tuple(each for each in full.constraints if id(each) in stay)
    dropped = tuple(each.name for each in full.constraints if id(each) not in stay)
    lean: Any = type(full)(replace(full.flat, constraints=constraints))
    return (lean if model is full else lean.reduced()), dropped
