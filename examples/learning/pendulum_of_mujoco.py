"""A policy learnt in MuJoCo plays in vitree: Gymnasium's inverted pendulum, from the same MJCF file.

    python pendulum_of_mujoco.py

PPO of Stable-Baselines3 learns in Gymnasium's "InvertedPendulum-v5", which MuJoCo steps. vitree reads its file, and the
policy balances there with the same observations and actions. It needs the extras "learn" and "mjcf", and takes some
minutes.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np

import vitree as vt
from vitree import gym as vg

STEPS, LEAN, SPREAD = 40_000, 0.2, 0.01
#: Of the motor: the input of vitree's model is the force at the joint [N], gear times MuJoCo's ctrl.
GEAR = 100.0


def task() -> vg.Task:
    """Return the inverted pendulum of Gymnasium: 25 actions a second, an end where it leans by more than 0.2 rad."""
    import gymnasium.envs.mujoco as theirs

    model = vt.load_mjcf(Path(theirs.__file__).parent / "assets" / "inverted_pendulum.xml")
    return vg.Task(
        model=model, dt=0.02, frame_skip=2, duration=40.0, action="inputs", limit=3.0, action_scale=GEAR,
        observe=["q", "v"], start=lambda rng, n: tuple(rng.uniform(-SPREAD, SPREAD, (2, n, 2))),
        reward=lambda Q, V, A: (np.abs(Q[:, 1]) <= LEAN).astype(float), terminated=lambda Q, V: np.abs(Q[:, 1]) > LEAN,
    )  # fmt: skip


def learn(steps: int = STEPS, seed: int = 0):
    """Return PPO that has learnt in MuJoCo."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env("InvertedPendulum-v5", n_envs=8, seed=seed)
    return PPO(
        "MlpPolicy", env, n_steps=128, batch_size=256, gamma=0.98, learning_rate=1e-3, seed=seed, device="cpu"
    ).learn(steps)


def score(env, act, seed: int = 0) -> float:
    """Return the sum of rewards of an episode; ``act`` takes an observation to an action."""
    observed, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observed, reward, terminated, truncated, _ = env.step(act(observed))
        total, over = total + float(reward), terminated or truncated
    return total


def main() -> None:
    model = learn()

    def act(observed: np.ndarray) -> np.ndarray:
        return model.predict(np.asarray(observed, np.float32), deterministic=True)[0]

    rng = np.random.default_rng(0)
    for name, env in (("MuJoCo", gymnasium.make("InvertedPendulum-v5")), ("vitree", vg.Env(task()))):
        print(f"{name}: {score(env, act):.0f} of 1000 steps balanced by the policy, "
              f"{score(env, lambda _: rng.uniform(-3, 3, 1)):.0f} by random actions")  # fmt: skip
        env.close()


if __name__ == "__main__":
    main()
