"""Values and names in texts."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable

#: Characters that a terminal obeys, that turn the direction of a line, or that end one; not tab and newline.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return a text with control and bidirectional characters as escapes, such as ``\\x1b``; others stay.

    Names come from files, and a terminal or page that prints one must show it, not obey it.
    """
    return _UNSEEN.sub(_escape, text)


def has_unseen(text: str) -> bool:
    """Say whether a text has control or bidirectional characters."""
    return _UNSEEN.search(text) is not None


def brief(text: object, most: int = 200) -> str:
    """Return a text, name or path, cut if it is longer than ``most`` characters."""
    text = text if isinstance(text, str) else text_of(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def picklable(value: object) -> object:
    """Return a value, or its repr if it cannot be pickled, such as a lambda."""
    try:
        pickle.dumps(value)
    except Exception:  # whatever the value's own methods raise
        return repr(value)
    return value


def text_of(value: object, write: Callable[..., str] = str) -> str:
    """Return a value as a text, or the name of its type where its own methods raise."""
    try:
        return write(value)
    except Exception:  # whatever the value's own methods raise
        return a_kind(value)


def a_kind(value: object) -> str:
    """Return the name of a value's type with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def quoted(value: object) -> str:
    """Return a value as one writes it in Python, texts in double quotes."""
    return f'"{value}"' if isinstance(value, str) else text_of(value, repr)
