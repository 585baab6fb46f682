"""Make the pictures of the gallery, docs/pictures/gallery/*.png: python tools/make_gallery.py [NAME ...]

Without names it makes all. Each picture is drawn from the run that a script of examples returns, by Matplotlib: the
outlines of the bodies' shapes at several times.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import runpy
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from PIL import Image
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.results.drawing import DARK, PALETTE, PLAIN, WORLD, Shape, drawing_of, poses
from vitree.urdf.meshes import load_scene

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FOLDER = ROOT / "docs" / "pictures" / "gallery"
LARGEST = 80_000  # bytes of a picture
DPI = 200
ROUND = 24  # points of a circle


def of_example(name: str):
    """What the main of a numbered example returns; it prints nothing."""
    sys.path[:0] = [str(EXAMPLES)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(name).main()
    finally:
        sys.path.remove(str(EXAMPLES))


def of_task(name: str) -> dict:
    """What a task leaves, by name."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            return runpy.run_path(str(EXAMPLES / "tasks" / f"{name}.py"))
        finally:
            os.chdir(here)


# ---- drawing ---------------------------------------------------------------------------------------------------------


def axes(height=2.7, **options):
    """A figure of a picture's size, and its axes."""
    figure = Figure(figsize=(4.0, height), layout="constrained")
    at = figure.subplots()
    at.set(**options)
    return figure, at


def points_of(shape: Shape) -> np.ndarray:
    """Points (n, 3) whose convex hull is a shape, in the axes of its body [m]."""
    angle = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    ball = np.concatenate([circle[:, order] for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])])
    up = np.array([0, 0, 1.0])
    if shape.kind == "mesh":
        local = load_scene(shape.filename).to_mesh().vertices * np.array(shape.size)
        local = local[ConvexHull(local).vertices]
    elif shape.kind == "box":
        local = np.array(np.meshgrid(*[(-x / 2, x / 2) for x in shape.size])).reshape(3, -1).T
    elif shape.kind == "sphere":
        local = shape.size[0] * ball
    else:
        radius, length = shape.size
        around = radius * (ball if shape.kind == "capsule" else circle)
        local = np.concatenate([around - up * length / 2, around + up * length / 2])
    return Rotation.from_quat(shape.pose[3:]).apply(local) + shape.pose[:3]


def colour_of(shape: Shape) -> np.ndarray:
    """The colour (r, g, b) of a shape: its own, or one by its body where it has none or is white or grey."""
    rgb = np.array((shape.rgba or PLAIN)[:3])
    if np.ptp(rgb) < 0.05 and rgb.min() > 0.6:
        return np.array((PALETTE[0], PALETTE[1], DARK)[shape.body % 3][:3])
    return rgb


def strobe(at, run, times, plane=(0, 2), shift=(0.0, 0.0), pale=0.7) -> None:
    """Draw a mechanism at several times, the first ones pale; ``shift`` moves each picture aside [m]."""
    drawing = drawing_of(run.system)
    shapes = [(shape.body, points_of(shape), colour_of(shape)) for shape in drawing.shapes]
    (depth,) = {0, 1, 2} - set(plane)
    toward = -1 if plane == (0, 2) else 1  # x to the right and z up: one looks along y
    for k, time in enumerate(times):
        placed = poses(run.system, run.at(time).q)
        fade = pale * (1 - (k + 1) / len(times))
        drawn = []
        for index, local, rgb in shapes:
            body = placed[index] if index != WORLD else np.eye(7)[6]
            points = Rotation.from_quat(body[3:]).apply(local) + body[:3]
            flat = points[:, list(plane)] + k * np.array(shift)
            drawn.append((toward * points[:, depth].mean(), flat[ConvexHull(flat).vertices], rgb))
        drawn.sort(key=lambda part: part[0])
        faces = [rgb + fade * (1 - rgb) for *_, rgb in drawn]
        edges = [0.55 * rgb + fade * (1 - 0.55 * rgb) for *_, rgb in drawn]
        at.add_collection(PolyCollection([flat for _, flat, _ in drawn], facecolors=faces, edgecolors=edges,
                                         linewidths=0.4, zorder=2 + 0.01 * k))  # fmt: skip
    at.autoscale()
    at.set_aspect("equal")


def sticks(model: vt.Model, q: np.ndarray) -> np.ndarray:
    """The ends (n, lines, 2, 3) of lines from joint to joint, and from joints to frames and centres of their bodies."""
    poses, flat = model.body_poses(q), model.flat
    at = poses[:, :, :3, 3]
    lines = [at[:, [parent, k]] for k, parent in enumerate(flat.parent.tolist()) if parent >= 0]
    for body, place in [*zip(flat.frame_body.tolist(), flat.frame_p, strict=True), *enumerate(flat.com)]:
        if body >= 0 and np.linalg.norm(place) > 1e-9:
            lines.append(np.stack([at[:, body], at[:, body] + poses[:, body, :3, :3] @ place], axis=1))
    return np.stack(lines, axis=1)


def floor(at, height=0.0) -> None:
    """Draw the ground below what is drawn [m]."""
    at.axhspan(height - 10, height, color="0.9", zorder=0)
    at.axhline(height, color="0.5", linewidth=0.8, zorder=1)


# ---- the pictures ----------------------------------------------------------------------------------------------------


def somersault() -> Figure:
    """02_humanoid_falling.py: a figure tucks in and turns faster."""
    run = of_example("02_humanoid_falling")
    figure, at = axes(xlabel="x [m], pictures 0.6 m apart", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 7), shift=(0.6, 0.0))
    return figure


def reaching() -> Figure:
    """04_manipulator_pd.py: an arm on its way to a posture."""
    run = of_example("04_manipulator_pd")
    figure, at = axes(xlabel="y [m]", ylabel="z [m]")
    strobe(at, run, np.array([0.0, 0.2, 0.4, 6.0]), plane=(1, 2))
    return figure


def energies() -> Figure:
    """05_comparing_integrators.py: the energy of three methods over 500 s."""
    result = of_example("05_comparing_integrators")
    figure, at = axes(xlabel="time [s]", ylabel="energy error [J]")
    for (method, _), run in result.trajectories.items():
        if run.t[-1] > 400:
            rows = slice(None, None, 20)
            at.plot(run.t[rows], (run.energy - run.energy[0])[rows], linewidth=0.6, label=method)
    lines = figure.legend(loc="outside upper center", ncols=3, frameon=False).get_lines()
    for line in lines:
        line.set_linewidth(2)
    return figure


def four_bar() -> Figure:
    """07_four_bar.py: the linkage, and the path of its pin."""
    made = of_task("07_four_bar")
    run = made["run"]
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    rows = slice(0, 1500)
    for frame, style in (("pin", ":"), ("tip", "-")):
        path = made["model"].frame_pose(frame, run.q[rows])[:, :3, 3]
        at.plot(path[:, 0], path[:, 2], style, color="C1", linewidth=0.8)
    strobe(at, run, np.linspace(0.0, 0.6, 3))
    return figure


def puppet() -> Figure:
    """08_puppet.py: trep's puppet on its strings."""
    made = of_task("08_puppet")
    run, model = made["run"], made["model"]
    figure = Figure(figsize=(4.0, 2.7), layout="constrained")
    for at, time in zip(figure.subplots(1, 4, sharey=True), (0.0, 1.7, 3.3, 5.0), strict=True):
        places = model.frame_poses(run.at(time).q)
        ends = sticks(model, run.at(time).q[None])[0]
        inside = (np.abs(ends[..., 2]) < 8).all(axis=1)  # not the coordinates of the strings
        at.add_collection(LineCollection(ends[inside][..., [0, 2]], colors=[PALETTE[0][:3]], linewidths=5,
                                         capstyle="round"))  # fmt: skip
        for string in made["motion"]:
            ends = [places[string.replace("string", end)][:3, 3] for end in ("eye", "hook")]
            at.plot(*np.transpose(ends)[[0, 2]], color="0.5", linewidth=0.8)
            at.plot(*ends[1][[0, 2]], "o", color="0.2", markersize=2.5)
        at.set(title=f"{time:g} s", ylim=(-6.5, 3.5), xlim=(-3, 3), aspect="equal", xticks=[], yticks=[])
    return figure


def walk() -> Figure:
    """17_walking_quadruped.py: the feet of a trot."""
    run = of_example("17_walking_quadruped")
    figure, at = axes(height=1.6, xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, [3.0, 4.5, 6.0], pale=0.6)
    floor(at)
    at.set_ylim(-0.05, 0.5)
    return figure


def fall() -> Figure:
    """21_falling_figure.py: a figure falls from its feet and lies still."""
    run = of_example("21_falling_figure")
    figure, at = axes(height=2.2, xlabel="x [m], pictures 0.9 m apart", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, 0.45 * run.t[-1], 5), shift=(0.9, 0.0))
    floor(at)
    at.set_ylim(-0.15, 1.85)
    return figure


def swing_up() -> Figure:
    """24_one_motor.py: a double pendulum swings up by one motor."""
    run = of_example("24_one_motor")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, 6.0, 24), pale=0.8)
    return figure


def step() -> Figure:
    """26_walker_step.py: a step that was planned over its contacts."""
    run = of_example("26_walker_step")
    figure, at = axes(xlabel="x [m], pictures 0.35 m apart", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 5), shift=(0.35, 0.0), pale=0.5)
    floor(at)
    at.set_ylim(-0.1, 1.7)
    return figure


def stairs() -> Figure:
    """31_climbing_stairs.py: a humanoid on its way up three stairs."""
    run = of_example("31_climbing_stairs")
    figure, at = axes(height=2.9, xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, [0.0, 15.0, run.t[-1]], pale=0.6)
    floor(at)
    for k in range(3):
        at.fill_between([0.16 + 0.24 * k, 3.0], 0.08 * k, 0.08 * (k + 1), color="0.8", zorder=1)
    at.set_xlim(-0.5, 1.4)
    at.set_ylim(-0.1, 1.6)
    return figure


def parking() -> Figure:
    """10_parking.py: a car parks with the least effort."""
    run = of_task("10_parking")["run"]
    figure, at = axes(height=1.9, xlabel="x [m]", ylabel="y [m]")
    for left in (1.5, -1.8):
        at.fill([left, left + 1.2, left + 1.2, left], [-0.25, -0.25, 0.25, 0.25], color="0.8")
    strobe(at, run, np.linspace(0.0, run.t[-1], 6), plane=(0, 1), pale=0.6)
    at.plot(run.q[:, 3], run.q[:, 4], color="0.1", linewidth=1, zorder=4)
    return figure


ALL = (somersault, reaching, energies, four_bar, puppet, walk, fall, swing_up, step, stairs, parking)
PICTURES = {made.__name__: made for made in ALL}


def main(*names: str) -> None:
    """Make the pictures of these names, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        file = io.BytesIO()
        PICTURES[name]().savefig(file, format="png", dpi=DPI)
        path = FOLDER / f"{name}.png"
        picture = Image.open(file).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
        picture.save(path, optimize=True)
        if path.stat().st_size > LARGEST:
            raise SystemExit(f"{path} has {path.stat().st_size} bytes")
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
