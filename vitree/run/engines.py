"""Other engines in a comparison: which there are, what they cannot simulate, and their runs as trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vitree.arguments import several
from vitree.engines import mujoco, pinocchio
from vitree.engines.acting import Motion, acting_on
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model
from vitree.model.system import System
from vitree.run.arguments import RunArguments, count_steps
from vitree.run.controller import Controller
from vitree.run.targets import with_targets
from vitree.run.trajectory import Trajectory

#: Engines by their names.
ENGINES: dict[str, Any] = {"mujoco": mujoco, "pinocchio": pinocchio}
#: Between the name of an engine and its method, in labels.
OF = " "


def engine_jobs(engines: Any) -> dict[str, tuple[str, str]]:
    """Return label -> (engine, method) of names of engines, each with all its methods, or of "engine:method".

    Raises
    ------
    InputError, UnknownNameError
        If the names are no sequence, or one is not known.
    MissingExtraError
        If an engine is not installed.
    """
    jobs: dict[str, tuple[str, str]] = {}
    given = [engines] if isinstance(engines, str) else several(engines, "engines", 'names, such as ["mujoco"]')
    for each in given:
        if not isinstance(each, str):
            raise InputError("engines", engines, "must be names of engines, such as mujoco or mujoco:rk4")
        name, _, method = each.partition(":")
        if name not in ENGINES:
            raise UnknownNameError("engine", name, ENGINES, argument="engines")
        ENGINES[name].require()
        methods = ENGINES[name].METHODS
        if method and method not in methods:
            raise UnknownNameError(f"method of {name}", method, methods, argument="engines")
        jobs |= {name + OF + one: (name, one) for one in ([method] if method else methods)}
    return jobs


def cannot(system: System, given: RunArguments) -> str | None:
    """Return what no engine simulates of a run; None if there is nothing."""
    if not isinstance(system, Model):
        return "vehicles"
    if system.full is not system:
        return "joints that follow others without a coordinate of their own"
    for name in ("wrenches", "prescribed", "effort_limits"):
        if getattr(given, name):
            return f"the argument {name}"
    if any(isinstance(x, Controller) for x in (given.torque, given.inputs, given.targets)):
        return "controllers"
    torque: Any = given.torque
    if not callable(torque) and np.ndim(torque) > 1:
        return "torque by rows over steps"
    lacks = {"constraints": system.constraints, "prescribed coordinates": system.flat.kinematic.any(),
             "dry friction and wheels that roll": system.holds}  # fmt: skip
    return next((text for text, has in lacks.items() if has), None)


def run_engine(engine: str, method: str, system: System, given: RunArguments, dt: float, label: str,
               report: Callable[[int, int], Any] | None = None) -> Trajectory:  # fmt: skip
    """Return a run of an engine.

    Parameters
    ----------
    engine, method : str
    system : System
    given : RunArguments
    dt : float [s]
    label : str
        The method of the trajectory.
    report : callable, optional
        Called as report(done, steps).

    Raises
    ------
    NotImplementedError
        If the engine cannot simulate a part of it; the text is the part.
    ArithmeticError
        If the state blows up.
    """
    part = cannot(system, given)
    if part is not None or not isinstance(system, Model):
        raise NotImplementedError(part)
    inputs = given.inputs if given.targets is None else with_targets(system, given.targets, given.inputs)
    acting = acting_on(system, given.torque, inputs)
    q = np.asarray(given.q0, dtype=float)
    v = system.zero_velocity() if given.v0 is None else np.asarray(given.v0, dtype=float)
    steps = count_steps(float(given.duration or 0.0), dt)
    motion = ENGINES[engine].run(system, method, q, v, dt, steps, given.every, acting, report)
    return _trajectory(system, motion, label, {"dt": dt, "steps": steps, "engine": engine, "every": given.every})


def _trajectory(model: Model, motion: Motion, label: str, settings: dict[str, Any]) -> Trajectory:
    """Return the motion of an engine as a trajectory; energies and momenta are those of the model."""
    n = len(motion.t)
    with np.errstate(all="ignore"):
        energies = model.energies(motion.q, motion.v)
        momenta = model.momenta(motion.q, motion.v)
    return Trajectory(
        model_name=model.name, joint_names=model.joint_names, q_names=model.q_names, v_names=model.v_names,
        method=label, settings=settings, t=motion.t, q=motion.q, v=motion.v, p=momenta, kinetic=energies[:, 0],
        potential=energies[:, 1], momentum=energies[:, 2:8], iterations=np.zeros(n, int), residual=np.zeros(n),
        iterations_total=0, iterations_max=0, steps=settings["steps"], seconds=motion.seconds, system=model,
    )  # fmt: skip
