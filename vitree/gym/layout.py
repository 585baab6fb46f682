"""Where the quantities of a robot are in the arrays of its states: the base, joints, drives, contacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, several
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.contacts import touching


class Layout:
    """Places of a robot's quantities in q (nq,) and v (nv,).

    Parameters
    ----------
    model : System
    pose : (nq,) array, or mapping of joint to number, optional [m or rad]
        The default pose; joints that a mapping does not name are as in ``model.start``.
    contacts : names or patterns of frames, optional
        Those whose contacts are told; all that may touch if not given.

    Attributes
    ----------
    pose : (nq,) array [m or rad]
    base : tuple of int, or None
        The first entries in q and in v of the free joint at the root.
    base_frame : str
        The frame that it moves.
    joints_q, joints_v : slices, or (m,) arrays of int
        What selects the joints of one coordinate, see :func:`columns_at`.
    frames : tuple of str
        The frames whose contacts are told.
    signs : (contacts, frames) array
        How an impulse of each contact acts on each of these frames: 1, -1 or 0.
    """

    def __init__(self, model: System, pose: object = None, contacts: Iterable[str] | None = None):
        self.model = model
        # joints that follow others have coordinates of these
        own = {*model.v_names}
        joints = [each for each in model.joints if each.name in own or each.v_slice.stop - each.v_slice.start > 1]
        free = [joint for joint in joints if joint.kind == "free" and joint.parent == "world"]
        self.base = (free[0].q_slice.start, free[0].v_slice.start) if free else None
        self.base_frame = free[0].child if free else ""
        single = [joint for joint in joints if joint.v_slice.stop - joint.v_slice.start == 1]
        self.joint_names = tuple(joint.name for joint in single)
        self.joints_q = columns_at([joint.q_slice.start for joint in single])
        self.joints_v = columns_at([joint.v_slice.start for joint in single])
        self.pose = self._pose(pose)
        gravity = np.asarray(model.gravity, dtype=float)
        size = float(np.linalg.norm(gravity))
        #: direction of gravity; zero without
        self.down = gravity / size if size else gravity
        full = model.full
        names = full._contact_names if isinstance(full, Model) and full.has_contact else ()
        self.frames = _chosen(touching(names), contacts)
        self.signs = np.array([[float(a == frame) - float(b == frame) for frame in self.frames] for a, b in names])
        self.signs = self.signs.reshape(len(names), len(self.frames))

        self._columns: dict[tuple[str, ...], np.ndarray] = {}

    def columns(self, frames: tuple[str, ...]) -> np.ndarray:
        """Return the columns (m,) of frames that touch, by names or patterns; raise an UnknownNameError for others."""
        key = tuple(map(repr, frames))
        found = self._columns.get(key)
        if found is None:
            names = [name for each in frames for name in fitting(each, self.frames, "frame that may touch", "frames")]
            found = np.array([self.frames.index(name) for name in dict.fromkeys(names)], dtype=int)
            self._columns[key] = found
        return found.copy()

    def _pose(self, pose: Any) -> np.ndarray:
        model: Any = self.model
        found = np.array(model.start, dtype=float)
        if pose is None:
            return found
        if not isinstance(pose, Mapping):
            return np.array(model.validate_configuration(pose, "pose"))
        for pattern, value in pose.items():
            for name in fitting(pattern, self.joint_names, "joint", "pose"):
                found[model.joint(name).q_slice] = float(entries(value, (), f'pose["{pattern}"]'))
        return found

    def require_base(self, what: str) -> tuple[int, int]:
        """Return the entries of the base; raise an InputError that names what needs one."""
        if self.base is None:
            raise InputError(f'{what} needs a free base, and "{self.model.name}" has none; load it with base="free"')
        return self.base


def columns_at(places: ArrayLike) -> slice | np.ndarray:
    """Return what selects columns: a slice where they follow one another, of which the result is a view."""
    at = np.asarray(places, dtype=int)
    if len(at) and (np.diff(at) == 1).all():
        return slice(int(at[0]), int(at[-1]) + 1)
    return at


def fitting(pattern: object, names: Iterable[str], kind: str, argument: str) -> list[str]:
    """Return the names that fit a pattern such as ``"*_foot"``; raise an UnknownNameError if none does."""
    names = list(names)
    found = [name for name in names if name == pattern or fnmatchcase(name, str(pattern))]
    if not found:
        raise UnknownNameError(kind, pattern, names, argument=argument)
    return found


def _chosen(known: tuple[str, ...], contacts: Iterable[str] | None) -> tuple[str, ...]:
    if contacts is None:
        return known
    patterns = (contacts,) if isinstance(contacts, str) else several(contacts, "contacts", "names of frames")
    return tuple(dict.fromkeys(
        name for pattern in patterns for name in fitting(pattern, known, "frame that may touch", "contacts")
    ))  # fmt: skip


def ranges_of(given: ArrayLike, name: str) -> tuple[float, float]:
    """Return a range (low, high), of two numbers, or of one for both ends."""
    pair = entries(given, (2,) if np.ndim(given) else (), name)
    low, high = (float(pair), float(pair)) if pair.ndim == 0 else (float(pair[0]), float(pair[1]))
    if low > high:
        raise InputError(name, given, "must be (low, high) with low at most high")
    return low, high
