"""What drives a run: its control, sampled controllers, and the targets of drives."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import Asked, Keywords, as_numbers, entries, explain_calls, mapping, real, several
from vitree.errors import CallableError, InputError, UnknownNameError
from vitree.integrators.base import Kept, Torque
from vitree.model.system import System
from vitree.model.user_inputs import Inputs, resolve_inputs
from vitree.wording import a_kind, quoted

# ---- control: all that drives a run, in one object ---------------------------------------------------------


plain = scalar().plain

#: An input or a target of a run: a number, numbers for each step, or a callable of t.
Signal = ArrayLike | Callable[[float], ArrayLike]


@explain_calls
@dataclass(eq=False, kw_only=True, slots=True)
class Control:
    """What drives a mechanism in a run: joint torques, inputs of its loads, targets of its drives, prescribed motion.

    It is given as ``control=`` to :func:`vitree.simulate`, :class:`vitree.Simulation`, :func:`vitree.rollout`,
    :func:`vitree.compare` and :func:`vitree.linearize`. Joint torques alone can be given without it, as an array, a
    callable or a :class:`Controller`.

    Parameters
    ----------
    torque : (nv,) or (steps, nv) array, callable (t, q, v) -> (nv,), or Controller, optional [N or N m]
        Joint forces. A row for each step is a zero-order hold. A variational method calls a callable once a step, at
        the predicted middle of the step, and keeps its order. A :class:`Controller` is called at its sampling times.
    inputs : (nu,) or (steps, nu) array, callable (t, q, v) -> (nu,), mapping, or Controller, optional
        Values of ``model.input_names``, units as the loads take them; zero if not given. A mapping has numbers, arrays
        (steps,) or callables of t by name.
    targets : (n,) or (steps, n) array, callable (t, q, v) -> (n,), mapping, or Controller, optional [m or rad]
        Targets of the drives, in the order of ``model.drives``; a mapping has numbers, arrays (steps,) or callables of
        t by the names of the joints. Together with targets, ``inputs`` must be a mapping, or None. Two drives that
        share an input have one target.
    prescribed : mapping of joint name to (steps + 1,) array or callable, optional
        Motion of ``model.kinematic_names``: coordinates [m or rad] at the ends of the steps, or a callable of t that
        returns the coordinate, or (coordinate, rate, acceleration). Those not named rest. Their entries of v0 may be
        zero.
    effort_limits : bool
        Clip each entry of torque to the effort limit of its joint (``model.joints``); loads and inputs are not
        clipped. ``Trajectory.settings["effort_cut"]`` maps each name of ``v_names`` whose torque was clipped to the
        fraction of calls in which it was; trial calls of a callable count too.

    Notes
    -----
    In a rollout, arrays have a leading axis (n,) over instances where they differ, and callables take the states of all
    instances; see :func:`vitree.rollout`.
    """

    torque: Torque | Controller = None
    inputs: Inputs | Controller = None
    targets: Inputs | Controller = None
    prescribed: Mapping[str, object] | None = None
    effort_limits: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.torque, Control | Mapping | str):
            what = a_kind(self.torque)
            raise InputError("torque", self.torque, f"must be an array, a callable or a Controller, not {what}")


#: Fields of a Control that drive a run; its settings name those that did.
DRIVING = ("torque", "inputs", "targets", "prescribed")
#: A control that does nothing, by fields.
_NOTHING = dict.fromkeys(DRIVING) | {"effort_limits": False}


def parts_of(control: object) -> Keywords:
    """Return torque, inputs, targets, prescribed and effort_limits of what a caller gives as ``control=``.

    Raises an InputError if it is neither a Control nor joint torques.
    """
    if control is None or type(control) is np.ndarray:
        return {**_NOTHING, "torque": control}
    if isinstance(control, Control):
        return {name: getattr(control, name) for name in _NOTHING}
    if isinstance(control, Mapping | str | bool):
        raise InputError(
            "control", control,
            "must be joint torques (an array, a callable or a Controller), or vt.Control(torque=, inputs=, targets=, "
            f"prescribed=, effort_limits=), not {a_kind(control)}"
        )
    return {**_NOTHING, "torque": control}


# ---- controllers that are sampled: called at a period, their answers held in between -----------------------


@explain_calls
@dataclass(frozen=True, eq=False)
class Controller:
    """A function that is asked every ``period``; its answer acts ``delay`` later and is held until the next one acts.

    It is the ``control=`` of a run, or one of the fields torque, inputs and targets of a :class:`Control`. It is called
    between steps, once for each sampling time.

    Parameters
    ----------
    function : callable (t, q, v) -> array
        Returns joint forces (nv,) [N or N m], inputs (nu,), or targets (n,) of drives. With ``observe`` it is a
        callable (t, observation).
    period : float [s]
        A whole number of steps.
    delay : float [s]
        Time between an observation and the answer's effect, a whole number of steps; it may be longer than the period.
    observe : callable (t, q, v) -> object, optional
        Makes of the state what the function is given, such as a sensor's reading.
    initial : (nv,), (nu,) or (n,) array, optional [N or N m]
        What acts before the first answer does, units as of the answers; zero if not given.
    joints : sequence of str, optional
        Names of the joints of the model that it is for, without those that float. A run of a model with others, or in
        another order, is an error.

    Raises
    ------
    InputError
        If a callable is none, or a time is not finite, or the period not positive, or the delay negative, or joints
        are no names.
    """

    function: Callable[..., ArrayLike]
    period: float
    delay: float = 0.0
    observe: Callable[..., object] | None = None
    initial: ArrayLike | None = None
    joints: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.joints is not None:
            object.__setattr__(self, "joints", several(self.joints, "joints", "a sequence of names of joints"))
        for name in ("function", "observe"):
            value = getattr(self, name)
            if not callable(value) and not (name == "observe" and value is None):
                raise InputError(name, value, "of a controller must be a callable")
        for name, low in (("period", "positive"), ("delay", "zero or positive")):
            value = real(getattr(self, name))
            if not (0 < value < np.inf or (name == "delay" and value == 0)):
                raise InputError(name, getattr(self, name), f"of a controller must be a {low} time [s]")
            object.__setattr__(self, name, value)


def joints_of(model: System) -> tuple[str, ...]:
    """Return the names of the joints of a model, without those that float, for ``Controller(joints=)``."""
    return tuple(joint.name for joint in getattr(model, "joints", ()) if joint.kind != "free")


def require_for(controller: Controller, what: str, model: System) -> None:
    """Raise an InputError if a controller is for a model with other joints."""
    if controller.joints is None or controller.joints == (own := joints_of(model)):
        return
    one, other = next(pair for pair in zip_longest(controller.joints, own) if pair[0] != pair[1])
    theirs, ours = "no joint" if one is None else f'the joint "{one}"', "none" if other is None else f'"{other}"'
    raise InputError(
        what, controller,
        f'is for a model that has {theirs} where "{model.name}" has {ours}; give one that is made for "{model.name}"'
    )


def function_of(controller: Controller) -> Callable[..., ArrayLike]:
    """Return a controller's function as one of (t, q, v)."""
    function, observe = controller.function, controller.observe
    return function if observe is None else lambda t, q, v: function(t, observe(t, q, v))


def of_another_function(
    controller: Controller, function: Callable[..., ArrayLike], initial: ArrayLike | None
) -> Controller:
    """Return a controller of the same clock with another function (t, q, v)."""
    return replace(controller, function=function, observe=None, initial=initial)


class Held:
    """A controller within a run.

    Raises an InputError if the period or the delay is no whole number of steps, or ``initial`` has a wrong shape.

    Parameters
    ----------
    controller : Controller
    what : {"torque", "inputs"}
    size : int
        Of its answers.
    dt : float [s]

    Attributes
    ----------
    value : (size,) array
        What acts.
    """

    def __init__(self, controller: Controller, what: str, size: int, dt: float):
        self.function, self.size = function_of(controller), size
        self.asked = Asked(self.function, what, "(t, q, v)", (size,))
        self.every = _steps("period", controller.period, dt)
        self.late = _steps("delay", controller.delay, dt) if controller.delay else 0
        given = controller.initial
        self.first = np.zeros(size) if given is None else entries(given, (size,), "initial").copy()
        self.begin()

    def begin(self) -> None:
        """Begin as if nothing had been asked."""
        self.value = self.first
        #: answers that act from a step on
        self.coming: deque[tuple[int, np.ndarray]] = deque()

    def next(self, at: int) -> int:
        """Return the first step beyond ``at`` before which it is asked, or an answer begins to act."""
        tick = at - at % self.every + self.every
        return min(tick, self.coming[0][0]) if self.coming else tick

    def ask(self, at: int, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Ask before the step ``at``; return whether the answer acts at once. Others come later."""
        found: Any
        try:
            found = self.function(t, q, v)
        except CallableError:
            raise
        except Exception as error:
            raise self.asked.raised(error, (t, q, v)) from error
        if not plain(found, self.size):
            found = self.asked.numbers(found, (t, q, v))
        if self.late or self.coming:
            self.coming.append((at + self.late, found.copy()))
            return False
        self.value = found.copy()
        return True

    def arrived(self, at: int) -> bool:
        """Let answers act that do so before the step ``at``; return whether another value acts."""
        coming, changed = self.coming, False
        while coming and coming[0][0] <= at:
            self.value, changed = coming.popleft()[1], True
        return changed

    def settings(self) -> list[object]:
        """Return all that changes in a run, as a file keeps it."""
        return [self.value.tolist(), [[step, value.tolist()] for step, value in self.coming]]

    def take_up(self, kept: Sequence[Any]) -> None:
        """Go on from :meth:`settings` of a run before; raise an InputError if they are damaged."""
        try:
            value, coming = np.array(kept[0], dtype=float), [(int(k), np.array(x, dtype=float)) for k, x in kept[1]]
            if not all(x.shape == self.first.shape and np.isfinite(x).all() for x in (value, *(x for _, x in coming))):
                raise ValueError("they have another size")
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(f"the run to resume has damaged answers of its controller: {error}") from None
        self.value, self.coming = value, deque(coming)

    def keep(self) -> Kept:
        """Return all that changes in a run."""
        return self.value, tuple(self.coming)

    def go_back(self, kept: Kept) -> None:
        """Go on from what :meth:`keep` returned."""
        self.value, self.coming = kept[0], deque(kept[1])


class HeldTogether:
    """A controller of all instances of a rollout: a callable (t, Q, V) -> (n, size), which is called in each step but
    those that it is told to :meth:`skip`.

    Raises an InputError if the period or the delay is no whole number of steps.

    Parameters
    ----------
    controller : Controller
        Its function takes states (n, nq) and (n, nv), and returns answers (n, size).
    what : {"torque", "inputs", "targets"}
    size : int
        Of an instance's answer.
    dt : float [s]
    """

    def __init__(self, controller: Controller, what: str, size: int, dt: float):
        given = controller.initial
        self._first = np.zeros(size) if given is None else entries(given, (*np.shape(given)[:-1], size), "initial")
        self._held, self._what, self._step = Held(replace(controller, initial=None), what, size, dt), what, 0

    def __call__(self, t: float, Q: np.ndarray, V: np.ndarray) -> np.ndarray:
        held = self._held
        if self._step == 0:
            shape = len(Q), held.size
            held.asked = Asked(held.function, self._what, "(t, Q, V)", shape)
            if self._first.shape not in (shape, shape[1:]):
                needed = f"must be {shape[1:]} for all instances, or {shape}"
                raise InputError(f"initial of the controller has shape {self._first.shape}; it {needed}")
            held.value = np.broadcast_to(self._first, shape)
        if self._step % held.every == 0:
            held.ask(self._step, t, Q, V)
        held.arrived(self._step)
        self._step += 1
        return held.value

    def lasts(self) -> int:
        """Return for how many steps its last answer acts, from the one on in which it was called."""
        return self._held.next(self._step - 1) - self._step + 1

    def skip(self, count: int) -> None:
        """Go on as if it had been called in so many more of these steps."""
        self._step += count


class HeldRows(Held):
    """Joint torques with a row for each step, within a run.

    Parameters
    ----------
    rows : (steps, size) array [N or N m]
        Of the steps from the one on before which it is first asked.
    """

    def __init__(self, rows: np.ndarray):
        self.rows, self.size, self.every, self.late, self.first = rows, rows.shape[1], 1, 0, rows[0]
        self.begin()

    def begin(self) -> None:
        super().begin()
        self.begun: int | None = None

    def ask(self, at: int, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Let the row of the step ``at`` act."""
        if self.begun is None:
            self.begun = at
        self.value = self.rows[at - self.begun]
        return True

    def take_up(self, kept: Sequence[object]) -> None:
        """Go on after a run before: the rows begin anew."""

    def keep(self) -> Kept:
        return self.value, self.begun

    def go_back(self, kept: Kept) -> None:
        self.value, self.begun = kept


def _steps(name: str, value: float, dt: float) -> int:
    """Return how many steps of dt a time of a controller has."""
    count = round(min(value / dt, 2.0**53))
    if count < 1 or abs(count * dt - value) > 1e-9 * value:
        low = max(int(value / dt), 0 if name == "delay" else 1)
        raise InputError(
            name, value,
            f"s of the controller is not a whole number of steps of dt={quoted(dt)} s; take {low * dt:.12g} s ({low} "
            f"steps) or {(low + 1) * dt:.12g} s"
        )
    return count


# ---- targets of drives: inputs of a model, given by the joints that they move ------------------------------


class Targets:
    """Where the targets of a model's drives are among its inputs.

    Raises an InputError if no drive has an input as its target.

    Parameters
    ----------
    model : System
    targets : object
        Those that are given, for the error.

    Attributes
    ----------
    at : dict of joint to int
        The place among ``model.input_names`` of the target of each drive whose target is an input, in the order of
        ``model.drives``.
    where : (n,) array of int
        The same places.
    alone : bool
        Whether the targets are all inputs, in their order.
    shared : list of pairs of joints
        Whose drives have one input.
    """

    def __init__(self, model: System, targets: object):
        names, drives = model.input_names, getattr(model, "drives", ())
        self.at = {drive.joint: names.index(drive.target) for drive in drives if isinstance(drive.target, str)}
        if not self.at:
            raise InputError("targets", targets, f'are for drives, and "{model.name}" has none with an input; '
                             "model.with_drives(...) adds some")  # fmt: skip
        self.model = model
        self.where = np.array(list(self.at.values()))
        self.alone = self.where.tolist() == list(range(len(names)))
        #: the joints of a mapping, and the places of their targets, as they were last looked up
        self._joints, self._places = [*self.at], self.where
        self.shared = [pair for pair in combinations(self.at, 2) if self.at[pair[0]] == self.at[pair[1]]]

    # ---- in a step -----------------------------------------------------------------------------------------

    def quickly(self, targets: object, now: np.ndarray) -> np.ndarray:
        """Return the inputs (nu,) with these targets instead of those that act ``now``.

        Whether floats are finite is not asked: the stepper looks at them.
        """
        if type(targets) is dict and {*map(type, targets.values())} == {float} and not self.shared:
            if [*targets] != self._joints and self.at.keys() >= targets.keys():
                self._joints, self._places = [*targets], np.array([self.at[joint] for joint in targets])
            if [*targets] == self._joints:
                found = now.copy()
                found[self._places] = np.fromiter(targets.values(), float, len(targets))
                return found
        if type(targets) is np.ndarray and targets.shape == self.where.shape and not self.shared:
            if self.alone:
                return targets
            if targets.dtype == now.dtype:
                found = now.copy()
                found[self.where] = targets
                return found
        return self.over(targets, now)

    def over(self, targets: object, now: np.ndarray) -> np.ndarray:
        """Return the inputs (nu,) with these targets, an array (n,) or numbers by joints, instead of those ``now``.

        Raises an InputError or UnknownNameError if they are others, or not finite.
        """
        if not isinstance(targets, Mapping):
            found, numbers = now.copy(), entries(targets, self.where.shape, "targets", f" for {len(self.at)} drives")
            self._require_agreement(dict(zip(self.at, numbers.tolist(), strict=True)))
            found[self.where] = numbers
            return found
        values, at = now.tolist(), self.at
        for joint, value in targets.items():
            place = at.get(joint)
            if place is None:
                raise self._unknown(joint)
            if type(value) is not float or not math.isfinite(value):
                value = float(entries(value, (), f'targets["{joint}"]'))
            values[place] = value
        self._require_agreement(targets)
        return np.array(values)

    # ---- in a run ------------------------------------------------------------------------------------------

    def signals(
        self, targets: Inputs | Controller, inputs: Mapping[str, object]
    ) -> Mapping[str, object] | Callable[..., np.ndarray] | Controller:
        """Return inputs for a run: by name, or a callable or Controller that gives all.

        Raises an InputError or UnknownNameError if the targets are wrong, or are incompatible with the inputs.
        """
        if isinstance(targets, Controller):
            return self._of_controller(targets, inputs)
        if callable(targets):
            return self._of_callable(targets, inputs)
        if isinstance(targets, Mapping):
            for joint in targets:
                if joint not in self.at:
                    raise self._unknown(joint)
            found: Mapping[str, np.ndarray | Asked]
            found = {joint: _signal(value, joint) for joint, value in targets.items()}
            if len({np.shape(value) for value in found.values() if not callable(value) and np.ndim(value)}) > 1:
                raise InputError("targets", targets, "has arrays of different lengths; give one for each step")
        else:
            found = self._columns(targets)
        self._require_agreement(found)
        names = self.model.input_names
        return {**inputs, **{names[self.at[joint]]: value for joint, value in found.items()}}

    def require_apart(self, targets: object, inputs: Mapping[str, object]) -> None:
        """Raise an InputError if an input is given as a target and among the inputs."""
        for joint in targets if isinstance(targets, Mapping) else self.at:
            if joint in self.at and self.model.input_names[self.at[joint]] in inputs:
                name = self.model.input_names[self.at[joint]]
                raise InputError(
                    "targets", targets, f'and inputs both have "{name}", the target of "{joint}"; leave it out of one'
                )

    def _columns(self, targets: object) -> dict[str, np.ndarray]:
        """Return an array (n,) or (steps, n) by joints."""
        count = len(self.at)
        needed = f"({count},) or (steps, {count}) for {count} drives, a callable, or a mapping of joints to signals"
        try:
            rows = as_numbers(targets)
        except TypeError as error:
            raise InputError("targets", targets, f"has {error}; it must be an array {needed}") from None
        if rows.ndim not in (1, 2) or rows.shape[-1] != count:
            raise InputError("targets", targets, f"has shape {rows.shape}; it must be {needed}")
        rows = entries(rows, rows.shape, "targets")
        return {joint: rows[..., k] for k, joint in enumerate(self.at)}

    def _of_callable(
        self, targets: Callable[..., ArrayLike], inputs: Mapping[str, object]
    ) -> Callable[..., np.ndarray]:
        """Return a callable (t, q, v) that returns all inputs."""
        others = resolve_inputs(self.model, inputs or None)
        if isinstance(others, np.ndarray) and others.ndim > 1:
            raise InputError(
                "targets", targets, "that are a callable go with inputs that are numbers or callables of t, not rows"
            )
        asked, size = self._asked(targets), len(self.model.input_names)

        def all_inputs(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            numbers = asked(t, q, v)
            found = np.zeros(size) if others is None else others(t, q, v) if callable(others) else others.copy()
            found[self.where] = numbers
            return found

        return all_inputs

    def _of_controller(self, targets: Controller, inputs: Mapping[str, object]) -> Controller:
        """Return a controller of the same clock whose answers are all inputs."""
        others = resolve_inputs(self.model, inputs or None)
        if others is not None and not (isinstance(others, np.ndarray) and others.ndim == 1):
            raise InputError(
                "targets", targets, "of a Controller go with inputs that are numbers; give a Controller of all inputs"
            )
        first = np.zeros(len(self.model.input_names)) if others is None else others.copy()
        if targets.initial is not None:
            first[self.where] = entries(targets.initial, self.where.shape, "initial")
        function = self._of_callable(function_of(targets), inputs)
        return of_another_function(targets, function, first)

    def _asked(self, targets: Callable[..., ArrayLike]) -> Callable[..., np.ndarray]:
        """Return a callable of targets whose errors name them."""
        asked = Asked(targets, "targets", "(t, q, v)", self.where.shape)
        if not self.shared:
            return asked

        def agreed(*state: object) -> np.ndarray:
            numbers: np.ndarray = asked(*state)
            try:
                self._require_agreement(dict(zip(self.at, numbers.tolist(), strict=True)))
            except InputError as error:
                raise asked.error(f"the returned targets disagree: {error}", state) from None
            return numbers

        return agreed

    # ---- what is wrong ---------------------------------------------------------------------------------------

    def _unknown(self, joint: object) -> UnknownNameError:
        return UnknownNameError("drive", joint, self.at, argument="targets")

    def _require_agreement(self, values: Mapping[str, Signal]) -> None:
        """Raise an InputError if two drives of one input are given different targets."""
        for one, other in self.shared:
            if one not in values or other not in values:
                continue
            a, b = values[one], values[other]
            if a is not b and (callable(a) or callable(b) or not np.array_equal(a, b)):
                name = self.model.input_names[self.at[one]]
                raise InputError(
                    "targets", values,
                    f'differ for "{one}" and "{other}", whose drives have one input, "{name}"; give both the same '
                    "target, or name one of the joints"
                )


def with_targets(
    model: System, targets: Inputs | Controller, inputs: object
) -> Mapping[str, object] | Callable[..., np.ndarray] | Controller:
    """Return inputs for a run with the targets of drives among them.

    Raises an InputError or UnknownNameError if there is no such drive, or the targets are wrong, or are incompatible
    with the inputs.

    Parameters
    ----------
    model : System
    targets : mapping of joint to signal, array (n,) or (steps, n), callable (t, q, v) -> (n,), or Controller
        Of the drives whose targets are inputs, in the order of ``model.drives``.
    inputs : mapping of name to signal, or None
    """
    plan = Targets(model, targets)
    named_inputs = inputs_beside(plan, targets, inputs)
    return plan.signals(targets, named_inputs)


def inputs_beside(plan: Targets, targets: object, inputs: object) -> Keywords:
    """Return the inputs beside targets; raise an InputError if they are no mapping, or have a target among them."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise InputError("targets", targets, "go with inputs that are a mapping of names, or none")
    found = mapping(inputs, "inputs", "a mapping of names")
    plan.require_apart(targets, found)
    return found


def _signal(signal: object, joint: str) -> np.ndarray | Asked:
    """One target of a mapping: a number, numbers for each step, or a callable of t."""
    what = f'targets["{joint}"]'
    if callable(signal):
        return Asked(signal, what, "(t)", ())
    try:
        numbers = as_numbers(signal)
    except TypeError as error:
        raise InputError(f"{what} must be numbers or a callable of t; it has {error}") from None
    if numbers.ndim > 1:
        raise InputError(f"{what} has shape {numbers.shape}; it must be a number, or have one for each step")
    return entries(numbers, numbers.shape, what)
