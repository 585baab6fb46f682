"""Xacro files to URDF text, expanded in a process of their own; see expander.py for its side."""

from __future__ import annotations

import base64
import contextlib
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from vitree.arguments import JsonObject, mapping
from vitree.errors import MissingExtraError, UnknownNameError, UrdfError
from vitree.urdf.paths import Packages, Places, Resolved
from vitree.urdf.xml import MAX_BYTES

#: The definition of a macro.
_MACRO = re.compile(rb"""<(?:xacro:)?macro\s[^>]*?\bname\s*=\s*["']([^"']+)""")
#: Limits of a file that is not trusted: time [s], memory [bytes], and files that it reads.
SECONDS, MEMORY, FILES = 30.0, 2**30, 1000
#: Longest line of the process [bytes].
LONGEST = 2**28
#: Variables that Python needs to start; the process deletes them before it reads the file.
_TO_START = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def is_xacro(source: str | bytes | os.PathLike[str]) -> bool:
    """Say whether a path ends in .xacro, or a text, which starts with "<", has an element of xacro."""
    text = source.encode("utf-8", "replace") if isinstance(source, str) else source
    if isinstance(text, bytes) and text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return b"<xacro:" in re.sub(rb"<!--.*?-->", b"", text, flags=re.DOTALL)
    return os.fsdecode(source).lower().endswith(".xacro")


def expand_xacro(
    path: str | os.PathLike[str],
    *,
    packages: Packages | None = None,
    arguments: Mapping[str, object] | None = None,
    notes: list[str] | None = None,
    trust: bool = False,
) -> str:
    """Expand a xacro file and return its URDF text.

    A xacro file is a program. It runs in a process of its own, with limits of time and memory. Unless it is trusted, it
    computes with numbers, texts, lists and listed functions only, and reads only files that meshes may be in
    (:class:`vitree.urdf.paths.Places`).

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
    trust : bool
        Run the file as ROS does: any Python expression, any file, the environment, no limits. Such a file can do
        whatever you can.

    Returns
    -------
    str
        Paths of meshes with package:// stay as they are.

    Raises
    ------
    MissingExtraError
        If the package xacrodoc is not installed.
    UrdfError
        If the file cannot be read or expanded, or does what only a trusted one may; the text names file, macro and
        problem.
    UnknownNameError
        If the file has none of the ``arguments``.

    Notes
    -----
    The file is expanded once, as in ROS: "$${x}" becomes "${x}". (xacrodoc.XacroDoc repeats until
    nothing changes, and takes relative includes from the working directory.)
    """
    if not os.path.isfile(path):
        raise UrdfError(f"{Path(path).name}: there is no such file ({path}); check the path")
    arguments = mapping(arguments, "xacro", "a mapping of names of arguments to values")
    text, said, asked = expand(path, Places(path, packages), arguments, trust)
    for name in arguments:
        if name not in asked:
            kind = f"xacro argument of {Path(path).name} called"
            raise UnknownNameError(kind, name, sorted(asked), argument="xacro")
    if notes is not None:
        notes += said
    return text


def expand(
    path: str | os.PathLike[str], places: Places, arguments: Mapping[str, object], trust: bool = False
) -> tuple[str, list[str], set[str]]:
    """Return the text, the warnings of xacro, and the names of the arguments that the file uses."""
    path = Path(os.path.abspath(path))
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}
    job = {
        "path": str(path), "arguments": given, "trust": bool(trust), "modules": _modules(path), "seconds": SECONDS,
        "memory": MEMORY,
    }  # fmt: skip
    done = _converse(path, job, _Server(path, places))
    if "failed" in done:
        raise _failure(path, done)
    return str(done["text"]), [str(line) for line in done["warnings"]], {str(name) for name in done["asked"]}


def _modules(path: Path) -> list[str]:
    """Return the folders from which the process imports xacro."""
    specs = [importlib.util.find_spec(name) for name in ("xacro", "yaml", "xacrodoc")]
    if None in specs:
        raise MissingExtraError("xacrodoc", "xacro", f"reading {path.name}")
    return list(dict.fromkeys(str(Path(str(spec.origin)).parents[1]) for spec in specs if spec is not None))


class _Server:
    """Answers the process: it opens no file itself."""

    def __init__(self, path: Path, places: Places):
        self.path, self.places = path, places
        self.packages: dict[str, Path] = {}
        self.left = FILES

    def answer(self, question: Mapping[str, object]) -> dict[str, object]:
        """Return the answer to a question."""
        ((kind, what),) = question.items()
        try:
            return {"find": self._find, "read": self._read, "glob": self._glob}[kind](str(what))
        except OSError as error:
            return {"error": [error.errno, error.strerror or str(error), error.filename]}
        except ValueError:  # a name that no file can have
            return {"refused": f"the name {what!r:.100}"}

    def _find(self, name: str) -> dict[str, object]:
        folder = next(iter(self.places.packages(name)), None)
        if folder is not None:
            self.packages[name] = Path(os.path.abspath(folder))
        return {"answer": None if folder is None else str(folder)}

    def _read(self, path: str) -> dict[str, object]:
        file, problem = self._allowed(path)
        if problem is not None:
            return {"refused": f'the file "{path}", which {problem}'}
        self.left -= 1
        if self.left < 0:
            return {"refused": f"more than {FILES} files"}
        with open(file, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return {"refused": f'the file "{path}", which is larger than {MAX_BYTES} bytes'}
        return {"answer": base64.b64encode(data).decode()}

    def _glob(self, pattern: str) -> dict[str, object]:
        if glob.has_magic(os.path.dirname(pattern)):
            return {"refused": f'the pattern "{pattern}", which has folders in it'}
        return {"answer": [path for path in glob.glob(pattern) if self._allowed(path).problem is None]}

    def _allowed(self, path: str) -> Resolved:
        """Return the file of a path, or why it may not be read; a file that is not there may be."""
        if path == str(self.path) or not os.path.lexists(path):
            return Resolved(path)
        if not os.path.isfile(path):
            return Resolved(path, "is no file")
        found = self.places.resolve(path)
        for name, folder in self.packages.items():
            if found.problem is not None and Path(path).is_relative_to(folder):
                found = self.places.resolve(f"package://{name}/{os.path.relpath(path, folder)}")
        return found


def _converse(path: Path, job: Mapping[str, object], server: _Server) -> JsonObject:
    """Run the process and return its result."""
    program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("expander.py"))]
    few = {name: os.environ[name] for name in _TO_START if name in os.environ}
    late = threading.Event()
    if not sys.executable or getattr(sys, "frozen", False):
        raise _no_process(path, "this program is not Python's own")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        folder, environment = (None, None) if job["trust"] else (empty, few)
        try:
            process = subprocess.Popen(
                program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
                env=environment,
            )  # fmt: skip
        except OSError as error:
            raise _no_process(path, error.strerror or str(error)) from None

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(SECONDS, stop)
        if not job["trust"]:
            timer.start()
        done: object = None
        try:
            # the process has ended, or writes nonsense
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
                assert process.stdin is not None and process.stdout is not None
                answer: Mapping[str, object] = job
                while done is None:
                    process.stdin.write(json.dumps(answer).encode() + b"\n")
                    process.stdin.flush()
                    message = json.loads(process.stdout.readline(LONGEST))
                    done = message.get("done")
                    answer = {} if done else server.answer(message)
        finally:
            timer.cancel()
            process.kill()
            process.communicate()
    if isinstance(done, dict):
        return done
    if late.is_set():
        return {"failed": "refused", "text": f"more than {SECONDS:g} s", "suffix": "", "at": []}
    return {"failed": "memory", "text": "", "suffix": "", "at": []}


def macros_of(path: Path) -> list[str]:
    """Return the names of the macros that a file defines itself, in its order."""
    try:
        found = _MACRO.findall(path.read_bytes())
    except OSError:
        return []
    return list(dict.fromkeys(name.decode("utf-8", "replace") for name in found))


def _no_process(path: Path, why: str) -> UrdfError:
    return UrdfError(f"{path.name}: xacro: no process can be started for it ({why}); give its URDF")


def _failure(path: Path, done: JsonObject) -> UrdfError:
    """Return the error of a file that cannot be expanded, with the place and the reason."""
    kind, text, suffix = done["failed"], str(done["text"]), str(done["suffix"])
    trust = "trust=True"
    told: str
    if kind == "package":
        told = f'no package "{text}" is found; name its folder by packages='
    elif kind == "argument":
        told = f'its argument "{text}" has no value and no default; give it one, as in xacro={{"{text}": "..."}}'
    elif kind == "memory":
        told = f"it takes more than {MEMORY >> 20} MB, or its process died; if you know who wrote it, "
        told = told + trust + " lifts the limits"
    elif kind == "refused":
        told = f"{text} {suffix}".strip() + "; only a trusted file may have this: if you know who wrote it, give "
        told = told + trust + " (it can then do all that you can)"
    else:
        told = f"{text} {suffix}".strip()
    place = f" (in {', '.join(map(str, done['at']))})" if done["at"] else ""
    return UrdfError(f"{path.name}: xacro: " + (" ".join(told.split()) if type(told) is str else told) + f"{place}")
