"""Regulators on the discrete mechanics: they hold, they follow, they cost what they say; wrong uses."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from random_models import chain_flat

import vitree as vt
from vitree.control import lqr, tvlqr


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_pole_stays_upright_at_the_cost_that_is_promised(method):
    model, dt = cart_pole(), 0.01
    at = vt.linearize(model, [0.0, 0.0], dt=dt, method=method)
    assert np.abs(np.linalg.eigvals(at.A)).max() > 1.02  # it falls
    Q, R = np.array([1.0, 10.0, 0.1, 1.0]), np.array([0.1])
    regulator = lqr(at, Q, R, actuators=["slide"])
    small = np.array([0.002, -0.001, 0.003, 0.001])
    simulation = vt.Simulation(model, small[:2], p0=small[2:], dt=dt, method=method)
    cost = 0.0
    for _ in range(1500):
        x = np.concatenate([simulation.q, simulation.p])
        torque = regulator(simulation.t, simulation.q, simulation.v)
        cost += x @ (Q * x) + R[0] * torque[0] ** 2
        simulation.step(torque=torque)
    assert np.abs(simulation.q).max() < 1e-9
    np.testing.assert_allclose(cost, small @ regulator.P[0] @ small, rtol=1e-4)
    run = vt.simulate(model, [0.3, 0.25], duration=12.0, dt=dt, method=method, torque=regulator.controller())
    assert np.abs(run.q[-1]).max() < 1e-5


def test_a_run_is_followed_from_another_start():
    model, dt = vt.Model(chain_flat(2, damping=0.2)), 0.01
    rng = np.random.default_rng(0)
    torque = 5 * np.sin(np.linspace(0, 6, 150))[:, None] * [1.0, 0.5]
    simulation = vt.Simulation(model, [3.0, 0.2], dt=dt, every=1)
    for row in torque:
        simulation.step(torque=row)
    run = simulation.trajectory
    regulator = tvlqr(run.linearize(), np.r_[50.0, 50, 1, 1], np.r_[0.01, 0.01], torque=torque)
    start = run.q[0] + 0.2 * rng.normal(size=2)
    free = vt.Simulation(model, start, dt=dt)
    for row in torque:
        free.step(torque=row)
    led = vt.simulate(model, start, duration=1.5, dt=dt, torque=regulator.controller())
    assert np.abs(led.q[-1] - run.q[-1]).max() < 0.02 * np.abs(free.q[-1] - run.q[-1]).max()


def test_the_gains_minimise_the_cost():
    """Against the least squares problem of all forces at once."""
    model = vt.Model(chain_flat(2))
    run = vt.simulate(model, [0.4, -0.3], [0.2, 0.1], duration=0.12, dt=0.02)
    along = run.linearize()
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(6, 4, 4))
    Q, Q_end, R = roots @ roots.swapaxes(1, 2), np.diag([3.0, 2, 1, 4]), np.array([0.7])
    regulator = tvlqr(along, Q, R, Q_end, actuators=[model.v_names[1]])
    B = along.by_torque[:, :, 1:]
    x0 = rng.normal(size=4)
    # x_k = L_k x0 + M_k u
    L, M, rows, right = np.eye(4), np.zeros((4, 6)), [], []
    for k in range(6):
        root = np.linalg.cholesky(Q[k]).T
        rows += [root @ M, np.sqrt(R[0]) * np.eye(6)[k : k + 1]]
        right += [root @ L @ x0, np.zeros(1)]
        L, M = along.A[k] @ L, along.A[k] @ M
        M[:, k : k + 1] += B[k]
    root = np.sqrt(Q_end)
    rows, right = np.vstack([*rows, root @ M]), np.concatenate([*right, root @ L @ x0])
    u = np.linalg.lstsq(rows, -right, rcond=None)[0]
    np.testing.assert_allclose(x0 @ regulator.P[0] @ x0, np.sum((rows @ u + right) ** 2), rtol=1e-10)
    x = x0
    for k in range(6):
        force = -regulator.K[k] @ x
        np.testing.assert_allclose(force[0], u[k], rtol=1e-8, atol=1e-10)
        x = along.A[k] @ x + B[k] @ force


def test_long_horizons_lead_to_the_stationary_gains():
    model = cart_pole()
    at = vt.linearize(model, [0.0, 0.0], dt=0.02)
    run = vt.simulate(model, [0.0, 0.0], duration=20.0, dt=0.02)
    Q, R = np.ones(4), np.ones(1)
    stationary, moving = (
        lqr(at, Q, R, actuators=["slide"]), tvlqr(run.linearize(), Q, R, actuators=["slide"]),
    )  # fmt: skip
    np.testing.assert_allclose(moving.K[0], stationary.K[0], rtol=1e-8)
    np.testing.assert_allclose(moving.P[0], stationary.P[0], rtol=1e-8)


def test_wrong_uses_are_told():
    model = cart_pole()
    at = vt.linearize(model, [0.0, 0.0], dt=0.01)
    run = vt.simulate(model, [0.0, 0.1], duration=0.1, dt=0.01)
    for call, text in (
        (lambda: lqr(run.linearize(), np.ones(4), np.ones(2)), "tvlqr"),
        (lambda: tvlqr(at, np.ones(4), np.ones(2)), "lqr"),
        (lambda: lqr(vt.linearize(model, [0.0, 0.3], dt=0.01), np.ones(4), np.ones(2)), "no equilibrium"),
        (lambda: lqr(at, np.ones(3), np.ones(2)), "Q"),
        (lambda: lqr(at, -np.ones(4), np.ones(2)), "Q must be positive"),
        (lambda: lqr(at, np.ones(4), np.zeros(2)), "R must be positive definite"),
        (lambda: lqr(at, np.triu(np.ones((4, 4))), np.ones(2)), "symmetric"),
        (lambda: lqr(at, np.ones(4), np.ones(1), actuators=["wheel"]), "wheel"),
        (lambda: lqr(at, np.ones(4), np.ones(0), actuators=[]), "names no velocity"),
        (lambda: tvlqr(run.linearize(), np.ones((3, 4, 4)), np.ones(2)), "3 matrices for 10 steps"),
        (lambda: tvlqr(run.linearize(), np.ones(4), np.ones(2), torque=np.zeros((4, 2))), "torque"),
        (lambda: lqr("here", 1.0, 1.0), "Linearization"),
    ):
        with pytest.raises(vt.VitreeError, match=text):
            call()


def test_what_cannot_be_controlled_is_named():
    tree = vt.Tree("two", gravity=(0, 0, 0))
    tree.world.add(vt.tx("left"), vt.body("one", 1.0, (1, 1, 1)))
    tree.world.add(vt.ty("right"), vt.body("other", 1.0, (1, 1, 1)))
    at = vt.linearize(tree.compile(), dt=0.01)
    with pytest.raises(vt.InputError, match="right"):
        lqr(at, np.ones(4), np.ones(1), actuators=["left"])
