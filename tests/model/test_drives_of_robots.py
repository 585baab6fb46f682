"""with_drives: which joints patterns drive, on bases of all kinds; two drives on one joint."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import vitree as vt

GAINS = {"*": (50, 1)}
LIMBS = vt.load_urdf(vt.find_robot("arm6")).joint_names


@pytest.mark.parametrize("robot", ["arm6", "human", "a1"])
def test_patterns_leave_out_a_floating_base_of_any_kind(robot):
    path = vt.find_robot(robot)
    limbs = [drive.joint for drive in vt.load_urdf(path).with_drives(GAINS).drives]
    for base in ("free", "euler"):
        model = vt.load_urdf(path, base=base)
        assert [drive.joint for drive in model.with_drives(GAINS).drives] == limbs
    floating = vt.load_urdf(path, base="free").euler().with_drives(GAINS)
    assert [drive.joint for drive in floating.drives] == limbs and isinstance(floating, vt.EulerModel)


def test_a_base_is_driven_by_the_names_of_its_joints():
    model = vt.load_urdf(vt.find_robot("arm6"), base="euler")
    base = model.joint_names[:6]
    driven = model.with_drives({base[2]: (1e3, 10), "*": (50, 1)})
    assert [drive.joint for drive in driven.drives] == [base[2], *LIMBS]
    with pytest.raises(vt.ModelError, match="joints of the floating base alone; give their names"):
        model.with_drives({"root_joint_t*": (1, 2)})
    with pytest.raises(vt.UnknownNameError):
        model.with_drives({"rot_joint_t*": (1, 2)})


def test_a_gantry_is_no_floating_base():
    """Slides and hinges of other names, or not at the world, are joints like others."""
    suffixed = [f"g_{k}" for k in ("tx", "ty", "tz", "rz", "ry", "rx")]
    for names, at in ((["x", "y", "z", "c", "b", "a"], 0), (suffixed, 1)):
        tree = vt.Tree("gantry")
        place = tree.world.add(vt.ry("first"), vt.body("before", 1.0, (0.1, 0.1, 0.1))) if at else tree.world
        for name, make in zip(names, (vt.tx, vt.ty, vt.tz, vt.rz, vt.ry, vt.rx), strict=True):
            place = place.add(make(name), vt.body(f"of {name}", 1.0, (0.1, 0.1, 0.1)))
        model = tree.compile()
        assert len(model.with_drives(GAINS).drives) == len(model.joint_names) == 6 + at


@pytest.mark.parametrize("kind", [vt.Model, vt.EulerModel, vt.ReducedModel])
def test_models_of_all_kinds_take_the_same(kind):
    model = {
        vt.Model: lambda: vt.load_urdf(vt.find_robot("arm6"), base="free"),
        vt.EulerModel: lambda: vt.load_urdf(vt.find_robot("arm6"), base="free").euler(),
        vt.ReducedModel: lambda: vt.load_urdf(vt.find_robot("panda")),
    }[kind]()
    driven = model.with_drives(GAINS, effort_limits=True, target_rates=True)
    assert type(driven) is kind and len(driven.input_names) == 2 * len(driven.drives)
    assert all(drive.target_rate == f"{drive.joint} target rate" for drive in driven.drives)
    taken = [inspect.signature(each.with_drives).parameters for each in (kind, vt.Model)]
    assert taken[0] == taken[1]


@pytest.mark.parametrize(
    ("gains", "text"),
    [
        ({"*": {"kd": 1.0}}, "a mapping with kp"), ({"*": {}}, "a mapping with kp"),
        ({"*": (float("nan"), 1.0)}, "finite numbers"), ({"*": (1.0, float("inf"))}, "finite numbers"),
        ({"*": "ab"}, "finite numbers"), ({"*": 3.0}, "finite numbers"), ({"*": {"kp": float("nan")}}, "finite number"),
    ],
)  # fmt: skip
def test_wrong_gains_are_refused(gains, text):
    with pytest.raises(vt.VitreeError, match=text):
        vt.load_urdf(vt.find_robot("arm6")).with_drives(gains)


@pytest.mark.parametrize("name", ["effort_limits", "target_rates"])
def test_switches_are_true_or_false(name):
    model = vt.load_urdf(vt.find_robot("arm6"))
    assert model.with_drives(GAINS, **{name: np.bool_(True)}) == model.with_drives(GAINS, **{name: True})
    for wrong in ("1", 1, None, np.zeros(2), [True]):
        with pytest.raises(vt.InputError, match=f"{name}.* must be True or False"):
            model.with_drives(GAINS, **{name: wrong})


@pytest.mark.parametrize("second", [vt.Drive("a", 1.0), vt.Drive("a", 40.0, 2.0), vt.Drive("a", 1.0, target="goal")])
def test_two_drives_on_one_joint_are_refused(second):
    tree = vt.Tree("twice")
    tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    tree.load(vt.Drive("a", 40.0, 2.0))
    assert len(tree.compile().drives) == 1
    tree.load(second)
    with pytest.raises(vt.ModelError, match=rf'"a" has two drives, \(kp 40, kd 2\) and \(kp {second.kp:g}, kd'):
        tree.compile()
    same = vt.Tree("same")
    same.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    same.load(second, second)
    with pytest.raises(vt.ModelError, match="has two drives"):
        same.compile()
