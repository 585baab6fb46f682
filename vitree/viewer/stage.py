"""The bridge to viser: a drawing becomes nodes of a scene, and poses move the nodes."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from vitree.arguments import Keywords
from vitree.errors import InputError, MissingExtraError
from vitree.model.system import System
from vitree.results.drawing import (
    DARK,
    PALETTE,
    PLAIN,
    WORLD,
    Cord,
    Drawing,
    Line,
    Shape,
    Surface,
    drawing_of,
    point_of,
    poses,
)
from vitree.spatial.rotations import turn_z_to
from vitree.urdf.meshes import check_mesh, load_scene
from vitree.urdf.paths import Resolved
from vitree.viewer.dials import Dials
from vitree.viewer.door import closed_to_strangers
from vitree.viewer.lighter import SMALL, lighter, shares, shrink_images, with_texture
from vitree.viewer.pushes import pushes_of
from vitree.viewer.source import Run, View, goes_far, span_of, travel_of, view_of, view_of_runs
from vitree.wording import visible

if TYPE_CHECKING:
    from trimesh import Trimesh
    from viser import ArrowsHandle, LineSegmentsHandle, SceneApi, SceneNodeHandle, ViserServer

#: Colours (r, g, b) of lines.
LINES = {"wire": (30, 30, 30), "spring": (0, 140, 100), "damper": (150, 80, 140), "slide": (160, 160, 160)}
#: Colour (r, g, b) of forces of contacts.
FORCE = (213, 94, 0)
#: Colours (r, g, b) of ropes that pull, and of slack ones; how many dashes these have, and the share of the dashes.
TAUT, LOOSE = (120, 80, 40), (205, 180, 150)
DASHES, DASHED = 16, 0.5
#: Turns of a spring, and straight segments of a turn.
COILS, SEGMENTS = 8, 10
#: Opacity of ghosts.
GHOST = 0.5


def require_viser() -> ModuleType:
    """Return the module viser; raise a MissingExtraError if it is not installed."""
    try:
        import viser
    except ImportError:
        raise MissingExtraError("viser", "view", "the viewer") from None
    return viser


def open_server(host: str, port: int, title: str) -> tuple[ViserServer, str]:
    """Start a viser server that prints nothing, at the first free port from a given one on.

    Raises a MissingExtraError if viser is not installed, and an InputError if this machine cannot serve at the address.

    Returns
    -------
    (viser.ViserServer, str)
        The server, and the token with which its paths begin.
    """
    viser = require_viser()
    if not (isinstance(port, int) and 0 < port < 65536):
        raise InputError("port", port, "must be a number from 1 to 65535")
    try:
        family, kind, *_ = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.bind((host, 0))
        port = _free_port(family, kind, host, port)
    except OSError as error:
        raise InputError(
            "host", host,
            f"is no address of this machine ({error.strerror or error}); give 127.0.0.1, or 0.0.0.0 for all of its "
            "addresses"
        ) from None
    token = secrets.token_urlsafe(16)
    with quiet(), closed_to_strangers(token):
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    server.scene.set_up_direction("+z")
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    return server, token


def _free_port(family: int, kind: int, host: str, first: int) -> int:
    """Return the first free port from a given one on; viser itself would search for ever beyond the last."""
    for port in range(first, 65536):
        with socket.socket(family, kind) as tried, contextlib.suppress(OSError):
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
            return port
    raise InputError("port", first, "and all above are in use; give another")


#: All threads share sys.stdout. Two threads that redirect it at the same time would leave it redirected.
_QUIET = threading.RLock()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep viser's output from the terminal, or from a notebook's cell."""
    import rich

    with _QUIET, contextlib.redirect_stdout(io.StringIO()), mock.patch.object(rich, "print", lambda *_, **__: None):
        yield


def set_scene(server: ViserServer, view: View) -> Floor:
    """Place the camera and the ground; return the ground."""
    server.initial_camera.position = np.array(view.position)
    server.initial_camera.look_at = np.array(view.look_at)
    return Floor(server.scene, view)


class Floor:
    """The ground in the scene: an endless grid, squares for further half-spaces, a mesh for heights."""

    def __init__(self, scene: SceneApi, view: View):
        self.cell, surface = cell_of(view), view.surface
        lines: Keywords = {"cell_size": self.cell, "section_size": 10 * self.cell, "cell_color": (228, 228, 228),
                 "section_color": (205, 205, 205), "fade_distance": 30 * view.size}  # fmt: skip
        self.nodes: list[SceneNodeHandle] = []
        self.places: list[np.ndarray] = []
        self.axes: list[np.ndarray | None] = []
        for k, (*normal, d) in enumerate(surface.planes):
            R = turn_z_to(np.array(normal))
            at, endless = d * R[:, 2], k == 0 and not surface.heights
            wide: Keywords = {"infinite_grid": True}
            if not endless:  # the part of it that is nearest to the scene
                near = np.array(view.look_at)
                at = near + (d - near @ R[:, 2]) * R[:, 2]
                wide = {"width": 6 * view.size, "height": 6 * view.size, "plane_opacity": 0.3}
            turn = Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]
            node = scene.add_grid(f"/ ground{k or ''}", position=at, wxyz=turn, **lines, **wide)
            self._add(node, at, R if endless else None)
        if surface.heights:
            vertices, faces = _mesh_of(surface)
            mesh = scene.add_mesh_simple("/ ground of heights", vertices, faces, color=(214, 212, 205), side="double",
                                         flat_shading=False, cast_shadow=False)  # fmt: skip
            self._add(mesh, np.zeros(3), None)

    def _add(self, node: SceneNodeHandle, at: np.ndarray, axes: np.ndarray | None) -> None:
        self.nodes.append(node)
        self.places.append(at)
        self.axes.append(axes)

    @property
    def position(self) -> tuple[float, ...]:
        """Where the first part is (3,) [m]."""
        return tuple(self.nodes[0].position)

    def move(self, to: np.ndarray) -> None:
        """Move the ground by (3,) [m]; an endless grid looks the same after each section."""
        section = 10 * self.cell
        for node, at, R in zip(self.nodes, self.places, self.axes, strict=True):
            shift = to
            if R is not None:
                along = R.T @ to
                shift = R @ (*np.fmod(along[:2], section), along[2])
            x, y, z = (float(value) for value in at + shift)
            if tuple(node.position) != (x, y, z):
                node.position = (x, y, z)


def _mesh_of(surface: Surface) -> tuple[np.ndarray, np.ndarray]:
    """The vertices (n, 3) [m] and triangles (m, 3) of heights."""
    z = np.array(surface.heights)
    i, j = np.indices(z.shape)
    (x0, y0), (dx, dy) = surface.origin, surface.spacing
    vertices = np.stack([x0 + dx * i, y0 + dy * j, z], axis=-1).reshape(-1, 3)
    corner = (i * z.shape[1] + j)[:-1, :-1].ravel()
    right, up = z.shape[1], 1
    faces = np.concatenate([np.column_stack([corner, corner + right, corner + right + up]),
                            np.column_stack([corner, corner + right + up, corner + up])])  # fmt: skip
    return vertices.astype(np.float32), faces


def cell_of(view: View) -> float:
    """Return the width of the ground's cells [m]."""
    return float(10.0 ** np.floor(np.log10(view.size)))


class Cast:
    """Runs in the scene: the first solid, the others as ghosts.

    Attributes
    ----------
    spread : float
        Distance between runs, along y [m].
    follow : bool
        Whether the first run stays in the picture while the ground moves.
    missing : list of str
        Mesh files that could not be read, with the reason.
    """

    def __init__(self, server: ViserServer, runs: list[Run], spread: float, follow: bool | None):
        self.runs, self.spread = runs, spread
        self.follow = goes_far(runs[0]) if follow is None else follow
        self.view = view_of_runs(runs, self.follow, spread, partial(box_of, meshes=runs[0].meshes))
        self.ground = set_scene(server, self.view)
        self.stages = []
        for k, run in enumerate(runs):
            ghost = (*PALETTE[(k - 1) % len(PALETTE)][:3], GHOST) if k else None
            name = f"{k + 1} {run.label}" if len(runs) > 1 else run.trajectory.model_name
            self.stages.append(Stage(server.scene, name, run.film.drawing, ghost, run.meshes))
        self.pushes = [pushes_of(run) for run in runs]
        self.missing = sorted({line for stage in self.stages for line in stage.missing})
        self.show(span_of(runs)[0])

    def show(self, t: float) -> None:
        """Show a time [s]."""
        travel = travel_of(self.runs[0], t) if self.follow else np.zeros(3)
        self.ground.move(-travel)
        for k, (run, stage, pushes) in enumerate(zip(self.runs, self.stages, self.pushes, strict=True)):
            stage.move(np.array([0.0, k * self.spread, 0.0]) - travel)
            stage.place(run.film.at(t))
            if pushes is not None:
                stage.push(pushes.arrows(t, run.film.drawing.extent))


class Stage:
    """A drawing in a viser scene.

    Parameters
    ----------
    scene : viser.SceneApi
    name : str
        Name of the root node.
    drawing : Drawing
    rgba : tuple, optional
        One colour for all shapes, such as a ghost's.
    meshes : mapping, optional
        Files of meshes by the names that the drawing has for them; by default those names.

    Attributes
    ----------
    missing : list of str
        Mesh files that could not be read, with the reason.
    """

    def __init__(
        self,
        scene: SceneApi,
        name: str,
        drawing: Drawing,
        rgba: tuple[float, ...] | None = None,
        meshes: Mapping[str, Resolved] | None = None,
    ):
        self.drawing, self.rgba, self.meshes = drawing, rgba, meshes or {}
        self.missing: list[str] = []
        #: nodes of shapes, and the body of each
        self.solids: list[tuple[int, Any]] = []
        self.root = scene.add_frame(f"/{_node(name)}", show_axes=False)
        self.path = self.root.name
        self.bodies = [
            scene.add_frame(f"{self.path}/{k} {_node(body)}", show_axes=False) for k, body in enumerate(drawing.bodies)
        ]
        meshes_of = {k: mesh for k, shape in enumerate(drawing.shapes) if (mesh := self._loaded(shape)) is not None}
        counts = [len(mesh.faces) for mesh, _ in meshes_of.values()]
        self._share = shares(counts)
        #: what was done to the meshes, in words
        self.told = _told_of(counts, self._share)
        for k, shape in enumerate(drawing.shapes):
            self._add_shape(scene, f"{self._node_of(shape.body)}/{_node(shape.link)} {k}", shape, meshes_of.get(k))
        self.lines = None
        if drawing.lines:
            colours = np.concatenate(
                [np.full((_count_segments(line), 2, 3), LINES[line.kind]) for line in drawing.lines]
            )
            self.lines = scene.add_line_segments(
                f"{self.path}/lines", np.zeros((len(colours), 2, 3)), colours.astype(np.uint8),
                thickness=0.006 * drawing.extent,
            )  # fmt: skip
        self.cords = [self._add_cord(scene, f"rope {k} {_node(c.name)}", c) for k, c in enumerate(drawing.cords)]
        self.axes = self._add_frames(scene)
        self.masses = self._add_masses(scene)
        self._scene, self.forces_shown = scene, True
        self.forces: ArrowsHandle | None = None
        self._last: np.ndarray | None = None

    def move(self, to: np.ndarray) -> None:
        """Move the whole drawing to a place (3,) [m]."""
        x, y, z = (float(value) for value in to)
        if tuple(self.root.position) != (x, y, z):
            self.root.position = (x, y, z)

    def place(self, poses: np.ndarray) -> None:
        """Move the bodies to poses (nbody, 7)."""
        moved = range(len(poses)) if self._last is None else np.flatnonzero((poses != self._last).any(axis=1))
        for k in moved:
            x, y, z, qx, qy, qz, qw = (float(value) for value in poses[k])
            self.bodies[k].position = (x, y, z)
            self.bodies[k].wxyz = (qw, qx, qy, qz)
        if self.lines is not None and len(moved):
            self.lines.points = self._segments(poses)
        if len(moved):
            for cord, nodes in zip(self.drawing.cords, self.cords, strict=True):
                path, slack = cord.path(poses)
                nodes[slack].points = _strung(path, slack)
                for node, shown in zip(nodes, (not slack, slack), strict=True):
                    if node.visible != shown:
                        node.visible = shown
        self._last = np.array(poses)

    def push(self, arrows: np.ndarray) -> None:
        """Show forces as arrows (k, 2, 3) [m] from their points to their heads."""
        arrows = np.asarray(arrows, dtype=np.float32)
        size = self.drawing.extent
        if self.forces is None:
            if not len(arrows):
                return
            self.forces = self._scene.add_arrows(
                f"{self.path}/contact forces", arrows, FORCE, shaft_radius=0.006 * size, head_radius=0.015 * size,
                head_length=0.04 * size, visible=self.forces_shown,
            )  # fmt: skip
            return
        if len(arrows) and not np.array_equal(self.forces.points, arrows):
            self.forces.points = arrows
        if self.forces.visible != (shown := self.forces_shown and len(arrows) > 0):
            self.forces.visible = shown

    def show(self, *, visible: bool | None = None, frames: bool | None = None, masses: bool | None = None,
             forces: bool | None = None) -> None:  # fmt: skip
        """Show or hide the whole drawing, its frames, its centres of mass or forces of contacts."""
        if visible is not None:
            self.root.visible = visible
        if forces is not None:
            self.forces_shown = forces
            if self.forces is not None:
                self.forces.visible = forces
        for nodes, wanted in ((self.axes, frames), (self.masses, masses)):
            if wanted is not None:
                for node in nodes:
                    node.visible = wanted

    def _node_of(self, body: int) -> str:
        return self.path if body == WORLD else self.bodies[body].name

    def _loaded(self, shape: Shape) -> tuple[Trimesh, bool] | None:
        """Return the mesh of a shape, and whether it has colours of its own; None if it is none, or missing."""
        if shape.kind != "mesh":
            return None
        try:
            file, problem = self.meshes.get(str(shape.filename), Resolved(str(shape.filename)))
            if problem is None and not shape.found:
                problem = "missing, or outside of the robot's folders"
            if problem is not None:
                raise InputError(problem)
            mesh, coloured = _mesh(*_version(file), shape.size)
            if shape.texture is not None:
                image, wrong = self.meshes.get(shape.texture, Resolved(shape.texture))
                if wrong is None:
                    textured = _textured(*_version(file), shape.size, *_version(image))
                    return (mesh, coloured) if textured is None else (textured, True)
                self.missing.append(visible(f"{shape.texture}: {wrong}"))
            return mesh, coloured
        except Exception as error:  # readers of damaged meshes raise errors of many kinds
            reason = error.args[0] if isinstance(error, InputError) else f"{error or type(error).__name__}"
            self.missing.append(visible(f"{shape.filename}: " + reason))
            return None

    def _add_shape(self, scene: SceneApi, name: str, shape: Shape, loaded: tuple[Trimesh, bool] | None) -> None:
        rgba = self.rgba or shape.rgba
        place: Keywords = {"position": shape.pose[:3], "wxyz": (shape.pose[6], *shape.pose[3:6])}
        looks: Keywords = {}
        if rgba is not None:
            looks = {"color": _rgb(rgba), "opacity": None if rgba[3] >= 1 else rgba[3]}
        node: Any
        if shape.kind == "box":
            node = scene.add_box(name, dimensions=np.array(shape.size), **looks, **place)
        elif shape.kind == "cylinder":
            node = scene.add_cylinder(name, radius=shape.size[0], height=shape.size[1], **looks, **place)
        elif shape.kind == "sphere":
            node = scene.add_icosphere(name, radius=shape.size[0], **looks, **place)
        elif shape.kind == "surface":
            points, faces = np.array(shape.size).reshape(-1, 3), np.array(shape.faces).reshape(-1, 3)
            node = scene.add_mesh_simple(name, points, faces, flat_shading=True, side="double", **looks, **place)
        else:
            if shape.kind == "capsule":
                mesh, coloured = _capsule(*shape.size)
            elif loaded is not None:
                mesh, coloured = loaded
                mesh = _lighter(mesh, self._share)
            else:
                return
            if coloured and (not looks or (shape.texture is not None and self.rgba is None)):
                node = scene.add_mesh_trimesh(name, mesh, **place)
            else:
                looks = looks or {"color": _rgb(PLAIN)}
                sharp = shape.kind == "mesh" and Path(str(shape.filename)).suffix.lower() == ".stl"
                node = scene.add_mesh_simple(name, mesh.vertices, mesh.faces, flat_shading=sharp, **looks, **place)
        self.solids.append((shape.body, node))

    def _add_cord(self, scene: SceneApi, name: str, cord: Cord) -> list[LineSegmentsHandle]:
        """Add a rope as it is while it pulls, and as it is while it is slack: pages do not draw other colours later."""
        return [
            scene.add_line_segments(
                f"{self.path}/{name}{kind}", np.zeros((count, 2, 3)), colour, thickness=thick * self.drawing.extent,
                visible=False,
            )
            for kind, colour, thick, count in (
                ("", TAUT, 0.007, cord.count - 1), (", slack", LOOSE, 0.004, DASHES)
            )
        ]

    def _add_frames(self, scene: SceneApi) -> list[SceneNodeHandle]:
        nodes: list[SceneNodeHandle] = []
        for body in sorted({mark.body for mark in self.drawing.frames}):
            poses = np.array([mark.pose for mark in self.drawing.frames if mark.body == body])
            nodes.append(
                scene.add_batched_axes(
                    f"{self._node_of(body)}/frames", poses[:, [6, 3, 4, 5]], poses[:, :3],
                    axes_length=0.06 * self.drawing.extent, axes_radius=0.002 * self.drawing.extent, visible=False,
                )
            )  # fmt: skip
        return nodes

    def _add_masses(self, scene: SceneApi) -> list[SceneNodeHandle]:
        most = max((mass.mass for mass in self.drawing.masses), default=1.0)
        return [
            scene.add_icosphere(
                f"{self._node_of(mass.body)}/mass of {_node(mass.name)}", color=_rgb(DARK), position=np.array(mass.com),
                radius=0.03 * self.drawing.extent * (mass.mass / most) ** (1 / 3), opacity=0.8, visible=False,
            )
            for mass in self.drawing.masses
        ]  # fmt: skip

    def _segments(self, poses: np.ndarray) -> np.ndarray:
        """Return both ends (n, 2, 3) of the segments of all lines."""
        size = 0.025 * self.drawing.extent
        return np.concatenate([
            _segments_between(line, point_of(poses, line.a, line.point_a), point_of(poses, line.b, line.point_b), size)
            for line in self.drawing.lines
        ])  # fmt: skip


def _count_segments(line: Line) -> int:
    return COILS * SEGMENTS + 2 if line.kind == "spring" else 1


def _segments_between(line: Line, a: np.ndarray, b: np.ndarray, size: float) -> np.ndarray:
    """Return the segments of a straight line, or of a spring's helix with the radius ``size``."""
    if line.kind != "spring":
        return np.array([[a, b]])
    along = b - a
    aside = np.cross(along, (0.0, 0.0, 1.0) if abs(along[2]) < 0.9 * np.linalg.norm(along) else (1.0, 0.0, 0.0))
    across = np.cross(along, aside)
    lengths = np.linalg.norm(aside), np.linalg.norm(across)
    if min(lengths) == 0:  # both ends are in one place
        return np.array([[a, b]] * _count_segments(line))
    angles = np.linspace(0.0, 2 * np.pi * COILS, COILS * SEGMENTS + 1)
    round_it = size * (np.outer(np.cos(angles), aside / lengths[0]) + np.outer(np.sin(angles), across / lengths[1]))
    coils = a + np.outer(np.linspace(0.15, 0.85, len(angles)), along) + round_it
    points = np.concatenate((a[None], coils, b[None]))
    return np.stack((points[:-1], points[1:]), axis=1)


def _strung(path: np.ndarray, slack: bool) -> np.ndarray:
    """Return the segments (n, 2, 3) of a rope along a path (k, 3): the whole of it, or dashes of equal length."""
    if not slack:
        return np.stack([path[:-1], path[1:]], axis=1).astype(np.float32)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    begin = np.arange(DASHES)[:, None]
    ends = along[-1] / (DASHES - 1 + DASHED) * np.hstack([begin, begin + DASHED])
    return np.stack([np.interp(ends, along, x) for x in path.T], axis=2).astype(np.float32)


def _rgb(rgba: tuple[float, ...]) -> tuple[int, int, int]:
    red, green, blue = (round(255 * c) for c in rgba[:3])
    return red, green, blue


def robot_on(server: ViserServer, system: System, q: ArrayLike | None) -> tuple[Stage, Dials]:
    """Put a system into the scene, in the configuration at which its dials begin."""
    drawing = drawing_of(system)
    dials = Dials(system, drawing.extent, q)
    begin = poses(system, dials.q)
    set_scene(server, view_of([drawing], [begin[None]], boxes=box_of))
    stage = Stage(server.scene, system.name, drawing)
    stage.place(begin)
    return stage, dials


def _node(name: str) -> str:
    """Return a name for a node, without the separator of paths."""
    return visible(str(name).replace("/", "_").strip()) or "_"


def _version(filename: str) -> tuple[str, int]:
    """Return the name of a file, and the time at which it was written."""
    return filename, os.stat(filename).st_mtime_ns


@lru_cache(maxsize=256)
def _mesh(filename: str, written: int, scale: tuple[float, ...]) -> tuple[Trimesh, bool]:
    """Return a mesh in metres, and whether it has colours of its own."""
    import trimesh

    loaded = load_scene(filename)
    colours = any(getattr(part.visual, "defined", False) for part in loaded.geometry.values())
    mesh = loaded.to_geometry() if len(loaded.geometry) != 1 or colours else loaded.to_mesh()
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
        raise ValueError("the mesh has no triangles, or points that are not finite")
    if mesh.units not in (None, "meters"):
        mesh.apply_scale(trimesh.units.unit_conversion(mesh.units, "meters"))
    mesh.vertices = np.asarray(mesh.vertices) * np.array(scale if len(scale) == 3 else (1.0, 1.0, 1.0))
    if np.prod(np.sign(scale)) < 0:
        mesh.invert()
    return shrink_images(mesh), colours and Path(filename).suffix.lower() != ".stl"


def box_of(shape: Shape, meshes: Mapping[str, Resolved] | None = None) -> np.ndarray | None:
    """Return the corners (8, 3) [m] of the box around a mesh, in its own axes; None if it cannot be read."""
    file, problem = (meshes or {}).get(str(shape.filename), Resolved(str(shape.filename)))
    if problem is not None or not shape.found:
        return None
    try:
        low, high = _mesh(*_version(file), shape.size)[0].bounds
    except Exception:  # it is told where the mesh is drawn
        return None
    return np.array([(a, b, c) for a in (low[0], high[0]) for b in (low[1], high[1]) for c in (low[2], high[2])])


@lru_cache(maxsize=64)
def _textured(
    filename: str, written: int, scale: tuple[float, ...], image: str, drawn: int
) -> Trimesh | None:
    """Return a mesh with an image on it; None if it has no coordinates of textures."""
    from PIL import Image

    check_mesh(image)
    with Image.open(image) as picture:
        return with_texture(_mesh(filename, written, scale)[0], picture.convert("RGBA"))


def _lighter(mesh: Trimesh, share: float) -> Trimesh:
    """Return a mesh with a share of its triangles, which is kept with it."""
    kept = mesh.metadata.setdefault("vitree", {})
    if share not in kept:
        kept.clear()
        kept[share] = lighter(mesh, share)
    found: Trimesh = kept[share]
    return found


def _told_of(counts: list[int], share: float) -> str:
    """Return what is done to meshes with these numbers of triangles; empty if nothing is."""
    if share >= 1:
        return ""
    try:
        import fast_simplification  # noqa: F401
    except ImportError:
        return f"the meshes have {sum(counts)} triangles; pip install fast-simplification draws them with fewer"
    left = sum(count if count <= SMALL else int(share * count) for count in counts)
    return f"of the {sum(counts)} triangles of the meshes {left} are drawn"


@lru_cache(maxsize=64)
def _capsule(radius: float, length: float) -> tuple[Trimesh, bool]:
    import trimesh

    capsule = trimesh.creation.capsule(height=length, radius=radius, count=(24, 16))
    capsule.apply_translation((0.0, 0.0, -capsule.bounds.mean(axis=0)[2]))
    return capsule, False
