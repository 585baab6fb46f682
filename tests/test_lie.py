"""SO(3), SE(2), SE(3): the maps are what their names say, tangents are tangents, bad input is refused."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
import reference as ref
from reference_cases import lie_vectors
from scipy.linalg import expm

from vitree import lie
from vitree.errors import InputError, UnknownNameError
from vitree.lie import SE2, SE3, SO3, matrix_from_pose, pose_from_matrix

GROUPS = [SO3, SE2, SE3]
NAMES = ["exp", "cayley", "dual-cayley", "second-kind", "trapezoidal"]
MAPS = [pytest.param(group.maps[name], id=f"{group.name} {name}") for group in GROUPS for name in NAMES]
#: Maps whose dtau is the tangent of tau, and those with tau(-x) = tau(x)^-1.
TRUE = [p for p in MAPS if p.values[0].name != "trapezoidal"]
SYMMETRIC = [p for p in MAPS if p.values[0].name != "second-kind"]
SCALES = [0.0, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 1.4, 2.0, 2.5, 3.1]

each_map = pytest.mark.parametrize("tau_map", MAPS)
each_group = pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.name)


def algebra(group, seed=0, scales=SCALES, count=4, second_kind=False):
    """x (len(scales)*count, dim) whose angular parts are as long as the scales; of the second kind below 1.2."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((len(scales), count, group.dim))
    turns = 1 if group is SE2 else 3
    length = np.minimum(scales, 1.2) if second_kind else np.asarray(scales)
    x[..., :turns] *= (length / np.linalg.norm(x[..., :turns], axis=-1).T).T[..., None]
    return x.reshape(-1, group.dim)


def arguments(tau_map, **options):
    return algebra(tau_map.group, second_kind=tau_map.name == "second-kind", **options)


def by_complex_steps(function, x):
    """Derivative (..., m, dim) of a function of x (..., dim), exact to round-off."""
    step = 1e-30
    columns = [function(x + 1j * step * e).imag / step for e in np.eye(x.shape[-1])]
    return np.stack(columns, axis=-1)


def close(a, b, tolerance=3e-15):
    """Whether a is b, each entry within a share of the largest of its matrix (the last two axes)."""
    scale = np.maximum(np.abs(b).max(axis=(-1, -2), keepdims=True), 1)
    return (np.abs(a - b) <= tolerance * scale).all()


# ---- groups ---------------------------------------------------------------------------------------------


@each_group
def test_the_algebra_and_its_adjoints(group):
    rng = np.random.default_rng(1)
    g, g2 = group.random(rng, (2, 20))
    x, y = rng.standard_normal((2, 20, group.dim))
    assert np.array_equal(group.vee(group.hat(x)), x)
    assert np.array_equal(group.identity(), np.eye(group.size))
    assert close(group.hat(np.einsum("nij,nj->ni", group.Ad(g), x)), g @ group.hat(x) @ group.inverse(g), 1e-14)
    bracket = group.hat(x) @ group.hat(y) - group.hat(y) @ group.hat(x)
    assert close(group.hat(np.einsum("nij,nj->ni", group.ad(x), y)), bracket, 1e-14)
    assert close(group.Ad(g @ g2), group.Ad(g) @ group.Ad(g2), 1e-14)
    assert close(group.inverse(g) @ g, np.broadcast_to(np.eye(group.size), g.shape), 1e-14)
    assert np.array_equal(group.check(g), g)


def test_twists_are_angular_then_linear():
    assert np.array_equal(SE3.hat([0, 0, 1.0, 4, 5, 6])[:3], [[0, -1, 0, 4], [1, 0, 0, 5], [0, 0, 0, 6]])
    assert np.array_equal(SE2.hat([1.0, 4, 5]), [[0, -1, 4], [1, 0, 5], [0, 0, 0]])
    assert (SO3.dim, SE2.dim, SE3.dim) == (3, 3, 6) and (SO3.size, SE2.size, SE3.size) == (3, 3, 4)


@each_group
def test_random_elements_are_uniform_and_repeatable(group):
    g = group.random(np.random.default_rng(3), (4000,))
    assert np.array_equal(g, group.random(np.random.default_rng(3), (4000,)))
    turned = g[:, :2, :2] if group is SE2 else g[:, :3, :3]
    assert np.abs(turned.mean(axis=0)).max() < 0.06  # Haar measure has mean zero
    assert group.random(np.random.default_rng(3)).shape == (group.size, group.size)


@each_group
def test_check_makes_exact_what_is_nearly_in_the_group(group):
    g = group.random(np.random.default_rng(4), (5,))
    off = g + 1e-8 * np.random.default_rng(5).standard_normal(g.shape)
    exact = group.check(off)
    assert np.abs(exact - off).max() < 1e-7
    assert close(group.inverse(exact) @ exact, np.broadcast_to(np.eye(group.size), g.shape))
    assert np.array_equal(exact[:, 3:], np.broadcast_to(np.eye(4)[3:, : group.size], exact[:, 3:].shape))


# ---- maps -----------------------------------------------------------------------------------------------


@each_group
def test_exp_is_the_matrix_exponential(group):
    x = algebra(group)
    assert close(group.maps["exp"].tau(x), np.array([expm(X) for X in group.hat(x)]), 1e-14)


@each_group
def test_cayley_is_that_of_the_matrices(group):
    x = algebra(group, scales=[*SCALES, 30.0, 1e4])
    X, one = group.hat(x), group.identity()
    expected = np.linalg.solve(one - X / 2, one + X / 2)
    assert close(group.maps["cayley"].tau(x), expected, 1e-10)
    moderate = slice(0, 4 * len(SCALES))
    assert close(group.maps["cayley"].tau(x)[moderate], expected[moderate], 1e-14)


@each_group
@pytest.mark.parametrize("name", ["dual-cayley", "trapezoidal"])
def test_dual_cayley_is_that_of_the_adjoint_representation(group, name):
    x = algebra(group)
    ad, one = group.ad(x), np.eye(group.dim)
    assert close(group.Ad(group.maps[name].tau(x)), np.linalg.solve(one - ad / 2, one + ad / 2), 1e-14)


def test_the_cayley_maps_differ_in_space_only():
    for group in (SO3, SE2):
        x, mu = algebra(group), algebra(group, seed=1)
        a, b = group.maps["cayley"], group.maps["dual-cayley"]
        for f in ("tau", "dtau", "dtau_inv"):
            assert close(getattr(a, f)(x), getattr(b, f)(x)), f
        assert close(a.dtau_inv_slope(x, mu), b.dtau_inv_slope(x, mu))
    x = np.array([0.3, 0.2, 0.1, 1.0, 1.0, 1.0])
    differ = [SE3.maps["cayley"].tau(e * x) - SE3.maps["dual-cayley"].tau(e * x) for e in (1e-2, 1e-3)]
    assert np.abs(differ[0]).max() / np.abs(differ[1]).max() == pytest.approx(1e3, rel=1e-3)


@each_group
def test_second_kind_is_a_product_of_exponentials(group):
    x = algebra(group, second_kind=True)
    expected = np.broadcast_to(np.eye(group.size), (len(x), group.size, group.size))
    for k, e in enumerate(np.eye(group.dim)):
        expected = expected @ group.maps["exp"].tau(x[:, k : k + 1] * e)
    assert close(group.maps["second-kind"].tau(x), expected)


@each_map
def test_log_is_the_inverse(tau_map):
    x = arguments(tau_map)
    g = tau_map.tau(x)
    assert np.abs(g - tau_map.group.check(g)).max() == 0
    # twice the half angle's tangent is large where the angle is near pi
    assert np.abs(tau_map.log(g) - x).max() < 3e-14
    tiny = np.abs(x) < 1e-3
    assert (np.abs(tau_map.log(g) - x)[tiny.all(axis=1)] <= 1e-15 * 1e-3).all()

    g = tau_map.group.random(np.random.default_rng(6), (300,))
    if tau_map.name != "second-kind":
        assert close(tau_map.tau(tau_map.log(g)), g, 1e-12)


@each_group
def test_log_of_exp_up_to_and_at_pi(group):
    exp = group.maps["exp"]
    for angle in (3.0, 3.14, np.pi - 1e-6, np.pi - 1e-9, np.pi - 1e-15, np.pi):
        x = algebra(group, scales=[angle], count=50)
        back = exp.log(exp.tau(x))
        turned = back[:, :1] if group is SE2 else back[:, :3]
        assert np.abs(np.linalg.norm(turned, axis=1) - angle).max() < 2e-15 * angle
        assert close(exp.tau(back), exp.tau(x), 5e-15)
        if angle < np.pi - 1e-12:
            assert np.abs(back - x).max() < 2e-14


@pytest.mark.parametrize("tau_map", TRUE)
def test_dtau_is_the_right_trivialised_tangent(tau_map):
    group, x = tau_map.group, arguments(tau_map)
    g_inv = group.inverse(tau_map.tau(x))
    expected = by_complex_steps(lambda z: group.vee(tau_map.tau(z) @ g_inv - group.identity()), x)
    assert close(tau_map.dtau(x), expected)


@pytest.mark.parametrize("tau_map", TRUE)
def test_dtau_against_plain_differences(tau_map):
    group, x, step = tau_map.group, arguments(tau_map), 1e-6
    g_inv = group.inverse(tau_map.tau(x))
    ends = (tau_map.tau(x[:, None] + sign * step * np.eye(group.dim)) for sign in (1, -1))
    plus, minus = (end @ g_inv[:, None] for end in ends)
    D = np.swapaxes(group.vee((plus - minus) / (2 * step)), 1, 2)
    assert close(tau_map.dtau(x), D, 1e-9)


@each_map
def test_dtau_inv_is_the_inverse(tau_map):
    x = arguments(tau_map)
    one = np.broadcast_to(np.eye(tau_map.group.dim), (len(x), tau_map.group.dim, tau_map.group.dim))
    product = tau_map.dtau(x) @ tau_map.dtau_inv(x)
    assert close(product, one, 1e-14)


@pytest.mark.parametrize("tau_map", SYMMETRIC)
def test_both_trivialisations(tau_map):
    x = arguments(tau_map)
    Ad = tau_map.group.Ad(tau_map.tau(x))
    assert close(tau_map.dtau(x), Ad @ tau_map.dtau(-x), 1e-14)
    assert close(tau_map.dtau_inv(-x), tau_map.dtau_inv(x) @ Ad, 1e-14)
    assert close(tau_map.tau(-x), tau_map.group.inverse(tau_map.tau(x)), 1e-14)


@each_map
def test_slope_is_the_derivative_of_the_transposed_inverse(tau_map):
    x = arguments(tau_map)
    mu = algebra(tau_map.group, seed=9)
    expected = np.einsum("nji,nj->ni", tau_map.dtau_inv(x), mu)
    assert np.abs(tau_map.dtau_inv_transposed(x, mu) - expected).max() < 1e-14
    slope = by_complex_steps(lambda z: tau_map.dtau_inv_transposed(z, mu), x)
    assert close(tau_map.dtau_inv_slope(x, mu), slope, 5e-15)


@each_group
def test_trapezoidal_is_one_minus_half_ad(group):
    x = algebra(group)
    assert close(group.maps["trapezoidal"].dtau_inv(x), np.eye(group.dim) - group.ad(x) / 2, 1e-16)
    assert np.array_equal(group.maps["trapezoidal"].tau(x), group.maps["dual-cayley"].tau(x))


@each_group
@pytest.mark.parametrize("name", NAMES)
def test_the_plane_and_the_rotations_are_parts_of_space(group, name):
    x = algebra(group, seed=2, second_kind=True)
    full = np.zeros((len(x), 6))
    rows = {SO3: [0, 1, 2], SE2: [2, 3, 4], SE3: range(6)}[group]
    full[:, rows] = x
    here, space = group.maps[name], SE3.maps[name]
    assert np.array_equal(here.dtau_inv(x), space.dtau_inv(full)[:, rows][:, :, rows])
    axes = [0, 1, 3] if group is SE2 else list(range(group.size))
    assert np.array_equal(here.tau(x), space.tau(full)[:, axes][:, :, axes])


@pytest.mark.parametrize("name", NAMES)
def test_momentum_at_both_ends(name):
    # the spatial momentum at the end of a step, Ad(g2)^-T mu+, is that at its start: what the maps promise
    tau_map, rng = SE3.maps[name], np.random.default_rng(8)
    x, momentum = rng.standard_normal((2, 30, 6)) * 0.4
    start = tau_map.dtau_inv_transposed(x, momentum)
    Ad = np.swapaxes(SE3.Ad(tau_map.tau(x)), 1, 2)
    end = np.einsum("nij,nj->ni", Ad, start)
    same = np.abs(tau_map.dtau_inv_transposed(-x, momentum) - end).max() < 1e-14
    assert same == (name != "second-kind")


# ---- numbers of others, and to many digits --------------------------------------------------------------


def test_stored_vectors():
    exp = SE3.maps["exp"]
    for case in lie_vectors():
        x, mu = np.array(case["x"]), np.array(case["P"])
        w, *u = case["exp_quat_wxyz_p"][:4]
        g = matrix_from_pose([*case["exp_quat_wxyz_p"][4:], *u, w])
        assert np.abs(exp.tau(x) - g).max() < 1e-14
        assert np.abs(exp.log(g) - case["log"]).max() < 1e-14 * max(1, np.abs(case["log"]).max())
        for mine, stored in (
            (exp.dtau(x), "dexp"),
            (exp.dtau_inv(x), "dlog"),
            (exp.dtau_inv_transposed(x, mu)[:, None], "dlogT_P"),
            (exp.dtau_inv_slope(x, mu), "ddlogT_P"),
        ):
            stored = np.array(case[stored]).reshape(mine.shape)
            assert close(mine, stored, 1e-13), stored


def test_exp_against_the_oracle_in_long_double():
    exp = SE3.maps["exp"]
    x, mu = algebra(SE3).astype(np.longdouble), algebra(SE3, seed=1).astype(np.longdouble)
    assert exp.dtau(x).dtype == exp.tau(x).dtype == exp.log(exp.tau(x)).dtype == np.longdouble
    tolerance = 60 * float(np.finfo(np.longdouble).eps)
    for mine, oracle in (
        (exp.tau(x), [ref.exp_se3(a) for a in x]),
        (exp.dtau(x), [ref.dexp(a) for a in x]),
        (exp.dtau_inv(x), [ref.dlog(a) for a in x]),
        (exp.dtau_inv_slope(x, mu), [ref.ddlogT(a, b) for a, b in zip(x, mu, strict=True)]),
    ):
        assert close(mine, np.array(oracle), tolerance)
    assert close(exp.log(exp.tau(x))[:, None], x[:, None], tolerance)


def _exact(theta):
    """What _exp_coefficients and _log_coefficients are to return, to 40 digits."""
    s = theta**2
    A, beta, delta = (mp.sin(theta) / theta, (1 - mp.cos(theta)) / s, (1 - mp.sin(theta) / theta) / s)
    exps = [mp.cos(theta), A, beta, delta, (A - 2 * beta) / s, (beta - 3 * delta) / s]
    g = theta / 2 * mp.cot(theta / 2)
    gamma = (1 - g) / s
    gamma1 = (mp.mpf(1) / 4 - gamma * (2 + g)) / s
    return exps, [gamma, gamma1, -(gamma1 * (4 + g) + gamma * (g * gamma - mp.mpf(1) / 4)) / s]


@pytest.mark.parametrize("theta", [1e-8, 1e-5, 1e-3, 0.1, 0.7, 1.3, 1.9, 1.9999, 2.0, 2.5, 3.0, 3.14159, 4.5, 6.0])
def test_coefficients_to_round_off(theta):
    s = np.float64(theta) ** 2
    with mp.workdps(120):
        exps, logs = _exact(mp.sqrt(mp.mpf(float(s))))
    for k, (mine, exact) in enumerate(zip(lie._exp_coefficients(s), exps, strict=True)):
        # the first two have zeros; delta1 is a difference of two larger terms from 2 rad on
        scale = 1 if k < 2 else abs(exact)
        assert abs(mine - exact) <= (2e-15 if k == 5 else 6e-16) * scale, k
    for mine, exact in zip(lie._log_coefficients(s), logs, strict=True):
        assert abs(mine - exact) <= (1e-15 if theta < 3.2 else 5e-15) * abs(exact)


def test_tangents_of_exp_are_right_between_tiny_and_large_angles():
    # against 100 digits, also at the angles where closed forms lose theirs
    for theta in np.geomspace(1e-8, 3.1, 40):
        w = np.array([2.0, -1.0, 2.0]) / 3 * theta
        with mp.workdps(100):
            W = mp.matrix(SO3.hat(w).tolist())
            s = sum(mp.mpf(float(a)) ** 2 for a in w)
            (_, _, beta, delta, *_), (gamma, *_) = _exact(mp.sqrt(s))
            J, inverse = mp.eye(3) + beta * W + delta * W * W, mp.eye(3) - W / 2 + gamma * W * W
        for mine, exact in ((SO3.maps["exp"].dtau(w), J), (SO3.maps["exp"].dtau_inv(w), inverse)):
            exact = np.array(exact.tolist(), dtype=float)
            assert np.abs(mine - exact).max() <= 1e-15
            off = ~np.eye(3, dtype=bool)
            assert np.abs(mine - exact)[off].max() <= 1e-15 * np.abs(exact[off]).max()


# ---- stacks, types, poses -------------------------------------------------------------------------------


@each_map
def test_stacks_are_loops(tau_map):
    x = arguments(tau_map, scales=[1e-3, 0.5, 1.0], count=2).reshape(3, 2, -1)
    mu = algebra(tau_map.group, seed=5, scales=[1.0])[0]
    g = tau_map.tau(x)
    for f, arg in ((tau_map.tau, x), (tau_map.log, g), (tau_map.dtau, x), (tau_map.dtau_inv, x)):
        assert np.abs(f(arg) - [[f(a) for a in row] for row in arg]).max() < 1e-15
    for f in (tau_map.dtau_inv_transposed, tau_map.dtau_inv_slope):
        assert np.abs(f(x, mu) - [[f(a, mu) for a in row] for row in x]).max() < 1e-15
        assert np.abs(f(x[0, 0], mu * np.ones((4, 1))) - f(x[0, 0], mu)).max() < 1e-15
    assert tau_map.tau(x[:0]).shape == (0, 2, *g.shape[2:])
    assert tau_map.log(g[:0]).shape == (0, 2, tau_map.group.dim)
    assert tau_map.dtau_inv_slope(x[:0], mu).shape == (0, 2, tau_map.group.dim, tau_map.group.dim)


@each_map
def test_numbers_are_taken_as_doubles(tau_map):
    zeros = [0] * tau_map.group.dim
    for x in (zeros, np.zeros(tau_map.group.dim, np.float32)):
        for y in (tau_map.tau(x), tau_map.dtau_inv(x), tau_map.dtau_inv_slope(x, x), tau_map.log(tau_map.tau(x))):
            assert y.dtype == np.float64
    x = arguments(tau_map)
    kept = x.copy()
    tau_map.dtau_inv_slope(x, x), tau_map.dtau(x)
    assert np.array_equal(x, kept)


def test_poses_of_the_free_joint():
    g = SE3.random(np.random.default_rng(2), (200,))
    q = pose_from_matrix(g)
    assert (q[:, 6] >= 0).all() and close(matrix_from_pose(q), g)
    for pose, matrix in zip(q[:20], g, strict=False):
        assert np.abs(ref.pose(ref.quaternion_matrix(pose[3:]), pose[:3]) - matrix).max() < 1e-15
        assert np.abs(ref.quaternion_from_matrix(matrix[:3, :3])) == pytest.approx(np.abs(pose[3:]), abs=1e-15)
    # half turns, where w = 0, about every axis
    for signs in itertools.product((-1, 0, 1), repeat=3):
        if any(signs):
            u = np.array(signs) / np.linalg.norm(signs)
            back = pose_from_matrix(matrix_from_pose([0, 0, 0, *u, 0]))[3:]
            assert abs(abs(back[:3] @ u) - 1) < 1e-15
    assert np.array_equal(matrix_from_pose([0, 0, 0, 0, 0, 0, 1 + 1e-9]), np.eye(4))


def test_the_free_joint_moves_by_the_same_exponential():
    import vitree as vt

    tree = vt.Tree("body")
    tree.world.add(vt.free("base"), vt.body("hull", 1.0, inertia=(1, 2, 3)))
    model, rng = tree.compile(), np.random.default_rng(7)
    q, v = pose_from_matrix(SE3.random(rng)), rng.standard_normal(6)
    g = matrix_from_pose(q) @ SE3.maps["exp"].tau(np.roll(v, 3))
    assert np.abs(matrix_from_pose(model.integrate(q, v)) - g).max() < 1e-14


# ---- bad input ------------------------------------------------------------------------------------------


@each_map
@pytest.mark.parametrize("bad", ["shape", "nan", "inf", "huge", "text", "ragged", "none"])
def test_bad_arguments(tau_map, bad):
    group = tau_map.group
    x = np.zeros(group.dim)
    value = {
        "shape": np.zeros(group.dim + 1),
        "nan": x * np.nan,
        "inf": x + np.inf,
        "huge": x + 1e60,
        "text": "exp",
        "ragged": [[1.0], [1.0, 2.0]],
        "none": None,
    }[bad]
    for call in (tau_map.tau, tau_map.dtau, tau_map.dtau_inv, tau_map.log, group.hat, group.vee, group.ad, group.Ad):
        with pytest.raises(InputError):
            call(value)
    for f in (tau_map.dtau_inv_transposed, tau_map.dtau_inv_slope):
        for pair in ((value, x), (x, value)):
            with pytest.raises(InputError):
                f(*pair)


@each_group
def test_what_is_not_in_the_group(group):
    g = group.random(np.random.default_rng(0), (3,))
    mirror = np.diag([-1.0] + [1.0] * (group.size - 1))
    for bad in (1.001 * g, g @ mirror, g + 1e-5, 0 * g):
        for call in (group.check, group.inverse, group.Ad, group.maps["exp"].log):
            with pytest.raises(InputError, match=r"is not in S[OE]\([23]\)"):
                call(bad)
    with pytest.raises(InputError, match="the start pose is not in"):
        group.check(2 * g, "the start pose")
    with pytest.raises(InputError, match="not in the algebra"):
        group.vee(np.eye(group.size))


def test_the_last_row_of_a_pose():
    for group in (SE2, SE3):
        g = group.identity()
        g[-1, 0] = 1.0
        with pytest.raises(InputError, match="last row"):
            group.check(g)


def test_beyond_the_reach():
    half_turn = np.diag([-1.0, -1.0, 1.0])
    for name in ("cayley", "dual-cayley", "trapezoidal"):
        with pytest.raises(InputError, match="less than pi"):
            SO3.maps[name].log(half_turn)
    assert np.linalg.norm(SO3.maps["exp"].log(half_turn)) == np.pi
    second = SO3.maps["second-kind"]
    quarter = second.tau([0, np.pi / 2, 0])
    for call in (lambda: second.log(quarter), lambda: second.dtau_inv([0, np.pi / 2, 0])):
        with pytest.raises(InputError, match="pi/2"):
            call()
    for x in ([2 * np.pi, 0, 0], [0, 20.0, 0]):
        assert np.isfinite(SO3.maps["exp"].dtau(x)).all()
        for call in (SO3.maps["exp"].dtau_inv, lambda x: SO3.maps["exp"].dtau_inv_slope(x, x)):
            with pytest.raises(InputError, match="2 pi"):
                call(x)
    with pytest.raises(InputError, match="second angle"):
        second.dtau_inv_slope([0, 1.6, 0], [1.0, 0, 0])
    with pytest.raises(InputError, match="real"):
        SO3.maps["exp"].log(np.eye(3) + 0j)


@each_map
def test_every_turn_below_the_reach_has_a_log(tau_map):
    x = algebra(tau_map.group, scales=tau_map.reach * np.array([0.5, 0.9, 0.999]), count=200)
    g = tau_map.group.maps["exp"].tau(x)
    assert close(tau_map.tau(tau_map.log(g)), g, 1e-11)


def test_pose_errors_and_names():
    with pytest.raises(InputError, match="unit length"):
        matrix_from_pose([0, 0, 0, 1, 0, 0, 1.0])
    with pytest.raises(InputError, match="shape"):
        matrix_from_pose(np.zeros(6))
    with pytest.raises(InputError, match="not in SE"):
        pose_from_matrix(np.zeros((4, 4)))
    with pytest.raises(UnknownNameError, match='did you mean "cayley"'):
        SE3.maps["caley"]
    assert list(SE3.maps) == NAMES and "SE(3)" in repr(SE3.maps["exp"])
