"""Dry friction of joints: they stand exactly, slide as closed forms say, and lose energy only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat
from robot_texts import TWO_LINKS as TWO
from walkers import walker

import vitree as vt
from vitree._core import scalar
from vitree.mechanism.flat import KIND_NV, KINDS
from vitree.tree.sexpr import read_sexpr, write_sexpr

METHODS = ("linear-time", "midpoint")
G, SLOPE, MASS = 9.81, 0.5, 2.0
#: the friction that holds the block on its incline
ENOUGH = MASS * G * np.sin(SLOPE)
EXACT = {"tolerance": 1e-12}


def block(friction, **more):
    """A block on an incline; its coordinate grows downhill."""
    tree = vt.Tree("block")
    tree.world.add(vt.ry(SLOPE), vt.tx("slide", dry_friction=friction, **more), vt.body("block", MASS))
    return tree.compile()


def rubbing(flat, seed, size=1.0):
    """The flat tree with dry friction up to ``size`` on all joints of one coordinate."""
    rng = np.random.default_rng(seed)
    nv = KIND_NV[flat.kind]
    single = np.repeat(nv == 1, nv)
    return replace(flat, dry_friction=np.where(single, rng.uniform(0.1, 1, nv.sum()) * size, 0.0))


# ---- one joint ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_block_stands_below_the_threshold_and_slides_exactly_above_it(method):
    for share in (0.5, 1e-3, 1e-6):
        run = vt.simulate(block(ENOUGH * (1 + share)), duration=2.0, dt=1e-3, method=method)
        assert np.abs(run.q).max() < 1e-13
        assert np.abs(run.v).max() < 1e-13
    for share in (0.3, 1e-3, 1e-6, 1e-9):
        run = vt.simulate(block(ENOUGH * (1 - share)), duration=1.0, dt=1e-3, method=method)
        a = share * ENOUGH / MASS
        np.testing.assert_allclose(run.q[:, 0], 0.5 * a * run.t**2, rtol=1e-6, atol=1e-11)
        np.testing.assert_allclose(run.v[:, 0], a * run.t, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("how", [{"method": "linear-time"}, {"method": "midpoint"}, {"method": "implicit-euler"},
                                 *({"method": "midpoint", "alpha": alpha} for alpha in (0.2, 0.9)),
                                 {"method": "midpoint", "alpha": 0.9, "kinetic": "midpoint"}])  # fmt: skip
def test_a_standing_joint_keeps_its_place_for_long(how):
    run = vt.simulate(block(1.1 * ENOUGH), [0.3], duration=100.0, dt=5e-3, record_every=100, **how)
    assert np.abs(run.q - 0.3).max() < 1e-13


@pytest.mark.parametrize("method", METHODS)
def test_a_block_that_slides_uphill_stops_and_stays(method):
    """v0 against g sin + f/m, then nothing."""
    friction, v0 = 1.2 * ENOUGH, -3.0
    run = vt.simulate(block(friction), v0=[v0], duration=1.0, dt=1e-3, method=method)
    a = G * np.sin(SLOPE) + friction / MASS
    np.testing.assert_allclose(run.q[-1, 0], -0.5 * v0 * v0 / a, rtol=2e-3)
    stands = run.t > -v0 / a + 2e-3
    assert np.ptp(run.q[stands]) < 1e-13 and np.abs(run.v[stands]).max() < 1e-13


def oscillator(friction=0.5, k=10.0):
    tree = vt.Tree("oscillator", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x", dry_friction=friction), vt.body("b", 1.0))
    tree.load(vt.JointSpring("x", k))
    return tree.compile()


def swings(t, x0=1.0, friction=0.5, k=10.0):
    """The oscillator's closed form: about d and -d by turns, with amplitudes that fall by 2 d."""
    w, d = np.sqrt(k), friction / k
    n = np.floor(w * t / np.pi)
    size = x0 - (2 * n + 1) * d
    rest = int(np.ceil(0.5 * (x0 / d - 1)))
    x = np.where(n % 2 == 0, 1, -1) * d + size * np.cos(w * t)
    return np.where(n < rest, x, (-1) ** rest * (x0 - 2 * rest * d))


@pytest.mark.parametrize("method", METHODS)
def test_an_oscillator_is_of_second_order_between_turns_and_comes_to_rest(method):
    model, w, d = oscillator(), np.sqrt(10.0), 0.05
    errors, long = [], []
    for n in (40, 80, 160):
        T = 0.95 * np.pi / w
        run = vt.simulate(model, [1.0], duration=T, dt=T / n, method=method, **EXACT)
        v = -w * (1 - d) * np.sin(w * run.t)
        errors.append(max(np.abs(run.q[:, 0] - swings(run.t)).max(), np.abs(run.v[:, 0] - v).max()))
        run = vt.simulate(model, [1.0], duration=12.0, dt=1.0 / n, method=method)
        long.append(np.abs(run.q[:, 0] - swings(run.t)).max() * n)
        assert np.ptp(run.q[run.t > 11]) < 1e-13 and np.abs(run.v[-1]).max() < 1e-15
    assert np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 2).max() < 0.1
    # each turn costs up to the order of a step, dt = 1/n
    assert max(long) < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_energy_never_grows_and_its_loss_is_the_work(method):
    run = vt.simulate(oscillator(), [1.0], duration=8.0, dt=1e-2, method=method, monitors=("contact_work",))
    assert np.diff(run.energy).max() < 1e-15
    # the first impulse is that of half a step from rest: it takes what gravity and springs give within the step
    assert run.monitors["contact_work"][1:].max() < 1e-12
    assert abs(run.monitors["contact_work"].sum() - (run.energy[-1] - run.energy[0])) < 2e-3
    work = -0.5 * np.abs(np.diff(run.q[:, 0])).sum()
    assert abs(run.monitors["contact_work"].sum() - work) < 1e-2


def test_sliding_there_and_back_is_not_reversible_and_without_friction_it_is():
    for friction, turns in ((0.5, False), (0.0, True)):
        model = oscillator(friction)
        there = vt.simulate(model, [1.0], duration=0.8, dt=1e-2, **EXACT)
        back = vt.simulate(model, there.q[-1], -there.v[-1], duration=0.8, dt=1e-2, **EXACT)
        assert (abs(back.q[-1, 0] - 1.0) < 1e-8) == turns


# ---- mechanisms ---------------------------------------------------------------------------------------------


def test_four_hundred_random_trees_with_dry_friction_are_solved():
    for seed in range(400):
        rng = np.random.default_rng(seed)
        model = vt.Model(rubbing(random_flat(rng, int(rng.integers(1, 7)), KINDS), seed, 10.0 ** rng.uniform(-1, 1.5)))
        q, v = model.random_configuration(rng), rng.standard_normal(model.nv)
        run = vt.simulate(model, q, v, duration=0.05, dt=5e-3, method=METHODS[seed % 2])
        assert run.settings["halved"] <= 2
        assert np.isfinite(run.energy).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_whose_joints_rub_comes_to_rest_and_stays(method, seed):
    model = vt.Model(rubbing(random_flat(np.random.default_rng(seed), 4, ("revolute", "prismatic")), seed, 300.0))
    rng = np.random.default_rng(seed)
    run = vt.simulate(model, v0=rng.standard_normal(model.nv), duration=3.0, dt=2e-3, method=method)
    assert np.abs(run.v[-1]).max() < 1e-12
    assert np.abs(run.q[-300:] - run.q[-1]).max() < 1e-12
    # the work of friction is what is lost
    assert run.energy[-1] < run.energy[0]


def test_sharp_friction_is_the_limit_of_the_smooth_one():
    flat = random_flat(np.random.default_rng(5), 3, ("revolute",))
    dry = vt.Model(rubbing(flat, 5, 2.0))
    v = np.array([1.0, -0.5, 0.8])
    exact = vt.simulate(dry, v0=v, duration=0.5, dt=1e-3).q[-1]
    away = []
    for slow in (1e-2, 1e-3):
        smooth = vt.Model(replace(flat, friction=dry.dry_friction, friction_velocity=np.full(3, slow)))
        away.append(np.abs(vt.simulate(smooth, v0=v, duration=0.5, dt=2.5e-4).q[-1] - exact).max())
    assert away[1] < 0.3 * away[0] and away[1] < 1e-3


def arm():
    tree = vt.Tree("arm")
    at = tree.world.add(vt.free("base"), vt.body("trunk", 3.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("trunk", points=[(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]))
    tree.contact(vt.Ground(friction=0.6))
    for k, name in enumerate("abc"):
        at = at.add(vt.ry(name, dry_friction=0.6, lower=-1.0, upper=0.5), vt.tz(0.2),
                    vt.body(f"link {name}", 0.05, (0.01, 0.01, 0.01)))  # fmt: skip
        if k == 1:
            at.add(vt.rx("swing", dry_friction=0.02, kinematic=True), vt.body("fan", 0.05, (0.01, 0.01, 0.01)))
    tree.constrain(vt.gear("c", "b", 0.5))
    tree.limits = "enforce"
    return tree.compile().with_drives({"a": (8.0, 0.5)})


@pytest.mark.parametrize("joints", [2, 6, 20])
def test_feet_with_joints_that_rub_have_the_impulses_of_the_whole_problem(joints):
    """Joints that stand are eliminated with their response; laws hold, and so do the impulses of the entries of G."""
    rng = np.random.default_rng(joints)
    body = np.array([0, 1])
    n, p = 3 * len(body) + joints, 12 + joints
    turned = [0, 0]
    for _ in range(5):
        L = rng.normal(size=(p, p))
        P = L @ L.T / p + 0.1 * np.eye(p)
        W = np.zeros((n, p))
        for k, on in enumerate(body):
            W[3 * k : 3 * k + 3, 6 * on : 6 * on + 6] = rng.normal(size=(3, 6))
        W[n - joints :, 12:] = np.eye(joints)
        b, mu = rng.normal(size=n), np.concatenate([rng.uniform(0.2, 1.0, len(body)), rng.uniform(0.0, 1.0, joints)])
        rows = np.array([W[k, 6 * body[k // 3] : 6 * body[k // 3] + 6] for k in range(n - joints)])
        lead, start, goal = np.zeros((1, len(body), 2)), np.zeros((1, n)), np.array([1e-12])
        lam, left = scalar().solve_in_ports(body, rows[None], rows[None], P[None], b[None], mu[None], lead, start, goal,
                                            joints)  # fmt: skip
        G = W @ P @ W.T
        dim, law = [3] * len(body) + [1] * joints, [0] * len(body) + [2] * joints
        _, w, residual, *_ = scalar().solve_cones(dim, G, b, mu, np.zeros((len(dim), 2)), np.zeros(n), 1e-12, law)
        assert left[0] < 1e-11 and residual < 1e-11
        np.testing.assert_allclose(G @ lam[0] + b, w, atol=1e-9)
        f, w = lam[0, n - joints :], (G @ lam[0] + b)[n - joints :]
        stand = np.abs(f) < mu[len(body) :] - 1e-9
        assert (np.abs(w[stand]) < 1e-10).all() and (np.abs(f) <= mu[len(body) :] + 1e-10).all()
        assert (w[~stand] * f[~stand] <= 0).all()
        turned[0], turned[1] = turned[0] + stand.sum(), turned[1] + (~stand).sum()
    assert min(turned) > 0


@pytest.mark.parametrize("legs, friction", [(4, 0.3), (4, 1.0), (3, 2.0)])
def test_legs_on_the_ground_come_to_rest_on_joints_that_rub(legs, friction):
    """Feet and joints that stick have more rows than motions; few corrections solve them, and nothing creeps."""
    model, halved = walker("points", legs, dry=friction), 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        bent = np.where(np.arange(model.nv) < 6, 0.0, rng.normal(size=model.nv))
        q = model.integrate(model.neutral(), 0.03 * bent)
        v = 0.05 * rng.normal(size=model.nv)
        run = vt.simulate(model, vt.place_on_ground(model, q), v, duration=2.0, dt=2e-3)
        assert np.abs(run.v[-1]).max() < 1e-12 and np.abs(run.q[-300:] - run.q[-1]).max() < 1e-13
        assert run.iterations.mean() < 1.5 and run.iterations.max() < 30
        halved += run.settings["halved"]
    assert halved <= 4


@pytest.mark.parametrize("method", METHODS)
def test_dry_friction_acts_with_contacts_limits_drives_and_gears(method, tmp_path):
    model = arm()
    q = vt.place_on_ground(model, model.neutral())
    a, b = (model.joint(name).q_slice.start for name in "ab")
    start = {"dt": 2e-3, "method": method, "control": vt.Control(prescribed={"swing": lambda t: 0.3 * np.sin(t)},
                                                                 targets=[0.35])}
    run = vt.simulate(model, q, duration=1.5, monitors=("contact_work", "momentum_balance", "gap"), **start)
    assert run.q[:, [a, b]].max() < 0.5 + 1e-9 and np.abs(run.constraint).max() < 1e-11
    # the drive moves a, which stands off its target by what friction holds
    assert 1e-3 < abs(run.q[-1, a] - 0.35) < 0.1
    assert np.abs(np.delete(run.v[-1], model.joint("swing").v_slice.start)).max() < 1e-5
    names = {run.contacts.names[k] for k in set(run.contacts.number.tolist())}
    assert {("a", "dry friction"), ("b", "dry friction"), ("c", "dry friction"), ("trunk", "ground")} <= names
    assert ("swing", "dry friction") not in run.contacts.names
    assert run.monitors["gap"].min() > -1e-9
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-11
    assert run.contacts.touching == ("trunk",)
    of_a = run.contacts.number == run.contacts.names.index(("a", "dry friction"))
    assert np.abs(run.contacts.force[of_a][2:, 0]).max() < 0.6 * (1 + 1e-9)
    assert (run.contacts.force[of_a, 0] * run.contacts.slip[of_a, 0] < 1e-9).all()
    part = vt.Trajectory.load(vt.simulate(model, q, duration=0.3, **start).save(tmp_path / "run.npz"))
    rest = part.resume(1.2, model=model, control=start["control"])
    assert rest.q.tobytes() == run.q[150:].tobytes() and rest.v[1:].tobytes() == run.v[151:].tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_a_blow_starts_a_joint_that_stands(method):
    """After a blow friction of half a step acts at its node, as at a start."""
    model = block(1.5 * ENOUGH)
    impulse = vt.Impulse("block", (4.0, 0, 0), 0.2, axes="local")
    run = vt.simulate(model, duration=0.5, dt=1e-3, method=method, wrenches=[impulse])
    assert np.abs(run.q[run.t < 0.2]).max() < 1e-13
    v0, a = 4.0 / MASS, -0.5 * ENOUGH / MASS
    t = run.t[run.t > 0.2] - 0.2
    np.testing.assert_allclose(run.q[run.t > 0.2, 0], v0 * t + 0.5 * a * t * t, rtol=0, atol=1e-9)


def test_steps_of_several_lengths():
    spans = np.tile([1e-3, 3e-3, 2e-3], 60)
    for method in METHODS:
        run = vt.simulate(block(0.5 * ENOUGH), dt=spans, method=method)
        a = 0.5 * ENOUGH / MASS
        np.testing.assert_allclose(run.q[:, 0], 0.5 * a * run.t**2, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.v[:, 0], a * run.t, rtol=0, atol=1e-12)


def test_a_reduced_model_has_the_friction_of_its_followers():
    tree = vt.Tree("geared", gravity=(0, 0, 0))
    for name, friction in (("a", 0.3), ("b", 0.1)):
        tree.world.add(vt.rx(name, dry_friction=friction), vt.body(f"link {name}", 1.0, (1.0, 1.0, 1.0)))
    tree.constrain(vt.gear("b", "a", 2.0))
    model = tree.compile().reduced()
    np.testing.assert_allclose(model.dry_friction, [0.3 + 2 * 0.1])
    push = np.zeros(1)
    for torque, moves in ((0.49, False), (0.51, True)):
        push[0] = torque
        run = vt.simulate(model, duration=1.0, dt=2e-3, control=push)
        if moves:
            np.testing.assert_allclose(run.q[-1], 0.5 * (torque - 0.5) / (1 + 4), rtol=1e-6)
        else:
            assert np.abs(run.q).max() < 1e-13


def test_a_reduced_model_projects_velocities_as_its_full_model():
    tree = vt.Tree("tandem")
    at = tree.world.add(vt.tx("x"), vt.ty("y"), vt.rz("turn"), vt.body("frame", 2.0, (0.1, 0.2, 0.3)))
    for name, ahead in (("rear", -0.4), ("front", 0.4)):
        at.add(vt.tx(ahead), vt.rz(f"{name} steering"), vt.body(name, 0.2, (0.01, 0.01, 0.01)))
        tree.roll(vt.RollingConstraint(name))
    tree.constrain(vt.gear("front steering", "rear steering", -1.0))
    full = tree.compile()
    model, rng = full.reduced(), np.random.default_rng(0)
    q, v = rng.standard_normal(4), rng.standard_normal(4)
    found = model.project_velocity(q, v)
    np.testing.assert_allclose(model.expand_velocity(found),
                               full.project_velocity(model.expand(q), model.expand_velocity(v)), atol=1e-12)
    runs = [vt.simulate(m, *x, duration=0.5, dt=1e-2, tolerance=1e-12) for m, x in (
        (model, (q, found)), (full, (model.expand(q), model.expand_velocity(found))))]
    np.testing.assert_allclose(model.expand(runs[0].q[-1]), runs[1].q[-1], rtol=0, atol=1e-9)


# ---- files, names, refusals ---------------------------------------------------------------------------------


def test_the_friction_of_a_robot_file_is_smooth_or_dry():
    text = TWO.replace('damping="0.25"', 'damping="0.1" friction="0.25"')
    smooth, dry = vt.load_urdf(text), vt.load_urdf(text, friction="dry")
    assert smooth.friction.max() == 0.25 and not smooth.dry_friction.any()
    assert dry.dry_friction.max() == 0.25 and not dry.friction.any()
    np.testing.assert_array_equal(smooth.damping, dry.damping)
    assert smooth != dry
    with pytest.raises(vt.InputError, match='"smooth", "dry"'):
        vt.load_urdf(text, friction="sticky")
    # as friction of a file, which says not which; both at once it cannot say
    again = vt.load_urdf(vt.write_urdf(dry), friction="dry")
    np.testing.assert_array_equal(again.dry_friction, dry.dry_friction)
    both = vt.Model(replace(dry.flat, friction=np.full(dry.nv, 0.1)))
    with pytest.raises(vt.ModelError, match="dry friction beside the smooth one"):
        vt.write_urdf(both)


def test_dry_friction_is_written_and_read():
    tree = vt.Tree("t")
    tree.world.add(vt.tx("x", dry_friction=0.4), vt.rz("z", friction=0.2), vt.body("a", 1.0, (1, 1, 1)))
    again = read_sexpr(write_sexpr(tree))
    assert "(dry-friction 0.4)" in write_sexpr(tree)
    assert again.compile() == tree.compile()
    euler = tree.compile().euler()
    np.testing.assert_array_equal(euler.dry_friction, [0.4, 0.0])


def test_what_cannot_be_is_refused():
    for bad in (-1.0, np.nan, np.inf, "a"):
        tree = vt.Tree("t")
        tree.world.add(vt.tx("x", dry_friction=bad), vt.body("a", 1.0))
        with pytest.raises(vt.ModelError, match='dry_friction of "x"'):
            tree.compile()
    tree = vt.Tree("t")
    tree.world.add(vt.free("base", dry_friction=1.0), vt.body("a", 1.0, (1, 1, 1)))
    with pytest.raises(vt.ModelError, match="dry friction, but only joints of one coordinate"):
        tree.compile()
    model = block(1.0)
    for bad in (np.full(1, -1.0), np.full(1, np.nan)):
        with pytest.raises(vt.ModelError, match="dry_friction"):
            replace(model.flat, dry_friction=bad)
    for method in set(vt.METHODS) - {*METHODS, "implicit-euler"}:
        with pytest.raises(vt.ModelError, match=r"dry friction.*linear-time, midpoint or implicit-euler"):
            vt.simulate(model, duration=0.1, dt=1e-2, method=method)


def test_models_without_dry_friction_keep_their_digest_and_bits():
    flat = random_flat(np.random.default_rng(1), 3, ("revolute", "ball"))
    assert vt.Model(flat).digest == vt.Model(replace(flat, dry_friction=np.zeros(flat.damping.size))).digest
    assert not vt.Model(flat).has_contact
