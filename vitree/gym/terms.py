"""Rewards and ends of episodes that many tasks have: functions of a :class:`vitree.gym.State`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vitree.errors import InputError
from vitree.gym.state import State

#: A function of states, with a number or a truth for each instance.
Of = Callable[[State], np.ndarray]


def touching(*frames: str) -> Of:
    """Return a function that says whether any of some frames touches something, (n,) of bool.

    Parameters
    ----------
    *frames : str
        Names or patterns of frames that may touch.
    """
    return lambda state: np.asarray(state.contacts[:, state.columns(*frames)].any(axis=1))


def tilted(angle: float) -> Of:
    """Return a function that says whether the base leans by more than an ``angle`` [rad] from upright, (n,) of bool."""
    least = np.cos(angle)
    return lambda state: -state.projected_gravity[:, 2] < least


def below(height: float) -> Of:
    """Return a function that says whether the base is below a ``height`` [m], (n,) of bool.

    The height is that above the ground under the first point of the height scan of the task, or that in the world.
    """

    def function(state: State) -> np.ndarray:
        heights = state.heights
        found: np.ndarray = (heights[:, 0] if heights.shape[1] else state.base_position[:, 2]) < height
        return found

    return function


def tracked(quantity: Of, target: Of, width: float) -> Of:
    """Return a function of how near a quantity is to a target: exp(-(distance/width)^2), (n,), from 0 to 1.

    Parameters
    ----------
    quantity, target : callable (state) -> (n,) or (n, k) array
    width : float [units as the quantity]
    """
    if not width > 0:
        raise InputError("width", width, "must be positive")

    def function(state: State) -> np.ndarray:
        apart = np.asarray(quantity(state) - target(state)).reshape(len(state.q), -1)
        found: np.ndarray = np.exp(-(apart**2).sum(axis=1) / width**2)
        return found

    return function


def squared(quantity: Of) -> Of:
    """Return a function of the sum of the squares of a quantity's entries, (n,) [its units squared]."""

    def function(state: State) -> np.ndarray:
        rows = np.asarray(quantity(state), dtype=float).reshape(len(state.q), -1)
        found: np.ndarray = np.einsum("ij,ij->i", rows, rows)
        return found

    return function
