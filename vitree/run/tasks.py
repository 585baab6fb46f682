"""Tasks of a sweep: cases in chunks of half a second, by processes, threads, Dask or Ray through joblib."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from vitree.arguments import plain_scalar, shown, told, whole
from vitree.errors import InputError, MissingExtraError, UnknownNameError, VitreeError
from vitree.results.plain import SCALARS
from vitree.run.cases import without_addresses
from vitree.wording import visible

#: Seconds that a task is to take; at least; and at most, if its cases are slower than those before.
AIM, LEAST, MOST = 0.5, 0.1, 2.0
#: Seconds of a round of a backend that hands results over at the end of a round.
ROUND = 4.0
#: Backends: their names for joblib, and whether they hand results over as they come.
BACKENDS = {"processes": ("loky", True), "threads": ("threading", True), "dask": ("dask", True), "ray": ("ray", False)}
#: Longest reason of a failed case.
LONGEST = 500

Case = tuple[int, dict[str, Any]]
Function = Callable[[int, Mapping[str, Any]], Mapping[str, Any]]


# ---- in a worker ----------------------------------------------------------------------------------------------


class Payload(NamedTuple):
    """A function as bytes; a process loads it once."""

    name: str
    body: bytes

    def load(self) -> Function:
        """Return the function."""
        found = _loaded.get(self.name)
        if found is None:
            found = pickle.loads(self.body)
            if len(_loaded) >= 4:
                _loaded.clear()
            found = _loaded.setdefault(self.name, found)
        return found


_loaded: dict[str, Any] = {}


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended, also by a kill, of which joblib's processes learn nothing."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="vitree-parent", daemon=True).start()


class Done(NamedTuple):
    """What a task did: rows by case, the seconds of its first case and of the others, and the cases it left."""

    rows: list[tuple[int, dict[str, Any]]]
    first: float
    others: float
    left: list[Case]


def run_chunk(function: Payload | Function, cases: list[Case], limit: float, timings: bool) -> Done:
    """Run cases, at least one, and no further one after ``limit`` seconds."""
    call = function.load() if isinstance(function, Payload) else function
    rows: list[tuple[int, dict[str, Any]]] = []
    begin = first = time.perf_counter()
    for k, labels in cases:
        if rows and time.perf_counter() - begin > limit:
            break
        rows.append((k, row_of(call, k, labels, timings)))
        first = time.perf_counter() if len(rows) == 1 else first
    return Done(rows, first - begin, time.perf_counter() - first, cases[len(rows) :])


def row_of(function: Function, k: int, labels: Mapping[str, Any], timings: bool) -> dict[str, Any]:
    """Return the results of one case; of a case that raises, the reason."""
    begin = time.perf_counter()
    row: dict[str, Any] = {"status": "ok", "reason": None}
    try:
        row |= _plain(function(k, labels), {*labels, *row, "seconds"})
    except (Exception, SystemExit) as error:  # whatever a case raises; sys.exit() ends the case alone
        if hasattr(function, "stops") and function.stops(error, labels):
            raise
        text = " ".join(visible(without_addresses(told(error))).split())
        row |= {"status": "failed", "reason": text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."}
        row |= function.failed(error) if hasattr(function, "failed") else {}
    return row | ({"seconds": time.perf_counter() - begin} if timings else {})


def _plain(answer: Any, taken: set[str]) -> dict[str, Any]:
    """Return an answer in types that a file keeps to the last bit."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"the function returned {shown(answer)}; it must return a mapping of names to numbers or texts")
    found: dict[str, Any] = {}
    for name, value in answer.items():
        value = plain_scalar(value)
        if not isinstance(name, str) or name in taken:
            raise TypeError(f"the function returned the name {shown(name)}, which is no text or that of another column")
        if value is not None and not isinstance(value, SCALARS):
            raise TypeError(f'the function returned "{name}" = {shown(value)}; it must be a number or a text')
        found[name] = visible(str(value)) if isinstance(value, str) else value
    return found


# ---- in the process of the caller -----------------------------------------------------------------------------


class Queue:
    """The cases that wait, handed out in chunks whose size follows the pace.

    joblib asks for chunks in threads of its own.

    Parameters
    ----------
    cases : list
    workers : int
    pace : tuple of float and int
        Seconds that cases took, and how many, as far as known.
    """

    def __init__(self, cases: list[Case], workers: int, pace: tuple[float, int]):
        # cases of a grid differ in pace by their place: a random order, always the same, mixes them
        order = np.random.default_rng(0).permutation(len(cases))
        self.waiting = deque(cases[k] for k in order)
        self.workers, (self.seconds, self.count) = workers, pace
        self.first = -(-len(cases) // (4 * workers))
        self.lock = threading.Lock()

    @property
    def mean(self) -> float:
        """Seconds of a case, NaN while not known."""
        return max(self.seconds / self.count, 1e-9) if self.count else np.nan

    def draw(self) -> list[Case]:
        """Return the next chunk; an empty one if no case waits."""
        with self.lock:
            mean, size, count = self.mean, self.first, len(self.waiting)
            if mean == mean:
                least = max(int(np.ceil(2 * LEAST / mean)), 1)  # some are quicker than the mean
                share = -(-count // self.workers)  # in the end, something for each
                size = max(min(round(AIM / mean), share), least)
                size = count if count - size < least // 2 else size  # no small rest
            return [self.waiting.popleft() for _ in range(min(size, count))]

    def take(self, done: Done) -> None:
        """Learn the pace of a task, and have the cases wait that it left."""
        with self.lock:
            self.waiting.extendleft(reversed(done.left))
            others = len(done.rows) - 1  # the first may have waited for imports
            if others:
                self.seconds, self.count = self.seconds + done.others, self.count + others
            elif not self.count or done.first > MOST:
                self.seconds, self.count = self.seconds + done.first, self.count + 1
            elif done.first < self.seconds / self.count / 2:  # the pace was that of a case that waited for imports
                self.seconds, self.count = done.first, 1

    def chunks(self) -> Iterator[list[Case]]:
        """Hand out chunks while there are any."""
        while chunk := self.draw():
            yield chunk

    def round(self) -> Iterator[list[Case]]:
        """Hand out chunks for one round: one for each worker while the pace is not known, then some seconds' worth."""
        mean = self.mean
        each = 1 if mean != mean else max(1, min(round(ROUND / AIM), round(ROUND / mean)))
        for _ in range(each * self.workers):
            if not (chunk := self.draw()):
                return
            yield chunk


def run_tasks(function: Function, cases: list[Case], *, backend: str, workers: int | None, timings: bool,
              pace: tuple[float, int], take: Callable[[Done], Any]) -> None:  # fmt: skip
    """Run cases by a backend, and hand over the results of each task in this thread, as they come.

    Raises
    ------
    InputError
        If the function cannot be sent to other processes, or a cluster is not there.
    MissingExtraError
        If a package is not installed.
    VitreeError
        If the workers end before their time.
    """
    with _parallel(backend, workers) as parallel:
        sent = function if backend == "threads" else packed(function)
        queue = Queue(cases, parallel._effective_n_jobs(), pace)
        from joblib import delayed

        streams = BACKENDS[backend][1]
        while queue.waiting:
            limit = AIM if queue.mean != queue.mean else MOST
            chunks = queue.chunks() if streams else queue.round()
            calls = (delayed(run_chunk)(sent, chunk, limit, timings) for chunk in chunks)
            output = iter(_output(parallel, calls))
            try:
                for done in output:
                    queue.take(done)
                    take(done)
            finally:
                if hasattr(output, "close"):
                    with warnings.catch_warnings():  # joblib's, of tasks that are given up
                        warnings.simplefilter("ignore")
                        output.close()


def _output(parallel: Any, tasks: Iterator[Any]) -> Iterator[Done]:
    """What the tasks return, as it comes; an error of the workers is a VitreeError."""
    try:
        yield from parallel(tasks)
    except VitreeError:
        raise
    except Exception as error:
        raise VitreeError(f"the workers ended before their time: {told(error)}") from error


def packed(function: Function) -> Payload:
    """Return a function as bytes.

    Raises
    ------
    InputError
        If it cannot be pickled.
    MissingExtraError
        If cloudpickle is not installed.
    """
    try:
        import cloudpickle
    except ImportError:
        raise MissingExtraError("cloudpickle", "sweep", "a sweep by processes") from None
    try:
        body = cloudpickle.dumps(function)
    except Exception as error:  # whatever its parts raise
        raise InputError(
            f"what cannot be sent to other processes: {told(error)}; make what it holds within the function, or run "
            'it by backend="threads"'
        ) from None
    return Payload(hashlib.sha256(body).hexdigest(), body)


def check_backend(backend: Any, workers: Any) -> int | None:
    """Return the number of workers, None for all there are, after a check of both.

    Raises
    ------
    UnknownNameError, InputError
        If one is wrong.
    """
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS, argument="backend")
    if workers is None:
        return None
    count = whole(workers)
    if count is None or count < 1:
        raise InputError("workers", workers, "must be a whole number, 1 or more, or None for all there are")
    if backend == "dask":
        raise InputError("workers", workers, ": a Dask cluster has its own; leave it out")
    return count


@contextlib.contextmanager
def _parallel(backend: str, workers: int | None) -> Iterator[Any]:
    """joblib's workers, which are there until the block ends."""
    try:
        import joblib
    except ImportError:
        raise MissingExtraError("joblib", "sweep", "a sweep") from None
    if backend == "dask":
        _require_dask()
    elif backend == "ray":
        _require_ray()
    name, streams = BACKENDS[backend]
    settings = {"n_jobs": -1 if workers is None else workers, "return_as": "generator_unordered" if streams else "list"}
    # a process may lose its parent before its first task
    more = {"initializer": _end_with, "initargs": (os.getpid(),)} if backend == "processes" else {}
    with joblib.parallel_config(backend=name, **more), joblib.Parallel(
        **settings, batch_size=1, pre_dispatch="2 * n_jobs" if streams else "all", max_nbytes=None
    ) as parallel:
        yield parallel


def _require_dask() -> None:
    try:
        from distributed import get_client
    except ImportError:
        raise MissingExtraError("distributed", "dask", "a sweep by Dask") from None
    try:
        get_client()
    except ValueError:
        raise InputError(
            "backend", "dask",
            "needs a client: make one first, dask.distributed.Client(...), of a cluster on this computer or elsewhere"
        ) from None


def _require_ray() -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "a sweep by Ray") from None
    if not ray.is_initialized():
        raise InputError("backend", "ray", "needs Ray: call ray.init(...) first, for this computer or a cluster")
    register_ray()
