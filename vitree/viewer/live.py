"""A live page: a simulation that runs in it, and that a person touches."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.arguments import Keywords, explain_calls, of_kind
from vitree.errors import InputError, VitreeError
from vitree.model.keyframes import BETWEEN, Keyframe, read_keyframes, write_keyframes
from vitree.model.model import Model
from vitree.results.drawing import drawing_of
from vitree.run.simulation import Simulation
from vitree.viewer.curves import Curves
from vitree.viewer.dials import outward
from vitree.viewer.groups import Groups, limbs
from vitree.viewer.player import RATE, Picture, Player
from vitree.viewer.pull import grabbed
from vitree.viewer.pushes import arrows_of
from vitree.viewer.reload import ControllerFile
from vitree.viewer.show import SPEEDS, _notebook, _plain, _step, _toggles, tell_meshes
from vitree.viewer.source import middle as middle_of
from vitree.viewer.source import view_of
from vitree.viewer.stage import Stage, box_of, open_server, quiet, set_scene
from vitree.wording import visible

if TYPE_CHECKING:
    from viser import GuiApi, GuiEvent, SceneNodeDragEvent, ViserServer

#: Seconds of the curves, and their points; how often a second they and the texts are drawn.
HISTORY, POINTS, DRAWN = 10.0, 300, 5.0
#: Colours (r, g, b) of what is pulled, of the centre of mass, and of the support polygon.
PULLED, CENTRE, SUPPORT = (0, 114, 178), (204, 121, 167), (0, 158, 115)
#: The address: no other machine can open the page.
HOST = "127.0.0.1"
#: Quantities that are plotted.
ENERGY, LOAD, CENTRE_OF_MASS = "energy [J]", "force of the ground [N]", "centre of mass [m]"
#: Decades of the strength of the mouse.
STRENGTH = 2.0


@explain_calls
def play(
    sim: Simulation,
    *,
    speed: float = 1.0,
    paused: bool = False,
    controller: str | os.PathLike[str] | None = None,
    keyframes: str | os.PathLike[str] | None = None,
    port: int = 8080,
    browser: bool | None = None,
    block: bool | None = None,
) -> LiveViewer:
    """Run a simulation in a web page; see :meth:`vitree.Simulation.view`."""
    viewer = LiveViewer(sim, speed=speed, paused=paused, controller=controller, keyframes=keyframes, port=port)
    inside = _notebook()
    if browser or (browser is None and not inside):
        import webbrowser

        webbrowser.open(viewer.url)
    if block or (block is None and not inside and not hasattr(sys, "ps1")):
        viewer.wait()
    return viewer


class LiveViewer:
    """A page in which a simulation runs; made by :meth:`vitree.Simulation.view`.

    Attributes
    ----------
    url : str
        Address of the page on this machine. Its path is a secret of this viewer; no other is answered.
    server : viser.ViserServer
        The server, for additions of your own to the page.
    player : Player
        What runs the simulation: ``play``, ``step``, ``reset``, ``picture``.
    missing : list of str
        Mesh files that could not be read, with the reason.
    """

    def __init__(self, sim: Simulation, *, speed: float = 1.0, paused: bool = False,
                 controller: str | os.PathLike[str] | None = None,
                 keyframes: str | os.PathLike[str] | None = None, port: int = 8080):  # fmt: skip
        of_kind(sim, Simulation, "sim", "a Simulation")
        if not (np.isfinite(speed) and speed > 0):
            raise InputError("speed", speed, "must be a positive number")
        file = None if controller is None else ControllerFile(controller, sim.model)
        self.player = Player(sim, float(speed), not paused, file)
        self.server, token = open_server(HOST, port, f"vitree: {visible(sim.model.name)}")
        self.url = f"http://localhost:{self.server.get_port()}/{token}/"
        try:
            self._page = _LivePage(self.server, self.player, float(speed), keyframes)
        except BaseException:
            with quiet():
                self.server.stop()
            raise
        self.missing = self._page.missing
        self.player.begin()
        self._page.begin()

    def wait(self) -> None:
        """Serve until interrupted by Ctrl-C."""
        try:
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Close the page. The simulation stays where it is, and can be stepped again."""
        self._page.stop()
        self.player.stop()
        with quiet():
            self.server.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="520" style="border: 1px solid #ddd"></iframe>'

    def __repr__(self) -> str:
        return f"<vitree.LiveViewer at {self.url}>"


class _LivePage:
    """What a person sees and moves; a thread of its own brings the player's pictures into it."""

    def __init__(self, server: ViserServer, player: Player, speed: float,
                 keyframes: str | os.PathLike[str] | None):  # fmt: skip
        self.server, self.player = server, player
        sim = player.sim
        self.model = sim.model
        self.drawing = drawing_of(self.model)
        picture = player.picture
        self.size = self.drawing.extent
        self.floor = set_scene(server, view_of([self.drawing], [picture.poses[None]], boxes=box_of))
        self.stage = Stage(server.scene, self.model.name, self.drawing)
        self.missing = self.stage.missing
        self.marks = _Marks(server, self.size)
        weight = float(self.model.total_mass) * float(np.linalg.norm(player.gravity))
        self.unit = weight if weight > 0 else 1.0
        self.follow, self.shown = False, {"forces": True, "com": True, "support": True}
        self.begin_middle = self._middle(picture.poses)
        self.travel = np.zeros(3)
        self.strength = 1.0
        self.history: deque[tuple[float, ...]] = deque(maxlen=POINTS)
        self.frames: dict[str, Keyframe] = {}
        self.path = Path(f"{_stem(self.model.name)}.keyframes.toml" if keyframes is None else keyframes)
        if keyframes is not None and self.path.exists():
            self.frames = read_keyframes(self.path)
        self.sliders: list[tuple[int, Any]] = []
        self.ended = threading.Event()
        #: pictures that were shown
        self.count = 0
        self._controls(server.gui, speed)
        if isinstance(self.model, Model):
            for body, node in self.stage.solids:
                if body >= 0:
                    node.on_drag("left")(partial(self._dragged, body))
        self._show(picture)
        self.thread = threading.Thread(target=self._publish, name="vitree page", daemon=True)

    def begin(self) -> None:
        """Start to bring pictures into the page."""
        self.thread.start()

    def stop(self) -> None:
        """Bring no more pictures into the page."""
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join(timeout=2.0)

    # ---- the panel ---------------------------------------------------------------------------------------

    def _controls(self, gui: GuiApi, speed: float) -> None:
        player = self.player
        self.status = gui.add_markdown("")
        self.error = gui.add_markdown("", visible=False)
        self.button = gui.add_button("Pause" if player.playing else "Play")
        self.button.on_click(lambda _: player.play(not player.playing))
        more = gui.add_button_group("", ("Step", "Reset"))
        more.on_click(lambda event: player.step() if event.target.value == "Step" else self._reset())
        speeds = sorted({*SPEEDS, f"{speed:g}"}, key=float)
        rate = gui.add_dropdown("speed", speeds, initial_value=f"{speed:g}")
        rate.on_update(lambda _: setattr(player, "speed", float(rate.value)))
        tabs = gui.add_tab_group()
        if self.model.input_names:
            with tabs.add_tab("Inputs" if player.targets is None else "Targets"):
                self._targets(gui)
        with tabs.add_tab("Plots"):
            self.curves = Curves(gui, self._quantities())
        with tabs.add_tab("Show"):
            self._shown_controls(gui)
        if isinstance(self.model, Model):
            with tabs.add_tab("Keyframes"):
                self._keyframe_controls(gui)
        tell_meshes(gui, [self.stage])

    def _quantities(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the curves of each quantity, and note which columns of the history each has."""
        found: dict[str, tuple[str, ...]] = {ENERGY: ("energy",)}
        self.columns = {ENERGY: [1]}
        if self.player.sim.contacts is not None:
            found[LOAD], self.columns[LOAD] = ("load",), [2]
        found[CENTRE_OF_MASS], self.columns[CENTRE_OF_MASS] = ("x", "y", "z"), [3, 4, 5]
        of = limbs(self.model)
        for k, drive in enumerate(getattr(self.model, "drives", ())):
            group = f"drive forces [N m, N]: {of.get(drive.joint, '')}".rstrip(": ")
            found[group] = (*found.get(group, ()), drive.joint)
            self.columns.setdefault(group, []).append(6 + k)
        return found

    def _shown_controls(self, gui: GuiApi) -> None:
        if isinstance(self.model, Model):
            strength = gui.add_slider("pull, 10^", -STRENGTH, STRENGTH, 0.1, 0.0,
                                      hint="drag a body to pull it; its spring is 10^this as stiff")  # fmt: skip
            strength.on_update(lambda _: self._set_strength(10.0 ** float(strength.value)))
        stay = gui.add_checkbox("follow", False)
        stay.on_update(lambda _: setattr(self, "follow", bool(stay.value)))
        touches = self.player.sim.contacts is not None
        for label, key in (("contact forces", "forces"), ("centre of mass", "com"), ("support polygon", "support")):
            if touches or key == "com":
                box = gui.add_checkbox(label, True)
                box.on_update(partial(self._toggled, key))
        shadows = gui.add_checkbox("shadows", True)
        shadows.on_update(lambda _: self.server.scene.configure_default_lights(cast_shadow=bool(shadows.value)))
        _toggles(gui, [self.stage], masses="links' centres of mass")

    def _toggled(self, key: str, event: GuiEvent[Any]) -> None:
        self.shown[key] = bool(event.target.value)

    def _targets(self, gui: GuiApi) -> None:
        """Add a slider for the target of each drive, and a number for each other input."""
        player, names = self.player, self.model.input_names
        at = {} if player.targets is None else player.targets.at
        others = [k for k in range(len(names)) if k not in at.values()]
        if not player.takes_inputs:
            gui.add_markdown("The simulation was made with a callable of its inputs, which sets them.")
            return
        groups, of = Groups(gui, len(names)), limbs(self.model)
        done: set[int] = set()
        for joint, index in at.items():
            if index in done:  # two drives with one input
                continue
            done.add(index)
            low, high, unit = _range_of(self.model, joint, float(player.picture.inputs[index]), self.size)
            group = of.get(joint, "")
            with groups.folder(group):
                middle = 0.5 * (low + high)
                slider: Any = gui.add_slider(f"{visible(joint)} [{unit}]", low, high, _step(high - low), middle)
                slider.value = _on(slider, float(player.picture.inputs[index]))
            slider.on_update(partial(self._turned, index))
            groups.add(joint, group, slider)
            self.sliders.append((index, slider))
        for index in others:
            number = gui.add_number(visible(names[index]), float(player.picture.inputs[index]))
            number.on_update(partial(self._turned, index))
            groups.add(names[index], "", number)
            self.sliders.append((index, number))

    def _turned(self, index: int, event: GuiEvent[Any]) -> None:
        if event.client is not None:  # not this process
            self.player.set_input(index, float(event.target.value))

    def _set_strength(self, strength: float) -> None:
        self.strength = strength
        if (pull := self.player.pull) is not None:
            pull.strength = strength

    def _reset(self) -> None:
        self.history.clear()
        self.player.reset()

    # ---- keyframes -----------------------------------------------------------------------------------------

    def _keyframe_controls(self, gui: GuiApi) -> None:
        self.name: Any = gui.add_text("name", self._new_name())
        gui.add_button("Save").on_click(lambda _: self.save())
        self.choice: Any = gui.add_dropdown("saved", [*self.frames] or ["-"])
        gui.add_button("Go there").on_click(lambda _: self.go())
        self.told = gui.add_markdown(_plain(f"saved to {self.path}"))

    def _new_name(self) -> str:
        return next(name for k in range(1, len(self.frames) + 2) if (name := f"keyframe {k}") not in self.frames)

    def save(self, name: str | None = None) -> None:
        """Write the state that is shown as a keyframe of the file."""
        name = (str(self.name.value) if name is None else name).strip()
        if not name or not isinstance(self.model, Model):
            self.told.content = "Give the keyframe a name."
            return

        def work() -> None:
            sim, targets = self.player.sim, self.player.targets
            at = {} if targets is None else targets.at
            frame = Keyframe.of(sim.model, sim.t, sim.q, sim.v, {  # type: ignore[arg-type]
                joint: float(sim.inputs[k]) for joint, k in at.items()})  # fmt: skip
            self.frames[name] = frame
            try:
                write_keyframes(self.path, self.model.name, self.frames)
                text = f"saved to {self.path}; it starts there with --q0 \"{self.path}{BETWEEN}{name}\""
            except (VitreeError, OSError) as error:
                text = f"{error}"
            self.choice.options = [*self.frames]
            self.choice.value = name
            self.name.value = self._new_name()
            self.told.content = _plain(text)

        self.player.ask(work)

    def go(self, name: str | None = None) -> None:
        """Begin anew at a keyframe."""
        name = str(self.choice.value) if name is None else name
        frame = self.frames.get(name)
        if frame is None or not isinstance(self.model, Model):
            return
        try:
            q, v = frame.state(self.model)
        except VitreeError as error:
            self.told.content = _plain(str(error))
            return
        self.history.clear()
        self.player.reset(q, v)
        at = {} if self.player.targets is None else self.player.targets.at
        for joint, (value,) in frame.targets.items():
            if joint in at:
                self.player.set_input(at[joint], value)

    # ---- the mouse -------------------------------------------------------------------------------------------

    async def _dragged(self, body: int, event: SceneNodeDragEvent[Any]) -> None:
        """Hold a point of a body where the mouse is; the order of the events is kept."""
        player = self.player
        if event.phase == "end":
            player.pull = None
            return
        target = np.array(event.end_position) + self.travel
        pull = player.pull
        if event.phase == "start" or pull is None:
            # where the body was in the picture that the person saw
            point = np.array(event.start_position) + self.travel
            player.pull = grabbed(self.drawing, player.picture.poses, body, point, target, self.strength)
        else:
            pull.target = target

    # ---- pictures --------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        last: Picture | None = None
        due = 0.0
        while not self.ended.is_set():
            begun = time.perf_counter()
            picture = self.player.picture
            if picture is not last:
                self._note(picture)
                self._show(picture)
                self.count += 1
                last = picture
            if begun > due:
                due = begun + 1 / DRAWN
                self._tell(picture)
            self.ended.wait(max(1 / RATE - (time.perf_counter() - begun), 1e-3))

    def _note(self, picture: Picture) -> None:
        history = self.history
        if history and picture.t < history[-1][0]:
            history.clear()
        if not history or picture.t - history[-1][0] >= HISTORY / POINTS * min(self.player.speed, 1.0):
            history.append((picture.t, picture.energy, picture.load, *picture.com, *picture.drives))

    def _middle(self, placed: np.ndarray) -> np.ndarray:
        return middle_of(self.drawing, placed)

    def _show(self, picture: Picture) -> None:
        """Move what is drawn."""
        with self.server.atomic():
            self.travel = self._middle(picture.poses) - self.begin_middle if self.follow else np.zeros(3)
            self.floor.move(-self.travel)
            self.stage.move(-self.travel)
            self.stage.place(picture.poses)
            arrows = arrows_of(picture.points, picture.forces, self.unit, self.size)
            self.stage.push(arrows if self.shown["forces"] else arrows[:0])
            self.marks.show(picture, self.unit, self.travel, self.shown, self.player.gravity)

    def _tell(self, picture: Picture) -> None:
        """Bring numbers, curves and what went wrong up to date."""
        with self.server.atomic():
            factor = f"{picture.factor:.2f} times real time, " if picture.playing else "paused, "
            pulled = ""
            if picture.pull is not None:
                pulled = f"  \npull: {np.linalg.norm(picture.pull[1]):.4g} N"
            text = f"t = {picture.t:.3f} s, {factor}{1e6 * picture.step_time:.0f} µs a step{pulled}"
            _assign(self.status, "content", text)
            _assign(self.error, "content", f"**{_plain(picture.error)}**" if picture.error else "")
            _assign(self.error, "visible", bool(picture.error))
            _assign(self.button, "label", "Pause" if picture.playing else "Play")
            for index, slider in self.sliders:
                value = _on(slider, float(picture.inputs[index]))
                if abs(_on(slider, float(slider.value)) - value) > 1e-9 * max(1.0, abs(value)):
                    slider.value = value
            if len(self.history) > 1:
                rows = np.array(self.history)
                self.curves.draw(rows[:, 0], rows[:, self.columns[self.curves.shown]].T)


class _Marks:
    """The force of the mouse, the centre of mass and the support polygon."""

    def __init__(self, server: ViserServer, size: float):
        scene, self.size = server.scene, size
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        thin: Keywords = {"shaft_radius": 0.006 * size, "head_radius": 0.018 * size, "head_length": 0.045 * size}
        self.pull = scene.add_arrows("/pull", nothing, PULLED, visible=False, **thin)
        self.com = scene.add_icosphere("/centre of mass", 0.02 * size, color=CENTRE, visible=False)
        self.drop = scene.add_line_segments("/centre of mass, along gravity", nothing, CENTRE,
                                            thickness=0.004 * size, visible=False)  # fmt: skip
        self.support = scene.add_line_segments("/support polygon", nothing, SUPPORT, thickness=0.008 * size,
                                               visible=False)  # fmt: skip

    def show(self, picture: Picture, unit: float, travel: np.ndarray, shown: dict[str, bool],
             gravity: np.ndarray) -> None:  # fmt: skip
        """Show those of a picture that there are."""
        arrows = np.zeros((0, 2, 3))
        if picture.pull is not None:
            arrows = arrows_of(picture.pull[:1] - travel, picture.pull[1:], 0.3 * unit, self.size)
        _set_points(self.pull, arrows)
        com = picture.com - travel
        _assign(self.com, "visible", shown["com"])
        if shown["com"] and tuple(self.com.position) != tuple(com):
            self.com.position = tuple(com.tolist())
        corners = picture.support - travel
        _set_points(self.support, np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
                    if shown["support"] and len(corners) > 1 else corners[:0, None])  # fmt: skip
        strength = float(np.linalg.norm(gravity))
        drop = np.zeros((0, 2, 3))
        if shown["com"] and len(corners) and strength:
            down = gravity / strength
            drop = np.array([[com, com + down * float(((corners - com) @ down).mean())]])
        _set_points(self.drop, drop)


def _set_points(node: Any, points: np.ndarray) -> None:
    """Set the ends of arrows or lines; hide them if there are none."""
    if len(points):
        points = np.asarray(points, dtype=np.float32)
        if not np.array_equal(node.points, points):
            node.points = points
    _assign(node, "visible", len(points) > 0)


def _assign(handle: Any, name: str, value: object) -> None:
    """Set a property that differs: each setting is a message."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _range_of(model: Any, joint: str, value: float, size: float) -> tuple[float, float, str]:
    """Return the range of a joint's target, and its unit."""
    found = model.joint(joint)
    turns = found.kind not in ("prismatic",)
    reach = np.pi if turns else max(size, 0.1)
    low, high = -reach, reach
    if len(found.lower) == 1:
        low = float(found.lower[0]) if np.isfinite(found.lower[0]) else low
        high = float(found.upper[0]) if np.isfinite(found.upper[0]) else high
    ends = outward(np.array([min(low, value)]), np.array([max(high, value)]))
    return float(ends[0][0]), float(ends[1][0]), "rad" if turns else "m"


def _on(slider: Any, value: float) -> float:
    """Return a value as a slider can show it: within its range, with the digits of its step."""
    if not hasattr(slider, "max") or slider.max is None:
        return float(f"{value:.9g}")
    digits = max(int(np.ceil(-np.log10(slider.step))), 0)
    return float(np.clip(round(value, digits), slider.min, slider.max))


def _stem(name: str) -> str:
    """Return a name for a file."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in visible(name)) or "robot"
