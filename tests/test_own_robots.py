"""The robots that ship with vitree: readable by others, physically valid, and as their sources say."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import vitree as vt
from vitree.robots import own_robots

URDF = pathlib.Path(__file__).parent.parent / "urdf"
DEGREES = {"pendulum": 1, "double_pendulum": 2, "chain10": 10, "arm6": 6, "human": 35}


@pytest.fixture(params=DEGREES)
def robot(request):
    return request.param, own_robots()[request.param]


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


def test_mujoco_reads_the_same_robot(robot):
    name, path = robot
    if name == "human":  # it refuses massless moving links
        with pytest.raises(ValueError, match="mass"):
            mujoco.MjModel.from_xml_path(str(path))
        return
    peer = mujoco.MjModel.from_xml_path(str(path))
    assert peer.nv == DEGREES[name]


def test_they_swing_and_keep_their_energy(robot):
    _, path = robot
    model = vt.load_urdf(path)
    run = vt.simulate(model, model.neutral() + 0.3, duration=0.2, dt=1e-3)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-4 * max(run.kinetic.max(), 1e-3)
    assert run.kinetic.max() > 1e-3


def test_the_human_is_de_levas_man():
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    assert model.total_mass == pytest.approx(73.0, rel=1e-9)
    q = model.neutral()
    poses = model.frame_poses(q)
    top = poses["head"][2, 3] + 0.2429
    ankle = poses["left_ankle_inversion"][2, 3]
    assert top - ankle == pytest.approx(1.741 - 0.0323, abs=1e-9)
    # a standing man's centre of mass is at about 0.56 of his height, over his feet
    com = model.center_of_mass(q)
    assert 0.54 < (com[2] - (top - 1.741)) / 1.741 < 0.58
    assert abs(com[1]) < 1e-12 and -0.06 < com[0] < 0.2
    # left and right mirror each other
    for link in model.link_names:
        if link.startswith("left_"):
            left, right = poses[link][:3, 3], poses[link.replace("left_", "right_")][:3, 3]
            assert np.allclose(left * [1, -1, 1], right, atol=1e-12)
    for joint in model.joints:
        if joint.name.startswith("left_"):
            twin = model.joint(joint.name.replace("left_", "right_"))
            swapped = (-joint.upper[0], -joint.lower[0])
            same = (joint.lower[0], joint.upper[0])
            assert (twin.lower[0], twin.upper[0]) == (same if abs(joint.axis[1]) == 1 else swapped)


def test_the_chain_is_that_of_the_paper():
    flat = vt.load_urdf(vt.find_robot("chain10")).flat
    assert np.array_equal(flat.mass, np.ones(10)) and np.allclose(flat.inertia, np.eye(3))
    assert np.allclose(np.linalg.norm(flat.p[1:], axis=1), 1.5)
