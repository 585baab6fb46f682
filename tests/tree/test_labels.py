"""Constraints have the names that people give them, and short ones else."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import ModelError


def four_bar(*constraints):
    tree = vt.Tree("four-bar linkage")
    crank = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", mass=1.0))
    crank.add(vt.ry("coupler"), vt.tx(1.0), vt.body("end", mass=1.0))
    tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(-0.9), vt.body("tip", mass=2.0))
    tree.constrain(*constraints)
    return tree


BOTH = [(1, 0, 0), (0, 0, 1)]


@pytest.mark.parametrize("made, names", [
    (vt.point_constraint("end", "tip", BOTH), ['point "end" - "tip" x', 'point "end" - "tip" z']),
    (vt.point_constraint("end", "tip", BOTH, label="loop"), ["loop x", "loop z"]),
    (vt.point_constraint("end", "tip", [(-2, 0, 0)]), ['point "end" - "tip" -x']),
    (vt.point_constraint("end", "tip", [(0.6, 0, 0.8)]), ['point "end" - "tip" along (0.6, 0, 0.8)']),
    ([vt.Distance("end", "tip", 1.0)], ['distance "end" - "tip"']),
    ([vt.Distance("end", "tip", 1.0, label="rod")], ["rod"]),
    ([vt.gear("crank", "rocker", 2.0)], ['coupling "crank" and "rocker"']),
    ([vt.gear("crank", "rocker", 2.0, label="gear")], ["gear"]),
    ([vt.screw_pair("crank", "rocker", 2.0, label="nut")], ["nut"]),
    ([vt.Cam("crank", "rocker", (0, 1, 2), (0, 0.1, 0.3), label="cam")], ["cam"]),
    ([vt.AxisConstraint("end", "tip", (1, 0, 0), (0, 0, -1))], ['axis "end" x - "tip" -z']),
    (vt.weld("end", "tip", "weld")[:4], ["weld x", "weld y", "weld z", "weld x-y"]),
    (vt.joint_constraints("revolute", "end", "tip", label="hinge"),
     ["hinge x", "hinge y", "hinge z", "hinge x-z", "hinge y-z"]),
])  # fmt: skip
def test_names(made, names):
    assert [constraint.name for constraint in made] == names
    assert all(len(name) < 45 for name in names)


def test_runs_plots_and_errors_have_the_label(tmp_path):
    pytest.importorskip("matplotlib")
    model = four_bar(*vt.point_constraint("end", "tip", BOTH, label="loop")).compile()
    q = vt.satisfy_constraints(model, [0.5, 0.1, 0.3])
    run = vt.simulate(model, q, duration=0.05, dt=0.01, method="midpoint")
    assert run.constraint_names == ("loop x", "loop z")
    loaded = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    legend = loaded.plot("constraint").axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["loop x", "loop z"]
    with pytest.raises(vt.VitreeError, match=r"loop [xz]"):
        vt.simulate(model, [0.5, 0.1, 0.3], duration=0.05, dt=0.01)


def test_labels_change_nothing_else():
    plain, named = (four_bar(*vt.point_constraint("end", "tip", BOTH, label=label)).compile() for label in (None, "x"))
    q = vt.satisfy_constraints(plain, [0.5, 0.1, 0.3])
    runs = [vt.simulate(model, q, duration=0.2, dt=0.01, method="midpoint") for model in (plain, named)]
    for name in ("q", "p", "constraint", "multipliers"):
        one, two = (getattr(run, name) for run in runs)
        assert np.array_equal(one, two, equal_nan=True)


def test_labels_are_in_s_expressions_or_refused():
    for made in (vt.point_constraint("end", "tip", BOTH, label="loop"), [vt.Distance("end", "tip", 1.0, label="rod")]):
        tree = four_bar(*made)
        again = vt.read_sexpr(vt.write_sexpr(tree))
        assert [c.name for c in again.constraints] == [c.name for c in tree.constraints]
        assert again.compile().digest == tree.compile().digest
    with pytest.raises(ModelError, match='label "gear"'):
        vt.write_sexpr(four_bar(vt.gear("crank", "rocker", 2.0, label="gear")))
