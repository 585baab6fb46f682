"""The compiled core, and the choice of how many lanes this machine runs."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import cache

from vitree.errors import InputError

if any(importlib.util.find_spec(f"{__name__}.{part}") is None for part in ("_cpu", "_x1")):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    raise ImportError(
        f"the folder {root} holds vitree's source without its compiled core for Python "
        f"{sys.version_info.major}.{sys.version_info.minor}: run pip install -e . in that folder, "
        "or start Python in another folder to import the vitree that is installed"
    )

from vitree._core import _cpu

WIDTHS = (1, 2, 4, 8)


def widths() -> list[int]:
    """Return the numbers of lanes that were built and that this CPU runs."""
    return [w for w in WIDTHS if _cpu.runs(w) and importlib.util.find_spec(f"{__name__}._x{w}")]


@cache
def width() -> int:
    """Return the number of lanes used for batches: the widest built that this CPU runs.

    The environment variable VITREE_WIDTH (1, 2, 4 or 8) overrides it. Results do not depend on it.

    Raises
    ------
    InputError
        If VITREE_WIDTH is not a width that was built and that this machine runs.
    """
    usable = widths()
    wanted = os.environ.get("VITREE_WIDTH")
    if wanted is None:
        return usable[-1]
    if wanted not in map(str, usable):
        raise InputError(f"VITREE_WIDTH={wanted}: this machine runs widths {', '.join(map(str, usable))}")
    return int(wanted)


def lanes(w: int):
    """Return the compiled module of width ``w``."""
    return importlib.import_module(f"{__name__}._x{w}")


@cache
def wide():
    """Return the compiled module for batches."""
    return lanes(width())


@cache
def scalar():
    """Return the compiled module of one lane, in the build whose registers this CPU has.

    Another module, of at most as many lanes as batches use, takes some of a state's bodies for lanes: four of them do
    best, beyond that memory is in the way. All choices give the same bits.
    """
    builds = {8: "_x1_avx512", 4: "_x1_avx2", 1: "_x1"}
    name = next(x for w, x in builds.items() if _cpu.runs(w) and importlib.util.find_spec(f"{__name__}.{x}"))
    module = importlib.import_module(f"{__name__}.{name}")
    helps = max(w for w in widths() if w <= min(width(), 4))
    module.take_bodies_of(lanes(helps).bodies_abreast() if helps > 1 else 0)
    return module


def stages(count: int) -> tuple[int, int]:
    """Return how many lanes the stages of a step fill, and the kernels for them of a compiled module.

    The lanes are ``count`` rounded up to a power of two. The module has as many of them as batches use, at most.
    """
    filled = next(w for w in WIDTHS if w >= count)
    return filled, lanes(max(w for w in widths() if w <= min(width(), filled))).stages_abreast()
