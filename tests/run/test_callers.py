"""Numbers, arrays and callables of every kind that callers have: taken as they are meant, or refused by name."""

from __future__ import annotations

import dataclasses
import decimal
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import vitree as vt
from vitree import control, lie, vehicles
from vitree.arguments import as_numbers
from vitree.integrators.base import Records

MODEL = vt.load_urdf(vt.find_robot("double_pendulum"))
Q = np.array([0.3, 0.2])


class Foreign:
    """An array of another library."""

    def __init__(self, x):
        self.x = np.asarray(x)

    def __array__(self, dtype=None, copy=None):
        return self.x if dtype is None else self.x.astype(dtype)


def kind(value):
    """The name of its type, for the name of a test."""
    return type(value).__name__


def frozen(x):
    x = np.array(x)
    x.setflags(write=False)
    return x


class Answers(vt.Force):
    """A load that answers with what it is given."""

    def __init__(self, x):
        self.x = x

    def force(self, model, t, q, v, u):
        return self.x


def two_rods(*loads, **limits):
    tree = vt.Tree("two rods")
    at = tree.world.add(vt.ry("a", **limits), vt.tz(-1.0), vt.body("one", 1.0))
    at.add(vt.ry("b"), vt.tz(-1.0), vt.body("two", 1.0))
    tree.load(*loads)
    return tree.compile()


LIMITED = two_rods(effort=9.0)
DRIVEN = two_rods(vt.JointForce("a", "first"), vt.JointForce("b", "second"))
TAKEN = {
    "list": [0.25, 0.5], "tuple": (0.25, 0.5), "float32": np.array([0.25, 0.5], np.float32),
    "longdouble": np.array([0.25, 0.5], np.longdouble), "big-endian": np.array([0.25, 0.5], ">f8"),
    "strided": np.array([0.25, 9.0, 0.5, 9.0])[::2], "reversed": np.array([0.5, 0.25])[::-1],
    "foreign": Foreign([0.25, 0.5]), "read-only": frozen([0.25, 0.5]), "fractions": [Fraction(1, 4), 0.5],
    "column of Fortran": np.asfortranarray(np.array([[0.25, 1.0], [0.5, 1.0]]))[:, 0],
    "scalars": [np.float32(0.25), np.longdouble(0.5)],
}  # fmt: skip
REFUSED = {
    "masked": (np.ma.array([0.1, 0.2], mask=[0, 1]), "masked"), "not masked": (np.ma.array([0.1, 0.2]), "masked"),
    "fields": (np.zeros(2, [("a", float)]), "fields"), "text": (np.array(["1", "2"]), "text"),
    "objects": (np.array([0.1, 0.2], object), "objects"), "complex": ([0.1, 0.2 + 0j], "complex"),
    "bool": (np.array([True, False]), "truth"), "None": ([None, 1.0], "objects"), "NaN": ([0.1, np.nan], "finite"),
    "infinite": ([10**400, 0.0], "finite"), "dates": (np.zeros(2, "M8[s]"), "dates"), "short": ([0.1], r"\(1,\)"),
    "ragged": ([[0.1], 0.2], "inhomogeneous"), "scalar": (0.1, r"shape \(\)"), "rows": ([[0.1, 0.2]], r"\(1, 2\)"),
    "set": ({0.1, 0.2}, "objects"),
}  # fmt: skip
ENTRANCES = {
    "q0": lambda x: vt.simulate(MODEL, x, duration=0.02, dt=0.01),
    "v0": lambda x: vt.simulate(MODEL, Q, x, duration=0.02, dt=0.01),
    "torque": lambda x: vt.simulate(MODEL, Q, control=x, duration=0.02, dt=0.01),
    "compare": lambda x: vt.compare(MODEL, ["rk4"], x, duration=0.02, dt=0.01, reference=False).trajectories[
        "rk4", 0.01],
    "torque of t": lambda x: vt.simulate(MODEL, Q, control=lambda t, q, v: x, duration=0.02, dt=0.01),
    "limited": lambda x: vt.simulate(LIMITED, Q, control=vt.Control(torque=lambda t, q, v: x, effort_limits=True),
                                     duration=0.02, dt=0.01),
    "scipy": lambda x: vt.simulate(MODEL, Q, control=lambda t, q, v: x, duration=0.02, dt=0.01, method="scipy-rk45"),
    "inputs of t": lambda x: vt.simulate(DRIVEN, Q, control=vt.Control(inputs=lambda t, q, v: x), duration=0.02,
                                         dt=0.01),
    "explicit": lambda x: vt.simulate(DRIVEN, Q, control=vt.Control(inputs=lambda t, q, v: x), duration=0.02, dt=0.01,
                                      method="rk4"),
    "load": lambda x: vt.simulate(two_rods(Answers(x)), Q, duration=0.02, dt=0.01),
    "load, explicit": lambda x: vt.simulate(two_rods(Answers(x)), Q, duration=0.02, dt=0.01, method="rk4"),
}  # fmt: skip
#: Those that are no torque, and their names in errors.
NAMED = {"q0": "q0", "v0": "v0", "compare": "q0", "inputs of t": "inputs(t, q, v)", "explicit": "inputs(t, q, v)",
         "load": "force of Answers", "load, explicit": "force of Answers"}  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("kind", TAKEN)
def test_arrays_of_every_kind_are_the_numbers_in_them(kind, entrance):
    expected, found = (ENTRANCES[entrance](x) for x in (np.array([0.25, 0.5]), TAKEN[kind]))
    assert found.q.tobytes() == expected.q.tobytes() and found.v.tobytes() == expected.v.tobytes()


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_meant_is_refused_by_name(kind, entrance):
    value, words = REFUSED[kind]
    with pytest.raises(vt.InputError, match=words) as failure:
        ENTRANCES[entrance](value)
    assert NAMED.get(entrance, "torque") in str(failure.value)
    if entrance not in ("q0", "v0", "compare", "torque"):
        assert isinstance(failure.value, vt.CallableError) and failure.value.time == 0.0
        assert "at t = 0 s" in str(failure.value) or "at t = 0.005 s" in str(failure.value)
        assert len(failure.value.trajectory) == 1


@pytest.mark.parametrize("kind", TAKEN)
def test_methods_of_a_model_take_them(kind):
    x, same = TAKEN[kind], np.array([0.25, 0.5])
    assert MODEL.rnea(x, x, x).tobytes() == MODEL.rnea(same, same, same).tobytes()
    assert MODEL.reduced().aba(x, x, x).tobytes() == MODEL.reduced().aba(same, same, same).tobytes()


@pytest.mark.parametrize("kind", REFUSED)
def test_methods_of_a_model_refuse_others(kind):
    """Rows are a stack of states, which the methods take; rows of another width are refused."""
    value, words = ([[0.1, 0.2, 0.3]], r"\(1, 3\)") if kind == "rows" else REFUSED[kind]
    for k, name in enumerate("qva"):
        arguments = [Q, Q, Q]
        arguments[k] = value
        with pytest.raises(vt.InputError, match=f"^{name}.*{words}"):
            MODEL.rnea(*arguments)


# ---- numbers ---------------------------------------------------------------------------------------------


def run(**changes):
    return vt.simulate(MODEL, **{"q0": Q, "duration": 0.08, "dt": 0.01, **changes})


NUMBERS = [np.float64, np.longdouble, np.array, Foreign]


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", ["dt", "duration", "t0", "tolerance", "rate"])
def test_numbers_of_every_kind_are_doubles(kind, name):
    value = {"dt": 0.01, "duration": 0.08, "t0": 0.5, "tolerance": 1e-10, "rate": 3.0}[name]
    more = {"adapt": "density"} if name == "rate" else {}
    one, other = run(**more, **{name: value}), run(**more, **{name: kind(value)})
    assert one.q.tobytes() == other.q.tobytes() and one.t.tobytes() == other.t.tobytes()
    assert other.settings == one.settings


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16, np.array, Foreign])
@pytest.mark.parametrize("name", ["max_iterations", "max_halvings", "order", "record_every"])
def test_whole_numbers_of_every_kind_are_whole(kind, name):
    value = {"max_iterations": 20, "max_halvings": 2, "order": 4, "record_every": 2}[name]
    assert run(**{name: kind(value)}).settings == run(**{name: value}).settings


@pytest.mark.parametrize("value", [True, "10", 10.5, None, [10], np.ma.array(10), 10**30, -1, object(), 1j])
@pytest.mark.parametrize("name", ["max_iterations", "max_halvings", "record_every"])
def test_what_is_no_whole_number_is_named(name, value):
    with pytest.raises(vt.InputError, match=f"(?s){name}.* must be a whole number"):
        run(**{name: value})


@pytest.mark.parametrize("value", [True, "0.1", None, 1j, np.ma.array(0.1), np.nan, np.inf, 10**400, object(), {}])
@pytest.mark.parametrize("name", ["dt", "duration", "t0", "tolerance"])
def test_what_is_no_number_is_named(name, value):
    with pytest.raises(vt.InputError, match=name):
        run(**{name: value})


def test_a_single_precision_step_is_its_value_as_a_double():
    found = vt.simulate(MODEL, Q, duration=1.0, dt=np.float32(0.01))
    assert found.steps == 100 and found.settings["dt"] == float(np.float32(0.01))
    assert found.t[-1] == pytest.approx(100 * float(np.float32(0.01)), rel=1e-15)
    # the remedy of the text is one
    with pytest.raises(vt.InputError, match="is not a whole number of steps") as failure:
        vt.simulate(MODEL, Q, duration=np.float32(0.015), dt=np.float32(0.01))
    advised = float(str(failure.value).partition("take ")[2].split()[0])
    assert vt.simulate(MODEL, Q, duration=advised, dt=np.float32(0.01)).steps == 1


@pytest.mark.parametrize("more", [{}, {"method": "rk4"}, {"method": "scipy-rk45"}, {"adapt": "density", "rate": 1.0}])
def test_times_that_steps_do_not_change_are_refused(more):
    for t0 in (1e17, -1e17, np.float32(1e17), 10**300):
        with pytest.raises(vt.InputError, match=r"t0=.* is too far from zero"):
            run(t0=t0, **more)
    assert run(t0=1e9, **more).t[-1] > 1e9


def test_a_step_of_no_length_is_refused():
    with pytest.raises(vt.InputError, match="dt=1e-320 s is too small"):
        run(dt=1e-320)


@pytest.mark.parametrize("name", ["method", "wrenches", "monitors", "progress", "solver",
                                  "guess", "order", "adapt", "control", "q1", "resume"])  # fmt: skip
@pytest.mark.parametrize("value", [5, [1], {"a": 1}, np.zeros(3), "abc", {"a"}, object()], ids=kind)
def test_no_argument_of_another_kind_is_a_bare_error(name, value):
    with pytest.raises(vt.VitreeError):
        run(**{name: value})


@pytest.mark.parametrize(("name", "values"), [
    ("methods", [5, [5], [["rk4"]], None, {}]), ("dt", ["a", None, np.ma.array([0.01]), [[0.01]], []]),
    ("duration", ["a", None]), ("record_every", ["a", 1.5, 0]), ("repeats", ["a", 1.5, 0]), ("v0", ["a", np.zeros(3)]),
    ("control", [lambda t, q, v: 1 / 0, "a"]), ("model", [5, None]),
])  # fmt: skip
def test_arguments_of_compare_are_checked(name, values):
    for value in values:
        given = {"model": MODEL, "methods": ["rk4"], "q0": Q, "duration": 0.05, "dt": 0.01, "reference": False}
        with pytest.raises(vt.VitreeError):
            vt.compare(**{**given, name: value})


# ---- elements ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [vt.rx, vt.tz, vt.ball, vt.free, vt.revolute, vt.prismatic, vt.cylindrical,
                                  vt.universal, vt.planar])  # fmt: skip
def test_a_wrong_keyword_of_a_joint_is_named(make):
    with pytest.raises(vt.UnknownNameError, match='"dampin"; did you mean "damping"') as failure:
        make("j", dampin=1.0)
    assert failure.value.argument == "dampin" and "upper" in failure.value.choices


@pytest.mark.parametrize("value", [np.float32(2), np.longdouble(2), np.int64(2), np.array(2.0), Foreign(2.0), 2])
def test_numbers_of_elements_are_of_every_kind(value):
    def made(x):
        tree = vt.Tree("t")
        tree.world.add(vt.rx("j", damping=x, upper=x), vt.tz(x), vt.body("b", x, com=(x, 0, 0), inertia=(x, x, x)))
        tree.load(vt.Spring("world", "b", x, 0.5))
        tree.load(vt.JointSpring("j", x, x))
        return tree.compile()

    assert made(value).digest == made(2.0).digest


@pytest.mark.parametrize("value", ["2", True, None, 2j, np.ma.array(2.0), np.nan, object()], ids=kind)
def test_what_is_no_number_of_an_element_is_a_model_error(value):
    parts = [
        lambda: [vt.rx("j"), vt.body("b", value)], lambda: [vt.rx("j"), vt.body("b", 1.0, com=(value, 0, 0))],
        lambda: [vt.rx("j", damping=value), vt.body("b", 1.0, inertia=(1, 1, 1))],
        lambda: [vt.screw("j", (0, 0, value)), vt.body("b", 1.0)], lambda: [vt.fixed("f", xyz=(value, 0, 0))],
        lambda: [vt.screw("j", (0, 0, 1), pitch=value), vt.body("b", 1.0)],
    ]  # fmt: skip
    for part in parts:
        tree = vt.Tree("t")
        with pytest.raises(vt.ModelError):
            tree.world.add(*part())
            tree.compile()


# ---- callables -----------------------------------------------------------------------------------------------


class ExternalWrench(vt.Force):
    def force(self, model, t, q, v, u):
        if t > 0.02:
            raise LookupError("mine")
        return [0.0, 0.0]


def late(t, *state):
    if t > 0.02:
        raise LookupError("mine")
    return [0.0, 0.0]


def test_callables_of_a_reduced_model_are_asked_in_its_coordinates():
    tree = vt.Tree("geared")
    one = tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    one.add(vt.rx("b"), vt.tz(-1.0), vt.body("two", 1.0))
    tree.constrain(vt.gear("b", "a", 0.5))
    model = tree.compile().reduced()
    for answer, words in (([0.0, 0.0], r"shape \(2,\)"), ([np.nan], "NaN"), (np.ma.array([0.0]), "masked")):
        with pytest.raises(vt.CallableError, match=r"torque\(t, q, v\) at t = .*" + words) as failure:
            vt.simulate(model, duration=0.1, dt=0.01, control=lambda t, q, v, answer=answer: answer)
        assert failure.value.trajectory.q.shape == (1, 1)


@pytest.mark.parametrize("method", list(vt.METHODS))
@pytest.mark.parametrize("whose", ["torque", "load"])
def test_errors_of_callables_bring_the_cause_the_time_and_the_steps(method, whose):
    model, more = (MODEL, {"control": late}) if whose == "torque" else (two_rods(ExternalWrench()), {})
    with pytest.raises(vt.CallableError, match="raised LookupError: mine") as failure:
        vt.simulate(model, Q, duration=0.1, dt=0.005, method=method, **more)
    error = failure.value
    assert isinstance(error.__cause__, LookupError) and 0.02 < error.time < 0.06
    assert ("torque(t, q, v) at t = " if whose == "torque" else "force of ExternalWrench at t = ") in str(error)
    assert 1 <= len(error.trajectory) and error.trajectory.t[-1] <= 0.03


def test_a_keyboard_interrupt_passes():
    def interrupted(*state):
        raise KeyboardInterrupt

    for method, name in itertools.product(("linear-time", "rk4", "scipy-rk45"), ("control", "progress")):
        with pytest.raises(KeyboardInterrupt) as failure:
            vt.simulate(MODEL, Q, duration=0.5, dt=0.001, method=method, **{name: interrupted})
        assert failure.value.trajectory is not None


def test_progress_is_named():
    for method in ("linear-time", "scipy-rk45"):
        with pytest.raises(vt.CallableError, match=r"progress\(done, total\) raised ZeroDivisionError"):
            vt.simulate(MODEL, Q, duration=0.5, dt=0.001, method=method, progress=lambda done, total: 1 / 0)


@pytest.mark.parametrize("method", ["explicit-euler", "semi-implicit-euler", "rk4", "rk8", "linear-time", "midpoint"])
def test_a_blow_up_is_the_runs_and_not_the_callables(method):
    seen = []

    def torque(t, q, v):
        seen.append(max(np.abs(q).max(), np.abs(v).max()))
        return 1e3 * v + 1.0

    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(MODEL, Q, duration=20.0, dt=0.01, method=method, control=torque)
    assert max(seen) <= 1e100 and np.abs(failure.value.trajectory.q).max() <= 1e100
    assert np.isfinite(failure.value.trajectory.energy).all()


@pytest.mark.parametrize("method", ["scipy-rk45", "scipy-dop853", "scipy-radau", "scipy-bdf", "scipy-lsoda"])
def test_scipy_stops_at_states_that_blew_up(method):
    """With a stiffness that is negative and enormous the state passes every bound within one step."""
    tree = vt.Tree("runaway")
    tree.world.add(vt.tx("x"), vt.body("box", 1.0))
    tree.load(vt.JointSpring("x", -1e8))
    with pytest.raises(vt.ConvergenceError, match=r"stopped at t = .*1e\+100"):
        vt.simulate(tree.compile(), [1.0], duration=1.0, dt=0.1, method=method, rtol=1e-3)


# ---- what is asked, and when -----------------------------------------------------------------------------------


def held():
    tree = vt.Tree("held")
    a = tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("one", 1.0))
    a.add(vt.ry("b"), vt.tz(-1.0), vt.body("two", 1.0), vt.ry("c"), vt.tz(-1.0), vt.body("tip", 0.5))
    tree.constrain(vt.Distance("world", "tip", 2.5))
    return tree.compile()


WITHOUT_CONSTRAINTS = ("gauss", "trapezoid")


@pytest.mark.parametrize("way", ["torque", "inputs"])
@pytest.mark.parametrize("method", [name for name in vt.METHODS if name not in WITHOUT_CONSTRAINTS])
def test_controllers_are_not_asked_after_the_run(method, way):
    """As often with constraints as without; the multipliers that steps found are those of the same constant force."""
    model, calls = held(), []
    if way == "inputs":
        tree = vt.Tree("held")
        a = tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("one", 1.0))
        a.add(vt.ry("b"), vt.tz(-1.0), vt.body("two", 1.0), vt.ry("c"), vt.tz(-1.0), vt.body("tip", 0.5))
        tree.constrain(vt.Distance("world", "tip", 2.5))
        tree.load(vt.JointForce("a", "push"))
        model = tree.compile()
    q0 = vt.satisfy_constraints(model, [0.3, 0.4, 0.5])
    constant = np.array([0.1]) if way == "inputs" else np.array([0.1, 0.0, 0.0])

    def controller(t, q, v):
        calls.append(t)
        return constant

    options = {"duration": 0.1, "dt": 0.01, "method": method}
    for every, more in ((1, {}), (2, {}), (5, {}), (2, {} if method.startswith("scipy") else {"monitors": "energy"})):
        calls.clear()
        found = vt.simulate(model, q0, record_every=every, control=vt.Control(**{way: controller}), **options, **more)
        asked = {"explicit-euler": 10, "semi-implicit-euler": 10, "rk4": 40, "rk8": 120, "linear-time": 11,
                 "midpoint": 11, "implicit-euler": 11}.get(method)  # fmt: skip
        assert asked is None or len(calls) == asked
        assert method.startswith("scipy") or method == "rk8" or (np.diff(calls) > -1e-15).all()
        known = vt.simulate(model, q0, record_every=every, control=vt.Control(**{way: constant}), **options).multipliers
        if method.startswith("scipy"):
            assert np.isnan(found.multipliers).all() and np.isfinite(known).all()
        elif vt.METHODS[method].uses_momentum:
            assert np.array_equal(found.multipliers, known, equal_nan=True)
        else:
            assert np.array_equal(found.multipliers[:-1], known[:-1]) and np.isnan(found.multipliers[-1]).all()


@pytest.mark.parametrize("method", ["explicit-euler", "rk4"])
def test_multipliers_of_a_resumed_run_go_on(method):
    model = held()
    options = {"dt": 0.01, "method": method, "control": lambda t, q, v: [0.1 * t, 0.0, -0.1 * v[2]]}
    q0 = vt.satisfy_constraints(model, [0.3, 0.4, 0.5])
    whole = vt.simulate(model, q0, duration=0.1, **options)
    half = vt.simulate(model, q0, duration=0.06, **options)
    rest = half.resume(0.04, control=options["control"])
    joined = np.concatenate((half.multipliers[:-1], rest.multipliers))
    assert np.array_equal(joined, whole.multipliers, equal_nan=True)


@pytest.mark.parametrize(("method", "order"), [(m, n) for m in ("linear-time", "midpoint") for n in (2, 4, 6)]
                         + [("rk4", None), ("semi-implicit-euler", None)])  # fmt: skip
@pytest.mark.parametrize("whose", ["torque", "load"])
def test_a_run_that_a_callable_stopped_resumes_to_the_last_bit(method, order, whose):
    state = {"calls": 0, "last": 10**9}

    def answer(t, q, v):
        state["calls"] += 1
        if state["calls"] == state["last"]:
            raise ZeroDivisionError("mine")
        return np.sin(t) - 0.3 * v

    class Own(vt.Force):
        def force(self, model, t, q, v, u):
            return answer(t, q, v)

        def by_q(self, model, t, q, v, u):
            return np.zeros((2, 2))

        def by_v(self, model, t, q, v, u):
            return -0.3 * np.eye(2)

    tree = vt.Tree("own")
    tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("one", 1.0)).add(vt.ry("b"), vt.tz(-1.0), vt.body("two", 1.0))
    if whose == "load":
        tree.load(Own())
    model, driven = tree.compile(), {"control": answer} if whose == "torque" else {}
    options = {"dt": 0.01, "method": method, **driven, **({} if order is None else {"order": order})}
    whole = vt.simulate(model, [1.0, 0.5], duration=0.1, **options)
    count = state["calls"]
    for k in range(2, count, max(count // 12, 1)):
        state |= {"calls": 0, "last": k}
        with pytest.raises(vt.CallableError) as failure:
            vt.simulate(model, [1.0, 0.5], duration=0.1, **options)
        state["last"] = 10**9
        part = failure.value.trajectory
        rest = part.resume(0.01 * (10 - part.steps), **driven)
        assert rest.q[-1].tobytes() == whole.q[-1].tobytes() and rest.p[-1].tobytes() == whole.p[-1].tobytes(), k


# ---- what is no argument of its kind ---------------------------------------------------------------------------


class Broken:
    """An object that raises whatever is asked of it."""

    def _raise(self, *given):
        raise LookupError("mine")

    __array__ = __float__ = __index__ = __len__ = __getitem__ = __fspath__ = __call__ = _raise


RUN = vt.simulate(MODEL, Q, duration=0.02, dt=0.01)
CAR = {"mass": 10.0, "inertia": 1.5, "wheel_inertia": 0.05, "wheelbase": 0.8, "wheel_radius": 0.1}
PROBLEM = control.ControlProblem(control.CarDynamics(**CAR), steps=3, duration=(1.0, 4.0), start=np.zeros(5),
                                 goal=[np.nan, 0, 0, 1.0, 0.1])  # fmt: skip
SLEIGH = vehicles.snakeboard()
#: Places for an object of some kind, and what errors call it. None takes a Broken, a set, or a Decimal.
PLACES = {
    "flat": vt.Model, "native": vt.EulerModel, "full": vt.ReducedModel, "tree": vt.write_sexpr,
    "model": lambda x: vt.METHODS["rk4"](x, 0.01), "model of closure": lambda x: vt.satisfy_constraints(x, Q),
    "model of rest": lambda x: vt.minimize_potential_energy(x, Q), "model of counts": vt.independent_constraints,
    "model of checks": lambda x: vt.check_derivatives(ExternalWrench(), x), "rng": MODEL.random_configuration,
    "rng of a group": lie.SE3.random, "shape": lambda x: lie.SE3.random(np.random.default_rng(), (x,)),
    "path": RUN.to_csv, "path of save": RUN.save, "path of load": vt.Trajectory.load, "path of netcdf": RUN.to_netcdf,
    "source": vt.read_sexpr, "name of a robot": vt.find_robot, "a robot file": vt.load_urdf,
    "wrenches": lambda x: vt.METHODS["rk4"](MODEL, 0.01, wrenches=x),
    "prescribed": lambda x: MODEL.forward_dynamics(Q, Q, prescribed=x),
    "prescribed of reactions": lambda x: MODEL.joint_reactions(Q, Q, Q, prescribed=x),
    "axes": lambda x: MODEL.frame_jacobian(MODEL.frame_names[0], Q, x),
    "hold": lambda x: vt.satisfy_constraints(MODEL, Q, x), "tolerance":
    lambda x: vt.satisfy_constraints(MODEL, Q, tolerance=x), "q": MODEL.passive_force, "q to expand": MODEL.expand,
    "f": MODEL.reduced().contract_force, "rates": lambda x: SLEIGH.velocity(SLEIGH.neutral(), x),
    "q of a vehicle": lambda x: SLEIGH.integrate(x, SLEIGH.zero_velocity()),
    "controls": lambda x: vehicles.RigidVehicle(1.0, 1.0, controls=x),
    "columns": lambda x: vehicles.boat(columns=x), "drag": lambda x: vehicles.boat(drag=x),
    "twist": lambda x: vt.screw("j", twist=x), "geometry": lambda x: vt.body("b", 1.0, geometry=x),
    "centre": lambda x: control.SphereObstacle(x, 1.0), "radius": lambda x: control.SphereObstacle((0, 0, 0), x),
    "lower": lambda x: control.BoxObstacle(x, (1, 1, 1)), "x": PROBLEM.objective, "problem": control.solve,
    "multipliers": lambda x: PROBLEM.hessian(PROBLEM.x0, x), "plan": lambda x: control.replay(vehicles.car(), x),
    "inertia": lambda x: control.CarDynamics(**CAR | {"inertia": x}), "density": lambda x: vt.load_urdf(
        vt.find_robot("pendulum"), density=x), "xacro": lambda x: vt.load_urdf(vt.find_robot("pendulum"), base=x),
    "t": RUN.at, "checkpoint": lambda x: dataclasses.replace(RUN, checkpoint=x), "steps": lambda x: dataclasses.replace(
        RUN, steps=x), "monitors": lambda x: dataclasses.replace(RUN, monitors=x),
    "reference_tolerance": lambda x: vt.compare(MODEL, "rk4", Q, duration=0.02, dt=0.01, reference_tolerance=x),
    "rows": lambda x: MODEL._energies(x, x), "matrix": lie.SE3.inverse, "dt": lambda x: vt.simulate(MODEL, dt=x),
    "guess": lambda x: vt.METHODS["midpoint"](MODEL, 0.01, guess=x),
    "index": lambda x: RUN[x], "index in a list": lambda x: RUN[[x]], "index in a slice": lambda x: RUN[x:],
    "methods": lambda x: vt.compare(MODEL, x, Q, duration=0.02, dt=0.01),
    "an entry of methods": lambda x: vt.compare(MODEL, [x], Q, duration=0.02, dt=0.01),
    "methods with labels": lambda x: vt.compare(MODEL, {"mine": x}, Q, duration=0.02, dt=0.01),
    "monitors of a run": lambda x: vt.simulate(MODEL, Q, duration=0.02, dt=0.01, monitors=x),
    "positions": lambda x: two_rods(vt.NonlinearSpring("a", x, (0.0, 1.0))),
    "names": lambda x: pytest.importorskip("vitree.plot").coordinates(RUN, x),
    "a name": lambda x: pytest.importorskip("vitree.plot").coordinates(RUN, [x]),
    "rotational": lambda x: vehicles.RigidVehicle(x, 1.0), "mass": lambda x: vehicles.car(mass=x),
    "torques": lambda x: two_rods(vt.Wrench("one", x)), "links": lambda x: two_rods(vt.Gravity(x)),
    "frame of a load": lambda x: two_rods(vt.Spring("world", x, 1.0)), "steps of a run": lambda x: vt.simulate(MODEL, Q,
    dt=[x]), "joint": MODEL.joint, "frame": lambda x: MODEL.frame_pose(x, Q), "method": lambda x: vt.simulate(MODEL, Q,
    duration=0.02, dt=0.01, method=x), "a mass": lambda x: vt.body("b", x),
    "what to draw": lambda x: pytest.importorskip("vitree.plot").coordinates(RUN, of=x),
    "inertia of a plan": lambda x: control.RigidDynamics(lie.SE2, x, lambda t, g, xi, u: u, ("a",)),
}  # fmt: skip


class Mute(Broken):
    """An object that does not even tell what it is."""

    __repr__ = __str__ = __iter__ = __bool__ = __format__ = Broken._raise


class Nameless:
    """An object that cannot be looked up."""

    def __eq__(self, other):
        raise LookupError("mine")

    def __hash__(self):
        raise LookupError("mine")


@pytest.mark.parametrize("value", [Broken(), Mute(), Nameless(), np.ndarray, {0.1, "a"}, decimal.Decimal("sNaN"),
                                   np.array(["a", None], object)], ids=kind)  # fmt: skip
@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_of_its_kind_is_refused(place, value):
    with pytest.raises(vt.VitreeError):
        PLACES[place](value)


def test_arguments_at_odd_addresses_are_copied():
    """Compiled code reads numbers at addresses that are multiples of eight."""
    raw = np.zeros(8 * len(Q) + 1, np.uint8)
    odd = raw[1:].view(float)
    odd[:] = Q
    assert not odd.flags.aligned and as_numbers(odd).flags.aligned and as_numbers(Q) is Q
    found, expected = MODEL.forward_dynamics(Q, Q, odd), MODEL.forward_dynamics(Q, Q, Q)
    assert found.acceleration.tobytes() == expected.acceleration.tobytes()


@pytest.mark.parametrize("method", list(vt.METHODS))
def test_integrators_refuse_arrays_of_other_types(method):
    """Records of fields ended the process: their first field was taken for the numbers."""
    made, fields = vt.METHODS[method](MODEL, 0.01), np.zeros(2, [("a", float), ("b", np.int32)])
    for ask in (made.acceleration, made.multipliers_at):
        for state in ((fields, Q), (Q, fields), (Q[:1], Q)):
            with pytest.raises(vt.InputError, match=r"fields|shape"):
                ask(0.0, *state)
    with pytest.raises(vt.InputError, match=r"records\.q"):
        Records(np.zeros(2), np.zeros((2, 1), fields.dtype), np.zeros((2, 2)), np.zeros(2, np.intc), np.zeros(2),
                np.zeros((2, 0)))  # fmt: skip


FLAT = MODEL.flat


@pytest.mark.parametrize(("name", "value"), [
    ("parent", np.array([-1, 1], np.int32)), ("parent", np.array([0, -2], np.int32)), ("parent", np.array([-1.0, 0.0])),
    ("kind", np.array([0, 5], np.int32)), ("frame_body", np.full(len(FLAT.frame_body), 2, np.int32)),
    ("mass", np.ones(1)), ("inertia", np.zeros((2, 3))), ("friction", np.zeros(1)), ("mass", [1.0, np.nan]),
    ("mass", np.array(["a", "b"])), ("joints", 3), ("joints", (1, 2)), ("frame_names", ("a",)), ("link_com", ()),
    ("kinematic", np.zeros(2)), ("kind", [[1], 2]), ("kind", np.full(2, 2**32)), ("parent", np.full(2, 2**62)),
    ("damping", np.ndarray), ("damping", Broken()), ("name", 3), ("report", np.zeros(2)), ("geometry", (1,)),
    ("link_parent", (None, 3)), ("link_mass", ()), ("link_mass", np.zeros((2, 0))), ("link_mass", np.ones((2, 1))),
    ("link_mass", np.ones(2, "m8[s]")), ("link_mass", ("1", "1")), ("link_mass", (Broken(), 1.0)),
    ("link_com", np.zeros((2, 7, 3))), ("link_com", ((0, 0, 0), (0, 0))), ("link_com", np.full((2, 3), np.nan)),
    ("link_inertia", np.zeros((2, 3))), ("link_inertia", np.ones((2, 3, 3), complex)),
])  # fmt: skip
def test_a_model_is_made_of_sound_arrays_only(name, value):
    with pytest.raises(vt.VitreeError, match=name):
        vt.Model(dataclasses.replace(FLAT, **{name: value}))


def test_a_motion_of_one_step_is_a_straight_line():
    tree = vt.Tree("moved")
    tree.world.add(vt.tx("cart", kinematic=True), vt.body("cart", 1.0)).add(vt.ry("a"), vt.tz(-1.0), vt.body("b", 1.0))
    model = tree.compile()
    found = vt.simulate(model, duration=0.01, dt=0.01, control=vt.Control(prescribed={"cart": [0.0, 0.1]}))
    assert found.q[-1, 0] == 0.1 and found.v[-1, 0] == pytest.approx(10.0)


@pytest.mark.parametrize("steps", [0.1, np.longdouble(0.5), -1, None])
@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_an_integrator_runs_whole_steps(method, steps):
    """A run of a tenth of a step did not end."""
    made = vt.METHODS[method](MODEL, 0.01)
    made.start(0.0, Q, np.zeros(2))
    rows = np.zeros((9, 2))
    records = Records(np.zeros(9), rows, rows.copy(), np.zeros(9, np.intc), np.zeros(9), np.zeros((9, 0)))
    with pytest.raises(vt.InputError, match="whole numbers"):
        made.run(records, steps, 1, None)


def test_a_comparison_takes_numbers_of_other_libraries():
    result = vt.compare(MODEL, ["linear-time", "rk4"], Q, duration=Foreign(0.1), dt=Foreign(0.01), reference=None)
    assert [run.steps for run in result.trajectories.values()] == [10, 10]


@pytest.mark.parametrize("force", [-1e60, -1e308])
@pytest.mark.parametrize("method", ["scipy-rk45", "scipy-radau", "scipy-bdf", "scipy-lsoda"])
def test_solvers_that_no_longer_come_on_are_stopped(method, force):
    """They took a million steps within the first dt, or raised errors of SciPy's linear algebra."""
    with pytest.raises(vt.ConvergenceError, match=f"{method}: stopped at t = "):
        vt.simulate(MODEL, Q, duration=0.01, dt=1e-3, method=method,
                    wrenches=[vt.ExternalWrench(MODEL.link_names[-1], (0, 0, force))])  # fmt: skip


def test_ragged_counts_and_arrays_of_words_are_refused_by_name():
    work_precision = pytest.importorskip("vitree.plot").work_precision
    with pytest.raises(vt.VitreeError, match="columns"):
        vt.vehicles.boat(columns=[[6.0, 4.0], 1.0])
    found = vt.compare(MODEL, ["rk4"], Q, duration=0.02, dt=0.01, reference=None)
    with pytest.raises(vt.InputError, match="per="):
        work_precision(found, per=np.array([None, "a"], dtype=object))


def test_solvers_that_stand_still_are_stopped_soon():
    """LSODA took ten thousand steps of 1e-103 s where a boat is a googol too fast, half a minute on a slow machine."""
    boat = vt.vehicles.boat()
    fast = np.array([0, 0, 0, 1e100, 1e-4, 1e-3])
    with pytest.raises(vt.ConvergenceError, match="took 999 steps"):
        vt.simulate(boat, boat.neutral(), fast, duration=0.01, dt=1e-3, method="scipy-lsoda")


def test_numbers_of_more_digits_are_written_as_others():
    """A torque of long doubles ended a comparison's settings in a RecursionError."""
    torque = np.array([0.25, 0.5], dtype=np.longdouble)
    found = vt.compare(MODEL, ["linear-time", "rk4"], Q, control=torque, duration=0.02, dt=0.01, reference=None)
    assert json.loads(json.dumps(found.settings))["torque"] == [0.25, 0.5]


def test_names_that_are_no_words_are_refused_by_name():
    plot = pytest.importorskip("vitree.plot")
    run = vt.simulate(MODEL, Q, duration=0.02, dt=0.01)
    with pytest.raises(vt.VitreeError, match='must be "q", "v" or "p"'):
        plot.phase(run, MODEL.joint_names[0], against=np.zeros(6))
    with pytest.raises(vt.UnknownNameError, match="choose from None"):
        raise vt.UnknownNameError("joint", "a", [None])


@pytest.mark.parametrize("names", [np.eye(2), [["a"]], [None], [Broken()], np.array(["a", "b"]), 3])
def test_coordinates_that_are_no_names_are_not_drawn(names):
    plot = pytest.importorskip("vitree.plot")
    with pytest.raises(vt.VitreeError, match="coordinate"):
        plot.coordinates(RUN, names)
    with pytest.raises(vt.VitreeError, match="coordinate"):
        plot.phase(RUN, names)


def test_prescribed_balls_are_refused():
    tree = vt.Tree("ball")
    tree.world.add(vt.ball("joint"), vt.body("a", 1.0, (1, 1, 1)))
    with pytest.raises(vt.ModelError, match="cannot be prescribed"):
        dataclasses.replace(tree.compile().flat, kinematic=np.ones(3, bool))


@pytest.mark.parametrize("duration", [1e200, 1e-200, (1.0, 1e200), 1e11, 2**63])
def test_plans_of_no_sensible_duration_are_refused(duration):
    with pytest.raises(vt.InputError, match="duration"):
        control.ControlProblem(control.CarDynamics(**CAR), steps=3, duration=duration, start=np.zeros(5),
                               goal=[np.nan, 0, 0, 1.0, 0.1])  # fmt: skip


def test_a_reduced_model_is_not_reduced_again():
    reduced = two_rods().reduced()
    assert reduced.reduced() is reduced
    with pytest.raises(vt.ModelError, match=r"model\.full"):
        vt.ReducedModel(reduced)


@pytest.mark.parametrize("make", [vt.ball, vt.free, vt.rx])
@pytest.mark.parametrize("value", [np.eye(3), [True], Mute(), "yes", 1])
def test_what_is_no_truth_value_is_refused(make, value):
    with pytest.raises(vt.ModelError, match="kinematic"):
        make("joint", kinematic=value)


@pytest.mark.parametrize("name", [1, None, b"order", ("order",)])
def test_names_of_options_are_texts(name):
    with pytest.raises(vt.InputError, match="has the entry"):
        vt.compare(MODEL, [("midpoint", {name: 2})], Q, duration=0.02, dt=0.01)


def test_steps_whose_sum_is_no_double_are_refused():
    with pytest.raises(vt.InputError, match=r"^dt has steps whose sum is too large"):
        vt.simulate(MODEL, Q, dt=np.full(2, 1e308))


@pytest.mark.parametrize("bound", [0.0, 1e-200, 1e200, 1e308])
def test_inputs_of_any_bound_have_a_weight(bound):
    """The square of the bound was too large or too small for a double."""
    problem = control.ControlProblem(control.CarDynamics(**CAR), steps=3, duration=(1.0, 4.0), start=np.zeros(5),
                                     goal=[np.nan, 0, 0, 1.0, 0.1], bounds={"torque": (-bound, bound)})  # fmt: skip
    assert np.isfinite(problem.objective(problem.x0))


@pytest.mark.parametrize("name", [{}, {"a": 1}, [], "", 3, Mute(), Nameless()], ids=kind)
def test_names_of_elements_are_texts(name):
    for wrong in (dataclasses.replace(vt.rx("a"), joint=name), dataclasses.replace(vt.rx("a"), name=name)):
        with pytest.raises(vt.ModelError, match="must be a text"):
            vt.Tree("tree").world.add(wrong)


@pytest.mark.parametrize("name", ["kinetic", "potential", "p", "momentum", "residual", "multipliers"])
@pytest.mark.parametrize("size", [1e308, -1e308, 1e200])
def test_runs_with_numbers_too_large_are_drawn_or_refused(name, size):
    plot = pytest.importorskip("vitree.plot")
    field = getattr(RUN, name).copy()
    field[-1] = size
    run = dataclasses.replace(RUN, **{name: field})
    for draw in (plot.energy, plot.energy_error, plot.momentum, plot.iterations, plot.residual, plot.coordinates):
        assert draw(run).lines is not None


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e308])
def test_iterations_of_a_run_are_whole(value):
    with pytest.raises(vt.InputError, match=r"trajectory\.iterations"):
        dataclasses.replace(RUN, iterations=np.full(len(RUN), value))


def test_numbers_of_any_kind_are_told():
    with pytest.raises(vt.ModelError, match=r"rotor inertia .* is 0\.333333"):
        vehicles.snakeboard(half_length=0.2, rotor_inertia=Fraction(1, 3))


@pytest.mark.parametrize("hold", [(), ("j0",), ("j2",)])
def test_searches_that_start_next_to_a_singular_posture_end_or_are_told(hold):
    """A step of the search had entries of 0 times infinity where q has one of 1e-320."""
    tree = vt.Tree("loop")
    at = tree.world
    for k in range(3):
        at = at.add(vt.rx(f"j{k}"), vt.tz(-1.0), vt.body(f"b{k}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(vt.Distance("world", "b2", 2.0))
    try:
        assert np.isfinite(vt.minimize_potential_energy(tree.compile(), np.array([0.0, 0.0, 1e-320]), hold)).all()
    except vt.VitreeError as error:
        assert "dq" not in str(error) and "b2" in str(error)


@pytest.mark.parametrize("joint", [vt.planar, vt.cylindrical, vt.universal, vt.ball, vt.free, vt.spherical])
def test_joints_of_several_coordinates_are_not_prescribed(joint):
    with pytest.raises(vt.ModelError, match='"joint" cannot be prescribed: only joints of one coordinate can'):
        joint("joint", kinematic=True)
    tree = vt.Tree("several")
    tree.world.add(joint("joint", kinematic=False), vt.body("a", 1.0, (1, 1, 1)))
    flat = tree.compile().flat
    with pytest.raises(vt.ModelError, match="cannot be prescribed"):
        dataclasses.replace(flat, kinematic=np.ones(len(flat.kinematic), bool))
