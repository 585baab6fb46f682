"""Costs of where the frames of a robot are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.arguments import axes_of, entries, of_kind, real, several
from vitree.errors import InputError
from vitree.lie import SO3
from vitree.model.model import Model
from vitree.spatial.rotations import proper_rotation
from vitree.wording import Argument, named


@dataclass(frozen=True, eq=False)
class FrameCost:
    """The cost weight |x - point|^2 + turn_weight |r|^2 of a frame whose origin is at x.

    r is the rotation vector of the turn from ``rotation`` to the axes of the frame. The cost is counted at the start of
    each step, and with the weights for the end at the end of the motion.

    Parameters
    ----------
    frame : str
    point : (3,) or (steps + 1, 3) array, optional [m]
        Where the frame's origin is to be, in world axes: always, or at the ends of the steps.
    rotation : (3, 3) array, optional [-]
        The axes that the frame is to have, as columns in world axes.
    weight, weight_end : float, in units of the cost over m^2
        Of the distance, in each step and at the end.
    turn_weight, turn_weight_end : float, in units of the cost over rad^2
        Of the turn.

    Raises
    ------
    InputError
        If a number is wrong, no weight is positive, or a weight has no target.
    ModelError
        If ``rotation`` is none.
    """

    frame: str
    point: Any = None
    rotation: Any = None
    weight: float = 0.0
    weight_end: float = 0.0
    turn_weight: float = 0.0
    turn_weight_end: float = 0.0

    def __post_init__(self) -> None:
        weights = ("weight", "weight_end", "turn_weight", "turn_weight_end")
        for name in weights:
            value = real(getattr(self, name))
            if not 0 <= value < np.inf:
                raise InputError(Argument(name, getattr(self, name)) + " must be a number, zero or positive")
            object.__setattr__(self, name, value)
        if not any(getattr(self, name) for name in weights):
            raise InputError(f'the cost of the frame "{self.frame}" has no weight: give one of {", ".join(weights)}')
        for target, of in (("point", weights[:2]), ("rotation", weights[2:])):
            if getattr(self, target) is None and any(getattr(self, name) for name in of):
                raise InputError(f'the cost of the frame "{self.frame}" has {" or ".join(of)}: give ' + named(target))
        if self.point is not None:
            shape = (len(self.point), 3) if axes_of(self.point) == 2 else (3,)
            object.__setattr__(self, "point", entries(self.point, shape, "point").copy())
        if self.rotation is not None:
            object.__setattr__(self, "rotation", proper_rotation(self.rotation, f'the target of "{self.frame}"'))


class Distances:
    """The costs of frames over motions of a model of so many steps."""

    def __init__(self, model: Model, given: Any, steps: int):
        self.model = model
        self.costs: Sequence[FrameCost] = several((), "frames", "") if given is None else several(given, "frames", "FrameCost")
        for each in self.costs:
            model.frame_pose(of_kind(each, FrameCost, "frames", "a vitree.control.FrameCost").frame, model.neutral())
            if each.point is not None and each.point.ndim == 2:
                entries(each.point, (steps + 1, 3), f'the point of "{each.frame}"', ", a row for each end of a step")
        self._weights = [np.tile(np.repeat([x.turn_weight, x.weight], 3), (steps + 1, 1)) for x in self.costs]
        for x, rows in zip(self.costs, self._weights, strict=True):
            rows[-1] = np.repeat([x.turn_weight_end, x.weight_end], 3)

    def _parts(self, q: np.ndarray) -> Any:
        """Each cost with the rows of q that it weighs, its weights, the distances (n, 6) there, and the poses."""
        for x, weights in zip(self.costs, self._weights, strict=True):
            rows = slice(0 if weights[0].any() else len(q) - 1, len(q))
            poses = self.model.frame_pose(x.frame, q[rows])
            off = np.zeros((len(poses), 6))
            if x.rotation is not None:
                off[:, :3] = SO3.maps["exp"].log(x.rotation.T @ poses[:, :3, :3])
            if x.point is not None:
                off[:, 3:] = poses[:, :3, 3] - (x.point if x.point.ndim == 1 else x.point[rows])
            yield x, rows, weights[rows], off, poses

    def cost(self, q: np.ndarray) -> float:
        """Return the cost of configurations (steps + 1, nq)."""
        return float(sum(np.sum(weights * off**2) for _, _, weights, off, _ in self._parts(q)))

    def expand(self, q: np.ndarray, gradients: np.ndarray, matrices: np.ndarray) -> None:
        """Add gradients (steps + 1, 2 nv) and Gauss-Newton matrices (steps + 1, 2 nv, 2 nv) by displacements of q."""
        nv = self.model.nv
        for x, rows, weights, off, poses in self._parts(q):
            J = self.model.frame_jacobian(x.frame, q[rows])
            if x.rotation is not None:
                # the rotation vector by a turn about the frame's own axes
                J[:, :3] = SO3.maps["exp"].dtau_inv(-off[:, :3]) @ poses[:, :3, :3].swapaxes(1, 2) @ J[:, :3]
            weighed = 2 * weights[:, :, None] * J
            gradients[rows, :nv] += np.einsum("kij,ki->kj", weighed, off)
            matrices[rows, :nv, :nv] += J.swapaxes(1, 2) @ weighed
