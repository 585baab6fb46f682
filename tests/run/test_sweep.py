"""Sweeps: one table, whatever runs the cases, in whatever order, and however often they were killed."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types
from collections import Counter

import numpy as np
import pytest

import vitree as vt
from vitree.cli.options import Start
from vitree.errors import InputError
from vitree.run import tasks
from vitree.run.sweep import LOCK, MANIFEST, ROWS, Folder
from vitree.run.tasks import AIM, Done, Queue, cases_of, digest

sweep_module = importlib.import_module("vitree.run.sweep")
pytest.importorskip("joblib")
pytest.importorskip("cloudpickle")

GRID = {"method": ["linear-time", ("midpoint", {"order": 4}), "rk4"], "dt": [0.02, 0.01], "seed": range(3)}


def swept(**options):
    return vt.sweep(["pendulum", "double_pendulum"], GRID, **{"duration": 0.04, "backend": "threads"} | options)


@pytest.fixture(scope="module")
def table():
    return swept(workers=1).to_csv()


MIXED = vt.Sweep(names=("x", "status", "reason"), table=[{"x": 1, "status": "ok", "reason": None}])


def noisy(x, rng, seed=None):
    return {"y": x * rng.random(), "seed_": seed}


# ---- cases --------------------------------------------------------------------------------------------------


def test_the_last_axis_varies_fastest():
    cases = cases_of({"a": [1, 2], "b": ("x", "y", "z")})
    assert [tuple(row.values()) for row in cases.rows] == [(1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z")]
    assert cases.axes == {"a": [1, 2], "b": ["x", "y", "z"]}


def test_values_of_other_kinds_have_labels():
    start = np.array([0.1])
    result = vt.sweep(
        lambda start, gain: {"sum": start[0] + gain}, {"start": {"low": start, "high": start + 1}, "gain": [1, 2]},
        backend="threads",
    )  # fmt: skip
    assert [(row["start"], row["gain"], row["sum"]) for row in result] == [
        ("low", 1, 1.1), ("low", 2, 2.1), ("high", 1, 2.1), ("high", 2, 3.1),
    ]  # fmt: skip


def test_cases_may_be_a_list_and_have_different_names():
    def area(a, b=None):
        return {"area": a * (a if b is None else b)}

    result = vt.sweep(area, [{"a": 2}, {"a": 2, "b": 3}], backend="threads")
    assert [row["area"] for row in result] == [4, 6] and result.axes is None
    assert result.table[0]["b"] is None


@pytest.mark.parametrize(("over", "said"), [
    ({"a": []}, "empty"), ([], "empty"), ({"a": [1, 1]}, "twice"), ({"a": 3}, "sequence"), ({"a": "word"}, "sequence"),
    ({"a": [np.zeros(2)]}, "label"), ({"a b": [1]}, "argument"), ({"status": [1]}, "status"), (3, "mapping"),
    ({"b": [1]}, "cannot be called"), ([{"a": 1}, 3], "mapping"),
])  # fmt: skip
def test_wrong_cases_are_refused(over, said):
    with pytest.raises(vt.InputError, match=said):
        vt.sweep(lambda a: {}, over, backend="threads")


@pytest.mark.parametrize(("options", "name"), [
    ({"backend": "mpi"}, "backend"), ({"workers": 0}, "workers"), ({"workers": 1.5}, "workers"), ({"seed": -1}, "seed"),
    ({"workers": 2, "backend": "dask"}, "workers"), ({"timings": 1}, "timings"), ({"progress": 3}, "progress"),
    ({"folder": 3}, "folder"),
])  # fmt: skip
def test_wrong_options_are_named(options, name):
    with pytest.raises(vt.VitreeError) as caught:
        vt.sweep(noisy, {"x": [1]}, **{"backend": "threads"} | options)
    assert caught.value.argument == name


# ---- robots -------------------------------------------------------------------------------------------------


def test_rows_are_those_of_simulate(table):
    result = swept()
    assert len(result) == 36 and result.failed == 0 and result.to_csv() == table
    row = next(row for row in result if (row["robot"], row["method"], row["dt"], row["seed"]) ==
               ("double_pendulum", "midpoint (order=4)", 0.01, 2))  # fmt: skip
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    q, v = Start(seed=2).of(model)
    run = vt.simulate(model, q, v, duration=0.04, dt=0.01, method="midpoint", order=4)
    assert row["energy_change"] == run.energy[-1] - run.energy[0] and row["steps"] == 4
    assert row["iterations_mean"] == run.iterations_total / 4 and row["t_end"] == run.t[-1]
    assert row["energy_error"] == np.abs(run.energy - run.energy[0]).max()
    states = Counter(row["state"] for row in result)
    assert max(states.values()) == 1  # each run is another


def test_options_go_to_the_methods_that_take_them():
    result = vt.sweep(
        "pendulum", {"method": ["linear-time", "rk4"], "tolerance": [1e-6, 1e-10]}, duration=0.02, dt=0.01,
        backend="threads",
    )  # fmt: skip
    assert [(row["method"], row["tolerance"]) for row in result] == [
        ("linear-time", 1e-6), ("linear-time", 1e-10), ("rk4", None),
    ]  # fmt: skip


def test_what_all_cases_have_in_common_may_be_of_any_kind():
    model = vt.load_urdf(vt.find_robot("pendulum"))
    one, two = vt.sweep(
        model, {"v0": {"still": [0.0], "fast": [9.0]}}, q0=[1.0], method=("midpoint", {"order": 4}),
        dt=np.array([0.01, 0.02]), control=lambda t, q, v: -v, backend="threads",
    )  # fmt: skip
    run = vt.simulate(model, [1.0], [9.0], method="midpoint", order=4, dt=[0.01, 0.02], control=lambda t, q, v: -v)
    assert one["method"] == "midpoint (order=4)" and one["dt"] is None and one["steps"] == 2
    assert two["energy_change"] == run.energy[-1] - run.energy[0] and np.isnan(two["energy_error"])


@pytest.mark.parametrize(("over", "same", "said"), [
    ({"method": ["rk44"]}, {}, "rk44"), ({"method": [("rk4", {"tolerance": 1})]}, {}, "tolerance"),
    ({"tolerence": [1e-6]}, {}, "tolerance"), ({"method": ["rk4"], "tolerance": [1e-6]}, {}, "no method"),
    ({}, {"dt": 0.03}, "whole number of steps"), ({}, {"q1": [0]}, "q1"), ({"robot": ["arm6"]}, {}, "robot"),
    ({}, {"duration": None}, "duration"), ({}, {"speed": np.nan}, "speed"), ({}, {"record_every": 0}, "every"),
    ({}, {"solver": "newtn"}, "newton"),
])  # fmt: skip
def test_wrong_robots_are_refused(over, same, said):
    with pytest.raises(vt.VitreeError, match=said):
        vt.sweep("pendulum", over, **{"duration": 0.1, "dt": 0.01, "backend": "threads"} | same)
    with pytest.raises(vt.UnknownNameError):
        vt.sweep("pendulumm", duration=0.1, dt=0.01)


def test_models_with_labels_and_random_starts():
    def arm(damping):
        tree = vt.Tree("arm")
        tree.world.add(vt.rx("hinge", damping=damping, lower=-1, upper=1), vt.tz(-1), vt.body("bob", 1.0))
        return tree.compile()

    result = vt.sweep(
        {"soft": arm(0.0), "stiff": arm(5.0)}, {"seed": range(4)}, q0="random", v0="zero", duration=0.1, dt=0.01,
        backend="threads",
    )  # fmt: skip
    change = result.column("energy_change").reshape(2, 4)
    assert (change[1] < -100 * np.abs(change[0])).all()  # nothing but damping takes energy
    assert np.isnan(result.column("energy_error")[4:]).all()  # nothing keeps the energy with damping


def test_a_failed_run_has_a_row_and_the_others_go_on():
    spins = {"slow": [0.0, 1.0], "fast": [0.0, 4000.0]}
    result = vt.sweep("double_pendulum", {"v0": spins}, max_halvings=0, duration=0.1, dt=0.01, backend="threads")
    slow, fast = result
    assert slow["status"] == "ok" and slow["reason"] is None
    assert fast["status"] == "failed" and "ConvergenceError" in fast["reason"] and fast["t_end"] == 0.0
    assert fast["energy_error"] is None and result.failed == 1


# ---- functions ----------------------------------------------------------------------------------------------


def test_random_numbers_belong_to_cases():
    result = vt.sweep(noisy, {"x": range(1, 6)}, seed=3, backend="threads")
    children = np.random.SeedSequence(3).spawn(5)
    assert [row["y"] for row in result] == [k * np.random.default_rng(s).random() for k, s in enumerate(children, 1)]
    assert len({row["seed"] for row in result}) == 5 and all(row["seed_"] == row["seed"] for row in result)
    assert vt.sweep(noisy, {"x": range(1, 6)}, seed=4, backend="threads").to_csv() != result.to_csv()
    given = vt.sweep(noisy, {"x": [1], "seed": [5]}, backend="threads")
    assert given.table[0]["seed_"] == 5


def test_failures_tell_the_reason():
    def odd(x):
        if x == 1:
            raise RuntimeError(f"no {object()}")
        return {0: {"fine": 1}, 2: 3, 3: {"x": 1}, 4: {"y": [1]}, 5: {1: 2}, 6: {"fine": np.float32(0.5)}}[x]

    result = vt.sweep(odd, {"x": range(7)}, backend="threads")
    assert [row["status"] for row in result] == ["ok", *5 * ["failed"], "ok"]
    assert result.table[1]["reason"] == "RuntimeError: no <object object>"  # no address
    for k, words in ((2, "mapping"), (3, "another column"), (4, "number or a text"), (5, "no text")):
        assert words in result.table[k]["reason"]
    assert [row["fine"] for row in result] == [1, *5 * [None], 0.5]


def test_progress_and_timings():
    calls = []
    result = vt.sweep(noisy, {"x": range(20)}, backend="threads", timings=True, progress=lambda *x: calls.append(x))
    assert calls[-1] == (20, 20) and calls == sorted(calls)
    assert (result.column("seconds") > 0).all() and result.names[-1] == "seconds" and result.units["seconds"] == "s"
    with pytest.raises(vt.CallableError, match="progress"):
        vt.sweep(noisy, {"x": range(20)}, backend="threads", progress=lambda done, total: 1 / 0)


# ---- the table ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    def f(x, y):
        return {"whole": x, "half": x / 2, "large": 2**40 + x, "huge": 2**70, "text": "ü,\n"[x], "yes": x > 0,
                "some": x or None}  # fmt: skip

    return vt.sweep(f, {"x": [0, 1], "y": ["a", "b"]}, backend="threads")


def test_columns_have_types(mixed):
    kinds = {name: mixed.column(name).dtype.kind for name in mixed.names}
    assert kinds == {"x": "i", "y": "U", "status": "U", "reason": "U", "whole": "i", "half": "f", "large": "i",
                     "huge": "U", "text": "U", "yes": "b", "some": "f"}  # fmt: skip
    with pytest.raises(vt.UnknownNameError, match="whole"):
        mixed.column("wholes")


def test_datasets_have_the_axes_as_dimensions(mixed):
    pytest.importorskip("xarray")
    dataset = mixed.to_xarray()
    assert dict(dataset.sizes) == {"x": 2, "y": 2} and dataset.half.sel(x=1, y="b").item() == 0.5
    flat = vt.sweep(lambda x: {"y": x}, [{"x": 1}, {"x": 2}], backend="threads").to_xarray()
    assert flat.y.dims == ("case",) and flat.x.values.tolist() == [1, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "nc", "json"])
def test_files_are_equal_and_read_back(mixed, ending, tmp_path):
    for package in {"parquet": ["pyarrow", "pandas"], "nc": ["xarray"], "csv": ["pandas"]}.get(ending, []):
        pytest.importorskip(package)
    paths = [mixed.save(tmp_path / f"{k}.{ending}") for k in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if ending == "json":
        half = [row["half"] for row in json.loads(paths[0].read_text())["table"]]
    elif ending == "nc":
        import xarray

        with xarray.open_dataset(paths[0]) as dataset:
            half, large = dataset.half.values.ravel().tolist(), dataset.large.values.ravel().tolist()
        assert [str(x) for x in large] == [str(row["large"]) for row in mixed]
    else:
        import pandas

        read = pandas.read_csv if ending == "csv" else pandas.read_parquet
        half = read(paths[0]).half.tolist()
    assert half == [row["half"] for row in mixed]
    with pytest.raises(vt.InputError, match="must end"):
        mixed.save(tmp_path / "a.txt")


def test_long_tables_are_printed_in_part():
    result = vt.sweep(lambda x: {"y": x}, {"x": range(1000)}, backend="threads")
    assert len(str(result).splitlines()) < 40 and "1000 runs, 0 failed" in str(result) and "999" in str(result)
    assert "status" not in str(result)


# ---- chunks -------------------------------------------------------------------------------------------------


def drawn(pace, cases, first, workers=2):
    """Sizes of chunks of cases that take ``pace`` seconds each, where the first chunk measures them."""
    queue, sizes = Queue([(k, {}) for k in range(cases)], workers, (0.0, 0)), []
    while chunk := queue.draw():
        limit = AIM if queue.mean != queue.mean else tasks.MOST
        count = max(1, min(len(chunk), int(limit / pace)))
        sizes.append(count)
        queue.take(Done([(k, {}) for k, _ in chunk[:count]], first + pace, pace * (count - 1), chunk[count:]))
    return sizes


@pytest.mark.parametrize("pace", [1e-5, 1e-3, 0.02, 0.11, 5.0])
@pytest.mark.parametrize("first", [0.0, 2.0])
def test_tasks_take_at_least_a_tenth_of_a_second(pace, first):
    """All cases together may take less; none are lost."""
    cases = 4000 if pace > 1e-4 else 100_000
    sizes = drawn(pace, cases, first=first)
    assert sum(sizes) == cases
    assert all(0.099 <= size * pace <= max(1.0, pace) for size in sizes)


def test_tasks_end_in_time():
    """A chunk of slow cases leaves some, which are run by others."""
    count = Counter()

    def slow(x):
        count[x] += 1
        time.sleep(0.1 if x < 3 else 0.0)
        return {"x2": x}

    done = tasks.run_chunk(lambda k, labels: slow(**labels), [(k, {"x": k}) for k in range(10)], 0.15, False)
    assert len(done.rows) == 2 and [k for k, _ in done.left] == list(range(2, 10))
    result = vt.sweep(slow, {"x": range(10)}, backend="threads", workers=2)
    assert [row["x2"] for row in result] == list(range(10))


# ---- folders ------------------------------------------------------------------------------------------------


def test_a_folder_has_the_rows_and_the_table_is_the_same(table, tmp_path):
    first = swept(folder=tmp_path / "rows")
    assert first.to_csv() == table and first.notes == ()
    again = swept(folder=tmp_path / "rows", workers=1)
    assert again.to_csv() == table and again.notes == (f"36 of 36 rows were in {tmp_path / 'rows'}.",)


def test_only_what_is_missing_runs(tmp_path):
    count = Counter()

    def f(x):
        count["calls"] += 1
        return {"y": x / 7}

    run = lambda: vt.sweep(f, {"x": range(40)}, folder=tmp_path, backend="threads", workers=2)  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "AIM", 0.0)  # a case a task
        patch.setattr(tasks, "LEAST", 0.0)
        whole = run()
    files = sorted(tmp_path.glob(ROWS))
    assert len(files) > 5 and count["calls"] == 40
    files[0].unlink()
    torn = files[1].read_bytes()
    files[1].write_bytes(torn[: len(torn) // 2])
    files[2].write_bytes(files[2].read_bytes().replace(b"ok", b"OK"))
    files[3].write_bytes(b"")
    missing = 40 - sum(len(json.loads(x.read_bytes())["rows"]) for x in files[4:])
    count.clear()
    again = run()
    assert count["calls"] == missing and again.to_csv() == whole.to_csv()
    assert again.notes[1] == f"Damaged files in {tmp_path}: 3; their cases were run again."
    count.clear()
    assert run().to_csv() == whole.to_csv() and not count and len(run().notes) == 1


def changed_functions():
    def f(x):
        return {"y": x}

    def g(x):
        return {"y": x + 0}

    return f, g


@pytest.mark.parametrize(("change", "what"), [
    ({"what": changed_functions()[1]}, "what"), ({"over": {"x": [1, 3]}}, "over"), ({"seed": 1}, "seed"),
    ({"timings": True}, "timings"), ({"over": {"x": [1, 2, 3]}}, "count, over"),
])  # fmt: skip
def test_the_folder_of_another_sweep_is_refused(change, what, tmp_path):
    given = {"what": changed_functions()[0], "over": {"x": [1, 2]}, "folder": tmp_path, "backend": "threads"}
    vt.sweep(**given)
    with pytest.raises(vt.InputError, match=f"differs in {what};"):
        vt.sweep(**given | change)
    assert len(vt.sweep(**given)) == 2


def test_folders_of_other_things_are_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / MANIFEST).write_text("{")
    for folder, words in ((tmp_path, "other files"), (tmp_path / "odd", "cannot be read"),
                          (tmp_path / "letter.txt", "cannot be used")):  # fmt: skip
        with pytest.raises(vt.InputError, match=words) as caught:
            vt.sweep(noisy, {"x": [1]}, folder=folder, backend="threads")
        assert caught.value.argument == "folder"


def test_a_folder_serves_one_sweep_at_a_time(tmp_path):
    inside, leave = threading.Event(), threading.Event()

    def wait(x):
        inside.set()
        assert leave.wait(20)
        return {"y": x}

    found = []
    run = lambda: found.append(vt.sweep(wait, {"x": [1]}, folder=tmp_path, backend="threads"))  # noqa: E731
    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(20)
    with pytest.raises(vt.InputError, match="in use"):
        Folder(tmp_path, {}, 1)
    leave.set()
    thread.join()
    assert len(found[0]) == 1 and (tmp_path / LOCK).is_file()


def test_an_interrupted_sweep_has_its_rows(tmp_path):
    def stop(done, total):
        if done >= 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "AIM", 0.0)  # a case a task
        patch.setattr(tasks, "LEAST", 0.0)
        with pytest.raises(KeyboardInterrupt) as caught:
            vt.sweep(noisy, {"x": range(30)}, folder=tmp_path, backend="threads", workers=2, progress=stop)
    part = caught.value.sweep
    assert 3 <= len(part) < 30
    whole = vt.sweep(noisy, {"x": range(30)}, folder=tmp_path, backend="threads")
    assert whole.to_csv() == vt.sweep(noisy, {"x": range(30)}, backend="threads").to_csv()
    assert set(part.to_csv().splitlines()) < set(whole.to_csv().splitlines())


def test_digests_tell_values_apart_and_not_processes():
    values = [1, 1.0, True, "1", None, [1], np.ones(1), np.ones(2), {"a": 1}, {"a": 2}, noisy, digest, vt.Model,
              lambda x: x, lambda x: -x, vt.vehicles.car(), np.random.default_rng]  # fmt: skip
    assert len({digest(x) for x in values}) == len(values)
    code = "import numpy as np, vitree as vt; from vitree.run.tasks import digest; "
    code += "print(digest([1, {'b': 2, 'a': {3, 'x', 'y'}}, np.arange(3.0), vt.sweep, vt.vehicles.car(), object()]))"
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(vt.__file__).parent.parent)}
    told = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env=environment | {"PYTHONHASHSEED": k}).stdout for k in ("0", "1")}  # fmt: skip
    assert len(told) == 1


# ---- other processes ----------------------------------------------------------------------------------------


def test_processes_give_the_same_table(table, tmp_path):
    assert swept(backend="processes", workers=2, folder=tmp_path).to_csv() == table
    bound = 3

    def local(x, rng):
        return {"y": bound * x + rng.random()}

    some = {"x": range(50)}
    assert vt.sweep(local, some, workers=2).to_csv() == vt.sweep(local, some, backend="threads", workers=1).to_csv()
    lock = threading.Lock()
    with pytest.raises(vt.InputError, match="cannot be sent"):
        vt.sweep(lambda x: {"y": lock.locked()}, {"x": [1]})


def test_dead_workers_are_told(tmp_path):
    def dies(x):
        if x == 5:
            os._exit(3)
        return {"y": x}

    with pytest.raises(vt.VitreeError, match="workers ended before their time") as caught:
        vt.sweep(dies, {"x": range(8)}, workers=2, folder=tmp_path)
    assert "the same call again runs the rest" in str(caught.value)


@pytest.mark.parametrize(("module", "extra", "call"), [
    ("joblib", "sweep", lambda: vt.sweep(noisy, {"x": [1]}, backend="threads")),
    ("cloudpickle", "sweep", lambda: vt.sweep(noisy, {"x": [1]})),
    ("distributed", "dask", lambda: vt.sweep(noisy, {"x": [1]}, backend="dask")),
    ("ray", "ray", lambda: vt.sweep(noisy, {"x": [1]}, backend="ray")),
    ("pyarrow", "parquet", lambda: MIXED.save("x.parquet")), ("xarray", "data", lambda: MIXED.save("x.nc")),
    ("pandas", "data", lambda: MIXED.to_pandas()),
])  # fmt: skip
def test_a_missing_package_is_named(module, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(vt.MissingExtraError, match=rf"vitree\[{extra}\]"):
        call()


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_clusters_must_be_there(backend):
    pytest.importorskip({"dask": "distributed"}.get(backend, backend))
    with pytest.raises(vt.InputError, match="first"):
        vt.sweep(noisy, {"x": [1]}, backend=backend)


@pytest.mark.slow
def test_dask_gives_the_same_table(table, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                  local_directory=str(tmp_path / "dask")) as cluster:  # fmt: skip
        with distributed.Client(cluster):
            assert swept(backend="dask", folder=tmp_path / "rows").to_csv() == table
            local = lambda x, rng: {"y": x + rng.random()}  # noqa: E731
            found = vt.sweep(local, {"x": range(50)}, backend="dask")
    assert found.to_csv() == vt.sweep(local, {"x": range(50)}, backend="threads").to_csv()


@pytest.fixture
def ray_here(tmp_path_factory, monkeypatch):
    """Ray on this computer, which ends with the test."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(vt.__file__).parent.parent))
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "disabled")):
        monkeypatch.setenv(name, value)
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000, log_to_driver=False,
             logging_level="ERROR", configure_logging=False)  # fmt: skip
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_ray_gives_the_same_table(ray_here, table, tmp_path):
    assert swept(backend="ray", workers=2, folder=tmp_path / "rows").to_csv() == table
    local = lambda x, rng: {"y": x + rng.random()}  # noqa: E731
    found = vt.sweep(local, {"x": range(50)}, backend="ray")
    assert found.to_csv() == vt.sweep(local, {"x": range(50)}, backend="threads").to_csv()


#: A sweep of 1,000 runs, in a process of its own, which gets a SIGKILL, if asked for, 0.15 s after the first task has
#: ended ("kill"), or after it was sent ("early"): python -c RUN folder backend workers kill
RUN = """
import os, signal, sys, threading, vitree as vt
from vitree.run import tasks
folder, backend, workers, kill = sys.argv[1:]
over = {"method": ["linear-time", "rk4"], "dt": [0.01, 0.005], "seed": range(125)}
timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGKILL))
begin = lambda done, total: timer.start() if kill == "kill" and timer.ident is None else None
pack = tasks.packed
if kill == "early":
    tasks.packed = lambda function: (pack(function), timer.start())[0]
result = vt.sweep(["double_pendulum", "arm6"], over, duration=1.0, folder=folder, backend=backend,
                  workers=int(workers), progress=begin)
result.save(folder + ".csv")
print(len(result), result.failed, *result.notes)
"""


@pytest.fixture
def start(tmp_path):
    """A function that runs RUN until it has ended, and all processes that write where it does; (process, text)."""
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(vt.__file__).parent.parent)}

    def start(name, *how):
        command = [sys.executable, "-c", RUN, str(tmp_path / name), *how]
        begun = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            text, _ = begun.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(begun.pid, signal.SIGKILL)
            begun.communicate()
            raise
        return begun, text

    return start


@pytest.mark.slow
def test_workers_end_with_a_sweep_that_is_killed_before_they_have_a_task(start):
    killed, text = start("early", "processes", "2", "early")
    assert killed.returncode == -signal.SIGKILL and text == ""


@pytest.mark.slow
def test_a_killed_sweep_of_a_thousand_runs_ends_with_the_same_table(tmp_path, start):
    _, text = start("whole", "threads", "1", "")
    assert text == "1000 0\n"
    for name, *how in (("processes", "processes", "2"), ("threads", "threads", "2")):
        killed, text = start(name, *how, "kill")
        assert killed.returncode == -signal.SIGKILL and text == ""
        deadline = time.monotonic() + 20
        with pytest.raises(ProcessLookupError):  # nobody kills its workers, which end by themselves
            while time.monotonic() < deadline:
                os.killpg(killed.pid, 0)
                time.sleep(0.05)
        kept = sum(len(json.loads(x.read_bytes())["rows"]) for x in (tmp_path / name).glob(ROWS))
        assert 0 < kept < 1000
        _, text = start(name, *how, "")
        assert text.startswith(f"1000 0 {kept} of 1000 rows were in ")
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


# ---- what others wrote, and tasks that exit -------------------------------------------------------------------


def exits(x):
    if x == 1:
        sys.exit("enough")
    return {"y": x}


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_an_exit_ends_its_case_alone(backend):
    result = vt.sweep(exits, {"x": [0, 1, 2]}, backend=backend, workers=1)
    assert [row["status"] for row in result.table] == ["ok", "failed", "ok"]
    assert "SystemExit: enough" in result.table[1]["reason"]


def rows_file(folder, text):
    """Give a folder of a sweep one file of rows, whose name is that of its content."""
    from vitree.run import sweep as chunks

    for place in folder.glob(chunks.ROWS):
        place.unlink()
    (folder / chunks._name_of(text.encode())).write_text(text)


GOOD = '[0, {"x": 0, "status": "ok", "reason": null, "y": 7}]'
FORGED_ROWS = {
    "deep": '{"took": 1, "rows": ' + "[" * 100_000, "took text": f'{{"took": "1", "rows": [{GOOD}]}}',
    "took nan": f'{{"took": NaN, "rows": [{GOOD}]}}', "took less than nothing": f'{{"took": -1, "rows": [{GOOD}]}}',
    "no time": f'{{"rows": [{GOOD}]}}', "more": f'{{"took": 1, "rows": [{GOOD}], "z": 1}}', "a list": "[]",
    "rows of text": '{"took": 1, "rows": "ab"}', "rows as mapping": '{"took": 1, "rows": {"0": {}}}',
    "three parts": '{"took": 1, "rows": [[0, {}, 1]]}', "number as text": GOOD.replace("[0", '["0"').join(
        ('{"took": 1, "rows": [', "]}")), "a fraction": '{"took": 1, "rows": [[0.5, {"status": "ok"}]]}',
    "true": '{"took": 1, "rows": [[true, {"status": "ok"}]]}',
    "no such case": '{"took": 1, "rows": [[3, {"status": "ok"}]]}',
    "less than none": '{"took": 1, "rows": [[-1, {"status": "ok"}]]}',
    "no status": '{"took": 1, "rows": [[0, {"y": 1}]]}',
    "status of a number": '{"took": 1, "rows": [[0, {"status": 1}]]}',
    "a list in a cell": '{"took": 1, "rows": [[0, {"status": "ok", "y": [1]}]]}',
    "a mapping in a cell": '{"took": 1, "rows": [[0, {"status": "ok", "y": {}}]]}',
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED_ROWS)
def test_forged_rows_are_run_again(kind, tmp_path):
    def square(x):
        return {"y": x * x}

    right = vt.sweep(square, {"x": [0, 1, 2]}, folder=tmp_path, backend="threads")
    rows_file(tmp_path, FORGED_ROWS[kind])
    again = vt.sweep(square, {"x": [0, 1, 2]}, folder=tmp_path, backend="threads")
    assert again.table == right.table
    assert "Damaged files" in " ".join(again.notes)


def test_rows_as_they_are_written_are_taken(tmp_path):
    def square(x):
        return {"y": x * x}

    vt.sweep(square, {"x": [0, 1, 2]}, folder=tmp_path, backend="threads")
    rows_file(tmp_path, f'{{"took": 1, "rows": [{GOOD}]}}')
    again = vt.sweep(square, {"x": [0, 1, 2]}, folder=tmp_path, backend="threads")
    assert [row["y"] for row in again.table] == [7, 1, 4]
    assert again.notes == (f"1 of 3 rows were in {tmp_path}.",)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "3", "{", "null"])
def test_a_forged_manifest_is_told(text, tmp_path):
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(vt.InputError, match=r"sweep\.json that cannot be read"):
        vt.sweep(exits, {"x": [0]}, folder=tmp_path, backend="threads")


# ---- each column ---------------------------------------------------------------------------------------------


def test_the_error_of_constraints_is_the_largest_at_any_record():
    """Of a pendulum on a rod in Cartesian coordinates, which rk4 lets drift."""
    tree = vt.Tree("rod")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("ball", 2.0))
    tree.constrain(vt.Distance("world", "ball", 1.0))
    model, options = tree.compile(), {"q0": [1.0, 0.0], "duration": 2.0, "dt": 0.05}
    (row,) = vt.sweep(model, {"method": ["rk4"]}, v0="zero", **options, backend="threads").table
    run = vt.simulate(model, method="rk4", **options)
    assert row["constraint_error"] == np.abs(run.constraint).max() > 1e-6 > np.abs(run.constraint[0]).max()


@pytest.mark.parametrize("method", ["semi-implicit-euler", "explicit-euler", "linear-time", "rk4"])
@pytest.mark.parametrize("robot", ["pendulum", "double_pendulum"])
def test_each_column_is_what_its_name_says(robot, method):
    model = vt.load_urdf(vt.find_robot(robot))
    if method not in model.methods:
        pytest.skip(f"no method {method}")
    q0 = np.full(model.nq, 0.7)
    (row,) = vt.sweep(robot, {"method": [method]}, q0=q0, v0="zero", duration=0.3, dt=0.01, record_every=3,
                      backend="threads").table  # fmt: skip
    run = vt.simulate(model, q0, duration=0.3, dt=0.01, record_every=3, method=method)
    change = run.energy - run.energy[0]
    assert row["t_end"] == run.t[-1] and row["steps"] == 30
    assert row["energy_change"] == pytest.approx(change[-1], rel=1e-12)
    assert row["energy_error"] == pytest.approx(np.abs(change).max(), rel=1e-12)
    assert row["energy_drift"] == pytest.approx(np.polyfit(run.t, change, 1)[0], rel=1e-9)
    assert np.isnan(row["constraint_error"])
    solved = method == "linear-time"
    assert row["iterations_max"] == (run.iterations_max if solved else None)
    assert row["iterations_mean"] == pytest.approx(run.iterations_total / 30 if solved else np.nan, nan_ok=True)
    assert row["halved"] == run.settings["halved"] and row["warnings"] == len(run.warnings)
    assert row["state"] == hashlib.sha256(run.q[-1].tobytes() + run.v[-1].tobytes()).hexdigest()[:16]


def test_a_failed_case_tells_when_it_ended():
    spins = [[1e9, -1e9], [0.0, 0.0]]
    given = {"v0": {"fast": spins[0], "slow": spins[1]}}
    result = vt.sweep("double_pendulum", given, max_halvings=0, duration=0.1, dt=0.01, backend="threads")
    failed, done = sorted(result.table, key=lambda row: row["v0"])
    with pytest.raises(vt.ConvergenceError) as told:
        vt.simulate(vt.load_urdf(vt.find_robot("double_pendulum")), v0=spins[0], max_halvings=0, duration=0.1, dt=0.01)
    assert failed["status"] == "failed" and failed["t_end"] == told.value.time
    assert done["status"] == "ok" and done["t_end"] == pytest.approx(0.1)


def test_the_pace_of_cases_that_waited_for_imports_is_forgotten():
    queue = Queue([(k, {}) for k in range(1000)], 2, (0.0, 0))
    assert queue.mean != queue.mean
    one = [(0, {})]
    for first, others, rows, mean in ((0.1, 0.0, 1, 0.1), (0.09, 0.0, 1, 0.1), (0.02, 0.0, 1, 0.02),
                                      (9.0, 0.06, 3, 0.08 / 3), (0.0, 0.0, 1, 1e-9)):  # fmt: skip
        queue.take(Done(one * rows, first, others, []))
        assert queue.mean == pytest.approx(mean)


def test_steps_that_do_not_fit_are_refused_before_any_case_runs():
    told = []
    model = vt.load_urdf(vt.find_robot("pendulum"))
    with pytest.raises(InputError, match="whole number of steps"):
        vt.sweep(model, {"dt": [0.02, 0.03]}, duration=0.1, progress=lambda *counts: told.append(counts))
    assert not told


@pytest.mark.parametrize("count", [1, 2])
def test_only_a_whole_grid_has_axes(count):
    cases = types.SimpleNamespace(names=("dt",), rows=[{"dt": 0.1}, {"dt": 0.2}], axes={"dt": [0.1, 0.2]})
    rows = {k: {"status": "ok"} for k in range(count)}
    found = sweep_module._table(cases, rows, {}, {}, ())
    assert found.axes == (cases.axes if count == 2 else None)
