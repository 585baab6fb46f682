"""Ctrl-C: compiled loops return often, and threads under way are told to stop."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import vitree as vt
from vitree._core import scalar, wide
from vitree.integrators import METHODS
from vitree.integrators.base import Records
from vitree.integrators.compiled import FIRST_CHUNK
from vitree.run import instances as batch
from vitree.run import lanes
from vitree.run.lanes import Held
from vitree.run.outcome import Outcome

LONG = 10**9


@pytest.fixture(scope="module")
def pendulum():
    return vt.load_urdf(vt.find_robot("double_pendulum"))


class Interrupted(Exception):
    pass


@pytest.fixture
def soon():
    """A signal in a few hundredths of a second, whose handler raises as that of Ctrl-C does."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")

    def stop(*of):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "gauss", "rk4"])
def test_a_long_run_in_parts_returns_before_its_end(method, pendulum):
    integrator = METHODS[method](pendulum, 1e-3)
    integrator.start(0.0, np.array([0.3, 0.2]), np.zeros(2))
    records = Records.room(1, 2, 2, 0)
    assert integrator.stepper.run(LONG, 2 * LONG, records, 1, True) == 0
    assert 0 < integrator.stepper.steps < LONG


def test_a_run_that_returns_early_is_the_same_run(pendulum, monkeypatch):
    whole = vt.simulate(pendulum, [0.3, 0.2], duration=0.5, dt=1e-3)
    kind = METHODS["linear-time"]

    class Short:
        """A stepper that takes a few steps at once, however many are asked for."""

        def __init__(self, stepper):
            self.stepper = stepper

        def __getattr__(self, name):
            return getattr(self.stepper, name)

        def run(self, count, every, records, stride=1, in_parts=False):
            return self.stepper.run(min(count, 3) if in_parts else count, every, records, stride)

    integrator = kind(pendulum, 1e-3)
    integrator.stepper = Short(integrator.stepper)
    integrator.start(0.0, whole.q[0], whole.p[0])
    records = Records.room(501, 2, 2, 0)
    records.t[0], records.q[0], records.x[0] = 0.0, whole.q[0], whole.p[0]
    integrator.run(records, 500, 1, None)
    assert records.rows == 501
    assert np.array_equal(records.q, whole.q) and np.array_equal(records.x, whole.p)


def test_a_door_for_many_rows_looks_at_signals(soon, pendulum):
    n = 4_000_000
    q, out = np.zeros((n, 2)), np.full((n, 11), np.nan)
    soon()
    with pytest.raises(Interrupted):
        scalar().batch_energy(pendulum.core, q, q, out)
    assert np.isnan(out[-1]).all()


def test_instances_under_way_end_when_the_rollout_is_interrupted(pendulum, monkeypatch):
    started, kept = threading.Event(), []
    run, take = lanes.run, batch.Batch.take

    def begun(model, given, **more):
        started.set()
        return run(model, given, **more)

    def interrupted(*of, **more):
        assert started.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(lanes, "run", begun)
    monkeypatch.setattr(batch, "wait", interrupted)
    monkeypatch.setattr(batch.Batch, "take", lambda self, k, *of: (kept.append(k), take(self, k, *of)))
    with pytest.raises(KeyboardInterrupt):
        vt.rollout(pendulum, np.full((4, 2), 0.3), duration=3e3, dt=1e-3, method="gauss", record_every=None, threads=2)
    assert kept == []


def test_one_thread_is_interrupted_within_an_instance(soon, pendulum):
    soon()
    with pytest.raises(Interrupted) as told:
        vt.rollout(pendulum, np.full((2, 2), 0.3), duration=1e7, dt=1e-3, method="gauss", record_every=None, threads=1)
    assert 0 < told.value.trajectory.steps < 10**10


def test_blocks_in_lanes_take_few_steps_at_once_where_steps_are_slow(pendulum, monkeypatch):
    if wide().VT_LANES < 2:
        pytest.skip("no lanes in this build")
    clock, counts = iter(range(10**9)), []

    class Watched:
        def __init__(self, lanes):
            self.lanes = lanes

        def __getattr__(self, name):
            return getattr(self.lanes, name)

        def run(self, count, *more):
            counts.append(count)
            return self.lanes.run(count, *more)

    known = lanes.Block.lanes
    monkeypatch.setattr(lanes.Block, "lanes", lambda self: Watched(known(self)))
    monkeypatch.setattr(lanes.time, "perf_counter", lambda: float(next(clock)))
    found = vt.rollout(pendulum, np.full((8, 2), 0.3), duration=0.1, dt=1e-3, threads=1)
    # each group of blocks begins with a few steps, and takes one at once as soon as these are slow
    assert max(counts) <= FIRST_CHUNK and counts[1] == 1 and counts.count(FIRST_CHUNK) <= 2
    alone = vt.simulate(pendulum, [0.3, 0.3], duration=0.1, dt=1e-3)
    assert np.array_equal(found.q[0], alone.q)


def test_threads_that_hold_instances_stop_when_one_fails():
    class Found:
        count = 8

    held, at_work = Held(Found(), 2), threading.Barrier(2, timeout=60)
    held.expect(1.0)

    def work(part):
        at_work.wait()
        if part[0] == 0:
            raise vt.InputError("the first")
        while not held._stopped:
            time.sleep(0.001)

    with held, pytest.raises(vt.InputError, match="the first"):
        held._share(work, np.arange(2))
    assert not held._stopped


# ---- Ctrl-C within a second --------------------------------------------------------------------------------

#: A process whose jobs are interrupted, of which it reads one a line. A job would take an hour.
PROCESS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job of a shell ignores it
import numpy as np
import scipy.integrate  # which takes a second, and other libraries may lose an interrupt while they are imported
import vitree as vt

def boxes():
    tree = vt.Tree("boxes")
    for k in range(3):
        tree.world.add(vt.tz(0.2 + k), vt.free(f"free{k}"), vt.body(f"box{k}", 1.0, (0.1, 0.2, 0.15)))
        tree.contact(vt.Contact(f"box{k}", shapes=[vt.Box((0.3, 0.4, 0.2))]))
    tree.contact(vt.Ground(friction=0.5))
    return tree.compile()

pendulum, human = (vt.load_urdf(vt.find_robot(name)) for name in ("double_pendulum", "human"))
swing = {"q0": [0.3, 0.2], "duration": 1e6, "dt": 1e-3}
swings = {**swing, "q0": np.full((64, 2), 0.3), "record_every": None}
many = {"q0": np.zeros((10**6, 2)), "duration": 100.0, "dt": 1e-3, "record_every": None}
model = boxes()
lie = {"q0": np.tile(model.neutral(), (8, 1)), "duration": 1e5, "dt": 1e-3, "record_every": None}
for line in sys.stdin:
    method, job = line.rstrip().split(" ", 1)
    if job.count("run.") and "run" not in globals():
        run = vt.simulate(human, duration=30.0, dt=1e-3)
    print("begins", flush=True)
    try:
        eval(job)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
JOBS = {
    "simulate": "vt.simulate(pendulum, **swing, record_every=10**6, method=method)",
    "simulate contact": "vt.simulate(model, duration=1e4, dt=1e-3, method=method)",
    "reduced contact": "vt.simulate(model.reduced(), duration=1e4, dt=1e-3, method=method)",
    "rollout": "vt.rollout(pendulum, **swings, method=method)",
    "rollout lanes": "vt.rollout(pendulum, **many, method=method)",
    "rollout one thread": "vt.rollout(pendulum, **swings, method=method, threads=1)",
    "rollout contact": "vt.rollout(model, **lie, method=method)",
    "rollout callable": "vt.rollout(model, **lie, method=method, control=lambda t, q, v: -v)",
    "compare": "vt.compare(pendulum, [method], **{**swing, 'duration': 2e4})",
    "compare contact": "vt.compare(model, [method], model.neutral(), duration=1e4, dt=1e-3, reference=False)",
    "run.linearize": "[run.linearize() for _ in range(10**4)]",
    "run.gradient": "[run.gradient(by_q=np.ones(run.v.shape)) for _ in range(10**4)]",
}
TIMED = [(job, method) for job in JOBS for method in {
    "simulate": METHODS, "simulate contact": ["linear-time", "rk4"], "rollout": ["gauss", "scipy-dop853"],
    "rollout lanes": ["linear-time", "gauss"], "rollout one thread": ["gauss"],
    "rollout contact": ["linear-time", "midpoint", "rk4"], "compare": ["gauss", "midpoint"],
}.get(job, ["linear-time"])]  # fmt: skip


@pytest.fixture(scope="module")
def processes():
    """The process of the jobs, while it lives."""
    kept = []
    yield kept
    for process in kept:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("job", "method"), TIMED)
def test_ctrl_c_ends_a_job_within_a_second(job, method, processes):
    """In tenths of a second, where nothing else runs; of a run with contacts 1 s of steps took 10 s to end."""
    if not processes:
        environment = {**os.environ, "PYTHONPATH": str(Path(vt.__file__).parents[1])}
        processes.append(subprocess.Popen([sys.executable, "-c", PROCESS], env=environment, text=True, bufsize=1,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          ))  # fmt: skip
    process = processes.pop()
    try:
        process.stdin.write(f"{method} {JOBS[job]}\n")
        assert process.stdout.readline() == "begins\n", process.stderr.read()
        # a run of one instance with contacts has most to do in the end
        time.sleep(1.5 if "contact" in job and "rollout" not in job else 0.4)
        assert process.poll() is None
        pressed = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n", process.stderr.read()
        assert time.perf_counter() - pressed < 5.0
        processes.append(process)
    finally:
        if not processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("reduced", [False, True])
def test_the_records_of_an_interrupted_run_are_worked_out_later(reduced, monkeypatch):
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    model = model.reduced() if reduced else model
    asked, made = [], Outcome.trajectory
    monkeypatch.setattr(Outcome, "trajectory", lambda self: asked.append(1) or made(self))
    given = {"duration": 1.0, "dt": 1e-3, "control": [0.1, 0.2]}

    def press(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stop:
        vt.simulate(model, [0.3, 0.2], **given, progress=press)
    part = stop.value.trajectory
    assert asked == []
    whole = vt.simulate(model, [0.3, 0.2], **given)
    assert 0 < part.steps < 1000 and len(part) == part.steps + 1 and len(asked) == 2
    for name in ("t", "q", "v", "p", "kinetic"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[: len(part)])
    assert part.system is model and len(asked) == 2 and pickle.loads(pickle.dumps(part)).steps == part.steps
