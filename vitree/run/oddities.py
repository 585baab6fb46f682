"""Warnings of a run: what was odd about it, in sentences. A Trajectory and its file keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vitree.mechanism.constraints import Distance
from vitree.mechanism.contacts import Contact
from vitree.model.contacts import Candidates
from vitree.model.model import Limited, Model
from vitree.model.unmet import REMEDY, Unmet, near, overlaps, passes

#: How far a joint may be beyond a limit without a word [m or rad], and how many joints are named.
BEYOND, NAMED = 1e-9, 6
#: What a warning of limits says in the end.
OF_LIMITS = (
    'Limits hold with limits="enforce" where the robot is read or built; with limits="ignore" a run says nothing.'
)
#: A step that moves a coordinate farther [m or rad], so many times as far as at the start, is one of no sound run.
LEAP, FASTER = 1e4, 1e4
#: The same of one at any start: seven times the distance of the sun.
NO_MOTION = 1e12
#: What else than a smaller step serves.
OR_IMPLICIT = ', or a method that solves for damping and drives: method="midpoint".'
#: What a warning of velocity limits says in the end.
OF_SPEEDS = (
    "Velocity limits are not enforced; a drive with velocity_limit= has no effort left at that speed, and with "
    'limits="ignore" a run says nothing.'
)
#: Largest share of the velocity that the last term of a Gauss step's polynomial may have.
UNRESOLVED = 0.1
#: Records at which shapes that cannot touch are looked at, and at most so many nodes at once.
LOOKED_AT, CHUNK = 50, 500
#: Share of the largest kinetic energy by which no sound run of a conservative system changes its energy.
EXPLODED = 0.5
#: What rounding moves bodies by that are at rest, at most [m].
PICOMETRE = 1e-12
#: Below this share of the largest multiplier and of the momentum over dt, and this many times the residual over dt, a
#: multiplier has no sign.
NO_FORCE, OF_RESIDUAL = 1e-9, 10.0
#: What a warning of a distance that pulls and pushes says in the end.
OF_RODS = (
    "A vt.Distance is a rigid rod, which pushes as well as pulls, and a string would be slack there. Nothing is to be "
    "changed if a rod is meant; there is no constraint that only pulls."
)


def halving_warnings(
    count: int, between: tuple[float, float] | None, steps: int, remedy: Callable[[], str]
) -> list[str]:
    """Say how many steps of a run were taken in halves, and when [s] the first and the last of them began.

    ``remedy`` is asked for what else than a smaller step serves.
    """
    if between is None:
        return []
    when = f"at t = {between[0]:.9g} s" + (f", the last at t = {between[1]:.9g} s" if count > 1 else "")
    return [
        f"{count} of {steps} steps could not be solved whole and were taken in halves, the first {when}. The energy of "
        "such a run may drift, and its errors are those of shorter steps. Use " + remedy() + "a smaller dt."
    ]


def resolution_warnings(found: tuple[float, float] | None, dt: float, order: int) -> list[str]:
    """Say that steps of dt [s] of a Gauss method are too long: when [s] the worst began, and its share eta."""
    if found is None:
        return []
    when, eta = found
    # eta falls with the power s - 1 of the step, s = order/2 stages
    enough = dt * min((0.5 * UNRESOLVED / eta) ** (1.0 / max(order // 2 - 1, 1)), 0.5)
    return [
        f"dt is too large: in the step at t = {when:.9g} s the velocities change by more than its polynomial follows "
        f"(eta = {eta:.2g}, and {UNRESOLVED:g} is the most that is sound). Use dt = {enough:.1g} or smaller. Friction "
        "that changes sign and forces that jump do the same for a moment."
    ]


def energy_warnings(energies: np.ndarray, stiff: Callable[[], bool], weight: float = 0.0) -> list[str]:
    """Say that the energy of a conservative system changes too much; rows of energies (n, ...) at the records [J].

    ``stiff`` is asked whether springs are why, which the method could solve for. Of a weight [N] at rest at the height
    zero all of the energy is rounding.
    """
    kinetic, total = energies[:, 0], energies[:, 0] + energies[:, 1]
    sound = np.isfinite(total)
    if not sound.any():
        return []
    kinetic, total = kinetic[sound], total[sound]
    change, rounding = np.abs(total - total[0]).max(), 1e-9 * np.abs(energies[sound, 1]).max() + PICOMETRE * weight
    if change <= EXPLODED * kinetic.max() or change <= rounding:
        return []
    return [
        f"The energy changes by up to {change:.3g} J, more than half of the largest kinetic energy, "
        f"{kinetic.max():.3g} J, though nothing drives or damps the motion. The steps are too long for it: use a "
        "smaller dt" + (', or springs="averaged", which solves for the springs.' if stiff() else ".")
    ]


def growth_warnings(energies: np.ndarray, work: np.ndarray, strikes: bool) -> list[str]:
    """Say that the energy grows by more than the work of what acts.

    Parameters
    ----------
    energies : (n, ...) array [J]
        At the records: kinetic, then potential.
    work : (n,) array [J]
        What drives and torques have given up to each record, at most; all else takes energy.
    strikes : bool
        Whether contacts and limits may hold the motion at a record, so that its energy is less than that behind it.
    """
    total = energies[:, 0] + energies[:, 1]
    sound = np.isfinite(total) & np.isfinite(work)
    if not sound.any():
        return []
    kinetic, total, work = energies[sound, 0], total[sound], work[sound]
    unexplained = total - work
    since_start = float((unexplained - unexplained[0]).max())
    # what damping took does not come back
    growth = since_start if strikes else float((unexplained - np.minimum.accumulate(unexplained)).max())
    size = max(float(kinetic.max()), float(np.abs(work).max()))
    rounding = 1e-9 * max(float(np.abs(energies[sound, 1]).max()), float(np.abs(work).max()))
    if (since_start <= EXPLODED * size and growth <= 2 * EXPLODED * size) or growth <= rounding:
        return []
    return [
        f"The energy grows by {growth:.3g} J more than the work of all that acts, and the largest kinetic energy is "
        f"{kinetic.max():.3g} J: the steps are too long for the motion, for its damping or for its drives. Use a "
        "smaller dt" + OR_IMPLICIT
    ]


def leap_warnings(dt: float, v: np.ndarray) -> list[str]:
    """Say that velocities (n, nv) at records have come to be absurd, whatever drives the motion."""
    with np.errstate(invalid="ignore", over="ignore"):
        speed = np.abs(v).max(axis=1, initial=0.0)
    speed = speed[np.isfinite(speed)]
    if not len(speed) or not speed.max() * dt > LEAP:
        return []
    if not (speed.max() > FASTER * speed[:2].max() or speed.max() * dt > NO_MOTION):
        return []
    return [
        f"A coordinate moves by {speed.max() * dt:.3g} m or rad in a step, and at the start by "
        f"{speed[:2].max() * dt:.3g}: the run has blown up, because its steps are too long. Use a smaller dt"
        + OR_IMPLICIT
    ]


def contact_warnings(model: Any, t: np.ndarray, q: np.ndarray, nodes: bool) -> list[str]:
    """Say which shapes overlap that cannot touch, and what has passed others in one step, at records q (n, nq).

    ``nodes`` says whether the records have all nodes.
    """
    if not (isinstance(model, Model) and any(isinstance(each, Contact) for each in model.contacts)):
        return []
    unmet, found = model.unmet, model.contact_candidates
    told = [f"Contacts that can meet nothing: {', '.join(unmet.idle)}. Add a ground, vt.Ground(), or shapes that they "
            "touch."] if unmet.idle else []  # fmt: skip
    told += _overlap_warnings(model, unmet, t, q)
    if nodes and len(found.pair_kind):
        told += _passing_warnings(model, found, t, q)
    return told


def distance_warnings(run: Any) -> list[str]:
    """Say which distances are in tension and in compression in one run, with records and a system."""
    constraints, t, multipliers = run.system.constraints, run.t, run.multipliers
    of = [k for k, each in enumerate(constraints) if isinstance(each, Distance)]
    if not of or not len(t) or multipliers.shape[1] != len(constraints):
        return []
    force, momentum, residual = (np.where(np.isfinite(x), x, 0.0) for x in (multipliers, run.p, run.residual))
    a_step = NO_FORCE * np.abs(momentum).max(initial=0.0) + OF_RESIDUAL * residual.max()
    least = max(NO_FORCE * np.abs(force).max(), a_step / run.dt if run.dt > 0 else 0.0)
    pushes, pulls = force > least, force < -least
    told = []
    for k in of:
        if pushes[:, k].any() and pulls[:, k].any():
            first = t[pushes[:, k].argmax()]
            told.append(f"The {constraints[k].name} is in tension and in compression: it pushes with up to "
                        f"{force[:, k].max():.3g} N, first in the record at t = {first:.6g} s. " + OF_RODS)  # fmt: skip
    return told


def _overlap_warnings(model: Model, unmet: Unmet, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Say which shapes overlap that cannot touch, at some of the records."""
    pairs = unmet.pairs[~unmet.beside]
    if not len(pairs):
        return []
    rows = np.unique(np.linspace(0, len(q) - 1, min(len(q), LOOKED_AT)).round().astype(int))
    poses = model.pose_rows(np.ascontiguousarray(q[rows]))
    close = near(unmet.parts, poses)
    met, first = [], len(q)
    for i, j in pairs.tolist():
        at = np.flatnonzero(close[:, i, j])
        at = at[overlaps(unmet.parts[i], unmet.parts[j], poses[at])] if len(at) else at
        if len(at):
            met.append((i, j))
            first = min(first, int(rows[at[0]]))
    if not met:
        return []
    return ["Shapes that cannot touch each other overlap: " + unmet.told(met)
            + f", first at t = {t[first]:.6g} s" + REMEDY + "."]  # fmt: skip


def _passing_warnings(model: Model, found: Candidates, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Say which bodies have passed others between two nodes."""
    names = [contact.name for contact in model.contacts]
    for first in range(0, len(q) - 1, CHUNK):
        steps = passes(found, model.pose_rows(np.ascontiguousarray(q[first : first + CHUNK + 1])))
        if not len(steps):
            continue
        step, pair = steps[0].tolist()
        i, j = found.pair[pair].tolist()
        a, b = found.rod_source[i], (found.box_source if found.pair_kind[pair] else found.rod_source)[j]
        length = t[first + step + 1] - t[first + step]
        return [f"The {names[a]} passes through the {names[b]} in one step of {length:.3g} s, at t = "
                f"{t[first + step]:.6g} s: contacts are looked for at the ends of steps. Use a smaller dt, with which "
                "it moves by less than the thickness of what it meets in a step."]  # fmt: skip
    return []


def beyond_limits(limited: Limited | None, x: np.ndarray) -> np.ndarray | None:
    """Return how far rows x (n, ...) of q or v are beyond limits, (n, k), in units of x; None if none is."""
    if limited is None:
        return None
    x = x[:, limited.place]
    beyond = np.maximum(x - limited.upper, limited.lower - x)
    return beyond if (beyond > BEYOND).any() else None


def limit_warnings(model: Any, t: np.ndarray, q: np.ndarray, v: Callable[[], np.ndarray] | None = None) -> list[str]:
    """Say which joints are beyond their limits at the records: by how much at most, and when [s] for the first time.

    ``v`` is asked for the velocities (n, nv), if there are limits of these.
    """
    if not isinstance(model, Model):
        return []
    told = _limit_warning("limit", model.limited, t, q, OF_LIMITS)
    if v is not None and model.speed_limited is not None:
        told += _limit_warning("velocity limit", model.speed_limited, t, v(), OF_SPEEDS)
    return told


def _limit_warning(what: str, limited: Limited | None, t: np.ndarray, x: np.ndarray, remedy: str) -> list[str]:
    """Say which limits rows x (n, ...) pass."""
    beyond = beyond_limits(limited, x)
    if beyond is None or limited is None:
        return []
    most, first = beyond.max(axis=0), (beyond > BEYOND).argmax(axis=0)
    share = most / np.maximum(limited.upper - limited.lower, BEYOND)  # of the range between the limits, if it ends
    worst = [k for k in np.lexsort((-most, -share)).tolist() if most[k] > BEYOND]
    parts = []
    for k in worst[:NAMED]:
        high = x[beyond[:, k].argmax(), limited.place[k]] > limited.upper[k]
        bound, unit = (limited.upper if high else limited.lower)[k], limited.units[k]
        when = f"first at t = {t[first[k]]:.6g} s" if first[k] else "from the start"
        parts.append(f'"{limited.names[k]}" passes {bound:.6g} {unit} by {most[k]:.3g} {unit}, {when}')
    count, more = len(worst), f"; and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    passes = f" passes its {what}" if count == 1 else f"s pass their {what}s"
    return [f"{count} joint{passes}: {'; '.join(parts)}{more}. " + remedy]
