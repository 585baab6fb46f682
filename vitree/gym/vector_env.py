"""Many instances of a task as a vectorised environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from vitree.arguments import Keywords
from vitree.errors import InputError, UnknownNameError
from vitree.gym.env import task_of
from vitree.gym.episodes import Episodes, Outcome, options_of
from vitree.gym.rendering import MODES, Picture, picture_of
from vitree.gym.state import State
from vitree.gym.task import Task
from vitree.model.system import System


class VectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """Many instances of a task as a ``gymnasium.vector.VectorEnv``, stepped in one call.

    An instance whose step cannot be solved is truncated, and ``infos["failed"]`` (n,) says so; ``infos["time_out"]``
    (n,) says which reached the duration of the task.

    Parameters
    ----------
    task : Task, or Model
        A model needs the arguments of a task as keywords, such as ``dt`` and ``reward``.
    num_envs : int
    threads : int, optional
        As many as the processor runs for this process, if not given.
    autoreset_mode : {"NextStep", "SameStep", "Disabled"} or AutoresetMode
        When episodes that end begin anew: in the next step, which takes no action for them and gives them no reward; in
        the same step, whose ``infos`` have "final_obs" and "final_info"; or by ``reset(options={"reset_mask": ...})``.
    dtype : dtype
        Of observations and actions, float32 or float64.
    render_mode : {"rgb_array", "human"}, optional
        Pictures of the first instance, or a page in the browser that shows it.
    **given
        Of a :class:`Task`.

    Attributes
    ----------
    task : Task
    model : Model
    dt : float [s]
        Time of an action.
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
        If gymnasium is not installed, by the import of the module.
    """

    metadata: Keywords = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": list(MODES)}  # noqa: RUF012

    def __init__(
        self,
        task: Task | System,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        dtype: Any = np.float32,
        render_mode: str | None = None,
        **given: Any,
    ):
        self.task = task_of(task, given)
        self.autoreset_mode = _mode(autoreset_mode)
        self._episodes = Episodes(self.task, num_envs, threads, dtype)
        self.num_envs, self.dt = self._episodes.count, self._episodes.dt
        self.single_observation_space = self._episodes.space
        self.single_action_space = self._episodes.actions.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        fps = max(round(1 / self.dt), 1)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode, "render_fps": fps}
        self.render_mode = render_mode
        self._picture: Picture | None = picture_of(self.task.model, render_mode, self.dt)
        self._done = np.zeros(self.num_envs, bool)

    # ---- the state -------------------------------------------------------------------------------------

    @property
    def model(self) -> System:
        """The model."""
        return self.task.model

    @property
    def q(self) -> np.ndarray:
        """Configurations (n, nq) [m or rad]."""
        return self._episodes.held.q.copy()

    @property
    def v(self) -> np.ndarray:
        """Velocities (n, nv) [m/s or rad/s]."""
        return self._episodes.held.v.copy()

    @property
    def t(self) -> np.ndarray:
        """Time of each episode (n,) [s]."""
        return self._episodes.t

    @property
    def state(self) -> State:
        """The states as functions of the task see them."""
        return self._episodes.state()

    # ---- Gymnasium's interface --------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes, and return observations (n, k) and infos.

        Parameters
        ----------
        seed : int, optional
            Of all that is drawn.
        options : mapping, optional
            ``"reset_mask"``, (n,) array of bool: the episodes that begin anew. ``"command"``, mapping of name to
            number: entries of the command that stay the same in these episodes.

        Returns
        -------
        tuple
            Observations (n, k) [units as ``observe`` has them], and a dict; with "failed" (n,), if there are instances
            whose start cannot be. They end with the next step.

        Raises
        ------
        InputError, UnknownNameError
            If the mask or the starts have a wrong shape, no start can be, or an option is not known.
        """
        given, episodes = options_of(options, "reset_mask", "command"), self._episodes
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, bool)), bool)
        if mask.shape != (self.num_envs,):
            raise InputError(f"reset_mask has shape {mask.shape}; it must be ({self.num_envs},)")
        super().reset(seed=seed)
        if seed is not None or not episodes.begun:
            self.np_random  # noqa: B018 (draws a seed if there is none)
            episodes.seed(abs(int(self.np_random_seed or 0)))
        self._restart(np.flatnonzero(mask), given.get("command"))
        if mask.any() and not episodes.held.alive[mask].any():
            raise episodes.held.failed[int(np.flatnonzero(mask)[0])]
        episodes.begun = True
        failed = ~episodes.held.alive
        return episodes.observed(episodes.state()), {"failed": failed} if failed.any() else {}

    def _restart(self, which: np.ndarray, command: Mapping[str, float] | None = None) -> None:
        self._episodes.begin(which, self.np_random, command)
        self._done[which] = False

    def step(self, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take an action in each episode.

        Parameters
        ----------
        actions : (n, k) array, or (n,) where they are choices [N, N m, m or rad, or without unit where they are scaled]

        Returns
        -------
        tuple
            Observations (n, k), rewards (n,), terminated (n,), truncated (n,), and a dict with "failed" and "time_out",
            (n,) each. Where an episode ends, "rewards" has the sum of each term (n,), and "terminated_by" what ended
            it, (n,) of bool by name.

        Raises
        ------
        InputError
            If actions have a wrong shape or are not finite, nothing was reset before, or, without autoreset, an episode
            that ended was not reset.
        CallableError
            If a function raises, or returns another shape or NaN.
        """
        episodes, mode = self._episodes, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._done.any():
            raise InputError(f"{int(self._done.sum())} episodes have ended: reset them with the option reset_mask")
        anew = self._done.copy()
        state, out = episodes.step(actions, anew)
        infos = self._infos(out)
        self._done = out.terminated | out.truncated
        ended = np.flatnonzero(self._done if mode is AutoresetMode.SAME_STEP else anew)
        if mode is AutoresetMode.SAME_STEP and len(ended):
            infos = self._final(state, infos)
        if mode is not AutoresetMode.DISABLED and len(ended):
            left = self._done.copy()
            self._restart(ended)
            self._done = left if mode is AutoresetMode.NEXT_STEP else np.zeros_like(left)
            state = episodes.state()
        if self.render_mode == "human":
            self.render()
        return episodes.observed(state), out.reward, out.terminated, out.truncated, infos

    def _infos(self, out: Outcome) -> dict[str, Any]:
        infos: dict[str, Any] = {"failed": out.failed, "time_out": out.truncated & ~out.failed}
        if (out.terminated | out.truncated).any():
            infos["rewards"] = self._episodes.sums()
            infos["terminated_by"] = dict(self._episodes.ended)
        return infos

    def _final(self, state: State, infos: dict[str, Any]) -> dict[str, Any]:
        """Return infos with those of the episodes that ended as "final_info", as Gymnasium's own environments do."""
        mask = self._done.copy()
        observed = self._episodes.observed(state)
        final = np.full(self.num_envs, None, dtype=object)
        for k in np.flatnonzero(mask):
            final[k] = observed[k]
        inner = {key: value for name, value in infos.items() for key, value in ((name, value), (f"_{name}", mask))}
        return {**infos, "final_obs": final, "_final_obs": mask, "final_info": inner, "_final_info": mask}

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return a picture (height, width, 3) without unit, of the first instance, or show it in its page.

        Raises
        ------
        InputError
            If the environment was made without a ``render_mode``.
        MissingExtraError
            If what draws is not installed.
        """
        if self._picture is None:
            raise InputError('the environment draws nothing: make it with render_mode="rgb_array" or "human"')
        pixels = self._picture.draw(self._episodes.held.q[0])
        return None if pixels is None else (pixels,)

    def close_extras(self, **kwargs: Any) -> None:
        """End threads and pages; ``kwargs`` are of the base class."""
        self._episodes.close()
        if self._picture is not None:
            self._picture.close()


def _mode(mode: object) -> AutoresetMode:
    for each in AutoresetMode:
        if mode is each or mode in (each.value, each.name):
            return each
    raise UnknownNameError("autoreset mode", mode, [each.value for each in AutoresetMode], argument="autoreset_mode")
