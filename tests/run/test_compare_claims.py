"""compare(): claims on momentum, fitted orders and the reference's own error, each of which was once untested."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import chain_flat, random_flat, random_state

import vitree as vt

CHAIN, Q0 = vt.Model(chain_flat(3)), np.array([2.1, 0.4, -0.3])


def test_momentum_of_a_run_that_begins_later_is_from_its_own_start():
    rng = np.random.default_rng(11)
    flat = random_flat(rng, 5, base="free", kinds=("revolute", "prismatic"))
    model, (q, v) = vt.Model(flat), random_state(flat, rng)
    methods = {"at once": "linear-time", "later": ("linear-time", {"t0": 2.0})}
    found = vt.compare(model, methods, q, v, duration=0.3, dt=2e-3, reference=False)
    at_once, later = found.table
    assert found.trajectories["later", 2e-3].t[0] == 2.0
    scale = np.abs(found.trajectories["later", 2e-3].momentum).max()
    for key in ("momentum_error", "angular_momentum_error"):
        assert max(at_once[key], later[key]) < 1e-13 * scale


def test_orders_are_fitted_to_resolved_errors_only():
    steps = [0.04, 0.02, 0.005, 0.00125]
    found = vt.compare(CHAIN, ["rk4"], Q0, duration=4.0, dt=steps, reference_tolerance=1e-6,
                       reference="scipy-dop853")
    errors = np.array([row["error"] for row in found.table])
    resolved = errors > 3 * found.reference_error
    assert resolved.tolist() == [True, True, False, False]
    slope = np.polyfit(np.log(steps)[resolved], np.log(errors[resolved]), 1)[0]
    assert found.orders["rk4"] == pytest.approx(slope, rel=1e-12) and abs(slope - 4) < 0.2
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] < 3.5
    # one error has no order
    found = vt.compare(CHAIN, ["rk4"], Q0, duration=4.0, dt=steps[1:], reference_tolerance=1e-6,
                       reference="scipy-dop853")
    assert np.isnan(found.orders["rk4"])


@pytest.mark.parametrize(("duration", "steps", "larger"), [(4.0, (0.02, 0.025), 0), (3.0, (0.02, 0.03), 1)])
def test_the_references_error_is_the_largest_over_all_time_steps(duration, steps, larger):
    """Of two steps of which neither divides the other, each has a reference with other times."""

    def reference_error(dt):
        return vt.compare(CHAIN, ["rk4"], Q0, duration=duration, dt=dt, reference_tolerance=1e-5,
                          reference="scipy-dop853").reference_error

    alone = [reference_error(dt) for dt in steps]
    assert alone[larger] > 1.1 * alone[1 - larger]
    assert reference_error(steps) == max(alone)
