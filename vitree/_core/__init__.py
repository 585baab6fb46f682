"""The compiled core, and the choice of the number of lanes on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import cache

from vitree.errors import InputError

if not all(
    any(importlib.util.find_spec(f"{__name__}.{name}") for name in names)
    for names in (("_cpu",), ("_maps",), ("_x1", "_x1_avx2", "_x1_avx512"))
):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    raise ImportError(
        f"the folder {root} holds vitree's source without its compiled core for Python "
        f"{sys.version_info.major}.{sys.version_info.minor}: run pip install -e . in that folder, "
        "or start Python in another folder to import the vitree that is installed"
    )

from vitree._core import _cpu

WIDTHS = (1, 2, 4, 8)
#: One lane, compiled for the registers of CPUs that support so many lanes
ONE_LANE = {8: "_x1_avx512", 4: "_x1_avx2", 1: "_x1"}


def built(name: str) -> bool:
    """Return whether a module of the core was built."""
    return importlib.util.find_spec(f"{__name__}.{name}") is not None


def widths() -> list[int]:
    """Return the numbers of lanes that were built and that this CPU supports, which include one."""
    return [w for w in WIDTHS if w == 1 or (_cpu.runs(w) and built(f"_x{w}"))]


def one_lane() -> str:
    """Return the name of the module of one lane for the registers of this CPU.

    Raises an ImportError if the core was built for other CPUs only.
    """
    for w, name in ONE_LANE.items():
        if _cpu.runs(w) and built(name):
            return name
    known = " and ".join(name.removeprefix("_x1_") for name in ONE_LANE.values() if built(name))
    raise ImportError(
        f"the compiled core in {os.path.dirname(os.path.abspath(__file__))} needs a CPU with {known}, and this CPU has "
        "none: compile vitree on this machine, or with VITREE_WIDTHS=all in the environment, for all CPUs"
    )


one_lane()


@cache
def width() -> int:
    """Return the number of lanes used for batches: the largest that was built and that this CPU supports.

    The environment variable VITREE_WIDTH (1, 2, 4 or 8) overrides it. Results do not depend on it.

    Raises
    ------
    InputError
        If VITREE_WIDTH is not a width that was built and that this machine supports.
    """
    usable = widths()
    wanted = os.environ.get("VITREE_WIDTH")
    if wanted is None:
        return usable[-1]
    if wanted not in map(str, usable):
        raise InputError(f"VITREE_WIDTH={wanted}: this machine runs widths {', '.join(map(str, usable))}")
    return int(wanted)


def lanes(w: int):
    """Return the compiled module of width ``w``: of one lane the platform's baseline, if that was built."""
    name = f"_x{w}"
    return importlib.import_module(f"{__name__}.{name if w > 1 or built(name) else one_lane()}")


@cache
def wide():
    """Return the compiled module for batches."""
    return lanes(width())


@cache
def scalar():
    """Return the compiled module of one lane, in the build for the registers of this CPU.

    Another module, of at most as many lanes as batches use, computes some of a state's bodies in lanes: four are
    fastest, beyond that memory is the limit. All choices give the same bits.
    """
    module = importlib.import_module(f"{__name__}.{one_lane()}")
    helps = max(w for w in widths() if w <= min(width(), 4))
    module.take_bodies_of(lanes(helps).bodies_in_lanes() if helps > 1 else 0)
    return module


@cache
def maps():
    """Return the compiled module of maps of the whole body, in the build for the registers of this CPU."""
    return importlib.import_module(f"{__name__}.{'_maps_avx2' if _cpu.runs(4) and built('_maps_avx2') else '_maps'}")


def stages(count: int) -> tuple[int, int]:
    """Return the number of lanes that the stages of a step fill, and the kernels for them of a compiled module.

    The number is 4 or 8 on every machine, since results depend on it. The module has at most as many lanes as batches
    use; results do not depend on it.
    """
    filled = 4 if count <= 4 else 8
    return filled, lanes(max(w for w in widths() if w <= min(width(), filled))).stages_in_lanes()
