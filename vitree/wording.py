"""Texts that know which arguments they mention, so that a front end can write them in its own way.

The library writes ``dt=-1``, the command line ``--dt -1``; the sentence around them is the same.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

#: Characters that a terminal obeys, that turn the direction of a line, or that end one; not tab and newline.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return a text with control and bidirectional characters as escapes, such as ``\\x1b``; others stay.

    Names come from files, and a terminal or page that prints one must show it, not obey it.
    """
    if not has_unseen(text):
        return text
    return Text(*(_UNSEEN.sub(_escape, str(piece)) if has_unseen(piece) else piece for piece in pieces_of(text)))


def has_unseen(text: str) -> bool:
    """Say whether a text has control or bidirectional characters."""
    return _UNSEEN.search(text) is not None


def brief(text: Any, most: int = 200) -> str:
    """Return a text, name or path, cut if it is longer than ``most`` characters; a whole Text keeps its arguments."""
    text = text if isinstance(text, str) else text_of(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class Text(str):
    """A text, and the arguments that it mentions; ``+`` with a str keeps them, an f-string does not.

    Attributes
    ----------
    pieces : tuple of str
        What it is made of: arguments, and the words between them.
    """

    pieces: tuple[str, ...]

    def __new__(cls, *parts: str):
        pieces = tuple(piece for part in parts for piece in pieces_of(part))
        text = super().__new__(cls, "".join(pieces))
        text.pieces = pieces
        return text

    def __add__(self, other: str) -> Text:
        return Text(self, other)

    def __radd__(self, other: str) -> Text:
        return Text(other, self)

    def __reduce__(self):
        return Text, self.pieces


class Argument(str):
    """An argument in a text: ``dt=-1`` with its value, ``dt=`` as a keyword, or ``dt`` by its name alone.

    Parameters
    ----------
    name : str
    value : object
        What was given, or what to give.
    style : {"value", "keyword", "name"}
    of : str
        What takes it, where the name alone does not tell: "method" of the options of a method.
    """

    name: str
    value: Any
    style: Literal["value", "keyword", "name"]
    of: str

    def __new__(cls, name: str, value: Any = None, style: Literal["value", "keyword", "name"] = "value", of: str = ""):
        shown = {"value": f"{name}={_shown(value)}", "keyword": f"{name}=", "name": name}[style]
        argument = super().__new__(cls, shown)
        argument.name, argument.value, argument.style, argument.of = name, value, style, of
        return argument

    def __add__(self, other: str) -> Text:
        return Text(self, other)

    def __radd__(self, other: str) -> Text:
        return Text(other, self)

    def __reduce__(self):
        return _argument, (str(self), self.name, picklable(self.value), self.style, self.of)


def _argument(shown: str, *content: Any) -> Argument:
    """An argument as it was before it was pickled or copied."""
    argument = str.__new__(Argument, shown)
    argument.name, argument.value, argument.style, argument.of = content
    return argument


def picklable(value: Any) -> Any:
    """Return a value, or its repr if it cannot be pickled, such as a lambda."""
    try:
        pickle.dumps(value)
    except Exception:  # whatever the value's own methods raise
        return repr(value)
    return value


def text_of(value: Any, write: Callable[[Any], str] = str) -> str:
    """Return a value as a text, or the name of its type where its own methods raise."""
    try:
        return write(value)
    except Exception:  # whatever the value's own methods raise
        return a_kind(value)


def a_kind(value: Any) -> str:
    """Return the name of a value's type with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else text_of(value, repr)


def pieces_of(text: str) -> tuple[str, ...]:
    """Return the arguments that a text mentions, and the words between them."""
    return text.pieces if isinstance(text, Text) else (text,)


def arguments_of(text: str) -> list[Argument]:
    """Return the arguments that a text mentions."""
    return [piece for piece in pieces_of(text) if isinstance(piece, Argument)]


def keyword(name: str, of: str = "") -> Argument:
    """Return an argument in the style ``dt=``."""
    return Argument(name, style="keyword", of=of)


def named(name: str, value: Any = None) -> str:
    """Return an argument by its name alone; a description that is no name of an argument stays what it is."""
    if not isinstance(name, str):
        return _shown(name)
    return Argument(name, value, style="name") if name.isidentifier() else name


def joined(texts: Iterable[str], between: str) -> Text:
    """Return texts with words between them, like ``str.join``."""
    first, *others = texts
    return Text(first, *(part for text in others for part in (between, text)))


def parted(text: str, mark: str) -> tuple[str, str]:
    """Return what is before and behind a mark between the words of a text, like ``str.partition`` without the mark."""
    pieces = pieces_of(text)
    for k, piece in enumerate(pieces):
        if mark in piece and not isinstance(piece, Argument):
            before, _, behind = piece.partition(mark)
            return Text(*pieces[:k], before), Text(behind, *pieces[k + 1 :])
    return text, ""


def reworded(text: str, write: Callable[[Argument], str]) -> str:
    """Return a text with its arguments written by ``write``."""
    return "".join(write(piece) if isinstance(piece, Argument) else piece for piece in pieces_of(text))
