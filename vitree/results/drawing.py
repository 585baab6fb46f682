"""What a viewer shows of a system: shapes, lines, frames and masses on rigid bodies"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vitree.errors import InputError
from vitree.mechanism.constraints import Distance
from vitree.mechanism.flat import BALL, FREE, HELICAL, PRISMATIC, REVOLUTE, Flat, Geometry
from vitree.mechanism.loads import Damper, Spring
from vitree.model.model import Model
from vitree.model.system import System

#: The body that does not move.
WORLD = -1
#: Colours (r, g, b, a) of what is drawn without a colour of its own: Okabe & Ito's, softened.
PALETTE = (
    (0.35, 0.55, 0.75, 1.0), (0.87, 0.56, 0.33, 1.0), (0.35, 0.66, 0.55, 1.0),
    (0.79, 0.58, 0.70, 1.0), (0.55, 0.74, 0.88, 1.0), (0.90, 0.74, 0.40, 1.0),
)  # fmt: skip
PLAIN, DARK = (0.72, 0.73, 0.75, 1.0), (0.25, 0.26, 0.28, 1.0)
#: Lengths of a kind of shape.
SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "mesh": 3}
STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Shape:
    """A solid on a body.

    Attributes
    ----------
    body : int
        Index into ``Drawing.bodies``, or WORLD.
    kind : {"box", "cylinder", "sphere", "capsule", "mesh"}
    size : tuple of float
        Lengths [m] as of :class:`vitree.Geometry`; of a mesh its scale.
    pose : (7,) tuple
        Position [m] and quaternion (x, y, z, w) in the body.
    link : str
        What it belongs to.
    rgba : tuple of 4 floats, or None
        A mesh without a colour has its own.
    filename : str or None
        Of a mesh.
    """

    body: int
    kind: str
    size: tuple[float, ...]
    pose: tuple[float, ...]
    link: str
    rgba: tuple[float, ...] | None = None
    filename: str | None = None


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
class Drawing:
    """What a viewer needs to know of a system; plain data, so it can be kept in a file.

    Attributes
    ----------
    name : str
    bodies : tuple of str
        What moves rigidly, in the order of the poses of :func:`poses`.
    shapes, lines, frames, masses : tuples of Shape, Line, Mark, Mass
    extent : float
        A length that says how large the system is [m].
    """

    name: str
    bodies: tuple[str, ...]
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    frames: tuple[Mark, ...]
    masses: tuple[Mass, ...]
    extent: float

    def plain(self) -> dict[str, Any]:
        """Return it in types that JSON knows."""
        return asdict(self)

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> Drawing:
        """Return the drawing of which :meth:`plain` made the ``content``."""
        kinds = {"shapes": Shape, "lines": Line, "frames": Mark, "masses": Mass}
        parts = {key: tuple(kind(**_tuples(part)) for part in content[key]) for key, kind in kinds.items()}
        bodies, extent = tuple(content["bodies"]), float(content["extent"])
        drawing = cls(name=str(content["name"]), bodies=bodies, extent=extent, **parts)
        drawing._check()
        return drawing

    def _check(self) -> None:
        """Raise an InputError if a part is none that can be drawn, as of a damaged file."""
        numbers: list[tuple[float, ...]] = [(self.extent,)]
        placed: tuple[Any, ...] = (*self.shapes, *self.frames, *self.masses)
        places, known = [part.body for part in placed], True
        for shape in self.shapes:
            known &= len(shape.size) == SIZES.get(shape.kind) and len(shape.pose) == 7
            known &= shape.rgba is None or len(shape.rgba) == 4
            numbers += [shape.size, shape.pose, shape.rgba or ()]
        for line in self.lines:
            known &= line.kind in ("wire", "spring", "damper", "slide") and len(line.point_a) == len(line.point_b) == 3
            numbers, places = [*numbers, line.point_a, line.point_b], [*places, line.a, line.b]
        for frame in self.frames:
            known &= len(frame.pose) == 7
            numbers.append(frame.pose)
        for mass in self.masses:
            known &= len(mass.com) == 3 and mass.mass > 0
            numbers.append((*mass.com, mass.mass))
        known &= all(isinstance(name, str) for name in self.bodies) and self.extent > 0
        known &= all(isinstance(place, int) and WORLD <= place < len(self.bodies) for place in places)
        if not (known and np.isfinite([x for part in numbers for x in part]).all()):
            raise InputError("its drawing has parts that cannot be drawn")


def _tuples(part: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in part.items()}


def poses(system: System, q: Any) -> np.ndarray:
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
        return poses(system, q[None])[0]
    if isinstance(system, Model):
        X = system.pose_rows(q)
    else:
        X = np.array([list(system.frame_poses(row).values()) for row in q])[..., :3, :]
    out = np.empty((*X.shape[:2], 7))
    out[..., :3] = X[..., 3]
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(X[..., :3].reshape(-1, 3, 3)) if X.size else None
    out[..., 3:] = turns.as_quat().reshape(*X.shape[:2], 4) if turns is not None else 0.0
    return out


def drawing_of(system: System) -> Drawing:
    """Return what a viewer shows of a ``system``.

    A link of a model is drawn by its visual shapes; without any that can be drawn, by its collision shapes; without
    these, if it has mesh files that are not found or no link has any shape, by simple ones: its mass as a box of the
    same inertia, sticks to the joints below, and the joints themselves. Distances, springs and dampers are lines.

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
        name: (int(body), E, p)
        for name, body, E, p in zip(flat.frame_names, flat.frame_body, flat.frame_E, flat.frame_p, strict=True)
    }
    masses = tuple(
        Mass(name, frames[name][0], _floats(frames[name][1] @ np.array(com) + frames[name][2]), float(mass))
        for name, mass, com in zip(flat.link_names, flat.link_mass, flat.link_com, strict=True)
        if mass > 0
    )
    extent = _extent(model, flat, masses)
    shapes, bare = [], set()
    drawable = any(_can_be_drawn(g) for g in flat.geometry)
    by_link: dict[str, list[Geometry]] = {name: [] for name in flat.link_names}
    for geometry in flat.geometry:
        by_link.setdefault(geometry.frame, []).append(geometry)
    for link, own in by_link.items():
        shown = [g for g in own if g.role == "visual" and _can_be_drawn(g)] or [g for g in own if _can_be_drawn(g)]
        shapes += [_placed(g, *frames[link]) for g in shown]
        if not shown and (own or not drawable):
            bare.add(link)
    simple = list(_simple(flat, frames, masses, bare, extent)) if bare else []
    lines = [*_lines(flat, frames), *(_slides(flat) if bare else ())]
    marks = tuple(Mark(name, body, _pose(E, p)) for name, (body, E, p) in frames.items())
    return Drawing(model.name, _body_names(flat), (*shapes, *simple), tuple(lines), marks, masses, extent)


def _body_names(flat: Flat) -> tuple[str, ...]:
    """The first link on each body, or the joint that moves it."""
    names: list[str] = [""] * len(flat.kind)
    links = set(flat.link_names)
    for name, body in zip(flat.frame_names, flat.frame_body, strict=True):
        if body >= 0 and not names[body] and name in links:
            names[body] = name
    first = 0
    of_coordinates = [joint.name for joint in flat.joints for _ in range(joint.v_slice.stop - joint.v_slice.start)]
    for body, kind in enumerate(flat.kind):
        names[body] = names[body] or f"{of_coordinates[first]} ({body})"
        first += {BALL: 3, FREE: 6}.get(int(kind), 1)
    return tuple(names)


def _can_be_drawn(shape: Geometry) -> bool:
    return shape.kind != "mesh" or (shape.found and shape.filename is not None)


def _placed(shape: Geometry, body: int, E: np.ndarray, p: np.ndarray) -> Shape:
    pose = _pose(E @ shape.rotation, E @ shape.position + p)
    rgba = None if shape.rgba is None else _floats(shape.rgba)
    if rgba is None and shape.kind != "mesh":
        rgba = PLAIN
    return Shape(body, shape.kind, _floats(shape.size), pose, shape.frame, rgba, shape.filename)


def _extent(model: Model, flat: Flat, masses: tuple[Mass, ...]) -> float:
    """The diagonal of the box around joints and masses at rest, or what else says how large it is [m]."""
    X = model.body_poses(model.neutral())
    points = [np.zeros(3), *X[:, :3, 3]]
    points += [m.com if m.body == WORLD else X[m.body, :3, :3] @ np.array(m.com) + X[m.body, :3, 3] for m in masses]
    reach = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
    spans = [c.length for c in (*flat.constraints, *flat.loads) if isinstance(getattr(c, "length", None), float)]
    radii = [float(np.sqrt(np.trace(J) / m)) for J, m in zip(flat.inertia, flat.mass, strict=True) if m > 0]
    return max(reach, *spans, *radii, 1e-3) if max((reach, *spans, *radii), default=0.0) > 0 else 1.0


def _simple(flat: Flat, frames, masses, bare: set[str], extent: float) -> Iterator[Shape]:
    """Masses, sticks and joints of links without shapes."""
    from scipy.spatial.transform import Rotation

    thin = 0.012 * extent
    on_bodies = {frames[link][0] for link in bare}
    heaviest = max((m.mass for m in masses), default=1.0)
    inertias = dict(zip(flat.link_names, flat.link_inertia, strict=True))
    for m in masses:
        if m.name not in bare:
            continue
        colour = PALETTE[m.body % len(PALETTE)]
        values, axes = np.linalg.eigh(inertias[m.name])
        # edges of the box that has this mass and these principal moments
        edges = np.sqrt(np.maximum(12 / m.mass * (values.sum() / 2 - values), 0.0)) if m.mass > 0 else np.zeros(3)
        if edges.max() > 2 * thin:
            axes = axes * np.sign(np.linalg.det(axes))
            size = _floats(np.clip(edges, 1.5 * thin, 2.0 * extent))
            turn = frames[m.name][1] @ axes
            yield Shape(m.body, "box", size, _pose(turn, np.array(m.com)), m.name, colour)
        else:
            radius = 0.05 * extent * (m.mass / heaviest) ** (1 / 3)
            yield Shape(m.body, "sphere", (max(radius, 1.5 * thin),), (*m.com, *STILL[3:]), m.name, colour)
    for body, kind in enumerate(flat.kind):
        if kind in (REVOLUTE, HELICAL):
            yield Shape(body, "cylinder", (1.6 * thin, 5 * thin), STILL, "joint", DARK)
        elif kind == BALL:
            yield Shape(body, "sphere", (2.2 * thin,), STILL, "joint", DARK)
    for body in sorted(on_bodies - {WORLD}):
        ends = [flat.p[child] for child in np.flatnonzero(np.asarray(flat.parent) == body)]
        ends += [np.array(m.com) for m in masses if m.body == body and m.name in bare]
        for end in ends:
            length = float(np.linalg.norm(end))
            if length > 2 * thin:
                turn = Rotation.align_vectors([end / length], [[0.0, 0.0, 1.0]])[0].as_matrix()
                colour = PALETTE[body % len(PALETTE)]
                yield Shape(body, "cylinder", (thin, length), _pose(turn, end / 2), "stick", colour)


def _lines(flat: Flat, frames) -> Iterator[Line]:
    """The wires, springs and dampers between frames."""
    for item in (*flat.constraints, *flat.loads):
        kind = {Distance: "wire", Spring: "spring", Damper: "damper"}.get(type(item))
        if kind is not None:
            a, b = (frames[end] if end in frames else (WORLD, None, np.zeros(3)) for end in (item.a, item.b))
            yield Line(item.name, kind, a[0], _floats(a[2]), b[0], _floats(b[2]))


def _slides(flat: Flat) -> Iterator[Line]:
    """Where a body slides along another that has mass."""
    for body, (kind, parent) in enumerate(zip(flat.kind, flat.parent, strict=True)):
        if kind == PRISMATIC and parent >= 0 and flat.mass[parent] > 0:
            yield Line(f"slide {body}", "slide", int(parent), _floats(flat.p[body]), body, (0.0, 0.0, 0.0))


# ---- vehicles -------------------------------------------------------------------------------------


def _of_vehicle(vehicle: Any) -> Drawing:
    bodies = tuple(vehicle.frame_poses(vehicle.neutral()))
    if not bodies:
        raise InputError(f'"{vehicle.name}" cannot be drawn: its method frame_poses names no frames')
    shapes = [_placed(g, bodies.index(g.frame), np.eye(3), np.zeros(3)) for g in vehicle.geometry]
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


def _floats(values) -> tuple[float, ...]:
    return tuple(float(x) for x in values)
