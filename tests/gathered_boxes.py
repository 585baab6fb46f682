"""Boxes on the ground that move towards each other."""

from __future__ import annotations

import numpy as np

import vitree as vt

EDGE = 0.2


def boxes(count, spacing, height=0.5 * EDGE):
    """A square grid of boxes over the ground, as many a side; and its configuration."""
    tree, q = vt.Tree("boxes"), []
    tree.contact(vt.Ground(friction=0.5))
    for k, (i, j) in enumerate(np.ndindex(count, count)):
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", 1.0, (0.0067,) * 3))
        tree.contact(vt.Contact(f"body {k}", shapes=vt.Box((EDGE,) * 3)))
        q += [spacing * i, spacing * j, height + 1e-3 * (k % 3), 0, 0, 0, 1]
    return tree.compile(), np.array(q)


def gathering(model, q, speed=1.0):
    """Velocities with which the boxes meet."""
    v = np.zeros(model.nv)
    x = q.reshape(-1, 7)[:, :2]
    for k in range(2):
        v[k::6] = -speed * (x[:, k] - x[:, k].mean())
    return v
