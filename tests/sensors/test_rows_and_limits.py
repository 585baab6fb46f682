"""Inputs that are given to sensors as rows, and readings that are too large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vitree as vt


@pytest.fixture(scope="module")
def model():
    tree = vt.Tree("cart")
    tree.world.add(vt.tx("x"), vt.body("cart", 2.0, (0.1,) * 3))
    tree.load(vt.Drive("x", 50.0, 3.0, target="goal"))
    return tree.compile()


def test_rows_of_inputs_are_of_steps(model):
    """What drove a run, said a second time, changes nothing; other rows do."""
    rows = np.sin(np.arange(20))[:, None]
    run = vt.simulate(model, [0.1], duration=0.2, dt=0.01, control=vt.Control(inputs=rows))
    for sensor, name in ((vt.Imu("cart"), "accelerometer"), (vt.ForceTorque("cart"), "force")):
        told = getattr(sensor.read(run), name)
        np.testing.assert_allclose(getattr(sensor.read(run, inputs=rows), name), told, atol=1e-9)
        np.testing.assert_allclose(getattr(sensor.read(run, inputs=np.vstack([rows, rows])), name), told, atol=1e-9)
    other = vt.Imu("cart").read(run, inputs=0.0 * rows).accelerometer
    assert np.abs(other - vt.Imu("cart").read(run).accelerometer).max() > 1.0
    for wrong in (rows[:-1], rows[::2]):
        with pytest.raises(vt.InputError, match=f"has {len(wrong)} rows, one for each step, and the trajectory 21"):
            vt.Imu("cart").read(run, inputs=wrong)
    few = vt.simulate(model, [0.1], duration=0.2, dt=0.01, control=vt.Control(inputs=rows), record_every=2)
    with pytest.raises(vt.InputError, match="records, which are not of each step"):
        vt.Imu("cart").read(few, inputs=rows)


def test_speeds_of_encoders_that_no_double_holds_are_refused(model):
    run = vt.simulate(model, [0.1], duration=0.02, dt=0.01, control=vt.Control(inputs={"goal": 0.0}))
    for k in (0, 1, 2):
        far = replace(run, q=np.where(np.arange(3)[:, None] == k, 1.7e308, -1.7e308))
        with pytest.raises(vt.InputError, match="readings are too large for a double"):
            vt.Encoder().read(far)
        with pytest.raises(vt.InputError, match="readings are too large for a double"):
            vt.Encoder().read(far[:2] if k < 2 else far[1:])
