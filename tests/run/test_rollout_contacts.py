"""Rollouts of what touches: integrators that serve one instance after another leave the bits of simulate()."""

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, standing, thrown

import vitree as vt

NAMES = ("q", "v", "p", "energy")


def require_same(model, q, v, *, duration, dt, every=1, **more):
    """Roll out, compare each instance with its own run, and return the rollout and the runs."""
    rollout = vt.rollout(model, q, v, duration=duration, dt=dt, threads=1, record_every=every, record=NAMES, **more)
    runs = []
    for k in range(len(q)):
        try:
            run = vt.simulate(model, q[k], v[k], duration=duration, dt=dt, record_every=every or round(duration / dt),
                              **more)  # fmt: skip
            assert k not in rollout.failed
        except vt.ConvergenceError as error:
            assert str(rollout.failed[k]) == str(error)
            run = error.trajectory
        runs.append(run)
        rows = int(rollout.rows[k])
        first = 0 if every else len(run) - rows
        for name in NAMES:
            found = rollout.data[name][k, :rows]
            np.testing.assert_array_equal(found, getattr(run, name)[first:], err_msg=f"{k} {name}")
        iterations, residual, total, most = rollout.solved
        np.testing.assert_array_equal(iterations[k, :rows], run.iterations[first:])
        np.testing.assert_array_equal(residual[k, :rows], run.residual[first:])
        assert (rollout.steps[k], total[k], most[k]) == (run.steps, run.iterations_total, run.iterations_max)
    return rollout, runs


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
@pytest.mark.parametrize("ground", ["plane", "slope", "hills"])
def test_bodies_that_fall(ground, method):
    model = crawler(GROUNDS[ground], limits=ground == "slope")
    q, v = (np.array(x) for x in zip(*[thrown(model, seed) for seed in range(4)], strict=True))
    v[1] *= 3.0
    _, runs = require_same(model, q, v, duration=0.3, dt=4e-3, method=method)
    assert any(len(run.contacts) for run in runs)


@pytest.mark.parametrize("every", [1, 5, None])
def test_a_robot_on_drives(every):
    model, q = standing("human")
    v = 0.1 * np.random.default_rng(0).normal(size=(4, model.nv))
    require_same(model, np.repeat(q[None], 4, axis=0), v, duration=0.1, dt=2e-3, every=every)


def test_instances_after_one_that_failed_or_overlapped():
    model = crawler(GROUNDS["plane"])
    q, v = (np.array(x) for x in zip(*[thrown(model, seed) for seed in range(4)], strict=True))
    v[1] *= 1e5
    q[2, model.joint("base").q_slice.start + 2] -= 0.0505  # half a millimetre in the ground: mended at its start
    rollout, runs = require_same(model, q, v, duration=0.1, dt=1e-2)
    assert 1 in rollout.failed and not {0, 2, 3} & {*rollout.failed}
    assert any("brought together" in text for text in runs[2].settings["warnings"])
    q[3, model.joint("base").q_slice.start + 2] -= 1.0
    rollout = vt.rollout(model, q, v, duration=0.1, dt=1e-2)
    assert isinstance(rollout.failed[3], vt.InputError)
