"""The s-expression notation: the paper's listing, round trips, faults by line and column."""

from __future__ import annotations

import numpy as np
import pytest
from closed_chains import REFERENCE, closed_chain

import vitree as vt
from vitree.tree.sexpr import (
    COMPONENTS,
    JOINT_OPTIONS,
    OPTIONS,
    TRANSFORMS,
    SexprError,
    load_sexpr,
    read_sexpr,
    write_sexpr,
)
from vitree.tree.sexpr.vocabulary import INNER

LISTING = """
; Johnson & Murphey 2009, Listing 1, the device of Fig. 6
(mechanical-system (gravity 0 0 -9.81)
 (ry "J" (Name "J")
  (tz -0.5 (Name "I") (Mass 1))
  (tz -1.0
   (ry "H" (Name "H")
    (tz -1.0 (Name "G") (Mass 1))
    (tz -2.0 (Name "O2")))))
 (tx -1.5
  (ry "K" (Name "K")
   (tz -1.0 (Name "L") (Mass 1))
   (tz -2.0
    (ry "M" (Name "M")
     (tz -0.5 (Name "N") (Mass 1))
     (tz -1.0 (Name "O"))))))
 (tx 1.5
  (ry "A" (Name "A")
   (tz -1.0 (Name "B") (Mass 1))
   (tz -2.0
    (ry "C" (Name "C")
     (tz -0.375 (Name "D") (Mass 1))
     (tz -0.75
      (ry "E" (Name "E")
       (tz -0.5 (Name "F") (Mass 1))
       (tz -1.0 (Name "G2"))))))))
 (point-constaint "G" "G2" (1 0 0))
 (point-constaint "G" "G2" (0 0 1))
 (point-constaint "O" "O2" (1 0 0))
 (point-constaint "O" "O2" (0 0 1)))
"""


def same(a, b):
    """Two models have the same dynamics at random states."""
    assert a.joint_names == b.joint_names and set(a.frame_names) == set(b.frame_names)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v, acc = a.random_configuration(rng), *rng.normal(size=(2, a.nv))
        assert np.allclose(a.rnea(q, v, acc), b.rnea(q, v, acc), rtol=1e-12, atol=1e-12)
        for name in a.frame_names:
            assert np.allclose(a.frame_pose(name, q), b.frame_pose(name, q), atol=1e-13)
        for rows, others in zip(a._constraint_rows(q[None]), b._constraint_rows(q[None]), strict=True):
            assert np.allclose(rows, others, atol=1e-13)
    assert np.allclose(a.damping, b.damping)


def test_the_listing_is_the_closed_chain():
    model = load_sexpr(LISTING)
    same(model, closed_chain())
    run = vt.simulate(model, REFERENCE["closed_chain"]["q0"], duration=0.5, dt=0.01, method="midpoint")
    assert np.abs(run.q[-1] - REFERENCE["closed_chain"]["ref_q"][0]).max() < 3e-3


def test_a_row_of_transforms_is_nested():
    row = load_sexpr('(SYSTEM (RX "a" TY 0.2 RZ "b" TX 0.3 (MASS "2") (NAME "tip")))')
    nested = load_sexpr('(system (rx "a" (ty 0.2 (rz "b" (tx 0.3 (mass 2) (name "tip"))))))')
    same(row, nested)


def everything():
    tree = vt.Tree("everything", gravity=(1, 2, -9))
    base = tree.world.add(vt.free("base"), vt.body("hull", 3.0, (1, 2, 2.5), com=(0.1, 0, 0)))
    arm = base.add(vt.fixed("mount", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), vt.ball("shoulder", damping=(1, 2, 3)))
    arm.add(vt.tz(-1), vt.body("arm", 1.0, (0.1, 0.01, 0.02, 0.1, 0.03, 0.1)))
    drill = base.add(vt.ry(np.pi / 2), vt.screw("drill", (1, 1, 0), (0, 0.1, 0), 0.05, damping=0.2))
    drill.add(vt.body("bit", 0.5, (0.1, 0.1, 0.1)))
    slide = base.add(vt.ty("slide"), vt.rx("roll"), vt.body("cart", 0.7, (0.1, 0.2, 0.2)))
    slide.add(vt.tx(0.5), vt.frame("tip"))
    tree.constrain(vt.Distance("arm", "tip", 1.5), vt.Coupling({"slide": 1.0, "roll": -0.5}, 0.1))
    tree.constrain(vt.PointConstraint("mount", "bit", (0, 1, 0), axes="local"))
    return tree


def test_what_is_written_reads_back_the_same():
    for tree in (everything(), read_sexpr(LISTING)):
        text = write_sexpr(tree)
        again = read_sexpr(text)
        same(tree.compile(), again.compile())
        assert again.name == tree.name and np.array_equal(again.gravity, tree.gravity)
        assert write_sexpr(again).count("(body") == text.count("(body")


def test_long_chains_are_read_and_written():
    text = "(system " + "".join(f'(rx "a{k}" (tz 1 (mass 1) (name "m{k}")' for k in range(1500)) + "))" * 1500 + ")"
    tree = read_sexpr(text)
    assert len(read_sexpr(write_sexpr(tree)).flatten().kind) == 1500


def test_from_a_file(tmp_path):
    path = tmp_path / "device.trep"
    path.write_text(LISTING)
    same(load_sexpr(path), closed_chain())
    with pytest.raises(SexprError, match=r"cannot read .*absent"):
        load_sexpr(tmp_path / "absent")
    path.write_text(LISTING.replace("-0.375", "minus"))
    with pytest.raises(SexprError, match=r"^device\.trep:22:10: expected a number or a text in .* for tz"):
        load_sexpr(path)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("(system", "1:1", "is never closed"),
        ("(system))", "1:9", "a ) too many"),
        (")", "1:1", "closes nothing"),
        ("; nothing", "1:1", "empty"),
        ('(system\n (rx "a))', "2:6", "closing"),
        ("(pendulum)", "1:1", "mechanical-system"),
        ("(system 3)", "1:9", "in ( )"),
        ('(system\n  (ru "a"))', "2:3", '"ru" is not known beside the frames'),
        ('(system (rx "a" ru 3))', "1:17", 'no transform "ru"'),
        ("(system (rx))", "1:10", "is missing; write (rx number"),
        ('(system (screw "s" (0 0 1)))', "1:10", "(px py pz) is missing; write (screw"),
        ('(system (screw "s" (0 0 0) (0 0 0) 1))', "1:10", "is zero"),
        ("(system (gravity 0 0))", "1:9", "3 values"),
        ("(system (rx nan))", "1:13", "number"),
        ('(system (rx "a" (colour "red")))', "1:17", "no option"),
        ('(system (rx 1 (damping 2) (rx "a")))', "1:15", "no option"),
        ('(system (rx "a" (mass -1)))', "1:9", "mass"),
        ('(system (rx "a")\n (rx "a"))', "2:2", 'already a joint, link or frame "a"'),
        ('(system (rx "a" (tz 1 (mass 1))) (point-constraint "x"))', "1:34", '"b" is missing'),
        ('(system (rx "a" (tz 1 (mass 1))) (distance 1 "b" 2))', "1:44", 'expected a text in "..." for distance'),
    ],
)
def test_faults_are_placed(text, place, words):
    with pytest.raises(SexprError) as caught:
        load_sexpr(text)
    assert str(caught.value).startswith(f"<text>:{place}: ") and words in str(caught.value)


def test_unknown_frames_of_constraints_are_named():
    with pytest.raises(vt.UnknownNameError, match='did you mean "tip"'):
        load_sexpr('(system (rx "a" (tz 1 (name "tip") (mass 1))) (point-constraint "tap" "world" (1 0 0)))')


# ---- everything the library has ------------------------------------------------------------------------

#: Every head of the tables.
EVERYTHING = """
(mechanical-system (name "everything") (gravity 0.1 0 -9.81)
  (tx (K "trolley") (name "hook"))
  (free "base" (damping 1 2 3 4 5 6)
    (mass 3 1 2 2.5) (name "hull")
    (fixed (0.1 0.2 0.3) (0.6 -0.8 0 0.8 0.6 0 0 0 1) (name "mount")
      (ball "shoulder" (velocity 1 2 inf) (tz -1 (body "arm" 1 (0.1 0 0) (0.1 0.01 0.02 0.1 0.03 0.1)))))
    (ry 0.3 rz -1.2 screw "drill" (1 1 0) (0 0.1 0) 0.05 (damping 0.2) (friction 0.3) (friction-velocity 0.02)
    (armature 0.04) (dry-friction 0.1)
      (mass 0.5 0.1 0.1 0.1) (name "bit"))
    (ty (D "slide") (lower -1) (upper 1) (limit-restitution 0.5) (velocity 2) (effort 30)
      (rx "roll" (mimic "slide" -2 0.1) (mass 0.7) (name "cart")))
    (twist "skew" (0.6 0 0.8) (0 0.5 0) tx 0.5 (mass 1) (name "tip"))
    (revolute (K "hinge") (0 3 4) tz 0.5 (mass 0.1) (name "a"))
    (prismatic "rail" (0 3 4) (mass 0.1) (name "b"))
    (helical "nut" (0 0 1) 0.02 (mass 0.1 0.1 0.1 0.1) (name "c"))
    (cylindrical "sleeve" (damping 1 2) (upper 3) (mass 0.1 0.1 0.1 0.1) (name "d"))
    (spherical "socket" tz 0.2 (mass 0.1 0.1 0.1 0.1) (name "e"))
    (planar "table" (0 1 0) (mass 0.1 0.1 0.1 0.1) (name "f"))
    (planar "floor" (lower -1 -2 -3) (mass 0.1 0.1 0.1 0.1) (name "g"))
    (universal "cross" (effort 5) (mass "0.1" "0.1" "0.1" "0.1") (name "h")))
  (tz (K "string"))
  (point-constraint "mount" "bit" 0 1 0)
  (point-constraint "mount" "bit" (0 1 0) local 0.3 "pin")
  (distance "arm" "tip" 1.5) (distance "hook" "cart" "string")
  (coupling "slide" 1 "roll" -0.5 0.1) (gear "skew" "drill" 3) (screw-pair "slide" "roll" 0.1 0.2)
  (axis-constraint "arm" "cart" (0 0 1) (1 0 0) 0.5)
  (cam "rail" "hinge" (0 1 2 3) (0 0.1 0.1 0) periodic)
  (weld "a" "f")
  (spring "arm" "tip" 100) (damper "arm" "tip" 3) (attraction "arm" "tip" own own 1e-3) (attraction "mount" "tip" 2)
  (gravity-on ("a" "b") 0 0 -1) (wrench "tip" ("wind" 0 0) (0 "lift" -1) local) (wrench "arm" 0 0 1 "wind" 0 0)
  (joint-force "slide" "push") (joint-force "roll" 2.5) (joint-spring "roll" 4 0.5)
  (drive "slide" 40 2 inf inf "goal") (drive "rail" 30 1 5 2 0.1 "rate") (drive "nut" 3)
  (nonlinear-spring "slide" (-1 0 1) (2 0 -3)) (ball-spring "shoulder" 3 ("rx" "ry" "rz"))
  (ball-spring "socket" 2 (0 0 0 1) 3)
  (rope ("arm" "tip" "cart") (0 0 0 0.1 0 0 0 0 0) 3 0.2 1e4 5 "line")
  (rope ("arm" "tip" "hook" "arm" "cart") (0 0 0 0.1 0 0 0 0.2 0 0 0 1 0 0 0) 3 0 inf 0 "belt"
    (pulley 1 0.1 (0 1 0) -1) (pulley 3 0.2 (0 0 0) 0 (1 0 0)))
  (ball-limit "shoulder" 1 (-0.5 0.5) (0 1 0) 2 0.1)
  (ground 0.7 0.1 1e4 20 0 (0 0 1) (1 0 0 -3) (torsional-friction 0.01) (rolling-friction 0.002)
    (terrain 2 3 (0 1 2 3 4 5) (0.5 1) (0 0 -1))) (limits ignore) (velocity-limits enforce) (start "trolley" 0.5)
  (contact "tip" own 0.3 inf own 0.1 (0 0 0 1 2 3) (sphere 0.1) (capsule 0.1 0.2 (1 0 0)) (box (1 2 3))
    (cylinder 0.1 0.2 6 (0 0 0.1) (0.6 -0.8 0 0.8 0.6 0 0 0 1)) (hull (0 0 0 1 0 0 0 1 0 0 0 1))
    (convex-part (0 0 0 1 0 0 0 1 0 0 0 1) 0.01)
    (cone 0.1 0.2) (cone 0.1 0.3 (0 0 0.1) (0.6 -0.8 0 0.8 0.6 0 0 0 1)) (ellipsoid (0.1 0.2 0.3))
    (ellipsoid (0.1 0.2 0.4) (1 0 0) (0.6 -0.8 0 0.8 0.6 0 0 0 1)))
  (contact "hull" own own 1e4 0 (softness 0.01) (sphere 0.3)) (contact "arm") (no-contact "arm" "hull")
  (no-contact "tip" "arm" frames)
  (contact "world" (triangle-mesh (0 0 0 1 0 0 0 1 0) (0 1 2) (0 0 0.1)))
  (rolling "cart" 0.3 (0 1 0) (0 0 0.1) 1 0 1 (0 0 1 -2)) (rolling "bit" 0.1 (0 0 0) (0 0 0) 1 1 0 (0 1 0 0.5)))
"""


def equal(a, b):
    """Two trees flatten to the same arrays, to the last bit, and the same joints."""
    a, b = vt.Model(a.flatten()), vt.Model(b.flatten())
    assert a.flat.joints == b.flat.joints and a.flat.link_parent == b.flat.link_parent
    assert a.flat.constraints == b.flat.constraints and a.flat.loads == b.flat.loads
    assert (a.ground, a.contacts, a.limits) == (b.ground, b.contacts, b.limits)
    assert a.flat.start == b.flat.start
    assert a.digest == b.digest and a.name == b.name


def test_everything_is_written_as_it_was_read():
    tree = read_sexpr(EVERYTHING)
    text = write_sexpr(tree)
    equal(tree, read_sexpr(text))
    assert write_sexpr(read_sexpr(text)) == text
    for head in (*TRANSFORMS, *OPTIONS, *JOINT_OPTIONS, *COMPONENTS, *(INNER["contact"].keys() - {"disk"})):
        assert f"({head} " in EVERYTHING or f" {head} " in EVERYTHING, head


def test_the_text_means_what_python_says():
    tree = vt.Tree("small", gravity=(0, 0, -9.81))
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    tree.world.add(vt.tz("string", kinematic=True, lower=0.1))
    tree.world.add(vt.planar("p", (0, 1, 0), damping=0.5), vt.body("weight", 5.0, (1, 1, 1)))
    tree.constrain(vt.Distance("hook", "weight", "string"))
    tree.load(vt.Wrench("weight", force=("wind", 0.0, 0.0)), vt.Damper("hook", "weight", 1.0))
    equal(tree, read_sexpr("""
      (system (name "small") (gravity 0 0 -9.81)
        (tx (k "trolley") (tx 0 (name "hook"))) (tz (K "string") (lower 0.1))
        (planar "p" (0 1 0) (damping 0.5) (mass 5 1 1 1) (name "weight"))
        (distance "hook" "weight" "string")
        (wrench "weight" (0 0 0) ("wind" 0 0)) (damper "hook" "weight" 1))"""))  # fmt: skip
    assert tree.compile().prescribed_joint_names == ("trolley", "string")


@pytest.mark.parametrize("name", ["talos", "human", "panda"])
@pytest.mark.parametrize("base", ["fixed", "free", "euler"])
def test_robots_are_written_to_the_last_bit(name, base):
    tree = vt.read_urdf(vt.find_robot(name), base=base)
    equal(tree, read_sexpr(write_sexpr(tree)))


MAKERS = [
    lambda name, rng: vt.screw(name, rng.normal(size=3), rng.normal(size=3), rng.normal(), damping=rng.uniform()),
    lambda name, rng: vt.prismatic(name, rng.normal(size=3), upper=rng.uniform()),
    lambda name, rng: vt.rx(name, kinematic=True),
    lambda name, rng: vt.ball(name, damping=rng.uniform(size=3)),
    lambda name, rng: vt.cylindrical(name, np.eye(3)[rng.integers(3)], velocity=rng.uniform()),
]


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_written_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    tree = vt.Tree("random", gravity=rng.normal(size=3))
    at = [tree.world]
    for k in range(12):
        joint = MAKERS[rng.integers(len(MAKERS))](f"j{k}", rng)
        moved = [vt.rz(rng.uniform(-9, 9)), vt.ty(rng.normal()), vt.fixed(f"f{k}", *rng.normal(size=(2, 3)))]
        own = vt.body(f"b{k}", rng.uniform(), rng.uniform(1, 1.5, size=3), rng.normal(size=3))
        at.append(at[rng.integers(len(at))].add(joint, *rng.permutation(moved), own))
    equal(tree, read_sexpr(write_sexpr(tree)))


class Well(vt.Potential):
    """Written in Python."""

    def energy(self, model, q):
        return 0.0


class Leaf(vt.Constraint):
    """Written in Python, with a name."""

    name = 'leaf "7"'

    def value(self, model, q):
        return 0.0


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda tree: tree.load(Well()), "the Well cannot be written as an s-expression: it is written in Python"),
        (lambda tree: tree.constrain(Leaf()), '"7" cannot be written as an s-expression: it is written in Python'),
        (lambda tree: tree.load(3), "the 3 cannot be written as an s-expression: its kind is not known"),
        (lambda tree: tree.world.add(vt.rx('a"b')), "quotation mark"),
        (lambda tree: [tree.world.add(vt.planar("p")), tree.frame("p_x").add(vt.tx(1.0))],
         r'the joint "p" \(planar\) cannot be written as an s-expression'),
    ],
)  # fmt: skip
def test_what_has_no_notation_is_named(add, words):
    tree = vt.Tree()
    add(tree)
    with pytest.raises(vt.ModelError, match=words):
        write_sexpr(tree)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        # every list of choices is the table
        ("(bolt)", "2:1", ", ".join([*COMPONENTS, *TRANSFORMS])),
        ('(rx "a" bolt 3)', "2:9", f"choose from {', '.join(TRANSFORMS)}"),
        ('(rx "a" (colour 3))', "2:9", "(effort (x ...)), (mimic"),
        ("(rx 1 (lower 3))", "2:7", 'choose from (name "name"), (mass'),
        # coordinates
        ("(rx (K 3))", "2:8", 'expected a text in "..." for k'),
        ('(rx (K "a" 3))', "2:12", "k takes no more arguments"),
        ('(rx (E "a"))', "2:5", "expected a number or a text"),
        ('(ball (K "a"))', "2:2", "only joints of one coordinate can"),
        ("(rx inf)", "2:5", "expected a number"),
        # transforms
        ("(revolute 3)", "2:11", 'expected a text in "..." for revolute; write (revolute "name" (ax ay az)?)'),
        ('(revolute "a" (0 1))', "2:15", "takes 3 values, not 2"),
        ('(revolute "a" (0 0 0))', "2:2", "is zero"),
        ('(helical "a" (0 0 1) "b")', "2:22", "expected an option or a frame"),
        ('(planar "a" (0 up 1))', "2:16", "expected a number for planar"),
        ('(twist "a" (0 0 2) (0 0 0))', "2:2", "not a unit twist"),
        ("(fixed (0 0 0) (1 0 0 0 2 0 0 0 1))", "2:2", "not a rotation matrix"),
        # options
        ('(rx "a" (lower 1 2))', "2:9", "lower takes 1 number here, not 2"),
        ('(planar "a" (upper 1 2))', "2:13", "upper takes 1 or 3 numbers here, not 2"),
        ('(rx "a" (effort much))', "2:17", "expected a number for effort"),
        ('(rx "a" (damping))', "2:9", "is missing"),
        ('(rx "a" (mass heavy))', "2:15", "expected a number or a text"),
        ('(rx "a" (mass "heavy"))', "2:1", "must be a number"),
        ('(rx "a" (body "b" 1 (0 0 0) (1 1 1)))', "2:29", "takes 6 values, not 3"),
        ('(rx "a" (mimic "b" 1))', "2:9", "offset is missing"),
        # constraints
        ('(distance "a" "b")', "2:1", 'length|"joint" is missing'),
        ('(distance "a" "b" (1))', "2:19", 'expected a number or a text in "..."'),
        ('(distance "a" "b" 1 2)', "2:21", "distance takes no more arguments"),
        ('(point-constraint "a" "b" (0 0 1) sideways)', "2:35", "takes no more arguments"),
        ('(coupling "a" 1 "b")', "2:1", "factor is missing"),
        ('(gear "a" "b" "c")', "2:15", "expected a number for gear"),
        ('(screw-pair "a")', "2:1", '"turn" is missing'),
        ('(axis-constraint "a" "b" (0 0 1) (1 0))', "2:34", "takes 3 values, not 2"),
        ('(cam "a" "b" (0 1))', "2:1", "(profile ...) is missing"),
        ('(cam "a" "b" () (0 1))', "2:14", "takes one or more values, not 0"),
        ('(weld "a" 3)', "2:11", 'expected a text in "..." for weld'),
        # loads
        ('(spring "a" "b")', "2:1", 'stiffness is missing; write (spring "a" "b" stiffness length?)'),
        ('(damper "a" "b" "c")', "2:17", "expected a number for damper"),
        ('(attraction "a" "b" mine)', "2:21", "takes no more arguments"),
        ("(gravity-on 3)", "2:13", 'expected a text in "..."'),
        ('(wrench "a" (0 0 0) (0 up 0))', "2:24", "expected a number or a text"),
        ('(wrench "a" (0 0 0) (0 0 0) sky)', "2:29", "wrench takes no more arguments"),
        ('(joint-force "a")', "2:1", 'force|"input" is missing'),
        ('(joint-spring 1 2)', "2:15", 'expected a text in "..."'),
        ('(nonlinear-spring "a" (0 1))', "2:1", "(forces ...) is missing"),
        ('(gravity "down")', "2:10", "expected a number"),
    ],
)  # fmt: skip
def test_faults_of_every_element_are_placed(text, place, words):
    with pytest.raises(SexprError) as caught:
        read_sexpr(f"(system\n{text})")
    assert str(caught.value).startswith(f"<text>:{place}: ") and words in str(caught.value)


def test_bodies_on_the_world_and_several_at_a_frame_have_frames_of_their_own():
    """So that each is written, and read again."""
    tree = vt.Tree("shelf")
    tree.world.add(vt.body("table", 5.0, (1.0, 1.0, 1.0)))
    first, second = vt.body("b1", 1.0, (0.1, 0.1, 0.1)), vt.body("b2", 2.0, (0.2, 0.2, 0.2))
    tree.world.add(vt.ry("hinge"), first, second)
    again = vt.load_sexpr(vt.write_sexpr(tree))
    assert again.link_names == tree.compile().link_names == ("table", "b1", "b2")
