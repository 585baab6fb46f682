"""How redundant points of a body on a plane share its load where it slides and turns."""

import numpy as np
import pytest

import vitree as vt


def plate(points, com, friction, v, order=None, method="linear-time", steps=20):
    """The run of a plate on points that are given in some order."""
    points = np.array(points)[slice(None) if order is None else order]
    tree = vt.Tree("plate")
    tree.world.add(vt.free("base"), vt.body("plate", 1.0, (0.03, 0.04, 0.02), com=com))
    tree.contact(vt.Ground(friction=friction), vt.Contact("plate", points=points))
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    return vt.simulate(model, q, v, duration=0.01 * steps, dt=0.01, method=method, tolerance=1e-12)


RING = [(0.2 * np.cos(a), 0.15 * np.sin(a), 0.0) for a in np.pi / 3 * np.arange(6)]
SQUARE = [(0.1, 0.1, 0.0), (0.1, -0.1, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.0)]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_normal_impulses_are_affine_functions_of_the_place(method):
    """Of all with the same wrench these are the least."""
    run = plate(RING, (0.02, 0.01, 0.2), 0.3, [1.0, 0.3, 0, 0, 0, 6.0], method=method)
    for record in range(2, 21):
        at = run.contacts.record == record
        normal, places = run.contacts.impulse[at][:, 2], run.contacts.point[at][:, :2]
        assert len(normal) == 6 and (np.ptp(places, axis=0) > 0.2).all()
        columns = np.c_[np.ones(6), places]
        left = normal - columns @ np.linalg.lstsq(columns, normal, rcond=None)[0]
        assert np.abs(left).max() < 1e-11 * normal.max()


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_order_of_points_does_not_matter(method):
    rng, v = np.random.default_rng(0), [1.0, 0.3, 0, 0, 0, 6.0]
    first = plate(RING, (0.02, 0.01, 0.2), 0.3, v, method=method)
    for _ in range(4):
        other = plate(RING, (0.02, 0.01, 0.2), 0.3, v, rng.permutation(6), method)
        np.testing.assert_allclose(other.q, first.q, rtol=0, atol=1e-13)


def test_a_point_that_would_pull_carries_nothing():
    """Where the centre of pressure is outside of the core of a square one corner is idle, and it comes back."""
    run = plate(SQUARE, (0.0, 0.0, 0.3), 0.25, [1.5, 1.2, 0, 0, 0, 3.0], steps=40)
    loaded, least = [], []
    for record in range(1, 41):
        at = run.contacts.record == record
        normal, points = run.contacts.impulse[at][:, 2], run.contacts.point[at][:, :2]
        assert (normal > 0).all()
        # in the axes of the plate, by half a side: N = (F/4)(1 + x x_i + y y_i) is positive within abs(x) + abs(y) < 1
        turn = run.system.frame_pose("plate", run.q[record - 1])
        centre = (normal @ points / normal.sum() - turn[:2, 3]) @ turn[:2, :2] / 0.1
        loaded.append(len(normal))
        least.append(1 - np.abs(centre).sum())
    assert {3, 4} == set(loaded)
    np.testing.assert_array_equal(np.array(least) > 0, np.array(loaded) == 4)
