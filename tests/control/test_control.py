"""Optimal control: derivatives, problems with known answers, what solutions satisfy, failures that say so."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from places import EXAMPLES
from scripts import run_here

import vitree as vt
import vitree.control as vc
from vitree.control import solvers
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.lie import SE2, SE3
from vitree.model import socp
from vitree.threads import one_blas_thread

EXAMPLES = EXAMPLES / "vehicles"
LEVEL = (0.0, 0.0, 0.0, 1.0)
IPOPT = find_spec("ipyopt") is not None
METHODS = ["scipy", pytest.param("ipopt", marks=pytest.mark.skipif(not IPOPT, reason="needs ipyopt"))]
VEHICLES = pytest.mark.skipif(find_spec("vitree.vehicles") is None, reason="needs vitree.vehicles")


def flyer(map="exp", inputs=None):
    """A body in space with drag, weight and four inputs that enter nonlinearly."""

    def force(t, g, xi, u):
        push, x, y, z = np.moveaxis(u, -1, 0)
        weight = -g[..., 2, :3]
        wrench = np.stack((x, y, z, push * np.sin(0.3 * y), 0.1 * push * x, push), axis=-1)
        wind = np.sin(t)[..., None] * g[..., 0, :3]
        return wrench - 0.1 * xi * xi * xi + np.concatenate((0 * weight, weight + 0.1 * wind), axis=-1)

    bounds = inputs or {"push": (0, 4), "x": (-1, 1), "y": (-1, 1), "z": (-1, 1)}
    A = np.random.default_rng(3).standard_normal((6, 6))
    return vc.RigidDynamics(SE3, np.eye(6) + 0.1 * A @ A.T, force, bounds, trim={"push": 1.0}, map=map)


def raft(inertia=(2.0, 3.0, 4.0), names=("turn", "push", "side")):
    """A body in the plane without drag, driven along all its axes."""
    return vc.RigidDynamics(SE2, np.diag(inertia), lambda t, g, xi, u: u, names)


def car(**more):
    return vc.CarDynamics(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1, **more)


def problems():
    """One of each kind, with obstacles, limits, all costs, free durations and free goals."""
    tilt = vc.PathConstraint("tilt", lambda t, q, v, u: 1 - 2 * (q[..., 3] ** 2 + q[..., 4] ** 2), lower=0.5)
    rate = vc.RunningCost(lambda t, q, v, u: (v * v).sum(-1) * (1 + 0.1 * t) + u[..., 0] * q[..., 0])
    for map in ("exp", "cayley", "dual-cayley"):
        yield vc.ControlProblem(
            flyer(map), steps=4, duration=(1.0, 2.0), start=([0, 0, 0, *LEVEL], [1, 0, 0.2, 0.1, 0, 0]),
            goal=[3, 1, np.nan, 0, 0, 0.6, 0.8], cost=["effort", "time", rate], path_constraints=[tilt],
            obstacles=[vc.SphereObstacle((1.5, 1, 1), 0.4), vc.BoxObstacle((1, -9, -9), (2, -1, 9)),
                       vc.HalfSpaceObstacle((0, 0, 9), (0, 1, -2))],
            radius=0.1, points=[(0.2, 0, 0), (-0.2, 0, 0.1)],
        )  # fmt: skip
    yield vc.ControlProblem(
        car(rolling_resistance=0.1), steps=5, duration=(2.0, 4.0), start=([0, 0.1, 0.2, 0, 0], [3.0]),
        goal=([np.nan, 0, np.nan, 3, 1], [np.nan]), obstacles=[vc.CylinderObstacle((1.5, 1.0), 0.3)],
        points=[(0.4, 0.1)],
    )  # fmt: skip


@pytest.mark.parametrize("problem", list(problems()), ids=["exp", "cayley", "dual-cayley", "car"])
def test_derivatives(problem):
    rng, e = np.random.default_rng(0), 1e-6
    n, m = len(problem.x0), problem.constraint_bounds.shape[1]
    structures = set()
    for _ in range(3):
        x, d, weights = problem.x0 + 0.2 * rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(m)
        J, H = problem.jacobian(x), problem.hessian(x, weights, 0.7)
        structures.add((J.indices.tobytes(), J.indptr.tobytes(), H.indices.tobytes(), H.indptr.tobytes()))

        def slope(f, x=x, d=d):
            return (f(x + e * d) - f(x - e * d)) / (2 * e)

        def lagrangian(x, weights=weights):
            return 0.7 * problem.gradient(x) + problem.jacobian(x).T @ weights

        np.testing.assert_allclose(problem.gradient(x) @ d, slope(problem.objective), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(J @ d, slope(problem.constraints), rtol=1e-7, atol=1e-7)
        lower = H.toarray()
        np.testing.assert_allclose((lower + np.tril(lower, -1).T) @ d, slope(lagrangian), rtol=1e-6, atol=1e-6)
    assert len(structures) == 1


def test_a_gradient_of_ones_own_is_used():
    def rate(t, q, v, u):
        return np.abs(v[..., 1]) * v[..., 1] * t + u[..., 1] ** 2

    def gradient(t, q, v, u):
        by_v, by_u = np.zeros_like(v), np.zeros_like(u)
        by_v[..., 1], by_u[..., 1] = 2 * np.abs(v[..., 1]) * t, 2 * u[..., 1]
        return np.abs(v[..., 1]) * v[..., 1], np.zeros_like(q), by_v, by_u

    given = {"steps": 5, "duration": (1.0, 3.0), "start": [0, 0, 0], "goal": [0, 1, 0]}
    problem = vc.ControlProblem(raft(), cost=vc.RunningCost(rate, gradient), **given)
    x = problem.x0 + 0.1 * np.random.default_rng(0).standard_normal(len(problem.x0))
    d = np.random.default_rng(1).standard_normal(len(x))
    difference = (problem.objective(x + 1e-6 * d) - problem.objective(x - 1e-6 * d)) / 2e-6
    assert problem.gradient(x) @ d == pytest.approx(difference, rel=1e-7)
    bent = problem.hessian(x, np.zeros(problem.constraint_bounds.shape[1])).toarray()
    bent = (bent + np.tril(bent, -1).T) @ d
    difference = (problem.gradient(x + 1e-6 * d) - problem.gradient(x - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(bent, difference, atol=1e-6)
    with pytest.raises(InputError, match="running cost"):
        vc.ControlProblem(raft(), cost=vc.RunningCost(rate), **given)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [10, 20])
def test_least_effort_of_a_push_is_the_cubic(method, steps):
    # of all inputs with given sum and given first moment those linear in time are least: 12 m^2 d^2/T^3 for h to 0
    problem = vc.ControlProblem(raft(), steps=steps, duration=2.0, start=[0, 0, 0], goal=[0, 1.5, 0])
    found = vc.solve(problem, method)
    assert found.success and found.constraint_violation < 1e-8
    plan = found.trajectory
    assert found.cost == pytest.approx(12 * 3.0**2 * 1.5**2 / 2.0**3 / (1 - 1 / steps**2), rel=1e-9)
    np.testing.assert_allclose(np.diff(plan["push"], n=2), 0, atol=1e-6)
    s = plan.t / 2.0
    assert np.abs(plan["x"] - 1.5 * (3 * s**2 - 2 * s**3)).max() < 1.5 / steps**2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sign", [1, -1])
def test_least_effort_of_a_turn_in_space(method, sign):
    # the same answer about one axis; a quaternion and its negative are one goal
    body = vc.RigidDynamics(SE3, np.diag([1.0, 2, 3, 4, 4, 4]), lambda t, g, xi, u: u, "abcdef")
    angle = 2.0
    goal = sign * np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    problem = vc.ControlProblem(body, steps=12, duration=1.0, start=[0, 0, 0, *LEVEL], goal=[0, 0, 0, *goal])
    found = vc.solve(problem, method)
    assert found.success and found.cost == pytest.approx(12 * 9 * angle**2 / (1 - 1 / 144), rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_is_stationary(method):
    problem = vc.ControlProblem(flyer(inputs=["push", "x", "y", "z"]), steps=12, duration=2.0,
                                start=[0, 0, 0, *LEVEL], goal=[0.3, 0.2, 0.5, *LEVEL])  # fmt: skip
    found = vc.solve(problem, method)
    A, g = problem.jacobian(found.x).toarray(), problem.gradient(found.x)
    multipliers = np.linalg.lstsq(A.T, -g)[0]
    assert found.success and np.abs(g + A.T @ multipliers).max() < 1e-6
    assert problem.violations(found.x) == [] or found.constraint_violation < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_least_time_is_bang_bang(method):
    bounds = {"turn": (-1e-4, 1e-4), "push": (-1.0, 1.0), "side": (-1e-4, 1e-4)}
    problem = vc.ControlProblem(raft((1.0, 1.0, 1.0)), steps=20, duration=(0.5, 5.0), start=[0, 0, 0], goal=[0, 1, 0],
                                cost="time", bounds=bounds)  # fmt: skip
    found = vc.solve(problem, method)
    assert found.success and found.cost == pytest.approx(2.0, abs=1e-5)
    np.testing.assert_allclose(found.trajectory["push"], np.repeat((1.0, -1.0), 10), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_obstacles_bounds_and_limits_hold(method):
    rock = vc.CylinderObstacle((2.0, 0.1), 0.3, "rock")
    problem = vc.ControlProblem(
        car(), steps=30, duration=5.0, start=([0, 0, 0, 0, 0], [5.0]), goal=([np.nan, 0, 0, 4, 0], [5.0]),
        obstacles=[rock], radius=0.2, points=[(0.0, 0.0), (0.7, 0.0)],
        bounds={"torque": (-2, 2), "steering": (-1.2, 1.2), "rate": (0.0, 12.0)},
        path_constraints=[vc.PathConstraint("sideways", lambda t, q, v, u: q[..., 1] * v[..., 0] ** 2, -40, 40)],
    )  # fmt: skip
    found = vc.solve(problem, method)
    assert found.success, found.message
    plan = found.trajectory
    for ahead in (0.0, 0.7):
        x, y = plan["x"] + ahead * np.cos(plan["theta"]), plan["y"] + ahead * np.sin(plan["theta"])
        clearance = np.hypot(x - 2.0, y - 0.1) - 0.5
        assert clearance.min() > -1e-8
    assert np.abs(plan["torque"]).max() <= 2 + 1e-8 and np.abs(plan["sigma"]).max() <= np.tan(0.65) + 1e-8
    assert np.abs(plan["sigma"][:-1] * plan["rate"] ** 2).max() <= 40 + 1e-6


@VEHICLES
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["helicopter", "car", "body"])
def test_the_vehicles_own_integrator_takes_the_same_way(kind, method):
    from vitree import vehicles

    if kind == "car":
        vehicle = vehicles.car(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1,
                               rolling_resistance=0.05)  # fmt: skip
        start, goal = ([0.0, 0.1, 0.2, 0.0, 0.0], [2.0]), [np.nan, 0, 0, 3.0, 1.0]
    elif kind == "helicopter":
        vehicle = vehicles.helicopter(drag=(0.02, 0.02, 0.02, 0.1, 0.1, 0.2))
        start, goal = ([0, 0, 0, *LEVEL], [1.0, 0, 0, 0, 0, 0.3]), [2, 1, 1, 0, 0, 0.6, 0.8]
    else:
        wrenches = dict(zip("abcdef", np.eye(6), strict=True))
        vehicle = vehicles.RigidVehicle((1, 2, 3), (4, 5, 6), mass=4, controls=wrenches, drag=0.3,
                                        force=lambda t, g, xi, u: 0.2 * np.sin(xi))  # fmt: skip
        start, goal = ([0, 0, 0, *LEVEL], [0.3, 0, 0, 0, 0.5, 0]), [1, 1, 0, 0.6, 0, 0.8, 0]
    found = vc.solve(vc.ControlProblem(vehicle, steps=20, duration=3.0, start=start, goal=goal), method)
    assert found.success, found.message
    run = vc.replay(vehicle, found.trajectory)
    np.testing.assert_allclose(run.q, found.trajectory.q, atol=1e-8)
    rest = np.delete(run.v[-1], 1) if kind == "car" else run.v[-1]  # the car is steered to the end
    assert np.abs(rest).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_an_infeasible_problem_is_no_success(method):
    wall = vc.BoxObstacle((1, -99, -1), (2, 99, 1), "wall")
    given = {"steps": 15, "start": [0, 0, 0, 0, 0], "goal": [np.nan, 0, 0, 4, 0], "bounds": {"torque": (-5, 5)}}
    for more in ({"duration": 0.5}, {"duration": 5.0, "obstacles": [wall], "radius": 0.5}):
        problem = vc.ControlProblem(car(), **given, **more)
        found = vc.solve(problem, method, max_iterations=150)
        assert not found.success and found.constraint_violation > 1e-3 and "violated" in found.message
        assert problem.violations(found.x)[0][0] in found.message
        # no worse than where it began
        assert found.constraint_violation <= problem.violation(problem.x0)


@pytest.mark.parametrize("feasible", [False, True])
def test_a_solver_that_claims_a_success_is_not_believed(monkeypatch, feasible):
    """Neither if it met no feasible point, nor if it met one that it does not claim."""
    given = {"steps": 6, "duration": 1.0, "start": START, "goal": GOAL}
    problem = vc.ControlProblem(raft(), **given)
    if feasible:
        problem = vc.ControlProblem(raft(), **given, guess=vc.solve(problem).trajectory)
    assert (problem.violation(problem.x0) < 1e-8) == feasible
    claim = (problem.x0 + 0.1, 1, "all is well", True, 3)
    monkeypatch.setattr(solvers, "_scipy", lambda *_: claim)
    found = vc.solve(problem)
    assert not found.success and "its point violates" in found.message
    assert (found.constraint_violation < 1e-8) == feasible == ("; violated: " not in found.message)


def test_a_goal_that_is_partly_free_is_out_of_obstacles():
    pole = vc.CylinderObstacle((2.0, 0.1), 0.5, "pole")
    problem = vc.ControlProblem(raft(), steps=6, duration=1.0, start=[0, 0, 0], goal=[0, 2, np.nan], obstacles=[pole])
    # the guess goes straight into the pole
    end = problem.trajectory(problem.x0).q[-1]
    assert np.hypot(*(end[1:] - pole.centre)) < 0.5
    assert 'obstacle "pole" at step 6' in dict(problem.violations(problem.x0))
    found = vc.solve(problem)
    assert found.success, found.message
    assert np.hypot(*(found.trajectory.q[-1, 1:] - pole.centre)) > 0.5 - 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_a_solver_that_is_stopped_says_so(method):
    problem = next(problems())
    found = vc.solve(problem, method, max_iterations=2)
    assert not found.success and found.iterations <= 2 and found.status == {"scipy": 0, "ipopt": -1}[method]


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_ones_own_functions_come_through(method):
    calls = []

    def force(t, g, xi, u):
        calls.append(t)
        if len(calls) > 30:
            raise ZeroDivisionError("mine")
        return u

    problem = vc.ControlProblem(
        vc.RigidDynamics(SE2, np.eye(3), force, "abc"), steps=5, duration=1.0, start=[0, 0, 0], goal=[0, 1, 0]
    )
    calls[:] = [0.0] * 25
    with pytest.raises(ZeroDivisionError, match="mine"):
        vc.solve(problem, method)


def test_what_is_not_a_number_is_violated():
    body = vc.RigidDynamics(SE2, np.eye(3), lambda t, g, xi, u: u, "abc", map="cayley")
    problem = vc.ControlProblem(body, steps=4, duration=(1.0, 2.0), start=START, goal=([0, 1, 0], [np.nan] * 3))
    x = problem.x0.copy()
    x[3] = np.nan  # an input
    assert problem.violation(x) == np.inf and problem.violations(x)[0][1] == np.inf
    for i in range(len(x)):
        x = problem.x0.copy()
        x[i] = 1e6 * (-1) ** i
        assert problem.violations(x)[0][1] == problem.violation(x)
    x[-1] = 9.0
    assert ("bounds of the duration", 7.0) in problem.violations(x)


def test_a_solution_is_a_guess_for_finer_steps():
    given = {"duration": 4.0, "start": [0, 0, 0, 0, 0], "goal": [np.nan, 0, 0.5, 3, 0.5]}
    coarse = vc.solve(vc.ControlProblem(car(), steps=10, **given))
    fine = vc.ControlProblem(car(), steps=40, guess=coarse.trajectory, **given)
    plain = vc.ControlProblem(car(), steps=40, **given)
    assert coarse.success and abs(fine.objective(fine.x0) - coarse.cost) < 0.1 * coarse.cost
    assert fine.violation(fine.x0) < 0.3 * plain.violation(plain.x0)
    assert vc.solve(fine).cost == pytest.approx(vc.solve(plain).cost, rel=1e-6)
    with pytest.raises(InputError, match="another vehicle"):
        vc.ControlProblem(raft(), steps=5, duration=1.0, start=[0, 0, 0], goal=[0, 1, 0], guess=coarse.trajectory)


def test_a_jacobian_that_is_singular_by_structure():
    # nothing moves this raft aside or turns it, and nothing has to
    pushed = vc.RigidDynamics(SE2, np.eye(3), lambda t, g, xi, u: np.concatenate((0 * u, u, 0 * u), -1), ["push"])
    problem = vc.ControlProblem(pushed, steps=8, duration=1.0, start=[0, 0, 0], goal=[0, 1, 0])
    with pytest.raises(InputError, match="do not reach 4 of the equations"):
        vc.solve(problem)
    if IPOPT:
        found = vc.solve(problem, "ipopt")
        assert found.success and found.cost == pytest.approx(12 / (1 - 1 / 64), rel=1e-6)


@pytest.mark.parametrize("obstacle", [vc.SphereObstacle((1, 2, 3), 0.5), vc.CylinderObstacle((1, 2), 0.5),
                                      vc.HalfSpaceObstacle((1, 2, 3), (1, 2, 2)), vc.BoxObstacle((0, 1, 2), (1, 3, 4)),
                                      vc.BoxObstacle((0, -np.inf, 2), (1, 3, np.inf))])  # fmt: skip
def test_distances_are_signed_and_have_unit_slopes(obstacle):
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 4, (999, 3))
    d = obstacle(p)
    slopes = obstacle(p[:, None] + 1e-30j * np.eye(3)).imag / 1e-30
    assert (d > 0).any() and (d < 0).any()
    np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), 1, rtol=1e-12)
    # a step back along the slope is on the surface
    np.testing.assert_allclose(obstacle(p - d[:, None] * slopes), 0, atol=1e-12)


START, GOAL = [0.0, 0, 0], [0.0, 1, 0]
BAD = [
    ({"steps": 1}, "steps is 1"),
    ({"steps": 2.5}, "steps is 2.5"),
    ({"duration": 0.0}, "duration is 0.0"),
    ({"duration": (2.0, 1.0)}, "duration"),
    ({"duration": np.nan}, "duration"),
    ({"start": [0, 0]}, "the start has the configuration"),
    ({"start": [0, np.nan, 0]}, "NaN"),
    ({"goal": "there"}, "the goal has the configuration"),
    ({"goal": ([0, 1, 0], [0, 0])}, "the goal has the velocity"),
    ({"bounds": {"pash": (0, 1)}}, 'did you mean "push"'),
    ({"bounds": {"w": (20, 30)}}, "take more steps"),
    ({"bounds": {"push": (1, 0)}}, 'bounds of "push"'),
    ({"bounds": {"x": (0.5, 2)}}, "the start has x = 0, outside"),
    ({"bounds": {"x": (-1, 0.5)}}, "the goal has x = 1, outside"),
    ({"obstacles": [vc.CylinderObstacle((1, 0), 0.5, "pole")]}, 'the goal is inside obstacle "pole", 0.5 m deep'),
    ({"obstacles": [vc.CylinderObstacle((0.5, 0), 0.4, "pole")], "radius": 0.2}, "the start is inside"),
    ({"obstacles": [lambda p: np.abs(p[..., 1] - 0.3) + 1]}, "abs"),
    ({"radius": -1}, "radius"),
    ({"points": [(0, 0, 0)]}, "points"),
    ({"path_constraints": [vc.PathConstraint("way", lambda t, q, v, u: q[..., 1], 1, 0)]}, 'constraint "way"'),
    ({"cost": "money"}, "money"),
    ({"cost": vc.EffortCost(weights={"pull": 1})}, "pull"),
    ({"cost": vc.RunningCost(lambda t, q, v, u: v)}, "the running cost"),
]


@pytest.mark.parametrize(("change", "text"), BAD)
def test_bad_problems_are_named(change, text):
    given = {"steps": 6, "duration": 1.0, "start": START, "goal": GOAL} | change
    with pytest.raises((InputError, UnknownNameError), match=text):
        vc.ControlProblem(raft(), **given)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: vc.RigidDynamics(SE2, np.eye(2), None, "a"), r"must be \(3, 3\)"),
        (lambda: vc.RigidDynamics(SE2, -np.eye(3), None, "a"), "positive definite"),
        (lambda: vc.RigidDynamics(SE2, np.eye(3), None, "a", map="log"), "map"),
        (lambda: vc.RigidDynamics(SE2, np.eye(3), None, "a", trim={"b": 1}), 'no input "b"'),
        (lambda: vc.RigidDynamics("SE2", np.eye(3), None, "a"), "SE2 or SE3"),
        (lambda: car(max_steering=2.0), "max_steering"),
        (lambda: vc.CarDynamics(mass=0, inertia=1, wheel_inertia=1, wheelbase=1, wheel_radius=1), "mass is 0"),
        (lambda: vc.SphereObstacle((0, 0), 1), "3 finite numbers"),
        (lambda: vc.CylinderObstacle((0, 0), 0), "radius"),
        (lambda: vc.HalfSpaceObstacle((0, 0, 0), (0, 0, 0)), "normal"),
        (lambda: vc.BoxObstacle((0, 0, 0), (1, 0, 1), "shed"), "shed"),
        (lambda: vc.Plan([], [[0.0]], [], [], [[0.0]], "q", "v", "u"), "axes"),
        (lambda: vc.Plan([0.0], [[0.0]], [[0.0]], [[0.0]], [[0.0]] * 2, ["q"], ["v"], ["u"]), "the plan has 1 times"),
    ],
)
def test_bad_parts_are_named(make, text):
    with pytest.raises((InputError, UnknownNameError), match=text):
        make()


def test_bad_solves_are_named(monkeypatch):
    problem = vc.ControlProblem(raft(), steps=4, duration=1.0, start=START, goal=GOAL)
    bad = (({"method": "ipop"}, '"ipopt"'), ({"tolerance": 0}, "tolerance"), ({"max_iterations": 0}, "max_it"))
    for more, text in bad:
        with pytest.raises((InputError, UnknownNameError), match=text):
            vc.solve(problem, **more)
    monkeypatch.setitem(sys.modules, "ipyopt", None)
    with pytest.raises(MissingExtraError, match=r"vitree\[control\]"):
        vc.solve(problem, "ipopt")


def test_solvers_have_one_thread_of_blas_and_others_have_theirs_again(monkeypatch):
    pools = pytest.importorskip("threadpoolctl")

    def counts():
        return [pool["num_threads"] for pool in pools.threadpool_info() if pool["user_api"] == "blas"]

    seen = []
    with pools.threadpool_limits(2, user_api="blas"):
        before = counts()
        with one_blas_thread():
            assert set(counts()) == {1}
        assert counts() == before
        # blocks of several threads overlap
        one, other = one_blas_thread(), one_blas_thread()
        for step in (one.__enter__, other.__enter__, lambda: one.__exit__(None, None, None)):
            step()
            assert set(counts()) == {1}
        other.__exit__(None, None, None)
        assert counts() == before
        minimize = solvers.optimize.minimize
        monkeypatch.setattr(solvers.optimize, "minimize", lambda *a, **k: seen.append(counts()) or minimize(*a, **k))
        problem = vc.ControlProblem(raft(), steps=4, duration=1.0, start=(0.0, 0.0, 0.0), goal=(0.1, 0.2, 0.0),
                                    cost=[vc.EffortCost()])  # fmt: skip
        vc.solve(problem, max_iterations=2)
        assert counts() == before and set(seen[0]) == {1}
        seen.clear()
        least = socp._least
        monkeypatch.setattr(socp, "_least", lambda *given: seen.append(counts()) or least(*given))
        tree = vt.Tree("block")
        tree.world.add(vt.free("base"), vt.body("block", 1.0, (0.01, 0.01, 0.01)))
        tree.contact(vt.Ground(height=-0.05), vt.Contact("block", shapes=vt.Box((0.1, 0.1, 0.1))))
        model = tree.compile()
        assert vt.static_equilibrium(model, model.neutral()).possible
        assert counts() == before and set(seen[0]) == {1}
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with one_blas_thread():
        pass


SCRIPTS = ["boat_docking", "canyon_flight", "car_tunnel", "helicopter_landing", "parallel_parking_optimal"]


@pytest.mark.slow
@VEHICLES
@pytest.mark.parametrize("script", SCRIPTS)
def test_examples(script, tmp_path, monkeypatch, capsys):
    """The first as a person runs it, in a process of its own."""
    pytest.importorskip("matplotlib")
    path, arguments = EXAMPLES / f"{script}.py", ["--method", "ipopt" if IPOPT else "scipy", "--out", tmp_path]
    if script == SCRIPTS[0]:
        command = [sys.executable, "-W", "error", path, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert run.returncode == 0 and run.stderr == "", run.stdout + run.stderr
    else:
        monkeypatch.setenv("MPLBACKEND", "Agg")
        run_here(monkeypatch, path, arguments)
        assert capsys.readouterr().err == ""
    assert (tmp_path / f"{script}.png").stat().st_size > 10_000
