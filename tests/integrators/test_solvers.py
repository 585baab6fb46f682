"""Solvers and guesses: whichever are chosen, the same step; as many corrections as they claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from random_models import chain_flat

import vitree as vt
from vitree.integrators.variational import GUESSES, SOLVERS
from vitree.mechanism.flat import KINDS

ALL_KINDS = KINDS
CHOICES = [
    (method, {"solver": solver, "guess": guess})
    for method in ("linear-time", "midpoint") for solver in SOLVERS for guess in GUESSES
]  # fmt: skip


def loaded(seed, constrained):
    if constrained:
        model, q, v = constrained_tree(2, nbody=8, speed=0.5, kinds=ALL_KINDS)
        loads = conservative_loads(model.flat)[:7]
        return vt.Model(replace(model.flat, loads=loads)), q, v, {}
    flat, q, v = random_tree(seed, kinds=ALL_KINDS, damping=True)
    flat = replace(flat, loads=(*conservative_loads(flat)[:7], *driving_loads(flat)))
    return vt.Model(flat), q, v, {"control": vt.Control(inputs={"push": 0.4, "drive": 0.3})}


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize(("method", "chosen"), CHOICES, ids=lambda x: x if isinstance(x, str) else "-".join(x.values()))
def test_every_solver_from_every_guess_reaches_the_same_step(method, chosen, constrained):
    model, q, v, more = loaded(7, constrained)
    options = {"duration": 0.016, "dt": 0.002, "method": method, "tolerance": 1e-12, "max_iterations": 60, **more}
    expected = vt.simulate(model, q, v, solver="recursive-newton", guess="aba", **options)
    run = vt.simulate(model, q, v, **chosen, **options)
    assert max(np.abs(model.difference(a, b)).max() for a, b in zip(expected.q, run.q, strict=True)) < 1e-10
    assert np.abs(run.p - expected.p).max() < 1e-9 * np.abs(expected.p).max()
    if constrained:
        assert np.abs(run.constraint).max() < 1e-11
        one, two = run.multipliers[1:], expected.multipliers[1:]
        assert np.abs(one - two).max() < 1e-7 * np.abs(two).max()


def corrections(model, q, v, method="linear-time", dt=0.01, **more):
    return vt.simulate(model, q, v, duration=10 * dt, dt=dt, method=method, guess="aba", tolerance=1e-12,
                       max_iterations=60, **more).iterations[1:]  # fmt: skip


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_both_exact_directions_take_as_many_corrections(kind, method):
    """The dense matrix and the recursion are one Newton method, on every joint kind."""
    for seed in range(3):
        flat, q, v = random_tree(seed + 3, kinds=(kind, "revolute"), nbody=6, speed=0.5, damping=True)
        model = vt.Model(flat)
        dense, recursive = (corrections(model, q, v, method, solver=name) for name in ("newton", "recursive-newton"))
        assert np.abs(dense - recursive).max() <= 1 and abs(dense.sum() - recursive.sum()) <= 2
        # quadratic: a handful from the dynamics' own prediction
        assert dense.max() <= 6


def test_the_dense_matrix_of_the_tree_is_as_exact():
    flat, q, v = random_tree(3, nbody=6, speed=0.5, damping=True)
    flat = replace(flat, loads=conservative_loads(flat)[:7])
    dense = corrections(vt.Model(flat), q, v, "midpoint", solver="newton", residual="tree")
    recursive = corrections(vt.Model(flat), q, v, "midpoint", solver="recursive-newton")
    assert np.abs(dense - recursive).max() <= 1


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_updates_lie_between_one_factorisation_and_one_at_each_pass(method, constrained):
    """Corrections: newton <= broyden <= frozen, over steps long enough to tell."""
    if constrained:
        model, q, v = constrained_tree(2, nbody=8, speed=2.0)
    else:
        model, q, v = vt.Model(chain_flat(8)), np.linspace(0.3, 1.5, 8), np.linspace(-4, 4, 8)
    newton, broyden, frozen = (
        corrections(model, q, v, method, 0.01 if constrained else 0.02, solver=name).sum()
        for name in ("recursive-newton", "broyden", "modified-newton"))  # fmt: skip
    assert newton <= broyden <= frozen and (constrained or newton < broyden < frozen)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_extrapolations_have_their_order(method, order):
    """Increments are missed by h^(m + 1), which leaves h^m of a residual, seen where one correction follows."""
    model = vt.Model(chain_flat(3))
    q, v = np.array([0.4, 0.2, 0.3]), np.array([0.5, -0.3, 0.8])
    steps, left = np.array([0.01, 0.005, 0.0025]), []
    for h in steps:
        run = vt.simulate(model, q, v, duration=0.2, dt=h, method=method, solver="recursive-newton",
                          tolerance={2: 1e-8, 3: 1e-10, 4: 1e-11}[order], guess=f"extrapolate-{order}",
                          monitors=("residual", "iterations", "contraction"))  # fmt: skip
        watched = {name: values[order + 1 :] for name, values in run.monitors.items()}
        once = (watched["iterations"] == 1) & (watched["residual"] > 0.0)
        assert once.sum() >= 5
        left.append(np.median(watched["residual"][once] / watched["contraction"][once]))
    assert abs(np.polyfit(np.log(steps), np.log(left), 1)[0] - order) < 0.35, left
