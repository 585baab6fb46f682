"""Instances that are held side by side, and advance together: in lanes, or each with a stepper of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from vitree._core import scalar, wide
from vitree.errors import ConvergenceError, InputError, VitreeError
from vitree.model.model import Model
from vitree.run.instances import Instances, inputs_of
from vitree.run.simulation import Simulation
from vitree.run.targets import Targets

core = scalar()

#: Least instances, or blocks, of a thread.
FEWEST, FEWEST_BLOCKS = 16, 2


class Block:
    """What blocks of instances in lanes have in common: an integrator, and the address of its plan."""

    def __init__(self, integrator: Any, plan: int):
        self.integrator, self.address, self.by_momentum = integrator, plan, integrator.uses_momentum
        self.module, self._own = wide(), threading.local()

    @classmethod
    def plan(cls, found: Instances) -> Block | None:
        """Return the plan of blocks; None where instances run one by one."""
        model, given = found.model, found.given
        plain = type(model) is Model and hasattr(found.kind, "reusable")
        more = found.parameters or given.effort_limits or given.wrenches or given.prescribed or given.pushes
        if not plain or more or found.count < 2 or wide().VT_LANES < 2:
            return None
        found.require_signals()
        if found.driving.get("targets") is not None and Targets(model, found.driving["targets"]).shared:
            return None
        integrator: Any = found.kind(model, found.schedule.dt, **given.options)
        plan = core.lane_plan(integrator.stepper)
        return cls(integrator, plan) if plan else None

    def lanes(self) -> Any:
        """Return the block of this thread, which the next instances may take."""
        own = vars(self._own)
        if "lanes" not in own:
            own["lanes"] = self.module.ModelStepper(self.address, self.integrator.stepper)
        return own["lanes"]


def starts_of(found: Instances, by_momentum: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the states (n, nq) and (n, nv) at the start, as simulate() takes them."""
    model: Any = found.model
    n = found.count
    q = model.neutral() if found.q0 is None else found.q0
    q = np.array([model.validate_configuration(row, f"q0[{k}]" if q.ndim == 2 else "q0")
                  for k, row in enumerate(np.atleast_2d(q))])  # fmt: skip
    if found.v0 is not None and found.p0 is not None:
        raise InputError("give one of v0, p0, not v0 and p0")
    name = "v0" if found.p0 is None else "p0"
    if not model._regular:
        for row in q:
            model.require_regular(row)
    given = getattr(found, name)
    v = np.zeros((1, model.nv)) if given is None else np.atleast_2d(given)
    for k, row in enumerate(v):
        model.validate_velocity(row, f"{name}[{k}]" if len(v) > 1 else name)
    q = np.array(np.broadcast_to(q, (n, model.nq)), order="C")
    v = np.array(np.broadcast_to(v, (n, model.nv)), order="C")
    if by_momentum and found.p0 is None:
        return q, model.momenta(q, v)
    if not by_momentum and found.p0 is not None:
        return q, model.velocities(q, v)
    return q, v


def held_alone(
    found: Instances, model: Any, k: int, every: int, start: dict[str, Any] | None = None
) -> Simulation:
    """Return an instance that is held, without what is given to it step by step; ``start`` is in place of its own."""
    given = found.given
    constant = {name: found.driven_by(name, k) for name in found.driving if not callable(found.driving[name])}
    if found.torque_rows:
        del constant["torque"]
    start = found.start(k) if start is None else start
    return Simulation(
        model, **start, dt=found.schedule.dt, method=found.kind.name, t0=given.t0,
        effort_limits=given.effort_limits, wrenches=given.wrenches, wrench_axes=given.wrench_axes,
        prescribed=given.prescribed, pushes=given.pushes, every=every, **constant, **given.options,
    )  # fmt: skip


def of_instance(error: VitreeError, k: int) -> VitreeError:
    """Return the error of an instance, whose number it has if the start is wrong; raise one that is wrong for all.

    Raises
    ------
    InputError
        Of an argument.
    """
    if isinstance(error, InputError):
        if not error.of_start:
            raise error
        error.args = (f"instance {k}: {error}",)
    return error


def require_a_start(failed: dict[int, VitreeError], count: int) -> None:
    """Raise the error of the first of ``count`` instances if none of them has a start."""
    if count and len(failed) == count and all(isinstance(error, InputError) for error in failed.values()):
        raise failed[min(failed)]


def held_of(found: Instances, plan: Block | None, threads: int) -> HeldSimulations | HeldBlocks:
    """Return the instances as they are held: in lanes by explicit methods, whose states are all that steps need."""
    if plan is not None and not plan.by_momentum and not found.by_rows:
        return HeldBlocks(found, plan, threads)
    return HeldSimulations(found, threads)


class Held:
    """Base of both: a context, which ends the threads.

    Attributes
    ----------
    q, v : (n, nq) and (n, nv) arrays
        The states; those of instances that failed are the last ones.
    alive : (n,) array of bool
    failed : dict of int to VitreeError
    in_lanes : bool
    width : int
    by_momentum : bool
        Whether :meth:`record` writes p, not v.
    """

    by_momentum = in_lanes = False
    width = 1
    q: np.ndarray
    v: np.ndarray

    def __init__(self, found: Instances, threads: int):
        self.found, self.threads = found, threads
        self.alive = np.ones(found.count, bool)
        self.failed: dict[int, VitreeError] = {}
        self._pool: ThreadPoolExecutor | None = None
        #: whether threads at work are to stop
        self._stopped = False

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _share(self, work: Callable[[Any], None], which: np.ndarray, fewest: int) -> None:
        """Do work on parts of some indices, in threads."""
        parts = max(1, min(self.threads, len(which) // fewest))
        if parts == 1:
            work(which)
            return
        self._pool = self._pool or ThreadPoolExecutor(self.threads, "vitree rollout")
        under_way = [self._pool.submit(work, part) for part in np.array_split(which, parts)]
        try:
            for each in under_way:
                each.result()
        except BaseException:
            self._stopped = True
            raise
        finally:
            wait(under_way)
            self._stopped = False


class HeldSimulations(Held):
    """Instances with a stepper each."""

    def __init__(self, found: Instances, threads: int):
        super().__init__(found, threads)
        n = found.count
        # v of a state in contact is not that of its p
        touches = isinstance(found.model, Model) and found.model.touches
        self.by_momentum = found.kind.uses_momentum or touches
        self.held: list[Any] = [None] * n
        self.q, self.v = np.zeros((n, found.model.nq)), np.zeros((n, found.model.nv))
        for k in range(n):
            self._begin(k, **found.start(k))
        require_a_start(self.failed, n)

    def _begin(self, k: int, **start: Any) -> None:
        """Begin an instance that is not held yet; where it cannot it has failed."""
        try:
            self.held[k] = held_alone(self.found, self.found.system(k), k, 0, start)
        except VitreeError as error:
            self.failed[k], self.alive[k] = of_instance(error, k), False
            self.q[k] = self.found.model.neutral() if start.get("q0") is None else start["q0"]
        else:
            self._look(k)

    def _look(self, k: int) -> None:
        self.q[k], self.v[k] = self.held[k].q, self.held[k].v

    def record(self, q: np.ndarray, x: np.ndarray, row: int) -> None:
        """Write the states to a row of records."""
        for k in np.flatnonzero(self.alive):
            q[k, row], x[k, row] = self.held[k].q, self.held[k].p if self.by_momentum else self.held[k].v

    def step(self, drives: dict[str, np.ndarray], steps: int = 1) -> None:
        """Advance by steps; instances that fail are left out from here on."""

        def advance(part: np.ndarray) -> None:
            for k in part:
                if self._stopped:
                    return
                try:
                    self.held[k].step(steps, **{name: rows[k] for name, rows in drives.items()})
                    self._look(k)
                except InputError:
                    raise
                except VitreeError as error:
                    self.failed[int(k)], self.alive[k] = error, False

        self._share(advance, np.flatnonzero(self.alive), FEWEST)

    def reset(self, which: Iterable[int], q: np.ndarray, v: np.ndarray) -> None:
        """Begin some instances anew, from rows of q and v."""
        for k, a, b in zip(map(int, which), q, v, strict=True):
            self.failed.pop(k, None)
            self.alive[k] = True
            if self.held[k] is None:
                self._begin(k, q0=a, v0=b)
                continue
            try:
                self.held[k].reset(a, b)
            except InputError as error:
                self.failed[k], self.alive[k] = of_instance(error, k), False
            else:
                self._look(k)


class HeldBlocks(Held):
    """Instances in lanes, by an explicit method: one that leaves them has blown up."""

    in_lanes = True

    def __init__(self, found: Instances, plan: Block, threads: int):
        super().__init__(found, threads)
        n, model = found.count, found.model
        self.q, self.v = starts_of(found, False)
        self.plan, self.width = plan, plan.module.VT_LANES
        self.firsts = np.arange(0, n, self.width)
        #: (n,) steps since the start
        self.taken = np.zeros(n, int)
        #: records without rows
        self._none = [np.empty((n, 0, *more), kind) for more, kind in
                      (((model.nq,), float), ((model.nv,), float), ((), np.intc), ((), float))]  # fmt: skip

    def record(self, q: np.ndarray, x: np.ndarray, row: int) -> None:
        """Write the states to a row of records."""
        q[self.alive, row], x[self.alive, row] = self.q[self.alive], self.v[self.alive]

    def step(self, drives: dict[str, np.ndarray], steps: int = 1) -> None:
        """Advance by steps; instances that fail are left out from here on."""
        given = {**self.found.driving, **drives}
        torque, inputs = given.get("torque"), inputs_of(self.found.model, given)
        before = self.q.copy(), self.v.copy()
        stopped: list[tuple[int, int]] = []  # instances, and the steps that they took

        def advance(part: np.ndarray) -> None:
            lanes = self.plan.lanes()
            for first in part.tolist():
                if self._stopped:
                    return
                lanes.start(self.q, self.v, first)
                if torque is not None:
                    lanes.set_torque(np.atleast_2d(torque), first)
                if inputs is not None:
                    lanes.set_inputs(np.atleast_2d(inputs), first)
                lanes.run(steps, 2**40, None, None, *self._none, first, 0)
                lanes.look(self.q, self.v, first)
                if lanes.any_left:
                    stopped.extend((first + i, taken) for i, (taken, left, _, _) in enumerate(lanes.done()) if left)

        self._share(advance, self.firsts, FEWEST_BLOCKS)
        for k, taken in sorted(stopped):
            if self.alive[k]:
                self._fail(k, taken)
        self.taken += steps
        self.q[~self.alive], self.v[~self.alive] = before[0][~self.alive], before[1][~self.alive]

    def _fail(self, k: int, more: int) -> None:
        dt = self.found.schedule.dt
        time = self.found.given.t0 + (self.taken[k] + more) * dt
        self.alive[k] = False
        self.failed[k] = ConvergenceError(
            f"{self.found.kind.name}: step {self.taken[k] + more + 1} at t = {time:.9g} s, dt = {dt:g} s: "
            f"{core.STATUS_TEXT[core.STATUS['not finite']]}; halve dt",
            time=time, residual=np.nan, iterations=0,
        )  # fmt: skip

    def reset(self, which: Iterable[int], q: np.ndarray, v: np.ndarray) -> None:
        """Begin some instances anew, from rows of q and v."""
        for k, a, b in zip(which, q, v, strict=True):
            self.q[k] = self.found.model.validate_configuration(a, "q0")
            self.v[k] = self.found.model.validate_velocity(b, "v0")
            self.failed.pop(int(k), None)
            self.alive[k], self.taken[k] = True, 0
