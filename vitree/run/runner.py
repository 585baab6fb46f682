"""Runs step by step in compiled code: events between steps, records, and what touched."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import JsonObject, entries
from vitree.errors import InputError
from vitree.integrators import Integrator
from vitree.integrators.base import CHUNK_SECONDS, Kept, Records, progress_of
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.gauss import Gauss
from vitree.integrators.idle import Place
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.closures import require_consistent
from vitree.model.configurations import brought_together, require_clear
from vitree.model.contacts import Nodes, origins_of, places_of, split_rows
from vitree.model.dynamics import require_rolling
from vitree.model.model import Model
from vitree.model.starts import implied_text
from vitree.model.system import System
from vitree.results.contacts import ContactLog, signs_of
from vitree.results.recording import Recording
from vitree.run.arguments import RunArguments, Schedule
from vitree.run.controller import Held
from vitree.run.monitors import Monitors, monitors_of
from vitree.run.outcome import Outcome, wrenches_told

# ---- contacts of the step that a held run has just taken, without records ----------------------------------


core = scalar()
#: The world's origin.
ORIGIN = (0.0, 0.0, 0.0)


class Touched:
    """What the compiled stepper of a held run tells of contacts.

    Parameters
    ----------
    integrator : Integrator
        With a compiled stepper that knows contacts.
    """

    def __init__(self, integrator: CompiledIntegrator):
        self.stepper, self.model, self.dt = integrator.stepper, integrator.model, integrator.dt
        self.names = self.model._contact_names
        self.count = core.gap_count(self.stepper)
        self._signs: dict[tuple[str, ...], np.ndarray] = {}

    def contacts(self) -> ContactLog:
        """Return the contacts that pushed in the step just taken; places are worked out when they are asked for."""
        rows, start = core.step_contacts(self.stepper)
        own, facets = split_rows(rows)
        return ContactLog._of_step(own, self.names, self.dt, self, start, facets)

    def nodes(self, rows: np.ndarray, start: bytes, facets: np.ndarray | None) -> Nodes:
        """Return where contacts (n, 9) of a step acted, which began as the ``start`` says."""
        q, before = start_of(self.model, start)
        return Nodes(q, np.zeros(len(rows), int), np.column_stack([np.zeros_like(before), before]), facets)

    def places(self, rows: np.ndarray, nodes: Nodes) -> np.ndarray:
        """Return the points, normals and gaps (n, 7) of contacts (n, 9) at the nodes."""
        return places_of(self.model, rows[:, 1].astype(int), nodes)

    def wrench(self, names: tuple[str, ...], about: ArrayLike | str) -> np.ndarray:
        """Return the wrench (6,) [N m, N] as :meth:`Trajectory.contact_wrench` has it."""
        signs = self._signs.get(names)
        if signs is None:
            signs = signs_of(self.names, names)
            self._signs[names] = signs
        if about is not ORIGIN:
            if isinstance(about, str):
                about = origins_of(self.model, about, start_of(self.model, core.step_contacts(self.stepper)[1])[0])[0]
            about = entries(about, (3,), "about")
        return core.step_wrench(self.stepper, signs, self.dt, about)


def start_of(model: System, start: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return q (1, nq) [m or rad] where a step began, and the numbers of the contacts that pushed before (k,)."""
    q = np.frombuffer(start, float, model.nq)
    return q[None], np.flatnonzero(np.frombuffer(start, np.intc, offset=q.nbytes))


# ---- what happens between the steps of a run: controllers are asked, answers begin to act, a robot is pushed


#: A step that no run comes to.
NEVER = 2**62
#: Share of a step within which a time is the step's end.
NEAR = 1e-9


class Event(NamedTuple):
    """Something that happens at one time: an impulse acts, or the gate of a wrench opens or closes."""

    step: int
    rest: float  # [s] since that step began
    order: int  # at the same time gates close before others open
    push: Impulse | int
    opened: bool


class Between:
    """What happens between the steps of a run.

    Raises an InputError if a push acts at no time of the run, or before it.

    Parameters
    ----------
    integrator : Integrator
        With its state.
    t0 : float [s]
        When the run began; steps are counted from there.
    held : mapping of "torque" and "inputs" to Held
    pushes : sequence of Impulse and ExternalWrench
        Those of class ExternalWrench are those of the integrator, in the same order.
    resume : Trajectory, optional
        The run that goes on.
    steps : int, optional
        How many there will be; None if unknown.
    """

    def __init__(self, integrator: Integrator, t0: float, held: Mapping[str, Held],
                 pushes: Sequence[Impulse | ExternalWrench], resume: Recording | None = None,
                 steps: int | None = None):  # fmt: skip
        self.integrator, self.t0, self.held = integrator, t0, dict(held)
        self._torque, self._inputs = held.get("torque"), held.get("inputs")
        self._controllers = tuple(held.values())
        self.events = sorted(_events(pushes, t0, integrator.dt), key=lambda event: event[:3])
        self.done = 0
        self.busy = bool(self.held or self.events)
        if not self.busy:
            return
        integrator.commanded = True
        for push in pushes:
            _require_within(push, t0, integrator.dt, None if steps is None else integrator.steps + steps)
        for k in range(sum(isinstance(push, ExternalWrench) for push in pushes)):
            integrator.open_gate(k, False)
        at = integrator.steps
        while self.done < len(self.events) and self.events[self.done][:2] < (at, 0.0):
            event = self.events[self.done]
            if not isinstance(event.push, Impulse):
                integrator.open_gate(event.push, event.opened)
            self.done += 1
        kept = {} if resume is None else resume.settings.get("held", {})
        for name, one in self.held.items():
            if name in kept:
                one.take_up(kept[name])
        self.command()

    def turn_to(self, integrator: Integrator, command: bool = True) -> None:
        """Go on with another integrator of the same run; ``command``: what is held acts in it."""
        self.integrator = integrator
        if self.busy:
            integrator.commanded = True
            if command:
                self.go_back(self.keep())

    def command(self) -> None:
        """Let the values that are held act."""
        if self.held:
            torque, inputs = self._torque, self._inputs
            self.integrator.command(None if torque is None else torque.value, None if inputs is None else inputs.value)

    def advance(self, steps: int, take: Callable[[int], None], end_step: Callable[[], None],
                open_step: Callable[[], None] = lambda: None) -> None:  # fmt: skip
        """Take steps; ``take`` takes so many at once, ``open_step`` and ``end_step`` are about one taken in parts."""
        integrator = self.integrator
        while steps > 0:
            at = integrator.steps
            ahead = self._happen(at) - at
            if ahead < 1:
                open_step()
                self._parts(at)
                end_step()
                ahead = 1
            else:
                ahead = min(steps, ahead)
                take(ahead)
            steps -= ahead

    def _next_event(self) -> int:
        """The step in which the next event lies."""
        return self.events[self.done].step if self.done < len(self.events) else NEVER

    def _happen(self, at: int) -> int:
        """Let happen all that does before the step ``at``; return the step before or in which something does next."""
        seen, changed, ahead = None, False, NEVER
        for one in self._controllers:
            if at % one.every == 0:
                seen = self.integrator.look() if seen is None else (seen[0], seen[1].copy(), seen[2].copy())
                changed = one.ask(at, *seen) or changed
            if one.coming:
                changed = one.arrived(at) or changed
            ahead = min(ahead, one.next(at))
        if changed:
            self.command()
        if self.events:
            while self._next_event() == at and self.events[self.done].rest == 0.0:
                self._event()
            ahead = min(ahead, self._next_event())
        return ahead

    def _parts(self, at: int) -> None:
        """Take the step ``at``, parted by the events within it; where a part fails all is as before the step."""
        integrator, dt, past, before = self.integrator, self.integrator.dt, 0.0, (self.integrator.keep(), self.keep())
        try:
            while self._next_event() == at:
                rest = self.events[self.done].rest
                if rest > past:
                    integrator.advance_part(rest - past, False)
                    past = rest
                self._event()
            integrator.advance_part(dt - past, True)
        except BaseException:
            integrator.go_back(before[0])
            self.go_back(before[1])
            raise

    def _event(self) -> None:
        """Let the next event happen."""
        event, integrator = self.events[self.done], self.integrator
        self.done += 1
        if isinstance(event.push, Impulse):
            self.strike(event.push)
        else:
            integrator.open_gate(event.push, event.opened)

    def strike(self, push: Impulse) -> None:
        """Change the momentum by J^T (angular, linear impulse)."""
        integrator, model = self.integrator, self.integrator.model
        q, x = integrator.state()
        change = model.frame_jacobian(push.frame, q, push.axes).T @ np.array([*push.angular, *push.impulse])
        integrator.strike(integrator.kicked(np.array([integrator.t]), q[None], x[None], change[None])[0])

    def settings(self) -> JsonObject:
        """Return what the controllers hold, for the record."""
        return {"held": {name: one.settings() for name, one in self.held.items()}} if self.held else {}

    def keep(self) -> Kept:
        """Return all that changes in a run."""
        return self.done, {name: one.keep() for name, one in self.held.items()}

    def go_back(self, kept: Kept) -> None:
        """Go on from what :meth:`keep` returned."""
        self.done = kept[0]
        opened = dict.fromkeys([e.push for e in self.events if not isinstance(e.push, Impulse)], False)
        opened |= {e.push: e.opened for e in self.events[: self.done] if not isinstance(e.push, Impulse)}
        for k, now in opened.items():
            self.integrator.open_gate(k, now)
        for name, one in self.held.items():
            one.go_back(kept[1][name])
        self.command()


def _require_within(push: Impulse | ExternalWrench, t0: float, dt: float, steps: int | None) -> None:
    """Raise an InputError if a push is over before a run begins, or begins after so many steps from there."""
    window = isinstance(push, ExternalWrench)
    first, last = push.window if isinstance(push, ExternalWrench) else (push.at, push.at)
    begins, ends = _place(first, t0, dt), _place(last, t0, dt)
    late = steps is not None and (begins >= (steps, 0.0) if window else begins > (steps, 0.0))
    if not late and ends >= (0, 0.0) and not (window and ends == (0, 0.0)):
        return
    when = f"from {first:.9g} s to {last:.9g} s" if window else f"at t = {first:.9g} s"
    run = f"begins at t = {t0:.9g} s" + ("" if steps is None else f" and ends at {t0 + steps * dt:.9g} s")
    raise InputError(f"the {push.name} acts {when}, and the run {run}; give a time within it")


def _events(pushes: Sequence[Impulse | ExternalWrench], t0: float, dt: float) -> list[Event]:
    events, gates = [], 0
    for push in pushes:
        if isinstance(push, ExternalWrench):
            first, last = push.window
            events += [Event(*_place(first, t0, dt), 1, gates, True), Event(*_place(last, t0, dt), 0, gates, False)]
            gates += 1
        else:
            events.append(Event(*_place(push.at, t0, dt), 2, push, False))
    return events


def _place(t: float, t0: float, dt: float) -> tuple[int, float]:
    """The step in which a time lies, and the time since the step began."""
    share = (t - t0) / dt
    if abs(share) > 2.0**53:
        return (2**53 if share > 0 else -1), 0.0
    step = round(share)
    if abs(share - step) <= NEAR * max(1.0, abs(share)):
        return step, 0.0
    step = int(np.floor(share))
    return step, t - (t0 + step * dt)


# ---- running: a run on its way, apart from the arguments that it was asked for with ------------------------


class Running:
    """An integrator with a state, and the records of the states that it has come through.

    Parameters
    ----------
    place : Place
        Of the integrator.
    given : RunArguments
        The start, ``every``, ``monitors`` and ``progress``.
    schedule : Schedule
    held : mapping of "torque" and "inputs" to Held
        The controllers.
    places : bool
        Whether the places of contacts are to be known when the run is over.
    """

    def __init__(self, place: Place, given: RunArguments, schedule: Schedule, held: Mapping[str, Held],
                 places: bool = True):  # fmt: skip
        self.place, self.integrator = place, place.integrator
        self.every, self.progress, self.schedule = given.record_every, given.progress, schedule
        self.acting = wrenches_told(given.wrenches)
        self.keeps_energy = not given.driven
        integrator = place.integrator
        #: the integrator, if nothing but the states and the model is to be asked when the run is over
        self.plain = cast("CompiledIntegrator", integrator) if place.plain else None
        self.records: Records
        self.watched: Monitors | None = None
        if self.plain is not None and not self.plain.facts.constrained and _asks_little(given, schedule):
            self.records = _begin_plainly(self.plain, given, schedule.steps // given.record_every + 1)
        else:
            self.records, self.watched = _started(integrator, given, schedule, places)
        self.stages = cast("Gauss", integrator).keep_stages(schedule.steps) if given.dense else None
        self.between: Between | None = None
        if held or given.pushes:
            self.between = Between(integrator, integrator.t0, held, tuple(given.pushes), given.resume,
                                   schedule.steps)  # fmt: skip

    @property
    def faces(self) -> bool:
        """Whether constraints can have come to hold the wrong way round."""
        return bool(self.integrator.model.constraints) if self.plain is None else self.plain.facts.faces

    def finish(self) -> None:
        """Advance to the end of the schedule; if a step fails, the state and the records are those before it."""
        schedule, records = self.schedule, self.records
        if self.between is not None:
            self._finish_in_parts(self.between)
            return
        goal = records.t[0] + schedule.duration if schedule.adaptive else schedule.steps
        self.integrator.run(records, goal, self.every, self.progress, self.watched)

    def _finish_in_parts(self, between: Between) -> None:
        """Advance to the end, from one event to the next."""
        integrator = self.integrator
        steps, begun, progress = self.schedule.steps, integrator.steps, progress_of(self.progress)
        told = time.perf_counter()

        def tell() -> None:
            nonlocal told
            done = integrator.steps - begun
            if progress is not None and (time.perf_counter() - told > CHUNK_SECONDS or done == steps):
                progress(done, steps)
                told = time.perf_counter()

        def take(count: int) -> None:
            take_steps(integrator, count, self.records, self.every, begun, self.watched)
            tell()

        def open_step() -> None:
            if self.watched is not None:
                self.watched.begin(integrator)

        def end_step() -> None:
            if self.watched is not None:
                self.watched.take_one(cast("CompiledIntegrator", integrator), self.records, self.every)
            else:
                write_row(integrator, self.records, self.every, begun)
            tell()

        between.advance(steps, take, end_step, open_step)

    def outcome(self, more: JsonObject) -> Outcome:
        """Return what the run has come to; ``more`` are settings beside those of its steps."""
        if self.between is not None:
            more = more | self.between.settings()
        more = more | self.acting
        made = Outcome(self.integrator, self.records.trimmed(), self.schedule, self.every, more, self.watched,
                       self.keeps_energy, self.plain is not None)  # fmt: skip
        if self.stages is not None:
            made.stages = self.stages[: len(made.t) - 1]
        return made


def take_steps(
    integrator: Integrator, count: int, records: Records, every: int, begun: int, watched: Monitors | None = None
) -> None:
    """Take steps of a run that began after ``begun`` steps, and record each ``every``-th."""
    if isinstance(integrator, CompiledIntegrator):
        integrator.run(records, count, every, None, watched)
        return
    if watched is not None:
        integrator.run(records, 0, every, None, watched)  # which refuses it
    while count > 0:
        many = min(count, every - (integrator.steps - begun) % every)
        start = time.perf_counter()
        integrator.advance(many)
        records.seconds += time.perf_counter() - start
        write_row(integrator, records, every, begun)
        count -= many


def write_row(integrator: Integrator, records: Records, every: int, begun: int) -> None:
    """Write the state to the next row of the records, if its step is to be recorded."""
    if (integrator.steps - begun) % every:
        return
    k = records.rows
    if isinstance(integrator, CompiledIntegrator):
        integrator.stepper.row(records, k)
        if integrator.touches_here:
            records.touched.append(integrator.pushed(k))
        if integrator.drive_varies:
            records.driven.append(integrator.drove(k))
    else:
        records.t[k], (records.q[k], records.x[k]) = integrator.t, integrator.state()
    records.rows += 1


def note_start(integrator: CompiledIntegrator, records: Records, k: int) -> None:
    """Note where the step to the record ``k`` began, which is the one just taken."""
    q, before = start_of(integrator.model, core.step_contacts(integrator.stepper)[1])
    records.starts.append((np.array([k]), q, np.column_stack([np.full_like(before, k), before])))


def _started(
    integrator: Integrator, given: RunArguments, schedule: Schedule, places: bool
) -> tuple[Records, Monitors | None]:
    """Set the integrator's state, plan its steps, and return room for the records and monitors."""
    monitors = monitors_of(given.monitors)
    records = begun(integrator, given, schedule, schedule.steps // given.record_every)
    # the steps that lead to records begin between them: what touches is known there
    between = (
        places and given.record_every > 1 and isinstance(integrator.model, Model) and integrator.model.has_contact
    )
    return records, Monitors(monitors, integrator, schedule.steps) if monitors or between else None


def begun(integrator: Integrator, given: RunArguments, schedule: Schedule, rows: int) -> Records:
    """Set the integrator's state, plan its steps, and return records of the start with room for more rows.

    A schedule without steps is that of a run of unknown length: rows of inputs and of motion say how long it is.
    """
    model = integrator.model
    t0, done, state = given.t0, 0, None
    integrator.mended = ()
    if given.resume is not None:
        t0, done, state = integrator.resume(given.resume.checkpoint.tobytes())
    q0 = given.q0 if state is None else state[1]
    q0 = model.start if q0 is None else model.validate_configuration(q0, "q0")
    if not schedule.adaptive:
        planned = schedule if schedule.steps else replace(schedule, steps=max(integrator.lasts() or 1, 1))
        integrator.plan(q0, planned.steps, lambda: planned.ends(t0, done))
    if state is not None:
        records = _records(integrator, *state, rows)
        records.owed.append(integrator.pushed(0))
    else:
        records = _begin(integrator, float(t0), q0, given, rows)
    if schedule.spans is not None:
        integrator.vary(schedule.spans, schedule.ends(t0, done))
    return records


def _asks_little(given: RunArguments, schedule: Schedule) -> bool:
    """Whether a run starts at (q0, v0), takes equal steps, and has neither monitors nor rows of inputs."""
    return (
        not given.pushes and given.p0 is None and given.q1 is None and given.resume is None and schedule.spans is None
        and type(given.monitors) is tuple and not given.monitors
        and (type(given.inputs) is not np.ndarray or given.inputs.ndim < 2)
    )  # fmt: skip


def _begin_plainly(integrator: CompiledIntegrator, given: RunArguments, rows: int) -> Records:
    """Set the state of an integrator without constraints and prescribed motion to (q0, v0), and return records."""
    model, stepper, by_momentum = integrator.model, integrator.stepper, integrator.facts.uses_momentum
    q, v = given.q0, given.v0
    records = Records.room(rows, model.nq, model.nv, 0)
    if not (integrator.facts.bare and core.start_moving(stepper, given.t0, q, v, records, by_momentum)):
        q = model.start if q is None else model.validate_configuration(q, "q0")
        v = model.zero_velocity() if v is None else model.validate_velocity(v, "v0")
        model.require_invertible_mass_matrix(q)
        q, v = cast("tuple[np.ndarray, np.ndarray]", _mended(integrator, q, v, v))
        if not core.start_moving(stepper, given.t0, q, v, records, by_momentum):
            x = model.generalized_momentum(q, v) if by_momentum else v  # or an error that says why there is none
            integrator.start(given.t0, q, x)
            records.t[0], records.q[0], records.x[0] = given.t0, q, x
    return records


def _mended(
    integrator: Integrator, q: np.ndarray, v: np.ndarray | None, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a start whose small overlaps and open loops are closed, which the integrator keeps a word of.

    Raises an InputError if what may touch overlaps by more, constraints miss by more, or what rolls slips.

    Parameters
    ----------
    integrator : Integrator
    q, v : (nq,) and (nv,) arrays
        The start; v is None where it is not given.
    moving : (nv,) array
        The velocity at the start [m/s or rad/s].
    """
    try:
        return _brought_together(integrator, q, v, moving)
    except InputError as error:
        error.of_start = True
        raise


def _brought_together(
    integrator: Integrator, q: np.ndarray, v: np.ndarray | None, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """As :func:`_mended`."""
    model = integrator.model
    if not isinstance(model, Model):
        if model.constraints:
            require_consistent(model, q, v)
        return q, v
    if not (model.constraints or model.has_contact):
        return q, v
    least = None
    if isinstance(integrator, CompiledIntegrator) and integrator.touches_here:
        least = core.least_gap(integrator.stepper, q)
    end, integrator.mended, clear = brought_together(model, q, moving, integrator.dt, least)
    if model._implied:
        integrator.mended += (implied_text(model._implied),)
    if end is not q and model.constraints and v is not None:
        v = model.project_velocity(end, v)
    if model.constraints:
        require_consistent(model, end, v)
    if model.has_contact:
        if not clear:
            require_clear(model, end)
        if model.rolling:
            require_rolling(model, end, v)
    return end, v


def _begin(integrator: Integrator, t0: float, q0: np.ndarray, given: RunArguments, count: int) -> Records:
    """Set the integrator's state and return records that hold it, with room for more."""
    model, v0, p0, q1 = integrator.model, given.v0, given.p0, given.q1
    starts = [name for name, value in (("v0", v0), ("p0", p0), ("q1", q1)) if value is not None]
    if len(starts) > 1:
        raise InputError(f"give one of v0, p0, q1, not {' and '.join(starts)}")
    if v0 is not None:
        v0 = model.validate_velocity(v0, "v0")
    if integrator.motion.names:
        q0, moving = integrator.motion.start(q0, model.zero_velocity() if v0 is None else v0)
        # the others follow what is prescribed as the constraints have it, if no velocity is given
        v0 = moving if starts else model.project_velocity(q0, moving) if model.constraints else moving
    with_v = not starts or "v0" in starts
    moving = model.zero_velocity() if v0 is None else v0
    if p0 is not None and isinstance(model, Model) and model.has_contact:
        moving = model._velocities(q0[None], model.validate_velocity(p0, "p0")[None])[0]
    q0, mended = _mended(integrator, q0, v0 if with_v else None, moving)
    if with_v and v0 is not None:
        v0 = mended
    model.require_invertible_mass_matrix(q0)
    if q1 is not None:
        x0 = integrator.start_between(t0, q0, model.validate_configuration(q1, "q1"))
    else:
        if p0 is not None:
            p0 = model.validate_velocity(p0, "p0")
            v = model._constrained_velocities(q0[None], p0[None], None if v0 is None else v0[None])[0]
        else:
            v = model.zero_velocity() if v0 is None else v0
        if not integrator.uses_momentum:
            x0 = v
        elif p0 is not None:
            x0 = p0
        else:
            x0 = model.generalized_momentum(q0, v)
    integrator.start(t0, q0, x0)
    return _records(integrator, t0, q0, x0, count)


def _records(integrator: Integrator, t0: float, q0: np.ndarray, x0: np.ndarray, count: int) -> Records:
    """Room for the start and so many states."""
    model = integrator.model
    records = Records.room(count + 1, model.nq, model.nv, len(model.constraints))
    records.t[0], records.q[0], records.x[0] = t0, q0, x0
    return records
