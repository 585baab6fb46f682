"""Kinds of files by their first bytes, so that none of another kind is replaced unasked."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

#: Bytes of a file that are looked at.
LOOKED_AT = 4096


def is_of_kind(path: Path, ending: str) -> bool:
    """Return whether a file that is there has the content that its ending promises, as we write it.

    True of an empty file, of what is no regular file, and of endings without a known content.
    """
    known = _KINDS.get(ending.lower())
    if known is None or not path.is_file():
        return True
    try:
        with open(path, "rb") as stream:
            start = stream.read(LOOKED_AT)
    except OSError:
        return True  # the error of writing says more
    return not start or known(start, path)


def _begins(*starts: bytes) -> Callable[[bytes, Path], bool]:
    return lambda start, path: start.startswith(starts)


def _matches(pattern: bytes) -> Callable[[bytes, Path], bool]:
    found = re.compile(pattern, re.IGNORECASE | re.DOTALL)
    return lambda start, path: found.search(start) is not None


def _is_run(start: bytes, path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "t.npy" in archive.namelist()  # a run has it, and so have its plain arrays
    except (OSError, zipfile.BadZipFile):
        return False


def _is_text(start: bytes, path: Path) -> bool:
    """Whether it is text, and the first line has more than one column."""
    try:
        text = start.decode("utf-8", "strict" if len(start) < LOOKED_AT else "ignore")
    except UnicodeDecodeError:
        return False
    return "\0" not in text and "," in text.lstrip().partition("\n")[0]


_KINDS: dict[str, Callable[[bytes, Path], bool]] = {
    ".npz": _is_run,
    ".csv": _is_text,
    ".json": _matches(rb"\A\s*[\[{]"),
    ".tex": _matches(rb"\\begin\{tabular\}"),
    ".parquet": _begins(b"PAR1"),
    ".nc": _begins(b"CDF", b"\x89HDF"),
    ".mcap": _begins(b"\x89MCAP"),
    ".png": _begins(b"\x89PNG"),
    ".pdf": _begins(b"%PDF"),
    ".svg": _matches(rb"<svg"),
    ".html": _matches(rb"<!doctype html|<html"),
    ".htm": _matches(rb"<!doctype html|<html"),
    ".mp4": _matches(rb"\A.{4}ftyp"),
    ".urdf": _matches(rb"<robot"),
    ".sexpr": _matches(rb"\(\s*(mechanical-)?system"),
}
