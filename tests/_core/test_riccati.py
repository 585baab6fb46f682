"""The pass over a motion that finds corrections and feedback; motions under feedback."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from random_models import random_flat, random_state

import vitree as vt
from vitree._core import scalar

CORE = scalar()


def problem(rng, steps, n, m, bounded=False, bent=False):
    """Random steps and costs, as arguments of the pass."""

    def positive(size, *count):
        root = rng.normal(size=(*count, size, size))
        return root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(size)

    A, B = 0.9 * np.eye(n) + 0.2 * rng.normal(size=(steps, n, n)), rng.normal(size=(steps, n, m))
    cost = rng.normal(size=(steps + 1, n)), positive(n, steps + 1), rng.normal(size=(steps, m)), positive(m)
    curvature = 1e-3 * rng.normal(size=(steps, n, n)) if bent else None
    curvature = curvature + curvature.swapaxes(1, 2) if bent else None
    bounds = (-rng.uniform(0, 0.4, (steps, m)), rng.uniform(0, 0.4, (steps, m))) if bounded else None
    return A, B, *cost, 0.2, curvature, rng.normal(size=(m, n // 2)) if bent else None, bounds


def outcome(given, gaps=None, more=None):
    steps, n, m = given[1].shape
    k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
    return CORE.riccati_pass(*given, k, K, P, gaps, more), k, K, P


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_pass_is_that_of_the_oracle(bounded, bent):
    rng = np.random.default_rng(0)
    at_bounds = 0
    for n, m in ((2, 1), (4, 1), (4, 2), (6, 3), (14, 4)):
        given = problem(rng, 7, n, m, bounded, bent)
        gaps = rng.normal(size=(7, n)) if m > 1 else None
        root = rng.normal(size=(7, m, m))
        more = (0.1 * rng.normal(size=(7, m, n)), root @ root.swapaxes(1, 2)) if n > 4 else None
        found, expected = outcome(given, gaps, more), reference.riccati_pass(*given, gaps, more)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(np.array(other)).max())
        if bounded:
            held = (found[1] == given[-1][0]) | (found[1] == given[-1][1])
            assert not found[2][held].any()
            at_bounds += held.sum()
    assert at_bounds > 5 or not bounded


def test_what_is_promised_is_what_the_quadratic_gains():
    rng = np.random.default_rng(1)
    A, B, gx, W, gu, R, _, *none = given = problem(rng, 5, 4, 2)
    given = (A, B, gx, W, gu, R, 0.0, *none)
    for gaps in (np.zeros((5, 4)), rng.normal(size=(5, 4))):
        (linear, square), k, K, P = outcome(given, gaps)

        def cost(forces, gaps=gaps):
            x, total = np.zeros(4), 0.0
            for i, u in enumerate(forces):
                total += gx[i] @ x + 0.5 * x @ W[i] @ x + gu[i] @ u + 0.5 * u @ R @ u
                x = A[i] @ x + B[i] @ u + gaps[i]
            return total + gx[-1] @ x + 0.5 * x @ W[-1] @ x

        x, best = np.empty((6, 4)), np.empty((5, 2))
        CORE.linear_motion(A, B, k, K, x, best, gaps)
        if not gaps.any():
            np.testing.assert_allclose(cost(best), linear + square, rtol=1e-10)
        np.testing.assert_allclose(P, np.swapaxes(P, 1, 2), atol=0)
        for _ in range(20):
            assert cost(best + 0.1 * rng.normal(size=(5, 2))) > cost(best)


def test_linear_motions_and_costates_are_those_of_the_dynamics():
    rng = np.random.default_rng(6)
    A, B, gx, _, gu, *_ = problem(rng, 5, 4, 2)
    k, K = rng.normal(size=(5, 2)), rng.normal(size=(5, 2, 4))
    x, u, slopes = np.empty((6, 4)), np.empty((5, 2)), np.empty((6, 4))
    for gaps in (None, rng.normal(size=(5, 4))):
        CORE.linear_motion(A, B, k, K, x, u, gaps)
        assert not x[0].any()
        np.testing.assert_allclose(u, k + np.einsum("kij,kj->ki", K, x[:-1]))
        steps = np.einsum("kij,kj->ki", A, x[:-1]) + np.einsum("kij,kj->ki", B, u)
        np.testing.assert_allclose(x[1:], steps + (0.0 if gaps is None else gaps))
    CORE.costates_of(A, B, K, gx, gu, slopes)

    def cost(i, x):
        total = 0.0
        for j in range(i, 5):
            total += gx[j] @ x + gu[j] @ K[j] @ x
            x = (A[j] + B[j] @ K[j]) @ x
        return total + gx[5] @ x

    np.testing.assert_allclose(slopes, [[cost(i, e) for e in np.eye(4)] for i in range(6)])
    for call in (lambda: CORE.linear_motion(A, B, k, K, x[1:], u), lambda: CORE.costates_of(A, B, K, gx, gu[1:], x)):
        with pytest.raises(ValueError, match="is needed"):
            call()


def test_a_cost_that_is_not_convex_is_told():
    given = list(problem(np.random.default_rng(2), 4, 4, 2))
    given[3] = -1e4 * given[3]
    for bounds in (None, (np.full((4, 2), -1.0), np.full((4, 2), 1.0))):
        assert outcome((*given[:-1], bounds))[0] is None


def test_arrays_of_other_shapes_are_told():
    given = problem(np.random.default_rng(3), 4, 4, 2, True, True)
    with pytest.raises(ValueError, match="is needed"):
        outcome(given, gaps=np.zeros((5, 4)))
    for k in (0, 2, 3, 4, 5, 7, 8):
        wrong = list(given)
        wrong[k] = np.ascontiguousarray(wrong[k][:-1])
        with pytest.raises(ValueError, match="is needed"):
            outcome(wrong)
    with pytest.raises(ValueError, match="is needed"):
        outcome((*given[:-1], (given[-1][0][1:], given[-1][1])))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_motion_with_feedback_is_that_of_steps_one_by_one(method):
    rng = np.random.default_rng(4)
    model = vt.Model(random_flat(rng, nbody=4, kinds=("free", "ball", "revolute")))
    q0, v0 = random_state(model.flat, rng)[:2]
    nv, steps, acts = model.nv, 12, np.array([1, 4, model.nv - 1], dtype=np.intc)
    integrator = vt.METHODS[method](model, 1e-3)
    p0 = model.generalized_momentum(q0, v0)

    def run(torque, correction, limits):
        q, p = np.empty((steps + 1, model.nq)), np.empty((steps + 1, nv))
        integrator.renew()
        integrator.start(0.0, q0, p0)
        torque = torque.copy()
        assert CORE.follow(integrator.stepper, correction, -limits, limits, torque, q, p) == (0, steps)
        return torque, q, p

    torque = rng.normal(size=(steps, nv))
    used, q, p = run(torque, None, np.full(nv, np.inf))
    simulation = vt.Simulation(model, q0, p0=p0, dt=1e-3, method=method)
    for i, row in enumerate(torque):
        simulation.step(control=row)
        np.testing.assert_array_equal(simulation.q, q[i + 1])
        np.testing.assert_array_equal(simulation.p, p[i + 1])
    np.testing.assert_array_equal(used, torque)

    k, K = rng.normal(size=(steps, 3)), 10 * rng.normal(size=(steps, 3, 2 * nv))
    limits = np.full(nv, np.inf)
    limits[4] = 0.8
    used, q2, p2 = run(torque, (acts, 0.25, k, K, q, p), limits)
    assert (np.abs(used[:, 4]) == 0.8).any()
    assert (np.abs(used[:, 4]) < 0.8).any()
    simulation.reset()
    for i in range(steps):
        x = np.concatenate([model.difference(q[i], simulation.q), simulation.p - p[i]])
        row = torque[i].copy()
        row[acts] += 0.25 * k[i] + K[i] @ x
        np.testing.assert_allclose(used[i], np.clip(row, -limits, limits), atol=1e-10)
        simulation.step(control=used[i])
        np.testing.assert_array_equal(simulation.q, q2[i + 1])
        np.testing.assert_array_equal(simulation.p, p2[i + 1])


def test_a_motion_that_fails_says_where():
    model = vt.Model(random_flat(np.random.default_rng(5), nbody=2, kinds=("revolute",)))
    integrator = vt.METHODS["linear-time"](model, 0.01)
    torque, q, p = np.zeros((5, 2)), np.empty((6, 2)), np.empty((6, 2))
    torque[3] = np.nan
    integrator.start(0.0, np.zeros(2), np.zeros(2))
    far = np.full(2, np.inf)
    status, taken = CORE.follow(integrator.stepper, None, -far, far, torque, q, p)
    assert status == CORE.STATUS["not finite"]
    assert taken == 3
    with pytest.raises(ValueError, match="is needed"):
        CORE.follow(integrator.stepper, None, -far, far, torque, q[:-1], p)
    gains = np.array([2], dtype=np.intc), 1.0, np.zeros((5, 1)), np.zeros((5, 1, 4)), q, p
    with pytest.raises(ValueError, match="a correction of control 2 of 2"):
        CORE.follow(integrator.stepper, gains, -far, far, torque, q, p)
    gains = np.array([1], dtype=np.intc), *gains[1:], np.zeros((5, 4, 4)), np.zeros((5, 4, 2))
    with pytest.raises(ValueError, match="is needed"):
        CORE.follow(integrator.stepper, gains, -far, far, torque, q, p)
    model = crane()
    integrator = vt.METHODS["linear-time"](model, 0.01)
    motion, far = np.zeros((11, 3, 1)), np.full(3, np.inf)
    with pytest.raises(ValueError, match="another motion"):
        CORE.follow(integrator.stepper, None, -far, far, np.zeros((5, 3)), q, p, motion)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_inputs_and_prescribed_coordinates_act_as_in_a_simulation(method):
    rng, steps, dt = np.random.default_rng(6), 20, 0.01
    model = crane()
    integrator = vt.METHODS[method](model, dt, tolerance=1e-13)
    motion = np.zeros((2 * steps + 1, 3, 1))
    integrator.stepper.set_motion(motion)
    rows = np.column_stack([rng.normal(size=(steps, 3)), 0.01 * np.arange(1, steps + 1) ** 1.5])
    q, p, far = np.empty((steps + 1, 2)), np.empty((steps + 1, 2)), np.full(4, np.inf)
    integrator.start(0.0, np.array([0.0, 0.3]), np.array([0.1, 0.2]))
    assert CORE.follow(integrator.stepper, None, -far, far, rows, q, p, motion) == (0, steps)
    np.testing.assert_array_equal(motion[2::2, 0, 0], rows[:, 3])
    held = vt.Simulation(model, q[0], p0=p[0], dt=dt, method=method, tolerance=1e-13,
                         control=vt.Control(prescribed={"trolley": np.r_[0.0, rows[:, 3]]}))  # fmt: skip
    for i, row in enumerate(rows):
        held.step(control=vt.Control(torque=row[:2], inputs=row[2:3]))
        np.testing.assert_allclose(held.q, q[i + 1], atol=1e-12)
        np.testing.assert_allclose(held.p, p[i + 1], atol=1e-11)


def crane():
    """A trolley that moves as prescribed, and a load on a hinge that an input turns."""
    tree = vt.Tree("crane")
    trolley = tree.world.add(vt.tx("trolley", kinematic=True), vt.body("cart", 5.0))
    trolley.add(vt.ry("swing", damping=0.1), vt.tz(-1.0), vt.body("load", 2.0, (0.01, 0.01, 0.01)))
    tree.load(vt.JointForce("swing", "wind"))
    return tree.compile()
