"""Fans of rollouts: a median and two bands for each coordinate; what cannot be drawn is told."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

pytest.importorskip("matplotlib")
from vitree import plot


@pytest.fixture(scope="module")
def runs():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    q = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    return vt.rollout(model, q, duration=0.2, dt=0.01)


def test_a_fan_has_the_quantiles(runs):
    axes = plot.fan(runs)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(runs.system.q_names)
    assert len(axes.lines) == 2
    assert len(axes.collections) == 4
    assert np.array_equal(axes.lines[1].get_ydata(), np.median(runs.q[:, :, 1], axis=0))
    wide = axes.collections[0].get_paths()[0].vertices
    assert wide[:, 1].max() == np.quantile(runs.q[:, :, 0], 0.95, axis=0).max()
    assert len(plot.fan(runs, runs.system.v_names[0], of="v").lines) == 1
    axes.figure.draw_without_rendering()
    assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())


def test_other_plots_of_a_rollout_name_the_fan(runs):
    with pytest.raises(vt.InputError, match=r"vitree\.plot\.fan.*rollout\[0\]"):
        plot.energy(runs)


def test_rows_that_instances_did_not_reach_are_left_out():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    v = np.array([[0.0, 0.0], [1e90, 1.0], [1.0, 0.0]])
    runs = vt.rollout(model, [0.1, 0.2], v, duration=0.1, dt=0.01, method="rk4")
    assert runs.failed
    line = plot.fan(runs, runs.system.q_names[0]).lines[0]
    assert np.isfinite(line.get_ydata()).all()
    assert len(line.get_ydata()) == 11


def test_what_cannot_be_drawn_is_told(runs):
    for arguments, text in ((("x",), "Rollout"), ((runs, "elbow"), "elbow"), ((runs, 3), "names")):
        with pytest.raises(vt.VitreeError, match=text):
            plot.fan(*arguments)
    with pytest.raises(vt.InputError, match='"p"'):
        plot.fan(runs, of="p")
    with pytest.raises(vt.InputError, match="no instance"):
        plot.fan(vt.rollout(runs.system, np.zeros((0, 2)), duration=0.1, dt=0.01))
