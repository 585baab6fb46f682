"""What vitree 0.1.0 pickled and saved is read: tools/make_old_pickle.py wrote it."""

import importlib
import pathlib
import pickle

import numpy as np
import pytest

import vitree as vt
from vitree.moved import MOVED

DATA = pathlib.Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def old() -> dict:
    return pickle.loads((DATA / "vitree-0.1.0.pickle").read_bytes())


def test_a_pickle_has_what_it_had(old):
    assert isinstance(old["run"], vt.Trajectory) and isinstance(old["comparison"], vt.Comparison)
    assert isinstance(old["reduced"], vt.ReducedModel) and isinstance(old["euler"], vt.EulerModel)
    assert old["state"].t == old["run"].t[1] and old["comparison"].series[("lie", 0.01)].t[-1] == 0.02
    assert old["tree"].compile() == old["model"] == old["run"].system
    assert old["loaded"].film.drawing.name == "arm"
    assert old["boat"] == vt.vehicles.boat()
    assert {load.name for load in old["model"].loads} == {'spring "trunk" - "hand"', 'force on joint "elbow"'}


def test_a_pickled_model_is_the_one_made_now(old):
    again = vt.simulate(old["model"], duration=0.02, dt=0.01, inputs=[0.1], kinetic="twist")
    assert np.array_equal(again.q, old["run"].q)
    # a gear is eliminated in another order since: the first guesses of the steps differ by rounding errors
    np.testing.assert_allclose(again.p, old["run"].p, rtol=0, atol=1e-17)


def test_the_checkpoint_of_a_saved_run_is_refused(old):
    """The error says how to go on: from the last momentum."""
    saved = vt.Trajectory.load(DATA / "saved-0.1.0.npz")
    assert np.array_equal(saved.q, old["run"].q)
    with pytest.raises(vt.InputError, match=r"another version of vitree.* start from q0=run\.q") as refused:
        vt.simulate(old["model"], resume=saved, duration=0.02, inputs=[0.1])
    assert "p0=run.p[-1]" in str(refused.value)
    more = vt.simulate(old["model"], saved.q[-1], p0=saved.p[-1], t0=saved.t[-1], duration=0.02, dt=0.01, inputs=[0.1])
    whole = vt.simulate(old["model"], duration=0.04, dt=0.01, inputs=[0.1])
    np.testing.assert_allclose(more.q[-1], whole.q[-1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MOVED)
def test_modules_that_moved_are_there(name):
    old = importlib.import_module(f"vitree.{name}")
    for now in MOVED[name]:
        importlib.import_module(f"vitree.{now}")
    with pytest.raises(AttributeError, match="no_such_thing"):
        old.no_such_thing  # noqa: B018


def test_old_names_hide_no_public_ones():
    assert callable(vt.compare) and callable(vt.simulate)
