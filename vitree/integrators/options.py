"""Options that several methods have, each checked in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vitree.arguments import real, whole
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.model.model import Model
from vitree.model.system import System

#: The remedies of steps that fail.
HALVE = "halve dt"
LONGER = ", or give max_iterations= or a looser tolerance="
SOLVE_LONGER = HALVE + LONGER

#: The option of methods that take contacts.
EVENTS = {
    "max_impacts": "most impacts that are located in time in a step (default 0: bodies strike at the ends of steps)",
}


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return the value of the option ``name``, or raise an UnknownNameError."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(name, value, known, argument=name)
    return value


def solving(chosen: Mapping[str, object], tolerance: float) -> dict[str, float]:
    """Return ``tolerance`` and ``max_iterations`` of the options chosen; ``tolerance`` is the default.

    Raises an InputError if one has a wrong value.
    """
    given, most = chosen.get("tolerance", tolerance), chosen.get("max_iterations", 30)
    if not 1e-14 <= real(given) < 1e-2:
        raise InputError(
            "tolerance", given, "must be a share of the momentum from 1e-14 (below it rounding rules) to 1e-2"
        )
    return {"tolerance": real(given), "max_iterations": whole_from("max_iterations", most, 1, 2**31 - 1)}


def whole_from(name: str, value: object, least: int, most: int) -> int:
    """Return the whole number of the option ``name``.

    Raises an InputError if it is not a whole number, or out of bounds.
    """
    number = whole(value)
    if number is None or not least <= number <= most:
        upto = f" from {least} to {most}" if most < 2**31 - 1 else f", at least {least}"
        raise InputError(name, value, f"must be a whole number{upto}")
    return number


def require_no_constraints(model: System, method: str) -> None:
    """Raise a ModelError if a model of a ``method`` without constraints has any."""
    if model.constraints:
        first, more = model.constraints[0].name, len(model.constraints) - 1
        raise ModelError(
            f'"{model.name}" has the {first}{f" and {more} more constraints" if more else ""}, and the method '
            f"{method} does not support constraints: use linear-time or midpoint, with order=4, 6 or 8 for small errors"
        )


def alpha_of(chosen: Mapping[str, object]) -> float:
    """Return the option ``alpha``, 1/2 if it is not chosen; raise an InputError if it is not a number from 0 to 1."""
    alpha = chosen.get("alpha", 0.5)
    if not 0 <= real(alpha) <= 1:
        raise InputError("alpha", alpha, "must be a number from 0 to 1")
    return real(alpha)


def events_of(chosen: Mapping[str, object], model: Model) -> int:
    """Return the option ``events``, 0 if it is not chosen.

    Raises an InputError if it is no whole number from 0 to 1000, or ``model`` cannot step to instants that are not
    known beforehand.
    """
    events = whole_from("max_impacts", chosen.get("max_impacts", 0), 0, 1000)
    if events and getattr(model, "has_contact", False) and model.prescribed_joint_names:
        raise InputError(
            "max_impacts", events,
            "does not know its steps in advance, but prescribed coordinates need them; leave it out"
        )
    return events
