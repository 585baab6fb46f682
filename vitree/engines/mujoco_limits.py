"""What acts on one side alone, in MuJoCo: limits of joints, and ropes as tendons of limited length. Both are soft."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vitree.engines.mujoco_contacts import spring
from vitree.mechanism.flat import limits_of
from vitree.mechanism.unilateral import BallLimit, Pulley
from vitree.model.model import Model

if TYPE_CHECKING:
    from mujoco import MjsJoint, MjSpec

#: A range ends there where a coordinate has no limit [m, rad].
UNLIMITED = 1e10


def add_limits(
    spec: MjSpec, joints: dict[int, MjsJoint], site: Callable[[str, np.ndarray], str], model: Model, dt: float,
    timeconst: float | None,
) -> None:  # fmt: skip
    """Add the limits that a model enforces on positions, and its ropes, as stiff as dt allows.

    Parameters
    ----------
    spec : MjSpec
    joints : dict of int to MjsJoint
        By their first places among velocities.
    site : callable of (frame, (3,) array)
        That makes a site at a point of a frame and returns its name.
    model : Model
    dt : float [s]
    timeconst : float, optional
        Of limits without restitution [s]; 2 dt if not given.

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a limit or a rope.
    """
    for _, _, v, low, high in limits_of(model.joints, model.constraints) if model.limits == "enforce" else ():
        joint = joints[v]
        joint.limited, joint.range = True, [max(low, -UNLIMITED), min(high, UNLIMITED)]
        joint.solref_limit = spring(float(model.flat.limit_restitution[v]), dt, timeconst)
    for k, each in enumerate(model.unilateral):
        solref = spring(each.restitution, dt, timeconst)
        if isinstance(each, BallLimit):
            if each.angle is None or each.swing is not None or each.twist is not None:
                raise NotImplementedError(f"the {each.name}, of swing or twist")
            joint = joints[model.joint(each.joint).v_slice.start]
            joint.limited, joint.range, joint.solref_limit = True, [0.0, each.angle], solref
            continue
        if each.stiffness < math.inf or any(isinstance(point, Pulley) for point in each.points):
            raise NotImplementedError(f"the {each.name}, which is elastic or runs around pulleys")
        tendon = spec.add_tendon(name=f"rope{k}", limited=True, range=[0.0, each.length], solref_limit=solref)
        for frame, at in zip(each.frames, each.offsets, strict=True):
            tendon.wrap_site(site(frame, np.asarray(at)))
