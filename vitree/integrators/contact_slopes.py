"""Derivatives of what contacts do in a step, while those that push, stick and slide stay the same ones.

The momentum jumps by J(q1)^T lam where a step starts, and each contact has equations between q1, q2 and lam: those of
its gap and its slip. The core derives the geometry by displacements of the bodies, and the rest follows from the
equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vitree import _core
from vitree._core import scalar
from vitree.model.model import Model

core = scalar()
#: Laws of contacts in the core: contact with friction, and rows that rub. Rows that hold keep their equations.
CONE, RUB = core.LAWS["cone"], core.LAWS["rub"]
#: Steps whose derivatives are made at one time.
CHUNK = 64
#: Shift of the diagonal of redundant rows, relative to the rows, and what it may leave.
SHIFT, EXACT = 1e-6, 1e-12
#: Share of the largest below which singular values of redundant rows are zero, and which no rounding error exceeds.
REDUNDANT, ROUNDING = 1e-10, 1e-13
#: [m/s] slower than this nothing slides.
SLIDING = 1e-7
#: Share of the bound of friction up to which a contact sticks.
STICKS = 1 - 1e-9
#: The same where it depends on what a spring gives at the step's end, which is known to the step's tolerance.
STICKS_ON_SPRING = 1 - 1e-6
#: Share of the bound beyond which friction is not half against the slip of the step before.
BEYOND = 1 + 1e-6


@dataclass(frozen=True, eq=False)
class Touched:
    """The contacts that pushed in a step.

    Attributes
    ----------
    members : tuple of int
        Their numbers.
    impulses : (k, 3) array [N s]
        In the world's axes, where the step starts.
    ways : (contacts, 3) array
        Which way each contact slid in the step before, unit vectors or zeros.
    before : (b, 1 + m) array
        Of contacts that pushed in the step before: the number, and the place as ``facets`` has it, or zeros.
    facets : (k, m) array or None
        Of each, the places of convex shapes as :class:`vitree.model.contacts.Nodes` has them.
    torques : (k, 3) array or None [N m s]
        Impulses of torsional and rolling friction.
    turns : (contacts, 3) array or None
        Beside the ways, in which way each turned. Both together are unit vectors, as the core has them.
    """

    members: tuple[int, ...]
    impulses: np.ndarray
    ways: np.ndarray
    before: np.ndarray
    facets: np.ndarray | None = None
    torques: np.ndarray | None = None
    turns: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Held:
    """Linear equations of impulses lam in steps: by_start d1 + by_end d2 + by_impulse dlam = 0; p1 has push^T lam less.

    Of s steps in which the same contacts push, stick and slide.

    Attributes
    ----------
    steps : (s,) array of int
        Their numbers.
    push : (s, n, nv) array
    turn : (s, nv, nv) array
        Of push^T lam, by d1.
    kick : (s, nv) array
        push^T lam.
    by_start, by_end : (s, n, nv) arrays
    by_impulse : (s, n, n) array
    late : (s, nv) array
        What springs of contacts add to p2.
    late_by : (s, 2, nv, nv) array or None
        Its derivatives by d1 and d2; None without springs.
    ends : (s, n, nv) array
        The derivatives of gaps and slips by d2.
    slides : tuple of (slice, (s, size) array, (s,) array, (s,) array)
        Of contacts that slide: the rows of friction, the direction of the slip, the bound [N s] and the speed.
    leads : tuple of (int, slice, (s, 2, 3) array)
        Of contacts that slide: the number, the rows, and what a change of the direction of the slip in the step before
        changes in the equations.
    patches : tuple of int arrays
        The normal rows of points of a body on a plane, of which normal impulses are an affine function of the place.
    slips : mapping of int to (s, 3, 1 + 2 nv) array
        Of contacts with friction, by their numbers: the slip in world axes, and its derivatives by d1 and d2; zeros
        where they stick.
    """

    steps: np.ndarray
    push: np.ndarray
    turn: np.ndarray
    kick: np.ndarray
    by_start: np.ndarray
    by_end: np.ndarray
    by_impulse: np.ndarray
    late: np.ndarray
    late_by: np.ndarray | None
    ends: np.ndarray
    slides: tuple[tuple[slice, np.ndarray, np.ndarray, np.ndarray], ...] = ()
    leads: tuple[tuple[int, slice, np.ndarray], ...] = ()
    patches: tuple[np.ndarray, ...] = ()
    slips: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def at(self) -> slice | np.ndarray:
        """The numbers of the steps as an index, which gives views of arrays where the steps follow each other."""
        first, last = int(self.steps[0]), int(self.steps[-1])
        return slice(first, last + 1) if last - first == len(self.steps) - 1 else self.steps

    def by_before(self, row: int, before: tuple[Held, int] | None) -> np.ndarray | None:
        """Return the derivatives (n, 2 nv) of a step's equations by d0 and d1 through slips of the step before.

        d0 is the displacement of that step's start; it is a row of its own steps. Friction opposes u = s/|s| by half.
        None where nothing slid.
        """
        found = None
        slips = {} if before is None else {number: slip[before[1]] for number, slip in before[0].slips.items()}
        for number, rows, change in self.leads:
            slip = slips.get(number)
            if slip is None or not slip.any():
                continue
            size = float(np.linalg.norm(slip[:, 0]))
            u = slip[:, 0] / size
            if found is None:
                found = np.zeros((self.push.shape[1], 2 * self.push.shape[2]))
            found[rows] = change[row] @ (np.eye(3) - np.outer(u, u)) @ slip[:, 1:] / size
        return found

    def with_constraints(self, one: np.ndarray, two: np.ndarray, anchored: int) -> Held:
        """Return the same with constraints before them, whose rows (s, m, nv) are ``one`` at q1 and ``two`` at q2.

        Those from number ``anchored`` on hold what they measure at q1.
        """
        m, start = one.shape[1], 0 * one
        start[:, anchored:] = -one[:, anchored:]
        by_impulse = np.zeros((len(one), *(m + self.push.shape[1],) * 2))
        by_impulse[:, m:, m:] = self.by_impulse
        slides = [(slice(rows.start + m, rows.stop + m), u, bound, speed) for rows, u, bound, speed in self.slides]
        leads = [(number, slice(rows.start + m, rows.stop + m), change) for number, rows, change in self.leads]
        rows = {"push": -one, "by_start": start, "by_end": two, "ends": 0 * two}
        more: Any = {name: np.concatenate([x, getattr(self, name)], axis=1) for name, x in rows.items()}
        return replace(self, **more, by_impulse=by_impulse, slides=tuple(slides), leads=tuple(leads),
                       patches=tuple(rows + m for rows in self.patches))

    def with_places(self, push: np.ndarray, by_end: np.ndarray) -> Held:
        """Return the same with points that move over their bodies, behind all rows, whose coordinates are unknown.

        They are u with du = by_end d2, and the momentum jumps by push^T du, (s, points, nv) arrays.
        """
        n, points, none = self.push.shape[1], push.shape[1], np.zeros_like(push)
        by_impulse = np.zeros((len(push), *(n + points,) * 2))
        by_impulse[:, :n, :n], by_impulse[:, n:, n:] = self.by_impulse, -np.eye(points)
        rows = {"push": push, "by_start": none, "by_end": by_end, "ends": none}
        more: Any = {name: np.concatenate([getattr(self, name), x], axis=1) for name, x in rows.items()}
        return replace(self, **more, by_impulse=by_impulse)


def held_by(stepper: _core.Stepper, model: Model, h: float, q: np.ndarray, q2: np.ndarray,
            touched: Sequence[Touched | None]) -> list[Held]:  # fmt: skip
    """Return the equations of the contacts of steps from rows of q to rows of q2, alike ones together."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for k, one in enumerate(touched):
        if one is not None:
            none = tuple(x is None for x in (one.facets, one.torques, one.turns))
            alike.setdefault((one.members, none), []).append(k)
    found = []
    for steps in alike.values():
        for begin in range(0, len(steps), CHUNK):
            found += _held_in(stepper, model, h, q, q2, touched, np.array(steps[begin : begin + CHUNK]))
    return found


def _held_in(stepper: _core.Stepper, model: Model, h: float, q: np.ndarray, q2: np.ndarray,
             touched: Sequence[Touched | None], steps: np.ndarray) -> list[Held]:  # fmt: skip
    """Return the equations of steps in which the same contacts push."""
    ones = [one for one in (touched[k] for k in steps) if one is not None]

    def stacked(name: str) -> Any:
        rows = [getattr(one, name) for one in ones]
        return None if rows[0] is None else np.array(rows, dtype=float)

    parts = stepper.contact_slopes(
        np.ascontiguousarray(q[steps]), np.ascontiguousarray(q2[steps]), ones[0].members, stacked("impulses"),
        stacked("ways"), [one.before for one in ones], stacked("facets"), stacked("torques"), stacked("turns"),
    )  # fmt: skip
    numbers, laws, dims, patches, bounds, leads, lam, w, springs, W1, W2, J1, J2 = parts[:13]
    start_by, leads_by, slips_by, tangents, u_by, turn, late, late_by_ports, late_turn = parts[13:22]
    place_push, place_by = parts[22:]
    first, nv, s = np.cumsum(dims) - dims, model.nv, len(steps)
    J1T, J2T = J1.swapaxes(1, 2), J2.swapaxes(1, 2)

    def by_motion(of: np.ndarray) -> np.ndarray:
        # derivatives by ports, its second axis, as derivatives by d1, its last one
        found: np.ndarray = of.reshape(s, of.shape[1], -1).swapaxes(1, 2) @ J1
        return found.reshape(s, *of.shape[2:], nv)

    push, by_end, late_by = W1 @ J1, W2 @ J2, None
    if springs.any():
        late_by = np.zeros((s, 2, nv, nv))
        late_by[:, 1] = J2T @ late_by_ports.swapaxes(1, 2) @ J2 + late_turn
    # the bound of friction is of both impulses of a spring
    whole, friction, slip = lam[:, first] + springs[:, :, 0], np.zeros_like(leads), np.zeros_like(leads)
    across = np.arange(1, leads.shape[2] + 1) < dims[:, None]
    friction[:, across], slip[:, across] = np.delete(lam, first, axis=1), np.delete(w, first, axis=1)
    rubs, yields = laws == RUB, (springs != 0).any(axis=2)
    # where the damper of a contact would pull, no force acts
    springs[yields & (whole <= ROUNDING * np.abs(whole).max(initial=0.0)), 1:] = 0.0
    # where points share their friction, some are at the bound while none of them slips
    speeds = np.linalg.norm(slip, axis=2)
    at_bound = np.linalg.norm(friction - leads * whole[:, :, None], axis=2)
    slides = at_bound >= np.where(yields, STICKS_ON_SPRING, STICKS) * bounds * whole
    slides &= (laws == CONE) & (dims >= 3) & (speeds > SLIDING)
    stands = rubs & (np.abs(lam[:, first] - leads[:, :, 0]) < STICKS * bounds)
    # where no impulses were found otherwise, all friction of the step is against its own slip
    alone = slides & leads.any(axis=2) & (at_bound > BEYOND * bounds * whole)
    faced = (dims >= 3) & tangents.any(axis=(0, 2, 3))
    moving = np.flatnonzero(faced & (speeds > SLIDING).any(axis=0))
    slips = _slips(numbers, first, moving, speeds, h * w, tangents, by_motion(slips_by[:, :, moving]), by_end)
    held = Held(steps, push, turn + J1T @ u_by.swapaxes(1, 2) @ J1, _times(push.swapaxes(1, 2), lam),
                by_motion(start_by), by_end, np.zeros((s, *(lam.shape[1],) * 2)), _times(J2T, late), late_by,
                by_end, patches=tuple(first[patches == p] for p in np.unique(patches[patches >= 0])),
                slips=slips)  # fmt: skip
    led = slides & leads.any(axis=2) & ~alone & (dims == 3)
    kinds = np.concatenate([yields, slides, stands, alone, led], axis=1)
    if (kinds == kinds[0]).all():
        patterns, which = kinds[:1], np.zeros(s, int)
    else:
        patterns, which = np.unique(kinds, axis=0, return_inverse=True)
    places = place_by.any(axis=(0, 2))
    placed = place_push[:, places] @ J1, place_by[:, places] @ J2
    if not (rubs.any() or kinds.any()):
        return [held.with_places(*placed) if places.any() else held]
    moved, found = by_motion(leads_by), []
    for number, pattern in enumerate(patterns):
        some = np.flatnonzero(which.ravel() == number)
        own = replace(held, by_end=by_end.copy()) if len(patterns) == 1 else _some(held, some)
        found.append(_with_laws(own, h, (numbers, first, dims, rubs), np.split(pattern, 5), *(
            x[some] for x in (lam, w, bounds, leads, whole, springs, moved, tangents))))  # fmt: skip
        if places.any():
            found[-1] = found[-1].with_places(*(x[some] for x in placed))
    return found


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    found: np.ndarray = (A @ x[:, :, None])[:, :, 0]
    return found


def _some(held: Held, which: np.ndarray) -> Held:
    """Return the equations of some of the steps, before the laws of sliding contacts are in them."""
    arrays = {name: x[which] for name, x in vars(held).items() if isinstance(x, np.ndarray)}
    return replace(held, **arrays, slips={number: x[which] for number, x in held.slips.items()})


def _slips(numbers: np.ndarray, first: np.ndarray, which: np.ndarray, speeds: np.ndarray, s: np.ndarray,
           tangents: np.ndarray, by_start: np.ndarray, by_end: np.ndarray) -> dict[int, np.ndarray]:  # fmt: skip
    """Return the slips of ``which`` contacts as :class:`Held` has them; s are gaps and slips of the rows."""
    found = {}
    for place, k in enumerate(which.tolist()):
        rows, axes = slice(first[k] + 1, first[k] + 3), tangents[:, k].swapaxes(1, 2)
        slip = np.concatenate([axes @ s[:, rows, None], by_start[:, place], axes @ by_end[:, rows]], axis=2)
        slip[speeds[:, k] <= SLIDING] = 0.0
        found[int(numbers[k])] = slip
    return found


def _with_laws(
    held: Held, h: float, contacts: tuple[np.ndarray, ...], kinds: Sequence[np.ndarray], lam: np.ndarray, w: np.ndarray,
    bounds: np.ndarray, leads: np.ndarray, whole: np.ndarray, springs: np.ndarray, moved: np.ndarray,
    tangents: np.ndarray,
) -> Held:  # fmt: skip
    """Return the equations with the laws of springs, dry friction and contacts that slide, alike in all steps.

    Rows of contacts that stick, and of constraints, stay as they are.
    """
    numbers, first, dims, rubs = contacts
    yields, slides, stands, alone, led = kinds
    push, by_start, by_end, by_impulse, late_by = held.push, held.by_start, held.by_end, held.by_impulse, held.late_by
    sliding, leading = [], []
    for k in np.flatnonzero(rubs | yields | slides).tolist():
        i, size = int(first[k]), int(dims[k])
        if rubs[k]:
            # a coordinate that stands stays; one that moves has a constant force
            by_start[:, i] = -by_end[:, i] if stands[k] else 0.0
            if not stands[k]:
                by_end[:, i], by_impulse[:, i, i] = 0.0, 1.0
            continue
        gaps, late_of = np.stack([push[:, i], by_end[:, i]], axis=1), np.zeros((len(lam), 2, push.shape[2]))
        if yields[k]:
            # lam = A(gap1, gap2), and what acts at the end by its own law
            by_start[:, i], by_end[:, i] = np.moveaxis(-springs[:, k, 1:3, None] * gaps, 1, 0)
            by_impulse[:, i, i] = 1.0
            late_of = springs[:, k, 3:, None] * gaps
            assert late_by is not None
            late_by += gaps[:, 1, None, :, None] * late_of[:, :, None]
        if slides[k]:
            rows, own = slice(i + 1, i + size), slice(0, size - 1)
            bound, lead, by_lead = bounds[:, k], leads[:, k, own], moved[:, k, own]
            if alone[k]:
                bound, lead, by_lead = 2 * bound, 0 * lead, 0 * by_lead
            u = _slide(rows, i, (whole[:, k], late_of), bound, lead, by_lead, h * w[:, rows],
                       by_start, by_end, by_impulse)  # fmt: skip
            sliding.append((rows, u, bound * whole[:, k], np.linalg.norm(w[:, rows], axis=1)))
            if led[k]:
                # lam_t = lead N + .., lead = -bound (t1, t2).u
                leading.append((int(numbers[k]), rows, (whole[:, k] * bound)[:, None, None] * tangents[:, k]))
    return replace(held, slides=tuple(sliding), leads=tuple(leading))


def _slide(rows: slice, normal: int, whole: tuple[np.ndarray, np.ndarray], bound: np.ndarray, lead: np.ndarray,
           moved: np.ndarray, s: np.ndarray, by_start: np.ndarray, by_end: np.ndarray,
           by_impulse: np.ndarray) -> np.ndarray:  # fmt: skip
    """Turn the equations of a slip s (steps, size), which is zero, into those of a contact that slides; return u.

    With lam_t = lead N + beta, beta = -bound N u, u = s/|s|. ``whole``: N, the normal impulse with that which a spring
    gives where the step ends, and the derivatives (steps, 2, nv) of this by d1 and d2.
    """
    size_n, late_by = whole
    size = np.linalg.norm(s, axis=1)
    u = s / size[:, None]
    across: np.ndarray = np.eye(s.shape[1]) - u[:, :, None] * u[:, None]
    turn, law = (bound * size_n / size)[:, None, None] * across, bound[:, None] * u - lead
    by_start[:, rows] = (turn @ by_start[:, rows] - size_n[:, None, None] * moved
                         + law[:, :, None] * late_by[:, 0, None])  # fmt: skip
    by_end[:, rows] = turn @ by_end[:, rows] + law[:, :, None] * late_by[:, 1, None]
    by_impulse[:, rows, rows] = np.eye(s.shape[1])
    by_impulse[:, rows, normal] = law
    found: np.ndarray = u
    return found


def solve_held(moved: np.ndarray, h: float, held: Held, d2: np.ndarray | None, free: np.ndarray | slice,
               more: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return d2 (s, free, columns) and dlam (s, n, columns) of inner d2 = right + push^T dlam and equations ``held``.

    ``moved`` (s, free, columns) is inner^-1 right, with the columns of d1 first and then those of dp1, of which right
    is the identity; ``d2`` (s, nv, columns) has what the other coordinates do, if there are any. Where more contacts
    push than a body needs, impulses are one of many ways to push it; if some of these slide, the motion depends on
    which. The third array is d2 (s, free, k) where the equations are displaced by ``more`` (s, n, k) alone.
    """
    nv, columns = held.push.shape[2], moved.shape[2]
    by_momenta = moved[:, :, nv : 2 * nv]
    pushed = by_momenta[:, :, free] @ held.push[:, :, free].swapaxes(1, 2)
    lack = held.by_end[:, :, free] @ moved
    if d2 is not None:
        lack += held.by_end @ d2
    lack[:, :, :nv] += held.by_start
    if more.shape[2]:
        lack = np.concatenate([lack, more], axis=2)
    S = held.by_end[:, :, free] @ pushed + held.by_impulse
    # rows have sizes of their own
    size = np.abs(S).max(axis=2, keepdims=True)
    size[size == 0] = 1.0
    scaled, right = S / size, lack / size
    lam, solved = _shifted(scaled, right)
    for k in np.flatnonzero(~solved) if not held.slides else range(len(S)):
        lam[k], rank = _least(scaled[k], right[k])
        if held.slides and rank < S.shape[1]:
            diagonal = np.diagonal(held.ends[k][:, free] @ pushed[k]) / h
            for rows in held.patches:
                diagonal[rows] = diagonal[rows].max()
            slides = [(rows, u[k], float(bound[k]), float(speed[k])) for rows, u, bound, speed in held.slides]
            lam[k] = _as_corrected(S[k], lack[k], diagonal, h, slides, rank)
    np.negative(lam, out=lam)
    d2 = pushed @ lam[:, :, :columns]
    d2 += moved
    return d2, lam[:, :, :columns], pushed @ lam[:, :, columns:]


def _shifted(S: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return solutions of S lam = right (s, n, k), also of redundant rows, and whether they are exact.

    By X, the inverse of S with a shift of its diagonal. What it leaves, R = 1 - S X, is the shift over the singular
    values, and X (1 + R + R^2 + R^3) leaves R^4; a correction by it removes the rounding errors.
    """
    one = np.eye(S.shape[1])
    inverse = np.linalg.inv(S + SHIFT * one)
    left = one - S @ inverse
    inverse = inverse @ (one + left) @ (one + left @ left)
    lam = inverse @ right
    lam += inverse @ (right - S @ lam)
    off: np.ndarray = np.abs(S @ lam - right).max(axis=(1, 2), initial=0.0)
    return lam, off <= EXACT * np.abs(right).max(axis=(1, 2), initial=0.0)


def _least(S: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the least solution of S lam = right (n, k), and the rank of S."""
    from scipy.linalg import lstsq

    lam, _, rank, _ = lstsq(S, right, cond=REDUNDANT, lapack_driver="gelsy", check_finite=False)
    return lam, int(rank)


def _as_corrected(S: np.ndarray, lack: np.ndarray, diagonal: np.ndarray, h: float,
                  slides: Sequence[tuple[slice, np.ndarray, float, float]], rank: int) -> np.ndarray:  # fmt: skip
    """Return the solution of S dlam = lack, of so many, that the steps of Newton's method take.

    They solve (F' + e D) dlam = -F with the diagonal D of G and e near zero. F' dlam = -F has solutions; with the left
    null vectors n of F', that of the shifted system has n^T D dlam = 0. The rows of F' are those of S times factors: in
    the plane of friction rho u u^T + rho |w|/(rho bound + |w|) (1 - u u^T).
    """
    from scipy.linalg import lstsq

    factor = np.eye(len(S)) / h
    for rows, u, bound, speed in slides:
        along, rho = np.outer(u, u), 0.5 * (diagonal[rows.start] + diagonal[rows.start + 1])
        factor[rows, rows] = rho * (along + speed / (rho * bound + speed) * (np.eye(len(u)) - along))
    own = factor @ S
    null = np.linalg.svd(own)[0][:, rank:].T * diagonal
    null *= np.abs(own).max() / np.abs(null).max()
    both, right = np.concatenate([own, null]), np.concatenate([factor @ lack, np.zeros((len(null), lack.shape[1]))])
    found: np.ndarray = lstsq(both, right, cond=ROUNDING, lapack_driver="gelsy", check_finite=False)[0]
    return found
