"""States between the records of a run: by the polynomials of its steps, or by cubics through the records."""

from __future__ import annotations

import functools
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from vitree.arguments import numbers_of
from vitree.errors import InputError
from vitree.integrators.gauss import gauss_nodes
from vitree.model.model import Model
from vitree.model.system import System

#: A time is that of a record if it is off by this share of the time between records, or by rounding.
SAME = 1e-12
#: A time belongs to a run if it is off by this share of the run's largest time.
SLACK = 1e-9


class Moment(NamedTuple):
    """The state at a time, or at each of n times.

    Attributes
    ----------
    t : float, or (n,) array [s]
    q : (nq,) or (n, nq) array [m or rad]
    v : (nv,) or (n, nv) array [m/s or rad/s]
    """

    t: float | np.ndarray
    q: np.ndarray
    v: np.ndarray

    def __getattr__(self, name: str) -> NoReturn:
        told = f"; .nearest(t) has the {name} of a record" if name in ("p", "kinetic", "potential", "momentum") else ""
        told = "; .nearest(t) has the energy of a record" if name == "energy" else told
        raise AttributeError(f"the result of .at(t) has t, q and v, and no {name}{told}", name=name, obj=self)


class Turn(NamedTuple):
    """A ball or free joint: where its quaternion, angular velocity, position and velocity begin; -1 of a ball joint."""

    name: str
    quaternion: int
    omega: int
    x: int
    rate: int


class Layout(NamedTuple):
    """The joints of one coordinate, as places in q and in v, and the others."""

    q: list[int]
    v: list[int]
    turns: list[Turn]


_BALL_Q, _BALL_V = ("qx", "qy", "qz", "qw"), ("wx", "wy", "wz")
_FREE_Q, _FREE_V = ("x", "y", "z", *_BALL_Q), ("vx", "vy", "vz", *_BALL_V)


def layout_of(joints: tuple[str, ...], q_names: tuple[str, ...], v_names: tuple[str, ...]) -> Layout | None:
    """Return which joint each coordinate is of, by the names; None if some are of no joint."""
    made, i, j = Layout([], [], []), 0, 0
    for joint in joints:
        if _has(q_names, i, joint, _FREE_Q) and _has(v_names, j, joint, _FREE_V):
            made.turns.append(Turn(joint, i + 3, j + 3, i, j))
            i, j = i + 7, j + 6
        elif _has(q_names, i, joint, _BALL_Q) and _has(v_names, j, joint, _BALL_V):
            made.turns.append(Turn(joint, i, j, -1, -1))
            i, j = i + 4, j + 3
        elif q_names[i : i + 1] == (joint,) and v_names[j : j + 1] == (joint,):
            made.q.append(i)
            made.v.append(j)
            i, j = i + 1, j + 1
    return made if (i, j) == (len(q_names), len(v_names)) else None


def _has(names: tuple[str, ...], at: int, joint: str, parts: tuple[str, ...]) -> bool:
    """Say whether the names from a place on are those of the entries of a joint."""
    return names[at : at + len(parts)] == tuple(f"{joint}.{part}" for part in parts)


class Known(Protocol):
    """What is asked of a run; the properties are those of a recording."""

    @property
    def t(self) -> np.ndarray: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def v(self) -> np.ndarray: ...
    @property
    def stages(self) -> np.ndarray | None: ...
    @property
    def halves(self) -> np.ndarray | None: ...
    @property
    def system(self) -> System | None: ...
    @property
    def model_name(self) -> str: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def q_names(self) -> tuple[str, ...]: ...
    @property
    def v_names(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...


def states_at(run: Known, t: ArrayLike) -> Moment:
    """Return the state at times of a run; see :meth:`vitree.results.recording.Recording.at`, which raises the same."""
    times = numbers_of(t, "t")
    if times.ndim > 1:
        raise InputError("t", t, f"has shape {times.shape}; it must be one time, or times (n,)")
    if not len(run):
        raise InputError("the trajectory has no records")
    low, high = float(np.min(run.t)), float(np.max(run.t))
    slack = SLACK * max(abs(low), abs(high))
    inside = (times >= low - slack) & (times <= high + slack)  # not of NaN
    if not inside.all():
        raise InputError(f"t = {times[~inside].flat[0]} s was not recorded; choose from {low:g} to {high:g} s")
    rows = np.clip(times, low, high).reshape(-1)
    if run.halves is not None and len(run.halves):
        run = Nodes.of(run, run.halves)
    if not (np.diff(run.t) > 0).all():
        raise InputError("the times of the trajectory's records must increase; give the records in order")
    q, v = run.q[np.zeros(len(rows), int)], run.v[np.zeros(len(rows), int)]
    k = np.clip(np.searchsorted(run.t, rows, side="right") - 1, 0, max(len(run) - 2, 0))
    between = np.ones(len(rows), bool)
    after = np.minimum(k + 1, len(run) - 1)
    rounding = SAME * (run.t[after] - run.t[k]) + 4 * np.finfo(float).eps * np.abs(rows)
    for near in (k, after):
        same = between & (np.abs(rows - run.t[near]) <= rounding)
        q[same], v[same], rows[same] = run.q[near[same]], run.v[near[same]], run.t[near[same]]
        between &= ~same
    at = np.flatnonzero(between)
    if len(at):
        q[at], v[at] = _between(run, k[at], rows[at])
    if times.ndim:
        return Moment(rows, q, v)
    return Moment(float(rows[0]), q[0], v[0])


class Nodes:
    """What is known of a run between whose records there are states, those between the halves of steps, as records."""

    @classmethod
    def of(cls, run: Known, inner: np.ndarray) -> Nodes:
        """Return the records of a run with those states, rows ``inner`` of t, q and v."""
        made = cls()
        nq, nv = run.q.shape[1], run.v.shape[1]
        at = np.searchsorted(run.t, inner[:, 0])
        made.t = np.insert(run.t, at, inner[:, 0])
        made.q = np.insert(run.q, at, inner[:, 1 : 1 + nq], axis=0)
        made.v = np.insert(run.v, at, inner[:, 1 + nq : 1 + nq + nv], axis=0)
        # a step in parts has no polynomial
        made.stages = None if run.stages is None else np.insert(run.stages, at, np.nan, axis=0)
        made.system, made.model_name = run.system, run.model_name
        made.joint_names, made.q_names, made.v_names = run.joint_names, run.q_names, run.v_names
        return made

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    stages: np.ndarray | None
    halves: np.ndarray | None = None
    system: System | None
    model_name: str
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)


def _between(run: Known, k: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v at times between the records k and k + 1."""
    layout = None
    if run.system is None or isinstance(run.system, Model):
        layout = layout_of(run.joint_names, run.q_names, run.v_names)
    if layout is None:
        raise InputError(
            f'"{run.model_name}" is not a mechanism of joints, so its states between records are not available, as at '
            f"t = {t[0]:.9g} s; ask for times of records, or for the nearest record by .nearest(t)"
        )
    ends = np.unique(np.concatenate((k, k + 1)))
    if len(bad := ends[~(np.isfinite(run.q[ends]).all(axis=1) & np.isfinite(run.v[ends]).all(axis=1))]):
        raise InputError(f"the record {bad[0]} of the trajectory has NaN or infinity in q or v; ask for other times")
    q, v = np.empty((len(k), run.q.shape[1])), np.empty((len(k), run.v.shape[1]))
    kept = np.zeros(len(k), bool)
    if run.stages is not None:
        kept = np.isfinite(run.stages[k]).all(axis=(1, 2))
    for which, stages in ((kept, run.stages), (~kept, None)):
        if which.any():
            one = k[which]
            rates = None if stages is None else stages[one]
            q[which], v[which] = _interpolated(run, layout, one, t[which], rates)
    return q, v


def _interpolated(
    run: Known, layout: Layout, k: np.ndarray, t: np.ndarray, stages: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v between records: cubic, or by the rates of ``stages`` (n, nv, s) between those of the records."""
    h = (run.t[k + 1] - run.t[k])[:, None]
    s = (t - run.t[k])[:, None] / h
    q0, q1, v0, v1 = run.q[k], run.q[k + 1], run.v[k], run.v[k + 1]
    q, v = np.empty_like(q0), np.empty_like(v0)

    def curve(
        x0: np.ndarray, x1: np.ndarray, u0: np.ndarray, u1: np.ndarray, inner: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        return hermite(s, h, x0, x1, u0, u1) if inner is None else collocated(s, h, x0, x1, u0, u1, inner)

    def inner(at: slice | list[int]) -> np.ndarray | None:
        return None if stages is None else stages[:, at]

    a, b = layout.q, layout.v
    q[:, a], v[:, b] = curve(q0[:, a], q1[:, a], v0[:, b], v1[:, b], inner(b))
    for turn in layout.turns:
        i, j = slice(turn.quaternion, turn.quaternion + 4), slice(turn.omega, turn.omega + 3)
        rates = inner(j)
        z0 = np.zeros((len(k), 3))
        if rates is None:
            _require_known(run, turn.name, k, h[:, 0], v0[:, j], v1[:, j])
        else:
            z0 = -h * (rates @ gauss_nodes(rates.shape[2]).d)  # the chart of a step is about the middle
        base = product(q0[:, i], inverse(chart(z0)))
        z1 = coordinates(product(inverse(base), q1[:, i]))
        z, rate = curve(z0, z1, chart_rate(z0, v0[:, j]), chart_rate(z1, v1[:, j]), rates)
        found = product(base, chart(z))
        q[:, i] = found / np.linalg.norm(found, axis=1, keepdims=True)
        v[:, j] = velocity(z, rate)
        if turn.x >= 0:
            x, u = slice(turn.x, turn.x + 3), slice(turn.rate, turn.rate + 3)
            u0, u1 = rotated(q0[:, i], v0[:, u]), rotated(q1[:, i], v1[:, u])
            q[:, x], slope = curve(q0[:, x], q1[:, x], u0, u1, inner(u))
            v[:, u] = rotated(inverse(q[:, i]), slope)
    return q, v


def _require_known(
    run: Known, name: str, k: np.ndarray, h: np.ndarray, w0: np.ndarray, w1: np.ndarray
) -> None:
    """Raise an InputError if a joint turns so fast that nobody knows by which way it came to the next record."""
    wide = h * (np.linalg.norm(w0, axis=1) + np.linalg.norm(w1, axis=1)) >= 2 * np.pi
    if wide.any():
        at = k[np.argmax(wide)]
        raise InputError(
            f'the joint "{name}" makes half a turn or more between the records at t = {run.t[at]:.9g} s and '
            f"{run.t[at + 1]:.9g} s, so that nothing is known between them; record more steps, by a smaller every or "
            "dt"
        )


# ---- curves in one interval --------------------------------------------------------------------


def hermite(
    s: float | np.ndarray, h: float | np.ndarray, x0: np.ndarray, x1: np.ndarray, v0: np.ndarray, v1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cubic with these ends and slopes at the share s of h, and its slope."""
    d = x1 - x0
    a, b = h * v0 - d, d - h * v1
    x = x0 + s * d + s * (1 - s) * ((1 - s) * a + s * b)
    slope = d + (1 - 2 * s) * ((1 - s) * a + s * b) + s * (1 - s) * (b - a)
    return x, slope / h


def collocated(
    s: np.ndarray, h: np.ndarray, x0: np.ndarray, x1: np.ndarray, v0: np.ndarray, v1: np.ndarray, inner: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve whose rate is the polynomial through v0, ``inner`` (n, m, stages) and v1, and the rate.

    The integral of that polynomial over the step is Gauss's, so that it leads to x1: its degree is s + 1, and Gauss's
    quadrature is exact to the degree 2 s - 1. What is left, rounding or that of a prescribed motion, is spread evenly.
    """
    values = np.concatenate((v0[..., None], inner, v1[..., None]), axis=2)
    through = _through(inner.shape[2])
    x = 2 * s[:, 0] - 1
    rate = legendre.legvander(x, inner.shape[2] + 1) @ through
    whole = legendre.legint(through, scl=0.5, lbnd=-1)
    moved = h * np.einsum("nk,nmk->nm", legendre.legvander(x, len(whole) - 1) @ whole, values)
    missing = x1 - x0 - h * np.einsum("k,nmk->nm", np.ones(len(whole)) @ whole, values)
    return x0 + moved + s * missing, np.einsum("nk,nmk->nm", rate, values)


@functools.cache
def _through(stages: int) -> np.ndarray:
    """Return the matrix from values at 0, Gauss's nodes and 1 to coefficients in Legendre's polynomials of 2 s - 1."""
    points = np.concatenate(([0.0], gauss_nodes(stages).c, [1.0]))
    return np.linalg.inv(legendre.legvander(2 * points - 1, stages + 1))


# ---- turns: the chart of the method gauss, in rows ---------------------------------------------
# ch(z) = (z/2, 1 - k)/(1 + k), k = |z|^2/16;  z' = B(z) w, B = (1 - k) 1 + z^/2 + z z^T/8;  w = B^T z'/(1 + k)^2


def chart(z: np.ndarray) -> np.ndarray:
    """Return the quaternions (n, 4) of z (n, 3)."""
    k = _square(z) / 16
    return np.concatenate((z / 2, 1 - k), axis=1) / (1 + k)


def coordinates(turn: np.ndarray) -> np.ndarray:
    """Return z (n, 3) of quaternions (n, 4), by the shorter way."""
    turn = np.where(turn[:, 3:] < 0, -turn, turn)
    found: np.ndarray = 4 * turn[:, :3] / (1 + turn[:, 3:])
    return found


def chart_rate(z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return B(z) w."""
    found: np.ndarray = (1 - _square(z) / 16) * w + np.cross(z, w) / 2 + z * _dot(z, w) / 8
    return found


def velocity(z: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return w of z' = B(z) w."""
    k = _square(z) / 16
    found: np.ndarray = ((1 - k) * rate - np.cross(z, rate) / 2 + z * _dot(z, rate) / 8) / (1 + k) ** 2
    return found


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products of quaternions (n, 4)."""
    u, w, x, y = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    return np.concatenate((w * x + y * u + np.cross(u, x), w * y - _dot(u, x)), axis=1)


def inverse(turn: np.ndarray) -> np.ndarray:
    """Return the inverses of unit quaternions (n, 4)."""
    found: np.ndarray = turn * np.array([-1.0, -1.0, -1.0, 1.0])
    return found


def rotated(turn: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) turned by unit quaternions (n, 4)."""
    u = turn[:, :3]
    a = 2 * np.cross(u, x)
    found: np.ndarray = x + turn[:, 3:] * a + np.cross(u, a)
    return found


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = (a * b).sum(axis=1, keepdims=True)
    return found


def _square(z: np.ndarray) -> np.ndarray:
    return _dot(z, z)
