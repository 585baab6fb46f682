"""Contacts that are far away together: points of one body on one plane, and the ball about them."""

from __future__ import annotations

import numpy as np
import pytest
from touching_models import crawler

import vitree as vt
from vitree.mechanism.spans import AT_LIMIT, RUBS, spans_of

PLANE = {"kind": 0, "offset": 0.0, "normal": (0.0, 0.0, 1.0)}
SEGMENTS = {"kind": 1, "body_a": 0, "body_b": 2}


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
    spans = spans_of([SEGMENTS, SEGMENTS, {"kind": AT_LIMIT}, {"kind": RUBS}])
    assert spans.rows.tolist() == [[k, k + 1] for k in range(4)] and (spans.radius == -1.0).all()
    assert spans.ports == 2 * 6 + 2


def test_a_mechanism_has_the_ports_of_all_that_it_touches_with():
    model = crawler(vt.Ground(friction=0.6), limits=True)
    assert model.contact_list.ports == 6 * 6 + 8


def test_spans_of_other_contacts_are_an_error():
    contacts = points(0, 2)
    with pytest.raises(ValueError, match="spans of other contacts"):
        type(crawler(vt.Ground()).contact_list)(contacts, None, spans_of(contacts[:1]))
