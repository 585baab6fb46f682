"""Integrators whose steps are taken in compiled code."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import ClassVar, NamedTuple, cast

import numpy as np

from vitree import _core
from vitree._core import scalar
from vitree.arguments import Keywords, entries, real, shown, whole
from vitree.errors import CallableError, ConvergenceError, InputError, ModelError
from vitree.integrators.base import (
    CHECKPOINT,
    CHUNK_SECONDS,
    Integrator,
    Kept,
    Monitors,
    Records,
    Torque,
    checkpoint_of,
    damaged,
    part_of,
    progress_of,
    steps_of,
    torque_of,
)
from vitree.integrators.options import HALVE, LONGER
from vitree.mechanism.unilateral import OF_JOINTS
from vitree.model.broadcasting import coincident
from vitree.model.candidates import named_side
from vitree.model.changes import contacts_kept
from vitree.model.closures import dependent
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.user_inputs import resolve_inputs

#: Status of the compiled steppers for an exception in a user's callable, and for dependent constraints.
CALLBACK_FAILED, DEPENDENT, NOT_CONVERGED = (
    scalar().STATUS[name] for name in ("callback failed", "dependent", "not converged")
)
#: Numbers up to this have no product of a few that is infinite: a model of such numbers, and states of it.
ORDINARY = 1e25
#: Most steps before the first look, and between two looks of a run that is held.
FIRST_CHUNK, MOST_AT_ONCE = 16, 64
#: Most steps between two looks where every step is monitored.
CHUNK_STEPS = 1024
#: What happened to contacts by ``contact_fault`` of a stepper, with names of two, their gap [m], and what is off.
_OF_CONTACTS = {
    "solve": "the contact of {a} and {b} is not solved (gap {gap:.3g} m, off by {off:.3g} m/s)",
    "overlap": "{a} and {b} overlap by {off:.3g} m where the step ends, and no contact of their features at its start "
               "keeps them apart",
    "turn": "the normal of the contact of {a} and {b} turns so far within the step that its impulse would raise the "
            "kinetic energy (gap {gap:.3g} m)",
    "energy": "the impulses found multiply the kinetic energy; the contact of {a} and {b} is farthest from its laws "
              "(gap {gap:.3g} m, off by {off:.3g} m/s)",
    "join": "each trial of the step closes further contacts; the last is that of {a} and {b}, {off:.3g} m beyond its "
            "bound",
}  # fmt: skip


class Facts(NamedTuple):
    """What is the same of all runs by an integrator; ``mark``: how checkpoints begin."""

    name: str
    uses_momentum: bool
    settings: Keywords
    chosen: Keywords
    mark: bytes
    constrained: bool
    faces: bool  # constraints can be closed the wrong way round
    bare: bool  # every (q, v) is a state, if quaternions have unit length: no constraints or singular configurations
    ordinary: bool  # no energy is infinite where no number of a state is beyond ORDINARY


def reusable(kind: type[CompiledIntegrator]) -> type[CompiledIntegrator]:
    """Say that integrators of a class, not those of its subclasses, may serve one run after another."""
    kind.reusable = kind
    return kind



#: Scratch memory that steppers of integrators which are created in this context share.
SCRATCH: ContextVar[object | None] = ContextVar("scratch", default=None)


class CompiledIntegrator(Integrator):
    """An integrator whose steps are taken by a stepper of the compiled core."""

    #: the class itself, if it is reusable
    reusable: ClassVar[type[CompiledIntegrator] | None] = None
    stepper: _core.Stepper
    #: multipliers where the steps behind records start, if a run keeps them
    _pushes: np.ndarray | None = None
    #: where in a step the stepper asks for prescribed motion, as shares of it
    moments: Sequence[float] | np.ndarray = (0.0, 0.5)
    #: whether a step is solved in passes, to a tolerance
    iterates: bool = False
    #: what the error of a failed step names in place of a smaller step, and what beside it
    remedy: str = ""
    beside: str = ""

    def _make(self, kind: str, **options: object) -> _core.Stepper:
        more = {**self._driven(), **options}
        return scalar().ModelStepper(self.model.core, self.dt, self.torque, method=kind, scratch=SCRATCH.get(), **more)

    def serve(self, model: System, torque: Torque, inputs: object) -> None:
        """Serve another run after :meth:`rest`, with a torque and inputs of the same kinds."""
        self.model = model
        if torque is not None or inputs is not None:
            self.torque, self.inputs = torque_of(model, torque), resolve_inputs(model, inputs)
            self.stepper.drive(self.inputs, self.torque)

    def rest(self) -> None:
        """Let go of a run, and of its model."""
        self.model = self.torque = self.inputs = self._pushes = None
        self.commanded = False
        self.stepper.release()

    def plan(self, q0: np.ndarray, steps: int, ends: Callable[[], np.ndarray]) -> None:
        super().plan(q0, steps, ends)
        if self.motion.names:
            self.stepper.set_motion(self.motion.rows(self.moments))

    def plan_ahead(self, steps: int) -> None:
        super().plan_ahead(steps)
        if not self.motion.names:
            return
        self.stepper.count_from(self.steps)
        self.stepper.set_motion(self.motion.rows(self.moments))

    def vary(self, spans: np.ndarray, ends: np.ndarray) -> None:
        self.stepper.set_steps(spans, ends)

    def checkpoint(self) -> bytes:
        return checkpoint_of(self._mark(), self.stepper.history())

    @functools.cached_property
    def facts(self) -> Facts:
        """All that does not change from run to run."""
        model = self.model
        return Facts(
            self.name, self.uses_momentum, self.settings, self.chosen, self._mark(), bool(model.constraints),
            faces=any(getattr(each, "facing", None) is not None for each in model.constraints),
            bare=not model.constraints and model._regular and not getattr(model, "has_contact", False),
            ordinary=not model.loads and model._largest_number <= ORDINARY,
        )  # fmt: skip

    def _mark(self) -> bytes:
        return f"{CHECKPOINT} {type(self.stepper).__name__} ".encode()

    def resume(self, checkpoint: bytes) -> tuple[float, int, tuple[float, np.ndarray, np.ndarray]]:
        try:
            self.stepper.set_history(self._history(checkpoint))
        except ValueError as error:
            raise self._not_resumed(error) from None
        return self.stepper.t0, self.stepper.steps, self.stepper.state()

    def _field(self) -> _core.Field:
        return self.stepper

    @property
    def t(self) -> float:
        return self.stepper.t

    @property
    def t0(self) -> float:
        return self.stepper.t0

    @property
    def halved(self) -> int:
        return getattr(self.stepper, "halved", 0)

    @property
    def halved_between(self) -> tuple[float, float] | None:
        return getattr(self.stepper, "halved_between", None)

    @property
    def inexact_contacts(self) -> tuple[int, float, float, float] | None:
        return getattr(self.stepper, "inexact_contacts", None)

    @property
    def inner_states(self) -> np.ndarray:
        return self.stepper.inner_states if hasattr(self.stepper, "inner_states") else super().inner_states

    @property
    def most_asked_power(self) -> float | None:
        return getattr(self.stepper, "most_asked_power", None)

    @property
    def underresolved(self) -> tuple[float, float] | None:
        return getattr(self.stepper, "underresolved", None)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.stepper.state()[1:]

    def look(self) -> tuple[float, np.ndarray, np.ndarray]:
        return self.stepper.look(self.uses_momentum) or super().look()

    def pushed(self, row: int) -> np.ndarray:
        if not self.touches_here:
            return super().pushed(row)
        found = self.stepper.pushed_here()
        found[:, 0] = row
        return found

    def drove(self, row: int) -> np.ndarray:
        """Return what drove the step just taken, as the stepper's ``take_drive`` has it, for a row of records."""
        found = self.stepper.drive_here()
        found[:, 0] = row
        return found

    def command(self, torque: np.ndarray | None, inputs: np.ndarray | None) -> None:
        if not self.stepper.command(torque, inputs):
            super().command(torque, inputs)

    def advance(self, steps: int) -> None:
        steps = steps if type(steps) is int and steps > 0 else steps_of(steps)
        while steps > 0:
            count = steps if steps < MOST_AT_ONCE else MOST_AT_ONCE
            if status := self.stepper.go(count, None, None):
                raise self._stopped(status)
            steps -= count

    def advance_part(self, h: float, last: bool) -> None:
        if self.adaptive or self.motion.names:
            super().advance_part(h, last)
        if status := self.stepper.go_part(part_of(h, self.dt), bool(last)):
            raise self._stopped(status)

    def strike(self, x: np.ndarray) -> None:
        self.stepper.strike(entries(x, (self.model.nv,), "x"))

    def step(self, t: float, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state, q (nq,) [m or rad] and x (nv,), at t + ``dt``, of a run that begins at t.

        The integrator's own run is not changed, and the step does not know what a past step has left, such as which
        contacts acted.

        Raises
        ------
        ConvergenceError, CallableError, InputError
            If the step fails, or steps are adaptive or of a model with prescribed coordinates.
        """
        if self.adaptive or self.motion.names:
            what = "adaptive steps" if self.adaptive else "prescribed coordinates"
            raise InputError(f"the method {self.name} has no step(t, q, x) with {what}; use vt.Simulation")
        kept = self.keep()
        try:
            self.start(t, q, x)
            self.advance(1)
            _, q2, x2 = self.stepper.state()
        finally:
            self.go_back(kept)
        return q2, x2

    def renew(self) -> None:
        self.stepper.clear()

    def keep(self) -> tuple[object, ...]:
        return self.stepper.begun, self.stepper.history()

    def go_back(self, kept: Kept) -> None:
        try:
            begun, history = kept
            if whole(begun) is None or not 0 <= begun < 2**53:
                raise ValueError("it begins at no step")
            before = self.stepper.history()
            self.stepper.set_history(history)
            if begun > self.stepper.steps:
                self.stepper.set_history(before)
                raise ValueError("it begins after its last step")
        except (TypeError, ValueError) as error:
            raise damaged(error) from None
        self.stepper.count_from(begun)

    def take_over(self, other: Integrator, q: np.ndarray, x: np.ndarray, fresh: np.ndarray) -> None:
        stepper = cast("CompiledIntegrator", other).stepper
        plain, pairs = contacts_kept(other.model, self.model, fresh)
        q, x = np.ascontiguousarray(q), np.ascontiguousarray(x)
        self.stepper.take_over(stepper, q, x, plain, pairs, bool(fresh.any()))

    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        q, x = entries(q, (self.model.nq,), "q"), entries(x, (self.model.nv,), "x")
        self.stepper.set_state(float(t), q, x)

    def run(self, records: Records, steps: int | float, every: int, progress: Callable[[int, int], object] | None,
            monitors: Monitors | None = None) -> None:  # fmt: skip
        adaptive = self.adaptive
        if type(steps) is type(every) is int and 0 < steps <= FIRST_CHUNK and every > 0 and not adaptive:
            plain = self.uses_momentum or not self.model.constraints
            if progress is None and monitors is None and plain and not self.touches_here:
                self.keep_logs()
                began = time.perf_counter()
                status = self.stepper.run(steps, every, records)
                records.seconds += time.perf_counter() - began
                self.take_logs(records)
                if status:
                    raise self._stopped(status)
                return
        done, chunk, begun, progress = 0, FIRST_CHUNK, self.stepper.steps, progress_of(progress)
        given = real(steps) if adaptive else whole(steps)
        if given is None or not given >= 0 or (whole(every) or 0) < 1:
            raise InputError(f"{shown(steps)} steps, every {shown(every)}: give whole numbers, every at least 1")
        until, goal, t0 = (float(given), CHUNK_STEPS, self.stepper.t) if adaptive else (None, int(given), 0.0)
        if until is not None:
            self.stepper.set_end(until)
        asked = self.commanded or callable(self.torque) or callable(self.inputs)
        if asked and not self.uses_momentum and self.model.constraints and self._pushes is None:
            self._pushes = np.full_like(records.multipliers, np.nan)
            self.stepper.keep_pushes(self._pushes, every)
        every_state = records if monitors is None else monitors.rows_for(self, records, CHUNK_STEPS)
        self.keep_logs()
        while done < goal:
            count = min(chunk, goal - done, CHUNK_STEPS if monitors else goal)
            if until is not None:
                records.grow(records.rows + count // every + 1)
            if monitors:
                every_state.rows = 0
                self.stepper.watch(monitors.watched)
            began = time.perf_counter()
            before = self.stepper.steps
            status = self.stepper.run(count, 1 if monitors else every, every_state, every if monitors else 1, True)
            took = time.perf_counter() - began
            count = max(self.stepper.steps - before, 1)  # fewer than asked for where they take long
            records.seconds += took
            self.take_logs(every_state)
            if monitors:
                monitors.take(self, every_state, records, every)
            if status:
                raise self._stopped(status)
            done = self.stepper.steps - begun
            if until is not None:
                # as many more as the time left takes at the mean step so far
                left = (until - t0) / (self.stepper.t - t0) * done
                goal = done if self.stepper.arrived else max(int(np.ceil(left)), done + every)
            chunk = int(min(max(CHUNK_SECONDS / max(took / count, 1e-9), 1), 2 * chunk))
            if progress is not None:
                progress(done, goal)

    def keep_logs(self) -> None:
        """Let the stepper keep what touches and what drives recorded steps, where a run is to know it."""
        if self.touches_here:
            self.stepper.log_contacts(True)
        if self.drive_varies:
            self.stepper.log_drive(True)

    def take_logs(self, records: Records) -> None:
        """Give the records what the stepper kept since it was last asked."""
        if self.touches_here:
            records.touched.append(self.stepper.take_contacts())
        if self.drive_varies:
            records.driven.append(self.stepper.take_drive())

    def parts(self) -> tuple[np.ndarray, np.ndarray] | None:
        return self.stepper.take_parts() if self.touches_here else None

    @property
    def touches_here(self) -> bool:
        """Whether there is anything that may touch."""
        contacts = getattr(self.stepper, "contacts", None)
        return contacts is not None and contacts.count > 0

    def velocities(self, t: np.ndarray, q: np.ndarray, x: np.ndarray, contacts: np.ndarray | None = None) -> np.ndarray:
        v = super().velocities(t, q, x)
        if contacts is not None and len(contacts):
            v = np.array(v)
            # a second stepper, since the run continues with the first
            model = self.model
            beside = scalar().ModelStepper(model.core, self.dt, method="linear-time", contacts=model.contact_list,
                                           constraints=model.constraint_list, user=model.written)  # fmt: skip
            first = np.flatnonzero(t == self.stepper.first)
            beside.post_contact_velocities(np.ascontiguousarray(q), np.ascontiguousarray(contacts), v, self.at_end,
                                     int(first[0]) if len(first) else -1)  # fmt: skip
        return v

    def _found_multipliers(self, records: Records) -> np.ndarray:
        return super()._found_multipliers(records) if self._pushes is None else self._pushes[: len(records.t)]

    def _stopped(self, status: int) -> BaseException:
        """Return the error of a step that failed, or of the function that was called in it."""
        if status != CALLBACK_FAILED:
            return self._failure(status)
        error = self.stepper.exception
        if isinstance(error, CallableError):
            error.within(f"{self.name}: in step {self.stepper.steps + 1} from", self.stepper.t)
        return error

    def _failure(self, status: int) -> ConvergenceError:
        stepper = self.stepper
        tolerance = getattr(stepper, "tolerance", None)
        numbers = (
            f" (residual {stepper.error:.3g} after {stepper.iterations} iterations, "
            f"tolerance {tolerance:.3g} of the momentum)" if tolerance is not None else ""
        )  # fmt: skip
        return ConvergenceError(
            f"{self.name}: step {stepper.steps + 1} at t = {stepper.t:.9g} s, dt = {stepper.h:g} s: "
            f"{self._reason(status)}{numbers}; " + self._remedy(status),
            time=stepper.t, residual=stepper.error, iterations=stepper.iterations,
        )  # fmt: skip

    def _reason(self, status: int) -> str:
        """Return why a step failed: which frames coincide, or which constraints depend on each other, at its start."""
        text, model, q = scalar().STATUS_TEXT[status], self.model, self.stepper.state()[1]
        if isinstance(model, Model) and (found := coincident(model, q)):
            return f"{text} ({found[0]})"
        if (k := getattr(self.stepper, "worst_contact", -1)) >= 0:
            (a, b), (speed, gap) = model._contact_names[k], self.stepper.worst_residual
            if b == "dry friction":
                return f'the dry friction of the joint "{a}" is not solved (off by {speed:.3g} m/s or rad/s)'
            a, b = f'"{a}"', named_side(b)
            return _OF_CONTACTS[self.stepper.contact_fault].format(a=a, b=b, gap=gap, off=speed)
        if status != DEPENDENT:
            return text
        if not model.constraints:
            return "the equations of the step are singular"
        _, Dh = model._constraint_rows(q[None])
        names = [model.constraints[k].name for k in dependent(Dh[0][:, ~model.flat.kinematic])]
        return f"{text} ({'; '.join(names)})" if names else f"{text} (not at the start of the step, but within it)"

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        """Return what to do about a failed step; ``share`` is how many times too long it is known to be.

        A smaller step does not help where the mass matrix is singular, nor do more iterations where contacts fail, or
        where the solver did not stop for want of them.
        """
        try:
            self.model.require_invertible_mass_matrix(self.stepper.state()[1])
        except ModelError as error:
            return str(error)
        halve = HALVE + (f" {math.ceil(math.log2(share))} times" if 2.0 < share < math.inf else "")
        if (k := getattr(self.stepper, "worst_contact", -1)) >= 0:
            _, b = self.model._contact_names[k]
            looser = ", or give a looser tolerance=" if self.iterates else ""
            return halve + looser + (
                "" if b in OF_JOINTS else ", or let it yield: give stiffness= and damping= to the contact"
            )
        return self.remedy or halve + (LONGER if self.iterates and status == NOT_CONVERGED else "") + self.beside

    @property
    def steps(self) -> int:
        return self.stepper.steps

    @property
    def total_iterations(self) -> int:
        return self.stepper.total_iterations

    @property
    def most_iterations(self) -> int:
        return self.stepper.most_iterations
