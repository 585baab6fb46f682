"""Index: the places of joints and frames in the arrays of a mechanism, by name."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TypeVar

import numpy as np

from vitree.errors import ModelError, UnknownNameError
from vitree.mechanism.flat import BALL, FREE, KIND_NQ, KIND_NV, Flat, JointInfo
from vitree.spatial.checks import frozen

T = TypeVar("T")


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)[: len(sizes)]


def _found(kind: str, name: str, there: Mapping[str, T]) -> T:
    if not isinstance(name, str) or name not in there:
        raise UnknownNameError(kind, name, there)
    return there[name]


def pose_of(flat: Flat, frame: int, bodies: np.ndarray, first: int = 0) -> np.ndarray:
    """Return the pose (..., 4, 4) [m] of the frame in a row, from the poses (..., n, 4, 4) [m] of bodies.

    They are those from the number ``first`` on.
    """
    local = np.eye(4)
    local[:3, :3], local[:3, 3] = flat.frame_E[frame], flat.frame_p[frame]
    body = int(flat.frame_body[frame])
    if body < 0:
        return np.broadcast_to(local, (*bodies.shape[:-3], 4, 4)).copy()
    return product_of(bodies[..., body - first, :, :], local)


def product_of(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B of a stack of small matrices A, with the bits of compiled code: a library's depend on the machine."""
    # the axes of the stack are last, so that sums are over long rows
    lead = A.ndim - 2
    rows = np.ascontiguousarray(A.transpose(lead, lead + 1, *range(lead)))
    factors = B.reshape(*B.shape, *[1] * lead)
    found: np.ndarray = rows[:, :1] * factors[0]
    for k in range(1, len(B)):
        found += rows[:, k : k + 1] * factors[k]
    return np.ascontiguousarray(found.transpose(*range(2, lead + 2), 0, 1))


class Index:
    """Names to numbers.

    Parameters
    ----------
    flat : Flat

    Attributes
    ----------
    nq, nv : int
        Numbers of entries of a configuration and of a velocity.
    iq, iv : (nbody,) arrays of int32
        First coordinate and first velocity of each body's joint.
    quaternions : (n,) array of int
        Places in q at which quaternions (x, y, z, w) start.
    joints : dict of str to JointInfo
    frames : dict of str to int
        Rows of the frames in ``flat``.
    """

    def __init__(self, flat: Flat):
        self.flat = flat
        kinds = np.asarray(flat.kind, dtype=np.int32)
        self.iq, self.iv = _starts(KIND_NQ[kinds]), _starts(KIND_NV[kinds])
        self.nq, self.nv = int(KIND_NQ[kinds].sum()), int(KIND_NV[kinds].sum())
        self.quaternions = np.array(
            [start + (3 if kind == FREE else 0) for kind, start in zip(kinds, self.iq, strict=True)
             if kind in (BALL, FREE)],
            dtype=int,
        )  # fmt: skip
        self.iq, self.iv, self.quaternions = frozen((self.iq, self.iv, self.quaternions))
        self.joints = {joint.name: joint for joint in flat.joints}
        self.frames = {name: k for k, name in enumerate(flat.frame_names)}

    def of_numbers(self, flat: Flat) -> Index:
        """Return that of the same joints and frames in the arrays of a mechanism with other numbers."""
        made: Index = copy(self)
        made.flat = flat
        return made

    def joint(self, name: str) -> JointInfo:
        """Return the description of the joint ``name``; raise an UnknownNameError if there is none."""
        return _found("joint", name, self.joints)

    def frame(self, name: str) -> int:
        """Return the row of the frame ``name``; raise an UnknownNameError if there is none."""
        return _found("frame", name, self.frames)

    def place(self, name: str) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the body (-1: world) that a frame is fixed to, and its rotation and position in the core frame.

        Raises
        ------
        UnknownNameError
            If there is no such frame.
        """
        known = isinstance(name, str)
        if known and name == "world" and "world" not in self.frames:
            return -1, np.eye(3), np.zeros(3)
        if not known or name not in self.frames:
            raise UnknownNameError("frame", name, ["world", *self.flat.frame_names])
        k = self.frames[name]
        return int(self.flat.frame_body[k]), self.flat.frame_E[k], self.flat.frame_p[k]

    def one_coordinate(self, name: str, what: str) -> dict[str, int]:
        """Return the places of a joint's coordinate in q and v.

        Raises an UnknownNameError if there is no such joint, and a ModelError if it has several coordinates.
        """
        joint = self.joint(name)
        count = joint.v_slice.stop - joint.v_slice.start
        if count != 1:
            raise ModelError(f'the {what}: "{name}" has {count} coordinates, not one')
        return {"iq": joint.q_slice.start, "iv": joint.v_slice.start}
