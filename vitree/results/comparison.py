"""The results of a comparison of methods, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vitree.arguments import JsonObject
from vitree.results.plain import no_nan, plain
from vitree.results.recording import Recording
from vitree.results.series import Series
from vitree.version import __version__


class Column(NamedTuple):
    """A column of the printed table: the key of a row, and how its values are printed."""

    key: str
    heading: str
    unit: str
    form: str


#: What stands where a row has nothing.
NOTHING = "-"
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
    Column("penetration", "penetration", "m", "{:.1e}"),
    Column("slip", "slip", "m/s", "{:.1e}"),
    Column("cone_violation", "cone", "-", "{:.1e}"),
    Column("energy_gained", "gained", "J", "{:.1e}"),
    Column("impulse_error", "impulse", "-", "{:.1e}"),
    Column("first_touch", "first touch", "s", "{:.6g}"),
    Column("error", "error", "rad, m", "{:.2e}"),
    Column("valid_time", "valid time", "s", "{:.4g}"),
    Column("order", "order", "-", "{:.2f}"),
    Column("iterations_mean", "iter.", "mean", "{:.2f}"),
    Column("iterations_max", "iter.", "max", "{:d}"),
    Column("us_per_step", "time", "us/step", "{:.1f}"),
)
#: Columns that are printed in any case; others only if a row has something there.
_ALWAYS = ("label", "dt", "energy_error", "energy_error_relative", "energy_drift", "momentum_error", "error",
           "iterations_mean", "iterations_max", "us_per_step")  # fmt: skip


def shown_columns(rows: Sequence[JsonObject]) -> list[Column]:
    """Return the columns that say something of some rows: valid times only if a run is not valid to its end."""
    told = [c for c in COLUMNS if c.key in _ALWAYS or any(cell(row, c) != NOTHING for row in rows)]
    valid = all(row["valid_to_end"] for row in rows if row["status"] == "ok")
    return [c for c in told if not (c.key == "valid_time" and valid)]


def cell(row: JsonObject, column: Column) -> str:
    """Return the text of a value: the reason where an order has none, and "> " before a time that is a bound."""
    value = row[column.key]
    if row["status"] != "ok" and column.key not in ("label", "dt"):
        return NOTHING
    if column.key == "order" and row["order_status"]:
        return str(row["order_status"])
    text = NOTHING if value != value else column.form.format(value)
    return f"> {text}" if column.key == "valid_time" and row["valid_to_end"] and value == value else text


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
    shown = shown_columns(rows)
    cells = [[c.heading for c in shown], [c.unit for c in shown]]
    cells += [[cell(row, c) for c in shown] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(shown))]
    lines = ["  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)) for line in cells]
    for k, row in enumerate(rows, start=2):
        head = f"{cells[k][0].ljust(widths[0])}  {cells[k][1].rjust(widths[1])}  "
        body = lines[k][len(head) :] if row["status"] == "ok" else row["status"]
        lines[k] = head + body
    lines[0] = cells[0][0].ljust(widths[0]) + lines[0][widths[0] :]
    lines.insert(2, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)
