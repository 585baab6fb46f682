"""Bodies on surfaces of triangles that stand still, and bodies of convex parts."""

from __future__ import annotations

import numpy as np
import pytest
from surfaces import MUG, hills, stairs, tray

import vitree as vt
from vitree.errors import InputError, ModelError
from vitree.geometry.shapes import ConvexPart
from vitree.model import lower
from vitree.spatial.rotations import rotation_rpy

BALL = 0.01


def scene(*surfaces, shape=None, at=(0.0, 0.0, 0.2), friction=0.5, more=()):
    """A body that moves freely over surfaces of the world."""
    tree = vt.Tree("scene")
    tree.world.add(vt.fixed("start", at), vt.free("joint"), vt.body("body", 0.1, (4e-5, 4e-5, 4e-5)))
    tree.contact(vt.Contact("body", shapes=shape or vt.Sphere(BALL), friction=friction), *more)
    if surfaces:
        tree.contact(vt.Contact("world", shapes=surfaces, friction=0.0))
    return tree


def height(model, run, at=0.2):
    """The height [m] at which the body ends, and the least gap of all records."""
    assert run.warnings == ()
    return run.q[-1, 2] + at, min(model.contact_gaps(q).gap.min() for q in run.q)


# ---- surfaces ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mesh", "rest"), [(MUG, 0.01), (tray(), 0.02)])
def test_a_ball_comes_to_rest_on_the_floor_of_what_is_hollow(mesh, rest):
    model = scene(vt.TriangleMesh(*mesh), at=(0.008, 0.004, 0.2)).compile()
    end, least = height(model, vt.simulate(model, duration=1.0, dt=2e-3))
    assert end == pytest.approx(rest + BALL, abs=1e-10) and least > -1e-10
    hull = scene(vt.Hull(mesh[0]), at=(0.008, 0.004, 0.2)).compile()
    assert height(hull, vt.simulate(hull, duration=0.4, dt=2e-3))[0] == pytest.approx(0.1 + BALL, abs=1e-10)


@pytest.mark.parametrize("k", [0, 2])
@pytest.mark.parametrize(("shape", "low"), [(vt.Sphere(0.05), 0.05), (vt.Box((0.1, 0.1, 0.06)), 0.03),
                                            (vt.Cylinder(0.05, 0.08), 0.04)])  # fmt: skip
def test_bodies_rest_on_a_stair(k, shape, low):
    model = scene(vt.TriangleMesh(*stairs()), shape=shape, at=(0.3 * k + 0.15, 0.1, 0.6)).compile()
    end, least = height(model, vt.simulate(model, duration=0.8, dt=2e-3), 0.6)
    assert end == pytest.approx(0.1 * (k + 1) + low, abs=1e-10) and least > -1e-10


def test_a_ball_comes_to_rest_in_a_funnel_on_its_four_faces():
    corners = [(0, 0, 0), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
    funnel = vt.TriangleMesh(corners, [(0, 1 + k, 1 + (k + 1) % 4) for k in range(4)])
    model = scene(funnel, shape=vt.Sphere(0.1), at=(0.2, -0.1, 0.5)).compile()
    run = vt.simulate(model, duration=3.0, dt=4e-3)
    assert min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-10
    np.testing.assert_allclose(run.q[-1, :3] + (0.2, -0.1, 0.5), (0, 0, 0.1 * np.sqrt(2)), atol=1e-9)


def test_a_ball_stays_in_a_bowl_and_gains_no_energy():
    mesh = vt.TriangleMesh(*hills(lambda x, y: x**2 + y**2, 10, 1.0))
    model = scene(mesh, shape=vt.Sphere(0.1), at=(0.15, -0.1, 0.25), friction=0.3).compile()
    run = vt.simulate(model, duration=2.0, dt=4e-3)
    assert run.warnings == () and min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-10
    assert np.hypot(*(run.q[:, :2] + (0.15, -0.1)).T).max() < 0.25 and np.ptp(run.q[:, 0]) > 0.2
    assert (run.energy < run.energy[0] + 1e-6).all()


SLIDERS = {
    "box": (vt.Box((0.2, 0.2, 0.1)), 0.05), "cylinder": (vt.Cylinder(0.1, 0.1), 0.05),
    "hull": (vt.Hull([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]), 0.05),
    "lying": (vt.Cylinder(0.1, 0.2, rotation=rotation_rpy(0.5 * np.pi, 0, 0)), 0.1),
}  # fmt: skip


def flush(turn, halves):
    """A plane of squares of 0.3 m, or of their halves, each a mesh of its own, so that they are not joined."""
    square = 0.3 * np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    found = []
    for i in range(-2, 8):
        for j in range(-3, 3):
            x = (square + 0.3 * np.array((i, j, 0))) @ rotation_rpy(0, 0, turn).T
            found += [vt.TriangleMesh(x, [(0, 1, 2)]), vt.TriangleMesh(x, [(0, 2, 3)])] if halves else [
                vt.TriangleMesh(x, [(0, 1, 2), (0, 2, 3)])]  # fmt: skip
    return found


@pytest.mark.slow
@pytest.mark.parametrize("shape", SLIDERS)
@pytest.mark.parametrize(("turn", "halves"), [(0.0, False), (0.3, False), (0.0, True), (0.3, True)])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_seams_of_flush_faces_are_no_obstacle(shape, turn, halves, friction):
    """What slides or rolls over them moves as on a plane, to round-off, at any speed and step."""
    solid, low = SLIDERS[shape]
    models = [scene(*surfaces, shape=solid, at=(0.01, 0.013, low), friction=friction, more=ground).compile()
              for surfaces, ground in ((flush(turn, halves), ()), ((), (vt.Ground(friction=friction),)))]  # fmt: skip
    fast = ((4.0, 1e-3), (4.0, 4e-3)) if shape != "lying" else ()  # a line that slides so far may be taken in halves
    for speed, dt in ((0.3, 1e-3), (0.3, 1e-2), (1.7, 1e-3), (1.7, 4e-3), *fast):
        ends = []
        for model in models:
            run = vt.simulate(model, None, [speed, 0, 0, 0, 0, 0], duration=min(1.2 / speed, 0.4), dt=dt)
            assert run.warnings == ()
            ends.append(run.q[-1])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-8, err_msg=f"{speed} m/s at {dt} s")


def test_a_ball_rolls_over_seams_to_second_order():
    """Where it leaves a face, it is carried by the edge of the next for a part of a step."""
    off = []
    for dt in (4e-3, 2e-3, 1e-3):
        ends = []
        for surfaces, ground in ((flush(0.3, True), ()), ((), (vt.Ground(friction=0.3),))):
            tree = scene(*surfaces, shape=vt.Sphere(0.1), at=(0.01, 0.013, 0.1), friction=0.3, more=ground)
            run = vt.simulate(tree.compile(), None, [1.7, 0, 0, 0, 0, 0], duration=0.4, dt=dt)
            ends.append(run.q[-1, :3])
        off.append(np.abs(ends[0] - ends[1]).max())
    assert off[2] < 1e-4 and off[2] < 0.5 * off[0]


def test_a_mesh_moves_with_its_frame_in_the_world():
    tree = scene(shape=vt.Box((0.1, 0.1, 0.06)), at=(1.0, 2.0, 3.4))
    tree.world.add(vt.fixed("table", (1.0, 2.0, 3.0)))
    mesh = hills(lambda x, y: 0 * x, 2, 1.0)
    tree.contact(vt.Contact("table", shapes=vt.TriangleMesh(*mesh, position=(0, 0, 0.2))))
    model = tree.compile()
    assert height(model, vt.simulate(model, duration=0.5, dt=2e-3), 3.4)[0] == pytest.approx(3.23, abs=1e-10)


def test_bodies_fall_onto_both_sides_of_a_sheet():
    mesh = vt.TriangleMesh(*hills(lambda x, y: 0 * x, 1, 2.0))
    below = scene(mesh, shape=vt.Box((0.1, 0.1, 0.1)), at=(0.0, 0.0, -0.2))
    below.gravity = np.array((0.0, 0.0, 9.81))
    model = below.compile()
    assert height(model, vt.simulate(model, duration=0.4, dt=2e-3), -0.2)[0] == pytest.approx(-0.05, abs=1e-10)


def test_a_mesh_of_what_moves_is_an_error_with_a_remedy():
    tree = scene(shape=vt.TriangleMesh(*MUG))
    tree.contact(vt.Ground())
    with pytest.raises(ModelError, match=r'"body" has a triangle mesh.*moves.*vt\.convex_parts.*meshes="parts"'):
        tree.compile()


def test_many_pairs_are_told_and_too_many_are_an_error(monkeypatch):
    tree = scene(vt.TriangleMesh(*hills(lambda x, y: x * y, 32, 4.0)), at=(0, 0, 1.0))
    model = tree.compile()
    assert "faces of triangle meshes: 2048, which make 2048 pairs" in str(model.report)
    assert "triangle meshes" not in str(scene(vt.TriangleMesh(*tray())).compile().report)
    monkeypatch.setattr(lower, "FAR_PAIR", 1e12)
    with pytest.raises(InputError, match=r"contacts of 2048 pairs of convex shapes take about .* fewer"):
        vt.simulate(tree.compile(), duration=0.01, dt=1e-3)


def test_an_arm_whose_link_is_in_a_mesh_at_neutral_does_not_touch_it_and_that_is_told():
    tree = vt.Tree("arm")
    link = tree.world.add(vt.ry("hip"), vt.body("link", 1.0, (0.1, 0.1, 0.1)))
    link.add(vt.tz(0.5), vt.frame("hand"))
    tree.contact(vt.Contact("link", shapes=vt.Capsule(0.05, 0.6)), vt.Contact("hand", shapes=vt.Sphere(0.05)))
    tree.contact(vt.Contact("world", shapes=vt.TriangleMesh(*hills(lambda x, y: 0.1 * x * y, 6, 2.0))))
    model = tree.compile()
    assert 'overlap at the neutral configuration do not touch each other: "link" - "world"' in str(model.report)
    gaps = model.contact_gaps([0.0])
    assert "link" not in gaps.a and gaps.a.count("hand") == 72


# ---- bodies of parts -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ball_stays_in_a_mug_of_parts_that_moves():
    tree = vt.Tree("mug")
    tree.world.add(vt.free("mug joint"), vt.body("mug", 0.4, (4e-4, 4e-4, 3e-4), com=(0, 0, 0.04)))
    tree.world.add(vt.fixed("start", (0.0, 0.0, 0.15)), vt.free("ball joint"), vt.body("ball", 0.02, (8e-7,) * 3))
    tree.contact(vt.Contact("mug", shapes=vt.convex_parts(*MUG, 0.01)), vt.Contact("ball", shapes=vt.Sphere(BALL)))
    tree.contact(vt.Ground(friction=0.5))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    run = vt.simulate(model, q, v, duration=1.0, dt=2e-3)
    assert run.warnings == () and min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-10
    ball = run.q[-1, 7:10] + (0, 0, 0.15)
    # not lower than the floor, and not higher than parts that fill the corner carry it
    assert 0.01 + BALL - 1e-6 < ball[2] < 0.03 and np.hypot(*ball[:2]) < 0.03 - BALL + 1e-6
    # the mug slides, and takes the ball with it
    push = vt.ExternalWrench("mug", force=(4.0, 0.0, 0.0))
    run = vt.simulate(model, run.q[-1], None, duration=0.3, dt=2e-3, wrenches=[push])
    assert run.warnings == () and run.q[-1, 0] > 0.05
    assert np.hypot(*(run.q[-1, 7:9] - run.q[-1, :2])) < 0.03 - BALL + 1e-6


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("kind", [vt.Hull, ConvexPart])
def test_parts_of_near_bodies_touch_unless_some_overlap_at_neutral(kind, overlap):
    """Two links with one between them; hulls of these do not touch."""
    cube = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    tree = vt.Tree("arm")
    one = tree.world.add(vt.ry("a"), vt.body("one", 1.0, (0.1, 0.1, 0.1)))
    two = one.add(vt.tx(0.5), vt.rx("b"), vt.body("two", 1.0, (0.1, 0.1, 0.1)))
    two.add(vt.tx(0.5), vt.ry("c"), vt.body("three", 1.0, (0.1, 0.1, 0.1)))
    near = cube + np.array((0.9 if overlap else 0.6, 0, 0))
    tree.contact(vt.Contact("one", shapes=[kind(cube), kind(near)]), vt.Contact("three", shapes=[kind(cube)]))
    model = tree.compile()
    count = 2 if kind is ConvexPart and not overlap else 0
    assert len(model.contact_gaps(model.neutral()).gap) == count
    told = 'do not touch each other: "one" - "three"' in str(model.report)
    assert told == (kind is ConvexPart and overlap)
