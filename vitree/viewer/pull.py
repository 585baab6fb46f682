"""Pull: a spring and a damper between a point of a body and a point in space, which a mouse moves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError

from vitree.mechanism.floating import roots_of
from vitree.model.model import Model
from vitree.results.drawing import WORLD, Drawing

#: Angular frequency [rad/s] of the geometric mean of the point's effective mass and the mass of its tree on the spring.
OMEGA = 10.0
#: Steps after which the mobility of the point is worked out again.
EVERY = 5


@dataclass(eq=False)
class Pull:
    """What holds a point of a body.

    Attributes
    ----------
    frame : str
        A frame of the body.
    local : (3,) array [m]
        The point, in the axes of the frame.
    target : (3,) array [m]
        Where it is pulled to, in the world. It may be replaced at any time.
    strength : float [-]
        Factor of the stiffness.
    point, force : (3,) arrays [m, N]
        Where the point was in the last step, and the force on it, in the world.
    acted : (3,) array [m]
        The target of the last step.
    """

    frame: str
    local: np.ndarray
    target: np.ndarray
    strength: float = 1.0
    point: np.ndarray | None = None
    force: np.ndarray | None = None
    acted: np.ndarray | None = None
    _mobility: np.ndarray | None = field(default=None, repr=False)
    _due: int = field(default=0, repr=False)
    _tree_mass: float = field(default=0.0, repr=False)

    def generalized_force(self, model: Model, q: np.ndarray, h: float) -> np.ndarray:
        """Return J^T f (nv,) [N or N m] for the next of steps of h [s].

        The force is that of a spring and a damper at the end of the step, as far as the body is free to move:
        f = k (x* - x - h u) - c u with the velocity u at the step's end, which changes by h A f, A = J M^-1 J^T. So
        light bodies are pulled stably with any stiffness. The velocity before is the mean of the last step. A is that
        of a few steps ago.
        """
        X = model.frame_pose(self.frame, q)
        arm = X[:3, :3] @ self.local
        x = X[:3, 3] + arm
        # the rows of the point: those of the frame's origin, and what the frame's turning adds
        J6 = model.frame_jacobian(self.frame, q)
        J = J6[3:] - _cross(arm) @ J6[:3]
        if self._mobility is None or self._due <= 0:
            self._tree_mass = self._tree_mass or tree_mass(model, self.frame)
            self._mobility, self._due = J @ _solved(model.crba(q), J.T), EVERY
        self._due -= 1
        u = np.zeros(3) if self.point is None else (x - self.point) / h
        A = self._mobility
        mobility = float(A[0, 0] + A[1, 1] + A[2, 2]) / 3
        self.point = x
        if not 0 < mobility < np.inf:
            self.force = np.zeros(3)
            return np.zeros(model.nv)
        mass = 1 / mobility
        k = self.strength * OMEGA**2 * float(np.sqrt(mass * max(self._tree_mass, mass)))
        c = 2 * float(np.sqrt(k * mass))
        target = self.target
        self.force = np.linalg.solve(np.eye(3) + h * (c + h * k) * A, k * (target - x - h * u) - c * u)
        self.acted = target
        found: np.ndarray = self.force @ J
        return found


def grabbed(drawing: Drawing, poses: np.ndarray, body: int, point: np.ndarray, target: np.ndarray,
            strength: float) -> Pull | None:  # fmt: skip
    """Return the pull at a point (3,) [m] in the world of a body of a drawing at poses (nbody, 7)."""
    mark = next((mark for mark in drawing.frames if mark.body == body), None)
    if body == WORLD or mark is None:
        return None
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(poses[body, 3:])
    own = turn.inv().apply(point - poses[body, :3])  # in the body
    local = Rotation.from_quat(mark.pose[3:]).inv().apply(own - np.array(mark.pose[:3]))
    return Pull(mark.name, local, np.array(target), strength)


def tree_mass(model: Model, frame: str) -> float:
    """Return the mass [kg] of all bodies that hang together with a frame by joints."""
    flat = model.full.flat
    body = int(flat.frame_body[list(flat.frame_names).index(frame)])
    roots = roots_of(np.asarray(flat.parent))
    return float(np.asarray(flat.mass)[roots == roots[body]].sum()) if body >= 0 else 0.0


def _cross(r: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def _solved(M: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return M^-1 B; of a singular mass matrix the solution of least norm."""
    try:
        found: np.ndarray = np.linalg.solve(M, B)
    except LinAlgError:
        found = np.linalg.lstsq(M, B, rcond=None)[0]
    return found
