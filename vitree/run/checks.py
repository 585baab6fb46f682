"""Checks of a run's arguments, and what they come to; simulate() and Simulation have the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree.arguments import plain_scalar, real, several, shown, whole
from vitree.errors import InputError, UnknownNameError
from vitree.integrators import Integrator
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.model import Model
from vitree.model.signals import LimitedTorque
from vitree.model.system import System
from vitree.run.arguments import RunArguments, Schedule
from vitree.run.controller import Controller, Held, function_of, of_another_function
from vitree.run.targets import with_targets
from vitree.run.trajectory import Trajectory
from vitree.wording import a_kind, quoted


def checked(model: System, given: RunArguments) -> tuple[type[Integrator], RunArguments]:
    """Return the integrator's class, and the arguments with plain numbers for some.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong that does not depend on the steps.
    ModelError
        If accelerations do not exist.
    """
    require_system(model)
    model.require_regular()
    methods = model.methods
    for name in ("q0", "v0", "p0"):
        start = getattr(given, name)
        if type(start) is np.ndarray and start.ndim > 1:
            raise InputError(
                name, start,
                f"has the shape {start.shape}, and a run has one start; vt.rollout simulates many instances at once"
            )
    if given.method is not None and not (isinstance(given.method, str) and given.method in methods):
        raise UnknownNameError("method", given.method, methods, argument="method")
    kind = methods[given.method or next(iter(methods))]
    require_known(kind, given.options)
    for name in ("wrenches", "prescribed"):
        value = getattr(given, name)
        if value is not None and not isinstance(value, Mapping):
            raise InputError(name, value, f"must be a mapping of names, not {a_kind(value)}")
    limits = given.effort_limits
    if limits is not True and limits is not False and not isinstance(plain_scalar(limits), bool):
        raise InputError("effort_limits", limits, "must be True or False")
    if given.progress is not None and not callable(given.progress):
        raise InputError("progress", given.progress, "must be a callable (done, total)")
    if type(given.t0) is not float or not math.isfinite(given.t0):
        t0 = real(given.t0)
        if not math.isfinite(t0):
            raise InputError("t0", given.t0, "must be a finite time [s]")
        given = given.but(t0=t0)
    if given.targets is not None:
        given = given.but(inputs=with_targets(model, given.targets, given.inputs), targets=None)
    if type(given.pushes) is not tuple or given.pushes:
        given = given.but(pushes=_pushes(model, given.pushes))
    if given.dense is not False:
        require_dense(methods, kind, given)
    return kind, given


def require_cut(model: System, effort_limits: Any, torque: Any) -> None:
    """Raise an InputError if ``effort_limits=True`` has nothing to cut."""
    if not effort_limits:
        return
    asked = f"effort_limits={quoted(effort_limits)}"
    if torque is None:
        raise InputError(
            f"{asked} cuts torque=, and none is given; leave it out (drives keep effort limits by "
            "model.with_drives(..., effort_limits=True))"
        )
    require_efforts(model, asked)


def require_efforts(model: System, asked: Any) -> None:
    """Raise an InputError if no joint has an effort limit, which ``asked`` asks for."""
    if not any(np.isfinite(joint.effort).any() for joint in model.joints):
        raise InputError(
            asked + f' does nothing: no joint of "{model.name}" has an effort limit; give the joints effort= (in a '
            "robot file <limit effort>), or leave it out"
        )


#: What other libraries call arguments of a run: the argument here, and what it is.
_MEANT = (
    dict.fromkeys(("q", "q_init", "qpos", "q_0", "x0", "y0"), ("q0", "the configuration at the start"))
    | dict.fromkeys(("v", "qd", "dq", "qvel", "v_init", "dq0", "qd0", "v_0"), ("v0", "the velocity at the start"))
    | dict.fromkeys(("T", "t_end", "tf", "t_final", "tmax", "t_max", "time", "t_span", "end", "t1"),
                    ("duration", "the time to simulate [s]"))
    | dict.fromkeys(("h", "timestep", "time_step", "step", "step_size", "delta_t"), ("dt", "the time step [s]"))
    | dict.fromkeys(("tau", "torques", "forces", "controller", "control"), ("torque", "the joint forces [N or N m]"))
    | dict.fromkeys(("u", "input", "ctrl"), ("inputs", "the values of the inputs"))
    | dict.fromkeys(("integrator", "scheme"), ("method", "the integrator"))
    | dict.fromkeys(("tol",), ("tolerance", "the tolerance of a step"))
    | dict.fromkeys(("record_every", "stride", "decimation"), ("every", "how many steps are between records"))
)  # fmt: skip


def require_known(kind: type[Integrator], options: Mapping[str, Any]) -> None:
    """Raise an UnknownNameError if an option is an argument under a name of other libraries; the text has ours."""
    for name in options:
        if name in _MEANT and name not in kind.options:
            ours, what = _MEANT[name]
            error = UnknownNameError("argument", name, [ours], argument=name)
            error.args = (f'no argument "{name}": {ours}= is {what}',)
            raise error


def require_dense(methods: Mapping[str, type[Integrator]], kind: type[Integrator], given: RunArguments) -> None:
    """Raise an InputError if a run cannot keep the polynomials of its steps, as dense=True asks for."""
    if not isinstance(plain_scalar(given.dense), bool):
        raise InputError("dense", given.dense, "must be True or False")
    if not given.dense:
        return
    leave = "; leave dense out: .at(t) works without it, by the records"
    method = kind.name if given.resume is None or given.method else getattr(given.resume, "method", kind.name)
    if not (method in methods and methods[method].dense):
        able = ", ".join(name for name, each in methods.items() if each.dense) or "none here"
        raise InputError(f'"{method}" has no polynomials of steps to keep (methods that have them: {able})' + leave)
    if given.pushes:
        raise InputError(f"the polynomials of steps know no pushes{leave}")
    if whole(given.every) != 1:
        raise InputError(
            f"the polynomials of steps need the records of both ends, and every={quoted(given.every)} leaves some "
            f"out{leave}"
        )


def _pushes(model: System, pushes: Any) -> tuple[Impulse | ExternalWrench, ...]:
    """Return blows and pushes on frames that the model has."""
    found = several(pushes, "pushes", "a sequence of Impulse and ExternalWrench")
    for push in found:
        if not isinstance(push, Impulse | ExternalWrench):
            raise InputError("pushes", pushes, f"has {shown(push)}; they are of Impulse and ExternalWrench")
        require_moving_frame(model, push)
    return found


def require_moving_frame(model: System, push: Impulse | ExternalWrench) -> None:
    """Raise an InputError if a push is on nothing that moves, an UnknownNameError if there is no such frame."""
    if not isinstance(model, Model):
        raise InputError(f'"{model.name}" takes no pushes; give inputs= or torque=')
    if model.flat.frame_body[model._frame(push.frame)] < 0:
        raise InputError(f'the {push.name} does nothing: "{push.frame}" is fixed to the world')


def driven(
    model: System, given: RunArguments, schedule: Schedule
) -> tuple[RunArguments, dict[str, Held], LimitedTorque | None]:
    """Return the arguments with what acts at the start instead of controllers, the controllers, and effort limits.

    Raises
    ------
    InputError
        If a controller or push does not go with the steps, or torque with the effort limits.
    """
    torque: Any = given.torque
    controlled = isinstance(torque, Controller) or isinstance(given.inputs, Controller)
    if not (controlled or given.effort_limits or given.pushes):
        return given, {}, None
    limited: LimitedTorque | None = None
    if given.effort_limits and torque is not None:
        if isinstance(torque, Controller):
            limited, first = LimitedTorque(model, function_of(torque)), torque.initial
            if first is not None:
                first = limited.cut_to(model.validate_velocity(first, "initial"))
            torque = of_another_function(torque, limited.torque, first)  # type: ignore[arg-type]
        else:
            limited = LimitedTorque(model, torque)
            torque = limited.torque
        given = given.but(torque=torque)
    held: dict[str, Held] = {}
    for name, size in (("torque", model.nv), ("inputs", len(model.input_names))):
        value = getattr(given, name)
        if isinstance(value, Controller):
            held[name] = Held(value, name, size, schedule.dt)
            given = given.but(**{name: held[name].value})
    uneven = schedule.adaptive or schedule.spans is not None
    if uneven and (held or given.pushes):
        what = "a controller needs" if held else "pushes need"
        other = "adapt=" if schedule.adaptive else "dt of several steps"
        raise InputError(f"{what} steps of equal length; leave out " + other)
    return given, held, limited


def require_system(model: Any) -> None:
    """Raise an InputError unless a model is one that can be simulated."""
    if not isinstance(model, System):
        raise InputError(
            "model", model, f"must be a vitree Model (load_urdf or tree.compile() makes one), not {type(model)}"
        )


def as_before(model: System, given: RunArguments) -> RunArguments:
    """Return the arguments of a run that goes on: method, dt and options are those of the run before."""
    before = given.resume
    if not isinstance(before, Trajectory):
        raise InputError("resume", before, f"must be the Trajectory of a run, not {type(before)}")
    made = before.settings
    if not len(before.checkpoint):
        raise InputError(
            f"the trajectory has no checkpoint to resume from: give the whole run, not a part of it; runs by the "
            f'SciPy methods have none (this one is by "{before.method}")'
        )
    if not isinstance(made.get("options"), dict) or "dt" not in made:
        raise InputError("the settings of the run to resume are damaged; start from its last q and p")
    if made.get("model_digest") != model.digest:
        raise InputError(f'the run to resume is of another model than "{model.name}": of "{before.model_name}"')
    start = given.q0, given.v0, given.p0, given.q1
    if any(x is not None for x in start) or given.dt is not None or given.options:
        raise InputError("with resume= the start, dt and options are those of the run; to change them start from p0=")
    if "dt_range" in made:
        raise InputError("the run to resume had steps that differed; start from its last q and p")
    if before.method not in model.methods:
        raise InputError(f'the run to resume is by "{before.method}", which is no method here; start from its last q '
                         "and v")  # fmt: skip
    if given.method not in (None, before.method):
        raise InputError(f'the run to resume was by "{before.method}", not "{given.method}"')
    return given.but(method=before.method, dt=made["dt"], options=made["options"])
