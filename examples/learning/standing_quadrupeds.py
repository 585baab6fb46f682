"""Quadrupeds that stand, for learning: an environment of Gymnasium with contact, drives and shoves at the start.

    python standing_quadrupeds.py

Actions move the targets of the drives from a posture. The policy that does nothing stands; straight legs fall. The
robot is the Go2, or one of its size where the package example-robot-data is not installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import vitree as vt
from vitree.gym import VectorEnv

sys.path.append(str(Path(__file__).parents[1]))
import stand_ins

ENVS, SECONDS, HEIGHT = 8, 1.0, 0.28
POSTURE = np.tile([0.0, 0.9, -1.8], 4)


def environment(count: int = ENVS) -> VectorEnv:
    """Return quadrupeds that begin on their feet with a shove of up to 0.3 m/s; a trunk below 0.15 m has fallen."""
    robot = stand_ins.quadruped(vt.Ground(friction=0.8)).with_drives({"*": (100, 3)})
    q0 = robot.neutral()
    q0[7:] = POSTURE
    q0 = vt.place_on_ground(robot, q0)

    def start(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        v = np.zeros((n, robot.nv))
        v[:, :2] = rng.uniform(-0.3, 0.3, (n, 2))
        return np.tile(q0, (n, 1)), v

    return VectorEnv(
        robot, count, dt=0.005, frame_skip=4, duration=SECONDS, start=start, action="targets", pose=q0,
        action_scale=1.0, limit=3.0, reward=lambda Q, V, A: np.exp(-20 * (Q[:, 2] - q0[2]) ** 2),
        terminated=lambda Q, V: Q[:, 2] < 0.15,
    )  # fmt: skip


def play(env: VectorEnv, action: np.ndarray) -> tuple[float, int]:
    """Return the mean reward of a step, and how many trunks fell, under one action."""
    env.reset(seed=0)
    total, fallen, steps = 0.0, 0, round(SECONDS / env.dt)
    for _ in range(steps):
        _, reward, terminated, _, _ = env.step(np.tile(action, (env.num_envs, 1)))
        total += reward.mean()
        fallen += int(terminated.sum())
    return total / steps, fallen


def main() -> None:
    env = environment()
    for name, action in (("the posture is held", 0 * POSTURE), ("targets at zero", -POSTURE)):
        reward, fallen = play(env, action)
        print(f"{name}: mean reward {reward:.3f}, {fallen} of {env.num_envs} fell")
    env.close()


if __name__ == "__main__":
    main()
