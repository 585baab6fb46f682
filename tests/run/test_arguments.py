"""The arguments of a run travel in one object."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import vitree as vt
from vitree.arguments import explain_calls
from vitree.errors import InputError, UnknownNameError
from vitree.run.arguments import ARGUMENTS, NAMES, RunArguments, Schedule, rows_over_steps

PENDULUM = vt.load_urdf(vt.find_robot("pendulum"))
RUN = vt.simulate(PENDULUM, duration=0.1, dt=0.1)


def test_the_object_has_the_arguments_of_simulate_and_their_defaults():
    signature = inspect.signature(vt.simulate).parameters
    own = inspect.signature(RunArguments).parameters
    assert ARGUMENTS - {"accuracy", "q1"} == set(signature) - {"model"}
    assert set(own) == NAMES
    assert all(own[name].default == signature[name].default for name in own.keys() & signature if name != "options")


def test_an_argument_that_is_no_field_is_an_option_of_the_method():
    given = RunArguments(dt=0.1, options={"solver": "newton", "order": 4})
    changed = given.but(dt=0.2, order=2, rtol=1e-9)
    assert (changed.dt, changed.options) == (0.2, {"solver": "newton", "order": 2, "rtol": 1e-9})
    assert (given.dt, given.options) == (0.1, {"solver": "newton", "order": 4})
    assert changed.but(options={}).options == {}


@pytest.mark.parametrize("key", ["q0", "v0", "record_every", "wrenches"])
def test_compare_refuses_an_argument_that_is_the_same_for_all_methods(key):
    model = vt.load_urdf(vt.find_robot("pendulum"))
    with pytest.raises(InputError, match=f"{key}.* is the same for all methods"):
        vt.compare(model, [("rk4", {key: None})], [0.1], duration=0.1, dt=0.01)


@pytest.mark.parametrize("inputs, over_steps", [
    (None, False), (lambda t, q, v: [0.0], False), ([0.1, 0.2], False), ([[0.1], [0.2]], True),
    ({"goal": 0.1}, False), ({"goal": lambda t: t}, False), ({"goal": [0.1, 0.2]}, True),
])  # fmt: skip
def test_which_inputs_have_a_row_for_each_step(inputs, over_steps):
    assert rows_over_steps(RunArguments(inputs=inputs)) == ("inputs" if over_steps else None)


def test_steps_are_counted_in_spite_of_rounding_and_those_of_adaptive_methods_need_not_fit():
    assert Schedule.of(RunArguments(duration=np.float64(0.3), dt=np.float64(0.1)), adaptive=False).steps == 3
    with pytest.raises(InputError, match="whole number of steps"):
        Schedule.of(RunArguments(duration=1, dt=0.3), adaptive=False)
    assert Schedule.of(RunArguments(duration=1, dt=0.3), adaptive=True).steps == 3


@pytest.mark.parametrize(("call", "text"), [
    (lambda: vt.Sphere(1.0, center=(0, 0, 0)), r'Sphere\(\) "center"; choose from radius, position'),
    (lambda: vt.Ground(mu=0.5), r'Ground\(\) "mu"; choose from .*friction'),
    (lambda: vt.body("b", 1.0, (1, 1, 1), centre=(0, 0, 0)), r'body\(\) "centre"; choose from .*com'),
    (lambda: vt.Drive("hinge", 1.0, kv=1.0), r'Drive\(\) "kv"; .*kd'),
    (lambda: vt.load_urdf("a.urdf", floating=True), r'load_urdf\(\) "floating"; choose from source, base'),
    (lambda: vt.Box(1, 2, 3), r"Box\(\) takes 1 by position \(size\), not 3; give an array"),
    (lambda: vt.Drive("hinge"), r"^Drive\(\) needs kp=$"),
    (lambda: vt.rollout(PENDULUM), r"^rollout\(\) needs duration= and dt=$"),
    (lambda: vt.rollout(duration=1.0), r"^rollout\(\) needs model= and dt=$"),
    (lambda: vt.linearize(PENDULUM), r"^linearize\(\) needs dt=$"),
    (lambda: vt.Controller(print), r"^Controller\(\) needs period=$"),
    (lambda: vt.ExternalWrench("bob", forces=(0, 0, 1)), r'ExternalWrench\(\) "forces"; did you mean'),
    (lambda: vt.simulate(PENDULUM, [0.0], 1.0, 0.1), r"simulate\(\) takes 3 by position \(model, q0, v0\), not 4"),
    (lambda: vt.Control([1.0]), r"Control\(\) takes none by position, not 1"),
    (lambda: vt.Control(kp=1.0), r'Control\(\) "kp"; choose from torque, inputs, targets'),
    (lambda: vt.place_on_ground(PENDULUM), r"^place_on_ground\(\) needs q=$"),
    (lambda: vt.reference_configurations(PENDULUM), r"^reference_configurations\(\) needs path=$"),
    (lambda: vt.view(PENDULUM, [0.0]), r"view\(\) takes 1 by position \(source\), not 2"),
    (lambda: vt.vehicles.car(weight=1.0), r'car\(\) "weight"; choose from mass'),
    (lambda: vt.vehicles.Wave(height=1.0), r'Wave\(\) "height"; choose from amplitude'),
    (lambda: vt.vehicles.RigidVehicle(1.0), r"^RigidVehicle\(\) needs translational=$"),
    (lambda: vt.vehicles.Helicopter(), r"^Helicopter\(\) needs rotational= and translational=$"),
    (lambda: vt.control.lqr(None), r"^lqr\(\) needs Q= and R=$"),
    (lambda: vt.control.optimize_motion(PENDULUM, dt=0.1), r"^optimize_motion\(\) needs costs=$"),
    (lambda: PENDULUM.with_drives(100.0, 5.0), r"with_drives\(\) takes 1 by position \(gains\), not 2"),
    (lambda: vt.compare(PENDULUM, order=4), r'compare\(\) "order"; options are given with the method: methods='),
    (lambda: vt.compare(PENDULUM, T=1.0), r'compare\(\) "T"; duration= is the time to simulate'),
    (lambda: RUN.resume(0.1, dt=0.2), r'resume\(\) "dt"; a resumed run keeps'),
    (lambda: RUN.save("run.csv"), r"ends in \.csv, and save\(\) writes \.npz; use to_csv"),
])  # fmt: skip
def test_an_argument_that_there_is_not_is_told_with_those_that_there_are(call, text):
    with pytest.raises((InputError, UnknownNameError), match=text):
        call()


def test_other_errors_of_a_call_stay_what_they_are():
    @explain_calls
    def broken(name):
        return name + 1

    with pytest.raises(TypeError, match="concatenate"):
        broken("a")
    assert inspect.signature(vt.Box).parameters.keys() == {"size", "position", "rotation"}
