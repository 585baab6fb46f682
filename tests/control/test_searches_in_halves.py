"""Searches through motions whose steps are taken in halves: their derivatives are those of the parts."""

from __future__ import annotations

import numpy as np
import pytest
from searches import ddp, projection, shooting_problem
from spun_pendulums import spun

from vitree._core import scalar
from vitree.integrators.slopes import central

DT, DAMPING = 0.05, 0.05


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_slope_of_the_cost_is_that_of_motions(method, loop):
    model, q, v = spun(DAMPING, loop)
    rng, n = np.random.default_rng(0), 2 * model.nv
    problem = shooting_problem(model, q, v, duration=1.0, dt=DT, goal=q, Q=rng.uniform(0.1, 1.0, n), R=0.1,
                               Q_end=rng.uniform(0.1, 1.0, n), actuators=model.v_names[1::-1], method=method,
                               tolerance=1e-13)  # fmt: skip
    u = np.zeros((problem.steps, model.nv))
    u[:, :2] = 0.2 * rng.normal(size=(problem.steps, 2))
    path = problem.follow(u)
    assert path.inner is not None and len(path.inner) > 1
    by = np.zeros_like(u)
    by[:, :2] = rng.normal(size=(problem.steps, 2))
    model_of, steps = problem.expand(path), problem.steps
    moves, x = np.ascontiguousarray(by[:, 1::-1]), np.empty((steps + 1, n))
    scalar().linear_motion(model_of.A, model_of.B, moves, np.zeros((steps, 2, n)), x, np.empty((steps, 2)))
    slope = np.vdot(model_of.gradients, x) + np.vdot(2 * problem.effort(u) @ problem.R, moves)

    def cost(share):
        side = problem.follow(u + share * by)
        assert len(side.inner) == len(path.inner)
        return side.cost

    np.testing.assert_allclose(central(cost, 1e-5), slope, rtol=1e-6)


def test_all_searches_brake_a_pendulum_alike():
    model, q, v = spun(DAMPING)
    task = {"duration": 1.0, "dt": DT, "goal": [0.0, 0.0], "Q": 0.01, "R": 0.002, "Q_end": [10.0, 10.0, 1.0, 1.0]}
    assert shooting_problem(model, q, v, **task).first(None).inner is not None
    found = [search(model, q, v, tolerance=1e-9, **task) for search in (ddp, projection)]
    assert all(plan.success for plan in found)
    np.testing.assert_allclose(found[0].cost, found[1].cost, rtol=1e-6)
    np.testing.assert_allclose(found[0].trajectory.q, found[0].q, rtol=0, atol=1e-9)
