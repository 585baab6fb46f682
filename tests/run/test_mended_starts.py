"""Starts: records of runs that rebound, starts that are off by a little, and instances whose start cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

pytest.importorskip("gymnasium")
from vitree.gym import VectorEnv

#: What MuJoCo's bodies sink in at rest [m].
SUNK = 1.08e-4

G = 9.81


def box(restitution=0.0, friction=0.5):
    tree = vt.Tree("box")
    tree.world.add(vt.free("base"), vt.body("box", 2.0, (0.022, 0.033, 0.042)))
    points = [(s * 0.2, r * 0.15, t * 0.1) for s in (-1, 1) for r in (-1, 1) for t in (-1, 1)]
    tree.contact(vt.Contact("box", points=points), vt.Ground(friction=friction, restitution=restitution))
    return tree.compile()


def resting():
    model = box()
    return model, vt.place_on_ground(model, model.neutral())


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4", "semi-implicit-euler"])
@pytest.mark.parametrize("e", [0.8, 1.0])
def test_a_run_goes_on_from_each_of_its_records(e, method):
    """(q, v) of a box that bounces starts a run that goes on as the run did, also where a corner is in the ground."""
    model, rng = box(e), np.random.default_rng(1)
    q = vt.place_on_ground(model, model.integrate(model.neutral(), np.r_[0, 0, 0.3, 0.5 * rng.normal(size=3)]))
    q[2] += 0.1
    v = np.r_[0.3 * rng.normal(size=3), 2 * rng.normal(size=3)]
    run = vt.simulate(model, q, v, duration=1.0, dt=5e-3, method=method, monitors="gap")
    assert run.monitors["gap"].min() < -1e-3
    for k in range(len(run)):
        rest = vt.simulate(model, run.q[k], run.v[k], duration=0.025, dt=5e-3, method=method)
        assert not rest.warnings
        n = min(6, len(run) - k)
        np.testing.assert_allclose(rest.q[:n], run.q[k : k + n], rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4", "semi-implicit-euler"])
@pytest.mark.parametrize("e", [0.1, 0.3, 0.45])
def test_records_of_a_landing_have_its_rebound(e, method):
    """What is stopped where it closes rebounds in the velocity of that record, whose energy is not exceeded later."""
    tree = vt.Tree("ball")
    tree.world.add(vt.tz("z"), vt.body("ball", 1.0, (0.01, 0.01, 0.01)))
    tree.world.add(vt.rx("door", lower=-0.5, upper=0.5, limit_restitution=e), vt.body("leaf", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Ground(restitution=e), vt.Contact("ball", shapes=vt.Sphere(0.05)))
    tree.limits = "enforce"
    model = tree.compile()
    run = vt.simulate(model, [0.25, 0.0], [0.0, 2.0], duration=0.6, dt=1e-3, method=method)
    sim = vt.Simulation(model, [0.25, 0.0], [0.0, 2.0], dt=1e-3, method=method)
    landed = np.flatnonzero((run.v[1:, 0] > 0.1) & (run.v[:-1, 0] < 0))
    assert len(landed) > 0 and (np.diff(run.v[:, 1]) < -0.5).any()
    closes = np.sqrt(2 * G * 0.2)
    assert run.v[landed[0] + 1, 0] == pytest.approx(e * closes, abs=2e-2)
    if method != "semi-implicit-euler":
        assert np.diff(run.energy).max() < 1e-9
    for k in range(0, len(run) - 6):
        rest = vt.simulate(model, run.q[k], run.v[k], duration=5e-3, dt=1e-3, method=method)
        np.testing.assert_allclose(rest.q, run.q[k : k + 6], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(sim.v, run.v[k])
        assert sim.energy == run.energy[k]
        sim.step()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_a_start_that_has_sunk_in_is_brought_together(method):
    model, q = resting()
    down = q - SUNK * np.eye(7)[2]
    run = vt.simulate(model, down, duration=0.1, dt=1e-3, method=method)
    for word in ("brought together", "0.000108", '"box" and the ground'):
        assert word in run.warnings[0]
    np.testing.assert_allclose(run.q, np.tile(q, (101, 1)), rtol=0, atol=1e-12)
    simulation = vt.Simulation(model, down, dt=1e-3, method=method, record_every=1)
    simulation.step(3)
    assert simulation.trajectory.warnings == run.warnings
    assert not vt.simulate(model, q, duration=0.01, dt=1e-3, method=method).warnings


def test_deeper_ones_are_refused():
    model, q = resting()
    with pytest.raises(vt.InputError, match=r'"box" and the ground overlap by 0.0011 m at the start'):
        vt.simulate(model, q - 1.1e-3 * np.eye(7)[2], duration=0.1, dt=1e-3)
    # at the speed of a step that ends there, a body that rebounds may be as deep
    model = box(0.8)
    deep = q - 5e-3 * np.eye(7)[2]
    run = vt.simulate(model, deep, [0, 0, -3.0, 0, 0, 0], duration=0.1, dt=5e-3)
    assert not run.warnings and run.v[1, 2] == pytest.approx(0.8 * 3.0, abs=0.1)
    with pytest.raises(vt.InputError, match=r"overlap by 0\.005"):
        vt.simulate(model, deep, [0, 0, -0.3, 0, 0, 0], duration=0.1, dt=5e-3)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_records_on_a_spring_start_runs(method):
    """A body in a spring of the ground is pushed by it, whichever way it moves."""
    tree = vt.Tree("block")
    tree.world.add(vt.tz("z"), vt.body("block", 1.0))
    tree.contact(vt.Contact("block"), vt.Ground(stiffness=1e3, damping=5.0))
    model = tree.compile()
    run = vt.simulate(model, [0.05], duration=0.4, dt=1e-3, method=method)
    assert run.q.min() < -0.03
    for k in range(100, 300, 10):
        rest = vt.simulate(model, run.q[k], run.v[k], duration=0.02, dt=1e-3, method=method)
        assert not rest.warnings
        assert np.abs(rest.q - run.q[k : k + 21]).max() < 5e-4


def test_bodies_between_others_are_brought_together():
    """Balls in a stack overlap each other and the ground; prescribed ones stay."""
    tree = vt.Tree("stack")
    for k in range(3):
        tree.world.add(vt.tz(f"slide{k}"), vt.body(f"ball{k}", 10.0 ** -k))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(0.05)))
    tree.contact(vt.Ground())
    model = tree.compile()
    run = vt.simulate(model, [0.0499, 0.1497, 0.2490], duration=0.1, dt=1e-3)
    assert model.contact_gaps(run.q[0]).gap.min() > -1e-11
    np.testing.assert_allclose(run.q[-1], [0.05, 0.15, 0.25], rtol=0, atol=1e-9)
    assert run.warnings[0].count("overlapped") == 3


def four_bar():
    tree = vt.Tree("bars")
    for name, x in (("a", 0.0), ("b", 1.0)):
        tree.world.add(vt.tx(x), vt.ry(name), vt.tz(-0.5), vt.body(f"bar {name}", 1.0, (0.01,) * 3))
    tree.constrain(vt.Distance("bar a", "bar b", 1.0))
    return tree.compile()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_a_loop_that_is_open_by_a_little_is_closed(method):
    model = four_bar()
    run = vt.simulate(model, [0.3, 0.3001], [1.0, 1.0], duration=0.1, dt=1e-3, method=method)
    assert "brought together" in run.warnings[0] and "was open by 4.78e-05" in run.warnings[0]
    assert np.abs(run.constraint).max() < 1e-9 and np.abs(run.q[0] - 0.30005).max() < 1e-7
    with pytest.raises(vt.InputError, match="satisfy_constraints"):
        vt.simulate(model, [0.3, 0.305], [1.0, 1.0], duration=0.1, dt=1e-3, method=method)


def test_limits_that_are_passed_by_a_little():
    tree = vt.Tree("rail")
    tree.world.add(vt.tz("z", lower=0.0), vt.body("block", 2.0))
    tree.limits = "enforce"
    model = tree.compile()
    run = vt.simulate(model, [-5e-4], duration=0.1, dt=1e-3)
    assert '"z" was beyond its limit by 0.0005' in run.warnings[0] and np.abs(run.q).max() < 1e-12
    with pytest.raises(vt.InputError, match="beyond its limits"):
        vt.simulate(model, [-2e-3], duration=0.1, dt=1e-3)


# ---- many instances -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asks", [False, True])
def test_a_rollout_goes_on_without_the_instance_whose_start_cannot_be(asks):
    model, q = resting()
    starts = np.tile(q, (4, 1))
    starts[1, 2] -= 0.5
    starts[2, 2] -= SUNK
    torque = (lambda t, Q, V: np.zeros_like(V)) if asks else None
    found = vt.rollout(model, starts, duration=0.05, dt=1e-3, control=torque)
    assert list(found.failed) == [1] and str(found.failed[1]).startswith("instance 1: ")
    assert found.rows.tolist() == [51, 0, 51, 51]
    assert np.isnan(found.q[1]).all()
    np.testing.assert_allclose(found.q[[0, 2, 3], -1], starts[[0, 0, 0]], rtol=0, atol=1e-12)
    with pytest.raises(vt.InputError, match=r"instance 0: .*place_on_ground"):
        vt.rollout(model, starts[[1, 1]], duration=0.05, dt=1e-3, control=torque)


def test_an_environment_goes_on_without_the_episode_whose_start_cannot_be():
    model, q = resting()
    asked = iter([[], [1], [], [], []])

    def start(rng, count):
        starts = np.tile(q, (count, 1))
        for k in next(asked):
            starts[k, 2] -= 0.5
        return starts, np.zeros((count, 6))

    env = VectorEnv(model, 3, dt=1e-3, reward=lambda Q, V, A: np.ones(3), start=start, dtype=np.float64)
    _, told = env.reset(seed=0)
    assert told["failed"].tolist() == [False, True, False]
    actions = np.zeros((3, len(env.single_action_space.low)))
    _, _, _, late, told = env.step(actions)
    assert late.tolist() == told["failed"].tolist() == [False, True, False]
    observed, *_, told = env.step(actions)
    assert not told["failed"].any()
    np.testing.assert_allclose(observed[:, :7], np.tile(q, (3, 1)), rtol=0, atol=1e-12)
    env.close()


def test_starts_whose_quaternion_is_of_unit_length_but_for_the_last_bits():
    """Some are not taken by the first way to start, and are still not to be normalised."""
    tree = vt.Tree("floating")
    tree.world.add(vt.free("base"), vt.body("body", 1.0, (1, 1, 1)))
    model, rng = tree.compile(), np.random.default_rng(0)
    for _ in range(50):
        q = model.neutral()
        q[3:] = rng.standard_normal(4)
        q[3:] /= np.linalg.norm(q[3:])
        run = vt.simulate(model, q, [1, 0, 0, 0, 0, 0], t0=3.0, duration=1e-3, dt=1e-3)
        assert run.t[0] == 3.0 and np.array_equal(run.q[0], q) and run.v[0, 0] == pytest.approx(1.0)
