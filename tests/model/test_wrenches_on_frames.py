"""Wrenches on frames and momenta of bodies against Jacobians and the whole."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import random_flat, random_state

import vitree as vt
from vitree.model.forces import generalized, wrenches_of
from vitree.model.kinematics import subtree_momentum


@pytest.mark.parametrize("seed", range(4))
def test_wrenches_on_frames_are_forces_by_their_jacobians(seed):
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=5, base="free")
    model, (q, _) = vt.Model(flat), random_state(flat, rng)
    pushes = [(name, rng.normal(size=6)) for name in model.frame_names]
    found = generalized(model, q, wrenches_of(model, q, None, pushes), None)
    wanted = sum(model.frame_jacobian(name, q).T @ wrench for name, wrench in pushes)
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", range(4))
def test_the_momentum_of_all_bodies_is_that_of_the_parts_together(seed):
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=6, base="free")
    model, (q, v) = vt.Model(flat), random_state(flat, rng)
    every, one = np.ones(model.nbody, dtype=bool), rng.random(model.nbody) < 0.5
    whole, first_moment = subtree_momentum(model, q, v, every)
    row = model._energies(q[None], v[None])[0]
    np.testing.assert_allclose(whole, row[2:8], atol=1e-12 * np.abs(whole).max())
    np.testing.assert_allclose(first_moment, model.total_mass * row[8:], atol=1e-12)
    parts = [subtree_momentum(model, q, v, some) for some in (one, ~one)]
    for found, wanted in zip(map(sum, zip(*parts, strict=True)), (whole, first_moment), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12 * max(1.0, np.abs(wanted).max()))
