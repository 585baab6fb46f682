"""Trees of models: they compile to the same mechanism, can be edited, and are refused where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat

import vitree as vt


def workshop():
    """A mechanism with joints of every kind, at skew axes, loads, drives, constraints, contacts, and shapes."""
    tree = vt.Tree("workshop", gravity=(0.1, 0.2, -9.0))
    base = tree.world.add(vt.fixed("stand", xyz=(0.1, 0.2, 0.3), rpy=(0.3, -0.2, 0.5)), vt.frame("top"))
    skew = vt.screw("skew", (1.0, 2.0, -0.5), point=(0.1, -0.2, 0.3), pitch=0.05, damping=0.3, armature=0.01)
    arm = base.add(skew, vt.tz(-0.4), vt.rx(0.3), vt.body("arm", 1.2, (0.02, 0.03, 0.01), com=(0.01, 0.02, -0.1)))
    arm.add(vt.fixed("rigid", xyz=(0.0, 0.1, 0.0)), vt.body("plate", 0.3, (1e-3, 2e-3, 2.5e-3)))
    arm.add(vt.planar("slide", normal=(0.2, 0.1, 1.0), friction=0.2), vt.body("sled", 0.5, (1e-3, 1e-3, 1e-3)))
    wrist = arm.add(vt.ty(0.2), vt.universal("wrist", lower=-1.0, upper=1.5, effort=20.0),
                    vt.body("hand", 0.4, (1e-3, 1e-3, 1e-3)))  # fmt: skip
    wrist.add(vt.prismatic("finger", (0.0, 1.0, 1.0), kinematic=True), vt.body("tip", 0.1), vt.frame("point"))
    wrist.add(vt.ball("head"), vt.tz(0.1), vt.body("eye", 0.2, (1e-3, 1e-3, 1e-3)))
    wheel = tree.world.add(vt.free("rover"), vt.body("hull", 2.0, (0.1, 0.1, 0.1)))
    wheel.add(vt.ry("axle"), vt.body("wheel", 0.3, (1e-3, 1e-3, 1e-3)))
    tree.load(vt.Spring("arm", "hull", 30.0, 0.5), vt.Drive("axle", 5.0, 0.3, target="turn"),
              vt.Wrench("tip", (0, "push", 0), (0, 0, 0)))  # fmt: skip
    tree.constrain(vt.Distance("plate", "sled", 0.1))
    tree.contact(vt.Ground(height=-3.0, friction=0.5), vt.Contact("hull", shapes=[vt.Sphere(0.2)]))
    tree.limits, tree.start = "ignore", {"skew": 0.2}
    return tree.compile()


def states(model, count=3):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield (model.integrate(model.neutral(), rng.normal(size=model.nv)), *rng.normal(size=(2, model.nv)))


def require_equal(model, made, tolerance):
    assert made.q_names == model.q_names
    assert made.link_names == model.link_names
    assert {*made.frame_names} == {*model.frame_names}
    assert made.input_names == model.input_names
    for one, other in zip(model.joints, made.joints, strict=True):
        assert replace(one, axis=None) == replace(other, axis=None)
        if one.axis is not None:
            np.testing.assert_allclose(other.axis, one.axis, atol=1e-15)
    for q, v, a in states(model):
        force = model.rnea(q, v, a)
        np.testing.assert_allclose(made.rnea(q, v, a), force, rtol=0, atol=tolerance * np.abs(force).max())
        for name in model.frame_names:
            np.testing.assert_allclose(made.frame_pose(name, q), model.frame_pose(name, q), rtol=0, atol=1e-13)


def test_all_that_a_model_has_comes_back():
    model = workshop()
    made = vt.Tree.from_model(model).compile()
    require_equal(model, made, 1e-13)
    for name in ("loads", "constraints", "contacts", "ground", "limits", "start", "link_parent", "geometry"):
        assert getattr(made.flat, name) == getattr(model.flat, name)
    one, other = (vt.simulate(each, duration=0.05, dt=1e-3, control=vt.Control(inputs={"turn": 0.5, "push": 0.2}))
                  for each in (model, made))  # fmt: skip
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.energy, one.energy, rtol=1e-9)
    assert np.abs(one.q[-1] - one.q[0]).max() > 0.005


@pytest.mark.parametrize("name, base, tolerance", [
    ("double_pendulum", "fixed", 0.0), ("arm6", "fixed", 0.0), ("human", "free", 0.0), ("talos", "free", 0.0),
    ("go2", "free", 0.0), ("panda", "fixed", 0.0), ("anymal_c", "free", 1e-13), ("baxter", "fixed", 1e-13),
])  # fmt: skip
def test_robots_are_those_of_their_files(name, base, tolerance):
    """To the last bit where axes are those of coordinates."""
    path = vt.list_robots().get(name)
    if path is None:
        pytest.skip("of example-robot-data")
    model = vt.load_urdf(path, base=base)
    made = vt.Tree.from_model(model).compile()
    made = made if model.full is model else made.reduced()
    require_equal(model, made, tolerance)
    assert made.full.flat.link_parent == model.full.flat.link_parent
    run, other = (vt.simulate(each, v0=np.full(each.nv, 0.1), duration=0.02, dt=1e-3) for each in (model, made))
    np.testing.assert_allclose(other.q, run.q, rtol=0, atol=10 * tolerance)


def test_a_tree_of_a_changed_model_has_the_changes():
    model = vt.load_urdf(vt.find_robot("arm6"))
    changed = model.with_parameters(mass={"flange": 3.0}, damping={"elbow_joint": 0.7}).with_drives({"*": (50, 2)})
    made = vt.Tree.from_model(changed).compile()
    require_equal(changed, made, 1e-13)
    assert made.total_mass == pytest.approx(changed.total_mass, rel=1e-15)
    assert made.total_mass != model.total_mass
    assert made.drives == changed.drives


def test_a_tree_can_be_edited():
    """A tool at the flange: the same as of the tree of the file."""
    path = vt.find_robot("arm6")

    def with_tool(tree):
        tree.frame("flange").add(vt.tz(0.1), vt.body("tool", 0.5, (1e-3, 1e-3, 1e-3)))
        return tree.compile()

    require_equal(with_tool(vt.read_urdf(path)), with_tool(vt.Tree.from_model(vt.load_urdf(path))), 0.0)


def test_joints_that_follow_others_are_those_of_all_joints():
    tree = vt.Tree("gripper")
    palm = tree.world.add(vt.rz("wrist"), vt.body("palm", 1.0, (0.1, 0.1, 0.1)))
    for side, y in (("left", 0.1), ("right", -0.1)):
        palm.add(vt.ty(y), vt.rx(side), vt.tz(-0.1), vt.body(f"{side} finger", 0.1, (1e-3, 1e-3, 1e-3)))
    tree.constrain(vt.gear("left", "right", -1.0))
    model = tree.compile().reduced()
    made = vt.Tree.from_model(model)
    assert {joint.name for joint in made.compile().joints} == {"wrist", "left", "right"}
    require_equal(model, made.compile().reduced(), 0.0)


def test_a_model_of_arrays_alone_has_no_tree():
    with pytest.raises(vt.ModelError, match=r"has no tree: the frame_names of its arrays"):
        vt.Tree.from_model(vt.Model(random_flat(np.random.default_rng(0), nbody=4)))
    for wrong in ("arm6", None, vt.Tree("empty")):
        with pytest.raises(vt.InputError, match="vitree Model"):
            vt.Tree.from_model(wrong)
