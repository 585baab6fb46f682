"""Points that a plane meets first are those of the shape."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.geometry.distances import nearest_on_segments

PLACE = {"position": (0.3, -0.2, 0.5), "rotation": Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()}


@pytest.mark.parametrize("shape", [vt.Sphere(0.3, **PLACE), vt.Capsule(0.2, 0.7, **PLACE), vt.Box((1, 2, 3), **PLACE),
                                   vt.Cylinder(0.4, 0.9, 6, **PLACE)])  # fmt: skip
def test_the_farthest_point_along_every_direction_is_that_of_the_shape(shape):
    """Support functions in closed form; of a cylinder along the directions of its points."""
    turn, at = np.array(shape.rotation), np.array(shape.position)
    directions = np.random.default_rng(0).normal(size=(50, 3))
    if isinstance(shape, vt.Cylinder):
        angles = np.arange(6) * np.pi / 3
        directions = np.array([(np.cos(a), np.sin(a), z) for a in angles for z in (-0.8, 0.6)])
    for d in directions:
        far = {
            vt.Sphere: lambda d: 0.3 * np.linalg.norm(d),
            vt.Capsule: lambda d: 0.2 * np.linalg.norm(d) + 0.35 * abs(d[2]),
            vt.Box: lambda d: np.abs(d) @ (0.5, 1.0, 1.5),
            vt.Cylinder: lambda d: 0.4 * np.hypot(d[0], d[1]) + 0.45 * abs(d[2]),
        }[type(shape)](d)
        radius = getattr(shape, "radius", 0.0) if isinstance(shape, vt.Sphere | vt.Capsule) else 0.0
        found = ((shape.points - at) @ turn @ d).max() + radius * np.linalg.norm(d)
        assert found == pytest.approx(far, rel=1e-12)


def test_a_box_has_eight_corners():
    corners = sorted(itertools.product((-0.5, 0.5), (-1.0, 1.0), (-1.5, 1.5)))
    assert sorted(map(tuple, vt.Box((1, 2, 3)).points.tolist())) == corners


def test_what_a_cylinder_loses_is_at_the_middle_of_two_points():
    shape = vt.Cylinder(0.4, 0.9, 5)
    outer, inner = np.linalg.norm(shape.points[0, :2]), np.linalg.norm(shape.points[:2, :2].mean(axis=0))
    assert shape.lost == pytest.approx(outer - inner, rel=1e-12) and outer == pytest.approx(0.4)


def test_what_cones_and_ellipsoids_lose_is_what_their_hulls_lose():
    """Against support functions along many directions: none loses more, and some nearly as much."""
    rng = np.random.default_rng(1)
    d = rng.normal(size=(20000, 3))
    d /= np.linalg.norm(d, axis=1)[:, None]
    for shape, far in (
        (vt.Cone(0.4, 0.9), lambda d: np.maximum(0.45 * d[:, 2], 0.4 * np.hypot(d[:, 0], d[:, 1]) - 0.45 * d[:, 2])),
        (vt.Ellipsoid((0.3, 0.3, 0.3)), lambda d: 0.3 + 0 * d[:, 0]),
        (vt.Ellipsoid((0.1, 0.5, 0.3)), lambda d: np.linalg.norm(d * (0.1, 0.5, 0.3), axis=1)),
    ):
        lost = far(d) - (d @ shape.points.T).max(axis=1)
        assert lost.min() > -1e-12 and 0.5 * shape.lost < lost.max() <= shape.lost + 1e-12


def test_no_point_of_a_segment_is_nearer():
    rng = np.random.default_rng(2)
    x, a, b = rng.normal(size=(3, 200, 3))
    b[:10] = a[:10]
    found = nearest_on_segments(x, a, b)
    np.testing.assert_array_equal(found[:10], a[:10])
    tries = a + np.linspace(0, 1, 1001)[:, None, None] * (b - a)
    least = np.linalg.norm(x - tries, axis=2).min(axis=0)
    away = np.linalg.norm(x - found, axis=1)
    assert (away <= least + 1e-15).all() and (least - away).max() < 1e-4
