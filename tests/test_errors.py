"""Errors keep what they say on the way between processes."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import vitree as vt
from vitree.errors import ConvergenceError, InputError, MissingExtraError, ModelError, UnknownNameError, UrdfError
from vitree.findings import Finding


@pytest.mark.parametrize("error", [
    InputError("dt must be positive"),
    ModelError("no mass"),
    UnknownNameError("joint", "elbo", ["elbow", "hip"]),
    UrdfError("bad file", [Finding("axis-zero", "error", "text", "a.urdf", 3)]),
    MissingExtraError("viser", "view", "the viewer"),
    ConvergenceError("not solved", time=0.5, residual=1.0, iterations=3),
])  # fmt: skip
def test_pickling_keeps_everything(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


@pytest.mark.parametrize("given", ["(x" * 5000, "x" * 5000, "x y\n" * 2000 + ".urdf", "/tmp/" + "a/" * 3000])
@pytest.mark.parametrize("read", [vt.load_sexpr, vt.read_sexpr, vt.load_urdf, vt.find_robot, vt.Trajectory.load])
def test_long_texts_in_place_of_files_are_told_in_short(read, given):
    """The text is cut, and what is wrong and the remedy stand behind it."""
    with pytest.raises(vt.VitreeError) as told:
        read(given)
    parsed = given.startswith("(") and "sexpr" in read.__name__
    assert len(str(told.value)) < 600 and ("; " in str(told.value)) != parsed, told.value


OF_MODELS = [name for name in vt.__all__ if inspect.isfunction(function := getattr(vt, name))
             and {"model", "tree"} & set(inspect.signature(function).parameters)]  # fmt: skip


@pytest.mark.parametrize("name", OF_MODELS)
def test_functions_of_a_model_say_that_it_is_none(name):
    """Whatever the other arguments are, the model is looked at first."""
    function = getattr(vt, name)
    given = {key: 0 for key, x in inspect.signature(function).parameters.items()
             if x.default is x.empty and x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)}  # fmt: skip
    model = "model" if "model" in inspect.signature(function).parameters else "tree"
    with pytest.raises(InputError, match=r"Model|Tree") as told:
        function(**given | {model: 3.5})
    assert "3.5" in str(told.value) or "float" in str(told.value)


def failing(t, q, v):
    if t > 0.5:
        raise InputError("the motor is off")
    return [0.0]


@pytest.mark.parametrize("method", vt.METHODS)
def test_a_failed_run_brings_its_trajectory_along(method):
    tree = vt.Tree("pendulum")
    tree.world.add(vt.rx("hinge"), vt.tz(-1.0), vt.body("bob", mass=1.0))
    with pytest.raises(InputError, match="motor") as caught:
        vt.simulate(tree.compile(), [1.0], duration=1.0, dt=0.1, method=method, control=failing)
    again = pickle.loads(pickle.dumps(caught.value))
    assert len(again.trajectory) == len(caught.value.trajectory) > 3
    driven = again.trajectory.drive.torque[:, 0]  # where the function raises there is none
    assert (driven[:5] == 0).all() and np.nan_to_num(driven).max() == 0.0


def test_a_run_of_a_system_that_cannot_be_pickled_keeps_its_pictures_and_units():
    class ExternalWrench(vt.Force):
        def __init__(self):
            self.size = lambda t: 1.0 + t

        def force(self, model, t, q, v, u):
            return [self.size(t)]

    tree = vt.Tree("slider")
    tree.world.add(vt.tx("x"), vt.body("box", mass=1.0))
    tree.load(ExternalWrench())
    run = vt.simulate(tree.compile(), [0.0], duration=0.5, dt=0.1)
    again = pickle.loads(pickle.dumps(run))
    assert run.system is not None and again.system is None
    assert again.film.drawing.bodies == ("box",) and again.about["units"]["q"] == ("m",)
    assert (again.q == run.q).all() and again.about["total_mass"] == 1.0
    whole = vt.simulate(vt.load_urdf(vt.find_robot("pendulum")), duration=0.1, dt=0.01)
    assert pickle.loads(pickle.dumps(whole)).system == whole.system
