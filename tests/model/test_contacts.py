"""Grounds, contacts and their gaps: every pair of shapes against the oracle, the oracle against differences."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import contact_reference as oracle
import numpy as np
import pytest
from contact_checks import axis, differences, of, place, require_gap, require_rows, state, two_bodies
from places import DATA
from random_models import random_flat

import vitree as vt


def hills(rng):
    return vt.HeightField(0.3 * rng.normal(size=(8, 9)), (0.5, 0.4), (-2, -1.5, 0.1))


# ---- table C3 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_points_and_spheres_on_planes(seed, inside):
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    d, radius = rng.normal(), rng.choice([0.0, 0.15])
    points = rng.normal(size=(3, 3))
    ground = vt.Ground(d, n, planes=[((0, 1, 0.2), -0.3)])
    model = two_bodies(vt.Contact("B", points, radius), ground, inside=inside)
    q = state(model, rng)
    planes = [(n / np.linalg.norm(n), d), (np.array((0, 1, 0.2)) / np.hypot(1, 0.2), -0.3)]
    for row, (normal, height) in enumerate(planes):
        for k, x in enumerate(points):
            def touch(q, x=x, normal=normal, height=height):
                return oracle.point_plane(oracle.moved(of(model, q, "B"), x), radius, normal, height)
            require_gap(model, q, touch(q), 3 * row + k, "B", "ground")
            require_rows(model, q, lambda q, touch=touch: touch(q).gap, touch(q), "B")


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_points_over_a_height_field(seed, inside):
    rng = np.random.default_rng(seed)
    field, x = hills(rng), rng.normal(size=3)
    model = two_bodies(vt.Contact("B", x), vt.Ground(terrain=field), inside=inside)
    q = state(model, rng)

    def touch(q):
        c = oracle.moved(of(model, q, "B"), x)
        z, *slope = field.height_and_slope(c[0], c[1])
        return oracle.point_field(c, 0.0, z, slope)

    first = touch(q)
    require_gap(model, q, first, 0, "B", "ground")
    f = 1 / first.normal[2]  # frozen: at a gap of zero its change does not count

    def gap(q):
        c = oracle.moved(of(model, q, "B"), x)
        return (c[2] - field.height(c[0], c[1])) / f

    # a spline has jumps in its third derivative: shorter steps, of lower order
    n = oracle.rows(model, q, first, "B")[0]
    np.testing.assert_allclose(n, differences(gap, model, q, 1e-4), rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_spheres_over_a_height_field(seed):
    """The nearest point of the surface, by the distances of its points; the normal is the derivative of the gap."""
    rng = np.random.default_rng(seed)
    field, R = hills(rng), 0.03
    model = two_bodies(vt.Contact("B", (0.0, 0.0, 0.0), R), vt.Ground(terrain=field), inside=False)
    q = state(model, rng)
    place = rng.uniform((-1.5, -1.0), (1.0, 1.0))
    z, *slope = field.height_and_slope(*place)
    n = np.array([-slope[0], -slope[1], 1.0]) / np.hypot(1.0, np.hypot(*slope))
    # a centre at a distance from a point of the surface along the normal there, near enough that no other is nearer
    away = rng.choice([R, 0.5 * R, 2.0 * R, -0.2 * R])
    wanted = np.array([*place, z]) + away * n
    for _ in range(50):
        q = model.integrate(q, np.linalg.lstsq(oracle.point_jacobian(model, q, "B", of(model, q, "B")[:3, 3]),
                                               wanted - of(model, q, "B")[:3, 3], rcond=None)[0])  # fmt: skip
    np.testing.assert_allclose(of(model, q, "B")[:3, 3], wanted, atol=1e-12)
    found = model.contact_gaps(q)
    np.testing.assert_allclose(found.gap, [away - R], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.normal[0], n, rtol=0, atol=1e-11)
    row = n @ oracle.point_jacobian(model, q, "B", wanted)
    by_differences = differences(lambda q: model.contact_gaps(q).gap[0], model, q, 1e-4)
    np.testing.assert_allclose(row, by_differences, rtol=0, atol=1e-7)


ROUND = {
    "spheres": lambda rng: (vt.Sphere(0.1, **{"position": rng.normal(size=3) * 0.2}), vt.Sphere(0.2)),
    "sphere and capsule": lambda rng: (vt.Sphere(0.1), vt.Capsule(0.08, 0.5, **place(rng))),
    "capsules": lambda rng: (vt.Capsule(0.05, 0.7, **place(rng)), vt.Capsule(0.08, 0.5, **place(rng))),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", ROUND)
@pytest.mark.parametrize("seed", range(5))
def test_round_shapes_against_each_other(seed, kind, inside):
    rng = np.random.default_rng(seed)
    one, other = ROUND[kind](rng)
    model = two_bodies(vt.Contact("A", shapes=[one]), vt.Contact("B", shapes=[other]), inside=inside)
    sound = []
    for _ in range(6):
        q = state(model, rng, 0.5)

        def touch(q):
            a, b = axis(one, of(model, q, "A")), axis(other, of(model, q, "B"))
            return oracle.capsule_capsule(a, one.radius, b, other.radius)

        require_gap(model, q, touch(q))
        sound.append(require_rows(model, q, lambda q: touch(q).gap, touch(q), "A", "B"))
    assert np.mean(sound) >= 0.5


@pytest.mark.parametrize("seed", range(20))
def test_spheres_against_boxes(seed):
    rng = np.random.default_rng(seed)
    box = vt.Box((0.4, 0.6, 0.8), **place(rng))
    ball = vt.Sphere(0.1, position=rng.normal(size=3) * 0.3)
    model = two_bodies(vt.Contact("A", shapes=[ball]), vt.Contact("B", shapes=[box]))
    sound = []
    for _ in range(6):
        q = state(model, rng, 0.4)
        if rng.uniform() < 0.4:  # with the ball's centre within the box
            q[:3] += oracle.moved(of(model, q, "B"), np.array(box.position) + 0.1 * rng.normal(size=3)) - oracle.moved(
                of(model, q, "A"), ball.position)  # fmt: skip

        def touch(q):
            X = of(model, q, "B").copy()
            X[:3, 3] = oracle.moved(X, box.position)
            X[:3, :3] = X[:3, :3] @ np.array(box.rotation)
            return oracle.sphere_box(oracle.moved(of(model, q, "A"), ball.position), 0.1, X, (0.2, 0.3, 0.4))

        require_gap(model, q, touch(q))
        sound.append(require_rows(model, q, lambda q: touch(q).gap, touch(q), "A", "B"))
    assert np.mean(sound) >= 0.5


@pytest.mark.parametrize("size", [0.4, 2.0])
def test_the_inside_of_a_box_is_left_by_the_nearest_face(size):
    rng = np.random.default_rng(3)
    model = two_bodies(vt.Contact("A", shapes=vt.Sphere(0.01)), vt.Contact("B", shapes=vt.Box((size,) * 3)))
    for _ in range(40):
        q = state(model, rng)
        X = of(model, q, "B")
        inner = rng.uniform(-0.49, 0.49, 3) * size
        q[:3] = oracle.moved(X, inner)
        found = model.contact_gaps(q)
        assert found.gap[0] == pytest.approx(np.abs(inner).max() - 0.5 * size - 0.01, abs=1e-12)
        out = q.copy()
        out[:3] -= found.gap[0] * found.normal[0]
        assert model.contact_gaps(out).gap[0] == pytest.approx(0, abs=1e-12)


def test_parallel_capsules_have_one_gap():
    """It lies in what they have in common; there are two points of contact in runs."""
    tree = vt.Tree("logs")
    for name, y in (("A", 0.0), ("B", 0.25)):
        tree.world.add(vt.free(name.lower()), vt.ty(y), vt.body(name, 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("A", shapes=[vt.Capsule(0.1, 1.0)]), vt.Contact("B", shapes=[vt.Capsule(0.12, 0.8)]))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.3
    found = model.contact_gaps(q)
    np.testing.assert_allclose(found.gap, [0.03], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.normal, [(0, -1, 0)], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.point_a[0] - found.point_b[0], (0, -0.03, 0), rtol=0, atol=1e-15)
    assert -0.2 <= found.point_a[0, 2] <= 0.4
    q[2] = 2.0  # one behind the other
    found = model.contact_gaps(q)
    assert found.gap == pytest.approx([np.hypot(1.1, 0.25) - 0.22], abs=1e-15)


def test_values_of_the_formulas_own_check():
    contacts = {
        "capsule": [vt.Contact("A", shapes=[vt.Capsule(0.05, 0.7)]), vt.Contact("B", shapes=[vt.Capsule(0.08, 0.5)])],
        "sphere r=.1 at A, box": [vt.Contact("A", radius=0.1), vt.Contact("B", shapes=[vt.Box((0.4, 0.6, 0.8))])],
        "sphere r=.15": [vt.Contact("A", (0.1, 0, 0.2), 0.15), vt.Ground(0.3, (0.6, 0, 0.8))],
        "spheres": [vt.Contact("A", radius=0.1), vt.Contact("B", radius=0.2)],
    }
    given = json.loads((DATA / "contact_gaps.json").read_text())
    assert len(given) == 4
    for each in given:
        model = two_bodies(*next(value for key, value in contacts.items() if each["pair"].startswith(key)))
        found = model.contact_gaps(each["q"])
        assert found.gap[0] == pytest.approx(each["gap"], abs=1e-12)
        touch = oracle.Touch(found.gap[0], found.normal[0], found.point_a[0], found.point_b[0])
        row = oracle.rows(model, np.array(each["q"]), touch, "A", None if found.b[0] == "ground" else "B")[0]
        np.testing.assert_allclose(row, each["normal_row"], rtol=0, atol=1e-12)


# ---- which pairs, which numbers ------------------------------------------------------------------------------------


def line(*, fat=0.05, contacts=(), joints=4, base=(), lead=vt.ry):
    """A chain of capsules in a row along x, 0.5 m each, which overlap at their joints."""
    tree = vt.Tree("chain", gravity=(0, 0, -9.81))
    at = tree.world.add(*base) if base else tree.world
    for k in range(joints):
        at = at.add(lead(f"j{k}"), vt.body(f"l{k}", 1.0, (0.1, 0.1, 0.1), com=(0.25, 0, 0)), vt.tx(0.5))
        tree.contact(vt.Contact(f"l{k}", shapes=vt.Capsule(fat, 0.4, position=(0.25, 0, 0),
                                                           rotation=[[0, 0, 1], [0, 1, 0], [-1, 0, 0]])))  # fmt: skip
    tree.contact(*contacts)
    return tree.compile()


def pairs(model):
    names = [contact.frame for contact in model.contacts if isinstance(contact, vt.Contact)]
    found = model.contact_candidates
    assert (found.pair_kind == 0).all()
    rows = np.concatenate([found.rod_source[found.pair], found.solid_source[found.facing]])
    return {tuple(sorted(names[k] for k in pair)) for pair in rows}


def test_pairs_that_are_left_out():
    assert pairs(line()) == {("l0", "l2"), ("l0", "l3"), ("l1", "l3")}
    assert pairs(line(contacts=[vt.NoContact("l3", "l0")])) == {("l0", "l2"), ("l1", "l3")}
    assert pairs(line(contacts=[vt.NoContact("l3", "l0"), vt.NoContact("l0", "l2")])) == {("l1", "l3")}
    # fat ones overlap their second neighbours
    assert pairs(line(fat=0.31)) == {("l0", "l3")}
    # between the bodies of a ball joint made of hinges there are others without mass
    assert pairs(line(lead=vt.universal)) == pairs(line())


def test_free_bodies_may_touch_wherever_they_are():
    tree = vt.Tree("balls")
    for k in range(4):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"l{k}", 1.0, (0.1, 0.1, 0.1)))
        tree.contact(vt.Contact(f"l{k}", shapes=vt.Sphere(0.1)))
    assert len(pairs(tree.compile())) == 6
    tree.contact(vt.Contact("world", shapes=[vt.Sphere(1.0), vt.Box((1, 1, 1), position=(0, 0, 3))]))
    found = tree.compile().contact_candidates
    assert (found.pair_kind == 0).sum() == 10
    assert (found.pair_kind == 1).sum() == 4
    assert (found.box_body == -1).all()


def test_shapes_of_the_world_do_not_meet_the_ground():
    model = two_bodies(vt.Contact("world", shapes=vt.Box((1, 1, 1))), vt.Contact("A", radius=0.1), vt.Ground())
    assert model.contact_candidates.body.tolist() == [0]
    with pytest.raises(vt.ModelError, match="nothing that can meet it"):
        two_bodies(vt.Contact("world", shapes=vt.Box((1, 1, 1))), vt.Ground())


@pytest.mark.parametrize(("a", "b", "wanted"), [
    ({}, {}, (0.6, 0.1, np.inf, 0)), ({"friction": 0.2}, {}, (0.2, 0.1, np.inf, 0)),
    ({"friction": 0.2, "restitution": 0.9}, {"friction": 0.5, "restitution": 0.3}, (0.5, 0.9, np.inf, 0)),
    ({"stiffness": 1e4, "damping": 10}, {}, (0.6, 0.1, 1e4, 10)),
    ({"stiffness": 1e4, "damping": 10}, {"stiffness": 1e3}, (0.6, 0.1, 1e3, 0)),
    ({"friction": 0.0}, {"friction": 0.0}, (0, 0.1, np.inf, 0)),
])  # fmt: skip
def test_numbers_of_two_surfaces(a, b, wanted):
    ground = vt.Ground(friction=0.6, restitution=0.1)
    model = two_bodies(vt.Contact("A", radius=0.1, **a), vt.Contact("B", radius=0.1, **b), ground)
    found = model.contact_candidates
    assert tuple(found.pair_numbers[0]) == (*wanted, 0.0, 0.0, 0.0)
    own = [0.6, 0.1, np.inf, 0]
    for k, given in enumerate((a, b)):
        meets = dict(zip(("friction", "restitution", "stiffness", "damping"), own, strict=True)) | given
        assert tuple(found.numbers[k]) == (*meets.values(), 0.0, 0.0, 0.0)


def test_points_of_one_body_are_a_patch():
    feet = [vt.Contact("A", [(x, y, 0) for x in (-0.1, 0.1) for y in (-0.05, 0.05)], 0.005), vt.Contact("A", (0, 0, 0)),
            vt.Contact("B", shapes=[vt.Capsule(0.05, 0.4), vt.Sphere(0.1)])]  # fmt: skip
    found = two_bodies(*feet, vt.Ground()).contact_candidates
    assert found.patch.tolist() == [0] * 5 + [-1] * 3
    assert found.body.tolist() == [0] * 5 + [1] * 3
    assert found.source.tolist() == [0] * 4 + [1] + [2] * 3
    large = [vt.Contact("A", [(0.1, 0, 0), (-0.1, 0, 0)], 0.05), vt.Contact("B", shapes=vt.Box((0.1, 0.2, 0.3)))]
    assert two_bodies(*large, vt.Ground()).contact_candidates.patch.tolist() == [-1] * 2 + [0] * 8


def extent(shape, X, d):
    """How far a shape in a frame at X is along each direction of d (..., 3) [m], in closed form."""
    R, middle = X[:3, :3] @ np.array(shape.rotation), d @ oracle.moved(X, shape.position)
    e = d @ R
    if isinstance(shape, vt.Ellipsoid):
        return middle + np.linalg.norm(e * shape.semi_axes, axis=-1)
    if isinstance(shape, vt.Cylinder):
        return middle + shape.radius * np.hypot(e[..., 0], e[..., 1]) + 0.5 * shape.length * np.abs(e[..., 2])
    if isinstance(shape, vt.Cone):
        along = 0.5 * shape.length * e[..., 2]
        return middle + np.maximum(along, shape.radius * np.hypot(e[..., 0], e[..., 1]) - along)
    points = np.array([oracle.moved(X, x) for x in shape.points])
    return (d @ points.T).max(axis=-1) + np.linalg.norm(d, axis=-1) * getattr(shape, "radius", 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_all_candidates_of_random_trees(seed):
    """Any tree and any shapes: gaps are those of the oracle, of frames in all places."""
    rng, more = np.random.default_rng(seed), np.random.default_rng(seed + 100)
    flat = random_flat(rng, nbody=6, base="free")
    contacts = []
    for name in flat.frame_names:
        contacts.append(vt.Contact(name, shapes=[
            vt.Sphere(0.02, position=rng.normal(size=3)), vt.Capsule(0.03, 0.2, **place(rng)),
            vt.Box((0.1, 0.2, 0.3), **place(rng)), vt.Cylinder(0.1, 0.2, 5, **place(rng)),
            vt.Hull(rng.normal(size=(20, 3)), 6, **place(rng)), vt.Cone(0.1, 0.3, **place(more)),
            vt.Ellipsoid((0.1, 0.3, 0.2), **place(more)),
        ]))  # fmt: skip
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    model = vt.Model(replace(flat, contacts=tuple(contacts), ground=vt.Ground(0.2, normal)))
    q = model.random_configuration(rng)
    found = model.contact_gaps(q)
    wanted, names = [], []
    for contact in contacts:
        if flat.frame_body[flat.frame_names.index(contact.frame)] < 0:
            continue
        X = of(model, q, contact.frame)
        for shape in contact.shapes:
            if isinstance(shape, vt.Cylinder | vt.Cone | vt.Ellipsoid):
                continue
            radius = getattr(shape, "radius", 0.0)
            wanted += [oracle.point_plane(oracle.moved(X, x), radius, normal, 0.2).gap for x in shape.points]
            names += [contact.frame] * len(shape.points)
    own = model.contact_candidates
    grounded = list(range(len(own.body)))
    count = len(own.body) + int(own.on_ground.sum())
    assert {*found.b[:count]} == {"ground"} and "ground" not in found.b[count:]
    in_order = np.argsort([flat.frame_body[flat.frame_names.index(name)] for name in names], kind="stable")
    np.testing.assert_allclose(found.gap[grounded], np.array(wanted)[in_order], rtol=0, atol=1e-12)
    for k, body in enumerate(own.group_body):
        rows = slice(own.group_first[k], own.group_first[k + 1])
        assert set(own.body[rows].tolist()) == {int(body)}
        away = np.linalg.norm(own.point[rows] - own.group_center[k], axis=1) + own.radius[rows]
        assert away.max() == pytest.approx(own.group_radius[k], abs=1e-15)
    assert own.group_first[-1] == len(own.body)
    at = count
    for kind, (i, j) in zip(own.pair_kind, own.pair, strict=True):
        a = contacts[own.rod_source[i]]
        b = contacts[(own.box_source if kind else own.rod_source)[j]]
        Xa, Xb = of(model, q, a.frame), of(model, q, b.frame)
        if kind:
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = Xb[:3, :3] @ np.array(b.shapes[2].rotation), oracle.moved(Xb, b.shapes[2].position)
            one = a.shapes[i % 2]
            touch = oracle.capsule_box(axis(one, Xa), one.radius, X, (0.05, 0.1, 0.15))
        else:
            one = a.shapes[i % 2]
            other = b.shapes[j % 2]
            touch = oracle.capsule_capsule(axis(one, Xa), one.radius, axis(other, Xb), other.radius)
        require_gap(model, q, touch, at, a.frame, b.frame, found)
        at += 1
    # of convex shapes: the largest separation over directions, at points that are as far apart
    each = len(contacts[0].shapes)
    end, at = at, len(grounded)
    for i, j in [*own.facing[own.on_ground], *own.facing[~own.on_ground]]:
        at = end if at == count else at
        n, gap = found.normal[at], found.gap[at]
        a, b = (contacts[own.solid_source[k]] if own.solid_source[k] >= 0 else None for k in (i, j))
        one, Xa = a.shapes[i % each], of(model, q, a.frame)
        assert (found.a[at], found.b[at]) == (a.frame, "ground" if b is None else b.frame)
        np.testing.assert_allclose(found.point_a[at] - found.point_b[at], gap * n, atol=1e-9)
        if b is None:
            assert gap == pytest.approx(-extent(one, Xa, -normal) - 0.2, abs=1e-12) and n == pytest.approx(normal)
        else:
            other, Xb = b.shapes[j % each], of(model, q, b.frame)
            assert gap == pytest.approx(-extent(one, Xa, -n) - extent(other, Xb, n), abs=1e-9)
            about = rng.normal(size=(50, 3)) if gap > 0 else n + 1e-3 * rng.normal(size=(50, 3))
            about /= np.linalg.norm(about, axis=1)[:, None]
            assert (-extent(one, Xa, -about) - extent(other, Xb, about)).max() <= gap + 1e-9
        at += 1
    assert at == len(found.gap) and len(own.facing) > 100


# ---- one model in other forms --------------------------------------------------------------------------------------


def robot(**more):
    tree = vt.Tree("robot")
    leg = tree.world.add(vt.free("base"), vt.body("trunk", 5.0, (0.2, 0.2, 0.2)))
    for side in (-1, 1):
        leg.add(vt.ty(0.2 * side), vt.ry(f"hip{side}"), vt.tz(-0.4), vt.ry(f"knee{side}"), vt.tz(-0.4),
                vt.body(f"foot{side}", 0.5, (0.01, 0.01, 0.01)))  # fmt: skip
        tree.contact(vt.Contact(f"foot{side}", shapes=[vt.Box((0.2, 0.1, 0.04))]))
    tree.constrain(vt.gear("hip1", "hip-1", 1.0))
    tree.contact(vt.Ground(**more))
    return tree


def test_reduced_and_euler_models_touch_as_the_native_one():
    model = robot().compile()
    rng = np.random.default_rng(0)
    reduced, euler = model.reduced(), model.euler()
    for _ in range(5):
        q = reduced.random_configuration(rng)
        full = model.contact_gaps(reduced.expand(q)).gap
        np.testing.assert_array_equal(reduced.contact_gaps(q).gap, full)
        other = euler.from_native(reduced.expand(q), np.zeros(model.nv))[0]
        np.testing.assert_allclose(euler.contact_gaps(other).gap, full, rtol=0, atol=1e-12)
    for each in (reduced, euler):
        assert (each.ground, each.contacts, each.limits) == (model.ground, model.contacts, "report")


def test_pickles_and_digests():
    model = robot(friction=0.3).compile()
    for each in (model, model.reduced(), model.euler()):
        again = pickle.loads(pickle.dumps(each))
        assert again == each
        assert again.digest == each.digest
        assert (again.ground, again.contacts) == (each.ground, each.contacts)
    flat = model.flat
    field = vt.HeightField(np.zeros((3, 3)))
    others = [vt.Ground(friction=0.31), vt.Ground(0.1), vt.Ground(terrain=field), None,
              vt.Ground(terrain=vt.HeightField(np.eye(3)))]  # fmt: skip
    digests = {model.digest, *(vt.Model(replace(flat, ground=ground)).digest for ground in others),
               vt.Model(replace(flat, contacts=flat.contacts[:1])).digest,
               vt.Model(replace(flat, contacts=(*flat.contacts, vt.NoContact("foot1", "foot-1")))).digest,
               vt.Model(replace(flat, limits="enforce")).digest}  # fmt: skip
    assert len(digests) == 9
    bare = vt.Model(replace(flat, ground=None, contacts=()))
    assert bare.contacts == () and bare.ground is None and bare.digest not in digests


def test_methods_without_contacts_say_so():
    model = robot().compile()
    for each in (model, model.reduced(), model.euler()):
        assert each.has_contact
        assert not each.is_conservative
        assert not each.is_free_floating
        for method in ("scipy-dop853", "scipy-rk45"):
            with pytest.raises(vt.ModelError, match=r"use linear-time, .*-euler, implicit-euler, rk4 or"):
                vt.simulate(each, duration=0.1, dt=1e-3, method=method)
    tree = robot()
    tree.contacts, tree.ground, tree.limits = [], None, "enforce"
    with pytest.raises(vt.ModelError, match='limits="enforce"'):
        vt.simulate(tree.compile(), duration=0.1, dt=1e-3, method="scipy-radau")
    for more in ({"order": 4}, {"adapt": "density", "rate": 1.0}):
        with pytest.raises(vt.InputError, match='is not for limits="enforce"'):
            vt.Simulation(tree.compile(), dt=1e-3, **more)
    tree.limits = "report"
    assert vt.simulate(tree.compile(), duration=0.01, dt=1e-3, method="rk4").steps == 10


# ---- place_on_ground -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["native", "reduced", "euler"])
@pytest.mark.parametrize("ground", [
    {}, {"height": 0.3}, {"normal": (0.2, -0.1, 1), "height": -0.4},
    {"terrain": vt.HeightField(lambda x, y: 0.2 * np.sin(x) + 0.1 * y, 0.5, (-9, -9, 0.5), shape=(37, 37))},
    {"planes": [((0.5, 0, 1), 0.1), ((-0.5, 0, 1), 0.1), ((0, 1, 0), -90)]},
])  # fmt: skip
def test_the_least_gap_is_zero(form, ground):
    model = {"native": lambda m: m, "reduced": lambda m: m.reduced(), "euler": lambda m: m.euler()}[form](
        robot(**ground).compile())  # fmt: skip
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = model.random_configuration(rng)
        placed = vt.place_on_ground(model, q)
        gap = model.contact_gaps(placed).gap
        assert gap.min() == pytest.approx(0, abs=1e-14)
        moved = model.difference(q, placed)
        assert np.count_nonzero(np.abs(moved) > 1e-12) <= 3
        np.testing.assert_allclose(vt.place_on_ground(model, placed), placed, rtol=0, atol=1e-14)


def test_each_of_several_robots_is_placed():
    tree = vt.Tree("scene")
    for k in range(3):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"l{k}", 1.0, (0.1, 0.1, 0.1)))
        tree.contact(vt.Contact(f"l{k}", shapes=vt.Sphere(0.1 * (k + 1))))
    tree.world.add(vt.free("bird"), vt.body("bird", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Ground(0.5))
    model = tree.compile()
    q = model.random_configuration(np.random.default_rng(0))
    q[[0, 7, 14]] = 0.0, 1.0, 2.0
    placed = vt.place_on_ground(model, q)
    np.testing.assert_allclose(placed[[2, 9, 16]], [0.6, 0.7, 0.8], rtol=0, atol=1e-15)
    assert placed[23] == q[23]


def test_what_cannot_be_placed():
    fixed = line(contacts=[vt.Ground()])
    with pytest.raises(vt.ModelError, match=r'fixed.*base="free"'):
        vt.place_on_ground(fixed, fixed.neutral())
    bare = line()
    with pytest.raises(vt.ModelError, match="no ground"):
        vt.place_on_ground(bare, bare.neutral())
    sideways = line(contacts=[vt.Ground()], base=(vt.tx("cart"),))
    with pytest.raises(vt.ModelError, match="normal"):
        vt.place_on_ground(sideways, sideways.neutral())
    lift = line(contacts=[vt.Ground()], base=(vt.tz("lift"),))
    assert lift.contact_gaps(vt.place_on_ground(lift, lift.neutral())).gap.min() == pytest.approx(0, abs=1e-15)
    walled = robot(planes=[((0, 1, 0), 2.0)]).compile()
    with pytest.raises(vt.InputError, match="wall"):
        vt.place_on_ground(walled, walled.neutral())


# ---- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "text"), [
    (lambda: vt.Ground(friction=-0.1), "friction of the ground"), (lambda: vt.Ground(friction=np.nan), "friction"),
    (lambda: vt.Ground(friction=np.inf), "friction"), (lambda: vt.Ground(friction=None), "friction"),
    (lambda: vt.Ground(restitution=1.1), "from 0 to 1"), (lambda: vt.Ground(restitution=-1), "restitution"),
    (lambda: vt.Ground(normal=(0, 0, 0)), "normal of the ground"), (lambda: vt.Ground(height=np.inf), "height"),
    (lambda: vt.Ground(stiffness=0), "so it carries no load"), (lambda: vt.Ground(stiffness=-1), "stiffness"),
    (lambda: vt.Ground(damping=3), "no stiffness"), (lambda: vt.Ground(damping=-3, stiffness=1), "damping"),
    (lambda: vt.Ground(planes=[(0, 0, 1)]), "plane"), (lambda: vt.Ground(planes=[((0, 0, 0), 1)]), "normal"),
    (lambda: vt.Ground(planes=3), "planes"), (lambda: vt.Ground(terrain=np.zeros((3, 3))), "HeightField"),
    (lambda: vt.Ground(1.0, terrain=vt.HeightField(np.zeros((3, 3)))), "no height"),
    (lambda: vt.Contact(3), "frame"), (lambda: vt.Contact(""), "frame"),
    (lambda: vt.Contact("a", np.zeros((0, 3))), "point"),
    (lambda: vt.Contact("a", [(1, 2)]), "points"), (lambda: vt.Contact("a", [(1, 2, np.nan)]), "finite"),
    (lambda: vt.Contact("a", "foot"), "points"), (lambda: vt.Contact("a", (0, 0, 0), -1), "radius"),
    (lambda: vt.Contact("a", shapes=[3]), "shapes"),
    (lambda: vt.Contact("a", radius=1, shapes=vt.Sphere(1)), "no points"),
    (lambda: vt.Contact("a", friction=-1), 'friction of the contact of "a"'),
    (lambda: vt.Contact("a", restitution=2), "restitution"), (lambda: vt.Contact("a", damping=2), "stiffness"),
    (lambda: vt.NoContact("a", None), "NoContact"),
    (lambda: vt.Sphere(0), "radius of the sphere"),
    (lambda: vt.Sphere(-1), "above zero"), (lambda: vt.Sphere("a"), "radius"),
    (lambda: vt.Capsule(1, 0), "length of the capsule"), (lambda: vt.Box((1, 0, 1)), "edge of the box"),
    (lambda: vt.Box((1, 1)), "size of the box"), (lambda: vt.Cylinder(1, 1, 2), "rim_points"),
    (lambda: vt.Cylinder(1, np.inf), "length"), (lambda: vt.Hull(np.zeros((0, 3))), "vertices"),
    (lambda: vt.Hull(np.eye(3), 3), "most"), (lambda: vt.Sphere(1, position=(1, 2)), "position of the sphere"),
    (lambda: vt.Box((1, 1, 1), rotation=np.ones((3, 3))), "rotation of the box"),
])  # fmt: skip
def test_bad_parts(make, text):
    with pytest.raises(vt.VitreeError, match=text):
        make()


def test_bad_trees():
    with pytest.raises(vt.UnknownNameError, match="foot3"):
        two_bodies(vt.Contact("foot3"))
    with pytest.raises(vt.UnknownNameError, match="foot3"):
        two_bodies(vt.NoContact("A", "foot3"))
    with pytest.raises(vt.ModelError, match="ground already"):
        two_bodies(vt.Ground(), vt.Ground())
    with pytest.raises(vt.InputError, match="a Ground, a Contact"):
        two_bodies(vt.Sphere(1))
    with pytest.raises(vt.ModelError, match="nothing that can meet it"):
        two_bodies(vt.Ground())
    flat = robot().flatten()
    for field, value in (("ground", 3), ("contacts", [vt.Ground()]), ("limits", "hold"), ("limits", 3)):
        with pytest.raises(vt.VitreeError, match=field):
            replace(flat, **{field: value})


@pytest.mark.parametrize("limits", ["report", "enforce", "ignore"])
@pytest.mark.parametrize("low, high", [(1.0, -1.0), (np.nan, 1.0), (0.0, np.nan), (np.inf, -np.inf)])
def test_contradictory_limits(limits, low, high):
    tree = vt.Tree("bounded")
    tree.world.add(vt.ry("elbow", lower=low, upper=high), vt.body("arm", 1.0, (0.1,) * 3))
    tree.limits = limits
    with pytest.raises(vt.ModelError, match=r'the (limits|lower|upper) of "elbow" (are inverted.*swap them|is nan)'):
        tree.compile()


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", [4, 6, 8])
def test_orders_and_steps_that_do_not_serve(method, order):
    model = robot().compile()
    q = vt.place_on_ground(model, model.neutral())
    with pytest.raises(vt.InputError, match=(
        rf"order={order} is not for contacts, .*use order=2\. Methods that support them: linear-time, midpoint, .*rk4"
    )):  # fmt: skip
        vt.simulate(model, q, duration=0.01, dt=1e-3, method=method, order=order)
    with pytest.raises(vt.InputError, match=r"adapt= is not for contacts, .*leave it out\. .*linear-time, midpoint, "):
        vt.simulate(model, q, duration=0.01, dt=1e-3, method=method, adapt="hamiltonian")


def test_other_methods_say_which_serve():
    model = robot().compile()
    q = vt.place_on_ground(model, model.neutral())
    for name, kind in model.methods.items():
        if not kind.touches:
            with pytest.raises(vt.ModelError, match=f"the method {name} does not support; use linear-time, midpoint"):
                vt.simulate(model, q, duration=0.01, dt=1e-3, method=name)


@pytest.mark.parametrize(("more", "which", "serve"), [
    ({"lower": 0.0}, 'limits="enforce"',
     "linear-time, midpoint, explicit-euler, semi-implicit-euler, implicit-euler, rk4 or rk8"),
    ({"lower": 0.0, "dry_friction": 1.0}, 'limits="enforce" and dry friction',
     "linear-time, midpoint or implicit-euler"),
])  # fmt: skip
def test_refusals_name_what_acts_and_all_methods_that_serve(more, which, serve):
    """The methods that are named do step, and the others do not."""
    tree = vt.Tree("rail")
    tree.world.add(vt.tz("z", **more), vt.body("block", 1.0))
    tree.limits = "enforce"
    model = tree.compile()
    for order in (4, 8):
        refused = f"order={order} is not for {which}, .* Methods that support them: {serve}"
        with pytest.raises(vt.InputError, match=refused):
            vt.simulate(model, [1.0], duration=0.01, dt=1e-3, order=order)
    for name in vt.METHODS:
        if name in serve.replace(" or ", ", ").split(", "):
            assert len(vt.simulate(model, [1.0], duration=0.01, dt=1e-3, method=name)) == 11
            continue
        refused = f"has {which}, which the method {name} does not support; use {serve}, or"
        with pytest.raises(vt.ModelError, match=refused):
            vt.simulate(model, [1.0], duration=0.01, dt=1e-3, method=name)


def test_a_tree_prints_its_contacts():
    text = str(robot())
    assert 'contact of "foot1"' in text
    assert "ground" in text


# ---- as text -------------------------------------------------------------------------------------------------------


def test_contacts_as_s_expressions():
    rng = np.random.default_rng(5)
    for ground in (
        vt.Ground(0.1, (0.1, 0, 1), 0.3, 0.2, 1e5, 30.0, [((1, 0, 0), -2), ((0, 1, 1), 0.5), (rng.normal(size=3), 1)]),
        vt.Ground(), None, vt.Ground(friction=0.9, terrain=hills(rng), planes=[((1, 0, 0), -9)]),
        vt.Ground(terrain=vt.HeightField(np.eye(3))),
    ):  # fmt: skip
        tree = vt.Tree("all")
        tree.world.add(vt.free("a"), vt.body("A", 1, (0.1, 0.2, 0.25)), vt.rx("e"), vt.body("B", 1, (0.2, 0.2, 0.1)))
        tree.contact(
            vt.Contact("A", rng.normal(size=(3, 3)), 0.05, friction=0.0), vt.NoContact("A", "world"),
            vt.Contact("B", shapes=[
                vt.Sphere(0.02, **place(rng)), vt.Capsule(0.03, 0.2, **place(rng)),
                vt.Box((0.1, 0.2, 0.3), **place(rng)), vt.Cylinder(0.1, 0.2, 5, **place(rng)),
                vt.Hull(rng.normal(size=(40, 3)), 6, **place(rng)), vt.Cone(0.1, 0.3, **place(rng)),
                vt.Ellipsoid((0.1, 0.2, 0.05), **place(rng)),
            ], restitution=0.5, stiffness=1e4, damping=3),
            vt.Contact("B"),
        )  # fmt: skip
        if ground is not None:
            tree.contact(ground)
        tree.limits = "ignore"
        text = vt.write_sexpr(tree)
        again = vt.read_sexpr(text)
        assert vt.write_sexpr(again) == text
        assert again.ground == ground
        assert again.limits == "ignore"
        one, other = tree.compile(), again.compile()
        a, b = one.contact_candidates, other.contact_candidates
        for name in ("body", "source", "patch", "point", "radius", "numbers", "planes", "rod_ends", "box_E", "pair",
                     "pair_numbers", "solid_source", "facing", "facing_numbers"):  # fmt: skip
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for x, y in zip(a.solids, b.solids, strict=True):
            assert x.keys() == y.keys() and all(np.array_equal(x[key], y[key]) for key in x)
        assert [c.lost for c in again.contacts[2:]] == [c.lost for c in tree.contacts[2:]]


@pytest.mark.parametrize(("text", "said"), [
    ('(contact "A" (sphere 0))', "above zero"), ('(contact "A" (cube 1))', "no such argument"),
    ('(contact "A" (cone 1))', "length"), ('(contact "A" (ellipsoid (1 2)))', "(a b c)"),
    ('(contact "A" (ellipsoid (1 2 0)))', "semi-axis of the ellipsoid"),
    ('(contact "A" own own own own 0 (1 2 3 4))', "x y z"), ("(ground -1)", "friction"),
    ("(ground) (ground)", "already"), ("(ground (terrain 2 2 (1 2 3)))", "3 heights"),
    ("(ground 0.5 0 inf 0 0 (0 0 1) (1 0 0))", "nx ny nz"), ("(limits hold)", "limits"),
    ("(ground (hill 2))", "no such argument"), ('(contact "A" (hull (1 2)))', "x y z"), ("(contact)", "frame"),
    ('(contact "A" (cylinder 1 1 2.5))', "rim_points"), ('(no-contact "A")', "missing"),
    ('(contact "A" 0.5 (sphere 1) 3)', "no such argument"),
])  # fmt: skip
def test_faults_of_s_expressions_have_a_place(text, said):
    with pytest.raises(vt.ModelError, match=rf"1:\d+.*{said}"):
        vt.load_sexpr(f'(system (free "a" (body "A" 1 (0 0 0) (1 0 0 1 0 1))) {text})')


def test_a_short_contact_in_an_s_expression():
    frames = '(free "a" (body "A" 1 (0 0 0) (1 0 0 1 0 1)))'
    tree = vt.read_sexpr(f'(system {frames} (ground 0.5) (contact "A" (sphere 0.2)))')
    assert tree.ground == vt.Ground(friction=0.5)
    assert tree.contacts == [vt.Contact("A", shapes=vt.Sphere(0.2))]
