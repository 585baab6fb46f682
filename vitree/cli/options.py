"""Groups of options that several commands share, and the objects that they describe."""

from __future__ import annotations

import contextlib
import importlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import numpy as np

from vitree.arguments import Keywords
from vitree.cli.base import Progress, argument, option
from vitree.cli.console import counted, say
from vitree.cli.names import (
    METHOD_NAMES,
    METHOD_OPTIONS,
    SOLVERS,
    VEHICLES,
    is_scene,
    is_vehicle,
    methods,
    one_of,
    robots,
    vehicle,
)
from vitree.cli.words import blaming
from vitree.errors import InputError, ModelError, UnknownNameError, UrdfError
from vitree.mechanism.contacts import FRICTION, LIMITS, RESTITUTION, Ground
from vitree.model.model import Model
from vitree.model.system import System

if TYPE_CHECKING:
    from vitree.model.keyframes import Keyframe

ROBOT = (
    "Name of a robot or vehicle ('vitree robots' lists them), or path of a URDF, xacro, MJCF, SDF or s-expression "
    "(.sexpr) file, or of a scene (.toml)."
)
GRAVITY = "0,0,-9.81"


@dataclass(kw_only=True)
class Reading:
    """How a robot file is read."""

    base: Annotated[
        str,
        option(
            "--base",
            text="Joint between the world and the root link: free (6 degrees of freedom), fixed, or euler (three "
            "translations and three angles). auto: free for robots with two or more limbs on a root that has mass, "
            "such as talos; otherwise fixed.",
            complete=one_of("auto", "free", "fixed", "euler"),
        ),
    ] = "auto"
    mimic: Annotated[
        str,
        option(
            "--mimic",
            text="Mimic joints of a URDF file: reduced (eliminated from the coordinates), constraints (coupled by "
            "constraints), or independent.",
            complete=one_of("reduced", "constraints", "independent"),
        ),
    ] = "reduced"
    loops: Annotated[
        str,
        option(
            "--loops",
            text="Links with several parent joints in a URDF file: error, or constraints, which close the loops.",
            complete=one_of("error", "constraints"),
        ),
    ] = "error"
    root: Annotated[
        Optional[str],  # noqa: UP045 (older Typer)
        option("--root", text="Name of the root link of a URDF file. Default: the link without a parent joint."),
    ] = None
    inertia: Annotated[
        str,
        option(
            "--inertia",
            text="Physically impossible inertias in a URDF file: strict (an error), warn, repair (replaced by the "
            "nearest possible ones), or geometry (computed from the shapes of the link).",
            complete=one_of("strict", "warn", "repair", "geometry"),
        ),
    ] = "warn"
    density: Annotated[
        float, option("--density", text="Density of the shapes with --inertia geometry, in kg/m^3.")
    ] = 1000.0
    armature: Annotated[
        Optional[list[str]],  # noqa: UP045
        option(
            "--armature",
            text="Inertia of the rotors of the joints of a URDF file, times the square of their gear ratios, in kg m^2 "
            "or kg: a number for all joints, or JOINT=NUMBER with a name or a pattern; may be repeated.",
        ),
    ] = None
    packages: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--package", text="ROS package as NAME=FOLDER, or a FOLDER that contains packages; may be repeated."),
    ] = None
    xacro: Annotated[
        Optional[list[str]],  # noqa: UP045
        option("--xacro", text="Argument of a xacro file as NAME=VALUE; may be repeated."),
    ] = None
    trust: Annotated[
        bool,
        option(
            "--trust", text="Allow a xacro file to execute Python code and to read any file; only for files you trust."
        ),
    ] = False

    ground: Annotated[
        Optional[bool],  # noqa: UP045
        option(
            "--ground/--no-ground",
            text="Contact of the collision shapes with the ground and with each other. The ground of a URDF file, and "
            "of an SDF file without planes, is the plane z = 0; others have their own planes and shapes. A robot of "
            "URDF or MJCF with a free base starts on the "
            "ground, unless --q0 is given as numbers. Default: contact only if simulate starts a standing robot.",
        ),
    ] = None
    friction: Annotated[
        Optional[float],  # noqa: UP045
        option("--friction", text=f"Coefficient of friction of --ground, without unit. Default: {FRICTION}."),
    ] = None
    restitution: Annotated[
        Optional[float],  # noqa: UP045
        option(
            "--restitution",
            text=f"Coefficient of restitution of --ground, without unit, from 0 to 1. Default: {RESTITUTION:g}.",
        ),
    ] = None
    limits: Annotated[
        str,
        option(
            "--limits",
            text="Joint limits of a URDF, MJCF or SDF file: report (the run warns if a joint exceeds one), enforce, or "
            "ignore.",
            complete=one_of(*LIMITS),
        ),
    ] = LIMITS[0]
    limit_restitution: Annotated[
        Optional[float],  # noqa: UP045
        option(
            "--limit-restitution",
            text="Coefficient of restitution at joint limits with --limits enforce, without unit, from 0 (no "
            "rebound) to 1. Default: 0.",
        ),
    ] = None
    velocity_limits: Annotated[
        str,
        option(
            "--velocity-limits",
            text="Limits of joint velocities of a URDF or SDF file: report (the run warns if a joint exceeds one), "
            "enforce, or ignore.",
            complete=one_of(*LIMITS),
        ),
    ] = LIMITS[0]
    joint_friction: Annotated[
        str,
        option(
            "--joint-friction",
            text="Joint friction of a URDF, MJCF or SDF file: smooth (regularised; a loaded joint creeps), or dry "
            "(Coulomb friction with exact sticking; linear-time and midpoint only).",
            complete=one_of("smooth", "dry"),
        ),
    ] = "smooth"

    def touching(self) -> Keywords:
        """Return the options of ``load_urdf`` about the ground and limits."""
        surface = {name: value for name in ("friction", "restitution") if (value := getattr(self, name)) is not None}
        if surface and not self.ground:
            raise InputError(f"{', '.join(f'--{name}' for name in surface)}: this is of the ground; give --ground, too")
        for name, value in surface.items():
            with blaming(f"--{name}"):
                Ground(**{name: value})
        return {"ground": Ground(**surface) if self.ground else None, "limits": self.limits,
                "limit_restitution": self.limit_restitution, "velocity_limits": self.velocity_limits}  # fmt: skip

    def options(self, path: Path) -> Keywords:
        """Return the options of ``load_urdf`` for a file."""
        from vitree.urdf.robots import suggest_base

        if self.base not in ("auto", "free", "fixed", "euler"):
            raise InputError(f'--base "{self.base}" is not known; choose from auto, free, fixed, euler')
        return {
            "base": suggest_base(path, self.trust, self.inertia) if self.base == "auto" else self.base,
            "mimic": self.mimic, "loops": self.loops, "root": self.root,
            "inertia": self.inertia, "density": self.density, "armature": self.rotors(),
            "packages": folders(self.packages or []), "xacro": pairs_of("--xacro", self.xacro or []) or None,
            "trust": self.trust, "friction": self.joint_friction, **self.touching(),
        }  # fmt: skip

    def rotors(self) -> float | dict[str, float] | None:
        """Return the armature of all joints, or by patterns of names [kg m^2 or kg]; None if none is given."""
        if (given := self.armature or []) == [only for only in given if "=" in only]:
            pairs = pairs_of("--armature", given).items()
            return {name: numbers("--armature", value)[0] for name, value in pairs} or None
        if len(given) > 1:
            raise InputError("--armature is given once as a NUMBER of all joints, or as JOINT=NUMBER")
        return numbers("--armature", given[0])[0]

    def of_mjcf(self, name: str, gravity: str = GRAVITY) -> Keywords:
        """Return the options of ``load_mjcf``; gravity is that of the file, unless another is given."""
        taken = "--ground", "--limits", "--limit-restitution", "--joint-friction", "--package"
        others = [option for option in self.given() if option not in taken]
        if others:
            raise InputError(f"{', '.join(others)}: {name} is MJCF, which defines this itself; leave it out")
        return {
            "gravity": None if gravity == GRAVITY else tuple(numbers("--gravity", gravity)),
            "contacts": bool(self.ground), "limits": self.limits, "limit_restitution": self.limit_restitution,
            "friction": self.joint_friction, "packages": folders(self.packages or []),
        }  # fmt: skip

    def of_sdf(self, name: str, gravity: str = GRAVITY) -> Keywords:
        """Return the options of ``load_sdf``; gravity is that of the file, unless another is given."""
        from vitree.sdf.reader import BASES, read_sdf

        other = "--mimic", "--loops", "--root", "--xacro", "--trust"
        if others := [option for option in self.given() if option in other]:
            raise InputError(f"{', '.join(others)}: {name} is SDF, which defines this itself; leave it out")
        if self.base not in BASES:
            raise InputError(f'--base "{self.base}" of SDF is not known; choose from {", ".join(BASES)}')
        options: Keywords = {
            "base": self.base, "gravity": None if gravity == GRAVITY else tuple(numbers("--gravity", gravity)),
            "inertia": self.inertia, "density": self.density, "armature": self.rotors(),
            "packages": folders(self.packages or []), "friction": self.joint_friction, **self.touching(),
            "contacts": bool(self.ground),
        }  # fmt: skip
        if self.ground and self.friction is None and self.restitution is None:  # the file's own planes, if it has some
            path = find(name)
            options["ground"] = None
            with contextlib.suppress(ModelError):  # it comes again where the file is read
                options["ground"] = Ground() if read_sdf(path, **options).ground is None else None
        return options

    def options_of(self, path: Path, name: str) -> Keywords:
        """Return the options of the reader of a file."""
        from vitree.mjcf.files import is_mjcf
        from vitree.sdf.reader import is_sdf

        return self.of_mjcf(name) if is_mjcf(path) else self.of_sdf(name) if is_sdf(path) else self.options(path)

    def given(self) -> dict[str, object]:
        """Return the options that differ from their defaults, as a person writes them."""
        empty: tuple[object, ...] = (None, [], "")
        values = {field: field.default if (value := getattr(self, field.name)) is False or value in empty else value
                  for field in fields(Reading)}  # fmt: skip
        return {
            f"--{'package' if field.name == 'packages' else field.name.replace('_', '-')}": value
            for field, value in values.items() if value != field.default
        }  # fmt: skip

    def refuse(self, why: str, **others: tuple[object, object]) -> None:
        """Raise an InputError if one of these options was given, or one of ``others``, name=(value, default)."""
        given = [*self.given(), *(f"--{name}" for name, (value, default) in others.items() if value != default)]
        if given:
            raise InputError(f"{', '.join(given)}: {why}")

    def load(self, name: str, gravity: str = GRAVITY) -> System:
        """Return the model of a robot or vehicle, under a gravity x,y,z [m/s^2] if it is a robot file.

        Says on stderr if there are warnings of the file.
        """
        from vitree.mjcf import load_mjcf
        from vitree.mjcf.files import is_mjcf
        from vitree.sdf.reader import is_sdf, load_sdf
        from vitree.tree.sexpr import load_sexpr
        from vitree.urdf import load_urdf

        own = {"gravity": (gravity, GRAVITY)}
        if is_vehicle(name):
            self.refuse(f'"{name}" is a vehicle, which is not read from a file; leave it out', **own)
            return vehicle(name)
        if name.endswith(".sexpr"):
            self.refuse(f"{name} defines this itself; leave it out, or change the file", **own)
            return load_sexpr(name)
        if is_scene(name):
            self.refuse(f"{name} defines this itself; leave it out, or change the file", **own)
            from vitree.worlds import read_scene

            return self._telling(read_scene(name).compile(), name)
        path = find(name)
        self.touching()  # an error of these options has nothing to do with the file
        with self.naming_check(name):
            if is_mjcf(path):
                model = load_mjcf(path, **self.of_mjcf(name, gravity))
            elif is_sdf(path):
                model = load_sdf(path, **self.of_sdf(name, gravity))
            else:
                model = load_urdf(path, gravity=tuple(numbers("--gravity", gravity)), **self.options(path))
        return self._telling(model, name)

    def _telling(self, model: Model, name: str) -> Model:
        """Say on stderr how many warnings of the file there are, and return the model."""
        if warnings := model.report.of("warning"):
            say(f"{counted(len(warnings), 'warning')}, see: {self._check_of(name)}")
        return model

    @contextlib.contextmanager
    def naming_check(self, name: str) -> Iterator[None]:
        """Add to the error of a robot file the command that lists all that is wrong with it."""
        try:
            yield
        except ModelError as error:
            if isinstance(error, UrdfError) or error.argument is None:  # others are of an option
                error.args = (error.args[0] + f"; see: {self._check_of(name)}",)
            raise

    def _check_of(self, name: str) -> str:
        """Return the command that checks a robot file as it is read here."""
        options = [
            word for key, value in self.given().items()
            for each in (value if isinstance(value, list) else [value])
            for word in ((key,) if each is True else (key, str(each)))
        ]  # fmt: skip
        return shlex.join(["vitree", "check", name, *options])


def find(name: str) -> Path:
    """Return the file of a robot; the error of an unknown name lists vehicles among the choices."""
    from vitree.urdf.robots import find_robot

    if is_vehicle(name):
        raise InputError(f'"{name}" is a vehicle, which has no robot file; give a robot')
    if is_scene(name):
        raise InputError(f"{name} is a scene, but the file of a robot is required; give a robot of it")
    if Path(name).suffix.lower() == ".npz":
        raise InputError(f"{name} is the file of a run, but a robot is required; view, plot and convert take runs")
    try:
        return find_robot(name)
    except UnknownNameError as error:
        raise UnknownNameError("robot", name, [*(error.choices or ()), *VEHICLES]) from None


def places_itself(name: str) -> bool:
    """Whether a file says where its models stand in the world."""
    from vitree.sdf.reader import is_sdf

    return not is_vehicle(name) and is_sdf(name)


@dataclass(kw_only=True)
class Robot(Reading):
    """A robot, and how its file is read."""

    robot: Annotated[str, argument(ROBOT, "ROBOT", robots)]


@dataclass(kw_only=True)
class Robots(Reading):
    """Several robots, and how their files are read."""

    robots: Annotated[list[str], argument(ROBOT + " Several may be given.", "ROBOT...", robots)]


@dataclass(kw_only=True)
class Things(Reading):
    """A robot, a scene, or several things, and how their files are read."""

    robots: Annotated[
        list[str],
        argument(
            ROBOT + " Several make a world of things on a ground: each is FILE, NAME=FILE, FILE@X,Y,Z or "
            "NAME=FILE@X,Y,Z, with its place in m.",
            "ROBOT...", robots,
        ),
    ]

    @property
    def alone(self) -> Robot | None:
        """The robot, if there is one, and nothing else."""
        own = {field.name: getattr(self, field.name) for field in fields(Reading)}
        only = self.robots[0] if len(self.robots) == 1 else None
        return None if only is None or is_scene(only) else Robot(robot=only, **own)


@dataclass(kw_only=True)
class OptionalRobot(Reading):
    """The same, where there is a robot by default."""

    robot: Annotated[str, argument(ROBOT + " Default: human.", "ROBOT", robots)] = "human"


@dataclass(kw_only=True)
class Start:
    """The state at the start."""

    q0: Annotated[
        str,
        option(
            "--q0",
            text="Initial configuration: neutral (all zeros, quaternions 0,0,0,1; moved into enforced limits), "
            "feasible (the same, moved to where limits, loops and contacts hold together), random (within the joint "
            "limits, from --seed), nq numbers separated by commas, in m, rad and quaternions "
            "x,y,z,w, or a keyframe as FILE.toml#NAME.",
        ),
    ] = "neutral"
    v0: Annotated[
        str,
        option(
            "--v0",
            text="Initial velocity: random (normally distributed with standard deviation --speed, from --seed), zero, "
            "or nv numbers separated by commas, in m/s and rad/s.",
        ),
    ] = "random"
    speed: Annotated[float, option("--speed", text="Standard deviation of a random velocity, in rad/s and m/s.")] = 1.0
    seed: Annotated[int, option("--seed", text="Seed of the random number generator for the start.")] = 0

    def of(self, system: System, on_ground: bool | None = False) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v; see :func:`vitree.run.arguments.start_of`."""
        from vitree.run.arguments import start_of

        if (frame := self.keyframe()) is not None and isinstance(system, Model):
            q, _ = frame.state(system)
            return q, replace(self, q0="neutral").of(system)[1]
        return start_of(system, self.seed, *self.given(), self.speed, bool(on_ground))

    def configuration(self, system: System) -> np.ndarray:
        """Return q (nq,)."""
        from vitree.run.arguments import configuration_of

        if (frame := self.keyframe()) is not None and isinstance(system, Model):
            return frame.state(system)[0]
        return configuration_of(system, self.seed, self.given()[0])

    def keyframe(self) -> Keyframe | None:
        """Return the keyframe that ``--q0`` names, FILE.toml#NAME; None if it names none."""
        from vitree.model.keyframes import keyframe_at

        with blaming("--q0"):
            return keyframe_at(self.q0)

    def given(self) -> tuple[str | Sequence[float], str | np.ndarray]:
        """Return q0 and v0 as words or numbers."""
        q0 = self.q0 if self.q0 in ("neutral", "feasible", "random") else numbers("--q0", self.q0)
        return q0, self.v0 if self.v0 in ("random", "zero") else np.array(numbers("--v0", self.v0))


@dataclass(kw_only=True)
class World:
    """The loads on a robot."""

    gravity: Annotated[
        str,
        option("--gravity", text="Gravity x,y,z in world axes, in m/s^2; .sexpr files and vehicles define their own."),
    ] = GRAVITY
    damping: Annotated[
        bool,
        option(
            "--damping/--no-damping",
            text="Keep the joint damping (N m s/rad or N s/m) and joint friction (N m or N) of the file, or set both "
            "to zero, so that energy is conserved.",
        ),
    ] = True

    def system(self, robot: Robot | OptionalRobot) -> System:
        """Return the model of a robot, or a vehicle, for a run."""
        return self.system_of(robot, robot.robot)

    def system_of(self, reading: Reading, name: str) -> System:
        """The same of a robot by its name."""
        system = reading.load(name, self.gravity)
        if self.damping:
            return system
        if not isinstance(system, Model):
            raise InputError(f'--no-damping: "{system.name}" is a vehicle, which has no joint damping; leave it out')
        from vitree.run.bench import undamped

        return undamped(system)


@dataclass(kw_only=True)
class Steps(World):
    """The method's options, and inputs."""

    solver: Annotated[
        str,
        option(
            "--solver", text="Solver for the steps of linear-time and midpoint; auto selects one.",
            complete=one_of(*SOLVERS),
        ),
    ] = "auto"
    order: Annotated[
        int,
        option(
            "--order",
            text="Order of accuracy, a number: 2, or 4, 6, 8 by composition of steps, for linear-time and midpoint; "
            "4, 6, 8, 12 or 16 for gauss, whose default is 8.",
        ),
    ] = 2
    others: Annotated[
        Optional[list[str]],  # noqa: UP045
        option(
            "--option",
            text="Further option of the methods as NAME=VALUE, such as tolerance=1e-6; may be repeated. NAME is one of "
            f"{', '.join(METHOD_OPTIONS)}; each method has some of them.",
            complete=one_of(*(f"{name}=" for name in METHOD_OPTIONS)),
        ),
    ] = None
    inputs: Annotated[
        Optional[list[str]],  # noqa: UP045
        option(
            "--input",
            text="Constant input as NAME=NUMBER, such as torque=500 for car; may be repeated. Others are zero.",
        ),
    ] = None

    def driven(self) -> dict[str, float] | None:
        """Return the inputs by their names."""
        found = {}
        for name, text in pairs_of("--input", self.inputs or []).items():
            try:
                found[name] = float(text)
            except ValueError:
                raise InputError(f'--input {name}={text} must be NAME=NUMBER, and "{text}" is no number') from None
            if not np.isfinite(found[name]):
                raise InputError(f"--input {name}={text} must be a finite number")
        return found or None

    def chosen(self, **more: object) -> Keywords:
        """Return the given options of a method by their names, and those of ``more`` that are not None."""
        own = {name: getattr(self, name) for name in ("solver", "order")}
        own = {name: value for name, value in own.items() if value != getattr(Steps, name)}
        own |= {name: value for name, value in more.items() if value is not None}
        others = {name: value_of(text) for name, text in pairs_of("--option", self.others or []).items()}
        for name in own.keys() & others.keys():
            raise InputError(f"--{name.replace('_', '-')} and --option {name}= say the same; give one")
        return own | others


@dataclass(kw_only=True)
class Run(Steps):
    """The method's options, inputs and length of a run."""

    duration: Annotated[float, option("--duration", "-T", text="Simulated time, in s.")] = 2.0
    record_every: Annotated[int, option("--record-every", text="Number of steps from one record to the next.")] = 1
    progress: Progress = None


Method = Annotated[
    Optional[str],  # noqa: UP045 (older Typer)
    option(
        "--method",
        "-m",
        text=f"Integrator, one of {METHOD_NAMES}. Default: linear-time, for vehicles lie.",
        complete=methods,
    ),
]
Imports = Annotated[
    Optional[list[str]],  # noqa: UP045
    option(
        "--import",
        text="Module or file (.py) that adds your own integrators to vitree.METHODS; may be repeated. Integrators of "
        "installed packages are found by name.",
    ),
]


def import_all(modules: list[str] | None) -> None:
    """Import modules by name, also those of the working directory, or by their files."""
    for name in modules or ():
        try:
            if name.endswith(".py"):
                spec = spec_from_file_location(Path(name).stem, name)
                module = module_from_spec(spec)  # type: ignore[arg-type]
                sys.modules.setdefault(Path(name).stem, module)
                spec.loader.exec_module(module)  # type: ignore[union-attr]
            else:
                sys.path.insert(0, str(Path.cwd()))
                try:
                    importlib.import_module(name)
                finally:
                    sys.path.remove(str(Path.cwd()))
        except Exception as error:  # whatever the module's own code raises
            raise InputError(f"--import {name}: it cannot be imported: {type(error).__name__}: {error}") from error


def numbers(name: str, text: str) -> list[float]:
    """Return the numbers of an option, separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f'{name} "{text}" must be numbers separated by commas') from None


def value_of(text: str) -> object:
    """Return a number, a truth value or a word."""
    for kind in (int, float, {"true": True, "false": False}.__getitem__):
        with contextlib.suppress(ValueError, KeyError):
            return kind(text.lower())
    return text


def pairs_of(name: str, texts: list[str]) -> dict[str, str]:
    """Return the values by name of an option NAME=VALUE."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f'{name} "{text}" must be NAME=VALUE')
        pairs[key] = value
    return pairs


def folders(texts: list[str]) -> dict[str, str] | list[str] | None:
    """Folders of packages by name, or folders that hold packages."""
    named = [text for text in texts if "=" in text]
    if named and len(named) < len(texts):
        raise InputError("--package is given as NAME=FOLDER or as FOLDER, not as both")
    return pairs_of("--package", named) if named else texts or None


def methods_of(methods: str | None, system: System, usual: Sequence[str] = ()) -> list[str]:
    """Return the methods of an option, or the default ones of a system."""
    if methods is not None:
        return [part for part in (part.strip() for part in methods.split(",")) if part]
    touches, holds = has_touches(system), isinstance(system, Model) and system.has_rolling_or_dry_friction
    able = [name for name, kind in system.methods.items() if kind.touches >= touches and kind.rolls >= holds]
    if usual and set(usual) <= set(system.methods):
        return [name for name in usual if name in able]
    return [name for name in able if not name.startswith("scipy-")]


def has_touches(system: System) -> bool:
    """Say whether forces of contact or of limits may act, which some methods do not know."""
    return isinstance(system, Model) and system.has_contact
