"""Gears within the recursion of forward dynamics: joints that gears tie together move at one rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planned import planned, without_trains
from random_models import random_flat, random_state, with_rotors

import vitree as vt
from vitree.mechanism.plans import plan_of, sorted_gears

SINGLE = ("revolute", "prismatic", "helical")


def tree_of_gears(rng, joints, count):
    """Gears that no circle is made of: each ties a joint to one before it in a random order."""
    joints = [str(name) for name in rng.permutation(joints)]
    gears, trains = [], rng.integers(1, 3)
    for k in range(trains, min(count + trains, len(joints))):
        # leaders of several, chains and trains side by side
        leader = joints[int(rng.integers(0, k)) if rng.uniform() < 0.5 else k - trains]
        ratio = rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0])
        pair = {joints[k]: 1.0, leader: -ratio}
        if rng.uniform() < 0.5:
            pair = dict(reversed(pair.items()))
        gears.append(vt.Coupling({name: factor * rng.choice([1.0, 0.4]) for name, factor in pair.items()}, 0.1))
    return gears


def drawn(seed, base="fixed", kinds=SINGLE, kinematic=0.0):
    """A random tree with gears at any places, a state whose velocities the gears allow, and forces.

    Every other tree has armature.
    """
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, 4 + seed % 13, kinds, base=base, damping=True)
    flat = with_rotors(flat, seed) if seed % 2 else flat
    joints = [j.name for j in flat.joints if j.v_slice.stop - j.v_slice.start == 1]
    q, v = random_state(flat, rng)
    v = v * rng.choice([0.0, 1.0, 5.0])
    locked = np.zeros(len(v), bool)
    for j in flat.joints:
        locked[j.v_slice] = j.v_slice.stop - j.v_slice.start == 1 and rng.uniform() < kinematic
    model = vt.Model(replace(flat, constraints=tuple(tree_of_gears(rng, joints, 1 + seed % 6)), kinematic=locked))
    return model, q, v, rng.normal(size=len(v)) * 10.0 ** rng.integers(-1, 2)


def solved(model, q, v, tau, rates=None):
    """Accelerations and multipliers, by the dense equations of both."""
    G = model.constraint_jacobian(q)
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    a = np.where(free, 0.0, 0.0 if rates is None else rates)
    right = tau - model.flat.damping * v - model.rnea(q, v, a)
    M, J = model.crba(q)[np.ix_(free, free)], G[:, free]
    K = np.block([[M, -J.T], [J, np.zeros((len(G), len(G)))]])
    found = np.linalg.solve(K, np.concatenate([right[free], -G @ a]))
    a[free] = found[: free.sum()]
    return a, found[free.sum() :], np.linalg.cond(K)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_accelerations_and_multipliers_are_those_of_the_dense_equations(base, seed):
    model, q, v, tau = drawn(seed, base)
    model, plan = planned(model, plan_of)
    assert plan.trains is not None
    a, force = model.forward_dynamics(q, v, tau)
    exact, multipliers, condition = solved(model, q, v, tau)
    assert np.abs(a - exact).max() <= 1e-14 * condition * np.abs(exact).max()
    assert np.abs(force - multipliers).max() <= 1e-14 * condition * np.abs(multipliers).max()
    G = model.constraint_jacobian(q)
    assert np.abs(G @ a).max() <= 1e-14 * np.abs(a).max() * np.abs(G).max()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kinds", [("revolute", "ball"), ("revolute", "prismatic", "free"), SINGLE])
def test_joints_that_gears_pass_may_be_of_any_kind_or_prescribed(kinds, seed):
    """Where a train's way leads through a ball joint or its own joint is prescribed, gears are solved for densely."""
    model, q, v, tau = drawn(seed, kinds=kinds, kinematic=0.15)
    rates = np.random.default_rng(seed).normal(size=model.nv)
    prescribed = {j.name: rates[j.v_slice][0] for j in model.joints if model.flat.kinematic[j.v_slice.start]}
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    rows = model.constraint_jacobian(q)[:, free]
    if np.linalg.matrix_rank(rows) < len(rows):
        with pytest.raises(vt.ConvergenceError, match="depend on each other"):
            model.forward_dynamics(q, v, tau, prescribed=prescribed)
        return
    exact, multipliers, condition = solved(model, q, v, tau, rates)
    a, force = model.forward_dynamics(q, v, tau, prescribed=prescribed)
    assert np.abs(a - exact).max() <= 1e-13 * condition * np.abs(exact).max()
    assert np.abs(force - multipliers).max(initial=0) <= 1e-13 * condition * np.abs(multipliers).max(initial=1e-12)


@pytest.mark.parametrize("method", ["rk4", "semi-implicit-euler", "explicit-euler", "linear-time", "midpoint"])
@pytest.mark.parametrize("seed", range(4))
def test_runs_are_those_of_the_dense_way(seed, method):
    model, q, v, _ = drawn(5 + 7 * seed, "free")
    q = vt.satisfy_constraints(model, q)
    v = model._constrained_velocities(q[None], v[None])[0]
    run = vt.simulate(model, q, v, duration=0.02, dt=1e-3, method=method)
    exact = vt.simulate(planned(model, without_trains)[0], q, v, duration=0.02, dt=1e-3, method=method)
    scale = np.abs(exact.v).max()
    assert np.abs(run.v - exact.v).max() <= 1e-7 * scale
    known = slice(1, None) if method in ("linear-time", "midpoint") else slice(None)
    assert np.abs(run.multipliers - exact.multipliers)[known].max() <= 1e-5 * np.abs(exact.multipliers[known]).max()


def test_a_train_has_one_rate():
    gears = [{1: 1.0, 0: -2.0}, {2: 4.0, 1: 2.0}, {5: 1.0, 4: 1.0}]
    trains, order = sorted_gears([list(gear.items()) for gear in gears])
    assert trains == [{1: 1.0, 0: 0.5, 2: -0.5}, {5: 1.0, 4: -1.0}]
    left = [{0, 1}, {1, 2}, {4, 5}]
    for gear, joint, other, factor, other_factor in order:
        # the last gear that the joint has
        assert sum(joint in joints for joints in left) == 1 and left[gear] == {joint, other}
        assert (factor, other_factor) == (gears[gear][joint], gears[gear][other])
        left[gear] = set()
    assert not any(left)


@pytest.mark.parametrize("gears", [
    [[(0, 1.0)]], [[(0, 1.0), (0, 2.0)]], [[(0, 1.0), (1, 0.0)]], [[(0, 1.0), (1, 1.0)], [(0, 1.0), (1, 1.0)]],
    [[(0, 1.0), (1, 1.0)], [(1, 1.0), (2, 1.0)], [(2, 1.0), (0, 1.0)]],
], ids=["one joint", "itself", "no factor", "twice", "a circle"])  # fmt: skip
def test_gears_that_give_no_rate_are_left_alone(gears):
    assert sorted_gears(gears) is None


def test_a_circle_of_gears_turns_as_one():
    """The last gear is implied by the others: it takes no part."""
    tree = vt.Tree("circle")
    for k in range(3):
        tree.world.add(vt.tx(k), vt.rx(f"j{k}"), vt.body(f"b{k}", 1.0, inertia=(0.1,) * 3))
    tree.constrain(*[vt.gear(f"j{k}", f"j{(k + 1) % 3}", 1.0) for k in range(3)])
    model = tree.compile()
    a, multipliers = model.forward_dynamics(model.neutral(), np.zeros(3), tau=(0.0, 0.6, 0.0))
    np.testing.assert_allclose(a, 2.0, rtol=1e-12)
    np.testing.assert_allclose(multipliers, (0.2, -0.2, 0.0), rtol=0, atol=1e-12)
