"""Worlds: things of files, trees and shapes, each under its name, in one model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from world_files import write_files

import vitree as vt
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.worlds.shapes import solid_of_shape


@pytest.fixture
def files(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_kinds_of_things(files):
    pytest.importorskip("mujoco")
    world = vt.World("room", ground=vt.Ground(friction=0.5))
    world.add("arm.urdf", "left", at=(0, -0.6, 0.05), drives={"turn": (100, 10), "l*": (50, 5)}, start={"turn": 0.4})
    world.add("arm.urdf", "right", at=(0, 0.6, 0.05))
    world.add("cup.urdf", at=(1, 0, 0.1))
    world.add("cup.urdf", at=(1, 0.5, 0.1))
    world.add("things.xml", at=(0, 3, 0), start="up")
    world.add("swing.sexpr", at=(-3, 0, 1.5), start={"swing": 0.2})
    tree = vt.Tree("door")
    tree.world.add(vt.rz("hinge", lower=-1, upper=1), vt.body("door", 1.0, (0.1,) * 3, com=(0.5, 0, 0)))
    world.add(tree, at=(-3, 3, 0.5))
    world.add(vt.Box((0.4, 0.4, 0.2)), "table", at=(1, 2, 0.1))
    world.add([vt.Box((0.1, 0.1, 0.1)), vt.Sphere(0.05, position=(0, 0, 0.1))], "toy", at=(1, 2, 0.25), density=300)
    assert [*world.things] == ["left", "right", "cup", "cup_2", "things", "swing", "door", "table", "toy"]
    model = world.compile()
    assert model.limits == "enforce" and model.ground.friction == 0.5
    names = "left/turn left/left left/right right/turn right/left right/right cup/root_joint cup_2/root_joint"
    names += " things/float things/hinge swing/swing door/hinge toy"
    assert model.joint_names == tuple(names.split())
    assert isinstance(model, vt.ReducedModel) and model.nv == 2 + 2 + 6 + 6 + 6 + 1 + 1 + 1 + 6
    q, v = world.start(model)
    starts = {"left/turn": 0.4, "right/turn": 0.0, "cup_2/root_joint": (1, 0.5, 0.1, 0, 0, 0, 1),
              "things/float": (1, 3, 0.3, 0, 0, 0, 1), "things/hinge": 0.5, "swing/swing": 0.2}  # fmt: skip
    for joint, values in starts.items():
        np.testing.assert_allclose(q[model.joint(joint).q_slice], values, atol=1e-15)
    np.testing.assert_array_equal(v[model.joint("things/float").v_slice], (0, 0, 2, 0, 0, 0))
    control = world.control(model)
    assert control.targets == {"left/turn": 0.4, "left/left": 0.0} and control.inputs == {"things/servo": 0.5}
    run = vt.simulate(model, q, v, duration=0.3, dt=1e-3, control=control, monitors="gap")
    assert run.monitors["gap"].min() > -1e-9
    for joint, stays in (("left/turn", 0.05), ("things/hinge", 0.2), ("toy", 1e-9), ("cup/root_joint", 1e-9)):
        at = model.joint(joint).q_slice
        assert np.abs(run.q[:, at] - q[at]).max() < stays, joint
    told = [finding.text for finding in model.report if finding.id == "world-overrules"]
    assert len(told) == 2 and told[0].startswith("gravity of the file, (0, 0, -1)") and told[1].startswith("planes")
    assert {finding.part for finding in model.report} >= {"left/", "right/", "cup/", "things/"}


def test_a_world_of_one_file_is_that_file(files):
    world = vt.World(ground=vt.Ground(-0.1))
    world.add("arm.urdf", "a")
    options = {"ground": vt.Ground(-0.1), "limits": "enforce"}
    alone = vt.load_urdf(str(files / "arm.urdf"), **options)
    model, q = world.compile(), [0.3, 0.01]
    for method in ("linear-time", "semi-implicit-euler"):
        one, other = (vt.simulate(m, q, duration=0.3, dt=1e-3, method=method) for m in (model, alone))
        assert np.array_equal(one.q, other.q)


def test_a_thing_of_mjcf_is_as_from_its_file(files):
    pytest.importorskip("mujoco")
    world = vt.World(gravity=(0, 0, -1))
    world.add("things.xml", "t", start="up")
    robot = vt.from_mujoco(str(files / "things.xml"))
    model, key = world.compile(), robot.keyframes["up"]
    q, v = world.start(model)
    np.testing.assert_array_equal(q, key.q)
    np.testing.assert_array_equal(v, key.v)
    run = vt.simulate(model, q, v, duration=1.0, dt=1e-3, control=world.control(model))
    alone = vt.simulate(robot.model, key.q, key.v, duration=1.0, dt=1e-3, control=vt.Control(inputs=key.inputs))
    assert np.array_equal(run.q, alone.q)


def test_what_meets_nothing_of_its_own_file_meets_other_things(files):
    """A shelf of MJCF on which nothing moves, a ball of MJCF without a plane, and a URDF."""
    pytest.importorskip("mujoco")
    world = vt.World()
    world.add("shelf.xml", at=(0, 0, 0.4))
    world.add("cup.urdf", at=(0.2, 0, 0.6))
    ball = '<mujoco><worldbody><body name="ball"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    (files / "ball.xml").write_text(ball)
    world.add("ball.xml", at=(-0.2, 0, 0.6))
    model = world.compile()
    gaps = model.contact_gaps(model.start)
    pairs = {frozenset((a, b)): gap for a, b, gap in zip(gaps.a, gaps.b, gaps.gap, strict=True)}
    assert {*pairs} == {frozenset(x) for x in (("shelf/world", "cup/cup"), ("shelf/world", "ball/ball"),
                                               ("cup/cup", "ball/ball"))}  # fmt: skip
    run = vt.simulate(model, duration=0.2, dt=1e-3)
    assert np.abs(run.q[-1] - run.q[0]).max() < 1e-9


def test_the_ground_of_the_first_file_that_has_one(files):
    pytest.importorskip("mujoco")
    world = vt.World()
    world.add("arm.urdf")
    assert world.tree.ground is None
    world.add("things.xml")
    assert world.tree.ground.friction == 0.3
    world.add("things.xml", at=(0, 0, 3.0))
    assert world.tree.ground.height == 0.0
    assert [finding.part for finding in world.tree.report if finding.text.startswith("planes")] == ["things_2/"]


def test_a_gripper_on_a_flange(files):
    world = vt.World(gravity=(0, 0, 0))
    world.add("arm.urdf", "arm")
    hand = vt.Tree("hand", gravity=(0, 0, 0))
    hand.world.add(vt.free("base"), vt.body("palm", 0.3, (1e-3,) * 3))
    hand.contact(vt.Contact("palm", shapes=[vt.Sphere(0.05)]))
    frame = world.add(hand, at="arm/tool", base="fixed")
    assert world.tree.frame("hand/palm").parent is frame
    model = world.compile()
    assert model.nv == 2
    np.testing.assert_allclose(model.frame_pose("hand/palm", model.start)[:3, 3], (0, 0, 0.6), atol=1e-15)


def test_pairs_that_do_not_touch(files):
    world = vt.World()
    world.add("arm.urdf", "arm")
    world.add("cup.urdf", "cup", at=(0.1, 0, 0.4))
    world.add(vt.Sphere(0.1), "ball", at=(1, 0, 0), mass=1.0)
    with pytest.raises(InputError, match="overlap"):
        vt.simulate(world.compile(), duration=0.01, dt=1e-3)
    world.apart(("arm", "cup"), ("arm/base", "ball"))
    gaps = world.compile().contact_gaps(world.compile().start)
    pairs = {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True)}
    assert pairs == {frozenset(("arm/upper", "ball")), frozenset(("cup/cup", "ball"))}
    for pair, error in ((("arm", "nobody"), UnknownNameError), (("arm",), InputError), ("ab", InputError)):
        with pytest.raises(error):
            world.apart(pair)


# ---- shapes ------------------------------------------------------------------------------------------------

POSE = {"position": (0.1, -0.2, 0.3), "rotation": vt.fixed(rpy=(0.3, 0.4, 0.5)).rotation}
SOLIDS = [vt.Box((0.2, 0.3, 0.4), **POSE), vt.Sphere(0.2, position=(0.1, 0, 0)), vt.Cylinder(0.2, 0.5, **POSE),
          vt.Capsule(0.2, 0.5, **POSE), vt.Cone(0.2, 0.5, **POSE), vt.Ellipsoid((0.1, 0.2, 0.3), **POSE),
          vt.Hull(np.random.default_rng(0).normal(size=(20, 3)), **POSE)]  # fmt: skip


def inside(shape, x: np.ndarray) -> np.ndarray:
    """Whether points (n, 3) of the shape's own axes are in it."""
    rho, z = np.hypot(*x.T[:2]), x[:, 2]
    if isinstance(shape, vt.Box):
        return (np.abs(x) <= np.array(shape.size) / 2).all(axis=1)
    if isinstance(shape, vt.Ellipsoid):
        return ((x / shape.semi_axes) ** 2).sum(axis=1) <= 1
    if isinstance(shape, vt.Cone):
        return (np.abs(z) <= shape.length / 2) & (rho <= shape.radius * (0.5 - z / shape.length))
    if isinstance(shape, vt.Cylinder):
        return (rho <= shape.radius) & (np.abs(z) <= shape.length / 2)
    if isinstance(shape, vt.Hull):
        planes = ConvexHull(np.array(shape.vertices)).equations
        return (x @ planes[:, :3].T + planes[:, 3] <= 0).all(axis=1)
    half = getattr(shape, "length", 0.0) / 2
    return np.hypot(rho, np.maximum(np.abs(z) - half, 0.0)) <= shape.radius


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: type(shape).__name__)
def test_solids_against_a_grid(shape):
    """Volume, centroid and second moments are sums over cells of a grid, to the size of a cell."""
    n, size = 100, 2 * max(0.5, float(np.abs(getattr(shape, "vertices", 0.0)).max()))
    axis = (np.arange(n) + 0.5) / n * size - size / 2
    x = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    x = x[inside(shape, x)] @ np.array(shape.rotation).T + shape.position
    volume, centroid, second = solid_of_shape(shape)
    cell = (size / n) ** 3
    assert abs(len(x) * cell / volume - 1) < 0.02
    np.testing.assert_allclose(x.mean(axis=0), centroid, atol=0.01 * size / 2)
    spread = (x - centroid).T @ (x - centroid) * cell
    np.testing.assert_allclose(spread, second, atol=0.03 * np.trace(second))


def test_bodies_of_shapes():
    world = vt.World()
    world.add(vt.Box((0.2, 0.3, 0.4)), "box", mass=2.0, rgba=(1, 0, 0, 1))
    world.add(vt.Sphere(0.1), density=1000.0, at=(1, 0, 0), friction=0.2, restitution=0.5)
    world.add(vt.TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), "floor", at=(0, 0, -1))
    model = world.compile()
    assert model.joint_names == ("box", "sphere")
    mass, inertia = 2.0, 2.0 / 12 * np.array([0.3**2 + 0.4**2, 0.2**2 + 0.4**2, 0.2**2 + 0.3**2])
    np.testing.assert_allclose(model.crba(model.start)[:6, :6], np.diag([mass] * 3 + [*inertia]), atol=1e-15)
    np.testing.assert_allclose(model.flat.mass[1], 1000 * 4 / 3 * np.pi * 1e-3)
    assert model.contacts[1].friction == 0.2 and model.contacts[1].restitution == 0.5
    assert [(each.frame, each.kind) for each in model.geometry] == [("box", "box"), ("sphere", "sphere")]
    with pytest.raises(ModelError, match="a Disk without a thickness has no volume"):
        world.add(vt.Disk(0.1), mass=1.0)
    with pytest.raises(InputError, match=r"density=.* and mass= say the same"):
        world.add(vt.Sphere(0.1), mass=1.0, density=1.0)
    with pytest.raises(InputError, match=r"mass=0.* must be a positive number"):
        world.add(vt.Sphere(0.1), mass=0.0)
    with pytest.raises(UnknownNameError, match='no option of the thing "sphere_2", which is made of shapes "colour"'):
        world.add(vt.Sphere(0.1), colour="red")
    assert [*world.things] == ["box", "sphere", "floor"]


# ---- what is wrong -------------------------------------------------------------------------------------------


def test_faults_are_named(files):
    pytest.importorskip("mujoco")
    world = vt.World()
    world.add("arm.urdf", "arm")
    before = str(world.tree)
    for arguments, options, text in (
        (("arm.urdf", "arm"), {}, 'there is already a thing "arm" in "world"; give another name'),
        (("nobody.urdf",), {}, "there is no file nobody.urdf"),
        (("arm.urdf", "b"), {"start": {"elbow": 1.0}}, 'no joint of "b" "elbow"'),
        (("things.xml", "b"), {"start": "down"}, 'no keyframe of "b" "down"; choose from up'),
        (("arm.urdf", "b"), {"start": "up"}, 'no keyframe of "b" "up"'),
        (("arm.urdf", "b"), {"start": 3}, 'of "b" must be the name of a keyframe'),
        (("arm.urdf", "b"), {"drives": {"knee*": (1, 1)}}, r'no joint of "b" to drive that fits|to drive "knee\*"'),
        (("arm.urdf", "b"), {"base": "euler"}, "is not known; choose from"),
        (("arm.urdf", "b"), {"gravity": (0, 0, 0)}, "gravity= is that of the whole world"),
        (("arm.urdf", "b"), {"colour": 1}, "colour"),
        (("arm.urdf", "b/"), {}, "neither begins nor ends"),
        ((3,), {}, "it must be a file, the name of a robot, a Tree"),
        (("arm.urdf", "b"), {"at": "nobody"}, 'no frame "nobody"'),
    ):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=text):
            world.add(*arguments, **options)
        assert str(world.tree) == before and [*world.things] == ["arm"]
    with pytest.raises(InputError, match="limits"):
        vt.World(limits="hard")
    with pytest.raises(InputError, match="a Ground"):
        vt.World(ground=3)
    with pytest.raises(ModelError, match='nothing in "world" moves'):
        vt.World().compile()


def test_things_are_found_and_placed_by_name(files):
    """Where a thing starts: of what floats its base, of what is fixed its own world."""
    world = vt.World(gravity=(0, 0, 0))
    world.add("arm.urdf", "arm", at=(0, -0.6, 0.05))
    world.add("cup.urdf", "cup", at=(1, 0, 0.1), base="free")
    world.add(vt.Box((0.1, 0.1, 0.1)), "box", at=(1, 2, 0.25), mass=0.5)
    world.add(vt.Box((0.1, 0.1, 0.1)), "lid", at="box")
    assert world["arm"] is world.things["arm"] and world["arm"].base is None and world["box"].base == "box"
    np.testing.assert_allclose(world["arm"].pose[:3, 3], (0, -0.6, 0.05))
    np.testing.assert_allclose(world["cup"].pose[:3, 3], (1, 0, 0.1))
    for name in ("cup", "box"):
        world.place(name, (2, 3, 4, 0, 0, 1, 0))
        np.testing.assert_allclose(world[name].pose, np.diag([-1, -1, 1, 1]) + np.pad([[2], [3], [4], [0]],
                                   ((0, 0), (3, 0))), atol=1e-15)  # fmt: skip
    model = world.compile()
    np.testing.assert_allclose(model.frame_pose("box", model.start)[:3, 3], (2, 3, 4))
    with pytest.raises(UnknownNameError, match='no thing "boks"; choose from arm, cup, box'):
        world["boks"]
    with pytest.raises(InputError, match="does not float"):
        world.place("arm", (0, 0, 1))
    with pytest.raises(InputError, match="must be"):
        world.place("box", (0, 0))
    with pytest.raises(InputError, match="where joints have it"):
        _ = world["lid"].pose
