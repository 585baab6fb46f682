"""Newton directions of both discretisations against dense matrices of differences, on every joint kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from directions import ALL, check_direction
from loaded_models import (
    conservative_loads,
    constrained_tree,
    driving_loads,
    random_tree,
)
from own_parts import ExactDamper, ExactSpring, OwnDistance

import vitree as vt

# ---- Newton directions ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7, None, "implicit-euler"])
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


@pytest.mark.parametrize("alpha", [0.4, None, "implicit-euler"], ids=["midpoint", "linear-time", "implicit-euler"])
@pytest.mark.parametrize("load", HARD.values(), ids=HARD)
@pytest.mark.parametrize("seed", range(4, 7))
def test_newton_directions_under_each_load(seed, load, alpha):
    flat, q, v = random_tree(seed, kinds=ALL, base="free" if seed % 2 else "fixed")
    check_direction(vt.Model(replace(flat, loads=(load,))), q, v, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 0.5, None, "implicit-euler"])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_newton_directions_with_constraints(seed, base, alpha):
    """Of trees whose constraints are not nearly dependent, which would amplify the differences' error.

    Both solvers take each tree, each base and each alpha.
    """
    number = [0.3, 0.5, None, "implicit-euler"].index(alpha)
    solver = ("recursive-newton", "newton")[(seed + (base == "free") + number) % 2]
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

