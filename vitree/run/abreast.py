"""How the instances of a rollout advance: in lanes, one by one, or side by side where a callable drives all."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from vitree._core import scalar, wide
from vitree.arguments import Asked
from vitree.errors import ConvergenceError, InputError, VitreeError
from vitree.model.model import Model
from vitree.run.batch import Batch
from vitree.run.instances import Instances
from vitree.run.simulate import run
from vitree.run.simulation import Simulation
from vitree.wording import named

core = scalar()

#: Most steps of a block between two looks at whether to stop.
MOST_AT_ONCE = 4096
#: Least instances of a thread where a callable drives all of them.
FEWEST = 16


# ---- several in lanes -------------------------------------------------------------------------------


class Block:
    """What blocks of instances in lanes have in common: an integrator, and the address of its plan."""

    def __init__(self, integrator: Any, plan: int):
        self.integrator, self.address, self.by_momentum = integrator, plan, integrator.uses_momentum
        self.module = wide()

    @classmethod
    def plan(cls, found: Instances) -> Block | None:
        """Return the plan of blocks; None where instances run one by one."""
        model, driving = found.model, found.driving
        plain = type(model) is Model and not {*driving} - {"torque"} and hasattr(found.kind, "reusable")
        if not plain or found.count < 2:
            return None
        integrator: Any = found.kind(model, found.schedule.dt, **found.given.options)
        if wide().VT_LANES < 2:
            return None
        plan = core.lane_plan(integrator.stepper)
        return cls(integrator, plan) if plan else None

    def lanes(self) -> Any:
        """Return a new block."""
        return self.module.Lanes(self.address, self.integrator.stepper)


def starts_of(found: Instances, batch: Batch, by_momentum: bool) -> tuple[np.ndarray, np.ndarray]:
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
    q = np.ascontiguousarray(np.broadcast_to(q, (n, model.nq)))
    v = np.ascontiguousarray(np.broadcast_to(v, (n, model.nv)))
    if by_momentum and found.p0 is None:
        return q, model.momenta(q, v)
    if not by_momentum and found.p0 is not None:
        return q, model.velocities(q, v)
    return q, v


def in_lanes(batch: Batch, plan: Block) -> None:
    """Run all instances in blocks, and those that leave the common way alone."""
    found = batch.instances
    model: Any = found.model
    q0, x0 = starts_of(found, batch, plan.by_momentum)
    torque = found.driving.get("torque")
    if torque is not None and torque.ndim == 1:
        torque = torque[None]
    steps, width, begins = found.schedule.steps, plan.module.VT_LANES, batch.every is not None
    every = batch.every or steps
    batch.width = width
    rows = len(batch.t)
    alone: list[int] = []

    def work(first: int) -> int:
        lanes = plan.lanes()
        lanes.start(q0, x0, first)
        n = lanes.count
        q, x = np.full((n, rows, model.nq), np.nan), np.full((n, rows, model.nv), np.nan)
        iterations, residual = np.zeros((n, rows), np.intc), np.zeros((n, rows))
        if begins:
            q[:, 0], x[:, 0] = q0[first : first + n], x0[first : first + n]
        over = None
        if torque is not None and torque.ndim == 2:
            lanes.set_torque(torque, first)
        elif torque is not None:
            over = torque[first : first + n]
        done, row, chunk = 0, int(begins), max(1, min(steps, MOST_AT_ONCE))
        while done < steps and not batch.stopped:
            count = min(chunk, steps - done)
            row = lanes.run(count, every, over, q, x, iterations, residual, 0, row)
            done += count
        if batch.stopped:
            return 0
        told = lanes.done()
        good = [k for k, (_, left, _, _) in enumerate(told) if not left]
        alone.extend(first + k for k, (_, left, _, _) in enumerate(told) if left)
        if len(good) == n:
            batch.keep(first, first + n, q, x, plan.by_momentum, model)
        else:
            for k in good:
                batch.keep(first + k, first + k + 1, q[k : k + 1], x[k : k + 1], plan.by_momentum, model)
        for k in good:
            at = first + k
            batch.iterations[at], batch.residual[at], batch.in_lanes[at] = iterations[k], residual[k], True
            batch.rows[at], batch.steps[at], batch.total[at], batch.most[at] = rows, steps, told[k][2], told[k][3]
        return len(good)

    batch.share(work, range(0, found.count, width))
    one_by_one(batch, sorted(alone))


# ---- one by one -------------------------------------------------------------------------------------


def one_by_one(batch: Batch, which: Iterable[int]) -> None:
    """Run instances alone, one in each thread."""
    found = batch.instances
    every = batch.every or found.schedule.steps

    def work(k: int) -> int:
        try:
            model = found.system(k)
            if found.torque_rows:
                batch.take(k, _by_rows(found, model, k, every))
                return 1
            driving = {name: found.driven_by(name, k) for name in found.driving}
            starts = {name: found.of(name, k) for name in ("q0", "v0", "p0")}
            batch.take(k, run(model, found.given.but(**starts, **driving, every=every)))
        except InputError:
            raise
        except VitreeError as error:
            batch.take(k, getattr(error, "trajectory", None), error)
        return 1

    batch.share(work, which)


def _by_rows(found: Instances, model: Any, k: int, every: int) -> Any:
    """Run an instance whose torque has a row for each step."""
    simulation = _held(found, model, k, every)
    for torque in found.driven_by("torque", k):
        simulation.step(torque=torque)
    return simulation.trajectory


def _held(found: Instances, model: Any, k: int, every: int) -> Simulation:
    """Return an instance that is held, without what is given to it step by step."""
    given = found.given
    starts = {name: found.of(name, k) for name in ("q0", "v0", "p0")}
    constant = {name: found.driven_by(name, k) for name in found.driving if not callable(found.driving[name])}
    if found.torque_rows:
        del constant["torque"]
    return Simulation(
        model, **starts, dt=found.schedule.dt, method=found.kind.name, t0=given.t0, effort_limits=given.effort_limits,
        wrenches=given.wrenches, wrench_axes=given.wrench_axes, prescribed=given.prescribed, pushes=given.pushes,
        every=every, **constant, **given.options,
    )  # fmt: skip


# ---- side by side -----------------------------------------------------------------------------------


def side_by_side(batch: Batch, plan: Block | None) -> None:
    """Run all instances step by step, under what callables (t, Q, V) answer to their states."""
    found = batch.instances
    model: Any = found.model
    n, steps, dt, t0 = found.count, found.schedule.steps, found.schedule.dt, found.given.t0
    sizes = {"torque": model.nv, "inputs": len(model.input_names), "targets": len(getattr(model, "drives", ()))}
    asked = {
        name: Asked(value, name, "(t, Q, V)", (n, sizes[name]))
        for name, value in found.driving.items() if callable(value)
    }  # fmt: skip
    held = _Blocks(batch, plan) if plan is not None and not plan.by_momentum else _Simulations(batch)
    rows = len(batch.t)
    q, x = np.full((n, rows, model.nq), np.nan), np.full((n, rows, model.nv), np.nan)
    row = 0
    with ThreadPoolExecutor(batch.threads, "vitree rollout") as pool:
        for step in range(steps + 1):
            if step == batch.marks[row]:
                held.record(q, x, row)
                row += 1
                held.rows[held.alive] = row
            if step == steps or not held.alive.any():
                break
            states = t0 + step * dt, held.q.copy(), held.v.copy()
            held.step({name: function(*states) for name, function in asked.items()}, pool)
            batch.steps[held.alive] += 1
            batch.tell(1, steps)
    for k in map(int, np.flatnonzero(held.rows)):
        one, end = slice(k, k + 1), held.rows[k]
        batch.keep(k, k + 1, q[one, :end], x[one, :end], held.by_momentum, found.system(k))
    batch.rows[:] = held.rows


class _Simulations:
    """Instances that are held, one by one."""

    def __init__(self, batch: Batch):
        found = self.found = batch.instances
        self.batch, n = batch, found.count
        self.by_momentum = found.kind.uses_momentum
        self.alive, self.rows = np.ones(n, bool), np.zeros(n, int)
        self.held: list[Any] = [None] * n
        for k in range(n):
            try:
                self.held[k] = _held(found, found.system(k), k, 0)
            except InputError:
                raise
            except VitreeError as error:
                batch.failed[k], self.alive[k] = error, False
        self.q, self.v = np.zeros((n, found.model.nq)), np.zeros((n, found.model.nv))
        self._look()

    def _look(self) -> None:
        for k in np.flatnonzero(self.alive):
            self.q[k], self.v[k] = self.held[k].q, self.held[k].v

    def record(self, q: np.ndarray, x: np.ndarray, row: int) -> None:
        """Write the states to a row of the records."""
        for k in np.flatnonzero(self.alive):
            q[k, row], x[k, row] = self.held[k].q, self.held[k].p if self.by_momentum else self.held[k].v

    def step(self, drives: dict[str, np.ndarray], pool: ThreadPoolExecutor) -> None:
        """Advance by a step; instances that fail are left out from here on."""
        which = np.flatnonzero(self.alive)
        parts = max(1, min(self.batch.threads, len(which) // FEWEST))

        def advance(part: np.ndarray) -> None:
            for k in part:
                try:
                    self.held[k].step(**{name: rows[k] for name, rows in drives.items()})
                    self.q[k], self.v[k] = self.held[k].q, self.held[k].v
                except InputError:
                    raise
                except VitreeError as error:
                    self.batch.failed[int(k)], self.alive[k] = error, False

        if parts == 1:
            advance(which)
        else:
            list(pool.map(advance, np.array_split(which, parts)))


class _Blocks:
    """Instances in lanes, by an explicit method: one that leaves them has blown up."""

    by_momentum = False

    def __init__(self, batch: Batch, plan: Block):
        found = self.found = batch.instances
        self.batch, self.plan, n = batch, plan, found.count
        q, x = starts_of(found, batch, False)
        self.q, self.v = q.copy(), x.copy()
        self.alive, self.rows = np.ones(n, bool), np.zeros(n, int)
        self.firsts = range(0, n, plan.module.VT_LANES)
        self.blocks = [plan.lanes() for _ in self.firsts]
        for first, block in zip(self.firsts, self.blocks, strict=True):
            block.start(q, x, first)
        batch.width = plan.module.VT_LANES
        batch.in_lanes[:] = True
        self.taken = 0
        model = found.model
        #: records without rows
        self._none = [np.empty((n, 0, *more), kind) for more, kind in
                      (((model.nq,), float), ((model.nv,), float), ((), np.intc), ((), float))]  # fmt: skip

    def record(self, q: np.ndarray, x: np.ndarray, row: int) -> None:
        """Write the states to a row of the records."""
        q[self.alive, row], x[self.alive, row] = self.q[self.alive], self.v[self.alive]

    def step(self, drives: dict[str, np.ndarray], pool: ThreadPoolExecutor) -> None:
        """Advance by a step; instances that fail are left out from here on."""
        torque = np.ascontiguousarray(drives["torque"])

        def advance(part: Iterable[int]) -> None:
            for k in part:
                block, first = self.blocks[k], self.firsts[k]
                block.set_torque(torque, first)
                block.run(1, 2**40, None, *self._none, first, 0)
                block.look(self.q, self.v, first)

        if self.batch.threads == 1 or len(self.blocks) < 2 * self.batch.threads:
            advance(range(len(self.blocks)))
        else:
            list(pool.map(advance, np.array_split(np.arange(len(self.blocks)), self.batch.threads)))
        self.taken += 1
        for first, block in zip(self.firsts, self.blocks, strict=True):
            if block.any_left:
                for i, (_, left, _, _) in enumerate(block.done()):
                    if left and self.alive[first + i]:
                        self._fail(first + i)

    def _fail(self, k: int) -> None:
        self.alive[k] = self.batch.in_lanes[k] = False
        dt, t0 = self.found.schedule.dt, self.found.given.t0
        time = t0 + (self.taken - 1) * dt
        self.batch.failed[int(k)] = ConvergenceError(
            f"{self.found.kind.name}: step {self.taken} at t = {time:.9g} s, dt = {dt:g} s: "
            f"{core.STATUS_TEXT[core.STATUS['not finite']]}; halve " + named("dt"),
            time=time, residual=np.nan, iterations=0,
        )  # fmt: skip
