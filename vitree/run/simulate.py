"""simulate(): from a state to a trajectory, all steps in compiled code."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import plain_scalar, real, whole
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.integrators import Integrator
from vitree.integrators.base import Torque
from vitree.integrators.idle import Place
from vitree.model.closure import off_by
from vitree.model.finite import coincident
from vitree.model.model import FACES, Model
from vitree.model.reduced import ReducedModel
from vitree.model.signals import LimitedTorque
from vitree.model.system import System
from vitree.run.arguments import RunArguments, Schedule, require_times
from vitree.run.outcome import Outcome
from vitree.run.reduced import run_reduced
from vitree.run.running import Running
from vitree.run.trajectory import Trajectory, sound_records
from vitree.wording import Argument, Text, keyword, named


def simulate(
    model: System,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    duration: float | None = None,
    dt: float | Sequence[float] | np.ndarray | None = None,
    method: str | None = None,
    p0: ArrayLike | None = None,
    q1: ArrayLike | None = None,
    t0: float = 0.0,
    torque: Torque = None,
    effort_limits: bool = False,
    wrenches: Mapping[str, ArrayLike] | None = None,
    wrench_axes: str = "world",
    inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    every: int = 1,
    progress: Callable[[int, int], Any] | None = None,
    monitors: str | Iterable[str] = (),
    resume: Trajectory | None = None,
    **options: Any,
) -> Trajectory:
    """Simulate a mechanism and return its trajectory.

    Parameters
    ----------
    model : Model, or another System
    q0 : (nq,) array, optional [m or rad]
        Configuration at the start; the neutral one if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        Velocity at the start; zero if no start of another kind is given.
    p0, q1 : arrays, optional
        Instead of v0: the momentum (nv,) [kg m/s or kg m^2/s], or the configuration (nq,) [m or rad] one step
        later (variational methods only).
    t0 : float
        Time at the start [s].
    duration, dt : float
        Time to simulate and step [s]; the duration must be a whole number of steps. dt may be an array (steps,) of
        steps that differ; their sum is the duration. With the option adapt steps choose their own length, dt is the
        step at rest, and the run ends with a record at or beyond the duration.
    method : str, optional
        A name of ``model.methods``; of a Model these are ``vitree.METHODS``, and the default is "linear-time".
    torque : None, (nv,) array or callable (t, q, v) -> (nv,) array
        Joint forces [N or N m]. A variational method calls a callable once a step, at the predicted
        middle of the step, and keeps its order so.
    effort_limits : bool
        Cut each entry of torque to the effort limit of its joint (``model.joints``); loads and inputs are not cut.
        ``Trajectory.settings["effort_cut"]`` maps each name of ``v_names`` whose torque was cut to the fraction of
        calls in which it was; a callable's trial calls count too.
    wrenches : dict of frame name to (6,) array, optional
        Constant (torque, force) [N m, N] on a frame, beside the loads of the model.
    wrench_axes : {"world", "local", "spatial"}
        As for :class:`vitree.Wrench`.
    inputs : None, array (nu,) or (steps, nu), callable (t, q, v) -> (nu,), or mapping, optional
        Values of ``model.input_names``, units as the loads take them; zero if not given. An array (steps, nu) has a
        row for each step, a callable is called as torque is, and a mapping has numbers, arrays (steps,) or
        callables of t by name.
    prescribed : mapping of joint name to array (steps + 1,) or callable, optional
        Motion of ``model.kinematic_names``: coordinates [m or rad] at the steps' ends, or a callable of t that returns
        the coordinate, or (coordinate, rate, acceleration). Those not named rest. Their entries of v0 may be
        left zero.
    every : int
        Record each ``every``-th step.
    progress : callable (done, total), optional
        Called every fraction of a second. With the option adapt the total is an estimate.
    monitors : names
        Quantities to keep for every step, recorded or not, in ``Trajectory.monitors``: energy, momentum,
        constraint, residual, iterations, contraction, certificate.
    resume : Trajectory, optional
        Instead of a start: go on from the end of this run, bit for bit as if it had not stopped. Method, dt and
        options are that run's; inputs, torque and the like are given anew, with rows from here on.
    **options
        Options of the method: solver, guess, order, tolerance, max_iterations, halvings, alpha; adapt, rate, inertia
        for steps that adapt themselves (docs/adaptive.md); rtol, atol for SciPy's.

    Returns
    -------
    Trajectory

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong; the text says which, and what is accepted.
    ModelError
        If accelerations do not exist, because a joint moves no mass.
    ConvergenceError
        If a step cannot be solved, or leads to a loop that is closed the wrong way round, or the state blows up; its
        attribute ``trajectory`` has the steps before.
    CallableError
        If a callable raises, or returns NaN, a wrong shape or what is no number; its cause is the callable's own
        exception, and its attribute ``trajectory`` has the steps before. A KeyboardInterrupt has that attribute, too.
    """
    given = locals()  # before any other name is bound: the arguments, each written once above
    return run(given.pop("model"), RunArguments.all_of(given))


def run(model: System, given: RunArguments) -> Trajectory:
    """Simulate with all arguments in one object; see :func:`simulate`, which raises the same.

    Parameters
    ----------
    model : Model, or another System
    given : RunArguments

    Returns
    -------
    Trajectory
    """
    require_system(model)
    model.require_regular()
    methods = model.methods
    if given.method is not None and not (isinstance(given.method, str) and given.method in methods):
        raise UnknownNameError("method", given.method, methods, about=Argument("method", given.method))
    for name in ("wrenches", "prescribed"):
        value = getattr(given, name)
        if value is not None and not isinstance(value, Mapping):
            raise InputError(named(name, value) + f" must be a mapping of names, not a {type(value).__name__}")
    limits = given.effort_limits
    if limits is not True and limits is not False and not isinstance(plain_scalar(limits), bool):
        raise InputError(Argument("effort_limits", limits) + " must be True or False")
    if given.progress is not None and not callable(given.progress):
        raise InputError(named("progress", given.progress) + " must be a callable (done, total)")
    if type(model) is not Model and isinstance(model, ReducedModel):
        return run_reduced(model, given, run)
    if given.resume is not None:
        given = _as_before(model, given)
    kind: type[Integrator] = methods[given.method or next(iter(methods))]
    schedule = Schedule.of(given, given.options.get("adapt") is not None and "adapt" in kind.options)
    every, t0 = whole(given.every), real(given.t0)
    if every is None or not 1 <= every < 2**63:
        raise InputError(Argument("every", given.every) + " must be a whole number of steps, at least 1")
    if not math.isfinite(t0):
        raise InputError(Argument("t0", given.t0) + " must be a finite time [s]")
    if every is not given.every or t0 is not given.t0:
        given = given.but(every=every, t0=t0)
    shortest = schedule.dt if schedule.spans is None else float(schedule.spans.min())
    require_times(t0, t0 + schedule.duration, shortest)
    limited = LimitedTorque(model, given.torque) if limits and given.torque is not None else None
    place = Place(kind, model, schedule.dt, given.options, given.torque if limited is None else limited.torque, given)
    running = Running(place, given, schedule)

    def outcome() -> Outcome:
        return running.outcome({"effort_cut": limited.shares()} if limited is not None else {})

    try:
        running.finish()
    except (Exception, KeyboardInterrupt) as stop:  # also those of a caller's function
        with contextlib.suppress(Exception):  # the error that stopped the run is the one to raise
            stop.trajectory = outcome().trajectory()  # type: ignore[union-attr]
        raise
    end = outcome()
    done = end.trajectory()
    if not end.sound():
        _raise_unsound(model, done)
    if running.faces:
        _require_right_way(model, done)
    place.give_back()
    return done


def _require_right_way(model: System, done: Trajectory) -> None:
    """Raise a ConvergenceError if constraints hold the wrong way round at a record, as after a step by half a turn."""
    wrong = np.argwhere(~(model.facing_cosines(done.q) > FACES))
    if len(wrong):
        row, k = (int(x) for x in wrong[0])
        one, before = model.constraints[k], done[:row]
        turned = off_by(one, 0.0, model.facing_cosines(done.q[row : row + 1])[0, k])
        raise ConvergenceError(
            f"{done.method}: at t = {done.t[row]:.9g} s the {one.name} is {turned}; halve "
            + named("dt"), time=float(before.t[-1]) if row else float(done.t[row]), residual=float(done.residual[row]),
            iterations=int(done.iterations[row]), trajectory=before,
        )  # fmt: skip


def require_system(model: Any) -> None:
    """Raise an InputError unless a model is one that can be simulated."""
    if not isinstance(model, System):
        raise InputError(
            named("model", model)
            + f" must be a vitree Model (load_urdf or tree.compile() makes one), not {type(model)}"
        )


def _raise_unsound(model: System, traj: Trajectory) -> None:
    """Raise a ConvergenceError if a state or an energy of a trajectory is not finite, with the records before."""
    count = sound_records(traj)
    if count == len(traj):
        return
    met = coincident(model, traj.q[count]) if isinstance(model, Model) else []
    why = met[0] if met else "its energy or velocity is infinite or NaN; halve " + named("dt") + " or look at the loads"
    raise ConvergenceError(
        Text(f"{traj.method}: the state at t = {traj.t[count]:.9g} s has blown up: ", why),
        time=float(traj.t[count]), residual=np.nan, iterations=0, trajectory=traj[:count] if count else None,
    )  # fmt: skip


def _as_before(model: System, given: RunArguments) -> RunArguments:
    """Return the arguments of a run that goes on: method, dt and options are those of the run before."""
    before = given.resume
    if not isinstance(before, Trajectory):
        raise InputError(named("resume", before) + f" must be the Trajectory of a run, not {type(before)}")
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
        raise InputError(
            "with " + keyword("resume") + " the start, dt and options are those of the run; to change them start from "
            + keyword("p0")
        )
    if "dt_range" in made:
        raise InputError("the run to resume had steps that differed; start from its last q and p")
    if given.method not in (None, before.method):
        raise InputError(f'the run to resume was by "{before.method}", not "{given.method}"')
    return given.but(method=before.method, dt=made["dt"], options=made["options"])
