"""Tasks with names: each function returns a :class:`Task`, of which some arguments may be given anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vitree.gym.locomotion import g1_velocity, go2_velocity
from vitree.gym.state import State
from vitree.gym.task import Task
from vitree.model.model import Model
from vitree.tree.elements import body, ry, tx
from vitree.tree.tree import Tree

__all__ = ["TASKS", "cart_pole", "g1_velocity", "go2_velocity"]

#: Of Gymnasium's cart-pole: masses [kg], half the length of the pole [m], gravity [m/s^2], force [N], step [s].
CART, POLE, HALF, GRAVITY, FORCE, STEP = 1.0, 0.1, 0.5, 9.8, 10.0, 0.02
#: Where it ends [m, rad], the spread of its start [m, rad, m/s, rad/s], and its longest episode [s].
PLACE, LEAN, SPREAD, LONGEST = 2.4, np.deg2rad(12.0), 0.05, 10.0


def cart_pole_model() -> Model:
    """Return a cart on a rail along x, and a pole on it that is upright at zero and leans towards +x."""
    tree = Tree("cart-pole", gravity=(0.0, 0.0, -GRAVITY))
    cart = tree.world.add(tx("cart"), body("cart body", CART, (0.01, 0.01, 0.01)))
    about = POLE * HALF**2 / 3
    cart.add(ry("pole"), body("pole body", POLE, (about, about, 1e-6), com=(0, 0, HALF)))
    return tree.compile()


def cart_pole(**changes: Any) -> Task:
    """Return the cart-pole of Gymnasium: the same numbers, integrator, ends and rewards.

    An action is 0 or 1, a push to the left or to the right; an observation is place, speed, angle and rate of the
    angle. Each step has the reward 1. Episodes end where the cart is beyond 2.4 m or the pole beyond 12 degrees, and
    are truncated after 10 s.

    Parameters
    ----------
    **changes
        Arguments of the :class:`Task` that are others.

    Raises
    ------
    InputError, UnknownNameError
        If one of them is wrong.

    References
    ----------
    Barto, Sutton and Anderson 1983, "Neuronlike adaptive elements that can solve difficult learning control problems".
    """
    task = Task(
        model=cart_pole_model(), dt=STEP, method="explicit-euler", duration=LONGEST, actuators=["cart"],
        choices=[[-FORCE], [FORCE]], start=_cart_pole_start, observe=_cart_pole_observed,
        reward=lambda Q, V, A: np.ones(len(Q)),
        terminated=lambda Q, V: (np.abs(Q[:, 0]) > PLACE) | (np.abs(Q[:, 1]) > LEAN),
    )  # fmt: skip
    return replace(task, **changes)


def _cart_pole_start(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    both = rng.uniform(-SPREAD, SPREAD, (count, 4))
    return both[:, ::2], both[:, 1::2]


def _cart_pole_observed(state: State) -> np.ndarray:
    q, v = state.q, state.v
    return np.stack([q[:, 0], v[:, 0], q[:, 1], v[:, 1]], axis=1)


#: Tasks by the names that Gymnasium knows them by.
TASKS: dict[str, Callable[..., Task]] = {
    "vitree/CartPole-v0": cart_pole, "vitree/Go2Velocity-v0": go2_velocity, "vitree/G1Velocity-v0": g1_velocity,
}  # fmt: skip
