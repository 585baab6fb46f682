"""Torsional and rolling friction: closed forms, the cone of all friction, energy and momentum, other programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree._core import scalar

METHODS = ("linear-time", "midpoint")
G = 9.81
MASS, RADIUS = 2.0, 0.1
INERTIA = 0.4 * MASS * RADIUS**2


def resting(friction, shape=None, inertia=(INERTIA,) * 3, mass=MASS, tilt=0.0, **surface):
    """A body on a plane, and its configuration there: by default a ball. The ground is tilted about y."""
    normal = (np.sin(tilt), 0.0, np.cos(tilt))
    tree = vt.Tree("body")
    tree.world.add(vt.free("base"), vt.body("body", mass, inertia))
    ground = vt.Ground(normal=normal, friction=friction, **surface)
    tree.contact(ground, vt.Contact("body", shapes=shape or vt.Sphere(RADIUS)))
    model = tree.compile()
    q = model.neutral()
    if tilt:
        q[:3] = RADIUS * np.array(normal)
        return model, q
    return model, vt.place_on_ground(model, q)


def world(run):
    """Velocities of a run of a free body in world axes: of its origin, and angular."""
    R = Rotation.from_quat(run.q[:, 3:])
    return R.apply(run.v[:, :3].copy()), R.apply(run.v[:, 3:].copy())


# ---- closed forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_ball_that_spins_stops(method, dt):
    """It slows by spin N/I, and stands after omega I/(spin m g)."""
    spin, speed = 0.01, 5.0
    model, q = resting((0.5, spin, 0.002))
    run = vt.simulate(model, q, [0, 0, 0, 0, 0, speed], duration=0.3, dt=dt, method=method)
    rate = spin * MASS * G / INERTIA
    expected = np.maximum(speed - rate * run.t, 0.0)
    assert 0.1 < speed / rate < 0.25
    np.testing.assert_allclose(run.v[:, 5], expected, rtol=0, atol=1e-12)
    assert np.abs(run.v[run.t > speed / rate + dt]).max() < 1e-13
    assert np.abs(run.q[:, :3] - q[:3]).max() < 1e-13
    log = run.contacts
    turning = log.record < speed / rate / dt - 1
    np.testing.assert_allclose(log.torque[turning][1:, 2], -spin * MASS * G, rtol=1e-8)
    slips = speed - rate * (log.record[turning] - 0.5) * dt
    np.testing.assert_allclose(log.angular_slip[turning, 2], slips, rtol=0, atol=1e-10)


def rolling_rate(friction, roll, mass, radius, inertia):
    """Deceleration, slip ratio and torque of a body that rolls steadily: the cone of all friction is elliptic.

    Friction F of slip and the torque M of rolling obey (F/mu N)^2 + (M/roll N)^2 = 1, with slip and rate of turning in
    proportion to F/mu^2 and M/roll^2. With v = (R + s) omega: F = m (R + s) alpha, M = F R + I alpha.
    """
    s = 0.0
    for _ in range(100):
        ratio = mass * (radius + s) / (inertia + mass * radius * (radius + s))
        s = ratio * roll**2 / friction**2
    torque = mass * G / np.sqrt((ratio / friction) ** 2 + 1 / roll**2)
    alpha = torque / (inertia + mass * radius * (radius + s))
    return (radius + s) * alpha, s, torque


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("shape", "inertia"), [
    (vt.Sphere(RADIUS), INERTIA),
    (vt.Cylinder(RADIUS, 0.3, rotation=((1, 0, 0), (0, 0, -1), (0, 1, 0))), 0.5 * MASS * RADIUS**2),
], ids=["ball", "cylinder"])  # fmt: skip
def test_what_rolls_stops_within_the_distance(shape, inertia, method):
    friction, roll, omega = 0.5, 0.004, 4.0
    model, q = resting((friction, 0.01, roll), shape, (inertia,) * 3)
    rate, s, torque = rolling_rate(friction, roll, MASS, RADIUS, inertia)
    speed = omega * (RADIUS + s)
    # the slip is a few parts in a thousand, and most of the torque is that of rolling friction alone
    assert 0 < s < 1e-2 * RADIUS and 0.99 < torque / (roll * MASS * G) < 1
    distance = speed**2 / (2 * rate)
    errors = []
    for dt in (4e-3, 2e-3):
        run = vt.simulate(model, q, [speed, 0, 0, 0, omega, 0], duration=1.8, dt=dt, method=method)
        linear, angular = world(run)
        rolls = run.t < speed / rate - 2 * dt
        np.testing.assert_allclose(linear[rolls, 0], speed - rate * run.t[rolls], rtol=0, atol=1e-8)
        np.testing.assert_allclose(angular[rolls, 1], omega - rate / (RADIUS + s) * run.t[rolls], rtol=0, atol=1e-7)
        assert np.abs(run.v[-1]).max() < 1e-12
        errors.append(abs(run.q[-1, 0] - q[0] - distance))
        assert np.diff(run.energy).max() < 1e-12
    assert errors[0] < 2e-6 and errors[1] < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_on_a_slope_stands_below_the_threshold(method):
    """tan(angle) = 1/sqrt(1/mu^2 + R^2/roll^2), about roll/R: it stands just below, and rolls just above."""
    friction, roll = 0.7, 0.01
    threshold = np.arctan(1 / np.hypot(1 / friction, RADIUS / roll))
    assert threshold == pytest.approx(roll / RADIUS, rel=0.02)
    moved = []
    for share in (-1e-6, 1e-6, 1e-3):
        model, q = resting((friction, 0.0, roll), tilt=threshold * (1 + share))
        run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
        moved.append(np.linalg.norm(run.q[-1, :3] - q[:3]))
    assert moved[0] < 1e-12
    # just above it accelerates by about the excess of the slope's pull
    assert 1e-8 < moved[1] < 1e-6 and moved[2] == pytest.approx(1e3 * moved[1], rel=0.1)


def test_torsional_friction_does_not_keep_a_ball_from_rolling():
    """Without rolling friction a ball rolls down any slope as without torsional friction."""
    runs = []
    for friction in (0.7, (0.7, 0.02, 0.0)):
        model, q = resting(friction, tilt=0.1)
        runs.append(vt.simulate(model, q, duration=0.5, dt=1e-3))
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-10)
    way = np.linalg.norm(runs[0].q[-1, :3] - runs[0].q[0, :3])
    assert way == pytest.approx(0.5 * 5 / 7 * G * np.sin(0.1) * 0.5**2, rel=1e-4)


# ---- the cone of all friction --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_slip_and_spin_share_one_cone_of_second_order(method):
    """A point that slides and spins: dissipation is maximal within the ellipsoid; speeds fall by an exact equation."""
    friction, spin, m, inertia = 0.5, 0.05, 1.0, 0.02
    tree = vt.Tree("puck")
    tree.world.add(vt.free("base"), vt.body("puck", m, (0.01, 0.01, inertia)))
    tree.contact(vt.Contact("puck", points=[(0, 0, 0)]), vt.Ground(friction=(friction, spin, 0.0)))
    model = tree.compile()
    from scipy.integrate import solve_ivp

    def rates(_, y):
        size = np.hypot(friction * y[0], spin * y[1])
        return [-friction**2 * m * G * y[0] / size / m, -(spin**2) * m * G * y[1] / size / inertia]

    exact = solve_ivp(rates, (0, 0.1), [1.0, 12.0], rtol=1e-12, atol=1e-12).y[:, -1]
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = vt.simulate(model, v0=[1.0, 0, 0, 0, 0, 12.0], duration=0.1, dt=dt, method=method)
        linear, angular = world(run)
        errors.append(np.abs([linear[-1, 0] - exact[0], 0.1 * (angular[-1, 2] - exact[1])]).max())
    assert errors[-1] < 1e-6
    # half against the last step's slip and half against this one's
    assert np.log2(errors[0] / errors[1]) > 1.9 and np.log2(errors[1] / errors[2]) > 1.9
    log = run.contacts
    inside = (np.linalg.norm(log.force[:, :2], axis=1) / friction) ** 2 + (log.torque[:, 2] / spin) ** 2
    np.testing.assert_allclose(np.sqrt(inside[1:]), log.force[1:, 2], rtol=1e-4)
    assert (np.sqrt(inside) <= log.force[:, 2] * (1 + 1e-12)).all()


def law_is_obeyed(dim, mu, lead, lam, w, goal):
    """The law, written anew: the distance of the friction to that of maximal dissipation."""
    row = 0
    for size, friction, ahead in zip(dim, mu, lead, strict=True):
        normal, own = lam[row], w[row]
        assert normal >= -goal and own >= -goal and min(normal, own) <= goal
        if size > 1:
            at = slice(row + 1, row + size)
            beta, rate = lam[at] - ahead[: size - 1] * normal, w[at]
            bound = friction * max(normal, 0.0)
            assert np.linalg.norm(beta) <= bound * (1 + 1e-6) + goal
            # -rate.beta is the largest of all within the bound
            speed = np.linalg.norm(rate)
            assert -rate @ beta >= bound * speed - 1e3 * goal * (1 + bound)
        row += size
    return True


def test_random_problems_are_solved():
    """Contacts of all sizes, redundant ones included, with rows of rotation of all lengths; from any guess."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        count = int(rng.integers(1, 9))
        dim = rng.choice([1, 3, 4, 5, 6], count).tolist()
        n = sum(dim)
        lengths = [np.r_[np.ones(min(d, 3)), np.full(max(d - 3, 0), 10 ** rng.uniform(-4, 0))] for d in dim]
        A = np.concatenate(lengths)[:, None] * rng.standard_normal((n, int(rng.integers(3, n + 3))))
        G, b = A @ A.T, A @ rng.standard_normal(A.shape[1])
        mu, lead = rng.choice([0.05, 0.3, 1.0], count), np.zeros((count, 5))
        for k, d in enumerate(dim):
            if d > 1 and rng.random() < 0.4:
                u = rng.standard_normal(d - 1)
                mu[k] *= 0.5
                lead[k, : d - 1] = mu[k] * u / np.linalg.norm(u)
        goal = 1e-10 * np.abs(b).max()
        start = np.zeros(n) if rng.random() < 0.5 else rng.standard_normal(n)
        lam, w, residual, *_ = scalar().solve_cones(dim, G, b, mu, lead, start, goal)
        assert residual <= goal
        np.testing.assert_allclose(w, G @ lam + b, rtol=0, atol=1e-10 * (1 + np.abs(b).max()))
        assert law_is_obeyed(dim, mu, lead, lam, w, 1e-6 * np.abs(b).max())


# ---- energy, momentum, all shapes ----------------------------------------------------------------------------------

SHAPES = {
    "sphere": vt.Sphere(0.1), "capsule": vt.Capsule(0.06, 0.15), "box": vt.Box((0.2, 0.15, 0.1)),
    "cylinder": vt.Cylinder(0.1, 0.2), "cone": vt.Cone(0.1, 0.2), "ellipsoid": vt.Ellipsoid((0.1, 0.08, 0.12)),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SHAPES)
def test_thrown_bodies_lose_energy_and_nothing_else(name, method):
    for seed, friction in enumerate([(0.6, 0.005, 1e-4), (0.6, 0.05, 0.01), (0.3, 0.0, 0.02), (0.9, 0.03, 0.0)]):
        rng = np.random.default_rng(seed)
        tree = vt.Tree("thrown")
        tree.contact(vt.Ground(friction=friction))
        for k in range(2):
            tree.world.add(vt.free(f"base{k}"), vt.body(f"body{k}", 1.0, (0.01, 0.012, 0.011)))
            tree.contact(vt.Contact(f"body{k}", shapes=SHAPES[name]))
        model = tree.compile()
        poses = [np.r_[0.03 * rng.normal(size=2), 0.35 + 0.4 * k, rng.normal(size=3)] for k in range(2)]
        q = model.integrate(model.neutral(), np.concatenate(poses))
        monitors = ("gap", "contact_work", "momentum_balance")
        run = vt.simulate(model, q, rng.normal(size=12), duration=1.0, dt=1e-3, method=method, monitors=monitors)
        steps, residual = run.settings.get("inexact_contacts", (0, 0.0))[:2]
        assert steps <= 3 and run.monitors["gap"].min() > -1e-10 - steps * residual * 1e-3
        balance = np.abs(run.monitors["momentum_balance"])
        # a step that is taken in halves has its impulses at one place
        assert run.halves is not None or balance[:, 3:].max() < 1e-12
        assert name not in ("sphere", "capsule", "ellipsoid") or balance.max() < 1e-12
        assert run.energy[-1] < run.energy[0]
        # where gaps close a step is of first order in its energy
        assert np.diff(run.energy).max() < 0.05
        log = run.contacts
        assert np.isfinite(log.places).all()
        along = (log.force * log.normal).sum(axis=1)
        about = (log.torque * log.normal).sum(axis=1)
        slide, spin, roll = friction
        parts = [np.linalg.norm(log.force - along[:, None] * log.normal, axis=1) / slide]
        rest = np.linalg.norm(log.torque - about[:, None] * log.normal, axis=1)
        assert spin or np.abs(about).max() < 1e-12
        assert roll or rest.max() < 1e-12
        parts += [x / size for x, size in ((np.abs(about), spin), (rest, roll)) if size]
        assert (np.linalg.norm(parts, axis=0) <= along * (1 + 1e-6) + 1e-8).all()


def test_it_never_adds_energy_to_a_ball():
    model, q = resting((0.4, 0.01, 0.003))
    for method in METHODS:
        for v in ([1, 0.2, 0, 3, 8, 5], [0, 0, 0, 5, -3, 9], [2, 1, 0, 0, 0, 0]):
            run = vt.simulate(model, q, v, duration=2.0, dt=5e-3, method=method)
            assert np.diff(run.energy).max() < 1e-12
            log = run.contacts
            work = (log.angular_impulse * log.angular_slip).sum(axis=1) + (log.impulse * log.slip).sum(axis=1)
            assert work.max() < 1e-15


def test_work_and_wrench():
    model, q = resting((0.5, 0.01, 0.002))
    v = [1, 0.2, 0, 3, 8, 5]
    monitors = ("contact_work", "momentum_balance")
    run = vt.simulate(model, q, v, duration=1.0, dt=1e-3, monitors=monitors)
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-13
    assert run.monitors["contact_work"].sum() == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-3)
    wrench, log = run.contact_wrench("body", about="body"), run.contacts.of(100)
    arm = log.point_a[0] - run.q[99, :3]
    np.testing.assert_allclose(wrench[100, :3], np.cross(arm, log.force[0]) + log.torque[0], atol=1e-12)
    sim = vt.Simulation(model, q, v, dt=1e-3)
    for _ in range(100):
        sim.step()
    np.testing.assert_allclose(sim.contact_wrench("body", about="body"), wrench[100], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sim.contacts.torque, log.torque, rtol=1e-12)
    assert log.torque[0].any() and log.angular_slip[0].any()
    # what is resumed goes on, and what is saved has them
    again = vt.simulate(model, q, v, duration=0.5, dt=1e-3).resume(0.5)
    np.testing.assert_array_equal(again.q[-1], run.q[-1])


def test_files_keep_the_torques(tmp_path):
    model, q = resting((0.5, 0.01, 0.002))
    run = vt.simulate(model, q, [1, 0.2, 0, 3, 8, 5], duration=0.05, dt=1e-3)
    run.save(tmp_path / "run.npz")
    read = vt.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(read.contacts.torque, run.contacts.torque)
    np.testing.assert_array_equal(read[::5].contacts.angular_slip, run[::5].contacts.angular_slip)
    with pytest.raises(vt.InputError, match="torsional"):
        vt.results.contacts.ContactLog(np.zeros((1, 12)), (("a", "ground"),))


# ---- other methods, compliance, impacts ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["explicit-euler", "semi-implicit-euler", "implicit-euler", "rk4"])
def test_explicit_methods_have_it(method):
    spin, speed = 0.01, 5.0
    model, q = resting((0.5, spin, 0.002))
    run = vt.simulate(model, q, [0, 0, 0, 0, 0, speed], duration=0.3, dt=1e-3, method=method)
    expected = np.maximum(speed - spin * MASS * G / INERTIA * run.t, 0.0)
    np.testing.assert_allclose(run.v[:, 5], expected, rtol=0, atol=0.06)
    assert np.abs(run.v[-1]).max() < 1e-9


def test_springs_have_it():
    spin, speed = 0.01, 5.0
    model, q = resting((0.5, spin, 0.002), stiffness=1e5, damping=300.0)
    q[2] -= MASS * G / 1e5
    run = vt.simulate(model, q, [0, 0, 0, 0, 0, speed], duration=0.3, dt=1e-3)
    expected = np.maximum(speed - spin * MASS * G / INERTIA * run.t, 0.0)
    np.testing.assert_allclose(run.v[:, 5], expected, rtol=0, atol=0.02)


def test_a_ball_that_bounces_loses_spin():
    """The angular impulse of an impact is the coefficient times the normal one."""
    spin, speed = 0.01, 500.0
    for restitution in (0.4, 0.9):
        model, q = resting((0.5, spin, 0.0), restitution=restitution)
        q[2] += 0.2
        run = vt.simulate(model, q, [0, 0, 0, 0, 0, speed], duration=0.3, dt=1e-3)
        log = run.contacts
        assert len(log) and log.impulse[:, 2].sum() > (1 + restitution) * MASS * np.sqrt(2 * G * 0.2) * 0.99
        np.testing.assert_allclose(log.angular_impulse[:, 2], -spin * log.impulse[:, 2], rtol=1e-9)
        _, angular = world(run)
        assert angular[-1, 2] == pytest.approx(speed + log.angular_impulse[:, 2].sum() / INERTIA, rel=1e-9)


def test_impacts_that_are_located_have_it():
    model, q = resting((0.5, 0.01, 0.003), restitution=0.4)
    q[2] += 0.1
    monitors = ("contact_work", "momentum_balance", "gap")
    for method in METHODS:
        run = vt.simulate(model, q, [1, 0, 0, 3, 5, 20.0], duration=0.6, dt=2e-3, method=method, max_impacts=8,
                          monitors=monitors)  # fmt: skip
        assert np.abs(run.monitors["momentum_balance"]).max() < 1e-13 and run.monitors["gap"].min() > -1e-12
        assert np.diff(run.energy).max() < 1e-9 and run.contacts.torque.any()


@pytest.mark.parametrize("method", METHODS)
def test_a_wheel_in_a_plane_rolls_to_a_stop(method):
    """Rows of slip and rotation out of the plane have no response."""
    friction, roll, inertia, omega = 0.5, 0.004, 0.012, 4.0
    tree = vt.Tree("wheel")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("turn"), vt.body("wheel", MASS, (0.01, inertia, 0.01)))
    shape = vt.Disk(RADIUS, axis=(0, 1, 0))
    tree.contact(vt.Ground(friction=(friction, 0.02, roll)), vt.Contact("wheel", shapes=shape))
    rate, s, _ = rolling_rate(friction, roll, MASS, RADIUS, inertia)
    speed = omega * (RADIUS + s)
    run = vt.simulate(tree.compile(), [0, RADIUS, 0], [speed, 0, omega], duration=1.0, dt=2e-3, method=method)
    np.testing.assert_allclose(run.v[:, 0], speed - rate * run.t, rtol=0, atol=1e-8)
    assert run.settings.get("inexact_contacts") is None


# ---- forces of states ----------------------------------------------------------------------------------------------


def test_forces_of_states():
    friction, spin, roll = 0.5, 0.01, 0.002
    model, q = resting((friction, spin, roll))
    found = model.contact_forces(q, np.array([0, 0, 0, 0, 0, 3.0]))
    np.testing.assert_allclose(found.torque, [[0, 0, -spin * MASS * G]], atol=1e-12)
    np.testing.assert_allclose(found.angular_slip, [[0, 0, 3.0]], atol=1e-12)
    np.testing.assert_allclose(found.wrench("body", about=q[:3]), [0, 0, -spin * MASS * G, 0, 0, MASS * G], atol=1e-9)
    a = model.forward_dynamics(q, np.array([0, 0, 0, 0, 0, 3.0])).acceleration
    np.testing.assert_allclose(a, [0, 0, 0, 0, 0, -spin * MASS * G / INERTIA], atol=1e-9)
    # a torque below the bound does not turn it; one above it does, by the rest
    for share in (0.5, 2.0):
        tau = np.array([0, 0, 0, 0, 0, share * spin * MASS * G])
        a = model.forward_dynamics(q, np.zeros(6), tau).acceleration
        np.testing.assert_allclose(a[5], max(share - 1, 0) * spin * MASS * G / INERTIA, rtol=1e-9, atol=1e-9)
    v = np.array([1.0, 0.2, 0, 3.0, 8.0, 5.0])
    a = model.forward_dynamics(q, v).acceleration
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a), 0, atol=1e-9)
    # forces of a state are those of a step
    run = vt.simulate(model, q, v, duration=0.1, dt=1e-4)
    log, at = run.contacts.of(501), model.contact_forces(run.q[500], run.v[500])
    np.testing.assert_allclose(at.torque, log.torque, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(at.force, log.force, rtol=1e-3, atol=1e-5)


def test_sensors_feel_the_torque():
    spin = 0.01
    model, q = resting((0.5, spin, 0.0))
    run = vt.simulate(model, q, [0, 0, 0, 0, 0, 5.0], duration=0.05, dt=1e-3)
    read = vt.ContactSensor("body").read(run)
    np.testing.assert_allclose(read.torque[2:-2, 2], -spin * MASS * G, rtol=1e-6)


# ---- how it is given -----------------------------------------------------------------------------------------------


def test_coefficients_and_errors():
    assert vt.Ground(friction=(0.5, 0, 0)).friction == 0.5
    assert vt.Contact("a", friction=[0.5, 0.01, 0]).friction == (0.5, 0.01, 0.0)
    for wrong, words in (((0.5, 0.1), "2 numbers"), ((0.0, 0.1, 0.0), "need sliding"), ((0.5, -1, 0), "torsional"),
                         ((0.5, 0, np.nan), "rolling"), ((0.5, 0, 0, 0), "4 numbers")):  # fmt: skip
        with pytest.raises(vt.ModelError, match=words):
            vt.Ground(friction=wrong)
    with pytest.raises(vt.VitreeError, match="friction"):
        vt.Contact("a", friction="rough")


def test_pairs_have_the_larger_of_each():
    tree = vt.Tree("pair")
    for k in range(2):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (0.01,) * 3))
    tree.contact(vt.Contact("ball0", shapes=vt.Sphere(0.1), friction=(0.3, 0.02, 0.0)))
    tree.contact(vt.Contact("ball1", shapes=vt.Sphere(0.1), friction=0.6), vt.Ground(friction=(0.9, 0.01, 0.005)))
    found = tree.compile().contact_candidates
    np.testing.assert_array_equal(found.pair_numbers, [[0.6, 0.0, np.inf, 0.0, 0.02, 0.0, 0.0]])
    # against the ground they have their own
    np.testing.assert_array_equal(found.numbers[:, [0, 4, 5]], [[0.3, 0.02, 0.0], [0.6, 0.0, 0.0]])


def test_two_balls_twist_each_other():
    """Angular momentum about the line of centres is exchanged and kept."""
    tree = vt.Tree("pair", gravity=(0, 0, 0))
    for k in range(2):
        slide = vt.tx(f"x{k}")
        tree.world.add(slide, vt.rx(f"turn{k}"), vt.body(f"ball{k}", 1.0, (0.01,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(0.1), friction=(0.3, 0.02, 0.0)))
    tree.load(*(vt.JointForce(f"x{k}", (5.0, -5.0)[k]) for k in range(2)))
    model = tree.compile()
    run = vt.simulate(model, [-0.1, 0, 0.1, 0], [0, 4.0, 0, 0], duration=0.4, dt=1e-3)
    np.testing.assert_allclose(run.v[:, 1] + run.v[:, 3], 4.0, atol=1e-12)
    rate = 0.02 * 5.0 / 0.01
    np.testing.assert_allclose(run.v[:, 1], np.maximum(4.0 - rate * run.t, 2.0), atol=1e-9)


def test_expressions_keep_it():
    tree = vt.Tree("body")
    tree.world.add(vt.free("base"), vt.body("body", 1.0, (0.01,) * 3))
    tree.contact(vt.Contact("body", points=[(0, 0, 0)], friction=(0.3, 0.01, 0.0)))
    tree.contact(vt.Contact("body", shapes=vt.Sphere(0.1), friction=0.2), vt.Ground(friction=(0.5, 0.0, 0.002)))
    text = vt.write_sexpr(tree)
    read = vt.read_sexpr(text)
    assert read.ground.friction == (0.5, 0.0, 0.002)
    assert [each.friction for each in read.contacts] == [(0.3, 0.01, 0.0), 0.2]
    assert vt.write_sexpr(read) == text
    for wrong, words in (("(ground 0.5 (torsional-friction))", "missing"),
                         ("(ground 0 (rolling-friction 0.1))", "need"),
                         ("(ground 0.5 (torsional-friction 0.1) (torsional-friction 0.1))", "2 times"),
                         ('(contact "body" own (torsional-friction 0.1) (sphere 0.1))', "sliding")):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=words):
            vt.read_sexpr(f'(system (free "base" (body "body" 1 (0 0 0) (1 0 0 1 0 1))) {wrong})')


# ---- MuJoCo --------------------------------------------------------------------------------------------------------

FILE = """<mujoco><option cone="elliptic" timestep="1e-4" impratio="100" tolerance="1e-12" iterations="200"/>
<worldbody><geom type="plane" size="1 1 1" friction="{slide} {spin} {roll}" condim="{condim}" solref="0.0005 1"
 solimp="0.99 0.9999 0.0001"/><body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"
 friction="{slide} {spin} {roll}" condim="{condim}" solref="0.0005 1" solimp="0.99 0.9999 0.0001"/></body></worldbody>
</mujoco>"""


@pytest.mark.parametrize("condim", [3, 4, 6])
def test_a_ball_moves_as_in_mujoco(condim):
    mujoco = pytest.importorskip("mujoco")
    text = FILE.format(slide=0.5, spin=0.02, roll=0.004, condim=condim)
    expected = {3: 0.5, 4: (0.5, 0.02, 0.0), 6: (0.5, 0.02, 0.004)}[condim]
    reading = vt.load_mjcf(text)
    assert reading.ground.friction == expected
    assert [each.friction for each in reading.contacts if isinstance(each, vt.Contact)] == [expected]
    assert "torsional" not in str(vt.check_mjcf(text))
    there = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(there)
    data.qvel[:] = [1.0, 0.2, 0, 3.0, 8.0, 5.0]
    v0 = np.array([1.0, 0.2, 0, 3.0, 8.0, 5.0])
    run = vt.simulate(reading, vt.place_on_ground(reading, reading.neutral()), v0, duration=0.4, dt=1e-3)
    for _ in range(4000):
        mujoco.mj_step(there, data)
    # its contacts yield
    np.testing.assert_allclose(run.q[-1, :2], data.qpos[:2], atol=2e-3)
    linear, angular = world(run)
    np.testing.assert_allclose(linear[-1, :2], data.qvel[:2], atol=5e-3)
    R = Rotation.from_quat(data.qpos[[4, 5, 6, 3]])
    np.testing.assert_allclose(angular[-1], R.apply(data.qvel[3:]), atol=0.05)


def test_models_for_mujoco_have_it():
    pytest.importorskip("mujoco")
    from vitree.engines.mujoco import mujoco_model

    for friction, condim in ((0.5, 3), ((0.5, 0.01, 0.0), 4), ((0.5, 0.0, 0.002), 6)):
        model, _ = resting(friction)
        made = mujoco_model(model, 1e-3)
        slide, spin, roll = friction if isinstance(friction, tuple) else (friction, 0.0, 0.0)
        assert made.pair_dim.tolist() == [condim]
        np.testing.assert_allclose(made.pair_friction[0], [slide, slide, spin, roll, roll])
