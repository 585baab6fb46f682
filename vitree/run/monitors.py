"""Monitors: quantities that are kept for every step of a run, recorded or not."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

import numpy as np

from vitree.arguments import Keywords, several
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.base import COLUMNS, Integrator, Records
from vitree.integrators.compiled import CompiledIntegrator
from vitree.memory import require_memory
from vitree.model.contacts import (
    WIDTH,
    Nodes,
    kicks_of,
    late_pushes,
    least_gaps,
    places_of,
    signed,
    split_rows,
    torques_in,
)
from vitree.model.kinematics import carried
from vitree.model.model import Model
from vitree.results.contacts import ContactLog
from vitree.results.units import CERTIFICATE

#: Name of a quantity -> number of columns (0: a plain array; None: one for each drive) and meaning.
MONITORS = {
    "energy": (0, "kinetic plus potential energy at the step's end [J]"),
    "momentum": (6, "angular momentum about the world's origin and linear momentum"),
    "constraint": (0, "largest |h| of the constraints [m or rad]"),
    "residual": (0, "largest residual of the step's equations at its end [units of p]"),
    "iterations": (0, "corrections of the step"),
    "contraction": (0, "ratio of the last two residuals; NaN if there was only one"),
    "certificate": (len(CERTIFICATE), "largest turn of a joint [rad], and distance from the dynamics' prediction as a "
                                      "share of the most that is certified; NaN where it is not asked for"),
    "error": (0, "estimate of the relative error of the velocities in the step, mostly too large; of the method gauss"),
    "drive_forces": (None, "mean forces of the drives in the step, of `model.drives` [N or N m]; NaN with methods that "
                           "take forces at their stages: `model.drive_forces` gives those"),
    "gap": (0, "least gap of all that may touch, at the step's end [m]; negative in penetration, NaN if nothing may"),
    "contact_work": (0, "work of the step's contacts and limits: the jump of the kinetic energy where it starts [J]"),
    "momentum_balance": (6, "change of the momentum, angular about the world's origin and linear, less the impulses of "
                            "gravity and of contacts with the ground: zero where nothing else acts on the whole"),
}


#: Numbers that a stepper shows of each step before the forces of drives: the contraction, the certificate's two, and
#: the estimate of the error.
WATCHED = 4


def monitors_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the monitors that are asked for; raise an InputError or UnknownNameError if one is none."""
    found = (names,) if isinstance(names, str) else several(names, "monitors", f"names, of {', '.join(MONITORS)}")
    for name in found:
        if not isinstance(name, str) or name not in MONITORS:
            raise UnknownNameError("monitor", name, MONITORS, argument="monitors")
    return found


class Monitors:
    """Arrays (steps,) or (steps, columns) of the quantities asked for.

    Parameters
    ----------
    names : names of MONITORS, or one
    integrator : Integrator
    steps : int

    Raises
    ------
    UnknownNameError
    """

    def __init__(self, names: str | Iterable[str], integrator: Integrator, steps: int):
        self.names = monitors_of(names)
        if "error" in self.names and not integrator.estimates:
            able = ", ".join(name for name, kind in integrator.model.methods.items() if kind.estimates) or "none here"
            raise InputError(
                "monitors", "error",
                f": the method {integrator.name} does not estimate its error. Methods that do: {able}"
            )
        self.model = integrator.model
        self.done = 0
        #: the time and the state where the next step begins, and the contacts that pushed in the step before
        self._time: float
        self._start: tuple[np.ndarray, np.ndarray]
        self._pushed = np.zeros(0, int)
        self.arrays: dict[str, np.ndarray] = {}
        model = self.model
        drives = len(getattr(model, "drives", ()))
        columns = {name: drives if (count := MONITORS[name][0]) is None else count for name in self.names}
        each = sum(max(count, 1) for count in columns.values()) + 1
        require_memory(f"the monitors of {steps} steps", 8.0 * steps * each, "shorten duration=",
                       "leave out some of monitors=")  # fmt: skip
        if self.names:
            self.arrays["t"] = np.empty(steps)
        for name, count in columns.items():
            self.arrays[name] = np.empty(steps if MONITORS[name][0] == 0 else (steps, count))
        self.watched = np.empty((0, WATCHED + drives))

    def begin(self, integrator: Integrator) -> None:
        """Go on from the integrator's state."""
        self._time, self._start = integrator.t, integrator.state()
        self._pushed = integrator.pushed(0)[:, 1].astype(int)
        if isinstance(integrator, CompiledIntegrator) and integrator.touches_here:
            integrator.stepper.log_parts(True)

    def take_one(self, integrator: CompiledIntegrator, records: Records, stride: int) -> None:
        """Keep the step to the integrator's state, which was taken in parts: numbers of solvers are NaN."""
        sizes = (array.shape[1] for array in (records.q, records.x, records.multipliers))
        every = Records.room(1, *sizes)
        integrator.stepper.row(every, 0)
        every.touched.append(integrator.pushed(0))
        if integrator.drive_varies:
            every.driven.append(integrator.drove(0))
        self.watched = np.full((1, self.watched.shape[1]), np.nan)
        self.take(integrator, every, records, stride)

    def rows_for(self, integrator: Integrator, records: Records, count: int) -> Records:
        """Room for ``count`` states, as ``records`` have them; the steps go on from the integrator's."""
        self.begin(integrator)
        self.watched = np.full((count, self.watched.shape[1]), np.nan)
        kept = {name: getattr(records, name) for name in COLUMNS}
        columns: Keywords = {name: np.empty((count, *x.shape[1:]), x.dtype) for name, x in kept.items()}
        return Records(**columns)

    def take(self, integrator: Integrator, every: Records, records: Records, stride: int) -> None:
        """Keep the first ``every.rows`` states, and copy each ``stride``-th to ``records``."""
        n, model = every.rows, self.model
        here = slice(self.done, self.done + n)
        if self.names and here.stop > len(self.arrays["t"]):
            self._grow(max(here.stop, 3 * len(self.arrays["t"]) // 2))
        simple = {name: getattr(every, name) for name in ("t", "residual", "iterations")}
        simple["contraction"], simple["certificate"] = self.watched[:, 0], self.watched[:, 1:3]
        simple["error"] = self.watched[:, 3]
        simple["drive_forces"] = self.watched[:, WATCHED:]
        for name, rows in simple.items():
            if name in self.arrays:
                self.arrays[name][here] = rows[:n]
        if n and {"energy", "momentum"} & set(self.names):
            v = integrator.velocities(every.t[:n], every.q[:n], every.x[:n], every.contacts)
            energies = model._energies(every.q[:n], v)
            for name, value in (("energy", energies[:, 0] + energies[:, 1]), ("momentum", energies[:, 2:8])):
                if name in self.names:
                    self.arrays[name][here] = value
        if n and "constraint" in self.names:
            self.arrays["constraint"][here] = np.abs(model._constraint_errors(every.q[:n])).max(axis=1, initial=0.0)
        kept = np.arange(stride - 1 - self.done % stride, n, stride)
        touched = every.contacts
        steps = self._steps(integrator, every, touched, kept) if n else None
        if steps is not None:
            for name in ("gap", "contact_work", "momentum_balance"):
                if name in self.names:
                    self.arrays[name][here] = getattr(steps, name)()
            if steps.touches and stride > 1:
                records.starts.append(steps.starts(kept, records.rows))
            self._start, self._pushed = steps.end()
            self._time = steps.t[-1]
        self.done += n
        to = slice(records.rows, records.rows + len(kept))
        for name in COLUMNS:
            getattr(records, name)[to] = getattr(every, name)[kept]
        if every.driven:
            rows = np.concatenate(every.driven)
            rows = rows[np.isin(rows[:, 0], kept)]
            at = records.rows + np.searchsorted(kept, rows[:, 0])
            records.driven.append(np.column_stack([at, rows[:, 1:]]))
            every.driven.clear()
        at = np.searchsorted(kept, touched[:, 0])
        there = (at < len(kept)) & (kept[np.minimum(at, len(kept) - 1)] == touched[:, 0]) if len(kept) else at < 0
        records.touched.append(np.column_stack([records.rows + at[there], touched[there, 1:]]))
        every.touched.clear()
        records.rows += len(kept)

    def _steps(self, integrator: Integrator, every: Records, touched: np.ndarray, kept: np.ndarray) -> _Steps:
        """Return the steps with their contacts ``touched``, or with those of ``kept`` steps where no others count."""
        parts = integrator.parts()
        if parts is not None and not len(parts[0]):
            parts = None
        if parts is None and not {"contact_work", "momentum_balance"} & set(self.names):
            # those of a kept step, of the step before it, and of the last one
            counts = np.zeros(every.rows, bool)
            counts[kept] = counts[np.maximum(kept - 1, 0)] = counts[-1] = True
            touched = touched[counts[touched[:, 0].astype(int)]]
        return _Steps(self, integrator, every, touched, parts)

    def _grow(self, rows: int) -> None:
        """Make room for so many steps."""
        for name, array in self.arrays.items():
            self.arrays[name] = np.empty((rows, *array.shape[1:]))
            self.arrays[name][: len(array)] = array

    def kept(self) -> dict[str, np.ndarray]:
        """Return the arrays of all steps so far, with the times."""
        return {name: rows[: self.done] for name, rows in self.arrays.items()}


class _Steps:
    """Steps from one state to the next, and their contacts.

    Parameters
    ----------
    of : Monitors
        Which know where the first begins.
    integrator : Integrator
    every : Records
        The ends of the steps.
    rows : (n, 9) array
        Their contacts.
    parts : pair of arrays, optional
        As of ``integrator.parts()``, where steps were taken in parts.
    """

    def __init__(self, of: Monitors, integrator: Integrator, every: Records, rows: np.ndarray,
                 parts: tuple[np.ndarray, np.ndarray] | None):  # fmt: skip
        n, self.model, self.integrator = every.rows, of.model, integrator
        self.touches = isinstance(of.model, Model) and of.model.has_contact
        self.q, self.x = (np.vstack([one, rows[:n]]) for one, rows in zip(of._start, (every.q, every.x), strict=True))
        self.t = np.append(of._time, every.t[:n])
        self.first = np.arange(n)
        if parts is not None:
            rows = self._part(integrator, *parts, rows)
        self.rows = signed(of.model, rows) if self.touches else rows
        at, self.number = self.rows[:, 0].astype(int), self.rows[:, 1].astype(int)
        before = [np.column_stack([np.zeros(len(of._pushed), int), of._pushed]), np.column_stack([at + 1, self.number])]
        self.nodes = Nodes(self.q, at, np.concatenate(before), split_rows(self.rows)[1])

    def _part(self, integrator: Integrator, inner: np.ndarray, pushed: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Have nodes where steps were parted as well, and return the contacts of each part.

        Parameters
        ----------
        integrator : Integrator
        inner, pushed : (m, 2 + nq + nv) and (k, 9) arrays
            As of ``integrator.parts()``.
        rows : (n, 9) array
            The contacts of whole steps.
        """
        of, nq = inner[:, 0].astype(int) - (integrator.steps - len(self.first)), self.q.shape[1]
        self.t = np.insert(self.t, of + 1, inner[:, 1])
        self.q, self.x = (np.insert(nodes, of + 1, new, axis=0)
                          for nodes, new in ((self.q, inner[:, 2 : 2 + nq]), (self.x, inner[:, 2 + nq :])))  # fmt: skip
        self.first = self.first + np.searchsorted(of, self.first)
        # impulses of a part: those of the step so far, less those before it
        last = np.append(self.first[1:], len(self.q) - 1) - 1
        at, step = pushed[:, 0].astype(int), rows[:, 0].astype(int)
        rows = np.vstack([np.column_stack([of[at] + at, pushed[:, 1:]]), np.column_stack([last[step], rows[:, 1:]])])
        step = np.append(of[at], step)
        order = np.lexsort((rows[:, 0], rows[:, 1], step))
        rows, step = rows[order], step[order]
        again = np.flatnonzero((np.diff(step) == 0) & (np.diff(rows[:, 1]) == 0)) + 1
        rows[again, 2:5] -= rows[again - 1, 2:5]
        if split_rows(rows)[0].shape[1] > WIDTH:
            rows[again, WIDTH : WIDTH + 3] -= rows[again - 1, WIDTH : WIDTH + 3]
        rows = rows[rows[:, 2:5].any(axis=1)]
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def _whole(self, parts: np.ndarray) -> np.ndarray:
        """Sums over the parts of each step."""
        return np.add.reduceat(parts, self.first) if len(parts) > len(self.first) else parts

    def end(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The last state, and the contacts that pushed in the last step."""
        last = len(self.q) - 1
        return (self.q[last].copy(), self.x[last].copy()), self.number[self.nodes.at == last - 1]

    def starts(self, kept: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the steps ``kept`` begin, as ``Records.starts`` has it; they lead to rows from the ``first`` on."""
        at = self.first[kept]
        before = self.nodes.before[np.isin(self.nodes.before[:, 0], at)]
        row = first + np.searchsorted(at, before[:, 0])
        return first + np.arange(len(kept)), self.q[at], np.column_stack([row, before[:, 1]])

    @cached_property
    def places(self) -> np.ndarray:
        return places_of(self.model, self.number, self.nodes)

    @cached_property
    def velocities(self) -> np.ndarray:
        """Of the states' momenta, before contacts act."""
        return self.integrator.velocities(self.t, self.q, self.x)

    def gap(self) -> np.ndarray:
        ends = np.append(self.first[1:], len(self.q) - 1)
        return least_gaps(self.model, self.q[ends]) if self.touches else np.full(len(ends), np.nan)

    @cached_property
    def late(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The impulses of springs of contacts where the steps end, and their places; None without springs."""
        if not (self.touches and self.model._has_contact_springs):
            return None
        at = self.nodes.at
        gaps = self.places[:, 6], self.rows[:, 8]
        return late_pushes(self.model, self.number, np.diff(self.t)[at], gaps, at + 1, self.q, self.nodes.facets)

    def contact_work(self) -> np.ndarray:
        """lam . J (v1 + v1+)/2, where the steps start and, of springs, where they end."""
        at, impulses = self.nodes.at, self.rows[:, 2:5]
        if self.late is None:
            return self._whole(self._work(impulses, self.places, at, 1.0, torques_in(self.rows))[:-1])
        late, places = self.late
        work = self._work(impulses - late, self.places, at, 1.0, torques_in(self.rows))[:-1]
        return self._whole(work + self._work(late, places, at + 1, -1.0)[1:])

    def _work(self, impulses: np.ndarray, places: np.ndarray, at: np.ndarray, sense: float,
              torques: np.ndarray | None = None) -> np.ndarray:  # fmt: skip
        """Of impulses at nodes, whose momenta are those before them (``sense`` 1) or behind them (-1)."""
        work, some = np.zeros(len(self.q)), np.unique(at)
        if len(some):
            kicks = kicks_of(self.model, self.number, impulses, places, self.nodes._replace(at=at), torques)[some]
            t, q = self.t[some], self.q[some]
            other = self.integrator.velocities(t, q, self.integrator.kicked(t, q, self.x[some], sense * kicks))
            work[some] = 0.5 * ((self.velocities[some] + other) * kicks).sum(axis=1)
        return work

    def momentum_balance(self) -> np.ndarray:
        """Gravity acts on the nodes' centres of mass, or on that of the middle configuration.

        By ``kinetic="relative"`` trees that float have it at the nodes. Implicit Euler has that of trees on free joints
        where steps start, turned as they end.
        """
        model, midpoint, behind = self.model, self.integrator.name == "midpoint", self.integrator.at_end
        found = model._energies(self.q, self.velocities)
        c = (1.0 - behind) * found[:-1, 8:] + behind * found[1:, 8:]
        if midpoint:
            half = [model.integrate(a, 0.5 * model.difference(a, b)) for a, b in pairwise(self.q)]
            middle = np.array(half)
            c = model._energies(middle, self.velocities[1:])[:, 8:]
            for tree in model._floating if self.integrator.relative else ():
                if not tree.tied:
                    bodies = carried(model.flat.parent, tree.root)
                    nodes, between = (_moments(model, x, bodies) for x in (self.q, middle))
                    c += (0.5 * (nodes[1:] + nodes[:-1]) - between) @ tree.directions / model.total_mass
        elif self.integrator.name == "implicit-euler":
            c, origins = found[1:, 8:].copy(), model._pose_rows(self.q)[..., 3]
            for root in np.flatnonzero(np.asarray(model.flat.parent) < 0).tolist():
                mass = model.flat.mass[carried(model.flat.parent, root)].sum()
                c -= np.diff(origins[:, root], axis=0) * (mass / model.total_mass)
        h, dt = np.diff(self.t), self.integrator.dt
        h = np.where(np.abs(h - dt) < 1e-6 * dt, dt, h)  # without the rounding of times
        weight = float(model.total_mass) * h[:, None] * np.asarray(model.gravity)
        change = np.diff(found[:, 2:8], axis=0) - np.hstack([np.cross(c, weight), weight])
        if self.touches:
            log = ContactLog(split_rows(self.rows)[0], model._contact_names, self.places, 1.0)
            change -= log.wrench(len(change))
            if self.late is not None:
                late, places = self.late
                of_ground = np.array([b == "ground" for b in log.b], dtype=bool)[:, None]
                moved = np.where(of_ground, np.cross(places[:, :3] - np.nan_to_num(log.point), late), 0.0)
                np.add.at(change[:, :3], self.nodes.at, -moved)
        return self._whole(change)


def _moments(model: Model, q: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Mass times place (n, 3) [kg m] of some bodies (nbody,) at rows q (n, nq)."""
    X = model._pose_rows(np.ascontiguousarray(q))[:, bodies]
    place = X[..., 3] + np.einsum("nbij,bj->nbi", X[..., :3], model.flat.com[bodies])
    found: np.ndarray = model.flat.mass[bodies] @ place
    return found
