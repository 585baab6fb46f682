"""A cart-pole for learning: 256 episodes at once as an environment of Gymnasium, and a policy that balances them.

    python cart_pole.py

The policy is a linear feedback, found by the linear quadratic regulator at the upright position. It balances all poles
that start within 0.3 rad; a policy of random forces lets them fall.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_continuous_are

import vitree as vt
from vitree.gym import VectorEnv

ENVS, DT, SKIP, SECONDS = 256, 0.005, 4, 10.0


def cart_pole() -> vt.Model:
    """Return a cart of 1 kg on a rail, and a pole of 0.1 kg and 1 m that stands on it at zero."""
    tree = vt.Tree("cart-pole")
    cart = tree.world.add(vt.tx("cart"), vt.body("cart body", 1.0, (0.01, 0.01, 0.01)))
    cart.add(vt.ry("pole"), vt.body("pole body", 0.1, (0.1 / 12, 0.1 / 12, 1e-5), com=(0, 0, 0.5)))
    return tree.compile()


def start(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return poles that lean, at rest."""
    return rng.uniform(-0.3, 0.3, (count, 2)), np.zeros((count, 2))


def environment(count: int = ENVS) -> VectorEnv:
    """Return the environment: a point for each step that stands, an end where the pole has fallen or the cart left."""
    return VectorEnv(
        cart_pole(), count, dt=DT, frame_skip=SKIP, duration=SECONDS, start=start, method="rk4", actuators=["cart"],
        limit=20.0, reward=lambda Q, V, A: (np.abs(Q[:, 1]) < 0.8).astype(float),
        terminated=lambda Q, V: (np.abs(Q[:, 1]) > 0.8) | (np.abs(Q[:, 0]) > 5.0),
    )  # fmt: skip


def gains(model: vt.Model) -> np.ndarray:
    """Return K (1, 4) of the force -K (q, v): x' = A x + B u about the upright position, by differences."""
    def rate(x: np.ndarray, u: float) -> np.ndarray:
        return np.r_[x[2:], model.aba(x[:2], x[2:], np.array([u, 0.0]))]

    step = 1e-6
    A = np.array([(rate(e, 0.0) - rate(-e, 0.0)) / (2 * step) for e in step * np.eye(4)]).T
    B = ((rate(np.zeros(4), step) - rate(np.zeros(4), -step)) / (2 * step))[:, None]
    P = solve_continuous_are(A, B, np.diag([1.0, 10.0, 1.0, 1.0]), np.array([[0.1]]))
    return B.T @ P / 0.1


def play(env: VectorEnv, policy, steps: int) -> tuple[float, int]:
    """Return the mean reward of a step, and how many episodes ended before their time."""
    observed, _ = env.reset(seed=0)
    total, fallen = 0.0, 0
    for _ in range(steps):
        observed, reward, terminated, _, _ = env.step(policy(observed))
        total += reward.mean()
        fallen += int(terminated.sum())
    return total / steps, fallen


def main() -> None:
    env = environment()
    K = gains(env.model)
    steps = round(SECONDS / env.dt)
    rng = np.random.default_rng(1)
    for name, policy in (("feedback", lambda x: -x @ K.T), ("random", lambda x: rng.uniform(-20, 20, (ENVS, 1)))):
        reward, fallen = play(env, policy, steps)
        print(f"{name}: mean reward {reward:.3f}, {fallen} falls of {ENVS} poles")
    env.close()


if __name__ == "__main__":
    main()
