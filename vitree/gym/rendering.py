"""Pictures of one instance: drawn by Matplotlib, or shown in the page of the viewer."""

from __future__ import annotations

import contextlib
import time
import webbrowser
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from vitree.errors import MissingExtraError, UnknownNameError
from vitree.model.system import System

#: What ``render_mode`` may be.
MODES = ("rgb_array", "human")
#: Pixels of a picture, and how its viewer looks down and to the side [rad].
SIZE, DOWN, ASIDE = (480, 360), 0.35, 0.6
#: The height of what it shows in sizes of the robot, on a ground and without.
SPAN, WIDE = 1.8, 4.0


class Picture(ABC):
    """What draws configurations."""

    @abstractmethod
    def draw(self, q: np.ndarray) -> np.ndarray | None:
        """Draw a configuration (nq,) [m or rad]; return pixels (height, width, 3) of uint8 where there are any."""

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """End what draws."""


def picture_of(model: System, mode: str | None, dt: float) -> Picture | None:
    """Return what draws a model in a mode; raise an UnknownNameError if there is no such mode."""
    if mode is None:
        return None
    if mode not in MODES:
        raise UnknownNameError("render mode", mode, MODES, argument="render_mode")
    return Sticks(model) if mode == "rgb_array" else Page(model, dt)


class Sticks(Picture):
    """Bodies as circles, and lines from each to those below, seen from the side and a little from above.

    The picture follows the first body along the ground, whose lines are half a metre, or a power of ten of it, apart.
    """

    def __init__(self, model: System):
        from vitree.results.drawing import drawing_of

        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "plot", "pictures of environments") from None
        self._model: Any = model
        drawing = drawing_of(model)
        self._extent = max(drawing.extent, 1e-3)
        self._ground = drawing.ground is not None
        figure: Any = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100)
        self._canvas: Any = FigureCanvasAgg(figure)
        self._axes = figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        c, s, a, b = np.cos(ASIDE), np.sin(ASIDE), np.sin(DOWN), np.cos(DOWN)
        #: world to the plane of the picture
        self._view = np.array([[c, s, 0.0], [-a * s, a * c, b]])
        self._parents = self._parent_bodies(len(drawing.bodies))
        self._marks = [(mass.body, np.array(mass.com), mass.mass) for mass in drawing.masses if mass.body >= 0]

    def _parent_bodies(self, count: int) -> np.ndarray:
        flat = getattr(getattr(self._model, "full", self._model), "flat", None)
        return np.full(count, -1) if flat is None else np.asarray(flat.parent)

    def draw(self, q: np.ndarray) -> np.ndarray:
        from vitree.results.drawing import point_of, poses

        at = poses(self._model, q)
        axes, centre = self._axes, at[0, :3] if len(at) else np.zeros(3)
        axes.clear()
        axes.set_axis_off()
        middle = self._view @ (centre if self._ground else np.zeros(3))
        high = (SPAN if self._ground else WIDE) * self._extent
        wide = high * SIZE[0] / SIZE[1]
        axes.set_xlim(middle[0] - wide / 2, middle[0] + wide / 2)
        axes.set_ylim(middle[1] - high / 2, middle[1] + high / 2)
        if self._ground:
            self._draw_ground(centre)
        ends = []
        for body, parent in enumerate(self._parents.tolist()):
            ends.append([at[parent, :3] if parent >= 0 else at[body, :3], at[body, :3]])
        ends += [[at[body, :3], point_of(at, body, tuple(com))] for body, com, _ in self._marks]
        self._lines(np.array(ends), "tab:blue", 3.0)
        if self._marks:
            points = np.array([point_of(at, body, tuple(com)) for body, com, _ in self._marks]) @ self._view.T
            heaviest = max(mass for *_, mass in self._marks)
            sizes = [200 * (mass / heaviest) ** (2 / 3) for *_, mass in self._marks]
            axes.scatter(points[:, 0], points[:, 1], sizes, color="tab:orange", zorder=3)
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[..., :3]

    def _draw_ground(self, centre: np.ndarray) -> None:
        gap = 0.5 * 10.0 ** np.round(np.log10(self._extent))
        first = np.floor(centre[:2] / gap)
        marks = gap * (first[:, None] + np.arange(-6, 8))
        low, high = marks[:, 0], marks[:, -1]
        lines = [[(x, low[1], 0.0), (x, high[1], 0.0)] for x in marks[0]]
        lines += [[(low[0], y, 0.0), (high[0], y, 0.0)] for y in marks[1]]
        self._lines(np.array(lines), "0.8", 0.8)

    def _lines(self, ends: np.ndarray, colour: str, width: float) -> None:
        from matplotlib.collections import LineCollection

        if len(ends):
            self._axes.add_collection(LineCollection(list(ends @ self._view.T), colors=colour, linewidths=width))


class Page(Picture):
    """The robot in the page of the viewer, in real time at most."""

    def __init__(self, model: System, dt: float):
        from vitree.viewer.stage import open_server, robot_on

        self._model, self._dt, self._last = model, dt, 0.0
        self._server, token = open_server("127.0.0.1", 8080, f"vitree: {model.name}")
        self.url = f"http://localhost:{self._server.get_port()}/{token}/"
        self._stage = robot_on(self._server, model, None)[0]
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(self.url)

    def draw(self, q: np.ndarray) -> None:
        from vitree.results.drawing import poses

        with self._server.atomic():
            self._stage.place(poses(self._model, q))
        time.sleep(max(self._dt - (time.monotonic() - self._last), 0.0))
        self._last = time.monotonic()

    def close(self) -> None:
        from vitree.viewer.stage import quiet

        with quiet():
            self._server.stop()
