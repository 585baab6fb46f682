"""Simulation: a run that a person holds, and advances by steps."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree import _core
from vitree.arguments import JsonObject, Keywords, entries, of_kind, shown, told, whole
from vitree.errors import AT_WORK, InputError, UnknownNameError, VitreeError
from vitree.integrators.base import Integrator, Kept, Records, Torque
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.idle import wrenches_of
from vitree.mechanism.contacts import Friction, Ground
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.changes import (
    Change,
    after_changes,
    attached,
    changed,
    changes_of,
    gains_of,
    ground_values,
    held_by,
    moved_by,
    welded,
    whole_trees,
)
from vitree.model.closures import DependentConstraintsError, require_consistent, without_implied
from vitree.model.configurations import OVERLAP, require_clear
from vitree.model.frictions import friction_by_frames
from vitree.model.model import Model, ReducedModel
from vitree.model.system import System
from vitree.model.variants import Gains
from vitree.results.contacts import ContactLog
from vitree.results.plain import plain
from vitree.run.arguments import (
    RunArguments,
    Schedule,
    as_before,
    checked,
    driven,
    model_at_end,
    require_efforts,
    require_moving_frame,
    require_times,
)
from vitree.run.bodies import BodyState
from vitree.run.controller import Control, Controller, HeldRows, Targets, inputs_beside, parts_of
from vitree.run.joined import joined
from vitree.run.outcome import Outcome, wrenches_told
from vitree.run.runner import ORIGIN, Between, begun, note_start, write_row
from vitree.run.simulate import contracted, expanded
from vitree.run.trajectory import Trajectory
from vitree.run.views import Views

#: What shows simulations, by names; the package enters it, since viewers stand above.
VIEWS: dict[str, Callable[..., Any]] = {}
#: Rows of the first records.
ROOM = 64


@dataclass(frozen=True, eq=False, repr=False)
class SavedState:
    """All that the next steps of a :class:`Simulation` depend on; :meth:`Simulation.restore` takes it.

    It can be pickled. Records are not in it, nor what the functions of a controller remember.

    Attributes
    ----------
    t : float [s]
    of : tuple
        What the simulation must be that goes on from it: digest of the model, method, dt, options.
    kept, between : object
        Of the integrator, and of controllers and pushes.
    torque : (nv,) array [N or N m]
    inputs : (nu,) array [units as the loads take them]
    changes : tuple of Change
        What had been changed since the start.
    """

    t: float
    of: tuple[object, ...]
    kept: Kept
    torque: np.ndarray
    inputs: np.ndarray
    between: Kept
    changes: tuple[Change, ...] = ()

    def __repr__(self) -> str:
        return f"<vitree.SavedState at t = {self.t:.9g} s>"


P = ParamSpec("P")
R = TypeVar("R")


def alone(method: Callable[Concatenate[Simulation, P], R]) -> Callable[Concatenate[Simulation, P], R]:
    """A method of a simulation that only one thread at a time is in; another one gets an error.

    Those that a compiled stepper does alone are not among them: the stepper says the same.
    """

    @functools.wraps(method)
    def called(self: Simulation, /, *arguments: P.args, **more: P.kwargs) -> R:
        if not self._turn.acquire(blocking=False):
            raise VitreeError(AT_WORK)
        try:
            return method(self, *arguments, **more)
        finally:
            self._turn.release()

    return called


#: Inputs or targets of a step: an array, or numbers by names.
StepSignal = ArrayLike | Mapping[str, ArrayLike] | None
#: Types of what a step is given, which need no further look here.
_NUMBERS = frozenset((type(None), np.ndarray, dict, list, tuple))


def _of_step(control: object) -> tuple[ArrayLike | None, StepSignal, StepSignal]:
    """Return torque, inputs and targets of what a step is given."""
    if type(control) is Control and control.prescribed is None and control.effort_limits is False:
        given = control.torque, control.inputs, control.targets
        if _NUMBERS.issuperset(map(type, given)):
            return cast("tuple[ArrayLike | None, StepSignal, StepSignal]", given)
    parts = parts_of(control)
    for name in ("torque", "inputs", "targets"):
        if callable(parts[name]) or isinstance(parts[name], Controller):
            raise InputError(
                name, parts[name], "of a step must be numbers; give a callable where the Simulation is made"
            )
    for name in ("prescribed", "effort_limits"):
        if parts[name]:
            raise InputError(name, parts[name], "belongs to the whole run; give it where the Simulation is made")
    return parts["torque"], parts["inputs"], parts["targets"]


_ANOTHER = "make another Simulation, from its state: vt.Simulation(model, sim.q, p0=sim.p, dt=..., method=...)"
_STATE = "reset() takes another start, and push() changes the velocity"
#: What is to be done instead of assigning to the attributes of a Simulation.
_FIXED = {
    "model": _ANOTHER, "method": _ANOTHER, "dt": _ANOTHER, "t": "reset() and restore() set it",
    "steps": "step() advances", "q": _STATE, "v": _STATE, "p": _STATE, "energy": _STATE,
    "torque": "write into it, sim.torque[:] = ..., or give step(control=)",
    "inputs": "write into it, sim.inputs[:] = ..., or give step(control=vt.Control(inputs=))",
    "trajectory": "record() adds the state to it",
}  # fmt: skip


class Simulation:
    """A run in steps: it has a state, which :meth:`step` advances.

    Parameters
    ----------
    model : Model, or another System
    q0, v0, p0 : arrays, optional
        The start, as of :func:`vitree.simulate`.
    dt : float [s]
        The step; with the option adapt the step at rest.
    method : str, optional
        A name of ``model.methods``.
    t0 : float [s]
    control : optional
        As of :func:`vitree.simulate`: arrays act until others are given, callables are called in each step, and a
        :class:`vitree.Controller` at its sampling times.
    wrenches : sequence of ExternalWrench and Impulse
        As of :func:`vitree.simulate`. Those that are over before ``t0`` are refused.
    record_every : int
        Record the start and each n-th step; 0: only what :meth:`record` records.
    resume : Trajectory, optional
        Go on from the end of this run instead, bit for bit as if it had not stopped.
    **options
        Of the method.

    Attributes
    ----------
    model : System
    method : str
    dt : float [s]

    Raises
    ------
    InputError, UnknownNameError, ModelError
        If an argument is wrong; the text says which, and what is accepted.

    Notes
    -----
    ``q``, ``v``, ``p``, ``gaps``, ``torque`` and ``inputs`` are always the same array objects, updated in
    place. The first four cannot be written to. Those that a method does not step are worked out
    when they are asked for: ``v`` and ``p`` of an earlier step have the earlier numbers until then.
    """

    def __init__(
        self,
        model: System,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        *,
        dt: float | None = None,
        method: str | None = None,
        p0: ArrayLike | None = None,
        t0: float = 0.0,
        control: Control | Controller | Torque = None,
        wrenches: Iterable[ExternalWrench | Impulse] = (),
        record_every: int = 0,
        resume: Trajectory | None = None,
        **options: object,
    ):
        if isinstance(resume, Trajectory):
            model = model_at_end(resume, model)
        given = RunArguments(
            q0=q0, v0=v0, p0=p0, dt=dt, method=method, t0=t0, **parts_of(control), wrenches=wrenches,
            resume=resume, options=options,
        )  # fmt: skip
        kind, given = checked(model, given)
        self._turn = threading.RLock()
        #: what was changed before this simulation began, and the model there
        self._before, self._first = (changes_of(resume.settings) if isinstance(resume, Trajectory) else ()), model
        self._model: System = model
        self._reduced = model if type(model) is not Model and isinstance(model, ReducedModel) else None
        if self._reduced is not None:
            given = expanded(self._reduced, given)
        full = model.full
        if resume is not None:
            given = as_before(full, given)
            kind = full.methods[str(given.method)]
        self._schedule = schedule = Schedule.one(given.dt, kind.adapts(given.options))
        require_times(given.t0, given.t0, schedule.dt)
        self._every = _every(record_every)
        if given.effort_limits:
            require_efforts(full, given.effort_limits)
            if given.torque is None:  # that of later steps is cut
                given = given.but(torque=np.zeros(full.nv))
        given, held, self._limited = driven(full, given, schedule)
        self._method, self._dt, self._kind = kind.name, schedule.dt, kind
        self._given = given
        self._integrator: Integrator = self._made_for(full)
        integrator = self._integrator
        self._held = held
        self._targets: Targets | None = None
        rows = isinstance(integrator.inputs, np.ndarray) and integrator.inputs.ndim == 2
        #: whether a step takes a torque, and inputs
        self._free = (
            "torque" not in held and not callable(integrator.torque),
            "inputs" not in held and not callable(integrator.inputs) and not rows,
        )
        self._views = Views(integrator, model, self._limited is not None or bool(held))
        #: the integrator of the first model, and its views
        self._home = integrator, self._views
        self._changes: tuple[Change, ...] = ()
        #: records before the last change
        self._parts: list[Trajectory] = []
        try:
            self._start(given)
        except DependentConstraintsError as error:
            lean = without_implied(model, error.q)
            if lean is None:
                raise
            Simulation.__init__(self, lean, q0, v0, dt=dt, method=method, p0=p0, t0=t0, control=control,
                                wrenches=wrenches, record_every=record_every, resume=resume, **options)  # fmt: skip

    def _made_for(self, full: System) -> Integrator:
        """Return an integrator as the arguments ask for, of a model with a coordinate for each joint."""
        given = self._given
        made: Integrator = self._kind(full, self._dt, torque=cast("Torque", given.torque), inputs=given.inputs,
                                      prescribed=given.prescribed, **wrenches_of(given), **given.options)  # fmt: skip
        made.commanded = True
        return made

    # ---- a start ---------------------------------------------------------------------------------------

    def _start(self, given: RunArguments) -> None:
        """Set the state and all that depends on it."""
        self._integrator, self._views = self._home
        integrator = self._integrator
        self._model, self._changes, self._parts = self._first, (), []
        integrator.renew()
        self._records: Records = begun(integrator, given, self._schedule, 0)
        self._count = 0
        rows = [len(one.rows) for one in self._held.values() if isinstance(one, HeldRows)]
        self._most = min([*rows, *[most for most in (integrator.lasts(),) if most is not None]], default=None)
        self._first_step = integrator.steps
        self._windowed = bool(integrator.motion.names) and self._most is None
        self._between = Between(integrator, integrator.t0, self._held, tuple(given.pushes), given.resume)
        self._touching = bool(getattr(integrator, "touches_here", False))
        #: steps of the state that was set or restored
        self._restored = integrator.steps
        #: those given by hand
        self._impulses: list[Impulse] = []
        self._views.forget()
        self._act_at_first()
        if self._every:
            self.record()
        plain = (
            self._limited is None and not self._between.busy
            and not self._every and self._most is None and not self._windowed
            and type(integrator).checked_torque is Integrator.checked_torque
        )  # fmt: skip
        #: the compiled stepper, if it alone can take steps
        self._plain = self._if_plain = self._views.stepper if plain else None
        #: the same of a model that was changed
        self._beside: _core.Stepper | None = None

    def _act_at_first(self) -> None:
        """Let act what did when the simulation was made."""
        integrator, tau = self._integrator, self._integrator.torque
        torque, inputs, (asked, rowed) = self._views.torque, self._views.inputs, self._free
        torque[:], inputs[:] = 0.0, 0.0
        if asked and isinstance(tau, np.ndarray):
            torque[:] = tau if self._reduced is None else self._reduced.contract_force(tau)
        if rowed and isinstance(integrator.inputs, np.ndarray):
            inputs[:] = integrator.inputs

    # ---- the state -------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name in _FIXED:
            raise InputError(f"{name} of a Simulation cannot be assigned; {_FIXED[name]}")
        if not name.startswith("_") and type(self) is Simulation:
            raise UnknownNameError("attribute of a Simulation", name, [*_FIXED])
        object.__setattr__(self, name, value)

    @property
    def model(self) -> System:
        """What is simulated."""
        return self._model

    @property
    def method(self) -> str:
        """The name of the method."""
        return self._method

    @property
    def dt(self) -> float:
        """The step [s]; with the option adapt the step at rest."""
        return self._dt

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._integrator.t

    @property
    def steps(self) -> int:
        """Steps since the start."""
        return self._integrator.steps

    @property
    def q(self) -> np.ndarray:
        """Configuration (nq,) [m or rad]."""
        return self._views.q

    @property
    def v(self) -> np.ndarray:
        """Velocity (nv,) [m/s or rad/s]."""
        return self._views.v

    @property
    def p(self) -> np.ndarray:
        """Momentum (nv,) [kg m/s or kg m^2/s]."""
        return self._views.p

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        kinetic, potential = self.model._energies(self.q[None], self.v[None])[0, :2]
        return float(kinetic + potential)

    @property
    def contacts(self) -> ContactLog | None:
        """The contacts that pushed in the step just taken; none before the first step. None if nothing may touch.

        They are those of a record of it: names ``a`` and ``b``, impulses, forces, slips, gaps, points and normals
        (:class:`vitree.results.contacts.ContactLog`); ``record`` is zero. Each call returns another object, which keeps
        its numbers. Points and normals are worked out when they are asked for.
        """
        touched = self._views.touched
        return None if touched is None else touched.contacts()

    @property
    def gaps(self) -> np.ndarray:
        """The gaps (n,) [m] of the state; negative in penetration.

        ``contacts.names[:n]`` are their names: points on each surface of the ground, then spheres against spheres,
        capsules and boxes, then other pairs. These have eight rows each, one for each point at which the two may touch:
        the first is the gap, and the others are infinite. It is always the same array, which cannot be written to.
        """
        return self._views.gaps

    def contact_wrench(self, *names: str, about: ArrayLike | str = ORIGIN) -> np.ndarray:
        """Return the wrench (torque, force) of contacts on frames in the step just taken, (6,) [N m, N]; world axes.

        Zeros before the first step. It is that of :meth:`vitree.Trajectory.contact_wrench` at a record of the step, to
        rounding errors.

        Parameters
        ----------
        *names : str
            Frames that may touch; forces between them cancel. Without names all, and then only contacts with the
            ground count.
        about : (3,) array [m], or str
            The point for the torque: in the world, or the origin of a frame where the step began.

        Raises
        ------
        InputError
            If nothing may touch, or ``about`` is no point.
        UnknownNameError
            If a frame is not known, or may not touch.
        """
        touched = self._views.touched
        if touched is None:
            raise InputError(f'nothing of "{self.model.name}" may touch: give it contacts and a ground')
        return touched.wrench(names, about)

    @property
    def torque(self) -> np.ndarray:
        """Joint forces (nv,) [N or N m] that act from the state on; write to it, or give others to :meth:`step`."""
        return self._views.torque

    @property
    def inputs(self) -> np.ndarray:
        """Inputs (nu,) [units as the loads take them] that act from the state on, of ``model.input_names``."""
        return self._views.inputs

    def __repr__(self) -> str:
        return f"<vitree.Simulation of {self.model.name!r} by {self.method}: t = {self.t:g} s, dt = {self.dt:g} s>"

    # ---- steps -----------------------------------------------------------------------------------------

    def step(self, steps: int = 1, control: Control | ArrayLike | None = None) -> None:
        """Advance.

        Parameters
        ----------
        steps : int
        control : (nv,) array, or Control, optional
            Joint forces [N or N m], or a :class:`vitree.Control` of torque (nv,), inputs (nu,) and targets (n,), or
            mappings of numbers, which change those that they name. It acts from here on, in these steps and later ones;
            what is not given stays as it is.

        Raises
        ------
        InputError
            If an argument is wrong, or a row of inputs or motion is missing; nothing is done then.
        ConvergenceError, CallableError
            If a step fails. The state is that before the failed step; the attribute ``trajectory`` has the records.
        """
        if control is None or type(control) is np.ndarray:
            torque: ArrayLike | None = control
            inputs: StepSignal = None
            targets: StepSignal = None
        else:
            torque, inputs, targets = _of_step(control)
        if self._plain is not None and (targets is None or inputs is None):
            given = inputs
            if targets is not None:
                given = (self._targets or self._plan(targets)).quickly(targets, self._views.inputs)
            status = self._plain.go(steps, torque, given)
            if not status:
                return
            if status > 0:
                raise self._stopped_by(status)
        elif self._beside is not None and torque is None and (targets is None or inputs is None):
            # the stepper of a changed model has arrays of its own
            views = self._views
            given = inputs if targets is None else (self._targets or self._plan(targets)).quickly(targets, views.inputs)
            asked, rowed = self._free
            status = self._beside.go(steps, views.torque if asked else None,
                                     given if given is not None else views.inputs if rowed else None)
            if not status:
                if given is not None:
                    views.inputs[:] = np.asarray(given)
                views.show()
                return
            if status > 0:
                raise self._stopped_by(status)
        self._step(steps, torque, inputs, targets)

    def _stopped_by(self, status: int) -> VitreeError:
        """Return the error of a step that ended with a status."""
        return cast("VitreeError", self._told(cast("CompiledIntegrator", self._integrator)._stopped(status)))

    def _plan(self, targets: StepSignal) -> Targets:
        """Return where targets go; it is looked up once."""
        if self._targets is None:
            self._targets = Targets(self.model, targets)
        return self._targets

    @alone
    def _step(self, steps: object, torque: ArrayLike | None, inputs: StepSignal, targets: StepSignal) -> None:
        """Advance, after all arguments are checked."""
        count = whole(steps)
        if count is None or not 1 <= count < 2**53:
            hint = "; joint torques are given as control=" if isinstance(steps, np.ndarray | list | tuple) else ""
            raise InputError("steps", steps, "must be a whole number of steps, at least 1" + hint)
        self._require_free("torque", torque, self._free[0])
        self._require_free("inputs", inputs, self._free[1])
        self._require_free("targets", targets, self._free[1])
        tau = None if torque is None else self.model.validate_velocity(torque, "torque")
        plan = None if targets is None else self._plan(targets)
        if plan is not None and inputs is not None:
            inputs = inputs_beside(plan, targets, inputs)
        u = None if inputs is None else self._inputs_of(inputs)
        if plan is not None:
            u = plan.over(targets, self._views.inputs if u is None else u)
        integrator = self._integrator
        if self._most is not None and integrator.steps - self._first_step + count > self._most:
            raise InputError(
                f"{count} steps are asked for after {integrator.steps - self._first_step}, and the rows of the control "
                f"end after {self._most}"
            )
        if self._free[0]:
            integrator.checked_torque(self._views.torque if tau is None else tau)
        for name, given, array in (("torque", tau, self._views.torque), ("inputs", u, self._views.inputs)):
            if not np.isfinite(array if given is None else given).all():
                raise InputError(name, array, f"that act are {shown(array)}; they must be finite")
        if tau is not None:
            self._views.torque[:] = tau
        if u is not None:
            self._views.inputs[:] = u
        self._command()
        try:
            if self._between.busy:
                self._between.advance(count, self._take, self._note)
            else:
                self._take(count)
        except (Exception, KeyboardInterrupt) as stop:
            self._told(stop)
            raise
        finally:
            self._views.show()

    def _require_free(self, name: str, given: object, free: bool) -> None:
        """Raise an InputError if a step is given what a callable, a controller or rows say."""
        if given is not None and not free:
            raise InputError(
                name, given,
                "of a step cannot be given: the simulation was made with a callable, a Controller or rows of them"
            )

    def _inputs_of(self, inputs: object) -> np.ndarray:
        names = self.model.input_names
        if isinstance(inputs, Mapping):
            found = self._views.inputs.copy()
            for name, value in inputs.items():
                if name not in names:
                    raise UnknownNameError("input", name, names, argument="inputs")
                found[names.index(name)] = float(entries(value, (), f'inputs["{name}"]'))
            return found
        return entries(inputs, (len(names),), "inputs")

    def _command(self) -> None:
        """Let the arrays act where the stepper has its own arrays."""
        if not self._views.own_drive or self._held:
            return
        tau: np.ndarray | None = None
        if self._free[0]:
            tau = self._views.torque
            if self._reduced is not None:
                tau = self._reduced._embed(tau)
            if self._limited is not None:
                tau = self._limited.cut_to(tau)
        self._integrator.command(tau, self._views.inputs if self._free[1] else None)

    def _take(self, count: int) -> None:
        """Take steps, and record those that are to be recorded."""
        integrator = self._integrator
        if self._windowed:
            integrator.plan_ahead(count)
        self._views.forget()
        if not self._every:
            integrator.advance(count)
            return
        while count > 0:
            many = min(count, self._every - (integrator.steps - self._first_step) % self._every)
            integrator.advance(many)
            self._note()
            count -= many

    def _note(self) -> None:
        """Record the state, if its step is to be recorded."""
        self._views.forget()
        if self._every and (self._integrator.steps - self._first_step) % self._every == 0:
            self.record()

    def _told(self, error: BaseException) -> BaseException:
        """Return an error with the records so far."""
        if self._count or self._parts:
            with contextlib.suppress(Exception):  # the error that stopped the run is the one to raise
                error.trajectory = self.trajectory  # type: ignore[attr-defined]
        return error

    # ---- starting anew, going back -----------------------------------------------------------------------

    @alone
    def reset(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, p0: ArrayLike | None = None,
              t0: float | None = None) -> None:  # fmt: skip
        """Begin anew as the simulation was begun, from another start where one is given; records are dropped.

        Torque and inputs are those of the beginning again. The steps after it have the bits of a new simulation.

        Parameters
        ----------
        q0 : (nq,) array, optional [m or rad]
        v0 : (nv,) array, optional [m/s or rad/s]
        p0 : (nv,) array, optional [kg m/s or kg m^2/s]
            Instead of v0. What is not given is as at the beginning; a ``p0`` replaces the ``v0`` of the beginning, and
            a ``v0`` its ``p0``.
        t0 : float, optional [s]

        Raises
        ------
        InputError
            If the start is wrong.
        """
        starts: Keywords = {"q0": q0, "v0": v0, "p0": p0, "t0": t0}
        # q and v of this simulation are of memory that begins anew
        changed: Keywords = {name: copy(value) for name, value in starts.items() if value is not None}
        if "p0" in changed and "v0" not in changed:
            changed["v0"] = None
        elif "v0" in changed and "p0" not in changed:
            changed["p0"] = None
        given = self._given
        if changed:
            if given.resume is not None:
                raise InputError("a resumed simulation cannot be reset to another start; create a new Simulation")
            if t0 is not None:
                changed["t0"] = float(entries(t0, (), "t0"))
            if self._reduced is not None:
                start = expanded(self._reduced, RunArguments(**{k: x for k, x in changed.items() if x is not None}))
                changed |= {k: getattr(start, k) for k in changed if changed[k] is not None}
            given = given.but(**changed)
        before = self.save(), self._records, self._count, self._parts
        for one in self._held.values():
            one.begin()
        try:
            self._start(given)
        except BaseException:
            self._count = 0
            self.restore(before[0])
            self._records, self._count, self._parts = before[1:]
            raise

    @alone
    def save(self) -> SavedState:
        """Return all that the next steps depend on, for :meth:`restore`."""
        views = self._views
        return SavedState(self.t, self._of(), self._integrator.keep(), views.torque.copy(), views.inputs.copy(),
                          self._between.keep(), self._changes)  # fmt: skip

    def _of(self) -> tuple[object, ...]:
        options = tuple(sorted((name, repr(value)) for name, value in self._given.options.items()))
        return self._first.digest, self.method, self.dt, options

    @alone
    def restore(self, saved: SavedState) -> None:
        """Go back, or on, to a state that :meth:`save` returned; the steps after it have the same bits as then.

        Parameters
        ----------
        saved : SavedState
            Of this simulation, or of one made with the same arguments.

        Raises
        ------
        InputError
            If it is of another model, method, dt or options, or damaged.
        """
        of_kind(saved, SavedState, "saved", "what save() returned")
        if not isinstance(saved.of, tuple) or len(saved.of) != len(self._of()):
            raise InputError("the saved state is damaged: it does not say what it is of")
        for what, theirs, ours in zip(("model", "method", "dt", "options"), saved.of, self._of(), strict=True):
            if theirs != ours:
                text = "another model" if what == "model" else f"{what} {theirs}, and this simulation has {ours}"
                raise InputError("the saved state is of " + text)
        views = self._views
        torque = entries(saved.torque, views.torque.shape, "torque of the saved state")
        inputs = entries(saved.inputs, views.inputs.shape, "inputs of the saved state")
        if not isinstance(saved.changes, tuple) or not all(isinstance(each, Change) for each in saved.changes):
            raise InputError("the saved state is damaged: its changes are none")
        ours, theirs = ([each.values for each in some if each.of_model] for some in (self._changes, saved.changes))
        if ours != theirs:
            self._restore_other(saved)
        else:
            before = self._integrator.keep()
            self._integrator.go_back(saved.kept)
            try:
                self._between.go_back(saved.between)
            except (TypeError, ValueError, KeyError, IndexError) as error:
                self._integrator.go_back(before)
                raise InputError(f"the saved state is damaged: {told(error)}") from None
        self._changes = saved.changes
        self._views.torque[:], self._views.inputs[:] = torque, inputs
        self._restored = self._integrator.steps
        self._views.forget()
        self._views.show()

    def _restore_other(self, saved: SavedState) -> None:
        """Go to a saved state of another model: the first one, or one that it became by changes."""
        of_models = [each for each in saved.changes if each.of_model]
        model = after_changes(cast("Model", self._first), of_models)
        integrator = self._made_for(model.full) if of_models else self._home[0]
        self._plan_motion(integrator, self._integrator.state()[0])
        before = integrator.keep() if integrator is self._home[0] else None
        integrator.go_back(saved.kept)
        part, between = self._part_so_far(), self._between.keep()
        self._between.turn_to(integrator, command=False)
        try:
            self._between.go_back(saved.between)
        except (TypeError, ValueError, KeyError, IndexError) as error:
            if before is not None:
                integrator.go_back(before)
            self._between.turn_to(self._integrator, command=False)
            self._between.go_back(between)
            raise InputError(f"the saved state is damaged: {told(error)}") from None
        self._adopt(integrator, model, part)

    # ---- changes within the run ---------------------------------------------------------------------------

    def __getitem__(self, name: str) -> BodyState:
        """Return the state of a body of the simulation, by the name of a link or another frame.

        Raises
        ------
        UnknownNameError
            If there is no such frame.
        """
        return BodyState(self, name)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed since the start of the run, in the order of time."""
        return (*self._before, *self._changes)

    @alone
    def attach(self, body: str, to: str = "world", name: str | None = None) -> str:
        """Weld a body to a frame where it is now, as a gripper that takes hold or a suction cup does.

        The weld is a constraint of the model from here on, and all contact between the two ends. Momentum jumps by the
        impulse of the weld alone, that after which the two move as one: an inelastic impact. Other constraints of the
        model act in it, contacts in the next step. Directions that are held already are left out.

        Parameters
        ----------
        body : str
            A link or frame that moves.
        to : str
            The link or frame that holds it, or "world".
        name : str, optional
            Of the weld, for :meth:`detach`; by default ``"<body> on <to>"``.

        Returns
        -------
        str
            The name. ``sim.changes[-1].values`` has the impulse and the energy that was lost.

        Raises
        ------
        InputError, UnknownNameError
            If a frame is not known, the name is taken, or the two do not move against each other. Nothing is done then.
        """
        model = self._model_to_change()
        for frame, argument in ((body, "body"), (to, "to")):
            _require_frame(model, frame, argument)
        name = f"{body} on {to}" if name is None else name
        if not isinstance(name, str) or not name or name in attached(model):
            raise InputError("name", name, f'is taken, or no text: attached are {", ".join(attached(model)) or "none"}')
        _, q, v = self._integrator.look()
        weld = welded(model, body, to, name, q, v)
        jump = weld.momentum if self._integrator.uses_momentum else weld.velocity
        self._go_on("attach", weld.values, weld.model, q, self._integrator.state()[1] + jump)
        return name

    @alone
    def detach(self, name: str) -> None:
        """Take off what :meth:`attach` welded, or constraints of the model of this label; velocities go on.

        Parameters
        ----------
        name : str

        Raises
        ------
        UnknownNameError
            If nothing of this name is attached; the text has the names.
        InputError
            If the simulation is of a vehicle.
        """
        model = self._model_to_change()
        values = held_by(model, name)
        welds = [each for each in self.changes if each.kind == "attach" and each.values["name"] == name]
        if welds:
            values["apart"] = [welds[-1].values["body"], welds[-1].values["to"]]
        _, q, v = self._integrator.look()
        made, fresh = changed(model, "detach", values), moved_by(model, values["constraints"], q)
        self._go_on("detach", values, made, q, self._x_of(q, v), fresh)

    @alone
    def set_gains(self, gains: Gains) -> None:
        """Give drives other gains from here on.

        Parameters
        ----------
        gains : mapping of pattern to (kp, kd) [N m/rad and N m s/rad, or N/m and N s/m]
            Patterns of the names of driven joints, such as ``"left/*"``; of several that fit the first counts.

        Raises
        ------
        InputError, UnknownNameError, ModelError
            If gains are wrong, or a pattern fits no driven joint. Nothing is done then.
        """
        model = self._model_to_change()
        values = gains_of(model, gains)
        self._go_on("gains", values, changed(model, "gains", values), *self._integrator.state())

    @alone
    def set_friction(self, friction: Friction | Mapping[str, Friction]) -> None:
        """Give contacts another friction from here on.

        Parameters
        ----------
        friction : float, (sliding, torsional, rolling), or mapping
            Coefficients [-, m, m] of all contacts and of the ground, or by patterns of frames that may touch and
            "ground". Which counts where two surfaces meet is as of :class:`vitree.Ground`.

        Raises
        ------
        InputError, UnknownNameError, ModelError
            If a coefficient is wrong, or a pattern fits nothing that may touch. Nothing is done then.
        """
        model = self._model_to_change()
        values = friction_by_frames(model.full.flat, friction)
        self._go_on("friction", values, changed(model, "friction", values), *self._integrator.state())

    @alone
    def set_ground(self, ground: Ground) -> None:
        """Put another ground below from here on: another plane, terrain, restitution or stiffness.

        Parameters
        ----------
        ground : Ground

        Raises
        ------
        InputError
            If something overlaps with it. Nothing is done then.
        """
        model = self._model_to_change()
        values = ground_values(ground)
        made = changed(model, "ground", values)
        _, q, v = self._integrator.look()
        most = max(OVERLAP, -float(model.full.contact_gaps(q).gap.min(initial=0.0)) if model.has_contact else 0.0)
        require_clear(made, q, "with the other ground", most)
        self._go_on("ground", values, made, q, self._x_of(q, v), np.ones(len(v), bool))

    @alone
    def set_state(
        self, q: ArrayLike | Mapping[str, ArrayLike] | None = None,
        v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> None:  # fmt: skip
        """Set the configuration and the velocity here, without a start of the run: time, records and drives go on.

        Parameters
        ----------
        q : (nq,) array, or mapping of joint to numbers, optional [m or rad]
            What is not given stays.
        v : (nv,) array, or mapping of joint to numbers, optional [m/s or rad/s]

        Raises
        ------
        InputError, UnknownNameError
            If bodies overlap, constraints do not hold, a joint is not known, or a prescribed joint is moved. Nothing is
            done then.
        """
        model = self._model_to_change()
        now = {"q": self.q.copy(), "v": self.v.copy()}
        given = {name: value for name, value in (("q", q), ("v", v)) if value is not None}
        if not given:
            raise InputError("nothing to set: give q=, v=, or both")
        for name, value in given.items():
            now[name] = _with_joints(model, name, now[name], value)
        q1, v1 = model.validate_configuration(now["q"], "q"), model.validate_velocity(now["v"], "v")
        names = {name: [*map(str, value)] if isinstance(value, Mapping) else "all" for name, value in given.items()}
        self._set_state(q1, v1, names)

    def _set_state(self, q: np.ndarray, v: np.ndarray, values: JsonObject) -> None:
        """Set a state in the coordinates of the model, after checks."""
        model = self._model_to_change()
        full, integrator = model.full, self._integrator
        q, v = (q, v) if model is full else (model.expand(q), model.expand_velocity(v))
        motion = integrator.motion
        if motion.names and not np.array_equal(q[motion.iq], integrator.state()[0][motion.iq]):
            raise InputError("q", q, f"moves prescribed joints; {', '.join(motion.names)} move as prescribed")
        if full.constraints:
            require_consistent(full, q, v)
        if full.has_contact:
            require_clear(full, q, "there")
        full.require_invertible_mass_matrix(q)
        _, before, moving = integrator.look()
        fresh = whole_trees(full, (full.difference(before, q) != 0) | (moving != v))
        self._go_on("state", values, model, q, self._x_of(q, v), fresh)

    def _model_to_change(self) -> Model:
        """Return the model; raise an InputError if it is none that can be changed."""
        if not isinstance(self._model, Model):
            raise InputError(f'"{self._model.name}" is a vehicle, which has no bodies and contacts to change')
        return self._model

    def _x_of(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return x (nv,) of a start: the momentum of the velocity, or this."""
        return self._integrator.model.generalized_momentum(q, v) if self._integrator.uses_momentum else v

    def _go_on(
        self, kind: str, values: JsonObject, model: Model, q: np.ndarray, x: np.ndarray, fresh: np.ndarray | None = None
    ) -> None:
        """Let the run go on with a model, from q and x of all joints, and take note of why.

        The p (or v) of a state is that before the impulses of its node: half of what constraints and contacts gave in
        the last step is still to come. Coordinates that are ``fresh`` have the x of a start instead, and their contacts
        no past, since what held them is not there any more. All others keep theirs.
        """
        if fresh is None:
            fresh = np.zeros(len(x), bool)
        elif kind != "ground":
            x = np.where(fresh, x, self._integrator.state()[1])
        change = Change(self.t, self._integrator.steps, kind, plain(values))
        integrator = self._integrator if model is self._model else self._made_for(model.full)
        if integrator is not self._integrator:
            self._plan_motion(integrator, q)
        part = self._part_so_far()
        integrator.take_over(self._integrator, q, x, fresh)
        if integrator is not self._integrator:
            self._between.turn_to(integrator)
        self._adopt(integrator, model, part)
        self._changes = (*self._changes, change)

    def _plan_motion(self, integrator: Integrator, q: np.ndarray) -> None:
        """Let an integrator know of the motion prescribed over the whole run."""
        if not integrator.motion.names:
            return
        planned = replace(self._schedule, steps=max(integrator.lasts() or 1, 1))
        integrator.plan(q, planned.steps, lambda: planned.ends(self._integrator.t0, self._first_step))

    def _part_so_far(self) -> list[Trajectory]:
        """Return the parts of the trajectory up to now."""
        return [*self._parts, self._part()] if self._count else self._parts

    def _adopt(self, integrator: Integrator, model: System, parts: list[Trajectory]) -> None:
        """Go on with an integrator, of a model, that has the state; nothing here fails."""
        if integrator is self._home[0]:
            self._views, self._plain, self._beside = self._home[1], self._if_plain, None
        elif integrator is not self._integrator:
            self._views, self._plain = self._views.turned_to(integrator, model), None
            followed = self._views._followers is not None
            self._beside = self._views.stepper if self._if_plain is not None and not followed else None
        self._integrator, self._model, self._parts = integrator, model, parts
        self._reduced = model if type(model) is not Model and isinstance(model, ReducedModel) else None
        full = integrator.model
        self._records, self._count = Records.room(ROOM, full.nq, full.nv, len(full.constraints)), 0
        self._restored = integrator.steps
        self._touching = bool(getattr(integrator, "touches_here", False))
        self._views.forget()
        self._views.show()

    # ---- impulses ---------------------------------------------------------------------------------------

    @alone
    def push(self, frame: str, impulse: ArrayLike, angular: ArrayLike = (0.0, 0.0, 0.0), axes: str = "world") -> None:
        """Apply an impulse to a frame now: the momentum jumps, the configuration does not.

        Parameters
        ----------
        frame : str
        impulse : (3,) array [N s]
            At the frame's origin.
        angular : (3,) array [N m s]
        axes : {"world", "local"}

        Raises
        ------
        InputError, UnknownNameError
            If an argument is wrong; the text says which.
        """
        impulsive = Impulse(frame, impulse, self.t, angular, axes)  # type: ignore[arg-type]
        require_moving_frame(self.model, impulsive)
        self._between.strike(impulsive)
        self._impulses.append(impulsive)
        self._views.forget()
        self._views.show()

    # ---- a page -------------------------------------------------------------------------------------------

    def view(
        self, *, speed: float = 1.0, paused: bool = False, controller: str | os.PathLike[str] | None = None,
        keyframes: str | os.PathLike[str] | None = None, port: int = 8080, browser: bool | None = None,
        block: bool | None = None,
    ) -> Any:  # fmt: skip
        """Run the simulation in a web page of this machine, where it can be paused, steered and pulled.

        A thread steps it at the speed of the clock; nothing else may step it until the page is stopped, which leaves
        it where it is.

        Parameters
        ----------
        speed : float [-]
            Simulated seconds for each second.
        paused : bool
            Begin paused.
        controller : path, optional
            A file of Python with a function ``control(t, q, v)`` that returns joint forces (nv,), a
            :class:`vitree.Control` of numbers, or None. It is called in each step, or every ``period`` [s] if the file
            has this number, and read again when it changes. A function ``start(model)`` of the file is called
            before and at each reset.
        keyframes : path, optional
            TOML file of the keyframes that the page saves. If it exists, the page has those in it.
        port : int
            Port to serve at; if it is in use, the next free one.
        browser, block : bool, optional
            As of :func:`vitree.view`.

        Returns
        -------
        LiveViewer
            With the ``url`` of the page, and methods ``wait`` and ``stop``.

        Raises
        ------
        MissingExtraError
            If viser is not installed (extra "view").
        InputError
            If an argument is wrong.
        """
        return VIEWS["live"](self, speed=speed, paused=paused, controller=controller, keyframes=keyframes, port=port,
                             browser=browser, block=block)  # fmt: skip

    # ---- records ----------------------------------------------------------------------------------------

    @alone
    def record(self) -> None:
        """Record the state."""
        records, k, integrator = self._records, self._count, self._integrator
        if k == len(records.t):
            records.grow(max(ROOM, 2 * k))
        records.rows = k
        write_row(integrator, records, 1, 0)
        if self._touching:
            note_start(cast("CompiledIntegrator", integrator), records, k)
            if integrator.steps == self._restored:
                # of a state that was restored the records do not have the step that led to it
                records.owed.append(records.touched.pop())
        if records.driven and integrator.steps == self._restored:
            records.driven.pop()
        if records.multipliers.shape[1] and not integrator.uses_momentum:
            t, q, v = integrator.look()
            records.multipliers[k] = integrator.multipliers_at(t, q, v)
        self._count = k + 1

    @property
    @alone
    def trajectory(self) -> Trajectory:
        """The records so far.

        Raises
        ------
        InputError
            If there is none.
        """
        if not self._count and not self._parts:
            raise InputError("nothing was recorded: call record(), or make the simulation with record_every=")
        if self._count:
            return joined(self._part_so_far())
        # nothing was recorded since the last change: with the state, for the end, and without its record
        try:
            self.record()
            whole = joined(self._part_so_far())
        finally:
            full = self._integrator.model
            self._records, self._count = Records.room(ROOM, full.nq, full.nv, len(full.constraints)), 0
        end = whole.checkpoint if whole.t[-1] == whole.t[-2] else None
        return replace(whole[:-1], checkpoint=end)

    def _part(self) -> Trajectory:
        """The records since the last change."""
        integrator, records = self._integrator, self._records
        records.rows = self._count
        done = integrator.steps
        schedule = replace(self._schedule, steps=done, duration=max(self.t - integrator.t0, 0.0))
        found = Outcome(integrator, records.copied(), schedule, self._every or 1, self._more(), None, False, False)
        traj = found.trajectory()
        if records.t[self._count - 1] != self.t:
            traj = replace(traj, checkpoint=None)
        return traj if self._reduced is None else contracted(self._reduced, traj)

    def _more(self) -> JsonObject:
        """Settings beside those of the steps."""
        given, views = self._given, self._views
        cut: JsonObject = {} if self._limited is None else {"effort_cut": self._limited.shares()}
        held = ("torque", views.torque), ("inputs", views.inputs)
        if acts := list(dict.fromkeys([*given.drives, *(name for name, array in held if array.any())])):
            cut["control"] = acts
        acting = wrenches_told((*given.wrenches, *self._impulses))
        noted: JsonObject = {"changes": [asdict(each) for each in self.changes]} if self.changes else {}
        return cut | self._between.settings() | acting | noted


def _require_frame(model: Model, frame: object, argument: str) -> None:
    """Raise an UnknownNameError if a frame is not known, and none is the world."""
    if frame != "world" or argument == "body":
        try:
            model._frame(cast("str", frame))
        except UnknownNameError as error:
            raise UnknownNameError("frame", frame, model.frame_names, argument=argument) from error


def _with_joints(model: Model, name: str, now: np.ndarray, given: object) -> np.ndarray:
    """Return q or v of which joints have other numbers, or another one."""
    if not isinstance(given, Mapping):
        return cast("np.ndarray", given)
    for joint, value in given.items():
        info = model.joint(joint)
        at = info.q_slice if name == "q" else info.v_slice
        size = at.stop - at.start
        now[at] = entries(value, () if size == 1 and np.ndim(value) == 0 else (size,), f'{name}["{joint}"]')
    return now


def _every(every: object) -> int:
    count = whole(every)
    if count is None or not 0 <= count < 2**63:
        raise InputError("record_every", every, "must be a whole number of steps, or 0")
    return count
