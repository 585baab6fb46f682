"""What touches what: a ground, parts that meet it and each other, pairs that do not, and wheels that do not slip."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, several, shown
from vitree.errors import ModelError
from vitree.geometry.numbers import array_of, points_of, within
from vitree.geometry.shapes import EXACT, Hull, Shape
from vitree.geometry.terrain import HeightField
from vitree.spatial.checks import finite, triple, unit_triple

#: How limits of joints are treated.
LIMITS = ("report", "enforce", "ignore")
#: Friction [-], restitution [-], stiffness [N/m], damping [N s/m] and softness [m] of a pair without others.
FRICTION, RESTITUTION, RIGID, UNDAMPED, ABRUPT = 0.8, 0.0, math.inf, 0.0, 0.0
#: The name of the ground among those of frames.
GROUND = "ground"
#: Coefficients of friction: sliding [-], or sliding [-], torsional [m] and rolling [m].
Friction = float | tuple[float, float, float]
_UP = (0.0, 0.0, 1.0)


def _check_surface(of: Ground | Contact, name: str) -> None:
    """Check friction, restitution, stiffness, damping and softness, each of which may be None."""
    if of.friction is not None:
        object.__setattr__(of, "friction", checked_friction(of.friction, name))
    for field, least, most in (("restitution", 0.0, 1.0), ("damping", 0.0, math.inf), ("softness", 0.0, math.inf)):
        value = getattr(of, field)
        if value is not None:
            object.__setattr__(of, field, within(value, f"{field} of the {name}", least, most))
    if of.stiffness is not None:
        stiffness = within(of.stiffness, f"stiffness of the {name}", 0.0, math.inf, unbounded=True)
        if not stiffness:
            raise ModelError(f"the stiffness of the {name} is zero, so it carries no load; omit it for a rigid one")
        object.__setattr__(of, "stiffness", stiffness)
    for field in ("damping", "softness"):
        if getattr(of, field) and (of.stiffness is None or of.stiffness == math.inf):
            raise ModelError(
                f"the {name} has {field} and no stiffness; a rigid contact has no {field}: give both or none"
            )


def checked_friction(value: object, name: str) -> Friction:
    """Return coefficients of friction of what has a name: one number where only sliding rubs.

    Raises a ModelError if they are none.
    """
    what = f"friction of the {name}"
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        return within(value, what, 0.0, math.inf)
    parts = several(value, what, "a number, or (sliding [-], torsional [m], rolling [m])")
    if len(parts) != 3:
        raise ModelError(f"the {what} has {len(parts)} numbers; give one, or (sliding [-], torsional [m], rolling [m])")
    kinds = ("sliding", "torsional", "rolling")
    slide, spin, roll = (within(x, f"{kind} {what}", 0.0, math.inf) for kind, x in zip(kinds, parts, strict=True))
    if (spin or roll) and not slide:
        raise ModelError(
            f"the {what} is {shown(value)}; torsional and rolling friction need sliding friction above zero"
        )
    return (slide, spin, roll) if spin or roll else slide


@explain_calls
@dataclass(frozen=True)
class Ground:
    """The ground: a half-space, several of them, or a height field.

    Parameters
    ----------
    height : float [m]
        Distance of the plane from the world's origin, along ``normal``.
    normal : (3,) array
        Direction out of the ground; normalised.
    friction : float or (sliding, torsional, rolling) [-, m, m]
        Coulomb friction, zero or more. The torque of torsional friction about the normal is at most its coefficient
        times the normal force, and so is that of rolling friction about the tangents; a number is sliding friction
        alone. All three share one elliptic cone, as with MuJoCo's elliptic cones.
    restitution : float [-]
        From 0 (no rebound) to 1.
    stiffness : float [N/m]
        Of a spring at each point of contact; infinite for a rigid ground.
    damping : float [N s/m]
        Of a damper beside that spring.
    planes : sequence of (normal, height)
        Further half-spaces, such as walls. What is free is outside of all of them.
    terrain : HeightField, optional
        In place of ``height`` and ``normal``.
    softness : float [m]
        Gaps above and below zero between which the force of that spring sets in smoothly; zero: at touch. The normal
        force is k (w - gap)^2 / (4 w) at gaps from -w to w, and -k gap below.

    Notes
    -----
    Friction, restitution and compliance of a contact with the ground are those of the :class:`Contact`, and those of
    the ground where it has none. Between two bodies each coefficient of friction and restitution is the larger of their
    two, as in MuJoCo, and compliance is that of the softer one; a body for which none is given takes that of the other,
    or of the ground.

    Raises
    ------
    ModelError
        If a number is out of its range, a normal is zero, or a terrain and a plane are given in one place.
    InputError
        If the planes are no sequence, or the terrain is no HeightField.
    """

    height: float = 0.0
    normal: tuple[float, float, float] = _UP
    friction: Friction = FRICTION
    restitution: float = RESTITUTION
    stiffness: float = RIGID
    damping: float = UNDAMPED
    planes: tuple[tuple[tuple[float, ...], float], ...] = ()
    terrain: HeightField | None = None
    softness: float = ABRUPT

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", finite(self.height, "height of the ground"))
        object.__setattr__(self, "normal", _unit(self.normal, "normal of the ground"))
        for field in ("friction", "restitution", "stiffness", "damping", "softness"):
            if getattr(self, field) is None:
                raise ModelError(f"the {field} of the ground is None; leave it out for the default")
        _check_surface(self, "ground")
        planes = several(self.planes, "planes", "a sequence of (normal, height) of half-spaces")
        object.__setattr__(self, "planes", tuple(map(plane_of, planes)))
        if self.terrain is not None:
            of_kind(self.terrain, HeightField, "terrain", "a HeightField")
            if self.height or self.normal != _UP:
                raise ModelError("a ground with a terrain has no height and no normal; raise the terrain by its origin")

    @property
    def half_spaces(self) -> tuple[tuple[float, float, float, float], ...]:
        """The planes n . x = d of its half-spaces as (nx, ny, nz, d [m]), n out of the ground."""
        first = () if self.terrain is not None else ((*self.normal, self.height),)
        return (*first, *((*normal, height) for normal, height in self.planes))

    @property
    def name(self) -> str:
        """The ground as messages call it."""
        return "ground"


def _unit(value: object, what: str) -> tuple[float, ...]:
    """A unit normal; one that is as good as exact keeps its digits."""
    given = triple(value, what)
    return tuple(given if abs(sum(x * x for x in given) - 1.0) < EXACT else unit_triple(given, what))


def plane_of(given: Iterable[object], what: str = "a plane of the ground") -> tuple[tuple[float, ...], float]:
    """Return the unit normal and the height of a plane given as (normal, height); ``what`` it is in messages."""
    try:
        normal, height = given
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {shown(given)}; give (normal, height)") from None
    return _unit(normal, f"normal of {what}"), finite(height, f"height of {what}")


@explain_calls
@dataclass(frozen=True)
class Contact:
    """A part of a mechanism that touches the ground and other bodies.

    Parameters
    ----------
    frame : str
        Name of the frame that it is fixed to.
    points : (n, 3) array [m], optional
        Points in the frame, such as the corners of a foot. Without points and shapes it is the frame's origin.
    radius : float [m]
        Of balls about the points; zero for points.
    shapes : sequence of shapes, optional
        :class:`Sphere`, :class:`Capsule`, :class:`Box`, :class:`Cylinder`, :class:`Cone`, :class:`Ellipsoid`,
        :class:`Hull`, :class:`Disk`, placed in the frame.
    friction : float or (sliding, torsional, rolling), optional [-, m, m]
        See :class:`Ground` for what these are, and for what counts where two surfaces meet.
    restitution : float, optional [-]
    stiffness : float, optional [N/m]
    damping : float, optional [N s/m]
        Only together with a stiffness.
    softness : float, optional [m]
        Likewise.

    Notes
    -----
    Shapes of any kind and points touch each other and the planes of the ground, except that points without a radius do
    not touch each other. On a height field spheres, capsules and points are as on a plane; boxes, hulls, cylinders,
    cones and ellipsoids meet it by their points, and disks do not meet it.

    Raises
    ------
    ModelError
        If points are no finite triples, or a number is out of its range.
    InputError
        If the shapes are none.
    """

    frame: str
    points: ArrayLike | None = None
    radius: float = 0.0
    shapes: tuple[Shape, ...] = ()
    friction: Friction | None = None
    restitution: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    softness: float | None = None

    def __post_init__(self) -> None:
        _require_name(self.frame, "frame of a contact")
        shapes = self.shapes if not isinstance(self.shapes, Shape) else (self.shapes,)
        object.__setattr__(self, "shapes", several(shapes, "shapes", "shapes such as vt.Sphere(0.1)"))
        for shape in self.shapes:
            of_kind(shape, Shape, "shapes", "shapes such as vt.Sphere(0.1)")
        points = self.points
        if points is None and not self.shapes:
            points = (0.0, 0.0, 0.0)
        if points is not None:
            object.__setattr__(self, "points", points_of(points, f"points of the {self.name}"))
        radius = within(self.radius, f"radius of the {self.name}", 0.0, math.inf)
        if radius and points is None:
            raise ModelError(f"the {self.name} has a radius and no points; shapes have their own sizes")
        object.__setattr__(self, "radius", radius)
        _check_surface(self, self.name)

    @property
    def name(self) -> str:
        """The contact as messages call it."""
        return f'contact of "{self.frame}"'

    @property
    def lost(self) -> float:
        """How far vertices that were left out are, at most, outside of its hulls [m]."""
        return max((shape.lost for shape in self.shapes if isinstance(shape, Hull)), default=0.0)

    def parts(self) -> list[tuple[np.ndarray, float, Shape | None]]:
        """Return what the ground meets: points (n, 3) [m] in the frame, radius of balls about them [m], shape or None.

        Cylinders, cones and ellipsoids are met by planes as they are, and by a height field at these points.
        """
        own = [] if self.points is None else [(array_of(self.points), self.radius, None)]
        return [*own, *((shape.points, shape.ball, shape) for shape in self.shapes)]


@dataclass(frozen=True)
class NoContact:
    """Two frames, and all that is fixed to the same bodies, do not touch each other.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the world, not the ground.
    bodies : bool
        Whether all that is fixed to the same bodies is left out. False: contacts of these two frames alone, as where
        links are fixed to each other and some of them touch others.

    Raises
    ------
    ModelError
        If a name is no text, or ``bodies`` neither True nor False.
    """

    a: str
    b: str
    bodies: bool = True

    def __post_init__(self) -> None:
        for name in (self.a, self.b):
            _require_name(name, "frame of a NoContact")
        if not isinstance(self.bodies, bool):
            raise ModelError(f"bodies of the {self.name} is {shown(self.bodies)}; it must be True or False")

    @property
    def name(self) -> str:
        """The pair as messages call it."""
        return f'no contact of "{self.a}" and "{self.b}"'


def _require_name(value: object, what: str) -> None:
    if not isinstance(value, str) or not value:
        raise ModelError(f"the {what} is {shown(value)}; it must be a name")


#: Friction [-], restitution [-], stiffness [N/m] and damping [N s/m] of a pair, torsional and rolling friction [m], and
#: softness [m].
Surface = tuple[float, float, float, float, float, float, float]
#: How many these are.
SURFACE = 7


def friction_of(value: Friction) -> tuple[float, float, float]:
    """Return the coefficients of sliding [-], torsional and rolling friction [m]."""
    return value if isinstance(value, tuple) else (value, 0.0, 0.0)


def against_ground(contact: Contact, ground: Ground) -> Surface:
    """Return the numbers of a contact with the ground.

    See :class:`Ground` for how they are those of the two.
    """
    own = ground if contact.stiffness is None else contact
    slide, spin, roll = friction_of(ground.friction if contact.friction is None else contact.friction)
    restitution = ground.restitution if contact.restitution is None else contact.restitution
    return slide, restitution, *_compliance(own), spin, roll, own.softness or ABRUPT


def between(a: Contact, b: Contact, ground: Ground | None) -> Surface:
    """Return the same of two contacts: the larger of each, and the compliance of the softer."""
    default = Ground() if ground is None else ground
    given = [friction_of(x) for x in (a.friction, b.friction) if x is not None]
    slide, spin, roll = map(max, zip(*(given or [friction_of(default.friction)]), strict=True))
    restitution = max((x for x in (a.restitution, b.restitution) if x is not None), default=default.restitution)
    soft = min((x for x in (a, b) if x.stiffness is not None), key=lambda x: x.stiffness or RIGID, default=default)
    return slide, restitution, *_compliance(soft), spin, roll, soft.softness or ABRUPT


def _compliance(of: Ground | Contact) -> tuple[float, float]:
    return of.stiffness or RIGID, of.damping or UNDAMPED


# ---- rolling without slip --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RollingConstraint:
    """A part of a mechanism that does not slip on a plane: a wheel, a ball, a skate or a knife edge.

    The point of the wheel that is nearest to the plane has no velocity along the directions that are held: a
    nonholonomic constraint. It holds both ways, with any force. For friction with a limit take a :class:`Contact` with
    a :class:`Disk` or a :class:`Sphere`.

    Parameters
    ----------
    frame : str
        Name of the frame that it is fixed to. A wheel that turns is fixed to the frame that turns.
    radius : float [m]
        Of the wheel; zero for a skate or a knife edge.
    axis : (3,) array or None
        Axle of the wheel in the frame, normalised; of a skate the direction across its edge. None: a ball.
    center : (3,) array [m]
        In the frame.
    along : bool, optional
        Whether it holds along the way of the wheel. Without it that is so for a wheel and a ball, and not for a skate.
    across : bool
        Whether it holds across, along the axle.
    normal : bool
        Whether it holds its distance from the plane: it neither leaves the plane nor falls through it. Without it
        something else must, such as joints that move along the plane only, or contacts.
    plane : (normal, height), optional
        The plane n . x = height [m]. Without it that of the tree's ground; without a ground z = 0.

    Raises
    ------
    ModelError
        If a number is out of its range, a direction is zero, nothing is held, or a ball has no radius.
    """

    frame: str
    radius: float = 0.0
    axis: tuple[float, float, float] | None = (0.0, 1.0, 0.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    along: bool | None = None
    across: bool = True
    normal: bool = False
    plane: tuple[Sequence[float], float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str) or not self.frame:
            raise ModelError(f"the frame of what rolls is {shown(self.frame)}; it must be a name")
        radius = within(self.radius, f"radius of the {self.name}", 0.0, math.inf)
        object.__setattr__(self, "radius", radius)
        if self.axis is not None:
            object.__setattr__(self, "axis", tuple(unit_triple(self.axis, f"axis of the {self.name}")))
        elif not radius:
            raise ModelError(f"the {self.name} has no axis, which makes it a ball, and no radius; give one of both")
        object.__setattr__(self, "center", tuple(triple(self.center, f"center of the {self.name}")))
        if self.along is None:
            object.__setattr__(self, "along", radius > 0)
        for field in ("along", "across", "normal"):
            if not isinstance(held := getattr(self, field), bool):
                raise ModelError(f"{field} of the {self.name} is {shown(held)}; it must be True or False")
        if not (self.along or self.across or self.normal):
            raise ModelError(f"the {self.name} constrains nothing; give along=True, across=True or normal=True")
        if self.plane is not None:
            object.__setattr__(self, "plane", plane_of(self.plane, f"the plane of the {self.name}"))

    @property
    def holds(self) -> tuple[bool, bool, bool]:
        """Whether it holds along the normal, along and across."""
        return self.normal, bool(self.along), self.across

    @property
    def name(self) -> str:
        """It, as messages call it."""
        return f'rolling of "{self.frame}"'
