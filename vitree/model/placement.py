"""Starts: a robot placed on the ground, and configurations that are mended."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind
from vitree.errors import InputError, ModelError, VitreeError
from vitree.mechanism.contacts import Ground
from vitree.mechanism.flat import FREE, PRISMATIC, limits_of
from vitree.mechanism.floating import roots_of
from vitree.model.broadcasting import guarded, in_coordinates
from vitree.model.candidates import named_side
from vitree.model.closure import CONSISTENT
from vitree.model.contact_points import Nodes, count_of, gaps_at, kicks_of
from vitree.model.model import Model

# ---- configurations that stand on the ground ---------------------------------------------------------------


#: Cosine between the direction of the move and a half-space's normal below which the half-space is a wall.
WALL = 0.1
#: How far bodies may overlap where a run starts, and joints be beyond a limit [m or rad].
OVERLAP = 1e-9
#: Corrections of the move, for what rounding leaves.
MOST = 3


@guarded
def place_on_ground(model: Model, q: ArrayLike) -> np.ndarray:
    """Return a configuration whose base is moved along the ground's normal until the least gap is zero.

    Of several mechanisms in one model each is moved by itself. Those that cannot meet the ground stay.

    Parameters
    ----------
    model : Model
        With a ground. Roots that move have a free joint, or three sliding joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    (nq,) array [m or rad]
        The gaps between bodies are not looked at.

    Raises
    ------
    ModelError
        If there is no ground, or the base of what can meet it does not move freely.
    InputError
        If the ground has a wall that is in the way.

    Notes
    -----
    On a height field the move is along z. With several half-spaces it is along the first normal; half-spaces that are
    steeper than 84 degrees against it are walls.
    """
    of_kind(model, Model, "model", "a Model")
    return _placed(model, model.validate_configuration(q))


@in_coordinates("configuration")
def _placed(model: Model, q: np.ndarray) -> np.ndarray:
    """The same of a checked configuration."""
    ground, at = model.ground, q
    if ground is None:
        raise ModelError(f'"{model.name}" has no ground; give one, such as load_urdf(..., ground=vt.Ground())')
    up, trees, ways = _to_move(model, ground)
    if not ways:
        raise ModelError(
            f'the base of "{model.name}" is fixed, or does not move along the ground\'s normal; give it a vt.free '
            'joint (load_urdf: base="free"), or lower the ground by its height, vt.Ground(height)'
        )
    for _ in range(MOST):
        gaps = model.contact_gaps(at)
        rate = gaps.normal[: len(trees)] @ up  # how fast each gap grows along the way
        for tree, way in ways.items():
            rows = np.flatnonzero((trees == tree) & (rate > WALL))
            at = at + way * (-gaps.gap[rows] / rate[rows]).max()
    gaps = model.contact_gaps(at)
    for k, tree in enumerate(trees.tolist()):
        if gaps.gap[k] < -1e-12 and tree in ways:
            raise InputError(
                f'"{gaps.a[k]}" is {-gaps.gap[k]:.3g} m inside a wall of the ground, which no move along '
                f"({', '.join(f'{x:g}' for x in up)}) changes; move the base aside"
            )
    return at


def _to_move(model: Model, ground: Ground) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
    """Return the way (3,) out of the ground, the root of each gap with it, and the ways (nq,) of roots that move."""
    found, root = model.contact_candidates, roots_of(model.flat.parent)
    up = np.array((0.0, 0.0, 1.0)) if ground.terrain is not None else found.planes[0, :3]
    moved = dict.fromkeys(root[found.body].tolist())
    ways = {tree: way for tree in moved if (way := way_of(model, tree, up)) is not None}
    return up, np.tile(root[found.body], found.grounds), ways


def way_of(model: Model, root: int, up: np.ndarray) -> np.ndarray | None:
    """Return the change (nq,) of q that moves a tree by 1 m along a direction (3,) of the world; None if it cannot."""
    flat, way = model.flat, np.zeros(model.nq)
    kind, parent = flat.kind, flat.parent
    if kind[root] == FREE:
        way[model.index.iq[root] : model.index.iq[root] + 3] = up
        return way
    chain, axes, turn = [], [], np.eye(3)
    at = root
    while kind[at] == PRISMATIC:
        turn = turn @ flat.E[at]
        chain.append(at)
        axes.append(turn[:, 2])
        below = np.flatnonzero(parent == at)
        if len(below) != 1 or flat.mass[at]:
            break
        at = int(below[0])
    if not chain:
        return None
    shares, *_ = np.linalg.lstsq(np.array(axes).T, up, rcond=None)
    if np.abs(np.array(axes).T @ shares - up).max() > 1e-9:
        return None
    way[model.index.iq[chain]] = shares
    return way


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
        remedy = "move them apart, or leave the pair out by vt.NoContact"
        if full.ground is not None and gaps.b[k] == "ground":
            _, trees, ways = _to_move(full, full.ground)
            remedy = "vt.place_on_ground(model, q) sets a robot on the ground" if trees[k] in ways else (
                "its base does not move along the ground's normal: start in another configuration, or "
                + _lowered(full.ground, depth))  # fmt: skip
        raise InputError(f"{pair} overlap by {depth:.3g} m {when}; {remedy}")
    beyond = [(max(low - q[at], q[at] - high), joint.name, float(q[at]), entry, low, high)
              for joint, at, entry, low, high in limits_of(full.joints, full.constraints)
              if full.limits == "enforce" and not low - most <= q[at] <= high + most]  # fmt: skip
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
    if model.has_contact:
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
        if model.has_contact:
            gap = _gaps(model, q)[0] + rebounds(model, q, v, dt)
            shut |= set(np.flatnonzero(gap < -ZERO).tolist())
            which = np.array(sorted(shut), dtype=int)
            h, rows = gap[which], gap_rates(model, q, which)
            for _, over, entry in _beyond(model, q, v, dt):
                h, rows = np.append(h, over), np.vstack([rows, np.eye(model.nv)[entry]])
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
