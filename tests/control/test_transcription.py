"""Motions of robots as sparse programs: derivatives, exact steps and simulations, phases, interruptions, wrong uses."""

from __future__ import annotations

import dataclasses
import signal
from importlib.util import find_spec

import numpy as np
import pytest
from cart_poles import cart_pole
from closed_chains import closed_chain
from random_models import random_flat
from searches import ddp

import vitree as vt
import vitree.control as vc
from vitree.control.contacts import Point, String
from vitree.lie import SE2

IPOPT = find_spec("ipyopt") is not None
METHODS = ["scipy", pytest.param("ipopt", marks=pytest.mark.skipif(not IPOPT, reason="needs ipyopt"))]
BEST = "ipopt" if IPOPT else "scipy"
STEPPERS = ["linear-time", "midpoint"]


def slope(f, x, d, e=1e-4):
    """The derivative of f at x along d, by differences of order 4."""
    return (8 * (f(x + e * d) - f(x - e * d)) - (f(x + 2 * e * d) - f(x - 2 * e * d))) / (12 * e)


def everything(kinds, dt, method, seed=5):
    """A problem of a random tree with all kinds of costs, held points, a string; and a place near its guess."""
    rng = np.random.default_rng(seed)
    model = vt.Model(random_flat(rng, nbody=4, kinds=kinds, damping=True))
    start = model.integrate(model.neutral(), 0.1 * rng.standard_normal(model.nv))
    guess = np.array([model.integrate(start, 0.2 * rng.standard_normal(model.nv)) for _ in range(5)])
    one, other, tied = model.frame_names[-1], model.frame_names[-2], model.frame_names[1]
    held = {one: model.frame_pose(one, start)[:3, 3]}
    cost = [vc.PostureCost(guess[1], 1.0, 2.0), vc.MomentumCost(0.3, 0.4), vc.TorqueCost(0.1),
            vc.VelocityCost(0.2), vc.TensionCost(0.3),
            vc.PositionCost(one, (1, 0.2, 0.3), 0.7, 0.6), vc.TimeCost(0.5)]  # fmt: skip
    problem = vc.MotionProblem(
        model, dt=dt, start=(start, 0.3 * rng.standard_normal(model.nv)), method=method, guess=guess, friction=0.7,
        phases=[vc.ContactPhase(2, held), vc.ContactPhase(2, {other: None})], strings={tied: (0.3, 0.4, 3)},
        cost=cost, clearance=0.1,
    )  # fmt: skip
    x = problem.x0 + 0.05 * rng.standard_normal(len(problem.x0))
    return problem, np.where(problem.bounds[0] > 0, problem.x0, x), rng


@pytest.mark.parametrize("method", STEPPERS)
@pytest.mark.parametrize("kinds", [("revolute", "prismatic", "helical"), ("free", "ball", "revolute")])
@pytest.mark.parametrize("dt", [0.03, (0.02, 0.05)])
def test_derivatives_are_those_of_differences(method, kinds, dt):
    problem, x, rng = everything(kinds, dt, method)
    d = rng.standard_normal(len(x)) * (0.1 if np.ndim(dt) else 1.0)  # the step is much less than one
    weights = rng.standard_normal(problem.constraint_bounds.shape[1])
    J, H = problem.jacobian(x), problem.hessian(x, weights, 0.7).toarray()
    expected = slope(problem.constraints, x, d)
    np.testing.assert_allclose(J @ d, expected, atol=1e-8 * np.abs(expected).max())
    expected = slope(problem.objective, x, d)
    np.testing.assert_allclose(problem.gradient(x) @ d, expected, rtol=1e-7)
    expected = slope(lambda x: 0.7 * problem.gradient(x) + problem.jacobian(x).T @ weights, x, d)
    np.testing.assert_allclose((H + np.tril(H, -1).T) @ d, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_forces_on_points_have_the_derivatives_of_differences(seed):
    problem, x, rng = everything(("free", "ball", "revolute", "helical"), 0.03, "midpoint", seed)
    entries, model = problem._entries, problem.model
    q = np.array(problem.trajectory(x).q)[1:3]
    force, d = rng.standard_normal((2, 3)), rng.standard_normal(q.shape)
    point = Point(entries, model.frame_names[-1])
    by_q, by_force = point.joint_force_slopes(q, force)
    expected = slope(lambda q: point.joint_force(q, force), q, d)
    np.testing.assert_allclose((by_q @ d[..., None])[..., 0], expected, atol=1e-8)
    np.testing.assert_allclose((by_force @ force[..., None])[..., 0], point.joint_force(q, force), atol=1e-12)
    expected = slope(point.place, q, d)
    np.testing.assert_allclose((point.place_slopes(q) @ d[..., None])[..., 0], expected, atol=1e-8)
    string, tension = String(entries, model.frame_names[-1], np.array([0.3, 0.1, 4.0])), np.array([[2.0], [0.5]])
    by_q, by_tension = string.pull_slopes(q, tension)
    expected = slope(lambda q: string.pull(q, tension), q, d)
    np.testing.assert_allclose((by_q @ d[..., None])[..., 0], expected, atol=1e-8)
    np.testing.assert_allclose((by_tension @ tension[..., None])[..., 0], string.pull(q, tension), atol=1e-12)


def repeated(plan, **options):
    """The run that a simulation makes of a plan's forces."""
    return vt.simulate(plan.model, plan.q[0], p0=plan.p[0], duration=plan.t[-1], dt=plan.dt, tolerance=1e-12,
                       control=plan.controller(), **options)  # fmt: skip


@pytest.mark.parametrize(("solver", "method"), [("scipy", "linear-time"), (BEST, "linear-time"), (BEST, "midpoint")])
def test_a_swing_up_is_the_optimum_of_ddp(method, solver):
    model, dt = cart_pole(), 0.04
    weights = {"duration": 2.0, "dt": dt, "goal": [0.0, 0.0], "Q": np.r_[1, 1, 0.1, 0.1] * 4e-4, "R": [4e-4],
               "Q_end": [10, 10, 1, 1], "actuators": ["slide"]}  # fmt: skip
    other = ddp(model, [0.0, np.pi], method=method, tolerance=1e-12, **weights)
    cost = [vc.PostureCost([0, 0], 4e-4 / dt, 10.0), vc.MomentumCost(4e-5 / dt, 1.0), vc.TorqueCost(4e-4 / dt)]
    asked = {"steps": 50, "dt": dt, "start": [0.0, np.pi], "actuators": ["slide"], "method": method}
    problem = vc.MotionProblem(model, cost=cost, **asked)
    found = vc.solve(problem, solver)
    assert found.success, found.message
    np.testing.assert_allclose(found.cost, other.cost, rtol=1e-8)
    np.testing.assert_allclose(found.trajectory.torque, other.torque, atol=1e-3)
    np.testing.assert_allclose(repeated(found.trajectory, method=method).q, found.trajectory.q, atol=1e-8)


@pytest.mark.parametrize("method", STEPPERS)
def test_a_turn_in_space_is_repeated_by_a_simulation(method):
    tree = vt.Tree("satellite", gravity=(0, 0, 0))
    mast = [vt.ball("arm"), vt.body("mast", 0.5, (0.1, 0.1, 0.05), com=(0, 0, 0.3))]
    tree.world.add(vt.free("base"), vt.body("hull", 2.0, (0.3, 0.2, 0.4)), mast)
    model = tree.compile()
    rng = np.random.default_rng(0)
    goal = model.integrate(model.neutral(), rng.uniform(-1.2, 1.2, model.nv))
    goal[3:7] *= -1.0  # a quaternion and its negative are one goal
    cost = [vc.TorqueCost(1.0), vc.VelocityCost(0.01)]
    asked = {"steps": 12, "dt": 0.1, "start": model.neutral(), "goal": goal, "method": method}
    found = vc.solve(vc.MotionProblem(model, cost=cost, **asked), BEST)
    assert found.success, found.message
    plan = found.trajectory
    assert np.abs(model.difference(goal, plan.q[-1])).max() < 1e-8 and np.abs(plan.p[-1]).max() < 1e-8
    run = repeated(plan, method=method)
    assert np.abs(model.difference(plan.q, run.q)).max() < 1e-8


def test_the_least_time_of_a_push():
    # full force one way, then the other: a distance of f T^2/(4 m), exact for an even number of steps
    tree = vt.Tree("sledge")
    tree.world.add(vt.tx("x"), vt.body("sledge", 2.0))
    asked = {"steps": 10, "dt": (0.01, 1.0), "start": [0.0], "goal": [3.0], "cost": vc.TimeCost()}
    found = vc.solve(vc.MotionProblem(tree.compile(), limits=5.0, **asked), BEST)
    assert found.success, found.message
    assert found.cost == pytest.approx(2 * np.sqrt(3.0 * 2.0 / 5.0), rel=1e-6)
    np.testing.assert_allclose(found.trajectory.torque[:, 0], [5.0] * 5 + [-5.0] * 5, atol=1e-3)
    # a motor that brakes with four times its force does so in a fifth of the time: T^2 = 2 m d (1/f + 1/(4 f))
    found = vc.solve(vc.MotionProblem(tree.compile(), limits=[(-20.0, 5.0)], **asked), BEST)
    assert found.success, found.message
    assert found.cost == pytest.approx(np.sqrt(2 * 2.0 * 3.0 * (1 / 5.0 + 1 / 20.0)), rel=1e-6)


def jumper(base):
    """A body with a leg that bends and stretches."""
    tree = vt.Tree("jumper")
    body = tree.world.add(*base, vt.body("body", 5.0, (0.2, 0.3, 0.1), com=(0.03, 0, 0.1)))
    thigh = body.add(vt.ry("hip", damping=0.1), vt.body("thigh", 1.0, (0.02, 0.02, 0.005), com=(0, 0, -0.15)))
    shank = thigh.add(vt.tz(-0.3), vt.ry("knee"), vt.body("shank", 0.5, (0.01, 0.01, 0.002), com=(0, 0, -0.15)))
    shank.add(vt.tz(-0.3), vt.frame("foot"))
    return tree.compile()


BASES = {"planar": [vt.tx("x"), vt.tz("z"), vt.ry("pitch")], "free": [vt.free("base")]}


@pytest.mark.parametrize("base", ["planar", pytest.param("free", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", STEPPERS)
def test_a_jump_over_its_phases(base, method):
    model, dt = jumper(BASES[base]), 0.03
    hinges = [model.q_names.index(name) for name in ("hip", "knee")]
    up = [model.q_names.index(name) for name in (("z",) if base == "planar" else ("base.z",))]
    start = model.neutral()
    start[hinges] = [-0.6, 1.2]
    start[up] = -model.frame_pose("foot", start)[2, 3]
    start[0] = -model.frame_pose("foot", start)[0, 3]
    goal = start.copy()
    goal[0] += 0.3
    names = ["hip", "knee"] if base == "planar" else ["hip", "knee", "base.wx", "base.wz"]  # it is kept upright
    guess = start + np.linspace(0, 1, 26)[:, None] * (goal - start)
    guess[:, up] += 0.15 * np.sin(np.linspace(0, np.pi, 26))[:, None]
    phases = [vc.ContactPhase(9, ["foot"]), vc.ContactPhase(8, {}), vc.ContactPhase(8, {"foot": None})]
    problem = vc.MotionProblem(
        model, dt=dt, phases=phases, start=start, goal=(goal, None), actuators=names, guess=guess, friction=0.6,
        cost=[vc.TorqueCost(1e-3), vc.VelocityCost(1e-2)], clearance=0.05, method=method, bounds={"knee": (0.1, 2.4)},
    )  # fmt: skip
    found = vc.solve(problem, BEST)
    assert found.success, found.message
    plan = found.trajectory
    assert [stretch.held for stretch in plan.phases] == [("foot",), (), ("foot",)]
    foot, push = model.frame_pose("foot", plan.q)[:, :3, 3], plan.impulses["foot"]
    # it stands still on the ground, and is above in between
    for first, last, *_ in plan.phases[::2]:
        assert np.abs(foot[first : last + 1] - foot[first]).max() < 1e-10 and abs(foot[first, 2]) < 1e-10
    assert foot[10:17, 2].min() > 0.01 and foot[13, 2] > 0.049
    # the ground pushes, within the cone of friction, and not in flight
    assert not push[9:17].any() and not push[25].any() and push[:, 2].min() >= 0 and push[0, 2] > 0.1
    assert (np.hypot(push[:, 0], push[:, 1]) <= 0.6 * push[:, 2] + 1e-9).all()
    # momenta about the world's origin change by the ground's impulses and the weight's alone
    weight = model.total_mass * np.array([0, 0, -9.81])
    h, com = np.array([model.momentum(q, v) for q, v in zip(plan.q, plan.v, strict=True)]), model.center_of_mass(plan.q)
    gained = np.diff(h, axis=0)
    np.testing.assert_allclose(gained[:, 3:], push[:-1] + dt * weight, atol=1e-9)
    if method == "linear-time":
        turned = np.cross(foot, push)[:-1] + 0.5 * dt * np.cross(com[:-1] + com[1:], weight)
        np.testing.assert_allclose(gained[:, 1], turned[:, 1], atol=1e-9)
    # each step is the integrator's own, from the momentum that the ground leaves
    for k in range(25):
        kicked = plan.p[k] + model.frame_jacobian("foot", plan.q[k])[3:].T @ push[k]
        step = vt.simulate(model, plan.q[k], p0=kicked, duration=dt, dt=dt, method=method, tolerance=1e-12,
                           control=vt.Controller(lambda t, q, v, k=k: plan.torque[k], dt))  # fmt: skip
        assert np.abs(model.difference(plan.q[k + 1], step.q[-1])).max() < 1e-8
        assert np.abs(step.p[-1] - plan.p[k + 1]).max() < 1e-8


@pytest.mark.parametrize("solver", METHODS)
def test_what_stands_comes_to_rest_by_an_impulse_of_the_ground(solver):
    tree = vt.Tree("hopper")
    body = tree.world.add(vt.tz("z"), vt.body("body", 4.0))
    body.add(vt.tz("leg"), vt.body("rod", 0.5), vt.tz(-0.4), vt.frame("foot"))
    model, low, dt = tree.compile(), np.array([0.5, -0.1]), 0.02
    guess = low + np.sin(np.linspace(0, np.pi, 25))[:, None] * [0.1, 0.1]
    problem = vc.MotionProblem(
        model, dt=dt, phases=[vc.ContactPhase(8, ["foot"]), vc.ContactPhase(8), vc.ContactPhase(8, ["foot"])],
        start=low, goal=low, actuators=["leg"], guess=guess, cost=[vc.TorqueCost(1e-4), vc.VelocityCost(1e-2)],
    )  # fmt: skip
    found = vc.solve(problem, solver)
    assert found.success, found.message
    plan = found.trajectory
    last = plan.impulses["foot"][-1]
    # nothing moves, and half a step's weight is in the last impulse with what the leg's force brings about
    np.testing.assert_allclose(plan.p[-1] + model.frame_jacobian("foot", low)[3:].T @ last, 0.0, atol=1e-9)
    pushed = np.array([plan.impulses["foot"][:, 2].sum() - dt * 24 * 4.5 * 9.81, last[0], last[1]])
    np.testing.assert_allclose(pushed, 0.0, atol=1e-9)


def pendulum():
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("one"), vt.tz(-0.5), vt.body("rod", 1.0, (0.02, 0.02, 0.001)), vt.frame("middle"),
                   vt.ry("two"), vt.tz(-0.5), vt.body("bob", 1.0, (0.02, 0.02, 0.001)), vt.frame("tip"))  # fmt: skip
    return vt.Model(tree.flatten())


#: A double pendulum goes from hanging to an angle.
SHORT = {"steps": 10, "dt": 0.05, "start": [0.0, 0.0], "goal": [0.8, -0.3]}


def test_a_string_is_a_prescribed_distance():
    tree = vt.Tree("bob", gravity=(0, 0, -9.81))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("turn", damping=0.05), vt.body("bob", 1.0, (0.01, 0.02, 0.03)),
                   vt.tz(0.1), vt.frame("eye"))  # fmt: skip
    tree.world.add(vt.fixed("hook", xyz=(0.1, 0.0, 1.0)))
    cost = [vc.PostureCost([0.0, 0.1, 0.0], [0, 10, 0], [0, 10, 0]), vc.TensionCost(1e-3)]
    asked = {"steps": 20, "dt": 0.02, "start": [0.0, 0.0, 0.2], "strings": {"eye": (0.1, 0, 1)}, "actuators": []}
    ending = vc.MotionProblem(tree.compile(), cost=cost, goal=[np.nan] * 3, **asked)
    assert ending.trajectory(ending.x0).tensions["eye"].shape == (21,)
    problem = vc.MotionProblem(tree.compile(), cost=cost, kinetic="screw", **asked)
    found = vc.solve(problem, BEST)
    assert found.success, found.message
    plan, length = found.trajectory, found.trajectory.lengths["eye"]
    assert plan.q[-1, 1] > 0.05 and plan.tensions["eye"][:-1].min() > 0
    tree.world.add(vt.tz("string", kinematic=True))
    tree.constrain(vt.Distance("hook", "eye", length="string"))
    run = vt.simulate(tree.compile(), [*plan.q[0], length[0]], duration=0.4, dt=0.02, kinetic="screw", tolerance=1e-12,
                      control=vt.Control(prescribed={"string": lambda t: np.interp(t, plan.t, length)}))  # fmt: skip
    np.testing.assert_allclose(run.q[:, :3], plan.q, atol=1e-8)
    np.testing.assert_allclose(-run.multipliers[2:, 0] * 0.02, plan.tensions["eye"][1:-1], atol=1e-6)


@pytest.mark.parametrize("method", STEPPERS)
def test_a_closed_chain_is_led_to_a_place(method):
    model, goal = closed_chain(), np.full(7, np.nan)
    start = vt.satisfy_constraints(model, [0.6, -0.4, -0.42, 0.7, 0.9, -1.3, 2.1])
    goal[[0, 4]] = 0.3, 0.7
    asked = {"steps": 20, "dt": 0.02, "start": start, "actuators": ["J", "A"], "method": method}

    def check(end):
        problem = vc.MotionProblem(model, goal=end, cost=vc.TorqueCost(1e-3), **asked)
        x = problem.x0 + 0.05 * np.random.default_rng(0).standard_normal(len(problem.x0))
        d, weights = np.cos(np.arange(len(x))), np.sin(np.arange(problem.constraint_bounds.shape[1]))
        np.testing.assert_allclose(problem.jacobian(x) @ d, slope(problem.constraints, x, d), atol=1e-7)
        H = problem.hessian(x, weights, 0.0).toarray()
        expected = slope(lambda x: problem.jacobian(x).T @ weights, x, d)
        np.testing.assert_allclose((H + np.tril(H, -1).T) @ d, expected, atol=1e-6 * np.abs(expected).max())
        found = vc.solve(problem, BEST)
        assert found.success, found.message
        plan, run = found.trajectory, repeated(found.trajectory, method=method)
        np.testing.assert_allclose(run.q, plan.q, atol=1e-8)
        np.testing.assert_allclose(plan.q[-1, [0, 4]], [0.3, 0.7], atol=1e-10)
        np.testing.assert_allclose(run.multipliers[2:] * 0.02, plan.multipliers[1:-1], atol=1e-7)
        left = plan.p[-1] + plan.multipliers[-1] @ model.constraint_jacobian(plan.q[-1])
        assert np.abs(left).max() < 1e-9 or end is not goal

    # it comes to rest there by an impulse of the constraints; or arrives at any velocity
    check(goal)
    check((goal, None))


def test_a_motion_may_repeat_itself():
    # a double pendulum turns over, again and again: all but the angle of the turn is as at the start
    turn = 2 * np.pi
    guess = np.linspace(0, 1, 25)[:, None] * [turn, 0.0]
    periodic = {"one": ("one", turn), "two": "two"}
    bounds = {"two": (-0.5, 0.5)}
    problem = vc.MotionProblem(pendulum(), steps=24, dt=0.05, periodic=periodic, guess=guess, bounds=bounds)
    found = vc.solve(problem, BEST)
    plan = found.trajectory
    assert found.success, found.message
    np.testing.assert_allclose(plan.q[-1] - plan.q[0], [turn, 0.0], atol=1e-9)
    np.testing.assert_allclose(plan.p[-1], plan.p[0], atol=1e-9)
    assert np.abs(plan.q[:, 1]).max() <= 0.5 + 1e-9
    # so a run with the same forces twice turns twice
    once = repeated(plan)
    again = vt.simulate(plan.model, once.q[-1], p0=once.p[-1], duration=plan.t[-1], dt=0.05, control=plan.controller(),
                        tolerance=1e-12)  # fmt: skip
    np.testing.assert_allclose(again.q - [turn, 0.0], plan.q, atol=1e-5)


@pytest.mark.parametrize("solver", METHODS)
def test_the_best_point_is_kept_when_the_keyboard_interrupts(solver):
    problem, seen = vc.MotionProblem(cart_pole(), steps=30, dt=0.05, start=[0, np.pi], goal=[0, 0.0]), []

    def stop(iteration, cost, violation):
        seen.append((violation, cost))
        if iteration == 6:
            signal.raise_signal(signal.SIGINT)

    found = vc.solve(problem, solver, progress=stop)
    assert not found.success and "interrupted by the keyboard" in found.message and found.iterations == 6
    assert found.constraint_violation <= min(seen)[0] + 1e-12
    assert found.trajectory.q.shape == (31, 2) and np.isfinite(found.trajectory.q).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # the search goes on from there
    again = vc.MotionProblem(cart_pole(), steps=30, dt=0.05, start=[0, np.pi], goal=[0, 0.0], guess=found.trajectory)
    np.testing.assert_allclose(again.x0, found.x, atol=1e-12)
    with pytest.raises(vt.VitreeError, match="progress"):
        vc.solve(problem, solver, progress=lambda iteration: None)


@pytest.mark.parametrize("solver", METHODS)
def test_what_cannot_be_reached_is_told(solver):
    problem = vc.MotionProblem(pendulum(), limits=0.5, **SHORT | {"goal": [3.0, 0.0]})
    found = vc.solve(problem, solver, max_iterations=60)
    assert not found.success and found.constraint_violation > 1e-3
    assert "violated: momentum at the" in found.message


class Wind(vt.Force):
    """A force on the first joint that comes and goes, and falls with its speed."""

    def force(self, model, t, q, v, u):
        return np.array([2.0 * np.sin(5.0 * t) - 0.3 * v[0], 0.0])


@pytest.mark.parametrize("dt", [0.05, (0.03, 0.08)])
def test_forces_of_the_time_and_springs_act_in_a_plan(dt):
    tree = vt.Tree("in the wind")
    tree.world.add(vt.ry("one"), vt.tz(-0.5), vt.body("rod", 1.0, (0.02, 0.02, 0.001)),
                   vt.ry("two"), vt.tz(-0.5), vt.body("bob", 1.0, (0.02, 0.02, 0.001)))  # fmt: skip
    tree.load([Wind(), vt.JointSpring("two", 3.0)])
    cost = [vc.TorqueCost(), vc.TimeCost()]
    problem = vc.MotionProblem(tree.compile(), method="midpoint", cost=cost, **SHORT | {"dt": dt})
    found = vc.solve(problem, BEST)
    assert found.success, found.message
    np.testing.assert_allclose(repeated(found.trajectory, method="midpoint").q, found.trajectory.q, atol=1e-8)


def test_a_start_in_a_bad_place_is_told():
    model = jumper(BASES["planar"])
    with pytest.raises(vt.InputError, match=r'the start has "foot" at .* off the place where it is held'):
        vc.MotionProblem(model, dt=0.03, phases=[vc.ContactPhase(4, ["foot"])], start=model.neutral())
    with pytest.raises(vt.InputError, match='"foot" cannot be held at'):
        vc.MotionProblem(model, dt=0.03, phases=[vc.ContactPhase(4, {"foot": (0, 0.2, 0)})])
    with pytest.raises(vt.InputError, match="two places in a row"):
        phases = [vc.ContactPhase(4, {"foot": (x, 0, 0)}) for x in (0, 1)]
        vc.MotionProblem(model, dt=0.03, phases=phases)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"dt": 0.0}, "dt"), ({"dt": (0.1, 0.05)}, "dt"), ({"dt": "x"}, "dt"), ({"steps": 1}, "steps"),
        ({"steps": None}, "steps"), ({"phases": [vc.ContactPhase(5)]}, "steps"), ({"start": [0.0]}, "the start"),
        ({"start": ([0.0, np.nan], [1.0, 0.0])}, "NaN in its configuration"), ({"goal": ([0, 0], [1.0])}, "the goal"),
        ({"goal": [np.inf, 0]}, "the goal"), ({"bounds": {"one": (1, 0)}}, "bounds of \"one\""),
        ({"bounds": {"thre": (0, 1)}}, "thre"), ({"bounds": {"one": (-0.1, 0.1)}}, "outside its bounds"),
        ({"limits": 0.0}, "limits"), ({"limits": [1.0]}, "limits"), ({"actuators": ["three"]}, "three"),
        ({"friction": -1}, "friction"), ({"clearance": np.nan}, "clearance"), ({"method": "rk4"}, "rk4"),
        ({"strings": {"nose": (0, 0, 0)}}, "nose"), ({"strings": {"tip": (0, 0)}}, "hook"),
        ({"strings": {"tip": (0, 0, -1)}}, "the guess"),
        ({"periodic": {"one": "three"}}, "three"), ({"guess": np.zeros((3, 2))}, "guess"),
        ({"cost": "money"}, "cost"), ({"cost": vc.TorqueCost(-1.0)}, "weight"),
        ({"cost": vc.TorqueCost([1.0])}, "weight"),
        ({"cost": vc.PostureCost([0.0], 1.0)}, "posture"), ({"cost": vc.PostureCost(None, 1.0)}, "posture"),
         ({"cost": vc.PositionCost("nose", (0, 0, 0), 1.0)}, "nose"),
        ({"steps": None, "phases": [vc.ContactPhase(0), vc.ContactPhase(4)]}, "phase 0"),
        ({"steps": None, "phases": [4]}, "phases"),
        ({"steps": None, "phases": [vc.ContactPhase(4, ["nose"])]}, "nose"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told(wrong, text):
    with pytest.raises(vt.VitreeError, match=text):
        vc.MotionProblem(pendulum(), **SHORT | wrong)


def test_robots_that_are_not_served_are_told():
    driven = vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"*": (20.0, 2.0)})
    with pytest.raises(vt.InputError, match="drives"):
        vc.MotionProblem(driven, **SHORT)
    tree = vt.Tree("moved")
    tree.world.add(vt.tx("x", kinematic=True), vt.tz("z"), vt.body("bob", 1.0))
    with pytest.raises(vt.InputError, match="prescribed coordinates"):
        vc.MotionProblem(tree.compile(), **SHORT)
    with pytest.raises(vt.InputError, match="off the model's constraints"):
        vc.MotionProblem(closed_chain(), steps=4, dt=0.02, start=np.zeros(7))
    problem = vc.MotionProblem(pendulum(), **SHORT)
    with pytest.raises(vt.InputError, match="x has shape"):
        problem.objective(np.zeros(3))
    with pytest.raises(vt.InputError, match="MotionProblem"):
        vc.solve(3)
    with pytest.raises(vt.InputError, match="abstract"):
        vc.TranscriptionProblem(3, start=None, goal=None, cost="time", bounds={}, guess=None)
    for search in (lambda acts: vc.MotionProblem(pendulum(), actuators=acts, **SHORT),
                   lambda acts: vc.optimize_motion(pendulum(), duration=0.1, dt=0.05, actuators=acts,
                                                   costs=vc.QuadraticCost([0, 0], R=1.0))):  # fmt: skip
        with pytest.raises(vt.UnknownNameError, match=r"no velocity.*\[1\. 0\.\]"):
            search(np.eye(2))


def test_a_step_and_a_duration_are_one_variable():
    """dt and duration say the same, fixed or free, of robots and of vehicles."""
    robot, moved = pendulum(), {name: SHORT[name] for name in ("steps", "start", "goal")}
    raft = vc.RigidDynamics(SE2, np.diag([2.0, 3.0, 4.0]), lambda t, g, xi, u: u, ("turn", "push", "side"))
    pushed = {"steps": 10, "start": [0, 0, 0], "goal": [0, 1, 0]}
    for make in (lambda **time: vc.MotionProblem(robot, **moved, **time),
                 lambda **time: vc.ControlProblem(raft, **pushed, **time)):  # fmt: skip
        for dt in (0.05, (0.03, 0.07)):
            one, other = make(dt=dt), make(duration=10 * np.array(dt))
            np.testing.assert_allclose(one.x0, other.x0, rtol=1e-12)
            np.testing.assert_allclose(one.bounds, other.bounds, rtol=1e-12)
            x = one.x0 + 0.01 * np.random.default_rng(0).standard_normal(len(one.x0))
            np.testing.assert_allclose(one.constraints(x), other.constraints(x), rtol=1e-9, atol=1e-12)
            assert one.objective(x) == pytest.approx(other.objective(x), rel=1e-12)
        assert make(dt=0.05).trajectory(make(dt=0.05).x0).t[-1] == pytest.approx(0.5, rel=1e-14)
        for wrong in ({}, {"dt": 0.05, "duration": 0.5}):
            with pytest.raises(vt.InputError, match="give one of them"):
                make(**wrong)
    # the step of a plan is the one that was given, to the bit
    assert vc.MotionProblem(robot, dt=0.05, **moved).trajectory(vc.MotionProblem(robot, dt=0.05, **moved).x0).dt == 0.05


def test_costs_that_both_kinds_have_are_the_same_integrals():
    """A sledge as a robot, and the same mass as a vehicle: effort, torque, velocity and time of one motion agree."""
    tree = vt.Tree("sledge", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.body("sledge", 2.0))
    raft = vc.RigidDynamics(SE2, np.diag([1.0, 2.0, 2.0]), lambda t, g, xi, u: u, ("turn", "push", "side"))
    time = {"steps": 12, "dt": (0.05, 0.2)}
    asked = {"start": [0.0], "goal": [1.0], "limits": 5.0, **time}
    costs = ["effort", vc.EffortCost(2.0), vc.TorqueCost(0.3), "torque", vc.VelocityCost(0.7), vc.TimeCost(0.2), "time"]
    found = []
    for cost in costs:
        robot = vc.MotionProblem(tree.compile(), cost=cost, **asked)
        guess = np.zeros((13, 3))
        guess[:, 1] = robot.trajectory(robot.x0).q[:, 0]
        vehicle = vc.ControlProblem(raft, start=[0, 0, 0], goal=[0, 1, 0], cost=cost, bounds={"push": (-5, 5)},
                                    guess=guess, **time)  # fmt: skip
        ways = [problem.trajectory(problem.x0) for problem in (robot, vehicle)]
        np.testing.assert_allclose(ways[1]["x"], ways[0].q[:, 0], atol=1e-12)
        plan = dataclasses.replace(ways[0], torque=ways[1]["push"][:, None])
        robot = vc.MotionProblem(tree.compile(), cost=cost, guess=plan, **asked)
        found.append((robot.objective(robot.x0), vehicle.objective(vehicle.x0)))
    np.testing.assert_allclose(*np.transpose(found), rtol=1e-9)


OTHERS = [vc.PostureCost([0.0]), vc.MomentumCost(), vc.TensionCost(), vc.QuadraticCost(R=1.0),
          vc.PositionCost("x", (0, 0, 0)), vc.FrameCost("x", (0, 0, 0), weight=1.0)]  # fmt: skip


@pytest.mark.parametrize("cost", OTHERS)
def test_a_cost_that_does_not_apply_says_to_what_it_does(cost):
    raft = vc.RigidDynamics(SE2, np.eye(3), lambda t, g, xi, u: u, ("turn", "push", "side"))
    with pytest.raises(vt.InputError, match=f"applies to {cost.applies_to}; this problem takes EffortCost, TorqueCost"):
        vc.ControlProblem(raft, steps=4, dt=0.1, start=[0, 0, 0], goal=[0, 1, 0], cost=cost)
    running = vc.RunningCost(lambda t, q, v, u: t)
    with pytest.raises(vt.InputError, match=r"RunningCost, which applies to ControlProblem; .* TensionCost"):
        vc.MotionProblem(pendulum(), cost=["effort", running], **SHORT)
    with pytest.raises(vt.InputError, match='give one of "effort", "torque", "time", EffortCost'):
        vc.MotionProblem(pendulum(), cost=3, **SHORT)


@pytest.mark.parametrize("solver", METHODS)
def test_the_velocity_of_a_goal_may_be_free_of_both(solver):
    """None leaves it free: a push that need not stop costs a quarter of one that must."""
    raft = vc.RigidDynamics(SE2, np.diag([2.0, 3.0, 4.0]), lambda t, g, xi, u: u, ("turn", "push", "side"))
    asked = {"steps": 10, "duration": 2.0, "start": [0, 0, 0]}
    rest, free = (vc.solve(vc.ControlProblem(raft, goal=goal, cost="torque", **asked), solver).cost
                  for goal in ([0, 1, 0], ([0, 1, 0], None)))  # fmt: skip
    assert 0.2 * rest < free < 0.3 * rest
