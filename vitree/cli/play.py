"""The command play: a simulation that runs in a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from vitree.cli.base import option
from vitree.cli.options import Imports, Method, Steps, Things, import_all
from vitree.cli.standing import Stand
from vitree.cli.view import serve
from vitree.errors import InputError
from vitree.run.controller import Control


def play(
    things: Things,
    start: Stand,
    steps: Steps,
    method: Method = None,
    imports: Imports = None,
    dt: Annotated[float, option("--dt", text="Time step, in s.")] = 1e-3,
    rate: Annotated[float, option("--rate", text="Simulated time per second, in s; 1 is real time.")] = 1.0,
    controller: Annotated[
        Optional[Path],  # noqa: UP045
        option(
            "--controller",
            text="Python file with a function control(t, q, v) that returns joint torques, a vt.Control or None; it is "
            "reloaded when it changes.",
        ),
    ] = None,
    keyframes: Annotated[
        Optional[Path],  # noqa: UP045
        option(
            "--keyframes",
            text="File (.toml) of the keyframes that the page saves and offers. Default: ROBOT.keyframes.toml.",
        ),
    ] = None,
    paused: Annotated[bool, option("--paused", text="Start with the simulation paused.")] = False,
    port: Annotated[int, option("--port", text="Port number to serve at; if it is in use, the next free one.")] = 8080,
    browser: Annotated[
        Optional[bool],  # noqa: UP045
        option("--browser/--no-browser", text="Open a browser. Default: on a terminal with a display."),
    ] = None,
) -> None:
    """Simulate in a web page, in real time, with a mouse that pulls.

    Only this machine can open the page. Ctrl-C stops the simulation.
    """
    from vitree.run.simulation import Simulation
    from vitree.viewer.live import LiveViewer

    if not 0 < rate < float("inf"):
        raise InputError(f"--rate {rate} must be a positive number")
    if keyframes is not None and keyframes.suffix.lower() != ".toml":
        raise InputError(f"--keyframes {keyframes} must end in .toml")
    if controller is not None and not controller.is_file():
        raise InputError(f"--controller {controller}: there is no such file; give one with a function control(t, q, v)")
    import_all(imports)
    inputs = steps.driven()
    if (robot := things.alone) is not None:
        system, q, v, targets, told = start.prepare(robot, steps, method)
    else:
        system, q, v, held, told = start.prepare_world(things, steps)
        targets, inputs = held.targets or None, held.inputs | (inputs or {}) or None
    method = method or next(iter(system.methods))
    sim = Simulation(system, q, v, dt=dt, method=method, control=Control(inputs=inputs, targets=targets),
                     **steps.chosen())  # fmt: skip
    viewer = LiveViewer(sim, speed=rate, paused=paused, controller=controller, keyframes=keyframes, port=port)
    serve(viewer, browser, told)
