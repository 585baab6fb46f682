"""The results of a comparison of methods, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vitree.arguments import JsonObject
from vitree.results.plain import no_nan, plain
from vitree.results.recording import Recording
from vitree.results.series import NAN, Series
from vitree.version import __version__


class Column(NamedTuple):
    """A column of the printed table: the key of a row, and how its values are printed."""

    key: str
    heading: str
    unit: str
    form: str


#: Columns of the printed table, in order.
COLUMNS = (
    Column("label", "method", "", "{}"),
    Column("dt", "dt", "s", "{:g}"),
    Column("energy_error", "energy error", "J", "{:.2e}"),
    Column("energy_error_relative", "relative", "-", "{:.2e}"),
    Column("energy_drift", "drift", "J/s", "{:+.1e}"),
    Column("momentum_error", "momentum", "kg m/s", "{:.1e}"),
    Column("angular_momentum_error", "angular", "kg m^2/s", "{:.1e}"),
    Column("constraint_error", "constraints", "rad, m", "{:.1e}"),
    Column("error", "error", "rad, m", "{:.2e}"),
    Column("order", "order", "-", "{:.2f}"),
    Column("iterations_mean", "iter.", "mean", "{:.2f}"),
    Column("iterations_max", "iter.", "max", "{:d}"),
    Column("us_per_step", "time", "us/step", "{:.1f}"),
)
#: Columns that are printed only if a row has a number there.
_OPTIONAL = ("angular_momentum_error", "constraint_error", "order")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Compared:
    """The results of a comparison; the fields are those of :class:`vitree.Comparison`."""

    model_name: str
    table: list[JsonObject]
    trajectories: Mapping[tuple[str, float], Recording]
    reference: Recording | None
    reference_error: float
    series: dict[tuple[str, float], Series] = field(repr=False)
    notes: tuple[str, ...]
    settings: JsonObject

    @property
    def orders(self) -> dict[str, float]:
        """Fitted order of convergence by label; NaN if fewer than two errors can be fitted."""
        return {row["label"]: row["order"] for row in self.table}

    def __str__(self) -> str:
        return "\n".join([_text(self.table), "", *self.notes])

    __repr__ = __str__

    def to_json(self) -> str:
        """Return table and settings as strict JSON text, with null for NaN."""
        content = {
            "model": self.model_name,
            "vitree": __version__,
            "settings": self.settings,
            "reference_error": self.reference_error,
            "notes": list(self.notes),
            "table": self.table,
        }
        return json.dumps(no_nan(plain(content)), indent=1, allow_nan=False)


def _text(rows: list[JsonObject]) -> str:
    """Lay the rows out in columns of fixed width."""
    shown = [c for c in COLUMNS if c.key not in _OPTIONAL or any(row[c.key] == row[c.key] for row in rows)]
    cells = [[c.heading for c in shown], [c.unit for c in shown]]
    for row in rows:
        values = [row[c.key] for c in shown]
        if row["status"] != "ok":
            values[2:] = [NAN] * len(values[2:])
        cells.append(["-" if x != x else c.form.format(x) for c, x in zip(shown, values, strict=True)])
    widths = [max(len(line[k]) for line in cells) for k in range(len(shown))]
    lines = ["  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)) for line in cells]
    for k, row in enumerate(rows, start=2):
        head = f"{cells[k][0].ljust(widths[0])}  {cells[k][1].rjust(widths[1])}  "
        body = lines[k][len(head) :] if row["status"] == "ok" else row["status"]
        lines[k] = head + body
    lines[0] = cells[0][0].ljust(widths[0]) + lines[0][widths[0] :]
    lines.insert(2, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)
