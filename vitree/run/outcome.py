"""Outcome: what a run leaves, and all that follows from it; a Trajectory asks it for its fields."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from vitree._core import scalar
from vitree.integrators.base import FEW_ROWS, Records
from vitree.integrators.compiled import ORDINARY, checkpoint_of
from vitree.integrators.explicit import solved_by
from vitree.model.model import Model
from vitree.model.pushed import Nodes, places_of, signed
from vitree.model.stiffness import spring_rate
from vitree.results.contacts import ContactLog
from vitree.results.plain import plain, read_only
from vitree.results.recording import NAMES_OF_FIELDS
from vitree.run.arguments import Schedule
from vitree.run.drive import driven_of
from vitree.run.monitors import Monitors
from vitree.run.oddities import (
    energy_warnings,
    growth_warnings,
    halving_warnings,
    leap_warnings,
    limit_warnings,
    resolution_warnings,
)
from vitree.run.trajectory import Trajectory
from vitree.run.work import Drivers, most_work

core = scalar()


def nodes_of(records: Records, record: np.ndarray, number: np.ndarray, dt: float) -> Nodes:
    """Return where the contacts of records act: at the rows before, if a step is between, or where ``starts`` say."""
    if records.starts:
        rows, q, before = (np.concatenate(x) for x in zip(*records.starts, strict=True))
        order = np.argsort(rows, kind="stable")

        def node(row: np.ndarray) -> np.ndarray:
            at = np.minimum(np.searchsorted(rows[order], row), len(rows) - 1)
            return np.where(rows[order[at]] == row, order[at], -1)

        return Nodes(q, node(record), np.column_stack([node(before[:, 0]), before[:, 1]]))
    one = records.t[record] - records.t[record - 1] < 1.5 * dt
    return Nodes(records.q, np.where(one, record - 1, -1), np.column_stack([record, number]))


class Outcome:
    """The fields of a Trajectory, each worked out when it is first asked for.

    Parameters
    ----------
    integrator : Integrator
        At the end of the run.
    records : Records
        Those written.
    schedule : Schedule
    every : int
        Which steps are recorded.
    more : dict
        Settings beside those of the steps.
    watched : Monitors or None
    keeps_energy : bool
        Whether nothing drives the run.
    later : bool
        Whether all follows from the records and from a model that never changes. The outcome then does not ask the
        integrator any more, which may serve another run.
    """

    film = about = None
    stages: np.ndarray | None = None

    def __init__(self, integrator: Any, records: Records, schedule: Schedule, every: int, more: dict[str, Any],
                 watched: Monitors | None, keeps_energy: bool, later: bool):  # fmt: skip
        self.system: Any = integrator.model
        self.records, self._watched, self._keeps_energy = records, watched, keeps_energy
        self._of_steps, self._drivers = (schedule, every, more), Drivers.of(integrator)
        self._mended = list(integrator.mended)
        self._energies: np.ndarray | None = None
        self._v: np.ndarray | None = records.x
        longest = schedule.dt if schedule.spans is None else float(schedule.spans.max())
        self.drive = driven_of(integrator, records, lambda: np.ascontiguousarray(self.v), longest)
        #: t, q and p or v between the halves of steps
        self._inner = integrator.inner_states
        if not later:
            self._by, self._uses_momentum, self._largest = integrator, integrator.uses_momentum, math.inf
            self.method, self.halved, self.between = integrator.name, integrator.halved, integrator.halved_between
            self._unresolved = integrator.unresolved
            self.steps, self.iterations_total = integrator.steps, integrator.total_iterations
            self.iterations_max = integrator.most_iterations
            self._v = integrator.velocities(records.t, records.q, records.x, records.settling)
            return
        stepper, facts = integrator.stepper, integrator.facts
        self._by, self._facts, self._history = None, facts, stepper.history()
        self.method, self._uses_momentum = facts.name, facts.uses_momentum
        self.halved = stepper.halved if facts.uses_momentum else 0
        self.between = stepper.halved_between if self.halved else None
        self._unresolved = integrator.unresolved
        self.steps, self.iterations_total = stepper.steps, stepper.total_iterations
        self.iterations_max = stepper.most_iterations
        self._multipliers = integrator.multipliers_of(records) if facts.constrained else records.multipliers
        self._largest = self._largest_by(stepper)

    def _largest_by(self, stepper: Any) -> float:
        """Return the largest number of the states, by a stepper that forgets its own; infinite if nobody looked."""
        q, x = self.records.q, self.records.x
        if not self._uses_momentum:
            return core.largest_of(q, x)
        self._v = None
        if len(x) > FEW_ROWS:
            return math.inf
        v = x.copy()
        size = core.velocities_of(stepper, q, x, v)
        if not self._facts.constrained:  # else the model's own differ by rounding errors
            self._v = v
        return size

    def trajectory(self) -> Trajectory:
        """Return the trajectory: of all fields at once, if the integrator is to be asked."""
        if self._by is None:
            return Trajectory._of(self)
        with np.errstate(all="ignore"):
            return Trajectory(**{name: getattr(self, name) for name in NAMES_OF_FIELDS})

    def sound(self) -> bool:
        """Return whether states and energies are finite."""
        if self._largest <= ORDINARY and self._facts.ordinary:
            return True
        return math.isfinite(core.largest_of(self.records.q, np.ascontiguousarray(self.v), self.energies))

    @property
    def contacts(self) -> ContactLog | None:
        model: Any = self.system
        if not (isinstance(model, Model) and model.touches):
            return None
        records, schedule = self.records, self._of_steps[0]
        rows, dt = signed(model, records.contacts), schedule.dt
        record, number = rows[:, 0].astype(int), rows[:, 1].astype(int)
        nodes = nodes_of(records, record, number, dt if schedule.spans is None else float(schedule.spans.max()))
        if schedule.spans is not None:
            dt = schedule.spans[self._of_steps[1] * record - 1]
        return ContactLog(rows, model._contact_names, partial(places_of, model, number, nodes), dt, nodes)

    # ---- states -----------------------------------------------------------------------------------

    @property
    def halves(self) -> np.ndarray | None:
        inner, t, nq = self._inner, self.records.t, self.system.nq
        inner = inner[(inner[:, 0] > t[0]) & (inner[:, 0] < t[-1])] if len(inner) else inner
        if not len(inner):
            return None
        q, x = (np.ascontiguousarray(part) for part in (inner[:, 1 : 1 + nq], inner[:, 1 + nq :]))
        by_momentum = self._uses_momentum
        v = self.system.constrained_velocities(q, x) if by_momentum else x
        return np.column_stack([inner[:, 0], q, v, x if by_momentum else self.system.momenta(q, x)])

    @property
    def t(self) -> np.ndarray:
        return self.records.t

    @property
    def q(self) -> np.ndarray:
        return self.records.q

    @property
    def residual(self) -> np.ndarray:
        return self.records.residual

    @property
    def seconds(self) -> float:
        return self.records.seconds

    @property
    def p(self) -> np.ndarray:
        return self.records.x if self._uses_momentum else self.system.momenta(self.records.q, self.records.x)

    @property
    def v(self) -> np.ndarray:
        if self._v is None:
            self._v = self.system.constrained_velocities(self.records.q, self.records.x)
        return self._v

    @property
    def energies(self) -> np.ndarray:
        """Energies, momentum and centre of mass (n, 11)."""
        if self._energies is None:
            self._energies = self.system.energies(self.records.q, self.v)
        return self._energies

    @property
    def kinetic(self) -> np.ndarray:
        return self.energies[:, 0]

    @property
    def potential(self) -> np.ndarray:
        return self.energies[:, 1]

    @property
    def momentum(self) -> np.ndarray:
        return self.energies[:, 2:8]

    @property
    def iterations(self) -> np.ndarray:
        return self.records.iterations.astype(int)

    @property
    def constraint(self) -> np.ndarray:
        return self.system.constraint_errors(self.q)

    @property
    def multipliers(self) -> np.ndarray:
        return self._multipliers if self._by is None else self._by.multipliers_of(self.records)

    # ---- names and facts --------------------------------------------------------------------------

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
        schedule, every, more = self._of_steps
        by: Any = self._by or self._facts
        found = {
            **schedule.settings(every), **more, **by.settings, "options": by.chosen, "model_digest": self.system.digest,
            "halved": self.halved, "warnings": self._warnings(), **({} if self._by is None else self._by.adapted),
            **({} if self._keeps_energy else {"driven": True}),
        }  # fmt: skip
        return plain(found)

    def _warnings(self) -> list[str]:
        odd = self._mended + halving_warnings(self.halved, self.between, self.steps, self._instead)
        if self._unresolved is not None:
            by: Any = self._by or self._facts
            odd += resolution_warnings(self._unresolved, self._of_steps[0].dt, by.settings["order"])
        odd += self._energy_warnings() or leap_warnings(self._of_steps[0].dt, self.v)
        return odd + limit_warnings(self.system, self.records.t, self.records.q, lambda: self.v)

    def _energy_warnings(self) -> list[str]:
        if self._keeps_energy and self.system.conservative:
            weight = self.system.total_mass * math.hypot(*self.system.gravity)
            return energy_warnings(self.energies, self._has_stiff_springs, weight)
        work = most_work(self.system, self._drivers, self.t, self.q, self.v, self._of_steps[1])
        return [] if work is None else growth_warnings(self.energies, work, self.system.touches)

    def _instead(self) -> str:
        """Return the method that solves for what is too stiff for one that does not, for a text."""
        if self._uses_momentum or not isinstance(self.system, Model):
            return ""
        way, share = solved_by(self.system, self.records.q[0], self._of_steps[0].dt)
        return way + ", or " if share > 1 else ""

    def _has_stiff_springs(self) -> bool:
        """Whether springs that steps take at their nodes are too fast for them at the start."""
        model: Any = self.system
        by: Any = self._by or self._facts
        if by.settings.get("springs") != "nodes" or not isinstance(model, Model):
            return False
        return self._of_steps[0].dt * spring_rate(model, self.records.q[0]) > 1

    @property
    def monitors(self) -> dict[str, np.ndarray] | None:
        kept = self._watched.kept() if self._watched else {}
        return {name: read_only(rows) for name, rows in kept.items()}

    @property
    def checkpoint(self) -> np.ndarray:
        by = self._by
        kept = checkpoint_of(self._facts.mark, self._history) if by is None else by.checkpoint()
        return np.frombuffer(kept, np.uint8)
