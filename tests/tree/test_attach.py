"""Trees joined to one: as if built by hand, twice the same, with names, contacts, grounds and starts of each part."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import Constraint
from vitree.mechanism.flat import Flat
from vitree.mechanism.loads import Load
from vitree.tree.elements import Element
from vitree.tree.names import NAMES, WORDS

#: All kinds of elements, with names of their own or of others.
KINDS = {*Constraint.__args__, *Load.__args__, *Element.__subclasses__(), vt.Drive, vt.Contact, vt.NoContact, vt.Ground,
         vt.RollingConstraint, vt.Rope, vt.Pulley, vt.BallLimit, vt.Geometry}  # fmt: skip


def test_each_kind_says_which_fields_hold_names():
    assert {*NAMES} == KINDS
    for kind, names in NAMES.items():
        texts = {field.name for field in fields(kind) if "str" in str(field.type) or "Geometry" in str(field.type)}
        assert texts == {*names, *WORDS.get(kind, ())}, kind.__name__
        assert not {*names} & {*WORDS.get(kind, ())}


# ---- built by hand -------------------------------------------------------------------------------------------


def of_all_kinds(tree: vt.Tree, at: vt.Frame, x: str) -> vt.Tree:
    """Add a mechanism with something of each kind to a frame, with ``x`` before its names."""
    box = vt.Geometry("", "box", (0.1, 0.1, 0.1), np.eye(3), np.zeros(3))
    arm = at.add(
        vt.fixed(f"{x}foot", xyz=(0.1, 0, 0.2)), vt.rz(f"{x}turn", lower=-2.0, upper=2.0, damping=0.1),
        vt.body(f"{x}trunk", 2.0, (0.1, 0.1, 0.1), geometry=[box]), vt.universal(f"{x}neck"), vt.tz(0.4),
        vt.body(f"{x}head", 1.0, (0.02, 0.02, 0.01)),
    )
    left = arm.add(vt.fixed(f"{x}side", xyz=(0, 0.2, 0), rpy=(0.3, 0, 0)), vt.ry(f"{x}a"), vt.tx(0.3),
                   vt.body(f"{x}left", 0.5, (0.01, 0.01, 0.01)))  # fmt: skip
    arm.add(vt.fixed(xyz=(0, -0.2, 0)), replace(vt.ry(f"{x}b"), mimic=(f"{x}a", -1.0, 0.0)), vt.tx(0.3),
            vt.body(f"{x}right", 0.5, (0.01, 0.01, 0.01)))  # fmt: skip
    left.add(vt.tx(f"{x}slide"), vt.tx(0.2), vt.body(f"{x}tip", 0.2, (0.01, 0.01, 0.01)))
    at.add(vt.tz(f"{x}lift"), vt.rx(f"{x}wheel"), vt.tx(0.1), vt.body(f"{x}rim", 0.3, (0.01, 0.01, 0.01)))
    tree.constrain(
        vt.PointConstraint(f"{x}tip", f"{x}head", (1, 0, 0), offset=0.5, label=f"{x}held"),
        vt.Distance(f"{x}tip", f"{x}right", f"{x}slide"), vt.gear(f"{x}b", f"{x}a", -1.0),
        vt.AxisConstraint(f"{x}left", f"{x}right", (1, 0, 0), (0, 0, 1)),
        vt.Cam(f"{x}lift", f"{x}wheel", np.linspace(-3, 3, 7), np.linspace(-3, 3, 7) ** 2),
    )
    tree.load(
        vt.Spring(f"{x}tip", f"{x}trunk", 5.0, 0.1), vt.Damper(f"{x}right", f"{x}left", 0.3),
        vt.Attraction(f"{x}head", f"{x}tip", constant=1e-3), vt.Gravity((f"{x}tip",), (0, 0, 9.81)),
        vt.Wrench(f"{x}head", (0, f"{x}twist", 0.1), (1.0, 0, f"{x}push")), vt.JointForce(f"{x}a", f"{x}motor"),
        vt.JointSpring(f"{x}turn", 3.0), vt.NonlinearSpring(f"{x}wheel", (-1, 0, 1, 2), (1, 0, -1, -3)),
        vt.Drive(f"{x}turn", 4.0, 0.1, target=f"{x}aim", target_rate=f"{x}rate"),
    )
    tree.contact(
        vt.Contact(f"{x}tip", shapes=[vt.Sphere(0.05)]), vt.Contact(f"{x}head", points=[(0, 0, 0)], radius=0.1),
        vt.NoContact(f"{x}tip", f"{x}head"),
    )
    tree.roll(vt.RollingConstraint(f"{x}rim", 0.1))
    tree.start |= {f"{x}turn": 0.3, f"{x}neck": (0.1, 0.2)}
    return tree


def same_flat(one: Flat, other: Flat) -> None:
    for field in fields(Flat):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b), field.name
        elif field.name in ("link_inertia", "link_com"):
            assert np.array_equal(np.array(a), np.array(b)), field.name
        elif field.name == "geometry":
            assert [(x.frame, x.kind, x.size) for x in a] == [(x.frame, x.kind, x.size) for x in b]
        elif field.name not in ("name", "parts", "contacts"):
            assert a == b, field.name
    assert repr(one.contacts) == repr(other.contacts)


def test_attached_is_as_built_by_hand():
    part = of_all_kinds(part := vt.Tree("part"), part.world, "")
    for x in ("", "left_", "a/b/"):
        by_hand = of_all_kinds(tree := vt.Tree("whole"), tree.world, x)
        tree = vt.Tree("whole")
        assert tree.attach(part, prefix=x) is tree.world
        same_flat(tree.flatten(), by_hand.flatten())
    at = vt.fixed("stand", xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3))
    by_hand = of_all_kinds(hand := vt.Tree("whole"), hand.world.add(at), "x")
    tree = vt.Tree("whole")
    assert tree.attach(part, at=at, prefix="x").name == "stand"
    same_flat(tree.flatten(), by_hand.flatten())
    # the part is as it was, and what is attached can be attached
    same_flat(part.flatten(), of_all_kinds(again := vt.Tree("part"), again.world, "").flatten())
    outer = vt.Tree("outer")
    outer.attach(tree, prefix="y")
    by_hand = of_all_kinds(hand := vt.Tree("outer"), hand.world.add(replace(at, name="ystand")), "yx")
    same_flat(outer.flatten(), by_hand.flatten())


def pendulum(length: float = 1.0, name: str = "pendulum") -> vt.Tree:
    tree = vt.Tree(name)
    tree.world.add(vt.rx("hinge"), vt.tz(-length), vt.body("bob", 1.0, (0.1, 0.1, 0.1)))
    return tree


def test_runs_to_the_bit():
    """On a moving frame: a pendulum on a cart, attached and by hand."""
    hand, cart = vt.Tree("cart"), vt.Tree("cart")
    for tree in (hand, cart):
        tree.world.add(vt.ty("rail"), vt.body("cart", 2.0))
    hand.frame("cart").add(vt.rx("p_hinge"), vt.tz(-1.0), vt.body("p_bob", 1.0, (0.1, 0.1, 0.1)))
    cart.attach(pendulum(), at="cart", prefix="p_")
    for method in ("linear-time", "midpoint", "rk4"):
        one, other = (vt.simulate(tree.compile(), [0.1, 1.0], duration=0.5, dt=1e-2, method=method)
                      for tree in (hand, cart))  # fmt: skip
        assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)


#: Methods, and how far two mechanisms may be from what each does alone: to rounding, where steps are solved tightly.
METHODS = {"rk4": {}, "linear-time": {"tolerance": 1e-13}}


@pytest.mark.parametrize("method", METHODS)
def test_the_same_file_twice_moves_as_two_single_runs(method):
    robot = vt.read_urdf(vt.find_robot("human"), base="free")
    rng, alone, both = np.random.default_rng(3), robot.compile(), vt.Tree("both")
    starts = [(alone.random_configuration(rng), rng.normal(size=alone.nv)) for _ in range(2)]
    both.attach(robot, prefix="left_")
    both.attach(robot, prefix="right_")
    options = {"duration": 0.1, "dt": 1e-3, "method": method, **METHODS[method]}
    run = vt.simulate(both.compile(), *(np.concatenate(x) for x in zip(*starts, strict=True)), **options)
    for k, start in enumerate(starts):
        single = vt.simulate(alone, *start, **options)
        np.testing.assert_allclose(np.split(run.q, 2, axis=1)[k], single.q, rtol=0, atol=1e-12)
    assert len(both.report) == 2 * len(robot.report) and {each.part for each in both.report} == {"left_", "right_"}
    assert str(both.report).startswith("[left_] ")


def test_two_robots_of_example_robot_data():
    if not {"talos", "solo"} <= {*vt.list_robots()}:
        pytest.skip("example-robot-data is not installed")
    tree = vt.Tree("both")
    places = {"talos": (0.0, 0.0, 1.0), "solo": (2.0, 0.0, 0.5)}
    for name, at in places.items():
        tree.attach(vt.read_urdf(vt.find_robot(name), base="free"), at=at, prefix=f"{name}/")
    model = tree.compile()
    q = model.start
    for name, at in places.items():
        np.testing.assert_array_equal(q[model.joint(f"{name}/root_joint").q_slice], (*at, 0, 0, 0, 1))
    v = 0.1 * np.random.default_rng(0).normal(size=model.nv)
    options = {"duration": 0.05, "dt": 1e-3, "method": "rk4"}
    run = vt.simulate(model, v0=v, **options)
    at = 0
    for name in places:
        alone = vt.load_urdf(vt.find_robot(name), base="free")
        own = slice(at, at := at + alone.nv)
        q0 = q[model.joint(f"{name}/root_joint").q_slice.start :][: alone.nq]
        single = vt.simulate(alone, q0, v[own], **options)
        np.testing.assert_allclose(run.v[:, own], single.v, rtol=0, atol=1e-10)


#: Two sliders by an equality, a fixed tendon with a motor, a spatial one that pulls, a servo and a site that pushes.
MJCF = """<mujoco model="machine"><worldbody>
  <site name="hook" pos="0 0 1"/><geom name="rock" type="box" size="0.1 0.1 0.1" pos="0 0.6 0"/>
  <body name="arm"><joint name="shoulder" axis="0 1 0" range="-170 170"/><geom type="capsule" size="0.05 0.2"/>
    <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="1 0 0" damping="0.1"/><site name="palm" pos="0.1 0 0"/>
      <geom size="0.06" mass="0.5"/>
      <body name="a"><joint name="a" type="slide" axis="0 1 0"/><inertial pos="0 0.1 0" mass="0.2" diaginertia="1e-3 1e-3 1e-3"/></body>
      <body name="b"><joint name="b" type="slide" axis="0 1 0"/><inertial pos="0 0.1 0" mass="0.2" diaginertia="1e-3 1e-3 1e-3"/></body>
    </body></body></worldbody>
  <equality><joint joint1="b" joint2="a" polycoef="0 -1 0 0 0"/></equality>
  <tendon><fixed name="both"><joint joint="shoulder" coef="1"/><joint joint="wrist" coef="-2"/></fixed>
    <spatial stiffness="20" damping="1" springlength="0.5"><site site="hook"/><site site="palm"/></spatial></tendon>
  <actuator><motor name="pull" tendon="both" gear="2"/><position name="grip" joint="a" kp="50" kv="2"/>
    <general name="jet" site="palm" gear="0 0 1 0 0 0"/></actuator>
  <contact><exclude body1="arm" body2="hand"/></contact></mujoco>"""  # noqa: E501


def test_models_of_mujoco():
    """Twice, with their inputs: each as alone."""
    pytest.importorskip("mujoco")
    robot = vt.from_mujoco(MJCF)
    tree = vt.Tree("both")
    tree.attach(robot, prefix="a/")
    tree.attach(robot, at=(0, 3.0, 0), prefix="b/")
    model = tree.compile()
    assert model.limits == "enforce"
    assert model.input_names == tuple(f"{x}/{name}" for x in "ab" for name in robot.model.input_names)
    rng = np.random.default_rng(0)
    states = [(vt.satisfy_constraints(robot.model, 0.3 * rng.normal(size=4)), rng.normal(size=4)) for _ in range(2)]
    options = {"duration": 0.3, "dt": 1e-3, "tolerance": 1e-13}
    q, u = (np.concatenate(x) for x in zip(*states, strict=True))
    run = vt.simulate(model, q, control=vt.Control(inputs=u), **options)
    for k, (q0, u0) in enumerate(states):
        alone = vt.simulate(robot.model, q0, control=vt.Control(inputs=u0), **options)
        assert np.abs(alone.q[-1] - alone.q[0]).max() > 0.1
        np.testing.assert_allclose(np.split(run.q, 2, axis=1)[k], alone.q, rtol=0, atol=1e-11)


# ---- bases ------------------------------------------------------------------------------------------------


def gripper(base: str | None) -> vt.Tree:
    tree = vt.Tree("gripper")
    palm = tree.world.add(*([vt.free("root_joint")] if base == "free" else []), vt.body("palm", 0.5, (0.01,) * 3))
    for name, y in (("left", 0.05), ("right", -0.05)):
        palm.add(vt.ty(y), vt.ty(f"{name}_finger", lower=-0.02, upper=0.05), vt.tz(0.1),
                 vt.body(name, 0.1, (1e-4,) * 3))  # fmt: skip
    tree.constrain(vt.gear("right_finger", "left_finger", -1.0))
    tree.contact(vt.Contact("left", shapes=[vt.Box((0.02, 0.01, 0.05))]),
                 vt.Contact("right", shapes=[vt.Box((0.02, 0.01, 0.05))]))  # fmt: skip
    return tree


@pytest.mark.parametrize("base", [None, "free"])
def test_a_gripper_on_a_flange_keeps_the_momentum(base):
    """On a base that floats without gravity: loops, drives and limits included."""
    tree = vt.Tree("satellite", gravity=(0, 0, 0))
    hand = gripper(base)
    hand.gravity = np.zeros(3)
    hub = tree.world.add(vt.free("root_joint"), vt.body("hub", 5.0, (0.5, 0.6, 0.7)))
    hub.add(vt.tx(0.3), vt.ry("shoulder"), vt.tx(0.5), vt.body("arm", 1.0, (0.01, 0.1, 0.1)), vt.rx("wrist"),
            vt.fixed("flange", xyz=(0.1, 0, 0), rpy=(0, np.pi / 2, 0)))  # fmt: skip
    hand.load(vt.Drive("left_finger", 50.0, 1.0, target=0.03), vt.JointForce("left_finger", "squeeze"))
    tree.attach(hand, at="flange", prefix="hand_", base="fixed")
    model = tree.compile()
    assert model.joint_names == ("root_joint", "shoulder", "wrist", "hand_left_finger", "hand_right_finger")
    assert model.input_names == ("hand_squeeze",)
    assert model.joint("hand_left_finger").parent == "hand_palm"
    v = np.random.default_rng(1).normal(size=model.nv)
    q = vt.satisfy_constraints(model, model.neutral())
    run = vt.simulate(model, q, model.project_velocity(q, v), duration=0.5, dt=1e-3)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12
    assert np.abs(run.constraint).max() < 1e-10


def test_a_base_is_freed_or_welded():
    tree = vt.Tree("tree")
    place = vt.fixed(xyz=(1, 0, 2), rpy=(0, 0, np.pi / 2))
    there = tree.attach(gripper(None), at=place, prefix="a_", base="free")
    assert there.name == "a_root_joint"
    tree.attach(gripper("free"), at=place, prefix="b_", base="fixed")
    tree.attach(gripper("free"), at=place, prefix="c_", base="free")
    tree.attach(gripper("free"), prefix="d_")
    tree.world.add(replace(place, name="stand"))
    tree.attach(gripper(None), at="stand", prefix="e_", base="free")
    tree.attach(gripper("free"), at="stand", prefix="f_")
    model = tree.compile()
    kinds = {joint.name: joint.kind for joint in model.joints if joint.kind == "free"}
    assert [*kinds] == [f"{x}_root_joint" for x in "acdef"]
    half = np.sqrt(0.5)
    for name in (f"{x}_root_joint" for x in "acef"):
        np.testing.assert_allclose(model.start[model.joint(name).q_slice], (1, 0, 2, 0, 0, half, half), atol=1e-15)
    for name in (f"{x}_left" for x in "abcef"):
        alone = gripper(None).compile()
        X = np.block([[place.rotation, np.array(place.position)[:, None]], [np.zeros((1, 3)), 1]])
        expected = X @ alone.frame_pose(name[2:], alone.neutral())
        np.testing.assert_allclose(model.frame_pose(name, model.start), expected, atol=1e-15)
    angles, X = model.euler(), model.frame_pose("c_left", model.start)
    np.testing.assert_allclose(angles.frame_pose("c_left", angles.start), X, atol=1e-15)
    reduced = model.reduced()
    np.testing.assert_array_equal(reduced.expand(reduced.start), model.start)
    tree.contacts.clear()
    run = vt.simulate(tree.compile(), duration=1e-3, dt=1e-3)
    np.testing.assert_array_equal(run.q[0], model.start)


def test_starts_of_parts_are_placed():
    """A floating part that starts somewhere in its own world starts there at the place of that world."""
    part = gripper("free")
    part.start = {"root_joint": (0, 0, 1, 0, 0, 0, 1), "left_finger": 0.01}
    tree = vt.Tree("tree")
    tree.attach(part, at=(1.0, 0, 0), prefix="a_")
    tree.attach(part, prefix="b_", base="fixed")
    assert tree.start == {"a_root_joint": (1, 0, 1, 0, 0, 0, 1), "a_left_finger": 0.01, "b_left_finger": 0.01}
    tree.start["nobody"] = 1.0
    with pytest.raises(UnknownNameError, match="nobody"):
        tree.compile()
    tree.start = {"a_left_finger": (1.0, 2.0)}
    with pytest.raises(ModelError, match=r'the start of "a_left_finger" is \(1.0, 2.0\); it must be 1 finite number'):
        tree.compile()


def test_joints_keep_their_order():
    """Of roots that float and roots that do not, at a place."""
    part = vt.Tree("part")
    for name in "abcd":
        joint = vt.free(name) if name in "bd" else vt.rz(name)
        part.world.add(joint, vt.body(f"{name}_body", 1.0, (0.1,) * 3, com=(0.1, 0, 0)))
    tree = vt.Tree("tree")
    tree.attach(part, at=vt.fixed("place", xyz=(1, 2, 3)))
    model = tree.compile()
    assert model.joint_names == tuple("abcd")
    for name in "abcd":
        np.testing.assert_array_equal(model.frame_pose(f"{name}_body", model.start)[:3, 3], (1, 2, 3))


# ---- the world, contacts and grounds ----------------------------------------------------------------------


def tied() -> vt.Tree:
    """A bob that a spring ties to the world, where a block stands still."""
    tree = pendulum(name="tied")
    tree.load(vt.Spring("bob", "world", 3.0))
    tree.contact(vt.Contact("world", shapes=[vt.Box((0.2, 0.2, 0.2), position=(0, 0, -2))]),
                 vt.Contact("bob", shapes=[vt.Sphere(0.1)]), vt.NoContact("world", "bob"))  # fmt: skip
    return tree


def test_the_world_of_a_part_is_where_it_is_attached():
    tree = vt.Tree("tree")
    tree.attach(tied(), prefix="a_")
    assert tree.loads[0].b == "world"
    tree.attach(tied(), at=(0, 3.0, 0), prefix="b_")
    assert tree.loads[1].b == "b_world"
    cart = tree.world.add(vt.fixed(xyz=(0, 6.0, 0)), vt.ty("rail"), vt.body("cart", 1.0))
    tree.attach(tied(), at=cart, prefix="c_")
    assert tree.loads[2].b == "cart"
    model = tree.compile()
    assert model.contacts[0].frame == "world"
    np.testing.assert_array_equal(model.frame_pose("b_world", model.neutral())[:3, 3], (0, 3, 0))
    run = vt.simulate(model, [0.3, 0.3, 0.0, 0.0], duration=0.2, dt=1e-3)
    np.testing.assert_allclose(run.q[:, 0], run.q[:, 1], rtol=0, atol=1e-13)
    shut = {frozenset((each.a, each.b)) for each in model.contacts if isinstance(each, vt.NoContact)}
    assert shut == {frozenset(("world", "a_bob")), frozenset(("b_world", "b_bob")), frozenset(("cart", "c_bob"))}


def pairs_of(model: vt.Model) -> set[frozenset[str]]:
    gaps = model.contact_gaps(model.neutral())
    return {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True)}


def test_pairs_left_out_of_a_part_are_left_out_of_that_part_alone():
    one, two = vt.Tree("tree"), vt.Tree("tree")
    one.attach(tied(), prefix="a_")
    one.attach(tied(), at=(0, 3.0, 0), prefix="b_")
    expected = {frozenset(pair) for pair in (("a_bob", "b_bob"), ("a_bob", "b_world"), ("b_bob", "world"))}
    assert pairs_of(one.compile()) == expected
    # and so it is where the host is the one that leaves out, and what comes stands still
    two.attach(tied(), prefix="a_")
    table = vt.Tree("table")
    table.world.add(vt.body("top", 1.0))
    table.contact(vt.Contact("top", shapes=[vt.Box((1, 1, 0.1))]))
    two.attach(table, at=(0, 0, -3), prefix="t_")
    assert pairs_of(two.compile()) == {frozenset(("a_bob", "t_top"))}


@pytest.mark.parametrize("shape", [vt.Sphere(0.3), vt.Box((0.4, 0.4, 0.4)), vt.Hull(np.random.default_rng(0).normal(size=(30, 3)))])  # noqa: E501
@pytest.mark.parametrize("own", [vt.Sphere(0.1), vt.Cylinder(0.1, 0.2), vt.Hull(0.1 * np.random.default_rng(1).normal(size=(30, 3)))])  # noqa: E501
def test_things_that_overlap_at_the_neutral_configuration_touch(shape, own):
    """Of one tree such a pair is left out, since links of robots overlap in their files."""
    arm, block = pendulum(), vt.Tree("block")
    arm.contact(vt.Contact("bob", shapes=[own]))
    block.world.add(vt.body("block", 1.0))
    block.contact(vt.Contact("block", shapes=[shape]))
    alone = vt.Tree("one")
    alone.world.add(vt.rx("hinge"), vt.tz(-1.0), vt.body("bob", 1.0, (0.1, 0.1, 0.1)))
    alone.world.add(vt.tz(-1.0), vt.body("block", 1.0))
    alone.contact(*arm.contacts, *block.contacts)
    assert pairs_of(alone.compile()) == set()
    arm.attach(block, at=(0, 0, -1.0))
    model = arm.compile()
    assert pairs_of(model) == {frozenset(("bob", "block"))}
    with pytest.raises(InputError, match="overlap"):
        vt.simulate(model, duration=0.01, dt=1e-3)
    assert vt.Model(replace(model.flat, parts=())).digest != model.digest


def test_grounds():
    tree = vt.Tree("tree")
    part = gripper("free")
    part.contact(vt.Ground(friction=0.3))
    tree.attach(part, at=vt.fixed(xyz=(0, 0, 1), rpy=(np.pi / 2, 0, 0)), prefix="a_")
    assert tree.ground.friction == 0.3
    np.testing.assert_allclose(tree.ground.normal, (0, -1, 0), atol=1e-15)
    tree.attach(part, at=vt.fixed(xyz=(2, 0, 5), rpy=(np.pi / 2, 0, 0)), prefix="b_")
    with pytest.raises(ModelError, match="different grounds"):
        tree.attach(part, prefix="c_")
    tree.attach(gripper("free"), prefix="c_")
    hilly = vt.Tree("hills")
    hilly.contact(vt.Ground(terrain=vt.HeightField(np.zeros((3, 3)), 1.0, (0.0, 0.0, 0.5))))
    tree = vt.Tree("tree")
    tree.attach(hilly, at=(1.0, 2.0, 3.0))
    assert tree.ground.terrain.origin == (1.0, 2.0, 3.5)
    with pytest.raises(ModelError, match="cannot be turned"):
        vt.Tree("tree").attach(hilly, at=vt.fixed(rpy=(0, 0, 1)))
    tree.world.add(vt.ty("rail"), vt.body("cart", 1.0))
    with pytest.raises(ModelError, match='"hills" has a ground, and "cart" moves'):
        tree.attach(hilly, at="cart")


def test_texts_have_starts_and_one_part():
    tree = vt.Tree("tree")
    tree.attach(gripper("free"), at=(0, 0, 2.0), prefix="a_")
    tree.start["a_left_finger"] = 0.01
    again = vt.read_sexpr(vt.write_sexpr(tree))
    np.testing.assert_array_equal(again.compile().start, tree.compile().start)
    assert again.compile().start[2] == 2.0
    block = vt.Tree("block")
    block.world.add(vt.body("block", 1.0))
    block.contact(vt.Contact("block", shapes=[vt.Sphere(0.1)]))
    tree.attach(block)
    with pytest.raises(ModelError, match="parts that were attached to the world, which an s-expression does not tell"):
        vt.write_sexpr(tree)


# ---- what cannot be joined ---------------------------------------------------------------------------------


def test_names_that_are_taken_name_the_remedy():
    tree = pendulum()
    before = str(tree)
    with pytest.raises(ModelError, match=r'both have a joint "hinge"; give prefix=, such as prefix="other_"'):
        tree.attach(pendulum(name="other"))
    part = vt.Tree("part")
    part.world.add(vt.ry("knee"), vt.body("leg", 1.0), vt.frame("bob"))
    with pytest.raises(ModelError, match='both have a frame "bob"'):
        tree.attach(part)
    part = vt.Tree("part")
    part.world.add(vt.ry("knee"), vt.body("leg", 1.0))
    part.load(vt.JointForce("knee", "u"))
    tree.load(vt.JointForce("hinge", "u"))
    with pytest.raises(ModelError, match='both have an input "u"; give prefix='):
        tree.attach(part)
    assert str(tree).startswith(before) and len(tree.loads) == 1 and tree.parts == 0
    tree.attach(part, prefix="p_")
    with pytest.raises(ModelError, match="give another prefix="):
        tree.attach(part, prefix="p_")


class Push(vt.Force):
    """A force on a joint, by its name."""

    def __init__(self, joint: str):
        self.joint = joint

    def force(self, model, t, q, v, u):
        out = np.zeros(model.nv)
        out[model.joint(self.joint).v_slice] = 1.0
        return out


class Named(Push):
    """The same, which knows how to be renamed."""

    def renamed(self, rename):
        return type(self)(rename(self.joint))


def test_what_is_written_in_python():
    part = pendulum()
    part.load(Push("hinge"))
    with pytest.raises(ModelError, match="Push is written in Python and has no renamed"):
        vt.Tree("tree").attach(part, prefix="a_")
    part.loads = [Named("hinge")]
    tree = vt.Tree("tree")
    tree.world.add(vt.ty("rail"), vt.body("cart", 1.0))
    tree.attach(part, prefix="a_")
    assert tree.loads[0].joint == "a_hinge"


@pytest.mark.parametrize(("change", "text"), [
    (lambda part: setattr(part, "gravity", np.zeros(3)), r'the gravity of "part" is \(0, 0, 0\), that of "pendulum"'),
    (lambda part: setattr(part, "limits", "enforce"), 'limits of "part" are "enforce", those of "pendulum" "report"'),
])  # fmt: skip
def test_settings_that_differ(change, text):
    tree, part = pendulum(), vt.Tree("part")
    tree.world.add(vt.ry("other", lower=-1.0), vt.body("arm", 1.0))
    part.world.add(vt.ry("knee", upper=1.0), vt.body("leg", 1.0))
    change(part)
    with pytest.raises(ModelError, match=text):
        tree.attach(part)


def test_the_treatment_of_limits_is_that_of_the_tree_with_limits():
    tree, part = pendulum(), vt.Tree("part")
    part.world.add(vt.ry("knee", upper=1.0), vt.body("leg", 1.0))
    part.limits = "enforce"
    tree.attach(part)
    assert tree.limits == "enforce"
    other = pendulum()
    tree.attach(other, prefix="b_")
    assert tree.limits == "enforce"


@pytest.mark.parametrize("at", [(1.0, 2.0), "x", np.full(3, np.nan), np.zeros((4, 4)), (0, 0, 0, 0, 0, 0, 2.0), None])
def test_places_that_are_none(at):
    with pytest.raises((InputError, ModelError, UnknownNameError)):
        pendulum().attach(pendulum(name="b"), at=at, prefix="b_")


MATRIX = [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]


@pytest.mark.parametrize("at", [(1, 2, 3), (1, 2, 3, 0, 0, 0, 1), MATRIX, vt.fixed(xyz=(1, 2, 3))])
def test_places(at):
    tree = pendulum()
    tree.attach(pendulum(), at=at, prefix="b_")
    np.testing.assert_array_equal(tree.compile().frame_pose("b_hinge", np.zeros(2))[:3, 3], (1, 2, 3))


def test_what_is_no_tree():
    for other, text in ((pendulum().compile(), "read the file by vt.read_urdf"), ("arm.urdf", "it must be a Tree")):
        with pytest.raises(InputError, match=text):
            pendulum().attach(other)
    with pytest.raises(ModelError, match='a frame of "other"'):
        pendulum().attach(pendulum(), at=pendulum(name="other").frame("bob"), prefix="b_")
    with pytest.raises(ModelError, match='base="free" cannot tell'):
        both = gripper("free")
        both.attach(pendulum())
        vt.Tree("tree").attach(both, base="free")
    for options in ({"base": "euler"}, {"prefix": 3}):
        with pytest.raises(InputError):
            pendulum().attach(pendulum(), **options)
