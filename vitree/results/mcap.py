"""Runs as MCAP files for Foxglove."""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from vitree.arguments import path_of
from vitree.errors import InputError, MissingExtraError
from vitree.model.system import System
from vitree.results.filming import film_of
from vitree.results.recording import Recording
from vitree.results.units import CERTIFICATE, CONTACT, contact_columns, distinct, made
from vitree.writing import replacing

#: A schema of JSON.
Schema = dict[str, object]
#: Time [ns], topic and content of a message.
Message = tuple[int, str, dict[str, object]]

_NUMBER: Schema = {"type": "number"}
_TIME: Schema = {"type": "object", "title": "time",
                 "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}  # fmt: skip


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _array(**properties: Schema) -> Schema:
    return {"type": "array", "items": _object(**properties)}


_TEXT: Schema = {"type": "string"}
_VECTOR = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_NAMED = _array(name=_TEXT, value=_NUMBER)
_BOTH = _object(angular=_VECTOR, linear=_VECTOR)
#: Topic, name of the schema and schema. Foxglove's schemas have their published names and fields. A joint has those of
#: the optional fields that a trajectory knows.
CHANNELS = {
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
        contraction=_NUMBER, certificate=_object(**dict.fromkeys(CERTIFICATE, _NUMBER)),
        drive_forces={"type": "array", "items": _NUMBER}, gap=_NUMBER, contact_work=_NUMBER, momentum_balance=_BOTH)),
    "/contacts": ("vitree.Contacts", _object(timestamp=_TIME, contacts=_array(
        a=_TEXT, b=_TEXT, **dict.fromkeys(CONTACT, _VECTOR), gap=_NUMBER))),
}  # fmt: skip


def to_mcap(traj: Recording, path: str | os.PathLike[str]) -> Path:
    """Write an MCAP file for Foxglove, at once or not at all.

    The topics are ``/tf`` (foxglove.FrameTransforms), the poses of the bodies, if the trajectory knows its system or
    has a film; ``/joint_states`` (foxglove.JointStates), the joints with one coordinate; ``/state``, the rest of the
    records; ``/monitors``; and ``/contacts``, those of the step to each record. The metadata hold the settings. Values
    that are not finite are left out. Arguments and result as for :func:`vitree.results.export.to_csv`.

    Raises
    ------
    MissingExtraError
        If the package mcap is not installed.
    InputError
        If a time is negative, or the file cannot be written.
    """
    try:
        from mcap.writer import Writer
    except ImportError:
        raise MissingExtraError("mcap", "mcap", "writing an MCAP file") from None
    if len(traj) and not traj.t.min() >= 0:
        raise InputError(f"MCAP has no negative times, but the run has t = {traj.t.min():g} s; start it with t0=0")
    path = path_of(path)
    with replacing(path) as stream:
        writer = Writer(stream)
        writer.start(library="vitree")
        writer.add_metadata("vitree", {key: str(value) for key, value in made(traj).items()})
        topics: dict[str, int] = {}
        streams = (_transforms(traj), _joint_states(traj), _states(traj), _monitored(traj), _touching(traj))
        for sequence, (nanoseconds, topic, content) in enumerate(heapq.merge(*streams, key=lambda part: part[0])):
            if topic not in topics:
                name, schema = CHANNELS[topic]
                text = json.dumps({"title": name, **schema}).encode()
                topics[topic] = writer.register_channel(topic, "json", writer.register_schema(name, "jsonschema", text))
            data = json.dumps(content, allow_nan=False).encode()
            writer.add_message(topics[topic], nanoseconds, data, nanoseconds, sequence)
        writer.finish()
    return path


def _timestamp(t: float) -> tuple[int, dict[str, int]]:
    """Return a time in nanoseconds, and in the form of Foxglove."""
    nanoseconds = round(1e9 * t)
    return nanoseconds, {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9}


def _finite(names: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    return {name: float(x) for name, x in zip(names, values, strict=True) if np.isfinite(x)}


def _named(names: Iterable[str], values: Iterable[float]) -> list[dict[str, str | float]]:
    return [{"name": name, "value": x} for name, x in _finite(names, values).items()]


def _spatial(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {"angular": _finite("xyz", values[:3]), "linear": _finite("xyz", values[3:])}


def frame_transforms(bodies: Sequence[str], t: float, poses: np.ndarray) -> Message:
    """Return the message of the ``poses`` (n, 7) of bodies at a time [s]: position [m] and quaternion (x, y, z, w)."""
    world = "world" if "world" not in bodies else "vitree_world"
    nanoseconds, timestamp = _timestamp(t)
    frames = [
        {"timestamp": timestamp, "parent_frame_id": world, "child_frame_id": name,
         "translation": _finite("xyz", pose[:3]), "rotation": _finite("xyzw", pose[3:])}
        for name, pose in zip(bodies, poses.tolist(), strict=True)
    ]  # fmt: skip
    return nanoseconds, "/tf", {"transforms": frames}


def joint_states(names: Sequence[str], t: float, q: np.ndarray, v: np.ndarray) -> Message:
    """Return the message of the positions q and velocities v (n,) of joints with one coordinate, at a time [s]."""
    nanoseconds, timestamp = _timestamp(t)
    joints = [{"name": name, **_finite(("position", "velocity"), state)}
              for name, *state in zip(names, q, v, strict=True)]  # fmt: skip
    return nanoseconds, "/joint_states", {"timestamp": timestamp, "joints": joints}


def of_one_coordinate(system: System | Recording) -> list[str]:
    """Return the names of the joints with one coordinate, which share its name.

    The coordinate x of a vehicle has no velocity "x".
    """
    return [name for name in system.joint_names if name in system.q_names and name in system.v_names]


def _transforms(traj: Recording) -> Iterator[Message]:
    try:
        film = film_of(traj)
    except InputError:  # the run has no pictures
        return
    bodies = film.drawing.bodies
    for t, poses in zip(film.t.tolist(), film.poses.astype(float).round(9), strict=True):
        yield frame_transforms(bodies, t, poses)


def _joint_states(traj: Recording) -> Iterator[Message]:
    names = of_one_coordinate(traj)
    q = traj.q[:, [traj.q_names.index(name) for name in names]]
    v = traj.v[:, [traj.v_names.index(name) for name in names]]
    for k in range(len(traj) if names else 0):
        yield joint_states(names, traj.t[k], q[k], v[k])


def _states(traj: Recording) -> Iterator[Message]:
    names = ("kinetic", "potential", "energy", "iterations", "residual")
    constraints = distinct(traj.constraint_names)
    scalars = np.column_stack([getattr(traj, name) for name in names])
    for k in range(len(traj)):
        nanoseconds, timestamp = _timestamp(traj.t[k])
        yield nanoseconds, "/state", {
            "timestamp": timestamp, **_finite(names, scalars[k]),
            "momentum": _spatial(traj.momentum[k]), "q": _named(traj.q_names, traj.q[k]),
            "v": _named(traj.v_names, traj.v[k]), "p": _named(traj.v_names, traj.p[k]),
            "constraint": _named(constraints, traj.constraint[k]),
            "multipliers": _named(constraints, traj.multipliers[k]),
        }  # fmt: skip


def _monitored(traj: Recording) -> Iterator[Message]:
    scalars = [name for name, values in traj.monitors.items() if name != "t" and values.ndim == 1]
    for k, t in enumerate(traj.monitors.get("t", ())):
        nanoseconds, timestamp = _timestamp(t)
        numbers = _finite(scalars, (traj.monitors[name][k] for name in scalars))
        content: dict[str, object] = {"timestamp": timestamp, **numbers}
        for name in {"momentum", "momentum_balance"} & traj.monitors.keys():
            content[name] = _spatial(traj.monitors[name][k])
        if "certificate" in traj.monitors:
            content["certificate"] = _finite(CERTIFICATE, traj.monitors["certificate"][k])
        if "drive_forces" in traj.monitors and np.isfinite(traj.monitors["drive_forces"][k]).all():
            content["drive_forces"] = traj.monitors["drive_forces"][k].tolist()
        yield nanoseconds, "/monitors", content


def _touching(traj: Recording) -> Iterator[Message]:
    if traj.contacts is None:
        return
    found = {name: values for name, (values, _) in contact_columns(traj).items()}
    ends = np.searchsorted(found["record"], np.arange(len(traj) + 1))
    for k in range(len(traj)):
        nanoseconds, timestamp = _timestamp(traj.t[k])
        rows = [
            {"a": str(found["a"][i]), "b": str(found["b"][i]), "gap": float(found["gap"][i])}
            | {name: _finite("xyz", (found[f"{name}.{axis}"][i] for axis in "xyz")) for name in CONTACT}
            for i in range(ends[k], ends[k + 1])
        ]
        yield nanoseconds, "/contacts", {"timestamp": timestamp, "contacts": rows}
