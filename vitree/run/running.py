"""Running: a run on its way, apart from the arguments that it was asked for with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree.errors import InputError
from vitree.integrators import Integrator
from vitree.integrators.base import CHUNK_SECONDS, Records, progress_of
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.idle import Place
from vitree.model.closure import require_consistent
from vitree.model.mended import brought_together
from vitree.model.model import Model
from vitree.model.placing import require_clear
from vitree.model.rolling import require_rolling
from vitree.run.arguments import RunArguments, Schedule
from vitree.run.between import Between
from vitree.run.controller import Held
from vitree.run.drive import wrenches_told
from vitree.run.monitors import Monitors, monitors_of
from vitree.run.outcome import Outcome
from vitree.run.touched import start_of

core = scalar()


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
    """

    def __init__(self, place: Place, given: RunArguments, schedule: Schedule, held: Mapping[str, Held]):
        self.place, self.integrator = place, place.integrator
        self.every, self.progress, self.schedule = given.every, given.progress, schedule
        self.acting = wrenches_told(given.wrenches, given.wrench_axes, given.pushes)
        self.keeps_energy = not given.driven
        integrator: Any = place.integrator
        self.plain = place.plain
        self.records: Records
        self.watched: Monitors | None = None
        if self.plain and not integrator.facts.constrained and _asks_little(given, schedule):
            self.records = _begin_plainly(integrator, given, schedule.steps // given.every + 1)
        else:
            self.records, self.watched = _started(integrator, given, schedule)
        self.stages = integrator.keep_stages(schedule.steps) if given.dense else None
        self.between: Between | None = None
        if held or given.pushes:
            self.between = Between(integrator, integrator.t0, held, tuple(given.pushes), given.resume,
                                   schedule.steps)  # fmt: skip

    @property
    def faces(self) -> bool:
        """Whether constraints can have come to hold the wrong way round."""
        integrator: Any = self.integrator
        return integrator.facts.faces if self.plain else bool(integrator.model.constraints)

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
        steps, begun, progress = self.schedule.steps, self.integrator.steps, progress_of(self.progress)
        told = time.perf_counter()

        def tell() -> None:
            nonlocal told
            done = self.integrator.steps - begun
            if progress is not None and (time.perf_counter() - told > CHUNK_SECONDS or done == steps):
                progress(done, steps)
                told = time.perf_counter()

        def take(count: int) -> None:
            take_steps(self.integrator, count, self.records, self.every, begun, self.watched)
            tell()

        def open_step() -> None:
            if self.watched is not None:
                self.watched.begin(self.integrator)

        def end_step() -> None:
            if self.watched is not None:
                self.watched.take_one(self.integrator, self.records, self.every)
            else:
                write_row(self.integrator, self.records, self.every, begun)
            tell()

        between.advance(steps, take, end_step, open_step)

    def outcome(self, more: dict[str, Any]) -> Outcome:
        """Return what the run has come to; ``more`` are settings beside those of its steps."""
        if self.between is not None:
            more = more | self.between.settings()
        more = more | self.acting
        made = Outcome(self.integrator, self.records.trimmed(), self.schedule, self.every, more, self.watched,
                       self.keeps_energy, self.plain)  # fmt: skip
        if self.stages is not None:
            made.stages = self.stages[: len(made.t) - 1]
        return made


def take_steps(integrator: Any, count: int, records: Records, every: int, begun: int, watched: Any = None) -> None:
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


def write_row(integrator: Any, records: Records, every: int, begun: int) -> None:
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


def note_start(integrator: Any, records: Records, k: int) -> None:
    """Note where the step to the record ``k`` began, which is the one just taken."""
    q, before = start_of(integrator.model, core.step_contacts(integrator.stepper)[1])
    records.starts.append((np.array([k]), q, np.column_stack([np.full_like(before, k), before])))


def _started(integrator: Integrator, given: RunArguments, schedule: Schedule) -> tuple[Records, Monitors | None]:
    """Set the integrator's state, plan its steps, and return room for the records and monitors."""
    monitors = monitors_of(given.monitors)
    records = begun(integrator, given, schedule, schedule.steps // given.every)
    # the steps that lead to records begin between them: what touches is known there
    between = given.every > 1 and isinstance(integrator.model, Model) and integrator.model.touches
    return records, Monitors(monitors, integrator, schedule.steps) if monitors or between else None


def begun(integrator: Integrator, given: RunArguments, schedule: Schedule, rows: int) -> Records:
    """Set the integrator's state, plan its steps, and return records of the start with room for more rows.

    A schedule without steps is that of a run whose end nobody knows: rows of inputs and of motion say how long it is.
    """
    model = integrator.model
    t0, done, state = given.t0, 0, None
    integrator.mended = ()
    if given.resume is not None:
        t0, done, state = integrator.resume(given.resume.checkpoint.tobytes())
    q0 = given.q0 if state is None else state[1]
    q0 = model.neutral() if q0 is None else model.validate_configuration(q0, "q0")
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


def _begin_plainly(integrator: Any, given: RunArguments, rows: int) -> Records:
    """Set the state of an integrator without constraints and prescribed motion to (q0, v0), and return records."""
    model, stepper, by_momentum = integrator.model, integrator.stepper, integrator.facts.uses_momentum
    q, v = given.q0, given.v0
    records = Records.room(rows, model.nq, model.nv, 0)
    if not (integrator.facts.bare and core.start_moving(stepper, given.t0, q, v, records, by_momentum)):
        q = model.neutral() if q is None else model.validate_configuration(q, "q0")
        v = model.zero_velocity() if v is None else model.validate_velocity(v, "v0")
        model.require_regular(q)
        q, v = _mended(integrator, q, v, v)
        if not core.start_moving(stepper, given.t0, q, v, records, by_momentum):
            x = model.generalized_momentum(q, v) if by_momentum else v  # or an error that says why there is none
            integrator.start(given.t0, q, x)
            records.t[0], records.q[0], records.x[0] = given.t0, q, x
    return records


def _mended(
    integrator: Any, q: np.ndarray, v: np.ndarray | None, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a start whose small overlaps and open loops are closed, which the integrator keeps a word of.

    Parameters
    ----------
    integrator : Integrator
    q, v : (nq,) and (nv,) arrays
        The start; v is None where it is not given.
    moving : (nv,) array
        The velocity that goes with it [m/s or rad/s].

    Raises
    ------
    InputError
        If what may touch overlaps by more, constraints miss by more, or what rolls slips.
    """
    try:
        return _brought_together(integrator, q, v, moving)
    except InputError as error:
        error.of_start = True
        raise


def _brought_together(
    integrator: Any, q: np.ndarray, v: np.ndarray | None, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """As :func:`_mended`."""
    model = integrator.model
    if not isinstance(model, Model):
        if model.constraints:
            require_consistent(model, q, v)
        return q, v
    if not (model.constraints or model.touches):
        return q, v
    end, integrator.mended, clear = brought_together(model, q, moving, integrator.dt)
    if end is not q and model.constraints and v is not None:
        v = model.project_velocity(end, v)
    if model.constraints:
        require_consistent(model, end, v)
    if model.touches:
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
    if p0 is not None and isinstance(model, Model) and model.touches:
        moving = model.velocities(q0[None], model.validate_velocity(p0, "p0")[None])[0]
    q0, mended = _mended(integrator, q0, v0 if with_v else None, moving)
    if with_v and v0 is not None:
        v0 = mended
    model.require_regular(q0)
    if q1 is not None:
        x0 = integrator.start_between(t0, q0, model.validate_configuration(q1, "q1"))
    else:
        if p0 is not None:
            p0 = model.validate_velocity(p0, "p0")
            v = model.constrained_velocities(q0[None], p0[None], None if v0 is None else v0[None])[0]
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
