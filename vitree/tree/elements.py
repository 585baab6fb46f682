"""The elements of a tree: primitives, constant transforms, bodies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, plain_scalar, real, several, shown
from vitree.errors import ModelError, UnknownNameError
from vitree.mechanism.flat import FRICTION_VELOCITY, Geometry
from vitree.spatial.checks import finite, triple, unit_triple, vector
from vitree.spatial.inertia import body_mass, inertia_tensor
from vitree.spatial.rotations import UNIT_TOLERANCE, proper_rotation, rotation_about, rotation_rpy
from vitree.wording import text_of


@dataclass(frozen=True)
class Element:
    """An element that ``Frame.add`` takes; made by the functions of this module and of ``pairs``."""

    name: str | None


@dataclass(frozen=True)
class Fixed(Element):
    """A constant transform: rotation (3, 3) and position (3,) [m] in the frame before it."""

    name: str | None = None
    rotation: np.ndarray | None = None
    position: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Coordinate(Element):
    """A moving primitive: a unit twist (angular, linear), or a ball or free joint (axis None).

    If the joint has several coordinates, ``joint`` and ``joint_kind`` are the name and kind of that joint.
    """

    name: str
    kind: str = "screw"
    twist: tuple[float, ...] | None = None
    axis: tuple[float, ...] | None = None
    damping: ArrayLike = 0.0
    friction: ArrayLike = 0.0
    friction_velocity: ArrayLike = FRICTION_VELOCITY
    dry_friction: ArrayLike = 0.0
    limit_restitution: ArrayLike = 0.0
    armature: ArrayLike = 0.0
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf
    velocity: ArrayLike = np.inf
    effort: ArrayLike = np.inf
    joint: str | None = None
    joint_kind: str | None = None
    mimic: tuple[str, float, float] | None = None
    kinematic: bool = False


@dataclass(frozen=True)
class Body(Element):
    """Mass [kg], COM (3,) [m] and inertia (3, 3) about the COM [kg m^2], in the frame that the body is added to.

    ``scenery`` is no link: shapes at a frame of its name, which are drawn.
    """

    name: str
    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
    inertia: np.ndarray | None = None
    geometry: tuple[Geometry, ...] = ()
    scenery: bool = False


# ---- primitives -------------------------------------------------------------------------------------


class Limits(TypedDict, total=False):
    """Keywords of a joint's coordinates, as :func:`tx` explains them."""

    damping: ArrayLike
    friction: ArrayLike
    friction_velocity: ArrayLike
    dry_friction: ArrayLike
    armature: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    limit_restitution: ArrayLike
    velocity: ArrayLike
    effort: ArrayLike
    kinematic: bool


_LIMITS = tuple(Limits.__annotations__)


def _coordinate(
    name: str, limits: Limits, kind: str = "screw", twist: tuple[float, ...] | None = None,
    axis: tuple[float, ...] | None = None,
) -> Coordinate:  # fmt: skip
    """A coordinate with its limits, whose keywords are checked."""
    for word in limits:
        if word not in _LIMITS:
            raise UnknownNameError(f'keyword of the coordinate "{name}"', word, _LIMITS, argument=word)
    if "friction_velocity" in limits and "friction" not in limits:
        raise ModelError(f'"{name}" has friction_velocity and no friction; give friction=, too, or leave it out')
    kinematic = plain_scalar(limits.get("kinematic", False))
    if not isinstance(kinematic, bool):
        given = text_of(kinematic, repr)
        raise ModelError(f'kinematic of "{name}" is {given}; it must be True or False')
    own: Limits = {**limits, "kinematic": kinematic}
    return Coordinate(name, kind, twist, axis, **own)


def _primitive(value: object, rotation: bool, axis: int, limits: Limits) -> Coordinate | Fixed:
    unit = np.zeros(3)
    unit[axis] = 1.0
    if isinstance(value, str):
        twist = np.concatenate((unit, np.zeros(3)) if rotation else (np.zeros(3), unit))
        return _coordinate(value, limits, twist=tuple(twist), axis=tuple(unit))
    if np.isfinite(number := real(value)):
        if limits:
            raise ModelError(f"a constant transform takes no {', '.join(limits)}; a name would make it a coordinate")
        if rotation:
            return Fixed(rotation=rotation_about(unit, number))
        return Fixed(position=tuple(number * unit))
    raise ModelError(
        f"a primitive transform takes a name (of a coordinate) or a finite number (a constant), not {shown(value)}"
    )


def tx(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Translation along x: by a coordinate of that name, or by a constant [m].

    Parameters
    ----------
    value : str or float
        Name of the coordinate, or length [m].
    **limits
        For a coordinate: damping [N s/m or N m s/rad]; friction f [N or N m] and friction_velocity e
        [m/s or rad/s], by default 0.01, for the force -f v/sqrt(v^2 + e^2); dry_friction f [N or N m], for the force
        of f against the motion, and of up to f at rest, where the joint stands exactly; armature [kg or kg m^2], the
        inertia of a rotor times the square of its gear ratio; lower, upper [m or rad]; limit_restitution [-], from 0
        to 1, the share of the speed with which it rebounds from them where ``tree.limits`` is "enforce"; velocity
        [m/s or rad/s], effort [N or N m]; ``kinematic=True`` for a coordinate whose motion is prescribed and not solved
        for.

    Raises
    ------
    ModelError
        If the value is neither a name nor a number, or a constant has limits.
    UnknownNameError
        If a limit is not known.

    Notes
    -----
    This is smooth Coulomb friction. A joint under a force tau below f does not stick: it creeps at the velocity
    e tau/sqrt(f^2 - tau^2). A smaller e is sharper and stiffer: near rest, f/e acts as damping. Dry friction is sharp,
    and for the methods "linear-time" and "midpoint" only.

    References
    ----------
    Johnson & Murphey 2009, section III.
    """
    return _primitive(value, False, 0, limits)


def ty(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Translation along y; see :func:`tx`."""
    return _primitive(value, False, 1, limits)


def tz(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Translation along z; see :func:`tx`."""
    return _primitive(value, False, 2, limits)


def rx(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Rotation about x: by a coordinate of that name, or by a constant [rad]; see :func:`tx`."""
    return _primitive(value, True, 0, limits)


def ry(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Rotation about y; see :func:`rx`."""
    return _primitive(value, True, 1, limits)


def rz(value: str | float, **limits: Unpack[Limits]) -> Coordinate | Fixed:
    """Rotation about z; see :func:`rx`."""
    return _primitive(value, True, 2, limits)


def _pair(twist: object, name: str) -> tuple[object, object]:
    """The two parts of a twist."""
    parts = several(twist, "twist", f'a pair (angular, linear) of "{name}"')
    if len(parts) != 2:
        raise ModelError(f'the twist of "{name}" has {len(parts)} parts; it must have two, (angular, linear)')
    return parts[0], parts[1]


def screw(
    name: str,
    axis: ArrayLike | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    pitch: float = 0.0,
    *,
    twist: Sequence[ArrayLike] | None = None,
    **limits: Unpack[Limits],
) -> Coordinate:
    """A joint of one coordinate about a line, or of any unit twist.

    Parameters
    ----------
    name : str
    axis : (3,) array
        Direction of the axis; normalised.
    point : (3,) array
        A point of the axis [m].
    pitch : float
        Advance along the axis [m/rad].
    twist : ((3,) array, (3,) array)
        Instead of axis, point and pitch: (angular, linear) velocity for a unit rate [rad/s, m/s]. The angular part must
        be of unit length; or it is zero, and the linear part is of unit length.
    **limits
        As for :func:`tx`.

    Raises
    ------
    ModelError
        If neither an axis nor a twist is given, or both are, or one has a wrong form.

    References
    ----------
    Murray, Li & Sastry 1994, chapter 2: twists and screws.
    """
    if (axis is None) == (twist is None):
        raise ModelError(f'screw "{name}": give either axis= (with point=, pitch=) or twist=')
    if twist is not None:
        w, v = (triple(part, f'twist of "{name}"') for part in _pair(twist, name))
        length = _length(w) or _length(v)
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise ModelError(
                f'the twist of "{name}" is not a unit twist (length {length:.6g}); divide it by {length:.6g}'
                if length
                else f'the twist of "{name}" is zero; give it a direction'
            )
        turning, moving = ([x / length for x in part] for part in (w, v))
        return _coordinate(name, limits, twist=(*turning, *moving), axis=tuple(turning if any(turning) else moving))
    along = unit_triple(axis, f'axis of "{name}"')
    at, advance = triple(point, f'point of "{name}"'), finite(pitch, f'pitch of "{name}"')
    moving = [advance * x for x in along]
    if any(at):
        moving = (np.cross(at, along) + moving).tolist()
    return _coordinate(name, limits, twist=(*along, *moving), axis=tuple(along))


def _length(x: list[float]) -> float:
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


def ball(name: str, **limits: Unpack[Limits]) -> Coordinate:
    """A joint ``name`` that turns freely: q is a quaternion (x, y, z, w), v the angular velocity in its axes [rad/s].

    ``**limits`` are as for :func:`tx`, but such a joint has no lower and upper and cannot be prescribed, which raises a
    ModelError.
    """
    not_kinematic(name, limits)
    return _coordinate(name, limits, kind="ball")


def free(name: str, **limits: Unpack[Limits]) -> Coordinate:
    """A joint ``name`` that moves freely: q = (position [m], quaternion), v = (linear [m/s], angular [rad/s]).

    The velocity is in the joint's axes. ``**limits`` are as for :func:`tx`, but such a joint has no lower and upper and
    cannot be prescribed, which raises a ModelError.
    """
    not_kinematic(name, limits)
    return _coordinate(name, limits, kind="free")


def not_kinematic(name: str, limits: Limits) -> None:
    """Raise a ModelError if a joint of several coordinates is to be prescribed, which none can."""
    if plain_scalar(limits.get("kinematic", False)) is True:  # other values raise an error later
        raise ModelError(
            f'"{name}" cannot be prescribed: only joints of one coordinate can; make it of tx, ty, tz, rz, ry, rx'
        )


def fixed(
    name: str | None = None,
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
) -> Fixed:
    """A constant transform, and a name for the frame that it leads to.

    Parameters
    ----------
    name : str, optional
    xyz : (3,) array [m]
    rpy : (3,) array [rad]
        Turns about the fixed axes x, y, z in that order (URDF's convention).
    rotation : (3, 3) array, optional
        Instead of rpy: a rotation matrix.

    Raises
    ------
    ModelError
        If a vector is not three finite numbers, or the matrix not a rotation.
    """
    what = "fixed" if name is None else name
    R = rotation_rpy(*vector(rpy, "rpy").tolist()) if rotation is None else proper_rotation(rotation, what)
    return Fixed(name, rotation=R, position=tuple(vector(xyz, "xyz").tolist()))


def frame(name: str) -> Fixed:
    """A ``name`` for the frame that the elements before lead to."""
    return Fixed(name)


@explain_calls
def body(
    name: str,
    mass: float,
    inertia: ArrayLike | None = None,
    com: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    geometry: Iterable[Geometry] = (),
) -> Body:
    """A rigid body fixed to the current frame. The frame takes its name and is then a link.

    Parameters
    ----------
    name : str
    mass : float [kg]
    inertia : None, 3 or 6 numbers, or (3, 3) array [kg m^2]
        About the COM: None (a point mass), the principal moments, (ixx, ixy, ixz, iyy, iyz, izz), or the matrix.
    com : (3,) array [m]
        Centre of mass in the frame.
    rotation : (3, 3) array, optional
        Rotation of the axes of the inertia in the frame.
    geometry : sequence of Geometry
        Shapes, for viewers.

    Raises
    ------
    ModelError
        If the mass is negative or not finite, or the inertia is physically impossible.
    """
    mass = body_mass(mass, name)
    tensor = inertia_tensor(inertia, name)
    if rotation is not None:
        R = proper_rotation(rotation, f'inertia axes of "{name}"')
        tensor = R @ tensor @ R.T
    at = tuple(vector(com, f'com of "{name}"').tolist())
    return Body(name, mass=mass, com=at, inertia=tensor, geometry=_shapes(geometry, name))


def _shapes(geometry: object, name: str) -> tuple[Geometry, ...]:
    """The shapes of a body."""
    shapes = several(geometry, "geometry", f'a sequence of Geometry of "{name}"')
    return tuple(of_kind(shape, Geometry, "geometry", "a sequence of Geometry") for shape in shapes)


def part_of(element: Coordinate, joint: str, kind: str) -> Coordinate:
    """Return a coordinate as part of a joint made of several."""
    return replace(element, joint=joint, joint_kind=kind)
