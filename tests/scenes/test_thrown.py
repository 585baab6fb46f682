"""Boxes and human figures thrown on the floor: every step is solved, hardly any in halves."""

from __future__ import annotations

import numpy as np
import pytest
from touching_models import human_figure, thrown_figure

import vitree as vt

METHODS = ("linear-time", "midpoint")
DT = 1e-3


def tumbling(seed: int):
    """A box of any size, mass and friction, with eight corners, at any pose and spin."""
    rng = np.random.default_rng(seed)
    size, mass = rng.uniform(0.1, 0.6, 3), float(rng.uniform(0.5, 5.0))
    a, b, c = size**2
    tree = vt.Tree("box")
    tree.world.add(vt.free("base"), vt.body("box", mass, tuple(mass / 12 * np.array((b + c, a + c, a + b)))))
    tree.contact(vt.Contact("box", shapes=vt.Box(tuple(size))), vt.Ground(friction=float(rng.uniform(0.2, 1.0))))
    model = tree.compile()
    q = model.integrate(model.neutral(), np.concatenate([np.zeros(3), rng.uniform(-3, 3, 3)]))
    q = vt.place_on_ground(model, q)
    q[2] += rng.uniform(0, 0.5)
    return model, q, np.concatenate([rng.standard_normal(3), 5 * rng.standard_normal(3)])


@pytest.fixture(scope="module")
def figure():
    return human_figure()


def require_sound(model, run):
    """No penetration, and no energy from contacts: what is kinetic and potential never grows beyond the band."""
    assert min(model.contact_gaps(q).gap.min() for q in run.q[::10]) > -1e-9
    assert (np.diff(run.energy) <= 1e-4 * np.ptp(run.energy)).all()


def test_boxes_tumble():
    halved = steps = 0
    for seed in range(48):
        model, q, v = tumbling(seed)
        run = vt.simulate(model, q, v, duration=1.5, dt=DT, record_every=5, method=METHODS[seed % 2])
        halved, steps = halved + run.settings.get("halved", 0), steps + run.steps
        require_sound(model, run)
        assert run.contacts is not None and len(run.contacts)
    assert 1000 * halved < steps


@pytest.mark.slow
@pytest.mark.parametrize(("method", "seed"), [("linear-time", 29), ("midpoint", 6)])
def test_figures_come_to_rest(figure, method, seed):
    vt.simulate(figure, *thrown_figure(figure, seed), duration=1.5, dt=DT, record_every=1500, method=method)


@pytest.mark.slow
def test_figures_are_thrown(figure):
    """Limbs that jam, across directions in which hips and shoulders let them move by nothing, are told of."""
    halved = steps = jammed = 0
    for seed in range(8):
        q, v = thrown_figure(figure, seed)
        run = vt.simulate(figure, q, v, duration=1.5, dt=DT, record_every=5, method=METHODS[seed % 2])
        halved, steps = halved + run.settings.get("halved", 0), steps + run.steps
        least = min(figure.contact_gaps(q).gap.min() for q in run.q[::10])
        told = "inexact_contacts" in run.settings
        jammed += told
        assert least > (-1e-4 if told else -1e-9)
        # at rest, the ground carries the figure
        assert np.abs(np.diff(run.q[-2:, :3], axis=0)).max() < 0.05
    assert 1000 * halved < steps and jammed <= 4
