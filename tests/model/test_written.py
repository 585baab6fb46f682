"""Loads and constraints written in Python: the same as compiled ones, checked, and errors that come through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import SINGLE, distances, one_coordinate_joints, random_tree
from own_parts import ENDS, ExactDamper, ExactDistance, ExactSpring, OwnDamper, OwnDistance, OwnSpring

import vitree as vt
from vitree.integrators.base import Records
from vitree.mechanism.flat import KINDS


def pair(seed, own, compiled, kinds=SINGLE, where="loads"):
    """The same model with a part written in Python and with a compiled one, and a state that both allow."""
    flat, q, v = random_tree(seed, nbody=5, kinds=kinds)
    length = float(np.linalg.norm(distances(vt.Model(flat), q, *ENDS)))
    models = [vt.Model(replace(flat, **{where: (make(length),)})) for make in (own, compiled)]
    return models, q, models[1].project_velocity(q, v)


def same(models, q, v, method, tolerance=1e-9):
    """Two models of one mechanism move alike."""
    options = {} if method == "rk4" else {"tolerance": 1e-12}
    runs = [vt.simulate(model, q, v, duration=0.1, dt=0.005, method=method, **options) for model in models]
    assert np.abs(runs[0].q - runs[1].q).max() < tolerance
    assert np.abs(runs[0].energy - runs[1].energy).max() < 100 * tolerance
    return runs


LOADS = [
    (lambda r: OwnSpring(7.0, 0.6 * r), lambda r: vt.Spring(*ENDS, 7.0, 0.6 * r)),
    (lambda r: ExactSpring(7.0, 0.6 * r), lambda r: vt.Spring(*ENDS, 7.0, 0.6 * r)),
    (lambda r: OwnDamper(1.5), lambda r: vt.Damper(*ENDS, 1.5)),
    (lambda r: ExactDamper(1.5), lambda r: vt.Damper(*ENDS, 1.5)),
]
NAMES = ["spring-differenced", "spring-exact", "damper-differenced", "damper-exact"]


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4"])
@pytest.mark.parametrize(("own", "compiled"), LOADS, ids=NAMES)
def test_loads_act_as_the_compiled_ones(own, compiled, method, kinds):
    models, q, v = pair(3, own, compiled, kinds)
    bare = vt.Model(replace(models[0].flat, loads=()))
    runs = same(models, q, v, method)
    without = vt.simulate(bare, q, v, duration=0.1, dt=0.005, method=method)
    assert np.abs(runs[0].q - without.q).max() > 1e-4  # it does something


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("method", ["midpoint", "rk4"])
@pytest.mark.parametrize("own", [OwnDistance, ExactDistance], ids=["differenced", "exact"])
def test_a_constraint_acts_as_the_compiled_one(own, method, kinds):
    models, q, v = pair(3, own, lambda r: vt.Distance(*ENDS, r), kinds, "constraints")
    runs = same(models, q, v, method, 1e-9)
    # D2h(v, v) by differences over 1e-5 / |v|, of a gradient that is off by 1e-15 / 6e-6 if it is one of differences
    speed = np.abs(runs[1].v).max()
    noise = (1e-15 / 6e-6 if own is OwnDistance else 1e-15) / 1e-5 * speed**2 * 5
    assert np.nanmax(np.abs(runs[0].multipliers - runs[1].multipliers)) < 1e-7 + (noise if method == "rk4" else 1e-6)


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("residual", ["recursive", "tree"])
def test_newton_takes_their_derivatives(residual, kinds):
    """As few corrections as with compiled ones, stiff as they are."""
    for own, compiled in ((lambda r: ExactSpring(3e4, 0.98 * r), lambda r: vt.Spring(*ENDS, 3e4, 0.98 * r)),
                          (lambda r: ExactDamper(300.0), lambda r: vt.Damper(*ENDS, 300.0))):  # fmt: skip
        models, q, v = pair(3, own, compiled, kinds)
        starts = [one_coordinate_joints(model, q, v) if residual == "tree" else (model, q, v) for model in models]
        runs = [vt.simulate(*start, duration=0.05, dt=0.01, method="midpoint", solver="recursive-newton",
                            residual=residual, guess="euler", tolerance=1e-10) for start in starts]  # fmt: skip
        assert (runs[0].iterations <= runs[1].iterations + 1).all()
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-8


def test_forward_dynamics_and_the_lagrangian_have_them():
    for own, compiled in LOADS:
        models, q, v = pair(3, own, compiled)
        a, b = (model.forward_dynamics(q, v).acceleration for model in models)
        assert np.abs(a - b).max() < 1e-7 * np.abs(b).max()
        one, two = (model.lagrangian_derivatives(q, v) for model in models)
        assert one.value == pytest.approx(two.value, rel=1e-12)
        assert np.abs(one.by_q - two.by_q).max() < 1e-7 * np.abs(two.by_q).max()
        assert np.abs(one.by_qq - two.by_qq).max() < 1e-4 * np.abs(two.by_qq).max()
    models, q, v = pair(3, OwnDistance, lambda r: vt.Distance(*ENDS, r), where="constraints")
    a, b = (model.forward_dynamics(q, v) for model in models)
    assert np.abs(a.acceleration - b.acceleration).max() < 1e-5 * np.abs(b.acceleration).max()


class Follow(vt.Force):
    """A torque by time, input and velocity on the first joint."""

    def force(self, model, t, q, v, u):
        out = np.zeros(model.nv)
        out[0] = np.sin(3 * t) + 2 * u[0] - 0.4 * v[0]
        return out


@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4"])
def test_forces_see_time_and_inputs_in_order(method):
    flat, q, v = random_tree(8, nbody=4)
    model = vt.Model(replace(flat, loads=(Follow(), vt.JointForce("joint1", "push"))))

    def torque(t, q, v):
        out = np.zeros(model.nv)
        out[0] = np.sin(3 * t) + 2 * np.cos(t) - 0.4 * v[0]
        out[model.joint("joint1").v_slice] = np.cos(t)
        return out

    exact = vt.simulate(vt.Model(flat), q, v, t0=0.3, duration=0.4, dt=0.4, method="scipy-dop853", control=torque,
                        rtol=1e-12, atol=1e-12)  # fmt: skip
    errors, steps = [], (0.04, 0.02, 0.01) if method == "rk4" else (0.01, 0.005, 0.0025)
    for dt in steps:
        run = vt.simulate(model, q, v, t0=0.3, duration=0.4, dt=dt, method=method,
                          control=vt.Control(inputs={"push": np.cos}))
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order > 3.5 if method == "rk4" else abs(order - 2) < 0.1


# ---- check_derivatives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [SINGLE, KINDS], ids=["single", "all"])
def test_right_derivatives_pass(kinds):
    flat, q, v = random_tree(3, nbody=5, kinds=kinds)
    model = vt.Model(flat)
    for written in (OwnSpring(7.0, 0.5), ExactSpring(7.0, 0.5), OwnDamper(1.5), ExactDamper(1.5), OwnDistance(1.0),
                    ExactDistance(1.0)):  # fmt: skip
        vt.check_derivatives(written, model)
        vt.check_derivatives(written, model, q, v)


def wrong(base, name, change):
    """A class whose derivative of that name is changed."""
    given = getattr(base, name)
    return type("Wrong", (base,), {name: lambda self, *a: change(np.array(given(self, *a)))})


def at(*entry):
    """Add one to an entry."""

    def change(x):
        x[entry] += 1.0
        return x

    return change


@pytest.mark.parametrize(
    ("base", "arguments", "name", "entry"),
    [
        (ExactSpring, (7.0, 0.5), "gradient", (2,)),
        (ExactSpring, (7.0, 0.5), "hessian", (3, 1)),
        (ExactDamper, (1.5,), "by_q", (0, 4)),
        (ExactDamper, (1.5,), "by_v", (4, 2)),
        (ExactDistance, (1.0,), "gradient", (1,)),
    ],
)
def test_wrong_derivatives_are_named(base, arguments, name, entry):
    flat, _, _ = random_tree(3, nbody=5)
    model = vt.Model(flat)
    names = ", ".join(model.v_names[k] for k in entry)
    with pytest.raises(vt.InputError) as failure:
        vt.check_derivatives(wrong(base, name, at(*entry))(*arguments), model)
    assert str(failure.value).startswith(f"{name} of Wrong: entry {list(entry)} ({names}) is ")
    with pytest.raises(vt.InputError, match=rf"{name} of Wrong has shape \({model.nv + 1},"):
        vt.check_derivatives(wrong(base, name, lambda x: np.append(x, x[:1], axis=0))(*arguments), model)
    with pytest.raises(vt.InputError, match=f"{name} of Wrong: entry.* is nan"):
        vt.check_derivatives(wrong(base, name, lambda x: x * np.nan)(*arguments), model)


def test_something_else_is_not_checked():
    with pytest.raises(vt.InputError, match="Potential, Force or Constraint"):
        vt.check_derivatives("spring", vt.Model(random_tree(3)[0]))


# ---- failures ---------------------------------------------------------------------------------------------


def failing_class(base, name, answer):
    """A class whose method fails after ``calls`` calls, or only then if ``once``: it raises or spoils the answer."""

    def method(self, *arguments):
        self.calls -= 1
        right = getattr(base, name)(self, *arguments)
        if self.calls >= 0 or (self.once and self.calls < -1):
            return right
        if isinstance(answer, Exception):
            raise answer
        return answer(right)

    return type("Failing", (base,), {name: method, "calls": 10**9, "once": False})


METHODS_OF = [
    (ExactSpring, (7.0, 0.5), "energy"), (ExactSpring, (7.0, 0.5), "gradient"), (ExactSpring, (7.0, 0.5), "hessian"),
    (ExactDamper, (1.5,), "force"), (ExactDamper, (1.5,), "by_q"), (ExactDamper, (1.5,), "by_v"),
    (ExactDistance, (None,), "value"), (ExactDistance, (None,), "gradient"),
]  # fmt: skip




def name_of(part):
    """Of a class, its method or its arguments, in the names of tests."""
    return part.__name__ if isinstance(part, type) else part if isinstance(part, str) else ""


#: Derivatives that are taken by differences of a method.
DIFFERENCED = {"gradient": "gradient|hessian", "force": "force|by_q|by_v"}


def failing(base, arguments, name, answer, kinds=SINGLE):
    """A model with a part that fails, the part, and a start."""
    flat, q, v = random_tree(3, nbody=5, kinds=kinds)
    if issubclass(base, vt.Constraint):
        arguments = (float(np.linalg.norm(distances(vt.Model(flat), q, *ENDS))),)
        v = vt.Model(replace(flat, constraints=(ExactDistance(*arguments),))).project_velocity(q, v)
    part = failing_class(base, name, answer)(*arguments)
    where = "constraints" if issubclass(base, vt.Constraint) else "loads"
    return vt.Model(replace(flat, **{where: (part,)})), part, q, v


def calls_of(model, part, q, v, **options):
    """How often a run calls the part's method."""
    part.calls = 10**9
    run = vt.simulate(model, q, v, **options)
    return 10**9 - part.calls, run


@pytest.mark.parametrize("once", [False, True], ids=["from then on", "once"])
@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4", "scipy-dop853"])
@pytest.mark.parametrize(("base", "arguments", "name"), METHODS_OF, ids=name_of)
def test_exceptions_come_through_from_any_call(base, arguments, name, method, kinds, once):
    """Whichever call it is that fails: the error names the class, and its cause is the user's own exception."""
    mine = ZeroDivisionError("mine")
    model, part, q, v = failing(base, arguments, name, mine, kinds)
    options = {"duration": 0.02, "dt": 0.01, "method": method}
    count, _ = calls_of(model, part, q, v, **options)
    part.once = once
    # the first calls, and some on the way to the last one
    for k in sorted({*range(min(count, 12)), *range(0, count, max(count // 12, 1)), *range(max(count - 6, 0), count)}):
        part.calls = k
        with pytest.raises(vt.CallableError, match=r"of Failing.* raised ZeroDivisionError: mine") as failure:
            vt.simulate(model, q, v, **options)
        assert failure.value.__cause__ is mine, k


@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4"])
@pytest.mark.parametrize(("base", "arguments", "name"), METHODS_OF, ids=name_of)
def test_a_failed_step_leaves_the_state_as_it_was(base, arguments, name, method):
    """And the next attempt, when nothing fails, is that of a run in which nothing did."""
    model, part, q, v = failing(base, arguments, name, ZeroDivisionError("mine"))
    kind, h = vt.METHODS[method], 0.01
    step = kind(model, h, **({"tolerance": 1e-13} if kind.uses_momentum else {})).stepper
    step.set_state(0.0, q, model.generalized_momentum(q, v) if kind.uses_momentum else v)
    n, m = 1, len(model.constraints)
    rows = [np.empty(n), np.empty((n, model.nq)), np.empty((n, model.nv)), np.empty(n, np.intc), np.empty(n),
            np.empty((n, m))]  # fmt: skip
    run = lambda: step.run(1, 1, Records(*rows, rows=0))  # noqa: E731
    assert run() == 0
    before, used = step.state(), 10**9 - part.calls
    assert run() == 0
    after, count = step.state(), 10**9 - part.calls - used
    for k in range(count):
        step.set_state(0.0, q, model.generalized_momentum(q, v) if kind.uses_momentum else v)
        part.calls = 10**9
        run()
        part.calls = k
        assert run() == 4, k
        assert isinstance(step.exception.__cause__, ZeroDivisionError)
        for x, y in zip(before, step.state(), strict=True):
            assert np.array_equal(x, y)
        part.calls = 10**9
        assert run() == 0
        for x, y in zip(after, step.state(), strict=True):
            # to the tolerance of the solver, whose guess is another
            assert np.abs(np.subtract(x, y)).max() < 1e-8


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4"])
@pytest.mark.parametrize("what", ["NaN", "shape"])
@pytest.mark.parametrize(("base", "arguments", "name"), METHODS_OF[1:], ids=name_of)
def test_nan_and_wrong_shapes_are_errors_that_name_their_origin(base, arguments, name, what, method, kinds):
    """NaN from any call on: the class and its method, or the one that is its differences, are in the message."""
    if what == "shape" and name == "value":
        return
    answer = (lambda x: x * np.nan) if what == "NaN" else (lambda x: np.append(x, x[:1], axis=0))
    model, part, q, v = failing(base, arguments, name, answer, kinds)
    options = {"duration": 0.02, "dt": 0.01, "method": method}
    count, _ = calls_of(model, part, q, v, **options)
    # a shape is wrong from the first call on: differences of answers of two shapes are none
    places = {*range(min(count, 8)), *range(max(count - 4, 0), count)} if what == "NaN" else range(min(count, 1))
    for k in sorted(places):
        part.calls = k
        with pytest.raises(vt.InputError, match=f"({DIFFERENCED.get(name, name)}) of Failing"):
            vt.simulate(model, q, v, **options)
