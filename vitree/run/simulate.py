"""simulate(): from a state to a trajectory, all steps in compiled code."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, JsonObject, Keywords, axes_of, entries, explain_calls, real, whole
from vitree.errors import ConvergenceError, InputError
from vitree.integrators.base import Integrator, Torque
from vitree.integrators.idle import Place
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.broadcasting import coincident
from vitree.model.closures import DependentConstraintsError, off_by, without_implied
from vitree.model.dynamics import FACES
from vitree.model.model import Model, ReducedModel
from vitree.model.system import System
from vitree.results.series import distance, shared
from vitree.run.arguments import (
    RunArguments,
    Schedule,
    as_before,
    checked,
    driven,
    model_at_end,
    require_cut,
    require_room,
    require_same_model,
    require_system,
    require_times,
    rows_over_steps,
)
from vitree.run.controller import Control, Controller, function_of, of_another_function
from vitree.run.monitors import monitors_of
from vitree.run.outcome import Outcome
from vitree.run.runner import Running
from vitree.run.trajectory import Later, Trajectory, sound_records

T = TypeVar("T")

# ---- runs of reduced models: the full model is simulated, in the reduced model's coordinates ---------------


def run_reduced(
    model: ReducedModel, given: RunArguments, run: Callable[[System, RunArguments], Trajectory]
) -> Trajectory:
    """Simulate ``model.full`` by ``run``, all in the reduced model's coordinates; raise as that does."""
    try:
        return contracted(model, run(model.full, expanded(model, given)))
    except KeyboardInterrupt as stop:
        part = getattr(stop, "trajectory", None)
        if part is not None:
            stop.trajectory = Trajectory._of(Later(partial(contracted, model, part)))  # type: ignore[attr-defined]
        raise
    except Exception as stop:
        part = getattr(stop, "trajectory", None)
        if part is not None:
            stop.trajectory = contracted(model, part)  # type: ignore[attr-defined]
        raise


def expanded(model: ReducedModel, given: RunArguments) -> RunArguments:
    """Return the arguments in the coordinates of ``model.full``."""
    full, before, changed = model.full, given.resume, Keywords()
    q0 = model.start if given.q0 is None else model.validate_configuration(given.q0, "q0")
    if before is None:
        changed["q0"] = model.expand(q0)
    elif isinstance(before, Trajectory) and before.settings.get("model_digest") == model.digest:
        changed["resume"] = replace(before, settings={**before.settings, "model_digest": full.digest})
    if given.q1 is not None:
        changed["q1"] = model.expand(model.validate_configuration(given.q1, "q1"))
    if given.v0 is not None:
        changed["v0"] = model.expand_velocity(model.validate_velocity(given.v0, "v0"))
    if given.p0 is not None:
        p0 = model.validate_velocity(given.p0, "p0")
        v0 = model.expand_velocity(model._velocities(q0[None], p0[None]))
        changed["p0"] = full._momenta(model.expand(q0)[None], v0)[0]
    if isinstance(given.torque, Controller):
        initial = given.torque.initial
        initial = None if initial is None else model._embed(model.validate_velocity(initial, "initial"))
        asked = _in_full(model, function_of(given.torque), force=True)
        changed["torque"] = of_another_function(given.torque, asked, initial)
    elif callable(given.torque):
        changed["torque"] = _in_full(model, given.torque, force=True)
    elif given.torque is not None and axes_of(given.torque) < 2:
        changed["torque"] = model._embed(model.validate_velocity(given.torque, "torque"))
    elif given.torque is not None:
        shape = np.shape(given.torque)[0], model.nv
        changed["torque"] = model._embed(entries(given.torque, shape, "torque"))
    if isinstance(given.inputs, Controller):
        asked = _in_full(model, function_of(given.inputs), force=False)
        changed["inputs"] = of_another_function(given.inputs, asked, given.inputs.initial)
    elif callable(given.inputs):
        changed["inputs"] = _in_full(model, given.inputs, force=False)
    return given.but(**changed)


def _in_full(
    model: ReducedModel, function: Callable[..., ArrayLike], force: bool
) -> Callable[..., np.ndarray]:
    """A callable of (t, q, v) in a reduced model's coordinates, as one in those of the full model."""

    size = model.nv if force else len(model.input_names)
    asked = Asked(function, "torque" if force else "inputs", "(t, q, v)", (size,))

    def value_at(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        value = asked(t, model.contract(q), model.contract_velocity(v))
        return model._embed(value) if force else value

    return value_at


def contracted(model: ReducedModel, run: Trajectory) -> Trajectory:
    keep = model._followers.kept
    return replace(
        run,
        system=model,
        q_names=model.q_names, v_names=model.v_names,
        settings={**run.settings, "model_digest": model.digest},
        q=model.contract(run.q), v=model.contract_velocity(run.v), p=model.contract_force(run.p),
        multipliers=run.multipliers[:, keep], constraint=run.constraint[:, keep],
        constraint_names=tuple(c.name for c in model.constraints),
    )  # fmt: skip


# ---- dt="auto": a step chosen once for a run, from trials of its first part --------------------------------


#: What ``dt`` is where the step is to be chosen.
AUTO = "auto"
#: The largest error of the trial [rad, m] by default, and its bounds.
ACCURACY, LOWEST, HIGHEST = 1e-6, 1e-13, 1e-1
#: The trial lasts so long [s], or this share of the run if that is longer.
SECONDS, SHARE = 2.0, 0.01
#: The fewest steps of a trial, the most, and the most pairs of trials.
LEAST, MOST, PAIRS = 16, 200_000, 8
#: About so many records of a trial are compared.
RECORDS = 128
#: Differences [rad, m] below this one tell the order; if they do not fall, they are round-off.
SETTLED = 1e-2
#: A higher order is not taken for granted: it must show.
UNSEEN = 4.0
#: The largest share of the steps of a trial that may be taken in halves: such steps of 2 h and h are the same.
HALVED = 0.01

Run = Callable[[System, RunArguments], Trajectory]


@dataclass(frozen=True)
class Choice:
    """A step, and what the trials said of it.

    Attributes
    ----------
    dt : float [s]
    error : float
        The largest error of the trial's configurations, an estimate [rad, m].
    trial : float
        How long the trial was [s].
    steps : int
        Of all trials.
    """

    dt: float
    error: float
    trial: float
    steps: int


def with_step(
    model: System, kind: type[Integrator], given: RunArguments, run: Run
) -> tuple[RunArguments, JsonObject]:
    """Return the arguments with the step that the trials by ``run`` choose, and settings that tell of it.

    Raises an InputError if no step is good enough.
    """
    choice = _Search(model, kind, given, run).choice()
    told = {"accuracy": _accuracy(given), "error": choice.error, "trial": choice.trial, "steps": choice.steps}
    return given.but(dt=choice.dt, accuracy=None), {"auto": told}


class NoStep(InputError):
    """No step of a method reaches the accuracy asked for."""


def chosen(model: System, given: RunArguments, run: Run) -> Choice:
    """Return the step for a run with ``dt="auto"``; raise as :func:`vitree.simulate` does."""
    require_choosable(given)
    kind, given = checked(model, given)
    return _Search(model, kind, given, run).choice()


def asks_for_choice(given: RunArguments) -> bool:
    """Whether the step is to be chosen, or an argument is given that needs that."""
    return isinstance(given.dt, str) or given.accuracy is not None


def require_choosable(given: RunArguments) -> None:
    """Raise an InputError if no step can be chosen, by the arguments given."""
    if isinstance(given.dt, str) and given.dt != AUTO:
        raise InputError("dt", given.dt, f"must be a positive number of seconds, an array (steps,) of them, or {_AUTO}")
    if given.resume is not None and given.accuracy is None:
        return  # the run before has its dt, and another is refused
    if not isinstance(given.dt, str):
        raise InputError(
            "accuracy", given.accuracy, f"requires {_AUTO}; give that, or leave accuracy out"
        )  # fmt: skip
    _accuracy(given)
    if not 0 < real(given.duration) < math.inf:
        raise InputError("duration", given.duration, "must be a positive number of seconds")
    rows = rows_over_steps(given)
    if rows is not None:
        raise InputError(
            f"{_AUTO} does not go with {rows} that have a row for each step: give dt as a number, or functions of t"
        )
    for name in ("torque", "inputs", "targets"):
        if isinstance(getattr(given, name), Controller):
            raise InputError(
                f"{_AUTO} does not go with a Controller as {name}, whose period is a whole number of steps: give dt "
                "as a number"
            )
    if given.q1 is not None:
        raise InputError(f"{_AUTO} does not go with q1, which is one step later: give v0")
    monitors_of(given.monitors)


_AUTO = f'dt="{AUTO}"'


def _accuracy(given: RunArguments) -> float:
    if given.accuracy is None:
        return ACCURACY
    asked = real(given.accuracy)
    if not LOWEST <= asked <= HIGHEST:
        raise InputError("accuracy", given.accuracy, f"must be from {LOWEST:g} to {HIGHEST:g} [rad, m]")
    return asked


class _Search:
    """The search for the longest step whose trial has an error below the accuracy.

    A trial is run with the steps 2 h and h. For a method of order p the difference is (2^p - 1) times the error of
    the finer run, and the error is proportional to h^p: that says which h to try next.
    """

    def __init__(self, model: System, kind: type[Integrator], given: RunArguments, run: Run):
        adapts = kind.adapts(given.options)
        if adapts or "rtol" in kind.options:
            raise InputError(
                f"{_AUTO} is for steps of equal length: "
                + ("adapt=" if "adapt" in given.options else f"the method {kind.name}")
                + " chooses its own; give dt as a number"
                + ("" if adapts else ", and the accuracy by rtol=")
            )  # fmt: skip
        self.model, self.kind, self.run = model, kind, run
        self.accuracy, self.duration = _accuracy(given), real(given.duration)
        self.trial = min(self.duration, max(SECONDS, SHARE * self.duration))
        wrenches = tuple(each for each in given.wrenches if _begins(each) < given.t0 + 0.9 * self.trial)
        self.given = given.but(accuracy=None, monitors=(), progress=None, wrenches=wrenches)
        self.order = float(getattr(kind, "order", 1))
        full = model.full
        self.touches = isinstance(full, Model) and full.has_contact
        self.steps, self.least = 0, math.inf

    def choice(self) -> Choice:
        """Return the step.

        Raises
        ------
        InputError
            If none is good enough.
        """
        longest = h = self.trial / LEAST
        shortest = self.trial / MOST
        best: Choice | None = None
        pairs: list[tuple[float, float]] = []
        seen, tried = math.inf, False
        while len(pairs) < PAIRS and not tried:
            tried = h <= shortest
            h = max(h, shortest)
            count, pieces = self._counts(h)
            h = self.duration / count
            if best is not None and 3 * pieces > self.duration / best.dt - count:  # the trial costs more than it saves
                break
            self.least = min(self.least, h)
            difference = self._difference(h, pieces)
            if not math.isfinite(difference):
                if best is not None:
                    break
                h, longest = h / 4, h / 2
                continue
            if self.touches:  # impacts are of order 1, and their errors jump: what one pair misses the one before tells
                difference = max([difference, *(found * h / other for other, found in pairs[-1:])])
            rate = 1.0 if self.touches else self._rate(h, difference, pairs)
            error = difference / (2.0 ** min(rate or self.order, rate or UNSEEN) - 1)
            if pairs or error > self.accuracy:  # what one pair has, the next one has to show, too
                seen = min(seen, error)
            gain = (0.5 * self.accuracy / error) ** (1 / (rate or self.order)) if error > 0 else math.inf
            after = h * min(max(gain, 1 / 32), 8.0)
            before = pairs[-1] if pairs else None
            if error <= self.accuracy and before is None:
                after = 0.6 * h  # one pair may agree by chance, also because an impact falls on a step of both
            elif error <= self.accuracy:
                best = Choice(h, error, 2 * h * pieces, 0)
                if h > 0.99 * longest:
                    break
                after = min(after, longest)
            elif best is not None:
                break
            elif before is not None and h < 0.7 * before[0] and 0.7 * before[1] < difference < SETTLED:
                break  # round-off, or the residual that a step may leave
            pairs.append((h, difference))
            h = after
        if best is None:
            raise NoStep(self._failure(seen))
        return replace(best, steps=self.steps)

    def _rate(self, h: float, difference: float, pairs: list[tuple[float, float]]) -> float | None:
        """Return the order that a pair shows beside one before it; None if there is none to compare with."""
        for other, found in reversed(pairs):
            if not 0.7 < h / other < 1.4 and 0 < min(difference, found) and max(difference, found) < SETTLED:
                # forces that are not smooth lower the order
                return min(max(math.log(difference / found) / math.log(h / other), 1.0), self.order)
        return None

    def _counts(self, h: float) -> tuple[int, int]:
        """Return the steps of the whole run, of about h, and those of twice that length in the trial."""
        pieces = max(math.ceil(self.trial / (2 * h) * (1 - 1e-12)), 1)
        every = _every(pieces)
        pieces = every * math.ceil(pieces / every)
        if self.trial == self.duration:
            return 2 * pieces, pieces
        count = max(math.ceil(self.duration / h * (1 - 1e-12)), 2)
        return count, min(pieces, count // 2)

    def _difference(self, h: float, pieces: int) -> float:
        """Return the largest distance of the trials with 2 h and h [rad, m]; infinite if one fails."""
        every = _every(pieces)
        runs = []
        for part in (1, 2):
            step, count = 2 * h / part, part * pieces
            self.steps += count
            try:
                found = self.run(self.model, self.given.but(dt=step, duration=count * step, record_every=part * every))
            except ConvergenceError:
                return math.inf
            except (Exception, KeyboardInterrupt) as stop:
                if getattr(stop, "trajectory", None) is not None:
                    stop.trajectory = None  # type: ignore[union-attr]  # that of a trial is not the run's
                raise
            if found.settings.get("halved", 0) > HALVED * count:
                return math.inf
            self.order = float(found.settings.get("order", self.order))
            runs.append(found)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(distance(self.model, *shared(*runs)).max())

    def _failure(self, seen: float) -> str:
        """Say that no step is good enough, and what to do."""
        name, order, model = self.kind.name, self.order, self.model
        full = model.full
        touches, held = self.touches, bool(full.constraints)
        ways: list[str] = ["a larger accuracy="]
        if "order" in self.kind.options and order < 8 and not touches:
            ways.append("a higher order=")
        ways += [
            f'the method="{other}"'
            for other, kind in model.methods.items()
            if "rtol" not in kind.options and getattr(kind, "order", 1) > order and kind.touches >= touches
            and not (held and other == "gauss")
        ]  # fmt: skip
        if "tolerance" in self.kind.options:
            ways.append("a smaller tolerance=")
        came = f"the least error found is {seen:.2g}" if seen < math.inf else "no trial could be solved"
        came += f", with steps of {self.least:.2g} s or more"
        return (
            f"no step of the method {name}, of order {order:g}, reaches accuracy={self.accuracy:g} in a trial of "
            f"{self.trial:g} s: {came}; give {' or '.join(ways)}"
        )


def _every(pieces: int) -> int:
    """Return which steps of a trial are recorded."""
    return max(pieces // RECORDS, 1)


def _begins(push: Impulse | ExternalWrench) -> float:
    """Return when an impulse or a wrench begins to act [s]."""
    return push.at if isinstance(push, Impulse) else push.window[0]


# ---- simulate(): from a state to a trajectory, all steps in compiled code ----------------------------------


@explain_calls
def simulate(
    model: System,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    duration: float | None = None,
    dt: float | Sequence[float] | np.ndarray | str | None = None,
    method: str | None = None,
    control: Control | Controller | Torque = None,
    wrenches: Iterable[ExternalWrench | Impulse] = (),
    p0: ArrayLike | None = None,
    t0: float = 0.0,
    record_every: int = 1,
    monitors: str | Iterable[str] = (),
    dense: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **options: object,
) -> Trajectory:
    """Simulate a mechanism and return its trajectory.

    The main arguments are the model, its state at the start, the duration, the step, the method and what drives the
    robot; all others have defaults that suit most runs.

    Parameters
    ----------
    model : Model, or another System
    q0 : (nq,) array, optional [m or rad]
        Configuration at the start; the neutral one if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        Velocity at the start; zero if no start of another kind is given.
    duration : float [s]
        Time to simulate, a whole number of steps.
    dt : float, (steps,) array, or "auto" [s]
        Time step. An array has steps that differ; their sum is the duration. "auto" chooses one step for the whole run
        by trials, for methods whose steps have equal lengths; ``Trajectory.dt`` has it. With the option adapt the steps
        choose their own length: dt is then the step at rest, and the run ends with a record at or beyond the duration.
    method : str, optional
        A name of ``model.methods``; of a Model these are ``vitree.METHODS``, and the default is "linear-time".
    control : (nv,) or (steps, nv) array, callable (t, q, v) -> (nv,), Controller, or Control, optional
        Joint forces [N or N m], or a :class:`vitree.Control` of torque, inputs, targets of drives, prescribed motion
        and effort limits.
    wrenches : sequence of ExternalWrench and Impulse
        What acts on frames beside the loads of the model: constant wrenches, over the whole run or from start to end,
        and impulses. One that acts at no time of the run is refused.
    p0 : (nv,) array, optional [kg m/s or kg m^2/s]
        Momentum at the start, in place of v0.
    t0 : float
        Time at the start [s].
    record_every : int
        Record each n-th step.
    monitors : names
        Quantities to keep for every step, recorded or not, in ``Trajectory.monitors``: energy, momentum,
        constraint, residual, iterations, contraction, certificate, error, drive_forces, gap, contact_work,
        momentum_balance.
    dense : bool
        Keep the polynomials of the steps, of the method gauss, for :meth:`Trajectory.at`. They need each step recorded,
        and no wrenches that begin or end.
    progress : callable (done, total), optional
        Called every fraction of a second. With the option adapt the total is an estimate.
    **options
        Options of the method: solver, guess, order, tolerance, max_iterations, halvings, alpha; adapt, rate, inertia
        for steps that adapt themselves (docs/adaptive.md); events, for impacts that are located in time
        (docs/contacts.md); rtol, atol for SciPy's. Two more are: accuracy, with ``dt="auto"`` the largest error that
        the configurations of the trial may have, as a norm of ``model.difference`` [rad and m], 1e-6 if not given (the
        trial is the first two seconds of the run or its first hundredth, whichever is longer; later times are not
        looked at); and q1, in place of v0 the configuration (nq,) one step later [m or rad], of variational methods.

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

    See Also
    --------
    Trajectory.resume : go on from the end of a run.
    Simulation : advance by steps, in a loop of the caller.
    rollout : many instances of a model at once.
    """
    given = locals()  # before any other name is bound: the arguments, each written once above
    return run(given.pop("model"), RunArguments.of(given))


def _resumed(before: Trajectory, model: System | None, given: Keywords) -> Trajectory:
    """Go on from the end of a run; see :meth:`vitree.Trajectory.resume`."""
    model = before.system if model is None else model
    if model is None:
        raise InputError("the run is from a file, which does not keep the model; give resume(..., model=)")
    require_system(model)
    model = model_at_end(before, model)
    require_same_model(before, model)
    if given["control"] is None and (acted := before.settings.get("control")):
        raise InputError(
            "control", None,
            f"leaves out what drove the run ({', '.join(acted)}); give it again, or control=vt.Control() for none"
        )
    return run(model, RunArguments.of({**_START, **given, "options": {}}).but(resume=before))


#: Of a run that goes on: its start and steps are those of the run before.
_START = {"q0": None, "v0": None, "p0": None, "t0": 0.0, "dt": None, "method": None}
Trajectory._resumed = staticmethod(_resumed)  # this module imports that of the class, not the other way round


@overload
def run(model: System, given: RunArguments, told: JsonObject | None = None) -> Trajectory: ...


@overload
def run(
    model: System, given: RunArguments, told: JsonObject | None = None, *, read: Callable[[Outcome | Trajectory], T]
) -> T: ...


def run(
    model: System, given: RunArguments, told: JsonObject | None = None, *,
    read: Callable[[Outcome | Trajectory], T] | None = None,
) -> Trajectory | T:  # fmt: skip
    """Simulate with all arguments in one object; see :func:`simulate`, which raises the same.

    Constraints that others imply are left out, and the run has a warning of it.

    Parameters
    ----------
    model : Model, or another System
    given : RunArguments
    told : mapping, optional
        Settings of the trajectory beside those of the run.
    read : callable, optional
        Takes what is wanted of the fields of the trajectory, each of which is computed where it is asked for. The
        integrator serves another run afterwards.

    Returns
    -------
    Trajectory, or what ``read`` returns
    """
    try:
        return _run(model, given, told, read)
    except DependentConstraintsError as error:
        lean = without_implied(model, error.q)
        if lean is None:
            raise
    return _run(lean, given, told, read)


@overload
def _run(model: System, given: RunArguments, told: JsonObject | None = None, read: None = None) -> Trajectory: ...


@overload
def _run(
    model: System, given: RunArguments, told: JsonObject | None, read: Callable[[Outcome | Trajectory], T] | None
) -> Trajectory | T: ...


def _run(
    model: System, given: RunArguments, told: JsonObject | None = None,
    read: Callable[[Outcome | Trajectory], T] | None = None,
) -> Trajectory | T:  # fmt: skip
    """As :func:`run`, but a start at which constraints depend on each other is an error."""
    chooses, told = asks_for_choice(given), dict(told or {})
    if given.drives:
        told.setdefault("control", given.drives)
    if isinstance(given.resume, Trajectory) and (changes := given.resume.settings.get("changes")):
        told.setdefault("changes", changes)
    if chooses:
        require_choosable(given)
    kind, given = checked(model, given)
    require_cut(model, given.effort_limits, given.torque)
    every = whole(given.record_every)
    if every is None or not 1 <= every < 2**63:
        raise InputError("record_every", given.record_every, "must be a whole number of steps, at least 1")
    if every is not given.record_every:
        given = given.but(record_every=every)
    if chooses and given.resume is None:
        given, told = with_step(model, kind, given, _run)
    if type(model) is not Model and isinstance(model, ReducedModel):
        whole_run = run_reduced(model, given, partial(_run, told=told))
        return whole_run if read is None else read(whole_run)
    if given.resume is not None:
        given = as_before(model, given)
        kind = model.methods[str(given.method)]
    schedule = Schedule.of(given, kind.adapts(given.options))
    shortest = schedule.dt if schedule.spans is None else float(schedule.spans.min())
    require_times(given.t0, given.t0 + schedule.duration, shortest)
    require_room(model, given, schedule)
    given, held, limited = driven(model, given, schedule)
    place = Place(kind, model, schedule.dt, given.options, cast("Torque", given.torque), given, read is not None)
    running = Running(place, given, schedule, held, read is None)

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
    done = end.trajectory() if read is None else None
    if not end.sound():
        raise_unsound(model, done or end.trajectory())
    if running.faces:
        require_right_way(model, done or end.trajectory())
    with np.errstate(all="ignore"):
        found = done if read is None else read(end)
    place.give_back()
    return cast("Trajectory | T", found)


def require_right_way(model: System, done: Trajectory) -> None:
    """Raise a ConvergenceError if constraints hold the wrong way round at a record, as after a step by half a turn."""
    wrong = np.argwhere(~(model._facing_cosines(done.q) > FACES))
    if len(wrong):
        row, k = (int(x) for x in wrong[0])
        one, before = model.constraints[k], done[:row]
        turned = off_by(one, 0.0, model._facing_cosines(done.q[row : row + 1])[0, k])
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
