"""Instances in lanes: blocks of them that take the same steps at once."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree import _core
from vitree._core import scalar, wide
from vitree.arguments import Asked, Keywords, all_finite
from vitree.errors import ConvergenceError, InputError, VitreeError
from vitree.integrators.base import CHUNK_SECONDS, Integrator
from vitree.integrators.compiled import FIRST_CHUNK, MOST_AT_ONCE, SCRATCH, CompiledIntegrator
from vitree.memory import require_memory
from vitree.model.model import Model
from vitree.model.system import System
from vitree.run.controller import Control, HeldTogether, Targets
from vitree.run.instances import Batch, Instances, Stopped, inputs_of
from vitree.run.simulate import run
from vitree.run.simulation import Simulation

# ---- instances that are held side by side, and advance together: in lanes, or each with its own stepper


core = scalar()

#: Least instances of a thread, and least work of it [s]: to begin takes a thread 0.1 ms.
FEWEST, WORTH = 16, 2e-4
#: The same of blocks, whose threads wait for each other: what they do between two blocks is Python's.
FEWEST_BLOCKS, WORTH_OF_BLOCKS = 2, 1e-3
#: Most parts of the work for each thread; instances in one of them share scratch memory.
PARTS = 4
#: What a simulation takes beside its stepper [bytes], as measured.
HELD = 24_000


def are_alike(found: Instances) -> bool:
    """Whether instances differ in their starts, drives and numbers of their models alone, as those in lanes do."""
    given = found.given
    plain = type(found.model) is Model and hasattr(found.kind, "reusable")
    return plain and not (given.effort_limits or given.wrenches or given.prescribed)


class Block:
    """What blocks of instances in lanes have in common: an integrator, and the address of its plan."""

    def __init__(self, integrator: CompiledIntegrator, plan: int):
        self.integrator, self.address, self.by_momentum = integrator, plan, integrator.uses_momentum
        self.module, self._own = wide(), threading.local()

    @classmethod
    def plan(cls, found: Instances) -> Block | None:
        """Return the plan of blocks; None where instances run one by one."""
        model, given = found.model, found.given
        if not are_alike(found) or found.count < 2 or wide().VT_LANES < 2:
            return None
        found.require_signals()
        if found.driving.get("targets") is not None and Targets(model, found.driving["targets"]).shared:
            return None
        if found.parameters:  # a joint may have its first damping by these
            with contextlib.suppress(VitreeError):
                model = found.system(0)
        integrator = cast("CompiledIntegrator", found.kind(model, found.schedule.dt, **given.options))
        plan = core.lane_plan(integrator.stepper)
        return cls(integrator, plan) if plan else None

    def lanes(self) -> _core.BlockStepper:
        """Return the block of this thread, which the next instances may take."""
        own: dict[str, _core.BlockStepper] = vars(self._own)
        if "lanes" not in own:
            own["lanes"] = self.module.ModelStepper(self.address, self.integrator.stepper)
        return own["lanes"]


class OwnNumbers:
    """The numbers of the model of one instance, for lanes, and its p or v at the start.

    Attributes
    ----------
    model : Model
    address : int
        As long as this lives.
    x : (nv,) array
        As the method takes it.
    """

    def __init__(self, found: Instances, plan: Block, k: int, q: np.ndarray, x: np.ndarray):
        """Raise a VitreeError if there is no such model or start, or a ValueError if it has no lanes with the others.

        ``q``, ``x``: the start as it is given.
        """
        self.model = cast("Model", found.system(k))
        if not self.model._regular:
            self.model.require_invertible_mass_matrix(q)
        self.x = taken(found, self.model, q[None], x[None], plan.by_momentum)[0]
        integrator = cast("CompiledIntegrator", found.kind(self.model, found.schedule.dt, **found.given.options))
        self.stepper = integrator.stepper
        self.address = core.lane_numbers(plan.integrator.stepper, self.stepper)
        if not self.address:
            raise ValueError(f"the model of instance {k} differs in more than numbers")

    @classmethod
    def of(cls, *given: Any) -> OwnNumbers | None:
        """Return those of an instance; None if it has to run alone."""
        try:
            return cls(*given)
        except (VitreeError, ValueError):
            return None


def starts_of(found: Instances) -> tuple[np.ndarray, np.ndarray]:
    """Return the states at the start as they are given: q (n, nq), and p (n, nv) if p0 is given, else v."""
    model, n = cast("Model", found.model), found.count
    q = model.start if found.q0 is None else found.q0
    q = _configurations(model, q)
    if found.v0 is not None and found.p0 is not None:
        raise InputError("give one of v0, p0, not v0 and p0")
    name = "v0" if found.p0 is None else "p0"
    if not (model._regular or found.parameters):
        for row in q:
            model.require_invertible_mass_matrix(row)
    given = getattr(found, name)
    v = np.zeros((1, model.nv)) if given is None else np.atleast_2d(given)
    for k, row in enumerate(v if not np.isfinite(v).all() else ()):
        model.validate_velocity(row, f"{name}[{k}]" if len(v) > 1 else name)
    q = np.array(np.broadcast_to(q, (n, model.nq)), order="C")
    return q, np.array(np.broadcast_to(v, (n, model.nv)), order="C")


def taken(found: Instances, model: System, q: np.ndarray, x: np.ndarray, by_momentum: bool) -> np.ndarray:
    """Return p or v (n, nv) of states at the start, as a method takes them and as simulate() finds them."""
    if by_momentum == (found.p0 is not None):
        return x
    return model._momenta(q, x) if by_momentum else model._velocities(q, x)


def _configurations(model: Model, q: np.ndarray) -> np.ndarray:
    """Return the configurations (k, nq) at the start as simulate() takes them; errors name the row."""
    rows = np.atleast_2d(q)
    if np.isfinite(rows).all():
        with contextlib.suppress(InputError):  # of a row, which is named below
            return np.array(model._checked_stack(rows, "q0"))
    return np.array([model.validate_configuration(row, f"q0[{k}]" if q.ndim == 2 else "q0")
                     for k, row in enumerate(rows)])  # fmt: skip


class SharingSimulation(Simulation):
    """A simulation whose stepper shares scratch memory with those of others, of which one at a time takes steps."""

    def __init__(self, scratch: object, *args: Any, **options: Any):
        self._scratch = scratch
        super().__init__(*args, **options)

    def _made_for(self, full: System) -> Integrator:
        before = SCRATCH.set(self._scratch)
        try:
            return super()._made_for(full)
        finally:
            SCRATCH.reset(before)


def held_alone(found: Instances, model: System, k: int, start: Keywords, scratch: object) -> Simulation:
    """Return an instance that is held from a start, without what is given to it step by step, and without records."""
    given = found.given
    constant = {name: found.driven_by(name, k) for name in found.driving if not callable(found.driving[name])}
    if found.torque_rows:
        del constant["torque"]
    return SharingSimulation(
        scratch, model, **start, dt=found.schedule.dt, method=found.kind.name, t0=given.t0,
        control=Control(effort_limits=given.effort_limits, prescribed=given.prescribed, **constant),
        wrenches=given.wrenches, record_every=0, **given.options,
    )  # fmt: skip


def of_instance(error: VitreeError, k: int) -> VitreeError:
    """Return the error of an instance, with its number if the start is wrong; raise an InputError that is of all."""
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
    if plan is not None and not plan.by_momentum and not found.by_rows and not found.parameters:
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
    fewest, worth : int and float
        Least indices and least work [s] of a thread.
    """

    by_momentum = in_lanes = False
    width = 1
    fewest, worth = 1, WORTH
    q: np.ndarray
    v: np.ndarray

    def __init__(self, found: Instances, threads: int):
        self.found, self.threads = found, threads
        self.alive = np.ones(found.count, bool)
        self.failed: dict[int, VitreeError] = {}
        self._pool: ThreadPoolExecutor | None = None
        #: whether threads at work are to stop
        self._stopped = False
        #: least seconds of a thread for each index, as far as is known
        self._seconds = 0.0

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def contact_impulses(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the impulses (n, k, 3) [N s] of contacts on frames in the last step, and whether any acts (n, k).

        ``signs`` (contacts, k): how an impulse of each contact acts on each frame, 1, -1 or 0. World axes.
        """
        n, k = len(self.alive), signs.shape[1]
        return np.zeros((n, k, 3)), np.zeros((n, k), bool)

    def expect(self, seconds: float) -> None:
        """Expect that the next work takes so long [s] for each instance."""
        self._seconds = seconds

    def _share(self, work: Callable[[np.ndarray], None], which: np.ndarray) -> None:
        """Do work on parts of some indices, in threads if it is known to be worth it: the first time it is not."""
        if not len(which):
            return
        threads = max(1, min(self.threads, len(which) // self.fewest, int(self._seconds * len(which) / self.worth)))
        began = time.perf_counter()
        if threads == 1:
            work(which)
        else:
            parts = max(threads, min(PARTS * threads, len(which) // (PARTS * self.fewest)))
            self._share_in(threads, self._split(which, parts), work)
        spent = (time.perf_counter() - began) * threads / len(which)
        self._seconds = min(self._seconds or spent, spent)

    def _split(self, which: np.ndarray, parts: int) -> list[np.ndarray]:
        """Return the indices in parts that threads may work on at the same time."""
        return np.array_split(which, parts)

    def _share_in(self, threads: int, parts: list[np.ndarray], work: Callable[[np.ndarray], None]) -> None:
        """Do the work in this thread and others, each of which takes the next part when it is done with one."""
        left = deque(parts)

        def some() -> None:
            while not self._stopped:
                try:
                    part = left.popleft()
                except IndexError:
                    return
                try:
                    work(part)
                except BaseException:
                    self._stopped = True
                    raise

        self._pool = self._pool or ThreadPoolExecutor(self.threads - 1, "vitree rollout")
        under_way = [self._pool.submit(some) for _ in range(threads - 1)]
        try:
            some()
            for each in under_way:
                each.result()
        except BaseException:
            self._stopped = True
            raise
        finally:
            wait(under_way)
            self._stopped = False


class HeldSimulations(Held):
    """Instances with a stepper each; the steppers of a group share scratch memory."""

    fewest = FEWEST

    def __init__(self, found: Instances, threads: int):
        super().__init__(found, threads)
        n = found.count
        self._scratches = [core.SharedScratch() for _ in range(max(1, min(n, PARTS * threads)))]
        # v of a state in contact is not that of its p
        full = found.model.full
        touches = isinstance(full, Model) and full.has_contact
        self.by_momentum = found.kind.uses_momentum or touches
        self._own = threading.local()
        self.held: dict[int, Simulation] = {}
        #: (n,) steppers that can step them without Python, and that tell their contacts, or None
        self._steppers, self._tellers = np.full(n, None), np.full(n, None)
        self.q, self.v = np.zeros((n, found.model.nq)), np.zeros((n, found.model.nv))
        for k in range(n):
            self._begin(k, None, **found.start(k))
            if len(self.held) == 1 and k in self.held:
                self._require_memory(n - k - 1)
        require_a_start(self.failed, n)

    def _require_memory(self, left: int) -> None:
        """Raise an InputError if the steppers of so many more instances take more memory than is available."""
        (one,) = self.held.values()
        each = HELD + getattr(getattr(one._integrator, "stepper", None), "size", 0)
        shared = self._scratches[0].size * (len(self._scratches) - 1)
        require_memory(f"the steppers of {left} instances, {each / 1e6:.2g} MB each,", each * left + shared,
                       "take fewer instances at a time")  # fmt: skip

    def _group(self, k: ArrayLike) -> np.ndarray:
        """Return the groups of instances: whose scratch memory they share."""
        return np.asarray(k) * len(self._scratches) // self.found.count

    def _split(self, which: np.ndarray, parts: int) -> list[np.ndarray]:
        of = self._group(which) * parts // len(self._scratches)
        return [which[of == part] for part in range(parts)]

    def _begin(self, k: int, system: System | None, **start: ArrayLike | None) -> None:
        """Begin an instance that is not held yet, of its model or another one; where it cannot it has failed."""
        try:
            system = self.found.system(k) if system is None else system
            self.held[k] = held_alone(self.found, system, k, start, self._scratches[self._group(k)])
        except VitreeError as error:
            self.failed[k], self.alive[k] = of_instance(error, k), False
            self.q[k] = self.found.model.start if start.get("q0") is None else start["q0"]
        else:
            self._look(k)

    def _look(self, k: int) -> None:
        one = self.held[k]
        self.q[k], self.v[k] = one.q, one.v
        # steppers of reduced models have the coordinates of the full ones
        self._steppers[k] = one._plain if one._reduced is None else None
        touched = one._views.touched
        self._tellers[k] = None if touched is None else touched.stepper

    def contact_impulses(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        impulses, touching = super().contact_impulses(signs)
        which = np.flatnonzero(self.alive & self._tellers.astype(bool))
        core.contact_impulses(tuple(self._tellers[which].tolist()), which, signs, impulses, touching.view(np.uint8))
        return impulses, touching

    def gaps(self) -> np.ndarray:
        """Return the gaps (n, k) [m] of the states, as ``Simulation.gaps`` has them; NaN without a start."""
        rows = {k: one.gaps for k, one in self.held.items()}
        found = np.full((self.found.count, max((len(row) for row in rows.values()), default=0)), np.nan)
        for k, row in rows.items():
            found[k] = row
        return found

    def push(self, k: int, frame: str, impulse: ArrayLike) -> None:
        """Apply an impulse (3,) [N s] in world axes to a frame of an instance."""
        self.held[k].push(frame, impulse)
        self._look(k)

    def begin(self, which: Iterable[int], q: np.ndarray, v: np.ndarray, systems: Iterable[System]) -> None:
        """Begin some instances anew, from rows of q and v, each with a model of its own of the same coordinates."""
        for k, a, b, system in zip(map(int, which), q, v, systems, strict=True):
            self.failed.pop(k, None)
            self.held.pop(k, None)
            self.alive[k] = True
            self._begin(k, system, q0=a, v0=b)

    def record(self, q: np.ndarray, x: np.ndarray, row: int) -> None:
        """Write the states to a row of records."""
        for k in np.flatnonzero(self.alive).tolist():
            q[k, row], x[k, row] = self.held[k].q, self.held[k].p if self.by_momentum else self.held[k].v

    def step(self, drives: dict[str, np.ndarray], steps: int = 1) -> None:
        """Advance by steps; instances that fail are left out from here on."""

        torque, inputs = drives.get("torque"), drives.get("inputs")
        if inputs is None and "targets" in drives and Targets(self.found.model, drives["targets"]).alone:
            inputs = drives["targets"]
        # what steppers alone can take, which is anything but targets of some inputs
        quick = (inputs is not None or "targets" not in drives) and _are_rows(torque) and _are_rows(inputs)

        def advance(part: np.ndarray) -> None:
            rest = self._together(part, steps, torque, inputs) if quick else part
            for k in rest.tolist():
                if self._stopped:
                    return
                try:
                    self.held[k].step(steps, Control(**{name: rows[k] for name, rows in drives.items()}))
                    self._look(k)
                except InputError:
                    raise
                except VitreeError as error:
                    self.failed[k], self.alive[k] = error, False

        self._share(advance, np.flatnonzero(self.alive))

    def _together(
        self, part: np.ndarray, steps: int, torque: np.ndarray | None, inputs: np.ndarray | None
    ) -> np.ndarray:
        """Advance instances by steps in one call, and return those that their steppers alone cannot advance."""
        steppers = tuple(self._steppers[part].tolist())
        rows = part, steps, torque, inputs, self.found.kind.uses_momentum, self.q, self.v
        lanes = self._lanes(steppers)
        if lanes is None:
            status = core.advance_together(steppers, *rows)
        else:
            status = core.advance_in_lanes(lanes, steppers, *rows)
        for k in part[(status == 0) & np.isnan(self.v[part, :1]).any(axis=1)].tolist():
            self._look(k)
        for at in np.flatnonzero(status > 0).tolist():
            k = int(part[at])
            self.failed[k], self.alive[k] = self.held[k]._stopped_by(int(status[at])), False
        return part[status < 0]

    def _lanes(self, steppers: tuple[_core.Stepper | None, ...]) -> object | None:
        """Return the lanes of this thread, in which instances in contact go on together; None where there are none."""
        own: dict[str, object | None] = vars(self._own)
        if "lanes" not in own:
            first = next((one for one in steppers if one is not None), None)
            own["lanes"] = core.contact_lanes(first, wide())
        return own["lanes"]

    def reset(self, which: Iterable[int], q: np.ndarray, v: np.ndarray) -> None:
        """Begin some instances anew, from rows of q and v."""
        for k, a, b in zip(map(int, which), q, v, strict=True):
            self.failed.pop(k, None)
            self.alive[k] = True
            if k not in self.held:
                self._begin(k, None, q0=a, v0=b)
                continue
            try:
                self.held[k].reset(a, b)
            except InputError as error:
                self.failed[k], self.alive[k] = of_instance(error, k), False
            else:
                self._look(k)


def _are_rows(rows: np.ndarray | None) -> bool:
    """Whether rows of numbers, if there are any, are finite doubles in order."""
    plain = rows is None or (type(rows) is np.ndarray and rows.dtype == float and rows.ndim == 2)
    return plain and (rows is None or (rows.flags.c_contiguous and all_finite(rows)))


class HeldBlocks(Held):
    """Instances in lanes, by an explicit method: one that leaves them has blown up."""

    in_lanes = True
    fewest, worth = FEWEST_BLOCKS, WORTH_OF_BLOCKS

    def __init__(self, found: Instances, plan: Block, threads: int):
        super().__init__(found, threads)
        n, model = found.count, found.model
        self.q, x = starts_of(found)
        self.v = taken(found, model, self.q, x, False)
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
        torque, inputs = (None if rows is None else np.atleast_2d(rows) for rows in (torque, inputs))
        before = self.q.copy(), self.v.copy()
        stopped: list[tuple[int, int]] = []  # instances, and the steps that they took

        def advance(part: np.ndarray) -> None:
            lanes = self.plan.lanes()
            for first in part.tolist():
                if self._stopped:
                    return
                lanes.start(self.q, self.v, first)
                if torque is not None:
                    lanes.set_torque(torque, first)
                if inputs is not None:
                    lanes.set_inputs(inputs, first)
                lanes.run(steps, 2**40, None, None, *self._none, first, 0)
                lanes.look(self.q, self.v, first)
                if lanes.any_left:
                    stopped.extend((first + i, taken) for i, (taken, left, _, _) in enumerate(lanes.done()) if left)

        self._share(advance, self.firsts)
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
        model, rows = self.found.model, np.fromiter(which, int)
        # numbers that no quaternion is among need no further look
        if model.nq == model.nv and q.shape == v.shape == (len(rows), model.nq) and all_finite(q) and all_finite(v):
            self.q[rows], self.v[rows] = q, v
        else:
            for k, a, b in zip(rows.tolist(), q, v, strict=True):
                self.q[k] = model.validate_configuration(a, "q0")
                self.v[k] = model.validate_velocity(b, "v0")
        for k in rows.tolist() if self.failed else ():
            self.failed.pop(k, None)
        self.alive[rows], self.taken[rows] = True, 0


# ---- how the instances of a rollout advance: in lanes, one by one, or side by side where a callable drives all


#: Most steps of a block between two looks at whether to stop.
MOST_OF_BLOCK = 4096
#: Most blocks, and numbers of their records, of a group that is done in one piece; least pieces for each of several
#: threads, and for progress that is told.
MOST_BLOCKS, MOST_NUMBERS, PIECES = 16, 2**21, 4
#: Most pieces for each thread where instances run one by one.
MOST_PIECES = 32


# ---- several in lanes -------------------------------------------------------------------------------


def in_lanes(batch: Batch, plan: Block) -> None:
    """Run all instances in blocks, and those that leave the common way alone."""
    found = batch.instances
    model = found.model
    q0, x0 = starts_of(found)
    if not found.parameters:
        x0 = taken(found, model, q0, x0, plan.by_momentum)
    torque, inputs = found.driving.get("torque"), inputs_of(model, found.driving)
    steps, width, begins = found.schedule.steps, plan.module.VT_LANES, batch.every is not None
    every = batch.every or steps
    batch.width = width
    rows = len(batch.t)
    numbers = rows * (model.nq + model.nv)
    pieces = PIECES * batch.threads if batch.threads > 1 or batch.progress is not None else 1
    blocks = min(found.count // pieces, MOST_NUMBERS // max(numbers, 1)) // width
    group = width * max(1, min(blocks, MOST_BLOCKS))
    alone: list[int] = []
    shared = core.lane_numbers(plan.integrator.stepper, plan.integrator.stepper)

    def work(first: int) -> int:
        # the blocks of a group
        n = min(group, found.count - first)
        # states are written where they are to be, if they are recorded
        q, x = (
            batch.data[name][first : first + n] if name in batch.data else np.empty((n, rows, size))
            for name, size in (("q", model.nq), ("p" if plan.by_momentum else "v", model.nv))
        )  # fmt: skip
        iterations, residual = np.zeros((n, rows), np.intc), np.zeros((n, rows))
        rows_of = range(first, first + n if found.parameters else first)
        own = [OwnNumbers.of(found, plan, k, q0[k], x0[k]) for k in rows_of]
        for k, one in enumerate(own, first):
            if one is not None:
                x0[k] = one.x
        if begins:
            q[:, 0], x[:, 0] = q0[first : first + n], x0[first : first + n]
        over = [np.ascontiguousarray(x[first : first + n]) if x is not None and x.ndim == 3 else None
                for x in (torque, inputs)]  # fmt: skip
        lanes = plan.lanes()
        told: list[tuple[int, ...]] = []
        most = FIRST_CHUNK
        for at in range(0, n, width):
            lanes.start(q0, x0, first + at)
            if own:
                lanes.set_numbers([shared if one is None else one.address for one in own[at : at + width]])
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
                most = min(max(int(count * CHUNK_SECONDS / max(took, 1e-9)), 1), 2 * most, MOST_OF_BLOCK)
            told += lanes.done()
        if batch.stopped:
            return 0
        good = np.array([not left for _, left, _, _ in told])
        if own:
            good &= [one is not None for one in own]
            for k, one in enumerate(own):
                if one is not None and good[k]:
                    kept = slice(first + k, first + k + 1)
                    batch.keep(kept, q[k : k + 1], x[k : k + 1], plan.by_momentum, one.model)
        elif good.all():
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


# ---- in contact, with those that are alike ----------------------------------------------------------

#: Most instances that are held at a time, least steps that are worth a stepper for each, and least time of one [s] for
#: each coordinate.
HELD_AT_ONCE, WORTH_HOLDING, OF_COORDINATE = 512, 200, 3e-7


def in_contact(batch: Batch) -> bool:
    """Run instances in contact, of which several take a step together; whether these can."""
    found = batch.instances
    touches = isinstance(found.model, Model) and found.model.has_contact
    if not are_alike(found) or not touches or found.by_rows:
        return False
    if found.count < wide().VT_LANES // 2 or found.schedule.steps < WORTH_HOLDING:
        return False
    try:
        first = held_alone(found, found.model, 0, found.start(0), None)
    except VitreeError:
        return False
    if first._reduced is not None or core.contact_lanes(first._plain, wide()) is None:
        return False
    alone: list[int] = []
    for begin in range(0, found.count, HELD_AT_ONCE):
        alone += _held_part(batch, begin, min(begin + HELD_AT_ONCE, found.count))
    one_by_one(batch, alone)
    return True


def _held_part(batch: Batch, begin: int, end: int) -> list[int]:
    """Run some instances, and return those whose runs end before the others' do, or do not begin."""
    found = batch.instances.part(begin, end)
    model, steps, rows = found.model, found.schedule.steps, len(batch.t)
    # where they are to be, if they are recorded
    sizes = {"q": model.nq, "v": model.nv, "p": model.nv * ("p" in batch.names)}
    q, v, p = (batch.data[name][begin:end] if name in batch.data else np.empty((found.count, rows, size))
               for name, size in sizes.items())  # fmt: skip
    try:
        held = HeldSimulations(found, batch.threads)
    except InputError:  # of all of them
        return list(range(begin, end))
    held.expect(OF_COORDINATE * model.nv * min(steps, MOST_AT_ONCE))
    steppers = {k: one._plain for k, one in held.held.items() if one._plain is not None}
    with held:
        step = 0
        for row, mark in enumerate(batch.marks.tolist()):
            while step < mark and held.alive.any() and not batch.stopped:
                count = min(MOST_AT_ONCE, mark - step)
                held.step({}, count)
                step += count
            alive = np.flatnonzero(held.alive)
            q[alive, row], v[alive, row] = held.q[alive], held.v[alive]
            for k in alive.tolist():
                stepper = steppers[k]
                if step:
                    batch.iterations[begin + k, row], batch.residual[begin + k, row] = stepper.iterations, stepper.error
                if p.size:
                    p[k, row] = held.held[k].p
    good = np.flatnonzero(held.alive)
    x = p if p.size else v
    if found.parameters:
        for k in good.tolist():
            one = slice(k, k + 1)
            batch.keep(slice(begin + k, begin + k + 1), q[one], x[one], bool(p.size), held.held[k].model, v[one])
    else:
        those, which = (slice(None), slice(begin, end)) if len(good) == found.count else (good, begin + good)
        batch.keep(which, q[those], x[those], bool(p.size), model, v[those])
    batch.rows[begin + good], batch.steps[begin + good] = rows, steps
    for k in good.tolist():
        batch.note_steps(begin + k, steppers[k])
    batch.tell(len(good), batch.instances.count)
    return (begin + np.flatnonzero(~held.alive)).tolist()


# ---- one by one -------------------------------------------------------------------------------------


def one_by_one(batch: Batch, which: Iterable[int]) -> None:
    """Run instances alone, one in each thread."""
    found = batch.instances
    every = batch.every or found.schedule.steps

    def one(k: int) -> None:
        try:
            model = found.system(k)
            driving = {name: found.driven_by(name, k) for name in found.driving}
            given = found.given.but(**found.start(k), **driving, record_every=every, progress=batch.look)
            run(model, given, read=functools.partial(batch.take, k))
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


# ---- side by side -----------------------------------------------------------------------------------


def side_by_side(batch: Batch, plan: Block | None) -> None:
    """Run all instances step by step, under what callables (t, Q, V) answer to their states."""
    found = batch.instances
    model = found.model
    n, steps, dt, t0 = found.count, found.schedule.steps, found.schedule.dt, found.given.t0
    sizes = {"torque": model.nv, "inputs": len(model.input_names), "targets": len(getattr(model, "drives", ()))}
    asked = {
        name: Asked(value, name, "(t, Q, V)", (n, sizes[name]))
        for name, value in found.driving.items() if callable(value)
    }  # fmt: skip
    held = held_of(found, plan, batch.threads)
    rows, reached = len(batch.t), np.zeros(n, int)
    q, x = np.full((n, rows, model.nq), np.nan), np.full((n, rows, model.nv), np.nan)
    touches = isinstance(model, Model) and model.has_contact
    told = np.full_like(x, np.nan) if touches else None
    sampled = [value for value in found.driving.values() if isinstance(value, HeldTogether)]
    # steppers take several steps at once, where all that drives them is held
    at_once = MOST_AT_ONCE if isinstance(held, HeldSimulations) and len(sampled) == len(found.driving) else 1
    row = step = 0
    with held:
        while True:
            if row < rows and step == batch.marks[row]:
                held.record(q, x, row)
                if told is not None:
                    told[held.alive, row] = held.v[held.alive]
                row += 1
                reached[held.alive] = row
            if step == steps or not held.alive.any():
                break
            states = t0 + step * dt, held.q.copy(), held.v.copy()
            drives = {name: function(*states) for name, function in asked.items()}
            ahead = int(batch.marks[row]) if row < rows else steps
            count = min(at_once, ahead - step, *(value.lasts() for value in sampled))
            for value in sampled:
                value.skip(count - 1)
            before = held.alive.copy()
            held.step(drives, count)
            batch.steps[held.alive] += count
            if isinstance(held, HeldSimulations):
                for k in np.flatnonzero(before & ~held.alive).tolist():
                    batch.steps[k] = held.held[k].steps if k in held.held else 0
            step += count
            batch.tell(count, steps)
    for array in batch.data.values():
        array[reached == 0] = np.nan
    for k in map(int, np.flatnonzero(reached)):
        one, end = slice(k, k + 1), reached[k]
        v = None if told is None else told[one, :end]
        batch.keep(one, q[one, :end], x[one, :end], held.by_momentum, found.system(k), v)
    if isinstance(held, HeldSimulations):
        for k, sim in held.held.items():
            batch.note(k, sim.model)
            if sim._plain is not None and found.kind.uses_momentum:
                batch.note_steps(k, sim._plain)
    batch.rows[:], batch.failed = reached, held.failed
    batch.in_lanes[:], batch.width = held.in_lanes & held.alive, held.width
