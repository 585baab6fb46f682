"""Whole-body control: equations of motion, cones, limits; the simulator agrees; accelerations of frames; wrong uses."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from random_models import random_flat, random_state
from reduced_models import coupled
from touching_models import STANDING, standing

import vitree as vt
from vitree._core._tasks import FrameMotion
from vitree.control import (
    AccelerationTask,
    CenterOfMassTask,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    SupportContact,
    WholeBodyControl,
)

pytest.importorskip("daqp")


@functools.cache
def robot():
    """The G1 flat on its soles, without drives, and a posture."""
    frames, corners, _ = STANDING["g1"]
    tree = vt.read_urdf(vt.find_robot("g1"), base="free")
    tree.contact(vt.Ground(friction=0.7), [vt.Contact(frame, points=corners) for frame in frames])
    model, q = tree.compile(), standing("g1")[1].copy()
    for side in ("left", "right"):
        names = ("hip_pitch", "knee", "ankle_pitch")
        hip, knee, ankle = (model.joint(f"{side}_{name}_joint").q_slice for name in names)
        q[ankle] = -q[hip] - q[knee]
    return model, vt.place_on_ground(model, q)


def body(tasks, **more):
    frames, corners, _ = STANDING["g1"]
    return WholeBodyControl(robot()[0], tasks, [SupportContact(frame, corners) for frame in frames], **more)


@pytest.mark.parametrize("seed", range(6))
def test_frames_move_as_the_models_own(seed):
    rng = np.random.default_rng(seed)
    if seed % 3 == 2:
        model, q, v = coupled(seed)[:3]
    else:
        flat = random_flat(rng, nbody=7, base=("fixed", "free")[seed % 2])
        model, (q, v) = vt.Model(flat), random_state(flat, rng)
    names, full, n = model.frame_names[::2], model.full, model.nv
    places = [full.index.place(name) for name in names]
    follow = model._followers
    lead, factor = (np.arange(n), np.ones(n)) if follow is None else (follow.lead_v, follow.gain_v)
    motion = FrameMotion(full.core, [(b, np.concatenate([E.T.ravel(), p])) for b, E, p in places],
                         lead.astype(np.int32), np.array(factor, float), n)  # fmt: skip
    k = len(names)
    X, J, twist, bias = np.zeros((k, 3, 4)), np.zeros((k, 6, n)), np.zeros((k, 6)), np.zeros((k, 6))
    com, Jcom = np.zeros((3, 3)), np.zeros((3, n))
    motion.evaluate(model.expand(q), model.expand_velocity(v), X, J, twist, bias, com, Jcom)
    for i, name in enumerate(names):
        np.testing.assert_allclose(X[i], model.frame_pose(name, q)[:3], atol=1e-13)
        np.testing.assert_allclose(J[i], model.frame_jacobian(name, q), atol=1e-13)
        np.testing.assert_allclose(twist[i], model.frame_velocity(name, q, v), atol=1e-12)
        np.testing.assert_allclose(bias[i], model.frame_acceleration(name, q, v, np.zeros(n)), atol=1e-11)
    h = 1e-4
    after, before = (model.center_of_mass(model.integrate(q, s * h * v)) for s in (1, -1))
    np.testing.assert_allclose(com[0], model.center_of_mass(q), atol=1e-13)
    np.testing.assert_allclose(com[1], (after - before) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(com[1], Jcom @ v, atol=1e-12)
    # along v held in the axes of the bodies the coordinates do not accelerate
    np.testing.assert_allclose(com[2], (after - 2 * com[0] + before) / h**2, atol=1e-5)


def some_tasks(model, q):
    return [AccelerationTask(CenterOfMassTask(model.center_of_mass(q) + np.array([0.01, 0.02, -0.03]))),
            AccelerationTask(OrientationTask("torso_link").hold(model, q)),
            AccelerationTask(PositionTask("left_wrist_yaw_link").hold(model, q), stiffness=200.0),
            AccelerationTask(PostureTask(q, weight=0.05))]  # fmt: skip


def test_torques_forces_and_accelerations_satisfy_the_equations_of_motion():
    model, q = robot()
    rng = np.random.default_rng(0)
    control = body(some_tasks(model, q))
    q = model.integrate(q, 0.05 * rng.standard_normal(model.nv))
    v = 0.2 * rng.standard_normal(model.nv)
    found = control.solve(q, v)
    generalized = np.zeros(model.nv)
    for contact, forces in zip(control.contacts, found.forces, strict=True):
        X, J = model.frame_pose(contact.frame, q), model.frame_jacobian(contact.frame, q)
        for point, force in zip(contact.points, forces, strict=True):
            generalized += J.T @ np.concatenate([np.cross(X[:3, :3] @ point, force), force])
            assert force[2] >= -1e-6 and np.linalg.norm(force[:2]) <= 0.7 * force[2] + 1e-6
    left = model.rnea(q, v, found.acceleration) + model.damping * v - found.torque - generalized
    assert np.abs(left).max() < 1e-9 and not found.torque[:6].any()
    effort = np.concatenate([joint.effort for joint in model.joints])[6:]
    assert (np.abs(found.torque[6:]) <= effort * (1 + 1e-9)).all()


def test_the_simulator_accelerates_as_the_program_says():
    model, q = robot()
    control = body(some_tasks(model, q))
    found = control.solve(q, np.zeros(model.nv))
    assert np.abs(found.acceleration).max() > 1.0 and found.slip < 1e-4
    there = model.forward_dynamics(q, np.zeros(model.nv), found.torque)
    np.testing.assert_allclose(there.acceleration, found.acceleration, atol=1e-4)


def test_tasks_that_agree_get_their_accelerations():
    model, q = robot()
    com = CenterOfMassTask(model.center_of_mass(q) + np.array([0.0, 0.01, -0.02]))
    ahead = np.array([0.1, 0.0, 0.2])
    wanted = [AccelerationTask(com, stiffness=50.0, damping=5.0, acceleration=ahead),
              AccelerationTask(PostureTask(q, weight=1e-4))]  # fmt: skip
    v = model.project_velocity(q, np.zeros(model.nv))
    found = body(wanted).solve(q, v)
    J = np.concatenate([model.frame_jacobian(name, q) for name in STANDING["g1"][0]])
    assert np.abs(J @ found.acceleration).max() < 1e-3
    h = 1e-5
    after, before = (model.center_of_mass(model.integrate(q, s * h * found.acceleration)) for s in (1, -1))
    np.testing.assert_allclose((after - before) / (2 * h), ahead + 50.0 * np.array([0, 0.01, -0.02]), atol=1e-3)


def test_limits_of_torque_and_of_friction_are_met_where_more_is_wanted():
    model, q = robot()
    jump = [AccelerationTask(CenterOfMassTask(model.center_of_mass(q) + np.array([3.0, 0, 1.0]))),
            AccelerationTask(PostureTask(q, weight=0.01))]  # fmt: skip
    found = body(jump).solve(q, np.zeros(model.nv))
    effort = np.concatenate([joint.effort for joint in model.joints])[6:]
    assert np.isclose(np.abs(found.torque[6:]), effort).any() and (np.abs(found.torque[6:]) <= effort + 1e-6).all()
    free = body(jump, effort_limits=False).solve(q, np.zeros(model.nv))
    assert (np.abs(free.torque[6:]) > effort + 1).any()


def test_followers_move_with_their_leaders():
    model, q, v = coupled(5, base="fixed", kinds=("revolute", "prismatic"))[:3]
    wanted = np.random.default_rng(0).standard_normal(model.nv)
    away = 0.1 * np.random.default_rng(1).standard_normal(model.nv)
    task = PostureTask(model.integrate(q, away))
    law = AccelerationTask(task, stiffness=2.0, damping=0.5, acceleration=wanted)
    found = WholeBodyControl(model, [law], position_limits=False).solve(q, v)
    np.testing.assert_allclose(found.acceleration, wanted + 2.0 * away - 0.5 * v, atol=1e-4)
    np.testing.assert_allclose(model.rnea(q, v, found.acceleration) + model.damping * v, found.torque, atol=1e-9)


def test_joints_are_braked_before_their_limits():
    arm = vt.load_urdf(vt.find_robot("ur5"), gravity=(0, 0, 0))
    beyond = np.array([joint.upper[0] + 1.0 for joint in arm.joints])
    control = WholeBodyControl(arm, [AccelerationTask(PostureTask(beyond), stiffness=25.0)], effort_limits=False)
    run = vt.simulate(arm, beyond - 2.5, duration=1.5, dt=2e-3, control=vt.Controller(control, 2e-3))
    left = beyond - 1.0 - run.q
    assert left.min() > 0 and left[-1].max() < 1e-2  # without, they would be 1 rad beyond


def test_joints_that_torques_cannot_brake_in_time_are_braked_as_far_as_they_go():
    tree = vt.Tree("arm", gravity=(0, 0, 0))
    limits = {"lower": -1.0, "upper": 1.0, "effort": 2.0}
    link = tree.world.add(vt.ry("first", **limits), vt.body("upper", 1.0, (0.1,) * 3, com=(0, 0, 0.2)))
    link.add(vt.tz(0.4), vt.ry("second", **limits), vt.body("lower", 1.0, (0.1,) * 3, com=(0, 0, 0.2)))
    model = tree.compile()
    task = AccelerationTask(PostureTask(model.neutral()), stiffness=1e-3)
    torques = WholeBodyControl(model, [task])
    for sign in (-1.0, 1.0):
        q, v = sign * np.array([0.95, 0.0]), sign * np.array([6.0, 0.1])
        found = torques.solve(q, v)
        assert found.torque[0] == pytest.approx(-sign * 2.0)
        np.testing.assert_allclose(model.rnea(q, v, found.acceleration), found.torque, atol=1e-9)
    # the next state has its bounds again
    found = torques.solve(model.neutral(), model.zero_velocity())
    np.testing.assert_allclose(found.torque, 0.0, atol=1e-12)


@pytest.mark.parametrize("speed", [(-0.8, -0.6), (0.0, 0.9), (0.8, 0.0)])
def test_a_robot_that_falls_gets_torques(speed):
    model, q = robot()
    com = CenterOfMassTask().hold(model, q)
    torques = body([AccelerationTask(com), AccelerationTask(PostureTask(q, weight=0.01))])
    v = model.zero_velocity()
    v[:2] = speed
    sim = vt.Simulation(model, q, v, dt=2e-3)
    slip = 0.0
    for _ in range(600):
        found = torques.solve(sim.q, sim.v)
        slip = max(slip, found.slip)
        sim.step(control=found.torque)
    assert sim.q[2] < 0.6 * q[2]
    assert slip > 1.0


# ---- friction of joints ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_smooth_friction_of_joints_is_compensated(seed):
    model, q, v = coupled(seed, base="fixed", kinds=("revolute", "prismatic"), damping=True)[:3]
    assert model.friction.any()
    wanted = np.random.default_rng(seed).standard_normal(model.nv)
    law = AccelerationTask(PostureTask(q), stiffness=0.0, acceleration=wanted)
    v = 0.01 * v  # where friction is neither linear nor saturated
    limits = {"position_limits": False, "effort_limits": False}
    found = WholeBodyControl(model, [law], period=0.0, **limits).solve(q, v)
    np.testing.assert_allclose(found.acceleration, wanted, atol=1e-4)
    there = model.forward_dynamics(q, v, found.torque)
    np.testing.assert_allclose(there.acceleration, found.acceleration, rtol=1e-8, atol=1e-8)
    bare = WholeBodyControl(model, [law], joint_friction=False, **limits).solve(q, v)
    np.testing.assert_allclose(model.rnea(q, v, bare.acceleration) + model.damping * v, bare.torque, atol=1e-9)
    assert np.abs(found.torque - bare.torque).max() > 0.05


def rubbing_arm(**friction):
    arm = vt.load_urdf(vt.find_robot("ur5"))
    return arm.with_parameters(**{name: np.full(arm.nv, f) for name, f in friction.items()})


@pytest.mark.parametrize("friction", [{"dry_friction": 4.0}, {"friction": 4.0}, {"friction": 2.0, "dry_friction": 3.0}])
def test_joints_with_friction_follow_their_targets_and_reach_them(friction):
    start, way = np.array([0.3, -1.0, 1.2, -0.5, 0.7, 0.2]), np.array([0.4, 0.3, -0.5, 0.2, -0.3, 0.5])

    def off(model, **more):
        task = PostureTask(start)
        control = WholeBodyControl(model, [AccelerationTask(task, stiffness=400.0)], **more)

        def torque(t, q, v):
            s = min(t, 1.0)
            control.tasks[0].task.target = start + way * s * s * (3 - 2 * s)
            return control(t, q, v)

        run = vt.simulate(model, start, duration=1.5, dt=1e-3, control=vt.Controller(torque, 1e-3))
        s = np.minimum(run.t, 1.0)[:, None]
        away = np.abs(run.q - start - way * s * s * (3 - 2 * s)).max(axis=1)
        return away.max(), away[-1]

    without = off(rubbing_arm())
    model = rubbing_arm(**friction)
    compensated, left = off(model), off(model, joint_friction=False)
    assert compensated[0] < 1.05 * without[0] and left[0] > 2.0 * without[0]
    assert compensated[1] < 3e-4 < 1e-2 < left[1]  # 1e-4/(period stiffness)


def test_limits_of_torque_hold_with_friction():
    arm = rubbing_arm(dry_friction=5.0)
    effort = np.array([joint.effort[0] for joint in arm.joints])
    rng = np.random.default_rng(0)
    limited = 0
    for _ in range(50):
        q, v = rng.uniform(-1.5, 1.5, 6), rng.choice([0.0, 1e-4, 1.0], 6) * rng.standard_normal(6)
        law = AccelerationTask(PostureTask(q + rng.standard_normal(6)), stiffness=rng.choice([1.0, 100.0, 1000.0]))
        torque = WholeBodyControl(arm, [law]).solve(q, v).torque
        assert (np.abs(torque) <= effort + 1e-6).all()
        limited += np.isclose(np.abs(torque), effort).any()
    assert 10 < limited < 50


def test_a_humanoid_with_dry_joints_gets_what_they_take():
    smooth, q = robot()
    dry = smooth.with_parameters(dry_friction=np.where(np.arange(smooth.nv) < 6, 0.0, 2.0))
    v = smooth.project_velocity(q, 0.2 * np.random.default_rng(0).standard_normal(smooth.nv))
    frames, corners, _ = STANDING["g1"]
    soles = [SupportContact(frame, corners) for frame in frames]
    bare, found = (WholeBodyControl(x, some_tasks(x, q), soles).solve(q, v) for x in (smooth, dry))
    np.testing.assert_allclose(found.acceleration, bare.acceleration, atol=1e-5)
    ahead = v + 1e-3 * bare.acceleration
    moving = np.abs(ahead) > 1e-2
    assert moving[6:].sum() > 10 and not found.torque[:6].any()
    np.testing.assert_allclose((found.torque - bare.torque)[6:][moving[6:]], 2.0 * np.sign(ahead[6:][moving[6:]]),
                               atol=1e-3)  # fmt: skip


def test_errors_name_what_is_wrong():
    model, q = robot()
    v = np.zeros(model.nv)
    task = AccelerationTask(PostureTask(q))
    four_bar = vt.Tree("loop")
    four_bar.world.add(vt.ry("a"), vt.tx(1.0), vt.body("b", 1.0))
    four_bar.world.add(vt.ry("c"), vt.tx(1.0), vt.body("d", 1.0))
    four_bar.constrain(vt.Distance("b", "d", 0.5))
    for call, text in (
        (lambda: body([]), "one at least"),
        (lambda: AccelerationTask(LookAtTask("pelvis", (1, 0, 0))), "no law"),
        (lambda: AccelerationTask(PoseTask("pelvis", relative_to="torso_link")), "another frame"),
        (lambda: AccelerationTask(PostureTask(q), stiffness=np.nan), "stiffness"),
        (lambda: SupportContact("pelvis", [(0, 0)]), "points"),
        (lambda: SupportContact("pelvis", [(0, 0, 0)], normal=(0, 0, 0)), "normal"),
        (lambda: WholeBodyControl(model, [task], [SupportContact("foot", (0, 0, 0))]), 'no frame "foot"'),
        (lambda: WholeBodyControl(model, [AccelerationTask(PoseTask("pelvis"))]).solve(q, v), "no target"),
        (lambda: body([task]).solve(q, np.full(model.nv, np.nan)), "finite"),
        (lambda: body([task], joint_friction="yes"), "joint_friction=.yes. must be True"),
        (lambda: body([task], period=-1.0), "period=-1.0 must be a finite time"),
        (lambda: WholeBodyControl(four_bar.compile(), [AccelerationTask(PostureTask([0, 0]))]), "has constraints"),
    ):
        with pytest.raises(vt.VitreeError, match=text):
            call()
