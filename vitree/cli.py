"""The command ``vitree``: compare, simulate, info, check, fix, robots. Needs Typer and Rich (extra "cli")."""

from __future__ import annotations

import json
import re
import sys
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np

from vitree.cli_options import METHOD_NAMES, Json, Reading, Robot, Run, Start, argument, grouped, numbers, option
from vitree.cli_show import Bar, facts_of, print_tree
from vitree.errors import ConvergenceError, InputError, MissingExtraError, VitreeError
from vitree.findings import SEVERITIES, Finding
from vitree.trajectory import Trajectory, no_nan, package_version, plain

try:
    import rich
    import typer
except ImportError:  # main() says what to install
    rich = typer = None  # type: ignore[assignment]


def compare(
    robot: Robot,
    run: Run,
    start: Start,
    methods: Annotated[
        str,
        option(
            "--methods",
            "-m",
            text="Methods separated by commas, each a NAME, or NAME:SOLVER, NAME:order=4, or NAME:SOLVER:order=4; "
            f"NAME is one of {METHOD_NAMES}.",
        ),
    ] = "linear-time,midpoint,semi-implicit-euler,rk4",
    dt: Annotated[
        str, option("--dt", text="Time step in s; several, separated by commas, give orders.")
    ] = "0.001",
    reference: Annotated[
        str,
        option(
            "--reference",
            text="SciPy method for the solution that errors are measured against, run at a "
            "tolerance of 1e-11 (rad, m, rad/s, m/s); or none.",
        ),
    ] = "scipy-dop853",
    repeats: Annotated[
        int, option("--repeats", text="Runs per row, a number; the smallest time in us counts.")
    ] = 1,
    plot: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--plot",
            text="File for the picture (.png, .pdf, .svg); by default compare-ROBOT.png.",
        ),
    ] = None,
    no_plot: Annotated[bool, option("--no-plot", text="Draw no picture.")] = False,
    as_json: Json = False,
) -> None:
    """Run several methods from one state; print and plot a comparison."""
    from vitree.compare import Comparison, compare
    from vitree.integrators import METHODS

    steps = numbers("--dt", dt)
    model = run.model(robot)
    picture = None if no_plot else _picture(plot, robot.robot)
    jobs = {}
    for label in filter(None, (part.strip() for part in methods.split(","))):
        name, *own = label.split(":")
        if label in jobs:
            raise InputError(f'--methods has "{label}" twice; name each once')
        takes = getattr(METHODS.get(name), "options", ())
        chosen = {key: value for key, value in run.chosen().items() if key in takes}
        jobs[label] = (name, chosen | dict(_own(label, part) for part in own))
    result: Comparison | None
    interrupted = False
    with Bar(run.progress) as bar:
        try:
            result = compare(
                model,
                jobs,
                *start.of(model),
                duration=run.duration,
                dt=steps,
                reference=False if reference == "none" else reference,
                every=run.every,
                repeats=repeats,
                progress=bar,
            )
        except KeyboardInterrupt as interrupt:
            result, interrupted = getattr(interrupt, "comparison", None), True
    if result is not None and result.table:
        print(result.to_json() if as_json else result)
        if picture is not None and result.series:
            result.plot(picture)
            _say(f"wrote {picture}")
    if interrupted:
        _say("interrupted; what was finished is shown")
        raise typer.Exit(130)


def simulate(
    robot: Robot,
    run: Run,
    start: Start,
    method: Annotated[
        str, option("--method", "-m", text=f"Integrator, one of {METHOD_NAMES}.")
    ] = "linear-time",
    dt: Annotated[float, option("--dt", text="Time step, in s.")] = 0.001,
    output: Annotated[
        Path, option("--output", "-o", text="File for the trajectory (.npz).")
    ] = Path("run.npz"),
    halvings: Annotated[
        Optional[int],  # noqa: UP045
        option(
            "--halvings",
            text="How often a step that cannot be solved is halved, a number; by default 3 with the solver auto.",
        ),
    ] = None,
    monitor: Annotated[
        str,
        option(
            "--monitor",
            text="What to keep of every step, recorded or not, separated by commas: energy, momentum, constraint, "
            "residual, iterations, contraction.",
        ),
    ] = "",
) -> None:
    """Run one method and write the trajectory to a file."""
    from vitree.simulate import simulate

    _check_writable(output)
    model = run.model(robot)
    options = run.chosen() | ({} if halvings is None else {"halvings": halvings})
    traj: Trajectory | None
    try:
        with Bar(run.progress) as bar:
            traj = simulate(
                model, *start.of(model), duration=run.duration, dt=dt, method=method, every=run.every,
                monitors=[name for name in (part.strip() for part in monitor.split(",")) if name],
                progress=lambda done, total: bar(done, total, method), **options,
            )  # fmt: skip
    except (ConvergenceError, KeyboardInterrupt) as error:
        traj = getattr(error, "trajectory", None)
        if traj is None:
            raise
        traj.save(output)
        kept = f"wrote the {len(traj)} records before it to {output}"
        if isinstance(error, KeyboardInterrupt):
            _say(f"interrupted; {kept}")
            raise typer.Exit(130) from None
        error.args = (f"{error}; {kept}",)
        raise
    traj.save(output)
    energy = np.abs(traj.energy - traj.energy[0]).max()
    print(
        f"{model.name} by {method}: {traj.steps} steps of {dt:g} s in {traj.seconds:.3g} s "
        f"({1e6 * traj.seconds / max(traj.steps, 1):.1f} us/step), energy within {energy:.2e} J; "
        f"wrote {len(traj)} records to {output}"
    )


def info(robot: Robot, as_json: Json = False) -> None:
    """Print links, joints, masses and degrees of freedom as a tree."""
    model = robot.load()
    if as_json:
        print(json.dumps(no_nan(plain(facts_of(model))), indent=1, allow_nan=False))
    else:
        print_tree(model)


def check(
    reading: Reading,
    files: Annotated[list[str], argument("Robot files (URDF or xacro), or names of robots; several may be given.")],
    strict: Annotated[bool, option("--strict", text="Exit with 1 if there are warnings.")] = False,
    notes: Annotated[bool, option("--notes", text="Print notes, too: what was done with the file.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is wrong with robot files, a line each: file:line: severity id: text.

    Exits with 0 if there are no errors, 2 if there are some, and 1 with --strict if there are warnings only.
    """
    from vitree.robots import find_robot
    from vitree.urdf import check_urdf

    found: list[Finding] = []
    for name in files:
        path = find_robot(name)
        found += [replace(finding, file=str(path)) for finding in check_urdf(path, **reading.options(path))]
    counts = {severity: sum(finding.severity == severity for finding in found) for severity in SEVERITIES}
    if as_json:
        facts = {"files": files, "counts": counts, "findings": [asdict(finding) for finding in found]}
        print(json.dumps(facts, indent=1))
    else:
        for finding in found:
            if notes or finding.severity != "note":
                print(finding)
        _say(", ".join(f"{count} {severity}{'s' * (count != 1)}" for severity, count in counts.items()))
    code = 2 if counts["error"] else 1 if strict and counts["warning"] else 0
    raise typer.Exit(code)


def fix(
    robot: Robot,
    output: Annotated[Path, option("--output", "-o", text="File for the repaired robot (.urdf).")],
) -> None:
    """Repair the inertias that no body has and axes that are not of length one; all else of the file stays.

    Prints each change, and the errors and warnings that remain. By default --inertia is repair.
    """
    from vitree.robots import find_robot
    from vitree.trajectory import replacing
    from vitree.urdf import fix_urdf

    _check_writable(output)
    path = find_robot(robot.robot)
    options = robot.options(path)
    fixed = fix_urdf(path, **(options | {"inertia": "repair" if robot.inertia == "warn" else robot.inertia}))
    with replacing(output) as stream:
        stream.write(fixed.text.encode())
    for finding in fixed.changes:
        print(replace(finding, file=str(path)))
    for finding in fixed.remaining.of("error", "warning"):
        print(replace(finding, file=str(output)))
    _say(f"{len(fixed.changes)} changes; wrote {output}")


def robots(as_json: Json = False) -> None:
    """List the robots known by name, each with its file."""
    from vitree.robots import list_robots

    found = list_robots()
    if as_json:
        print(json.dumps({name: str(path) for name, path in found.items()}, indent=1))
        return
    width = max(map(len, found), default=0)
    for name, path in found.items():
        print(f"{name.ljust(width)}  {path}")


def _root(
    context: typer.Context,
    version: Annotated[bool, option("--version", text="Print the version and leave.")] = False,
) -> None:
    """Variational integrators for articulated robots, from URDF to trajectory."""
    if version:
        print(f"vitree {package_version()}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 after an error, said in one line."""
    if typer is None:
        missing = MissingExtraError("typer", "cli", "the command line")
        return _fail(missing)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_root)
    for command in (compare, simulate, info, check, fix, robots):
        app.command()(grouped(command))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
            code = app(args=argv, prog_name="vitree", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        return 130
    except (VitreeError, OSError) as error:
        return _fail(error)
    except Exception as error:
        if hasattr(error, "format_message"):  # what Typer raises for wrong usage
            return _fail(error.format_message() + " (--help lists what there is)")
        raise


def _say(text: object) -> None:
    print("vitree: " + " ".join(str(text).split()), file=sys.stderr)


def _fail(text: object) -> int:
    _say(text)
    return 2


def _own(label: str, part: str) -> tuple[str, Any]:
    """What a part of NAME:SOLVER:order=4 behind the name says."""
    key, given, value = part.rpartition("=")
    if not given:
        return "solver", part
    if key != "order" or not value.isdigit():
        raise InputError(f'--methods has "{label}"; behind the name give a solver, or order= and 2, 4, 6 or 8')
    return key, int(value)


def _picture(plot: str | None, robot: str) -> Path | None:
    """Return where the picture goes; without matplotlib none, unless it was asked for."""
    from vitree.plot import check_format

    name = re.sub(r"[^\w.-]+", "-", Path(robot).stem if Path(robot).is_file() else robot)
    path = Path(plot or f"compare-{name}.png")
    _check_writable(path)
    try:
        check_format(path)
    except MissingExtraError as missing:
        if plot is not None:
            raise
        _say(f"no picture: {missing}")
        return None
    return path


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory; give a file's name")
