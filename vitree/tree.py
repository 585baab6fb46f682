"""Tree: a mechanism as a person builds it, of primitives; ``compile()`` makes a Model of it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ModelError, UnknownNameError
from vitree.findings import Report
from vitree.flat import FRICTION_VELOCITY, Flat, Geometry
from vitree.flatten import flatten

if TYPE_CHECKING:
    from vitree.model import Model

#: A rotation matrix or a unit vector may be off by this much; it is then made exact.
UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Element:
    """What ``Frame.add`` takes; made by the functions of this module and of ``pairs``."""

    name: Any = None


@dataclass(frozen=True)
class Fixed(Element):
    """A constant transform: rotation (3, 3) and position (3,) [m] in the frame before it."""

    rotation: Any = None
    position: Any = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Coordinate(Element):
    """A moving primitive: a unit twist (angular, linear), or a ball or free joint (axis None).

    ``joint`` and ``joint_kind`` name the joint it is part of, when a joint is made of several.
    """

    kind: str = "screw"
    twist: Any = None
    axis: Any = None
    damping: Any = 0.0
    friction: Any = 0.0
    friction_velocity: Any = FRICTION_VELOCITY
    lower: Any = -np.inf
    upper: Any = np.inf
    velocity: Any = np.inf
    effort: Any = np.inf
    joint: str | None = None
    joint_kind: str | None = None
    mimic: tuple | None = None
    kinematic: bool = False


@dataclass(frozen=True)
class Body(Element):
    """Mass [kg], COM (3,) [m] and inertia (3, 3) about it [kg m^2], in the frame it is added to."""

    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = None
    geometry: tuple[Geometry, ...] = ()


# ---- primitives -------------------------------------------------------------------------------------


def _primitive(value, rotation: bool, axis: int, limits: dict) -> Element:
    unit = np.zeros(3)
    unit[axis] = 1.0
    if isinstance(value, str):
        twist = np.concatenate((unit, np.zeros(3)) if rotation else (np.zeros(3), unit))
        return Coordinate(value, twist=tuple(twist), axis=tuple(unit), **limits)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and np.isfinite(float(value)):
        if limits:
            raise ModelError(f"a constant transform takes no {', '.join(limits)}; give a name to make it move")
        if rotation:
            return Fixed(rotation=rotation_about(unit, float(value)))
        return Fixed(position=tuple(float(value) * unit))
    raise ModelError(
        f"a primitive transform is driven by a name (a coordinate) or a finite number (a constant), not {value!r}"
    )


def tx(value: str | float, **limits: Any) -> Element:
    """Translation along x: by a coordinate of that name, or by a constant [m].

    Parameters
    ----------
    value : str or float
        Name of the coordinate, or length [m].
    **limits
        For a coordinate: damping [N s/m or N m s/rad]; friction f [N or N m] and friction_velocity e
        [m/s or rad/s], 0.01 if not given, for the force -f v/sqrt(v^2 + e^2); lower, upper [m or rad],
        velocity [m/s or rad/s], effort [N or N m]; ``kinematic=True`` if it moves as prescribed and is
        not solved for.

    Raises
    ------
    ModelError
        If the value is neither, or a constant is given limits.

    Notes
    -----
    Friction is Coulomb's, made smooth. A joint at rest under a force tau below f does not stick but creeps, at
    e tau/sqrt(f^2 - tau^2). A smaller e is sharper, and stiffer: f/e acts as damping near rest.

    References
    ----------
    Johnson & Murphey 2009, section II.
    """
    return _primitive(value, False, 0, limits)


def ty(value: str | float, **limits: Any) -> Element:
    """Translation along y; see :func:`tx`."""
    return _primitive(value, False, 1, limits)


def tz(value: str | float, **limits: Any) -> Element:
    """Translation along z; see :func:`tx`."""
    return _primitive(value, False, 2, limits)


def rx(value: str | float, **limits: Any) -> Element:
    """Rotation about x: by a coordinate of that name, or by a constant [rad]; see :func:`tx`."""
    return _primitive(value, True, 0, limits)


def ry(value: str | float, **limits: Any) -> Element:
    """Rotation about y; see :func:`rx`."""
    return _primitive(value, True, 1, limits)


def rz(value: str | float, **limits: Any) -> Element:
    """Rotation about z; see :func:`rx`."""
    return _primitive(value, True, 2, limits)


def screw(
    name: str,
    axis: ArrayLike | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    pitch: float = 0.0,
    *,
    twist: Sequence[ArrayLike] | None = None,
    **limits: Any,
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
        Instead of the three: (angular, linear) velocity for a unit rate [rad/s, m/s]. The angular part must be
        of unit length, or zero and the linear part of unit length.
    **limits
        As for :func:`tx`.

    Raises
    ------
    ModelError
        If neither an axis nor a twist is given, or both, or they are not what they must be.

    References
    ----------
    Murray, Li & Sastry 1994, chapter 2: twists and screws.
    """
    if (axis is None) == (twist is None):
        raise ModelError(f'screw "{name}": give either axis= (with point=, pitch=) or twist=')
    if twist is not None:
        w, v = (vector(part, f'twist of "{name}"') for part in twist)
        length = np.linalg.norm(w) or np.linalg.norm(v)
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise ModelError(
                f'the twist of "{name}" is not a unit twist (length {length:.6g}); divide it by {length:.6g}'
                if length
                else f'the twist of "{name}" is zero; give it a direction'
            )
        return Coordinate(
            name, twist=(*w / length, *v / length), axis=tuple((w if np.any(w) else v) / length), **limits
        )
    w = direction(axis, f'axis of "{name}"')
    at, v = vector(point, f'point of "{name}"'), finite(pitch, f'pitch of "{name}"') * w
    if at.any():
        v = np.cross(at, w) + v
    return Coordinate(name, twist=(*w, *v), axis=tuple(w), **limits)


def ball(name: str, **limits: Any) -> Coordinate:
    """A joint ``name`` that turns freely: q is a quaternion (x, y, z, w), v the angular velocity in its axes [rad/s].

    ``**limits`` are as for :func:`tx`, but such a joint cannot be prescribed, which raises a ModelError.
    """
    _not_kinematic(name, limits)
    return Coordinate(name, kind="ball", **limits)


def free(name: str, **limits: Any) -> Coordinate:
    """A joint ``name`` that moves freely: q = (position [m], quaternion), v = (linear [m/s], angular [rad/s]).

    The velocity is in the joint's axes. ``**limits`` are as for :func:`tx`, but such a joint cannot be prescribed,
    which raises a ModelError.
    """
    _not_kinematic(name, limits)
    return Coordinate(name, kind="free", **limits)


def _not_kinematic(name: str, limits: dict) -> None:
    if limits.get("kinematic"):
        raise ModelError(
            f'"{name}" cannot be prescribed: only joints of one coordinate can; make it of tx, ty, tz, rz, ry, rx'
        )


def fixed(
    name: str | None = None,
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
) -> Fixed:
    """A constant transform, and a name for the frame it leads to.

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
    R = rotation_rpy(*vector(rpy, "rpy")) if rotation is None else proper_rotation(rotation, name or "fixed")
    return Fixed(name, rotation=R, position=tuple(vector(xyz, "xyz")))


def frame(name: str) -> Fixed:
    """A ``name`` for the place reached so far."""
    return Fixed(name)


def body(
    name: str,
    mass: float,
    inertia: ArrayLike | None = None,
    com: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    geometry: Iterable[Geometry] = (),
) -> Body:
    """A rigid body fixed to the current frame, which takes its name (it is then a link).

    Parameters
    ----------
    name : str
    mass : float [kg]
    inertia : None, 3 or 6 numbers, or (3, 3) array [kg m^2]
        About the COM: none (a point mass), principal, (ixx, ixy, ixz, iyy, iyz, izz), or full.
    com : (3,) array [m]
        Centre of mass in the frame.
    rotation : (3, 3) array, optional
        Axes of the inertia in the frame, as a rotation.
    geometry : sequence of Geometry
        Shapes, for viewers.

    Raises
    ------
    ModelError
        If the mass is negative or not finite, or the inertia is not that of a body.
    """
    mass = finite(mass, f'mass of "{name}"')
    if mass < 0:
        raise ModelError(f'the mass of "{name}" is {mass:g} kg; it must be zero or more')
    tensor = inertia_tensor(inertia, name)
    if rotation is not None:
        R = proper_rotation(rotation, f'inertia axes of "{name}"')
        tensor = R @ tensor @ R.T
    return Body(name, mass=mass, com=tuple(vector(com, f'com of "{name}"')), inertia=tensor, geometry=tuple(geometry))


# ---- checks and small mathematics ---------------------------------------------------------------------


def finite(value, what: str) -> float:
    """Return a float, or raise a ModelError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ModelError(f"the {what} is {value!r}; it must be a number") from None
    if not np.isfinite(number):
        raise ModelError(f"the {what} is {number}; it must be finite")
    return number


def vector(value, what: str) -> np.ndarray:
    """Return a (3,) array, or raise a ModelError that names it."""
    try:
        entries = [float(x) for x in value]
    except (TypeError, ValueError):
        raise ModelError(f"the {what} is {value!r}; it must be three numbers") from None
    if len(entries) != 3 or not all(map(math.isfinite, entries)):
        raise ModelError(f"the {what} is {value!r}; it must be three finite numbers")
    return np.array(entries)


def direction(value, what: str) -> np.ndarray:
    """Return a unit (3,) array along a vector that is not zero."""
    array = vector(value, what)
    largest = np.abs(array).max()
    if largest == 0:
        raise ModelError(f"the {what} is zero; give it a direction such as (0, 0, 1)")
    array = array / largest
    return array / np.linalg.norm(array)


def proper_rotation(value, what: str) -> np.ndarray:
    """Return the rotation (3, 3) nearest to a matrix that is one up to rounding."""
    R = np.array(value, dtype=float)
    if (
        R.shape != (3, 3)
        or not np.isfinite(R).all()
        or np.abs(R @ R.T - np.eye(3)).max() > UNIT_TOLERANCE
        or np.linalg.det(R) < 0
    ):
        raise ModelError(f"the rotation of {what} is not a rotation matrix (3, 3)")
    U, _, Vt = np.linalg.svd(R)
    return R if np.abs(R @ R.T - np.eye(3)).max() < 1e-15 else U @ Vt


def inertia_tensor(value, name: str) -> np.ndarray:
    """Return an inertia (3, 3) about the COM, checked to be symmetric and that of a body."""
    if value is None:
        return np.zeros((3, 3))
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.shape == (3,):
        array = np.diag(array)
    elif array.shape == (6,):
        xx, xy, xz, yy, yz, zz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if array.shape != (3, 3) or not np.isfinite(array).all():
        raise ModelError(
            f'the inertia of "{name}" is {value!r}; give 3 principal moments, 6 numbers '
            f"(ixx, ixy, ixz, iyy, iyz, izz) or a (3, 3) array, all finite"
        )
    scale = max(np.abs(array).max(), 1e-300)
    if np.abs(array - array.T).max() > 1e-9 * scale:
        raise ModelError(f'the inertia of "{name}" is not symmetric')
    array = 0.5 * (array + array.T)
    if np.linalg.eigvalsh(array)[0] < -1e-9 * scale:
        raise ModelError(
            f'the inertia of "{name}" has a negative principal moment ({np.linalg.eigvalsh(array)[0]:.3g} kg m^2); '
            f"no body has that: check signs and the point it is taken about (the COM)"
        )
    return array


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about a unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    # exact at quarter turns, where sin and cos of a rounded angle are not quite 0 or 1
    s, c = (0.0 if abs(f) < 1e-15 else f for f in (np.sin(angle), np.cos(angle)))
    return np.eye(3) + s * K + (1 - c) * K @ K


def rotation_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return Rz(yaw) Ry(pitch) Rx(roll)."""
    R = np.eye(3)
    for k, angle in ((2, yaw), (1, pitch), (0, roll)):
        if angle:
            R = R @ rotation_about(np.eye(3)[k], angle)
    return R


# ---- the tree -----------------------------------------------------------------------------------------


class Frame:
    """A place in a tree; made by :meth:`add`, never by hand."""

    def __init__(self, tree: Tree, parent: Frame | None, element: Element):
        self.tree, self.parent = tree, parent
        self.element: Any = element
        self.children: list[Frame] = []
        self.bodies: list[Body] = []

    @property
    def name(self) -> str | None:
        """Its name, if it was given one."""
        return self.bodies[0].name if self.bodies else self.element.name

    def add(self, *elements: Element | list[Element]) -> Frame:
        """Chain elements below this frame and return the last frame.

        Parameters
        ----------
        *elements
            Made by ``tx`` ... ``rz``, ``screw``, ``ball``, ``free``, ``fixed``, ``frame``, ``body``, or a
            lower pair (a list of elements).

        Raises
        ------
        ModelError
            For something else, or a name that is taken. The tree is then as it was.
        """
        chain: list[Element] = []
        for element in elements:
            chain += element if isinstance(element, list | tuple) else [element]
        for element in chain:
            if not isinstance(element, Element):
                raise ModelError(
                    f"add() takes elements such as rx('name'), tz(0.3), body('name', mass=1.0), not {element!r}"
                )
        self.tree._claim(chain)
        at = self
        for element in chain:
            if isinstance(element, Body):
                if (
                    at is self.tree.world
                    or at.bodies
                    or (at.element.name is not None and isinstance(at.element, Fixed))
                ):
                    at = at._child(Fixed())
                at.bodies.append(element)
            else:
                at = at._child(element)
        return at

    def _child(self, element: Element) -> Frame:
        child = Frame(self.tree, self, element)
        self.children.append(child)
        return child

    def walk(self) -> Iterator[tuple[int, Frame]]:
        """Yield (depth, frame) of this frame and all below, parents first, in order of adding."""
        stack = [(0, self)]
        while stack:
            depth, at = stack.pop()
            yield depth, at
            stack += [(depth + 1, child) for child in reversed(at.children)]

    def __repr__(self) -> str:
        return f"<vitree.Frame {self.name!r} of {self.tree.name!r}>"


class Tree:
    """A mechanism that can be edited: frames, joints and bodies with names.

    Parameters
    ----------
    name : str
    gravity : (3,) array [m/s^2]
        In world axes.

    Attributes
    ----------
    world : Frame
        Where everything hangs.
    constraints, loads : list
        What :meth:`constrain` and :meth:`load` have added.
    report : Report
        What a reader found in the file that it comes from.

    Raises
    ------
    ModelError
        If gravity is not three finite numbers.

    Examples
    --------
    >>> tree = Tree("double pendulum", gravity=(0, 0, -9.81))
    >>> elbow = tree.world.add(rx("shoulder"), tz(-1.0), body("upper", mass=1.0))
    >>> _ = elbow.add(rx("elbow"), tz(-1.0), body("lower", mass=1.0, inertia=(0.1, 0.1, 0.01)))
    >>> tree.compile().nv
    2
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)):
        self.name = str(name)
        self.gravity = vector(gravity, "gravity")
        self.report = Report()
        self.constraints: list[Any] = []
        self.loads: list[Any] = []
        self._names: dict[str, set[str]] = {"joint": set(), "link": set(), "frame": set()}
        self.world = Frame(self, None, Fixed())

    def _claim(self, chain: list[Element]) -> None:
        """Check the names of new elements and take them, all or none."""
        new: dict[str, list[str]] = {kind: [] for kind in self._names}
        # a joint made of several coordinates takes its own name, too
        new["joint"] += dict.fromkeys(e.joint for e in chain if isinstance(e, Coordinate) and e.joint is not None)
        for element in chain:
            kind = "joint" if isinstance(element, Coordinate) else "link" if isinstance(element, Body) else "frame"
            if element.name is None and kind != "frame":
                raise ModelError(f"a {kind} needs a name")
            if element.name is None:
                continue
            if not isinstance(element.name, str) or not element.name:
                raise ModelError(f"the name {element.name!r} of a {kind} must be a text that is not empty")
            new[kind].append(element.name)
        # a joint and a link may share a name (the frame of that name is the link's); nothing else may
        taken = {"joint": ("joint", "frame"), "link": ("link", "frame"), "frame": ("joint", "link", "frame")}
        seen: dict[str, set[str]] = {kind: set() for kind in self._names}
        for kind, names in new.items():
            for name in names:
                if any(name in self._names[other] or name in seen[other] for other in taken[kind]):
                    raise ModelError(
                        f'there is already a joint, link or frame "{name}" in "{self.name}"; rename this {kind}'
                    )
                seen[kind].add(name)
        for kind, names in new.items():
            self._names[kind].update(names)

    def constrain(self, *constraints: Any) -> None:
        """Add ``*constraints`` of :mod:`vitree.constraints`, or lists of them.

        Their names are looked up when the tree is compiled.
        """
        for constraint in constraints:
            self.constraints += constraint if isinstance(constraint, list | tuple) else [constraint]

    def load(self, *loads: Any) -> None:
        """Add ``*loads`` of :mod:`vitree.loads`, or lists of them: springs, dampers, wrenches, inputs.

        Their names are looked up when the tree is compiled.
        """
        for load in loads:
            self.loads += load if isinstance(load, list | tuple) else [load]

    def frame(self, name: str) -> Frame:
        """Return the frame, link or joint frame of this ``name``.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        for _, at in self.world.walk():
            if at.name == name or any(b.name == name for b in at.bodies):
                return at
        for _, at in self.world.walk():
            if at.element.name == name:
                return at
        names = sorted(set().union(*self._names.values()))
        raise UnknownNameError("frame", name, names)

    def flatten(self) -> Flat:
        """Return the flat arrays (:class:`vitree.flat.Flat`) this tree stands for.

        Raises
        ------
        ModelError
            If nothing moves, or a joint or body cannot be modelled.
        """
        return flatten(self)

    def compile(self) -> Model:
        """Return the :class:`vitree.Model` of this tree.

        Raises
        ------
        ModelError
            If nothing moves, or a joint moves no mass (its mass matrix would be singular).
        """
        from vitree.model import Model

        model = Model(flatten(self))
        model.require_regular()
        return model

    def __str__(self) -> str:
        lines = [f"{self.name} (gravity {self.gravity[0]:g}, {self.gravity[1]:g}, {self.gravity[2]:g} m/s^2)"]
        for depth, at in self.world.walk():
            if at is self.world:
                continue
            lines.append("  " * depth + describe(at))
        lines += [f"{'constraint' if k < len(self.constraints) else 'load'}: {x.name}"
                  for k, x in enumerate([*self.constraints, *self.loads])]  # fmt: skip
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<vitree.Tree {self.name!r}: {len(self._names['joint'])} joints, {len(self._names['link'])} links>"


def describe(at: Frame) -> str:
    """Return one line about a frame: its transform and what is attached."""
    element = at.element
    if isinstance(element, Coordinate):
        if element.twist is None:
            text = f"{element.kind} {element.name!r}"
        else:
            w, v = np.array(element.twist[:3]), np.array(element.twist[3:])
            along = ", ".join(f"{x:g}" for x in element.axis)
            pitch = w @ v
            kind = "prismatic" if not np.any(w) else "helical" if abs(pitch) > 1e-12 else "revolute"
            text = f"{kind} {element.name!r} ({along})" + (", prescribed" if element.kinematic else "")
    else:
        moved = ", ".join(f"{x + 0.0:g}" for x in element.position)
        turned = "" if element.rotation is None or np.array_equal(element.rotation, np.eye(3)) else ", turned"
        text = f"fixed ({moved}{turned})" + (f" {element.name!r}" if element.name else "")
    return text + "".join(f"  [{b.name}: {b.mass:g} kg]" for b in at.bodies)


def part_of(element: Coordinate, joint: str, kind: str) -> Coordinate:
    """Return a coordinate as part of a joint made of several."""
    return replace(element, joint=joint, joint_kind=kind)
