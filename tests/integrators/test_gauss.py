"""Gauss collocation: steps of order 4 to 16 whose stages are lanes."""

from __future__ import annotations

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from directions import ALL, INPUTS, pairing, slopes
from loaded_models import PLACES, SINGLE, STENCIL, conservative_loads, driving_loads, end_error, fitted, random_tree
from places import DATA
from random_models import build_flat, chain_flat, random_flat, random_state, with_rotors
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree import _core
from vitree.integrators.gauss import STAGES, STIFF, gauss_nodes
from vitree.results import dense

CASES = json.loads((DATA / "gauss.json").read_text())["cases"]
ORDERS = tuple(STAGES)


def simulate(model, q=None, v=None, **more):
    return vt.simulate(model, q, v, **{"method": "gauss", **more})


def exact_end(model, q, v, duration, **more):
    return vt.simulate(model, q, v, duration=duration, dt=duration, method="scipy-dop853", rtol=1e-13, atol=1e-13,
                       **more)[-1]  # fmt: skip


# ---- coefficients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", STAGES.values())
def test_nodes_are_those_of_mpmath(s):
    """c, b, a, d and E in 50 digits; a_ij/b_j + a_ji/b_i = 1 to the last bit, which is symplecticity."""
    with mpmath.workdps(50):
        c = sorted((mpmath.findroot(lambda x: mpmath.legendre(s, x), x) + 1) / 2
                   for x in np.polynomial.legendre.leggauss(s)[0])  # fmt: skip
        powers = mpmath.matrix([[node**k for k in range(s)] for node in c])
        inverse = powers**-1  # l_j(x) = sum_k inverse[k, j] x^k
        integral = lambda j, x: sum(inverse[k, j] * x ** (k + 1) / (k + 1) for k in range(s))  # noqa: E731
        b = [integral(j, mpmath.mpf(1)) for j in range(s)]
        m = np.array([[float(integral(j, x) / b[j]) for j in range(s)] for x in c])
        d = [float(integral(j, mpmath.mpf(1) / 2)) for j in range(s)]
        E = np.zeros((5, s, 2 * s))
        for way, points in enumerate(((s + 1) // 2, s, (5 * s + 3) // 4, (3 * s + 1) // 2, 2 * s)):
            past = [*(x - 1 for x in c), *c][2 * s - points :]
            inverse = mpmath.matrix([[node**k for k in range(points)] for node in past]) ** -1
            E[way, :, 2 * s - points :] = [
                [float(sum(inverse[k, j] * (1 + x) ** k for k in range(points))) for j in range(points)] for x in c
            ]
    found = gauss_nodes(s)
    assert np.array_equal(found.c, [float(x) for x in c]) and np.array_equal(found.b, [float(x) for x in b])
    assert np.abs(found.m - m).max() < 1e-15 and np.abs(found.d - d).max() < 1e-16
    assert (np.abs(found.E - E).max(axis=(1, 2)) < 1e-15 * np.abs(E).max(axis=(1, 2))).all()
    assert (found.m + found.m.T == 1.0).all()


@pytest.mark.parametrize("s", STAGES.values())
def test_stiff_dampers_and_springs_are_contracted(s):
    """The iteration of v' = -c v and x'' = -k x, over all c and k: its matrix is below one."""
    nodes = gauss_nodes(s)
    a = nodes.m * nodes.b
    for D, A, most in zip(STIFF[s], (a, a @ a), (0.5, 0.85), strict=True):
        for x in np.logspace(-2, 8, 60):
            correction = np.linalg.solve(np.eye(s) + x * np.diag(D), np.eye(s) + x * A)
            assert np.abs(np.linalg.eigvals(np.eye(s) - correction)).max() < most, x


# ---- steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_steps_are_those_of_another_program(case):
    flat = {key: np.array(value) for key, value in case["flat"].items()}
    forces = {key: np.array(value) for key, value in case.get("forces", {}).items()}
    damping = forces.get("damping", np.zeros(len(case["p0"])))
    model = vt.Model(build_flat(
        case["name"], flat["gravity"], flat["kind"], flat["parent"], flat["E"], flat["p"], flat["pitch"], flat["mass"],
        flat["com"], flat["inertia"], damping))  # fmt: skip
    torque = None
    if forces:
        torque = lambda t, q, v: forces["amplitude"] * np.sin(forces["rate"] * t) - forces["spring"] * q  # noqa: E731
    for run in case["runs"]:
        order = {stages: order for order, stages in STAGES.items()}[run["stages"]]
        end = simulate(model, case["q0"], p0=case["p0"], duration=run["steps"] * case["h"], dt=case["h"], order=order,
                       tolerance=1e-14, max_iterations=100, control=torque)[-1]  # fmt: skip
        # rounding errors of a step, which grow over a hundred of a tumbling tree
        most = 1e-12 if run["steps"] == 1 else 1e-11
        assert np.abs(model.difference(np.array(run["q"]), end.q)).max() < most, run
        assert np.abs(np.array(run["p"]) - end.p).max() < 10 * most * max(1.0, np.abs(end.p).max()), run


@pytest.mark.parametrize(("order", "counts"), [(4, (40, 60, 80)), (6, (20, 28, 40)), (8, (14, 20, 28))])
@pytest.mark.parametrize(("base", "forced", "seed", "fewer"), [
    ("fixed", False, 7, 0), ("fixed", True, 3, 0), ("free", False, 3, 2), ("free", True, 5, 0)])  # fmt: skip
def test_order(order, counts, base, forced, seed, fewer):
    """On random trees of all kinds of joints, with and without loads and joint forces of time and state."""
    counts = [n - fewer for n in counts]  # so that errors stay above round-off
    speed, duration = (1.0, 0.4) if base == "fixed" else (2.0, 0.5 if forced else 0.6)
    flat, q, v = random_tree(seed, nbody=6, kinds=(*SINGLE, "ball"), base=base, damping=forced, speed=speed)
    model, more = vt.Model(flat), {}
    if forced:
        # but tables, whose pieces have kinks
        loads = [x for x in (*conservative_loads(flat), *driving_loads(flat)) if not isinstance(x, vt.NonlinearSpring)]
        model = vt.Model(replace(flat, loads=tuple(loads)))
        more = {"control": vt.Control(inputs={**INPUTS, "drive": lambda t: np.sin(4 * t)}, torque=lambda t, q,
                                      v: np.sin(3 * t + np.arange(model.nv)) - 0.3 * v)}  # fmt: skip
    exact = exact_end(model, q, v, duration, **more)
    errors = [end_error(model, exact, simulate(model, q, v, duration=duration, dt=duration / n, order=order,
                                               tolerance=1e-13, **more)[-1]) for n in counts]  # fmt: skip
    assert np.abs(fitted([1 / n for n in counts], errors) - order).max() < 0.3


@pytest.mark.parametrize("order", [12, 16])
def test_few_steps_of_high_order_are_exact(order):
    """Five steps of a tree, to 1e-10."""
    flat, q, v = random_tree(4, nbody=5, kinds=(*SINGLE, "ball"), base="free")
    model = vt.Model(flat)
    exact = exact_end(model, q, v, 0.1)
    assert max(end_error(model, exact, simulate(model, q, v, duration=0.1, dt=0.02, order=order)[-1])) < 1e-10


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", [SINGLE, ("revolute", "ball"), ("ball", "free")])
def test_steps_are_symplectic(kinds, order):
    """A^T Omega(p2) A = Omega(p1)."""
    rng = np.random.default_rng(8)
    flat = random_flat(rng, nbody=3, kinds=kinds, base="fixed" if kinds == SINGLE else "free")
    q, v = random_state(flat, rng)
    model, n, h = vt.Model(flat), len(v), 0.05
    p = model.generalized_momentum(q, v)

    def end(d):
        return simulate(model, model.integrate(q, d[:n]), p0=p + d[n:], duration=h, dt=h, order=order,
                        tolerance=1e-14)[-1]  # fmt: skip

    base = end(np.zeros(2 * n))

    def moved(d):
        to = end(d)
        return np.concatenate((model.difference(base.q, to.q), to.p - base.p))

    A = slopes(moved, 2 * n, 2e-3)
    kept = A.T @ pairing(flat, base.p) @ A
    assert np.abs(kept - pairing(flat, p)).max() < 1e-9 * np.abs(A).max() ** 2


@pytest.mark.parametrize("order", [4, 8, 16])
def test_momentum_is_kept_at_any_tolerance(order):
    """Of a tumbling tree with balls and free joints inside, to round-off, where the solver is loose."""
    flat = random_flat(np.random.default_rng(5), nbody=7, base="free", gravity=(0, 0, 0), kinds=ALL)
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    run = simulate(vt.Model(flat), q, v, duration=10.0, dt=0.01, order=order, tolerance=1e-3)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12 * np.abs(run.momentum[0]).max()
    assert np.abs(run.v[-1] - run.v[0]).max() > 0.1  # it tumbled


@pytest.mark.parametrize("order", [4, 8, 16])
def test_runs_are_reversible(order):
    flat = random_flat(np.random.default_rng(41), nbody=5, kinds=(*SINGLE, "ball"), base="free")
    model, (q, v) = vt.Model(flat), random_state(flat, np.random.default_rng(42), speed=0.7)
    out = simulate(model, q, v, duration=0.5, dt=0.01, order=order, tolerance=1e-14)[-1]
    back = simulate(model, out.q, p0=-out.p, duration=0.5, dt=0.01, order=order, tolerance=1e-14)[-1]
    assert np.abs(model.difference(q, back.q)).max() < 1e-10
    assert np.abs(back.v + v).max() < 1e-9


@pytest.mark.parametrize("order", [4, 8])
def test_the_discrete_action_is_stationary(order):
    """Two steps: the action of the polynomials through the stages, by differences of the Lagrangian, at fixed ends."""
    model = vt.Model(random_flat(np.random.default_rng(7), nbody=3, kinds=SINGLE))
    q, v = random_state(model.flat, np.random.default_rng(8))
    n, h, s = model.nv, 0.05, STAGES[order]
    nodes = gauss_nodes(s)
    a = nodes.m * nodes.b
    run = simulate(model, q, v, duration=2 * h, dt=h, order=order, tolerance=1e-14)

    def velocities_of(start):
        """The stages of a step, solved for by Newton's method from the run's state."""
        q0, p0, V = run.q[start], run.p[start], np.tile(run.v[start], s)

        def lack(x):
            V = x.reshape(s, n)
            Q = q0 + h * a @ V
            F = np.array([force(Q[j], V[j]) for j in range(s)])
            P = p0 + h * a @ F
            return np.ravel([P[j] - model.generalized_momentum(Q[j], V[j]) for j in range(s)])

        slope = slopes(lambda d: lack(V + d), s * n, 1e-3)
        for _ in range(8):
            V = V - np.linalg.solve(slope, lack(V))
        return V.reshape(s, n)

    def force(q, v):
        """dL/dq by differences."""
        return slopes(lambda d: np.array([model.lagrangian(q + d, v)]), n, 2e-3)[0]

    stages = [velocities_of(0), velocities_of(1)]
    for k in (0, 1):  # they are the run's
        assert np.abs(run.q[k] + h * nodes.b @ stages[k] - run.q[k + 1]).max() < 1e-9

    def action(V):
        total, at = 0.0, run.q[0]
        for step in V:
            total += h * sum(nodes.b[j] * model.lagrangian(at + h * a[j] @ step, step[j]) for j in range(s))
            at = at + h * nodes.b @ step
        return total

    # variations of all stages that leave the end where it is: b.dV = 0 over both steps
    free = 2 * s * n
    gradient = slopes(lambda d: np.array([action(np.array(stages) + d.reshape(2, s, n))]), free, 1e-3)[0]
    weights = np.kron(np.tile(h * nodes.b, 2)[None], np.eye(n))
    multipliers, *_ = np.linalg.lstsq(weights.T, gradient, rcond=None)
    assert np.abs(gradient - weights.T @ multipliers).max() < 1e-8 * np.abs(gradient).max()
    assert np.abs(gradient).max() > 1e-3


@pytest.mark.parametrize("order", [4, 6])
def test_the_action_of_a_floating_tree_generates_the_step(order):
    """dS = p1.dq1 - p0.dq0 under any change of the start and of the polynomials, S the action of a step by quadrature.

    The polynomials are those of the centre of mass, of the charts of turns about the middle of the step, and of the
    other joints.
    """
    flat = random_flat(np.random.default_rng(11), nbody=5, kinds=(*SINGLE, "ball"), base="free")
    model, h, s = vt.Model(flat), 0.05, STAGES[order]
    nodes = gauss_nodes(s)
    a = nodes.m * nodes.b
    q, v = random_state(flat, np.random.default_rng(12), speed=1.0)
    run = simulate(model, q, v, duration=h, dt=h, order=order, tolerance=1e-14, dense=True)
    turns = [(j.q_slice.stop - 4, j.v_slice.stop - 3) for j in flat.joints if j.kind in ("ball", "free")]
    lines = [(j.q_slice.start, j.v_slice.start) for j in flat.joints if j.kind in SINGLE]
    n, E, at = model.nv, flat.E[0], flat.p[0]

    def drift(q, v):
        """The velocity of the centre of mass, in the axes of the root at rest."""
        step = 1e-3
        ends = [model.center_of_mass(model.integrate(q, k * step * v)) for k in PLACES]
        return E.T @ np.tensordot(STENCIL, ends, 1) / step

    def place(q, X):
        """q with the centre of mass at X."""
        q = q.copy()
        q[:3] += X - E.T @ (model.center_of_mass(q) - at)
        return q

    def states(q0, rates, weights):
        """Configurations after the shares of the step in the rows of ``weights``; the rates at the first of them."""
        q = np.tile(q0, (len(weights), 1))
        for iq, iv in lines:
            q[:, iq] += h * weights @ rates[iv]
        for iq, iv in turns:
            z0 = -h * rates[iv : iv + 3] @ nodes.d
            z = z0 + h * weights @ rates[iv : iv + 3].T
            base = dense.product(q0[None, iq : iq + 4], dense.inverse(dense.chart(z0[None])))
            q[:, iq : iq + 4] = dense.product(np.tile(base, (len(z), 1)), dense.chart(z))
        X = E.T @ (model.center_of_mass(q0) - at) + h * weights @ rates[:3].T
        return np.array([place(*pair) for pair in zip(q, X, strict=True)])

    def velocities(q0, q, rates):
        v = rates.T.copy()
        for _, iv in turns:
            z0 = -h * rates[iv : iv + 3] @ nodes.d
            v[:, iv : iv + 3] = dense.velocity(z0 + h * a @ rates[iv : iv + 3].T, rates[iv : iv + 3].T)
        for k in range(s):
            R = Rotation.from_quat(q[k, 3:7]).as_matrix()
            v[k, :3] = 0.0
            v[k, :3] = R.T @ (rates[:3, k] - drift(q[k], v[k]))
        return v

    def step(d):
        """The action and the end, of the start and the rates of the polynomials off by d."""
        q0, rates = model.integrate(run.q[0], d[:n]), stages + d[n:].reshape(n, s)
        inner = states(q0, rates, a)
        v = velocities(q0, inner, rates)
        action = h * sum(nodes.b[k] * model.lagrangian(inner[k], v[k]) for k in range(s))
        return np.append(model.difference(run.q[1], states(q0, rates, nodes.b[None])[0]), action)

    stages = run.stages[0].copy()  # of the root, velocities of its origin: those of the centre of mass are asked for
    for _ in range(12):
        # the origin's velocities at the stages are those of the polynomials
        q0 = run.q[0]
        inner = states(q0, stages, a)
        v = velocities(q0, inner, stages)
        origin = [Rotation.from_quat(inner[k, 3:7]).as_matrix() @ v[k, :3] for k in range(s)]
        stages[:3] += run.stages[0][:3] - np.array(origin).T
    assert np.abs(step(np.zeros(n * (s + 1)))[:-1]).max() < 1e-12  # and lead to the run's end
    slope = slopes(step, n * (s + 1), 2e-3)
    expected = run.p[1] @ slope[:-1]
    expected[:n] -= run.p[0]
    assert np.abs(slope[-1] - expected).max() < 1e-8 * np.abs(run.p).max()


def two_floating_trees():
    """A scene of two of them and a fixed one, with springs, dampers and a drive inside each."""
    rng, tree = np.random.default_rng(3), vt.Tree("three")
    for k, base in enumerate((vt.free("a"), vt.free("b"), None)):
        at = tree.world.add(vt.tx(0.3 * k), vt.rx(0.4 + k))
        at = at.add(*([base] if base else []), vt.body(f"root{k}", 2.0, (0.05, 0.06, 0.07), com=(0.05, -0.1, 0.02)))
        at = at.add(vt.ry(f"r{k}", damping=0.1), vt.tz(-0.3), vt.body(f"x{k}", 1.0, (0.02,) * 3, com=(0.1, 0, 0.03)))
        at = at.add(vt.ball(f"s{k}"), vt.ty(0.2), vt.body(f"y{k}", 0.7, (0.01, 0.02, 0.02)))
        at.add(vt.tx(f"t{k}"), vt.body(f"z{k}", 0.4, (0.01,) * 3))
        tree.load(vt.Drive(f"r{k}", 30.0, 2.0, target=0.5), vt.JointSpring(f"t{k}", 40.0, 0.0))
    model = tree.compile()
    q = model.neutral()
    return model, model.integrate(q, 0.5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)


@pytest.mark.parametrize("order", [4, 8])
def test_trees_that_float_do_not_see_how_fast_or_that_they_fall(order):
    """Motion in a frame with 100 m/s, and with gravity: of the joints the same, of the roots that and V t + g t^2/2."""
    model, q, v = two_floating_trees()
    options = {"duration": 1.0, "dt": 0.02, "order": order, "tolerance": 1e-14}
    still = vt.Model(replace(model.flat, gravity=np.zeros(3)))
    fast, V = v.copy(), np.array([[60.0, -80.0, 20.0], [-30.0, 5.0, 90.0]])
    roots = [j for j in model.flat.joints if j.kind == "free"]
    for joint, by in zip(roots, V, strict=True):
        R = Rotation.from_quat(q[joint.q_slice][3:]).as_matrix()
        fast[joint.v_slice.start : joint.v_slice.start + 3] += R.T @ by
    run, moved = simulate(still, q, v, **options), simulate(model, q, fast, **options)
    expected = run.q[-1].copy()
    for k, (joint, by) in enumerate(zip(roots, V, strict=True)):
        g = Rotation.from_euler("x", 0.4 + k).inv().as_matrix() @ model.gravity
        expected[joint.q_slice.start : joint.q_slice.start + 3] += by + 0.5 * g
    off = model.difference(expected, moved.q[-1])
    fixed = [j.v_slice for j in model.flat.joints if j.name in ("r2", "s2", "t2")]
    assert np.abs(off[fixed[0]]).max() > 0.01  # gravity moves what hangs on the world
    for part in fixed:
        off[part] = 0.0
    assert np.abs(off).max() < 1e-11
    assert moved.iterations.mean() < 1.1 * run.iterations.mean() + 0.1


def test_energy_stays_over_many_steps():
    """Of a double pendulum, without drift."""
    model = vt.Model(chain_flat(2))
    run = simulate(model, [2.5, -0.4], duration=2000.0, dt=0.05, order=16, record_every=20)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8 * run.kinetic.max()


@pytest.mark.parametrize("order", ORDERS)
def test_every_width_gives_the_same_bits(order, monkeypatch):
    flat, q, v = random_tree(3, nbody=6, kinds=ALL, base="free", damping=True)
    single = np.array([j.kind in SINGLE for j in flat.joints for _ in range(j.v_slice.stop - j.v_slice.start)])
    flat, found = replace(flat, loads=conservative_loads(flat), friction=np.where(single, 0.1, 0.0)), set()
    for width in [w for w in _core.widths() if w <= _core.stages(STAGES[order])[0]]:
        monkeypatch.setattr(_core, "width", lambda width=width: width)
        model = vt.Model(flat)  # another one, so that no integrator that served before serves
        assert vt.METHODS["gauss"](model, 0.005, order=order).stepper.lanes_at_once == width
        run = simulate(model, q, v, duration=0.1, dt=0.005, order=order)
        found.add(run.q.tobytes() + run.p.tobytes() + run.residual.tobytes())
    assert len(found) == 1


# ---- how well steps resolve a motion --------------------------------------------------------------------------


@pytest.mark.parametrize("s", STAGES.values())
def test_the_last_coefficient_is_that_of_legendre(s):
    """Of any polynomial of the stages' degree, by NumPy's fit."""
    nodes, rng = gauss_nodes(s), np.random.default_rng(s)
    values = rng.normal(size=s)
    assert nodes.last @ values == pytest.approx(np.polynomial.legendre.legfit(2 * nodes.c - 1, values, s - 1)[-1])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 6])
def test_the_estimate_bounds_the_error_of_a_step(order, seed):
    """eta^2 is not below the error of v over the largest v, of turns and of translations, and not idle."""
    flat, q, v = random_tree(seed, nbody=5, kinds=(*SINGLE, "ball"), base="free" if seed % 2 else "fixed", speed=2.0)
    model = vt.Model(flat)
    h = {4: 0.004, 6: 0.01, 8: 0.02, 12: 0.03, 16: 0.04}[order]
    run = simulate(model, q, v, duration=h, dt=h, order=order, tolerance=1e-14, monitors="error")
    exact = exact_end(model, q, v, h)
    # errors of translations are lengths: both are measured against the larger velocity, by the model's size
    error = np.abs(run.v[-1] - exact.v).max() / np.abs(run.v).max()
    (found,) = run.monitors["error"]
    assert error < 2 * found + 1e-12
    assert found < 1e-2


@pytest.mark.parametrize("order", ORDERS)
def test_the_estimate_has_its_order(order):
    """eta falls with the power s - 1 of dt."""
    model, steps = vt.Model(chain_flat(3)), (0.04, 0.02)
    options = {"duration": 0.08, "order": order, "tolerance": 1e-14, "monitors": "error"}
    runs = [simulate(model, [1.0, 0.3, -0.4], [1.0, 2.0, -1.0], dt=dt, **options) for dt in steps]
    eta = [np.sqrt(run.monitors["error"].max()) for run in runs]
    assert np.log2(eta[0] / eta[1]) == pytest.approx(STAGES[order] - 1, abs=0.4)


@pytest.mark.parametrize(("order", "dt"), [(4, 0.4), (6, 0.4), (8, 0.4), (12, 0.6)])
def test_steps_too_long_are_told(order, dt):
    """Once, with the time, eta and a shorter dt; the dt that serves in the end is no tiny one."""
    model, duration, first = vt.Model(chain_flat(2)), 1.2, dt
    while True:
        run = simulate(model, [2.5, -0.4], [10.0, -15.0], duration=duration, dt=dt, order=order)
        said = [text for text in run.warnings if text.startswith("dt is too large")]
        if not said:
            break
        less = float(said[0].partition("Use dt = ")[2].split()[0])
        assert len(said) == 1 and less < 0.6 * dt and "eta = " in said[0] and "at t = " in said[0]
        dt = duration / np.ceil(duration / less)
    assert first > dt > {4: 0.015, 6: 0.05, 8: 0.1, 12: 0.2}[order]


@pytest.mark.parametrize("order", ORDERS)
def test_short_steps_raise_no_alarm(order):
    """Neither at rest nor where a motion begins from rest."""
    for q in ([np.pi, 0.0], [0.5, 0.2]):
        assert not simulate(vt.Model(chain_flat(2)), q, duration=1.0, dt=0.01, order=order).warnings


def test_a_fall_does_not_hide_joints():
    """Nor does the flight of a base."""
    flat, q, v = random_tree(3, nbody=4, kinds=("revolute",), base="free", speed=2.0)
    model, fast = vt.Model(replace(flat, gravity=np.zeros(3))), v.copy()
    fast[0] += 100.0
    options = {"duration": 0.1, "dt": 0.05, "order": 8, "tolerance": 1e-13, "monitors": "error"}
    found = [simulate(model, q, start, **options).monitors["error"] for start in (v, fast)]
    assert found[1].max() > 0.1 * found[0].max()  # and not the square of the velocities less


def test_the_estimate_goes_on_where_a_run_does():
    model, q = vt.Model(chain_flat(2)), [2.5, -0.4]
    whole = simulate(model, q, duration=1.0, dt=0.05, monitors="error")
    half = simulate(model, q, duration=0.5, dt=0.05)
    rest = half.resume(0.5, monitors="error")
    assert rest.monitors["error"].tobytes() == whole.monitors["error"][10:].tobytes()


# ---- forces -------------------------------------------------------------------------------------------------


def test_rotors_damping_and_friction():
    """Of trees with all of them, against rk8."""
    for base in ("fixed", "free"):
        flat, q, v = random_tree(9, nbody=5, kinds=(*SINGLE, "ball"), base=base, damping=True)
        single = np.array([j.kind in SINGLE for j in flat.joints for _ in range(j.v_slice.stop - j.v_slice.start)])
        flat = with_rotors(replace(flat, friction=np.where(single, 0.3, 0.0), friction_velocity=np.full(len(v), 1.0)))
        model = vt.Model(flat)
        torque = np.linspace(-1.0, 1.0, model.nv)
        exact = vt.simulate(model, q, v, duration=0.2, dt=5e-4, method="rk8", control=torque)[-1]
        assert max(end_error(model, exact, simulate(model, q, v, duration=0.2, dt=0.01, control=torque)[-1])) < 1e-9


def test_prescribed_coordinates_keep_the_order():
    flat, q, v = random_tree(2, nbody=6, speed=2.0)
    name, at = flat.joints[1].name, flat.joints[1].v_slice.start
    model = vt.Model(replace(flat, kinematic=np.arange(len(v)) == at))
    begun = float(q[flat.joints[1].q_slice][0])
    v[at] = 0.0
    more = {"control": vt.Control(prescribed={name: lambda t: begun + 0.3 * (1 - np.cos(4 * t))})}
    exact = vt.simulate(model, q, v, duration=0.8, dt=8e-4, method="rk8", record_every=1000, **more)[-1]
    counts = (10, 14, 20)
    runs = [simulate(model, q, v, duration=0.8, dt=0.8 / n, tolerance=1e-13, **more) for n in counts]
    errors = [end_error(model, exact, run[-1]) for run in runs]
    assert np.abs(fitted([1 / n for n in counts], errors) - 8).max() < 0.5
    assert runs[0].v[-1][at] == pytest.approx(1.2 * np.sin(3.2)) and runs[0].q[-1][at] == exact.q[at]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("damping", [1.0, 50.0, 1e4])
def test_stiff_dampers_need_no_small_steps(order, damping):
    """A chain in honey: it ends where long steps of the midpoint rule end."""
    model = vt.Model(chain_flat(5, damping=damping))
    run = simulate(model, np.full(5, 0.5), duration=1.0, dt=0.01, order=order)
    fine = vt.simulate(model, np.full(5, 0.5), duration=1.0, dt=0.002, method="midpoint", record_every=500)
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 1e-3 * max(1e-3, np.abs(fine.q[-1] - 0.5).max())
    assert run.settings["halved"] <= 2 and run.iterations.mean() < 30


@pytest.mark.parametrize("order", [4, 8, 16])
def test_stiff_springs_of_joints(order):
    """A stiff spring at rest at the end of a chain that moves slowly."""
    flat = chain_flat(3)
    model = vt.Model(replace(flat, loads=(vt.JointSpring(flat.joints[2].name, 1e6, 0.0),)))
    run = simulate(model, [0.4, 0.3, 0.0], duration=0.5, dt=0.01, order=order)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-2 * run.kinetic.max()
    assert np.abs(run.q[:, 2]).max() < 1e-3


def test_drives_are_taken_at_the_stages():
    flat = chain_flat(3)
    model = vt.Model(replace(flat, loads=tuple(vt.Drive(j.name, 200.0, 20.0, target=0.2) for j in flat.joints)))
    exact = vt.simulate(model, np.zeros(3), duration=0.5, dt=1e-4, method="rk8", record_every=5000)[-1]
    run = simulate(model, np.zeros(3), duration=0.5, dt=0.01, order=8)
    assert max(end_error(model, exact, run[-1])) < 1e-7


def test_functions_are_asked_at_the_stages():
    asked = []

    def torque(t, q, v):
        asked.append(t)
        return np.zeros(2)

    simulate(vt.Model(chain_flat(2)), [0.1, 0.2], duration=0.1, dt=0.1, order=8, control=torque)
    assert np.allclose(np.unique(np.round(asked, 12)), 0.1 * gauss_nodes(4).c)


# ---- the solver ---------------------------------------------------------------------------------------------


def test_at_rest_nothing_moves():
    """A hanging chain stays where it is, and rounding errors end no step."""
    model = vt.Model(chain_flat(6))
    run = simulate(model, np.array([np.pi, 0, 0, 0, 0, 0]), duration=2.0, dt=0.02)
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    run = simulate(vt.Model(chain_flat(6, gravity=(0, 0, 0))), np.linspace(0, 1, 6), duration=1.0, dt=0.1)
    assert (run.q == run.q[0]).all() and run.iterations_total == run.steps


def test_a_step_that_cannot_be_solved_is_halved():
    """A double pendulum of more than a turn a step."""
    model, start = vt.Model(chain_flat(2)), ([0.3, 0.4], [40.0, -70.0])
    run = simulate(model, *start, duration=0.3, dt=0.1, order=8)
    assert run.settings["halved"] > 0 and run.steps == 3
    assert np.abs(run.energy - run.energy[0]).max() < 0.1 * run.kinetic[0]
    with pytest.raises(vt.ConvergenceError, match="halve dt"):
        simulate(model, *start, duration=0.3, dt=0.1, order=8, max_halvings=0)


def test_failures_leave_the_state():
    model = vt.Model(chain_flat(4))
    with pytest.raises(vt.ConvergenceError, match="halve dt") as failure:
        simulate(model, np.full(4, 0.3), np.full(4, 5.0), duration=1.0, dt=0.05, max_iterations=2, max_halvings=3)
    assert len(failure.value.trajectory) == 1 and np.isfinite(failure.value.trajectory.p).all()
    held = vt.Simulation(model, np.full(4, 0.3), np.full(4, 5.0), dt=0.05, method="gauss", max_iterations=2,
                         max_halvings=3)
    before = held.q.copy(), held.p.copy(), held.t
    with pytest.raises(vt.ConvergenceError):
        held.step()
    assert np.array_equal(before[0], held.q) and np.array_equal(before[1], held.p) and held.t == before[2]


def test_nan_is_an_error():
    model = vt.Model(chain_flat(2))
    with pytest.raises(vt.VitreeError, match="NaN"):
        simulate(model, duration=0.1, dt=0.01, control=lambda t, q, v: np.full(2, np.nan))
    with pytest.raises(vt.ConvergenceError):
        simulate(model, [0.1, 0.2], [1e160, 0.0], duration=0.1, dt=0.01)
    with pytest.raises(vt.ConvergenceError):
        simulate(model, duration=1.0, dt=0.01, control=lambda t, q, v: np.full(2, 1e305))


def test_what_it_cannot_do_is_refused():
    chain = chain_flat(3)
    gear = vt.Model(replace(chain, constraints=(vt.gear(chain.joints[0].name, chain.joints[1].name, 2.0),)))
    with pytest.raises(vt.ModelError, match=r"linear-time(, | or )midpoint"):
        simulate(gear, duration=0.1, dt=0.01)
    limited = vt.Model(replace(chain, limits="enforce", joints=tuple(
        replace(j, lower=(-1.0,), upper=(1.0,)) for j in chain.joints)))  # fmt: skip
    with pytest.raises(vt.ModelError, match=r"linear-time(, | or )midpoint"):
        simulate(limited, duration=0.1, dt=0.01)
    model = vt.Model(chain)
    for more, text in (
        ({"order": 5}, "must be one of 4, 6, 8, 12, 16"), ({"order": "high"}, "must be one of"),
        ({"tolerance": 0.1}, "tolerance"), ({"max_iterations": 0}, "max_iterations"),
        ({"max_halvings": -1}, "max_halvings"),
    ):  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            simulate(model, duration=0.1, dt=0.01, **more)
    with pytest.raises(vt.InputError, match="q1"):
        simulate(model, q1=np.zeros(3), duration=0.1, dt=0.01)
    with pytest.raises(vt.UnknownNameError):
        simulate(model, duration=0.1, dt=0.01, solver="newton")


# ---- runs that are held, and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [4, 8, 16])
def test_a_run_resumes_bit_for_bit(order):
    flat, q, v = random_tree(3, nbody=5, kinds=ALL, base="free")
    model = vt.Model(flat)
    whole = simulate(model, q, v, duration=0.2, dt=0.01, order=order)
    half = simulate(model, q, v, duration=0.1, dt=0.01, order=order)
    rest = half.resume(0.1)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes() and rest.p[-1].tobytes() == whole.p[-1].tobytes()


# ---- long runs ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("order", [8, 16])
@pytest.mark.parametrize(("robot", "seed", "speed"), [("talos", 2, 0.25), ("human", 5, 0.15)])
def test_robots_tumble_for_long(robot, seed, speed, order):
    """100 s at 10 ms: all steps are solved, and momentum stays. No three hinges of a joint come near one plane.

    The human's motion is chaotic: at 0.25 rad/s one in ten starts that differ by rounding errors meets such a pose.
    """
    flat = vt.load_urdf(vt.find_robot(robot), base="free", gravity=(0, 0, 0)).flat
    model = vt.Model(replace(flat, damping=np.zeros_like(flat.damping), friction=np.zeros_like(flat.friction)))
    v = speed * np.random.default_rng(seed).normal(size=model.nv)
    run = simulate(model, model.neutral(), v, duration=100.0, dt=0.01, order=order, record_every=100)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert np.ptp(run.energy) < 1e-9 * run.energy[0] and run.settings["halved"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("order", [8, 16])
def test_a_chain_of_thirty_swings_for_long(order):
    model = vt.Model(chain_flat(30))
    run = simulate(model, np.full(30, 0.1), 0.2 * np.random.default_rng(1).normal(size=30), duration=100.0, dt=0.01,
                   order=order, record_every=100)  # fmt: skip
    assert np.ptp(run.energy) < {8: 1e-3, 16: 1e-6}[order] * np.abs(run.energy[0]) and run.settings["halved"] < 50


@pytest.mark.slow
def test_a_million_steps_drift_by_nothing():
    tree = vt.Tree("double pendulum")
    at = tree.world
    for name in "ab":
        at = at.add(vt.ry(name), vt.body(name, 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))).add(vt.tz(-1.0))
    run = simulate(tree.compile(), [0.6, -0.4], duration=50_000.0, dt=0.05, order=16, tolerance=1e-12,
                   record_every=1000)
    tenth = len(run.t) // 10
    drift = run.energy[-tenth:].mean() - run.energy[:tenth].mean()
    assert np.abs(drift) < 1e-11 * np.abs(run.energy[0])
