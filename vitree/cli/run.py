"""Commands that run integrators: simulate, compare."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Optional

import numpy as np

from vitree.arguments import Keywords
from vitree.cli.base import Force, Json, Notes, option
from vitree.cli.console import Bar, check_writable, counted, first_statement, out, print_json, say, warn, wrote
from vitree.cli.names import METHOD_NAMES, methods, runs
from vitree.cli.options import Imports, Method, Robot, Run, Start, Things, import_all, methods_of, numbers
from vitree.cli.standing import Stand
from vitree.cli.words import blaming, in_options
from vitree.errors import ConvergenceError, InputError, MissingExtraError, UnknownNameError
from vitree.model.system import System
from vitree.run.controller import Control
from vitree.run.trajectory import Trajectory

try:
    import typer
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]

Accuracy = Annotated[
    Optional[float],  # noqa: UP045
    option(
        "--accuracy",
        text="Error allowed with --dt auto, in m and rad, from 1e-13 to 0.1. Default: 1e-6.",
    ),
]
#: Notes of more characters are shown in short.
LONG = 300
#: Endings of tables.
TABLES = (".tex", ".csv", ".json")
#: The methods that ``compare`` runs for a mechanism, by default.
COMPARED = ("linear-time", "midpoint", "semi-implicit-euler", "rk4")


def simulate(
    things: Things,
    start: Stand,
    run: Run,
    method: Method = None,
    imports: Imports = None,
    dt: Annotated[
        str, option("--dt", text="Time step, in s. auto: a constant step, chosen by trial runs of the first part.")
    ] = "0.001",
    accuracy: Accuracy = None,
    output: Annotated[
        Path, option("--output", "-o", text="Output file of the trajectory (.npz).", complete=runs)
    ] = Path("run.npz"),
    max_halvings: Annotated[
        Optional[int],  # noqa: UP045
        option(
            "--max-halvings",
            text="Largest number of times that a step is halved if its solver fails. Default: 3 with the solver auto.",
        ),
    ] = None,
    max_impacts: Annotated[
        Optional[int],  # noqa: UP045
        option(
            "--max-impacts",
            text="Largest number of impacts that are located in time within a step. Default: 0, impacts at the ends of "
            "steps.",
        ),
    ] = None,
    monitor: Annotated[
        str,
        option(
            "--monitor",
            text="Quantities to store at every step, also between records, separated by commas: energy, momentum, "
            "constraint, residual, iterations, contraction, certificate, error, drive_forces, gap, contact_work, "
            "momentum_balance.",
        ),
    ] = "",
    force: Force = False,
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Simulate with one method and save the trajectory."""
    from vitree.run.simulate import simulate

    check_writable("--output", output, ".npz", force=force)
    step = step_of(dt)
    import_all(imports)
    inputs = run.driven()
    if (robot := things.alone) is not None:
        system, q, v, targets, told = start.prepare(robot, run, method)
    else:
        system, q, v, held, told = start.prepare_world(things, run)
        targets, inputs = held.targets or None, held.inputs | (inputs or {}) or None
    method = method or next(iter(system.methods))
    options = run.chosen(max_halvings=max_halvings, max_impacts=max_impacts)
    keeps = system.is_conservative and inputs is None and targets is None
    try:
        with Bar(run.progress) as bar:
            traj = simulate(
                system, q, v, duration=run.duration, dt=step, accuracy=accuracy,
                method=method, record_every=run.record_every, control=Control(inputs=inputs, targets=targets),
                monitors=[name for name in (part.strip() for part in monitor.split(",")) if name],
                progress=lambda done, total: bar(done, total, f"{method}, dt = {dt} s"), **options,
            )  # fmt: skip
    except (ConvergenceError, KeyboardInterrupt) as error:
        kept = getattr(error, "trajectory", None)
        if kept is None:
            raise
        if kept.steps or not output.is_file():
            kept.save(output)
            text = f"wrote the {counted(len(kept), 'record')} before it to {output}"
        else:
            text = f"no step was taken before it, and {output} stays as it was"
        if isinstance(error, ConvergenceError):
            error.args = (error.args[0] + f"; {text}",)
            raise
        if as_json:
            print_json(_facts_of_run(kept, output, keeps))
        say(f"interrupted; {text}")
        raise typer.Exit(130) from None
    traj.save(output)
    facts = _facts_of_run(traj, output, keeps)
    if as_json:
        print_json(facts)
        return
    energy = f"within {facts['energy_error']:.2e}" if keeps else f"changed by {facts['energy_change']:.3g}"
    rest = " at rest" if "adapt" in options else ""
    out(
        f"{system.name} by {method}: {counted(traj.steps, 'step')} of {traj.dt:g} s{rest} in {traj.seconds:.3g} s "
        f"({facts['us_per_step']:.1f} us/step), energy {energy} J; wrote {counted(len(traj), 'record')} to {output}"
    )
    if "auto" in traj.settings:
        auto = traj.settings["auto"]
        out(
            f"dt = {traj.dt:.6g} s was chosen: over the first {auto['trial']:g} s the error is about "
            f"{auto['error']:.1e} rad, m ({counted(auto['steps'], 'step')} of trials)"
        )
    if told:
        out(told)
    out(f"see it: vitree view {shlex.quote(str(output))}")
    warn(traj.warnings, notes)


def _facts_of_run(traj: Trajectory, output: Path, keeps: bool) -> dict[str, object]:
    """Return the facts of a run; the energy has an error only if the system conserves it."""
    change = traj.energy - traj.energy[0]
    return {
        "file": str(output), "model": traj.model_name, "method": traj.method, "dt": traj.dt, "duration": traj.t[-1],
        "steps": traj.steps, "records": len(traj), "seconds": traj.seconds,
        "us_per_step": 1e6 * traj.seconds / max(traj.steps, 1),
        "energy_error": np.abs(change).max() if keeps else None, "energy_change": change[-1],
        "iterations_total": traj.iterations_total, "auto": traj.settings.get("auto"), "warnings": list(traj.warnings),
    }  # fmt: skip


def compare(
    robot: Robot,
    run: Run,
    start: Start,
    methods: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--methods",
            "-m",
            text="Methods separated by commas, each NAME, NAME:SOLVER, NAME:order=4 or NAME:SOLVER:order=4; "
            f"NAME is one of {METHOD_NAMES}. Default: {', '.join(COMPARED)}; for vehicles all but SciPy's.",
            complete=methods,
        ),
    ] = None,
    imports: Imports = None,
    dt: Annotated[
        str,
        option(
            "--dt", text="Time step, in s; several, separated by commas, show the order. auto: one for each method."
        ),
    ] = "0.001",
    accuracy: Accuracy = None,
    reference: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--reference",
            text="Method of the reference solution: gauss, at a step that makes its error negligible; a SciPy method, "
            "at a tolerance of 1e-11 (rad, m, rad/s, m/s); linear-time, of order 8, and in contact of order 2 at small "
            "steps; or none. Default: gauss; linear-time with loops, contacts, enforced limits or dry friction.",
        ),
    ] = None,
    repeats: Annotated[
        int, option("--repeats", text="Number of timed runs per row; the shortest time, in us, is reported.")
    ] = 3,
    ensemble: Annotated[
        int,
        option(
            "--ensemble",
            text="Number of starts: random ones, from --seed and the seeds after it. With 2 or more the table and the "
            "plot have medians and bands.",
        ),
    ] = 1,
    work_precision: Annotated[
        bool, option("--work-precision", text="Compare error and computing time, over --dt and --tolerances.")
    ] = False,
    tolerances: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--tolerances",
            text="With --work-precision: tolerances of SciPy's methods, separated by commas; with a single --dt of all "
            "methods that have one.",
        ),
    ] = None,
    engines: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--engines",
            text="Other programs to compare with, separated by commas: mujoco (with euler, implicitfast and rk4), "
            "pinocchio (with semi-implicit-euler and rk4 on its accelerations), or one of their methods, such as "
            "mujoco:rk4.",
        ),
    ] = None,
    plot: Annotated[
        Optional[str],  # noqa: UP045
        option(
            "--plot",
            text="Output file of the plot (.png, .pdf, .svg). Default: compare-ROBOT.png.",
        ),
    ] = None,
    no_plot: Annotated[bool, option("--no-plot", text="Do not draw a plot.")] = False,
    html: Annotated[
        Optional[Path],  # noqa: UP045
        option("--html", text="Output file of a page with the table, the plot, the notes and the settings (.html)."),
    ] = None,
    table: Annotated[
        Optional[Path],  # noqa: UP045
        option("--table", text="Output file of the table: LaTeX (.tex), CSV with all measures (.csv) or JSON (.json)."),
    ] = None,
    force: Force = False,
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Compare methods from one initial state, in a table and a plot."""
    from vitree.plot import check_format
    from vitree.run.compare import Comparison, compare
    from vitree.run.compare_sets import EnsembleComparison, WorkPrecision, compare_ensemble
    from vitree.run.compare_sets import work_precision as compare_work

    steps = [step_of(part) for part in dt.split(",")]
    if (ensemble > 1 or work_precision) and "auto" in steps:
        raise InputError("--dt auto chooses a step for each start; with --ensemble and --work-precision give numbers")
    levels = _levels(tolerances, work_precision)
    import_all(imports)
    system = run.system(robot)
    picture = None if no_plot else _picture(plot, robot.robot, force)
    if html is not None:
        check_writable("--html", html, ".html", force=force)
        check_format("page.svg")  # it has a plot
    if table is not None:
        check_writable("--table", table, *TABLES, force=force)
    result: Comparison | EnsembleComparison | WorkPrecision | None
    interrupted = False
    given: Keywords = {
        "duration": run.duration, "dt": steps, "reference": False if reference == "none" else reference,
        "control": Control(inputs=run.driven()), "record_every": run.record_every, "repeats": repeats,
        "engines": [part for part in (part.strip() for part in (engines or "").split(",")) if part],
    }  # fmt: skip
    chosen, (q, v) = jobs_of(methods, system, run), _starts(start, system, robot.ground, ensemble)
    with Bar(run.progress) as bar:
        try:
            if work_precision:
                result = compare_work(system, chosen, q, v, tolerance=levels, progress=bar, **given)
            elif ensemble > 1:
                result = compare_ensemble(system, chosen, q, v, progress=bar, **given)
            else:
                result = compare(system, chosen, q, v, accuracy=accuracy, progress=bar, **given)
        except KeyboardInterrupt as interrupt:
            result, interrupted = getattr(interrupt, "comparison", None), True
            result = None if work_precision or ensemble > 1 else result  # that of one start
    if result is not None and not result.table:
        result = None
    if result is not None:
        out(result.to_json() if as_json else replace(result, notes=_notes(result.notes, notes)))
        if picture is not None and (not isinstance(result, Comparison) or result.series):
            text = wrote(picture)
            result.plot(picture)
            say(text)
        for path in (html, table):
            if path is not None:
                text = wrote(path)
                result.save(path)
                say(text)
    if interrupted:
        shown = "; the rows that were finished are shown" if result is not None else " before anything was finished"
        say(f"interrupted{shown}")
        raise typer.Exit(130)


def _levels(text: str | None, used: bool) -> list[float] | None:
    """Return the numbers of ``--tolerances``."""
    if text is None:
        return None
    found = numbers("--tolerances", text)
    if not used:
        raise InputError("--tolerances is of --work-precision; give that, too, or --option tolerance= for all methods")
    if not all(0 < x < 1 for x in found) or len(set(found)) < len(found):
        raise InputError(f'--tolerances "{text}" must be numbers between 0 and 1 that differ')
    return found


def _starts(start: Start, system: System, on_ground: bool | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v of the start, or of several, one in a row."""
    if count < 1:
        raise InputError(f"--ensemble {count} must be 1 or more")
    if count == 1:
        return start.of(system, on_ground)
    if "random" not in (start.q0, start.v0):
        raise InputError("--ensemble draws starts, and --q0 and --v0 are not random; give --v0 random, or --q0 random")
    rows = [replace(start, seed=start.seed + k).of(system, on_ground) for k in range(count)]
    return np.array([q for q, _ in rows]), np.array([v for _, v in rows])


def _notes(texts: Iterable[str], whole: bool) -> tuple[str, ...]:
    """Return the notes of a comparison; those that name everything of a kind in short, if not ``whole``."""
    told = [in_options(text) for text in texts]
    short = [text if whole or len(text) <= LONG else first_statement(text, LONG) for text in told]
    return (*short, *(["--notes shows the notes in full."] if short != told else []))


def step_of(text: str) -> str | float:
    """Return a time step [s], or auto."""
    try:
        return "auto" if text.strip() == "auto" else float(text)
    except ValueError:
        raise InputError(f'--dt "{text}" must be a number of seconds, or auto') from None


def jobs_of(methods: str | None, system: System, run: Run) -> dict[str, tuple[str, Keywords]]:
    """Return the method and its options, by labels such as linear-time:riqn:order=4."""
    jobs: dict[str, tuple[str, Keywords]] = {}
    known: set[str] = set()
    for label in methods_of(methods, system, COMPARED):
        name, *own = label.split(":")
        if label in jobs:
            raise InputError(f'--methods has "{label}" twice; name each once')
        if name not in system.methods:
            raise UnknownNameError("method", name, system.methods, argument="methods")
        takes = system.methods[name].options
        known |= set(takes)
        chosen = {key: value for key, value in run.chosen().items() if key in takes}
        jobs[label] = (name, chosen | dict(_own(label, part) for part in own))
    for key in (key for key in run.chosen() if key not in known):
        given = f"--{key}" if key in ("solver", "order") else f"--option {key}="
        raise InputError(f"{given}: none of these methods takes it; they take {', '.join(sorted(known)) or 'none'}")
    return jobs


def _own(label: str, part: str) -> tuple[str, str | int]:
    """Return name and value of the option that a part of NAME:SOLVER:order=4 gives."""
    key, given, value = part.rpartition("=")
    if not given:
        return "solver", part
    if key != "order" or not value.isdigit():
        raise InputError(f'--methods has "{label}"; behind the name give :SOLVER, or :order= and 2, 4, 6 or 8')
    return key, int(value)


def _picture(plot: str | None, robot: str, force: bool) -> Path | None:
    """Return where the picture goes; without matplotlib none, unless it was asked for."""
    from vitree.plot import check_format

    name = re.sub(r"[^\w.-]+", "-", Path(robot).stem if Path(robot).is_file() else robot)
    path = Path(plot or f"compare-{name}.png")
    check_writable("--plot", path, force=force)
    try:
        with blaming("--plot"):
            check_format(path)
    except MissingExtraError as missing:
        if plot is not None:
            raise
        say(f"no picture: {missing}")
        return None
    return path
