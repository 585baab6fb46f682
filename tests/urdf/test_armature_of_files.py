"""Armature in robot files: by number, by patterns of names, from transmissions; and written."""

from __future__ import annotations

import re

import numpy as np
import pytest
from robot_texts import TWO_LINKS as TWO

import vitree as vt
from vitree.errors import InputError, UnknownNameError, UrdfError


def test_by_number_and_by_patterns():
    assert vt.load_urdf(TWO, armature=0.2).armature.tolist() == [0.2, 0.2]
    # the first pattern that fits counts
    assert vt.load_urdf(TWO, armature={"s*": 0.1, "*": 0.3}).armature.tolist() == [0.1, 0.3]
    assert vt.load_urdf(TWO, armature={"*": 0.3, "s*": 0.1}).armature.tolist() == [0.3, 0.3]
    assert vt.load_urdf(TWO, armature={"elbow": 0.1}).armature.tolist() == [0.0, 0.1]
    assert not vt.load_urdf(TWO).armature.any()
    # joints that the reader adds have none
    for base in ("free", "euler"):
        model = vt.load_urdf(TWO, base=base, armature=0.2)
        assert model.armature.tolist() == [0.0] * 6 + [0.2, 0.2]
        assert model.report == vt.load_urdf(TWO, base=base).report
    with pytest.raises(UnknownNameError, match='no joint of one coordinate "elbo"; did you mean "elbow"'):
        vt.load_urdf(TWO, armature={"elbo": 0.1})
    with pytest.raises(UnknownNameError, match=r'no joint of one coordinate that fits "knee\*".*shoulder, elbow'):
        vt.load_urdf(TWO, armature={"knee*": 0.1, "*": 0.2})
    with pytest.raises(UnknownNameError, match="root_joint"):
        vt.load_urdf(TWO, base="euler", armature={"root_joint*": 0.1})
    for wrong in (-0.1, np.nan, np.inf, "0.1x", True, {"elbow": -1.0}, {"elbow": None}, {3: 0.1}, [0.1, 0.2]):
        with pytest.raises(InputError, match="armature"):
            vt.load_urdf(TWO, armature=wrong)


DRIVE = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
  <joint name="elbow">{joint}</joint><actuator name="m">{actuator}</actuator>{rest}</transmission></robot>"""
ROTOR = '<drake:rotor_inertia value="2e-4"/>'


@pytest.mark.parametrize(("parts", "expected"), [
    ({"actuator": ROTOR}, 2e-4), ({"actuator": ROTOR + "<mechanicalReduction>50</mechanicalReduction>"}, 0.5),
    ({"actuator": ROTOR + '<drake:gear_ratio value="-10"/>'}, 0.02),
    ({"actuator": ROTOR + '<drake:gear_ratio value="10"/><mechanicalReduction>50</mechanicalReduction>'}, 0.02),
    ({"actuator": ROTOR, "joint": "<mechanicalReduction> 20 </mechanicalReduction>"}, 0.08),
    ({"actuator": ROTOR, "rest": "<mechanicalReduction>20</mechanicalReduction>"}, 0.08),
    ({"actuator": "<rotor_inertia>2e-4</rotor_inertia>"}, 2e-4),
    ({"actuator": "<mechanicalReduction>50</mechanicalReduction>"}, 0.0)], ids=range(8))  # fmt: skip
def test_transmissions(parts, expected):
    text = TWO.replace("</robot>", DRIVE.format(**{"joint": "", "actuator": "", "rest": ""} | parts))
    model = vt.load_urdf(text)
    assert model.armature.tolist() == [0.0, pytest.approx(expected, rel=1e-15)]
    assert ("rotors" in {f.id for f in model.report}) == (expected > 0)
    assert ("ignored: <transmission>" in str(model.report)) == (expected == 0)
    # what is given counts more
    assert vt.load_urdf(text, armature={"elbow": 7.0}).armature.tolist() == [0.0, 7.0]
    assert vt.load_urdf(text, armature={"shoulder": 7.0}).armature.tolist()[1] == pytest.approx(expected, rel=1e-15)
    assert not vt.load_urdf(text, armature=0).armature.any()


def test_several_actuators_add_up():
    two = ROTOR + '<drake:gear_ratio value="10"/></actuator><actuator name="n">' + ROTOR
    text = TWO.replace("</robot>", DRIVE.format(joint="", actuator=two, rest=""))
    assert vt.load_urdf(text).armature[1] == pytest.approx(2e-4 * 101, rel=1e-14)


@pytest.mark.parametrize(("actuator", "match"), [
    ('<drake:rotor_inertia value="-1"/>', "zero or more"), ('<drake:rotor_inertia value="nan"/>', "zero or more"),
    ("<drake:rotor_inertia/>", "zero or more"), ('<drake:rotor_inertia value="1e300"/>', "zero or more"),
    (ROTOR + "<mechanicalReduction>0</mechanicalReduction>", "other than zero"),
    (ROTOR + "<mechanicalReduction>many</mechanicalReduction>", "other than zero")])  # fmt: skip
def test_wrong_rotors_are_errors(actuator, match):
    text = TWO.replace("</robot>", DRIVE.format(joint="", actuator=actuator, rest=""))
    with pytest.raises(UrdfError, match=f'of joint "elbow" is .*{match}'):
        vt.load_urdf(text)


@pytest.mark.parametrize(("joint", "match"), [("elbo", 'not in the file .did you mean "elbow"'), ("weld", "is fixed")])
def test_rotors_of_other_joints_are_left_out(joint, match):
    more = '<link name="tip"/><joint name="weld" type="fixed"><parent link="{}"/><child link="tip"/></joint></robot>'
    text = TWO.replace("</robot>", more.format(vt.load_urdf(TWO).link_names[-1]))
    text = text.replace("</robot>", DRIVE.format(joint="", actuator=ROTOR, rest="").replace("elbow", joint))
    model = vt.load_urdf(text)
    assert not model.armature.any()
    (finding,) = (f for f in model.report if f.id == "rotor-joint")
    assert re.search(match, finding.text)


def test_it_is_written_and_read_back():
    model = vt.load_urdf(TWO, armature={"elbow": 0.123})
    text = vt.write_urdf(model)
    again = vt.load_urdf(text)
    assert np.array_equal(again.armature, model.armature) and vt.write_urdf(again) == text
    assert "drake" not in vt.write_urdf(vt.load_urdf(TWO))
    # a planar joint with rotors becomes a chain
    tree = vt.Tree("table")
    tree.world.add(*vt.planar("slab", armature=0.3), vt.body("top", 1.0, (1, 1, 1)))
    assert vt.load_urdf(vt.write_urdf(tree)).armature.tolist() == [0.3] * 3


def test_a_follower_counts_with_its_gain_squared():
    def robot(armature):
        return vt.load_urdf(TWO.replace("</joint>", '<mimic joint="shoulder" multiplier="-2"/></joint>', 2).replace(
            '<mimic joint="shoulder" multiplier="-2"/></joint>', "</joint>", 1), armature=armature)  # fmt: skip

    model = robot({"shoulder": 0.5, "elbow": 0.3})
    assert isinstance(model, vt.ReducedModel)
    assert model.armature[0] == pytest.approx(0.5 + 4 * 0.3, rel=1e-15)
    q, v = np.array([0.4]), np.array([1.3])
    bare = robot(None)
    assert model.crba(q)[0, 0] - bare.crba(q)[0, 0] == pytest.approx(1.7, rel=1e-13)
    assert model.kinetic_energy(q, v) == pytest.approx(0.5 * v @ model.crba(q) @ v, rel=1e-13)
    assert model.rnea(q, v, [2.0])[0] - bare.rnea(q, v, [2.0])[0] == pytest.approx(3.4, rel=1e-12)


def test_transmissions_are_those_of_robots_and_of_ros2_control():
    drive = DRIVE.format(joint="", actuator=ROTOR, rest="").removesuffix("</robot>")
    for around, counts in (("{}", True), ("<ros2_control>{}</ros2_control>", True), ("<gazebo>{}</gazebo>", False),
                           ("<robot>{}</robot>", False)):  # fmt: skip
        model = vt.load_urdf(TWO.replace("</robot>", around.format(drive) + "</robot>"))
        assert model.armature.any() == counts, around


@pytest.mark.parametrize("number", ["1_0", "\u0661\u0660"])  # float() takes both
def test_numbers_of_transmissions_are_those_of_xml(number):
    actuator = ROTOR + f"<mechanicalReduction>{number}</mechanicalReduction>"
    text = TWO.replace("</robot>", DRIVE.format(joint="", actuator=actuator, rest=""))
    with pytest.raises(UrdfError, match=r'of joint "elbow" is .*other than zero'):
        vt.load_urdf(text)
