"""Starts brought to limits, loops and contacts together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import vitree as vt
from vitree.errors import ConvergenceError, InputError
from vitree.model.starts import near_start


def walker(redundant: bool = False, limits: str = "enforce") -> vt.Model:
    """A box that floats, on four-bar legs whose feet are bars: loops, limits, and ends of bars on the ground."""
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 5.0, (0.1, 0.1, 0.1)))
    for side, y in (("l", 0.1), ("r", -0.1)):
        bars = []
        for end, x in (("front", 0.1), ("back", -0.1)):
            bar = vt.body(f"{side}_{end}_bar", 0.3, (3e-3, 3e-3, 1e-4), com=(0, 0, -0.15))
            bars.append(trunk.add(vt.fixed(xyz=(x, y, 0)), vt.ry(f"{side}_{end}", lower=-0.6, upper=0.6), bar))
        foot = bars[0].add(vt.tz(-0.3), vt.ry(f"{side}_ankle", lower=-0.7, upper=0.7),
                           vt.body(f"{side}_foot", 0.4, (1e-3, 2e-3, 2e-3)))  # fmt: skip
        foot.add(vt.fixed(f"{side}_pin", xyz=(-0.2, 0, 0)))
        bars[1].add(vt.fixed(f"{side}_eye", xyz=(0, 0, -0.3)))
        along = 3 if redundant else [(1, 0, 0), (0, 0, 1)]
        tree.constrain(vt.point_constraint(f"{side}_eye", f"{side}_pin", along, axes="local"))
        points = [(x, d, -0.05) for x in (-0.25, 0.05) for d in (-0.03, 0.03)]
        tree.contact(vt.Contact(f"{side}_foot", points=points))
    tree.contact(vt.Ground())
    tree.limits = limits
    return tree.compile()


def standing(model: vt.Model) -> np.ndarray:
    q = model.neutral()
    q[2] = 0.35
    return q


def wrong(model: vt.Model, q: np.ndarray) -> float:
    """How far anything misses [m or rad]."""
    full, at = model.full, model.expand(q)
    beyond = [max(joint.lower[0] - at[joint.q_slice][0], at[joint.q_slice][0] - joint.upper[0])
              for joint in full.joints if joint.kind != "free"]  # fmt: skip
    return max(np.abs(full.constraint_errors(at)).max(initial=0.0), -full.contact_gaps(at).gap.min(), *beyond)


def test_a_good_start_is_returned_as_it_is():
    model = walker()
    found = vt.feasible_start(model, q := standing(model))
    assert np.array_equal(found.q, q) and found.model is model and found.near
    assert found.amiss == () and found.joint == "" and found.displacement == found.base == found.turn == 0.0
    assert str(found) == "the start needs no change"


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.03, 0.3])
def test_all_is_brought_together(size):
    """Loops, limits and contacts that are off by a little and by much; what is found runs."""
    model, rng = walker(), np.random.default_rng(int(-np.log(size)))
    for _ in range(5):
        q = model.integrate(standing(model), size * rng.normal(size=model.nv))
        found = vt.feasible_start(model, q)
        assert wrong(model, found.q) < 1e-9 < wrong(model, q) or wrong(model, q) < 1e-9
        change = model.difference(q, found.q)
        assert found.base == np.linalg.norm(change[:3]) and found.turn == np.linalg.norm(change[3:6])
        assert found.displacement == np.abs(change[6:]).max()
        assert np.abs(change[model.joint(found.joint).v_slice]) == found.displacement
        assert found.near == (found.base <= 1e-2 and max(found.turn, found.displacement) <= np.radians(1))
        run = vt.simulate(model, found.q, duration=2e-3, dt=1e-3)
        assert np.abs(run.q[0] - found.q).max() < 1e-9 and not run.warnings


def test_a_robot_in_the_floor_is_lifted():
    model = walker()
    q = standing(model)
    q[2] -= 2e-3
    with pytest.raises(InputError, match="overlap"):
        vt.simulate(model, q, duration=1e-3, dt=1e-3)
    found = vt.feasible_start(model, q)
    assert found.base == pytest.approx(2e-3) and found.displacement == found.turn == 0.0 and found.near
    assert str(found).endswith('overlapped by 0.002; moved: no joint, the base by 0.002 m and 0 rad')
    assert np.array_equal(near_start(model, q), found.q)
    q[2] -= 0.1
    assert not vt.feasible_start(model, q).near and near_start(model, q) is q


def chain() -> vt.Model:
    """Two sliding masses on a rod, and limits."""
    tree = vt.Tree("chain")
    tree.world.add(vt.tx("a", lower=-1, upper=1), vt.body("a_body", 1.0))
    tree.world.add(vt.tx("b", lower=0.0, upper=1), vt.body("b_body", 3.0))
    tree.constrain(vt.Coupling({"a": 1.0, "b": 2.0}, 1.0))
    tree.limits = "enforce"
    return tree.compile()


@pytest.mark.parametrize("q", [(0.3, 0.7), (2.0, 0.1), (-3.0, 0.2), (0.0, -1.0), (1.5, -0.5)])
def test_the_change_is_the_smallest_by_inertia(q):
    model, mass = chain(), np.array([1.0, 3.0])
    found = vt.feasible_start(model, q)
    best = minimize(lambda x: mass @ (x - q) ** 2, [0.0, 0.5], bounds=[(-1, 1), (0, 1)], tol=1e-14,
                    constraints={"type": "eq", "fun": lambda x: x[0] + 2 * x[1] - 1})  # fmt: skip
    np.testing.assert_allclose(found.q, best.x, atol=1e-6)


def test_rows_that_others_imply_are_left_out():
    """The third equation of each pin of a plane loop holds in any case."""
    model = walker(redundant=True)
    q = standing(model)
    assert "left out" in vt.simulate(model, q, duration=1e-3, dt=1e-3).warnings[0]
    assert str(vt.feasible_start(model, q)).startswith("moved: no joint; left out, since others imply them: ")
    q[7] += 1e-3
    found = vt.feasible_start(model, q)
    assert len(found.model.constraints) == 4 and len(found.dropped) == 2 and "others imply them" in str(found)
    lean, run = walker(), vt.simulate(found.model, found.q, duration=0.1, dt=1e-3)
    assert np.array_equal(run.q, vt.simulate(lean, found.q, duration=0.1, dt=1e-3).q)


def test_followers_and_prescribed_joints():
    """Followers follow, and what moves as prescribed stays where it is."""
    tree = vt.Tree("gears")
    tree.world.add(vt.ry("a", lower=-1, upper=1), vt.body("arm", 1.0, (0.1,) * 3))
    tree.world.add(vt.ry("b", lower=-1, upper=1), vt.body("other", 1.0, (0.1,) * 3))
    tree.world.add(vt.ry("c", kinematic=True), vt.body("third", 1.0, (0.1,) * 3))
    tree.world.add(vt.ry("d"), vt.body("fourth", 1.0, (0.1,) * 3))
    tree.constrain(vt.gear("b", "a", -2.0), vt.AxisConstraint("third", "fourth", (1, 0, 0), (0, 0, 1)))
    tree.limits = "enforce"
    model = tree.compile().reduced()
    found = vt.feasible_start(model, [0.8, 3.0, 0.2])
    np.testing.assert_allclose(model.expand(found.q)[:3], (0.5, -1.0, 3.0), atol=1e-9)
    assert abs(np.sin(found.q[1] - found.q[2])) < 1e-9 and abs(found.q[2] - 0.2) < 0.5
    assert found.model is model
    vt.simulate(model, found.q, duration=1e-3, dt=1e-3)


def test_there_is_no_such_start():
    tree = vt.Tree("stuck")
    tree.world.add(vt.tx("a", lower=-1, upper=1), vt.body("a_body", 1.0))
    tree.world.add(vt.tx("b", lower=-1, upper=1), vt.body("b_body", 1.0))
    tree.constrain(vt.Coupling({"a": 1.0, "b": 1.0}, 5.0))
    tree.limits = "enforce"
    model = tree.compile()
    with pytest.raises(ConvergenceError, match="no start near q satisfies limits, constraints and contacts"):
        vt.feasible_start(model)
    assert np.array_equal(near_start(model, np.zeros(2)), np.zeros(2))
    with pytest.raises(InputError):
        vt.feasible_start(model, [1.0])


def test_a_search_from_elsewhere_leads_out_of_where_no_step_helps():
    """A tip within a ball to which its link points: at first no turn changes the overlap; another start is found."""
    tree = vt.Tree("stuck")
    tree.world.add(vt.fixed(xyz=(0.3, 0, 0.2)), vt.tx("held", kinematic=True), vt.body("ball", 1.0))
    tree.world.add(vt.fixed(xyz=(0, 0, 0.2)), vt.rz("swing"), vt.fixed(xyz=(0.25, 0, 0)),
                   vt.body("tip", 1.0, (0.1,) * 3))  # fmt: skip
    tree.contact(vt.Ground(), *(vt.Contact(name, shapes=[vt.Sphere(0.1)]) for name in ("tip", "ball")))
    model = tree.compile()
    found = vt.feasible_start(model)
    assert not found.near and found.joint == "swing" and model.contact_gaps(found.q).gap.min() > -1e-9
    vt.simulate(model, found.q, duration=1e-2, dt=1e-3)
    assert np.array_equal(near_start(model, model.start), model.start)


def test_a_body_that_floats_is_moved_to_be_searched_from_as_well():
    """A ball on a rope that is too long, with a bar across the straight way to where the rope is anchored."""
    text = """<mujoco><worldbody><site name="hook" pos="0 0 1"/>
      <body name="bar" pos="0 0 0.7"><joint type="slide" axis="1 0 0" range="-0.001 0.001"/>
        <geom type="capsule" fromto="-0.5 0 0 0.5 0 0" size="0.02"/></body>
      <body name="ball"><freejoint/><geom size="0.1" pos="0 0 0.58"/><site name="eye" pos="0 0 0.58"/></body>
      </worldbody><tendon><spatial limited="true" range="0 0.35"><site site="hook"/><site site="eye"/></spatial>
      </tendon></mujoco>"""
    pytest.importorskip("mujoco")
    model = vt.load_mjcf(text)
    found = vt.feasible_start(model)
    assert not found.near and 0.05 < found.base < 0.5 and model.contact_gaps(found.q).gap.min() > -1e-9
    hook, eye = (model.frame_pose(name, found.q)[:3, 3] for name in ("hook", "eye"))
    assert np.linalg.norm(hook - eye) < 0.35 + 1e-9
    vt.simulate(model, found.q, duration=1e-2, dt=1e-3)


#: A leg of two hinges on a slide, whose foot is in the floor by 2 mm, with a rod that is open by 1e-6.
SUNK = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body name="hip" pos="0 0 0.598"><joint name="rail" type="slide" axis="0 0 1"/>
    <geom type="sphere" size="0.05" mass="3" contype="0" conaffinity="0"/>
    <body name="thigh"><joint name="thigh" axis="0 1 0" range="5 90"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" contype="0" conaffinity="0"/>
      <body name="shin" pos="0 0 -0.25"><joint name="shin" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" contype="0" conaffinity="0"/>
        <geom name="foot" type="sphere" size="0.1" pos="0 0 -0.25"/></body></body></body></worldbody>
  <equality><joint joint1="shin" joint2="thigh" polycoef="1e-6 -2 0 0 0"/></equality>
  <keyframe><key name="home" qpos="-0.002 0.0873 -0.1746" qvel="0 1 -2"/></keyframe></mujoco>"""


def test_starts_of_models_of_mujoco(tmp_path):
    """The start and the keyframe of the file run; far from them nothing is changed, or the keyframe is the start."""
    pytest.importorskip("mujoco")
    lone = vt.from_mujoco(SUNK[: SUNK.index("<keyframe>")] + "</mujoco>")
    found = vt.feasible_start(lone.model, lone.model.start)
    assert not found.near and np.array_equal(lone.start, lone.model.start)  # the thigh is at its limit, shin far off
    assert not [told for told in lone.report if told.id == "mjcf-start"]
    robot = vt.from_mujoco(SUNK)
    assert [told.text for told in robot.report if told.id == "mjcf-start"] == [
        'limits, equalities and contacts do not hold near qpos0; runs start at the keyframe "home"']  # fmt: skip
    assert np.array_equal(robot.start, robot.model.start) and np.array_equal(robot.start, robot.keyframes["home"].q)
    (tmp_path / "leg.xml").write_text(SUNK)
    world = vt.World()
    world.add(tmp_path / "leg.xml", "leg")
    assert np.array_equal(world.compile().start, robot.start) and "mjcf-start" in {x.id for x in world.tree.report}
    key = robot.keyframes["home"]
    given = robot.from_mujoco(robot.mujoco.key_qpos[0], robot.mujoco.key_qvel[0])
    assert 1e-7 < np.abs(key.q - given[0]).max() < 1e-2
    assert wrong(robot.model, key.q) < 1e-9 < wrong(robot.model, given[0])
    vt.simulate(robot.model, key.q, key.v, duration=1e-2, dt=1e-3)
    with pytest.raises(InputError):
        vt.simulate(robot.model, *given, duration=1e-2, dt=1e-3)


def test_qpos0_is_where_models_of_mujoco_start():
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body pos="1 2 3" quat="0.6 0 0.8 0"><freejoint name="f"/><geom size="0.1"/></body>
      <body><joint name="ball" type="ball"/><geom size="0.1" pos="0 0 1"/></body>
      <body><joint name="h" ref="30" range="40 50" axis="0 1 0"/><geom size="0.1" pos="0 0 2"/></body></worldbody>
      </mujoco>"""
    model = vt.load_mjcf(text)
    np.testing.assert_allclose(model.start[:7], (1, 2, 3, 0, 0.8, 0, 0.6), atol=1e-15)
    np.testing.assert_allclose(model.start[7:], (0, 0, 0, 1, np.radians(40)), atol=1e-15)
