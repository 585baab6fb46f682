"""Methods that compiled code answers in one call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vitree._core import scalar
from vitree.model.finite import finite_result
from vitree.model.stacks import on_stacks

Method = TypeVar("Method", bound=Callable)

#: A method by the names of its arguments: to pack arguments and keywords takes longer than some kernels.
CALLED = """
def called(self, {0}):
    found = answer(self._calls, self, {0})
    return method(self, {0}) if found is None else found
"""
#: The same of one with arguments that are for the method alone.
CALLED_BEYOND = """
def called(self, {0}, *more, **named):
    found = None if more or named else answer(self._calls, self, {0})
    return method(self, {0}, *more, **named) if found is None else found
"""


def in_one_call(method: Method, made: type[Any] | None = None) -> Method:
    """A method that compiled code answers where the arguments are plain arrays of finite numbers, else the method.

    Both give the same bits. Lists, arrays of other kinds and whatever is refused are for the method alone.

    Parameters
    ----------
    method : callable
        One of those that ``_core/doors.pxi`` and ``_core/calls.pxi`` list.
    made : type, optional
        The named tuple that it returns.
    """
    call, parameters = scalar().Call(method.__name__, made), list(inspect.signature(method).parameters.values())[1:]
    answered = parameters[: call.count]
    scope: dict[str, Any] = {"method": method, "answer": call.answer}
    exec((CALLED if answered == parameters else CALLED_BEYOND).format(", ".join(x.name for x in answered)), scope)
    called = scope["called"]
    called.__defaults__ = tuple(x.default for x in answered if x.default is not x.empty)
    return functools.wraps(method)(called)  # type: ignore[return-value]


def of_states(method: Method, made: type[Any] | None = None) -> Method:
    """A method of states that is answered in one call; else stacks of states are, and results must be finite."""
    return in_one_call(on_stacks(finite_result(method)), made)
