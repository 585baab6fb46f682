"""Results that do not exist: numbers too large for a double, and frames that coincide where a direction is needed."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from vitree._core import scalar
from vitree.arguments import all_finite, as_numbers, axes_of
from vitree.errors import InputError, ModelError, VitreeError
from vitree.mechanism.constraints import Distance
from vitree.mechanism.loads import Attraction, Damper, Spring

plain = scalar().plain
#: Distances below this have no direction in floating point: their squares are zero [m].
TOUCHING = 1e-150
Method = TypeVar("Method", bound=Callable)


def coincident(model: Any, q: np.ndarray) -> list[str]:
    """Return a sentence for each load and constraint of a model whose frames coincide at q (nq,) [m or rad].

    Springs of length zero need no direction, and are left out.
    """
    pairs = _directed(model)
    if not pairs:
        return []
    with np.errstate(all="ignore"):
        bodies = model.pose_rows(q[None])[0]
        origin = lambda name: model._frame_pose(model._frame(name), bodies)[:3, 3] if name != "world" else 0.0  # noqa: E731
        return [
            f'the {x.name} has no direction: its frames "{x.a}" and "{x.b}" coincide; move them apart'
            for x in pairs if np.linalg.norm(origin(x.a) - origin(x.b)) < TOUCHING
        ]  # fmt: skip


def _directed(model: Any) -> list:
    """The loads and constraints that need the direction from one frame to another."""
    parts = *getattr(model, "loads", ()), *model.constraints
    pairs = [x for x in parts if isinstance(x, Spring | Damper | Attraction | Distance)]
    return [x for x in pairs if not (isinstance(x, Spring) and x.length == 0)]


def finite_result(method: Method) -> Method:
    """A method of a model whose results are finite, or an error says why there are none.

    Raises
    ------
    InputError
        If a number is too large for a double, by an argument that the text names, or frames coincide.
    """
    names = list(inspect.signature(method).parameters)[1:]

    @functools.wraps(method)
    def checked(self, *arguments, **more):
        with np.errstate(all="ignore"):
            try:
                result = method(self, *arguments, **more)
            except (np.linalg.LinAlgError, OverflowError):
                result = math.nan
        if _finite(result):
            return result
        raise no_result(self, method.__name__, dict(zip(names, arguments, strict=False)) | more)

    return checked  # type: ignore[return-value]


def guarded(function: Method) -> Method:
    """A function of a model whose arithmetic may fail, and which then says why as :func:`no_result` does.

    The model is its first argument, or the attribute ``model`` of that.

    Raises
    ------
    InputError, ModelError
        If an equation has no solution in doubles.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*arguments, **more):
        with np.errstate(all="ignore"):
            try:
                return function(*arguments, **more)
            except (np.linalg.LinAlgError, ArithmeticError, ValueError) as error:
                if isinstance(error, VitreeError) or (type(error) is ValueError and "infs or NaNs" not in str(error)):
                    raise  # SciPy refuses what is not finite by a ValueError
                given = dict(zip(names, arguments, strict=False)) | more
                first = given.pop(names[0])
                given = {"q" if name == "q0" else name: value for name, value in given.items()}
                raise no_result(getattr(first, "model", first), f"{function.__name__}()", given) from error

    return called  # type: ignore[return-value]


def _finite(result: Any) -> bool:
    if isinstance(result, np.ndarray):
        # of many numbers in order compiled code says it sooner
        return (result.ndim > 1 and plain(result.reshape(-1), result.size)) or all_finite(result)
    if isinstance(result, float):
        return math.isfinite(result)
    if isinstance(result, str):
        return True
    if isinstance(result, Mapping):
        return all(map(_finite, result.values()))
    return all(map(_finite, result if isinstance(result, tuple) else vars(result).values()))


def no_result(model: Any, what: str, given: Mapping[str, Any]) -> InputError | ModelError:
    """Return the error of a method whose result is infinite or NaN: the frames, or the largest argument, are why."""
    q = given.get("q")
    states = np.asarray(q, dtype=float) if axes_of(q) > 0 and _directed(model) else np.empty((0, 0))
    for at in np.ndindex(states.shape[:-1]):
        if met := coincident(model, states[at]):
            row = f"[{', '.join(map(str, at))}]" if at else ""
            return InputError(f"{what} has no result at q{row}: {met[0]}")
    largest, name, place, number = 0.0, None, "", 0.0
    for key, value in given.items():
        try:
            x = np.nan_to_num(np.abs(as_numbers(value)), nan=np.inf, posinf=np.inf)
        except TypeError:
            continue
        if x.ndim and x.size and x.max() > largest:
            largest, name = float(x.max()), key
            place = ", ".join(map(str, np.unravel_index(int(x.argmax()), x.shape)))
            number = as_numbers(value).ravel()[x.argmax()]
    if largest < 1e50 or name is None:
        return ModelError(
            f'{what} of "{model.name}" is infinite or NaN at ordinary arguments: masses, inertias or loads are too '
            "large or too small for floating point, or the mass matrix is singular there"
        )
    why = f"{what} is then too large for a double; give a smaller one"
    why = why if largest < math.inf else "all entries must be finite"
    return InputError(name, given[name], f"[{place}] is {number:g}: {why}")
