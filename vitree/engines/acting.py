"""What acts on a mechanism beside gravity, as plain numbers that an engine is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import limits_of
from vitree.mechanism.loads import JointForce, JointSpring
from vitree.model.model import Model
from vitree.model.user_inputs import resolve_inputs
from vitree.results.contacts import ContactLog


class Motion(NamedTuple):
    """A run of an engine, in the coordinates of the model.

    Attributes
    ----------
    t : (n,) array [s]
    q : (n, nq) array
    v : (n, nv) array
    seconds : float
        Time of the steps by the clock [s].
    contacts : ContactLog, optional
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    seconds: float
    contacts: ContactLog | None = None


class Servo(NamedTuple):
    """A drive: places in q and v, F = kp (target - q) + kd (rate - v) [N or N m], of size ``limit`` at most."""

    q: int
    v: int
    kp: float
    kd: float
    target: float
    rate: float
    limit: float


class Acting(NamedTuple):
    """Forces on joints.

    Attributes
    ----------
    constant : (nv,) array [N or N m]
        Of the loads that are constant.
    torque : callable of (t, q, v), or None
        (nv,) array [N or N m].
    damping, friction, slow : (nv,) arrays
        -damping v - friction v/sqrt(v^2 + slow^2).
    springs : list of (q, v, stiffness, rest)
    servos : list of Servo
    """

    constant: np.ndarray
    torque: Callable[..., ArrayLike] | None
    damping: np.ndarray
    friction: np.ndarray
    slow: np.ndarray
    springs: list[tuple[int, int, float, float]]
    servos: list[Servo]

    @property
    def asks(self) -> bool:
        """Whether the forces that no engine knows change with time or state."""
        return self.torque is not None or bool(self.friction.any())

    def unknown(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the forces (nv,) that no engine knows: constant ones, torque, smooth friction."""
        force = self.constant - self.friction * v / np.sqrt(v * v + self.slow * self.slow)
        found: np.ndarray = force if self.torque is None else force + np.asarray(self.torque(t, q, v), dtype=float)
        return found

    def all(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return all forces (nv,)."""
        force: np.ndarray = self.unknown(t, q, v) - self.damping * v
        for iq, iv, stiffness, rest in self.springs:
            force[iv] -= stiffness * (q[iq] - rest)
        for at in self.servos:
            push = at.kp * (at.target - q[at.q]) + at.kd * (at.rate - v[at.v])
            force[at.v] += min(max(push, -at.limit), at.limit)
        return force


def acting_on(model: Model, torque: object = None, inputs: object = None) -> Acting:
    """Return the forces on the joints of a model.

    Raises a NotImplementedError if a load is of another kind, or an input changes over time.

    Parameters
    ----------
    model : Model
    torque : (nv,) array or callable of (t, q, v), optional [N or N m]
    inputs : (nu,) array or mapping, optional
        Constant inputs.
    """
    constant = np.zeros(model.nv)
    function = torque if callable(torque) else None
    if torque is not None and function is None:
        constant += np.asarray(torque, dtype=float)
    if callable(inputs) or any(callable(x) or np.ndim(x) for x in getattr(inputs, "values", tuple)()):
        raise NotImplementedError("inputs that change over time")
    numbers = resolve_inputs(model, inputs)
    if callable(numbers) or (numbers is not None and numbers.ndim > 1):
        raise NotImplementedError("inputs that change over time")
    u = dict(zip(model.input_names, np.zeros(len(model.input_names)) if numbers is None else numbers, strict=True))

    def value(x: float | str) -> float:
        return float(u[x] if isinstance(x, str) else x)

    springs, servos = [], []
    for load in model.loads:
        if not isinstance(load, Drive | JointForce | JointSpring):
            raise NotImplementedError(f"the {load.name}")
        joint = model.joint(load.joint)
        iq, iv = joint.q_slice.start, joint.v_slice.start
        if isinstance(load, JointForce):
            constant[iv] += value(load.force)
        elif isinstance(load, JointSpring):
            springs.append((iq, iv, load.stiffness, load.rest))
        else:
            if load.velocity_limit < math.inf:
                raise NotImplementedError(f"the velocity limit of the {load.name}")
            limit = load.effort_limit * load.gear
            servos.append(Servo(iq, iv, load.kp, load.kd, value(load.target), value(load.target_rate), limit))
    flat = model.flat
    return Acting(constant, function, flat.damping, flat.friction, flat.friction_velocity, springs, servos)


def limits_hold(model: Model) -> bool:
    """Return whether a joint stops at its limits, of position or of velocity, or a rope pulls."""
    if model.unilateral or model.velocity_limits == "enforce":
        return True
    return model.limits == "enforce" and any(True for _ in limits_of(model.joints, model.constraints))
