"""Every step accepted is on the branch of solutions that continues from no motion."""

from __future__ import annotations

import dataclasses
import pathlib
import sys

import numpy as np
import pytest

import vitree as vt
from vitree.urdf.robots import example_robots

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms

METHODS = ["linear-time", "midpoint"]

try:
    ROBOTS = example_robots()
except vt.VitreeError:
    ROBOTS = {}
robots = pytest.mark.skipif(not ROBOTS, reason="needs example-robot-data")


def double_pendulum():
    """Two point masses of 1 kg on rods of 1 m."""
    tree = vt.Tree("double pendulum")
    first = tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    first.add(vt.rx("b"), vt.tz(-1.0), vt.body("two", 1.0))
    return tree.compile()


@pytest.mark.parametrize(("method", "tolerance", "duration", "band"), [
    ("midpoint", 1e-12, 100.0, 3.0), ("midpoint", 1e-11, 150.0, 3.0), ("linear-time", 1e-12, 100.0, 3.0),
    pytest.param("midpoint", 1e-9, 1525.0, 5.0, marks=pytest.mark.slow)])  # fmt: skip
def test_the_closed_chains_stay_on_their_branch(method, tolerance, duration, band):
    """At 92.03 s, 148 s and 1520 s extrapolated guesses led to other solutions: 1068 J or 3.5e8 J more in a step."""
    model, q0 = mechanisms.closed_chain()
    run = vt.simulate(model, q0, duration=duration, dt=0.01, method=method, tolerance=tolerance)
    assert np.abs(np.diff(run.q, axis=0)).max() < 0.3
    assert np.ptp(run.energy) < band


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dt", "most", "band"), [(0.05, 15.0, 15.0), (0.1, 50.0, 110.0)])
def test_coarse_compositions_stay_on_their_branch(method, dt, most, band):
    """At order 8 runs of 100 s ended in errors after steps of 1.5 to 4.8 rad and changes of 90 to 1250 J.

    Steps of 0.1 s are far too long for this motion: each eighth is taken in halves, and the run says so. Of 24 runs
    with other tolerances none changes the energy by more than 32 J in a step, or by more than 108 J in all.
    """
    model, q0 = mechanisms.closed_chain()
    run = vt.simulate(model, q0, duration=100.0, dt=dt, method=method, order=8)
    assert np.abs(np.diff(run.q, axis=0)).max() < np.pi
    assert np.abs(np.diff(run.energy)).max() < most and np.ptp(run.energy) < band
    assert bool(run.warnings) == bool(run.settings["halved"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [0.05, 0.07])
@pytest.mark.parametrize("start", [(2.5, 1.0), (3.0, -0.5), (2.0, 2.0)])
def test_steps_too_long_for_the_motion_are_halved(method, dt, start):
    """Steps of 5.8 rad and of 2e35 rad were accepted. Each step is near that of an exact solution from its start."""
    model = double_pendulum()
    run = vt.simulate(model, start, duration=dt * round(25.0 / dt), dt=dt, method=method)
    turns = np.abs(np.diff(run.q, axis=0)).max(axis=1)
    assert 0.8 < turns.max() < np.pi and 0 < run.settings["halved"] < 0.2 * run.steps
    assert np.ptp(run.energy) < 0.7 * run.kinetic.max()
    far = np.argsort(turns)[-40:]
    for k in far:
        exact = vt.simulate(model, run.q[k], run.v[k], duration=dt, dt=dt / 16, method="rk4").q[-1]
        assert np.abs(run.q[k + 1] - exact).max() < 0.5 * turns[k]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [2, 4, 6])
def test_short_steps_are_never_halved(method, order):
    """Substeps of negative length have operators of negative pivots, which are as they must be."""
    run = vt.simulate(double_pendulum(), (2.5, 1.0), duration=10.0, dt=0.01, method=method, order=order)
    assert run.settings["halved"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_wheel_may_turn_fast(method):
    """Two radians a step: its operator is constant, and there is one solution."""
    tree = vt.Tree("cart with a flywheel")
    arm = vt.body("arm", 1.0, com=(0, 0, -1))
    cart = tree.world.add(vt.tx("x"), vt.body("cart", 5.0), vt.tz(0.1), vt.ry("lean"), arm)
    cart.add(vt.ry("wheel"), vt.body("flywheel", 1.0, inertia=(0.01, 0.02, 0.01)))
    run = vt.simulate(tree.compile(), v0=[0.1, 0.5, 200.0], duration=5.0, dt=0.01, method=method)
    assert run.settings["halved"] == 0 and np.abs(np.diff(run.q[:, 2])).min() > 1.9
    assert np.ptp(run.energy) < 1e-5 * run.energy[0]


@pytest.mark.parametrize("solver", ["newton", "recursive-newton", "modified-newton", "broyden", "riqn"])
@pytest.mark.parametrize("method", METHODS)
def test_other_solvers_accept_no_other_branch(method, solver):
    """They may fail, which an error says; the steps before it are right."""
    model = double_pendulum()
    try:
        run = vt.simulate(model, (3.0, -0.5), duration=25.0, dt=0.05, method=method, solver=solver)
    except vt.ConvergenceError as error:
        run = error.trajectory
        assert error.time == run.t[-1]
    assert np.abs(np.diff(run.q, axis=0)).max() < 1.0
    assert np.ptp(run.energy) < 0.5 * run.kinetic.max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("name", ["pendulum", "arm6", "human"])
def test_a_robot_held_by_its_static_torque_rests(name, order, method):
    """Gravity and torque cancel: the residual's scale is that of the separate terms."""
    model = vt.load_urdf(vt.find_robot(name))
    rng = np.random.default_rng(0)
    for dt in (1e-4, 1e-3, 1e-2):
        q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
        torque = model.rnea(q, np.zeros(model.nv), np.zeros(model.nv))
        run = vt.simulate(model, q, duration=20 * dt, dt=dt, method=method, order=order, control=torque)
        assert run.iterations.max() <= order // 2 * 3 and run.iterations_total <= run.steps
        assert np.abs(model.difference(q, run.q[-1])).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [2, 4])
def test_one_joint_held_by_its_static_torque_rests(order, method):
    """The net impulse cancels to 1e-116 of its terms and less: midpoint failed, linear-time took 30 iterations."""
    rng = np.random.default_rng(0)
    for length, mass in rng.uniform(0.3, 2.0, (40, 2)):
        tree = vt.Tree("pendulum")
        tree.world.add(vt.rx("a"), vt.tz(-length), vt.body("bob", mass))
        model = tree.compile()
        torque = model.rnea([0.1], [0.0], [0.0])
        for dt in (1e-4, 1e-3, 1e-2):
            run = vt.simulate(model, [0.1], duration=100 * dt, dt=dt, method=method, order=order, control=torque)
            assert run.iterations_total <= run.steps * {2: 1, 4: 5}[order] and np.abs(run.q - 0.1).max() < 1e-9


@robots
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "order"), [
    ("ur_description/ur5_robot", 2), ("ur_description/ur5_robot", 4), ("talos_data/talos_full_v2", 2),
    ("solo_description/solo12", 2), ("solo_description/solo12", 4)])  # fmt: skip
def test_real_robots_rest(name, order, method):
    model = vt.load_urdf(vt.find_robot(name))
    rng, zero = np.random.default_rng(0), np.zeros(model.nv)
    for dt in (1e-4, 1e-3, 1e-2, 1e-3, 1e-2, 1e-2):
        q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
        run = vt.simulate(model, q, duration=20 * dt, dt=dt, method=method, order=order,
                          control=model.rnea(q, zero, zero))  # fmt: skip
        assert run.iterations_total <= run.steps * {2: 1, 4: 5}[order]
        assert np.abs(model.difference(q, run.q[-1])).max() < 1e-9


@robots
@pytest.mark.parametrize("dt", [5e-3, 1e-2])
@pytest.mark.parametrize("chosen", [{}, {"solver": "recursive-newton"}])
def test_a_humanoid_with_springs_on_light_fingers_takes_long_steps(dt, chosen):
    """The first guess turned a finger of 9e-6 kg m^2 by hundreds of radians: a step of 10 ms was halved, or failed."""
    flat = vt.load_urdf(vt.find_robot("g1_description/g1_29dof_with_hand_rev_1_0"), base="free").flat
    model = vt.Model(flat)
    springs = tuple(vt.JointSpring(name, 100.0, 0.0) for name in model.joint_names[1:])
    damping = np.r_[np.zeros(6), np.full(model.nv - 6, 2.0)]
    model = vt.Model(dataclasses.replace(flat, gravity=np.zeros(3), damping=damping, loads=springs))
    bent = 0.3 * np.random.default_rng(0).normal(size=model.nv - 6)
    q, v = model.integrate(model.neutral(), np.r_[np.zeros(6), bent]), np.r_[np.ones(6), np.zeros(model.nv - 6)]
    run = vt.simulate(model, q, v, duration=0.5, dt=dt, method="midpoint", **chosen)
    assert run.settings["halved"] == 0 and np.abs(run.momentum - run.momentum[0]).max() < 1e-10


@pytest.mark.parametrize("kick", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("chosen", [{}, {"solver": "recursive-newton"}])
def test_a_damped_light_link_that_is_struck_hardly_moves(kick, chosen):
    """M^-1 p is 251 rad/s and more, (M + h c/2)^-1 p 9.5 rad/s: the step is solved whole, in a few corrections."""
    model = vt.load_urdf(vt.find_robot("human"), base="free").full
    damping = np.zeros(model.nv)
    damping[6:] = 60.0
    model = vt.Model(dataclasses.replace(model.flat, damping=damping))
    q, h = model.neutral(), 1e-3
    p = model.frame_jacobian("right_foot", q).T @ [kick, 0, 0, 0, 0, 10.0]
    run = vt.simulate(model, q, p0=p, duration=h, dt=h, **chosen)
    expected = np.linalg.solve(model.crba(q) + np.diag(0.5 * h * damping), p)
    assert run.settings["halved"] == 0 and run.iterations_total <= 5
    assert np.abs(model.difference(q, run.q[-1]) / h - expected).max() < 0.05 * np.abs(expected).max()


@pytest.mark.parametrize("segments, angle", [(15, 1.0), (15, 0.8), (20, 1.0), (20, 0.9), (20, 0.8)])
def test_a_scissor_lift_passes_its_singular_configuration(segments, angle):
    """A trial of the solver at which the constraints depend on each other is taken in halves as others are."""
    model, q = mechanisms.scissor(segments, angle)
    run = vt.simulate(model, q, duration=5.0, dt=0.01, method="midpoint")
    assert run.settings["halved"] < 10 and np.abs(run.constraint).max() < 1e-10
    assert np.abs(np.diff(run.q, axis=0)).max() < 0.3
    theta = mechanisms.scissor_angle(model, run.q)
    assert (theta > np.pi / 2).any() and (theta < np.pi / 2).any()
    early = run.t < 0.3
    assert theta[early] == pytest.approx(mechanisms.scissor_benchmark(segments, run.t[early], angle), abs=0.02)
