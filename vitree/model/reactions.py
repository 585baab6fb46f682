"""What joints transmit: the wrench that the parent puts on a body through its joint.

The bodies are taken apart: a mechanism of the same bodies, each free in space, says by inverse dynamics which wrench a
motion asks of each, and which wrenches loads and constraints put on them. The equations are those of the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree._core.types import CoreModel
from vitree.lie import pose_from_matrix
from vitree.mechanism.constraints import AxisConstraint, Distance, PointConstraint
from vitree.mechanism.flat import FREE, Flat, JointInfo
from vitree.mechanism.index import Index
from vitree.mechanism.loads import Attraction, Damper, Gravity, Spring, Wrench, input_names
from vitree.model.lower import lower_constraints, lower_loads
from vitree.model.motion import BodyMotion, body_motion, sums_above
from vitree.spatial.rotations import cross, turn_z_to

core = scalar()
#: Loads and constraints that act on bodies; all others act on joints.
ON_BODIES = (Spring, Damper, Attraction, Gravity, Wrench)
BETWEEN_BODIES = (PointConstraint, Distance, AxisConstraint)


class Apart:
    """The bodies of a model, each free in space.

    Parameters
    ----------
    model : Model
        Not a reduced one.
    """

    def __init__(self, model: Any):
        self.model, flat, n = model, model.flat, model.nbody
        free = Flat(
            name=flat.name, gravity=flat.gravity, kind=np.full(n, FREE, np.int32), parent=np.full(n, -1, np.int32),
            E=np.tile(np.eye(3), (n, 1, 1)), p=np.zeros((n, 3)), pitch=np.zeros(n), mass=flat.mass, com=flat.com,
            inertia=flat.inertia, damping=np.zeros(6 * n), kinematic=np.zeros(6 * n, bool),
        )  # fmt: skip
        self.core = _core(free)
        #: for the wrenches of loads, since a body may have no mass: acceleration is wrench
        self.unit = _core(replace(free, gravity=np.zeros(3), mass=np.ones(n), com=np.zeros((n, 3)),
                                  inertia=np.tile(np.eye(3), (n, 1, 1))))  # fmt: skip
        loads = tuple(x for x in flat.loads if isinstance(x, ON_BODIES))
        self.loads = lower_loads(model.index, loads) if loads else None
        self.inputs = [model.input_names.index(name) for name in input_names(loads)]
        self.which = [k for k, c in enumerate(flat.constraints) if isinstance(c, BETWEEN_BODIES)]
        # a length that is a coordinate is held by the joint of this coordinate, and the bodies feel the direction only
        held = (flat.constraints[k] for k in self.which)
        rows = [replace(c, length=1.0) if isinstance(c, Distance) and isinstance(c.length, str) else c for c in held]
        self.constraints = lower_constraints(model.index, tuple(rows))
        places = [_place(model.index, joint) for joint in flat.joints]
        #: of the frame of each joint: its body, and its rotation and position in the body's core frame
        self.body, self.turn, self.position = (np.array(x) for x in zip(*places, strict=True))

    def wrenches(self, motion: BodyMotion, u: np.ndarray | None, multipliers: np.ndarray | None) -> np.ndarray:
        """Return the wrench (nbody, 6) that each body needs beside gravity, loads and constraints.

        (force, torque) [N, N m] in the body's axes about the origin of its core frame, as v of a free joint has it.
        """
        n = len(motion.pose)
        R, arm = motion.pose[:, :, :3], motion.pose[:, :, 3] - motion.point
        g = np.tile(np.eye(4), (n, 1, 1))
        g[:, :3, :3] = R
        q = np.hstack((motion.pose[:, :, 3], pose_from_matrix(g)[:, 3:])).ravel()
        v, a = (_in_bodies(R, arm, x) for x in (motion.twist, motion.rate))
        found = np.empty(6 * n)
        core.batch_rnea(self.core, np.ascontiguousarray(self.model.flat.gravity, dtype=float), q[None], v[None],
                        a[None], found[None])  # fmt: skip
        if self.loads is not None:
            u = None if u is None else np.ascontiguousarray(u[self.inputs])
            field = core.ModelStepper(self.unit, 1.0, loads=self.loads, nu=len(self.inputs), inputs=u)
            acting, force = field.acceleration_at(0.0, q, v)[0], np.empty(6 * n)
            core.batch_rnea(self.unit, np.zeros(3), q[None], v[None], acting[None], force[None])
            found -= force
        if self.which and multipliers is not None:
            h, Dh = np.empty((1, len(self.which))), np.empty((1, 6 * n * len(self.which)))
            core.batch_constraints(self.core, self.constraints, q[None], h, Dh)
            found -= multipliers[self.which] @ Dh.reshape(len(self.which), -1)
        return found.reshape(n, 6)


def _core(flat: Flat) -> CoreModel:
    index = Index(flat)
    return CoreModel(flat, index.iq, index.iv, index.nq, index.nv)


def _in_bodies(R: np.ndarray, arm: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Twists (n, 6) in world axes about a point, as velocities (6 n,) of free joints."""
    w, u = twist[:, :3], twist[:, 3:] + cross(twist[:, :3], arm)
    return np.einsum("nji,nkj->nki", R, np.stack((u, w), axis=1)).ravel()


def _place(index: Index, joint: JointInfo) -> tuple[int, np.ndarray, np.ndarray]:
    """The body that a joint moves, and the rotation and position of the joint's frame in its core frame."""
    flat = index.flat
    body = int(np.flatnonzero(index.iv < joint.v_slice.stop)[-1])
    row = index.frames.get(joint.name)
    if row is not None and joint.name not in flat.link_names and flat.frame_body[row] == body:
        return body, flat.frame_E[row], flat.frame_p[row]
    # a link has the name
    turn = np.eye(3) if joint.axis is None else turn_z_to(np.array(joint.axis, dtype=float)).T
    return body, turn, np.zeros(3)


def joint_reactions(
    model: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, multipliers: np.ndarray | None, given: Mapping
) -> dict[str, np.ndarray]:
    """Return the wrench (torque, force) of each joint by its name, (6,) [N m, N].

    Parameters
    ----------
    model : Model
        Not a reduced one.
    q, v, a : arrays
        The state, and accelerations; those of ``forward_dynamics`` for None.
    multipliers : (m,) array or None
        Of the constraints; those of ``forward_dynamics`` for None.
    given : mapping
        What acts: the arguments tau, t, inputs (an array or None) and prescribed of ``forward_dynamics``.
    """
    apart: Apart = model._apart
    if a is None or (multipliers is None and apart.which):
        found: Any = model.forward_dynamics(q, v, **given)
        a = found.acceleration if a is None else a
        multipliers = found.multipliers if multipliers is None else multipliers
    motion = body_motion(model, q, v, a)
    wrench = apart.wrenches(motion, given["inputs"], multipliers)
    R, arm = motion.pose[:, :, :3], motion.pose[:, :, 3] - motion.point
    force, torque = (np.einsum("nij,nj->ni", R, x) for x in (wrench[:, :3], wrench[:, 3:]))
    total = sums_above(model.flat.parent, np.hstack((torque + cross(arm, force), force)))
    # to the frames of the joints
    axes = R[apart.body] @ apart.turn
    at = arm[apart.body] + np.einsum("nij,nj->ni", R[apart.body], apart.position)
    torque, force = total[apart.body, :3], total[apart.body, 3:]
    rows = np.hstack([np.einsum("nji,nj->ni", axes, x) for x in (torque - cross(at, force), force)])
    return {joint.name: row for joint, row in zip(model.flat.joints, rows, strict=True)}
