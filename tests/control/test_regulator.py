"""Regulators on the discrete mechanics: they hold, they follow, they cost what they say; wrong uses."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from random_models import chain_flat, random_flat
from touching_models import STANDING

import vitree as vt
from vitree.control import lqr, tvlqr
from vitree.mechanism.flat import KINDS


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
        simulation.step(control=torque)
    assert np.abs(simulation.q).max() < 1e-9
    np.testing.assert_allclose(cost, small @ regulator.P[0] @ small, rtol=1e-4)
    run = vt.simulate(model, [0.3, 0.25], duration=12.0, dt=dt, method=method, control=regulator.controller())
    assert np.abs(run.q[-1]).max() < 1e-5


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), KINDS], ids=[*KINDS, "all"])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_eigenvalues_of_the_closed_loop_are_those_of_runs(kinds, method):
    """Random trees held by the torques of all joints: they come back, as fast as the slowest eigenvalue says."""
    rng = np.random.default_rng(len(kinds))
    model, dt = vt.Model(random_flat(rng, nbody=4, kinds=kinds)), 0.01
    q = model.random_configuration(rng)
    torque = -model.passive_force(q)
    at = vt.linearize(model, q, dt=dt, method=method, control=torque)
    Q, R = rng.uniform(1.0, 5.0, 2 * model.nv), rng.uniform(0.1, 1.0, model.nv)
    regulator = lqr(at, Q, R, control=torque)
    K, P = regulator.K[0], regulator.P[0]
    closed = at.A - at.by_torque @ K
    slowest = np.abs(np.linalg.eigvals(closed)).max()
    assert slowest < 1
    np.testing.assert_allclose(P, np.diag(Q) + K.T @ (R[:, None] * K) + closed.T @ P @ closed, rtol=1e-7,
                               atol=1e-9 * np.abs(P).max())  # fmt: skip
    away = 1e-4 * rng.normal(size=model.nv)
    steps = int(np.ceil(np.log(1e-2) / np.log(slowest)))
    run = vt.simulate(model, model.integrate(q, away), duration=steps * dt, dt=dt, method=method, tolerance=1e-13,
                      control=regulator.controller())  # fmt: skip
    x = np.concatenate([away, np.zeros(model.nv)])
    there = np.concatenate([model.difference(q, run.q[-1]), run.p[-1]])
    assert np.abs(there - np.linalg.matrix_power(closed, steps) @ x).max() < 1e-2 * np.abs(x).max()


def test_a_run_is_followed_from_another_start():
    model, dt = vt.Model(chain_flat(2, damping=0.2)), 0.01
    rng = np.random.default_rng(0)
    torque = 5 * np.sin(np.linspace(0, 6, 150))[:, None] * [1.0, 0.5]
    simulation = vt.Simulation(model, [3.0, 0.2], dt=dt, record_every=1)
    for row in torque:
        simulation.step(control=row)
    run = simulation.trajectory
    regulator = tvlqr(run.linearize(), np.r_[50.0, 50, 1, 1], np.r_[0.01, 0.01], control=torque)
    start = run.q[0] + 0.2 * rng.normal(size=2)
    free = vt.Simulation(model, start, dt=dt)
    for row in torque:
        free.step(control=row)
    led = vt.simulate(model, start, duration=1.5, dt=dt, control=regulator.controller())
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
        (lambda: lqr(at, 0, np.ones(2)), "weighs nothing"),
        (lambda: lqr(at, np.ones(4), np.zeros(2)), "R must be positive definite"),
        (lambda: lqr(at, np.triu(np.ones((4, 4))), np.ones(2)), "symmetric"),
        (lambda: lqr(at, np.ones(4), np.ones(1), actuators=["wheel"]), "wheel"),
        (lambda: lqr(at, np.ones(4), np.ones(0), actuators=[]), "names no velocity"),
        (lambda: tvlqr(run.linearize(), np.ones((3, 4, 4)), np.ones(2)), "3 matrices for 10 steps"),
        (lambda: tvlqr(run.linearize(), np.ones(4), np.ones(2), control=np.zeros((4, 2))), "torque"),
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


def standing_human(dt: float) -> tuple:
    """The human figure on its soles, without drives, and the derivatives of a step there."""
    frames, corners, _ = STANDING["human"]
    tree = vt.read_urdf(vt.find_robot("human"), base="free")
    tree.contact(vt.Ground(friction=0.7), [vt.Contact(frame, points=corners) for frame in frames])
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    torque = vt.static_equilibrium(model, q).torques
    return model, q, torque, vt.linearize(model, q, dt=dt, control=torque)


def test_a_humanoid_keeps_all_but_the_places_of_its_soles():
    """Of two soles that stick the places and the turns on the ground are neutral: six, and no other direction."""
    model, q, torque, at = standing_human(0.002)
    motors = model.v_names[6:]
    acts = [model.v_names.index(name) for name in motors]
    held = lqr(at, np.repeat([10.0, 1.0], model.nv), np.full(len(motors), 1e-3), actuators=motors, control=torque,
               leave_neutral=True)  # fmt: skip
    sizes = np.sort(np.abs(np.linalg.eigvals(at.A - at.by_torque[:, acts] @ held.K[0])))[::-1]
    assert np.abs(np.linalg.eigvals(at.A)).max() > 1.05  # it falls
    np.testing.assert_allclose(sizes[:6], 1.0, rtol=0, atol=1e-8)
    assert sizes[6] < 1 - 1e-4
    # the robot somewhere else on the ground asks for nothing
    for k in (0, 1):
        moved = np.eye(2 * model.nv)[k]
        assert np.abs(held.K[0] @ moved).max() < 1e-4 * np.abs(held.K[0]).max()
    falls, stands = (
        vt.simulate(model, q, duration=1.5, dt=0.002, control=given,
                    wrenches=[vt.ExternalWrench("pelvis", (20.0, 0, 0), start=0.1, end=0.2)])
        for given in (torque, held.controller())
    )
    away = [np.abs(model.difference(q, run.q[-1])).max() for run in (falls, stands)]
    assert away[0] > 0.5
    assert away[1] < 0.01


def test_weak_joints_are_no_neutral_ones():
    """Joints of 1e-9 of the largest inertia are moved by their motors, and are not left alone."""
    tree = vt.Tree("hand", gravity=(0, 0, 0))
    tree.world.add(vt.ry("ankle", armature=1e3), vt.tz(1.0), vt.body("man", 70.0, (1.0, 1.0, 1.0))).add(
        vt.ry("finger"), vt.tz(0.01), vt.body("tip", 1e-4, (1e-8, 1e-8, 1e-8)))  # fmt: skip
    at = vt.linearize(tree.compile(), dt=0.01)
    held = lqr(at, np.ones(4), np.ones(2), leave_neutral=True)
    assert np.abs(np.linalg.eigvals(at.A - at.by_torque @ held.K[0])).max() < 1


def test_what_goes_on_is_not_left_alone():
    """A body in free flight keeps its momentum: no motor stops it, and it does not stay."""
    tree = vt.Tree("flyer", gravity=(0, 0, 0))
    tree.world.add(vt.tx("flight"), vt.body("one", 1.0, (1, 1, 1))).add(
        vt.ry("wheel"), vt.body("other", 1.0, (1, 1, 1)))  # fmt: skip
    at = vt.linearize(tree.compile(), dt=0.01)
    with pytest.raises(vt.InputError, match="does not stay where it is displaced"):
        lqr(at, np.ones(4), np.ones(1), actuators=["wheel"], leave_neutral=True)
