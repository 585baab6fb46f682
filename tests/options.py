"""Options of functions, and the test files that give them."""

from __future__ import annotations

import inspect
import re

from places import TESTS


def parameters(function):
    """The names of what a function takes, without what it acts on."""
    return [name for name, each in inspect.signature(function).parameters.items()
            if name not in ("self", "source", "model") and each.kind is not each.VAR_KEYWORD]  # fmt: skip


def gives(file, name):
    """Whether a test file gives an option: by its keyword, or by an entry of a table."""
    return re.search(rf"\b{name}\s*=(?!=)|\"{name}\"", (TESTS / file).read_text()) is not None
