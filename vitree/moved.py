"""Names that modules had in vitree 0.1.0, for pickles of then, and imports that its manual shows."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Module of 0.1.0 -> where its content is now. What has become a package of the same name is not here.
MOVED = {
    "compare": ("run.comparison", "results.series"),
    "constraints": ("mechanism.constraints",),
    "drawing": ("results.drawing", "results.film", "results.filming"),
    "export": ("results.export", "results.units", "results.mcap", "run.convert"),
    "flat": ("mechanism.flat",),
    "frame_derivatives": ("model.derivatives",),
    "loads": ("mechanism.loads",),
    "monitors": ("run.monitors",),
    "pairs": ("tree.pairs",),
    "reduced": ("model.reduced",),
    "robots": ("urdf.robots",),
    "sexpr": ("tree.sexpr",),
    "system": ("model.system",),
    "trajectory": ("run.trajectory", "results.recording"),
    "vehicles.nonholonomic": ("vehicles.rolling",),
    "bench": ("run.bench",),
}


class _Before(ModuleType):
    """A module of 0.1.0."""

    def __init__(self, name: str, now: tuple[str, ...]):
        super().__init__(f"vitree.{name}", f"What vitree 0.1.0 called vitree.{now[0]}.")
        self.__spec__ = ModuleSpec(f"vitree.{name}", None)
        self._now = now

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for module in self._now:
                found = getattr(importlib.import_module(f"vitree.{module}"), name, None)
                if found is not None:
                    return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def know_old_names() -> None:
    """Let imports find the modules of 0.1.0."""
    for name, now in MOVED.items():
        sys.modules.setdefault(f"vitree.{name}", _Before(name, now))
