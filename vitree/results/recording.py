"""Recording: the recorded states of one run, with names. :class:`vitree.Trajectory` adds files and pictures."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import JsonObject, entries, mapping, numbers_of, of_kind, real, several, shown, told, whole
from vitree.errors import InputError
from vitree.integrators.gauss import STAGES
from vitree.model.contacts import ContactMethods, origins_of
from vitree.model.system import System
from vitree.results.contacts import ContactLog
from vitree.results.dense import SLACK, Moment, states_at
from vitree.results.driven import Driven
from vitree.results.plain import nothing, plain, read_only

if TYPE_CHECKING:
    from vitree.results.film import Film

NAMES = ("joint_names", "q_names", "v_names", "constraint_names")
COUNTS = ("iterations_total", "iterations_max", "steps")


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
class Recording:
    """The recorded states of one run; the fields are those of :class:`vitree.Trajectory`."""

    model_name: str
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    method: str
    settings: JsonObject
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
    # by factories, which leave no attribute of the class: those not there yet are asked of the source
    constraint_names: tuple[str, ...] = field(default_factory=tuple)
    constraint: np.ndarray = field(default_factory=nothing)
    multipliers: np.ndarray = field(default_factory=nothing)
    monitors: dict[str, np.ndarray] = field(default_factory=nothing)
    contacts: ContactLog | None = field(default_factory=nothing)
    checkpoint: Any = field(default_factory=nothing)
    system: System | None = field(default_factory=nothing)
    film: Film | None = field(default_factory=nothing)
    about: JsonObject | None = field(default_factory=nothing)
    stages: np.ndarray | None = field(default_factory=nothing)
    drive: Driven | None = field(default_factory=nothing)
    halves: np.ndarray | None = field(default_factory=nothing)

    @classmethod
    def _of(cls, source: object) -> Self:
        """Return the recording of a run whose ``source`` has the fields; each is asked for when it is first read.

        The source never changes, and its fields have the types and shapes that the constructor would make of them.
        """
        made = object.__new__(cls)
        vars(made)["_source"] = source
        return made

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        source = own.get("_source")
        if name in own:  # another thread asked meanwhile
            return own[name]
        if name not in NAMES_OF_FIELDS or source is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return own.setdefault(name, read_only(getattr(source, name)))

    def _complete(self) -> Self:
        """Return this recording with all fields asked for."""
        for name in NAMES_OF_FIELDS:
            getattr(self, name)
        vars(self).pop("_source", None)
        return self

    def __getstate__(self) -> dict[str, object]:
        return dict(vars(self._complete()))

    def __post_init__(self) -> None:
        for name in NAMES:
            object.__setattr__(self, name, several(getattr(self, name), f"trajectory.{name}", "a sequence of names"))
        if self.system is not None:
            of_kind(self.system, System, "trajectory.system", "a System, or None")
        for name in ("model_name", "method"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"trajectory.{name} is {shown(getattr(self, name))}; it must be a text")
        for name in COUNTS:
            if (count := whole(getattr(self, name))) is None:
                raise InputError(f"trajectory.{name} is {shown(getattr(self, name))}; it must be a whole number")
            object.__setattr__(self, name, count)
        n = np.size(numbers_of(self.t, "trajectory.t"))
        nq, nv, m = len(self.q_names), len(self.v_names), len(self.constraint_names)
        for name in ("constraint", "multipliers"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full((n, m), np.nan))
        for name, shape in shapes(n, nq, nv, m).items():
            array = numbers_of(getattr(self, name), f"trajectory.{name}")
            if array.shape != shape:
                raise InputError(f"trajectory.{name} has shape {array.shape}; it must be {shape}")
            if name == "iterations":
                if not (np.abs(array) < 2**62).all():
                    raise InputError("trajectory.iterations has NaN or infinity; it must have whole numbers")
                array = array.astype(int)
            object.__setattr__(self, name, array)
        try:
            checkpoint = np.asarray(() if self.checkpoint is None else self.checkpoint, np.uint8)
        except Exception as error:  # whatever a value's own methods raise
            raise InputError(f"trajectory.checkpoint must be bytes in a row: {told(error)}") from None
        if self.stages is not None:
            stages = numbers_of(self.stages, "trajectory.stages")
            if stages.ndim != 3 or stages.shape[:2] != (max(n - 1, 0), nv) or stages.shape[2] not in STAGES.values():
                raise InputError(
                    f"trajectory.stages has shape {stages.shape}; it must be {(max(n - 1, 0), nv)} and the stages of "
                    f"gauss, one of {', '.join(map(str, STAGES.values()))}"
                )
            object.__setattr__(self, "stages", stages)
        if self.halves is not None:
            halves = numbers_of(self.halves, "trajectory.halves")
            if halves.ndim != 2 or halves.shape[1] != 1 + nq + 2 * nv:
                raise InputError(
                    f"trajectory.halves has shape {halves.shape}; it must be rows of {1 + nq + 2 * nv} numbers, t, q, "
                    "v and p between the halves of steps"
                )
            object.__setattr__(self, "halves", halves)
        if checkpoint.ndim != 1:
            raise InputError(f"trajectory.checkpoint has shape {checkpoint.shape}; it must be bytes in a row")
        object.__setattr__(self, "checkpoint", checkpoint)
        if self.drive is not None:
            of_kind(self.drive, Driven, "trajectory.drive", "what drove the run, or None")
        if self.contacts is not None:
            of_kind(self.contacts, ContactLog, "trajectory.contacts", "a ContactLog, or None")
        given = mapping(self.monitors, "trajectory.monitors", "a mapping of names to arrays")
        monitors = {name: numbers_of(rows, f"the monitor {name}") for name, rows in given.items()}
        object.__setattr__(self, "monitors", monitors)
        self._freeze()
        object.__setattr__(self, "seconds", float(entries(self.seconds, (), "trajectory.seconds")))
        object.__setattr__(self, "settings", plain(self.settings))

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._freeze()

    def _freeze(self) -> None:
        """Keep read-only views of the arrays; pickles do not remember that arrays are read-only."""
        vars(self).update({name: read_only(value) for name, value in vars(self).items()})
        vars(self)["monitors"] = {name: read_only(rows) for name, rows in self.monitors.items()}

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy, (n,) [J]."""
        found: np.ndarray = self.kinetic + self.potential
        return found

    def contact_wrench(self, *names: str, about: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return the wrench (torque, force) of contacts on frames in the step to each record, (n, 6) [N m, N].

        World axes. It acts at the node where the step starts: times dt it is the jump of the spatial momentum there.
        The first record has none.

        Parameters
        ----------
        *names : str
            Frames that may touch, as ``contacts.touching`` has them; forces between them cancel. Without names all,
            and then only contacts with the ground count.
        about : (3,) or (n, 3) array [m], or str
            The point for the torque: in the world, the same always or one for each record, or the origin of a frame
            where the step starts.

        Raises
        ------
        InputError
            If nothing may touch, or ``about`` is no point, or a frame and the system is not known, as of a run from a
            file.
        UnknownNameError
            If a frame is not known, or may not touch.
        """
        log = self._contact_log()
        if isinstance(about, str):
            about = self._origins(log, about)
        return log.wrench(len(self), *names, about=about)

    def center_of_pressure(self, *names: str) -> np.ndarray:
        """Return where contacts push on frames in the step to each record, (n, 3) [m]; NaN where none pushes.

        The mean of the points of contact, weighted by the normal parts of the impulses. ``names`` and errors as for
        :meth:`contact_wrench`.
        """
        return self._contact_log().center_of_pressure(len(self), *names)

    def _contact_log(self) -> ContactLog:
        if self.contacts is None:
            raise InputError(f'nothing of "{self.model_name}" may touch: give it contacts and a ground')
        return self.contacts

    def _origins(self, log: ContactLog, frame: str) -> np.ndarray:
        """The places (n, 3) [m] of a frame where the steps to the records start; zeros for steps without contacts."""
        model = None if self.system is None else self.system.full
        if not isinstance(model, ContactMethods) or log.nodes is None:
            raise InputError(
                f'it is not known where "{frame}" was, since the run is from a file; give about= a point (3,), or '
                "points (n, 3) of the records"
            )
        out = np.zeros((len(self), 3))
        record, first = np.unique(log.record, return_index=True)
        at = log.nodes.at[first]
        origins = origins_of(model, frame, log.nodes.q[at])
        out[record] = np.where(at[:, None] < 0, np.nan, origins)
        return out

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> State: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray | list[int] | list[bool]) -> Self: ...

    def __getitem__(self, index: int | slice | np.ndarray | list[int] | list[bool]) -> State | Self:
        if isinstance(index, slice | np.ndarray | list):
            try:
                parts = {name: getattr(self, name)[index] for name in shapes()}
            except Exception as error:  # whatever the index's own methods raise
                raise InputError(f"a trajectory of {len(self)} records has no {shown(index)}: {told(error)}") from None
            if parts["t"].ndim != 1:
                raise InputError(f"a trajectory is indexed by indices in a row, not by {shown(index)}")
            ends = len(parts["t"]) and len(self) and parts["t"][-1] == self.t[-1]
            film = None if self.film is None or not len(parts["t"]) else self.film.between(parts["t"])
            if self.contacts is not None:
                parts["contacts"] = self.contacts.taken(np.arange(len(self))[index])
            taken = np.arange(len(self))[index]
            if self.drive is not None:
                parts["drive"] = self.drive.taken(taken)
            if self.stages is not None:  # of steps whose two ends are there
                whole_steps = len(taken) and (np.diff(taken) == 1).all()
                parts["stages"] = self.stages[taken[0] : taken[-1]] if whole_steps else None
            if self.halves is not None and len(taken):
                inside = (self.halves[:, 0] > parts["t"].min()) & (self.halves[:, 0] < parts["t"].max())
                parts["halves"] = self.halves[inside]
            return replace(self, **parts, film=film, checkpoint=self.checkpoint if ends else None)
        try:
            index = operator.index(index)
        except Exception:  # whatever the index's own methods raise
            raise InputError(
                f"a trajectory is indexed by a whole number, a slice or an array of indices, "
                f"not by {shown(index)}; use .at(t) or .nearest(t) for a time"
            ) from None
        if not -len(self) <= index < len(self):
            raise IndexError(f"a trajectory of {len(self)} records has no {shown(index)}")
        return State(*(getattr(self, name)[index] for name in State._fields))

    def at(self, t: float | Sequence[float] | np.ndarray) -> Moment:
        """Return q and v at any time of the run, or at several.

        At the time of a record they are the record's. Between records they follow the polynomial of the step, if
        ``simulate(..., method="gauss", dense=True)`` kept it. The polynomial of v goes through the velocities of the
        s stages and of both records, and q is its integral. Else they are cubic in time, by q and v of both records:
        the error grows with the fourth power of the time between records for q, and with the third for v. Records of
        ``every`` > 1 are far apart, and the error grows with their distance. A ball or free joint turns in a chart
        about a record or about the middle of the step. The states between the parts of steps that were taken in halves
        count as records here. An impulse or impact between two records is not resolved.

        Parameters
        ----------
        t : float or (n,) array [s]

        Returns
        -------
        Moment
            ``t``; ``q``, (nq,) or (n, nq) [m or rad]; ``v``, (nv,) or (n, nv) [m/s or rad/s].

        Raises
        ------
        InputError
            If a time is NaN or lies outside what was recorded, a ball or free joint makes half a turn or more between
            two records, the records there are NaN or not in the order of time, or the system is no mechanism of
            joints, as a vehicle, and the time is not that of a record.
        """
        return states_at(self, t)

    def nearest(self, t: float) -> State:
        """Return the record nearest to the time ``t`` [s].

        Raises
        ------
        InputError
            If the time lies outside what was recorded.
        """
        if not len(self):
            raise InputError("the trajectory has no records")
        low, high = float(np.min(self.t)), float(np.max(self.t))
        t = real(t)
        slack = SLACK * max(abs(low), abs(high))
        if not low - slack <= t <= high + slack:  # NaN lands here too
            raise InputError(f"t = {t} s was not recorded; choose from {low:g} to {high:g} s")
        return self[int(np.argmin(np.abs(self.t - t)))]

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else "empty"
        return (
            f"<vitree.{type(self).__name__} {self.model_name!r} by {self.method}: {len(self)} records, "
            f"{span}, {self.steps} steps>"
        )


#: The names of the fields of a Recording.
NAMES_OF_FIELDS = tuple(each.name for each in fields(Recording))


def shapes(n: int = 0, nq: int = 0, nv: int = 0, m: int = 0) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays, by their names."""
    return {
        "t": (n,), "q": (n, nq), "v": (n, nv), "p": (n, nv), "kinetic": (n,), "potential": (n,),
        "momentum": (n, 6), "iterations": (n,), "residual": (n,), "constraint": (n, m), "multipliers": (n, m),
    }  # fmt: skip
