"""The s-expression notation: the paper's listing, round trips, faults by line and column."""

from __future__ import annotations

import numpy as np
import pytest
from test_constraints import REFERENCE, closed_chain

import vitree as vt
from vitree.sexpr import SexprError, load_sexpr, read_sexpr, write_sexpr

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
        for rows, others in zip(a.constraint_rows(q[None]), b.constraint_rows(q[None]), strict=True):
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
    with pytest.raises(SexprError, match=r"^device\.trep:22:10: expected a number for tz"):
        load_sexpr(path)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("(system", "1:1", "without its )"),
        ("(system))", "1:9", "one too many"),
        (")", "1:1", "without its ("),
        ("; nothing", "1:1", "empty"),
        ('(system\n (rx "a))', "2:6", "closing"),
        ("(pendulum)", "1:1", "mechanical-system"),
        ("(system 3)", "1:9", "in ( )"),
        ('(system\n  (ru "a"))', "2:3", '"ru" is not known here'),
        ('(system (rx "a" ru 3))', "1:17", "no transform"),
        ("(system (rx))", "1:10", "no parameter"),
        ('(system (screw "s" (0 0 1)))', "1:10", "a screw takes"),
        ('(system (screw "s" (0 0 0) (0 0 0) 1))', "1:10", "is zero"),
        ("(system (gravity 0 0))", "1:9", "3 numbers"),
        ("(system (rx nan))", "1:13", "number"),
        ('(system (rx "a" (colour "red")))', "1:17", "no option"),
        ('(system (rx 1 (damping 2) (rx "a")))', "1:15", "no option"),
        ('(system (rx "a" (mass -1)))', "1:9", "mass"),
        ('(system (rx "a")\n (rx "a"))', "2:2", 'already a joint, link or frame "a"'),
        ('(system (rx (D "a")))', "1:13", "kinematic"),
        ('(system (rx "a" (tz 1 (mass 1))) (point-constraint "x"))', "1:34", "two frames"),
        ('(system (rx "a" (tz 1 (mass 1))) (distance 1 "b" 2))', "1:44", "a frame"),
    ],
)
def test_faults_are_placed(text, place, words):
    with pytest.raises(SexprError) as caught:
        load_sexpr(text)
    assert str(caught.value).startswith(f"<text>:{place}: ") and words in str(caught.value)


def test_unknown_frames_of_constraints_are_named():
    with pytest.raises(vt.UnknownNameError, match='did you mean "tip"'):
        load_sexpr('(system (rx "a" (tz 1 (name "tip") (mass 1))) (point-constraint "tap" "world" (1 0 0)))')
