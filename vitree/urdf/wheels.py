"""Cylinders about the axes of their own joints: wheels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from vitree.mechanism.flat import Geometry
from vitree.urdf.checks import AXIS_TOLERANCE
from vitree.urdf.joints import Joint
from vitree.urdf.xml import Source


def note_wheels(file: Source, joints: Mapping[str, Joint], shapes: Mapping[str, Sequence[Geometry]]) -> None:
    """Note the <collision> cylinders about the axis of the continuous joint that carries their link.

    Parameters
    ----------
    file : Source
    joints, shapes : mappings
        Joints of the tree by name, and shapes by links.
    """
    for name, joint in joints.items():
        if joint.type != "continuous":
            continue
        axis = np.array(joint.axis or [1.0, 0.0, 0.0], dtype=float)
        axis = axis / math.hypot(*axis)
        for shape in shapes[joint.child]:
            if shape.kind != "cylinder" or shape.role != "collision":
                continue
            aside = np.linalg.norm(np.cross(axis, shape.position)) / shape.size[0]
            turned = np.linalg.norm(np.cross(axis, np.asarray(shape.rotation)[:, 2]))
            if aside < AXIS_TOLERANCE and turned < AXIS_TOLERANCE:
                text = f'a cylinder of link "{joint.child}" is about the axis of its joint "{name}": a wheel of radius '
                file.say("wheel", f"{text}{shape.size[0]:g} m", joint)
