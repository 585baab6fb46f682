"""Trajectories for other programs: xarray, NetCDF, pandas, CSV, and MCAP for Foxglove."""

from __future__ import annotations

import csv
import heapq
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.errors import InputError, MissingExtraError
from vitree.trajectory import Trajectory, no_nan, plain, replacing, versions

if TYPE_CHECKING:
    import pandas
    import xarray

#: Units of q and v by the kind of a joint with one coordinate; that of a helical one is its angle.
_OF_KIND = {"revolute": ("rad", "rad/s"), "helical": ("rad", "rad/s"), "prismatic": ("m", "m/s")}
#: Units of q and v by the last part of a name, of free and ball joints and of vehicles.
_OF_PART = (
    dict.fromkeys("xyz", "m") | dict.fromkeys(("qx", "qy", "qz", "qw"), "1") | {"theta": "rad"},
    dict.fromkeys(("vx", "vy", "vz"), "m/s") | dict.fromkeys(("wx", "wy", "wz", "omega"), "rad/s"),
)
_OF_MOMENTUM = {"rad/s": "kg m^2/s", "m/s": "kg m/s"}
#: The columns of momentum, and their units.
_PARTS = {f"{kind}.{axis}": unit for kind, unit in (("angular", "kg m^2/s"), ("linear", "kg m/s")) for axis in "xyz"}
#: Units of the other columns; and of monitors, which have some of their names.
_UNITS = {
    "kinetic": "J", "potential": "J", "energy": "J", "iterations": "1", "residual": "kg m/s or kg m^2/s",
    "constraint": "m or rad", "multiplier": "N or N m", "contraction": "1",
}  # fmt: skip


def units_of(traj: Trajectory) -> dict[str, tuple[str, ...]]:
    """Return the unit of each entry of q, v and p; "1" of a number without one.

    A trajectory from a file of an older version does not know which joints turn and which slide; the units say
    "rad or m" then.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict
        "q": (nq,), "v": (nv,), "p": (nv,) tuples of str.
    """
    known = about(traj)
    return _units(traj) if known is None else known["units"]


def about(traj: Trajectory) -> dict[str, Any] | None:
    """Return what is known of what was simulated, of a run from a file the same as of the run that was saved.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict or None
        ``units`` of the entries of q, v and p; ``gravity`` in world axes, 3 of float [m/s^2]; ``total_mass`` [kg];
        ``only_falls`` and ``conservative``, whether nothing but gravity changes its momentum, and nothing its energy,
        while nothing drives it. None of a file of an older version.
    """
    system = traj.system
    if system is None:
        return traj.about
    return {
        "units": _units(traj), "gravity": system.gravity.tolist(), "total_mass": float(system.total_mass),
        "only_falls": bool(system.only_falls), "conservative": bool(system.conservative),
    }  # fmt: skip


def _units(traj: Trajectory) -> dict[str, tuple[str, ...]]:
    """The units by the names, and by the kinds of the joints where the system tells them."""
    kinds = {joint.name: joint.kind for joint in traj.system.joints} if traj.system is not None else {}

    def unit(name: str, rate: int) -> str:
        joint, _, part = name.rpartition(".")
        if kinds.get(name) in _OF_KIND:
            return _OF_KIND[kinds[name]][rate]
        # a part of a joint, or of a vehicle: those of its coordinates that are no joints
        if part in _OF_PART[rate] and (joint in traj.joint_names if joint else name not in traj.joint_names):
            return _OF_PART[rate][part]
        return ("rad or m", "rad/s or m/s")[rate]

    v = tuple(unit(name, 1) for name in traj.v_names)
    p = tuple(_OF_MOMENTUM.get(rate, "kg m^2/s or kg m/s") for rate in v)
    return {"q": tuple(unit(name, 0) for name in traj.q_names), "v": v, "p": p}


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, with a number behind those that were there before: constraints may share one.

    Parameters
    ----------
    names : names

    Returns
    -------
    tuple of str
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return tuple(found)


def columns(traj: Trajectory) -> dict[str, tuple[np.ndarray, str]]:
    """Return what the records hold, column by column, each with its unit.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict of str to ((n,) array, str)
        ``t``, ``q.NAME``, ``v.NAME``, ``p.NAME``, ``kinetic``, ``potential``, ``energy``, ``momentum.angular.x`` to
        ``momentum.linear.z``, ``iterations``, ``residual``, ``constraint.NAME`` and ``multiplier.NAME``.
    """
    units, found = units_of(traj), {"t": (traj.t, "s")}
    for of, names in (("q", traj.q_names), ("v", traj.v_names), ("p", traj.v_names)):
        found |= {f"{of}.{name}": (getattr(traj, of)[:, k], units[of][k]) for k, name in enumerate(names)}
    found |= {name: (getattr(traj, name), _UNITS[name]) for name in ("kinetic", "potential", "energy")}
    found |= {f"momentum.{part}": (traj.momentum[:, k], unit) for k, (part, unit) in enumerate(_PARTS.items())}
    found |= {name: (getattr(traj, name), _UNITS[name]) for name in ("iterations", "residual")}
    for k, name in enumerate(distinct(traj.constraint_names)):
        found[f"constraint.{name}"] = traj.constraint[:, k], _UNITS["constraint"]
        found[f"multiplier.{name}"] = traj.multipliers[:, k], _UNITS["multiplier"]
    return found


def _made(traj: Trajectory) -> dict[str, Any]:
    """How the run was made: numbers, and text (JSON where it has parts)."""
    names = ("model_name", "method", "steps", "seconds", "iterations_total", "iterations_max")
    texts = {"settings": json.dumps(traj.settings), "versions": json.dumps(versions())}
    return {name: getattr(traj, name) for name in names} | texts


# ---- tables ---------------------------------------------------------------------------------------


def to_pandas(traj: Trajectory) -> pandas.DataFrame:
    """Return the records as one table, with the columns of :func:`columns` and the index ``t`` [s].

    Units and settings are in its ``attrs``. Monitors, which have rows of their own, are left out.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "data", "a table") from None
    found = columns(traj)
    t, _ = found.pop("t")
    table = pandas.DataFrame({name: x for name, (x, _) in found.items()}, index=pandas.Index(t, name="t"))
    table.attrs = _made(traj) | {"units": {"t": "s"} | {name: unit for name, (_, unit) in found.items()}}
    return table


def to_csv(traj: Trajectory, path: str | os.PathLike) -> Path:
    """Write the records to a text file, at once or not at all: a column each, headed "q.shoulder [rad]".

    Numbers are written in as many digits as they need to be read back exactly. Settings and monitors are left out.

    Parameters
    ----------
    traj : Trajectory
    path : path

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path, found = Path(path), columns(traj)
    with replacing(path) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(f"{name} [{unit}]" for name, (_, unit) in found.items())
        writer.writerows(zip(*(x.tolist() for x, _ in found.values()), strict=True))
    return path


def to_xarray(traj: Trajectory) -> xarray.Dataset:
    """Return everything but the checkpoint as a dataset with named dimensions, and units as attributes.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    xarray.Dataset
        Dimensions ``t``, ``q_name``, ``v_name``, ``part`` (of momentum) and ``constraint_name``; ``step`` of monitors,
        whose times are ``step_end``. Settings and versions are JSON text among its attributes.

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
    rows: dict[str, tuple] = {"q": (("t", "q_name"), traj.q), "v": (("t", "v_name"), traj.v)}
    rows |= {"p": (("t", "v_name"), traj.p), "momentum": (("t", "part"), traj.momentum)}
    rows |= {name: ("t", getattr(traj, name), {"units": _UNITS[name]})
             for name in ("kinetic", "potential", "energy", "iterations", "residual")}  # fmt: skip
    given: dict[str, Any] = {
        "t": ("t", traj.t, {"units": "s"}), "q_name": list(traj.q_names), "v_name": list(traj.v_names),
        "q_unit": ("q_name", list(units["q"])), "v_unit": ("v_name", list(units["v"])),
        "p_unit": ("v_name", list(units["p"])), "part": list(_PARTS), "part_unit": ("part", list(_PARTS.values())),
    }  # fmt: skip
    if traj.constraint_names:
        given["constraint_name"] = list(distinct(traj.constraint_names))
        for name, unit in (("constraint", "constraint"), ("multipliers", "multiplier")):
            rows[name] = ("t", "constraint_name"), getattr(traj, name), {"units": _UNITS[unit]}
    for name, values in traj.monitors.items():
        if name == "t":
            given["step_end"] = "step", values, {"units": "s"}
        else:
            dims = ("step", "part")[: values.ndim]
            rows[f"monitor_{name}"] = dims, values, {"units": _UNITS[name]} if name in _UNITS else {}
    return xarray.Dataset(rows, coords=given, attrs=_made(traj))


def to_netcdf(traj: Trajectory, path: str | os.PathLike) -> Path:
    """Write the dataset of :func:`to_xarray` to a NetCDF file (version 3, 64-bit offsets), at once or not at all.

    Parameters
    ----------
    traj : Trajectory
    path : path

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If xarray is not installed.
    InputError
        If there are no records, or the file cannot be written.
    """
    if not len(traj):
        raise InputError("the trajectory has no records; NetCDF has no place for none")
    path, dataset = Path(path), to_xarray(traj)
    # a dimension of length zero would read as one without an end
    dataset = dataset.drop_dims([name for name, size in dataset.sizes.items() if not size])
    with replacing(path) as stream:
        stream.write(dataset.to_netcdf(engine="scipy"))
    return path


# ---- MCAP -----------------------------------------------------------------------------------------

_NUMBER = {"type": "number"}
_TIME = {"type": "object", "title": "time", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}


def _object(**properties: dict) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _array(**properties: dict) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_TEXT, _VECTOR = {"type": "string"}, _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_NAMED = _array(name=_TEXT, value=_NUMBER)
_BOTH = _object(angular=_VECTOR, linear=_VECTOR)
#: Topic, name of the schema and schema. Those of Foxglove are its own, by their published names and fields; of the
#: optional fields of a joint those are given that a trajectory has.
_CHANNELS = {
    "/tf": ("foxglove.FrameTransforms", _object(transforms=_array(
        timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR,
        rotation=_object(x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)))),
    "/joint_states": ("foxglove.JointStates", _object(
        timestamp=_TIME, joints=_array(name=_TEXT, position=_NUMBER, velocity=_NUMBER))),
    "/state": ("vitree.State", _object(
        timestamp=_TIME, kinetic=_NUMBER, potential=_NUMBER, energy=_NUMBER, momentum=_BOTH, iterations=_NUMBER,
        residual=_NUMBER, q=_NAMED, v=_NAMED, p=_NAMED, constraint=_NAMED, multipliers=_NAMED)),
    "/monitors": ("vitree.Monitors", _object(
        timestamp=_TIME, energy=_NUMBER, momentum=_BOTH, constraint=_NUMBER, residual=_NUMBER, iterations=_NUMBER,
        contraction=_NUMBER)),
}  # fmt: skip


def to_mcap(traj: Trajectory, path: str | os.PathLike) -> Path:
    """Write an MCAP file for Foxglove, at once or not at all.

    Its topics: ``/tf`` (foxglove.FrameTransforms), the poses of the bodies, if the trajectory knows its system or has
    a film; ``/joint_states`` (foxglove.JointStates), the joints with one coordinate; ``/state``, all else of the
    records; ``/monitors``. The settings are its metadata. Values that are not finite are left out.

    Parameters
    ----------
    traj : Trajectory
    path : path

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If the package mcap is not installed.
    InputError
        If a time is negative, which the format does not know, or the file cannot be written.
    """
    try:
        from mcap.writer import Writer
    except ImportError:
        raise MissingExtraError("mcap", "mcap", "writing an MCAP file") from None
    if len(traj) and not traj.t.min() >= 0:
        raise InputError(f"MCAP has no times before zero, the run has t = {traj.t.min():g} s; start it with t0=0")
    path = Path(path)
    with replacing(path) as stream:
        writer = Writer(stream)
        writer.start(library="vitree")
        writer.add_metadata("vitree", {key: str(value) for key, value in _made(traj).items()})
        topics: dict[str, int] = {}
        streams = (_transforms(traj), _joint_states(traj), _states(traj), _monitored(traj))
        for sequence, (nanoseconds, topic, content) in enumerate(heapq.merge(*streams, key=lambda part: part[0])):
            if topic not in topics:
                name, schema = _CHANNELS[topic]
                text = json.dumps({"title": name, **schema}).encode()
                topics[topic] = writer.register_channel(topic, "json", writer.register_schema(name, "jsonschema", text))
            data = json.dumps(content, allow_nan=False).encode()
            writer.add_message(topics[topic], nanoseconds, data, nanoseconds, sequence)
        writer.finish()
    return path


def _moment(t: float) -> tuple[int, dict[str, int]]:
    """A time in nanoseconds, and as Foxglove has it."""
    nanoseconds = round(1e9 * t)
    return nanoseconds, {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9}


def _finite(names, values) -> dict[str, float]:
    return {name: float(x) for name, x in zip(names, values, strict=True) if np.isfinite(x)}


def _named(names, values) -> list[dict[str, Any]]:
    return [{"name": name, "value": x} for name, x in _finite(names, values).items()]


def _spatial(values) -> dict[str, dict[str, float]]:
    return {"angular": _finite("xyz", values[:3]), "linear": _finite("xyz", values[3:])}


def _transforms(traj: Trajectory) -> Iterator[tuple[int, str, dict]]:
    from vitree.drawing import film_of

    try:
        film = film_of(traj)
    except InputError:  # not all runs can be shown
        return
    bodies = film.drawing.bodies
    world = "world" if "world" not in bodies else "vitree_world"
    for t, poses in zip(film.t.tolist(), film.poses.astype(float).round(9).tolist(), strict=True):
        nanoseconds, timestamp = _moment(t)
        frames = [
            {"timestamp": timestamp, "parent_frame_id": world, "child_frame_id": name,
             "translation": _finite("xyz", pose[:3]), "rotation": _finite("xyzw", pose[3:])}
            for name, pose in zip(bodies, poses, strict=True)
        ]  # fmt: skip
        yield nanoseconds, "/tf", {"transforms": frames}


def _joint_states(traj: Trajectory) -> Iterator[tuple[int, str, dict]]:
    # joints with one coordinate have its name; a vehicle's x has no velocity of that name
    names = [name for name in traj.joint_names if name in traj.q_names and name in traj.v_names]
    q = traj.q[:, [traj.q_names.index(name) for name in names]]
    v = traj.v[:, [traj.v_names.index(name) for name in names]]
    for k in range(len(traj) if names else 0):
        nanoseconds, timestamp = _moment(traj.t[k])
        states = zip(names, q[k], v[k], strict=True)
        joints = [{"name": name, **_finite(("position", "velocity"), state)} for name, *state in states]
        yield nanoseconds, "/joint_states", {"timestamp": timestamp, "joints": joints}


def _states(traj: Trajectory) -> Iterator[tuple[int, str, dict]]:
    names = ("kinetic", "potential", "energy", "iterations", "residual")
    constraints = distinct(traj.constraint_names)
    scalars = np.column_stack([getattr(traj, name) for name in names])
    for k in range(len(traj)):
        nanoseconds, timestamp = _moment(traj.t[k])
        yield nanoseconds, "/state", {
            "timestamp": timestamp, **_finite(names, scalars[k]),
            "momentum": _spatial(traj.momentum[k]), "q": _named(traj.q_names, traj.q[k]),
            "v": _named(traj.v_names, traj.v[k]), "p": _named(traj.v_names, traj.p[k]),
            "constraint": _named(constraints, traj.constraint[k]),
            "multipliers": _named(constraints, traj.multipliers[k]),
        }  # fmt: skip


def _monitored(traj: Trajectory) -> Iterator[tuple[int, str, dict]]:
    scalars = [name for name, values in traj.monitors.items() if name != "t" and values.ndim == 1]
    for k, t in enumerate(traj.monitors.get("t", ())):
        nanoseconds, timestamp = _moment(t)
        content = {"timestamp": timestamp, **_finite(scalars, (traj.monitors[name][k] for name in scalars))}
        if "momentum" in traj.monitors:
            content["momentum"] = _spatial(traj.monitors["momentum"][k])
        yield nanoseconds, "/monitors", content


# ---- by ending ------------------------------------------------------------------------------------


def to_json(traj: Trajectory, path: str | os.PathLike) -> Path:
    """Write a trajectory as strict JSON: how it was made, columns with their units, monitors; null for NaN.

    Parameters
    ----------
    traj : Trajectory
    path : path

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    names = ("model_name", "method", "steps", "seconds", "settings", "monitors")
    content = {name: getattr(traj, name) for name in names} | {"versions": versions()}
    content["columns"] = {name: {"unit": unit, "values": x} for name, (x, unit) in columns(traj).items()}
    path = Path(path)
    with replacing(path) as stream:
        stream.write(json.dumps(no_nan(plain(content)), allow_nan=False).encode())
    return path


_WRITERS = {".npz": Trajectory.save, ".nc": to_netcdf, ".csv": to_csv, ".json": to_json, ".mcap": to_mcap}
#: What formats do not hold.
LEFT_OUT = {
    ".npz": "",
    ".nc": "pictures and what a run goes on from",
    ".csv": "settings, monitors, pictures and what a run goes on from",
    ".json": "pictures and what a run goes on from",
    ".mcap": "what a run goes on from",
}


def convert(traj: Trajectory, path: str | os.PathLike) -> Path:
    """Write a trajectory to a file, at once or not at all, in the format of its ending: .npz, .nc, .csv, .json, .mcap.

    Parameters
    ----------
    traj : Trajectory
    path : path

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If a package that the format needs is not installed.
    InputError
        If the ending is of no known format, or the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(f'{path} has the ending "{ending}"; a run is written as one of {", ".join(_WRITERS)}')
    return _WRITERS[ending](traj, path)
