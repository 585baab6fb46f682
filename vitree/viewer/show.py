"""view(): a web page with sliders for a robot's joints, or with runs to play."""

from __future__ import annotations

import html as html_text
import os
import re
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls
from vitree.model.system import System
from vitree.results.drawing import poses
from vitree.urdf.paths import Packages
from vitree.viewer.curves import MOST, Curves
from vitree.viewer.dials import Dial, rounded_up
from vitree.viewer.groups import Groups, limbs
from vitree.viewer.page import colour_of, page_of, write_html
from vitree.viewer.quantities import quantities_of
from vitree.viewer.source import Run, check_playing, span_of, title_of, what_to_show
from vitree.viewer.stage import Cast, Stage, open_server, quiet, robot_on
from vitree.wording import visible

if TYPE_CHECKING:
    from viser import GuiApi, GuiEvent, ViserServer

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
#: Pictures a second while a run plays.
RATE = 40


class Looks(TypedDict):
    """Options of a page."""

    q: ArrayLike | None
    speed: float
    spread: float
    follow: bool | None


@explain_calls
def view(
    source: object,
    *,
    model: System | None = None,
    q: ArrayLike | None = None,
    html: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool | None = None,
    block: bool | None = None,
    speed: float = 1.0,
    spread: float = 0.0,
    follow: bool | None = None,
    packages: Packages | None = None,
) -> Viewer | Path:
    """Show a robot with sliders for its joints, or play a run, in a web page.

    The page of a system has a slider for each coordinate. If constraints bind joints, moving one moves the others. The
    page of runs has a time slider, play and pause, speed, and curves of the energy. Several runs are laid over each
    other, the first solid and the others as ghosts.

    Parameters
    ----------
    source : System, Tree, Trajectory, path, Comparison, or several runs
        The system or the runs to show. A path is the .npz file of a trajectory. Several runs are given as a list, or
        by label.
    model : System, optional
        The system of runs from files without pictures.
    q : (nq,) array, optional [m or rad]
        Configuration of a system at the start.
    html : path, optional
        Write one self-contained page to this file instead of serving one. It opens without a network. The page of a
        system shows each coordinate moving through its range.
    host : str
        Address to serve at; only this machine can open the default.
    port : int
        Port to serve at; if it is in use, the next free one.
    browser : bool, optional
        Open a browser; by default outside notebooks, which show the page in the cell.
    block : bool, optional
        Wait until interrupted; by default in scripts, but not in notebooks and shells.
    speed : float [-]
        Seconds of the run for each second of play.
    spread : float
        Distance between runs, along y [m]; 0 lays them over each other.
    follow : bool, optional
        Whether the first run stays in the picture while the ground moves; by default if it goes far.
    packages : mapping, or paths, optional
        Packages that have the meshes of runs from files: name to folder, or folders. A run's file may be a stranger's.
        Its meshes are therefore opened only in the folders that a robot file in its place may name, in these, and in
        those of installed robots.

    Returns
    -------
    Viewer, or the path of the page
        A notebook shows the page of a Viewer below the cell.

    Raises
    ------
    MissingExtraError
        If viser is not installed (extra "view").
    InputError
        If the source cannot be shown, or the page not be written.
    """
    if html is not None:
        options: Looks = {"q": q, "speed": speed, "spread": spread, "follow": follow}
        return write_html(source, html, model=model, packages=packages, **options)
    shown = what_to_show(source, model, packages)
    viewer = Viewer(shown, q=q, host=host, port=port, speed=speed, spread=spread, follow=follow)
    inside = _notebook()
    if browser or (browser is None and not inside):
        import webbrowser

        webbrowser.open(viewer.url)
    if block or (block is None and not inside and not hasattr(sys, "ps1")):
        viewer.wait()
    return viewer


def _notebook() -> bool:
    """Return whether a notebook, or IPython's shell, runs this process."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


class Viewer:
    """A page that is served; made by :func:`view`.

    Attributes
    ----------
    url : str
        Address of the page. Its path is a secret of this viewer: the server answers no other, and no other page.
    server : viser.ViserServer
        The server, for additions of your own to the page.
    missing : list of str
        Mesh files that could not be read, with the reason.
    """

    def __init__(self, shown: System | list[Run], *, q: ArrayLike | None = None,
                 host: str = "127.0.0.1", port: int = 8080, speed: float = 1.0, spread: float = 0.0,
                 follow: bool | None = None):  # fmt: skip
        check_playing(shown, q, speed, spread)
        options: Looks = {"q": q, "speed": speed, "spread": spread, "follow": follow}
        self._shown = shown, options
        self.server, token = open_server(host, port, f"vitree: {title_of(shown)}")
        name = "localhost" if host in ("0.0.0.0", "127.0.0.1") else f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self.server.get_port()}/{token}/"
        self._page: _RobotPage | _RunPage
        try:
            if isinstance(shown, System):
                self._page = _RobotPage(self.server, shown, q)
            else:
                self._page = _RunPage(self.server, shown, speed, spread, follow)
        except BaseException:
            with quiet():
                self.server.stop()
            raise
        self.missing = self._page.missing

    def wait(self) -> None:
        """Serve until interrupted by Ctrl-C."""
        try:
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Close the page."""
        self._page.stop()
        with quiet():
            self.server.stop()

    def _repr_html_(self) -> str:
        """Return a self-contained page for a saved notebook; while a robot is served, its live page replaces it."""
        shown, options = self._shown
        page = html_text.escape(page_of(shown, **options), quote=True)
        name = f"vitree-{id(self)}"
        looks = 'width="100%" height="520" style="border: 1px solid #ddd"'
        frame = f'<iframe id="{name}" srcdoc="{page}" {looks}></iframe>'
        if not isinstance(shown, System):
            return frame
        # The live page replaces the other one if it answers.
        return frame + (
            f'<script>fetch("{self.url}", {{mode: "no-cors"}}).then(function () {{ var frame = '
            f'document.getElementById("{name}"); frame.removeAttribute("srcdoc"); frame.src = "{self.url}"; }})'
            f".catch(function () {{}});</script>"
        )

    def __repr__(self) -> str:
        return f"<vitree.Viewer at {self.url}>"


class _RobotPage:
    """Sliders for a system's coordinates."""

    def __init__(self, server: ViserServer, system: System, q: ArrayLike | None) -> None:
        gui = server.gui
        self.server, self.system = server, system
        self.stage, self.dials = robot_on(server, system, q)
        self.missing = self.stage.missing
        self.lock = threading.Lock()
        with gui.add_folder("Show"):
            _toggles(gui, [self.stage])
        with gui.add_folder("Configuration"):
            back = gui.add_button("Back to the start")
            back.on_click(lambda _: self._reset(None))
            if hasattr(system, "random_configuration") and not system.constraints:
                gui.add_button("Random").on_click(lambda _: self._reset(system.random_configuration()))
            self.sliders: list[Any] = []
            groups, of = Groups(gui, len(self.dials.dials)), limbs(system)
            for dial in self.dials.dials:
                group = of.get(dial.joint, "")
                with groups.folder(group):
                    slider = gui.add_slider(
                        dial.label, min=dial.low, max=dial.high,
                        step=_step(dial.high - dial.low), initial_value=self._within(dial),
                    )  # fmt: skip
                slider.on_update(partial(self._turned, dial))
                groups.add(dial.name, group, slider)
                self.sliders.append(slider)
        tell_meshes(gui, [self.stage])

    def _within(self, dial: Dial) -> float:
        return float(np.clip(self.dials.value(dial), dial.low, dial.high))

    def _turned(self, dial: Dial, event: GuiEvent[Any]) -> None:
        if event.client is None:  # this process set the slider
            return
        with self.lock:
            moved = self.dials.turn(dial, float(event.target.value))
            if moved:
                self._draw()
            self._read(event.target if moved else None)

    def _reset(self, q: ArrayLike | None) -> None:
        with self.lock:
            self.dials.reset(q)
            self._draw()
            self._read(None)

    def _read(self, held: object) -> None:
        """Set all sliders to the configuration, except the one that the user holds."""
        for slider, dial in zip(self.sliders, self.dials.dials, strict=True):
            value = self._within(dial)
            if slider is not held and abs(slider.value - value) > 1e-9:
                slider.value = value

    def _draw(self) -> None:
        with self.server.atomic():
            self.stage.place(poses(self.system, self.dials.q))

    def stop(self) -> None:
        """Do nothing: no thread runs."""


def _step(span: float) -> float:
    """Return the step of a slider: a power of ten, about a thousandth of its range."""
    return float(10.0 ** np.floor(np.log10(max(span, 1e-9) / 500)))


class _RunPage:
    """Time slider, play and pause, speed, ghosts, and curves of the energy."""

    def __init__(self, server: ViserServer, runs: list[Run], speed: float, spread: float, follow: bool | None):
        self.server, self.runs = server, runs
        self.t0, self.t1 = span_of(runs)
        self.cast = Cast(server, runs, spread, follow)
        self.stages = self.cast.stages
        self.missing = self.cast.missing
        self.time, self.playing, self.speed = self.t0, True, speed
        self.ended = threading.Event()
        self.lock = threading.RLock()
        self._controls(server.gui, speed, spread)
        self._show(self.t0)
        self.thread = threading.Thread(target=self._play, name="vitree player", daemon=True)
        self.thread.start()

    def _controls(self, gui: GuiApi, speed: float, spread: float) -> None:
        length = max(self.t1 - self.t0, 1e-9)
        self.slider: Any = gui.add_slider(
            "time [s]", min=self.t0, max=self.t0 + length, step=length / 1000, initial_value=self.t0
        )
        self.slider.on_update(self._dragged)
        self.button = gui.add_button("Pause")
        self.button.on_click(lambda _: self._set_playing(not self.playing))
        speeds = sorted({*SPEEDS, f"{speed:g}"}, key=float)
        rate = gui.add_dropdown("speed", speeds, initial_value=f"{speed:g}")
        rate.on_update(lambda _: setattr(self, "speed", float(rate.value)))
        with gui.add_folder("Plots"):
            self.times, self.quantities = quantities_of(self.runs)
            names = {name: each.names for name, each in self.quantities.items()}
            colours = [colour_of(k) for k in range(max(len(self.runs), MOST))]
            self.curves = Curves(gui, names, colours, self._plot, marked=True)
        with gui.add_folder("Show"):
            if len(self.runs) > 1:
                for run, stage in zip(self.runs, self.stages, strict=True):
                    box = gui.add_checkbox(run.label, True)
                    box.on_update(partial(_toggled, [stage], "visible"))
                reach = rounded_up(2 * max(run.film.drawing.extent for run in self.runs))
                apart = gui.add_slider("apart [m]", 0.0, max(reach, spread), reach / 100, spread)
                apart.on_update(lambda _: self._set(spread=float(apart.value)))
            stay = gui.add_checkbox("follow the first" if len(self.runs) > 1 else "follow", self.cast.follow)
            stay.on_update(lambda _: self._set(follow=bool(stay.value)))
            _toggles(gui, self.stages)
            if any(pushes is not None for pushes in self.cast.pushes):
                box = gui.add_checkbox("contact forces", True)
                box.on_update(lambda _: self._set_forces(bool(box.value)))
        gui.add_markdown("  \n".join(_facts(run) for run in self.runs))
        tell_meshes(gui, self.stages)

    def _plot(self) -> None:
        """Draw the curves, with a mark at the time that is shown."""
        share = (self.time - self.t0) / max(self.t1 - self.t0, 1e-9)
        now = round(float(np.clip(share, 0.0, 1.0)) * (len(self.times) - 1))
        self.curves.draw(self.times, self.quantities[self.curves.shown].columns, now)

    def _set(self, **options: object) -> None:
        with self.lock:
            vars(self.cast).update(options)
            self._show(self.time)

    def _set_forces(self, shown: bool) -> None:
        with self.lock:
            _show_all(self.stages, "forces", shown)
            self._show(self.time)

    def _dragged(self, event: GuiEvent[Any]) -> None:
        if event.client is not None:
            with self.lock:
                self._set_playing(False)
                self._show(float(self.slider.value))

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self.button.label = "Pause" if playing else "Play"

    def _show(self, t: float) -> None:
        with self.server.atomic():
            self.time = t
            self.cast.show(t)

    def _play(self) -> None:
        last, plotted = time.monotonic(), 0.0
        while not self.ended.wait(1 / RATE):
            now = time.monotonic()
            with self.lock:
                if self.playing:
                    t = self.time + (now - last) * self.speed
                    self._show(self.t0 if t > self.t1 else t)
                    self.slider.value = float(np.clip(self.time, self.t0, self.t1))
                if now - plotted > 0.2:
                    plotted = now
                    self._plot()
            last = now

    def stop(self) -> None:
        """Stop playing."""
        self.ended.set()
        self.thread.join(timeout=2.0)


def _toggles(gui: GuiApi, stages: list[Stage], masses: str = "centres of mass") -> None:
    for label, key in (("frames", "frames"), (masses, "masses")):
        box = gui.add_checkbox(label, False)
        box.on_update(partial(_toggled, stages, key))


def _toggled(stages: list[Stage], key: str, event: GuiEvent[Any]) -> None:
    _show_all(stages, key, event.target.value)


def _show_all(stages: list[Stage], key: str, visible: bool) -> None:
    for stage in stages:
        stage.show(**{key: visible})


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: names come from files, and viser would run scripts in them."""
    return re.sub(r"[^\w ]|_", lambda found: f"&#{ord(found[0])};", visible(" ".join(text.split())))


def _facts(run: Run) -> str:
    traj = run.trajectory
    with np.errstate(all="ignore"):
        off = float(np.nanmax(np.abs(traj.energy - traj.energy[0]), initial=0.0))
    dt = traj.settings.get("dt", np.nan)
    return f"**{_plain(run.label)}**: {_plain(traj.method)}, dt = {dt:g} s, energy changes by up to {off:.2g} J"


def tell_meshes(gui: GuiApi, stages: list[Stage]) -> None:
    """List the meshes that are missing, and say what was done to the others."""
    for told in dict.fromkeys(stage.told for stage in stages if stage.told):
        gui.add_markdown(_plain(told))
    missing = sorted({line for stage in stages for line in stage.missing})
    if missing:
        lines = [f"- {_plain(Path(line.split(': ')[0]).name)}: {_plain(line.split(': ', 1)[-1])}" for line in missing]
        gui.add_markdown("**Meshes that could not be read**\n\n" + "\n".join(lines))
