"""Output of the commands: lines on stderr, JSON, a system as a tree, and the progress."""

from __future__ import annotations

import inspect
import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vitree.arguments import JsonObject
from vitree.cli.kinds import is_of_kind
from vitree.cli.words import in_options
from vitree.errors import InputError
from vitree.findings import SEVERITIES, Finding
from vitree.mechanism.contacts import LIMITS, Contact
from vitree.mechanism.flat import JointInfo
from vitree.model.candidates import Candidates
from vitree.model.model import Model
from vitree.model.system import System, freedom_of
from vitree.results.plain import no_nan, plain
from vitree.wording import visible

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status
    from rich.text import Text
    from rich.tree import Tree

#: Seconds without output before the progress is shown.
PATIENCE = 1.0
#: The same without a terminal, and seconds from one line to the next.
PATIENCE_OF_LINES = 3.0
#: Most characters of a warning in short.
SHORT = 82
#: Kinds of findings shown below the tree of ``info``.
MOST_SHOWN = 12


def say(text: object) -> None:
    """Print a line on stderr."""
    print("vitree: " + visible(" ".join(str(text).split())), file=sys.stderr)


def warn(texts: Sequence[str], whole: bool) -> None:
    """Print warnings of a run on stderr: the first statement of each, or ``whole``."""
    cut = False
    for text in map(in_options, texts):
        shown = text if whole else first_statement(text)
        cut |= shown != text
        say("warning: " + shown)
    if cut:
        say("--notes shows the warnings in full")


def first_statement(text: str, most: int = SHORT) -> str:
    """Return a text up to its first semicolon or full stop, of at most so many characters; without names behind ':'."""
    statement = re.split(r"; |\. ", text, maxsplit=1)[0].rstrip(".")
    if len(statement) > most and ": " in statement:
        statement = statement.partition(": ")[0]
    return statement if len(statement) <= most else statement[: most - 4].rpartition(" ")[0] + " ..."


def out(text: object, flush: bool = False) -> None:
    """Print a text on stdout."""
    print(visible(str(text)), flush=flush)


def print_json(content: object) -> None:
    """Print strict JSON, with null for NaN."""
    out(json.dumps(no_nan(plain(content)), indent=1, allow_nan=False))


def facts_of_findings(findings: Iterable[Finding]) -> list[dict[str, object]]:
    """Return findings, for JSON."""
    return [asdict(finding) for finding in findings]


def counted(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count} {what}{'s' * (count != 1)}"


def check_writable(option: str, path: Path, *endings: str, force: bool = False) -> None:
    """Raise an InputError that names the option if there cannot be a file of that path, or of that ending.

    Unless ``force`` is given, a file that is there must be of the kind that its ending says.
    """
    if not path.parent.is_dir():
        raise InputError(f"{option}: cannot write {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise InputError(f"{option}: cannot write {path}: it is a directory; give a file's name")
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{option}: cannot write {path}: its ending must be {' or '.join(endings)}")
    if not force and not is_of_kind(path, path.suffix):
        what = f"{path} is there, and is no {path.suffix.lower()} file as vitree writes it"
        raise InputError(f"{option}: {what}; give another name, or --force to replace it")


def wrote(path: Path) -> str:
    """Return the line for a file that is written; call this before the file is written."""
    return f"{'replaced' if path.is_file() else 'wrote'} {path}"


class Busy:
    """A line on stderr that names the work, once it takes over a second (no terminal: three)."""

    def __init__(self, what: str):
        self.what = visible(what)
        self.shown: Status | None = None

    def __enter__(self) -> Busy:
        terminal = sys.stderr.isatty()
        self.timer = threading.Timer(*((PATIENCE, self._show) if terminal else (PATIENCE_OF_LINES, self._tell)))
        self.timer.start()
        return self

    def _tell(self) -> None:
        say(f"{self.what} ...")

    def _show(self) -> None:
        from rich.console import Console

        self.shown = Console(stderr=True).status(self.what)
        self.shown.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()
        if self.shown is not None:
            self.shown.stop()


class Bar:
    """A progress bar on stderr, started once something takes over a second; without a terminal, a line a stage."""

    def __init__(self, wanted: bool | None):
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.lines = wanted is None and not self.wanted
        self.what = ""
        self.patience = 0.0 if wanted else PATIENCE
        self.rich: Progress | None = None

    def __enter__(self) -> Bar:
        self.start = self.reported = time.monotonic()
        return self

    def _tell(self, what: str) -> None:
        if what != self.what and time.monotonic() - self.reported >= PATIENCE_OF_LINES:
            say(f"{what} ...")
            self.what, self.reported = what, time.monotonic()

    def __call__(self, done: int, total: int, what: str) -> None:
        what = visible(what)
        if self.lines and done < total:
            self._tell(what)
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


def facts_of(system: System) -> dict[str, object]:
    """Return the content of ``info``, for JSON."""
    facts = {
        "name": system.name,
        "degrees_of_freedom": system.degrees_of_freedom,
        "nq": system.nq,
        "nv": system.nv,
        "q_names": system.q_names,
        "v_names": system.v_names,
        "total_mass": system.total_mass,
        "gravity": system.gravity,
        "constraints": [c.name for c in system.constraints],
        "loads": [load.name for load in system.loads],
        "inputs": system.input_names,
        "prescribed": system.prescribed_joint_names,
        "methods": list(system.methods),
        "units": "kg, m, rad, s, N",
    }
    return facts | (_facts_of_model(system) if isinstance(system, Model) else {})


def _facts_of_model(model: Model) -> dict[str, object]:
    flat = model.flat
    joints = []
    for joint in model.joints:
        facts = {key: getattr(joint, key) for key in ("name", "kind", "parent", "child", "axis")}
        facts |= {key: getattr(joint, key) for key in ("lower", "upper", "velocity", "effort")}
        facts["damping"] = model.damping[joint.v_slice]
        facts["friction"] = model.friction[joint.v_slice]
        facts["dry_friction"] = model.dry_friction[joint.v_slice]
        facts["armature"] = model.armature[joint.v_slice]
        facts["limit_restitution"] = model.limit_restitution[joint.v_slice]
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
        "links": links, "joints": joints, "limits": model.limits,
        "velocity_limits": model.velocity_limits, **_facts_of_contacts(model),
        "notes": [finding.text for finding in _gravest_first(model)],
    }  # fmt: skip


def _facts_of_contacts(model: Model) -> JsonObject:
    """Return the ground, None if there is none, and the number of points and shapes that touch, by frames."""
    ground, contacts = model.ground, [each for each in model.contacts if isinstance(each, Contact)]
    surface = ("friction", "restitution", "stiffness", "damping", "softness")
    frames = [
        {"frame": each.frame, "points": sum(len(points) for points, *_ in each.parts()),
         "shapes": [type(shape).__name__ for shape in each.shapes], "lost": each.lost}
        for each in contacts
    ]  # fmt: skip
    return {
        "ground": None if ground is None else {name: getattr(ground, name) for name in surface},
        "contacts": frames, "pairs": _count_pairs(model.contact_candidates) if contacts else 0,
    }  # fmt: skip


def _count_pairs(found: Candidates) -> int:
    """Return how many pairs of shapes of bodies may touch."""
    return len(found.pair) + int((~found.on_ground).sum())


def _lines_of_contacts(model: Model) -> list[str]:
    facts = _facts_of_contacts(model)
    lines = []
    if facts["ground"] is not None:
        given = (f"{name} {value:g}" for name, value in facts["ground"].items() if np.isfinite(value) and
                 (value or name in ("friction", "restitution")))  # fmt: skip
        lines.append("ground: " + ", ".join(given))
    if facts["contacts"]:
        count = sum(each["points"] for each in facts["contacts"])
        names = [f"{each['frame']} ({each['points']})" for each in facts["contacts"]]
        more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
        lines.append(
            f"contacts: {counted(count, 'point')} for the ground, of {', '.join(names[:MOST_SHOWN])}{more}; "
            f"{counted(facts['pairs'], 'pair')} of round shapes"
        )
    if model.limits != LIMITS[0]:
        lines.append(f"limits of joints: {model.limits}")
    if model.velocity_limits != LIMITS[0]:
        lines.append(f"limits of velocities: {model.velocity_limits}")
    return lines


def _gravest_first(model: Model) -> list[Finding]:
    return sorted(model.report, key=lambda finding: SEVERITIES.index(finding.severity))


def _lines_of_findings(model: Model) -> list[str]:
    """Return a line for each rule: its first finding, and the number of the others."""
    rules: dict[tuple[str, str], list[Finding]] = {}
    for finding in _gravest_first(model):
        rules.setdefault((finding.severity, finding.id), []).append(finding)
    return [
        f"{severity}: " + found[0].text + (f" (and {len(found) - 1} more such)" if len(found) > 1 else "")
        for (severity, _), found in rules.items()
    ]


def _line(text: str) -> Text:
    """Return a text for Rich."""
    from rich.text import Text

    return Text(visible(text))


def print_columns(words: Iterable[str]) -> None:
    """Print words in columns, down each, as wide as the terminal, or of 80 characters."""
    from rich.columns import Columns
    from rich.console import Console

    Console(highlight=False).print(Columns(map(_line, words), padding=(0, 2), column_first=True))


def print_tree(system: System) -> None:
    """Print links and joints of a model, or the facts of a vehicle, as a tree."""
    from rich.console import Console

    tree = _tree_of_model(system) if isinstance(system, Model) else _tree_of_vehicle(system)
    for what, some in (("constraint", system.constraints), ("load", system.loads)):
        for each in some:
            tree.add(_line(f"{what}: {each.name}"))
    for what, names in (("inputs", system.input_names), ("prescribed", system.prescribed_joint_names)):
        if names:
            tree.add(_line(f"{what}: {', '.join(names)}"))
    lines = _lines_of_contacts(system) + _lines_of_findings(system) if isinstance(system, Model) else []
    for line in lines[:MOST_SHOWN]:
        tree.add(_line(in_options(line)))
    if len(lines) > MOST_SHOWN:
        tree.add(_line(f"{len(lines) - MOST_SHOWN} more kinds of findings: --json shows them"))
    wide = None if sys.stdout.isatty() else 10_000  # a pipe gets whole lines
    Console(width=wide, highlight=False).print(tree)


def _tree_of_vehicle(vehicle: System) -> Tree:
    from rich.tree import Tree

    tree = Tree(_line(f"{vehicle.name}: {freedom_of(vehicle)}, {vehicle.total_mass:.6g} kg"))
    tree.add(_line(summary(type(vehicle))))
    for what, names in (("q", vehicle.q_names), ("v", vehicle.v_names), ("methods", vehicle.methods)):
        tree.add(_line(f"{what}: {', '.join(names)}"))
    return tree


def summary(thing: object) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"(; (see|made by) )?:\w+:`[^`]*`", "", first).rstrip(".")


def _tree_of_model(model: Model) -> Tree:
    from rich.tree import Tree

    into: dict[str, str] = {}  # link to the joints that lead to it
    pending = ""
    for joint in model.joints:
        pending += f"{_describe(joint, model)} -> "
        if joint.child in model.link_names:  # else it leads to a frame, and the next joint on
            into[joint.child], pending = pending, ""
    moving = len(model.joints)
    title = (
        f"{model.name}: {freedom_of(model)}, {moving} joints, "
        f"{len(model.link_names)} links, {model.total_mass:.6g} kg moving"
    )
    tree = Tree(_line(title))
    nodes: dict[str | None, Tree] = {None: tree}
    flat = model.flat
    for name, parent, mass in zip(model.link_names, flat.link_parent, flat.link_mass, strict=True):
        text = _line(f"{into.get(name, '')}{name}, {mass:.4g} kg")
        nodes[name] = nodes.get(parent, tree).add(text)
    return tree


def _describe(joint: JointInfo, model: Model) -> str:
    unit = "m" if joint.kind == "prismatic" else "rad"
    parts = [joint.kind]
    if joint.axis is not None:
        parts.append("axis " + " ".join(f"{x:.3g}" for x in joint.axis))
    if len(joint.lower) == 1 and (np.isfinite(joint.lower[0]) or np.isfinite(joint.upper[0])):
        parts.append(f"{joint.lower[0]:.4g} .. {joint.upper[0]:.4g} {unit}")
    count = joint.v_slice.stop - joint.v_slice.start
    if count > 1:
        parts.append(f"{count} degrees of freedom")
    for what in ("damping", "friction", "dry_friction", "armature", "limit_restitution"):
        values = getattr(model, what)[joint.v_slice]
        if values.any():
            parts.append(f"{what.replace('_', ' ')} " + " ".join(f"{x:g}" for x in values))
    if joint.mimic is not None:
        parts.append(f"mimics {joint.mimic[0]}")
    return f"{joint.name} ({', '.join(parts)})"
