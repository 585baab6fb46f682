"""Numbers, arrays and callables as people give them, of every kind that NumPy users have.

A number is any real number: of Python, of NumPy in any width, or an array of no axes (as JAX has them). An array is
whatever ``np.asarray`` makes an array of real numbers of, read-only, strided or of another byte order included. Masked,
structured and object arrays, text, truth values and complex numbers are none.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vitree.errors import CallableError, InputError, UnknownNameError
from vitree.wording import a_kind, text_of

_FLOAT = np.dtype(float)
#: Values by their names: arguments of a function, options of a method, fields of a row for the core.
Keywords = dict[str, Any]
#: An object of JSON: the settings of a run, or a row of a table.
JsonObject = dict[str, Any]
_GENERATORS: Any = (np.random.Generator, np.random.RandomState)
#: Entries of an array below which a loop of Python is faster than one of NumPy.
FEW = 24
#: What an array is that has no real numbers, by the kind of its type.
_WORDS = {"b": "truth values", "c": "complex numbers", "S": "bytes", "U": "text", "V": "records of several fields",
          "M": "dates", "m": "spans of time", "O": "Python objects", "T": "text"}  # fmt: skip


_Called = TypeVar("_Called", bound=Callable[..., object])


def explain_calls(called: _Called, hints: Mapping[str, str] | None = None) -> _Called:
    """Decorate a function, method or class: the errors of arguments that are unknown, too many or missing name them.

    ``hints`` are the remedies of names that a caller may take for arguments.
    """
    function = vars(called)["__init__"] if isinstance(called, type) else called
    given_names = inspect.signature(called).parameters
    known = [one for name, one in given_names.items() if one.kind is not one.VAR_KEYWORD and name != "self"]
    bound = isinstance(called, type) or "self" in given_names
    open_ = any(one.kind is one.VAR_KEYWORD for one in given_names.values())
    names = [one.name for one in known]
    placed = [one.name for one in known if one.kind is not one.KEYWORD_ONLY]
    required = [one.name for one in known if one.default is one.empty]

    @functools.wraps(function)
    def call(*given: object, **named_: object) -> object:
        try:
            return function(*given, **named_)
        except TypeError:
            kind = type(given[0]) if isinstance(called, type) else None
            title = kind.__name__ if kind and vars(kind).get("__init__", call) is call else called.__name__
            for name in named_:
                if name not in names and not open_:
                    raise _unknown(title, name, names, (hints or {}).get(name)) from None
            count = len(given) - bound
            if count > len(placed):
                by_position = f"{len(placed)} by position ({', '.join(placed)})" if placed else "none by position"
                text = f"{title}() takes {by_position}, not {count}"
                raise InputError(text + "; give an array in one pair of parentheses, and options by name") from None
            if missing := [name for name in required if name not in {*placed[:count], *named_}]:
                raise InputError(f"{title}() needs {' and '.join(f'{name}=' for name in missing)}") from None
            raise

    if not isinstance(called, type):
        return call  # type: ignore[return-value]
    setattr(called, "__init__", call)  # noqa: B010 (mypy knows better of classes, and not of this one)
    return called


def explain_calls_with(hints: Mapping[str, str]) -> Callable[[_Called], _Called]:
    """Decorate as :func:`explain_calls` does, with the remedies of names that a caller may take for arguments."""
    return lambda called: explain_calls(called, hints)


def _unknown(function: str, name: str, names: list[str], hint: str | None) -> UnknownNameError:
    """Return the error of an argument that a function does not have."""
    error = UnknownNameError(f"argument of {function}()", name, names)
    if hint is not None:
        error.args = (f'no argument of {function}() "{name}"; {hint}',)
    return error


def as_numbers(value: object) -> np.ndarray:
    """Return real numbers as an array of floats in order and at even addresses, which may be the array given.

    Raises a TypeError if there are other things than real numbers; the text says which, to be read behind "has".
    """
    if type(value) is np.ndarray and value.dtype == _FLOAT and value.flags.c_contiguous and value.flags.aligned:
        return value
    if (type(value) is tuple or type(value) is list) and {*map(type, value)} == {float}:
        return np.array(value)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("masked entries: it is a masked array; give value.filled(...), or the entries that count")
    value = list(value) if isinstance(value, Iterator) else value
    try:
        if isinstance(value, list | tuple) and any(hasattr(x, "__array__") for x in value):
            value = [np.asarray(x) if hasattr(x, "__array__") else x for x in value]  # NumPy asks such for a float
        array = np.asarray(value)
    except Exception as error:  # whatever a value's own methods raise
        raise TypeError(f"no array of numbers: {told(error)}") from None
    if array.dtype.kind == "O" and not isinstance(value, np.ndarray):
        array = _of_objects(array)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{_WORDS.get(array.dtype.kind, 'no numbers')} (dtype {array.dtype}), not real numbers")
    with np.errstate(over="ignore"):  # what is too large for a double is infinite, and refused as that
        found = np.array(array, dtype=_FLOAT, order="C", copy=None)
    return found if found.flags.aligned else found.copy()


def _of_objects(array: np.ndarray) -> np.ndarray:
    """The floats of numbers that NumPy has no type for, such as a Fraction or an int of many digits; else the array."""
    kinds = {type(x) for x in array.flat}
    if not kinds or bool in kinds or not all(hasattr(x, "__float__") for x in kinds):
        return array
    try:
        return np.array([float(x) for x in array.flat]).reshape(array.shape)
    except OverflowError:
        return np.full(array.shape, np.inf)
    except Exception:  # whatever the objects' own methods raise
        return array


def real(value: object) -> float:
    """Return a real number as a float, and NaN for any other value, so that every comparison fails."""
    if type(value) is float:
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    try:
        array = as_numbers(value)
    except TypeError:
        return math.nan
    return float(array) if array.ndim == 0 else math.nan


def whole(value: object) -> int | None:
    """Return a value of an integer type as an int, and None for any other value."""
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_ | np.ma.MaskedArray):
        return None
    try:
        array = np.asarray(value)
    except Exception:  # whatever a value's own methods raise
        return None
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else None


def plain_scalar(value: object) -> Any:
    """Return a scalar of NumPy, or an array of no axes, as Python's own number; all else as it is."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.generic) or (hasattr(value, "__array__") and axes_of(value) == 0):
        count, number = whole(value), real(value)
        return count if count is not None else number if number == number else value
    return value


def axes_of(value: Any) -> int:
    """Return ``np.ndim`` of a value, and -1 where it fails."""
    try:
        count: object = np.ndim(value)
    except Exception:  # whatever a value's own methods raise
        return -1
    return count if isinstance(count, int) else -1  # of a class of arrays NumPy returns a descriptor


def entries(value: object, shape: tuple[int, ...], name: str, whose: str = "") -> np.ndarray:
    """Return finite numbers of a shape as an array, which may be the one given.

    Raises an InputError if they are others; the text says what came.

    Parameters
    ----------
    value : array
    shape : tuple of int
    name : str
        What errors call it.
    whose : str
        Words behind the shape that is needed.
    """
    try:
        x = as_numbers(value)
    except TypeError as error:
        raise InputError(name, value, f"has {error}; it must be {_needed(shape)}{whose}") from None
    if x.shape != shape:
        raise InputError(name, value, f"has shape {x.shape}; it must be {_needed(shape)}{whose}")
    require_finite(x, name, value)
    return x


def require_finite(x: np.ndarray, name: str, value: object) -> None:
    """Raise an InputError that says which entry of an array is NaN or infinite, if one is.

    ``name`` and ``value``: what errors call the array, and what was given for it.
    """
    if not all_finite(x):
        place = np.unravel_index(int(np.flatnonzero(~np.isfinite(x))[0]), x.shape)
        where = f"[{', '.join(map(str, place))}]" if place else ""
        raise InputError(name, value, f"{where} is {x[place]}; all entries must be finite".lstrip())


def numbers_of(value: object, name: str, marks: bool = False) -> np.ndarray:
    """Return real numbers as an array of floats, which may be the one given; errors call it ``name``.

    With ``marks`` an array of truth values is one of zeros and ones. Raises an InputError if there are others.
    """
    if marks and type(value) is np.ndarray and value.dtype == bool:
        return value.astype(float)
    try:
        return as_numbers(value)
    except TypeError as error:
        raise InputError(name, value, f"has {error}; it must be an array of numbers") from None


def unlike_leads(leads: Mapping[str, tuple[int, ...]], value: object) -> InputError:
    """Return the error of arrays whose leading axes, by their names, do not broadcast; ``value`` is the first array."""
    first, *_ = leads
    texts = (f"{name} has the leading axes {axes}" for name, axes in leads.items())
    return InputError(first, value, ", ".join(texts).removeprefix(f"{first} ") + "; they must broadcast")


def generator(rng: object) -> np.random.Generator:
    """Return a generator of random numbers, a new one for None; raise an InputError if ``rng`` is not a generator."""
    if rng is None:
        return np.random.default_rng()
    known: np.random.Generator = of_kind(rng, _GENERATORS, "rng", "np.random.default_rng(), or another one")
    return known


def _needed(shape: tuple[int, ...]) -> str:
    return f"an array of numbers of shape {shape}" if shape else "a number"


def all_finite(x: np.ndarray) -> bool:
    """Whether no entry is NaN or infinite."""
    # for few numbers Python's own loop is the faster one
    return all(map(math.isfinite, x.ravel().tolist())) if x.size <= FEW else bool(np.isfinite(x).all())


# ---- objects, collections and files ----------------------------------------------------------------------

T = TypeVar("T")


def of_kind(value: object, kind: type[T] | tuple[type[T], ...], name: str, needed: str) -> T:
    """Return an object of a class.

    Raises an InputError if it is of another class.

    Parameters
    ----------
    value : object
    kind : type, or several
    name : str
        What errors call it.
    needed : str
        What it must be, in words.
    """
    if not isinstance(value, kind):
        raise InputError(name, value, f"is {shown(value)}; it must be {needed}")
    return value


def several(value: object, name: str, needed: str) -> tuple[Any, ...]:
    """Return the parts of a collection that is no text.

    Raises an InputError if the value is not a collection; the message says what is ``needed``.
    """
    try:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise TypeError("it is no collection")
        return tuple(value)
    except Exception as error:  # whatever the collection's own methods raise
        raise InputError(name, value, f"is {shown(value)}; it must be {needed}: {told(error)}") from None


def mapping(value: object, name: str, needed: str) -> dict[Any, Any]:
    """Return the items of a mapping; none for None.

    Raises an InputError if it is no mapping; the text says that it must be what is ``needed``.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(name, value, f"is {shown(value)}; it must be {needed}")
    return dict(value)


def path_of(value: Any, name: str = "path") -> Path:
    """Return a path; raise an InputError if the value is not a path."""
    try:
        place = os.fspath(value)
        if isinstance(place, bytes):
            raise TypeError("it is bytes")
        place.encode(errors="surrogateescape")
        if "\0" in place:
            raise ValueError("it has a null character")
    except Exception as error:  # whatever the value's own methods raise
        raise InputError(
            name, value, f"is {shown(value)}; it must be the place of a file, a str or Path: {told(error)}"
        ) from None
    return Path(place)


# ---- callables -----------------------------------------------------------------------------------------


#: The arguments of a call.
Asking = tuple[Any, ...]


class Asked:
    """A callable of the caller's; what goes wrong in it is a CallableError that names it.

    Parameters
    ----------
    function : callable
    name : str
        The argument that it is.
    takes : str
        Its arguments in words, such as "(t, q, v)".
    *shapes : tuples of int
        Those that its answers, which are numbers, may have; none if answers do not matter.
    timed : bool
        Whether the first argument is the time [s].
    needs : str
        What it must return, in words, where the shapes do not say it.
    """

    def __init__(self, function: Callable[..., object], name: str, takes: str, *shapes: tuple[int, ...],
                 timed: bool = True, needs: str = ""):  # fmt: skip
        self.needs = needs
        self.function, self.name, self.takes, self.shapes, self.timed = function, name, takes, shapes, timed

    def __call__(self, *arguments: object) -> Any:
        try:
            answer = self.function(*arguments)
        except CallableError:
            raise
        except Exception as error:
            raise self.raised(error, arguments) from error
        return self.numbers(answer, arguments) if self.shapes else answer

    def numbers(self, answer: object, arguments: Asking) -> np.ndarray:
        """Return a returned value as an array; raise a CallableError if its shape is wrong or it is not finite."""
        try:
            x = as_numbers(answer)
        except TypeError as error:
            raise self.error(f"returned {shown(answer)}, which has {error}; {self._needed()}", arguments) from error
        if x.shape not in self.shapes:
            raise self.error(f"returned shape {x.shape}; {self._needed()}", arguments)
        if not all_finite(x):
            raise self.error(f"returned NaN or infinity: {shown(x)}; it must be finite", arguments)
        return x

    def _needed(self) -> str:
        return self.needs or "it must be " + " or ".join(str(shape) if shape else "a number" for shape in self.shapes)

    def raised(self, error: Exception, arguments: Asking) -> CallableError:
        """Return the error of a call that raised another."""
        return self.error(f"raised {told(error)}", arguments)

    def error(self, what: str, arguments: Asking) -> CallableError:
        """Return the error of a call."""
        time = float(arguments[0]) if self.timed else None
        at = f" at t = {time:.9g} s" if self.timed else ""
        text = f"{self.name}{self.takes}{at} {what}"
        return CallableError(text, time=time, argument=self.name, value=self.function)


def shown(value: object) -> str:
    """A value in a few words."""
    text = text_of(value, repr if type(value) is not np.ndarray else _few)
    return text if len(text) <= 80 else a_kind(value)


def _few(array: np.ndarray) -> str:
    return np.array2string(array, threshold=6, edgeitems=3)


def told(error: BaseException) -> str:
    """An exception in words."""
    try:
        text = str(error)
    except Exception:  # whatever its own methods raise
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
