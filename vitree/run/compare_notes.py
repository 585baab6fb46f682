"""Notes of a comparison: sentences on how its numbers are meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vitree.arguments import JsonObject
from vitree.model.dynamics import friction_rates, spring_rate
from vitree.model.model import Model
from vitree.model.system import System, freedom_of
from vitree.results.orders import Order
from vitree.run.trajectory import OF_LIMITS, OF_SPEEDS, Trajectory


def system_note(model: System, duration: float) -> str:
    """Say what was simulated, and for how long."""
    return f"{model.name}: {freedom_of(model)}, {duration:g} s."


def energy_note(conservative: bool, measured: bool, scale: float) -> str:
    """Say what energies are compared with; relative errors are errors over ``scale`` [J]."""
    if not (conservative or measured):
        return "Energy: none. Loads change the energy, and there is no reference to compare with."
    against = "its start" if conservative else "that of the reference (damping, friction or loads change it)"
    return (
        f"Energy: largest difference from {against}; relative to the largest kinetic energy, {scale:.4g} J; "
        "drift: least-squares slope."
    )


def momentum_note(model: System) -> str:
    """Say what the momentum is compared with."""
    part = "along gravity" if model.gravity.any() else "all"
    return (
        "Momentum: largest departure from its start plus gravity's impulse; angular: about "
        f"the world's origin, {part} (kg m^2/s)."
    )


@np.errstate(all="ignore")
def friction_notes(model: System, q0: np.ndarray, dt: float) -> list[str]:
    """Return a note if friction at q0 is too stiff for steps of dt [s]."""
    if not isinstance(model, Model) or not model.friction.any():
        return []
    rate = friction_rates(model, q0)  # explicit methods need steps below about 2 of it
    stiff = int((dt * rate > 2.0).sum())
    if not stiff:
        return []
    return [
        f"The friction of {stiff} joint{'s' * (stiff != 1)} is too stiff for dt = {dt:g} s "
        f"({dt * rate.max():.2g} times faster than a step). Explicit methods lose accuracy and order, implicit ones "
        "some of it. Leave friction out or raise friction_velocity to see their own order."
    ]


def spring_notes(model: System, q0: np.ndarray, dt: float) -> list[str]:
    """Return a note if springs at q0 are too stiff for explicit steps of dt [s]."""
    share = dt * spring_rate(model, q0) if isinstance(model, Model) else 0.0
    if share <= 1.0:
        return []
    return [
        f"A spring is stiff for dt = {dt:g} s: dt is {share:.2g} times its 1/frequency. Explicit methods, and "
        'linear-time with springs="nodes", are inaccurate above 1 and unstable above 2 times it. linear-time with '
        'springs="averaged" and midpoint solve for springs.'
    ]


def floor_notes(rows: Iterable[JsonObject]) -> list[str]:
    """Return which errors are at a floor, by labels."""
    low: dict[str, list[str]] = {}
    for row in rows:
        if row["at_floor"]:
            low.setdefault(row["label"], []).append(f"{row['dt']:g}")
    if not low:
        return []
    runs = ", ".join(f"{label} ({', '.join(dts)} s)" for label, dts in low.items())
    return [f"Floor: the tolerance of the solver, rounding or the reference rules the error, not dt, of {runs}."]


def contact_order_notes(found: Iterable[Order]) -> list[str]:
    """Say how orders in contact were measured, and how sure they are."""
    orders = list(found)
    if not orders:
        return []
    known = [each.error for each in orders if each.value == each.value]
    sure = f"; their standard errors are {max(known):.2g} at most" if known else ""
    return [
        "Orders in contact: those of the root mean square of the errors at the end over 16 runs about each time step, "
        f"with up to 30 % more steps, since the error of an impact depends on where in a step it is{sure}."
    ]


def failure_notes(reasons: Iterable[str | None]) -> list[str]:
    """Return why runs failed, each reason once."""
    return list(dict.fromkeys("Failed: " + reason + "." for reason in reasons if reason))


def engine_notes(rows: Iterable[JsonObject]) -> list[str]:
    """Return how rows of other engines are meant, and what each engine cannot simulate."""
    left: dict[str, None] = {}
    ran: dict[str, None] = {}
    for row in rows:
        engine = row["label"].partition(" ")[0]
        if row["status"] == "not simulated":
            left[f"Not simulated by {engine}: {row['reason']}."] = None
        else:
            ran[engine] = None
    how = {
        "mujoco": "MuJoCo: a model made of this one, by mj_step from record to record; its contacts and constraints "
        "are soft.",
        "pinocchio": "Pinocchio: its accelerations (aba) in a loop in Python, which takes part of the time.",
    }
    return [*(how[engine] for engine in ran), *left]


def warning_notes(runs: Mapping[tuple[str, float], Trajectory]) -> list[str]:
    """Return the warnings of runs by (label, dt): their first sentences behind the runs, the others once below them.

    Of limits of joints, which all runs of a motion pass alike, the first is one for all.
    """
    told: dict[str, dict[str, list[str]]] = {}
    for (label, dt), run in runs.items():
        for text in run.warnings:
            first, _, others = text.partition(". ")
            first = first + "." if others else first
            told.setdefault(others, {}).setdefault(first, []).append(f"{label}, dt = {dt:g} s")
    notes: list[str] = []
    for others, firsts in told.items():
        if others in (OF_LIMITS, OF_SPEEDS):
            first, (label, *_) = next(iter(firsts.items()))
            alike = sum(map(len, firsts.values())) - 1
            more = f" and {alike} more run{'s' * (alike > 1)}" if alike else ""
            notes.append(f"In {label}{more}: " + first + " " + others)
            continue
        notes += ["; ".join(names) + ": " + first for first, names in firsts.items()]
        notes += [others] if others else []
    return notes
