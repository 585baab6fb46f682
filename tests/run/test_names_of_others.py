"""Arguments under the names of other libraries are answered with ours."""

from __future__ import annotations

import inspect

import pytest

import vitree as vt
from vitree.errors import UnknownNameError
from vitree.integrators import METHODS
from vitree.run.arguments import ARGUMENTS, MEANT

MODEL = vt.load_urdf(vt.find_robot("double_pendulum"))


@pytest.mark.parametrize("name, ours", [
    ("q", "q0"), ("v", "v0"), ("qvel", "v0"), ("T", "duration"), ("t_end", "duration"), ("time", "duration"),
    ("h", "dt"), ("timestep", "dt"),
    ("tau", "control"), ("u", "control"), ("torque", "control"), ("pushes", "wrenches"), ("every", "record_every"),
    ("integrator", "method"),
])  # fmt: skip
def test_the_error_names_our_argument(name, ours):
    for given in ({}, {"duration": 1.0, "dt": 0.01}):
        with pytest.raises(UnknownNameError, match=rf'no argument "{name}": {ours}= is ') as caught:
            vt.simulate(MODEL, **{**given, name: 1.0})
        assert caught.value.choices == [ours] and caught.value.argument == name
    with pytest.raises(UnknownNameError, match=rf"{ours}="):
        vt.Simulation(MODEL, dt=0.01, **{name: 1.0})


def test_the_answers_exist_and_no_name_of_ours_is_refused():
    options = {name for kind in METHODS.values() for name in kind.options}
    assert not set(MEANT) & (set(inspect.signature(vt.simulate).parameters) | options | set(ARGUMENTS))
    assert {ours for ours, _ in MEANT.values()} <= ARGUMENTS | options


def test_a_run_is_resumed_by_its_own_method():
    run = vt.simulate(MODEL, duration=0.1, dt=0.01)
    with pytest.raises(UnknownNameError, match=r"run\.resume\(duration\)"):
        vt.simulate(MODEL, duration=0.1, resume=run)


def test_other_names_are_still_options_of_the_method():
    with pytest.raises(UnknownNameError, match="no option of the method"):
        vt.simulate(MODEL, duration=0.1, dt=0.01, tolerence=1e-9)


def test_a_method_may_have_an_option_of_such_a_name(monkeypatch):
    class Still(vt.Integrator):
        """It stays where it is."""

        name, order, options = "still", 1, {"policy": "a number"}

        def step(self, t, q, v):
            return q, v

    monkeypatch.setitem(METHODS, "still", Still)
    assert vt.simulate(MODEL, duration=0.02, dt=0.01, method="still", policy=2).steps == 2
    with pytest.raises(UnknownNameError, match="duration= is"):
        vt.simulate(MODEL, dt=0.01, method="still", T=1.0)
