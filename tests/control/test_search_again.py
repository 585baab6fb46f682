"""Problems that are solved again and again, and motions in contact."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cart_poles import cart_pole
from cranes import crane, raising
from searches import UPRIGHT, ddp, projection, shooting_problem

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, Search, optimize_motion

COST = UPRIGHT["costs"]


def gradient(problem, at):
    """The derivatives of the cost by the controls, by costates."""
    found = problem.expand(at)
    by = 2 * problem.effort(at.controls) @ problem.R
    costate = found.gradients[-1]
    for k in range(problem.steps - 1, -1, -1):
        by[k] += found.B[k].T @ costate
        costate = found.gradients[k] + found.A[k].T @ costate
    return by


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_gradient_of_a_motion_in_contact(method):
    model, q = crane()
    problem = shooting_problem(model, q, method=method, tolerance=1e-13, **raising(q))
    rng = np.random.default_rng(1)
    at = problem.first({"torque": np.zeros(model.nv)})
    at = problem.follow(at.controls + np.where(np.arange(model.nv) >= 6, rng.normal(size=at.controls.shape), 0.0))
    assert all(len(one.members) == 4 for one in at.touched)
    by, to = gradient(problem, at), rng.normal(size=(problem.steps, 2))
    sides = []
    for sign in (1, -1):
        controls = at.controls.copy()
        controls[:, 6:] += sign * 1e-4 * to
        sides.append(problem.follow(controls).cost)
    assert (sides[0] - sides[1]) / 2e-4 == pytest.approx(np.sum(by * to), rel=1e-7)


@pytest.mark.parametrize("search", ["ddp", "projection"])
def test_an_arm_on_a_box_that_stands(search):
    model, q = crane()
    found = (ddp if search == "ddp" else projection)(model, q, **raising(q))
    assert found.success and found.cost < 0.1 * found.costs[0]
    run = found.trajectory
    np.testing.assert_array_equal(run.q, found.q)
    assert np.abs(run.contacts.slip).max() < 1e-9 and np.abs(run.q[-1, 7:] - (0.6, 0.5)).max() < 0.1
    # an optimum: no control lowers the cost
    problem = shooting_problem(model, q, tolerance=1e-13, **raising(q))
    at = problem.follow(np.concatenate([found.torque, found.inputs], axis=1))
    assert np.abs(gradient(problem, at)).max() < 1e-3


def test_a_motion_that_ends_at_a_limit():
    tree = vt.Tree("bounded")
    tree.world.add(vt.rx("turn", lower=-1.0, upper=1.0), vt.tz(-1.0), vt.body("link", 1.0))
    tree.limits = "enforce"
    found = ddp(tree.compile(), duration=1.0, dt=0.02, goal=[1.5], Q=0.02, R=1e-3, Q_end=10.0)
    assert found.success and found.q.max() <= 1.0 + 1e-9 and found.q[-1, 0] > 0.99


def test_the_curvature_of_paths():
    """The second derivatives of the cost of a point by all joints that are no balls, against differences."""
    from vitree.control.frame_costs import FrameCosts

    model, _ = crane()
    tree = vt.Tree("arm")
    at = tree.world.add(vt.rz("a"), vt.tx(0.2), vt.body("one", 1.0))
    at = at.add(vt.ry("b"), vt.tx(0.3), vt.body("two", 1.0)).add(vt.tz("c"), vt.rx("d"), vt.ty(0.2))
    at.add(vt.rz("e"), vt.tx(0.1), vt.body("three", 1.0))
    model, rng = tree.compile(), np.random.default_rng(2)
    costs = FrameCosts(model, [FrameCost("three", [0.3, 0.2, 0.5], weight=1.5, weight_end=3.0)], 1)

    def slope(q):
        by, square = np.zeros((2, 2 * model.nv)), np.zeros((2, 2 * model.nv, 2 * model.nv))
        costs.expand(q, by, square)
        return by[:, : model.nv], square[:, : model.nv, : model.nv]

    q = rng.uniform(-1, 1, (2, model.nv))
    bent = np.zeros((2, 2 * model.nv, 2 * model.nv))
    costs.bend(q, bent)
    whole = slope(q)[1] + bent[:, : model.nv, : model.nv]
    for j, unit in enumerate(1e-5 * np.eye(model.nv)):
        np.testing.assert_allclose(whole[:, :, j], (slope(q + unit)[0] - slope(q - unit)[0]) / 2e-5, atol=1e-8)


def test_the_first_solution_is_that_of_a_single_problem():
    model = cart_pole()
    one = optimize_motion(model, [0.1, 0.4], [0.2, 0.0], **UPRIGHT)
    search = Search(model, **UPRIGHT)
    assert "nothing solved" in repr(search)
    again = search.solve([0.1, 0.4], [0.2, 0.0])
    assert "30 steps" in repr(search)
    np.testing.assert_array_equal(one.torque, again.torque)
    assert one.costs == again.costs
    # the next one starts from its controls, and the motion of the first is still its own
    there = search.solve([0.0, -0.3])
    assert there.cost == pytest.approx(optimize_motion(model, [0.0, -0.3], **UPRIGHT).cost, rel=1e-6)
    np.testing.assert_array_equal(again.trajectory.q, one.q)
    np.testing.assert_array_equal(there.trajectory.q, there.q)
    assert there.trajectory.v[0] == pytest.approx([0, 0])


def test_controls_move_on():
    search = Search(cart_pole(), **UPRIGHT)
    first = search.solve([0.0, 0.3])
    later = search.solve(first.q[2], first.trajectory.v[2], shift=2, max_iterations=0)
    np.testing.assert_array_equal(later.torque[:-2], first.torque[2:])
    np.testing.assert_array_equal(later.torque[-2:], first.torque[[-1, -1]])
    np.testing.assert_allclose(later.q[:-2], first.q[2:], atol=1e-12)


@pytest.mark.parametrize("kind", ["ddp", "fddp"])
def test_a_receding_horizon(kind):
    """A pole that is pushed is kept upright, with one iteration a step; by "fddp" from the last states."""
    model = cart_pole()
    sim, search = vt.Simulation(model, [0.0, 0.2], dt=0.02), Search(model, search=kind, **UPRIGHT)
    for k in range(150):
        plan = search.solve(sim.q, sim.v, shift=min(k, 1), max_iterations=1)
        push = np.array([3.0, 0.0]) if 50 <= k < 55 else 0.0
        sim.step(control=vt.Control(torque=plan.torque[0] + push))
    assert np.abs(sim.q).max() < 0.05


def test_a_goal_that_moves():
    search = Search(cart_pole(), **UPRIGHT)
    goal = np.column_stack([np.linspace(0, 0.2, 31), np.zeros(31)])
    found = search.solve([0.0, 0.0], goal=goal)
    task = UPRIGHT | {"costs": QuadraticCost(goal, Q=COST.Q, R=COST.R, Q_end=COST.Q_end)}
    assert found.cost == pytest.approx(optimize_motion(cart_pole(), [0.0, 0.0], **task).cost, rel=1e-9)
    # it stays until there is another one
    assert search.solve([0.0, 0.0]).cost == pytest.approx(found.cost, rel=1e-6)
    assert search.solve([0.0, 0.0], goal=[0.0, 0.0]).cost == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(vt.InputError, match="goal"):
        search.solve(goal=[1.0, 2.0, 3.0])


def test_a_search_in_contact_goes_on():
    model, q = crane()
    given = raising(q)
    costs = QuadraticCost(**{name: given.pop(name) for name in ("goal", "Q", "R", "Q_end")})
    search = Search(model, costs=costs, **given)
    first = search.solve(q)
    again = search.solve(q)
    assert again.success and len(again.costs) <= 2 and again.cost == pytest.approx(first.cost, rel=1e-6)


@pytest.mark.parametrize(("given", "text"), [
    ({"shift": -1}, "shift"), ({"shift": 0.5}, "shift"), ({"max_iterations": -1}, "max_iterations"),
    ({"tolerance": np.nan}, "tolerance"), ({"q0": [1.0]}, "q0"), ({"v0": [1.0]}, "v0"),
    ({"control": [np.nan, 0]}, "control"),
])  # fmt: skip
def test_wrong_arguments(given, text):
    search = Search(cart_pole(), **UPRIGHT)
    search.solve([0.0, 0.1], max_iterations=1)
    with pytest.raises(vt.InputError, match=text):
        search.solve(**given)
    assert search.solve([0.0, 0.1]).success


def test_an_unknown_search():
    with pytest.raises(vt.UnknownNameError, match="fddp"):
        Search(cart_pole(), search="ilqg", **UPRIGHT)


def continued(plan):
    """The arguments by which the message of a plan says that one goes on from it."""
    text = re.search(r"Continue from this plan with (.*) and more iterations", plan.message)[1]
    return eval(f"dict({text.replace(' and control=', ', control=')})", {"plan": plan})


@pytest.mark.parametrize("search", ["ddp", "fddp", "projection", "transcription"])
def test_a_plan_that_was_cut_converges_from_where_it_ended(search):
    cost = QuadraticCost([0.0, 0.0], Q=np.r_[1, 1, 0.1, 0.1] * 4e-4, R=[4e-4], Q_end=[10, 10, 1, 1])
    task = {"duration": 2.0, "dt": 0.04, "costs": cost, "actuators": ["slide"], "search": search}
    start = [0.0, np.pi]
    guess = {"states": np.linspace(start, [0.0, 0.0], 51)} if search == "fddp" else {}
    whole = optimize_motion(cart_pole(), start, **task, **guess)
    cut = optimize_motion(cart_pole(), start, max_iterations=8, **task, **guess)
    assert whole.success and not cut.success
    more = continued(cut)
    assert ("states" in more) == (search in ("fddp", "transcription"))
    found = optimize_motion(cart_pole(), start, **more, **task)
    assert found.success and found.cost == pytest.approx(whole.cost, rel=1e-5)
    if search in ("ddp", "projection"):
        # it begins at the same motion
        assert found.costs[0] == pytest.approx(cut.cost, rel=1e-12)


def test_a_plan_with_inputs_and_prescribed_coordinates_goes_on():
    tree = vt.Tree("crane in a wind")
    trolley = tree.world.add(vt.tx("trolley", kinematic=True), vt.body("cart", 5.0))
    trolley.add(vt.ry("swing", damping=0.01), vt.tz(-1.0), vt.body("load", 2.0, (0.01, 0.01, 0.01)))
    tree.load(vt.Wrench("load", force=("east", 0.0, 0.0)))
    model, cost = tree.compile(), QuadraticCost([0.5, 1.5], Q=0.1, R=[0.02, 0.03], Q_end=20.0)
    task = {"duration": 1.0, "dt": 0.05, "costs": cost, "actuators": ["trolley", "east"]}
    begins = {"prescribed": {"trolley": np.zeros(21)}}
    cut = optimize_motion(model, control=begins, max_iterations=2, **task)
    assert not cut.success and set(continued(cut)["control"]) == {"torque", "inputs", "prescribed"}
    found = optimize_motion(model, **continued(cut), **task)
    assert found.success and found.costs[0] == pytest.approx(cut.cost, rel=1e-9)
    assert found.cost < cut.cost
    assert found.cost == pytest.approx(optimize_motion(model, control=begins, **task).cost, rel=1e-6)
