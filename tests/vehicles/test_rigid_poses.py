"""Poses of vehicles are of one configuration."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt


@pytest.mark.parametrize("vehicle", [vt.vehicles.boat, vt.vehicles.helicopter, vt.vehicles.car, vt.vehicles.snakeboard])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_stacks_of_configurations_are_refused(vehicle, rows):
    model = vehicle()
    q = np.tile(model.neutral(), (rows, 1))
    with pytest.raises(vt.InputError, match=r"^q "):
        model.frame_poses(q)
    assert model.frame_poses(model.neutral())["body"].shape == (4, 4)
