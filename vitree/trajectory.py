"""Trajectory: what a run computed, with names and units; saved to and loaded from one file."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vitree.errors import InputError

if TYPE_CHECKING:
    import pandas
    import xarray

    from vitree.drawing import Film
    from vitree.system import System

#: Version of the file format; a reader refuses files of a later one.
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
    "film: t": "s",
    "film: poses": "m, and quaternion (x, y, z, w); world axes",
}
_NAMES = ("joint_names", "q_names", "v_names", "constraint_names")
#: What files of format 1 do not have.
_SINCE_2 = ("constraint_names", "constraint", "multipliers")
#: Before the names of monitors in files.
_MONITOR = "monitor: "
#: Before the arrays of a film.
_FILM = "film: "
#: Fields that are not in the header.
_APART = ("monitors", "checkpoint", "system", "film", "about")
_COUNTS = ("iterations_total", "iterations_max", "steps")


class State(NamedTuple):
    """One record of a trajectory; shapes and units as in :class:`Trajectory`."""

    t: float
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    kinetic: float
    potential: float
    momentum: np.ndarray

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic + self.potential


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectory:
    """The recorded states of one run.

    ``traj[5]`` is one :class:`State`, ``traj[::10]`` (or an array of indices) a shorter
    trajectory, ``traj.at(0.5)`` the record nearest to a time. Counts and seconds stay those of
    the whole run.

    Attributes
    ----------
    model_name, method : str
    joint_names, q_names, v_names : tuple of str
    settings : dict
        How the run was made, in types that JSON knows.
    t : (n,) [s]
    q : (n, nq), v : (n, nv), p : (n, nv)
        Configuration, velocity and momentum.
    kinetic, potential : (n,) [J]
    momentum : (n, 6)
        Angular about the world's origin [kg m^2/s], then linear [kg m/s]; world axes.
    iterations : (n,) int
        Corrections of the step that ended at the record; zero at the start.
    residual : (n,)
        What that step left of its equations, in units of p.
    constraint : (n, m) [m or rad]
        How far the constraints of ``constraint_names`` are off, h(q).
    multipliers : (n, m) [N or N m]
        The constraints act on the joints with the force Dh(q)^T multipliers. Of a variational method it is that
        at the start of the step that ended at the record; NaN at the start of the run.
    iterations_total, iterations_max, steps : int
        Over all steps, recorded or not.
    seconds : float
        Time spent stepping [s].
    monitors : dict of str to (steps, ...) array
        What ``simulate(monitors=)`` asked for, a row for each step, recorded or not, and ``t`` of their ends; units as
        in ``vitree.monitors.MONITORS``.
    checkpoint : (bytes,) array
        What ``simulate(resume=)`` goes on from; empty if the last record is not the run's end.
    system : System or None
        What was simulated; not kept in files.
    film : Film or None
        Of a run from a file: what a viewer shows.
    about : dict or None
        Of a run from a file: what it knows of its system, as :func:`vitree.export.about` has it.

    Raises
    ------
    InputError
        If an array has another shape than the names say.
    """

    model_name: str
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    method: str
    settings: dict[str, Any]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    momentum: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    iterations_total: int
    iterations_max: int
    steps: int
    seconds: float
    constraint_names: tuple[str, ...] = ()
    constraint: Any = None
    multipliers: Any = None
    monitors: Any = None
    checkpoint: Any = None
    system: System | None = None
    film: Film | None = None
    about: dict[str, Any] | None = None

    def __post_init__(self):
        n, nq, nv, m = np.size(self.t), len(self.q_names), len(self.v_names), len(self.constraint_names)
        for name in ("constraint", "multipliers"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full((n, m), np.nan))
        for name, shape in _shapes(n, nq, nv, m).items():
            array = np.asarray(getattr(self, name), dtype=int if name == "iterations" else float)
            if array.shape != shape:
                raise InputError(f"trajectory.{name} has shape {array.shape}; it must be {shape}")
            object.__setattr__(self, name, array)
        object.__setattr__(self, "monitors", dict(self.monitors or {}))
        object.__setattr__(self, "checkpoint", np.array(() if self.checkpoint is None else self.checkpoint, np.uint8))
        for name in _NAMES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in _COUNTS:
            object.__setattr__(self, name, int(getattr(self, name)))
        object.__setattr__(self, "seconds", float(self.seconds))
        object.__setattr__(self, "settings", plain(self.settings))

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all of it, but a system that cannot be; what a file keeps of it stands in."""
        state = dict(vars(self))
        try:
            pickle.dumps(self.system)
        except Exception:  # a load may hold anything, such as a lambda
            from vitree.drawing import film_of
            from vitree.export import about

            state |= {"system": None, "about": about(self)}
            with contextlib.suppress(InputError):
                state["film"] = film_of(self)
        return state

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy, (n,) [J]."""
        return self.kinetic + self.potential

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index):
        if isinstance(index, slice | np.ndarray | list):
            parts = {name: getattr(self, name)[index] for name in _shapes()}
            ends = len(parts["t"]) and len(self) and parts["t"][-1] == self.t[-1]
            film = None if self.film is None or not len(parts["t"]) else self.film.between(parts["t"])
            return replace(self, **parts, film=film, checkpoint=self.checkpoint if ends else None)
        try:
            index = operator.index(index)
        except TypeError:
            raise InputError(
                f"a trajectory is indexed by a whole number, a slice or an array of indices, "
                f"not by {index!r}; use .at(t) for a time"
            ) from None
        return State(*(getattr(self, name)[index] for name in State._fields))

    def at(self, t: float) -> State:
        """Return the record nearest to the time ``t`` [s].

        Raises
        ------
        InputError
            If the time lies outside what was recorded.
        """
        if not len(self):
            raise InputError("the trajectory has no records")
        low, high = float(np.min(self.t)), float(np.max(self.t))
        slack = 1e-9 * max(abs(low), abs(high))
        if not low - slack <= t <= high + slack:  # NaN lands here too
            raise InputError(f"t = {t} s was not recorded; choose from {low:g} to {high:g} s")
        return self[int(np.argmin(np.abs(self.t - t)))]

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else "empty"
        return (
            f"<vitree.Trajectory {self.model_name!r} by {self.method}: {len(self)} records, "
            f"{span}, {self.steps} steps>"
        )

    def save(self, path: str | os.PathLike) -> Path:
        """Write everything to the .npz file ``path``, at once or not at all, and return where it is.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from vitree.drawing import film_of
        from vitree.export import about

        path = Path(path)
        header = {name: getattr(self, name) for name in _header_names()}
        header |= {"format": FORMAT, "kind": "vitree trajectory", "units": UNITS, **versions()}
        if (known := about(self)) is not None:
            header["about"] = known
        arrays = {name: getattr(self, name) for name in (*_shapes(), "checkpoint")}
        arrays |= {_MONITOR + name: rows for name, rows in self.monitors.items()}
        with contextlib.suppress(InputError):  # not all runs can be shown
            film = film_of(self)
            header["drawing"] = film.drawing.plain()
            arrays |= {_FILM + "t": film.t, _FILM + "poses": film.poses}
        with replacing(path) as stream:
            np.savez(stream, header=np.array(json.dumps(header)), **arrays)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trajectory:
        """Return what :meth:`save` wrote to the file ``path``.

        Raises
        ------
        InputError
            If the file is missing, damaged, of another kind or of a later format.
        """
        from vitree.drawing import Drawing, Film

        path = Path(path)
        remedy = "give a file written by Trajectory.save or 'vitree simulate'"
        try:
            with open(path, "rb") as stream, _opened(stream) as file:
                header = json.loads(str(file["header"]))
                if header.get("kind") != "vitree trajectory":
                    raise ValueError("its header is of another kind")
                if header["format"] > FORMAT:
                    raise InputError(
                        f"format {header['format']}, written by vitree {header.get('vitree')}; "
                        f"this vitree reads up to format {FORMAT}: upgrade it"
                    )
                later = set(_SINCE_2) if header["format"] < 2 else set()
                _check_header(header, set(_NAMES) - later)
                required = set(_shapes()) - later
                arrays = {name: file[name] for name in (*_shapes(), "checkpoint") if name in file or name in required}
                watched = [name for name in file if name.startswith(_MONITOR)]
                arrays["monitors"] = {name.removeprefix(_MONITOR): file[name] for name in watched}
                if "about" in header:
                    units = {of: tuple(names) for of, names in header["about"]["units"].items()}
                    arrays["about"] = {**header["about"], "units": units}
                if "drawing" in header:
                    drawing = Drawing.from_plain(header["drawing"])
                    arrays["film"] = Film(drawing, file[_FILM + "t"], file[_FILM + "poses"])
            return cls(**{name: header[name] for name in _header_names() if name not in later}, **arrays)
        except FileNotFoundError:
            raise InputError(f"there is no file {path}; {remedy}") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except Exception as error:  # whatever the readers of damaged archives, arrays and texts raise
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{path} is not a whole vitree trajectory ({reason}); {remedy}"
            ) from None

    # ---- for other programs, and pictures ---------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as one table; see :func:`vitree.export.to_pandas`."""
        from vitree.export import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> xarray.Dataset:
        """Return a dataset with named dimensions and units; see :func:`vitree.export.to_xarray`."""
        from vitree.export import to_xarray

        return to_xarray(self)

    def to_netcdf(self, path: str | os.PathLike) -> Path:
        """Write a NetCDF file; see :func:`vitree.export.to_netcdf`."""
        from vitree.export import to_netcdf

        return to_netcdf(self, path)

    def to_csv(self, path: str | os.PathLike) -> Path:
        """Write the records as text in columns; see :func:`vitree.export.to_csv`."""
        from vitree.export import to_csv

        return to_csv(self, path)

    def to_mcap(self, path: str | os.PathLike) -> Path:
        """Write an MCAP file for Foxglove; see :func:`vitree.export.to_mcap`."""
        from vitree.export import to_mcap

        return to_mcap(self, path)

    def plot(self, what: str = "energy", path: str | os.PathLike | None = None, **options: Any) -> Any:
        """Draw one of ``vitree.plot.PLOTS``; return the matplotlib figure, saved to ``path``.

        Parameters
        ----------
        what : str
            A name of ``vitree.plot.PLOTS``: energy, energy_error, momentum, coordinates, phase, constraint, iterations,
            residual.
        path : path, optional
            File to write (.png, .pdf, .svg ...); see :func:`vitree.plot.save`.
        **options
            Of the plot.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (extra "plot").
        UnknownNameError
            If there is no such plot.
        InputError
            If there is nothing to draw, or the file cannot be written.
        """
        from vitree.plot import figure_of, save

        figure = figure_of(what, self, **options)
        if path is not None:
            save(figure, path)
        return figure


def _shapes(n: int = 0, nq: int = 0, nv: int = 0, m: int = 0) -> dict[str, tuple[int, ...]]:
    return {
        "t": (n,), "q": (n, nq), "v": (n, nv), "p": (n, nv), "kinetic": (n,), "potential": (n,),
        "momentum": (n, 6), "iterations": (n,), "residual": (n,), "constraint": (n, m), "multipliers": (n, m),
    }  # fmt: skip


def _header_names() -> list[str]:
    return [f.name for f in fields(Trajectory) if f.name not in (*_shapes(), *_APART)]


def _check_header(header: dict[str, Any], names: set[str]) -> None:
    """Raise a ValueError if what a file says of a run is of another kind than what runs have."""
    counts = {"q": len(header["q_names"]), "v": len(header["v_names"]), "p": len(header["v_names"])}
    about = header.get("about", {})
    units = about.get("units", {of: [""] * count for of, count in counts.items()})
    lists = {name: header[name] for name in names} | {f"units of {of}": units[of] for of in counts}
    for what, content in lists.items():
        if not (isinstance(content, list) and all(isinstance(part, str) for part in content)):
            raise ValueError(f"its {what} are no list of words")
    for of, count in counts.items():
        if len(units[of]) != count:
            raise ValueError(f"it has {len(units[of])} units of {count} entries of {of}")
    for what, kind in (("model_name", str), ("method", str), ("settings", dict)):
        if not isinstance(header[what], kind):
            raise ValueError(f"its {what} is {header[what]!r}")
    if about and np.asarray(about["gravity"], dtype=float).shape != (3,):
        raise ValueError(f"its gravity is {about['gravity']!r}")
    if about and not float(about["total_mass"]) >= 0:
        raise ValueError(f"its total mass is {about['total_mass']!r}")
    if not isinstance(header["settings"].get("dt", 0.0), int | float):
        raise ValueError(f"its dt is {header['settings']['dt']!r}")


def _opened(stream):
    """The arrays of an .npz file, which is a zip archive; NumPy takes what is none for pickled data."""
    if stream.peek(2)[:2] != b"PK":
        raise ValueError("it is not an .npz file")
    return np.load(stream, allow_pickle=False)


@contextlib.contextmanager
def replacing(path: Path):
    """Open a binary file beside ``path`` that takes its place only if the block succeeds."""
    # short enough for any file system, and no other thread's or ended process's
    temporary = path.with_name(f".{path.name[:40]}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        try:
            with open(temporary, "xb") as stream:
                yield stream
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; choose another place"
        ) from None


def plain(value: Any) -> Any:
    """Turn a value into types that JSON knows: arrays to lists, unknown objects to their repr."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    name = getattr(value, "__qualname__", None)  # a function: its name, not its address
    return name if name else repr(value)


def no_nan(value: Any) -> Any:
    """Replace NaN and infinities by None, for strict JSON."""
    if isinstance(value, dict):
        return {key: no_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [no_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, Any]:
    """Return what a result was computed with: versions, and how many numbers the processor takes at once."""
    import platform

    import scipy

    from vitree._core import width

    return {
        "vitree": package_version(), "numpy": np.__version__, "scipy": scipy.__version__,
        "python": platform.python_version(), "platform": platform.platform(), "width": width(),
    }  # fmt: skip


def package_version() -> str:
    """Return the version of vitree."""
    from vitree import __version__

    return __version__
