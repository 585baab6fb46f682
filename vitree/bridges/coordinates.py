"""Derivatives by coordinates: q has nq entries, a displacement of it nv.

Bridges hand out functions of arrays, which know nothing of quaternions. Such a function first divides each quaternion
by its length. A change dq of the coordinates is then the displacement d = P dq, and a displacement d is the change
dq = E d.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vitree.errors import InputError
from vitree.lie import SE3, SO3, Group
from vitree.mechanism.flat import BALL, FREE, KIND_NQ, KIND_NV
from vitree.model.model import Model
from vitree.spatial.rotations import hat


class Coordinates:
    """The coordinates of a model.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model):
        self.model = model
        kind = np.asarray(model.flat.kind)
        q, v = np.cumsum(KIND_NQ[kind]) - KIND_NQ[kind], np.cumsum(KIND_NV[kind]) - KIND_NV[kind]
        single = KIND_NV[kind] == 1
        #: places of joints of one coordinate
        self.single = q[single], v[single]
        #: places (position, displacement) and (quaternion, turn)
        self.moves = [(q[k], v[k]) for k in np.flatnonzero(kind == FREE)]
        #: places of displacements of turns, and of (turn, move), and their groups
        self.groups: list[tuple[np.ndarray, Group]] = [(v[k] + np.arange(3), SO3) for k in np.flatnonzero(kind == BALL)]
        self.groups += [(v[k] + np.array([3, 4, 5, 0, 1, 2]), SE3) for k in np.flatnonzero(kind == FREE)]
        self.turns = [(q[k] + 3 * (kind[k] == FREE), v[k] + 3 * (kind[k] == FREE))
                      for k in np.flatnonzero((kind == FREE) | (kind == BALL))]  # fmt: skip

    def normalized(self, q: np.ndarray, name: str = "q") -> np.ndarray:
        """Return q (n, nq) with quaternions of length one; raise an InputError if one is zero."""
        found = q.copy()
        for at, _ in self.turns:
            sizes = np.linalg.norm(q[:, at : at + 4], axis=1)
            if not (sizes > 1e-8).all():
                raise InputError(
                    name, q,
                    f"has a quaternion of length {sizes.min():.3g} at entries {at} to {at + 3}; quaternions (x, y, z, "
                    "w) may have any length but zero"
                )
            # a quaternion of length one stays as it is
            off = np.abs(sizes - 1) > 1e-15
            found[off, at : at + 4] /= sizes[off, None]
        return found

    def by_displacements(self, q: np.ndarray) -> np.ndarray:
        """Return E (n, nq, nv), the derivatives of coordinates by displacements at q (n, nq)."""
        E = np.zeros((len(q), self.model.nq, self.model.nv))
        E[:, *self.single] = 1.0
        for at, to in self.turns:
            u, w = q[:, at : at + 3], q[:, at + 3, None, None]
            E[:, at : at + 3, to : to + 3] = 0.5 * (w * np.eye(3) + hat(u))
            E[:, at + 3, to : to + 3] = -0.5 * u
        for at, to in self.moves:
            u, w = q[:, at + 3 : at + 6], q[:, at + 6, None, None]
            turned = hat(u)
            E[:, at : at + 3, to : to + 3] = np.eye(3) + 2 * w * turned + 2 * turned @ turned
        return E

    def of_differences(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives (n, nv, nv) of difference(q0, q1), or d (n, nv), by displacements of q0 and q1."""
        # exp(d) becomes exp(-d0) exp(d) exp(d1)
        return (self._of_joints(-1.0, lambda group, x: -group.maps["exp"].dtau_inv(x), d),
                self._of_joints(1.0, lambda group, x: group.maps["exp"].dtau_inv(-x), d))  # fmt: skip

    def of_displaced(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives (n, nv, nv) of q displaced by d (n, nv), as displacements, by those of q and by d."""
        return (self._of_joints(1.0, lambda group, x: group.Ad(group.maps["exp"].tau(-x)), d),
                self._of_joints(1.0, lambda group, x: group.maps["exp"].dtau(-x), d))  # fmt: skip

    def _of_joints(
        self, single: float, of_group: Callable[[Group, np.ndarray], np.ndarray], d: np.ndarray
    ) -> np.ndarray:
        """Return matrices (n, nv, nv) with a number for each joint of one coordinate, and blocks for the others."""
        found = np.zeros((len(d), self.model.nv, self.model.nv))
        found[:, range(self.model.nv), range(self.model.nv)] = single
        for at, group in self.groups:
            found[:, at[:, None], at] = of_group(group, d[:, at])
        return found

    def displacements(self, q: np.ndarray) -> np.ndarray:
        """Return P (n, nv, nq), the derivatives of displacements by coordinates q (n, nq), of any length."""
        E = self.by_displacements(self.normalized(q))
        # columns of E are orthogonal; those of a turn have length 1/2
        P = np.ascontiguousarray((E / (E**2).sum(axis=1, keepdims=True)).swapaxes(1, 2))
        for at, _ in self.turns:
            P[:, :, at : at + 4] /= np.linalg.norm(q[:, at : at + 4], axis=1)[:, None, None]
        return P

    def displaced_by(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the displacements (n, nv) that changes (n, nq) of coordinates q (n, nq) are."""
        if not self.turns:
            return change.copy()
        found: np.ndarray = (self.displacements(q) @ change[:, :, None])[..., 0]
        return found
