"""Runs that go on from a checkpoint: bit for bit as if they had not stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from driven_runs import DT, PAIRS, name_of, start
from loaded_models import SINGLE, constrained_tree, singles
from random_models import chain_flat

import vitree as vt
from vitree.mechanism.flat import KINDS

FIELDS = ("t", "q", "v", "p", "energy", "momentum", "iterations", "residual", "constraint", "multipliers")


def same(whole, part, begin, every=1):
    """The records of a part of a run are those of the whole, to the last bit."""
    there = slice(begin, begin + (len(part) - 1) * every + 1, every)
    for name in FIELDS:
        one, two = getattr(whole, name)[there], getattr(part, name)
        if name in ("iterations", "residual", "multipliers"):  # a run's first record has none
            one, two = one[1:], two[1:]
        assert one.tobytes() == two.tobytes(), name


@pytest.mark.parametrize(("name", "method", "chosen"), PAIRS, ids=name_of)
def test_a_resumed_run_is_the_whole_one(name, method, chosen, tmp_path):
    """Twice resumed, from files; on joints of several coordinates too where the method steps those."""
    kinds = SINGLE if "residual" in chosen else KINDS
    model, q, v, more = start(name, kinds)
    whole = vt.simulate(model, q, v, duration=60 * DT, dt=DT, t0=0.3, method=method, **chosen, **more)
    run, begin = vt.simulate(model, q, v, duration=25 * DT, dt=DT, t0=0.3, method=method, **chosen, **more), 0
    same(whole, run, begin)
    for steps in (10, 25):
        begin += len(run) - 1
        before = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
        run = before.resume(steps * DT, model=model, **more)
        same(whole, run, begin)
    assert (run.steps, run.iterations_total, run.iterations_max) == (
        whole.steps, whole.iterations_total, whole.iterations_max)  # fmt: skip
    assert run.method == method and run.settings["halved"] == whole.settings["halved"]


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_rows_go_on_from_where_the_run_does(method):
    """Rows of inputs are given for the steps to come; the multipliers at a record are under its row."""
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    flat = replace(model.flat, loads=(vt.JointForce(singles(model.flat)[0], "push"),))
    model, rows = vt.Model(flat), np.linspace(-3, 3, 60)[:, None]
    whole = vt.simulate(model, q, v, duration=60 * DT, dt=DT, method=method, control=vt.Control(inputs=rows))
    run = vt.simulate(model, q, v, duration=25 * DT, dt=DT, method=method, control=vt.Control(inputs=rows[:25]))
    part = run.resume(35 * DT, control=vt.Control(inputs=rows[25:]))
    same(whole, part, 25)
    with pytest.raises(vt.InputError, match="34 rows"):
        run.resume(35 * DT, control=vt.Control(inputs=rows[26:]))


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_what_is_recorded_is_counted_from_where_the_run_goes_on(method):
    """After 25 steps of which each tenth was recorded, the state is that of step 25."""
    model = vt.Model(chain_flat(4))
    q = np.linspace(0.1, 0.9, 4)
    whole = vt.simulate(model, q, duration=60 * DT, dt=DT, method=method)
    run = vt.simulate(model, q, duration=25 * DT, dt=DT, method=method, record_every=10)
    assert len(run) == 3
    for every in (1, 7, 10, 35, 40):
        for monitors in ((), ("energy",)):
            part = run.resume(35 * DT, record_every=every, monitors=monitors)
            assert len(part) == 1 + 35 // every
            same(whole, part, 25, every)
            if monitors:
                assert part.monitors["energy"].tobytes() == whole.energy[26:].tobytes()


def test_a_failed_run_is_resumed_where_it_failed():
    model = vt.Model(chain_flat(3))

    def blow(t, q, v):
        return np.full(3, 1e9 if 0.05 < t < 0.06 else 0.1)

    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(model, np.full(3, 0.3), duration=0.2, dt=0.01, control=blow, max_halvings=0)
    run = failure.value.trajectory
    part = run.resume(0.1, control=np.zeros(3))
    assert part.t[0] == run.t[-1] and np.array_equal(part.q[0], run.q[-1]) and np.array_equal(part.p[0], run.p[-1])
    assert np.isfinite(part.q).all() and part.steps == run.steps + 10


def short(**more):
    return vt.simulate(vt.Model(chain_flat(2)), **more)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": vt.Model(chain_flat(2, damping=0.1))}, "another model"),
        ({"run": lambda run: run[:-1]}, "whole run"),
        ({"run": lambda run: replace(run, checkpoint=run.checkpoint[:-8])}, "another version"),
        ({"run": lambda run: short(duration=0.02, dt=0.01, method="scipy-rk45")}, "SciPy"),
        ({"run": lambda run: short(dt=[0.01, 0.02])}, "differed"),
        ({"run": lambda run: replace(run, system=None)}, r"give resume\(\.\.\., model=\)"),
        ({"duration": 0.015}, "whole number of steps"), ({"duration": None}, "duration"),
    ],
)
def test_what_cannot_be_resumed_is_refused(change, text):
    run = short(duration=0.02, dt=0.01, method="rk4")
    given = {"duration": 0.02, **change}
    run = given.pop("run", lambda run: run)(run)
    with pytest.raises(vt.InputError, match=text):
        run.resume(**given)


def test_what_drove_a_run_is_given_again(tmp_path):
    """A run that is driven does not go on without its control unless that is said."""
    model = vt.Model(chain_flat(2))
    run = vt.simulate(model, duration=0.1, dt=0.01, control=vt.Control(torque=[0.1, 0.2]))
    for before in (run, vt.Trajectory.load(run.save(tmp_path / "run.npz"))):
        with pytest.raises(vt.InputError, match=r"what drove the run \(torque\); give it again"):
            before.resume(0.1, model=model)
        free = before.resume(0.1, model=model, control=vt.Control())
        assert np.abs(free.p[-1] - before.resume(0.1, model=model, control=[0.1, 0.2]).p[-1]).max() > 1e-3
    assert vt.simulate(model, duration=0.1, dt=0.01).resume(0.1).steps == 20
    sim = vt.Simulation(model, dt=0.01, record_every=1)
    sim.step(control=np.array([0.1, 0.2]))
    with pytest.raises(vt.InputError, match=r"what drove the run \(torque\); give it again"):
        sim.trajectory.resume(0.1)
    sim.step(control=np.zeros(2))
    assert sim.trajectory.resume(0.1).steps == 12


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"dt": 0.01}, "those of the run"), ({"order": 4}, "those of the run"),
        ({"q0": np.zeros(2)}, "those of the run"), ({"p0": np.zeros(2)}, "those of the run"),
        ({"method": "midpoint"}, 'was by "rk4", not "midpoint"'), ({"resume": "run.npz"}, "Trajectory"),
    ],
)  # fmt: skip
def test_a_simulation_that_goes_on_takes_no_other_start(change, text):
    run = short(duration=0.02, dt=0.01, method="rk4")
    with pytest.raises(vt.InputError, match=text):
        vt.Simulation(vt.Model(chain_flat(2)), **{"resume": run, **change})
