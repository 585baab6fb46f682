"""A mechanism in Pinocchio: its articulated-body algorithm, stepped in Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vitree.engines.acting import Acting, Motion, limits_hold
from vitree.errors import MissingExtraError
from vitree.mechanism.flat import BALL, FREE, HELICAL, PRISMATIC, REVOLUTE, Flat
from vitree.model.model import Model
from vitree.spatial.rotations import quaternion_rate, rotate

if TYPE_CHECKING:
    import pinocchio as pin

#: Where a state has blown up [m/s or rad/s].
LOST = 1e6
#: Methods and their orders.
METHODS = {"semi-implicit-euler": 1, "rk4": 4}


def require() -> None:
    """Raise a MissingExtraError if Pinocchio is not installed."""
    try:
        import pinocchio  # noqa: F401
    except ImportError:
        raise MissingExtraError("pin", "engines", "Pinocchio") from None


def pinocchio_model(flat: Flat) -> pin.Model:
    """Return the mechanism as a Pinocchio model; q and v are then the same vectors.

    Bodies must be in depth-first order for Pinocchio's ``crba`` (not for ``rnea``).
    """
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = flat.gravity
    ids = {-1: 0}
    for i, kind in enumerate(flat.kind.tolist()):
        joint = {
            REVOLUTE: pin.JointModelRZ,
            PRISMATIC: pin.JointModelPZ,
            HELICAL: lambda i=i: pin.JointModelHZ(flat.pitch[i]),
            BALL: pin.JointModelSpherical,
            FREE: pin.JointModelFreeFlyer,
        }[kind]()
        ids[i] = model.addJoint(ids[int(flat.parent[i])], joint, pin.SE3(flat.E[i], flat.p[i]), f"joint{i}")
        inertia = pin.Inertia(flat.mass[i], flat.com[i], flat.inertia[i])
        model.appendBodyToJoint(ids[i], inertia, pin.SE3.Identity())
    for name, body, E, p in zip(flat.frame_names, flat.frame_body.tolist(), flat.frame_E, flat.frame_p, strict=True):
        model.addFrame(pin.Frame(name, ids[body], 0, pin.SE3(E, p), pin.FrameType.OP_FRAME))
    model.armature[:] = flat.armature
    return model


def _rates(model: Model) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the function dq/dt of (q, v), of quaternions as four numbers."""
    flat, index = model.flat, model.index
    places = list(zip(flat.kind.tolist(), index.iq.tolist(), index.iv.tolist(), strict=True))
    one = np.array([(iq, iv) for kind, iq, iv in places if kind not in (BALL, FREE)], int).reshape(-1, 2).T
    several = [(kind, iq, iv) for kind, iq, iv in places if kind in (BALL, FREE)]

    def rate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.empty(len(q))
        out[one[0]] = v[one[1]]
        for kind, iq, iv in several:
            if kind == FREE:
                out[iq : iq + 3] = rotate(q[iq + 3 : iq + 7], v[iv : iv + 3])
                iq, iv = iq + 3, iv + 3
            out[iq : iq + 4] = quaternion_rate(q[iq : iq + 4], v[iv : iv + 3])
        return out

    return rate


def run(model: Model, method: str, q: np.ndarray, v: np.ndarray, dt: float, steps: int, every: int, acting: Acting,
        report: Callable[[int, int], object] | None = None) -> Motion:  # fmt: skip
    """Return a run by the accelerations of Pinocchio's ``aba``.

    Parameters
    ----------
    model : Model
    method : {"semi-implicit-euler", "rk4"}
    q, v : arrays
        The start.
    dt : float [s]
    steps, every : int
    acting : Acting
    report : callable, optional
        Called as report(done, steps).

    Raises
    ------
    NotImplementedError
        If Pinocchio has nothing like a part of it.
    ArithmeticError
        If the state blows up.
    """
    import pinocchio as pin

    if model.constraints:
        raise NotImplementedError("constraints")
    if limits_hold(model) or model.contacts:
        raise NotImplementedError("contacts, limits and ropes that hold")
    theirs = pinocchio_model(model.flat)
    data, force, rate = theirs.createData(), acting.all, _rates(model)
    quaternions = [slice(at, at + 4) for at in model._quaternions.tolist()]

    def acceleration(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found: np.ndarray = pin.aba(theirs, data, q, v, force(t, q, v))
        return found

    def euler(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        v = v + dt * acceleration(t, q, v)
        return pin.integrate(theirs, q, dt * v), v

    def rk4(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes: list[tuple[np.ndarray, np.ndarray]] = []
        for share in (0.0, 0.5, 0.5, 1.0):
            qs, vs = q, v
            if share:
                qs, vs = q + share * dt * slopes[-1][0], v + share * dt * slopes[-1][1]
            slopes.append((rate(qs, vs), acceleration(t + share * dt, qs, vs)))
        q, v = (
            x + dt / 6 * (a + 2 * b + 2 * c + d)
            for x, (a, b, c, d) in zip((q, v), zip(*slopes, strict=True), strict=True)
        )
        for at in quaternions:
            q[at] /= np.linalg.norm(q[at])
        return q, v

    step = euler if method == "semi-implicit-euler" else rk4
    t, qs, vs, seconds, done = [0.0], [q], [v], 0.0, 0
    while done < steps:
        upto = min(done + every, steps)
        start = time.perf_counter()
        for k in range(done, upto):
            q, v = step(k * dt, q, v)
        seconds += time.perf_counter() - start
        done = upto
        if not np.abs(v).max(initial=0.0) < LOST:
            raise ArithmeticError(f"its state blows up before t = {done * dt:g} s")
        t.append(done * dt)
        qs.append(q)
        vs.append(v)
        if report is not None:
            report(done, steps)
    return Motion(np.array(t), np.array(qs), np.array(vs), seconds)
