"""A run as a video: the frames are those of its page in a browser without a window. Needs the extra "video"."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import html
import io
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from vitree.arguments import explain_calls, path_of, real, shown, whole
from vitree.errors import InputError, MissingExtraError, VitreeError
from vitree.model.system import System
from vitree.urdf.paths import Packages
from vitree.viewer.page import page_of
from vitree.viewer.source import Run, check_playing, span_of, title_of, what_to_show
from vitree.writing import replacing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

#: Names of browsers of Chromium's kind that are looked for.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge")
#: No accelerator, so that every machine draws the same, and nothing that asks for an address of its own.
FLAGS = ("--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync")  # fmt: skip
#: Seconds that a page has to come, and for which its picture must not change before the first frame.
PATIENCE, STILL = 180.0, 1.0
#: Pictures for which the canvas must have one size before the window is given another.
REST = 3
#: The sides of a video, and its frames a second, are between these.
SIDES, RATES = (240, 4096), (1.0, 240.0)
#: Frames are drawn when they are asked for, once each, and taken from the canvas: the bars of the page are not in them.
_STEPPED = """
(function () {
  var queue = new Map(), last = 0, clock = 0;
  window.requestAnimationFrame = function (f) { queue.set(++last, f); return last; };
  window.cancelAnimationFrame = function (k) { queue.delete(k); };
  function canvas() {
    var all = Array.from(document.querySelectorAll("canvas"));
    return all.sort(function (a, b) { return b.width * b.height - a.width * a.height; })[0];
  }
  window.vitreeFrame = async function (t) {
    var slider = document.querySelector("[role=slider][aria-valuemax]");
    var field = document.querySelector("input[inputmode=decimal]");
    if (!slider || !field || !canvas()) return null;
    if (t !== null) {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, t.toFixed(6));
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    await new Promise(function (done) { setTimeout(done, 0); });
    var due = queue;
    queue = new Map();
    clock += 1000 / 60;
    due.forEach(function (f) { f(clock); });
    var drawn = canvas();
    return { width: drawn.width, height: drawn.height, seconds: parseFloat(slider.getAttribute("aria-valuemax")),
             at: parseFloat(slider.getAttribute("aria-valuenow")), picture: drawn.toDataURL("image/png") };
  };
})();
"""


#: What draws the frame at a time [s] and returns its pixels, or for None the seconds that the page plays.
Take = Callable[[float | None], Any]


@explain_calls
def video(
    source: object,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    speed: float = 1.0,
    spread: float = 0.0,
    follow: bool | None = None,
    model: System | None = None,
    packages: Packages | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Write a run as a video, and return the path.

    The frames are those of the page that :func:`vitree.view` makes. A browser without a window draws them, one after
    the other, and no accelerator is needed. The file is written whole or not at all.

    Parameters
    ----------
    source : Trajectory, path, Comparison, or several runs
        As for :func:`vitree.view`.
    path : path
        The file (.mp4). It has the codec H.264.
    fps : float [1/s]
        Frames a second, from 1 to 240.
    size : (int, int)
        Width and height [pixels], even numbers from 240 to 4096.
    speed : float [-]
        Seconds of the run for each second of the video.
    spread : float
        Distance between runs, along y [m].
    follow : bool, optional
        Whether the first run stays in the picture while the ground moves; by default if it goes far.
    model : System, optional
        The system of runs from files without pictures.
    packages : mapping, or paths, optional
        As for :func:`vitree.view`.
    progress : callable (done, total), optional
        Called with the numbers of frames after each frame.

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If viser, playwright or av is not installed (extra "video").
    InputError
        If there is no browser, if the source is no run, or has one time only, if an argument is wrong, or if the file
        cannot be written.
    """
    shown_runs = what_to_show(source, model, packages)
    if isinstance(shown_runs, System):
        raise InputError(f'"{shown_runs.name}" is a system, and a video is of runs; give a trajectory of it')
    return write_video(shown_runs, path, fps=fps, size=size, speed=speed, spread=spread, follow=follow,
                       progress=progress)  # fmt: skip


def write_video(
    runs: list[Run], path: str | os.PathLike[str], *, fps: float, size: tuple[int, int], speed: float, spread: float,
    follow: bool | None, progress: Callable[[int, int], object] | None = None, missing: list[str] | None = None,
) -> Path:  # fmt: skip
    """Write runs as a video; ``missing`` takes the meshes that could not be read. Errors are as for :func:`video`."""
    place, rate, pixels = path_of(path), _rate(fps), _pixels(size)
    if place.suffix.lower() != ".mp4":
        raise InputError(f"the video {place} must end in .mp4")
    check_playing(runs, None, speed, spread)
    t0, t1 = span_of(runs)
    if not t1 > t0:
        raise InputError(f'the run of "{title_of(runs)}" has one time, and a video needs two')
    _require()
    count = max(round(float(rate) * (t1 - t0) / speed), 1)
    page = page_of(runs, speed=speed, spread=spread, follow=follow, missing=missing, pictures=count)
    with replacing(place) as stream:
        _outside_loops(lambda stop: _write(page, stream, count, rate, pixels, progress, stop))
    return place


def _rate(fps: float) -> Fraction:
    if not RATES[0] <= real(fps) <= RATES[1]:
        raise InputError("fps", fps, f"is {shown(fps)}; it must be a number from {RATES[0]:g} to {RATES[1]:g}")
    return Fraction(real(fps)).limit_denominator(1001)


def _pixels(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (whole(side) or 0 for side in size)
    except (TypeError, ValueError):
        width = height = 0
    if not all(SIDES[0] <= x <= SIDES[1] and x % 2 == 0 for x in (width, height)):
        raise InputError(
            "size", size,
            f"is {shown(size)}; it must be width and height in pixels, two even numbers from {SIDES[0]} to {SIDES[1]}"
        )
    return width, height


def _require() -> tuple[ModuleType, ModuleType, ModuleType]:
    """Return the modules av, playwright.sync_api and PIL.Image."""
    try:
        import av
    except ImportError:
        raise MissingExtraError("av", "video", "a video") from None
    try:
        from playwright import sync_api
    except ImportError:
        raise MissingExtraError("playwright", "video", "a video") from None
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pillow", "video", "a video") from None
    return av, sync_api, Image


def _outside_loops(work: Callable[[threading.Event], None]) -> None:
    """Do a work here, or in a thread if this one runs a loop of asyncio, as notebooks do: Playwright refuses those."""
    stop = threading.Event()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work(stop)
        return
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, stop)
        try:
            done.result()
        except BaseException:
            stop.set()
            raise


def _write(
    page: str, stream: IO[bytes], count: int, rate: Fraction, size: tuple[int, int],
    progress: Callable[[int, int], object] | None, stop: threading.Event,
) -> None:  # fmt: skip
    av = _require()[0]
    with _opened(page, size) as take:
        first, seconds = _settled(take)
        for again in (False, True):
            stream.seek(0)
            stream.truncate()
            with av.open(stream, "w", format="mp4") as container:
                track = container.add_stream("libx264", rate=rate, options={"crf": "18"})
                track.width, track.height, track.pix_fmt = *size, "yuv420p"
                for k in range(count + 1):
                    if stop.is_set():
                        raise KeyboardInterrupt
                    # The middle of the time for which the page shows a picture.
                    picture = _taken(take, (k + 0.5) * seconds / (count + 1))
                    if k == 0:
                        first = picture
                    container.mux(track.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
                    if progress is not None:
                        progress(k + 1, count + 1)
                container.mux(track.encode())
            # A mesh that came late is not in the first frames.
            if again or np.array_equal(_taken(take, 0.5 * seconds / (count + 1)), first):
                return


@contextlib.contextmanager
def _opened(page: str, size: tuple[int, int]) -> Iterator[Take]:
    """Open a page whose canvas has a size [pixels]; yield what draws it at a time [s] and returns its pixels."""
    _, sync_api, _ = _require()
    logging.getLogger("asyncio").addFilter(_tells_more)  # the same filter twice is one
    with _interrupts_between_frames() as interrupted:
        try:
            with tempfile.TemporaryDirectory() as folder, sync_api.sync_playwright() as tool:
                file = Path(folder) / "page.html"
                file.write_text(page, encoding="utf-8")
                browser = _launched(tool)
                try:
                    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
                    context.set_default_timeout(1000 * PATIENCE)
                    context.set_offline(True)
                    tab = context.new_page()
                    tab.add_init_script(_STEPPED)
                    # On a slow machine the page would take fewer pixels, unless their density is fixed.
                    tab.goto(file.as_uri() + "?fixedDpr=1")
                    yield _taker(tab, size, interrupted)
                finally:
                    browser.close()
        except Exception:  # Ctrl-C in a terminal ends the browser as well
            interrupted()
            raise


def _taker(tab: Page, size: tuple[int, int], interrupted: Callable[[], None]) -> Take:
    """Return what draws a page at a time, as :func:`_opened` yields it."""
    _, _, Image = _require()
    seen: list[tuple[int, int]] = []

    def take(t: float | None) -> Any:
        interrupted()
        found = tab.evaluate("t => vitreeFrame(t)", t)
        interrupted()
        if found is None:
            return None
        seen.append((found["width"], found["height"]))
        if seen[-1] != size:
            # The bar of the page takes some of the height; the canvas follows the window a little later.
            if len(seen) > REST and set(seen[-REST:]) == {seen[-1]}:
                window = tab.viewport_size or {"width": size[0], "height": size[1]}
                tab.set_viewport_size({"width": max(window["width"] + size[0] - seen[-1][0], 1),
                                       "height": max(window["height"] + size[1] - seen[-1][1], 1)})  # fmt: skip
                seen.clear()
            return None
        if t is None:
            return found["seconds"]
        picture = Image.open(io.BytesIO(base64.b64decode(found["picture"].partition(",")[2]))).convert("RGBA")
        paper = Image.new("RGBA", picture.size, "white")
        return np.array(Image.alpha_composite(paper, picture).convert("RGB"))

    return take


@contextlib.contextmanager
def _interrupts_between_frames() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C wait until a frame is drawn; yield what raises a KeyboardInterrupt if there was one.

    Within Playwright's loop the exception leaves calls that never return. A second Ctrl-C does not wait.
    """
    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    def check() -> None:
        if noted:
            raise KeyboardInterrupt

    own = threading.current_thread() is threading.main_thread()
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    check()


def _tells_more(record: logging.LogRecord) -> bool:
    """Say whether a record of asyncio says more than that Playwright's own program has ended, as after Ctrl-C."""
    return "Connection closed while reading from the driver" not in record.getMessage()


def _launched(tool: Playwright) -> Browser:
    """Start a browser: one of this machine, or Playwright's own."""
    own = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        if own is not None:
            return tool.chromium.launch(executable_path=own, args=list(FLAGS))
        with contextlib.suppress(Exception):
            return tool.chromium.launch(args=list(FLAGS))
        return tool.chromium.launch(channel="chrome", args=list(FLAGS))
    except Exception as error:  # Playwright's errors are long
        why = html.unescape(str(error)).strip().split("\n")[0]
        raise InputError(
            "a video needs a browser, and none could be started: install Chromium (Debian: apt install chromium; "
            f"elsewhere: playwright install chromium). {why}"
        ) from None


def _taken(take: Take, t: float) -> np.ndarray:
    """Return the picture at a time [s], once the canvas has the size of the video."""
    begun = time.monotonic()
    while not isinstance(picture := take(t), np.ndarray):
        if time.monotonic() - begun > PATIENCE:
            raise VitreeError(f"the page of the run gave no picture of its size within {PATIENCE:g} s; draw it again")
        time.sleep(0.1)
    return picture


def _settled(take: Take) -> tuple[np.ndarray, float]:
    """Return the first picture once it rests, and the seconds that the page plays."""
    begun = since = time.monotonic()
    before: np.ndarray | None = None
    while time.monotonic() - begun < PATIENCE:
        seconds = take(None)
        picture = None if seconds is None else take(0.0)
        if picture is None or before is None or not np.array_equal(picture, before) or np.ptp(picture) < 30:
            before, since = picture, time.monotonic()
        elif time.monotonic() - since > STILL:
            return picture, seconds
        time.sleep(0.1)
    raise VitreeError(f"the page of the run did not come to rest within {PATIENCE:g} s; is the machine very busy?")
