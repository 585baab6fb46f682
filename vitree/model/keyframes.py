"""Keyframes: named states of a mechanism in a file, by the names of joints."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vitree.arguments import path_of
from vitree.errors import InputError, UnknownNameError, VitreeError
from vitree.model.model import Model
from vitree.writing import write_text

Values = Mapping[str, tuple[float, ...]]
#: What stands between a file and the name of one of its keyframes.
BETWEEN = "#"
#: A file of keyframes, and the name of one of them.
KEYFRAMES = re.compile(rf"(.+\.toml)(?:{BETWEEN}(.+))?$")
#: Tables of a keyframe.
TABLES = ("start", "velocities", "targets")


@dataclass(frozen=True)
class Keyframe:
    """A state by the names of joints.

    Attributes
    ----------
    start : mapping of str to tuple of float [m or rad]
        Coordinates of each joint.
    velocities : mapping of str to tuple of float [m/s or rad/s]
    targets : mapping of str to tuple of one float [m or rad]
        Of drives, by their joints.
    t : float [s]
        When it was taken.
    """

    start: Values
    velocities: Values = field(default_factory=dict)
    targets: Values = field(default_factory=dict)
    t: float = 0.0

    @classmethod
    def of(cls, model: Model, t: float, q: np.ndarray, v: np.ndarray, targets: Mapping[str, float]) -> Keyframe:
        """Return the keyframe of a state (q, v) of a model at a time [s]."""
        start = {joint.name: tuple(q[joint.q_slice].tolist()) for joint in model.joints}
        velocities = {joint.name: tuple(v[joint.v_slice].tolist()) for joint in model.joints}
        return cls(start, velocities, {joint: (float(x),) for joint, x in targets.items()}, float(t))

    def state(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,); joints that are not named are where the model starts, and rest.

        Raises
        ------
        InputError, UnknownNameError
            If the model has no such joint, or it has another number of coordinates.
        """
        q, v = model.start.copy(), model.zero_velocity()
        for values, array, place in ((self.start, q, "q_slice"), (self.velocities, v, "v_slice")):
            for name, numbers in values.items():
                where = getattr(model.joint(name), place)
                if len(numbers) != where.stop - where.start:
                    raise InputError(f'the keyframe has {len(numbers)} numbers for the joint "{name}" of '
                                     f'"{model.name}", which takes {where.stop - where.start}')  # fmt: skip
                array[where] = numbers
        return model.validate_configuration(q), v


def write_keyframes(path: str | os.PathLike[str], model: str, frames: Mapping[str, Keyframe]) -> Path:
    """Write keyframes of a model as a TOML file, at once or not at all; return its path."""
    lines = [f"model = {json.dumps(model)}"]
    for name, frame in frames.items():
        lines += ["", f"[keyframes.{json.dumps(name)}]", f"t = {float(frame.t)!r}"]
        for table in TABLES:
            values: Values = getattr(frame, table)
            if values:
                lines += ["", f"[keyframes.{json.dumps(name)}.{table}]"]
                lines += [f"{json.dumps(joint)} = [{', '.join(map(repr, map(float, numbers)))}]"
                          for joint, numbers in values.items()]  # fmt: skip
    path = path_of(path, "path")
    write_text(path, "\n".join(lines) + "\n")
    return path


def read_keyframes(path: str | os.PathLike[str]) -> dict[str, Keyframe]:
    """Return the keyframes of a file by their names.

    Raises
    ------
    InputError, UnknownNameError
        If the file cannot be read, or has other content; the text names the file and the key.
    """
    file = Path(os.path.expanduser(path_of(path, "path")))
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file.name} is no TOML: {error}") from None
    frames = content.get("keyframes")
    if not isinstance(frames, dict) or not frames:
        raise InputError(f"{file.name} has no keyframes; it needs tables [keyframes.NAME.start]")
    try:
        return {name: _frame(frame, f"keyframes.{name}") for name, frame in frames.items()}
    except VitreeError as error:
        error.args = (f"{file.name}: {error.args[0]}", *error.args[1:])
        raise


def keyframe_at(word: str) -> Keyframe | None:
    """Return the keyframe that FILE.toml#NAME names, or the only one of FILE.toml; None if the word is neither.

    Raises
    ------
    InputError, UnknownNameError
        If the file cannot be read, or has no such keyframe, or several and none is named.
    """
    found = KEYFRAMES.match(word)
    if found is None:
        return None
    frames, name = read_keyframes(found[1]), found[2]
    if name is None and len(frames) > 1:
        raise InputError(f"{found[1]} has several keyframes; name one, such as {found[1]}{BETWEEN}{next(iter(frames))}")
    name = next(iter(frames)) if name is None else name
    if name not in frames:
        raise UnknownNameError("keyframe", name, [*frames])
    return frames[name]


def _frame(frame: object, where: str) -> Keyframe:
    if not isinstance(frame, dict):
        raise InputError(f"{where} is {frame!r}; it must be a table")
    for key in frame:
        if key not in ("t", *TABLES):
            raise UnknownNameError(f"key of {where}", key, ("t", *TABLES))
    if not isinstance(frame.get("start"), dict):
        raise InputError(f"{where} has no table start, with coordinates by the names of joints")
    t = frame.get("t", 0.0)
    if type(t) not in (int, float) or not np.isfinite(t):
        raise InputError(f"{where}.t is {t!r}; it must be a number")
    start, velocities, targets = (_values(frame.get(table, {}), f"{where}.{table}") for table in TABLES)
    return Keyframe(start, velocities, targets, float(t))


def _values(table: object, where: str) -> Values:
    if not isinstance(table, dict):
        raise InputError(f"{where} is {table!r}; it must be a table of numbers by the names of joints")
    found = {}
    for joint, numbers in table.items():
        several = numbers if isinstance(numbers, list) else [numbers]
        if not several or not all(type(x) in (int, float) and np.isfinite(x) for x in several):
            raise InputError(f"{where}.{joint} is {numbers!r}; it must be a number, or a list of finite numbers")
        found[joint] = tuple(map(float, several))
    return found
