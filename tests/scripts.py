"""Scripts of examples, run in the process of the tests."""

from __future__ import annotations

import pathlib
import runpy
import sys


def run_here(monkeypatch, script: pathlib.Path, arguments, folders=()) -> None:
    """Run a script with modules of its folder and others, whose names others have, too, imported for it alone."""
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    own = {found.stem for folder in (script.parent, *folders) for found in folder.glob("*.py")}
    for name in own & set(sys.modules):
        monkeypatch.delitem(sys.modules, name)
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        for name in own & set(sys.modules):
            del sys.modules[name]
