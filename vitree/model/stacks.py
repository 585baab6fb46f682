"""Leading axes: methods of a system on one state take stacks of states as well."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from vitree._core import scalar, wide
from vitree.arguments import axes_of, numbers_of, require_finite
from vitree.errors import InputError, VitreeError

Method = TypeVar("Method", bound=Callable)
core = scalar()
#: Arguments that are states, by their names: of nq entries and of nv.
CONFIGURATIONS, VELOCITIES = ("q", "q0", "q1"), ("v", "a", "dq", "p", "tau")


def on_stacks(method: Method) -> Method:
    """A method whose arguments of states are checked, and have the same leading axes.

    The method gets configurations (..., nq) and velocities (..., nv): contiguous arrays of finite numbers, with
    quaternions of unit length. Of one state there are no leading axes. All other arguments are as they were given.

    Raises
    ------
    InputError
        If an argument of a state is none, or leading axes do not broadcast.
    """
    parameters = list(inspect.signature(method).parameters.values())[1:]
    names = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    places = {name: k for k, name in enumerate(names) if name in (*CONFIGURATIONS, *VELOCITIES)}
    optional, last = {x.name for x in parameters if x.default is None}, max(places.values())

    @functools.wraps(method)
    def called(self, *arguments, **more):
        if len(arguments) > last and not any([_axes_beyond_one(arguments[k]) for k in places.values()]):
            one = list(arguments)
            for name, k in places.items():
                if one[k] is not None or name not in optional:
                    one[k] = checked(self, one[k], name)
            return method(self, *one, **more)
        if len(arguments) > len(names) or any(name in more for name in names[: len(arguments)]):
            return method(self, *arguments, **more)  # a TypeError
        given = dict(zip(names, arguments, strict=False)) | more
        found = {name: given[name] for name in places if name in given}
        found = {name: x for name, x in found.items() if x is not None or name not in optional}
        if any(map(_axes_beyond_one, found.values())):
            given |= stacked(self, found)
        else:
            given |= {name: checked(self, x, name) for name, x in found.items()}
        return method(self, **given)

    return called  # type: ignore[return-value]


def _axes_beyond_one(x: Any) -> bool:
    if type(x) is np.ndarray:
        return x.ndim > 1
    plain = (type(x) is list or type(x) is tuple) and x and isinstance(x[0], float | int)
    return not plain and axes_of(x) > 1


def checked(system: Any, x: Any, name: str) -> np.ndarray:
    """Return a checked configuration, velocity or force of one state, which of these its name says."""
    if name not in CONFIGURATIONS:
        return system._checked(x, system.nv, name)
    # by its position alone, for the sake of compiled code
    return system.validate_configuration(x) if name == "q" else system.validate_configuration(x, name)


def stacked(system: Any, given: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return states that go together, all with the same leading axes.

    Raises
    ------
    InputError
        If there are others than real numbers, of other sizes, or they do not broadcast.
    """
    found: dict[str, np.ndarray] = {}
    for name, value in given.items():
        x, size = numbers_of(value, name), system.nq if name in CONFIGURATIONS else system.nv
        if x.shape[-1:] != (size,):
            raise InputError(
                name, value,
                f"has shape {x.shape}; it must be an array of numbers of shape (..., {size}), as {system.name!r} has "
                f"it (nq={system.nq}, nv={system.nv})"
            )
        if not core.plain(x.reshape(-1), x.size):
            require_finite(x, name, value)
        found[name] = x
    if len({x.shape[:-1] for x in found.values()}) > 1:
        found = dict(zip(found, _broadcast(found), strict=True))
    return {name: system._checked_stack(x, name) if name in CONFIGURATIONS else x for name, x in found.items()}


def _broadcast(found: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Arrays with the same leading axes."""
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in found.values()))
    except ValueError:
        axes = (f"{name} has the leading axes {x.shape[:-1]}" for name, x in found.items())
        (name, value), *_ = found.items()
        raise InputError(name, value, ", ".join(axes).removeprefix(f"{name} ") + "; they must broadcast") from None
    return [np.ascontiguousarray(np.broadcast_to(x, (*lead, x.shape[-1]))) for x in found.values()]


def as_rows(x: np.ndarray) -> np.ndarray:
    """Return a stack (..., m) as rows (n, m), of the same memory if that is contiguous."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def doors(x: np.ndarray) -> Any:
    """Return the compiled module for a state (m,), or a stack of states (..., m)."""
    return core if x.ndim == 1 else wide()


def plain_number(x: Any) -> Any:
    """Return a number as a float, and a stack of numbers as it is."""
    return float(x) if np.ndim(x) == 0 else np.ascontiguousarray(x)


@contextmanager
def in_row(at: tuple[Any, ...]) -> Iterator[None]:
    """Let errors say in which row of the leading axes they are."""
    try:
        yield
    except VitreeError as error:
        error.args = (f"in row {[int(k) for k in at]}: {error.args[0]}",)
        raise


def row_by_row(system: Any, call: Callable[..., Any], **states: np.ndarray) -> Any:
    """Return the results of a call for each state of stacks with the same leading axes, as one stack.

    The results are arrays, numbers, or named tuples of arrays. The call takes states as keywords.
    """
    lead = next(iter(states.values())).shape[:-1]
    results = []
    for at in np.ndindex(lead):
        with in_row(at):
            results.append(call(**{name: x[at] for name, x in states.items()}))
    if not results:  # what one would look like
        likes = {name: system.neutral() if name in CONFIGURATIONS else np.zeros(system.nv) for name in states}
        return _joined([call(**likes)], (1,), lead)
    return _joined(results, (len(results),), lead)


def _joined(results: list, count: tuple[int], lead: tuple[int, ...]) -> Any:
    if isinstance(results[0], tuple):
        return type(results[0])(*(_joined(list(parts), count, lead) for parts in zip(*results, strict=True)))
    x = np.array(results, dtype=float)
    return x.reshape((*lead, *x.shape[1:])) if math.prod(lead) else np.empty((*lead, *x.shape[1:]))
