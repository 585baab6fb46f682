"""sweep(): many runs in one table, on all cores or on a cluster, resumable."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from vitree.arguments import Asked, shown, told
from vitree.errors import InputError, VitreeError
from vitree.model.system import System
from vitree.results.plain import plain
from vitree.results.sweep import Sweep
from vitree.run.cases import Cases, cases_of, digest, without_addresses
from vitree.run.chunks import Folder
from vitree.run.measured import UNITS, cases_of_robots
from vitree.run.starts import require_seed
from vitree.run.tasks import Done, check_backend, run_tasks
from vitree.version import __version__


def sweep(
    what: Callable[..., Mapping] | str | os.PathLike | System | Iterable | Mapping,
    over: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
    *,
    seed: int = 0,
    folder: str | os.PathLike | None = None,
    backend: str = "processes",
    workers: int | None = None,
    timings: bool = False,
    progress: Callable[[int, int], Any] | None = None,
    **same: Any,
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
        Of a function: where the random numbers of all cases come from. A function that has an argument ``rng`` gets a
        generator of its own for each case, and one with an argument ``seed`` a number of its own, which the table has.
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
    function: Any
    called = callable(what) and not isinstance(what, System)
    if called:
        cases, function = _cases_of_function(what, over, same, seed)
        units = {"seconds": "s"}
    else:
        cases, function = cases_of_robots(what, over, same, seed)
        units = UNITS
    definition = {
        "what": digest(what) if called else digest(cases.values["robot"]), "vitree": __version__,
        "over": digest((cases.names, cases.rows, cases.values)), "same": digest(same), "seed": str(seed),
        "timings": str(timings),
    }  # fmt: skip
    settings = {
        "what": getattr(what, "__qualname__", type(what).__qualname__) if called else list(function.robots),
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


def _table(cases: Cases, rows: Mapping[int, Mapping[str, Any]], units: Mapping[str, str], settings: dict[str, Any],
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

    def __init__(self, function: Callable[..., Mapping], cases: Cases, same: Mapping[str, Any], seed: int,
                 asks: frozenset[str]):  # fmt: skip
        self.function, self.values, self.same, self.seed, self.asks = function, cases.values, same, seed, asks

    def __call__(self, k: int, labels: Mapping[str, Any]) -> Mapping[str, Any]:
        given = {name: self.values.get(name, {}).get(x, x) for name, x in labels.items()}
        if "rng" in self.asks:
            given["rng"] = np.random.default_rng(_sequence(self.seed, k))
        return self.function(**self.same, **given)


def _sequence(seed: int, k: int) -> np.random.SeedSequence:
    """The k-th child of a seed, the same as ``SeedSequence(seed).spawn(k + 1)[k]``."""
    return np.random.SeedSequence(seed, spawn_key=(k,))


def _cases_of_function(what: Any, over: Any, same: Mapping[str, Any], seed: int) -> tuple[Cases, _Called]:
    """Return the cases of a function, and what calls it.

    Raises
    ------
    InputError
        If the function does not take them.
    """
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
