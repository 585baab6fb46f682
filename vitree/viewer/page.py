"""One self-contained page of a robot or of runs: viser's own player, and the energy beside it."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.model.system import System, freedom_of
from vitree.plot.parts import COLOURS
from vitree.results.drawing import poses
from vitree.viewer.dials import Dial, Dials
from vitree.viewer.pushes import LENGTH
from vitree.viewer.script import with_script
from vitree.viewer.source import WIDE, Run, check_playing, energies_of, range_of, span_of, title_of, what_to_show
from vitree.viewer.stage import Cast, Stage, open_server, quiet, robot_on
from vitree.wording import visible
from vitree.writing import write_text

if TYPE_CHECKING:
    from viser.infra import StateSerializer

#: Pictures a second of the film, and the fewest and the most pictures of a page.
RATE, FEWEST, MOST = 30, 120, 3000
#: Seconds and pictures of one coordinate's way through its range and back.
SWEEP, PICTURES = 1.2, 24
#: The most poses of bodies in a page's tour. A page with as many takes about ten seconds to write.
MOVES = 100_000
BLACK = "#000000"
#: The first port to try for the server that makes a page; it is closed at once.
PORT = 8180


def write_html(source: object, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write one self-contained page of a ``source`` to the file ``path`` (.html), and return the path.

    The source, the ``options`` (model, packages, q, speed, spread, follow) and the errors are as for
    :func:`vitree.view`.
    """
    shown = what_to_show(source, options.pop("model", None), options.pop("packages", None))
    return write_page(path, page_of(shown, **options))


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page at once or not at all."""
    path = Path(path)
    write_text(path, text)
    return path


def colour_of(index: int) -> str:
    """Return the colour of a run's curve; the first run is drawn solid, and its curve is black."""
    others = [colour for colour in COLOURS if colour != BLACK]
    return BLACK if index == 0 else others[(index - 1) % len(others)]


def page_of(
    shown: System | list[Run], *, q: ArrayLike | None = None, speed: float = 1.0, spread: float = 0.0,
    follow: bool | None = None, missing: list[str] | None = None, pictures: int | None = None,
) -> str:  # fmt: skip
    """Return the page as text; ``missing`` takes the meshes that could not be read, which the page lists, too.

    ``pictures``: how many pictures of runs it has behind the first, for a video; by default many a second, and a panel
    with the curves of the energy.
    """
    check_playing(shown, q, speed, spread)
    title = title_of(shown)
    server, _ = open_server("127.0.0.1", PORT, title)
    try:
        if isinstance(shown, System):
            stage, dials = robot_on(server, shown, q)
            recording = server.get_scene_serializer()
            panel = _panel_of_tour(shown, _record_tour(recording, dials, stage), len(_toured(dials)))
            lost, stages = stage.missing, [stage]
        else:
            cast = Cast(server, shown, spread, follow)
            recording = server.get_scene_serializer()
            _record(recording, cast, speed, pictures)
            panel = _panel_of_runs(shown, speed, cast)
            lost, stages = cast.missing, cast.stages
        with quiet():
            text = with_script(recording.as_html())
    finally:
        with quiet():
            server.stop()
    if missing is not None:
        missing += lost
    if pictures is not None:
        return text
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in lost)
    told = "".join(f"<div>{html.escape(stage.told)}</div>" for stage in stages[:1] if stage.told)
    if lost:
        told += f"<details><summary>meshes that could not be read: {len(lost)}</summary>{lines}</details>"
    return _with_panel(text, title, panel.replace("</details>", told + "</details>", 1))


def _record(recording: StateSerializer, cast: Cast, speed: float, pictures: int | None = None) -> None:
    t0, t1 = span_of(cast.runs)
    seconds = max((t1 - t0) / speed, 1e-3)
    count = int(np.clip(RATE * seconds, FEWEST, MOST)) if pictures is None else pictures
    if t1 <= t0:
        return
    for t in np.linspace(t0, t1, count + 1):
        cast.show(t)
        recording.insert_sleep(seconds / count)


def _record_tour(recording: StateSerializer, dials: Dials, stage: Stage) -> list[tuple[float, str]]:
    """Move coordinates through their ranges and back, as many as a page can hold; return when each begins [s].

    A base that floats stays where it is, unless nothing else moves.
    """
    begins, clock = [], 0.0
    # A coordinate may move all bodies.
    most = max(MOVES // (PICTURES * max(len(stage.bodies), 1)), 1)
    for dial in _toured(dials)[:most]:
        begins.append((clock, visible(dial.name)))
        start = dials.value(dial)
        # The coordinate goes up from its value, down and back, smoothly.
        for phase in np.linspace(0.0, 2 * np.pi, PICTURES + 1)[1:]:
            share = np.sin(phase)
            if dials.turn(dial, start + share * (dial.high - start if share > 0 else start - dial.low)):
                stage.place(poses(dials.system, dials.q))
            recording.insert_sleep(SWEEP / PICTURES)
            clock += SWEEP / PICTURES
        dials.reset()
        stage.place(poses(dials.system, dials.q))
    return begins


def _toured(dials: Dials) -> list[Dial]:
    """Return the dials that a tour turns: not those of a base that floats, unless nothing else moves."""
    floating = {joint.name for joint in dials.system.joints if joint.kind == "free"}
    return [dial for dial in dials.dials if dial.joint not in floating] or dials.dials


# ---- the panel beside the picture -----------------------------------------------------------------

_STYLE = """
#vitree-panel { position: fixed; left: 10px; bottom: 56px; width: 320px; z-index: 5; font: 12px/1.4 sans-serif;
  color: #222; background: rgba(255, 255, 255, 0.88); border: 1px solid #ddd; border-radius: 4px; padding: 6px 10px; }
#vitree-panel summary { font-weight: bold; cursor: pointer; }
#vitree-panel svg { width: 100%; height: 150px; display: block; cursor: crosshair; }
/* On a tall window the panel is below the picture, which has the shape that the camera is fitted to. */
@media (max-aspect-ratio: 1/1) {
  body { display: flex; flex-direction: column; height: 100vh; margin: 0; }
  #root { flex: 1 1 auto; min-height: 240px; height: auto; max-height: calc(100vw / WIDE + 38px); }
  #vitree-panel { position: static; flex: none; width: auto; border: 0; padding: 10px 14px; }
}
""".replace("WIDE", f"{WIDE:g}")
# The time is read from the player's slider. A click on the curves sets it through the player's number field.
_SCRIPT = """
(function () {
  var data = JSON.parse(document.getElementById("vitree-data").textContent);
  var panel = document.getElementById("vitree-panel");
  // On a small window that is not tall the panel would hide the picture: it is folded.
  if (innerWidth > innerHeight && (innerWidth < 760 || innerHeight < 460)) panel.open = false;
  function now() {
    var slider = document.querySelector("[role=slider][aria-valuemax]");
    return slider ? parseFloat(slider.getAttribute("aria-valuenow")) || 0 : 0;
  }
  function seek(t) {
    var field = document.querySelector("input[inputmode=decimal]");
    if (!field) return;
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, t.toFixed(3));
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  var svg = document.querySelector("#vitree-panel svg"), line = document.getElementById("vitree-now");
  if (svg) svg.addEventListener("click", function (event) {
    var box = svg.getBoundingClientRect();
    seek(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * data.seconds);
  });
  var text = document.getElementById("vitree-time");
  setInterval(function () {
    var t = now();
    if (line) line.setAttribute("transform", "translate(" + 1000 * t / data.seconds + ",0)");
    if (data.begins) {
      var label = "";
      data.begins.forEach(function (pair) { if (pair[0] <= t + 1e-6) label = pair[1]; });
      text.textContent = label;
    } else text.textContent = "t = " + (data.t0 + t * data.speed).toFixed(3) + " s";
  }, 50);
})();
"""


def _with_panel(text: str, title: str, panel: str) -> str:
    # Browsers show the first title, which is the player's.
    text = text.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1)
    head, body = text.index("</head>"), text.rindex("</body>")
    return (text[:head] + f"<style>{_STYLE}</style>" + text[head:body] + panel + f"<script>{_SCRIPT}</script>"
            + text[body:])  # fmt: skip


def _panel(title: str, lines: str, data: Mapping[str, object]) -> str:
    content = json.dumps(data).replace("<", "\\u003c")
    return (
        f'<details id="vitree-panel" open><summary>{html.escape(title)}</summary><div id="vitree-time">&nbsp;</div>'
        f'{lines}</details><script type="application/json" id="vitree-data">{content}</script>'
    )


def with_step(run: Run) -> str:
    """Return the label of a run, with its time step."""
    step = f"dt = {run.trajectory.settings.get('dt', np.nan):g} s"
    return run.label if step in run.label else f"{run.label}, {step}"


def _panel_of_tour(system: System, begins: list[tuple[float, str]], count: int) -> str:
    share = "each coordinate" if len(begins) == count else f"the first {len(begins)} of {count} coordinates"
    lines = f"{freedom_of(system)}, {system.total_mass:.4g} kg; {share} in turn"
    return _panel(title_of(system), html.escape(lines), {"begins": begins, "seconds": SWEEP * max(len(begins), 1)})


def _panel_of_runs(runs: list[Run], speed: float, cast: Cast) -> str:
    t0, t1 = span_of(runs)
    t, curves = energies_of(runs)
    low, high = range_of(curves)
    room = max(high - low, 1e-300)
    paths = []
    for k, curve in enumerate(curves):
        shown = np.isfinite(curve)
        x, y = 1000 * (t[shown] - t0) / max(t1 - t0, 1e-300), 400 - 380 * (curve[shown] - low) / room
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        paths.append(f'<polyline points="{points}" fill="none" stroke="{colour_of(k)}" stroke-width="1.5" '
                     f'vector-effect="non-scaling-stroke"/>')  # fmt: skip
    names = "".join(
        f'<div><span style="color: {colour_of(k)}">&#9632;</span> {html.escape(with_step(run))}</div>'
        for k, run in enumerate(runs)
    )
    plot = (
        f"<div>energy change since the start: {low:.3g} to {high:.3g} J</div>"
        f'<svg viewBox="0 0 1000 410" preserveAspectRatio="none">{"".join(paths)}<line id="vitree-now" y1="0" y2="410" '
        f'stroke="#888" vector-effect="non-scaling-stroke"/></svg>{names}'
    )
    if cast.pushes[0] is not None:
        scale = cast.pushes[0].unit / (LENGTH * runs[0].film.drawing.extent)
        plot += f"<div>arrows: contact forces, {scale:.3g} N per metre; hide them in the scene tree</div>"
    data = {"t0": t0, "speed": speed, "seconds": max((t1 - t0) / speed, 1e-3)}
    return _panel(title_of(runs), plot, data)
