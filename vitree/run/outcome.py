"""What a run leaves: its records as it goes, what drove it, and what it cost."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree import _core
from vitree._core import scalar
from vitree.arguments import JsonObject
from vitree.errors import CallableError
from vitree.integrators.base import FEW_ROWS, Integrator, Records, checkpoint_of
from vitree.integrators.compiled import ORDINARY, CompiledIntegrator
from vitree.integrators.explicit import solved_by
from vitree.mechanism.drives import Drive
from vitree.mechanism.loads import CONSERVATIVE, Damper, JointForce
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.contacts import Nodes, places_of, signed, split_rows
from vitree.model.dynamics import spring_rate
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.contacts import ContactLog
from vitree.results.driven import Driven, at_records
from vitree.results.plain import plain, read_only
from vitree.results.recording import NAMES_OF_FIELDS
from vitree.run.arguments import Schedule
from vitree.run.monitors import Monitors
from vitree.run.trajectory import (
    Trajectory,
    conservation_warnings,
    drift_warnings,
    growth_warnings,
    halving_warnings,
    inexact_warnings,
    leap_warnings,
    limit_warnings,
    overlap_warnings,
    resolution_warnings,
    winding_warnings,
)

# ---- what a run keeps of what drove it ---------------------------------------------------------------------


def driven_of(
    integrator: Integrator, records: Records, velocities: Callable[[], np.ndarray], dt: float
) -> Driven | None:
    """Return what drove the run of an integrator, worked out when it is first asked for; None of vehicles.

    Parameters
    ----------
    integrator : Integrator
    records : Records
    velocities : callable
        Returns those of the records, (n, nv).
    dt : float [s]
        The longest step.
    """
    model = integrator.model
    if not isinstance(model, Model):
        return None
    kept = list(records.driven)
    parts = {
        name: _part(given, size, place, kept, records, velocities, dt, integrator.asks_midway)
        for name, given, size, place in (
            ("torque", integrator.torque, model.nv, slice(1, 1 + model.nv)),
            ("inputs", integrator.inputs, len(model.input_names), slice(1 + model.nv, None)),
        )
    }
    motion = integrator.motion
    moves = (lambda: motion.accelerations(records.t, velocities())) if motion.names else None
    return Driven(len(records.t), **parts, accelerations=moves)


def _part(given: np.ndarray | Callable[..., ArrayLike] | None, size: int, place: slice, kept: list[np.ndarray],
          records: Records, velocities: Callable[[], np.ndarray], dt: float,
          midway: bool) -> np.ndarray | Callable[[], np.ndarray] | None:  # fmt: skip
    if callable(given) and not midway:
        return partial(_asked, given, records, velocities, size)
    if kept:
        return partial(_kept, kept, place, records.t, dt, callable(given))
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return partial(_of_rows, given, records.t, dt)
    return None if given is None or callable(given) or not size else np.array(given, dtype=float)


def _asked(
    function: Callable[..., ArrayLike], records: Records, velocities: Callable[[], np.ndarray], size: int
) -> np.ndarray:
    """The values of a function at the records; NaN where it raises an error, as at the end of a run that it stopped."""
    rows = np.full((len(records.t), size), np.nan)
    for row, t, q, v in zip(rows, records.t, records.q, velocities(), strict=True):
        with contextlib.suppress(CallableError):
            row[:] = function(float(t), q.copy(), v.copy())
    return rows


def _kept(kept: list[np.ndarray], place: slice, t: np.ndarray, dt: float, smooth: bool) -> np.ndarray:
    rows = np.concatenate(kept)
    return at_records(t, np.column_stack([rows[:, 0], rows[:, place]]), dt, smooth)


def _of_rows(given: np.ndarray, t: np.ndarray, dt: float) -> np.ndarray:
    """Of methods that keep nothing: rows of inputs by the number of the step that led to each record."""
    led = np.clip(np.round((t - t[0]) / dt).astype(int) - 1, 0, len(given) - 1)[1:]
    return at_records(t, np.column_stack([np.arange(1, len(t)), given[led]]), dt)


def wrenches_told(wrenches: Iterable[ExternalWrench | Impulse]) -> JsonObject:
    """Return what acts beside the model's loads, as settings of the run."""
    found = [{"kind": type(each).__name__, **asdict(each)} for each in wrenches]
    return {"wrenches": found} if found else {}


# ---- the work of what drives a run: at most what its energy may grow by ------------------------------------


#: So many times the largest power that a torque had where it was asked: between these times it may have had more.
POWER = 2.0
#: The work of a torque in steps is known to this share: energies of steps are exact to the order of the method.
SLACK = 0.01


class Drivers(NamedTuple):
    """What drives a run, as its integrator has it.

    Attributes
    ----------
    torque : None, array (nv,) [N or N m] or callable
    inputs : None, array (nu,) or (steps, nu), or callable
    others : bool
        Whether anything else does: wrenches, pushes, prescribed coordinates, commands between the steps.
    power : float or None [W]
        The most that a torque that is a callable had where it was called; None if unknown.
    kept : tuple of (k, 1 + nv + nu) arrays
        Numbers of records, and the torque and the inputs of the steps that led to them, if one is a callable that steps
        call once.
    """

    torque: np.ndarray | Callable[..., ArrayLike] | None
    inputs: np.ndarray | Callable[..., ArrayLike] | None
    others: bool
    power: float | None
    kept: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(cls, integrator: Integrator, records: Records) -> Drivers:
        """Return what drives an integrator; arrays are copied."""
        torque, inputs = (x.copy() if isinstance(x, np.ndarray) else x for x in (integrator.torque, integrator.inputs))
        others = bool(integrator.commanded or integrator.wrenches or integrator.pushes or integrator.motion.names)
        return cls(torque, inputs, others, integrator.most_asked_power, tuple(records.driven))

    def in_steps(self, count: int, size: int) -> np.ndarray | None:
        """Return the torque and the inputs of ``count`` recorded steps, (count, size); None if one is missing."""
        rows = np.concatenate(self.kept) if self.kept else np.zeros((0, 1 + size))
        if rows.shape != (count, 1 + size) or not np.array_equal(rows[:, 0], np.arange(1, count + 1)):
            return None
        return rows[:, 1:] if np.isfinite(rows).all() else None


def most_work(model: System, drivers: Drivers, t: np.ndarray, q: np.ndarray, v: np.ndarray,
              every: int) -> np.ndarray | None:  # fmt: skip
    """Return the most that drives, torques and forces of joints can have given up to each record, (n,) [J].

    Between two records a drive whose target rests gives what its spring loses at most, and a target rate r
    kd r^2/4 in a second more. A constant force F of a joint gives F times the way, and so does a torque that is a
    callable, in each step, if these are recorded and have one each; else no more than its largest power in the run, all
    the time. All else, such as damping, friction and contacts, takes energy.

    Parameters
    ----------
    model : System
    drivers : Drivers
    t, q, v : (n,), (n, nq) and (n, nv) arrays [s, m or rad, m/s or rad/s]
        Of the records.
    every : int
        The steps between two records.

    Returns
    -------
    (n,) array or None
        None if something acts whose work does not follow from the records, such as a callable.
    """
    if type(model) is not Model or drivers.others:
        return None
    nv, nu, n = model.nv, len(model.input_names), len(t)
    asks = callable(drivers.torque), callable(drivers.inputs)
    kept = drivers.in_steps(n - 1, nv + nu) if any(asks) and every == 1 else None
    if kept is None and (asks[1] or (asks[0] and drivers.power is None)):
        return None
    if model.written is not None or not all(isinstance(load, _KNOWN) for load in model.loads):
        return None
    inputs = np.zeros(nu) if drivers.inputs is None else drivers.inputs if kept is None else kept[:, nv:]
    assert not callable(inputs)
    if inputs.ndim == 2 and (every != 1 or len(inputs) < n - 1):
        return None
    rows = np.broadcast_to(inputs if inputs.ndim == 1 else inputs[: n - 1], (n - 1, inputs.shape[-1]))
    dt, given = np.diff(t), np.zeros(n)

    def value(of: float | str) -> float | np.ndarray:
        return rows[:, model.input_names.index(of)] if isinstance(of, str) else of

    for load in model.loads:
        if not isinstance(load, Drive | JointForce):
            continue
        x = q[:, model.joint(load.joint).q_slice.start]
        if isinstance(load, JointForce):
            given[1:] += value(load.force) * np.diff(x)
            continue
        limit, target = load.effort_limit * load.gear, value(load.target)
        given[1:] += _spring(load.kp, limit, target - x[:-1]) - _spring(load.kp, limit, target - x[1:])
        given[1:] += 0.25 * load.kd * np.square(value(load.target_rate)) * dt
    if kept is not None:
        work = (kept[:, :nv] * model.difference(q[:-1], q[1:])).sum(axis=1)
        given[1:] += work + SLACK * np.abs(work)
    elif callable(drivers.torque):
        given[1:] += POWER * (drivers.power or 0.0) * dt
    elif drivers.torque is not None:
        for joint in model.joints:
            at = joint.v_slice
            torque = drivers.torque[at]
            if len(torque) == 1:
                given[1:] += torque[0] * np.diff(q[:, joint.q_slice.start])
            else:
                power = np.abs(v[:, at]) @ np.abs(torque)
                given[1:] += (power[1:] + power[:-1]) * dt
    return np.cumsum(given)


#: Loads whose work is known, or is never positive, or is that of a potential.
_KNOWN = (*CONSERVATIVE, Damper, Drive, JointForce)


def _spring(kp: float, limit: float, e: np.ndarray) -> np.ndarray:
    """Return the energy of a drive's spring that is drawn by e, with a largest force."""
    if not kp:
        return np.zeros_like(e)
    linear = np.minimum(np.abs(e), limit / kp)
    energy: np.ndarray = 0.5 * kp * linear**2 + (limit * (np.abs(e) - linear) if np.isfinite(limit) else 0.0)
    return energy


# ---- outcome: what a run leaves, and all that follows from it; a Trajectory asks it for its fields ---------


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

    def __init__(self, integrator: Integrator, records: Records, schedule: Schedule, every: int, more: JsonObject,
                 watched: Monitors | None, keeps_energy: bool, later: bool):  # fmt: skip
        self.system: System = integrator.model
        self.records, self._watched, self._keeps_energy = records, watched, keeps_energy
        self._of_steps, self._drivers = (schedule, every, more), Drivers.of(integrator, records)
        self._mended, self._symplectic = list(integrator.mended), integrator.symplectic
        self._energies: np.ndarray | None = None
        self._v: np.ndarray | None = records.x
        longest = schedule.dt if schedule.spans is None else float(schedule.spans.max())
        self.drive = driven_of(integrator, records, lambda: np.ascontiguousarray(self.v), longest)
        #: t, q and p or v between the halves of steps
        self._inner = integrator.inner_states
        if not (later and isinstance(integrator, CompiledIntegrator)):
            self._by: Integrator | None = integrator
            self._uses_momentum, self._largest = integrator.uses_momentum, math.inf
            self.method, self.halved, self.between = integrator.name, integrator.halved, integrator.halved_between
            self._underresolved, self.inexact = integrator.underresolved, integrator.inexact_contacts
            self.steps, self.iterations_total = integrator.steps, integrator.total_iterations
            self.iterations_max = integrator.most_iterations
            self._v = integrator.velocities(records.t, records.q, records.x, records.settling)
            return
        stepper, facts = integrator.stepper, integrator.facts
        self._by, self._facts, self._history = None, facts, stepper.history()
        self.method, self._uses_momentum = facts.name, facts.uses_momentum
        self.halved = stepper.halved if facts.uses_momentum else 0
        self.between = stepper.halved_between if self.halved else None
        self._underresolved, self.inexact = integrator.underresolved, stepper.inexact_contacts
        self.steps, self.iterations_total = stepper.steps, stepper.total_iterations
        self.iterations_max = stepper.most_iterations
        self._multipliers = integrator.multipliers_of(records) if facts.constrained else records.multipliers
        self._largest = self._largest_by(stepper)

    def _largest_by(self, stepper: _core.Stepper) -> float:
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
        model = self.system
        if not (isinstance(model, Model) and model.has_contact):
            return None
        records, schedule = self.records, self._of_steps[0]
        rows, dt = signed(model, records.contacts), schedule.dt
        record, number = rows[:, 0].astype(int), rows[:, 1].astype(int)
        nodes = nodes_of(records, record, number, dt if schedule.spans is None else float(schedule.spans.max()))
        rows, facets = split_rows(rows)
        nodes = nodes._replace(facets=facets)
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
        v = self.system._constrained_velocities(q, x) if by_momentum else x
        return np.column_stack([inner[:, 0], q, v, x if by_momentum else self.system._momenta(q, x)])

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
        return self.records.x if self._uses_momentum else self.system._momenta(self.records.q, self.records.x)

    @property
    def v(self) -> np.ndarray:
        if self._v is None:
            self._v = self.system._constrained_velocities(self.records.q, self.records.x)
        return self._v

    @property
    def energies(self) -> np.ndarray:
        """Energies, momentum and centre of mass (n, 11)."""
        if self._energies is None:
            self._energies = self.system._energies(self.records.q, self.v)
        return self._energies

    @property
    def kinetic(self) -> np.ndarray:
        return self.energies[:, 0]

    @property
    def potential(self) -> np.ndarray:
        return self.energies[:, 1]

    @property
    def energy(self) -> np.ndarray:
        found: np.ndarray = self.kinetic + self.potential
        return found

    @property
    def momentum(self) -> np.ndarray:
        return self.energies[:, 2:8]

    @property
    def iterations(self) -> np.ndarray:
        return self.records.iterations.astype(int)

    @property
    def constraint(self) -> np.ndarray:
        return self.system._constraint_errors(self.q)

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
    def settings(self) -> JsonObject:
        schedule, every, more = self._of_steps
        by = self._by or self._facts
        found = {
            **schedule.settings(every), **more, **by.settings, "options": by.chosen, "model_digest": self.system.digest,
            **({} if self.inexact is None else {"inexact_contacts": list(self.inexact)}),
            "halved": self.halved, "warnings": self._warnings(), **({} if self._by is None else self._by.adapted),
            **({} if self._keeps_energy else {"driven": True}),
        }  # fmt: skip
        kept: JsonObject = plain(found)
        return kept

    def odd_steps(self) -> list[str]:
        """Say which steps were taken in halves, and in which the impulses of contacts are not exact."""
        odd = halving_warnings(self.halved, self.between, self.steps, self._instead)
        return odd + inexact_warnings(self.inexact, self.steps)

    def _warnings(self) -> list[str]:
        odd = self._mended + self.odd_steps()
        if self._underresolved is not None:
            by = self._by or self._facts
            odd += resolution_warnings(self._underresolved, self._of_steps[0].dt, by.settings["order"])
        odd += self._energy_warnings() or leap_warnings(self._of_steps[0].dt, self.v)
        odd += winding_warnings(self.system, self.records.t, self.records.q)
        return odd + limit_warnings(self.system, self.records.t, self.records.q, lambda: self.v)

    def _energy_warnings(self) -> list[str]:
        weight = self.system.total_mass * math.hypot(*self.system.gravity)
        if self._keeps_energy and self.system.is_conservative:
            raises_order = (self._by or self._facts).settings.get("order") == 2
            return conservation_warnings(self.energies, self._has_stiff_springs, weight, self._symplectic, raises_order)
        work = most_work(self.system, self._drivers, self.t, self.q, self.v, self._of_steps[1])
        if work is None:
            return []
        touches = isinstance(self.system, Model) and self.system.has_contact
        if touches:
            return growth_warnings(self.energies, work, True, weight) or overlap_warnings(
                self.energies, work, lambda: self.contacts)  # fmt: skip
        return growth_warnings(self.energies, work, False, weight) or (
            drift_warnings(self.energies, work, weight) if self._symplectic else []
        )

    def _instead(self) -> str:
        """Return the method that solves for what is too stiff for one that does not, for a text."""
        if self._uses_momentum or not isinstance(self.system, Model):
            return ""
        way, share = solved_by(self.system, self.records.q[0], self._of_steps[0].dt)
        return way + ", or " if share > 1 else ""

    def _has_stiff_springs(self) -> bool:
        """Whether springs that steps take at their nodes are too fast for them at the start."""
        model = self.system
        by = self._by or self._facts
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
