"""Contacts of the step that a held run has just taken, without records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import entries
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
        self.names = self.model._contact_names
        self.count: int = core.gap_count(self.stepper)
        self._signs: dict[tuple[str, ...], np.ndarray] = {}

    def contacts(self) -> ContactLog:
        """Return the contacts that pushed in the step just taken; places are worked out when they are asked for."""
        rows, start = core.step_contacts(self.stepper)
        return ContactLog._of_step(rows, self.names, self.dt, self, start)

    def nodes(self, rows: np.ndarray, start: bytes) -> Nodes:
        """Return where contacts (n, 9) of a step acted, which began as the ``start`` says."""
        q, before = start_of(self.model, start)
        return Nodes(q, np.zeros(len(rows), int), np.column_stack([np.zeros_like(before), before]))

    def places(self, rows: np.ndarray, nodes: Nodes) -> np.ndarray:
        """Return the points, normals and gaps (n, 7) of contacts (n, 9) at the nodes."""
        return places_of(self.model, rows[:, 1].astype(int), nodes)

    def wrench(self, names: tuple[str, ...], about: ArrayLike | str) -> np.ndarray:
        """Return the wrench (6,) [N m, N] as :meth:`Trajectory.contact_wrench` has it."""
        signs = self._signs.get(names)
        if signs is None:
            signs = signs_of(self.names, names)
            self._signs[names] = signs
        if about is not ORIGIN:
            if isinstance(about, str):
                about = origins_of(self.model, about, start_of(self.model, core.step_contacts(self.stepper)[1])[0])[0]
            about = entries(about, (3,), "about")
        return core.step_wrench(self.stepper, signs, self.dt, about)


def start_of(model: Any, start: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return q (1, nq) [m or rad] where a step began, and the numbers of the contacts that pushed before (k,)."""
    q = np.frombuffer(start, float, model.nq)
    return q[None], np.flatnonzero(np.frombuffer(start, np.intc, offset=q.nbytes))
