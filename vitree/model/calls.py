"""Methods that compiled code answers in one call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vitree._core import scalar

Method = TypeVar("Method", bound=Callable)


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
    call = scalar().Call(method.__name__, tuple(inspect.signature(method).parameters)[1:], made)
    answer = call.answer

    @functools.wraps(method)
    def called(self, *arguments, **more):
        found = answer(self._calls, self, arguments, more)
        return method(self, *arguments, **more) if found is None else found

    return called  # type: ignore[return-value]
