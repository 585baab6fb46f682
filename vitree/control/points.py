"""Points of a robot as functions of its configuration: places, and joint forces of forces on them."""

from __future__ import annotations

import numpy as np

from vitree.control.charts import Entries
from vitree.errors import UnknownNameError

#: Motions of a point smaller than this share of the largest count as none.
_STILL = 1e-9


class Point:
    """The origin of a frame, at stacks of configurations with entries (..., nq)."""

    def __init__(self, entries: Entries, frame: str):
        self.entries, self.model, self.frame = entries, entries.model, frame
        if frame not in self.model.frame_names:
            raise UnknownNameError("frame", frame, self.model.frame_names)
        # a displacement turns the columns of its own body and of those after it
        body = entries.body
        self._before = body[None, :] <= body[:, None]

    def place(self, q: np.ndarray) -> np.ndarray:
        """Return the place (..., 3) [m]."""
        return self.model.frame_pose(self.frame, self.entries.unit(q))[..., :3, 3]

    def place_slopes(self, q: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., 3, nq) of the place by the entries."""
        return self.entries.by_entries(self._jacobian(q)[..., 3:, :], q)

    def joint_force(self, q: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) of a force (..., 3) on the point, in world axes: J^T f."""
        return np.einsum("...ci,...c->...i", self._jacobian(q)[..., 3:, :], force)

    def joint_force_slopes(self, q: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the joint forces by the entries, (..., nv, nq), and by the force, (..., nv, 3).

        dJ_i/dd_j = w_j x J_i if the displacement j moves the column i, else w_i x J_j.
        """
        J = self._jacobian(q)
        return self.entries.by_entries(self._bend(J, force), q), np.swapaxes(J[..., 3:, :], -1, -2)

    def _bend(self, J: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., nv, nv) of J^T f by displacements."""
        turned = np.swapaxes(J[..., 3:, :], -1, -2) @ np.cross(force[..., None], J[..., :3, :], axis=-2)
        return np.where(self._before, turned, np.swapaxes(turned, -1, -2))

    def movable(self) -> np.ndarray:
        """Return whether the point can move along each of the world's axes, (3,) bool."""
        rng, model = np.random.default_rng(0), self.model
        q = [model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)) for _ in range(5)]
        sizes = np.abs(self._jacobian(np.array(q))[:, 3:]).max(axis=(0, 2))
        return sizes > _STILL * max(sizes.max(), 1e-300)

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.model.frame_jacobian(self.frame, self.entries.unit(q))


class String(Point):
    """A string from a point to a hook in the world: its length, and joint forces of its tension."""

    def __init__(self, entries: Entries, frame: str, hook: np.ndarray):
        super().__init__(entries, frame)
        self.hook = hook

    def length(self, q: np.ndarray) -> np.ndarray:
        """Return the length (...,) [m]."""
        return np.linalg.norm(self.hook - self.place(q), axis=-1)

    def pull(self, q: np.ndarray, tension: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) of a tension (..., 1)."""
        away = self.hook - self.place(q)
        return self.joint_force(q, tension * away / np.linalg.norm(away, axis=-1, keepdims=True))

    def pull_slopes(self, q: np.ndarray, tension: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the joint forces: by the entries (..., nv, nq), by the tension (..., nv, 1)."""
        q1 = self.entries.unit(q)
        away = self.hook - self.place(q1)
        length = np.linalg.norm(away, axis=-1, keepdims=True)
        e = away / length
        J = self._jacobian(q1)
        turned, rows = np.swapaxes(J[..., 3:, :], -1, -2), e[..., None, :] @ J[..., 3:, :]
        # the direction turns by -(1 - e e^T) J d / length
        across = turned @ J[..., 3:, :] - np.swapaxes(rows, -1, -2) @ rows
        by_displacement = self._bend(J, tension * e) - (tension / length)[..., None] * across
        return self.entries.by_entries(by_displacement, q), np.swapaxes(rows, -1, -2)
