"""Velocities and accelerations of frames: the Jacobian, differences along motions, and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import build_flat, random_flat, random_rotation, random_state
from reference_cases import pinocchio_model

import vitree as vt

AXES = pytest.mark.parametrize("axes", ["world", "local", "spatial"])
STEP = 1e-3
#: Weights of the sixth-order difference quotient at -3 ... 3 steps.
STENCIL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60


def models():
    """Models of every kind, with a state each: trees, Euler angles, followers, prescribed joints."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=7, base=("fixed", "free")[seed % 2], massless=seed % 3 == 1)
        yield pytest.param(vt.Model(flat), *random_state(flat, rng), id=f"tree{seed}")
    rng = np.random.default_rng(11)
    flat = random_flat(rng, nbody=5, base="free")
    euler = vt.Model(flat).euler()
    yield pytest.param(euler, *euler.from_native(*random_state(flat, rng, speed=0.5)), id="euler")
    for base in ("fixed", "free"):
        while True:
            flat = random_flat(rng, nbody=7, base=base)
            single = [joint.name for joint in flat.joints if joint.kind in ("revolute", "prismatic", "helical")]
            if len(single) > 2:
                break
        gears = vt.gear(single[0], single[2], -0.7, 0.2), vt.gear(single[2], single[1], 1.3)
        reduced = vt.Model(replace(flat, constraints=gears)).reduced()
        q, v = random_state(flat, rng)
        yield pytest.param(reduced, reduced.contract(q), reduced.contract_velocity(v), id=f"reduced, {base}")
        held = np.zeros(len(flat.damping), bool)
        held[[joint.v_slice.start for joint in flat.joints if joint.name in single[:2]]] = True
        yield pytest.param(vt.Model(replace(flat, kinematic=held)), q, v, id=f"prescribed, {base}")


CASES = pytest.mark.parametrize(("model", "q", "v"), list(models()))


@CASES
@AXES
def test_a_velocity_is_the_jacobians(model, q, v, axes):
    for name in model.frame_names:
        J = model.frame_jacobian(name, q, axes)
        found = model.frame_velocity(name, q, v, axes)
        assert found.shape == (6,)
        assert np.abs(found - J @ v).max() <= 1e-13 * max(1.0, np.abs(J).max() * np.abs(v).max())


@CASES
@AXES
def test_an_acceleration_is_the_derivative_of_the_velocity(model, q, v, axes):
    """Along a motion whose velocity is v + t a to first order in t, also where joints turn in space."""
    a = np.random.default_rng(1).standard_normal(model.nv)
    for name in model.frame_names:
        values = [model.frame_velocity(name, model.integrate(q, t * v + t * t / 2 * a), v + t * a, axes)
                  for t in STEP * np.arange(-3, 4)]  # fmt: skip
        found = model.frame_acceleration(name, q, v, a, axes)
        # d(exp x) is that of x'(0) up to terms of t^2 that vanish with their first derivative
        error = np.abs(found - STENCIL @ values / STEP).max()
        assert error < 1e-9 * max(1.0, np.abs(found).max(), np.abs(values).max()), name


@CASES
@AXES
def test_the_rate_of_a_jacobian_is_its_derivative(model, q, v, axes):
    for name in model.frame_names:
        places = [model.integrate(q, t * v) for t in STEP * np.arange(-3, 4)]
        values = np.array([model.frame_jacobian(name, x, axes) for x in places])
        found = model.frame_jacobian_rate(name, q, v, axes)
        error = np.abs(found - np.tensordot(STENCIL, values, 1) / STEP).max()
        assert error < 1e-9 * max(1.0, np.abs(found).max(), np.abs(values).max()), name
        bias = model.frame_acceleration(name, q, v, axes=axes)
        assert np.abs(found @ v - bias).max() < 1e-12 * max(1.0, np.abs(found).max() * np.abs(v).max())


@CASES
def test_local_and_world_axes_agree(model, q, v):
    """The classical acceleration, turned to the frame's axes, is the local one and w x u."""
    a = np.random.default_rng(2).standard_normal(model.nv)
    for name in model.frame_names:
        R = model.frame_pose(name, q)[:3, :3]
        speed, local = (model.frame_velocity(name, q, v, "local"), model.frame_acceleration(name, q, v, a, "local"))
        world = model.frame_acceleration(name, q, v, a)
        local[3:] += np.cross(speed[:3], speed[3:])
        close = 1e-11 * max(1.0, np.abs(world).max())
        assert np.abs(world[:3] - R @ local[:3]).max() < close and np.abs(world[3:] - R @ local[3:]).max() < close


def test_a_point_on_a_wheel():
    """A point at radius r of a wheel that turns by w and speeds up by b: b r along, w^2 r inwards."""
    tree = vt.Tree("wheel")
    tree.world.add(vt.rz("axle"), vt.body("wheel", 1.0, (1, 1, 1)), vt.tx(0.5), vt.frame("rim"))
    model, w, b = tree.compile(), 3.0, 2.0
    world = model.frame_acceleration("rim", [np.pi / 2], [w], [b])
    assert world == pytest.approx([0, 0, b, -b * 0.5, -w * w * 0.5, 0], abs=1e-14)
    # of the components in the rim's axes, (0, w r, 0), the second one changes
    assert model.frame_acceleration("rim", [0.3], [w], [b], "local") == pytest.approx([0, 0, b, 0, b * 0.5, 0])


def test_frames_of_the_world_rest():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng)
        model, (q, v) = vt.Model(flat), random_state(flat, rng)
        assert flat.frame_body[flat.frame_names.index("frame0")] == -1
        for axes in ("world", "local"):
            assert not model.frame_velocity("frame0", q, v, axes).any()
            assert not model.frame_acceleration("frame0", q, v, v, axes).any()


def test_bad_input_is_named():
    tree = vt.Tree("arm")
    tree.world.add(vt.rx("shoulder"), vt.tz(-1.0), vt.body("upper", 1.0))
    for model in (tree.compile(), tree.compile().reduced(), tree.compile().euler()):
        for method, more in ((model.frame_velocity, ()), (model.frame_acceleration, ([0.0],))):
            with pytest.raises(vt.UnknownNameError, match='did you mean "upper"'):
                method("uper", [0.0], [0.0], *more)
            with pytest.raises(vt.InputError, match='choose "world", "local" or "spatial"'):
                method("upper", [0.0], [0.0], *more, axes="body")
            with pytest.raises(vt.InputError, match=r"^v"):
                method("upper", [0.0], [np.nan], *more)
            with pytest.raises(vt.InputError, match=r"^q"):
                method("upper", [0.0, 1.0], [0.0], *more)
        with pytest.raises(vt.InputError, match="too large"):
            model.frame_acceleration("upper", [0.0], [1e200], [0.0])
        with pytest.raises(vt.InputError, match=r"^a "):
            model.frame_acceleration("upper", [0.0], [0.0], [0.0, 0.0])


def test_pinocchio_has_the_same():
    pin = pytest.importorskip("pinocchio")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=8, base=("fixed", "free")[seed % 2])
        model, theirs = vt.Model(flat), pinocchio_model(flat)
        q, v = random_state(flat, rng)
        a = rng.standard_normal(model.nv)
        data = theirs.createData()
        pin.forwardKinematics(theirs, data, q, v, a)
        pin.updateFramePlacements(theirs, data)
        order = [3, 4, 5, 0, 1, 2]  # they have linear rows first
        pin.computeJointJacobiansTimeVariation(theirs, data, q, v)
        for name in flat.frame_names:
            k = theirs.getFrameId(name)
            for axes, frame, acceleration in (
                ("local", pin.LOCAL, pin.getFrameAcceleration), ("spatial", pin.WORLD, pin.getFrameAcceleration),
                ("world", pin.LOCAL_WORLD_ALIGNED, pin.getFrameClassicalAcceleration),
            ):  # fmt: skip
                speed = pin.getFrameVelocity(theirs, data, k, frame).vector[order]
                assert model.frame_velocity(name, q, v, axes) == pytest.approx(speed, rel=1e-12, abs=1e-11)
                rate = acceleration(theirs, data, k, frame).vector[order]
                scale = max(1.0, np.abs(rate).max())
                assert np.abs(model.frame_acceleration(name, q, v, a, axes) - rate).max() < 1e-12 * scale
                J = pin.getFrameJacobian(theirs, data, k, frame)[order]
                assert np.abs(model.frame_jacobian(name, q, axes) - J).max() < 1e-12 * scale
                if model.flat.frame_body[model.index.frame(name)] >= 0:  # theirs of the world's frames does not exist
                    dJ = pin.getFrameJacobianTimeVariation(theirs, data, k, frame)[order]
                    assert np.abs(model.frame_jacobian_rate(name, q, v, axes) - dJ).max() < 1e-12 * scale


def test_a_frame_far_away_loses_no_digits():
    """A floating body 1e6 m from the world's origin: accelerations of its frames do not see the distance."""
    rng = np.random.default_rng(3)
    flat = build_flat("far", (0, 0, 0), [4, 0], [-1, 0], [np.eye(3), random_rotation(rng)], [(0, 0, 0), (0.3, 0, 0)],
                      [0, 0], [1, 1], np.zeros((2, 3)), [np.eye(3)] * 2, np.zeros(7))  # fmt: skip
    model = vt.Model(flat)
    q, v = random_state(flat, rng)
    far = q.copy()
    far[:3] += 1e6
    a = rng.standard_normal(7)
    for axes in ("world", "local"):
        here, there = (model.frame_acceleration("link1", x, v, a, axes) for x in (q, far))
        assert np.abs(here - there).max() < 1e-8  # the position itself is rounded to 1e-10 m
