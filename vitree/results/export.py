"""Runs for other programs: xarray, NetCDF, pandas, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vitree.arguments import of_kind, path_of
from vitree.errors import InputError, MissingExtraError
from vitree.results.plain import no_nan, plain, versions
from vitree.results.recording import Recording
from vitree.results.units import (
    CERTIFICATE,
    CONTACT,
    PARTS,
    TURNING,
    UNITS,
    columns,
    contact_columns,
    distinct,
    made,
    units_of,
)
from vitree.writing import replacing, write_text

if TYPE_CHECKING:
    import pandas
    import xarray


def to_pandas(traj: Recording, contacts: bool = False) -> pandas.DataFrame:
    """Return the records of a run ``traj`` as one table, with the columns of :func:`columns` and the index ``t`` [s].

    With ``contacts`` the table is that of the contacts, with the columns of :func:`contact_columns`. The ``attrs`` of
    the table hold units and settings. Monitors have rows of their own, and are left out.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    InputError
        If contacts are asked for and nothing may touch.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "data", "a table") from None
    found = contact_columns(traj) if of_kind(contacts, bool, "contacts", "True or False") else columns(traj)
    t, _ = found.pop("t")
    table = pandas.DataFrame({name: x for name, (x, _) in found.items()}, index=pandas.Index(t, name="t"))
    table.attrs = made(traj) | {"units": {"t": "s"} | {name: unit for name, (_, unit) in found.items()}}
    return table


def to_csv(traj: Recording, path: str | os.PathLike[str], contacts: bool = False) -> Path:
    """Write the records of a run ``traj`` to the text file ``path``, at once or not at all, and return the path.

    With ``contacts`` the rows are the contacts, with the columns of :func:`contact_columns`.

    Each column has a heading such as "q.shoulder [rad]". Numbers have as many digits as they need to be read back
    exactly. Settings and monitors are left out.

    Raises
    ------
    InputError
        If the file cannot be written, or contacts are asked for and nothing may touch.
    """
    of_kind(contacts, bool, "contacts", "True or False")
    path, found = path_of(path), contact_columns(traj) if contacts else columns(traj)
    with replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(f"{name} [{unit}]" if unit else name for name, (_, unit) in found.items())
        writer.writerows(zip(*(x.tolist() for x, _ in found.values()), strict=True))
        text.detach()
    return path


def to_xarray(traj: Recording) -> xarray.Dataset:
    """Return everything but the checkpoint as a dataset with named dimensions, and units as attributes.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    xarray.Dataset
        Its dimensions are ``t``, ``q_name``, ``v_name``, ``part`` (of momentum) and ``constraint_name``. Monitors have
        the dimension ``step`` and the times ``step_end``. The columns of :func:`contact_columns` have the dimensions
        ``contact`` and ``axis``, as ``contact_force`` and so on. Settings and versions are JSON text among the
        attributes.

    Raises
    ------
    MissingExtraError
        If xarray is not installed.
    """
    try:
        import xarray
    except ImportError:
        raise MissingExtraError("xarray", "data", "a dataset") from None
    units = units_of(traj)
    rows: dict[str, tuple[object, ...]] = {"q": (("t", "q_name"), traj.q), "v": (("t", "v_name"), traj.v)}
    rows |= {"p": (("t", "v_name"), traj.p), "momentum": (("t", "part"), traj.momentum)}
    rows |= {name: ("t", getattr(traj, name), {"units": UNITS[name]})
             for name in ("kinetic", "potential", "energy", "iterations", "residual")}  # fmt: skip
    given: dict[str, object] = {
        "t": ("t", traj.t, {"units": "s"}), "q_name": list(traj.q_names), "v_name": list(traj.v_names),
        "q_unit": ("q_name", list(units["q"])), "v_unit": ("v_name", list(units["v"])),
        "p_unit": ("v_name", list(units["p"])), "part": list(PARTS), "part_unit": ("part", list(PARTS.values())),
    }  # fmt: skip
    if traj.constraint_names:
        given["constraint_name"] = list(distinct(traj.constraint_names))
        for name, unit in (("constraint", "constraint"), ("multipliers", "multiplier")):
            rows[name] = ("t", "constraint_name"), getattr(traj, name), {"units": UNITS[unit]}
    for name, values in traj.monitors.items():
        if name == "t":
            given["step_end"] = "step", values, {"units": "s"}
        else:
            columns = {"certificate": "certificate_part", "drive_forces": "drive"}.get(name, "part")
            dims = ("step", columns)[: values.ndim]
            rows[f"monitor_{name}"] = dims, values, {"units": UNITS[name]} if name in UNITS else {}
    if "certificate" in traj.monitors:
        given["certificate_part"] = list(CERTIFICATE)
        given["certificate_unit"] = "certificate_part", list(CERTIFICATE.values())
    if traj.contacts is not None and len(traj.contacts):
        found = contact_columns(traj)
        for name, (values, unit) in found.items():
            if "." not in name:
                rows[f"contact_{name}"] = "contact", values, {"units": unit} if unit else {}
        for name, unit in (CONTACT | (TURNING if traj.contacts.turns else {})).items():
            values = np.column_stack([found[f"{name}.{axis}"][0] for axis in "xyz"])
            rows[f"contact_{name}"] = ("contact", "axis"), values, {"units": unit}
        given["axis"] = list("xyz")
    # the arrays of a trajectory are read-only, and a dataset is the caller's own
    return xarray.Dataset(rows, coords=given, attrs=made(traj)).copy(deep=True)


def to_netcdf(traj: Recording, path: str | os.PathLike[str]) -> Path:
    """Write the dataset of :func:`to_xarray` to a NetCDF file (version 3, 64-bit offsets), at once or not at all.

    Arguments, result and errors as for :func:`to_csv`; a trajectory without records is an InputError, too.

    Raises
    ------
    MissingExtraError
        If xarray is not installed.
    """
    if not len(traj):
        raise InputError("the trajectory has no records, and NetCDF cannot hold an empty one; record some steps")
    path, dataset = path_of(path), to_xarray(traj)
    # NetCDF reads a dimension of length zero as an unlimited one.
    dataset = dataset.drop_dims([name for name, size in dataset.sizes.items() if not size])
    with replacing(path) as stream:
        stream.write(dataset.to_netcdf(engine="scipy"))
    return path


def to_json(traj: Recording, path: str | os.PathLike[str]) -> Path:
    """Write a trajectory as strict JSON, at once or not at all; null stands for NaN.

    The file holds how the run was made, the columns with their units, the monitors and the contacts. Arguments, result
    and errors as for :func:`to_csv`.
    """
    names = ("model_name", "method", "steps", "seconds", "settings", "monitors")
    content = {name: getattr(traj, name) for name in names} | {"versions": versions()}
    content["columns"] = {name: {"unit": unit, "values": x} for name, (x, unit) in columns(traj).items()}
    if traj.contacts is not None:
        found = contact_columns(traj)
        content["contacts"] = {name: {"unit": unit, "values": x} for name, (x, unit) in found.items()}
    path = path_of(path)
    write_text(path, json.dumps(no_nan(plain(content)), allow_nan=False))
    return path
