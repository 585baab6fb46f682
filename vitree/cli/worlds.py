"""Worlds on the command line: a scene file, or several files with names and places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vitree.arguments import Keywords
from vitree.cli.console import counted, say
from vitree.cli.names import is_scene, is_vehicle
from vitree.cli.options import GRAVITY, Things, find, numbers
from vitree.errors import InputError
from vitree.mechanism.contacts import LIMITS, Ground
from vitree.model.model import Model
from vitree.model.placement import place_on_ground

if TYPE_CHECKING:
    from vitree.worlds import World

#: A number, and three of them behind the last @ of a word.
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PLACED = re.compile(rf"(.+)@({_NUMBER},{_NUMBER},{_NUMBER})$")


class Given(NamedTuple):
    """A thing as it is given: its file, its name and its place [m], if it has these."""

    file: str
    name: str | None
    at: tuple[float, ...] | None


def given(word: str) -> Given:
    """Return the parts of NAME=FILE@X,Y,Z; a file of that very name is that file."""
    if Path(word).is_file():
        return Given(word, None, None)
    at, file, name = None, word, None
    if (found := _PLACED.match(word)) is not None:
        file, at = found[1], tuple(float(x) for x in found[2].split(","))
    elif "@" in word:
        raise InputError(f'"{word}": behind @ there must be a place X,Y,Z, three numbers in m')
    if "=" in file and not Path(file).is_file():
        name, _, file = file.partition("=")
    return Given(file, name or None, at)


def world_of(things: Things, gravity: str) -> tuple[World, bool]:
    """Return the world of a scene or of several things, and whether all of them have places.

    Says on stderr if there are warnings of files.
    """
    from vitree.worlds import World, read_scene

    if len(things.robots) == 1:
        own = {"gravity": (gravity, GRAVITY)}
        things.refuse(f"{things.robots[0]} defines this itself; leave it out, or change the file", **own)
        world, placed = read_scene(things.robots[0]), True
    else:
        touching = things.touching()
        ground = None if things.ground is False else touching["ground"] or Ground()
        limits = "enforce" if things.limits == LIMITS[0] else things.limits
        world = World(ground=ground, gravity=tuple(numbers("--gravity", gravity)), limits=limits,
                      velocity_limits=things.velocity_limits)  # fmt: skip
        parts = [given(word) for word in things.robots]
        for part in parts:
            _add(world, things, part)
        placed = all(part.at is not None for part in parts)
    if warnings := world.tree.report.of("warning"):
        say(f"{counted(len(warnings), 'warning')} of files, the first: {warnings[0]}")
    return world, placed


def _add(world: World, things: Things, part: Given) -> None:
    """Add one of several things."""
    from vitree.mjcf.files import is_mjcf
    from vitree.sdf.reader import is_sdf

    if re.fullmatch(rf"{_NUMBER}(?:,{_NUMBER})*", part.file) and not Path(part.file).exists():
        raise InputError(f'"{part.file}" is no robot; several values of one option are separated by commas, as in --dt '
                         "0.002,0.001")  # fmt: skip
    if is_scene(part.file):
        raise InputError(f"{part.file} is a scene, which is simulated alone; add the other things to it")
    if is_vehicle(part.file):
        raise InputError(f'"{part.file}" is a vehicle, which has no file; give robots')
    own: Keywords = {"limit_restitution": things.limit_restitution, "friction": things.joint_friction}
    options: Keywords = {}
    if not part.file.endswith(".sexpr"):
        path = find(part.file)
        read = things.options_of(path, part.file)
        of_world = "base", "gravity", "ground", "limits", "velocity_limits"
        options = {key: value for key, value in read.items() if key not in of_world}
        options |= own
        if is_mjcf(path) or is_sdf(path):
            options["contacts"] = things.ground is not False
    base = None if things.base == "auto" else things.base
    more: Keywords = {} if part.at is None else {"at": part.at}
    world.add(part.file, part.name, base=base, **more, **options)


def on_ground(world: World, model: Model, q: np.ndarray) -> np.ndarray:
    """Return q (nq,) [m or rad] with things that float and have no place set on the ground, if there is one."""
    if model.ground is None or not any(joint.kind == "free" for joint in model.joints):
        return q
    moved, found = place_on_ground(model, q), q.copy()
    for thing in world.things.values():
        if thing.frame is world.tree.world:
            for joint in model.joints:
                if joint.kind == "free" and joint.name.startswith(thing.prefix):
                    found[joint.q_slice] = moved[joint.q_slice]
    return found
