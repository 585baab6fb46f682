"""What a sweep measures of the run of a robot: a row of numbers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree.arguments import axes_of, plain_scalar, several, shown
from vitree.errors import InputError, UnknownNameError, VitreeError
from vitree.model.system import System
from vitree.results.plain import SCALARS
from vitree.results.series import NAN, series_against
from vitree.run.arguments import NAMES, RunArguments, count_steps
from vitree.run.cases import Cases, cases_of, labelled
from vitree.run.simulate import run
from vitree.run.starts import start_of

#: Arguments of ``simulate`` that a case cannot have.
REFUSED = {"p0", "q1", "progress", "monitors", "dense", "resume", "options"}
#: Arguments of the start.
START = {"q0", "v0", "speed", "seed"}
#: Units of columns.
UNITS = {
    "dt": "s", "duration": "s", "t0": "s", "t_end": "s", "energy_change": "J", "energy_error": "J",
    "energy_drift": "J/s", "constraint_error": "m or rad", "speed": "m/s or rad/s", "seconds": "s",
}  # fmt: skip
#: Columns of the results: of a run that fails all but the first are None.
RESULTS = (
    "t_end", "steps", "energy_change", "energy_error", "energy_drift", "constraint_error", "iterations_mean",
    "iterations_max", "halved", "warnings", "state",
)  # fmt: skip


class Measurement:
    """Runs of robots: what a sweep calls, and what it can be sent with.

    Parameters
    ----------
    values : dict of dicts
        As in :class:`vitree.run.cases.Cases`.
    same : dict
        Arguments that all cases have.
    """

    def __init__(self, values: Mapping[str, Mapping[Any, Any]], same: Mapping[str, Any]):
        self.values, self.same = values, same
        self.robots = list(values["robot"])

    def __call__(self, k: int, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results of a case by its labels."""
        own = {name: self.values.get(name, {}).get(x, x) for name, x in labels.items() if x is not None}
        given = {**self.same, **own}
        system = given.pop("robot")
        (method, options), known = _method(system, given.pop("method", None))
        start = {name: given.pop(name) for name in START & given.keys()}
        given = {name: x for name, x in given.items() if name in NAMES or name in known}
        q0, v0 = start_of(system, on_ground=getattr(system, "ground", None) is not None, **start)
        arguments = RunArguments(q0=q0, v0=v0, method=method).but(**{**given, **options})
        return _row(system, arguments)

    @staticmethod
    def failed(error: Exception) -> dict[str, Any]:
        """Return the results of a case that raised an error: the time [s] at which it ended, if it has one."""
        time = getattr(error, "time", None)
        return dict.fromkeys(RESULTS) | {"t_end": None if time is None else float(time)}

    def stops(self, error: Exception, labels: Mapping[str, Any]) -> bool:
        """Return whether an error is of an argument that all cases have in common."""
        common = isinstance(error, VitreeError) and error.argument in self.same and error.argument not in labels
        return common and type(error) in (InputError, UnknownNameError)


def _row(system: System, given: RunArguments) -> dict[str, Any]:
    """Run one case, and measure it."""
    traj = run(system, given)
    errors = series_against(system, traj, None, system.conservative and not given.driven)
    t = errors.t - errors.t.mean()
    with np.errstate(over="ignore", invalid="ignore"):
        slope = t @ (errors.energy - errors.energy.mean()) / (t @ t) if len(t) > 1 else NAN
    solves = traj.iterations_total or "tolerance" in system.methods[traj.method].options
    return {
        "t_end": float(traj.t[-1]), "steps": int(traj.steps),
        "energy_change": float(traj.energy[-1] - traj.energy[0]), "energy_error": float(np.abs(errors.energy).max()),
        "energy_drift": float(slope),
        "constraint_error": float(np.abs(traj.constraint).max()) if system.constraints else NAN,
        "iterations_mean": traj.iterations_total / max(traj.steps, 1) if solves else NAN,
        "iterations_max": int(traj.iterations_max) if solves else None,
        "halved": int(traj.settings.get("halved", 0)), "warnings": len(traj.warnings),
        "state": hashlib.sha256(traj.q[-1].tobytes() + traj.v[-1].tobytes()).hexdigest()[:16],
    }  # fmt: skip


# ---- from arguments ---------------------------------------------------------------------------------------


def cases_of_robots(what: Any, over: Any, same: Mapping[str, Any], seed: int) -> tuple[Cases, Measurement]:
    """Return the cases of robots, and what runs them.

    An option that the method of a case does not take is left out of the case, and a case that is then there twice is
    run once.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    """
    robots, given = _robots(what), cases_of(over)
    for name in (*given.names, *same):
        if name in REFUSED or name == "robot":
            raise InputError(f'"{name}" is nothing that a case of a sweep can have; leave it out')
    same = {"seed": seed, **same}
    pairs = {}
    if isinstance(same.get("method"), tuple):  # a method and its options
        same["method"], pair = labelled("method", same["method"])
        pairs = {"method": {same["method"]: pair}} if pair is not None else {}
    given = Cases(given.names, given.rows, {**pairs, **given.values}, given.axes)
    usual = [name for name in ("method", "dt", "seed") if name not in given.names]
    first = ("robot", *(name for name in usual if name == "method"))
    names = (*first, *given.names, *(name for name in usual if name not in first))
    options = {name for name in (*given.names, *same) if name not in NAMES and name not in START}
    taken: set[str] = set()
    rows: dict[tuple, dict[str, Any]] = {}
    for label, system in robots.items():
        for own in given.rows:
            fixed = given.arguments({name: x for name, x in same.items() if name == "method"})
            values = {**same, **fixed, **given.arguments({name: x for name, x in own.items() if x is not None})}
            method, known = _method(system, values.get("method"))
            taken |= options & known.keys()
            _require_steps(values, {**values, **method[1]}.get("adapt") is not None)
            row = {"robot": label, **dict.fromkeys(given.names), **own}
            row |= {name: x if isinstance(x := plain_scalar(same.get(name)), SCALARS) else None for name in usual}
            row |= {name: None for name in options.intersection(row) if name not in known}
            if row["method"] is None:
                row["method"] = method[0]
            rows.setdefault(tuple((type(x), x) for x in row.values()), row)
    for name in sorted(options - taken):
        choices = {x for system in robots.values() for kind in system.methods.values() for x in kind.options}
        if name not in choices:
            raise UnknownNameError("option", name, sorted(choices | (NAMES - REFUSED) | START), argument=name)
        raise InputError(name, same.get(name, ...), "is an option of no method of this sweep; leave it out")
    full = given.axes is not None and len(rows) == len(robots) * len(given.rows)
    axes = {"robot": list(robots), **(given.axes or {})} if full else None
    values = {**given.values, "robot": robots}
    return Cases(names, [{name: row[name] for name in names} for row in rows.values()], values, axes), Measurement(
        values, same
    )


def _robots(what: Any) -> dict[Any, System]:
    """Return systems by the labels of robots: names, files, systems, or a mapping of labels to these."""
    if isinstance(what, str | os.PathLike | System):
        what = [what]
    if isinstance(what, Mapping):
        return {str(label): _loaded(x) for label, x in what.items()}
    needed = "a function, a robot, a sequence of robots, or a mapping of labels to robots"
    found: dict[Any, System] = {}
    for robot in several(what, "what", needed):
        system = _loaded(robot)
        label = system.name if isinstance(robot, System) else os.fspath(robot)
        if label in found:
            raise InputError(f'what has "{label}" twice; give a mapping of labels to robots')
        found[label] = system
    if not found:
        raise InputError(f"what must be {needed}; it is empty")
    return found


def _loaded(robot: Any) -> System:
    """Return the system of a robot; one given by a name or file has the base that :func:`suggest_base` finds."""
    from vitree.mjcf import load_mjcf
    from vitree.mjcf.files import is_mjcf
    from vitree.tree.sexpr import load_sexpr
    from vitree.urdf import load_urdf
    from vitree.urdf.robots import find_robot, suggest_base

    if isinstance(robot, System):
        return robot
    if not isinstance(robot, str | os.PathLike):
        raise InputError(f"what has {shown(robot)}, which is no robot's name, no file and no system")
    if os.fspath(robot).endswith(".sexpr"):
        return load_sexpr(robot)
    path = find_robot(robot)
    if is_mjcf(path):
        return load_mjcf(path, contacts=False, limits="report")
    return load_urdf(path, base=suggest_base(path))


def _method(system: System, method: Any) -> tuple[tuple[str, Mapping[str, Any]], Mapping[str, str]]:
    """Return a method of a system as (name, options), and the options that it takes."""
    name, options = _pair(method, next(iter(system.methods)))
    if name not in system.methods:
        raise UnknownNameError("method", name, system.methods, argument="method")
    known = system.methods[name].options
    for option in options:
        if option not in known and option not in NAMES:
            raise UnknownNameError(f"option of the method {name}", option, known, argument=option)
    return (name, options), known


def _pair(method: Any, usual: str) -> tuple[str, Mapping[str, Any]]:
    if method is None:
        return usual, {}
    if isinstance(method, str):
        return method, {}
    try:
        name, options = method
        if isinstance(name, str) and isinstance(options, Mapping):
            return name, options
    except (TypeError, ValueError):
        pass
    raise InputError("method", method, f"is {shown(method)}; give a name, or a pair (name, options)")


def _require_steps(values: Mapping[str, Any], adaptive: bool) -> None:
    """Raise an InputError if a run has no duration, no step, or no whole number of steps."""
    duration: Any = values.get("duration")
    dt = values.get("dt")
    several_steps = axes_of(dt) > 0
    if dt is None or (duration is None and not several_steps):
        raise InputError("dt and duration must be given, for all cases or in each")
    if not adaptive and not isinstance(dt, str) and not several_steps:
        count_steps(duration, dt)
