"""The integrator of Kane, Marsden & Ortiz 1999 in the examples: what it claims, and where it stops."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from places import EXAMPLES
from random_models import chain_flat, pendulum_flat, random_flat

import vitree as vt


@pytest.fixture
def em(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    module = importlib.import_module("energy_momentum")
    monkeypatch.setitem(vt.METHODS, module.EnergyMomentum.name, module.EnergyMomentum)
    return module


@pytest.mark.parametrize(("links", "q0", "steps"), [(1, [1.0], 10_000), (2, [0.6, 0.4], 3000)])
def test_the_discrete_energy_stays_to_round_off_over_thousands_of_steps(em, links, q0, steps):
    model = vt.Model(pendulum_flat(links))
    integrator = em.EnergyMomentum(model, 0.02)
    integrator.start(0.0, np.array(q0), np.zeros(links))
    energies, lengths = [], []
    for _ in range(steps):
        q1 = integrator.state()[0]
        integrator.advance(1)
        lengths.append(integrator._h)
        energies.append(em.discrete_energy(model, q1, integrator.state()[0], integrator._h))
    assert np.ptp(energies) < 200 * np.finfo(float).eps * abs(energies[0])
    assert integrator.t == pytest.approx(np.sum(lengths), rel=1e-12)
    assert np.ptp(lengths) > 1e-4  # the lengths do it
    # the midpoint rule, from the same start, is off by its error
    run = vt.simulate(model, q0, duration=20.0, dt=0.02, method="midpoint")
    assert np.ptp([em.discrete_energy(model, a, b, 0.02) for a, b in zip(run.q, run.q[1:], strict=False)]) > 1e-5


def test_order_two_at_the_times_of_its_steps(em):
    model, q0 = vt.Model(pendulum_flat(2)), [0.6, 0.4]
    errors, steps = [], (0.02, 0.01, 0.005)
    for dt in steps:
        run = vt.simulate(model, q0, duration=1.0, dt=dt, method="energy-momentum")
        exact = vt.simulate(model, q0, duration=run.t[-1], dt=run.t[-1], method="scipy-dop853", rtol=1e-12, atol=1e-13)
        assert run.t[-1] >= 1.0 > run.t[-2]
        errors.append([np.linalg.norm(run.q[-1] - exact.q[-1]), np.linalg.norm(run.v[-1] - exact.v[-1])])
    assert np.abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 2).max() < 0.1


def test_momentum_of_a_symmetry_stays(em):
    """A pendulum on a trolley whose place does not enter L."""
    tree = vt.Tree("trolley")
    tree.world.add(vt.tx("x"), vt.body("trolley", 1.0), vt.ry("swing"), vt.tz(-1.0), vt.body("bob", 1.0))
    run = vt.simulate(tree.compile(), [0.2, 0.6], [0.8, 0.0], duration=20.0, dt=0.02, method="energy-momentum")
    assert np.ptp(run.p[:, 0]) < 1e-13 * abs(run.p[0, 0]) and np.ptp(run.p[:, 1]) > 0.1
    assert np.ptp(run.v[:, 0]) > 0.1  # p stays, not the rate


def test_a_run_without_a_step_length_stops_with_its_trajectory(em):
    """A pendulum over the top: the error of the energy changes its sign there."""
    with pytest.raises(vt.ConvergenceError, match=r'no positive step length near .* use method="midpoint"') as stop:
        vt.simulate(vt.Model(pendulum_flat(1)), [0.0], [8.0], duration=5.0, dt=0.02, method="energy-momentum")
    run = stop.value.trajectory
    assert stop.value.time == run.t[-1] < 0.5 and np.isfinite(run.q).all() and len(run) > 5


@pytest.mark.parametrize("more", [{"control": [1.0]}, {"wrenches": [vt.ExternalWrench("link0", (1, 0, 0))]}])
def test_what_does_not_conserve_energy_is_refused(em, more):
    with pytest.raises(vt.InputError, match="energy-momentum conserves energy"):
        vt.simulate(vt.Model(pendulum_flat(1)), [0.5], duration=1.0, dt=0.02, method="energy-momentum", **more)
    with pytest.raises(vt.InputError, match="energy-momentum conserves energy"):
        em.EnergyMomentum(vt.Model(chain_flat(2, damping=0.1)), 0.01)
    turning = vt.Model(random_flat(np.random.default_rng(0), 2, kinds=("ball",)))
    with pytest.raises(vt.InputError, match=r"ball or free joints.*model.euler\(\)"):
        em.EnergyMomentum(turning, 0.01)


def test_records_impulses_and_going_back(em):
    model, q0 = vt.Model(pendulum_flat(2)), [0.6, 0.4]
    every = vt.simulate(model, q0, duration=1.0, dt=0.02, method="energy-momentum")
    some = vt.simulate(model, q0, duration=1.0, dt=0.02, method="energy-momentum", record_every=7)
    assert (some.q[:-1] == every.q[: 7 * (len(some) - 1) : 7]).all() and some.t[-1] >= 1.0 and some.steps % 7 == 0
    integrator = em.EnergyMomentum(model, 0.02)
    integrator.start(0.0, np.array(q0), np.zeros(2))
    integrator.advance(10)
    kept = integrator.keep()
    integrator.advance(10)
    end, t = integrator.state(), integrator.t
    integrator.go_back(kept)
    assert integrator.t < t
    integrator.advance(10)
    assert integrator.t == t and all((a == b).all() for a, b in zip(end, integrator.state(), strict=True))


def test_it_is_compared_with_equal_steps_by_nothing(em):
    model = vt.Model(pendulum_flat(1))
    with pytest.raises(vt.InputError, match='equal steps; leave out "energy-momentum"'):
        vt.compare(model, ["midpoint", "energy-momentum"], [0.5], duration=1.0, dt=0.02)
    with pytest.raises(vt.InputError, match="not for a rollout"):
        vt.rollout(model, duration=1.0, dt=0.02, q0=np.zeros((2, 1)) + 0.5, method="energy-momentum")
    with pytest.raises(vt.InputError, match="energy-momentum chooses its own"):
        vt.simulate(model, [0.5], duration=1.0, dt="auto", method="energy-momentum")
