"""Multiple shooting: gaps close as they are expected to, and optima are those of single shooting."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from closed_chains import four_bar
from random_models import chain_flat, random_flat, random_state
from searches import UPRIGHT, ddp, shooting_problem

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, optimize_motion
from vitree.control.ddp import FDDP

METHODS = ["linear-time", "midpoint"]


def apart(method, rng):
    """A problem on every kind of joint, and nodes that no motion connects."""
    model = vt.Model(random_flat(np.random.default_rng(0), nbody=4, kinds=("free", "ball", "revolute", "prismatic")))
    (q0, v0), goal, nv = random_state(model.flat, rng)[:2], random_state(model.flat, rng)[0], model.nv
    problem = shooting_problem(model, q0, 0.2 * v0, duration=0.16, dt=0.02, goal=goal, Q=0.5, R=0.02, Q_end=5.0,
                               method=method, tolerance=1e-13)  # fmt: skip
    start, p0 = problem.start
    q = np.array([model.integrate(start, 0.1 * rng.normal(size=nv)) for _ in range(9)])
    at = problem.between(q, p0 + 0.1 * rng.normal(size=(9, nv)), 0.3 * rng.normal(size=(8, nv)))
    return model, problem, at


@pytest.mark.parametrize("method", METHODS)
def test_steps_end_at_their_gaps_from_the_next_node(method):
    model, problem, at = apart(method, np.random.default_rng(1))
    np.testing.assert_array_equal(at.q[0], problem.start[0])
    np.testing.assert_array_equal(at.p[0], problem.start[1])
    for k in range(8):
        held = vt.Simulation(model, at.q[k], p0=at.p[k], dt=0.02, method=method, tolerance=1e-13)
        held.step(control=at.controls[k])
        gap = np.concatenate([model.difference(at.q[k + 1], held.q), held.p - at.p[k + 1]])
        np.testing.assert_allclose(at.gaps[k], gap, atol=1e-12)
    assert np.abs(at.gaps).min(axis=1).max() > 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_a_share_of_a_step_closes_this_share_of_all_gaps(method):
    _, problem, at = apart(method, np.random.default_rng(2))
    search = FDDP(problem, at)
    search._back(search.expansion)
    gains = search.last.k, search.last.K
    for share in (0.25, 0.5):
        found = problem.corrected(at, share, gains)
        rows = problem.between(found.q, found.p, found.controls)
        np.testing.assert_allclose(rows.gaps, (1 - share) * at.gaps, atol=1e-9)
        np.testing.assert_allclose(rows.gaps, found.gaps, atol=1e-9)
        np.testing.assert_allclose(rows.ends[1], found.ends[1], atol=1e-10)
    whole = problem.corrected(at, 1.0, gains)
    assert whole.gaps is None
    np.testing.assert_allclose(problem.follow(whole.controls).q, whole.q, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_change_of_the_cost_is_the_expected_one(method):
    _, problem, at = apart(method, np.random.default_rng(3))
    search = FDDP(problem, at)
    search._back(search.expansion)
    linear, _ = search._expected(at.gaps)
    gains = search.last.k, search.last.K
    for share in (1e-3, 5e-4):
        found, half = (problem.corrected(at, s, gains).cost - at.cost for s in (share, 0.5 * share))
        # the error of the extrapolation is of order share^2
        np.testing.assert_allclose((4 * half - found) / share, linear, rtol=1e-5)


def test_a_linear_problem_is_solved_by_one_step():
    """On sliding joints the dynamics are linear: whatever the guess of the states, a whole step is the optimum."""
    tree = vt.Tree("sledges")
    tree.world.add(vt.tx("first"), vt.body("one", 2.0)).add(vt.ty("second"), vt.body("two", 1.0))
    model, rng = tree.compile(), np.random.default_rng(0)
    task = {"duration": 1.0, "dt": 0.05, "costs": QuadraticCost([1.0, 0.5], Q=0.1, R=0.02, Q_end=10.0)}
    states = rng.normal(size=(21, 2)), rng.normal(size=(21, 2))
    found = optimize_motion(model, [0.2, 0.1], search="fddp", states=states, max_iterations=1, **task)
    assert found.gap == 0.0
    assert found.cost == pytest.approx(optimize_motion(model, [0.2, 0.1], **task).cost, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limited", [False, True])
def test_the_optimum_is_that_of_single_shooting(method, limited):
    model, rng = vt.Model(chain_flat(3, damping=0.1)), np.random.default_rng(4)
    reach = FrameCost(model.frame_names[-1], [0.3, 0.5, 0.8], weight=0.1, weight_end=5.0)
    rest = QuadraticCost([0.3, 0.2, 0.1], Q=0.1, R=[0.02, 0.03], Q_end=np.r_[30.0, 20, 10, 1, 1, 1])
    task = {"duration": 0.6, "dt": 0.03, "costs": [rest, reach], "actuators": [model.v_names[2], model.v_names[0]],
            "method": method, "tolerance": 1e-11, "limits": [2.0, 5.0] if limited else None}  # fmt: skip
    best = optimize_motion(model, [0.5, -0.4, 0.2], [0.2, 0.0, 0.1], **task)
    states = np.linspace([0.5, -0.4, 0.2], [0.3, 0.2, 0.1], 21) + 0.1 * rng.normal(size=(21, 3))
    found = optimize_motion(model, [0.5, -0.4, 0.2], [0.2, 0.0, 0.1], search="fddp", states=states, **task)
    assert found.success and found.gap == 0.0
    np.testing.assert_allclose(found.cost, best.cost, rtol=1e-9)
    np.testing.assert_allclose(found.torque, best.torque, atol=1e-3 * np.abs(best.torque).max())
    np.testing.assert_allclose(found.trajectory.q, found.q, atol=1e-9)
    if limited:
        assert (np.abs(found.torque[:, [2, 0]]) <= [2.0, 5.0]).all()
        assert np.isclose(np.abs(found.torque[:, [2, 0]]), [2.0, 5.0]).any()


def test_a_closed_chain_from_states():
    model = four_bar()
    q0 = vt.satisfy_constraints(model, [0.5, 0.1, 0.3])
    goal = vt.satisfy_constraints(model, [0.9, 0.1, 0.3])
    task = {"duration": 0.6, "dt": 0.03, "actuators": ["crank"], "tolerance": 1e-11,
            "costs": QuadraticCost(goal, Q=0.1, R=[0.02], Q_end=np.r_[20.0, 20, 20, 1, 1, 1])}  # fmt: skip
    best = optimize_motion(model, q0, **task)
    found = optimize_motion(model, q0, search="fddp", states=np.linspace(q0, goal, 21), **task)
    assert found.success and found.cost == pytest.approx(best.cost, rel=1e-8)
    assert np.abs(model.constraint_errors(found.trajectory.q)).max() < 1e-9


def acrobot(load):
    """A double pendulum with a motor at its elbow, and a load at its tip."""
    tree = vt.Tree("acrobot")
    elbow = tree.world.add(vt.rx("shoulder"), vt.body("upper", 1.0, (0.08, 0.08, 0.01), com=(0, 0, -0.5)), vt.tz(-1.0))
    tip = elbow.add(vt.rx("elbow"), vt.body("lower", 1.0, (0.08, 0.08, 0.01), com=(0, 0, -0.5)), vt.tz(-1.0))
    tip.add(vt.body("load", load))
    return tree.compile()


@pytest.mark.parametrize("load", [0.1, 0.3])
def test_states_lead_to_an_optimum_where_controls_alone_do_not(load):
    """An acrobot swings up. With a load the torque of the plan without one leads far away, and its states do not."""
    dt = 0.02
    cost = QuadraticCost([np.pi, 0.0], Q=dt * np.array([0.1, 0.1, 0.01, 0.01]), R=[1e-3 * dt], Q_end=[100, 100, 10, 10])
    task = {"duration": 4.0, "dt": dt, "costs": cost, "actuators": ["elbow"], "max_iterations": 300}
    plan = optimize_motion(acrobot(1e-6), limits=20.0, **task)
    assert plan.success and plan.cost < 5
    single = optimize_motion(acrobot(load), control=plan.torque, **task)
    assert single.costs[0] > 1000 and single.cost > 100
    found = optimize_motion(acrobot(load), control=plan.torque, states=(plan.q, plan.p), search="fddp", **task)
    assert found.success and found.cost < 5
    assert np.abs(found.trajectory.q[-1] - [np.pi, 0]).max() < 0.01
    # configurations are enough, without momenta
    again = optimize_motion(acrobot(load), control=plan.torque, states=plan.q, search="fddp", **task)
    assert again.success and again.cost == pytest.approx(found.cost, rel=1e-5)
    other = optimize_motion(acrobot(load), control=plan.torque, states=(plan.q, plan.p), search="transcription", **task)
    assert other.success and other.cost == pytest.approx(found.cost, rel=1e-5)


def test_without_states_it_is_single_shooting():
    one, other = (optimize_motion(cart_pole(), [0.0, 0.3], search=search, **UPRIGHT) for search in ("ddp", "fddp"))
    assert one.costs == other.costs
    np.testing.assert_array_equal(one.torque, other.torque)
    # a solution is its own optimum
    again = optimize_motion(cart_pole(), [0.0, 0.3], control=one.torque, states=(one.q, one.p), search="fddp",
                            **UPRIGHT)  # fmt: skip
    assert again.success and len(again.costs) <= 3 and again.cost == pytest.approx(one.cost, rel=1e-6)


def test_a_swing_up_within_bounds_from_states():
    """The optimum within bounds is that of single shooting, from states that break them."""
    cost = QuadraticCost([0.0, 0.0], Q=np.r_[1, 1, 0.1, 0.1] * 4e-4, R=[4e-4], Q_end=[10, 10, 1, 1])
    task = {"duration": 2.0, "dt": 0.04, "actuators": ["slide"], "costs": cost}
    free = optimize_motion(cart_pole(), [0.0, np.pi], **task)
    assert np.abs(free.q[:, 0]).max() > 0.5
    one = optimize_motion(cart_pole(), [0.0, np.pi], bounds={"slide": (-0.4, 0.4)}, **task)
    found = optimize_motion(cart_pole(), [0.0, np.pi], bounds={"slide": (-0.4, 0.4)}, search="fddp", states=free.q,
                            control=0.9 * free.torque, **task)  # fmt: skip
    assert found.success and found.violation <= 1e-6 and found.gap == 0.0
    assert found.cost == pytest.approx(one.cost, rel=1e-6)


def test_gaps_that_are_left_are_told():
    states = np.linspace([0.0, 0.0], [0.0, 0.3], 31)
    found = optimize_motion(cart_pole(), search="fddp", states=states, max_iterations=0, **UPRIGHT)
    assert not found.success and found.gap > 1e-3
    assert f"up to {found.gap:.3g} off the next node" in found.message


@pytest.mark.parametrize(("wrong", "text"), [
    ({"search": "ddp"}, "states need"), ({"search": "projection"}, "states need"),
    ({"states": np.zeros((30, 2))}, "states"), ({"states": np.full((31, 2), np.nan)}, "states"),
    ({"states": (np.zeros((31, 2)), np.zeros((31, 3)))}, "momenta of states"), ({"states": "up"}, "states"),
])  # fmt: skip
def test_wrong_states(wrong, text):
    task = {"search": "fddp", "states": np.zeros((31, 2)), **wrong}
    with pytest.raises(vt.InputError, match=text):
        optimize_motion(cart_pole(), **UPRIGHT, **task)


def test_models_that_it_does_not_take():
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Ground(), vt.Contact("ball", radius=0.1))
    above = [0, 0, 1, 0, 0, 0, 1]
    with pytest.raises(vt.InputError, match='"ball" has them; take search="ddp"'):
        ddp(tree.compile(), above, duration=0.1, dt=0.01, goal=above, R=1.0, search="fddp")
