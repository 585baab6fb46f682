"""simulate(): from a state to a trajectory, all steps in compiled code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import whole
from vitree.errors import ConvergenceError, InputError
from vitree.integrators.base import Torque
from vitree.integrators.idle import Place
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.closure import off_by
from vitree.model.finite import coincident
from vitree.model.model import FACES, Model
from vitree.model.reduced import ReducedModel
from vitree.model.system import System
from vitree.run.arguments import RunArguments, Schedule, require_room, require_times
from vitree.run.autostep import asks_for_choice, require_choosable, with_step
from vitree.run.checks import as_before, checked, driven, require_cut
from vitree.run.controller import Controller
from vitree.run.outcome import Outcome
from vitree.run.reduced import run_reduced
from vitree.run.running import Running
from vitree.run.trajectory import Later, Trajectory, sound_records


def simulate(
    model: System,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    duration: float | None = None,
    dt: float | Sequence[float] | np.ndarray | str | None = None,
    accuracy: float | None = None,
    method: str | None = None,
    p0: ArrayLike | None = None,
    q1: ArrayLike | None = None,
    t0: float = 0.0,
    torque: Torque | Controller = None,
    effort_limits: bool = False,
    wrenches: Mapping[str, ArrayLike] | None = None,
    wrench_axes: str = "world",
    inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | Controller | None = None,
    targets: Any = None,
    prescribed: Mapping[str, Any] | None = None,
    pushes: Iterable[Impulse | ExternalWrench] = (),
    every: int = 1,
    dense: bool = False,
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
        step at rest, and the run ends with a record at or beyond the duration. "auto": one step for the whole run,
        chosen by trials, for methods whose steps are of equal length; ``Trajectory.dt`` tells it.
    accuracy : float
        With ``dt="auto"``: the largest error that the configurations of the trial may have, as a norm of
        ``model.difference`` [rad and m]; 1e-6 if not given. The trial is the first two seconds of the run or its
        first hundredth, whichever is longer; callables are asked in it, too. What comes later is not looked at.
    method : str, optional
        A name of ``model.methods``; of a Model these are ``vitree.METHODS``, and the default is "linear-time".
    torque : None, (nv,) array, callable (t, q, v) -> (nv,) array, or Controller
        Joint forces [N or N m]. A variational method calls a callable once a step, at the predicted
        middle of the step, and keeps its order so. A :class:`vitree.Controller` is asked at its own times.
    effort_limits : bool
        Cut each entry of torque to the effort limit of its joint (``model.joints``); loads and inputs are not cut.
        ``Trajectory.settings["effort_cut"]`` maps each name of ``v_names`` whose torque was cut to the fraction of
        calls in which it was; a callable's trial calls count too.
    wrenches : dict of frame name to (6,) array, optional
        Constant (torque, force) [N m, N] on a frame, beside the loads of the model.
    wrench_axes : {"world", "local", "spatial"}
        As for :class:`vitree.Wrench`.
    inputs : None, array (nu,) or (steps, nu), callable (t, q, v) -> (nu,), mapping, or Controller, optional
        Values of ``model.input_names``, units as the loads take them; zero if not given. An array (steps, nu) has a
        row for each step, a callable is called as torque is, and a mapping has numbers, arrays (steps,) or
        callables of t by name.
    targets : array (n,) or (steps, n), callable (t, q, v) -> (n,), mapping, or Controller, optional [m or rad]
        Targets of the drives, in the order of ``model.drives``; a mapping has numbers, arrays (steps,) or callables
        of t by the names of the joints. They go with ``inputs`` that are a mapping, or none. Two drives that have one
        input have one target.
    prescribed : mapping of joint name to array (steps + 1,) or callable, optional
        Motion of ``model.kinematic_names``: coordinates [m or rad] at the steps' ends, or a callable of t that returns
        the coordinate, or (coordinate, rate, acceleration). Those not named rest. Their entries of v0 may be
        left zero.
    pushes : sequence of Impulse and ExternalWrench
        Blows, and wrenches over windows of time. One that acts at no time of the run is refused. With ``resume``,
        those of the run before can be given again.
    every : int
        Record each ``every``-th step.
    dense : bool
        Keep the polynomials of the steps, of the method gauss, for :meth:`Trajectory.at`. It goes with neither
        ``every`` > 1 nor ``pushes``.
    progress : callable (done, total), optional
        Called every fraction of a second. With the option adapt the total is an estimate.
    monitors : names
        Quantities to keep for every step, recorded or not, in ``Trajectory.monitors``: energy, momentum,
        constraint, residual, iterations, contraction, certificate, error, drive_forces, gap, contact_work,
        momentum_balance.
    resume : Trajectory, optional
        Instead of a start: go on from the end of this run, bit for bit as if it had not stopped. Method, dt and
        options are that run's; inputs, torque and the like are given anew, with rows from here on.
    **options
        Options of the method: solver, guess, order, tolerance, max_iterations, halvings, alpha; adapt, rate, inertia
        for steps that adapt themselves (docs/adaptive.md); events, for impacts that are located in time
        (docs/contacts.md); rtol, atol for SciPy's.

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


def run(model: System, given: RunArguments, told: Mapping[str, Any] | None = None) -> Trajectory:
    """Simulate with all arguments in one object; see :func:`simulate`, which raises the same.

    Parameters
    ----------
    model : Model, or another System
    given : RunArguments
    told : mapping, optional
        Settings of the trajectory beside those of the run.

    Returns
    -------
    Trajectory
    """
    chooses, told = asks_for_choice(given), dict(told or {})
    if chooses:
        require_choosable(given)
    kind, given = checked(model, given)
    require_cut(model, given.effort_limits, given.torque)
    every = whole(given.every)
    if every is None or not 1 <= every < 2**63:
        raise InputError("every", given.every, "must be a whole number of steps, at least 1")
    if every is not given.every:
        given = given.but(every=every)
    if chooses and given.resume is None:
        given, told = with_step(model, kind, given, run)
    if type(model) is not Model and isinstance(model, ReducedModel):
        return run_reduced(model, given, partial(run, told=told))
    if given.resume is not None:
        given = as_before(model, given)
        kind = model.methods[given.method]  # type: ignore[index]
    schedule = Schedule.of(given, given.options.get("adapt") is not None and "adapt" in kind.options)
    shortest = schedule.dt if schedule.spans is None else float(schedule.spans.min())
    require_times(given.t0, given.t0 + schedule.duration, shortest)
    require_room(model, given, schedule)
    given, held, limited = driven(model, given, schedule)
    place = Place(kind, model, schedule.dt, given.options, given.torque, given)
    running = Running(place, given, schedule, held)

    def outcome() -> Outcome:
        return running.outcome(told | ({"effort_cut": limited.shares()} if limited is not None else {}))

    try:
        running.finish()
    except KeyboardInterrupt as stop:  # who presses Ctrl-C waits for no velocities in contact
        stop.trajectory = Trajectory._of(Later(lambda: outcome().trajectory()))  # type: ignore[attr-defined]
        raise
    except Exception as stop:  # also those of a caller's function
        with contextlib.suppress(Exception):  # the error that stopped the run is the one to raise
            stop.trajectory = outcome().trajectory()  # type: ignore[attr-defined]
        raise
    end = outcome()
    done = end.trajectory()
    if not end.sound():
        raise_unsound(model, done)
    if running.faces:
        require_right_way(model, done)
    place.give_back()
    return done


def require_right_way(model: System, done: Trajectory) -> None:
    """Raise a ConvergenceError if constraints hold the wrong way round at a record, as after a step by half a turn."""
    wrong = np.argwhere(~(model.facing_cosines(done.q) > FACES))
    if len(wrong):
        row, k = (int(x) for x in wrong[0])
        one, before = model.constraints[k], done[:row]
        turned = off_by(one, 0.0, model.facing_cosines(done.q[row : row + 1])[0, k])
        raise ConvergenceError(
            f"{done.method}: at t = {done.t[row]:.9g} s the {one.name} is {turned}; halve dt",
            time=float(before.t[-1] if row else done.t[row]), residual=float(done.residual[row]),
            iterations=int(done.iterations[row]), trajectory=before,
        )  # fmt: skip


def raise_unsound(model: System, traj: Trajectory) -> None:
    """Raise a ConvergenceError if a state or an energy of a trajectory is not finite, with the records before."""
    count = sound_records(traj)
    if count == len(traj):
        return
    met = coincident(model, traj.q[count]) if isinstance(model, Model) else []
    why = met[0] if met else "its energy or velocity is infinite or NaN; halve dt or look at the loads"
    raise ConvergenceError(
        f"{traj.method}: the state at t = {traj.t[count]:.9g} s has blown up: {why}",
        time=float(traj.t[count]), residual=np.nan, iterations=0, trajectory=traj[:count] if count else None,
    )  # fmt: skip
