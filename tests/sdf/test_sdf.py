"""SDF: the same mechanism as in URDF or by hand, whatever the file writes its poses in."""

# ruff: noqa: E501
from __future__ import annotations

import copy
import re

import numpy as np
import pytest
from sdf_texts import BALL, FLOOR, inertial, joint, link, model, sdf, shape, world

import vitree as vt
from vitree.spatial.rotations import rotation_rpy

RNG = np.random.default_rng(5)
G = (0.3, -0.2, -9.5)


def states(model_, count=5):
    for _ in range(count):
        q = model_.random_configuration(RNG)
        yield q, RNG.normal(size=model_.nv), RNG.normal(size=model_.nv)


def same(a, b, tolerance=1e-12):
    """Both have the same joints and equations of motion."""
    assert a.joint_names == b.joint_names and a.nv == b.nv
    for q, v, tau in states(b):
        for one, other in (
            (a.crba(q), b.crba(q)), (a.rnea(q, v, tau), b.rnea(q, v, tau)), (a.aba(q, v, tau), b.aba(q, v, tau)),
            (a.forward_dynamics(q, v, tau)[0], b.forward_dynamics(q, v, tau)[0]),
            (a.kinetic_energy(q, v), b.kinetic_energy(q, v)),
        ):  # fmt: skip
            assert np.allclose(one, other, rtol=tolerance, atol=tolerance * max(1.0, np.abs(other).max()))


URDF = """<robot name="m"><link name="world"/><link name="base">{i}</link><link name="upper">{i}</link>
<link name="slider">{i}</link><link name="tool">{i}</link>
<joint name="root" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0.1 0.2 1" rpy="0.1 0 0.3"/></joint>
<joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0.1 0.3" rpy="0.4 0.5 0.6"/>
<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" effort="7" velocity="3"/><dynamics damping="0.2" friction="0.3"/></joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="slider"/><origin xyz="0.2 0 0" rpy="0 0 1"/>
<axis xyz="1 0 0"/><limit lower="-0.5" upper="0.5" effort="9" velocity="2"/></joint>
<joint name="weld" type="fixed"><parent link="slider"/><child link="tool"/><origin xyz="0 0 0.2" rpy="0.2 0 0"/></joint>
</robot>""".replace("{i}", '<inertial><origin xyz="0.01 0 -0.2" rpy="0.1 0.2 0.3"/><mass value="1"/><inertia ixx="0.02" '
                    'iyy="0.03" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial>')  # fmt: skip
TURN = ("<limit><lower>-1</lower><upper>2</upper><effort>7</effort><velocity>3</velocity></limit>"
        "<dynamics><damping>0.2</damping><friction>0.3</friction></dynamics>")  # fmt: skip
SLIDE = "<limit><lower>-0.5</lower><upper>0.5</upper><effort>9</effort><velocity>2</velocity></limit>"


def matrix(xyz, rpy):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation_rpy(*rpy), xyz
    return X


def text(values):
    return " ".join(repr(float(x)) for x in values)


def pose_text(X):
    from vitree.spatial.rotations import angles_rpy

    return text([*X[:3, 3], *angles_rpy(X[:3, :3])])


#: Poses of the links of the URDF file in the model, in the neutral configuration.
BASE = matrix((0.1, 0.2, 1), (0.1, 0, 0.3))
UPPER = BASE @ matrix((0, 0.1, 0.3), (0.4, 0.5, 0.6))
SLIDER = UPPER @ matrix((0.2, 0, 0), (0, 0, 1))
TOOL = SLIDER @ matrix((0, 0, 0.2), (0.2, 0, 0))


def relative():
    """Each link relative to its joint's place, written by the link before."""
    return sdf(model(
        joint("root", "world", "base", "fixed"), link("base", "0.1 0.2 1 0.1 0 0.3"),
        joint("turn", "base", "upper", xyz="0 0.6 0.8", axis=TURN),
        link("upper", "0 0.1 0.3 0.4 0.5 0.6", relative_to="base"),
        joint("slide", "upper", "slider", "prismatic", "1 0 0", axis=SLIDE),
        link("slider", "0.2 0 0 0 0 1", relative_to="upper"), joint("weld", "slider", "tool", "fixed"),
        link("tool", "0 0 0.2 0.2 0 0", relative_to="slider"),
    ))  # fmt: skip


def in_model():
    """Poses in the model, and axes in its axes, as versions up to 1.4 have them."""
    axis, slide = (text(X[:3, :3] @ x) for X, x in ((UPPER, (0, 0.6, 0.8)), (SLIDER, (1, 0, 0))))
    return sdf(model(
        joint("root", "world", "base", "fixed"), link("base", pose_text(BASE)), link("upper", pose_text(UPPER)),
        link("slider", pose_text(SLIDER)), link("tool", pose_text(TOOL)),
        joint("turn", "base", "upper", xyz=axis, axis=TURN),
        joint("slide", "upper", "slider", "prismatic", slide, axis=SLIDE), joint("weld", "slider", "tool", "fixed"),
    ), version="1.4")  # fmt: skip


def frames():
    """Poses by frames, in degrees and by quaternions; links relative to joints; axes in other frames."""
    from vitree.lie import pose_from_matrix

    quaternion = text(pose_from_matrix(BASE))
    axis = text(matrix((0, 0, 0), (0.4, 0.5, 0.6))[:3, :3] @ (0, 0.6, 0.8))
    degrees = text([0, 0.1, 0.3, *np.degrees((0.4, 0.5, 0.6))])
    return sdf(model(
        f'<frame name="stand"><pose rotation_format="quat_xyzw">{quaternion}</pose></frame>',
        '<frame name="shoulder" attached_to="base"><pose degrees="true">' + degrees + "</pose></frame>",
        joint("root", "world", "stand_link", "fixed").replace("stand_link", "stand"),
        '<link name="base"><pose relative_to="stand"/>' + inertial() + "</link>",
        f'<joint name="turn" type="revolute"><pose relative_to="shoulder"/><parent>base</parent><child>upper</child>'
        f'<axis><xyz expressed_in="base">{axis}</xyz>{TURN}</axis></joint>',
        link("upper", relative_to="turn"),
        '<joint name="slide" type="prismatic"><pose relative_to="upper">0.2 0 0 0 0 1</pose><parent>upper</parent>'
        f'<child>slider</child><axis><xyz expressed_in="slide">1 0 0</xyz>{SLIDE}</axis></joint>',
        link("slider", relative_to="slide"), joint("weld", "slider", "tool", "fixed"),
        link("tool", "0 0 0.2 0.2 0 0", relative_to="__model__").replace("__model__", "slider"),
    ).replace('<model name="m">', '<model name="m" canonical_link="base">'), version="1.11")  # fmt: skip


@pytest.mark.parametrize("written", [relative, in_model, frames])
@pytest.mark.parametrize("friction", ["smooth", "dry"])
def test_a_mechanism_is_that_of_urdf(written, friction):
    peer = vt.load_urdf(URDF, gravity=G, friction=friction, limits="enforce")
    found = vt.load_sdf(written(), gravity=G, friction=friction)
    assert found.report.of("error", "warning") == ()
    same(found, peer)
    for name in ("base", "upper", "slider", "tool"):
        q = peer.random_configuration(RNG)
        assert np.allclose(found.frame_pose(name, q), peer.frame_pose(name, q), rtol=0, atol=1e-14)
    for one, other in zip(found.joints, peer.joints, strict=True):
        for field in ("lower", "upper", "effort", "velocity"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
    more = {"duration": 0.05, "dt": 1e-3, "tolerance": 1e-13}
    runs = [vt.simulate(each, [0.2, 0.1], [0.3, 0.4], **more).q for each in (found, peer)]
    assert np.abs(runs[0] - runs[1]).max() < 1e-12


def by_hand(*elements):
    tree = vt.Tree("m", G)
    body = vt.read_sdf(sdf(model(link("b"))), gravity=G).frame("b").bodies[0]
    tree.world.add(*elements, body)
    return tree


@pytest.mark.parametrize(("written", "elements"), [
    (joint("j", "world", "b", "ball"), [vt.ball("j")]),
    (joint("j", "world", "b", "continuous", "0 0 2"), [vt.screw("j", (0, 0, 1))]),
    (joint("j", "world", "b", "screw", "0 1 0", "<screw_thread_pitch>0.5</screw_thread_pitch>"),
     [vt.screw("j", (0, 1, 0), pitch=0.5 / (2 * np.pi))]),
    (joint("j", "world", "b", "screw", "0 1 0", "<thread_pitch>-4</thread_pitch>"),
     [vt.screw("j", (0, 1, 0), pitch=0.25)]),
    (joint("j", "world", "b", "revolute2", "0 0 1", "<axis2><xyz>0 1 0</xyz></axis2>"), [vt.rz("j_1"), vt.ry("j_2")]),
    (joint("j", "world", "b", "universal", "1 0 0", "<axis2><xyz>0 1 0</xyz></axis2>"), [vt.rx("j_1"), vt.ry("j_2")]),
])  # fmt: skip
def test_joints_are_those_of_a_tree(written, elements):
    place = [vt.fixed(xyz=(0.1, 0, 0.4), rpy=(0.1, 0.2, 0.3)), *elements, vt.fixed(xyz=(0.3, 0, -0.1))]
    at = "0.1 0 0.4 0.1 0.2 0.3"
    text_ = sdf(model(
        f'<frame name="at"><pose>{at}</pose></frame>', link("b", "0.3 0 -0.1 0 0 0", relative_to="at"),
        written.replace("<parent>", '<pose relative_to="at"/><parent>'),
    ))  # fmt: skip
    one, other = vt.load_sdf(text_, gravity=G), by_hand(*place).compile()
    assert one.nv == other.nv
    for q, v, tau in states(other):
        assert np.allclose(one.aba(q, v, tau), other.aba(q, v, tau), rtol=1e-12, atol=1e-12)
        assert np.allclose(one.frame_pose("b", q), other.frame_pose("b", q), rtol=0, atol=1e-14)


def test_springs_and_weights():
    axis = "<dynamics><spring_stiffness>30</spring_stiffness><spring_reference>0.4</spring_reference></dynamics>"
    found = vt.load_sdf(sdf(model(link("b"), joint("j", "world", "b", axis=axis))), gravity=G)
    tree = by_hand(vt.ry("j"))
    tree.load(vt.JointSpring("j", 30.0, 0.4))
    same(found, tree.compile())
    light = vt.load_sdf(sdf(model(link("b", more="<gravity>false</gravity>"), joint("j", "world", "b"))), gravity=G)
    assert np.abs(light.forward_dynamics([0.3], [0.0], [0.0])[0]).max() < 1e-13


def test_a_follower_is_that_of_urdf():
    """q = multiplier (q_leader - reference) + offset."""
    follows = (
        '<mimic joint="a" axis="axis"><multiplier>-2</multiplier><offset>0.3</offset><reference>0.1</reference></mimic>'
    )
    found = vt.load_sdf(sdf(model(
        link("x"), link("y", "0 0 -0.5 0 0 0"), joint("a", "world", "x"), joint("b", "x", "y", axis=follows),
    ), version="1.11"))  # fmt: skip
    assert found.nv == 1
    q, v = np.array([0.7]), np.array([0.4])
    assert found.expand(q)[1] == pytest.approx(-2 * (0.7 - 0.1) + 0.3, abs=1e-15)
    assert found.expand_velocity(v)[1] == pytest.approx(-0.8, abs=1e-15)


FOUR = """<robot name="m"><link name="world"/>{links}<joint name="j0" type="fixed"><parent link="world"/><child link="a"/></joint>
<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/></joint>
<joint name="j2" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0.4"/><axis xyz="0 1 0"/></joint>
<joint name="j3" type="continuous"><parent link="a"/><child link="d"/><origin xyz="0.7 0 0.2"/><axis xyz="0 1 0"/></joint>
<joint name="j5" type="fixed"><parent link="d"/><child link="e"/><origin xyz="0 0 0.5"/></joint>
<joint name="j4" type="continuous"><parent link="c"/><child link="e"/><origin xyz="0.4 0 0.1"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_a_loop_is_that_of_urdf():
    body = '<inertial><origin xyz="0.01 0 -0.2" rpy="0.1 0.2 0.3"/><mass value="1"/><inertia ixx="0.02" iyy="0.03" ' \
           'izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial>'  # fmt: skip
    links = "".join(f'<link name="{name}">{body if name != "e" else ""}</link>' for name in "abcde")
    peer = vt.load_urdf(FOUR.replace("{links}", links), loops="constraints", gravity=G)
    found = vt.load_sdf(sdf(model(
        link("a"), link("b", "0 0 0.2 0 0 0"), link("c", "0.3 0 0.6 0 0 0"), link("d", "0.7 0 0.2 0 0 0"),
        joint("j0", "world", "a", "fixed"), joint("j1", "a", "b"), joint("j2", "b", "c"), joint("j3", "a", "d"),
        '<joint name="j4" type="revolute"><pose relative_to="c">0.4 0 0.1 0 0 0</pose><parent>c</parent><child>d</child>'
        "<axis><xyz>0 1 0</xyz></axis></joint>",
    )), gravity=G)  # fmt: skip
    assert len(found.constraints) == len(peer.constraints) == 2
    runs = [vt.simulate(each, each.start, each.project_velocity(each.start, [0.3, -0.1, 0.2]), duration=0.2, dt=1e-3).q
            for each in (found, peer)]  # fmt: skip
    assert np.abs(runs[0] - runs[1]).max() < 1e-10
    assert np.abs(found.constraint_errors(runs[0][-1])).max() < 1e-9


def test_a_universal_joint_closes_a_loop():
    text_ = sdf(model(
        link("a"), link("b"), joint("x", "world", "a"), joint("y", "world", "b", "ball"),
        joint("u", "a", "b", "universal", "1 0 0", "<axis2><xyz>0 0 1</xyz></axis2>"),
    ))  # fmt: skip
    found = vt.load_sdf(text_)
    # one hinge and a ball; the ball's place is on the axis of the hinge, so one equation, of the directions, is left
    assert found.nv == 4 and len(found.constraints) == 1
    q = found.start
    v = found.project_velocity(q, [1.0, 0.3, 0.2, 0.1])
    run = vt.simulate(found, q, v, duration=0.2, dt=1e-3)
    Ra, Rb = (found.frame_pose(name, run.q[-1])[:3, :3] for name in "ab")
    assert abs(Ra[:, 0] @ Rb[:, 2]) < 1e-9 and np.abs(Ra - Rb).max() > 0.01


@pytest.mark.parametrize("lead", [0.05, -0.02, 0.0])
def test_a_screw_closes_a_loop(lead):
    """A spindle that turns in the world, and a nut on a rail: its way is the lead for each turn, over several turns."""
    found = vt.load_sdf(sdf(model(
        link("spindle", "0.1 0 0 0 0 0"), link("nut", "0.1 0.15 0.2 0 0 0"), joint("turn", "world", "spindle", xyz="0 0.6 0.8"),
        joint("rail", "world", "nut", "prismatic", "0 0.6 0.8"),
        joint("thread", "spindle", "nut", "screw", "0 0.6 0.8", f"<screw_thread_pitch>{lead}</screw_thread_pitch>"),
    )))  # fmt: skip
    assert found.joint_names == ("turn", "rail") and len(found.constraints) == 1
    q = found.start
    run = vt.simulate(found, q, found.project_velocity(q, [30.0, 0.0]), duration=1.0, dt=1e-3)
    turns = (run.q[:, 0] - q[0]) / (2 * np.pi)
    assert np.abs(run.q[:, 1] - q[1] + lead * turns).max() < 1e-9  # the spindle turns, and not the nut
    assert abs(turns[-1]) > 2


def test_a_cycle_of_joints_is_a_loop_of_what_floats():
    found = vt.load_sdf(sdf(model(link("a"), link("b"), joint("x", "a", "b"), joint("y", "b", "a"))), gravity=G)
    assert found.joint_names == ("root_joint", "x") and not found.constraints  # both joints are the same hinge


# ---- models in models, and worlds ---------------------------------------------------------------------------------


def test_a_model_floats_where_its_pose_is():
    found = vt.load_sdf(sdf(model(link("b", "0 0 0.3 0 0 0"), pose="1 2 3 0 0 0.5")))
    assert found.joint_names == ("root_joint",) and found.joints[0].kind == "free"
    expected = matrix((1, 2, 3), (0, 0, 0.5)) @ matrix((0, 0, 0.3), (0, 0, 0))
    assert np.allclose(found.frame_pose("b", found.start), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("base", ["auto", "free", "fixed"])
def test_bases(base):
    floating = sdf(model(link("a"), link("b"), joint("j", "a", "b")))
    held = sdf(model(link("a"), link("b"), joint("j", "a", "b"), joint("w", "world", "a", "fixed")))
    assert vt.load_sdf(floating, base).nv == (1 if base == "fixed" else 7)
    assert vt.load_sdf(held, base).nv == (7 if base == "free" else 1)


def test_nested_models_have_names_and_poses():
    inner = model(link("hand", "0 0 0.1 0 0 0"), link("finger", "0 0 0.2 0 0 0"), joint("grip", "hand", "finger"),
                  name="gripper", pose="0.5 0 0 0 0 0.3")  # fmt: skip
    text_ = sdf(model(link("arm"), inner, joint("w", "world", "arm", "fixed"), joint("mount", "arm", "gripper::hand", "fixed"),
                      pose="0 0 1 0 0 0"))  # fmt: skip
    found = vt.load_sdf(text_)
    assert found.joint_names == ("gripper::grip",) and set(found.link_names) == {
        "arm",
        "gripper::hand",
        "gripper::finger",
    }
    expected = matrix((0, 0, 1), (0, 0, 0)) @ matrix((0.5, 0, 0), (0, 0, 0.3)) @ matrix((0, 0, 0.2), (0, 0, 0))
    assert np.allclose(found.frame_pose("gripper::finger", [0.0]), expected, rtol=0, atol=1e-15)


def test_a_placement_frame_is_where_the_pose_says():
    text_ = sdf(model(link("b", "0.4 0 0 0 0 0.2"), '<frame name="grip" attached_to="b"><pose>0 0 0.3 0.1 0 0</pose></frame>',
                      pose="1 0 2 0 0.4 0")).replace('<model name="m">', '<model name="m" placement_frame="grip">')  # fmt: skip
    found = vt.load_sdf(text_)
    assert np.allclose(found.frame_pose("grip", found.start), matrix((1, 0, 2), (0, 0.4, 0)), rtol=0, atol=1e-15)


@pytest.fixture
def models(tmp_path):
    """Folders of models: a leg with a model.config, and a file beside it."""
    (tmp_path / "leg").mkdir()
    leg = model(link("thigh"), link("shin", "0 0 -0.5 0 0 0"), joint("knee", "thigh", "shin"), name="leg")
    (tmp_path / "leg" / "new.sdf").write_text(sdf(leg))
    (tmp_path / "leg" / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    )
    (tmp_path / "robots").mkdir()
    return tmp_path


INCLUDES = ('<include><uri>{uri}</uri><name>left</name><pose relative_to="hip">0 0.2 0 0 0 0</pose></include>'
            "<include><uri>{uri}</uri><name>right</name><pose>0 -0.2 0 0 0 0</pose></include>")  # fmt: skip


@pytest.mark.parametrize("uri", ["model://leg", "../leg", "../leg/new.sdf", "package://leg/new.sdf", "leg"])
def test_a_file_includes_models(models, uri):
    path = models / "robots" / "walker.sdf"
    path.write_text(sdf(model(
        link("hip"), INCLUDES.replace("{uri}", uri), joint("l", "hip", "left::thigh"), joint("r", "hip", "right::thigh"),
    )))  # fmt: skip
    found = vt.load_sdf(path)
    assert found.joint_names == ("root_joint", "l", "left::knee", "r", "right::knee")
    assert found.frame_pose("right::shin", found.start)[:3, 3] == pytest.approx([0, -0.2, -0.5], abs=1e-15)
    assert found.report.of("error", "warning") == ()


@pytest.mark.parametrize("root", ["world", "stand"])
def test_a_robot_of_urdf_is_included(models, root):
    """The same mechanism as by the reader of URDF: joints, inertias, followers, shapes, and links without mass."""
    more = """<link name="tip"/><joint name="tip_joint" type="fixed"><parent link="tool"/><child link="tip"/></joint>
<link name="finger">{i}<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<material name="red"><color rgba="1 0 0 1"/></material><transmission name="t"/>
<joint name="turn2" type="continuous"><parent link="tip"/><child link="finger"/><limit effort="5" velocity="6"/>
<mimic joint="slide" multiplier="2" offset="0.1"/></joint></robot>""".replace("{i}", URDF[URDF.index("<inertial>"):][:200].partition("</link>")[0])
    robot = URDF.replace("</robot>", more).replace('"world"', f'"{root}"')
    (models / "leg" / "arm.urdf").write_text(robot)
    (models / "leg" / "model.config").write_text("<model><sdf>arm.urdf</sdf></model>")
    found = vt.load_sdf(sdf("<include><uri>model://leg</uri><pose>1 2 3 0 0 0</pose></include>"), packages=models,
                        base="fixed", contacts=False, gravity=(0, 0, -9.81))  # fmt: skip
    known = vt.load_urdf(robot)
    assert [each for each in found.joint_names if each != "root_joint"] == list(known.joint_names)
    same(found, known)
    q = known.random_configuration(RNG)
    assert found.frame_pose("tip", q)[:3, 3] == pytest.approx(known.frame_pose("tip", q)[:3, 3] + (1, 2, 3), abs=1e-12)
    for one, other in zip(found.joints, known.joints, strict=True):
        assert (one.lower, one.upper, one.effort, one.velocity) == (other.lower, other.upper, other.effort, other.velocity)
    assert [(each.kind, each.rgba) for each in found.geometry if each.role == "visual"] == [("box", (1, 0, 0, 1))]
    assert any(each.id == "sdf-ignored" and "<transmission>" in each.text for each in found.report)
    (models / "leg" / "arm.urdf").write_text(robot.replace('type="continuous"', 'type="planar"'))
    report = vt.check_sdf(sdf("<include><uri>model://leg</uri></include>"), packages=models)
    assert any('"turn2" is a planar' in each.text and each.severity == "warning" for each in report)


def test_packages_hold_models(models, tmp_path_factory):
    text_ = sdf(model(link("hip"), INCLUDES.replace("{uri}", "model://leg"), joint("l", "hip", "left::thigh")))
    with pytest.raises(vt.SdfError, match=r'"model://leg" of an <include> is not found.*packages='):
        vt.load_sdf(text_)
    for packages in (models, {"leg": models / "leg"}):
        assert "left::knee" in vt.load_sdf(text_, packages=packages).joint_names


def test_the_variables_of_gazebo_are_looked_at(models, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(models))
    text_ = sdf("<include><uri>model://leg</uri><name>l</name><pose>0 0 2 0 0 0</pose></include>")
    found = vt.load_sdf(text_)
    assert found.joint_names == ("root_joint", "knee") and found.start[2] == 2.0


def test_a_merged_model_has_the_names_of_the_model_around_it(models):
    path = models / "robots" / "merged.sdf"
    path.write_text(sdf(model(
        link("hip"), '<include merge="true"><uri>model://leg</uri><pose>0 0 -0.1 0 0 0</pose></include>',
        joint("l", "hip", "thigh"),
    )))  # fmt: skip
    found = vt.load_sdf(path)
    assert found.joint_names == ("root_joint", "l", "knee") and set(found.link_names) == {"hip", "thigh", "shin"}
    assert found.frame_pose("shin", found.start)[2, 3] == pytest.approx(-0.6, abs=1e-15)


def test_a_file_that_includes_itself_is_refused(models):
    path = models / "leg" / "new.sdf"
    path.write_text(sdf(model(link("b"), "<include><uri>model://leg</uri><name>again</name></include>")))
    with pytest.raises(vt.SdfError, match="includes the file that includes it"):
        vt.load_sdf(path)


def test_findings_name_the_file_that_is_included(models):
    (models / "leg" / "new.sdf").write_text(sdf(model(link("b", "0 0 x 0 0 0"))))
    with pytest.raises(vt.SdfError, match=r"^leg/new.sdf:1: the <pose> \"0 0 x 0 0 0\""):
        vt.load_sdf(sdf(model(link("a"), "<include><uri>model://leg</uri></include>")), packages=models)


def test_a_world_has_gravity_ground_and_things():
    box = shape(
        "<box><size>0.2 0.2 0.2</size></box>", "<surface><friction><ode><mu>0.4</mu></ode></friction></surface>"
    )
    found = vt.load_sdf(world(
        "<include><uri>model://sun</uri></include>", FLOOR,
        model('<link name="b"><inertial><mass>2</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia>'
              f"</inertial>{box}</link>", name="box", pose="0 0 0.3 0 0 0"),
        model('<link name="b"><inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia>'
              f"</inertial>{BALL}</link>", name="ball", pose="1 0 0.5 0 0 0"), more="<gravity>0 0 -3</gravity>",
    ))  # fmt: skip
    assert found.gravity.tolist() == [0, 0, -3] and found.joint_names == ("box::root_joint", "ball::root_joint")
    assert found.ground.friction == 1.0 and [
        each.friction for each in found.contacts if isinstance(each, vt.Contact)
    ] == [0.4, 1.0]
    run = vt.simulate(found, duration=3.0, dt=2e-3)
    assert run.q[-1, [2, 9]] == pytest.approx([0.1, 0.1], abs=1e-6)


def test_a_plane_is_where_its_link_and_pose_are():
    tilted = model('<link name="l"><pose>0 0 1 0 0.5 0</pose>' + shape("<plane><normal>0 0 2</normal></plane>", pose="0 0 0.5 0 0 0")
                   + "</link>", name="slope", more="<static>1</static>")  # fmt: skip
    found = vt.load_sdf(world(tilted, FLOOR, model(link("b", more=BALL), name="ball", pose="0 0 3 0 0 0")))
    n = np.array([np.sin(0.5), 0, np.cos(0.5)])
    assert found.ground.normal == pytest.approx(n, abs=1e-15) and found.ground.height == pytest.approx(
        n[2] + 0.5, abs=1e-15
    )
    assert len(found.ground.planes) == 1


@pytest.mark.parametrize(("collide", "touches"), [("", False), ("<self_collide>true</self_collide>", True)])
def test_links_of_a_model_touch_if_it_says_so(collide, touches):
    """Two balls on slides meet, or pass."""
    limits = "<limit><lower>-5</lower><upper>5</upper></limit>"
    found = vt.load_sdf(sdf(model(
        joint("x", "world", "a", "prismatic", "1 0 0", axis=limits), joint("y", "world", "b", "prismatic", "1 0 0", axis=limits),
        link("a", more=BALL), link("b", "1 0 0 0 0 0", more=BALL), more=collide,
    )), gravity=(0, 0, 0))  # fmt: skip
    run = vt.simulate(found, [0.0, 0.0], [2.0, 0.0], duration=0.6, dt=1e-3)
    gap = 1 + run.q[:, 1] - run.q[:, 0] - 0.2
    assert (gap.min() > -1e-6) == touches
    if not touches:
        assert not found.contacts and "nothing touches" in str(found.report)


def test_links_that_a_joint_connects_do_not_touch():
    found = vt.load_sdf(sdf(model(
        link("a", more=BALL), link("b", "0.1 0 0 0 0 0", more=BALL), link("c", "1 0 0 0 0 0", more=BALL),
        joint("x", "a", "b"), joint("y", "b", "c"), more="<self_collide>true</self_collide>",
    )))  # fmt: skip
    vt.simulate(found, duration=0.05, dt=1e-3)  # where "a" and "b" touched, they would overlap


SHAPES = {
    "box": ("<box><size>0.2 0.3 0.4</size></box>", 0.2), "sphere": ("<sphere><radius>0.15</radius></sphere>", 0.15),
    "cylinder": ("<cylinder><radius>0.1</radius><length>0.3</length></cylinder>", 0.15),
    "capsule": ("<capsule><radius>0.1</radius><length>0.3</length></capsule>", 0.25),
    "ellipsoid": ("<ellipsoid><radii>0.1 0.2 0.25</radii></ellipsoid>", 0.25),
    "cone": ("<cone><radius>0.1</radius><length>0.3</length></cone>", 0.15),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_touch_at_their_height(kind):
    geometry, half = SHAPES[kind]
    found = vt.load_sdf(sdf(model(link("b", more=shape(geometry)), pose="0 0 1 0 0 0")), ground=vt.Ground())
    assert found.contact_gaps(found.start).gap.min() == pytest.approx(1 - half, abs=1e-12)


def test_inertia_of_shapes():
    box = shape("<box><size>0.2 0.3 0.4</size></box>")
    auto = vt.read_sdf(
        sdf(model(f'<link name="b"><inertial auto="true"><density>500</density></inertial>{box}</link>'))
    )
    body = auto.frame("b").bodies[0]
    assert body.mass == pytest.approx(500 * 0.024, rel=1e-12)
    assert np.diag(body.inertia) == pytest.approx(np.array([0.25, 0.2, 0.13]) * body.mass / 12, rel=1e-12)
    bare = sdf(model(f'<link name="b">{box}</link>'))
    assert vt.read_sdf(bare).frame("b").bodies[0].mass == 1.0  # that of the format
    assert "inertial-default" in {each.id for each in vt.check_sdf(bare).of("warning")}
    assert vt.read_sdf(bare, inertia="geometry").frame("b").bodies[0].mass == pytest.approx(24.0, rel=1e-12)


# ---- what is left out, and what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "rule", "severity"), [
    ('<plugin name="p" filename="f"/>', "sdf-motion", "warning"),
    (link("x", more='<sensor name="s" type="imu"/>'), "sdf-ignored", "note"),
    (link("x", more="<velocity_decay><linear>0.1</linear></velocity_decay>"), "sdf-motion", "warning"),
    (link("x", more=shape("<heightmap><uri>a.png</uri></heightmap>")), "sdf-shape", "warning"),
    (link("x", more=shape("<plane/>")), "sdf-shape", "warning"),
    (link("x") + joint("g", "b", "x", "gearbox"), "sdf-joint", "warning"),
    ("<wheel/>", "unknown-element", "warning"),
    (link("x", more=shape("<box><size>1 1 1</size></box>", "<surface><friction><ode><mu>1</mu><mu2>0.5</mu2></ode></friction>"
                          "</surface>")), "sdf-motion", "warning"),
    ("<!-- a -- b -->", "xml-comment", "warning"),
    (link("x", more=BALL.replace("<geometry>", "<geometry><empty/>").replace("<sphere><radius>0.1</radius></sphere>", "")),
     None, ""),
])  # fmt: skip
def test_what_is_left_out_is_told(part, rule, severity):
    report = vt.check_sdf(sdf(model(link("b"), joint("w", "world", "b"), part)))
    assert not report.of("error"), report
    told = {(each.id, each.severity) for each in report if each.line is not None and each.id != "sdf-contacts"}
    assert told == ({(rule, severity)} if rule else set())


def test_many_of_a_kind_are_one_line():
    parts = [f'<plugin name="p{k}" filename="f"/>' for k in range(20)]
    lines = vt.check_sdf(sdf(model(link("b"), joint("w", "world", "b"), *parts))).lines()
    assert sum("<plugin>" in line for line in lines) == 1 and any("and 19 more such" in line for line in lines)


WRONG = {
    "not-sdf": '<robot name="r"/>',
    "sdf-content": sdf(),
    "xml-syntax": "<sdf version='1.9'><model",
    "xml-doctype": "<!DOCTYPE sdf><sdf version='1.9'/>",
    "name-duplicate": sdf(model(link("b"), link("b"))),
    "name-missing": sdf(model("<link/>")),
    "number": sdf(model(link("b", "0 0 1,5 0 0 0"))),
    "number-count": sdf(model(link("b", "0 0 1"))),
    "number-finite": sdf(model(link("b", mass=float("nan")))),
    "number-range": sdf(model(link("b", "1e300 0 0 0 0 0"))),
    "frame-unknown": sdf(model(link("b", relative_to="c"))),
    "frame-cycle": sdf(model(link("b", relative_to="c"), link("c", relative_to="b"))),
    "joint-type": sdf(model(link("b"), joint("j", "world", "b", "hinge"))),
    "joint-end": sdf(model(link("b"), '<joint name="j" type="fixed"><parent>b</parent></joint>')),
    "axis-zero": sdf(model(link("b"), joint("j", "world", "b", xyz="0 0 0"))),
    "loop": sdf(model(link("b"), joint("j", "b", "b"))),
    "damping-negative": sdf(model(link("b"), joint("j", "world", "b", axis="<dynamics><damping>-1</damping></dynamics>"))),
    "mass-negative": sdf(model(link("b", mass=-1.0))),
    "include-missing": sdf(model(link("b"), "<include><uri>model://nowhere</uri></include>")),
    "no-links": sdf(model()),
    "nothing-moves": sdf(model(link("b"), more="<static>true</static>")),
    "contact-mesh": sdf(model(link("b", more=shape("<mesh><uri>a.stl</uri></mesh>")))),
    "pose-format": sdf(model(link("b").replace("<pose>", '<pose rotation_format="wxyz">', 1))),
    "sdf-loop": sdf(model(link("a"), joint("x", "world", "a"), joint("y", "world", "a", "revolute2", "1 0 0",
                                                                               "<axis2><xyz>0 0 1</xyz></axis2>"))),
    "name-reserved": sdf(model(link("world"), link("b"))),
}  # fmt: skip


def test_an_empty_link_called_world_is_the_world():
    """As in files of grippers that Bullet has; the format has reserved the name since."""
    parts = link("b"), joint("j", "world", "b", "prismatic", "0 0 1")
    model_ = vt.load_sdf(sdf(model('<link name="world"><pose>0 0 0 0 0 0</pose></link>', *parts), version="1.6"))
    plain = vt.load_sdf(sdf(model(*parts), version="1.6"))
    assert [each.id for each in model_.report.of("warning")] == ["link-world"] and model_.nv == plain.nv == 1
    assert np.array_equal(vt.simulate(model_, duration=0.1, dt=1e-3).q, vt.simulate(plain, duration=0.1, dt=1e-3).q)


@pytest.mark.parametrize("rule", WRONG)
def test_faults_are_errors(rule):
    with pytest.raises(vt.SdfError) as raised:
        vt.load_sdf(WRONG[rule])
    assert rule in {each.id for each in raised.value.findings.of("error")}, raised.value
    assert re.match(r"<text>:[1-4]: ", str(raised.value))
    assert rule in {each.id for each in vt.check_sdf(WRONG[rule]).of("error")}


def test_errors_name_the_choices():
    with pytest.raises(vt.SdfError, match=r'"uper".*did you mean "upper"'):
        vt.load_sdf(sdf(model(link("upper"), joint("j", "world", "uper"))))
    with pytest.raises(vt.SdfError, match="choose from revolute, continuous"):
        vt.load_sdf(WRONG["joint-type"])


@pytest.mark.parametrize(("options", "error"), [
    ({"base": "euler"}, vt.InputError), ({"root": "b"}, vt.UnknownNameError), ({"contacts": 1}, vt.InputError),
    ({"inertia": "guess"}, vt.InputError), ({"armature": {"x": 1.0}}, vt.UnknownNameError),
    ({"limits": "soft"}, vt.InputError), ({"density": -1}, vt.InputError),
])  # fmt: skip
def test_options_are_checked(options, error):
    with pytest.raises(error):
        vt.load_sdf(sdf(model(link("b"), joint("j", "world", "b"))), **options)


def test_readers_name_each_other(tmp_path):
    path = tmp_path / "a.sdf"
    path.write_text(sdf(model(link("b"))))
    with pytest.raises(vt.UrdfError, match="load_sdf reads SDF"):
        vt.load_urdf(path)
    with pytest.raises(vt.SdfError, match="load_urdf reads URDF"):
        vt.load_sdf('<robot name="r"/>')
    with pytest.raises(vt.SdfError, match="there is no such file"):
        vt.load_sdf(tmp_path / "none.sdf")


# ---- elsewhere -------------------------------------------------------------------------------------------------------


def test_a_thing_of_a_world_and_a_flange(tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text(
        sdf(
            model(
                link("base", more=BALL),
                link("b", more=BALL),
                joint("w", "world", "base", "fixed"),
                joint("j", "base", "b"),
            )
        )
    )
    (tmp_path / "cup.sdf").write_text(sdf(model(link("cup", more=BALL), pose="0 0 1 0 0 0")))
    room = vt.World(ground=vt.Ground())
    room.add(path, "one", at=(0, 0, 1))
    room.add(tmp_path / "cup.sdf", at=(1, 0, 0))
    made = room.compile()
    assert made.joint_names == ("one/j", "cup/root_joint")
    assert made.start[1:4] == pytest.approx([1, 0, 1], abs=1e-15)
    assert made.ground == vt.Ground()
    run = vt.simulate(made, duration=1.5, dt=2e-3)
    assert run.q[-1, 3] == pytest.approx(0.1, abs=1e-6)
    tree = vt.read_sdf(path)
    tree.attach(vt.read_sdf(tmp_path / "cup.sdf"), at="b", prefix="held_", base="fixed")
    assert tree.compile().joint_names == ("j",)


def test_a_world_overrules_gravity(tmp_path):
    path = tmp_path / "w.sdf"
    path.write_text(world(model(link("b")), more="<gravity>0 0 -1</gravity>"))
    room = vt.World()
    room.add(path, "moon")
    assert "world-overrules" in {each.id for each in room.tree.report}


def test_a_start_is_within_limits():
    axis = "<limit><lower>0.2</lower><upper>1</upper></limit>"
    text_ = sdf(model(link("b"), joint("j", "world", "b", axis=axis)))
    assert vt.load_sdf(text_).start.tolist() == [0.2] and vt.load_sdf(text_, limits="report").start.tolist() == [0.0]


def test_mutated_files_give_models_or_errors():
    """Elements left out, doubled and exchanged, and numbers that are none."""
    import xml.etree.ElementTree as ElementTree

    rng = np.random.default_rng(1)
    texts = [relative(), frames(), in_model(), world(FLOOR, model(link("b", more=BALL)))]
    odd = (
        "",
        "nan",
        "1e999",
        "-1",
        "a::b",
        "world",
        "__model__",
        "0 0 1 0 0 0",
        "1e300 0 0",
        "true",
        "../..",
        "model://x",
    )
    read = 0
    for _ in range(300):
        root = ElementTree.fromstring(texts[rng.integers(len(texts))])
        for _ in range(rng.integers(1, 4)):
            nodes = list(root.iter())
            node, other = nodes[rng.integers(len(nodes))], nodes[rng.integers(len(nodes))]
            change = rng.integers(5)
            if change == 0 and len(node):
                node.remove(node[rng.integers(len(node))])
            elif change == 1 and other is not root:
                node.append(copy.deepcopy(other))
            elif change == 2:
                node.text = odd[rng.integers(len(odd))]
            elif change == 3 and node.attrib:
                node.set(list(node.attrib)[rng.integers(len(node.attrib))], odd[rng.integers(len(odd))])
            elif change == 4 and node is not root:
                node.tag = other.tag
        try:
            found = vt.load_sdf(ElementTree.tostring(root))
        except vt.VitreeError:
            continue
        assert np.isfinite(found.crba(found.start)).all()
        read += 1
    assert read > 50
