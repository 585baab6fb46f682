"""Solids on inclines at the thresholds of sliding and of rolling over: closed forms and equations solved by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import vitree as vt
from vitree.scenes.solids import cone_inertia, ellipsoid_inertia

METHODS = ("linear-time", "midpoint")
G = 9.81
#: Semi-axes [m] of the ellipsoid along x, y and z.
A, B, C = 0.2, 0.12, 0.1
#: Tangent of the steepest incline on which it can lie: its centre is above its lowest point.
STEEPEST = (A**2 - C**2) / (2 * A * C)


def inclined(shape, moments, angle, friction, base):
    """A body of 1 kg on a plane, or on a fixed box; gravity is inclined to +x."""
    tree = vt.Tree("incline", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    tree.world.add(vt.free("joint"), vt.body("body", 1.0, moments))
    tree.contact(vt.Contact("body", shapes=shape, friction=friction))
    if base == "box":
        tree.contact(vt.Contact("world", shapes=vt.Box((9, 9, 0.2), position=(0, 0, -0.1)), friction=friction))
    else:
        tree.contact(vt.Ground(friction=friction))
    return tree.compile()


def touch(tilt):
    """From the centre of the ellipsoid, turned about y, to its lowest point: along x, and its height."""
    x, z = np.sin(tilt), np.cos(tilt)
    height = np.hypot(A * x, C * z)
    return (C**2 - A**2) * x * z / height * -1, height


@pytest.mark.parametrize("base", ["plane", "box"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("excess", [-1e-6, 1e-6, 0.2])
def test_a_cone_slides_on_its_base(excess, method, base):
    radius, length, friction = 0.2, 0.2, 0.4
    angle = np.arctan(friction * (1 + excess))
    shape = vt.Cone(radius, length, position=(0, 0, length / 4))
    model = inclined(shape, cone_inertia(1.0, radius, length), angle, friction, base)
    q = model.neutral()
    q[2] = length / 4
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    wanted = max(0.0, 0.5 * G * (np.sin(angle) - friction * np.cos(angle)))
    assert run.q[-1] - q == pytest.approx([wanted, 0, 0, 0, 0, 0, 0], abs=1e-10) and not run.warnings


@pytest.mark.parametrize("base", ["plane", "box"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.7, 0.9])
def test_a_cone_does_not_tip_below_its_angle(share, method, base):
    """Its centre is a quarter of its length above the base, and the weight is inside of its rim."""
    radius, length = 0.05, 0.3
    shape = vt.Cone(radius, length, position=(0, 0, length / 4))
    angle = np.arctan(share * 4 * radius / length)
    model = inclined(shape, cone_inertia(1.0, radius, length), angle, 3.0, base)
    q = model.neutral()
    q[2] = length / 4
    run = vt.simulate(model, q, duration=0.5, dt=1e-3, method=method)
    assert np.abs(run.q - q).max() < 1e-10 and not run.warnings


def lying(angle, friction, base):
    """The ellipsoid where it lies on an incline: its stable tilt, or that of the steepest incline it can lie on."""
    tilt = np.arctan(np.sqrt(C / A) ** 2)
    if np.tan(angle) < STEEPEST:
        tilt = brentq(lambda t: touch(t)[0] / touch(t)[1] - np.tan(angle), 0, tilt, xtol=1e-15)
    model = inclined(vt.Ellipsoid((A, B, C)), ellipsoid_inertia(1.0, (A, B, C)), angle, friction, base)
    q = model.neutral()
    q[2], q[4], q[6] = touch(tilt)[1], np.sin(tilt / 2), np.cos(tilt / 2)
    return model, q, tilt


@pytest.mark.parametrize("base", ["plane", "box"])
@pytest.mark.parametrize("method", METHODS)
def test_an_ellipsoid_lies_up_to_its_angle_and_rolls_beyond(method, base):
    angle = np.arctan(STEEPEST * (1 - 1e-6))
    model, q, _ = lying(angle, 3.0, base)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    assert np.abs(run.q - q).max() < 1e-12 and not run.warnings
    # beyond it no moment but that of the excess acts, to first order: it accelerates by a constant
    angle = np.arctan(STEEPEST * (1 + 1e-6))
    model, q, tilt = lying(angle, 3.0, base)
    run = vt.simulate(model, q, duration=0.3, dt=1e-3, method=method)
    arm = np.hypot(*touch(tilt))
    turned = 0.5 * G * arm * (angle - np.arctan(STEEPEST)) / (ellipsoid_inertia(1.0, (A, B, C))[1] + arm**2) * 0.3**2
    assert run.q[-1, :3] - q[:3] == pytest.approx(
        turned * np.array([touch(tilt)[1], 0, touch(tilt)[0]]), rel=2e-2, abs=1e-15)  # fmt: skip


def sliding(angle, friction):
    """Rates of (x, x', tilt, tilt') of an ellipsoid that slides down an incline: N carries the height of its centre."""
    inertia = ellipsoid_inertia(1.0, (A, B, C))[1]

    def rates(_, y):
        tilt, turn = y[2:]
        arm, height = touch(tilt)
        # d height = arm d tilt, and once more
        bend = (A**2 - C**2) * np.cos(2 * tilt) / height - arm**2 / height
        N = (G * np.cos(angle) + bend * turn**2) / (1 - arm * (friction * height - arm) / inertia)
        return [y[1], G * np.sin(angle) - friction * N, turn, N * (friction * height - arm) / inertia]

    return rates


@pytest.mark.parametrize("base", ["plane", "box"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("excess", [-1e-6, 1e-6, 0.2])
def test_an_ellipsoid_slides(excess, method, base):
    friction = 0.2
    angle = np.arctan(friction * (1 + excess))
    model, q, tilt = lying(angle, friction, base)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    end = [0, 0, tilt, 0]
    if excess > 0:
        end = solve_ivp(sliding(angle, friction), (0, 1), end, method="DOP853", rtol=1e-12, atol=1e-15).y[:, -1]
    turned = 2 * np.arctan2(run.q[-1, 4], run.q[-1, 6])
    assert (run.q[-1, 0], turned) == pytest.approx((end[0], end[2]), abs=1e-9 + 2e-5 * max(excess, 0))
    assert np.abs(run.q[-1, [1, 3, 5]]).max() < 1e-12 and not run.warnings
