"""What is held does not slip: two fingers of boxes and a mug, the Allegro hand and a ball."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.scenes.base import SkippedError
from vitree.scenes.grasps import allegro, closing, gripper, gripper_start, gripper_targets, mug

METHODS = ("linear-time", "midpoint")
G = 9.81
DRUM = [vt.Cylinder(0.04, 0.1), vt.Box((0.03, 0.01, 0.08), position=(0.05, 0, 0))]


@pytest.mark.parametrize(("shapes", "method", "dt"), [
    (DRUM, "linear-time", 2e-3), (DRUM, "midpoint", 2e-3), (DRUM, "linear-time", 5e-3), (mug(), "linear-time", 2e-3),
])  # fmt: skip
def test_a_gripper_lifts_and_holds(shapes, method, dt):
    model = gripper(shapes)
    q, duration = gripper_start(model, 0.1), 4.0
    run = vt.simulate(model, q, duration=duration, dt=dt, method=method, monitors=("gap",),
                      control=vt.Control(targets=gripper_targets(model, duration, dt)))  # fmt: skip
    flight, lift = model.joint("flight").q_slice, model.joint("lift").q_slice.start
    places = run.q[:, flight].copy()
    assert places[-1, 2] - q[flight][2] == pytest.approx(0.2, abs=5e-4)
    places[:, 2] -= run.q[:, lift]
    held = run.t >= 2.0
    assert np.abs(places[held] - places[held][0]).max() < 1e-11
    assert run.monitors["gap"].min() > -1e-11 and not run.warnings


def test_without_friction_it_stays_where_it_is():
    """The fingers close on the drum and slide up along it."""
    model = gripper(DRUM, friction=0.0)
    q = gripper_start(model, 0.1)
    run = vt.simulate(model, q, duration=2.0, dt=2e-3, control=vt.Control(targets=gripper_targets(model, 2.0, 2e-3)))
    start = model.joint("flight").q_slice.start
    assert abs(run.q[-1, start + 2] - 0.05) < 1e-9 and run.q[-1, model.joint("lift").q_slice.start] > 0.24


@pytest.mark.parametrize("method", METHODS)
def test_a_hand_holds_a_ball_in_any_direction(method):
    """It closes with the palm up; then gravity goes out of the palm, across it and along it."""
    try:
        model = allegro((-G, 0, 0))
    except SkippedError as error:
        pytest.skip(str(error))
    q, targets = closing(model)
    opened = np.array([q[model.joint(drive.joint).q_slice.start] for drive in model.drives])
    share = np.clip(np.arange(1000)[:, None] * 2e-3 / 0.6, 0, 1)
    closed = vt.simulate(model, q, duration=2.0, dt=2e-3, method=method, monitors=("gap",),
                         control=vt.Control(targets=opened + share * (targets - opened)))  # fmt: skip
    assert closed.monitors["gap"].min() > -1e-10
    for gravity in ((G, 0, 0), (0, G, 0), (0, 0, -G)):
        turned = allegro(gravity)
        flight = turned.joint("flight").q_slice
        run = vt.simulate(turned, closed.q[-1], closed.v[-1], duration=4.0, dt=2e-3, method=method,
                          monitors=("gap",), control=vt.Control(targets=np.tile(targets, (2000, 1))))  # fmt: skip
        held = run.q[run.t >= 2.0][:, flight]
        assert np.abs(held - held[0]).max() < 1e-11 and np.abs(held[0] - closed.q[-1, flight]).max() < 1e-2
        assert run.monitors["gap"].min() > -1e-10 and not run.warnings
