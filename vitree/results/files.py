"""Runs in .npz files of our own."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from vitree.arguments import JsonObject, Keywords, path_of, shown
from vitree.errors import InputError
from vitree.results.contacts import ContactLog
from vitree.results.drawing import Drawing
from vitree.results.driven import PARTS, Driven
from vitree.results.film import Film
from vitree.results.filming import film_of
from vitree.results.plain import versions
from vitree.results.recording import NAMES, Recording, shapes
from vitree.results.units import about
from vitree.wording import brief
from vitree.writing import replacing

R = TypeVar("R", bound=Recording)

#: Number of the file format; files of another one are refused.
FORMAT = 3
#: Units by field; "joint" means m or rad by the kind of the joint.
UNITS = {
    "t": "s",
    "q": "joint: m, rad or quaternion (x, y, z, w)",
    "v": "joint: m/s or rad/s",
    "p": "joint: kg m/s or kg m^2/s",
    "kinetic": "J",
    "potential": "J",
    "momentum": "kg m^2/s (3, angular about the world's origin), kg m/s (3, linear), world axes",
    "iterations": "Newton corrections",
    "residual": "units of p",
    "constraint": "m or rad",
    "multipliers": "N or N m",
    "seconds": "s",
    "checkpoint": "bytes",
    "stages": "as v",
    "halves": "t [s], and as q, v and p",
    "contacts: rows": "record, number, impulse [N s] (3), slip velocity [m/s] (3), gap [m]",
    "contacts: places": "point [m] (3), normal (3), gap [m] where the impulse acts",
    "contacts: dt": "s",
    "drive: torque": "joint: N or N m",
    "drive: inputs": "as the loads take them",
    "drive: accelerations": "joint: m/s^2 or rad/s^2",
    "film: t": "s",
    "film: poses": "m, and quaternion (x, y, z, w); world axes",
}
#: Fields that are None in most runs.
_OPTIONAL = ("stages", "halves")
#: Prefix of the names of monitors in files.
_MONITOR = "monitor: "
#: The contacts in files.
_CONTACTS = "contacts: "
#: What drove the run in files.
_DRIVE = "drive: "
#: Prefix of the names of a film's arrays in files.
_FILM = "film: "
#: Files hold plain numbers; a file may be compressed by others to this share of the numbers' bytes.
MOST_INFLATED = 20
#: What the settings are that vitree reads itself; those of methods are checked where a run goes on.
_SETTINGS: dict[str, Callable[..., bool]] = {
    "dt": lambda x: _is_number(x) and x > 0,
    "dt_range": lambda x: isinstance(x, list) and len(x) == 2 and all(map(_is_number, x)),
    "record_every": lambda x: type(x) is int and x >= 0,
    "halved": lambda x: type(x) is int and x >= 0,
    "order": lambda x: type(x) is int and x >= 1,
    "options": lambda x: isinstance(x, dict),
    "auto": lambda x: isinstance(x, dict),
    "warnings": lambda x: isinstance(x, list) and all(isinstance(text, str) for text in x),
    "model_digest": lambda x: isinstance(x, str),
    "driven": lambda x: isinstance(x, bool),
}
#: Fields that are not in the header.
_APART = ("monitors", "checkpoint", "stages", "halves", "contacts", "drive", "system", "film", "about")


def write(run: Recording, path: str | os.PathLike[str]) -> Path:
    """Write a run to a file, at once or not at all, and return where it is.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = path_of(path)
    header = {name: getattr(run, name) for name in _header_names()}
    if told := list(getattr(run, "warnings", ())):  # also those that are worked out when they are asked for
        header["settings"] = {**run.settings, "warnings": told}
    header |= {"format": FORMAT, "kind": "vitree trajectory", "units": UNITS, **versions()}
    if (known := about(run)) is not None:
        header["about"] = known
    arrays = {name: getattr(run, name) for name in (*shapes(), "checkpoint")}
    arrays |= {_MONITOR + name: rows for name, rows in run.monitors.items()}
    if run.drive is not None:
        arrays |= {_DRIVE + name: rows for name, rows in run.drive.arrays().items()}
        header["driven"] = True
    arrays |= {name: getattr(run, name) for name in _OPTIONAL if getattr(run, name) is not None}
    if run.contacts is not None:
        header["contacts"] = run.contacts.names
        arrays |= {_CONTACTS + name: np.asarray(getattr(run.contacts, name)) for name in ("rows", "places", "dt")}
    with contextlib.suppress(InputError):  # a run that cannot be shown has no film
        film = film_of(run)
        header["drawing"] = film.drawing.plain()
        arrays |= {_FILM + "t": film.t, _FILM + "poses": film.poses}
    with replacing(path) as stream:
        np.savez(stream, header=np.array(json.dumps(header)), **arrays)
    return path


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write arrays to an .npz file, at once or not at all, and return where it is.

    Raises an InputError if the file cannot be written.
    """
    path = path_of(path)
    with replacing(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    return path


def read(path: str | os.PathLike[str], kind: type[R]) -> R:
    """Return the run that :func:`write` wrote, as an object of a kind.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another kind or of another format.
    """
    path = path_of(path)
    remedy = "give a run, as 'vitree simulate' or Trajectory.save writes it"
    try:
        with open(path, "rb") as stream:
            file = Arrays(stream)
            header = json.loads(str(file["header"]))
            if header.get("kind") != "vitree trajectory":
                raise ValueError("its header is of another kind")
            if header["format"] != FORMAT:
                remedy = "upgrade vitree" if header["format"] > FORMAT else "simulate again, and save that run"
                raise InputError(
                    f"its format is {shown(header['format'])}, written by vitree {shown(header.get('vitree'))}; "
                    f"this vitree reads format {FORMAT}: {remedy}"
                )
            _check_header(header, NAMES)
            names = [*shapes(), "checkpoint", *(name for name in _OPTIONAL if name in file)]
            arrays: Keywords = {name: file[name] for name in names}
            monitors = {name.removeprefix(_MONITOR): file[name] for name in file.names if name.startswith(_MONITOR)}
            arrays["monitors"] = monitors
            if len({rows.shape[:1] for rows in monitors.values()} | {()}) > 2:
                raise ValueError("its monitors are not of the same steps")
            if "driven" in header:
                found = {name: file[_DRIVE + name] for name in PARTS if _DRIVE + name in file}
                arrays["drive"] = Driven(len(arrays["t"]), **found)
                arrays["drive"].arrays()
            if "contacts" in header:
                arrays["contacts"] = ContactLog(
                    file[_CONTACTS + "rows"], header["contacts"], file[_CONTACTS + "places"], file[_CONTACTS + "dt"]
                )
            if "about" in header:
                units = {of: tuple(names) for of, names in header["about"]["units"].items()}
                arrays["about"] = {**header["about"], "units": units}
            if "drawing" in header:
                drawing = Drawing.from_plain(header["drawing"])
                arrays["film"] = Film(drawing, file[_FILM + "t"], file[_FILM + "poses"], os.path.abspath(path))
        return kind(**{name: header[name] for name in _header_names()}, **arrays)
    except FileNotFoundError:
        raise InputError(f"there is no file {brief(path)}; {remedy}") from None
    except InputError as error:
        raise InputError(f"{brief(path)}: {error}") from None
    except Exception as error:  # readers of damaged archives, arrays and texts raise errors of many kinds
        text = str(getattr(error, "strerror", None) or error)  # without the path
        reason = brief(text.splitlines()[0]) if text else type(error).__name__
        raise InputError(f"{brief(path)} is not a whole vitree trajectory ({reason}); {remedy}") from None


def _header_names() -> list[str]:
    return [f.name for f in fields(Recording) if f.name not in (*shapes(), *_APART)]


def _check_header(header: JsonObject, names: Iterable[str]) -> None:
    """Raise a ValueError if an entry of a header has another type or length than in a header of ours."""
    counts = {"q": len(header["q_names"]), "v": len(header["v_names"]), "p": len(header["v_names"])}
    about = header.get("about", {})
    units = about.get("units", {of: [""] * count for of, count in counts.items()})
    lists = {name: header[name] for name in names} | {f"units of {of}": units[of] for of in counts}
    for what, content in lists.items():
        if not (isinstance(content, list) and all(isinstance(part, str) for part in content)):
            raise ValueError(f"its {what} are no list of words")
    for of, count in counts.items():
        if len(units[of]) != count:
            raise ValueError(f"it has {len(units[of])} units for {count} entries of {of}")
    for what, kind in (("model_name", str), ("method", str), ("settings", dict)):
        if not isinstance(header[what], kind):
            raise ValueError(f"its {what} is {header[what]!r}")
    if about and np.asarray(about["gravity"], dtype=float).shape != (3,):
        raise ValueError(f"its gravity is {about['gravity']!r}")
    if about and not float(about["total_mass"]) >= 0:
        raise ValueError(f"its total mass is {about['total_mass']!r}")
    for name, value in header["settings"].items():
        if name in _SETTINGS and not _SETTINGS[name](value):
            raise ValueError(f"its setting {name} is {shown(value)}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


class Arrays:
    """The arrays of an .npz file by their names; what an array says about itself is checked before memory is taken.

    Raises a ValueError if the file is no .npz file, or holds more than one of its size can.

    Parameters
    ----------
    stream : binary file
        It stays open while arrays are read.
    """

    def __init__(self, stream: IO[bytes]):
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if stream.read(2) != b"PK":
            raise ValueError("it is not an .npz file")
        self._zip = zipfile.ZipFile(stream)
        entries = self._zip.infolist()
        self.names = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if sum(entry.file_size for entry in entries) > MOST_INFLATED * size + 2**20:
            raise ValueError("it is a small archive that inflates to a large one")
        if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
            raise ValueError("its compression is not that of .npz files")

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self.names[name]
        with self._zip.open(entry) as stream:
            version = np.lib.format.read_magic(stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
            shape, fortran, kind = read(stream)
            if kind.kind not in ("U" if name == "header" else "fiu") or kind.names is not None or kind.subdtype:
                raise ValueError(f'its array "{name}" is of the type {kind}')
            if math.prod(shape) * kind.itemsize + stream.tell() != entry.file_size:
                raise ValueError(f'its array "{name}" does not have the size that it declares')
            data = stream.read()
        array = np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C")
        return array if name == "header" else array.astype(kind.newbyteorder("="), order="C")
