"""Faces and lines of convex shapes that lie on each other: corners of what they have in common, and stances on them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.model.faces import gaps_of_faces

CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
#: Turned so that z is along x.
ALONG = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


def places(upper, lower, shift=(0.0, 0.0), height=0.2, near=1e-6, turn=(0.0, 0.0, 0.0)):
    """Places (k, 3) of the upper one at a height above the lower one, in the axes of the lower one; all is turned."""
    R = Rotation.from_rotvec(turn)
    tree = vt.Tree("two")
    for name in ("upper", "lower"):
        tree.world.add(vt.free(f"{name} joint"), vt.body(name, 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("upper", shapes=[upper]), vt.Contact("lower", shapes=[lower]))
    model = tree.compile()
    q = model.neutral()
    q[:3], q[3:7], q[10:] = R.apply((*shift, height)), R.as_quat(), R.as_quat()
    poses = model._pose_rows(q[None])[0]
    gaps, numbers = gaps_of_faces(model.flat, model.contact_candidates, poses, near)
    assert len(numbers) == len(gaps.gap) and {*gaps.a} == {"upper"} and {*gaps.b} == {"lower"}
    np.testing.assert_allclose(gaps.point_a - gaps.point_b, gaps.gap[:, None] * gaps.normal, atol=1e-12)
    return R.inv().apply(gaps.point_a)


def area(x):
    from scipy.spatial import ConvexHull

    return ConvexHull(x[:, :2]).volume


@pytest.mark.parametrize("seed", range(10))
def test_boxes_have_the_corners_of_their_common_rectangle(seed):
    rng = np.random.default_rng(seed)
    a, b, shift = rng.uniform(0.1, 0.5, 2), rng.uniform(0.1, 0.5, 2), rng.uniform(-0.1, 0.1, 2)
    upper, lower = (vt.Box((*size, 0.2)) for size in (a, b))
    found = places(upper, lower, shift, turn=rng.normal(size=3))
    low, high = np.maximum(-b / 2, shift - a / 2), np.minimum(b / 2, shift + a / 2)
    wanted = np.array([(x, y, 0.1) for x in (low[0], high[0]) for y in (low[1], high[1])])
    assert len(found) == 4
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1].round(9))], wanted, atol=1e-9)


@pytest.mark.parametrize(("upper", "lower", "shift", "wanted"), [
    (vt.Cylinder(0.2, 0.2), vt.Box((1.0, 1.0, 0.2)), (0.1, 0.2), np.pi * 0.04),
    (vt.Cone(0.2, 0.2), vt.Cylinder(0.1, 0.2), (0.05, 0.0), np.pi * 0.01),
    (vt.Cylinder(0.2, 0.2), vt.Box((1.0, 1.0, 0.2)), (0.5, 0.0), np.pi * 0.02),
    (vt.Hull(CORNERS * 0.1), vt.Hull(CORNERS @ Rotation.from_rotvec((0, 0, np.pi / 4)).as_matrix().T * 0.1), (0, 0),
     8 * (np.sqrt(2) - 1) * 0.01),
])  # fmt: skip
def test_faces_have_the_area_in_common(upper, lower, shift, wanted):
    found = places(upper, lower, shift, turn=(0.3, 0.2, 0.1))
    assert area(found) == pytest.approx(wanted, rel=0.01) and np.allclose(found[:, 2], 0.1)


def test_lines_have_two_ends_and_points_are_one():
    rod, box = vt.Cylinder(0.1, 0.6, rotation=ALONG), vt.Box((0.4, 1.0, 0.2))
    ends = places(rod, box, (0.3, 0.1))
    np.testing.assert_allclose(ends[np.argsort(ends[:, 0])], [(0.0, 0.1, 0.1), (0.2, 0.1, 0.1)], atol=1e-9)
    ends = places(rod, rod, (0.2, 0.0))
    np.testing.assert_allclose(ends[np.argsort(ends[:, 0])], [(-0.1, 0.0, 0.1), (0.3, 0.0, 0.1)], atol=1e-9)
    across = vt.Cylinder(0.1, 0.6, rotation=Rotation.from_rotvec((np.pi / 2, 0, 0)).as_matrix())
    for upper, lower in ((rod, across), (vt.Ellipsoid((0.3, 0.2, 0.1)), box)):
        np.testing.assert_allclose(places(upper, lower), [(0.0, 0.0, 0.1)], atol=1e-9)


def test_shapes_that_are_farther_away_or_tilted_have_one_place():
    box = vt.Box((0.2, 0.2, 0.2))
    assert len(places(box, box, height=0.21)) == 1 and len(places(box, box, height=0.21, near=0.02)) == 4
    tilted = vt.Hull(CORNERS * 0.1 @ Rotation.from_rotvec((0.1, 0.2, 0)).as_matrix())
    assert len(places(tilted, box, height=0.3, near=0.2)) == 1


@pytest.mark.parametrize("upper", [vt.Box((0.2, 0.2, 0.2)), vt.Cylinder(0.1, 0.2), vt.Cone(0.1, 0.2),
                                   vt.Hull(CORNERS * 0.1)])  # fmt: skip
@pytest.mark.parametrize("lower", [vt.Box((0.2, 0.2, 0.2)), vt.Cylinder(0.1, 0.2), vt.Hull(CORNERS * 0.1)])
def test_a_pile_stands_while_its_center_of_mass_is_over_what_carries_it(upper, lower):
    for shift, possible in ((0.0, True), (0.09, True), (0.11, False)):
        tree = vt.Tree("pile")
        for name, height, x, shape in (("low", 0.1, 0.0, lower), ("high", 0.3, shift, upper)):
            tree.world.add(vt.fixed(f"{name} start", (x, 0.0, height)), vt.free(f"{name} joint"),
                           vt.body(name, 1.0, (0.01,) * 3))  # fmt: skip
            tree.contact(vt.Contact(name, shapes=[shape]))
        tree.contact(vt.Ground())
        model = tree.compile()
        found = vt.static_equilibrium(model, model.neutral())
        assert found.possible == possible, found.why
        assert possible or found.fault == "center of mass"
        if possible:
            weight = sum(f[2] for b, f in zip(found.b, found.forces, strict=True) if b == "ground")
            assert weight == pytest.approx(2 * 9.81, rel=1e-9)
