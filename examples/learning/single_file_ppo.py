"""PPO in one file, as many people write it, on vectorised environments of Gymnasium as they are: the cart-pole.

    python single_file_ppo.py

Nothing in the learner knows of vitree: another name of ``gymnasium.make_vec`` with a Discrete action space will do. It
needs the extra "gym" and PyTorch.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch import nn

import vitree.gym  # noqa: F401 (registers the tasks)

ENVS, STEPS, EPOCHS, BATCHES = 64, 64, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 1e-3


class Agent(nn.Module):
    """A policy and its value, with two layers each."""

    def __init__(self, envs: gymnasium.vector.VectorEnv):
        super().__init__()
        size, choices = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
        layers = lambda out: nn.Sequential(  # noqa: E731
            nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out))
        self.policy, self.value = layers(choices), layers(1)

    def forward(self, x: torch.Tensor) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        return torch.distributions.Categorical(logits=self.policy(x)), self.value(x)[..., 0]


def advantages(reward: torch.Tensor, value: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
    """Return generalised advantages (steps, envs); value and done have a row more (Schulman et al. 2016)."""
    found, last = torch.zeros_like(reward), torch.zeros(reward.shape[1])
    for t in reversed(range(len(reward))):
        going = 1.0 - done[t + 1]
        last = reward[t] + GAMMA * value[t + 1] * going - value[t] + GAMMA * LAMBDA * going * last
        found[t] = last
    return found


def learn(name: str = "vitree/CartPole-v0", rounds: int = 25, seed: int = 0) -> list[float]:
    """Return the mean length of the episodes that ended in each round."""
    torch.manual_seed(seed)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec(name, num_envs=ENVS))
    agent = Agent(envs)
    optimiser = torch.optim.Adam(agent.parameters(), lr=RATE)
    rows = {key: torch.zeros(STEPS, ENVS) for key in ("action", "log", "reward")}
    x = torch.zeros(STEPS + 1, ENVS, *envs.single_observation_space.shape)
    value, done = torch.zeros(STEPS + 1, ENVS), torch.zeros(STEPS + 1, ENVS)
    now, ended, lengths = torch.as_tensor(envs.reset(seed=seed)[0]), torch.zeros(ENVS), list[float]()
    for _ in range(rounds):
        finished: list[float] = []
        for t in range(STEPS + 1):
            x[t], done[t] = now, ended
            with torch.no_grad():
                policy, value[t] = agent(now)
            if t == STEPS:
                break
            action = policy.sample()
            rows["action"][t], rows["log"][t] = action, policy.log_prob(action)
            observed, reward, terminated, truncated, infos = envs.step(action.numpy())
            rows["reward"][t] = torch.as_tensor(reward)
            now, ended = torch.as_tensor(observed), torch.as_tensor(terminated | truncated, dtype=torch.float32)
            if "episode" in infos:
                finished += infos["episode"]["l"][infos["_episode"]].tolist()
        gain = advantages(rows["reward"], value, done)
        flat = {"x": x[:-1].flatten(0, 1), "gain": gain.flatten(), "aim": (gain + value[:-1]).flatten(),
                **{key: row.flatten() for key, row in rows.items()}}  # fmt: skip
        for _ in range(EPOCHS):
            for part in torch.randperm(STEPS * ENVS).chunk(BATCHES):
                policy, guess = agent(flat["x"][part])
                ratio = (policy.log_prob(flat["action"][part]) - flat["log"][part]).exp()
                better = flat["gain"][part]
                better = (better - better.mean()) / (better.std() + 1e-8)
                surrogate = torch.min(ratio * better, ratio.clamp(1 - CLIP, 1 + CLIP) * better).mean()
                loss = 0.5 * ((guess - flat["aim"][part]) ** 2).mean() - surrogate - ENTROPY * policy.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimiser.step()
        lengths.append(float(np.mean(finished)) if finished else float("nan"))
    envs.close()
    return lengths


def main() -> None:
    for k, length in enumerate(learn()):
        print(f"round {k + 1}: episodes of {length:.0f} steps")


if __name__ == "__main__":
    main()
