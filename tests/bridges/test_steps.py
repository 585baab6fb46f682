"""What all bridges are made of: coordinates of quaternions, steps, their derivatives forward, backward and twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bridged_models import EACH, METHODS, ball_on_the_ground, bridged_model, bridged_start, differences, unit
from random_models import random_flat
from step_differences import slope

import vitree as vt
from vitree.bridges import steps as engines
from vitree.bridges.coordinates import Coordinates
from vitree.bridges.smooth import LastPoint
from vitree.bridges.steps import Steps
from vitree.mechanism.flat import KINDS


@pytest.mark.parametrize("kinds", [*EACH, KINDS], ids=[*KINDS, "all"])
def test_coordinates_and_displacements(kinds):
    model = bridged_model(kinds, nbody=5)
    q = bridged_start(model, 3, 1)[0]
    coordinates = Coordinates(model)
    whole = unit(model, q)
    np.testing.assert_allclose(coordinates.normalized(q), whole, rtol=0, atol=1e-15)
    assert np.array_equal(coordinates.normalized(whole), whole)
    E, P = coordinates.by_displacements(whole), coordinates.displacements(q)
    for k in range(3):
        expected = differences(lambda d, k=k: model.integrate(whole[k], d), np.zeros(model.nv))
        np.testing.assert_allclose(E[k], expected, rtol=0, atol=1e-9)
        for unit_v, each in zip(np.eye(model.nv), E[k].T, strict=True):
            np.testing.assert_allclose(model.configuration_rate(whole[k], unit_v), each, rtol=0, atol=1e-14)
        expected = differences(lambda x, k=k: model.difference(whole[k], unit(model, x)), q[k])
        np.testing.assert_allclose(P[k], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_steps_have_the_bits_of_simulate(method):
    model = bridged_model()
    steps = Steps(model, 0.01, method, {})
    q, p, torque, inputs = bridged_start(model, 5, 3)
    torque[:] = torque[:, :1]
    whole = steps.coordinates.normalized(q)
    together = steps.forward(q, p, torque, inputs)
    for k in range(5):
        alone = steps.forward(q[k : k + 1], p[k : k + 1], torque[k : k + 1], inputs[k : k + 1])
        run = vt.simulate(model, whole[k], p0=p[k], duration=0.03, dt=0.01, method=method,
                          control=vt.Control(torque=torque[k, 0], inputs=inputs[k]), tolerance=1e-12)  # fmt: skip
        for found in (together.q[k], alone.q[0]):
            assert np.array_equal(found, run.q)
        for found in (together.p[k], alone.p[0]):
            assert np.array_equal(found, run.p)


@pytest.mark.parametrize("method", METHODS)
def test_gradients_swept_back_are_the_transposed_derivatives(method):
    """Those of each output by each argument, one row at a time, against differences of the whole run."""
    model = bridged_model(("ball", "revolute"), nbody=2)
    steps, count = Steps(model, 0.02, method, {"tolerance": 1e-14}), 3
    given = bridged_start(model, 1, count)
    splits = np.cumsum([x.size for x in given])[:-1]

    def whole(x):
        parts = zip(np.split(x, splits), given, strict=True)
        course = steps.forward(*(part.reshape(like.shape) for part, like in parts))
        return np.concatenate([course.q.ravel(), course.p.ravel()])

    course = steps.forward(*given)
    expected = differences(whole, np.concatenate([x.ravel() for x in given]))
    for row, unit_row in zip(expected, np.eye(len(expected)), strict=True):
        bars = unit_row[: course.q.size].reshape(course.q.shape), unit_row[course.q.size :].reshape(course.p.shape)
        found = np.concatenate([x.ravel() for x in course.pullback(*bars)])
        np.testing.assert_allclose(found, row, rtol=0, atol=3e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [bridged_model, lambda: vt.Model(random_flat(np.random.default_rng(2), nbody=4))],
                         ids=["inputs", "none"])  # fmt: skip
def test_gradients_of_many_are_those_of_each(make, method, monkeypatch):
    """All at once, a step at a time, each instance by itself, and from the runs of the instances."""
    model = make()
    steps, count = Steps(model, 0.01, method, {}), 4
    given = bridged_start(model, 5, count)
    rng = np.random.default_rng(8)
    bars = rng.normal(size=(5, count + 1, model.nq)), rng.normal(size=(5, count + 1, model.nv))
    together = steps.forward(*given).pullback(*bars)
    monkeypatch.setattr(engines, "ENTRIES", 1)
    by_steps = steps.forward(*given).pullback(*bars)
    for one, other in zip(together, by_steps, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(one).max(initial=1.0))
    for k in range(5):
        alone = steps.forward(*(x[k : k + 1] for x in given)).pullback(*(x[k : k + 1] for x in bars))
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(one[k], other[0], rtol=0, atol=1e-11 * np.abs(other).max(initial=1.0))
    steps.together = False
    by_runs = steps.forward(*given)
    assert len(by_runs.runs) == 5
    for one, other in zip(together, by_runs.pullback(*bars), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * np.abs(one).max(initial=1.0))


def test_drives_at_their_limits_have_no_gradient_by_the_target():
    tree = vt.Tree("rotor", gravity=(0, 0, 0))
    tree.world.add(vt.rx("hinge"), vt.body("rotor", 1.0, (0.5, 0.5, 0.5)))
    tree.load(vt.Drive("hinge", 50.0, 2.0, effort_limit=3.0, target="goal"))
    steps = Steps(tree.compile(), 0.01, "linear-time", {})
    inputs = np.array([0.02, 2.0, -2.0])[:, None, None]
    course = steps.forward(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1, 1)), inputs)
    *_, inputs_bar = course.pullback(np.zeros((3, 2, 1)), np.ones((3, 2, 1)))
    assert inputs_bar[0, 0, 0] > 0.1
    assert not inputs_bar[1:].any()


def test_threads_take_turns():
    model = bridged_model()
    steps = Steps(model, 0.01, "linear-time", {})
    q, p, torque, inputs = bridged_start(model, 12, 5)

    def alone(k):
        return steps.forward(*(x[k : k + 1] for x in (q, p, torque, inputs))).q[0]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(alone, range(12)))
    assert np.array_equal(np.array(found), steps.forward(q, p, torque, inputs).q)


def check_products(function, x, rtol):
    """J t and J^T b of a function of two arrays, at rows one by one, against differences."""
    point, rng = function.at(*x), np.random.default_rng(3)
    bar, changes = rng.normal(size=point.value[0].shape), [rng.normal(size=y.shape) for y in x]
    pulled, pushed = point.pull((bar,)), point.push(changes)[0]
    for k in range(len(bar)):
        expected = 0.0
        for j, change in enumerate(changes):
            def of_one(y, j=j, k=k):
                given = [y[None] if i == j else one[k : k + 1] for i, one in enumerate(x)]
                return function.at(*given).value[0][0]

            by = differences(of_one, x[j][k])
            size = max(1.0, np.abs(by).max())
            np.testing.assert_allclose(pulled[j][k], bar[k] @ by, rtol=0, atol=rtol * size)
            expected = expected + by @ change[k]
        np.testing.assert_allclose(pushed[k], expected, rtol=0, atol=rtol * size)


def test_momenta_and_velocities_and_their_derivatives():
    model = bridged_model(nbody=5)
    steps = Steps(model, 0.01, "midpoint", {})
    q, p, *_ = bridged_start(model, 2, 1)
    v = steps.velocities(q, p)
    np.testing.assert_allclose(steps.momenta(q, v), p, rtol=1e-11, atol=1e-12)
    check_products(steps.functions["momentum"], (q, v), 1e-8)
    check_products(steps.functions["velocity"], (q, p), 1e-8)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 2.0, 20.0])
def test_displacements_and_their_derivatives(size):
    model = bridged_model(nbody=6)
    steps = Steps(model, 0.01, "midpoint", {})
    rng = np.random.default_rng(5)
    q = bridged_start(model, 2, 1)[0]
    d = size * rng.normal(size=(2, model.nv)) / np.sqrt(model.nv)
    q1 = steps.displaced(q, d)
    np.testing.assert_allclose(q1, [model.integrate(a, b) for a, b in zip(unit(model, q), d, strict=True)], atol=1e-15)
    if size < 3:
        np.testing.assert_allclose(steps.differences(q, q1), d, rtol=0, atol=1e-12)
    check_products(steps.functions["integrate"], (q, d), 1e-8)
    check_products(steps.functions["difference"], (q, 1.5 * q1), 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_forward_and_backward_are_transposes(method, monkeypatch):
    """<b, J t> = <J^T b, t>, of many instances together, a few steps at a time, and from the runs of the instances."""
    model = bridged_model()
    steps, rng = Steps(model, 0.01, method, {}), np.random.default_rng(8)
    given = bridged_start(model, 3, 5)
    change = [rng.normal(size=x.shape) for x in given]
    bars = rng.normal(size=(3, 6, model.nq)), rng.normal(size=(3, 6, model.nv))

    def products():
        course = steps.forward(*given)
        pushed, pulled = course.pushforward(*change), course.pullback(*bars)
        for k in range(3):
            forward, back = (sum(np.vdot(a[k], b[k]) for a, b in zip(x, y, strict=True))
                             for x, y in ((bars, pushed), (pulled, change)))  # fmt: skip
            assert forward == pytest.approx(back, rel=1e-10)
        return pushed

    together = products()
    monkeypatch.setattr(engines, "ENTRIES", 1)
    by_steps = products()
    steps.together = False
    for other in (by_steps, products()):
        for one, found in zip(together, other, strict=True):
            np.testing.assert_allclose(found, one, rtol=0, atol=1e-11 * np.abs(one).max())


def derived(steps, name, arrays, w, size=1e-3):
    """Differences of order 6 of an operation along w, a change of x."""

    def at(to):
        moved = [a + to * b for a, b in zip(arrays, w, strict=False)]
        there = steps.functions["run"].evaluate(name, [*moved, *arrays[len(w) :]])
        return np.concatenate([x.ravel() for x in there])

    return slope(at, size)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [*EACH, KINDS], ids=[*KINDS, "all"])
def test_second_derivatives(kinds, method):
    """Against differences of the whole products along raw coordinates, for changes of very different sizes."""
    model = bridged_model(kinds)
    steps, rng = Steps(model, 0.02, method, {"tolerance": 1e-14}), np.random.default_rng(4)
    x = bridged_start(model, 2, 3)
    t, w = ([rng.normal(size=y.shape) for y in x] for _ in range(2))
    bars = [rng.normal(size=(2, 4, n)) for n in (model.nq, model.nv)]
    run = steps.functions["run"]
    for name, other in (("push", t), ("pull", bars)):
        expected = derived(steps, name, [*x, *other], w, 1e-4)
        # steps of prismatic joints are linear
        product = max(np.abs(y).max() for y in run.evaluate(name, [*x, *other]))
        size = max(np.abs(expected).max(), 1e-3 * product)
        for scale in (1e-6, 1.0, 1e6):
            along = run.evaluate(f"{name}_along", [*x, *other, *(scale * y for y in w)])
            found = np.concatenate([y.ravel() for y in along]) / scale
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * size)
    # they are symmetric, and transposes of each other
    one, other = (run.evaluate("push_along", [*x, *a, *b]) for a, b in ((t, w), (w, t)))
    back = run.evaluate("pull_along", [*x, *bars, *w])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-7 * max(1.0, np.abs(a).max()))
    forward = sum(np.vdot(a, b) for a, b in zip(bars, one, strict=True))
    assert forward == pytest.approx(sum(np.vdot(a, b) for a, b in zip(back, t, strict=True)), rel=1e-7, abs=1e-7)


def test_second_derivatives_that_do_not_exist_are_refused():
    steps = Steps(ball_on_the_ground(), 0.01, "linear-time", {})
    assert steps.functions["run"].require_along("value") == "push"
    assert steps.functions["momentum"].require_along("pull") == "pull_along"
    with pytest.raises(vt.ModelError, match=r"no second derivatives: it has contacts.* leave them out"):
        steps.functions["run"].require_along("pull")


def test_the_last_point_is_kept_for_the_same_numbers(monkeypatch):
    model = bridged_model()
    steps, taken = Steps(model, 0.01, "linear-time", {}), []
    forward = Steps.forward
    monkeypatch.setattr(Steps, "forward", lambda self, *x: taken.append(1) or forward(self, *x))
    x = bridged_start(model, 2, 3)
    last = LastPoint(steps.functions["run"])
    value = last.evaluate("value", x)
    pushed = last.evaluate("push", [*(y.copy() for y in x), *x])
    assert len(taken) == 1
    other = [x[0], 2 * x[1], *x[2:]]
    assert not np.array_equal(last.evaluate("value", other)[1], value[1])
    assert len(taken) == 2
    for one, again in zip(pushed, steps.functions["run"].evaluate("push", [*x, *x]), strict=True):
        assert np.array_equal(one, again)


def test_wrong_uses_are_told():
    model = bridged_model()
    steps = Steps(model, 0.01, "linear-time", {})
    q, p, torque, inputs = bridged_start(model, 2, 3)
    for name, k in (("q", 0), ("p", 1), ("torque", 2), ("inputs", 3)):
        given = [x.copy() for x in (q, p, torque, inputs)]
        given[k][1, ..., 0] = np.nan
        with pytest.raises(vt.InputError, match=f"^{name} has an entry nan in row 1"):
            steps.forward(*given)
    ball = next(joint for joint in model.joints if joint.kind in ("ball", "free"))
    flat = q.copy()
    flat[0, ball.q_slice] = 0.0
    with pytest.raises(vt.InputError, match=r"quaternion of length 0 .*any length but zero"):
        steps.forward(flat, p, torque, inputs)
    for wrong, text in (
        ({"method": "rk4"}, "linear-time or midpoint"), ({"method": "gauss"}, "linear-time or midpoint"),
        ({"dt": np.nan}, "dt"), ({"dt": -1.0}, "dt"), ({"dt": "auto"}, "dt"), ({"model": "robot"}, "vitree Model"),
        ({"options": {"order": 4}}, "order"), ({"options": {"speed": 4}}, "speed"),
    ):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=text):
            Steps(**{"model": model, "dt": 0.01, "method": "linear-time", "options": {}, **wrong})
    assert "linear-time, dt = 0.01 s" in repr(steps)


def test_shapes_are_checked():
    model = bridged_model()
    steps, nq, nv, nu = Steps(model, 0.01, "linear-time", {}), model.nq, model.nv, len(model.input_names)

    def sizes(*shapes, **more):
        return steps.sizes(dict(zip(("q", "p", "torque", "inputs"), shapes, strict=False)), **more)

    assert sizes((nq,), (nv,), one=True) == ((), 1)
    assert sizes((5, 1, nq), (2, nv), (2, 4, nv), (4, nu)) == ((5, 2), 4)
    assert sizes((nq,), (nv,), None, None, steps=7) == ((), 7)
    assert steps.sizes({"q": (3, nq), "v": (nv,)}, one=True) == ((3,), 1)
    one = {"one": True}
    for shapes, more, text in (
        (((nq + 1,), (nv,)), one, rf"q has shape \({nq + 1},\); it must be \(..., {nq}\)"),
        (((), (nv,)), one, r"q has shape \(\)"),
        (((nq,), (nv,), (nv,)), {}, rf"torque has shape \({nv},\); it must be \(..., steps, {nv}\)"),
        (((nq,), (nv,), None, (3, nu + 1)), {}, "inputs has shape"),
        (((2, nq), (3, nv)), one, "do not go together"), (((nq,), (nv,)), {}, "give steps"),
        (((nq,), (nv,), (4, nv), (5, nu)), {}, "4, 5"), (((nq,), (nv,), (4, nv)), {"steps": 3}, "3, 4"),
        (((nq,), (nv,)), {"steps": -1}, "positive"), (((nq,), (nv,)), {"steps": 0}, "positive"),
        (((nq,), (nv,)), {"steps": 2.5}, "whole"), (((nq,), (nv,), (0, nv)), {}, "one at least"),
    ):  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            sizes(*shapes, **more)
    with pytest.raises(vt.InputError, match="v has shape"):
        steps.sizes({"q": (nq,), "v": (nv + 1,)}, one=True)


@pytest.mark.parametrize("count", [1, 3])
def test_a_step_that_fails_leaves_the_steps_as_they_were(count):
    model = bridged_model()
    steps = Steps(model, 0.2, "midpoint", {"max_iterations": 3})
    q, p, torque, inputs = bridged_start(model, count, 2)
    with pytest.raises(vt.ConvergenceError) as caught:
        steps.forward(q, 300 * p, torque, inputs)
    assert caught.value.time == 0.0
    fine = Steps(model, 0.001, "midpoint", {})
    before = fine.forward(q, p, torque, inputs)
    with pytest.raises(vt.VitreeError):
        fine.forward(q, 1e9 * p, torque, inputs)
    assert np.array_equal(fine.forward(q, p, torque, inputs).q, before.q)


def test_gradients_through_a_slide():
    """Friction opposes, by half, the slip of the step before: gradients go through it. Zero is no start here."""
    model = ball_on_the_ground()
    steps, rng = Steps(model, 0.01, "linear-time", {"tolerance": 1e-13}), np.random.default_rng(3)
    q = model.neutral()
    q[2] = 0.1
    given = [q[None], np.array([[1.0, 0.4, 0, 0, 0, 0.01]]), 0.1 * rng.normal(size=(1, 12, 6)), np.zeros((1, 12, 0))]
    course = steps.forward(*given)
    q_bar, p_bar = rng.normal(size=course.q.shape), rng.normal(size=course.p.shape)
    found, change = course.pullback(q_bar, p_bar)[2], rng.normal(size=given[2].shape)
    sides = [steps.forward(*given[:2], given[2] + sign * 1e-5 * change, given[3]) for sign in (1, -1)]
    expected = sum(sign * (np.vdot(q_bar, x.q) + np.vdot(p_bar, x.p)) for sign, x in zip((1, -1), sides, strict=True))
    assert np.vdot(found, change) == pytest.approx(expected / 2e-5, rel=1e-7)
    pushed = course.pushforward(*(np.zeros_like(x) for x in given[:2]), change, given[3])
    assert np.vdot(q_bar, pushed[0]) + np.vdot(p_bar, pushed[1]) == pytest.approx(np.vdot(found, change), rel=1e-10)
