"""The equations of the vehicles of ``vitree.vehicles``, for the optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np

from vitree import vehicles
from vitree.arguments import of_kind
from vitree.control.dynamics import CarDynamics, Dynamics, RigidDynamics
from vitree.control.plan import Plan
from vitree.errors import InputError
from vitree.lie import SE3
from vitree.run.controller import Control
from vitree.run.simulate import simulate
from vitree.run.trajectory import Trajectory


def dynamics_of(vehicle: Any, map: str = "exp") -> Dynamics:
    """Return the equations of a vehicle, for the optimiser.

    Parameters
    ----------
    vehicle : vehicle of ``vitree.vehicles``
        A helicopter, a car, or a :class:`vitree.vehicles.RigidVehicle`. A ``force`` of the vehicle must take arrays
        with leading axes and complex numbers. A :class:`Dynamics` is returned as it is.
    map : str
        Map of the group, for vehicles in space.

    Raises
    ------
    InputError
        For a vehicle whose equations only compiled integrators have.
    """
    if isinstance(vehicle, Dynamics):
        return vehicle
    if isinstance(vehicle, vehicles.Car):
        names = ("mass", "inertia", "wheel_inertia", "wheelbase", "wheel_radius", "rolling_resistance", "max_steering")
        return CarDynamics(**{name: getattr(vehicle, name) for name in names})
    if type(vehicle) not in (vehicles.RigidVehicle, vehicles.Helicopter):
        raise InputError(
            f"the optimiser has no equations of {vehicle!r}; give a helicopter, a car, a RigidVehicle, or a Dynamics "
            "of vitree.control with the forces written in Python"
        )
    weight, drag, own = vehicle.mass * vehicle.gravity, vehicle.drag, vehicle.force
    inertia = np.zeros((6, 6))
    inertia[:3, :3], inertia[3:, 3:] = vehicle.rotational, vehicle.translational
    if isinstance(vehicle, vehicles.Helicopter):
        controls = _rotors(vehicle.parts["top"], vehicle.parts["tail"])
        trim = {"collective": float(np.linalg.norm(weight))}
    else:
        controls, trim = lambda u: u @ vehicle.columns, {}

    def force(t, g, xi, u):
        pull = (np.swapaxes(g[..., :3, :3], -1, -2) @ weight[:, None])[..., 0]
        wrench = controls(u) - xi @ drag + np.concatenate((np.zeros_like(pull), pull), axis=-1)
        return wrench if own is None else wrench + own(t, g, xi, u)

    return RigidDynamics(SE3, inertia, force, vehicle.input_names, trim=trim, map=map)


def replay(vehicle: Any, plan: Plan, **options: Any) -> Trajectory:
    """Simulate a vehicle of ``vitree.vehicles`` with the inputs of a plan.

    Parameters
    ----------
    vehicle : vehicle
        The vehicle of the problem.
    plan : Plan
    **options
        Options of :func:`vitree.simulate`.

    Returns
    -------
    Trajectory
        The run. Its configurations are those of the plan, as far as the vehicle is stable.

    Raises
    ------
    InputError, UnknownNameError
        As :func:`dynamics_of`, or :func:`vitree.simulate`.
    """
    v = of_kind(plan, Plan, "plan", "a Plan").v_ends[0]
    if isinstance(dynamics_of(vehicle), CarDynamics):
        turning = vehicle.wheel_radius / vehicle.wheelbase * plan["sigma"][0]
        v = np.array([1.0, 0.0, turning, vehicle.wheel_radius, 0.0]) * v[0]
        v[1] = plan["steering"][0]
    return simulate(vehicle, plan.q[0], v, duration=plan.t[-1], dt=plan.h, control=Control(inputs=plan.u), **options)


def _rotors(top: float, tail: float):
    """Return the wrench of a tilting main rotor at the height ``top`` and of a tail rotor ``tail`` behind it."""

    def controls(u):
        lift, aside, pitch, roll = np.moveaxis(u, -1, 0)
        x, y, z = lift * np.sin(pitch) * np.cos(roll), -lift * np.sin(roll), lift * np.cos(pitch) * np.cos(roll)
        return np.stack((-top * y, top * x, tail * aside, x, y - aside, z), axis=-1)

    return controls
