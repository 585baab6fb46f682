"""Convex hulls thinned to few points."""

import numpy as np
import pytest
from random_models import random_rotation
from scipy.optimize import nnls

import vitree as vt
from vitree.geometry import hull
from vitree.geometry.hull import hull_points

DIRECTIONS = np.random.default_rng(7).normal(size=(2000, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


def cloud(kind, rng):
    x = rng.normal(size=(400, 3))
    return {
        "ball": x / np.linalg.norm(x, axis=1)[:, None],
        "filled": x * (1.0, 0.3, 0.1),
        "plate": x * (1.0, 1.0, 0.0),
        "line": x[:, :1] * (1.0, 2.0, -0.5),
        "thin": x * (1.0, 1.0, 1e-4),
        "box": np.array([(a, b, c) for a in (-1, 1) for b in (-2, 2) for c in (0, 3)], float)[rng.integers(8, size=99)],
        "four": x[:4],
        "twice": np.repeat(x[:50], 3, axis=0),
    }[kind]


@pytest.mark.parametrize("kind", ["ball", "filled", "plate", "line", "thin", "box", "four", "twice"])
@pytest.mark.parametrize("most", [4, 9, 32, 64])
@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_what_is_lost_bounds_every_direction(kind, most, size):
    rng = np.random.default_rng(most + len(kind))
    x = size * (cloud(kind, rng) @ random_rotation(rng).T + rng.normal(size=3))
    kept, lost = hull_points(x, most)
    assert len(kept) <= most
    assert {tuple(p) for p in kept} <= {tuple(p) for p in x}
    inwards = (x @ DIRECTIONS.T).max(axis=0) - (kept @ DIRECTIONS.T).max(axis=0)
    assert inwards.max() <= lost + 1e-12 * size
    assert inwards.min() >= -1e-12 * size
    # the distance is that of one of the points: no direction alone comes near it with few directions
    assert lost <= 2.2 * size * np.ptp(x / size, axis=0).max()
    if kind == "ball" and most >= 32:
        assert 0.5 * lost < inwards.max()  # the distance is not far above what directions lose


def test_more_points_lose_less():
    x = cloud("ball", np.random.default_rng(0))
    lost = [hull_points(x, most).lost for most in (4, 8, 16, 32, 64, 128, 400)]
    assert lost[-1] == 0
    assert (np.diff(lost[2:]) < 0).all()


def test_a_box_keeps_its_corners_of_any_number_of_points():
    corners = np.array([(a, b, c) for a in (-1, 1) for b in (-2, 2) for c in (0, 3)], float)
    inside = np.random.default_rng(1).uniform((-1, -2, 0), (1, 2, 3), size=(500, 3))
    kept, lost = hull_points(np.concatenate([inside, corners]), 8)
    assert lost == 0
    np.testing.assert_array_equal(np.unique(kept, axis=0), np.unique(corners, axis=0))


def test_one_place_and_one_line():
    assert hull_points(np.ones((5, 3))).points.tolist() == [[1, 1, 1]]
    line = np.linspace(0, 1, 20)[:, None] * np.array((1.0, 2.0, 3.0))
    np.testing.assert_array_equal(hull_points(line).points, line[[0, -1]])


def test_a_hull_says_what_it_lost_also_when_it_is_moved():
    from dataclasses import replace

    shape = vt.Hull(cloud("ball", np.random.default_rng(3)), 20)
    assert shape.lost > 0.05
    assert replace(shape, position=(0, 0, 1)).lost == shape.lost
    assert len(shape.points) == 20


@pytest.mark.parametrize(("kind", "most"), [("ball", 9), ("filled", 6), ("filled", 20), ("plate", 5), ("thin", 8)])
def test_what_is_lost_is_the_largest_distance_from_the_hull(kind, most):
    """The nearest point of the hull by shares that are not negative and sum up to one, nearly."""
    x = cloud(kind, np.random.default_rng(5))[:120]
    kept, lost = hull_points(x, most)
    heavy = 1e4
    rows = np.vstack([kept.T, np.full(len(kept), heavy)])
    apart = [np.linalg.norm(kept.T @ nnls(rows, np.append(point, heavy))[0] - point) for point in x]
    assert lost == pytest.approx(max(apart), rel=1e-5) and lost > 0


def test_a_hull_of_few_points_tells_what_it_lost():
    points = cloud("ball", np.random.default_rng(0))
    whole, few = vt.Hull(points, most=400), vt.Hull(points, most=12)
    assert len(few.vertices) == 12 < len(whole.vertices) and whole.lost == 0.0 < few.lost
    assert vt.Hull(points, most=12, thinned=0.7).lost == 0.7  # vertices that were left out before count


@pytest.mark.parametrize("kind", ["ball", "filled", "thin", "box", "twice", "plate", "line"])
def test_repeated_points_change_no_bit(kind):
    """Not their order either, nor the sign of a zero, where no two points are as far as each other."""
    rng = np.random.default_rng(2)
    x = cloud(kind, rng) + (rng.normal(size=3) if kind != "plate" else 0)
    shuffled = rng.permutation(np.concatenate([x, x[::2], x[:7]]))
    one, other = hull_points(x, 20), hull_points(np.where(shuffled == 0, -0.0, shuffled), 20)
    assert (one.points + 0.0).tobytes() == (other.points + 0.0).tobytes()
    assert one.lost == pytest.approx(other.lost, rel=1e-9)


@pytest.mark.parametrize("kind", ["ball", "filled", "thin", "plate"])
@pytest.mark.parametrize("most", [5, 12, 40])
def test_planes_are_looked_at_where_they_change(kind, most, monkeypatch):
    """What is known of planes in the end is what all of them say, bit by bit; each round takes points that are far."""
    seen, rounds, choose = [], [], hull._chosen

    def chosen(x, planes, by, outside, most):
        found = choose(x, planes, by, outside, most)
        over, free = hull._farthest(x, planes)[1], outside > -np.inf
        np.testing.assert_array_equal(outside[free], over[free])
        assert len({int(by[k]) for k in found}) == len(found) <= most
        assert outside[found[0]] == outside.max() and outside[found].min() >= hull.NEARLY * outside.max()
        rounds.append(len(found))
        return found

    def lost(x, facets, planes, by, outside):
        seen.append(len(x))
        over, free = hull._farthest(x, planes)[1], outside > -np.inf
        np.testing.assert_array_equal(outside[free], over[free])
        np.testing.assert_array_equal(outside[free], (hull._dot(planes[:-1, by], x) + planes[-1, by])[free])
        return 0.0

    monkeypatch.setattr(hull, "_chosen", chosen)
    monkeypatch.setattr(hull, "_lost", lost)
    points = cloud(kind, np.random.default_rng(most))
    corners = len(hull_points(points, len(points)).points)
    assert len(hull_points(points, most).points) == min(most, corners)
    assert len(seen) == (corners > most) and (rounds or most == 5 or corners <= most)
