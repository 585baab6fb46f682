"""A quadruped learns to walk: PPO of Stable-Baselines3 on the task "vitree/Go2Velocity-v0", on the processor alone.

    python walking_quadruped.py train --seed 0 --minutes 40 --policy go2.zip
    python walking_quadruped.py play --policy go2.zip --speed 0.5
    python walking_quadruped.py mujoco --policy go2.zip --speed 0.5

"play" walks for 10 s in vitree and prints how far each robot came; "mujoco" does the same in MuJoCo, with the model
that vitree makes for it. It needs the extras "learn" and "robots", and "mjcf" for MuJoCo.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from vitree import gym as vg
from vitree.gym.tasks import go2_velocity

ENVS, STEPS, SECONDS = 256, 24, 10.0
#: Velocities that are learnt: mostly forward [m/s, m/s, rad/s].
COMMAND = vg.Command({"x": (0.0, 1.0), "y": (-0.2, 0.2), "yaw": (-0.5, 0.5)}, interval=(5.0, 10.0), zero=0.05)


def learner(seed: int, envs: int = ENVS, steps: int = STEPS):
    """Return PPO with the environments that it learns from."""
    import torch
    from stable_baselines3 import PPO

    env = vg.VectorEnv(go2_velocity(command=COMMAND), envs, autoreset_mode="SameStep")
    return PPO(
        "MlpPolicy", vg.sb3_vec_env(env), n_steps=steps, batch_size=envs * steps // 4, n_epochs=5, learning_rate=5e-4,
        gamma=0.99, gae_lambda=0.95, ent_coef=0.001, target_kl=0.02, seed=seed, device="cpu",
        policy_kwargs={"net_arch": [128, 128], "activation_fn": torch.nn.ELU, "log_std_init": -0.7},
    )  # fmt: skip


def train(policy: str, seed: int, minutes: float, steps: float) -> None:
    """Learn for some minutes, or some steps of all environments, and save the policy."""
    from stable_baselines3.common.callbacks import BaseCallback

    class Progress(BaseCallback):
        """Prints the mean reward of episodes, and ends when the time is over."""

        began = time.monotonic()
        told = 0.0

        def _on_step(self) -> bool:
            now = time.monotonic() - self.began
            if now - self.told > 30 and self.model.ep_info_buffer:
                self.told = now
                rewards = np.mean([episode["r"] for episode in self.model.ep_info_buffer])
                lengths = np.mean([episode["l"] for episode in self.model.ep_info_buffer])
                print(f"{now:6.0f} s {self.num_timesteps / 1e6:6.2f} million steps, reward {rewards:6.2f}, "
                      f"length {lengths:5.0f}", flush=True)  # fmt: skip
            return now < 60 * minutes

    model = learner(seed)
    model.learn(int(steps), callback=Progress())
    model.save(policy)
    model.env.close()


def walk(act, speed: float, robots: int = 8, seconds: float = SECONDS) -> tuple[np.ndarray, np.ndarray]:
    """Return how far robots walked in vitree (robots, 2) [m], and which fell; ``act`` takes observations to actions."""
    env = vg.VectorEnv(go2_velocity(noise=False), robots, dtype=np.float32)
    observed, _ = env.reset(seed=1, options={"command": {"x": speed, "y": 0.0, "yaw": 0.0}})
    begin, fell = env.q[:, :2], np.zeros(robots, bool)
    end = begin.copy()
    for _ in range(round(seconds / env.dt)):
        observed, _, terminated, truncated, _ = env.step(act(observed))
        fell |= terminated | truncated
        end[~fell] = env.q[~fell, :2]
    env.close()
    return end - begin, fell


def walk_in_mujoco(act, speed: float, seconds: float = SECONDS) -> tuple[np.ndarray, bool]:
    """Return how far one robot walked in MuJoCo (2,) [m], and whether it fell."""
    import mujoco

    from vitree.engines.mujoco import States, mujoco_model

    task = go2_velocity()
    interface, states = vg.PolicyInterface(task), States(task.model)
    model = mujoco_model(task.model, task.dt / 2)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = states.to_mujoco(task.pose, task.model.zero_velocity())
    gains = np.array([drive.kp for drive in task.model.drives])
    action, fell = np.zeros(len(gains)), False
    for _ in range(round(seconds / interface.dt)):
        q, v = states.from_mujoco(data.qpos, data.qvel)
        fell |= bool(q[2] < 0.18)
        observed = interface.observe(q, v, action, {"x": speed})
        action = np.clip(act(observed[None])[0], -1, 1)
        # MuJoCo's actuator has the control kp target, and the rate's part by itself
        data.ctrl[:] = gains * interface.drive(action)
        mujoco.mj_step(model, data, nstep=2 * task.frame_skip)
    return data.qpos[:2] - task.pose[:2], fell


def policy_of(path: str):
    """Return the policy of a file as a function from observations (n, k) to actions (n, 12)."""
    from stable_baselines3 import PPO

    model = PPO.load(path, device="cpu")
    return lambda observed: model.predict(observed, deterministic=True)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "play", "mujoco"))
    parser.add_argument("--policy", default="go2.zip")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=40.0, help="longest time of training")
    parser.add_argument("--steps", type=float, default=1e9, help="most steps of training")
    parser.add_argument("--speed", type=float, default=0.5, help="commanded speed forward [m/s]")
    given = parser.parse_args()
    if given.what == "train":
        train(given.policy, given.seed, given.minutes, given.steps)
        return
    act = policy_of(given.policy)
    if given.what == "play":
        way, fell = walk(act, given.speed)
        for k, ((x, y), down) in enumerate(zip(way, fell, strict=True)):
            print(f"robot {k}: {x:5.2f} m forward, {y:5.2f} m to the left{', fell' if down else ''}")
    else:
        (x, y), down = walk_in_mujoco(act, given.speed)
        print(f"in MuJoCo: {x:5.2f} m forward, {y:5.2f} m to the left{', fell' if down else ''}")


if __name__ == "__main__":
    main()
