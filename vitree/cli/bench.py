"""The command that measures: times of steps and kernels, and scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

from vitree.cli.base import Json, Progress, option
from vitree.cli.console import Bar, out
from vitree.cli.names import METHOD_NAMES, methods
from vitree.cli.options import GRAVITY, OptionalRobot, Start, World, methods_of
from vitree.errors import InputError

#: What stands in the place of a robot.
SCENES = "scenes"


def _scenes(incomplete: str) -> list[str]:
    from vitree.scenes import SCENES as known

    return [name for name in known if name.startswith(incomplete)]


@dataclass(kw_only=True)
class Scenes:
    """What is run of the scenes."""

    scene: Annotated[
        Optional[list[str]],  # noqa: UP045 (older Typer)
        option("--scene", text="Name of a scene, for 'vitree bench scenes'; may be repeated. Default: all.",
               complete=_scenes),
    ] = None  # fmt: skip
    quick: Annotated[
        bool, option("--quick", text="Shorten the scenes of 'vitree bench scenes' to a test that they run.")
    ] = False
    as_csv: Annotated[
        bool, option("--csv", text="Print the table of 'vitree bench scenes' as CSV, a line per number.")
    ] = False

    def given(self) -> list[str]:
        """Return the options that are given."""
        return [name for name, value in (("--scene", self.scene), ("--quick", self.quick), ("--csv", self.as_csv))
                if value]  # fmt: skip


def bench(
    robot: OptionalRobot,
    world: World,
    start: Start,
    scenes: Scenes,
    methods: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--methods",
            "-m",
            text=f"Methods separated by commas, each one of {METHOD_NAMES}. Default: all but SciPy's; for scenes "
            "linear-time.",
            complete=methods,
        ),
    ] = None,
    dt: Annotated[float, option("--dt", text="Time step, in s.")] = 0.001,
    steps: Annotated[int, option("--steps", text="Number of steps per run.")] = 200,
    repeats: Annotated[
        int, option("--repeats", text="Number of timed runs; the shortest time, in us, is reported.")
    ] = 20,
    peers: Annotated[
        bool,
        option(
            "--peers/--no-peers",
            text="Also time Pinocchio and MuJoCo if they are installed, all without damping and friction; also run "
            "scenes in MuJoCo.",
        ),
    ] = True,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Time steps and kernels; 'bench scenes' runs benchmark scenes."""
    if robot.robot == SCENES and not Path(SCENES).is_file():
        if scenes.as_csv and as_json:
            raise InputError("--csv and --json exclude each other; give one")
        fixed = Start()
        robot.refuse(
            "scenes have their own; leave it out", dt=(dt, 0.001), steps=(steps, 200), repeats=(repeats, 20),
            gravity=(world.gravity, GRAVITY), q0=(start.q0, fixed.q0), v0=(start.v0, fixed.v0),
            speed=(start.speed, fixed.speed), seed=(start.seed, fixed.seed), **{"no-damping": (world.damping, True)},
        )  # fmt: skip
        _run_scenes(scenes, methods, peers, progress, as_json)
        return
    if scenes.given():
        raise InputError(f"{', '.join(scenes.given())}: only 'vitree bench scenes' takes it; leave it out")
    from vitree.run.bench import bench

    system = world.system(robot)
    with Bar(progress) as bar:
        found = bench(
            system, methods_of(methods, system), *start.of(system, robot.ground), dt=dt, steps=steps, repeats=repeats,
            peers=peers, progress=bar,
        )  # fmt: skip
    out(found.to_json() if as_json else found)


def _run_scenes(chosen: Scenes, methods: str | None, peers: bool, progress: bool | None, as_json: bool) -> None:
    from vitree.scenes import scenes

    named = None if methods is None else [part for part in (part.strip() for part in methods.split(",")) if part]
    with Bar(progress) as bar:
        found = scenes(chosen.scene, named, quick=chosen.quick, peers=peers, progress=bar)
    out(found.to_json() if as_json else found.to_csv().rstrip("\n") if chosen.as_csv else found)
