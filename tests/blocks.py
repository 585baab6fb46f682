"""The Python of pages."""

from __future__ import annotations

import pathlib
import re


def python_blocks(page: pathlib.Path) -> list[str]:
    """The Python of a page, block by block."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def run_block(page: pathlib.Path, block: str) -> None:
    exec(compile(block, page.name, "exec"), {"__name__": page.stem})
