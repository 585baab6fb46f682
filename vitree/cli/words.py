"""Texts of the library in the words of the command line: ``dt=-1`` is ``--dt -1`` here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from vitree.errors import MissingExtraError, VitreeError
from vitree.model.system import METHODS_OF
from vitree.run.arguments import MEANT

#: Options of the command line by the arguments that they give, where the names differ.
_OTHERS = {"packages": "package", "monitors": "monitor", "inputs": "input", "coordinates": "coordinate",
           "scenes": "scene", "friction": "joint-friction", "limit_restitution": "limit-restitution",
           "velocity_limits": "velocity-limits",
           "record_every": "record-every", "max_halvings": "max-halvings",
           "max_impacts": "max-impacts"}  # fmt: skip
#: Arguments that have options of their own names.
_SAME = (
    "armature", "base", "mimic", "loops", "root", "inertia", "density", "xacro", "trust", "q0", "v0", "gravity",
    "duration", "solver", "order", "method", "methods", "dt", "accuracy", "reference", "repeats",
    "steps", "host", "port", "fps", "size", "speed", "spread", "lossy", "contacts", "limits", "seed", "backend",
    "workers", "folder", "engines", "mean",
)  # fmt: skip
#: What Typer says of a word that is no number, and what is said instead.
_NUMBERS = {
    "Input should be a valid number, unable to parse string as a number": "it must be a number, without a unit",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
}
_OPTIONS = {name: f"--{name}" for name in _SAME} | {name: f"--{option}" for name, option in _OTHERS.items()}
#: The call that brings a start together, which an option does here.
_FEASIBLE = re.compile(r"(?:model and q of )?(?:vt|vitree)\.feasible_start\(model, q0?\)")
#: An argument whose value is a mapping of one name, which an option takes as NAME=VALUE.
_OF_NAME = re.compile(r"""(?<![\w.])(xacro|packages)=\{"(\w+)": "([^"]*)"\}""")
#: An argument in a text: ``name=`` with a value, or without one.
_ARGUMENT = re.compile(
    r"""(?<![\w.:/"'-])(?<!--set )(?<!--option )(?<!--xacro )(?<!--package )"""
    r"""([a-z]\w*)=("[^"]*"|True|None|[-+]?\d[\d.e+-]*\b)?(?![\w/([]|\.\w)"""
)


def in_options(text: str, line: Sequence[str] = ()) -> str:
    """Return a text of the library with options in place of arguments of Python; ``line`` is as for option_of."""
    text = _FEASIBLE.sub("--q0 feasible", text)
    text = _OF_NAME.sub(lambda found: f"{_OPTIONS[found[1]]} {found[2]}={found[3]}", text)
    return _ARGUMENT.sub(lambda found: _written(found[0], option_of(found[1], line), found[2]), text)


def message_of(error: Exception, line: Sequence[str] = ()) -> str:
    """Return the text of an error in the words of the command line, with the name of the option that is wrong."""
    text = str(error.args[0]) if isinstance(error, VitreeError) and error.args else str(error)
    if not isinstance(error, VitreeError) or (option := option_of(error.argument, line)) is None:
        return in_options(text, line)
    if text.startswith((f"{error.argument} ", f"{error.argument}[")):
        return option + in_options(text.removeprefix(error.argument or ""), line)
    told = in_options(text, line)
    return told if option in told else f"{option}: {told}"


def usage_of(error: Any) -> str:
    """Return the text of an error of Typer in the use of a command, with the remedy where it can be told."""
    text: str = error.format_message()
    for what, needed in _NUMBERS.items():
        text = text.replace(what, needed)
    if text.startswith("Got unexpected extra argument"):
        text += "; several values of one option are separated by commas, as in --dt 0.002,0.001"
    if text.startswith("Missing argument 'RUN'"):
        text += " The quantity comes first, as in vitree plot energy run.npz"
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    ours, what = next(((each, hint) for other, (each, hint) in MEANT.items() if other == name), ("", ""))
    if (option := option_of(ours)) is not None:
        text = f"No such option: {error.option_name}; {option} is {what}"
    return text


@contextlib.contextmanager
def blaming(option: str) -> Iterator[None]:
    """Name an option in an error that does not know which option gave the wrong thing."""
    try:
        yield
    except VitreeError as error:
        if not isinstance(error, MissingExtraError):  # no other value of the option would help
            error.args = (f"{option}: {in_options(str(error))}",)
            error.argument = None
        raise


def option_of(argument: str | None, line: Sequence[str] = ()) -> str | None:
    """Return the option that gives an argument, such as "--dt" or "--option rtol="; None if there is none.

    ``line`` are the words of the command, in which "--set rtol=1" gives an argument, too.
    """
    for option, given in pairwise(line):
        if option in ("--set", "--option") and given.startswith(f"{argument}="):
            return f"{option} {argument}="
    return _OPTIONS.get(argument or "", f"--option {argument}=" if argument in _of_methods() else None)


@cache
def _of_methods() -> frozenset[str]:
    """Options of methods."""
    from vitree import vehicles  # noqa: F401 - which registers its methods

    return frozenset(name for methods in METHODS_OF.values() for method in methods.values() for name in method.options)


def _written(text: str, option: str | None, value: str | None) -> str:
    if option is None or (value == "True" and not option.endswith("=")):
        return option or text
    between = "" if option.endswith("=") else " "
    return option if value is None else option + between + value.strip('"')
