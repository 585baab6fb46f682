"""A G1 with all of its shapes: arms that are pushed into the body, falls on the back."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree.scenes.base import SkippedError
from vitree.scenes.robots import robot

METHODS = ("linear-time", "midpoint")
ARMS = [(0.0, -0.9, 0.0, 1.0), (-0.6, -0.7, 0.5, 0.2), (0.5, -0.8, -0.5, 0.6)]
NUMBERS = {"shoulder_pitch": 0, "shoulder_roll": 1, "shoulder_yaw": 2, "elbow": 3}


@functools.cache
def g1(base, height=0.0):
    """The robot without friction in its joints, on drives."""
    try:
        whole = robot("g1", base=base, ground=vt.Ground(height=height, friction=0.8))
    except SkippedError as error:
        pytest.skip(str(error))
    bare = np.zeros(whole.full.nv)
    return vt.Model(replace(whole.full.flat, damping=bare, friction=bare)).with_drives({"*": (200, 10)})


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("arms", ARMS)
def test_arms_cannot_enter_the_body(arms, dt):
    """Drives take both arms to targets inside of the body within a second, and hold them there for one.

    Each arms by both methods and at both steps, which meet each other, too.
    """
    method = METHODS[(ARMS.index(arms) + (dt > 1e-3)) % 2]
    model = g1("fixed", -5.0)
    q, steps = model.neutral(), round(2.0 / dt)
    inside, targets = (
        q.copy(),
        np.tile([q[model.joint(drive.joint).q_slice.start] for drive in model.drives], (steps, 1)),
    )
    share = np.clip(np.arange(steps) * dt, 0, 1)
    for k, drive in enumerate(model.drives):
        for name, number in NUMBERS.items():
            if name in drive.joint:
                sign = -1 if "right" in drive.joint and name in ("shoulder_roll", "shoulder_yaw") else 1
                targets[:, k] += share * sign * arms[number]
                inside[model.joint(drive.joint).q_slice] = targets[-1, k]
    assert model.contact_gaps(inside).gap.min() < -0.03
    run = vt.simulate(model, q, duration=2.0, dt=dt, method=method, control=vt.Control(targets=targets),
                      monitors=("gap",))  # fmt: skip
    assert run.monitors["gap"].min() > -1e-9
    # at 5 ms a step where arms jam may not satisfy the laws, and is told
    assert dt > 1e-3 or "inexact_contacts" not in run.settings
    late = run.t > 1.9
    assert np.abs(run.q[late] - run.q[-1]).max() < 1e-2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_it_falls_on_its_back(dt, method):
    model = g1("free")
    rng, q, v = np.random.default_rng(1), model.neutral(), model.zero_velocity()
    for joint in model.joints:
        for name, angle in (("knee_joint", 0.5), ("hip_pitch_joint", -0.4)):
            if joint.name.endswith(name):
                q[joint.q_slice] = angle
        if "shoulder_roll" in joint.name:
            q[joint.q_slice] = 0.3 if "left" in joint.name else -0.3
    q[4], q[6] = np.sin(-0.15), np.cos(-0.15)
    q = vt.place_on_ground(model, q)
    q[2] += 0.02
    v[0], v[3:6] = -0.8, (0, -1, 0) + 0.4 * rng.normal(size=3)
    targets = np.array([q[model.joint(drive.joint).q_slice.start] for drive in model.drives])
    run = vt.simulate(model, q, v, duration=1.5, dt=dt, method=method, control=vt.Control(targets=targets),
                      monitors=("gap",))  # fmt: skip
    assert run.monitors["gap"].min() > -1e-9 and "inexact_contacts" not in run.settings
    assert abs(model.frame_pose("torso_link", run.q[-1])[2, 2]) < 0.2 and run.q[-1, 2] < 0.15
