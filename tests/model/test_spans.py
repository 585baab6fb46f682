"""Contacts that are far away together: points of one body on one plane, pairs of two bodies, and balls about them."""

from __future__ import annotations

import numpy as np
import pytest
from touching_models import crawler, thrown

import vitree as vt
from vitree.mechanism.spans import AT_LIMIT, RUBS, spans_of

PLANE = {"kind": 0, "offset": 0.0, "normal": (0.0, 0.0, 1.0)}
WHEEL = {"kind": 4, "body_a": 0}


def points(body, count, **more):
    at = np.random.default_rng(count).normal(size=(count, 3))
    return [PLANE | {"dim": 1, "body_a": body, "point_a": x, "radius_a": 0.1} | more for x in at]


def test_a_ball_holds_the_points_of_a_body_on_a_plane():
    contacts = points(0, 5) + points(1, 3)
    spans = spans_of(contacts)
    assert spans.rows.tolist() == [[0, 5], [5, 8]] and spans.ports == 12
    for (first, end), center, radius in zip(spans.rows, spans.center, spans.radius, strict=True):
        reach = [np.linalg.norm(each["point_a"] - center) + 0.1 for each in contacts[first:end]]
        assert max(reach) <= radius <= (1.0 + 1e-9) * max(reach)


@pytest.mark.parametrize("other", [{"offset": 0.1}, {"normal": (0.0, 0.6, 0.8)}, {"body_a": 4}], ids=str)
def test_points_on_other_planes_and_bodies_are_apart(other):
    spans = spans_of(points(0, 2) + points(0, 2, **other) + points(0, 1))
    assert spans.rows.tolist() == [[0, 2], [2, 4], [4, 5]] and spans.radius[2] == -1.0


def test_all_else_is_asked_one_by_one():
    spans = spans_of([WHEEL, WHEEL, {"kind": AT_LIMIT}, {"kind": RUBS}])
    assert spans.rows.tolist() == [[k, k + 1] for k in range(4)] and (spans.radius == -1.0).all()
    assert (spans.ball == -1).all() and spans.ports == 6 + 2


def test_a_body_has_a_ball_about_its_shapes_of_all_pairs():
    capsules = [{"kind": 1, "body_a": 0, "body_b": 2, "point_a": (k, 0, 0), "end_a": (k, 1, 0), "radius_a": 0.5,
                 "point_b": (0, 0, 3.0), "radius_b": 0.2} for k in (-1.0, 1.0)]  # fmt: skip
    box = {"kind": 2, "body_a": 2, "body_b": -1, "point_a": (0, 0, 3.0), "radius_a": 0.2, "half_b": (1.0, 2.0, 2.0)}
    spans = spans_of([*capsules, box])
    assert spans.rows.tolist() == [[0, 2], [2, 3]] and spans.ball.tolist() == [[0, 1], [1, 2]]
    assert spans.balls.body.tolist() == [0, 2, -1]
    assert np.allclose(spans.balls.center, [(0, 0.5, 0), (0, 0, 3), (0, 0, 0)], atol=1e-15)
    assert np.allclose(spans.balls.radius, [np.hypot(1, 0.5) + 0.5, 0.2, 3.0], rtol=1e-11)


def test_a_shape_without_bounds_is_asked():
    box = {"kind": 2, "body_a": 0, "body_b": -1, "radius_a": 0.2, "half_b": (np.inf, 1.0, 1.0)}
    spans = spans_of([box, box | {"body_a": 1}])
    assert (spans.radius == -1.0).all() and len(spans.balls.body) == 0


def wide(*args):
    """Spans whose balls are never apart."""
    spans = spans_of(*args)
    return spans._replace(radius=np.where(spans.radius >= 0.0, 1e9, spans.radius))


def heap(shapes, count=12):
    """Bodies that fall on the ground, each of one of the shapes, some fixed ones among them."""
    rng, tree = np.random.default_rng(3), vt.Tree("heap")
    tree.contact(vt.Ground(friction=0.5))
    for k in range(count):
        tree.world.add(vt.free(f"base {k}"), vt.body(f"body {k}", 1.0, (4e-3, 5e-3, 4e-3)))
        tree.contact(vt.Contact(f"body {k}", shapes=shapes[k % len(shapes)]))
    tree.world.add(vt.tz(0.1), vt.frame("post"))
    tree.contact(vt.Contact("post", shapes=vt.Capsule(0.05, 0.2)))
    model = tree.compile()
    q = model.neutral().reshape(count, 7)
    k = np.arange(count)
    q[:, 0], q[:, 1], q[:, 2] = 0.3 * (k % 2), 0.28 * (k // 2 % 2), 0.4 + 0.1 * k
    q[:, 3:] += 0.3 * rng.normal(size=(count, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    return model, q.ravel(), rng.normal(size=model.nv)


def crawling():
    model = crawler(vt.Ground(friction=0.6), limits=True)
    return model, *thrown(model, 2)


FALLS = {
    "balls": lambda: heap([vt.Sphere(0.1)]),
    "boxes": lambda: heap([vt.Box((0.2, 0.15, 0.1)), vt.Sphere(0.1)]),
    "capsules": lambda: heap([vt.Capsule(0.06, 0.15), vt.Box((0.2, 0.15, 0.1)), vt.Capsule(0.05, 0.2)]),
    "crawler": crawling,
}


@pytest.mark.parametrize("dt", [4e-3, 2e-3])
@pytest.mark.parametrize("name", FALLS)
def test_what_is_far_away_changes_no_bit(name, dt, monkeypatch):
    def states():
        model, q, v = FALLS[name]()
        integrator = vt.METHODS["linear-time"](model, dt)
        integrator.start(0.0, q, v)
        for k in range(60):
            integrator.advance(3)
            if k == 20:  # resumed
                integrator.resume(integrator.checkpoint())
                integrator.stepper.spoil()
            if k == 40:  # set to where it was before
                integrator.start(integrator.t, seen[15][0], 0.1 * v)
            seen.append([x.copy() for x in integrator.state()])
        return seen

    seen = []
    near, seen = states(), []
    monkeypatch.setattr("vitree.model.lower.spans_of", wide)
    for one, other in zip(near, states(), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_mechanism_has_the_ports_of_all_that_it_touches_with():
    model = crawler(vt.Ground(friction=0.6), limits=True)
    assert model.contact_list.ports == 6 * 6 + 8


def test_spans_of_other_contacts_are_an_error():
    contacts = points(0, 2)
    with pytest.raises(ValueError, match="spans of other contacts"):
        type(crawler(vt.Ground()).contact_list)(contacts, None, spans_of(contacts[:1]))
