"""The real double pendulum: what the example reads, and what its parameters predict."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from places import EXAMPLES

FOLDER = EXAMPLES / "reality"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("double_pendulum", FOLDER / "double_pendulum.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runs(script):
    with np.load(FOLDER / "double_pendulum.npz") as file:
        return [script.recorded(script.laboratory(), file[f"run{k}"]) for k in range(8)]


def test_the_model_is_the_laboratory_s(script):
    """Inertias about the joints, distances and lengths as published, by the equations of a double pendulum."""
    lab, q = script.laboratory(), np.array([0.3, 0.7])
    (m1, m2), (r1, r2), (I1, I2) = script.LAB["mass"], script.LAB["com"], script.LAB["inertia"]
    length, rotor = script.LAB["length"], script.LAB["armature"]
    off = I2 + m2 * length * r2 * np.cos(q[1])
    M = [[I1 + I2 + m2 * length**2 + 2 * m2 * length * r2 * np.cos(q[1]) + rotor, off], [off, I2 + rotor]]
    np.testing.assert_allclose(lab.crba(q), M, rtol=1e-12)
    far = m2 * 9.81 * r2 * np.sin(q.sum())
    np.testing.assert_allclose(lab.rnea(q, np.zeros(2), np.zeros(2)),
                               [(m1 * r1 + m2 * length) * 9.81 * np.sin(q[0]) + far, far], rtol=1e-12)  # fmt: skip


def test_records_are_even_and_those_of_the_file(script, runs):
    with np.load(FOLDER / "double_pendulum.npz") as file:
        rows = file["run6"]
    t = rows[:, 0] - rows[0, 0]
    assert np.ptp(np.diff(runs[6].t)) < 1e-12
    for column, found in ((1, runs[6].q[:, 0]), (4, runs[6].v[:, 1])):
        np.testing.assert_allclose(found, np.interp(runs[6].t, t, rows[:, column]), atol=1e-5)
    impulse = (0.5 * (rows[1:, 5] + rows[:-1, 5]) * np.diff(t)).sum()
    assert runs[6].torque[:, 0].sum() * script.DT == pytest.approx(impulse, abs=2e-3)


def test_the_laboratory_s_parameters_leave_a_tenth_of_a_radian(script, runs):
    lab = script.laboratory()
    errors = [script.rms(np.subtract(*script.predicted(lab, runs[k]))) for k in (1, 3, 5)]
    assert 0.09 < np.sqrt(np.mean(np.square(errors))) < 0.13


@pytest.mark.slow
def test_four_runs_predict_the_others_better(script, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["double_pendulum.py"])
    found = script.main()
    assert found["share"] < 0.5
    assert found["errors"]["identified", 7] < 0.6 * found["errors"]["laboratory", 7]
    assert "within 0.3 rad for 3." in capsys.readouterr().out
