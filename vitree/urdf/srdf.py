"""The SRDF file beside a URDF file: reference configurations, and pairs of links that do not touch."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from vitree.arguments import explain_calls, of_kind
from vitree.errors import InputError, UrdfError
from vitree.model.model import Model
from vitree.urdf.robots import find_robot
from vitree.urdf.schema import Tag
from vitree.urdf.xml import LARGEST, MAX_BYTES, Source

#: Names of the group states in which a robot stands, the preferred ones first.
STANDING = ("half_sitting", "standing", "standing_with_arm_up", "homing_balanced", "homing_nominal")
#: Robots that stand where all coordinates are zero, and have no such state; and one that cannot stand, on two points.
NEUTRAL = ("g1_29dof_rev_1_0", "g1_29dof_with_hand_rev_1_0", "human", "laikago", "quadruped")
FALLING = ("bolt",)
#: Coordinates of a free joint.
FREE = 7
#: What is read of an SRDF file.
_PAIRS = {name: Tag() for name in ("disable_collisions", "enable_collisions", "disable_default_collisions")}
_SRDF = Tag(children={"group_state": Tag(children={"joint": Tag()}, many=("joint",)), **_PAIRS},
            many=("group_state", *_PAIRS))  # fmt: skip


@explain_calls
def reference_configurations(model: Model, path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the configurations that a robot's SRDF file names, such as half_sitting.

    A ``<group_state>`` gives the coordinates of joints by their names; joints that it does not name, or gives another
    number of values, are at zero. Seven values of a joint that the model does not have, as of "root_joint", are the
    pose of a free base. To stand the robot on its ground, pass the configuration to :func:`vitree.place_on_ground`.

    Parameters
    ----------
    model : Model
        The model of that robot, with its joints' names.
    path : str or path
        The SRDF file; or the URDF file, or the robot's name: then the file in the folder ``srdf`` beside the folder of
        the URDF file, the one whose name is most like that of the URDF file.

    Returns
    -------
    dict of str to (nq,) array [m or rad]

    Raises
    ------
    InputError
        If the model is none, or there is no SRDF file.
    UrdfError
        If the SRDF file cannot be read.
    UnknownNameError, MissingExtraError
        As of :func:`vitree.find_robot`, of a robot's name.

    Examples
    --------
    >>> path = vt.find_robot("talos")  # doctest: +SKIP
    >>> model = vt.load_urdf(path, base="free", ground=vt.Ground())  # doctest: +SKIP
    >>> q0 = vt.place_on_ground(model, vt.reference_configurations(model, path)["half_sitting"])  # doctest: +SKIP
    """
    of_kind(model, Model, "model", "a vitree Model")
    file = Path(path) if Path(str(path)).suffix == ".srdf" else _file_beside(find_robot(path))
    if file is None:
        raise InputError("path", path, "has no SRDF file in the folder srdf beside its own; give the path of one")
    joints = {joint.name: joint.q_slice for joint in model.joints}
    states = {}
    for name, values in _group_states(file).items():
        q = states[name] = model.neutral()
        for joint, numbers in values.items():
            at = joints.get(joint, model.joints[0].q_slice if len(numbers) == FREE else slice(0, 0))
            if at.stop - at.start == len(numbers):
                q[at] = numbers
    return states


def standing_posture(path: Path) -> dict[str, tuple[float, ...]] | None:
    """Return the coordinates of joints where a robot stands; None if no standing posture of it is known.

    Parameters
    ----------
    path : Path
        Of the URDF file.

    Returns
    -------
    dict of str to tuple of float [m or rad], or None
        The coordinates of each joint; those of other joints are zero.
    """
    if path.stem in FALLING or not _touches(path):
        return None
    if path.stem in NEUTRAL:
        return {}
    if (file := _file_beside(path)) is None:
        return None
    try:
        states = _group_states(file)
    except UrdfError:
        return None
    return next((states[name] for name in STANDING if name in states), None)


@dataclass(frozen=True)
class LinkPairs:
    """Which pairs of links an SRDF file lets touch, as MoveIt reads it.

    Attributes
    ----------
    file : str
        The name of the SRDF file, "" without one.
    links : set of str
        No pair of these touches, unless it is enabled (``<disable_default_collisions>``).
    enabled, disabled : sets of frozenset of str
        Pairs of links (``<enable_collisions>``, ``<disable_collisions>``). A pair in both does not touch.
    """

    file: str = ""
    links: Set[str] = frozenset()
    enabled: Set[frozenset[str]] = frozenset()
    disabled: Set[frozenset[str]] = frozenset()

    def touch(self, a: str, b: str) -> bool:
        """Return whether two links may touch."""
        pair = frozenset((a, b))
        return pair not in self.disabled and (pair in self.enabled or not pair & self.links)


def link_pairs(path: Path) -> LinkPairs:
    """Return which pairs of links touch by the SRDF file beside a URDF file; without one all do.

    Raises a UrdfError if the file cannot be read.
    """
    if (file := _file_beside(path)) is None:
        return LinkPairs()
    root = _root(file)
    links = {each.get("link", "") for each in root.findall("disable_default_collisions")}
    enabled, disabled = ({frozenset((each.get("link1", ""), each.get("link2", ""))) for each in root.findall(name)}
                         for name in ("enable_collisions", "disable_collisions"))  # fmt: skip
    return LinkPairs(file.name, links, enabled, disabled)


def _file_beside(path: Path) -> Path | None:
    """Return the SRDF file of a URDF file: the one whose name begins most like its own."""
    files = sorted(path.absolute().parent.parent.glob("srdf/*.srdf"))
    return max(files, key=lambda file: (_alike(file.stem, path.stem), -len(file.stem)), default=None)


def _group_states(file: Path) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the values of joints by the names of group states and of joints; numbers with a fault are left out."""
    return {
        state.get("name", ""): {
            joint.get("name", ""): values
            for joint in state.findall("joint")
            if (values := _numbers(joint.get("value", "")))
        }
        for state in _root(file).findall("group_state")
    }


def _root(file: Path) -> Element:
    """Return the root of an SRDF file; a UrdfError if it cannot be read."""
    try:
        with open(file, "rb") as stream:
            return Source(file.name, stream.read(MAX_BYTES + 1), known=_SRDF).root
    except OSError as error:
        raise UrdfError(f"{file.name} cannot be read: {error.strerror}") from None


def _alike(a: str, b: str) -> int:
    """The number of letters with which both begin."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _touches(path: Path) -> bool:
    """Whether a robot has collision shapes."""
    try:
        return b"<collision" in path.read_bytes()
    except OSError:
        return False  # the reader will report it


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return ()
    return values if all(abs(x) <= LARGEST for x in values) else ()
