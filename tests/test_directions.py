"""Newton directions of both discretisations against dense matrices of differences, on every joint kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import (
    PLACES,
    SINGLE,
    STENCIL,
    conservative_loads,
    constrained_tree,
    driving_loads,
    random_tree,
)
from test_written import ExactDamper, ExactSpring, OwnDistance

import vitree as vt

ALL = (*SINGLE, "ball", "free")
H = 0.02
INPUTS = {"push": 0.7, "turn": -0.5, "drive": 1.1}


def stepper_of(model, alpha, **more):
    """Of the midpoint rule, or of linear-time without alpha."""
    inputs = {name: x for name, x in INPUTS.items() if name in model.input_names}
    method, options = ("linear-time", {}) if alpha is None else ("midpoint", {"alpha": alpha})
    return vt.METHODS[method](model, H, inputs=inputs, **options, **more).stepper


def slopes(f, n, step=2e-3):
    """Derivatives (m, n) of f(e) at e = 0, to sixth order."""
    return np.array([np.tensordot(STENCIL, [f(k * e) for k in PLACES], 1) / step for e in step * np.eye(n)]).T


def check_direction(model, q, v, alpha, seed=0, solver="recursive-newton"):
    """The correction of increments and multipliers is that of the dense matrix of differences."""
    rng = np.random.default_rng(seed)
    step, y = stepper_of(model, alpha, solver=solver), H * (v + 3 * rng.normal(size=model.nv))
    p, lam = model.momentum_from_velocity(q, v), rng.normal(size=len(model.constraints))
    r, h, d, dlam = step.probe(0.0, q, p, y, lam)
    n, m = model.nv, len(h)
    K = np.zeros((n + m, n + m))
    K[:, :n] = slopes(lambda e: np.concatenate(step.probe(0.0, q, p, y + e, lam)[:2]), n)
    K[:n, n:] = model.constraint_rows(q[None])[1][0].T
    # rows in units of their own
    size = np.abs(K).max(axis=1)
    exact = np.linalg.solve(K / size[:, None], -np.concatenate((r, h)) / size)
    found = np.concatenate((d, dlam))
    for part in (slice(n), slice(n, n + m)):
        assert np.abs(found[part] - exact[part]).max(initial=0) <= 1e-9 * np.abs(exact[part]).max(initial=0)


# ---- Newton directions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7, None])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(3))
def test_newton_directions_under_all_loads_at_once(seed, base, alpha):
    flat, q, v = random_tree(seed, nbody=7, kinds=ALL, base=base, damping=True)
    loads = [*conservative_loads(flat), *driving_loads(flat), ExactSpring(30.0, 0.4), ExactDamper(5.0)]
    check_direction(vt.Model(replace(flat, loads=tuple(loads))), q, v, alpha)


HARD = {
    "spring": vt.Spring("link0", "link4", 3e3, 0.4),
    "spring without length": vt.Spring("frame1", "world", 3e3),
    "damper": vt.Damper("link0", "link4", 500.0),
    "damper to the world": vt.Damper("world", "frame1", 500.0),
    "attraction": vt.Attraction("frame1", "link1", 30.0, 30.0, constant=0.3),
    "world": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="world"),
    "local": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="local"),
    "spatial": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="spatial"),
    "gravity": vt.Gravity(("link5", "link2"), (30.0, 40.0, -50.0)),
    "own potential": ExactSpring(3e3, 0.4),
    "own force": ExactDamper(500.0),
}


@pytest.mark.parametrize("load", HARD.values(), ids=HARD)
@pytest.mark.parametrize("seed", range(4, 7))
def test_newton_directions_under_each_load(seed, load):
    flat, q, v = random_tree(seed, kinds=ALL, base="free" if seed % 2 else "fixed")
    check_direction(vt.Model(replace(flat, loads=(load,))), q, v, 0.4)


@pytest.mark.parametrize("alpha", [0.3, 0.5, None])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("solver", ["recursive-newton", "newton"])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_newton_directions_with_constraints(seed, base, alpha, solver):
    """Of trees whose constraints are not nearly dependent, which would amplify the differences' error."""
    model, q, v = constrained_tree(seed, nbody=9, kinds=ALL, base=base)
    flat = replace(model.flat, loads=(*conservative_loads(model.flat), *driving_loads(model.flat)),
                   constraints=(*model.constraints, OwnDistance(1.0)))  # fmt: skip
    check_direction(vt.Model(flat), q, v, alpha, solver=solver)


def test_corrections_square_the_residual():
    """Exact directions need few: of a fast tree of every kind, from the predicted motion."""
    for seed in range(6):
        flat, q, v = random_tree(seed, nbody=8, kinds=ALL, base="free", speed=2.0, damping=True)
        run = vt.simulate(vt.Model(flat), q, v, duration=0.1, dt=0.01, method="midpoint", solver="recursive-newton",
                          guess="aba", tolerance=1e-12)  # fmt: skip
        assert run.iterations_max <= 5

