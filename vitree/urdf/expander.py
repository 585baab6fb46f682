"""The program that expands one xacro file, in a process of its own; :mod:`vitree.urdf.xacro` starts it.

It takes a job on stdin and asks on stdout for packages and files, a line of JSON each. It imports nothing of vitree.
For a file that is not trusted it gives up, once all is imported, the right to open files and sockets, to write and to
start programs, where the system has such limits; expressions are those of expressions.py.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import io
import json
import os
import re
import runpy
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn
from xml.dom import expatbuilder
from xml.parsers import expat

_names = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expressions.py"))
Refused, Function, evaluate, checked = (_names[name] for name in ("Refused", "Function", "evaluate", "checked"))


class PackageNotFound(Exception):
    """No package has the name."""


class Arguments(dict[str, object]):
    """Arguments that remember which of them the file has used."""

    def __init__(self, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> object:
        self.asked.add(name)
        return super().__getitem__(name)


class Builder(expatbuilder.ExpatBuilderNS):
    """A reader of XML without entities."""

    def start_doctype_decl_handler(self, *_: object) -> NoReturn:
        """Refuse a <!DOCTYPE>."""
        raise Refused("a <!DOCTYPE>")


def tell(message: Mapping[str, object]) -> None:
    """Write a line for the program that started this one."""
    assert sys.__stdout__ is not None
    sys.__stdout__.buffer.write(json.dumps(message).encode() + b"\n")
    sys.__stdout__.buffer.flush()


def hear() -> dict[str, Any]:
    """Read a line of the program that started this one."""
    assert sys.__stdin__ is not None
    lines: Any = sys.__stdin__.buffer
    heard: dict[str, Any] = json.loads(lines.readline())
    return heard


def ask(**question: str) -> Any:
    """Return the answer of the program that started this one."""
    tell(question)
    answer = hear()
    if "refused" in answer:
        raise Refused(answer["refused"])
    if "error" in answer:
        raise OSError(*answer["error"])
    return answer.get("answer")


def find(name: str) -> str:
    """Return the folder of a package."""
    folder: str | None = ask(find=name)
    if folder is None:
        raise PackageNotFound(name)
    return folder


def read(path: str) -> io.BytesIO:
    """Open a file that the other program has read."""
    return io.BytesIO(base64.b64decode(ask(read=os.path.normpath(path))))


def guard(xacro: Any, unread: dict[tuple[str, str], None]) -> None:
    """Take from xacro all that a stranger's file must not have.

    ``unread`` takes the variables of the environment that have a default in the file, and these defaults.
    """
    from xacro import substitution_args

    def refuse(text: str) -> NoReturn:
        raise Refused(text)

    def tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> object:
        if set(sep) & set("\\]^-"):
            refuse("tokenize() with a pattern")
        return own["tokenize"](text, sep, skip_empty)

    def eval_text(text: str, symbols: object, usual: Callable[..., object] = xacro.eval_text) -> object:
        value = usual(text, symbols)
        if isinstance(value, str):
            checked(value)
        return value

    def parse(inp: object, filename: str) -> object:
        try:
            data = read(filename).getvalue()
        except OSError as error:
            xacro.filestack.pop()
            raise xacro.XacroException(f"{error.strerror}: {error.filename}", exc=error) from None
        return Builder().parseString(data)

    def eval_extension(text: str, usual: Callable[[str], object] = xacro.eval_extension) -> object:
        return refuse("$(cwd)") if text == "$(cwd)" else usual(text)

    def eval_eval(text: str, context: Mapping[str, Mapping[str, object]]) -> str:
        given = {name: substitution_args.convert_value(value, "auto") for name, value in context["arg"].items()}
        some = ("list", "dict", "str", "float", "int", "True", "False")
        functions = {name: _names["BUILTINS"][name] for name in some} | _names["MATH"]
        functions |= {"true": True, "false": False, "find": Function(find)}
        functions["arg"] = Function(lambda name: substitution_args.convert_value(context["arg"][name], "auto"))
        return str(evaluate(text, given | functions))

    def optional(name: str, default: str = "") -> str:
        unread[name, default] = None
        return default

    def space(**content: object) -> object:
        made = xacro.NameSpace()
        made.update(content)
        return made

    own = dict(xacro._global_symbols["xacro"])
    own["load_yaml"] = lambda name: checked(xacro.load_yaml(name))
    words = ("load_yaml", "abs_filename", "dotify", "arg", "message", "warning", "error", "print_location", "fatal")
    own_functions = {name: Function(own[name]) for name in words} | {"tokenize": Function(tokenize)}
    xacro._global_symbols = {
        **_names["MATH"], **_names["BUILTINS"], **{name: own_functions[name] for name in words[:3]},
        "math": space(**_names["MATH"]), "python": space(**_names["BUILTINS"]), "xacro": space(**own_functions),
    }  # fmt: skip
    xacro.safe_eval = lambda text, symbols, _=None: evaluate(text, symbols)
    xacro.eval_text, xacro.eval_extension, xacro.parse, xacro.open = eval_text, eval_extension, parse, read
    xacro.glob = types.SimpleNamespace(glob=lambda pattern: ask(glob=pattern))
    substitution_args._eval = eval_eval
    substitution_args._eval_env = lambda name: refuse(f"the environment variable {name}")
    substitution_args._eval_optenv = optional
    os.environ.clear()


def give_up(seconds: float, memory: int) -> None:
    """Set the limits of this process, and give up files, sockets and other programs, where the system can."""
    for name in ("ascii", "latin-1", "utf-16", "utf-32", "cp1252", "iso8859-15"):  # codecs are modules
        codecs.lookup(name)
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"CPU": int(seconds) + 1, "AS": memory, "CORE": 0, "FSIZE": 0, "NPROC": 0, "NOFILE": 0}
    for name, limit in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))


def failure(xacro: ModuleType, path: str, error: BaseException) -> dict[str, object]:
    """Return the place and the reason of a failure."""
    suffixes = []
    cause: BaseException = error
    while isinstance(cause, xacro.XacroException) and cause.exc is not None:
        suffixes.append(cause.suffix or "")
        cause = cause.exc
    kind = {
        "PackageNotFound": "package", "ArgException": "argument", "Refused": "refused", "MemoryError": "memory",
    }.get(type(cause).__name__, "other")  # fmt: skip
    suffix = " ".join(" ".join(suffixes).split())
    if isinstance(cause, RecursionError):
        text, suffix = "a macro or an include that has itself inside, without end", ""
    elif isinstance(cause, expat.ExpatError):
        text, suffix = f"it is not XML: {cause}", ""
    elif isinstance(cause, OSError):
        text, suffix = f"{cause.strerror or cause}: {cause.filename}", ""
    else:
        text = str(cause) or type(cause).__name__
    at = [f'macro "{macro.body.getAttribute("name")}"' for macro in xacro.macrostack[-1:]]
    at += [os.path.basename(file) for file in xacro.filestack[-1:] if file != path]
    return {"failed": kind, "text": text, "suffix": suffix, "at": at}


def main() -> None:
    """Expand the file of a job."""
    job = hear()
    sys.path[:0] = job["modules"]
    said = sys.stdout = sys.stderr = io.StringIO()
    warnings.simplefilter("ignore")  # those of Python about expressions in the file
    import xacro
    from xacro import substitution_args  # which imports yaml, as xacro itself does later

    path = job["path"]
    substitution_args._eval_find = substitution_args._eval_dict["find"] = find
    xacro.open = lambda name: open(name, "rb")  # in any locale
    xacro.init_stacks(path)
    given, unread = Arguments(job["arguments"]), dict[tuple[str, str], None]()
    if not job["trust"]:
        guard(xacro, unread)
        give_up(job["seconds"], job["memory"])
    try:
        document = xacro.parse(None, path)
        xacro.process_doc(document, mappings=given)
        text = document.toprettyxml(indent="  ")
        told = re.findall(r"^warning: (.*)", said.getvalue(), re.MULTILINE)
        told += [
            f'the environment is not read, which trust=True does; $(optenv {name}) is "{usual}"'
            for name, usual in unread
        ]
        result = {"text": text, "warnings": told, "asked": sorted(given.asked)}
    except Exception as error:
        result = failure(xacro, path, error)
    tell({"done": result})


if __name__ == "__main__":
    main()
