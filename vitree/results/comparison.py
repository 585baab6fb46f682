"""The results of comparisons of methods, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vitree.arguments import JsonObject
from vitree.results.recording import Recording
from vitree.results.series import NAN, Series
from vitree.results.tables import NOTHING, Column, Tabled

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
#: Columns whose numbers are summed up over starts.
MEASURES = tuple(c for c in COLUMNS[2:] if c.key not in ("order", "iterations_max"))
#: The ends of bands, as shares of the starts below them.
BAND = (0.1, 0.9)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Compared(Tabled):
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
        """Order of convergence by label; NaN where none can be told."""
        return {row["label"]: row["order"] for row in self.table}

    @property
    def title(self) -> str:
        """What the table is of."""
        return f"Methods compared: {self.model_name}"

    def _content(self) -> JsonObject:
        return {"model": self.model_name, "reference_error": self.reference_error}

    def _units(self) -> dict[str, str]:
        return {**{c.key: c.unit for c in COLUMNS if c.unit not in ("", "-", "mean", "max")}, "failed_at": "s",
                "floor": "rad, m"}  # fmt: skip

    def _columns(self) -> list[Column]:
        """Of valid times only if a run is not valid to its end."""
        told = [c for c in COLUMNS if c.key in _ALWAYS or any(self._cell(row, c) != NOTHING for row in self.table)]
        valid = all(row["valid_to_end"] for row in self.table if row["status"] == "ok")
        return [c for c in told if not (c.key == "valid_time" and valid)]

    def _cell(self, row: JsonObject, column: Column) -> str:
        """The reason where an order has none, and "> " before a time that is a bound."""
        value = row[column.key]
        if row["status"] != "ok" and column not in COLUMNS[:2]:
            return NOTHING
        if column.key == "order" and row["order_status"]:
            return str(row["order_status"])
        text = NOTHING if value != value else column.form.format(value)
        return f"> {text}" if column.key == "valid_time" and row["valid_to_end"] and value == value else text


def band_of(values: np.ndarray) -> tuple[float, float, float]:
    """Return the median of those of values (n,) that are not NaN, and the ends of their band; NaN without any."""
    known = values[~np.isnan(values)]
    if not len(known):
        return NAN, NAN, NAN
    low, high = np.quantile(known, BAND, method="inverted_cdf")
    return float(np.median(known)), float(low), float(high)


def summed_up(rows: list[JsonObject]) -> JsonObject:
    """Return a row of one method and time step from many starts: medians, bands, and how many failed.

    The time for which a run is valid counts with all that it has: of one that is valid to the end it is a bound.
    """
    sound = [row for row in rows if row["status"] == "ok"]
    first = rows[0]
    out: JsonObject = {key: first[key] for key in ("label", "method", "dt", "steps")}
    out |= {"starts": len(rows), "failed": len(rows) - len(sound)}
    out["status"] = "ok" if sound else f"failed from all {len(rows)} starts"
    for column in MEASURES:
        found = band_of(np.array([row[column.key] for row in sound], dtype=float))
        out |= dict(zip((column.key, f"{column.key}_low", f"{column.key}_high"), found, strict=True))
    out["at_floor"] = sum(row["at_floor"] for row in sound) > len(sound) / 2
    out["valid_to_end"] = sum(row["valid_to_end"] for row in sound)
    return out


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ComparedFromStarts(Tabled):
    """The results of comparisons from many starts; the fields are those of :class:`vitree.EnsembleComparison`."""

    model_name: str
    table: list[JsonObject]
    comparisons: tuple[Compared, ...]
    notes: tuple[str, ...]
    settings: JsonObject

    @property
    def title(self) -> str:
        """What the table is of."""
        return f"Methods compared from {len(self.comparisons)} starts: {self.model_name}"

    def _content(self) -> JsonObject:
        return {"model": self.model_name}

    def _units(self) -> dict[str, str]:
        ends = ("", "_low", "_high")
        known = {c.key: c.unit for c in MEASURES if c.unit not in ("", "-", "mean")}
        return {"dt": "s", **{key + end: unit for key, unit in known.items() for end in ends}}

    def _columns(self) -> list[Column]:
        shown = {c.key for found in self.comparisons for c in found._columns()}
        return [*COLUMNS[:2], Column("failed", "failed", "-", "{:d}"), *(c for c in MEASURES if c.key in shown)]

    def _cell(self, row: JsonObject, column: Column) -> str:
        value, form = row[column.key], column.form.format
        if column.key not in {c.key for c in MEASURES}:
            return f"{value} of {row['starts']}" if column.key == "failed" else form(value)
        if value != value:
            return NOTHING
        low, high = row[f"{column.key}_low"], row[f"{column.key}_high"]
        return form(value) if low == high else f"{form(value)} [{form(low)}, {form(high)}]"
