"""Shapes that cross the seam of flush fixed boxes keep their speed."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.scenes.solids import cone_inertia, cylinder_inertia

METHODS = ("linear-time", "midpoint")
G = 9.81
ALONG_Y = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])


def tiles(shape, moments, friction, count=8):
    """A body on a row of flush boxes of 1 m along x, whose upper faces are at zero."""
    tree = vt.Tree("tiles", gravity=(0, 0, -G))
    tree.world.add(vt.free("joint"), vt.body("body", 1.0, moments))
    floor = [vt.Box((1.0, 2.0, 0.2), position=(k - count / 2 + 0.5, 0, -0.1)) for k in range(count)]
    tree.contact(vt.Contact("body", shapes=shape, friction=friction))
    tree.contact(vt.Contact("world", shapes=floor, friction=friction))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("speed", [0.3, 1.0, 3.3, 7.1])
def test_a_cylinder_rolls_over_seams(speed, dt, method):
    across, _, along = cylinder_inertia(1.0, 0.1, 0.2)
    shape = vt.Cylinder(0.1, 0.2, rotation=ALONG_Y)
    model = tiles(shape, (across, along, across), 0.3)
    q, v = model.neutral(), model.zero_velocity()
    q[:3], v[0], v[4] = (-0.35, 0.013, 0.1), speed, speed / 0.1
    run = vt.simulate(model, q, v, duration=round(0.7 / speed / dt) * dt, dt=dt, method=method)
    assert run.q[-1, 0] > 0.3
    np.testing.assert_allclose(run.q[:, :3] - q[:3], np.outer(run.t, (speed, 0, 0)), rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("speed", [2.0, 3.3, 7.1])
def test_a_cone_slides_over_seams(speed, friction, dt, method):
    shape = vt.Cone(0.1, 0.2, position=(0, 0, 0.05))
    model = tiles(shape, cone_inertia(1.0, 0.1, 0.2), friction)
    q, v = model.neutral(), model.zero_velocity()
    q[:3], v[0] = (-0.35, 0.013, 0.05), speed
    run = vt.simulate(model, q, v, duration=round(0.6 / speed / dt) * dt, dt=dt, method=method)
    wanted = speed * run.t - friction * G * run.t**2 / 2
    assert wanted[-1] > 0.36
    np.testing.assert_allclose(run.q[:, 0] - q[0], wanted, rtol=0, atol=1e-10)
    assert np.abs(run.q[:, 1:] - q[1:]).max() < 1e-10
