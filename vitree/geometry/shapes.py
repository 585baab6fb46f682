"""Solids that touch: balls, capsules, boxes, cylinders, cones, ellipsoids, disks and convex hulls, placed in frames."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict

import numpy as np

from vitree.arguments import as_numbers, explain_calls, shown, whole
from vitree.errors import ModelError
from vitree.geometry.hull import HULL_POINTS, Thinned, hull_points
from vitree.geometry.numbers import array_of, points_of, positive
from vitree.spatial.checks import triple, unit_triple
from vitree.spatial.rotations import proper_rotation

#: Points on each rim of a cylinder, if not said otherwise.
RIM_POINTS = 8
#: What the hull of 26 points of a unit ball loses. Each facet is through (1, 0, 0), (1, 1, 0)/sqrt(2) and
#: (1, 1, 1)/sqrt(3), or others like these.
WITHOUT = 1.0 - 1.0 / math.hypot(1.0, math.sqrt(2.0) - 1.0, math.sqrt(3.0) - math.sqrt(2.0))
#: Rotations that are off by less keep their digits.
EXACT = 4e-15
_EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Place(TypedDict):
    """The place of a shape in a frame, as its constructor takes it."""

    position: tuple[float, float, float]
    rotation: np.ndarray


@dataclass(frozen=True)
class Shape:
    """A solid and its place in a frame; what all of them have.

    Parameters
    ----------
    position : (3,) array [m]
        Origin of the shape in the frame.
    rotation : (3, 3) array
        Rotation of the shape in the frame.
    """

    position: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), kw_only=True)
    rotation: tuple[tuple[float, ...], ...] | np.ndarray = field(default=_EYE, kw_only=True)
    #: whether it can roll: its points are then centres of balls
    rolls: ClassVar[bool] = False
    #: radius of the balls about its points, or of the disks [m]
    ball: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        what = f"{type(self).__name__.lower()}"
        object.__setattr__(self, "position", tuple(triple(self.position, f"position of the {what}")))
        if self.rotation is not _EYE:
            exact, given = proper_rotation(self.rotation, f"the {what}"), as_numbers(self.rotation)
            # digits that are as good as exact stay, so that a shape made of a shape's numbers is the same
            R = given if np.abs(given - exact).max() < EXACT else exact
            object.__setattr__(self, "rotation", tuple(map(tuple, R.tolist())))

    def _lengths(self, *names: str) -> None:
        for name in names:
            what = f"{name} of the {type(self).__name__.lower()}"
            object.__setattr__(self, name, positive(getattr(self, name), what))

    def _own_points(self) -> np.ndarray:
        """Points (n, 3) [m] in the shape's own axes."""
        raise NotImplementedError

    @property
    def axle(self) -> np.ndarray:
        """Unit vector (3,) [-] in the frame, across a disk; zero of other shapes."""
        return np.zeros(3)

    @property
    def points(self) -> np.ndarray:
        """What the ground meets first: points (n, 3) [m] in the frame, centres of balls of a sphere or capsule."""
        found: np.ndarray = self._own_points() @ np.array(self.rotation).T + self.position
        return found

    @property
    def lost(self) -> float:
        """How far the shape is, at most, outside of the convex hull of its points [m]."""
        return 0.0


@explain_calls
@dataclass(frozen=True)
class Sphere(Shape):
    """A ball about ``position``.

    Parameters
    ----------
    radius : float [m]
    position : (3,) array [m]
        In the frame.
    rotation : (3, 3) array
        Its rotation in the frame, which changes nothing.

    Raises
    ------
    ModelError
        If the radius is not positive, or the position not three finite numbers.
    """

    radius: float
    rolls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lengths("radius")

    @property
    def ball(self) -> float:  # type: ignore[override]
        """Its radius [m]."""
        return self.radius

    def _own_points(self) -> np.ndarray:
        return np.zeros((1, 3))


@explain_calls
@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder with half balls at its ends, along z of the shape.

    Parameters
    ----------
    radius : float [m]
    length : float [m]
        Of the cylinder, between the centres of the ends.
    position : (3,) array [m]
        Its middle, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If a size is not positive, or the pose is invalid.
    """

    radius: float
    length: float
    rolls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lengths("radius", "length")

    @property
    def ball(self) -> float:  # type: ignore[override]
        """Its radius [m]."""
        return self.radius

    def _own_points(self) -> np.ndarray:
        return np.array([(0.0, 0.0, -0.5 * self.length), (0.0, 0.0, 0.5 * self.length)])


@explain_calls
@dataclass(frozen=True)
class Box(Shape):
    """A box about ``position``; a plane meets its eight corners.

    Parameters
    ----------
    size : (3,) array [m]
        Its whole edges along x, y, z of the shape.
    position : (3,) array [m]
        Its middle, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If an edge is not positive, or the pose is invalid.
    """

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        edges = triple(self.size, "size of the box")
        object.__setattr__(self, "size", tuple(positive(edge, "edge of the box") for edge in edges))

    def _own_points(self) -> np.ndarray:
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return 0.5 * signs * self.size


@explain_calls
@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder along z of the shape, which rolls on planes and other shapes.

    A height field alone meets points on its two rims. Between two of them the cylinder is outside of their hull by up
    to radius (1 - cos(pi/rim_points)), which is ``lost``: 7.6 % of the radius for 8.

    Parameters
    ----------
    radius, length : float [m]
    rim_points : int
        Points on each rim, for a height field; at least 3.
    position : (3,) array [m]
        Its middle, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If a size is not positive, there are too few points, or the pose is invalid.
    """

    radius: float
    length: float
    rim_points: int = RIM_POINTS

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lengths("radius", "length")
        count = whole(self.rim_points)
        if count is None or count < 3:
            raise ModelError(f"rim_points of the cylinder is {shown(self.rim_points)}; it must be a whole number, 3 or "
                             "more")  # fmt: skip
        object.__setattr__(self, "rim_points", count)

    @property
    def lost(self) -> float:
        """How far the cylinder is, at most, outside of the convex hull of its points [m]."""
        return self.radius * (1.0 - math.cos(math.pi / self.rim_points))

    def _own_points(self) -> np.ndarray:
        rim = _circle(self.radius, self.rim_points)
        return np.concatenate([rim + np.array((0.0, 0.0, z)) for z in (-0.5 * self.length, 0.5 * self.length)])


@explain_calls
@dataclass(frozen=True)
class Cone(Shape):
    """A cone along z of the shape, whose apex is above its base.

    A height field meets its apex and eight points on its rim.

    Parameters
    ----------
    radius : float [m]
        Of the base.
    length : float [m]
        From the base to the apex, along z.
    position : (3,) array [m]
        Of the middle between base and apex, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If a size is not positive, or the pose is invalid.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lengths("radius", "length")

    def _own_points(self) -> np.ndarray:
        rim = _circle(self.radius, RIM_POINTS) - (0.0, 0.0, 0.5 * self.length)
        return np.concatenate([rim, [(0.0, 0.0, 0.5 * self.length)]])

    @property
    def lost(self) -> float:
        """How far the cone is, at most, outside of the convex hull of its points [m]."""
        return self.radius * (1.0 - math.cos(math.pi / RIM_POINTS))


@explain_calls
@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid about ``position``, which rolls on planes and other shapes.

    A height field meets 26 points of its surface.

    Parameters
    ----------
    semi_axes : (3,) array [m]
        Along x, y, z of the shape.
    position : (3,) array [m]
        Its centre, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If a semi-axis is not positive, or the pose is invalid.
    """

    semi_axes: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = triple(self.semi_axes, "semi_axes of the ellipsoid")
        object.__setattr__(self, "semi_axes", tuple(positive(size, "semi-axis of the ellipsoid") for size in sizes))

    def _own_points(self) -> np.ndarray:
        signs = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z])
        found: np.ndarray = signs / np.linalg.norm(signs, axis=1)[:, None] * self.semi_axes
        return found

    @property
    def lost(self) -> float:
        """How far the ellipsoid is, at most, outside of the convex hull of its points [m]."""
        return max(self.semi_axes) * WITHOUT


@explain_calls
@dataclass(frozen=True)
class Disk(Shape):
    """A disk without thickness: a wheel or a coin. It touches planes and other shapes as a cylinder of no height does.

    It rolls on its rim and lies on its face. Two disks that are parallel have no thickness in which they could overlap,
    and pass each other. On a height field give a cylinder or a sphere.

    Parameters
    ----------
    radius : float [m]
    axis : (3,) array [-]
        Across the disk, in the shape's axes; normalised.
    position : (3,) array [m]
        Its middle, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If the radius is not positive, the axis is zero, or the pose is invalid.
    """

    radius: float
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0)
    rolls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lengths("radius")
        object.__setattr__(self, "axis", tuple(unit_triple(self.axis, "axis of the disk")))

    @property
    def ball(self) -> float:  # type: ignore[override]
        """The radius [m]."""
        return self.radius

    @property
    def axle(self) -> np.ndarray:
        """Unit vector (3,) [-] in the frame, across the disk."""
        return np.array(self.rotation) @ self.axis

    def _own_points(self) -> np.ndarray:
        return np.zeros((1, 3))


@dataclass(frozen=True)
class Hull(Shape):
    """The convex hull of points, such as the vertices of a mesh. Of points in a plane it is a plate without thickness.

    Parameters
    ----------
    vertices : (n, 3) array [m]
        In the axes of the shape. Those that are no corners of the hull are left out, and of the corners all but
        ``most``; ``lost`` is the largest distance from the hull of the others to one that is left out.
    most : int
        At least 4.
    thinned : float [m]
        What vertices that were left out before have lost.
    position : (3,) array [m]
        Origin of the vertices, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If the vertices are not finite points, or all on a line, there may be fewer than 4, or the pose is invalid.
    """

    vertices: tuple[tuple[float, ...], ...] | np.ndarray
    most: int = HULL_POINTS
    thinned: float = field(default=0.0, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = whole(self.most)
        if count is None or count < 4:
            raise ModelError(f"most of the hull is {shown(self.most)}; it must be a whole number, 4 or more")
        found = self.vertices if isinstance(self.vertices, Thinned) else hull_points(
            array_of(points_of(self.vertices, "vertices of the hull")), count
        )
        if len(found.points) < 3:
            raise ModelError("the vertices of the hull are one point, or all on a line; give at least three that are "
                             "not, or a vt.Capsule, or points= of the contact")  # fmt: skip
        # a hull that was made once has no more to lose: replace() and copies keep what is known
        object.__setattr__(self, "vertices", tuple(map(tuple, found.points.tolist())))
        object.__setattr__(self, "most", count)
        object.__setattr__(self, "thinned", max(found.lost, float(self.thinned)))

    @property
    def lost(self) -> float:
        """How far a vertex that was left out is, at most, from the hull of the others [m]."""
        return self.thinned

    def _own_points(self) -> np.ndarray:
        return array_of(self.vertices)


@dataclass(frozen=True)
class ConvexPart(Hull):
    """A hull that is nearly a mesh, or one of several whose union is: :func:`vitree.convex_parts` makes them.

    It has the arguments of :class:`Hull`, from which it differs between near bodies of one mechanism: hulls of these
    overlap in ordinary motions and do not touch, and parts do.
    """


def _circle(radius: float, count: int) -> np.ndarray:
    """Points (count, 3) [m] of a circle about z."""
    angles = 2 * np.pi / count * np.arange(count)
    found: np.ndarray = radius * np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    return found
