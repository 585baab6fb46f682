"""Memory of pairs of convex shapes: proportional to those that are near, and of no effect on steps."""

from __future__ import annotations

import numpy as np
import pytest
from gathered_boxes import EDGE, boxes, gathering

import vitree as vt


def made(model, q, v, tolerance=1e-9):
    integrator = vt.METHODS["linear-time"](model, 2e-3, tolerance=tolerance)
    integrator.start(0.0, q, v)
    return integrator


def states(integrator, steps):
    found = []
    for _ in range(steps):
        integrator.advance(1)
        found.append(np.concatenate(integrator.state()[:2]))
    return np.array(found)


def test_pairs_that_are_far_away_take_little_memory():
    sizes = []
    for count in (6, 12):
        model, q = boxes(count, 5.0, 3.0)
        integrator = made(model, q, model.zero_velocity())
        integrator.advance(2)
        # pairs of boxes, and the bodies with their points and the ground
        sizes.append((model.contact_list.pairs, count**2, integrator.stepper.size))
    pairs, bodies, size = np.diff(sizes, axis=0)[0]
    assert pairs > 9000
    alone, q = boxes(1, 5.0, 3.0)
    each = made(alone, q, alone.zero_velocity()).stepper.size
    assert size - each * bodies < 120 * pairs


def test_a_run_does_not_depend_on_how_much_memory_there_was():
    model, q = boxes(3, 1.02 * EDGE)
    v = gathering(model, q)
    integrator = made(model, q, v)
    sizes, before = [integrator.stepper.size], []
    for _ in range(16):
        before.append(states(integrator, 1))
        sizes.append(integrator.stepper.size)
    assert len(set(sizes)) > 2  # it grew within the run, more than once
    integrator.start(0.0, q, v)
    assert np.array_equal(states(integrator, 16), np.concatenate(before))


@pytest.mark.parametrize("spoils", [False, True])
def test_histories_hold_the_pairs_that_are_near(spoils):
    model, q = boxes(3, 1.02 * EDGE)
    v = gathering(model, q)
    integrator = made(model, q, v)
    alone = len(integrator.stepper.history())
    states(integrator, 12)
    history = integrator.stepper.history()
    assert len(history) > alone
    expected = states(integrator, 12)
    other = integrator if spoils else made(model, q, model.zero_velocity())
    other.stepper.set_history(history)
    if spoils:
        other.stepper.spoil()
    assert other.stepper.history() == history
    assert np.array_equal(states(other, 12), expected)


def test_histories_with_other_pairs_are_errors():
    model, q = boxes(3, 1.02 * EDGE)
    integrator = made(model, q, gathering(model, q))
    states(integrator, 8)
    stepper = integrator.stepper
    history = stepper.history()
    with pytest.raises(ValueError, match="bytes for pairs of convex shapes"):
        stepper.set_history(history[:-8])
    # the state is what it was
    assert stepper.history() == history
    expected = states(integrator, 4)
    stepper.set_history(history)
    assert np.array_equal(states(integrator, 4), expected)
