"""The reference of a comparison: its method and its own error."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vitree as vt

reference_module = importlib.import_module("vitree.run.reference")


def test_the_error_of_the_reference_is_the_largest_over_the_time_steps(monkeypatch):
    errors = iter([(1e-9, 4e-9), (7e-9, 2e-9)])
    monkeypatch.setattr(reference_module, "distance", lambda _, a, b: np.resize(next(errors, 0.0), len(a)))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [0.5], duration=0.06, dt=[0.02, 0.03],
                       reference="scipy-dop853")  # neither divides the other
    assert found.reference_error == 7e-9
    assert "The reference itself is off by about 7.0e-09" in str(found)


def test_one_step_divides_another_if_it_is_a_whole_fraction():
    divides = reference_module._divides
    assert divides(1e-3, 3e-3) and divides(2e-3, 2e-3)
    assert not (divides(2e-3, 3e-3) or divides(3e-3, 1e-3) or divides(1.0, 1e-12))


def test_the_error_of_gauss_is_what_it_estimates_itself_if_shorter_steps_change_nothing(monkeypatch):
    monkeypatch.setattr(reference_module, "distance", lambda _, a, b: np.zeros(len(a)))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [2.0], duration=1.0, dt=0.5, reference="gauss", reference_tolerance=1e-6)
    estimates = found.reference.monitors["error"]  # relative to how far the pendulum goes
    way = np.abs(found.reference.q - 2.0).max()
    assert found.reference_error == pytest.approx(way * estimates.max(), rel=1e-12)
    assert estimates.max() > 2 * np.median(estimates) and found.reference_error > 10 * reference_module.ROUNDING


def test_the_error_of_gauss_is_the_largest_change_at_any_record(monkeypatch):
    monkeypatch.setattr(reference_module, "distance", lambda _, a, b: np.resize([0.0, 4e-9, 1e-9], len(a)))
    model = vt.load_urdf(vt.find_robot("pendulum"))
    assert vt.compare(model, ["rk4"], [0.1], duration=0.1, dt=0.01).reference_error == 4e-9


def test_gauss_takes_steps_half_as_long_if_that_changes_nothing():
    model = vt.load_urdf(vt.find_robot("pendulum"))
    found = vt.compare(model, ["rk4"], [0.1], duration=0.1, dt=0.05, reference_tolerance=1e-6)
    assert found.reference.settings["dt"] == 0.025
