"""Configurations of a model: where they are drawn, and what counts as one."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError


def mixed() -> vt.Model:
    """A turning, a sliding and a screw joint without limits, two joints with them, and a ball joint."""
    tree = vt.Tree("mixed")
    at = tree.world
    for element in (vt.rx("turn"), vt.ty("slide"), vt.rz("bent", lower=0.2, upper=0.5),
                    vt.tx("drawer", lower=-0.1, upper=3.0), vt.screw("bolt", axis=(0, 0, 1), pitch=0.1),
                    vt.spherical("hip")):  # fmt: skip
        at = at.add(element, vt.body(f"link of {element.name}", mass=1.0, inertia=np.eye(3)))
    return tree.compile()


def test_random_configurations_fill_the_ranges_and_stay_within():
    model, rng = mixed(), np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(2000)])
    whole = -np.pi, np.pi
    ranges = {"turn": whole, "bolt": whole, "slide": (-1.0, 1.0), "bent": (0.2, 0.5), "drawer": (-0.1, 3.0)}
    for name, (low, high) in ranges.items():
        drawn = q[:, model.q_names.index(name)]
        edge = 0.01 * (high - low)
        assert low <= drawn.min() < low + edge and high - edge < drawn.max() <= high, name
    turns = q[:, model.joint("hip").q_slice]
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, rtol=1e-15)
    # uniform on SO(3): no quaternion is preferred
    assert np.abs(turns.T @ turns / len(turns) - np.eye(4) / 4).max() < 0.02


def test_quaternions_are_normalised_within_rounding_of_files():
    model, rng = mixed(), np.random.default_rng(1)
    place = model.joint("hip").q_slice
    for off in (1e-15, 1e-12, 1e-9, 9e-7):
        for sign in (1, -1):
            q = model.random_configuration(rng)
            exact = q[place].copy()
            q[place] *= 1 + sign * off
            given = q.copy()
            found = model.validate_configuration(q)
            assert abs(np.linalg.norm(found[place]) - 1) < 5e-16
            np.testing.assert_allclose(found[place], exact, rtol=1e-15)
            assert np.array_equal(q, given)  # the argument is left alone
    q[place] = exact * (1 + 2e-6)
    with pytest.raises(InputError, match="divide it by its length"):
        model.validate_configuration(q)
    # a rounded unit quaternion keeps its bits, so that a run can be resumed exactly
    for _ in range(200):
        q = model.validate_configuration(model.random_configuration(rng))
        assert np.array_equal(model.validate_configuration(q), q)
