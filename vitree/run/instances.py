"""Instances of a rollout: their arguments, their results, and the loop over them."""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

import numpy as np

from vitree.arguments import JsonObject, Keywords, whole
from vitree.errors import InputError, VitreeError
from vitree.integrators import Integrator
from vitree.model.model import Model
from vitree.model.starts import implied_text
from vitree.model.system import System
from vitree.model.user_inputs import resolve_inputs
from vitree.results.plain import plain
from vitree.run.arguments import RunArguments, Schedule
from vitree.run.controller import Targets, with_targets
from vitree.run.outcome import Outcome
from vitree.run.trajectory import Trajectory, conservation_warnings, halving_warnings, inexact_warnings

# ---- rollout: the records of many instances of a model -----------------------------------------------------


#: What can be recorded: name -> columns of the energies of a System; None: it is none of these.
QUANTITIES: dict[str, slice | int | None] = {
    "q": None, "v": None, "p": None, "kinetic": 0, "potential": 1, "energy": None, "momentum": slice(2, 8),
    "center_of_mass": slice(8, 11),
}  # fmt: skip


T = TypeVar("T")
#: Numbers of instances: arrays (n, ...), or mappings of them.
Numbers = np.ndarray | Mapping[str, "Numbers"]


def with_row(model: System, parameters: Mapping[str, Numbers], k: int) -> System:
    """Return a model with the parameters of an instance, which are row ``k`` of arrays (n, ...)."""
    if not (parameters and isinstance(model, Model)):
        return model
    return model.with_parameters(**{name: _row(each, k) for name, each in parameters.items()})


def _row(value: Numbers, k: int) -> Any:
    return {name: _row(each, k) for name, each in value.items()} if isinstance(value, Mapping) else value[k]


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """The recorded states of n instances of a model.

    ``rollout[k]`` is the :class:`Trajectory` of an instance; ``len`` is the number of instances.

    Attributes
    ----------
    system : System
    method : str
    t : (rows,) array [s]
    data : mapping of str to array
        What was recorded, by name: (n, rows, ...), units as in :class:`Trajectory`, center_of_mass in [m]. Rows that an
        instance did not reach are NaN. ``rollout.q`` is ``rollout.data["q"]``, and so on.
    rows : (n,) array of int
        How many rows each instance has.
    steps : (n,) array of int
        How many steps each instance has taken.
    failed : dict of int to VitreeError
        By instance: why it stopped before the end.
    left_out : dict of int to tuple of str
        By instance: names of constraints that its run was without, since others imply them.
    step_warnings : dict of int to tuple of str
        By instance that ran alone: steps in halves, and contacts whose impulses are not exact.
    in_lanes : (n,) array of bool
        Whether the instance ran in lanes, beside others, from its start to its end.
    width : int
        Lanes of a block; 1 if no instance ran in lanes.
    threads : int
    seconds : float [s]
        For all of it.
    settings : dict
        Step, method and options, in types that JSON knows.
    solved : tuple of arrays
        Iterations [-] and residual (n, rows) [units of p] of the steps to the rows; iterations (n,) [-] of all steps,
        and the most of one.
    parameters : mapping
        Of the instances' models, by name: arrays (n, ...), or mappings of them [units as
        :meth:`vitree.Model.with_parameters` has them].
    """

    system: System
    method: str
    t: np.ndarray
    data: Mapping[str, np.ndarray]
    rows: np.ndarray
    steps: np.ndarray
    failed: dict[int, VitreeError]
    in_lanes: np.ndarray
    width: int
    threads: int
    seconds: float
    settings: JsonObject
    parameters: Mapping[str, Numbers]
    solved: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    left_out: dict[int, tuple[str, ...]]
    step_warnings: dict[int, tuple[str, ...]]

    def __getattr__(self, name: str) -> np.ndarray:
        if name in QUANTITIES and "data" in vars(self):
            if name in self.data:
                return self.data[name]
            had = ", ".join(self.data)
            raise AttributeError(f'the rollout has no "{name}": its record has {had}', name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def system_of(self, k: int) -> System:
        """Return the model of the instance ``k``, with its parameters.

        Raises
        ------
        ModelError
            If they are none of a model.
        """
        return with_row(self.system, self.parameters, k)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: SupportsIndex) -> Trajectory:
        """Return the trajectory of an instance, as far as it came, with warnings where energy is not conserved.

        Raises
        ------
        IndexError
            If there is no such instance.
        InputError
            If q, or both v and p, were not recorded, or the instance has no row.
        """
        k = operator.index(index)
        k += len(self) if k < 0 else 0
        if not 0 <= k < len(self):
            raise IndexError(f"there are {len(self)} instances, from 0 to {len(self) - 1}; {index} is not one of them")
        count = int(self.rows[k])
        if "q" not in self.data or not {"v", "p"} & self.data.keys():
            raise InputError('a trajectory needs q, and v or p: give record=("q", "v")')
        if not count:
            raise InputError(f"instance {k} has no record: {self.failed[k]}")
        system = self.system_of(k)
        if "v" not in self.data and getattr(system, "has_contact", False):
            text = "velocities in contact do not follow from p: give record="
            raise InputError(text + '("q", "v", "p")')
        q = self.data["q"][k, :count]
        known = {name: self.data[name][k, :count] for name in ("v", "p") if name in self.data}
        v = known["v"] if "v" in known else system._constrained_velocities(q, known["p"])
        p = known["p"] if "p" in known else system._momenta(q, v)
        energies = system._energies(np.ascontiguousarray(q), np.ascontiguousarray(v))
        iterations, residual, total, most = self.solved
        odd = [implied_text(self.left_out[k])] if k in self.left_out else []
        odd += [*self.step_warnings.get(k, ()), *self._odd_energy(system, energies)]
        told = {"warnings": odd} if odd else {}
        return Trajectory(
            model_name=system.name, joint_names=system.joint_names, q_names=system.q_names,
            v_names=system.v_names, method=self.method, settings={**self.settings, **told}, t=self.t[:count],
            q=q, v=v, p=p, kinetic=energies[:, 0], potential=energies[:, 1], momentum=energies[:, 2:8],
            iterations=iterations[k, :count], residual=residual[k, :count], iterations_total=int(total[k]),
            iterations_max=int(most[k]), steps=int(self.steps[k]), seconds=self.seconds / max(len(self), 1),
            constraint_names=tuple(c.name for c in system.constraints),
            constraint=system._constraint_errors(q), system=system,
        )  # fmt: skip

    def _odd_energy(self, system: System, energies: np.ndarray) -> list[str]:
        """Say where rows of energies (n, ...) [J] of an instance that conserves energy do not."""
        if self.settings.get("driven") or not system.is_conservative or self.method not in system.methods:
            return []
        kind, options = system.methods[self.method], self.settings.get("options", {})
        weight = system.total_mass * math.hypot(*system.gravity)
        raises_order = options.get("order", kind.order) == 2
        return conservation_warnings(energies, lambda: False, weight, kind.symplectic, raises_order)

    def raise_failed(self) -> None:
        """Raise the error of the first instance that failed; nothing if none did.

        Raises
        ------
        VitreeError
            If an instance failed; its notes say which.
        """
        for k in sorted(self.failed):
            error = self.failed[k]
            error.add_note(f"instance {k} of {len(self)}; {len(self.failed)} failed")
            raise error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what was recorded to the .npz file ``path``, at once or not at all, and return where it is.

        It has t [s], the quantities by name, rows, steps, and ``failed`` (m,) and ``reasons`` (m,) of instances that
        failed. ``numpy.load`` reads it.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from vitree.results import files

        failed = sorted(self.failed)
        return files.write_arrays(path, {
            "t": self.t, **self.data, "rows": self.rows, "steps": self.steps, "failed": np.array(failed, dtype=int),
            "reasons": np.array([str(self.failed[k]) for k in failed], dtype=str), "method": np.array(self.method),
            "model": np.array(self.system.name),
        })  # fmt: skip

    def __repr__(self) -> str:
        told = f", {len(self.failed)} failed" if self.failed else ""
        lanes = f", {int(self.in_lanes.sum())} in lanes of {self.width}" if self.in_lanes.any() else ""
        return (
            f"<vitree.Rollout of {len(self)} x {self.system.name!r} by {self.method}: {len(self.t)} rows to "
            f"t = {self.t[-1]:g} s{lanes}{told}>"
        )


# ---- the instances of a rollout: where they start, and what drives each ------------------------------------


@dataclass
class Instances:
    """The instances: their starts, and what drives them.

    Attributes
    ----------
    model : System
    q0, v0, p0 : array or None
        Of shape (k,), the same for all, or (n, k).
    driving : dict of str to array, mapping or callable
        torque, inputs and targets, where they are given.
    parameters : dict
    given : RunArguments
        The arguments that all instances have in common.
    kind : type of Integrator
    schedule : Schedule
    """

    model: System
    q0: np.ndarray | None
    v0: np.ndarray | None
    p0: np.ndarray | None
    driving: Keywords
    parameters: Mapping[str, Numbers]
    given: RunArguments
    kind: type[Integrator]
    schedule: Schedule
    count: int = 0

    def count_instances(self, asked: object) -> None:
        """Find the number of instances.

        Raises an InputError if two arguments have different numbers of instances, or none says it.
        """
        found: dict[str, int] = {}
        for name in ("q0", "v0", "p0"):
            array = getattr(self, name)
            if array is not None and array.ndim == 2:
                found[name] = len(array)
        for name, value in self.driving.items():
            size = {} if callable(value) else value if isinstance(value, dict) else {"": value}
            for key, array in size.items():
                if array.ndim > (0 if key else 1):
                    found[f'{name}["{key}"]' if key else name] = len(array)
        found.update(_leaves(self.parameters, "parameters"))
        if asked is not None:
            count = whole(asked)
            if count is None or not 0 <= count < 2**53:
                raise InputError("instances", asked, "must be a whole number")
            found["instances"] = count
        if not found:
            raise InputError("the number of instances is not given: give q0 of shape (n, nq), or instances=n")
        # what drives them may have an axis of one for all
        alike = [name for name, value in self.driving.items() if isinstance(value, np.ndarray) and found.get(name) == 1]
        counts = {count for name, count in found.items() if name not in alike} or {1}
        if len(counts) > 1:
            listed = ", ".join(f"{name}: {count}" for name, count in found.items())
            raise InputError(
                f"the arguments have different numbers of instances ({listed}); give each the same. Rows for the steps "
                "of all instances have the shape (1, steps, n)"
            )
        self.count = counts.pop()
        for name in alike:
            rows = np.broadcast_to(self.driving[name], (self.count, *self.driving[name].shape[1:]))
            self.driving[name] = np.ascontiguousarray(rows) if rows.ndim == 2 else rows

    def start(self, k: int) -> dict[str, np.ndarray | None]:
        """Return q0, v0 and p0 of an instance, by name."""
        given = {"q0": self.q0, "v0": self.v0, "p0": self.p0}
        return {name: array if array is None or array.ndim == 1 else array[k] for name, array in given.items()}

    def driven_by(self, name: str, k: int) -> Any:
        """Return torque, inputs or targets of an instance as simulate() takes them; a torque may have rows."""
        value = self.driving.get(name)
        if isinstance(value, dict):
            return {key: column if not column.ndim else column[k] for key, column in value.items()}
        return value if value is None or callable(value) or value.ndim == 1 else value[k]

    def part(self, first: int, end: int) -> Instances:
        """Return the instances from ``first`` to ``end``."""

        def of(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: column[first:end] if column.ndim else column for key, column in value.items()}
            return value if value is None or callable(value) or value.ndim == 1 else value[first:end]

        def rows(value: Numbers) -> Numbers:
            return {key: rows(each) for key, each in value.items()} if isinstance(value, Mapping) else value[first:end]

        return replace(
            self, q0=of(self.q0), v0=of(self.v0), p0=of(self.p0), count=end - first,
            driving={name: of(value) for name, value in self.driving.items()},
            parameters={name: rows(value) for name, value in self.parameters.items()},
        )  # fmt: skip

    def require_signals(self) -> None:
        """Raise the errors of inputs and targets that no instance can have."""
        inputs, targets = (None if callable(self.driving.get(name)) else self.driven_by(name, 0)
                           for name in ("inputs", "targets"))  # fmt: skip
        resolve_inputs(self.model, inputs if targets is None else with_targets(self.model, targets, inputs))

    def system(self, k: int) -> System:
        """Return the model of an instance.

        Raises
        ------
        VitreeError
            If its parameters are none of a model.
        """
        return with_row(self.model, self.parameters, k)

    @property
    def by_rows(self) -> bool:
        """Whether anything that drives the instances has a row for each step."""
        given = self.driving.values()
        columns = [column for value in given if isinstance(value, dict) for column in value.values()]
        return any(column.ndim == 2 for column in columns) or any(getattr(value, "ndim", 0) == 3 for value in given)

    @property
    def torque_rows(self) -> bool:
        """Whether a torque has a row for each step."""
        torque = self.driving.get("torque")
        return isinstance(torque, np.ndarray) and torque.ndim == 3


def inputs_of(model: System, given: Keywords) -> np.ndarray | None:
    """Return all inputs of instances, (nu,), (n, nu) or (n, steps, nu); None without inputs and targets.

    Parameters
    ----------
    model : System
    given : dict of str to array or mapping
        Of "inputs" and "targets", as :class:`Instances` has them; others are left out.
    """
    names = model.input_names
    parts: list[tuple[Sequence[int] | np.ndarray, np.ndarray]] = []
    for name, joints in (("inputs", None), ("targets", given.get("targets"))):
        value = given.get(name)
        if value is None:
            continue
        plan = None if joints is None else Targets(model, joints)
        if isinstance(value, dict):
            where = names.index if plan is None else plan.at.__getitem__
            parts += [([where(key)], column[..., None]) for key, column in value.items()]
        else:
            parts.append((np.arange(len(names)) if plan is None else plan.where, value))
    if not parts:
        return None
    axes = max(value.ndim for _, value in parts)
    parts = [(at, value.reshape(*value.shape[:-1], *[1] * (axes - value.ndim), value.shape[-1])) for at, value in parts]
    lead = np.broadcast_shapes(*(value.shape[:-1] for _, value in parts))
    found = np.zeros((*lead, len(names)))
    for at, value in parts:
        found[..., at] = value
    return found


def _leaves(value: Numbers, name: str) -> dict[str, int]:
    if not isinstance(value, dict):
        return {name: len(value)}
    return {key: size for part, each in value.items() for key, size in _leaves(each, f'{name}["{part}"]').items()}


# ---- the records of a rollout, which its instances fill in any order, and the threads that do it -----------


class Stopped(BaseException):
    """Ends an instance under way, of which nothing is kept; no function of the caller's is blamed for it."""


class Batch:
    """The records of the instances, which are filled in any order.

    Parameters
    ----------
    instances : Instances
    every : int or None
    names : names of QUANTITIES
    threads : int
    progress : callable or None
    """

    def __init__(self, instances: Instances, every: int | None, names: tuple[str, ...], threads: int,
                 progress: Callable[[int, int], object] | None):  # fmt: skip
        self.instances, self.every, self.names, self.progress = instances, every, names, progress
        self.threads = max(1, min(threads, instances.count))
        n, steps = instances.count, instances.schedule.steps
        self.marks = np.array([steps]) if every is None else np.arange(0, steps + 1, every)
        self.t = instances.given.t0 + instances.schedule.dt * self.marks
        rows, model = len(self.t), instances.model
        sizes = {"q": (model.nq,), "v": (model.nv,), "p": (model.nv,), "momentum": (6,), "center_of_mass": (3,)}
        self.data = {name: np.empty((n, rows, *sizes.get(name, ()))) for name in names}
        self.rows, self.steps, self.in_lanes = np.zeros(n, int), np.zeros(n, int), np.zeros(n, bool)
        self.failed: dict[int, VitreeError] = {}
        self.left_out: dict[int, tuple[str, ...]] = {}
        self.step_warnings: dict[int, tuple[str, ...]] = {}
        self.iterations, self.residual = np.zeros((n, rows), np.intc), np.zeros((n, rows))
        self.total, self.most, self.width = np.zeros(n, int), np.zeros(n, int), 1
        self._done, self._lock = 0, threading.Lock()
        #: whether blocks under way are to stop
        self.stopped = False

    def keep(self, which: slice | np.ndarray, q: np.ndarray, x: np.ndarray, by_momentum: bool, system: System,
             told: np.ndarray | None = None) -> None:  # fmt: skip
        """Keep the first rows of some instances, states (instances, rows, ...); x is p or v. The others become NaN.

        ``told`` are the velocities, where contacts make them others than those of x.
        """
        n, rows = q.shape[:2]
        flat_q, flat_x = q.reshape(n * rows, -1), x.reshape(n * rows, -1)
        v = flat_x
        if told is not None:
            v = told.reshape(n * rows, -1)
        elif by_momentum and self._asks("v"):
            v = system._velocities(flat_q, flat_x)
        found: dict[str, np.ndarray] = {"q": flat_q, "v": v}
        if "p" in self.names:
            found["p"] = flat_x if by_momentum else system._momenta(flat_q, v)
        if {*self.names} - {"q", "v", "p"}:
            energies = system._energies(flat_q, v)
            found |= {name: energies[:, at] for name, at in QUANTITIES.items() if at is not None}
            found["energy"] = energies[:, 0] + energies[:, 1]
        for name in self.names:
            array = found[name].reshape(n, rows, *found[name].shape[1:])
            if not np.may_share_memory(array, self.data[name]):  # else it is there already
                self.data[name][which, :rows] = array
                self.data[name][which, rows:] = np.nan

    def _asks(self, name: str) -> bool:
        return name in self.names or bool({*self.names} - {"q", "v", "p"})

    def take(self, k: int, run: Trajectory | Outcome | None, error: VitreeError | None = None) -> None:
        """Keep the records of an instance that was run alone, as far as it came."""
        if error is not None:
            self.failed[k] = error
        for array in self.data.values():
            array[k] = np.nan
        if run is None or not len(run.t):
            return
        self.note(k, run.system)
        if isinstance(run, Outcome) and (odd := run.odd_steps()):
            self.step_warnings[k] = tuple(odd)
        at = np.arange(len(run.t))
        if self.every is None:
            at = at[-1:] if error is None else at[:0]
        rows = len(at)
        for name in self.names:
            if name == "center_of_mass" and run.system is not None:
                self.data[name][k, :rows] = run.system._energies(run.q[at], run.v[at])[:, 8:11]
            else:
                self.data[name][k, :rows] = getattr(run, name)[at]
        self.iterations[k, :rows], self.residual[k, :rows] = run.iterations[at], run.residual[at]
        self.rows[k], self.steps[k] = rows, run.steps
        self.total[k], self.most[k] = run.iterations_total, run.iterations_max

    def note_steps(self, k: int, stepper: Any) -> None:
        """Note the corrections of an instance, and what is odd about its steps, of a stepper of momenta."""
        self.total[k], self.most[k] = stepper.total_iterations, stepper.most_iterations
        odd = halving_warnings(stepper.halved, stepper.halved_between if stepper.halved else None, stepper.steps, str)
        if odd := odd + inexact_warnings(stepper.inexact_contacts, stepper.steps):
            self.step_warnings[k] = tuple(odd)

    def note(self, k: int, system: System | None) -> None:
        """Note which constraints the system that an instance ran with is without."""
        if names := getattr(getattr(system, "full", system), "_implied", ()):
            self.left_out[k] = names

    def tell(self, more: int, total: int) -> None:
        """Tell the progress callable of so many more."""
        if self.progress is not None:
            with self._lock:
                self._done += more
                done = self._done
            self.progress(done, total)

    def look(self, *of: int) -> None:
        """Raise :class:`Stopped` if the rollout is to stop; instances under way call it a few times a second."""
        if self.stopped:
            raise Stopped

    def share(self, work: Callable[[T], int], pieces: Iterable[T]) -> None:
        """Do pieces of work in threads; ``work`` returns how many instances came to their end."""
        total = self.instances.count
        if self.threads == 1:
            for piece in pieces:
                self.tell(work(piece), total)
            return
        waiting: Iterator[T] = iter(pieces)
        with ThreadPoolExecutor(self.threads, "vitree rollout") as pool:
            running: set[Future[int]] = set()
            try:
                while True:
                    while len(running) < 2 * self.threads and (further := next(waiting, None)) is not None:
                        running.add(pool.submit(work, further))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for each in done:
                        self.tell(each.result(), total)
            except BaseException:
                self.stopped = True
                for each in running:
                    each.cancel()
                raise

    def result(self, seconds: float) -> Rollout:
        """Return what was recorded."""
        found = self.instances
        settings = {**found.schedule.settings(self.every or found.schedule.steps), "options": dict(found.given.options)}
        if found.driving or found.given.driven:
            settings["driven"] = True
        return Rollout(
            found.model, found.kind.name, self.t, self.data, self.rows, self.steps, dict(sorted(self.failed.items())),
            self.in_lanes, self.width if self.in_lanes.any() else 1, self.threads, seconds, plain(settings),
            found.parameters, (self.iterations, self.residual, self.total, self.most),
            dict(sorted(self.left_out.items())), dict(sorted(self.step_warnings.items())),
        )  # fmt: skip
