"""Limits of joints: those of followers hold, ball and free joints have none, and velocity limits are told."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'


def gripper(low, high, multiplier=1.0, offset=0.0, velocity=10.0, **options):
    """A leader that moves by 5 cm, and a follower with limits of its own."""
    links = "".join(f'<link name="{x}"><inertial><mass value="1"/>{INERTIA}</inertial></link>' for x in "ab")
    joints = "".join(
        f'<joint name="{name}" type="prismatic"><parent link="base"/><child link="{child}"/><axis xyz="1 0 0"/>'
        f'<limit lower="{least}" upper="{most}" effort="10" velocity="{velocity}"/>{more}</joint>'
        for name, child, least, most, more in (
            ("leader", "a", -0.05, 0.05, ""),
            ("follower", "b", low, high, f'<mimic joint="leader" multiplier="{multiplier}" offset="{offset}"/>'),
        )
    )
    return vt.load_urdf(f'<robot name="gripper"><link name="base"/>{links}{joints}</robot>', **options)


def pushed(model, speed):
    """A run that starts with the leader at this speed [m/s]."""
    v = model.zero_velocity()
    v[0] = speed
    if model.nv == 2:
        v[1] = speed * model.joint("follower").mimic[1]
    q = model.neutral()
    if model.nq == 2:
        q[1] = model.joint("follower").mimic[2]
    return vt.simulate(model, q, v, duration=0.3, dt=1e-3)


@pytest.mark.parametrize("mimic", ["reduced", "constraints"])
@pytest.mark.parametrize(("low", "high", "multiplier", "offset", "least", "most"), [
    (-0.02, 0.02, 1.0, 0.0, -0.02, 0.02), (-0.02, 0.03, -1.0, 0.0, -0.03, 0.02), (-0.02, 0.03, 2.0, 0.0, -0.01, 0.015),
    (-0.02, 0.03, 1.0, 0.01, -0.03, 0.02), (-0.05, 0.05, 1.0, 0.0, -0.05, 0.05), (-1.0, 1.0, -1.0, 0.0, -0.05, 0.05),
])  # fmt: skip
def test_limits_of_a_follower_restrain_its_leader(mimic, low, high, multiplier, offset, least, most):
    for speed, stop in ((0.5, most), (-0.5, least)):
        run = pushed(gripper(low, high, multiplier, offset, mimic=mimic, limits="enforce"), speed)
        assert run.q[:, 0].max() <= most + 1e-9 and run.q[:, 0].min() >= least - 1e-9
        assert np.abs(run.q[:, 0] - stop).min() < 1e-9 and run.warnings == ()
        (told,) = pushed(gripper(low, high, multiplier, offset, mimic=mimic, limits="report"), speed).warnings
        assert ('"follower" exceeds' in told) == (abs(stop) < 0.05)


def test_a_mimic_that_is_not_heeded_does_not_follow():
    """With mimic="independent" a joint has its own limits, drive and effort."""
    model = gripper(-0.02, 0.02, mimic="independent", limits="enforce")
    run = vt.simulate(model, v0=[0.5, 0.5], duration=0.3, dt=1e-3)
    assert run.q[:, 0].max() == pytest.approx(0.05, abs=1e-9) and run.q[:, 1].max() == pytest.approx(0.02, abs=1e-9)
    driven = model.with_drives({"*": (10.0, 1.0)})
    assert [drive.joint for drive in driven.drives] == ["leader", "follower"]
    assert driven.with_drives({}).drives == driven.drives
    assert [drive.joint for drive in model.with_drives({"follower": (10.0, 1.0)}).drives] == ["follower"]
    for mimic in ("reduced", "constraints"):
        with pytest.raises(vt.ModelError, match='it follows "leader"'):
            gripper(-0.02, 0.02, mimic=mimic).with_drives({"follower": (10.0, 1.0)})


def test_drives_stand_in_the_order_of_the_joints():
    tree = vt.Tree("three")
    for name in ("one", "two", "three"):
        tree.world.add(vt.tx(name), vt.body(f"body {name}", 1.0))
    tree.load(vt.Drive("three", 100.0, 20.0, target="aim"))
    model = tree.compile().with_drives({"*o*": (100.0, 20.0)})
    assert [drive.joint for drive in model.drives] == ["one", "two", "three"]
    aims = np.array([0.1, 0.2, 0.3])
    run = vt.simulate(model, control=vt.Control(targets=aims), duration=5.0, dt=1e-2, monitors="drive_forces")
    np.testing.assert_allclose(run.q[-1], aims, atol=1e-6)
    sim = vt.Simulation(model, dt=1e-2)
    sim.step(500, control=vt.Control(targets=aims))
    np.testing.assert_array_equal(sim.q, run.q[-1])
    # forces of drives have the same order
    forces = model.drive_forces([0.1, 0.0, 0.0], np.zeros(3))
    np.testing.assert_allclose(forces, [-10.0, 0.0, 0.0])


@pytest.mark.parametrize("make", [vt.ball, vt.free, vt.spherical])
@pytest.mark.parametrize("limit", [{"lower": -1.0}, {"upper": 1.0}, {"lower": (-1.0,) * 3}, {"upper": 0.0}])
def test_quaternions_have_no_position_limits(make, limit):
    tree = vt.Tree("one")
    if make is vt.free and isinstance(next(iter(limit.values())), tuple):
        limit = {"lower": (-1.0,) * 6}
    tree.world.add(make("joint", **limit), vt.body("body", 1.0, (0.1,) * 3))
    with pytest.raises(vt.ModelError, match="leave them out, or make it of tx, ty, tz, rz, ry, rx"):
        tree.compile()


@pytest.mark.parametrize("make", [vt.ball, vt.free, vt.spherical])
def test_velocity_and_effort_of_several_coordinates_count(make):
    tree = vt.Tree("one", gravity=(0, 0, 0))
    tree.world.add(make("joint", velocity=1.0, effort=2.0), vt.body("body", 1.0, (0.1,) * 3))
    model = tree.compile()
    torque = np.full(model.nv, 5.0)
    run = vt.simulate(model, control=vt.Control(torque=torque, effort_limits=True), duration=0.1, dt=1e-3)
    assert len(run.settings["effort_cut"]) == model.nv
    assert (run.warnings and '"joint_wx"' in run.warnings[0]) or "velocity limit" in run.warnings[0]


@pytest.mark.parametrize("limits", ["report", "enforce", "ignore"])
@pytest.mark.parametrize("every", [1, 5])
def test_velocity_limits_that_a_run_passes_are_told(limits, every):
    model = gripper(-1.0, 1.0, velocity=0.4, limits=limits, mimic="independent")
    run = vt.simulate(model, v0=[0.3, -0.45], duration=0.1, dt=1e-3, record_every=every)
    told = [text for text in run.warnings if "velocity" in text]
    assert len(told) == (limits != "ignore")
    if told:
        assert told[0].startswith('1 joint exceeds its velocity limit: "follower" exceeds -0.4 m/s by 0.05 m/s, from '
                                  "the start. Velocity limits are not enforced")  # fmt: skip
    assert not [text for text in vt.simulate(model, v0=[0.3, -0.39], duration=0.1, dt=1e-3).warnings
                if "velocity" in text]  # fmt: skip


def lift(velocity):
    """An SDF model that falls on a slide."""
    return (f'<sdf version="1.9"><model name="lift"><link name="cabin"/><joint name="height" type="prismatic">'
            f"<parent>world</parent><child>cabin</child><axis><xyz>0 0 1</xyz><limit>"
            f"<velocity>{velocity}</velocity></limit></axis></joint></model></sdf>")  # fmt: skip


@pytest.mark.parametrize("make", ["urdf", "mimic", "sdf", "world"])
def test_readers_enforce_velocity_limits(make):
    """By a motor or in its fall a joint is never faster than its file says; the readers set what trees have."""
    def made(word, velocity=0.4):
        if make in ("urdf", "mimic"):
            return gripper(-9.0, 9.0, velocity=velocity, velocity_limits=word, gravity=(9.81, 0, 0),
                           mimic="independent" if make == "urdf" else "reduced")  # fmt: skip
        if make == "sdf":
            return vt.load_sdf(lift(velocity), velocity_limits=word)
        world = vt.World(velocity_limits=word)
        world.add(vt.read_sdf(lift(velocity), velocity_limits="ignore", gravity=(0, 0, -9.81)), "lift")
        return world.compile()

    fast, held, zero = made("report"), made("enforce"), made("enforce", velocity=0.0)
    assert (fast.velocity_limits, held.velocity_limits) == ("report", "enforce")
    runs = [vt.simulate(model, duration=0.1, dt=1e-3) for model in (fast, held, zero)]
    moved = [np.abs(np.diff(run.q, axis=0)).max() for run in runs]
    assert moved[0] > 0.9e-3 and moved[1] == pytest.approx(0.4e-3, abs=1e-12)
    assert moved[2] == pytest.approx(moved[0], rel=1e-12)  # zero: nobody said what the limit is
    assert "velocity_limits=\"enforce\" does" in runs[0].warnings[0] and not runs[1].warnings
    with pytest.raises(InputError, match=r'velocity_limits="hold" is not known; choose from'):
        made("hold")


def test_a_velocity_limit_of_zero_in_a_file_is_told_once():
    """Files have zeros for what nobody measured; the report says so, and runs do not repeat it."""
    model = gripper(-1.0, 1.0, velocity=0.0)
    assert "limit-zero" in {finding.id for finding in model.report}
    assert vt.simulate(model, v0=[0.1], duration=0.1, dt=1e-3).warnings == ()


def test_friction_velocity_alone_is_refused():
    for make in (vt.rx, vt.tz, vt.revolute, vt.prismatic, vt.ball, vt.universal):
        with pytest.raises(vt.ModelError, match="give friction=, too"):
            make("joint", friction_velocity=0.1)
    vt.rx("joint", friction=0.0, friction_velocity=0.1)


def test_effort_limits_need_a_torque_and_a_limit():
    tree = vt.Tree("one")
    tree.world.add(vt.tx("joint"), vt.body("body", 1.0))
    model = tree.compile()
    with pytest.raises(vt.InputError, match='no joint of "one" has an effort limit'):
        vt.simulate(model, control=vt.Control(torque=[1.0], effort_limits=True), duration=0.1, dt=1e-2)
    with pytest.raises(vt.InputError, match="has an effort limit"):
        model.with_drives({"*": (1.0, 1.0)}, effort_limits=True)
    limited = gripper(-1.0, 1.0)
    sim = vt.Simulation(limited, dt=1e-2, control=vt.Control(effort_limits=True))
    sim.step(10, control=[50.0])
    other = vt.Simulation(limited, dt=1e-2, control=vt.Control(effort_limits=True, torque=[50.0]))
    other.step(10)
    ten = vt.Simulation(limited, dt=1e-2)
    ten.step(10, control=[10.0])
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.q, ten.q)


def test_what_a_simulation_does_not_heed_cannot_be_assigned():
    sim = vt.Simulation(gripper(-1.0, 1.0), dt=1e-2)
    for name, remedy in (("dt", "make another"), ("method", "make another"), ("model", "make another"),
                         ("q", "reset"), ("v", "reset"), ("torque", r"sim.torque\[:\]"), ("t", "reset"),
                         ("steps", "step")):  # fmt: skip
        before = getattr(sim, name)
        with pytest.raises(vt.InputError, match=f"{name} of a Simulation cannot be assigned.*{remedy}"):
            setattr(sim, name, before)
    with pytest.raises(vt.UnknownNameError, match='"torq"; did you mean "torque"'):
        sim.torq = np.zeros(1)
