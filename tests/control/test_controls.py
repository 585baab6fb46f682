"""Searches that follow a motion, with constraints, inputs and prescribed coordinates as controls."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from closed_chains import four_bar
from random_models import random_flat, random_state
from scipy.optimize import minimize
from searches import ddp, projection, shooting_problem

import vitree as vt
from vitree.control.projection import Descent, ProjectionNewton

METHODS = ["linear-time", "midpoint"]


def servos():
    """Two links with a servo each; the first has a limit that does not act here."""
    tree = vt.Tree("servos")
    elbow = tree.world.add(vt.rx("shoulder"), vt.tz(-0.5), vt.body("upper", 1.0, (0.02, 0.02, 0.01)))
    elbow.add(vt.rx("elbow"), vt.tz(-0.4), vt.body("lower", 0.5, (0.01, 0.01, 0.01)))
    tree.load(vt.Drive("shoulder", 40.0, 3.0, effort_limit=1e4, target="to"))
    tree.load(vt.Drive("elbow", 20.0, 1.0, target="and"))
    return tree.compile()


def blown():
    """A pendulum of two links in a wind."""
    tree = vt.Tree("in a wind")
    elbow = tree.world.add(vt.rx("first", damping=0.1), vt.tz(-0.5), vt.body("upper", 1.0))
    elbow.add(vt.ry("second", damping=0.1), vt.tz(-0.4), vt.body("lower", 0.5))
    tree.load(vt.Wrench("lower", force=("east", "north", 0.0)), vt.Spring("upper", "world", 3.0, 0.2))
    return tree.compile()


def crane():
    """A trolley that moves as prescribed, a winch likewise, and a load on a hinge."""
    tree = vt.Tree("crane")
    trolley = tree.world.add(vt.tx("trolley", kinematic=True), vt.body("cart", 5.0))
    trolley.add(vt.ry("swing", damping=0.01), vt.tz("winch", kinematic=True), vt.body("load", 2.0, (0.01, 0.01, 0.01)))
    return tree.compile()


#: model, start, goal, what is searched, and the searches' method
CASES = {
    "closed chain": (four_bar, lambda m: vt.satisfy_constraints(m, [0.5, 0.1, 0.3]), ["crank"]),
    "servos": (servos, lambda m: [0.1, -0.2], ["to", "and"]),
    "servo and force": (servos, lambda m: [0.1, -0.2], ["and", "shoulder"]),
    "wind": (blown, lambda m: [0.1, 0.2], ["north", "east"]),
    "crane": (crane, lambda m: [0.0, 0.0, -1.0], ["trolley", "winch"]),
    "crane and force": (crane, lambda m: [0.0, 0.0, -1.0], ["winch", "swing"]),
}  # fmt: skip
STEPS, DT = 6, 0.05


def case(name):
    """A model, its start, and weights that make a search of a few steps."""
    make, start, acts = CASES[name]
    model, rng = make(), np.random.default_rng(3)
    q0 = np.asarray(start(model), float)
    task = {"duration": STEPS * DT, "dt": DT, "goal": q0 + 0.2 * rng.normal(size=(STEPS + 1, model.nq)),
            "goal_p": 0.1 * rng.normal(size=(STEPS + 1, model.nv)), "goal_u": rng.normal(size=(STEPS, len(acts))),
            "Q": np.r_[np.full(model.nv, 0.5), np.full(model.nv, 0.05)], "R": np.linspace(0.02, 0.03, len(acts)),
            "Q_end": np.r_[np.full(model.nv, 20.0), np.ones(model.nv)], "actuators": acts}  # fmt: skip
    return model, q0, task


def simulated(model, start, controls, task, method):
    """A run of Simulation under controls (steps, m), its cost by plain sums; ``start``: q and p."""
    q0, p0 = start
    places = {name: np.full(STEPS + 1, q0[model.joint(name).q_slice][0]) for name in model.prescribed_joint_names}
    torque, inputs = np.zeros((STEPS, model.nv)), np.zeros((STEPS, len(model.input_names)))
    for name, column in zip(task["actuators"], controls.T, strict=True):
        if name in places:
            places[name][1:] = column
        elif name in model.input_names:
            inputs[:, model.input_names.index(name)] = column
        else:
            torque[:, model.v_names.index(name)] = column
    held = vt.Simulation(model, q0, p0=p0, dt=DT, method=method, control=vt.Control(prescribed=places), record_every=1,
                         tolerance=1e-13)
    for tau, u in zip(torque, inputs, strict=True):
        held.step(control=vt.Control(torque=tau, inputs=u if len(u) else None))
    run = held.trajectory
    x = np.concatenate([model.difference(task["goal"], run.q), run.p - task["goal_p"]], axis=1)
    u = controls - task["goal_u"]
    return run, np.sum(x[:-1] ** 2 @ task["Q"]) + np.sum(u**2 @ task["R"]) + np.sum(x[-1] ** 2 @ task["Q_end"])


def controls_of(model, found, names):
    columns = {name: found.prescribed[name][1:] for name in model.prescribed_joint_names}
    columns |= dict(zip(model.input_names, found.inputs.T, strict=True))
    return np.column_stack([columns[name] if name in columns else found.torque[:, model.v_names.index(name)]
                            for name in names])  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_that_of_a_general_solver(name, method):
    model, q0, task = case(name)
    found = ddp(model, q0, **task, method=method, tolerance=1e-12)
    assert found.success
    start = found.trajectory.q[0], found.trajectory.p[0]
    acts = task["actuators"]
    best = controls_of(model, found, acts)
    run, cost = simulated(model, start, best, task, method)
    np.testing.assert_allclose(found.cost, cost, rtol=1e-8)
    np.testing.assert_allclose(found.trajectory.q, run.q, atol=1e-8)

    def cost_of(x):
        try:
            return simulated(model, start, x.reshape(best.shape), task, method)[1]
        except vt.ConvergenceError:  # a search along a line may go far
            return 1e6

    prescribed = model.prescribed_joint_names
    first = np.array([[q0[model.joint(name).q_slice][0] if name in prescribed else 0.0 for name in acts]] * STEPS)
    other = minimize(cost_of, first.ravel(), method="BFGS", options={"gtol": 1e-5})
    np.testing.assert_allclose(found.cost, other.fun, rtol=1e-6)
    np.testing.assert_allclose(best.ravel(), other.x, atol=1e-2 * np.abs(other.x).max())
    also = projection(model, q0, **task, method=method, tolerance=1e-12)
    assert also.success
    np.testing.assert_allclose(also.cost, found.cost, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_slopes_of_the_cost_are_those_of_motions(name, method):
    model, q0, task = case(name)
    problem = shooting_problem(model, q0, method=method, tolerance=1e-13, **task)
    rng = np.random.default_rng(5)
    controls = problem.follow(problem.controls.rows(None, None, problem.moved[2::2, 0])).controls
    controls[:, problem.acts] += 0.05 * rng.normal(size=(STEPS, len(problem.acts)))
    path = problem.follow(controls)
    A, B, _, gx, *_ = problem.expand(path)
    change = rng.normal(size=(STEPS, len(problem.acts)))
    x, slope = np.zeros(2 * model.nv), 0.0
    for k in range(STEPS):
        slope += gx[k] @ x + 2 * problem.effort(path.controls)[k] @ problem.R @ change[k]
        x = A[k] @ x + B[k] @ change[k]
    slope += gx[-1] @ x
    sides = []
    for size in (1e-5, -1e-5):
        moved = controls.copy()
        moved[:, problem.acts] += size * change
        sides.append(problem.follow(moved).cost)
    np.testing.assert_allclose((sides[0] - sides[1]) / 2e-5, slope, rtol=2e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name, acts", [("closed chain", ["crank"]), ("crane and force", ["swing"])])
def test_newtons_direction_is_that_of_motions_with_constraints_and_prescribed_coordinates(name, acts, method):
    model, q0, task = case(name)
    task = {name: task[name] for name in ("duration", "dt", "goal", "Q", "Q_end")}
    problem = shooting_problem(model, q0, R=[0.02], actuators=acts, method=method, tolerance=1e-13, **task)
    controls = problem.controls.rows(None, None, problem.moved[2::2, 0])
    controls[:, problem.acts] += 3 * np.random.default_rng(1).normal(size=(STEPS, 1))
    search = Descent(problem, problem.follow(controls), ProjectionNewton(feedback=(np.eye(2 * model.nv), np.eye(1))))
    towards = search.towards("newton")
    ways = [search.along(towards, share).cost for share in (1e-3, 0.0, -1e-3)]
    np.testing.assert_allclose((ways[0] - ways[2]) / 2e-3, towards.slope, rtol=1e-6)
    # Newton's direction: the second derivative along it is minus the slope
    np.testing.assert_allclose((ways[0] - 2 * ways[1] + ways[2]) / 1e-6, -towards.slope, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("search", [ddp, projection])
def test_a_motion_that_is_wanted_is_found(search, method):
    """The motion under some torque, on every kind of joint, costs nothing: both searches return to it."""
    rng = np.random.default_rng(0)
    model = vt.Model(random_flat(rng, nbody=4, kinds=("free", "ball", "revolute", "prismatic"), damping=0.1))
    q0, v0 = random_state(model.flat, rng)[:2]
    held = vt.Simulation(model, q0, 0.2 * v0, dt=0.02, method=method, record_every=1)
    torque = 0.3 * rng.normal(size=(10, model.nv))
    for row in torque:
        held.step(control=row)
    run = held.trajectory
    found = search(model, q0, 0.2 * v0, duration=0.2, dt=0.02, goal=run.q, goal_p=run.p, goal_u=torque, Q=1.0, R=0.1,
                   method=method, tolerance=1e-13)  # fmt: skip
    assert found.costs[0] > 1e-3
    assert found.cost < 1e-10 * found.costs[0]
    np.testing.assert_allclose(found.torque, torque, atol=1e-3)


def test_what_was_found_is_simulated_again():
    model = crane()
    goal = [1.0, 0.0, -0.8]
    # the momenta of trolley and winch are those of their rates
    task = {"duration": 2.0, "dt": 0.02, "Q": [0, 0, 0, 1e-3, 0, 1e-2], "R": [0.01, 0.01]}
    task["Q_end"] = [1e3, 1e3, 1e3, 1.0, 1e3, 1.0]
    found = ddp(model, [0.0, 0.0, -1.0], goal=goal, goal_u=[1.0, -0.8], actuators=["trolley", "winch"], **task)
    assert found.success
    assert found.regulator is None
    assert np.abs(found.trajectory.q[-1] - goal).max() < 0.05
    run = vt.simulate(model, [0.0, 0.0, -1.0], p0=found.trajectory.p[0], duration=2.0, dt=0.02,
                      control=vt.Control(prescribed=found.prescribed))  # fmt: skip
    np.testing.assert_allclose(run.q, found.trajectory.q, atol=1e-9)
    arm = servos()
    found = ddp(arm, [0.1, -0.2], duration=1.0, dt=0.02, goal=[0.5, 0.3], Q=0.1, R=1e-3, actuators=["to", "and"])
    run = vt.simulate(arm, [0.1, -0.2], duration=1.0, dt=0.02, control=vt.Control(inputs=found.inputs))
    np.testing.assert_allclose(run.q, found.trajectory.q, atol=1e-9)
    assert found.inputs.shape == (50, 2)
    assert found.gains.shape == (50, 2, 4)
    assert not found.torque.any()


def test_controls_stay_between_their_limits():
    arm = servos()
    task = {"duration": 1.0, "dt": 0.05, "goal": [0.5, 0.3], "Q": 1.0, "R": 1e-3, "actuators": ["to", "elbow"]}
    free = ddp(arm, [0.1, -0.2], **task)
    assert free.inputs[:, 0].min() < 0.1 < 0.3 < free.inputs[:, 0].max()
    held = ddp(arm, [0.1, -0.2], limits=[(0.1, 0.3), (-np.inf, np.inf)], inputs={"to": 0.2}, **task)
    assert held.success
    assert held.inputs[:, 0].min() == 0.1
    assert held.inputs[:, 0].max() == 0.3
    assert held.cost > free.cost
    at_bound = np.isin(held.inputs[:, 0], (0.1, 0.3))
    assert not held.gains[at_bound, 0].any()


def test_what_is_not_searched_acts_as_it_is_given():
    model = crane()
    t = 0.02 * np.arange(51)
    moves = {"trolley": 0.3 * t**2 * (3 - 2 * t)}
    found = ddp(model, [0.0, 0.0, -1.0], duration=1.0, dt=0.02, goal=[0.3, 0.0, -1.0], R=1e-3,
                 Q=[0, 10, 0, 0, 0, 0], actuators=["swing"], prescribed=moves)  # fmt: skip
    np.testing.assert_array_equal(found.prescribed["trolley"], moves["trolley"])
    np.testing.assert_array_equal(found.prescribed["winch"], np.full(51, -1.0))
    run = vt.simulate(model, [0.0, 0.0, -1.0], duration=1.0, dt=0.02, control=vt.Control(prescribed=moves))
    assert np.abs(found.trajectory.q[:, 1]).max() < 0.5 * np.abs(run.q[:, 1]).max()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"goal": np.zeros((5, 2))}, r"goal.*has shape \(5, 2\).*\(51, 2\)"), ({"goal_p": np.zeros(3)}, "goal_p"),
        ({"goal_p": np.zeros((50, 2))}, "goal_p"), ({"goal_u": np.zeros((51, 1))}, "goal_u"),
        ({"goal_u": [np.nan]}, "goal_u"), ({"inputs": {"wind": 1.0}}, "wind"), ({"limits": [(1.0, -1.0)]}, "smaller"),
        ({"limits": [(1.0, 2.0, 3.0)]}, "limits"), ({"limits": np.nan}, "positive"), ({"actuators": []}, "actuators"),
        ({"prescribed": {"slide": np.zeros(51)}}, "slide"), ({"inputs": lambda t, q, v: []}, "inputs"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told(wrong, text):
    task = {"duration": 2.0, "dt": 0.04, "goal": [0.0, 0.0], "Q": 1.0, "R": 1.0, "actuators": ["slide"]}
    for search in (ddp, projection):
        if "limits" in wrong and search is projection:
            continue
        with pytest.raises(vt.VitreeError, match=text):
            search(cart_pole(), [0.0, np.pi], **{**task, **wrong})


def test_a_name_of_two_things_is_refused():
    tree = vt.Tree("twice")
    tree.world.add(vt.rx("turn"), vt.tz(-1.0), vt.body("link", 1.0))
    tree.load(vt.JointForce("turn", "turn"))
    task = {"duration": 0.1, "dt": 0.01, "goal": [0.5], "Q": 1.0, "R": 1.0}
    with pytest.raises(vt.InputError, match="a joint and an input"):
        ddp(tree.compile(), actuators=["turn"], **task)
