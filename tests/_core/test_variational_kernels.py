"""The variational integrators' kernels against the oracle: residual, exact direction, end of a step."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from kernel_checks import (
    ALL,
    BUILT,
    H,
    carried,
    case,
    chart,
    check_linear_time,
    check_midpoint,
    check_relative,
    check_widths,
    pieces,
)
from random_models import random_flat
from reference_cases import drnea_cases, midpoint_cases

from vitree.mechanism.flat import BALL, FREE
from vitree.model.model import Model

SPEEDS, ALPHAS = [0.0, 1e-6, 1.0, 3.0, 30.0], [0.0, 0.3, 0.5, 0.7, 1.0]


@pytest.mark.parametrize("speed", [1.0, 15.0], ids=["slow", "fast"])
@pytest.mark.parametrize("kinetic", ["screw", "com"])
@pytest.mark.parametrize("flat", ALL, ids=lambda f: "-".join(map(str, f.kind)))
def test_linear_time(flat, speed, kinetic):
    check_linear_time(flat, speed, kinetic)


@pytest.mark.parametrize("speed", [1e-6, 1.0, 15.0])
@pytest.mark.parametrize("seed", range(4))
def test_midpoint_with_trees_that_float(seed, speed):
    """At both alpha for each seed and for each speed."""
    alpha = (0.3, 0.5)[(seed + (speed == 1.0)) % 2]
    kinds = ("revolute", "prismatic", "helical", "ball")
    check_relative(random_flat(np.random.default_rng(seed), nbody=6, kinds=kinds, base="free"), speed, alpha)


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("flat", ALL, ids=lambda f: "-".join(map(str, f.kind)))
def test_midpoint(flat, speed):
    """Each tree at each speed and at each alpha, and among the trees each speed at each alpha."""
    tree = next(k for k, each in enumerate(ALL) if each is flat)
    check_midpoint(flat, speed, ALPHAS[(SPEEDS.index(speed) + tree) % len(ALPHAS)])


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
@pytest.mark.parametrize(("kernel", "more"), [("batch_linear_time", {}), ("batch_linear_time", {"split": True}),
                                              ("batch_midpoint", {})], ids=["twist", "split", "midpoint"])
def test_every_width_gives_the_same_bits(kernel, more, width):
    check_widths(kernel, width, ALL, **more)


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
