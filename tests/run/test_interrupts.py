"""Ctrl-C: compiled loops return often, and threads under way are told to stop."""

import signal
import threading
import time

import numpy as np
import pytest

import vitree as vt
from vitree._core import scalar, wide
from vitree.integrators import METHODS
from vitree.integrators.base import Records
from vitree.integrators.compiled import FIRST_CHUNK
from vitree.run import abreast, batch
from vitree.run.held import Held

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
    run, take = abreast.run, batch.Batch.take

    def begun(model, given):
        started.set()
        return run(model, given)

    def interrupted(*of, **more):
        assert started.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(abreast, "run", begun)
    monkeypatch.setattr(batch, "wait", interrupted)
    monkeypatch.setattr(batch.Batch, "take", lambda self, k, *of: (kept.append(k), take(self, k, *of)))
    with pytest.raises(KeyboardInterrupt):
        vt.rollout(pendulum, np.full((4, 2), 0.3), duration=3e3, dt=1e-3, method="gauss", every=None, threads=2)
    assert kept == []


def test_one_thread_is_interrupted_within_an_instance(soon, pendulum):
    soon()
    with pytest.raises(Interrupted) as told:
        vt.rollout(pendulum, np.full((2, 2), 0.3), duration=1e7, dt=1e-3, method="gauss", every=None, threads=1)
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

    lanes = abreast.Block.lanes
    monkeypatch.setattr(abreast.Block, "lanes", lambda self: Watched(lanes(self)))
    monkeypatch.setattr(abreast.time, "perf_counter", lambda: float(next(clock)))
    found = vt.rollout(pendulum, np.full((8, 2), 0.3), duration=0.1, dt=1e-3, threads=1)
    # each group of blocks begins with a few steps, and takes one at once as soon as these are slow
    assert max(counts) <= FIRST_CHUNK and counts[1] == 1 and counts.count(FIRST_CHUNK) <= 2
    alone = vt.simulate(pendulum, [0.3, 0.3], duration=0.1, dt=1e-3)
    assert np.array_equal(found.q[0], alone.q)


def test_threads_that_hold_instances_stop_when_one_fails():
    class Found:
        count = 8

    held = Held(Found(), 2)

    def work(part):
        if part[0] == 0:
            raise vt.InputError("the first")
        while not held._stopped:
            time.sleep(0.001)

    with held, pytest.raises(vt.InputError, match="the first"):
        held._share(work, np.arange(8), 1)
    assert not held._stopped
