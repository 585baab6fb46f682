"""A live page in headless Chromium: real time, pictures a second, and how long the mouse takes to pull.

    python benchmarks/play.py [--smoke] [--robot talos] [--size 1280x720]

The robot stands on its feet, held by its drives, as `vitree play` starts it, at steps of 1 ms. Chromium runs twice.
First the calls that draw triangles are left out, so that all that the page does is measured, and nothing that a
graphics card does. Then it draws with its own software renderer, which measures this machine's processors. Measured
are: simulated time by time of the clock; frames a second (calls of requestAnimationFrame); pictures that the server
sent; the time from a movement of the mouse, in the page, to the first step with its force, of 40 movements.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from vitree.cli.options import Steps, Things
from vitree.cli.standing import Stand
from vitree.run.controller import Control
from vitree.run.simulation import Simulation
from vitree.viewer.live import LiveViewer
from vitree.viewer.movie import FLAGS, _launched

UNDRAWN = """
for (const kind of [WebGL2RenderingContext, WebGLRenderingContext])
    for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"])
        kind.prototype[name] = function () {};
"""
NOTED = """
window.frames_ = [];
(function tick(t) { window.frames_.push(t); requestAnimationFrame(tick); })(performance.now());
window.moved_ = [];
window.addEventListener("pointermove", () => window.moved_.push(performance.timeOrigin + performance.now()), true);
"""
#: Where a point of the world is in the window [pixels].
PLACE = """([x, y, z]) => {
    const { camera, nodeRefFromName } = window.__viserMutable;
    const box = document.querySelector("canvas").getBoundingClientRect();
    camera.updateMatrixWorld();
    const at = camera.position.clone().set(x, y, z);
    if (nodeRefFromName[""]) at.applyMatrix4(nodeRefFromName[""].matrixWorld);
    at.project(camera);
    return [box.x + 0.5 * (at.x + 1) * box.width, box.y + 0.5 * (1 - at.y) * box.height];
}"""


def standing(robot: str) -> Simulation:
    """Return what ``vitree play`` runs."""
    alone = Things(robots=[robot]).alone
    assert alone is not None
    system, q, v, targets, told = Stand().prepare(alone, Steps(), None)
    print(f"{robot}: {system.nv} degrees of freedom; {told}")
    return Simulation(system, q, v, dt=1e-3, control=Control(targets=targets))


@contextmanager
def noted(viewer: LiveViewer) -> Iterator[list[float]]:
    """Yield a list of the times [s] at which steps were first taken with another target of the mouse."""
    seen: list[float] = []
    ended, last = threading.Event(), None

    def look() -> None:
        nonlocal last
        while not ended.wait(1e-4):
            pull = viewer.player.pull
            if pull is not None and pull.acted is not None and pull.acted is not last:
                last = pull.acted
                seen.append(time.time())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield seen
    ended.set()
    thread.join()


def measure(viewer: LiveViewer, tool: Any, size: tuple[int, int], drawn: bool, seconds: float, moves: int) -> None:
    """Print the measures of one browser."""
    browser = _launched(tool)
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(180_000)
    for script in [NOTED] + [UNDRAWN] * (not drawn):
        page.add_init_script(script)
    page.goto(viewer.url + "?fixedDpr=1")
    page.wait_for_function("window.__viserMutable && Object.keys(window.__viserMutable.nodeRefFromName).length > 40")
    page.wait_for_timeout(5000)
    player, sent = viewer.player, viewer._page
    frames, t0, begun, pictures = page.evaluate("frames_.length"), player.picture.t, time.perf_counter(), sent.count
    page.wait_for_timeout(1000 * seconds)
    passed = time.perf_counter() - begun
    factor = (player.picture.t - t0) / passed
    shown = (page.evaluate("frames_.length") - frames) / passed
    print(f"  {'drawn by software' if drawn else 'nothing drawn'}: {factor:.3f} times real time, {shown:.1f} frames/s, "
          f"{(sent.count - pictures) / passed:.1f} pictures/s sent", flush=True)  # fmt: skip

    model = player.sim.model
    heavy = max(viewer._page.drawing.masses, key=lambda mass: mass.mass)
    x, y = page.evaluate(PLACE, [float(c) for c in model.frame_pose(heavy.name, player.picture.q)[:3, 3]])
    late = []
    with noted(viewer) as acted:
        page.mouse.move(x, y)
        page.wait_for_timeout(500)
        page.mouse.down()
        page.mouse.move(x + 8, y)
        page.wait_for_timeout(500)
        t0, begun = player.picture.t, time.perf_counter()
        for k in range(moves):
            page.evaluate("moved_.length = 0")
            del acted[:]
            page.mouse.move(x + 10 + 5 * (k % 2), y)
            page.wait_for_timeout(150 + 7 * (k % 9))
            moved = page.evaluate("moved_")
            if moved and acted:
                late.append(1000 * acted[0] - moved[0])
        factor = (player.picture.t - t0) / (time.perf_counter() - begun)
        page.mouse.up()
    if late:
        print(f"    mouse to force: median {np.median(late):.0f} ms, 95 % {np.percentile(late, 95):.0f} ms, most "
              f"{max(late):.0f} ms, of {len(late)}; {factor:.3f} times real time meanwhile", flush=True)  # fmt: skip
    else:
        print("    mouse to force: nothing was pulled")
    browser.close()
    player.reset()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--robot", default="talos")
    parser.add_argument("--size", default="1280x720")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    width, height = map(int, arguments.size.split("x"))
    viewer = LiveViewer(standing(arguments.robot), port=8600)
    print(f"Chromium with {' '.join(FLAGS[:2])}, {width} x {height} pixels")
    try:
        with sync_playwright() as tool:
            seconds, moves = (1.0, 3) if arguments.smoke else (10.0, 40)
            for drawn in (False, True):
                measure(viewer, tool, (width, height), drawn, seconds, moves)
    finally:
        viewer.stop()


if __name__ == "__main__":
    main()
