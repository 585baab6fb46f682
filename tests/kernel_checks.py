"""Kernels and steppers against the oracle, and widths and builds against each other."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
import reference
from random_models import random_flat, random_state, with_rotors

from vitree._core import ONE_LANE, _cpu, built, lanes, widths
from vitree.integrators.base import Records
from vitree.mechanism.flat import BALL, FREE, KINDS
from vitree.model.model import Model

SCALAR = ("revolute", "prismatic", "helical")
BUILT = widths()
#: the builds of one lane that this CPU runs; VITREE_WIDTHS=all makes all
BUILDS = [name for width, name in ONE_LANE.items() if _cpu.runs(width) and built(name)]
of_builds = pytest.mark.skipif(len(BUILDS) < 2, reason="one build of one lane only")


def trees(kinds, bases):
    for kind in kinds:
        yield random_flat(np.random.default_rng(1), nbody=5, kinds=(kind,), base="fixed")
    for seed in range(10):
        yield random_flat(
            np.random.default_rng(40 + seed), nbody=8, kinds=kinds, base=bases[seed % len(bases)],
            massless=seed % 3 == 2, damping=seed % 2 == 1,
        )  # fmt: skip
    for seed in range(4):
        yield with_rotors(random_flat(np.random.default_rng(60 + seed), nbody=7, kinds=kinds, damping=True,
                                      base=bases[seed % len(bases)], massless=seed == 3))  # fmt: skip


ALL = list(trees(KINDS, ("fixed", "free")))
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
    getattr(lanes(width), kernel)(model.core, (h, *more) if more else h, q[None], p[None], y[None], tau[None], out,
                                  **loads)  # fmt: skip
    return np.split(out[0], 3)


def carried(flat, y, r):
    """What is left of the residual as a wrench fixed in the world, in the axes of node 2: Ad_{exp(S y)}^T r."""
    out = np.array(r)
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] in (BALL, FREE):
            S = reference.joint_subspace(flat, i)
            out[rv] = S.T @ reference.Ad(reference.exp_se3(S @ y[rv])).T @ S @ r[rv]
    return out


def check_linear_time(flat, speed, kinetic="screw"):
    q, p, dq, tau = case(flat, speed)
    model = Model(flat)
    y = chart(flat, q, dq)
    r, d, p2 = pieces("batch_linear_time", 1, model, H, q, p, y, tau, split=kinetic == "com")
    expected = reference.linear_time_residual(flat, q, p, dq, H, tau, kinetic=kinetic)
    scale = speed * np.abs(p).max()
    assert np.abs(r - expected).max() < 3e-14 * scale
    # the direction is exact: along it the oracle's residual falls with the square of what is left
    # (compared as displacements of q2, through a change of chart by differences)
    displacement = reference.solve(reference.linear_time_jacobian(flat, q, dq, H, kinetic), -expected)
    step = 1e-5 * (np.abs(y).max() / np.abs(displacement).max())

    def moved(s):
        q2 = reference.integrate(flat, reference.integrate(flat, q, dq), s * displacement)
        return chart(flat, q, reference.difference(flat, q, q2))

    slope = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
    assert np.abs(d - slope).max() < 1e-9 * np.abs(slope).max()
    # the end: momentum at node 2, where the residual was carried in as a wrench (compared by the
    # stepper's tests of momentum); joints of one coordinate take it as it is
    _, end = reference.linear_time_end(flat, q, dq, H, tau, kinetic=kinetic)
    for i, rv in enumerate(reference.v_slices(flat)):
        if flat.kind[i] < 3:
            assert np.abs(p2[rv] + r[rv] - end[rv]).max() < 3e-14 * scale


def check_midpoint(flat, speed, alpha):
    """At no motion, at turns of a billionth, and of more than a radian a step."""
    q, p, y, tau = case(flat, speed)
    model = Model(flat)
    r, d, p2 = pieces("batch_midpoint", 1, model, H, q, p, y, tau, alpha)
    D1, D2 = reference.midpoint_slots(flat, q, y, H, alpha, tau)
    scale = np.abs(p).max() + np.abs(D1).max()
    assert np.abs(r + p + D1).max() < 1e-14 * scale
    assert np.abs(p2 + carried(flat, y, r) - D2).max() < 1e-14 * scale
    J = reference.midpoint_jacobian(flat, q, y, H, alpha, tau)
    exact, size = reference.solve(J, r), np.abs(J).max(axis=1)
    tolerance = max(1e-10, 1e-12 * np.linalg.cond(np.asarray(J / size[:, None], float)))
    assert np.abs(d - exact).max() < tolerance * np.abs(exact).max()


def check_relative(flat, speed, alpha):
    """Midpoint where the centres of mass of floating trees go from node to node: r, direction and end."""
    flat = replace(flat, damping=np.zeros_like(flat.damping))
    q, p, y, tau = case(flat, speed)
    tau[:6] = 0.0
    model = Model(flat)

    def at(y):
        return pieces("batch_midpoint", 1, model, H, q, p, y, tau, alpha, True)

    r, d, p2 = at(y)
    D1, D2 = reference.relative_slots(flat, q, y, H, alpha, tau)
    scale = np.abs(p).max() + np.abs(D1).max()
    assert np.abs(r + p + D1).max() < 1e-14 * scale
    assert np.abs(p2 + carried(flat, y, r) - D2).max() < 1e-14 * scale
    places = 1e-3 * np.array([1, 2, 3])
    J = sum(w * np.array([at(y + x * e)[0] - at(y - x * e)[0] for e in np.eye(len(y))]).T
            for x, w in zip(places, np.array([45, -9, 1]) / 60e-3, strict=True))  # fmt: skip
    exact, size = np.linalg.solve(-J, r), np.abs(J).max(axis=1)
    tolerance = max(1e-10, 1e-12 * np.linalg.cond(J / size[:, None]))
    assert np.abs(d - exact).max() < tolerance * np.abs(exact).max()


def check_widths(kernel, width, flats, **more):
    for flat in flats:
        rng, model, n = np.random.default_rng(0), Model(flat), 11
        states = [random_state(flat, rng, speed=10.0 ** rng.uniform(-2, 1.5)) for _ in range(n)]
        q, v = (np.ascontiguousarray(x) for x in map(np.array, zip(*states, strict=True)))
        rule = H if kernel == "batch_linear_time" else (H, 0.4)
        rows = [np.full((n, 3 * model.nv), np.nan) for _ in range(2)]
        for w, out in zip((1, width), rows, strict=True):
            getattr(lanes(w), kernel)(model.core, rule, q, model._momenta(q, v), H * v, v, out, **more)
        assert np.isfinite(rows[0]).all()
        assert rows[0].tobytes() == rows[1].tobytes()


def check_builds(stepper, draw, **options):
    """The one with more registers is chosen where it runs: a trajectory must not depend on that."""
    kinds = SCALAR if stepper == "midpoint" else KINDS
    flat = with_rotors(draw(np.random.default_rng(8), nbody=9, kinds=kinds, damping=True))
    model = Model(flat)
    q, v = random_state(flat, np.random.default_rng(9))
    ends = []
    for build in BUILDS:
        core = importlib.import_module(f"vitree._core.{build}")
        tableau = {"tableau": ([[0, 0], [0.5, 0]], [0, 1], [0, 0.5]), "moments": ((0, 1), 2)}
        more = tableau if stepper == "runge-kutta" else options
        run = core.ModelStepper(model.core, 0.004, method=stepper, **more)
        run.set_state(0.0, q, v)
        sizes = (1, (1, model.nq), (1, model.nv), 1, 1, (1, 0))
        records = Records(*(np.zeros(size, np.intc if k == 3 else float) for k, size in enumerate(sizes)), rows=0)
        assert run.run(200, 200, records) == 0 and records.rows == 1
        ends.append(b"".join(x.tobytes() for x in run.state()[1:]))
    assert len(ends) > 1 and set(ends) == {ends[0]}
