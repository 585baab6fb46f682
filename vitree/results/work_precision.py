"""Work-precision sets: errors and times of methods on robots, over time steps and tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from vitree.arguments import JsonObject
from vitree.results.comparison import Compared, ComparedFromStarts
from vitree.results.tables import NOTHING, Column, Tabled

#: Columns of the printed table, in order.
WORK_COLUMNS = (
    Column("robot", "robot", "", "{}"),
    Column("method", "method", "", "{}"),
    Column("dt", "dt", "s", "{:g}"),
    Column("tolerance", "tolerance", "-", "{:g}"),
    Column("error", "error", "rad, m", "{:.2e}"),
    Column("at_floor", "floor", "", "{}"),
    Column("per_second", "time", "s per s", "{:.2e}"),
    Column("us_per_step", "time", "us/step", "{:.1f}"),
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WorkPrecisionTable(Tabled):
    """The result of a work-precision set; the fields are those of :class:`vitree.WorkPrecision`."""

    table: list[JsonObject]
    comparisons: Mapping[str, Compared | ComparedFromStarts]
    notes: tuple[str, ...]
    settings: JsonObject

    KEYS: ClassVar[int] = 3

    @property
    def title(self) -> str:
        """What the table is of."""
        return f"Work and precision: {', '.join(self.comparisons)}"

    @property
    def model_name(self) -> str:
        """Names of the robots."""
        return ", ".join(found.model_name for found in self.comparisons.values())

    def lines(self) -> dict[tuple[str, str], list[JsonObject]]:
        """Return the rows that have an error by robot and method, the most costly last."""
        out: dict[tuple[str, str], list[JsonObject]] = {}
        for row in self.table:
            if row["status"] == "ok" and row["error"] == row["error"]:
                out.setdefault((row["robot"], row["method"]), []).append(row)
        return {key: sorted(rows, key=lambda row: row["per_second"]) for key, rows in out.items()}

    def _units(self) -> dict[str, str]:
        return {"dt": "s", "error": "rad, m", "error_low": "rad, m", "error_high": "rad, m", "seconds": "s",
                "per_second": "s/s", "us_per_step": "us"}  # fmt: skip

    def _columns(self) -> list[Column]:
        keep = {"dt": any(row["dt"] == row["dt"] for row in self.table),
                "tolerance": any(row["tolerance"] == row["tolerance"] for row in self.table),
                "at_floor": any(row["at_floor"] for row in self.table)}  # fmt: skip
        return [c for c in WORK_COLUMNS if keep.get(c.key, True)]

    def _cell(self, row: JsonObject, column: Column) -> str:
        if column.key == "at_floor":
            return "floor" if row["at_floor"] else ""
        value = row[column.key]
        if value != value:
            return NOTHING
        text = column.form.format(value)
        if column.key == "error" and row["error_low"] < row["error_high"]:
            text += " [{:.2e}, {:.2e}]".format(row["error_low"], row["error_high"])
        return text
