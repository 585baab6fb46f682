"""Xacro files to URDF text."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import threading
import types
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.dom import minidom
from xml.parsers import expat

from vitree.errors import MissingExtraError, UnknownNameError, UrdfError
from vitree.urdf.paths import Packages, Places
from vitree.wording import Argument

_lock = threading.Lock()


def is_xacro(source: str | bytes | os.PathLike) -> bool:
    """Say whether a path ends in .xacro, or a text, which starts with "<", has an element of xacro."""
    text = source.encode("utf-8", "replace") if isinstance(source, str) else source
    if isinstance(text, bytes) and text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return b"<xacro:" in re.sub(rb"<!--.*?-->", b"", text, flags=re.DOTALL)
    return os.fsdecode(source).lower().endswith(".xacro")


def expand_xacro(
    path: str | os.PathLike,
    *,
    packages: Packages | None = None,
    arguments: Mapping[str, object] | None = None,
    notes: list[str] | None = None,
) -> str:
    """Expand a xacro file and return its URDF text.

    A xacro file is a program: it evaluates Python expressions, reads any file that it names, and
    may take any time and memory. Expand only files that you trust.

    Parameters
    ----------
    path : path
        The xacro file. Includes are relative to the file that has them.
    packages : mapping, or paths, optional
        Where $(find name) looks first; see :class:`vitree.urdf.paths.Places`.
    arguments : mapping, optional
        Values of the file's <xacro:arg>, by name; True and False become "true" and "false".
    notes : list of str, optional
        Takes the warnings of xacro.

    Returns
    -------
    str
        Paths of meshes with package:// stay as they are.

    Raises
    ------
    MissingExtraError
        If the package xacrodoc is not installed.
    UrdfError
        If the file cannot be read or expanded; the text names file, macro and problem.
    UnknownNameError
        If the file has none of the ``arguments``.

    Notes
    -----
    The file is expanded once, as in ROS: "$${x}" becomes "${x}". (xacrodoc.XacroDoc repeats until
    nothing changes, and takes relative includes from the working directory.)
    """
    if not os.path.isfile(path):
        raise UrdfError(f"{Path(path).name}: there is no such file ({path}); check the path")
    text, said, asked = expand(path, Places(path, packages), arguments or {})
    for name in arguments or {}:
        if name not in asked:
            about = Argument("xacro", arguments, style="name")
            raise UnknownNameError(f"xacro argument of {Path(path).name} called", name, sorted(asked), about=about)
    if notes is not None:
        notes += said
    return text


def expand(path: str | os.PathLike, places: Places, arguments: Mapping[str, object]) -> tuple[str, list[str], set[str]]:
    """Return the text, the warnings of xacro, and the names of the arguments that the file uses."""
    path = Path(os.path.abspath(path))
    with _lock:
        xacro, find = _import(path)
    given = _Arguments(
        {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}
    )
    said = io.StringIO()
    # the global state of xacro is replaced, and its files are opened as bytes in any locale
    changes = [
        (find, "_finder", _Finder(find, places)),
        (minidom.Element, "writexml", xacro.xmlutils.fixed_writexml),
        (xacro, "open", functools.partial(open, mode="rb")),
        (xacro, "filestack", [str(path)]),
        (xacro, "macrostack", []),
        (xacro, "all_includes", []),
        (xacro, "substitution_args_context", {}),
        *((module, "sys", types.SimpleNamespace(stderr=said)) for module in (xacro, xacro.color)),
    ]
    with _lock, _replaced(changes), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Python about expressions in the file
        try:
            document = xacro.parse(None, str(path))
            xacro.process_doc(document, mappings=given)
            text = document.toprettyxml(indent="  ")
        except Exception as error:
            raise _failure(path, xacro, error) from None
    warned = re.findall(r"^warning: (.*)", said.getvalue(), re.MULTILINE)
    return text, warned, given.asked


def _import(path: Path) -> tuple[Any, Any]:
    """Return the modules xacro and xacrodoc.packages."""
    try:
        with _replaced([(minidom.Element, "writexml", minidom.Element.writexml)]):  # the import changes it
            import xacro
            from xacrodoc import packages
    except ImportError:
        raise MissingExtraError("xacrodoc", "xacro", f"reading {path.name}") from None
    return xacro, packages


class _Arguments(dict):
    """Arguments that remember which of them the file has used."""

    def __init__(self, values):
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, name):
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)


class _Finder:
    """Finds packages for xacrodoc."""

    def __init__(self, find, places: Places):
        self.find, self.places = find, places

    def get_path(self, name: str) -> str:
        for folder in self.places.packages(name):
            return str(folder)
        raise self.find.PackageNotFoundError(name)


@contextlib.contextmanager
def _replaced(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Replace attributes for a while."""
    before = [(owner, name, vars(owner).get(name, changes)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            delattr(owner, name) if value is changes else setattr(owner, name, value)


def _failure(path: Path, xacro, error: Exception) -> UrdfError:
    """Return the error of a file that cannot be expanded, with the place and the reason."""
    suffixes = []
    cause: BaseException = error
    while isinstance(cause, xacro.XacroException) and cause.exc is not None:
        suffixes.append(cause.suffix or "")
        cause = cause.exc
    kind = type(cause).__name__
    if isinstance(cause, RecursionError):
        text = "a macro or an include that has itself inside, without end"
    elif kind == "ArgException":
        text = f'its argument "{cause}" has no value and no default; give it one'
    elif kind == "PackageNotFoundError":
        text = f'no package "{cause.args[0]}" is found; name its folder by packages='
    elif isinstance(cause, expat.ExpatError):
        text = f"it is not XML: {cause}"
    elif isinstance(cause, OSError):
        text = f"{cause.strerror or cause}: {cause.filename}"
    else:
        text = " ".join(f"{cause or kind} {' '.join(suffixes)}".split())
    at = [f'macro "{macro.body.getAttribute("name")}"' for macro in xacro.macrostack[-1:]]
    at += [Path(file).name for file in xacro.filestack[-1:] if file != str(path)]
    return UrdfError(f"{path.name}: xacro: {text}" + (f" (in {', '.join(at)})" if at else ""))
