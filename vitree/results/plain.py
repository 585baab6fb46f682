"""Plain types for files, versions of the programs, and files that are written at once or not at all."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from vitree._core import width
from vitree.errors import InputError
from vitree.version import __version__


@contextlib.contextmanager
def replacing(path: Path):
    """Open a binary file beside ``path`` that takes its place only if the block succeeds."""
    # The name is short enough for any file system, and unique among threads and processes.
    temporary = path.with_name(f".{path.name[:40]}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        try:
            with open(temporary, "xb") as stream:
                yield stream
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; choose another place") from None


def plain(value: Any) -> Any:
    """Turn a value into types that JSON knows: arrays to lists, unknown objects to their repr."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    name = getattr(value, "__qualname__", None)  # a function: its name, not its address
    return name if name else repr(value)


def no_nan(value: Any) -> Any:
    """Replace NaN and infinities by None, for strict JSON."""
    if isinstance(value, dict):
        return {key: no_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [no_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, Any]:
    """Return the versions of the programs, and how many numbers the processor takes at once."""
    import platform

    import scipy

    return {
        "vitree": __version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "python": platform.python_version(), "platform": platform.platform(), "width": width(),
    }  # fmt: skip
