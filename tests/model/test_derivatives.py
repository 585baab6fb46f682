"""Derivatives of frames and of the Lagrangian: differences of the one-lower quantity, and identities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import build_flat, pendulum_flat, random_flat, random_rotation, random_state

import vitree as vt
from vitree._core import lanes, scalar
from vitree.mechanism.flat import KINDS

ONE = ("revolute", "prismatic", "helical")
STEP = 1e-4


def cases():
    """Models of one-coordinate joints with a state each: random trees, and expanded ball and free joints."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=7, kinds=ONE, massless=seed % 2 == 1)
        yield pytest.param(vt.Model(flat), *random_state(flat, rng), id=f"tree{seed}")
    for seed in range(3):
        rng = np.random.default_rng(70 + seed)
        base = ("fixed", "free")[seed % 2]
        flat = random_flat(rng, nbody=4, kinds=KINDS, base=base)
        model = vt.Model(flat).euler()
        yield pytest.param(model, *model.from_native(*random_state(flat, rng, speed=0.5)), id=f"expanded{seed}")


CASES = pytest.mark.parametrize(("model", "q", "v"), list(cases()))


def slopes(function, x):
    """Derivatives (n, ...) of an array by x (n,), and the error that differences of this step have.

    The five-point rule is off by STEP^4 times fifth derivatives, which is below its round-off: some
    units in the last place of the values, divided by the step.
    """
    rows, largest = [], 1.0
    for d in STEP * np.eye(len(x)):
        values = [function(x + s * d) for s in (-2, -1, 1, 2)]
        rows.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP))
        largest = max(largest, *(np.abs(f).max() for f in values))
    return np.array(rows), 50 * np.finfo(float).eps * largest / STEP


def assert_slopes(derivative, function, x):
    expected, error = slopes(function, x)
    assert derivative.shape == expected.shape
    assert np.abs(derivative - expected).max() < error


def assert_symmetric(second):
    assert np.array_equal(second, np.swapaxes(second, 0, 1))


# ---- frames -------------------------------------------------------------------------------------------


@CASES
def test_poses(model, q, v):
    for name in model.frame_names:
        g, dg, ddg = model.pose_derivatives(name, q)
        assert np.array_equal(g, model.frame_pose(name, q))
        assert_slopes(dg, lambda x, name=name: model.frame_pose(name, x), q)
        assert_slopes(ddg, lambda x, name=name: model.pose_derivatives(name, x)[1], q)
        assert_symmetric(ddg)


@CASES
def test_positions(model, q, v):
    for name in model.frame_names:
        p, dp, ddp = model.position_derivatives(name, q)
        assert np.array_equal(p, model.frame_pose(name, q)[:3, 3])
        assert_slopes(dp, lambda x, name=name: model.frame_pose(name, x)[:3, 3], q)
        assert_slopes(ddp, lambda x, name=name: model.position_derivatives(name, x)[1], q)
        assert np.allclose(dp.T, model.frame_jacobian(name, q)[3:], atol=1e-13 * max(1.0, np.abs(dp).max()))


@CASES
def test_twists(model, q, v):
    for name in model.frame_names:
        d = model.twist_derivatives(name, q, v)
        V = model.frame_jacobian(name, q, axes="local") @ v
        assert np.allclose(d.twist, V, rtol=0, atol=1e-14 * max(1.0, np.abs(V).max()) * model.nv)
        assert_slopes(d.by_q, lambda x, name=name: model.twist_derivatives(name, x, v).twist, q)
        assert_slopes(d.by_v, lambda x, name=name: model.twist_derivatives(name, q, x).twist, v)
        assert_slopes(d.by_qq, lambda x, name=name: model.twist_derivatives(name, x, v).by_q, q)
        assert_slopes(d.by_vq, lambda x, name=name: model.twist_derivatives(name, q, x).by_q, v)
        assert_slopes(np.swapaxes(d.by_vq, 0, 1), lambda x, name=name: model.twist_derivatives(name, x, v).by_v, q)
        assert_symmetric(d.by_qq)


@CASES
def test_the_twist_is_that_of_the_moving_pose(model, q, v):
    for name in model.frame_names:
        g, dg, _ = model.pose_derivatives(name, q)
        moving = np.linalg.inv(g) @ np.einsum("i,iab->ab", v, dg)
        w, u = np.split(model.twist_derivatives(name, q, v).twist, 2)
        expected = np.zeros((4, 4))
        expected[:3, :3], expected[:3, 3] = np.cross(np.eye(3), w), u
        assert np.allclose(moving, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


def with_a_ball():
    """A hinge that carries a ball joint, which carries a hinge; and a slide beside them."""
    rng = np.random.default_rng(4)
    n = 4
    E = [random_rotation(rng) for _ in range(n)]
    flat = build_flat("with a ball", (0, 0, -9.81), [0, 3, 0, 1], [-1, 0, 1, -1], E, rng.normal(size=(n, 3)),
                      [0.0] * n, [1.0] * n, rng.normal(size=(n, 3)), [np.eye(3)] * n, [0.0] * 6)  # fmt: skip
    return vt.Model(flat), *random_state(flat, rng)


@pytest.mark.parametrize("frame", ["link1", "link2"])
def test_frames_beyond_a_ball_joint_are_refused(frame):
    model, q, v = with_a_ball()
    for call in (
        lambda: model.pose_derivatives(frame, q),
        lambda: model.position_derivatives(frame, q),
        lambda: model.twist_derivatives(frame, q, v),
    ):
        with pytest.raises(vt.InputError, match=rf'"{frame}".*ball joint "joint1".*model\.euler\(\)'):
            call()


@pytest.mark.parametrize(("frame", "coordinate"), [("link0", 0), ("link3", 5)])
def test_a_ball_joint_elsewhere_does_no_harm(frame, coordinate):
    model, q, v = with_a_ball()
    others = np.arange(model.nv) != coordinate
    d = model.twist_derivatives(frame, q, v)
    assert np.allclose(d.twist, model.frame_jacobian(frame, q, axes="local") @ v, atol=1e-14)
    assert_slopes(
        model.position_derivatives(frame, q)[2][coordinate, coordinate][None],
        lambda x: model.position_derivatives(frame, model.integrate(q, x * ~others))[1][coordinate],
        np.zeros(1),
    )
    for x in (model.pose_derivatives(frame, q)[1], d.by_q, d.by_v):
        assert not x[others].any()
    for x in (model.pose_derivatives(frame, q)[2], d.by_qq, d.by_vq):
        assert not x[others].any() and not x[:, others].any()


def test_a_frame_of_the_world_stands_still():
    model, q, v = next(iter(cases())).values
    g, dg, ddg = model.pose_derivatives("frame0", q)
    d = model.twist_derivatives("frame0", q, v)
    assert g.shape == (4, 4)
    for x in (dg, ddg, d.twist, d.by_q, d.by_v, d.by_qq, d.by_vq):
        assert not x.any()


def test_unknown_frames_are_named():
    model, q, v = next(iter(cases())).values
    with pytest.raises(vt.UnknownNameError, match='did you mean "link1"'):
        model.twist_derivatives("lnk1", q, v)
    with pytest.raises(vt.InputError, match="shape"):
        model.twist_derivatives("link1", q, v[:-1])


# ---- the Lagrangian -------------------------------------------------------------------------------------


def lagrangian(model, q, v, **more):
    """L, its first derivatives by q and v, and its second ones by (q, q), (v, q) and (v, v)."""
    return scalar().lagrangian_derivatives(model.core, q, v, **more)


@CASES
def test_the_lagrangian_and_what_else_is_known_of_it(model, q, v):
    L, _, L_v, _, _, L_vv = lagrangian(model, q, v)
    T, P = model.kinetic_energy(q, v), model.potential_energy(q)
    assert abs(L - (T - P)) < 1e-13 * (T + abs(P))
    p, M = model.generalized_momentum(q, v), model.crba(q)
    assert np.abs(L_v - p).max() < 1e-13 * np.abs(p).max()
    assert np.abs(L_vv - M).max() < 1e-13 * np.abs(M).max()


@CASES
def test_first_derivatives(model, q, v):
    _, L_q, L_v, _, _, _ = lagrangian(model, q, v)
    assert_slopes(L_q, lambda x: np.array(lagrangian(model, x, v)[0]), q)
    assert_slopes(L_v, lambda x: np.array(lagrangian(model, q, x)[0]), v)


@CASES
def test_second_derivatives(model, q, v):
    _, _, _, L_qq, L_vq, L_vv = lagrangian(model, q, v)
    assert_slopes(L_qq, lambda x: lagrangian(model, x, v)[1], q)
    assert_slopes(L_vq, lambda x: lagrangian(model, q, x)[1], v)
    assert_slopes(L_vq.T, lambda x: lagrangian(model, x, v)[2], q)
    assert_slopes(L_vv, lambda x: lagrangian(model, q, x)[2], v)
    assert_symmetric(L_qq)
    assert_symmetric(L_vv)


@CASES
def test_the_equations_of_motion(model, q, v):
    """L_vv a + L_vq v - L_q is the joint force of inverse dynamics."""
    a = np.random.default_rng(0).normal(size=model.nv)
    _, L_q, _, _, L_vq, L_vv = lagrangian(model, q, v)
    tau = model.rnea(q, v, a)
    parts = np.abs(L_vv @ a).max() + np.abs(L_vq @ v).max() + np.abs(L_q).max()
    assert np.abs(L_vv @ a + L_vq @ v - L_q - tau).max() < 1e-13 * parts


@CASES
def test_first_derivatives_are_those_of_the_recursive_sweep(model, q, v):
    # with alpha = 1 and h = 1 a step of the midpoint integrator from q - v by v, without momentum at
    # its start, has the residual L_v and ends with the momentum L_q
    out, zero = np.empty((1, 3 * model.nv)), np.zeros((1, model.nv))
    scalar().batch_midpoint(model.core, (1.0, 1.0), (q - v)[None], zero, v[None], zero, out)
    residual, _, end = np.split(out[0], 3)
    _, L_q, L_v, _, _, _ = lagrangian(model, q, v)
    scale = max(np.abs(L_q).max(), np.abs(L_v).max())
    assert np.abs(residual - L_v).max() < 1e-13 * scale
    assert np.abs(end - L_q).max() < 1e-13 * scale


@CASES
def test_without_caching_it_is_the_same(model, q, v):
    for with_tables, anew in zip(lagrangian(model, q, v), lagrangian(model, q, v, caching=False), strict=True):
        assert np.abs(with_tables - anew).max() <= 1e-12 * np.abs(with_tables).max()


@pytest.mark.skipif(lanes(1) is scalar(), reason="one build of one lane only")
@CASES
def test_both_builds_of_one_lane_give_the_same_bits(model, q, v):
    for a, b in zip(lagrangian(model, q, v), lanes(1).lagrangian_derivatives(model.core, q, v), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_two_pendulums_by_hand():
    """Two point masses on rods of one metre: L = v1^2 + (v1 + v2)^2/2 + cos(q2) v1 (v1 + v2) + 2 g cos q1 + ..."""
    (a, b), (x, y), g = (0.4, -0.7), (1.3, 0.6), 9.81
    model = vt.Model(pendulum_flat(2, inertia=0.0))
    L, L_q, L_v, L_qq, L_vq, L_vv = lagrangian(model, np.array([a, b]), np.array([x, y]))
    s, c, fall = np.sin(b), np.cos(b), x * (x + y)
    assert np.isclose(L, x**2 + (x + y) ** 2 / 2 + c * fall + g * (2 * np.cos(a) + np.cos(a + b)))
    assert np.allclose(L_q, [-g * (2 * np.sin(a) + np.sin(a + b)), -s * fall - g * np.sin(a + b)])
    assert np.allclose(L_v, [3 * x + y + c * (2 * x + y), x + y + c * x])
    far = -g * np.cos(a + b)
    assert np.allclose(L_qq, [[far - 2 * g * np.cos(a), far], [far, far - c * fall]])
    assert np.allclose(L_vq, [[0, -s * (2 * x + y)], [0, -s * x]])
    assert np.allclose(L_vv, [[3 + 2 * c, 1 + c], [1 + c, 1]])


def test_the_kernel_refuses_what_it_cannot_do():
    model, q, v = with_a_ball()
    with pytest.raises(ValueError, match="one-coordinate"):
        lagrangian(model, q, v)
    model, q, v = next(iter(cases())).values
    with pytest.raises(ValueError, match=f"{model.nv} entries"):
        lagrangian(model, q, v[:-1])


# ---- the Lagrangian with loads --------------------------------------------------------------------------


class Quartic(vt.Potential):
    """A potential of one's own, with its derivatives by differences."""

    def energy(self, model, q):
        return 0.1 * float(np.sum(q**4))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_lagrangian_has_the_potentials_of_loads(seed, own):
    rng = np.random.default_rng(200 + seed)
    flat = random_flat(rng, nbody=6, kinds=ONE)
    names, joints = flat.frame_names, [joint.name for joint in flat.joints]
    conservative = (
        vt.Spring(names[-1], "world", 7.0, 0.4), vt.Spring(names[0], names[4], 3.0),
        vt.JointSpring(joints[1], 2.0, 0.3),
        vt.Attraction(names[2], names[5], 2.0, 3.0, constant=0.5), vt.Gravity(flat.link_names[1:4], (1.0, -2.0, 0.5)),
        vt.NonlinearSpring(joints[3], np.linspace(-4, 4, 9), lambda x: -x - x**3), *([Quartic()] if own else []),
    )  # fmt: skip
    # forces without a potential are no part of it
    others = (
        vt.Damper(names[1], names[5], 3.0), vt.Wrench(names[3], force=(1.0, "u", 0.0)), vt.JointForce(joints[0], 2.0)
    )  # fmt: skip
    model = vt.Model(replace(flat, loads=conservative))
    q, v = random_state(flat, rng)
    d = model.lagrangian_derivatives(q, v)
    assert d.value == pytest.approx(model.lagrangian(q, v), rel=1e-13)
    assert_slopes(d.by_q, lambda x: model.lagrangian(x, v), q)
    assert_slopes(d.by_v, lambda x: model.lagrangian(q, x), v)
    assert_slopes(d.by_vv, lambda x: model.lagrangian_derivatives(q, x).by_v, v)
    assert_slopes(d.by_vq.T, lambda x: model.lagrangian_derivatives(x, v).by_v, q)
    if own:
        # second derivatives of Quartic are differences themselves
        assert np.allclose(np.diag(d.by_qq - vt.Model(replace(flat, loads=conservative[:-1]))
                                   .lagrangian_derivatives(q, v).by_qq), -1.2 * q**2, atol=1e-4)  # fmt: skip
    else:
        assert_slopes(d.by_qq, lambda x: model.lagrangian_derivatives(x, v).by_q, q)
        mixed = vt.Model(replace(flat, loads=(*others, *conservative))).lagrangian_derivatives(q, v)
        assert all(np.array_equal(a, b) for a, b in zip(d, mixed, strict=True))
        # Euler-Lagrange: what is left is the force that the loads without inputs must meet
        a = model.forward_dynamics(q, v).acceleration
        assert np.abs(d.by_vv @ a + d.by_vq @ v - d.by_q).max() < 1e-9 * max(1.0, np.abs(d.by_q).max())
    with pytest.raises(vt.InputError, match="euler"):
        balls = vt.Model(random_flat(rng, nbody=3, kinds=("ball",)))
        balls.lagrangian_derivatives(balls.neutral(), balls.zero_velocity())
