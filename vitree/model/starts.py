"""Starts that run: configurations brought to limits, loops and contacts together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, real
from vitree.errors import ConvergenceError, VitreeError
from vitree.mechanism.flat import limits_of
from vitree.mechanism.floating import roots_of
from vitree.model.broadcasting import guarded
from vitree.model.closures import ATTEMPTS, SPREAD, independent_model, satisfy_constraints
from vitree.model.configurations import ZERO, amiss_at, gap_rates, gaps_of, rebounds, within_limits
from vitree.model.contacts import unilateral_gaps
from vitree.model.model import Model
from vitree.model.placement import WALL, up_of, ways_up

#: Corrections at most, and the largest change of a coordinate in one [m or rad].
MOST, LARGEST = 50, 0.3
#: Corrections in a row that gain nothing, after which a search ends.
STALE = 12
#: Contacts whose gap is smaller may close in a correction [m].
REACH = 5e-3
#: How many faults a text has, the gravest first.
NAMED = 3
#: The share of the spread of places to search from by which what floats is moved.
FLOATS = 0.05
#: A start is near if no joint and no base moved by more [m, rad].
NEAR, TURNED = 1e-2, np.radians(1.0)


@dataclass(frozen=True, eq=False)
class FeasibleStart:
    """A start that runs, and how far it is from the one that was given; made by :func:`vitree.feasible_start`.

    Attributes
    ----------
    model : Model
        That which was given; without constraints that the others imply at ``q``, if there are some.
    q : (nq,) array [m or rad]
    amiss : tuple of str
        What was wrong with the start that was given, in words.
    dropped : tuple of str
        Names of the constraints that are left out of ``model``.
    joint : str
        The joint that moved farthest, "" if none did.
    displacement : float [m or rad]
        How far it moved.
    base : float [m]
        How far a base that floats moved, at most.
    turn : float [rad]
        How far a base that floats turned, at most.
    near : bool
        Whether nothing moved by more than 1 cm or 1 degree.
    """

    model: Model
    q: np.ndarray
    amiss: tuple[str, ...]
    dropped: tuple[str, ...]
    joint: str
    displacement: float
    base: float
    turn: float
    near: bool

    def __post_init__(self) -> None:
        of_kind(self.model, Model, "model", "a Model")
        for name in ("displacement", "base", "turn"):
            object.__setattr__(self, name, real(getattr(self, name)))
        for name in ("amiss", "dropped"):
            texts = of_kind(getattr(self, name), tuple, name, "a tuple of texts")
            object.__setattr__(self, name, tuple(map(str, texts)))

    def __str__(self) -> str:
        if not (self.amiss or self.dropped):
            return "the start needs no change"
        moved = f'"{self.joint}" by {self.displacement:.3g} (m or rad)' if self.displacement else "no joint"
        floats = f", the base by {self.base:.3g} m and {self.turn:.3g} rad" if self.base or self.turn else ""
        dropped = f"; left out, since others imply them: {', '.join(self.dropped)}" if self.dropped else ""
        more = f" and {len(self.amiss) - NAMED} more" if len(self.amiss) > NAMED else ""
        amiss = f"{'; '.join(self.amiss[:NAMED])}{more}; " if self.amiss else ""
        return f"{amiss}moved: {moved}{floats}{dropped}"


@explain_calls
def feasible_start(model: Model, q: ArrayLike | None = None) -> FeasibleStart:
    """Return a start near q at which enforced limits, constraints and contacts hold together.

    Parameters
    ----------
    model : Model
    q : (nq,) array, optional [m or rad]
        By default ``model.start``.

    Returns
    -------
    FeasibleStart
        Its ``model`` and ``q`` run. A q that needs no change is returned as it is.

    Raises
    ------
    InputError
        If q is no configuration.
    ConvergenceError
        If there is no such start near q; the text says what stays wrong.

    Notes
    -----
    Coordinates are moved to enforced limits, where nothing constrains them, and what floats is lifted out of the
    ground. Then the smallest change of the coordinates, each weighed by its inertia, is searched for by steps of
    sequential quadratic programming: constraints are equations, limits and contacts that may close are inequalities.
    If that does not succeed, the search begins at other places, drawn ever farther from q, always the same ones.
    Coordinates that are prescribed stay. Where constraints depend on each other at the result, those that the ones
    before imply are left out, as by :func:`vitree.independent_constraints`.
    """
    of_kind(model, Model, "model", "a Model")
    return _found(model, model.start if q is None else model.validate_configuration(q), ATTEMPTS)


@guarded
def _found(model: Model, given: np.ndarray, attempts: int) -> FeasibleStart:
    """The same for a checked q (nq,), by a search from so many places around it, at least 1."""
    full: Model = model.full
    start = np.asarray(model.expand(given))
    faults = sorted(_wrong(full, start), key=lambda fault: -fault[1])
    amiss = tuple(f"{what} by {off:.3g}" for what, off in faults)
    end = start
    if amiss:
        ends = (_together(full, at) for at in _places(full, start, attempts))
        found = next((each for each in ends if each is not None and not _wrong(full, each)), None)
        if found is None:
            worst, off = faults[0]
            limits = ', or take limits="report"' if full.limits == "enforce" else ""
            raise ConvergenceError(
                f"no start near q satisfies limits, constraints and contacts together: {worst} by {off:.3g}; start in "
                f"another configuration{limits}", time=np.nan, residual=off, iterations=MOST,
            )  # fmt: skip
        end = found
    lean, dropped = independent_model(model, end)
    at = given if end is start else (end if model is full else model.contract(end))  # type: ignore[attr-defined]
    return FeasibleStart(lean, at, amiss, dropped, *_moved(full, start, end))


def _places(model: Model, q: np.ndarray, attempts: int) -> Iterator[np.ndarray]:
    """Yield configurations (nq,) from which to search for a start near q: q itself, and others ever farther from it."""
    yield _lifted(model, q if model.constraints else within_limits(model, q))
    rng, spread = np.random.default_rng(0), np.where(model.flat.kinematic, 0.0, SPREAD / ATTEMPTS)
    for joint in model.joints:
        if joint.kind == "free":
            spread[joint.v_slice] *= FLOATS
    for attempt in range(attempts):
        at = model.integrate(q, rng.normal(size=model.nv) * (attempt * spread))
        at = within_limits(model, at) if attempt else at
        if model.constraints:
            try:
                at = satisfy_constraints(model, at)
            except ConvergenceError:
                continue
        if attempt or model.constraints:
            yield _lifted(model, at)


def _wrong(model: Model, q: np.ndarray) -> list[tuple[str, float]]:
    """Return in words what is wrong at rest at q (nq,), and by how much [m or rad]."""
    return amiss_at(model, q, model.zero_velocity(), 0.0)


def near_start(model: Model, q: np.ndarray) -> np.ndarray:
    """Return the feasible start (nq,) near a checked q (nq,) [m or rad], or q if there is none that is near."""
    found = start_beside(model, q)
    return q if found is None or not found.near else found.q


def start_beside(model: Model, q: np.ndarray) -> FeasibleStart | None:
    """Return the feasible start to which a search from a checked q (nq,) alone leads [m or rad], or None."""
    try:
        return _found(model, q, 1)
    except (VitreeError, np.linalg.LinAlgError):
        return None


def _moved(model: Model, start: np.ndarray, end: np.ndarray) -> tuple[str, float, float, float, bool]:
    """Return the joint that moved farthest, how far, how far bases moved and turned, and whether all is near."""
    change = np.zeros(model.nv) if end is start else model.difference(start, end)
    farthest, base, turn, near, name = 0.0, 0.0, 0.0, True, ""
    for joint in model.joints:
        own = np.abs(change[joint.v_slice])
        if joint.kind == "free":
            base = max(base, float(np.linalg.norm(own[:3])))
            turn = max(turn, float(np.linalg.norm(own[3:])))
            continue
        far = float(own.max(initial=0.0))
        near = near and far <= (NEAR if joint.kind in ("prismatic", "planar", "cylindrical") else TURNED)
        if far > farthest:
            farthest, name = far, joint.name
    return name, farthest, base, turn, near and base <= NEAR and turn <= TURNED


def implied_text(names: tuple[str, ...]) -> str:
    """Return the warning of a run without constraints of these names."""
    listed = "; ".join(names[:NAMED]) + (f"; and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return (f"Constraints were left out, for others imply them: {listed}. They hold all the same; the forces are those "
            "of the others, whose multipliers the run has.")  # fmt: skip


def _lifted(model: Model, q: np.ndarray) -> np.ndarray:
    """Return q (nq,) with what floats moved along the ground's normal until nothing of it is in the ground."""
    if model.ground is None or not model.has_contact:
        return q
    up, ways, root = up_of(model), ways_up(model), roots_of(model.flat.parent)
    for _ in range(MOST if ways else 0):
        gaps = model.contact_gaps(q)
        rate, below = gaps.normal @ up, np.array(gaps.b) == "ground"
        trees = root[[model.index.place(name)[0] for name in gaps.a]]
        deep = (gaps.gap < -ZERO) & (rate > WALL) & below
        if not any(tree in ways for tree in trees[deep].tolist()):
            break
        for tree, way in ways.items():
            rows = np.flatnonzero((trees == tree) & deep)
            if len(rows):
                q = q + way * (-gaps.gap[rows] / rate[rows]).max()
    return q


def _together(model: Model, q: np.ndarray) -> np.ndarray | None:
    """Return the configuration near q (nq,) at which all holds, by sequential quadratic programming; None without one.

    Of the change x the sum of w x^2 is least under Dh x = -h, and n x >= -gap of contacts and limits. With the
    multipliers l of these rows R, x = W^-1 R^T l, where l >= 0 of the inequalities minimises l^T R W^-1 R^T l/2 + r l.
    """
    from scipy.optimize import lsq_linear

    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    still = np.zeros(model.nv)
    best, stale = np.inf, 0
    for _ in range(MOST):
        h, rows = np.empty(0), np.empty((0, model.nv))
        if model.constraints:
            errors, Dh = (x[0] for x in model._constraint_rows(q[None]))
            h, rows = errors, Dh
        equations = len(h)
        if model.has_contact:
            gap = gaps_of(model, q)[0] + rebounds(model, q, still, 0.0)
            near = np.flatnonzero(gap < max(REACH, -2 * gap.min(initial=0.0)))
            h, rows = np.append(h, gap[near]), np.vstack([rows, gap_rates(model, q, near)])
            _, rest, slopes = unilateral_gaps(model, q)
            h, rows = np.append(h, rest), np.vstack([rows, slopes])
        for _, at, entry, low, high in limits_of(model.joints, model.constraints) if model.limits == "enforce" else ():
            for rest, sign in ((q[at] - low, 1.0), (high - q[at], -1.0)):
                if rest < LARGEST:
                    h, rows = np.append(h, rest), np.vstack([rows, sign * np.eye(model.nv)[entry]])
        wrong = np.abs(h[:equations]).max(initial=0.0), -h[equations:].min(initial=0.0)
        if max(wrong) <= ZERO:
            return q
        best, stale = (max(wrong), 0) if max(wrong) < 0.99 * best else (best, stale + 1)
        if stale > STALE:
            return None
        inertia = np.diagonal(model.crba(q)).copy()
        inertia[inertia <= 0] = max(inertia.max(initial=0.0), 1.0)
        root = np.where(free, 1 / np.sqrt(inertia), 0.0)
        A = root[:, None] * rows.T  # R^T in units of the weights: x = root A l
        b = -np.linalg.lstsq(A.T, h, rcond=1e-12)[0]  # A^T b = -r, so that |A l - b|^2/2 has the slope of the dual
        low = np.r_[np.full(equations, -np.inf), np.zeros(len(h) - equations)]
        with np.errstate(all="ignore"):
            found = lsq_linear(A, b, (low, np.inf), method="bvls", max_iter=20 * len(h) + 20)
        step = root * (A @ found.x)
        if not np.isfinite(step).all():
            return None
        q = model.integrate(q, step * min(1.0, LARGEST / max(np.abs(step).max(), 1e-300)))
    return None

