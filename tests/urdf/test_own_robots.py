"""The robots that ship with vitree: readable by others, physically valid, and as their sources say."""

from __future__ import annotations

import importlib.util
import re
import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from places import ROOT

import vitree as vt
from vitree.urdf.robots import own_robots

URDF = ROOT / "urdf"
DEGREES = {"pendulum": 1, "double_pendulum": 2, "chain10": 10, "arm6": 6, "human": 35}


@pytest.fixture(params=DEGREES)
def robot(request):
    return request.param, own_robots()[request.param]


@pytest.fixture(scope="module")
def human():
    return vt.load_urdf(vt.find_robot("human"), base="free")


def standing(model):
    """Return for each link, at zero: mass, centre of mass, inertia about it, all in world axes."""
    flat, poses, found = model.flat, model.frame_poses(model.neutral()), {}
    for link in model.link_names:
        k = flat.frame_names.index(link)
        i = flat.frame_body[k]
        turn = poses[link][:3, :3] @ flat.frame_E[k].T
        com = poses[link][:3, 3] + turn @ (flat.com[i] - flat.frame_p[k])
        found[link] = flat.mass[i], com, turn @ flat.inertia[i] @ turn.T
    return found


def test_they_are_all_there_and_as_the_script_makes_them(monkeypatch):
    spec = importlib.util.spec_from_file_location("make_robots", URDF / "make_robots.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_robots", module)  # where dataclasses look for it
    spec.loader.exec_module(module)
    made = {robot.name: robot.text() for robot in module.robots()}
    assert set(made) == set(DEGREES) <= set(own_robots())
    for name, text in made.items():
        assert (URDF / f"{name}.urdf").read_text() == text, name


def test_bodies_are_physical(robot):
    name, path = robot
    model = vt.load_urdf(path)
    assert model.nv == DEGREES[name] and model.singular is None
    for mass, inertia in zip(model.flat.mass, model.flat.inertia, strict=True):
        moments = np.linalg.eigvalsh(inertia)
        assert moments[0] >= 0 and moments[2] <= moments[:2].sum() * (1 + 1e-12)
        assert mass > 0 or not np.any(inertia)
    for joint in model.joints:
        assert all(low < high for low, high in zip(joint.lower, joint.upper, strict=True))
    assert {shape.frame for shape in model.geometry} <= set(model.link_names) and model.geometry


def test_pinocchio_reads_the_same_robot(robot):
    _, path = robot
    model, peer = vt.load_urdf(path), pin.buildModelFromUrdf(str(path))
    assert peer.nv == model.nv
    assert pin.computeTotalMass(peer) == pytest.approx(model.total_mass, rel=1e-12)
    # the mass matrix sees every axis, place, mass, centre and moment
    q = np.random.default_rng(7).uniform(-1, 1, model.nv)
    order = [peer.joints[peer.getJointId(joint.name)].idx_v for joint in model.joints]
    turned = np.zeros(model.nv)
    turned[order] = q
    upper = np.triu(pin.crba(peer, peer.createData(), pin.integrate(peer, pin.neutral(peer), turned)))
    theirs = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    assert np.abs(model.crba(q) - theirs).max() < 1e-12 * np.abs(theirs).max()


def test_mujoco_reads_the_same_robot(robot):
    name, path = robot
    text = path.read_text()
    if name == "human":  # it refuses massless moving links, unless a least mass is given
        with pytest.raises(ValueError, match="mass"):
            mujoco.MjModel.from_xml_string(text)
        least = '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12"/></mujoco>'
        text = text.replace("</robot>", least + "</robot>")
    peer = mujoco.MjModel.from_xml_string(text)
    assert peer.nv == DEGREES[name]


def test_they_swing_and_keep_their_energy(robot):
    _, path = robot
    model = vt.load_urdf(path)
    run = vt.simulate(model, model.neutral() + 0.3, duration=0.2, dt=1e-3)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-4 * max(run.kinetic.max(), 1e-3)
    assert run.kinetic.max() > 1e-3


def test_the_human_floats_on_either_base():
    rng = np.random.default_rng(3)
    for base in ("free", "euler"):
        model = vt.load_urdf(vt.find_robot("human"), base=base)
        assert model.nv == 6 + DEGREES["human"]
        run = vt.simulate(model, model.neutral(), 0.5 * rng.standard_normal(model.nv), duration=0.2, dt=1e-3)
        assert np.abs(run.energy - run.energy[0]).max() < 1e-4 * run.kinetic.max()


def test_the_human_is_de_levas_man(human):
    assert human.total_mass == pytest.approx(73.0, rel=1e-9)
    q = human.neutral()
    poses = human.frame_poses(q)
    top = poses["head"][2, 3] + 0.2429
    sole = min(
        poses[shape.frame][2, 3] + shape.position[2] - shape.size[2] / 2
        for shape in human.geometry
        if shape.frame.endswith("foot")
    )
    assert top - sole == pytest.approx(1.741, abs=1e-9)
    # a standing man's centre of mass is at about 0.56 of his height, over his feet
    com = human.center_of_mass(q)
    assert 0.54 < (com[2] - sole) / 1.741 < 0.58
    assert abs(com[1]) < 1e-12 and -0.06 < com[0] < 0.2


def test_the_parts_of_the_trunk_make_up_the_papers_whole(human):
    """Table 4 has the trunk as one segment too, a row that the figure is not made from."""
    parts = [standing(human)[name] for name in ("pelvis", "abdomen", "thorax")]
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    inertia = sum(J + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, J in parts)
    length = 0.6033  # cervicale to mid-hip
    assert mass == pytest.approx(0.4346 * 73, rel=1e-9)
    assert np.allclose(np.sqrt(np.diag(inertia) / mass) / length, [0.328, 0.306, 0.169], atol=5.1e-4)  # as printed
    # the paper's own rows differ by 3 mm here
    assert 1 - com[2] / length == pytest.approx(0.5138, abs=0.0051)
    # between the shoulders to mid-hip
    assert human.frame_pose("left_upper_arm", human.neutral())[2, 3] == pytest.approx(0.5155, abs=1e-9)


def test_hands_and_feet_are_widest_where_they_are_flat(human):
    """The largest moment is about the normal of the palm (at the thigh: y) and of the sole (z)."""
    for side in ("left", "right"):
        hand, foot = (np.diag(standing(human)[f"{side}_{part}"][2]) for part in ("hand", "foot"))
        assert hand[1] > hand[0] > hand[2] and foot[2] > foot[1] > foot[0]


def test_left_and_right_mirror_each_other():
    """Seen in a mirror in the plane y = 0, the figure has the same mass matrix and centre of mass."""
    model = vt.load_urdf(vt.find_robot("human"))
    mirror = np.zeros((model.nv, model.nv))
    for joint in model.joints:
        twin = joint.name
        for side, other in (("left_", "right_"), ("right_", "left_")):
            if joint.name.startswith(side):
                twin = joint.name.replace(side, other)
        sign = 1 if abs(joint.axis[1]) == 1 else -1  # a mirror turns round turns about x and z
        mirror[model.joint(twin).v_slice, joint.v_slice] = sign
        low, high = sorted((sign * joint.lower[0], sign * joint.upper[0]))
        assert (model.joint(twin).lower[0], model.joint(twin).upper[0]) == (low, high)
    q = np.random.default_rng(5).uniform(-1, 1, model.nv)
    assert np.allclose(model.crba(mirror @ q), mirror @ model.crba(q) @ mirror.T, rtol=0, atol=1e-12)
    assert np.allclose(model.center_of_mass(mirror @ q), model.center_of_mass(q) * [1, -1, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "joint, link, point, way",
    [
        ("lumbar_flexion", "thorax", (0, 0, 0.2), (1, 0, 0)),  # the trunk bends further forward than back
        ("left_shoulder_flexion", "left_upper_arm", (0, 0, -0.2), (1, 0, 0)),
        ("left_shoulder_abduction", "left_upper_arm", (0, 0, -0.2), (0, 1, 0)),
        ("left_elbow_flexion", "left_forearm", (0, 0, -0.2), (1, 0, 0)),
        ("left_wrist_flexion", "left_hand", (0, 0, -0.1), (0, -1, 0)),  # towards the palm, at the thigh
        ("left_wrist_deviation", "left_hand", (0, 0, -0.1), (-1, 0, 0)),  # towards the little finger
        ("left_hip_flexion", "left_thigh", (0, 0, -0.4), (1, 0, 0)),
        ("left_hip_abduction", "left_thigh", (0, 0, -0.4), (0, 1, 0)),
        ("left_knee_flexion", "left_shank", (0, 0, -0.4), (-1, 0, 0)),
        ("left_ankle_flexion", "left_foot", (0.2, 0, 0), (0, 0, -1)),  # towards the sole
        ("left_ankle_inversion", "left_foot", (0, -0.04, 0), (0, 0, 1)),  # the inner edge rises
    ],
)
def test_joints_go_further_the_way_a_mans_do(human, joint, link, point, way):
    info = human.joint(joint)
    q = human.neutral()
    before = human.frame_pose(link, q) @ [*point, 1]
    q[info.q_slice] = 0.1 * np.sign(info.upper[0] + info.lower[0])
    moved = human.frame_pose(link, q) @ [*point, 1] - before
    assert moved[:3] @ way > 0.09 * np.linalg.norm(point)


def test_the_chain_is_that_of_the_paper():
    model = vt.load_urdf(vt.find_robot("chain10"))
    assert all(joint.axis == (1, 0, 0) for joint in model.joints) and not model.flat.damping.any()
    for k, (mass, com, inertia) in enumerate(list(standing(model).values())[1:]):
        assert mass == 1 and np.allclose(com, [0, 0, 0.75 + 1.5 * k]) and np.allclose(inertia, np.eye(3))


# ---- shapes that touch -----------------------------------------------------------------------------------


def test_shapes_for_contact_change_no_mass_and_no_picture(robot):
    _, path = robot
    text = path.read_text()
    bare = re.sub(r"    <collision>.*?</collision>\n", "", text, flags=re.DOTALL)
    assert "<collision>" in text and "<collision>" not in bare
    model, other = vt.load_urdf(text), vt.load_urdf(bare)
    assert model.digest == other.digest
    assert [str(x) for x in model.geometry if x.role == "visual"] == [str(x) for x in other.geometry]
    assert vt.load_urdf(path, ground=vt.Ground(height=-30.0)).contact_gaps(model.neutral()).gap.min() > 0


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("bend, height", [(0.0, 0.0), (0.3, 0.0), (0.3, 0.01)])
@pytest.mark.parametrize("limits", ["report", "enforce"])
def test_the_human_stands_on_its_drives(method, bend, height, limits):
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(), limits=limits)
    model = model.with_drives({"*": (1500, 60)})
    q = model.neutral()
    for side in ("left", "right"):
        for joint, share in (("hip", -1), ("knee", 2), ("ankle", -1)):
            q[model.joint(f"{side}_{joint}_flexion").q_slice] = bend * share
    q = vt.place_on_ground(model, q)
    found = vt.static_equilibrium(model, q)
    assert found.possible and set(found.a) == {"left_foot", "right_foot"} and len(found.forces) == 8
    q[2] += height
    run = vt.simulate(model, q, duration=3.0, dt=2e-3, control=vt.Control(targets=found.targets), method=method,
                      record_every=10)
    assert min(model.contact_gaps(x).gap.min() for x in run.q) > -1e-9
    assert np.abs(model.center_of_mass(run.q[-1]) - model.center_of_mass(q) + (0, 0, height)).max() < 0.02
    force = run.contacts.total(len(run), "left_foot") + run.contacts.total(len(run), "right_foot")
    assert force[-1, 2] / 2e-3 == pytest.approx(model.total_mass * 9.81, rel=1e-3)
    if not height:
        assert np.abs(model.difference(q, run.q[-1])).max() < 1e-9
