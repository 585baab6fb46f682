"""CasADi: the Jacobian of a step against differences, runs of steps, and wrong uses."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from bridged_models import EACH, METHODS, bridged_model, bridged_start, differences

import vitree as vt
from vitree.mechanism.flat import KINDS

casadi = pytest.importorskip("casadi")
from vitree.bridges import steps as engines  # noqa: E402
from vitree.bridges.casadi import Step  # noqa: E402


def column(x):
    return np.array(x).ravel()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [*EACH, KINDS], ids=[*KINDS, "all"])
def test_the_jacobian_against_differences(kinds, method):
    model = bridged_model(kinds)
    step = Step(model, dt=0.02, method=method, tolerance=1e-14)
    q, p, torque, inputs = bridged_start(model, 1, 1)
    given = q[0], p[0], torque[0, 0], inputs[0, 0]
    splits = np.cumsum([x.size for x in given])[:-1]
    blocks = step.jacobian()(*given, 0, 0)
    found = np.block([[np.array(blocks[4 * i + j]) for j in range(4)] for i in range(2)])
    expected = differences(lambda x: np.concatenate([column(y) for y in step(*np.split(x, splits))]),
                           np.concatenate(given))  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-9 * max(1.0, np.abs(expected).max()))


def test_names_and_sizes():
    model = bridged_model()
    step = Step(model, dt=0.01, name="robot")
    assert step.name() == "robot"
    assert step.name_in() == ["q", "p", "torque", "inputs"]
    assert step.name_out() == ["q2", "p2"]
    assert [step.size1_in(i) for i in range(4)] == [model.nq, model.nv, model.nv, len(model.input_names)]
    bare = Step(vt.load_urdf(vt.find_robot("double_pendulum")), dt=0.01)
    assert bare.name_in() == ["q", "p", "torque"]
    by_name = bare(q=[0.1, 0.2], torque=[1.0, 0.0])
    by_place = bare([0.1, 0.2], 0, [1.0, 0.0])
    assert np.array_equal(column(by_name["q2"]), column(by_place[0]))


def test_mapaccum_is_a_run_and_has_its_gradient():
    model = bridged_model()
    step, count = Step(model, dt=0.01, tolerance=1e-14), 4
    engine = engines.Steps(model, 0.01, "linear-time", {"tolerance": 1e-14})
    q, p, torque, inputs = bridged_start(model, 1, count)
    course = engine.forward(q, p, torque, inputs)
    run = step.mapaccum("run", count, 2)
    Q, P = run(q[0], p[0], torque[0].T, inputs[0].T)
    np.testing.assert_allclose(np.array(Q).T, course.q[0, 1:], rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.array(P).T, course.p[0, 1:], rtol=0, atol=1e-11)
    start, forces = casadi.MX.sym("q", model.nq), casadi.MX.sym("torque", model.nv, count)
    Q, P = run(start, p[0], forces, inputs[0].T)
    cost = casadi.sumsqr(Q[:, -1] - 1) + casadi.sumsqr(P)
    gradient = casadi.Function("g", [start, forces], [casadi.gradient(cost, start), casadi.gradient(cost, forces)])
    by_q, by_forces = gradient(q[0], torque[0].T)
    q_bar, p_bar = np.zeros_like(course.q), 2 * course.p
    q_bar[0, -1], p_bar[0, 0] = 2 * (course.q[0, -1] - 1), 0.0
    expected = course.pullback(q_bar, p_bar)
    np.testing.assert_allclose(column(by_q), expected[0][0], rtol=0, atol=1e-8 * np.abs(expected[0]).max())
    np.testing.assert_allclose(np.array(by_forces).T, expected[2][0], rtol=0, atol=1e-8 * np.abs(expected[2]).max())


def test_ipopt_finds_torques_to_a_goal():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    step, count = Step(model, dt=0.05), 10
    run = step.mapaccum("run", count, 2)
    torque = casadi.MX.sym("torque", 2, count)
    Q, P = run([0.0, 0.0], [0.0, 0.0], torque)
    end = casadi.vertcat(Q[:, -1] - np.array([0.2, -0.1]), P[:, -1])
    options = {"ipopt.hessian_approximation": "limited-memory", "ipopt.print_level": 0, "print_time": False}
    solver = casadi.nlpsol("solver", "ipopt", {"x": casadi.vec(torque), "f": casadi.sumsqr(torque), "g": end}, options)
    found = solver(x0=0, lbg=0, ubg=0)
    assert solver.stats()["success"]
    rows = np.array(found["x"]).reshape(count, 2)
    held = vt.Simulation(model, np.zeros(2), dt=0.05)
    for row in rows:
        held.step(control=row)
    np.testing.assert_allclose(held.q, [0.2, -0.1], atol=1e-6)
    np.testing.assert_allclose(held.p, 0.0, atol=1e-6)


def test_wrong_uses_are_told(capfd):
    model = bridged_model()
    step = Step(model, dt=0.01)
    q, p, torque, inputs = (x[0] for x in bridged_start(model, 1, 1))
    with pytest.raises(RuntimeError, match="p has an entry nan in row 0"):
        step(q, p * np.nan, torque[0], inputs[0])
    assert isinstance(step.error, vt.InputError)
    short = Step(model, dt=0.2, method="midpoint", max_iterations=3)
    with pytest.raises(RuntimeError, match=r"step 1 at t = 0 s, dt = 0.2 s: .*halve dt"):
        short(q, 300 * p, torque[0], inputs[0])
    assert isinstance(short.error, vt.ConvergenceError)
    assert short.error.time == 0.0
    with pytest.raises((RuntimeError, NotImplementedError)):
        step(q[:-1], p, torque[0], inputs[0])
    with pytest.raises(vt.InputError, match="linear-time or midpoint"):
        Step(model, dt=0.01, method="rk4")


def test_without_casadi_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    monkeypatch.delitem(sys.modules, "vitree.bridges.casadi")
    with pytest.raises(vt.errors.MissingExtraError, match=r"pip install 'vitree\[casadi\]'"):
        importlib.import_module("vitree.bridges.casadi")
