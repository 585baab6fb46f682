"""The names that elements of a tree use for each other, declared once per kind, and elements under other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.constraints import AxisConstraint, Cam, Coupling, Distance, PointConstraint
from vitree.mechanism.contacts import Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Geometry
from vitree.mechanism.loads import (
    Attraction,
    BallSpring,
    Damper,
    Gravity,
    JointForce,
    JointSpring,
    NonlinearSpring,
    Spring,
    Wrench,
)
from vitree.mechanism.unilateral import BallLimit, Pulley, Rope
from vitree.model.user_inputs import Written
from vitree.tree.elements import Body, Coordinate, Fixed
from vitree.wording import text_of

#: What names are of. Frames include links and joints; "world" is one that no tree has to have. Labels are for people.
FRAME, JOINT, INPUT, LABEL = "frame", "joint", "input", "label"
#: The fields of each kind of element that hold names, alone, in sequences or as keys, and what these are of. Numbers in
#: these fields stay. ``Body.geometry`` holds elements with names of their own.
NAMES: dict[type, dict[str, str]] = {
    Fixed: {"name": FRAME},
    Coordinate: {"name": JOINT, "joint": JOINT, "mimic": JOINT},
    Body: {"name": FRAME, "geometry": FRAME},
    Geometry: {"frame": FRAME},
    PointConstraint: {"a": FRAME, "b": FRAME, "label": LABEL},
    Distance: {"a": FRAME, "b": FRAME, "length": JOINT, "label": LABEL},
    Coupling: {"factors": JOINT, "label": LABEL},
    AxisConstraint: {"a": FRAME, "b": FRAME, "label": LABEL},
    Cam: {"follower": JOINT, "driver": JOINT, "label": LABEL},
    Spring: {"a": FRAME, "b": FRAME},
    Damper: {"a": FRAME, "b": FRAME},
    Attraction: {"a": FRAME, "b": FRAME},
    Gravity: {"links": FRAME},
    Wrench: {"frame": FRAME, "torque": INPUT, "force": INPUT},
    JointForce: {"joint": JOINT, "force": INPUT},
    JointSpring: {"joint": JOINT},
    BallSpring: {"joint": JOINT, "reference": INPUT},
    NonlinearSpring: {"joint": JOINT},
    Drive: {"joint": JOINT, "target": INPUT, "target_rate": INPUT},
    Contact: {"frame": FRAME},
    NoContact: {"a": FRAME, "b": FRAME},
    RollingConstraint: {"frame": FRAME},
    Rope: {"points": FRAME, "label": LABEL},
    Pulley: {"frame": FRAME},
    BallLimit: {"joint": JOINT},
    Ground: {},
}
#: Fields that hold texts which are no names.
WORDS: dict[type, tuple[str, ...]] = {
    Coordinate: ("kind", "joint_kind"),
    Geometry: ("kind", "filename", "role", "texture"),
    PointConstraint: ("axes",),
    Wrench: ("axes",),
}

#: Returns a name, of what the second says, under which an element is known elsewhere.
Rename = Callable[[str, str], str]


def renamed(element: Any, rename: Rename) -> Any:
    """Return an element of a tree, a load, a constraint or a contact with other names; numbers keep their bits.

    Raises a ModelError if the kind of the element is not known, or it is written in Python and cannot be renamed.
    """
    if isinstance(element, Written):
        return element.renamed(lambda name: rename(name, FRAME))
    if type(element) not in NAMES:
        raise ModelError(f"{text_of(element, repr)} is of a kind whose names are not known; add it to the joined tree")
    made = copy(element)  # and not made anew: checks normalise directions again
    for field, of in NAMES[type(element)].items():
        vars(made)[field] = _renamed(getattr(element, field), of, rename)
    return made


def _renamed(value: Any, of: str, rename: Rename) -> Any:
    """A value of a field with other names, of what ``of`` says."""
    if isinstance(value, str):
        return rename(value, of)
    if isinstance(value, Geometry | Pulley):
        return renamed(value, rename)
    if isinstance(value, Mapping):
        return {rename(key, of): number for key, number in value.items()}
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.dtype == object):
        return tuple(_renamed(each, of, rename) for each in value)
    return value
