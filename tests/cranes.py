"""An arm on a box that stands on the ground, for tests of control."""

from __future__ import annotations

import numpy as np

import vitree as vt


def crane(friction=0.6):
    """A box on the ground whose arm has two joints."""
    tree = vt.Tree("crane")
    box = tree.world.add(vt.free("base"), vt.body("box", 12.0, (0.15, 0.15, 0.2)))
    upper = box.add(vt.tz(0.1), vt.ry("shoulder"), vt.body("upper", 0.5, (0.004, 0.004, 0.001), com=(0, 0, 0.15)))
    upper.add(vt.tz(0.3), vt.rx("elbow"), vt.body("lower", 0.4, (0.003, 0.003, 0.001), com=(0, 0, 0.1)))
    tree.contact(vt.Ground(friction=friction), vt.Contact("box", shapes=vt.Box((0.4, 0.4, 0.2))))
    model = tree.compile()
    q = model.neutral()
    q[2], q[7:] = 0.1, (0.3, -0.4)
    return model, q


def raising(q, **more):
    goal = q.copy()
    goal[7:] = 0.6, 0.5
    Q = 0.02 * np.r_[np.zeros(6), 1, 1, np.zeros(6), 0.1, 0.1]
    return {"duration": 0.5, "dt": 0.02, "goal": goal, "Q": Q, "R": [2e-4, 2e-4], "Q_end": 50 * Q,
            "actuators": ["shoulder", "elbow"], **more}  # fmt: skip
