"""The entries of configurations as variables: what displacements they are, and derivatives of differences.

Orientations are quaternions. All functions of a configuration take the quaternion at unit length, so that they are the
same along its length, and an equation of its own keeps the length. Quaternions have no edge, as angles and charts have.
"""

from __future__ import annotations

import numpy as np

from vitree.lie import SE3, SO3
from vitree.mechanism.flat import BALL, FREE, KIND_NQ, KIND_NV
from vitree.model.model import Model
from vitree.spatial.rotations import hat


class Entries:
    """The entries of a model's configurations, in stacks (..., nq)."""

    def __init__(self, model: Model):
        self.model = model
        kinds = np.asarray(model.flat.kind)
        self.quaternions = np.asarray(model.index.quaternions, dtype=int)
        several = np.flatnonzero(KIND_NV[kinds] > 1)
        self._joints = [(kinds[i], int(model.index.iq[i]), int(model.index.iv[i])) for i in several]
        plain = np.flatnonzero(KIND_NV[kinds] == 1)
        self._plain = np.asarray(model.index.iv)[plain], np.asarray(model.index.iq)[plain]
        #: whether all joints have one coordinate, so that changes of entries are displacements
        self.plain = not len(several)
        #: the number of the body that each velocity moves
        self.body = np.repeat(np.arange(len(kinds)), KIND_NV[kinds])
        #: the joint of each entry of q, and whether it is part of an orientation
        self.joint = np.repeat(np.arange(len(kinds)), KIND_NQ[kinds])
        self.turning = np.zeros(model.nq, dtype=bool)
        self.turning[(self.quaternions[:, None] + np.arange(4)).ravel()] = True

    def unit(self, q: np.ndarray) -> np.ndarray:
        """Return the configurations with quaternions of unit length."""
        if self.plain:
            return np.ascontiguousarray(q)
        found = np.array(q)
        for at in self.quaternions:
            found[..., at : at + 4] /= np.linalg.norm(found[..., at : at + 4], axis=-1, keepdims=True)
        return found

    def displacements(self, q: np.ndarray) -> np.ndarray:
        """Return the displacements (..., nv, nq) that small changes of the entries are: d = E dq.

        Of a quaternion (v, s) the turn in the body's axes is 2 vec(conj(q) dq) / |q|^2, of a place R^T dx.
        """
        found = np.zeros((*q.shape[:-1], self.model.nv, self.model.nq))
        found[..., self._plain[0], self._plain[1]] = 1.0
        for kind, iq, iv in self._joints:
            turn = iq + 3 * (kind == FREE)
            v, s = q[..., turn : turn + 3], q[..., turn + 3, None, None]
            length = (q[..., turn : turn + 4] ** 2).sum(axis=-1)[..., None, None]
            spin = iv + 3 * (kind == FREE)
            found[..., spin : spin + 3, turn : turn + 3] = 2.0 * (s * np.eye(3) - hat(v)) / length
            found[..., spin : spin + 3, turn + 3] = -2.0 * v / length[..., 0]
            if kind == FREE:
                R = np.eye(3) + 2.0 * (s * hat(v) + hat(v) @ hat(v)) / length
                found[..., iv : iv + 3, iq : iq + 3] = np.swapaxes(R, -1, -2)
        return found

    def by_entries(self, slopes: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return slopes by the entries (..., m, nq), from those by displacements (..., m, nv)."""
        return slopes if self.plain else slopes @ self.displacements(q)

    def difference_slopes(self, d: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., nv, nv) of d = difference(q1, q2) by a displacement of q2.

        That by a displacement of q1 is minus the one of -d.
        """
        found = np.zeros((*d.shape, d.shape[-1]))
        at = np.arange(d.shape[-1])
        found[..., at, at] = 1.0
        for kind, _, iv in self._joints:
            own = np.arange(iv, iv + (3 if kind == BALL else 6))
            # twists are (angular, linear)
            group, order = (SO3, own) if kind == BALL else (SE3, np.concatenate([own[3:], own[:3]]))
            found[..., order[:, None], order] = group.maps["exp"].dtau_inv(-d[..., order])
        return found
