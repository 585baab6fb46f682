"""Friction of contacts by frames and patterns of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from vitree.arguments import JsonObject, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.contacts import GROUND, Contact, checked_friction
from vitree.mechanism.flat import Flat


def by_pattern(
    given: Mapping[Any, Any], names: Iterable[str], what: str, argument: str, number: Callable[[Any, str], Any]
) -> JsonObject:
    """Return values by names, of values by patterns; of several patterns that fit the first counts.

    ``number(value, name)`` checks a value.
    """
    names, found = list(dict.fromkeys(names)), JsonObject()
    for pattern, value in given.items():
        fits = [name for name in names if name == pattern or fnmatchcase(name, str(pattern))]
        if not fits:
            raise UnknownNameError(what, pattern, names, argument=argument)
        for name in fits:
            try:
                found.setdefault(name, number(value, name))
            except ModelError:
                raise
            except (TypeError, ValueError):
                raise InputError(argument, given, f'of "{name}" are {shown(value)}; they must be numbers') from None
    return found


def friction_by_frames(flat: Flat, friction: object, argument: str = "friction") -> JsonObject:
    """Return coefficients of friction by frames and "ground", of a number for all or of a mapping of patterns.

    Raises
    ------
    InputError, ModelError, UnknownNameError
        If nothing may touch, a coefficient is none, or a pattern fits no frame.
    """
    frames = [each.frame for each in flat.contacts if isinstance(each, Contact)]
    names = [*([GROUND] if flat.ground is not None else []), *frames]
    if not frames:
        raise InputError(f'nothing of "{flat.name}" may touch: give it contacts')

    def number(value: Any, name: str) -> Any:
        checked = checked_friction(value, name if name in (GROUND, "contacts") else f'contact "{name}"')
        return list(checked) if isinstance(checked, tuple) else checked

    if isinstance(friction, Mapping):
        return by_pattern(friction, names, "frame that may touch", argument, number)
    return dict.fromkeys(names, number(friction, "contacts"))


def with_friction(flat: Flat, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contacts and the ground of a mechanism, as fields, with other coefficients by frames and "ground"."""
    numbers = {name: tuple(x) if isinstance(x, list) else x for name, x in values.items()}
    contacts = tuple(replace(each, friction=numbers[each.frame])
                     if isinstance(each, Contact) and each.frame in numbers else each for each in flat.contacts)
    ground = flat.ground
    if GROUND in numbers and ground is not None:
        ground = replace(ground, friction=numbers[GROUND])
    return {"contacts": contacts, "ground": ground}
