"""What the commands print of a model, and their progress bar."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from vitree.findings import SEVERITIES, Finding

#: Kinds of findings shown below the tree of ``info``.
MOST_TOLD = 12


class Bar:
    """A progress bar on stderr, started once something takes over a second."""

    def __init__(self, wanted: bool | None):
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.patience = 0.0 if wanted else 1.0
        self.rich: Any = None

    def __enter__(self) -> Bar:
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


def facts_of(model) -> dict[str, Any]:
    """Return what ``info`` shows, for JSON."""
    flat = model.flat
    joints = []
    for joint in model.joints:
        facts = {key: getattr(joint, key) for key in ("name", "kind", "parent", "child", "axis")}
        facts |= {key: getattr(joint, key) for key in ("lower", "upper", "velocity", "effort")}
        facts["damping"] = model.damping[joint.v_slice]
        facts["friction"] = model.friction[joint.v_slice]
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
        "notes": [finding.text for finding in _gravest_first(model)],
        "units": "kg, m, rad, s, N",
    }


def _gravest_first(model) -> list[Finding]:
    return sorted(model.report, key=lambda finding: SEVERITIES.index(finding.severity))


def _told(model) -> list[str]:
    """A line for each rule: its first finding, and how many more there are."""
    rules: dict[tuple[str, str], list[Finding]] = {}
    for finding in _gravest_first(model):
        rules.setdefault((finding.severity, finding.id), []).append(finding)
    return [
        f"{severity}: {found[0].text}" + (f" (and {len(found) - 1} more such)" if len(found) > 1 else "")
        for (severity, _), found in rules.items()
    ]


def print_tree(model) -> None:
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
    told = _told(model)
    for line in told[:MOST_TOLD]:
        tree.add(Text(line))
    if len(told) > MOST_TOLD:
        tree.add(Text(f"{len(told) - MOST_TOLD} more kinds of findings: --json shows them"))
    wide = None if sys.stdout.isatty() else 10_000  # a pipe gets whole lines
    Console(width=wide, highlight=False).print(tree)


def _describe(joint, model) -> str:
    unit = "m" if joint.kind == "prismatic" else "rad"
    parts = [joint.kind]
    if joint.axis is not None:
        parts.append("axis " + " ".join(f"{x:.3g}" for x in joint.axis))
    if len(joint.lower) == 1 and (np.isfinite(joint.lower[0]) or np.isfinite(joint.upper[0])):
        parts.append(f"{joint.lower[0]:.4g} .. {joint.upper[0]:.4g} {unit}")
    count = joint.v_slice.stop - joint.v_slice.start
    if count > 1:
        parts.append(f"{count} degrees of freedom")
    for what, values in (("damping", model.damping[joint.v_slice]), ("friction", model.friction[joint.v_slice])):
        if values.any():
            parts.append(f"{what} " + " ".join(f"{x:g}" for x in values))
    if joint.mimic is not None:
        parts.append(f"mimics {joint.mimic[0]}")
    return f"{joint.name} ({', '.join(parts)})"
