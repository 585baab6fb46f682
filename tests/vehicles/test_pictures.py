"""Pictures of vehicles: what is drawn has the sizes of the vehicle, and its parts are where they belong."""

from __future__ import annotations

from colorsys import rgb_to_hsv

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vitree import vehicles
from vitree.results.drawing import DARK, PALETTE, PLAIN, drawing_of, poses
from vitree.vehicles.poses import Plane

#: A vehicle, and the same with all lengths twice as large.
MADE = {
    "car": lambda k: vehicles.car(wheelbase=2.6 * k, wheel_radius=0.3 * k),
    "helicopter": lambda k: vehicles.helicopter(rotor_height=0.2 * k, tail_length=0.9 * k),
    "snakeboard": lambda k: vehicles.snakeboard(half_length=0.5 * k, mass=60.0),
}


def bounds(vehicle):
    """The lowest and highest corner (2, 3) [m] of the box about each shape, at the neutral place, by link."""
    drawing = drawing_of(vehicle)
    found: dict[str, list] = {}
    at = poses(vehicle, vehicle.neutral())
    for shape in drawing.shapes:
        body = at[shape.body]
        turn = Rotation.from_quat(body[3:]) * Rotation.from_quat(shape.pose[3:])
        middle = body[:3] + Rotation.from_quat(body[3:]).apply(shape.pose[:3])
        R = turn.as_matrix()
        if shape.kind == "box":
            half = np.abs(R) @ np.array(shape.size) / 2
        else:
            radius, length = shape.size
            along = np.abs(R[:, 2])
            round_ = radius if shape.kind == "capsule" else radius * np.sqrt(np.maximum(1 - along**2, 0.0))
            half = along * length / 2 + round_
        found.setdefault(shape.link or drawing.bodies[shape.body], []).append(np.array([middle - half, middle + half]))
    return found


@pytest.mark.parametrize("name", MADE)
def test_pictures_have_the_size_of_the_vehicle_and_are_alike_on_both_sides(name):
    once, twice = bounds(MADE[name](1.0)), bounds(MADE[name](2.0))
    for link, boxes in once.items():
        np.testing.assert_allclose(twice[link], 2 * np.array(boxes), rtol=1e-12, atol=1e-12)
    every = np.array([box for boxes in once.values() for box in boxes])
    mirrored = np.stack([every[:, 0] * (1, 0, 1), every[:, 1] * (1, 0, 1)], axis=1)
    mirrored[:, :, 1] = -every[:, ::-1, 1]
    assert sorted(every.round(12).tolist()) == sorted((mirrored + 0.0).round(12).tolist())


def test_a_car_stands_on_its_wheels_below_its_chassis():
    found = bounds(MADE["car"](1.0))
    (chassis, cabin), wheels = found["body"], [found[name][0] for name in found if name != "body"]
    middles = np.mean(wheels, axis=1)
    assert sorted(middles[:, 0]) == pytest.approx([0.0, 0.0, 2.6, 2.6]) and middles[:, 2] == pytest.approx(0.3)
    for low, high in wheels:
        assert low[2] == pytest.approx(0.0, abs=1e-12) and high - low == pytest.approx([0.6, 0.21, 0.6])
        assert chassis[0][0] < low[0] and high[0] < chassis[1][0]  # the chassis reaches beyond the axles,
        assert chassis[0][1] < low[1] and high[1] < chassis[1][1]  # and over the wheels
    assert 0.0 < chassis[0][2] < 0.3 < chassis[1][2]
    assert cabin[0][2] == pytest.approx(chassis[1][2])  # the cabin is on the chassis, and within its outline
    assert (chassis[0][:2] < cabin[0][:2]).all() and (cabin[1][:2] < chassis[1][:2]).all()
    assert 0.0 < cabin[0][0] < cabin[1][0] < 2.6 and cabin[1][2] < 2.6 / 2  # between the axles
    assert chassis[0][0] + chassis[1][0] == pytest.approx(2.6)


def test_the_rotors_of_a_helicopter_are_where_they_push():
    cabin, boom, mast, top, tail = bounds(MADE["helicopter"](1.0))["body"]
    for disc, axis, middle in ((top, 2, (0, 0, 0.2)), (tail, 1, (-0.9, 0, 0))):
        assert disc.mean(axis=0) == pytest.approx(middle, abs=1e-12)
        edges = np.ptp(disc, axis=0)
        others = np.delete(edges, axis)
        assert others[0] == pytest.approx(others[1]) and edges[axis] < 0.1 * others[0]
    assert tail[1][0] < top[0][0]  # seen from above they are apart, and the boom ends under the tail rotor
    assert (boom[0][0], boom[1][0]) == pytest.approx((-0.9, 0.0), abs=1e-12)
    assert (mast[0][2], mast[1][2]) == pytest.approx((0.0, 0.2), abs=1e-12)
    assert cabin[0][0] < 0 < cabin[1][0]
    assert np.ptp(mast[:, 0]) < 0.1 * np.ptp(top[:, 0]) and np.ptp(boom[:, 1]) < np.ptp(cabin[:, 1]) / 4


def test_a_snakeboard_reaches_from_axle_to_axle():
    found = {name: boxes[0] for name, boxes in bounds(MADE["snakeboard"](1.0)).items()}
    assert found["body"][:, 0] == pytest.approx([-0.5, 0.5])
    for name, x in (("front", 0.5), ("rear", -0.5)):
        assert found[name].mean(axis=0)[:2] == pytest.approx([x, 0.0], abs=1e-12)
        assert 3 * np.ptp(found["body"][:, 1]) < np.ptp(found[name][:, 1]) < 1.0
        assert found[name][1][2] < found["body"][0][2]
    assert np.ptp(found["rotor"][:, 1]) < 1.0 and found["rotor"][0][2] > found["body"][1][2]


def test_colours_are_shares():
    own = [shape.rgba for name in MADE for shape in drawing_of(MADE[name](1.0)).shapes]
    for colour in (*PALETTE, PLAIN, DARK, *own):
        assert len(colour) == 4 and all(0.0 <= share <= 1.0 for share in colour)
    # hues of Okabe & Ito's blue, vermilion, green, purple, sky blue and orange
    for colour, original in zip(PALETTE, ("0072B2", "D55E00", "009E73", "CC79A7", "56B4E9", "E69F00"), strict=True):
        hue, strong, _ = rgb_to_hsv(*colour[:3])
        wanted, full, _ = rgb_to_hsv(*(x / 255 for x in bytes.fromhex(original)))
        assert abs((hue - wanted + 0.5) % 1 - 0.5) < 0.025 and 0.25 < strong < full, original


def test_poses_in_a_plane_are_drawn_where_their_matrices_put_them():
    c = np.random.default_rng(2).normal(size=(5, 3))
    R, x = Plane.place(c)
    for pose, turn, place in zip(c, R, x, strict=True):
        X = np.eye(4)
        X[np.ix_((0, 1, 3), (0, 1, 3))] = Plane.matrix(pose)
        np.testing.assert_allclose(np.column_stack([turn, place]), X[:3], atol=1e-15)


@pytest.mark.parametrize("kind", ["boat", "car", "helicopter", "snakeboard"])
def test_shapes_are_turned_and_not_deformed(kind):
    for shape in getattr(vehicles, kind)().geometry:
        R = np.asarray(shape.rotation)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) > 0
