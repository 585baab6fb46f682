"""A double pendulum, also as the crank of a rocker, that turns so fast that steps of 0.05 s are not solved whole."""

from __future__ import annotations

import numpy as np

import vitree as vt


def spun(damping=0.0, loop=False):
    """The model, and how it begins."""
    tree = vt.Tree("spun")
    at = tree.world
    for k in range(2):
        at = at.add(vt.ry(f"hinge{k}", damping=damping), vt.tz(-0.5), vt.body(f"link{k}", 1.0, (0.02, 0.02, 0.001)),
                    vt.tz(-0.5))  # fmt: skip
    if loop:  # a rocker, which the first link turns as a crank
        tree.world.add(vt.tx(1.5), vt.ry("beside"), vt.tz(1.2), vt.body("rocker", 1.0, (0.02, 0.02, 0.02)))
        tree.constrain(vt.Distance("link0", "rocker", length=1.4))
    model = tree.compile()
    q, v = np.full(model.nv, 1.0), np.array([12.0, -24.0, 0.0][: model.nv])
    if loop:
        q[2] = 0.0
        q = vt.satisfy_constraints(model, q)
        v = model.project_velocity(q, v)
    return model, q, v
