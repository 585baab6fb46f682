"""Joints that are locked at coordinates: what :meth:`vitree.Tree.lock` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.flat import KIND_NQ, KINDS
from vitree.spatial.rotations import rotation_about
from vitree.tree.elements import Coordinate, Fixed
from vitree.tree.frames import Frame
from vitree.tree.names import JOINT, NAMES, renamed
from vitree.tree.poses import pose_of
from vitree.wording import text_of


class Locked(Protocol):
    """What locking needs of a tree; :class:`vitree.Tree` says what each is."""

    name: str
    constraints: list[Any]
    loads: list[Any]
    unilateral: list[Any]
    start: dict[str, Any]
    world: Frame
    _names: dict[str, set[str]]


def lock(tree: Locked, joints: Mapping[str, ArrayLike]) -> None:
    """Make joints constant transforms; arguments and errors are those of :meth:`vitree.Tree.lock`."""
    if not isinstance(joints, Mapping):
        raise InputError("joints", joints, f'is {shown(joints)}; give coordinates by the names of joints, such as '
                         '{"wrist": 0.3}')  # fmt: skip
    places: dict[str, list[Frame]] = {}
    for _, at in tree.world.walk():
        if isinstance(at.element, Coordinate):
            places.setdefault(at.element.joint or at.element.name, []).append(at)
    made = []
    for joint, values in joints.items():
        if joint not in places:
            raise UnknownNameError("joint", joint, sorted(places))
        made += _locked(joint, places[joint], values)
    _require_unused(tree, joints, [at for each in places.values() for at in each])
    for parts in (tree.loads, tree.unilateral):
        parts[:] = [each for each in parts if getattr(each, "joint", None) not in joints]
    for at, R, p in made:
        element = at.element
        assert isinstance(element, Coordinate)
        last = element.joint is None or places[element.joint][-1] is at
        name = element.joint if element.joint is not None and last else element.name
        tree._names["joint"] -= {element.name, name}
        # a link of this name gives it to its own frame
        named = None if name in tree._names["link"] else name
        if named is not None:
            tree._names["frame"].add(named)
        at.element = Fixed(named, R, tuple(p.tolist()))
    for joint in joints:
        tree.start.pop(joint, None)


def _locked(joint: str, frames: list[Frame], values: ArrayLike) -> list[tuple[Frame, np.ndarray, np.ndarray]]:
    """The frames of a joint with the rotations and positions of their constant transforms."""
    elements = [at.element for at in frames]
    counts = [int(KIND_NQ[KINDS.index(x.kind)]) if isinstance(x, Coordinate) and x.twist is None else 1
              for x in elements]  # fmt: skip
    try:
        q = np.atleast_1d(as_numbers(values))
    except TypeError:
        q = np.zeros(0)
    if q.shape != (sum(counts),) or not np.isfinite(q).all():
        some = "one finite number" if sum(counts) == 1 else f"{sum(counts)} finite numbers, as the joint has in q"
        raise InputError("joints", values, f'has {shown(values)} for "{joint}"; give {some}')
    found = []
    for at, x in zip(frames, np.split(q, np.cumsum(counts)[:-1]), strict=True):
        element = at.element
        assert isinstance(element, Coordinate)
        if element.twist is None:
            g = pose_of(x if len(x) == 7 else [0.0, 0.0, 0.0, *x])
            found.append((at, g[:3, :3], g[:3, 3]))
            continue
        # the exponential of the twist: p = (1 - R)(w x v) + (w.v) x w
        w, v, angle = np.array(element.twist[:3]), np.array(element.twist[3:]), float(x[0])
        if not w.any():
            found.append((at, np.eye(3), angle * v))
            continue
        R, centre = rotation_about(w, angle), np.cross(w, v)
        found.append((at, R, centre - R @ centre + angle * (w @ v) * w))
    return found


def _require_unused(tree: Locked, joints: Mapping[str, ArrayLike], coordinates: list[Frame]) -> None:
    """Raise a ModelError that names a constraint, or a joint that follows one of these."""
    used: set[str] = set()

    def note(name: str, of: str) -> str:
        if of == JOINT:
            used.add(name)
        return name

    for each in tree.constraints:
        used.clear()
        if type(each) in NAMES:
            renamed(each, note)
        for joint in sorted(used & {*joints}):
            text = text_of(getattr(each, "name", each))
            raise ModelError(f'"{tree.name}" has a constraint that uses the joint "{joint}": {text}; remove it from '
                             "tree.constraints before the joint is locked")  # fmt: skip
    for at in coordinates:
        element = at.element
        if isinstance(element, Coordinate) and element.mimic is not None and element.mimic[0] in joints:
            if (element.joint or element.name) not in joints:
                raise ModelError(f'the joint "{element.name}" follows "{element.mimic[0]}"; lock both, or read the '
                                 'file with mimic="independent"')  # fmt: skip
