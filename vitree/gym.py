"""Environments of Gymnasium over many instances of a model. Needs gymnasium (extra "gym").

:class:`VectorEnv` steps all instances in one loop of compiled code; rewards, ends and observations are functions of the
states (n, nq) and (n, nv) of all instances at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, Asking, Keywords, as_numbers, numbers_of, real, several, shown, whole
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.memory import require_memory
from vitree.model.system import System
from vitree.run.arguments import RunArguments, Schedule, checked, count_steps
from vitree.run.instances import Instances
from vitree.run.lanes import Block, HeldBlocks, HeldSimulations, held_of
from vitree.run.rollout import threads_of

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtraError("gymnasium", "gym", "vitree.gym") from error

#: What an action is: torque of the actuators, or targets of the drives.
ACTIONS = ("torque", "targets")


class VectorEnv(gymnasium.vector.VectorEnv):
    """An environment of Gymnasium over n instances of a model.

    Episodes that end are reset by the next step (``metadata["autoreset_mode"]`` is NEXT_STEP): that step takes no
    action for them, and its reward is zero. An instance whose step cannot be solved is truncated, and
    ``infos["failed"]`` (n,) says so.

    Parameters
    ----------
    model : Model
    num_envs : int
    dt : float [s]
        The integrator's step.
    frame_skip : int
        Steps of an action.
    duration : float, optional [s]
        Episodes are truncated after this time; never if not given.
    start : callable (rng, n) -> (Q, V), optional
        Starts (n, nq) and (n, nv) of n episodes, drawn from a NumPy generator; the neutral configuration at rest if not
        given.
    reward : callable (Q, V, A) -> (n,)
        Of the states (n, nq) and (n, nv) after an action, and of the actions (n, k).
    terminated : callable (Q, V) -> (n,), optional
        Whether episodes end; never if not given.
    observe : callable (Q, V) -> (n, k), optional
        Observations; q and v in a row if not given.
    action : {"torque", "targets"}
        What an action is.
    actuators : names, optional
        Coordinates of ``v_names`` that a torque acts on; all that belong to joints of one coordinate if not given.
        Joints that have drives, in the order of ``model.drives``, for targets.
    limit : float or (k,) array, optional [N, N m, m or rad]
        Actions are cut to these sizes, which are the bounds of the action space. If not given, torques are cut to the
        effort limits of the joints, and targets to the limits of their positions.
    method : str, optional
        A name of ``model.methods``.
    threads : int, optional
        As many as the processor runs for this process, if not given.
    **options
        Of the method.

    Attributes
    ----------
    model : Model
    q, v : (n, nq) and (n, nv) arrays [m or rad, m/s or rad/s]
        The states.
    t : (n,) array [s]
        Time of each episode.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    ModelError
        If accelerations do not exist.
    MissingExtraError
        If gymnasium is not installed, by the import of this module.
    """

    metadata: Keywords = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        model: System,
        num_envs: int,
        *,
        dt: float,
        reward: Callable[[np.ndarray, np.ndarray, np.ndarray], ArrayLike],
        frame_skip: int = 1,
        duration: float | None = None,
        start: Callable[[np.random.Generator, int], tuple[ArrayLike, ArrayLike]] | None = None,
        terminated: Callable[[np.ndarray, np.ndarray], ArrayLike] | None = None,
        observe: Callable[[np.ndarray, np.ndarray], ArrayLike] | None = None,
        action: str = "torque",
        actuators: Iterable[str] | None = None,
        limit: ArrayLike | None = None,
        method: str | None = None,
        threads: int | None = None,
        **options: object,
    ):
        self.num_envs = _count(num_envs, "num_envs")
        self.frame_skip = _count(frame_skip, "frame_skip")
        if action not in ACTIONS:
            raise UnknownNameError("action", action, ACTIONS, argument="action")
        kind, given = checked(model, RunArguments(duration=1.0, dt=dt, method=method, options=options))
        schedule = Schedule.one(given.dt, False)
        self.model, self.dt, self._action = model, schedule.dt * self.frame_skip, action
        self._last = None if duration is None else count_steps(real(duration), self.dt)
        n = self.num_envs
        require_memory(f"the states of {n} instances", 8.0 * n * (6 * (model.nq + model.nv) + 8),
                       "make fewer of them with num_envs=")  # fmt: skip
        self._start = None if start is None else Asked(start, "start", "(rng, count)", timed=False)
        self._reward = Asked(reward, "reward", "(Q, V, A)", (n,), timed=False)
        self._terminated = None if terminated is None else Asked(terminated, "terminated", "(Q, V)", timed=False)
        self._observe = None if observe is None else Asked(observe, "observe", "(Q, V)", timed=False)
        self._places, low, high = self._actuators(actuators)
        self._low, self._high = (low, high) if limit is None else _limits(limit, len(low))
        # what acts is given with each step
        driving = {action: (lambda t, Q, V: None)}
        q, v = self._starts(np.random.default_rng(0), n)
        found = Instances(model, q, v, None, driving, {}, given, kind, schedule, n)
        plan = Block.plan(found) if action == "torque" else None
        self._held: HeldSimulations | HeldBlocks = held_of(found, plan, threads_of(threads))
        self._done, self._steps = np.zeros(n, bool), np.zeros(n, int)
        self.single_action_space = gymnasium.spaces.Box(self._low, self._high, dtype=np.float64)
        #: entries of an observation, once that is known
        self._size: int | None = None
        self._size = size = self._observed().shape[1]
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = batch_space(self.single_action_space, n)
        self.observation_space = batch_space(self.single_observation_space, n)
        self._begun = False

    def _actuators(self, names: Iterable[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of actions in the torque (nv,) or among the targets, and their bounds, low and high."""
        model: Any = self.model
        if self._action == "targets":
            drives = {drive.joint: k for k, drive in enumerate(getattr(model, "drives", ()))}
            if not drives:
                raise InputError(f'"{model.name}" has no drives to give targets to; see Model.with_drives')
            chosen = [*drives] if names is None else several(names, "actuators", "names of joints with drives")
            low = {joint.name: joint.lower[0] for joint in model.joints if joint.lower}
            high = {joint.name: joint.upper[0] for joint in model.joints if joint.upper}
            for name in chosen:
                if name not in drives:
                    raise UnknownNameError("drive", name, drives, argument="actuators")
            if len(chosen) < len(drives):
                raise InputError("each drive needs a target; leave the actuators out, or give the model fewer drives")
            return (
                np.array([drives[name] for name in chosen]), np.array([low.get(name, -np.inf) for name in chosen]),
                np.array([high.get(name, np.inf) for name in chosen]),
            )  # fmt: skip
        efforts = np.full(model.nv, np.inf)
        single = np.zeros(model.nv, bool)
        for joint in model.joints:
            single[joint.v_slice] = joint.v_slice.stop - joint.v_slice.start == 1
            if joint.effort:
                efforts[joint.v_slice] = joint.effort
        every = list(model.v_names)
        chosen = [every[k] for k in np.flatnonzero(single)] if names is None else several(
            names, "actuators", "names of v_names")  # fmt: skip
        for name in chosen:
            if name not in every:
                raise UnknownNameError("coordinate", name, every, argument="actuators")
        places = np.array([every.index(name) for name in chosen], dtype=int)
        most = np.where(efforts[places] > 0, efforts[places], np.inf)
        return places, -most, most

    # ---- the state -------------------------------------------------------------------------------------

    @property
    def q(self) -> np.ndarray:
        """Configurations (n, nq) [m or rad]."""
        return self._held.q.copy()

    @property
    def v(self) -> np.ndarray:
        """Velocities (n, nv) [m/s or rad/s]."""
        return self._held.v.copy()

    @property
    def t(self) -> np.ndarray:
        """Time of each episode (n,) [s]."""
        return self._steps * self.dt

    def _observed(self) -> np.ndarray:
        q, v = self.q, self.v
        if self._observe is None:
            return np.concatenate([q, v], axis=1)
        return _finite(self._observe, (q, v), (self.num_envs, self._size))

    def _ended(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self._terminated is None:
            return np.zeros(self.num_envs, bool)
        given = q, v
        answer = self._terminated(*given)
        try:
            found = np.array(answer)
        except Exception as error:  # whatever a value's own methods raise
            raise self._terminated.error(f"returned {shown(answer)}, which is no array", given) from error
        if found.shape != (self.num_envs,) or found.dtype != bool:
            what = f"returned shape {found.shape} of {found.dtype}; it must be ({self.num_envs},) of bool"
            raise self._terminated.error(what, given)
        return found

    # ---- Gymnasium's interface --------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """Begin all episodes, and return observations (n, k) and infos.

        Parameters
        ----------
        seed : int, optional
            Of the generator that starts are drawn from.
        options : mapping, optional
            ``{"reset_mask": (n,) array of bool}``: the episodes that begin anew.

        Returns
        -------
        tuple
            Observations (n, k) [units as ``observe`` has them], and a dict; with "failed" (n,), if there are instances
            whose start cannot be. They end with the next step.

        Raises
        ------
        InputError
            If the mask or the starts have a wrong shape, or no start can be.
        """
        super().reset(seed=seed)
        mask = np.ones(self.num_envs, bool)
        if options and options.get("reset_mask") is not None:
            mask = np.asarray(options["reset_mask"], bool)
            if mask.shape != (self.num_envs,):
                raise InputError(f"reset_mask has shape {mask.shape}; it must be ({self.num_envs},)")
        self._restart(np.flatnonzero(mask))
        if mask.any() and not self._held.alive[mask].any():
            raise self._held.failed[int(np.flatnonzero(mask)[0])]
        self._begun = True
        failed = ~self._held.alive
        return self._observed(), {"failed": failed} if failed.any() else {}

    def _restart(self, which: np.ndarray) -> None:
        if not len(which):
            return
        self._held.reset(which, *self._starts(self.np_random, len(which)))
        self._steps[which], self._done[which] = 0, False

    def _starts(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        model: Any = self.model
        if self._start is None:
            return np.tile(model.start, (count, 1)), np.zeros((count, model.nv))
        given = rng, count
        answer = self._start(*given)
        try:
            q, v = answer
        except (TypeError, ValueError) as error:
            raise self._start.error(f"returned {shown(answer)}; it must be a pair of arrays, q and v", given) from error
        return _numbers(self._start, q, given, (count, model.nq)), _numbers(self._start, v, given, (count, model.nv))

    def step(self, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, object]]:
        """Take an action in each episode.

        Parameters
        ----------
        actions : (n, k) array [N, N m, m or rad]

        Returns
        -------
        tuple
            Observations (n, k), rewards (n,), terminated (n,), truncated (n,), and a dict with "failed" (n,): whether
            the step of an instance could not be solved.

        Raises
        ------
        InputError
            If actions have a wrong shape or are not finite, or nothing was reset before.
        CallableError
            If a function raises, or returns another shape or NaN.
        """
        if not self._begun:
            raise InputError("the environment has not begun: call reset() before step()")
        n, held = self.num_envs, self._held
        taken = numbers_of(actions, "actions").astype(float)
        if taken.shape != (n, len(self._places)):
            raise InputError(f"actions have shape {taken.shape}; it must be ({n}, {len(self._places)})")
        if not np.isfinite(taken).all():
            raise InputError("actions must be finite; they contain NaN or infinity")
        taken = np.clip(taken, self._low, self._high)
        anew = self._done.copy()
        # those that begin anew rest in this step
        resting = held.alive & anew
        held.alive[anew] = False
        width = self.model.nv if self._action == "torque" else len(self._places)
        acting = np.zeros((n, width))
        acting[:, self._places] = taken
        held.step({self._action: acting}, self.frame_skip)
        held.alive[resting] = True
        self._steps[~anew] += 1
        failed = ~held.alive & ~anew
        q, v = self.q, self.v
        rewards = np.array(self._reward(q, v, taken.copy()), dtype=float)
        ends = self._ended(q, v)
        late = failed | (self._steps >= self._last if self._last is not None else failed)
        self._restart(np.flatnonzero(anew))
        rewards[anew], ends[anew], late[anew] = 0.0, False, False
        self._done = ends | late
        return self._observed(), rewards, ends, late & ~ends, {"failed": failed}

    def close_extras(self, **kwargs: object) -> None:
        """End the threads; ``kwargs`` are of the base class."""
        self._held.close()


def _finite(function: Asked, given: Asking, shape: tuple[int, int | None]) -> np.ndarray:
    """Return a function's result for ``given``; raise a CallableError if its shape is wrong or it is not finite."""
    return _numbers(function, function(*given), given, shape)


def _numbers(function: Asked, answer: object, given: Asking, shape: tuple[int, int | None]) -> np.ndarray:
    """Return a copy of a result as an array of a shape, in which None is any size."""
    try:
        found = as_numbers(answer).copy()
    except TypeError as error:
        raise function.error(f"returned {shown(answer)}, which has {error}", given) from error
    wanted = shape if shape[1] is not None else (shape[0], *found.shape[1:2])
    if found.ndim != 2 or found.shape != wanted:
        what = f"returned shape {found.shape}; it must be ({shape[0]}, {'k' if shape[1] is None else shape[1]})"
        raise function.error(what, given)
    if not np.isfinite(found).all():
        raise function.error(f"returned NaN or infinity: {shown(found)}; it must be finite", given)
    return found


def _count(value: object, name: str) -> int:
    count = whole(value)
    if count is None or not 1 <= count < 2**31:
        raise InputError(name, value, "must be a whole number, at least 1")
    return count


def _limits(limit: ArrayLike, count: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        found = np.broadcast_to(np.asarray(limit, dtype=float), (count,)).copy()
    except ValueError:
        raise InputError(f"limit has shape {np.shape(limit)}; it must be a number or ({count},)") from None
    if not (found > 0).all():
        raise InputError("limit must be positive")
    return -found, found
