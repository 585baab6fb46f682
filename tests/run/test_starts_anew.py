"""An integrator that starts anew has the bits of one that has not run before: nothing of its earlier runs remains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from walkers import walker

import vitree as vt

STEPS = 24


def loaded():
    flat, q, v = random_tree(3, kinds=("revolute", "prismatic", "helical", "ball"), base="free")
    return vt.Model(replace(flat, loads=conservative_loads(flat) + driving_loads(flat)[:2])), q, v


def standing(**options):
    model = walker(**options)
    return model, vt.place_on_ground(model, model.neutral()), 0.01 * np.ones(model.nv)


def gathering_boxes():
    tree, q = vt.Tree("boxes"), []
    tree.contact(vt.Ground(friction=0.5))
    for k, (i, j) in enumerate(np.ndindex(2, 2)):
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", 1.0, (0.0067,) * 3))
        tree.contact(vt.Contact(f"body {k}", shapes=vt.Box((0.2,) * 3)))
        q += [0.204 * i, 0.204 * j, 0.1 + 1e-3 * k, 0, 0, 0, 1]
    v = np.zeros(24)
    v[::6], v[1::6] = (1, 1, -1, -1), (1, -1, 1, -1)
    return tree.compile(), np.array(q), v


def rubbing():
    tree = vt.Tree("arm")
    tree.limits, at = "enforce", tree.world
    for k in range(4):
        at = at.add(vt.rx(f"joint {k}", friction=0.2, lower=-1.0, upper=1.0), vt.tz(-0.2),
                    vt.body(f"link {k}", 1.0, (0.01, 0.01, 0.002)))  # fmt: skip
    model = tree.compile()
    return model, np.full(4, 0.9), np.full(4, 3.0)


MODELS = {
    "loads": loaded,
    "constraints": lambda: constrained_tree(1),
    "spheres": lambda: standing(shape="spheres"),
    "points": lambda: standing(shape="points", legs=2),
    "boxes": gathering_boxes,
    "dry friction and limits": rubbing,
}


def states(integrator, q, v):
    integrator.start(0.0, q, integrator.model.generalized_momentum(q, v) if integrator.uses_momentum else v)
    found = []
    for _ in range(STEPS):
        integrator.advance(1)
        found.append(np.concatenate(integrator.state()))
    return np.array(found)


CASES = [(model, method, options) for model in MODELS for method, options in (
    ("linear-time", {}), ("linear-time", {"order": 4}), ("midpoint", {}), ("gauss", {}), ("rk4", {}))
    if not (options or method == "gauss") or model == "loads" or (options and model == "constraints")]  # fmt: skip


@pytest.mark.parametrize("model, method, options", CASES)
def test_runs_do_not_depend_on_earlier_ones(model, method, options):
    model, q, v = MODELS[model]()
    made = lambda: vt.METHODS[method](model, 2e-3, **options)  # noqa: E731
    wanted, integrator = states(made(), q, v), made()
    # what remains of a run that is nearly the same is the most likely to be taken for that of this one
    for other in (v, v * (1 + 1e-9), 0.5 * v):
        states(integrator, q, other)
        np.testing.assert_array_equal(states(integrator, q, v), wanted)
