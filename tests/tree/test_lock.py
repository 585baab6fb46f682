"""Joints that are locked: the mechanism is that of the others, as if the locked ones stood still."""

from itertools import combinations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError, ModelError, UnknownNameError


def mechanism() -> vt.Tree:
    """A tree with joints of every kind, links between them, and loads on some."""
    tree = vt.Tree("all")
    at = tree.world.add(vt.free("base"), vt.body("trunk", 3.0, (0.1, 0.12, 0.09), com=(0.02, 0.0, 0.1)))
    arm = at.add(
        vt.fixed(xyz=(0.1, 0.2, 0.0), rpy=(0.3, -0.2, 0.5)), vt.rx("hinge", damping=0.1), vt.tz(-0.4),
        vt.body("upper", 1.0, (0.02, 0.03, 0.01), com=(0, 0.01, 0.1)), vt.ball("elbow"), vt.tz(-0.3),
        vt.body("lower", 0.7, (0.01, 0.02, 0.015)),
    )  # fmt: skip
    arm.add(vt.universal("wrist"), vt.tx(0.1), vt.body("hand", 0.4, (0.01, 0.012, 0.009)))
    thread = vt.screw("thread", axis=(0.6, 0.0, 0.8), pitch=0.05, point=(0.1, 0.0, 0.2))
    at.add(thread, vt.body("nut", 0.5, (0.01,) * 3))
    leg = at.add(vt.ty("rail", lower=-1.0, upper=1.0), vt.body("cart", 0.8, (0.02, 0.02, 0.03), com=(0.0, 0.1, 0.0)))
    leg.add(vt.rz("knee"), vt.tx(0.3), vt.body("shin", 0.6, (0.01, 0.02, 0.02)))
    tree.load(vt.JointSpring("rail", 20.0), vt.Drive("knee", 10.0, 0.1))
    return tree


NAMES = ("base", "hinge", "elbow", "wrist", "thread", "rail", "knee")


@pytest.mark.parametrize("locked", [*[(name,) for name in NAMES], *list(combinations(NAMES, 3))[::5]])
def test_others_move_as_if_the_locked_ones_stood_still(locked):
    full, rng = mechanism().compile(), np.random.default_rng(len(locked) + NAMES.index(locked[0]))
    q = full.integrate(full.neutral(), rng.normal(size=full.nv))
    tree = mechanism()
    tree.lock({name: q[full.joint(name).q_slice] for name in locked})
    model = tree.compile()
    assert model.joint_names == tuple(name for name in full.joint_names if name not in locked)
    kept_q = np.concatenate([np.arange(full.nq)[full.joint(name).q_slice] for name in model.joint_names])
    kept = np.concatenate([np.arange(full.nv)[full.joint(name).v_slice] for name in model.joint_names])
    v, a = np.zeros((2, full.nv))
    v[kept], a[kept] = rng.normal(size=(2, len(kept)))
    own = model.inverse_dynamics(q[kept_q], v[kept], a[kept])
    np.testing.assert_allclose(own, full.inverse_dynamics(q, v, a)[kept], rtol=0, atol=1e-12)
    for frame in (*NAMES, "hand", "nut", "shin"):
        pose = full.frame_pose(frame, q)
        np.testing.assert_allclose(model.frame_pose(frame, q[kept_q]), pose, rtol=0, atol=1e-13)


def test_what_belongs_to_locked_joints_goes():
    tree = mechanism()
    tree.start = {"rail": 0.2, "hinge": 0.1}
    tree.lock({"rail": 0.3, "knee": 0.0})
    model = tree.compile()
    assert tree.loads == [] and tree.start == {"hinge": 0.1}
    assert "rail" in model.frame_names and "rail" not in model.joint_names
    tree.frame("rail").add(vt.body("lamp", 0.1, (0.001,) * 3))  # the frame can be built on
    tree.world.add(vt.rz("rail again"), vt.body("other", 1.0, (0.1,) * 3))
    assert tree.compile().nv == model.nv + 1


def test_what_is_refused():
    tree = mechanism()
    tree.constrain(vt.Coupling({"hinge": 1.0, "thread": 0.5}))
    before = str(tree)
    with pytest.raises(UnknownNameError, match="joint \"hing\""):
        tree.lock({"hing": 0.0})
    for values in (0.3, [0.0, 0.0, 0.0, np.nan]):
        with pytest.raises(InputError, match='for "elbow"; give 4 finite numbers'):
            tree.lock({"rail": 0.1, "elbow": values})
    with pytest.raises(InputError, match="quaternion"):
        tree.lock({"elbow": [0.0, 0.0, 0.0, 2.0]})
    with pytest.raises(ModelError, match='constraint that uses the joint "hinge"'):
        tree.lock({"rail": 0.1, "hinge": 0.0})
    with pytest.raises(InputError, match="by the names of joints"):
        tree.lock(["rail"])
    assert str(tree) == before and len(tree.loads) == 2


def test_a_robot_beside_pinocchio():
    pin = pytest.importorskip("pinocchio")
    path = str(vt.find_robot("ur5"))
    theirs = pin.buildModelFromUrdf(path)
    q = pin.randomConfiguration(theirs, -np.ones(6), np.ones(6))
    names = ["elbow_joint", "wrist_2_joint"]
    reduced = pin.buildReducedModel(theirs, [theirs.getJointId(name) for name in names], q)
    tree = vt.read_urdf(path)
    tree.lock({name: q[theirs.joints[theirs.getJointId(name)].idx_q] for name in names})
    model = tree.compile()
    x, v, a = np.random.default_rng(0).normal(size=(3, model.nv))
    found = pin.rnea(reduced, reduced.createData(), x, v, a)
    np.testing.assert_allclose(model.inverse_dynamics(x, v, a), found, rtol=0, atol=1e-9)
