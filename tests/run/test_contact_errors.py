"""What the error of a step says whose contacts are not solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt

SHAPES = [vt.Disk(0.2), vt.Cylinder(0.2, 0.03), vt.Box((0.2, 0.3, 0.1)), vt.Cylinder(0.1, 0.2), vt.Cone(0.1, 0.2),
          vt.Ellipsoid((0.1, 0.15, 0.05)), vt.Disk(0.15)]  # fmt: skip


def failure(seed):
    """The error of a heap that tumbles in steps that are too long for it; empty without one."""
    rng, tree = np.random.default_rng(seed), vt.Tree("heap")
    for k in range(4):
        tree.world.add(vt.fixed(f"start{k}", (0.05 * k, 0, 0.4 + 0.5 * k)), vt.free(f"joint{k}"),
                       vt.body(f"b{k}", 1.0, (0.005, 0.004, 0.003)))  # fmt: skip
        tree.contact(vt.Contact(f"b{k}", shapes=[SHAPES[rng.integers(len(SHAPES))]]))
    tree.contact(vt.Ground(friction=0.5))
    model = tree.compile()
    q, v = model.neutral(), rng.normal(size=model.nv) * np.tile([2.0] * 3 + [4.0] * 3, 4)
    for k, turn in enumerate(Rotation.random(4, random_state=seed).as_quat()):
        q[7 * k + 3 : 7 * k + 7] = turn
    try:
        vt.simulate(model, q, v, duration=0.9, dt=0.015, max_halvings=0)
    except vt.ConvergenceError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def told():
    return [failure(seed) for seed in range(100)]


def test_a_contact_is_named_and_what_happened_to_it(told):
    assert not [text for text in told if "stayed above the tolerance" in text]
    for words in ("is not solved (gap", "m where the step ends, and no contact of their features",
                  "turns so far within the step that its impulse"):  # fmt: skip
        found = [text for text in told if words in text]
        assert found, words
        for text in found:
            assert '"b' in text and "halve dt" in text and "stiffness=" in text
