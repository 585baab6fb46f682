"""The words of the notation: transforms, options and components, and the arguments of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Unpack

import numpy as np

from vitree.errors import ModelError
from vitree.geometry import shapes
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.terrain import HeightField
from vitree.mechanism import constraints, contacts, drives, loads, unilateral
from vitree.mechanism.flat import FRICTION_VELOCITY, SEVERAL
from vitree.spatial.rotations import proper_rotation
from vitree.tree import pairs
from vitree.tree.elements import Coordinate, Fixed, Limits, ball, fixed, free, rx, ry, rz, screw, tx, ty, tz

#: Numbers that were given of unit length keep all their digits.
EXACT = 4e-15
#: Three numbers, and any number of them.
Vector = tuple[float, float, float]
Numbers = tuple[float, ...]
#: A function that makes a part of a tree of the arguments of an expression.
Make = Callable[..., Any]
_ORIGIN = (0.0, 0.0, 0.0)
_EYE: Numbers = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_SLOT = re.compile(r"(\([^)]*\)|[^\s?]+)(\??)")


def _twist(name: str, angular: Vector, linear: Vector, **limits: Unpack[Limits]) -> Coordinate:
    """A coordinate along a unit twist, whose digits stay as they were written."""
    made, given = screw(name, twist=(angular, linear), **limits), (*angular, *linear)
    if made.twist is not None and np.allclose(made.twist, given, rtol=0, atol=EXACT):
        made = replace(made, twist=given, axis=angular if np.any(angular) else linear)
    return made


def _fixed(position: Vector, rotation: Numbers = _EYE) -> Fixed:
    """A constant transform, whose digits stay as they were written."""
    given = np.reshape(rotation, (3, 3)).astype(float)
    exact = proper_rotation(given, "fixed")
    return fixed(None, position, rotation=given if np.allclose(given, exact, rtol=0, atol=EXACT) else exact)


def _coupling(
    a: str, factor_a: float, b: str, factor_b: float, value: float = 0.0, efficiency: float = 1.0,
    back: float | None = None,
) -> constraints.Coupling:  # fmt: skip
    both = efficiency if back is None else (efficiency, back)
    return constraints.Coupling({a: factor_a, b: factor_b}, value, efficiency=both)


def _half_spaces(numbers: Numbers) -> tuple[tuple[Numbers, float], ...]:
    """The planes of a ground from four numbers each."""
    if len(numbers) % 4:
        raise ModelError(f"planes are {len(numbers)} numbers; they must be nx ny nz height of each")
    return tuple((numbers[k : k + 3], numbers[k + 3]) for k in range(0, len(numbers), 4))


class _Torsional(NamedTuple):
    """Torsional friction [m]."""

    coefficient: float


class _Rolling(NamedTuple):
    """Rolling friction [m]."""

    coefficient: float


class _Softness(NamedTuple):
    """Gaps [m] about zero within which the force of a compliant contact sets in."""

    width: float


_Turning = _Torsional | _Rolling
_OfSurface = _Turning | _Softness


def _surface(friction: float | None, made: Sequence[Any]) -> tuple[contacts.Friction | None, float | None, list[Any]]:
    """The friction of a ground or a contact, its softness, and what else is within it."""
    found = [[x[0] for x in made if isinstance(x, kind)] for kind in (_Torsional, _Rolling, _Softness)]
    others = [x for x in made if not isinstance(x, _OfSurface)]
    for name, given in zip(("torsional-friction", "rolling-friction", "softness"), found, strict=True):
        if len(given) > 1:
            raise ModelError(f"{name} is there {len(given)} times; it must be one")
    spin, roll, softness = (given[0] if given else None for given in found)
    if spin is None and roll is None:
        return friction, softness, others
    if friction is None:
        raise ModelError("torsional and rolling friction need the sliding friction before them")
    return (friction, spin or 0.0, roll or 0.0), softness, others


def _ground(
    friction: float = contacts.FRICTION, restitution: float = contacts.RESTITUTION, stiffness: float = math.inf,
    damping: float = 0.0, height: float = 0.0, normal: Vector = (0.0, 0.0, 1.0), planes: Numbers = (), *,
    made: Sequence[HeightField | _OfSurface] = (),
) -> contacts.Ground:  # fmt: skip
    given, softness, others = _surface(friction, made)
    if len(others) > 1:
        raise ModelError("a ground has one terrain")
    terrain = others[0] if others else None
    assert given is not None
    return contacts.Ground(height, normal, given, restitution, stiffness, damping, _half_spaces(planes), terrain,
                           softness or 0.0)  # fmt: skip


def _terrain(
    nx: float, ny: float, heights: Numbers, spacing: float | tuple[float, float] = 1.0, origin: Vector = _ORIGIN
) -> HeightField:
    if (nx, ny) != (int(nx), int(ny)) or nx * ny != len(heights):
        raise ModelError(f"there are {len(heights)} heights, not {nx:g} times {ny:g}")
    return HeightField(np.reshape(heights, (int(nx), int(ny))), spacing, origin)


def _contact(
    frame: str, friction: float | None = None, restitution: float | None = None, stiffness: float | None = None,
    damping: float | None = None, radius: float = 0.0, points: Numbers | None = None, *,
    made: Sequence[shapes.Shape | _OfSurface] = (),
) -> contacts.Contact:  # fmt: skip
    given, softness, others = _surface(friction, made)
    if points is not None and len(points) % 3:
        raise ModelError(f"points are {len(points)} numbers; they must be x y z of each")
    at = None if points is None else np.reshape(points, (-1, 3))
    return contacts.Contact(frame, at, radius, tuple(others), given, restitution, stiffness, damping, softness)


def _placed(position: Vector, rotation: Numbers) -> shapes.Place:
    return {"position": position, "rotation": np.reshape(rotation, (3, 3))}


def _sphere(radius: float, position: Vector = _ORIGIN, rotation: Numbers = _EYE) -> shapes.Sphere:
    return shapes.Sphere(radius, **_placed(position, rotation))


def _capsule(
    radius: float, length: float, position: Vector = _ORIGIN, rotation: Numbers = _EYE
) -> shapes.Capsule:
    return shapes.Capsule(radius, length, **_placed(position, rotation))


def _box(size: Vector, position: Vector = _ORIGIN, rotation: Numbers = _EYE) -> shapes.Box:
    return shapes.Box(size, **_placed(position, rotation))


def _cylinder(
    radius: float, length: float, rim_points: float = shapes.RIM_POINTS, position: Vector = _ORIGIN,
    rotation: Numbers = _EYE,
) -> shapes.Cylinder:  # fmt: skip
    if rim_points != int(rim_points):
        raise ModelError(f"rim_points of the cylinder is {rim_points:g}; it must be a whole number, 3 or more")
    return shapes.Cylinder(radius, length, int(rim_points), **_placed(position, rotation))


def _cone(radius: float, length: float, position: Vector = _ORIGIN, rotation: Numbers = _EYE) -> shapes.Cone:
    return shapes.Cone(radius, length, **_placed(position, rotation))


def _ellipsoid(semi_axes: Vector, position: Vector = _ORIGIN, rotation: Numbers = _EYE) -> shapes.Ellipsoid:
    return shapes.Ellipsoid(semi_axes, **_placed(position, rotation))


def _disk(
    radius: float, axis: Vector = (0.0, 1.0, 0.0), position: Vector = _ORIGIN, rotation: Numbers = _EYE
) -> shapes.Disk:
    return shapes.Disk(radius, axis, **_placed(position, rotation))


def _rolling(
    frame: str, radius: float, axis: Vector, center: Vector, along: float, across: float, normal: float,
    plane: Numbers | None = None,
) -> contacts.RollingConstraint:  # fmt: skip
    if plane is not None and len(plane) != 4:
        raise ModelError(f"the plane is {len(plane)} numbers; it must be nx ny nz height")
    axle = axis if any(axis) else None  # zeros: a ball
    on = None if plane is None else (plane[:3], plane[3])
    return contacts.RollingConstraint(frame, radius, axle, center, bool(along), bool(across), bool(normal), on)


class _Wrap(NamedTuple):
    """A pulley in place of a point, by its number; an axis of zeros is of a sphere, a turn of 0 is none."""

    point: float
    radius: float
    axis: Vector = (0.0, 0.0, 1.0)
    turn: float = 0.0
    side: Vector | None = None


def _rope(
    frames: tuple[str, ...], offsets: Numbers, length: float, restitution: float = 0.0, stiffness: float = np.inf,
    damping: float = 0.0, label: str | None = None, *, made: Sequence[_Wrap] = (),
) -> unilateral.Rope:  # fmt: skip
    if len(offsets) != 3 * len(frames):
        raise ModelError(f"offsets are {len(offsets)} numbers; they must be x y z of each of {len(frames)} frames")
    points: list[Any] = list(zip(frames, map(tuple, np.reshape(offsets, (-1, 3)).tolist()), strict=True))
    for k, radius, axis, turn, side in made:
        if k not in range(len(points)):
            raise ModelError(f"a pulley is at the point {k:g}; they are counted from 0 to {len(points) - 1}")
        frame, position = points[int(k)]
        about = axis if any(axis) else None
        points[int(k)] = unilateral.Pulley(frame, radius, about, position, int(turn) or None, side)
    return unilateral.Rope(tuple(points), length, restitution, stiffness, damping, label)


def _ball_limit(
    joint: str, swing: float, twist: Numbers, axis: Vector = (0.0, 0.0, 1.0), angle: float = np.inf,
    restitution: float = 0.0,
) -> unilateral.BallLimit:  # fmt: skip
    if len(twist) != 2:
        raise ModelError(f"the twist is {len(twist)} numbers; it must be lower and upper")
    known = None if np.isinf(twist).all() else (twist[0], twist[1])
    one, most = (None if np.isinf(x) else x for x in (swing, angle))
    return unilateral.BallLimit(joint, one, known, axis, most, restitution)


def _hull(
    vertices: Numbers, lost: float = 0.0, position: Vector = _ORIGIN, rotation: Numbers = _EYE
) -> shapes.Hull:
    if len(vertices) % 3:
        raise ModelError(f"vertices are {len(vertices)} numbers; they must be x y z of each")
    given = np.reshape(vertices, (-1, 3))
    return shapes.Hull(given, max(4, len(given)), thinned=lost, **_placed(position, rotation))


def _convex_part(
    vertices: Numbers, lost: float = 0.0, position: Vector = _ORIGIN, rotation: Numbers = _EYE
) -> shapes.ConvexPart:
    hull = _hull(vertices, lost, position, rotation)
    return shapes.ConvexPart(hull.vertices, hull.most, thinned=lost, position=hull.position, rotation=hull.rotation)


def _triangle_mesh(
    vertices: Numbers, faces: Numbers, position: Vector = _ORIGIN, rotation: Numbers = _EYE
) -> TriangleMesh:
    for name, numbers in (("vertices", vertices), ("faces", faces)):
        if len(numbers) % 3:
            raise ModelError(f"{name} are {len(numbers)} numbers; they must be three of each")
    return TriangleMesh(np.reshape(vertices, (-1, 3)), np.reshape(faces, (-1, 3)), **_placed(position, rotation))


_ONE = 'number|"name"'
_OF_SURFACES: dict[str, tuple[Make, str]] = {
    "torsional-friction": (_Torsional, "coefficient"),
    "rolling-friction": (_Rolling, "coefficient"),
    "softness": (_Softness, "width"),
}
_PLACE = " (x y z)? (r11 r12 r13 r21 r22 r23 r31 r32 r33)?"
#: Expressions within components: the function that makes each, and its arguments.
INNER: dict[str, dict[str, tuple[Make, str]]] = {
    "contact": {
        **_OF_SURFACES,
        "sphere": (_sphere, "radius" + _PLACE),
        "capsule": (_capsule, "radius length" + _PLACE),
        "box": (_box, "(x y z)" + _PLACE),
        "cylinder": (_cylinder, "radius length rim_points?" + _PLACE),
        "cone": (_cone, "radius length" + _PLACE),
        "ellipsoid": (_ellipsoid, "(a b c)" + _PLACE),
        "disk": (_disk, "radius (ax ay az)?" + _PLACE),
        "hull": (_hull, "(vertices ...) lost?" + _PLACE),
        "convex-part": (_convex_part, "(vertices ...) lost?" + _PLACE),
        "triangle-mesh": (_triangle_mesh, "(vertices ...) (faces ...)" + _PLACE),
    },
    "rope": {"pulley": (_Wrap, "point radius (ax ay az)? turn? (x y z)?")},
    "ground": {**_OF_SURFACES, "terrain": (_terrain, "nx ny (heights ...) (dx dy)? (x y z)?")},
}
_SURFACE = "friction|'own? restitution|'own? stiffness|'own? damping|'own?"
PRIMITIVES: dict[str, Make] = {"tx": tx, "ty": ty, "tz": tz, "rx": rx, "ry": ry, "rz": rz}
#: Transforms: the function that makes each, and its arguments.
TRANSFORMS: dict[str, tuple[Make, str]] = {
    **{name: (make, _ONE) for name, make in PRIMITIVES.items()},
    "fixed": (_fixed, "(x y z) (r11 r12 r13 r21 r22 r23 r31 r32 r33)?"),
    "screw": (screw, '"name" (ax ay az) (px py pz) pitch'),
    "twist": (_twist, '"name" (wx wy wz) (vx vy vz)'),
    "ball": (ball, '"name"'),
    "free": (free, '"name"'),
    "revolute": (pairs.revolute, '"name" (ax ay az)?'),
    "prismatic": (pairs.prismatic, '"name" (ax ay az)?'),
    "helical": (pairs.helical, '"name" (ax ay az)? pitch?'),
    "cylindrical": (pairs.cylindrical, '"name" (ax ay az)?'),
    "spherical": (pairs.spherical, '"name"'),
    "planar": (pairs.planar, '"name" (nx ny nz)?'),
    "universal": (pairs.universal, '"name"'),
}
#: Options of a joint, one number for all its coordinates or one each; and the default of each option.
LIMITS = {"damping": 0.0, "friction": 0.0, "friction-velocity": FRICTION_VELOCITY, "dry-friction": 0.0, "armature": 0.0,
          "lower": -math.inf, "upper": math.inf, "limit-restitution": 0.0, "velocity": math.inf,
          "effort": math.inf}  # fmt: skip
#: Options of a frame.
OPTIONS = {
    "name": '"name"',
    "mass": 'mass|"mass" (ixx|"ixx" iyy|"iyy" izz|"izz")?',
    "body": '"name" mass (cx cy cz) (ixx ixy ixz iyy iyz izz)',
}
#: Options of a joint, beside those of every frame.
JOINT_OPTIONS = {**dict.fromkeys(LIMITS, "(x ...)"), "mimic": '"joint" multiplier offset'}
#: Expressions beside the frames: the function that makes each, and its arguments.
COMPONENTS: dict[str, tuple[Make | None, str]] = {
    "gravity": (None, "(x y z)"),
    "name": (None, '"name"'),
    "point-constraint": (constraints.PointConstraint, '"a" "b" (x y z) \'world|\'local? offset? "name"?'),
    "distance": (constraints.Distance, '"a" "b" length|"joint" "name"?'),
    "coupling": (_coupling, '"joint" factor "joint" factor value? efficiency? back?'),
    "gear": (constraints.gear, '"a" "b" ratio value?'),
    "screw-pair": (constraints.screw_pair, '"slide" "turn" pitch value?'),
    "axis-constraint": (constraints.AxisConstraint, '"a" "b" (x y z) (x y z) cosine? (fx fy fz)?'),
    "cam": (constraints.Cam, '"follower" "driver" (positions ...) (profile ...) \'periodic?'),
    "weld": (constraints.weld, '"a" "b"'),
    "spring": (loads.Spring, '"a" "b" stiffness length?'),
    "damper": (loads.Damper, '"a" "b" coefficient'),
    "attraction": (loads.Attraction, '"a" "b" mass_a|\'own? mass_b|\'own? constant?'),
    "gravity-on": (loads.Gravity, '("link" ...) (x y z)?'),
    "wrench": (
        loads.Wrench,
        '"frame" (x|"input" y|"input" z|"input") (x|"input" y|"input" z|"input") \'world|\'local|\'spatial?',
    ),
    "joint-force": (loads.JointForce, '"joint" force|"input"'),
    "ball-spring": (loads.BallSpring, '"joint" stiffness (x|"input" ...)? effort_limit?'),
    "joint-spring": (loads.JointSpring, '"joint" stiffness rest?'),
    "drive": (
        drives.Drive,
        '"joint" kp kd? effort_limit? velocity_limit? target|"input"? target_rate|"input"? gear?',
    ),
    "ground": (_ground, "friction? restitution? stiffness? damping? height? (nx ny nz)? (planes ...)?"),
    "contact": (_contact, f'"frame" {_SURFACE} radius? (points ...)?'),
    "rolling": (_rolling, '"frame" radius (ax ay az) (x y z) along across normal (plane ...)?'),
    "rope": (_rope, '("frame" ...) (offsets ...) length restitution? stiffness? damping? "name"?'),
    "ball-limit": (_ball_limit, '"joint" swing (twist ...) (ax ay az)? angle? restitution?'),
    "no-contact": (contacts.NoContact, '"a" "b" \'frames?'),
    "limits": (None, "'report|'enforce|'ignore"),
    "velocity-limits": (None, "'report|'enforce|'ignore"),
    "start": (None, '"joint" (x ...)'),
    "nonlinear-spring": (loads.NonlinearSpring, '"joint" (positions ...) (forces ...)'),
}
#: Heads whose numbers can be infinite.
UNBOUNDED = {*LIMITS, "drive", "ground", "contact", "rope", "ball-limit", "ball-spring"}
#: Spellings of the paper's Listing 1.
SPELLINGS = {"point-constaint": "point-constraint"}
#: Symbols that stand for a value.
SYMBOLS = {"own": None, "periodic": True, "frames": False}
#: Coordinates of the joints that have several.
SIZES = {kind: len(of_v.split()) for kind, (_, of_v) in SEVERAL.items()}


def field_of(option: str) -> str:
    """Return the field of a coordinate that holds an option of LIMITS."""
    return option.replace("-", "_")


class Slot(NamedTuple):
    """One argument of a form: a value, or a list of them."""

    shown: str
    words: tuple[str, ...]
    listed: bool
    repeated: bool
    optional: bool


@cache
def slots(form: str) -> tuple[Slot, ...]:
    """Return the arguments of a form."""
    found = []
    for text, optional in _SLOT.findall(form):
        words = text.strip("()").split()
        listed, repeated = text.startswith("("), words[-1] == "..."
        found.append(Slot(text.replace("'", ""), tuple(words[: -1 if repeated else None]), listed, repeated,
                           bool(optional)))  # fmt: skip
    return tuple(found)


def usage(head: str, form: str) -> str:
    """Return an expression as messages show it."""
    return f"({head} {form})".replace("'", "")
