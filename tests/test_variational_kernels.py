"""The variational integrators' kernels against the oracle: residual, exact direction, end of a step."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from random_models import random_flat, random_state
from reference_cases import drnea_cases, midpoint_cases

from vitree._core import WIDTHS, _cpu, lanes
from vitree.mechanism.flat import BALL, FREE
from vitree.model.model import Model

SCALAR = ("revolute", "prismatic", "helical")
BUILT = [w for w in WIDTHS if _cpu.runs(w)]


def trees(kinds, bases):
    for kind in kinds:
        yield random_flat(np.random.default_rng(1), nbody=5, kinds=(kind,), base="fixed")
    for seed in range(10):
        yield random_flat(
            np.random.default_rng(40 + seed), nbody=8, kinds=kinds, base=bases[seed % len(bases)],
            massless=seed % 3 == 2, damping=seed % 2 == 1,
        )  # fmt: skip


ALL = list(trees((*SCALAR, "ball", "free"), ("fixed", "free")))
H = 0.02


def chart(flat, q, dq):
    """Increments as the stepper has them: a free joint's linear part is its straight displacement."""
    y, q2 = np.array(dq), reference.integrate(flat, q, dq)
    for i in np.flatnonzero(flat.kind == FREE):
        rq, rv = reference.q_slices(flat)[i], reference.v_slices(flat)[i]
        R = reference.quaternion_matrix(q[rq][3:])
        y[rv][:3] = R.T @ (q2[rq][:3] - q[rq][:3])
    return y


def case(flat, speed):
    rng = np.random.default_rng(5)
    q, v = random_state(flat, rng)
    dq = speed * (H * v + H * H * rng.normal(size=len(v)))
    return q, reference.crba(flat, q) @ v, dq, rng.normal(size=len(v))


def pieces(kernel, width, model, h, q, p, y, tau, *more, **loads):
    out = np.empty((1, 3 * model.nv))
    getattr(lanes(width), kernel)(model.core, h, *more, q[None], p[None], y[None], tau[None], out, **loads)
    return np.split(out[0], 3)


def carried(flat, y, r):
    """What is left of the residual as a wrench fixed in the world, in the axes of node 2: Ad_{exp(S y)}^T r."""
    out = np.array(r)
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] in (BALL, FREE):
            S = reference.joint_subspace(flat, i)
            out[rv] = S.T @ reference.Ad(reference.exp_se3(S @ y[rv])).T @ S @ r[rv]
    return out


@pytest.mark.parametrize("speed", [1.0, 15.0], ids=["slow", "fast"])
@pytest.mark.parametrize("flat", ALL, ids=lambda f: "-".join(map(str, f.kind)))
def test_linear_time(flat, speed):
    q, p, dq, tau = case(flat, speed)
    model = Model(flat)
    y = chart(flat, q, dq)
    r, d, p2 = pieces("batch_linear_time", 1, model, H, q, p, y, tau)
    expected = reference.linear_time_residual(flat, q, p, dq, H, tau)
    scale = speed * np.abs(p).max()
    assert np.abs(r - expected).max() < 3e-14 * scale
    # the direction is exact: along it the oracle's residual falls with the square of what is left
    # (compared as displacements of q2, through a change of chart by differences)
    displacement = reference.solve(reference.linear_time_jacobian(flat, q, dq, H), -expected)
    step = 1e-5 * (np.abs(y).max() / np.abs(displacement).max())

    def moved(s):
        q2 = reference.integrate(flat, reference.integrate(flat, q, dq), s * displacement)
        return chart(flat, q, reference.difference(flat, q, q2))

    slope = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
    assert np.abs(d - slope).max() < 1e-9 * np.abs(slope).max()
    # the end: momentum at node 2, where the residual was carried in as a wrench (compared by the
    # stepper's tests of momentum); joints of one coordinate take it as it is
    _, end = reference.linear_time_end(flat, q, dq, H, tau)
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] < 3:
            assert np.abs(p2[rv] + r[rv] - end[rv]).max() < 3e-14 * scale


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("speed", [0.0, 1e-6, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("flat", ALL, ids=lambda f: "-".join(map(str, f.kind)))
def test_midpoint(flat, speed, alpha):
    """At no motion, at turns of a billionth, and of more than a radian a step."""
    q, p, y, tau = case(flat, speed)
    model = Model(flat)
    r, d, p2 = pieces("batch_midpoint", 1, model, H, q, p, y, tau, alpha)
    D1, D2 = reference.midpoint_slots(flat, q, y, H, alpha, tau)
    scale = np.abs(p).max() + np.abs(D1).max()
    assert np.abs(r + p + D1).max() < 1e-14 * scale
    assert np.abs(p2 + carried(flat, y, r) - D2).max() < 1e-14 * scale
    exact = reference.solve(reference.midpoint_jacobian(flat, q, y, H, alpha, tau), r)
    assert np.abs(d - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("angle", [1.6, 3.0, 4.5, 6.0])
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_midpoint_of_large_turns(kind, angle):
    """Up to a whole turn a step, beyond the series and where the logarithm's coefficients grow."""
    flat = random_flat(np.random.default_rng(3), nbody=3, kinds=(kind,), base="fixed", damping=True)
    q, p, y, tau = case(flat, 1.0)
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] in (BALL, FREE):
            w = y[rv][-3:]
            y[rv.stop - 3 : rv.stop] = angle * w / np.linalg.norm(w)
    y = y.astype(np.longdouble)
    D1, D2 = reference.midpoint_slots(flat, q.astype(np.longdouble), y, H, 0.5, tau)
    J = reference.midpoint_jacobian(flat, q.astype(np.longdouble), y, H, 0.5, tau)
    y = y.astype(float)
    r, d, p2 = pieces("batch_midpoint", 1, Model(flat), H, q, p, y, tau, 0.5)
    scale = np.abs(D1).max()
    assert np.abs(r + p + D1).max() < 1e-12 * scale
    assert np.abs(p2 + carried(flat, y, r) - D2).max() < 1e-12 * scale
    exact = reference.solve(J, r.astype(np.longdouble))
    assert np.abs(d - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("width", [w for w in BUILT if w > 1])
@pytest.mark.parametrize("kernel", ["batch_linear_time", "batch_midpoint"])
def test_every_width_gives_the_same_bits(kernel, width):
    for flat in ALL:
        rng, model, n = np.random.default_rng(0), Model(flat), 11
        states = [random_state(flat, rng, speed=10.0 ** rng.uniform(-2, 1.5)) for _ in range(n)]
        q, v = (np.ascontiguousarray(x) for x in map(np.array, zip(*states, strict=True)))
        more = () if kernel == "batch_linear_time" else (0.4,)
        rows = [np.full((n, 3 * model.nv), np.nan) for _ in range(2)]
        for w, out in zip((1, width), rows, strict=True):
            getattr(lanes(w), kernel)(model.core, H, *more, q, model.momenta(q, v), H * v, v, out)
        assert np.isfinite(rows[0]).all()
        assert rows[0].tobytes() == rows[1].tobytes()


@pytest.mark.parametrize("case", drnea_cases(), ids=lambda c: c.flat.name)
def test_stored_vectors_are_reproduced(case):
    """Residual over three configurations, Newton and quasi-Newton directions, of an independent prototype."""
    flat, (q0, q1, q2), h = case.flat, case.q, case.data["h"]
    model = Model(flat)
    zero = np.zeros(model.nv)
    q0, q1, q2 = (np.array(q, float) for q in (q0, q1, q2))
    y01, y12 = (chart(flat, a, reference.difference(flat, a, b)) for a, b in ((q0, q1), (q1, q2)))
    # the momentum that the first interval starts with leaves no residual there, so its end is exact
    start, _, _ = pieces("batch_linear_time", 1, model, h, q0, zero, y01, zero)
    left, _, p1 = pieces("batch_linear_time", 1, model, h, q0, start, y01, zero)
    assert np.abs(left).max() < 1e-14 * np.abs(start).max()
    f, d, _ = pieces("batch_linear_time", 1, model, h, q1, p1, y12, zero)
    expected = case.v("f")
    assert np.abs(f - expected).max() < 1e-13 * max(np.abs(expected).max(), np.abs(p1).max())
    # the stored direction is a displacement of q2; the kernel's is one of the increment
    newton = case.v("newton_dq")
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] in (BALL, FREE):
            w = y12[rv][-3:]
            Ji = reference.dlog(np.concatenate((-w, np.zeros(3))))[:3, :3]
            newton[rv][-3:] = Ji @ newton[rv][-3:]
            if flat.kind[i] == FREE:
                newton[rv][:3] = reference.quaternion_matrix(reference.quaternion_exp(w)) @ newton[rv][:3]
    assert np.abs(d - newton).max() < 1e-11 * np.abs(newton).max()
    riqn = -h * model.velocity_from_momentum(q1, f)
    assert np.abs(riqn - case.v("riqn_dq")).max() < 1e-11 * np.abs(riqn).max()


@pytest.mark.parametrize("case", midpoint_cases(), ids=lambda c: c.flat.name)
def test_stored_midpoint_vectors_are_reproduced(case):
    """D1, D2 and the Newton direction of an independent prototype, with forces, damping and body wrenches."""
    flat, d, q = case.flat, case.data, np.array(case.q[0], float)
    model, y, tau = Model(flat), case.v("x"), case.v("tau")
    qm = reference.integrate(flat, q, d["alpha"] * y)
    turned = [np.kron(np.eye(2), X[:3, :3]) @ F
              for X, F in zip(reference.body_poses(flat, qm), case.wrenches("body_wrench"), strict=True)]  # fmt: skip
    more = {"wrench": np.concatenate(turned)[None]}
    start = -case.v("D1") - case.v("rhs")
    r, e, p2 = pieces("batch_midpoint", 1, model, d["h"], q, start, y, tau, d["alpha"], **more)
    assert np.abs(r - case.v("rhs")).max() < 1e-13 * np.abs(case.v("D1")).max()
    assert np.abs(p2 + carried(flat, y, r) - case.v("D2")).max() < 1e-13 * np.abs(case.v("D2")).max()
    assert np.abs(e - case.v("newton_e")).max() < 1e-11 * np.abs(case.v("newton_e")).max()
