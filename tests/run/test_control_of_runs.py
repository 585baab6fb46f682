"""`control=`: joint torques in each form, and a Control of all that drives a run."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

STEPS, DT = 24, 5e-3
METHODS = ["linear-time", "midpoint", "rk4", "explicit-euler", "gauss", "implicit-euler"]


def arm(effort=(np.inf, 0.4)):
    tree = vt.Tree("arm")
    upper = tree.world.add(vt.ry("a", effort=effort[0]), vt.body("upper", 1.0, (0.1, 0.2, 0.1), com=(0.1, 0, -0.2)))
    upper.add(vt.tz(-0.5), vt.rx("b", effort=effort[1]), vt.body("lower", 0.5, (0.1, 0.1, 0.2), com=(0, 0.1, -0.2)))
    tree.load(vt.JointForce("b", "push"))
    return tree.compile()


def rows(nv=2, steps=STEPS):
    return np.random.default_rng(5).normal(size=(steps, nv))


Q = [0.3, -0.2]
CALL = {"q0": Q, "duration": STEPS * DT, "dt": DT}


def stepped(model, method, torque, q=Q, **control):
    sim = vt.Simulation(model, q, dt=DT, method=method, control=vt.Control(**control), record_every=1)
    for row in torque:
        sim.step(control=row)
    return sim.trajectory


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_torque_are_held_over_their_steps(method):
    model, torque = arm(), rows()
    run = vt.simulate(model, method=method, control=torque, **CALL)
    by_hand = stepped(model, method, torque)
    assert run.q.tobytes() == by_hand.q.tobytes() and run.v.tobytes() == by_hand.v.tobytes()
    many = vt.rollout(model, method=method, control=torque[None], **{**CALL, "q0": np.array([Q])})
    assert many.q[0].tobytes() == run.q.tobytes()
    assert vt.simulate(model, method=method, control=torque.tolist(), **CALL).q.tobytes() == run.q.tobytes()
    # a callable of the same values differs by its evaluation alone where it is constant over a step
    held = vt.Controller(lambda t, q, v: torque[min(round(t / DT), STEPS - 1)], period=DT)
    assert vt.simulate(model, method=method, control=held, **CALL).q.tobytes() == run.q.tobytes()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_rows_go_on_where_a_run_is_resumed(method):
    model, torque = arm(), rows()
    whole = vt.simulate(model, method=method, control=torque, **CALL)
    part = vt.simulate(model, method=method, control=torque[:7], **{**CALL, "duration": 7 * DT})
    rest = part.resume((STEPS - 7) * DT, control=torque[7:])
    assert rest.q.tobytes() == whole.q[7:].tobytes() and rest.v[1:].tobytes() == whole.v[8:].tobytes()


def test_rows_of_a_simulation_begin_anew_and_come_back():
    model, torque = arm(), rows()
    sim = vt.Simulation(model, Q, dt=DT, control=torque)
    sim.step(5)
    saved, at = sim.save(), sim.q.copy()
    sim.step(10)
    later = sim.q.tobytes()
    sim.restore(saved)
    assert np.array_equal(sim.q, at)
    sim.step(10)
    assert sim.q.tobytes() == later
    sim.reset()
    sim.step(15)
    assert sim.q.tobytes() == later
    with pytest.raises(vt.InputError, match="rows of the control end after 24"):
        sim.step(10)
    with pytest.raises(vt.InputError, match="torque"):
        sim.step(control=torque[0])


def test_rows_are_clipped_to_effort_limits():
    model, torque = arm(), rows()
    run = vt.simulate(model, control=vt.Control(torque=torque, effort_limits=True), **CALL)
    clipped = np.clip(torque, [-np.inf, -0.4], [np.inf, 0.4])
    assert run.q.tobytes() == vt.simulate(model, control=clipped, **CALL).q.tobytes()
    share = np.mean(np.abs(torque[:, 1]) > 0.4)
    assert 0 < share < 1 and run.settings["effort_cut"] == {"b": pytest.approx(share, rel=1e-12)}


def test_a_control_has_the_bits_of_its_parts():
    model, torque = arm(), rows()
    for one, other in (
        (torque[0], vt.Control(torque=torque[0])), (None, vt.Control()),
        (lambda t, q, v: -v, vt.Control(torque=lambda t, q, v: -v)), (torque, vt.Control(torque=torque)),
    ):  # fmt: skip
        runs = [vt.simulate(model, control=control, **CALL).q.tobytes() for control in (one, other)]
        assert runs[0] == runs[1]
    both = vt.simulate(model, control=vt.Control(torque=torque, inputs={"push": 0.3}), **CALL)
    added = vt.simulate(model, control=torque + np.array([0.0, 0.3]), **CALL)
    np.testing.assert_allclose(both.q, added.q, atol=1e-13)


def test_rows_of_torque_are_linearized():
    model, torque = arm(), rows()
    run = vt.simulate(model, control=torque, tolerance=1e-13, **CALL)
    found = run.linearize(control=torque)
    for k in (0, 11):
        one = vt.linearize(model, run.q[k], p0=run.p[k], dt=DT, control=torque[k])
        np.testing.assert_allclose(found[k].A, one.A, atol=1e-9)


@pytest.mark.parametrize(
    ("control", "text"),
    [
        ({"push": 1.0}, r"vt\.Control\(torque=, inputs="), ("hold", "joint torques"), (True, "joint torques"),
        (vt.Control(torque=np.zeros((STEPS - 1, 2))), r"has shape \(23, 2\); 24 steps need a row each"),
        (np.zeros((STEPS, 3)), "torque"), (np.full((STEPS, 2), np.nan), "torque"), (np.zeros(3), "torque"),
        (vt.Control(inputs={"pull": 1.0}), "pull"), (vt.Control(effort_limits=True), "clips joint torques"),
        (vt.Control(prescribed=3), "mapping of names"),
    ],
)  # fmt: skip
def test_wrong_controls_are_told(control, text):
    with pytest.raises(vt.VitreeError, match=text):
        vt.simulate(arm(), control=control, **CALL)


def test_what_a_control_cannot_be_elsewhere():
    model = arm()
    with pytest.raises(vt.InputError, match="not a Control"):
        vt.Control(torque=vt.Control())
    with pytest.raises(vt.InputError, match="steps of equal length"):
        vt.simulate(model, Q, dt=[0.01, 0.02], control=np.zeros((2, 2)))
    with pytest.raises(vt.InputError, match="belongs to the whole run"):
        vt.Simulation(model, Q, dt=DT).step(control=vt.Control(effort_limits=True))
    for drives in (lambda t, q, v: -v, vt.Control(targets=lambda t, q, v: -v), vt.Controller(lambda t, q, v: v, DT)):
        with pytest.raises(vt.InputError, match="of a step must be numbers"):
            vt.Simulation(model, Q, dt=DT).step(control=drives)
    with pytest.raises(vt.InputError, match="numbers for one step"):
        vt.linearize(model, Q, dt=DT, control=lambda t, q, v: v)
    for name in ("torque", "inputs", "targets"):
        with pytest.raises(vt.VitreeError, match="control= is what drives the run"):
            vt.simulate(model, **{name: np.zeros(2)}, **CALL)


def test_rows_of_a_model_with_followers():
    tree = vt.Tree("gears")
    first = tree.world.add(vt.ry("a"), vt.body("one", 1.0, (0.1, 0.2, 0.1), com=(0.1, 0, -0.2)))
    first.add(vt.tz(-0.5), vt.ry("b"), vt.body("two", 0.5, (0.1, 0.1, 0.2), com=(0, 0.1, -0.2)))
    tree.constrain(vt.gear("b", "a", 2.0))
    reduced = tree.compile().reduced()
    torque = rows(reduced.nv)
    run = vt.simulate(reduced, duration=STEPS * DT, dt=DT, control=torque)
    by_hand = stepped(reduced, "linear-time", torque, q=None)
    assert run.q.tobytes() == by_hand.q.tobytes()
