"""Checks of numbers, vectors, directions and matrices that people give; errors name the thing."""

from __future__ import annotations

import math
from typing import TypeVar, cast

import numpy as np

from vitree.arguments import all_finite, as_numbers
from vitree.errors import ModelError
from vitree.wording import text_of

_T = TypeVar("_T")
#: Types of what may hold arrays.
_HOLDERS = (np.ndarray, tuple)


def finite(value: object, what: str) -> float:
    """Return a float, or raise a ModelError that names it."""
    if type(value) is float and math.isfinite(value):
        return value
    number = _numbers_of(value, (), "a number", what, "the ")
    if not np.isfinite(number):
        raise ModelError(f"the {what} is {float(number)}; it must be finite", argument=what, value=value)
    return float(number)


def vector(value: object, what: str) -> np.ndarray:
    """Return a (3,) array, or raise a ModelError that names it."""
    return np.array(triple(value, what))


def triple(value: object, what: str) -> list[float]:
    """Return three floats, or raise a ModelError that names them."""
    if (type(value) is tuple or type(value) is list) and len(value) == 3 and {*map(type, value)} == {float}:
        if math.isfinite(value[0] + value[1] + value[2]):
            return list(value)
    entries = _numbers_of(value, (3,), "three numbers (x, y, z)", what, "the ")
    if not all_finite(entries):
        text = f"the {what} is {text_of(value, repr)}; it must be three finite numbers"
        raise ModelError(text, argument=what, value=value)
    found: list[float] = entries.tolist()
    return found


def direction(value: object, what: str) -> np.ndarray:
    """Return a unit (3,) array along a vector that is not zero."""
    return np.array(unit_triple(value, what))


def unit_triple(value: object, what: str) -> list[float]:
    """Return the three floats of a unit vector along a vector that is not zero."""
    x, y, z = triple(value, what)
    _, middle, largest = sorted((abs(x), abs(y), abs(z)))
    if largest == 0:
        raise ModelError(f"the {what} is zero; give it a direction such as (0, 0, 1)", argument=what, value=value)
    x, y, z = x / largest, y / largest, z / largest
    if middle:
        length = math.sqrt(x * x + y * y + z * z)
        x, y, z = x / length, y / length, z / length
    return [x, y, z]


def array(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return finite numbers of a shape that cannot be written to, or raise a ModelError that names them."""
    needed = f"an array of shape {shape}" if shape else "a number"
    result = _numbers_of(value, shape, needed, what).copy()
    if not all_finite(result):
        text = f"{what} is {np.array2string(result)}; it must be {needed}, finite"
        raise ModelError(text, argument=what, value=value)
    result.setflags(write=False)
    return result


def _numbers_of(value: object, shape: tuple[int, ...], needed: str, what: str, article: str = "") -> np.ndarray:
    """Return real numbers of a shape, which may be the array given."""
    why = ""
    try:
        result = as_numbers(value)
    except TypeError as error:
        result, why = None, f": it has {error}"
    if result is None or result.shape != shape:
        text = f"{article}{what} is {text_of(value, repr)}; it must be {needed}{why}"
        raise ModelError(text, argument=what, value=value)
    return result


def frozen(value: _T) -> _T:
    """Return arrays, also those in tuples, as copies that nobody can write to; everything else as it is."""
    return cast(_T, _frozen(value))


def _frozen(value: object) -> object:
    if type(value) is tuple:
        holds = any(issubclass(kind, _HOLDERS) for kind in {*map(type, value)})
        return tuple(map(_frozen, value)) if holds else value
    if not isinstance(value, np.ndarray):
        return value
    if value.flags.writeable or value.base is not None:
        value = value.copy()
        value.flags.writeable = False
    return value
