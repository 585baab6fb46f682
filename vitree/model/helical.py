"""The screw that closes a loop: travel along an axis in proportion to the turns about it, over any number of turns."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ModelError
from vitree.model.user_inputs import Constraint
from vitree.spatial.checks import direction, finite
from vitree.spatial.rotations import turn_z_to


class HelicalConstraint(Constraint):
    """The nut of a screw: frame b travels along an axis of frame a by ``pitch`` times the angle that it turns about it.

    With the cylindrical ``joint_constraints("cylindrical", a, b, axis)`` it closes a loop by a helical joint. The
    travel tells how many whole turns were made, so the value

        h = pitch wrap(theta - d/pitch),    wrap to half a turn at either side,

    of the travel d and the angle theta in one turn has no memory, and holds over any number of turns. It is the fifth
    constraint of such a joint; it is evaluated in Python, with its exact gradient.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is that of the world. They coincide where travel and angle are zero.
    pitch : float [m/rad]
        Travel for an angle; negative for a left-handed thread. A lead of 10 mm a turn is ``0.01 / (2 * pi)``.
    axis : (3,) array
        Direction of the screw, in both frames.
    label : str, optional
        What messages and plots call it.

    Raises
    ------
    ModelError
        If the pitch is not finite or zero, or the axis not a direction.

    References
    ----------
    Johnson & Murphey 2009, section II (lower pairs).
    """

    def __init__(self, a: str, b: str, pitch: float, axis: ArrayLike = (0.0, 0.0, 1.0), label: str | None = None):
        what = f'between "{a}" and "{b}"'
        self.a, self.b, self.label = a, b, label
        self.pitch = finite(pitch, f"pitch {what}")
        if self.pitch == 0.0:
            raise ModelError(f'the pitch {what} is zero; take joint_constraints("revolute", ..), which does not travel')
        self.axis = tuple(direction(axis, f"axis {what}").tolist())
        self._frame = turn_z_to(np.array(self.axis))

    @property
    def name(self) -> str:
        """Name for messages."""
        return self.label or f'helical "{self.a}" - "{self.b}"'

    @property
    def content(self) -> str:
        """What the model's digest depends on."""
        return f"{type(self).__qualname__} {(self.a, self.b, self.pitch, self.axis, self.label)!r}"

    def renamed(self, rename: Callable[[str], str]) -> HelicalConstraint:
        """Return this for a tree to which its own is attached, where ``rename`` maps names of frames."""
        made = copy(self)
        made.a, made.b = (name if name == "world" else rename(name) for name in (self.a, self.b))
        return made

    def _places(self, model: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the axes x, y, z of the screw in frame a as columns, x in frame b, and both origins; world axes."""
        A, B = (np.eye(4) if name == "world" else model.frame_pose(name, q) for name in (self.a, self.b))
        return A[:3, :3] @ self._frame, B[:3, :3] @ self._frame[:, 0], A[:3, 3], B[:3, 3]

    def value(self, model: Any, q: np.ndarray) -> float:
        """Return how far the travel is from that of the angle, h [m]; (nq,) is the shape of q."""
        axes, x_b, p_a, p_b = self._places(model, q)
        X, Y = x_b @ axes[:, 0], x_b @ axes[:, 1]
        off = np.arctan2(Y, X) - axes[:, 2] @ (p_b - p_a) / self.pitch
        return float(self.pitch * (off - 2.0 * np.pi * np.round(off / (2.0 * np.pi))))

    def gradient(self, model: Any, q: np.ndarray) -> np.ndarray:
        """Return dh/dq by body displacements, (nv,) [m per m or rad]."""
        axes, x_b, p_a, p_b = self._places(model, q)
        x, y, z = axes.T
        X, Y = x_b @ x, x_b @ y
        J_a, J_b = (np.zeros((6, model.nv)) if name == "world" else model.frame_jacobian(name, q)
                    for name in (self.a, self.b))  # fmt: skip
        turning = J_b[:3] - J_a[:3]
        by_angle = (X * np.cross(x_b, y) - Y * np.cross(x_b, x)) @ turning / (X * X + Y * Y)
        by_travel = z @ (J_b[3:] - J_a[3:]) + np.cross(z, p_b - p_a) @ J_a[:3]
        found: np.ndarray = self.pitch * by_angle - by_travel
        return found
