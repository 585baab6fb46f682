"""Limits of ball joints (swing and twist) and of velocities, exact at nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from step_differences import compared

import vitree as vt

G = 9.81
AXES = [(0.0, 0.0, 1.0), (0.6, 0.0, -0.8)]


def arm(*limits: object, mount: float = 0.0, gravity: float = G) -> vt.Tree:
    """An arm on a ball joint, behind a hinge that is turned."""
    tree = vt.Tree("arm", gravity=(0, 0, -gravity))
    upper = tree.world.add(vt.rx(mount), vt.ry("hinge", damping=0.1), vt.body("base", 2.0, (0.1, 0.1, 0.1)))
    upper.add(vt.fixed(xyz=(0, 0, -0.2), rpy=(0.2, 0.1, 0.3)), vt.ball("shoulder"), vt.tz(-0.4),
              vt.body("arm", 1.0, (0.03, 0.02, 0.01)))  # fmt: skip
    tree.constrain(*limits)
    return tree


def swing_and_twist(q: np.ndarray, axis: np.ndarray) -> tuple[float, float]:
    """An oracle by SciPy: the angle of the axis, and the rest after the least rotation of the axis is taken away."""
    R = Rotation.from_quat(q)
    moved = R.apply(axis)
    swing = np.arccos(np.clip(axis @ moved, -1, 1))
    n = np.cross(axis, moved)
    least = Rotation.from_rotvec(n / np.linalg.norm(n) * swing) if np.linalg.norm(n) > 0 else Rotation.identity()
    return float(swing), float((least.inv() * R).as_rotvec() @ axis)


@pytest.mark.parametrize("axis", AXES)
def test_gaps_and_rows(axis: tuple[float, float, float]) -> None:
    """Gaps against the oracle, and rows against differences, at random rotations and both signs of quaternions."""
    from vitree.model.contacts import unilateral_gaps

    model = arm(vt.BallLimit("shoulder", swing=1.0, twist=(-0.5, 0.7), axis=axis)).compile()
    rng = np.random.default_rng(2)
    for _ in range(10):
        q = model.integrate(model.neutral(), 2 * rng.normal(size=model.nv))
        q[1:] *= rng.choice([-1, 1])
        swing, twist = swing_and_twist(q[1:], np.array(axis))
        names, gaps, rows = unilateral_gaps(model, q)
        assert gaps == pytest.approx([1.0 - swing, twist + 0.5, 0.7 - twist], abs=1e-12)
        assert names == ['swing limit of "shoulder"', 'twist limit of "shoulder"', 'twist limit of "shoulder"']
        e = 1e-6
        for k, unit in enumerate(np.eye(model.nv)):
            up, down = (unilateral_gaps(model, model.integrate(q, s * e * unit))[1] for s in (1, -1))
            assert rows[:, k] == pytest.approx((up - down) / (2 * e), abs=1e-7)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "implicit-euler", "rk4"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_limits_hold_at_nodes(method: str, axis: tuple[float, float, float], restitution: float) -> None:
    """An arm is thrown against its limits, rests there, and never passes them at a node."""
    limit = vt.BallLimit("shoulder", swing=0.9, twist=(-0.3, 0.6), axis=axis, restitution=restitution)
    model = arm(limit, mount=0.5).compile()
    run = vt.simulate(model, v0=[0.5, 3.0, -2.0, 6.0], duration=2.0, dt=4e-3, method=method)
    found = np.array([swing_and_twist(q[1:], np.array(axis)) for q in run.q])
    assert found[:, 0].max() < 0.9 + 1e-10
    assert found[:, 1].min() > -0.3 - 1e-10 and found[:, 1].max() < 0.6 + 1e-10
    assert {"swing limit", "twist limit"} <= set(run.contacts.b)
    sign = run.contacts.force[:, 0]
    assert (sign[[b == "swing limit" for b in run.contacts.b]] > 0).all()
    assert np.diff(run.energy).max() < 2e-2


def test_twist_limit_is_that_of_a_hinge() -> None:
    """About its own axis alone the ball joint is a hinge with limits, to rounding errors."""
    tree = vt.Tree("ball", gravity=(0, 0, -G))
    tree.world.add(vt.rx(1.2), vt.ball("joint"), vt.tx(0.3), vt.body("arm", 1.0, (0.02, 0.02, 0.03)))
    tree.constrain(vt.BallLimit("joint", swing=1e-3, twist=(-0.4, 0.7)))
    hinge = vt.Tree("hinge", gravity=(0, 0, -G))
    turn = vt.rz("joint", lower=-0.4, upper=0.7)
    hinge.world.add(vt.rx(1.2), turn, vt.tx(0.3), vt.body("arm", 1.0, (0.02, 0.02, 0.03)))
    hinge.limits = "enforce"
    a = vt.simulate(tree.compile(), v0=[0, 0, 2.0], duration=1.5, dt=2e-3)
    b = vt.simulate(hinge.compile(), v0=[2.0], duration=1.5, dt=2e-3)
    twist = np.array([swing_and_twist(q, np.array([0, 0, 1.0]))[1] for q in a.q])
    assert np.abs(twist - b.q[:, 0]).max() < 5e-3
    assert twist.max() < 0.7 + 1e-10


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives(method: str) -> None:
    """Derivatives of steps at both limits, against differences."""
    model = arm(vt.BallLimit("shoulder", swing=0.9, twist=(-0.3, 0.6)), mount=0.5).compile()
    q, v = model.neutral(), np.array([0.5, 3.0, -2.0, 6.0])
    run = vt.simulate(model, q, v, duration=1.0, dt=4e-3, method=method)
    records = run.contacts.record.tolist()
    both = [k for k in sorted(set(records)) if records.count(k) == 2 and records.count(k - 1) == 2]
    one = [k for k in sorted(set(records)) if records.count(k) == 1 and records.count(k - 1) == 1]
    for k in [*both[2:3], *one[2:3]]:
        found, expected, _ = compared(model, q, v, 4e-3, method, k - 1, 1e-5)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert both or one


def test_forces_of_a_state() -> None:
    """An arm that hangs on its swing limit: the torque there holds it, and inverse dynamics needs no other."""
    tree = vt.Tree("arm", gravity=(0, 0, -G))
    tree.world.add(vt.ry(np.pi / 2 - 0.5), vt.ball("joint"), vt.tz(-0.4), vt.body("arm", 1.0, (0.03, 0.03, 0.01)))
    tree.constrain(vt.BallLimit("joint", swing=0.5))
    model = tree.compile()
    q = np.array([0, np.sin(-0.25), 0, np.cos(0.25)])
    found = model.contact_forces(q, np.zeros(3))
    assert found.a == ("joint",) and found.b == ("swing limit",)
    assert found.force[0, 0] == pytest.approx(0.4 * G * np.cos(1.0), rel=1e-10)
    assert model.forward_dynamics(q, np.zeros(3)).acceleration == pytest.approx(np.zeros(3), abs=1e-10)
    run = vt.simulate(model, q, duration=0.5, dt=5e-3)
    assert np.abs(run.q - q).max() < 1e-10
    assert run.contacts.force[1:, 0] == pytest.approx(0.4 * G * np.cos(1.0), rel=1e-8)


def test_wrong_limits() -> None:
    """Errors name the joint, the choices and the remedy."""
    with pytest.raises(vt.ModelError, match="limits nothing"):
        vt.BallLimit("shoulder")
    with pytest.raises(vt.ModelError, match="inverted"):
        vt.BallLimit("shoulder", twist=(0.5, 0.1))
    with pytest.raises(vt.ModelError, match="at most pi"):
        vt.BallLimit("shoulder", swing=4.0)
    with pytest.raises(vt.ModelError, match="revolute joint; give lower= and upper="):
        arm(vt.BallLimit("hinge", swing=1.0)).compile()
    with pytest.raises(vt.UnknownNameError, match="shoulder"):
        arm(vt.BallLimit("sholder", swing=1.0)).compile()
    model = arm(vt.BallLimit("shoulder", swing=0.5)).compile()
    q = model.integrate(model.neutral(), [0, 0.8, 0, 0])
    with pytest.raises(vt.InputError, match=r'swing limit of "shoulder" is passed by 0\.3'):
        vt.simulate(model, q, duration=0.1, dt=0.01)
    assert swing_and_twist(vt.feasible_start(model, q).q[1:], np.array([0, 0, 1.0]))[0] < 0.5 + 1e-9
    tree = arm(vt.BallLimit("shoulder", swing=0.5, twist=(-1, 1), axis=(0, 1, 0), restitution=0.1))
    tree.velocity_limits = "enforce"
    again = vt.read_sexpr(vt.write_sexpr(tree))
    assert again.unilateral == tree.unilateral and again.velocity_limits == "enforce"


# ---- velocities ----------------------------------------------------------------------------------------------------


def slider(velocity: float = 2.0, **more: object) -> vt.Tree:
    tree = vt.Tree("slider", gravity=(0, 0, -G))
    tree.world.add(vt.tz("slide", velocity=velocity, **more), vt.body("weight", 3.0))
    tree.velocity_limits = "enforce"
    return tree


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "implicit-euler", "semi-implicit-euler", "rk4"])
def test_a_fall_at_most_so_fast(method: str) -> None:
    """A weight falls freely, then at its limit of velocity, where what brakes it is its weight."""
    run = vt.simulate(slider().compile(), duration=0.5, dt=5e-3, method=method)
    assert np.abs(np.diff(run.q[:, 0]) / 5e-3).max() < 2.0 + 1e-10
    acted = run.contacts.record
    assert np.abs(run.v[acted]).max() < 2.0 + 1e-10
    assert np.abs(run.v).max() < 2.0 + 0.5 * G * 5e-3 + 1e-9 and len(acted) == len(run) - acted[0]
    assert run.v[-1] == pytest.approx([-2.0], abs=1e-12)
    assert run.contacts.force[-1, 0] == pytest.approx(3.0 * G, rel=1e-9)
    assert set(run.contacts.b) == {"velocity limit"}
    assert run.contacts.record[0] == pytest.approx(2.0 / G / 5e-3, abs=1.5)


def test_both_directions_and_several_joints() -> None:
    """Driven fast to and fro, all joints keep their limits, at nodes and over steps."""
    tree = vt.Tree("arm", gravity=(0, 0, -G))
    upper = tree.world.add(vt.ry("a", velocity=1.5), vt.tz(-0.5), vt.body("upper", 1.0, (0.02, 0.02, 0.01)))
    upper.add(vt.rx("b", velocity=2.5, lower=-0.4, upper=0.4), vt.tz(-0.5), vt.body("lower", 1.0, (0.02, 0.02, 0.01)))
    tree.limits = tree.velocity_limits = "enforce"
    model = tree.compile()
    run = vt.simulate(model, duration=3.0, dt=4e-3, control=lambda t, q, v: [30 * np.sin(4 * t), 15 * np.cos(7 * t)])
    limit = np.array([1.5, 2.5])
    assert (np.abs(np.diff(run.q, axis=0)) / 4e-3 < limit + 1e-9).all()
    for name, at in (("a", 0), ("b", 1)):
        acted = [r for r, a, b in zip(run.contacts.record, run.contacts.a, run.contacts.b, strict=True)
                 if (a, b) == (name, "velocity limit")]  # fmt: skip
        assert len(acted) > 20 and np.abs(run.v[acted, at]).max() < limit[at] + 1e-9
    assert np.abs(run.q[:, 1]).max() < 0.4 + 1e-11
    assert set(run.contacts.b) == {"limit", "velocity limit"}
    assert (np.sign(run.contacts.force[:, 0]) != 0).all()
    tree.velocity_limits = "report"
    wild = vt.simulate(tree.compile(), duration=3.0, dt=4e-3,
                       control=lambda t, q, v: [30 * np.sin(4 * t), 15 * np.cos(7 * t)])  # fmt: skip
    assert np.abs(wild.v).max() > 3.0 and any("velocity" in str(w) or "speed" in str(w) for w in wild.warnings)


def test_power_of_a_velocity_limit() -> None:
    """Its impulses take energy away, and never give any."""
    run = vt.simulate(slider(1.0).compile(), v0=[0.9], duration=1.0, dt=2e-3)
    assert np.diff(run.energy).max() < 1e-9


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives_at_a_velocity_limit(method: str) -> None:
    """At the limit the next configuration follows the one before."""
    model = slider().compile()
    found, expected, run = compared(model, np.zeros(1), np.array([-1.95]), 5e-3, method, 6, 1e-4)
    assert (run.contacts.record == 7).any()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_acceleration_at_a_velocity_limit() -> None:
    """At the limit a joint does not accelerate further, and may slow down."""
    model = slider().compile()
    assert model.forward_dynamics([0.0], [-2.0]).acceleration == pytest.approx([0.0], abs=1e-12)
    assert model.forward_dynamics([0.0], [-2.0], [40.0]).acceleration == pytest.approx([40.0 / 3 - G])
    assert model.forward_dynamics([0.0], [-1.9]).acceleration == pytest.approx([-G])
