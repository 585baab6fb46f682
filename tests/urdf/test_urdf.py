"""Robot files: what is read is where the file says it is; what is wrong is named with its line."""

from __future__ import annotations

import gc
import re
import threading

import numpy as np
import pytest
import reference
from random_models import random_state
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.errors import InputError, ModelError, UrdfError
from vitree.mechanism import euler as euler_angles
from vitree.spatial.rotations import rotation_about, rotation_rpy
from vitree.urdf import load_urdf, read_urdf
from vitree.urdf.robots import example_robots, find_robot, own_robots

X, Y, Z = np.eye(3)
INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"


def link(name, inside=INERTIAL):
    return f"<link name='{name}'>{inside}</link>\n"


def joint(name, parent, child, kind="revolute", inside=""):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>\n"


def robot(*parts):
    return "<robot name='r'>\n" + "".join(parts) + "</robot>"


ARM = (link("a"), link("b"), joint("j", "a", "b"))


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance)


def flat_of(text, base="fixed"):
    return read_urdf(text, base).flatten()


# ---- what is read -------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [X, -Y, (0, 0, 5), (0.3, -0.4, 0.5)])
@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar"])
def test_joint_types_about_any_axis(kind, axis):
    tag = f"<origin xyz='1 2 3' rpy='0.1 0.2 0.3'/><axis xyz='{axis[0]} {axis[1]} {axis[2]}'/>"
    flat = flat_of(robot(link("a"), link("b"), joint("j", "a", "b", kind, tag)))
    unit = np.array(axis) / np.linalg.norm(axis)
    q, _ = random_state(flat, np.random.default_rng(0))
    T = reference.frame_pose(flat, "b", q)
    place = reference.pose(rotation_rpy(0.1, 0.2, 0.3), np.array([1.0, 2, 3]))
    moved = np.linalg.solve(place, T)
    if kind == "prismatic":
        close(moved, reference.pose(np.eye(3), q[0] * unit))
    elif kind == "planar":  # a turn about the normal, a move across it
        close(moved[:3, :3], rotation_about(unit, q[2]))
        assert moved[:3, 3] @ unit == pytest.approx(0, abs=1e-14)
        assert np.linalg.norm(moved[:3, 3]) == pytest.approx(np.hypot(q[0], q[1]))
    else:
        close(moved, reference.pose(rotation_about(unit, q[0]), np.zeros(3)))
    (found,) = flat.joints
    assert found.kind == ("revolute" if kind == "continuous" else kind)
    assert (found.parent, found.child) == ("a", "b")


def test_defaults_of_the_format():
    """Axis x, origin at the parent, no limits for a continuous joint, no damping."""
    flat = flat_of(robot(link("a"), link("b"), joint("j", "a", "b", "continuous", "<limit lower='0' upper='1'/>")))
    close(reference.frame_pose(flat, "b", np.array([0.3])), reference.pose(rotation_about(X, 0.3), np.zeros(3)))
    (found,) = flat.joints
    assert (found.lower, found.upper, found.velocity, found.effort) == ((-np.inf,), (np.inf,), (np.inf,), (np.inf,))
    close(flat.damping, [0])


def test_floating_joints():
    flat = flat_of(robot(link("a"), link("b"), joint("j", "a", "b", "floating", "<origin xyz='0 0 1'/>")))
    q, _ = random_state(flat, np.random.default_rng(1))
    R = reference.quaternion_matrix(q[3:])
    close(reference.frame_pose(flat, "b", q), reference.pose(R, q[:3] + Z))
    assert flat.joints[0].kind == "free"


def test_inertial_origin_and_axes():
    inside = (
        "<inertial><origin xyz='0.1 0.2 0.3' rpy='0.4 0.5 0.6'/><mass value='2'/>"
        "<inertia ixx='0.3' ixy='0.01' ixz='0.02' iyy='0.4' iyz='0.03' izz='0.5'/></inertial>"
    )
    flat = flat_of(robot(link("a", inside)), "free")
    R = rotation_rpy(0.4, 0.5, 0.6)
    close(flat.mass, [2])
    close(flat.com[0], [0.1, 0.2, 0.3])
    close(flat.inertia[0], R @ [[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]] @ R.T)


def test_data_of_a_joint_is_kept():
    inside = (
        "<limit lower='-1' upper='2' velocity='3' effort='4'/><dynamics damping='0.5' friction='0.1'/>"
        "<mimic joint='j' multiplier='-2' offset='0.3'/><safety_controller k_velocity='1'/><calibration rising='0'/>"
    )
    flat = flat_of(robot(*ARM, link("c"), joint("k", "b", "c", "prismatic", inside)))
    found = flat.joints[1]
    assert (found.lower, found.upper, found.velocity, found.effort) == ((-1,), (2,), (3,), (4,))
    assert found.mimic == ("j", -2.0, 0.3)
    close(flat.damping, [0, 0.5])
    close(flat.friction, [0, 0.1])
    for words in ('mimic joints follow, without coordinates of their own: "k"', "treated as unlimited"):
        assert words in str(flat.report)


def test_inverted_limits_are_left_out():
    flat = flat_of(robot(link("a"), link("b"), joint("j", "a", "b", inside="<limit lower='1'/>")))
    assert (flat.joints[0].lower, flat.joints[0].upper) == ((-np.inf,), (np.inf,))
    assert "limit-inverted" in {f.id for f in flat.report}


@pytest.mark.parametrize(("length", "said"), [(1.0009, False), (0.9991, False), (1.002, True), (0.998, True)])
def test_an_axis_of_another_length_is_said_beyond_three_digits(length, said):
    text = robot(link("a"), link("b"), joint("j", "a", "b", "continuous", f"<axis xyz='0 0 {length}'/>"))
    assert ("axis-length" in {f.id for f in flat_of(text).report}) == said


def test_damping_of_a_planar_joint_is_said_to_be_left_out():
    flat = flat_of(robot(link("a"), link("b"), joint("j", "a", "b", "planar", "<dynamics damping='1'/>")))
    assert not flat.damping.any()
    assert 'the joint "j" is planar; its limits and damping are ignored' in str(flat.report)


def test_the_root_joint_gives_way_to_a_joint_of_its_name():
    text = robot(link("a"), link("b"), joint("root_joint", "a", "b"))
    assert [j.name for j in flat_of(text, "free").joints] == ["root_joint_", "root_joint"]


def test_order_is_depth_first_in_the_order_of_the_file():
    links = [link(name) for name in "abcd"]
    flat = flat_of(robot(*links, joint("z", "a", "b"), joint("y", "a", "c"), joint("x", "b", "d")))
    assert [j.name for j in flat.joints] == ["z", "x", "y"]


def test_bases():
    text = robot(*ARM)
    fixed, free, euler = (flat_of(text, base) for base in ("fixed", "free", "euler"))
    assert [j.name for j in fixed.joints] == ["j"]
    assert [(j.name, j.kind) for j in free.joints] == [("root_joint", "free"), ("j", "revolute")]
    names = [f"root_joint_{suffix}" for suffix in ("tx", "ty", "tz", "rz", "ry", "rx")]
    assert [j.name for j in euler.joints] == [*names, "j"]
    expanded = euler_angles.expand(free)
    for field in ("kind", "parent", "E", "p", "mass", "com", "inertia"):
        close(getattr(euler, field), getattr(expanded, field))
    assert fixed.link_mass == free.link_mass and fixed.mass.sum() == 1 and free.mass.sum() == 2


def test_fixed_joints_merge_and_keep_their_frames():
    text = robot(link("a"), link("b"), link("b_fix"), joint("j", "a", "b", inside="<axis xyz='0 0 1'/>"),
                 joint("tool", "b", "t", "fixed", "<origin xyz='1 0 0'/><axis xyz='0 0 0'/>"), link("t", ""),
                 joint("b_fix", "b", "b_fix", "fixed", "<origin xyz='0 1 0'/>"))  # fmt: skip
    flat = flat_of(text)
    assert len(flat.kind) == 1
    assert set(flat.frame_names) == {"a", "b", "t", "b_fix", "j", "tool"}
    assert flat.link_parent[flat.link_names.index("t")] == "b"
    T = reference.frame_pose(flat, "tool", np.array([np.pi / 2]))
    close(T, reference.pose(rotation_about(Z, np.pi / 2), Y))
    close(T, reference.frame_pose(flat, "t", np.array([np.pi / 2])))
    close(flat.mass, [2])


def test_a_massless_root_link_may_float():
    text = robot(link("a", ""), link("b"), joint("f", "a", "b", "fixed"), link("c"), joint("j", "b", "c"))
    assert flat_of(text, "free").mass.sum() == 2
    with pytest.raises(ModelError, match="root_joint"):  # one hinge cannot hold it
        load_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b")), "free").require_invertible_mass_matrix()


def test_shapes_are_kept():
    shapes = (
        "<visual><origin xyz='1 2 3' rpy='0 0 1'/><geometry><box size='1 2 3'/></geometry>"
        "<material name='red'/></visual>"
        "<visual><geometry><cylinder radius='1' length='2'/></geometry>"
        "<material name='own'><color rgba='0 1 0 0.5'/></material></visual>"
        "<collision><geometry><mesh filename='none.stl' scale='2 2 2'/></geometry></collision>"
        "<collision><geometry><capsule radius='1' length='2'/></geometry></collision>"
        "<visual><geometry><sphere radius='3'/></geometry></visual><visual><geometry><cone/></geometry></visual>"
    )
    colour = (
        "<material name='red'><color rgba='1 0 0 1'/></material><material name='red'><color rgba='0 0 1 1'/></material>"
    )
    flat = flat_of(robot(colour, link("a", INERTIAL + shapes)), "free")
    assert [(g.frame, g.kind, g.size, g.role, g.rgba) for g in flat.geometry] == [
        ("a", "box", (1, 2, 3), "visual", (1, 0, 0, 1)),
        ("a", "cylinder", (1, 2), "visual", (0, 1, 0, 0.5)),
        ("a", "mesh", (2, 2, 2), "collision", None),
        ("a", "capsule", (1, 2), "collision", None),
        ("a", "sphere", (3,), "visual", None),
    ]
    close(flat.geometry[0].position, [1, 2, 3])
    close(flat.geometry[0].rotation, rotation_rpy(0, 0, 1))
    assert flat.geometry[2].filename == "none.stl"
    assert "shape-unknown" in {f.id for f in flat.report}


def test_what_is_not_kinematics_is_left_out_silently(capfd):
    junk = (
        "<gazebo><plugin><anything/></plugin></gazebo><transmission name='t'/><material name='grey'/>"
        "<sensor name='s'/><!-- comment --><ros2_control name='x'><joint name='j'/></ros2_control>"
    )
    flat = flat_of(robot(junk, *ARM, link("c", "<unknown a='1'/>" + INERTIAL), joint("k", "b", "c", inside="<odd/>")))
    assert len(flat.kind) == 2
    assert "ignored: <gazebo>, <ros2_control>, <sensor>, <transmission>" in str(flat.report)
    assert capfd.readouterr() == ("", "")


def test_the_parsers_own_noise_is_back_afterwards():
    from urdf_parser_py.xml_reflection import core

    before = core.on_error
    threads = [threading.Thread(target=read_urdf, args=(robot(*ARM),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert core.on_error is before


def test_files_paths_and_encodings(tmp_path):
    text = robot(link("\u00e4"), link("b"), joint("j", "\u00e4", "b"))
    for name, data in {
        "utf8.urdf": text.encode(),
        "bom.urdf": text.encode("utf-8-sig"),
        "utf16.urdf": text.encode("utf-16"),
        "latin.urdf": ('<?xml version="1.0" encoding="iso-8859-1"?>' + text).encode("latin-1"),
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert read_urdf(path).flatten().link_names == ("\u00e4", "b")
        assert read_urdf(str(path)).name == "r"
    assert read_urdf(text, name="other").name == "other"


# ---- the root -----------------------------------------------------------------------------------

LIMITS = "<limit lower='-1' upper='2' velocity='3' effort='4'/><dynamics damping='0.3'/>"


def branching(last="revolute"):
    """Links a ... f in two branches on a, by joints of every kind that can be turned round."""
    rng = np.random.default_rng(8)

    def numbers(count):
        return " ".join(repr(float(x)) for x in rng.normal(size=count))

    parts = []
    for name in "abcdef":
        A = rng.normal(size=(3, 3))
        xx, xy, xz, yy, yz, zz = (A @ A.T)[np.triu_indices(3)]
        moments = f"ixx='{yy + zz}' ixy='{-xy}' ixz='{-xz}' iyy='{xx + zz}' iyz='{-yz}' izz='{xx + yy}'"
        place = f"<origin xyz='{numbers(3)}' rpy='{numbers(3)}'/><mass value='{rng.uniform(1, 2)}'/>"
        parts.append(link(name, f"<inertial>{place}<inertia {moments}/></inertial>"))
    for name, parent, child, kind in (
        ("j1", "a", "b", "revolute"), ("j2", "b", "c", "prismatic"), ("weld", "c", "d", "fixed"),
        ("j3", "d", "e", last), ("j4", "a", "f", "continuous"),
    ):  # fmt: skip
        axis = rng.normal(size=3)
        axis = " ".join(repr(float(x)) for x in axis / np.linalg.norm(axis))
        limits = LIMITS if kind in ("revolute", "prismatic") else ""
        inside = f"<origin xyz='{numbers(3)}' rpy='{numbers(3)}'/><axis xyz='{axis}'/>{limits}"
        parts.append(joint(name, parent, child, kind, inside))
    return robot(*parts)


def moved_to(new, old, q, v):
    """The state of a re-rooted model that is the state of another, both free."""
    root = new.link_names[0]
    T, J = old.frame_pose(root, q), old.frame_jacobian(root, q, axes="local") @ v
    q_new, v_new = new.neutral(), new.zero_velocity()
    q_new[:7] = np.r_[T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()]
    v_new[:6] = np.r_[J[3:], J[:3]]
    for info in new.joints[1:]:
        before = old.joint(info.name)
        way = -1 if info.kind == "planar" and root == "e" else 1  # theta, y, x
        q_new[info.q_slice] = q[before.q_slice][::way]
        v_new[info.v_slice] = v[before.v_slice][::way]
    return q_new, v_new


@pytest.mark.parametrize("root", list("abcdef"))
@pytest.mark.parametrize("last", ["revolute", "planar"])
def test_any_link_may_be_the_root(root, last):
    """The same joint coordinates are the same motion: poses, energy and accelerations."""
    text = branching(last)
    old, new = load_urdf(text, "free"), load_urdf(text, "free", root=root)
    assert new.link_names[0] == root and set(new.frame_names) == set(old.frame_names)
    rng = np.random.default_rng(1)
    q, v = random_state(old.flat, rng)
    q_new, v_new = moved_to(new, old, q, v)
    for name in old.link_names:
        close(new.frame_pose(name, q_new), old.frame_pose(name, q), 1e-12)
        close(new.frame_jacobian(name, q_new) @ v_new, old.frame_jacobian(name, q) @ v, 1e-11)
    assert new.kinetic_energy(q_new, v_new) == pytest.approx(old.kinetic_energy(q, v), rel=1e-12)
    for info in old.joints[1:]:
        other = new.joint(info.name)
        assert (other.lower, other.upper, other.effort, other.velocity) == (
            info.lower, info.upper, info.effort, info.velocity)  # fmt: skip
        close(new.damping[other.v_slice], old.damping[info.v_slice])
    tau = np.r_[np.zeros(6), rng.normal(size=old.nv - 6)]
    _, tau_new = moved_to(new, old, q, tau)
    tau_new[:6] = 0
    a, a_new = old.aba(q, v, tau), new.aba(q_new, v_new, tau_new)
    for info in old.joints[1:]:
        way = -1 if info.kind == "planar" and root == "e" else 1
        close(a_new[new.joint(info.name).v_slice][::way], a[info.v_slice], 1e-9 * np.abs(a).max())
    close(new.rnea(q_new, v_new, a_new), tau_new, 1e-9 * np.abs(a).max())


def test_a_fixed_joint_that_is_turned_keeps_the_place_of_its_frame():
    text = branching()
    old, new = load_urdf(text, "free"), load_urdf(text, "free", root="e")
    q, v = random_state(old.flat, np.random.default_rng(2))
    q_new, _ = moved_to(new, old, q, v)
    close(new.frame_pose("weld", q_new), old.frame_pose("weld", q), 1e-12)


def test_turned_mimics_and_loops_hold():
    more = "<mimic joint='j4' multiplier='0.5'/>" + LIMITS
    text = branching().replace(LIMITS, more, 1)
    new = load_urdf(text, "free", root="e", mimic="constraints")
    q = vt.satisfy_constraints(new, new.random_configuration(np.random.default_rng(0)))
    assert q[new.joint("j1").q_slice] == pytest.approx(0.5 * q[new.joint("j4").q_slice])
    loop = text.replace("</robot>", joint("pin", "f", "e", "continuous", "<axis xyz='0 0 1'/>") + "</robot>")
    model = load_urdf(loop, "free", root="e", loops="constraints")
    assert len(model.constraints) == 5 and model.constraints[0].a == "pin"


def test_the_root_chooses_a_tree():
    text = robot(*ARM, link("x"), link("y"), joint("k", "x", "y", "continuous"))
    model = load_urdf(text, root="y", base="free")
    assert model.link_names == ("y", "x") and model.joint_names == ("root_joint", "k")
    assert 'are not connected to "y" are ignored: "a", "b"' in str(model.report)
    follower = link("z") + joint("m", "y", "z", "continuous", "<mimic joint='j'/>")
    model = load_urdf(text.replace("</robot>", follower + "</robot>"), root="x")
    assert 'mimics "j", which is not in the' in str(model.report) and model.nv == 2


@pytest.mark.parametrize("base", ["free", "euler"])
def test_the_link_world_is_the_world(base):
    """The root joint takes the place of its weld, is not added where it floats, and hangs below no hinge."""
    world = link("world", "")
    weld = robot(world, *ARM, joint("weld", "world", "a", "fixed", "<origin xyz='1 2 3'/>"))
    model = load_urdf(weld, base)
    close(model.frame_pose("a", model.neutral())[:3, 3], [1, 2, 3])
    close(model.frame_pose("world", model.neutral()), np.eye(4))
    assert model.nv == 7 and model.flat.link_parent == (None, "world", "a")
    close(model.frame_pose("weld", model.neutral()), model.frame_pose("a", model.neutral()))
    floating = load_urdf(robot(world, *ARM, joint("f", "world", "a", "floating")), base)
    assert floating.joint_names == ("f", "j") and floating == load_urdf(
        robot(world, *ARM, joint("f", "world", "a", "floating")), "fixed"
    )
    hinge = load_urdf(robot(world, *ARM, joint("h", "world", "a", "continuous")), base)
    assert hinge.nv == 8 and "world-root" in {f.id for f in hinge.report}
    heavy = load_urdf(robot(link("world"), *ARM, joint("weld", "world", "a", "fixed")), base)
    assert heavy.total_mass == 3 and "world" not in {f.id for f in heavy.report}


# ---- bad input ----------------------------------------------------------------------------------

BAD = {
    "empty": ("", "not XML"),
    "not XML": ("solid mesh", "not XML"),
    "cut off": (robot(*ARM)[:-4], "not XML"),
    "DOCTYPE": ("<!DOCTYPE robot [<!ENTITY a 'b'>]>" + robot(*ARM), "DOCTYPE"),
    "encoding": ("<?xml version='1.0' encoding='nonsense'?>" + robot(*ARM), "encoding"),
    "no robot": ("<sdf><model/></sdf>", ":1: the root element is <sdf>"),
    "xacro": (robot("<xacro:include filename='x'/>"), "xacro"),
    "no links": (robot(), "no <link>"),
    "link without name": (robot("<link/>"), ':2: a <link> has no "name"'),
    "joint without name": (robot(link("a"), "<joint type='fixed'/>"), ':3: a <joint> has no "name"'),
    "two links": (robot(link("a"), link("a")), ':3: there are two links "a", the first on line 2'),
    "two joints": (robot(*ARM, link("c"), joint("j", "b", "c")), 'two joints "j"'),
    "several roots": (robot(*ARM, link("x")), ':5: there are 2 root links, "a", "x"'),
    "unknown child": (robot(link("a"), joint("j", "a", "z")), ':3: the <child> of joint "j" is the link "z"'),
    "unknown parent": (robot(link("a"), joint("j", "z", "a")), 'the <parent> of joint "j" is the link "z"'),
    "no parent": (robot(link("a"), "<joint name='j' type='fixed'><child link='a'/></joint>"), '"j" has no <parent>'),
    "no link": (
        robot(link("a"), "<joint name='j' type='fixed'><parent/></joint>"),
        '<parent> of joint "j" has no "link"',
    ),
    "two parents": (
        robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("k", "a", "c"), joint("l", "c", "b")),
        'the link "b" is the child of two joints, "j" and "l"',
    ),
    "all in a cycle": (
        robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        "there is no root link; the joint(s)",
    ),
    "a cycle aside": (
        robot(link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        "form a cycle",
    ),
    "its own child": (robot(link("r"), link("a"), joint("j", "a", "a")), 'the joint(s) "j" form a cycle'),
    "unknown type": (robot(link("a"), link("b"), joint("j", "a", "b", "hinge")), 'type="hinge" of joint "j"'),
    "no type": (robot(link("a"), "<joint name='j'/>"), 'the joint "j" has no "type"; choose from revolute'),
    "axis without xyz": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<axis/>")),
        '<axis> of joint "j" has no "xyz"',
    ),
    "zero axis": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<axis xyz='0 0 0'/>")),
        'axis of joint "j" is zero',
    ),
    "two axes": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<axis xyz='0 0 1'/>" * 2)),
        "more than one <axis>",
    ),
    "short vector": (robot(link("a"), link("b"), joint("j", "a", "b", inside="<origin xyz='0 0'/>")), 'xyz="0 0"'),
    "NaN": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<origin rpy='0 nan 0'/>")),
        "3 numbers that are finite",
    ),
    "infinite": (robot(link("a"), link("b"), joint("j", "a", "b", inside="<origin xyz='0 inf 0'/>")), "finite"),
    "limit NaN": (robot(link("a"), link("b"), joint("j", "a", "b", inside="<limit lower='nan'/>")), 'lower="nan"'),
    "damping": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<dynamics damping='-1'/>")),
        "damping of joint",
    ),
    "text for damping": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<dynamics damping='x'/>")),
        'damping="x"',
    ),
    "mass text": (robot(link("a", INERTIAL.replace("'1'/><inertia", "'heavy'/><inertia"))), 'value="heavy"'),
    "negative mass": (robot(link("a", INERTIAL.replace("'1'/><inertia", "'-1'/><inertia"))), 'mass of link "a" is -1'),
    "no mass": (
        robot(link("a", "<inertial><inertia ixx='1'/></inertial>")),
        'has no <mass> with a value; correct it, or read the file with inertia="repair" (and 1 more error)',
    ),
    "no inertia": (robot(link("a", "<inertial><mass value='1'/></inertial>")), 'link "a" has no <inertia>'),
    "no mass element": (robot(link("a", INERTIAL.replace("<mass value='1'/>", ""))), 'link "a" has no <mass>'),
    "negative inertia": (robot(link("a", INERTIAL.replace("ixx='1'", "ixx='-1'"))), "negative moment"),
    "two inertials": (robot(link("a", INERTIAL * 2)), "more than one <inertial>"),
    "nothing moves": (robot(link("a")), 'base="free"'),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(case, tmp_path, capfd):
    text, words = BAD[case]
    path = tmp_path / "broken.urdf"
    path.write_text(text)
    with pytest.raises(UrdfError, match=re.escape(words)) as caught:
        load_urdf(path)
    assert str(caught.value).startswith("broken.urdf:")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_massless_finger_is_refused_where_accelerations_are_asked_for():
    """Real files have them: the kinematics load, the dynamics raise, and the joint is named."""
    model = load_urdf(robot(link("a"), link("b", ""), joint("j", "a", "b")))
    q, v = model.neutral(), model.zero_velocity()
    assert model.frame_pose("b", q).shape == (4, 4) and model.rnea(q, v, v).shape == (1,)
    for ask in (
        lambda: model.aba(q, v, v),
        lambda: model.velocity_from_momentum(q, v),
        lambda: vt.simulate(model, q, v, duration=0.1, dt=0.01),
        model.require_invertible_mass_matrix,
    ):
        with pytest.raises(ModelError, match='joint "j" moves no mass'):
            ask()


def test_bad_paths_and_arguments(tmp_path):
    with pytest.raises(UrdfError, match=r"^absent\.urdf: there is no such file"):
        load_urdf(tmp_path / "absent.urdf")
    with pytest.raises(UrdfError, match="find_robot"):
        load_urdf("panda-without-a-path")
    with pytest.raises(UrdfError, match="is a folder"):
        load_urdf(tmp_path)
    with pytest.raises(InputError, match='"fixed", "free", "euler"'):
        load_urdf(robot(*ARM), "floating")
    with pytest.raises(InputError, match="path"):
        load_urdf(3)


def test_an_unwise_inertia_is_said_to_be_one():
    inertia = "<inertia ixx='1' ixy='0' ixz='2' iyy='1' iyz='0' izz='1'/>"
    text = robot(link("a"), link("b", f"<inertial><mass value='1'/>{inertia}</inertial>"), joint("j", "a", "b"))
    assert [f.id for f in flat_of(text).report.of("warning")] == ["inertia-negative", "limit-missing"]


# ---- real robots --------------------------------------------------------------------------------

needs_examples = pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")


@pytest.mark.parametrize("name", own_robots())
def test_our_own_robots_load(name):
    for base in ("fixed", "free", "euler"):
        read_urdf(own_robots()[name], base).flatten()


#: Of the 77 files of version 5 one has no links, and one a joint to a link that is not there.
NOT_LOADABLE = {"ur_description/ur3": "no <link>", "falcon_description/falcon": "Z_propeller"}
#: Some have fingers without mass: their kinematics load.
MASSLESS = {
    "romeo_description/romeo": "RThumb3", "romeo_description/romeo_laas_small": "r_gripper_joint",
    "bluevolta_description/bluevolta_bravo7_gripper": "bravo_finger2_joint",
    "bravo7_description/bravo7_gripper": "bravo_finger2_joint",
    "falcon_description/falcon_bravo7_gripper": "bravo_finger2_joint",
}  # fmt: skip


@needs_examples
def test_every_example_robot_loads(capfd):
    for name, path in example_robots().items():
        if name in NOT_LOADABLE:
            with pytest.raises(UrdfError, match=NOT_LOADABLE[name]):
                load_urdf(path, "free")
        else:
            model = load_urdf(path, "free")
            flat = model.flat
            assert (model.singular is not None) == (name in MASSLESS)
            assert name not in MASSLESS or f'"{MASSLESS[name]}" moves no mass' in model.singular
            assert np.isfinite(flat.inertia).all() and len(flat.frame_names) == len(set(flat.frame_names))
    assert capfd.readouterr() == ("", "")


PEERS = (
    "talos_full_v2", "anymal_c", "anymal_b", "panda", "ur5", "g1_29dof", "allegro_left_hand", "simple_humanoid", "bolt",
    "human_description/human", "tiago_pro", "icub",
)  # fmt: skip


@needs_examples
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_placements_and_inertias_are_pinocchios(name, base):
    pin = pytest.importorskip("pinocchio")
    path = find_robot(name)
    flat = flat_of(path, base)
    peer = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "free" else []))
    data = peer.createData()
    assert len(flat.damping) == peer.nv
    frames = {(f.name, f.type == pin.FrameType.BODY): k for k, f in enumerate(peer.frames)}
    free_world = base == "free" and "world" in flat.link_names  # the peer lets it float
    rng = np.random.default_rng(5)
    for _ in range(2):
        q, _ = random_state(flat, rng)
        peer_q = pin.neutral(peer)
        for found in flat.joints:
            other = peer.joints[peer.getJointId(found.name)]
            own = q[found.q_slice]
            wrapped = other.nq == 2 and other.nv == 1  # (cos, sin) of a continuous joint
            peer_q[other.idx_q : other.idx_q + other.nq] = [np.cos(own[0]), np.sin(own[0])] if wrapped else own
        pin.framesForwardKinematics(peer, data, peer_q)
        bodies = reference.body_poses(flat, q)
        for k, frame in enumerate(flat.frame_names):
            if frame == "world" and free_world:
                continue
            local = reference.pose(flat.frame_E[k], flat.frame_p[k])
            at = flat.frame_body[k]
            T = local if at < 0 else bodies[at] @ local
            close(T, data.oMf[frames[frame, frame in flat.link_names]].homogeneous, 1e-12)
    for i, found in enumerate(flat.joints):  # every joint of these robots is one body
        # the peer's joint frame is the child link's; bring its inertia to our core frame
        k = flat.frame_names.index(found.child)
        inertia = peer.inertias[peer.getJointId(found.name)]
        R, p = flat.frame_E[k], flat.frame_p[k]
        assert flat.frame_body[k] == i
        close(flat.mass[i], inertia.mass, 1e-12)
        close(flat.com[i], R @ inertia.lever + p, 1e-12)
        close(flat.inertia[i], R @ inertia.inertia @ R.T, 1e-12)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled):
    """Files load without it; an error leaves it no other than a model does."""
    (gc.enable if enabled else gc.disable)()
    try:
        vt.load_urdf(vt.find_robot("double_pendulum"))
        with pytest.raises(vt.UrdfError):
            vt.load_urdf("<robot/>")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
