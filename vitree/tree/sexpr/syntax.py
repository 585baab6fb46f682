"""From text to nodes: numbers, texts, symbols and lists that know their line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vitree.errors import ModelError

_TOKEN = re.compile(r'\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|"(?P<text>[^"]*)"|(?P<word>[^\s()";]+)')


class SexprError(ModelError):
    """An s-expression cannot be read; the text names file, line and column."""


@dataclass(frozen=True)
class Node:
    """A number, text, symbol or list, and where it stands."""

    value: Any
    line: int
    column: int

    @property
    def is_text(self) -> bool:
        """Whether it is a quoted text."""
        return isinstance(self.value, Text)

    @property
    def is_symbol(self) -> bool:
        """Whether it is a word that is neither a number nor quoted."""
        return isinstance(self.value, str) and not self.is_text

    @property
    def is_list(self) -> bool:
        """Whether it is an expression in parentheses."""
        return isinstance(self.value, list)

    @property
    def head(self) -> str:
        """The symbol at the head of a list, in lower case; empty if there is none."""
        return self.value[0].value if self.is_list and self.value and self.value[0].is_symbol else ""


class Text(str):
    """A quoted text, as opposed to a symbol."""


class Source:
    """A text and the name of its file."""

    def __init__(self, text: str, source: str):
        self.text, self.source = text, source

    def error(self, node: Node, text: str) -> SexprError:
        """Return an error at the place of a node."""
        return SexprError(f"{self.source}:{node.line}:{node.column}: {text}")

    def _tokens(self) -> Iterator[tuple[str, str, Node]]:
        at, line, start = 0, 1, 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            place = Node(None, line, at - start + 1)
            if match is None:
                raise self.error(place, 'this text has no closing "')
            at = match.end()
            breaks = match[0].count("\n")
            if breaks:
                line, start = line + breaks, match.start() + match[0].rindex("\n") + 1
            if match.lastgroup is not None:
                yield match.lastgroup, match[match.lastgroup], place

    def parse(self) -> Node:
        """Return the one expression of the text."""
        stack: list[Node] = []
        whole: Node | None = None
        for kind, value, place in self._tokens():
            if whole is not None:
                raise self.error(place, "the system has ended before this; remove it, or a ) too many before it")
            if kind == "open":
                stack.append(replace(place, value=[]))
                continue
            if kind == "close":
                if not stack:
                    raise self.error(place, "this ) closes nothing")
                node = stack.pop()
            else:
                node = replace(place, value=Text(value) if kind == "text" else _atom(value))
            if stack:
                stack[-1].value.append(node)
            else:
                whole = node
        if stack:
            raise self.error(stack[-1], "this ( is never closed")
        if whole is None:
            raise self.error(Node(None, 1, 1), "the text is empty; write (mechanical-system ...)")
        return whole


def fits(word: str, node: Node) -> bool:
    """Say whether a word of a form, or one of its choices, stands for a node."""
    for choice in word.split("|"):
        if choice.startswith('"'):
            fit = node.is_text and bool(node.value)
        elif choice.startswith("'"):
            fit = node.is_symbol and node.value == choice[1:]
        else:
            fit = isinstance(node.value, float) and not math.isnan(node.value)
        if fit:
            return True
    return False


def expected(choice: str) -> str:
    """Return a choice of a form as messages call it."""
    return 'a text in "..."' if choice.startswith('"') else choice[1:] if choice.startswith("'") else "a number"


def _atom(word: str) -> float | str:
    """A number, or a symbol in lower case."""
    try:
        return float(word)
    except ValueError:
        return word.lower()
