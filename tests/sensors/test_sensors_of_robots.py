"""Robots that stand, slide, step and fall, with every sensor; and the sensors of MuJoCo beside them on one walk."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import NamedTuple

import numpy as np
import pytest
from touching_models import STANDING

import vitree as vt

G = 9.81
DT = 1e-3
LEG, BALL, HEIGHT = 0.213, 0.022, 0.28  # of the Go2 [m]


class Sensed(NamedTuple):
    """Where a robot has sensors: a cut is a joint or frame, and the link beyond it."""

    imu: str
    foot: str
    cuts: dict[str, str]
    joints: tuple[str, ...] = ()  # that a leg lifts its foot by


ROBOTS = {
    "talos": Sensed("imu_link", "left_sole_link", {
        "leg_left_6_joint": "leg_left_6_link", "leg_left_sole_fix_joint": "left_sole_link",
        "left_sole_link": "left_sole_link", "leg_left_4_joint": "leg_left_4_link"},
        ("leg_{}_3_joint", "leg_{}_4_joint", "leg_{}_5_joint")),
    "go2": Sensed("imu", "FL_foot", {
        "FL_calf_joint": "FL_calf", "FL_foot_joint": "FL_foot", "FL_foot": "FL_foot", "FL_hip_joint": "FL_hip"}),
    "g1": Sensed("imu_in_pelvis", "left_ankle_roll_link", {
        "left_ankle_roll_joint": "left_ankle_roll_link", "left_ankle_roll_link": "left_ankle_roll_link",
        "left_knee_joint": "left_knee_link", "imu_in_torso_joint": "imu_in_torso"},
        ("{}_hip_pitch_joint", "{}_knee_joint", "{}_ankle_pitch_joint")),
    "human": Sensed("head", "left_foot", {
        "left_ankle_inversion": "left_foot", "left_foot": "left_foot", "left_knee_flexion": "left_shank",
        "head": "head"}, ("{}_hip_flexion", "{}_knee_flexion", "{}_ankle_flexion")),
}  # fmt: skip
#: The G1 on flat soles below its centre of mass [rad].
FLAT = {"*_hip_pitch_joint": -0.412, "*_knee_joint": 0.669, "*_ankle_pitch_joint": -0.257}
MOTIONS = ("stands", "slides", "walks", "falls")


def leg(x, z):
    """Angles of a leg of the Go2 [rad] with the foot x [m] ahead of the hip and z [m] above it."""
    bend = np.arccos(np.hypot(x, z) / (2 * LEG))
    return 0.0, np.arctan2(-x, -z) + bend, -2 * bend


def trot(t, period=0.5, lift=0.04, stride=0.05):
    """Angles of the joints of the Go2, which begins softly."""
    begun, out = min(t / period, 1.0), []
    begun = begun * begun * (3 - 2 * begun)
    for late in (0.0, 0.5, 0.5, 0.0):
        cycle = (t / period + late) % 1.0
        s = 2 * cycle - 1  # through the air from 0 to 1
        x = 0.5 - 2 * cycle if s < 0 else s - 0.5 - np.sin(2 * np.pi * s) / (2 * np.pi)
        out += leg(stride * begun * x, (s > 0) * begun * lift * np.sin(np.pi * s) ** 2 - HEIGHT)
    return out


def robot(name, friction=0.7, limits="enforce", gains=None):
    """A robot with the limits and dampers of its file, on the ground, and the targets of its drives that hold it."""
    try:
        tree = vt.read_urdf(vt.find_robot(name), base="free")
    except vt.UnknownNameError:
        pytest.skip("example-robot-data is not installed")
    tree.limits = limits
    if name == "go2":
        feet = [vt.Contact(f"{end}{side}_foot", shapes=[vt.Sphere(BALL)]) for end in "FR" for side in "LR"]
    else:
        frames, corners, posture = STANDING[name]
        feet = [vt.Contact(frame, points=corners) for frame in frames]
    tree.contact(vt.Ground(friction=friction), feet)
    model = tree.compile()
    q = model.neutral()
    if name == "go2":
        q[7:], gains = trot(0.0), gains or {"*": (500, 10)}
    for joint in model.joints if name != "go2" else ():
        for pattern, angle in (FLAT if name == "g1" else posture).items():
            if fnmatch(joint.name, pattern):
                q[joint.q_slice] = angle
    strong = {word: (1500, 60) for word in ("leg_*", "*hip*", "*knee*", "*ankle*", "torso*", "waist*", "lumbar*")
              if any(fnmatch(joint.name, word) for joint in model.joints)}  # fmt: skip
    model = model.with_drives(gains or strong | {"*": (200, 10)})
    q = vt.place_on_ground(model, q)
    stance = vt.static_equilibrium(model, q, effort_limits=False)
    assert stance.possible, stance.why
    return model, q, dict(stance.targets)


def steps(name, model, q, hold):
    """Targets that lift one foot after the other; the Go2 trots."""
    if name == "go2":
        offset = {joint: hold[joint] - q[model.joint(joint).q_slice][0] for joint in hold}
        own = [joint.name for joint in model.joints][1:]
        return {joint: lambda t, k=k, joint=joint: trot(t, 0.25)[k] + offset[joint] for k, joint in enumerate(own)}
    out = dict(hold)
    for side, late in (("left", 0.0), ("right", 0.5)):
        for word, angle in zip(ROBOTS[name].joints, (-0.5, 1.0, -0.5), strict=True):
            joint = word.format(side)
            out[joint] = lambda t, at=hold[joint], angle=angle, late=late: (
                at + angle * min(t / 0.1, 1.0) * max(0.0, np.sin(2 * np.pi * (t / 0.5 + late))) ** 2)  # fmt: skip
    return out


def moved(name, motion, dt=DT, method="linear-time", duration=None, gains=None, **more):
    """A run of a robot."""
    model, q, targets = robot(name, friction=0.1 if motion == "slides" else 0.7, gains=gains)
    v = np.zeros(model.nv)
    if motion == "slides":
        v[:2] = 0.8, 0.3
    elif motion == "walks":
        targets = steps(name, model, q, targets)
    elif motion == "falls":
        q[2] += 0.1
        v[0], v[3:6] = 0.5, (0.3, 0.6, 0.2)
    duration = duration or {"stands": 0.05, "slides": 0.1, "walks": 0.4, "falls": 0.25}[motion]
    return model, vt.simulate(model, q, v, duration=duration, dt=dt, control=vt.Control(targets=targets), method=method,
                              **more)


# ---- balances --------------------------------------------------------------------------------------------------


def beyond(model, link):
    """Names of a link and of all that hang on it."""
    flat, found = model.flat, {link}
    for name, parent in zip(flat.link_names, flat.link_parent, strict=True):  # parents come first
        if parent in found:
            found.add(name)
    return found


def momentum_of(model, run, links):
    """Momentum (n, 6) about the world's origin of links before contacts act at nodes, and mass times centre (n, 3)."""
    flat, out, middle = model.flat, np.zeros((len(run), 6)), np.zeros((len(run), 3))
    v = model._velocities(run.q, run.p)
    for name, m, com, inertia in zip(flat.link_names, flat.link_mass, flat.link_com, flat.link_inertia, strict=True):
        if name not in links or not m:
            continue
        X, twist = model.frame_pose(name, run.q), model.frame_velocity(name, run.q, v)
        R, turn = X[:, :3, :3], twist[:, :3]
        arm = R @ com
        c, p = X[:, :3, 3] + arm, m * (twist[:, 3:] + np.cross(turn, arm))
        spin = (R @ (inertia @ (R.transpose(0, 2, 1) @ turn[:, :, None])))[:, :, 0]
        out += np.hstack([np.cross(c, p) + spin, p])
        middle += m * c
    return out, middle


def given_by_contacts(model, run, links):
    """Impulses (n, 6) about the world's origin of contacts with the ground on links in the steps to the records."""
    log, out = run.contacts, np.zeros((len(run), 6))
    for record, number, point, f in zip(log.record, log.number, log.point, log.impulse, strict=True):
        a, b = log.names[number]
        if b == "ground" and a in links:
            out[record] += np.concatenate([np.cross(point, f), f])
    return out


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", ROBOTS)
def test_impulses_balance_the_change_of_momentum(name, motion):
    """Of all beyond a moving joint, a fixed one, a frame and a link, in each step: joint, contacts and weight."""
    model, run = moved(name, motion, method="midpoint" if motion == "slides" else "linear-time")
    h, at = np.diff(run.t)[:, None], ROBOTS[name]
    size = model.total_mass * G * DT
    for cut, link in at.cuts.items():
        links = beyond(model, link)
        momentum, middle = momentum_of(model, run, links)
        mass = sum(m for each, m in zip(model.flat.link_names, model.flat.link_mass, strict=True) if each in links)
        weight = np.hstack([0.5 * h * np.cross(middle[1:] + middle[:-1], model.gravity), mass * h * model.gravity])
        contacts = given_by_contacts(model, run, links)[1:]
        read = vt.ForceTorque(cut).read(run)
        np.testing.assert_allclose(read.impulse[1:] + contacts + weight, np.diff(momentum, axis=0), atol=1e-9 * size)
        # the force at a node is the mean of those of the steps before and after it
        R = model.frame_pose(cut if cut in model.frame_names else link, run.q)[:, :3, :3]
        force = np.einsum("nij,nj->ni", R, read.force)[1:-1]
        mean = 0.5 * (read.impulse[1:-1, 3:] + read.impulse[2:, 3:]) / DT
        if motion in ("stands", "slides"):
            assert np.median(np.abs(force - mean)) < 1e-2 * max(np.abs(mean).max(), 1e-6)
    read = vt.ForceTorque(model.joint_names[0]).read(run)
    np.testing.assert_allclose(read.impulse, 0, atol=2e-9 * size)  # the base hangs on nothing
    np.testing.assert_allclose(read.force[1:-1], 0, atol=1e-9 * model.total_mass * G)
    # the touch at a node is what contacts give in the step from it
    touch = vt.ContactSensor(at.foot).read(run)
    R = model.frame_pose(at.foot, run.q)[:, :3, :3]
    given = given_by_contacts(model, run, {at.foot})[2:, 3:] / DT
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, touch.force)[1:-1], given, atol=1e-9 * size / DT)
    np.testing.assert_allclose(touch.normal_force[1:-1], given[:, 2], atol=1e-9 * size / DT)
    if motion in ("walks", "falls"):
        assert (touch.normal_force > 0).any() and (touch.normal_force == 0).any()
        strikes = np.diff((touch.normal_force > 0).astype(int)) > 0
        assert strikes.sum() >= 1
    encoder = vt.Encoder().read(run)
    there = [run.q_names.index(each) for each in encoder.names]
    np.testing.assert_array_equal(encoder.position, run.q[:, there])


# ---- accelerometers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("name", ROBOTS)
def test_at_rest_the_accelerometer_is_the_change_of_velocity(name, method):
    """From the first record on; nothing moves, and nothing is warned of."""
    dt = 2e-3
    model, run = moved(name, "stands", dt=dt, method=method, tolerance=1e-14)
    assert np.abs(run.v).max() < 1e-10
    assert run.warnings == ()
    for frame in (ROBOTS[name].imu, ROBOTS[name].foot, model.joints[0].child):
        read = vt.Imu(frame).read(run)
        np.testing.assert_allclose(read.accelerometer[1:], read.delta_velocity[1:] / dt, atol=1e-9 * G)
        np.testing.assert_allclose(np.linalg.norm(read.accelerometer, axis=1), G, rtol=1e-9)
        np.testing.assert_allclose(read.gyro, 0, atol=1e-10)


def departures(name, motion, dt, duration, gains=None):
    """How far readings of IMUs are off the motion: the median of the accelerometer and of the gyroscope beside the
    slopes over two steps, and the mean of what the accelerometer has summed up beside the change of velocity."""
    model, run = moved(name, motion, dt=dt, duration=duration, gains=gains)
    out = []
    for frame in (ROBOTS[name].imu, ROBOTS[name].foot):
        read = vt.Imu(frame).read(run)
        R = model.frame_pose(frame, run.q)[:, :3, :3]
        u = model.frame_velocity(frame, run.q, run.v)[:, 3:]
        u = u - np.outer(run.t, model.gravity)
        slope = np.einsum("nji,nj->ni", R[1:-1], (u[2:] - u[:-2]) / (2 * dt))
        turn = 0.5 * (read.delta_angle[1:-1] + read.delta_angle[2:]) / dt
        world = np.einsum("nij,nj->ni", R, read.accelerometer) * dt
        world[0] *= 0.5
        gained = np.cumsum(world, axis=0) - 0.5 * world  # up to the record
        gained[0] = 0.0
        off = np.abs(gained - (u - u[0])).max(axis=1)
        out.append([np.median(np.abs(read.accelerometer[1:-1] - slope).max(axis=1)),
                    np.median(np.abs(read.gyro[1:-1] - turn).max(axis=1)), off.mean()])  # fmt: skip
    return np.array(out)


@pytest.mark.parametrize("motion", ["slides", "walks", "falls"])
@pytest.mark.parametrize("name", ROBOTS)
def test_in_motion_the_accelerometer_is_the_slope_to_the_order_of_the_method(name, motion):
    """In most records; and over impacts the sum of the readings is the change of velocity, to order dt."""
    duration = {"slides": 0.03, "walks": 0.15, "falls": 0.2}[motion]
    gains = {"*": (100, 0.5)}
    coarse, fine = (departures(name, motion, dt, duration, gains) for dt in (5e-4, 1.25e-4))
    # a quarter of dt: a sixteenth of the error, or what the solves of the steps leave
    assert (fine[:, :2] < np.maximum(0.12 * coarse[:, :2], (1e-5 * G, 1e-6))).all()
    # where in a step a foot strikes differs
    assert (fine[:, 2] < 0.6 * coarse[:, 2]).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_impacts_under_stiff_drives_are_read_whole(name):
    """Drives whose damping stops a foot within a step, kd dt/inertia >> 1: sums of the readings over a landing."""
    assert (departures(name, "falls", DT, 0.2)[:, 2] < 0.1).all()  # [m/s], of changes of 2
    model, run = moved(name, "falls", duration=0.2)
    for cut, link in ROBOTS[name].cuts.items():
        read = vt.ForceTorque(cut).read(run)
        R = model.frame_pose(cut if cut in model.frame_names else link, run.q)[:, :3, :3]
        force = np.einsum("nij,nj->ni", R, read.force) * DT
        force[[0, -1]] *= 0.5
        passed = np.cumsum(read.impulse[:, 3:], axis=0)
        assert np.abs(force.sum(axis=0) - passed[-1]).max() < 0.01 * np.abs(passed).max() + 1e-9


# ---- beside MuJoCo ---------------------------------------------------------------------------------------------


def sensing(mujoco, model, imu, foot):
    """The MjSpec that builds a model, with MuJoCo's own sensors in it."""
    places = {"imu": (imu, 0.01), "ankle": (foot, 0.01), "sole": (foot, 0.3)}
    kinds = {"accelerometer": "imu", "gyro": "imu", "force": "ankle", "torque": "ankle", "touch": "sole"}

    class Spec:
        def __init__(self):
            self.spec = made()

        def __getattr__(self, name):
            return getattr(self.spec, name)

        def compile(self):
            for name, (frame, size) in places.items():
                body, E, p = model.index.place(frame)
                quat = np.empty(4)
                mujoco.mju_mat2Quat(quat, np.ascontiguousarray(E).ravel())
                site = self.spec.body(f"body{body}").add_site(name=name, pos=p, quat=quat)
                site.size = [size] * 3
            for kind, name in kinds.items():
                self.spec.add_sensor(name=kind, type=getattr(mujoco.mjtSensor, f"mjSENS_{kind.upper()}"),
                                     objtype=mujoco.mjtObj.mjOBJ_SITE, objname=name)  # fmt: skip
            return self.spec.compile()

    made = mujoco.MjSpec
    return Spec


@pytest.mark.slow
def test_mujoco_reads_the_same_on_a_trot(monkeypatch):
    """Means over 50 ms, in which the contacts of both are as good as rigid: they differ by less than 5 %."""
    mujoco = pytest.importorskip("mujoco")
    from vitree.engines.mujoco import States, mujoco_model

    duration, dt, fine = 1.0, 1e-3, 10
    model, q, hold = robot("go2", limits="report", gains={"*": (100, 3)})
    imu, foot = ROBOTS["go2"].imu, ROBOTS["go2"].foot
    offset = {joint: hold[joint] - q[model.joint(joint).q_slice][0] for joint in hold}
    joints = [drive.joint for drive in model.drives]
    own = [joint.name for joint in model.joints][1:]
    targets = {joint: lambda t, joint=joint: trot(t)[own.index(joint)] + offset[joint] for joint in joints}

    monkeypatch.setattr(mujoco, "MjSpec", sensing(mujoco, model, imu, foot))
    theirs = mujoco_model(model, dt / fine, "implicitfast", timeconst=1e-3)
    theirs.opt.impratio, theirs.geom_solimp[:, :2] = 10.0, 0.99
    data, way = mujoco.MjData(theirs), States(model)
    data.qpos[:], data.qvel[:] = way.to_mujoco(q, np.zeros(model.nv))
    kp = np.array([drive.kp for drive in model.drives])
    rows = np.empty((round(duration / dt) * fine, theirs.nsensordata))
    for k in range(len(rows)):
        data.ctrl[:] = kp * [targets[joint](k * dt / fine) for joint in joints]
        mujoco.mj_step(theirs, data)
        rows[k] = data.sensordata
    rows = rows.reshape(-1, fine, rows.shape[1]).mean(axis=1)

    run = vt.simulate(model, q, duration=duration, dt=dt, control=vt.Control(targets=targets))
    unit, ankle = vt.Imu(imu).read(run), vt.ForceTorque("FL_calf_joint", frame=foot).read(run)
    touch = vt.ContactSensor(foot).read(run)
    assert (np.diff((touch.normal_force > 0).astype(int)) > 0).sum() >= 2
    for name, ours in {"accelerometer": unit.accelerometer, "gyro": unit.gyro, "force": ankle.force,
                       "torque": ankle.torque, "touch": touch.normal_force[:, None]}.items():  # fmt: skip
        at = theirs.sensor(name)
        columns = slice(at.adr[0], at.adr[0] + at.dim[0])
        ours, other = (np.array([np.convolve(x, np.full(50, 0.02), "valid") for x in array.T]).T
                       for array in (0.5 * (ours[1:] + ours[:-1]), rows[:, columns]))  # fmt: skip
        apart, size = (np.median(np.linalg.norm(x, axis=1)) for x in (ours - other, other))
        assert apart < 0.05 * size, name
