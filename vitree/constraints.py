"""Holonomic constraints between named frames and coordinates, and configurations that satisfy them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vitree._core.types import ConstraintList
from vitree.errors import ConvergenceError, InputError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from vitree.model import Model

#: Codes of ``_core/constraints.pxi``.
_POINTS, _DISTANCE, _COUPLING = 0, 1, 2
#: A start may miss the constraints by this much [m or rad], and their rates [per s].
CONSISTENT = 1e-8
#: Unit rows of Dh depend on each other below this singular value.
INDEPENDENT = 1e-10


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
    length : float [m]
        Positive.
    """

    a: str
    b: str
    length: float

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
    """

    factors: Mapping[str, float]
    value: float = 0.0

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "coupling " + " and ".join(f'"{joint}"' for joint in self.factors)


Constraint = PointConstraint | Distance | Coupling


def point_constraint(a: str, b: str, directions: int | Iterable = 3, axes: str = "world") -> list[PointConstraint]:
    """Hold the origin of frame b at that of frame a, along 1, 2 or 3 directions.

    Parameters
    ----------
    a, b : str
    directions : int or sequence of (3,) arrays
        3 for all, or the directions along which they are held.
    axes : {"world", "local"}
    """
    rows = np.eye(3) if isinstance(directions, int) and directions == 3 else np.atleast_2d(np.array(directions, float))
    if rows.shape not in ((1, 3), (2, 3), (3, 3)):
        raise ModelError(f"directions must be 3, or up to three such as [(1, 0, 0), (0, 0, 1)], not {directions!r}")
    return [PointConstraint(a, b, tuple(float(x) for x in row), axes) for row in rows]


def compiled(model: Model) -> ConstraintList:
    """Return the model's constraints as the core takes them.

    Raises
    ------
    UnknownNameError, ModelError
    """
    return ConstraintList([_compiled_one(model, c) for c in model.constraints])


def _place(model: Model, name: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Body, rotation and position of a frame in its core frame."""
    if name == "world" and "world" not in model._frames:
        return -1, np.eye(3), np.zeros(3)
    if name not in model._frames:
        raise UnknownNameError("frame", name, ["world", *model.frame_names])
    k = model._frames[name]
    return int(model.flat.frame_body[k]), model.flat.frame_E[k], model.flat.frame_p[k]


def _compiled_one(model: Model, constraint: Constraint) -> tuple:
    zero = np.zeros(3)
    if isinstance(constraint, Coupling):
        if len(constraint.factors) != 2:
            raise ModelError(f"a {constraint.name} takes two joints, not {len(constraint.factors)}")
        places = []
        for joint, factor in constraint.factors.items():
            info = model.joint(joint)
            if info.v_slice.stop - info.v_slice.start != 1 or not np.isfinite(factor):
                raise ModelError(f'{constraint.name}: "{joint}" must have one coordinate, and a finite factor')
            body = int(np.searchsorted(model._iv, info.v_slice.start))
            places.append((body, info.v_slice.start, float(factor)))
        (body_a, iv_a, factor_a), (body_b, iv_b, factor_b) = places
        return _COUPLING, body_a, body_b, 0, zero, zero, zero, float(constraint.value), iv_a, iv_b, factor_a, factor_b
    if not isinstance(constraint, PointConstraint | Distance):
        raise ModelError(f"a constraint is a PointConstraint, Distance or Coupling, not {constraint!r}")
    body_a, R, a = _place(model, constraint.a)
    body_b, _, b = _place(model, constraint.b)
    if body_a == body_b:
        raise ModelError(f"{constraint.name}: both frames are fixed to the same body, so that it says nothing")
    if isinstance(constraint, Distance):
        if not (np.isfinite(constraint.length) and constraint.length > 0):
            raise ModelError(f"{constraint.name}: the length is {constraint.length}; it must be positive [m]")
        return _DISTANCE, body_a, body_b, 0, a, b, zero, float(constraint.length), 0, 0, 0.0, 0.0
    if constraint.axes not in ("world", "local"):
        raise ModelError(f'{constraint.name}: axes="{constraint.axes}" is not known; choose "world" or "local"')
    axis = np.array(constraint.axis, dtype=float)
    if axis.shape != (3,) or not np.isfinite(axis).all() or not np.any(axis):
        raise ModelError(f"{constraint.name}: the axis must be three finite numbers, not all zero")
    axis /= np.linalg.norm(axis)
    local = constraint.axes == "local"
    if local:
        axis = R @ axis
    return _POINTS, body_a, body_b, int(local), a, b, axis, float(constraint.offset), 0, 0, 0.0, 0.0


def satisfy_constraints(model: Model, q, hold: Iterable[str] = (), tolerance: float = 1e-12, max_iterations: int = 100):
    """Return the configuration near q that satisfies the model's constraints.

    Parameters
    ----------
    model : Model
    q : (nq,) array
    hold : names of joints
        Their coordinates stay as they are.
    tolerance : float
        Largest h accepted [m or rad].

    Returns
    -------
    (nq,) array

    Raises
    ------
    ConvergenceError
        If no such configuration was found.
    """
    q = model.validate_configuration(q)
    held = np.zeros(model.nv, dtype=bool)
    for name in hold:
        held[model.joint(name).v_slice] = True
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


def require_consistent(model: Model, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise if a start misses the model's constraints, or they depend on each other there.

    Raises
    ------
    InputError
        It names the constraint and the remedy.
    """
    h, Dh = (x[0] for x in model.constraint_rows(q[None]))
    if np.abs(h).max(initial=0.0) > CONSISTENT:
        worst = int(np.abs(h).argmax())
        raise InputError(
            f"q0 does not satisfy the {model.constraints[worst].name}: off by {h[worst]:.3g}; "
            f"take q0 = vitree.satisfy_constraints(model, q0)"
        )
    tied = dependent(Dh)
    if tied:
        raise InputError(
            "the constraints depend on each other at q0 (one too many, or a singular configuration): "
            + "; ".join(model.constraints[k].name for k in tied)
            + ". Leave one out, or start elsewhere"
        )
    if v is not None and len(h):
        rate = Dh @ v
        if np.abs(rate).max() > CONSISTENT * max(1.0, np.abs(Dh).max() * np.abs(v).max()):
            worst = int(np.abs(rate).argmax())
            raise InputError(
                f"v0 does not satisfy the {model.constraints[worst].name}: its rate is {rate[worst]:.3g}; "
                f"take v0 = model.project_velocity(q0, v0)"
            )
