"""Steps of environments a second: tasks of vitree.gym, the cart-pole of Gymnasium beside ours, and Python's share.

    python environments.py [--seconds 2] [--threads N]

Legged robots stand: their actions are zero. Randomised ones have masses, gains and friction of their own. The time of a
reset is that of one instance. Python's share is the time of an action that is not spent in the steppers of the
instances, measured with one thread.
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import numpy as np

from vitree import gym as vg
from vitree.run import lanes

SIZES = (64, 1024)
CART_POLE = "vitree/CartPole-v0"
RANDOM = vg.Randomization(mass={"*": (0.8, 1.2)}, friction=(0.4, 1.0), gains={"*": (0.9, 1.1)})


def rate(env, actions: np.ndarray, seconds: float) -> float:
    """Return the steps of all instances a second."""
    env.reset(seed=0)
    for _ in range(3):
        env.step(actions)
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        env.step(actions)
        count += 1
    return count * env.num_envs / spent


def share(env, actions: np.ndarray, rounds: int = 9) -> float | None:
    """Return the share of an action that is Python's, for instances that have a stepper each."""
    env.reset(seed=0)
    for _ in range(3):
        env.step(actions)
    if not hasattr(env._episodes.held, "held"):
        return None
    spent = [0.0]

    def timed(call):
        def advance(*of):
            began = time.process_time()
            found = call(*of)
            spent[0] += time.process_time() - began
            return found

        return advance

    names = ("advance_together", "advance_in_lanes")
    kept = {name: getattr(lanes.core, name) for name in names}
    try:
        for name in names:
            setattr(lanes.core, name, timed(kept[name]))
        began = time.process_time()
        for _ in range(rounds):
            env.step(actions)
        whole = time.process_time() - began
    finally:
        for name in names:
            setattr(lanes.core, name, kept[name])
    return 1 - spent[0] / whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    legged = [name for name in vg.tasks.TASKS if name != CART_POLE]
    cases = [(name, {}) for name in vg.tasks.TASKS] + [(name, {"randomization": RANDOM}) for name in legged]
    for name, changes in cases:
        for size in SIZES:
            make = lambda threads, name=name, size=size, changes=changes: gymnasium.make_vec(  # noqa: E731
                name, num_envs=size, threads=threads, autoreset_mode="SameStep", **changes)
            env = make(given.threads)
            actions = np.zeros(env.action_space.shape, env.action_space.dtype)
            actions[::2] += name == CART_POLE
            found = rate(env, actions, given.seconds)
            began = time.perf_counter()
            env.reset(seed=1)
            again = (time.perf_counter() - began) / size
            python = share(make(1), actions)
            told = "" if python is None else f", {100 * python:.0f} % of it Python's"
            print(f"{name}{', randomised' if changes else ''} x {size}: {found:,.0f} steps/s, "
                  f"{1e6 / found:.2f} us each{told}, reset {1e3 * again:.2f} ms")
    for size in SIZES:
        theirs = gymnasium.make_vec("CartPole-v1", num_envs=size, vectorization_mode="vector_entry_point")
        print(f"Gymnasium's CartPole-v1 x {size}: {rate(theirs, np.arange(size) % 2, given.seconds):,.0f} steps/s")


if __name__ == "__main__":
    main()
