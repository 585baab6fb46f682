"""Islands that are solved for joint by joint: the corrections, accelerations and runs are those of the dense way."""

from __future__ import annotations

import pathlib
import sys
from dataclasses import replace

import numpy as np
import pytest
from directions import ALL, check_direction
from planned import by_fronts, densely, planned
from random_models import random_flat, random_state

import vitree as vt
from vitree.mechanism.plans import ELIMINATE, OPEN_ROW, SPARE_ROWS, plan_of

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms


def random_tied(rng, bodies, ties, kinds=ALL, base="fixed", **more):
    """A random tree, and constraints of every kind between its links; they do not hold."""
    flat = random_flat(rng, bodies, kinds, base=base, **more)
    single = [joint.name for joint in flat.joints if joint.v_slice.stop - joint.v_slice.start == 1]
    links = [*flat.link_names, "world"] if hasattr(flat, "link_names") else [joint.child for joint in flat.joints]
    table = (np.linspace(-3, 3, 7), rng.normal(size=7))
    constraints = []
    for k in range(ties):
        a, b = (str(name) for name in rng.choice(links, 2, replace=False))
        axes = [rng.normal(size=3) for _ in range(2)]
        one = [vt.Distance(a, b, 0.7), vt.PointConstraint(a, b, axes[0]), vt.AxisConstraint(a, b, *axes)][k % 3]
        if k % 5 == 3 and len(single) > 1:
            x, y = (str(name) for name in rng.choice(single, 2, replace=False))
            one = [vt.gear(x, y, -1.7), vt.Distance(a, b, x), vt.Cam(x, y, *table)][k // 5 % 3]
        constraints.append(one)
    return vt.Model(replace(flat, constraints=tuple(constraints)))


def regular(model, q):
    """Whether the constraints are independent of each other; never nearly so."""
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    s = np.linalg.svd(model.constraint_jacobian(q)[:, free], compute_uv=False)
    assert not 1e-14 < s.min() / s.max() < 1e-4
    return s.min() > 1e-10 * s.max()


def drawn(seed, base, **more):
    """A random model with constraints, and a state."""
    rng = np.random.default_rng(seed)
    model = random_tied(rng, 4 + seed // 2, 2 + seed // 4, base=base, **more)
    return model, *random_state(model.flat, rng), rng


def fronts_of(model, plan=by_fronts):
    """The fronts of its islands that have some."""
    return [front for front in planned(model, plan)[1].fronts if front is not None]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("alpha", [None, 0.5, 0.3])
def test_corrections_are_those_of_the_dense_matrix(alpha, base, seed):
    model, q, v, _ = drawn(seed, base, damping=seed % 3 == 0)
    model, plan = planned(model, by_fronts)
    assert any(plan.fronts)
    if regular(model, q):
        check_direction(model, q, v, alpha, seed)
    else:
        with pytest.raises(ArithmeticError):
            check_direction(model, q, v, alpha, seed)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_accelerations_are_those_of_the_dense_way(base, seed):
    """Of random trees with damping, on joints of one coordinate, and with prescribed joints."""
    model, q, v, rng = drawn(seed, base)
    sizes = [joint.v_slice.stop - joint.v_slice.start for joint in model.joints]
    single = np.repeat(np.equal(sizes, 1), sizes)
    kinematic = single & (rng.uniform(size=model.nv) < 0.2 * (seed % 2))
    model = vt.Model(replace(model.flat, damping=single * rng.uniform(size=model.nv), kinematic=kinematic))
    model, plan = planned(model, by_fronts)
    assert any(plan.fronts)
    if not regular(model, q):
        with pytest.raises(vt.ConvergenceError, match="depend on each other"):
            model.forward_dynamics(q, v)
        return
    prescribed = {name: 0.3 for name in model.prescribed_joint_names}
    found = model.forward_dynamics(q, v, prescribed=prescribed)
    exact = planned(model, densely)[0].forward_dynamics(q, v, prescribed=prescribed)
    for one, other in zip(found, exact, strict=True):
        assert np.abs(one - other).max(initial=0.0) <= 1e-8 * np.abs(other).max(initial=1e-9)


@pytest.mark.parametrize("options", [{}, {"solver": "recursive-newton"}, {"solver": "modified-newton"},
                                     {"solver": "broyden"},
                                     {"order": 4}, {"kinetic": "com"}], ids=str)  # fmt: skip
def test_a_scissor_moves_as_it_does_the_dense_way(options):
    model, q = mechanisms.scissor(6, 0.9)
    model, plan = planned(model, by_fronts)
    assert any(plan.fronts)
    run = vt.simulate(model, q, duration=0.4, dt=2e-3, tolerance=1e-11, **options)
    exact = vt.simulate(planned(model, densely)[0], q, duration=0.4, dt=2e-3, tolerance=1e-11, **options)
    assert np.abs(run.q - exact.q).max() < 1e-8 and np.abs(run.constraint).max() < 1e-12
    assert np.abs(run.multipliers - exact.multipliers)[1:].max() < 1e-4 * np.abs(exact.multipliers[1:]).max()


@pytest.mark.parametrize("order", [2, 4])
def test_a_scissor_resumes_to_the_last_bit(order):
    model, q = mechanisms.scissor(5, 0.9)
    model, _ = planned(model, by_fronts)
    whole = vt.simulate(model, q, duration=0.1, dt=2e-3, order=order)
    half = vt.simulate(model, q, duration=0.05, dt=2e-3, order=order)
    rest = half.resume(0.05)
    assert np.array_equal(whole.q[-1], rest.q[-1]) and np.array_equal(whole.p[-1], rest.p[-1])


def test_few_bodies_of_a_scissor_are_open_at_a_time():
    for segments in (5, 10, 40):
        model, _ = mechanisms.scissor(segments, 0.9)
        (front,) = fronts_of(model)
        assert front.slots <= 3 and front.places <= 6 + SPARE_ROWS
        assert len(front.events) <= 20 * segments


def test_few_legs_of_a_platform_are_open_at_a_time():
    """Six legs of a universal joint and a slider, fixed to a floating platform by their tips."""
    tree = vt.Tree("platform")
    plate = tree.world.add(vt.free("plate"), vt.body("top", 2.0, inertia=(0.2, 0.2, 0.3)))
    for k in range(6):
        at, off = 2 * np.pi * k / 6, 0.3 * (-1) ** k
        plate.add(vt.tx(0.5 * np.cos(at)), vt.ty(0.5 * np.sin(at)), vt.frame(f"corner{k}"))
        leg = tree.world.add(vt.tx(np.cos(at + off)), vt.ty(np.sin(at + off)), vt.rx(f"a{k}"), vt.ry(f"b{k}"),
                             vt.body(f"leg{k}", 1.0, com=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)))  # fmt: skip
        leg.add(vt.tz(f"s{k}"), vt.body(f"rod{k}", 0.5, inertia=(0.02, 0.02, 0.01)), vt.frame(f"tip{k}"))
        for axis in np.eye(3):
            tree.constrain(vt.PointConstraint(f"tip{k}", f"corner{k}", tuple(axis)))
    model = tree.compile()
    q = model.neutral()
    q[model.joint("plate").q_slice.start + 2] = 1.0
    q[[model.joint(f"s{k}").q_slice.start for k in range(6)]] = 1.0
    q = vt.satisfy_constraints(model, q)
    model, plan = planned(model, by_fronts)
    check_direction(model, q, np.zeros(model.nv), None)
    assert [front.slots <= 4 for front in plan.fronts] == [True]
    run = vt.simulate(model, q, duration=0.2, dt=2e-3)
    assert np.abs(run.constraint).max() < 1e-12


def test_few_constraints_are_solved_for_densely():
    """Fronts are for what costs less by them: for long scissors, not for a single loop."""
    assert not fronts_of(mechanisms.scissor(2, 0.9)[0], plan_of)
    assert fronts_of(mechanisms.scissor(20, 0.9)[0], plan_of)


def test_fronts_open_and_close_each_row_and_eliminate_each_joint_once():
    model, _ = mechanisms.scissor(8, 0.9)
    (front,) = fronts_of(model)
    kinds, bodies = front.events[:, 0], front.events[:, 1]
    assert sorted(bodies[kinds == ELIMINATE]) == list(range(model.nbody)) and front.pivots == model.nv
    opened = [front.rows[row:end] for kind, *_, row, end in front.events if kind == OPEN_ROW]
    assert sorted(np.concatenate(opened)) == list(range(len(model.constraints)))
    assert front.pairs[:, 0].max() == front.slots - 1
    last = np.flatnonzero(kinds == ELIMINATE)[-1]
    assert ((0 <= front.ready) & (front.ready <= last + 2)).all()


@pytest.mark.parametrize("segments", [5, 15])
def test_a_scissor_passes_the_collinear_configuration(segments):
    """There the multipliers' matrix changes its sign, as Dh(q2) Dh(q1)^T does."""
    model, q = mechanisms.scissor(segments, 0.9)
    model, plan = planned(model, by_fronts)
    run = vt.simulate(model, q, duration=2.0, dt=5e-3)
    x = run.q[:, model.joint("x").q_slice]
    assert any(plan.fronts) and x.min() < -0.5 < 0.5 < x.max()
    exact = vt.simulate(planned(model, densely)[0], q, duration=2.0, dt=5e-3)
    assert run.settings["halved"] <= exact.settings["halved"] + 1
    assert np.abs(run.q - exact.q)[:150].max() < 1e-4 and np.abs(run.constraint).max() < 1e-11
