"""The gravity of a system cannot be written to; other gravity is another model."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree import vehicles

DOUBLE = vt.load_urdf(vt.find_robot("double_pendulum"))
REDUCED = vt.load_urdf(vt.find_robot("double_pendulum")).with_parameters(gravity=(0, 0, -3.0))


@pytest.mark.parametrize("make", [lambda: DOUBLE, lambda: REDUCED, vehicles.car, vehicles.boat, vehicles.helicopter])
def test_writing_to_it_is_an_error(make):
    system = make()
    before = np.array(system.gravity)
    with pytest.raises(ValueError, match="read-only"):
        system.gravity[2] = 0.0
    with pytest.raises(AttributeError):
        system.gravity = (0.0, 0.0, 0.0)
    assert np.array_equal(system.gravity, before)


def test_the_gravity_of_a_file_is_given():
    moon = vt.load_urdf(vt.find_robot("double_pendulum"), gravity=(0, 0, -1.62))
    assert np.array_equal(moon.gravity, [0, 0, -1.62]) and moon.digest != DOUBLE.digest


def test_another_gravity_is_another_model():
    moon = DOUBLE.with_parameters(gravity=(0, 0, -1.62))
    assert np.array_equal(moon.gravity, [0, 0, -1.62]) and np.array_equal(DOUBLE.gravity, [0, 0, -9.81])
    q = np.array([0.4, 0.2])
    np.testing.assert_allclose(moon.rnea(q, 0 * q, 0 * q), DOUBLE.rnea(q, 0 * q, 0 * q) * 1.62 / 9.81)
    given = np.array([0, 0, -1.0])
    own = DOUBLE.with_parameters(gravity=given)
    given[2] = 5.0
    assert own.gravity[2] == -1.0
