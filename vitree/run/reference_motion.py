"""Motions over time from files: splines through rows of joint positions, with their derivatives."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, explain_calls, numbers_of, of_kind, path_of, real, several, whole
from vitree.errors import InputError, UnknownNameError
from vitree.mechanism.flat import PRISMATIC
from vitree.model.model import Model
from vitree.wording import brief

#: Units of angles, lengths and times, in rad, m and s.
ANGLES = {"rad": 1.0, "deg": math.pi / 180.0, "\N{DEGREE SIGN}": math.pi / 180.0}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
#: Headings of a column of times.
TIME = ("t", "time", "timestamp", "time_from_start", "seconds", "sec")
#: What follows the end of a motion.
BEYOND = ("error", "hold")
#: Degrees of splines.
DEGREES = (1, 3, 5)
#: An angle beyond this without a unit is taken for degrees [rad].
DEGREES_LIKELY = 4 * math.pi
#: A time beyond the ends by this share of the duration is the end's.
SLACK = 1e-9


class ReferenceMotion:
    """A motion of a model over time: splines through rows of configurations.

    Coordinates are splines in time, and rotations of ball and free joints are on SciPy's ``RotationSpline``, of
    continuous angular acceleration.

    Parameters
    ----------
    model : Model
    t : (n,) array [s]
        Times, which increase.
    q : (n, nq) array [m or rad]
    names : sequence of str, optional
        Joints that move; all if not given.
    degree : {3, 5, 1}
        Of the splines. 5 has continuous derivatives of the acceleration, 1 is straight lines.
    beyond : {"error", "hold"}
        Before the first and behind the last time: an error, or at rest there.

    Attributes
    ----------
    model : Model
    t : (n,) array [s]
    rows : (n, nq) array [m or rad]
    names : tuple of str
    skipped : tuple of str
        Columns of the file that were left out.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong, or times do not increase.
    """

    def __init__(
        self, model: Model, t: ArrayLike, q: ArrayLike, names: Iterable[str] | None = None, *, degree: int = 3,
        beyond: str = "error",
    ):  # fmt: skip
        from scipy.interpolate import make_interp_spline

        self.model = of_kind(model, Model, "model", "a Model")
        self.t = np.array(numbers_of(t, "t"), dtype=float)
        rows = numbers_of(q, "q")
        if self.t.ndim != 1 or len(self.t) < 2 or not np.isfinite(self.t).all():
            raise InputError("t", t, "must be two or more finite times [s]")
        if (late := np.flatnonzero(np.diff(self.t) <= 0)).size:
            k = int(late[0])
            raise InputError(f"times must increase; row {k + 2} has t = {self.t[k + 1]:.9g} s behind {self.t[k]:.9g} s")
        rows = np.array(entries(rows, (len(self.t), model.nq), "q"), dtype=float)
        self.names = model.joint_names if names is None else several(names, "names", "a sequence of names of joints")
        for name in self.names:
            model.joint(name)
        if whole(degree) not in DEGREES:
            raise InputError("degree", degree, "of splines is not possible; choose from 1, 3, 5", choices=DEGREES)
        if beyond not in BEYOND:
            raise InputError("beyond", beyond, 'is not known; choose from "error", "hold"', choices=BEYOND)
        self.skipped: tuple[str, ...] = ()
        self._holds = beyond == "hold"
        for at in model._quaternions:
            length = np.linalg.norm(rows[:, at : at + 4], axis=1)
            if not ((length > 0.5) & (length < 2.0)).all():
                k = int(np.abs(length - 1.0).argmax())
                raise InputError("q", q, f"[{k}, {at}:{at + 4}] is no quaternion (x, y, z, w): its length is "
                                 f"{length[k]:.3g}; it must be 1")  # fmt: skip
            rows[:, at : at + 4] /= length[:, None]
        rows.flags.writeable = False
        self.rows = rows
        spline = make_interp_spline(self.t, rows, k=min(int(degree), (len(self.t) - 2) | 1))
        #: of each order of derivatives, coordinates as if all were numbers
        self._splines = [spline, spline.derivative(1), spline.derivative(2) if spline.k > 1 else None]
        self._turns = [(joint, _turning(self.t, rows[:, at.stop - 4 : at.stop])) for joint in model.joints
                       if (at := joint.q_slice).stop - at.start > joint.v_slice.stop - joint.v_slice.start]  # fmt: skip
        self._plain = [(joint.q_slice, joint.v_slice) for joint in model.joints
                       if joint.name not in {each.name for each, _ in self._turns}]  # fmt: skip

    @property
    def duration(self) -> float:
        """From the first to the last time [s]."""
        return float(self.t[-1] - self.t[0])

    def q(self, t: ArrayLike) -> np.ndarray:
        """Return configurations at times, (..., nq) [m or rad].

        Parameters
        ----------
        t : float or (...) array [s]

        Raises
        ------
        InputError
            If a time is beyond the motion, unless it holds there.
        """
        at, _, shape = self._at(t)
        out = np.array(self._splines[0](at))
        for joint, turn in self._turns:
            out[:, joint.q_slice.stop - 4 : joint.q_slice.stop] = turn(at).as_quat()
        return out.reshape(*shape, -1)

    def v(self, t: ArrayLike) -> np.ndarray:
        """Return velocities at times ``t`` [s], (..., nv) [m/s or rad/s]; errors as of :meth:`q`."""
        at, inside, shape = self._at(t)
        out, rates = np.zeros((len(at), self.model.nv)), self._splines[1](at)
        for q, v in self._plain:
            out[:, v] = rates[:, q]
        for joint, turn in self._turns:
            R, w = turn(at), turn(at, 1)
            out[:, joint.v_slice.stop - 3 : joint.v_slice.stop] = w  # in the axes of the body
            if joint.kind == "free":
                x = slice(joint.q_slice.start, joint.q_slice.start + 3)
                out[:, joint.v_slice.start : joint.v_slice.start + 3] = R.inv().apply(rates[:, x])
        out[~inside] = 0.0
        return out.reshape(*shape, -1)

    def a(self, t: ArrayLike) -> np.ndarray:
        """Return accelerations at times ``t`` [s], the derivatives of v, (..., nv) [m/s^2 or rad/s^2].

        Errors as of :meth:`q`.
        """
        at, inside, shape = self._at(t)
        out, v = np.zeros((len(at), self.model.nv)), self.v(at)
        second = np.zeros((len(at), self.model.nq)) if self._splines[2] is None else self._splines[2](at)
        for q, of_v in self._plain:
            out[:, of_v] = second[:, q]
        for joint, turn in self._turns:
            R, last = turn(at), slice(joint.v_slice.stop - 3, joint.v_slice.stop)
            out[:, last] = turn(at, 2)
            if joint.kind == "free":  # d(R^T x')/dt = R^T x'' - w x R^T x'
                x, first = joint.q_slice.start, slice(joint.v_slice.start, joint.v_slice.start + 3)
                out[:, first] = R.inv().apply(second[:, x : x + 3]) - np.cross(v[:, last], v[:, first])
        out[~inside] = 0.0
        return out.reshape(*shape, -1)

    def targets(self) -> dict[str, Callable[[float], float]]:
        """Return targets of drives, callables of t by joints: for ``vt.Control(targets=)``.

        Raises
        ------
        InputError
            If no joint of the motion has a drive whose target is an input.
        """
        driven = [drive.joint for drive in self.model.drives if isinstance(drive.target, str)]
        return {name: self._one(name, 0) for name in self._some(driven, "drive with a target",
                                                                     'model.with_drives({"*": (kp, kd)})')}  # fmt: skip

    def target_rates(self) -> dict[str, Callable[[float], float]]:
        """Return rates of targets, callables of t by inputs: for ``vt.Control(inputs=)``, beside the targets.

        Raises
        ------
        InputError
            If no joint of the motion has a drive whose rate of the target is an input.
        """
        rates = {drive.joint: drive.target_rate for drive in self.model.drives if isinstance(drive.target_rate, str)}
        return {rates[name]: self._one(name, 1) for name in self._some(
            rates, "drive with a rate of its target", "model.with_drives(..., target_rates=True)")}  # fmt: skip

    def prescribed(self) -> dict[str, Callable[[float], tuple[float, float, float]]]:
        """Return motions of prescribed joints, callables of t by joints: for ``vt.Control(prescribed=)``.

        Raises
        ------
        InputError
            If no joint of the motion is prescribed.
        """
        def moving(name: str) -> Callable[[float], tuple[float, float, float]]:
            place, rate, acceleration = (self._one(name, order) for order in range(3))
            return lambda t: (place(t), rate(t), acceleration(t))

        names = self._some(self.model.prescribed_joint_names, "prescribed motion", "kinematic=True where it is built")
        return {name: moving(name) for name in names}

    def _some(self, able: Iterable[str], what: str, remedy: str) -> list[str]:
        """Names of joints of the motion that are among others; raise an InputError if none is."""
        able = set(able)
        if not (found := [name for name in self.names if name in able]):
            raise InputError(f'no joint of the motion has a {what} in "{self.model.name}": {", ".join(self.names)}; '
                             f"give them one by {remedy}")  # fmt: skip
        return found

    def _one(self, name: str, order: int) -> Callable[[float], float]:
        """A derivative over time, of a joint of one coordinate."""
        from scipy.interpolate import BSpline

        spline, at = self._splines[order], self.model.joint(name).q_slice.start
        alone = None if spline is None else BSpline(spline.t, np.ascontiguousarray(spline.c[:, at]), spline.k)
        first, last = float(self.t[0]), float(self.t[-1])

        def value(t: float) -> float:
            if alone is not None and first <= t <= last:
                return float(alone(t))
            (time,), (inside,), _ = self._at(t)
            return float(alone(time)) if alone is not None and (inside or order == 0) else 0.0

        return value

    def _at(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Times within the motion in a row, which of them are not beyond it, and the shape that they had."""
        given = numbers_of(t, "t")
        if not np.isfinite(given).all():
            raise InputError("t", t, "has NaN or infinity; times must be finite")
        flat, (first, last) = given.reshape(-1), (float(self.t[0]), float(self.t[-1]))
        slack = SLACK * max(abs(first), abs(last), last - first)
        inside = (flat >= first - slack) & (flat <= last + slack)
        if not inside.all() and not self._holds:
            off = float(flat[~inside][0])
            raise InputError(f"t = {off:.9g} s is beyond the motion, which lasts from {first:.9g} s to {last:.9g} s; "
                             'beyond="hold" lets it rest there')  # fmt: skip
        return np.clip(flat, first, last), inside, given.shape

    def __repr__(self) -> str:
        count = len(self.names)
        return (f"<vitree.ReferenceMotion of {count} joint{'s' * (count != 1)} of {self.model.name!r}: {len(self.t)} "
                f"rows, t = {self.t[0]:g} .. {self.t[-1]:g} s>")  # fmt: skip


def _turning(t: np.ndarray, quaternions: np.ndarray) -> Any:
    from scipy.spatial.transform import Rotation, RotationSpline

    return RotationSpline(t, Rotation.from_quat(quaternions))


# ---- files -----------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of a file: its heading without a unit, and the unit in it."""

    name: str
    unit: str | None


@explain_calls
def read_motion(
    path: str | os.PathLike[str], model: Model, *, units: str | Iterable[str] | Mapping[str, str] = (),
    columns: Mapping[str, str] | None = None, ignore: str | Iterable[str] = (), rate: float | None = None,
    degree: int = 3, beyond: str = "error",
) -> ReferenceMotion:  # fmt: skip
    """Read a motion from a table of joint positions: CSV, or text with other separators.

    The first row has the names of the columns: a time (``t``, ``time``, ``timestamp``) and names of joints, or of
    coordinates (``model.q_names``) where a joint has several. ``"q."`` before a name, and a unit behind it in brackets,
    as in ``"elbow [deg]"``, are understood, and so is what :meth:`vitree.Trajectory.to_csv` writes. Joints that are not
    in the file stay where the model starts. Lines that begin with # are comments.

    Parameters
    ----------
    path : path
    model : Model
    units : str, sequence of str, or mapping
        Of what has no unit in its heading: "deg" or "rad", "mm", "cm" or "m", "ms", "us", "ns" or "s", at most one of a
        kind; or by patterns of headings. rad, m and s if not given.
    columns : mapping, optional
        Joints or coordinates by headings that are other than these.
    ignore : str or sequence of str
        Patterns of headings of columns to leave out.
    rate : float, optional [1/s]
        Rows in a second, of a file without times.
    degree, beyond
        As of :class:`ReferenceMotion`.

    Returns
    -------
    ReferenceMotion

    Raises
    ------
    InputError, UnknownNameError
        If the file cannot be read; a column, a unit or a number is wrong; times do not increase; or angles without a
        unit can only be degrees. The text names file, line and column.
    """
    of_kind(model, Model, "model", "a Model")
    path = path_of(path)
    head, lines, table = _table(path)
    heads = [_column(text) for text in head]
    columns = {} if columns is None else of_kind(columns, Mapping, "columns", "a mapping of headings to joints")
    for name in columns:
        if name not in {each.name for each in heads}:
            raise UnknownNameError(f"column of {brief(path)}", name, [each.name for each in heads], argument="columns")
    left = (ignore,) if isinstance(ignore, str) else several(ignore, "ignore", "patterns of headings")
    given = _units(units)
    t: np.ndarray | None = None
    q = np.repeat(model.start[None], len(table), axis=0)
    found: dict[int, str] = {}
    skipped: list[str] = []
    ours = any(each.name.startswith("q.") for each in heads)  # as to_csv writes it
    for k, column in enumerate(heads):
        name = str(columns.get(column.name, column.name))
        if column.name not in columns and any(fnmatchcase(column.name, str(pattern)) for pattern in left):
            skipped.append(column.name)
            continue
        if t is None and name.lower() in TIME:
            t = table[:, k] * _factor(column, given, TIMES, "times", path)
            continue
        name = name.removeprefix("q.")
        place = _place(model, name)
        if place is None and ours and not column.name.startswith("q."):
            skipped.append(column.name)
            continue
        if place is None:
            choices = [*model.joint_names, *(each for each in model.q_names if each not in model.joint_names)]
            error = UnknownNameError(f"joint or coordinate for the column of {brief(path)}", name, choices)
            error.args = (f'{error.args[0]}; columns={{"{brief(name)}": ...}} says which, ignore= leaves it out',)
            raise error
        at, kind = place
        if at in found:
            raise InputError(f'{brief(path)}: the columns "{found[at]}" and "{column.name}" are both of "{name}"')
        found[at] = column.name
        scale = 1.0
        if kind is not None:
            scale = _factor(column, given, ANGLES if kind == "angle" else LENGTHS, f"{kind}s", path)
            told = column.unit is not None or _unit_for(column, given, ANGLES) is not None
            if kind == "angle" and not told and np.abs(table[:, k]).max() > DEGREES_LIKELY:
                raise InputError(
                    f'{brief(path)}: the column "{column.name}" has no unit, and angles up to '
                    f'{np.abs(table[:, k]).max():.4g}, which look like degrees; give units="deg", or units="rad"'
                )
        q[:, at] = scale * table[:, k]
    if t is None:
        if rate is None:
            raise InputError(f"{brief(path)} has no column of times: name one of its columns t or time, by columns= if "
                             "need be, or give rate= [1/s]")  # fmt: skip
        if not 0 < real(rate) < math.inf:
            raise InputError("rate", rate, "must be a positive number of rows in a second")
        t = np.arange(len(table)) / real(rate)
    names = _joints(model, found, path)
    if (late := np.flatnonzero(np.diff(t) <= 0)).size:
        k = int(late[0]) + 1
        raise InputError(f"{brief(path)}, line {lines[k]}: t = {t[k]:.9g} s is not behind {t[k - 1]:.9g} s; times must "
                         "increase")  # fmt: skip
    motion = ReferenceMotion(model, t, q, names, degree=degree, beyond=beyond)
    motion.skipped = tuple(skipped)
    return motion


def _table(path: os.PathLike[str]) -> tuple[list[str], list[int], np.ndarray]:
    """Return the headings of a file, and the numbers of its rows with the lines that they stand in."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            text = stream.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InputError(f"{brief(path)} cannot be read: {why}") from None
    kept = [(k + 1, line) for k, line in enumerate(text) if line.strip() and not line.lstrip().startswith("#")]
    if len(kept) < 3:
        raise InputError(f"{brief(path)} has {max(len(kept) - 1, 0)} rows below its headings; a motion needs two")
    mark = max(",;\t", key=kept[0][1].count)
    if mark in kept[0][1]:
        cells = list(csv.reader([line for _, line in kept], delimiter=mark))
    else:
        cells = [re.findall(r"\S+(?: *[\[(][^\])]*[\])])?", line) if k == 0 else line.split()
                 for k, (_, line) in enumerate(kept)]  # fmt: skip
    head = [cell.strip() for cell in cells[0]]
    table = np.empty((len(cells) - 1, len(head)))
    for row, (line, _), numbers in zip(table, kept[1:], cells[1:], strict=True):
        if len(numbers) != len(head):
            raise InputError(f"{brief(path)}, line {line}: {len(numbers)} entries for {len(head)} columns")
        for k, cell in enumerate(numbers):
            value = real(_number(cell))
            if not math.isfinite(value):
                raise InputError(f'{brief(path)}, line {line}: "{brief(cell.strip())}" in the column "{head[k]}" is no '
                                 "finite number")  # fmt: skip
            row[k] = value
    return head, [line for line, _ in kept[1:]], table


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _column(text: str) -> Column:
    """A heading such as "elbow [deg]" or "elbow (deg)" in its parts."""
    match = re.fullmatch(r"(.*?)\s*[\[(]([^\])]*)[\])]", text)
    return Column(match[1], match[2].strip()) if match else Column(text, None)


def _units(units: object) -> list[tuple[str, str]]:
    """Patterns of headings and units."""
    if isinstance(units, Mapping):
        pairs = [(str(pattern), unit) for pattern, unit in units.items()]
    else:
        some = (units,) if isinstance(units, str) else several(units, "units", 'units, such as "deg"')
        pairs = [("*", unit) for unit in some]
        for kind in (ANGLES, LENGTHS, TIMES):
            if sum(unit in kind for unit in some if isinstance(unit, str)) > 1:
                raise InputError("units", units, f"has two of {', '.join(kind)}; give a mapping of headings to units")
    for _, unit in pairs:
        if not isinstance(unit, str) or unit not in ANGLES | LENGTHS | TIMES:
            raise UnknownNameError("unit", unit, [*ANGLES, *LENGTHS, *TIMES], argument="units")
    return pairs


def _unit_for(column: Column, given: Iterable[tuple[str, str]], kind: Mapping[str, float]) -> str | None:
    return next((unit for pattern, unit in given if unit in kind and fnmatchcase(column.name, pattern)), None)


def _factor(
    column: Column, given: Iterable[tuple[str, str]], kind: Mapping[str, float], what: str, path: os.PathLike[str]
) -> float:
    """The factor of a column to rad, m or s."""
    unit = column.unit if column.unit is not None else _unit_for(column, given, kind)
    if unit is None:
        return 1.0
    if unit not in kind:
        raise InputError(f'{brief(path)}: the column "{column.name}" has {what}, and the unit "{brief(unit)}"; choose '
                         f"from {', '.join(kind)}")  # fmt: skip
    return kind[unit]


def _place(model: Model, name: str) -> tuple[int, str | None] | None:
    """The place in q of a joint or coordinate, and whether it is an angle or a length; None of quaternions."""
    joints = {joint.name: joint for joint in model.joints}
    if name in joints and len(model.q_names[joints[name].q_slice]) == 1:
        at = joints[name].q_slice.start
    elif name in model.q_names:
        at = model.q_names.index(name)
    else:
        return None
    joint = next(each for each in model.joints if each.q_slice.start <= at < each.q_slice.stop)
    if any(k <= at < k + 4 for k in model._quaternions):
        return at, None
    lengths = joint.kind in ("prismatic", "free")
    several_coordinates = joint.q_slice.stop - joint.q_slice.start > 1 and joint.kind not in ("free", "ball")
    if several_coordinates:
        lengths = _slides(model, joint, at)
    return at, "length" if lengths else "angle"


def _slides(model: Model, joint: Any, at: int) -> bool:
    """Whether a coordinate of a pair of several bodies is a length."""
    full = model.full
    own = next(each for each in full.joints if each.name == joint.name).q_slice.start + at - joint.q_slice.start
    body = int(np.flatnonzero(full.index.iq == own)[0])
    return int(full.flat.kind[body]) == PRISMATIC


def _joints(model: Model, found: Mapping[int, str], path: os.PathLike[str]) -> list[str]:
    """The joints whose coordinates were found; raise an InputError if some of a ball or free joint are missing."""
    if not found:
        raise InputError(f"{brief(path)} has no column of a joint; its columns have other names than the joints: give "
                         "columns=")  # fmt: skip
    names = []
    for joint in model.joints:
        at = range(joint.q_slice.start, joint.q_slice.stop)
        here = [k for k in at if k in found]
        if not here:
            continue
        quaternion = [k for q in model._quaternions for k in range(q, q + 4) if k in at]
        if some := [k for k in quaternion if k in found]:
            missing = [model.q_names[k] for k in quaternion if k not in some]
            if missing:
                raise InputError(f'{brief(path)} has a part of the rotation of "{joint.name}": {", ".join(missing)} '
                                 f"{'is' if len(missing) == 1 else 'are'} missing")  # fmt: skip
        if joint.name not in names:
            names.append(joint.name)
    return names

