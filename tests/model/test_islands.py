"""Constraints that share no bodies are solved for apart: the motion is that of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree._core import scalar
from vitree._core.types import ConstraintList
from vitree.mechanism.plans import (
    COUPLING,
    DISTANCE,
    POINTS,
    Bodies,
    Tie,
    bodies_of,
    plan_of,
    ranges_between,
    separate_islands,
    span_of,
)


class OwnDistance(vt.Constraint):
    """Between the bobs of the first and the last loop, the gradient left to differences."""

    def value(self, model, q):
        a, b = (model.frame_pose(name, q)[:3, 3] for name in ("bob0", "bob2"))
        return np.linalg.norm(a - b) - 0.6


METHODS = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")


def add_four_bar(tree, k, spin):
    """A loop of three bars about an axis, with a ball joint where ``spin``, and a pendulum on its coupler."""
    side = vt.ty(0.3 * k)
    first = tree.world.add(side, vt.ry(f"a{k}"),
                           vt.body(f"left{k}", 1.0 + 0.1 * k, com=(0, 0, 0.25), inertia=(0.02,) * 3))  # fmt: skip
    second = first.add(vt.tz(0.5), vt.ry(f"b{k}"), vt.body(f"top{k}", 1.0, com=(0.5, 0, 0), inertia=(0.08,) * 3))
    second.add(vt.tx(0.5), vt.ball(f"hang{k}") if spin else vt.rx(f"hang{k}"), vt.tz(-0.2),
               vt.body(f"bob{k}", 0.3, inertia=(0.01, 0.02, 0.03)))  # fmt: skip
    second.add(vt.tx(1.0), vt.ry(f"c{k}"), vt.body(f"right{k}", 1.0, com=(0, 0, -0.25), inertia=(0.02,) * 3),
               vt.tz(-0.5), vt.frame(f"end{k}"))  # fmt: skip
    tree.world.add(side, vt.tx(1.0), vt.frame(f"foot{k}"))
    for direction in ((1, 0, 0), (0, 0, 1)):
        tree.constrain(vt.PointConstraint(f"end{k}", f"foot{k}", direction))


def bars(which, spin=False, free=True):
    """Four-bars of some numbers, and a pendulum without constraints between them."""
    tree = vt.Tree("bars")
    for n, k in enumerate(which):
        add_four_bar(tree, k, spin)
        if n == 0 and free:
            tree.world.add(vt.tx(-3.0), vt.rx("swing"), vt.tz(-1.0), vt.body("weight", 1.0))
    return tree.compile()


def speeds(model):
    v = np.zeros(model.nv)
    for joint in model.joints:
        k = joint.name.strip("abchngswi")
        sign = {"a": 1, "b": -1, "c": 1}.get(joint.name[0], 0.0)
        v[joint.v_slice] = sign * (1.0 + 0.5 * int(k)) if joint.name[0] in "abc" else 0.7
    return v


def run_of(model, method, **more):
    more = {"tolerance": 1e-13} | more if method in ("linear-time", "midpoint") else more
    return vt.simulate(model, model.neutral(), speeds(model), duration=0.3, dt=2e-3, method=method, **more)


@pytest.mark.parametrize("spin", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_each_loop_moves_as_it_does_alone(method, spin):
    together = bars((0, 1, 2), spin)
    whole = run_of(together, method)
    for k in range(3):
        alone = bars((k,), spin, free=False)
        run = run_of(alone, method)
        for joint in alone.joints:
            mine = whole.q[:, together.joint(joint.name).q_slice]
            assert np.abs(mine - run.q[:, joint.q_slice]).max() < 1e-10, joint.name
        ours, theirs = whole.multipliers[1:, 2 * k : 2 * k + 2], run.multipliers[1:]
        assert np.abs(ours - theirs).max() < 1e-6 * np.abs(theirs).max()
    if method in ("linear-time", "midpoint"):
        assert np.abs(whole.constraint).max() < 1e-12


@pytest.mark.parametrize("options", [{}, {"solver": "newton"}, {"solver": "riqn"}, {"solver": "broyden"},
                                     {"solver": "modified-newton"}, {"order": 4}], ids=str)
@pytest.mark.parametrize("method", METHODS[:2])
def test_every_solver_finds_the_same(method, options):
    model = bars((0, 1, 2), spin=True)
    exact = run_of(model, method, solver="recursive-newton", order=options.get("order", 2))
    run = run_of(model, method, **options)
    assert np.abs(run.q - exact.q).max() < 1e-9 and np.abs(run.multipliers - exact.multipliers)[1:].max() < 1e-4


def interleaved(model):
    """The same mechanism with its bodies in layers: those of different loops lie between each other."""
    flat = model.flat
    depth = []
    for up in flat.parent:
        depth.append(depth[up] + 1 if up >= 0 else 0)
    order = np.argsort(depth, kind="stable")
    at = np.argsort(order)
    parent = [int(at[up]) if up >= 0 else -1 for up in flat.parent[order]]
    slices = [joint.v_slice for joint in model.joints]
    assert [s.stop - s.start for s in slices] == [1] * len(flat.kind)
    bodies = {name: getattr(flat, name)[order] for name in ("kind", "E", "p", "pitch", "mass", "com", "inertia")}
    joints = tuple(replace(flat.joints[i], q_slice=slice(k, k + 1), v_slice=slice(k, k + 1))
                   for k, i in enumerate(order))  # fmt: skip
    frames = np.array([at[i] if i >= 0 else -1 for i in flat.frame_body], dtype=np.int32)
    parents = np.array(parent, dtype=np.int32)
    return vt.Model(replace(flat, parent=parents, joints=joints, frame_body=frames, **bodies)), order


@pytest.mark.parametrize("method", METHODS)
def test_bodies_of_loops_may_lie_between_each_other(method):
    model = bars((0, 1, 2))
    other, order = interleaved(model)
    assert not np.array_equal(order, np.arange(model.nv))
    run, again = run_of(model, method), run_of(other, method)
    assert np.abs(run.q[:, order] - again.q).max() < 1e-10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tie", [
    lambda: vt.gear("hang0", "hang2", 2.0), lambda: vt.Distance("bob0", "bob1", 0.3), OwnDistance],
    ids=["gear", "distance", "own"])  # fmt: skip
def test_what_ties_two_loops_is_solved_for_with_both(method, tie):
    model = bars((0, 1, 2))
    tied = vt.Model(replace(model.flat, constraints=(*model.flat.constraints, tie())))
    q = vt.satisfy_constraints(tied, tied.neutral() + 0.01)
    run = vt.simulate(tied, q, duration=0.2, dt=1e-3, method=method)
    exact = vt.simulate(tied, q, duration=0.2, dt=0.2, method="scipy-dop853", rtol=1e-10, atol=1e-10)
    assert np.abs(run.q[-1] - exact.q[-1]).max() < (5e-3 if method.startswith("semi") else 1e-4)
    if method in METHODS[:2]:
        assert np.abs(run.constraint).max() < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_springs_between_loops_do_not_tie_them(method):
    """They couple the rows of midpoint: one island with the loads behind the constraints."""
    model = bars((0, 1))
    model = vt.Model(replace(model.flat, loads=(vt.Spring("bob0", "bob1", 40.0, 0.2), vt.Damper("bob0", "top1", 1.0))))
    run = run_of(model, method)
    exact = vt.simulate(model, model.neutral(), speeds(model), duration=0.3, dt=0.3, method="scipy-dop853", rtol=1e-10,
                        atol=1e-10)  # fmt: skip
    assert np.abs(run.q[-1] - exact.q[-1]).max() < (2e-2 if method.startswith("semi") else 1e-3)


@pytest.mark.parametrize(("roots", "islands"), [
    ([], []), ([[0]], [({0}, [0])]), ([[0], [3], [0]], [({0}, [0, 2]), ({3}, [1])]),
    ([[0], [3], [5], [0, 5]], [({0, 5}, [0, 2, 3]), ({3}, [1])]),
    ([[0, 1], [2, 3], [1, 2]], [({0, 1, 2, 3}, [0, 1, 2])]), ([[0], None, [3]], [(None, [0, 1, 2])]),
    ([[0], []], [({0}, [0]), (set(), [1])])])  # fmt: skip
def test_rows_are_divided_by_the_roots_that_they_tie(roots, islands):
    found = separate_islands(roots)
    assert [(roots, list(rows)) for roots, rows in found] == islands


@pytest.mark.parametrize(("root", "roots", "span"), [
    ([0, 0, 2, 2], {2}, (2, 4)), ([0, 1, 0, 1], {0}, (0, 4)), ([0, 1, 0, 1], {1}, (0, 4)), ([0, 1, 1, 3], {1}, (1, 3)),
    ([0, 1, 2, 1, 0, 5], {1}, (1, 4)), ([0, 1], set(), (0, 0))])
def test_a_span_holds_whole_trees(root, roots, span):
    assert span_of(root, roots) == span


BODIES = Bodies((-1, 0, 1, -1, 3), (0, 1, 2, 5, 6), (1, 1, 3, 1, 1), (False, False, False, True, False))
GEAR, LOOP = Tie(COUPLING, iv_a=0, iv_b=1, factor_a=1.0, factor_b=-2.0), Tie(POINTS, body_a=2, body_b=0)


def test_a_plan_has_the_bodies_and_coordinates_of_each_island():
    other = Tie(DISTANCE, body_a=4, body_b=-1)
    plan = plan_of(BODIES, [other, LOOP, GEAR])
    assert plan.islands.tolist() == [[3, 5, 5, 7, 0, 1], [0, 3, 0, 5, 1, 3]]
    assert plan.members.tolist() == [0, 1, 2] and plan.of.tolist() == [0, 1, 1]
    assert plan.ranges.tolist() == [[0, 5]] and plan.fronts == (None, None)
    assert not plan.linear and plan.trains is None and plan.own is None
    whole = plan_of(BODIES, [other, LOOP, GEAR], whole=True)
    assert whole.islands.tolist() == [[0, 5, 0, 7, 0, 3]]


@pytest.mark.parametrize(("spans", "between"), [
    ([], [(0, 6)]), ([(4, 6), (1, 2)], [(0, 1), (2, 4)]), ([(0, 3), (3, 6)], [])])
def test_ranges_lie_between_spans(spans, between):
    assert ranges_between(spans, 6) == between


@pytest.mark.parametrize(("gears", "own"), [
    ([GEAR], [0]), ([GEAR, Tie(COUPLING, iv_a=0, iv_b=6, factor_a=1.0, factor_b=1.0)], None),
    ([GEAR, Tie(COUPLING, iv_a=1, iv_b=6, factor_a=1.0, factor_b=-1.0)], [0, 6]),
    ([Tie(COUPLING, iv_a=5, iv_b=6, factor_a=1.0, factor_b=1.0)], [6])], ids=["one", "shared", "two", "prescribed"])
def test_gears_have_a_coordinate_of_their_own_where_none_else_takes_it(gears, own):
    """With a factor of one, and not prescribed."""
    found = plan_of(BODIES, gears).own
    assert (found is None) if own is None else found.tolist() == own


def test_constraints_for_a_stepper_have_a_plan_of_its_bodies():
    model, row = bars((0, 1)), {"kind": DISTANCE, "body_a": 0, "body_b": 1, "value": 1.0}
    ties = [Tie.of(row)]
    plans = [plan_of(bodies_of(model.flat, model.index.iv), ties, whole) for whole in (False, True)]
    make = lambda *more: scalar().ModelStepper(model.core, 1.0, constraints=ConstraintList([row], *more))  # noqa: E731
    make(plans, model.nbody)
    with pytest.raises(ValueError, match="constraints without a plan of 1; 0 are needed"):
        make()
    with pytest.raises(ValueError, match=f"bodies of a plan of 3; {model.nbody} are needed"):
        make(plans, 3)
    with pytest.raises(ValueError, match="plans of 1 and 1 of 2 constraints"):
        ConstraintList([row, row], plans, model.nbody)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("ratio", [1, 10], ids=["even steps", "uneven steps"])
@pytest.mark.parametrize("gears", [2, 12])
@pytest.mark.parametrize("leader", [None, 0], ids=["each follows the last", "all follow one"])
def test_answers_of_gears_that_are_kept_lead_to_the_same_steps(leader, gears, ratio, method):
    """A factorisation may keep what gears answered before: corrections are then less exact, solutions are not.

    Where all follow one, the equation of each follower gives the multiplier of its gear.
    """
    tree, at = vt.Tree("geared"), None
    at = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.1,) * 3))
    for k in range(14):
        at = at.add(vt.ry(f"j{k}") if k % 3 else vt.rx(f"j{k}"), vt.tz(-0.2), vt.body(f"b{k}", 1.0, (1e-2,) * 3))
    for k in range(gears):
        tree.constrain(vt.gear(f"j{k + 1}", f"j{k if leader is None else leader}", (-1) ** k * 0.8, 0.05))
    model = tree.compile()
    q = vt.satisfy_constraints(model, model.integrate(model.neutral(), np.linspace(-0.3, 0.4, model.nv)))
    v = model._constrained_velocities(q[None], np.linspace(1.0, -1.0, model.nv)[None])[0]
    dt = 5e-4 * np.where(np.arange(90) % 3, 1, ratio)
    kept, exact = (vt.simulate(model, q, v, dt=dt, method=method, tolerance=1e-12, solver=solver)
                   for solver in ("auto", "recursive-newton"))  # fmt: skip
    assert max(np.abs(model.difference(a, b)).max() for a, b in zip(kept.q, exact.q, strict=True)) < 1e-8
    assert np.abs(kept.constraint).max() < 1e-12
    assert np.abs(kept.multipliers - exact.multipliers)[1:].max() < 1e-6 * np.abs(exact.multipliers[1:]).max()
    assert kept.iterations_total < 3 * exact.iterations_total
