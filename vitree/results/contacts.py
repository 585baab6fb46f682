"""Contacts of a recorded run: who touched whom in the step that led to each record, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of, several
from vitree.errors import InputError, UnknownNameError
from vitree.mechanism.unilateral import OF_JOINTS
from vitree.model.contacts import PLACES, TURNED, WIDTH, Nodes, torques_in
from vitree.results.plain import nothing, read_only


@dataclass(frozen=True, eq=False, repr=False)
class ContactLog:
    """The contacts that pushed in the steps that led to the records of a run, one row each, in the order of time.

    Parameters
    ----------
    rows : (n, 9) or (n, 15) array
        Record, number of the contact, impulse, slip velocity and gap; with torsional or rolling friction angular
        impulse and angular slip as well.
    names : sequence of (str, str)
        The two that each number stands for; "ground", of joints "limit", "velocity limit", "swing limit", "twist limit"
        and "dry friction", and of ropes "rope".
    places : (n, 7) array, or function that returns it, optional
        Point, normal and gap where the impulse acts; NaN if not given.
    dt : float or (n,) array, optional [s]
        Lengths of the steps; NaN if not given.
    nodes : Nodes, optional
        The configurations where the impulses act.

    Attributes
    ----------
    record : (n,) int array
        The index of the state to which the step led.
    number : (n,) int array
        Points and pairs as ``model.contact_gaps`` counts them, then wheels that roll, limits, limits of velocity, ropes
        and limits of ball joints, dry friction.
    impulse : (n, 3) array [N s]
        On the first of the two, in world axes, at the step's start: the momentum jumped by it there. Of a limit and of
        dry friction the first entry, with its sign [N s or N m s], and of ropes that of the tension.
    force : (n, 3) array [N]
        Impulse over dt: the mean from the middle of the step before to that of this one; in the first step of a run
        that starts in contact half of that.
    point_a, point_b : (n, 3) arrays [m]
        Where the impulse acts on the first, and its opposite on the second; in the world, at the step's start. NaN for
        limits and dry friction, and where the step's start is not known.
    normal : (n, 3) array
        Unit vector from the second to the first, at the step's start.
    slip : (n, 3) array [m/s]
        Mean velocity of the first against the second across the normal; of dry friction the first entry [m/s or rad/s].
    gap : (n,) array [m]
        Where the step ended.
    angular_impulse : (n, 3) array [N m s]
        Of torsional and rolling friction, on the first of the two, in world axes, at the step's start; zeros without.
    torque : (n, 3) array [N m]
        Angular impulse over dt.
    angular_slip : (n, 3) array [rad/s]
        Mean angular velocity of the first relative to the second, about the axes of this friction: the normal for
        torsional friction, and those across it for rolling friction.

    Raises
    ------
    InputError
        If an array has another shape, or numbers have no names.

    Notes
    -----
    Points of one body on one plane slide as one: their friction acts at their mean height, and so do their impulses
    here; those that push with gap zero are where they touch. Where more points push than a body needs, impulses are one
    of many ways to push it; their sum, the wrench, is the only one.
    """

    rows: np.ndarray
    names: tuple[tuple[str, str], ...]
    # by factories, which leave no attributes of the class: those not there yet are asked for
    places: Any = field(default_factory=nothing)
    dt: float | np.ndarray = np.nan
    nodes: Nodes | None = field(default_factory=nothing)

    def __post_init__(self) -> None:
        rows = numbers_of(self.rows, "rows of contacts")
        names = tuple((str(a), str(b)) for a, b in several(self.names, "names of contacts", "pairs of names"))
        if rows.ndim != 2 or rows.shape[1] not in (WIDTH, WIDTH + TURNED):
            raise InputError(
                f"rows of contacts have shape {rows.shape}; it must be (n, {WIDTH}), or (n, {WIDTH + TURNED}) with "
                "torsional or rolling friction"
            )
        if len(rows) and not (0 <= rows[:, 1].min() and rows[:, 1].max() < len(names)):
            raise InputError(f"contacts have numbers up to {rows[:, 1].max():g} and {len(names)} names")
        object.__setattr__(self, "rows", read_only(rows))
        object.__setattr__(self, "names", names)
        dt = numbers_of(self.dt, "dt of contacts")
        if dt.shape not in ((), (len(rows),)):
            raise InputError(f"dt of contacts has shape {dt.shape}; it must be () or ({len(rows)},)")
        object.__setattr__(self, "dt", read_only(dt) if dt.ndim else float(dt))
        given: object = vars(self).pop("places")
        if callable(given):
            vars(self)["_places"] = given
            return
        places = np.full((len(rows), PLACES), np.nan) if given is None else numbers_of(given, "places of contacts")
        if places.shape != (len(rows), PLACES):
            raise InputError(f"places of contacts have shape {places.shape}; it must be {(len(rows), PLACES)}")
        vars(self)["places"] = read_only(places)

    @classmethod
    def _of_step(cls, rows: np.ndarray, names: tuple[tuple[str, str], ...], dt: float, source: object,
                 start: bytes, facets: np.ndarray | None = None) -> ContactLog:  # fmt: skip
        """Return the log of one step: nodes and places are asked of the ``source`` when they are first read."""
        made = object.__new__(cls)
        object.__setattr__(
            made, "__dict__", {"rows": rows, "names": names, "dt": dt, "_source": source, "_start": start,
                               "_facets": facets})  # fmt: skip
        return made

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        between = sorted({" and ".join(self.names[k]) for k in self.number})
        shown = ", ".join(between[:3]) + (f" and {len(between) - 3} more" if len(between) > 3 else "")
        return f"<vitree.ContactLog of {len(self)} contacts" + (f": {shown}>" if between else ">")

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        ask: Callable[[], np.ndarray] | None = own.get("_places")
        source = own.get("_source")
        if name in own:  # another thread asked meanwhile
            return own[name]
        if source is not None and name in ("nodes", "places"):
            if name == "nodes":
                made = source.nodes(self.rows, own["_start"], own["_facets"])
            else:
                made = source.places(self.rows, self.nodes)
            return own.setdefault(name, read_only(made))
        if name != "places" or ask is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        found = vars(self).setdefault("places", read_only(ask()))
        vars(self).pop("_places", None)
        return found

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("rows", "names", "places", "dt", "nodes")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update({name: read_only(value) for name, value in state.items()})

    @property
    def record(self) -> np.ndarray:
        """Index of the state that the step led to, (n,)."""
        return self.rows[:, 0].astype(int)

    @property
    def number(self) -> np.ndarray:
        """Which contact, (n,)."""
        return self.rows[:, 1].astype(int)

    @property
    def a(self) -> tuple[str, ...]:
        """The first of the two of each row."""
        return tuple(self.names[k][0] for k in self.number.tolist())

    @property
    def b(self) -> tuple[str, ...]:
        """The second of the two of each row: a frame, "ground", or a word of ``names``."""
        return tuple(self.names[k][1] for k in self.number.tolist())

    @property
    def impulse(self) -> np.ndarray:
        """Impulses (n, 3) [N s]."""
        return self.rows[:, 2:5]

    @property
    def force(self) -> np.ndarray:
        """Impulses over the lengths of their steps, (n, 3) [N]."""
        found: np.ndarray = self.impulse / np.reshape(self.dt, (-1, 1))
        return found

    @property
    def point(self) -> np.ndarray:
        """Where impulses act on both, (n, 3) [m]: at the first on the ground, halfway between two that touch."""
        pair = np.array([b != "ground" for _, b in self.names], dtype=bool)
        apart = np.where(pair[self.number], 0.5 * self.places[:, 6], 0.0)
        found: np.ndarray = self.point_a - apart[:, None] * self.normal
        return found

    @property
    def point_a(self) -> np.ndarray:
        """The point of the first that is nearest to the second, (n, 3) [m]."""
        found: np.ndarray = self.places[:, :3]
        return found

    @property
    def point_b(self) -> np.ndarray:
        """The point of the second that is nearest to the first, (n, 3) [m]."""
        found: np.ndarray = self.places[:, :3] - self.places[:, 6:] * self.places[:, 3:6]
        return found

    @property
    def normal(self) -> np.ndarray:
        """Unit vectors from the second to the first, (n, 3)."""
        found: np.ndarray = self.places[:, 3:6]
        return found

    @property
    def slip(self) -> np.ndarray:
        """Slip velocities (n, 3) [m/s]."""
        return self.rows[:, 5:8]

    @property
    def gap(self) -> np.ndarray:
        """Gaps (n,) [m]."""
        return self.rows[:, 8]

    @property
    def turns(self) -> bool:
        """Whether contacts have torsional or rolling friction."""
        return bool(self.rows.shape[1] > WIDTH)

    @property
    def angular_impulse(self) -> np.ndarray:
        """Impulses of the torques of friction, (n, 3) [N m s]."""
        return torques_in(self.rows)

    @property
    def torque(self) -> np.ndarray:
        """These over the lengths of their steps, (n, 3) [N m]."""
        found: np.ndarray = self.angular_impulse / np.reshape(self.dt, (-1, 1))
        return found

    @property
    def angular_slip(self) -> np.ndarray:
        """Angular velocities that these oppose, (n, 3) [rad/s]."""
        return self.rows[:, WIDTH + 3 :] if self.turns else np.zeros((len(self), 3))

    def of(self, record: int) -> ContactLog:
        """Return the contacts of the step that led to a ``record``."""
        return self._rows(np.flatnonzero(self.rows[:, 0] == record))

    @property
    def touching(self) -> tuple[str, ...]:
        """The frames that may touch, each once."""
        return touching(self.names)

    def total(self, count: int, *names: str) -> np.ndarray:
        """Return the impulses (count, 3) [N s] of the steps to each of ``count`` records, summed over contacts.

        They act on the frames of the ``names``; without names on all, and then only those of the ground are summed.
        Raises an UnknownNameError if a name is of no frame that may touch.
        """
        sign = self._signs(names)
        out = np.zeros((count, 3))
        np.add.at(out, self.record, sign[:, None] * np.where(sign[:, None] == 0, 0.0, self.impulse))
        return out

    def wrench(self, count: int, *names: str, about: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return the wrenches (torque, force), (count, 6) [N m, N], of contacts in the steps to ``count`` records.

        Impulses over dt: times dt it is the change of the spatial momentum at the step's start that contacts make.
        Raises an UnknownNameError if a name is of no frame that may touch, and an InputError if ``about`` is no point.

        Parameters
        ----------
        count : int
        names : str
            Frames on which they act; without names all, and then only contacts with the ground count.
        about : (3,) or (count, 3) array [m]
            Point in the world for the torque.
        """
        sign = self._signs(names)
        some = np.flatnonzero(sign)
        shape = (count, 3) if np.ndim(about) == 2 else (3,)
        about = np.broadcast_to(entries(about, shape, "about"), (count, 3))[self.record[some]]
        at = self.point[some] - about
        force = sign[some, None] * self.force[some]
        out = np.zeros((count, 6))
        torque = np.cross(at, force)
        if self.turns:
            torque += sign[some, None] * self.torque[some]
        np.add.at(out, self.record[some], np.hstack([torque, force]))
        return out

    def center_of_pressure(self, count: int, *names: str) -> np.ndarray:
        """Return where contacts push in the steps to each of ``count`` records, (count, 3) [m]; NaN if none pushes.

        It is the mean of their points, weighted by the normal parts of the impulses. ``names`` and errors as for
        :meth:`wrench`.
        """
        sign = self._signs(names)
        some = np.flatnonzero(sign)
        push = (self.impulse[some] * self.normal[some]).sum(axis=1)
        at = self.point[some]
        sums = np.zeros((count, 4))
        np.add.at(sums, self.record[some], np.column_stack([push[:, None] * at, push]))
        with np.errstate(invalid="ignore"):
            return sums[:, :3] / np.where(sums[:, 3:] > 0, sums[:, 3:], np.nan)

    def _signs(self, names: tuple[str, ...]) -> np.ndarray:
        """How the impulse of each row acts on the frames of the names: 1, -1, or 0."""
        found: np.ndarray = signs_of(self.names, names)[self.number]
        return found

    def _rows(self, chosen: np.ndarray, record: np.ndarray | None = None) -> ContactLog:
        """The contacts of some rows, of other records."""
        rows = self.rows[chosen]
        if record is not None:
            rows = np.column_stack([record, rows[:, 1:]])
        nodes = None if self.nodes is None else self.nodes.of(chosen)
        dt = self.dt[chosen] if isinstance(self.dt, np.ndarray) else self.dt
        return ContactLog(rows, self.names, self.places[chosen], dt, nodes)

    def taken(self, kept: np.ndarray) -> ContactLog:
        """Return the contacts of the records ``kept`` (m,), which are counted anew."""
        order = np.argsort(kept, kind="stable")
        first = np.searchsorted(kept[order], self.rows[:, 0], "left")
        times = np.searchsorted(kept[order], self.rows[:, 0], "right") - first  # a record may be taken several times
        chosen = np.repeat(np.arange(len(self)), times)
        step = np.arange(len(chosen)) - np.repeat(np.cumsum(times) - times, times)
        record = order[np.repeat(first, times) + step] if len(order) else np.zeros(0, int)
        by = np.argsort(record, kind="stable")
        return self._rows(chosen[by], record[by])


def touching(pairs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the frames in pairs of names of contacts, each once."""
    return tuple(dict.fromkeys(x for a, b in pairs if b not in OF_JOINTS for x in (a, b) if x != "ground"))


def signs_of(pairs: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> np.ndarray:
    """Return how the impulses of contacts (n,), by pairs of names, act on frames: 1, -1, or 0.

    Without names of frames all count, and then only contacts with the ground. Raises an UnknownNameError if a name is
    of no frame that may touch.
    """
    known = touching(pairs)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError("frame that may touch", name, known)
    if not names:
        return np.array([float(b == "ground") for _, b in pairs])
    return np.array([float(a in names) - float(b in names) if b not in OF_JOINTS else 0.0 for a, b in pairs])
