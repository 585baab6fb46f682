"""Tables of results as text, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from vitree.arguments import JsonObject, path_of
from vitree.errors import InputError
from vitree.results.plain import no_nan, plain
from vitree.version import __version__
from vitree.writing import write_text

#: The form of names, which are set to the left.
NAME = "{}"
#: What stands where a row has nothing.
NOTHING = "-"
#: Characters that LaTeX reads as commands, and what shows them.
_LATEX = {**{c: "\\" + c for c in "#$%&_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])([+-]?\d+(?:\.\d+)?)e([+-])0*(\d+)(?![\w.])")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.4rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .15rem .6rem; text-align: right; } th:first-child, td:first-child { text-align: left; }
thead { border-bottom: 1px solid #888; } .unit { color: #666; font-weight: normal; } td.failed { text-align: left; }
tbody tr:nth-child(even) { background: #f4f4f4; } svg { max-width: 100%; height: auto; }
pre { font-size: 12px; background: #f4f4f4; padding: .6rem; overflow-x: auto; }
"""


class Column(NamedTuple):
    """A column of a printed table: the key of a row, and how its values are printed."""

    key: str
    heading: str
    unit: str
    form: str


def csv_text(names: Sequence[str], units: Mapping[str, str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV: a heading such as "dt [s]" for each column, numbers that read back exactly."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(f"{name} [{unit}]" if (unit := units.get(name)) else name for name in names)
    writer.writerows([row[name] for name in names] for row in rows)
    return stream.getvalue()


def latex_of(text: str) -> str:
    """Return a text for LaTeX, with numbers such as 1.2e-03 as powers of ten."""
    shown = "".join(_LATEX.get(c, c) for c in text)
    return _NUMBER.sub(lambda x: f"${x[1]} \\cdot 10^{{{'-' * (x[2] == '-')}{x[3]}}}$", shown)


class Tabled(ABC):
    """A result with a table, notes and settings: text when it is printed, and files of other formats.

    A subclass has the attributes ``table`` (a list of dicts), ``notes`` (texts) and ``settings`` (a dict).
    """

    table: list[JsonObject]
    notes: tuple[str, ...]
    settings: JsonObject

    #: columns before the first of a row that a failure replaces
    KEYS: ClassVar[int] = 2

    @property
    @abstractmethod
    def title(self) -> str:
        """What the table is of."""

    @abstractmethod
    def _columns(self) -> list[Column]:
        """The columns that are shown."""

    @abstractmethod
    def _cell(self, row: JsonObject, column: Column) -> str:
        """The text of a value."""

    def _content(self) -> JsonObject:
        """What a JSON file has beside the version, the settings, notes and table."""
        return {}

    def _figures(self) -> list[str]:
        """Pictures for a page, as SVG."""
        return []

    def __str__(self) -> str:
        return "\n".join([self._text(), "", *self.notes])

    __repr__ = __str__

    def _rows(self) -> list[list[str]]:
        """The texts of all cells; of a row that failed those of the first columns, and why."""
        columns = self._columns()
        return [
            [self._cell(row, c) for c in columns] if row["status"] == "ok"
            else [*(self._cell(row, c) for c in columns[: self.KEYS]), str(row["status"])]
            for row in self.table
        ]  # fmt: skip

    def _text(self) -> str:
        """Lay the rows out in columns of fixed width."""
        columns = self._columns()
        cells = [[c.heading for c in columns], [c.unit for c in columns], *self._rows()]
        full = [line for line in cells if len(line) == len(columns)] + [line[: self.KEYS] for line in cells]
        widths = [max(len(line[k]) for line in full if k < len(line)) for k in range(len(columns))]
        lines = []
        for line in cells:
            whole = len(line) == len(columns)
            parts = [x.ljust(w) if c.form == NAME else x.rjust(w)
                     for x, w, c in zip(line, widths, columns, strict=False)]  # fmt: skip
            lines.append("  ".join(parts if whole else [*parts[: self.KEYS], line[-1]]))
        lines.insert(2, "-" * max(map(len, lines)))
        return "\n".join(line.rstrip() for line in lines)

    def to_csv(self) -> str:
        """Return all rows and their keys as CSV; numbers read back exactly."""
        names = list(dict.fromkeys(key for row in self.table for key in row))
        return csv_text(names, self._units(), [dict.fromkeys(names) | row for row in self.table])

    def _units(self) -> dict[str, str]:
        """Units of the keys of rows."""
        return {c.key: c.unit for c in self._columns() if c.unit not in ("", "-")}

    def to_latex(self) -> str:
        r"""Return the table that is printed as a ``tabular`` of LaTeX, with the rules of the package booktabs."""
        columns = self._columns()
        sides = "".join("l" if c.form == NAME else "r" for c in columns)
        lines = [rf"% {self.title}, vitree {__version__}", rf"\begin{{tabular}}{{{sides}}}"]
        lines += [r"\toprule", " & ".join(latex_of(c.heading) for c in columns) + r" \\"]
        lines += [" & ".join(latex_of(f"[{c.unit}]") if c.unit else "" for c in columns) + r" \\", r"\midrule"]
        for cells in self._rows():
            parts = [latex_of(x) for x in cells]
            if len(parts) < len(columns):
                parts[-1] = rf"\multicolumn{{{len(columns) - self.KEYS}}}{{l}}{{{parts[-1]}}}"
            lines.append(" & ".join(parts) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def to_json(self) -> str:
        """Return table and settings as strict JSON text, with null for NaN."""
        content = {"vitree": __version__, "settings": self.settings, "notes": list(self.notes), "table": self.table}
        return json.dumps(no_nan(plain(self._content() | content)), indent=1, allow_nan=False)

    def to_html(self) -> str:
        """Return a page that needs no other file: the table, pictures, notes, and the settings of the runs.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (extra "plot").
        """
        columns, title = self._columns(), html.escape(self.title)
        head = "".join(
            f'<th>{html.escape(c.heading)}<br><span class="unit">{html.escape(c.unit)}</span></th>' for c in columns
        )
        body = []
        for cells in self._rows():
            parts = [f"<td>{html.escape(x)}</td>" for x in cells]
            if len(parts) < len(columns):
                parts[-1] = f'<td class="failed" colspan="{len(columns) - self.KEYS}">{html.escape(cells[-1])}</td>'
            body.append(f"<tr>{''.join(parts)}</tr>")
        told = json.dumps(no_nan(plain(self.settings)), indent=1, allow_nan=False)
        return "\n".join([
            '<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">', f"<title>{title}</title>",
            f"<style>{_STYLE}</style></head><body>", f"<h1>{title}</h1>", '<div class="wide"><table>',
            f"<thead><tr>{head}</tr></thead><tbody>", *body, "</tbody></table></div>",
            *(f"<p>{html.escape(note)}</p>" for note in self.notes), *self._figures(),
            f"<details><summary>Settings, vitree {__version__}</summary><pre>{html.escape(told)}</pre></details>",
            "</body></html>", "",
        ])  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to the file ``path``, at once or not at all, and return the path.

        The ending says the format: ``.csv`` (all rows and keys), ``.json`` (these with settings and notes), ``.tex``
        (the table that is printed, as :meth:`to_latex` returns it) or ``.html`` (a page).

        Raises
        ------
        InputError
            If the ending is another, or the file cannot be written.
        MissingExtraError
            If matplotlib is not installed, for a page.
        """
        path = path_of(path)
        formats = {".csv": self.to_csv, ".json": self.to_json, ".tex": self.to_latex, ".html": self.to_html}
        make = formats.get(path.suffix.lower())
        if make is None:
            raise InputError("path", path, f"{path} must end in {', '.join(formats)}", choices=tuple(formats))
        write_text(path, make())
        return path
