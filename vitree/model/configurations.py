"""Configurations that satisfy constraints, that rest, and starts without overlaps or that are mended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, real, several, whole
from vitree.errors import ConvergenceError, InputError, ModelError, VitreeError
from vitree.mechanism.constraints import AxisConstraint, Distance, PointConstraint
from vitree.mechanism.contacts import Ground
from vitree.mechanism.flat import KIND_NV, limits_of
from vitree.mechanism.floating import roots_of
from vitree.mechanism.spans import MOST_FACETS
from vitree.model.broadcasting import guarded
from vitree.model.candidates import named_side
from vitree.model.contacts import Nodes, count_of, gaps_at, kicks_of, unilateral_gaps
from vitree.model.dynamics import FACES, refuse_unilateral
from vitree.model.model import Model
from vitree.model.placement import ways_up
from vitree.model.user_inputs import by_displacement

# ---- configurations that satisfy the constraints of a model, and constraints that do not repeat each other


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


def held_coordinates(model: Model, hold: Iterable[str]) -> np.ndarray:
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
    of_kind(model, Model, "model", "a Model")
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
    model: Model, q: np.ndarray, free: np.ndarray, tolerance: float, most: int,
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


def _with_facing(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the constraints, and of the differences of directions that face the same way."""
    (h, Dh), (rest, slopes) = model._constraint_rows(q), model._facing_rows(q)
    return np.concatenate((h, rest), axis=1), np.concatenate((Dh, slopes), axis=1)


def _faces(constraint: object) -> bool:
    return getattr(constraint, "facing", None) is not None


def _holds(model: Model, q: np.ndarray, tolerance: float) -> bool:
    """Return whether the constraints hold, and the right way round."""
    return bool(np.abs(model._constraint_errors(q[None])).max(initial=0.0) <= tolerance)


def _worst(model: Model, q: np.ndarray) -> tuple[int, str, float]:
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
def independent_constraints(model: Model, q: ArrayLike | None = None, tolerance: float = CONSISTENT) -> list[Any]:
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
    of_kind(model, Model, "model", "a Model")
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


def require_satisfied(model: Model, q: np.ndarray, tolerance: float = CONSISTENT) -> None:
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


def require_consistent(model: Model, q: np.ndarray, v: np.ndarray | None) -> None:
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


# ---- configurations at rest: minima of the potential energy under the constraints --------------------------


# parameters as of satisfy_constraints, said again since the reference shows each function alone
@guarded
def minimize_potential_energy(
    model: Model, q: ArrayLike, hold: Iterable[str] = (), tolerance: float = 1e-8
) -> np.ndarray:
    """Return the configuration near q where the potential energy is least and the constraints hold.

    There the mechanism can stand still under gravity and those loads that have a potential.

    Parameters
    ----------
    model : Model
    q : (nq,) array [m or rad]
        Where to start; it need not satisfy the constraints.
    hold : names of joints
        Their coordinates stay as they are, and so do those that are prescribed.
    tolerance : float
        Largest force left on a joint, as a share of the largest that gravity and loads put on one.

    Returns
    -------
    (nq,) array [m or rad]

    Raises
    ------
    InputError
        If q is no configuration.
    ConvergenceError
        If no such configuration was found.
    UnknownNameError
        If a joint to hold is not known.
    ModelError
        If the mass matrix is singular, or the model has ropes or limits of ball joints.
    """
    of_kind(model, Model, "model", "a Model")
    if not 0 < real(tolerance) < np.inf:
        raise InputError("tolerance", tolerance, "must be a positive number")
    tolerance = real(tolerance)
    refuse_unilateral(model, "minimize_potential_energy")
    model.require_invertible_mass_matrix()
    q = satisfy_constraints(model, q, hold)
    rest = _Rest(model, hold)
    scale = max(float(np.abs(rest.slope(q)[rest.free]).max(initial=0.0)), 1e-12)
    q = rest.descended(q, scale)
    for _ in range(20):
        # Newton's method on the balance of forces, with its derivatives by differences
        left, multipliers, Dh = rest.unbalanced(q)
        scale = max(scale, float(np.abs(rest.slope(q)[rest.free]).max(initial=0.0)))
        if np.abs(left).max(initial=0.0) <= tolerance * scale:
            return q
        m = len(multipliers)
        system = np.block([[rest.curvature(q, multipliers).T, Dh.T], [Dh, np.zeros((m, m))]])
        x = np.linalg.lstsq(system, np.concatenate((-left, np.zeros(m))), rcond=1e-12)[0][: len(left)]
        q = rest.moved(q, x * min(1.0, 0.5 / max(np.abs(x).max(), 1e-300)))
        q = satisfy_constraints(model, q, hold)
    worst = model.v_names[int(np.flatnonzero(rest.free)[np.abs(left).argmax()])]
    raise ConvergenceError(
        f'no equilibrium near q: "{worst}" still has a force of {np.abs(left).max():.3g} N or N m; the '
        "potential may have no minimum there; start elsewhere, or hold joints",
        time=np.nan, residual=float(np.abs(left).max()), iterations=20,
    )  # fmt: skip


class _Rest:
    """The forces of a model at rest, on the joints that are free to move."""

    def __init__(self, model: Model, hold: Iterable[str]):
        self.model, self.hold = model, tuple(hold)
        self.free = ~held_coordinates(model, self.hold)

    def slope(self, at: np.ndarray) -> np.ndarray:
        """Derivatives of the potential by body displacements."""
        return -self.model.passive_force(at)

    def constraints(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h, and Dh by the free coordinates."""
        h, Dh = self.model._constraint_rows(at[None])
        return h[0], Dh[0][:, self.free]

    def unbalanced(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces that the constraints do not carry, the multipliers of those they do, and Dh."""
        Dh, force = self.constraints(at)[1], self.slope(at)[self.free]
        multipliers = np.linalg.lstsq(Dh.T, force, rcond=None)[0]
        return force - Dh.T @ multipliers, multipliers, Dh

    def curvature(self, at: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Derivatives of the unbalanced forces, the multipliers held."""
        model, free = self.model, self.free

        def left(q: np.ndarray) -> np.ndarray:
            found: np.ndarray = self.slope(q) - model._constraint_rows(q[None])[1][0].T @ multipliers
            return found

        found: np.ndarray = by_displacement(model, at, left)[free][:, free]
        return found

    def moved(self, at: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The configuration that a displacement of the free coordinates leads to."""
        step = np.zeros(self.model.nv)
        step[self.free] = x
        return self.model.integrate(at, step)

    def descended(self, q: np.ndarray, scale: float) -> np.ndarray:
        """A configuration of less potential that satisfies the constraints, near a local minimum."""
        if (KIND_NV[self.model.flat.kind] == 1).all():
            return self._descended(q, scale, None)
        # slopes are by body displacements, which of several coordinates of a joint add up only while they are small
        for _ in range(30):
            before, q = q, self._descended(q, scale, [(-0.2, 0.2)] * int(self.free.sum()))
            if np.abs(self.model.difference(before, q)).max() < 1e-3:
                break
        return q

    def _descended(self, start: np.ndarray, scale: float, bounds: list[tuple[float, float]] | None) -> np.ndarray:
        """The same by one call of SLSQP, on displacements from a start."""
        from scipy.optimize import minimize

        def at(x: np.ndarray) -> np.ndarray:
            return self.moved(start, x)

        found = minimize(
            lambda x: self.model.potential_energy(at(x)) / scale, np.zeros(self.free.sum()), method="SLSQP",
            jac=lambda x: self.slope(at(x))[self.free] / scale, options={"maxiter": 500, "ftol": 1e-12},
            constraints={"type": "eq", "fun": lambda x: self.constraints(at(x))[0],
                         "jac": lambda x: self.constraints(at(x))[1]}, bounds=bounds,
        )  # fmt: skip
        return satisfy_constraints(self.model, at(found.x), self.hold)


# ---- starts without overlaps ---------------------------------------------------------------


#: How far bodies may overlap where a run starts, and joints be beyond a limit [m or rad].
OVERLAP = 1e-9
#: Corrections of a configuration at most, and what counts as zero behind them [m or rad].
MOST, ZERO = 20, 1e-12


def within_limits(model: Model, q: np.ndarray) -> np.ndarray:
    """Return q (nq,) with coordinates beyond limits that are enforced moved to these limits [m or rad]."""
    q = np.array(q)
    for _, at, _, low, high in limits_of(model.joints, model.constraints) if model.limits == "enforce" else ():
        q[at] = min(max(q[at], low), high)
    return q


def _lowered(ground: Ground, depth: float) -> str:
    """Return how to lower a ground by a depth [m] or a little more."""
    if ground.terrain is not None or ground.planes or tuple(ground.normal) != (0.0, 0.0, 1.0):
        return f"lower the ground by {depth:.3g} m or more"
    return f"lower the ground, to vt.Ground({math.floor(1e3 * (ground.height - depth)) / 1e3:g})"


def require_clear(model: Model, q: np.ndarray, when: str = "at the start", most: float = OVERLAP) -> None:
    """Raise an InputError if bodies overlap at q (nq,) of ``model.full``, or a limit that is enforced is passed."""
    full = model.full
    gaps = full.contact_gaps(q)
    if len(gaps.gap) and gaps.gap.min() < -most:
        k = int(gaps.gap.argmin())
        pair, depth = f'"{gaps.a[k]}" and {named_side(gaps.b[k])}', -float(gaps.gap[k])
        remedy = "move them apart, as vt.feasible_start(model, q) does, or leave the pair out by vt.NoContact"
        if full.ground is not None and gaps.b[k] == "ground":
            root = roots_of(full.flat.parent)[full.index.place(gaps.a[k])[0]]
            remedy = "vt.place_on_ground(model, q) sets a robot on the ground" if root in ways_up(full) else (
                "its base does not move along the ground's normal: start in another configuration, or "
                + _lowered(full.ground, depth))  # fmt: skip
        raise InputError(f"{pair} overlap by {depth:.3g} m {when}; {remedy}")
    beyond = [(max(low - q[at], q[at] - high), joint.name, float(q[at]), entry, low, high)
              for joint, at, entry, low, high in limits_of(full.joints, full.constraints)
              if full.limits == "enforce" and not low - most <= q[at] <= high + most]  # fmt: skip
    names, rest, _ = unilateral_gaps(full, q)
    if len(rest) and rest.min() < -most:
        raise InputError(f"the {names[int(rest.argmin())]} is passed by {-rest.min():.3g} (m or rad) {when}; start "
                         "within it, as vt.feasible_start(model, q) does")  # fmt: skip
    if beyond:
        _, name, x, entry, low, high = max(beyond)
        others = f", and {len(beyond) - 1} more joints are beyond theirs" if len(beyond) > 1 else ""
        tied = full.constraints and full._constraint_rows(q[None])[1][0][:, entry].any()
        such = f', such as at vt.satisfy_constraints(model, q, hold=["{name}"]) of a q that is' if tied else ""
        raise InputError(
            f'the joint "{name}" is at {x:.6g} {when}, beyond its limits {low:g} to {high:g}{others}; start within '
            f'them{such}, or take limits="report"'
        )  # fmt: skip


# ---- starts that overlap, pass limits or leave loops open by a little, as those of other simulators do -----


#: What a start may overlap, be beyond a limit or leave a loop open by, to be brought together [m or rad].
MENDED = 1e-3
#: Contacts of at least this restitution rebound at the node behind the one where they close, and overlap until then.
BOUNCY = 0.5
#: What such a contact may overlap by at any speed: rebounds leave it where another impact ends them [m].
RESTING = 1e-3


def brought_together(
    model: Model, q: np.ndarray, v: np.ndarray, dt: float
) -> tuple[np.ndarray, tuple[str, ...], bool]:
    """Return the configuration near q (nq,) at which nothing is amiss, what was, and whether the start is well.

    A start (q, v) that needs nothing is returned as it is, and so is one that is off by more than ``MENDED``. Contacts
    that rebound at the next node may overlap by the way of a step, dt v; they stay as they are. The model is not a
    reduced one.
    """
    found = amiss_at(model, q, v, dt)
    if not found:
        return q, (), True
    if max(off for _, off in found) > MENDED:
        return q, (), False
    try:
        end = _closed(model, q, v, dt)
    except (VitreeError, np.linalg.LinAlgError):
        return q, (), False
    if end is None or amiss_at(model, end, v, dt):
        return q, (), False
    moved = float(np.abs(model.difference(q, end)).max())
    told = "; ".join(f"{what} by {off:.3g}" for what, off in found)
    text = f"The start was brought together: {told} (m or rad). No coordinate was changed by more than {moved:.3g}."
    return end, (text,), True


def amiss_at(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> list[tuple[str, float]]:
    """Return in words what misses at q, and by how much [m or rad]."""
    found = []
    if model.has_contact:
        gaps = model.contact_gaps(q)
        if len(gaps.gap) and gaps.gap.min() < -OVERLAP:
            gap = np.minimum(gaps_of(model, q)[0] + rebounds(model, q, v, dt), 0.0)
            names = model._contact_names
            worst: dict[tuple[str, str], float] = {}
            for k in np.flatnonzero(gap < -OVERLAP):
                worst[names[k]] = max(worst.get(names[k], 0.0), -float(gap[k]))
            found += [(f'"{a}" and {named_side(b)} overlapped', off) for (a, b), off in worst.items()]
        for joint, beyond, _ in _beyond(model, q, v, dt):
            found.append((f'"{joint}" was beyond its limit', abs(beyond)))
        sides, rest, _ = unilateral_gaps(model, q)
        found += [(f"the {side} was passed", -float(x)) for side, x in zip(sides, rest, strict=True) if x < -OVERLAP]
    if model.constraints:
        errors = np.abs(model._constraint_errors(q[None])[0])
        found += [(f"the {model.constraints[k].name} was open", float(errors[k]))
                  for k in np.flatnonzero(errors > CONSISTENT)]  # fmt: skip
    return found


def _beyond(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> list[tuple[str, float, int]]:
    """Return joints that are beyond limits that stop them, by how much, and their entry of v."""
    found = []
    for joint, at, entry, low, high in limits_of(model.joints, model.constraints) if model.limits == "enforce" else ():
        way = rebound_way(float(model.flat.limit_restitution[entry]), abs(float(v[entry])), dt)
        over = max(q[at] - high, 0.0) - max(low - q[at], 0.0)
        if abs(over) > OVERLAP + way and not model.flat.kinematic[entry]:
            found.append((joint.name, float(over), entry))
    return found


def gaps_of(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps (n,), normals and points (n, 3) of all contacts but wheels and limits."""
    number = np.arange(count_of(model.contact_candidates))
    gap, n, x, _ = gaps_at(model, number, np.zeros_like(number), q[None])
    return gap, n, x


def rebound_way(restitution: float, speed: float, dt: float) -> float:
    """Return how far a contact may overlap that rebounds: the way of a step there, and back at the speed [m/s] left."""
    return max(RESTING, 2.1 * dt * speed / restitution) if restitution >= BOUNCY else 0.0


def rebounds(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    """Return what contacts that rebound may overlap by at (q, v) (n,) [m], of all contacts but wheels and limits.

    Those that are springs may by any depth.
    """
    found = model.contact_candidates
    e, stiffness = np.concatenate([
        np.tile(found.numbers, (found.grounds, 1)), found.pair_numbers,
        np.repeat(found.facing_numbers, MOST_FACETS, axis=0),
    ])[:, 1:3].T  # fmt: skip
    out, which = np.where(np.isfinite(stiffness), np.inf, 0.0), np.flatnonzero((e >= BOUNCY) & np.isinf(stiffness))
    if len(which):
        speed = np.abs(gap_rates(model, q, which) @ v)
        out[which] = [rebound_way(float(e[k]), float(s), dt) for k, s in zip(which, speed, strict=True)]
    return out


def gap_rates(model: Model, q: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return how gaps of some contacts change with displacements, (n, nv)."""
    gap, n, x = gaps_of(model, q)
    places = np.column_stack([x, n, gap])[which]
    at = np.arange(len(which))
    nodes = Nodes(np.repeat(q[None], max(len(which), 1), axis=0), at, np.empty((0, 2), int))
    return kicks_of(model, which, n[which], places, nodes)[: len(which)]


def _closed(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray | None:
    """Return the nearest configuration in the metric of the kinetic energy, by Gauss-Newton; None without one."""
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    W = np.zeros((model.nv, model.nv))
    W[np.ix_(free, free)] = np.linalg.inv(model.crba(q)[np.ix_(free, free)])
    shut: set[int] = set()
    for _ in range(MOST):
        h, rows = np.empty(0), np.empty((0, model.nv))
        if model.has_contact:
            gap = gaps_of(model, q)[0] + rebounds(model, q, v, dt)
            shut |= set(np.flatnonzero(gap < -ZERO).tolist())
            which = np.array(sorted(shut), dtype=int)
            h, rows = gap[which], gap_rates(model, q, which)
            for _, over, entry in _beyond(model, q, v, dt):
                h, rows = np.append(h, over), np.vstack([rows, np.eye(model.nv)[entry]])
            _, rest, slopes = unilateral_gaps(model, q)
            h, rows = np.append(h, rest[rest < -ZERO]), np.vstack([rows, slopes[rest < -ZERO]])
        if model.constraints:
            errors, Dh = (x[0] for x in model._constraint_rows(q[None]))
            h, rows = np.append(h, errors), np.vstack([rows, Dh])
        if np.abs(h).max(initial=0.0) <= ZERO:
            return q
        G = rows @ W @ rows.T
        step = W @ rows.T @ np.linalg.lstsq(G, h, rcond=1e-10)[0]
        if not np.abs(step).max() <= 100 * MENDED:
            return None
        q = model.integrate(q, -step)
    return q
