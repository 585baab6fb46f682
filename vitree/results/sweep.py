"""Sweep: the table of many runs, a row each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vitree.arguments import JsonObject, path_of
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.results.plain import no_nan, plain
from vitree.results.tables import csv_text
from vitree.version import __version__
from vitree.writing import replacing, write_text

if TYPE_CHECKING:
    import pandas
    import xarray

#: Rows that are printed; of more, the first and the last.
SHOWN = 24
#: Columns that are not printed where they say nothing: their usual values.
_QUIET = {"status": "ok", "halved": 0, "warnings": 0}
#: Integers that a column of NetCDF 3 and of tables holds: endings to bounds.
_BOUNDS = {".nc": 2**31, ".parquet": 2**63}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sweep:
    """The result of :func:`sweep`: ``print`` it, save it, or read ``.table``.

    What is printed leaves out columns that say nothing, such as a ``status`` that is "ok" in all rows, and ``state``.

    Attributes
    ----------
    names : tuple of str
        Names of the columns: those of the cases, ``status``, ``reason``, those of the results, and ``seconds`` if it
        was asked for.
    table : list of dict
        One row for each case, in the order of the cases; plain types. A result that a row does not have is None.
        ``status`` is "ok" or "failed", and ``reason`` says why, else it is None.
    units : dict of str
        Units of columns by name, in so far as they are known.
    axes : dict of lists, or None
        Of a full grid, the values of each axis by its name; else None.
    settings : dict
        What was swept, in types that JSON knows.
    notes : tuple of str
        What was read from the folder, and what was wrong with it.
    """

    names: tuple[str, ...]
    table: list[JsonObject]
    units: dict[str, str] = field(default_factory=dict)
    axes: Mapping[str, Sequence[object]] | None = None
    settings: JsonObject = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """The number of rows that failed."""
        return sum(row["status"] != "ok" for row in self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self.table)

    def column(self, name: str) -> np.ndarray:
        """Return the values (n,) of a column by its ``name``, in units of ``.units``.

        Numbers are float where one is missing, which is NaN then, or where they are mixed. A column with texts has
        texts only; a missing one is empty.

        Raises
        ------
        UnknownNameError
            If there is no such column.
        """
        return self._column(name, 2**63)

    def _column(self, name: str, bound: int) -> np.ndarray:
        """A column whose integers are below a bound; as texts where they are not."""
        if not isinstance(name, str) or name not in self.names:
            raise UnknownNameError("column", name, self.names)
        values = [row[name] for row in self.table]
        kinds = {type(x) for x in values if x is not None}
        if name in ("status", "reason"):
            kinds = {str}
        if kinds == {bool} and None not in values:
            return np.array(values, dtype=bool)
        if kinds <= {int, float}:  # also where all are missing
            if not all(-bound <= x < bound for x in values if type(x) is int):
                return np.array(["" if x is None else str(x) for x in values], dtype=str)
            if kinds == {int} and None not in values:
                return np.array(values, dtype=np.int64)
            return np.array([np.nan if x is None else x for x in values], dtype=float)
        return np.array(["" if x is None else str(x) for x in values], dtype=str)

    # ---- for other programs -----------------------------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table for pandas, a row for each case; ``attrs`` hold units and settings.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("pandas", "data", "a table") from None
        table = pandas.DataFrame({name: self.column(name) for name in self.names})
        table.attrs = {"units": dict(self.units), "settings": self.settings}
        return table

    def to_xarray(self) -> xarray.Dataset:
        """Return the table as a dataset, with units as attributes.

        The dimensions are the axes of a full grid: ``sweep.to_xarray().energy_error.mean("seed")``. Of other cases the
        one dimension is ``case``, and what tells cases apart are coordinates along it.

        Raises
        ------
        MissingExtraError
            If xarray is not installed.
        """
        return self._dataset(2**63)

    def _dataset(self, bound: int) -> xarray.Dataset:
        try:
            import xarray
        except ImportError:
            raise MissingExtraError("xarray", "data", "a dataset") from None
        columns = {name: self._column(name, bound) for name in self.names}
        unit = {name: {"units": self.units[name]} if name in self.units else {} for name in self.names}
        given = self.names[: self.names.index("status")]
        attrs = {"vitree": __version__, "settings": json.dumps(no_nan(plain(self.settings)), sort_keys=True)}
        if self.axes is None:
            coords = {name: ("case", columns[name], unit[name]) for name in given}
            found = {name: ("case", columns[name], unit[name]) for name in self.names if name not in given}
            return xarray.Dataset(found, coords=coords, attrs=attrs)
        shape = tuple(len(values) for values in self.axes.values())
        grid = np.arange(len(self.table)).reshape(shape)
        coords = {}
        for k, name in enumerate(self.axes):
            first = grid[tuple(slice(None) if j == k else 0 for j in range(len(shape)))]
            coords[name] = (name, columns[name][first], unit[name])
        dims = tuple(self.axes)
        full = {name: (dims, columns[name].reshape(shape), unit[name]) for name in self.names if name not in coords}
        return xarray.Dataset(full, coords=coords, attrs=attrs)

    def to_csv(self) -> str:
        """Return the table as CSV: a heading such as "dt [s]" for each column, numbers that read back exactly."""
        return csv_text(self.names, self.units, self.table)

    def to_json(self) -> str:
        """Return table and settings as strict JSON text, with null for NaN."""
        content = {"vitree": __version__, "settings": self.settings, "units": self.units, "table": self.table}
        return json.dumps(no_nan(plain(content)), indent=1, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to the file ``path``, at once or not at all, and return the path.

        The ending says the format: ``.csv``, ``.parquet``, ``.nc`` (NetCDF 3) or ``.json``. Equal tables give equal
        bytes, of Parquet and NetCDF with equal versions of pyarrow, or of xarray and SciPy. Notes are in none.

        Raises
        ------
        InputError
            If the ending is another, or the file cannot be written.
        MissingExtraError
            If pyarrow or xarray is not installed.
        """
        path = path_of(path)
        kind = path.suffix.lower()
        if kind == ".csv":
            write_text(path, self.to_csv())
        elif kind == ".json":
            write_text(path, self.to_json())
        elif kind == ".parquet":
            _write_parquet(self, path)
        elif kind == ".nc":
            _write_netcdf(self, path)
        else:
            raise InputError("path", path, f"{path} must end in .csv, .parquet, .nc or .json")
        return path

    def __str__(self) -> str:
        return "\n".join([_text(self), "", f"{len(self)} runs, {self.failed} failed.", *self.notes])

    def __repr__(self) -> str:
        return f"<vitree.Sweep of {len(self)} runs, {self.failed} failed: {', '.join(self.names)}>"


def _write_parquet(sweep: Sweep, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "a Parquet file") from None
    columns = {name: pyarrow.array(sweep._column(name, _BOUNDS[".parquet"]).tolist()) for name in sweep.names}
    fields = [pyarrow.field(name, x.type, metadata={"units": sweep.units.get(name, "")}) for name, x in columns.items()]
    about = {"vitree": __version__, "settings": json.dumps(no_nan(plain(sweep.settings)), sort_keys=True)}
    table = pyarrow.table(list(columns.values()), schema=pyarrow.schema(fields, metadata=about))
    with replacing(path) as stream:
        pyarrow.parquet.write_table(table, stream)


def _write_netcdf(sweep: Sweep, path: Path) -> None:
    if not sweep.table:
        raise InputError("the table has no rows, and NetCDF cannot hold an empty one; write .csv")
    dataset = sweep._dataset(_BOUNDS[".nc"])
    try:
        content = dataset.to_netcdf(engine="scipy")
    except (ValueError, TypeError) as error:  # names that NetCDF 3 does not take
        raise InputError(f"NetCDF cannot hold this table: {error}; write .csv or .parquet") from None
    with replacing(path) as stream:
        stream.write(content)


def _text(sweep: Sweep) -> str:
    """Lay the rows out in columns of fixed width; of many rows the first and the last."""
    rows: list[JsonObject | None] = [*sweep.table]
    if len(rows) > SHOWN:
        rows[SHOWN // 2 : -SHOWN // 2] = [None]
    shown = [name for name in sweep.names if any(_cell(row[name]) != "-" for row in sweep.table) and name != "state"]
    shown = [name for name in shown if name not in _QUIET or any(row[name] != _QUIET[name] for row in sweep.table)]
    cells = [[f"{name} [{unit}]" if (unit := sweep.units.get(name)) else name for name in shown]]
    cells += [["..."] * len(shown) if row is None else [_cell(row[name]) for name in shown] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(shown))]
    lines = ["  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in cells]
    lines.insert(1, "-" * (sum(widths) + 2 * max(len(widths) - 1, 0)))
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None or value != value:
        return "-"
    text = f"{value:.6g}" if type(value) is float else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
