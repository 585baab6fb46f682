"""Robot files whose mimic joints and closed loops are made constraints; joints as constraints."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree.errors import ConvergenceError, InputError, ModelError, UrdfError
from vitree.urdf.robots import example_robots, suggest_base

X, Y, Z = np.eye(3)


def text(values):
    return " ".join(repr(float(x)) for x in values)


def link(name, mass=1.0, com=(0, 0, -0.2), moments=(0.02, 0.03, 0.01)):
    xx, yy, zz = moments
    return (
        f"<link name='{name}'><inertial><origin xyz='{text(com)}'/><mass value='{mass}'/>"
        f"<inertia ixx='{xx}' ixy='0' ixz='0' iyy='{yy}' iyz='0' izz='{zz}'/></inertial></link>\n"
    )


def joint(name, parent, child, kind="revolute", xyz=(0, 0, 0), rpy=(0, 0, 0), axis=(0, 1, 0), more=""):
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
        f"<origin xyz='{text(xyz)}' rpy='{text(rpy)}'/><axis xyz='{text(axis)}'/>{more}</joint>\n"
    )


def mimic(leader, multiplier=None, offset=None):
    more = "" if multiplier is None else f" multiplier='{multiplier}'"
    more += "" if offset is None else f" offset='{offset}'"
    return f"<mimic joint='{leader}'{more}/>"


def robot(*parts):
    return "<robot name='r'>\n" + "".join(parts) + "</robot>"


def started(model, seed=0, speed=1.0):
    """A configuration that satisfies the constraints, near zero, and a velocity."""
    q = vt.satisfy_constraints(model, model.neutral())
    return q, model.project_velocity(q, speed * np.random.default_rng(seed).normal(size=model.nv))


# ---- mimic ----------------------------------------------------------------------------------------

#: A hand on a moving wrist; "slide" follows "right", which follows "left"; followers come first in the file.
LIMIT = "<limit lower='-9' upper='9' velocity='9' effort='9'/>"
GRIPPER = robot(
    link("base"), link("palm"),
    link("a", com=(0.1, 0, 0.02)), link("b", com=(0.2, 0.01, 0)), link("c", 0.3, com=(0, 0, 0.1)),
    joint("slide", "palm", "c", "prismatic", (0, 0, 0.1), axis=(0, 0.6, -0.8), more=LIMIT + mimic("right", 0.3, -0.1)),
    joint("right", "palm", "b", "continuous", (0, -0.1, 0), (0.2, 0, 0.4), axis=(0, 0, -2),
          more=LIMIT + "<dynamics damping='0.2'/>" + mimic("left", -1.5, 0.2)),
    joint("wrist", "base", "palm", axis=(0, 1, 0), more=LIMIT),
    joint("left", "palm", "a", xyz=(0, 0.1, 0), axis=(0, 0, 1), more=LIMIT + "<dynamics damping='0.1'/>"),
)  # fmt: skip
#: dq / d(wrist, left) of each joint, and q where both are zero
FOLLOW = {"wrist": (1, 0, 0), "left": (0, 1, 0), "right": (0, -1.5, 0.2), "slide": (0, -0.45, -0.04)}


def test_mimic_joints_follow_through_a_chain():
    """They hold over a run, and accelerate as the mechanism of two degrees of freedom does."""
    model, loose = (vt.load_urdf(GRIPPER, mimic=mimic) for mimic in ("constraints", "independent"))
    assert not loose.constraints and len(model.constraints) == 2
    assert 'mimic joints follow by constraints: "slide", "right"' in [f.text for f in model.report]
    assert model.joint("right").mimic == ("left", -1.5, 0.2)
    rows = np.array([FOLLOW[name] for name in model.joint_names])
    G, q0 = rows[:, :2], rows @ [0.3, -0.2, 1.0]
    assert np.allclose(vt.satisfy_constraints(model, q0 + 0.0), q0, rtol=0, atol=1e-15)
    v0 = G @ [0.7, -1.1]
    assert np.allclose(model.project_velocity(q0, v0), v0, rtol=0, atol=1e-14)
    # G^T (M G a + c + damping) = 0
    bias = loose.rnea(q0, v0, 0 * v0) + loose.damping * v0
    expected = G @ np.linalg.solve(G.T @ loose.crba(q0) @ G, -G.T @ bias)
    a = model.forward_dynamics(q0, v0).acceleration
    assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max()
    run = vt.simulate(model, q0, v0, duration=2.0, dt=2e-3, method="midpoint")
    lead = run.q[:, [model.joint_names.index(name) for name in ("wrist", "left")]]
    assert np.abs(run.q - lead @ G.T - rows[:, 2]).max() < 1e-11
    assert np.ptp(run.q, axis=0).min() > 0.1


def test_mimic_joints_have_no_coordinate_of_their_own():
    """By default; what they do is what the constraints have them do."""
    model, held = vt.load_urdf(GRIPPER), vt.load_urdf(GRIPPER, mimic="constraints")
    assert model.full == held and model.v_names == ("wrist", "left") and not model.constraints
    leader, *numbers = model.joint("slide").mimic
    assert leader == "left" and numbers == pytest.approx([-0.45, -0.04], abs=1e-15)
    q, v = np.array([0.3, -0.2]), np.array([0.7, -1.1])
    rows = np.array([FOLLOW[name] for name in model.joint_names])
    assert np.allclose(model.expand(q), rows @ [*q, 1.0], rtol=0, atol=1e-15)
    run = vt.simulate(model, q, v, duration=1.0, dt=2e-3)
    full = vt.simulate(held, model.expand(q), model.expand_velocity(v), duration=1.0, dt=2e-3)
    assert np.array_equal(model.contract(full.q), run.q)
    tree = vt.read_urdf(GRIPPER)
    assert tree.compile().reduced() == model


@pytest.mark.parametrize("way", ["reduced", "constraints", "independent"])
def test_a_leader_that_is_not_there_is_told(way):
    """Its follower moves on its own, whatever the others do."""
    links = [link(name) for name in "abcd"]
    file = robot(*links, joint("elbow", "a", "b"), joint("k", "b", "c", more=mimic("elbo")),
                 joint("l", "c", "d", more=mimic("k", 2.0)))  # fmt: skip
    model = vt.load_urdf(file, mimic=way)
    (found,) = [finding for finding in model.report if finding.id == "mimic-unknown"]
    assert found.severity == "warning" and found.line == 7
    assert 'the joint "k" mimics "elbo", which is not in the file (did you mean "elbow"?)' in found.text
    assert model.nv == {"reduced": 2, "constraints": 3, "independent": 3}[way]
    assert len(model.full.constraints) == (way != "independent")
    far = vt.load_urdf(file.replace("elbo'", "wing'").replace('elbo"', 'wing"'), mimic=way)
    assert 'there are "elbow", "k", "l"' in str(far.report)


def test_mimic_joints_are_pinocchios(tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = tmp_path / "gripper.urdf"
    file = re.sub("<dynamics damping='...'/>", "", GRIPPER).replace("continuous", "revolute")
    # the chain written out: a leader of Pinocchio's does not follow
    path.write_text(file.replace(mimic("right", 0.3, -0.1), mimic("left", -0.45, -0.04)))
    peer = pin.buildModelFromUrdf(str(path), mimic=True)
    if peer.nv != 2:
        pytest.skip("this Pinocchio reads no mimic joints")
    data = peer.createData()
    model = vt.load_urdf(path, mimic="constraints")
    rows = np.array([FOLLOW[name] for name in model.joint_names])
    order = [peer.joints[peer.getJointId(name)].idx_v for name in ("wrist", "left")]
    state, rate = np.array([0.3, -0.2]), np.array([0.7, -1.1])
    peer_q, peer_v = np.zeros(2), np.zeros(2)
    peer_q[order], peer_v[order] = state, rate
    a = np.linalg.solve(pin.crba(peer, data, peer_q), -pin.nonLinearEffects(peer, data, peer_q, peer_v))[order]
    own = model.forward_dynamics(rows @ [*state, 1], rows[:, :2] @ rate).acceleration
    assert np.abs(own - rows[:, :2] @ a).max() < 1e-9 * np.abs(own).max()


def test_a_start_that_misses_a_mimic_is_refused_with_the_remedy():
    model = vt.load_urdf(GRIPPER, mimic="constraints")
    with pytest.raises(InputError, match=r'coupling "right" and "left": off by -0.2; take q0 = vitree.satisfy_con'):
        vt.simulate(model, duration=0.1, dt=0.01, method="midpoint")


def test_defaults_of_mimic():
    arm = (link("a"), link("b"), link("c"), joint("j", "a", "b"))
    model = vt.load_urdf(robot(*arm, joint("k", "b", "c", more=mimic("j"))), mimic="constraints")
    assert (model.constraints[0].factors, model.constraints[0].value) == ({"k": 1.0, "j": -1.0}, 0.0)
    # a joint that cannot move has nothing to follow with
    model = vt.load_urdf(robot(*arm, joint("k", "b", "c", "fixed", more=mimic("j"))), mimic="constraints")
    assert not model.constraints


# ---- joints as constraints ------------------------------------------------------------------------

KINDS = {
    "fixed": (lambda axis: [], 6),
    "revolute": (lambda axis: [vt.revolute("j", axis)], 5),
    "prismatic": (lambda axis: [vt.prismatic("j", axis)], 5),
    "cylindrical": (lambda axis: vt.cylindrical("j", axis), 4),
    "spherical": (lambda axis: [vt.spherical("j")], 3),
    "planar": (lambda axis: vt.planar("j", axis), 3),
    "free": (lambda axis: [vt.free("j")], 0),
}


@pytest.mark.parametrize("axis", [Z, -X, (0.3, -2.0, 0.5)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_satisfies_its_own_constraints_and_no_other_motion_does(kind, axis):
    elements, count = KINDS[kind]
    tree = vt.Tree("pair")
    arm = tree.world.add(vt.free("base"), vt.body("a", 1.0, (1, 1, 1)))
    arm.add(vt.fixed("at", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))).add(*elements(axis), vt.body("b", 1.0, (1, 1, 1)))
    tree.world.add(vt.free("other"), vt.body("c", 1.0, (1, 1, 1)))
    tree.constrain(vt.joint_constraints(kind, "at", "b", axis), vt.joint_constraints(kind, "at", "c", axis))
    if kind == "fixed":
        tree.constraints = tree.constraints[count:]
    model = tree.compile()
    rng = np.random.default_rng(0)
    for _ in range(3):
        q = model.random_configuration(rng)
        # c where b is
        loose = vt.Model(replace(model.flat, constraints=()))
        pose = loose.frame_pose("b", q)
        q = vt.satisfy_constraints(
            vt.Model(replace(model.flat, constraints=tuple(vt.weld("b", "c")))),
            with_pose(model, q, pose), hold=[name for name in model.joint_names if name != "other"],
        )  # fmt: skip
        h, Dh = model.constraint_errors(q), model.constraint_jacobian(q)
        assert np.abs(h).max(initial=0) < 1e-12
        own, other = np.vsplit(Dh, [0 if kind == "fixed" else count])
        assert np.abs(own).max(initial=0) < 1e-12  # implied by the joint
        if count:
            assert np.linalg.matrix_rank(other, tol=1e-6) == count
    kept = vt.independent_constraints(model)
    assert kept == list(model.constraints[-count:] if count else ())


def with_pose(model, q, pose):
    """q with the free joint "other" at a pose."""
    R, q = pose[:3, :3], q.copy()
    w, V = np.linalg.eig(R)
    axis = V[:, np.argmin(np.abs(w - 1))].real
    s = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) @ axis
    half = 0.5 * np.arctan2(s, np.trace(R) - 1)
    q[model.joint("other").q_slice] = (*pose[:3, 3], *(np.sin(half) * axis), np.cos(half))
    return q


def test_a_kind_of_joint_that_is_not_known():
    with pytest.raises(ModelError, match='kind="hinge" is not known; choose from "fixed", "revolute"'):
        vt.joint_constraints("hinge", "a", "b")
    with pytest.raises(ModelError, match='axis between "a" and "b" is zero'):
        vt.joint_constraints("revolute", "a", "b", (0, 0, 0))


# ---- loops ----------------------------------------------------------------------------------------


def four_bar(rpy=(0, 0, 0), at=(0.8, 0, 0), kind="revolute", end=(0, 0, 0), turned=(0, 0, 0), axis=(0, 1, 0), more=""):
    """Crank and rocker on the ground, a coupler from the crank to the rocker's "tip"."""
    return robot(
        link("g"), link("crank"), link("coupler", com=(0.4, 0, 0)), link("rocker", 1.5), "<link name='tip'/>",
        joint("A", "g", "crank", xyz=(0, 0.1, 1), rpy=rpy, more=more),
        joint("D", "g", "rocker", xyz=(0.9, 0.1, 1), rpy=rpy),
        joint("T", "rocker", "tip", "fixed", (0, 0, -0.6), end),
        joint("B", "crank", "coupler", xyz=(0, 0, -0.4)),
        joint("C", "coupler", "tip", kind, at, turned, axis, "<dynamics damping='3'/><limit lower='0' upper='1'/>"),
    )  # fmt: skip


def four_bar_by_hand():
    tree = vt.Tree("four-bar")
    crank = tree.world.add(vt.tx(0.0), vt.ty(0.1), vt.tz(1.0), vt.ry("A"))
    crank.add(vt.body("crank", 1.0, (0.02, 0.03, 0.01), (0, 0, -0.2)))
    coupler = crank.add(vt.tz(-0.4), vt.ry("B"), vt.body("coupler", 1.0, (0.02, 0.03, 0.01), (0.4, 0, 0)))
    coupler.add(vt.tx(0.8), vt.frame("end"))
    rocker = tree.world.add(vt.tx(0.9), vt.ty(0.1), vt.tz(1.0), vt.ry("D"))
    rocker.add(vt.body("rocker", 1.5, (0.02, 0.03, 0.01), (0, 0, -0.2)), vt.tz(-0.6), vt.frame("tip"))
    tree.constrain(vt.point_constraint("end", "tip", [X, Z]))
    return tree.compile()


def test_a_four_bar_linkage_is_that_built_by_hand():
    model, hand = vt.load_urdf(four_bar(), loops="constraints"), four_bar_by_hand()
    assert model.joint_names == hand.joint_names == ("A", "B", "D")
    assert len(model.constraints) == 2
    q, v = started(hand)
    assert np.abs(model.constraint_errors(q)).max() < 1e-12
    a, b = (m.forward_dynamics(q, v).acceleration for m in (model, hand))
    assert np.abs(a - b).max() < 1e-10 * np.abs(b).max()
    runs = [vt.simulate(m, q, v, duration=2.0, dt=2e-3, method="midpoint", tolerance=1e-12) for m in (model, hand)]
    assert len(runs[0]) == 1001 and np.abs(runs[0].constraint).max() < 1e-11
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    assert np.abs(runs[0].energy - runs[0].energy[0]).max() < 1e-3
    # the frame of the closing joint is its place in the parent, and the child stays there
    for q in runs[0].q[::100]:
        assert np.abs(model.frame_pose("C", q)[:3, 3] - model.frame_pose("tip", q)[:3, 3]).max() < 1e-11
    notes = str(model.report)
    for words in (
        'joints that close loops: constraints, without coordinate, limits, damping and friction: "C"',
        '3 of their 5 equations are redundant and omitted: "C"',
    ):
        assert words in notes
    assert not model.damping.any()


@pytest.mark.parametrize("base", ["fixed", "free", "euler"])
def test_a_tilted_loop_on_any_base_holds(base):
    mount = link("mount") + joint("foot", "mount", "g", "fixed", (1, 2, 3), (0.3, -0.7, 1.1))
    file = four_bar(rpy=(0.4, 0, 0)).replace("<link name='g'>", mount + "<link name='g'>")
    model = vt.load_urdf(file, base, loops="constraints")
    assert len(model.constraints) == 2
    run = vt.simulate(model, *started(model), duration=0.2, dt=2e-3, method="midpoint")
    assert np.abs(run.constraint).max() < 1e-11 and np.ptp(run.q[:, -1]) > 0.1


def test_rounded_angles_close_a_plane_loop():
    file = four_bar(axis=Z, turned=(-1.5708, 0, 0), end=(-1.57079, 0.3, 0))
    model = vt.load_urdf(file, loops="constraints")
    assert len(model.constraints) == 2
    run = vt.simulate(model, *started(model), duration=0.1, dt=1e-3, method="midpoint")
    assert np.abs(run.constraint).max() < 1e-11


def test_a_loop_that_cannot_be_closed_is_said_to_be_open():
    model = vt.load_urdf(four_bar(at=(0.8, 0.05, 0)), loops="constraints")
    with pytest.raises(ConvergenceError, match=r'point "C" - "tip" y is off by 0.05'):
        vt.satisfy_constraints(model, model.neutral())


def test_two_hinges_on_one_line_are_one():
    door = (link("g"), link("door"), "<link name='upper'/>", joint("low", "g", "door", axis=Z))
    file = robot(*door, joint("up", "door", "upper", "fixed", (0, 0, 1)), joint("high", "g", "upper", xyz=Z, axis=Z))
    model = vt.load_urdf(file, loops="constraints")
    assert model.nv == 1 and not model.constraints
    assert "5 of their 5 equations are redundant" in str(model.report)


def ring(kind, first, seed=3):
    """Ground, six hinges in space, a joint "last" to "end", which is fixed to the ground where it then is.

    The tree keeps "last" or the joint "anchor" by their order. Returns the file and "end" reached by q.
    """
    rng = np.random.default_rng(seed)
    parts, at = [link(name) for name in ("g", *(f"l{k}" for k in range(1, 7)), "end")], "g"
    for k in range(1, 7):
        place = rng.normal(size=(3, 3)) * [[0.5], [1], [1]]
        parts.append(joint(f"j{k}", at, at := f"l{k}", "continuous", *place))
    last = joint("last", at, "end", kind, (0.2, 0.1, -0.3), (0.3, -0.2, 0.5), axis=(0.5, -1.0, 0.7))
    open_chain = vt.load_urdf(robot(*parts, last))
    q = open_chain.random_configuration(rng)
    T = open_chain.frame_pose("end", q)
    rpy = np.arctan2(T[2, 1], T[2, 2]), -np.arcsin(T[2, 0]), np.arctan2(T[1, 0], T[0, 0])
    anchor = joint("anchor", "g", "end", "fixed", T[:3, 3], rpy)
    return robot(*parts, *((last, anchor) if first == "last" else (anchor, last))), q


@pytest.mark.parametrize(("kind", "count"), [("revolute", 5), ("prismatic", 5), ("planar", 3), ("floating", 0)])
def test_a_loop_may_be_cut_at_any_joint(kind, count):
    """Cut at the joint, or at the fixed one beside it: the links accelerate alike."""
    file, q = ring(kind, "last")
    whole = vt.load_urdf(file, loops="constraints")
    cut = vt.load_urdf(ring(kind, "anchor")[0], loops="constraints")
    assert (len(whole.constraints), len(cut.constraints), cut.nv) == (6, count, 6)
    for model, at in ((whole, q), (cut, q[:6])):
        assert np.abs(model.constraint_errors(at)).max(initial=0) < 1e-13
    v = whole.project_velocity(q, np.random.default_rng(0).normal(size=whole.nv))
    assert np.abs(v).max() > 1e-3
    v /= np.abs(v).max()
    assert np.allclose(cut.project_velocity(q[:6], v[:6]), v[:6], rtol=0, atol=1e-10)
    a, b = whole.forward_dynamics(q, v).acceleration[:6], cut.forward_dynamics(q[:6], v[:6]).acceleration
    assert np.abs(a - b).max() < 1e-9 * np.abs(a).max()
    run = vt.simulate(cut, q[:6], v[:6], duration=0.1, dt=1e-3, method="midpoint")
    assert np.abs(run.constraint).max(initial=0) < 1e-11


def bennett():
    """Four hinges that move though their twelve constraints are too many by three (Bennett 1903)."""
    a, b, alpha = 0.5, 0.8, 0.6
    beta = np.arcsin(b * np.sin(alpha) / a)
    bars = [("j1", "g", "l1", 0, 0), ("j2", "l1", "l2", a, alpha), ("j4", "g", "l3", -b, -beta)]
    joints = [joint(name, p, c, xyz=(x, 0, 0), rpy=(t, 0, 0), axis=Z) for name, p, c, x, t in bars]
    joints.append(joint("end", "l3", "tip", "fixed", (-a, 0, 0), (-alpha, 0, 0)))
    joints.append(joint("j3", "l2", "tip", xyz=(b, 0, 0), rpy=(beta, 0, 0), axis=Z))
    return robot(*map(link, ("g", "l1", "l2", "l3")), "<link name='tip'/>", *joints)


def test_a_bennett_linkage_moves_with_its_independent_constraints():
    """What is implied only where the loop is closed is left out when it is asked for, and holds over the run."""
    model = vt.load_urdf(bennett(), loops="constraints")
    assert len(model.constraints) == 5
    q = vt.satisfy_constraints(model, [1.0, -1.5, -1.5])
    run = vt.simulate(model, q, duration=0.1, dt=0.01, method="midpoint")
    assert "left out" in run.warnings[0] and len(run.system.constraints) == 2
    with pytest.raises(InputError, match="satisfy"):
        vt.independent_constraints(model, [1.0, 2.0, 3.0])
    tree = vt.read_urdf(bennett(), loops="constraints")
    tree.constraints = vt.independent_constraints(model, q)
    free = tree.compile()
    assert len(free.constraints) == 2
    run = vt.simulate(free, q, free.project_velocity(q, np.ones(3)), duration=1.0, dt=1e-3, method="midpoint")
    assert np.abs(model.constraint_errors(run.q)).max() < 1e-11 and np.ptp(run.q, axis=0).min() > 0.1


def test_mimic_and_loops_together():
    """A parallel gripper: its loop implies the mimic joint, and it is the one that is to be left out."""
    file = four_bar(at=(0.9, 0, 0)).replace("0.0 0.0 -0.6", "0.0 0.0 -0.4")
    file = file.replace("<joint name='D' type='revolute'>", "<joint name='D' type='revolute'>" + mimic("A"))
    model = vt.load_urdf(file, mimic="constraints", loops="constraints")
    assert model.constraints[0].name == 'coupling "D" and "A"' and len(model.constraints) == 3
    q = vt.satisfy_constraints(model, [0.4, -0.4, 0.4])
    kept = vt.independent_constraints(model, q)
    assert len(kept) == 2
    free = vt.Model(replace(model.flat, constraints=tuple(kept)))
    run = vt.simulate(free, q, duration=0.5, dt=1e-3, method="midpoint")
    assert np.abs(model.constraint_errors(run.q)).max() < 1e-11 and np.ptp(run.q, axis=0).min() > 0.05
    assert len(vt.load_urdf(file, loops="constraints").constraints) == 2


def test_the_frame_of_a_closing_joint_makes_way_for_a_link_of_its_name():
    file = four_bar().replace("name='crank'", "name='C'").replace("link='crank'", "link='C'")
    model = vt.load_urdf(file, loops="constraints")
    assert model.constraints[0].a == "C_" and {"C", "C_"} < set(model.frame_names)


def test_constraints_of_a_file_survive_the_notation():
    for file, options in ((four_bar(), {"loops": "constraints"}), (GRIPPER, {"mimic": "constraints"})):
        tree = vt.read_urdf(file, **options)
        again = vt.read_sexpr(vt.write_sexpr(tree)).compile()
        assert again.constraints == tree.compile().constraints


# ---- bad input ------------------------------------------------------------------------------------

ARM = (link("a"), link("b"), link("c"), joint("j", "a", "b"))
BAD = {
    "planar": (
        robot(*ARM, link("d"), joint("f", "b", "c", "planar"), joint("k", "c", "d", more=mimic("f"))),
        '"f", which is planar and has several coordinates',
    ),
    "itself": (robot(*ARM, joint("k", "b", "c", more=mimic("k"))), 'the joint "k" mimics itself'),
    "circle": (
        robot(link("a"), link("b"), link("c"), joint("j", "a", "b", more=mimic("k")),
              joint("k", "b", "c", more=mimic("j"))),
        'the joints "j", "k" mimic each other in a cycle',
    ),
    "leads to a circle": (
        robot(link("a"), link("b"), link("c"), link("d"), joint("i", "a", "b", more=mimic("j")),
              joint("j", "b", "c", more=mimic("k")), joint("k", "c", "d", more=mimic("j"))),
        'the joints "j", "k" mimic each other in a cycle',
    ),
    "of a closing joint": (
        four_bar(more=mimic("C")),
        '"A" mimics "C", but "C" closes a loop at the link "tip" and has no coordinate; put it in the file before the ',
    ),
    "closing": (four_bar().replace("<dynamics damping='3'/>", mimic("A")), '"C" mimics "A", but "C" closes a loop at'),
    "itself as a child": (
        robot(*ARM, joint("k", "b", "c"), joint("l", "c", "c")), 'the joint "l" joins the link "c" to itself'
    ),
    "no root": (
        robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a"), joint("l", "b", "a")),
        'there is no root link; the joint(s) "k", "j" form a cycle',
    ),
    "cycle with a way in": (
        robot(link("r"), *ARM, joint("k", "b", "a"), joint("l", "r", "a"), joint("m", "a", "c")),
        'form a cycle; the tree keeps the first joint to a link: put "l" before the other joint to "a"',
    ),
    "cycle aside": (
        robot(link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), '"k", "j" form a cycle'
    ),
    "zero axis": (four_bar(axis=(0, 0, 0)), 'the axis of joint "C" is zero'),
    "nothing moves": (
        robot(link("a"), link("b"), joint("f", "a", "b", "fixed"), joint("c", "a", "b")),
        'the robot has no moving joint; load it with base="free"',
    ),
    "one body": (
        robot(link("g"), link("a"), link("b"), joint("j", "g", "a"), joint("k", "a", "b", "fixed"),
              joint("l", "a", "b", xyz=X)),
        '"l" - "b" x: both frames are fixed to the same body',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(case):
    file, words = BAD[case]
    with pytest.raises(UrdfError, match=re.escape(words)) as caught:
        vt.load_urdf(file, mimic="constraints", loops="constraints")
    assert "\n" not in str(caught.value)


def test_two_parents_are_an_error_that_names_the_option():
    with pytest.raises(UrdfError, match=r'<text>:10: the link "tip" is the child of two joints, "T" and "C"; loops="'):
        vt.load_urdf(four_bar())


def test_options_are_named():
    with pytest.raises(InputError, match='mimic="yes" is not known; choose from "reduced", "constraints", "indep'):
        vt.load_urdf(GRIPPER, mimic="yes")
    with pytest.raises(InputError, match='loops="yes" is not known; choose from "error", "constraints"'):
        vt.load_urdf(GRIPPER, loops="yes")


def test_a_massless_end_on_its_own_joint_is_singular():
    """The order of the file decides what the tree keeps: here the hinge to a link without mass."""
    lines = four_bar().splitlines(keepends=True)
    order = [*lines[:-4], lines[-2], *lines[-4:-2], lines[-1]]
    model = vt.load_urdf("".join(order).replace("<dynamics damping='3'/>", ""), loops="constraints")
    with pytest.raises(ModelError, match='joint "C" moves no mass'):
        vt.simulate(model, duration=0.1, dt=0.01, method="midpoint")


# ---- real robots ----------------------------------------------------------------------------------

#: Files that have fingers without mass.
FAULTY = {"romeo": ModelError, "romeo_laas_small": ModelError}


@pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")
def test_grippers_of_the_example_robots_step():
    stepped = set()
    for path in example_robots().values():
        if "<mimic" not in path.read_text(errors="ignore"):
            continue
        try:
            model = vt.load_urdf(path, suggest_base(path), mimic="constraints")
            if not model.constraints:  # its mimic joints are fixed
                continue
            q, v = started(model, speed=0.3)
        except (UrdfError, ModelError) as error:
            assert isinstance(error, FAULTY[path.stem])
            continue
        run = vt.simulate(model, q, v, duration=0.2, dt=1e-3, method="midpoint")
        assert np.abs(run.constraint).max() < 1e-11
        for follower in model.joints:
            if follower.mimic is not None:
                leader, multiplier, offset = follower.mimic
                lead, own = (run.q[:, model.joint(name).q_slice][:, 0] for name in (leader, follower.name))
                assert np.abs(own - multiplier * lead - offset).max() < 1e-11
        stepped.add(path.stem)
    assert {"panda", "baxter", "pr2", "talos_full_v2", "tiago_pro"} <= stepped
