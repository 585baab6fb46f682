"""The problem of shooting searches as a sparse program: one result, warm starts, and what it does not take."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from random_models import random_flat, random_state

import vitree as vt
from vitree.control import FrameCost, MotionProblem, QuadraticCost, Search, Transcription, optimize_motion
from vitree.lie import SO3

SWING = {"duration": 2.0, "dt": 0.04, "actuators": ["slide"],
         "costs": QuadraticCost([0.0, 0.0], Q=np.r_[1, 1, 0.1, 0.1] * 4e-4, R=[4e-4], Q_end=[10, 10, 1, 1])}


@pytest.mark.parametrize("solver", [None, "scipy"])
def test_the_result_is_that_of_shooting(solver):
    search = Transcription(solver) if solver else "transcription"
    seen = []
    one = optimize_motion(cart_pole(), [0.0, np.pi], tolerance=1e-12, **SWING)
    found = optimize_motion(cart_pole(), [0.0, np.pi], search=search, progress=lambda k, cost: seen.append((k, cost)),
                            control=one.torque, states=(one.q, one.p), **SWING)  # fmt: skip
    assert found.success and found.gap == found.violation == 0.0
    assert seen and seen[-1][0] == len(found.costs) - 1 and seen[-1][1] == found.costs[-1]
    assert found.cost == pytest.approx(one.cost, rel=1e-6)
    np.testing.assert_allclose(found.trajectory.q, found.q, atol=1e-6)
    np.testing.assert_allclose(found.gains, one.gains, rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(found.torque[:, 1], 0.0)
    led = vt.simulate(cart_pole(), [0.02, np.pi + 0.02], duration=2.0, dt=0.04, control=found.regulator.controller())
    assert np.abs(led.q[-1] - found.q[-1]).max() < 0.05


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_all_costs_on_all_joints(method):
    """Full matrices, goals that move, a pose of a frame: the value and the optimum are those of shooting."""
    rng = np.random.default_rng(0)
    model = vt.Model(random_flat(rng, nbody=3, kinds=("free", "ball", "revolute")))
    (q0, v0), nv = random_state(model.flat, rng)[:2], model.nv
    root = rng.normal(size=(2 * nv, 2 * nv))
    Q, steps = 0.05 * root @ root.T + 0.05 * np.eye(2 * nv), 6
    goal = np.array([model.integrate(q0, 0.1 * rng.normal(size=nv)) for _ in range(steps + 1)])
    cost = QuadraticCost(goal, Q=Q, R=0.05 + np.diag(rng.uniform(0, 0.1, nv)), Q_end=3 * Q,
                         goal_p=0.1 * rng.normal(size=(steps + 1, nv)),
                         goal_u=rng.normal(size=(steps, nv)))  # fmt: skip
    pose = FrameCost(model.frame_names[-1], rng.normal(size=(steps + 1, 3)), SO3.maps["exp"].tau(rng.normal(size=3)),
                     0.3, 2.0, 0.4, 1.5)  # fmt: skip
    task = {"duration": steps * 0.03, "dt": 0.03, "costs": [cost, pose], "method": method}
    one = optimize_motion(model, q0, 0.2 * v0, **task, tolerance=1e-11)
    program = MotionProblem(model, steps=steps, dt=0.03, start=(q0, 0.2 * v0), cost=[cost, pose], method=method)
    x, d = program.x0 + 0.01 * rng.normal(size=len(program.x0)), rng.normal(size=len(program.x0))
    sides = [program.objective(x + s * d) for s in (1e-6, -1e-6)]
    assert program.gradient(x) @ d == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-6)
    found = optimize_motion(model, q0, 0.2 * v0, search="transcription", control=one.torque, states=(one.q, one.p),
                            **task)  # fmt: skip
    assert one.success and found.success, found.message
    assert found.cost == pytest.approx(one.cost, rel=1e-6)
    assert found.costs[-1] == pytest.approx(found.cost, rel=1e-6)


def test_the_next_problem_begins_at_the_last_solution():
    search = Search(cart_pole(), search="transcription", **SWING)
    first = search.solve([0.0, np.pi])
    again = search.solve([0.01, np.pi])
    assert first.success and again.success and len(again.costs) < len(first.costs)
    moved = search.solve([0.0, np.pi], goal=[0.2, 0.0])
    assert moved.success and moved.q[-1, 0] == pytest.approx(0.2, abs=0.05)


def test_an_iteration_that_ends_early_tells_its_gaps():
    found = optimize_motion(cart_pole(), [0.0, np.pi], search="transcription", max_iterations=2,
                            states=np.linspace([0.0, np.pi], [0.0, 0.0], 51), **SWING)  # fmt: skip
    assert not found.success and found.gap > 1e-6 and "off the next node" in found.message


def test_what_it_does_not_take():
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Ground(), vt.Contact("ball", radius=0.1))
    above = [0, 0, 1, 0, 0, 0, 1]
    task = {"duration": 0.1, "dt": 0.01, "costs": QuadraticCost(above, R=1.0), "search": "transcription"}
    with pytest.raises(vt.InputError, match=r'"ball" has contacts.*MotionProblem'):
        optimize_motion(tree.compile(), above, **task)
    driven = vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"*": (20.0, 2.0)})
    with pytest.raises(vt.InputError, match="joint forces alone"):
        optimize_motion(driven, **{**task, "costs": QuadraticCost([0, 0], R=1.0)})
    with pytest.raises(vt.InputError, match="not actuators"):
        optimize_motion(cart_pole(), search="transcription", control=[1.0, 1.0], **SWING)
    with pytest.raises(vt.UnknownNameError, match="ipopt"):
        optimize_motion(cart_pole(), search=Transcription("snopt"), **SWING)
    with pytest.raises(vt.InputError, match="max_iterations"):
        optimize_motion(cart_pole(), search="transcription", max_iterations=0, **SWING)
