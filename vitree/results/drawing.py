"""The drawing of a system, for viewers: shapes, lines, frames and masses on rigid bodies."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree._core.types import ContactList
from vitree.arguments import JsonObject
from vitree.errors import InputError
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import Box, Capsule, Cone, Cylinder, Disk, Ellipsoid, Sphere
from vitree.geometry.shapes import Shape as Solid
from vitree.mechanism.constraints import Distance
from vitree.mechanism.contacts import Contact, Ground
from vitree.mechanism.flat import BALL, HELICAL, KIND_NV, PRISMATIC, REVOLUTE, Flat, Geometry
from vitree.mechanism.loads import Damper, Spring
from vitree.mechanism.spans import AT_LENGTH
from vitree.mechanism.unilateral import Pulley, Rope
from vitree.model.lower import way_around
from vitree.model.model import Model
from vitree.model.system import System
from vitree.spatial.rotations import turn_z_to

core = scalar()

#: The body that does not move.
WORLD = -1
#: Colours (r, g, b, a) of shapes without a colour of their own: Okabe & Ito's, softened.
PALETTE = (
    (0.35, 0.55, 0.75, 1.0), (0.87, 0.56, 0.33, 1.0), (0.35, 0.66, 0.55, 1.0),
    (0.79, 0.58, 0.70, 1.0), (0.55, 0.74, 0.88, 1.0), (0.90, 0.74, 0.40, 1.0),
)  # fmt: skip
PLAIN, DARK = (0.72, 0.73, 0.75, 1.0), (0.25, 0.26, 0.28, 1.0)
#: The number of lengths of each kind of shape.
SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "mesh": 3}
#: The most triangles of a surface in a drawing, which is in the files of runs; the height of a disk by its radius.
MOST_TRIANGLES, THIN = 20_000, 0.02
#: The most heights of a ground along each axis.
MOST_HEIGHTS = 60
#: The share of a rope's length by which it is drawn as slack, and the straight parts of an arc of it.
SLACK, ARC = 1e-4, 16
#: The width of a pulley by its radius.
WIDTH = 0.3
#: The pose of a part that is where its body is.
STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class Place(NamedTuple):
    """A frame: its body, and rotation and position [m] in the body."""

    body: int
    rotation: np.ndarray
    position: np.ndarray

    def point(self, local: ArrayLike) -> np.ndarray:
        """Return the point ``local`` (3,) [m] of the frame, in the axes of the body."""
        found: np.ndarray = self.rotation @ np.asarray(local) + self.position
        return found


#: The world as a frame.
STILL_PLACE = Place(WORLD, np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class Shape:
    """A solid on a body.

    Attributes
    ----------
    body : int
        Index into ``Drawing.bodies``, or WORLD.
    kind : {"box", "cylinder", "sphere", "capsule", "mesh", "surface"}
    size : tuple of float
        Lengths [m] as of :class:`vitree.Geometry`; the scale of a mesh; x, y, z of all vertices of a surface.
    pose : (7,) tuple
        Position [m] and quaternion (x, y, z, w) in the body.
    link : str
        The link that it belongs to.
    rgba : tuple of 4 floats, or None
        Colour; None leaves a mesh its own colours.
    filename : str or None
        File of a mesh.
    texture : str or None
        File of an image on a mesh.
    faces : tuple of int
        The triangles of a surface, three vertices each.
    found : bool
        False for a mesh whose file does not exist, or may not be opened.
    """

    body: int
    kind: str
    size: tuple[float, ...]
    pose: tuple[float, ...]
    link: str
    rgba: tuple[float, ...] | None = None
    filename: str | None = None
    texture: str | None = None
    faces: tuple[int, ...] = ()
    found: bool = True


@dataclass(frozen=True)
class Line:
    """A straight line between points of two bodies: a "wire", "spring", "damper" or "slide".

    Attributes
    ----------
    name, kind : str
    a, b : int
        Indices into ``Drawing.bodies``, or WORLD.
    point_a, point_b : (3,) tuples [m]
        In the bodies' axes.
    """

    name: str
    kind: str
    a: int
    point_a: tuple[float, ...]
    b: int
    point_b: tuple[float, ...]


@dataclass(frozen=True)
class Cord:
    """A rope through points of bodies and around pulleys.

    Attributes
    ----------
    name : str
    length : float [m]
        Where its path is shorter, it is slack.
    bodies : tuple of int
        Of each point: an index into ``Drawing.bodies``, or WORLD.
    points : tuple of (3,) tuples [m]
        In the bodies' axes; of pulleys their middles.
    pulleys : tuple of (point, radius, axis, side, way)
        Those of the points that are pulleys, by number; radius [m], axis and side [m] in the bodies' axes, and a way
        around as the core has it.
    """

    name: str
    length: float
    bodies: tuple[int, ...]
    points: tuple[tuple[float, ...], ...]
    pulleys: tuple[tuple[int, float, tuple[float, ...], tuple[float, ...], int], ...] = ()

    @property
    def count(self) -> int:
        """How many points the path has."""
        return len(self.points) + ARC * len(self.pulleys)

    @functools.cached_property
    def _row(self) -> Any:
        around = {k: tuple(rest) for k, *rest in self.pulleys}
        plain = 0.0, (0.0,) * 3, (0.0,) * 3, 0
        eyelets = [(body, point, *around.get(k, plain))
                   for k, (body, point) in enumerate(zip(self.bodies, self.points, strict=True))]  # fmt: skip
        return ContactList([{"kind": AT_LENGTH, "dim": 1, "bound": self.length, "eyelets": eyelets}], at=0)

    def path(self, poses: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return points (count, 3) [m] along it in the world, and whether it is slack.

        The bodies are at ``poses`` (nbody, 7), which have seven digits in films. Of a pulley there are points on the
        arc, or along the straight line where the rope is free of it.
        """
        from scipy.spatial.transform import Rotation

        X = np.empty((len(poses), 3, 4))
        X[:, :, :3], X[:, :, 3] = Rotation.from_quat(poses[:, 3:]).as_matrix(), poses[:, :3]
        ends, _, arms, units, length = core.rope_legs(self._row, 0, X)
        origins = np.append(X[:, :, 3], np.zeros((1, 3)), axis=0)  # WORLD is the last
        at = {int(k): origins[self.bodies[k]] + arm for pair, both in zip(ends, arms, strict=True)
              for k, arm in zip(pair, both, strict=True)}  # fmt: skip
        path: list[np.ndarray] = []
        share = np.linspace(0.0, 1.0, ARC + 1)[:, None]
        axes = {k: axis for k, _, axis, *_ in self.pulleys}
        for k in range(len(self.points)):
            if k not in axes:
                path.append(at[k][None])
            elif k not in at:
                path.append(at[k - 1] + (share * (ARC / (ARC + 2)) + 1 / (ARC + 2)) * (at[k + 1] - at[k - 1]))
            else:
                leg = int(np.flatnonzero(ends[:, 1] == k)[0])
                body, middle = self.bodies[k], np.array(self.points[k])
                R = X[body, :, :3] if body != WORLD else np.eye(3)
                rest = R @ middle
                path.append(origins[body] + rest + _arc(arms[leg, 1] - rest, arms[leg + 1, 0] - rest, units[leg],
                                                        R @ np.array(axes[k]), share))  # fmt: skip
        return np.concatenate(path), length < (1 - SLACK) * self.length


def _arc(on: np.ndarray, off: np.ndarray, u: np.ndarray, axis: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return points (n, 3) [m] of shares (n, 1) of a helix about an axis, or a circle where that is zero.

    It begins at ``on`` in the direction ``u`` and ends at ``off``, less than a turn later.
    """
    up, end, ahead = on @ axis, off @ axis, u - (u @ axis) * axis
    a, b = on - up * axis, off - end * axis
    n = np.cross(a, ahead) / (np.linalg.norm(a) * np.linalg.norm(ahead))
    angle = share * (np.arctan2(n @ np.cross(a, b), a @ b) % (2 * np.pi))
    found: np.ndarray = np.cos(angle) * a + np.sin(angle) * np.cross(n, a) + (up + share * (end - up)) * axis
    return found


@dataclass(frozen=True)
class Mark:
    """A frame ``name`` on a ``body``, at ``pose`` (7,): position [m] and quaternion (x, y, z, w)."""

    name: str
    body: int
    pose: tuple[float, ...]


@dataclass(frozen=True)
class Mass:
    """The mass [kg] of the link ``name`` and its centre ``com`` (3,) [m] in the axes of a ``body``."""

    name: str
    body: int
    com: tuple[float, ...]
    mass: float


@dataclass(frozen=True)
class Surface:
    """The ground.

    Attributes
    ----------
    planes : tuple of (nx, ny, nz, d)
        Half-spaces n . x = d [m], n out of the ground.
    heights : tuple of tuples of float [m]
        Heights ``heights[i][j]`` of a surface at x = origin[0] + i spacing[0], y = origin[1] + j spacing[1]; or none.
    origin, spacing : (2,) tuples [m]
    """

    planes: tuple[tuple[float, ...], ...] = ()
    heights: tuple[tuple[float, ...], ...] = ()
    origin: tuple[float, ...] = (0.0, 0.0)
    spacing: tuple[float, ...] = (1.0, 1.0)


@dataclass(frozen=True)
class Drawing:
    """The parts of a system that a viewer shows; plain data that files can hold.

    Attributes
    ----------
    name : str
    bodies : tuple of str
        Names of the rigid bodies, in the order of the poses of :func:`poses`.
    shapes, lines, frames, masses : tuples of Shape, Line, Mark, Mass
    extent : float
        Size of the system [m].
    ground : Surface, optional
        If there is one that bodies may touch.
    cords : tuple of Cord
    """

    name: str
    bodies: tuple[str, ...]
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    frames: tuple[Mark, ...]
    masses: tuple[Mass, ...]
    extent: float
    ground: Surface | None = None
    cords: tuple[Cord, ...] = ()

    def plain(self) -> dict[str, object]:
        """Return the drawing in types that JSON knows."""
        return asdict(self)

    @classmethod
    def from_plain(cls, content: JsonObject) -> Drawing:
        """Return the drawing that :meth:`plain` turned into the ``content``."""
        kinds = {"shapes": Shape, "lines": Line, "frames": Mark, "masses": Mass, "cords": Cord}
        given = {"cords": (), **content}  # files of runs that were saved before ropes were drawn have none
        parts: dict[str, Any] = {key: tuple(kind(**_tuples(p)) for p in given[key]) for key, kind in kinds.items()}
        bodies, extent = tuple(content["bodies"]), float(content["extent"])
        ground = None if content["ground"] is None else Surface(**_tuples(content["ground"]))
        drawing = cls(name=str(content["name"]), bodies=bodies, extent=extent, ground=ground, **parts)
        drawing._check()
        return drawing

    def _check(self) -> None:
        """Raise an InputError if a part cannot be drawn, as in a damaged file."""
        numbers: list[tuple[float, ...]] = [(self.extent,)]
        placed: tuple[Shape | Mark | Mass, ...] = (*self.shapes, *self.frames, *self.masses)
        places, known = [part.body for part in placed], True
        for shape in self.shapes:
            known &= len(shape.pose) == 7 and (
                _is_surface(shape) if shape.kind == "surface" else len(shape.size) == SIZES.get(shape.kind)
            )
            known &= shape.rgba is None or len(shape.rgba) == 4
            numbers += [shape.size, shape.pose, shape.rgba or ()]
        for line in self.lines:
            known &= line.kind in ("wire", "spring", "damper", "slide") and len(line.point_a) == len(line.point_b) == 3
            numbers, places = [*numbers, line.point_a, line.point_b], [*places, line.a, line.b]
        for cord in self.cords:
            known &= len(cord.bodies) == len(cord.points) > 1 and all(len(point) == 3 for point in cord.points)
            numbers, places = [*numbers, (cord.length,), *cord.points], [*places, *cord.bodies]
            at = [k for k, *_ in cord.pulleys]
            known &= all(type(k) is int and 0 < k < len(cord.points) - 1 for k in at) and len({*at}) == len(at)
            known &= not {*at} & {k + 1 for k in at}
            for _, radius, axis, side, way in cord.pulleys:
                known &= len(axis) == len(side) == 3 and radius > 0 and way in (-1, 0, 1, 2)
                known &= bool(abs(np.linalg.norm(axis) - 1) < 1e-6) or not any(axis)
                numbers += [(radius,), axis, side]
        for frame in self.frames:
            known &= len(frame.pose) == 7
            numbers.append(frame.pose)
        for mass in self.masses:
            known &= len(mass.com) == 3 and mass.mass > 0
            numbers.append((*mass.com, mass.mass))
        if (ground := self.ground) is not None:
            known &= all(len(plane) == 4 and np.linalg.norm(plane[:3]) > 0.5 for plane in ground.planes)
            known &= len(ground.origin) == len(ground.spacing) == 2 and min(ground.spacing) > 0
            known &= len({len(row) for row in ground.heights}) <= 1 and len(ground.heights) != 1
            known &= all(len(row) > 1 for row in ground.heights)
            numbers += [*ground.planes, *ground.heights, ground.origin, ground.spacing]
        known &= all(isinstance(name, str) for name in self.bodies) and self.extent > 0
        known &= all(isinstance(place, int) and WORLD <= place < len(self.bodies) for place in places)
        if not (known and np.isfinite([x for part in numbers for x in part]).all()):
            raise InputError("its drawing has parts of unknown kinds or sizes; save the run again")


def _is_surface(shape: Shape) -> bool:
    """Whether a surface has vertices, and triangles of them."""
    count, odd = divmod(len(shape.size), 3)
    faces = shape.faces
    return (count > 2 and not odd and len(faces) > 0 and len(faces) % 3 == 0
            and all(type(k) is int and 0 <= k < count for k in faces))  # fmt: skip


def _tuples(part: Mapping[str, object]) -> JsonObject:
    def tuples(value: object) -> object:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return {key: tuples(value) for key, value in part.items()}


def poses(system: System, q: ArrayLike) -> np.ndarray:
    """Return the poses of the bodies of :func:`drawing_of` at rows of configurations.

    Parameters
    ----------
    system : System
    q : (n, nq) or (nq,) array [m or rad]

    Returns
    -------
    (n, nbody, 7) or (nbody, 7) array
        Position [m] and quaternion (x, y, z, w) in the world.
    """
    q = np.asarray(q, dtype=float)
    if q.ndim == 1:
        found: np.ndarray = poses(system, q[None])[0]
        return found
    if isinstance(system, Model):
        X = system._pose_rows(q)
    else:
        X = np.array([list(system.frame_poses(row).values()) for row in q])[..., :3, :]
    out = np.empty((*X.shape[:2], 7))
    out[..., :3] = X[..., 3]
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(X[..., :3].reshape(-1, 3, 3)) if X.size else None
    out[..., 3:] = turns.as_quat().reshape(*X.shape[:2], 4) if turns is not None else 0.0
    return out


def point_of(poses: np.ndarray, body: int, point: tuple[float, ...]) -> np.ndarray:
    """Return a ``point`` (3,) [m] of a ``body`` in world axes, with the bodies at ``poses`` (nbody, 7)."""
    local = np.array(point)
    if body == WORLD:
        return local
    x, u, w = poses[body, :3], poses[body, 3:6], poses[body, 6]
    found: np.ndarray = x + local + 2 * np.cross(u, np.cross(u, local) + w * local)
    return found


def drawing_of(system: System) -> Drawing:
    """Return the drawing of a ``system``.

    A link of a model is drawn by its visual shapes, or by its collision shapes if no visual shape can be drawn. If
    neither can be drawn, simple shapes stand in: a box of the link's mass and inertia, sticks to the joints below, and
    the joints themselves. A link that has no shapes at all gets simple ones only if no other link has shapes.
    Distances, springs and dampers are lines, and ropes run through their points.

    Raises
    ------
    InputError
        If a vehicle names no frames.
    """
    return _of_model(system) if isinstance(system, Model) else _of_vehicle(system)


# ---- models ---------------------------------------------------------------------------------------


def _of_model(model: Model) -> Drawing:
    flat = model.full.flat if isinstance(model.full, Model) else model.flat
    frames = {
        name: Place(int(body), E, p)
        for name, body, E, p in zip(flat.frame_names, flat.frame_body, flat.frame_E, flat.frame_p, strict=True)
    }
    masses = tuple(
        Mass(name, frames[name].body, _floats(frames[name].point(com)), float(mass))
        for name, mass, com in zip(flat.link_names, flat.link_mass, flat.link_com, strict=True)
        if mass > 0
    )
    extent = _extent(model, flat, masses)
    shapes, bare = [], set()
    touching = _touching_shapes(flat, frames, {g.frame for g in flat.geometry if _can_be_drawn(g)})
    drawable = any(_can_be_drawn(g) for g in flat.geometry)
    by_link: dict[str, list[Geometry]] = {name: [] for name in flat.link_names}
    for geometry in flat.geometry:
        by_link.setdefault(geometry.frame, []).append(geometry)
    for link, own in by_link.items():
        shown = [g for g in own if g.role == "visual" and _can_be_drawn(g)] or [g for g in own if _can_be_drawn(g)]
        shapes += [_placed(g, frames[link]) for g in shown]
        shapes += [_placed(g, frames[link]) for g in own if not (g.found or g.role != "visual" or g.filename is None)]
        if not shown and (own or not drawable) and link not in touching:
            bare.add(link)
    shapes += [shape for solids in touching.values() for shape in solids]
    simple = _simple(flat, frames, masses, bare, extent) if bare else []
    lines = [*_lines(flat, frames), *(_slides(flat) if bare else ())]
    marks = tuple(Mark(name, place.body, _pose(place.rotation, place.position)) for name, place in frames.items())
    ground = None if flat.ground is None else _surface(flat.ground)
    ropes = [each for each in flat.unilateral if isinstance(each, Rope)]
    cords = tuple(_cord(each, frames) for each in ropes)
    drawn = {geometry.frame for geometry in flat.geometry}
    shapes += [_pulley(each, frames) for rope in ropes for each in rope.points
               if isinstance(each, Pulley) and each.frame not in drawn]  # fmt: skip
    solids = (*shapes, *simple)
    return Drawing(model.name, _body_names(flat), solids, tuple(lines), marks, masses, extent, ground, cords)


def _surface(ground: Ground) -> Surface:
    """Return a ground; of a height field so many points that a page stays small."""
    field, planes = ground.terrain, tuple(_floats(plane) for plane in ground.half_spaces)
    if field is None:
        return Surface(planes)
    counts = [min(n, MOST_HEIGHTS) for n in field.shape]
    x, y = (o + d * (n - 1) * np.linspace(0.0, 1.0, k)
            for o, d, n, k in zip(field.origin, field.spacing, field.shape, counts, strict=False))  # fmt: skip
    z = field.heights_and_slopes(np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2))[:, 0]
    rows = tuple(_floats(row) for row in z.round(6).reshape(counts))
    return Surface(planes, rows, _floats((x[0], y[0])), _floats((x[1] - x[0], y[1] - y[0])))


def _body_names(flat: Flat) -> tuple[str, ...]:
    """Return the name of each body: its first link, or the joint that moves it."""
    names: list[str] = [""] * len(flat.kind)
    links = set(flat.link_names)
    for name, body in zip(flat.frame_names, flat.frame_body, strict=True):
        if body >= 0 and not names[body] and name in links:
            names[body] = name
    first = 0
    of_coordinates = [joint.name for joint in flat.joints for _ in range(joint.v_slice.stop - joint.v_slice.start)]
    for body, kind in enumerate(flat.kind):
        names[body] = names[body] or f"{of_coordinates[first]} ({body})"
        first += int(KIND_NV[kind])
    return tuple(names)


def _touching_shapes(flat: Flat, frames: dict[str, Place], drawn: set[str]) -> dict[str, list[Shape]]:
    """Return the shapes of contacts of the frames that are not ``drawn`` otherwise, by frames."""
    found: dict[str, list[Shape]] = {}
    for contact in flat.contacts:
        if not isinstance(contact, Contact) or contact.frame in drawn or contact.frame not in frames:
            continue
        place = frames[contact.frame]
        colour = PALETTE[place.body % len(PALETTE)] if place.body != WORLD else PLAIN
        made = [_solid_of_contact(solid, place, contact.frame, colour) for solid in contact.shapes]
        solids = [shape for shape in made if shape is not None]
        if contact.radius and contact.points is not None:
            solids += [Shape(place.body, "sphere", (float(contact.radius),), (*_floats(place.point(p)), *STILL[3:]),
                             contact.frame, colour) for p in np.reshape(contact.points, (-1, 3))]  # fmt: skip
        if solids:
            found.setdefault(contact.frame, []).extend(solids)
    return found


def _solid_of_contact(solid: Solid, place: Place, link: str, colour: tuple[float, ...]) -> Shape | None:
    """Return a shape of a contact as it is drawn; None of a surface of too many triangles."""
    pose = _pose(place.rotation @ np.array(solid.rotation), place.point(solid.position))
    if isinstance(solid, Box):
        return Shape(place.body, "box", _floats(solid.size), pose, link, colour)
    if isinstance(solid, Sphere):
        return Shape(place.body, "sphere", (float(solid.radius),), pose, link, colour)
    if isinstance(solid, Capsule | Cylinder):
        kind = "capsule" if isinstance(solid, Capsule) else "cylinder"
        return Shape(place.body, kind, (float(solid.radius), float(solid.length)), pose, link, colour)
    if isinstance(solid, Disk):
        turn = place.rotation @ turn_z_to(np.asarray(solid.axle))
        size = float(solid.radius), THIN * float(solid.radius)
        return Shape(place.body, "cylinder", size, _pose(turn, place.point(solid.position)), link, colour)
    if isinstance(solid, TriangleMesh):
        points, faces = np.array(solid.vertices, dtype=float), np.array(solid.faces, dtype=int)
    else:
        points, faces = hull_of(solid)
    if not 0 < len(faces) <= MOST_TRIANGLES:
        return None
    triangles = tuple(faces.ravel().tolist())
    return Shape(place.body, "surface", _floats(points.ravel()), pose, link, colour, faces=triangles)


def hull_of(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a convex ``solid``, in its own axes; none if it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    angles = np.linspace(0, 2 * np.pi, 25)[:-1]
    if isinstance(solid, Cone):
        rim = np.array([solid.radius * np.cos(angles), solid.radius * np.sin(angles), 0 * angles - solid.length / 2]).T
        points = np.vstack([rim, [[0.0, 0.0, solid.length / 2]]])
    elif isinstance(solid, Ellipsoid):
        heights = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 13))[1:-1]
        ring = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
        unit = np.vstack([[[0, 0, -1.0], [0, 0, 1.0]], *(np.sqrt(1 - h * h) * ring + (0, 0, h) for h in heights)])
        points = unit * np.array(solid.semi_axes)
    else:
        points = np.array(getattr(solid, "vertices", ()), dtype=float).reshape(-1, 3)
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return points, np.zeros((0, 3), dtype=int)
    faces = hull.simplices.copy()
    normals = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
    inward = (normals * hull.equations[:, :3]).sum(axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    used, faces = np.unique(faces, return_inverse=True)
    return points[used], faces.reshape(-1, 3)


def _can_be_drawn(shape: Geometry) -> bool:
    return shape.kind != "mesh" or (shape.found and shape.filename is not None)


def _placed(shape: Geometry, frame: Place) -> Shape:
    pose = _pose(frame.rotation @ shape.rotation, frame.point(shape.position))
    rgba = None if shape.rgba is None else _floats(shape.rgba)
    if rgba is None and shape.kind != "mesh":
        rgba = PLAIN
    return Shape(frame.body, shape.kind, _floats(shape.size), pose, shape.frame, rgba, shape.filename, shape.texture,
                 shape.faces, shape.found)  # fmt: skip


@np.errstate(all="ignore")
def _extent(model: Model, flat: Flat, masses: tuple[Mass, ...]) -> float:
    """Return the size of a model [m].

    The size is the diagonal of the box around joints and masses in the neutral configuration, or the largest length of
    a constraint, load or rope, or the largest radius of gyration.
    """
    X = model.body_poses(model.neutral())
    points = [np.zeros(3), *X[:, :3, 3]]
    points += [m.com if m.body == WORLD else X[m.body, :3, :3] @ np.array(m.com) + X[m.body, :3, 3] for m in masses]
    reach = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
    long = (*flat.constraints, *flat.loads, *flat.unilateral)
    spans = [c.length for c in long if isinstance(getattr(c, "length", None), float)]
    radii = [float(np.sqrt(np.trace(J) / m)) for J, m in zip(flat.inertia, flat.mass, strict=True) if m > 0]
    return max(reach, *spans, *radii, 1e-3) if max((reach, *spans, *radii), default=0.0) > 0 else 1.0


def _simple(
    flat: Flat, frames: dict[str, Place], masses: tuple[Mass, ...], bare: set[str], extent: float
) -> list[Shape]:
    """Return the masses and sticks of the ``bare`` links, and the joints."""
    thin = 0.012 * extent
    shown = [mass for mass in masses if mass.name in bare]
    heaviest = max((mass.mass for mass in masses), default=1.0)
    inertias = dict(zip(flat.link_names, flat.link_inertia, strict=True))
    solids = [_solid(mass, inertias[mass.name], frames[mass.name], heaviest, extent, thin) for mass in shown]
    bodies = {frames[link].body for link in bare} - {WORLD}
    return [*solids, *_joints(flat, thin), *_sticks(flat, shown, bodies, thin)]


def _solid(mass: Mass, inertia: np.ndarray, frame: Place, heaviest: float, extent: float, thin: float) -> Shape:
    """Return the box of a mass and inertia, or a small sphere if the box were thin."""
    colour = PALETTE[mass.body % len(PALETTE)]
    moments, axes = np.linalg.eigh(inertia)
    # A box with edges a, b, c has the moments m (b^2 + c^2) / 12 and so on; solved for the edges.
    edges = np.sqrt(np.maximum(12 / mass.mass * (moments.sum() / 2 - moments), 0.0))
    if edges.max() > 2 * thin:
        axes = axes * np.sign(np.linalg.det(axes))
        size = _floats(np.clip(edges, 1.5 * thin, 2.0 * extent))
        return Shape(mass.body, "box", size, _pose(frame.rotation @ axes, np.array(mass.com)), mass.name, colour)
    radius = 0.05 * extent * (mass.mass / heaviest) ** (1 / 3)
    return Shape(mass.body, "sphere", (max(radius, 1.5 * thin),), (*mass.com, *STILL[3:]), mass.name, colour)


def _joints(flat: Flat, thin: float) -> Iterator[Shape]:
    """Yield a cylinder along the axis of each turning joint, and a sphere for each ball joint."""
    for body, kind in enumerate(flat.kind):
        if kind in (REVOLUTE, HELICAL):
            yield Shape(body, "cylinder", (1.6 * thin, 5 * thin), STILL, "joint", DARK)
        elif kind == BALL:
            yield Shape(body, "sphere", (2.2 * thin,), STILL, "joint", DARK)


def _sticks(flat: Flat, shown: list[Mass], bodies: set[int], thin: float) -> Iterator[Shape]:
    """Yield the sticks from the origin of each body to the joints below it and to its masses."""
    from scipy.spatial.transform import Rotation

    for body in sorted(bodies):
        ends = [flat.p[child] for child in np.flatnonzero(np.asarray(flat.parent) == body)]
        ends += [np.array(mass.com) for mass in shown if mass.body == body]
        for end in ends:
            length = float(np.linalg.norm(end))
            if length > 2 * thin:
                turn = Rotation.align_vectors([end / length], [[0.0, 0.0, 1.0]])[0].as_matrix()
                colour = PALETTE[body % len(PALETTE)]
                yield Shape(body, "cylinder", (thin, length), _pose(turn, end / 2), "stick", colour)


def _lines(flat: Flat, frames: dict[str, Place]) -> Iterator[Line]:
    """Yield the wires, springs and dampers between frames."""
    for item in (*flat.constraints, *flat.loads):
        kind = {Distance: "wire", Spring: "spring", Damper: "damper"}.get(type(item))
        if kind is not None:
            a, b = (frames.get(end, STILL_PLACE) for end in (item.a, item.b))
            yield Line(item.name, kind, a.body, _floats(a.position), b.body, _floats(b.position))


def _cord(rope: Rope, frames: dict[str, Place]) -> Cord:
    """Return a rope as it is drawn."""
    places = [frames.get(frame, STILL_PLACE) for frame in rope.frames]
    points = tuple(_floats(place.point(at)) for place, at in zip(places, rope.offsets, strict=True))
    pulleys = []
    for k, (each, place) in enumerate(zip(rope.points, places, strict=True)):
        if isinstance(each, Pulley):
            axis = (0.0, 0.0, 0.0) if each.axis is None else _floats(place.rotation @ np.array(each.axis))
            side = (0.0, 0.0, 0.0) if each.side is None else _floats(place.point(each.side))
            pulleys.append((k, each.radius, axis, side, way_around(each)))
    return Cord(rope.name, rope.length, tuple(place.body for place in places), points, tuple(pulleys))


def _pulley(pulley: Pulley, frames: dict[str, Place]) -> Shape:
    """Return a pulley as it is drawn: a disk, or a ball."""
    place = frames.get(pulley.frame, STILL_PLACE)
    if pulley.axis is None:
        return Shape(place.body, "sphere", (pulley.radius,), (*_floats(place.point(pulley.position)), *STILL[3:]),
                     pulley.frame, PLAIN)  # fmt: skip
    turn = place.rotation @ turn_z_to(np.array(pulley.axis))
    size = pulley.radius, WIDTH * pulley.radius
    return Shape(place.body, "cylinder", size, _pose(turn, place.point(pulley.position)), pulley.frame, PLAIN)


def _slides(flat: Flat) -> Iterator[Line]:
    """Yield a line from each body that slides to the body that it slides along, if that has mass."""
    for body, (kind, parent) in enumerate(zip(flat.kind, flat.parent, strict=True)):
        if kind == PRISMATIC and parent >= 0 and flat.mass[parent] > 0:
            yield Line(f"slide {body}", "slide", int(parent), _floats(flat.p[body]), body, (0.0, 0.0, 0.0))


# ---- vehicles -------------------------------------------------------------------------------------


def _of_vehicle(vehicle: Any) -> Drawing:
    bodies = tuple(vehicle.frame_poses(vehicle.neutral()))
    if not bodies:
        raise InputError(f'"{vehicle.name}" cannot be drawn: its method frame_poses names no frames')
    shapes = [_placed(g, Place(bodies.index(g.frame), np.eye(3), np.zeros(3))) for g in vehicle.geometry]
    if not shapes:
        shapes = [Shape(0, "box", (0.5, 0.25, 0.12), STILL, bodies[0], PALETTE[0])]
    extent = max(max(s.size) + float(np.linalg.norm(s.pose[:3])) for s in shapes)
    marks = tuple(Mark(name, k, STILL) for k, name in enumerate(bodies))
    mass = float(vehicle.total_mass)
    masses = (Mass(bodies[0], 0, (0.0, 0.0, 0.0), mass),) if mass > 0 else ()
    return Drawing(vehicle.name, bodies, tuple(shapes), (), marks, masses, extent)


def _pose(R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
    from scipy.spatial.transform import Rotation

    return _floats((*p, *Rotation.from_matrix(R).as_quat()))


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(x) for x in values)
