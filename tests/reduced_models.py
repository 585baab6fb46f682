"""Random trees some of whose joints follow others, in the coordinates of those that lead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_models import random_flat, random_state

import vitree as vt

SINGLE = ("revolute", "prismatic", "helical")
KINDS = (*SINGLE, "ball")


def coupled(seed, nbody=8, kinds=KINDS, base="free", constraints=(), shuffled=True, **more):
    """A reduced random tree, with couplings in chains and in any order, and (q, v, G, g) of it."""
    rng = np.random.default_rng(seed)
    while True:
        flat = random_flat(rng, nbody=nbody, kinds=kinds, base=base, **more)
        single = [joint.name for joint in flat.joints if joint.kind in SINGLE]
        if len(single) >= 5:
            break
    a, b, c, d, e = rng.permutation(single)[:5]
    # c follows b, which follows a; e follows d
    gears = [(b, a), (c, b), (e, d)]
    rows = [vt.gear(x, y, rng.uniform(-2, 2), rng.uniform(-0.5, 0.5)) for x, y in gears]
    if more.get("damping"):
        friction = np.zeros(len(flat.damping))
        for joint in flat.joints:
            friction[joint.v_slice] = 0.3 * rng.random() * (joint.kind in SINGLE)
        flat = replace(flat, friction=friction)
    if shuffled:
        rows = [rows[k] for k in rng.permutation(3)]
    full = vt.Model(replace(flat, constraints=(*rows, *constraints)))
    model = full.reduced()
    q, v = random_state(flat, rng, speed=0.7)
    q, v = model.contract(q), model.contract_velocity(v)
    g = model.expand(np.zeros(model.nq))
    G = np.array([model.expand_velocity(e) for e in np.eye(model.nv)]).T
    return model, q, v, G, g
