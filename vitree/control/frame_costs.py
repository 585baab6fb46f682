"""Costs of the poses of frames: their values, gradients and second derivatives over motions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vitree.arguments import entries
from vitree.control.costs import FrameCost
from vitree.lie import SO3
from vitree.model.model import Model


def pose_errors(cost: FrameCost, poses: np.ndarray, point: np.ndarray | None) -> np.ndarray:
    """Return the errors (..., 6) of poses (..., 4, 4): rotation vectors to the frame's axes, and displacements."""
    found = np.zeros((*poses.shape[:-2], 6))
    if cost.rotation is not None:
        found[..., :3] = SO3.maps["exp"].log(np.asarray(cost.rotation).T @ poses[..., :3, :3])
    if point is not None:
        found[..., 3:] = poses[..., :3, 3] - point
    return found


def pose_error_slopes(cost: FrameCost, errors: np.ndarray, poses: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return the derivatives (..., 6, nv) of the errors by displacements, of the frame's Jacobian J in world axes."""
    found = J.copy()
    if cost.rotation is not None:
        # the rotation vector by a turn about the frame's own axes
        local = np.swapaxes(poses[..., :3, :3], -1, -2) @ J[..., :3, :]
        found[..., :3, :] = SO3.maps["exp"].dtau_inv(-errors[..., :3]) @ local
    return found


def frame_weights(cost: FrameCost) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (6,) of the errors of a frame's pose, in each step and at the end."""
    pairs = (cost.turn_weight, cost.weight), (cost.turn_weight_end, cost.weight_end)
    return np.repeat(pairs[0], 3), np.repeat(pairs[1], 3)


class FrameCosts:
    """The costs of frames over motions of a model of so many steps."""

    def __init__(self, model: Model, costs: Sequence[FrameCost], steps: int):
        self.model, self.costs = model, costs
        for each in costs:
            model.frame_pose(each.frame, model.neutral())
            if each.point is not None and np.ndim(each.point) == 2:
                entries(each.point, (steps + 1, 3), f'the point of "{each.frame}"', ", a row for each node")
        self._weights = [
            np.concatenate([np.tile(running, (steps, 1)), [last]]) for running, last in map(frame_weights, costs)
        ]

    def _parts(self, q: np.ndarray) -> Iterator[tuple[FrameCost, slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield each cost with the rows of q that it weighs, its weights, the pose's errors (n, 6), and the poses."""
        for x, weighing in zip(self.costs, self._weights, strict=True):
            rows = slice(0 if weighing[0].any() else len(q) - 1, len(q))
            poses = self.model.frame_pose(x.frame, q[rows])
            point = None if x.point is None else np.asarray(x.point)
            off = pose_errors(x, poses, point if point is None or point.ndim == 1 else point[rows])
            yield x, rows, weighing[rows], off, poses

    def cost(self, q: np.ndarray) -> float:
        """Return the cost of configurations (steps + 1, nq)."""
        return float(sum(np.sum(weighing * off**2) for _, _, weighing, off, _ in self._parts(q)))

    def expand(self, q: np.ndarray, gradients: np.ndarray, matrices: np.ndarray) -> None:
        """Add gradients (steps + 1, 2 nv) and Gauss-Newton matrices (steps + 1, 2 nv, 2 nv) by displacements of q."""
        nv = self.model.nv
        for x, rows, weighing, off, poses in self._parts(q):
            J = pose_error_slopes(x, off, poses, self.model.frame_jacobian(x.frame, q[rows]))
            weighed = 2 * weighing[:, :, None] * J
            gradients[rows, :nv] += np.einsum("kij,ki->kj", weighed, off)
            matrices[rows, :nv, :nv] += J.swapaxes(1, 2) @ weighed

    def bend(self, q: np.ndarray) -> np.ndarray:
        """Return what the curvature of the points' paths adds to the matrices, (steps + 1, nv, nv).

        With the force f = 2 w (p - goal) the second derivative of w |p - goal|^2 by coordinates i and j, j outboard of
        i, has the term f.(w_i x p_j): w_i is the angular velocity by i, p_j the velocity of the point by j.
        """
        nv = self.model.nv
        found = np.zeros((len(q), nv, nv))
        inboard = np.triu(np.ones((nv, nv)), 1)
        for x, rows, weighing, off, _ in self._parts(q):
            if x.point is not None:
                J = self.model.frame_jacobian(x.frame, q[rows])
                force = 2 * weighing[:, 3:] * off[:, 3:]
                # f.(w_i x p_j) = w_i.(p_j x f)
                both = J[:, :3].swapaxes(1, 2) @ np.cross(J[:, 3:], force[:, :, None], axis=1)
                found[rows] += both * inboard + (both * inboard).swapaxes(1, 2) + both * np.eye(nv)
        return found
