"""Orders of convergence: those of pairs above the floor, and the reason where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vitree.results.orders import EARLY, FEW, FLOOR, SCATTERED, SURE, order_of, order_of_scattered, pair_orders

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


def test_large_errors_whose_slopes_agree_by_chance_are_no_order():
    """Implicit Euler on a four-bar linkage, off by more than a radian: slopes of 0.62 and 0.65; the same, smaller."""
    errors = np.array([1.52, 0.987, 0.627])
    found = order_of(STEPS[:3], errors, [False] * 3, 1)
    assert math.isnan(found.value) and found.status == EARLY
    assert order_of(STEPS[:3], 0.05 * errors, [False] * 3, 1).value == pytest.approx(0.64, abs=0.01)
    # of the method's own order they count
    assert order_of(STEPS[:3], 30.0 * STEPS[:3], [False] * 3, 1).value == pytest.approx(1.0)


def test_equal_slopes_of_errors_that_grow_are_no_order():
    assert order_of(STEPS, 1e-6 / STEPS, [False] * 6, 1).status == EARLY


def test_errors_at_the_floor_have_none():
    assert order_of(STEPS[:2], [2e-13, 3e-13], [True, True], 8).status == FLOOR
    assert order_of(STEPS[:2], [2e-8, 3e-13], [False, True], 8).status == FLOOR
    assert order_of(STEPS[:1], [2e-8], [False], 8).status == EARLY


# ---- errors that scatter -----------------------------------------------------------------------------------


def scattered(order, n=16, seed=0, dts=STEPS):
    """Errors of an impact that falls anywhere in a step of a length about each of dts."""
    rng = np.random.default_rng(seed)
    return [0.7 * (dt * rng.uniform(0.77, 1.0, n)) ** order * rng.uniform(0.0, 1.0, n) for dt in dts]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_errors_that_scatter_have_their_order_within_three_standard_errors(order, seed):
    found = order_of_scattered(STEPS, scattered(order, seed=seed), 0.0)
    assert found.status == "" and 0 < found.error < SURE
    assert abs(found.value - order) < 3 * found.error + 0.02


def test_a_few_that_scatter_far_have_no_order():
    rng = np.random.default_rng(0)
    errors = [dt * 10.0 ** rng.uniform(-6, 0, 16) for dt in STEPS[:3]]
    assert order_of_scattered(STEPS[:3], errors, 0.0).status == SCATTERED


def test_why_errors_that_scatter_have_no_order():
    errors = scattered(2)
    assert order_of_scattered(STEPS, errors, 1.0).status == FLOOR
    assert order_of_scattered(STEPS[:2], errors[:2], 0.0).status == FEW
    assert order_of_scattered(STEPS[:1], errors[:1], 0.0).status == EARLY
    assert order_of_scattered(STEPS, errors[::-1], 0.0).status == EARLY  # they grow
    bent = [np.full(16, error) for error in (1.0, 0.9, 0.6)]
    assert order_of_scattered(STEPS[:3], bent, 0.0).status == EARLY
    low = scattered(2)
    low[:2] = [np.full(16, 1.0)] * 2  # long steps that do not resolve the motion are left out
    assert order_of_scattered(STEPS, low, 0.0).value == pytest.approx(2, abs=0.3)
