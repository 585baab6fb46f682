"""Each note of the reader of MJCF has a model that asks for it, and one that does not; limits of joints are taken."""

from __future__ import annotations

import numpy as np
import pytest
from mjcf_texts import INERTIAL, mjcf

import vitree as vt

mujoco = pytest.importorskip("mujoco")

FLOOR = '<geom type="plane" size="1 1 1"{}/>'
BALL = '<body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"{}/></body>'


def touching(floor="", ball="", more=""):
    return mjcf(FLOOR.format(floor) + BALL.format(ball) + more)


NOTES = {
    "adhesion and velocities of surfaces": [
        touching(floor=' surfacevel="1 0 0 0 0 0"'), touching(ball=' adhesion="1"')],
    "the larger friction of their contacts with the ground": [touching(more=BALL.replace("0 0 1", "1 0 1").format(""))],
}  # fmt: skip


def notes(text):
    try:
        return " ".join(finding.text for finding in vt.check_mjcf(text))
    except AttributeError:
        return " ".join(map(str, vt.check_mjcf(text)))


@pytest.mark.parametrize("note", NOTES)
def test_a_note_is_there_where_it_is_true_alone(note):
    for text in NOTES[note]:
        try:
            mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue  # an older MuJoCo does not know it
        assert note in notes(text), text
    assert note not in notes(touching())


def test_what_hulls_lose_is_a_note_where_they_lose_anything():
    rng = np.random.default_rng(0)
    for count, lost in ((4, True), (64, False)):
        spec = mujoco.MjSpec()
        spec.add_mesh(name="m", uservert=rng.normal(size=60).tolist())
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
        body = spec.worldbody.add_body(pos=[0, 0, 5])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
        report = vt.from_mujoco(spec, meshes=vt.Meshes(points=count)).model.report
        assert ("hulls of few points lose up to" in str(report)) == lost


def test_softness_is_always_told():
    assert "softness of contacts" in notes(touching())


@pytest.mark.parametrize(("limits", "effort"), [
    ('actuatorfrcrange="-3 5"', 5.0), ('actuatorfrcrange="-7 2"', 7.0), ('actuatorfrcrange="-4 4"', 4.0),
    ('actuatorfrcrange="-3 5" actuatorfrclimited="false"', None), ("", None)])  # fmt: skip
@pytest.mark.parametrize("motor", [None, "-2 2", "-6 6", "-90 90"])
def test_the_limit_of_force_is_the_least_of_joint_and_motor(limits, effort, motor):
    body = f'<body><joint name="j" {limits}/>{INERTIAL}</body>'
    more = "" if motor is None else f'<actuator><motor joint="j" ctrlrange="{motor}" forcerange="{motor}"/></actuator>'
    joint = vt.load_mjcf(mjcf(body, more)).joint("j")
    alone = vt.load_mjcf(mjcf(f'<body><joint name="j"/>{INERTIAL}</body>', more)).joint("j").effort
    known = [x for x in (effort, *alone) if x is not None]
    assert min(joint.effort) == min(known)
