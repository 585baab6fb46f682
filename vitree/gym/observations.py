"""Observations of a task, and the same for states from elsewhere: another simulator, or a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, entries, mapping, numbers_of, of_kind
from vitree.errors import InputError, UnknownNameError
from vitree.gym.actions import Actions
from vitree.gym.functions import Function
from vitree.gym.layout import Layout
from vitree.gym.randomization import Drawn
from vitree.gym.state import OF_CONTACTS, State
from vitree.gym.task import Task, quantities_of
from vitree.run.controller import Control, Controller, joints_of


class Observer:
    """What a task observes of states.

    Attributes
    ----------
    sees_contacts : bool
        Whether it needs contacts.
    """

    def __init__(self, task: Task, dtype: np.dtype[Any]):
        self.dtype = dtype
        self._quantities = quantities_of(task)
        self._function = Function(task.observe, "observe", "QV") if callable(task.observe) else None
        named = not {*OF_CONTACTS}.isdisjoint(self._quantities or ())
        self.sees_contacts = named or (self._function is not None and self._function.of_state)
        #: entries of an observation, once that is known
        self._size: int | None = None

    def observed(self, state: State, drawn: Drawn | None = None) -> np.ndarray:
        """Return observations (n, k), with noise if it is drawn."""
        if self._function is not None:
            found = self._function.numbers(state, (len(state.q), self._size)).astype(self.dtype)
        else:
            parts = [self._rows(state, name, scale, drawn) for name, scale in (self._quantities or {}).items()]
            found = np.concatenate(parts, axis=1, dtype=self.dtype, casting="same_kind")
        self._size = found.shape[1]
        return found

    def _rows(self, state: State, name: str, scale: np.ndarray, drawn: Drawn | None) -> np.ndarray:
        rows = state.named(name)
        width = 0.0 if drawn is None else drawn.of.noise.get(name, 0.0)
        if drawn is not None and width:
            rows = rows + drawn.streams[f"noise {name}"].uniform(-width, width, rows.shape)
        try:
            return rows if scale.ndim == 0 and scale == 1.0 else rows * scale
        except ValueError:
            raise InputError(f'observe["{name}"]', scale, f"must be a number, or {rows.shape[1]} of them") from None


def heights_of(task: Task, state: State) -> np.ndarray:
    """Return the heights (n, k) [m] of the task's scan at states; no columns without a scan or a ground."""
    scan, ground = task.height_scan, getattr(task.model, "ground", None)
    if scan is None or ground is None:
        return np.empty((len(state.q), 0))
    return scan.heights(ground, state.base_position, state.heading)


#: What is asked of the robot: numbers by name, or a function of time that returns them.
Commands = Mapping[str, float] | Callable[[float], Mapping[str, float]] | None
#: What a policy is for, in errors.
A_TASK = "a Task, such as vitree.gym.tasks.cart_pole()"


class PolicyInterface:
    """What a policy of a task needs elsewhere, in another simulator or on a robot: observations, and what actions mean.

    ``control`` makes of a policy what drives runs of :func:`vitree.simulate` and :func:`vitree.rollout`.

    Parameters
    ----------
    task : Task
        Its observations must need no contacts, drive forces or accelerations.
    dtype : dtype
        Of observations.

    Attributes
    ----------
    dt : float [s]
        Time of an action.
    dtype : numpy.dtype
        Of observations.
    action_size : int
        Numbers of an action, without choices.

    Raises
    ------
    InputError, UnknownNameError
        If the observations need what a state alone does not tell, or an argument is wrong.
    """

    def __init__(self, task: Task, dtype: Any = np.float32):
        self.task = of_kind(task, Task, "task", A_TASK)
        self.dt = float(task.dt) * int(task.frame_skip)
        self._layout = Layout(task.model, task.pose, task.contacts)
        self.dtype = dtype_of(dtype)
        self._actions = Actions(task, self._layout, self.dtype)
        self.action_size = self._actions.size
        self._observer = Observer(task, self.dtype)
        needed = {*OF_CONTACTS, "gaps", "drive_forces", "joint_accelerations", "t"} & {*(quantities_of(task) or ())}
        if needed:
            raise InputError("task", task, f"observes {', '.join(sorted(needed))}, which no state alone tells")

    def observe(
        self, q: ArrayLike, v: ArrayLike, last_action: ArrayLike | None = None,
        command: Mapping[str, float] | None = None, previous_action: ArrayLike | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the observation (k,) of a state, without noise [units as ``observe`` has them].

        Parameters
        ----------
        q : (nq,) array [m or rad]
        v : (nv,) array [m/s or rad/s]
        last_action, previous_action : (k,) array, optional
            Zeros if not given, as after a reset. [-]
        command : mapping of name to number, optional
            Of the task's command, zero where not given [units as the task has them].

        Raises
        ------
        InputError, UnknownNameError
            If an array has a wrong shape, or a command is not known.
        """
        model: Any = self.task.model
        actions = [self._action(given, name) for given, name in
                   ((last_action, "last_action"), (previous_action, "previous_action"))]  # fmt: skip
        q, v = model.validate_configuration(q, "q"), model.validate_velocity(v, "v")
        state = self._state(np.array(q)[None], np.array(v)[None], (actions[0], actions[1]), self._asked(command))
        found: np.ndarray = self._observer.observed(state)[0]
        return found

    def _asked(self, command: Mapping[str, float] | None) -> np.ndarray:
        """Return commands (c,) by their names, zero where not given."""
        names = [*self.task.command.ranges] if self.task.command else []
        asked = dict.fromkeys(names, 0.0)
        for name, value in (command or {}).items():
            if name not in asked:
                raise UnknownNameError("command", name, names, argument="command")
            asked[name] = float(entries(value, (), f'command["{name}"]'))
        return np.array([*asked.values()])

    def _state(
        self, q: np.ndarray, v: np.ndarray, actions: tuple[np.ndarray, np.ndarray], asked: np.ndarray
    ) -> State:
        """Return the states (n, ...) of robots with one command, from the last actions and those before."""
        n = len(q)
        state = State(self._layout, {
            "q": q, "v": v, "t": np.zeros(n), "last_action": actions[0], "previous_action": actions[1],
            "command": np.tile(asked, (n, 1)),
        }, {"heights": lambda: heights_of(self.task, state)})  # fmt: skip
        return state

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Entries of an observation by the names of its quantities; one is "observation" if a function makes it.

        Raises
        ------
        InputError, UnknownNameError
            If the robot has no such quantity.
        """
        none = np.zeros((1, self.action_size))
        state = self._state(self._layout.pose[None], np.zeros((1, self.task.model.nv)), (none, none), self._asked(None))
        names = quantities_of(self.task)
        if names is None:
            return {"observation": self._observer.observed(state).shape[1]}
        return {name: state.named(name).shape[1] for name in names}

    def control(
        self, policy: Callable[[np.ndarray], ArrayLike], command: Commands = None, *, delay: float = 0.0
    ) -> Control:
        """Return what drives a run by a policy, for ``control=`` of simulate, Simulation and rollout.

        The policy is called every ``dt`` of the interface, and its action is held in between, as in an environment. In
        a rollout it is called with the observations of all instances at once. Its memory of the last actions begins
        anew with each run that begins at an earlier or the same time as the call before.

        Parameters
        ----------
        policy : callable (observations) -> actions
            Of observations (n, m) to actions (n, k), or (n,) where these are choices, such as an :class:`OnnxPolicy`,
            or ``lambda seen: learner.predict(seen, deterministic=True)[0]`` of Stable-Baselines3.
        command : mapping of name to number, or callable (t) -> mapping, optional
            Of the task's command, zero where not given [units as the task has them].
        delay : float [s]
            Time between an observation and the effect of its action, a whole number of steps.

        Raises
        ------
        InputError, UnknownNameError
            If a command is not known, or an argument is wrong. In a run, a CallableError if the policy's answer has a
            wrong shape or is not finite.
        """
        of_time = Asked(command, "command", "(t)") if callable(command) else None
        asked = self._asked(None if callable(command) else mapping(command, "command", "a mapping of names to numbers"))
        called = Asked(policy, "policy", "(observations)", timed=False)
        at, last, before = -np.inf, np.empty((0, 0)), np.empty((0, 0))

        def driven(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            nonlocal at, last, before
            Q, V = np.atleast_2d(q), np.atleast_2d(v)
            shape = len(Q), self.action_size
            if t <= at or last.shape != shape:
                last = before = np.zeros(shape)
            now = asked if of_time is None else self._asked(of_time(t))
            actions = called(self._observer.observed(self._state(Q.copy(), V.copy(), (last, before), now)))
            before, last, at = last, self._actions.taken(actions, len(Q)), t
            found = self._actions.driving(last)
            return found if np.ndim(q) == 2 else found[0]

        rest = self._actions.driving(np.zeros((1, self.action_size)))[0]
        found = Control()
        setattr(found, self._actions.kind, Controller(
            driven, self.dt, delay, initial=rest, joints=joints_of(self.task.model)
        ))
        return found

    def _action(self, given: ArrayLike | None, name: str) -> np.ndarray:
        found = np.zeros(self._actions.size) if given is None else numbers_of(given, name).astype(float)
        if found.shape != (self._actions.size,):
            raise InputError(name, given, f"has shape {found.shape}; it must be ({self._actions.size},)")
        return found[None]

    def drive(self, action: ArrayLike) -> np.ndarray:
        """Return what an action lets drive the robot, within its bounds.

        Parameters
        ----------
        action : (k,) array, or int where actions are choices [N, N m, m or rad, or without unit where they are scaled]

        Returns
        -------
        array
            Torques (nv,), targets (drives,) in the order of ``model.drives``, or inputs (nu,) [N, N m, m or rad].

        Raises
        ------
        InputError
            If the action has a wrong shape, or is not finite.
        """
        found: np.ndarray = self._actions.driving(self._actions.taken(np.asarray(action)[None], 1))[0]
        return found


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """Return a type of floats; raise an InputError if it is none."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError("dtype", dtype, "must be numpy.float32 or numpy.float64")
    return found
