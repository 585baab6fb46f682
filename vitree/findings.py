"""Findings: the faults that a reader sees in a file, and what it did about them, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: The gravest first: an error stops a file, a note is only information. "repair": was wrong, and has been changed.
SEVERITIES = ("error", "warning", "repair", "note")
#: How many lines of findings like the first one a text has.
LINES = 5
#: Names and numbers in the text of a finding.
_OWN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+]?\d[\d.e+-]*')


@dataclass(frozen=True)
class Finding:
    """One fault of a file, or one thing that was done with it.

    Attributes
    ----------
    id : str
        Identifier of the rule, such as "axis-zero"; the same for every file.
    severity : str
        One of ``SEVERITIES``.
    text : str
        The element, what is wrong with it, and the remedy.
    file : str
        Name of the file, "<text>" for a text.
    line : int or None
        Line of the element, from 1; None where no line can be named.
    part : str
        The prefix of the names of the file's elements, of a file that was attached under one.
    """

    id: str
    severity: str
    text: str
    file: str = ""
    line: int | None = None
    part: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"[{self.part}] " * bool(self.part) + f"{place}: {self.severity} {self.id}: " + self.text


class Report(tuple[Finding, ...]):
    """Findings in the order of the file; prints as a line each, but for those that differ in names and numbers alone.

    Of these the first has a line, which counts the others.
    """

    def of(self, *severities: str) -> Report:
        """Return the findings of these ``severities``, out of "error", "warning", "repair" and "note"."""
        severities = tuple(x for x in severities if isinstance(x, str))
        return Report(finding for finding in self if finding.severity in severities)

    def __add__(self, others: Iterable[Finding]) -> Report:  # type: ignore[override]
        return Report((*self, *others))

    def lines(self) -> list[str]:
        """Return the lines of the report."""
        alike: dict[tuple[str, ...], list[Finding]] = {}
        for each in self:
            key = (each.severity, each.id, each.file, each.part, _OWN.sub("", each.text))
            alike.setdefault(key, []).append(each)
        return [f"{found[0]}{_count(found[1:])}" for found in alike.values()]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _count(others: list[Finding]) -> str:
    """Return in words how many others there are, and on which lines."""
    if not others:
        return ""
    lines = [str(each.line) for each in others if each.line is not None]
    more = " ..." if len(lines) > LINES else ""
    where = f", on line{'s' * (len(lines) > 1)} {', '.join(lines[:LINES])}{more}" if lines else ""
    return f" (and {len(others)} more such{where})"
