"""Texts of the library in the words of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from vitree.errors import MissingExtraError, VitreeError
from vitree.wording import Argument, pieces_of, reworded

#: Options of the command line by the arguments that they give, where the names differ.
_OTHERS = {"packages": "package", "monitors": "monitor", "inputs": "input", "coordinates": "coordinate",
           "scenes": "scene", "friction": "joint-friction", "limit_restitution": "limit-restitution"}  # fmt: skip
#: Arguments that have options of their own names.
_SAME = (
    "base", "mimic", "loops", "root", "inertia", "density", "xacro", "trust", "q0", "v0", "gravity", "duration",
    "solver", "order", "every", "method", "methods", "dt", "accuracy", "halvings", "events", "reference", "repeats",
    "steps", "host", "port", "fps", "size", "speed", "spread", "lossy", "contacts", "limits", "seed", "backend",
    "workers", "folder", "engines", "mean",
)  # fmt: skip
_OPTIONS = {name: f"--{name}" for name in _SAME} | {name: f"--{option}" for name, option in _OTHERS.items()}
#: Options of methods that have an option of their own.
_OWN = ("solver", "order", "halvings", "events")


def in_options(text: str) -> str:
    """Return a text of the library with options in place of arguments of Python."""
    return reworded(text, _written)


def message_of(error: Exception) -> str:
    """Return the text of an error in the words of the command line, with the name of the option that is wrong."""
    if not isinstance(error, VitreeError):
        return str(error)
    text, about = error.args[0] if error.args else "", error.about
    mentioned = {piece.name for piece in pieces_of(text) if isinstance(piece, Argument)}
    if about is None or about.name in mentioned or (option := option_of(about)) is None:
        return in_options(text)
    return f"{option}: {in_options(text)}"


@contextlib.contextmanager
def blaming(option: str) -> Iterator[None]:
    """Name an option in an error that does not know which option gave the wrong thing."""
    try:
        yield
    except VitreeError as error:
        if not isinstance(error, MissingExtraError):  # no other value of the option would help
            error.args = (f"{option}: " + error.args[0],)
        raise


def option_of(argument: Argument) -> str | None:
    """Return the option that gives an argument, such as "--dt" or "--option rtol="; None if there is none."""
    if argument.of == "method" and argument.name not in _OWN:
        return f"--option {argument.name}="
    return f"--set {argument.name}=" if argument.of == "sweep" else _OPTIONS.get(argument.name)


def _written(argument: Argument) -> str:
    option = option_of(argument)
    if option is None or (argument.style == "value" and argument.value is True):
        return option or argument
    if argument.style != "value":
        return option
    return f"{option}{'' if option.endswith('=') else ' '}{argument.value}"
