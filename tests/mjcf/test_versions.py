"""What a file switches off is off, and what an older MuJoCo does not know is read as if it were not there."""

from __future__ import annotations

import numpy as np
import pytest
from mjcf_texts import INERTIAL, OTHER, mjcf

import vitree as vt
from vitree.mjcf import reader
from vitree.mjcf.guard import MOST_DEPTH

mujoco = pytest.importorskip("mujoco")

#: Everything that flags switch off: springs and dampers of joints, tendons and actuators, gravity, actuators.
ARM = f"""<site name="hook" pos="0 0 2"/><body><joint name="a" axis="0 1 0" stiffness="3" damping="0.4"/>{INERTIAL}
    <site name="eye" pos="0.3 0 0.1"/><body pos="0 0 0.4"><joint name="b" axis="1 0 0" damping="0.2"/>{OTHER}</body>
    </body>"""
TENDON = """<tendon><spatial stiffness="30" damping="2" springlength="0.7"><site site="hook"/><site site="eye"/>
    </spatial></tendon>"""
MOTORS = '<actuator><motor joint="b" gear="2" damping="0.3"/><position joint="a" kp="4" kv="1"/></actuator>'
#: Fields of MjModel that came after MuJoCo 3.0.
NEWER = ("actuator_ctrladr", "actuator_ctrlnum", "actuator_plugin", "actuator_delay", "actuator_armature",
         "actuator_damping", "actuator_dampingpoly", "tendon_actfrclimited", "jnt_springyield", "jnt_stiffnesspoly",
         "dof_dampingpoly", "jnt_actgravcomp", "geom_surfacevel", "geom_adhesion")  # fmt: skip


@pytest.mark.parametrize("flag", ["gravity", "spring", "damper", "actuation", None])
def test_what_a_flag_switches_off_is_off(flag):
    options = f'<option><flag {flag}="disable"/></option>' if flag else ""
    robot = vt.from_mujoco(mjcf(ARM, TENDON + MOTORS, options))
    data, model = mujoco.MjData(robot.mujoco), robot.model
    rng, controls = np.random.default_rng(0), np.array([0.3, -0.6])
    for _ in range(3):
        q, v = rng.standard_normal((2, 2))
        data.qpos[:], data.qvel[:], data.ctrl[:] = *robot.to_mujoco(q, v), controls
        mujoco.mj_forward(robot.mujoco, data)
        ours = model.forward_dynamics(q, v, inputs=robot.controls(controls) if flag != "actuation" else None)
        np.testing.assert_allclose(ours.acceleration, data.qacc, atol=1e-11 * np.abs(data.qacc).max())


class Older:
    """A model as an older MuJoCo has it: without some fields."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        if name in NEWER:
            raise AttributeError(name)
        return getattr(self._model, name)


def test_models_of_an_older_mujoco_are_read_alike(monkeypatch):
    motors = MOTORS.replace(' damping="0.3"', "")
    tendon = '<tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed></tendon>'
    text = mjcf(ARM.replace('name="b"', 'name="b" actuatorfrcrange="-2 2"') + '<geom type="plane" size="1 1 1"/>',
                tendon + motors.replace("</actuator>", '<motor tendon="t"/></actuator>'))  # fmt: skip
    new = vt.from_mujoco(text)
    compiled = reader.compiled

    def older(*given):
        model, *others = compiled(*given)
        return Older(model), *others

    monkeypatch.setattr(reader, "compiled", older)
    old = vt.from_mujoco(text)
    assert old.model.digest == new.model.digest
    assert str(old.report) == str(new.report)
    controls = [0.2, 0.3, 0.4]
    np.testing.assert_array_equal(old.controls(controls), new.controls(controls))


@pytest.mark.parametrize("depth", [MOST_DEPTH, MOST_DEPTH + 1])
def test_elements_may_be_nested_as_deep_as_the_message_says(depth, tmp_path):
    text = f"<mujoco><worldbody>{'<body>' * (depth - 2)}{'</body>' * (depth - 2)}</worldbody></mujoco>"
    (tmp_path / "robot.xml").write_text(text)
    told = str(vt.check_mjcf(tmp_path / "robot.xml"))
    assert ("nested deeper" in told) == (depth > MOST_DEPTH), told
