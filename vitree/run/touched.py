"""Contacts of the step that a held run has just taken, without records."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import entries
from vitree.model.lower import contact_names
from vitree.model.pushed import Nodes, origins_of, places_of
from vitree.results.contacts import ContactLog, signs_of

core = scalar()
#: The world's origin.
ORIGIN = (0.0, 0.0, 0.0)


class Touched:
    """What the compiled stepper of a held run tells of contacts.

    Parameters
    ----------
    integrator : Integrator
        With a compiled stepper that knows contacts.
    """

    def __init__(self, integrator: Any):
        self.stepper, self.model, self.dt = integrator.stepper, integrator.model, integrator.dt
        self.names = tuple(contact_names(self.model.flat, self.model.contact_candidates))
        self.count: int = core.gap_count(self.stepper)
        self._signs: dict[tuple[str, ...], np.ndarray] = {}

    def contacts(self) -> ContactLog:
        """Return the contacts that pushed in the step just taken; places are worked out when they are asked for."""
        rows, q, at, before = core.step_contacts(self.stepper)
        nodes = Nodes(q, at, before)
        return ContactLog._plain(rows, self.names, partial(_places, self.model, rows, nodes), self.dt, nodes)

    def wrench(self, names: tuple[str, ...], about: ArrayLike | str) -> np.ndarray:
        """Return the wrench (6,) [N m, N] as :meth:`Trajectory.contact_wrench` has it."""
        signs = self._signs.get(names)
        if signs is None:
            signs = signs_of(self.names, names)
            self._signs[names] = signs
        if about is not ORIGIN:
            if isinstance(about, str):
                about = origins_of(self.model, about, core.step_contacts(self.stepper)[1])[0]
            about = entries(about, (3,), "about")
        return core.step_wrench(self.stepper, signs, self.dt, about)


def _places(model: Any, rows: np.ndarray, nodes: Nodes) -> np.ndarray:
    return places_of(model, rows[:, 1].astype(int), nodes)
