"""Bases on what is below them: boxes, meshes, hills, other bodies; and what stands there."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

SHAPES = {
    "sphere": vt.Sphere(0.1), "box": vt.Box((0.2, 0.3, 0.1)), "cylinder": vt.Cylinder(0.1, 0.3),
    "capsule": vt.Capsule(0.05, 0.3), "points": None,
}  # fmt: skip
CORNERS = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
HILLS = vt.HeightField(lambda x, y: 0.1 * np.sin(3 * x) * np.cos(2 * y) + 0.2, 0.1, (-2, -2, 0), shape=(41, 41))


def rough():
    x = np.linspace(-1, 1, 9)
    squares = [(9 * i + j, 9 * i + j + 9, 9 * i + j + 10, 9 * i + j + 1) for i in range(8) for j in range(8)]
    return vt.TriangleMesh([(a, b, 0.1 * np.sin(3 * a) * np.cos(2 * b) + 0.2) for a in x for b in x],
                           [face for a, b, c, d in squares for face in ((a, b, c), (a, c, d))])  # fmt: skip


BELOW = {
    "box": vt.Box((0.6, 0.6, 0.2), position=(0, 0, 0.1)), "mesh": rough(), "cylinder": vt.Cylinder(0.4, 0.4),
    "hills": None,
}  # fmt: skip


def thing(name, below, **ground):
    tree = vt.Tree("thing")
    tree.world.add(vt.free("joint"), vt.body("thing", 1.0, (0.1,) * 3))
    own = {"points": CORNERS} if SHAPES[name] is None else {"shapes": [SHAPES[name]]}
    tree.contact(vt.Contact("thing", **own), vt.Ground(**ground))
    if below is not None:
        tree.contact(vt.Contact("world", shapes=[below]))
    return tree.compile()


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("name", SHAPES)
def test_the_first_gap_is_zero_from_above_and_from_within(name, below):
    """A base that starts far above and one that starts inside come to the same place, and no lower one is free.

    A mesh has no inside.
    """
    model = thing(name, BELOW[below], **({"terrain": HILLS} if below == "hills" else {"height": -5.0}))
    rng = np.random.default_rng(1)
    for _ in range(4):
        q = model.neutral()
        q[:2], turn = rng.uniform(-0.1, 0.1, 2), rng.normal(size=4)
        q[3:7] = turn / np.linalg.norm(turn)
        placed = []
        for z in (2.0, 0.5) if below == "mesh" else (2.0, 0.2, 0.15):
            q[2] = z
            placed.append(vt.place_on_ground(model, q))
            moved = np.delete(placed[-1] - q, 2)
            assert abs(model.contact_gaps(placed[-1]).gap.min()) < 1e-14 and not moved.any()
        assert np.ptp([p[2] for p in placed]) < 1e-14 and placed[0][2] > 0.1
        np.testing.assert_allclose(vt.place_on_ground(model, placed[0]), placed[0], rtol=0, atol=1e-15)
        for way, least in ((1e-6, 1e-9), (-1e-6, -np.inf)):
            q[2] = placed[0][2] + way
            gap = model.contact_gaps(q).gap.min()
            assert gap > least and (way > 0 or gap < 0 or below == "mesh")


def stack(*places, ground=True):
    """Boxes of 0.2 m at places, the names of which are numbers."""
    tree = vt.Tree("stack")
    for k, place in enumerate(places):
        tree.world.add(vt.fixed(f"start {k}", place), vt.free(f"joint {k}"), vt.body(f"{k}", 1.0, (0.1,) * 3))
        tree.contact(vt.Contact(f"{k}", shapes=[vt.Box((0.2, 0.2, 0.2))]))
    if ground:
        tree.contact(vt.Ground(0.3))
    return tree.compile()


def test_bodies_stand_on_those_below_them_whatever_their_order():
    model = stack((0.05, 0, 3), (0, 0, 1), (2, 0, 2), (0, 0.03, 0.1))
    z = vt.place_on_ground(model, model.neutral())[2::7] + np.array((3, 1, 2, 0.1))
    np.testing.assert_allclose(z, (0.8, 0.6, 0.4, 0.4), rtol=0, atol=1e-14)


def test_without_a_ground_the_lowest_stays_and_the_others_come_to_it_against_gravity():
    model = stack((0.05, 0, 3), (0, 0, 1), ground=False)
    z = vt.place_on_ground(model, model.neutral())[2::7] + np.array((3, 1))
    np.testing.assert_allclose(z, (1.2, 1.0), rtol=0, atol=1e-14)
    tree = vt.Tree("aside", gravity=(0.0, -3.0, 0.0))
    tree.world.add(vt.free("joint"), vt.body("ball", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("ball", shapes=[vt.Sphere(0.1)]), vt.Contact("world", shapes=[vt.Box((1.0, 1.0, 1.0))]))
    model = tree.compile()
    np.testing.assert_allclose(vt.place_on_ground(model, model.neutral()), (0, 0.6, 0, 0, 0, 0, 1), atol=1e-14)


def test_sliding_bases_and_an_arm_that_does_not_move():
    tree = vt.Tree("lift")
    tree.world.add(vt.tz("lift"), vt.ry("turn"), vt.body("foot", 1.0, (0.1,) * 3))
    tree.world.add(vt.tx(0.1), vt.ry("shoulder"), vt.tx(-0.1), vt.body("arm", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("foot", shapes=[vt.Sphere(0.1)]), vt.Contact("arm", shapes=[vt.Box((0.3, 0.3, 0.2))]))
    tree.contact(vt.NoContact("arm", "world"))
    model = tree.compile()
    q = vt.place_on_ground(model, [0.9, 0.3, 0.0])
    np.testing.assert_allclose(q, (0.2, 0.3, 0.0), atol=1e-14)


@pytest.mark.parametrize("start", [0.0, 2.0])
def test_a_robot_stands_on_a_box_as_on_the_ground(start):
    """Its base starts inside the box, or above it."""
    path = vt.find_robot("g1")
    tree = vt.read_urdf(path, base="free", ground=vt.Ground())
    flat = tree.compile()
    tree.contact(vt.Contact("world", shapes=[vt.Box((2.0, 2.0, 0.2), position=(0, 0, 0.1))]))
    model = tree.compile()
    q = model.neutral()
    q[2] = start
    placed, on_ground = vt.place_on_ground(model, q), vt.place_on_ground(flat, q)
    np.testing.assert_allclose(placed - on_ground, np.eye(model.nq)[2] * 0.2, atol=1e-14)
    found, below = (vt.static_equilibrium(m, at, effort_limits=False) for m, at in ((model, placed), (flat, on_ground)))
    assert found.possible and {*found.b} == {"world"} and {*below.b} == {"ground"}
    np.testing.assert_allclose(found.torques, below.torques, atol=1e-9)
    weight = model.total_mass * 9.81
    np.testing.assert_allclose(found.forces.sum(axis=0), (0, 0, weight), atol=1e-10 * weight)


def test_a_stance_on_a_body_that_moves_presses_on_it():
    model = stack((0, 0, 3), (0, 0, 1))
    q = vt.place_on_ground(model, model.neutral())
    found = vt.static_equilibrium(model, q)
    assert found.possible and {*zip(found.a, found.b, strict=True)} == {("0", "1"), ("1", "ground")}
    on_ground = np.array([name == "ground" for name in found.b])
    np.testing.assert_allclose(found.forces[on_ground].sum(axis=0), (0, 0, 2 * 9.81), atol=1e-9)


# ---- errors --------------------------------------------------------------------------------------------------


def test_a_wall_beside_is_an_error_and_so_is_a_ceiling_above_nothing():
    wall = vt.Box((0.2, 2.0, 2.0), position=(0.19, 0, 1.0))
    model = thing("sphere", wall)
    with pytest.raises(vt.InputError, match=r'"thing" is 0.01 m inside "world", which is a wall .* the base aside'):
        vt.place_on_ground(model, [0, 0, 0.5, 0, 0, 0, 1])
    # beside it, and behind a move aside it is placed
    assert vt.place_on_ground(model, [-0.02, 0, 0.5, 0, 0, 0, 1])[2] == pytest.approx(0.1, abs=1e-15)
    model = thing("sphere", vt.Box((1.0, 1.0, 1.0), position=(0, 0, 1.0)))
    for z in (0.39, 0.41):  # below a ceiling, or in it
        assert vt.place_on_ground(model, [0, 0, z, 0, 0, 0, 1])[2] == pytest.approx(0.1, abs=1e-15)
    tree = vt.Tree("ceiling")
    tree.world.add(vt.free("joint"), vt.body("thing", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("thing", shapes=[vt.Sphere(0.1)]), vt.Contact("world", shapes=[vt.Box((1.0, 1.0, 1.0))]))
    with pytest.raises(vt.InputError, match=r'"thing" is 0.01 m inside "world", which is a wall .* or above it'):
        vt.place_on_ground(tree.compile(), [0, 0, -0.59, 0, 0, 0, 1])


def test_nothing_below_is_an_error():
    tree = vt.Tree("beside")
    tree.world.add(vt.free("joint"), vt.body("thing", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("thing", shapes=[vt.Sphere(0.1)]), vt.Contact("world", shapes=[vt.Box((1.0, 1.0, 1.0))]))
    model = tree.compile()
    with pytest.raises(vt.InputError, match=r'nothing is below "thing"'):
        vt.place_on_ground(model, [0.7, 0, 2.0, 0, 0, 0, 1])
    assert vt.place_on_ground(model, [0.4, 0, 2.0, 0, 0, 0, 1])[2] == pytest.approx(0.6, abs=1e-15)
    alone = vt.Tree("alone")
    base = alone.world.add(vt.free("joint"), vt.body("trunk", 1.0, (0.1,) * 3))
    for name, x in (("left", -1.0), ("right", 1.0)):
        base.add(vt.tx(x), vt.ry(f"{name} hip"), vt.body(name, 1.0, (0.1,) * 3))
        alone.contact(vt.Contact(name, shapes=[vt.Sphere(0.1)]))
    model = alone.compile()
    with pytest.raises(vt.ModelError, match=r'"alone" has no ground, and no other mechanism'):
        vt.place_on_ground(model, model.neutral())
