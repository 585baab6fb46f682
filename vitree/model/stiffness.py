"""How fast springs let a mechanism vibrate."""

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
