"""Files as people have them: read where they mean one thing, with a finding; errors name the option that helps."""

from __future__ import annotations

import numpy as np
import pytest
from robot_texts import TWO_LINKS

import vitree as vt
from vitree.errors import ModelError, UrdfError
from vitree.findings import Finding, Report
from vitree.spatial.rotations import angles_rpy, rotation_rpy

INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
BOX = "<collision><geometry><box size='0.1 0.2 0.3'/></geometry></collision>"


def link(name, content=INERTIAL):
    return f"<link name='{name}'>{content}</link>\n"


def joint(name, parent, child, kind="revolute", more="<axis xyz='0 1 0'/><limit lower='-1' upper='1'/>", place=""):
    ends = f"<parent link='{parent}'/><child link='{child}'/>"
    return f"<joint name='{name}' type='{kind}'><origin xyz='0 0 0.5' {place}/>{ends}{more}</joint>\n"


def robot(*parts):
    return "<robot name='r'>\n" + "".join(parts) + "</robot>"


def ids(model, *severities):
    return [finding.id for finding in model.report.of(*(severities or ("error", "warning", "repair")))]


# ---- joints that move no mass ------------------------------------------------------------------------------------

TOOL = robot(link("base", ""), link("arm"), link("tool", BOX), joint("j", "base", "arm"), joint("turn", "arm", "tool"))
#: A file, options of the reader, and what the error of a run says before the remedies.
MASSLESS = {
    "tool frame": (TOOL, {}, 'the joint "turn" moves no mass'),
    "root": (robot(link("base", BOX), link("arm"), joint("j", "base", "arm")), {"base": "free"},
             'the root has no mass, and the free joint "root_joint" can move with the joints below it without moving'),
    "rod about itself": (
        robot(link("base", ""), link("rod", INERTIAL.replace("izz='1'", "izz='0'") + BOX),
              joint("j", "base", "rod", more="<axis xyz='0 0 1'/><limit lower='-1' upper='1'/>")), {},
        'the joint "j" feels no inertia'),
}  # fmt: skip


@pytest.mark.parametrize("case", MASSLESS)
def test_the_error_of_a_joint_that_moves_no_mass_names_what_helps(case):
    text, options, words = MASSLESS[case]
    model = vt.load_urdf(text, **options)
    with pytest.raises(ModelError, match=words) as told:
        vt.simulate(model, duration=0.01, dt=1e-3)
    assert "armature=1e-3 gives joints the inertia of rotors" in str(told.value)
    assert next(found.text for found in model.report.of("warning") if found.id == "massless").startswith(words)
    run = vt.simulate(vt.load_urdf(text, armature=1e-3, **options), duration=0.2, dt=1e-3)
    assert np.isfinite(run.q).all()
    if case != "rod about itself":
        assert 'inertia="geometry"' in str(told.value)
        assert vt.load_urdf(text, inertia="geometry", **options).singular is None


def test_a_body_whose_file_has_a_mass_alone_takes_the_inertia_of_its_shape():
    """Rotors would not help a free joint, and are not named."""
    zero = "".join(f" {each}='0'" for each in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    text = robot(link("base", f"<inertial><mass value='1'/><inertia{zero}/></inertial>{BOX}"))
    with pytest.raises(ModelError, match=r'inertia="geometry" gives the links of a file that of their') as told:
        vt.simulate(vt.load_urdf(text, base="free"), duration=0.01, dt=1e-3)
    assert "armature" not in str(told.value)
    whole = vt.load_urdf(text, base="free", inertia="geometry")
    np.testing.assert_allclose(whole.crba(whole.neutral())[3:, 3:], np.diag([0.13, 0.1, 0.05]) / 12, atol=1e-12)


def test_a_robot_without_mass_has_no_center_of_mass():
    model = vt.load_urdf(robot(link("base", ""), link("tool", BOX), joint("j", "base", "tool")), armature=1e-3)
    with pytest.raises(ModelError, match='"r" has no mass, and so no center of mass; inertia="geometry"'):
        model.center_of_mass(model.neutral())


def test_two_hinges_on_one_line_are_not_a_root_without_mass():
    tree = vt.Tree("t")
    tree.world.add(vt.rz("a"), vt.tz(1.0), vt.rz("b"), vt.body("b", 1.0, inertia=np.eye(3)))
    with pytest.raises(ModelError, match=r"two collinear hinges\); armature=1e-3"):
        vt.simulate(tree.compile(), duration=0.01, dt=1e-3)


# ---- what is read mildly ---------------------------------------------------------------------------------------


def test_a_quaternion_is_the_same_turn():
    rng = np.random.default_rng(3)
    for q in [*rng.normal(size=(20, 4)), [0, 0.5**0.5, 0, 0.5**0.5], [0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 0, -1]]:
        q = np.array(q) / np.linalg.norm(q)
        place = f"quat_xyzw='{' '.join(map(repr, q.tolist()))}'"
        model = vt.load_urdf(robot(link("base", ""), link("arm"), joint("j", "base", "arm", place=place)))
        x, y, z, w = q
        R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                      [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                      [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])  # fmt: skip
        assert np.abs(model.frame_pose("arm", [0.0])[:3, :3] - R).max() < 1e-15 * 4
        assert not ids(model)


def test_angles_of_rotations_are_as_exact_at_quarter_turns():
    rng = np.random.default_rng(4)
    for roll, pitch, yaw in [*rng.uniform(-np.pi, np.pi, (50, 3)), (0.3, np.pi / 2, 0.4), (0.1, -np.pi / 2, 2.0),
                             (0.2, np.pi / 2 - 1e-9, -1.0)]:  # fmt: skip
        R = rotation_rpy(roll, pitch, yaw)
        assert np.abs(rotation_rpy(*angles_rpy(R)) - R).max() < 2e-15


def test_a_spherical_joint_is_a_ball_joint():
    model = vt.load_urdf(robot(link("base", ""), link("arm"), joint("j", "base", "arm", "spherical")))
    assert [each.kind for each in model.joints] == ["ball"] and (model.nq, model.nv) == (4, 3)
    assert ids(model) == ["limit-ignored"]
    tree = vt.Tree("t")
    tree.world.add(vt.tz(0.5), vt.ball("j"), vt.body("arm", 1.0, inertia=np.eye(3)))
    q = np.array([0.1, 0.2, 0.3, 0.9])
    q /= np.linalg.norm(q)
    assert np.array_equal(model.crba(q), tree.compile().crba(q))
    loop = robot(link("a", ""), link("b"), link("c"), joint("j", "a", "b"), joint("k", "b", "c"),
                 joint("l", "a", "c", "spherical", more=""))  # fmt: skip
    assert ids(vt.load_urdf(loop, loops="constraints")) == []
    with pytest.raises(UrdfError, match='the joint "j" on the path to the root "arm" is spherical'):
        vt.load_urdf(robot(link("base"), link("arm"), joint("j", "base", "arm", "spherical", "")), root="arm")


@pytest.mark.parametrize(("limit", "expected", "rules"), [
    ("<limit effort='10' velocity='2'/>", (-np.inf, np.inf), ["limit-missing"]),
    ("<limit upper='1.5' effort='10' velocity='2'/>", (0.0, 1.5), []),
    ("<limit lower='-1.5' effort='10' velocity='2'/>", (-1.5, 0.0), []),
    ("<limit lower='0' upper='0' effort='10' velocity='2'/>", (0.0, 0.0), ["limit-equal"]),
])  # fmt: skip
def test_limits_without_bounds(limit, expected, rules):
    text = robot(link("base", ""), link("arm"), joint("j", "base", "arm", more=f"<axis xyz='0 1 0'/>{limit}"))
    model = vt.load_urdf(text, limits="enforce")
    assert (*model.joints[0].lower, *model.joints[0].upper) == expected
    assert (*model.joints[0].effort, *model.joints[0].velocity) == (10.0, 2.0)
    assert ids(model) == rules
    one = [finding.text for finding in model.report if finding.id == "limit-half"]
    assert bool(one) == (limit.count("er=") == 1 and "effort" in limit)
    run = vt.simulate(model, v0=[-0.5 if expected == (-1.5, 0.0) else 0.5], duration=0.1, dt=1e-3)
    assert (abs(run.q[-1, 0]) > 1e-3) == (expected != (0.0, 0.0))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_what_follows_a_fixed_joint_stands_at_its_offset(kind):
    """So do those that follow it; a robot with the joints fixed there is the same."""
    more = "<axis xyz='0 1 0'/><limit lower='-1' upper='1'/>"
    links = [link(name) for name in "abcde"]
    parts = [*links, joint("move", "a", "b"), joint("f", "b", "c", "fixed", ""),
             joint("late", "d", "e", kind, more + "<mimic joint='g' multiplier='2' offset='0.1'/>"),
             joint("g", "c", "d", kind, more + "<mimic joint='f' multiplier='3' offset='0.25'/>")]  # fmt: skip
    model = vt.load_urdf(robot(*parts))
    assert ids(model) == ["mimic-still"] and model.joint_names == ("move",)
    free = vt.load_urdf(robot(*parts), mimic="independent")
    assert free.joint_names == ("move", "g", "late") and set(ids(free)) == {"mimic-leader"}
    for name in "de":
        there = free.frame_pose(name, [0.3, 0.25, 0.6])
        assert np.abs(model.frame_pose(name, [0.3]) - there).max() < 1e-15
    assert abs(model.crba([0.3])[0, 0] - free.crba([0.3, 0.25, 0.6])[0, 0]) < 1e-13
    assert "g" in model.frame_names and "late" in model.frame_names


def test_a_world_that_is_not_in_the_file_is_the_world():
    text = robot(link("arm"), joint("j", "world", "arm"))
    model = vt.load_urdf(text)
    given = vt.load_urdf(robot(link("world", ""), link("arm"), joint("j", "world", "arm")))
    assert ids(model) == ["world-missing"] and model.frame_names == given.frame_names
    assert np.array_equal(model.crba([0.2]), given.crba([0.2]))
    welded = robot(link("arm"), link("hand"), joint("w", "world", "arm", "fixed", ""), joint("j", "arm", "hand"))
    assert [each.name for each in vt.load_urdf(welded, "free").joints] == ["root_joint", "j"]
    with pytest.raises(UrdfError, match='the link "World", which is not in the file'):
        vt.load_urdf(text.replace("'world'", "'World'"))


def test_a_robot_without_a_name_has_that_of_its_file(tmp_path):
    text = TWO_LINKS.replace(' name="two"', "")
    path = tmp_path / "my_arm.v2.urdf"
    path.write_text(text)
    model = vt.load_urdf(path)
    assert model.name == "my_arm" and ids(model) == ["robot-name"]
    assert vt.load_urdf(text).name == "robot" and vt.load_urdf(text, name="other").name == "other"


def test_the_error_of_several_roots_names_the_largest():
    text = robot(link("lamp"), link("base"), link("arm"), joint("j", "base", "arm"))
    with pytest.raises(UrdfError, match='choose one, such as root="base"'):
        vt.load_urdf(text)
    assert vt.load_urdf(text, root="base").nv == 1


# ---- reports ---------------------------------------------------------------------------------------------------


def test_findings_that_say_the_same_are_one_line():
    joints = "".join(joint(f"j{k}", f"l{k}", f"l{k + 1}", more="<axis xyz='0 1 0'/><safety x='1'/><tune/>")
                     for k in range(9))  # fmt: skip
    model = vt.load_urdf(robot(*(link(f"l{k}") for k in range(10)), joints))
    assert len(model.report.of("warning")) == 27
    lines = model.report.of("warning").lines()
    assert len(lines) == 3 and str(model.report.of("warning")) == "\n".join(lines)
    assert {line.split("<")[2][:4] for line in lines[:2]} == {"safe", "tune"}
    assert lines[1].endswith("(and 8 more such, on lines 13, 14, 15, 16, 17 ...)")


def test_reports_count_what_differs_in_names_and_numbers():
    def found(text, line=None, **more):
        return Finding("rule", "warning", text, "f", line, **more)

    report = Report([found('the joint "a" has 1.5e-3'), found('the joint "b" has -2'), found('the link "a" has 3')])
    assert report.lines() == ['f: warning rule: the joint "a" has 1.5e-3 (and 1 more such)',
                              'f: warning rule: the link "a" has 3']  # fmt: skip
    assert len(Report([found("x", 1), found("x", 2, part="left_"), found("x", 3)]).lines()) == 2
    assert Report([found("x", 1), found("x", 3)]).lines() == ["f:1: warning rule: x (and 1 more such, on line 3)"]
    assert str(Report()) == ""


# ---- wheels ---------------------------------------------------------------------------------------------------------

WHEEL = """<link name="{name}"><inertial><mass value="0.5"/>
  <inertia ixx="2e-3" iyy="3e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin rpy="{roll} 0 0" xyz="0 0 {z}"/><geometry><cylinder radius="0.1" length="0.05"/></geometry>
  </collision></link>
  <joint name="{name}_axle" type="{kind}"><parent link="cart"/><child link="{name}"/><origin xyz="{x} {y} 0"/>
  <axis xyz="0 1 0"/></joint>"""
CART = """<robot name="cart"><link name="cart"><inertial><mass value="10"/>
  <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>{wheels}</robot>"""


def cart(roll=np.pi / 2, z=0.0, kind="continuous"):
    places = (("fl", 0.2, 0.2), ("fr", 0.2, -0.2), ("rl", -0.2, 0.2), ("rr", -0.2, -0.2))
    return CART.replace("{wheels}", "".join(
        WHEEL.format(name=name, x=x, y=y, roll=repr(float(roll)), z=z, kind=kind) for name, x, y in places
    ))  # fmt: skip


def test_a_cart_on_cylinders_rolls_as_far_as_its_wheels_turn():
    model = vt.load_urdf(cart(), "free", ground=vt.Ground(friction=0.7))
    v = np.concatenate([[0.4, 0, 0, 0, 0, 0], np.full(4, 4.0)])
    run = vt.simulate(model, vt.place_on_ground(model, model.neutral()), v, duration=5.0, dt=2e-3)
    assert run.q[-1, :3] == pytest.approx([2.0, 0.0, 0.1], abs=1e-9)
    assert 0.1 * run.q[-1, 7:] == pytest.approx(2.0, abs=1e-9)
    assert run.contacts.gap.min() > -1e-9


@pytest.mark.parametrize(("written", "wheels"), [
    ({}, 4), ({"roll": -np.pi / 2}, 4), ({"roll": 0.0}, 0), ({"z": 0.05}, 0), ({"kind": "fixed"}, 0),
])  # fmt: skip
def test_wheels_are_told(written, wheels):
    report = vt.check_urdf(cart(**written), "free")
    assert sum(each.id == "wheel" for each in report) == wheels
    assert sum("a wheel" in line for line in report.lines()) == bool(wheels)
