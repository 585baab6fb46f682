"""Springs and servos on ball joints, by the rotation vector from a reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from step_differences import compared

import vitree as vt
from vitree.integrators.slopes import _forces

METHODS = ("linear-time", "midpoint", "rk4", "gauss")


def arm(spring: vt.BallSpring, gravity: float = 0.0, damping: float = 0.0) -> vt.Tree:
    tree = vt.Tree("arm", gravity=(0, 0, -gravity))
    upper = tree.world.add(vt.rx(0.4), vt.ry("hinge"), vt.body("base", 2.0, (0.1, 0.1, 0.1)))
    upper.add(vt.tx(0.2), vt.ball("shoulder", damping=damping), vt.tz(-0.4), vt.body("arm", 1.0, (0.03, 0.02, 0.01)))
    tree.load(spring)
    return tree


@pytest.mark.parametrize("reference", [(0, 0, 0, 1), (0.3, -0.2, 0.1, 0.8)])
def test_torque_and_energy(reference: tuple[float, ...]) -> None:
    """The torque is -k log(R0^T R), and minus the gradient of the energy, at random rotations."""
    model = arm(vt.BallSpring("shoulder", 5.0, reference)).compile()
    R0 = Rotation.from_quat(reference)
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = model.integrate(model.neutral(), 1.5 * rng.normal(size=model.nv))
        w = (R0.inv() * Rotation.from_quat(q[1:])).as_rotvec()
        e = 1e-6
        ends = [[model.potential_energy(model.integrate(q, s * e * x)) for s in (1, -1)] for x in np.eye(model.nv)]
        slope = [(up - down) / (2 * e) for up, down in ends]
        assert model.potential_energy(q) == pytest.approx(2.5 * w @ w, abs=1e-12)
        assert np.array(slope[1:]) == pytest.approx(5.0 * w, abs=1e-7)
        with_spring = model.forward_dynamics(q, np.zeros(model.nv)).acceleration
        assert model.crba(q) @ with_spring == pytest.approx([0.0, *(-5.0 * w)], abs=1e-10)


def test_oscillation_of_a_sphere() -> None:
    """A ball about its centre oscillates with omega = sqrt(k/I) at any amplitude below pi."""
    tree = vt.Tree("sphere", gravity=(0, 0, 0))
    tree.world.add(vt.ball("joint"), vt.body("sphere", 1.0, (0.5, 0.5, 0.5)))
    tree.load(vt.BallSpring("joint", 8.0))
    model = tree.compile()
    start = np.array([2.0, -1.0, 0.5])
    q = model.integrate(model.neutral(), start)
    run = vt.simulate(model, q, duration=np.pi / 4, dt=np.pi / 4000)
    assert Rotation.from_quat(run.q[-1]).as_rotvec() == pytest.approx(-start, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_order_and_energy(method: str) -> None:
    """Second order, and the energy error shrinks with dt^2."""
    model = arm(vt.BallSpring("shoulder", 4.0, (0.2, 0.1, 0, 0.9)), gravity=9.81).compile()
    q = model.integrate(model.neutral(), [0.3, 0.4, -0.5, 0.2])
    v = np.array([0.5, 1.0, -1.0, 2.0])
    fine = vt.simulate(model, q, v, duration=0.5, dt=2.5e-4, method="gauss").q[-1]
    errors, drifts = [], []
    for dt in (1e-2, 5e-3):
        run = vt.simulate(model, q, v, duration=0.5, dt=dt, method=method)
        errors.append(np.abs(model.difference(fine, run.q[-1])).max())
        drifts.append(np.ptp(run.energy))
    assert errors[1] < 0.3 * errors[0] or errors[1] < 1e-8
    assert drifts[1] < 0.3 * drifts[0] or drifts[1] < 1e-8


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives_of_steps(method: str) -> None:
    model = arm(vt.BallSpring("shoulder", 4.0, (0.2, 0.1, 0, 0.9)), gravity=9.81, damping=0.1).compile()
    q = model.integrate(model.neutral(), [0.3, 0.9, -0.5, 1.2])
    found, expected, _ = compared(model, q, np.array([0.5, 1.0, -1.0, 2.0]), 0.01, method, 3, 1e-3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_servo() -> None:
    """With damping and a target by inputs the joint comes to the target; the derivatives by it are those of runs."""
    tree = arm(vt.BallSpring("shoulder", 20.0, ("sx", "sy", "sz")), damping=1.0)
    tree.load(vt.Drive("hinge", 100.0, 10.0))
    model = tree.compile()
    assert model.input_names == ("sx", "sy", "sz")
    target = {"sx": 0.5, "sy": -0.7, "sz": 0.9}
    run = vt.simulate(model, duration=6.0, dt=5e-3, control=vt.Control(inputs=target))
    assert Rotation.from_quat(run.q[-1, 1:]).as_rotvec() == pytest.approx(list(target.values()), abs=1e-4)
    u = np.array([0.5, -0.7, 0.9])
    by_u = _forces(model, np.zeros(1), run.q[3:4], np.zeros((1, model.nv)), u[None])[3][0]
    for k in range(3):
        e = 1e-6 * np.eye(3)[k]
        up, down = (model.crba(run.q[3]) @ model.forward_dynamics(run.q[3], np.zeros(4), inputs=u + s * e).acceleration
                    for s in (1, -1))  # fmt: skip
        assert by_u[:, k] == pytest.approx((up - down) / 2e-6, abs=1e-5)


# ---- a limit of the torque --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [(0, 0, 0, 1), (0.3, -0.2, 0.1, 0.8)])
def test_limited_torque_and_energy(reference: tuple[float, ...]) -> None:
    """The torque is shortened to its limit; the energy has it as its gradient, without a jump."""
    model = arm(vt.BallSpring("shoulder", 5.0, reference, effort_limit=4.0)).compile()
    R0 = Rotation.from_quat(reference)
    rng, seen = np.random.default_rng(1), set()
    for _ in range(20):
        q = model.integrate(model.neutral(), 0.9 * rng.normal(size=model.nv))
        w = (R0.inv() * Rotation.from_quat(q[1:])).as_rotvec()
        size, e = np.linalg.norm(w), 1e-6
        torque = -5.0 * w * min(1.0, 4.0 / (5.0 * size))
        energy = 2.5 * size**2 if size < 0.8 else 2.5 * 0.8**2 + 4.0 * (size - 0.8)
        assert model.potential_energy(q) == pytest.approx(energy, abs=1e-12)
        ends = [[model.potential_energy(model.integrate(q, s * e * x)) for s in (1, -1)] for x in np.eye(model.nv)]
        assert np.array([(up - down) / (2 * e) for up, down in ends])[1:] == pytest.approx(-torque, abs=1e-7)
        found = model.crba(q) @ model.forward_dynamics(q, np.zeros(model.nv)).acceleration
        assert found == pytest.approx([0.0, *torque], abs=1e-10) and np.linalg.norm(found[1:]) < 4.0 + 1e-10
        seen.add(bool(size < 0.8))
    assert seen == {True, False}


def test_a_wide_limit_changes_no_bit() -> None:
    springs = vt.BallSpring("shoulder", 4.0), vt.BallSpring("shoulder", 4.0, effort_limit=100.0)
    runs = [vt.simulate(arm(spring, gravity=9.81).compile(), v0=[0.5, 1.0, -1.0, 2.0], duration=0.5, dt=0.01)
            for spring in springs]  # fmt: skip
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].energy, runs[1].energy)


def test_a_limited_oscillation_of_a_sphere() -> None:
    """A ball falls at a constant torque M to the angle M/k, passes its rest as on a spring, and rises as it fell."""
    tree = vt.Tree("sphere", gravity=(0, 0, 0))
    tree.world.add(vt.ball("joint"), vt.body("sphere", 1.0, (0.5, 0.5, 0.5)))
    tree.load(vt.BallSpring("joint", 8.0, effort_limit=2.0))
    model = tree.compile()
    start = np.array([2.0, -1.0, 0.5])
    angle, edge, inertia = np.linalg.norm(start), 0.25, 0.5
    fall = np.sqrt(2 * inertia * (angle - edge) / 2.0)  # at a constant torque, to the angle from which it is a spring
    speed, omega = 2.0 / inertia * fall, np.sqrt(8.0 / inertia)
    t = fall + np.arctan(omega * edge / speed) / omega  # then it passes its rest
    run = vt.simulate(model, model.integrate(model.neutral(), start), duration=2 * t, dt=t / 2000)
    assert Rotation.from_quat(run.q[-1]).as_rotvec() == pytest.approx(-start, abs=1e-5)
    assert np.abs(Rotation.from_quat(run.q[2000]).as_rotvec()).max() < 1e-5
    assert np.ptp(run.energy) < 1e-4 * run.energy[0]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives_of_limited_steps(method: str) -> None:
    spring = vt.BallSpring("shoulder", 9.0, (0.2, 0.1, 0, 0.9), effort_limit=3.0)
    model = arm(spring, gravity=9.81, damping=0.1).compile()
    q = model.integrate(model.neutral(), [0.3, 0.9, -0.5, 1.2])
    found, expected, run = compared(model, q, np.array([0.5, 1.0, -1.0, 2.0]), 0.01, method, 3, 1e-3)
    turned = (Rotation.from_quat((0.2, 0.1, 0, 0.9)).inv() * Rotation.from_quat(run.q[:, 1:])).magnitude()
    assert turned.min() > 0.4  # where the limit acts
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_a_weak_servo_sags_and_a_strong_one_holds(method: str) -> None:
    """A servo whose limit is above the moment of the weight comes to its target; a weaker one falls."""
    weight = 9.81 * 0.4  # at the end of the horizontal arm of 0.4 m
    for limit, holds in ((1.3 * weight, True), (0.7 * weight, False)):
        tree = vt.Tree("servo", gravity=(0, 0, -9.81))
        tree.world.add(vt.ball("shoulder", damping=2.0), vt.tx(0.4), vt.body("arm", 1.0, (0.03, 0.02, 0.01)))
        tree.load(vt.BallSpring("shoulder", 500.0, ("x", "y", "z"), effort_limit=limit))
        run = vt.simulate(tree.compile(), duration=4.0, dt=5e-3, method=method,
                          control=vt.Control(inputs={"x": 0.0, "y": 0.2, "z": 0.3}))  # fmt: skip
        away = Rotation.from_quat(run.q[-1]).inv() * Rotation.from_rotvec([0, 0.2, 0.3])
        assert away.magnitude() < 0.02 if holds else away.magnitude() > 0.3


def test_wrong_springs_and_texts() -> None:
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(vt.ModelError, match="must be positive"):
            vt.BallSpring("shoulder", 1.0, effort_limit=wrong)
    with pytest.raises(vt.ModelError, match="zero or more"):
        vt.BallSpring("shoulder", -1.0)
    with pytest.raises(vt.ModelError, match=r"quaternion \(x, y, z, w\), or the names of three inputs"):
        vt.BallSpring("shoulder", 1.0, (0, 0, 1))
    with pytest.raises(vt.ModelError, match="take a JointSpring"):
        arm(vt.BallSpring("hinge", 1.0)).compile()
    for spring in (vt.BallSpring("shoulder", 2.0, (0, 0, 0.6, 0.8)), vt.BallSpring("shoulder", 2.0, ("a", "b", "c")),
                   vt.BallSpring("shoulder", 2.0, ("a", "b", "c"), 3.0)):
        assert vt.read_sexpr(vt.write_sexpr(arm(spring))).loads == [spring]
