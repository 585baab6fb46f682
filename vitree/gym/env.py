"""One instance of a task as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords
from vitree.errors import InputError
from vitree.gym.episodes import Episodes, options_of
from vitree.gym.rendering import MODES, Picture, picture_of
from vitree.gym.task import Task
from vitree.model.system import System


def task_of(task: Task | System, given: Mapping[str, Any]) -> Task:
    """Return a task, or that of a model and the other arguments of one."""
    if isinstance(task, Task):
        if given:
            raise InputError(f"{', '.join(given)} belong to a task; change it with dataclasses.replace(task, ...)")
        return task
    return Task(model=task, **given)


class Env(gymnasium.Env[np.ndarray, Any]):
    """One instance of a task as a ``gymnasium.Env``.

    An episode whose step cannot be solved is truncated, and ``info["failed"]`` says so; ``info["time_out"]`` says
    whether it reached the duration of the task.

    Parameters
    ----------
    task : Task, or Model
        A model needs the arguments of a task as keywords, such as ``dt`` and ``reward``.
    dtype : dtype
        Of observations and actions, float32 or float64.
    render_mode : {"rgb_array", "human"}, optional
        Pictures, or a page in the browser that shows the robot.
    **given
        Of a :class:`Task`.

    Attributes
    ----------
    task : Task
    observation_space, action_space : gymnasium.Space
    dt : float [s]
        Time of an action.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    MissingExtraError
        If gymnasium is not installed, by the import of the module.
    """

    metadata: Keywords = {"render_modes": list(MODES), "render_fps": 50}  # noqa: RUF012

    def __init__(self, task: Task | System, *, dtype: Any = np.float32, render_mode: str | None = None, **given: Any):
        self.task = task_of(task, given)
        self._episodes = Episodes(self.task, 1, 1, dtype)
        self.observation_space = self._episodes.space
        self.action_space = self._episodes.actions.space
        self.dt = self._episodes.dt
        self.metadata = {**self.metadata, "render_fps": max(round(1 / self.dt), 1)}
        self.render_mode = render_mode
        self._picture: Picture | None = picture_of(self.task.model, render_mode, self.dt)

    @property
    def model(self) -> System:
        """The model."""
        return self.task.model

    @property
    def q(self) -> np.ndarray:
        """Configuration (nq,) [m or rad]."""
        return np.array(self._episodes.held.q[0])

    @property
    def v(self) -> np.ndarray:
        """Velocity (nv,) [m/s or rad/s]."""
        return np.array(self._episodes.held.v[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, and return an observation (k,) and an empty dict.

        Parameters
        ----------
        seed : int, optional
            Of all that is drawn.
        options : mapping, optional
            ``{"command": {name: number}}``: entries of the command that stay the same in this episode.

        Returns
        -------
        tuple
            An observation (k,) [units as ``observe`` has them], and a dict.

        Raises
        ------
        InputError, UnknownNameError
            If the start cannot be, or an option is not known.
        """
        given = options_of(options, "command")
        super().reset(seed=seed)
        if seed is not None or not self._episodes.begun:
            self._episodes.seed(self._seed_here())
        self._episodes.begin(np.zeros(1, int), self.np_random, given.get("command"))
        if not self._episodes.held.alive[0]:
            raise self._episodes.held.failed[0]
        self._episodes.begun = True
        if self.render_mode == "human":
            self.render()
        return self._episodes.observed(self._episodes.state())[0], {}

    def _seed_here(self) -> int:
        self.np_random  # noqa: B018 (draws a seed if there is none)
        return abs(int(self.np_random_seed))

    def step(self, action: ArrayLike) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : (k,) array, or int where actions are choices [N, N m, m or rad, or without unit where they are scaled]

        Returns
        -------
        tuple
            The observation (k,), the reward, terminated, truncated, and a dict with "failed", "time_out", and at the
            end of an episode "rewards", the sum of each term.

        Raises
        ------
        InputError
            If the action is wrong, nothing was reset before, or a step failed and nothing was reset since.
        CallableError
            If a function raises, or returns another shape or NaN.
        """
        if self._episodes.begun and not self._episodes.held.alive[0]:
            raise InputError("the last step could not be solved: call reset()")
        state, out = self._episodes.step(np.asarray(action)[None], np.zeros(1, bool))
        reward, terminated, truncated, failed = out
        info: dict[str, Any] = {"failed": bool(failed[0]), "time_out": bool(truncated[0] and not failed[0])}
        if terminated[0] or truncated[0]:
            info["rewards"] = {name: float(sums[0]) for name, sums in self._episodes.sums().items()}
            info["terminated_by"] = [name for name, rows in self._episodes.ended.items() if rows[0]]
        if self.render_mode == "human":
            self.render()
        return self._episodes.observed(state)[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> np.ndarray | None:
        """Return a picture (height, width, 3) without unit in the mode "rgb_array", or show the robot.

        Raises
        ------
        InputError
            If the environment was made without a ``render_mode``.
        MissingExtraError
            If what draws is not installed.
        """
        if self._picture is None:
            raise InputError('the environment draws nothing: make it with render_mode="rgb_array" or "human"')
        return self._picture.draw(self._episodes.held.q[0])

    def close(self) -> None:
        """End threads and pages."""
        self._episodes.close()
        if self._picture is not None:
            self._picture.close()
