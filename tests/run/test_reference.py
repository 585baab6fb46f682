"""The reference of a comparison: its own error, and the orders that are fitted above it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vitree as vt

compare_module = importlib.import_module("vitree.run.compare")
reference_module = importlib.import_module("vitree.run.reference")


def test_the_error_of_the_reference_is_the_largest_over_the_time_steps(monkeypatch):
    errors = iter([np.array([1e-9, 4e-9]), np.array([7e-9, 2e-9])])
    monkeypatch.setattr(reference_module, "distance", lambda *_: next(errors))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [0.5], duration=0.06, dt=[0.02, 0.03],
                       reference="scipy-dop853")  # neither divides the other
    assert found.reference_error == 7e-9
    assert "The reference itself is off by about 7.0e-09" in str(found)


def test_orders_are_fitted_only_through_errors_well_above_the_resolution():
    rows = [{"label": "a", "dt": dt, "error": error, "order": np.nan}
            for dt, error in ((4e-3, 16e-6), (2e-3, 4e-6), (1e-3, 1e-6), (5e-4, 0.9e-6))]  # fmt: skip
    compare_module._fit_orders(rows, 0.32e-6)
    assert [row["order"] for row in rows] == pytest.approx([2.0] * 4)
    rows = [row | {"order": np.nan} for row in rows]
    compare_module._fit_orders(rows, 6e-6)
    assert np.isnan([row["order"] for row in rows]).all()


def test_one_step_divides_another_if_it_is_a_whole_fraction():
    divides = reference_module._divides
    assert divides(1e-3, 3e-3) and divides(2e-3, 2e-3)
    assert not (divides(2e-3, 3e-3) or divides(3e-3, 1e-3) or divides(1.0, 1e-12))


def test_the_error_of_gauss_is_what_it_estimates_itself_if_shorter_steps_change_nothing(monkeypatch):
    monkeypatch.setattr(reference_module, "distance", lambda *_: np.zeros(1))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [2.0], duration=1.0, dt=0.5, reference="gauss", reference_tolerance=1e-6)
    estimates = found.reference.monitors["error"]  # relative to how far the pendulum goes
    way = np.abs(found.reference.q - 2.0).max()
    assert found.reference_error == pytest.approx(way * estimates.max(), rel=1e-12)
    assert estimates.max() > 2 * np.median(estimates) and found.reference_error > 10 * reference_module.ROUNDING


def test_the_error_of_gauss_is_the_largest_change_at_any_record(monkeypatch):
    monkeypatch.setattr(reference_module, "distance", lambda *_: np.array([0.0, 4e-9, 1e-9]))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    assert vt.compare(model, ["rk4"], [0.1], duration=0.1, dt=0.01).reference_error == 4e-9


def test_gauss_takes_steps_half_as_long_if_that_changes_nothing():
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [0.1], duration=0.1, dt=0.05, reference_tolerance=1e-6)
    assert found.reference.settings["dt"] == 0.025
