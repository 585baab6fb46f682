"""Functions of a task as people give them: of the arrays (Q, V, A), or of a :class:`vitree.gym.State`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from vitree.arguments import Asked, Asking, as_numbers, shown
from vitree.gym.state import State

#: The arrays that a function of several arguments takes.
ARRAYS: dict[str, Callable[[State], np.ndarray]] = {
    "Q": lambda state: state.q, "V": lambda state: state.v, "A": lambda state: state.last_action,
}  # fmt: skip


def takes_state(function: Callable[..., object]) -> bool:
    """Whether a function has one argument without a default, and so takes a state, not arrays."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions of other languages
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        return False
    return sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters) == 1


class Function:
    """A function of a task, with the arguments that it asks for.

    Parameters
    ----------
    function : callable
        Of a :class:`vitree.gym.State`, or of ``arrays``.
    name : str
    arrays : str
        Names in ARRAYS, such as "QV".
    """

    def __init__(self, function: Callable[..., object], name: str, arrays: str):
        self.of_state = takes_state(function)
        self._arrays = () if self.of_state else tuple(arrays)
        words = "(state)" if self.of_state else f"({', '.join(arrays)})"
        self._asked = Asked(function, name, words, timed=False)

    def _given(self, state: State) -> Asking:
        return (state,) if self.of_state else tuple(ARRAYS[name](state) for name in self._arrays)

    def numbers(self, state: State, shape: tuple[int, int | None] | tuple[int]) -> np.ndarray:
        """Return its numbers, a new array of a shape in which None is any size; raise a CallableError else."""
        given = self._given(state)
        return numbers(self._asked, self._asked(*given), given, shape)

    def truths(self, state: State) -> np.ndarray:
        """Return its truth for each instance, (n,); raise a CallableError if it returns something else."""
        given, n = self._given(state), len(state.q)
        answer = self._asked(*given)
        try:
            found = np.array(answer)
        except Exception as error:  # whatever a value's own methods raise
            raise self._asked.error(f"returned {shown(answer)}, which is no array", given) from error
        if found.shape != (n,) or found.dtype != bool:
            what = f"returned shape {found.shape} of {found.dtype}; it must be ({n},) of bool"
            raise self._asked.error(what, given)
        return found


def numbers(function: Asked, answer: object, given: Asking, shape: tuple[int, int | None] | tuple[int]) -> np.ndarray:
    """Return a copy of a result as an array of a shape, in which None is any size; raise a CallableError else."""
    try:
        found = as_numbers(answer).copy()
    except TypeError as error:
        raise function.error(f"returned {shown(answer)}, which has {error}", given) from error
    asked: tuple[Any, ...] = shape
    if found.ndim != len(asked) or any(b not in (None, a) for a, b in zip(found.shape, asked, strict=True)):
        words = ", ".join("k" if size is None else str(size) for size in asked)
        end = "," if len(asked) == 1 else ""
        raise function.error(f"returned shape {found.shape}; it must be ({words}{end})", given)
    if not np.isfinite(found).all():
        raise function.error(f"returned NaN or infinity: {shown(found)}; it must be finite", given)
    return found
