"""Commands that show runs and robots: view, plot."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

from vitree.arguments import Keywords
from vitree.cli.base import Force, Json, argument, option
from vitree.cli.console import Bar, Busy, check_writable, out, print_json, say, wrote
from vitree.cli.names import OF_COMPARISONS, PLOTS, is_run, one_of, robots, runs, sources
from vitree.cli.options import ROBOT, Reading, Start, folders
from vitree.cli.words import blaming, in_options
from vitree.errors import InputError, UnknownNameError, VitreeError
from vitree.results.units import labels_of
from vitree.run.trajectory import Trajectory

if TYPE_CHECKING:
    from vitree.viewer.live import LiveViewer
    from vitree.viewer.show import Viewer


def load_runs(paths: list[str]) -> dict[str, Trajectory]:
    """Return the runs of files by labels: method and time step; where these are the same, the files' stems or paths."""
    stems = [Path(path).stem for path in paths]
    if len(set(paths)) < len(paths):
        raise InputError("a run is given twice; give each once")
    loaded = [Trajectory.load(path) for path in paths]
    labels = labels_of(loaded, stems if len(set(stems)) == len(stems) else paths)
    return dict(zip(labels, loaded, strict=True))


def view(
    reading: Reading,
    source: Annotated[
        list[str],
        argument(ROBOT + " Or one or more files of runs (.npz), shown superimposed.", "SOURCE", sources),
    ],
    html: Annotated[
        Optional[Path],  # noqa: UP045 (older Typer)
        option("--html", text="Write a self-contained page to this file (.html) instead of serving it."),
    ] = None,
    mp4: Annotated[
        Optional[Path],  # noqa: UP045
        option("--mp4", text="Write a video of the runs to this file (.mp4) instead of serving a page."),
    ] = None,
    fps: Annotated[
        Optional[float],  # noqa: UP045
        option("--fps", text="Frame rate of --mp4, in 1/s. Default: 30."),
    ] = None,
    size: Annotated[
        Optional[str],  # noqa: UP045
        option("--size", text="Frame size of --mp4 as WIDTHxHEIGHT, even numbers of pixels. Default: 1280x720."),
    ] = None,
    host: Annotated[
        str, option("--host", text="Network address to serve at; the default is accessible from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, option("--port", text="Port number to serve at; if it is in use, the next free one.")
    ] = 8080,
    browser: Annotated[
        Optional[bool],  # noqa: UP045
        option("--browser/--no-browser", text="Open a browser. Default: on a terminal with a display."),
    ] = None,
    speed: Annotated[float, option("--speed", text="Playback speed, in s of simulated time per second.")] = 1.0,
    spread: Annotated[float, option("--spread", text="Distance between runs along y, in m.")] = 0.0,
    follow: Annotated[
        Optional[bool],  # noqa: UP045
        option("--follow/--no-follow", text="Let the camera follow the first run. Default: if it moves far."),
    ] = None,
    robot: Annotated[
        Optional[str],  # noqa: UP045
        option("--robot", text="Robot of the runs, if their files contain no shapes.", complete=robots),
    ] = None,
    q0: Annotated[
        str,
        option(
            "--q0",
            text="Configuration of a robot: neutral, random, nq numbers separated by commas, in m and rad, or a "
            "keyframe as FILE.toml#NAME.",
        ),
    ] = "neutral",
    force: Force = False,
) -> None:
    """Show a robot with sliders, or play runs, in a web page.

    Ctrl-C stops the server. --html and --mp4 write a file instead.
    """
    from vitree.viewer.movie import write_video
    from vitree.viewer.page import page_of, write_page
    from vitree.viewer.show import Viewer
    from vitree.viewer.source import what_to_show

    if not 0 < speed < float("inf"):
        raise InputError(f"--speed {speed} must be a positive number")
    if html is not None:
        check_writable("--html", html, ".html", ".htm", force=force)
    film = _film(mp4, fps, size, html, force)
    q = None
    if all([is_run(name) for name in source]):  # of each, since it may be neither run nor robot
        if q0 != "neutral":
            raise InputError("--q0 is for a robot; runs begin where they began")
        if robot is None:
            replace(reading, packages=None).refuse("this is of robots; give runs their --robot, or leave it out")
        model = reading.load(robot) if robot else None
        shown = what_to_show(load_runs(source), model, folders(reading.packages or []))
    elif len(source) > 1:
        raise InputError(f"cannot show {' and '.join(source)} together; give one robot, or runs (.npz)")
    elif robot is not None:
        raise InputError(f"--robot {robot} is for runs (.npz); {source[0]} is a robot itself")
    else:
        shown = reading.load(source[0])
        q = None if q0 == "neutral" else Start(q0=q0).configuration(shown)
    missing: list[str] = []
    if mp4 is not None:
        if not isinstance(shown, list):
            raise InputError(f"--mp4 is of runs (.npz), and {source[0]} is a robot; simulate it first")
        with Bar(None) as bar:
            write_video(shown, mp4, speed=speed, spread=spread, follow=follow, missing=missing, **film,
                        progress=lambda done, total: bar(done, total, f"drawing {mp4}"))  # fmt: skip
        _tell_missing(missing)
        out(f"wrote {mp4}")
        return
    if html is not None:
        with Busy(f"writing {html}"):
            write_page(html, page_of(shown, q=q, speed=speed, spread=spread, follow=follow, missing=missing))
        _tell_missing(missing)
        out(f"wrote {html}")
        return
    viewer = Viewer(shown, q=q, host=host, port=port, speed=speed, spread=spread, follow=follow)
    serve(viewer, browser)


def serve(viewer: Viewer | LiveViewer, browser: bool | None, told: str | None = None) -> None:
    """Print where a page is, after what there is to be told, and serve it until Ctrl-C."""
    try:
        _tell_missing(viewer.missing)
        if told:
            say(told)
        say("Ctrl-C ends it")
        out(viewer.url, flush=True)
        if _has_display() if browser is None else browser:
            import webbrowser

            webbrowser.open(viewer.url)
        viewer.wait()
    except KeyboardInterrupt:  # before it waited
        viewer.stop()


def _film(mp4: Path | None, fps: float | None, size: str | None, html: Path | None, force: bool) -> Keywords:
    """Return the options of a video; raise an InputError if one is wrong, or there is no video."""
    given = [name for name, value in (("--fps", fps), ("--size", size)) if value is not None]
    if mp4 is None:
        if given:
            raise InputError(f"{', '.join(given)}: this is of a video; give --mp4, too, or leave it out")
        return {}
    if html is not None:
        raise InputError("--html and --mp4 are two commands; give one")
    check_writable("--mp4", mp4, ".mp4", force=force)
    sides = re.fullmatch(r"(\d+)x(\d+)", size or "1280x720")
    if sides is None:
        raise InputError(f'--size "{size}" must be WIDTHxHEIGHT in pixels, such as 1280x720')
    return {"fps": 30.0 if fps is None else fps, "size": (int(sides[1]), int(sides[2]))}


def _tell_missing(lines: list[str]) -> None:
    """Say how many meshes are not shown, and why the first is not."""
    if lines:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        say(in_options("not shown: " + lines[0] + more))


def _has_display() -> bool:
    """Whether a person sits there who can see a window."""
    display = sys.platform in ("win32", "darwin") or any(os.environ.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY"))
    return display and sys.stdout.isatty()


def plot(
    what: Annotated[str, argument(f"Quantity to plot: {', '.join(PLOTS)}.", "WHAT", one_of(*PLOTS))],
    run: Annotated[list[str], argument("One or more files of runs (.npz), drawn into one plot.", "RUN", runs)],
    output: Annotated[
        Optional[Path],  # noqa: UP045
        option(
            "--output", "-o", text="Output file of the plot (.png, .pdf, .svg). Default: WHAT-RUN.png, with all runs."
        ),
    ] = None,
    coordinates: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--coordinate", text="Name of a coordinate, for coordinates (may be repeated) and phase."),
    ] = None,
    of: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--of",
            text="Variable to plot: q, v or p for coordinates (default q); v or p against q for phase (default v).",
            complete=one_of("q", "v", "p"),
        ),
    ] = None,
    frames: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--frame", text="Name of a frame with contact points, for contact-forces and center-of-pressure; may be "
               "repeated."),
    ] = None,
    force: Force = False,
    mean: Annotated[
        Optional[float],  # noqa: UP045
        option("--mean", text="Window of the moving average of contact-forces, in s. Default: no average."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Plot a quantity of one or more runs.

    The file contains the settings of the runs.
    """
    from vitree.plot import check_format, figure_of, save

    name = what.replace("_", "-")
    if name not in PLOTS:
        raise _not_a_plot(what, run)
    path = output or Path("-".join([name, *_some([Path(each).stem for each in run])]) + ".png")
    check_writable("--output", path, force=force)
    with blaming("--output"):
        check_format(path)
    options = _plot_options(name, coordinates, of, frames)
    if mean is not None:
        if name != "contact-forces":
            raise InputError(f"--mean is for contact-forces; leave it out of {name}")
        options["mean"] = mean
    found = load_runs(run)
    source = found if len(run) > 1 else next(iter(found.values()))
    text = wrote(path)
    named = "--coordinate" if coordinates else "--frame" if frames else None
    with Busy(f"drawing {path}"), blaming(named) if named else contextlib.nullcontext():
        save(figure_of(name.replace("-", "_"), source, **options), path)
    if as_json:
        print_json({"file": str(path), "plot": name, "runs": run})
    elif path.exists() and not path.is_file():  # the picture itself may be on stdout
        say(text)
    else:
        out(text)


def _some(names: list[str], most: int = 4) -> list[str]:
    """The first of some names, and how many more there are."""
    return names if len(names) <= most + 1 else [*names[:most], f"and-{len(names) - most}-more"]


def _not_a_plot(what: str, run: list[str]) -> VitreeError:
    """Return the error of a name that is no plot of runs."""
    if (name := what.replace("_", "-")) in OF_COMPARISONS:
        by = "vitree.plot.work_precision, in Python" if name == "work-precision" else "vitree compare --plot"
        return InputError(f'"{what}" is drawn of comparisons, not of runs: by {by}')
    if not (Path(what).is_file() or is_run(what)):
        return UnknownNameError("plot of runs", what, PLOTS)
    named = [word for word in run if word in PLOTS] or ["energy"]
    runs = [what, *(word for word in run if word not in PLOTS)]
    return InputError(f"the plot's name comes first: {shlex.join(['vitree', 'plot', named[0], *runs])}")


def _plot_options(
    name: str, coordinates: list[str] | None, of: str | None, frames: list[str] | None
) -> Keywords:
    if frames is not None:
        if name not in ("contact-forces", "center-of-pressure"):
            raise InputError(f"--frame is for contact-forces and center-of-pressure; leave it out of {name}")
        if coordinates or of:
            raise InputError(f"--coordinate and --of are for coordinates and phase; leave them out of {name}")
        return {"names": frames}
    known = {"coordinates": ("q", "v", "p"), "phase": ("v", "p")}.get(name)
    if known is None:
        if coordinates or of:
            raise InputError(f"--coordinate and --of are for coordinates and phase; leave them out of {name}")
        return {}
    if of is not None and of not in known:
        raise InputError(f'--of "{of}" is not known of {name}; choose from {", ".join(known)}')
    if name == "phase" and len(coordinates or []) > 1:
        raise InputError("phase draws one coordinate; give --coordinate once")
    names, against = ("names", "of") if name == "coordinates" else ("name", "against")
    chosen = coordinates if name == "coordinates" or not coordinates else coordinates[0]
    return {key: value for key, value in {names: chosen, against: of}.items() if value}
