"""Pairs of convex shapes: distances, falls, stacks, slides and rolling, what is told of them, and runs that resume."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import vitree as vt

KINDS = ("sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull")
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
METHODS = ("linear-time", "midpoint")
G = 9.81


def shaped(rng, kind):
    """A shape of any size."""
    a, b, c = rng.uniform(0.08, 0.2, 3).tolist()
    if kind == "hull":
        points = rng.normal(size=(20, 3))
        return vt.Hull(a * points / np.linalg.norm(points, axis=1)[:, None])
    return {
        "sphere": lambda: vt.Sphere(a), "capsule": lambda: vt.Capsule(0.5 * a, 2 * b),
        "box": lambda: vt.Box((2 * a, 2 * b, 2 * c)), "cylinder": lambda: vt.Cylinder(a, 2 * b),
        "cone": lambda: vt.Cone(a, 2 * b), "ellipsoid": lambda: vt.Ellipsoid((a, b, c)),
    }[kind]()  # fmt: skip


def solid(shape, mass):
    """The inertia of a homogeneous box, cylinder, sphere or ellipsoid."""
    x, y, z = (
        np.array(shape.size) ** 2 / 12 if isinstance(shape, vt.Box) else
        np.array((shape.radius**2 / 4, shape.radius**2 / 4, shape.length**2 / 12)) if isinstance(shape, vt.Cylinder)
        else np.full(3, shape.radius**2 / 5)
    )  # fmt: skip
    return mass * np.diag((y + z, x + z, x + y))


def bodies(shapes, friction=0.5, fixed=(), ground=True, gravity=(0, 0, -G), inertia=None, **surface):
    """Free bodies of 1 kg, each of one shape, over a ground and fixed shapes."""
    tree = vt.Tree("bodies", gravity=gravity)
    for k, shape in enumerate(shapes):
        own = np.diag((0.009, 0.011, 0.012)) if inertia is None else inertia[k]
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", 1.0, own))
        tree.contact(vt.Contact(f"body {k}", shapes=shape, friction=friction, **surface))
    if fixed:
        tree.contact(vt.Contact("world", shapes=fixed, friction=friction))
    if ground:
        tree.contact(vt.Ground(friction=friction))
    return tree.compile()


def turned(rng, model, q, k):
    """q with body k in any orientation."""
    d = np.zeros(model.nv)
    d[6 * k + 3 : 6 * k + 6] = rng.normal(size=3)
    return model.integrate(q, d)


def least(model, q):
    return model.contact_gaps(q).gap.min()


# ---- gaps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_gaps_are_those_of_coal(one, other):
    """Distances, and penetration depths of shapes that overlap a little."""
    coal = pytest.importorskip("coal")

    def peer(shape):
        if isinstance(shape, vt.Hull):
            points = coal.StdVec_Vec3s()
            for x in shape.points:
                points.append(x)
            return coal.Convex.convexHull(points, True, "")
        return {
            vt.Sphere: lambda: coal.Sphere(shape.radius), vt.Capsule: lambda: coal.Capsule(shape.radius, shape.length),
            vt.Box: lambda: coal.Box(*shape.size), vt.Cylinder: lambda: coal.Cylinder(shape.radius, shape.length),
            vt.Cone: lambda: coal.Cone(shape.radius, shape.length),
            vt.Ellipsoid: lambda: coal.Ellipsoid(*shape.semi_axes),
        }[type(shape)]()  # fmt: skip

    request = coal.DistanceRequest()
    request.enable_signed_distance, request.gjk_tolerance, request.epa_tolerance = True, 1e-10, 1e-10
    request.gjk_max_iterations = request.epa_max_iterations = 500
    polyhedra = {one, other} <= {"sphere", "capsule", "box", "hull"}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shapes = shaped(rng, one), shaped(rng, other)
        model = bodies(shapes, ground=False)
        q = turned(rng, model, turned(rng, model, model.neutral(), 0), 1)
        way = rng.normal(size=3)
        q[7:10] = rng.uniform(0.2, 0.8) * way / np.linalg.norm(way)
        found = model.contact_gaps(q)
        places = [coal.Transform3s(*(model.frame_pose(f"body {k}", q)[:3, at] for at in (slice(0, 3), 3)))
                  for k in range(2)]  # fmt: skip
        wanted = coal.distance(peer(shapes[0]), places[0], peer(shapes[1]), places[1], request, coal.DistanceResult())
        gap, n = found.gap[0], found.normal[0]
        np.testing.assert_allclose(found.point_a[0] - found.point_b[0], gap * n, rtol=0, atol=1e-12)
        if wanted > 0:
            # its search ends at 1e-10 of the square of the distance
            assert abs(gap - wanted) < (1e-10 if polyhedra else 1e-7)
        elif -0.05 < wanted and polyhedra:
            assert abs(gap - wanted) < 1e-9


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_gaps_change_as_their_normals_say(one, other):
    """d gap = n . (da - db) at the nearest points, by differences."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        model = bodies((shaped(rng, one), shaped(rng, other)), ground=False)
        q = turned(rng, model, turned(rng, model, model.neutral(), 0), 1)
        q[7:10] = 0.5, 0.3, 0.2
        d = rng.normal(size=model.nv)
        found = model.contact_gaps(q)
        gap, n, x, y = (part[0] for part in found[2:])
        size = 1e-5
        ends = [model.contact_gaps(model.integrate(q, sign * size * d)).gap[0] for sign in (1, -1)]
        v = []
        for k, at in ((0, x), (1, y)):
            J, o = model.frame_jacobian(f"body {k}", q), model.frame_pose(f"body {k}", q)[:3, 3]
            v.append(J[3:] @ d + np.cross(J[:3] @ d, at - o))
        assert gap > 0 and (ends[0] - ends[1]) / (2 * size) == pytest.approx(n @ (v[0] - v[1]), abs=1e-7)


# ---- motion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_gaps_are_exact_however_near_shapes_are(one, other):
    """Along the normal of two shapes that are apart the gap is what is left of the way, to 1e-13 m."""
    rng = np.random.default_rng(len(one) + 10 * len(other))
    for _ in range(6):
        model = bodies([shaped(rng, one), shaped(rng, other)], ground=False)
        q = model.neutral()
        for k in range(2):
            q = turned(rng, model, q, k)
        way = rng.normal(size=3)
        q[:3] = way / np.linalg.norm(way)
        start = model.contact_gaps(q)
        k = int(start.gap.argmin())
        first = start.normal[k] * (1 if start.a[k] == "body 0" else -1)
        for left in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 0.0):
            near = q.copy()
            near[:3] -= (start.gap[k] - left) * first
            assert abs(model.contact_gaps(near).gap.min() - left) < 1e-13


@pytest.mark.parametrize("seed", range(40))
def test_depths_of_a_capsule_nearly_flat_on_a_disk(seed):
    """No direction n across the axis of the capsule separates them farther: sigma(n) = n.c - r - R |n x e|.

    The line crosses the rim within 1e-4 to 1e-8 rad of the face, at depths of 1e-13 to 1e-9 m.
    """
    rng = np.random.default_rng(seed)
    radius, length, big = rng.uniform(0.03, 0.08), rng.uniform(0.1, 0.3), rng.uniform(0.08, 0.15)
    model = bodies([vt.Disk(big, axis=(0, 0, 1)), vt.Capsule(radius, length)], ground=False)
    tilt, azimuth, depth = 10 ** rng.uniform(-8, -4), rng.uniform(0, 2 * np.pi), 10 ** rng.uniform(-13, -9)
    axis = np.array((np.cos(tilt) * np.cos(azimuth), np.cos(tilt) * np.sin(azimuth), np.sin(tilt)))
    across, middle = np.array((-np.sin(azimuth), np.cos(azimuth), 0.0)), 0.9 * big * rng.uniform(-1, 1, 3)
    up = np.cross(axis, across)

    def apart(s, height):
        n = np.cos(s) * up + np.sin(s) * across
        return n @ (middle[0], middle[1], height) - radius - big * np.hypot(n[0], n[1])

    def farthest(height):
        low, high = -1e-2, 1e-2
        for _ in range(120):
            one, other = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (one, high) if apart(one, height) < apart(other, height) else (low, other)
        return apart(low, height)

    height = radius
    for _ in range(3):
        height -= farthest(height) + depth
    q = model.neutral()
    half = 0.5 * np.cross((0.0, 0.0, 1.0), axis) / np.sqrt(0.5 * (1 + axis[2]))
    q[7:10], q[10:13], q[13] = (middle[0], middle[1], height), half, np.sqrt(1 - half @ half)
    np.testing.assert_allclose(model.frame_pose("body 1", q)[:3, 2], axis, rtol=0, atol=1e-15)
    assert least(model, q) > farthest(height) - 1e-13


@pytest.mark.parametrize("step", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_no_fall_ends_below_zero(one, other, step):
    """Of thrown bodies no node has a gap below -1e-10 m, and the energy never exceeds its start.

    Each pair of shapes falls with each step, with each friction and by each method; so do all of these in pairs.
    """
    seed = ([1e-3, 5e-3, 1e-2].index(step) + PAIRS.index((one, other))) % 3
    rng = np.random.default_rng(1000 * len(one) + 100 * len(other) + seed)
    inertia = [np.diag(rng.uniform(0.005, 0.01, 3) + 0.003) for _ in range(2)]
    model = bodies([shaped(rng, one), shaped(rng, other)], friction=(0.0, 0.3, 3.0)[seed], inertia=inertia)
    q, v = model.neutral(), rng.normal(size=12) * np.tile([0.3, 0.3, 0.5, 2, 2, 2], 2)
    for k in range(2):
        q[7 * k : 7 * k + 3] = *rng.uniform(-0.1, 0.1, 2), 0.35 + 0.6 * k
        q = turned(rng, model, q, k)
    method = METHODS[(seed + PAIRS.index((one, other)) // 3) % 2]
    run = vt.simulate(model, q, v, duration=0.8, dt=step, method=method, monitors="gap")
    assert run.monitors["gap"].min() > -1e-10
    assert (run.energy - run.energy[0]).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [vt.Disk(0.15), vt.Cylinder(0.15, 0.1)], ids=["disk", "cylinder"])
def test_what_lands_flat_gains_no_energy(shape, method):
    """Its lowest point runs around the rim within a step."""
    for seed, friction in enumerate((0.0, 0.3, 1.0)):
        rng = np.random.default_rng(seed)
        model = bodies([shape], friction=friction)
        q = model.neutral()
        q[2] = 0.5
        q = model.integrate(q, np.r_[0, 0, 0, 0.02 * rng.normal(size=2), 0])
        v = np.r_[0, 0, 0, 0.3 * rng.normal(size=3)]
        for step in (1e-3, 2e-3):
            run = vt.simulate(model, q, v, duration=0.6, dt=step, method=method, monitors="gap")
            assert run.monitors["gap"].min() > -1e-10 and np.diff(run.energy).max() < 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_falls(one, other, method):
    """No gap below zero at a node, no energy from contacts, momentum by impulses."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        model = bodies((shaped(rng, one), shaped(rng, other)))
        q = turned(rng, model, turned(rng, model, model.neutral(), 0), 1)
        q[:3], q[7:10] = (*rng.uniform(-0.1, 0.1, 2), 0.35), (*rng.uniform(-0.1, 0.1, 2), 0.85)
        v = rng.normal(size=model.nv) * np.tile((0.3, 0.3, 0.5, 2, 2, 2), 2)
        run = vt.simulate(model, q, v, duration=0.5, dt=1e-3, method=method, monitors="gap")
        assert run.monitors["gap"].min() > -1e-10 and min(least(model, q) for q in run.q[::25]) > -1e-10
        assert (run.energy <= run.energy[0] + 1e-6).all()
        assert "inexact_contacts" not in run.settings
        # p jumps by the impulses of the ground where a step starts; those of the bodies on each other cancel
        first, last = 100, len(run) - 1
        gained = model.momentum(run.q[last], run.v[last]) - model.momentum(run.q[first], run.v[first])
        pushed = run.dt * run.contacts.wrench(len(run))[first + 1 : last + 1].sum(axis=0)
        weight = -2.0 * G * (last - first) * run.dt
        assert gained[3:5] == pytest.approx(pushed[3:5], abs=2e-2) and np.isfinite(pushed).all()
        assert pushed[5] == pytest.approx(gained[5] - weight, abs=4e-2 * abs(weight))


@pytest.mark.parametrize("method", METHODS)
def test_monitors_of_pairs(method):
    """Momentum by impulses to rounding, and the least gap, where convex shapes touch each other and where none does."""
    model, q = pile()
    run = vt.simulate(model, q, duration=0.6, dt=2e-3, method=method, monitors=("gap", "momentum_balance"))
    assert np.abs(run.monitors["momentum_balance"][:, 3:]).max() < 1e-10
    assert run.monitors["gap"][1::25] == pytest.approx([least(model, q) for q in run.q[2::25]], abs=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [vt.Box((0.2, 0.2, 0.2)), vt.Cylinder(0.1, 0.2)], ids=["boxes", "cylinders"])
def test_a_tower_stands(shape, method):
    model = bodies([shape] * 10, inertia=[solid(shape, 1.0)] * 10)
    q = model.neutral()
    q[2::7] = 0.1 + 0.2 * np.arange(10)
    run = vt.simulate(model, q, duration=1.0, dt=2e-3, method=method)
    assert np.abs(run.q - q).max() < 1e-12 and np.abs(run.v[10:]).max() < 1e-9


@pytest.mark.parametrize("ratio", [1e-4, 1e4])
def test_mass_ratios(ratio):
    """Heavy on light and light on heavy."""
    tree, shape = vt.Tree("two"), vt.Box((0.2, 0.2, 0.2))
    for k, mass in enumerate((1.0, ratio)):
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", mass, solid(shape, mass)))
        tree.contact(vt.Contact(f"body {k}", shapes=shape))
    tree.contact(vt.Ground())
    model = tree.compile()
    q = model.neutral()
    q[2], q[9] = 0.1, 0.3
    run = vt.simulate(model, q, duration=1.0, dt=2e-3)
    assert np.abs(run.q - q).max() < 1e-11


def incline(shape, angle, friction, lift):
    """A shape on a fixed box whose upper face is tilted about y."""
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    slab = vt.Box((40.0, 4.0, 0.2), rotation=R, position=tuple(R @ (0, 0, -0.1)))
    model = bodies([shape], friction, fixed=(slab,), ground=False, inertia=[solid(shape, 1.0)])
    q = model.neutral()
    q[:3] = R @ (0, 0, lift)
    q[3:7] = 0, np.sin(angle / 2), 0, np.cos(angle / 2)
    return model, q, R


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [vt.Box((0.2, 0.2, 0.1)), vt.Cylinder(0.2, 0.1)], ids=["box", "cylinder"])
@pytest.mark.parametrize("excess", [-1e-6, 1e-6, 0.2])
def test_the_threshold_of_sliding(shape, excess, method):
    friction = 0.4
    angle = np.arctan(friction * (1 + excess))
    model, q, R = incline(shape, angle, friction, 0.05)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    moved = (run.q[-1, :3] - q[:3]) @ R
    wanted = max(0.0, 0.5 * G * (np.sin(angle) - friction * np.cos(angle)))
    assert moved == pytest.approx((wanted, 0, 0), abs=1e-9 + 2e-9 * wanted)


@pytest.mark.parametrize("method", METHODS)
def test_cylinders_roll(method):
    """On a tilted box with two thirds of what slides without friction; on a ground, a wheel at its speed."""
    turn = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # its axis along y
    wheel = vt.Cylinder(0.1, 0.3)
    tree = vt.Tree("wheel", gravity=(0, 0, -G))
    own = np.diag(solid(wheel, 1.0))[[0, 2, 1]]
    tree.world.add(vt.free("joint"), vt.body("wheel", 1.0, np.diag(own)))
    tree.contact(vt.Contact("wheel", shapes=vt.Cylinder(0.1, 0.3, rotation=turn)), vt.Ground(friction=0.5))
    model = tree.compile()
    q, v = model.neutral(), np.zeros(6)
    q[2], v[0], v[4] = 0.1, 1.0, 10.0
    run = vt.simulate(model, q, v, duration=2.0, dt=5e-3, method=method)
    assert run.q[-1, :3] == pytest.approx((2.0, 0.0, 0.1), abs=1e-9)

    tree, angle = vt.Tree("incline", gravity=(G * np.sin(0.2), 0, -G * np.cos(0.2))), 0.2
    tree.world.add(vt.free("joint"), vt.body("wheel", 1.0, np.diag(own)))
    tree.contact(vt.Contact("wheel", shapes=vt.Cylinder(0.1, 0.3, rotation=turn), friction=0.5))
    tree.contact(vt.Contact("world", shapes=vt.Box((10.0, 2.0, 0.2), position=(0, 0, -0.1)), friction=0.5))
    model = tree.compile()
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    assert run.q[-1, 0] == pytest.approx(G * np.sin(angle) / 3, abs=2e-6)


@pytest.mark.parametrize("located", [0, 4])
@pytest.mark.parametrize("shape", [vt.Box((0.2, 0.2, 0.2)), vt.Cylinder(0.1, 0.2), vt.Ellipsoid((0.1, 0.1, 0.1))],
                         ids=["box", "cylinder", "ball"])  # fmt: skip
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_rebounds(restitution, shape, located):
    """On a fixed box, heights of a drop by the squares of the coefficient, whether impacts are located or not."""
    slab = vt.Box((2.0, 2.0, 0.2), position=(0, 0, -0.1))
    model = bodies([shape], 0.0, fixed=(slab,), ground=False, inertia=[np.eye(3) * 0.01], restitution=restitution)
    q = model.neutral()
    q[2] = 0.3
    run = vt.simulate(model, q, duration=0.7, dt=2e-3, max_impacts=located)
    z = run.q[:, 2] - 0.1
    peaks = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])]
    assert peaks[0] == pytest.approx(0.2 * restitution**2, abs=2e-4)
    assert np.abs(run.q[:, 3:6]).max() < 1e-6


# ---- what is told, and what is kept ------------------------------------------------------------------------------


def pile(seed=3):
    rng = np.random.default_rng(seed)
    model = bodies([shaped(rng, kind) for kind in ("box", "cylinder", "hull", "ellipsoid")])
    q = model.neutral()
    q[2::7] = 0.3 + 0.45 * np.arange(4)
    return model, turned(rng, model, q, 2)


@pytest.mark.parametrize("method", METHODS)
def test_runs_resume_to_the_bit(method):
    model, q = pile()
    whole = vt.simulate(model, q, duration=0.6, dt=2e-3, method=method)
    part = vt.simulate(model, q, duration=0.4, dt=2e-3, method=method)
    rest = part.resume(0.2)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes() and rest.p[-1].tobytes() == whole.p[-1].tobytes()


def test_what_is_far_away_changes_no_bit(monkeypatch):
    """Whether bodies are found near by their balls or asked each time."""
    model, q = pile()
    run = vt.simulate(model, q, duration=0.5, dt=2e-3)
    from vitree.mechanism.spans import spans_of
    from vitree.model import lower

    monkeypatch.setattr(lower, "spans_of", lambda *args: spans_of(*args)._replace(
        radius=np.where(spans_of(*args).radius >= 0, 1e9, -1.0)))  # fmt: skip
    other = vt.simulate(pile()[0], q, duration=0.5, dt=2e-3)
    assert run.q.tobytes() == other.q.tobytes()


def test_a_step_tells_what_the_record_does():
    model, q = pile()
    sim = vt.Simulation(model, q, dt=2e-3)
    run = vt.simulate(model, q, duration=0.5, dt=2e-3)
    for k in range(1, len(run)):
        sim.step()
        if k % 25:
            continue
        own, log = sim.contacts, run.contacts.of(k)
        assert own.rows[:, 1:].tobytes() == log.rows[:, 1:].tobytes()
        np.testing.assert_array_equal(own.places, log.places)
        np.testing.assert_allclose(sim.contact_wrench(), run.contact_wrench()[k], rtol=0, atol=1e-9)
    assert len(run.contacts)
