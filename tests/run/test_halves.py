"""Steps that are taken in halves: derivatives chained over the halves, states between them, files, bridges."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from spun_pendulums import spun
from step_differences import central

import vitree as vt
from vitree.bridges.steps import Steps

DT = 0.05


def run_in_halves(method="linear-time", order=2, damping=0.0, loop=False, **more):
    model, q, v = spun(damping, loop)
    run = vt.simulate(model, q, v, duration=3.0, dt=DT, method=method, order=order, tolerance=1e-13, **more)
    assert run.settings["halved"] > 0
    return model, run


def halved(run):
    """The steps in halves, and in how many parts each was taken."""
    of = np.searchsorted(run.t, run.halves[:, 0]) - 1
    steps, parts = np.unique(of, return_counts=True)
    return list(zip(steps.tolist(), (parts + 1).tolist(), strict=True))


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_states_between_halves_lead_from_record_to_record(method, order):
    model, run = run_in_halves(method, order)
    assert len(halved(run)) == run.settings["halved"]
    for k, parts in halved(run):
        inner = run.halves[np.searchsorted(run.t, run.halves[:, 0]) == k + 1]
        np.testing.assert_allclose(inner[:, 0], run.t[k] + DT * np.arange(1, parts) / parts, rtol=1e-12)
        again = vt.simulate(model, run.q[k], p0=run.p[k], duration=DT, dt=DT / parts, method=method, order=order,
                            tolerance=1e-13)  # fmt: skip
        nq, nv = model.nq, model.nv
        for at, one in ((slice(1, 1 + nq), again.q), (slice(1 + nq, 1 + nq + nv), again.v),
                        (slice(1 + nq + nv, None), again.p)):  # fmt: skip
            np.testing.assert_allclose(inner[:, at], one[1:-1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives_of_steps_in_halves_against_differences(method, order, damping):
    model, run = run_in_halves(method, order, damping)
    found = run.linearize()
    for k, parts in halved(run)[:3]:
        def end(d, k=k, parts=parts):
            moved, pushed, torque = np.split(d, 3)
            one = vt.METHODS[method](model, DT / parts, torque=torque, order=order, tolerance=1e-14, max_halvings=0)
            one.start(0.0, model.integrate(run.q[k], moved), run.p[k] + pushed)
            assert one.stepper.go(parts, None, None) == 0
            return one.state()

        expected = central(model, end, 1e-4, 3 * model.nv)
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.A[k], expected[:, : 2 * model.nv], rtol=0, atol=1e-6 * size)
        np.testing.assert_allclose(found.by_torque[k], expected[:, 2 * model.nv :], rtol=0, atol=1e-6 * size)
        assert found[k].A.tobytes() == found.A[k].tobytes()
    if not damping:
        form, end_form = found.form(), found.form(end=True)
        gaps = np.abs(found.A.swapaxes(1, 2) @ end_form @ found.A - form).max(axis=(1, 2))
        assert (gaps < 1e-9 * np.abs(found.A).max(axis=(1, 2)) ** 2).all()


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_steps_of_loops_in_halves_are_chained(method):
    model, run = run_in_halves(method, loop=True)
    found = run.linearize()
    for k, parts in halved(run)[:4]:
        again = vt.simulate(model, run.q[k], p0=run.p[k], duration=DT, dt=DT / parts, method=method, tolerance=1e-13)
        assert again.settings["halved"] == 0
        expected = np.linalg.multi_dot(again.linearize().A[::-1])
        np.testing.assert_allclose(found.A[k], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_gradients_and_variations_go_through_halves(method, order):
    model, run = run_in_halves(method, order, damping=0.2)
    nv, n = model.nv, len(run) - 1
    along, rng = run.linearize(), np.random.default_rng(0)
    k = halved(run)[0][0] + 2  # records behind a step in halves
    by_q, by_p = np.zeros((n + 1, nv)), np.zeros((n + 1, nv))
    by_q[k], by_p[k] = rng.normal(size=nv), rng.normal(size=nv)
    found = run.gradient(by_q, by_p, parameters={"damping": ["hinge0"]})
    costate = np.concatenate([by_q[k], by_p[k]])
    by_torque = np.zeros((n, nv))
    for j in range(k - 1, -1, -1):
        by_torque[j] = costate @ along.by_torque[j]
        costate = costate @ along.A[j]
    scale = np.abs(costate).max()
    np.testing.assert_allclose(np.concatenate([found.by_q0, found.by_p0]), costate, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(found.by_torque, by_torque, rtol=0, atol=1e-9 * scale)
    d, dp, dtorque = rng.normal(size=nv), rng.normal(size=nv), rng.normal(size=(n, nv))
    moved = run.variation(d, dp, dtorque=dtorque)
    change = costate @ np.concatenate([d, dp]) + (by_torque * dtorque).sum()
    assert by_q[k] @ moved.d[k] + by_p[k] @ moved.dp[k] == pytest.approx(change, rel=1e-8)
    # by damping, over the steps in halves: as sums over shorter steps
    assert np.isfinite(found.by_parameters["damping"]["hinge0"])
    curved = along.curvature(np.broadcast_to(np.concatenate([by_q[k], by_p[k]]), (n, 2 * nv)))
    one = along[halved(run)[0][0]].curvature(np.concatenate([by_q[k], by_p[k]]))
    np.testing.assert_allclose(curved[halved(run)[0][0]], one, rtol=1e-9)


@pytest.mark.parametrize(("method", "more"), [("linear-time", {}), ("midpoint", {}), ("gauss", {"order": 8}),
                                              ("gauss", {"order": 8, "dense": True})])  # fmt: skip
def test_states_within_steps_in_halves(method, more):
    """Cubics through the states between the halves: as near to the motion as those of steps of their length."""
    model, q, v = spun()
    if method == "gauss":
        v = 4 * v
    run = vt.simulate(model, q, v, duration=3.0, dt=DT, method=method, **more)
    assert run.settings["halved"] > 0 and len(run.halves)
    for k, parts in halved(run)[:4]:
        nodes = np.concatenate([[run.t[k]], run.halves[np.searchsorted(run.t, run.halves[:, 0]) == k + 1, 0],
                                [run.t[k + 1]]])  # fmt: skip
        assert len(nodes) >= parts
        for j, (a, b) in enumerate(pairwise(nodes)):
            at = run.at(np.array([a, 0.5 * (a + b), b]))
            alone = vt.Trajectory.at(run, [a, b])
            assert (at.q[[0, 2]] == alone.q).all()
            if j and j < len(nodes) - 2:
                inner = run.halves[run.halves[:, 0] == a][0]
                np.testing.assert_array_equal(at.q[0], inner[1 : 1 + model.nq])
            # the cubic by the two ends
            h = b - a
            cubic = 0.5 * (at.q[0] + at.q[2]) + 0.125 * h * (at.v[0] - at.v[2])
            np.testing.assert_allclose(at.q[1], cubic, rtol=0, atol=1e-12 * max(1.0, np.abs(at.q).max()))


def test_halves_are_kept_by_files_slices_and_copies(tmp_path):
    _, run = run_in_halves()
    for other in (vt.Trajectory.load(run.save(tmp_path / "run.npz")), pickle.loads(pickle.dumps(run)), copy.copy(run)):
        np.testing.assert_array_equal(other.halves, run.halves)
    k = halved(run)[0][0]
    np.testing.assert_array_equal(run[k:].halves, run.halves)
    assert not len(run[: k + 1].halves)
    held = vt.Simulation(run.system, run.q[0], run.v[0], dt=DT, record_every=1, tolerance=1e-13)
    held.step(60)
    np.testing.assert_array_equal(held.trajectory.halves, run.halves)
    np.testing.assert_array_equal(held.trajectory.linearize().A, run.linearize().A)
    # a run without them has none, also by an integrator that served another run before
    assert vt.simulate(run.system, run.q[0], duration=0.1, dt=0.001).halves is None


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("instances", [1, 2])
def test_bridges_go_through_halves(method, instances):
    model, run = run_in_halves(method)
    k = halved(run)[0][0]
    steps = Steps(model, DT, method, {})
    q, p = (np.tile(x[k], (instances, 1)) for x in (run.q, run.p))
    torque, inputs = np.zeros((instances, 2, model.nv)), np.zeros((instances, 2, 0))
    course = steps.forward(q, p, torque, inputs)
    q_bar, p_bar = np.zeros_like(course.q), np.zeros_like(course.p)
    p_bar[:, -1] = [1.0, 0.5]
    by_q, by_p, by_torque, _ = course.pullback(q_bar, p_bar)
    again = vt.simulate(model, run.q[k], p0=run.p[k], duration=2 * DT, dt=DT, method=method, tolerance=1e-12)
    assert again.settings["halved"]
    expected = again.gradient(by_p=p_bar[0])
    for found, one in ((by_q, expected.by_q0), (by_p, expected.by_p0), (by_torque, expected.by_torque)):
        np.testing.assert_allclose(found, np.tile(one, (instances, *[1] * one.ndim)), rtol=1e-7, atol=1e-9)


def test_contacts_that_push_in_halves_are_told():
    """What contacts did in each half is not known: the error says so, and which step it is."""
    run = pushed_in_halves()
    with pytest.raises(vt.InputError, match=r"parts while contacts pushed.*Use a smaller dt"):
        run.linearize()


def test_contacts_of_steps_in_halves_act_where_the_halves_begin():
    balance = pushed_in_halves(monitors="momentum_balance").monitors["momentum_balance"]
    assert np.abs(balance).max() < 1e-8


def pushed_in_halves(**more):
    """A fast chain on the ground, whose steps are not all solved whole."""
    tree = vt.Tree("flail")
    at = tree.world.add(vt.tz("lift"), vt.tx("slide"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)))
    for k in range(2):
        at = at.add(vt.ry(f"hinge{k}"), vt.tz(-0.5), vt.body(f"link{k}", 1.0, (0.02, 0.02, 0.001)), vt.tz(-0.5))
    tree.contact(vt.Ground(friction=0.5), vt.Contact("cart"))
    model = tree.compile()
    run = vt.simulate(model, [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 12.0, -24.0], duration=1.0, dt=DT, **more)
    assert run.settings["halved"] and len(run.contacts.record)
    return run
