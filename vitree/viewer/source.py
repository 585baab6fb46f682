"""The source of a page: a system with its dials, or the films of runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from vitree.errors import InputError
from vitree.model.system import System
from vitree.results.drawing import WORLD, Drawing, Shape, Surface
from vitree.results.film import Film
from vitree.results.filming import film_of
from vitree.run.compare import Comparison
from vitree.run.trajectory import Trajectory
from vitree.tree.tree import Tree
from vitree.urdf.paths import Packages, Places, Resolved
from vitree.urdf.robots import installed_folders
from vitree.wording import visible

#: What stands still is in the picture if it is at most this many times as large as what moves.
LARGE = 4.0
#: The number of points of an energy curve.
POINTS = 600
_REMEDY = "if the mesh belongs to its robot, name its folder by packages="
#: Energy errors are drawn up to MANY times the error of the calmest run, or SHARE times its kinetic energy.
MANY, SHARE = 100.0, 0.02
#: A run that goes more than FAR times the size of its bodies is followed.
FAR = 2.0
#: From where the camera looks.
TOWARDS = np.array([0.8, -1.0, 0.35])
#: The tangent of half the camera's angle (75 degrees, up and down), less a margin; and the least width of the picture
#: by its height.
SLOPE, WIDE = 0.85 * float(np.tan(np.radians(37.5))), 1.2
#: The most poses that the camera is fitted to.
POSES = 120


#: What returns the corners (8, 3) [m] of the box around a mesh, in its own axes; None if it cannot be read.
Boxes = Callable[[Shape], np.ndarray | None]


@dataclass(frozen=True, eq=False)
class Run:
    """One run to show: its label, its trajectory, its film, and the files of its meshes where they are known."""

    label: str
    trajectory: Trajectory
    film: Film
    meshes: Mapping[str, Resolved] = field(default_factory=dict)


def what_to_show(
    source: object, model: System | None = None, packages: Packages | None = None
) -> System | list[Run]:
    """Return the system or the runs of a source; ``packages`` may have the meshes of runs from files.

    Raises an InputError if :func:`vitree.view` does not take such a source.
    """
    if isinstance(source, Tree):
        source = source.compile()
    if isinstance(source, System):
        if model is not None:
            raise InputError("model= is for runs from files without pictures, but the source is a system; leave it out")
        return source
    if isinstance(model, Tree):
        model = model.compile()
    if not (model is None or isinstance(model, System)):
        raise InputError("model", model, "must be a Model, Tree or vehicle")
    runs = []
    for label, run in _labelled(source).items():
        film = film_of(run if model is None else _of_model(run, model))
        runs.append(Run(visible(label), run, film, _meshes(film, packages)))
    if not runs:
        raise InputError("there is no run to show")
    return runs


def _meshes(film: Film, packages: Packages | None) -> dict[str, Resolved]:
    """Return the files of a film's meshes: of one from a file, those that a robot file in its place could name.

    Robots that are installed, or that robot_descriptions has fetched, are in known folders.
    """
    names = {str(name) for shape in film.drawing.shapes if shape.kind == "mesh"
             for name in (shape.filename, shape.texture) if name is not None}  # fmt: skip
    if film.origin is None or not names:
        return {}
    places = Places(film.origin, packages)
    installed = Places(None, installed_folders())
    found = {}
    for name in names:
        file = places.resolve(name)
        if file.problem is not None:
            file = installed.resolve(name)
        if file.problem is not None and os.path.isabs(name) and not os.path.exists(name):
            file = Resolved(name, "missing")
        elif file.problem is not None:
            file = Resolved(name, "not opened, since the run may be a stranger's; " + _REMEDY)
        found[name] = file
    return found


def _labelled(source: object) -> dict[str, Trajectory]:
    """Return the trajectories of a source, each with a label of its own."""
    named: dict[str, Trajectory]
    if isinstance(source, str | os.PathLike):
        return {Path(source).stem: Trajectory.load(source)}
    if isinstance(source, Trajectory):
        return {source.method: source}
    if isinstance(source, Comparison):
        several = len({dt for _, dt in source.trajectories}) > 1
        found = source.trajectories.items()
        return {f"{label}, dt = {dt:g} s" if several else label: run for (label, dt), run in found}
    if isinstance(source, Mapping):
        named = {}
        for key, each in source.items():
            runs = _labelled(each)
            for label, run in runs.items():
                name = str(key) if len(runs) == 1 else f"{key}, {label}"
                if name in named:
                    raise InputError(f'two runs have the label "{name}"; give each its own')
                named[name] = run
        return named
    if isinstance(source, Sequence):
        named = {}
        for each in source:
            for label, run in _labelled(each).items():
                names = [label, f"{label} {run.method}", *(f"{label} ({k})" for k in range(2, len(source) + 2))]
                named[next(name for name in names if name not in named)] = run
        return named
    raise InputError(
        f"cannot show {type(source).__name__}: give a Model, Tree or vehicle, a Trajectory or its .npz file, a "
        f"Comparison, or several trajectories, as a list or by label"
    )


def _of_model(run: Trajectory, model: System) -> Trajectory:
    if run.q_names != model.q_names:
        raise InputError(
            f'the trajectory of "{run.model_name}" has other coordinates than "{model.name}": the trajectory has nq = '
            f"{len(run.q_names)}, the model nq = {model.nq}; read the robot with the options of the run"
        )
    return replace(run, system=model)


def span_of(runs: list[Run]) -> tuple[float, float]:
    """Return the first and last time of all runs [s]."""
    return min(float(run.film.t[0]) for run in runs), max(float(run.film.t[-1]) for run in runs)


def energies_of(runs: list[Run]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return times (n,) [s] and the change of each run's energy since its start, (n,) [J]; NaN before and after a run.

    The changes are clipped at MANY times the largest change of the calmest run, or at SHARE times the largest kinetic
    energy of that run if this is more.
    """
    t = np.linspace(*span_of(runs), POINTS)
    curves = []
    for run in runs:
        order = np.argsort(run.trajectory.t, kind="stable")  # a slice of a run may go backwards
        at, energy = run.trajectory.t[order], run.trajectory.energy[order]
        with np.errstate(invalid="ignore"):
            curve = np.interp(t, at, energy - energy[0], left=np.nan, right=np.nan)
        # Interpolation between infinite values gives NaN.
        curves.append(np.where(np.isnan(curve) & (at[0] <= t) & (t <= at[-1]), np.inf, curve))
    most = [float(np.nanmax(np.abs(curve), initial=0.0)) for curve in curves]
    calmest = int(np.argmin(most))
    if not np.isfinite(most[calmest]):
        return t, [np.where(np.isfinite(curve), curve, np.nan) for curve in curves]
    limit = max(MANY * most[calmest], SHARE * float(np.nanmax(runs[calmest].trajectory.kinetic)))
    return t, [np.clip(curve, -limit, limit) for curve in curves]


def range_of(curves: list[np.ndarray]) -> tuple[float, float]:
    """Return the lowest and the highest value of curves with gaps; zeros if there are no values."""
    finite = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)


def middle(drawing: Drawing, poses: np.ndarray) -> np.ndarray:
    """Return the centre (3,) [m] of a drawing's bodies at poses (nbody, 7), by the masses of their links."""
    weights = np.zeros(len(poses))
    for mass in drawing.masses:
        if mass.body >= 0:
            weights[mass.body] += mass.mass
    weights = weights if weights.any() else np.ones(len(poses))
    found: np.ndarray = weights @ poses[:, :3] / weights.sum()
    return found


def travel_of(run: Run, t: float) -> np.ndarray:
    """Return the displacement (3,) [m] of the middle of a run since its start, at a time [s]."""
    found: np.ndarray = middle(run.film.drawing, run.film.at(t)) - middle(run.film.drawing, run.film.at(run.film.t[0]))
    return found


def goes_far(run: Run) -> bool:
    """Return whether a run moves farther than FAR times the size of its bodies, so that they would be small."""
    times = np.linspace(run.film.t[0], run.film.t[-1], 50)
    return max(float(np.linalg.norm(travel_of(run, t))) for t in times) > FAR * run.film.drawing.extent


def check_playing(shown: System | list[Run], q: ArrayLike | None, speed: float, spread: float) -> None:
    """Raise an InputError if an option does not apply to the source, or is not a number of its kind."""
    if not (np.isfinite(speed) and speed > 0):
        raise InputError("speed", speed, "must be a positive number")
    if not np.isfinite(spread):
        raise InputError("spread", spread, "must be a finite number of metres")
    if q is not None and not isinstance(shown, System):
        raise InputError("q= sets the start of a system, but the source is a run, which has its own; leave it out")


@dataclass(frozen=True)
class View:
    """Position and target of the camera, height of a ground that is drawn only, size of the scene [m], the ground."""

    position: tuple[float, ...]
    look_at: tuple[float, ...]
    ground: float
    size: float
    surface: Surface


def view_of(drawings: list[Drawing], clouds: list[np.ndarray], spread: float = 0.0, boxes: Boxes | None = None) -> View:
    """Return a view that has all of a motion: that of the drawing which moves least, at the places of all.

    ``clouds`` are the poses (n, nbody, 7) of each drawing, which stand ``spread`` [m] apart along y. ``boxes`` returns
    the corners (8, 3) [m] of the box around a mesh, in its own axes; without it a mesh is its origin.
    """
    places = [_points_of(drawing, cloud, boxes) for drawing, cloud in zip(drawings, clouds, strict=True)]
    spans = [_range_of_points(points) for points in places]
    nearest = int(np.argmin([np.linalg.norm(high - low) for low, high in spans]))  # the others may have failed
    extent, (low, high) = drawings[nearest].extent, spans[nearest]
    last = np.array([0.0, (len(drawings) - 1) * spread, 0.0])
    points = np.clip(places[nearest].reshape(-1, 3), low, high)
    centre = 0.5 * (low + high + last)
    points = np.concatenate([points, points + last]) - centre
    back = TOWARDS / np.linalg.norm(TOWARDS)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    # A point at depth w towards the camera is in the picture if its height is below tan(angle) times (distance - w).
    aside, above = np.abs(points @ right) / (WIDE * SLOPE), np.abs(points @ up) / SLOPE
    distance = max(float((np.maximum(aside, above) + points @ back).max()), 0.6 * extent)
    place = centre + distance * back
    lowest = min(float(low[2]), float(clouds[nearest][0, :, 2].min()))
    ground = 0.0 if lowest > -1e-6 else lowest - 0.02 * extent
    surface = drawings[nearest].ground or Surface(((0.0, 0.0, 1.0, ground),))
    return View(tuple(place.tolist()), tuple(centre.tolist()), ground, extent, surface)


def _points_of(drawing: Drawing, cloud: np.ndarray, boxes: Boxes | None) -> np.ndarray:
    """Return points (n, k, 3) [m] of what is drawn, at some of the poses (n, nbody, 7): corners, frames and masses."""
    own: list[tuple[int, np.ndarray]] = [(body, np.zeros(3)) for body in range(len(drawing.bodies))]
    own += [(mark.body, np.array(mark.pose[:3])) for mark in drawing.frames if mark.body != WORLD]
    own += [(mass.body, np.array(mass.com)) for mass in drawing.masses if mass.body != WORLD]
    own += [(body, np.array(at)) for cord in drawing.cords for body, at in zip(cord.bodies, cord.points, strict=True)]
    for shape in drawing.shapes:
        at, turn = np.array(shape.pose[:3]), Rotation.from_quat(shape.pose[3:]).as_matrix()
        corners = boxes(shape) if shape.kind == "mesh" and boxes is not None else None
        points = [at + turn @ corner for corner in (_corners(shape) if corners is None else corners)]
        if shape.body == WORLD and float(np.ptp(points, axis=0).max()) > LARGE * drawing.extent:
            continue  # a floor or a hall, in which the robot would be small
        own += [(shape.body, point) for point in points]
    bodies, local = np.array([body for body, _ in own]), np.array([point for _, point in own])
    few = cloud[np.unique(np.linspace(0, len(cloud) - 1, min(len(cloud), POSES)).astype(int))].astype(float)
    still = np.broadcast_to(np.eye(7)[6], (len(few), 1, 7))
    poses = np.concatenate([few, still], axis=1)[:, bodies]  # WORLD is the last
    turned = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).apply(np.tile(local, (len(few), 1)))
    found: np.ndarray = poses[..., :3] + turned.reshape(len(few), -1, 3)
    return found


def _corners(shape: Shape) -> np.ndarray:
    """Return the corners of the box around a shape, in its own axes (k, 3) [m]; of a mesh its origin alone."""
    if shape.kind == "surface":
        points = np.array(shape.size).reshape(-1, 3)
        low, high = points.min(axis=0), points.max(axis=0)
        return np.array([(a, b, c) for a in (low[0], high[0]) for b in (low[1], high[1]) for c in (low[2], high[2])])
    x, y = shape.size[0], shape.size[-1]
    half = {"box": 0.5 * np.array(shape.size), "cylinder": np.array((x, x, 0.5 * y)),
            "capsule": np.array((x, x, x + 0.5 * y)), "sphere": np.array((x, x, x)), "mesh": np.zeros(3)}  # fmt: skip
    found: np.ndarray = half[shape.kind] * np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    return found


def _range_of_points(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and greatest coordinates (3,) of points (n, k, 3); without rare ones that are very far."""
    lows, highs = points.min(axis=1), points.max(axis=1)
    low, high = lows.min(axis=0), highs.max(axis=0)
    usual = np.percentile(lows, 5, axis=0), np.percentile(highs, 95, axis=0)
    if np.linalg.norm(high - low) > 3 * np.linalg.norm(usual[1] - usual[0]):
        return usual
    return low, high


def view_of_runs(runs: list[Run], follow: bool, spread: float = 0.0, boxes: Boxes | None = None) -> View:
    """Return a view of all films ``spread`` [m] apart, the first one as seen by a camera that follows it."""
    if not follow:
        return view_of([run.film.drawing for run in runs], [run.film.poses for run in runs], spread, boxes)
    film = runs[0].film
    poses = film.poses[np.unique(np.linspace(0, len(film.poses) - 1, min(len(film.poses), POSES)).astype(int))]
    poses = np.array(poses, dtype=float)
    start = middle(film.drawing, poses[0])
    for each in poses:
        each[:, :3] -= middle(film.drawing, each) - start
    return view_of([film.drawing] * len(runs), [poses] * len(runs), spread, boxes)


def title_of(shown: System | list[Run]) -> str:
    """Return the title of a page: the name of the system or model."""
    return visible(shown.name if isinstance(shown, System) else shown[0].trajectory.model_name)
