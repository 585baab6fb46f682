"""Simulation: a run that a person holds, and advances by steps."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import JsonObject, Keywords, entries, of_kind, shown, told, whole
from vitree.errors import AT_WORK, InputError, UnknownNameError, VitreeError
from vitree.integrators.base import Integrator, Kept, Records, Torque
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.idle import wrenches_of
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.model import Model, ReducedModel
from vitree.model.system import System
from vitree.results.contacts import ContactLog
from vitree.run.arguments import (
    RunArguments,
    Schedule,
    as_before,
    checked,
    driven,
    require_efforts,
    require_moving_frame,
    require_times,
)
from vitree.run.controller import Control, Controller, HeldRows, Targets, inputs_beside, parts_of
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
    """

    t: float
    of: tuple[object, ...]
    kept: Kept
    torque: np.ndarray
    inputs: np.ndarray
    between: Kept

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
        given = RunArguments(
            q0=q0, v0=v0, p0=p0, dt=dt, method=method, t0=t0, **parts_of(control), wrenches=wrenches,
            resume=resume, options=options,
        )  # fmt: skip
        kind, given = checked(model, given)
        self._turn = threading.RLock()
        self._model: System = model
        self._reduced = model if type(model) is not Model and isinstance(model, ReducedModel) else None
        if self._reduced is not None:
            given = expanded(self._reduced, given)
        full = model.full
        if resume is not None:
            given = as_before(full, given)
            kind = full.methods[str(given.method)]
        adaptive = given.options.get("adapt") is not None and "adapt" in kind.options
        self._schedule = schedule = Schedule.one(given.dt, adaptive)
        require_times(given.t0, given.t0, schedule.dt)
        self._every = _every(record_every)
        if given.effort_limits:
            require_efforts(full, given.effort_limits)
            if given.torque is None:  # that of later steps is cut
                given = given.but(torque=np.zeros(full.nv))
        given, held, self._limited = driven(full, given, schedule)
        self._method, self._dt = kind.name, schedule.dt
        self._given = given
        self._integrator: Integrator = kind(full, schedule.dt, torque=cast("Torque", given.torque), inputs=given.inputs,
                                     prescribed=given.prescribed, **wrenches_of(given), **given.options)  # fmt: skip
        integrator = self._integrator
        integrator.commanded = True
        self._held = held
        self._targets: Targets | None = None
        rows = isinstance(integrator.inputs, np.ndarray) and integrator.inputs.ndim == 2
        #: whether a step takes a torque, and inputs
        self._free = (
            "torque" not in held and not callable(integrator.torque),
            "inputs" not in held and not callable(integrator.inputs) and not rows,
        )
        self._views = Views(integrator, model, self._limited is not None or bool(held))
        self._start(given)

    # ---- a start ---------------------------------------------------------------------------------------

    def _start(self, given: RunArguments) -> None:
        """Set the state and all that depends on it."""
        integrator = self._integrator
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
        self._plain = self._views.stepper if plain else None

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
                raise self._told(cast("CompiledIntegrator", self._integrator)._stopped(status))
        self._step(steps, torque, inputs, targets)

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
        if self._count:
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
        changed = {name: value for name, value in starts.items() if value is not None}
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
        before = self.save(), self._records, self._count
        for one in self._held.values():
            one.begin()
        try:
            self._start(given)
        except BaseException:
            self.restore(before[0])
            self._records, self._count = before[1:]
            raise

    @alone
    def save(self) -> SavedState:
        """Return all that the next steps depend on, for :meth:`restore`."""
        views = self._views
        return SavedState(self.t, self._of(), self._integrator.keep(), views.torque.copy(), views.inputs.copy(),
                          self._between.keep())  # fmt: skip

    def _of(self) -> tuple[object, ...]:
        options = tuple(sorted((name, repr(value)) for name, value in self._given.options.items()))
        return self.model.digest, self.method, self.dt, options

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
        before = self._integrator.keep()
        self._integrator.go_back(saved.kept)
        try:
            self._between.go_back(saved.between)
        except (TypeError, ValueError, KeyError, IndexError) as error:
            self._integrator.go_back(before)
            raise InputError(f"the saved state is damaged: {told(error)}") from None
        views.torque[:], views.inputs[:] = torque, inputs
        self._restored = self._integrator.steps
        self._views.forget()

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
        if not self._count:
            raise InputError("nothing was recorded: call record(), or make the simulation with record_every=")
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
        return cut | self._between.settings() | acting


def _every(every: object) -> int:
    count = whole(every)
    if count is None or not 0 <= count < 2**63:
        raise InputError("record_every", every, "must be a whole number of steps, or 0")
    return count
