"""The examples that learn: they run, the same policy stands here and in MuJoCo, and a pendulum of MuJoCo is ours."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from places import EXAMPLES

import vitree as vt

gymnasium = pytest.importorskip("gymnasium")


@pytest.fixture(autouse=True)
def of_examples(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "learning")


@pytest.mark.skipif("go2" not in vt.list_robots(), reason="example-robot-data is not installed")
def test_a_policy_that_does_nothing_stands_here_and_in_mujoco():
    pytest.importorskip("mujoco")
    example = importlib.import_module("walking_quadruped")
    still = lambda observed: np.zeros((len(observed), 12))  # noqa: E731
    way, fell = example.walk(still, 0.5, robots=2, seconds=1.0)
    there, down = example.walk_in_mujoco(still, 0.5, seconds=1.0)
    assert not fell.any() and not down
    assert np.abs(way).max() < 0.2 and np.abs(there).max() < 0.2
    limp = lambda observed: np.tile([0.0, 1.0, 1.0], (len(observed), 4))  # noqa: E731
    assert example.walk(limp, 0.5, robots=2, seconds=1.5)[1].all()
    assert example.walk_in_mujoco(limp, 0.5, seconds=1.5)[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif("go2" not in vt.list_robots(), reason="example-robot-data is not installed")
def test_learning_begins(tmp_path):
    pytest.importorskip("stable_baselines3")
    example = importlib.import_module("walking_quadruped")
    model = example.learner(0, envs=8, steps=8).learn(128)
    assert model.num_timesteps == 128
    model.save(tmp_path / "go2.zip")
    act = example.policy_of(str(tmp_path / "go2.zip"))
    assert act(np.zeros((3, 45), np.float32)).shape == (3, 12)


@pytest.mark.slow
def test_a_learner_in_one_file_gets_better():
    pytest.importorskip("torch")
    lengths = importlib.import_module("single_file_ppo").learn(rounds=8)
    assert lengths[0] < 30 and lengths[-1] > 80


def test_the_pendulum_of_mujoco_moves_here_as_there():
    """The same file, start and forces: to the errors of the two integrators over a second."""
    pytest.importorskip("mujoco")
    import dataclasses

    from vitree import gym as vg

    theirs = gymnasium.make("InvertedPendulum-v5").unwrapped
    task = dataclasses.replace(importlib.import_module("pendulum_of_mujoco").task(), method="rk4", terminated=None)
    ours = vg.Env(task, dtype=np.float64)
    observed, _ = ours.reset(seed=0)
    theirs.reset(seed=0)
    theirs.set_state(observed[:2], observed[2:])
    rng = np.random.default_rng(0)
    for _ in range(10):
        action = rng.uniform(-0.3, 0.3, 1)
        there = theirs.step(action)[0]
        here = ours.step(action)[0]
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-3)
    assert np.abs(here).max() > 0.05
