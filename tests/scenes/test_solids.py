"""Rolling and spinning solids against closed forms, and against equations solved by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from sliding_tops import axis_errors, rotation

import vitree as vt
from vitree.scenes.base import SCENES
from vitree.scenes.solids import (
    about_y,
    cone_inertia,
    cylinder_inertia,
    ellipsoid_inertia,
    solid,
    steady_coin,
    to_body,
)

METHODS = ("linear-time", "midpoint")
G = 9.81


def axis_of(model, q):
    return model.frame_pose("body", q)[:3, 2]


@pytest.mark.parametrize("method", METHODS)
def test_a_cone_rolls_about_its_apex_as_fast_as_ever(method):
    """On a plane the rate stays: once around in 2 pi / rate, of second order; its apex stays to round-off."""
    radius, length, rate = 0.1, 0.3, 2.0
    half = math.atan2(radius, length)
    model = solid(vt.Cone(radius, length, position=(0, 0, length / 4)), cone_inertia(1.0, radius, length), 0.8)
    q, v = model.neutral(), model.zero_velocity()
    q[3:7] = about_y(math.atan2(-math.cos(half), -math.sin(half)))
    q[:3] = 0.75 * length * np.array((math.cos(half), 0, math.sin(half)))
    # it turns about the line on which it lies
    v[:3] = to_body(q[3:7], (0, rate * q[0], 0))
    v[3:] = to_body(q[3:7], (-rate / math.tan(half), 0, 0))
    off = []
    for n in (500, 1000):
        run = vt.simulate(model, q, v, duration=2 * math.pi / rate, dt=2 * math.pi / rate / n, method=method)
        apex = [model.frame_pose("body", x) @ (0, 0, 0.75 * length, 1) for x in run.q[::25]]
        assert np.abs(np.array(apex)[:, :3]).max() < 1e-11 and np.ptp(run.energy) < 1e-10 and not run.warnings
        off.append(np.abs(run.q[-1, :3] - q[:3]).max())
    assert off[1] < 2e-5 and math.log2(off[0] / off[1]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["disk", "coin"])
@pytest.mark.parametrize("tilt", [1.2, 0.5, 0.15])
def test_a_coin_precesses(tilt, kind, method):
    """Its centre stays, and its rate is that of Euler's disk: sqrt(4 g / (r sin tilt)) of a disk."""
    radius, thick = 0.04, 0.0 if kind == "disk" else 0.004
    shape = vt.Cylinder(radius, thick) if thick else vt.Disk(radius, axis=(0, 0, 1.0))
    model = solid(shape, cylinder_inertia(1.0, radius, thick), 0.9)
    turn, rate = steady_coin(radius, thick, tilt)
    if not thick:
        assert abs(rate) == pytest.approx(math.sqrt(4 * G / (radius * math.sin(tilt))), rel=1e-12)
    q, v = model.neutral(), model.zero_velocity()
    q[2], q[3:7] = radius * math.sin(tilt) + thick / 2 * math.cos(tilt), about_y(tilt)
    v[3:] = to_body(q[3:7], turn)
    period = 2 * math.pi / abs(rate)
    run = vt.simulate(model, q, v, duration=3 * period, dt=period / 800, method=method)
    axes = np.array([axis_of(model, x) for x in run.q])
    angle = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    assert np.abs(np.arccos(axes[:, 2]) - tilt).max() < 2e-5
    assert angle[-1] - angle[0] == pytest.approx(math.copysign(6 * math.pi, rate), rel=1e-5)
    assert np.abs(run.q[:, :3] - q[:3]).max() < 2e-6 and np.ptp(run.energy) < 1e-8 * run.energy[0]
    assert not run.warnings


@pytest.mark.parametrize("method", METHODS)
def test_a_celt_reverses(method):
    """The wrong way round it rattles and reverses, the right way it spins on; energy to second order."""
    stage = SCENES["celt"].prepare(True)
    ends, lost = [], []
    for sign, dt in ((1, 1e-3), (1, 2e-3), (-1, 1e-3)):
        v = stage.v.copy()
        v[5] *= sign
        run = vt.simulate(stage.model, stage.q, v, duration=12.0, dt=dt, method=method, record_every=10)
        ends.append((stage.model.frame_pose("body", run.q[-1])[:3, :3] @ run.v[-1, 3:])[2])
        lost.append(np.abs(run.energy - run.energy[0]).max() / (0.5 * 2.1e-3 * 25))
    assert ends == pytest.approx([5, 5, 5], abs=0.1)
    assert lost[0] < 1e-3 and lost[2] < 1e-5 and math.log2(lost[1] / lost[0]) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_an_ellipsoid_rolls_by_its_energy(method):
    """In the plane of two axes without slip: how long it takes over its long axis is an integral of its energy."""
    a, c, rate = 0.1, 0.07, 12.0
    model = solid(vt.Ellipsoid((a, 0.08, c)), ellipsoid_inertia(1.0, (a, 0.08, c)), 5.0)
    q, v = model.neutral(), model.zero_velocity()
    q[2], v[0], v[4] = c, rate * c, rate
    inertia = ellipsoid_inertia(1.0, (a, 0.08, c))[1]

    def far(t):
        """The distance of its centre from the point that touches, whose square is that of the arm in T."""
        height = math.hypot(a * math.sin(t), c * math.cos(t))
        return height, math.hypot(height, (a**2 - c**2) * math.sin(t) * math.cos(t) / height)

    total = 0.5 * (inertia + c**2) * rate**2 + G * c

    def slowness(t):
        height, arm = far(t)
        return math.sqrt((inertia + arm**2) / (2 * (total - G * height)))

    time = quad(slowness, 0, math.pi, epsabs=1e-13)[0]
    path = quad(lambda t: math.hypot(a * math.cos(t), c * math.sin(t)), 0, math.pi, epsabs=1e-13)[0]
    off = []
    for n in (200, 400):
        run = vt.simulate(model, q, v, duration=time, dt=time / n, method=method)
        turned = 2 * math.atan2(abs(run.q[-1, 4]), run.q[-1, 6]) - math.pi
        off.append((turned, run.q[-1, 0] - path))
        assert np.abs(run.q[:, 1]).max() < 1e-12 and not run.warnings
    assert np.abs(off[1]).max() < 1e-3 and np.log2(np.abs(off[0]) / np.abs(off[1])) == pytest.approx([2, 2], abs=0.2)


# ---- a spinning egg -------------------------------------------------------------------------------------------

MASS, WIDE, LONG, FRICTION = 0.06, 0.02, 0.03, 0.1
MOMENTS = np.array(ellipsoid_inertia(MASS, (WIDE, WIDE, LONG)))
SQUARES = np.diag((WIDE**2, WIDE**2, LONG**2))
UP = np.array((0.0, 0.0, 1.0))


def cross(x):
    return np.array(((0, -x[2], x[1]), (x[2], 0, -x[0]), (-x[1], x[0], 0)))


def rates(_, y):
    """Of position, quaternion, velocity in the world, and angular velocity in the body, of an egg that slides.

    Its height is sqrt(B_zz) of B = R S R^T, S the squares of the semi-axes; the normal force N keeps it.
    """
    x, u, w = y[3:7], y[7:10], y[10:]
    R = rotation(x)
    turn, B = R @ w, R @ SQUARES @ R.T
    height = math.sqrt(B[2, 2])
    arm = -B[:, 2] / height
    slip = (u + np.cross(turn, arm)) * (1, 1, 0)
    force = UP - FRICTION * slip / np.linalg.norm(slip)
    own, more = np.cross(MOMENTS * w, w) / MOMENTS, R.T @ np.cross(arm, force) / MOMENTS
    W = cross(turn)
    first = W @ B - B @ W

    def along(a):
        K = cross(R @ a)
        return (K @ B - B @ K)[2, 2] / (2 * height)

    lift = (W @ first - first @ W)[2, 2] / (2 * height) - (first[2, 2] / 2) ** 2 / height**3 + along(own)
    N = (lift + G) / (1 / MASS - along(more))
    half = 0.5 * np.append(x[3] * w + np.cross(x[:3], w), -x[:3] @ w)
    return np.concatenate([u, half, N / MASS * force - G * UP, own + N * more])


@pytest.mark.parametrize("method", METHODS)
def test_an_egg_that_slides_is_of_second_order(method):
    stage = SCENES["spinning-egg"].prepare(True)
    errors, last = axis_errors(stage, rates, 3, method)
    assert rotation(last[3:])[2, 2] > 0.1  # it has begun to rise
    assert abs(np.log2(errors[0] / errors[2]) / 2 - 2) < 0.1


def test_an_egg_rises():
    stage = SCENES["spinning-egg"].prepare(True)
    run = vt.simulate(stage.model, stage.q, stage.v, duration=6.0, dt=2e-4, record_every=100)
    tilt = [math.acos(abs(axis_of(stage.model, q)[2])) for q in run.q]
    assert tilt[0] > 1.5 and tilt[-1] < 0.1 and np.diff(run.energy).max() < 1e-6 * run.energy[0]
    assert min(stage.model.contact_gaps(q).gap.min() for q in run.q) > -1e-12


def test_an_egg_without_friction_keeps_what_is_kept():
    """Energy to second order; the momentum about its axis and about the vertical, to the tolerance of its steps."""
    model = solid(vt.Ellipsoid((WIDE, WIDE, LONG)), tuple(MOMENTS), 0.0, mass=MASS)
    q, v = model.neutral(), model.zero_velocity()
    tilt, kept = 1.0, []
    q[2], q[3:7] = math.hypot(WIDE * math.sin(tilt), LONG * math.cos(tilt)), about_y(tilt)
    v[3:] = to_body(q[3:7], (0, 0, 60.0))
    for dt in (1e-3, 5e-4):
        run = vt.simulate(model, q, v, duration=1.0, dt=dt)
        R = [model.frame_pose("body", x)[:3, :3] for x in run.q]
        L = np.array([a @ (MOMENTS * w[3:]) for a, w in zip(R, run.v, strict=True)])
        own = [a[:, 2] @ x for a, x in zip(R, L, strict=True)]
        assert np.ptp(L[:, 2]) < 1e-9 * L[0, 2] and np.ptp(own) < 1e-9 * L[0, 2]
        assert np.ptp(np.array(R)[:, 2, 2]) > 0.05
        kept.append(np.ptp(run.energy) / run.energy[0])
    assert kept[1] < 1e-3 and math.log2(kept[0] / kept[1]) == pytest.approx(2, abs=0.3)
