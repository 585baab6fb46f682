"""simulate(): from a state to a trajectory, all steps in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vitree.constraints import require_consistent
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.integrators import METHODS, Integrator
from vitree.integrators.base import Records
from vitree.model import Model
from vitree.trajectory import Trajectory


def simulate(
    model: Model,
    q0=None,
    v0=None,
    *,
    duration: float,
    dt: float,
    method: str = "linear-time",
    p0=None,
    q1=None,
    t0: float = 0.0,
    torque=None,
    wrenches=None,
    wrench_axes: str = "world",
    inputs=None,
    prescribed=None,
    every: int = 1,
    progress: Callable[[int, int], Any] | None = None,
    **options,
) -> Trajectory:
    """Simulate a mechanism and return its trajectory.

    Parameters
    ----------
    model : Model
    q0 : (nq,) array, optional
        Configuration at the start; the neutral one if not given.
    v0 : (nv,) array, optional
        Velocity at the start; zero if no start of another kind is given.
    p0, q1 : arrays, optional
        Instead of v0: the momentum (nv,), or the configuration (nq,) one step later (variational
        methods only).
    duration, dt : float
        Time to simulate and step [s]; the duration must be a whole number of steps.
    method : str
        A name of ``vitree.METHODS``.
    torque : None, (nv,) array or callable (t, q, v) -> (nv,) array
        Joint forces [N or N m]. The variational methods ask a callable once a step, at the predicted
        middle of the step, which keeps their order.
    wrenches : dict of frame name to (6,) array, optional
        Constant (torque, force) [N m, N] on a frame, beside the loads of the model.
    wrench_axes : {"world", "local", "spatial"}
        As for :class:`vitree.Wrench`.
    inputs : None, array (nu,) or (steps, nu), callable (t, q, v) -> (nu,), or mapping, optional
        Values of ``model.input_names``, zero if not given; with a row for each step; asked for as torque
        is; or by name: numbers, arrays (steps,), or callables of t.
    prescribed : mapping of joint name to array (steps + 1,) or callable, optional
        Motion of ``model.kinematic_names``: coordinates at the steps' ends, or a callable of t that returns
        the coordinate, or (coordinate, rate, acceleration). Those not named rest. Their entries of v0 may be
        left zero.
    every : int
        Record each ``every``-th step.
    progress : callable (done, total), optional
        Called every fraction of a second.
    **options
        Options of the method: solver, guess, tolerance, max_iterations, alpha; rtol, atol for SciPy's.

    Returns
    -------
    Trajectory

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong; the text says which, and what is accepted.
    ConvergenceError
        If a step cannot be solved; its ``trajectory`` is what was computed before. A
        KeyboardInterrupt carries the same attribute.
    """
    if not isinstance(model, Model):
        raise InputError(f"model must be a vitree Model (load_urdf or tree.compile() makes one), not {type(model)}")
    model.require_regular()
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    steps = count_steps(duration, dt)
    if not (isinstance(every, int | np.integer) and every >= 1):
        raise InputError(f"every={every!r} must be a whole number of steps, at least 1")
    if not np.isfinite(t0):
        raise InputError(f"t0={t0!r} must be a finite time [s]")
    integrator = METHODS[method](model, dt, torque=torque, wrenches=wrenches, wrench_axes=wrench_axes, inputs=inputs,
                                 prescribed=prescribed, **options)  # fmt: skip
    q0 = model.neutral() if q0 is None else model.validate_configuration(q0, "q0")
    integrator.plan(q0, float(t0), steps)
    records = _begin(integrator, float(t0), q0, v0, p0, q1, steps // every)
    try:
        integrator.run(records, steps, int(every), progress)
    except (ConvergenceError, KeyboardInterrupt) as stop:
        stop.trajectory = _trajectory(integrator, records.trimmed(), every)
        raise
    return _trajectory(integrator, records.trimmed(), every)


def count_steps(duration: float, dt: float) -> int:
    """Return how many steps of dt make up the duration.

    Raises
    ------
    InputError
        If either is not a positive number, or the duration is not a whole number of steps.
    """
    for name, value in (("duration", duration), ("dt", dt)):
        if not (isinstance(value, int | float | np.floating | np.integer) and np.isfinite(value) and value > 0):
            raise InputError(f"{name}={value!r} must be a positive number of seconds")
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-9 * max(duration, dt):
        low = max(int(duration / dt), 1)
        raise InputError(
            f"duration={duration:g} s is not a whole number of steps of dt={dt:g} s; "
            f"take {low * dt:g} s ({low} steps) or {(low + 1) * dt:g} s"
        )
    return steps


def _begin(integrator: Integrator, t0, q0, v0, p0, q1, count):
    """Set the integrator's state and return records that hold it, with room for more."""
    model, home = integrator.model, integrator.running
    given = [name for name, value in (("v0", v0), ("p0", p0), ("q1", q1)) if value is not None]
    if len(given) > 1:
        raise InputError(f"give one of v0, p0, q1, not {' and '.join(given)}")
    if v0 is not None:
        v0 = model.validate_velocity(v0, "v0")
    if model.kinematic_names:
        q0, moving = integrator.motion.start(q0, model.zero_velocity() if v0 is None else v0)
        # the others follow what is prescribed as the constraints have it, if no velocity is given
        v0 = moving if given else model.project_velocity(q0, moving) if model.constraints else moving
    if model.constraints:
        require_consistent(model, q0, v0 if not given or "v0" in given else None)
    if q1 is not None:
        q1 = model.validate_configuration(q1, "q1")
        if home is not model:
            zero = np.zeros(model.nv)
            q0, q1 = home.from_native(q0, zero)[0], home.from_native(q1, zero)[0]
            q1 = q0 + np.where(_turning(home), (q1 - q0 + np.pi) % (2 * np.pi) - np.pi, q1 - q0)
        x0 = integrator.start_between(t0, q0, q1)
    else:
        if p0 is not None:
            p0 = model.validate_velocity(p0, "p0")
            v = model.constrained_velocities(q0[None], p0[None], None if v0 is None else v0[None])[0]
        else:
            v = model.zero_velocity() if v0 is None else v0
        if home is not model:
            q0, v = home.from_native(q0, v)
        if not integrator.uses_momentum:
            x0 = v
        elif p0 is not None and home is model:
            x0 = p0
        else:
            x0 = home.momentum_from_velocity(q0, v)
    integrator.start(t0, q0, x0)
    records = Records(
        np.empty(count + 1), np.empty((count + 1, home.nq)), np.empty((count + 1, home.nv)),
        np.zeros(count + 1, dtype=np.intc), np.zeros(count + 1), np.full((count + 1, len(model.constraints)), np.nan),
    )  # fmt: skip
    records.t[0], records.q[0], records.x[0] = t0, q0, x0
    return records


def _prescribed_rates(integrator: Integrator, t: np.ndarray) -> np.ndarray | None:
    """Rates of the prescribed coordinates at some times, in rows of velocities of the model that ran."""
    motion = integrator.motion
    if not motion.names:
        return None
    rates = np.zeros((len(t), integrator.running.nv))
    places = [integrator.running.joint(name).v_slice.start for name in motion.names]
    rates[:, places] = [motion.at(time)[1] for time in t]
    return rates


def _turning(model: Model) -> np.ndarray:
    """Which coordinates of a model of one-coordinate joints are angles."""
    return np.isin(model.flat.kind, (0, 2))


def _trajectory(integrator: Integrator, records: Records, every: int) -> Trajectory:
    """Fill in what the state implies: v or p, energies, momentum."""
    model, home, q, x = integrator.model, integrator.running, records.q, records.x
    multipliers = records.multipliers
    if model.constraints and not integrator.uses_momentum:
        multipliers = np.array([integrator.multipliers_at(*state) for state in zip(records.t, q, x, strict=True)])
    with np.errstate(all="ignore"):
        if integrator.uses_momentum:
            v, p = home.constrained_velocities(q, x, _prescribed_rates(integrator, records.t)), x
        else:
            v, p = x, home.momenta(q, x)
        if home is not model:
            q, v = (np.ascontiguousarray(y) for y in home.to_native(q, v))
            p = model.momenta(q, v)
        energies = model.energies(q, v)
        h, _ = model.constraint_rows(q)
    return Trajectory(
        model_name=model.name,
        joint_names=model.joint_names,
        q_names=model.q_names,
        v_names=model.v_names,
        method=integrator.name,
        settings={"dt": integrator.dt, "every": every, **integrator.settings, "notes": integrator.notes,
                  "model_digest": model.digest},
        t=records.t, q=q, v=v, p=p, kinetic=energies[:, 0], potential=energies[:, 1],
        momentum=energies[:, 2:8], multipliers=multipliers, constraint=h,
        constraint_names=tuple(c.name for c in model.constraints),
        iterations=records.iterations, residual=records.residual,
        iterations_total=integrator.total_iterations, iterations_max=integrator.most_iterations,
        steps=integrator.steps, seconds=records.seconds,
    )  # fmt: skip
