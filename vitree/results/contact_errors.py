"""What contacts of a run are off by: penetration, slip, friction cones, energy gained, impulses, first touch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from vitree.mechanism.spans import MOST_FACETS
from vitree.mechanism.unilateral import OF_JOINTS
from vitree.model.contacts import least_gaps
from vitree.model.model import Model
from vitree.results.contacts import ContactLog
from vitree.results.recording import Recording
from vitree.results.series import NAN, beyond_a_record, shared

#: Two touch where their gap is below this [m].
CLOSED = 1e-6
#: A contact sticks that slips less than this [m/s], and should stick once that of the reference has for so long [s],
#: so many records at least.
STILL, SINCE, FOR = 1e-5, 0.05, 3


def gaps_over_time(model: Model, run: Recording) -> np.ndarray:
    """Return the least gap (n,) [m] of all that may touch at each record; NaN if nothing may."""
    full = model.full
    assert isinstance(full, Model)
    return least_gaps(full, np.ascontiguousarray(model.expand(run.q)))


def frictions(model: Model) -> dict[tuple[str, str], float]:
    """Return the largest coefficient of friction of the two of each pair of names."""
    full = model.full
    assert isinstance(full, Model)
    found = full.contact_candidates
    numbers = np.concatenate([np.tile(found.numbers[:, 0], found.grounds), found.pair_numbers[:, 0],
                              np.repeat(found.facing_numbers[:, 0], MOST_FACETS)])  # fmt: skip
    out: dict[tuple[str, str], float] = {}
    for names, number in zip(full._contact_names, numbers.tolist(), strict=False):
        out[names] = max(out.get(names, 0.0), number)
    return out


def cone_violation(
    log: ContactLog, known: Mapping[tuple[str, str], float], halved: Collection[int] = (),
) -> float:  # fmt: skip
    """Return by how much friction exceeds Coulomb's limit mu N at most, as a share of the largest normal force [-].

    NaN if no contact pushes. ``known`` is as :func:`frictions` returns it. Records ``halved`` do not count, to which a
    step led that was taken in halves: its impulse acts where its last part begins, and its normal is that of its start.
    """
    limits = np.array([known.get(pair, NAN) if pair[1] not in OF_JOINTS else NAN for pair in log.names])[log.number]
    push = (log.impulse * log.normal).sum(axis=1)
    across = np.linalg.norm(log.impulse - push[:, None] * log.normal, axis=1)
    counts = np.isfinite(push) & np.isfinite(limits) & ~np.isin(log.record, list(halved))
    most = float(np.max(push, where=counts, initial=0.0))
    return float(np.max(across - limits * push, where=counts, initial=0.0)) / most if most > 0 else NAN


def slips_of(log: ContactLog, records: int) -> dict[tuple[str, str], np.ndarray]:
    """Return the largest slip [m/s] of two that touch at each record, (records,) by their names; NaN if they do not."""
    speed = np.linalg.norm(log.slip, axis=1)
    out: dict[tuple[str, str], np.ndarray] = {}
    for k, pair in enumerate(log.names):
        rows = log.number == k
        if pair[1] not in OF_JOINTS and rows.any():
            np.fmax.at(out.setdefault(pair, np.full(records, NAN)), log.record[rows], speed[rows])
    return out


def slip_of_sticking(run: Recording, truth: Recording, until: float = math.inf) -> float:
    """Return the largest slip of what sticks in the reference ``until`` a time [s], in m/s; NaN if nothing does.

    It counts at records since SINCE seconds, and if it sticks until the next one.
    """
    run, truth = shared(run, truth)
    if run.contacts is None or truth.contacts is None:
        return NAN
    n = len(run)
    slips, exact = slips_of(run.contacts, n), slips_of(truth.contacts, n)
    worst = NAN
    for pair in slips.keys() & exact.keys():
        slides = np.flatnonzero(~(exact[pair] < STILL))
        last = np.searchsorted(slides, np.arange(1, n + 1))  # of those up to a record, and one behind it
        since = np.concatenate([[0], slides])[last]
        sticks = (run.t < until) & (run.t - run.t[since] >= SINCE) & (np.arange(n) - since >= FOR)
        sticks &= ~np.isin(np.arange(1, n + 1), slides)
        worst = float(np.fmax(worst, np.fmax.reduce(slips[pair][sticks], initial=NAN)))
    return worst


def energy_gained(run: Recording) -> float:
    """Return the largest rise of the energy above what it was before [J]."""
    return float((run.energy - np.minimum.accumulate(run.energy)).max(initial=0.0))


def first_touch(t: np.ndarray, gaps: np.ndarray) -> float:
    """Return the first of times (n,) [s] with a gap (n,) [m] that is closed; NaN if none is."""
    closed = gaps < CLOSED
    return float(t[closed.argmax()]) if closed.any() else NAN


def contact_impulse(model: Model, run: Recording) -> np.ndarray:
    """Return what contacts with the world have given to the linear momentum up to each record, (n, 3) [N s].

    Nothing but gravity and contacts may act on the whole.
    """
    change = run.momentum[:, 3:] - run.momentum[0, 3:]
    found: np.ndarray = change - model.total_mass * np.outer(run.t - run.t[0], model.gravity)
    return found


def impulse_error(model: Model, run: Recording, truth: Recording, until: float) -> float:
    """Return the largest error of that impulse while the reference is known, as a share of its largest [-].

    Impacts may be off by a record.
    """
    run, truth = shared(run, truth)
    exact = contact_impulse(model, truth)
    known = run.t < until
    scale = float(np.linalg.norm(exact[known], axis=1).max(initial=0.0))
    apart = np.linalg.norm(beyond_a_record(contact_impulse(model, run), exact), axis=1)
    return float(apart[known].max(initial=0.0)) / scale if scale > 0 else NAN


def contact_errors(
    model: Model, run: Recording, truth: Recording | None, until: float, passive: bool, floats: bool
) -> dict[str, float]:
    """Return the errors of contacts of a run by the keys of a comparison's table.

    Parameters
    ----------
    model : Model
    run : Recording
    truth : Recording or None
        The reference.
    until : float
        The time until which it is known [s].
    passive : bool
        Whether nothing gives energy to the system.
    floats : bool
        Whether nothing but gravity and contacts changes its linear momentum.
    """
    found: dict[str, float] = {}
    gaps = gaps_over_time(model, run)
    if np.isfinite(gaps).any():
        found["penetration"] = max(0.0, -float(np.nanmin(gaps)))
        found["first_touch"] = first_touch(run.t, gaps)
    if run.contacts is not None:
        halved = [] if run.halves is None else np.searchsorted(run.t, run.halves[:, 0]).tolist()
        found["cone_violation"] = cone_violation(run.contacts, frictions(model), halved)
        if truth is not None:
            found["slip"] = slip_of_sticking(run, truth, until)
    if passive:
        found["energy_gained"] = energy_gained(run)
    if floats and truth is not None:
        found["impulse_error"] = impulse_error(model, run, truth, until)
    return found
