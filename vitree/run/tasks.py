"""The cases of a sweep, and functions of them run in processes, clusters or threads."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import itertools
import math
import os
import pickle
import re
import threading
import time
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

import numpy as np

from vitree.arguments import JsonObject, Keywords, mapping, plain_scalar, several, shown, told, whole
from vitree.errors import InputError, MissingExtraError, UnknownNameError, VitreeError
from vitree.memory import require_memory
from vitree.model.system import System
from vitree.results.plain import SCALARS
from vitree.wording import text_of, visible

# ---- cases of a sweep: a grid of values with labels, or a list; and what tells one sweep from another ------


#: Memory of a case with its row of results, and of a value of an axis, about [bytes].
CASE_BYTES, VALUE_BYTES = 1500.0, 200.0
#: Levels of values within values that are told apart.
DEEPEST = 8
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def without_addresses(text: str) -> str:
    """Return a text without the addresses of objects, which differ from process to process."""
    return _ADDRESS.sub("", text)


#: What stands for a value in the table.
Label = str | int | float | bool | None
#: By name, the values that labels stand for, where a label is not its own value.
Values = dict[str, dict[Label, object]]


@dataclasses.dataclass(frozen=True)
class Cases:
    """What is run: labels for the table, and the values that they stand for.

    Attributes
    ----------
    names : tuple of str
    rows : list of dict
        For each case, its labels by name.
    values : dict of dicts
        By name, the values that labels stand for, where a label is not its own value.
    axes : dict of lists, or None
        The labels of each axis, if the cases are their product.
    """

    names: tuple[str, ...]
    rows: list[JsonObject]
    values: Values
    axes: dict[str, list[Label]] | None

    def arguments(self, labels: JsonObject) -> Keywords:
        """Return the values that the labels of a case stand for."""
        return {name: self.values.get(name, {}).get(x, x) for name, x in labels.items()}


def cases_of(over: object) -> Cases:
    """Return the cases of a mapping of axes, whose last varies fastest, or of a sequence of mappings.

    Raises an InputError if it is neither, an axis is empty or has a value twice, or a value needs a label.
    """
    if over is None or isinstance(over, Mapping):
        given = mapping(over, "over", "a mapping of names to values")
        axes = {_name(name): _axis(name, values) for name, values in given.items()}
        count = math.prod(len(labels) for labels, _ in axes.values())
        require_memory(f"{count} cases", count * (CASE_BYTES + 80.0 * len(axes)),
                       "give fewer values in over=",
                       "run parts of over= in sweeps of their own")  # fmt: skip
        rows = [dict(zip(axes, labels, strict=True)) for labels in itertools.product(*(x for x, _ in axes.values()))]
        values = {name: own for name, (_, own) in axes.items() if own}
        return Cases(tuple(axes), rows, values, {name: labels for name, (labels, _) in axes.items()} or None)
    rows, values = [], {}
    for each in several(over, "over", "a mapping of names to values, or a sequence of mappings"):
        row = {}
        for name, value in mapping(each, "over", "a sequence of mappings").items():
            row[_name(name)], own = labelled(name, value)
            if own is not None and values.setdefault(name, {}).setdefault(row[name], own) is not own:
                raise InputError(_over(name) + f' has two values that are called "{row[name]}"; give names that differ')
        rows.append(row)
    if not rows:
        raise InputError("over", over, "is empty; give at least one case")
    return Cases(tuple(dict.fromkeys(name for row in rows for name in row)), rows, values, None)


def _axis(name: str, values: object) -> tuple[list[Label], dict[Label, object]]:
    """Return the labels of an axis, and the values of those labels that are not their own."""
    if isinstance(values, Sized):
        require_memory(f"{len(values)} values", VALUE_BYTES * len(values),
                       "give fewer of them in over=")  # fmt: skip
    if isinstance(values, Mapping):
        labels = [plain_scalar(label) for label in values]
        if not all(isinstance(label, SCALARS) for label in labels):
            raise InputError(_over(name) + " is a mapping; its labels must be texts or numbers")
        own = dict(zip(labels, values.values(), strict=True))
    else:
        needed = "a sequence of values, or a mapping of labels to values"
        pairs = [labelled(name, x) for x in several(values, f'over["{name}"]', needed)]
        labels, own = [label for label, _ in pairs], {label: x for label, x in pairs if x is not None}
    if not labels:
        raise InputError(_over(name) + " is empty; give at least one value")
    if len(set(labels)) < len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise InputError(_over(name) + f" has {twice!r} twice; give each value once, or a mapping of labels to values")
    return labels, own


def labelled(name: object, value: object) -> tuple[Label, object]:
    """Return the label of a value, and the value itself if it is another than the label.

    Raises an InputError if the value is of a kind that has no label; ``name`` is that of its axis.
    """
    plain = plain_scalar(value)
    if plain is None or isinstance(plain, SCALARS):
        return str(plain) if isinstance(plain, str) else plain, None
    if isinstance(value, os.PathLike):
        return os.fspath(value), None
    if isinstance(value, System):
        return value.name, value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], Mapping):
        options = ", ".join(f"{key}={text_of(x)}" for key, x in value[1].items())  # a method and its options
        return f"{value[0]} ({options})" if options else value[0], value
    raise InputError(
        _over(name) + f" has {shown(value)}, which is neither a number nor a text; give a mapping of labels to values"
    )


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in ("status", "reason", "seconds"):
        raise InputError(
            f"over has the name {shown(name)}; a name must be a word that Python takes as an argument, other than "
            "status, reason and seconds"
        )
    return name


def _over(name: object) -> str:
    return f'over["{text_of(name)}"]'


# ---- what tells sweeps apart ------------------------------------------------------------------------------


def digest(value: object) -> str:
    """Return 16 hexadecimal digits that equal values have in common, in this process and in others.

    Of functions the instructions count, with the values that they hold, and not what they call.
    """
    return hashlib.sha256(_content(value, 0).encode(errors="backslashreplace")).hexdigest()[:16]


def _content(value: object, level: int) -> str:
    """A text of a value; of objects of other kinds their class and attributes."""
    down = level + 1
    if level > DEEPEST:
        return "..."
    if value is None or isinstance(value, (*SCALARS, bytes, complex)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind != "O":
        array = np.ascontiguousarray(value)
        return f"{array.dtype.str} {np.shape(value)} {hashlib.sha256(array.tobytes()).hexdigest()}"
    if isinstance(value, System) and isinstance(name := getattr(value, "digest", None), str):
        return f"{type(value).__qualname__} {name}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_content(x, down)}: {_content(y, down)}" for x, y in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_content(x, down) for x in value)) + "}"
    if isinstance(value, Iterable) and isinstance(value, list | tuple | range | np.ndarray):
        return "[" + ", ".join(_content(x, down) for x in value) + "]"
    if isinstance(value, functools.partial):
        return f"partial {_content((value.func, value.args, value.keywords), down)}"
    if isinstance(value, types.MethodType):
        return f"method {_content((value.__func__, value.__self__), down)}"
    if isinstance(value, types.FunctionType):
        cells = [_cell(cell) for cell in value.__closure__ or ()]
        return f"def {_code(value.__code__)} {_content((value.__defaults__, value.__kwdefaults__, cells), down)}"
    if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict):
        return f"{type(value).__qualname__} {_source(type(value))} {_content(inside, down)}"
    return f"{type(value).__qualname__} {without_addresses(text_of(value, repr))}"


def _cell(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""


def _code(code: types.CodeType) -> str:
    """The instructions of a function, which its comments and its place in a file do not change."""
    consts = [_code(x) if isinstance(x, types.CodeType) else _content(x, 1) for x in code.co_consts]
    return f"{code.co_qualname} {code.co_code.hex()} {consts} {code.co_names} {code.co_varnames}"


# ---- tasks of a sweep: cases in chunks of half a second, by processes, threads, Dask or Ray through joblib


#: Seconds that a task is to take; at least; and at most, if its cases are slower than those before.
AIM, LEAST, MOST = 0.5, 0.1, 2.0
#: Seconds of a round of a backend that hands results over at the end of a round.
ROUND = 4.0
#: Backends: their names for joblib, and whether they hand results over as they come.
BACKENDS = {"processes": ("loky", True), "threads": ("threading", True), "dask": ("dask", True), "ray": ("ray", False)}
#: Longest reason of a failed case.
LONGEST = 500

Case = tuple[int, JsonObject]
Function = Callable[[int, JsonObject], Mapping[str, object]]


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


_loaded: dict[str, Function] = {}


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended, also by a kill, of which joblib's processes learn nothing."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="vitree-parent", daemon=True).start()


class Done(NamedTuple):
    """What a task did: rows by case, the seconds of its first case and of the others, and the cases it left."""

    rows: list[tuple[int, JsonObject]]
    first: float
    others: float
    left: list[Case]


def run_chunk(function: Payload | Function, cases: list[Case], limit: float, timings: bool) -> Done:
    """Run cases, at least one, and no further one after ``limit`` seconds."""
    call = function.load() if isinstance(function, Payload) else function
    rows: list[tuple[int, JsonObject]] = []
    begin = first = time.perf_counter()
    for k, labels in cases:
        if rows and time.perf_counter() - begin > limit:
            break
        rows.append((k, row_of(call, k, labels, timings)))
        first = time.perf_counter() if len(rows) == 1 else first
    return Done(rows, first - begin, time.perf_counter() - first, cases[len(rows) :])


def row_of(function: Function, k: int, labels: JsonObject, timings: bool) -> JsonObject:
    """Return the results of one case; of a case that raises, the reason."""
    begin = time.perf_counter()
    row: JsonObject = {"status": "ok", "reason": None}
    try:
        row |= _plain(function(k, labels), {*labels, *row, "seconds"})
    except (Exception, SystemExit) as error:  # whatever a case raises; sys.exit() ends the case alone
        if hasattr(function, "stops") and function.stops(error, labels):
            raise
        text = " ".join(visible(without_addresses(told(error))).split())
        row |= {"status": "failed", "reason": text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."}
        row |= function.failed(error) if hasattr(function, "failed") else {}
    return row | ({"seconds": time.perf_counter() - begin} if timings else {})


def _plain(answer: object, taken: set[str]) -> JsonObject:
    """Return an answer in types that a file keeps to the last bit."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"the function returned {shown(answer)}; it must return a mapping of names to numbers or texts")
    found: JsonObject = {}
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

    joblib asks for chunks in its own threads.

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
              pace: tuple[float, int], take: Callable[[Done], object]) -> None:  # fmt: skip
    """Run cases by a backend, and hand over the results of each task in this thread, as they come.

    Raises an InputError if the function cannot be sent to other processes, or a cluster is not there, a
    MissingExtraError if a package is not installed, and a VitreeError if the workers end before their time.
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


def _output(parallel: Callable[[Iterator[object]], Iterable[Done]], tasks: Iterator[object]) -> Iterator[Done]:
    """What the tasks return, as it comes; an error of the workers is a VitreeError."""
    try:
        yield from parallel(tasks)
    except VitreeError:
        raise
    except Exception as error:
        raise VitreeError(f"the workers ended before their time: {told(error)}") from error


def packed(function: Function) -> Payload:
    """Return a function as bytes.

    Raises an InputError if it cannot be pickled, and a MissingExtraError if cloudpickle is not installed.
    """
    try:
        import cloudpickle
    except ImportError:
        raise MissingExtraError("cloudpickle", "sweep", "a sweep by processes") from None
    try:
        body = cloudpickle.dumps(function)
    except Exception as error:  # whatever its parts raise
        raise InputError(
            f"what cannot be sent to other processes: {told(error)}; create its content within the function, or run "
            'it by backend="threads"'
        ) from None
    return Payload(hashlib.sha256(body).hexdigest(), body)


def check_backend(backend: object, workers: object) -> int | None:
    """Return the number of workers, None for all there are, after a check of both.

    Raises an UnknownNameError or InputError if one is wrong.
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
