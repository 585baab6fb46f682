"""States between records: orders in the step, ends, files, and refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from loaded_models import random_tree
from random_models import chain_flat

import vitree as vt

DURATION = 0.4
KINDS = ("revolute", "prismatic", "ball")


def tree():
    flat, q, v = random_tree(5, nbody=5, kinds=KINDS, base="free")
    return vt.Model(flat), q, v


@pytest.fixture(scope="module")
def truth():
    """A model, and its run in steps of 2.5 ms by order 16."""
    model, q, v = tree()
    return model, vt.simulate(model, q, v, duration=DURATION, dt=2.5e-3, method="gauss", order=16)


def errors(truth, dt, **options):
    model, fine = truth
    run = vt.simulate(model, fine.q[0], fine.v[0], duration=DURATION, dt=dt, **options)
    found = run.at(fine.t)
    q = max(np.linalg.norm(model.difference(a, b)) for a, b in zip(fine.q, found.q, strict=True))
    return np.array([q, np.abs(found.v - fine.v).max()])


@pytest.mark.parametrize(("order", "stages"), [(4, 2), (6, 3)])
def test_polynomials_of_steps_have_their_order(truth, order, stages):
    """s + 2 of q and s + 1 of v."""
    coarse, fine = (
        errors(truth, dt, method="gauss", order=order, tolerance=1e-13, dense=True) for dt in (0.02, 0.01)
    )
    assert np.log2(coarse / fine) == pytest.approx([stages + 2, stages + 1], abs=0.4)


def test_cubics_have_their_order(truth):
    coarse, fine = (errors(truth, dt, method="gauss", order=12) for dt in (0.02, 0.01))
    assert np.log2(coarse / fine) == pytest.approx([4, 3], abs=0.4)


@pytest.mark.parametrize("dense", [True, False])
def test_times_of_records_have_the_records(dense):
    model, q, v = tree()
    run = vt.simulate(model, q, v, duration=DURATION, dt=0.02, method="gauss", dense=dense)
    found = run.at(run.t)
    assert (found.q == run.q).all() and (found.v == run.v).all() and (found.t == run.t).all()
    one = run.at(run.t[3])
    assert one.q.shape == (model.nq,) and (one.q == run.q[3]).all() and one.t == run.t[3]
    # and a time close behind or before a record is close to it
    for near in (-1e-9, 1e-9):
        beside = run.at(run.t[5] + near)
        assert np.linalg.norm(model.difference(run.q[5], beside.q)) < 1e-7
        assert np.abs(beside.v - run.v[5]).max() < 1e-6


def test_dense_runs_in_files_slices_and_parts(tmp_path):
    model, q, v = tree()
    run = vt.simulate(model, q, v, duration=DURATION, dt=0.02, method="gauss", dense=True)
    t = np.linspace(0.05, 0.3, 17)
    expected = run.at(t)
    run.save(tmp_path / "run.npz")
    loaded = vt.Trajectory.load(tmp_path / "run.npz")
    for other in (loaded, pickle.loads(pickle.dumps(run)), run[2:], copy.deepcopy(run)):
        assert (other.at(t).q == expected.q).all() and (other.at(t).v == expected.v).all()
    assert run[::2].stages is None and run[::2].at(0.05).q.shape == (model.nq,)
    again = pickle.loads(pickle.dumps(expected))
    assert (again.q == expected.q).all() and (copy.deepcopy(expected).v == expected.v).all()


def test_a_moment_names_what_it_has_not():
    model, q, v = tree()
    moment = vt.simulate(model, q, v, duration=0.1, dt=0.01).at(0.033)
    with pytest.raises(AttributeError, match="nearest"):
        _ = moment.p
    with pytest.raises(AttributeError, match="no colour"):
        _ = moment.colour


def test_steps_in_halves_fall_back_on_cubics():
    """A double pendulum of more than a turn a step; no stage is kept of a step that was halved."""
    run = vt.simulate(vt.Model(chain_flat(2)), [0.3, 0.4], [40.0, -70.0], duration=0.3, dt=0.1, method="gauss",
                      dense=True)  # fmt: skip
    assert run.settings["halved"] > 0 and np.isnan(run.stages).any()
    assert np.isfinite(run.at(np.linspace(0, 0.3, 31)).q).all()


def test_refusals():
    model = vt.Model(chain_flat(2))
    start = ([0.3, 0.2], [0.0, 0.0])
    run = vt.simulate(model, *start, duration=0.1, dt=0.01)
    for bad in (-0.01, 0.11, np.nan, np.inf):
        with pytest.raises(vt.InputError, match=r"was not recorded; choose from 0 to 0\.1"):
            run.at(bad)
    for bad in ([[0.01]], "soon", None, [0.01, "soon"]):
        with pytest.raises(vt.InputError):
            run.at(bad)
    with pytest.raises(vt.InputError, match="gauss"):
        vt.simulate(model, *start, duration=0.1, dt=0.01, dense=True)
    with pytest.raises(vt.InputError, match="every"):
        vt.simulate(model, *start, duration=0.1, dt=0.01, record_every=2, method="gauss", dense=True)
    with pytest.raises(vt.InputError, match="dense"):
        vt.simulate(model, *start, duration=0.1, dt=0.01, method="gauss", dense="yes")


def test_half_a_turn_between_records_is_refused():
    top = vt.Tree("top", gravity=(0, 0, 0))
    top.world.add(vt.ball("turn"), vt.body("body", 1.0, inertia=(1, 1, 1)))
    model = top.compile()
    run = vt.simulate(model, model.neutral(), [0.0, 0.0, 40.0], duration=0.4, dt=0.01, record_every=10)
    with pytest.raises(vt.InputError, match='"turn" makes half a turn'):
        run.at(0.05)
    assert run.at(0.1).q.shape == (4,)


def test_vehicles_have_records_only():
    run = vt.simulate(vt.vehicles.boat(), duration=0.2, dt=0.01)
    assert (run.at(run.t[4]).q == run.q[4]).all()
    with pytest.raises(vt.InputError, match="not a mechanism of joints"):
        run.at(0.035)


def test_the_nearest_record():
    run = vt.simulate(vt.Model(chain_flat(2)), [0.3, 0.2], duration=0.1, dt=0.01)
    assert run.nearest(0.0449).t == run.t[4] and run.nearest(0.046).p.shape == (2,)
