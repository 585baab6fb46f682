"""Make the pictures of the gallery, docs/pictures/gallery/*.png: python tools/make_gallery.py [NAME ...]

Without names it makes all. Each picture is drawn from the run that a script of examples returns, by Matplotlib.
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
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image

import vitree as vt

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FOLDER = ROOT / "docs" / "pictures" / "gallery"
LARGEST = 40_000  # bytes of a picture


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


def axes(**options):
    """A figure of a picture's size, and its axes."""
    figure = Figure(figsize=(4.0, 2.7), layout="constrained")
    at = figure.subplots()
    at.set(**options)
    return figure, at


def sticks(model: vt.Model, q: np.ndarray) -> np.ndarray:
    """The ends (n, lines, 2, 3) of lines from joint to joint, and from joints to frames and centres of their bodies."""
    poses, flat = model.body_poses(q), model.flat
    at = poses[:, :, :3, 3]
    lines = [at[:, [parent, k]] for k, parent in enumerate(flat.parent.tolist()) if parent >= 0]
    for body, place in [*zip(flat.frame_body.tolist(), flat.frame_p, strict=True), *enumerate(flat.com)]:
        if body >= 0 and np.linalg.norm(place) > 1e-9:
            lines.append(np.stack([at[:, body], at[:, body] + poses[:, body, :3, :3] @ place], axis=1))
    return np.stack(lines, axis=1)


def strobe(at, run, times, plane=(0, 2), width=1.5, shift=(0.0, 0.0)) -> None:
    """Draw a mechanism at several times, the first ones pale; ``shift`` moves each picture aside [m]."""
    q = np.array([run.at(time).q for time in times])
    ends = sticks(run.system, q)[..., list(plane)] + np.multiply.outer(np.arange(len(q)), shift)[:, None, None, :]
    for k, lines in enumerate(ends):
        pale = 0.2 + 0.8 * (k + 1) / len(ends)
        at.add_collection(LineCollection(lines, colors=[(0.1, 0.25, 0.5, pale)], linewidths=width, capstyle="round"))
    at.autoscale()
    at.set_aspect("equal")


# ---- the pictures ----------------------------------------------------------------------------------------------------


def somersault() -> Figure:
    """02_humanoid_falling.py: a figure tucks in and turns faster."""
    run = of_example("02_humanoid_falling")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 7), shift=(0.6, 0.0))
    return figure


def reaching() -> Figure:
    """04_manipulator_pd.py: an arm on its way to a posture."""
    run = of_example("04_manipulator_pd")
    figure, at = axes(xlabel="y [m]", ylabel="z [m]")
    strobe(at, run, np.array([0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 6.0]), plane=(1, 2), width=3)
    return figure


def energies() -> Figure:
    """05_comparing_integrators.py: the energy of three methods over 500 s."""
    result = of_example("05_comparing_integrators")
    figure, at = axes(xlabel="time [s]", ylabel="change of the energy [J]")
    for (method, _), run in result.trajectories.items():
        if run.t[-1] > 400:
            rows = slice(None, None, 20)
            at.plot(run.t[rows], (run.energy - run.energy[0])[rows], linewidth=0.6, label=method)
    at.legend(fontsize="small")
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
    strobe(at, run, np.linspace(0.0, 0.6, 5), width=2)
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
        at.add_collection(LineCollection(ends[inside][..., [0, 2]], colors="0.1", linewidths=1.5))
        for string in made["motion"]:
            ends = [places[string.replace("string", end)][:3, 3] for end in ("eye", "hook")]
            at.plot(*np.transpose(ends)[[0, 2]], color="0.6", linewidth=0.6)
        at.set(title=f"{time:g} s", ylim=(-7, 5), xlim=(-3, 3), aspect="equal", xticks=[], yticks=[])
    return figure


def walk() -> Figure:
    """17_walking_quadruped.py: the feet of a trot."""
    run = of_example("17_walking_quadruped")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 9)[1:], width=1.2)
    at.axhline(0.0, color="0.5", linewidth=0.8)
    return figure


def fall() -> Figure:
    """21_falling_figure.py: a figure falls from its feet and lies still."""
    run = of_example("21_falling_figure")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 7), shift=(0.7, 0.0))
    at.axhline(0.0, color="0.5", linewidth=0.8)
    return figure


def swing_up() -> Figure:
    """24_one_motor.py: a double pendulum swings up by one motor."""
    run = of_example("24_one_motor")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, 6.0, 60), width=0.8)
    return figure


def step() -> Figure:
    """26_walker_step.py: a step that was planned over its contacts."""
    run = of_example("26_walker_step")
    figure, at = axes(xlabel="x [m]", ylabel="z [m]")
    strobe(at, run, np.linspace(0.0, run.t[-1], 6))
    at.axhline(0.0, color="0.5", linewidth=0.8)
    return figure


def parking() -> Figure:
    """10_parking.py: a car parks with the least effort."""
    made = of_task("10_parking")
    figure, at = axes(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    for left in (1.5, -1.8):
        at.fill([left, left + 1.2, left + 1.2, left], [-0.25, -0.25, 0.25, 0.25], color="0.8")
    heading, x, y = made["run"].q[:, 2:].T
    for k in range(0, len(x), 4):
        at.plot([x[k], x[k] + 0.8 * np.cos(heading[k])], [y[k], y[k] + 0.8 * np.sin(heading[k])], color="0.3",
                linewidth=1.5, alpha=0.6)  # fmt: skip
    at.plot(x, y, color="C1", linewidth=1)
    return figure


ALL = (somersault, reaching, energies, four_bar, puppet, walk, fall, swing_up, step, parking)
PICTURES = {made.__name__: made for made in ALL}


def main(*names: str) -> None:
    """Make the pictures of these names, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        file = io.BytesIO()
        PICTURES[name]().savefig(file, format="png", dpi=100)
        path = FOLDER / f"{name}.png"
        picture = Image.open(file).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
        picture.save(path, optimize=True)
        if path.stat().st_size > LARGEST:
            raise SystemExit(f"{path} has {path.stat().st_size} bytes")
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
