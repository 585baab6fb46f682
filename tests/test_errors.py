"""Errors keep what they say on the way between processes."""

from __future__ import annotations

import pickle

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


def failing(t, q, v):
    if t > 0.5:
        raise InputError("the motor is off")
    return [0.0]


def test_a_failed_run_brings_its_trajectory_along():
    tree = vt.Tree("pendulum")
    tree.world.add(vt.rx("hinge"), vt.tz(-1.0), vt.body("bob", mass=1.0))
    with pytest.raises(InputError, match="motor") as caught:
        vt.simulate(tree.compile(), [1.0], duration=1.0, dt=0.1, torque=failing)
    again = pickle.loads(pickle.dumps(caught.value))
    assert len(again.trajectory) == len(caught.value.trajectory) > 3
