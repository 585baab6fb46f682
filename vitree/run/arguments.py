"""The arguments of a run in one object, what is asked of them, and the times of steps."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import (
    Keywords,
    as_numbers,
    axes_of,
    entries,
    numbers_of,
    plain_scalar,
    real,
    several,
    shown,
    whole,
)
from vitree.errors import InputError, ModelError, UnknownNameError, VitreeError
from vitree.integrators import Integrator
from vitree.integrators.base import Torque
from vitree.integrators.gauss import STAGES
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.memory import require_memory
from vitree.model.changes import after_changes, changes_of
from vitree.model.closures import satisfy_constraints
from vitree.model.configurations import within_limits
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.model.starts import feasible_start, near_start
from vitree.model.system import System
from vitree.model.user_inputs import Inputs, LimitedTorque
from vitree.results.recording import Recording
from vitree.run.controller import (
    DRIVING,
    Control,
    Controller,
    Held,
    HeldRows,
    function_of,
    of_another_function,
    parts_of,
    require_for,
    with_targets,
)
from vitree.run.trajectory import Trajectory
from vitree.wording import a_kind, quoted

# ---- the arguments of a run in one object, and the times of its steps --------------------------------------


#: Most steps of a run: their number is a double in places.
MOST_STEPS = 2.0**53


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunArguments:
    """The arguments of :func:`vitree.simulate` beside the model; the docstring there says what each means.

    ``simulate`` makes it. Whatever passes a run on takes this object and changes it by :meth:`but`, so that a new
    argument is written twice only: in the signature of ``simulate``, and here.
    """

    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    duration: float | None = None
    dt: float | Sequence[float] | np.ndarray | str | None = None
    accuracy: float | None = None
    method: str | None = None
    p0: ArrayLike | None = None
    q1: ArrayLike | None = None
    t0: float = 0.0
    torque: Torque | Controller = None
    effort_limits: bool = False
    wrenches: Iterable[ExternalWrench | Impulse] = ()
    inputs: Inputs | Controller = None
    targets: Inputs | Controller = None
    prescribed: Mapping[str, object] | None = None
    record_every: int = 1
    dense: bool = False
    progress: Callable[[int, int], object] | None = None
    monitors: str | Iterable[str] = ()
    resume: Recording | None = None
    options: Keywords = field(default_factory=dict)

    @classmethod
    def all_of(cls, values: Keywords) -> Self:
        """Return arguments that have a value for each field."""
        made = object.__new__(cls)
        vars(made).update(values)
        return made

    @classmethod
    def of(cls, values: Keywords) -> Self:
        """Return arguments that have a value for each field, of which ``control`` has some."""
        options = values["options"]
        values.update(parts_of(values.pop("control")), resume=None)
        for name in ("accuracy", "q1"):
            values[name] = options.pop(name, None)
        return cls.all_of(values)

    @property
    def pushes(self) -> tuple[ExternalWrench | Impulse, ...]:
        """Of the wrenches, checked, those that begin or end within the run, and impulses."""
        return tuple(each for each in self.wrenches if not each.steady) if self.wrenches else ()

    @property
    def drives(self) -> list[str]:
        """Names of the fields of a Control that drive the run."""
        return [name for name in DRIVING if getattr(self, name) is not None]

    @property
    def driven(self) -> bool:
        """Whether something beside the model's own loads can change the energy."""
        return bool(self.drives or self.wrenches)

    def but(self, **changed: Any) -> Self:
        """Return these arguments with some changed; a name that is no field is an option of the method."""
        if "control" in changed:
            changed.update(parts_of(changed.pop("control")))
        own = {name: changed.pop(name) for name in tuple(changed) if name in NAMES}
        own["options"] = {**own.get("options", self.options), **changed}
        return self.all_of({**vars(self), **own})


#: What to change where records take more memory than there is.
SHORTER, FEWER = "shorten duration=", "record fewer of them with record_every="


def require_room(model: System, given: RunArguments, schedule: Schedule) -> None:
    """Raise an InputError if the records of a run take more memory than is available."""
    if schedule.adaptive:
        return
    rows = schedule.steps // given.record_every + 1
    # states with momenta, energies, momentum and centre of mass; time, residual, iterations; constraints
    size = 8.0 * rows * (model.nq + 2 * model.nv + 16 + 2 * len(model.constraints))
    if given.dense:  # stages of gauss, of each step
        order = real(given.options.get("order", 8))
        stages = next((count for known, count in STAGES.items() if known == order), max(STAGES.values()))
        size += 8.0 * stages * schedule.steps * model.nv
        require_memory(f"the stages of {schedule.steps} steps", size, "leave out dense=", SHORTER)
    require_memory(f"the records of {rows} states", size, FEWER, SHORTER)


#: Names of the arguments that every method takes.
NAMES = frozenset(each.name for each in fields(RunArguments))
#: The same as callers give them.
ARGUMENTS = NAMES - {each.name for each in fields(Control)} - {"resume"} | {"control"}


def rows_over_steps(given: RunArguments) -> str | None:
    """Return the name of an argument that has a row for each step; None without one."""
    for name in DRIVING:
        value = getattr(given, name)
        if isinstance(value, Mapping):
            if any(not callable(x) and axes_of(x) >= 1 for x in value.values()):
                return name
        elif value is not None and not callable(value) and axes_of(value) >= 2:
            return name
    return None


@dataclass(frozen=True)
class Schedule:
    """When the steps of a run begin and end.

    Attributes
    ----------
    dt : float
        The step, or the first of ``spans`` [s].
    duration : float [s]
    steps : int
        How many; an estimate if ``adaptive``.
    spans : (steps,) array or None
        The steps, if they differ [s].
    adaptive : bool
        Whether the method chooses its steps.
    """

    dt: float
    duration: float
    steps: int
    spans: np.ndarray | None
    adaptive: bool

    @classmethod
    def of(cls, given: RunArguments, adaptive: bool) -> Schedule:
        """Return the steps that ``duration`` and ``dt`` ask for; ``adaptive`` methods choose their own.

        Raises
        ------
        InputError
            If either is wrong, or the two do not fit.
        """
        dt, duration = given.dt, given.duration
        if type(dt) is float and type(duration) is float and not adaptive:
            return _equal(duration, dt)
        if isinstance(dt, list | tuple) or (hasattr(dt, "__array__") and axes_of(dt) > 0):
            if adaptive:
                raise InputError("dt", given.dt, "must be one number, the step at rest, with adapt=")
            spans, step, whole_time = _spans(dt, duration)
            return cls(step, whole_time, len(spans), spans, adaptive)
        whole_time, step = _checked_times(duration, dt)
        times = cast("tuple[float, float]", (duration, dt))
        steps = count_steps(*times) if not adaptive else int(min(whole_time / step, MOST_STEPS))
        return cls(step, whole_time, steps, None, adaptive)

    @classmethod
    def one(cls, dt: object, adaptive: bool) -> Schedule:
        """Return equal steps of a run of unknown length.

        Raises
        ------
        InputError
            If dt is no positive number.
        """
        if isinstance(dt, str):
            raise InputError(
                "dt", dt,
                "must be a number of seconds here: a step is chosen for a whole run, and the end of this one is not "
                'known; simulate() and compare() take "auto"'
            )
        _, step = _checked_times(1.0, dt)
        return cls(step, 0.0, 0, None, adaptive)

    def ends(self, t0: float, done: int) -> np.ndarray:
        """Return the times (steps + 1,) [s] at which steps begin and end, after ``done`` steps of a run begun at t0.

        A run that goes on has the times, to the last bit, of one that did not stop.
        """
        if self.spans is not None:
            return t0 + np.concatenate(([0.0], np.cumsum(self.spans)))
        return t0 + self.dt * np.arange(done, done + self.steps + 1)

    def settings(self, every: int) -> dict[str, object]:
        """Return the steps, and that each ``every``-th is recorded, for the record."""
        if self.spans is None:
            return {"dt": self.dt, "record_every": every}
        shortest, longest = float(self.spans.min()), float(self.spans.max())
        return {"dt": float(np.mean(self.spans)), "record_every": every, "dt_range": [shortest, longest]}


@lru_cache(maxsize=256)
def _equal(duration: float, dt: float) -> Schedule:
    """Return the schedule of equal steps."""
    return Schedule(dt, duration, count_steps(duration, dt), None, False)


def _spans(dt: object, duration: object) -> tuple[np.ndarray, float, float]:
    """Return steps that differ, the first step, and the sum of all."""
    try:
        spans = as_numbers(dt).copy()
    except TypeError:
        spans = np.array([np.nan])
    if spans.ndim != 1 or not len(spans) or not (np.isfinite(spans).all() and (spans > 0).all()):
        raise InputError("dt", dt, "must be a positive number of seconds, or an array (steps,) of them")
    with np.errstate(over="ignore"):  # the duration is then no finite one
        whole = float(spans.sum())
    if not whole < np.inf:
        raise InputError("dt", dt, "has steps whose sum is too large for a double; give smaller ones")
    if duration is not None and not abs(whole - real(duration)) <= 1e-9 * whole:
        raise InputError("duration", duration, f"s is not {whole:.9g} s, the sum of the steps; leave the duration out")
    return spans, float(spans[0]), whole


def count_steps(duration: float, dt: float) -> int:
    """Return how many steps of dt make up the duration.

    Raises an InputError if either is not a positive number, or the duration is not a whole number of steps.
    """
    whole, step = _checked_times(duration, dt)
    if not whole / step < MOST_STEPS:
        raise InputError(
            "dt", dt,
            f"s is too small: duration={quoted(duration)} s would be {whole / step:.3g} steps, and {MOST_STEPS:.0e} "
            "are the most"
        )
    steps = round(whole / step)
    if steps < 1 or abs(steps * step - whole) > max(_rounding(duration), _rounding(dt)) * max(whole, step):
        low = max(int(whole / step), 1)
        raise InputError(
            "duration", duration,
            f"s is not a whole number of steps of dt={quoted(dt)} s; take {low * step:.12g} s ({low} steps) or "
            f"{(low + 1) * step:.12g} s"
        )
    return steps


def _rounding(value: object) -> float:
    """How far a time may be off because its type has few digits, as a share of it."""
    kind = getattr(value, "dtype", None)
    return max(1e-9, min(float(np.finfo(kind).eps), 1e-6)) if kind is not None and kind.kind == "f" else 1e-9


def require_times(t0: float, end: float, dt: float) -> None:
    """Raise an InputError if the times of a run are so large that a step of dt does not change them."""
    largest = max(abs(t0), abs(end))
    if not (largest + dt > largest and largest - dt < largest):
        raise InputError(
            "t0", t0,
            f"s is too far from zero for steps of dt={quoted(dt)} s: the next number after {largest:g} s is "
            f"{np.spacing(largest):.2g} s away; start nearer to zero"
        )


def _checked_times(duration: object, dt: object) -> tuple[float, float]:
    for name, value, example in (("duration", duration, "2.0"), ("dt", dt, "1e-3")):
        if not 0 < real(value) < np.inf:
            raise InputError(name, value, f"must be a positive number of seconds, such as {example}")
    return real(duration), real(dt)


# ---- checks of a run's arguments, and what they come to; simulate() and Simulation have the same -----------


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
    model.require_invertible_mass_matrix()
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
    if given.prescribed is not None and not isinstance(given.prescribed, Mapping):
        raise InputError("prescribed", given.prescribed, f"must be a mapping of names, not {a_kind(given.prescribed)}")
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
    if type(given.wrenches) is not tuple or given.wrenches:
        given = given.but(wrenches=checked_wrenches(model, given.wrenches))
    if given.dense is not False:
        require_dense(methods, kind, given)
    return kind, given


def require_cut(model: System, effort_limits: object, torque: object) -> None:
    """Raise an InputError if ``effort_limits=True`` has nothing to cut."""
    if not effort_limits:
        return
    if torque is None:
        raise InputError(
            "effort_limits", effort_limits,
            "clips joint torques, and the control has none; leave it out (drives keep effort limits by "
            "model.with_drives(..., effort_limits=True))"
        )
    require_efforts(model, effort_limits)


def require_efforts(model: System, effort_limits: object) -> None:
    """Raise an InputError if no joint has an effort limit, which ``effort_limits=True`` asks for."""
    if not any(np.isfinite(joint.effort).any() for joint in model.joints):
        raise InputError(
            "effort_limits", effort_limits,
            f'does nothing: no joint of "{model.name}" has an effort limit; give the joints effort= (in a robot file '
            "<limit effort>), or leave it out"
        )


#: What other libraries call arguments of a run: the argument here, and what it is.
MEANT = (
    dict.fromkeys(("q", "q_init", "qpos", "q_0", "x0", "y0"), ("q0", "the configuration at the start"))
    | dict.fromkeys(("v", "qd", "dq", "qvel", "v_init", "dq0", "qd0", "v_0"), ("v0", "the velocity at the start"))
    | dict.fromkeys(("T", "t_end", "tf", "t_final", "tmax", "t_max", "time", "t_span", "end", "t1"),
                    ("duration", "the time to simulate [s]"))
    | dict.fromkeys(("h", "timestep", "time_step", "step", "step_size", "delta_t"), ("dt", "the time step [s]"))
    | dict.fromkeys(("tau", "torque", "torques", "forces", "controller", "policy", "inputs", "targets", "u", "ctrl"),
                    ("control", "what drives the run: joint torques, or vt.Control(torque=, inputs=, targets=)"))
    | dict.fromkeys(("prescribed", "effort_limits"),
                    ("control", "what drives the run: give vt.Control(prescribed=, effort_limits=)"))
    | dict.fromkeys(("pushes", "impulses", "wrench", "forces_ext", "fext", "f_ext", "xfrc_applied"),
                    ("wrenches", "a list of vt.ExternalWrench and vt.Impulse"))
    | dict.fromkeys(("integrator", "scheme"), ("method", "the integrator"))
    | dict.fromkeys(("tol",), ("tolerance", "the tolerance of a step"))
    | dict.fromkeys(("every", "record", "stride", "decimation"), ("record_every", "how many steps are between records"))
)  # fmt: skip


def hints_of_others() -> dict[str, str]:
    """Return what an argument is called here, by its names in other libraries."""
    return {name: f"{ours}= is {what}" for name, (ours, what) in MEANT.items()}


def require_known(kind: type[Integrator], options: Mapping[str, object]) -> None:
    """Raise an UnknownNameError if an option is an argument under a name of other libraries; the text has ours."""
    if "resume" in options:
        error = UnknownNameError("argument", "resume", ["run.resume(duration)"], argument="resume")
        error.args = ('no argument "resume": run.resume(duration) continues a run from its end',)
        raise error
    for name in options:
        if name in MEANT and name not in kind.options:
            ours, what = MEANT[name]
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
        raise InputError(f"the polynomials of steps do not cover wrenches that begin or end, or impulses{leave}")
    if whole(given.record_every) != 1:
        raise InputError(
            "the polynomials of steps need the records of both ends, and "
            f"record_every={quoted(given.record_every)} leaves some out{leave}"
        )


def checked_wrenches(model: System, wrenches: object) -> tuple[ExternalWrench | Impulse, ...]:
    """Return external wrenches and impulses on frames of a model that move.

    Raises an InputError or UnknownNameError if one is of another type, or on a frame that the model does not have or
    that does not move.
    """
    wanted = "a sequence of vt.ExternalWrench and vt.Impulse"
    if isinstance(wrenches, Mapping | ExternalWrench | Impulse):
        raise InputError("wrenches", wrenches, f"must be {wanted}: [vt.ExternalWrench(frame, force, torque)]")
    found = several(wrenches, "wrenches", wanted)
    for each in found:
        if not isinstance(each, Impulse | ExternalWrench):
            raise InputError("wrenches", wrenches, f"has {shown(each)}; it must be {wanted}")
        require_moving_frame(model, each)
    return found


def require_moving_frame(model: System, push: Impulse | ExternalWrench) -> None:
    """Raise an InputError if a wrench is on nothing that moves, an UnknownNameError if there is no such frame."""
    if not isinstance(model, Model):
        raise InputError("wrenches", [push], f'act on frames, and "{model.name}" has none; give control=')
    if model.flat.frame_body[model._frame(push.frame)] < 0:
        raise InputError(f'the {push.name} does nothing: "{push.frame}" is fixed to the world')


def driven(
    model: System, given: RunArguments, schedule: Schedule
) -> tuple[RunArguments, dict[str, Held], LimitedTorque | None]:
    """Return the arguments with what acts at the start instead of controllers, the controllers, and effort limits.

    Raises an InputError if a controller or a wrench does not fit the steps, or torque with the effort limits.
    """
    torque: Any = given.torque
    rowed = torque is not None and not callable(torque) and axes_of(torque) >= 2
    controlled = rowed or isinstance(torque, Controller) or isinstance(given.inputs, Controller)
    if not (controlled or given.effort_limits or given.pushes):
        return given, {}, None
    limited: LimitedTorque | None = None
    if rowed:
        torque = _rows_of(model, torque, schedule)
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
    if rowed:
        held["torque"] = HeldRows(torque)
        given = given.but(torque=torque[0])
    for name, size in (("torque", model.nv), ("inputs", len(model.input_names))):
        value = getattr(given, name)
        if isinstance(value, Controller):
            require_for(value, name, model)
            held[name] = Held(value, name, size, schedule.dt)
            given = given.but(**{name: held[name].value})
    uneven = schedule.adaptive or schedule.spans is not None
    if uneven and (held or given.pushes):
        what = ("rows of torque need" if rowed else "a controller needs" if held
                else "wrenches that begin or end, and impulses, need")  # fmt: skip
        other = "adapt=" if schedule.adaptive else "dt of several steps"
        raise InputError(f"{what} steps of equal length; leave out " + other)
    return given, held, limited


def _rows_of(model: System, torque: object, schedule: Schedule) -> np.ndarray:
    """Return joint torques (steps, nv) as floats, a row for each step of the schedule."""
    rows = numbers_of(torque, "torque")
    if rows.ndim != 2 or rows.shape[1] != model.nv:
        needed = f"({model.nv},), or ({schedule.steps or 'steps'}, {model.nv}) with a row for each step"
        raise InputError("torque", torque, f"has shape {rows.shape}; it must be {needed}")
    rows = entries(rows, rows.shape, "torque").astype(float)
    if not len(rows) or len(rows) < schedule.steps:
        raise InputError("torque", torque, f"has shape {rows.shape}; {schedule.steps} steps need a row each")
    return rows


def require_system(model: object) -> None:
    """Raise an InputError unless a model is one that can be simulated."""
    if not isinstance(model, System):
        raise InputError(
            "model", model, f"must be a vitree Model (load_urdf or tree.compile() makes one), not {type(model)}"
        )


def require_same_model(before: Trajectory, model: System) -> None:
    """Raise an InputError unless a run is of a model."""
    if before.settings.get("model_digest") != model.digest:
        raise InputError(f'the run to resume is of another model than "{model.name}": of "{before.model_name}"')


def model_at_end(before: Trajectory, model: System) -> System:
    """Return what a model was at the end of a run, within which it may have been changed."""
    changes = changes_of(before.settings) if model.digest != before.settings.get("model_digest") else ()
    if not changes or not isinstance(model, Model):
        return model
    try:
        return after_changes(model, changes)
    except (VitreeError, KeyError, TypeError, ValueError):
        return model  # of another run: who asks says so


def as_before(model: System, given: RunArguments) -> RunArguments:
    """Return the arguments of a run that goes on: method, dt and options are those of the run before."""
    before = given.resume
    if not isinstance(before, Trajectory):
        raise InputError("resume", before, f"must be the Trajectory of a run, not {type(before)}")
    made = before.settings
    if not len(before.checkpoint):
        raise InputError(
            f"the trajectory has no checkpoint to resume from: give the whole run, not a part of it; runs by the SciPy "
            f'methods, and by methods in Python with a history, have none (this one is by "{before.method}")'
        )
    if not isinstance(made.get("options"), dict) or "dt" not in made:
        raise InputError("the settings of the run to resume are damaged; start from its last q and p")
    require_same_model(before, model)
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


# ---- states that runs start from: neutral, or drawn by a seed ----------------------------------------------


def start_of(system: Any, seed: int, q0: ArrayLike = "neutral", v0: str | np.ndarray = "random", speed: float = 1.0,
             on_ground: bool = False) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return q (nq,) and v (nv,), drawn from separate streams: the one does not depend on the other.

    A start without numbers is moved into limits that are enforced, to satisfy the constraints of the system, and
    ``on_ground`` onto its ground. Raises an InputError if an argument is wrong.

    Parameters
    ----------
    system : Model, or another System
    seed : int
        Zero or above. q is drawn by ``np.random.default_rng([seed, 0])``, v by ``[seed, 1]``.
    q0 : "neutral", "feasible", "random" or (nq,) array [m or rad]
        Feasible: as of :func:`vitree.feasible_start`. Random: within the limits of the joints.
    v0 : "random", "zero" or (nv,) array [m/s or rad/s]
        Random: each entry normal with deviation ``speed``.
    speed : float
        Zero or above [m/s or rad/s].
    on_ground : bool
    """
    q = configuration_of(system, seed, q0, on_ground)
    if not isinstance(v0, str):
        return q, v0
    if v0 == "zero":
        return q, system.zero_velocity()
    if v0 != "random":
        raise InputError("v0", v0, "must be random, zero or numbers")
    if not 0 <= real(speed) < np.inf:
        raise InputError("speed", speed, "must be a finite number, 0 or more")
    v = real(speed) * np.random.default_rng([seed, 1]).standard_normal(system.nv)
    if system.prescribed_joint_names:
        v[np.asarray(system.flat.kinematic, dtype=bool)] = 0.0
    return q, v if system.degrees_of_freedom == system.nv else system.project_velocity(q, v)


def configuration_of(system: Any, seed: int, q0: ArrayLike = "neutral", on_ground: bool = False) -> np.ndarray:
    """Return q (nq,) [m or rad]; arguments and errors as of :func:`start_of`."""
    require_seed(seed)
    q: np.ndarray
    if not isinstance(q0, str):
        q = system.validate_configuration(q0, "q0")
        return q
    if q0 == "random":
        if not hasattr(system, "random_configuration"):
            raise InputError("q0", q0, f': "{system.name}" has no limits to draw from; give neutral, or numbers')
        q = system.random_configuration(np.random.default_rng([seed, 0]))
    elif q0 in ("neutral", "feasible"):
        q = system.start
        q = within_limits(system, q) if isinstance(system, Model) and q0 == "neutral" else q
    else:
        raise InputError("q0", q0, "must be neutral, feasible, random or numbers")
    if q0 == "feasible" and isinstance(system, Model):
        if on_ground:
            with contextlib.suppress(ModelError):
                q = place_on_ground(system, q)
        return feasible_start(system, q).q
    q = satisfy_constraints(system, q) if system.constraints else q
    if on_ground and isinstance(system, Model):
        with contextlib.suppress(ModelError):  # a base that does not move, as an arm's, stays where it is
            q = place_on_ground(system, q)
    return near_start(system, q) if isinstance(system, Model) else q


def require_seed(seed: object) -> int:
    """Return a seed as an int; raise an InputError if it is no whole number, or below zero."""
    number = whole(seed)
    if number is None or number < 0:
        raise InputError("seed", seed, "must be a whole number, zero or above")
    return number
