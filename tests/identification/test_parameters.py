"""Sizes, units and bounds of the numbers that are fitted."""

from __future__ import annotations

import numpy as np
import pytest
from identified_runs import PLANT

import vitree as vt
from vitree.identification.parameters import Parameters

ASKED = {kind: [*PLANT.joint_names] for kind in ("armature", "damping", "friction", "gains")}
ASKED |= {kind: ["rod1"] for kind in ("mass", "com", "inertia")} | {"gravity": ["z"]}


def parameters(time=1.0):
    model = PLANT.with_drives({"*": (3.0, 1.0)})
    return model, Parameters(model, ASKED, None, time)


def test_sizes_of_what_is_small_have_the_units_of_the_numbers():
    """Inertia over a power of time; the diagonal of the mass matrix is the inertia."""
    model, slow = parameters(1e-3)
    _, quick = parameters(0.5e-3)
    powers = {"armature": 0, "damping": 1, "kd": 1, "kp": 2, "friction": 2}
    inertia = dict(zip(model.joint_names, np.diag(model.crba(model.neutral())), strict=True))
    for one, other in zip(slow.each, quick.each, strict=True):
        kind, joint, *entry = one.label.replace(".", " ").split()
        power = powers.get(entry[0] if kind == "gains" else kind)
        if power is None:
            assert one.scale == other.scale > 0
            continue
        # the sizes are larger than the numbers themselves
        assert one.scale == pytest.approx(inertia[joint] / 1e-3**power), one.label
        assert other.scale / one.scale == pytest.approx(2.0**power), one.label


def test_lower_bounds_are_zero_where_numbers_cannot_be_negative():
    for one in parameters()[1].each:
        free = one.kind in ("com", "gravity") or one.label.endswith((".xy", ".xz", ".yz"))
        assert one.lower == (-np.inf if free else 0.0), one.label
        assert one.upper == np.inf and one.lower <= one.start


def test_models_with_numbers_have_them():
    _, found = parameters()
    values = found.start + 1e-3 * np.arange(1, len(found) + 1)
    made = Parameters(found.model_with(values), ASKED, None, 1.0)
    np.testing.assert_allclose(made.start, values, rtol=1e-12)


def test_joints_of_several_coordinates_stand_for_all_of_them():
    tree = vt.Tree("ball")
    tree.world.add(vt.ball("shoulder"), vt.body("arm", 1.0, (0.1, 0.2, 0.3)))
    model = tree.compile()
    every = Parameters(model, {"damping": "shoulder"}, None, 1.0)
    assert every.labels == tuple(f"damping {name}" for name in model.v_names) and len(every) == 3
    assert [one.index for one in every.each] == [(0,), (1,), (2,)]
    (one,) = Parameters(model, {"damping": model.v_names[1]}, None, 1.0).each
    assert one == every.each[1]
    with pytest.raises(vt.UnknownNameError, match='no joint "elbow"'):
        Parameters(model, {"damping": "elbow"}, None, 1.0)
    with pytest.raises(vt.UnknownNameError, match='no joint "3"'):
        Parameters(model, {"damping": [3]}, None, 1.0)
