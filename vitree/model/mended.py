"""Starts that overlap, pass limits or leave loops open by a little, as those of other simulators do."""

from __future__ import annotations

import numpy as np

from vitree.errors import VitreeError
from vitree.mechanism.flat import limits_of
from vitree.model.closure import CONSISTENT
from vitree.model.contacts import named_side
from vitree.model.model import Model
from vitree.model.placing import OVERLAP
from vitree.model.pushed import Nodes, count_of, gaps_at, kicks_of

#: What a start may overlap, be beyond a limit or leave a loop open by, to be brought together [m or rad].
MENDED = 1e-3
#: Contacts of at least this restitution rebound at the node behind the one where they close, and overlap until then.
BOUNCY = 0.5
#: What such a contact may overlap by at any speed: rebounds leave it where another impact ends them [m].
RESTING = 1e-3
#: Corrections, and what counts as zero behind them [m or rad].
MOST, ZERO = 20, 1e-12


def brought_together(
    model: Model, q: np.ndarray, v: np.ndarray, dt: float
) -> tuple[np.ndarray, tuple[str, ...], bool]:
    """Return the configuration near q (nq,) at which nothing is amiss, what was, and whether the start is well.

    A start that needs nothing is returned as it is, and so is one that is off by more than ``MENDED``. Contacts that
    rebound at the next node may overlap by the way of a step, dt v; they stay as they are.

    Parameters
    ----------
    model : Model
        Not a reduced one.
    q : (nq,) array [m or rad]
    v : (nv,) array [m/s or rad/s]
    dt : float [s]
    """
    found = _amiss(model, q, v, dt)
    if not found:
        return q, (), True
    if max(off for _, off in found) > MENDED:
        return q, (), False
    try:
        end = _closed(model, q, v, dt)
    except (VitreeError, np.linalg.LinAlgError):
        return q, (), False
    if end is None or _amiss(model, end, v, dt):
        return q, (), False
    moved = float(np.abs(model.difference(q, end)).max())
    told = "; ".join(f"{what} by {off:.3g}" for what, off in found)
    text = f"The start was brought together: {told} (m or rad). No coordinate was changed by more than {moved:.3g}."
    return end, (text,), True


def _amiss(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> list[tuple[str, float]]:
    """Return in words what misses at q, and by how much [m or rad]."""
    found = []
    if model.touches:
        gaps = model.contact_gaps(q)
        if len(gaps.gap) and gaps.gap.min() < -OVERLAP:
            gap = np.minimum(_gaps(model, q)[0] + rebounds(model, q, v, dt), 0.0)
            names = model._contact_names
            worst: dict[tuple[str, str], float] = {}
            for k in np.flatnonzero(gap < -OVERLAP):
                worst[names[k]] = max(worst.get(names[k], 0.0), -float(gap[k]))
            found += [(f'"{a}" and {named_side(b)} overlapped', off) for (a, b), off in worst.items()]
        for joint, beyond, _ in _beyond(model, q, v, dt):
            found.append((f'"{joint}" was beyond its limit', abs(beyond)))
    if model.constraints:
        errors = np.abs(model.constraint_errors(q[None])[0])
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


def _gaps(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    e, stiffness = np.concatenate([np.tile(found.numbers, (found.grounds, 1)), found.pair_numbers])[:, 1:3].T
    out, which = np.where(np.isfinite(stiffness), np.inf, 0.0), np.flatnonzero((e >= BOUNCY) & np.isinf(stiffness))
    if len(which):
        speed = np.abs(gap_rates(model, q, which) @ v)
        out[which] = [rebound_way(float(e[k]), float(s), dt) for k, s in zip(which, speed, strict=True)]
    return out


def gap_rates(model: Model, q: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return how gaps of some contacts change with displacements, (n, nv)."""
    gap, n, x = _gaps(model, q)
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
        if model.touches:
            gap = _gaps(model, q)[0] + rebounds(model, q, v, dt)
            shut |= set(np.flatnonzero(gap < -ZERO).tolist())
            which = np.array(sorted(shut), dtype=int)
            h, rows = gap[which], gap_rates(model, q, which)
            for _, over, entry in _beyond(model, q, v, dt):
                h, rows = np.append(h, over), np.vstack([rows, np.eye(model.nv)[entry]])
        if model.constraints:
            errors, Dh = (x[0] for x in model.constraint_rows(q[None]))
            h, rows = np.append(h, errors), np.vstack([rows, Dh])
        if np.abs(h).max(initial=0.0) <= ZERO:
            return q
        G = rows @ W @ rows.T
        step = W @ rows.T @ np.linalg.lstsq(G, h, rcond=1e-10)[0]
        if not np.abs(step).max() <= 100 * MENDED:
            return None
        q = model.integrate(q, -step)
    return q
