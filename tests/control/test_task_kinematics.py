"""Kinematics for tasks: Jacobians, priorities, limits, loops, contacts that stay; targets out of reach; wrong uses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from closed_chains import closed_chain, four_bar
from random_models import random_flat, random_rotation
from reduced_models import coupled
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation
from touching_models import crawler, standing

import vitree as vt
from vitree.control import (
    CenterOfMassTask,
    CouplingTask,
    DampingTask,
    DistanceLimit,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    Tasks,
    solve_ik,
)

daqp = pytest.importorskip("daqp")


def pose(rng, size=0.5):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = random_rotation(rng), size * rng.standard_normal(3)
    return X


def some_tasks(model, rng):
    """Tasks of every kind, of frames in the world and in each other."""
    frames = [*rng.permutation(model.frame_names)[:4], "world"]
    scalar = [joint.name for joint in model.joints if joint.kind in ("revolute", "prismatic", "helical")]
    tasks = [CenterOfMassTask(rng.standard_normal(3)), PostureTask(model.random_configuration(rng)), DampingTask(0.1)]
    if scalar:
        tasks.append(CouplingTask({name: rng.normal() for name in scalar[:3]}, 0.3))
    for frame, base in zip(frames, [*frames[1:], frames[0]], strict=True):
        tasks += [
            PoseTask(frame, pose(rng), relative_to=base),
            PositionTask(frame, rng.standard_normal(3), relative_to=base),
            OrientationTask(frame, random_rotation(rng), relative_to=base),
            LookAtTask(frame, rng.standard_normal(3), axis=rng.standard_normal(3), relative_to=base),
        ]
    return tasks


@pytest.mark.parametrize("seed", range(12))
def test_jacobians_are_the_slopes_of_errors_on_the_manifold(seed):
    rng = np.random.default_rng(seed)
    model = coupled(seed)[0] if seed % 3 == 2 else vt.Model(random_flat(rng, nbody=7, base=("fixed", "free")[seed % 2]))
    tasks = Tasks(model, some_tasks(model, rng), position_limits=False)
    q, h = model.random_configuration(rng), 1e-6
    J = np.concatenate(tasks.jacobians(q))
    slopes = np.empty_like(J)
    for k, d in enumerate(h * np.eye(model.nv)):
        after, before = (np.concatenate(tasks.errors(model.integrate(q, s * d))) for s in (1, -1))
        slopes[:, k] = (after - before) / (2 * h)
    away = np.concatenate([np.full(len(e), isinstance(task, DampingTask))
                           for task, e in zip(tasks.tasks, tasks.errors(q), strict=True)])  # fmt: skip
    slopes[away] = np.eye(model.nv)  # displacements have no value
    # rounding over 2 h, and h^2 times third derivatives, which grow near half turns and near points looked at
    np.testing.assert_allclose(J, slopes, rtol=1e-6, atol=2e-8 * max(1.0, np.abs(J).max()))


def test_errors_are_those_of_the_poses():
    rng = np.random.default_rng(3)
    model = vt.Model(random_flat(rng, nbody=6))
    q, X, target = model.random_configuration(rng), pose(rng), rng.standard_normal(3)
    frame, base = model.frame_names[-1], model.frame_names[0]
    seen = np.linalg.inv(model.frame_pose(base, q)) @ model.frame_pose(frame, q)
    turn, look, com = Tasks(model, [PoseTask(frame, X, relative_to=base),
                                    LookAtTask(frame, target, axis=(0, 0, 2), relative_to=base),
                                    CenterOfMassTask(target)]).errors(q)  # fmt: skip
    np.testing.assert_allclose(Rotation.from_rotvec(turn[:3]).as_matrix(), X[:3, :3].T @ seen[:3, :3], atol=1e-12)
    np.testing.assert_allclose(turn[3:], seen[:3, 3] - X[:3, 3], atol=1e-12)
    d = seen[:3, :3].T @ (target - seen[:3, 3])
    np.testing.assert_allclose(look, d / np.linalg.norm(d) - [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(com, model.center_of_mass(q) - target, atol=1e-12)


@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_poses_within_reach_are_found(robot):
    model, rng = vt.load_urdf(vt.find_robot(robot)), np.random.default_rng(0)
    frame = model.link_names[-1]
    task = PoseTask(frame)
    tasks = Tasks(model, [task])
    for _ in range(50):
        task.target = X = model.frame_pose(frame, model.random_configuration(rng))
        found = solve_ik(model, tasks, model.neutral())
        assert found.reached and found.error < 1e-6
        np.testing.assert_allclose(model.frame_pose(frame, found.q), X, atol=3e-6)
        assert all(joint.lower[0] <= found.q[joint.q_slice] <= joint.upper[0] for joint in model.joints)


@pytest.mark.parametrize("priority", [1, 2])
def test_gains_do_not_slow_a_solve(priority):
    model, q = vt.load_urdf(vt.find_robot("ur5")), np.array([0.1, -1.0, 1.2, -0.7, 0.5, 0.2])
    X = model.frame_pose("tool0", q + 0.1)
    one, slow = (solve_ik(model, [PoseTask("tool0", X, gain=gain, priority=priority)], q) for gain in (1.0, 0.05))
    assert one.reached and slow.iterations == one.iterations and np.array_equal(one.q, slow.q)


def test_a_target_out_of_reach_is_told_and_the_nearest_point_is_taken():
    model = vt.load_urdf(vt.find_robot("ur5"))
    shoulder = model.frame_pose("upper_arm_link", model.neutral())[:3, 3]
    far = shoulder + 3.0 * np.array([0.6, 0.0, 0.8])
    found = solve_ik(model, [PositionTask("tool0", far)], np.full(6, 0.1))
    assert not found and "PositionTask" in found.why and found.error == pytest.approx(np.abs(found.errors[0]).max())
    # no random posture comes nearer
    rng = np.random.default_rng(0)
    places = model.frame_pose("tool0", np.array([model.random_configuration(rng) for _ in range(2000)]))[:, :3, 3]
    assert np.linalg.norm(found.errors[0]) < np.linalg.norm(places - far, axis=1).min()


def test_a_step_within_limits_is_the_bounded_least_squares():
    model, rng, dt = vt.load_urdf(vt.find_robot("talos"), base="free"), np.random.default_rng(1), 0.005
    frames = ["gripper_left_base_link", "gripper_right_base_link", "left_sole_link", "right_sole_link"]
    beyond = 0
    for _ in range(5):
        q = model.random_configuration(rng)
        tasks = Tasks(model, [PoseTask(name, pose(rng, 1.0), gain=0.5) for name in frames]
                      + [PostureTask(model.neutral(), weight=0.1)], damping=1e-3)  # fmt: skip
        v = tasks.velocity(q, dt)
        J, e = tasks.jacobians(q), tasks.errors(q)
        weight = [*(np.full(6, 1.0),) * 4, np.r_[np.zeros(6), np.full(model.nv - 6, 0.1)]]
        gain = [0.5, 0.5, 0.5, 0.5, 1.0]
        damping = 1e-3 + 0.5 * sum(float(each @ each) for each in e[:4])
        A = [w[:, None] * each for w, each in zip(weight, J, strict=True)]
        A = np.concatenate([*A, np.sqrt(damping) * np.eye(model.nv)])
        b = -np.concatenate([g * w * each for g, w, each in zip(gain, weight, e, strict=True)] + [np.zeros(model.nv)])
        speed = np.concatenate([joint.velocity for joint in model.joints])
        lower, upper = -speed * dt, speed * dt
        for joint in model.joints:
            if joint.q_slice.stop - joint.q_slice.start == 1:
                at, k = q[joint.q_slice][0], joint.v_slice.start
                lower[k], upper[k] = max(lower[k], joint.lower[0] - at), min(upper[k], joint.upper[0] - at)
        expected = lsq_linear(A, b, (lower, upper + 1e-300), tol=1e-13, method="bvls").x
        np.testing.assert_allclose(v * dt, expected, atol=1e-8)
        beyond += np.sum(np.isclose(v * dt, lower, atol=1e-12) | np.isclose(v * dt, upper, atol=1e-12))
    assert beyond > 20


def moved(model, q, tasks, steps=200, dt=0.01, **more):
    """Configurations of a loop."""
    qs, v = [np.asarray(q, float)], np.zeros(model.nv)
    for _ in range(steps):
        v = tasks.velocity(qs[-1], dt, v)
        qs.append(model.integrate(qs[-1], v * dt))
    return np.array(qs)


def ordered(model, q, levels, damping):
    """The least squares of levels of tasks in strict order without bounds, by orthogonal projectors."""
    x, N = np.zeros(model.nv), np.eye(model.nv)
    for number, level in enumerate(levels):
        tasks = Tasks(model, level, damping=1.0)
        J, e = np.concatenate(tasks.jacobians(q)), np.concatenate(tasks.errors(q))
        A = J @ N
        goals = [x for task, x in zip(level, tasks.errors(q), strict=True) if not isinstance(task, PostureTask)]
        lam = damping + 0.5 * sum(float(x @ x) for x in goals) if number else 0.0
        x = x + N @ np.linalg.pinv(A.T @ A + lam * np.eye(model.nv), hermitian=True, rcond=1e-13) @ A.T @ (-e - J @ x)
        N = N @ (np.eye(model.nv) - np.linalg.pinv(A, rcond=1e-9) @ A)
    return x


@pytest.mark.parametrize("bounded", [False, True])
def test_lower_priorities_leave_the_residual_of_higher_ones(bounded):
    model, q = standing("g1")
    rng = np.random.default_rng(0)
    q = model.integrate(q, 0.1 * rng.standard_normal(model.nv))
    feet = [PoseTask(name, priority=0).hold(model, q) for name in ("left_ankle_roll_link", "right_ankle_roll_link")]
    hand = PositionTask("left_wrist_yaw_link", model.frame_pose("left_wrist_yaw_link", q)[:3, 3] + [0.2, 0.1, 0.3])
    low = [CenterOfMassTask(model.center_of_mass(q) + np.array([0.0, 0.05, -0.1]), priority=2),
           PostureTask(model.neutral(), priority=3, weight=np.ones(model.nv))]  # fmt: skip
    more = {"velocity_limits": bounded, "position_limits": bounded, "damping": 1e-6}
    dt = 0.01 if bounded else 1.0
    alone, all_ = (Tasks(model, tasks, **more) for tasks in ([*feet, hand], [*feet, hand, *low]))
    first, every = alone.velocity(q, dt) * dt, all_.velocity(q, dt) * dt
    J = alone.jacobians(q)
    assert np.linalg.norm(every - first) > 1e-3  # they do move
    assert max(np.abs(each @ (every - first)).max() for each in J) < 1e-10
    assert max(np.abs(each @ every).max() for each in J[:2]) < 1e-10  # the feet stay
    if bounded:
        speed = np.concatenate([joint.velocity for joint in model.joints])
        assert (np.abs(every) <= speed * dt * (1 + 1e-12)).all() and np.isclose(np.abs(every), speed * dt).any()
    else:
        np.testing.assert_allclose(every, ordered(model, q, [feet, [hand], low[:1], low[1:]], 1e-6), atol=1e-8)


def test_loops_stay_closed():
    for model, start, frame, way in ((four_bar(), [0.5, 0.1, 0.3], "end", [0.1, 0, 0.05]),
                                     (closed_chain(), None, "G", [0.1, 0.0, 0.03])):  # fmt: skip
        q = vt.satisfy_constraints(model, model.neutral() if start is None else start)
        task = PositionTask(frame, model.frame_pose(frame, q)[:3, 3] + way, weight=(1, 0, 1), gain=0.1)
        tasks = Tasks(model, [task, PostureTask(q, priority=2, weight=0.1, gain=0.1)])
        qs = moved(model, q, tasks, 150)
        for before, at in itertools.pairwise(qs):
            h = model._constraint_rows(at[None])[0]
            # a step's curvature, by links of a few metres; the next step undoes it
            assert np.abs(h).max() < 4.0 * np.sum((at - before) ** 2) + 1e-12
        assert np.abs(h).max() < 1e-6
        found = solve_ik(model, tasks, q)
        assert np.abs(model._constraint_rows(found.q[None])[0]).max() < 1e-9


def test_a_solve_keeps_contacts_in_place():
    model, q = standing("g1")
    feet = [PoseTask(name, priority=0).hold(model, q) for name in ("left_ankle_roll_link", "right_ankle_roll_link")]
    com = CenterOfMassTask(model.center_of_mass(q) + np.array([0.02, 0.03, -0.08]))
    hand = PositionTask("right_wrist_yaw_link", model.frame_pose("right_wrist_yaw_link", q)[:3, 3] + [0.1, 0, 0.2])
    found = solve_ik(model, [*feet, com, hand, PostureTask(q, priority=2)], q)
    assert found.reached, found
    for task in feet:
        np.testing.assert_allclose(model.frame_pose(task.frame, found.q), task.target, atol=2e-6)
    np.testing.assert_allclose(model.center_of_mass(found.q), com.target, atol=2e-6)
    # the posture is the nearest one: nothing that the tasks leave free brings it nearer
    tasks = Tasks(model, [*feet, com, hand])
    e = model.difference(q, found.q)
    e[:6] = 0.0
    J = np.concatenate(tasks.jacobians(found.q))
    inside = [k for joint in model.joints for k, low, high, at in zip(
        range(joint.v_slice.start, joint.v_slice.stop), joint.lower, joint.upper, found.q[joint.q_slice], strict=False)
        if low + 1e-9 < at < high - 1e-9] + list(range(6))  # fmt: skip
    free = np.zeros((model.nv, len(inside)))
    free[inside, range(len(inside))] = 1.0
    _, sizes, V = np.linalg.svd(J @ free)
    N = free @ V[(sizes > 1e-9).sum() :].T
    assert np.linalg.norm(N.T @ e) < 1e-4 * np.linalg.norm(e)


def test_velocities_and_accelerations_stay_within_limits_up_to_a_stop():
    model, dt, rate = vt.load_urdf(vt.find_robot("ur5")), 0.004, 5.0
    q = model.neutral()
    target = np.array([joint.upper[0] + 1.0 for joint in model.joints])
    tasks = Tasks(model, [PostureTask(target, gain=0.5)], acceleration_limit=rate)
    qs = moved(model, q, tasks, 1500, dt)
    v = np.diff(qs, axis=0) / dt
    upper = np.array([joint.upper[0] for joint in model.joints])
    assert (np.abs(v) <= [joint.velocity[0] * (1 + 1e-9) for joint in model.joints]).all()
    assert (np.abs(np.diff(v, axis=0, prepend=0)) <= rate * dt * (1 + 1e-9)).all()
    assert (qs <= upper).all()
    np.testing.assert_allclose(qs[-1], upper, atol=1e-3)


def test_shapes_keep_their_distance():
    model = crawler(vt.Ground(), limits=True)
    q = model.neutral()
    base, loose = (model.joint(name).q_slice.start for name in ("base", "loose"))
    q[base + 2], q[loose : loose + 3] = 0.9, (0.6, 0.0, 0.3)
    still = PoseTask("trunk", priority=0).hold(model, q)
    through = PositionTask("ball", (-0.6, 0.02, 0.02), gain=0.2)
    tasks = Tasks(model, [still, through, PostureTask(q, weight=0.01)], distances=DistanceLimit(0.02, influence=0.2))
    qs = moved(model, q, tasks, 150, 0.02)
    least = [min(model.contact_gaps(at).gap[[n != "trunk" for n in model.contact_gaps(at).a]]) for at in qs]
    assert min(least) > 0.015 and min(gap for *_, gap in tasks.gaps(qs[-1])) < 0.05
    free = moved(model, q, Tasks(model, [still, through]), 150, 0.02)
    assert min(min(model.contact_gaps(at).gap) for at in free) < -0.01  # without, it goes through


def test_slopes_of_gaps():
    model = crawler(vt.Ground(normal=(0.2, 0.1, 1)))
    rng, h = np.random.default_rng(0), 1e-6
    tasks = Tasks(model, [PostureTask(model.neutral())], distances=DistanceLimit(0.0, influence=9.0))
    for _ in range(3):
        q = model.random_configuration(rng)
        count = tasks._near(q)
        slopes, gaps = tasks._slopes[:count].copy(), tasks._gap[:count].copy()
        apart = gaps > 0.01
        assert apart.sum() > 5
        for k, d in enumerate(h * np.eye(model.nv)):
            after, before = (dict(zip(tasks._which[: tasks._near(model.integrate(q, s * d))], tasks._gap.copy(),
                                      strict=False)) for s in (1, -1))  # fmt: skip
            which = tasks._which[: tasks._near(q)]
            found = np.array([(after[i] - before[i]) / (2 * h) for i in which])
            # a nearest point may change its face between the two
            assert np.quantile(np.abs(found - slopes[:, k])[apart], 0.9) < 1e-6


def test_errors_name_what_is_wrong():
    model = vt.load_urdf(vt.find_robot("ur5"))
    q, X = model.neutral(), np.eye(4)
    for call, text in (
        (lambda: Tasks(model, [PoseTask("tool1", X)]), 'no frame "tool1"'),
        (lambda: Tasks(model, []), "one at least"),
        (lambda: Tasks(model, [PoseTask("tool0")]).velocity(q, 0.01), "no target"),
        (lambda: solve_ik(model, [PostureTask()], q), "no target"),
        (lambda: PoseTask("tool0", np.full((4, 4), np.nan)), "must be finite"),
        (lambda: PoseTask("tool0", 2 * np.eye(4)), "last row"),
        (lambda: PoseTask("tool0", np.diag([1, 1, -1, 1])), "rotation"),
        (lambda: PositionTask("tool0", [1, 2]), "shape"),
        (lambda: PositionTask("tool0", [1, 2, 3], weight=-1), "weight"),
        (lambda: PositionTask("tool0", [1, 2, 3], priority=-1), "priority"),
        (lambda: PositionTask("tool0", [1, 2, 3], gain=0), "gain"),
        (lambda: Tasks(model, [CouplingTask({"elbow": 1})]), 'no joint "elbow"'),
        (lambda: Tasks(model, [PostureTask(np.zeros(5))]), "target"),
        (lambda: Tasks(model, [PostureTask(q, weight=np.ones(5))]), "weight"),
        (lambda: Tasks(model, [PoseTask("tool0", X)], distances=DistanceLimit()), "no pairs"),
        (lambda: Tasks(model, [PoseTask("tool0", X)]).velocity(q, 0), "dt"),
        (lambda: Tasks(model, [PoseTask("tool0", X)]).velocity(np.full(6, np.nan), 0.1), "finite"),
        (lambda: Tasks(model, [PoseTask("tool0", X, relative_to="tool0")]), "itself"),
        (lambda: solve_ik(vt.load_urdf(vt.find_robot("panda")), Tasks(model, [PoseTask("tool0", X)])), "another model"),
        (lambda: solve_ik(model, [PoseTask("tool0", X)], q, attempts=0), "attempts"),
    ):
        with pytest.raises(vt.VitreeError, match=text):
            call()
    # equations that limits contradict
    two = [PositionTask("tool0", (5.0, 0, 0), priority=0), PostureTask(q)]
    with pytest.raises(vt.InputError, match="no displacement is within all bounds"):
        Tasks(model, two).velocity(q, 1e-3)
