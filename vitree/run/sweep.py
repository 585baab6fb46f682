"""sweep(): robots, methods, steps and options run into one table."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from vitree.arguments import Asked, JsonObject, Keywords, axes_of, path_of, plain_scalar, several, shown, told
from vitree.errors import InputError, UnknownNameError, VitreeError
from vitree.model.system import System
from vitree.results.plain import SCALARS, plain, read_json
from vitree.results.series import NAN, series_against
from vitree.results.sweep import Sweep
from vitree.run.arguments import ARGUMENTS, RunArguments, count_steps, require_seed, start_of
from vitree.run.simulate import run
from vitree.run.tasks import (
    Cases,
    Done,
    Label,
    Values,
    cases_of,
    check_backend,
    digest,
    labelled,
    run_tasks,
    without_addresses,
)
from vitree.version import __version__
from vitree.writing import lock_at_once, write_text

# ---- the folder of a sweep: rows in files that are written once, so that a sweep that was killed goes on ---


#: The file that says what a folder is of, the file that the sweep at work locks, and the files of rows.
MANIFEST, LOCK, ROWS = "sweep.json", "lock", "rows-*.json"
#: The form of these files.
FORMAT = 1


class Folder:
    """The rows of one sweep in a folder, which is locked until it is closed.

    A file of rows has a name that is the digest of its content. So a file that is torn or altered is known by its name,
    and two processes that run the same cases write the same. Raises an InputError if the folder is that of another
    sweep, is no folder of a sweep, or is in use.

    Parameters
    ----------
    path : path
        It is made if it is not there.
    definition : mapping of str
        The parts of the sweep's definition, each as a digest or a text.
    count : int
        The number of cases.

    Attributes
    ----------
    rows : dict
        The rows that were there: case to row.
    damaged : int
        The number of files that could not be used; they are removed.
    pace : tuple of float and int
        Seconds that rows took, and how many rows.
    """

    def __init__(self, path: str | os.PathLike[str], definition: Mapping[str, str], count: int):
        self.path, self.count = path_of(path, "folder"), count
        self.rows: dict[int, JsonObject] = {}
        self.damaged, self.pace = 0, (0.0, 0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            new = not any(self.path.iterdir())
            if not new and not (self.path / MANIFEST).is_file() and {x.name for x in self.path.iterdir()} != {LOCK}:
                raise self._wrong("has other files, and none of a sweep; give a folder that is empty or not there")
            self._stream: IO[bytes] = open(self.path / LOCK, "ab")  # held until close
        except OSError as error:
            raise self._wrong(f"cannot be used: {error.strerror or error}; give another folder") from None
        try:
            if not lock_at_once(self._stream.fileno()):
                raise self._wrong("is in use by another sweep; wait until that has ended, or give another folder")
            self._check({"format": str(FORMAT), **definition, "count": str(count)})
            self._read()
        except BaseException:
            self.close()
            raise

    def _wrong(self, text: str) -> InputError:
        return InputError("folder", self.path, f"{self.path} {text}")

    def _check(self, definition: dict[str, str]) -> None:
        """Compare the definition with that of the folder, or write it if there is none."""
        place = self.path / MANIFEST
        if not place.is_file():
            write_text(place, json.dumps(definition, indent=1, sort_keys=True) + "\n")
            return
        try:
            there = read_json(place.read_bytes())
            differing = sorted(key for key in there.keys() | definition.keys() if there.get(key) != definition.get(key))
        except (OSError, ValueError, AttributeError):
            raise self._wrong(f"has a file {MANIFEST} that cannot be read; give another folder") from None
        if differing:
            raise self._wrong(
                f"is that of another sweep, which differs in {', '.join(differing)}; give another folder, or the "
                "arguments of before"
            )

    def _read(self) -> None:
        """Take the rows of all files; what is damaged is removed."""
        seconds, timed = 0.0, 0
        for place in sorted(self.path.glob(ROWS)):
            try:
                body = place.read_bytes()
                if place.name != _name_of(body):
                    raise ValueError("its content does not match its name")
                took, found = _rows_of(read_json(body), self.count)
            except (OSError, ValueError):
                self.damaged += 1
                with contextlib.suppress(OSError):
                    place.unlink()
                continue
            self.rows.update(found)
            seconds, timed = seconds + took, timed + len(found)
        self.pace = seconds, timed

    def write(self, rows: list[tuple[int, JsonObject]], took: float) -> None:
        """Keep rows that took some seconds.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        body = json.dumps({"took": took, "rows": rows}, separators=(",", ":"))
        write_text(self.path / _name_of(body.encode()), body)

    def close(self) -> None:
        """Give the folder free."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def remove_folder(path: str | os.PathLike[str]) -> None:
    """Remove the files of a sweep from a folder, and the folder if nothing else is in it."""
    place = path_of(path)
    with contextlib.suppress(OSError):
        for file in [*place.glob(ROWS), place / MANIFEST, place / LOCK]:
            file.unlink(missing_ok=True)
        place.rmdir()


def _rows_of(content: object, count: int) -> tuple[float, dict[int, JsonObject]]:
    """Return the seconds and the rows of a file, by their cases.

    Raises a ValueError if it is not as :meth:`Folder.write` writes it.
    """
    if not isinstance(content, dict) or content.keys() != {"took", "rows"}:
        raise ValueError("it is not of seconds and rows")
    took, rows = content["took"], content["rows"]
    if type(took) not in (int, float) or not 0 <= took < math.inf:
        raise ValueError(f"it took {shown(took)} s")
    if not isinstance(rows, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in rows):
        raise ValueError("its rows are not pairs of a case and a row")
    for k, row in rows:
        if type(k) is not int or not 0 <= k < count:
            raise ValueError("it has cases that are none")
        if not isinstance(row, dict) or not isinstance(row.get("status"), str) or not all(
                value is None or isinstance(value, SCALARS) for value in row.values()):  # fmt: skip
            raise ValueError("it has rows that are none")
    return took, dict(rows)


def _name_of(body: bytes) -> str:
    return ROWS.replace("*", hashlib.sha256(body).hexdigest()[:24])


# ---- what a sweep measures of the run of a robot: a row of numbers -----------------------------------------


#: A robot: a system, or the name or the file of one.
Robot = str | os.PathLike[str] | System
#: Arguments of ``simulate`` that a case cannot have.
REFUSED = {"p0", "q1", "progress", "monitors", "dense", "resume", "options"}
#: Arguments of the start.
START = {"q0", "v0", "speed", "seed"}
#: Units of columns.
UNITS = {
    "dt": "s", "duration": "s", "t0": "s", "t_end": "s", "energy_change": "J", "energy_error": "J",
    "energy_drift": "J/s", "constraint_error": "m or rad", "speed": "m/s or rad/s", "seconds": "s",
}  # fmt: skip
#: Columns of the results: of a run that fails all but the first are None.
RESULTS = (
    "t_end", "steps", "energy_change", "energy_error", "energy_drift", "constraint_error", "iterations_mean",
    "iterations_max", "halved", "warnings", "state",
)  # fmt: skip


class CaseRunner:
    """Runs of robots: what a sweep calls, and what it can be sent with.

    Parameters
    ----------
    values : dict of dicts
        As in :class:`vitree.run.tasks.Cases`.
    same : dict
        Arguments that all cases have.
    """

    def __init__(self, values: Values, same: Mapping[str, object]):
        self.values, self.same = values, same

    def __call__(self, k: int, labels: JsonObject) -> JsonObject:
        """Return the results of a case by its labels."""
        own = {name: self.values.get(name, {}).get(x, x) for name, x in labels.items() if x is not None}
        given: Keywords = {**self.same, **own}
        system = given.pop("robot")
        (method, options), known = _method(system, given.pop("method", None))
        start = {name: given.pop(name) for name in START & given.keys()}
        given = {name: x for name, x in given.items() if name in ARGUMENTS or name in known}
        q0, v0 = start_of(system, on_ground=getattr(system, "ground", None) is not None, **start)
        arguments = RunArguments(q0=q0, v0=v0, method=method).but(**{**given, **options})
        return _row(system, arguments)

    @staticmethod
    def failed(error: Exception) -> JsonObject:
        """Return the results of a case that raised an error: the time [s] at which it ended, if it has one."""
        time = getattr(error, "time", None)
        return dict.fromkeys(RESULTS) | {"t_end": None if time is None else float(time)}

    def stops(self, error: Exception, labels: JsonObject) -> bool:
        """Return whether an error is of an argument that all cases have in common."""
        common = isinstance(error, VitreeError) and error.argument in self.same and error.argument not in labels
        return common and type(error) in (InputError, UnknownNameError)


def _row(system: System, given: RunArguments) -> JsonObject:
    """Run one case, and measure it."""
    traj = run(system, given)
    errors = series_against(system, traj, None, system.is_conservative and not given.driven)
    t = errors.t - errors.t.mean()
    with np.errstate(over="ignore", invalid="ignore"):
        slope = t @ (errors.energy - errors.energy.mean()) / (t @ t) if len(t) > 1 else NAN
    solves = traj.iterations_total or "tolerance" in system.methods[traj.method].options
    return {
        "t_end": float(traj.t[-1]), "steps": int(traj.steps),
        "energy_change": float(traj.energy[-1] - traj.energy[0]), "energy_error": float(np.abs(errors.energy).max()),
        "energy_drift": float(slope),
        "constraint_error": float(np.abs(traj.constraint).max()) if system.constraints else NAN,
        "iterations_mean": traj.iterations_total / max(traj.steps, 1) if solves else NAN,
        "iterations_max": int(traj.iterations_max) if solves else None,
        "halved": int(traj.settings.get("halved", 0)), "warnings": len(traj.warnings),
        "state": hashlib.sha256(traj.q[-1].tobytes() + traj.v[-1].tobytes()).hexdigest()[:16],
    }  # fmt: skip


# ---- from arguments ---------------------------------------------------------------------------------------


def cases_of_robots(what: object, over: object, same: Mapping[str, object], seed: int) -> tuple[Cases, CaseRunner]:
    """Return the cases of robots, and what runs them.

    An option that the method of a case does not take is left out of the case, and a case that is then there twice is
    run once. Raises an InputError or UnknownNameError if an argument is wrong.
    """
    robots, given = _robots(what), cases_of(over)
    for name in (*given.names, *same):
        if name in REFUSED or name == "robot":
            raise InputError(f'"{name}" is nothing that a case of a sweep can have; leave it out')
    same = {"seed": seed, **same}
    pairs: Values = {}
    if isinstance(same.get("method"), tuple):  # a method and its options
        label, pair = labelled("method", same["method"])
        same["method"] = label
        pairs = {"method": {label: pair}} if pair is not None else {}
    given = Cases(given.names, given.rows, {**pairs, **given.values}, given.axes)
    usual = [name for name in ("method", "dt", "seed") if name not in given.names]
    first = ("robot", *(name for name in usual if name == "method"))
    names = (*first, *given.names, *(name for name in usual if name not in first))
    options = {name for name in (*given.names, *same) if name not in ARGUMENTS and name not in START}
    taken: set[str] = set()
    rows: dict[tuple[object, ...], JsonObject] = {}
    for label, system in robots.items():
        for own in given.rows:
            fixed = given.arguments({name: x for name, x in same.items() if name == "method"})
            values = {**same, **fixed, **given.arguments({name: x for name, x in own.items() if x is not None})}
            method, known = _method(system, values.get("method"))
            taken |= options & known.keys()
            _require_steps(values, {**values, **method[1]}.get("adapt") is not None)
            row = {"robot": label, **dict.fromkeys(given.names), **own}
            row |= {name: x if isinstance(x := plain_scalar(same.get(name)), SCALARS) else None for name in usual}
            row |= {name: None for name in options.intersection(row) if name not in known}
            if row["method"] is None:
                row["method"] = method[0]
            rows.setdefault(tuple((type(x), x) for x in row.values()), row)
    for name in sorted(options - taken):
        choices = {x for system in robots.values() for kind in system.methods.values() for x in kind.options}
        if name not in choices:
            raise UnknownNameError("option", name, sorted(choices | (ARGUMENTS - REFUSED) | START), argument=name)
        raise InputError(name, same.get(name, ...), "is an option of no method of this sweep; leave it out")
    full = given.axes is not None and len(rows) == len(robots) * len(given.rows)
    axes: dict[str, list[Label]] | None = {"robot": list(robots), **(given.axes or {})} if full else None
    values = {**given.values, "robot": robots}
    return Cases(names, [{name: row[name] for name in names} for row in rows.values()], values, axes), CaseRunner(
        values, same
    )


def _robots(what: object) -> dict[str, System]:
    """Return systems by the labels of robots: names, files, systems, or a mapping of labels to these."""
    if isinstance(what, str | os.PathLike | System):
        what = [what]
    if isinstance(what, Mapping):
        return {str(label): _loaded(x) for label, x in what.items()}
    needed = "a function, a robot, a sequence of robots, or a mapping of labels to robots"
    found: dict[str, System] = {}
    for robot in several(what, "what", needed):
        system = _loaded(robot)
        label = system.name if isinstance(robot, System) else os.fspath(robot)
        if label in found:
            raise InputError(f'what has "{label}" twice; give a mapping of labels to robots')
        found[label] = system
    if not found:
        raise InputError(f"what must be {needed}; it is empty")
    return found


def _loaded(robot: object) -> System:
    """Return the system of a robot; one given by a name or file has the base that :func:`suggest_base` finds."""
    from vitree.mjcf import load_mjcf
    from vitree.mjcf.files import is_mjcf
    from vitree.sdf.reader import is_sdf, load_sdf
    from vitree.tree.sexpr import load_sexpr
    from vitree.urdf import load_urdf
    from vitree.urdf.robots import find_robot, suggest_base

    if isinstance(robot, System):
        return robot
    if not isinstance(robot, str | os.PathLike):
        raise InputError(f"what has {shown(robot)}, which is no robot's name, no file and no system")
    if os.fspath(robot).endswith(".sexpr"):
        return load_sexpr(robot)
    path = find_robot(robot)
    if is_mjcf(path):
        return load_mjcf(path, contacts=False, limits="report")
    if is_sdf(path):
        return load_sdf(path, contacts=False, limits="report")
    return load_urdf(path, base=suggest_base(path))


def _method(system: System, method: object) -> tuple[tuple[str, Mapping[str, object]], Mapping[str, str]]:
    """Return a method of a system as (name, options), and the options that it takes."""
    name, options = _pair(method, next(iter(system.methods)))
    if name not in system.methods:
        raise UnknownNameError("method", name, system.methods, argument="method")
    known = system.methods[name].options
    for option in options:
        if option not in known and option not in ARGUMENTS:
            raise UnknownNameError(f"option of the method {name}", option, known, argument=option)
    return (name, options), known


def _pair(method: Any, usual: str) -> tuple[str, Mapping[str, object]]:
    if method is None:
        return usual, {}
    if isinstance(method, str):
        return method, {}
    try:
        name, options = method
        if isinstance(name, str) and isinstance(options, Mapping):
            return name, options
    except (TypeError, ValueError):
        pass
    raise InputError("method", method, f"is {shown(method)}; give a name, or a pair (name, options)")


def _require_steps(values: Keywords, adaptive: bool) -> None:
    """Raise an InputError if a run has no duration, no step, or no whole number of steps."""
    dt = values.get("dt")
    several_steps = axes_of(dt) > 0
    if dt is None or (values.get("duration") is None and not several_steps):
        raise InputError("dt and duration must be given, for all cases or in each")
    if not adaptive and not isinstance(dt, str) and not several_steps:
        count_steps(values["duration"], dt)


# ---- sweep(): many runs in one table, on all cores or on a cluster, resumable ------------------------------


def sweep(
    what: Callable[..., Mapping[str, object]] | Robot | Iterable[Robot] | Mapping[str, Robot],
    over: Mapping[str, object] | Iterable[Mapping[str, object]] | None = None,
    *,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    backend: str = "processes",
    workers: int | None = None,
    timings: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **same: object,
) -> Sweep:
    """Run many cases, and return a table with a row for each.

    The table does not depend on the backend, the number of workers or the order in which cases end, to the last bit. A
    case that fails has a row with the reason, and the others go on.

    Parameters
    ----------
    what : callable, robots, or one robot
        A function that takes the values of a case as keyword arguments, and returns a mapping of names to numbers or
        texts; the names are others than those of the case, status, reason and seconds. Or robots, which are simulated:
        names or files as of :func:`vitree.find_robot`, systems, or a mapping of labels to these. A robot given by its
        name or file has a free base if it has two limbs or more on its root link, else a fixed one. Give a system to
        have it otherwise.
    over : mapping, or sequence of mappings, optional
        A grid: the values of each axis by its name; the last axis varies fastest. Values are numbers or texts. Those of
        other kinds have labels: a mapping of labels to values is an axis, too. Instead of a grid: a sequence of cases,
        each a mapping of names to values.
    seed : int
        Of a function: where the random numbers of all cases come from. A function with an argument ``rng`` gets
        another generator for each case, and one with an argument ``seed`` another number, which is in the table.
        They follow from this seed and the place of the case in ``over``. Of robots: the seed of the start, if ``over``
        has no axis ``seed``.
    folder : path, optional
        Where rows are kept while the sweep runs. A sweep that was killed and is called again with the same arguments
        takes what is there, and runs the rest. A folder of another sweep is refused. Rows of failed cases are kept,
        too.
    backend : {"processes", "threads", "dask", "ray"}
        By joblib. "dask" takes the current client of Dask, "ray" the cluster of ``ray.init``. "threads" pays for
        functions that spend their time in compiled code, as runs without callables do.
    workers : int, optional
        How many processes, threads or actors; all cores if not given. Dask has its own number.
    timings : bool
        Have a column ``seconds``, the time of each case [s], which is not the same from sweep to sweep.
    progress : callable (done, total), optional
        Called with the number of cases whenever a task ends, about twice a second for each worker.
    **same
        Arguments that all cases have. Of robots: ``duration`` and ``dt`` [s], ``method``, others of
        :func:`vitree.simulate` and options of methods; ``q0`` is "neutral", "random" or an array (nq,) [m or rad], and
        ``v0`` is "random", "zero" or an array (nv,) [m/s or rad/s]. Random configurations are within the limits of the
        joints, and entries of random velocities normal with the deviation ``speed``, 1 if not given [rad/s and m/s].
        Both follow from the seed as those of ``vitree simulate`` do. Each of these can be an axis of ``over``, too. A
        value of the axis ``method`` may be a pair (name, options). An option that the method of a case does not take
        is left out of the case.

    Returns
    -------
    Sweep
        Of robots: ``t_end`` [s], the end of the run or the time of its failure; ``steps``; ``energy_change`` [J] from
        start to end; ``energy_error`` [J], the largest difference from the start at a record, and ``energy_drift``
        [J/s], its least-squares slope, both NaN where damping, friction, contacts or drives change the energy;
        ``constraint_error`` [m or rad], the largest, NaN without constraints; ``iterations_mean`` and
        ``iterations_max`` of a step; ``halved`` steps; the number of ``warnings``; and ``state``, a digest of the last
        q and v: equal digests are equal bits.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong, the function cannot be sent to other processes, or the folder cannot be used.
    MissingExtraError
        If a package is not installed.
    VitreeError
        If workers end before their time, as by a lack of memory. Rows that are in the folder stay there.
    KeyboardInterrupt
        With the rows that were finished as its attribute ``sweep``.
    """
    count = check_backend(backend, workers)
    seed = require_seed(seed)
    if timings is not True and timings is not False:
        raise InputError("timings", timings, "must be True or False")
    if progress is not None and not callable(progress):
        raise InputError("progress", progress, "must be a callable (done, total)")
    function: CaseRunner | _Called
    if callable(what) and not isinstance(what, System):
        cases, function = _cases_of_function(what, over, same, seed)
        units = {"seconds": "s"}
    else:
        cases, function = cases_of_robots(what, over, same, seed)
        units = UNITS
    called = isinstance(function, _Called)
    definition = {
        "what": digest(what) if called else digest(cases.values["robot"]), "vitree": __version__,
        "over": digest((cases.names, cases.rows, cases.values)), "same": digest(same), "seed": str(seed),
        "timings": str(timings),
    }  # fmt: skip
    settings = {
        "what": getattr(what, "__qualname__", type(what).__qualname__) if called else list(cases.values["robot"]),
        "axes": cases.axes, "same": plain(same), "seed": seed, "cases": len(cases.rows), "digests": definition,
    }  # fmt: skip
    told_progress = None if progress is None else Asked(progress, "progress", "(done, total)", timed=False)
    with contextlib.ExitStack() as stack:
        store = None if folder is None else stack.enter_context(Folder(folder, definition, len(cases.rows)))
        rows = {} if store is None else dict(store.rows)
        notes = () if store is None else _notes(store, len(cases.rows))

        def take(done: Done) -> None:
            rows.update(done.rows)
            if store is not None:
                store.write(done.rows, done.first + done.others)
            if told_progress is not None:
                told_progress(len(rows), len(cases.rows))

        def table() -> Sweep:
            return _table(cases, rows, units, json.loads(without_addresses(json.dumps(plain(settings)))), notes)

        waiting = [(k, row) for k, row in enumerate(cases.rows) if k not in rows]
        try:
            if waiting:
                run_tasks(function, waiting, backend=backend, workers=count, timings=timings, take=take,
                          pace=(0.0, 0) if store is None else store.pace)  # fmt: skip
        except KeyboardInterrupt as interrupt:
            interrupt.sweep = table()  # type: ignore[attr-defined]
            raise
        except VitreeError as error:
            if store is not None and type(error) is VitreeError:
                error.args = (f"{error}; {len(rows)} of {len(cases.rows)} cases are in {store.path}, the same call "
                              "again runs the rest",)  # fmt: skip
            raise
        return table()


def _notes(store: Folder, count: int) -> tuple[str, ...]:
    """Say what was read from a folder."""
    notes = []
    if store.rows:
        notes.append(f"{len(store.rows)} of {count} rows were in {store.path}.")
    if store.damaged:
        notes.append(f"Damaged files in {store.path}: {store.damaged}; their cases were run again.")
    return tuple(notes)


def _table(cases: Cases, rows: Mapping[int, JsonObject], units: Mapping[str, str], settings: JsonObject,
           notes: tuple[str, ...]) -> Sweep:  # fmt: skip
    """Put labels and results together, in the order of the cases."""
    done = [k for k in range(len(cases.rows)) if k in rows]
    results = dict.fromkeys(name for k in done for name in rows[k]) or {"status": None, "reason": None}
    last = [name for name in ("seconds",) if name in results]
    names = (*cases.names, *(name for name in results if name not in (*last, *cases.names)), *last)
    table = [{name: rows[k].get(name, cases.rows[k].get(name)) for name in names} for k in done]
    whole_grid = cases.axes is not None and len(done) == len(cases.rows)
    return Sweep(
        names=names, table=table, units={name: units[name] for name in names if name in units},
        axes=cases.axes if whole_grid else None, settings=settings, notes=notes,
    )  # fmt: skip


# ---- functions ------------------------------------------------------------------------------------------------


class _Called:
    """A function of the caller's, as a sweep calls it."""

    def __init__(self, function: Callable[..., Mapping[str, object]], cases: Cases, same: Mapping[str, object],
                 seed: int, asks: frozenset[str]):  # fmt: skip
        self.function, self.values, self.same, self.seed, self.asks = function, cases.values, same, seed, asks

    def __call__(self, k: int, labels: JsonObject) -> Mapping[str, object]:
        given = {name: self.values.get(name, {}).get(x, x) for name, x in labels.items()}
        if "rng" in self.asks:
            given["rng"] = np.random.default_rng(_sequence(self.seed, k))
        return self.function(**self.same, **given)


def _sequence(seed: int, k: int) -> np.random.SeedSequence:
    """The k-th child of a seed, the same as ``SeedSequence(seed).spawn(k + 1)[k]``."""
    return np.random.SeedSequence(seed, spawn_key=(k,))


def _cases_of_function(
    what: Callable[..., Mapping[str, object]], over: object, same: Mapping[str, object], seed: int
) -> tuple[Cases, _Called]:
    """Return the cases of a function, and what calls it; raise an InputError if the function does not take them."""
    cases = cases_of(over)
    for name in cases.names:
        if name in same:
            raise InputError(name, same[name], f'is in over["{name}"], too; give it once')
    try:
        signature = inspect.signature(what)
    except (TypeError, ValueError):  # some builtins have none
        signature = None
    asks: frozenset[str] = frozenset()
    if signature is not None:
        takes = {x.name for x in signature.parameters.values() if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)}
        asks = frozenset({"rng", "seed"} & takes - {*cases.names, *same})
        for keys in {tuple(row) for row in cases.rows}:
            try:
                signature.bind(**dict.fromkeys([*same, *keys, *asks]))
            except TypeError as error:
                raise InputError(
                    "what", what, f"is {shown(what)}, which cannot be called with the cases: {told(error)}"
                ) from None
    if "seed" in asks:
        for k, row in enumerate(cases.rows):  # of 63 bits, as files hold it
            row["seed"] = int(_sequence(seed, k).generate_state(1, np.uint64)[0] >> np.uint64(1))
        cases = Cases((*cases.names, "seed"), cases.rows, cases.values, cases.axes)
    return cases, _Called(what, cases, dict(same), seed, asks)
