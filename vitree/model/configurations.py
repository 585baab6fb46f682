"""Configurations that rest, and starts without overlaps or that are mended."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind, real
from vitree.errors import ConvergenceError, InputError, VitreeError
from vitree.mechanism.contacts import Ground
from vitree.mechanism.flat import KIND_NV, limits_of
from vitree.mechanism.floating import roots_of
from vitree.mechanism.spans import MOST_FACETS
from vitree.model.broadcasting import guarded
from vitree.model.candidates import named_side
from vitree.model.closures import CONSISTENT, held_coordinates, satisfy_constraints
from vitree.model.contacts import Nodes, count_of, gaps_at, kicks_of, unilateral_gaps
from vitree.model.dynamics import refuse_unilateral
from vitree.model.model import Model
from vitree.model.placement import ways_up
from vitree.model.user_inputs import by_displacement

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
    model: Model, q: np.ndarray, v: np.ndarray, dt: float, least: float | None = None
) -> tuple[np.ndarray, tuple[str, ...], bool]:
    """Return the configuration near q (nq,) at which nothing is amiss, what was, and whether the start is well.

    A start (q, v) that needs nothing is returned as it is, and so is one that is off by more than ``MENDED``. Contacts
    that rebound at the next node may overlap by the way of a step, dt v; they stay as they are. The model is not a
    reduced one. ``least``, where it is known, is the least gap of its contacts at q [m].
    """
    found = amiss_at(model, q, v, dt, least)
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


def amiss_at(
    model: Model, q: np.ndarray, v: np.ndarray, dt: float, least: float | None = None
) -> list[tuple[str, float]]:
    """Return in words what misses at q, and by how much [m or rad]; ``least`` as in :func:`brought_together`."""
    found = []
    if model.has_contact:
        if least is None or np.isnan(least):
            least = float(model.contact_gaps(q).gap.min(initial=np.inf))
        if least < -OVERLAP:
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
