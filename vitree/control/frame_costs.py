"""Costs of the poses of frames: their values, gradients and second derivatives over motions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vitree._core import scalar, wide
from vitree.arguments import entries
from vitree.control.costs import FrameCost
from vitree.lie import SO3
from vitree.model.model import Model

core = scalar()


def pose_errors(cost: FrameCost, poses: np.ndarray, point: np.ndarray | None) -> np.ndarray:
    """Return the errors (..., 6) of poses (..., 3 or 4, 4): rotation vectors to the frame's axes, and displacements."""
    found = np.zeros((*poses.shape[:-2], 6))
    if cost.rotation is not None:
        found[..., :3] = SO3.maps["exp"].log(np.asarray(cost.rotation).T @ poses[..., :3, :3])
    if point is not None:
        found[..., 3:] = poses[..., :3, 3] - point
    return found


def pose_error_slopes(cost: FrameCost, errors: np.ndarray, poses: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return the derivatives (..., 6, nv) of the errors by displacements, of the frame's Jacobian J in world axes."""
    found = J
    if cost.rotation is not None:
        found = J.copy()
        # the rotation vector by a turn about the frame's own axes
        local = np.swapaxes(poses[..., :3, :3], -1, -2) @ J[..., :3, :]
        found[..., :3, :] = SO3.maps["exp"].dtau_inv(-errors[..., :3]) @ local
    return found


def frame_weights(cost: FrameCost) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (6,) of the errors of a frame's pose, in each step and at the end."""
    pairs = (cost.turn_weight, cost.weight), (cost.turn_weight_end, cost.weight_end)
    return np.repeat(pairs[0], 3), np.repeat(pairs[1], 3)


class Part(NamedTuple):
    """A cost, the rows of q that it weighs, its weights (n, 6), the errors (n, 6) of the poses, and these."""

    cost: FrameCost
    rows: slice
    weighing: np.ndarray
    off: np.ndarray
    poses: np.ndarray


class FrameCosts:
    """The costs of frames over motions of a model of so many steps."""

    def __init__(self, model: Model, costs: Sequence[FrameCost], steps: int):
        self.model, self.costs = model, costs
        #: the configurations that were last asked for, with their parts and Jacobians
        self._last: tuple[np.ndarray, list[Part], list[np.ndarray]] | None = None
        for each in costs:
            model.frame_pose(each.frame, model.neutral())
            if each.point is not None and np.ndim(each.point) == 2:
                entries(each.point, (steps + 1, 3), f'the point of "{each.frame}"', ", a row for each node")
        self._weights = [
            np.concatenate([np.tile(running, (steps, 1)), [last]]) for running, last in map(frame_weights, costs)
        ]

    def _parts(self, q: np.ndarray) -> list[Part]:
        """Return the parts of all costs; searches ask for the same configurations again, which must not change."""
        if self._last is not None and self._last[0] is q:
            return self._last[1]
        found = []
        for x, weighing in zip(self.costs, self._weights, strict=True):
            rows = slice(0 if weighing[0].any() else len(q) - 1, len(q))
            poses = self._poses(x.frame, q[rows])
            point = None if x.point is None else np.asarray(x.point)
            off = pose_errors(x, poses, point if point is None or point.ndim == 1 else point[rows])
            found.append(Part(x, rows, weighing[rows], off, poses))
        self._last = q, found, []
        return found

    def _poses(self, frame: str, q: np.ndarray) -> np.ndarray:
        """Return the poses (n, 3, 4) of a frame at configurations, which need no checks; last rows are left out."""
        model = self.model
        k = model._frame(frame)
        body = int(model.flat.frame_body[k])
        if type(model) is not Model or body < 0:
            return model.frame_pose(frame, q)[:, :3]
        rows, on_body = np.empty((len(q), model.nbody * 12)), np.eye(4)
        wide().batch_poses(model.core, q, rows)
        on_body[:3, :3], on_body[:3, 3] = model.flat.frame_E[k], model.flat.frame_p[k]
        found: np.ndarray = rows[:, 12 * body : 12 * body + 12].reshape(-1, 4) @ on_body
        return found.reshape(-1, 3, 4)

    def _jacobians(self, frame: str, q: np.ndarray) -> np.ndarray:
        """Return the Jacobians (n, 6, nv) of a frame there, in world axes."""
        model = self.model
        return model._jacobian_rows(model._frame(frame), q) if type(model) is Model else model.frame_jacobian(frame, q)

    def _with_jacobians(self, q: np.ndarray) -> Iterator[tuple[Part, np.ndarray]]:
        """Yield the parts with the Jacobians (n, 6, nv) of the frames."""
        parts = self._parts(q)
        assert self._last is not None
        if not self._last[2]:
            self._last[2].extend(self._jacobians(part.cost.frame, q[part.rows]) for part in parts)
        return zip(parts, self._last[2], strict=True)

    def cost(self, q: np.ndarray) -> float:
        """Return the cost of configurations (steps + 1, nq)."""
        return float(sum(np.vdot(part.weighing, part.off**2) for part in self._parts(q)))

    def expand(self, q: np.ndarray, gradients: np.ndarray, matrices: np.ndarray) -> None:
        """Add gradients (steps + 1, 2 nv) and Gauss-Newton matrices (steps + 1, 2 nv, 2 nv) by displacements of q."""
        for part, J in self._with_jacobians(q):
            J = np.ascontiguousarray(pose_error_slopes(part.cost, part.off, part.poses, J))
            core.frame_terms(J, part.off, part.weighing, gradients[part.rows], matrices[part.rows])

    def bend(self, q: np.ndarray, matrices: np.ndarray) -> None:
        """Add what the curvature of the points' paths adds to the matrices (steps + 1, 2 nv, 2 nv)."""
        for part, J in self._with_jacobians(q):
            if part.cost.point is not None:
                core.frame_bend(J, part.off, part.weighing, matrices[part.rows])
