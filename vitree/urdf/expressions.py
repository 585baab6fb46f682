"""Expressions of xacro files, evaluated without Python's eval: numbers, texts, lists, and listed functions only.

The process that expands a file runs this module by its path, so it imports nothing of vitree.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

#: Longest text and expression [characters], and most entries of a list, those of its parts included.
LONGEST, MOST = 100_000, 100_000
#: Largest whole number [bits].
BITS = 4096
#: Widest field and most digits of a format.
WIDEST = 100
#: Powers, sums of lists and the like are checked before they are computed; see _power and _times.
_BINARY: dict[type, Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_UNARY: dict[type, Callable[..., object]] = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_}
_COMPARE: dict[type, Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
#: Methods of values that may be called.
METHODS = {
    str: (
        "capitalize", "count", "endswith", "find", "isdigit", "join", "lower", "lstrip", "partition", "replace",
        "rpartition", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper",
    ),
    dict: ("get", "items", "keys", "values"),
    list: ("count", "index"),
    tuple: ("count", "index"),
}  # fmt: skip

T = TypeVar("T")


class Refused(Exception):
    """An expression has a part that is not evaluated."""


class Function:
    """A function that expressions may call."""

    def __init__(self, call: Callable[..., object]):
        self.call = call


def _range(*limits: int) -> list[int]:
    numbers = range(*limits)
    if len(numbers) > MOST:
        raise Refused(f"a range of more than {MOST} numbers")
    return list(numbers)


def _round(number: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > BITS:
        raise Refused(f"a number rounded to {digits} digits")
    return round(number, digits)


#: Functions of Python by name.
_CALLS: dict[str, Callable[..., object]] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "dict": dict, "divmod": divmod, "float": float, "int": int,
    "len": len, "list": list, "max": max, "min": min, "range": _range, "round": _round, "sorted": sorted, "str": str,
    "sum": sum, "tuple": tuple, "enumerate": lambda x: list(enumerate(x)), "reversed": lambda x: list(reversed(x)),
    "zip": lambda *x: list(zip(*x, strict=False)),
}  # fmt: skip
#: Functions and constants by name.
BUILTINS: dict[str, object] = {name: Function(call) for name, call in _CALLS.items()} | {"True": True, "False": False}
#: Those of ``math``; three of its functions run for ever with large numbers.
MATH: dict[str, object] = {
    name: Function(value) if callable(value) else value
    for name, value in vars(math).items()
    if not name.startswith("_") and name not in ("comb", "factorial", "perm")
}


def evaluate(text: str, names: Mapping[str, object]) -> object:
    """Return the value of an expression.

    Raises Refused if the expression has another part, or a value grows too large.

    Parameters
    ----------
    text : str
        An expression of Python: constants, names, arithmetic, comparisons, and, or, not, if-else, lists, dicts,
        indices, calls of ``Function`` objects and of ``METHODS``, ``a.b`` of a namespace or a dict from a file.
    names : mapping
        Values and functions by name; namespaces are mappings.
    """
    if len(text) > LONGEST:
        raise Refused(f"an expression of more than {LONGEST} characters")
    value = _value(ast.parse(text.strip(), "<expression>", "eval").body, names)
    if isinstance(value, Function):
        raise Refused("a function that is not called")
    return value


def checked(value: T) -> T:
    """Return a value, if it is plain and not too large."""
    _measure(value, MOST)
    return value


def _measure(value: object, left: int) -> int:
    """Return how many more entries may follow; an entry that a list has twice counts twice."""
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise Refused(f"a text of more than {LONGEST} characters")
    elif isinstance(value, list | tuple | dict):
        parts = (*value.keys(), *value.values()) if isinstance(value, dict) else value
        for part in parts:
            left = _measure(part, left - 1)
            if left < 0:
                raise Refused(f"a list of more than {MOST} entries")
    elif isinstance(value, int):
        if value.bit_length() > BITS:
            raise Refused(f"a whole number of more than {BITS} bits")
    elif not (value is None or isinstance(value, float)):
        raise Refused(f"a {type(value).__name__}")
    return left


def _value(node: ast.AST, names: Mapping[str, object]) -> Any:
    match node:
        case ast.Constant(value=value):
            return checked(value)
        case ast.Name(id=name):
            try:
                return names[name]
            except KeyError:
                raise NameError(f"name '{name}' is not defined") from None
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return checked(_UNARY[type(op)](_plain(operand, names)))
        case ast.BinOp(left=left, op=op, right=right):
            return checked(_binary(op, _plain(left, names), _plain(right, names)))
        case ast.BoolOp(op=op, values=values):
            for part in values:
                value = _value(part, names)
                if bool(value) is isinstance(op, ast.Or):
                    break
            return value
        case ast.Compare(left=left, ops=ops, comparators=others):
            value = _plain(left, names)
            for compare, part in zip(ops, others, strict=True):
                other = _value(part, names)
                if not _COMPARE[type(compare)](value, other):
                    return False
                value = other
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names) else orelse, names)
        case ast.List(elts=parts):
            return checked([_plain(part, names) for part in parts])
        case ast.Tuple(elts=parts):
            return checked(tuple(_plain(part, names) for part in parts))
        case ast.Dict(keys=keys, values=values) if all(keys):
            pairs = zip(keys, values, strict=True)
            return checked({_plain(key, names): _plain(value, names) for key, value in pairs if key is not None})
        case ast.Subscript(value=of, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            ends = [None if end is None else _plain(end, names) for end in (lower, upper, step)]
            return _plain(of, names)[slice(*ends)]
        case ast.Subscript(value=of, slice=index):
            return _value(of, names)[_plain(index, names)]
        case ast.Attribute(value=of, attr=name):
            return _attribute(_value(of, names), name)
        case ast.Call():
            return _called(node, names)
    raise Refused(f'"{ast.unparse(node)[:60]}", a {type(node).__name__}')


def _plain(node: ast.AST, names: Mapping[str, object]) -> Any:
    """Return a value that is neither a function nor a namespace."""
    value = _value(node, names)
    if isinstance(value, Function):
        raise Refused("a function that is not called")
    return value


def _attribute(value: object, name: str) -> object:
    # a namespace, or a dict from a file: both give their entries as attributes
    if isinstance(value, dict) and type(value) is not dict and not name.startswith("_"):
        return value[name]
    raise Refused(f'the attribute "{name}" of a {type(value).__name__}')


def _binary(op: ast.operator, a: object, b: object) -> object:
    if isinstance(op, ast.Pow):
        if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > BITS:
            raise Refused(f"a whole number of more than {BITS} bits")
        return operator.pow(a, b)
    if isinstance(op, ast.Mult):
        for some, times in ((a, b), (b, a)):
            if isinstance(some, str | list | tuple) and isinstance(times, int) and len(some) * times > MOST:
                raise Refused(f"a list or text of more than {MOST} entries")
        return operator.mul(a, b)
    if isinstance(op, ast.Mod):
        if isinstance(a, str) and ("*" in a or any(int(width) > WIDEST for width in re.findall("[0-9]+", a))):
            raise Refused(f"a format with a field wider than {WIDEST}")
        return operator.mod(a, b)
    if type(op) not in _BINARY:
        raise Refused(f"the operator {type(op).__name__}")
    return _BINARY[type(op)](a, b)


def _called(node: ast.Call, names: Mapping[str, object]) -> object:
    if any(isinstance(part, ast.Starred) for part in node.args) or any(word.arg is None for word in node.keywords):
        raise Refused("a call with * or **")
    arguments = [_plain(part, names) for part in node.args]
    words = {str(word.arg): _plain(word.value, names) for word in node.keywords}
    if isinstance(node.func, ast.Attribute):
        of, name = _value(node.func.value, names), node.func.attr
        kind = next((kind for kind in METHODS if isinstance(of, kind)), None)
        if kind is not None and name in METHODS[kind] and not hasattr(of, "_resolve_"):  # which namespaces have
            _check_growth(of, name, arguments)
            result = getattr(of, name)(*arguments, **words)
            return checked(list(result) if kind is dict and name != "get" else result)
        function = _attribute(of, name)
    else:
        function = _value(node.func, names)
    if not isinstance(function, Function):
        raise Refused(f'a call of "{ast.unparse(node.func)[:60]}"')
    return checked(function.call(*arguments, **words))


def _check_growth(text: Any, method: str, arguments: list[Any]) -> None:
    """Refuse a replacement or a join whose result is too long."""
    length = 0
    if method == "replace" and len(arguments) >= 2:
        length = text.count(arguments[0]) * len(arguments[1])
    elif method == "join" and arguments:
        length = sum(len(part) + len(text) for part in arguments[0])
    if length > LONGEST:
        raise Refused(f"a text of more than {LONGEST} characters")
