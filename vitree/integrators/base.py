"""Integrator, the base of all: a model, a step, a state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree import _core
from vitree._core import scalar
from vitree.arguments import Asked, as_numbers, entries, of_kind, plain_scalar, real, several, shown, told, whole
from vitree.errors import CallableError, ConvergenceError, InputError, ModelError, UnknownNameError, VitreeError
from vitree.integrators.composition import SHARES
from vitree.mechanism.constraints import loses
from vitree.mechanism.contacts import Contact
from vitree.mechanism.loads import Wrench
from vitree.mechanism.pushes import ExternalWrench
from vitree.mechanism.unilateral import BallLimit, Rope
from vitree.model.lower import lower_loads, lower_wrench
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.user_inputs import Motion, resolve_inputs

Torque = ArrayLike | Callable[..., ArrayLike] | None
#: All that the next steps of an integrator depend on.
Kept = tuple[Any, ...]
#: Seconds of stepping between two looks at the progress callable and at Ctrl-C.
CHUNK_SECONDS = 0.05
#: The first bytes of a checkpoint; the number changes with the kept memory of the steppers.
CHECKPOINT = "vitree checkpoint 4"
#: Bytes of the digest that follows them, of what follows the digest.
DIGEST = 16
#: States beyond this have blown up [m, rad, per s, or units of momentum].
LARGEST = scalar().LARGEST
#: Columns of contacts of records: row, contact, impulse (3), slip velocity (3), gap.
CONTACT_COLUMNS = scalar().CONTACT_COLUMNS
#: The arrays of records, with a row for each state.
COLUMNS = ("t", "q", "x", "iterations", "residual", "multipliers")


#: Rows up to which copies are made quicker than arrays.
FEW_ROWS = 4


@lru_cache(maxsize=32)
def _blank(count: int, nq: int, nv: int, m: int) -> tuple[np.ndarray, ...]:
    """The arrays of records that nothing is written to."""
    return (np.empty(count), np.empty((count, nq)), np.empty((count, nv)), np.zeros(count, dtype=np.intc),
            np.zeros(count), np.full((count, m), np.nan))  # fmt: skip


@dataclass
class Records:
    """Rows written while stepping; ``x`` is p of a variational integrator, v of the others."""

    t: np.ndarray
    q: np.ndarray
    x: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    multipliers: np.ndarray
    rows: int = 1
    seconds: float = 0.0
    #: contacts of the rows, as the steppers' ``take_contacts`` has them
    touched: list[np.ndarray] = field(default_factory=list)
    #: the same of rows whose steps are of a run before: their velocities depend on them
    owed: list[np.ndarray] = field(default_factory=list)
    #: where the steps to the rows began, if not at the rows before: rows, q there, and row and number of what pushed
    #: in the steps that ended there
    starts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    #: what drove the steps to the rows, as the steppers' ``take_drive`` has it
    driven: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in COLUMNS:
            array, kind = getattr(self, name), np.dtype(np.intc if name == "iterations" else float)
            if not isinstance(array, np.ndarray) or array.dtype != kind or not array.flags.aligned:
                raise InputError(f"records.{name} is {shown(array)}; it must be an array of {kind}")

    @classmethod
    def room(cls, count: int, nq: int, nv: int, m: int) -> Records:
        """Return room for so many states, of so many constraints."""
        made = object.__new__(cls)
        if count <= FEW_ROWS:
            parts = [array.copy() for array in _blank(count, nq, nv, m)]
        else:
            parts = list(_blank.__wrapped__(count, nq, nv, m))
        made.t, made.q, made.x, made.iterations, made.residual, made.multipliers = parts
        made.rows, made.seconds = 1, 0.0
        made.touched, made.owed, made.starts, made.driven = [], [], [], []
        return made

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        more = max(rows, 3 * len(self.t) // 2) - len(self.t)
        if rows > len(self.t):
            for name in COLUMNS:
                array = getattr(self, name)
                setattr(self, name, np.concatenate((array, np.full_like(array[:1], 0).repeat(more, axis=0))))

    def copied(self) -> Records:
        """Return a copy of the rows written."""
        columns = {name: getattr(self, name)[: self.rows].copy() for name in COLUMNS}
        return Records(**columns, rows=self.rows, seconds=self.seconds, touched=list(self.touched),
                       owed=list(self.owed), starts=list(self.starts), driven=list(self.driven))  # fmt: skip

    def trimmed(self) -> Records:
        """Return only the rows written."""
        if self.rows == len(self.t):
            return self
        columns = {name: getattr(self, name)[: self.rows] for name in COLUMNS}
        return Records(**columns, rows=self.rows, seconds=self.seconds, touched=self.touched, owed=self.owed,
                       starts=self.starts, driven=self.driven)  # fmt: skip

    @property
    def contacts(self) -> np.ndarray:
        """The contacts of all rows (n, 9), or more columns where convex shapes may touch."""
        if len(self.touched) == 1:
            return self.touched[0]
        return np.concatenate(self.touched) if self.touched else np.empty((0, CONTACT_COLUMNS))

    @property
    def settling(self) -> np.ndarray:
        """The contacts that velocities of the rows depend on (n, 9), or more columns where convex shapes may touch."""
        return np.concatenate([*self.touched, *self.owed]) if self.owed else self.contacts


def acting(model: Model) -> list[str]:
    """Return what acts on a model by impulses in steps, in words."""
    found = {
        "contacts": any(isinstance(each, Contact) for each in model.contacts),
        'limits="enforce"': model.limits == "enforce", 'velocity_limits="enforce"': model.velocity_limits == "enforce",
        "ropes": any(isinstance(each, Rope) for each in model.unilateral),
        "limits of ball joints": any(isinstance(each, BallLimit) for each in model.unilateral),
        "wheels that roll without slip": bool(model.rolling), "dry friction": bool(model.dry_friction.any()),
        "couplings with an efficiency": any(map(loses, model.full.constraints)),
    }  # fmt: skip
    return [words for words, there in found.items() if there]


def serving(model: Model) -> str:
    """Return the methods whose steps, of their own order, know all that acts on a model by impulses, in words."""
    *some, last = [name for name, kind in model.methods.items() if _knows(kind, model)]
    return f"{', '.join(some)} or {last}"


def _knows(kind: type[Integrator], model: Model) -> bool:
    return kind.rolls if model.has_rolling_or_dry_friction else kind.touches


class Monitors(Protocol):
    """What a run asks of the quantities that it computes at each step."""

    watched: np.ndarray

    def rows_for(self, integrator: Integrator, records: Records, count: int) -> Records: ...
    def take(self, integrator: Integrator, every: Records, records: Records, stride: int) -> None: ...


class Integrator:
    """Base of the integrators; one written in Python has a ``name``, an ``order`` and a :meth:`step`.

    It is registered by ``vt.METHODS[name] = class``; examples/10_custom_integrator.py is one.

    The contract, for those who write one:

    1. The state is (t, q, x): x is the momentum p if ``uses_momentum``, else the velocity v.
    2. ``run`` advances by whole steps of ``dt`` and leaves the state at the last step that
       succeeded; a step that fails raises and changes nothing.
    3. A failure is a :class:`ConvergenceError` that says when, how far the solve came, and what to try.
    4. Equal states, loads and options give equal bits.
    5. ``order``, ``symplectic`` and ``conserves_momentum`` are claims, and are tested.
    6. Loads (torque, wrenches, damping, friction) act so that ``order`` still holds.

    Parameters
    ----------
    model : System
    dt : float
        Step [s].
    torque : None, (nv,) array or callable (t, q, v) -> (nv,) array
        Joint forces [N or N m].
    wrenches : sequence of ExternalWrench
        Those with a start or an end act while :meth:`open_gate` lets them.
    inputs, prescribed :
        As for :func:`vitree.simulate`.
    **options
        Those of the method, ``options``.

    Attributes
    ----------
    name : str
        Name in ``vitree.METHODS``.
    uses_momentum, symplectic, conserves_momentum : bool
    order : int
        Of convergence.
    options : mapping of str to str
        Name of an option -> a sentence on its values.

    Raises
    ------
    InputError, UnknownNameError
        If an argument or option is wrong; the text says which, and what is accepted.

    Notes
    -----
    Arguments of the methods are, if they do not say otherwise:

    t : float
        Time [s].
    q, q0, q1 : (nq,) array
        Configurations [m or rad].
    v : (nv,) array
        Velocity [m/s or rad/s].
    x : (nv,) array
        Momentum [kg m/s or kg m^2/s] if ``uses_momentum``, else velocity [m/s or rad/s].
    ends : (steps + 1,) array
        Times at which steps begin and end [s].
    records : Records
        States that were recorded.
    """

    name: ClassVar[str]
    uses_momentum: ClassVar[bool] = False
    order: int
    symplectic: bool = False
    conserves_momentum: ClassVar[bool] = False
    #: whether a step of -dt takes a step of dt back: a :meth:`step` of second order then takes ``order=``
    self_adjoint: ClassVar[bool] = False
    #: whether its steps estimate their error
    estimates: ClassVar[bool] = False
    #: whether a step has a polynomial that `keep_stages` can keep
    dense: ClassVar[bool] = False
    #: whether its steps know contacts and limits
    touches: ClassVar[bool] = False
    #: Whether wheels that roll without slip and dry friction of joints act in its steps
    rolls: ClassVar[bool] = False
    #: the share of a step's forces that acts where it ends: contacts that stay closed owe as much of an impulse there
    at_end: ClassVar[float] = 0.5
    #: options of the method: name -> a sentence on its values
    options: ClassVar[Mapping[str, str]] = {}
    #: whether the user's functions are asked once, at the predicted middle of a step
    asks_midway: ClassVar[bool] = False

    #: corrections and residual of the last step, which a :meth:`step` may set for the records
    iterations: int = 0
    residual: float = 0.0
    #: corrections of all steps so far, and the most of one
    _corrections: tuple[int, int] = (0, 0)
    #: a step as shares of it, one after the other
    _shares: tuple[float, ...] = SHARES[2]

    model: Any
    _own_field: _core.Field | None = None
    #: whether torque or inputs change from outside between steps
    commanded: bool = False

    def __init__(self, model: System, dt: float, *, torque: Torque = None,
                 wrenches: Sequence[ExternalWrench] = (), inputs: object = None,
                 prescribed: Mapping[str, object] | None = None,
                 **options: object):  # fmt: skip
        if not 0 < real(dt) < np.inf:
            raise InputError("dt", dt, "must be a positive number of seconds, such as 1e-3")
        unknown = set(options) - set(self.options)
        if "order" in options and self.has_own_step() and (self.self_adjoint or "order" in unknown):
            self._shares = self._shares_of(options["order"])
            unknown -= {"order"}
        if unknown:
            name = sorted(unknown)[0]
            raise UnknownNameError(f"option of the method {self.name}", name, self.options, argument=name)
        if of_kind(model, System, "model", "a Model, or another System").full is not model:
            raise InputError("integrators step models with a coordinate for each joint: give model.full, or simulate()")
        self._require_contacts(model)
        self.model = model
        self.dt = real(dt)
        torque = torque_of(model, torque)
        given = several(wrenches, "wrenches", "a sequence of ExternalWrench")
        for each in given:
            of_kind(each, ExternalWrench, "wrenches", "a sequence of ExternalWrench")
        self.wrenches = [_load(each) for each in given if each.steady]
        self.torque, self.pushes = torque, tuple(each for each in given if not each.steady)
        self.inputs = resolve_inputs(model, inputs)
        self.motion = Motion(model, prescribed)
        self.chosen = {name: plain_scalar(value) for name, value in options.items()}
        self._prepare()

    def _require_contacts(self, model: System) -> None:
        """Raise a ModelError if forces act that the method's steps do not know."""
        if not isinstance(model, Model) or not model.has_contact:
            return
        if _knows(type(self), model):
            return
        which = acting(model)
        leave = {"contacts": "leave out ground and contacts", 'limits="enforce"': 'take limits="report"',
                 'velocity_limits="enforce"': 'take velocity_limits="report"'}  # fmt: skip
        remedies = [leave.get(each, f"leave out {each}") for each in which]
        raise ModelError(
            f'"{model.name}" has {" and ".join(which)}, which the method {self.name} does not support; use '
            f"{serving(model)}, or {' and '.join(remedies)}"
        )

    def _prepare(self) -> None:
        """Check the options and make the stepper."""

    @classmethod
    def has_own_step(cls) -> bool:
        """Return whether a :meth:`step` in Python is all that its runs consist of, and its state all that it keeps."""
        base = Integrator
        return cls.step is not base.step and (cls.start, cls.run, cls.keep) == (base.start, base.run, base.keep)

    def _shares_of(self, order: object) -> tuple[float, ...]:
        """Return the substeps of a composition of an ``order``, as shares of a step, and note the order."""
        own = self.order
        if real(order) == own:
            return SHARES[2]
        if not self.self_adjoint or own != 2:
            raise InputError(
                "order", order,
                f"is not for the method {self.name}, of order {own}: compositions raise the order of self-adjoint "
                "methods of order 2. If a step of -dt takes its step of dt back, let the class say so by "
                "self_adjoint = True"
            )
        if real(order) not in SHARES:
            raise InputError("order", order, f"must be one of {', '.join(map(str, SHARES))}", choices=SHARES)
        self.order = int(real(order))
        return SHARES[self.order]

    def step(self, t: float, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state, q (nq,) [m or rad] and x (nv,), at t + ``dt`` from that at t."""
        raise NotImplementedError(f"the method {self.name} has no step(t, q, x)")

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dv/dt (nv,) [m/s^2 or rad/s^2] under all loads.

        These are gravity, loads, torque, inputs, constraints and prescribed motion.
        """
        return self._accelerations_at(t, q, v)[0]

    @classmethod
    def adapts(cls, options: Mapping[str, object]) -> bool:
        """Return whether the steps choose their own length, with these ``options``; :attr:`adaptive` is the same."""
        return options.get("adapt") is not None and "adapt" in cls.options

    @property
    def settings(self) -> dict[str, Any]:
        """The options chosen, for the record."""
        return dict(self.chosen)

    @property
    def drive_varies(self) -> bool:
        """Whether what drives the steps is to be kept with them."""
        rows = isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2
        asked = callable(self.torque) or callable(self.inputs)
        return isinstance(self.model, Model) and (self.commanded or rows or (asked and self.asks_midway))

    def parts(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return where the monitored steps since it was last asked were parted, or None if they never are.

        Returns
        -------
        inner : (m, columns) array
            Number of the step, t [s], q (nq,) [m or rad] and x (nv,) in a row.
        pushed : (n, 9) array
            The contacts of the step so far there, by rows of the first; their impulses [N s].
        """
        return None

    @property
    def halved(self) -> int:
        """Steps that were retried in halves."""
        return 0

    @property
    def halved_between(self) -> tuple[float, float] | None:
        """Times [s] at which the first and the last of these steps began; None without one."""
        return None

    @property
    def inexact_contacts(self) -> tuple[int, float, float, float] | None:
        """Steps whose contacts kept a residual, the largest [m/s], and when [s] the first and the last began."""
        return None

    #: What was done to a start that was off by a little, in sentences.
    mended: tuple[str, ...] = ()

    @property
    def inner_states(self) -> np.ndarray:
        """States between the halves of steps that were taken in halves, rows (m, k) of t [s], q and x."""
        return np.zeros((0, 1 + self.model.nq + self.model.nv))

    @property
    def most_asked_power(self) -> float | None:
        """The largest power [W] of a torque that is a callable, where it was asked; None if nobody knows."""
        return None

    @property
    def underresolved(self) -> tuple[float, float] | None:
        """When [s] the step began that follows the motion worst, and by which share; None if all follow it."""
        return None

    @property
    def relative(self) -> bool:
        """Whether the centres of mass of trees that float go from node to node in the discrete action."""
        return False

    @property
    def adaptive(self) -> bool:
        """Whether steps choose their own length."""
        return False

    @property
    def adapted(self) -> dict[str, object]:
        """The state of steps that choose their own length, for a run that goes on."""
        return {}

    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        """Set the state, forgetting all history."""
        self._t0, self._state, self._steps, self._corrections = t, (q.copy(), x.copy()), 0, (0, 0)
        self._field().begin_at(t)

    # ---- a run that is held ----------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._t0 + self._steps * self.dt

    @property
    def t0(self) -> float:
        """When the run began [s]."""
        return self._t0

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state, q (nq,) [m or rad] and x (nv,), copies."""
        q, x = self._state
        return q.copy(), x.copy()

    def advance(self, steps: int) -> None:
        """Take ``steps`` without records.

        Raises
        ------
        ConvergenceError, CallableError, InputError
            If a step fails; the state is that before it.
        """
        for _ in range(steps_of(steps)):
            self._state = self._stepped(self.t, *self._state)
            self._steps += 1

    def advance_part(self, h: float, last: bool) -> None:
        """Take a part of a step, of the length h [s]; ``last`` says whether the step ends with it.

        Raises
        ------
        InputError
            If the method cannot.
        """
        raise InputError(
            f"the method {self.name} takes whole steps only: let wrenches begin and end, and impulses act, at whole "
            f"steps of {self.dt:g} s"
        )

    def strike(self, x: np.ndarray) -> None:
        """Replace x (nv,) of the state, as after an impulse.

        Raises
        ------
        InputError
            If it is no finite numbers of this shape.
        """
        self._state = self._state[0], entries(x, (self.model.nv,), "x").copy()

    def open_gate(self, k: int, opened: bool) -> None:
        """Let the wrench ``k`` of ``pushes`` act, or not, as ``opened`` says.

        Raises
        ------
        InputError
            If there is no such wrench.
        """
        if whole(k) is None or not 0 <= k < len(self.pushes):
            raise InputError(f"there are {len(self.pushes)} wrenches with a start or an end, and no number {shown(k)}")
        self._field().open_gate(k, bool(opened))

    def command(self, torque: np.ndarray | None, inputs: np.ndarray | None) -> None:
        """Let another torque (nv,) [N or N m] and other inputs (nu,) act from the state on.

        Raises
        ------
        InputError
            If they are no finite numbers of these shapes.
        """
        torque = None if torque is None else entries(torque, (self.model.nv,), "torque")
        inputs = None if inputs is None else entries(inputs, (len(self.model.input_names),), "inputs")
        stay = callable(self.inputs), callable(self.torque)
        self._field().drive(self.inputs if stay[0] else inputs, self.torque if stay[1] else torque)

    def checked_torque(self, torque: np.ndarray) -> np.ndarray:
        """Return a torque (nv,) [N or N m] that can act; raise an InputError if it would do nothing."""
        return torque

    def renew(self) -> None:
        """Forget all, as the integrator was made; :meth:`start` follows."""

    def keep(self) -> tuple[object, ...]:
        """Return all that the next steps depend on, for :meth:`go_back`."""
        return self._t0, self._steps, *self.state()

    def go_back(self, kept: Kept) -> None:
        """Go on from ``kept``, which :meth:`keep` returned, of an integrator made with the same arguments.

        Raises
        ------
        InputError
            If it is damaged.
        """
        model = self.model
        try:
            t0, steps, q, x = kept
        except (TypeError, ValueError) as error:
            raise damaged(error) from None
        state = entries(q, (model.nq,), "q").copy(), entries(x, (model.nv,), "x").copy()
        self._t0, self._steps, self._state = float(entries(t0, (), "t0")), steps_of(steps, least=0), state
        self._field().begin_at(self._t0)

    def take_over(self, other: Integrator, q: np.ndarray, x: np.ndarray, fresh: np.ndarray) -> None:
        """Continue the run of ``other``, from q and x at its time and step; both models have the same coordinates.

        Parameters
        ----------
        other : Integrator
            Of the same class, dt and options; it may be this one.
        q : (nq,) array [m or rad]
        x : (nv,) array [units as its state has them]
        fresh : (nv,) array of bool
            Which coordinates start there: contacts that these move are as at a start. Others go on.
        """
        self.go_back((*other.keep()[:-2], q, x))

    # ---- a run -----------------------------------------------------------------------------------------

    def run(self, records: Records, steps: int | float, every: int, progress: Callable[[int, int], object] | None,
            monitors: Monitors | None = None) -> None:  # fmt: skip
        """Advance by ``steps``, filling ``records`` at ``every``-th, and ``monitors`` at each; raise if a step fails.

        If adaptive, ``steps`` is the time to go on to [s]; the run ends with a record at or beyond it. ``progress`` is
        as for :func:`vitree.simulate`.
        """
        if monitors:
            raise InputError("monitors", monitors, f"are for compiled methods; record every step of {self.name}")
        steps, reported, progress = int(steps), time.perf_counter(), progress_of(progress)
        for done in range(1, steps + 1):
            began = time.perf_counter()
            self._state = self._stepped(self._t0 + self._steps * self.dt, *self._state)
            self._steps += 1
            now = time.perf_counter()
            records.seconds += now - began
            if self._steps % every == 0:
                k = records.rows
                records.t[k], (records.q[k], records.x[k]) = self._t0 + self._steps * self.dt, self._state
                records.iterations[k], records.residual[k] = self.iterations, self.residual
                records.rows += 1
            if progress is not None and (now - reported > CHUNK_SECONDS or done == steps):
                progress(done, steps)
                reported = now

    def _stepped(self, t: float, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the checked state a step on; compositions take it in substeps."""
        whole_step, corrections, shares = self.dt, 0, self._shares
        end = self._t0 + (self._steps + 1) * whole_step  # to the last bit, as records have it
        try:
            for k, share in enumerate(shares):
                self.dt = share * whole_step
                q, x = self._substep(t, q, x, end if k == len(shares) - 1 else t + self.dt)
                t, corrections = t + self.dt, corrections + self.iterations
        finally:
            self.dt = whole_step
        self.iterations = corrections
        total, most = self._corrections
        self._corrections = total + corrections, max(most, corrections)
        return q, x

    def _substep(self, t: float, q: np.ndarray, x: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the checked result of :meth:`step`, with the prescribed coordinates set to their motion at its end."""
        model, what = self.model, f"the result of step() of the method {self.name}"
        try:
            found = self.step(t, q.copy(), x.copy())
        except VitreeError:
            raise
        except Exception as error:
            raise CallableError(
                f"step() of the method {self.name} at t = {t:.9g} s raised {told(error)}", time=t
            ) from error
        try:
            q, x = (as_numbers(part).copy() for part in found)
        except (TypeError, ValueError):
            raise InputError(f"{what} is {found!r}; it must be a pair of arrays, q and x") from None
        if not (np.abs(q).max(initial=0.0) <= LARGEST and np.abs(x).max(initial=0.0) <= LARGEST):
            raise ConvergenceError(
                f"{self.name}: step {self._steps + 1} at t = {t:.9g} s, dt = {self.dt:g} s: "
                f"{scalar().STATUS_TEXT[scalar().STATUS['not finite']]}; halve dt",
                time=t, residual=np.nan, iterations=0,
            )  # fmt: skip
        q, x = model.validate_configuration(q, f"q in {what}"), model.validate_velocity(x, f"x in {what}")
        if self.motion.names:
            q[self.motion.iq], rate, _ = self.motion.at(end)
            if not self.uses_momentum:
                x[self.motion.iv] = rate
        return q, x

    def plan(self, q0: np.ndarray, steps: int, ends: Callable[[], np.ndarray]) -> None:
        """Take note of the number of ``steps``; raise an InputError if inputs or motions end before the run does.

        ``ends`` returns the times at which steps begin and end, which only prescribed motion needs.
        """
        if self.motion.names:
            self.motion.plan(q0, ends(), self.dt)
        if isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2 and len(self.inputs) < steps:
            raise InputError("inputs", self.inputs, f"has {len(self.inputs)} rows; {steps} steps need one each")

    def lasts(self) -> int | None:
        """Return for how many steps from the start there are rows of inputs and of motion; None if without end."""
        rows = self.motion.rows_given
        counts = [] if rows is None else [rows - 1]
        if isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2:
            counts.append(len(self.inputs))
        return min(counts) if counts else None

    def plan_ahead(self, steps: int) -> None:
        """Take note of prescribed motion over ``steps`` from the state on.

        Raises
        ------
        InputError
            If they are no whole number.
        """
        steps = steps_of(steps)
        if not self.motion.names:
            return
        self.motion.ends = self.t0 + self.dt * np.arange(self.steps, self.steps + steps + 1)

    def _driven(self) -> dict[str, object]:
        """The loads and constraints, as a stepper takes them."""
        model = self.model
        more = [row for wrench in self.wrenches for row in lower_wrench(model.index, wrench, {})]
        nu = len(model.input_names)
        for k, push in enumerate(self.pushes):
            more += [{**row, "input": nu + k} for row in lower_wrench(model.index, _load(push), {})]
        return {
            "loads": lower_loads(model.index, model.loads, tuple(more)) if more else model.load_list,
            "constraints": model.constraint_list, "drives": model.drive_list, "contacts": model.contact_list,
            "user": model.written,
            "nu": nu, "inputs": self.inputs, "gates": len(self.pushes),
        }  # fmt: skip

    def vary(self, spans: np.ndarray, ends: np.ndarray) -> None:
        """Take steps of sizes ``spans`` (n,) [s] from the state on; raise an InputError if the method cannot."""
        raise InputError("dt", spans, f"must be one number: the method {self.name} takes its own steps")

    def checkpoint(self) -> bytes:
        """Return the state with all that the next steps depend on; nothing if the method keeps more than a state."""
        own = type(self)
        if own.start is not Integrator.start or own.keep is not Integrator.keep:
            return b""
        q, x = self._state
        return checkpoint_of(self._mark(), np.concatenate([[self._t0, self._steps], q, x]).tobytes())

    def _mark(self) -> bytes:
        """How checkpoints of the method begin."""
        return f"{CHECKPOINT} {self.name} ".encode()

    def _history(self, checkpoint: bytes) -> bytes:
        """Return what a checkpoint of the method keeps; raise a ValueError if it is none."""
        mark = self._mark()
        if not checkpoint.startswith(mark):
            raise ValueError(f"it does not begin with {mark.decode()!r}")
        digest, history = checkpoint[len(mark) :][:DIGEST], checkpoint[len(mark) + DIGEST :]
        if digest != blake2b(history, digest_size=DIGEST).digest():
            raise ValueError("its digest is of other bytes")
        return history

    def _not_resumed(self, error: ValueError) -> InputError:
        start = "p0=run.p[-1]" if self.uses_momentum else "v0=run.v[-1]"
        return InputError(
            f"the checkpoint of the run is of another version of vitree, or damaged ({error}); "
            f"start from q0=run.q[-1], {start} and t0=run.t[-1]"
        )

    def resume(self, checkpoint: bytes) -> tuple[float, int, tuple[float, np.ndarray, np.ndarray]]:
        """Go on from a ``checkpoint``; raise an InputError if it is not one of this method.

        Returns
        -------
        t0 : float [s]
            When its run began.
        steps : int
            Those since then.
        state : (t, q, x)
        """
        nq = self.model.nq
        try:
            t0, steps, *state = np.frombuffer(self._history(checkpoint))
            if len(state) != nq + self.model.nv:
                raise ValueError(f"it has {len(state)} numbers of a state")
        except ValueError as error:
            raise self._not_resumed(error) from None
        self.go_back((t0, int(steps), state[:nq], state[nq:]))
        return self._t0, self._steps, (self.t, *self.state())

    def start_between(self, t: float, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the momentum (nv,) [kg m/s or kg m^2/s] at t, q0 from which one step leads to q1.

        Raises
        ------
        InputError
            If the method cannot start from two configurations.
        """
        raise InputError(
            f"the method {self.name} starts from q0 and v0; two configurations (q1=) are a start for the variational "
            'methods "linear-time" and "midpoint"'
        )

    def velocities(self, t: np.ndarray, q: np.ndarray, x: np.ndarray, contacts: np.ndarray | None = None) -> np.ndarray:
        """Return the velocities (n, nv) [m/s or rad/s] of rows of states t (n,), q (n, nq), x (n, nv).

        ``contacts`` (m, 9) are those of the rows: at nodes they do not close.
        """
        return self.model._constrained_velocities(q, x, self._rates(t, x)) if self.uses_momentum else x

    def kicked(self, t: np.ndarray, q: np.ndarray, x: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return x (n, nv) of rows of states behind a ``change`` of their momenta (n, nv) [kg m/s or kg m^2/s].

        Returns
        -------
        (n, nv) array [m/s or rad/s or kg m/s or kg m^2/s]
        """
        found: np.ndarray
        if self.uses_momentum:
            found = x + change
            return found
        model = self.model
        found = model._constrained_velocities(q, model._momenta(q, x) + change, self._rates(t, x))
        return found

    def _rates(self, t: np.ndarray, x: np.ndarray) -> np.ndarray | None:
        """Return rows like x (n, nv) with the rates [m/s or rad/s] of the prescribed coordinates at times t (n,).

        Returns
        -------
        (n, nv) array [m/s or rad/s], or None
            None if no coordinate is prescribed.
        """
        if not self.motion.names:
            return None
        rates = np.zeros_like(x)
        rates[:, self.motion.iv] = [self.motion.at(time)[1] for time in t]
        return rates

    def look(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return t [s], q (nq,) [m or rad] and v (nv,) [m/s or rad/s] of the state; v is that of its record."""
        q, x = self.state()
        return self.t, q, self.velocities(np.array([self.t]), q[None], x[None], self.pushed(0))[0]

    def pushed(self, row: int) -> np.ndarray:
        """Return the contacts that pushed in the step to the state, as records have them.

        Parameters
        ----------
        row : int
            The number of the record that they get.

        Returns
        -------
        (n, 9) array
            Record, number, impulse (3) [N s], slip velocity (3) [m/s] and gap [m] of each.
        """
        return np.empty((0, CONTACT_COLUMNS))

    def multipliers_of(self, records: Records) -> np.ndarray:
        """Return the multipliers of the constraints (n, m) [N or N m] at records.

        A variational method has them from its steps. Other methods take them of the accelerations at each record. A
        torque or inputs that are callables are not asked for that: their multipliers are those that steps found where
        they start, and NaN where no step started.
        """
        model = self.model
        if self.uses_momentum or not model.constraints:
            return records.multipliers
        if self.commanded or callable(self.torque) or callable(self.inputs):
            return self._found_multipliers(records)
        return np.array([self.multipliers_at(*state) for state in zip(records.t, records.q, records.x, strict=True)])

    def _found_multipliers(self, records: Records) -> np.ndarray:
        """The multipliers (n, m) at records that steps found where they start; NaN of the others."""
        return records.multipliers

    def multipliers_at(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the multipliers of the constraints at a state, (m,) [N or N m]: they push with Dh^T lam."""
        return self._accelerations_at(t, q, v)[1]

    def _accelerations_at(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model, t = self.model, float(entries(t, (), "t"))
        q, v = entries(q, (model.nq,), "q"), entries(v, (model.nv,), "v")
        prescribed = np.zeros(model.nv)
        if self.motion.names:
            prescribed[self.motion.iv] = self.motion.at(t)[2]
        return self._field().acceleration_at(t, q, v, prescribed)

    def _field(self) -> _core.Field:
        """The compiled object that knows the accelerations."""
        if self._own_field is None:
            self._own_field = scalar().ModelStepper(self.model.core, self.dt, self.torque, **self._driven())
        return self._own_field

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self._steps

    @property
    def total_iterations(self) -> int:
        """Corrections of all steps so far."""
        return self._corrections[0]

    @property
    def most_iterations(self) -> int:
        """Most corrections that one step took."""
        return self._corrections[1]


def steps_of(steps: object, least: int = 1) -> int:
    """Return a number of steps; raise an InputError for any other value."""
    count = whole(steps)
    if count is None or not least <= count < 2**53:
        raise InputError("steps", steps, f"must be a whole number of steps, at least {least}")
    return count


def part_of(h: object, dt: float) -> float:
    """Return a part of a step [s]; raise an InputError for any other value."""
    if not 0 < real(h) <= dt:
        raise InputError("h", h, f"must be a part of a step of {dt:g} s")
    return real(h)


def checkpoint_of(mark: bytes, history: bytes) -> bytes:
    """Return the checkpoint of an integrator with a history."""
    return mark + blake2b(history, digest_size=DIGEST).digest() + history


def damaged(error: Exception) -> InputError:
    """Return the error of a damaged saved state."""
    return InputError(f"the state to go back to is damaged: {told(error)}")


def torque_of(model: System, torque: Torque) -> np.ndarray | Asked | None:
    """Return joint forces as steppers take them: None, an array (nv,) [N or N m], or a callable of checked answers."""
    if callable(torque):
        return Asked(torque, "torque", "(t, q, v)", (model.nv,))
    return None if torque is None else model.validate_velocity(torque, "torque")


def progress_of(progress: Callable[[int, int], object] | None) -> Callable[[int, int], object] | None:
    """Return the caller's progress callable, whose errors name it."""
    return None if progress is None else Asked(progress, "progress", "(done, total)", timed=False)


def _load(wrench: ExternalWrench) -> Wrench:
    """The wrench as a load of the model."""
    return Wrench(wrench.frame, wrench.torque, wrench.force, wrench.axes)
