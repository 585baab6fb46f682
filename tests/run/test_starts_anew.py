"""An integrator that starts anew has the bits of one that has not run before: nothing of its earlier runs remains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gathered_boxes import EDGE, boxes, gathering
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from walkers import walker

import vitree as vt

STEPS = 24


def loaded():
    flat, q, v = random_tree(3, kinds=("revolute", "prismatic", "helical", "ball"), base="free")
    return vt.Model(replace(flat, loads=conservative_loads(flat) + driving_loads(flat)[:2])), q, v


def constrained():
    return constrained_tree(1)


def standing(**options):
    model = walker(**options)
    return model, vt.place_on_ground(model, model.neutral()), 0.01 * np.ones(model.nv)


def on_spheres():
    return standing(shape="spheres")


def on_points():
    return standing(shape="points", legs=2)


def gathering_boxes():
    model, q = boxes(2, 1.02 * EDGE)
    return model, q, gathering(model, q)


def rubbing():
    tree = vt.Tree("arm")
    tree.limits, at = "enforce", tree.world
    for k in range(7):
        at = at.add(vt.rx(f"joint {k}", dry_friction=0.2, lower=-1.0, upper=1.0), vt.tz(-0.2),
                    vt.body(f"link {k}", 1.0, (0.01, 0.01, 0.002)))  # fmt: skip
    model = tree.compile()
    return model, np.full(7, 0.9), np.full(7, 3.0)


EACH = [("linear-time", {}), ("midpoint", {}), ("rk4", {})]
CASES = {
    loaded: [*EACH, ("linear-time", {"order": 4}), ("gauss", {})],
    constrained: [*EACH, ("linear-time", {"order": 4})],
    on_spheres: EACH,
    on_points: EACH,
    gathering_boxes: EACH,
    rubbing: [*EACH[:2], ("implicit-euler", {})],
}


def states(integrator, q, v):
    integrator.start(0.0, q, integrator.model.generalized_momentum(q, v) if integrator.uses_momentum else v)
    found = []
    for _ in range(STEPS):
        integrator.advance(1)
        found.append(np.concatenate(integrator.state()))
    return np.array(found)


@pytest.mark.parametrize("model, method, options", [
    pytest.param(model, *how, id=f"{model.__name__}-{how[0]}-{how[1]}") for model, several in CASES.items()
    for how in several])  # fmt: skip
def test_runs_do_not_depend_on_earlier_ones(model, method, options):
    model, q, v = model()
    made = lambda: vt.METHODS[method](model, 2e-3, **options)  # noqa: E731
    wanted, integrator = states(made(), q, v), made()
    # what remains of a run that is nearly the same is the most likely to be taken for that of this one
    for other in (v, v * (1 + 1e-9), 0.5 * v):
        states(integrator, q, other)
        np.testing.assert_array_equal(states(integrator, q, v), wanted)
