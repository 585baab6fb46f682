"""Models for tests of bridges: every joint kind, with drives, loads and inputs; their starts, and differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from loaded_models import singles
from random_models import random_flat, random_state, with_rotors
from step_differences import slope

import vitree as vt
from vitree.mechanism.flat import KINDS

EACH = [(kind,) for kind in KINDS]
METHODS = ["linear-time", "midpoint"]


def bridged_model(kinds=KINDS, seed=7, nbody=3):
    """A random tree with damping, friction, rotors, a drive and a wrench whose numbers are inputs."""
    flat = with_rotors(random_flat(np.random.default_rng(seed), nbody=nbody, kinds=kinds, damping=True), seed)
    drives = [vt.Drive(name, 5.0, 0.4, target=f"{name} goal") for name in singles(flat)[:1]]
    push = vt.Wrench(f"link{nbody - 1}", (0.1, "turn", 0.0), ("push", 0.3, 0.0), axes="local")
    return vt.Model(replace(flat, loads=(*drives, push)))


def ball_on_the_ground():
    """A ball of radius 0.1 m on the ground, with friction."""
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(friction=0.2), vt.Contact("ball", shapes=vt.Sphere(0.1)))
    return tree.compile()


def bridged_start(model, count, steps, seed=0):
    """Arrays q (count, nq), with quaternions of many lengths, p (count, nv), torque and inputs (count, steps, ...)."""
    rng = np.random.default_rng(seed)
    q, p = [], []
    for _ in range(count):
        a, v = random_state(model.flat, rng, 0.5)
        p.append(model.generalized_momentum(a, v))
        for joint in model.joints:
            if joint.q_slice.stop - joint.q_slice.start > 1:
                a[joint.q_slice.stop - 4 : joint.q_slice.stop] *= rng.uniform(0.5, 2.0)
        q.append(a)
    torque = rng.normal(size=(count, steps, model.nv))
    return np.array(q), np.array(p), torque, rng.normal(size=(count, steps, len(model.input_names)))


def unit(model, q):
    """q (..., nq) with quaternions of length one."""
    found = np.array(q)
    for joint in model.joints:
        if joint.q_slice.stop - joint.q_slice.start > 1:
            at = slice(joint.q_slice.stop - 4, joint.q_slice.stop)
            found[..., at] /= np.linalg.norm(found[..., at], axis=-1, keepdims=True)
    return found


def differences(function, x, size=1e-3):
    """Central differences of order 6 of a function (n,) -> (m,), (m, n)."""
    return np.array([slope(lambda to, e=e: function(x + to * e), size) for e in np.eye(len(x))]).T
