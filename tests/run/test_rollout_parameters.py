"""Rollouts whose instances have models of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_models import random_flat, random_inertia, random_state
from walkers import walker

import vitree as vt
from vitree._core import wide
from vitree.run import lanes

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


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
@pytest.mark.parametrize("which", [*parameters(), "all"])
def test_each_instance_has_the_bits_of_its_model(method, which):
    given = parameters() if which == "all" else {which: parameters()[which]}
    q = np.random.default_rng(1).uniform(-1, 1, (N, 2))
    rollout = vt.rollout(MODEL, q, duration=0.2, dt=0.01, method=method, parameters=given,
                         control=vt.Control(targets=[0.5]), threads=2,
                         record=("q", "v", "energy", "center_of_mass"))  # fmt: skip
    assert not rollout.failed
    assert rollout.in_lanes.all() == (wide().VT_LANES > 1)
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


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "semi-implicit-euler"])
def test_robots_with_numbers_of_their_own_are_in_lanes(method):
    """Of every kind of joint, from velocities and from momenta; one is impossible, and one has its first rotor."""
    rng, n = np.random.default_rng(3), 11
    floats = method != "midpoint"  # whose steps of what floats have no lanes
    drawn = {"base": "free"} if floats else {"kinds": ("revolute", "prismatic", "helical", "ball")}
    model = vt.Model(random_flat(np.random.default_rng(8), 7, damping=True, **drawn))
    near = lambda value: np.asarray(value)[None] * rng.uniform(0.6, 1.4, (n,) + (1,) * np.ndim(value))  # noqa: E731
    links = {name: k for k, name in enumerate(model.link_names)}
    given = {"mass": {name: near(model.flat.link_mass[k]) for name, k in links.items()},
             "inertia": {name: near(model.flat.link_inertia[k]) for name, k in links.items()},
             "damping": near(model.flat.damping) + 0.1, "armature": np.zeros((n, model.nv)),
             "gravity": rng.normal(size=(n, 3))}  # fmt: skip
    given["mass"][model.link_names[0]][4] = -1.0
    single = next(joint.v_slice.start for joint in model.joints if joint.v_slice.stop - joint.v_slice.start == 1)
    given["armature"][7, single] = 0.2
    states = [random_state(model.flat, rng, speed=0.3) for _ in range(n)]
    q, x = np.array([one for one, _ in states]), np.array([v for _, v in states])
    for name in ("v0", "p0"):
        found = vt.rollout(model, q, **{name: x}, duration=0.2, dt=0.01, method=method, parameters=given,
                           record=("q", "v", "p", "energy"))  # fmt: skip
        assert list(found.failed) == [4]
        assert wide().VT_LANES < 2 or np.flatnonzero(~found.in_lanes).tolist() == [4, 7]
        for k in set(range(n)) - {4}:
            run = vt.simulate(model.with_parameters(**row(given, k)), q[k], **{name: x[k]}, duration=0.2, dt=0.01,
                              method=method)  # fmt: skip
            for what in ("q", "v", "p", "energy"):
                assert np.array_equal(getattr(found, what)[k], getattr(run, what)), (k, what)
            assert found[k].iterations.tolist() == run.iterations.tolist()


@pytest.mark.skipif(wide().VT_LANES < 2, reason="one lane")
def test_robots_on_the_ground_with_numbers_of_their_own_are_in_lanes(monkeypatch):
    """Masses, gains and friction of contacts, without Python in between; none runs alone."""
    model, n, rng = walker(), 2 * wide().VT_LANES, np.random.default_rng(5)
    given = {"mass": {"trunk": rng.uniform(4.0, 8.0, n)}, "gains": {"hip 0": rng.uniform((40, 1), (80, 3), (n, 2))},
             "contact_friction": rng.uniform(0.3, 1.0, n)}  # fmt: skip
    q = vt.place_on_ground(model, model.neutral())
    targets = 0.05 * rng.normal(size=(n, model.nv - 6))
    asked = dict(duration=0.5, dt=2e-3, record=("q", "v", "p", "energy"), control=vt.Control(targets=targets))
    alone, one_by_one = [], lanes.one_by_one
    monkeypatch.setattr(lanes, "one_by_one", lambda batch, which: alone.extend(which))
    found = vt.rollout(model, q, **asked, parameters=given, record_every=50)
    monkeypatch.setattr(lanes, "one_by_one", one_by_one)
    assert alone == []
    for k in range(n):
        own = {**asked, "control": vt.Control(targets=targets[k])}
        run = vt.rollout(model.with_parameters(**row(given, k)), q, **own, record_every=50, instances=1)
        for what in ("q", "v", "p", "energy"):
            assert np.array_equal(getattr(found, what)[k], getattr(run, what)[0]), (k, what)
    assert np.ptp(found.q[:, -1], axis=0).max() > 1e-3
    # friction that none has fails one instance, by patterns of frames as well
    rough = {"contact_friction": {"foot*": [0.5, -1.0, 0.6], "ground": [0.1, 0.2, 0.0]}}
    found = vt.rollout(model, q, duration=0.01, dt=2e-3, parameters=rough)
    assert list(found.failed) == [1] and isinstance(found.failed[1], vt.ModelError)


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
    ({"contact_friction": np.ones(N)}, "may touch"),
])  # fmt: skip
def test_wrong_parameters_are_refused_before_anything_runs(given, text):
    with pytest.raises(vt.VitreeError, match=text):
        vt.rollout(MODEL, duration=0.1, dt=0.01, parameters=given, instances=N if isinstance(given, dict) else None,
                   progress=lambda done, total: pytest.fail("it ran"))  # fmt: skip


def test_systems_without_parameters_refuse_them():
    car = vt.vehicles.car()
    with pytest.raises(vt.InputError, match="parameters are of a vitree Model"):
        vt.rollout(car, duration=0.1, dt=0.01, parameters={"mass": {"body": np.ones(3)}})
