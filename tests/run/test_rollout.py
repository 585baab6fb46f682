"""Rollouts: each instance has the bits of simulate(), whatever runs beside it; failures and wrong arguments."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from random_models import chain_flat, random_flat, random_state, with_rotors

import vitree as vt
from vitree import _core
from vitree.run import lanes as held

WIDTHS = [w for w in _core.widths() if w > 1]
#: method, options, dt
METHODS = [
    ("linear-time", {}, 0.01), ("linear-time", {"order": 4}, 0.01), ("linear-time", {"norm": "energy"}, 0.02),
    ("linear-time", {"kinetic": "screw"}, 0.01), ("linear-time", {"kinetic": "com"}, 0.01),
    ("linear-time", {"solver": "recursive-newton"}, 0.01), ("linear-time", {"solver": "modified-newton"}, 0.005),
    ("linear-time", {"tolerance": 1e-4}, 0.02), ("midpoint", {}, 0.01), ("midpoint", {"order": 4}, 0.01),
    ("midpoint", {"norm": "energy"}, 0.02), ("midpoint", {"alpha": 0.4}, 0.01),
    ("midpoint", {"solver": "modified-newton"}, 0.005), ("midpoint", {"solver": "recursive-newton"}, 0.01),
    ("rk4", {}, 0.01),
    ("rk8", {}, 0.01), ("implicit-euler", {}, 0.01),
    ("explicit-euler", {}, 0.002), ("semi-implicit-euler", {}, 0.002),
]  # fmt: skip
IDS = [f"{name}-{'-'.join(map(str, options.values()))}".rstrip("-") for name, options, _ in METHODS]


@pytest.fixture(params=WIDTHS)
def width(request, monkeypatch):
    """Blocks of so many lanes."""
    monkeypatch.setattr(held, "wide", lambda: _core.lanes(request.param))
    return request.param


def starts(model, n, seed=0, speed=1.0):
    rng = np.random.default_rng(seed)
    states = [random_state(model.flat, rng, speed) for _ in range(n)]
    return np.array([q for q, _ in states]), np.array([v for _, v in states])


def model_of(kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "free":
        return vt.Model(random_flat(rng, nbody=7, base="free"))
    if kind == "damped":
        flat = with_rotors(random_flat(rng, nbody=6, damping=True))
        single = np.repeat(np.isin(flat.kind, (0, 1, 2)), np.array([1, 1, 1, 3, 6])[flat.kind])
        return vt.Model(replace(flat, friction=np.where(single, 0.3, 0.0)))
    return vt.Model(random_flat(rng, nbody=6, massless=True) if kind == "massless" else chain_flat(2))


def alone(model, q, v, **more):
    """The run of an instance, and the error that ended it."""
    try:
        return vt.simulate(model, q, v, **more), None
    except vt.ConvergenceError as error:
        return error.trajectory, error


def same(rollout, k, run):
    """Whether an instance has the bits of a run."""
    rows = int(rollout.rows[k])
    return rows == len(run) and all(
        np.array_equal(getattr(rollout, name)[k, :rows], getattr(run, name)) for name in rollout.data
    ) and np.isnan(rollout.data["q"][k, rows:]).all()  # fmt: skip


@pytest.mark.parametrize(("method", "options", "dt"), METHODS, ids=IDS)
@pytest.mark.parametrize("kind", ["free", "damped", "massless", "pendulum"])
def test_each_instance_has_the_bits_of_simulate(kind, method, options, dt, width):
    model = model_of(kind)
    n = 2 * width + 1
    q, v = starts(model, n)
    v *= np.linspace(0.2, 4.0, n)[:, None]  # the fastest leave the lanes
    rollout = vt.rollout(model, q, v, duration=30 * dt, dt=dt, method=method, record_every=3,
                         record=("q", "v", "p", "energy"),
                         threads=2, **options)  # fmt: skip
    for k in range(n):
        run, error = alone(model, q[k], v[k], duration=30 * dt, dt=dt, method=method, record_every=3, **options)
        assert same(rollout, k, run), k
        assert str(error) == str(rollout.failed.get(k))
        assert (rollout.steps[k], rollout.solved[2][k], rollout.solved[3][k]) == (
            run.steps, run.iterations_total, run.iterations_max)  # fmt: skip
        one = rollout[k]
        assert np.array_equal(one.iterations, run.iterations) and np.array_equal(one.residual, run.residual)
        assert one.steps == run.steps
        for name in ("q", "v", "p", "kinetic", "potential", "momentum"):
            assert np.array_equal(getattr(one, name), getattr(run, name)), name
    assert rollout.in_lanes.any()
    assert rollout.width == width


def test_most_instances_of_ordinary_runs_stay_in_lanes(width):
    model = model_of("free")
    q, v = starts(model, 16)
    for method in ("linear-time", "midpoint", "rk4"):
        rollout = vt.rollout(model, q, v, duration=0.2, dt=0.002, method=method)
        assert rollout.in_lanes.all()
        assert not rollout.failed


@pytest.mark.parametrize("method", ["linear-time", "rk4", "midpoint", "gauss", "scipy-dop853"])
def test_neither_number_nor_order_nor_threads_matter(method):
    model = model_of("damped")
    q, v = starts(model, 33)
    most = vt.rollout(model, q, v, duration=0.1, dt=0.01, method=method, threads=2)
    backwards = vt.rollout(model, q[::-1], v[::-1], duration=0.1, dt=0.01, method=method, threads=1)
    assert np.array_equal(most.q, backwards.q[::-1])
    assert np.array_equal(most.v, backwards.v[::-1])
    for n in range(1, 33) if method in ("linear-time", "midpoint", "rk4") else (1, 2, 5):
        few = vt.rollout(model, q[:n], v[:n], duration=0.1, dt=0.01, method=method, threads=3)
        assert np.array_equal(few.q, most.q[:n])
        assert np.array_equal(few.v, most.v[:n])


def test_the_width_of_the_processor_does_not_matter(tmp_path):
    """VITREE_WIDTH in other processes, one lane included."""
    program = (
        "import sys, numpy as np, vitree as vt\n"
        "model = vt.load_urdf(vt.find_robot('double_pendulum'))\n"
        "q = np.random.default_rng(0).uniform(-3, 3, (11, model.nq))\n"
        "names = 'linear-time', 'midpoint', 'rk4'\n"
        "found = [vt.rollout(model, q, duration=0.5, dt=0.005, method=name).q for name in names]\n"
        "np.save(sys.argv[1], np.array(found))\n"
    )
    results = []
    for width in _core.widths():
        path = tmp_path / f"{width}.npy"
        import os

        subprocess.run([sys.executable, "-c", program, path], check=True, env=os.environ | {"VITREE_WIDTH": str(width)})
        results.append(np.load(path))
    for other in results[1:]:
        assert np.array_equal(results[0], other)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_instances_that_fail_leave_the_others_alone(method, width):
    """Speeds at which steps are halved, then fail, then are not numbers: beside a calm instance in the same block."""
    model = vt.Model(chain_flat(5))
    q, v = starts(model, 12, speed=1.0)
    v *= np.array([1.0, 3e1, 1.0, 1e2, 1.0, 1e3, 1.0, 1e5, 1.0, 1e90, 1.0, 10.0])[:, None]
    rollout = vt.rollout(model, q, v, duration=0.5, dt=0.01, method=method, threads=2)
    assert 0 < len(rollout.failed) < 12
    assert not {0, 2, 4, 6, 8, 10} & rollout.failed.keys()
    for k in range(12):
        run, error = alone(model, q[k], v[k], duration=0.5, dt=0.01, method=method)
        assert same(rollout, k, run), k
        assert str(error) == str(rollout.failed.get(k))
    with pytest.raises(vt.ConvergenceError) as told:
        rollout.raise_failed()
    assert f"instance {min(rollout.failed)} of 12" in "".join(told.value.__notes__)
    assert f"{len(rollout.failed)} failed" in repr(rollout)
    ends = vt.rollout(model, q, v, duration=0.5, dt=0.01, method=method, record_every=None)
    assert ends.q.shape == (12, 1, 5)
    calm = [k for k in range(12) if k not in rollout.failed]
    assert np.array_equal(ends.q[calm, 0], rollout.q[calm, -1])
    assert np.isnan(ends.q[[*rollout.failed]]).all()


@pytest.mark.parametrize("method", ["linear-time", "rk4", "midpoint"])
def test_torque_of_each_instance_and_step(method, width):
    model = model_of("damped")
    q, v = starts(model, 2 * width + 1)
    rng = np.random.default_rng(1)
    n, steps = len(q), 12
    same_for_all, each, rows = (rng.normal(size=(*lead, model.nv)) for lead in ((), (n,), (n, steps)))
    for torque in (same_for_all, each):
        rollout = vt.rollout(model, q, v, duration=0.12, dt=0.01, method=method, control=torque)
        for k in range(n):
            mine = torque if torque.ndim == 1 else torque[k]
            assert same(rollout, k, vt.simulate(model, q[k], v[k], duration=0.12, dt=0.01, method=method, control=mine))
    rollout = vt.rollout(model, q, v, duration=0.12, dt=0.01, method=method, control=rows, record_every=4)
    for k in range(n):
        one = vt.Simulation(model, q[k], v[k], dt=0.01, method=method)
        for step in range(steps):
            one.step(control=rows[k, step])
        assert np.array_equal(one.q, rollout.q[k, -1])
        assert np.array_equal(one.v, rollout.v[k, -1])
    # the rows of the first for all
    rollout = vt.rollout(model, q, v, duration=0.12, dt=0.01, method=method, control=rows[:1])
    for k in (0, n - 1):
        mine = vt.simulate(model, q[k], v[k], duration=0.12, dt=0.01, method=method, control=rows[0])
        assert same(rollout, k, mine)


@pytest.mark.parametrize("every", [1, 3, 7, 10, 11, 100])
def test_records_of_a_policy_need_not_end_with_the_run(every):
    model = model_of("damped")
    q, v = starts(model, 4)
    rollout = vt.rollout(model, q, v, duration=0.1, dt=0.01, control=lambda t, Q, V: -V, record_every=every)
    alone = vt.Simulation(model, q[1], v[1], dt=0.01)
    for row in range(10 // every + 1):
        assert np.array_equal(alone.q, rollout.q[1, row])
        for _ in range(every if row < 10 // every else 0):
            alone.step(control=-alone.v)
    assert rollout.q.shape[1] == 10 // every + 1
    assert rollout.t[-1] == pytest.approx(0.01 * (10 // every * every))


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_a_policy_sees_all_instances_at_once(method, width):
    model = model_of("damped")
    q, v = starts(model, 37)
    asked = []

    def policy(t, Q, V):
        asked.append((t, Q.shape, V.shape))
        Q[:] = 0.0  # its own
        return -0.5 * V

    rollout = vt.rollout(model, q, v, duration=0.1, dt=0.01, method=method, control=policy, record_every=5, threads=2)
    assert len(asked) == 10
    assert asked[3] == (pytest.approx(0.03), (37, model.nq), (37, model.nv))
    assert rollout.in_lanes.all() == (method == "rk4")
    for k in (0, 5, 36):
        one = vt.Simulation(model, q[k], v[k], dt=0.01, method=method)
        for step in range(10):
            one.step(control=-0.5 * one.v)
            if step == 4:
                assert np.array_equal(one.q, rollout.q[k, 1])
        assert np.array_equal(one.q, rollout.q[k, 2])
        assert np.array_equal(one.v, rollout.v[k, 2])


@pytest.mark.parametrize("period, delay, initial", [(1, 0, False), (3, 0, False), (3, 2, True), (2, 5, True)])
def test_a_controller_of_all_instances_has_the_bits_of_each(period, delay, initial):
    """Called at its sampling times alone, with its own delay, and anew for each run."""
    model, dt = model_of("damped"), 0.01
    q, v = starts(model, 4)
    asked = []

    def feedback(t, q, v):
        asked.append((round(t / dt), np.shape(v)))
        return (0.3 + t) * np.sin(q[..., : model.nv]) - 0.5 * v

    first = np.full(model.nv, 0.2) if initial else None
    loop = vt.Controller(feedback, period * dt, delay * dt, initial=first)
    given = {"duration": 0.1, "dt": dt}
    for _ in range(2):
        asked.clear()
        runs = vt.rollout(model, q, v, control=loop, **given)
        assert asked == [(k, (4, model.nv)) for k in range(0, 10, period)]
    for k in range(4):
        alone = vt.simulate(model, q[k], v[k], control=loop, **given)
        assert np.array_equal(runs.q[k], alone.q)
        assert np.array_equal(runs.v[k], alone.v)
    each = np.linspace(0.1, 0.4, 4)[:, None] * np.ones(model.nv)
    of_each = vt.rollout(model, q, v, control=vt.Controller(feedback, 0.1, 0.05, initial=each), **given)
    for k in range(4):
        alone = vt.simulate(model, q[k], v[k], control=vt.Controller(feedback, 0.1, 0.05, initial=each[k]), **given)
        assert np.array_equal(of_each.q[k], alone.q)
    assert np.abs(runs.q - of_each.q).max() > 1e-4
    for wrong, kind, text in (
        (vt.Controller(feedback, 0.015), vt.InputError, "whole number of steps"),
        (vt.Controller(feedback, 0.01, initial=np.zeros(3)), vt.VitreeError, "initial"),
        (vt.Controller(lambda t, Q, V: V[0], 0.01), vt.CallableError, r"torque\(t, Q, V\).* returned shape"),
    ):
        with pytest.raises(kind, match=text):
            vt.rollout(model, q, v, control=wrong, **given)


def test_a_policy_goes_on_without_those_that_failed():
    model = vt.Model(chain_flat(3))
    q, v = starts(model, 6)
    v[2] *= 1e95
    rollout = vt.rollout(model, q, v, duration=0.1, dt=0.01, method="rk4", control=lambda t, Q, V: np.zeros_like(V))
    assert [*rollout.failed] == [2]
    assert rollout.rows[2] < 11
    assert rollout.rows[3] == 11
    assert np.isfinite(rollout.q[[0, 1, 3, 4, 5]]).all()
    with pytest.raises(vt.CallableError, match="torque"):
        vt.rollout(model, q, v, duration=0.1, dt=0.01, control=lambda t, Q, V: np.zeros(3))
    with pytest.raises(vt.CallableError, match="ZeroDivisionError"):
        vt.rollout(model, q, v, duration=0.1, dt=0.01, method="rk4", control=lambda t, Q, V: 1 / 0)


def test_constraints_and_contact_run_too():

    tree = vt.Tree("box", gravity=(0, 0, -9.81))
    tree.world.add(vt.free("base"), vt.body("box", 1.0, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(friction=0.5), vt.Contact("box", shapes=[vt.Box((0.2, 0.2, 0.2))]))
    model = tree.compile()
    q = np.tile(model.neutral(), (3, 1))
    q[:, 2] = 0.1, 0.15, 0.2
    rollout = vt.rollout(model, q, duration=0.3, dt=0.002)
    for k in range(3):
        assert same(rollout, k, vt.simulate(model, q[k], duration=0.3, dt=0.002))
    with pytest.raises(vt.InputError, match="place_on_ground"):
        vt.rollout(model, q - [0, 0, 0.5, 0, 0, 0, 0], duration=0.3, dt=0.002)


def test_progress_is_told_and_ctrl_c_ends_a_rollout():
    model = vt.Model(chain_flat(3))
    q, v = starts(model, 40)
    told = []
    vt.rollout(model, q, v, duration=0.1, dt=0.01, progress=lambda done, total: told.append((done, total)), threads=2)
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted(done for done, _ in told)

    def stop(done, total):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        vt.rollout(model, q, v, duration=0.1, dt=0.01, progress=stop, threads=2)
    assert threading.active_count() == before


def test_records_are_those_asked_for(tmp_path):
    model = model_of("free")
    q, v = starts(model, 5)
    names = ("center_of_mass", "energy", "momentum")
    rollout = vt.rollout(model, q, v, duration=0.1, dt=0.01, record=names, record_every=None)
    assert (*rollout.data,) == names
    run = vt.simulate(model, q[2], v[2], duration=0.1, dt=0.01)
    assert np.array_equal(rollout.energy[2, 0], run.energy[-1])
    assert np.array_equal(rollout.momentum[2, 0], run.momentum[-1])
    assert np.array_equal(rollout.center_of_mass[2, 0], model._energies(run.q[-1:], run.v[-1:])[0, 8:11])
    with pytest.raises(AttributeError, match="center_of_mass, energy, momentum"):
        rollout.q  # noqa: B018
    with pytest.raises(vt.InputError, match="record"):
        rollout[0]
    with pytest.raises(IndexError, match="5 instances"):
        rollout[5]
    with np.load(rollout.save(tmp_path / "runs.npz")) as file:
        assert np.array_equal(file["energy"], rollout.energy)
        assert file["failed"].size == 0


def test_starts_by_momentum_and_one_start_for_all():
    model = model_of("free")
    q, v = starts(model, 4)
    p = np.array([model.generalized_momentum(a, b) for a, b in zip(q, v, strict=True)])
    by_p = vt.rollout(model, q, p0=p, duration=0.1, dt=0.01)
    assert np.array_equal(by_p.q, vt.rollout(model, q, v, duration=0.1, dt=0.01).q)
    torque = np.random.default_rng(0).normal(size=(4, model.nv))
    fan = vt.rollout(model, q[0], v[0], duration=0.1, dt=0.01, control=torque)
    assert len(fan) == 4
    assert np.array_equal(fan.q[3], vt.simulate(model, q[0], v[0], duration=0.1, dt=0.01, control=torque[3]).q)
    assert len(vt.rollout(model, duration=0.1, dt=0.01, instances=3)) == 3
    assert len(vt.rollout(model, q[:0], duration=0.1, dt=0.01)) == 0


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"q0": np.zeros((3, 4))}, r"q0.*\(3, 4\).*\(n, 2\)"),
        ({"v0": np.zeros((2, 3, 2))}, "v0"),
        ({"q0": np.zeros((3, 2)), "v0": np.zeros((4, 2))}, "q0: 3, v0: 4"),
        ({"q0": np.full((3, 2), np.nan)}, r"q0\[0\]|q0"),
        ({"q0": np.zeros((3, 2)), "v0": np.array([[0, 0], [0, np.inf], [0, 0]])}, r"v0\[1\]"),
        ({}, "number of instances is not given"),
        ({"instances": 2.5}, "instances"),
        ({"instances": 3, "control": np.zeros((3, 9, 2))}, r"torque.*\(n, 10, 2\)"),
        ({"instances": 3, "control": np.full((3, 2), np.nan)}, "torque"),
        ({"instances": 3, "record": ("q", "speed")}, "speed"),
        ({"instances": 3, "record_every": 0}, "every"),
        ({"instances": 3, "threads": 0}, "threads"),
        ({"instances": 3, "dt": [0.1]}, "dt"),
        ({"instances": 3, "method": "rk5"}, "rk5"),
        ({"instances": 3, "order": 3}, "order"),
        ({"instances": 3, "adapt": "density"}, "adapt"),
        ({"instances": 3, "v0": np.zeros(2), "p0": np.zeros(2)}, "v0, p0|v0 and p0"),
        ({"instances": 3, "control": vt.Control(inputs=np.zeros((3, 2)))}, "inputs"),
    ],
)
def test_wrong_arguments_are_told(wrong, text):
    model = vt.Model(chain_flat(2))
    with pytest.raises(vt.VitreeError, match=text):
        vt.rollout(model, **{"duration": 0.1, "dt": 0.01, **wrong})


def test_simulate_says_what_to_do_with_many_starts():
    model = vt.Model(chain_flat(2))
    with pytest.raises(vt.InputError, match=r"vt\.rollout"):
        vt.simulate(model, np.zeros((3, 2)), duration=0.1, dt=0.01)


@pytest.mark.parametrize(("taken", "more"), [(0, 0), (0, 3), (5, 0), (5, 3)])
def test_the_failure_of_a_block_tells_the_step_and_its_time(taken, more):
    from types import SimpleNamespace

    from vitree.run.lanes import HeldBlocks

    held = object.__new__(HeldBlocks)
    held.found = SimpleNamespace(
        schedule=SimpleNamespace(dt=0.25), given=SimpleNamespace(t0=2.0), kind=SimpleNamespace(name="rk4")
    )
    held.taken, held.alive, held.failed = np.array([9, taken]), np.ones(2, bool), {}
    held._fail(1, more)
    error, time = held.failed[1], 2.0 + 0.25 * (taken + more)
    assert error.time == time and held.alive.tolist() == [True, False]
    assert f"rk4: step {taken + more + 1} at t = {time:g} s, dt = 0.25 s: " in str(error)
