"""Tasks with names in Gymnasium's registry, for ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

from typing import Any

import gymnasium

from vitree.gym.env import Env
from vitree.gym.tasks import TASKS
from vitree.gym.vector_env import VectorEnv

#: Arguments that are of an environment, and not of its task.
OF_ENV = ("dtype", "render_mode")
OF_VECTOR_ENV = ("threads", "autoreset_mode", *OF_ENV)


def env_of(task: str, **given: Any) -> Env:
    """Return one instance of a task by its name; what is not of :class:`Env` changes the task."""
    of_env = {key: given.pop(key) for key in OF_ENV if key in given}
    return Env(TASKS[task](**given), **of_env)


def vector_env_of(task: str, num_envs: int = 1, **given: Any) -> VectorEnv:
    """Return instances of a task by its name; what is not of :class:`VectorEnv` changes the task."""
    of_env = {key: given.pop(key) for key in OF_VECTOR_ENV if key in given}
    return VectorEnv(TASKS[task](**given), num_envs, **of_env)


# gymnasium.make looks for the modes of pictures there
vars(env_of)["metadata"] = Env.metadata


def register() -> None:
    """Let Gymnasium know the tasks."""
    for name in TASKS:
        if name not in gymnasium.registry:
            gymnasium.register(name, f"{__name__}:env_of", kwargs={"task": name},
                               vector_entry_point=f"{__name__}:vector_env_of")  # fmt: skip
