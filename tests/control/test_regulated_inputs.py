"""Regulators whose controls are inputs of loads and targets of drives."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.control import QuadraticCost, lqr, optimize_motion, tvlqr

MASS = 1.2


def rotorcraft():
    """A body with thrust along its axis and torques about all of them."""
    tree = vt.Tree("rotorcraft")
    tree.world.add(vt.free("base"), vt.body("hull", MASS, (0.01, 0.012, 0.02)))
    tree.load(vt.Wrench("hull", torque=("roll", "pitch", "yaw"), force=(0, 0, "thrust"), axes="local"))
    return tree.compile()


def driven_pendulum():
    """A double pendulum with a weak servo on each joint: the targets are the controls."""
    return vt.load_urdf(vt.find_robot("double_pendulum")).with_drives({"*": (20.0, 1.0)})


HOVER = {"roll": 0.0, "pitch": 0.0, "yaw": 0.0, "thrust": 9.81 * MASS}


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_body_that_hovers_by_its_inputs(method):
    model = rotorcraft()
    given = vt.Control(inputs=HOVER)
    at = vt.linearize(model, dt=0.01, method=method, control=given)
    regulator = lqr(at, Q=np.ones(12), R=np.full(4, 0.1), actuators=list(model.input_names), control=given)
    closed = at.A - at.by_inputs @ regulator.K[0]
    assert np.abs(np.linalg.eigvals(closed)).max() < 1 - 1e-4
    q = model.integrate(model.neutral(), [0.1, -0.2, 0.1, 0.2, -0.1, 0.3])
    run = vt.simulate(model, q, duration=8.0, dt=0.01, method=method, control=regulator.controller())
    assert np.abs(model.difference(model.neutral(), run.q[-1])).max() < 1e-3
    assert "inputs" in repr(regulator)
    # one step from nearby is that of the closed loop
    x = 1e-6 * np.random.default_rng(0).normal(size=12)
    near = vt.Simulation(model, model.integrate(at.q, x[:6]), p0=at.p + x[6:], dt=0.01, method=method,
                         tolerance=1e-14)  # fmt: skip
    near.step(control=vt.Control(inputs=regulator.inputs_at(0.0, near.q, near.v)))
    moved = np.concatenate([model.difference(at.q_end, near.q), near.p - at.p_end])
    np.testing.assert_allclose(moved, closed @ x, atol=1e-10)


def test_targets_of_drives_hold_what_falls():
    model, up = driven_pendulum(), np.array([np.pi, 0.0])
    # the drives alone are too weak: their targets have to move
    names = list(model.input_names)
    targets = vt.Control(targets=up)
    start = up + np.array([0.05, -0.05])
    assert np.abs(vt.simulate(model, start, duration=5.0, dt=0.01, control=targets).q[-1] - up).max() > 0.1
    at = vt.linearize(model, up, dt=0.01, control=targets)
    regulator = lqr(at, Q=np.ones(4), R=np.full(2, 0.1), actuators=names, control=targets)
    slowest = np.abs(np.linalg.eigvals(at.A - at.by_inputs @ regulator.K[0])).max()
    run = vt.simulate(model, start, duration=5.0, dt=0.01, control=regulator.controller())
    assert slowest < 1 and np.abs(run.q[-1] - up).max() < 2 * 0.05 * slowest**500


def test_along_a_run():
    """The feedback of inputs along a plan brings a nearby start back to it."""
    model = rotorcraft()
    goal = model.neutral()
    goal[:3] = 1.0, 0.5, 0.3
    hover = np.array(list(HOVER.values()))
    cost = QuadraticCost(goal, Q=0.02 * np.ones(12), R=0.02 * np.array([1.0, 1.0, 1.0, 0.01]), Q_end=50.0, goal_u=hover)
    plan = optimize_motion(model, duration=1.5, dt=0.02, costs=cost, actuators=list(model.input_names),
                           control={"inputs": hover})  # fmt: skip
    given = vt.Control(inputs=plan.inputs)
    other = tvlqr(vt.simulate(model, duration=1.5, dt=0.02, control=given).linearize(given), Q=np.ones(12),
                  R=np.full(4, 0.1), actuators=list(model.input_names), control=given)  # fmt: skip
    start = model.integrate(model.neutral(), [0.05, -0.03, 0.02, 0.05, 0.05, -0.02])
    alone = vt.simulate(model, start, duration=1.5, dt=0.02, control=given)
    far = np.abs(model.difference(plan.q[-1], alone.q[-1])).max()
    for regulator in (plan.regulator, other):
        run = vt.simulate(model, start, duration=1.5, dt=0.02, control=regulator.controller())
        assert np.abs(model.difference(plan.q[-1], run.q[-1])).max() < 0.1 * far


def test_wrong_inputs():
    model = rotorcraft()
    at = vt.linearize(model, dt=0.01, control=vt.Control(inputs=HOVER))
    task = {"Q": np.ones(12), "R": np.ones(4), "actuators": list(model.input_names)}
    for inputs in ([1.0], {"thrusts": 1.0}, lambda t, q, v: np.zeros(4)):
        with pytest.raises(vt.VitreeError, match=r"thrust|inputs"):
            lqr(at, control=vt.Control(inputs=inputs), **task)
    with pytest.raises(vt.UnknownNameError, match="velocity or input"):
        lqr(at, **task | {"actuators": ["thrusts"], "R": [1.0]})


def test_prescribed_coordinates_are_no_actuators():
    tree = vt.Tree("crane")
    cart = tree.world.add(vt.tx("trolley", kinematic=True), vt.body("cart", 5.0))
    cart.add(vt.ry("swing", damping=0.01), vt.tz(-1.0), vt.body("load", 2.0, (0.01, 0.01, 0.01)))
    crane = tree.compile()
    along = vt.simulate(crane, [0.0, 0.1], duration=0.1, dt=0.02).linearize()
    for regulator, step in ((lqr, vt.linearize(crane, dt=0.02)), (tvlqr, along)):
        with pytest.raises(vt.InputError, match="'trolley', which is prescribed"):
            regulator(step, np.ones(4), [0.1], actuators=["trolley"])
        assert regulator(step, np.ones(4), [0.1], actuators=["swing"]).K.shape[-2:] == (1, 4)
