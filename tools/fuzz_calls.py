"""Calls everything public of vitree with arguments of every kind, and reports what goes wrong.

    python tools/fuzz_calls.py --seconds 60                     # calls drawn at random
    python tools/fuzz_calls.py --seconds 60 --only simulate     # those whose name contains a word
    python tools/fuzz_calls.py --repeat Model.rnea:123456       # one call again

A call either returns, or raises a VitreeError. Everything else is a finding: another exception, a warning of NumPy, an
argument that is not as it was before, a call that does not end, and a process that dies. ``excused`` lists what is
none, with the reasons.

The names come from the modules' lists of public names, and from the classes' methods and properties: a new name is
called without a change here. The server of ``view`` is left out: it would stay.

A call is its name and a number, from which everything about it is drawn. Half of the calls have valid arguments but
for one; the others have several that are not. The calls run in a process of their own; the parent reports the last call
when that process dies.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import inspect
import io
import json
import math
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_values import Case, changed, comparisons, image, integrator, more, owners, problems, runs, shown, valid

import vitree as vt
from vitree import control, lie, pairs, plot, urdf, vehicles

MODULES = {"vt": vt, "control": control, "lie": lie, "pairs": pairs, "plot": plot, "urdf": urdf, "vehicles": vehicles}
#: Names that are not called.
LEFT_OUT = {
    "vt.view",  # opens a server
    "vt.video",  # opens a browser
    "vt.Report",  # a tuple, made as Python makes tuples
    "vt.MujocoRobot",  # made by vt.from_mujoco
    "lie.Group", "lie.Map",  # there are no others than those of the module
    "vehicles.Boat", "vehicles.Car", "vehicles.Helicopter", "vehicles.Snakeboard",  # made by functions of these names
}  # fmt: skip
#: Classes whose methods the library calls with arguments that it has checked, in inner loops, or that a user writes; or
#: which the library makes. Wrong arguments may raise exceptions of NumPy there; they may not crash, hang or change what
#: is given.
UNCHECKED = ("Integrator", "Dynamics", "Force", "Potential", "Constraint", "Identification", "Rollout", "Linearization",
             "Gradient", "Regulator", "MotionSolution", "MotionPlan", "PhaseInterval", "MujocoRobot", "IkSolution",
             "BodyForces", "BaseParameters", "Excitation", "EnsembleComparison", "WorkPrecision")  # fmt: skip
#: The same of methods of other classes, by their names.
UNCHECKED_METHODS = {
    "configuration_rate", "connection", "symmetries", "lagrangian", "lagrangian_slope", "mass_matrix", "potential",
    "shape_force", "body_force", "basis", "reduced", "symmetry_momentum", "require_allowed", "__call__",
}  # fmt: skip
#: Operations that classes define for Python's own syntax.
OPERATIONS = {"__getitem__", "__repr__", "__str__", "__eq__", "__len__", "__iter__", "__hash__", "__call__"}
#: Calls of these are drawn more often: they take most arguments.
OFTEN = ("vt.simulate", "vt.compare", "vt.Integrator", "vt.Tree.compile", "vt.Model", "vehicles.boat", "Integrator.run")
#: Arguments that have a default, but that nearly all calls give, and how often.
GIVEN = {"duration": 0.95, "dt": 0.95}
#: The word on arguments that Python itself refuses.
MISCALLED = "another number or names of arguments"
SECONDS, LARGEST_MEMORY = 30, 6 << 30


@dataclass
class Target:
    """Something to call: a function or class, or a method, property or operation of objects of a class."""

    name: str
    thing: Any
    kind: type | None = None
    how: str = "call"

    def bind(self, case: Case) -> tuple[Any, list[inspect.Parameter]]:
        """Return what is called and its parameters."""
        if self.kind is None:
            return self.thing, _parameters(self.thing)
        case.owner = owner = integrator(case) if self.kind is vt.Integrator else owners(self.kind, case)
        last = self.name.rsplit(".", 1)[1]
        if self.how == "property":
            return (lambda: getattr(owner, last)), []
        if self.how == "operation":
            return (lambda: self.thing(owner)), []
        bound = getattr(owner, last) if owner is not None else self.thing
        return bound, _parameters(bound)


def _parameters(thing: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return []


def targets() -> dict[str, Target]:
    """Everything public, by name."""
    found: dict[str, Target] = {}
    for short, module in MODULES.items():
        names = getattr(module, "__all__", None) or [
            name for name, x in vars(module).items()
            if not name.startswith("_") and getattr(x, "__module__", None) == module.__name__
        ]  # fmt: skip
        for name in names:
            thing, full = getattr(module, name), f"{short}.{name}"
            if any(t.thing is thing for t in found.values()):
                continue
            if inspect.isclass(thing):
                made = not issubclass(thing, Exception) and thing is not vt.Integrator and full not in LEFT_OUT
                if made and not inspect.isabstract(thing):  # errors are made by the library
                    found[full] = Target(full, thing)
                if not issubclass(thing, Exception):
                    found |= _members(thing)
            elif callable(thing) and full not in LEFT_OUT:
                found[full] = Target(full, thing)
    found["vt.Integrator"] = Target("vt.Integrator", _new_integrator)
    for extra in (vt.Model, vt.Tree, vt.Trajectory, vt.Comparison, vt.ConvergenceError, vehicles.Vehicle, vt.Report):
        for name, function in {"repr": repr, "str": str, "copy": copy.copy, "deepcopy": copy.deepcopy, "hash": hash,
                               "pickle": lambda x: pickle.loads(pickle.dumps(x))}.items():  # fmt: skip
            full = f"{extra.__name__}.{name}()"
            found[full] = Target(full, function, extra, "operation")
    return found


def _new_integrator(model: Any, dt: float, *, torque: Any = None, wrenches: Any = (), inputs: Any = None,
                    prescribed: Any = None, **options: Any) -> Any:  # fmt: skip
    """An integrator of the default method."""
    kind = next(iter(getattr(model, "methods", vt.METHODS).values()))
    return kind(model, dt, torque=torque, wrenches=wrenches, inputs=inputs, prescribed=prescribed, **options)


def _members(kind: type) -> dict[str, Target]:
    """The public methods and properties of a class that vitree itself defines."""
    found = {}
    for name in dir(kind):
        if name.startswith("_") and name not in OPERATIONS:
            continue
        member = inspect.getattr_static(kind, name)
        module = getattr(getattr(member, "__func__", getattr(member, "fget", None) or member), "__module__", "") or ""
        full = f"{kind.__name__}.{name}"
        if isinstance(member, property | cached_property):
            found[full] = Target(full, member, kind, "property")
        elif module.startswith("vitree") and callable(getattr(kind, name)):
            found[full] = Target(full, getattr(kind, name), kind)
    return found


# ---- one call --------------------------------------------------------------------------------------------


def arguments(case: Case, parameters: list[inspect.Parameter]) -> tuple[list, dict[str, Any], list[str]]:
    """Draw the arguments of a call, and words on those that are not the valid ones."""
    positional, named, words = [], {}, []
    often = {} if case.target.startswith("plot.") else GIVEN
    for each in parameters:
        if each.name.startswith("_"):
            continue  # not public
        if each.kind is each.VAR_KEYWORD:
            named |= more(case)
        elif each.kind is each.VAR_POSITIONAL:
            several = valid(case, each)
            positional += several if isinstance(several, tuple) else [several]
        elif each.default is each.empty or case.rng.random() < often.get(each.name, 0.4):
            value = case.drawn[each.name] = valid(case, each)
            if each.kind is each.KEYWORD_ONLY or (each.default is not each.empty):
                named[each.name] = value
            else:
                positional.append(value)
    places = [*range(len(positional)), *named]
    chance = case.rng.random()
    count = 0 if chance < 0.1 else 1 if chance < 0.6 else case.pick(2, 2, 3)
    for place in case.rng.sample(places, min(count, len(places))):
        where = positional if isinstance(place, int) else named
        where[place], word = changed(case, where[place])
        words.append(f"{place}: {word}")
    if case.rng.random() < 0.01:
        named["nosuch"] = 1
        words.append(MISCALLED)
    if positional and case.rng.random() < 0.01:
        positional.pop()
        words.append(MISCALLED)
    tame(case.target, parameters, positional, named)
    return positional, named, words


def tame(name: str, parameters: list[inspect.Parameter], positional: list, named: dict[str, Any]) -> None:
    """Bound the work that is asked for, where there may be any amount of it: these are not wrong arguments."""
    from vitree.arguments import real

    at = {each.name: k for k, each in enumerate(parameters[: len(positional)])}

    def bounded(key: str, least: float, most: float, instead: Any) -> None:
        where, place = (named, key) if key in named else (positional, at.get(key))
        if place is not None and least < abs(_real(where[place])) < most:
            where[place] = instead

    def _real(x: Any) -> float:
        try:
            return real(x)
        except Exception:
            return float("nan")

    dt = named.get("dt", positional[at["dt"]] if "dt" in at else None)
    for step in dt if isinstance(dt, list | tuple) else [dt]:
        bounded("duration", 300 * abs(_real(step)), 2.0**54 * abs(_real(step)), 0.05)
    if "duration" in named and not isinstance(dt, list | tuple) and 300 < named_ratio(named, _real) < 2.0**54:
        named["dt"] = 0.01
    for key in ("repeats", "points", "columns", "patches", "steps", "max_bytes", "rate", "density", "directions", "n"):
        if not (key == "density" and "boat" in name) and key != "points":
            bounded(key, 20, float("inf"), 3)
    for key in ("rtol", "atol", "reference_tolerance"):
        bounded(key, -1, 1e-12, 1e-6)
    bounded("max_step", -1, 1e-3, 0.01)
    bounded("max_iterations", 100, float("inf"), 20)
    if name.endswith((".plan", "Integrator.run", ".random")):
        for place, value in enumerate(positional):
            if isinstance(value, int | float) and abs(_real(value)) > 20:
                positional[place] = 3


def named_ratio(named: dict[str, Any], real: Any) -> float:
    """Number of steps that a run of these arguments has."""
    try:
        return abs(real(named["duration"]) / real(named["dt"]))
    except (KeyError, ZeroDivisionError):
        return 0.0


class Changed(Exception):
    """An argument is not as it was."""


def excused(target: Target, error: BaseException, words: list[str]) -> bool:
    """Say whether an exception is as it should be; each case has its reason."""
    if isinstance(error, vt.VitreeError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    inner = frames[-1].filename if frames else __file__
    if isinstance(error, TypeError) and MISCALLED in words and (
            inner in (__file__, inspect.__file__) or "argument" in str(error)):
        return True  # Python's own check of the number and names of arguments
    if isinstance(error, OSError) and not isinstance(error, UnicodeError) and "path" in " ".join(words):
        return True  # a file of the caller's that cannot be opened
    if target.name.endswith("__getitem__") and isinstance(error, IndexError):
        return True  # as Python has it of sequences
    if "hash" in target.name.rsplit(".", 1)[1] and isinstance(error, TypeError) and "unhashable" in str(error):
        return True  # what can change has no hash
    last = target.name.rsplit(".", 1)[-1]
    of_base = any(base.__name__ in UNCHECKED for base in (target.kind or int).__mro__)
    unchecked = last in UNCHECKED_METHODS or of_base
    return unchecked and not isinstance(error, MemoryError | RecursionError | SystemError | Changed)


def place_of(error: BaseException) -> str:
    """The innermost line of vitree that an exception passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "vitree/" in f.filename.replace(os.sep, "/")]
    if isinstance(error, Changed) or not frames:
        return str(error)[:60]
    return f"{frames[-1].filename.rpartition('vitree/')[2]}:{frames[-1].lineno} {frames[-1].name}"


def call(target: Target, number: int, folder: Path, note: Any = None) -> dict[str, str] | None:
    """Make one call and return the finding, if it is one."""
    case = Case(target.name, number, folder)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            thing, parameters = target.bind(case)
            positional, named, words = arguments(case, parameters)
        except vt.VitreeError:
            return None  # what was drawn does not go together
    owner = f"{shown(case.owner)}." if case.owner is not None else ""
    listed = ", ".join([*map(shown, positional), *(f"{key}={shown(x)}" for key, x in named.items())])
    text = f"{owner}{target.name.rsplit('.', 1)[-1]}({listed})    # {'; '.join(words)}"
    if note is not None:
        note(f"{target.name}:{number}\n{text}")
    before = image([positional, named])
    error: BaseException | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (DeprecationWarning, ResourceWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", kind)
            result = thing(*positional, **named)
            if inspect.isgenerator(result):
                next(result, None)
    except Exception as raised:
        error = raised
    if image([positional, named]) != before and "changing" not in " ".join(words):
        error = Changed(f"{target.name} changed an argument")
    if error is None or excused(target, error, words):
        return None
    stack = "".join(traceback.format_exception(error))
    return {"seed": f"{target.name}:{number}", "kind": type(error).__name__, "place": place_of(error), "call": text,
            "error": f"{type(error).__name__}: {_told(error)}", "stack": stack}  # fmt: skip


def _told(error: BaseException) -> str:
    try:
        return str(error)[:300]
    except Exception:
        return "?"


# ---- many calls --------------------------------------------------------------------------------------------


def child(options: argparse.Namespace) -> None:
    """Make calls until the time is over, and write findings, counts and the last call to files of the folder."""
    folder = Path(options.child)
    work = folder / "work"
    work.mkdir(exist_ok=True)
    os.chdir(work)
    if not options.sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY))
    sys.stdout = io.StringIO()
    known = {name: x for name, x in targets().items() if (options.only or "") in name}
    names, rng = list(known), random.Random(f"{options.seed}")
    often = [name for name in OFTEN if name in known] or names
    last = os.open(folder / "last", os.O_RDWR | os.O_CREAT)

    def note(text: str) -> None:
        raw = text.encode("utf-8", "backslashreplace")[:20000]
        os.pwrite(last, raw, 0)
        os.ftruncate(last, len(raw))

    runs(), comparisons(), problems()
    count, total, called = 0, 0, set()
    with (folder / "findings").open("a") as found, (folder / "counts").open("a") as counts:
        try:
            while time.time() < options.until and total < options.calls:
                name = rng.choice(often if rng.random() < 0.15 else names)
                faulthandler.dump_traceback_later(options.limit, exit=True)
                finding = call(known[name], rng.randrange(10**9), work, note)
                count, total, called = count + 1, total + 1, called | {name}
                if finding:
                    found.write(json.dumps(finding) + "\n")
                    found.flush()
                if count % 100 == 0:
                    print(*sorted(called), f"#{count}", file=counts, flush=True)
                    count, called = 0, set()
                    _close_figures()
        finally:
            faulthandler.cancel_dump_traceback_later()
            print(*sorted(called), f"#{count}", file=counts, flush=True)


def _close_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def parent(options: argparse.Namespace) -> int:
    """Run children until the time is over, print what was found, and return the exit code."""
    until, findings, seed, deaths = time.time() + options.seconds, [], options.seed, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        code = 1
        while code and time.time() < until and deaths < 50:
            command = [sys.executable, __file__, "--child", temporary, "--until", str(until), "--seed", str(seed),
                       "--limit", str(options.limit), "--only", options.only or "",
                       "--calls", str(options.calls)]  # fmt: skip
            with (folder / "stderr").open("w") as errors:
                code = subprocess.run(command + ["--sanitized"] * options.sanitized, stdout=subprocess.DEVNULL,
                                      stderr=errors, env=os.environ | {"MPLBACKEND": "Agg"}).returncode  # fmt: skip
            if code:
                told = (folder / "stderr").read_text(errors="replace")
                last = (folder / "last").read_text(errors="replace") if (folder / "last").exists() else "?\n?"
                seed_of, _, text = last.partition("\n")
                kind = "no end" if "Timeout" in told else "the process died"
                lines = [x for x in told.splitlines() if "vitree" in x or "ERROR" in x or "runtime error" in x]
                findings.append({"seed": seed_of, "kind": f"{kind} (code {code})", "place": (lines or ["?"])[0][:160],
                                 "call": text, "error": kind, "stack": told[-6000:]})  # fmt: skip
                deaths += 1
            seed = f"{seed}+"
        if (folder / "findings").exists():
            findings += [json.loads(line) for line in (folder / "findings").read_text().splitlines()]
        lines = (folder / "counts").read_text().split("\n") if (folder / "counts").exists() else []
    words = [word for line in lines for word in line.split()]
    calls = sum(int(word[1:]) for word in words if word.startswith("#"))
    kinds: dict[tuple[str, str], list[dict[str, str]]] = {}
    for each in findings:
        kinds.setdefault((each["kind"], each["place"]), []).append(each)
    for (kind, place), several in kinds.items():
        one = min(several, key=lambda x: len(x["call"]))
        print(f"{kind} at {place}, {len(several)} times\n  --repeat '{one['seed']}'\n  {one['call'][:1500]}")
        print(f"  {one['error']}\n" + (one["stack"] if "died" in kind or "no end" in kind else ""))
    names = {word for word in words if not word.startswith("#")}
    print(f"{calls} calls of {len(names)} names, {len(kinds)} findings")
    return 1 if kinds else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--calls", type=float, default=math.inf, help="most calls, so that a seed makes the same ones")
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--repeat", metavar="NAME:NUMBER", help="make one call again and show its traceback")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds that a call may take")
    parser.add_argument("--sanitized", action="store_true", help="memory is not limited: sanitizers map much of it")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return 0
    if options.list:
        print("\n".join(targets()))
        return 0
    if not options.repeat:
        return parent(options)
    name, _, number = options.repeat.rpartition(":")
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        faulthandler.dump_traceback_later(options.limit, exit=True)
        finding = call(targets()[name], int(number), Path(temporary), print)
        faulthandler.cancel_dump_traceback_later()
        print("\n" + finding["stack"] if finding else "as it should be")
    return 1 if finding else 0


if __name__ == "__main__":
    raise SystemExit(main())
