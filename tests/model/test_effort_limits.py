"""Torque cut to the effort limits of the joints, where that is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

DT = 0.01


def arm(*efforts):
    tree = vt.Tree("arm")
    at = tree.world.add(vt.free("base"), vt.body("hull", 3.0, (0.2, 0.3, 0.4)))
    for k, effort in enumerate(efforts):
        limit = {} if effort is None else {"effort": effort}
        at = at.add(vt.rx(f"joint{k}", **limit), vt.tz(-0.5), vt.body(f"link{k}", 1.0, (0.05,) * 3))
    return tree.compile()


MODEL = arm(2.0, None, 0.5)
LIMITS = np.array([np.inf] * 6 + [2.0, np.inf, 0.5])
PUSH = np.array([9.0, 0, 0, 0, 0, -9.0, 3.0, -40.0, -0.4])


def controller(t, q, v):
    return PUSH * np.cos(20 * t) - 0.1 * v


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4", "scipy-dop853"])
@pytest.mark.parametrize("torque", [PUSH, list(PUSH), controller], ids=["array", "list", "callable"])
def test_it_is_as_if_the_torque_were_cut_by_hand(torque, method):
    def cut(t, q, v):
        return np.clip(torque(t, q, v), -LIMITS, LIMITS)

    by_hand = cut if callable(torque) else np.clip(torque, -LIMITS, LIMITS)
    options = {"duration": 0.3, "dt": DT, "method": method}
    run = vt.simulate(MODEL, control=vt.Control(torque=torque, effort_limits=True), **options)
    assert run.q.tobytes() == vt.simulate(MODEL, control=by_hand, **options).q.tobytes()
    free = vt.simulate(MODEL, control=torque, **options)
    assert np.abs(run.q - free.q).max() > 1e-3 and "effort_cut" not in free.settings


def test_what_was_cut_is_told(tmp_path):
    run = vt.simulate(MODEL, control=vt.Control(torque=PUSH, effort_limits=True), duration=0.1, dt=DT)
    assert run.settings["effort_cut"] == {"joint0": 1.0}
    # over the first half of 20 steps
    run = vt.simulate(MODEL, control=vt.Control(torque=lambda t, q, v: PUSH * (2 if t < 0.1 else 0.5),
                                                effort_limits=True), duration=0.2,
                      dt=DT, method="explicit-euler")  # fmt: skip
    run.save(tmp_path / "run.npz")
    for told in (run, vt.Trajectory.load(tmp_path / "run.npz")):
        assert told.settings["effort_cut"] == {"joint0": 0.5, "joint2": 0.5}
    run = vt.simulate(MODEL, control=vt.Control(torque=0 * PUSH, effort_limits=True), duration=0.1, dt=DT)
    assert run.settings["effort_cut"] == {}
    assert "effort_cut" not in vt.simulate(MODEL, duration=0.1, dt=DT).settings
    for run in (vt.simulate, vt.rollout):
        more = {"v0": np.zeros((2, MODEL.nv))} if run is vt.rollout else {}
        with pytest.raises(vt.InputError, match="the control has none; leave it out"):
            run(MODEL, control=vt.Control(effort_limits=True), duration=0.1, dt=DT, **more)


def test_a_failed_run_tells_as_well():
    def torque(t, q, v):
        return PUSH * (1 if t < 0.05 else 1e300)

    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(MODEL, control=vt.Control(torque=torque, effort_limits=True), duration=0.1, dt=DT,
                    method="explicit-euler")
    assert failure.value.trajectory.settings["effort_cut"]["joint0"] == 1.0


def test_a_run_goes_on_with_the_same_limits():
    options = {"control": vt.Control(torque=controller, effort_limits=True)}
    whole = vt.simulate(MODEL, duration=0.4, dt=DT, **options)
    first = vt.simulate(MODEL, duration=0.2, dt=DT, **options)
    rest = first.resume(0.2, **options)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()


@pytest.mark.parametrize("limit", [0.0, -3.0])
def test_a_limit_that_leaves_nothing_is_refused(limit):
    """Files have zero where nobody knew: neither no torque nor any torque may be meant."""
    model = arm(2.0, limit, None, limit)
    push = np.ones(model.nv)
    for torque in (push, lambda t, q, v: push):
        with pytest.raises(vt.InputError, match=r'"joint1", "joint3".*inf for none'):
            vt.simulate(model, control=vt.Control(torque=torque, effort_limits=True), duration=0.1, dt=DT)
    # only where it is asked for, and where there is torque
    vt.simulate(model, control=push, duration=0.1, dt=DT)
    push[[model.joint(name).v_slice.start for name in ("joint1", "joint3")]] = 0.0
    vt.simulate(model, control=vt.Control(torque=push, effort_limits=True), duration=0.1, dt=DT)


@pytest.mark.parametrize(
    ("torque", "text"),
    [
        (np.ones(3), "torque"),
        (np.full(9, np.nan), "torque"),
        (lambda t, q, v: np.ones(3), r"returned shape \(3,\)"),
        (lambda t, q, v: np.full(9, np.nan), "NaN"),
    ],
)
def test_bad_torques_are_still_found(torque, text):
    with pytest.raises(ValueError, match=text):
        vt.simulate(MODEL, control=vt.Control(torque=torque, effort_limits=True), duration=0.1, dt=DT)


def test_compare_takes_it():
    found = vt.compare(MODEL, ["linear-time", "rk4"], MODEL.neutral(), duration=0.1, dt=DT,
                       control=vt.Control(torque=controller, effort_limits=True))  # fmt: skip
    assert all("joint0" in run.settings["effort_cut"] for run in found.trajectories.values())
    assert found.settings["effort_limits"] is True
    assert max(row["error"] for row in found.table) < 1e-2
