"""Linearised steps as systems in state space: eigenvalues, responses, names, and wrong uses."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from bridged_models import METHODS, bridged_model, bridged_start, unit

import vitree as vt
from vitree.bridges.state_space import matrices, to_control, to_scipy


def linearized(method="linear-time"):
    model = bridged_model(nbody=4)
    q, p, torque, inputs = bridged_start(model, 1, 1)
    whole = unit(model, q[0])
    control = vt.Control(torque=torque[0, 0], inputs=inputs[0, 0])
    return vt.linearize(model, whole, p0=p[0], dt=0.02, method=method, control=control)


def sorted_eigenvalues(A):
    return in_order(np.linalg.eigvals(A))


def in_order(x):
    return np.sort_complex(np.round(x, 9))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("velocities", [False, True])
def test_scipy_has_the_eigenvalues_and_the_response(method, velocities):
    from scipy.signal import dlsim

    step = linearized(method)
    system = to_scipy(step, velocities=velocities)
    A, *B = step.in_velocities() if velocities else (step.A, step.by_torque, step.by_inputs)
    np.testing.assert_allclose(sorted_eigenvalues(system.A), sorted_eigenvalues(A), atol=1e-8)
    assert system.dt == 0.02
    u = np.random.default_rng(0).normal(size=(5, sum(x.shape[1] for x in B)))
    _, out, states = dlsim(system, u)
    x = np.zeros(len(A))
    for k in range(5):
        np.testing.assert_allclose(out[k], x, atol=1e-9 * max(1.0, np.abs(x).max()))
        x = A @ x + np.concatenate(B, axis=1) @ u[k]
    assert np.array_equal(out, states)


def test_states_in_momenta_and_in_velocities_are_one_system_where_a_step_begins_and_ends_at_rest():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    step = vt.linearize(model, [np.pi, 0.0], dt=0.01)
    one, other = to_scipy(step), to_scipy(step, velocities=True)
    assert np.abs(one.A - other.A).max() > 0.1
    np.testing.assert_allclose(sorted_eigenvalues(one.A), sorted_eigenvalues(other.A), atol=1e-9)


def test_inputs_are_chosen_by_name():
    step = linearized()
    whole, nv = matrices(step), step.model.nv
    assert whole.inputs == (*(f"torque {name}" for name in step.model.v_names), *step.model.input_names)
    assert whole.states[:nv] == tuple(f"d {name}" for name in step.model.v_names)
    assert whole.states[nv:] == tuple(f"p {name}" for name in step.model.v_names)
    assert matrices(step, velocities=True).states[nv] == f"v {step.model.v_names[0]}"
    few = matrices(step, inputs=["push", whole.inputs[2]])
    assert few.inputs == ("push", whole.inputs[2])
    assert np.array_equal(few.B, whole.B[:, [whole.inputs.index("push"), 2]])
    assert few.D.shape == few.B.shape
    assert np.array_equal(few.C, np.eye(2 * nv))


def test_python_control():
    control = pytest.importorskip("control")
    step = linearized()
    system = to_control(step, velocities=True)
    A = step.in_velocities().A
    np.testing.assert_allclose(in_order(system.poles()), sorted_eigenvalues(A), atol=1e-8)
    assert system.dt == 0.02
    names = matrices(step, velocities=True).states
    assert system.state_labels == [name.replace(" ", "_").replace(".", "_") for name in names]
    assert "push" in system.input_labels
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    upright = vt.linearize(model, [np.pi, 0.0], dt=0.01)
    gains, *_ = control.dlqr(to_control(upright, inputs=["torque hinge1"]), np.eye(4), [[0.1]])
    own = vt.control.lqr(upright, Q=np.ones(4), R=[0.1], actuators=["hinge1"])
    np.testing.assert_allclose(gains, own.K[0], rtol=1e-6)


def test_wrong_uses_are_told(monkeypatch):
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    step = vt.linearize(model, dt=0.01)
    run = vt.simulate(model, [0.1, 0.0], duration=0.1, dt=0.01, method="linear-time").linearize()
    with pytest.raises(vt.InputError, match="10 steps"):
        to_scipy(run)
    with pytest.raises(vt.InputError, match="Linearization"):
        matrices(step.A)
    with pytest.raises(vt.UnknownNameError, match='did you mean "torque hinge1"'):
        to_scipy(step, inputs=["torque hing1"])
    with pytest.raises(vt.InputError, match="twice"):
        to_scipy(step, inputs=["torque hinge1", "torque hinge1"])
    with pytest.raises(vt.InputError, match="sequence of names"):
        to_scipy(step, inputs="torque hinge1")
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(vt.errors.MissingExtraError, match=r"pip install 'vitree\[python-control\]'"):
        to_control(step)
