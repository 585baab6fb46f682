"""Trees to flat arrays: frames are where their transforms say, bodies weigh what they should."""

from __future__ import annotations

import re

import numpy as np
import pytest
import reference
from random_models import random_flat, random_inertia, random_rotation, random_state

from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism import euler as euler_angles
from vitree.mechanism.flat import FREE, HELICAL, KIND_NQ, KIND_NV, PRISMATIC, REVOLUTE, Geometry
from vitree.mechanism.regular import why_singular
from vitree.spatial.rotations import rotation_about, rotation_rpy, turn_z_to
from vitree.tree import pairs
from vitree.tree.elements import ball, body, fixed, frame, free, rx, ry, rz, screw, tx, ty, tz
from vitree.tree.tree import Tree

X, Y, Z = np.eye(3)


def move(R=None, p=(0.0, 0.0, 0.0)):
    return reference.pose(np.eye(3) if R is None else R, np.array(p, float))


def turn(axis, angle):
    return move(rotation_about(np.asarray(axis, float), angle))


def lump(name="lump", mass=1.0):
    return body(name, mass, inertia=(0.2, 0.3, 0.4), com=(0.1, -0.2, 0.3))


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance)


def pose_in(tree, name, q):
    return reference.frame_pose(tree.flatten(), name, np.atleast_1d(np.asarray(q, float)))


# ---- frames -------------------------------------------------------------------------------------


def test_primitives_move_along_and_about_their_axes():
    for make, pose in [
        (tx, lambda s: move(p=s * X)), (ty, lambda s: move(p=s * Y)), (tz, lambda s: move(p=s * Z)),
        (rx, lambda s: turn(X, s)), (ry, lambda s: turn(Y, s)), (rz, lambda s: turn(Z, s)),
    ]:  # fmt: skip
        tree = Tree()
        tree.world.add(make(0.4), make("a"), make(-1.1), lump())
        for q in (0.0, 0.7, -2.9):
            close(pose_in(tree, "lump", q), pose(0.4 + q - 1.1))


def test_a_chain_is_the_product_of_its_elements():
    """Written twice: as elements, and as a product of 4x4 matrices in the same order."""
    rng = np.random.default_rng(0)
    axis, point, pitch = rng.normal(size=3), rng.normal(size=3), 0.3
    unit = axis / np.linalg.norm(axis)
    R = random_rotation(rng)
    tree = Tree()
    tree.world.add(
        fixed(xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), frame("start"), rx("a"), tz(-0.5), lump("one"),
        screw("b", axis, point, pitch), fixed(rotation=R), ry(0.2), lump("two"),
        ty("c"), ball("d"), tx(0.3), lump("three"), free("e"), lump("four"), frame("end"),
    )  # fmt: skip
    q, _ = random_state(tree.flatten(), rng)
    a, b, c, d, e = q[0], q[1], q[2], q[3:7], q[7:]
    start = move(rotation_rpy(0.1, 0.2, 0.3), (1, 2, 3))
    one = start @ turn(X, a) @ move(p=-0.5 * Z)
    about_point = move(p=point) @ turn(unit, b) @ move(p=-point) @ move(p=pitch * b * unit)
    two = one @ about_point @ move(R) @ turn(Y, 0.2)
    three = two @ move(p=c * Y) @ move(reference.quaternion_matrix(d)) @ move(p=0.3 * X)
    four = three @ move(reference.quaternion_matrix(e[3:]), e[:3])
    for name, pose in {"start": start, "one": one, "two": two, "three": three, "four": four, "end": four}.items():
        close(pose_in(tree, name, q), pose)
    close(pose_in(tree, "b", q), one @ about_point)  # a joint's frame is what the joint moves
    assert [j.name for j in tree.flatten().joints] == ["a", "b", "c", "d", "e"]


def test_branches_are_independent():
    tree = Tree()
    hub = tree.world.add(rz("hub"), lump("hub link"))
    for k in range(3):
        hub.add(rz(2 * np.pi * k / 3), tx(1.0), ry(f"arm {k}"), tx(0.5), lump(f"hand {k}"))
    q = np.array([0.3, 0.1, 0.2, -0.4])
    for k in range(3):
        close(
            pose_in(tree, f"hand {k}", q),
            turn(Z, 0.3 + 2 * np.pi * k / 3) @ move(p=X) @ turn(Y, q[k + 1]) @ move(p=0.5 * X),
        )
    flat = tree.flatten()
    assert list(flat.parent) == [-1, 0, 0, 0]
    assert flat.link_names == ("hub link", "hand 0", "hand 1", "hand 2")
    assert flat.link_parent == (None, "hub link", "hub link", "hub link")
    assert [j.parent for j in flat.joints] == ["world", "hub link", "hub link", "hub link"]
    assert [j.child for j in flat.joints] == ["hub link", "hand 0", "hand 1", "hand 2"]


def test_order_is_depth_first_in_order_of_adding():
    tree = Tree()
    a = tree.world.add(rx("a"), lump("A"))
    tree.world.add(rx("b"), lump("B"))
    a.add(rx("c"), lump("C"))
    assert [j.name for j in tree.flatten().joints] == ["a", "c", "b"]


@pytest.mark.parametrize("axis", [X, Y, Z, -X, -Y, -Z])
def test_rotation_to_coordinate_axes_is_exact(axis):
    R = turn_z_to(axis)
    assert set(R.ravel()) <= {0.0, 1.0, -1.0}
    assert (R[:, 2] == axis).all()
    assert np.linalg.det(R) == 1.0


def test_rotation_to_an_axis_is_the_least():
    rng = np.random.default_rng(1)
    for axis in [*rng.normal(size=(20, 3)), (1e-9, 0, -1), (1e-5, 2e-5, -1), (0, 1e-4, -1), (1e-160, 0, -1)]:
        axis = np.asarray(axis, float) / np.linalg.norm(axis)
        R = turn_z_to(axis)
        close(R @ R.T, np.eye(3), 1e-15)
        close(R[:, 2], axis, 1e-15)
        assert np.trace(R) == pytest.approx(1 + 2 * axis[2], abs=1e-14)  # angle between z and the axis


def test_axes_are_local_z_and_constants_are_folded():
    tree = Tree()
    tree.world.add(fixed(xyz=(0, 0, 1)), rx(np.pi / 2), rx("a"), tz(-1), ry(0.0), lump("A"), ty("b"), lump("B"))
    flat = tree.flatten()
    assert list(flat.kind) == [REVOLUTE, PRISMATIC]
    close(flat.E[0][:, 2], X)
    close(flat.p[0], (0, 0, 1))
    for S, name in ((Z, "a"), (Z, "b")):  # along the core frame's z, seen from the joint's own frame
        k = flat.frame_names.index(name)
        close(flat.frame_E[k].T @ S, X if name == "a" else Y)


def test_screw_by_twist_and_by_axis_agree():
    rng = np.random.default_rng(2)
    axis, point = rng.normal(size=3), rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    one = screw("a", axis, point, 0.2)
    two = screw("a", twist=(axis, np.cross(point, axis) + 0.2 * axis))
    close(one.twist, two.twist, 1e-15)
    trees = [Tree(), Tree()]
    for tree, element in zip(trees, (one, two), strict=True):
        tree.world.add(element, lump())
    assert trees[0].flatten().kind[0] == HELICAL
    close(pose_in(trees[0], "lump", 0.7), pose_in(trees[1], "lump", 0.7))
    slide = Tree()
    slide.world.add(screw("s", twist=((0, 0, 0), (0, 0.6, 0.8))), lump())
    assert slide.flatten().kind[0] == PRISMATIC
    close(pose_in(slide, "lump", 2.0), move(p=(0, 1.2, 1.6)))


# ---- lower pairs --------------------------------------------------------------------------------


def test_pairs_reach_what_they_should():
    axis = np.array([0.0, 0.6, 0.8])
    R = turn_z_to(axis)
    for elements, q, pose, kind in [
        (pairs.revolute("j", axis), [0.4], turn(axis, 0.4), "revolute"),
        (pairs.prismatic("j", axis), [0.4], move(p=0.4 * axis), "prismatic"),
        (pairs.helical("j", axis, 0.1), [0.4], turn(axis, 0.4) @ move(p=0.04 * axis), "helical"),
        (pairs.cylindrical("j", axis), [0.3, 0.4], move(p=0.3 * axis) @ turn(axis, 0.4), "cylindrical"),
        (pairs.universal("j"), [0.3, 0.4], turn(X, 0.3) @ turn(Y, 0.4), "universal"),
        (pairs.planar("j"), [1, 2, 0.4], move(p=(1, 2, 0)) @ turn(Z, 0.4), "planar"),
        (pairs.planar("j", axis), [1, 2, 0.4], move(p=R @ [1, 2, 0]) @ turn(axis, 0.4), "planar"),
        (pairs.spherical("j"), [0, 0, 0.6, 0.8], move(reference.quaternion_matrix([0, 0, 0.6, 0.8])), "ball"),
    ]:
        tree = Tree()
        tree.world.add(elements, lump())
        close(pose_in(tree, "lump", q), pose)
        close(pose_in(tree, "j", q), pose)
        (joint,) = tree.flatten().joints
        assert (joint.name, joint.kind, joint.q_slice) == ("j", kind, slice(0, len(q)))
        count = joint.v_slice.stop
        assert len(joint.lower) == len(joint.upper) == len(joint.velocity) == len(joint.effort) == count


def test_coordinates_of_a_pair_are_named():
    tree = Tree()
    tree.world.add(pairs.planar("foot"), lump())
    assert {"foot_x", "foot_y", "foot_theta", "foot", "lump"} == set(tree.flatten().frame_names)


# ---- bodies -------------------------------------------------------------------------------------


def composite(parts):
    """Mass, COM and inertia about it of (mass, com, inertia about com), by second moments."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    about_origin = sum(inertia + m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c, inertia in parts)
    return mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))


def test_bodies_fixed_together_are_one():
    rng = np.random.default_rng(3)
    tree, parts, T = Tree(), [], np.eye(4)
    at = tree.world.add(free("base"))  # its core frame is the joint's own
    for k in range(4):
        R, p = random_rotation(rng), rng.normal(size=3)
        T = T @ move(R, p)
        mass, com, axes = rng.uniform(0.5, 2), rng.normal(size=3), random_rotation(rng)
        inertia = random_inertia(rng, mass)
        at = at.add(fixed(xyz=p, rotation=R), body(f"b{k}", mass, inertia, com, rotation=axes))
        turned = T[:3, :3] @ axes
        parts.append((mass, T[:3, :3] @ com + T[:3, 3], turned @ inertia @ turned.T))
    flat = tree.flatten()
    mass, com, inertia = composite(parts)
    assert list(flat.kind) == [FREE]
    close(flat.mass, [mass])
    close(flat.com[0], com)
    close(flat.inertia[0], inertia, 1e-12)
    assert flat.link_mass == tuple(m for m, _, _ in parts)


def test_inertia_forms():
    full = np.array([[3, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 4]])
    close(body("b", 1, full).inertia, full)
    close(body("b", 1, (3, 0.1, 0.2, 2, 0.3, 4)).inertia, full)
    close(body("b", 1, (1, 2, 3)).inertia, np.diag([1, 2, 3]))
    close(body("b", 1).inertia, np.zeros((3, 3)))


def test_what_is_fixed_to_the_world_keeps_its_frame_only():
    tree = Tree()
    tree.world.add(tz(2.0), body("stand", 7.0), rz("a"), lump())
    flat = tree.flatten()
    assert flat.link_mass == (7.0, 1.0)
    assert flat.mass.sum() == 1.0
    assert flat.frame_body[flat.frame_names.index("stand")] == -1
    close(reference.frame_pose(flat, "stand", np.zeros(1)), move(p=2 * Z))


def test_a_link_owns_the_name_it_shares_with_a_joint():
    tree = Tree()
    tree.world.add(rz("arm"), tx(1.0), lump("arm"))
    assert tree.flatten().frame_names == ("arm",)
    close(pose_in(tree, "arm", np.pi / 2), turn(Z, np.pi / 2) @ move(p=X))


def test_geometry_goes_to_its_link():
    shape = Geometry("", "sphere", (0.1,), np.eye(3), np.zeros(3))
    tree = Tree()
    tree.world.add(rz("a"), body("ball", 1.0, (1, 1, 1), geometry=[shape]))
    assert [(g.frame, g.kind) for g in tree.flatten().geometry] == [("ball", "sphere")]


def test_limits_and_damping_are_kept():
    tree = Tree()
    tree.world.add(rz("a", damping=0.5, lower=-1, upper=2, velocity=3, effort=4), lump("A"))
    tree.world.add(free("f", damping=[1, 2, 3, 4, 5, 6]), lump("F"))
    flat = tree.flatten()
    joint = flat.joints[0]
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == ((-1,), (2,), (3,), (4,))
    close(flat.damping, [0.5, 1, 2, 3, 4, 5, 6])


def test_the_issue_example_and_what_it_prints():
    tree = Tree("double pendulum", gravity=(0, 0, -9.81))
    elbow = tree.world.add(rx("shoulder"), tz(-1.0), body("upper", mass=1.0))
    elbow.add(rx("elbow"), tz(-1.0), body("lower", mass=1.0, inertia=(0.1, 0.1, 0.01)))
    assert elbow.name == "upper" and elbow.parent.name == "shoulder" and elbow.tree is tree
    assert tree.frame("elbow").name == "elbow" and tree.frame("lower").parent is tree.frame("elbow")
    text = str(tree)
    for word in ("double pendulum", "shoulder", "elbow", "upper", "lower", "1 kg"):
        assert word in text
    close(pose_in(tree, "lower", [0.3, 0.4]), turn(X, 0.3) @ move(p=-Z) @ turn(X, 0.4) @ move(p=-Z))


@pytest.mark.parametrize("joints", [5, 50, 10_000])
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_printed_tree_is_never_long(shape, joints):
    tree = Tree("large")
    at = tree.world
    for k in range(joints):
        below = at.add(rx(f"joint {k}"), body(f"link {k}", mass=1.0, inertia=(1, 1, 1)))
        at = below if shape == "chain" else at
    text = str(tree)
    assert len(text) < 50_000 and len(text.splitlines()) <= 202 and f"link {joints - 1}:" in text and "link 0" in text
    assert (f"the tree has {joints} joints" in text) == (joints > 200)
    assert len(repr(tree)) < 100


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda: tx(np.nan), "finite"),
        (lambda: rx(None), "name"),
        (lambda: tx(1.0, damping=1.0), "constant"),
        (lambda: screw("s", (0, 0, 0)), 'axis of "s" is zero'),
        (lambda: screw("s", (0, np.nan, 0)), 'axis of "s"'),
        (lambda: screw("s"), "either"),
        (lambda: screw("s", twist=((0, 0, 2), (0, 0, 0))), "divide it by 2"),
        (lambda: screw("s", twist=((0, 0, 0), (0, 0, 0))), "zero"),
        (lambda: screw("s", Z, pitch=np.inf), "pitch"),
        (lambda: fixed(xyz=(1, 2)), "xyz"),
        (lambda: fixed(rotation=np.diag([1, 1, -1])), "rotation"),
        (lambda: fixed(rotation=2 * np.eye(3)), "rotation"),
        (lambda: body("b", -1.0), 'mass of "b" is -1'),
        (lambda: body("b", np.nan), 'mass of "b"'),
        (lambda: body("b", "heavy"), 'mass of "b"'),
        (lambda: body("b", 1.0, com=(0, 0, np.inf)), 'com of "b"'),
        (lambda: body("b", 1.0, (1, 2)), "principal"),
        (lambda: body("b", 1.0, [[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: body("b", 1.0, (1, 1, -1)), "negative principal moment"),
        (lambda: body("b", 1.0, (1, np.nan, 1)), "finite"),
        (lambda: Tree(gravity=(0, 0)), "gravity"),
        (lambda: Tree().world.add("rx"), "elements"),
        (lambda: Tree().world.add(rx("")), "not empty"),
        (lambda: Tree().world.add(body(None, 1.0)), "needs a name"),
        (lambda: Tree().world.add(rx("a"), rx("a")), 'already a joint, link or frame "a"'),
        (lambda: Tree().world.add(rx("a"), lump("a"), lump("a")), '"a"'),
        (lambda: Tree().world.add(frame("a"), rx("a")), '"a"'),
        (lambda: Tree().world.add(pairs.planar("a"), rx("a")), '"a"'),
        (lambda: Tree().world.add(pairs.planar("a"), rx("a_x")), '"a_x"'),
    ],
)
def test_bad_elements_are_named(build, text):
    with pytest.raises(ModelError, match=re.escape(text)):
        build()


@pytest.mark.parametrize(
    "elements, text",
    [
        ([lump()], "nothing"),
        ([rx("a", damping=-1.0), lump()], "damping"),
        ([rx("a", damping=[1.0, 2.0]), lump()], "damping"),
        ([rx("a", lower=np.nan), lump()], "lower"),
        ([rx("a", lower=1.0, upper=0.0), lump()], "inverted"),
    ],
)
def test_bad_data_is_named_when_flattened(elements, text):
    tree = Tree("thing")
    tree.world.add(*elements)
    with pytest.raises(ModelError, match=text):
        tree.flatten()


def test_a_refused_add_leaves_the_tree_as_it_was():
    tree = Tree()
    tree.world.add(rx("a"), lump("A"))
    before = str(tree)
    with pytest.raises(ModelError):
        tree.world.add(rx("b"), lump("B"), rx("a"))
    assert str(tree) == before
    tree.world.add(rx("b"), lump("B"))  # the names are still to be had


def test_unknown_frames_are_helped():
    tree = Tree()
    tree.world.add(rx("elbow"), lump())
    with pytest.raises(UnknownNameError, match='did you mean "elbow"'):
        tree.frame("elbo")


POINT = {"mass": 1.0}  # a point mass
SINGULAR = {
    "no body": ([rx("a"), lump(), ry("b")], "b", "moves no mass"),
    "body without mass": ([rx("a"), lump(), ry("b"), body("none", 0.0)], "b", "moves no mass"),
    "point on the axis": ([rx("a"), tx(1.0), body("p", **POINT)], "a", "feels no inertia"),
    "point on an oblique axis": (
        [screw("a", (1, 2, 3)), fixed(xyz=(1, 2, 3)), body("p", **POINT)], "a", "feels no inertia"
    ),
    "rod about itself": ([rz("a"), body("rod", 1.0, (1, 1, 0))], "a", "feels no inertia"),
    "ball about a point": ([ball("a"), tz(1.0), body("p", **POINT)], "a", "feels no inertia"),
    "free point": ([free("a"), body("p", **POINT)], "a", "feels no inertia"),
    "hinges on one line": ([rz("a"), tz(1.0), rz("b"), lump()], "a", "without moving any mass"),
    "slides on one line": ([tx("a"), ry("b"), lump("rotor"), tx("c"), tx("d"), lump()], "c", "without moving any mass"),
    "slide that stays on the axis": (
        [rz("a"), tx(1.0), tz("b"), tx(-1.0), body("p", **POINT)], "a", "feels no inertia"
    ),
    "two balls": ([ball("a"), rx("b"), lump()], "a", "without moving any mass"),
}  # fmt: skip


@pytest.mark.parametrize("case", SINGULAR)
def test_singular_mass_matrices_are_refused(case):
    elements, joint, text = SINGULAR[case]
    tree = Tree()
    tree.world.add(*elements)
    with pytest.raises(ModelError, match=f'"{joint}" .*{text}'):
        tree.compile()


REGULAR = {
    "point off the axis": [rx("a"), ty(1e-3), body("p", **POINT)],
    "light point": [rx("a"), ty(1.0), body("p", 1e-12)],
    "universal": [*pairs.universal("u"), lump()],
    "six primitives": [*pairs.euler("e"), lump()],
    "massless between": [rx("a"), tz(1.0), ry("b"), lump()],
    "parallel hinges": [rz("a"), tx(1.0), rz("b"), lump()],
    "rotor without mass": [rx("a"), lump(), ry("r"), body("rotor", 0.0, (0, 1, 0))],
    "slide with a point": [tx("a"), body("p", **POINT)],
    "screw with a point on the axis": [screw("a", Z, pitch=0.1), body("p", **POINT)],
    "fine shaft under an arm": [rz("a"), body("shaft", 1e-3, (1e-3, 1e-3, 1e-9)), tx(1.0), rz("b"), lump(mass=100)],
}  # fmt: skip


@pytest.mark.parametrize("case", REGULAR)
def test_regular_mass_matrices_pass(case):
    tree = Tree()
    tree.world.add(*REGULAR[case])
    flat = tree.compile().flat
    q, _ = random_state(flat, np.random.default_rng(4))
    assert np.linalg.cond(reference.crba(flat, q)) < 1e14


def test_turns_about_coordinate_axes_are_those_about_any_axis():
    rng = np.random.default_rng(6)
    special = (0.0, -0.0, np.pi / 2, -np.pi, 1e-16, 1.5 * np.pi, 1e-300, 1e9)
    for _ in range(300):
        rpy = [float(rng.choice(special)) if rng.random() < 0.5 else float(3 * rng.normal()) for _ in range(3)]
        turns = [rotation_about(np.eye(3)[k], rpy[k]) for k in (2, 1, 0) if rpy[k]]
        product = np.eye(3)
        for turn in turns:
            product = product @ turn
        assert rotation_rpy(*rpy).tobytes() == product.tobytes(), rpy


def test_a_chain_with_a_name_that_is_taken_leaves_no_name_behind():
    tree = Tree()
    tree.world.add(rx("a"), body("b", 1.0))
    again = [*pairs.planar("p"), frame("c"), body("b", 1.0)]
    for chain in ([rx("c"), body("d", 1.0), rx("a")], [rx("c"), rx("c")], again):
        with pytest.raises(ModelError, match="already"):
            tree.world.add(*chain)
    tree.world.add(rx("c"), body("d", 1.0), *pairs.planar("p"), frame("f"), body("p_x", 1.0))


def test_random_regular_trees_pass():
    for seed in range(20):
        assert why_singular(random_flat(np.random.default_rng(seed), nbody=10, massless=bool(seed % 2))) is None


# ---- Euler angles -------------------------------------------------------------------------------


@pytest.fixture(params=range(6))
def pair_of_models(request):
    native = random_flat(np.random.default_rng(request.param), nbody=7, base=("fixed", "free")[request.param % 2])
    return native, euler_angles.expand(native)


def test_expanded_frames_and_inertia_are_the_native_ones(pair_of_models):
    native, expanded = pair_of_models
    rng = np.random.default_rng(9)
    assert (expanded.kind < 3).all()
    assert len(expanded.damping) == len(expanded.kind) == len(native.damping)
    for _ in range(3):
        q, v = random_state(native, rng)
        qe, ve = euler_angles.to_euler(native, q, v)
        for name in native.frame_names:
            close(reference.frame_pose(expanded, name, qe), reference.frame_pose(native, name, q), 1e-12)
        for measure in (reference.kinetic_energy, reference.momentum):
            exact = measure(native, q, v)
            close(measure(expanded, qe, ve), exact, 1e-11 * np.abs(exact).max())
        close(reference.potential_energy(expanded, qe), reference.potential_energy(native, q), 1e-11)


def test_states_go_to_euler_angles_and_back(pair_of_models):
    native, _ = pair_of_models
    rng = np.random.default_rng(10)
    states = [random_state(native, rng) for _ in range(12)]
    q, v = (np.array(x).reshape(3, 4, -1) for x in zip(*states, strict=True))
    q2, v2 = euler_angles.from_euler(native, *euler_angles.to_euler(native, q, v))
    close(v2, v, 1e-10)
    for k in range(12):
        one, two = q.reshape(12, -1)[k], q2.reshape(12, -1)[k]
        close(reference.difference(native, one, two), np.zeros(v.shape[-1]), 1e-11)
        qe, ve = euler_angles.to_euler(native, one, states[k][1])  # one row as many
        close(euler_angles.from_euler(native, qe, ve)[0], two)


def test_expanded_rates_are_derivatives_of_expanded_coordinates(pair_of_models):
    native, _ = pair_of_models
    q, v = random_state(native, np.random.default_rng(11))
    h = 1e-5
    forward, backward = (reference.integrate(native, q, s * h * v) for s in (1, -1))
    change = euler_angles.to_euler(native, forward, v)[0] - euler_angles.to_euler(native, backward, v)[0]
    close(change / (2 * h), euler_angles.to_euler(native, q, v)[1], 1e-6)


def ball_joint():
    tree = Tree()
    tree.world.add(ball("head"), lump())
    return tree.flatten()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-12, 1e-8, 1e-4])
def test_orientations_survive_a_pitch_of_90_degrees(sign, off):
    flat = ball_joint()
    for yaw, roll in ((0.3, 0.5), (3.0, -2.0), (-1.0, -2.5)):
        R = rotation_rpy(roll, 0.0, 0.0)
        R = rotation_about(Z, yaw) @ rotation_about(Y, sign * np.pi / 2 - off) @ R
        q = reference.quaternion_from_matrix(R)
        qe, _ = euler_angles.to_euler(flat, q, np.zeros(3))
        assert np.abs(qe).max() <= np.pi + 1e-15
        back, _ = euler_angles.from_euler(flat, qe, np.zeros(3))
        close(reference.quaternion_matrix(back), R, 1e-14)


def test_velocities_at_the_singular_pitch_are_refused():
    flat = ball_joint()
    q = np.array([0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    _, ve = euler_angles.to_euler(flat, q, np.array([0.0, 1.0, 0.0]))  # about the pitch axis all is well
    close(ve, [0, 1, 0], 1e-15)
    with pytest.raises(InputError, match=r'"head".*90 degrees'):
        euler_angles.to_euler(flat, q, np.array([0.0, 0.0, 1.0]))


def test_expanded_coordinates_are_named():
    tree = Tree()
    tree.world.add(free("root"), lump("A"), ball("neck"), lump("B"), rx("nod"), lump("C"))
    joints = euler_angles.expand(tree.flatten()).joints
    suffixes = ("tx", "ty", "tz", "rz", "ry", "rx")
    assert [j.name for j in joints] == [f"root_{s}" for s in suffixes] + ["neck_rz", "neck_ry", "neck_rx", "nod"]
    assert [j.q_slice for j in joints] == [slice(k, k + 1) for k in range(10)]
    assert [j.kind for j in joints] == ["prismatic"] * 3 + ["revolute"] * 7


def test_expansion_is_the_tree_of_primitives():
    trees = Tree("one"), Tree("one")
    for tree, root in zip(trees, (free("root"), pairs.euler("root")), strict=True):
        tree.world.add(root, lump("A"), tz(0.3), rx("a"), lump("B"))
    one, two = euler_angles.expand(trees[0].flatten()), trees[1].flatten()
    for name in ("kind", "parent", "E", "p", "mass", "com", "inertia", "damping"):
        close(getattr(one, name), getattr(two, name))
    assert [j.name for j in one.joints] == [j.name for j in two.joints]


def test_damping_that_euler_angles_have_is_kept_and_other_refused():
    for damping, good in (([2, 2, 2, 0, 0, 0], True), ([1, 2, 2, 0, 0, 0], False), ([0, 0, 0, 1, 1, 1], False)):
        tree = Tree()
        tree.world.add(free("root", damping=damping), lump("A"), rx("a", damping=0.5), lump("B"))
        if good:
            close(euler_angles.expand(tree.flatten()).damping, [2, 2, 2, 0, 0, 0, 0.5])
        else:
            with pytest.raises(ModelError, match='"root" is damped'):
                euler_angles.expand(tree.flatten())


def test_free_joints_may_start_anywhere():
    """A constant transform before a free joint, on the world or on a body, is where q = 0 puts it."""
    place = rotation_rpy(0.1, -0.2, 0.3)
    for base in ([], [rz("a"), lump("A")]):
        tree = Tree()
        tree.world.add(*base, fixed(xyz=(1, 2, 3), rotation=place), free("f"), lump("F"))
        flat = tree.flatten()
        q = reference.neutral(flat)
        close(reference.frame_pose(flat, "F", q), move(place, (1, 2, 3)))
        assert len(q) == KIND_NQ[flat.kind].sum() and len(flat.damping) == KIND_NV[flat.kind].sum()
