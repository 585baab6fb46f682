"""Episodes of many instances of a task: steps, rewards, ends, and new starts. No Gymnasium in it but spaces."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, real, shown, whole
from vitree.errors import InputError, UnknownNameError
from vitree.gym.actions import Actions
from vitree.gym.contacts import ContactTimes
from vitree.gym.functions import Function, numbers
from vitree.gym.layout import Layout, columns_at
from vitree.gym.observations import Observer, dtype_of, heights_of
from vitree.gym.randomization import Command, Drawn, Randomization, with_ranges
from vitree.gym.state import State
from vitree.gym.task import Task, endings_of, terms_of
from vitree.memory import require_memory
from vitree.run.arguments import RunArguments, Schedule, checked, count_steps
from vitree.run.instances import Instances
from vitree.run.lanes import Block, HeldBlocks, HeldSimulations, held_of
from vitree.run.rollout import threads_of


class Outcome(NamedTuple):
    """What an action led to, arrays (n,): rewards, and how episodes ended."""

    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    failed: np.ndarray


class Episodes:
    """Episodes of n instances.

    Parameters
    ----------
    task : Task
    count : int
    threads : int, optional
    dtype : dtype
        Of observations and actions.

    Attributes
    ----------
    dt : float [s]
        Time of an action.
    actions : Actions
    space : gymnasium.Space
        Of one observation.
    steps : (n,) array of int
        Actions of each episode.
    """

    def __init__(self, task: Task, count: int, threads: int | None, dtype: Any):
        n = self.count = counted(count, "num_envs")
        model, self.task, self.dtype = task.model, task, dtype_of(dtype)
        self.model: Any = model
        self.skip = counted(task.frame_skip, "frame_skip")
        self.layout = Layout(model, task.pose, task.contacts)
        self.actions = Actions(task, self.layout, self.dtype)
        asked = RunArguments(duration=1.0, dt=task.dt, method=task.method, options={**task.options})
        kind, given = checked(model, asked)
        schedule = Schedule.one(given.dt, False)
        self.step_dt, self.dt = schedule.dt, schedule.dt * self.skip
        self._last = None if task.duration is None else count_steps(real(task.duration), self.dt)
        require_memory(f"the states of {n} instances", 8.0 * n * (6 * (model.nq + model.nv) + 8),
                       "make fewer of them with num_envs=")  # fmt: skip
        self._start = None if task.start is None else Asked(task.start, "start", "(rng, count)", timed=False)
        self._functions(task)
        of = task.randomization or Randomization()
        self.drawn = Drawn(model, self.layout, of, self.step_dt)
        if task.height_scan is not None:
            self.layout.require_base("height_scan")
            if getattr(model, "ground", None) is None:
                raise InputError(f'height_scan scans a ground, and "{model.name}" has none')
        self._arrays(n)
        # what acts is given with each step
        q, v = self._starts(np.random.default_rng(0), n)
        found = Instances(model, q, v, None, {self.actions.kind: lambda t, Q, V: None}, {}, given, kind, schedule, n)
        alone = self.actions.kind != "torque" or self.drawn.models or of.pushes is not None
        plan = None if alone else Block.plan(found)
        self.held: HeldSimulations | HeldBlocks = held_of(found, plan, threads_of(threads))
        self.begun = False
        size = self.observed(self.state()).shape[1]
        self.space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), self.dtype)

    def _functions(self, task: Task) -> None:
        self._terms = {name: (weight, Function(function, "reward" if name == "reward" else f'reward["{name}"]', "QVA"))
                       for name, (weight, function) in terms_of(task).items()}  # fmt: skip
        self._endings = {
            name: Function(function, name if name == "terminated" else f'terminated["{name}"]', "QV")
            for name, function in endings_of(task).items()
        }
        self._observer = Observer(task, self.dtype)
        given = [function for _, function in self._terms.values()] + [*self._endings.values()]
        #: whether contacts are looked at
        self._touches = bool(self.layout.frames) and (
            self._observer.sees_contacts or any(function.of_state for function in given))  # fmt: skip

    def _arrays(self, n: int) -> None:
        task, k = self.task, self.actions.size
        self._command_of = task.command or Command({})
        self.steps = np.zeros(n, int)
        self._taken, self._before = np.zeros((n, k)), np.zeros((n, k))
        self._rates = np.zeros((n, self.model.nv))
        self._command = np.zeros((n, len(self._command_of.ranges)))
        self._next_command, self._next_push = np.full(n, np.inf), np.full(n, np.inf)
        self._latency = np.zeros(n, int)
        #: what drove the last actions, the newest first
        self._past: list[np.ndarray] = []
        self._times = ContactTimes(n, len(self.layout.frames))
        self._forces = np.zeros((n, len(self.layout.frames), 3))
        self._touching = np.zeros((n, len(self.layout.frames)), bool)
        self._sums = {name: np.zeros(n) for name in self._terms}
        drives = getattr(self.model, "drives", ())
        self._rest = self.actions.driving(np.zeros((1, k)))
        self._gains = np.tile(np.array([(d.kp, d.kd) for d in drives]).reshape(-1, 2).T, (n, 1, 1))

    # ---- the state -------------------------------------------------------------------------------------

    @property
    def t(self) -> np.ndarray:
        """Time of each episode (n,) [s]."""
        return self.steps * self.dt

    def state(self) -> State:
        """Return the states of all instances."""
        held = self.held
        arrays = {
            "q": held.q.copy(), "v": held.v.copy(), "t": self.t, "last_action": self._taken,
            "previous_action": self._before, "command": self._command, "contacts": self._touching,
            "contact_forces": self._forces, "air_time": self._times.air, "contact_time": self._times.contact,
            "last_air_time": self._times.last_air, "first_contact": self._times.first,
        }  # fmt: skip
        made = State(self.layout, arrays, {
            "accelerations": lambda: self._rates, "gaps": self._gaps,
            "drive_forces": lambda: self._drive_forces(made), "heights": lambda: heights_of(self.task, made),
        })  # fmt: skip
        return made

    def _gaps(self) -> np.ndarray:
        if isinstance(self.held, HeldBlocks):
            return np.empty((self.count, 0))
        return self.held.gaps()

    def _drive_forces(self, state: State) -> np.ndarray:
        drives = getattr(self.model, "drives", ())
        if not drives or self.actions.kind != "targets":
            raise InputError(f'"{self.model.name}" has no drives that follow actions; drive_forces are theirs')
        at_q, at_v, most = self._driven_joints
        kp, kd = self._gains[:, 0], self._gains[:, 1]
        force: np.ndarray = kp * (self._acting() - state.q[:, at_q])
        force -= kd * state.v[:, at_v]
        return np.clip(force, -most, most, out=force)

    @functools.cached_property
    def _driven_joints(self) -> tuple[slice | np.ndarray, slice | np.ndarray, np.ndarray]:
        """What selects the joints with drives in q and v, and the largest forces (k,) [N or N m] of these."""
        drives = getattr(self.model, "drives", ())
        joints = [self.model.joint(drive.joint) for drive in drives]
        at_q = columns_at([joint.q_slice.start for joint in joints])
        at_v = columns_at([joint.v_slice.start for joint in joints])
        return at_q, at_v, np.array([drive.effort_limit * drive.gear for drive in drives])

    def _acting(self) -> np.ndarray:
        """What drives the instances now, (n, k)."""
        if not self._past:
            return np.tile(self._rest, (self.count, 1))
        return self._driven_at(self.skip - 1)

    def observed(self, state: State) -> np.ndarray:
        """Return observations (n, k), with noise."""
        return self._observer.observed(state, self.drawn)

    # ---- starts ----------------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Begin all streams of random numbers anew."""
        self.drawn.streams.begin(seed)

    def begin(self, which: np.ndarray, rng: np.random.Generator, command: Mapping[str, float] | None = None) -> None:
        """Begin episodes of some instances (m,), with starts drawn by ``rng``; commands may be given."""
        if not len(which):
            return
        q, v = self._starts(rng, len(which))
        self.drawn.add_to_starts(q, v)
        if self.drawn.models and isinstance(self.held, HeldSimulations):
            systems = self.drawn.systems(len(which))
            self.held.begin(which, q, v, systems)
            for k, system in zip(which.tolist(), systems, strict=True):
                self._gains[k] = np.array([(d.kp, d.kd) for d in system.drives]).reshape(-1, 2).T
        else:
            self.held.reset(which, q, v)
        self.steps[which] = 0
        # arrays that states were given stay as they are
        for name in ("_taken", "_before", "_rates", "_forces", "_touching"):
            setattr(self, name, _without(getattr(self, name), which))
        for sums in self._sums.values():
            sums[which] = 0.0
        self._times.begin(which)
        self._latency[which] = self.drawn.latencies(len(which))
        for rows in self._past:
            rows[which] = self._rest
        of = self._command_of if command is None else with_ranges(self._command_of, command)
        self._ask(which, of)
        if self.drawn.of.pushes is not None:
            self._next_push[which] = self.drawn.waits(self.drawn.of.pushes.interval, "push times", len(which))

    def _starts(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        model = self.model
        if self._start is None:
            return np.tile(self.layout.pose, (count, 1)), np.zeros((count, model.nv))
        given = rng, count
        answer = self._start(*given)
        try:
            q, v = answer
        except (TypeError, ValueError) as error:
            raise self._start.error(f"returned {shown(answer)}; it must be a pair of arrays, q and v", given) from error
        return numbers(self._start, q, given, (count, model.nq)), numbers(self._start, v, given, (count, model.nv))

    def _ask(self, which: np.ndarray, of: Command) -> None:
        """Draw commands of some instances, and when the next ones come."""
        if not of.ranges:
            return
        self._command = self._command.copy()
        self._command[which] = of.sample(self.drawn.streams["command"], len(which))
        fixed = of is not self._command_of
        if of.interval is not None:
            wait = self.drawn.waits(of.interval, "command times", len(which))
            self._next_command[which] = np.inf if fixed else self.t[which] + wait

    # ---- steps -----------------------------------------------------------------------------------------

    def step(self, actions: ArrayLike, resting: np.ndarray) -> tuple[State, Outcome]:
        """Take actions; those that rest (n,) take none, and have no reward.

        Raises an InputError if actions are wrong, and a CallableError if a function goes wrong.
        """
        if not self.begun:
            raise InputError("the environment has not begun: call reset() before step()")
        held, moving = self.held, ~resting
        taken = self.actions.taken(actions, self.count)
        alive = held.alive & resting
        held.alive[resting] = False
        before = held.v.copy()
        try:
            self._push()
            self._drive(taken)
            if self._touches:
                impulses, self._touching = held.contact_impulses(self.layout.signs)
                self._forces = impulses / self.step_dt
        finally:
            held.alive[alive] = True
        self.steps[moving] += 1
        self._before, self._taken = self._taken, taken
        if resting.any():
            self._taken = np.where(resting[:, None], 0.0, taken)
        self._rates = (held.v - before) / self.dt
        if self._touches:
            self._times.advance(self._touching, self.dt)
        state = self.state()
        failed = ~held.alive & moving
        return state, self._judged(state, moving, failed)

    def _judged(self, state: State, moving: np.ndarray, failed: np.ndarray) -> Outcome:
        """Return rewards, and which episodes end."""
        n = self.count
        reward = np.zeros(n)
        for name, (weight, function) in self._terms.items():
            term = function.numbers(state, (n,))
            term = term if weight == 1.0 else weight * term
            self._sums[name] += term
            reward += term
        self.ended = {name: function.truths(state) & moving for name, function in self._endings.items()}
        terminated = np.zeros(n, bool)
        for rows in self.ended.values():
            terminated |= rows
        late = failed if self._last is None else failed | (self.steps >= self._last) & moving
        reward[~moving] = 0.0
        # new commands come after rewards, which are for those that were followed
        if self._command_of.interval is not None:
            due = np.flatnonzero((self.t >= self._next_command - 0.5 * self.dt) & moving)
            if len(due):
                self._ask(due, self._command_of)
        return Outcome(reward, terminated, late & ~terminated, failed)

    def _push(self) -> None:
        pushes = self.drawn.of.pushes
        if pushes is None:
            return
        due = np.flatnonzero((self.t >= self._next_push) & self.held.alive)
        if not len(due) or not isinstance(self.held, HeldSimulations):
            return
        for k, impulse in zip(due.tolist(), pushes.sample(self.drawn.streams["pushes"], len(due)), strict=True):
            self.held.push(k, self.layout.base_frame, impulse)
        self._next_push[due] = self.t[due] + self.drawn.waits(pushes.interval, "push times", len(due))

    def _drive(self, taken: np.ndarray) -> None:
        """Advance by the steps of an action, each instance with the action that has come to it by then."""
        acting = self.actions.driving(taken)
        longest = self.drawn.latency[1]
        if not longest:
            self._past = [acting]
            self.held.step({self.actions.kind: acting}, self.skip)
            return
        kept = (longest - 1) // self.skip + 2
        rest = self._past or [np.tile(self._rest, (self.count, 1))]
        self._past = [acting, *rest[: kept - 1]]
        while len(self._past) < kept:
            self._past.append(self._past[-1].copy())
        cuts = sorted({0, *(self._latency % self.skip).tolist()})
        for first, end in zip(cuts, [*cuts[1:], self.skip], strict=True):
            self.held.step({self.actions.kind: self._driven_at(first)}, end - first)

    def _driven_at(self, step: int) -> np.ndarray:
        """Return what drives the instances in a step of the action."""
        if len(self._past) == 1:
            return self._past[0]
        age = -((step - self._latency) // self.skip)
        found: np.ndarray = np.stack(self._past)[np.maximum(age, 0), np.arange(self.count)]
        return found

    def sums(self) -> dict[str, np.ndarray]:
        """Return the sum of each term of the reward (n,) over the episode."""
        return {name: sums.copy() for name, sums in self._sums.items()}

    def close(self) -> None:
        """End the threads."""
        self.held.close()


def options_of(options: Mapping[str, Any] | None, *known: str) -> dict[str, Any]:
    """Return the options of a reset; raise an UnknownNameError if one is not known."""
    given = dict(options or {})
    for name in given:
        if name not in known:
            raise UnknownNameError("option", name, known, argument="options")
    return {name: value for name, value in given.items() if value is not None}


def counted(value: object, name: str) -> int:
    """Return a whole number from 1 on; raise an InputError else."""
    count = whole(value)
    if count is None or not 1 <= count < 2**31:
        raise InputError(name, value, "must be a whole number, at least 1")
    return count


def _without(rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    found = rows.copy()
    found[which] = 0
    return found


