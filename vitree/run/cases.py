"""Cases of a sweep: a grid of values with labels, or a list; and what tells one sweep from another."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import itertools
import math
import os
import re
import types
from collections.abc import Iterable, Mapping, Sized
from typing import Any

import numpy as np

from vitree.arguments import mapping, plain_scalar, several, shown
from vitree.errors import InputError
from vitree.memory import require_memory
from vitree.model.system import System
from vitree.results.plain import SCALARS
from vitree.wording import text_of

#: Memory of a case with its row of results, and of a value of an axis, about [bytes].
CASE_BYTES, VALUE_BYTES = 1500.0, 200.0
#: Levels of values within values that are told apart.
DEEPEST = 8
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def without_addresses(text: str) -> str:
    """Return a text without the addresses of objects, which differ from process to process."""
    return _ADDRESS.sub("", text)


@dataclasses.dataclass(frozen=True)
class Cases:
    """What is run: labels for the table, and the values that they stand for.

    Attributes
    ----------
    names : tuple of str
    rows : list of dict
        For each case, its labels by name.
    values : dict of dicts
        By name, the values that labels stand for, where a label is not its own value.
    axes : dict of lists, or None
        The labels of each axis, if the cases are their product.
    """

    names: tuple[str, ...]
    rows: list[dict[str, Any]]
    values: dict[str, dict[Any, Any]]
    axes: dict[str, list[Any]] | None

    def arguments(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the labels of a case stand for."""
        return {name: self.values.get(name, {}).get(x, x) for name, x in labels.items()}


def cases_of(over: Any) -> Cases:
    """Return the cases of a mapping of axes, whose last varies fastest, or of a sequence of mappings.

    Raises
    ------
    InputError
        If it is neither, an axis is empty or has a value twice, or a value needs a label.
    """
    if over is None or isinstance(over, Mapping):
        given = mapping(over, "over", "a mapping of names to values")
        axes = {_name(name): _axis(name, values) for name, values in given.items()}
        count = math.prod(len(labels) for labels, _ in axes.values())
        require_memory(f"{count} cases", count * (CASE_BYTES + 80.0 * len(axes)),
                       "give fewer values in over=",
                       "run parts of over= in sweeps of their own")  # fmt: skip
        rows = [dict(zip(axes, labels, strict=True)) for labels in itertools.product(*(x for x, _ in axes.values()))]
        values = {name: own for name, (_, own) in axes.items() if own}
        return Cases(tuple(axes), rows, values, {name: labels for name, (labels, _) in axes.items()} or None)
    rows, values = [], {}
    for each in several(over, "over", "a mapping of names to values, or a sequence of mappings"):
        row = {}
        for name, value in mapping(each, "over", "a sequence of mappings").items():
            row[_name(name)], own = labelled(name, value)
            if own is not None and values.setdefault(name, {}).setdefault(row[name], own) is not own:
                raise InputError(_over(name) + f' has two values that are called "{row[name]}"; give names that differ')
        rows.append(row)
    if not rows:
        raise InputError("over", over, "is empty; give at least one case")
    return Cases(tuple(dict.fromkeys(name for row in rows for name in row)), rows, values, None)


def _axis(name: str, values: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Return the labels of an axis, and the values of those labels that are not their own."""
    if isinstance(values, Sized):
        require_memory(f"{len(values)} values", VALUE_BYTES * len(values),
                       "give fewer of them in over=")  # fmt: skip
    if isinstance(values, Mapping):
        labels = [plain_scalar(label) for label in values]
        if not all(isinstance(label, SCALARS) for label in labels):
            raise InputError(_over(name) + " is a mapping; its labels must be texts or numbers")
        own = dict(zip(labels, values.values(), strict=True))
    else:
        needed = "a sequence of values, or a mapping of labels to values"
        pairs = [labelled(name, x) for x in several(values, f'over["{name}"]', needed)]
        labels, own = [label for label, _ in pairs], {label: x for label, x in pairs if x is not None}
    if not labels:
        raise InputError(_over(name) + " is empty; give at least one value")
    if len(set(labels)) < len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise InputError(_over(name) + f" has {twice!r} twice; give each value once, or a mapping of labels to values")
    return labels, own


def labelled(name: Any, value: Any) -> tuple[Any, Any]:
    """Return the label of a value, and the value itself if it is another than the label.

    Raises
    ------
    InputError
        If the value is of a kind that has no label; ``name`` is that of its axis.
    """
    plain = plain_scalar(value)
    if plain is None or isinstance(plain, SCALARS):
        return str(plain) if isinstance(plain, str) else plain, None
    if isinstance(value, os.PathLike):
        return os.fspath(value), None
    if isinstance(value, System):
        return value.name, value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], Mapping):
        options = ", ".join(f"{key}={text_of(x)}" for key, x in value[1].items())  # a method and its options
        return f"{value[0]} ({options})" if options else value[0], value
    raise InputError(
        _over(name) + f" has {shown(value)}, which is neither a number nor a text; give a mapping of labels to values"
    )


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in ("status", "reason", "seconds"):
        raise InputError(
            f"over has the name {shown(name)}; a name must be a word that Python takes as an argument, other than "
            "status, reason and seconds"
        )
    return name


def _over(name: Any) -> str:
    return f'over["{text_of(name)}"]'


# ---- what tells sweeps apart ------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits that equal values have in common, in this process and in others.

    Of functions the instructions count, with the values that they hold, and not what they call.
    """
    return hashlib.sha256(_content(value, 0).encode(errors="backslashreplace")).hexdigest()[:16]


def _content(value: Any, level: int) -> str:
    """A text of a value; of objects of other kinds their class and attributes."""
    down = level + 1
    if level > DEEPEST:
        return "..."
    if value is None or isinstance(value, (*SCALARS, bytes, complex)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind != "O":
        array = np.ascontiguousarray(value)
        return f"{array.dtype.str} {np.shape(value)} {hashlib.sha256(array.tobytes()).hexdigest()}"
    if isinstance(value, System) and isinstance(name := getattr(value, "digest", None), str):
        return f"{type(value).__qualname__} {name}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_content(x, down)}: {_content(y, down)}" for x, y in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_content(x, down) for x in value)) + "}"
    if isinstance(value, Iterable) and isinstance(value, list | tuple | range | np.ndarray):
        return "[" + ", ".join(_content(x, down) for x in value) + "]"
    if isinstance(value, functools.partial):
        return f"partial {_content((value.func, value.args, value.keywords), down)}"
    if isinstance(value, types.MethodType):
        return f"method {_content((value.__func__, value.__self__), down)}"
    if isinstance(value, types.FunctionType):
        cells = [_cell(cell) for cell in value.__closure__ or ()]
        return f"def {_code(value.__code__)} {_content((value.__defaults__, value.__kwdefaults__, cells), down)}"
    if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict):
        return f"{type(value).__qualname__} {_source(type(value))} {_content(inside, down)}"
    return f"{type(value).__qualname__} {without_addresses(text_of(value, repr))}"


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""


def _code(code: types.CodeType) -> str:
    """The instructions of a function, which its comments and its place in a file do not change."""
    consts = [_code(x) if isinstance(x, types.CodeType) else _content(x, 1) for x in code.co_consts]
    return f"{code.co_qualname} {code.co_code.hex()} {consts} {code.co_names} {code.co_varnames}"
