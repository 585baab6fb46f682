"""Names that the commands take, and how a shell completes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from vitree.errors import InputError
from vitree.model.system import System

#: Vehicles with builders of these names in ``vitree.vehicles``.
VEHICLES = ("boat", "car", "helicopter", "snakeboard")
#: Methods of vehicles; ``vitree.METHODS`` has those of mechanisms.
OF_VEHICLES = ("lie", "lie-implicit", "rk2", "implicit-rk2", "lie-newmark")
METHOD_NAMES = (
    "linear-time, midpoint, gauss, trapezoid, explicit-euler, semi-implicit-euler, implicit-euler, rk4, rk8, "
    "scipy-rk45, scipy-dop853, scipy-radau, scipy-bdf, scipy-lsoda; "
    f"for vehicles {', '.join(OF_VEHICLES)}, rk4 and SciPy's"
)
#: Pictures of runs, as ``vitree.plot.PLOTS`` has them.
PLOTS = (
    "energy", "energy-error", "momentum", "coordinates", "phase", "constraint", "iterations", "residual",
    "contact-forces", "gap", "center-of-pressure",
)  # fmt: skip
#: Pictures of comparisons.
OF_COMPARISONS = ("comparison", "error", "order", "work-precision")
#: Options of methods that are given by --option.
METHOD_OPTIONS = (
    "tolerance", "norm", "max_iterations", "guess", "kinetic", "springs", "alpha", "residual", "caching", "adapt",
    "rate", "density", "inertia", "energy", "map", "tangent", "rtol", "atol", "max_step",
)  # fmt: skip
SOLVERS = ("auto", "recursive-newton", "newton", "modified-newton", "broyden", "riqn")
ROBOT_FILES = (".urdf", ".xacro", ".sdf", ".sexpr", ".toml")


def is_run(name: str) -> bool:
    """Whether a name is a run's, by its first bytes, or by its ending where there is no such file.

    Raises an InputError if there is such a file, and it is neither a run nor a robot.
    """
    path = Path(name)
    if not path.is_file():
        return path.suffix.lower() == ".npz"
    with open(path, "rb") as stream:
        start = stream.read(256)
    if start.startswith(b"PK"):  # a zip archive
        return True
    if path.suffix.lower() in (*ROBOT_FILES, ".xml") or start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return False
    raise InputError(
        f"{name} is neither a run, as 'vitree simulate' writes it, nor a robot (URDF, xacro, MJCF, SDF or .sexpr)"
    )


def is_scene(name: str) -> bool:
    """Whether a name is that of a scene file."""
    return name.lower().endswith(".toml")


def is_vehicle(name: str) -> bool:
    """Whether a name is a vehicle's; a file wins over a name."""
    return name in VEHICLES and not Path(name).is_file()


def vehicle(name: str) -> System:
    """Return the vehicle of a name, with the default numbers of its builder."""
    from vitree import vehicles

    made: System = getattr(vehicles, name)()
    return made


def files(word: str, endings: Iterable[str]) -> list[str]:
    """Return the files of the working directory that begin with a word; the shell completes paths."""
    if "/" in word:
        return []
    return sorted(path.name for path in Path().glob("*") if path.name.startswith(word) and path.suffix in endings)


def robots(incomplete: str) -> list[str]:
    """Complete a robot: its name or file."""
    from vitree.urdf.robots import list_robots

    names = [name for name in (*list_robots(), *VEHICLES) if name.startswith(incomplete)]
    return sorted(names) + robot_files(incomplete)


def robot_files(incomplete: str) -> list[str]:
    """Complete the file of a robot."""
    return files(incomplete, ROBOT_FILES)


def runs(incomplete: str) -> list[str]:
    """Complete the file of a run."""
    return files(incomplete, (".npz",))


def sources(incomplete: str) -> list[str]:
    """Complete the source of view and convert: the file of a run, or a robot."""
    return runs(incomplete) + robots(incomplete)


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return a function that completes one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def methods(ctx: Any, incomplete: str) -> list[str]:
    """Complete a method of the command's robot, or the last of several separated by commas."""
    from vitree.integrators import METHODS

    begun, comma, last = incomplete.rpartition(",")
    known: Mapping[str, object] = METHODS
    for word in (ctx.params.get("robot"), *ctx.args):  # behind an option without its value words are not parsed
        known = vehicle(word).methods if word in VEHICLES else known
    return [begun + comma + name for name in known if name.startswith(last) and name not in begun.split(",")]
