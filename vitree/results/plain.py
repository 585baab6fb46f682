"""Plain types for files, and versions of the programs."""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import numpy as np

from vitree._core import width
from vitree.version import __version__

#: What a cell of a table holds, beside None.
SCALARS = (bool, int, float, str)
#: Levels of lists and mappings in settings; what is nested more deeply, or holds itself, is shown as Python does.
DEEPEST = 50

T = TypeVar("T")


def plain(value: object, level: int = 0) -> Any:
    """Turn a value into types that JSON knows: arrays to lists, unknown objects to their repr."""
    if level > DEEPEST and isinstance(value, dict | list | tuple):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): plain(item, level + 1) for key, item in value.items()}
    if isinstance(value, np.longdouble):
        return float(value)  # NumPy's tolist leaves it as it is
    if isinstance(value, np.ndarray | np.generic) and value.dtype.char != "G":
        return plain(value.tolist(), level)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, level + 1) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    name = getattr(value, "__qualname__", None)  # a function: its name, not its address
    return name if name else repr(value)


def read_json(text: str | bytes) -> Any:
    """Return the content of a text in JSON, which a stranger may have written.

    Raises a ValueError if it is no JSON, or is nested more deeply than Python reads.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def nothing() -> Any:
    """Return None: the default of a field that is computed when it is first read."""
    return None


def read_only(value: T) -> T:
    """Return a read-only view of an array, and everything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def no_nan(value: object) -> Any:
    """Replace NaN and infinities by None, for strict JSON."""
    if isinstance(value, dict):
        return {key: no_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [no_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, str | int]:
    """Return the versions of the programs, and how many numbers the processor takes at once."""
    import platform

    import scipy

    return {
        "vitree": __version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "python": platform.python_version(), "platform": platform.platform(), "width": width(),
    }  # fmt: skip
