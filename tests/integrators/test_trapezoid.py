"""The trapezoid rule in generalized coordinates: its equations, its order and compositions, what it keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import pendulum_flat, random_flat, random_state
from step_differences import slope

import vitree as vt

KINDS = ("revolute", "prismatic", "helical", "ball")
OPTIONS = {"method": "trapezoid", "tolerance": 1e-14}


def tree(seed, base="fixed", kinds=KINDS, nbody=4, **more):
    flat = random_flat(np.random.default_rng(seed), nbody=nbody, kinds=kinds, base=base, **more)
    return vt.Model(flat), *random_state(flat, np.random.default_rng(seed + 1), speed=0.7)


def discrete(model, q1, q2, h):
    """The discrete Lagrangian."""
    v = model.difference(q1, q2) / h
    return 0.5 * h * sum(model.kinetic_energy(q, v) - model.potential_energy(q) for q in (q1, q2))


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("sprung", [False, True])
def test_a_step_satisfies_the_discrete_euler_lagrange_equations(base, sprung):
    """p1 = -D1 Ld and p2 = D2 Ld, with differences of order 6 of Ld by displacements of either end."""
    model, q, v = tree(3, base, kinds=("ball", "helical"))
    assert model.nq > model.nv
    if sprung:
        model = vt.Model(replace(model.flat, loads=(vt.Spring("world", model.link_names[-1], 30.0, 0.2),)))
    h, e = 0.05, 2e-3
    run = vt.simulate(model, q, v, duration=h, dt=h, **OPTIONS)
    (q1, q2), (p1, p2) = run.q, run.p

    def slopes(f):
        return np.array([slope(lambda x, unit=unit: f(x * unit), e) for unit in np.eye(model.nv)])

    scale = np.abs(p1).max()
    np.testing.assert_allclose(-slopes(lambda d: discrete(model, model.integrate(q1, d), q2, h)), p1, atol=1e-9 * scale)
    np.testing.assert_allclose(slopes(lambda d: discrete(model, q1, model.integrate(q2, d), h)), p2, atol=1e-9 * scale)


def test_it_is_stoermer_verlet_where_the_mass_matrix_is_constant():
    """On a pendulum: half a kick, a drift, half a kick; linear-time is the same there."""
    model, h, q, p = vt.Model(pendulum_flat(1)), 0.05, 0.7, 0.3
    run = vt.simulate(model, [q], p0=[p], duration=50 * h, dt=h, **OPTIONS)
    for k in range(51):
        assert run.q[k, 0] == pytest.approx(q, abs=1e-12) and run.p[k, 0] == pytest.approx(p, abs=1e-12)
        p -= 0.5 * h * 9.81 * np.sin(q)
        q += h * p
        p -= 0.5 * h * 9.81 * np.sin(q)


@pytest.mark.parametrize(("order", "counts"), [(4, (10, 20, 40)), (6, (6, 9, 12)), (8, (4, 6, 8))])
@pytest.mark.parametrize("damping", [False, True])
def test_compositions_have_their_order(order, counts, damping):
    if damping and order > 4:
        pytest.skip("the errors are no longer above rounding, or not yet asymptotic")
    model, q, v = tree(81, "free", damping=damping)
    exact = vt.simulate(model, q, v, duration=0.4, dt=0.4, method="scipy-dop853", rtol=1e-13, atol=1e-13)[-1]
    errors = []
    for n in counts:
        run = vt.simulate(model, q, v, duration=0.4, dt=0.4 / n, order=order, **OPTIONS)
        assert run.settings["options"]["order"] == order
        errors.append([np.linalg.norm(model.difference(exact.q, run.q[-1])), np.linalg.norm(run.v[-1] - exact.v)])
    found = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert np.abs(found - order).max() < 0.25, found


@pytest.mark.parametrize("order", [2, 4])
def test_momentum_stays_and_energy_is_in_a_band(order):
    model, q, v = tree(5, "free", gravity=(0, 0, 0))
    run = vt.simulate(model, q, v, duration=5.0, dt=0.02, order=order, **OPTIONS)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert np.ptp(run.energy) < 0.02 * run.kinetic.max() and np.linalg.norm(run.v[-1] - run.v[0]) > 0.1


@pytest.mark.parametrize("damped", [False, True])
def test_a_step_back_takes_a_step_back(damped):
    """With the momentum reversed, and, of what it is composed of, with -dt."""
    model, q, v = tree(7, kinds=(*KINDS, "free"), damping=damped)
    integrator = vt.METHODS["trapezoid"](model, 0.03, tolerance=1e-14)
    integrator.start(0.0, q, model.generalized_momentum(q, v))
    q2, p2 = integrator.step(0.0, *integrator.state())
    integrator.dt = -0.03
    q1, p1 = integrator.step(0.03, q2, p2)
    assert np.abs(model.difference(q, q1)).max() < 1e-12
    assert np.abs(p1 - integrator.state()[1]).max() < 1e-12 * np.abs(p1).max()


def test_the_step_preserves_the_symplectic_form():
    for base in ("fixed", "free"):
        model, q, v = tree(51, base)
        found = vt.linearize(model, q, v, dt=0.02, method="trapezoid")
        off = found.A.T @ found.form(end=True) @ found.A - found.form()
        assert np.abs(off).max() < 1e-9 * np.abs(found.A).max() ** 2


def test_stiff_damping_is_solved_for():
    """Where passes with the mass matrix diverge, a Jacobian by differences ends them."""
    model = vt.Model(pendulum_flat(2, damping=300.0))
    run = vt.simulate(model, [1.0, -0.5], duration=1.0, dt=0.02, method="trapezoid")
    exact = vt.simulate(model, [1.0, -0.5], duration=1.0, dt=0.02, method="scipy-radau", rtol=1e-10, atol=1e-12)
    assert np.abs(run.q - exact.q).max() < 2e-3 and (np.diff(run.energy) < 0).all()
    assert run.iterations.max() > 2 and run.iterations_total == run.iterations.sum()


def test_prescribed_coordinates_and_inputs():
    """A trolley moves as prescribed, and the pendulum on it follows with second order."""
    tree_ = vt.Tree("crane")
    tree_.world.add(vt.tx("trolley", kinematic=True), vt.ry("swing"), vt.tz(-1.0), vt.body("bob", 1.0))
    tree_.load(vt.JointForce("swing", "push"))
    model = tree_.compile()
    control = vt.Control(prescribed={"trolley": lambda t: (np.sin(t), np.cos(t), -np.sin(t))},
                         inputs={"push": lambda t: np.cos(3 * t)})  # fmt: skip
    more = {"q0": [0.0, 0.4], "duration": 1.0, "control": control}
    exact = vt.simulate(model, dt=1.0, method="scipy-dop853", rtol=1e-12, atol=1e-13, **more).q[-1]
    errors = [np.abs(vt.simulate(model, dt=dt, method="trapezoid", **more).q[-1] - exact).max() for dt in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_what_it_does_not_support_is_named():
    tree_ = vt.Tree("loop")
    tree_.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("bob", 1.0))
    tree_.world.add(vt.ry("b"), vt.tz(-1.0), vt.body("other", 1.0))
    tree_.constrain(vt.Distance("bob", "other", 0.5))
    with pytest.raises(vt.ModelError, match="method trapezoid does not support constraints: use linear-time"):
        vt.simulate(tree_.compile(), [0.1, 0.4], duration=0.1, dt=0.01, method="trapezoid")
    model = vt.Model(pendulum_flat(2))
    with pytest.raises(vt.ConvergenceError, match=r"trapezoid: step 1 at t = 0 s, dt = 0.01 s: .* halve dt"):
        vt.simulate(model, [1.0, 0.5], [3.0, 2.0], duration=0.1, dt=0.01, method="trapezoid", max_iterations=1)
    with pytest.raises(vt.InputError, match="must be one of 2, 4, 6, 8"):
        vt.simulate(model, duration=0.1, dt=0.01, method="trapezoid", order=3)
