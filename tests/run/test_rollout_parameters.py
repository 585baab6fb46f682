"""Rollouts whose instances have models of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_models import random_inertia

import vitree as vt

N = 6
MODEL = vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"hinge2": (20.0, 2.0)})


def parameters(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "mass": {"rod1": rng.uniform(0.5, 2.0, n), "rod2": rng.uniform(0.5, 2.0, n)},
        "com": {"rod2": rng.normal(size=(n, 3))},
        "inertia": {"rod1": np.array([random_inertia(rng, 1.0) for _ in range(n)])},
        "damping": rng.uniform(0, 1, (n, 2)), "friction": {"hinge1": rng.uniform(0, 1, n)},
        "armature": {"hinge1": rng.uniform(0, 1, n)}, "gravity": rng.normal(size=(n, 3)),
        "gains": {"hinge2": rng.uniform(1, 30, (n, 2))},
    }  # fmt: skip


def row(value, k):
    return {name: row(each, k) for name, each in value.items()} if isinstance(value, dict) else value[k]


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
@pytest.mark.parametrize("which", [*parameters(), "all"])
def test_each_instance_has_the_bits_of_its_model(method, which):
    given = parameters() if which == "all" else {which: parameters()[which]}
    q = np.random.default_rng(1).uniform(-1, 1, (N, 2))
    rollout = vt.rollout(MODEL, q, duration=0.2, dt=0.01, method=method, parameters=given,
                         control=vt.Control(targets=[0.5]), threads=2,
                         record=("q", "v", "energy", "center_of_mass"))  # fmt: skip
    assert not rollout.failed
    for k in range(N):
        model = MODEL.with_parameters(**row(given, k))
        run = vt.simulate(model, q[k], duration=0.2, dt=0.01, method=method, control=vt.Control(targets=[0.5]))
        assert rollout.system_of(k) == model
        for name in ("q", "v", "energy"):
            assert np.array_equal(getattr(rollout, name)[k], getattr(run, name)), name
        one = rollout[k]
        for name in ("p", "kinetic", "potential", "momentum"):  # of its own masses
            assert getattr(one, name) == pytest.approx(getattr(run, name), rel=1e-9, abs=1e-9), name
    if which not in ("gains", "gravity"):
        assert np.ptp(rollout.q[:, -1] - q, axis=0).max() > 1e-6
    assert pickle.loads(pickle.dumps(rollout)).system_of(1) == rollout.system_of(1)


def test_parameters_with_torques_and_policies():
    given, rng = parameters(), np.random.default_rng(2)
    rows = rng.normal(size=(N, 10, 2))
    by_rows = vt.rollout(MODEL, duration=0.1, dt=0.01, parameters=given, control=rows)
    by_policy = vt.rollout(MODEL, duration=0.1, dt=0.01, parameters=given, control=lambda t, Q, V: -0.5 * V,
                           record=("q", "v", "energy"))  # fmt: skip
    for k in (0, 3):
        model = MODEL.with_parameters(**row(given, k))
        held, led = (vt.Simulation(model, dt=0.01) for _ in range(2))
        for step in range(10):
            held.step(control=rows[k, step])
            led.step(control=-0.5 * led.v)
        assert np.array_equal(held.q, by_rows.q[k, -1])
        assert np.array_equal(led.q, by_policy.q[k, -1])
        energy = model.kinetic_energy(led.q, led.v) + model.potential_energy(led.q)
        assert by_policy.energy[k, -1] == pytest.approx(energy)


def test_instances_with_impossible_numbers_fail_alone():
    given = {"mass": {"rod1": np.array([-1.0, 1.0, 1.0, 2.0])},
             "inertia": {"rod2": np.array([np.eye(3), np.eye(3), -np.eye(3), np.eye(3)])}}  # fmt: skip
    for torque in (None, lambda t, Q, V: np.zeros_like(V)):
        rollout = vt.rollout(MODEL, duration=0.1, dt=0.01, parameters=given, control=torque)
        assert [*rollout.failed] == [0, 2]
        assert 'mass of "rod1"' in str(rollout.failed[0])
        assert np.isnan(rollout.q[[0, 2]]).all()
        assert np.isfinite(rollout.q[[1, 3]]).all()
        with pytest.raises(vt.InputError, match="instance 0 has no record"):
            rollout[0]
        assert len(rollout[3]) == 11


@pytest.mark.parametrize(("given", "text"), [
    ({"mas": np.ones((N, 3))}, 'no parameter "mas"; did you mean "mass"'),
    ({"mass": {"rod3": np.ones(N)}}, 'no link "rod3"'),
    ({"mass": {"rod1": 1.0}}, r'parameters\["mass"\]\["rod1"\] is one number'),
    ({"mass": {"rod1": np.ones((N, 2))}}, r'mass\["rod1"\] has shape \(2,\)'),
    ({"mass": {"rod1": np.array([1.0, 2, 3, 4, 5, np.nan])}}, r'parameters\["mass"\]\["rod1"\] must be finite'),
    ({"mass": {"rod1": np.ones(N), "rod2": np.ones(N - 1)}}, "different numbers of instances"),
    ({"damping": np.ones((N, 3))}, "damping"),
    ({"gains": {"hinge1": np.ones((N, 2))}}, 'no driven joint "hinge1"'),
    ([1.0], "parameters"),
])  # fmt: skip
def test_wrong_parameters_are_refused_before_anything_runs(given, text):
    with pytest.raises(vt.VitreeError, match=text):
        vt.rollout(MODEL, duration=0.1, dt=0.01, parameters=given, instances=N if isinstance(given, dict) else None,
                   progress=lambda done, total: pytest.fail("it ran"))  # fmt: skip


def test_systems_without_parameters_refuse_them():
    car = vt.vehicles.car()
    with pytest.raises(vt.InputError, match="parameters are of a vitree Model"):
        vt.rollout(car, duration=0.1, dt=0.01, parameters={"mass": {"body": np.ones(3)}})
