"""rollout(): many instances of a model at once, in lanes and threads."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, mapping, numbers_of, several, whole
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.integrators.base import progress_of
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.memory import require_memory
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.variants import VARIED
from vitree.run.arguments import RunArguments, Schedule, checked, require_cut, require_times
from vitree.run.controller import Control, Controller, HeldTogether, parts_of, require_for
from vitree.run.instances import QUANTITIES, Batch, Instances, Numbers, Rollout
from vitree.run.lanes import Block, in_contact, in_lanes, one_by_one, side_by_side

#: Arguments that may differ between instances and steps.
DRIVING = ("torque", "inputs", "targets")


@explain_calls
def rollout(
    model: System,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    duration: float,
    dt: float,
    method: str | None = None,
    p0: ArrayLike | None = None,
    t0: float = 0.0,
    control: Control | ArrayLike | Callable[..., ArrayLike] | None = None,
    parameters: Mapping[str, object] | None = None,
    instances: int | None = None,
    record_every: int | None = 1,
    record: str | Iterable[str] = ("q", "v"),
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    wrenches: Iterable[ExternalWrench | Impulse] = (),
    **options: object,
) -> Rollout:
    """Simulate many instances of a mechanism at once.

    Each instance is independent. Its numbers are those of :func:`vitree.simulate`, to the last bit: they depend neither
    on the other instances, nor on their number and order, nor on the lanes of the processor, nor on ``threads``.

    Parameters
    ----------
    model : Model, or another System
    q0 : (n, nq) array, optional [m or rad]
        Configurations at the start; (nq,): the same for all; the neutral one if not given.
    v0, p0 : (n, nv) array, optional [m/s or rad/s, kg m/s or kg m^2/s]
        Velocities or momenta at the start; (nv,): the same for all; zero if not given.
    duration, dt : float [s]
        Time to simulate and step; the duration must be a whole number of steps.
    method : str, optional
        A name of ``model.methods``.
    t0 : float [s]
        Time at the start.
    control : array, callable, or Control, optional
        Joint forces [N or N m]: (nv,) for all, (n, nv), or (n, steps, nv) with a row for each step, and (1, steps, nv)
        for all instances. A callable (t, Q, V) -> (n, nv) is called once a step with the states (n, nq) and (n, nv) of
        all instances where the step starts; its answer is held for the step. A :class:`vitree.Controller` is called so
        at its sampling times, with the states of all instances. In a :class:`vitree.Control` torque, inputs and targets
        have these shapes, and mappings have numbers, (n,) or (n, steps) by name; prescribed motion and effort limits
        are the same for all instances.
    parameters : mapping, optional
        Parameters of the model that differ between instances, as :meth:`Model.with_parameters` has them, each with a
        first axis (n,). Numbers that no model can have, such as a negative mass, fail that instance alone.
    instances : int, optional
        How many, where no array says it.
    record_every : int, or None
        Record the start and each n-th step; None: the end alone.
    record : names
        What is recorded: of "q", "v", "p", "kinetic", "potential", "energy", "momentum", "center_of_mass".
    threads : int, optional
        As many as the processor runs for this process, if not given.
    progress : callable (done, total), optional
        Called with numbers of instances, or of steps if a callable drives them.
    wrenches :
        As of :func:`vitree.simulate`, the same for all instances.
    **options
        Of the method.

    Returns
    -------
    Rollout
        An instance that fails is in its ``failed``; the rows that it did not reach are NaN.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong; the text says which, and what is accepted.
    ModelError
        If accelerations do not exist.
    CallableError
        If a callable raises, or returns NaN or a wrong shape.

    Notes
    -----
    The explicit methods, "linear-time" and "midpoint" step several instances in the lanes of vector registers, if
    nothing but gravity, damping, friction, armature, drives and torque acts; ``Rollout.in_lanes`` tells which did.
    Robots on rigid ground take steps of "linear-time" in lanes with others of which the same bodies touch it, if there
    are at least 200 steps, and alone where something strikes. All else runs an instance at a time in each thread.
    """
    began = time.perf_counter()
    if not isinstance(model, System):
        raise InputError("model", model, f"must be a vitree Model, not {type(model)}")
    parts = parts_of(control)
    driving = {name: parts.pop(name) for name in DRIVING}
    kind, given = checked(model, RunArguments(
        duration=duration, dt=dt, method=method, t0=t0, options=options, **parts, wrenches=wrenches,
    ))  # fmt: skip
    require_cut(model, given.effort_limits, driving["torque"])
    if kind.adapts(given.options):
        named = "adapt" if "adapt" in given.options else "method"
        raise InputError(
            named, given.options.get("adapt", kind.name),
            "is not for a rollout, whose instances take the same steps; simulate each of them"
        )
    schedule = Schedule.of(given, False)
    if schedule.spans is not None:
        raise InputError("dt", dt, "must be one number of seconds: all steps of a rollout have one length")
    require_times(given.t0, given.t0 + schedule.duration, schedule.dt)
    rows = _every(record_every, schedule.steps)
    names = _quantities(record)
    found = Instances(
        model, _stack(q0, "q0", model.nq), _stack(v0, "v0", model.nv), _stack(p0, "p0", model.nv),
        {name: _drive(model, name, value, schedule.steps, schedule.dt)
         for name, value in driving.items() if value is not None},
        _parameters(parameters), given, kind, schedule,
    )  # fmt: skip
    found.count_instances(instances)
    _require_parameters(found)
    _require_memory(found, rows, names)
    batch = Batch(found, rows, names, threads_of(threads), progress_of(progress))
    plan = Block.plan(found)
    if any(callable(value) for value in found.driving.values()):
        side_by_side(batch, plan)
    elif plan is not None:
        in_lanes(batch, plan)
    elif not in_contact(batch):
        one_by_one(batch, range(found.count))
    return batch.result(time.perf_counter() - began)


def _require_memory(found: Instances, every: int | None, names: tuple[str, ...]) -> None:
    """Raise an InputError if starts and records of the instances take more memory than is available."""
    model, steps = found.model, found.schedule.steps
    rows = 1 if every is None else steps // every + 1
    sizes = {"q": model.nq, "v": model.nv, "p": model.nv, "momentum": 6, "center_of_mass": 3}
    row = sum(sizes.get(name, 1) for name in names) + 2
    states = 2 * (model.nq + model.nv)  # at the start, and those at hand
    if any(callable(value) for value in found.driving.values()):
        row += model.nq + model.nv * (2 if getattr(model, "has_contact", False) else 1)
    require_memory(
        f"the records of {found.count} instances with {rows} rows each", 8.0 * found.count * (row * rows + states + 8),
        "record fewer rows with record_every=", "run fewer instances= in a call",
        "record less with record=",
    )  # fmt: skip


def _every(every: object, steps: int) -> int | None:
    """Return which steps are recorded, None for the end alone."""
    if every is None:
        return None
    count = whole(every)
    if count is None or not 1 <= count < 2**53:
        raise InputError("record_every", every, "must be a whole number of steps, at least 1, or None: the end alone")
    return count


def _quantities(record: object) -> tuple[str, ...]:
    names = (record,) if isinstance(record, str) else several(record, "record", "names of quantities")
    for name in names:
        if not isinstance(name, str) or name not in QUANTITIES:
            raise UnknownNameError("quantity", name, QUANTITIES, argument="record")
    return tuple(dict.fromkeys(names))


def threads_of(threads: object) -> int:
    """Return how many threads to take."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = whole(threads)
    if count is None or not 1 <= count <= 4096:
        raise InputError("threads", threads, "must be a whole number, at least 1")
    return count


def _stack(value: object, name: str, size: int) -> np.ndarray | None:
    """A start (size,) or (n, size)."""
    if value is None:
        return None
    array = numbers_of(value, name).astype(float)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise InputError(name, value, f"has shape {array.shape}; it must be ({size},), or (n, {size}) for n instances")
    return array


def _drive(
    model: System, name: str, value: object, steps: int, dt: float
) -> np.ndarray | dict[str, np.ndarray] | Callable[..., ArrayLike]:
    """What drives the instances: a callable, an array (k,), (n, k) or (n, steps, k), or a mapping of such columns.

    A Controller is a callable then, which is to be called in each step.
    """
    if callable(value):
        return value
    if isinstance(value, Mapping) and name != "torque":
        return {key: _shaped(column, f'{name}["{key}"]', (), steps) for key, column in value.items()}
    columns = {"torque": model.v_names, "inputs": model.input_names, "targets": getattr(model, "drives", ())}
    size = len(columns[name])
    if isinstance(value, Controller):
        require_for(value, name, model)
        return HeldTogether(value, name, size, dt)
    return _shaped(value, name, (size,), steps)


def _shaped(value: object, name: str, last: tuple[int, ...], steps: int) -> np.ndarray:
    array = numbers_of(value, name).astype(float)
    lead = array.shape[: array.ndim - len(last)]
    columns = ", ".join(map(str, last))
    if array.shape[len(lead) :] != last or len(lead) > 2 or (len(lead) == 2 and lead[1] != steps):
        shapes = f"({columns}{',' if last else ''})", f"(n, {columns})", f"(n, {steps}, {columns})"
        raise InputError(
            f"{name} has shape {array.shape}; it must be {shapes[0]} for all instances, {shapes[1]}, or {shapes[2]} "
            f"with a row for each of the {steps} steps".replace(", )", ",)").replace("()", "a number")
        )
    return _finite(array, name)


def _finite(array: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; it contains NaN or infinity")
    return array


def _parameters(parameters: object) -> dict[str, Numbers]:
    """Parameters of an instance each: arrays, or mappings of them."""
    if parameters is None:
        return {}

    def taken(value: object, name: str) -> Numbers:
        if isinstance(value, Mapping):
            return {key: taken(each, f'{name}["{key}"]') for key, each in value.items()}
        array = numbers_of(value, name).astype(float)
        if array.ndim < 1:
            raise InputError(f"{name} is one number; give one for each instance, (n, ...), or change the model")
        return _finite(array, name)

    given = mapping(parameters, "parameters", "a mapping of names to arrays (n, ...)")
    return {name: taken(value, f'parameters["{name}"]') for name, value in given.items()}


def _require_parameters(found: Instances) -> None:
    """Raise the error of names and shapes of parameters that no instance can have, before any of them runs."""
    if not found.parameters:
        return
    if not isinstance(found.model, Model):
        raise InputError("parameters are of a vitree Model; model has none")
    for name in found.parameters:
        if name not in VARIED:
            raise UnknownNameError("parameter", name, VARIED, argument="parameters")
    if found.count:
        with contextlib.suppress(ModelError):  # of this instance alone: its run reports it
            found.system(0)
