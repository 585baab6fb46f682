"""Sensors of robots that stand, slide, fall and are pushed: they read what the steps solved for."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, standing, thrown

import vitree as vt

G = 9.81
METHODS = ("linear-time", "midpoint", "rk4")


def crate(mu=0.5, gravity=(0.0, 0.0, -G)):
    tree = vt.Tree("crate", gravity=gravity)
    tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.02, 0.02, 0.02)))
    tree.contact(vt.Ground(friction=mu), vt.Contact("crate", shapes=vt.Box((0.2, 0.2, 0.2))))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    return model, q


def leg(load=5.0):
    """A leg that hangs from the world, with a foot on the ground that carries a load above it."""
    tree = vt.Tree("leg")
    foot = tree.world.add(vt.tz("lift"), vt.body("shank", load), vt.tz(-0.5), vt.frame("ankle"), vt.body("foot", 0.2))
    assert foot is not None
    tree.contact(vt.Ground(friction=0.5), vt.Contact("foot", points=[(0.0, 0.0, 0.0)]))
    return tree.compile(), np.array([0.5])


# ---- cases by hand ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_crate_that_stands_and_one_that_slides(method):
    model, q = crate()
    run = vt.simulate(model, q, duration=0.05, dt=1e-3, method=method)
    read = vt.Imu("crate").read(run)
    np.testing.assert_allclose(read.accelerometer, np.tile([0, 0, G], (len(run), 1)), atol=1e-9)
    np.testing.assert_allclose(read.delta_velocity[1:] / 1e-3, read.accelerometer[1:], atol=1e-9)
    run = vt.simulate(model, q, [1.0, 0, 0, 0, 0, 0], duration=0.05, dt=1e-3, method=method)
    read = vt.Imu("crate").read(run).accelerometer
    np.testing.assert_allclose(read, np.tile([-0.5 * G, 0, G], (len(run), 1)), atol=1e-7)


def test_an_ankle_below_a_load():
    model, q = leg()
    run = vt.simulate(model, q, duration=0.05, dt=1e-3)
    read = vt.ForceTorque("ankle").read(run)
    np.testing.assert_allclose(read.force, np.tile([0, 0, -5.0 * G], (len(run), 1)), atol=1e-9)
    touch = vt.ContactSensor("foot").read(run)
    np.testing.assert_allclose(touch.normal_force, 5.2 * G, atol=1e-9)
    np.testing.assert_allclose(touch.force[:, 2], 5.2 * G, atol=1e-9)
    np.testing.assert_allclose(vt.ForceTorque("ankle").sample(model, 0.0, q, [0.0]).force, [0, 0, -5 * G], atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.2])
def test_a_sensor_at_a_fixed_joint(angle):
    tree = vt.Tree("arm")
    arm = tree.world.add(vt.ry("hinge"), vt.body("arm", 2.0, (0.1, 0.1, 0.1)))
    tool = arm.add(vt.tz(-0.5), vt.frame("wrist"), vt.body("tool", 1.0, (0.01, 0.01, 0.01)))
    tool.add(vt.tx("slide"), vt.body("bit", 0.3))
    tree.world.add(vt.body("stand", 4.0))
    model = tree.compile()
    q, v = np.array([angle, 0.0]), np.zeros(2)
    read = vt.ForceTorque("wrist").sample(model, 0.0, q, v, np.zeros(2))
    np.testing.assert_allclose(read.force, 1.3 * G * np.array([-np.sin(angle), 0, np.cos(angle)]), atol=1e-12)
    # a base that is fixed to the world
    np.testing.assert_allclose(vt.ForceTorque("stand").sample(model, 0.0, q, v).force, [0, 0, 4 * G], atol=1e-12)
    with pytest.raises(vt.UnknownNameError, match='no joint or frame "wirst"; did you mean "wrist"'):
        vt.ForceTorque("wirst").sample(model, 0.0, q, v)
    with pytest.raises(vt.InputError, match="does not move with the body beyond the frame"):
        vt.ForceTorque("wrist", frame="arm").sample(model, 0.0, q, v)


@pytest.mark.parametrize("seed", range(3))
def test_a_cut_transmits_what_a_joint_would(seed):
    """A fixed frame reads as a joint there would that the run holds still."""
    rng = np.random.default_rng(seed)

    def build(middle):
        tree = vt.Tree("chain")
        at = tree.world.add(vt.free("base"), vt.body("one", 1.0, (0.1, 0.2, 0.15)))
        at = at.add(vt.tx(0.3), vt.rz("a"), vt.ty(0.1), vt.body("two", 0.7, (0.05, 0.04, 0.03)))
        at = at.add(vt.tz(-0.2), *middle, vt.body("three", 0.5, (0.02, 0.01, 0.03)))
        at.add(vt.tx(0.2), vt.ry("b"), vt.tz(0.1), vt.body("four", 0.4, (0.01, 0.01, 0.02)))
        tree.load(vt.Spring("one", "three", 40.0, 0.1), vt.Wrench("four", (0.1, 0.2, 0.3), (1.0, -2.0, 0.5)))
        return tree.compile()

    fixed, hinged = build([vt.frame("cut")]), build([vt.rx("cut", kinematic=True)])
    q = fixed.integrate(fixed.neutral(), rng.normal(size=fixed.nv))
    v, a = rng.normal(size=(2, fixed.nv))
    there = [x for x in range(hinged.nv) if x != hinged.joint("cut").v_slice.start]
    q2, v2, a2 = hinged.neutral(), np.zeros(hinged.nv), np.zeros(hinged.nv)
    for joint in fixed.joints:
        q2[hinged.joint(joint.name).q_slice] = q[joint.q_slice]
    v2[there], a2[there] = v, a
    own = hinged.joint_reactions(q2, v2, a2)["cut"]
    read = vt.ForceTorque("cut").sample(fixed, 0.0, q, v, a)
    np.testing.assert_allclose(np.concatenate(read), own, atol=1e-11)


# ---- what drove a run ------------------------------------------------------------------------------------------


def test_pushes_wrenches_and_blows_are_read_from_the_run():
    model, q = crate(gravity=(0, 0, 0))
    q[2] = 1.0
    push = vt.ExternalWrench("crate", (10.0, 0, 0), start=0.01, end=0.03)
    run = vt.simulate(model, q, duration=0.05, dt=1e-3, wrenches=[push, vt.Impulse("crate", (0, 0, 0.4), 0.04)])
    read = vt.Imu("crate").read(run)
    inside = (run.t > 0.0105) & (run.t < 0.0295)
    np.testing.assert_allclose(read.accelerometer[inside, 0], 5.0, atol=1e-12)
    np.testing.assert_allclose(read.accelerometer[(run.t < 0.0095) | (run.t > 0.0305), 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(read.accelerometer[:, 0].sum() * 1e-3, 0.1, rtol=1e-9)  # the change of speed
    np.testing.assert_allclose(read.accelerometer[:, 2].sum() * 1e-3, 0.2, rtol=1e-9)
    run = vt.simulate(model, q, duration=0.01, dt=1e-3, wrenches=[vt.ExternalWrench("crate", (0, 4.0, 0))])
    np.testing.assert_allclose(vt.Imu("crate").read(run).accelerometer[:, 1], 2.0, atol=1e-12)


@pytest.mark.parametrize("drive", ["array", "callable", "rows", "controller", "targets", "held"])
@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_nothing_has_to_be_said_a_second_time(method, drive):
    tree = vt.Tree("arm")
    arm = tree.world.add(vt.ry("a"), vt.tz(-0.4), vt.body("one", 1.0, (0.05, 0.05, 0.02)))
    arm.add(vt.rx("b"), vt.tz(-0.3), vt.body("two", 0.6, (0.02, 0.02, 0.01)))
    tree.load(vt.JointForce("b", "push"))
    model, q, dt = tree.compile().with_drives({"a": (20.0, 1.0)}), np.array([0.3, -0.2]), 1e-4
    t = np.arange(200) * dt
    more = {
        "array": {"control": [0.3, -0.1]}, "callable": {"control": lambda t, q, v: [np.sin(40 * t), -v[1]]},
        "rows": {"control": vt.Control(inputs={"push": np.sin(40 * (t + dt / 2))})},
        "controller": {"control": vt.Controller(lambda t, q, v: [np.sin(40 * t), 0.0], 10 * dt)},
        "targets": {"control": vt.Control(targets={"a": lambda t: 0.3 + np.sin(5 * t)})}, "held": {},
    }[drive]  # fmt: skip
    if drive == "held":
        sim = vt.Simulation(model, q, dt=dt, method=method, record_every=1)
        for k in range(200):
            sim.step(control=[np.sin(40 * k * dt), 0.2])
        run = sim.trajectory
    else:
        run = vt.simulate(model, q, duration=0.02, dt=dt, method=method, **more)
    read = vt.Imu("two").read(run)
    # the velocity's slope over two steps, and so is the reading
    R = model.frame_poses(run.q)["two"][:, :3, :3]
    u = np.array([model.frame_velocity("two", a, b)[3:] for a, b in zip(run.q, run.v, strict=True)])
    slope = np.einsum("nji,nj->ni", R[1:-1], (u[2:] - u[:-2]) / (2 * dt) - model.gravity)
    np.testing.assert_allclose(read.accelerometer[1:-1], slope, atol=2e-3 * np.abs(slope).max())
    again = replace(run, system=None)
    np.testing.assert_array_equal(vt.Imu("two").read(again, model).accelerometer, read.accelerometer)


def test_a_file_keeps_what_drove_the_run(tmp_path):
    model, q = standing("human")
    targets = {f"{drive.joint} target": float(q[model.joint(drive.joint).q_slice.start]) for drive in model.drives}
    run = vt.simulate(model, q, duration=0.02, dt=1e-3, control=vt.Control(inputs=targets, torque=lambda t, q,
                                                                           v: 0.0 * v))
    run.save(tmp_path / "run.npz")
    kept = vt.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(kept.drive.inputs, run.drive.inputs)
    for sensor in (vt.Imu("head"), vt.ForceTorque("left_foot"), vt.ContactSensor("left_foot")):
        one, other = sensor.read(run), sensor.read(kept, model)
        for name in sensor.read(run).units:
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-9, err_msg=name)


# ---- balances --------------------------------------------------------------------------------------------------


def balances(model, run, foot):
    """Over each step the impulses of joint, contacts and weight are the change of a link's momentum."""
    mass = model.flat.link_mass[model.link_names.index(foot)]
    read, base = vt.ForceTorque(foot).read(run), vt.ForceTorque(model.joint_names[0]).read(run)
    h = np.diff(run.t)[:, None]
    contact = (run.contact_wrench(foot) if foot in run.contacts.touching else np.zeros((len(run), 6)))[1:, 3:] * h
    v = model._velocities(run.q, run.p)
    k, flat = model.flat.frame_names.index(foot), model.flat
    com = flat.link_com[model.link_names.index(foot)]
    speed = []
    for q, x in zip(run.q, v, strict=True):
        twist, R = model.frame_velocity(foot, q, x), model.frame_pose(foot, q)[:3, :3]
        speed.append(twist[3:] + np.cross(twist[:3], R @ com))
    assert flat.frame_names[k] == foot
    change = mass * np.diff(speed, axis=0)
    size = model.total_mass * G * h.max()
    np.testing.assert_allclose(read.impulse[1:, 3:] + contact + mass * h * model.gravity, change, atol=1e-9 * size)
    # the base hangs on nothing
    np.testing.assert_allclose(base.impulse[:, 3:], 0, atol=2e-9 * size)
    # where some points of a sole have just left the ground, records say the height of its friction to less digits
    turned = np.abs(base.impulse[:, :3]).max(axis=1)
    assert np.mean(turned < 2e-9 * size) > 0.95 and turned.max() < 2e-6 * size
    inner = slice(1, -1)
    np.testing.assert_allclose(base.force[inner], 0, atol=1e-7 * model.total_mass * G)
    return read


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("name", ["human", "g1"])
def test_a_humanoid_that_stands_and_is_pushed(name, method):
    model, q = standing(name)
    foot = {"human": "left_foot", "g1": "left_ankle_roll_link"}[name]
    targets = {f"{drive.joint} target": float(q[model.joint(drive.joint).q_slice.start]) for drive in model.drives}
    v = np.zeros(model.nv)
    v[:2] = 0.1, 0.05
    run = vt.simulate(model, q, v, duration=0.1, dt=1e-3, control=vt.Control(inputs=targets), method=method)
    read = balances(model, run, foot)
    # the force at a node is the mean of the impulses of the steps before and after it
    mean = 0.5 * (read.impulse[1:-1, 3:] + read.impulse[2:, 3:]) / 1e-3
    R = np.array([model.frame_pose(foot, x)[:3, :3] for x in run.q[1:-1]])
    force = np.einsum("nij,nj->ni", R, read.force[1:-1])
    assert np.median(np.abs(force - mean)) < 0.02 * np.abs(mean).max()


@pytest.mark.parametrize("ground", ["plane", "hills"])
def test_a_crawler_that_falls(ground):
    model = crawler(GROUNDS[ground], limits=True)
    q, v = thrown(model, 3)
    run = vt.simulate(model, q, v, duration=0.8, dt=1e-3)
    assert len(run.contacts)
    balances(model, run, "left_foot")
    total = sum(vt.ContactSensor(name).read(run).force.shape[0] for name in run.contacts.touching)
    assert total == len(run) * len(run.contacts.touching)


# ---- one state -------------------------------------------------------------------------------------------------


def calls_of_python(function):
    """How many functions written in Python a call makes."""
    made = []
    function()
    sys.setprofile(lambda frame, event, what: made.append(frame.f_code.co_name) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(made)


def test_what_reads_a_state_leaves_the_work_to_compiled_code():
    model, q = standing("human")
    v = np.zeros(model.nv)
    assert len(model.contact_forces(q, v).a) == 8
    for sensor in (vt.Imu("head"), vt.ForceTorque("left_ankle_flexion"), vt.ForceTorque("left_foot"),
                   vt.ContactSensor("left_foot")):  # fmt: skip
        assert calls_of_python(lambda sensor=sensor: sensor.sample(model, 0.0, q, v)) < 30, sensor
    assert calls_of_python(lambda: model.joint_reactions(q, v)) < 30
    assert calls_of_python(lambda: model.contact_forces(q, v)) < 50


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_contact_sensor_has_the_forces_of_the_contacts(ground, limits):
    model = crawler(GROUNDS[ground], limits=limits)
    q, v = thrown(model, 1)
    run = vt.simulate(model, q, v, duration=1.2, dt=2e-3)
    found = 0
    for k in (len(run) // 2, len(run) - 1):
        q, v = run.q[k], run.v[k]
        forces, gaps = model.contact_forces(q, v), model.contact_gaps(q)
        middle = np.where(np.array(gaps.b)[:, None] == "ground", gaps.point_a, 0.5 * (gaps.point_a + gaps.point_b))
        for a, b, point, normal, gap in zip(forces.a, forces.b, forces.point, forces.normal, forces.gap, strict=True):
            if b == "limit":
                assert np.isnan(point).all() and np.isnan(normal).all()
                continue
            same = np.array([x == (a, b) for x in zip(gaps.a, gaps.b, strict=True)])
            off = np.abs(np.column_stack([middle - point, gaps.normal - normal, gaps.gap - gap])).max(axis=1)
            assert off[same].min() < 1e-7
            found += 1
        for frame in ("trunk", "left_foot", "ball"):
            read, X = vt.ContactSensor(frame).sample(model, 0.0, q, v), model.frame_pose(frame, q)
            wrench = forces.wrench(frame, about=X[:3, 3]).reshape(2, 3) @ X[:3, :3]
            np.testing.assert_allclose(np.array(read[:2]), wrench, atol=1e-9 * (1 + np.abs(wrench).max()))
            # the same numbers as the sensor has where forces are given by names
            again = vt.ContactSensor(frame)._of(model, q, forces)
            np.testing.assert_allclose(read.normal_force, again[6], atol=1e-9 * (1 + again[6]))
    assert found


def test_a_wrong_torque_is_named_by_each_sensor():
    model, q = crate()
    for sensor in (vt.Imu("crate"), vt.ContactSensor("crate"), vt.ForceTorque("crate")):
        for torque in ([1.0], [np.nan] * 6):
            with pytest.raises(vt.InputError, match=r"^torque"):
                sensor.sample(model, 0.0, q, np.zeros(6), torque=torque)


def test_what_is_too_large_of_one_state_is_refused():
    model, q = crate()
    v, large = np.zeros(6), np.full(6, 1e308)
    with pytest.raises(vt.InputError, match=r"^a\[0\] is 1e\+308"):
        vt.ForceTorque("crate").sample(model, 0.0, q, v, large)
    with pytest.raises(vt.InputError, match=r"^v\[0\] is 1e\+308"):
        vt.Imu("crate").sample(model, 0.0, q, large, v)
    forces = model.contact_forces(q, v)
    with pytest.raises(vt.InputError, match="too large"):
        model.joint_reactions(q, v, contacts=forces._replace(force=1e307 * forces.force))
