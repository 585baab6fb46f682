"""How long frames of all instances have touched something, and how long they have not."""

from __future__ import annotations

import numpy as np


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
