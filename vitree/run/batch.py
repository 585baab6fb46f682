"""The records of a rollout, which its instances fill in any order, and the threads that do it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from vitree.errors import VitreeError
from vitree.results.plain import plain
from vitree.run.instances import Instances
from vitree.run.rollouts import QUANTITIES, Rollout


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
                 progress: Callable[[int, int], Any] | None):  # fmt: skip
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
        self.iterations, self.residual = np.zeros((n, rows), np.intc), np.zeros((n, rows))
        self.total, self.most, self.width = np.zeros(n, int), np.zeros(n, int), 1
        self._done, self._lock = 0, threading.Lock()
        #: whether blocks under way are to stop
        self.stopped = False

    def keep(self, which: slice | np.ndarray, q: np.ndarray, x: np.ndarray, by_momentum: bool, system: Any,
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
            v = system.velocities(flat_q, flat_x)
        found: dict[str, np.ndarray] = {"q": flat_q, "v": v}
        if "p" in self.names:
            found["p"] = flat_x if by_momentum else system.momenta(flat_q, v)
        if {*self.names} - {"q", "v", "p"}:
            energies = system.energies(flat_q, v)
            found |= {name: energies[:, at] for name, at in QUANTITIES.items() if at is not None}
            found["energy"] = energies[:, 0] + energies[:, 1]
        for name in self.names:
            array = found[name].reshape(n, rows, *found[name].shape[1:])
            if not np.may_share_memory(array, self.data[name]):  # else it is there already
                self.data[name][which, :rows] = array
                self.data[name][which, rows:] = np.nan

    def _asks(self, name: str) -> bool:
        return name in self.names or bool({*self.names} - {"q", "v", "p"})

    def take(self, k: int, run: Any, error: VitreeError | None = None) -> None:
        """Keep the records of an instance that was run alone, as far as it came."""
        if error is not None:
            self.failed[k] = error
        for array in self.data.values():
            array[k] = np.nan
        if run is None or not len(run):
            return
        at = np.arange(len(run))
        if self.every is None:
            at = at[-1:] if error is None else at[:0]
        rows = len(at)
        for name in self.names:
            if name == "center_of_mass":
                self.data[name][k, :rows] = run.system.energies(run.q[at], run.v[at])[:, 8:11]
            else:
                self.data[name][k, :rows] = getattr(run, name)[at]
        self.iterations[k, :rows], self.residual[k, :rows] = run.iterations[at], run.residual[at]
        self.rows[k], self.steps[k] = rows, run.steps
        self.total[k], self.most[k] = run.iterations_total, run.iterations_max

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

    def share(self, work: Callable[[Any], int], pieces: Iterable[Any]) -> None:
        """Do pieces of work in threads; ``work`` returns how many instances came to their end."""
        total = self.instances.count
        if self.threads == 1:
            for piece in pieces:
                self.tell(work(piece), total)
            return
        waiting: Iterator[Any] = iter(pieces)
        with ThreadPoolExecutor(self.threads, "vitree rollout") as pool:
            running: set[Any] = set()
            try:
                while True:
                    while len(running) < 2 * self.threads and (piece := next(waiting, None)) is not None:
                        running.add(pool.submit(work, piece))
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
        )  # fmt: skip
