"""Capsules on boxes, and capsules that lie along a box or along each other: gaps, and runs that rest on both ends."""

import contact_reference as oracle
import numpy as np
import pytest
from contact_checks import axis, of, place, require_gap, require_rows, state, two_bodies
from scipy.optimize import lsq_linear

import vitree as vt
from vitree.model.candidates import ROD_BOX
from vitree.model.contacts import gaps_at

METHODS = ("linear-time", "midpoint", "rk4")
#: Takes z of a capsule along x.
ALONG_X = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))


def box_frame(model, q, box):
    X = of(model, q, "B").copy()
    X[:3, 3] = oracle.moved(X, box.position)
    X[:3, :3] = X[:3, :3] @ np.array(box.rotation)
    return X


@pytest.mark.parametrize("seed", range(5))
def test_capsules_against_boxes(seed):
    """The distance is that of a bounded least squares problem, and the rows are its derivative."""
    rng = np.random.default_rng(seed)
    box, capsule = vt.Box((0.4, 0.6, 0.8), **place(rng)), vt.Capsule(0.05, 0.7, **place(rng))
    model = two_bodies(vt.Contact("A", shapes=[capsule]), vt.Contact("B", shapes=[box]))
    half, sound = np.array((0.2, 0.3, 0.4)), []
    for _ in range(4):
        q = state(model, rng, 0.5)

        def touch(q):
            return oracle.capsule_box(axis(capsule, of(model, q, "A")), 0.05, box_frame(model, q, box), half)

        if touch(q).gap < -0.04:  # the axis is in the box, where the normal may jump
            assert model.contact_gaps(q).gap[0] == pytest.approx(touch(q).gap, abs=1e-12)
            continue
        require_gap(model, q, touch(q))
        X, ends = box_frame(model, q, box), axis(capsule, of(model, q, "A"))
        p, end = ((x - X[:3, 3]) @ X[:3, :3] for x in ends)
        best = lsq_linear(np.column_stack([end - p, -np.eye(3)]), -p, ([0, *-half], [1, *half]), tol=1e-14)
        assert model.contact_gaps(q).gap[0] == pytest.approx(np.sqrt(2 * best.cost) - 0.05, abs=1e-7)
        sound.append(require_rows(model, q, lambda q: touch(q).gap, touch(q), "A", "B"))
    assert np.mean(sound) >= 0.3


def test_a_capsule_through_a_box_has_the_depth_of_its_deepest_ball():
    rng = np.random.default_rng(1)
    model = two_bodies(vt.Contact("A", shapes=vt.Capsule(0.05, 0.7)), vt.Contact("B", shapes=vt.Box((0.4, 0.6, 0.8))))
    balls = two_bodies(vt.Contact("A", np.linspace((0, 0, -0.35), (0, 0, 0.35), 1401), 0.05),
                       vt.Contact("B", shapes=vt.Box((0.4, 0.6, 0.8))))  # fmt: skip
    for _ in range(30):
        q = state(model, rng, 0.1)
        least = balls.contact_gaps(q).gap.min()
        assert least - 2.6e-4 < model.contact_gaps(q).gap[0] < least + 1e-12


# ---- the ends -----------------------------------------------------------------------------------------------


def lying(against, rng, tilt):
    """A model of a capsule, and states in which it lies along another one or a face but for a small turn."""
    other = vt.Capsule(0.08, 0.5, rotation=ALONG_X) if against == "capsule" else vt.Box((0.5, 0.3, 0.2))
    model = two_bodies(vt.Contact("A", shapes=[vt.Capsule(0.05, 0.7, rotation=ALONG_X)]),
                       vt.Contact("B", shapes=[other]))  # fmt: skip
    high, aside = (0.15, 0.0) if against == "capsule" else (0.18, 0.1)
    for _ in range(60):
        q = model.neutral()
        q[:3] = rng.uniform(-0.5, 0.5), rng.uniform(-aside, aside), high + rng.uniform(0, 0.1)
        yaw = rng.uniform(-np.pi, np.pi) if against == "box" else 0.0
        q = model.integrate(q, np.array([0, 0, 0, 0, 0, yaw, *[0] * 6]))
        yield model, model.integrate(q, np.array([0, 0, 0, *tilt * rng.normal(size=3), *[0] * 6]))


def all_of(model, q):
    """Gaps of a pair, normals and points: of the closest points, and at the ends."""
    found = model.contact_candidates
    count = len(found.pair)
    assert found.pair_end.tolist() == list(range(count)) and count == (3 if len(found.box_body) else 5)
    return gaps_at(model, np.arange(count), np.zeros(count, int), q[None])


@pytest.mark.parametrize("against", ["capsule", "box"])
@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-5, 0.03, 0.3])
def test_the_gaps_of_the_ends_are_never_less_and_do_not_jump(against, tilt):
    """The least is the true one; what lies flat has two of it; far from flat the closest points alone count."""
    rng, both, compared = np.random.default_rng(int(1e3 * tilt)), 0, 0
    half = np.array((0.25, 0.15, 0.1))
    for model, q in lying(against, rng, tilt):

        def least(q, model=model):
            one, X = axis(vt.Capsule(0.05, 0.7, rotation=ALONG_X), of(model, q, "A")), of(model, q, "B")
            if against == "box":
                return oracle.capsule_box(one, 0.05, X, half).gap
            return oracle.capsule_capsule(one, 0.05, axis(vt.Capsule(0.08, 0.5, rotation=ALONG_X), X), 0.08).gap

        gap, n, x, _ = all_of(model, q)
        true = least(q)
        assert gap.min() == pytest.approx(true, abs=2e-12)
        np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, rtol=0, atol=1e-14)
        flat = np.flatnonzero(gap[1:] < true + 10 * tilt + 1e-14) + 1
        both += len(flat) >= 2 and np.ptp(x[flat], axis=0).max() > 0.01
        step = 1e-7 * rng.normal(size=12)
        after, near = all_of(model, model.integrate(q, step))[0], np.flatnonzero(gap[1:] < true + 0.01) + 1
        assert np.abs(after - gap)[near].max(initial=0.0) < 5 * np.linalg.norm(step)
        compared += len(near)
    assert compared > 15 or tilt == 0.3
    assert both >= (0 if tilt > 1e-3 else 15)


@pytest.mark.parametrize("length", [0.3, 2.0])
def test_contact_gaps_has_both_ends_of_what_lies_on_a_box(length):
    model = two_bodies(vt.Contact("A", shapes=vt.Capsule(0.1, length, rotation=ALONG_X)),
                       vt.Contact("B", shapes=vt.Box((1.0, 0.4, 0.2))))  # fmt: skip
    q = model.neutral()
    q[2] = 0.25
    found = model.contact_gaps(q)
    np.testing.assert_allclose(found.gap, [0.05, 0.05], rtol=0, atol=1e-15)
    reach = min(length, 1.0) / 2
    np.testing.assert_allclose(found.point_a, [(-reach, 0, 0.15), (reach, 0, 0.15)], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.normal, [(0, 0, 1)] * 2, rtol=0, atol=1e-15)
    assert len(model.contact_gaps(model.integrate(q, np.array([0, 0, 0, 0, 0.02, 0, *[0] * 6]))).gap) == 1


# ---- runs ---------------------------------------------------------------------------------------------------


def log(*shapes, length=1.0, **surface):
    """A free log along x, and what is fixed to the world."""
    tree = vt.Tree("log")
    tree.contact(vt.Contact("world", shapes=shapes, **{"friction": 0.5, **surface}))
    tree.world.add(vt.free("f"), vt.body("log", 10.0, (0.05, 0.9, 0.9)))
    tree.contact(vt.Contact("log", shapes=vt.Capsule(0.1, length, rotation=ALONG_X)))
    return tree.compile()


LOGS = [vt.Capsule(0.1, 1.0, position=(0, y, 0.0), rotation=ALONG_X) for y in (-0.1, 0.1)]
TABLE = vt.Box((0.6, 0.4, 0.2), position=(0, 0, -0.1))
#: What a log is put on, its length, its place (x, z), and its turn about z [rad].
RESTS = {
    "on two logs": (LOGS, 1.0, (0.0, 0.1 * 3**0.5), 0.0),
    "on two logs, beyond them": (LOGS, 1.0, (0.2, 0.1 * 3**0.5), 0.0),
    "on a table": ([TABLE], 0.4, (0.0, 0.1), 0.3), "beyond both edges": ([TABLE], 1.0, (0.1, 0.1), 0.0),
    "beyond two edges, turned": ([TABLE], 1.0, (0.1, 0.1), 0.3), "over a corner": ([TABLE], 1.0, (0.1, 0.1), 0.6),
    "an end on it": ([TABLE], 0.7, (0.15, 0.1), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rest", RESTS)
def test_a_log_rests_on_both_ends(rest, method):
    """It neither sinks nor rocks, and its points carry what the balance of moments says."""
    shapes, length, (x, z), yaw = RESTS[rest]
    model = log(*shapes, length=length)
    q = model.neutral()
    q[0], q[2] = x, z
    q = model.integrate(q, np.array([0, 0, 0, 0, 0, yaw]))
    run = vt.simulate(model, q, duration=0.5, dt=1e-3, method=method, monitors="gap")
    assert np.abs(run.q - q).max() < 1e-11 and not run.warnings
    assert run.monitors["gap"].min() > -1e-12
    moment, force = np.split(run.contact_wrench("log", about="log")[-1], 2)
    np.testing.assert_allclose(force, (0, 0, 98.1), rtol=0, atol=1e-6)
    np.testing.assert_allclose(moment, 0.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_log_slides_along_a_table_as_far_as_friction_says(method):
    """It goes v^2/(2 mu g) and no end lifts; beyond the edge it tips where weight and friction do, mu R before it."""
    model = log(vt.Box((1.0, 0.4, 0.2), position=(0, 0, -0.1)), length=0.6)
    q = model.neutral()
    q[:3] = 0.0, 0.0, 0.1
    run = vt.simulate(model, q, [1.2, 0, 0, 0, 0, 0], duration=0.4, dt=1e-3, method=method)
    assert run.q[-1, 0] == pytest.approx(1.2**2 / (2 * 0.5 * 9.81), abs=1e-5)
    assert run.q[-1, 0] + 0.3 < 0.5 and np.abs(run.q[:, 2] - 0.1).max() < 1e-11
    q[0] = 0.3
    run = vt.simulate(model, q, [2.0, 0, 0, 0, 0, 0], duration=0.25, dt=1e-3, method=method)
    tips = run.t[np.abs(run.q[:, 2] - 0.1) > 1e-9]
    assert len(tips) and run.q[np.searchsorted(run.t, tips[0]), 0] == pytest.approx(0.45, abs=5e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shapes", [[TABLE], LOGS])
def test_a_log_that_falls_comes_to_rest(shapes, method):
    """Dropped with a tilt and a turn it rattles from end to end and settles; nothing sinks, and energy falls."""
    model = log(*shapes)
    q = model.neutral()
    q[2] = 0.1 * 3**0.5 + 0.05 if len(shapes) == 2 else 0.15
    q = model.integrate(q, np.array([0, 0, 0, 0, 0.05, 0.02]))
    run = vt.simulate(model, q, duration=2.0, dt=1e-3, method=method, monitors="gap")
    # axes that come to cross within a step, by an angle a below 0.01, may be a^2 L^2/(16 R) too near in the middle
    assert run.monitors["gap"].min() > (-1e-11 if len(shapes) == 1 else -(0.01**2) / 1.6)
    assert np.diff(run.energy).max() < 2e-3
    assert np.ptp(run.q[-100:, 2]) < 1e-10 and abs(of(model, run.q[-1], "log")[2, 0]) < 1e-9


@pytest.mark.parametrize("shapes", [[TABLE], LOGS])
def test_an_elastic_log_rebounds_without_turning(shapes):
    model = log(*shapes, friction=0.0, restitution=1.0)
    q = model.neutral()
    q[2] = 0.1 * 3**0.5 + 0.05 if len(shapes) == 2 else 0.15
    run = vt.simulate(model, q, duration=1.0, dt=1e-3)
    assert np.ptp(run.energy) < 1e-9 and np.abs(run.q[:, 3:5]).max() < 1e-9
    assert run.q[500:, 2].max() == pytest.approx(q[2], abs=1e-5)


def test_the_core_has_the_gaps_of_python():
    """Two free capsules and a box tumble onto a floor: each record's gaps are those of its state."""
    tree = vt.Tree("heap")
    tree.contact(vt.Ground(friction=0.5))
    shapes = vt.Box((0.5, 0.4, 0.2)), vt.Capsule(0.06, 0.6, rotation=ALONG_X), vt.Capsule(0.05, 0.4)
    for k, shape in enumerate(shapes):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"b{k}", 1.0, (0.02, 0.02, 0.02)))
        tree.contact(vt.Contact(f"b{k}", shapes=shape))
    model = tree.compile()
    q = model.neutral()
    q[2], q[9], q[16] = 0.11, 0.4, 0.8
    v = np.random.default_rng(4).normal(size=model.nv)
    run = vt.simulate(model, q, v, duration=1.0, dt=1e-3, monitors=("gap", "momentum_balance"))
    found, log = model.contact_candidates, run.contacts
    first = len(found.body)
    some = np.flatnonzero(log.number >= first)
    assert len(set(found.pair_end[log.number[some] - first])) == 3
    assert (found.pair_kind[log.number[some] - first] == ROD_BOX).any()
    own = gaps_at(model, log.number[some], np.arange(len(some)), run.q[log.record[some]])[0]
    np.testing.assert_allclose(log.gap[some], own, rtol=0, atol=1e-11)
    assert run.monitors["gap"].min() > -1e-11
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-11
