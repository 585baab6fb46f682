"""The posture in which a robot stands, from the SRDF file beside its URDF file."""

from __future__ import annotations

from pathlib import Path

from vitree.errors import UrdfError
from vitree.urdf.schema import Tag
from vitree.urdf.xml import LARGEST, MAX_BYTES, Source

#: Names of the group states in which a robot stands, the preferred ones first.
STANDING = ("half_sitting", "standing", "standing_with_arm_up", "homing_balanced", "homing_nominal")
#: Robots that stand where all coordinates are zero, and have no such state; and one that cannot stand, on two points.
NEUTRAL = ("g1_29dof_rev_1_0", "g1_29dof_with_hand_rev_1_0", "human", "laikago", "quadruped")
FALLING = ("bolt",)
#: What is read of an SRDF file.
_SRDF = Tag(children={"group_state": Tag(children={"joint": Tag()}, many=("joint",))}, many=("group_state",))


def standing_posture(path: Path) -> dict[str, tuple[float, ...]] | None:
    """Return the coordinates of joints where a robot stands; None if no standing posture of it is known.

    The posture is a group state of an SRDF file in the folder ``srdf`` beside the folder of the robot's file: of the
    file whose name begins most like that of the robot's file. Numbers with a fault are left out.

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
    files = sorted(path.absolute().parent.parent.glob("srdf/*.srdf"))
    if not files:
        return None
    best = max(files, key=lambda file: (_alike(file.stem, path.stem), -len(file.stem)))
    try:
        with open(best, "rb") as stream:
            root = Source(best.name, stream.read(MAX_BYTES + 1), known=_SRDF).root
    except (OSError, UrdfError):
        return None
    states = {state.get("name"): state for state in root.findall("group_state")}
    name = next((name for name in STANDING if name in states), None)
    if name is None:
        return None
    found = {joint.get("name", ""): _numbers(joint.get("value", "")) for joint in states[name].findall("joint")}
    return {joint: values for joint, values in found.items() if values}


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
