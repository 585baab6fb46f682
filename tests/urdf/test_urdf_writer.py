"""URDF files written: they read back to the same mechanism, and say when they cannot."""

import re
from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat, random_rotation, random_state

import vitree as vt
from vitree.spatial.rotations import rotation_rpy
from vitree.urdf.robots import example_robots, own_robots
from vitree.urdf.writer import UNLIMITED, _rpy, _unit, write_urdf

MOVING = ("revolute", "prismatic", "free")
LIMITS = ("lower", "upper", "velocity", "effort")


def read(text, like, **options):
    """Read a text as a mechanism like another: with its gravity and base."""
    left_out = like.joint_names[0] == "root_joint" and '"root_joint"' not in text
    base = "free" if left_out else "fixed"
    return vt.load_urdf(text, **{"base": base, "gravity": like.gravity, "mimic": "independent", **options})


def mapped(a, b, at, which):
    """Entries of a configuration or velocity of ``a`` in the order of ``b``, joint by joint."""
    out = np.empty_like(at)
    for joint in b.joints:
        out[getattr(joint, which)] = at[getattr(a.joint(joint.name), which)]
    return out


def assert_near(x, y, digits=12):
    np.testing.assert_allclose(x, y, rtol=0, atol=10.0**-digits * max(1.0, np.abs(y).max(initial=0.0)))


def assert_same_dynamics(a, b, rng, states=3):
    """rnea, aba and mass matrix are equal at mapped states, and so are the poses of frames of ``a``."""
    order = mapped(a, b, np.arange(a.nv), "v_slice")
    for _ in range(states):
        q, v = random_state(a.flat, rng)
        f = rng.normal(size=a.nv)
        qb, vb = mapped(a, b, q, "q_slice"), v[order]
        assert_near(b.crba(qb), a.crba(q)[np.ix_(order, order)])
        assert_near(b.rnea(qb, vb, f[order]), a.rnea(q, v, f)[order])
        if a.singular is None:
            tau = a.rnea(q, v, f)
            # both are compared with the acceleration that made tau, as far as the mass matrix lets them
            slack = 1e-12 * max(1.0, np.linalg.cond(a.crba(q)))
            scale = max(1.0, np.abs(f).max(), np.abs(v).max() ** 2)
            assert np.abs(b.aba(qb, vb, tau[order]) - a.aba(q, v, tau)[order]).max() <= slack * scale
        poses, again = a.frame_poses(q), b.frame_poses(qb)
        for name in a.frame_names:
            if name in again:
                assert_near(again[name], poses[name])


def unlimited(values):
    """Limits, with what stands for none in a file taken as none."""
    values = np.array(values)
    return np.where(np.abs(values) >= UNLIMITED, np.copysign(np.inf, values), values)


def assert_same_data(a, b):
    """Names, limits, damping, bodies and shapes of ``a`` are those of ``b``."""
    assert b.name == a.name
    for joint in a.joints:
        other = b.joint(joint.name)
        assert other.kind == joint.kind and other.mimic == joint.mimic
        for what in LIMITS:
            assert np.array_equal(unlimited(getattr(other, what)), getattr(joint, what))
        assert np.array_equal(b.flat.damping[other.v_slice], a.flat.damping[joint.v_slice])
    flats = [m.flat for m in (a, b)]
    bodies, again = (dict(zip(f.link_names, zip(f.link_mass, f.link_com, f.link_inertia, strict=True), strict=True))
                     for f in flats)  # fmt: skip
    for link, (mass, com, inertia) in bodies.items():
        assert again[link][:2] == (mass, com if mass else (0.0, 0.0, 0.0))
        assert np.array_equal(again[link][2], 0.5 * (inertia + inertia.T))
    for link in a.link_names:
        shapes, others = ([shape for shape in m.geometry if shape.frame == link] for m in (a, b))
        for one, other in zip(shapes, others, strict=True):
            for what in ("kind", "size", "filename", "rgba", "role"):
                assert getattr(one, what) == getattr(other, what)
            assert np.array_equal(one.position, other.position)
            assert_near(other.rotation, one.rotation, 13)


def assert_same_arrays(a, b):
    """Flat arrays are equal up to rounding, wherever no link is added at a joint."""
    for what in ("kind", "parent"):
        assert np.array_equal(getattr(a.flat, what), getattr(b.flat, what))
    for what in ("E", "p", "mass", "com", "inertia", "damping"):
        assert_near(getattr(b.flat, what), getattr(a.flat, what), 13)


# ---- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(12))
def test_random_trees(base, seed):
    rng = np.random.default_rng(seed)
    kinds = MOVING if seed % 3 else MOVING[:2]
    damped = base == "fixed" and kinds == MOVING[:2]
    flat = random_flat(rng, 9, kinds, base, massless=seed % 2 == 1, damping=damped)
    if base == "free":
        joints = (replace(flat.joints[0], name="root_joint"), *flat.joints[1:])
        flat = replace(flat, joints=joints)
    if seed % 2:  # no frame on the world
        frames = {f"frame_{what}": getattr(flat, f"frame_{what}") for what in ("names", "body", "E", "p")}
        flat = replace(flat, **{key: (*values[:9], *values[10:]) if key == "frame_names" else np.delete(values, 9, 0)
                                for key, values in frames.items()})  # fmt: skip
    a = vt.Model(flat)
    text = write_urdf(a)
    assert ('name="root_joint"' in text) == (base == "free" and seed % 2 == 0)
    b = read(text, a)
    assert_same_dynamics(a, b, rng)
    assert_same_data(a, b)
    assert set(a.frame_names) <= set(b.frame_names)
    assert write_urdf(b) == text


@pytest.mark.parametrize("seed", range(6))
def test_joints_come_in_the_order_of_their_coordinates(seed):
    rng = np.random.default_rng(seed)
    a = vt.Model(random_flat(rng, 9, MOVING, branching=0.0))
    b = read(write_urdf(a), a)
    assert b.joint_names == a.joint_names
    assert_same_arrays(a, b)


def test_an_order_that_is_depth_first_is_kept_whatever_hangs_where():
    # the first coordinate is below a link that is fixed to the last of the body's links
    tree = vt.Tree("order")
    stem = tree.world.add(vt.rx("a"), vt.body("A", 1.0, (1, 1, 1)))
    stem.add(vt.frame("f"))
    side = stem.add(vt.fixed("B_joint", (0, 0, 1)), vt.body("B", 1.0, (1, 1, 1)))
    stem.add(vt.fixed(None, (0, 1, 0)), vt.body("D", 1.0, (1, 1, 1)))
    side.add(vt.ry("b"), vt.body("C", 1.0, (1, 1, 1)))
    stem.add(vt.rz("c"), vt.body("E", 1.0, (1, 1, 1)))
    side.add(vt.fixed("G_joint", (1, 0, 1)), vt.body("G", 1.0, (1, 1, 1)))
    a = tree.compile()
    b = read(write_urdf(a), a)
    assert b.joint_names == a.joint_names == ("a", "b", "c")
    assert [name for name in b.link_names if name in a.link_names] == list(a.link_names)
    assert set(a.frame_names) <= set(b.frame_names)
    assert_same_arrays(a, b)
    parents, again = (dict(zip(m.flat.link_names, m.flat.link_parent, strict=True)) for m in (a, b))
    assert again == {**parents, "A": "world", "world": None, "f": "A"}


@pytest.mark.parametrize("base", ["fixed", "free", "euler"])
@pytest.mark.parametrize("robot", sorted(own_robots()))
def test_own_robots(robot, base):
    a = vt.load_urdf(own_robots()[robot], base=base)
    text = write_urdf(a)
    b = read(text, a)
    assert_same_dynamics(a, b, np.random.default_rng(1))
    assert_same_data(a, b)
    assert_same_arrays(a, b)
    assert set(a.frame_names) <= set(b.frame_names)
    if base != "euler":
        assert b.frame_names == a.frame_names  # nothing is added
        assert write_urdf(vt.read_urdf(text, base)) == text
    assert write_urdf(b) == text


EXAMPLES = sorted(name for name in example_robots() if not name.endswith("/ur3"))


@pytest.mark.parametrize("robot", EXAMPLES[::9] or [pytest.param("", marks=pytest.mark.skip("no example-robot-data"))])
def test_example_robots(robot):
    a = vt.load_urdf(example_robots()[robot], base="free", mimic="independent")
    text = write_urdf(a)
    b = read(text, a)
    assert set(b.frame_names) == set(a.frame_names) and b.joint_names == a.joint_names
    assert_same_arrays(a, b)
    assert_same_data(a, b)
    assert_same_dynamics(a, b, np.random.default_rng(2), states=1)
    assert write_urdf(b) == text


# ---- joints ---------------------------------------------------------------------------------------


def limb(*joint, name="limb", inertia=(0.2, 0.3, 0.4), com=(0.1, -0.2, 0.3)):
    """A tree of one joint that moves a body, with a second one below it."""
    tree = vt.Tree("limb")
    tree.world.add(
        vt.fixed(None, (0.3, 0.1, 0.2), (0.4, 0.5, -0.6)),
        *joint,
        vt.body(name, 2.0, inertia, com),
        vt.fixed(None, (0, 0.2, 0.1), (0.1, 0.2, 0.3)),
        vt.rx("next"),
        vt.body("end", 1.0, inertia, com),
    )
    return tree.compile()


def assert_same_at_equal_states(a, b, rng):
    assert (a.nq, a.nv) == (b.nq, b.nv)
    q, v = random_state(a.flat, rng)
    f = rng.normal(size=a.nv)
    assert_near(b.crba(q), a.crba(q))
    assert_near(b.rnea(q, v, f), a.rnea(q, v, f))
    for name, pose in a.frame_poses(q).items():
        assert_near(b.frame_poses(q)[name], pose)


@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0, 0), (0, 0, -1), (0.3, -0.5, 0.2)])
def test_a_planar_joint_stays_one(normal):
    a = limb(*vt.planar("slide", normal))
    text = write_urdf(a)
    assert 'type="planar"' in text and "slide_x" not in text
    b = read(text, a)
    assert_same_at_equal_states(a, b, np.random.default_rng(3))
    assert b.frame_names == ("world", *a.frame_names) and b.joint("slide").kind == "planar"
    assert write_urdf(b) == text


@pytest.mark.parametrize(
    "joint",
    [
        vt.planar("slide", (0.3, 0.1, -0.5), damping=0.4),
        vt.planar("slide", upper=0.5),
        vt.cylindrical("slide", (0.3, 0.1, -0.5)),
        vt.universal("slide", damping=0.2, lower=-1.0, upper=2.0, velocity=3.0, effort=4.0),
    ],
)
def test_joints_of_several_coordinates_become_chains(joint):
    a = limb(*joint)
    text = write_urdf(a)
    b = read(text, a)
    assert_same_at_equal_states(a, b, np.random.default_rng(4))
    assert b.joint_names[:-1] == tuple(element.name for element in joint)
    assert np.array_equal(a.damping, b.damping)
    limits = a.joint("slide")
    for what in LIMITS:
        got = [value for element in joint for value in getattr(b.joint(element.name), what)]
        assert np.array_equal(unlimited(got), getattr(limits, what))
    assert write_urdf(b) == text


@pytest.mark.parametrize("pitch", [0.2, -0.05])
def test_a_helical_joint_is_a_prismatic_one_that_mimics_a_continuous_one(pitch):
    a = limb(vt.screw("nut", (0.3, -0.1, 0.7), (0.1, 0.2, 0.0), pitch, damping=0.1, upper=2.0))
    pitch = a.flat.pitch[0]
    text = write_urdf(a)
    b = read(text, a, mimic="reduced")
    assert [(c.factors, c.value) for c in b.full.constraints] == [({"nut_slide": 1.0, "nut": -pitch}, 0.0)]
    assert b.v_names == a.v_names
    rng = np.random.default_rng(5)
    q, v = random_state(a.flat, rng)
    f = rng.normal(size=2)
    assert_near(b.crba(q), a.crba(q))
    assert_near(b.rnea(q, v, f), a.rnea(q, v, f))
    assert_near(b.aba(q, v, f), a.aba(q, v, f))
    for name, pose in a.frame_poses(q).items():
        assert_near(b.frame_poses(q)[name], pose)
    assert b.joint("nut").upper == (2.0,) and np.array_equal(b.damping, a.damping)
    assert write_urdf(b) == text


def test_axes_that_miss_the_frames_of_links():
    tree = vt.Tree("offset")
    tree.world.add(vt.screw("a", (0.1, 0.2, 0.9), (0.5, 0.3, -0.1)), vt.body("A", 1.0, (1, 1, 1), (0, 0, 0.2)))
    tree.world.add(vt.rx("b"), vt.tz(-1.0), vt.body("B", 1.0, (1, 1, 1)))
    tree.world.add(vt.tx("c"), vt.rx(0.3), vt.body("C", 1.0, (1, 1, 1)), vt.free("d"), vt.tx(1.0), vt.body("D", 1.0))
    a = vt.Model(tree.flatten())
    text = write_urdf(a)
    b = read(text, a)
    assert set(a.frame_names) <= set(b.frame_names)
    assert_same_dynamics(a, b, np.random.default_rng(6))
    assert write_urdf(b) == text


def test_a_floating_joint_is_written_unless_it_is_all_that_hangs_on_the_world():
    tree = vt.Tree("boat")
    tree.world.add(vt.free("float"), vt.body("hull", 5.0, (1, 2, 3)))
    assert "joint" not in write_urdf(tree)
    b = vt.load_urdf(write_urdf(tree), base="free")
    assert b.joint_names == ("root_joint",) and b.frame_names == ("hull", "root_joint")
    ahead = vt.Tree("boat")
    ahead.world.add(vt.free("float"), vt.tx(0.5), vt.body("hull", 5.0, (1, 2, 3)))
    b = vt.load_urdf(write_urdf(ahead), base="free")
    assert b.link_names == ("float", "hull") and b.frame_poses(b.neutral())["hull"][0, 3] == 0.5
    tree.world.add(vt.fixed("buoy", (1, 0, 0)))
    text = write_urdf(tree)
    assert 'type="floating"' in text
    b = vt.load_urdf(text)
    assert b.joint_names == ("float",)
    assert b.frame_poses(b.neutral())["buoy"][0, 3] == 1.0
    assert_same_dynamics(tree.compile(), b, np.random.default_rng(7))


def test_limits_and_what_stands_for_none():
    tree = vt.Tree("limits")
    given = [
        {},
        {"lower": -1.0},
        {"upper": 0.1 + 0.2},
        {"velocity": 2.0},
        {"lower": -1e-17, "upper": 1e300, "velocity": 1 / 3, "effort": 7.0},
    ]
    for k, limits in enumerate(given):
        tree.world.add(vt.rx(f"turn{k}", **limits), vt.body(f"T{k}", 1.0, (1, 1, 1)))
        tree.world.add(vt.tx(f"slide{k}", **limits), vt.body(f"S{k}", 1.0, (1, 1, 1)))
    a = tree.compile()
    text = write_urdf(a)
    assert_same_data(a, vt.load_urdf(text))
    assert write_urdf(vt.load_urdf(text)) == text
    assert "inf" not in text  # which readers in C++ refuse
    assert re.findall(r'name="turn(\d)" type="continuous"', text) == ["0", "3"]


def test_mimic_is_written_as_data_and_for_couplings():
    tree = vt.Tree("gears")
    for name in "abc":
        tree.world.add(vt.rx(name), vt.body(name.upper(), 1.0, (1, 1, 1)))
    tree.constrain(vt.gear("b", "a", -2.0, 0.5), vt.Coupling({"c": 2.0, "b": 3.0}, 1.0))
    a = tree.compile()
    text = write_urdf(a)
    b = vt.load_urdf(text, mimic="constraints")
    assert b.joint("b").mimic == ("a", -2.0, 0.5)
    assert b.joint("c").mimic == ("b", -1.5, 0.5)
    for c in b.constraints:
        q = vt.satisfy_constraints(a, a.neutral(), hold=["a"])
        assert sum(factor * q["abc".index(j)] for j, factor in c.factors.items()) == pytest.approx(c.value)
    assert write_urdf(b) == text
    again = vt.load_urdf(text)
    assert again.joint("c").mimic == ("a", 3.0, -0.25) and write_urdf(again) == text
    assert write_urdf(vt.load_urdf(text, mimic="independent")) == text


# ---- what cannot be said --------------------------------------------------------------------------


def test_all_that_cannot_be_said_is_listed_once():
    tree = vt.Tree("much")
    tree.world.add(vt.rx("a", kinematic=True), vt.body("A", 1.0, (1, 1, 1)))
    tree.world.add(vt.rx("b"), vt.body("B", 1.0, (1, 1, 1)), vt.free("c", damping=0.1), vt.body("C", 1.0, (1, 1, 1)))
    tree.constrain(vt.Distance("A", "C", 1.0), vt.gear("a", "b", 1.0), vt.gear("b", "a", 1.0))
    tree.load(vt.JointSpring("b", 1.0))
    with pytest.raises(vt.ModelError) as error:
        write_urdf(tree)
    text = str(error.value)
    for part in ("loads: ", 'distance "A" - "C"', 'coupling "b" and "a"', "prescribed motion: a", "free joints: c"):
        assert part in text
    assert 'coupling "a" and "b"' not in text  # that one is a mimic
    assert "lossy=True" in text and "ball" not in text and "\n" not in text
    b = vt.load_urdf(write_urdf(tree, lossy=True))
    assert b.joint_names == ("a", "b", "c") and not b.loads and not b.flat.kinematic.any()


def test_ball_joints_are_refused_and_their_euler_angles_written():
    a = limb(vt.ball("wrist"))
    for lossy in (False, True):
        with pytest.raises(vt.ModelError, match=r"ball joints: wrist.*model\.euler\(\)") as error:
            write_urdf(a, lossy=lossy)
        assert "lossy" not in str(error.value)
    b = read(write_urdf(a.euler()), a)
    assert b.joint_names == ("wrist_rz", "wrist_ry", "wrist_rx", "next")
    assert_same_at_equal_states(a.euler(), b, np.random.default_rng(8))


def test_only_models_and_trees_are_written():
    with pytest.raises(vt.InputError, match="Model or a Tree"):
        write_urdf("robot.urdf")
    tree = vt.Tree("unknown")
    tree.world.add(vt.rx("a"), vt.body("A", 1.0))
    tree.constrain(vt.gear("a", "gone", 1.0))
    with pytest.raises(vt.UnknownNameError, match="gone"):
        write_urdf(tree)


# ---- text and file --------------------------------------------------------------------------------


def test_names_are_escaped_or_refused():
    tree = vt.Tree('a "b" <c> & \u00e9')
    tree.world.add(vt.rx("x < y\n"), vt.body("ü & 'ö'", 1.0, (1, 1, 1)))
    b = vt.load_urdf(write_urdf(tree))
    assert b.name == tree.name and b.joint_names == ("x < y\n",) and "ü & 'ö'" in b.link_names
    tree.world.add(vt.rx("bell\x07"), vt.body("B", 1.0, (1, 1, 1)))
    with pytest.raises(vt.ModelError, match=r"bell\\x07.*rename"):
        write_urdf(tree)


def test_a_link_world_and_names_made_do_not_clash():
    tree = vt.Tree("names")
    ground = tree.world.add(vt.tz(1.0), vt.body("world", 1.0))
    ground.add(vt.screw("a", (0, 0, 1), (1, 0, 0)), vt.body("a_axis", 1.0, (1, 1, 1)))
    tree.world.add(vt.rx("a_axis"), vt.body("a", 1.0, (1, 1, 1)), vt.frame("a_fixed"))
    a = tree.compile()
    text = write_urdf(a)
    b = read(text, a)
    assert_same_dynamics(a, b, np.random.default_rng(9))
    assert set(a.frame_names) <= set(b.frame_names)
    assert write_urdf(b) == text


def test_shapes_are_carried(tmp_path):
    R, at = rotation_rpy(0.1, -0.2, 0.3), np.array([1 / 3, 0.0, -2.0])
    mesh = tmp_path / "a b.stl"
    mesh.write_text("solid a\nendsolid a\n")
    kinds = [
        ("box", (1.0, 2.0, 1 / 3), None, (0.1, 0.2, 0.3, 0.5), "visual"),
        ("cylinder", (0.5, 2.0), None, None, "collision"),
        ("sphere", (0.1,), None, (0.1, 0.2, 0.3, 0.5), "collision"),
        ("capsule", (0.1, 0.2), None, None, "visual"),
        ("mesh", (1.0, 1.0, 1.0), str(mesh), None, "visual"),
        ("mesh", (0.001, -0.001, 1.0), "package://gone/a.stl", (1.0, 0.0, 0.0, 1.0), "visual"),
    ]
    shapes = [vt.Geometry("", kind, size, R, at, file, rgba, role) for kind, size, file, rgba, role in kinds]
    tree = vt.Tree("shapes")
    ground = tree.world.add(vt.body("ground", 0.0, geometry=shapes[:2]))
    ground.add(vt.rx("a"), vt.body("A", 1.0, (1, 1, 1), geometry=shapes))
    a = tree.compile()
    b = vt.load_urdf(write_urdf(a, tmp_path / "robot.urdf"))
    assert len(b.geometry) == 8
    assert_same_data(a, b)
    assert write_urdf(b) == write_urdf(a)
    assert write_urdf(vt.load_urdf(tmp_path / "robot.urdf")) == write_urdf(a)


def test_the_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "robot.urdf"
    a = limb(vt.rx("a"), name="Ä")
    text = write_urdf(a, path)
    assert path.read_bytes().decode() == text
    path.write_text("as it was")
    with pytest.raises(vt.ModelError):
        write_urdf(limb(vt.ball("a")), path)
    assert path.read_text() == "as it was"
    with pytest.raises(vt.InputError, match="cannot write"):
        write_urdf(a, tmp_path / "nowhere" / "robot.urdf")
    assert [file.name for file in tmp_path.iterdir()] == ["robot.urdf"]


def test_a_long_chain_is_no_deep_recursion():
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(1500):
        at = at.add(vt.rx(f"j{k}"), vt.body(f"l{k}", 1.0, (1, 1, 1)), vt.tz(0.1))
    text = write_urdf(tree)
    assert text.count("<joint") == 1500


# ---- numbers --------------------------------------------------------------------------------------


def test_angles_give_the_rotation_wherever_the_pitch_is():
    rng = np.random.default_rng(10)
    rotations = [random_rotation(rng) for _ in range(300)]
    for away in (0.0, *10.0 ** np.arange(-17.0, 0.0)):
        for sign in (1, -1):
            rotations += [rotation_rpy(*rng.uniform(-3, 3, 1), sign * (np.pi / 2 - away), *rng.uniform(-3, 3, 1))]
    for R in rotations:
        rpy = _rpy(R)
        assert np.abs(rotation_rpy(*rpy) - R).max() < 2e-14
        assert _rpy(rotation_rpy(*rpy)) == rpy  # what is written is read and written again


def test_quarter_turns_are_exact():
    quarters = np.arange(-1, 3) * np.pi / 2
    for rpy in np.stack(np.meshgrid(quarters, quarters, quarters), axis=-1).reshape(-1, 3):
        R = rotation_rpy(*rpy)
        assert np.array_equal(rotation_rpy(*_rpy(R)), R)


def test_angles_that_people_write_come_back():
    for rpy in ((0, 1.5708, 0), (0, -1.57, 0), (0.1, 0.2, 0.3), (1.5708, 0, -1.5708), (-0.5, 0, 3.1), (0, 0, np.pi)):
        assert _rpy(rotation_rpy(*rpy)) == pytest.approx(rpy, abs=1e-9)


def test_axes_keep_their_direction():
    from vitree.spatial.checks import direction

    rng = np.random.default_rng(11)
    for axis in (*rng.normal(size=(500, 3)), (1, 1, 0), (0, 0, -1), (1, 1, 1)):
        unit = direction(axis, "axis")
        rounded = _unit(unit)
        assert np.abs(rounded - unit).max() < 2e-14
        assert np.array_equal(_unit(direction(rounded, "axis")), rounded)


# ---- by others --------------------------------------------------------------------------------------


def pinocchio_mass(text, q):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(text)
    at = []  # continuous joints are on the circle
    for name, value in q.items():
        k = model.getJointId(name)
        at += [(model.idx_qs[k], x) for x in ([value] if model.nqs[k] == 1 else [(np.cos(value), np.sin(value))])]
    x = np.zeros(model.nq)
    for k, value in at:
        x[k : k + np.size(value)] = value
    M = pin.crba(model, model.createData(), x)
    M = np.triu(M) + np.triu(M, 1).T
    order = [model.idx_vs[model.getJointId(name)] for name in q]
    return M[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_reads_the_same(seed):
    rng = np.random.default_rng(seed)
    a = vt.Model(random_flat(rng, 8, MOVING[:2], damping=True, massless=True))
    q = random_state(a.flat, rng)[0]
    M = pinocchio_mass(write_urdf(a), dict(zip(a.joint_names, q, strict=True)))
    assert_near(M, a.crba(q), 11)


@pytest.mark.parametrize("robot", sorted(own_robots()))
def test_pinocchio_reads_own_robots(robot):
    a = vt.load_urdf(own_robots()[robot])
    q = random_state(a.flat, np.random.default_rng(12))[0]
    assert_near(pinocchio_mass(write_urdf(a), dict(zip(a.joint_names, q, strict=True))), a.crba(q), 11)
