"""Configurations at rest: forces balance, and the mechanism stays."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from places import PAPERS as FOLDER
from random_models import random_flat, random_state

import vitree as vt

sys.path.insert(0, str(FOLDER / "johnson_murphey_2009"))
import mechanisms


def sprung(seed, kinds):
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=5, kinds=kinds)
    springs = [vt.JointSpring(j.name, 40.0, 0.2) for j in flat.joints if j.v_slice.stop - j.v_slice.start == 1]
    held = [vt.Spring(name, "world", 30.0) for name in flat.link_names]
    return vt.Model(replace(flat, loads=(*springs, *held))), random_state(flat, rng)[0]


@pytest.mark.parametrize("kinds", [("revolute", "prismatic", "helical"), ("revolute", "ball")])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_put_at_rest_stays(seed, kinds):
    model, q = sprung(seed, kinds)
    rest = vt.minimize_potential_energy(model, q)
    assert model.potential_energy(rest) < model.potential_energy(q)
    # a minimum: every small displacement raises the energy
    for x in np.random.default_rng(seed).normal(size=(20, model.nv)):
        assert model.potential_energy(model.integrate(rest, 1e-3 * x)) > model.potential_energy(rest)
    run = vt.simulate(model, rest, duration=1.0, dt=0.01)
    assert max(np.abs(model.difference(rest, at)).max() for at in run.q) < 1e-6


def test_constraints_and_prescribed_coordinates_hold():
    model, q = mechanisms.marionette()
    rest = vt.minimize_potential_energy(model, q)
    strings = [model.joint(name).q_slice.start for name in model.prescribed_joint_names]
    assert np.array_equal(rest[strings], q[strings])
    assert np.abs(model.constraint_errors(rest)).max() < 1e-11
    run = vt.simulate(model, rest, duration=1.0, dt=0.01, method="midpoint")
    assert np.abs(run.q - rest).max() < 1e-5


def test_held_joints_stay():
    model, q = mechanisms.closed_chain()
    rest = vt.minimize_potential_energy(model, q, hold=["J"])
    assert rest[model.joint("J").q_slice] == q[model.joint("J").q_slice]
    with pytest.raises(vt.UnknownNameError, match="elbow"):
        vt.minimize_potential_energy(model, q, hold=["elbow"])


def test_what_falls_for_ever_has_no_rest():
    tree = vt.Tree("stone")
    tree.world.add(vt.free("stone"), vt.body("rock", 1.0, inertia=(1, 1, 1)))
    model = tree.compile()
    with pytest.raises(vt.ConvergenceError, match=r'stone\.v." still has a force of.*no minimum'):
        vt.minimize_potential_energy(model, model.neutral())
