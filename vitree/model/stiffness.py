"""How fast springs and drives let a mechanism move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vitree.mechanism.loads import JointSpring, NonlinearSpring, Spring

if TYPE_CHECKING:
    from vitree.model.model import Model

_SPRINGS = (JointSpring, NonlinearSpring, Spring)


def spring_rate(model: Model, q: np.ndarray) -> float:
    """Return the largest frequency that one spring alone gives the mechanism at q (nq,) [rad/s]; zero without springs.

    Of a spring of stiffness k along a row J of displacements it is sqrt(k J M^-1 J^T).
    """
    springs = [load for load in model.loads if isinstance(load, _SPRINGS)]
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    if not springs or not free.any() or not np.isfinite(q).all():
        return 0.0
    inverse = np.linalg.pinv(model.crba(q)[np.ix_(free, free)])
    squares = [float(np.linalg.eigvals(inverse @ _stiffness(model, load, q)[np.ix_(free, free)]).real.max())
               for load in springs]  # fmt: skip
    return float(np.sqrt(max(0.0, *squares)))


def drive_rate(model: Model, q: np.ndarray) -> float:
    """Return the largest rate that drives and joint damping give the mechanism at q (nq,) [1/s]; zero without drives.

    Of dampings D and gains K it is the larger of the largest eigenvalue of M^-1 D and the root of that of M^-1 K.
    """
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    if not model.drives or not free.any() or not np.isfinite(q).all():
        return 0.0
    gains = np.zeros((2, model.nv))
    gains[1] = model.damping
    for drive in model.drives:
        gains[:, model.joint(drive.joint).v_slice.start] += drive.kp, drive.kd
    inverse = np.linalg.pinv(model.crba(q)[np.ix_(free, free)])
    by_gain, by_damping = (float(np.linalg.eigvals(inverse * diagonal).real.max()) for diagonal in gains[:, free])
    return max(float(np.sqrt(max(by_gain, 0.0))), by_damping)


def _stiffness(model: Model, load: JointSpring | NonlinearSpring | Spring, q: np.ndarray) -> np.ndarray:
    """The matrix (nv, nv) of a spring without what its present force adds; that of a table at its steepest."""
    if isinstance(load, Spring):
        rows = _jacobian(model, load.a, q) - _jacobian(model, load.b, q)
        d = _place(model, load.a, q) - _place(model, load.b, q)
        if load.length != 0 and d.any():
            rows = (d / np.linalg.norm(d))[None] @ rows
        return load.stiffness * rows.T @ rows
    out, iv = np.zeros((model.nv, model.nv)), model.joint(load.joint).v_slice.start
    if isinstance(load, JointSpring):
        out[iv, iv] = load.stiffness
    else:
        x = np.asarray(load.positions, dtype=float)
        force = [load.force(at) for at in x] if callable(load.force) else load.force
        out[iv, iv] = max(0.0, float((-np.diff(np.asarray(force, dtype=float)) / np.diff(x)).max(initial=0.0)))
    return out


def _jacobian(model: Model, frame: str, q: np.ndarray) -> np.ndarray:
    """Of a frame's origin, (3, nv)."""
    return np.zeros((3, model.nv)) if frame == "world" else model.frame_jacobian(frame, q)[3:]


def _place(model: Model, frame: str, q: np.ndarray) -> np.ndarray:
    """A frame's origin, (3,) [m]."""
    return np.zeros(3) if frame == "world" else model.frame_pose(frame, q)[:3, 3]
