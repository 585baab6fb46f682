"""Pairs that touch or are left out, contacts that meet nothing, and bodies that pass others in one step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.model.collision_checks import passes

BOX = vt.Box((0.2, 0.2, 0.2))
CORNERS = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
SHAPES = {"box": BOX, "cylinder": vt.Cylinder(0.1, 0.2), "sphere": vt.Sphere(0.1), "capsule": vt.Capsule(0.1, 0.2),
          "disk": vt.Disk(0.1), "cone": vt.Cone(0.1, 0.2), "ellipsoid": vt.Ellipsoid((0.2, 0.15, 0.1)),
          "hull": vt.Hull(CORNERS @ np.diag((1.5, 1.0, 0.5)))}  # fmt: skip
#: The cone stands on its apex, and the disk across the other: the edge of a disk slips from an apex, and two disks of
#: one plane have nothing within that could overlap.
LOWER = SHAPES | {"cone": vt.Cone(0.1, 0.2, rotation=np.diag((1.0, -1.0, -1.0))), "disk": vt.Disk(0.1, (1, 0, 0))}


def one_above_another(upper, lower, *more, between=0.5):
    tree = vt.Tree("two")
    tree.world.add(vt.tz(between), vt.free("upper joint"), vt.body("upper", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("upper", shapes=[upper]), vt.Contact("world", shapes=[lower]), *more)
    return tree.compile()


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_all_pairs_meet_and_nothing_is_told(a, b):
    model = one_above_another(SHAPES[a], LOWER[b])
    assert not model.report
    run = vt.simulate(model, duration=0.4, dt=2e-3)
    assert run.q[-1, 2] > -0.5 and run.warnings == () and len(run.contacts)
    # without the pair it falls to the ground
    apart = one_above_another(SHAPES[a], LOWER[b], vt.NoContact("upper", "world"), vt.Ground(-5.0))
    assert vt.simulate(apart, duration=0.4, dt=2e-3).q[-1, 2] < -0.5
    # where "world" meets nothing because it is left out nothing is told, nor of what meets the ground alone
    assert not apart.report


@pytest.mark.parametrize("shape", SHAPES)
def test_what_meets_the_ground_alone_has_a_counterpart(shape):
    tree = vt.Tree("alone")
    tree.world.add(vt.tz(0.5), vt.free("joint"), vt.body("thing", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("thing", shapes=[SHAPES[shape]]), vt.Ground())
    model = tree.compile()
    assert not model.report and vt.simulate(model, duration=0.4, dt=2e-3).warnings == ()


def test_a_pair_of_frames_is_left_out_alone_or_with_all_that_is_fixed_to_their_bodies():
    def pairs(*more):
        tree = vt.Tree("two")
        for name, x in (("a", 0.0), ("b", 1.0)):
            tree.world.add(vt.tx(x), vt.free(f"{name} joint"), vt.body(name, 1.0, (0.1,) * 3), vt.fixed(f"{name} lid", (
                0, 0, 0.3)))  # fmt: skip
            tree.contact(vt.Contact(name, shapes=[BOX, vt.Sphere(0.1)]), vt.Contact(f"{name} lid", [(0, 0, 0)], 0.05))
        tree.contact(*more)
        model = tree.compile()
        gaps = model.contact_gaps(model.neutral())
        return {*zip(gaps.a, gaps.b, strict=True)}

    every = {(a, b) for a in ("a", "a lid") for b in ("b", "b lid")}
    same = lambda found: {tuple(sorted(pair)) for pair in found}  # noqa: E731
    assert same(pairs()) == every
    assert same(pairs(vt.NoContact("b", "a lid", bodies=False))) == every - {("a lid", "b")}
    assert same(pairs(vt.NoContact("b", "a lid"), vt.Ground(-1.0))) == same(pairs(
        vt.NoContact("a", "b"), vt.Ground(-1.0))) == {tuple(sorted((name, "ground"))) for name in (
            "a", "b", "a lid", "b lid")}  # fmt: skip
    with pytest.raises(vt.ModelError, match='bodies of the no contact of "a" and "b" is 1; it must be True or False'):
        vt.NoContact("a", "b", 1)


def test_a_contact_that_meets_nothing_is_refused_or_told():
    tree = vt.Tree("alone")
    tree.world.add(vt.free("joint"), vt.body("ball", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("ball", shapes=[vt.Sphere(0.1)]))
    with pytest.raises(vt.ModelError, match=r"has no counterpart.*add vt.Ground\(\)"):
        tree.compile()
    tree.world.add(vt.tx(2.0), vt.tz("lift"), vt.body("other", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("other", shapes=[vt.Sphere(0.1)]))
    model = tree.compile()
    assert not model.report and vt.simulate(model, duration=0.01, dt=1e-3).warnings == ()
    tree.contact(vt.NoContact("ball", "other"))
    model = tree.compile()
    assert 'contact of "ball"' in str(model.report)
    (told,) = vt.simulate(model, duration=0.01, dt=1e-3).warnings
    assert told.startswith("Contacts without a counterpart")
    tree.contact(vt.Ground(-1.0))  # the remedy
    model = tree.compile()
    assert not model.report and vt.simulate(model, duration=0.01, dt=1e-3).warnings == ()


def test_points_alone_have_no_counterpart():
    tree = vt.Tree("points")
    for name, x in (("a", 0.0), ("b", 1.0)):
        tree.world.add(vt.tx(x), vt.free(f"{name} joint"), vt.body(name, 1.0, (0.1,) * 3))
        tree.contact(vt.Contact(name))
    with pytest.raises(vt.ModelError, match=r'all contacts of "points" are points without a radius.*Add vt.Ground\(\)'):
        tree.compile()
    tree.contact(vt.Ground(-1.0))
    assert not tree.compile().report


@pytest.mark.parametrize("thing", [vt.Box((1.0, 1.0, 0.02)), vt.Sphere(0.02)], ids=["plate", "ball"])
def test_fast_bodies_that_pass_thin_ones_are_told(thing):
    model = one_above_another(vt.Sphere(0.01), thing, between=0.55)
    v = np.array([0.0, 0.0, -100.0, 0.0, 0.0, 0.0])
    run = vt.simulate(model, v0=v, duration=0.02, dt=1e-3)
    (told,) = run.warnings
    assert run.q[-1, 2] < -1.0 and "passes through" in told and "Use a smaller dt" in told
    # the remedy: steps in which it moves by less than the thickness
    slow = vt.simulate(model, v0=v, duration=0.02, dt=1e-4)
    assert slow.warnings == () and slow.q[-1, 2] > -0.56
    # and what moves by is not told
    aside = model.neutral()
    aside[0] = 0.6
    assert vt.simulate(model, aside, v, duration=0.02, dt=1e-3).warnings == ()


@pytest.mark.parametrize("thing", [vt.Box((0.1, 0.1, 0.02), position=(0.5, 0, 0)),
                                   vt.Sphere(0.02, position=(0.5, 0, 0))], ids=["plate", "ball"])  # fmt: skip
def test_ends_of_fast_capsules_that_pass_others_are_told(thing):
    rod = vt.Capsule(0.01, 1.0, rotation=((0, 0, 1), (0, 1, 0), (-1, 0, 0)))
    run = vt.simulate(one_above_another(rod, thing, between=0.55), v0=[0, 0, -100.0, 0, 0, 0], duration=0.02, dt=1e-3)
    (told,) = run.warnings
    assert run.q[-1, 2] < -1.0 and "passes through" in told


@pytest.mark.parametrize("chunk", [1, 2, 1024])
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_ball_that_passes_is_told_of_any_step_that_is_recorded(step, chunk, monkeypatch):
    monkeypatch.setattr("vitree.run.trajectory.CHUNK", chunk)
    model = one_above_another(vt.Sphere(0.01), vt.Box((1.0, 1.0, 0.02)), between=0.05 + 0.1 * step)
    v = np.array([0.0, 0.0, -100.0, 0.0, 0.0, 0.0])
    run = vt.simulate(model, v0=v, duration=4e-3, dt=1e-3)
    (told,) = run.warnings
    assert f"in one step of 0.001 s, at t = {1e-3 * step:g} s" in told
    # where records are not those of all steps nothing is known of steps
    assert vt.simulate(model, v0=v, duration=4e-3, dt=1e-3, record_every=2).warnings == ()


@pytest.mark.parametrize("upper", ["sphere", "box", "cylinder", "cone", "ellipsoid", "hull"])
@pytest.mark.parametrize("lower", [vt.Hull(CORNERS * (5, 5, 0.1)), vt.Cylinder(0.5, 0.02), vt.Cone(0.5, 0.03),
                                   vt.Ellipsoid((0.5, 0.5, 0.02)), vt.Disk(0.5, (0, 0, 1)),
                                   vt.Hull(CORNERS * (5, 5, 0))],
                         ids=["hull", "cylinder", "cone", "ellipsoid", "disk", "plate"])  # fmt: skip
def test_fast_bodies_that_pass_convex_ones_are_told(upper, lower):
    model = one_above_another(SHAPES[upper], lower, between=0.6)
    v = np.array([0.0, 0.0, -600.0, 0.0, 0.0, 0.0])
    run = vt.simulate(model, v0=v, duration=4e-3, dt=2e-3)
    (told,) = run.warnings
    assert run.q[-1, 2] < -1.0 and "passes through" in told and "Use a smaller dt" in told
    aside = model.neutral()
    aside[0] = 0.9
    assert vt.simulate(model, aside, v, duration=4e-3, dt=2e-3).warnings == ()


@pytest.mark.parametrize("thing", [vt.Box((0.6, 0.6, 0.02), position=(0.1, 0.2, -0.1)),
                                   vt.Sphere(0.05, position=(0.1, 0.2, -0.1))])  # fmt: skip
def test_ways_are_seen_from_a_body_that_moves_and_turns(thing):
    """From a node to the next through the thing, by it, not as far as it, and with it."""
    tree = vt.Tree("two")
    for name, shape in (("ball", vt.Sphere(0.01)), ("thing", thing)):
        tree.world.add(vt.free(f"{name} joint"), vt.body(name, 1.0, (0.1,) * 3))
        tree.contact(vt.Contact(name, shapes=[shape]))
    model = tree.compile()
    middle, aside = np.array([0.1, 0.2, -0.1]), np.array([2.0, 0.0, 0.0])
    above, below = np.array([0.02, 0.01, 0.7]), np.array([0.01, 0.02, -0.5])
    # places of the ball in the axes of the thing: through, aside, by, back, half the way, and still
    seen = middle + np.array([above, below, below + aside, above + aside, above, above / 2, above / 2])
    rng = np.random.default_rng(0)
    for moves in (0.0, 1.0, 5.0):
        # how a ball turns about its middle does not matter
        count = len(seen) if isinstance(thing, vt.Box) else 1
        turns = Rotation.from_rotvec(np.resize(rng.normal(size=(count, 3)) * (moves > 0), seen.shape))
        at = moves * rng.normal(size=(len(seen), 3))
        q = np.zeros((len(seen), model.nq))
        q[:, 0:3], q[:, 6] = turns.apply(seen) + at, 1.0
        q[:, 7:10], q[:, 10:] = at, turns.as_quat()
        assert passes(model.contact_candidates, model._pose_rows(q)).tolist() == [[0, 0]], moves
