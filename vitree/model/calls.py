"""Methods that compiled code answers in one call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vitree._core import scalar

Method = TypeVar("Method", bound=Callable)

#: a method by the names of its arguments
SAME_ARGUMENTS = """
def called(self, {0}):
    found = quick(self._calls, self, {0})
    return method(self, {0}) if found is None else found
"""


def in_one_call(method: Method, made: type[Any] | None = None) -> Method:
    """A method that compiled code answers where the arguments are plain arrays of finite numbers, else the method.

    Both give the same bits. Lists, arrays of other kinds and whatever is refused are for the method alone.

    Parameters
    ----------
    method : callable
        One of those that ``_core/calls.pxi`` lists.
    made : type, optional
        The named tuple that it returns.
    """
    parameters = list(inspect.signature(method).parameters.values())[1:]
    names = tuple(parameter.name for parameter in parameters)
    call = scalar().Call(method.__name__, names, made)
    answer = call.answer

    def called(self, *arguments, **more):
        found = answer(self._calls, self, arguments, more)
        return method(self, *arguments, **more) if found is None else found

    if len(names) == call.count:  # to pack arguments and keywords takes longer than some kernels
        scope = {"method": method, "quick": call.quick}
        exec(SAME_ARGUMENTS.format(", ".join(names)), scope)
        called = scope["called"]
        called.__defaults__ = tuple(x.default for x in parameters if x.default is not x.empty)
    return functools.wraps(method)(called)  # type: ignore[return-value]
