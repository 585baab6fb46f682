"""How fast springs and drives let a mechanism move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vitree.mechanism.flat import KIND_NV
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
    """Return the largest rate that drives and joint damping give the mechanism at q (nq,) [1/s]; zero without them.

    Of dampings D and gains K it is the larger of the largest eigenvalue of M^-1 D and the root of that of M^-1 K.
    """
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    if not (model.drives or np.any(model.damping)) or not free.any() or not np.isfinite(q).all():
        return 0.0
    gains = np.zeros((2, model.nv))
    gains[1] = model.damping
    for drive in model.drives:
        gains[:, model.joint(drive.joint).v_slice.start] += drive.kp, drive.kd
    inverse = np.linalg.pinv(model.crba(q)[np.ix_(free, free)])
    by_gain, by_damping = (float(np.linalg.eigvals(inverse * diagonal).real.max()) for diagonal in gains[:, free])
    return max(float(np.sqrt(max(by_gain, 0.0))), by_damping)


def friction_rates(model: Model, q: np.ndarray) -> np.ndarray:
    """Return the rates by which smooth friction slows joints that hardly move at q (nq,), (k,) [1/s].

    Friction f with the velocity e slows an inertia M at the rate f/(M e). Prescribed joints are left out.
    """
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    with np.errstate(over="ignore"):  # of friction that no double holds over so small a velocity: infinitely fast
        slope = (model.friction / np.asarray(model.flat.friction_velocity))[free]
    found: np.ndarray = slope * np.diag(np.linalg.inv(model.crba(q)[np.ix_(free, free)]))
    return found


def heaviest_load(model: Model) -> tuple[str, float, float] | None:
    """Return the joint that carries the most for the mass of its body: its name, that mass and what it carries [kg].

    Joints with armature and bodies without mass are left out; None where nothing is carried.
    """
    flat = model.full.flat
    carried = np.zeros(len(flat.mass))
    for body in range(len(carried) - 1, -1, -1):
        if flat.parent[body] >= 0:
            carried[flat.parent[body]] += carried[body] + flat.mass[body]
    share = np.divide(carried, flat.mass, out=np.zeros(len(carried)), where=flat.mass > 0)
    starts = {joint.v_slice.start: joint.name for joint in model.full.joints}
    sizes = KIND_NV[flat.kind]
    first = (np.cumsum(sizes) - sizes).tolist()
    share[[flat.armature[at] > 0 or at not in starts for at in first]] = 0.0
    k = int(share.argmax())
    return (starts[first[k]], float(flat.mass[k]), float(carried[k])) if share[k] > 0 else None


def _stiffness(model: Model, load: JointSpring | NonlinearSpring | Spring, q: np.ndarray) -> np.ndarray:
    """The matrix (nv, nv) of a spring without what its present force adds; that of a table at its steepest."""
    if isinstance(load, Spring):
        rows = _jacobian(model, load.a, q) - _jacobian(model, load.b, q)
        d = _place(model, load.a, q) - _place(model, load.b, q)
        if load.length != 0 and d.any():
            rows = (d / np.linalg.norm(d))[None] @ rows
        found: np.ndarray = load.stiffness * rows.T @ rows
        return found
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
