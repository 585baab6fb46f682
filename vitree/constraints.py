"""Holonomic constraints between named frames and coordinates, and configurations that satisfy them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core.types import ConstraintList
from vitree.errors import ConvergenceError, InputError, ModelError
from vitree.flatten import turn_z_to
from vitree.loads import one_coordinate, place
from vitree.tables import pieces, tabulated
from vitree.tree import direction, finite
from vitree.written import Constraint as WrittenConstraint

if TYPE_CHECKING:
    from vitree.model import Model

#: Codes of ``_core/types.pxd``.
_POINTS, _DISTANCE, _COUPLING, _AXES, _PROFILE, _USER = range(6)
#: A start may miss the constraints by this much [m or rad], and their rates [per s].
CONSISTENT = 1e-8
#: Unit rows of Dh depend on each other below this singular value.
INDEPENDENT = 1e-10
#: An equation is implied by others to within this, in sizes of the mechanism: angles in files are often rounded.
IMPLIED = 1e-4


@dataclass(frozen=True)
class PointConstraint:
    """The origins of two frames keep an equal coordinate along an axis: axis . (a - b) = offset.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    axis : (3,) array
        Direction; normalised.
    axes : {"world", "local"}
        Whether the axis is fixed in the world or turns with frame a. With "local" it says that b moves in
        a plane of a (point on plane).
    offset : float [m]

    References
    ----------
    Johnson & Murphey 2009, section IV-D.
    """

    a: str
    b: str
    axis: tuple[float, float, float]
    axes: str = "world"
    offset: float = 0.0

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f'point constraint "{self.a}" - "{self.b}" along {tuple(self.axis)}'


@dataclass(frozen=True)
class Distance:
    """The origins of two frames keep a distance (a wire or a massless rod).

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    length : float [m] or str
        Positive; or the joint whose coordinate it is, as of a string that is let out.

    References
    ----------
    Johnson & Murphey 2009, section IV-D.
    """

    a: str
    b: str
    length: float | str

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f'distance "{self.a}" - "{self.b}"'


@dataclass(frozen=True)
class Coupling:
    """Two one-coordinate joints move in proportion: sum of factor q = value (gears, screws, mimics).

    Parameters
    ----------
    factors : mapping of two joint names to floats
    value : float
        Of the sum, in units of factor times q.
    """

    factors: Mapping[str, float]
    value: float = 0.0

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "coupling " + " and ".join(f'"{joint}"' for joint in self.factors)


@dataclass(frozen=True)
class AxisConstraint:
    """A direction of frame a and one of frame b keep their angle: axis_a . axis_b = cosine.

    Parameters
    ----------
    a, b : str
        Names of frames.
    axis_a, axis_b : (3,) arrays
        Directions in the frames' own axes; normalised.
    cosine : float [-]
        0 holds them at right angles.
    """

    a: str
    b: str
    axis_a: tuple[float, float, float]
    axis_b: tuple[float, float, float]
    cosine: float = 0.0

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f'axis constraint "{self.a}" {tuple(self.axis_a)} - "{self.b}" {tuple(self.axis_b)}'


@dataclass(frozen=True)
class Cam:
    """One joint follows another by a profile: q_follower = profile(q_driver), a higher pair.

    Parameters
    ----------
    follower, driver : str
        Names of one-coordinate joints.
    positions : (n,) array
        Of the driver [m or rad], increasing.
    profile : (n,) array or callable
        Of the follower [m or rad]: a table, or a function that is tabulated at ``positions``; the cubic
        spline through it is used.
    periodic : bool
        Whether it repeats.

    References
    ----------
    Johnson & Murphey 2008, section on higher pairs.
    """

    follower: str
    driver: str
    positions: tuple
    profile: Any
    periodic: bool = False

    def __post_init__(self) -> None:
        for field, values in zip(("positions", "profile"), tabulated(self.positions, self.profile), strict=True):
            object.__setattr__(self, field, values)

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f'cam "{self.follower}" by "{self.driver}"'


Constraint = PointConstraint | Distance | Coupling | AxisConstraint | Cam | WrittenConstraint


def gear(a: str, b: str, ratio: float, value: float = 0.0) -> Coupling:
    """Return the constraint of a gear between two joints: q_a = ratio q_b + value.

    Parameters
    ----------
    a, b : str
        Names of one-coordinate joints.
    ratio : float [-]
        Negative where they turn against each other.
    value : float [m or rad]

    Raises
    ------
    ModelError
        If the ratio is not a finite number.
    """
    return Coupling({a: 1.0, b: -finite(ratio, f'ratio of the gear "{a}" - "{b}"')}, value)


def screw_pair(slide: str, turn: str, pitch: float, value: float = 0.0) -> Coupling:
    """Return the constraint of a nut on a screw: q_slide = pitch q_turn + value.

    Parameters
    ----------
    slide, turn : str
        Names of one-coordinate joints.
    pitch : float [m/rad]
    value : float [m]

    Raises
    ------
    ModelError
        If the pitch is not a finite number.
    """
    return Coupling({slide: 1.0, turn: -finite(pitch, f'pitch of the screw pair "{slide}" - "{turn}"')}, value)


def weld(a: str, b: str) -> list[PointConstraint | AxisConstraint]:
    """Return the six constraints that hold the frame ``b`` where the frame ``a`` is, and turned as it is."""
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    return [*point_constraint(a, b), *(AxisConstraint(a, b, u, w) for u, w in ((x, y), (y, z), (z, x)))]


def point_constraint(a: str, b: str, directions: int | Iterable = 3, axes: str = "world") -> list[PointConstraint]:
    """Return the constraints that hold the origin of frame b at that of frame a, along 1, 2 or 3 directions.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    directions : int or sequence of (3,) arrays
        3 for all, or the directions along which they are held.
    axes : {"world", "local"}
        As of :class:`PointConstraint`.

    Raises
    ------
    ModelError
        If the directions are not one to three vectors.
    """
    rows = np.eye(3) if isinstance(directions, int) and directions == 3 else np.atleast_2d(np.array(directions, float))
    if rows.shape not in ((1, 3), (2, 3), (3, 3)):
        raise ModelError(f"directions must be 3, or up to three such as [(1, 0, 0), (0, 0, 1)], not {directions!r}")
    return [PointConstraint(a, b, (float(x), float(y), float(z)), axes) for x, y, z in rows]


def joint_constraints(
    kind: str, a: str, b: str, axis: ArrayLike = (0.0, 0.0, 1.0)
) -> list[PointConstraint | AxisConstraint]:
    """Return the constraints that let frame b move in frame a as by a joint; they close a loop.

    Parameters
    ----------
    kind : {"fixed", "revolute", "prismatic", "cylindrical", "spherical", "planar", "free"}
        6, 5, 5, 4, 3, 3 and no constraints.
    a, b : str
        Names of frames; they coincide where a joint's coordinates would be zero.
    axis : (3,) array
        Direction of the joint, in both frames; of a planar one its normal.

    Raises
    ------
    ModelError
        If the kind is not known, or the axis not a direction.
    """
    R = turn_z_to(direction(axis, f'axis between "{a}" and "{b}"'))
    # + 0.0: no -0.0 in names
    triad: Any = [tuple(float(e) + 0.0 for e in u) for u in R.T]
    x, y, z = triad
    across = [PointConstraint(a, b, u, "local") for u in (x, y)]
    along = [PointConstraint(a, b, z, "local")]
    tilt = [AxisConstraint(a, b, u, z) for u in (x, y)]
    spin = [AxisConstraint(a, b, x, y)]
    kinds: dict[str, list] = {
        "fixed": [*across, *along, *tilt, *spin],
        "revolute": [*across, *along, *tilt],
        "prismatic": [*across, *tilt, *spin],
        "cylindrical": [*across, *tilt],
        "spherical": [*across, *along],
        "planar": [*along, *tilt],
        "free": [],
    }
    if kind not in kinds:
        raise ModelError(f'kind="{kind}" is not known; choose from ' + ", ".join(f'"{name}"' for name in kinds))
    return kinds[kind]


def compiled(model: Model) -> ConstraintList:
    """Return the model's constraints as the core takes them.

    Raises
    ------
    UnknownNameError
        If a frame or joint is not known.
    ModelError
        If a constraint cannot be what it says.
    """
    return ConstraintList([_compiled_one(model, c) for c in model.constraints])


def _coordinate(model: Model, joint: str, what: str) -> tuple[int, int]:
    where = one_coordinate(model, joint, what)
    return where["iq"], where["iv"]


def _compiled_one(model: Model, constraint: Constraint) -> dict:
    name = constraint.name if isinstance(constraint, Constraint) else ""
    if isinstance(constraint, WrittenConstraint):
        return {"kind": _USER}
    if isinstance(constraint, Coupling):
        if len(constraint.factors) != 2:
            raise ModelError(f"a {name} takes two joints, not {len(constraint.factors)}")
        (a, factor_a), (b, factor_b) = constraint.factors.items()
        return {
            "kind": _COUPLING, "a": _coordinate(model, a, name), "b": _coordinate(model, b, name),
            "factor_a": finite(factor_a, f"factor of {name}"), "factor_b": finite(factor_b, f"factor of {name}"),
            "value": finite(constraint.value, f"value of {name}"),
        }  # fmt: skip
    if isinstance(constraint, Cam):
        if constraint.follower == constraint.driver:
            raise ModelError(f"the {name}: a joint cannot follow itself")
        return {
            "kind": _PROFILE, "a": _coordinate(model, constraint.follower, name),
            "b": _coordinate(model, constraint.driver, name),
            "table": pieces(constraint.positions, constraint.profile, f"the {name}", constraint.periodic),
        }  # fmt: skip
    if not isinstance(constraint, PointConstraint | Distance | AxisConstraint):
        raise ModelError(
            f"a constraint is a PointConstraint, Distance, Coupling, AxisConstraint, Cam, or a Constraint of your own, "
            f"not {constraint!r}"
        )
    body_a, R, point_a = place(model, constraint.a)
    body_b, Rb, point_b = place(model, constraint.b)
    row = {"body_a": body_a, "body_b": body_b, "point_a": point_a, "point_b": point_b}
    if body_a == body_b:
        raise ModelError(f"{name}: both frames are fixed to the same body, so that it says nothing")
    if isinstance(constraint, Distance):
        if isinstance(constraint.length, str):
            return {"kind": _DISTANCE, "a": _coordinate(model, constraint.length, name), "factor_a": 1.0, **row}
        if not (np.isfinite(constraint.length) and constraint.length > 0):
            raise ModelError(f"{name}: the length is {constraint.length}; it must be positive [m]")
        return {"kind": _DISTANCE, "value": float(constraint.length), **row}
    if isinstance(constraint, AxisConstraint):
        one, other = (direction(x, f"axis of {name}") for x in (constraint.axis_a, constraint.axis_b))
        if not -1.0 < constraint.cosine < 1.0:
            raise ModelError(f"{name}: the cosine is {constraint.cosine}; it must lie between -1 and 1")
        return {"kind": _AXES, "direction": R @ one, "other": Rb @ other, "value": float(constraint.cosine), **row}
    if constraint.axes not in ("world", "local"):
        raise ModelError(f'{name}: axes="{constraint.axes}" is not known; choose "world" or "local"')
    axis = direction(constraint.axis, f"axis of the {name}")
    local = constraint.axes == "local"
    return {"kind": _POINTS, "local": int(local), "direction": R @ axis if local else axis,
            "value": finite(constraint.offset, f"offset of the {name}"), **row}  # fmt: skip


def held_coordinates(model: Model, hold: Iterable[str]) -> np.ndarray:
    """Return which entries of v belong to joints that are prescribed or held, (nv,) bool.

    Raises
    ------
    UnknownNameError
        If a joint is not known.
    """
    held = np.array(model.flat.kinematic, dtype=bool)
    for name in hold:
        held[model.joint(name).v_slice] = True
    return held


def satisfy_constraints(
    model: Model, q: ArrayLike, hold: Iterable[str] = (), tolerance: float = 1e-12, max_iterations: int = 100
) -> np.ndarray:
    """Return the configuration near q that satisfies the model's constraints.

    Parameters
    ----------
    model : Model
    q : (nq,) array [m or rad]
    hold : names of joints
        Their coordinates stay as they are, and so do those that are prescribed.
    tolerance : float
        Largest h accepted [m or rad].
    max_iterations : int
        Most corrections, by Gauss-Newton's method.

    Returns
    -------
    (nq,) array [m or rad]

    Raises
    ------
    ConvergenceError
        If no such configuration was found.
    UnknownNameError
        If a joint to hold is not known.
    """
    q = model.validate_configuration(q)
    held = held_coordinates(model, hold)
    for _ in range(max_iterations):
        h, Dh = (x[0] for x in model.constraint_rows(q[None]))
        if not len(h) or np.abs(h).max() <= tolerance:
            return q
        step = np.zeros(model.nv)
        step[~held] = -np.linalg.lstsq(Dh[:, ~held], h, rcond=1e-12)[0]
        # no joint by more than half a radian or metre at once
        q = model.integrate(q, step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300)))
    worst = int(np.abs(h).argmax())
    raise ConvergenceError(
        f"no configuration near q satisfies the constraints: {model.constraints[worst].name} is off by "
        f"{h[worst]:.3g}; start nearer, or hold fewer joints",
        time=np.nan, residual=float(np.abs(h).max()), iterations=max_iterations,
    )  # fmt: skip


def dependent(Dh: np.ndarray) -> list[int]:
    """Return which rows of Dh (m, nv) depend on each other; empty if none do."""
    if not len(Dh):
        return []
    size = np.linalg.norm(Dh, axis=1)
    if not size.all():
        return [int(k) for k in np.flatnonzero(size == 0)]
    U, s, _ = np.linalg.svd(Dh / size[:, None])
    lost = len(Dh) - int((s > INDEPENDENT).sum())
    return [int(k) for k in np.flatnonzero((np.abs(U[:, len(Dh) - lost :]) > 1e-6).any(axis=1))] if lost else []


def independent_constraints(model: Model, q: ArrayLike | None = None) -> list:
    """Return the model's constraints without those that the ones before them imply.

    Parameters
    ----------
    model : Model
    q : (nq,) array, optional [m or rad]
        Without it, a constraint is left out where h is in every configuration a sum of multiples of those
        kept: of a hinge that closes a plane loop, the three equations out of the plane. With a configuration
        that satisfies all of them, also where this is so only around it, as in a Bennett linkage; a run must
        then start there, since elsewhere the rest may hold where the whole does not.

    Returns
    -------
    list

    Raises
    ------
    InputError
        If q does not satisfy the constraints.
    """
    flat, rng, count = model.flat, np.random.default_rng(0), len(model.constraints)
    free = ~np.asarray(flat.kinematic, dtype=bool)
    if q is None:
        places = [model.integrate(model.neutral(), rng.normal(size=model.nv) * free) for _ in range(6)]
    else:
        places = [model.validate_configuration(q)]
        require_satisfied(model, places[0])
        for _ in range(6):  # along what the constraints allow, and back to them
            _, s, Vt = np.linalg.svd(model.constraint_rows(places[-1][None])[1][0] * free)
            allowed = Vt[int((s > INDEPENDENT).sum()) :]
            step = 0.5 * (rng.normal(size=len(allowed)) @ allowed) * free
            try:
                places.append(satisfy_constraints(model, model.integrate(places[-1], step)))
            except ConvergenceError:
                continue
    h, rows = model.constraint_rows(np.array(places))
    rows = rows * free
    # lengths in sizes of the mechanism, what is not geometry in its own size
    size = max(np.abs(flat.p).max(initial=0.0), np.abs(flat.frame_p).max(initial=0.0)) or 1.0
    unit = np.linalg.norm(rows, axis=2).max(axis=0)
    unit[unit == 0] = 1.0
    for k, constraint in enumerate(model.constraints):
        if isinstance(constraint, PointConstraint | Distance | AxisConstraint):
            unit[k] = 1.0 if isinstance(constraint, AxisConstraint) else size
    if q is None:  # one row each, of all configurations, so that the multiples are the same in all
        rows = np.concatenate((*rows, h.T), axis=1)[None]
    # rows that add to the span of those before them, at any place
    spanned = [np.zeros((0, rows.shape[2]))] * len(rows)
    kept = []
    for k in range(count):
        adds = False
        for at in range(len(rows)):
            rest = rows[at, k] / unit[k]
            for _ in range(2):
                rest = rest - spanned[at].T @ (spanned[at] @ rest)
            if np.linalg.norm(rest) > IMPLIED:
                spanned[at] = np.vstack((spanned[at], rest / np.linalg.norm(rest)))
                adds = True
        kept += [model.constraints[k]] if adds else []
    return kept


def require_satisfied(model: Model, q: np.ndarray) -> None:
    """Raise if a configuration misses the model's constraints.

    Raises
    ------
    InputError
        If it does; the text names the constraint and the remedy.
    """
    h = model.constraint_rows(q[None])[0][0]
    if np.abs(h).max(initial=0.0) > CONSISTENT:
        worst = int(np.abs(h).argmax())
        raise InputError(
            f"q0 does not satisfy the {model.constraints[worst].name}: off by {h[worst]:.3g}; "
            f"take q0 = vitree.satisfy_constraints(model, q0)"
        )


def require_consistent(model: Model, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise if a start misses the model's constraints, or they depend on each other there.

    Raises
    ------
    InputError
        If so; the text names the constraint and the remedy.
    """
    require_satisfied(model, q)
    Dh = model.constraint_rows(q[None])[1][0]
    tied = dependent(Dh[:, ~np.asarray(model.flat.kinematic, dtype=bool)])
    if tied:
        raise InputError(
            "the constraints depend on each other at q0 (one too many, or a singular configuration): "
            + "; ".join(model.constraints[k].name for k in tied)
            + ". Leave one out (vitree.independent_constraints(model, q0) does), or start elsewhere"
        )
    if v is not None and len(Dh):
        rate = Dh @ v
        if np.abs(rate).max() > CONSISTENT * max(1.0, np.abs(Dh).max() * np.abs(v).max()):
            worst = int(np.abs(rate).argmax())
            raise InputError(
                f"v0 does not satisfy the {model.constraints[worst].name}: its rate is {rate[worst]:.3g}; "
                f"take v0 = model.project_velocity(q0, v0)"
            )
