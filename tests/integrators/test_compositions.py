"""Compositions of order 4, 6 and 8: the order under every kind of load, and what the substeps keep."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from closed_chains import REFERENCE, closed_chain
from loaded_models import (
    PLACES,
    SINGLE,
    STENCIL,
    conservative_loads,
    constrained_tree,
    coordinate,
    driving_loads,
    end_error,
    random_tree,
    singles,
)
from places import DATA
from random_models import build_flat, chain_flat, random_flat, random_state

import vitree as vt
from vitree.integrators.composition import SHARES
from vitree.mechanism.flat import KINDS

ORDERS = (4, 6, 8)
VARIATIONAL = ("midpoint", "linear-time")
ALL_KINDS = KINDS
#: Errors that rounding, and the reference's own error, leave alone.
FLOOR, CEILING = 3e-11, 1e-7


@pytest.mark.parametrize("order", ORDERS)
def test_shares_satisfy_the_equations_of_their_order(order):
    """Symmetric, of sum 1, and the sums of odd powers below the order vanish; no substep leaves the step."""
    shares = np.array(SHARES[order])
    assert np.array_equal(shares, shares[::-1])
    for power in range(1, order, 2):
        assert np.sum(shares**power) == pytest.approx(float(power == 1), abs=1e-14)
    ends = np.cumsum(shares)
    assert ends.min() > 0.0 and ends.max() < 1.0 + 1e-15


# ---- order ------------------------------------------------------------------------------------------------


class Stirring(vt.Force):
    """A force of time and velocities that no derivative is given of."""

    def force(self, model, t, q, v, u):
        return np.sin(3 * t + np.arange(model.nv)) - 0.4 * v * (1 + 0.3 * np.tanh(v))


def smooth_loads(flat):
    """Loads of every kind but those by tables."""
    return (*conservative_loads(flat)[:7], *driving_loads(flat))


def loaded(seed, kinds, loads, **more):
    flat, q, v = random_tree(seed, kinds=kinds, nbody=5, speed=0.5, base="free" if "ball" in kinds else "fixed", **more)
    return vt.Model(replace(flat, loads=loads(flat))), q, v


def held(seed, kinds):
    """A tree with springs, two coordinates of which move as prescribed."""
    model, q, v = loaded(seed, kinds, lambda flat: conservative_loads(flat)[:7])
    names, kinematic, moves = singles(model.flat)[1:3], np.zeros(model.nv, bool), {}
    for w, name in enumerate(names, start=4):
        kinematic[model.joint(name).v_slice] = True
        x = coordinate(model.flat, q, name)
        moves[name] = lambda t, x=x, w=w: (
            x + 0.2 * np.sin(w * t), 0.2 * w * np.cos(w * t), -0.2 * w**2 * np.sin(w * t))  # fmt: skip
    v[kinematic] = 0.0
    return vt.Model(replace(model.flat, kinematic=kinematic)), q, v, {"control": vt.Control(prescribed=moves)}


def torque(t, q, v):
    """A controller's."""
    gain = np.linspace(0.5, 2.0, len(v))
    return np.sin(3 * t + gain) - gain * (v + np.tanh(v))


#: Times in which the errors of every order come to lie between the ceiling and the floor, for trees of joints of one
#: coordinate, and for floating ones with ball joints.
DURATIONS = {
    "chain10": (0.5, None), "closed chain": (0.15, None), "constraints": (0.25, 0.25), "plain": (0.5, 0.7),
    "damped": (0.35, 0.5), "loads": (0.35, 0.15), "inputs of t": (0.35, 0.15), "torque": (0.15, 0.15),
    "written": (0.25, 0.35), "prescribed": (0.35, 0.25),
}  # fmt: skip
GIVEN = {"push": 0.5, "turn": 0.3, "drive": -1.0}
OVER_TIME = {"push": lambda t: np.sin(5 * t), "turn": np.cos, "drive": lambda t: 1 - t * t}


@cache
def case(name, group):
    """A model, a state (q, v), a time, what drives it, and where it is then."""
    kinds, more, duration = (*SINGLE, "ball") if group else SINGLE, {}, DURATIONS[name][group]
    if name == "chain10":
        model = vt.Model(chain_flat(10))
        q, v = np.linspace(0.3, 0.8, 10), np.linspace(-0.5, 0.5, 10)
    elif name == "closed chain":
        model = closed_chain()
        q, v = np.array(REFERENCE["closed_chain"]["q0"]), np.zeros(7)
    elif name == "constraints":
        model, q, v = constrained_tree(2, nbody=8, speed=0.5, kinds=ALL_KINDS if group else SINGLE)
    elif name == "plain":
        model, q, v = loaded(3, kinds, lambda flat: ())
    elif name == "damped":
        model, q, v = loaded(4, kinds, lambda flat: (), damping=True)
    elif name == "loads":
        (model, q, v), more = loaded(5, kinds, smooth_loads, damping=True), {"control": vt.Control(inputs=GIVEN)}
    elif name == "inputs of t":
        (model, q, v), more = loaded(5, kinds, smooth_loads, damping=True), {"control": vt.Control(inputs=OVER_TIME)}
    elif name == "torque":
        (model, q, v), more = loaded(6, kinds, lambda flat: ()), {"control": torque}
    elif name == "written":
        model, q, v = loaded(7, kinds, lambda flat: (Stirring(),))
    elif name == "prescribed":
        model, q, v, more = held(8, kinds)
    exact = vt.simulate(model, q, v, duration=duration, dt=duration, method="scipy-dop853", rtol=1e-13, atol=1e-13,
                        **more)  # fmt: skip
    return model, q, v, duration, more, exact[-1]


def measured_order(error_of, order, least=4):
    """The order fitted to the errors between the floor and a ceiling, of steps that grow ever smaller."""
    counts, errors, n = [], [], least
    while n < 2000:
        try:
            error = error_of(n)
        except vt.ConvergenceError:
            error = np.inf
        if error < FLOOR:
            break
        if error < CEILING:
            counts.append(n)
            errors.append(error)
        n = max(n + 1, round(n * 2.0 ** (2.0 / order)))
    if order == 8 and len(errors) < 3:
        pytest.skip("errors reach the floor within two step sizes")
    assert len(errors) > 2, errors
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0], errors


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("method", "group", "name"),
    [(method, group, name) for group in (False, True) for method in VARIATIONAL
     for name in DURATIONS if DURATIONS[name][group]],
)  # fmt: skip
def test_order(method, group, name, order):
    """Of every load, input, motion and constraint, on one-coordinate joints and on floating trees with ball joints."""
    model, q, v, duration, more, exact = case(name, group)

    def error_of(n):
        run = vt.simulate(model, q, v, duration=duration, dt=duration / n, method=method, order=order, tolerance=1e-13,
                          max_halvings=0, **more)  # fmt: skip
        if model.constraints:
            assert np.abs(run.constraint).max() < 1e-11
        return end_error(model, exact, run[-1]).max()

    found, errors = measured_order(error_of, order)
    assert abs(found - order) < (0.3 if order == 8 else 0.2), errors


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_rows_of_inputs_that_jump_keep_the_order(method, order):
    """Constant over each step, a jump at its end; the reference is integrated from jump to jump."""
    model, q, v = loaded(5, SINGLE, smooth_loads, damping=True)
    rows = np.random.default_rng(2).normal(size=(3, len(model.input_names)))
    x, w = q, v
    for row in rows:
        exact = vt.simulate(model, x, w, duration=0.1, dt=0.1, method="scipy-dop853", rtol=1e-13, atol=1e-13,
                            control=vt.Control(inputs=row))[-1]  # fmt: skip
        x, w = exact.q, exact.v

    def error_of(n):
        run = vt.simulate(model, q, v, duration=0.3, dt=0.1 / n, method=method, order=order, tolerance=1e-13,
                          max_halvings=0, control=vt.Control(inputs=np.repeat(rows, n, axis=0)))  # fmt: skip
        return end_error(model, exact, run[-1]).max()

    found, errors = measured_order(error_of, order, 1)
    assert abs(found - order) < (0.3 if order == 8 else 0.2), errors


def rods(n):
    """A hanging chain of n rods of 1 m and 1 kg."""
    about_x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    turns, places = [about_x] + [np.eye(3)] * (n - 1), [(0, 0, 0)] + [(0, -1, 0)] * (n - 1)
    return vt.Model(build_flat("rods", (0, 0, -9.81), [0] * n, range(-1, n - 1), turns, places, [0] * n, [1] * n,
                               [(0, -0.5, 0)] * n, [np.eye(3) / 12] * n, [0] * n))  # fmt: skip


@pytest.mark.parametrize(("method", "key"), [("midpoint", "midpoint"), ("linear-time", "DRNEA-trapezoid")])
@pytest.mark.parametrize("name", ["chain5", "chain10"])
def test_errors_are_those_of_an_independent_prototype(name, method, key):
    """Of the same step, to the rounding of the prototype."""
    stored = json.loads((DATA / "composition.json").read_text())[name]
    model, seen = rods(len(stored["q0"])), 0
    for order, scheme in ((2, "VI2"), (4, "SU4"), (6, "KL6")):
        for h, error, _, energy in stored[f"{key}/{scheme}"]:
            run = vt.simulate(model, stored["q0"], duration=stored["T"], dt=h, method=method, order=order,
                              tolerance=1e-13)  # fmt: skip
            if error > 1e-11:
                seen += 1
                assert np.abs(run.q[-1] - stored["qref"]).max() == pytest.approx(error, rel=2e-3, abs=5e-12)
            if energy > 1e-8:  # of linear-time it was not kept
                assert np.abs(run.energy - run.energy[0]).max() == pytest.approx(energy, rel=5e-3)
    assert seen >= 9


# ---- what is kept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_momentum_of_a_floating_tree_is_exact(method, order):
    """At the default tolerance."""
    flat = random_flat(np.random.default_rng(5), nbody=8, base="free", gravity=(0, 0, 0), kinds=(*SINGLE, "ball"))
    model = vt.Model(flat)
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    run = vt.simulate(model, q, v, duration=10.0, dt=0.02, method=method, order=order)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert np.linalg.norm(run.v[-1] - run.v[0]) > 0.1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_symplectic(method, order):
    """The map (q, p) of a step preserves the canonical two-form: A^T J A = J."""
    flat, q, v = random_tree(51, nbody=3)
    model, h = vt.Model(flat), 0.02
    n, z = model.nv, np.concatenate((q, model.generalized_momentum(q, v)))

    def step(z):
        end = vt.simulate(model, z[:n], p0=z[n:], duration=h, dt=h, method=method, order=order, tolerance=1e-14,
                          guess="aba")[-1]  # fmt: skip
        return np.concatenate((end.q, end.p))

    columns = []
    for k in range(2 * n):
        d = np.zeros(2 * n)
        d[k] = 2e-3 * max(1.0, abs(z[k]))
        columns.append(STENCIL @ [step(z + s * d) for s in PLACES] / d[k])
    A, J = np.array(columns).T, np.kron([[0, 1], [-1, 0]], np.eye(n))
    assert np.abs(A.T @ J @ A - J).max() < 1e-8 * np.abs(A).max() ** 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_a_step_and_its_reverse_lead_back(method, order):
    """Step forward, turn the momentum round, step again, turn it round: the start."""
    kinds = (*SINGLE, "ball")
    for seed in (41, 42):
        flat, q, v = random_tree(seed, kinds=kinds, nbody=5)
        model = vt.Model(flat)
        options = {"duration": 0.1, "dt": 0.01, "method": method, "order": order, "tolerance": 1e-13}
        out = vt.simulate(model, q, v, **options)
        back = vt.simulate(model, out.q[-1], p0=-out.p[-1], **options)[-1]
        assert np.abs(model.difference(q, back.q)).max() < 1e-11
        assert np.abs(back.p + out.p[0]).max() < 1e-11 * np.abs(out.p).max()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_energy_is_bounded_over_1e4_steps(method, order):
    """Within a narrow band. What drifts comes from the solver's tolerance, and goes with it."""
    model = rods(2)
    for options, least in (({}, 2e-8), ({"tolerance": 1e-13}, 1e-10)):
        run = vt.simulate(model, np.array([0.7, 0.3]), duration=200.0, dt=0.02, method=method, order=order,
                          record_every=5,
                          **options)  # fmt: skip
        error = (run.energy - run.energy[0]) / run.kinetic.max()
        assert np.abs(error).max() < {4: 3e-6, 6: 2e-8, 8: 2e-9}[order]
        blocks = error[1:].reshape(20, -1).mean(axis=1)
        drift = np.polyfit(np.linspace(0, 1, 20), blocks, 1)[0]
        assert abs(drift) < (max(least, 0.25 * np.ptp(error)) if options else least)


@pytest.mark.parametrize("method", VARIATIONAL)
def test_multipliers_are_those_at_the_records(method):
    """Of a composition as of single steps: the force on the joints at the start of the step, to first order."""
    model, q, v = constrained_tree(3, nbody=8, speed=0.3)
    run = vt.simulate(model, q, v, duration=0.08, dt=0.002, method=method, order=4, tolerance=1e-12)
    expected = np.array([model.forward_dynamics(s.q, s.v).multipliers for s in run])
    assert np.abs(run.multipliers[1:] - expected[:-1]).max() < 0.02 * np.abs(expected).max()


# ---- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"order": 3}, "must be one of 2, 4, 6, 8"),
        ({"order": 4, "method": "midpoint", "alpha": 0.4}, "self-adjoint"),
        ({"order": 4, "q1": np.zeros(2)}, "start from q0 and v0"),
        ({"max_halvings": -1}, "max_halvings"),
        ({"max_halvings": 1.5}, "max_halvings"),
    ],
)
def test_bad_options(change, text):
    with pytest.raises(vt.InputError, match=text):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.01, **change)
