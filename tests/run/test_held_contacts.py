"""Contacts, gaps and wrenches of the step just taken, without records: those that a record of it would have."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from touching_models import GROUNDS, crate, crawler, standing, thrown

import vitree as vt
from vitree.model.contacts import count_of, gaps_at

METHODS = ("linear-time", "midpoint", "semi-implicit-euler", "explicit-euler", "rk4")
#: What a log has of each row.
ROWS = ("number", "impulse", "force", "slip", "gap", "point", "point_a", "point_b", "normal", "a", "b")


def rod():
    tree = vt.Tree("rod")
    tree.world.add(vt.ry("hinge", lower=-0.4, upper=0.9), vt.tx(0.3), vt.body("rod", 1.0, (0.01,) * 3))
    tree.world.add(vt.ry(0.3), vt.tx("slide", dry_friction=8.0), vt.body("block", 2.0))
    tree.limits = "enforce"
    return tree.compile()


def agree(sim, run, k, frames):
    """What a simulation tells after the step to record k of a run."""
    held, log = sim.contacts, run.contacts.of(k)
    assert len(held) == len(log)
    for name in ROWS:
        np.testing.assert_array_equal(getattr(held, name), getattr(log, name), name)
    model = sim.model.full
    q = run.q[k] if sim.model is model else sim.model.expand(run.q[k])
    n = count_of(model.contact_candidates)
    np.testing.assert_allclose(sim.gaps, gaps_at(model, np.arange(n), np.zeros(n, int), q[None])[0], rtol=0, atol=1e-14)
    for names in frames:
        expected = run.contact_wrench(*names)[k]
        size = 1 + np.abs(expected).max()
        np.testing.assert_allclose(sim.contact_wrench(*names), expected, rtol=0, atol=2e-13 * size)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("ground", "limits"), [("plane", True), ("slope", False), ("corner", True), ("hills", False)])
def test_a_held_run_tells_what_records_do(ground, limits, method):
    """After each step, whatever else is asked for in between."""
    model = crawler(GROUNDS[ground], limits)
    q, v = thrown(model, 3, lift=0.01)
    dt, count = 2e-3, 200
    run = vt.simulate(model, q, v, duration=count * dt, dt=dt, method=method)
    assert len(run.contacts) > 200
    sim = vt.Simulation(model, q, v, dt=dt, method=method)
    assert len(sim.contacts) == 0 and not sim.contact_wrench().any()
    frames = ((), ("trunk",), ("left_foot", "ball"))
    asks = np.random.default_rng(0).integers(0, 4, count)
    for k in range(1, count + 1):
        sim.step()
        if asks[k - 1] == 1:
            assert sim.v is not None
        elif asks[k - 1] == 2:
            assert sim.contact_wrench() is not None and sim.v is not None and sim.gaps is not None
        if asks[k - 1]:
            agree(sim, run, k, frames)
    assert sim.q.tobytes() == run.q[-1].tobytes() and sim.p.tobytes() == run.p[-1].tobytes()


@pytest.mark.parametrize("options", [{"max_impacts": 5}, {"max_halvings": 2, "max_iterations": 3}])
def test_steps_in_parts_tell_of_the_whole(options):
    tree = vt.Tree("balls")
    for k in range(3):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (0.004,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(0.1)))
    tree.contact(vt.Ground(friction=0.4, restitution=0.7))
    model = tree.compile()
    q = model.neutral()
    q[:21:7], q[2:21:7] = (0.0, 0.05, 0.4), (0.15, 0.4, 0.3)
    run = vt.simulate(model, q, duration=0.5, dt=2e-3, **options)
    sim = vt.Simulation(model, q, dt=2e-3, **options)
    for k in range(1, len(run)):
        sim.step()
        agree(sim, run, k, (("ball0",), ("ball1", "ball2")))
    assert len(run.contacts) > 20


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_limits_dry_friction_and_wheels(method):
    tree = vt.Tree("disk")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("turn"), vt.body("disk", 1.3, (0.026, 0.05, 0.026)))
    tree.roll(vt.RollingConstraint("disk", radius=0.3, normal=True))
    tree.load(vt.JointSpring("x", 5.0, rest=0.2))
    for model, q in ((rod(), np.array([0.9, 0.0])), (tree.compile(), np.array([0.0, 0.3, 0.0]))):
        run = vt.simulate(model, q, duration=0.1, dt=2e-3, method=method)
        sim = vt.Simulation(model, q, dt=2e-3, method=method)
        for k in range(1, len(run)):
            sim.step()
            agree(sim, run, k, [()])
        assert len(run.contacts) > 40 and len(sim.gaps) == 0
    assert sim.contacts.a == ("disk",) and sim.contacts.b == ("ground",)
    assert sim.contact_wrench("disk")[5] == pytest.approx(1.3 * 9.81)


def test_a_robot_that_stands():
    model, q = standing("g1")
    given = {"dt": 2e-3,
             "control": vt.Control(targets=[q[model.joint(drive.joint).q_slice][0] for drive in model.drives])}
    run = vt.simulate(model, q, duration=0.1, **given)
    sim = vt.Simulation(model, q, **given)
    feet = sorted({name for name, _ in run.contacts.names})
    for k in range(1, len(run)):
        sim.step()
        agree(sim, run, k, [(), *[(foot,) for foot in feet]])
    assert len(sim.contacts) == 8 == len(sim.gaps)
    for about in (feet[0], (0.1, -0.2, 0.3)):
        expected = run.contact_wrench(feet[0], about=about)[-1]
        np.testing.assert_allclose(sim.contact_wrench(feet[0], about=about), expected, rtol=0, atol=1e-11)


def test_a_reduced_model_tells_what_the_full_one_does():
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.03, 0.04, 0.05)))
    for side, x in (("left", 0.2), ("right", -0.2)):
        trunk.add(vt.tx(x), vt.ry(side), vt.tz(-0.3), vt.body(f"{side}_foot", 1.0, (0.01, 0.01, 0.01)))
        tree.contact(vt.Contact(f"{side}_foot", points=[(0.05, 0, 0), (-0.05, 0.02, 0)]))
    tree.contact(vt.Ground(friction=0.7))
    tree.constrain(vt.Coupling({"left": 1.0, "right": -1.0}))
    model = tree.compile().reduced()
    q = vt.place_on_ground(model, model.integrate(model.neutral(), np.array([0, 0, 0, 0.2, 0.1, 0.3, 0.3])))
    run = vt.simulate(model, q, duration=0.2, dt=2e-3)
    sim = vt.Simulation(model, q, dt=2e-3)
    for k in range(1, len(run)):
        sim.step()
        agree(sim, run, k, [(), ("left_foot",), ("right_foot",)])
    assert len(run.contacts) > 50


def test_gaps_are_one_array_of_the_state():
    """In the order of contact_gaps; it is filled when it is asked for, and far away gaps are right too."""
    model = crawler(GROUNDS["plane"])
    q, v = thrown(model, 1, lift=0.5)
    sim = vt.Simulation(model, q, v, dt=2e-3)
    gaps = sim.gaps
    for _ in range(30):
        sim.step(5)
        found = model.contact_gaps(sim.q)
        points = [k for k, name in enumerate(found.b) if name == "ground"]
        np.testing.assert_allclose(sim.gaps[points], found.gap[points], rtol=0, atol=1e-14)
        assert [sim.contacts.names[k] for k in points] == [(found.a[k], found.b[k]) for k in points]
        assert sim.gaps.min() == pytest.approx(found.gap.min(), abs=1e-14)
    assert sim.gaps is gaps
    with pytest.raises(ValueError, match="read-only"):
        gaps[0] = 0.0
    sim.reset()
    assert sim.gaps.min() == pytest.approx(model.contact_gaps(q).gap.min(), abs=1e-14)


def test_saved_and_resumed_runs_know_the_last_step(tmp_path):
    """All that contacts tell is part of the state; logs are kept as they were, and pickled."""
    model = crawler(GROUNDS["plane"], True)
    q, v = thrown(model, 3, lift=0.01)
    run = vt.simulate(model, q, v, duration=0.2, dt=2e-3)
    sim = vt.Simulation(model, q, v, dt=2e-3)
    sim.step(60)
    log, kept = sim.contacts, sim.save()
    sim.step(40)
    agree(sim, run, 100, [("trunk",)])
    sim.restore(kept)
    agree(sim, run, 60, [("trunk",)])
    again = pickle.loads(pickle.dumps(log))
    for name in ROWS:
        np.testing.assert_array_equal(getattr(again, name), getattr(run.contacts.of(60), name))
    part = vt.simulate(model, q, v, duration=0.12, dt=2e-3)
    on = vt.Simulation(model, resume=vt.Trajectory.load(part.save(tmp_path / "part.npz")))
    agree(on, run, 60, [("trunk",)])
    on.step(40)
    agree(on, run, 100, [("trunk",)])


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_step_that_a_push_parts_tells_of_all_of_it(method):
    """What carried the crate over the whole step is told, and recorded, though a push divides the step."""
    model, q = crate()
    pushes = [vt.ExternalWrench("crate", (0.1, 0, 0), start=0.0143, end=0.0231)]
    run = vt.simulate(model, q, duration=0.05, dt=2e-3, method=method, wrenches=pushes)
    # a contact carries from the middle of the step before to that of this one: of two parts half of the step before,
    # the first, and half of the second
    force = run.contact_wrench("crate")[:, 5] / (2.0 * 9.81)
    expected = np.ones(len(run))
    expected[0], expected[1] = 0.0, 0.5
    for k, rest in ((7, 0.3), (11, 1.1)):
        first, second = rest / 2.0, 1.0 - rest / 2.0
        expected[k + 1], expected[k + 2] = 0.5 + first + 0.5 * second, 0.5 * second + 0.5
    np.testing.assert_allclose(force, expected, rtol=1e-6)
    np.testing.assert_allclose(run.v[1:, 2], 0.0, atol=1e-9)
    watched = vt.simulate(model, q, duration=0.05, dt=2e-3, method=method, wrenches=pushes, monitors=("energy", "gap"))
    np.testing.assert_array_equal(watched.monitors["t"], run.t[1:])
    np.testing.assert_array_equal(watched.monitors["energy"], run.energy[1:])
    few = vt.simulate(model, q, duration=0.048, dt=2e-3, method=method, wrenches=pushes, record_every=4)
    np.testing.assert_array_equal(few.v, run.v[:25:4])
    np.testing.assert_array_equal(few.contact_wrench("crate")[1:], run.contact_wrench("crate")[4:25:4])
    sim = vt.Simulation(model, q, dt=2e-3, method=method, wrenches=pushes)
    for k in range(1, len(run)):
        sim.step()
        assert sim.v.tobytes() == run.v[k].tobytes()
        agree(sim, run, k, [("crate",)])
        sim.record()
    np.testing.assert_array_equal(sim.trajectory.contact_wrench("crate"), run.contact_wrench("crate")[1:])


def test_what_touches_nothing_says_so():
    model = vt.load_urdf(vt.find_robot("pendulum"))
    sim = vt.Simulation(model, dt=1e-3)
    assert sim.contacts is None and sim.gaps.shape == (0,)
    with pytest.raises(vt.InputError, match="may touch: give it contacts and a ground"):
        sim.contact_wrench("pendulum")
    sim = vt.Simulation(crawler(GROUNDS["plane"]), dt=1e-3, q0=thrown(crawler(GROUNDS["plane"]), 1)[0])
    with pytest.raises(vt.UnknownNameError, match='no frame that may touch "left_food"; did you mean "left_foot"'):
        sim.contact_wrench("left_food")
    with pytest.raises(vt.InputError, match="about"):
        sim.contact_wrench("left_foot", about=(1.0, 2.0))
