"""Runs that go on from a checkpoint: bit for bit as if they had not stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import SINGLE, conservative_loads, constrained_tree, coordinate, driving_loads, random_tree, singles
from random_models import chain_flat

import vitree as vt
from vitree.mechanism.flat import KINDS

DT = 0.005
FIELDS = ("t", "q", "v", "p", "energy", "momentum", "iterations", "residual", "constraint", "multipliers")


class Stirring(vt.Force):
    """A force of time, velocities and inputs."""

    def force(self, model, t, q, v, u):
        return np.sin(3 * t + np.arange(model.nv)) - 0.4 * v


def torque(t, q, v):
    """A controller's."""
    return np.cos(2 * t) - 0.7 * v


OVER_TIME = {"push": lambda t: np.sin(5 * t), "turn": np.cos}


def start(name, kinds):
    """A model, a state (q, v), and what drives it."""
    more = {}
    if name == "constraints":
        model, q, v = constrained_tree(2, nbody=8, speed=0.5, kinds=kinds)
        return vt.Model(replace(model.flat, loads=conservative_loads(model.flat)[:4])), q, v, more
    flat, q, v = random_tree(5, nbody=5, kinds=kinds, damping=True)
    if name in ("loads", "inputs of t"):
        flat = replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat)))
        more = {"inputs": OVER_TIME} if name == "inputs of t" else {"inputs": {"push": 0.4}}
    elif name == "torque":
        more = {"torque": torque}
    elif name == "written":
        flat = replace(flat, loads=(Stirring(),))
    elif name.startswith("prescribed"):
        model, moves = vt.Model(flat), {}
        kinematic = np.zeros(model.nv, bool)
        for one in singles(flat)[1:3]:
            kinematic[model.joint(one).v_slice] = True
            x = coordinate(flat, q, one)
            moves[one] = lambda t, x=x: x + 0.2 * np.sin(4 * (t - 0.3))
        flat, more, v = replace(flat, kinematic=kinematic), {"prescribed": moves}, np.where(kinematic, 0.0, v)
    return vt.Model(flat), q, v, more


CASES = ["plain", "constraints", "loads", "inputs of t", "torque", "written", "prescribed"]
CHOICES = [
    ("linear-time", {}), ("linear-time", {"order": 4}), ("linear-time", {"order": 4, "guess": "aba"}),
    ("linear-time", {"order": 6, "guess": "semi-implicit"}),
    ("linear-time", {"solver": "newton", "guess": "extrapolate-3"}), ("linear-time", {"solver": "broyden"}),
    ("linear-time", {"solver": "frozen", "guess": "extrapolate"}),
    ("linear-time", {"solver": "riqn", "guess": "euler"}),
    ("linear-time", {"solver": "recursive-newton", "halvings": 2}),
    ("midpoint", {}), ("midpoint", {"order": 4}), ("midpoint", {"order": 4, "guess": "aba"}),
    ("midpoint", {"solver": "frozen", "guess": "extrapolate-2"}), ("midpoint", {"solver": "broyden"}),
    ("midpoint", {"solver": "recursive-newton"}), ("midpoint", {"solver": "newton"}),
    ("midpoint", {"solver": "riqn", "guess": "current"}),
    ("midpoint", {"residual": "tree"}), ("midpoint", {"residual": "tree", "solver": "newton", "guess": "extrapolate"}),
    ("midpoint", {"residual": "tree", "solver": "frozen", "caching": False, "order": 4}),
    ("explicit-euler", {}), ("semi-implicit-euler", {}), ("rk4", {}), ("rk8", {}),
]  # fmt: skip


def name_of(x):
    """Of a method or its options, in the names of tests."""
    return x if isinstance(x, str) else ",".join(map(str, x.values()))


def same(whole, part, begin, every=1):
    """The records of a part of a run are those of the whole, to the last bit."""
    there = slice(begin, begin + (len(part) - 1) * every + 1, every)
    for name in FIELDS:
        one, two = getattr(whole, name)[there], getattr(part, name)
        if name in ("iterations", "residual", "multipliers"):  # a run's first record has none
            one, two = one[1:], two[1:]
        assert one.tobytes() == two.tobytes(), name


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("method", "chosen"), CHOICES, ids=name_of)
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
        run = vt.simulate(model, duration=steps * DT, resume=before, **more)
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
    whole = vt.simulate(model, q, v, duration=60 * DT, dt=DT, method=method, inputs=rows)
    run = vt.simulate(model, q, v, duration=25 * DT, dt=DT, method=method, inputs=rows[:25])
    part = vt.simulate(model, duration=35 * DT, resume=run, inputs=rows[25:])
    same(whole, part, 25)
    with pytest.raises(vt.InputError, match="34 rows"):
        vt.simulate(model, duration=35 * DT, resume=run, inputs=rows[26:])


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_what_is_recorded_is_counted_from_where_the_run_goes_on(method):
    """After 25 steps of which each tenth was recorded, the state is that of step 25."""
    model = vt.Model(chain_flat(4))
    q = np.linspace(0.1, 0.9, 4)
    whole = vt.simulate(model, q, duration=60 * DT, dt=DT, method=method)
    run = vt.simulate(model, q, duration=25 * DT, dt=DT, method=method, every=10)
    assert len(run) == 3
    for every in (1, 7, 10, 35, 40):
        for monitors in ((), ("energy",)):
            part = vt.simulate(model, duration=35 * DT, resume=run, every=every, monitors=monitors)
            assert len(part) == 1 + 35 // every
            same(whole, part, 25, every)
            if monitors:
                assert part.monitors["energy"].tobytes() == whole.energy[26:].tobytes()


def test_a_failed_run_is_resumed_where_it_failed():
    model = vt.Model(chain_flat(3))

    def blow(t, q, v):
        return np.full(3, 1e9 if 0.05 < t < 0.06 else 0.1)

    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(model, np.full(3, 0.3), duration=0.2, dt=0.01, torque=blow, halvings=0)
    run = failure.value.trajectory
    part = vt.simulate(model, duration=0.1, resume=run, torque=np.zeros(3))
    assert part.t[0] == run.t[-1] and np.array_equal(part.q[0], run.q[-1]) and np.array_equal(part.p[0], run.p[-1])
    assert np.isfinite(part.q).all() and part.steps == run.steps + 10


def short(**more):
    return vt.simulate(vt.Model(chain_flat(2)), **more)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": vt.Model(chain_flat(2, damping=0.1))}, "another model"),
        ({"dt": 0.01}, "those of the run"),
        ({"order": 4}, "those of the run"),
        ({"q0": np.zeros(2)}, "those of the run"),
        ({"p0": np.zeros(2)}, "those of the run"),
        ({"method": "midpoint"}, 'was by "rk4", not "midpoint"'),
        ({"resume": "run.npz"}, "Trajectory"),
        ({"resume": lambda run: run[:-1]}, "whole run"),
        ({"resume": lambda run: replace(run, checkpoint=run.checkpoint[:-8])}, "another version"),
        ({"resume": lambda run: short(duration=0.02, dt=0.01, method="scipy-rk45")}, "SciPy"),
        ({"resume": lambda run: short(dt=[0.01, 0.02])}, "differed"),
    ],
)
def test_what_cannot_be_resumed_is_refused(change, text):
    run = short(duration=0.02, dt=0.01, method="rk4")
    given = {"model": vt.Model(chain_flat(2)), "duration": 0.02, "resume": run, **change}
    if callable(given["resume"]):
        given["resume"] = given["resume"](run)
    with pytest.raises(vt.InputError, match=text):
        vt.simulate(given.pop("model"), **given)
