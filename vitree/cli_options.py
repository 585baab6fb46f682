"""Options of the commands: groups that several share, and what is made of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Optional, get_type_hints

import numpy as np

from vitree.errors import InputError

try:
    import typer
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]

METHOD_NAMES = (
    "linear-time, midpoint, explicit-euler, semi-implicit-euler, rk4, rk8, scipy-rk45, scipy-dop853, "
    "scipy-radau, scipy-bdf, scipy-lsoda"
)


def option(*names: str, text: str) -> Any:
    """An option of a command."""
    return typer.Option(*names, help=text, show_default=True) if typer else None


def argument(text: str) -> Any:
    """An argument of a command."""
    return typer.Argument(help=text, show_default=False) if typer else None


def grouped(command: Callable) -> Callable:
    """Return a command whose parameters that are groups of options became options of their own."""
    hints = get_type_hints(command, include_extras=True)
    parameters, groups = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        group, own = hints[name], get_type_hints(hints[name], include_extras=True)
        groups[name] = group
        for field in fields(group):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind, hint = inspect.Parameter.KEYWORD_ONLY, own[field.name]
            parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=hint))

    @functools.wraps(command)
    def run(**given):
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


Json = Annotated[bool, option("--json", text="Print JSON instead of text.")]


@dataclass(kw_only=True)
class Reading:
    """How a robot file is read."""

    base: Annotated[
        str,
        option(
            "--base",
            text="How the root link is held: free (6 degrees of freedom), fixed, or euler (free, by "
            "six one-coordinate joints). auto: free for robots with two or more limbs on the root "
            "link, such as talos, else fixed.",
        ),
    ] = "auto"
    mimic: Annotated[
        str,
        option(
            "--mimic",
            text="Joints that mimic others in a URDF file: reduced (without a coordinate of their own), made to follow "
            "by constraints, or independent.",
        ),
    ] = "reduced"
    loops: Annotated[
        str,
        option(
            "--loops",
            text="A link with several parent joints in a URDF file: error, or closed loops by constraints.",
        ),
    ] = "error"
    root: Annotated[
        Optional[str],  # noqa: UP045 (older Typer)
        option("--root", text="Name of the link to take as the root of a URDF file."),
    ] = None
    inertia: Annotated[
        str,
        option(
            "--inertia",
            text="Inertias in a URDF file that no body has: strict (an error), warn, repair (the nearest of a body), "
            "or geometry (those of the link's shapes).",
        ),
    ] = "warn"
    density: Annotated[
        float, option("--density", text="Density of shapes for --inertia geometry, in kg/m^3.")
    ] = 1000.0
    packages: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--package", text="NAME=FOLDER of a package, or a FOLDER that holds packages; may be repeated."),
    ] = None
    xacro: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--xacro", text="NAME=VALUE of an argument of a xacro file; may be repeated."),
    ] = None

    def options(self, path: Any) -> dict[str, Any]:
        """Return the options of ``load_urdf`` for a file."""
        from vitree.robots import suggest_base

        if self.base not in ("auto", "free", "fixed", "euler"):
            raise InputError(f'--base "{self.base}" is not known; choose from auto, free, fixed, euler')
        return {
            "base": suggest_base(path) if self.base == "auto" else self.base, "mimic": self.mimic, "loops": self.loops,
            "root": self.root, "inertia": self.inertia, "density": self.density,
            "packages": _folders(self.packages or []), "xacro": _pairs("--xacro", self.xacro or []) or None,
        }  # fmt: skip


@dataclass(kw_only=True)
class Robot(Reading):
    """A robot, and how its file is read."""

    robot: Annotated[
        str,
        argument(
            "A robot's name ('vitree robots' lists them), or the path of a URDF or xacro file or of a mechanism in "
            "s-expressions (.sexpr)."
        ),
    ]

    def load(self, gravity=(0.0, 0.0, -9.81)):
        """Return its model, under a gravity (3,) [m/s^2] if it is a robot file."""
        from vitree.robots import find_robot
        from vitree.sexpr import load_sexpr
        from vitree.urdf import load_urdf

        if self.robot.endswith(".sexpr"):
            return load_sexpr(self.robot)
        path = find_robot(self.robot)
        return load_urdf(path, gravity=gravity, **self.options(path))


@dataclass(kw_only=True)
class Start:
    """The state at the start."""

    q0: Annotated[
        str,
        option(
            "--q0",
            text="Configuration at the start: neutral (all zeros, quaternions 0,0,0,1), random (within "
            "the joints' limits, by --seed), or nq numbers separated by commas, in m, rad and "
            "quaternions x,y,z,w.",
        ),
    ] = "neutral"
    v0: Annotated[
        str,
        option(
            "--v0",
            text="Velocity at the start: random (each entry normal with deviation --speed, by --seed), "
            "zero, or nv numbers separated by commas, in m/s and rad/s.",
        ),
    ] = "random"
    speed: Annotated[float, option("--speed", text="Deviation of the random velocity, in rad/s and m/s.")] = 1.0
    seed: Annotated[int, option("--seed", text="Seed of what is random at the start, a number.")] = 0

    def of(self, model) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v; each draws from its own stream, so neither depends on the other.

        A start that is not given in numbers is brought to satisfy the model's constraints.
        """
        from vitree.constraints import satisfy_constraints

        if self.seed < 0:
            raise InputError(f"--seed {self.seed} must be zero or above")
        if self.q0 == "random":
            q = model.random_configuration(np.random.default_rng([self.seed, 0]))
        else:
            q = model.neutral() if self.q0 == "neutral" else np.array(numbers("--q0", self.q0))
        if self.v0 == "random":
            v = self.speed * np.random.default_rng([self.seed, 1]).standard_normal(model.nv)
        else:
            v = model.zero_velocity() if self.v0 == "zero" else np.array(numbers("--v0", self.v0))
        if model.constraints and self.q0 in ("random", "neutral"):
            q = satisfy_constraints(model, q)
        if self.v0 == "random":
            v[np.asarray(model.flat.kinematic, dtype=bool)] = 0.0
            v = model.project_velocity(q, v) if model.constraints else v
        return q, v


@dataclass(kw_only=True)
class Run:
    """What is simulated, and for how long."""

    duration: Annotated[float, option("--duration", "-T", text="Simulated time, in s.")] = 2.0
    gravity: Annotated[
        str, option("--gravity", text="Gravity in world axes x,y,z, in m/s^2; a .sexpr file has its own.")
    ] = "0,0,-9.81"
    damping: Annotated[
        bool,
        option(
            "--damping/--no-damping",
            text="Keep the joint damping (N m s/rad or N s/m) and friction (N m or N) of the file, or set both "
            "to zero, so that energy is conserved.",
        ),
    ] = True
    solver: Annotated[str, option("--solver", text="Solver of linear-time and midpoint; auto chooses.")] = "auto"
    order: Annotated[
        int,
        option("--order", text="Order of linear-time and midpoint, a number: 2, or 4, 6, 8 by compositions of steps."),
    ] = 2
    every: Annotated[int, option("--every", text="Record each n-th step, a number of steps.")] = 1
    progress: Annotated[
        Optional[bool],  # noqa: UP045
        option(
            "--progress/--no-progress",
            text="Show a progress bar on stderr; by default on a terminal, after one second.",
        ),
    ] = None

    def model(self, robot: Robot):
        """Return the model of a robot as it is to be simulated."""
        from vitree.model import Model

        model = robot.load(tuple(numbers("--gravity", self.gravity)))
        if self.damping:
            return model
        zero = np.zeros(model.full.nv)
        still = Model(replace(model.full.flat, damping=zero, friction=zero))
        return still if model.full is model else still.reduced()

    def chosen(self) -> dict[str, Any]:
        """Return the options of a method that are not its defaults."""
        return ({} if self.solver == "auto" else {"solver": self.solver}) | (
            {} if self.order == 2 else {"order": self.order}
        )


def numbers(name: str, text: str) -> list[float]:
    """Return what an option says as numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f'{name} "{text}" must be numbers separated by commas') from None


def _pairs(name: str, texts: list[str]) -> dict[str, str]:
    """What an option says as NAME=VALUE."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f'{name} "{text}" must be NAME=VALUE')
        pairs[key] = value
    return pairs


def _folders(texts: list[str]) -> dict[str, str] | list[str] | None:
    """Folders of packages by name, or folders that hold packages."""
    named = [text for text in texts if "=" in text]
    if named and len(named) < len(texts):
        raise InputError("--package is given as NAME=FOLDER or as FOLDER, not as both")
    return _pairs("--package", named) if named else texts or None
