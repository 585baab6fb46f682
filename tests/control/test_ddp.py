"""Trajectory optimisation: optimal, within bounds, on every kind of joint; wrong uses and interruptions."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from random_models import chain_flat, random_flat, random_state
from scipy.optimize import minimize
from searches import ddp, shooting_problem

import vitree as vt
from vitree.control import FrameCost, QuadraticCost
from vitree.control import ddp as iterative
from vitree.control.frame_costs import FrameCosts
from vitree.integrators.slopes import joint_maps
from vitree.lie import SO3

#: A pole swings up in two seconds.
SWING = {
    "duration": 2.0, "dt": 0.04, "goal": [0.0, 0.0], "Q": np.r_[1, 1, 0.1, 0.1] * 4e-4, "R": [4e-4],
    "Q_end": [10, 10, 1, 1], "actuators": ["slide"],
}  # fmt: skip


def cost_of(model, start, torque, goal, Q, R, Q_end, dt, **options):
    """The cost of a torque (steps, nv), by plain simulation."""
    simulation = vt.Simulation(model, *start, dt=dt, **options)
    cost, goal = 0.0, np.asarray(goal, float)
    for row in torque:
        x = np.concatenate([model.difference(goal, simulation.q), simulation.p])
        cost += x @ (Q * x) + row @ (R * row)
        simulation.step(control=row)
    x = np.concatenate([model.difference(goal, simulation.q), simulation.p])
    return cost + x @ (Q_end * x)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_pole_swings_up(method):
    model = cart_pole()
    found = ddp(model, [0.0, np.pi], method=method, **SWING)
    assert found.success
    assert len(found.costs) < 60
    assert np.abs(found.trajectory.q[-1]).max() < 0.1
    assert all(b <= a for a, b in zip(found.costs, found.costs[1:], strict=False))
    np.testing.assert_allclose(found.cost, found.costs[-1])
    # it is no worse for any small change of the force
    rng = np.random.default_rng(0)
    weights = {"goal": [0.0, 0.0], "Q": SWING["Q"], "R": np.r_[4e-4, 0], "Q_end": np.array(SWING["Q_end"])}
    best = cost_of(model, ([0.0, np.pi],), found.torque, dt=0.04, method=method, **weights)
    np.testing.assert_allclose(best, found.cost, rtol=1e-9)
    for _ in range(5):
        change = 1e-3 * rng.normal(size=len(found.torque))[:, None] * [1.0, 0.0]
        assert cost_of(model, ([0.0, np.pi],), found.torque + change, dt=0.04, method=method, **weights) > best
    # the feedback brings a disturbed start back
    led = vt.simulate(model, [0.02, np.pi + 0.02], duration=2.0, dt=0.04, method=method,
                      control=found.regulator.controller())  # fmt: skip
    assert np.abs(led.q[-1] - found.trajectory.q[-1]).max() < 0.05


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_optimum_is_that_of_a_general_solver(method):
    model = vt.Model(chain_flat(2))
    Q, R, Q_end = np.r_[0.5, 0.5, 0.01, 0.01], np.r_[0.02, 0.03], np.r_[30.0, 20, 1, 1]
    start = ([0.5, -0.4], [0.2, 0.0])
    found = ddp(
        model, *start, duration=0.18, dt=0.03, goal=[0.3, 0.2], Q=Q, R=R, Q_end=Q_end, tolerance=1e-12, method=method
    )
    assert found.success

    def cost(u):
        return cost_of(model, start, u.reshape(6, 2), [0.3, 0.2], Q, R, Q_end, 0.03, method=method)

    other = minimize(cost, np.zeros(12), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found.cost, other.fun, rtol=1e-6)
    np.testing.assert_allclose(found.torque.ravel(), other.x, atol=1e-2 * np.abs(other.x).max())


def test_forces_stay_within_their_limits():
    model = cart_pole()
    free = ddp(model, [0.0, np.pi], **SWING)
    most = 0.7 * np.abs(free.torque).max()
    held = ddp(model, [0.0, np.pi], limits=most, **SWING)
    assert np.abs(held.torque).max() <= most
    assert np.isclose(np.abs(held.torque).max(), most)
    assert held.cost > free.cost
    assert np.abs(held.trajectory.q[-1]).max() < 0.15
    at_bound = np.isclose(np.abs(held.torque[:, 0]), most)
    assert not held.regulator.K[at_bound].any()


def test_the_optimum_within_limits_is_that_of_a_general_solver():
    model = vt.Model(chain_flat(3))
    Q, R, Q_end, limits = np.full(6, 0.1), np.r_[0.02, 0.03], np.r_[30.0, 20, 10, 1, 1, 1], np.r_[3.0, 10.0]
    start = ([0.5, -0.4, 0.2], [0.2, 0.0, 0.1])
    found = ddp(model, *start, duration=0.18, dt=0.03, goal=[0.3, 0.2, 0.1], Q=Q, R=R, Q_end=Q_end, tolerance=1e-12,
                 actuators=[model.v_names[2], model.v_names[0]], limits=limits)  # fmt: skip
    assert found.success
    acting = found.torque[:, [2, 0]]
    assert (np.abs(acting) <= limits).all()
    held = np.isclose(np.abs(acting), limits)
    assert held.any(axis=0).all()
    assert not held.all()

    def cost(u):
        torque = np.zeros((6, 3))
        torque[:, [2, 0]] = u.reshape(6, 2)
        return cost_of(model, start, torque, [0.3, 0.2, 0.1], Q, np.r_[0.03, 0, 0.02], Q_end, 0.03)

    bounds = [(-x, x) for x in np.tile(limits, 6)]
    other = minimize(cost, np.zeros(12), method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-8})
    np.testing.assert_allclose(found.cost, other.fun, rtol=1e-6)


def test_turns_to_a_goal_on_ball_and_free_joints():
    tree = vt.Tree("satellite", gravity=(0, 0, 0))
    mast = [vt.ball("arm"), vt.body("mast", 0.5, (0.1, 0.1, 0.05))]
    tree.world.add(vt.free("base"), vt.body("hull", 2.0, (0.3, 0.2, 0.4)), mast)
    model = tree.compile()
    rng = np.random.default_rng(0)
    goal = model.integrate(model.neutral(), rng.uniform(-1.2, 1.2, model.nv))
    Q_end = np.r_[np.full(model.nv, 500.0), np.full(model.nv, 50.0)]
    found = ddp(model, duration=1.0, dt=0.05, goal=goal, Q=0.0, R=1e-3, Q_end=Q_end)
    assert found.success
    assert np.abs(model.difference(goal, found.trajectory.q[-1])).max() < 0.02


def test_the_chart_has_the_derivatives_of_differences():
    model = vt.Model(random_flat(np.random.default_rng(0), nbody=4, kinds=("free", "ball", "revolute")))
    rng = np.random.default_rng(1)
    goal, (q, _) = random_state(model.flat, rng)[0], random_state(model.flat, rng)
    goal = model.integrate(q, 0.8 * rng.uniform(-1, 1, model.nv))
    d = model.difference(goal, q)
    found = joint_maps(model, -d[None, : model.nv])[0]
    moved = [[model.difference(goal, model.integrate(q, size * e)) for size in (1e-5, -1e-5)] for e in np.eye(model.nv)]
    expected = [(one - other) / 2e-5 for one, other in moved]
    np.testing.assert_allclose(found, np.array(expected).T, atol=1e-9)


def curvatures(problem, path):
    """The derivatives (steps, n, n, n) of A by the state, which the second index counts, a costate at a time."""
    A = problem.expand(path)[0]
    found = [problem.curvature(path, A, np.tile(row, (len(A) + 1, 1))) for row in np.eye(A.shape[1])]
    return np.stack(found, axis=2)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_second_derivatives_are_those_of_the_steps(method):
    model = vt.Model(chain_flat(3, damping=0.2))
    problem = shooting_problem(model, [0.4, -0.3, 0.5], [0.2, 0.1, -0.4], duration=0.06, dt=0.02, goal=np.zeros(3),
                               Q=1.0, R=1.0, method=method, tolerance=1e-13)  # fmt: skip
    path = problem.follow(np.tile([0.5, -0.2, 0.1], (3, 1)))
    found = curvatures(problem, path)[1]
    for j in range(6):
        sides = []
        for sign in (1, -1):
            d = sign * 1e-4 * np.eye(6)[j]
            sides.append(vt.linearize(model, path.q[1] + d[:3], p0=path.p[1] + d[3:], dt=0.02, method=method,
                                      control=path.controls[1]).A)  # fmt: skip
        np.testing.assert_allclose(found[j], (sides[0] - sides[1]) / 2e-4, atol=2e-6 * np.abs(found).max())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_second_derivatives_are_those_of_steps_on_ball_and_free_joints(method):
    rng = np.random.default_rng(3)
    model = vt.Model(random_flat(np.random.default_rng(0), nbody=3, kinds=("free", "ball", "revolute")))
    nv, (q, _) = model.nv, random_state(model.flat, rng)
    exact = {"method": method, "tolerance": 1e-13}
    problem = shooting_problem(model, q, 0.5 * rng.normal(size=nv), duration=0.04, dt=0.02, goal=q, Q=1.0, R=1.0,
                               **exact)  # fmt: skip
    path = problem.follow(0.3 * rng.normal(size=(2, nv)))
    found = curvatures(problem, path)[1]

    def end(z):
        start = model.integrate(path.q[1], z[:nv])
        simulation = vt.Simulation(model, start, p0=path.p[1] + z[nv:], dt=0.02, **exact)
        simulation.step(control=path.controls[1])
        return np.concatenate([model.difference(path.q[2], simulation.q), simulation.p - path.p[2]])

    steps = 2e-4 * np.eye(2 * nv)
    for j in (0, 4, 7, nv + 1, 2 * nv - 1):
        for i in (3, 5, nv - 1, nv + 4):
            a, b = steps[j], steps[i]
            expected = (end(a + b) - end(a - b) - end(b - a) + end(-a - b)) / (4 * 2e-4**2)
            np.testing.assert_allclose(found[j, :, i], expected, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("method, options", [("linear-time", {}), ("midpoint", {"kinetic": "midpoint"})])
def test_motions_nearby_are_found_by_derivatives(method, options):
    """With the results of other steps, and without factorisations where they are near; also where they are far."""
    rng = np.random.default_rng(0)
    model = vt.Model(random_flat(rng, nbody=5, kinds=("revolute", "prismatic")))
    q, v = random_state(model.flat, rng)
    problem = shooting_problem(model, q, v, duration=0.6, dt=0.01, goal=q, Q=1.0, R=1.0, method=method, **options)
    path = problem.follow(rng.normal(size=(60, 5)))
    assert problem.acting and not path.quick
    problem.expand(path)
    K = 0.1 * rng.normal(size=(60, 5, 10))
    for size, most in ((1e-4, 0), (0.1, 20), (10.0, 120)):
        gains = size * rng.normal(size=(60, 5)), K
        other, one = (problem.corrected(path, 1.0, gains, quick=quick) for quick in (False, True))
        assert one.quick and not other.quick and problem.integrator.stepper.counts[1] <= most
        for a, b in ((one.q, other.q), (one.p, other.p), (one.controls, other.controls)):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-7 * np.abs(b).max())
    same = problem.as_simulated(one, -K)
    simulated = problem.simulated(same.controls)
    np.testing.assert_array_equal(simulated.q, same.q)
    np.testing.assert_allclose(same.q, one.q, rtol=0, atol=1e-7)


def test_the_records_are_those_of_a_simulation():
    model = cart_pole()
    found = ddp(model, [0.0, np.pi], [0.1, 0.0], limits=40.0, max_iterations=3, **SWING)
    simulation = vt.Simulation(model, [0.0, np.pi], [0.1, 0.0], dt=0.04, record_every=1)
    for row in found.torque:
        simulation.step(control=row)
    expected = simulation.trajectory
    for name in ("t", "q", "v", "p", "residual", "iterations", "kinetic", "potential", "checkpoint"):
        np.testing.assert_array_equal(getattr(found.trajectory, name), getattr(expected, name))
    assert found.trajectory.settings == expected.settings


def arm(rng=None):
    """A chain of three links with a frame at its tip, and of one on ball and free joints."""
    model = vt.Model(random_flat(rng, nbody=4, kinds=("free", "ball", "revolute"))) if rng else vt.Model(chain_flat(3))
    return model, model.frame_names[-1]


@pytest.mark.parametrize("seed", [None, 0])
def test_costs_of_frames_have_their_derivatives(seed):
    rng = np.random.default_rng(1)
    model, frame = arm(None if seed is None else np.random.default_rng(seed))
    turn = SO3.maps["exp"].tau(rng.normal(size=3))
    costs = [FrameCost(frame, [0.3, -0.2, 0.4], turn, 0.5, 2.0, 0.7, 3.0),
             FrameCost(frame, point=[1.0, 0, 0], weight_end=4.0),
             FrameCost(frame, point=rng.normal(size=(3, 3)), weight=0.3, weight_end=0.2)]  # fmt: skip
    found = FrameCosts(model, costs, 2)
    q = np.array([random_state(model.flat, rng)[0] for _ in range(3)])
    gradients, matrices = np.zeros((3, 2 * model.nv)), np.zeros((3, 2 * model.nv, 2 * model.nv))
    found.expand(q, gradients, matrices)
    expected = np.zeros((3, model.nv))
    for k in range(3):
        for j, e in enumerate(1e-6 * np.eye(model.nv)):
            sides = []
            for sign in (1, -1):
                moved = q.copy()
                moved[k] = model.integrate(q[k], sign * e)
                sides.append(found.cost(moved))
            expected[k, j] = (sides[0] - sides[1]) / 2e-6
    np.testing.assert_allclose(gradients[:, : model.nv], expected, atol=1e-7 * np.abs(expected).max())
    assert not gradients[:, model.nv :].any()
    # where the distances vanish, Gauss-Newton's matrix is the second derivative
    pose = model.frame_pose(frame, q[0])
    there = FrameCosts(model, [FrameCost(frame, pose[:3, 3], pose[:3, :3], 0.5, 2.0, 0.7, 3.0)], 1)
    ends, still = np.array([q[0], q[0]]), np.zeros((2, 2 * model.nv, 2 * model.nv))
    there.expand(ends, np.zeros((2, 2 * model.nv)), still)
    d = rng.normal(size=model.nv)
    for k in (0, 1):
        moved = ends.copy()
        moved[k] = model.integrate(q[0], 1e-4 * d)
        value = 0.5 * d @ still[k, : model.nv, : model.nv] @ d
        np.testing.assert_allclose(there.cost(moved) / 1e-8, value, rtol=1e-2)


def test_a_frame_reaches_a_pose():
    tree = vt.Tree("satellite", gravity=(0, 0, 0))
    mast = [vt.ball("arm"), vt.body("mast", 0.5, (0.1, 0.1, 0.05)), vt.tz(0.5), vt.frame("tip")]
    tree.world.add(vt.free("base"), vt.body("hull", 2.0, (0.3, 0.2, 0.4)), mast)
    model = tree.compile()
    turn = SO3.maps["exp"].tau(np.array([0.5, -0.4, 0.8]))
    reach = FrameCost("tip", [0.4, 0.3, 0.2], turn, weight_end=500.0, turn_weight_end=500.0)
    found = ddp(model, duration=1.0, dt=0.05, R=1e-3, Q_end=np.r_[np.zeros(9), np.full(9, 50.0)], frames=[reach])
    assert found.success
    pose = model.frame_pose("tip", found.trajectory.q[-1])
    np.testing.assert_allclose(pose[:3, 3], reach.point, atol=5e-3)
    np.testing.assert_allclose(pose[:3, :3], turn, atol=5e-3)
    assert np.abs(found.trajectory.p[-1]).max() < 0.05


def test_a_search_may_start_from_a_feedback_law():
    """A callable is simulated: the first cost is that of the rows that it gives, and the search goes on from there."""
    model = cart_pole()
    law = lambda t, q, v: np.array([-3.0 * q[0] - v[0] + np.sin(t), 0.0])  # noqa: E731
    run = vt.simulate(model, [0.0, np.pi], duration=2.0, dt=0.04, control=vt.Controller(law, 0.04))
    rows = np.array([law(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])[:-1]
    found = ddp(model, [0.0, np.pi], torque=law, max_iterations=3, **SWING)
    expected = ddp(model, [0.0, np.pi], torque=rows, max_iterations=3, **SWING)
    np.testing.assert_allclose(found.costs, expected.costs, rtol=1e-9)
    with pytest.raises(vt.InputError, match="control"):
        ddp(model, [0.0, np.pi], torque=lambda t, q, v: [0.0], **SWING)


def test_what_was_found_is_kept_when_the_keyboard_interrupts():
    seen = []

    def stop(iteration, cost):
        seen.append(cost)
        if iteration == 3:
            raise KeyboardInterrupt

    found = ddp(cart_pole(), [0.0, np.pi], progress=stop, **SWING)
    assert not found.success
    assert "keyboard" in found.message
    assert found.cost == found.costs[-1] == pytest.approx(seen[-1], rel=1e-8)
    assert sorted(found.costs, reverse=True) == found.costs
    assert len(found.trajectory) == 51
    short = ddp(cart_pole(), [0.0, np.pi], max_iterations=2, **SWING)
    assert "2, was reached" in short.message
    assert "after 2 iterations" in repr(short)
    fast = ddp(cart_pole(), [0.0, np.pi], [0.0, 60.0], max_iterations=0, **SWING)
    assert "a joint turns by 2." in fast.message
    none = ddp(cart_pole(), [0.0, np.pi], max_iterations=0, **SWING)
    assert "turns" not in none.message
    assert none.regulator.K.shape == (50, 1, 4)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"goal": None}, "no goal"), ({"costs": 3}, "costs"), ({"frames": [3]}, "costs"),
        ({"costs": []}, "0 QuadraticCost"), ({"frames": [QuadraticCost(R=1.0)]}, "2 QuadraticCost"),
        ({"search": "ilqr"}, "transcription"), ({"control": {"torques": 0.0}}, "torques"),
        ({"frames": [FrameCost("pol", [0, 0, 1], weight=1.0)]}, "pole"),
        ({"frames": [FrameCost("pole", np.zeros((3, 3)), weight=1.0)]}, r"\(51, 3\)"),
        ({"model": vt.vehicles.snakeboard()}, "ControlProblem"), ({"Q": "x"}, "Q"), ({"limits": "x"}, "limits"),
        ({"goal": [0.0]}, "goal"), ({"Q": np.ones(3)}, "Q"), ({"R": [0.0]}, "R must be positive"),
        ({"limits": -1.0}, "limits"), ({"limits": [1.0, 2.0]}, "limits"), ({"actuators": ["motor"]}, "motor"),
        ({"method": "rk4"}, "linear-time"),
        ({"torque": np.zeros((3, 2))}, "control"), ({"duration": -1.0}, "duration"),
        ({"max_iterations": 2.5}, "max_iterations"),
        ({"tolerance": -1.0}, "tolerance"), ({"q0": np.zeros(3)}, "q0"), ({"progress": 3}, "progress"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told(wrong, text):
    with pytest.raises(vt.VitreeError, match=text):
        ddp(**{"model": cart_pole(), "q0": [0.0, np.pi], **SWING, **wrong})
    for given, text in (({"weight": -1.0}, "weight"), ({}, "no weight"), ({"weight": 1.0}, "point"),
                        ({"turn_weight_end": 1.0}, "rotation"), ({"point": [0, 1], "weight": 1.0}, "point"),
                        ({"rotation": np.ones((3, 3)), "turn_weight": 1.0}, "rotation matrix")):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=text):
            FrameCost("pole", **given)


def test_regularisation_follows_the_quadratic_schedule():
    """Tassa, Mansard & Todorov 2014: the factor grows with each failure, and shrinks with each success in a row."""
    from types import SimpleNamespace

    search = object.__new__(iterative.DDP)
    search.regularisation, search.factor, search.at, search.costs = 0.0, 1.0, SimpleNamespace(cost=1.0), []
    search.curved, search.bent, search._expansion, search.last = False, None, (), SimpleNamespace(k=None, K=None)
    search.slow = search.age = 0
    least, most, factor = iterative.LEAST, iterative.MOST, iterative.FACTOR

    def succeed(gain):
        found = SimpleNamespace(cost=search.at.cost - gain)
        search.problem = SimpleNamespace(bends=False, corrected=lambda *of, **more: found, expand=lambda found: (),
                                         bent=lambda *of: (), model=SimpleNamespace(nv=1))  # fmt: skip
        search._solve = lambda *of: (-gain, 0.0)
        assert search.improve(1e-12) is None and search.at is found

    expected = least
    for k in range(1, 8):
        assert search._regularise() and search.factor == factor**k
        expected = max(least, expected * factor**k) if k > 1 else least
        assert search.regularisation == expected
    for k in range(1, 5):
        succeed(0.01)
        assert search.factor == factor**-k
        expected *= factor**-k
        assert search.regularisation == pytest.approx(expected, rel=1e-12)
    assert search._regularise() and search.factor == factor  # from the start again
    search.regularisation, search.factor = least * factor, 1.0
    succeed(0.01)
    assert search.regularisation == least  # not below the least
    succeed(0.01)
    assert search.regularisation == 0.0
    search.regularisation, search.factor = most, 1.0
    assert not search._regularise()
