"""Contacts of all instances: forces on frames, which of them touch, and for how long they have."""

from __future__ import annotations

import numpy as np

from vitree.gym.layout import Layout
from vitree.run.lanes import HeldBlocks, HeldSimulations


def contact_forces(held: HeldSimulations | HeldBlocks, layout: Layout, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the forces of contacts on frames in the last step, and whether anything touches them.

    Parameters
    ----------
    held : instances
    layout : Layout
        With the frames.
    dt : float [s]
        Of a step: a force is an impulse over it.

    Returns
    -------
    forces : (n, frames, 3) array [N]
        World axes.
    touching : (n, frames) array of bool
    """
    n, m = len(held.alive), len(layout.frames)
    rows, owner = held.contact_rows() if m else (np.empty((0, 9)), np.empty(0, int))
    if not len(rows):
        return np.zeros((n, m, 3)), np.zeros((n, m), bool)
    signs = layout.signs[rows[:, 1].astype(int)]
    row, frame = np.nonzero(signs)
    at = owner[row] * m + frame
    sign = signs[row, frame] / dt
    impulses = rows[row, 2:5]
    forces = np.stack([np.bincount(at, sign * impulses[:, k], n * m) for k in range(3)], axis=1)
    return forces.reshape(n, m, 3), np.bincount(at, minlength=n * m).reshape(n, m) > 0


class ContactTimes:
    """How long frames have touched something, and how long they have been in the air.

    Attributes
    ----------
    air, contact : (n, frames) arrays [s]
        Since the frame last touched, and since it last did not; zero for the other one of the two.
    last_air : (n, frames) array [s]
        How long it was in the air when it last touched down.
    first : (n, frames) array of bool
        Whether it touched down with the last action.
    """

    def __init__(self, n: int, frames: int):
        self.air, self.contact, self.last_air = (np.zeros((n, frames)) for _ in range(3))
        self.first = np.zeros((n, frames), bool)

    def begin(self, which: np.ndarray) -> None:
        """Begin episodes."""
        self.air[which], self.contact[which], self.last_air[which], self.first[which] = 0.0, 0.0, 0.0, False

    def advance(self, touching: np.ndarray, dt: float) -> None:
        """Go on by the time of an action [s], after which frames touch (n, frames)."""
        self.first = touching & (self.air > 0)
        self.last_air = np.where(self.first, self.air + dt, self.last_air)
        self.air = np.where(touching, 0.0, self.air + dt)
        self.contact = np.where(touching, self.contact + dt, 0.0)
