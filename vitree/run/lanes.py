"""How the instances of a rollout advance: in lanes, one by one, or side by side where a callable drives all."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from vitree.arguments import Asked
from vitree.errors import VitreeError
from vitree.integrators.base import CHUNK_SECONDS
from vitree.integrators.compiled import FIRST_CHUNK
from vitree.model.model import Model
from vitree.run.batch import Batch, Stopped
from vitree.run.held import Block, held_alone, held_of, of_instance, require_a_start, starts_of
from vitree.run.instances import inputs_of
from vitree.run.simulate import run

#: Most steps of a block between two looks at whether to stop.
MOST_AT_ONCE = 4096
#: Most blocks, and numbers of their records, of a group that is done in one piece; least pieces for each thread.
MOST_BLOCKS, MOST_NUMBERS, PIECES = 16, 2**21, 4
#: Most pieces for each thread where instances run one by one.
MOST_PIECES = 32


# ---- several in lanes -------------------------------------------------------------------------------


def in_lanes(batch: Batch, plan: Block) -> None:
    """Run all instances in blocks, and those that leave the common way alone."""
    found = batch.instances
    model: Any = found.model
    q0, x0 = starts_of(found, plan.by_momentum)
    torque, inputs = found.driving.get("torque"), inputs_of(model, found.driving)
    steps, width, begins = found.schedule.steps, plan.module.VT_LANES, batch.every is not None
    every = batch.every or steps
    batch.width = width
    rows = len(batch.t)
    numbers = rows * (model.nq + model.nv)
    blocks = min(found.count // (PIECES * batch.threads), MOST_NUMBERS // max(numbers, 1)) // width
    group = width * max(1, min(blocks, MOST_BLOCKS))
    alone: list[int] = []

    def work(first: int) -> int:
        # the blocks of a group
        n = min(group, found.count - first)
        # states are written where they are to be, if they are recorded
        q, x = (
            batch.data[name][first : first + n] if name in batch.data else np.empty((n, rows, size))
            for name, size in (("q", model.nq), ("p" if plan.by_momentum else "v", model.nv))
        )  # fmt: skip
        iterations, residual = np.zeros((n, rows), np.intc), np.zeros((n, rows))
        if begins:
            q[:, 0], x[:, 0] = q0[first : first + n], x0[first : first + n]
        over = [x[first : first + n] if x is not None and x.ndim == 3 else None for x in (torque, inputs)]
        lanes = plan.lanes()
        told: list[tuple] = []
        most = FIRST_CHUNK
        for at in range(0, n, width):
            lanes.start(q0, x0, first + at)
            if torque is not None and torque.ndim < 3:
                lanes.set_torque(np.atleast_2d(torque), first + at)
            if inputs is not None and inputs.ndim < 3:
                lanes.set_inputs(np.atleast_2d(inputs), first + at)
            done, row = 0, int(begins)
            while done < steps and not batch.stopped:
                count = min(most, steps - done)
                began = time.perf_counter()
                row = lanes.run(count, every, *over, q, x, iterations, residual, at, row)
                done += count
                took = time.perf_counter() - began
                most = min(max(int(count * CHUNK_SECONDS / max(took, 1e-9)), 1), 2 * most, MOST_AT_ONCE)
            told += lanes.done()
        if batch.stopped:
            return 0
        good = np.array([not left for _, left, _, _ in told])
        if good.all():
            batch.keep(slice(first, first + n), q, x, plan.by_momentum, model)
        elif good.any():
            batch.keep(first + np.flatnonzero(good), q[good], x[good], plan.by_momentum, model)
        which = first + np.flatnonzero(good)
        alone.extend((first + np.flatnonzero(~good)).tolist())
        batch.iterations[which], batch.residual[which], batch.in_lanes[which] = iterations[good], residual[good], True
        batch.rows[which], batch.steps[which] = rows, steps
        batch.total[which], batch.most[which] = np.array([one[2:] for one in told])[good].T
        return len(which)

    batch.share(work, range(0, found.count, group))
    one_by_one(batch, sorted(alone))


# ---- one by one -------------------------------------------------------------------------------------


def one_by_one(batch: Batch, which: Iterable[int]) -> None:
    """Run instances alone, one in each thread."""
    found = batch.instances
    every = batch.every or found.schedule.steps

    def one(k: int) -> None:
        try:
            model = found.system(k)
            if found.torque_rows:
                batch.take(k, _by_rows(batch, model, k, every))
                return
            driving = {name: found.driven_by(name, k) for name in found.driving}
            given = found.given.but(**found.start(k), **driving, every=every, progress=batch.look)
            batch.take(k, run(model, given))
        except VitreeError as error:
            batch.take(k, getattr(error, "trajectory", None), of_instance(error, k))

    def work(part: np.ndarray) -> int:
        for done, k in enumerate(part.tolist()):
            if batch.stopped:
                return done
            try:
                one(k)
            except Stopped:
                return done
        return len(part)

    every_one = np.asarray(which, dtype=int)
    pieces = min(len(every_one), MOST_PIECES * batch.threads)
    batch.share(work, np.array_split(every_one, pieces) if pieces else ())
    require_a_start(batch.failed, found.count)


def _by_rows(batch: Batch, model: Any, k: int, every: int) -> Any:
    """Run an instance whose torque has a row for each step."""
    found = batch.instances
    simulation = held_alone(found, model, k, every)
    for torque in found.driven_by("torque", k):
        batch.look()
        simulation.step(torque=torque)
    return simulation.trajectory


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
    held = held_of(found, plan, batch.threads)
    rows, reached = len(batch.t), np.zeros(n, int)
    q, x = np.full((n, rows, model.nq), np.nan), np.full((n, rows, model.nv), np.nan)
    touches = isinstance(model, Model) and model.touches
    told = np.full_like(x, np.nan) if touches else None
    row = 0
    with held:
        for step in range(steps + 1):
            if step == batch.marks[row]:
                held.record(q, x, row)
                if told is not None:
                    told[held.alive, row] = held.v[held.alive]
                row += 1
                reached[held.alive] = row
            if step == steps or not held.alive.any():
                break
            states = t0 + step * dt, held.q.copy(), held.v.copy()
            held.step({name: function(*states) for name, function in asked.items()})
            batch.steps[held.alive] += 1
            batch.tell(1, steps)
    for array in batch.data.values():
        array[reached == 0] = np.nan
    for k in map(int, np.flatnonzero(reached)):
        one, end = slice(k, k + 1), reached[k]
        v = None if told is None else told[one, :end]
        batch.keep(one, q[one, :end], x[one, :end], held.by_momentum, found.system(k), v)
    batch.rows[:], batch.failed = reached, held.failed
    batch.in_lanes[:], batch.width = held.in_lanes & held.alive, held.width
