"""Orders of convergence: those of pairs above the floor, and the reason where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vitree.results.orders import EARLY, FEW, FLOOR, order_of, pair_orders

STEPS = 0.04 / 2.0 ** np.arange(6)


def test_pairs_have_the_slope_between_neighbours():
    assert pair_orders(STEPS, 3.0 * STEPS**4) == pytest.approx(4.0)
    assert pair_orders(np.array([3e-3, 2e-3]), np.array([9.0, 4.0])) == pytest.approx([2.0])


@pytest.mark.parametrize("order", [1, 2, 4, 8])
@pytest.mark.parametrize("claimed", [True, False])
def test_errors_of_an_order_have_it_in_any_sequence(order, claimed):
    errors = 0.7 * STEPS**order
    for by in (np.arange(6), np.arange(6)[::-1], [3, 0, 5, 1, 4, 2]):
        found = order_of(STEPS[by], errors[by], np.zeros(6, bool), order if claimed else None)
        assert found.value == pytest.approx(order, rel=1e-9) and found.status == ""


def test_the_shortest_steps_above_the_floor_count():
    errors = STEPS**4 * (1 + 300 * STEPS)  # the slope of the long steps is larger
    found = order_of(STEPS, errors, [False] * 6, 4)
    assert abs(found.value - 4) < 0.5 < np.polyfit(np.log(STEPS), np.log(errors), 1)[0] - 4
    errors = np.maximum(STEPS**8, 1e-15)
    low = errors <= 1e-15
    assert low.any() and order_of(STEPS, errors, low, 8).value == pytest.approx(8, rel=1e-9)


def test_one_pair_needs_the_order_of_the_method():
    two = STEPS[:2], 5.0 * STEPS[:2] ** 2.1, [False, False]
    assert order_of(*two, 2).value == pytest.approx(2.1)
    assert math.isnan(order_of(*two, None).value) and order_of(*two, None).status == FEW
    assert order_of(*two, 3).status == EARLY


@pytest.mark.parametrize("errors", [
    [8.25e-4, 6.72e-4, 4.39e-4],  # a stiff damper: slopes of 0.3 and 0.6
    [4.8e-5, 9.16e-5, 1.61e-4],  # that grow
    [1e60, 1e92, 1e92],
])  # fmt: skip
def test_slopes_that_do_not_agree_are_no_order(errors):
    assert order_of(STEPS[:3], errors, [False] * 3, 2)[1] == EARLY
    assert math.isnan(order_of(STEPS[:3], errors, [False] * 3, None).value)


def test_equal_slopes_of_errors_that_grow_are_no_order():
    assert order_of(STEPS, 1e-6 / STEPS, [False] * 6, 1).status == EARLY


def test_errors_at_the_floor_have_none():
    assert order_of(STEPS[:2], [2e-13, 3e-13], [True, True], 8).status == FLOOR
    assert order_of(STEPS[:2], [2e-8, 3e-13], [False, True], 8).status == FLOOR
    assert order_of(STEPS[:1], [2e-8], [False], 8).status == EARLY
