"""The command ``vitree``: compare, simulate, info, robots. Needs Typer and Rich (extra "cli")."""

from __future__ import annotations

import json
import re
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np

from vitree.constraints import satisfy_constraints
from vitree.errors import ConvergenceError, InputError, MissingExtraError, VitreeError
from vitree.trajectory import Trajectory, no_nan, package_version, plain

try:
    import rich
    import typer
except ImportError:  # main() says what to install
    rich = typer = None  # type: ignore[assignment]

#: Notes shown below the tree of ``info``.
MOST_NOTES = 8
METHOD_NAMES = (
    "linear-time, midpoint, explicit-euler, semi-implicit-euler, rk4, rk8, scipy-rk45, scipy-dop853, "
    "scipy-radau, scipy-bdf, scipy-lsoda"
)


def _option(*names: str, text: str) -> Any:
    return typer.Option(*names, help=text, show_default=True) if typer else None


def _argument(text: str) -> Any:
    return typer.Argument(help=text, show_default=False) if typer else None


Robot = Annotated[
    str,
    _argument(
        "A robot's name ('vitree robots' lists them), or the path of a URDF file or of a mechanism in "
        "s-expressions (.sexpr)."
    ),
]
Base = Annotated[
    str,
    _option(
        "--base",
        text="How the root link is held: free (6 degrees of freedom), fixed, or euler (free, by "
        "six one-coordinate joints). auto: free for robots with two or more limbs on the root "
        "link, such as talos, else fixed.",
    ),
]
Mimic = Annotated[
    str,
    _option(
        "--mimic",
        text="Joints that mimic others in a URDF file: independent, or made to follow by constraints.",
    ),
]
Loops = Annotated[
    str,
    _option(
        "--loops",
        text="A link with several parent joints in a URDF file: error, or closed loops by constraints.",
    ),
]
Duration = Annotated[float, _option("--duration", "-T", text="Simulated time, in s.")]
Solver = Annotated[
    str, _option("--solver", text="Solver of linear-time and midpoint; auto chooses.")
]
Order = Annotated[
    int,
    _option("--order", text="Order of linear-time and midpoint, a number: 2, or 4, 6, 8 by compositions of steps."),
]
Every = Annotated[int, _option("--every", text="Record each n-th step, a number of steps.")]
StartQ = Annotated[
    str,
    _option(
        "--q0",
        text="Configuration at the start: neutral (all zeros, quaternions 0,0,0,1), random (within "
        "the joints' limits, by --seed), or nq numbers separated by commas, in m, rad and "
        "quaternions x,y,z,w.",
    ),
]
StartV = Annotated[
    str,
    _option(
        "--v0",
        text="Velocity at the start: random (each entry normal with deviation --speed, by --seed), "
        "zero, or nv numbers separated by commas, in m/s and rad/s.",
    ),
]
Speed = Annotated[
    float, _option("--speed", text="Deviation of the random velocity, in rad/s and m/s.")
]
Seed = Annotated[int, _option("--seed", text="Seed of what is random at the start, a number.")]
Gravity = Annotated[
    str, _option("--gravity", text="Gravity in world axes x,y,z, in m/s^2; a .sexpr file has its own.")
]
Damping = Annotated[
    bool,
    _option(
        "--damping/--no-damping",
        text="Keep the joint damping of the file (N m s/rad or N s/m), or set it to zero, so that "
        "energy is conserved.",
    ),
]
Progress = Annotated[
    Optional[bool],  # noqa: UP045 (older Typer)
    _option(
        "--progress/--no-progress",
        text="Show a progress bar on stderr; by default on a terminal, after one second.",
    ),
]
Json = Annotated[bool, _option("--json", text="Print JSON instead of text.")]


def compare(
    robot: Robot,
    methods: Annotated[
        str,
        _option(
            "--methods",
            "-m",
            text="Methods separated by commas, each a NAME, or NAME:SOLVER, NAME:order=4, or NAME:SOLVER:order=4; "
            f"NAME is one of {METHOD_NAMES}.",
        ),
    ] = "linear-time,midpoint,semi-implicit-euler,rk4",
    dt: Annotated[
        str, _option("--dt", text="Time step in s; several, separated by commas, give orders.")
    ] = "0.001",
    duration: Duration = 2.0,
    base: Base = "auto",
    mimic: Mimic = "independent",
    loops: Loops = "error",
    solver: Solver = "auto",
    order: Order = 2,
    q0: StartQ = "neutral",
    v0: StartV = "random",
    speed: Speed = 1.0,
    seed: Seed = 0,
    gravity: Gravity = "0,0,-9.81",
    damping: Damping = True,
    reference: Annotated[
        str,
        _option(
            "--reference",
            text="SciPy method for the solution that errors are measured against, run at a "
            "tolerance of 1e-11 (rad, m, rad/s, m/s); or none.",
        ),
    ] = "scipy-dop853",
    every: Every = 1,
    repeats: Annotated[
        int, _option("--repeats", text="Runs per row, a number; the smallest time in us counts.")
    ] = 1,
    plot: Annotated[
        Optional[str],  # noqa: UP045
        _option(
            "--plot",
            text="File for the picture (.png, .pdf, .svg); by default compare-ROBOT.png.",
        ),
    ] = None,
    no_plot: Annotated[bool, _option("--no-plot", text="Draw no picture.")] = False,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """Run several methods from one state; print and plot a comparison."""
    from vitree.compare import Comparison, compare
    from vitree.integrators import METHODS

    steps = _numbers("--dt", dt)
    model = _load(robot, base, mimic, loops, gravity, damping)
    picture = None if no_plot else _picture(plot, robot)
    jobs = {}
    for label in filter(None, (part.strip() for part in methods.split(","))):
        name, *own = label.split(":")
        if label in jobs:
            raise InputError(f'--methods has "{label}" twice; name each once')
        takes = getattr(METHODS.get(name), "options", ())
        chosen = {key: value for key, value in _chosen(solver, order).items() if key in takes}
        jobs[label] = (name, chosen | dict(_own(label, part) for part in own))
    result: Comparison | None
    interrupted = False
    with _Bar(progress) as bar:
        try:
            result = compare(
                model,
                jobs,
                *_state(model, q0, v0, speed, seed),
                duration=duration,
                dt=steps,
                reference=False if reference == "none" else reference,
                every=every,
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
    method: Annotated[
        str, _option("--method", "-m", text=f"Integrator, one of {METHOD_NAMES}.")
    ] = "linear-time",
    dt: Annotated[float, _option("--dt", text="Time step, in s.")] = 0.001,
    duration: Duration = 2.0,
    output: Annotated[
        Path, _option("--output", "-o", text="File for the trajectory (.npz).")
    ] = Path("run.npz"),
    base: Base = "auto",
    mimic: Mimic = "independent",
    loops: Loops = "error",
    solver: Solver = "auto",
    order: Order = 2,
    q0: StartQ = "neutral",
    v0: StartV = "random",
    speed: Speed = 1.0,
    seed: Seed = 0,
    gravity: Gravity = "0,0,-9.81",
    damping: Damping = True,
    every: Every = 1,
    halvings: Annotated[
        Optional[int],  # noqa: UP045
        _option(
            "--halvings",
            text="How often a step that cannot be solved is halved, a number; by default 3 with the solver auto.",
        ),
    ] = None,
    monitor: Annotated[
        str,
        _option(
            "--monitor",
            text="What to keep of every step, recorded or not, separated by commas: energy, momentum, constraint, "
            "residual, iterations, contraction.",
        ),
    ] = "",
    progress: Progress = None,
) -> None:
    """Run one method and write the trajectory to a file."""
    from vitree.simulate import simulate

    _check_writable(output)
    model = _load(robot, base, mimic, loops, gravity, damping)
    start = _state(model, q0, v0, speed, seed)
    options = _chosen(solver, order) | ({} if halvings is None else {"halvings": halvings})
    traj: Trajectory | None
    try:
        with _Bar(progress) as bar:
            traj = simulate(
                model, *start, duration=duration, dt=dt, method=method, every=every,
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


def info(
    robot: Robot,
    base: Base = "auto",
    mimic: Mimic = "independent",
    loops: Loops = "error",
    as_json: Json = False,
) -> None:
    """Print links, joints, masses and degrees of freedom as a tree."""
    model = _load(robot, base, mimic, loops)
    if as_json:
        print(json.dumps(no_nan(plain(_facts(model))), indent=1, allow_nan=False))
    else:
        _print_tree(model)


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
    version: Annotated[bool, _option("--version", text="Print the version and leave.")] = False,
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
    for command in (compare, simulate, info, robots):
        app.command()(command)
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


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f'{option} "{text}" must be numbers separated by commas') from None


def _chosen(solver: str, order: int) -> dict[str, Any]:
    """Options of a method that are not the default."""
    return ({} if solver == "auto" else {"solver": solver}) | ({} if order == 2 else {"order": order})


def _own(label: str, part: str) -> tuple[str, Any]:
    """What a part of NAME:SOLVER:order=4 behind the name says."""
    key, given, value = part.rpartition("=")
    if not given:
        return "solver", part
    if key != "order" or not value.isdigit():
        raise InputError(f'--methods has "{label}"; behind the name give a solver, or order= and 2, 4, 6 or 8')
    return key, int(value)


def _load(
    robot: str, base: str, mimic: str, loops: str, gravity: str = "0,0,-9.81", damping: bool = True
):
    from vitree.model import Model
    from vitree.robots import find_robot, suggest_base
    from vitree.sexpr import load_sexpr
    from vitree.urdf import load_urdf

    if base not in ("auto", "free", "fixed", "euler"):
        raise InputError(f'--base "{base}" is not known; choose from auto, free, fixed, euler')
    if robot.endswith(".sexpr"):
        model = load_sexpr(robot)
    else:
        path = find_robot(robot)
        base = suggest_base(path) if base == "auto" else base
        field = tuple(_numbers("--gravity", gravity))
        model = load_urdf(path, base=base, gravity=field, mimic=mimic, loops=loops)
    if not damping:
        still = Model(replace(model.full.flat, damping=np.zeros(model.full.nv)))
        model = still if model.full is model else still.reduced()
    return model


def _state(model, q0: str, v0: str, speed: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Read --q0 and --v0; each draws from its own stream, so neither depends on the other.

    A start that is not given in numbers is brought to satisfy the model's constraints.
    """
    if seed < 0:
        raise InputError(f"--seed {seed} must be zero or above")
    if q0 == "random":
        q = model.random_configuration(np.random.default_rng([seed, 0]))
    else:
        q = model.neutral() if q0 == "neutral" else np.array(_numbers("--q0", q0))
    if v0 == "random":
        v = speed * np.random.default_rng([seed, 1]).standard_normal(model.nv)
    else:
        v = model.zero_velocity() if v0 == "zero" else np.array(_numbers("--v0", v0))
    if model.constraints and q0 in ("random", "neutral"):
        q = satisfy_constraints(model, q)
    if v0 == "random":
        v[np.asarray(model.flat.kinematic, dtype=bool)] = 0.0
        v = model.project_velocity(q, v) if model.constraints else v
    return q, v


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


class _Bar:
    """A progress bar on stderr, started once something takes over a second."""

    def __init__(self, wanted: bool | None):
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.patience = 0.0 if wanted else 1.0
        self.rich: Any = None

    def __enter__(self) -> _Bar:
        self.start = time.monotonic()
        return self

    def __call__(self, done: int, total: int, what: str) -> None:
        if not self.wanted or time.monotonic() - self.start < self.patience:
            return
        if self.rich is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            columns = TextColumn("{task.description}", markup=False), BarColumn()
            percent = TextColumn("{task.percentage:>3.0f}%")
            console = Console(stderr=True, force_terminal=True)
            self.rich = Progress(
                *columns, percent, TimeRemainingColumn(), console=console, transient=True
            )
            self.task = self.rich.add_task(what, total=total)
            self.what = what
            self.rich.start()
        if what != self.what:  # the next run: a new estimate of the time
            self.rich.reset(self.task, total=total, description=what)
            self.what = what
        self.rich.update(self.task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self.rich is not None:
            self.rich.stop()


def _facts(model) -> dict[str, Any]:
    """Return what ``info`` shows, for JSON."""
    flat = model.flat
    joints = []
    for joint in model.joints:
        facts = {key: getattr(joint, key) for key in ("name", "kind", "parent", "child", "axis")}
        facts |= {key: getattr(joint, key) for key in ("lower", "upper", "velocity", "effort")}
        facts["damping"] = model.damping[joint.v_slice]
        facts["q"] = [joint.q_slice.start, joint.q_slice.stop]
        facts["v"] = [joint.v_slice.start, joint.v_slice.stop]
        facts["mimic"] = joint.mimic
        joints.append(facts)
    links = [
        {"name": name, "parent": parent, "mass": mass}
        for name, parent, mass in zip(
            model.link_names, flat.link_parent, flat.link_mass, strict=True
        )
    ]
    return {
        "name": model.name,
        "degrees_of_freedom": model.nv,
        "nq": model.nq,
        "total_mass": model.total_mass,
        "gravity": model.gravity,
        "links": links,
        "joints": joints,
        "constraints": [c.name for c in model.constraints],
        "loads": [load.name for load in model.loads],
        "inputs": model.input_names,
        "prescribed": model.kinematic_names,
        "notes": flat.notes,
        "units": "kg, m, rad, s, N",
    }


def _print_tree(model) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    into: dict[str, str] = {}  # link to the joints that lead to it
    pending = ""
    for joint in model.joints:
        pending += f"{_describe(joint, model)} -> "
        if joint.child in model.link_names:  # else it leads to a frame, and the next joint on
            into[joint.child], pending = pending, ""
    moving = len(model.joints)
    title = (
        f"{model.name}: {model.nv} degrees of freedom, {moving} joints, "
        f"{len(model.link_names)} links, {model.total_mass:.6g} kg moving"
    )
    tree = Tree(Text(title))
    nodes: dict[str | None, Any] = {None: tree}
    flat = model.flat
    for name, parent, mass in zip(model.link_names, flat.link_parent, flat.link_mass, strict=True):
        text = Text(f"{into.get(name, '')}{name}, {mass:.4g} kg")
        nodes[name] = nodes.get(parent, tree).add(text)
    for what, some in (("constraint", model.constraints), ("load", model.loads)):
        for each in some:
            tree.add(Text(f"{what}: {each.name}"))
    for what, names in (("inputs", model.input_names), ("prescribed", model.kinematic_names)):
        if names:
            tree.add(Text(f"{what}: {', '.join(names)}"))
    for note in flat.notes[:MOST_NOTES]:
        tree.add(Text(f"note: {note}"))
    if len(flat.notes) > MOST_NOTES:
        tree.add(Text(f"{len(flat.notes) - MOST_NOTES} more notes: --json shows them"))
    wide = None if sys.stdout.isatty() else 10_000  # a pipe gets whole lines
    Console(width=wide, highlight=False).print(tree)


def _describe(joint, model) -> str:
    unit = "m" if joint.kind == "prismatic" else "rad"
    parts = [joint.kind]
    if joint.axis is not None:
        parts.append("axis " + " ".join(f"{x:.3g}" for x in joint.axis))
    if len(joint.lower) == 1 and (np.isfinite(joint.lower[0]) or np.isfinite(joint.upper[0])):
        parts.append(f"{joint.lower[0]:.4g} .. {joint.upper[0]:.4g} {unit}")
    damping = model.damping[joint.v_slice]
    if len(damping) > 1:
        parts.append(f"{len(damping)} degrees of freedom")
    if damping.any():
        parts.append("damping " + " ".join(f"{x:g}" for x in damping))
    if joint.mimic is not None:
        parts.append(f"mimics {joint.mimic[0]}")
    return f"{joint.name} ({', '.join(parts)})"
