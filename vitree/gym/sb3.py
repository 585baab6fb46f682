"""A vectorised environment for Stable-Baselines3, which steps all instances in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from vitree.errors import InputError, MissingExtraError
from vitree.gym.vector_env import VectorEnv


def sb3_vec_env(env: VectorEnv) -> Any:
    """Return the ``VecEnv`` of Stable-Baselines3 that steps an environment, for its algorithms.

    Each end of an episode has "terminal_observation", "TimeLimit.truncated" and "episode" (its reward r, length l, and
    time t [s]) in its info, as of ``DummyVecEnv`` and ``Monitor``.

    Parameters
    ----------
    env : VectorEnv
        With ``autoreset_mode="SameStep"``.

    Returns
    -------
    stable_baselines3.common.vec_env.VecEnv

    Raises
    ------
    InputError
        If the environment is none of these, or resets in the next step.
    MissingExtraError
        If stable_baselines3 is not installed (extra "learn").
    """
    if not isinstance(env, VectorEnv) or env.autoreset_mode is not AutoresetMode.SAME_STEP:
        raise InputError("env", env, 'must be a vitree.gym.VectorEnv with autoreset_mode="SameStep"')
    try:
        from stable_baselines3.common.vec_env import VecEnv
    except ImportError:
        raise MissingExtraError("stable_baselines3", "learn", "sb3_vec_env") from None

    class Adapter(VecEnv):
        """All instances of a VectorEnv."""

        def __init__(self) -> None:
            self.env = env
            self.render_mode = env.render_mode
            super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
            self._actions: Any = None
            self._return, self._length = np.zeros(env.num_envs), np.zeros(env.num_envs, int)

        def reset(self) -> np.ndarray:
            seed = next((seed for seed in self._seeds if seed is not None), None)
            observed, _ = env.reset(seed=seed)
            self._return[:], self._length[:] = 0.0, 0
            self._reset_seeds()
            return observed

        def step_async(self, actions: np.ndarray) -> None:
            self._actions = actions

        def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
            observed, reward, terminated, truncated, told = env.step(self._actions)
            done = terminated | truncated
            self._return += reward
            self._length += 1
            infos: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
            for k in np.flatnonzero(done).tolist():
                ended = {"r": float(self._return[k]), "l": int(self._length[k]), "t": float(self._length[k] * env.dt)}
                infos[k] = {
                    "terminal_observation": told["final_obs"][k], "TimeLimit.truncated": bool(truncated[k]),
                    "failed": bool(told["failed"][k]), "episode": ended,
                    **{f"reward {name}": float(sums[k]) for name, sums in told["rewards"].items()},
                }  # fmt: skip
            self._return[done], self._length[done] = 0.0, 0
            return observed, reward.astype(np.float32), done, infos

        def close(self) -> None:
            env.close()

        def get_attr(self, name: str, indices: Any = None) -> list[Any]:
            return [getattr(env, name) for _ in self._get_indices(indices)]

        def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
            raise InputError(f"{name} cannot be set: the instances are one environment")

        def env_method(
            self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
        ) -> list[Any]:
            return [getattr(env, method_name)(*method_args, **method_kwargs)]

        def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> list[bool]:
            return [False for _ in self._get_indices(indices)]

        def get_images(self) -> list[Any]:
            return list(env.render() or ())

    return Adapter()
