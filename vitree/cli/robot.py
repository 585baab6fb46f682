"""Commands about robots and their files: info, check, fix, robots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from vitree.cli.base import Force, Json, argument, option
from vitree.cli.console import (
    check_writable,
    counted,
    facts_of,
    facts_of_findings,
    out,
    print_columns,
    print_json,
    print_tree,
    say,
    summary,
)
from vitree.cli.names import VEHICLES, robot_files, vehicle
from vitree.cli.names import robots as complete_robots
from vitree.cli.options import Reading, Robot, find
from vitree.cli.words import in_options
from vitree.findings import SEVERITIES, Finding, Report

try:
    import typer
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]


def info(robot: Robot, as_json: Json = False) -> None:
    """Print links, joints, masses and degrees of freedom as a tree."""
    system = robot.load(robot.robot)
    if as_json:
        print_json(facts_of(system))
    else:
        print_tree(system)


def check(
    reading: Reading,
    robots: Annotated[
        list[str],
        argument(
            "Robot files (URDF, xacro, MJCF or SDF) or names of robots; several may be given.", "ROBOT", complete_robots
        ),
    ],
    strict: Annotated[bool, option("--strict", text="Exit with status 1 if there are warnings.")] = False,
    notes: Annotated[bool, option("--notes", text="Also print notes on how the file was read.")] = False,
    each: Annotated[bool, option("--each", text="Print each finding, also if others say the same.")] = False,
    as_json: Json = False,
) -> None:
    """List the errors and warnings of robot files.

    Prints lines: file:line: severity id: text. Findings that differ in names and numbers alone are counted in one line.
    The exit status is 2 if there are errors, 1 if there are only warnings and --strict is given, otherwise 0.
    """
    from vitree.mjcf import check_mjcf
    from vitree.mjcf.files import is_mjcf
    from vitree.sdf.reader import check_sdf, is_sdf
    from vitree.urdf import check_urdf

    found: list[Finding] = []
    for name in robots:
        path = find(name)
        if is_mjcf(path):
            report = check_mjcf(path, **reading.of_mjcf(name))
        elif is_sdf(path):
            report = check_sdf(path, **reading.of_sdf(name))
        else:
            report = check_urdf(path, **reading.options(path))
        found += [replace(finding, file=str(path)) for finding in report]
    counts = {severity: sum(finding.severity == severity for finding in found) for severity in SEVERITIES}
    if as_json:
        print_json({"files": robots, "counts": counts, "findings": facts_of_findings(found)})
    else:
        listed = Report(finding for finding in found if notes or finding.severity != "note")
        for line in map(str, listed) if each else listed.lines():
            out(in_options(line))
        text = ", ".join(counted(count, severity) for severity, count in counts.items())
        text += " (--notes shows them)" if counts["note"] and not notes else ""
        say(text + ("; checks that need these parts come once the errors are corrected" if counts["error"] else ""))
    raise typer.Exit(2 if counts["error"] else 1 if strict and counts["warning"] else 0)


def fix(
    reading: Reading,
    robot: Annotated[
        str,
        argument(
            "Name of a robot ('vitree robots' lists them), or path of a URDF or xacro file.", "ROBOT",
            complete_robots,
        ),
    ],
    output: Annotated[
        Path,
        option("--output", "-o", text="Output file of the repaired robot (.urdf).", complete=robot_files),
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Repair impossible inertias and normalise joint axes.

    The rest of the file is unchanged.
    Prints each change, then the remaining errors and warnings. The default of --inertia is repair.
    """
    from vitree.urdf import fix_urdf
    from vitree.writing import write_text

    check_writable("--output", output, force=force)
    path = find(robot)
    options = reading.options(path)
    with reading.naming_check(robot):
        fixed = fix_urdf(path, **(options | {"inertia": "repair" if reading.inertia == "warn" else reading.inertia}))
    write_text(output, fixed.text)
    changes = [replace(finding, file=str(path)) for finding in fixed.changes]
    remaining = [replace(finding, file=str(output)) for finding in fixed.remaining.of("error", "warning")]
    if as_json:
        found = {"changes": facts_of_findings(changes), "remaining": facts_of_findings(remaining)}
        print_json({"file": str(output), **found})
        return
    for line in (*map(str, changes), *Report(remaining).lines()):
        out(in_options(line))
    say(f"{counted(len(changes), 'change')}; wrote {output}")


def robots(
    paths: Annotated[bool, option("--paths", text="Print one line per robot, with the path of its file.")] = False,
    as_json: Json = False,
) -> None:
    """List the robots and vehicles that are available by name."""
    from vitree.urdf.robots import list_robots

    found = list_robots()
    built = {name: summary(type(vehicle(name))) for name in VEHICLES}
    if as_json:
        print_json({"robots": {name: str(path) for name, path in found.items()}, "vehicles": built})
        return
    if paths:
        _print_pairs(found)
    else:
        print_columns(found)
    out("\nvehicles")
    _print_pairs(built)


def _print_pairs(lines: Mapping[str, object]) -> None:
    width = max(map(len, lines))
    for name, text in lines.items():
        out(f"{name.ljust(width)}  {text}")
