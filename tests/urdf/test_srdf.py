"""Reference configurations: the group states of SRDF files, beside Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.urdf.robots import example_robots, find_robot

SRDF = """<robot name="r">
  <group_state name="up" group="all">
    <joint name="shoulder" value="0.5"/><joint name="elbow" value="1 2"/><joint name="none" value="1"/>
  </group_state>
  <group_state name="nan" group="all"><joint name="shoulder" value="a"/></group_state>
</robot>"""
robots = pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")


def arm():
    tree = vt.Tree("r")
    tree.world.add(vt.rx("shoulder"), vt.body("a", 1.0, (1, 1, 1)), vt.ry("elbow"), vt.body("b", 1.0, (1, 1, 1)))
    return tree.compile()


def test_values_go_to_the_joints_that_they_name(tmp_path):
    file = tmp_path / "r.srdf"
    file.write_text(SRDF)
    found = vt.reference_configurations(arm(), file)
    assert list(found) == ["up", "nan"]
    assert np.array_equal(found["up"], [0.5, 0.0]) and np.array_equal(found["nan"], [0.0, 0.0])


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(vt.UrdfError, match=r"r\.srdf cannot be read"):
        vt.reference_configurations(arm(), tmp_path / "r.srdf")
    with pytest.raises(vt.InputError, match="has no SRDF file"):
        vt.reference_configurations(arm(), "double_pendulum")
    with pytest.raises(vt.InputError, match="model"):
        vt.reference_configurations("talos", "talos")


@robots
@pytest.mark.parametrize("name", ["talos", "solo12", "anymal", "hyq", "romeo", "kinova"])
def test_configurations_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    path = find_robot(name)
    base = "fixed" if name == "kinova" else "free"
    model = vt.load_urdf(path, base=base)
    floating = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    theirs = pin.buildModelFromUrdf(str(path), *floating)
    from vitree.urdf.srdf import _file_beside

    pin.loadReferenceConfigurations(theirs, str(_file_beside(path)), False)
    ours = vt.reference_configurations(model, path)
    assert len(ours) and set(ours) == {one.key() for one in theirs.referenceConfigurations}
    for state, q in ours.items():
        expected = np.array(theirs.referenceConfigurations[state])
        for joint in model.joints:
            j = theirs.getJointId(joint.name) if theirs.existJointName(joint.name) else 1
            one = theirs.joints[j]
            at = slice(one.idx_q, one.idx_q + one.nq)
            if one.nq == joint.q_slice.stop - joint.q_slice.start:  # continuous joints are (cos, sin) there
                assert np.array_equal(q[joint.q_slice], expected[at]), (state, joint.name)
