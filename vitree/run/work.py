"""The work of what drives a run: at most what its energy may grow by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vitree.mechanism.drives import Drive
from vitree.mechanism.loads import CONSERVATIVE, Damper, JointForce
from vitree.model.model import Model

#: So many times the largest power that a torque had where it was asked: between these times it may have had more.
POWER = 2.0


class Drivers(NamedTuple):
    """What drives a run, as its integrator has it.

    Attributes
    ----------
    torque : None, array (nv,) [N or N m] or callable
    inputs : None, array (nu,) or (steps, nu), or callable
    others : bool
        Whether anything else does: wrenches, pushes, prescribed coordinates, commands between the steps.
    power : float or None [W]
        The most that a torque that is a callable had where it was asked; None if nobody knows.
    """

    torque: Any
    inputs: Any
    others: bool
    power: float | None

    @classmethod
    def of(cls, integrator: Any) -> Drivers:
        """Return what drives an integrator; arrays are copied."""
        torque, inputs = (x.copy() if isinstance(x, np.ndarray) else x for x in (integrator.torque, integrator.inputs))
        others = bool(integrator.commanded or integrator.wrenches or integrator.pushes or integrator.motion.names)
        return cls(torque, inputs, others, integrator.most_asked_power)


def most_work(model: Any, drivers: Drivers, t: np.ndarray, q: np.ndarray, v: np.ndarray,
              every: int) -> np.ndarray | None:  # fmt: skip
    """Return the most that drives, torques and forces of joints can have given up to each record, (n,) [J].

    Between two records a drive whose target rests gives what its spring loses at most, and a target rate r
    kd r^2/4 in a second more. A constant force F of a joint gives F times the way, and a torque that is a callable no
    more than its largest power in the run, all the time. All else, such as damping, friction and contacts, takes
    energy.

    Parameters
    ----------
    model : System
    drivers : Drivers
    t, q, v : (n,), (n, nq) and (n, nv) arrays [s, m or rad, m/s or rad/s]
        Of the records.
    every : int
        The steps between two records.

    Returns
    -------
    (n,) array or None
        None if something acts whose work does not follow from the records, such as a callable.
    """
    if type(model) is not Model or drivers.others or callable(drivers.inputs):
        return None
    if callable(drivers.torque) and drivers.power is None:
        return None
    if model.written is not None or not all(isinstance(load, _KNOWN) for load in model.loads):
        return None
    n = len(t)
    inputs = np.zeros(len(model.input_names)) if drivers.inputs is None else drivers.inputs
    if inputs.ndim == 2 and (every != 1 or len(inputs) < n - 1):
        return None
    rows = np.broadcast_to(inputs if inputs.ndim == 1 else inputs[: n - 1], (n - 1, inputs.shape[-1]))
    dt, given = np.diff(t), np.zeros(n)

    def value(of: float | str) -> Any:
        return rows[:, model.input_names.index(of)] if isinstance(of, str) else of

    for load in model.loads:
        if not isinstance(load, Drive | JointForce):
            continue
        x = q[:, model.joint(load.joint).q_slice.start]
        if isinstance(load, JointForce):
            given[1:] += value(load.force) * np.diff(x)
            continue
        limit, target = load.effort_limit * load.gear, value(load.target)
        given[1:] += _spring(load.kp, limit, target - x[:-1]) - _spring(load.kp, limit, target - x[1:])
        given[1:] += 0.25 * load.kd * np.square(value(load.target_rate)) * dt
    if callable(drivers.torque):
        given[1:] += POWER * (drivers.power or 0.0) * dt
    elif drivers.torque is not None:
        for joint in model.joints:
            at = joint.v_slice
            torque = drivers.torque[at]
            if len(torque) == 1:
                given[1:] += torque[0] * np.diff(q[:, joint.q_slice.start])
            else:
                power = np.abs(v[:, at]) @ np.abs(torque)
                given[1:] += (power[1:] + power[:-1]) * dt
    return np.cumsum(given)


#: Loads whose work is known, or is never positive, or is that of a potential.
_KNOWN = (*CONSERVATIVE, Damper, Drive, JointForce)


def _spring(kp: float, limit: float, e: np.ndarray) -> np.ndarray:
    """Return the energy of a drive's spring that is drawn by e, with a largest force."""
    if not kp:
        return np.zeros_like(e)
    linear = np.minimum(np.abs(e), limit / kp)
    return 0.5 * kp * linear**2 + (limit * (np.abs(e) - linear) if np.isfinite(limit) else 0.0)
