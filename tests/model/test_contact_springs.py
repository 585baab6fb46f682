"""Contacts with springs: energy as exact as that of drives, order 2 while pressed, the same states everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from step_differences import through_run

import vitree as vt

G = 9.81
METHODS = ["linear-time", "midpoint", "rk4"]


def ball(mass=1.0, gravity=G, **surface):
    tree = vt.Tree("ball", gravity=(0, 0, -gravity))
    tree.world.add(vt.free("base"), vt.body("ball", mass, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(**surface), vt.Contact("ball", shapes=vt.Sphere(0.05)))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.45
    return model, q


def box(slope=0.0, **surface):
    tree = vt.Tree("box", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    tree.world.add(vt.free("base"), vt.body("box", 1.0, (0.01, 0.02, 0.03)))
    tree.contact(vt.Ground(**surface), vt.Contact("box", shapes=vt.Box((0.4, 0.3, 0.2))))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    return model, q


def arm(**surface):
    """Two links whose tip is pressed 2 cm into a plane."""
    tree = vt.Tree("arm")
    upper = tree.world.add(vt.ry("a"), vt.body("upper", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.3)))
    lower = upper.add(vt.tz(-0.5), vt.ry("b"), vt.body("lower", 0.5, (0.05, 0.04, 0.05), com=(0, 0, -0.2)))
    lower.add(vt.tz(-0.4), vt.frame("tip"))
    tree.contact(vt.Ground(height=-0.85, **surface), vt.Contact("tip"))
    return tree.compile(), np.array([0.3, -0.5])


def tumbling(damping=0.0, friction=0.0):
    model, q = box(friction=friction, stiffness=1e4, damping=damping)
    q = model.integrate(q, np.array([0, 0, 0.3, 0.3, 0.4, 0.2]))
    return model, q, np.array([0.3, 0.2, 0.0, 1.0, 2.0, 0.5])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e8])
def test_a_ball_comes_back_to_where_it_fell_from(method, stiffness):
    """From h^2 k/m of 1e-3 to 1e2. The top lies between two records: z is off by less than g dt^2/8."""
    model, q = ball(stiffness=stiffness)
    run = vt.simulate(model, q, duration=2.0, dt=1e-3, method=method)
    assert abs(run.q[300:, 2].max() - 0.45) < 2e-6
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10 * run.energy[0]
    if stiffness < 1e6:
        # k z^2/2 = m g (0.4 + z)
        deepest = (G + np.sqrt(G**2 + 0.8 * G * stiffness)) / stiffness
        assert 0.05 - run.q[:, 2].min() == pytest.approx(deepest, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_order_two_while_pressed(method, damping):
    model, q = arm(friction=0.0, stiffness=3e3, damping=damping)

    def end(dt):
        run = vt.simulate(model, q, duration=0.04, dt=dt, method=method)
        assert len(run.contacts) == len(run) - 1
        return np.concatenate([run.q[-1], run.v[-1]])

    fine = end(1.25e-4)
    errors = [np.abs(end(dt) - fine).max() for dt in (4e-3, 2e-3, 1e-3)]
    assert (np.log2(np.divide(errors[:-1], errors[1:])) > 1.85).all(), errors


@pytest.mark.parametrize("method", METHODS)
def test_a_box_that_tumbles_keeps_its_energy_to_order_two(method):
    model, q, v = tumbling()
    bands = []
    for dt in (2e-3, 1e-3):
        run = vt.simulate(model, q, v, duration=0.6, dt=dt, method=method)
        assert len(run.contacts)
        bands.append(np.abs(run.energy - run.energy[0]).max())
    assert bands[1] < 2e-3 and bands[0] / bands[1] > 2.5, bands


@pytest.mark.parametrize("damping", [1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e7])
def test_dampers_of_contacts_never_give_energy(stiffness, damping):
    """Under gravity, which acts at both ends of a step, a ball gains less than the square of g dt."""
    for dt in (1e-3, 1e-2):
        model, q = ball(gravity=0.0, stiffness=stiffness, damping=damping)
        run = vt.simulate(model, q, [0, 0, -3.0, 0, 0, 0], duration=1.0, dt=dt)
        assert np.diff(run.energy).max() < 1e-12 * run.energy[0]
        assert (run.contacts.impulse[:, 2] > 0).all() and run.energy[-1] < run.energy[0]
        model, q = ball(stiffness=stiffness, damping=damping)
        run = vt.simulate(model, q, duration=1.0, dt=dt)
        assert (run.energy - np.minimum.accumulate(run.energy)).max() < (G * dt) ** 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("friction", "damping"), [(0.0, 0.0), (0.5, 0.0), (0.0, 30.0), (0.5, 30.0)])
def test_momentum_changes_by_the_impulses_of_both_ends(method, friction, damping):
    model, q, v = tumbling(damping, friction)
    run = vt.simulate(model, q, v, duration=0.6, dt=1e-3, method=method, monitors=("momentum_balance",), record_every=3)
    assert len(run.contacts) > 15
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-10


def test_the_work_of_contacts_is_what_the_kinetic_energy_changes_by():
    model, q = ball(gravity=0.0, stiffness=1e4, damping=5.0)
    run = vt.simulate(model, q, [0, 0, -2.0, 0, 0, 0], duration=0.5, dt=1e-3, monitors=("contact_work",))
    assert len(run.contacts)
    np.testing.assert_allclose(run.monitors["contact_work"], np.diff(run.kinetic), rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_every_record_is_a_state(method):
    """The velocity of a record is that of `Simulation.v`, and a run that starts there goes on as this one did."""
    model, q, v = tumbling(10.0)
    run = vt.simulate(model, q, v, duration=0.4, dt=1e-3, method=method)
    sim = vt.Simulation(model, q, v, dt=1e-3, method=method)
    pressed = np.unique(run.contacts.record)
    for k in (pressed[0], pressed[len(pressed) // 2], pressed[-1]):
        sim.step(int(k) - sim.steps)
        assert (sim.v == run.v[k]).all() and sim.energy == run.energy[k]
        more = vt.simulate(model, run.q[k], run.v[k], duration=0.05, dt=1e-3, method=method)
        assert np.abs(more.q[-1] - run.q[k + 50]).max() < 1e-10 if k + 50 < len(run) else True


@pytest.mark.parametrize("method", METHODS)
def test_a_box_slides_beyond_the_threshold_only(method):
    """As soon as the corners rest."""
    for share in (0.98, 1.02):
        model, q = box(np.arctan(0.5 * share), friction=0.5, stiffness=1e4, damping=50.0)
        run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method, record_every=500)
        moved = run.q[-1, 0] - run.q[1, 0]
        assert abs(moved) < 1e-10 if share < 1 else moved > 1e-3


def test_the_energy_of_pressed_springs_is_potential_energy():
    model, q = ball(stiffness=1e4)
    q[2] = 0.04
    assert model.potential_energy(q) == pytest.approx(G * 0.04 + 0.5 * 1e4 * 0.01**2, rel=1e-14)
    assert model.lagrangian(q, np.zeros(6)) == pytest.approx(-G * 0.04, rel=1e-14)  # without contacts
    q[2] = 0.06
    assert model.potential_energy(q) == pytest.approx(G * 0.06, rel=1e-14)
    assert model.potential_energy([q, q]).shape == (2,)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize(("friction", "damping", "steps"), [
    (0.0, 0.0, 40), (0.0, 20.0, 40), (0.6, 0.0, 40), (0.3, 0.0, 1), (0.3, 20.0, 1), (0.3, 100.0, 1),
])  # fmt: skip
def test_derivatives_are_those_of_differences(method, friction, damping, steps):
    """Corners are pressed by 3 to 9e-4 m: less than the differences of places that derivatives take elsewhere."""
    model, q = box(friction=friction, stiffness=5e3, damping=damping)
    q[2] -= 1.3 * G / 4 / 5e3
    q = model.integrate(q, np.array([0, 0, 0, 5e-4, 3e-4, 0.1]))
    v = np.array([0.5, 0.15, -0.02, 0.01, 0.02, 0.1]) * ([0, 0, 1, 1, 1, 0] if friction == 0.6 else 1)
    run = vt.simulate(model, q, v, duration=steps * 1e-3, dt=1e-3, method=method)
    assert len(run.contacts) == 4 * steps
    whole, found = through_run(model, run)
    np.testing.assert_allclose(whole, found, rtol=0, atol=1e-8 * np.abs(found).max())


def test_sensors_read_the_springs():
    model, q = ball(stiffness=1e4, damping=10.0)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3)
    gap = run.q[:, 2] - 0.05
    force = np.where(gap < 0, np.maximum(-1e4 * gap - 10.0 * run.v[:, 2], 0.0), 0.0)
    np.testing.assert_allclose(vt.Imu("ball").read(run).accelerometer[:, 2], force, rtol=0, atol=1e-9)
    np.testing.assert_allclose(vt.ContactSensor("ball").read(run).force[:, 2], force, rtol=0, atol=1e-9)
