"""Sensors: increments that add up, readings of states between records, errors that are what was asked for."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from loaded_models import constrained_tree, driving_loads, random_tree, singles
from random_models import chain_flat, random_flat, random_state

import vitree as vt
from vitree.lie import SO3
from vitree.sensors.course import Course

ALL = ("revolute", "prismatic", "helical", "ball", "free")
INPUTS = {"push": 0.7, "turn": -0.4, "drive": 1.3}
EXP = SO3.maps["exp"]


def arm(gravity=(0.0, 0.0, -9.81)):
    """Two links, with a sensor beside the second."""
    tree = vt.Tree("arm", gravity=gravity)
    upper = tree.world.add(vt.rx("shoulder"), vt.tz(-0.5), vt.body("upper", 1.0, (0.1, 0.1, 0.02)))
    upper.add(vt.tz(-0.5), vt.ry("elbow"), vt.tz(-0.4), vt.body("lower", 0.8, (0.05, 0.05, 0.01)),
              vt.tx(0.1), vt.rz(0.4), vt.frame("chip"))  # fmt: skip
    return tree.compile()


def swing(model=None, duration=0.4, dt=0.01, **more):
    model = arm() if model is None else model
    return vt.simulate(model, [0.7, -1.1], [1.0, 2.0], duration=duration, dt=dt, **more)


def added_up(model, frame, run, readings):
    """The largest differences of rotation, velocity and position between a trajectory and the increments added up."""
    k = [int(np.abs(run.t - t).argmin()) for t in readings.taken]
    assert np.array_equal(run.t[k], readings.taken)
    pose, u = model.frame_pose(frame, run.q[k[0]]), model.frame_velocity(frame, run.q[k[0]], run.v[k[0]])[3:]
    R, x, g, worst = pose[:3, :3], pose[:3, 3], model.gravity, np.zeros(3)
    for j in range(1, len(k)):
        h = readings.taken[j] - readings.taken[j - 1]
        x = x + u * h + g * h * h / 2 + R @ readings.delta_position[j]
        u = u + g * h + R @ readings.delta_velocity[j]
        R = R @ EXP.tau(readings.delta_angle[j])
        pose, speed = model.frame_pose(frame, run.q[k[j]]), model.frame_velocity(frame, run.q[k[j]], run.v[k[j]])
        worst = np.maximum(worst, [np.abs(pose[:3, :3] - R).max(), np.abs(speed[3:] - u).max(),
                                   np.abs(pose[:3, 3] - x).max()])  # fmt: skip
    return worst


# ---- the IMU ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"record_every": 7}, {"method": "midpoint"}, {"method": "rk4"},
                                  {"adapt": "density", "rate": 3.0}, {"t0": 100.0}])  # fmt: skip
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_increments_add_up_to_the_trajectory(base, more):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=6, base=base)
        model = vt.Model(flat)
        q, v = random_state(flat, rng, speed=0.7)
        run = vt.simulate(model, q, v, duration=0.14, dt=0.01 if "every" not in more else 0.002, **more)
        for frame in ("link5", "frame1", "frame2"):
            found = vt.Imu(frame).read(run)
            assert len(found.t) == len(run.t) and not found.delta_angle[0].any() and not found.delta_velocity[0].any()
            scale = max(1.0, np.abs(run.v).max(), np.abs(run.q).max())
            assert added_up(model, frame, run, found).max() < 1e-12 * scale
            assert not found.warnings


def test_increments_of_a_long_run_and_of_reduced_models_and_euler_angles():
    tree = vt.Tree("geared")
    one = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.1, 0.2, 0.3)), vt.rx("a"), vt.tz(-1.0),
                         vt.body("one", 1.0, (0.1, 0.1, 0.1)))  # fmt: skip
    one.add(vt.rx("b"), vt.tz(-1.0), vt.body("two", 1.0, (0.1, 0.1, 0.1)), vt.fixed("place", xyz=(0.1, 0.2, 0.3)))
    tree.constrain(vt.gear("b", "a", 0.5))
    full = tree.compile()
    rng = np.random.default_rng(0)
    v = rng.standard_normal(full.nv)
    v[-1] = 0.5 * v[-2]
    for model in (full, full.reduced(), full.euler()):
        q0, v0 = (full.neutral(), v)
        if model is not full:
            euler = model.nv == full.nv
            q0, v0 = model.from_native(q0, v) if euler else (model.contract(q0), model.contract_velocity(v))
        run = vt.simulate(model, q0, v0, duration=2.0, dt=2e-3)
        for rate in (None, 100.0, 500.0):
            found = vt.Imu("place", rate=rate).read(run)
            assert len(found.t) == (1001 if rate is None else round(2.0 * rate) + 1) and not found.warnings
            assert added_up(model, "place", run, found).max() < 1e-12 * max(1.0, np.abs(run.q).max())


def test_the_readings_of_a_state_are_those_of_kinematics():
    """The accelerometer is the second derivative of the position, less gravity, in the frame's axes."""
    model = arm((1.0, 2.0, -9.0))
    run = vt.simulate(model, [0.7, -1.1], [1.0, 2.0], duration=0.02, dt=1e-3, method="rk8")
    found = vt.Imu("chip").read(run)
    at = np.array([model.frame_pose("chip", q) for q in run.q])
    k = len(run) // 2
    second = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]) / 1e-6
    acceleration = second @ at[k - 4 : k + 5, :3, 3]
    R = at[k, :3, :3]
    assert found.accelerometer[k] == pytest.approx(R.T @ (acceleration - model.gravity), abs=1e-7)
    first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / 1e-3
    spin = R.T @ np.tensordot(first, at[k - 4 : k + 5, :3, :3], 1)
    assert found.gyro[k] == pytest.approx([spin[2, 1], spin[0, 2], spin[1, 0]], abs=1e-9)
    # increments are the readings times the step, to the second order of the step
    for delta, rate in ((found.delta_angle, found.gyro), (found.delta_velocity, found.accelerometer)):
        assert delta[k] / 1e-3 == pytest.approx((rate[k] + rate[k - 1]) / 2, abs=2e-2)


def test_what_falls_reads_nothing_and_what_rests_reads_gravity():
    tree = vt.Tree("stone")
    tree.world.add(vt.free("base"), vt.body("stone", 2.0, (0.1, 0.2, 0.3)))
    model = tree.compile()
    run = vt.simulate(model, v0=[1.0, 0, 3.0, 0, 0, 0], duration=1.0, dt=0.1)
    found = vt.Imu("stone", rate=37.0).read(run)
    for x in (found.gyro, found.accelerometer, found.delta_angle, found.delta_velocity, found.delta_position):
        assert np.abs(x).max() < 1e-12
    hung = arm()
    rest = vt.Imu("upper").sample(hung, 0.0, [0.0, 0.0], [0.0, 0.0])
    assert rest.accelerometer == pytest.approx([0, 0, 9.81]) and not rest.gyro.any()


def test_a_quick_wheel_is_told():
    """More than half a turn between two readings: the increments still add up, by the shorter way, and it is said."""
    tree = vt.Tree("wheel", gravity=(0, 0, 0))
    tree.world.add(vt.rz("axle"), vt.body("wheel", 1.0, (1, 1, 1)), vt.tx(0.3), vt.frame("rim"), vt.frame("r\x1bm"))
    model = tree.compile()
    run = vt.simulate(model, v0=[40.0], duration=1.0, dt=0.01)
    slow = vt.Imu("rim", rate=10.0).read(run)
    assert len(slow.warnings) == 1 and "half a turn" in slow.warnings[0] and "4 rad" in slow.warnings[0]
    assert added_up(model, "rim", run, slow).max() < 1e-11
    assert np.abs(slow.delta_angle).max() <= np.pi and slow.gyro[:, 2] == pytest.approx(40.0)
    assert not vt.Imu("rim", rate=20.0).read(run).warnings
    assert r"\x1b" in vt.Imu("r\x1bm").read(run[::10]).warnings[0]  # shown, not obeyed
    # records that are too far apart say the same
    assert "4 rad" in vt.Imu("rim").read(run[::10]).warnings[0]


def test_a_ball_that_turns_too_far_between_records_is_not_interpolated():
    tree = vt.Tree("top", gravity=(0, 0, 0))
    tree.world.add(vt.ball("ball"), vt.body("top", 1.0, (1.0, 1.0, 1.0)))
    model = tree.compile()
    for w, much in ((30.0, False), (33.0, True)):
        run = vt.simulate(model, v0=[0.0, 0.0, w], duration=1.0, dt=0.02, record_every=5)
        assert len(vt.Imu("top").read(run).t) == 11
        sensor = vt.Imu("top", rate=100.0)
        if not much:
            found = sensor.read(run)
            assert found.gyro == pytest.approx(np.tile([0, 0, w], (101, 1)), abs=1e-9)
            continue
        with pytest.raises(vt.InputError, match=r'"ball" makes half a turn or more between the records at t = 0 s'):
            sensor.read(run)


def test_accelerations_are_those_of_what_acted():
    """Torque, inputs and prescribed motion are not in a trajectory; with them the readings are those of each state."""
    flat, q, v = random_tree(3, nbody=6, kinds=ALL)
    held = np.zeros(len(flat.damping), bool)
    moved = singles(flat)[0]
    at = next(joint for joint in flat.joints if joint.name == moved)
    held[at.v_slice] = True
    model = vt.Model(replace(flat, kinematic=held, loads=driving_loads(flat)))
    start = q[at.q_slice][0]

    def motion(t):
        return start + 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)

    def torque(t, q, v):
        return np.cos(t) - 0.3 * v

    v[at.v_slice] = 0.6
    given = {"torque": torque, "inputs": {**INPUTS, "push": lambda t: 0.7 + t}, "prescribed": {moved: motion}}
    run = vt.simulate(model, q, v, duration=0.2, dt=0.01, control=vt.Control(**given))
    imu, cell = vt.Imu("link5"), vt.ForceTorque("joint2")
    found, wrench = imu.read(run, **given), cell.read(run, **given)
    for k in (0, 7, 20):
        t, q, v = run.t[k], run.q[k], run.v[k]
        more = {"inputs": {**INPUTS, "push": 0.7 + t}, "prescribed": {moved: motion(t)[2]}}
        a = model.forward_dynamics(q, v, torque(t, q, v), t=t, **more).acceleration
        one = imu.sample(model, t, q, v, a)
        assert found.accelerometer[k] == pytest.approx(one.accelerometer, abs=1e-12)
        assert one.accelerometer == pytest.approx(
            imu.sample(model, t, q, v, torque=torque(t, q, v), **more).accelerometer, abs=1e-12)  # fmt: skip
        w = model.joint_reactions(q, v, torque=torque(t, q, v), t=t, **more)["joint2"]
        assert np.concatenate((wrench.torque[k], wrench.force[k])) == pytest.approx(w, abs=1e-10)
    # without the motion, the differences of the recorded rates
    about = imu.read(run, torque=torque, inputs=given["inputs"])
    assert np.abs(about.accelerometer - found.accelerometer).max() < 1e-2 * np.abs(found.accelerometer).max()
    assert np.abs(imu.read(run, inputs=INPUTS).accelerometer - found.accelerometer).max() > 1e-2


MJCF = """<mujoco><option gravity="1 2 -9.81"/><worldbody><body name="upper"><joint name="shoulder" axis="1 0 0"/>
  <inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.02"/><body name="lower" pos="0 0 -1">
    <joint name="elbow" axis="0 1 0"/><inertial pos="0 0 -0.4" mass="0.8" diaginertia="0.05 0.05 0.01"/>
    <site name="elbow"/><site name="chip" pos="0.1 0 -0.4" euler="0 0 {turn}"/></body></body></worldbody>
  <sensor><gyro site="chip"/><accelerometer site="chip"/><torque site="elbow"/><force site="elbow"/>
    <frameangvel objtype="site" objname="chip"/><framelinvel objtype="site" objname="chip"/>
    <frameangacc objtype="site" objname="chip"/><framelinacc objtype="site" objname="chip"/></sensor></mujoco>"""


def test_mujoco_reads_the_same():
    """Its sensors of frames' accelerations take gravity off; all else is alike."""
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(MJCF.format(turn=np.degrees(0.4)))
    model, data, rng = arm((1.0, 2.0, -9.81)), mujoco.MjData(theirs), np.random.default_rng(0)
    for _ in range(5):
        q, v, tau = rng.standard_normal((3, 2))
        data.qpos, data.qvel, data.qfrc_applied = q, v, tau
        mujoco.mj_forward(theirs, data)
        a = model.forward_dynamics(q, v, tau).acceleration
        frame = model.frame_acceleration("chip", q, v, a)
        frame[3:] -= model.gravity
        expected = [*vt.Imu("chip").sample(model, 0.0, q, v, torque=tau),
                    *vt.ForceTorque("elbow").sample(model, 0.0, q, v, torque=tau),
                    model.frame_velocity("chip", q, v), frame]  # fmt: skip
        assert data.sensordata == pytest.approx(np.concatenate(expected), abs=1e-10)


# ---- when --------------------------------------------------------------------------------------------------------


def test_rates_and_delays():
    run = swing(t0=3.0)
    every = vt.Imu("chip").read(run)
    assert np.array_equal(every.t, run.t) and np.array_equal(every.taken, run.t)
    late = vt.Imu("chip", rate=50, delay=0.013).read(run)
    assert late.taken == pytest.approx(3.0 + np.arange(21) / 50, abs=1e-12)
    assert np.array_equal(late.t, late.taken + 0.013) and not late.warnings
    assert np.array_equal(late.gyro, every.gyro[::2]) and np.array_equal(late.accelerometer, every.accelerometer[::2])
    odd = vt.Encoder(rate=30.0).read(run)
    assert len(odd.t) == 13 and odd.taken[-1] == pytest.approx(3.4)
    assert "8 of 13 readings lie between records" in odd.warnings[0]
    # a rate that does not divide the run ends before its end
    assert vt.Encoder(rate=7.0).read(run).taken[-1] == pytest.approx(3.0 + 2 / 7)
    assert len(vt.Encoder(rate=1.0).read(run).t) == 1
    assert len(vt.Imu("chip", rate=1.0).read(run[3:4]).t) == 1


def test_states_between_records_have_an_error_of_the_fourth_power():
    for kinds, base in ((ALL, "free"), (ALL[:3], "fixed"), (("ball", "revolute"), "fixed")):
        rng = np.random.default_rng(4)
        flat = random_flat(rng, nbody=4, kinds=kinds, base=base)
        model = vt.Model(flat)
        run = vt.simulate(model, *random_state(flat, rng, speed=0.5), duration=0.16, dt=1e-3, method="rk8")
        errors = []
        for every in (16, 8, 4):
            course = Course(run[::every], model)
            states = [course.at(t) for t in run.t]
            errors.append((max(np.abs(model.difference(q, s[0])).max() for q, s in zip(run.q, states, strict=True)),
                           max(np.abs(v - s[1]).max() for v, s in zip(run.v, states, strict=True))))  # fmt: skip
            for k in range(0, len(run), every):
                assert np.array_equal(states[k][0], run.q[k]) and np.array_equal(states[k][1], run.v[k])
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        assert (orders[:, 0] > 3.4).all() and (orders[:, 1] > 2.4).all(), orders


def test_states_between_halves_of_steps_are_known():
    """Of a double pendulum that turns fast; steps of gauss in halves, whose states are nearly exact."""
    model = vt.Model(chain_flat(2))
    run = vt.simulate(model, [0.3, 0.4], [40.0, -70.0], duration=0.3, dt=0.1, method="gauss")
    assert len(run.halves)
    course = Course(run, model)
    assert np.array_equal(course.t, run.t)
    for row in run.halves:
        q, v = course.at(row[0])
        assert np.array_equal(q, row[1:3]) and np.array_equal(v, row[3:5])
    for t in np.linspace(0.0, 0.3, 31):
        here = run.at(t)
        q, v = course.at(t)
        assert q == pytest.approx(here.q, abs=1e-12) and v == pytest.approx(here.v, abs=1e-9)
    readings = vt.Encoder(rate=100.0).read(run)
    assert np.abs(readings.position - run.at(readings.taken).q).max() < 1e-12
    for change, told in ((np.nan, "NaN"), (0.1, "must increase")):
        halves = run.halves.copy()
        halves[-1, 0] = change
        with pytest.raises(vt.InputError, match=rf"trajectory\.halves .*{told}"):
            Course(replace(run, halves=halves), model)


def test_velocities_between_records_are_those_of_the_configurations():
    flat, q, v = random_tree(8, nbody=5, kinds=ALL, base="free")
    model = vt.Model(flat)
    course = Course(vt.simulate(model, q, v, duration=0.06, dt=0.02), model)
    for t in (0.003, 0.013, 0.0257, 0.059):
        h = 1e-5
        ahead, here, behind = (course.at(t + s * h) for s in (1, 0, -1))
        rate = (model.difference(here[0], ahead[0]) - model.difference(here[0], behind[0])) / (2 * h)
        assert rate == pytest.approx(here[1], abs=1e-6 * max(1.0, np.abs(v).max()))


def test_a_stone_is_thrown_exactly():
    """Between records of a free fall positions are those of the parabola, also where the stone spins."""
    tree = vt.Tree("stone")
    tree.world.add(vt.free("base"), vt.body("stone", 2.0, (0.2, 0.2, 0.2)))
    model = tree.compile()
    v0 = np.array([1.0, -2.0, 3.0, 4.0, 1.0, -2.0])
    run = vt.simulate(model, v0=v0, duration=0.8, dt=0.2)
    course = Course(run, model)
    for t in (0.05, 0.31, 0.77):
        q, v = course.at(t)
        assert q[:3] == pytest.approx(v0[:3] * t + model.gravity * t * t / 2, abs=1e-12)
        R = vt.lie.matrix_from_pose(q)[:3, :3]
        assert R @ v[:3] == pytest.approx(v0[:3] + model.gravity * t, abs=1e-12)
        assert R == pytest.approx(EXP.tau(v0[3:] * t), abs=1e-12) and v[3:] == pytest.approx(v0[3:], abs=1e-12)


# ---- bias and noise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda **more: vt.Imu("chip", **more), lambda **more: vt.ForceTorque("elbow", **more),
                                  lambda **more: vt.Encoder(**more)], ids=["imu", "wrench", "encoder"])  # fmt: skip
def test_noise_repeats_and_has_its_deviation(make):
    run = swing(duration=20.0, dt=0.02)
    errors = {"noise": 0.3, "bias": 0.5}
    exact, one, again, other = (make(**more).read(run) for more in ({}, errors, errors, {**errors, "seed": 1}))
    for name in {"gyro", "accelerometer", "torque", "force", "position"} & set(vars(exact)):
        x, a, b, c = (getattr(readings, name) for readings in (exact, one, again, other))
        assert np.array_equal(a, b) and not (a == c).any()
        assert (a - x).mean(axis=0) == pytest.approx(0.5, abs=0.05)
        assert (a - x).std(axis=0) == pytest.approx(0.3, abs=0.03)
        # a shorter run has the first of them
        short = getattr(make(**errors).read(run[:9]), name)
        assert np.array_equal(short, a[:9])


def test_bias_and_noise_of_each_entry():
    run = swing()
    exact = vt.Imu("chip").read(run)
    two = vt.Imu("chip", bias=(0.1, 2.0)).read(run)
    six = vt.Imu("chip", bias=np.array([1, 2, 3, 4, 5, 6.0])).read(run)
    assert two.gyro - exact.gyro == pytest.approx(0.1) and two.accelerometer - exact.accelerometer == pytest.approx(2.0)
    assert six.gyro - exact.gyro == pytest.approx(np.tile([1, 2, 3.0], (41, 1)))
    assert six.accelerometer - exact.accelerometer == pytest.approx(np.tile([4, 5, 6.0], (41, 1)))
    # increments have them times the time between
    assert (two.delta_angle - exact.delta_angle)[1:] == pytest.approx(0.1 * 0.01)
    assert (two.delta_velocity - exact.delta_velocity)[1:] == pytest.approx(2.0 * 0.01)
    assert (two.delta_position - exact.delta_position)[1:] == pytest.approx(1e-4)
    noisy = vt.Imu("chip", noise=(0.0, 0.5)).read(run)
    assert np.array_equal(noisy.gyro, exact.gyro) and not (noisy.accelerometer == exact.accelerometer).any()
    drift = (noisy.delta_velocity - exact.delta_velocity)[1:]
    assert drift == pytest.approx((noisy.accelerometer - exact.accelerometer)[1:] * 0.01, abs=1e-14)


def test_sensors_are_values():
    for sensor in (
        vt.Imu("chip", rate=np.float32(100), bias=[0.1, 0.2], noise=np.zeros(6)), vt.ForceTorque("elbow", "chip"),
        vt.Encoder(["elbow"], resolution=np.array([0.1]), noise=0.1, seed=np.int64(3)),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(sensor))
        assert again == sensor == copy.deepcopy(sensor) and hash(again) == hash(sensor) and "=" in repr(sensor)
        with pytest.raises(AttributeError):
            sensor.rate = 5.0
        assert replace(sensor, rate=7).rate == 7.0
    assert vt.Imu("a") != vt.Imu("b")


# ---- force and torque ---------------------------------------------------------------------------------------------


def test_a_force_torque_sensor_has_the_wrench_of_its_joint_in_any_frame():
    model = arm()
    run = swing(model)
    own, moved = vt.ForceTorque("elbow").read(run, torque=[1.0, -0.5]), vt.ForceTorque("elbow", "chip")
    found = moved.read(run, torque=[1.0, -0.5])
    for k in (0, 13, 40):
        q, v = run.q[k], run.v[k]
        wrench = model.joint_reactions(q, v, torque=[1.0, -0.5])["elbow"]
        assert np.array_equal(np.concatenate((own.torque[k], own.force[k])), wrench)
        assert own.torque[k][1] == pytest.approx(-0.5, abs=1e-12)  # along the elbow's axis, y
        X, Y = model.frame_pose("elbow", q), model.frame_pose("chip", q)
        force = X[:3, :3] @ wrench[3:]
        moment = X[:3, :3] @ wrench[:3] + np.cross(X[:3, 3] - Y[:3, 3], force)
        assert found.force[k] == pytest.approx(Y[:3, :3].T @ force, abs=1e-12)
        assert found.torque[k] == pytest.approx(Y[:3, :3].T @ moment, abs=1e-12)
        sample = moved.sample(model, run.t[k], q, v, torque=[1.0, -0.5])
        assert np.array_equal(sample.force, found.force[k]) and np.array_equal(sample.torque, found.torque[k])


def test_loops_and_reduced_models_are_read():
    model, q, v = constrained_tree(1, nbody=8, kinds=("revolute", "prismatic", "helical"))
    run = vt.simulate(model, q, v, duration=0.02, dt=2e-3)
    for k, name in enumerate(model.joint_names[:3]):
        found = vt.ForceTorque(name).read(run)
        wrench = model.joint_reactions(run.q[5], run.v[5])[name]
        assert np.concatenate((found.torque[5], found.force[5])) == pytest.approx(wrench, abs=1e-12), k
    reduced = model.reduced()
    run = vt.simulate(reduced, reduced.contract(q), reduced.contract_velocity(v), duration=0.02, dt=2e-3)
    follower = next(joint.name for joint in reduced.joints if joint.mimic)
    leader, factor, offset = reduced.joint(follower).mimic
    both = vt.Encoder([follower, leader]).read(run)
    assert both.position[:, 0] == pytest.approx(factor * both.position[:, 1] + offset, abs=1e-12)
    assert both.names == (follower, leader)
    one = vt.ForceTorque(follower).read(run).force[5]
    assert one == pytest.approx(reduced.joint_reactions(run.q[5], run.v[5])[follower][3:], abs=1e-12)
    assert len(vt.Imu("link5", rate=3000.0).read(run).warnings) == 1


# ---- encoders -------------------------------------------------------------------------------------------------------


def test_encoders_count():
    model = arm()
    run = swing(model)
    exact = vt.Encoder().read(run)
    assert exact.names == ("shoulder", "elbow") and exact.counts is None
    assert np.array_equal(exact.position, run.q) and np.isnan(exact.velocity[0]).all()
    assert np.array_equal(exact.velocity[1:], np.diff(run.q, axis=0) / np.diff(run.t)[:, None])
    assert exact.units["position"] == ("rad", "rad") and exact.units["velocity"] == ("rad/s", "rad/s")
    step = 2 * np.pi / 4096
    found = vt.Encoder(["elbow"], resolution=step).read(run)
    assert found.counts.dtype == np.int64 and np.array_equal(found.counts[:, 0], np.rint(run.q[:, 1] / step))
    assert np.array_equal(found.position, found.counts * step)
    assert np.abs(found.position[:, 0] - run.q[:, 1]).max() <= step / 2 * (1 + 1e-12)
    both = vt.Encoder(["elbow", "shoulder"], resolution=(0.1, 0.2), bias=(1.0, 2.0)).read(run)
    assert np.array_equal(both.counts, np.rint((run.q[:, ::-1] + [1.0, 2.0]) / [0.1, 0.2]))
    sample = vt.Encoder(["elbow"], resolution=0.5, bias=1.0).sample(model, 0.0, [0.3, 0.4], [1.0, 2.0])
    assert np.array_equal(sample.position, [0.4]) and np.array_equal(sample.velocity, [2.0])


def test_encoders_know_units_and_leave_balls_out():
    rng = np.random.default_rng(2)
    flat = random_flat(rng, nbody=12, base="free")
    model = vt.Model(flat)
    run = vt.simulate(model, *random_state(flat, rng, speed=0.1), duration=0.01, dt=0.005)
    found = vt.Encoder().read(run)
    kinds = {joint.name: joint.kind for joint in model.joints}
    assert len(found.names) and {kinds[name] for name in found.names} <= {"revolute", "prismatic", "helical"}
    for name, unit, column in zip(found.names, found.units["position"], found.position.T, strict=True):
        assert unit == ("m" if kinds[name] == "prismatic" else "rad")
        assert np.array_equal(column, run.q[:, model.joint(name).q_slice][:, 0])
    with pytest.raises(vt.InputError, match='"joint0", a free joint'):
        vt.Encoder(["joint0"]).read(run)
    tree = vt.Tree("cart")
    tree.world.add(*vt.planar("drive"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)))
    plane = vt.Encoder().read(vt.simulate(tree.compile(), duration=0.1, dt=0.05))
    assert plane.names == ("drive.0", "drive.1", "drive.2") and plane.units["position"] == ("m", "m", "rad")


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda **more: vt.Imu("chip", **more), lambda **more: vt.ForceTorque("elbow", **more),
                                  lambda **more: vt.Encoder(**more)], ids=["imu", "wrench", "encoder"])  # fmt: skip
@pytest.mark.parametrize(("name", "values"), [
    ("rate", [0, -1.0, np.nan, np.inf, "a", [1.0], True, 1j]), ("delay", [-1e-9, np.nan, np.inf, "a", None, [0.1]]),
    ("bias", [np.nan, [np.inf, 0.0], "a", None, [[0.1]], np.ma.array(0.1), {"gyro": 1}]),
    ("noise", [-0.1, np.nan, "a", [0.1, -0.1], [[0.1]]]), ("seed", [-1, 0.5, "a", True]),
])  # fmt: skip
def test_arguments_are_checked_where_the_sensor_is_made(make, name, values):
    for value in values:
        with pytest.raises(vt.InputError, match=name) as failure:
            make(**{name: value})
        assert failure.value.argument == name


@pytest.mark.parametrize("make", [vt.Imu, vt.ForceTorque, vt.ContactSensor, lambda _, **more: vt.Encoder(**more)])
def test_a_seed_without_noise_is_refused(make):
    for noise in ({}, {"noise": 0.0}):
        for seed in (0, 5):
            with pytest.raises(vt.InputError, match="has no noise; give noise= too, or leave seed= out") as failure:
                make("chip", seed=seed, **noise)
            assert failure.value.argument == "seed"
    assert make("chip", noise=0.1, seed=5).seed == 5
    readings = [vt.Encoder(noise=0.1, **more).read(swing()).position for more in ({}, {"seed": 0}, {"seed": None})]
    assert np.array_equal(readings[0], readings[1]) and np.array_equal(readings[0], readings[2])


def test_more_arguments_are_checked():
    for call in (lambda: vt.Imu(5), lambda: vt.ForceTorque(None), lambda: vt.ForceTorque("a", 5),
                 lambda: vt.Encoder("elbow"), lambda: vt.Encoder(5), lambda: vt.Encoder([5]),
                 lambda: vt.Encoder(resolution=0.0), lambda: vt.Encoder(resolution=[1.0, -1.0]),
                 lambda: vt.Encoder(resolution="fine"),
                 lambda: vt.Imu("a", bias=[1, 2, 3]), lambda: vt.ForceTorque("a", noise=[1, 2, 3, 4])):  # fmt: skip
        with pytest.raises(vt.InputError):
            call()


def test_what_is_not_in_the_model_is_named():
    run = swing()
    for sensor, words in (
        (vt.Imu("chp"), 'no frame "chp"; did you mean "chip"'), (vt.ForceTorque("elbw"), 'did you mean "elbow"'),
        (vt.ForceTorque("elbow", "chp"), 'did you mean "chip"'), (vt.Encoder(["shouldr"]), 'did you mean "shoulder"'),
    ):  # fmt: skip
        for call in (lambda s=sensor: s.read(run), lambda s=sensor: s.sample(run.system, 0.0, run.q[0], run.v[0])):
            with pytest.raises(vt.UnknownNameError, match=words):
                call()
    with pytest.raises(vt.InputError, match='does not move with the body behind the joint "shoulder"') as failure:
        vt.ForceTorque("shoulder", "chip").read(run)
    assert "upper" in failure.value.choices and "chip" not in failure.value.choices
    for more in ({"bias": [1, 2, 3]}, {"noise": [1, 2, 3]}, {"resolution": [1, 2, 3]}, {"joints": []}):
        with pytest.raises(vt.InputError, match=next(iter(more))):
            vt.Encoder(**more).read(run)
    tree = vt.Tree("fixed")
    tree.world.add(vt.tx(1.0), vt.frame("post"))
    tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("b", 1.0))
    model = tree.compile()
    with pytest.raises(vt.InputError, match='"post", which is fixed to the world') as failure:
        vt.Imu("post").sample(model, 0.0, [0.0], [0.0])
    assert failure.value.argument == "frame"


def test_trajectories_that_cannot_be_read_are_named(tmp_path):
    run = swing()
    run.save(tmp_path / "run.npz")
    loaded = vt.Trajectory.load(tmp_path / "run.npz")
    sensors = vt.Imu("chip"), vt.ForceTorque("elbow"), vt.Encoder()
    for sensor in sensors:
        with pytest.raises(vt.InputError, match=r"has no system.*model="):
            sensor.read(loaded)
        again, known = sensor.read(loaded, run.system), sensor.read(run)
        for name in ("gyro", "force", "position"):
            assert np.array_equal(getattr(again, name, 0), getattr(known, name, 0))
        for model, words in ((arm((0, 0, -1.0)), "another model"), (5, "must be a Model")):
            with pytest.raises(vt.InputError, match=words):
                sensor.read(loaded, model)
        with pytest.raises(vt.InputError, match="no records"):
            sensor.read(run[:0])
        with pytest.raises(vt.InputError, match="increase"):
            sensor.read(run[::-1])
        with pytest.raises(vt.InputError, match="trajectory"):
            sensor.read(5)
        with pytest.raises(vt.InputError, match="vehicles"):
            sensor.read(vt.simulate(vt.vehicles.boat(), duration=0.1, dt=0.05))
        with pytest.raises(vt.InputError, match="10000000 are the most"):
            replace(sensor, rate=1e300).read(run)
    with pytest.raises(vt.InputError, match="nq=2"):
        vt.Encoder().read(replace(loaded, q=loaded.q[:, :1], q_names=("a",), settings={}), run.system)


def test_what_is_too_large_is_refused():
    run = swing()
    for q, v, words in ((np.inf, 0.0, "record 0 of the"), (0.0, np.nan, "record 0"), (0.0, 1e200, "too large")):
        wrong = replace(run, q=run.q + q, v=run.v + v)
        for sensor in (vt.Imu("chip"), vt.ForceTorque("elbow"), vt.Imu("chip", rate=250.0), vt.Encoder(rate=250.0)):
            if v != 1e200 or not isinstance(sensor, vt.Encoder):
                with pytest.raises(vt.InputError, match=words):
                    sensor.read(wrong)
    for sensor in (vt.Imu("chip", bias=1e308, noise=1e308), vt.Encoder(bias=1e308, noise=1e308),
                   vt.ForceTorque("elbow", bias=1e308, noise=1e308)):  # fmt: skip
        with pytest.raises(vt.InputError, match="too large"):
            sensor.read(run)


def test_what_acts_is_checked():
    run = swing()
    for sensor in (vt.Imu("chip"), vt.ForceTorque("elbow")):
        for more, words in (
            ({"torque": [1.0]}, "torque"), ({"torque": lambda t, q, v: [1.0]}, r"torque\(t, q, v\) at t = 0 s"),
            ({"inputs": {"a": 1.0}}, 'no input "a"'), ({"inputs": np.zeros((7, 0))}, "has 7 rows, one for each step"),
            ({"prescribed": {"elbow": lambda t: 0.0}}, "not prescribed"), ({"prescribed": 5}, "prescribed"),
        ):  # fmt: skip
            with pytest.raises(vt.VitreeError, match=words):
                sensor.read(run, **more)
        for more, words in (({"q": [1.0]}, "^q "), ({"v": [np.nan, 0.0]}, r"^v\["), ({"a": [1.0]}, "^a "),
                            ({"torque": [1.0]}, "^torque"), ({"model": 5}, "^model")):  # fmt: skip
            with pytest.raises(vt.InputError, match=words):
                sensor.sample(**{"model": run.system, "t": 0.0, "q": [0.1, 0.2], "v": [0.0, 0.0], **more})
    tree = vt.Tree("moved")
    cart = tree.world.add(vt.tx("cart", kinematic=True), vt.body("cart", 1.0))
    cart.add(vt.ry("swing"), vt.tz(-1.0), vt.body("bob", 1.0))
    run = vt.simulate(tree.compile(), duration=0.1, dt=0.05, control=vt.Control(prescribed={"cart": lambda t: t * t}))
    with pytest.raises(vt.InputError, match="no callable of t"):
        vt.Imu("bob").read(run, prescribed={"cart": [0.0, 0.1, 0.2]})
    # a cart that speeds up by 2 m/s^2
    for given in (None, {"cart": lambda t: t * t}, {"cart": lambda t: (t * t, 2 * t, 2.0)}):
        assert vt.Imu("cart").read(run, prescribed=given).accelerometer[1] == pytest.approx([2.0, 0, 9.81], abs=1e-6)
    assert len(vt.Imu("bob").read(run[:1]).t) == 1


def test_units_of_each_array():
    run = swing()
    for sensor in (vt.Imu("chip"), vt.ForceTorque("elbow"), vt.Encoder()):
        found = sensor.read(run)
        arrays = {name for name, x in vars(found).items() if isinstance(x, np.ndarray)}
        assert arrays == set(found.units)
