"""Derivatives of what contacts do in a step, while those that push, stick and slide stay the same ones.

The momentum jumps by J(q1)^T lam where a step starts, and each contact has equations between q1, q2 and lam: those of
its gap and its slip. The core derives the geometry by displacements of the bodies, and the rest follows from the
equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vitree import _core
from vitree._core import scalar
from vitree.model.model import Model

core = scalar()
#: Laws of contacts in the core: contact with friction, and rows that rub. Rows that hold keep their equations.
CONE, RUB = core.LAWS["cone"], core.LAWS["rub"]
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
    facets: np.ndarray | None = None
    torques: np.ndarray | None = None
    turns: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Held:
    """Linear equations of impulses lam: by_start d1 + by_end d2 + by_impulse dlam = 0, where p1 has push^T lam less.

    Attributes
    ----------
    push : (n, nv) array
    turn : (nv, nv) array
        Of push^T lam, by d1.
    kick : (nv,) array
        push^T lam.
    by_start, by_end : (n, nv) arrays
    by_impulse : (n, n) array
    late : (nv,) array
        What springs of contacts add to p2.
    late_by : (2, nv, nv) array
        Its derivatives by d1 and d2.
    ends : (n, nv) array
        The derivatives of gaps and slips by d2.
    slides : tuple of (slice, (size,) array, float, float)
        Of contacts that slide: the rows of friction, the direction of the slip, the bound [N s] and the speed.
    slips : mapping of int to (3, 1 + 2 nv) array
        Of contacts with friction, by their numbers: the slip in world axes, and its derivatives by d1 and d2.
    leads : tuple of (int, slice, (2, 3) array)
        Of contacts that slide: the number, the rows, and what a change of the direction of the slip in the step before
        changes in the equations.
    """

    push: np.ndarray
    turn: np.ndarray
    kick: np.ndarray
    by_start: np.ndarray
    by_end: np.ndarray
    by_impulse: np.ndarray
    late: np.ndarray
    late_by: np.ndarray
    ends: np.ndarray
    slides: tuple[tuple[slice, np.ndarray, float, float], ...] = ()
    slips: Mapping[int, np.ndarray] = field(default_factory=dict)
    leads: tuple[tuple[int, slice, np.ndarray], ...] = ()

    def by_before(self, before: Held | None) -> np.ndarray | None:
        """Return the derivatives (n, 2 nv) of the equations by d0 and d1 through slips of the step before, or None.

        d0 is the displacement of that step's start. Friction opposes u = s/|s| by half.
        """
        found = None
        for number, rows, change in self.leads:
            slip = None if before is None else before.slips.get(number)
            if slip is None:
                continue
            size = float(np.linalg.norm(slip[:, 0]))
            u = slip[:, 0] / size
            if found is None:
                found = np.zeros((len(self.push), 2 * self.push.shape[1]))
            found[rows] = change @ (np.eye(3) - np.outer(u, u)) @ slip[:, 1:] / size
        return found

    def with_constraints(self, one: np.ndarray, two: np.ndarray) -> Held:
        """Return the same with constraints before them, whose rows (m, nv) are ``one`` at q1 and ``two`` at q2."""
        m = len(one)
        by_impulse = np.zeros((m + len(self.push),) * 2)
        by_impulse[m:, m:] = self.by_impulse
        slides = [(slice(rows.start + m, rows.stop + m), u, bound, speed) for rows, u, bound, speed in self.slides]
        leads = [(number, slice(rows.start + m, rows.stop + m), change) for number, rows, change in self.leads]
        return Held(np.concatenate([-one, self.push]), self.turn, self.kick, np.concatenate([0 * one, self.by_start]),
                    np.concatenate([two, self.by_end]), by_impulse, self.late, self.late_by,
                    np.concatenate([0 * two, self.ends]), tuple(slides), self.slips, tuple(leads))  # fmt: skip


def held_by(stepper: _core.Stepper, model: Model, h: float, q: np.ndarray, q2: np.ndarray, touched: Touched) -> Held:
    """Return the equations of the contacts of a step from q to q2."""
    parts = stepper.contact_slopes(q, q2, touched.members, touched.impulses, touched.ways, touched.facets,
                                   touched.torques, touched.turns)  # fmt: skip
    numbers, laws, dims, bounds, leads, lam, w, springs, W1, W2, J1, J2 = parts[:12]
    start_by, leads_by, slips_by, tangents, u_by, turn, late, late_by_ports, late_turn = parts[12:]
    first, nv = np.cumsum(dims) - dims, model.nv
    push, by_start, by_end = W1 @ J1, start_by.T @ J1, W2 @ J2
    moved = np.tensordot(leads_by, J1, (0, 0))
    late_by = np.array([0 * turn, J2.T @ late_by_ports.T @ J2 + late_turn])
    by_impulse, ends, sliding, leading = np.zeros((len(lam),) * 2), by_end.copy(), [], []
    # the bound of friction is of both impulses of a spring
    whole, friction, slip = lam[first] + springs[:, 0], np.zeros_like(leads), np.zeros_like(leads)
    across = np.arange(1, leads.shape[1] + 1) < dims[:, None]
    friction[across], slip[across] = np.delete(lam, first), np.delete(w, first)
    rubs, yields = laws == RUB, (springs != 0).any(axis=1)
    slides = np.linalg.norm(friction - leads * whole[:, None], axis=1) >= (
        np.where(yields, STICKS_ON_SPRING, STICKS) * bounds * whole)
    # where points share their friction, some are at the bound while none of them slips
    speeds = np.linalg.norm(slip, axis=1)
    slips, slips_by = {}, np.tensordot(slips_by, J1, (0, 0))
    for k in np.flatnonzero((speeds > SLIDING) & tangents.any(axis=(1, 2))).tolist():
        rows, axes = slice(first[k] + 1, first[k] + 3), tangents[k].T
        slips[int(numbers[k])] = np.column_stack([axes @ (h * w[rows]), slips_by[k], axes @ ends[rows]])
    slides &= (laws == CONE) & (dims >= 3) & (speeds > SLIDING)
    # rows of contacts that stick, and of constraints, stay as they are
    for k in np.flatnonzero(rubs | yields | slides).tolist():
        i, size = int(first[k]), int(dims[k])
        if rubs[k]:
            # a coordinate that stands stays; one that moves has a constant force
            stands = abs(lam[i] - leads[k, 0]) < STICKS * bounds[k]
            by_start[i] = -by_end[i] if stands else 0.0
            if not stands:
                by_end[i], by_impulse[i, i] = 0.0, 1.0
            continue
        gaps, late_of = np.array([push[i], by_end[i]]), np.zeros((2, nv))
        if yields[k]:
            # lam = A(gap1, gap2), and what acts at the end by its own law
            by_start[i], by_end[i] = -springs[k, 1:3, None] * gaps
            by_impulse[i, i] = 1.0
            late_of = springs[k, 3:, None] * gaps
            late_by += gaps[1][:, None] * late_of[:, None]
        if slides[k]:
            rows, own = slice(i + 1, i + size), slice(0, size - 1)
            bound, lead, by_lead = bounds[k], leads[k, own], moved[k, own]
            if lead.any() and np.linalg.norm(lam[rows] - lead * whole[k]) > BEYOND * bound * whole[k]:
                # where no impulses were found otherwise, all friction of the step is against its own slip
                bound, lead, by_lead = 2 * bound, 0 * lead, 0 * by_lead
            u = _slide(rows, i, lam, (whole[k], late_of), bound, lead, by_lead, h * w, by_start, by_end, by_impulse)
            sliding.append((rows, u, bound * whole[k], float(np.linalg.norm(w[rows]))))
            if lead.any() and size == 3:
                # lam_t = lead N + .., lead = -bound (t1, t2).u
                leading.append((int(numbers[k]), rows, whole[k] * bound * tangents[k]))
    turn = turn + J1.T @ u_by.T @ J1
    return Held(push, turn, push.T @ lam, by_start, by_end, by_impulse, J2.T @ late, late_by, ends,
                tuple(sliding), slips, tuple(leading))  # fmt: skip


def _slide(rows: slice, normal: int, lam: np.ndarray, whole: tuple[float, np.ndarray], bound: float, lead: np.ndarray,
           moved: np.ndarray, s: np.ndarray, by_start: np.ndarray, by_end: np.ndarray,
           by_impulse: np.ndarray) -> np.ndarray:  # fmt: skip
    """Turn the equations of a slip, which is zero, into those of friction of a contact that slides; return u.

    With lam_t = lead N + beta, beta = -bound N u, u = s/|s|. ``whole``: N, the normal impulse with that which a spring
    gives where the step ends, and the derivatives (2, nv) of this by d1 and d2.
    """
    size_n, late_by = whole
    size = float(np.linalg.norm(s[rows]))
    u = s[rows] / size
    turn = bound * size_n / size * (np.eye(len(u)) - np.outer(u, u))
    by_start[rows] = turn @ by_start[rows] - size_n * moved + np.outer(bound * u - lead, late_by[0])
    by_end[rows] = turn @ by_end[rows] + np.outer(bound * u - lead, late_by[1])
    by_impulse[rows, rows] = np.eye(len(u))
    by_impulse[rows, normal] = bound * u - lead
    return u


def solve_held(moved: np.ndarray, h: float, held: Held, d2: np.ndarray, free: np.ndarray,
               more: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return d2 (free, columns) and dlam (n, columns) of inner d2 = right + push^T dlam and the equations ``held``.

    ``moved`` (free, columns) is inner^-1 right, with the columns of d1 first and then those of dp1, of which right is
    the identity; ``d2`` (nv, columns) has what the other coordinates do. Where more contacts push than a body needs,
    impulses are one of many ways to push it; if some of these slide, the motion depends on which. The third array is
    d2 (free, k) where the equations are displaced by ``more`` (n, k) alone.
    """
    from scipy.linalg import lstsq

    nv, columns = held.push.shape[1], moved.shape[1]
    pushed = moved[:, nv + free] @ held.push[:, free].T
    lack = held.by_end[:, free] @ moved + held.by_end @ d2
    lack[:, :nv] += held.by_start
    lack = np.concatenate([lack, more], axis=1)
    S = held.by_end[:, free] @ pushed + held.by_impulse
    # rows have sizes of their own
    size = np.abs(S).max(axis=1, keepdims=True)
    size[size == 0] = 1.0
    lam, _, rank, _ = lstsq(S / size, lack / size, cond=REDUNDANT, lapack_driver="gelsy", check_finite=False)
    if held.slides and rank < len(S):
        lam = _as_corrected(S, lack, np.diagonal(held.ends[:, free] @ pushed) / h, h, held, int(rank))
    return moved - pushed @ lam[:, :columns], -lam[:, :columns], -pushed @ lam[:, columns:]


def _as_corrected(S: np.ndarray, lack: np.ndarray, diagonal: np.ndarray, h: float, held: Held,
                  rank: int) -> np.ndarray:  # fmt: skip
    """Return the solution of S dlam = lack, of so many, that the steps of Newton's method take.

    They solve (F' + e D) dlam = -F with the diagonal D of G and e near zero. F' dlam = -F has solutions; with the left
    null vectors n of F', that of the shifted system has n^T D dlam = 0. The rows of F' are those of S times factors: in
    the plane of friction rho u u^T + rho |w|/(rho bound + |w|) (1 - u u^T).
    """
    from scipy.linalg import lstsq

    factor = np.eye(len(S)) / h
    for rows, u, bound, speed in held.slides:
        along, rho = np.outer(u, u), 0.5 * (diagonal[rows.start] + diagonal[rows.start + 1])
        factor[rows, rows] = rho * (along + speed / (rho * bound + speed) * (np.eye(len(u)) - along))
    own = factor @ S
    null = np.linalg.svd(own)[0][:, rank:].T * diagonal
    null *= np.abs(own).max() / np.abs(null).max()
    both, right = np.concatenate([own, null]), np.concatenate([factor @ lack, np.zeros((len(null), lack.shape[1]))])
    found: np.ndarray = lstsq(both, right, cond=ROUNDING, lapack_driver="gelsy", check_finite=False)[0]
    return found
