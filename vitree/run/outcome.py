"""Outcome: what a run leaves, and all that follows from it; a Trajectory asks it for its fields."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree.integrators import Integrator
from vitree.integrators.base import Records
from vitree.integrators.compiled import CompiledIntegrator, checkpoint_of
from vitree.results.plain import plain, read_only
from vitree.results.recording import NAMES_OF_FIELDS
from vitree.run.monitors import Monitors
from vitree.run.oddities import energy_warnings, halving_warnings
from vitree.run.trajectory import Trajectory

_finite = scalar().finite


class Outcome:
    """The fields of a Trajectory, each worked out when it is first asked for.

    Parameters
    ----------
    integrator : Integrator
        At the end of the run.
    records : Records
        Those written.
    steps : dict
        The settings of the steps.
    watched : Monitors or None
    keeps_energy : bool
        Whether nothing drives the run.
    later : bool
        Whether all follows from the records and from a model without constraints that never changes. The outcome then
        does not ask the integrator any more, which may serve another run.
    """

    film = about = None

    def __init__(self, integrator: Integrator, records: Records, steps: dict[str, Any], watched: Monitors | None,
                 keeps_energy: bool, later: bool):  # fmt: skip
        self.system: Any = integrator.model
        self.t, self.q, self.residual, self.seconds = records.t, records.q, records.residual, records.seconds
        self.records, self._of_steps, self._watched, self._keeps_energy = records, steps, watched, keeps_energy
        self.steps, self.halved, self.between = integrator.steps, integrator.halved, integrator.halved_between
        self.iterations_total, self.iterations_max = integrator.total_iterations, integrator.most_iterations
        self._by: Integrator | None = integrator
        if later and isinstance(integrator, CompiledIntegrator):
            self._by, self._facts, self._kept = None, integrator.facts, integrator.kept()
        else:
            self._facts = integrator.name, integrator.uses_momentum, integrator.settings, integrator.chosen

    def trajectory(self) -> Trajectory:
        """Return the trajectory: of all fields at once, if the integrator is to be asked."""
        if self._by is None:
            return Trajectory.of(self)
        with np.errstate(all="ignore"):
            return Trajectory(**{name: getattr(self, name) for name in NAMES_OF_FIELDS})

    @property
    def sound(self) -> bool:
        """Whether states and energies are finite."""
        return _finite(self.q, self.v, self._energies)

    # ---- states -----------------------------------------------------------------------------------

    @cached_property
    def v(self) -> np.ndarray:
        x = self.records.x
        if not self._facts[1]:
            return x
        return self._rows("velocities", x) if self._by is None else self._by.velocities(self.t, self.q, x)

    @cached_property
    def p(self) -> np.ndarray:
        return self.records.x if self._facts[1] else self._rows("momenta", self.records.x)

    @cached_property
    def _energies(self) -> np.ndarray:
        return self._rows("energies", self.v)

    def _rows(self, name: str, x: np.ndarray) -> np.ndarray:
        """The result of a method of the system for rows of states that need no checks."""
        method = getattr(type(self.system), name)
        if self._by is None and not self.system.loads:
            method = getattr(method, "__wrapped__", method)
        return method(self.system, self.q, x)

    @property
    def kinetic(self) -> np.ndarray:
        return self._energies[:, 0]

    @property
    def potential(self) -> np.ndarray:
        return self._energies[:, 1]

    @property
    def momentum(self) -> np.ndarray:
        return self._energies[:, 2:8]

    @property
    def iterations(self) -> np.ndarray:
        return self.records.iterations.astype(int)

    @property
    def constraint(self) -> np.ndarray:
        return self.system.constraint_errors(self.q)

    @property
    def multipliers(self) -> np.ndarray:
        return self.records.multipliers if self._by is None else self._by.multipliers_of(self.records)

    # ---- names and facts --------------------------------------------------------------------------

    @property
    def method(self) -> str:
        return self._facts[0]

    @property
    def model_name(self) -> str:
        return self.system.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.system.joint_names

    @property
    def q_names(self) -> tuple[str, ...]:
        return self.system.q_names

    @property
    def v_names(self) -> tuple[str, ...]:
        return self.system.v_names

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.system.constraints)

    @property
    def settings(self) -> dict[str, Any]:
        _, _, chosen_and_defaults, chosen = self._facts
        found = {
            **self._of_steps, **chosen_and_defaults, "options": chosen, "model_digest": self.system.digest,
            "halved": self.halved, "warnings": self._warnings(), **({} if self._by is None else self._by.adapted),
        }  # fmt: skip
        return plain(found)

    def _warnings(self) -> list[str]:
        odd = halving_warnings(self.halved, self.between, self.steps)
        return odd + (energy_warnings(self._energies) if self._keeps_energy and self.system.conservative else [])

    @property
    def monitors(self) -> dict[str, np.ndarray] | None:
        kept = self._watched.kept() if self._watched else {}
        return {name: read_only(rows) for name, rows in kept.items()}

    @property
    def checkpoint(self) -> np.ndarray:
        kept = checkpoint_of(*self._kept) if self._by is None else self._by.checkpoint()
        return np.frombuffer(kept, np.uint8)
