"""Rollouts of every method, joint kind, load, drive and constraint: each instance has the bits of simulate()."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import (
    conservative_loads,
    constrained_tree,
    driving_loads,
    every_constraint,
    random_tree,
    singles,
)
from random_models import random_flat, random_state

import vitree as vt
from vitree import _core
from vitree.integrators import METHODS
from vitree.mechanism.flat import KINDS
from vitree.run import lanes as held

WIDTHS = [w for w in _core.widths() if w > 1]
IN_LANES = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")


@pytest.fixture(params=WIDTHS)
def width(request, monkeypatch):
    """Blocks of so many lanes."""
    monkeypatch.setattr(held, "wide", lambda: _core.lanes(request.param))
    return request.param


def require_same(model, q, v, *, steps=12, dt=0.01, options=None, each=None, **more):
    """Roll out, compare each instance with its own run, and return the rollout."""
    control, each = more.pop("control", {}), each or {}
    rollout = vt.rollout(model, q, v, duration=steps * dt, dt=dt, threads=2, control=vt.Control(**control, **each),
                         **more, **(options or {}))  # fmt: skip
    for k in range(len(rollout)):
        mine = {name: array[k] for name, array in each.items()}
        start = q if q.ndim == 1 else q[k], v if v.ndim == 1 else v[k]
        try:
            run = vt.simulate(model, *start, duration=steps * dt, dt=dt, control=vt.Control(**control, **mine), **more,
                              **(options or {}))  # fmt: skip
            assert k not in rollout.failed
        except vt.ConvergenceError as error:
            assert str(rollout.failed[k]) == str(error)
            run = error.trajectory
        rows = int(rollout.rows[k])
        assert rows == len(run)
        assert np.array_equal(rollout.q[k, :rows], run.q)
        assert np.array_equal(rollout.v[k, :rows], run.v)
        assert np.isnan(rollout.q[k, rows:]).all()
    return rollout


def states(flat, n, seed=0, fastest=1.0):
    rng = np.random.default_rng(seed)
    both = [random_state(flat, rng) for _ in range(n)]
    return np.array([q for q, _ in both]), np.array([v for _, v in both]) * np.geomspace(0.1, fastest, n)[:, None]


# ---- joints and methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", IN_LANES)
def test_every_joint_kind_with_instances_that_fail(kind, method, width):
    flat = random_flat(np.random.default_rng(3), nbody=4, kinds=(kind,), damping=True)
    q, v = states(flat, 2 * width + 1, fastest=1e4)
    v[1] *= 1e90
    rollout = require_same(vt.Model(flat), q, v, method=method)
    # damping of what translates a whole tree couples its joints in midpoint
    assert rollout.in_lanes.any() == (method != "midpoint" or kind not in ("prismatic", "free"))
    assert (1 in rollout.failed) == (kind != "prismatic")
    assert 0 not in rollout.failed


@pytest.mark.parametrize("options", [{}, {"order": 4}], ids=str)
@pytest.mark.parametrize("base", ["free", "fixed"])
def test_midpoint_of_trees_that_float(base, options, width):
    kinds = ("revolute", "ball", "helical", "prismatic") if base == "free" else ("prismatic",)
    flat = random_flat(np.random.default_rng(3), nbody=5, kinds=kinds, base=base)
    model = vt.Model(flat)
    rollout = require_same(model, *states(flat, 2 * width + 1), method="midpoint", options=options)
    assert rollout.in_lanes.all() and vt.METHODS["midpoint"](model, 0.01).relative


@pytest.mark.parametrize("method", [name for name in METHODS if name not in IN_LANES])
def test_every_other_method(method):
    flat = random_flat(np.random.default_rng(5), nbody=4, kinds=("revolute", "prismatic"), damping=method != "gauss")
    q, v = states(flat, 5)
    require_same(vt.Model(flat), q, v, method=method, steps=5)


def test_backwards_in_time_and_a_composition_with_damping(width):
    flat = random_flat(np.random.default_rng(6), nbody=5, damping=True)
    q, v = states(flat, width + 1, fastest=3.0)
    for method in ("linear-time", "midpoint"):
        for order in (2, 4, 6):
            require_same(vt.Model(flat), q, v, method=method, dt=0.02, options={"order": order})


# ---- drives ---------------------------------------------------------------------------------------------

LIMITS = [{}, {"effort_limit": 2.0}, {"effort_limit": 3.0, "velocity_limit": 1.5}]


def driven(seed, **limits):
    """A random tree with drives on its joints of one coordinate, half of them with a target rate that is an input."""
    flat, _, _ = random_tree(seed, nbody=6, damping=True)
    rng = np.random.default_rng(seed)
    drives = [
        vt.Drive(name, 10 ** rng.uniform(0, 3), 10 ** rng.uniform(-1, 1.5), target=f"{name} goal",
                 **({"target_rate": f"{name} rate"} if k % 2 else {}), **limits)
        for k, name in enumerate(singles(flat)[:-1])
    ]  # fmt: skip
    return replace(flat, loads=tuple(drives))


@pytest.mark.parametrize("limits", LIMITS, ids=["free", "effort", "motor"])
@pytest.mark.parametrize("method", IN_LANES)
def test_drives_in_lanes(limits, method, width):
    flat = driven(1, **limits)
    model = vt.Model(flat)
    n, steps, rng = 2 * width + 1, 20, np.random.default_rng(2)
    q, v = states(flat, n, fastest=5.0)
    dt = 0.02 if method in ("linear-time", "midpoint") else 0.002
    targets = rng.uniform(-2, 2, (n, steps, len(model.drives)))
    more = {"steps": steps, "dt": dt, "method": method}
    for each in ({}, {"targets": targets[:, 0]}, {"targets": targets}):
        assert require_same(model, q, v, each=each, **more).in_lanes.any()
    one = model.drives[1]
    signals = {"inputs": {one.target_rate: 0.3, one.target: 0.1}}
    assert require_same(model, q, v, control=signals, **more).in_lanes.any()
    inputs = rng.uniform(-1, 1, (n, len(model.input_names)))
    torque = rng.normal(size=model.nv)
    assert require_same(model, q, v, each={"inputs": inputs}, control={"torque": torque}, **more).in_lanes.any()


@pytest.mark.parametrize(
    "options", [{"order": 4}, {"norm": "energy"}, {"solver": "modified-newton"}, {"tolerance": 1e-4}], ids=str
)
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_options_with_drives_in_lanes(method, options, width):
    flat = driven(4, effort_limit=5.0)
    q, v = states(flat, 2 * width + 1, fastest=4.0)
    require_same(vt.Model(flat), q, v, method=method, dt=0.01, options=options)


def test_targets_by_joint_and_by_a_policy(width):
    model = vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"*": (20.0, 2.0)})
    rng = np.random.default_rng(0)
    n = 2 * width + 1
    q, v, targets = rng.uniform(-1, 1, (n, 2)), np.zeros(2), rng.uniform(-1, 1, (n, 10))
    joint, other = (drive.joint for drive in model.drives)
    for method in ("linear-time", "rk4"):
        rollout = vt.rollout(model, q, duration=0.1, dt=0.01, control=vt.Control(targets={joint: targets, other: 0.2}),
                             method=method)
        assert rollout.in_lanes.all()
        for k in range(n):
            mine = {joint: targets[k], other: np.full(10, 0.2)}
            run = vt.simulate(model, q[k], v, duration=0.1, dt=0.01, control=vt.Control(targets=mine), method=method)
            assert np.array_equal(rollout.q[k], run.q)
        more = {"dt": 0.01, "method": method}
        policy = vt.rollout(model, q, duration=0.1, **more,
                            control=vt.Control(torque=[0.1, 0], targets=lambda t, Q, V: 0.5 * Q))  # fmt: skip
        one = vt.Simulation(model, q[3], control=[0.1, 0], **more)
        for _ in range(10):
            one.step(control=vt.Control(targets=0.5 * one.q))
        assert np.array_equal(one.q, policy.q[3, -1])


def test_two_drives_of_one_input_run_one_by_one():
    flat, _, _ = random_tree(3, nbody=4)
    one, other = singles(flat)[:2]
    drives = tuple(vt.Drive(name, 5.0, 1.0, target="both") for name in (one, other))
    model = vt.Model(replace(flat, loads=drives))
    q, v = states(flat, 3)
    same = np.full((3, 2), 0.3)
    assert not require_same(model, q, v, each={"targets": same}).in_lanes.any()
    with pytest.raises(vt.InputError, match="one input"):
        vt.rollout(model, q, v, duration=0.1, dt=0.01, control=vt.Control(targets=np.array([[0.1, 0.2]] * 3)))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"control": vt.Control(targets={"elbow": 1.0})}, "elbow"), ({"control": vt.Control(inputs={"wind": 1.0})},
                                                                     "wind"),
        ({"control": vt.Control(targets=np.zeros((3, 1)))},
         "targets"), ({"control": vt.Control(inputs=np.zeros((3, 1)))}, "inputs"),
        ({"control": vt.Control(targets=np.zeros((3, 2)), inputs=np.zeros((3, 2)))}, "mapping"),
        ({"control": vt.Control(targets=np.full((3, 2), np.nan))}, "finite"),
    ],
)  # fmt: skip
def test_wrong_signals_are_told(wrong, text):
    model = vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"*": (20.0, 2.0)})
    with pytest.raises(vt.VitreeError, match=text):
        vt.rollout(model, np.zeros((3, 2)), duration=0.1, dt=0.01, **wrong)


# ---- what has no lanes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "gauss", "rk4"])
@pytest.mark.parametrize("loads", [conservative_loads, driving_loads])
def test_every_load(loads, method):
    flat, _, _ = random_tree(7, nbody=6)
    model = vt.Model(replace(flat, loads=loads(flat)))
    q, v = states(flat, 5)
    inputs = np.random.default_rng(0).normal(size=(5, len(model.input_names)))
    rollout = require_same(model, q, v, each={"inputs": inputs} if inputs.size else {}, method=method, dt=0.002)
    assert not rollout.in_lanes.any()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_every_constraint(method):
    model, q, v = constrained_tree(2, nbody=8)
    assert len(model.constraints) == len(every_constraint(model.flat, q, np.random.default_rng(2)))
    speeds = np.linspace(0.2, 1.0, 4)[:, None] * v
    require_same(model, np.tile(q, (4, 1)), speeds, method=method, dt=0.002)


def test_any_number_of_instances_and_threads(width):
    flat = driven(8, effort_limit=4.0)
    model = vt.Model(flat)
    q, v = states(flat, 33, fastest=3.0)
    targets = np.random.default_rng(0).uniform(-1, 1, (33, len(model.drives)))
    for method in IN_LANES:
        more = {"duration": 0.05, "dt": 0.005, "method": method}
        whole = vt.rollout(model, q, v, control=vt.Control(targets=targets), threads=2, **more)
        for n in range(1, 33):
            part = vt.rollout(model, q[:n], v[:n], control=vt.Control(targets=targets[:n]), threads=1 + n % 3, **more)
            assert np.array_equal(part.q, whole.q[:n])
            assert np.array_equal(part.v, whole.v[:n])


