"""Excitation: exact derivatives, limits that hold, and motions that show more than others."""

from __future__ import annotations

import numpy as np
import pytest
from closed_chains import closed_chain

import vitree as vt
from vitree.identification.excitation import CRITERIA, _Design, _limits
from vitree.identification.regressor import TorqueRegressor

ARM = vt.load_urdf(vt.find_robot("double_pendulum")).with_parameters(damping=[0.1, 0.05], friction=[0.2, 0.1])
LIMITS = {"position": (-2.0, 2.0), "velocity": [6.0, 8.0], "effort": [40.0, 15.0]}


def design(criterion, seed=0):
    return _Design(ARM, 5.0, 4, _limits(ARM, LIMITS), criterion, np.random.default_rng(seed))


def differences(function, x, step=1e-6):
    return np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_derivatives_are_those_of_differences(criterion):
    its = design(criterion)
    x = 0.5 * np.random.default_rng(1).normal(size=2 * 7)
    slope = its.objective(x)[1]
    np.testing.assert_allclose(slope, differences(lambda y: its.objective(y)[0], x), atol=1e-6 * np.abs(slope).max())
    rows = its.room_slopes(x)
    np.testing.assert_allclose(rows, differences(its.room, x).T, atol=1e-7 * np.abs(rows).max())


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_motion_is_within_its_limits_and_shows_more_than_random_ones(criterion):
    found = vt.design_excitation(ARM, 5.0, 0.01, harmonics=4, limits=LIMITS, criterion=criterion)
    assert found.t == pytest.approx(np.arange(501) * 0.01)
    low, high = LIMITS["position"]
    assert (found.q >= low).all() and (found.q <= high).all()
    assert (np.abs(found.v) <= LIMITS["velocity"]).all() and (np.abs(found.torque) <= LIMITS["effort"]).all()
    assert max(share.max() for share in found.use.values()) > 0.9
    # a motion: its rates are those of its positions, and it starts and ends at rest
    for rows, rates in ((found.q, found.v), (found.v, found.a)):
        np.testing.assert_allclose(np.gradient(rows, 0.01, axis=0)[5:-5], rates[5:-5], atol=0.02 * np.abs(rates).max())
    for rows in (found.v, found.a):
        np.testing.assert_allclose(rows[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(found.q[0], found.q[-1], atol=1e-9)
    # as compared with others, each as large as the limits allow
    its, rng, others = design(criterion), np.random.default_rng(3), []
    for _ in range(20):
        x = rng.normal(size=(2, 7))
        x[:, 0] = 0.0
        x = its.within(x.ravel(), its.maps, 1.0)
        others.append(its.measure(its.rows(*its.states(x, its.maps))))
    condition, log_det = np.array(others).T
    if criterion == "condition":
        assert found.condition < 0.8 * condition.min()
    else:
        assert found.log_det > log_det.max() + 2.0
    W = TorqueRegressor(ARM)(found.q, found.v, found.a)[:, :, found.base.columns] / np.array(LIMITS["effort"])[:, None]
    W = W.reshape(-1, len(found.base))
    assert np.linalg.cond(W / np.linalg.norm(W, axis=0)) == pytest.approx(found.condition, rel=0.1)


def test_forces_are_those_of_the_model():
    found = vt.design_excitation(ARM, 4.0, 0.02, harmonics=3, limits=LIMITS)
    smooth = np.maximum(0.01, 0.02 * np.array(LIMITS["velocity"]))
    expected = ARM.rnea(found.q, found.v, found.a) + ARM.damping * found.v
    expected += ARM.friction * found.v / np.sqrt(found.v**2 + smooth**2)
    np.testing.assert_allclose(found.torque, expected, atol=1e-12)
    assert repr(found) == f"<vitree.Excitation of 4 s for 11 base parameters: condition {found.condition:.3g}>"


def test_a_fit_to_the_motion_has_the_parameters():
    """What the motion is for: a run with noise under its torques, fitted from far away."""
    found = vt.design_excitation(ARM, 4.0, 0.01, harmonics=3, limits=LIMITS)
    rng = np.random.default_rng(0)
    run = vt.rollout(ARM, found.q[:1], duration=4.0, dt=0.01, control=found.torque[None, :-1])
    q, v = (x + size * rng.normal(size=x.shape) for x, size in ((run.q[0], 1e-3), (run.v[0], 1e-2)))
    far = ARM.with_parameters(mass={"rod1": 2.0, "rod2": 2.0}, damping=[0.3, 0.3], friction=[0.4, 0.4])
    joints, measured = ["hinge1", "hinge2"], vt.Measurement(run.t, q, v, torque=found.torque[:-1])
    fit = vt.identify(far, {"inertial": ["rod1", "rod2"], "damping": joints, "friction": joints}, measured, window=1.0,
                      noise=(1e-3, 1e-2))  # fmt: skip
    truth = vt.base_parameters(ARM).values(ARM)
    z = [(value - truth[name]) / fit.base.standard_errors[name] for name, value in fit.base.values.items()]
    assert np.abs(z).max() < 4.0 and len(z) == 10


@pytest.mark.parametrize(("change", "error", "text"), [
    ({"limits": {"velocity": 5.0, "torque": 3.0}}, vt.UnknownNameError, "torque"),
    ({"limits": {}}, vt.InputError, 'the joint "hinge1" has no limit of velocity'),
    ({"limits": {"velocity": -1.0}}, vt.InputError, "positive"),
    ({"limits": {"velocity": [1.0, 2.0, 3.0]}}, vt.InputError, "shape"),
    ({"limits": {"velocity": 1.0, "position": (1.0, -1.0)}}, vt.InputError, "below the upper"),
    ({"duration": 0.0}, vt.InputError, "duration"), ({"dt": -1.0}, vt.InputError, "dt"),
    ({"dt": 3.0}, vt.InputError, "half of the duration"), ({"dt": 1e-9}, vt.InputError, "1,000,000th part"),
    ({"harmonics": 1}, vt.InputError, "harmonics"), ({"harmonics": 101}, vt.InputError, "at most 100"),
    ({"criterion": "trace"}, vt.UnknownNameError, "trace"),
    ({"seed": -1}, vt.InputError, "seed"), ({"model": closed_chain()}, vt.InputError, "constraints"),
    ({"limits": {"velocity": 1.0, "position": (1.0, 1.5), "effort": 0.1}}, vt.ConvergenceError, "more effort"),
])  # fmt: skip
def test_wrong_arguments_are_told(change, error, text):
    given = {"model": ARM, "duration": 4.0, "limits": LIMITS} | change
    with pytest.raises(error, match=text):
        vt.design_excitation(**given)
