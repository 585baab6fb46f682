"""Descent in the space of motions: directions are right to second order, and lead to the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from random_models import chain_flat, random_flat, random_state
from searches import ddp, projection, shooting_problem

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, optimize_motion
from vitree.control.projection import Descent, ProjectionNewton

START = [0.5, -0.4, 0.2], [0.2, 0.0, 0.1]
TASK = {"duration": 0.6, "dt": 0.03, "goal": [0.3, 0.2, 0.1], "Q": 0.1, "R": [0.02, 0.03],
        "Q_end": np.r_[30.0, 20, 10, 1, 1, 1]}  # fmt: skip


def chain():
    model = vt.Model(chain_flat(3, damping=0.1))
    return model, {**TASK, "actuators": [model.v_names[2], model.v_names[0]]}


def descent(model, q0, v0, goal, rng, kind):
    """A search about a motion far from the optimum."""
    n = 2 * model.nv
    problem = shooting_problem(model, q0, v0, duration=0.2, dt=0.02, goal=goal, Q=0.5, R=0.02, Q_end=5.0,
                               actuators=model.v_names[-2:], tolerance=1e-13)  # fmt: skip
    path = problem.follow(rng.normal(size=(10, model.nv)))
    return Descent(problem, path, ProjectionNewton(kind, (np.eye(n), np.eye(2))))


@pytest.mark.parametrize("kind", ["newton", "quasi-newton", "steepest"])
def test_slopes_are_those_of_motions_along_the_curve(kind):
    rng = np.random.default_rng(0)
    model = vt.Model(random_flat(rng, nbody=3, kinds=("ball", "revolute", "prismatic")))
    (q0, v0), goal = random_state(model.flat, rng)[:2], random_state(model.flat, rng)[0]
    search = descent(model, q0, 0.2 * v0, goal, rng, kind)
    towards = search.towards(kind) or search.towards("quasi-newton")
    sides = [search.along(towards, share).cost for share in (1e-5, -1e-5)]
    np.testing.assert_allclose((sides[0] - sides[1]) / 2e-5, towards.slope, rtol=1e-5)


def test_the_quadratic_is_that_of_motions_along_the_curve():
    rng = np.random.default_rng(0)
    model = vt.Model(chain_flat(3, damping=0.1))
    search = descent(model, *START, [0.4, -0.2, 0.3], rng, "newton")
    towards = search.towards("newton")
    assert towards is not None
    ways = [search.along(towards, share).cost for share in (1e-2, 0.0, -1e-2)]
    # Newton's direction: the second derivative along it is minus the slope
    np.testing.assert_allclose((ways[0] - 2 * ways[1] + ways[2]) / 1e-4, -towards.slope, rtol=1e-3)
    np.testing.assert_allclose(towards.expected, 0.5 * towards.slope, rtol=1e-9)
    other = search.towards("quasi-newton")
    ways = [search.along(other, share).cost for share in (1e-2, 0.0, -1e-2)]
    assert abs((ways[0] - 2 * ways[1] + ways[2]) / 1e-4 + other.slope) > 1e-2 * abs(other.slope)


def test_all_ways_lead_to_the_optimum():
    model, task = chain()
    best = ddp(model, *START, **task, tolerance=1e-12)
    counts = {}
    for direction, tolerance in (("newton", 1e-12), ("quasi-newton", 1e-12), ("steepest", 1e-4)):
        found = projection(model, *START, **task, direction=direction, tolerance=tolerance, max_iterations=2000)
        assert found.success
        assert all(b < a for a, b in zip(found.costs, found.costs[1:], strict=False))
        np.testing.assert_allclose(found.cost, best.cost, rtol=max(1e-9, 10 * tolerance))
        counts[direction] = len(found.costs)
    assert counts["newton"] < counts["quasi-newton"]


def test_a_pole_swings_up_and_its_regulator_holds_the_motion():
    model = cart_pole()
    task = {"duration": 2.0, "dt": 0.04, "goal": [0.0, 0.0], "Q": np.r_[1, 1, 0.1, 0.1] * 4e-4, "R": [4e-4],
            "Q_end": [10, 10, 1, 1], "actuators": ["slide"]}  # fmt: skip
    weights = np.full(4, 1.0), [1e-2]
    found = projection(model, [0.0, np.pi], **task, feedback=weights)
    assert found.success
    assert np.abs(found.trajectory.q[-1]).max() < 0.1
    along = found.trajectory.linearize()
    expected = vt.control.tvlqr(along, *weights, actuators=["slide"])
    np.testing.assert_allclose(found.regulator.K, expected.K, rtol=1e-6, atol=1e-8)
    led = vt.simulate(model, [0.02, np.pi + 0.02], duration=2.0, dt=0.04, control=found.regulator.controller())
    assert np.abs(led.q[-1] - found.trajectory.q[-1]).max() < 0.05


@pytest.mark.parametrize("feedback", [None, (np.eye(4), [1e-2])])
def test_an_acrobot_swings_up(feedback):
    """The optimum is that of "ddp", whose open-loop motions are unstable."""
    model, dt = vt.load_urdf(vt.find_robot("double_pendulum")), 0.01
    cost = QuadraticCost([np.pi, 0.0], Q=dt * np.array([0.1, 0.1, 0.01, 0.01]), R=[1e-2 * dt], Q_end=[100, 100, 10, 10])
    task = {"duration": 4.0, "dt": dt, "costs": cost, "actuators": ["hinge2"], "max_iterations": 300}
    best, found = (optimize_motion(model, search=x, **task) for x in ("ddp", ProjectionNewton(feedback=feedback)))
    assert best.success and found.success and found.cost == pytest.approx(best.cost, rel=1e-5)
    assert np.abs(found.q[-1] - [np.pi, 0.0]).max() < 0.01


def reaching(way):
    """A Talos, its start, and a task in which it takes its left hand a way."""
    model = vt.load_urdf(vt.find_robot("talos"), mimic="independent")
    q, nv, hand = np.zeros(model.nq), model.nv, "gripper_left_joint"
    at = dict(zip(model.q_names, range(nv), strict=True))
    for side, sign in (("left", 1), ("right", -1)):
        for k, angle in ((1, 0.25), (2, 0.17), (3, -0.6), (5, 0.5), (7, 0.1)):
            q[at[f"arm_{side}_{k}_joint"]] = sign * angle
        q[at[f"arm_{side}_4_joint"]] = -1.3
    rest = QuadraticCost(q, Q=np.r_[np.full(nv, 1e-2), np.zeros(nv)], R=1e-5, Q_end=0.0)
    reach = FrameCost(hand, model.frame_pose(hand, q)[:3, 3] + way, weight=0.01, weight_end=1e3)
    return model, q, {"duration": 1.0, "dt": 0.02, "costs": [rest, reach], "control": -model.passive_force(q)}


@pytest.mark.parametrize("way", [[0.2, 0.1, 0.3], [0.1, 0.3, 0.2], [0.3, -0.1, 0.1]])
def test_a_humanoid_reaches(way):
    """32 joints, without second derivatives of steps."""
    model, q, task = reaching(way)
    model = model.with_parameters(friction=np.zeros(model.nv))
    best, found = (optimize_motion(model, q, search=search, **task) for search in ("ddp", "projection"))
    assert best.success and found.success and found.cost == pytest.approx(best.cost, rel=1e-5)


def test_a_humanoid_with_joint_friction_reaches_from_a_plan_without():
    """Steep friction stops the descent far from the optimum, and the message says how to go on."""
    model, q, task = reaching([0.2, 0.1, 0.3])
    task |= {"search": "projection", "max_iterations": 100}
    stalled = optimize_motion(model, q, **task)
    assert not stalled.success and "plan without it first" in stalled.message
    first = optimize_motion(model.with_parameters(friction=np.zeros(model.nv)), q, **task)
    assert first.success and "friction" not in first.message
    found = optimize_motion(model, q, **{**task, "control": first.torque})
    assert found.cost < 0.5 * stalled.cost


def test_what_was_found_is_kept_when_the_keyboard_interrupts():
    model, task = chain()

    def stop(iteration, cost):
        raise KeyboardInterrupt

    found = projection(model, *START, **task, progress=stop)
    assert "keyboard" in found.message
    assert found.cost == min(found.costs)
    assert len(found.costs) == 2


@pytest.mark.parametrize(
    ("wrong", "text"),
    [({"direction": "up"}, "newton"), ({"feedback": 3}, "feedback"), ({"feedback": (1.0, [0.0, 1.0])}, "positive"),
     ({"R": [0.0, 1.0]}, "R must be positive"), ({"tolerance": -1.0}, "tolerance"),
     ({"limits": 3.0}, "ddp")],
)  # fmt: skip
def test_wrong_arguments_are_told(wrong, text):
    model, task = chain()
    with pytest.raises(vt.VitreeError, match=text):
        projection(model, *START, **{**task, **wrong})
