"""The oracle itself: against stored vectors, Pinocchio, and differences of the action."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import reference as ref
from random_models import chain_flat, pendulum_flat, random_flat, random_state, with_rotors
from reference_cases import drnea_cases, lie_vectors, midpoint_cases, pinocchio_model

from vitree.mechanism.flat import FREE, KINDS

EPS = float(np.finfo(np.longdouble).eps)
# sixth-order differences in the widest float: truncation and rounding balance at eps^(6/7)
DIFFERENCES = 100 * EPS ** (6 / 7)


def relative(a, b):
    """Largest error of a, as a fraction of the largest entry of b."""
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


@pytest.fixture(params=range(4))
def tree(request):
    """A random tree and its generator: fixed and floating, with and without massless bodies."""
    seed = request.param
    rng = np.random.default_rng(seed)
    base = "free" if seed % 2 else "fixed"
    flat = random_flat(rng, 5, base=base, massless=seed % 3 == 0, damping=True)
    return with_rotors(flat) if seed > 1 else flat, rng


# ------------------------------------------------------------------ stored vectors


@pytest.mark.parametrize("stored", lie_vectors(), ids=range(len(lie_vectors())))
def test_lie_maps_match_the_stored_vectors(stored):
    x, F = np.array(stored["x"]), np.array(stored["P"])
    a, p = ref.displacement_exp(x)
    assert relative(np.array([a[3], *a[:3], *p]), np.array(stored["exp_quat_wxyz_p"])) < 1e-15
    assert relative(ref.log_se3(ref.exp_se3(x)), np.array(stored["log"])) < 1e-14
    assert relative(ref.dexp(x), np.array(stored["dexp"])) < 1e-15
    assert relative(ref.dlog(x), np.array(stored["dlog"])) < 1e-15
    assert relative(ref.dlogT(x, F), np.array(stored["dlogT_P"])) < 2e-15
    assert relative(ref.ddlogT(x, F), np.array(stored["ddlogT_P"])) < 2e-15


@pytest.mark.parametrize("case", drnea_cases(), ids=lambda c: c.flat.name)
def test_discrete_newton_euler_matches_the_stored_vectors(case):
    flat, (q0, q1, q2), h = case.flat, case.q, case.data["h"]
    d01, d12 = ref.difference(flat, q0, q1), ref.difference(flat, q1, q2)
    assert relative(d01, case.v("d01")) < 3e-14
    assert relative(d12, case.v("d12")) < 3e-14
    moving = case.stored_body >= 0
    for q, d, name in ((q0, d01, "V01"), (q1, d12, "V12")):
        V = ref.average_twists(flat, q, d, h)
        assert relative(V[moving], case.twists(name)[moving]) < 3e-14
    f = ref.drnea(flat, q0, q1, q2, h)
    assert relative(f, case.v("f")) < 3e-14
    newton = ref.solve(ref.linear_time_jacobian(flat, q1, d12, h), -f)
    assert relative(newton, case.v("newton_dq")) < 1e-13
    assert relative(ref.solve(ref.crba(flat, q1), -h * f), case.v("riqn_dq")) < 1e-13


@pytest.mark.parametrize("case", midpoint_cases(), ids=lambda c: c.flat.name)
def test_midpoint_matches_the_stored_vectors(case):
    d = case.data
    step = (case.flat, case.q[0], case.v("x"), d["h"], d["alpha"], case.v("tau"))
    wrench = case.wrenches("body_wrench")
    D1, D2 = ref.midpoint_slots(*step, wrench)
    assert relative(D1, case.v("D1")) < 1e-14
    assert relative(D2, case.v("D2")) < 1e-14
    newton = ref.solve(ref.midpoint_jacobian(*step, wrench), case.v("rhs"))
    assert relative(newton, case.v("newton_e")) < 1e-13


# ------------------------------------------------------------------ identities


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.3, 1.0, 1.999, 2.001, 2.499, 2.501, 3.0])
def test_lie_maps_are_each_others_inverses_and_derivatives(angle):
    rng = np.random.default_rng(1)
    x = rng.normal(size=6).astype(np.longdouble)
    x[:3] *= angle / np.sqrt(x[:3] @ x[:3])
    F = rng.normal(size=6).astype(np.longdouble)
    assert relative(ref.log_se3(ref.exp_se3(x)), x) < 1e4 * EPS
    assert relative(ref.dexp(x) @ ref.dlog(x), np.eye(6)) < 1e3 * EPS
    assert relative(ref.dlog(-x), ref.dlog(x) @ ref.Ad(ref.exp_se3(x))) < 1e3 * EPS
    back = ref.inverse(ref.exp_se3(x))
    moved = ref.derivative(lambda e: ref.log_se3(ref.exp_se3(x + e) @ back), 6)
    assert relative(moved, ref.dexp(x)) < DIFFERENCES
    assert relative(ref.derivative(lambda e: ref.dlogT(x + e, F), 6), ref.ddlogT(x, F)) < 1e-14
    assert relative(ref.Pm(F) @ x, ref.ad(x).T @ F) < 10 * EPS


@pytest.mark.parametrize("coefficients", [ref.exp_coefficients, ref.log_coefficients])
def test_coefficients_lose_no_digits_at_any_angle(coefficients):
    for angle in [1e-5, 0.05, 0.3, 1.0, 1.99, 2.01, 2.49, 2.51, 3.0]:
        s = np.float64(angle) ** 2
        wide = coefficients(np.longdouble(s))
        np.testing.assert_allclose(coefficients(s), np.array(wide, float), rtol=1e-14)


def test_difference_undoes_integrate(tree):
    flat, rng = tree
    q, v = random_state(flat, rng)
    v *= 0.5
    assert relative(ref.difference(flat, q, ref.integrate(flat, q, v)), v) < 1e-14
    twice = ref.integrate(flat, ref.integrate(flat, q, 1e-6 * v), 1e-6 * v)
    assert relative(ref.compose_increments(flat, 1e-6 * v, 1e-6 * v), 2e-6 * v) < 1e-5
    assert relative(twice, ref.integrate(flat, q, 2e-6 * v)) < 1e-15


def test_jacobians_energy_and_inverse_dynamics_agree_with_each_other(tree):
    flat, rng = tree
    q, v = random_state(flat, rng)
    a = rng.normal(size=len(v))
    assert ref.kinetic_energy(flat, q, v) == pytest.approx(v @ ref.crba(flat, q) @ v / 2)
    tau = ref.rnea(flat, q, v, a)
    assert relative(ref.aba(flat, q, v, tau), a) < 1e-9
    nv = len(v)
    q = ref.normalised(flat, q.astype(np.longdouble))
    # gravity's joint forces are the slope of the potential
    slope = ref.derivative(lambda e: ref.potential_energy(flat, ref.integrate(flat, q, e)), nv)
    assert relative(ref.rnea(flat, q, 0 * v, 0 * v), slope) < DIFFERENCES
    # a Jacobian's columns are the twists of the frame
    for name in ("link4", "frame1"):
        back = ref.inverse(ref.frame_pose(flat, name, q))
        J = ref.derivative(
            lambda e, name=name, back=back: ref.log_se3(
                back @ ref.frame_pose(flat, name, ref.integrate(flat, q, e))
            ),
            nv,
        )
        assert relative(ref.frame_jacobian_local(flat, name, q), J) < DIFFERENCES


# ------------------------------------------------------------------ Pinocchio


def test_continuous_dynamics_agree_with_pinocchio(tree):
    flat, rng = tree
    pin = pytest.importorskip("pinocchio")
    model = pinocchio_model(flat)
    data = model.createData()
    q, v = random_state(flat, rng)
    a = rng.normal(size=len(v))
    pin.forwardKinematics(model, data, q, v)
    poses = np.array([data.oMi[i + 1].homogeneous for i in range(len(flat.kind))])
    assert relative(ref.body_poses(flat, q), poses) < 1e-13
    assert relative(ref.rnea(flat, q, v, a), pin.rnea(model, data, q, v, a)) < 1e-12
    # column j of M is the force of a unit acceleration: holds in any order of the bodies
    bias = pin.rnea(model, data, q, 0 * v, 0 * v)
    M = np.array([pin.rnea(model, data, q, 0 * v, e) - bias for e in np.eye(len(v))]).T
    assert relative(ref.crba(flat, q), M) < 1e-12
    assert ref.kinetic_energy(flat, q, v) == pytest.approx(
        pin.computeKineticEnergy(model, data, q, v), rel=1e-13
    )
    assert ref.potential_energy(flat, q) == pytest.approx(
        pin.computePotentialEnergy(model, data, q), rel=1e-12
    )
    com = pin.centerOfMass(model, data, q)
    assert relative(ref.center_of_mass(flat, q), com) < 1e-12
    # Pinocchio's momentum is (linear, angular) about the centre of mass
    h = pin.computeCentroidalMomentum(model, data, q, v)
    about_origin = np.concatenate([h.angular + np.cross(com, h.linear), h.linear])
    assert relative(ref.momentum(flat, q, v), about_origin) < 1e-12
    pin.computeJointJacobians(model, data, q)
    for name in flat.frame_names:
        f = model.getFrameId(name)
        placement = pin.updateFramePlacement(model, data, f).homogeneous
        assert relative(ref.frame_pose(flat, name, q), placement) < 1e-12
        for axes, mine in (
            (pin.LOCAL_WORLD_ALIGNED, ref.frame_jacobian),
            (pin.LOCAL, ref.frame_jacobian_local),
        ):
            J = pin.getFrameJacobian(model, data, f, axes)[[3, 4, 5, 0, 1, 2]]
            np.testing.assert_allclose(mine(flat, name, q), J, atol=1e-12)
    np.testing.assert_allclose(ref.integrate(flat, q, v), pin.integrate(model, q, v), atol=1e-13)
    q2, _ = random_state(flat, rng)
    np.testing.assert_allclose(
        ref.difference(flat, q, q2), pin.difference(model, q, q2), atol=1e-10
    )


# ------------------------------------------------------------------ the two discretisations


def test_slot_derivatives_are_those_of_the_action(tree):
    flat, rng = tree
    flat = replace(flat, damping=0 * flat.damping)
    q1, v = random_state(flat, rng)
    h = np.longdouble(0.02)
    q1 = ref.normalised(flat, q1.astype(np.longdouble))
    dq = h * v
    q2 = ref.integrate(flat, q1, dq)
    actions = [
        (lambda a, b: ref.linear_time_action(flat, a, b, h), ref.linear_time_slots),
        (lambda a, b: ref.linear_time_action(flat, a, b, h, "com"), _with_split),
        (lambda a, b: ref.midpoint_action(flat, a, b, h, 0.3), _with_alpha(0.3)),
        (lambda a, b: ref.midpoint_action(flat, a, b, h), ref.midpoint_slots),
    ]
    for action, slots in actions:
        by_differences = ref.slot_derivatives_by_differences(action, flat, q1, q2)
        for mine, theirs in zip(slots(flat, q1, dq, h), by_differences, strict=True):
            assert relative(mine, theirs) < DIFFERENCES


def _with_split(flat, q1, dq, h):
    return ref.linear_time_slots(flat, q1, dq, h, "com")


def _with_alpha(alpha):
    return lambda flat, q1, dq, h: ref.midpoint_slots(flat, q1, dq, h, alpha)


def test_newton_matrices_are_the_derivatives_of_the_residuals(tree):
    flat, rng = tree
    q1, v = random_state(flat, rng, speed=3.0)
    tau, wrench = rng.normal(size=len(v)), rng.normal(size=(len(flat.kind), 6))
    h = np.longdouble(0.02)
    q1 = ref.normalised(flat, q1.astype(np.longdouble))
    dq = h * v
    for kinetic in ("screw", "com"):
        J = ref.linear_time_jacobian(flat, q1, dq, h, kinetic)
        assert relative(J, ref.linear_time_jacobian_by_differences(flat, q1, dq, h, kinetic)) < DIFFERENCES
    for alpha in (0.3, 0.5):
        loads = (h, alpha, tau, wrench)
        J = ref.midpoint_jacobian(flat, q1, dq, *loads)
        differences = ref.derivative(
            lambda e, loads=loads: ref.midpoint_slots(flat, q1, dq + e, *loads)[0], len(v)
        )
        assert relative(J, differences) < DIFFERENCES


STEPS = [ref.linear_time_step, partial(ref.linear_time_step, kinetic="com"), ref.midpoint_step]


def _flow(flat, q, v, h, tau, wrench, substeps=8):
    """Continuous motion over h: classical Runge-Kutta in the chart of increments from q."""
    xi, dt = np.zeros_like(v), h / substeps

    def rates(xi, v):
        rate = np.concatenate(
            [ref.joint_dlog(flat, i, -xi[r]) @ v[r] for i, r in enumerate(ref.v_slices(flat))]
        )
        return rate, ref.acceleration(flat, ref.integrate(flat, q, xi), v, tau, wrench)

    for _ in range(substeps):
        a1, b1 = rates(xi, v)
        a2, b2 = rates(xi + dt / 2 * a1, v + dt / 2 * b1)
        a3, b3 = rates(xi + dt / 2 * a2, v + dt / 2 * b2)
        a4, b4 = rates(xi + dt * a3, v + dt * b3)
        xi = xi + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        v = v + dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    return ref.integrate(flat, q, xi), v


@pytest.mark.parametrize("step", STEPS)
def test_a_loaded_damped_step_has_a_local_error_of_third_order(step):
    rng = np.random.default_rng(3)
    flat = random_flat(rng, 3, kinds=("ball", "revolute"), base="free", damping=True)
    q, v = random_state(flat, rng)
    tau, wrench = rng.normal(size=len(v)), rng.normal(size=(3, 6))
    p = ref.crba(flat, q) @ v
    errors = []
    for h in (0.002, 0.001):
        q2, p2 = step(flat, q, p, h, tau=tau, wrench=wrench)
        q_true, v_true = _flow(flat, q, v, h, tau, wrench)
        v2 = ref.solve(ref.crba(flat, q2), p2)
        errors.append(np.linalg.norm([*ref.difference(flat, q_true, q2), *(v2 - v_true)]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(2))
def test_steps_solve_their_equations_go_back_and_keep_momentum(step, seed):
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, 5, base="free", massless=True, gravity=(0, 0, 0))
    q, v = random_state(flat, rng)
    q = ref.normalised(flat, q.astype(np.longdouble))
    p, h = ref.crba(flat, q) @ v, 0.01
    q2, p2 = step(flat, q, p, h)
    size = np.max(np.abs(p))
    # momentum about the world origin, of generalised momenta: that of v = M^-1 p
    before = ref.momentum(flat, q, v)
    after = ref.momentum(flat, q2, ref.solve(ref.crba(flat, q2), p2))
    assert relative(after, before) < 1e6 * EPS
    q3, p3 = step(flat, q2, p2, -h)
    assert np.max(np.abs(ref.difference(flat, q, q3))) < 1e6 * EPS
    assert np.max(np.abs(p3 - p)) < 1e6 * EPS * size
    # a double in is a double out, the same step rounded
    q4, p4 = step(flat, q.astype(float), p.astype(float), h)
    assert q4.dtype == p4.dtype == np.float64
    assert relative(q4, q2) < 1e-14 and relative(p4, p2) < 1e-14


# ------------------------------------------------------------------ the models


@pytest.mark.parametrize("kind", KINDS)
def test_random_trees_keep_the_contract_of_flat(kind):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, 7, kinds=(kind,), massless=seed % 2 == 0)
        assert all(k < i for i, k in enumerate(flat.parent))
        assert (flat.mass == 0).any() == (seed % 2 == 0)
        np.testing.assert_allclose(flat.E @ flat.E.mT, np.eye(3) + np.zeros((7, 1, 1)), atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(flat.E), 1)
        at_world = (flat.kind == FREE) & (flat.parent == -1)
        assert (flat.E[at_world] == np.eye(3)).all() and (flat.p[at_world] == 0).all()
        principal = np.linalg.eigvalsh(flat.inertia)
        assert (principal[:, 2] <= principal[:, :2].sum(axis=1) + 1e-12).all()
        q, _ = random_state(flat, rng)
        assert np.linalg.eigvalsh(ref.crba(flat, q))[0] > 1e-5
        assert flat.joints[-1].v_slice.stop == len(flat.damping)
        assert len(flat.frame_names) == len(flat.frame_body) == len(flat.frame_p) == 10


def test_the_known_mechanisms_have_their_textbook_energies():
    theta = 0.7
    swing = pendulum_flat(length=2.0, mass=3.0)
    assert ref.potential_energy(swing, np.array([theta])) == pytest.approx(
        -3 * 9.81 * 2 * np.cos(theta)
    )
    assert ref.crba(swing, np.array([theta])) == pytest.approx(np.array([[12.0]]))
    chain = chain_flat(10)
    upright = np.zeros(10)
    assert ref.potential_energy(chain, upright) == pytest.approx(
        9.81 * sum(1.5 * k + 0.75 for k in range(10))
    )
    # falls across x, about x: all at 90 degrees lies along -y
    lying = np.array([np.pi / 2] + [0.0] * 9)
    tip = ref.frame_pose(chain, "frame0", lying)
    np.testing.assert_allclose(tip[:3, 3], (0, -15, 0), atol=1e-14)
    np.testing.assert_allclose(tip[:3, 0], (1, 0, 0), atol=1e-15)
