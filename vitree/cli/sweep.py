"""The command that runs many cases: sweep."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Optional, TypeVar

from vitree.arguments import Keywords
from vitree.cli.base import Force, Json, option
from vitree.cli.console import Bar, check_writable, out, say, wrote
from vitree.cli.names import METHOD_NAMES, METHOD_OPTIONS, methods, one_of
from vitree.cli.options import Robots, Run, Start, pairs_of, value_of
from vitree.cli.run import jobs_of, step_of
from vitree.errors import InputError, MissingExtraError
from vitree.model.system import System
from vitree.run.controller import Control

try:
    import typer
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]

#: Backends, as ``vitree.run.tasks.BACKENDS`` has them.
BACKENDS = ("processes", "threads", "dask", "ray")
#: What may vary by --set beside options of methods.
VARIED = ("duration", "record_every", "speed")


def sweep(
    robots: Robots,
    run: Run,
    start: Start,
    methods: Annotated[
        Optional[str],  # noqa: UP045 (older Typer)
        option(
            "--methods",
            "-m",
            text="Methods separated by commas, each NAME, NAME:SOLVER, NAME:order=4 or NAME:SOLVER:order=4; "
            f"NAME is one of {METHOD_NAMES}. Default: linear-time, for vehicles lie.",
            complete=methods,
        ),
    ] = None,
    dt: Annotated[
        str, option("--dt", text="Time steps, in s, separated by commas. auto: one is chosen for each run.")
    ] = "0.001",
    seeds: Annotated[
        int, option("--seeds", text="Number of random starts: with the seed --seed and those after it.")
    ] = 1,
    varied: Annotated[
        Optional[list[str]],  # noqa: UP045
        option(
            "--set",
            text="Option to vary, as NAME=VALUE,VALUE,...; may be repeated. NAME is an option of a method, as for "
            f"--option, or one of {', '.join(VARIED)}.",
            complete=one_of(*(f"{name}=" for name in (*METHOD_OPTIONS, *VARIED))),
        ),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        option("--output", "-o", text="Output file of the table (.csv, .parquet, .nc or .json)."),
    ] = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        option(
            "--folder",
            text="Folder for the finished rows while the sweep runs, so that the same command resumes an interrupted "
            "sweep. Default: OUTPUT.rows, which is removed at the end; a folder that is given is kept.",
        ),
    ] = None,
    backend: Annotated[
        str,
        option("--backend", text="Backend of the sweep: processes, threads, dask or ray.", complete=one_of(*BACKENDS)),
    ] = "processes",
    workers: Annotated[
        Optional[int],  # noqa: UP045
        option("--workers", text="Number of processes, threads or actors. Default: one per core."),
    ] = None,
    cluster: Annotated[
        Optional[str],  # noqa: UP045
        option("--cluster", text="Address of the cluster for --backend dask or ray. Default: a local one is started."),
    ] = None,
    timings: Annotated[bool, option("--timings", text="Add a column of computing times, in s.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run all combinations of robots, methods, steps, options and seeds."""
    from vitree.run.sweep import remove_folder, sweep

    if output is not None:
        check_writable("--output", output, ".csv", ".parquet", ".nc", ".json", force=force)
    if cluster is not None and backend not in ("dask", "ray"):
        raise InputError(f"--cluster {cluster} requires --backend dask or ray; leave it out")
    if seeds < 1:
        raise InputError(f"--seeds {seeds} must be 1 or more; --seed is the first")
    named = dict.fromkeys(robots.robots)
    if len(named) < len(robots.robots):
        raise InputError(f"{', '.join(robots.robots)}: a robot is there twice; name each once")
    systems = {name: run.system_of(robots, name) for name in named}
    over, same = _axes(systems, run, start, methods, dt, seeds, varied or [])
    kept = folder if folder is not None or output is None else output.with_name(output.name + ".rows")
    with _cluster(backend, cluster, workers) as count, Bar(run.progress) as bar:
        try:
            result = sweep(
                systems, over, seed=start.seed, folder=kept, backend=backend, workers=count, timings=timings,
                progress=lambda done, total: bar(done, total, f"{total} runs"), **same,
            )  # fmt: skip
        except KeyboardInterrupt as interrupt:
            done = len(getattr(interrupt, "sweep", ()))
            goes_on = f" are in {kept}; the same command runs the rest" if kept is not None else " are lost"
            say(f"interrupted; {done} finished runs{goes_on}")
            raise typer.Exit(130) from None
    if output is not None:
        text = wrote(output)
        result.save(output)
        say(text)
        if folder is None and kept is not None:
            remove_folder(kept)
    out(result.to_json() if as_json else result)
    for note in result.notes if as_json else ():
        say(note)


def _axes(systems: Mapping[str, System], run: Run, start: Start, methods: str | None, dt: str, seeds: int,
          varied: list[str]) -> tuple[Keywords, Keywords]:  # fmt: skip
    """Return what varies, and what all runs have in common."""
    q0, v0 = start.given()
    same: Keywords = {"duration": run.duration, "record_every": run.record_every, "q0": q0, "v0": v0,
                      "speed": start.speed}  # fmt: skip
    if (inputs := run.driven()) is not None:
        same["control"] = Control(inputs=inputs)
    over: Keywords = {}
    if methods is None:
        same |= run.chosen()
    else:
        jobs = [jobs_of(methods, system, run) for system in systems.values()]
        over["method"] = {label: job for each in jobs for label, job in each.items()}
    over["dt"] = _distinct("--dt", [step_of(part) for part in dt.split(",")])
    fixed = run.chosen()
    for name, text in pairs_of("--set", varied).items():
        if name in fixed:
            raise InputError(f"--set {name}= and --option {name}= or --{name} say the same; give one")
        same.pop(name, None)
        over[name] = _distinct(f"--set {name}=", [value_of(part.strip()) for part in text.split(",")])
    over["seed"] = range(start.seed, start.seed + seeds)
    return over, same


T = TypeVar("T")


def _distinct(option: str, values: list[T]) -> list[T]:
    for k, value in enumerate(values):
        if value in values[:k]:
            raise InputError(f"{option} has {value} twice; give each value once")
    return values


@contextlib.contextmanager
def _cluster(backend: str, address: str | None, workers: int | None) -> Iterator[int | None]:
    """Have a cluster of Dask or Ray, ours if there is no address; return the number of workers to ask for."""
    if backend == "dask":
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("distributed", "dask", "a sweep by Dask") from None
        own: Keywords = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        try:
            client = Client(address) if address is not None else Client(**own)
        except (OSError, ValueError) as error:
            raise InputError(f"--cluster {address}: no cluster of Dask answers there ({error})") from None
        with client:
            yield None
    elif backend == "ray":
        try:
            import ray
        except ImportError:
            raise MissingExtraError("ray", "ray", "a sweep by Ray") from None
        own = {"num_cpus": workers, "include_dashboard": False} if address is None else {"address": address}
        try:
            ray.init(**own, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError) as error:
            raise InputError(f"--cluster {address}: no cluster of Ray answers there ({error})") from None
        try:
            yield workers
        finally:
            ray.shutdown()
    else:
        yield workers
